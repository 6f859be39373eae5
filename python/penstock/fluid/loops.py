"""Each discipline's transfer function from the queue to D, as its paper has it, and its balance.

A discipline that averages sees the queue through the average's low-pass filter. With a sample at
every arrival, C per second, its pole is K = −C·ln(1 − w_q) (Hollot et al. 2001, section III).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock._names import nearest
from penstock._penstock import LinkFacts, Scenario, parse_duration
from penstock.errors import ScenarioError
from penstock.fluid import profiles
from penstock.fluid.model import Balance, Loop, set_point, settle, steepness
from penstock.fluid.path import Path, Table, packets
from penstock.fluid.profiles import Piece

if TYPE_CHECKING:
    import control

# ---- transfer functions


def average(w_q: float, capacity: float) -> control.TransferFunction:
    """Returns RED's averaging filter, K/(s + K)."""
    from control import TransferFunction

    pole = -capacity * math.log1p(-w_q)
    return TransferFunction([pole], [1, pole])


def red(steepness: float, w_q: float, capacity: float) -> control.TransferFunction:
    """Returns RED's law, `L·K/(s + K)` (Hollot et al. 2001, equation 4).

    steepness: of D, per packet. With one level, and before the gate, it is β·max_p/(max_th −
    min_th): the papers' L_RED, of which a signal costs β. MECN's law is the same with the slope of
    Σ β_i·p_i, because both of its levels look at the one average.
    """
    return float(steepness) * average(w_q, capacity)


def pi(a: float, b: float, w: float, beta: float) -> control.TransferFunction:
    """Returns PI's law, `K·(s/m + 1)/s`, of which a signal costs β.

    Its difference equation is that law under the bilinear transformation with the period T = 1/w
    (Hollot et al. 2001, section V): a = K·(1/m + T/2) and b = K·(1/m − T/2).
    """
    from control import TransferFunction

    return TransferFunction([beta * (a + b) / 2, beta * (a - b) * w], [1, 0])


def rem(phi: float, gamma: float, alpha: float, period_s: float, p: float, beta: float) -> control.TransferFunction:
    """Returns REM's law near the probability `p`: `β·ln φ·(1 − p)·γ·(s + α/T)/s`.

    The price grows by γ·(α·(q − b*) + x − c) each period T. While the queue is not empty, x − c is
    what the queue has grown by. So d(price)/dt = γ·(α/T·(q − b*) + dq/dt): a PI controller, whose
    zero is at α/T. Of p = 1 − φ^(−price), dp/d(price) is ln φ·(1 − p).
    """
    from control import TransferFunction

    gain = beta * math.log(phi) * (1 - p) * gamma
    return TransferFunction([gain, gain * alpha / period_s], [1, 0])


# ---- from a scenario's keys


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of `[aqm]` in a resolved scenario, in the model's units; what is "auto" is worked out.

    link: facts of the bottleneck. packet: bytes of the flows' packets on the wire.
    """

    aqm: Table
    link: LinkFacts
    packet: float

    @staticmethod
    def of(path: Path, core: Scenario, resolved: Table) -> Keys:
        """Returns the keys of a scenario's bottleneck, whose path is known."""
        link = core.facts().bottleneck
        return Keys(resolved["aqm"], link, link.rate_bps / (8 * path.capacity))

    def __getitem__(self, key: str) -> Any:
        return self.aqm[key]

    def length(self, key: str) -> float | None:
        """Returns a length in packets, or `None` where the key was left out."""
        given = self.aqm.get(key)
        return None if given is None else packets(given, self.link.in_bytes, self.link.mean_packet, self.packet)

    def settled(self, key: str) -> float:
        """Returns what a key comes to that is counted in the queue's unit, in packets."""
        return self.link.settled[key] / (self.packet if self.link.in_bytes else 1.0)

    @property
    def thresholds(self) -> tuple[float, float]:
        """Returns min_th and max_th."""
        return self.settled("min_th"), self.settled("max_th")

    @property
    def w_q(self) -> float:
        """Returns the weight."""
        return self.link.settled["w_q"]


def _averaged(path: Path, keys: Keys, profile: list[Piece]) -> Loop:
    at, piece = settle(path, profile)
    return Loop(path=path, at=at, discipline=red(steepness(path, piece, at.queue), keys.w_q, path.capacity))


def _red_profile(keys: Keys, max_p: float) -> list[Piece]:
    min_th, max_th = keys.thresholds
    bottom = max_p if keys["gentle_tracks_max_p"] else float(keys["max_p"])
    return profiles.red(
        min_th,
        max_th,
        max_p,
        gate=keys["gate"],
        gentle_from=bottom if keys["gentle"] else None,
        mark_p=keys["mark_p"],
    )


