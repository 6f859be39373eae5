"""Defines what is wanted: goals that must hold, and metrics that are to be as high or as low as possible."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock import _penstock
from penstock.errors import Error
from penstock.judging.estimate import SHARE, bounds_of
from penstock.judging.named import Named
from penstock.show.numbers import scale

_GOAL = re.compile(r"\s*(?P<metric>[^<>≤≥]+?)\s*(?P<sign><=|>=|≤|≥|<|>)\s*(?P<bound>.*?)\s*")
_NUMBER = re.compile(r"(?P<number>[-+0-9.eE]+)\s*(?P<unit>%|packets?|ms²)?")


@dataclass(frozen=True, slots=True)
class Objective:
    """A metric that is to be as high or as low as possible.

    lower: whether low values are better.
    """

    metric: str
    lower: bool

    def __str__(self) -> str:
        return f"{'minimize' if self.lower else 'maximize'} {self.metric}"


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound that a metric must keep.

    lower: whether the metric must be below the bound; else above it.
    bound: in the metric's own unit.
    """

    metric: str
    lower: bool
    bound: float

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Returns the goal that a text such as `"delay_p99_s < 20 ms"` or `"utilization > 90 %"`
        names.

        A metric whose name ends in `_s` takes a time with its unit, one in `_bps` a rate, a share a
        number or percent. Raises `Error` for a metric that does not exist, and for a bound that no
        run can keep or break.

        >>> Goal.parse("delay_p99_s < 20 ms")
        Goal(metric='delay_p99_s', lower=True, bound=0.02)
        """
        found = _GOAL.fullmatch(text)
        if found is None:
            raise Error(f'--goal {text!r}: must be a metric, < or >, and a bound, for example "delay_p99_s < 20 ms"')
        metric = metric_named(found["metric"], f"--goal {text!r}")
        goal = cls(metric, found["sign"] in ("<", "<=", "≤"), _quantity(metric, found["bound"], text))
        _refuse_impossible(goal, text)
        return goal

    def margin(self, value: float) -> float:
        """Returns by how much a value keeps the bound, as a share of the bound; below zero it
        breaks it.
        """
        distance = self.bound - value if self.lower else value - self.bound
        return distance / (abs(self.bound) or 1.0)

    def __str__(self) -> str:
        factor, unit = scale(self.metric, abs(self.bound))
        return f"{self.metric} {'<' if self.lower else '>'} {self.bound * factor:.6g} {unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Aims:
    """All that is wanted.

    objectives: several make a Pareto front; with none, the least margin of the goals is to be
        large.
    """

    goals: Sequence[Goal]
    objectives: Sequence[Objective]

    @property
    def metrics(self) -> list[str]:
        """Returns every metric that counts, once, in the order in which it was named."""
        return list(dict.fromkeys(each.metric for each in self.wanted))

    @property
    def wanted(self) -> Sequence[Goal | Objective]:
        """Returns goals and objectives."""
        return [*self.goals, *self.objectives]

    def __str__(self) -> str:
        return "; ".join(map(str, self.wanted))


def aims(goals: Sequence[str | Goal], maximize: Sequence[str], minimize: Sequence[str]) -> Aims:
    """Returns what is wanted. Raises `Error` where nothing is, or where two wishes contradict each
    other.
    """
    bounds = [each if isinstance(each, Goal) else Goal.parse(each) for each in goals]
    objectives = [Objective(metric_named(name, f"--maximize {name}"), False) for name in maximize]
    objectives += [Objective(metric_named(name, f"--minimize {name}"), True) for name in minimize]
    if not bounds and not objectives:
        raise Error('nothing is wanted: give --goal "delay_p99_s < 20 ms", --maximize utilization, or both')
    for metric in {each.metric for each in bounds}:
        _refuse_contradiction([goal for goal in bounds if goal.metric == metric])
    for metric in {each.metric for each in objectives}:
        if sum(each.metric == metric for each in objectives) > 1:
            raise Error(f"{metric}: cannot be an objective twice")
    return Aims(bounds, objectives)


def metric_named(name: str, where: str) -> str:
    """Returns the name of a metric of a run, or of its links or groups. Raises `Error` with the nearest one if there is
    none."""
    try:
        return str(Named.parse(name))
    except Error as error:
        raise Error(f"{where}: {error}") from None


def is_share(metric: str) -> bool:
    """Returns whether a metric lies between 0 and 1."""
    return bounds_of(metric) == SHARE


def _quantity(metric: str, bound: str, whole: str) -> float:
    parse = {"s": _penstock.parse_duration, "bps": _penstock.parse_rate}.get(metric.rpartition("_")[2])
    if parse is not None:
        try:
            return parse(bound)
        except Error as error:
            raise Error(f"--goal {whole!r}: {error}") from None
    found = _NUMBER.fullmatch(bound)
    units = {"%": is_share(metric), "ms²": metric.endswith("_s2")}
    try:
        value = float(found["number"]) if found else math.nan
    except ValueError:
        value = math.nan
    unit = found["unit"] if found else None
    allowed = unit is None or units.get(unit, metric.endswith("_pkts"))
    if not math.isfinite(value) or not allowed:
        raise Error(f"--goal {whole!r}: {bound!r} is no bound of {metric}")
    return value * {"%": 0.01, "ms²": 1e-6}.get(unit or "", 1.0)


def _refuse_impossible(goal: Goal, text: str) -> None:
    """Refuses impossible goals: no metric of a run is negative, and a share is at most 1."""
    if goal.lower and goal.bound <= 0.0:
        raise Error(f"--goal {text!r}: no run can keep it, {goal.metric} is never below 0")
    if not goal.lower and is_share(goal.metric) and goal.bound >= 1.0:
        raise Error(f"--goal {text!r}: no run can keep it, {goal.metric} is at most 1 (100 %)")
    if goal.bound < 0.0 or (goal.lower and is_share(goal.metric) and goal.bound > 1.0):
        raise Error(f"--goal {text!r}: every run keeps it, {goal.metric} is between 0 and 1")


def _refuse_contradiction(goals: Sequence[Goal]) -> None:
    """Goals of one metric: at most one bound on each side, and room between the two."""
    below, above = ([goal for goal in goals if goal.lower is lower] for lower in (True, False))
    for same in (below, above):
        if len(same) > 1:
            raise Error(f"--goal {same[0]} and {same[1]}: two bounds on one side; give the tighter one")
    if below and above and above[0].bound >= below[0].bound:
        raise Error(f"--goal {below[0]} and {above[0]}: contradict each other")
