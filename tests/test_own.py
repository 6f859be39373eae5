"""A discipline of the user's own wherever a built-in one stands: one grammar, its arguments as keys, one identity."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

import penstock as ps
from conftest import SMALL
from penstock.cli import main
from penstock.evaluation import candidates, points, rfc
from penstock.model import own_file
from penstock.model.discipline import disciplines
from penstock.model.own import parameters
from penstock.runs import identity
from penstock.sweeps import store
from penstock.sweeps.drive import Processes

CHANGES = {"duration": "3 s", "measure.from": "0 s", "traffic.1.rate": "1.6 Mbit/s"}

#: With a neighbour, which has a part in what it does.
HELPER = "STEP = 1\n"
FILE = """
from __future__ import annotations
from typing import Literal
import penstock as ps
from own_helper_of_tests import STEP

class Limit(ps.Aqm):
    def __init__(self, limit: int = 6, share: float = 1.0, mode: Literal["drop", "pass"] = "drop", odd=3) -> None:
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        self.most, self.mode = STEP * limit * share, mode

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        return ps.DROP if self.mode == "drop" and queue.pkts >= self.most else ps.PASS

class Needs(Limit):
    def __init__(self, limit: int) -> None:
        super().__init__(limit)

class Fails(ps.Aqm):
    def arrive(self, now, packet, queue):
        raise RuntimeError("no more")

