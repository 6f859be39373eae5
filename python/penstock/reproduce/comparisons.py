"""Claims as numbers: from the runs of a claim's cases to one number a seed.

The functions here return the `values` of a claim. A `Comparison` returns whole claims about two
series, because most claims of papers are of this kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from penstock.reproduce.grids import Grid
from penstock.reproduce.measures import Measure
from penstock.reproduce.model import Cases, Claim, Reading, Rule
from penstock.reproduce.runs import Labels, Quantity, Runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: From the runs of a claim's cases to one number a seed, in the order of the seeds.
Values: TypeAlias = Callable[[Runs], Sequence[float]]


def of_one_case(quantity: Quantity, scale: float = 1.0, **labels: str | float | int) -> Values:
    """The quantity of the case with these labels, times `scale`. No labels: there is one case."""
    return lambda runs: _list(scale * runs.values(quantity, **labels))


def difference(quantity: Quantity, ours: Labels, theirs: Labels, *, scale: float = 1.0) -> Values:
    """The quantity of the case `ours` minus that of `theirs`, paired by seed, times `scale`."""
    return lambda runs: _list(scale * runs.difference(quantity, ours, theirs))


def difference_along(along: str, quantity: Quantity, ours: Labels, theirs: Labels, *, scale: float = 1.0) -> Values:
    """The same, as the mean over all values of the label `along` that `ours` has."""

    def values(runs: Runs) -> Sequence[float]:
        at = runs.where(**ours).labels(along)
        differences = [runs.difference(quantity, {**ours, along: x}, {**theirs, along: x}) for x in at]
        return _list(scale * np.mean(differences, axis=0))

    return values


def percent_along(along: str, quantity: Quantity, ours: Labels, theirs: Labels) -> Values:
    """The difference of the means over `along`, in percent of the mean of `theirs`."""

    def values(runs: Runs) -> Sequence[float]:
        at = runs.where(**ours).labels(along)
        a, b = (np.mean([runs.values(quantity, **{**case, along: x}) for x in at], axis=0) for case in (ours, theirs))
        return _list(100.0 * (a / b - 1.0))

    return values


def at_equal(
    runs: Runs, x: Quantity, y: Quantity, along: str, ours: Labels, theirs: Labels, steps: int = 9
) -> NDArray[np.float64]:
    """Seed by seed: how much higher `y` is at the same `x` in the cases `ours` than in `theirs`.

    along: the label whose values give the points (x, y) of a curve. Both curves of a seed are
        interpolated linearly at `steps` even steps over the range of x that they share.

    Returns shape (seeds, steps); a seed whose curves share no range is NaN.
    """
    found = []
    for seed in runs.seeds:
        curves = []
        for labels in (ours, theirs):
            part = Runs([run for run in runs.where(**labels) if run.seed == seed])
            points = [(part.values(x, **{along: at})[0], part.values(y, **{along: at})[0]) for at in part.labels(along)]
            curves.append(np.array(sorted(points)))
        low, high = max(c[0, 0] for c in curves), min(c[-1, 0] for c in curves)
        at = np.linspace(low, high, steps)
        one, other = (np.interp(at, c[:, 0], c[:, 1]) for c in curves)
        found.append(one - other if low < high else np.full(steps, np.nan))
    return np.array(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two series, `ours` against `theirs`, seed by seed (common random numbers). It makes claims.

    series: the label that has the names of the two: most often `"aqm"`.
    along: the label over which claims take the mean; `None`: each series is one case.
    readings: under which readings its claims are judged again.
    """

    cases: Cases
    ours: str | float
    theirs: str | float
    series: str = "aqm"
    along: str | None
    readings: Sequence[Reading] = ()

    @staticmethod
    def on(
        grid: Grid,
        ours: str | float,
        theirs: str | float,
        *,
        at: Sequence[str | float] | None = None,
        readings: Sequence[Reading] = (),
    ) -> Comparison:
        """Two series of a grid over its label `along`. at: these values of the label alone."""
        return Comparison(
            cases=grid.only(ours, theirs, at=at),
            ours=ours,
            theirs=theirs,
            series=grid.series,
            along=grid.along,
            readings=readings,
        )

    def claim(
        self, *, key: str, text: str, paper_value: str, unit: str, values: Values, rule: Rule, exhibit: str = ""
    ) -> Claim:
        """A claim about the two. exhibit: left out, it is the key's first part."""
        return Claim(
            key=key,
            text=text,
            exhibit=exhibit or key.partition(".")[0],
            paper_value=paper_value,
            unit=unit,
            cases=self.cases,
            values=values,
            rule=rule,
            readings=self.readings,
        )

    def difference(
        self, measure: Measure, *, key: str, text: str, paper_value: str, rule: Rule, exhibit: str = ""
    ) -> Claim:
        """The claim that `ours` minus `theirs` is as the rule says."""
        of, pair = measure.quantity, (self._ours, self._theirs)
        if self.along is None:
            values = difference(of, *pair, scale=measure.scale)
        else:
            values = difference_along(self.along, of, *pair, scale=measure.scale)
        return self.claim(
            key=key,
            text=text,
            paper_value=paper_value,
            unit=measure.unit,
            values=values,
            rule=rule,
            exhibit=exhibit,
        )

    def percent(
        self, measure: Measure, *, key: str, text: str, paper_value: str, rule: Rule, exhibit: str = ""
    ) -> Claim:
        """The same in percent of the mean of `theirs`. Raises `ValueError` for single cases."""
        if self.along is None:
            raise ValueError("a comparison in percent needs a label to take the mean over")
        base = f"{self.theirs}'s" if self.series == "aqm" else f"that with {self.theirs}"
        values = percent_along(self.along, measure.quantity, self._ours, self._theirs)
        return self.claim(
            key=key,
            text=text,
            paper_value=paper_value,
            unit=f"% of {base}",
            values=values,
            rule=rule,
            exhibit=exhibit,
        )

    @property
    def _ours(self) -> Labels:
        return {self.series: self.ours}

    @property
    def _theirs(self) -> Labels:
        return {self.series: self.theirs}


def _list(values: NDArray[np.float64]) -> list[float]:
    return [float(value) for value in values]
