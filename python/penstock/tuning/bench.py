"""Candidates are run and kept, as the points of a sweep: on threads or Dask, in the same store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from penstock import _penstock
from penstock._names import parameters
from penstock.errors import ScenarioError
from penstock.evaluation.candidates import BASELINE
from penstock.judging.named import Named
from penstock.model.discipline import Discipline
from penstock.model.scenario import Scenario
from penstock.runs.identity import Identities
from penstock.runs.tasks import Engine, Outcome, Task, run_key, simulator
from penstock.sweeps import store
from penstock.sweeps.drive import Driver, Listed, Sweep
from penstock.sweeps.store import Point
from penstock.tuning.candidates import Ask, Setting
from penstock.tuning.conditions import Condition
from penstock.tuning.judge import Runs

Progress = Callable[[Sweep], object]


class Noting:
    """An engine that also tells what came of each run, so that the store need not be read again."""

    def __init__(self, engine: Engine, note: Callable[[Outcome], object]) -> None:
        self._engine, self._note = engine, note

    @property
    def workers(self) -> int:
        """Returns how many runs go on at once."""
        return self._engine.workers

    def run(self, tasks: Iterator[Task]) -> Iterator[Sequence[Outcome]]:
        """Implements `Engine.run`."""
        batches: Any = self._engine.run(tasks)
        with closing(batches):
            for batch in batches:
                for each in batch:
                    self._note(each)
                yield batch


class Runner:
    """Runs settings of a scenario under conditions. Implements `penstock.tuning.candidates.Bench`.

    aqm: the discipline that is tuned.
    seen, unseen: the conditions.
    metrics: those that are kept in mind.
    folder: where runs are kept; finished ones are not run again.
    """

    def __init__(
        self,
        scenario: Scenario,
        aqm: Discipline,
        seen: Sequence[Condition],
        unseen: Sequence[Condition],
        metrics: Sequence[str],
        folder: Path,
        engine: Engine,
        progress: Progress | None = None,
    ) -> None:
        self._scenario, self._conditions, self._metrics = scenario, {False: seen, True: unseen}, metrics
        self._aqm, self._identities = aqm, Identities()
        self._named = [Named.parse(name) for name in metrics]
        self._folder, self._engine, self._progress = folder, Noting(engine, self._note), progress
        self._points: dict[tuple[Setting, bool, int], tuple[Point, _penstock.Scenario]] = {}
        self._bases: dict[tuple[str, bool], Scenario] = {}
        self._numbers: dict[str, list[float]] = {}
        self._asked: set[str] = set()
        self.total = Sweep(folder)

    @property
    def metrics(self) -> Sequence[str]:
        """Implements `Bench.metrics`."""
        return self._metrics

    @property
    def asked(self) -> int:
        """Implements `Bench.asked`."""
        return len(self._asked)

    def made(self, setting: Setting, condition: int, unseen: bool = False) -> _penstock.Scenario:
        """Returns the scenario of a setting under a condition. Raises `ScenarioError` if there is
        none.
        """
        return self._point(setting, unseen, condition)[1]

    def refuses(self, setting: Setting) -> str | None:
        """Implements `Bench.refuses`."""
        try:
            for unseen, conditions in self._conditions.items():
                for i in range(len(conditions)):
                    self._point(setting, unseen, i)
        except ScenarioError as error:
            return str(error)
        return None

    def measure(self, asks: Sequence[Ask]) -> list[Runs]:
        """Implements `Bench.measure`. Raises `FailFastError` for the first run that fails."""
        if not self._numbers:
            self._load()
        places = [[self._point(ask.setting, ask.unseen, i) for i in ask.conditions] for ask in asks]
        missing: dict[tuple[int, ...], dict[str, tuple[Point, _penstock.Scenario]]] = {}
        for ask, points in zip(asks, places, strict=True):
            for point, made in points:
                of_seeds = {seed: run_key(point.identity, seed) for seed in ask.seeds}
                self._asked.update(of_seeds.values())
                seeds = tuple(seed for seed, key in of_seeds.items() if key not in self._numbers)
                if seeds:
                    missing.setdefault(seeds, {})[point.identity] = (point, made)
        for seeds, wanted in missing.items():
            self._run(wanted, seeds)
        keys = (run_key(point, seed) for seeds, wanted in missing.items() for point in wanted for seed in seeds)
        if any(key not in self._numbers for key in keys):
            self._load()  # another process has just run them
        self._tell(0)
        return [self._values(points, ask.seeds) for ask, points in zip(asks, places, strict=True)]

    def _run(self, points: Mapping[str, tuple[Point, _penstock.Scenario]], seeds: Sequence[int]) -> None:
        """Runs points and keeps what comes of them."""
        driver = Driver(Listed(list(points.values())), seeds, self._folder, self._engine, fail_fast=True)
        driver.run(lambda now: self._tell(now.runs - now.done))

    def _tell(self, waiting: int) -> None:
        self.total.ran = max(0, len(self._asked) - waiting)
        self.total.runs = max(self.total.runs, len(self._asked))
        if self._progress is not None:
            self._progress(self.total)

    def _point(self, setting: Setting, unseen: bool, i: int) -> tuple[Point, _penstock.Scenario]:
        where = setting, unseen, i
        if where not in self._points:
            condition = self._conditions[unseen][i]
            values = [*condition.values, *setting.changes]
            base = self._base(setting.kind, setting.plain).core
            made = base.point(condition.variant, values)
            if made.aqm != base.aqm:
                raise ScenarioError(f"variant {condition.variant} sets aqm.kind, which is what is tuned")
            text, name = self._identities.of(made)
            self._points[where] = Point(name, text, condition.variant), made
        return self._points[where]

    def _base(self, kind: str, plain: bool) -> Scenario:
        if (kind, plain) not in self._bases:
            aqm = self._aqm if kind == self._aqm.label else Discipline(kind, kind)
            self._bases[kind, plain] = under(self._scenario, aqm, plain)
        return self._bases[kind, plain]

    def _values(self, points: Sequence[tuple[Point, _penstock.Scenario]], seeds: Sequence[int]) -> Runs:
        rows = [[self._numbers[run_key(point.identity, seed)] for seed in seeds] for point, _ in points]
        values = np.array(rows, dtype=np.float64).reshape(len(points), len(seeds), len(self._metrics))
        return {metric: values[:, :, i] for i, metric in enumerate(self._metrics)}

    def _note(self, each: Outcome) -> None:
        if each.numbers is not None:
            self._numbers[each.key] = [_number(named.value(each.numbers)) for named in self._named]

    def _load(self) -> None:
        """Reads the runs that an earlier call has finished."""
        if not any(store.parts(self._folder)):
            return  # what a journal holds becomes Parquet when the first run is put there
        store.settle(self._folder)
        table = store.read(self._folder, ["key", *self._metrics], filters=[("version", "=", simulator())])
        columns = [table[name].to_pylist() for name in self._metrics]
        for key, *numbers in zip(table["key"].to_pylist(), *columns, strict=True):
            self._numbers[key] = [_number(value) for value in numbers]


def under(scenario: Scenario, aqm: Discipline, plain: bool) -> Scenario:
    """Returns the scenario under a discipline.

    plain: with the discipline's own defaults; the keys that all kinds take stay as they are.

    Raises `ScenarioError` where the bottleneck's discipline is not the one in `[aqm]`.
    """
    changed = scenario.with_aqm(aqm)
    table = changed.resolved.get("aqm")
    if not isinstance(table, dict) or table.get("kind") != changed.core.aqm:
        raise ScenarioError("tune needs the bottleneck's discipline in [aqm]; this scenario has it at the link")
    if not plain:
        return changed
    given, back = scenario.resolved["aqm"], scenario.core.user_aqm(True)
    shared = [name for name in given if name not in ("kind", "reverse") and name in parameters()[BASELINE]]
    kept = {name: given[name] for name in shared if given[name] is not None}
    reverse = {"reverse": _present(given["reverse"])} if isinstance(given.get("reverse"), dict) and not back else {}
    plainly = changed.set("aqm", {"kind": aqm.kind or BASELINE, **kept, **reverse})
    plainly = plainly.with_reverse_aqm(back[0]) if back else plainly
    return plainly if aqm.own is None else plainly.with_aqm(aqm)


def _present(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
