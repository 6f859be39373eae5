"""What a sweep costs beside its runs: threads of this process against Dask workers on this machine.

    python benches/sweep.py [--quick]

Prints the table of `docs/scale.md`. One call that makes many runs on one thread gives the time of a
run. What a sweep's processes use beyond that is its overhead. It is CPU time, so that other work on
the machine counts less. The best of three turns counts.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import distributed
import psutil

from penstock import Scenario, _penstock
from penstock.runs.tasks import Engine, Outcome, Task, run_task, simulator
from penstock.sweeps.drive import Grid, Threads
from penstock.sweeps.on_dask import DaskEngine, _packed, run_batch
from penstock.sweeps.store import RUNS
from penstock.sweeps.store.known import Known
from penstock.sweeps.store.manifest import Manifest
from penstock.sweeps.store.writer import COMPACT_RUNS
from penstock.sweeps.sweep import sweep

ROOT = Path(__file__).resolve().parent.parent
WORKERS = 2
REPEATS = 3


def tasks(scenario: _penstock.Scenario, runs: int) -> Iterator[Task]:
    """The seeds of one point, as the driver sends them."""
    text = scenario.resolved_json()
    return (Task(f"{seed:032x}", text, seed) for seed in range(runs))


def spend(engine: Engine, scenario: _penstock.Scenario, runs: int) -> tuple[float, float]:
    """Wall and CPU seconds of all runs, with scheduler and workers; outcomes are thrown away."""
    begun, used = time.perf_counter(), cpu_s()
    came = sum(len(batch) for batch in engine.run(tasks(scenario, runs)))
    assert came == runs
    return time.perf_counter() - begun, cpu_s() - used


def cpu_s() -> float:
    """CPU seconds of this process and its living descendants so far."""
    this = psutil.Process()
    times = [process.cpu_times() for process in [this, *this.children(recursive=True)]]
    return float(sum(each.user + each.system for each in times))


def alone_s(scenario: _penstock.Scenario, runs: int) -> float:
    """CPU seconds of a run when one call makes many of them."""
    seeds = range(min(runs, 200))
    used = time.process_time()
    _penstock.run(scenario, seeds, 1)
    return (time.process_time() - used) / len(seeds)


def batches_a_second(client: distributed.Client, batches: int) -> float:
    """How many empty-handed batches client and scheduler manage."""
    nothing = _packed([])
    begun = time.perf_counter()
    futures = [
        client.submit(run_batch, simulator(), nothing, 1.0, pure=False) for _ in range(batches)
    ]
    distributed.wait(futures)
    return batches / (time.perf_counter() - begun)


class Echo:
    """An engine whose runs take no time: what is left is the driver and the store."""

    workers = 1

    def __init__(self, scenario: _penstock.Scenario) -> None:
        self._like = run_task(next(tasks(scenario, 1)))

    def run(self, tasks: Iterator[Task]) -> Iterator[list[Outcome]]:
        """The same outcome for every task."""
        while batch := [replace(self._like, key=task.key) for task in itertools.islice(tasks, 256)]:
            yield batch


def drive(scenario: Scenario, runs: int) -> str:
    """What driver and store take for a run."""
    with tempfile.TemporaryDirectory() as folder:
        begun, used = time.perf_counter(), time.process_time()
        sweep(scenario, seeds=runs, out=folder, engine=Echo(scenario.core))
        wall, cpu = time.perf_counter() - begun, time.process_time() - used
    each = f"{wall / runs * 1e6:.0f} µs a run ({cpu / runs * 1e6:.0f} of CPU)"
    return f"Driver and store, {runs:,} runs that take no time: {each}."


def points(scenario: Scenario, runs: int, engine: Engine) -> str:
    """What a sweep of one seed a point takes beside its runs, from the grid to Parquet."""
    delays = {"topology.bottleneck.delay": [f"{40_000 + i} us" for i in range(runs)]}
    few = [made for _, made in itertools.islice(Grid(scenario, delays), 0, runs, runs // 200)]

    def alone() -> float:
        used = time.process_time()
        for made in few:
            assert isinstance(made, _penstock.Scenario)
            _penstock.run(
                made, range(10), WORKERS
            )  # as many at once as in the sweep: they share caches
        return (time.process_time() - used) / (10 * len(few))

    def all_of(seeds: int, over: dict[str, list[str]]) -> float:
        with tempfile.TemporaryDirectory() as folder:
            used = cpu_s()
            done = sweep(scenario, over=over, seeds=seeds, out=folder, engine=engine)
            assert done.ran == runs
            return (cpu_s() - used) / runs

    turns = [(alone(), all_of(1, delays), all_of(runs, {})) for _ in range(REPEATS)]
    own, apart, together = map(min, zip(*turns, strict=True))
    each, one = (apart - own) * 1e6, (together - own) * 1e6
    return f"{each:.0f} µs a run at one seed a point, {one:.0f} at one point"


def learn_s(keys: int) -> float:
    """Seconds in which an open store of that many runs takes in one more Parquet file's keys."""
    import numpy as np

    random = np.random.default_rng(1)
    known = Known(Manifest(Path()))
    known._keys[RUNS] = np.sort(np.frombuffer(random.bytes(keys * 32), dtype="S32"))
    more = [random.bytes(16).hex() for _ in range(COMPACT_RUNS)]
    begun = time.perf_counter()
    known.add(RUNS, more)
    return time.perf_counter() - begun


