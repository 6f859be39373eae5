"""A sweep's runs on a real Dask scheduler with worker processes on loopback, against the same runs in this process."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from conftest import SMALL
from penstock import Error, _penstock
from penstock.runs.tasks import Outcome, Task, run_task
from penstock.sweeps import store
from test_sweep import interrupted
from test_tune_run import FILES, TINY, tuned

distributed = pytest.importorskip("distributed", reason="needs penstock[dask]")
dask = pytest.importorskip("dask")

from penstock.sweeps import on_dask  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # those of Dask are not ours to mend
]

POINTS = [
    _penstock.Scenario.from_toml(SMALL, "small.toml")
    .set_all([("aqm.max_th", str(max_th)), ("duration", "2 s")])
    .resolved_json()
    for max_th in (12, 15, 18)
]


def tasks(seeds: int) -> Iterator[Task]:
    for point, scenario in enumerate(POINTS):
        for seed in range(seeds):
            yield Task(f"{point}/{seed}", scenario, seed)


def here(seeds: int) -> dict[str, Outcome]:
    return {task.key: run_task(task) for task in tasks(seeds)}


def gathered(batches: Iterator[Any]) -> dict[str, Outcome]:
    """All outcomes by their key, none twice."""
    found = [outcome for batch in batches for outcome in batch]
    assert len({outcome.key for outcome in found}) == len(found)
    return {outcome.key: outcome for outcome in found}


def started() -> Any:
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    )


@pytest.fixture(scope="module")
def of_all() -> Iterator[Any]:
    """One for the tests here: each process of a worker imports all that a sweep needs."""
    with started() as cluster:
        yield cluster


@pytest.fixture
def cluster(of_all: Any) -> Any:
    """That one, whole again where a test has killed a worker."""
    of_all.wait_for_workers(2, timeout=60)
    return of_all


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as client:
        yield client


def test_outcomes_are_those_of_this_process(cluster: Any) -> None:
    bad = Task("bad", POINTS[0].replace("dumbbell", "dumbell"), 1)

    def with_a_bad_one() -> Iterator[Task]:
        yield bad
        yield from tasks(100)

    with on_dask.DaskEngine(cluster.scheduler_address) as engine:
        assert engine.workers == 2
        found = gathered(engine.run(with_a_bad_one()))
    assert found.pop("bad") == run_task(bad)
    assert found == here(100)


def test_a_worker_killed_in_the_middle_costs_nothing(client: Any) -> None:
    engine = on_dask.DaskEngine(client, batch=20)
    victim = next(iter(client.run(os.getpid).values()))
    found: list[Outcome] = []
    for i, batch in enumerate(engine.run(tasks(200))):  # batches are empty while nothing comes
        if i == 0:
            os.kill(victim, signal.SIGKILL)
        found += batch
    assert gathered(iter([found])) == here(200)
    assert victim not in client.run(os.getpid).values()


def test_a_store_filled_by_dask_is_the_threads_own_byte_for_byte(client: Any, small: Path, tmp_path: Path) -> None:
    over = {"aqm.max_th": [12, 15, 18]}
    ps.sweep(small, over=over, seeds=30, out=tmp_path / "threads", jobs=2)
    progress = iter([lambda: os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)])

    def kill_once(now: Any) -> None:
        if now.ran and (kill := next(progress, None)) is not None:
            kill()

    done = ps.sweep(small, over=over, seeds=30, out=tmp_path / "dask", scheduler=client, progress=kill_once)
    assert (done.ran, done.failed) == (90, 0)
    assert next(progress, None) is None  # it was killed
    ours, theirs = (store.read(tmp_path / name).sort_by("key") for name in ("threads", "dask"))
    assert ours.num_rows == 90
    assert ours.equals(theirs)
    assert ps.sweep(small, over=over, seeds=30, out=tmp_path / "dask", scheduler=client).kept == 90


def test_flows_and_series_are_the_threads_own(client: Any, small: Path, tmp_path: Path) -> None:
    over = {"aqm.kind": ["red", "codel"]}
    for name, engine in (("threads", {"jobs": 2}), ("dask", {"scheduler": client})):
        ps.sweep(small, over=over, seeds=20, out=tmp_path / name, flows=True, series="200 ms", **engine)
    for table in [each for each in store.TABLES if each != "measures"]:
        ours, theirs = (list(store.in_order(tmp_path / name, table)) for name in ("threads", "dask"))
        assert sum(rows.num_rows for rows in ours) >= 40 or table in ("fct", "pages", "model")
        assert ours == theirs, table


def test_a_tuning_on_a_cluster_is_that_of_threads(cluster: Any, tmp_path: Path) -> None:
    """The order in which runs come back differs; candidates, statement and pages do not."""
    file = tmp_path / "tiny.toml"
    file.write_text(TINY, encoding="utf-8")
    for name, engine in (("threads", {"jobs": 2}), ("dask", {"scheduler": cluster.scheduler_address})):
        tuned(file, tmp_path / name, **engine)
    for name in FILES:
        ours, theirs = (tmp_path / folder / name for folder in ("threads", "dask"))
        assert ours.read_bytes() == theirs.read_bytes(), name


def test_an_evaluation_on_a_cluster_is_that_of_threads(cluster: Any, tmp_path: Path) -> None:
    for name, engine in (("threads", {"jobs": 2}), ("dask", {"scheduler": cluster.scheduler_address})):
        ps.evaluate(["pie"], quick=True, only=["mild", "medium"], out=tmp_path / name, **engine)
    for name in ("answers.csv", "numbers.csv"):
        assert (tmp_path / "threads" / name).read_bytes() == (tmp_path / "dask" / name).read_bytes(), name


MINE = """
import os
import penstock as ps
from helps import limit

