"""Margins of a loop with a delay: how far it is from oscillating, and how its queue scatters.

python-control's own margins fold phases into one turn, and so call a loop stable whose delay has
turned it once too often. Here the phase is followed from low frequencies upwards, and stability is
Nyquist's count of how often 1 + L turns around zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from penstock.fluid.model import Loop, Omega, Response

#: Frequencies per curve, below and above 1/R; above, the delay asks for even steps.
_BELOW, _STEP = 600, 0.05
#: Radians per round trip beyond which nothing is looked for.
_MOST_TURNS = 1000.0
#: Below this no oscillation of these loops lies: rad/s over the slowest pole.
_SLOWEST = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """How far a loop is from oscillating. `None` stands where a curve never gets there.

    stable: whether small motions die out.
    crossover_rad_s: where the gain falls through 1. phase_margin_deg: what the phase lacks to −180°
        there.
    turn_rad_s: where the phase falls through −180°: a loop that oscillates does so near it.
    gain_margin: what the gain would have to be multiplied by to reach 1 there.
    delay_margin_s: the further delay that the loop would bear; below 0: what it would have to lose.
    """

    stable: bool
    crossover_rad_s: float | None
    phase_margin_deg: float | None
    turn_rad_s: float | None
    gain_margin: float | None

    @property
    def delay_margin_s(self) -> float | None:
        """The phase margin over crossover frequency."""
        if self.phase_margin_deg is None or self.crossover_rad_s is None:
            return None
        return math.radians(self.phase_margin_deg) / self.crossover_rad_s

    @property
    def frequency_rad_s(self) -> float | None:
        """The frequency at which a swing is looked for.

        It is the crossover of a stable loop. One that oscillates swings more and more widely until
        the queue's ends take so much of the gain that 1 is left where the phase is −180°.
        """
        chosen = self.crossover_rad_s if self.stable else self.turn_rad_s
        return self.turn_rad_s if chosen is None else chosen


@dataclass(frozen=True, slots=True)
class _Curve:
    """A loop's frequency response, with its phase unfolded."""

    loop: Loop
    simplified: bool
    omega: Omega
    values: Response
    phase: Any

    @staticmethod
    def of(loop: Loop, simplified: bool) -> _Curve:
        omega = frequencies(loop)
        values = loop.response(omega, simplified=simplified)
        return _Curve(loop, simplified, omega, values, np.unwrap(np.angle(values)))

    def at(self, w: float) -> complex:
        """Returns L at one frequency."""
        return complex(self.loop.response(np.array([w]), simplified=self.simplified)[0])

    def lacks(self, i: int, w: float) -> float:
        """Returns what the phase lacks to −180° at a frequency behind sample `i`, in radians."""
        return float(math.pi + self.phase[i] + np.angle(self.at(w) / self.values[i]))

    def crossings(self) -> list[tuple[float, float]]:
        """Returns where the gain falls through 1, with what the phase lacks there."""
        gain = np.log(np.abs(self.values))
        places = [
            (i, _root(lambda w: math.log(abs(self.at(w))), self.omega[i], self.omega[i + 1])) for i in _falls(gain)
        ]
        return [(w, self.lacks(i, w)) for i, w in places]

    def turns(self) -> list[float]:
        """Returns where the phase falls through −180°."""
        falls = _falls(self.phase + math.pi)
        return [_root(partial(self.lacks, i), self.omega[i], self.omega[i + 1]) for i in falls]

    def encirclements(self) -> int:
        """Returns how often 1 + L turns around zero more than a stable loop's would (Nyquist).

        The open loop has no pole to the right. Around a pole at zero, an integrator, the curve
        closes to the right: there 1 + L begins at −90° instead of 0°.
        """
        angle = np.unwrap(np.angle(1 + self.values))
        begins = -math.pi / 2 if _integrates(self.loop) else 0.0
        return round(float(angle[-1] - angle[0] + begins) / math.pi)


def margins(loop: Loop, *, simplified: bool = False) -> Margins:
    """Returns a loop's margins.

    simplified: with the paper's form of the flows' transfer function.
    """
    curve = _Curve.of(loop, simplified)
    crossover, lacks = min(curve.crossings(), key=lambda each: each[1], default=(None, None))
    turn = next(iter(curve.turns()), None)
    return Margins(
        stable=curve.encirclements() == 0,
        crossover_rad_s=crossover,
        phase_margin_deg=None if lacks is None else math.degrees(lacks),
        turn_rad_s=turn,
        gain_margin=None if turn is None else 1 / abs(curve.at(turn)),
    )


def frequencies(loop: Loop) -> Omega:
    """Returns frequencies that show a loop's whole curve: up to where its gain is far below 1."""
    per_trip = 1 / loop.at.round_trip_s
    poles = [abs(pole) for pole in loop.discipline.poles() if abs(pole) > 0]
    slowest = min([2 * loop.pole, per_trip, *poles])
    high = 10 * per_trip
    while abs(loop.response(np.array([high]))[0]) > 0.05 and high < _MOST_TURNS * per_trip:
        high *= 1.5
    below = np.geomspace(_SLOWEST * slowest, per_trip, _BELOW, endpoint=False)
    return np.concatenate([below, np.arange(per_trip, high, _STEP * per_trip)])


def _integrates(loop: Loop) -> bool:
    return any(abs(pole) == 0 for pole in loop.discipline.poles())


def _falls(heights: Any) -> list[int]:
    """Returns the numbers of the samples after which a curve falls through zero."""
    return [int(i) for i in np.flatnonzero((heights[:-1] > 0) & (heights[1:] <= 0))]


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=1e-12, rtol=1e-12))


# ---- how the queue scatters


def scatter(loop: Loop, omega: Omega) -> Any:
    """Returns the power of the queue's random motion at frequencies, packets² per Hz, of both signs.

    A flow meets a signal in W·p of its packets per round trip, at random, and each takes β of its
    window at once. The sum of N windows therefore gets white noise of power `N·W³/R·Σ β²p`, which
    is C·W²·Σ β²p, besides its mean motion. The loop answers to it as to any disturbance, with 1/(1 +
    L). This holds where the queue does not run empty.
    """
    s: Response = np.asarray(1j * omega)
    power = loop.path.capacity * loop.at.window**2 * loop.at.scatter
    free = 1 / loop.at.round_trip_s / loop.window_and_queue(s)
    return power * np.abs(free / (1 + loop.response(omega))) ** 2


def expected_sd(loop: Loop) -> float:
    """Returns the standard deviation of a stable loop's queue, in packets."""
    from scipy.integrate import trapezoid

    omega = frequencies(loop)
    return math.sqrt(float(trapezoid(scatter(loop, omega), omega)) / math.pi)


def expected_correlation(loop: Loop, lags_s: Any) -> Any:
    """Returns how a stable loop's queue correlates with itself after lags: 1 at none."""
    from scipy.integrate import trapezoid

    omega = frequencies(loop)
    power = scatter(loop, omega)
    return np.array([trapezoid(power * np.cos(omega * lag), omega) for lag in lags_s]) / trapezoid(power, omega)
