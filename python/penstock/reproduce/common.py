"""What several papers' modules need to build scenarios and to state claims as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.reproduce.runs import Runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.reproduce.model import Labels
    from penstock.reproduce.runs import Quantity


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