def disk_bytes(scenario: Scenario, runs: int) -> float:
    """Bytes of Parquet for a run with numbers of its own."""
    with tempfile.TemporaryDirectory() as folder:
        sweep(scenario, seeds=runs, out=folder)
        return sum(path.stat().st_size for path in Path(folder).rglob("*.parquet")) / runs


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    share = 10 if parser.parse_args().quick else 1
    load = Scenario.load(ROOT / "scenarios" / "single-flow.toml").core
    cases = [
        ("tiny", load.set_all([("duration", "15 s"), ("measure.from", "0 s")]), 10_000 // share),
        *(
            (name, Scenario.load(ROOT / "scenarios" / f"{name}.toml").core, runs // share)
            for name, runs in (("single-flow", 1000), ("home-line", 300), ("web-mix", 800))
        ),
    ]
    with (
        distributed.LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        dask, threads = DaskEngine(client), Threads(WORKERS)
        spend(dask, cases[0][1], 200)  # the workers have imported Penstock
        print(
            "| scenario | runs | a run, CPU ms | overhead a run, CPU µs: threads | Dask"
            " | threads, s | Dask, s | Dask's throughput |"
        )
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for name, scenario, runs in cases:
            alone = min(alone_s(scenario, runs) for _ in range(REPEATS))
            turns = [
                [spend(engine, scenario, runs) for engine in (threads, dask)]
                for _ in range(REPEATS)
            ]
            (here, here_cpu), (there, there_cpu) = (
                tuple(map(min, zip(*of, strict=True))) for of in zip(*turns, strict=True)
            )
            over = [f"{(used / runs - alone) * 1e6:.0f}" for used in (here_cpu, there_cpu)]
            figures = [
                f"{runs:,}",
                f"{alone * 1e3:.2f}",
                *over,
                f"{here:.2f}",
                f"{there:.2f}",
                f"{here / there:.2f}×",
            ]
            print("| " + " | ".join([name, *figures]) + " |")
        tiny = Scenario.load(ROOT / "scenarios" / "single-flow.toml").set_all(
            {"duration": "15 s", "measure.from": "0 s"}
        )
        for name, engine in (("threads", threads), ("Dask", dask)):
            cost = points(tiny, 10_000 // share, engine)
            print(f"\nWhole sweeps of {10_000 // share:,} tiny runs, {name}: {cost}.")
        print(f"\nEmpty batches: {batches_a_second(client, 5000 // share):.0f} a second.")
    print("\n" + drive(Scenario.load(ROOT / "scenarios" / "single-flow.toml"), 100_000 // share))
    short = Scenario.load(ROOT / "scenarios" / "web-mix.toml").set_all(
        {"measure.from": "0 s", "duration": "5 s"}
    )
    print(f"Parquet: {disk_bytes(short, 5_000 // share):.0f} B a run.")
    for keys in (1_000_000, 10_000_000 // share):
        print(f"Keys of a Parquet file into {keys:,}: {learn_s(keys):.3f} s.")
    print(f"Load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
