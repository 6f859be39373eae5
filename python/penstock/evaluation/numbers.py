"""Reads what came of an evaluation's runs, as arrays with one number a seed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.evaluation.points import Plan, Where
from penstock.runs.tasks import MEASURES, run_key, simulator
from penstock.sweeps import store

Array = NDArray[np.float64]
NONE = float("nan")
#: The columns of measures that are words.
NAMES = ["key", "measure", "of"]


@dataclass(frozen=True)
class Numbers:
    """The runs of a plan, by where they stand.

    folders: they are in one of these.
    """

    plan: Plan
    folders: Sequence[Path]

    @cached_property
    def seeds(self) -> Mapping[Where, Sequence[int]]:
        """Returns the seeds that each place ran with."""
        return {each.where: each.seeds for each in self.plan.points}

    @cached_property
    def _groups(self) -> Mapping[Where, Sequence[str]]:
        return {each.where: [group.name for group in each.scenario.core.facts().groups] for each in self.plan.points}

    def rate_bps(self, where: Where) -> float:
        """Returns the rate of a scenario's bottleneck."""
        (rate,) = (each.scenario.core.facts().bottleneck.rate_bps for each in self.plan.points if each.where == where)
        return rate

    def groups(self, where: Where) -> Sequence[str]:
        """Returns the names of a scenario's traffic entries."""
        return self._groups[where]

    @cached_property
    def _keys(self) -> Mapping[Where, Sequence[str]]:
        return {each.where: [run_key(each.point.identity, seed) for seed in each.seeds] for each in self.plan.points}

    @cached_property
    def _runs(self) -> Mapping[str, Mapping[str, Any]]:
        names = [*store.metrics(), "groups"]
        found: dict[str, Mapping[str, Any]] = {}
        for folder in self.folders:
            if any(store.parts(folder)):
                table = store.read(folder, filters=[("version", "=", simulator())])
                found |= zip(table["key"].to_pylist(), table.select(names).to_pylist(), strict=True)
        return found

    @cached_property
    def _measured(self) -> Mapping[str, Mapping[tuple[str, str], tuple[Array, Array]]]:
        """Returns what was measured of each run: its identity → (measure, of) → places and values."""
        wanted = {key for keys in self._keys.values() for key in keys}
        found: dict[str, dict[tuple[str, str], tuple[Array, Array]]] = {}
        parts = [(each, part) for each in self.folders for part in store.parts(each, MEASURES)]
        for folder, part in parts:
            with store.opened(part, folder, NAMES) as file:
                for group in range(file.num_row_groups):
                    rows = file.read_row_group(group, [*NAMES, "at", "value"]).combine_chunks()
                    coded = [rows[name].combine_chunks() for name in NAMES]
                    codes = [column.indices.to_numpy() for column in coded]
                    words = [column.dictionary.to_pylist() for column in coded]
                    at, value = rows["at"].to_numpy(), rows["value"].to_numpy()
                    # The rows of a run's measure are together.
                    changes = np.any([np.diff(column) != 0 for column in codes], axis=0)
                    ends = [0, *(np.flatnonzero(changes) + 1).tolist(), rows.num_rows]
                    for start, end in itertools.pairwise(ends):
                        key, measure, of = (word[code[start]] for word, code in zip(words, codes, strict=True))
                        if key in wanted:
                            found.setdefault(key, {})[measure, of] = at[start:end].copy(), value[start:end].copy()
        return found

    def load(self) -> None:
        """Reads all that is not read yet."""
        _ = self._runs, self._measured

    def metric(self, where: Where, name: str) -> Array:
        """Returns a metric of `penstock run`; NaN where it does not apply."""
        return np.array([_number(self._runs[key][name]) for key in self._keys[where]])

    def group(self, where: Where, group: int, name: str) -> Array:
        """Returns a metric of a traffic entry."""
        return np.array([_number(self._runs[key]["groups"][group][name]) for key in self._keys[where]])

    def quantile(self, where: Where, measure: str, percent: float, of: str = "") -> Array:
        """Returns a measure's quantile; NaN where there was nothing to measure."""
        return np.array([self._at(key, measure, percent, of) for key in self._keys[where]])

    def _at(self, key: str, measure: str, percent: float, of: str) -> float:
        at, value = self._measured.get(key, {}).get((measure, of), (np.zeros(0), np.zeros(0)))
        found = value[at == percent] if not math.isnan(percent) else value
        return float(found[0]) if len(found) else NONE

    def value(self, where: Where, measure: str, of: str = "") -> Array:
        """Returns a measure that is one number."""
        return self.quantile(where, measure, NONE, of)

    def over_time(self, where: Where, measure: str, of: str = "") -> list[tuple[Array, Array]]:
        """Returns a series of each run: times in seconds from time zero, and values."""
        none = np.zeros(0), np.zeros(0)
        return [self._measured.get(key, {}).get((measure, of), none) for key in self._keys[where]]


def goodput_share(numbers: Numbers, where: Where, group: int) -> Array:
    """Returns what one of two traffic entries has of the goodput of both; NaN where there is none."""
    both = [numbers.group(where, each, "goodput_bps") for each in (0, 1)]
    with np.errstate(invalid="ignore"):
        return np.asarray(both[group] / (both[0] + both[1]), dtype=np.float64)


def _number(value: float | None) -> float:
    return NONE if value is None else float(value)