class Mine(ps.Aqm):
    def arrive(self, now, packet, queue):
        return ps.DROP if queue.pkts > limit(os.environ) else ps.PASS
"""


def test_an_evaluation_of_a_users_class_on_a_cluster_is_that_of_processes(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It travels with the module beside it, also where its runs are not kept: this one reads what is outside of it."""
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "helps.py").write_text("def limit(_):\n    return 30\n", encoding="utf-8")

    def answers(name: str, **engine: Any) -> list[bytes]:
        mine, out = f"{tmp_path / 'mine.py'}:Mine", tmp_path / name
        done = ps.evaluate([mine], quick=True, seeds=2, only=["mild"], out=out, **engine)
        assert done.notes[0].startswith("runs of Mine are not kept")
        return [(out / file).read_bytes() for file in ("answers.csv", "numbers.csv")]

    here = answers("processes", jobs=2)
    monkeypatch.delattr("penstock.evaluation.drive.execute")  # which runs it here
    assert answers("dask", scheduler=cluster.scheduler_address) == here


def test_an_interrupted_sweep_goes_on(cluster: Any, tmp_path: Path) -> None:
    interrupted(tmp_path, "--scheduler", cluster.scheduler_address)


def test_an_interrupt_that_python_would_drop_ends_the_run(client: Any) -> None:
    """Python drops what is raised while garbage is collected, and Dask has a callback that it calls then."""
    batches = on_dask.DaskEngine(client, batch=4).run(tasks(10**6))
    next(batches)

    def collected(*_: object) -> None:
        gc.callbacks.remove(collected)
        signal.raise_signal(signal.SIGINT)

    gc.callbacks.append(collected)
    gc.collect()
    with pytest.raises(KeyboardInterrupt):
        list(batches)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_run_that_kills_its_workers_fails_and_no_other(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = on_dask.run_batch

    def deadly(build: str, packed: on_dask.Packed, limit_s: float) -> Any:  # it travels by value
        if any(key == "0/5" for key, _, _ in packed[1]):
            os.kill(os.getpid(), signal.SIGKILL)
        return usual(build, packed, limit_s)

    monkeypatch.setattr(on_dask, "run_batch", deadly)
    found = gathered(on_dask.DaskEngine(client, batch=4).run(tasks(10)))
    dead = found.pop("0/5")
    assert dead.numbers is None
    assert "its workers died" in (dead.error or "")
    expected = here(10)
    del expected["0/5"]
    assert found == expected


def test_tasks_are_pulled_as_there_is_room_and_what_waits_is_cancelled(client: Any) -> None:
    pulled = 0

    def counted() -> Iterator[Task]:
        nonlocal pulled
        for task in tasks(10**6):
            pulled += 1
            yield task

    batches = on_dask.DaskEngine(client, batch=5).run(counted())
    came = 0
    while came < 30:
        came += len(next(batches))
    assert pulled <= came + 5 * 4 * 2  # two threads: four batches in flight, and as many may have come unseen
    batches.close()
    deadline = time.monotonic() + 30  # the scheduler hears of it in its own time
    while client.cluster.scheduler.tasks and time.monotonic() < deadline:
        time.sleep(0.01)
    assert client.cluster.scheduler.tasks == {}


def test_batches_follow_what_a_run_takes(client: Any) -> None:
    def then_long() -> Iterator[Task]:
        yield from tasks(2000)
        long = _penstock.Scenario.from_json(POINTS[0]).set_all([("duration", "2000 s")]).resolved_json()
        for seed in range(8):
            yield Task(f"long/{seed}", long, seed)

    batches = on_dask.DaskEngine(client).run(then_long())
    sizes = [[o.key.startswith("long") for o in batch] for batch in batches if batch]
    assert len(sizes[0]) == 1  # nothing is known yet
    assert max(map(len, sizes)) > 100
    assert sum(map(len, sizes)) == 6008
    assert sum(map(sum, sizes)) == 8


def test_another_build_on_the_workers_is_refused(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_dask, "simulator", lambda: "0.0.9+other")
    with pytest.raises(Error, match=r"the worker tcp://.* has Penstock .*, the sweep 0\.0\.9\+other"):
        list(on_dask.DaskEngine(client).run(tasks(1)))


def test_a_lost_scheduler_is_an_error_and_no_hang() -> None:
    quick = dask.config.set({"distributed.comm.timeouts.connect": "2s"})
    with started() as cluster, quick, on_dask.DaskEngine(cluster.scheduler_address, batch=5) as engine:
        batches = engine.run(tasks(10**6))
        next(batches)
        cluster.close()
        with pytest.raises(Error, match="what is finished is kept"):
            for _ in batches:
                pass


@pytest.mark.parametrize("batch", [0, -1])
def test_an_impossible_batch_is_refused(client: Any, batch: int) -> None:
    with pytest.raises(ValueError, match='"auto" or a number of runs'):
        on_dask.DaskEngine(client, batch)


def test_a_class_of_the_user_s_own_travels_with_its_neighbours(client: Any, small: Path, tmp_path: Path) -> None:
    """The workers have neither the file nor what it imports."""
    (tmp_path / "travels_of_tests.py").write_text("STEP = 2\n", encoding="utf-8")
    text = "import penstock as ps\nfrom travels_of_tests import STEP\nclass Mine(ps.Aqm):\n"
    text += "  def __init__(self, limit: int = 4) -> None:\n    self.most = STEP * limit\n"
    text += "  def arrive(self, now, packet, queue):\n    return ps.DROP if queue.pkts >= self.most else ps.PASS\n"
    (tmp_path / "mine_travels_of_tests.py").write_text(text, encoding="utf-8")
    asked: dict[str, Any] = {
        "aqm": f"{tmp_path / 'mine_travels_of_tests.py'}:Mine",
        "over": {"aqm.limit": [2, 4]},
        "seeds": 3,
    }
    ps.sweep(small, out=tmp_path / "here", jobs=2, **asked)
    done = ps.sweep(small, out=tmp_path / "dask", scheduler=client, **asked)
    assert (done.ran, done.failed) == (6, 0)
    ours, theirs = (store.read(tmp_path / name).sort_by("key") for name in ("here", "dask"))
    assert ours.column("drops_early").to_pylist() != [0] * 6
    assert ours.equals(theirs)
