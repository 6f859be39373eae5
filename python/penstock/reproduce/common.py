"""What several papers' modules need to build scenarios and to state claims as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from penstock.reproduce.model import Finding, Labels
from penstock.reproduce.runs import Runs
from penstock.reproduce.verdict import FAILS, HOLDS, UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.reproduce.runs import Quantity


def difference_along(
    along: str, quantity: Quantity, ours: Labels, theirs: Labels, *, scale: float = 1.0
) -> Callable[[Runs], Sequence[float]]:
    """A claim's `values`: the quantity of `ours` minus that of `theirs`, paired by seed, as the mean over all values of
    the label `along` that ours has, times `scale`."""

    def values(runs: Runs) -> Sequence[float]:
        at = runs.where(**ours).labels(along)
        differences = [runs.difference(quantity, {**ours, along: x}, {**theirs, along: x}) for x in at]
        return [float(v) for v in scale * np.mean(differences, axis=0)]

    return values


def percent_along(along: str, quantity: Quantity, ours: Labels, theirs: Labels) -> Callable[[Runs], Sequence[float]]:
    """The same in percent of theirs: the difference of the means over `along`, over the mean of `theirs`."""

    def values(runs: Runs) -> Sequence[float]:
        at = runs.where(**ours).labels(along)
        a, b = (np.mean([runs.values(quantity, **{**case, along: x}) for x in at], axis=0) for case in (ours, theirs))
        return [float(v) for v in 100.0 * (a / b - 1.0)]

    return values


def measured(finding: Finding, digits: int = 2) -> str:
    """A finding's number for a sentence: `"−3.10 ± 0.25 percentage points (holds)"`.

    digits: after the decimal point.
    """
    if finding.estimate is None:
        return f"not measured ({finding.verdict})"
    number = f"{finding.estimate:+.{digits}f}".replace("-", "−")
    half = "" if finding.high is None else f" ± {finding.high - finding.estimate:.{digits}f}"
    return f"{number}{half} {finding.claim.unit} ({finding.verdict})"


def tally(found: Mapping[str, Finding], keys: Sequence[str]) -> str:
    """Verdicts of several claims in words: `"2 of 3 hold, 1 does not"`."""
    verdicts = [found[key].verdict for key in keys if key in found]
    held, failed, open_ = (verdicts.count(v) for v in (HOLDS, FAILS, UNDECIDED))
    parts = [f"{held} of {len(verdicts)} hold" if held != 1 else f"1 of {len(verdicts)} holds"]
    if failed:
        parts.append(f"{failed} {'does' if failed == 1 else 'do'} not")
    if open_:
        parts.append(f"{open_} {'is' if open_ == 1 else 'are'} undecided")
    return ", ".join(parts)


def at_equal(
    runs: Runs, x: Quantity, y: Quantity, along: str, ours: Labels, theirs: Labels, steps: int = 9
) -> NDArray[np.float64]:
    """Seed by seed: how much higher `y` is at the same `x` in the cases `ours` than in `theirs`.

    along: the label whose values give the points (x, y) of a curve. Both curves of a seed are interpolated linearly at
        `steps` even steps over the range of x that they share.

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
