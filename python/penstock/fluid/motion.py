"""The fluid model itself, integrated: what its linear form is held against.

RED's kin alone, since those are the ones whose balance depends on the whole profile. The equations
are those at the top of `model.py`, with the average's d(avg)/dt = K·(q − avg), and q kept between
empty and full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.fluid.path import Path


@dataclass(frozen=True, slots=True)
class Motion:
    """Window, queue and average over time, one row per step."""

    t_s: Any
    window: Any
    queue: Any
    average: Any


def window_slope(path: Path, window: float, queue: float, then: tuple[float, float], decrease: float) -> float:
    """Returns dW/dt. then: window and queue a round trip ago; decrease: D as it was then."""
    rate_then = then[0] / path.round_trip_s(then[1])
    return path.growth / path.round_trip_s(queue) - window * rate_then * decrease


def queue_slope(path: Path, window: float, queue: float) -> float:
    """Returns dq/dt between empty and full."""
    return path.flows * window / path.round_trip_s(queue) - path.capacity


def integrate(
    path: Path,
    decrease: Callable[[float], float],
    pole: float,
    *,
    start: tuple[float, float, float],
    duration_s: float,
    step_s: float,
) -> Motion:
    """Returns the motion from a constant past `start` = (window, queue, average) on.

    decrease: D of the average. pole: K, of the averaging filter. step_s: well below a round trip.

    Heun's method: a step by the slope at its beginning, then by the mean of that and the slope at
    its end. What happened a round trip ago is read between the kept steps.
    """
    steps = round(duration_s / step_s)
    rows = np.empty((steps + 1, 3))
    rows[0] = start

    def past(i: float) -> Any:
        """Returns the state at a step in the past, which need not be a whole one."""
        if i <= 0:
            return rows[0]
        low = int(i)
        return rows[low] + (i - low) * (rows[low + 1] - rows[low])

    def slope(i: int, now: Any) -> Any:
        window, queue, average = now
        then = past(max(0.0, min(i - path.round_trip_s(queue) / step_s, i - 1)))
        rate = queue_slope(path, window, queue)
        if (queue <= 0 and rate < 0) or (queue >= path.buffer and rate > 0):
            rate = 0.0
        grows = window_slope(path, window, queue, (then[0], then[1]), decrease(then[2]))
        return np.array([grows, rate, pole * (queue - average)])

    for i in range(steps):
        first = slope(i, rows[i])
        rows[i + 1] = _kept(path, rows[i] + step_s * first)
        second = slope(i + 1, rows[i + 1])
        rows[i + 1] = _kept(path, rows[i] + step_s * (first + second) / 2)
    return Motion(step_s * np.arange(steps + 1), *rows.T)


def _kept(path: Path, state: Any) -> Any:
    """Returns the state with the queue between empty and full, and a window of at least one packet."""
    state[0] = max(1.0, state[0])
    state[1] = min(max(0.0, state[1]), path.buffer)
    return state
