"""A candidate: values of the searched keys, and what its runs have shown so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from penstock.tuning.judge import Array, Runs


@dataclass(frozen=True, slots=True)
class Setting:
    """A discipline with parameters, as it is put into the scenario.

    changes: key path → value as JSON text.
    plain: with the discipline's own defaults beneath the changes; else with what the scenario's
        `[aqm]` says.
    """

    kind: str
    changes: tuple[tuple[str, str], ...] = ()
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """Runs that are wanted: a setting under some conditions, each with these seeds.

    unseen: the conditions are those that the search does not see.
    """

    setting: Setting
    conditions: Sequence[int]
    seeds: Sequence[int]
    unseen: bool = False


class Bench(Protocol):
    """Where candidates run."""

    @property
    def metrics(self) -> Sequence[str]:
        """The metrics that `measure` returns."""
        ...

    @property
    def asked(self) -> int:
        """Returns how many different runs were asked for so far, finished ones of an earlier call included."""
        ...

    def refuses(self, setting: Setting) -> str | None:
        """Returns why a setting is no scenario under some condition; `None` where it is one under
        all.
        """
        ...

    def measure(self, asks: Sequence[Ask]) -> list[Runs]:
        """Runs what is not known yet. Returns, for each question, metric → a row for each
        condition.
        """
        ...


@dataclass(slots=True, eq=False)
class Candidate:
    """A setting on its way through the races.

    origin: the rule that it comes from, or `"search"`.
    source: the rule's source.
    done: condition → number of seeds that ran.
    out: why it was dropped; empty: it was not.
    costs: by how much goals are broken, and the objectives, over what ran; smaller is better.
    """

    number: int
    origin: str
    values: Mapping[str, float]
    setting: Setting
    source: str = ""
    runs: dict[str, Array] = field(default_factory=dict)
    done: dict[int, int] = field(default_factory=dict)
    out: str = ""
    costs: Sequence[float] = ()

    @property
    def seeds(self) -> int:
        """The seeds with which it ran under each of its conditions."""
        return min(self.done.values(), default=0)

    def part(self, conditions: Sequence[int], seeds: int) -> Runs:
        """Returns the runs under some conditions, with the first seeds."""
        return {metric: values[list(conditions), :seeds] for metric, values in self.runs.items()}

    def keep(self, conditions: Sequence[int], first: int, found: Runs, size: tuple[int, int]) -> None:
        """Takes new runs.

        first: the place of their first seed.
        size: of the whole: conditions and the most seeds.
        """
        for metric, values in found.items():
            whole = self.runs.setdefault(metric, np.full(size, np.nan))
            whole[np.array(conditions), first : first + values.shape[1]] = values
        for condition in conditions:
            self.done[condition] = first + next(iter(found.values())).shape[1]
