"""A number measured over several runs, with its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

from penstock import _penstock
from penstock._names import listing
from penstock.judging.named import own

#: The least and the most that a quantity can be; `None` where there is no such bound.
Bounds: TypeAlias = tuple[float | None, float | None]
#: Of delays, rates, lengths and counts.
FROM_ZERO: Bounds = (0.0, None)
#: Of shares, ratios and Jain's index.
SHARE: Bounds = (0.0, 1.0)
#: Of the same in percent.
PERCENT: Bounds = (0.0, 100.0)
#: Of what may be anywhere.
ANYWHERE: Bounds = (None, None)


class _Mean(NamedTuple):
    mean: float | None
    ci95: float | None
    n: int


class Estimate(_Mean):
    """A mean over runs with its 95 % confidence interval.

    mean: `None` where the metric applied in no run.
    ci95: the half-width of Student's interval; `None` below two runs.
    n: the runs in which the metric applied.
    low, high: where the interval ends, on a scale that keeps it where the quantity can be; `None` below two runs.
        Given none, they are `mean` ± `ci95`.

    It unpacks as mean, ci95, n.
    """

    low: float | None
    high: float | None

    def __new__(
        cls, mean: float | None, ci95: float | None, n: int, low: float | None = None, high: float | None = None
    ) -> Estimate:
        """Makes one; `of` makes it from values."""
        self = super().__new__(cls, mean, ci95, n)
        known = mean is not None and ci95 is not None
        self.low = mean - ci95 if low is None and known else low  # type: ignore[operator]
        self.high = mean + ci95 if high is None and known else high  # type: ignore[operator]
        return self

    @staticmethod
    def of(values: Iterable[float | None], bounds: Bounds = ANYWHERE, level: float = 0.95) -> Estimate:
        """Returns the estimate from one value per run; `None` and NaN are runs in which the metric did not apply.

        bounds: the least and the most that the quantity can be, where there are such.
        level: the share of such intervals that hold the true mean.

        >>> Estimate.of([1.0, 2.0, 3.0]).mean
        2.0
        >>> Estimate.of([0.0, 0.01, 0.0], SHARE).low
        0.0
        """
        there = [float(v) for v in values if v is not None and not math.isnan(v)]
        return Estimate(*_penstock.estimate(there, bounds, level))

    @staticmethod
    def around(mean: float | None, ci95: float | None, n: int, bounds: Bounds) -> Estimate:
        """Returns the estimate whose half-width by Student's t is known."""
        if mean is None or ci95 is None:
            return Estimate(mean, ci95, n)
        return Estimate(mean, ci95, n, *_penstock.ends(mean, ci95, bounds))

    @staticmethod
    def of_differences(values: Sequence[float], bounds: Bounds) -> Estimate:
        """Returns the estimate of paired differences: Student's interval, cut where no difference can be.

        bounds: of the quantity of which they are differences. Of two shares none is beyond ±1.
        """
        found = Estimate.of(values)
        return found.cut(bounds)

    def cut(self, bounds: Bounds) -> Estimate:
        """Returns the estimate, cut where no difference of two such quantities can be."""
        least, most = bounds
        if least is None or most is None or self.mean is None or self.low is None or self.high is None:
            return self
        widest = max(most - least, abs(self.mean))
        return Estimate(self.mean, self.ci95, self.n, max(self.low, -widest), min(self.high, widest))

    @property
    def below(self) -> float:
        """Returns how far the interval reaches below the mean; 0 where there is none."""
        return 0.0 if self.mean is None or self.low is None else self.mean - self.low

    @property
    def above(self) -> float:
        """Returns how far the interval reaches above the mean; 0 where there is none."""
        return 0.0 if self.mean is None or self.high is None else self.high - self.mean

    @property
    def symmetric(self) -> bool:
        """Returns whether `mean` ± `ci95` says the same: each end is nearer to it than a tenth of `ci95`."""
        if self.ci95 is None or not math.isfinite(self.ci95):
            return True
        rounding = 1e-11 * abs(self.mean or 0.0)
        return max(abs(self.above - self.ci95), abs(self.below - self.ci95)) <= 0.1 * self.ci95 + rounding

    def row(self) -> dict[str, float | int | None]:
        """Returns the estimate as a document has it."""
        return {"mean": self.mean, "ci95": self.ci95, "n": self.n, "low": self.low, "high": self.high}

    def __repr__(self) -> str:
        return f"Estimate({', '.join(f'{name}={value!r}' for name, value in self.row().items())})"

    def __str__(self) -> str:
        if self.mean is None:
            return "–"
        if self.ci95 is None:
            return f"{self.mean:.6g}"
        if self.symmetric:
            return f"{self.mean:.6g} ± {self.ci95:.2g}"
        return f"{self.mean:.6g} −{self.below:.2g} +{self.above:.2g}"


@cache
def _bounds() -> Mapping[str, Bounds]:
    return {row["name"]: (row["bounds"][0], row["bounds"][1]) for row in listing("metrics")}


def bounds_of(metric: str) -> Bounds:
    """Returns where a metric can be, one of a link or a group too; of a name that is no metric's, anywhere.

    >>> bounds_of("utilization")
    (0.0, 1.0)
    """
    return _bounds().get(own(metric), ANYWHERE)
