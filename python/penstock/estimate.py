"""A number measured over several runs, with its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from penstock import _penstock


class Estimate(NamedTuple):
    """A mean over runs with the half-width of its 95 % confidence interval (Student's t).

    mean: `None` where the metric applied in no run.
    ci95: `None` below two runs.
    n: the runs in which the metric applied.
    """

    mean: float | None
    ci95: float | None
    n: int

    @staticmethod
    def of(values: Sequence[float]) -> Estimate:
        """Returns the estimate from one value per run.

        >>> Estimate.of([1.0, 2.0, 3.0]).mean
        2.0
        """
        n = len(values)
        if n == 0:
            return Estimate(mean=None, ci95=None, n=0)
        mean = math.fsum(values) / n
        t = _penstock.t95(n)
        if t is None:
            return Estimate(mean=mean, ci95=None, n=n)
        variance = math.fsum((v - mean) ** 2 for v in values) / (n - 1)
        return Estimate(mean=mean, ci95=t * math.sqrt(variance / n), n=n)

    def __str__(self) -> str:
        if self.mean is None:
            return "–"
        return f"{self.mean:.6g}" if self.ci95 is None else f"{self.mean:.6g} ± {self.ci95:.2g}"
