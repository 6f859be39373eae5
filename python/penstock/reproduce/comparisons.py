"""Claims as numbers: from the runs of a claim's cases to one number a seed.

The functions here return the `values` of a claim. A `Comparison` returns whole claims about two
series, because most claims of papers are of this kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import numpy as np

from penstock.reproduce.grids import Grid
from penstock.reproduce.measures import Measure
from penstock.reproduce.model import Cases, Claim, Numbers, Rule, Sense, Whose
from penstock.reproduce.readings import Reading
from penstock.reproduce.runs import Labels, Quantity, Runs, bounds, within

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

#: From the runs of a claim's cases to its numbers.
Values: TypeAlias = Callable[[Runs], Numbers]

#: A claim about every point of an axis, by the mean over the axis.
MEAN = Reading("mean", "Judged by the mean over the axis, not at every point.")


class Said(TypedDict, total=False):
    """What a claim says besides its numbers: the fields of `Claim` of these names.

    exhibit: left out, it is the key's first part.
    """

    key: str
    text: str
    paper_value: str
    place: str
    of: Whose
    printed: float | None
    exhibit: str
    most: int | None
    senses: Sequence[Sense]


def of_one_case(quantity: Quantity, scale: float = 1.0, **labels: str | float | int) -> Values:
    """Returns the quantity of the case with these labels, times `scale`. No labels: there is one case."""
    return within(bounds(quantity, scale))(lambda runs: _list(scale * runs.values(quantity, **labels)))


def difference(quantity: Quantity, ours: Labels, theirs: Labels, *, scale: float = 1.0) -> Values:
    """Returns the quantity of the case `ours` minus that of `theirs`, paired by seed, times `scale`."""
    return lambda runs: _list(scale * runs.difference(quantity, ours, theirs))


def difference_at_each(along: str, quantity: Quantity, ours: Labels, theirs: Labels, *, scale: float = 1.0) -> Values:
    """Returns the same at every value of the label `along` that `ours` has."""

    def values(runs: Runs) -> Numbers:
        at = runs.where(**ours).labels(along)
        return {str(x): _list(scale * runs.difference(quantity, {**ours, along: x}, {**theirs, along: x})) for x in at}

    return values


def percent_at_each(along: str, quantity: Quantity, ours: Labels, theirs: Labels) -> Values:
    """Returns the difference at every value of `along`, in percent of the mean of `theirs` there."""

    def values(runs: Runs) -> Numbers:
        found = {}
        for x in runs.where(**ours).labels(along):
            base = np.nanmean(runs.values(quantity, **{**theirs, along: x}))
            of = runs.difference(quantity, {**ours, along: x}, {**theirs, along: x})
            # Where theirs is 0 in every run, a share of it says nothing.
            found[str(x)] = _list(100.0 * of / base if base else np.full(len(of), np.nan))
        return found

    return values


def percent_along(along: str, quantity: Quantity, ours: Labels, theirs: Labels) -> Values:
    """Returns the difference of the means over `along`, in percent of the mean of `theirs`."""

    def values(runs: Runs) -> Numbers:
        at = runs.where(**ours).labels(along)
        a, b = (np.mean([runs.values(quantity, **{**case, along: x}) for x in at], axis=0) for case in (ours, theirs))
        return _list(100.0 * (a - b) / np.mean(b))

    return values


def mean_over(values: Values) -> Values:
    """Returns the mean over the points of an axis, seed by seed."""

    @within(bounds(values))
    def mean(runs: Runs) -> Numbers:
        found = values(runs)
        assert isinstance(found, Mapping)
        return _list(np.mean(list(found.values()), axis=0))

    return mean


def at_equal(
    runs: Runs, x: Quantity, y: Quantity, along: str, ours: Labels, theirs: Labels, steps: int = 9
) -> NDArray[np.float64]:
    """Returns, seed by seed, how much higher `y` is at the same `x` in the cases `ours` than in `theirs`.

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
    along: the label at whose every value a claim must hold; `None`: each series is one case.
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
        """Returns two series of a grid over its label `along`. at: these values of the label alone."""
        return Comparison(
            cases=grid.only(ours, theirs, at=at),
            ours=ours,
            theirs=theirs,
            series=grid.series,
            along=grid.along,
            readings=readings,
        )

    def claim(self, *, unit: str, values: Values, rule: Rule | None, **said: Unpack[Said]) -> Claim:
        """Returns a claim about the two."""
        said.setdefault("exhibit", said["key"].partition(".")[0])
        return Claim(
            **said,
            unit=unit,
            cases=self.cases,
            values=values,
            rule=rule,
            readings=self.readings,
        )

    def difference(self, measure: Measure, *, rule: Rule, **said: Unpack[Said]) -> Claim:
        """Returns the claim that `ours` minus `theirs` is as the rule says: at every point, and in the mean."""
        of, pair, scale = measure.quantity, (self._ours, self._theirs), measure.scale
        if self.along is None:
            return self.claim(unit=measure.unit, values=difference(of, *pair, scale=scale), rule=rule, **said)
        values = difference_at_each(self.along, of, *pair, scale=scale)
        return self._at_each(values, mean_over(values), unit=measure.unit, rule=rule, **said)

    def percent(self, measure: Measure, *, rule: Rule, **said: Unpack[Said]) -> Claim:
        """Returns the same claim in percent of `theirs`. Raises `ValueError` for single cases."""
        if self.along is None:
            raise ValueError("a comparison in percent needs a label to take the mean over")
        pair = (self.along, measure.quantity, self._ours, self._theirs)
        return self._at_each(percent_at_each(*pair), percent_along(*pair), unit=self._percent, rule=rule, **said)

    def sense(self, reading: Reading, measure: Measure, *, rule: Rule | None = None, percent: bool = False) -> Sense:
        """Returns another sense of a claim's words: the same comparison by another measure.

        rule: where it is not the claim's. percent: in percent of `theirs`, at every point.
        """
        of, pair = measure.quantity, (self._ours, self._theirs)
        if self.along is None:
            values = difference(of, *pair, scale=measure.scale)
        elif percent:
            values = percent_at_each(self.along, of, *pair)
        else:
            values = difference_at_each(self.along, of, *pair, scale=measure.scale)
        return Sense(reading=reading, values=values, unit=self._percent if percent else measure.unit, rule=rule)

    def _at_each(self, values: Values, mean: Values, *, unit: str, rule: Rule, **said: Unpack[Said]) -> Claim:
        several = not isinstance(self.cases, Grid) or len(self.cases.values) > 1
        of_mean = (Sense(reading=MEAN, values=mean),) if several else ()
        said["senses"] = (*of_mean, *said.get("senses", ()))
        return self.claim(unit=unit, values=values, rule=rule, **said)

    @property
    def _percent(self) -> str:
        return f"% of {self.theirs}'s" if self.series == "aqm" else f"% of that with {self.theirs}"

    @property
    def _ours(self) -> Labels:
        return {self.series: self.ours}

    @property
    def _theirs(self) -> Labels:
        return {self.series: self.theirs}


def _list(values: NDArray[np.float64]) -> list[float]:
    return [float(value) for value in values]
