"""What several papers' modules need to build scenarios and to state claims as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.reproduce.model import Labels
    from penstock.reproduce.runs import Quantity, Runs


def at_equal(
    runs: Runs, x: Quantity, y: Quantity, along: str, ours: Labels, theirs: Labels, steps: int = 9
) -> NDArray[np.float64]:
    """Seed by seed: how much higher `y` is at the same `x` in the cases `ours` than in `theirs`.

    along: the label whose values give the points (x, y) of a curve. Both curves of a seed are interpolated linearly at
        `steps` even steps over the range of x that they share, and the mean of the differences is taken; NaN where
        they share none.
    """
    differences = []
    for seed in runs.seeds:
        curves = []
        for labels in (ours, theirs):
            part = runs.where(**labels)
            points = [(part.values(x, **{along: at}), part.values(y, **{along: at})) for at in part.labels(along)]
            mine = part.seeds.index(seed)
            curves.append(np.array(sorted((float(a[mine]), float(b[mine])) for a, b in points)))
        low, high = max(c[0, 0] for c in curves), min(c[-1, 0] for c in curves)
        at = np.linspace(low, high, steps)
        one, other = (np.interp(at, c[:, 0], c[:, 1]) for c in curves)
        differences.append(float(np.mean(one - other)) if low < high else float("nan"))
    return np.array(differences)
