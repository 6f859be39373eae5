"""Names of others on pages, in figures, tables and lines of a shell: they say what they say, and do nothing."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import penstock as ps
from conftest import ROOT, SMALL
from helpers import tiny_paper
from helpers.real import needs_real_packets
from penstock._text import visible
from penstock.cli import main
from penstock.reproduce import command
from penstock.reproduce.model import Settings
from penstock.show import progress, style
from test_tune_run import TINY, tuned

#: Markup of rich, of HTML and of formulas, commands for a terminal and for a shell.
NAME = "n[/] [red]r $x_$y^$ <script>s</script> <b>&'\" :smile: $(touch ran) `touch ran`;\x1b[5m\x9b5m\u202e"


def named(text: str) -> str:
    """A scenario with that name, in which its variants and its traffic have it, too."""
    name = json.dumps(NAME)
    head, *rest = text.split("\n", 1)
    assert head.startswith("name = ")
    whole = f"name = {name}\n" + rest[0].replace('kind = "ftp"\n', f'kind = "ftp"\nname = {name}\n', 1)
    variants = {name: 4, json.dumps("$a$"): 5}
    return whole + "".join(
        f'\n[[variant]]\nname = {each}\n[variant.set]\n"traffic.0.flows" = {flows}\n'
        for each, flows in variants.items()
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(named(SMALL), encoding="utf-8")
    return path


def check_figure(path: Path) -> str:
    """An SVG that a reader of XML takes; returns its text."""
    text = path.read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert not [each for each in root.iter() if each.tag.endswith("script")]
    return "\n".join("".join(each.itertext()) for each in root.iter() if each.tag.endswith("text"))


COMMANDS: dict[str, Callable[[Path, Path], list[list[str]]]] = {
    "run": lambda file, out: [["run", str(file), "--seeds", "2"]],
    "compare": lambda file, out: [
        ["compare", str(file), "--aqm", "droptail", "--aqm", "red", "--figure", str(out / "a.svg")]
    ],
    "sweep": lambda file, out: [
        ["sweep", str(file), "--seeds", "2", "--out", str(out / "s[red][/]")],
        ["show", str(out / "s[red][/]"), "utilization", "--figure", str(out / "b.svg")],
    ],
    "stability": lambda file, out: [["stability", str(file), "--figure", str(out / "c.svg")]],
}


@pytest.mark.parametrize("forced", [False, True], ids=["plain", "in colour"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_commands_no_terminal(
    command: str,
    forced: bool,
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
    for line in COMMANDS[command](file, tmp_path):
        assert main(line) == 0, capsys.readouterr().err
        said = "".join(capsys.readouterr())
        for control in ("\x1b[5m", "\x9b", "\u202e"):
            assert control not in said
        if line[0] in ("run", "compare", "stability"):
            assert "n[/] [red]r $x_$y^$" in said
            assert ":smile:" in said
    for figure in tmp_path.glob("*.svg"):
        check_figure(figure)


def test_an_error_commands_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tmp_path / f"{NAME.replace('/', '')}.toml")]) != 0
    assert main(["compare", str(ROOT / "scenarios" / "single-flow.toml"), "--aqm", "\x1b[5mred"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_a_bar_takes_a_name_as_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with progress.Bar(NAME) as bar:
        bar.show(0.5, NAME, NAME)
    assert "\x1b[5m" not in capsys.readouterr().err


class Own(ps.Aqm):
    """Its name is one that a figure has room for."""

    name = "a_$b$ <b>\x1b[5m"

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        return ps.PASS


def test_a_figure_writes_a_name_as_it_is(tmp_path: Path) -> None:
    result = ps.compare(ps.Scenario.from_toml(SMALL), ["droptail", Own()], seeds=2, series="100 ms")
    for draw in (result.plot.queue, result.plot.delay_cdf, result.plot.plane, result.plot.overview):
        style.save(draw(), str(tmp_path / "figure.svg"))
        assert visible(Own.name) in check_figure(tmp_path / "figure.svg")


def test_logarithmic_axes_are_numbers(tmp_path: Path) -> None:
    """Their labels would be formulas, which no text of a figure is."""
    from matplotlib.figure import Figure

    from penstock.show import ticks

    with style.context():
        figure = Figure()
        ax = figure.subplots()
        ax.loglog([0.01, 10], [20, 80])
        ticks.plain(ax.xaxis, ax.yaxis)
    style.save(figure, str(tmp_path / "figure.svg"))
    text = check_figure(tmp_path / "figure.svg").split("\n")
    assert {"0.01", "0.1", "1", "10"} <= set(text)
    assert not [line for line in text if "$" in line]


def check_page(text: str) -> None:
    assert "<script>s" not in text
    assert "<b>&'" not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)


def test_pages_of_an_evaluation(tmp_path: Path) -> None:
    """A class of Python may have any name."""
    for seed_of_name in (NAME, "$a$"):
        made = type(seed_of_name, (ps.Aqm,), {"arrive": Own.arrive})
        done = ps.evaluate([made], quick=True, seeds=2, only=["mild"], out=tmp_path / "out")
        pages = list((tmp_path / "out").glob("*.html"))
        assert done.page in pages
        for page in pages:
            check_page(page.read_text(encoding="utf-8"))


def test_page_of_a_tuning(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(named(TINY), encoding="utf-8")
    tuned(tmp_path / "tiny.toml", tmp_path / "out", runs=120, seeds=3)
    check_page((tmp_path / "out" / "index.html").read_text(encoding="utf-8"))


def test_page_of_a_reproduction(tmp_path: Path) -> None:
    paper = replace(tiny_paper.PAPER, name=NAME, citation=NAME, bibtex=f"@article{{x,\n title = {{{NAME}}},\n}}")
    made = command.reproduce([paper], Settings.of_seeds(3), tmp_path, jobs=2)
    check_page(made.page.read_text(encoding="utf-8"))


@pytest.mark.alone
def test_an_emulation_gives_a_shell_no_name(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_real_packets()
    monkeypatch.chdir(tmp_path)
    text = file.read_text(encoding="utf-8").replace('duration = "5 s"', 'duration = "2 s"')
    file.write_text(text.replace('ecn = "classic"', ""), encoding="utf-8")
    assert main(["emulate", str(file)]) in (0, 2)  # 2: without iperf3
    assert not (tmp_path / "ran").exists()


def test_the_lines_that_an_emulation_gives_to_a_shell_are_these() -> None:
    """What varies comes as arguments (`"$@"`), or is the user's own line; nothing is put into a line."""
    lines = []
    for source in (ROOT / "crates" / "emulate" / "src").glob("*.rs"):
        code = source.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
        lines += re.findall(r'"/bin/sh"\);\s*command\s*\.args\(\["-c", (.+?)(?:, "sh")?\]', code)
    assert lines == [r'"read -r go && exec iperf3 \"$@\""']
    lines = []
    for source in (ROOT / "python" / "penstock" / "emulation").glob("*.py"):
        lines += re.findall(r'"-c", .*|"shell": .*', source.read_text(encoding="utf-8"))
    assert sorted(lines) == ['"-c", client]', '"shell": isinstance(args, str),']
