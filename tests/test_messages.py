"""What is said of a mistake: the value as it was written, what is allowed, the nearest of the right list."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

import penstock as ps
from conftest import ROOT, SMALL, Command
from penstock import _penstock
from penstock._names import kinds
from penstock.cli.app import COMMANDS, by_click, main, program
from penstock.runs import probing

PACKAGE = ROOT / "python" / "penstock"


def command_of(name: str) -> click.Command:
    command = program.get_command(click.Context(program), name)
    assert command is not None
    return command


OPTIONS = [
    (name, option)
    for name in COMMANDS
    for param in command_of(name).params
    if isinstance(param, click.Option)
    for option in param.opts
    if option.startswith("--") and len(option) > 4
]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_misspelt_command_is_answered_with_the_nearest(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ps.Error, match=f"nearest: {name};"):
        by_click([f"{name[0]}q{name[1:]}"])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_a_misspelt_option_is_answered_from_the_command_s_own(
    name: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert by_click([name, f"{option[:3]}q{option[3:]}"]) == 2
    shown = capsys.readouterr()
    near = re.search("; nearest: ([^;]*); there are: (.*)", shown.err)
    assert near is not None, shown.err
    assert option in near[1].split(", ")
    assert {own for other, own in OPTIONS if other == name} <= {*near[2].strip().split(", ")}
    assert shown.out == ""


def test_what_was_typed_by_mistake(penstock: Command, small: Path) -> None:
    mistakes: list[tuple[list[object], list[str]]] = [
        (["rnu", small], ["no command is called 'rnu'", "nearest: run;"]),
        (["run", small, "--sed", "3"], ["no option is called '--sed'", "nearest: --seeds"]),
        (["list", "trafic"], ["'trafic'", "nearest: traffic"]),
        (["export", "x", "--csv", "--table", "flwos"], ["'flwos'", "nearest: flows"]),
        (["compare", small, "--aqm", "rde"], ["--aqm 'rde'", "nearest: red;", "fq-codel"]),
        (
            ["run", small, "--set", "aqm.kind=my.py:Green"],
            ["--set aqm.kind=my.py:Green:", "--aqm my.py:Green is the way"],
        ),
        (["sweep", small, "--vary", "aqm.kind=red,my.py:Green(a=1)"], ["--vary aqm.kind", "--aqm my.py:Green(a=1) is"]),
        (["sweep", small, "--vary", "aqm.mn_th=3,4"], ["--vary: ", "aqm.mn_th: unknown key; nearest: min_th"]),
        (["probe", "rde"], ["'rde'", "nearest: red;"]),
        (["compare", small, "--aqm", "my.py:Green"], ["my.py:Green: there is no file my.py"]),
        (["probe", "my.py:Green"], ["my.py:Green: there is no file my.py"]),
        (["probe", "nowhere.toml"], ["nowhere.toml: No such file"]),
        (["run", small, "--out", "o", "--series", "10 mm"], ['--series "10 mm": unknown unit "mm"', "nearest: ms"]),
        (["emulate", small, "--duration", "3m"], ['--duration "3m"', "minutes", "milliseconds"]),
        (["emulate", small, "--duration", "0 s"], ["--duration '0 s'", "above 0 s"]),
        (["stability", small, "--rtt", "20mm"], ["--rtt 20mm", 'unknown unit "mm"']),
    ]
    for words, parts in mistakes:
        done = penstock(*words)
        assert (done.returncode, done.stdout) == (2, ""), (words, done.stderr)
        assert [part for part in parts if part not in done.stderr] == [], done.stderr
        assert "amecn\n" not in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_what_a_caller_changes_is_blamed_by_its_key() -> None:
    link = ps.Link(rate="1 Mbit/s", delay="1 ms")
    built = ps.Scenario(topology=ps.Dumbbell(bottleneck=link), traffic=ps.Ftp(), aqm=ps.Red())
    read = ps.Scenario.from_toml(SMALL)
    for changes, place in [(built.set, ""), (read.set, "<text> with "), (ps.Session(built).set, "")]:
        with pytest.raises(ps.ScenarioError) as told:
            changes("aqm.max_p", 2)
        assert str(told.value).startswith(f"{place}aqm.max_p = 2: must be")


@pytest.mark.parametrize("words", [["run"], ["emulate"], ["config", "--to", "tc"], ["config", "--from", "tc"]])
def test_what_a_failed_command_left_is_told_as_such(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = tmp_path / "link.toml"  # a shell's, of `penstock config … > link.toml`
    left.write_text("\n")
    assert main([*words, f"{left}"]) == 2
    assert capsys.readouterr().err == f"penstock: {left}: is empty; did the command that wrote it fail?\n"


def test_set_saves_a_file_whose_kind_is_unknown(penstock: Command, small: Path) -> None:
    small.write_text(SMALL.replace('"red"', '"pi9"').replace("min_th = 5", "").replace("max_th = 15", ""))
    refused = penstock("run", small)
    assert refused.returncode == 2
    assert f'{small}:11: aqm.kind = "pi9"' in refused.stderr
    for words in (["run", small], ["probe", small], ["compare", small, "--aqm", "red"]):
        done = penstock(*words, "--set", "aqm.kind=pie")
        assert done.returncode == 0, done.stderr
    still = penstock("run", small, "--set", "aqm.kind=pi8")
    assert f'{small} with aqm.kind = "pi8": must be one of' in still.stderr


def test_tc_s_spelling_is_taken_everywhere(penstock: Command, small: Path) -> None:
    text = SMALL.replace('"1.5 Mbit/s"', '"1500kbit"').replace('"10 ms"', '"10msec"').replace('"1000 B"', '"1000b"')
    small.write_text(text.replace('"20 packets"', '"20p"'), encoding="utf-8")
    assert ps.Scenario.load(small).resolved == ps.Scenario.from_toml(SMALL).resolved
    done = penstock("run", small, "--set", "topology.bottleneck.rate=2mbit", "--out", "o", "--series", "100msec")
    assert done.returncode == 0, done.stderr
    assert "--series" not in done.stderr
    assert ps.run(ps.Scenario.load(small), series="100msecs").runs


@pytest.mark.parametrize("form", ["0.5 12.3\n1.0 11.9\n", "t,mbps\n0,5\n"], ids=["seconds and Mbit/s", "csv"])
def test_another_trace_s_format_is_named(small: Path, form: str) -> None:
    (small.parent / "x.trace").write_text(form, encoding="utf-8")
    text = SMALL.replace('buffer = "20 packets" }', 'buffer = "20 packets", schedule = "x.trace" }')
    small.write_text(text, encoding="utf-8")
    with pytest.raises(ps.ScenarioError, match="mahimahi trace, a line for each opportunity") as caught:
        ps.Scenario.load(small)
    assert f'x.trace:1: "{form.splitlines()[0]}": ' in str(caught.value)


#: As somebody calls it who does not check types.
compared: Callable[..., Any] = ps.compare


class Mine(ps.Aqm):
    """The smallest discipline."""

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        return ps.Verdict.PASS


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: s.with_aqm(ps.Ftp()), ["with_aqm", "subclass of penstock.Aqm", "Ftp"]),
        (lambda s: s.with_reverse_aqm(None), ["with_reverse_aqm", "subclass of penstock.Aqm", "None"]),
        (lambda s: compared(s, "red"), ["disciplines to compare", "['red']"]),
        (lambda s: s.with_aqm(3), ["a kind such as 'red'", "3"]),
        (lambda s: compared(s, [None]), ["a kind such as 'red'", "None"]),
    ],
)
def test_what_is_no_discipline_is_refused_with_what_is(call: Callable[[ps.Scenario], Any], said: list[str]) -> None:
    with pytest.raises(TypeError) as caught:
        call(ps.Scenario.from_toml(SMALL))
    assert [part for part in said if part not in str(caught.value)] == [], caught.value


def test_a_level_that_a_probe_lacks_is_answered_with_its_own() -> None:
    red = ps.probe(probing.scenario("red"), queues=[0], after=["1 s"], runs=1)
    with pytest.raises(ValueError, match="level 'mark': must be one of 'incipient mark', 'CE mark', 'drop'; nearest"):
        red.shares("mark")


def test_a_hint_is_read_by_a_shell_as_it_was_meant(penstock: Command, tmp_path: Path) -> None:
    odd = "a folder with 'quotes' $HOME"
    (tmp_path / odd).mkdir()
    (tmp_path / "small.toml").write_text(SMALL + '\n[sweep]\n"traffic.0.flows" = [1]\n', encoding="utf-8")
    assert penstock("sweep", "small.toml", "--seeds", 1, "--out", f"{odd}/s").returncode == 0
    for words, path in [
        (["init", f"{odd}/mine"], f"{odd}/mine.toml"),
        (["show", f"{odd}"], odd),
        (["export", f"{odd}", "--csv"], odd),
        (["export", f"{odd}/s", "--csv", "--table", "flows"], f"{odd}/s"),
    ]:
        done = penstock(*words)
        (hint,) = re.findall("`(penstock .*)`", done.stderr)
        assert path in shlex.split(hint), (hint, words)


def test_no_hint_is_put_together_by_hand() -> None:
    """A command with a value in it is made by `_names.command`, which quotes."""
    by_hand = re.compile(r"`penstock [^`]*\{")
    found = [f"{path.relative_to(PACKAGE)}: {line}" for path in PACKAGE.rglob("*.py") for line in _code(path)]
    assert [each for each in found if by_hand.search(each)] == []


def _code(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_the_nearest_name_is_that_of_the_messages_about_scenarios() -> None:
    for word in ("rde", "pei", "cdoel", "fqcodel"):
        with pytest.raises(ps.ScenarioError) as caught:
            ps.Scenario.from_toml(SMALL).set("aqm.kind", word)
        assert caught.value.nearest == _penstock.nearest(word, kinds())
