"""Runs what papers ask for, each run once, on all cores; what is kept is not run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock import _penstock
from penstock.reproduce.kept import Kept, identity
from penstock.reproduce.model import Case
from penstock.reproduce.runs import Run, Runs
from penstock.result import recorded

if TYPE_CHECKING:
    import pyarrow as pa

#: Called with (done, total) in packets that the runs' links can carry, which is about proportional to time.
Progress = Callable[[float, float], object]


@dataclass(frozen=True, slots=True)
class _Task:
    key: str
    case: Case
    seed: int
    work: float


def ensure(cases: Iterable[Case], seeds: Sequence[int], kept: Kept, jobs: int, progress: Progress) -> None:
    """Runs every case with every seed that is not kept yet. Ctrl-C keeps what is finished."""
    tasks: dict[str, _Task] = {}
    for case in cases:
        base = identity(case.scenario, case.trace_s)
        for seed in seeds:
            key = f"{base}-{seed}"
            if key not in tasks and kept.get(key) is None:
                tasks[key] = _Task(key, case, seed, case.scenario.core.work)
    # The longest first, so that no core waits for one at the end.
    waiting = sorted(tasks.values(), key=lambda task: -task.work)
    total, done = sum(task.work for task in waiting), 0.0
    progress(done, total)
    with ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[tuple[dict[str, Any], pa.Table | None]], _Task] = {}
        try:
            while waiting or running:
                while waiting and len(running) < 2 * jobs:
                    task = waiting.pop(0)
                    running[pool.submit(_run, task)] = task
                finished, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in finished:
                    task = running.pop(future)
                    kept.put(task.key, *future.result())
                    done += task.work
                progress(done, total)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            for future, task in running.items():
                if future.done() and not future.cancelled() and future.exception() is None:
                    kept.put(task.key, *future.result())
            raise


def collect(cases: Iterable[Case], seeds: Sequence[int], kept: Kept) -> Runs:
    """The runs of these cases, all of which are kept."""
    runs = []
    for case in cases:
        base = identity(case.scenario, case.trace_s)
        for seed in seeds:
            key = f"{base}-{seed}"
            found = kept.get(key)
            if found is None:
                raise LookupError(f"not run: {dict(case.labels)}, seed {seed}")
            trace = kept.trace(key) if case.trace_s is not None else None
            groups, links = found["groups"], found["links"]
            runs.append(Run(case.labels, seed, case.scenario, found["metrics"], groups, links, trace))
    return Runs(runs)


def _run(task: _Task) -> tuple[dict[str, Any], pa.Table | None]:
    (result,) = _penstock.run(task.case.scenario.core, [task.seed], 1, series_interval_s=task.case.trace_s)
    numbers = {"metrics": result.metrics, "groups": result.groups, "links": result.links}
    return numbers, recorded(result, "queue") if task.case.trace_s is not None else None
