"""Runs what papers ask for, each run once, on all cores; what is kept is not run again.

Runs are kept as a sweep's are (`penstock.sweeps.store`), recorded queues as its series `queue`. A run
that is recorded counts as another run than the same one without a record, because each case has its
own sampling interval.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from penstock import _penstock
from penstock.reproduce.model import Case
from penstock.reproduce.runs import Run, Runs
from penstock.runs import tasks
from penstock.runs.pool import Pool, Watch
from penstock.runs.recorded import recorded
from penstock.runs.tasks import SERIES, Outcome, run_key, simulator
from penstock.sweeps import store
from penstock.sweeps.store import Point, Store

if TYPE_CHECKING:
    import pyarrow as pa

#: Called with (done, total, place) whenever a run ends, and some times per second. The first two
#: count packets that the runs' links can carry, which is about proportional to time. `place` says
#: where the run that began last belongs.
Progress: TypeAlias = Callable[[float, float, str], object]

#: The series that are recorded: the queue's, and the congestion windows where a case wants them.
QUEUE, WINDOWS = SERIES[:2]


def identity(case: Case) -> str:
    """Returns what a case's runs are, except for the seed."""
    canonical = case.scenario.core.canonical_json()[1]
    return tasks.identity(canonical + WINDOWS * case.windows, case.trace_s)


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
        """Returns all that `cases` gives."""
        listed = list(cases)
        return Wanted(place, listed, [identity(case) for case in listed])


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run cost: for `--timing`, never for results.

    run_s: time on the clock. The simulator computes in its own threads, so that Python cannot tell
        its share of a core.
    """

    place: str
    events: int
    run_s: float


@dataclass(frozen=True, slots=True)
class _Task:
    key: str
    place: str
    case: Case
    point: Point
    seed: int
    work: float


def run(wanted: Iterable[Wanted], seeds: Sequence[int], folder: Path, jobs: int, progress: Progress) -> list[Spent]:
    """Calls `run_each` with the same seeds for all."""
    return run_each([(each, seeds) for each in wanted], folder, jobs, progress)


def run_each(
    wanted: Iterable[tuple[Wanted, Sequence[int]]], folder: Path, jobs: int, progress: Progress
) -> list[Spent]:
    """Runs every case with its seeds, where the folder does not hold the run yet.

    What several places want is run once. Ctrl-C keeps what is finished. Raises `Error` if another
    process runs into the folder.
    """
    with Store(folder, alone=True) as kept:
        return _run_all(_missing(wanted, kept), kept, jobs, progress)


def _missing(wanted: Iterable[tuple[Wanted, Sequence[int]]], kept: Store) -> list[_Task]:
    missing: dict[str, _Task] = {}
    for each, seeds in wanted:
        for case, base in zip(each.cases, each.identities, strict=True):
            point: Point | None = None
            for seed in seeds:
                key = run_key(base, seed)
                if key not in missing and not kept.has(key, () if case.trace_s is None else (QUEUE,)):
                    point = point or Point(base, case.scenario.core.resolved_json(), None)
                    missing[key] = _Task(key, each.place, case, point, seed, case.scenario.core.work)
    return list(missing.values())


def _run_all(missing: Sequence[_Task], kept: Store, jobs: int, progress: Progress) -> list[Spent]:
    # The longest first, so that no core waits for one at the end.
    waiting = sorted(missing, key=lambda task: -task.work)
    total, done = sum(task.work for task in waiting), 0.0
    spent: list[Spent] = []
    place = ""

    def begun() -> Iterator[_Task]:
        nonlocal place
        for task in waiting:
            place = task.place
            yield task

    with closing(Pool(_run, jobs).results(begun())) as results:
        for ended in results:
            if ended is not None:
                task, outcome, cost = ended
                kept.put(task.point, task.seed, outcome)
                spent.append(cost)
                done += task.work
            progress(done, total, place)
    return spent


class Finished:
    """The runs that a folder holds, of this build."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        runs = store.read(folder, filters=[("version", "=", simulator())])
        names = store.metrics()
        metrics = zip(*(runs[name].to_pylist() for name in names), strict=True)
        columns = (runs[name].to_pylist() for name in ("key", "groups", "links"))
        self._runs = {
            key: (dict(zip(names, values, strict=True)), groups, links)
            for values, key, groups, links in zip(metrics, *columns, strict=True)
        }

    def run(self, key: str, case: Case, seed: int) -> Run:
        """Returns a run as an exhibit asks about it. Raises `LookupError` if it is not there."""
        traced = case.trace_s is not None
        if key not in self._runs or (traced and key not in self._queues):
            raise LookupError(f"not run: {dict(case.labels)}, seed {seed}")
        metrics, groups, listed = self._runs[key]
        links = {link["name"]: {name: link[name] for name in link if name != "name"} for link in listed}
        return Run(
            labels=case.labels,
            seed=seed,
            scenario=case.scenario,
            metrics=metrics,
            groups=groups,
            links=links,
            trace=self._queues[key] if traced else None,
            windows=self._windows[key] if case.windows else None,
        )

    @cached_property
    def _queues(self) -> dict[str, pa.Table]:
        return self._recorded(QUEUE)

    @cached_property
    def _windows(self) -> dict[str, pa.Table]:
        return self._recorded(WINDOWS)

    def _recorded(self, series: str) -> dict[str, pa.Table]:
        """Returns all tables of a recorded series by key, each with the columns that it has."""
        import numpy as np
        import pyarrow as pa

        found: dict[str, pa.Table] = {}
        for part in store.parts(self._folder, series):
            with store.opened(part, self._folder, ["key"]) as file:
                for group in range(file.num_row_groups):
                    rows = file.read_row_group(group).combine_chunks()
                    keys = rows["key"].combine_chunks()
                    # A run's rows are together.
                    ends = [0, *(np.flatnonzero(np.diff(keys.indices.to_numpy())) + 1), rows.num_rows]
                    for start, end in itertools.pairwise(ends):
                        trace = rows.slice(start, end - start)
                        own = [name for name in trace.column_names[1:] if trace[name].null_count < end - start]
                        # Copied: a slice would hold all columns of all runs.
                        found[keys[start].as_py()] = pa.table({name: trace[name].to_numpy().copy() for name in own})
        return found


