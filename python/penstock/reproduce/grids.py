"""The cases of an exhibit or a claim as a grid: each discipline at each value of one label."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.reproduce.model import Case, Settings
from penstock.reproduce.readings import Reading

if TYPE_CHECKING:
    from penstock.model.scenario import Scenario

#: Builds the scenario for a name of the series, a value of the label and a reading.
Build: TypeAlias = Callable[[Any, Any, Reading], "Scenario"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Each name of a series at each value of the label `along`. Call it to get its cases.

    names: what is compared, in the order in which it is shown: most often disciplines.
    along: the label that varies within the series: `"N"`.
    values: all values of that label.
    series: the label of the names.
    trace_s: the sampling interval of the queue in seconds; `None` records nothing.
    by_name: the cases come name by name instead of value by value.
    """

    build: Build
    names: Sequence[str | float]
    along: str
    values: Sequence[str | float]
    series: str = "aqm"
    trace_s: float | None = None
    by_name: bool = False

    def __call__(self, settings: Settings, reading: Reading) -> Iterator[Case]:
        """Yields the cases under a reading."""
        pairs = list(itertools.product(self.names, self.values))
        if not self.by_name:
            pairs = [(name, value) for value in self.values for name in self.names]
        for name, value in pairs:
            labels = {self.series: name, self.along: value}
            yield Case(labels, self.build(name, value, reading), self.trace_s)

    def only(self, *names: str | float, at: Sequence[str | float] | None = None) -> Grid:
        """Returns the part with these names and values; all of them where none are given."""
        return replace(self, names=names or self.names, values=self.values if at is None else tuple(at))