seven = Limit(7)
number = 3
"""


class Limit(ps.Aqm):
    """The same, here: a class that no module of a worker has."""

    def __init__(self, limit: int = 6, mode: Literal["drop", "pass"] = "drop") -> None:
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        self.limit, self.mode = limit, mode

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        return ps.DROP if self.mode == "drop" and queue.pkts >= self.limit else ps.PASS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_helper_of_tests.py").write_text(HELPER)
    (tmp_path / "mine_of_tests.py").write_text(FILE)
    (tmp_path / "small.toml").write_text(ps.Scenario.from_toml(SMALL).set_all(CHANGES).to_toml())
    before = {*sys.modules}
    yield tmp_path
    own_file._LOADED.clear()
    for name in {*sys.modules} - before:
        if "_of_tests" in name:
            del sys.modules[name]


def small() -> ps.Scenario:
    return ps.Scenario.from_toml(SMALL).set_all(CHANGES)


def numbers(scenario: ps.Scenario) -> dict[str, float | None]:
    return ps.run(scenario).runs[0].metrics


def test_every_way_of_saying_it_gives_the_same_run(folder: Path) -> None:
    expected = numbers(small().with_aqm(Limit(4)))
    assert (expected["drops_early"] or 0) > 0
    for given in ("mine_of_tests.py:Limit(limit=4)", "mine_of_tests.py:Needs(limit=4)", Limit(limit=4)):
        assert numbers(small().with_aqm(given)) == expected
    by_key = small().with_aqm(Limit).set("aqm.limit", 4)
    assert (by_key.resolved["aqm"]["limit"], numbers(by_key)) == (4, expected)
    assert numbers(small().with_aqm(Limit(9)).set("aqm.limit", 4)) == expected
    text = small().to_toml().replace("[aqm]", "[aqm]\nlimit = 4")
    (folder / "keyed.toml").write_text(text)
    (found,) = disciplines(["mine_of_tests.py:Limit"], "--aqm")
    assert numbers(ps.Scenario.load("keyed.toml", own=[found]).with_aqm(found)) == expected
    assert numbers(small().with_aqm("mine_of_tests.py:seven")) == numbers(small().with_aqm(Limit(7)))


def test_the_kinds_keys_are_said_in_text_and_in_python_alike() -> None:
    expected = small().set_all({"aqm.kind": "red", "aqm.min_th": 3, "aqm.max_th": 9}).resolved
    assert small().with_aqm("red:min_th=3,max_th=9").resolved == expected
    assert small().with_aqm(ps.Red(min_th=3, max_th=9)).resolved == expected
    both = small().with_reverse_aqm("red:min_th=3,max_th=9").resolved["aqm"]["reverse"]
    assert (both["kind"], both["min_th"]) == ("red", "3 packets")


def test_labels() -> None:
    def labels(*given: object) -> list[str]:
        return [each.label for each in disciplines(list(given), "here")]  # type: ignore[arg-type]

    kinds = ["red", "red:min_th=20,max_th=60", "red:min_th=5"]
    assert labels(*kinds[:2], ps.Red(min_th=5)) == kinds
    assert labels(Limit, "tight=codel:target=2 ms") == ["Limit", "tight"]
    assert labels(Limit(4), Limit(5, "pass")) == ["Limit(limit=4)", "Limit(limit=5, mode='pass')"]
    assert [each.label for each in disciplines({"a": "red", "b": Limit(4)}, "here")] == ["a", "b"]
    assert labels("red", "all")[:2] == ["red", "droptail"]
    with pytest.raises(ValueError, match=r"each once .* NAME=… gives one another name"):
        labels("red", "red")
    with pytest.raises(ps.ScenarioError, match="a folder can have"):
        disciplines({"a/b": "red"}, "here")


def test_two_settings_of_a_kind_are_compared_on_the_command_line(folder: Path) -> None:
    line = ["compare", "small.toml", "--aqm", "red", "--aqm", "red:min_th=3,max_th=9", "--out", "out"]
    line += ["--aqm", "mine=mine_of_tests.py:Limit(limit=4)", "--aqm", "mine_of_tests.py:Limit"]
    assert main(line) == 0
    found = json.loads((folder / "out" / "comparison.json").read_text())
    assert list(found["compared"]) == ["red", "red:min_th=3,max_th=9", "mine", "Limit"]
    assert found["compared"]["red:min_th=3,max_th=9"]["scenario"]["aqm"]["min_th"] == "3 packets"
    assert (folder / "out" / "mine" / "document.json").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("none.py:Mine", "none.py:Mine: there is no file none.py"),
        ("mine_of_tests.py:Limt", "no discipline in mine_of_tests.py is called 'Limt'; nearest: Limit"),
        ("mine_of_tests.py:number", "must be a subclass of penstock.Aqm"),
        ("mine_of_tests.py", "must be FILE.py:CLASS"),
        ("mine_of_tests.py:Limit(limt=5)", "Limit has no argument 'limt'; nearest: limit; there are: limit, share"),
        ("mine_of_tests.py:Limit(5)", "arguments are NAME=VALUE"),
        ("mine_of_tests.py:Limit(limit=open)", "arguments are NAME=VALUE"),
        ("mine_of_tests.py:Limit(limit='5')", "limit = '5': must be a whole number"),
        ("mine_of_tests.py:Limit(mode='pas')", "mode = 'pas': must be one of 'drop', 'pass'"),
        ("mine_of_tests.py:Limit(limit=0)", "aqm: Limit(limit=0, mode='drop', share=1.0): limit must be at least 1"),
        ("mine_of_tests.py:Needs", "aqm.limit: is required: a whole number"),
        ("mine_of_tests.py:seven(limit=5)", "seven is an instance, which takes no arguments"),
        ("redd", "--aqm 'redd': no discipline is called that; nearest: red; there are: droptail"),
        ("red:min_th", "after the colon KEY=VALUE"),
        ("red:max_pp=5", "aqm.max_pp: unknown key; nearest: max_p"),
        ("it=red", "a name (it=) is for several that are compared"),
    ],
)
def test_what_is_wrong_is_said_once(folder: Path, capsys: pytest.CaptureFixture[str], given: str, message: str) -> None:
    assert main(["run", "small.toml", "--aqm", given]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert message in said.err


def test_what_a_constructor_raises_is_said_with_its_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "import penstock as ps\nclass Odd(ps.Aqm):\n  def __init__(self):\n    {}['key']\n  arrive = None\n"
    (folder / "odd_of_tests.py").write_text(text)
    assert main(["run", "small.toml", "--aqm", "odd_of_tests.py:Odd"]) == 2
    assert "odd_of_tests.py:4: in __init__: KeyError: 'key'" in capsys.readouterr().err


def test_only_what_has_a_type_is_a_key(folder: Path) -> None:
    assert [(each.name, each.type) for each in parameters(Limit)] == [("limit", "int"), ("mode", "word")]
    with pytest.raises(ps.ScenarioError, match=r"aqm\.odd: is an argument of Limit without a type"):
        small().with_aqm("mine_of_tests.py:Limit").set("aqm.odd", 4)
    changed = Limit(4)
    changed.limit = 5
    assert numbers(small().with_aqm(changed)) == numbers(small().with_aqm(Limit(5)))
    with pytest.raises(ps.ScenarioError, match="was changed, or copied, after it was made"):
        small().with_aqm(changed).set("aqm.limit", 4)
    with pytest.raises(ps.ScenarioError, match=r"aqm\.limt: unknown key; nearest: limit"):
        small().with_aqm(Limit).set("aqm.limt", 4)


def test_an_instance_is_complete(folder: Path) -> None:
    """Keys of a file that are another kind's do not stand in for the arguments that it left out."""
    there = small().set("aqm.limit", 100)  # FQ-CoDel's
    assert there.with_aqm(Limit(mode="drop")).resolved["aqm"]["limit"] == 6
    assert there.with_aqm(Limit).resolved["aqm"]["limit"] == 100


