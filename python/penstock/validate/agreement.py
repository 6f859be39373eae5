"""Decides when two simulators agree on a number: the rules of `penstock validate`, and nothing else.

A pair is one metric of one case, measured by ns-2 over its seeds and by us over ours. It agrees when the two means are
as close as the metric's tolerance asks, or when their difference lies within the joint 95 % interval √(h₁² + h₂²). A
case of one flow without chance is held to more: a tight tolerance for what is continuous, one event for what is
counted, no interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Below this a value is no more than rounding.
ZERO = 1e-9
#: With this many reference seeds or fewer the spread says nothing.
NO_SPREAD = 3


@dataclass(frozen=True, slots=True)
class Value:
    """A mean over n seeds with the half-width of its 95 % interval (0 where one seed gives none)."""

    mean: float
    half: float
    n: int


@dataclass(frozen=True, slots=True)
class Rule:
    """How close a metric must be.

    metric: its name at ns-2. ours: its name here.
    tolerance: relative, except for `absolute`; `bare` holds instead where ns-2 has no spread.
    alone: for one flow without chance: the relative tolerance; None where events are counted or nothing special holds.
    counted: the metric is a ratio of events, which can be counted.
    optional: cases that have none of it are many, and need not say so.
    """

    metric: str
    ours: str
    tolerance: float
    bare: float
    alone: float | None = None
    absolute: bool = False
    counted: bool = False
    optional: bool = False


RULES = (
    Rule("util", "utilization", 0.02, 0.02, alone=0.005),
    Rule("goodput_bps", "goodput_bps", 0.02, 0.02, alone=0.005),
    Rule("qmean_pkts", "queue_mean_pkts", 0.05, 0.10, alone=0.005),
    Rule("delay_mean_s", "delay_mean_s", 0.05, 0.10, alone=0.005),
    Rule("loss", "loss_ratio", 0.10, 0.10, counted=True),
    Rule("marks/arrivals", "marks/arrivals", 0.10, 0.10, counted=True),
    Rule("jain", "jain", 0.03, 0.05, absolute=True),
    Rule("marks_1", "marks_incipient", 0.10, 0.10, optional=True),
    Rule("marks_2", "marks_2", 0.10, 0.10, optional=True),
    Rule("avg_mean", "avg_mean", 0.10, 0.10, optional=True),
    Rule("maxp_mean", "maxp_mean", 0.10, 0.10, optional=True),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a pair agrees.

    agrees: None where the pair does not count (the reference is 0 or undefined).
    difference: ours minus ns-2's as shown; why: the rule that decided.
    """

    agrees: bool | None
    difference: str
    why: str


def judge(
    rule: Rule,
    reference: Value | None,
    ours: Value | None,
    *,
    alone: bool = False,
    events: tuple[float, float] | None = None,
) -> Verdict:
    """Returns the verdict on one pair.

    reference, ours: None where a side has no such value.
    alone: the case is one flow without chance.
    events: the number of events at ns-2 and here, for a counted metric of such a case.
    """
    if reference is None or not math.isfinite(reference.mean) or abs(reference.mean) < ZERO:
        return Verdict(None, "–", "not counted: the reference is 0 or undefined")
    if ours is None or not math.isfinite(ours.mean):
        return Verdict(False, "–", "no value here")
    mean = 0.0 if abs(ours.mean) < ZERO else ours.mean
    gap = mean - reference.mean
    if alone and rule.counted and events is not None:
        there, here = events
        return Verdict(abs(here - there) <= 1.0 + ZERO, f"{here - there:+.4g} events", "1 event")
    tolerance = rule.bare if reference.n <= NO_SPREAD else rule.tolerance
    tight = alone and rule.alone is not None
    if tight and rule.alone is not None:
        tolerance = rule.alone
    distance = abs(gap) if rule.absolute else abs(gap / reference.mean)
    shown = f"{gap:+.4f}" if rule.absolute else f"{100 * gap / reference.mean:+.2f} %"
    limit = f"{tolerance:g}" if rule.absolute else f"{100 * tolerance:g} %"
    if distance <= tolerance + 1e-12:  # 0.93 − 0.9 is 0.03 to a person
        return Verdict(True, shown, limit)
    joint = math.hypot(reference.half, ours.half)
    if not tight and abs(gap) <= joint * (1 + 1e-12):
        return Verdict(True, shown, "interval")
    return Verdict(False, shown, limit if tight else f"{limit} and interval")
