"""`make accept` with items that cost nothing: verdicts, table, exit status; and the commands that the docs show."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import accept
import console
import snippets
from acceptance import Item, Measure, SkippedError, Work
from conftest import ROOT
from promises import ITEMS, VICTIMS, _counts, fuzz_targets, promised_ratio, promised_shares


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of one commit."""
    (tmp_path / "docs").mkdir()
    (tmp_path / ".gitignore").write_text("out/\n")
    for line in (
        "init -q",
        "add .gitignore",
        "-c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -qm first",
    ):
        subprocess.run(["git", "-C", str(tmp_path), *line.split()], check=True)
    return tmp_path


def item(name: str, *measures: Measure) -> Item:
    return Item(name, f"{name} is fast", 1, lambda work: list(measures))


def raising(name: str, error: BaseException) -> Item:
    def run(work: Work) -> list[Measure]:
        raise error

    return Item(name, f"{name} works", 1, run)


GOOD = item("good", Measure("wall time", 2.5, "s", most=3))


def test_a_budget_is_kept_up_to_its_end() -> None:
    for value, least, most, holds in [
        (3, None, 3, True),
        (3.01, None, 3, False),
        (5, 5, None, True),
        (4.99, 5, None, False),
        (4, 5, 6, False),
        (7, 5, 6, False),
        (7, None, None, True),
        (float("nan"), 5, None, False),
        (float("nan"), None, 5, False),
    ]:
        assert Measure("x", value, least=least, most=most).holds is holds, (value, least, most)
    assert Measure("x", 1, "s", least=5, most=6).budget == "≥ 5 s, ≤ 6 s"
    assert Measure("x", 1, "s", least=5, most=5).budget == "= 5 s"
    assert (Measure("x", 0.333333, "s").budget, Measure("x", 0.333333, "s").shown) == ("–", "0.333 s")


def test_what_holds_exits_with_zero(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert accept.main(["--here"], [GOOD], root) == 0
    page = (root / "docs" / "accept.md").read_text(encoding="utf-8")
    assert "| good | good is fast | wall time | 2.5 s | ≤ 3 s | holds | 0 s |" in page
    assert "1 of 1 items ran: 0 fell short, 0 were skipped." in page
    assert time.strftime("%Y-%m-%d") in page
    assert "cores" in page
    assert "holds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (item("bad", Measure("wall time", 4, "s", most=3)), "wall time 4 s, budget ≤ 3 s"),
        (item("bad", Measure("a", 1), Measure("ratio", 4.8, "×", least=5)), "ratio 4.8 ×, budget ≥ 5 ×"),
        (raising("bad", RuntimeError("`make` ended with 2")), "RuntimeError: `make` ended with 2"),
        (item("bad"), "measured nothing"),
    ],
)
def test_what_falls_short_is_said_and_exits_with_one(
    root: Path, capsys: pytest.CaptureFixture[str], bad: Item, complaint: str
) -> None:
    assert accept.main(["--here"], [GOOD, bad], root) == 1
    assert f"fell short: bad: {complaint}\n" in capsys.readouterr().out
    assert f"- **bad** fell short: {complaint}\n" in (root / "docs" / "accept.md").read_text(encoding="utf-8")


def test_what_was_skipped_stands_in_the_table_with_its_reason(root: Path) -> None:
    some = raising("some", SkippedError("no ns", [Measure("wall time", 9, "s")]))
    assert accept.main(["--here"], [raising("real", SkippedError("no iperf3")), some], root) == 0
    page = (root / "docs" / "accept.md").read_text(encoding="utf-8")
    assert "| real | real works | – | – | – | skipped: no iperf3 |" in page
    assert "- **real** was skipped: no iperf3\n" in page
    assert "skipped: no ns" in page
    assert "| wall time | 9 s |" in page


def test_an_interrupted_call_goes_on_with_the_rest(root: Path) -> None:
    tried: list[str] = []
    stop = True

    def counted(name: str) -> Callable[[Work], list[Measure]]:
        def run(work: Work) -> list[Measure]:
            tried.append(name)
            if name == "second" and stop:
                raise KeyboardInterrupt
            return [Measure("x", 1)]

        return run

    items = [Item(name, name, 1, counted(name)) for name in ("first", "second", "third")]
    with pytest.raises(KeyboardInterrupt):
        accept.main(["--here"], items, root)
    assert [o["name"] for o in json.loads((root / "docs" / "accept.json").read_text())] == ["first"]
    stop = False
    assert accept.main(["--here"], items, root) == 0
    assert tried == ["first", "second", "second", "third"]
    assert accept.main(["--here", "--only", "third"], items, root) == 0
    assert tried[4:] == ["third"]
    assert accept.main(["--here", "--again"], items, root) == 0
    assert tried[5:] == ["first", "second", "third"]


