"""What `penstock reproduce` does whatever the paper: verdicts, kept runs, files, the command as a process."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import penstock as ps
from conftest import ROOT, SCENARIOS, Command
from helpers import tiny_paper
from penstock.errors import Error
from penstock.judging.rules import Above, Below, Within
from penstock.model.scenario import Scenario
from penstock.reproduce import command
from penstock.reproduce import drawn as reproduce_drawn
from penstock.reproduce.execute import Finished, Wanted, gather, identity, run
from penstock.reproduce.model import Case, MostBelow, Rule, Settings
from penstock.reproduce.papers import KEYS, paper
from penstock.reproduce.readings import DEFAULT, Alternative, Readings
from penstock.reproduce.verdict import CANNOT_TELL, FAILS, HOLDS, NOT_JUDGED, UNDECIDED, judge
from penstock.reproduce.words import held
from penstock.reproduce.words import verdict as verdict_in_words
from penstock.runs.recorded import recorded
from penstock.show import progress, style
from penstock.sweeps import store
from penstock.sweeps.store import Store

#: The mean of 1, 2, 3 is 2, its standard deviation 1; t(2 degrees, 99.5 %) = 9.925, so the interval's half-width is
#: 9.925 / sqrt(3) = 5.730: from -3.730 to 7.730.
ONE_TO_THREE = [1.0, 2.0, 3.0]

VERDICTS: list[tuple[list[float], Rule | None, str]] = [
    (ONE_TO_THREE, Above(-3.74), HOLDS),
    (ONE_TO_THREE, Above(-3.72), UNDECIDED),
    (ONE_TO_THREE, Above(7.72), UNDECIDED),
    (ONE_TO_THREE, Above(7.74), FAILS),
    (ONE_TO_THREE, Below(7.74), HOLDS),
    (ONE_TO_THREE, Below(7.72), UNDECIDED),
    (ONE_TO_THREE, Below(-3.72), UNDECIDED),
    (ONE_TO_THREE, Below(-3.74), FAILS),
    (ONE_TO_THREE, Within(-3.74, 7.74), HOLDS),
    (ONE_TO_THREE, Within(-3.72, 7.74), UNDECIDED),
    (ONE_TO_THREE, Within(1.9, 2.1), UNDECIDED),  # the interval is the wider of the two
    (ONE_TO_THREE, Within(7.74, 9.0), FAILS),
    (ONE_TO_THREE, Within(-9.0, -3.74), FAILS),
    (ONE_TO_THREE, None, NOT_JUDGED),
    # Seeds that all say the same: an interval of one point, which is on neither side of itself.
    ([2.0, 2.0], Above(1.9), HOLDS),
    ([2.0, 2.0], Above(2.0), FAILS),
    ([2.0, 2.0], Below(2.0), FAILS),
    ([2.0, 2.0], Within(2.0, 2.0), HOLDS),
    # A difference of 0 in every seed: both sides are one run. That they are the same holds.
    ([0.0, 0.0], Above(), CANNOT_TELL),
    ([0.0, 0.0], Below(), CANNOT_TELL),
    ([0.0, 0.0], Below(1.0), HOLDS),
    ([0.0, 0.0], Within(-1.0, 1.0), HOLDS),
    # One seed, or none, says nothing.
    ([2.0], Above(0.0), UNDECIDED),
    ([0.0], Above(0.0), UNDECIDED),
    ([], Within(-1.0, 1.0), UNDECIDED),
    ([math.nan], Above(0.0), UNDECIDED),
    # In most runs: Wilson's interval of 10 of 10 at 99 % is 60.1 to 100 %, that of 7 of 10 is 31.6 to 91.9 %.
    ([5.0] * 10, MostBelow(6.0), HOLDS),
    ([5.0] * 7 + [math.inf] * 3, MostBelow(6.0), UNDECIDED),
    ([math.inf] * 10, MostBelow(6.0), FAILS),
    ([6.0] * 10, MostBelow(6.0), FAILS),
]


@pytest.mark.parametrize(("values", "rule", "verdict"), VERDICTS)
def test_verdict(values: list[float], rule: Rule | None, verdict: str) -> None:
    claim = replace(tiny_paper.PAPER.claims[0], rule=rule)
    assert judge("tiny", claim, DEFAULT, values).verdict == verdict


def test_a_finding_has_the_interval_and_leaves_out_what_does_not_apply() -> None:
    found = judge("tiny", tiny_paper.PAPER.claims[0], DEFAULT, [1.0, math.nan, 2.0, 3.0])
    assert found.n == 3
    assert (found.estimate, found.low, found.high) == pytest.approx((2.0, -3.730, 7.730), abs=1e-3)
    alone = judge("tiny", tiny_paper.PAPER.claims[0], DEFAULT, [7.0])
    assert (alone.estimate, alone.low, alone.high, alone.n) == (7.0, None, None, 1)


#: Clearly above 0, clearly below, and neither: five seeds each.
UP, DOWN, OPEN = [1.0, 1.1, 0.9, 1.0, 1.05], [-1.0, -1.1, -0.9, -1.0, -1.05], [1.0, -1.0, 0.5, -0.5, 0.0]


@pytest.mark.parametrize(
    ("points", "verdict", "holding"),
    [
        ((UP, UP, UP), HOLDS, 3),
        ((UP, OPEN, UP), UNDECIDED, 2),
        ((UP, UP, DOWN), FAILS, 2),
        ((DOWN, DOWN, DOWN), FAILS, 0),
        ((UP, [0.0] * 5, UP), UNDECIDED, 2),
        (([0.0] * 5, [0.0] * 5), CANNOT_TELL, 0),
    ],
)
def test_a_claim_about_an_axis_holds_at_every_point(
    points: tuple[list[float], ...], verdict: str, holding: int
) -> None:
    claim = replace(tiny_paper.PAPER.claims[0], rule=Above())
    found = judge("tiny", claim, DEFAULT, {str(i): values for i, values in enumerate(points)})
    assert (found.verdict, held(found)) == (verdict, (holding, len(points)))
    assert found.estimate == pytest.approx(sum(map(sum, points)) / 5 / len(points))


def test_one_point_of_many_refutes_only_where_it_is_sure() -> None:
    # At 99 % the interval of these values ends at -0.07. With ten points it is of 99.9 %, and contains 0.
    doubtful = [-1.0, -3.0, -2.0, -1.5, -2.5]
    shifted = [value + 0.3 for value in doubtful]
    claim = replace(tiny_paper.PAPER.claims[0], rule=Above())
    assert judge("tiny", claim, DEFAULT, shifted).verdict == FAILS
    assert judge("tiny", claim, DEFAULT, {"x": shifted, **{str(i): UP for i in range(9)}}).verdict == UNDECIDED


def test_what_never_happens_is_not_a_time() -> None:
    claim = replace(tiny_paper.PAPER.claims[0], rule=MostBelow(18.0))
    never = judge("tiny", claim, DEFAULT, [math.inf] * 10)
    assert (never.estimate, never.note) == (0.0, "never in 10 of 10")
    some = judge("tiny", claim, DEFAULT, [4.0, 6.0, math.inf])
    assert some.note == "after 5 s in the mean, in 2 of 3"
    assert some.estimate == pytest.approx(200 / 3)


def test_a_verdict_says_how_large_and_how_sure() -> None:
    claim = replace(tiny_paper.PAPER.claims[0], rule=Above(), printed=5.0)
    assert verdict_in_words(judge("tiny", claim, DEFAULT, UP)) == "holds, a fifth of what is printed"
    assert verdict_in_words(judge("tiny", claim, DEFAULT, DOWN)) == FAILS
    assert (
        verdict_in_words(judge("tiny", replace(claim, printed=None), DEFAULT, [2.0, 2.0]))
        == "holds, the runs are identical"
    )
    assert verdict_in_words(judge("tiny", claim, DEFAULT, {"1": UP, "2": OPEN})).startswith(
        "undecided: it holds at 1 of 2 points"
    )


@dataclass(frozen=True, kw_only=True)
class Open:
    """What a made-up paper leaves open."""

    rate: int = 1
    tcp: Mapping[str, Any] = field(default_factory=dict)


def test_joint_readings_take_everything_at_once() -> None:
    readings = Readings(
        Open(),
        Alternative("rate=2", "Rate 2.", Open(rate=2)),
        Alternative("rate=3", "Rate 3.", Open(rate=3)),
        Alternative("window=64", "Window 64.", Open(tcp={"window": 64})),
        Alternative("reno", "Reno.", Open(tcp={"tcp": "reno"})),
        Alternative("window=64,3", "Both.", Open(rate=3, tcp={"window": 64})),
    )
    joint = readings.joint("reno", "rate=2", "window=64")
    assert (joint.key, joint.text) == ("rate=2 + window=64 + reno", "Rate 2. Window 64. Reno.")
    assert readings[joint] == Open(rate=2, tcp={"window": 64, "tcp": "reno"})
    assert readings.joint() == DEFAULT
    assert readings.joint("reno") in readings
    assert joint not in list(readings)
    with pytest.raises(ValueError, match="contradict"):
        readings.joint("rate=2", "rate=3")
    with pytest.raises(KeyError):
        readings.joint("rate=4")
    possible = list(readings.possible())
    assert possible[0] == ()
    assert len(set(possible)) == len(possible)
    # Three rates, two windows, two kinds of TCP; what is both at once adds no set of its own except its own two.
    assert {taken for taken in possible if "window=64,3" not in taken} == {
        tuple(key for key in (rate, window, tcp) if key)
        for rate in ("", "rate=2", "rate=3")
        for window in ("", "window=64")
        for tcp in ("", "reno")
    }


def test_seeds_are_added_until_a_claim_is_decided(tmp_path: Path) -> None:
    done = command.reproduce([tiny_paper.PAPER], Settings(looks=(3, 4, 6), single=3), tmp_path, jobs=2)
    n = {(found.claim.key, found.reading.key): found.n for found in done.findings}
    verdicts = {(found.claim.key, found.reading.key): found.verdict for found in done.findings}
    assert n["table1.none", "default"] == 3
    assert verdicts["table1.none", "default"] == FAILS
    # 1, 2, 3 … average to 2 for three seeds only, and three are too few to say so.
    assert (n["fig2.seed", "default"], verdicts["fig2.seed", "default"]) == (6, UNDECIDED)
    counted = store.read(tmp_path / "runs").group_by("seed").aggregate([("seed", "count")]).to_pydict()
    per_seed = dict(zip(counted["seed"], counted["seed_count"], strict=True))
    assert per_seed[1] == per_seed[3] > per_seed[5] == per_seed[6] >= 1


# Kept runs


def test_two_processes_do_not_run_into_one_folder(tmp_path: Path) -> None:
    wanted = Wanted.of("one", tiny_paper.over_buffer(Settings.of_seeds(1), DEFAULT))
    with Store(tmp_path), pytest.raises(Error, match="another process writes there"):
        run([wanted], (1,), tmp_path, 1, lambda *_: None)
    assert len(run([wanted], (1,), tmp_path, 1, lambda *_: None)) == 3


def test_a_run_is_known_by_what_is_run() -> None:
    base = tiny_paper.scenario(20, DEFAULT)
    same = tiny_paper.scenario(20, DEFAULT).set_all({"seed": 9, "name": '"another"'})
    assert identity(Case({}, base)) == identity(Case({"label": 1}, same))
    others = [base.set("traffic.0.flows", 5), base.set("measure.from", "2 s"), tiny_paper.scenario(20, tiny_paper.RFC)]
    traced = [Case({}, base, trace_s) for trace_s in (None, 0.1, 0.2)]
    assert len({identity(case) for case in (*traced, *(Case({}, other) for other in others))}) == 6


def test_each_run_is_run_once(tmp_path: Path) -> None:
    settings = Settings.of_seeds(2)
    wanted = [Wanted.of(place, tiny_paper.over_buffer(settings, DEFAULT)) for place in ("one", "two")]
    assert len(run(wanted, (1, 2), tmp_path, 2, lambda *_: None)) == 6  # three buffers, two seeds: not twelve
    assert len(run(wanted, (1, 2, 3), tmp_path, 2, lambda *_: None)) == 3
    runs = gather(wanted[1], (1, 2, 3), Finished(tmp_path))
    assert run(wanted, (1, 2, 3), tmp_path, 1, lambda *_: None) == []
    again = gather(wanted[0], (1, 2, 3), Finished(tmp_path))
    assert [each.metrics for each in again] == [each.metrics for each in runs]
    with pytest.raises(LookupError, match=r"not run: .*seed 4"):
        gather(wanted[0], (4,), Finished(tmp_path))


def test_what_is_kept_is_what_was_run(tmp_path: Path) -> None:
    lot = Scenario.load(SCENARIOS / "parking-lot.toml").set_all({"duration": "2 s", "measure.from": "1 s"})
    cases = [Case({"of": "lot"}, lot, 0.1), *tiny_paper.over_time(Settings.of_seeds(2), DEFAULT)]
    wanted = Wanted.of("one", cases)
    run([wanted], (1, 2), tmp_path, 2, lambda *_: None)
    kept = list(gather(wanted, (1, 2), Finished(tmp_path)))
    for case, runs in zip(cases, (kept[:2], kept[2:]), strict=True):
        result = ps.run(case.scenario, [1, 2], series=case.trace_s)
        for ours, theirs in zip(runs, result.runs, strict=True):
            # The store has columns for metrics that only some scenarios have.
            assert (ours.seed, ours.metrics) == (theirs.seed, dict.fromkeys(ours.metrics) | theirs.metrics)
            groups = zip(ours.groups, theirs.groups, strict=True)
            assert all(mine == dict.fromkeys(mine) | group | {"name": mine["name"]} for mine, group in groups)
            assert ours.links == theirs.links
            assert ours.trace == recorded(theirs, "queue")
    assert len(kept[0].links) > 1


def test_progress_says_where_and_reaches_the_end(tmp_path: Path) -> None:
    told: list[tuple[float, float, str]] = []
    wanted = Wanted.of("TINY fig1", tiny_paper.over_buffer(Settings.of_seeds(1), DEFAULT))
    run([wanted], (1,), tmp_path, 1, lambda *state: told.append(state))
    shares = [done / total for done, total, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert {place for *_, place in told} == {"TINY fig1"}


# The command


def reproduce(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """`penstock reproduce` as another process that knows the tiny paper only."""
    return subprocess.run(line(*arguments), cwd=folder, capture_output=True, text=True, timeout=120)


def line(*arguments: object) -> list[str]:
    return [sys.executable, str(ROOT / "tests" / "helpers" / "tiny_paper.py"), *map(str, arguments)]


def without_runs(folder: Path) -> dict[Path, bytes]:
    """The files of a reproduction that are the same whoever made it."""
    files = (path for path in folder.rglob("*") if path.is_file() and folder / "runs" not in path.parents)
    return {path.relative_to(folder): path.read_bytes() for path in files}


def test_a_reproduction_is_a_folder(tmp_path: Path, reproduced: Path) -> None:
    done = reproduce(tmp_path, "amecn", "--seeds", 3, "--out", "o", "--jobs", 1)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == str(Path("o", "report.html"))
    assert "does not hold" in done.stdout
    out = tmp_path / "o"
    written = {str(path) for path in (p.relative_to(out) for p in out.rglob("*.*") if p.is_file())}
    runs = {name for name in written if name.startswith("runs/")}
    assert {re.sub("[0-9a-f]{32}", "ID", name) for name in runs} == {
        "runs/manifest/ID.json",
        "runs/runs/ID.parquet",
        "runs/series/queue/ID.parquet",
        "runs/schema.json",
    }
    figures = {f"figures/amecn.{key}.{kind}" for key in ("fig1", "fig2") for kind in ("svg", "png")}
    figures.add("figures/drawn.json")
    data = {f"data/amecn.{key}.parquet" for key in ("fig1", "fig2", "table1", "fig2.series")}
    assert written - runs == {"report.html", "claims.csv", *figures, *data}

    table = pq.read_table(out / "data" / "amecn.fig1.parquet")
    assert table.column_names[:2] == ["buffer", "seed"]
    assert table["buffer"].to_pylist() == [5, 5, 5, 10, 10, 10, 20, 20, 20]
    assert table["seed"].to_pylist() == [1, 2, 3] * 3
    assert {"utilization", "delay_mean_s", "loss_ratio"} <= set(table.column_names)
    series = pq.read_table(out / "data" / "amecn.fig2.series.parquet")
    assert series.column_names[:4] == ["buffer", "seed", "t_s", "queue_pkts"]

    assert len(without_runs(out)) == 11
    assert without_runs(out) == without_runs(reproduced), "one thread or two"


def test_claims_csv(tmp_path: Path, reproduced: Path) -> None:
    out = tmp_path / "o"
    shutil.copytree(reproduced, out)
    text = (out / "claims.csv").read_bytes().decode()
    assert text.splitlines()[0] == ",".join(command.COLUMNS)
    # These stood there first, and others read them.
    assert text.startswith("paper,claim,paper_value,estimate,ci_low,ci_high,n,verdict,reading,")
    assert "\r" not in text
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["claim"], row["reading"]) for row in rows] == [
        ("fig1.delay", "default"),
        ("fig1.delay", "each"),
        ("fig1.delay", "rfc"),
        ("fig1.delay", "rate=1"),
        ("table1.none", "default"),
        ("table1.none", "rfc"),
        ("fig2.seed", "default"),
    ]
    seeds = rows[-1]
    assert (seeds["paper"], seeds["paper_value"], seeds["n"], seeds["verdict"]) == ("amecn", "2", "3", UNDECIDED)
    assert [float(seeds[c]) for c in ("estimate", "ci_low", "ci_high")] == pytest.approx([2, -3.730, 7.730], abs=1e-3)
    assert (seeds["of"], seeds["rule"], seeds["size"], seeds["points"]) == ("check", "within 1.9 … 2.1", "", "")
    longer, each = rows[:2]
    assert (longer["of"], longer["place"], longer["unit"], longer["rule"]) == ("paper", "section 2", "ms", "above 0")
    assert longer["text"] == "A buffer of 20 packets delays longer than one of 5"
    assert float(longer["size"]) == pytest.approx(float(longer["estimate"]) / 200)
    assert (each["points_held"], each["points"]) == ("2", "2")
    for row in rows:
        assert float(row["ci_low"]) <= float(row["estimate"]) <= float(row["ci_high"])

    command.reproduce([tiny_paper.PAPER], Settings.of_seeds(1).quickly(), out, jobs=2)
    rows = list(csv.DictReader((out / "claims.csv").read_text(encoding="utf-8").splitlines()))
    assert {(row["n"], row["ci_low"], row["ci_high"], row["verdict"]) for row in rows} == {("1", "", "", UNDECIDED)}


def test_the_same_bytes_again_without_running(tmp_path: Path, reproduced: Path) -> None:
    shutil.copytree(reproduced, tmp_path / "o")
    done = reproduce(tmp_path, "amecn", "--seeds", 3, "--out", "o", "--timing", "t.json")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["runs"] == 0
    assert without_runs(tmp_path / "o") == without_runs(reproduced)


def test_only_what_changed_is_drawn_again(tmp_path: Path, reproduced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "o"
    shutil.copytree(reproduced, out)
    drawn: list[str] = []
    save = style.save

    def saving(figure: Any, path: str) -> None:
        drawn.append(Path(path).name)
        save(figure, path)

    monkeypatch.setattr(style, "save", saving)

    def again(seeds: int = 3) -> list[str]:
        drawn.clear()
        command.reproduce([tiny_paper.PAPER], Settings.of_seeds(seeds), out, jobs=1)
        return sorted(drawn)

    both = sorted(f"amecn.{key}.{kind}" for key in ("fig1", "fig2") for kind in ("png", "svg"))
    assert again() == []
    assert without_runs(out) == without_runs(reproduced)
    (out / "figures" / "amecn.fig1.png").unlink()
    (out / "data" / "amecn.fig2.parquet").write_bytes(b"other")
    assert again() == both
    monkeypatch.setattr(reproduce_drawn, "_code", lambda: "other code")
    assert again() == both
    assert again(seeds=2) == both
    (out / "figures" / "drawn.json").write_text("{}")
    assert again(seeds=2) == both


def test_only_some_exhibits(tmp_path: Path) -> None:
    done = reproduce(tmp_path, "--only", "amecn.table1", "--seeds", 2, "--out", "o")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "o" / "data").iterdir()] == ["amecn.table1.parquet"]
    rows = list(csv.DictReader((tmp_path / "o" / "claims.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["claim"] for row in rows} == {"table1.none"}


def test_list_runs_nothing(tmp_path: Path) -> None:
    done = reproduce(tmp_path, "amecn", "--list")
    assert (done.returncode, done.stderr) == (0, "")
    for claim in tiny_paper.PAPER.claims:
        assert claim.key in done.stdout
        assert f"amecn.{claim.exhibit}" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["amcn"], ["no paper is called 'amcn'", "nearest: amecn", "red-at"]),
        (
            ["amecn", "--only", "amecn.fig3"],
            ["no exhibit or claim is called 'amecn.fig3'", "nearest: amecn.fig", "amecn.table1"],
        ),
        (["--only", "redat.fig8"], ["no paper is called 'redat'", "nearest: red-at"]),
        (["--seeds", "0"], ["--seeds", "0"]),
        (["--out", "file"], ["--out file", "not a folder"]),
    ],
)
def test_wrong_input_is_said_in_one_line(tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    (tmp_path / "file").touch()
    done = reproduce(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    for word in words:
        assert word in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_what_was_interrupted_goes_on_where_it_stopped(tmp_path: Path, how: signal.Signals, code: int) -> None:
    arguments = ("amecn", "--only", "amecn.fig1", "--seeds", 300, "--out", "o")
    runs = tmp_path / "o" / "runs"
    with subprocess.Popen(
        line(*arguments), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        journals = runs / "journal"
        while process.poll() is None and not any(path.stat().st_size for path in journals.glob("*.journal")):
            time.sleep(0.01)
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    if how == signal.SIGINT:
        assert said.splitlines()[-1].startswith("penstock: interrupted; ")
        assert str(Path("o", "runs")) in said
    assert not (tmp_path / "o" / "report.html").exists()
    store.settle(runs)
    whole = store.read(runs).num_rows
    assert 0 < whole < 2700  # three buffers under three readings

    done = reproduce(tmp_path, *arguments, "--timing", "t.json")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["runs"] == 2700 - whole
    assert len(set(store.read(runs)["key"].to_pylist())) == store.read(runs).num_rows == 2700


def test_the_help_names_the_papers(penstock: Command) -> None:
    said = penstock("reproduce", "--help").stdout
    assert all(key in said for key in KEYS)


# Every paper


@pytest.mark.parametrize("key", KEYS)
def test_a_paper_fits_together(key: str) -> None:
    of = paper(key)
    assert of.key == key
    exhibits = [exhibit.key for exhibit in of.exhibits]
    assert len(set(exhibits)) == len(exhibits)
    claims = [claim.key for claim in of.claims]
    assert len(set(claims)) == len(claims)
    readings: dict[str, str] = {DEFAULT.key: DEFAULT.text}
    for claim in of.claims:
        assert claim.exhibit in exhibits, claim.key
        for reading in claim.readings:
            assert readings.setdefault(reading.key, reading.text) == reading.text, claim.key
            assert reading != DEFAULT, claim.key


def test_the_papers_are_listed(penstock: Command) -> None:
    done = penstock("reproduce", "--list")
    assert (done.returncode, done.stderr) == (0, "")
    for key in KEYS:
        of = paper(key)
        assert all(f"{key}.{exhibit.key}" in done.stdout for exhibit in of.exhibits)
        assert all(claim.key in done.stdout for claim in of.claims)


def test_a_log_shows_life(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with progress.Bar("running") as bar:
        for tenth in range(30):
            now[0] = 100.0 + tenth
            bar.show(tenth / 30, "running TINY fig1", f"{tenth}/30 runs")
    assert capsys.readouterr().err.splitlines() == [
        "running TINY fig1: 33%, 10/30 runs, 10 s",
        "running TINY fig1: 67%, 20/30 runs, 20 s",
    ]
