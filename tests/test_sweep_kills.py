"""Kills of a sweep's driver, workers, nannies and scheduler: its tables are those of an undisturbed one.

Every process is one of its own, as on a cluster: `dask scheduler`, `dask worker`, `penstock sweep`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL
from penstock import Error, _penstock
from penstock.model.scenario import Scenario
from penstock.runs.tasks import Task
from penstock.sweeps.sweep import sweep
from test_sweep import csv

distributed = pytest.importorskip("distributed", reason="needs penstock[dask]")

from penstock.sweeps import on_dask  # noqa: E402

# Warnings of Dask are not ours to mend.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

GRID = SMALL + '[sweep]\n"aqm.max_th" = [12, 15, 18]\nseeds = 500\n'
RUNS = 1500
#: Nothing here depends on how fast the machine is: this only ends a test that hangs.
FOREVER_S = 400


class Cluster:
    """A scheduler and two workers as processes. What was killed is started again by `restore`."""

    def __init__(self, folder: Path, nanny: bool) -> None:
        self._folder, self._nanny = folder, nanny
        self._log = (folder / "log").open("w")
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def restore(self) -> None:
        """Starts what is not there, and waits for two workers."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            for worker in self.workers:
                worker.kill()
                worker.wait()
            file = self._folder / "scheduler.json"
            file.unlink(missing_ok=True)
            self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", file)
            wait(lambda: file.exists() and file.read_text().endswith("}"))
            self.address = json.loads(file.read_text())["address"]
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < 2:
            nanny = "--nanny" if self._nanny else "--no-nanny"
            self.workers.append(self._start("worker", self.address, "--nthreads", "1", nanny))
        with distributed.Client(self.address) as client:
            client.wait_for_workers(2, timeout=FOREVER_S)

    def pids(self) -> list[int]:
        """The processes of the workers themselves, not of their nannies."""
        with distributed.Client(self.address) as client:
            return list(client.run(os.getpid).values())

    def close(self) -> None:
        """Ends all."""
        for process in (*self.workers, *filter(None, [self.scheduler])):
            process.send_signal(signal.SIGTERM)
        for process in (*self.workers, *filter(None, [self.scheduler])):
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._log.close()

    def _start(self, *arguments: object) -> subprocess.Popen[bytes]:
        # Without a nanny a worker is this very process, so that a kill of it leaves nothing.
        line = [sys.executable, "-m", "distributed.cli.dask_" + str(arguments[0]), *map(str, arguments[1:])]
        line += ["--host", "127.0.0.1", "--no-dashboard"]
        return subprocess.Popen(line, cwd=self._folder, stdout=self._log, stderr=self._log)


def wait(until: Callable[[], Any]) -> None:
    deadline = time.monotonic() + FOREVER_S
    while not until():
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.02)


