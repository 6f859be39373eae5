"""One number over the range: the worst condition, a quantile of them, or their mean, with its
interval.

A metric is first averaged over the seeds, condition by condition, and the judge then looks at these
means. The interval comes from the jackknife over the seeds (Tukey 1958): leaving out one seed after
the other gives a value for each seed, the pseudo-value, and Student's t on these gives the
interval. Of a mean they are the seeds' own means; of a worst case that one condition decides they
are that condition's runs. Two candidates on the same seeds are compared by the differences of their
pseudo-values, seed by seed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock import _penstock
from penstock.errors import Error
from penstock.judging.estimate import ANYWHERE, Bounds, Estimate, bounds_of
from penstock.judging.paired import p_value
from penstock.tuning.goals import Aims, Goal, Objective

Array: TypeAlias = NDArray[np.float64]
#: Metric → values, a row for each condition, a column for each seed; NaN where the metric does not
#: apply.
Runs: TypeAlias = Mapping[str, Array]

#: Stands for infinity while quantiles are interpolated.
_HUGE = 1e300


@dataclass(frozen=True, slots=True)
class Judge:
    """How the conditions become one number.

    share: 1: the worst condition; 0.9: 90 % of the conditions are at least as good; `None`: their
        mean.
    """

    name: str
    share: float | None

    @classmethod
    def parse(cls, name: str) -> Judge:
        """Returns the judge of that name: `worst`, `mean`, or `q90`, `q75` and the like."""
        if name in ("worst", "mean"):
            return cls(name, 1.0 if name == "worst" else None)
        found = re.fullmatch(r"q(\d{1,2})", name)
        if found is None or int(found[1]) < 50:
            raise Error(f"--judge {name}: must be worst, mean, or a quantile from q50 to q99")
        return cls(name, int(found[1]) / 100)

    @property
    def words(self) -> str:
        """Returns what the number is, in words."""
        if self.share is None:
            return "the mean over the conditions"
        return "the worst condition" if self.share == 1.0 else f"what {100 * self.share:.0f} % of the conditions keep"

    def over(self, means: Array, lower: bool) -> float:
        """Returns the number for the conditions' means.

        lower: whether low values are good. A condition without a value is as bad as can be.
        """
        bad = np.where(np.isnan(means), np.inf, means if lower else -means)
        if self.share is None:
            found = float(np.mean(bad))
        elif self.share == 1.0:
            found = float(np.max(bad))
        else:
            found = float(np.quantile(np.minimum(bad, _HUGE), self.share))
        found = math.inf if found >= _HUGE / len(bad) / 100 else found
        return found if lower else -found

    def binds(self, means: Array, lower: bool) -> int:
        """Returns the number of the condition that decides; of a mean, the worst one."""
        bad = np.where(np.isnan(means), np.inf, means if lower else -means)
        if self.share in (None, 1.0) or not np.all(np.isfinite(bad)):
            return int(np.argmax(bad))
        value = self.over(means, lower)
        return int(np.argmin(np.abs(means - value)))


class Verdict(Enum):
    """Whether a goal is kept over the range."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, eq=False)
class Over:
    """A metric over the range.

    estimate: the judge's number with its interval.
    binds: the number of the condition that decides.
    conditions: the metric's mean and interval under each.
    pseudo: a value for each seed, for comparisons.
    bounds: where the metric can be.
    """

    estimate: Estimate
    binds: int
    conditions: Sequence[Estimate]
    pseudo: Array
    bounds: Bounds


def over(judge: Judge, wanted: Goal | Objective, values: Array) -> Over:
    """Returns a metric over the range; `values` has a row for each condition."""
    lower, bounds = wanted.lower, bounds_of(wanted.metric)
    value, pseudo = jackknife({"": values}, lambda means: np.array([judge.over(means[""], lower)]))
    means = _means(values)
    each = [Estimate.of(row.tolist(), bounds) for row in values]
    found = _estimate(float(value[0]), pseudo[:, 0], bounds)
    return Over(found, judge.binds(means, lower), each, pseudo[:, 0], bounds)


def difference(ours: Over, theirs: Over) -> Estimate:
    """Returns ours − theirs over the same range and seeds, paired by seed."""
    if ours.estimate.mean is None or theirs.estimate.mean is None:
        return Estimate(mean=None, ci95=None, n=0)
    return _estimate(ours.estimate.mean - theirs.estimate.mean, ours.pseudo - theirs.pseudo, ANYWHERE).cut(ours.bounds)


