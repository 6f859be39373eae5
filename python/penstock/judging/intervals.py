"""The kinds of interval around a mean: Student's (`Estimate`), and the bootstrap's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.judging.estimate import ANYWHERE, Bounds, Estimate

#: A metric in a run; `None` where it does not apply.
Number: TypeAlias = float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """A mean over runs with a 95 % bootstrap interval, which need not be symmetric.

    low, high: `None` below two runs.
    n: the runs in which the metric applied.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int


def bootstrap(
    values: Sequence[Number], bounds: Bounds = ANYWHERE, *, seed: int = 1, resamples: int = 9999
) -> Bootstrap:
    """Returns the mean and 95 % interval by the bias-corrected and accelerated bootstrap (Efron 1987), for metrics
    whose values over seeds are skewed: loss ratios, high percentiles.

    bounds: it needs none: it never reaches beyond the values.
    seed: of the resampling; the same values in the same order give the same interval.

    Of few runs it covers less than Student's t does, since it cannot see beyond the values that it was given: for 5, 10
    and 20 normal values 84, 90 and 93 % (t: 95 %), for exponential ones 82, 85 and 91 % (t: 89, 89 and 91 %).
    """
    given = [v for v in values if v is not None]
    n = len(given)
    mean = math.fsum(given) / n if given else None
    if n < 2 or mean is None:
        return Bootstrap(mean=mean, low=None, high=None, n=n)
    if min(given) == max(given):  # no acceleration: 0/0
        return Bootstrap(mean=mean, low=given[0], high=given[0], n=n)
    import numpy as np
    from scipy import stats

    rng = np.random.default_rng(seed)
    ends = stats.bootstrap((given,), np.mean, n_resamples=resamples, rng=rng).confidence_interval
    return Bootstrap(mean=mean, low=float(ends.low), high=float(ends.high), n=n)


Interval: TypeAlias = Estimate | Bootstrap

#: The kinds of interval.
INTERVALS: Mapping[str, Callable[[Sequence[Number], Bounds], Interval]] = {"t": Estimate.of, "bootstrap": bootstrap}


def ends(interval: Interval) -> tuple[float, float] | None:
    """Returns where an interval begins and ends; `None` below two runs."""
    return None if interval.low is None or interval.high is None else (interval.low, interval.high)