def test_a_sweep_keeps_what_it_ran_by_code_and_values(folder: Path) -> None:
    def swept(*limits: int) -> tuple[int, int]:
        done = ps.sweep("small.toml", aqm="mine_of_tests.py:Limit", over={"aqm.limit": limits}, seeds=2, out="kept")
        assert done.failed == 0
        return done.ran, done.kept

    assert swept(4, 6) == (4, 0)
    assert swept(4, 6, 8) == (2, 4)
    kept = {(row["aqm.limit"], row["seed"]): row for row in store.read(folder / "kept").to_pylist()}
    for limit in (4, 8):
        assert kept[limit, 1]["drops_early"] == numbers(small().with_aqm(Limit(limit)))["drops_early"]
    (folder / "own_helper_of_tests.py").write_text("STEP = 2\n")
    assert swept(4) == (2, 0)


def test_a_sweep_varies_what_the_command_and_the_file_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["sweep", "small.toml", "--aqm", "mine_of_tests.py:Limit", "--seeds", "1", "--no-warm-up-check"]
    assert main([*line, "--vary", "aqm.limit=4,6", "--vary", "aqm.mode=drop,pass", "--out", "a"]) == 0
    assert "4 runs in a: 4 new" in capsys.readouterr().out
    text = (folder / "small.toml").read_text()
    (folder / "small.toml").write_text(text + '[sweep]\n"aqm.limit" = { integer = [2, 9] }\nsamples = 3\n')
    assert main([*line, "--out", "b"]) == 0
    assert "3 runs in b: 3 new" in capsys.readouterr().out
    limits = store.read(folder / "b").column("aqm.limit").to_pylist()
    assert all(isinstance(limit, (int, float)) and 2 <= limit <= 9 for limit in limits)
    assert main([*line, "--vary", "aqm.kind=red,pie", "--out", "c"]) == 2
    assert "would never run Limit" in capsys.readouterr().err
    assert not (folder / "c").exists()


def test_a_class_of_this_module_is_swept_in_processes(tmp_path: Path) -> None:
    made = Processes(2)
    over = {"aqm.limit": [4, 6]}
    done = ps.sweep(small().with_aqm(Limit), over=over, seeds=2, out=tmp_path / "a", engine=made)
    assert (done.ran, done.failed, made.workers) == (4, 0, 2)
    again = ps.sweep(small(), aqm=Limit(6), over=over, seeds=2, out=tmp_path / "b", jobs=1)
    rows = [store.read(tmp_path / name).sort_by([("key", "ascending")]).to_pylist() for name in ("a", "b")]
    assert again.ran == 4
    assert [row["delay_mean_s"] for row in rows[0]] == [row["delay_mean_s"] for row in rows[1]]
    until = ps.sweep(small().with_aqm(Limit), over=over, until="utilization ±50%", seeds=4, out=tmp_path / "c")
    assert until.ran >= 4


def test_a_run_that_fails_says_where(folder: Path) -> None:
    done = ps.sweep("small.toml", aqm="mine_of_tests.py:Fails", seeds=1, out="failed")
    assert (done.ran, done.failed) == (0, 1)
    assert "mine_of_tests.py:22: in arrive: RuntimeError: no more" in done.failures[0].error


def test_what_cannot_be_told_is_not_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "import threading\nimport penstock as ps\nlock = threading.Lock()\nclass Odd(ps.Aqm):\n"
    text += "  def arrive(self, *_): return ps.PASS if lock else ps.DROP\n"
    (folder / "lock_of_tests.py").write_text(text)
    assert main(["sweep", "small.toml", "--aqm", "lock_of_tests.py:Odd", "--out", "odd"]) == 2
    assert "lock is a lock, which has no value to know it by; so its runs" in capsys.readouterr().err
    assert not (folder / "odd").exists()


TUNED = """
duration = "3 s"
measure = { from = "1 s" }
topology.bottleneck = { rate = "2 Mbit/s", delay = "5 ms", buffer = "60 packets" }
traffic = [{ kind = "ftp", flows = 2 }]
[sweep]
"traffic.0.flows" = [2, 6]
"""