def gather(wanted: Wanted, seeds: Sequence[int], finished: Finished) -> Runs:
    """Returns the runs of these cases, all of which are finished."""
    runs = []
    for case, base in zip(wanted.cases, wanted.identities, strict=True):
        runs += [finished.run(run_key(base, seed), case, seed) for seed in seeds]
    return Runs(runs)


def ensure(
    cases: Iterable[Case], seeds: Sequence[int], folder: Path, jobs: int, progress: Callable[[float, float], object]
) -> None:
    """Calls `run` for the cases of one place."""
    run([Wanted.of("", cases)], seeds, folder, jobs, lambda done, total, _place: progress(done, total))


def collect(cases: Iterable[Case], seeds: Sequence[int], folder: Path) -> Runs:
    """Calls `gather` for the cases of one place."""
    return gather(Wanted.of("", cases), seeds, Finished(folder))


def _run(task: _Task, watch: Watch) -> Iterator[tuple[_Task, Outcome, Spent]]:
    begun = time.perf_counter()
    core, interval_s = task.case.scenario.core, task.case.trace_s
    (result,) = _penstock.run(core, [task.seed], 1, series_interval_s=interval_s, progress=watch)
    series = (QUEUE, WINDOWS) if task.case.windows else (QUEUE,)
    traces = {name: recorded(result, name) for name in series} if interval_s is not None else {}
    spent = Spent(task.place, result.events, time.perf_counter() - begun)
    yield task, Outcome(task.key, tasks.numbers(core, result), None, result.events, traces), spent
