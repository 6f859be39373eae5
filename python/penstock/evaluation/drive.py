"""An evaluation's runs: on threads or Dask, each kept when it ends, so that a killed evaluation goes on.

They run as a sweep's points do. Without Dask a discipline in Python runs in worker processes of this program, which
say with its own lines what it raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from penstock.evaluation.points import Plan, Planned
from penstock.runs.execute import cores, execute
from penstock.runs.tasks import Engine, Tables, Task, outcome, run_key
from penstock.sweeps.drive import Driver, Listed, Sweep, Threads
from penstock.sweeps.store import Store

#: What is kept of every run.
TABLES = Tables(flows=True, measures=True)

Progress = Callable[[Sweep], object]


def run(
    plan: Plan,
    folder: Path,
    passing: Path,
    jobs: int | None = None,
    scheduler: Any = None,
    progress: Progress | None = None,
) -> None:
    """Runs what the folder does not hold yet; what is not to be kept goes to the folder `passing`.

    Raises `Error` for the first run that fails.
    """
    together: dict[tuple[Path, tuple[int, ...]], list[Planned]] = {}
    seen: set[str] = set()
    here = [each for each in plan.points if each.own and scheduler is None]
    for each in plan.points:
        if (not each.own or scheduler is not None) and each.point.identity not in seen:
            seen.add(each.point.identity)
            place = folder if each.kept else passing
            together.setdefault((place, tuple(each.seeds)), []).append(each)
    total = Sweep(folder, runs=plan.runs)
    with ExitStack() as stack:
        engine: Engine = Threads(jobs or cores())
        if scheduler is not None:
            from penstock.sweeps.on_dask import DaskEngine

            engine = stack.enter_context(DaskEngine(scheduler))
        for (place, seeds), points in together.items():
            before = (total.done, total.elapsed_s)

            def told(now: Sweep, before: tuple[int, float] = before) -> None:
                total.ran, total.elapsed_s = before[0] + now.done, before[1] + now.elapsed_s
                if progress is not None:
                    progress(total)

            made = Listed([(each.point, each.scenario.core) for each in points])
            Driver(made, seeds, place, engine, fail_fast=True, tables=TABLES).run(told)
    for where, keeps in ((folder, True), (passing, False)):
        own = [each for each in here if each.kept == keeps]
        _run_own(own, where, jobs or cores(), total, progress)


def _run_own(points: Sequence[Planned], folder: Path, jobs: int, total: Sweep, progress: Progress | None) -> None:
    """Runs disciplines in Python."""
    if not points:
        return
    with Store(folder, tables=TABLES) as kept:
        for each in points:
            missing = [s for s in each.seeds if not kept.has(run_key(each.point.identity, s), TABLES.marks)]
            record = TABLES.recording(each.scenario.core)
            for result in execute(each.scenario.core, missing, jobs, **record) if missing else ():
                key = run_key(each.point.identity, result.seed)
                task = Task(key, each.point.scenario, result.seed, TABLES, each.scenario.core)
                kept.put(each.point, result.seed, outcome(task, result))
            total.ran += len(each.seeds)
            if progress is not None:
                progress(total)
