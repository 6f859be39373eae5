"""What a sweep costs beside its runs: threads of this process against Dask workers on this machine.

    python benches/sweep.py [--quick]

Prints Markdown tables for `docs/scale.md`. A run's own time is measured in this process, one thread, without a sweep;
overhead a run is the wall time of a sweep times its workers, less that, over the number of runs.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import distributed

from penstock import Scenario, _penstock
from penstock.sweep.drive import Threads
from penstock.sweep.on_dask import DaskEngine, _packed, run_batch
from penstock.sweep.tasks import Engine, Task, run_task, simulator

ROOT = Path(__file__).resolve().parent.parent
WORKERS = 2


def tasks(scenario: _penstock.Scenario, runs: int) -> Iterator[Task]:
    """The seeds of one point, as the driver sends them."""
    text = scenario.resolved_json()
    return (Task(f"{seed:032x}", text, seed) for seed in range(runs))


def wall_s(engine: Engine, scenario: _penstock.Scenario, runs: int) -> float:
    """Seconds of all runs, their outcomes thrown away."""
    begun = time.perf_counter()
    came = sum(len(batch) for batch in engine.run(tasks(scenario, runs)))
    assert came == runs
    return time.perf_counter() - begun


def alone_s(scenario: _penstock.Scenario, runs: int) -> float:
    """Seconds a run, by itself in a loop."""
    sample = min(runs, 300)
    begun = time.perf_counter()
    for task in tasks(scenario, sample):
        run_task(task)
    return (time.perf_counter() - begun) / sample


def batches_a_second(client: distributed.Client, batches: int) -> float:
    """How many empty-handed batches client and scheduler manage."""
    nothing = _packed([])
    begun = time.perf_counter()
    futures = [client.submit(run_batch, simulator(), nothing, 1.0, pure=False) for _ in range(batches)]
    distributed.wait(futures)
    return batches / (time.perf_counter() - begun)


def rate(work: Callable[[], object], times: int) -> float:
    """Calls a second."""
    begun = time.perf_counter()
    for _ in itertools.repeat(None, times):
        work()
    return times / (time.perf_counter() - begun)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    share = 10 if parser.parse_args().quick else 1
    load = Scenario.load(ROOT / "scenarios" / "single-flow.toml").core
    cases = [
        ("tiny", load.set_all([("duration", "2 s"), ("measure.from", "0 s")]), 10_000 // share),
        *(
            (name, Scenario.load(ROOT / "scenarios" / f"{name}.toml").core, runs // share)
            for name, runs in (("single-flow", 400), ("home-line", 200), ("web-mix", 100))
        ),
    ]
    with (
        distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        dask, threads = DaskEngine(client), Threads(WORKERS)
        wall_s(dask, cases[0][1], 200)  # the workers have imported Penstock
        print(
            "| scenario | runs | a run, ms | threads, s | overhead a run, µs | Dask, s | overhead a run, µs"
            " | Dask's throughput |"
        )
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for name, scenario, runs in cases:
            alone = alone_s(scenario, runs)
            here, there = wall_s(threads, scenario, runs), wall_s(dask, scenario, runs)
            over = [(spent * WORKERS / runs - alone) * 1e6 for spent in (here, there)]
            print(
                f"| {name} | {runs:,} | {alone * 1e3:.2f} | {here:.2f} | {over[0]:.0f} | {there:.2f} | {over[1]:.0f}"
                f" | {here / there:.2f}× |"
            )
        print(f"\nEmpty batches: {batches_a_second(client, 5000 // share):.0f} a second.")
    print(f"Load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