def _mecn_profile(keys: Keys, p1_max: float, p2_max: float) -> list[Piece]:
    min_th, max_th = keys.thresholds
    return profiles.mecn(
        min_th,
        keys.settled("mid_th"),
        max_th,
        p1_max,
        p2_max,
        gate=keys["gate"],
        above_max=keys["above_max"],
        mark_p=keys["mark_p"],
    )


def _red(path: Path, keys: Keys) -> Loop:
    return _averaged(path, keys, _red_profile(keys, keys["max_p"]))


def _mecn(path: Path, keys: Keys) -> Loop:
    return _averaged(path, keys, _mecn_profile(keys, keys["p1_max"], keys["p2_max"]))


def _ared(path: Path, keys: Keys) -> Loop:
    """Returns ARED with its slow loop at rest: max_p is what holds the average in the middle of its target."""
    bounds = (keys.link.settled["max_p_low"], keys["max_p_high"])
    middle = (keys["target_low"] + keys["target_high"]) / 2
    return _frozen(path, keys, middle, bounds, lambda max_p: _red_profile(keys, max_p))


def _amecn(path: Path, keys: Keys) -> Loop:
    """Returns AMECN with its slow loop at rest: P_max is what holds the average at its target."""

    def profile(p_max: float) -> list[Piece]:
        second = min(1.0, keys["p2_over_p1"] * p_max) if keys["adapt"] == "both" else keys["p2_max"]
        return _mecn_profile(keys, p_max, second)

    return _frozen(path, keys, 0.5, (0.01, 0.5), profile)


def _frozen(
    path: Path, keys: Keys, target: float, bounds: tuple[float, float], profile: Callable[[float], list[Piece]]
) -> Loop:
    """Returns the loop of a discipline that has adapted its ceiling as far as its bounds allow.

    target: where the average is held, as a share of the way from min_th to max_th.
    """
    from scipy.optimize import brentq

    min_th, max_th = keys.thresholds
    queue = min_th + target * (max_th - min_th)

    def excess(ceiling: float) -> float:
        piece = next(each for each in profile(ceiling) if each.low <= queue <= each.high)
        return path.answers.decrease(piece.shares(queue)) * path.window(queue) ** 2 - path.growth

    low, high = bounds
    if excess(low) >= 0:
        ceiling, held = low, f"max_p at its floor, {low:g}"
    elif excess(high) <= 0:
        ceiling, held = high, f"max_p at its ceiling, {high:g}"
    else:
        ceiling = brentq(excess, low, high, xtol=1e-14)
        held = f"max_p = {ceiling:.3g}"
    loop = _averaged(path, keys, profile(ceiling))
    return replace(loop, at=replace(loop.at, where=f"{loop.at.where}, {held}"))


def _pi(path: Path, keys: Keys) -> Loop:
    at = set_point(path, keys.length("q_ref") or 0.0)
    return Loop(path=path, at=at, discipline=pi(keys["a"], keys["b"], keys["w"], path.answers.moderate))


def _rem(path: Path, keys: Keys) -> Loop:
    at: Balance = set_point(path, keys.length("b_star") or 0.0)
    law = rem(
        keys["phi"], keys["gamma"], keys["alpha"], parse_duration(keys["period"]), at.signals, path.answers.moderate
    )
    return Loop(path=path, at=at, discipline=law)


def _rared(path: Path, keys: Keys) -> Loop:
    """Returns RARED while nothing climbs: RED, or ARED."""
    return _ared(path, keys) if keys["base"] == "ared" else _red(path, keys)


#: Kind → its loop. Raises `NoBalanceError` where there is no equilibrium.
LOOPS: Mapping[str, Callable[[Path, Keys], Loop]] = {
    "red": _red,
    "ared": _ared,
    "rared": _rared,
    "mecn": _mecn,
    "amecn": _amecn,
    "pi": _pi,
    "rem": _rem,
}


def check_kind(kind: str) -> None:
    """Refuses a discipline without a model."""
    if kind not in LOOPS:
        near = nearest(kind, LOOPS, cutoff=0.6)
        hint = f"; nearest: {near}" if near else ""
        raise ScenarioError(f'aqm.kind = "{kind}": has no fluid model{hint}; those that have one: {", ".join(LOOPS)}')


def loop(path: Path, keys: Keys) -> Loop:
    """Returns the loop of a scenario's bottleneck.

    Raises `NoBalanceError` where there is no equilibrium, `ScenarioError` for a kind without a model.
    """
    check_kind(keys["kind"])
    return LOOPS[keys["kind"]](path, keys)
