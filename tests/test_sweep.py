"""Sweeps: nothing is lost, doubled or computed twice, whoever is killed and whatever runs it."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import penstock as ps
from conftest import SMALL, Command
from penstock import _penstock
from penstock.errors import Error, ScenarioError
from penstock.judging.estimate import Estimate
from penstock.model.scenario import Scenario
from penstock.runs import runner
from penstock.runs.tasks import Engine, Outcome, Task, run_key, run_task
from penstock.sweeps import drive, store
from penstock.sweeps import show as shows
from penstock.sweeps.drive import Threads
from penstock.sweeps.export import export
from penstock.sweeps.store import Store, adopt, writer
from penstock.sweeps.store.journal import Journal
from penstock.sweeps.until import Until

GRID = (
    SMALL
    + """
[sweep]
"aqm.min_th" = [3, 5]
"topology.bottleneck.delay" = ["100 ms", "20 ms", "5 ms"]
seeds = 4

[[variant]]
name = "drops"
set = { "aqm.ecn" = false }

[[variant]]
name = "marks"
set = { "aqm.ecn" = true }
"""
)
RUNS = 2 * 2 * 3 * 4


def sweep(text: str, out: Path, **options: Any) -> drive.Sweep:
    return ps.sweep(Scenario.from_toml(text), out=out, **options)


def exported(folder: Path, table: str) -> bytes:
    path = folder.parent / f"{folder.name}.csv"
    with path.open("wb") as file:
        export(folder, file, table)
    return path.read_bytes()


def csv(folder: Path) -> bytes:
    return exported(folder, "runs")


class InLine:
    """An engine that runs one task after the other, here; those that `fails` names fail."""

    workers = 1

    def __init__(self, fails: Sequence[int] = ()) -> None:
        self.fails = fails
        self.tasks: list[Task] = []

    def run(self, tasks: Iterator[Task]) -> Iterator[Sequence[Outcome]]:
        for task in tasks:
            self.tasks.append(task)
            failed = Outcome(task.key, None, "no luck", 0)
            yield [failed if len(self.tasks) in self.fails else run_task(task)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The grid's runs from a sweep that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "runs"
    done = sweep(GRID, folder, jobs=1)
    assert (done.runs, done.ran, done.kept, done.failed) == (RUNS, RUNS, 0, 0)
    return csv(folder)


def test_a_run_is_the_same_as_penstock_run(tmp_path: Path) -> None:
    sweep(GRID, tmp_path / "runs", jobs=2)
    runs = store.read(tmp_path / "runs").to_pylist()
    assert len(runs) == len({run["key"] for run in runs}) == RUNS
    chosen = next(r for r in runs if r["variant"] == "marks" and r["seed"] == 3 and r["aqm.min_th"] == "3 packets")
    document = {**json.loads(chosen["scenario"]), "seed": chosen["seed"]}
    again = runner.run(Scenario._of(_penstock.Scenario.from_json(json.dumps(document))), 1).runs[0]
    # The store has columns for metrics that only some scenarios have.
    assert {name: chosen[name] for name in store.metrics()} == dict.fromkeys(store.metrics()) | again.metrics
    assert chosen["groups"] == [
        dict.fromkeys(kept) | group | {"name": name}
        for kept, group, name in zip(chosen["groups"], again.groups, ["ftp", "cbr"], strict=True)
    ]
    assert chosen["events"] == again.events


@pytest.mark.parametrize("engine", [Threads(3), InLine()])
def test_the_same_bytes_whatever_runs_it(engine: Engine, tmp_path: Path, whole: bytes) -> None:
    sweep(GRID, tmp_path / "runs", engine=engine)
    assert csv(tmp_path / "runs") == whole


def test_only_what_is_new_runs(tmp_path: Path, whole: bytes) -> None:
    out = tmp_path / "runs"
    assert sweep(GRID, out, seeds=2).ran == RUNS // 2
    again = InLine()
    assert sweep(GRID, out, seeds=2, engine=again).kept == RUNS // 2
    assert again.tasks == []
    assert sweep(GRID, out).ran == RUNS // 2  # more seeds
    assert csv(out) == whole
    wider = GRID.replace('"5 ms"]', '"5 ms", "7 ms"]')  # another value
    assert sweep(wider, out).ran == RUNS // 3
    renamed = GRID.replace('name = "small"', 'name = "other"')  # the name decides nothing
    assert sweep(renamed, out).ran == 0


def test_a_new_axis_becomes_a_column_of_all_files(tmp_path: Path) -> None:
    out = tmp_path / "runs"
    sweep(SMALL, out, seeds=2)
    sweep(SMALL, out, seeds=2, over={"aqm.max_p": [0.02, 0.05]})
    sweep(SMALL, out, seeds=1, over=[{"aqm.w_q": "auto"}, {"aqm.w_q": 0.004}])
    schemas = {str(pq.read_schema(part)) for part in store.parts(out)}
    assert len(schemas) == 1
    runs = store.read(out)
    assert set(runs["aqm.max_p"].to_pylist()) >= {0.02, 0.05}
    assert None not in runs["aqm.max_p"].to_pylist()
    assert {"0.004"} <= set(runs["aqm.w_q"].to_pylist())  # a number among words is text


def test_failures_stop_nothing_but_themselves(tmp_path: Path, whole: bytes) -> None:
    out = tmp_path / "runs"
    seen: list[drive.Failure] = []
    engine = InLine(fails=(2, 7))
    done = sweep(GRID, out, engine=engine, failure=seen.append)
    assert (done.ran, done.failed) == (RUNS - 2, 2)
    assert [(f.key, f.seed) for f in seen] == [(engine.tasks[i].key, engine.tasks[i].seed) for i in (1, 6)]
    assert sweep(GRID, out).ran == 2  # what failed is not kept
    assert csv(out) == whole
    with pytest.raises(drive.FailFastError, match=r"seed \d: no luck"):
        sweep(GRID, tmp_path / "fast", engine=InLine(fails=(5,)), fail_fast=True)
    assert store.read(tmp_path / "fast").num_rows == 4


def test_values_that_do_not_hold_together_are_failures_of_their_points(tmp_path: Path) -> None:
    seen: list[drive.Failure] = []
    over = {"aqm.min_th": [5, 12], "aqm.max_th": [10, 15]}
    done = sweep(SMALL, tmp_path / "runs", seeds=2, over=over, failure=seen.append)
    assert (done.ran, done.failed, len(seen)) == (6, 2, 1)
    assert '"aqm.min_th": "12"' in seen[0].error


def test_more_seeds_until_the_interval_is_narrow(tmp_path: Path) -> None:
    over = {"aqm.min_th": [3, 5], "traffic.0.flows": [2, 3]}
    rule = Until.parse("queue_mean_pkts ±15%", least=4, most=400)
    done = sweep(SMALL, tmp_path / "runs", over=over, until=rule, jobs=3)
    assert (done.ran, done.wide) == (store.read(tmp_path / "runs").num_rows, 0)
    runs: dict[str, dict[int, float]] = {}
    for run in store.read(tmp_path / "runs").to_pylist():
        runs.setdefault(run["point"], {})[run["seed"]] = run["queue_mean_pkts"]
    assert len(runs) == 4
    for values in runs.values():
        assert sorted(values) == list(range(1, len(values) + 1))
        estimates = [Estimate.of([values[s] for s in range(1, n + 1)]) for n in range(4, len(values) + 1)]
        narrow = [e.ci95 is not None and e.mean is not None and e.ci95 <= 0.15 * e.mean for e in estimates]
        assert any(narrow)  # at some seed it was, and no further round began after that
        assert not any(narrow[: max(0, len(narrow) - max(2, len(values) // 4))])
    again = InLine()
    assert sweep(SMALL, tmp_path / "runs", over=over, until=rule, engine=again).kept == done.ran
    assert again.tasks == []
    sweep(SMALL, tmp_path / "other", over=over, until=rule, engine=InLine())
    assert csv(tmp_path / "other") == csv(tmp_path / "runs")
    short = sweep(SMALL, tmp_path / "short", over=over, until="queue_mean_pkts ±0.01%", seeds=3)
    assert (short.ran, short.wide) == (12, 4)


def test_samples_of_ranges(tmp_path: Path) -> None:
    text = SMALL + '[sweep]\n"aqm.max_p" = { log_uniform = [0.01, 0.5] }\nsamples = 7\nseeds = 2\n'
    assert sweep(text, tmp_path / "runs").ran == 14
    values = set(store.read(tmp_path / "runs")["aqm.max_p"].to_pylist())
    assert len(values) == 7
    assert all(0.01 <= value <= 0.5 for value in values)


def test_variants_must_differ(tmp_path: Path) -> None:
    twins = GRID.replace('"aqm.ecn" = false', '"aqm.ecn" = true')
    with pytest.raises(ScenarioError, match="variants drops and marks are the same scenario"):
        sweep(twins, tmp_path / "runs")


def test_what_a_crash_cut_short_is_run_again(tmp_path: Path, whole: bytes) -> None:
    out = tmp_path / "runs"
    sweep(GRID, out, seeds=1)
    # A journal without owner: whole entries, then a part of one.
    donor = tmp_path / "donor"
    with Store(donor) as opened:
        grid = drive.Grid(Scenario.from_toml(GRID), {})
        for point, _ in list(grid)[:3]:
            for seed in (1, 2):
                task = Task(run_key(point.identity, seed), point.scenario, seed)
                opened.put(point, seed, run_task(task))
            opened.flush()
        (journal,) = (donor / "journal").glob("*.journal")
        content = journal.read_bytes()
    (out / "journal" / "dead.journal").write_bytes(content[:-20])
    done = sweep(GRID, out)
    assert done.kept == RUNS // 4 + 2  # seed 1 was there; of seed 2 two entries were whole
    assert csv(out) == whole


def test_two_sweeps_into_one_folder(tmp_path: Path, whole: bytes) -> None:
    out = tmp_path / "runs"
    both = [threading.Thread(target=sweep, args=(GRID, out), kwargs={"jobs": 1}) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert csv(out) == whole


#: A sweep in a process of its own, whose journal becomes a Parquet file every few runs.
CHILD = """
import sys
from pathlib import Path
import penstock as ps
from penstock.sweeps.store import writer
writer.COMPACT_RUNS, writer.FLUSH_RUNS, writer.FLUSH_S = 10, 3, 0.02
ps.sweep(sys.argv[1], out=Path(sys.argv[2]), jobs=int(sys.argv[3]))
"""


def killed(tmp_path: Path, whole: bytes, times: int) -> None:
    chance = random.Random(times)
    file = tmp_path / "grid.toml"
    file.write_text(GRID)
    kills = 0
    for round_ in range(10 * times):
        out = tmp_path / f"runs{round_}"
        finished: set[str] = set()
        while kills < times:
            line = [sys.executable, "-c", CHILD, str(file), str(out), str(chance.choice((1, 2, 5)))]
            process = subprocess.Popen(line)
            until = time.monotonic() + 60
            while not (out / "journal").exists() and time.monotonic() < until:
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.4))
            process.kill()
            ended_by = process.wait()
            # What a reader meets now is whole, and nothing that was finished before is gone.
            keys = [key for part in store.parts(out) for key in pq.read_table(part, columns=["key"])["key"].to_pylist()]
            keys_journaled = {
                key for path in (out / "journal").glob("*.journal") for key in adopt.keys(path).get("runs", ())
            }
            assert len(keys) == len(set(keys))
            assert finished <= set(keys) | keys_journaled
            finished = set(keys) | keys_journaled
            if ended_by != -signal.SIGKILL:
                break
            kills += 1
        sweep(GRID, out)
        assert csv(out) == whole
        if kills >= times:
            return
    raise AssertionError("the sweeps ended before they could be killed")


def test_killed_and_resumed(tmp_path: Path, whole: bytes) -> None:
    """A real kill; `test_sweep_dying.py` dies everywhere."""
    killed(tmp_path, whole, 1)


@pytest.mark.long
def test_killed_and_resumed_often(tmp_path: Path, whole: bytes) -> None:
    killed(tmp_path, whole, 50)


#: Some seconds of runs on one core.
MANY = 8000


def interrupted(folder: Path, *options: str) -> None:
    """A sweep whose process group gets a Ctrl-C, and the same command again."""
    (folder / "small.toml").write_text(SMALL)
    line = [sys.executable, "-m", "penstock", "sweep", "small.toml", "--out", "runs", *options, "--seeds"]
    with subprocess.Popen(
        [*line, str(MANY)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        journals = folder / "runs" / "journal"
        deadline = time.monotonic() + 60
        while not any(path.stat().st_size for path in journals.glob("*.journal")) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        said, complained = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "")
    assert complained.splitlines()[-1] == (
        "penstock: interrupted; finished runs are kept in runs: the same command goes on"
    )
    assert "Traceback" not in complained
    assert list(journals.iterdir()) == []  # it had the time to write Parquet
    kept = store.read(folder / "runs").num_rows
    assert 0 < kept < MANY
    done = subprocess.run([*line, str(MANY)], cwd=folder, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"{MANY} runs in runs: {MANY - kept} new, {kept} kept\n")
    runs = store.read(folder / "runs")
    assert (runs.num_rows, len(runs["key"].unique())) == (MANY, MANY)


def test_an_interrupted_sweep_goes_on(tmp_path: Path) -> None:
    interrupted(tmp_path, "--jobs", "1")


#: Mounts a file system of that many KiB at the folder and runs the rest of the line, in a namespace of its own.
SMALL_DISK = 'mount -t tmpfs -o size="$0k" penstock "$1" && shift && "$@"'


@pytest.mark.parametrize("written", [False, True])
def test_ctrl_c_in_the_middle_of_an_append_doubles_and_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    scenario = Scenario.from_toml(GRID)
    append, fsync = Journal.append, os.fsync

    def interrupted(*_: Any) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        raise KeyboardInterrupt

    def appending(journal: Journal, *entry: Any) -> None:
        monkeypatch.setattr(Journal, "append", append)
        if written:
            append(journal, *entry)
            raise KeyboardInterrupt
        monkeypatch.setattr(os, "fsync", interrupted)
        append(journal, *entry)

    monkeypatch.setattr(writer, "FLUSH_RUNS", 5)
    monkeypatch.setattr(Journal, "append", appending)
    with pytest.raises(KeyboardInterrupt):
        ps.sweep(scenario, out=tmp_path / "o")
    monkeypatch.undo()
    store.settle(tmp_path / "o")
    kept = store.read(tmp_path / "o")["key"].to_pylist()
    assert len(set(kept)) == len(kept) > 0
    done = ps.sweep(scenario, out=tmp_path / "o")
    assert (done.kept, done.ran) == (len(kept), done.runs - len(kept))
    assert len(set(store.read(tmp_path / "o")["key"].to_pylist())) == done.runs


def test_a_really_full_disk_loses_nothing_that_was_finished(tmp_path: Path, whole: bytes) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    small_disk = ["unshare", "-m", "sh", "-c", SMALL_DISK]
    may = shutil.which("unshare") and subprocess.run([*small_disk, "64", str(disk), "true"], capture_output=True)
    if not may or may.returncode != 0:
        pytest.skip("needs root in Linux, to mount a small file system in a namespace of its own")
    (tmp_path / "grid.toml").write_text(GRID)
    out = tmp_path / "runs"
    # What the disk of 1 MiB holds is gone with the namespace: it is copied out as the sweep left it.
    child = f"{sys.executable} -m penstock sweep {tmp_path}/grid.toml --seeds 400 --jobs 1 --flows --out {disk}/runs"
    script = f"{child}; code=$?; cp -r {disk}/runs {out}; exit $code"
    done = subprocess.run([*small_disk, "1024", str(disk), "sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("penstock: ")
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    store.settle(out)
    kept = store.read(out)
    assert 0 < kept.num_rows < 12 * 400
    assert kept["key"].to_pylist() == list(dict.fromkeys(kept["key"].to_pylist()))
    assert set(store.read(out, table="flows")["key"].to_pylist()) == set(kept["key"].to_pylist())
    rest = sweep(GRID, out, flows=True)
    assert rest.ran + rest.kept == RUNS
    undisturbed = set(whole.splitlines())
    assert undisturbed <= set(csv(out).splitlines())


def test_a_file_of_limited_size_loses_nothing_that_was_finished(tmp_path: Path, whole: bytes) -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))\n" + CHILD
    file = tmp_path / "grid.toml"
    file.write_text(GRID)
    out = tmp_path / "runs"
    process = subprocess.run([sys.executable, "-c", limited, str(file), str(out), "1"], capture_output=True, text=True)
    assert "File too large" in process.stderr
    store.settle(out)
    assert 0 < store.read(out).num_rows < RUNS
    sweep(GRID, out)
    assert csv(out) == whole


def test_commands(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    done = penstock("sweep", "grid.toml", "--seeds", 2, "--out", "runs", "--jobs", 2)
    assert (done.returncode, done.stdout) == (0, f"{RUNS // 2} runs in runs: {RUNS // 2} new, 0 kept\n")
    shown = penstock("show", "runs", "utilization", "--over", "topology.bottleneck.delay", "--by", "variant",
                     "--figure", "figure.svg")  # fmt: skip
    table = [[cell.strip() for cell in re.split(r" {2,}", line.strip())] for line in shown.stdout.splitlines()]
    rows = [row for row in table if len(row) >= 3 and row[1] in ("drops", "marks")]
    places = [(row[0], row[1]) for row in rows]
    delays = ("5 ms", "20 ms", "100 ms")
    assert places == [(delay, variant) for delay in delays for variant in ("drops", "marks")]
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")
    runs = store.read(tmp_path / "runs").to_pylist()
    per_seed = []
    for seed in (1, 2):
        at = {"topology.bottleneck.delay": "5 ms", "variant": "drops", "seed": seed}
        values = [run["utilization"] for run in runs if all(run[key] == value for key, value in at.items())]
        per_seed.append(sum(values) / len(values))
    assert float(rows[0][2].split()[0]) == pytest.approx(100 * sum(per_seed) / 2, abs=0.5)  # as it rounds
    wrong = penstock("show", "runs", "utilisation")
    assert wrong.returncode == 2
    assert "nearest: utilization;" in wrong.stderr
    lines = penstock("export", "runs", "--csv").stdout.splitlines()
    assert len(lines) == RUNS // 2 + 1
    assert lines[0].startswith('"key","point","seed"')


def test_a_folder_without_runs_is_said(tmp_path: Path) -> None:
    with pytest.raises(Error, match="no store of runs"):
        shows.show(tmp_path)


def test_the_example_is_large_enough() -> None:
    scenario = Scenario.load(Path(__file__).parent.parent / "scenarios" / "red-grid.toml")
    assert 10 * len(drive.Grid(scenario, {})) >= 500