def verdict(goal: Goal, found: Over, judge: Judge) -> Verdict:
    """Returns whether a goal is kept.

    The worst case keeps it where the interval of every condition does, which needs no correction
        for their number: all
    must pass (an intersection-union test, Berger 1982). It breaks it where one condition's interval
    does, at a level divided by their number (Bonferroni). Any other judge's number has one
    interval.
    """
    if judge.share != 1.0:
        return _side(goal, found.estimate, 1, found.bounds)
    sides = [_side(goal, each, 1, found.bounds) for each in found.conditions]
    if all(each is Verdict.MET for each in sides):
        return Verdict.MET
    count = len(found.conditions)
    broken = any(_side(goal, each, count, found.bounds) is Verdict.MISSED for each in found.conditions)
    return Verdict.MISSED if broken else Verdict.UNDECIDED


def _side(goal: Goal, estimate: Estimate, tests: int, bounds: Bounds) -> Verdict:
    """Returns on which side of the bound an interval lies; `tests`: of so many, each gets its share
    of the 5 %.
    """
    if estimate.mean is None:
        return Verdict.MISSED  # it does not apply: nothing was sent, say
    if estimate.ci95 is None:
        return Verdict.UNDECIDED
    wide = Estimate.around(estimate.mean, estimate.ci95 * _wider(estimate.n, tests), estimate.n, bounds)
    assert wide.low is not None
    assert wide.high is not None
    if wide.low <= goal.bound <= wide.high:
        return Verdict.UNDECIDED
    return Verdict.MET if goal.margin(estimate.mean) > 0 else Verdict.MISSED


def _wider(n: int, tests: int) -> float:
    """Returns the factor by which an interval of 95 % grows for that many tests."""
    wider, as_it_is = _penstock.student(n, 1.0 - 0.05 / tests), _penstock.student(n)
    assert wider is not None
    assert as_it_is is not None
    return wider / as_it_is


def costs(aims: Aims, judge: Judge, means: Mapping[str, Array]) -> Array:
    """Returns what is to be small: by how much the goals are broken in all, then each objective.

    Where there is no objective, the least margin of the goals stands there with its sign turned.
    """
    margins = [goal.margin(judge.over(means[goal.metric], goal.lower)) for goal in aims.goals]
    broken = math.fsum(max(0.0, -margin) for margin in margins)
    wanted = [_cost(judge, each, means) for each in aims.objectives] or [-min(margins)]
    return np.array([broken, *wanted])


def _cost(judge: Judge, objective: Objective, means: Mapping[str, Array]) -> float:
    value = judge.over(means[objective.metric], objective.lower)
    return value if objective.lower else -value


def jackknife(runs: Runs, of: Callable[[Mapping[str, Array]], Array]) -> tuple[Array, Array]:
    """Returns a function of the conditions' means, and its pseudo-values, a row for each seed.

    of: from metric → mean under each condition to the values.
    """
    seeds = next(iter(runs.values())).shape[1]
    value = of({metric: _means(each) for metric, each in runs.items()})
    if seeds < 2:
        return value, value[np.newaxis]
    rows = []
    for left_out in range(seeds):
        less = of({metric: _means(np.delete(each, left_out, axis=1)) for metric, each in runs.items()})
        finite = np.isfinite(value) & np.isfinite(less)
        rows.append(
            np.where(finite, seeds * np.where(finite, value, 0) - (seeds - 1) * np.where(finite, less, 0), value)
        )
    return value, np.array(rows)


def clearly_above(ours: Array, theirs: Array, level: float) -> bool:
    """Returns whether a paired one-sided t test calls ours larger; arrays of pseudo-values, seed by
    seed.
    """
    both = np.isfinite(ours) & np.isfinite(theirs)
    if not np.all(both):
        return bool(np.any(np.isposinf(ours)) and np.all(np.isfinite(theirs)))
    differences = ours - theirs
    p = p_value(differences.tolist())
    return p is not None and float(np.mean(differences)) > 0.0 and p / 2 < level


def _means(values: Array) -> Array:
    """Returns the mean of each row over the values that there are; NaN for a row without any."""
    there = ~np.isnan(values)
    count = there.sum(axis=1)
    sums = np.where(there, values, 0.0).sum(axis=1)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)


def _estimate(value: float, pseudo: Array, bounds: Bounds) -> Estimate:
    n = len(pseudo)
    if not math.isfinite(value):
        return Estimate(mean=None, ci95=None, n=0)
    t = _penstock.student(n)
    if t is None or not np.all(np.isfinite(pseudo)):
        return Estimate(mean=value, ci95=None, n=n)
    return Estimate.around(value, t * float(np.std(pseudo, ddof=1)) / math.sqrt(n), n, bounds)
