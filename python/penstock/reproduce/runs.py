"""Finished runs and how a paper's module asks about them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from penstock.judging.estimate import ANYWHERE, Bounds, Estimate, bounds_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from penstock.model.scenario import Scenario

#: What tells the cases of an exhibit apart: `{"aqm": "AMECN", "target_pkts": 20}`.
Labels: TypeAlias = Mapping[str, str | float | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a case.

    metrics: as `penstock run --json` names them.
    groups: the metrics of each traffic entry.
    links: the metrics of each link, where there are several.
    trace: the recorded queue series (`t_s`, `queue_pkts`, `avg_pkts`, …), or `None`.
    windows: the flows' congestion windows (`t_s`, `flow`, `cwnd_segments`, …), or `None`.
    """

    labels: Labels
    seed: int
    scenario: Scenario
    metrics: Mapping[str, float | None]
    groups: Sequence[Mapping[str, float | None]]
    links: Mapping[str, Mapping[str, float | None]]
    trace: pa.Table | None
    windows: pa.Table | None = None

    def recorded(self, column: str, since: float = 0.0, until: float = math.inf) -> NDArray[Any]:
        """Returns a column of the recorded series from the second `since` to before `until`."""
        assert self.trace is not None
        t = self.trace["t_s"].to_numpy()
        series: NDArray[Any] = self.trace[column].to_numpy()[(t >= since) & (t < until)]
        return series


#: A metric by name, or a function of a run.
Quantity: TypeAlias = str | Callable[[Run], float | None]

Asked = TypeVar("Asked", bound=Callable[..., Any])


def within(bounds: Bounds) -> Callable[[Asked], Asked]:
    """Says of a function the least and the most that its numbers can be: their intervals stay there."""

    def said(asked: Asked) -> Asked:
        asked.within = bounds  # type: ignore[attr-defined]
        return asked

    return said


def bounds(quantity: str | Callable[..., Any], scale: float = 1.0) -> Bounds:
    """Returns the least and the most that a quantity can be, times `scale`. A function that says nothing may be
    anywhere."""
    least, most = bounds_of(quantity) if isinstance(quantity, str) else getattr(quantity, "within", ANYWHERE)
    return None if least is None else scale * least, None if most is None else scale * most


class Runs:
    """The runs of an exhibit or a claim. Nothing in it changes; `where` gives a part."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def where(self, **labels: str | float | int) -> Runs:
        """Returns the runs with these labels. Raises `LookupError` if there are none: a misspelled label."""
        cases = (runs for case, runs in self._cases if all(case.get(k) == v for k, v in labels.items()))
        found = list(itertools.chain.from_iterable(cases))
        if not found:
            raise LookupError(f"no run has {labels}")
        return Runs(found)

    @cached_property
    def _cases(self) -> list[tuple[Labels, list[Run]]]:
        """The labels of each case with its runs: there are far fewer of them than runs."""
        cases: dict[tuple[tuple[str, str | float | int], ...], tuple[Labels, list[Run]]] = {}
        for run in self._runs:
            cases.setdefault(tuple(run.labels.items()), (run.labels, []))[1].append(run)
        return list(cases.values())

    def labels(self, name: str) -> list[str | float | int]:
        """Returns the values of a label, each once, in the order of the cases."""
        return list(dict.fromkeys(run.labels[name] for run in self._runs if name in run.labels))

    @property
    def seeds(self) -> list[int]:
        """The seeds, ascending."""
        return sorted({run.seed for run in self._runs})

    def values(self, quantity: Quantity, **labels: str | float | int) -> NDArray[np.float64]:
        """Returns one number a seed, ascending by seed, of the one case that the labels leave.

        A metric that does not apply is NaN. Raises `LookupError` where several cases are left.
        """
        part = sorted(self.where(**labels) if labels else self, key=lambda run: run.seed)
        if len({run.seed for run in part}) != len(part):
            raise LookupError(f"{labels} leaves more than one case")
        return np.array([_ask(quantity, run) for run in part], dtype=np.float64)

    def estimate(self, quantity: Quantity, **labels: str | float | int) -> Estimate:
        """Returns the mean and 95 % interval over the seeds of one case."""
        values = self.values(quantity, **labels)
        return Estimate.of([float(v) for v in values if not np.isnan(v)], bounds(quantity))

    def curve(self, x: str, quantity: Quantity, **labels: str | float | int) -> list[tuple[float, Estimate]]:
        """Returns (x, mean with interval) for every value of the label `x`, ascending."""
        part = self.where(**labels) if labels else self
        return [(float(at), part.estimate(quantity, **{x: at})) for at in sorted(part.labels(x), key=float)]

    def difference(self, quantity: Quantity, ours: Labels, theirs: Labels) -> NDArray[np.float64]:
        """Returns the quantity of `ours` minus that of `theirs`, paired by seed (common random numbers).

        Where neither ever comes (both are infinite), the difference does not apply: NaN.
        """
        with np.errstate(invalid="ignore"):
            difference: NDArray[np.float64] = self.values(quantity, **ours) - self.values(quantity, **theirs)
        return difference


def _ask(quantity: Quantity, run: Run) -> float:
    value = run.metrics[quantity] if isinstance(quantity, str) else quantity(run)
    return float("nan") if value is None else float(value)
