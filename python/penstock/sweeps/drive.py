"""A sweep: the points of a grid, list or sample, times seeds; what is not in the store yet runs on an engine."""

from __future__ import annotations

import html
import itertools
import json
import math
import time
import warnings as warnings_
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from penstock import _penstock
from penstock.errors import Error, ScenarioError
from penstock.judging.named import Named
from penstock.model.scenario import Scenario
from penstock.model.table import plain
from penstock.runs import processes
from penstock.runs.identity import Identities, UnidentifiedError
from penstock.runs.pool import Pool, Stopped, Watch
from penstock.runs.tasks import Engine, Outcome, Tables, Task, failed, identity, outcome, remember, run_key, scenario_of
from penstock.sweeps.design import samples
from penstock.sweeps.store import Point, Store, warnings
from penstock.sweeps.until import Stopping, Until

#: Seconds after which finished runs leave a thread.
BUNDLE_S = 0.1
#: Runs that a thread takes at once.
BUNDLE_RUNS = 256
#: Seconds that processes which are forked together are meant to take.
WAVE_S = 1.0
#: Points whose intervals are watched at once.
WINDOW = 1000
#: Failures that are kept for the caller; all are counted.
FAILURES = 1000


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that failed, and what its scenario is."""

    key: str
    seed: int
    scenario: str
    error: str


@dataclass(slots=True)
class Sweep:
    """What a sweep did, and where its runs are.

    runs: of all points and seeds; kept: were there already; ran: finished now; failed: raised.
    wide: points whose interval was not as narrow as wanted after the most seeds.
    """

    folder: Path
    runs: int = 0
    kept: int = 0
    ran: int = 0
    failed: int = 0
    wide: int = 0
    events: int = 0
    elapsed_s: float = 0.0
    failures: list[Failure] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Runs that need not be waited for."""
        return self.kept + self.ran + self.failed

    @property
    def left_s(self) -> float:
        """Seconds left at the present rate."""
        ran = self.ran + self.failed
        return (self.runs - self.done) * self.elapsed_s / ran if ran else math.inf

    @property
    def warnings(self) -> tuple[str, ...]:
        """Returns what is to be said of the runs in the folder beside their numbers, as `Result.warnings` does of one
        scenario's: how many runs have a warning, and one of them."""
        return warnings(self.folder)

    def _repr_html_(self) -> str:
        """Returns what it did, and the tables of `penstock show`, for notebooks."""
        from penstock.sweeps.show import show
        from penstock.sweeps.tables import tables

        shown = show(self.folder, None, None, None)
        did = f"<p>{self.runs} runs in {self.folder}: {self.ran} new, {self.kept} kept</p>"
        did += "".join(f"<p>warning: {html.escape(text)}</p>" for text in self.warnings)
        return did + "".join(table._repr_html_() for table in tables(shown, str(self.folder)))


class FailFastError(Error):
    """A run failed, and that was to stop the sweep."""


class Points(Protocol):
    """What a driver runs."""

    @property
    def paths(self) -> Sequence[str]:
        """Returns keys of the scenario that are to be columns of the store."""
        ...

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[Point, _penstock.Scenario | ScenarioError]]: ...


#: A point with its scenario.
Listing: TypeAlias = tuple[Point, _penstock.Scenario]


class Listed:
    """Points that somebody else has made."""

    paths: Sequence[str] = ()

    def __init__(self, points: Sequence[Listing]) -> None:
        self._points = points

    def __len__(self) -> int:
        return len(self._points)

    def __iter__(self) -> Iterator[tuple[Point, _penstock.Scenario | ScenarioError]]:
        yield from self._points