def test_a_class_is_tuned(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna")
    (folder / "range.toml").write_text(TUNED)
    line = ["tune", "range.toml", "--aqm", "mine_of_tests.py:Limit(share=1.0)", "--goal", "delay_p99_s < 100 ms"]
    line += ["--maximize", "utilization", "--runs", "30", "--seeds", "2"]
    assert main([*line, "--out", "a", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["asked"]["aqm"], found["aqm"], list(found["parameters"])) == (
        "Limit(share=1.0)",
        "Limit",
        ["aqm.limit"],
    )
    assert [each["name"] for each in found["settings"][1:4]] == ["Limit, defaults", "droptail", "codel"]
    limit = found["parameters"]["aqm.limit"]
    text = (folder / "a" / "tuned.toml").read_text()
    assert f"limit = {limit}" in text
    assert text.startswith("# Limit: a file names no class; --aqm FILE.py:Limit does.\n")
    assert main(["run", "a/tuned.toml", "--aqm", "mine_of_tests.py:Limit", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scenario"]["aqm"]["limit"] == limit
    again = ps.tune("range.toml", Limit(9), vary=["aqm.limit=2..30"], minimize="delay_p99_s", runs=30, seeds=2, out="b")
    assert again.parameters["aqm.limit"] == 2
    names = [each.name for each in again.statement.finals.beside]
    assert names[:3] == ["Limit, defaults", "Limit, as in the file", "droptail"]
    for words, message in (
        (["--vary", "aqm.mode"], "--vary aqm.mode: is no number, it is one of drop, pass"),
        (["--vary", "aqm.odd"], "no key of Limit"),
        (["--vary", "aqm.limit=9..2"], "must be two values"),
    ):
        assert main([*line, *words, "--out", "c"]) == 2
        assert message in capsys.readouterr().err
    assert not (folder / "c").exists()


def test_a_probe_takes_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    probed = ps.probe(small().with_aqm(Limit(4)), queues=[3, 4], after=["0.1 s"], runs=1)
    assert probed.shares("drop") == [[0.0, 1.0]]
    assert json.loads(probed.json())["aqm"]["limit"] == 4
    assert main(["probe", "mine_of_tests.py:Fails"]) == 1
    assert "mine_of_tests.py:22: in arrive: RuntimeError: no more" in capsys.readouterr().err
    assert main(["probe", "red", "--aqm", "pie"]) == 2
    assert "red is no file" in capsys.readouterr().err


def test_an_evaluation_varies_its_arguments(folder: Path) -> None:
    judged = candidates.candidates(["mine_of_tests.py:Limit(limit=4)", "red:min_th=3,max_th=9"])
    assert [each.name for each in judged] == ["droptail", "Limit(limit=4)", "red:min_th=3,max_th=9"]
    planned = points.plan(judged[:2], [rfc.experiment("medium")], [1], [1])
    varied = {each.where.knob: each for each in planned.points if each.where.knob}
    assert varied["limit × 2"].scenario.resolved["aqm"]["limit"] == 8
    assert {each.own for each in varied.values()} == {True}
    assert len({each.point.identity for each in planned.points}) == len(planned.points)


def test_a_file_leaves_the_modules_that_the_program_has_imported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    (folder / "early_of_tests.py").write_text("MOST = 6\n")
    text = FILE.replace("import STEP", "import STEP\nfrom early_of_tests import MOST").replace("int = 6", "int = MOST")
    (folder / "mine_of_tests.py").write_text(text)
    early, mine = importlib.import_module("early_of_tests"), importlib.import_module("mine_of_tests")

    def limit() -> object:
        return small().with_aqm("mine_of_tests.py:Limit").resolved["aqm"]["limit"]

    before = numbers(small().with_aqm("mine_of_tests.py:Limit"))
    assert (limit(), sys.modules["mine_of_tests"]) == (6, mine)
    # Each is loaded again where its own program, and where Penstock, is told of another text.
    (folder / "mine_of_tests.py").write_text(text.replace("STEP *", "0 *"))
    assert importlib.reload(mine).Limit().most == 0
    assert numbers(small().with_aqm("mine_of_tests.py:Limit")) == numbers(small().with_aqm(mine.Limit)) != before
    (folder / "early_of_tests.py").write_text("MOST = 7\n")
    assert limit() == 6  # the program's is as the program imported it
    importlib.reload(early)
    assert (limit(), sys.modules["early_of_tests"]) == (7, early)


def test_a_neighbour_that_is_edited_counts_for_every_file_that_names_it(folder: Path) -> None:
    (folder / "other_of_tests.py").write_text(FILE)
    (folder / "deeper").mkdir()
    (folder / "deeper" / "mine_of_tests.py").write_text(FILE.replace("int = 6", "int = 1"))

    def most() -> list[float]:
        files = ("mine_of_tests.py", "other_of_tests.py", "deeper/mine_of_tests.py")
        found = [small().with_aqm(f"{each}:Limit") for each in files]
        return [vars(own)["most"] for made in found for own in identity.disciplines(made.core)]

    assert most() == most() == [6, 6, 1]
    (folder / "own_helper_of_tests.py").write_text("STEP = 2\n")
    assert most() == [12, 12, 2]
    (folder / "own_helper_of_tests.py").write_text("STEP = \n")
    with pytest.raises(ps.ScenarioError, match="SyntaxError"):
        most()
    (folder / "own_helper_of_tests.py").write_text("STEP = 3\n")
    assert most() == [18, 18, 3]
