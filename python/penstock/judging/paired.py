"""One against another, seed by seed, and many such tests at once."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from penstock import _penstock
from penstock.judging.estimate import ANYWHERE, Bounds, Estimate
from penstock.judging.intervals import INTERVALS, Interval, Number

Label = TypeVar("Label", bound=Hashable)


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
    """Returns the differences ours − theirs, seed by seed: with common random numbers (the same seed starts the same
    flows at the same time) what a seed does to both cancels out.

    ours, theirs: seed → value. A seed that one of them lacks, or where the metric does not apply, is left out.
    ci: the kind of the difference's interval, of `INTERVALS`; the test is Student's whichever it is.
    bounds: of the quantity; no difference reaches beyond what lies between them.
    """
    seeds = sorted(ours.keys() & theirs.keys())
    both = [(a, b) for a, b in ((ours[s], theirs[s]) for s in seeds) if a is not None and b is not None]
    differences = [a - b for a, b in both]
    found = INTERVALS[ci](differences, ANYWHERE)
    cut = found.cut(bounds) if isinstance(found, Estimate) else found
    return Paired(difference=cut, p=p_value(differences))


def p_value(differences: Sequence[float]) -> float | None:
    """Returns the p value of Student's t test, two-sided, that the mean of paired differences is 0; `None` below two.

    Differences that are all alike, but for rounding, are no chance: t would be 0/0 or infinite.
    """
    if len(differences) < 2:
        return None
    import numpy as np

    mean, error = float(np.mean(differences)), float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
    if error <= 1e-12 * abs(mean):
        return 0.0 if mean else 1.0
    return _penstock.student_p(len(differences), mean / error)


def corrected(table: Mapping[Label, Paired]) -> dict[Label, Paired]:
    """Returns all comparisons of a table, their p values adjusted for their number by `adjusted`.

    The intervals are each for itself: of many at 95 %, some miss.
    """
    p = adjusted([each.p for each in table.values()])
    return {label: replace(each, p_adjusted=q) for (label, each), q in zip(table.items(), p, strict=True)}


def adjusted(p: Sequence[Number]) -> list[Number]:
    """Returns the p values after Benjamini and Hochberg (1995): of the comparisons called different at 0.05, at most 5
    % in expectation are not. Holds for independent and for positively dependent tests (Benjamini, Yekutieli 2001), as
    those against one baseline usually are. What was not tested (`None`) does not count.
    """
    tested = sorted((each, place) for place, each in enumerate(p) if each is not None)
    corrected, least = list(p), 1.0
    for rank in range(len(tested), 0, -1):
        each, place = tested[rank - 1]
        corrected[place] = least = min(least, each * len(tested) / rank)
    return corrected
