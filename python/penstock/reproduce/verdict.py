"""Makes a verdict of one number a seed.

Two things widen the intervals. Claims are looked at up to five times while seeds are added, and each
look is a chance to be wrong. The interval of one look is therefore of 99 %, so that all of them
together err in at most 5 of 100 claims (Bonferroni). And a claim about every point of an axis asks
several questions: it *holds* where each point does, which needs no correction, and it does *not
hold* where one point refutes it, for which the error is shared among the points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from penstock.judging.estimate import ANYWHERE, Bounds, Estimate
from penstock.judging.rules import Above, Below
from penstock.reproduce.model import Claim, Finding, MostBelow, Numbers, Point, Rule
from penstock.reproduce.readings import Reading
from penstock.reproduce.runs import bounds
from penstock.show.numbers import IDENTICAL

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
#: Both sides of a comparison are one run: no number of seeds tells them apart.
CANNOT_TELL = "cannot tell"
NOT_JUDGED = "not judged"

#: The coverage of the interval of one look.
LEVEL = 0.99


def judge(paper: str, claim: Claim, reading: Reading, values: Numbers) -> Finding:
    """Returns the mean of `values` with its interval, and what it says of the claim.

    A claim holds where the whole interval is on its side, and does not hold where the whole
    interval is on the other. It is undecided where the interval contains the border, or where
    there is no interval. A seed in which the quantity does not apply (NaN) does not count.
    """
    sense = next((sense for sense in claim.senses if sense.reading == reading), None)
    rule = (sense.rule if sense is not None else None) or claim.rule
    printed = claim.printed if sense is None else sense.printed
    unit = (sense.unit if sense is not None else None) or claim.unit
    within = bounds(claim.under(reading))
    if isinstance(values, Mapping):
        points = _points(rule, values, within)
        over_points = np.mean([np.asarray(each, dtype=float) for each in values.values()], axis=0)
        mean, low, high, n = interval(list(over_points), LEVEL, within)
        verdict = _of_points(points)
        note = _spread(low, high)
    elif isinstance(rule, MostBelow):
        mean, low, high, n, note = _share(values, rule.bound)
        points, verdict = [], decide(Above(50.0), low, high)
    else:
        mean, low, high, n = interval(values, LEVEL, within)
        points, note = [], _spread(low, high)
        verdict = CANNOT_TELL if _same(rule, values) else decide(rule, low, high)
    return Finding(
        paper=paper,
        claim=claim,
        reading=reading,
        estimate=mean,
        low=low,
        high=high,
        n=n,
        verdict=verdict,
        unit=unit,
        rule=rule,
        printed=printed,
        points=points,
        note=note,
    )


def interval(
    values: Sequence[float], level: float, within: Bounds = ANYWHERE
) -> tuple[float | None, float | None, float | None, int]:
    """Returns mean, lower and upper end of its interval (Student's t, on a scale that keeps to the bounds), and how
    many values there are."""
    found = Estimate.of(values, within, level)
    return found.mean, found.low, found.high, found.n


def decide(rule: Rule | None, low: float | None, high: float | None) -> str:
    """Returns what an interval says of a rule."""
    if rule is None:
        return NOT_JUDGED
    if low is None or high is None:
        return UNDECIDED
    decided = (Below(rule.bound) if isinstance(rule, MostBelow) else rule).decided(low, high)
    return UNDECIDED if decided is None else HOLDS if decided else FAILS


def _points(rule: Rule | None, values: Mapping[str, Sequence[float]], within: Bounds) -> list[Point]:
    strict = 1 - (1 - LEVEL) / len(values)
    points = []
    for at, each in values.items():
        mean, low, high, _ = interval(each, LEVEL, within)
        verdict = decide(rule, low, high)
        if verdict == FAILS and decide(rule, *interval(each, strict, within)[1:3]) != FAILS:
            verdict = UNDECIDED
        if _same(rule, each):
            verdict = CANNOT_TELL
        points.append(Point(at, mean, low, high, verdict))
    return points


def _of_points(points: Sequence[Point]) -> str:
    """Returns the verdict on all points together."""
    verdicts = {point.verdict for point in points}
    if len(verdicts) == 1:
        return verdicts.pop()
    return FAILS if FAILS in verdicts else UNDECIDED


def _share(values: Sequence[float], bound: float) -> tuple[float | None, float | None, float | None, int, str]:
    """Returns the share of the runs below `bound` in percent, its interval (Wilson's), and a note."""
    from scipy.stats import binomtest

    counted = [float(value) for value in values if not math.isnan(value)]
    n, reached = len(counted), [value for value in counted if math.isfinite(value)]
    if n == 0:
        return None, None, None, 0, ""
    below = sum(value < bound for value in counted)
    share = binomtest(below, n).proportion_ci(LEVEL, "wilson")
    if not reached:
        note = f"never in {n} of {n}"
    else:
        note = f"after {math.fsum(reached) / len(reached):.3g} s in the mean"
        note += f", in {len(reached)} of {n}"
    return 100 * below / n, 100 * float(share.low), 100 * float(share.high), n, note


def _same(rule: Rule | None, values: Sequence[float]) -> bool:
    """Returns whether a claim that one is above the other finds the difference 0 in every seed.

    Two different runs of floating-point numbers do not agree to the last bit: it is one run.
    """
    ordered = isinstance(rule, Above | Below) and rule.bound == 0
    return ordered and len(values) > 1 and all(value == 0 for value in values)


def _spread(low: float | None, high: float | None) -> str:
    return IDENTICAL if low is not None and low == high else ""
