"""What many runs say: intervals, paired comparisons, and when to stop.

Runs are independent replications, one a seed; nothing here treats packets of one run as independent.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from penstock import _penstock
from penstock._names import known
from penstock.errors import Error
from penstock.estimate import ANYWHERE, Bounds, Estimate

Number = float | None
Label = TypeVar("Label", bound=Hashable)

# --- intervals ------------------------------------------------------------------------------------------------------


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


def present(values: Sequence[Number]) -> list[float]:
    """The values of the runs in which the metric applied."""
    return [v for v in values if v is not None]


def estimate(values: Sequence[Number], bounds: Bounds = ANYWHERE) -> Estimate:
    """Mean and 95 % interval by Student's t, on a scale that keeps to the bounds. Exact for normal values that have
    none."""
    return Estimate.of(present(values), bounds)


def bootstrap(
    values: Sequence[Number], bounds: Bounds = ANYWHERE, *, seed: int = 1, resamples: int = 9999
) -> Bootstrap:
    """Mean and 95 % interval by the bias-corrected and accelerated bootstrap (Efron 1987), for metrics whose values
    over seeds are skewed: loss ratios, high percentiles.

    bounds: it needs none: it never reaches beyond the values.
    seed: of the resampling; the same values in the same order give the same interval.

    Of few runs it covers less than Student's t does, since it cannot see beyond the values that it was given: for 5, 10
    and 20 normal values 84, 90 and 93 % (t: 95 %), for exponential ones 82, 85 and 91 % (t: 89, 89 and 91 %).
    """
    given = present(values)
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
INTERVALS: Mapping[str, Callable[[Sequence[Number], Bounds], Interval]] = {"t": estimate, "bootstrap": bootstrap}


def ends(interval: Interval) -> tuple[float, float] | None:
    """Where an interval begins and ends; `None` below two runs."""
    return None if interval.low is None or interval.high is None else (interval.low, interval.high)


# --- comparisons ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """One against another over the seeds that both have.

    difference: of the pairs, with its own 95 % interval.
    p: of the paired t test that there is no difference; `None` below two pairs.
    p_adjusted: the same after correction for all comparisons of its table.
    """

    difference: Interval
    p: float | None
    p_adjusted: float | None = None


def paired(
    ours: Mapping[int, Number], theirs: Mapping[int, Number], ci: str = "t", bounds: Bounds = ANYWHERE
) -> Paired:
    """The differences ours − theirs, seed by seed: with common random numbers (the same seed starts the same flows at
    the same time) what a seed does to both cancels out.

    ours, theirs: seed → value. A seed that one of them lacks, or where the metric does not apply, is left out.
    ci: the kind of the difference's interval, of `INTERVALS`; the test is Student's whichever it is.
    bounds: of the quantity; no difference reaches beyond what lies between them.
    """
    seeds = sorted(ours.keys() & theirs.keys())
    both = [(a, b) for a, b in ((ours[s], theirs[s]) for s in seeds) if a is not None and b is not None]
    differences = [a - b for a, b in both]
    found = INTERVALS[ci](differences, ANYWHERE)
    cut = found.cut(bounds) if isinstance(found, Estimate) else found
    return Paired(difference=cut, p=_no_difference(differences))


def _no_difference(differences: Sequence[float]) -> float | None:
    """Student's one-sample t test of the pairs' differences, two-sided."""
    if len(differences) < 2:
        return None
    if min(differences) == max(differences):  # t is 0/0 or infinite
        return 1.0 if differences[0] == 0.0 else 0.0
    from scipy import stats

    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def corrected(table: Mapping[Label, Paired]) -> dict[Label, Paired]:
    """All comparisons of a table, their p values adjusted for their number by `adjusted`.

    The intervals are each for itself: of many at 95 %, some miss.
    """
    p = adjusted([each.p for each in table.values()])
    return {label: replace(each, p_adjusted=q) for (label, each), q in zip(table.items(), p, strict=True)}


def adjusted(p: Sequence[Number]) -> list[Number]:
    """The p values after Benjamini and Hochberg (1995): of the comparisons called different at 0.05, at most 5 % in
    expectation are not. Holds for independent and for positively dependent tests (Benjamini, Yekutieli 2001), as those
    against one baseline usually are. What was not tested (`None`) does not count.
    """
    tested = [each for each in p if each is not None]
    if not tested:
        return list(p)
    from scipy import stats

    corrected = iter(stats.false_discovery_control(tested, method="bh").tolist())
    return [None if each is None else float(next(corrected)) for each in p]


# --- when to stop ---------------------------------------------------------------------------------------------------

_GOAL = re.compile(r"\s*(?P<metric>\w+)\s*(?:±|\+/-|\+-)\s*(?P<width>.*?)\s*")


@dataclass(frozen=True, slots=True)
class Goal:
    """How narrow the 95 % interval of a metric's mean is to be.

    half_width: in the metric's unit, or as a share of the mean's size where `relative`.
    """

    metric: str
    half_width: float
    relative: bool

    @classmethod
    def parse(cls, text: str) -> Goal:
        """From `"utilization ±0.5%"` (of the mean) or `"delay_mean_s ±1 ms"`; `+-` may stand for `±`.

        A metric whose name ends in `_s` takes a time with its unit, one in `_bps` a rate, others a bare number.
        """
        found = _GOAL.fullmatch(text)
        if found is None:
            raise Error(f'{text!r}: must be a metric and a half-width, for example "utilization ±0.5%"')
        metric, width = found["metric"], found["width"]
        names = [row["name"] for row in json.loads(_penstock.list_json("metrics")) if row["per"] == "run"]
        try:
            known(metric, names, "metric")
        except Error as error:
            raise Error(f"{text!r}: {error}") from None
        relative = width.endswith("%")
        half_width = _number(width[:-1], text) / 100 if relative else _quantity(metric, width, text)
        if not (math.isfinite(half_width) and half_width > 0):
            raise Error(f"{text!r}: the half-width must be above zero")
        return cls(metric, half_width, relative)

    def reached(self, estimate: Estimate) -> bool:
        """Whether an interval is that narrow. A metric that applies in fewer than two runs has none."""
        if estimate.mean is None or estimate.ci95 is None:
            return False
        return estimate.ci95 <= self.half_width * (abs(estimate.mean) if self.relative else 1.0)


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Error(f"{whole!r}: {text.strip()!r} is no number") from None


def _quantity(metric: str, width: str, whole: str) -> float:
    parse = {"s": _penstock.parse_duration, "bps": _penstock.parse_rate}.get(metric.rpartition("_")[2])
    if parse is None:
        return _number(width, whole)
    try:
        return parse(width)
    except Error as error:
        raise Error(f"{whole!r}: {error}") from None


@dataclass(frozen=True, slots=True)
class Until:
    """A rule to stop: as soon as every goal is reached, but not before `least` seeds nor after `most`.

    To look at the interval again and again and to stop when it is narrow favours the times when it is narrow by luck:
    at the end it holds the true mean less often than in 95 % (to which it tends as the goal narrows: Chow and Robbins
    1965). With `least` 10, in about 94 % for normal values and 88 % for exponential ones that stop near 25 seeds; with
    3, in 92 and 78 %.
    """

    goals: tuple[Goal, ...]
    least: int = 10
    most: int = 1000

    def __post_init__(self) -> None:
        if not self.goals:
            raise Error("a rule to stop needs a goal")
        if not 2 <= self.least <= self.most:
            raise Error(f"seeds: at least two, and no more than the maximum, not {self.least} to {self.most}")

    @classmethod
    def parse(cls, *texts: str, least: int = 10, most: int = 1000) -> Until:
        """From texts such as `"utilization ±0.5%"`; several may stand in one, separated by commas."""
        goals = [Goal.parse(part) for text in texts for part in text.split(",")]
        return cls(tuple(goals), min(least, most), most)


@dataclass(slots=True)
class Stopping:
    """Applies a rule to the runs of one point, which may come in any order.

    rule: when to stop.
    first_seed: the point's seeds count from here.
    n: seeds that the rule has looked at, all that came without a gap; where it has stopped, those that it needed.
    done: whether it has stopped.
    narrow: whether it has stopped because the goals are reached, not the maximum.

    The rule sees the seeds in their order, however many workers there are: the same seeds are needed, whatever else has
    come in by then.
    """

    rule: Until
    first_seed: int
    n: int = 0
    done: bool = False
    narrow: bool = False
    _waiting: dict[int, Mapping[str, Number]] = field(default_factory=dict)
    _sums: dict[str, _Running] = field(default_factory=dict)

    def add(self, seed: int, metrics: Mapping[str, Number] | None) -> bool:
        """Takes one run's metrics (`None` if it failed: the seed counts, its values do not); whether to stop."""
        if not self.done:
            self._waiting[seed] = metrics or {}
        while not self.done and (came := self._waiting.pop(self.first_seed + self.n, None)) is not None:
            self.n += 1
            for goal in self.rule.goals:
                if (value := came.get(goal.metric)) is not None:
                    self._sums.setdefault(goal.metric, _Running()).add(value)
            if self.n >= self.rule.least:
                self.narrow = all(goal.reached(self.estimate(goal.metric)) for goal in self.rule.goals)
            self.done = self.narrow or self.n >= self.rule.most
        if self.done:
            self._waiting.clear()
        return self.done

    def estimate(self, metric: str) -> Estimate:
        """A goal's metric over the seeds looked at so far."""
        return self._sums.get(metric, _Running()).estimate()


@dataclass(slots=True)
class _Running:
    """Mean and variance as values come (Welford 1962): nothing is kept or summed again."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.n += 1
        before = value - self.mean
        self.mean += before / self.n
        self.squares += before * (value - self.mean)

    def estimate(self) -> Estimate:
        if self.n == 0:
            return Estimate(mean=None, ci95=None, n=0)
        t = _penstock.t95(self.n)
        ci95 = None if t is None else t * math.sqrt(self.squares / (self.n - 1) / self.n)
        return Estimate(mean=self.mean, ci95=ci95, n=self.n)
