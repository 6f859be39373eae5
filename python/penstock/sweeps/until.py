"""Decides when a point of a sweep has seeds enough: its intervals are as narrow as asked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock import _penstock
from penstock.errors import Error
from penstock.judging.estimate import Estimate
from penstock.judging.intervals import Number
from penstock.judging.named import Named

_GOAL = re.compile(r"\s*(?P<metric>\S+?)\s*(?:±|\+/-|\+-)\s*(?P<width>.*?)\s*")


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
        """Reads a goal from `"utilization ±0.5%"` (of the mean) or `"delay_mean_s ±1 ms"`; `+-` may stand for `±`.

        A metric whose name ends in `_s` takes a time with its unit, one in `_bps` a rate, others a bare number.
        """
        found = _GOAL.fullmatch(text)
        if found is None:
            raise Error(f'{text!r}: must be a metric and a half-width, for example "utilization ±0.5%"')
        metric, width = found["metric"], found["width"]
        try:
            Named.parse(metric)
        except Error as error:
            raise Error(f"{text!r}: {error}") from None
        relative = width.endswith("%")
        half_width = _number(width[:-1], text) / 100 if relative else _quantity(metric, width, text)
        if not (math.isfinite(half_width) and half_width > 0):
            raise Error(f"{text!r}: the half-width must be above zero")
        return cls(metric, half_width, relative)

    def reached(self, estimate: Estimate) -> bool:
        """Returns whether an interval is that narrow. A metric that applies in fewer than two runs has none."""
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
        """Reads a rule from texts such as `"utilization ±0.5%"`; several may stand in one, separated by commas."""
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
        """Returns a goal's metric over the seeds looked at so far."""
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
        t = _penstock.student(self.n)
        ci95 = None if t is None else t * math.sqrt(self.squares / (self.n - 1) / self.n)
        return Estimate(mean=self.mean, ci95=ci95, n=self.n)