class Grid:
    """The points of a scenario: its variants, times every combination of the axes, the last of which changes first.

    axes: key path → values; or a list of points, each a mapping of key paths to values.
    """

    def __init__(self, scenario: Scenario, axes: Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]]) -> None:
        self._scenario = scenario
        self._identities = Identities()
        own, self._variants, self.seeds = scenario.core.grid()
        self._sampled = scenario.core.design()
        grid: dict[str, list[str]] = {path: [json.dumps(v) for v in json.loads(values)] for path, values in own}
        self._list: list[dict[str, str]] | None = None
        if isinstance(axes, Mapping):
            grid.update({path: [json.dumps(plain(v)) for v in values] for path, values in axes.items()})
        else:
            self._list = [{path: json.dumps(plain(v)) for path, v in point.items()} for point in axes]
        empty = [path for path, values in grid.items() if not values]
        if empty or self._list == []:
            raise ScenarioError(f"{', '.join(empty) or 'the list of points'}: needs at least one value")
        self._axes = grid
        listed = {path: None for point in self._list or () for path in point}
        self.paths = list(dict.fromkeys([*grid, *listed, *(self._sampled[0] if self._sampled else ())]))
        if scenario.core.has_user_aqm and {"aqm", "aqm.kind"} & {*self.paths}:
            raise ScenarioError(
                f"the sweep varies aqm.kind, and would never run {scenario.label}: take one of them away"
            )
        check_identified(scenario, self._identities)

    def __len__(self) -> int:
        """Returns the most that there can be: of samples of few whole numbers some may be the same."""
        sampled = self._sampled[1] if self._sampled else 1
        listed = math.prod(map(len, self._axes.values())) * len(self._list or (None,))
        return max(1, len(self._variants)) * listed * sampled

    def __iter__(self) -> Iterator[tuple[Point, _penstock.Scenario | ScenarioError]]:
        """Yields the points, made as they are asked for; with the error, those whose values do not hold together."""
        for values in itertools.product(*self._axes.values()):
            for more in self._list or ({},):
                for sample in samples(self._scenario.core):
                    drawn = {path: json.dumps(value) for path, value in sample.items()}
                    yield from self._at({**drawn, **dict(zip(self._axes, values, strict=True)), **more})

    def _at(self, values: dict[str, str]) -> Iterator[tuple[Point, _penstock.Scenario | ScenarioError]]:
        """Yields every variant at these values."""
        seen: dict[str, str | None] = {}
        for variant in self._variants or (None,):
            try:
                made = self._scenario.core.point(variant, list(values.items()))
            except ScenarioError as error:
                yield Point(identity(json.dumps([variant, values])), json.dumps(values), variant), error
                continue
            text, name = self._identities.of(made)
            point = Point(name, text, variant)
            if point.identity in seen:
                at = ", ".join(f"{path} = {value}" for path, value in values.items()) or "every point"
                raise ScenarioError(f"variants {seen[point.identity]} and {variant} are the same scenario at {at}")
            seen[point.identity] = variant
            yield point, made


def check_identified(scenario: Scenario, identities: Identities) -> None:
    """Raises `ScenarioError` where a discipline in Python cannot be told from another: nothing of it can be kept."""
    try:
        identities.of(scenario.core)
    except UnidentifiedError as error:
        raise ScenarioError(
            f"{error}; so its runs cannot be told from another's, and are not kept: penstock.compare runs it"
        ) from None