def test_what_did_not_run_is_in_the_table_and_what_another_commit_did_is_forgotten(root: Path) -> None:
    assert accept.main(["--here", "--only", "good"], [GOOD, item("other", Measure("x", 1))], root) == 0
    page = root / "docs" / "accept.md"
    assert "| other | other is fast | – | – | – | **not run** |" in page.read_text(encoding="utf-8")
    kept = root / "docs" / "accept.json"
    kept.write_text(json.dumps([{**o, "commit": "0000000"} for o in json.loads(kept.read_text())]))
    again: list[str] = []

    def noted(work: Work) -> list[Measure]:
        again.append("good")
        return [Measure("x", 1)]

    assert accept.main(["--here", "--keep"], [Item("good", "good", 1, noted)], root) == 0
    assert again == []
    assert accept.main(["--here"], [Item("good", "good", 1, noted)], root) == 0
    assert again == ["good"]


def test_the_clone_holds_what_is_committed(root: Path) -> None:
    (root / ".gitignore").write_text("out/\nchanged\n")
    place = accept.clone(root)
    assert (place / ".gitignore").read_text() == "out/\n"
    (place / "made").touch()
    assert (accept.clone(root) / "made").exists(), "the same commit: gone on with"


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    work = Work(tmp_path, tmp_path, tmp_path / "log")
    begun = time.monotonic()
    done = work.run(["sh", "-c", "echo begun; sleep 60 & sleep 60"], 0.5)
    assert (done.code, done.output) == (124, "begun\n")
    assert time.monotonic() - begun < 20
    assert work.log.read_text() == "$ sh -c echo begun; sleep 60 & sleep 60\nbegun\n"
    with pytest.raises(RuntimeError, match="`false` ended with 1"):
        work.must(["false"])


def test_pytest_counts_are_read(tmp_path: Path) -> None:
    work = Work(tmp_path, tmp_path, tmp_path / "log")
    output = "SKIPPED [1] tests/test_real.py:3: no iperf3\n2 failed, 30 passed, 1 skipped in 3.21s\n"
    counts = {m.what: (m.value, m.holds) for m in _counts(work, output)}
    assert counts == {"tests passed": (30, True), "tests failed": (2, False), "tests skipped": (1, True)}
    assert work.notes == ["SKIPPED [1] tests/test_real.py:3: no iperf3"]
    assert not _counts(work, "no tests ran in 0.01s")[0].holds


def test_the_items_are_named_once() -> None:
    assert len({each.name for each in ITEMS}) == len(ITEMS)
    assert len(VICTIMS) == 4


def test_what_is_promised_is_read_from_where_it_stands() -> None:
    """A README that is reworded must not leave an item without its budget."""
    assert len(promised_shares(ROOT)) == 2
    assert all(90 <= float(share) <= 100 and int(pairs) > 500 for pairs, share in promised_shares(ROOT))
    assert promised_ratio(ROOT) > 1
    assert {"scenario", "aqm"} < set(fuzz_targets(ROOT))


# ----------------------------------------------------------------------- the documents' commands


def test_blocks_are_read_as_they_are_typed() -> None:
    block = "$ penstock run a.toml \\\n    --json   # a table\nshown\n  too\n$ penstock list\n"
    assert list(console.commands(block)) == [("penstock run a.toml --json", ("shown", "  too")), ("penstock list", ())]
    assert list(console.commands("make demo   # all\n# so\n")) == [("make demo", ())]


def test_output_that_is_no_longer_printed_is_found() -> None:
    assert console.missing(("a  b", "c"), "c\n a b \n") == []
    assert console.missing(("a 1", "c"), "c\na 2\n") == ["a 1"]


def test_every_reason_is_about_a_command_that_is_shown() -> None:
    commands = [each.text for each in snippets.commands(ROOT)]
    assert len(commands) > 60
    for key in console.LISTED:
        used = [c for c in commands if c == key or (key.endswith("*") and c.startswith(key[:-1]))]
        assert used, f"{key}: no document shows this"


def test_a_command_is_run_or_left_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "bpf").mkdir()
    (tmp_path / "bpf" / "README.md").write_text("")
    (tmp_path / "README.md").write_text(
        "```console\n$ make demo\n$ penstock list\nred\n$ penstock emulate a.toml\n```\n"
    )
    done = snippets.try_all(tmp_path, tmp_path, lambda command: (3, "blue\n"), sys.executable, "no iperf3")
    assert done.count == 1
    assert done.wrong == [
        "`penstock list` (README.md) ended with 3: blue\n",
        "`penstock list` (README.md) no longer prints: red",
    ]
    assert done.left == [
        "not run: `make demo` (README.md): the item `demo` runs it",
        "not run: `penstock emulate a.toml` (README.md): no iperf3",
    ]
