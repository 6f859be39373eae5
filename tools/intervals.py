"""Measures how often intervals hold the true mean, and how wide they are.

    python tools/intervals.py

prints the table of `docs/decisions/0016-intervals.md`. Each cell is the coverage in percent of an
interval of 95 %, and its mean width over that of Student's t. The last rows are the interval score
(Gneiting and Raftery 2007: the width, and 40 times how far the mean lies outside), over Student's,
the geometric mean over the quantities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from penstock.judging.estimate import FROM_ZERO, SHARE, Bounds, Estimate

Array: TypeAlias = NDArray[np.float64]
#: Draws an array of that shape.
Draw: TypeAlias = Callable[[Any, tuple[int, ...]], Array]
Ends: TypeAlias = tuple[Array, Array]

#: Samples of each cell, and numbers of runs.
SAMPLES, RUNS = 20_000, (3, 5, 10)


def _spiked(share: float, draw: Draw, at: float) -> Draw:
    """Draws `at` for a share of the runs, and else something."""

    def drawn(rng: Any, shape: tuple[int, ...]) -> Array:
        return np.where(rng.random(shape) < share, at, draw(rng, shape))

    return drawn


def _loss(rng: Any, shape: tuple[int, ...]) -> Array:
    return np.asarray(np.minimum(rng.lognormal(np.log(0.01), 1.0, shape), 1.0))


def _busy(rng: Any, shape: tuple[int, ...]) -> Array:
    return np.asarray(1 - rng.beta(1, 30, shape))


#: What is measured: the values over runs, and their bounds.
QUANTITIES: Mapping[str, tuple[Draw, Bounds]] = {
    "share, normal 0.6 ± 0.03": (lambda rng, shape: rng.normal(0.6, 0.03, shape), SHARE),
    "utilization, beta around 0.97": (lambda rng, shape: rng.beta(194, 6, shape), SHARE),
    "utilization, 1 in half of the runs": (_spiked(0.5, _busy, 1.0), SHARE),
    "Jain, beta around 0.95": (lambda rng, shape: rng.beta(57, 3, shape), SHARE),
    "loss, log-normal (σ = 1) around 0.016": (_loss, SHARE),
    "loss, the same, 0 in 30 % of the runs": (_spiked(0.3, _loss, 0.0), SHARE),
    "loss, the same, 0 in 70 % of the runs": (_spiked(0.7, _loss, 0.0), SHARE),
    "delay, normal 20 ± 1": (lambda rng, shape: rng.normal(20, 1, shape), FROM_ZERO),
    "delay, exponential": (lambda rng, shape: rng.exponential(20, shape), FROM_ZERO),
    "count, Poisson 0.5": (lambda rng, shape: rng.poisson(0.5, shape).astype(float), FROM_ZERO),
    "count, Poisson 2": (lambda rng, shape: rng.poisson(2, shape).astype(float), FROM_ZERO),
}


def students(values: Array, bounds: Bounds) -> Ends:
    """Returns Student's t, whatever the bounds."""
    n = values.shape[1]
    half = stats.t.isf(0.025, n - 1) * values.std(axis=1, ddof=1) / np.sqrt(n)
    mean = values.mean(axis=1)
    return mean - half, mean + half


def cut(values: Array, bounds: Bounds) -> Ends:
    """Returns Student's t, cut at the bounds."""
    low, high = students(values, bounds)
    return np.maximum(low, 0.0), np.minimum(high, 1.0 if bounds == SHARE else np.inf)


def on_logarithms(values: Array, bounds: Bounds) -> Ends:
    """Returns Student's t on the logit of a share, on the logarithm of what has one bound."""
    low, high = students(values, bounds)
    mean, half = (low + high) / 2, (high - low) / 2
    slope = np.maximum(mean * (1 - mean) if bounds == SHARE else mean, 1e-300)
    there = (mean > 0) & ((mean < 1) | (bounds != SHARE))
    with np.errstate(all="ignore"):
        if bounds == SHARE:
            ends = [special.expit(special.logit(mean) + sign * half / slope) for sign in (-1, 1)]
        else:
            ends = [mean * np.exp(sign * half / slope) for sign in (-1, 1)]
    return np.where(there, ends[0], mean), np.where(there, ends[1], mean)


def ours(values: Array, bounds: Bounds) -> Ends:
    """Returns what Penstock says: on the root, or on the arcsine of the root."""
    found = [Estimate.of(row, bounds) for row in values.tolist()]
    return np.array([each.low for each in found]), np.array([each.high for each in found])


CANDIDATES: Sequence[tuple[str, Callable[[Array, Bounds], Ends]]] = (
    ("Student's t", students),
    ("cut", cut),
    ("logit, log", on_logarithms),
    ("arcsine, root", ours),
)


def judged(ends: Ends, mean: float) -> tuple[float, float, float]:
    """Returns coverage in percent, mean width and interval score."""
    low, high = ends
    near = 1e-12 * max(1.0, mean)  # a bound that is reached is held
    held = 100 * float(np.mean((low <= mean + near) & (mean - near <= high)))
    missed = float(np.mean(np.maximum(low - mean, 0) + np.maximum(mean - high, 0)))
    width = float(np.mean(high - low))
    return held, width, width + 40 * missed


def main() -> None:
    """Prints the table."""
    rng = np.random.default_rng(1)
    print("| quantity | n |", " | ".join(name for name, _ in CANDIDATES), "|")
    print("| --- " + "| ---: " * (1 + len(CANDIDATES)) + "|")
    scores: dict[int, list[Array]] = {n: [] for n in RUNS}
    for name, (draw, bounds) in QUANTITIES.items():
        mean = float(draw(rng, (4_000_000,)).mean())
        for n in RUNS:
            values = draw(rng, (SAMPLES, n))
            found = [judged(of(values, bounds), mean) for _, of in CANDIDATES]
            scores[n].append(np.array([score / found[0][2] for _, _, score in found]))
            cells = [f"{held:.1f} ({width / found[0][1]:.2f})" for held, width, _ in found]
            print(f"| {name if n == RUNS[0] else ''} | {n} |", " | ".join(cells), "|")
    for n, of_all in scores.items():
        means = np.exp(np.mean(np.log(of_all), axis=0))
        first = "interval score" if n == RUNS[0] else ""
        print(f"| {first} | {n} |", " | ".join(f"{each:.2f}" for each in means), "|")


if __name__ == "__main__":
    main()
