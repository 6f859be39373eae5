"""From one number a seed to a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.estimate import Estimate
from penstock.reproduce.model import Above, Below, Claim, Finding, Reading, Rule

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"


def judge(paper: str, claim: Claim, reading: Reading, values: Sequence[float]) -> Finding:
    """The mean of `values` with its interval, and what it says of the claim.

    A claim holds where the whole interval is on its side, and does not hold where the whole
    interval is on the other. It is undecided where the interval contains the border, or where
    there is no interval. A seed in which the quantity does not apply (NaN) does not count.
    """
    estimate = Estimate.of([float(value) for value in values if not math.isnan(value)])
    if estimate.mean is None or estimate.ci95 is None:
        low = high = None
        verdict = UNDECIDED
    else:
        low, high = estimate.mean - estimate.ci95, estimate.mean + estimate.ci95
        verdict = _verdict(claim.rule, low, high)
    return Finding(
        paper=paper,
        claim=claim,
        reading=reading,
        estimate=estimate.mean,
        low=low,
        high=high,
        n=estimate.n,
        verdict=verdict,
    )


def _verdict(rule: Rule, low: float, high: float) -> str:
    if isinstance(rule, Above):
        return HOLDS if low > rule.bound else FAILS if high <= rule.bound else UNDECIDED
    if isinstance(rule, Below):
        return HOLDS if high < rule.bound else FAILS if low >= rule.bound else UNDECIDED
    if rule.low <= low and high <= rule.high:
        return HOLDS
    return FAILS if high < rule.low or low > rule.high else UNDECIDED
