"""Runs what papers ask for, each run once, on all cores; what is kept is not run again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock import _penstock
from penstock.reproduce.kept import Kept, identity
from penstock.reproduce.model import Case
from penstock.reproduce.runs import Run, Runs
from penstock.result import recorded

if TYPE_CHECKING:
    import pyarrow as pa

#: Called with (done, total, place): packets that the runs' links can carry, which is about proportional to time, and
#: where the run that began last belongs. Called at least every `WAKE_S`.
Progress: TypeAlias = Callable[[float, float, str], object]

#: Seconds between two reports while no run ends.
WAKE_S = 0.5


@dataclass(frozen=True, slots=True)
class Wanted:
    """The cases of an exhibit or a claim with what identifies their runs, which is worked out once.

    place: whose they are, for a reader: `"AMECN fig9"`.
    """

    place: str
    cases: Sequence[Case]
    identities: Sequence[str]

    @staticmethod
    def of(place: str, cases: Iterable[Case]) -> Wanted:
        """All that `cases` gives."""
        listed = list(cases)
        return Wanted(place, listed, [identity(case.scenario, case.trace_s) for case in listed])


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run cost: for `--timing`, never for results.

    run_s: on the clock; as the simulator computes in threads of its own, Python cannot tell its share of a core.
    """

    place: str
    events: int
    run_s: float


@dataclass(frozen=True, slots=True)
class _Task:
    key: str
    place: str
    case: Case
    seed: int
    work: float


@dataclass(frozen=True, slots=True)
class _Done:
    numbers: dict[str, Any]
    trace: pa.Table | None
    spent: Spent


def run(wanted: Iterable[Wanted], seeds: Sequence[int], kept: Kept, jobs: int, progress: Progress) -> list[Spent]:
    """Runs every case with every seed that is not kept yet; what several places want, once. Ctrl-C keeps what is
    finished."""
    tasks: dict[str, _Task] = {}
    for each in wanted:
        for case, base in zip(each.cases, each.identities, strict=True):
            for seed in seeds:
                key = _key(base, seed)
                if key not in tasks and not kept.has(key, traced=case.trace_s is not None):
                    tasks[key] = _Task(key, each.place, case, seed, case.scenario.core.work)
    # The longest first, so that no core waits for one at the end.
    waiting = deque(sorted(tasks.values(), key=lambda task: -task.work))
    total, done = sum(task.work for task in waiting), 0.0
    spent: list[Spent] = []
    place = ""
    with ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[_Done], _Task] = {}

        def keep(future: Future[_Done], task: _Task) -> None:
            finished = future.result()
            kept.put(task.key, finished.numbers, finished.trace)
            spent.append(finished.spent)

        try:
            while waiting or running:
                while waiting and len(running) < 2 * jobs:
                    task = waiting.popleft()
                    place = task.place
                    running[pool.submit(_run, task)] = task
                progress(done, total, place)
                finished, _ = wait(running, timeout=WAKE_S, return_when=FIRST_COMPLETED)
                for future in finished:
                    task = running.pop(future)
                    keep(future, task)
                    done += task.work
            progress(done, total, place)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            for future, task in running.items():
                if future.done() and not future.cancelled() and future.exception() is None:
                    keep(future, task)
            raise
    return spent


def gather(wanted: Wanted, seeds: Sequence[int], kept: Kept) -> Runs:
    """The runs of these cases, all of which are kept."""
    runs = []
    for case, base in zip(wanted.cases, wanted.identities, strict=True):
        for seed in seeds:
            key = _key(base, seed)
            found = kept.get(key)
            if found is None:
                raise LookupError(f"not run: {dict(case.labels)}, seed {seed}")
            trace = kept.trace(key) if case.trace_s is not None else None
            groups, links = found["groups"], found["links"]
            runs.append(Run(case.labels, seed, case.scenario, found["metrics"], groups, links, trace))
    return Runs(runs)


def ensure(
    cases: Iterable[Case], seeds: Sequence[int], kept: Kept, jobs: int, progress: Callable[[float, float], object]
) -> None:
    """`run` for the cases of one place."""
    run([Wanted.of("", cases)], seeds, kept, jobs, lambda done, total, _place: progress(done, total))


def collect(cases: Iterable[Case], seeds: Sequence[int], kept: Kept) -> Runs:
    """`gather` for the cases of one place."""
    return gather(Wanted.of("", cases), seeds, kept)


def _key(base: str, seed: int) -> str:
    return f"{base}-{seed}"


def _run(task: _Task) -> _Done:
    begun = time.perf_counter()
    (result,) = _penstock.run(task.case.scenario.core, [task.seed], 1, series_interval_s=task.case.trace_s)
    numbers = {"metrics": result.metrics, "groups": result.groups, "links": result.links}
    trace = recorded(result, "queue") if task.case.trace_s is not None else None
    return _Done(numbers, trace, Spent(task.place, result.events, time.perf_counter() - begun))