class Driver:
    """Feeds an engine with points and keeps what comes back. What it holds does not grow with the number of runs."""

    def __init__(
        self,
        grid: Points,
        seeds: Sequence[int],
        out: Path,
        engine: Engine,
        fail_fast: bool,
        until: Until | None = None,
        tables: Tables | None = None,
    ) -> None:
        self._grid = grid
        self._seeds = seeds
        self._out = out
        self._engine = engine
        self._fail_fast = fail_fast
        self._tables = tables or Tables()
        self._failure: Callable[[Failure], object] | None = None
        self._progress: Callable[[Sweep], object] | None = None
        self._begun = 0.0
        self._waiting: dict[str, tuple[Point, Task]] = {}
        self._until = until
        self._goals = {goal.metric: Named.parse(goal.metric) for goal in until.goals} if until else {}
        self._rules: dict[str, Stopping] = {}
        self.state = Sweep(out, runs=len(grid) * (until.least if until else len(seeds)))

    def run(
        self, progress: Callable[[Sweep], object] | None = None, failure: Callable[[Failure], object] | None = None
    ) -> Sweep:
        """Runs all of it."""
        self._failure, self._progress = failure, progress
        self._begun = time.monotonic()
        with Store(self._out, self._grid.paths, self._tables) as store:
            if self._until is None:
                self._drain(store, self._tasks(store))
            else:
                points = iter(self._grid)
                while window := list(itertools.islice(points, WINDOW)):
                    self._narrow(store, window, self._until)
        self.state.runs = self.state.done  # of samples, some may have been the same
        return self.state

    def _drain(self, store: Store, tasks: Iterator[Task]) -> None:
        """Runs tasks and keeps what comes of them."""
        state = self.state
        batches = self._engine.run(tasks)
        try:
            for batch in batches:
                for each in batch:
                    self._keep(store, each)
                state.elapsed_s = time.monotonic() - self._begun
                if self._progress is not None:
                    self._progress(state)
        finally:
            close = getattr(batches, "close", None)
            if close is not None:
                close()

    def _narrow(
        self, store: Store, window: Sequence[tuple[Point, _penstock.Scenario | ScenarioError]], until: Until
    ) -> None:
        """Runs more and more seeds of these points, a quarter at a time, while their intervals are too wide.

        Which seeds run follows from the runs alone, not from who was faster.
        """
        first = self._seeds[0]
        there = store.values((point.identity for point, _ in window), [goal.metric for goal in until.goals])
        going: list[Listing] = []
        for point, made in window:
            if isinstance(made, ScenarioError):
                self._invalid(point, made, until.least)
            elif point.identity not in self._rules:
                self._rules[point.identity] = Stopping(until, first)
                going.append((point, made))
        n, target = 0, until.least
        while going:
            self._drain(store, self._more(store, going, there, range(first + n, first + target)))
            going = [each for each in going if not self._rules[each[0].identity].done]
            n, target = target, min(until.most, target + max(2, target // 4))
            self.state.runs += len(going) * (target - n)
        self.state.wide += sum(not rule.narrow for rule in self._rules.values())
        self._rules.clear()

    def _more(
        self,
        store: Store,
        points: Sequence[Listing],
        there: Mapping[str, Mapping[int, Mapping[str, float | None]]],
        seeds: range,
    ) -> Iterator[Task]:
        for point, made in points:
            for seed in seeds:
                key = run_key(point.identity, seed)
                kept = there.get(point.identity, {}).get(seed)
                if kept is not None and store.has(key, self._tables.marks):
                    self.state.kept += 1
                    self._rules[point.identity].add(seed, kept)
                    continue
                yield self._task(key, point, made, seed)

    def _tasks(self, store: Store) -> Iterator[Task]:
        for point, made in self._grid:
            if isinstance(made, ScenarioError):
                self._invalid(point, made, len(self._seeds))
                continue
            if not made.has_user_aqm:
                remember(point.scenario, made)
            for seed in self._seeds:
                key = run_key(point.identity, seed)
                if store.has(key, self._tables.marks) or key in self._waiting:
                    self.state.kept += 1
                    continue
                yield self._task(key, point, made, seed)

    def _task(self, key: str, point: Point, made: _penstock.Scenario, seed: int) -> Task:
        """Returns a run to do, which is waited for from now on."""
        task = Task(key, point.scenario, seed, self._tables, made if made.has_user_aqm else None)
        self._waiting[key] = (point, task)
        return task

    def _keep(self, store: Store, each: Outcome) -> None:
        waiting = self._waiting.pop(each.key, None)
        if waiting is None:  # an engine that ran it twice
            return
        point, task = waiting
        state = self.state
        if point.identity in self._rules:
            self._rules[point.identity].add(task.seed, self._wanted(each.numbers) if each.numbers else None)
        if each.error is None:
            store.put(point, task.seed, each)
            state.ran += 1
            state.events += each.events
            return
        self._fail(Failure(each.key, task.seed, task.scenario, each.error))

    def _wanted(self, numbers: Mapping[str, Any]) -> dict[str, float | None]:
        """Returns the goals' metrics of a run."""
        return {name: goal.value(numbers) for name, goal in self._goals.items()}

    def _invalid(self, point: Point, error: ScenarioError, seeds: int) -> None:
        """Reports that no seed of this point can run; it is reported once."""
        self.state.failed += seeds - 1
        at = f"{point.variant}, {point.scenario}" if point.variant else point.scenario
        self._fail(Failure(run_key(point.identity, self._seeds[0]), self._seeds[0], point.scenario, f"{at}: {error}"))

    def _fail(self, what: Failure) -> None:
        state = self.state
        state.failed += 1
        if len(state.failures) < FAILURES:
            state.failures.append(what)
        if self._failure is not None:
            self._failure(what)
        if self._fail_fast:
            raise FailFastError(f"run {what.key}, seed {what.seed}: {what.error}")


class Threads:
    """Runs in threads of this process: the simulator computes without Python's lock."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    @property
    def workers(self) -> int:
        """Returns the number of threads."""
        return self._jobs

    def run(self, tasks: Iterator[Task]) -> Iterator[Sequence[Outcome]]:
        """Implements `Engine.run`."""
        size, ran, begun = 1, 0, time.perf_counter()

        def bundles() -> Iterator[list[Task]]:
            while bundle := list(itertools.islice(tasks, size)):
                yield bundle

        with closing(Pool(_work, self._jobs).results(bundles())) as results:
            for said in results:
                if said is not None:
                    ran += len(said)
                    a_run = (time.perf_counter() - begun) * self._jobs / ran
                    size = max(1, min(BUNDLE_RUNS, int(BUNDLE_S / a_run), 2 * size))
                yield said or ()


class Processes:
    """Runs in processes that are forked for a while's runs: a discipline in Python holds Python's lock, and may be of
    a class that only this process has."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    @property
    def workers(self) -> int:
        """Returns the number of processes."""
        return self._jobs

    def run(self, tasks: Iterator[Task]) -> Iterator[Sequence[Outcome]]:
        """Implements `Engine.run`."""
        size = self._jobs
        while wave := list(itertools.islice(tasks, size)):
            begun = time.perf_counter()
            yield from _wave(wave, self._jobs)
            a_run = (time.perf_counter() - begun) / len(wave)
            size = self._jobs * max(1, min(BUNDLE_RUNS, int(WAVE_S / (a_run * self._jobs)), 4 * size // self._jobs))


def _wave(tasks: Sequence[Task], jobs: int) -> Iterator[list[Outcome]]:
    """Runs tasks in processes that end with them."""
    cores = [scenario_of(task) for task in tasks]
    items = [(made, task.seed, task.tables.recording(made)) for made, task in zip(cores, tasks, strict=True)]
    with closing(processes.results(items, jobs)) as said:
        for batch in said:
            outcomes = []
            for i, each in batch:
                if isinstance(each, processes.Raised):
                    outcomes.append(failed(tasks[i], each.error, each.lines))
                elif not isinstance(each, float):
                    outcomes.append(outcome(tasks[i], each))
            yield outcomes


def engine_for(scenario: Scenario, jobs: int) -> Engine:
    """Returns what runs a scenario's points on this machine."""
    if not scenario.core.has_user_aqm:
        return Threads(jobs)
    if processes.available():
        return Processes(jobs)
    message = "a discipline in Python, and no worker processes here: the runs come one after the other"
    warnings_.warn(message, RuntimeWarning, stacklevel=3)
    return Threads(1)


def _work(bundle: Sequence[Task], watch: Watch) -> Iterator[list[Outcome]]:
    """Runs a bundle in a thread: the seeds of a scenario in one call, once it is known how long one takes."""
    said: list[Outcome] = []
    since = time.perf_counter()
    for _, group in itertools.groupby(bundle, key=lambda task: (task.scenario, task.tables)):
        tasks, at, size = list(group), 0, 1
        while at < len(tasks):
            now = tasks[at : at + size]
            begun = time.perf_counter()
            said += _run(now, watch)
            at += size
            ended = time.perf_counter()
            size = max(1, int(BUNDLE_S * size / (ended - begun)))
            if ended - since > BUNDLE_S:
                yield said
                said, since = [], ended
    if said:
        yield said


def _run(tasks: Sequence[Task], watch: Watch) -> list[Outcome]:
    """Runs tasks that differ in their seeds only."""
    scenario = scenario_of(tasks[0])
    record = tasks[0].tables.recording(scenario)
    try:
        seeds = [task.seed for task in tasks]
        results = _penstock.run(scenario, seeds, 1, progress=watch, **record)
    except (Stopped, KeyboardInterrupt):
        raise
    except BaseException as error:  # a panic of the extension is no Exception
        if len(tasks) == 1:
            return [failed(tasks[0], error)]
        return [each for task in tasks for each in _run([task], watch)]
    return [outcome(task, result) for task, result in zip(tasks, results, strict=True)]