@pytest.fixture
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """With or without nannies, as the test's parameter says."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    made = Cluster(folder, getattr(request, "param", False))
    try:
        made.restore()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of a sweep that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "runs"
    sweep(Scenario.from_toml(GRID), out=folder, jobs=1)
    return csv(folder)


def begun(folder: Path, out: Path, cluster: Cluster) -> subprocess.Popen[str]:
    """A driver, some of whose runs are finished already."""
    (folder / "grid.toml").write_text(GRID)
    line = [sys.executable, "-m", "penstock", "sweep", "grid.toml", "--out", str(out), "--no-warm-up-check"]
    line += ["--scheduler", cluster.address, "--patience", "20s"]
    environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}
    process = subprocess.Popen(
        line, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    journals = out / "journal"
    wait(lambda: process.poll() is not None or any(path.stat().st_size for path in journals.glob("*.journal")))
    return process


def killed(victim: str, kills: int, cluster: Cluster, folder: Path, whole: bytes) -> None:
    chance = random.Random(kills)
    done = 0
    # A sweep may end before its victim does, on a machine that looks away: then another one.
    for i in range(3 * kills + 9):
        out = folder / f"runs{i}"
        workers = cluster.pids()
        driver = begun(folder, out, cluster)
        time.sleep(chance.uniform(0, 0.3) if i == done else 0)
        gone: list[subprocess.Popen[bytes]] = []
        if victim == "driver":
            driver.kill()
        elif victim == "worker":
            pid = chance.choice(workers)
            os.kill(pid, signal.SIGKILL)
            gone = [worker for worker in cluster.workers if worker.pid == pid]
        elif victim == "nanny":
            gone = [chance.choice(cluster.workers)]
        else:
            assert cluster.scheduler is not None
            gone = [cluster.scheduler]
        # What is dying still looks alive, and would not be started again.
        for process in gone:
            process.kill()
            process.wait()
        _, complained = driver.communicate(timeout=FOREVER_S)
        if victim in ("driver", "scheduler"):
            done += driver.returncode != 0
            assert driver.returncode in ((0, -signal.SIGKILL) if victim == "driver" else (0, 2)), complained
            if driver.returncode == 2:
                assert "what is finished is kept" in complained.splitlines()[-1]
            cluster.restore()
            again = sweep(Scenario.from_toml(GRID), out=out, scheduler=cluster.address)
            assert again.kept > 0
            assert again.kept + again.ran == RUNS
        else:
            assert driver.returncode == 0, complained
            done += 1
            cluster.restore()
        assert csv(out) == whole
        if done == kills:
            return
    raise AssertionError("the sweeps ended before anything could be killed")


VICTIMS = [("driver", False), ("worker", False), ("worker", True), ("nanny", True), ("scheduler", False)]


@pytest.mark.parametrize(("victim", "cluster"), VICTIMS, indirect=["cluster"])
def test_killed(victim: str, cluster: Cluster, tmp_path: Path, whole: bytes) -> None:
    killed(victim, 1, cluster, tmp_path, whole)


@pytest.mark.long
@pytest.mark.parametrize(("victim", "cluster"), VICTIMS, indirect=["cluster"])
def test_killed_often(victim: str, cluster: Cluster, tmp_path: Path, whole: bytes) -> None:
    killed(victim, 20, cluster, tmp_path, whole)


def endless(scenario: str) -> Iterator[Task]:
    return (Task(f"{seed:032x}", scenario, seed) for seed in range(10**7))


@pytest.fixture
def scenario() -> str:
    return _penstock.Scenario.from_toml(SMALL, "small.toml").resolved_json()


def test_without_any_worker_left_it_gives_up(cluster: Cluster, scenario: str) -> None:
    with on_dask.DaskEngine(cluster.address, batch=5, patience_s=2.0) as engine:
        batches = engine.run(endless(scenario))
        wait(lambda: next(batches))
        for worker in cluster.workers:
            worker.kill()
        with pytest.raises(Error, match="nothing has come back for 2 s, and no worker is left; what is finished"):
            for _ in batches:
                pass


def test_batches_that_nobody_has_are_sent_again(
    cluster: Cluster, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the scheduler's word that they are done, or that their worker is gone, had been lost."""
    adding, deaf = distributed.as_completed.add, [on_dask.LEAST_IN_FLIGHT]

    def add(landed: Any, future: Any) -> None:
        deaf[0] -= 1
        if deaf[0] < 0:
            adding(landed, future)

    monkeypatch.setattr(distributed.as_completed, "add", add)
    with on_dask.DaskEngine(cluster.address, batch=5, patience_s=2.0) as engine:
        tasks = [Task(f"{seed:032x}", scenario, seed) for seed in range(20)]
        came = [outcome.key for batch in engine.run(iter(tasks)) for outcome in batch]
        assert sorted(came) == [task.key for task in tasks]
        deaf[0] = 1000
        with pytest.raises(Error, match="no worker has what was sent, though it was sent 3 times more"):
            list(engine.run(iter(tasks)))


def test_a_scheduler_that_is_lost_unheard_ends_the_sweep(
    cluster: Cluster, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if Dask's word that it takes back what was sent, which is everything, had been lost, too."""
    monkeypatch.setattr(distributed.as_completed, "add", lambda landed, future: None)
    with on_dask.DaskEngine(cluster.address, batch=5, patience_s=2.0) as engine:
        batches = engine.run(iter([Task(f"{seed:032x}", scenario, seed) for seed in range(5)]))
        assert list(next(batches)) == []
        assert cluster.scheduler is not None
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        wait(lambda: engine._client.status != "running")
        with pytest.raises(Error, match="no connection to its scheduler; what is finished is kept"):
            list(batches)
    cluster.restore()


def test_a_run_may_take_longer_than_that(cluster: Cluster, scenario: str) -> None:
    long = _penstock.Scenario.from_json(scenario).set_all([("duration", "20000 s")]).resolved_json()
    with on_dask.DaskEngine(cluster.address, patience_s=0.3) as engine:
        (batch,) = [batch for batch in engine.run(iter([Task("a" * 32, long, 1)])) if batch]
    assert batch[0].error is None
