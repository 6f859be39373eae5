"""The model's balance, and how window and queue move near it.

Hollot, Misra, Towsley, Gong, "Analysis and design of controllers for AQM routers supporting TCP
flows", IEEE Trans. Automatic Control 47(6), 2002. N flows share a link of C packets per second; R =
T_p + q/C is their round trip, and D the share of its window that a flow gives up per packet:

    dW/dt = g/R(t) − W(t)·W(t − R)/R(t − R)·D(t − R)        g segments per round trip, most often 1
    dq/dt = N·W(t)/R(t) − C

The paper has D = p/2: a signal, of which there are p per packet, halves the window. Several levels
of signals add up, D = Σ β_i·p_i. Where W and q stand still, N·W = R·C and W²·D = g.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.errors import Error
from penstock.fluid.path import Path
from penstock.fluid.profiles import Piece, Shares

if TYPE_CHECKING:
    import control

#: Frequencies in rad/s, and a transfer function's values at them.
Omega: TypeAlias = NDArray[np.float64]
Response: TypeAlias = NDArray[np.complex128]


class NoBalanceError(Error):
    """Window and queue stand still nowhere. The message is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Where window and queue stand still.

    where: the part of the profile, or the set point.
    queue: q0, packets. window: W0, packets. round_trip_s: R0. decrease: D0.
    shares: of packets that are signalled, by level. scatter: `Σ β_i²·p_i`.
    """

    where: str
    queue: float
    window: float
    round_trip_s: float
    decrease: float
    shares: Shares
    scatter: float

    @property
    def signals(self) -> float:
        """The share of packets that are signalled at any level."""
        return sum(self.shares)


def balance(path: Path, where: str, queue: float, shares: Shares) -> Balance:
    """Returns the balance at a queue. Raises `NoBalanceError` where the model's flows cannot hold it."""
    window = path.window(queue)
    if window > path.window_limit:
        raise NoBalanceError(
            f"the flows may send {path.window_limit:g} packets per round trip each, {window:.3g} fill the link: "
            "no queue forms"
        )
    if queue > path.buffer:
        raise NoBalanceError(f"the queue would stand at {queue:.3g} packets, beyond the buffer of {path.buffer:g}")
    return Balance(
        where=where,
        queue=queue,
        window=window,
        round_trip_s=path.round_trip_s(queue),
        decrease=path.growth / window**2,
        shares=shares,
        scatter=path.answers.square(shares),
    )


def settle(path: Path, profile: Sequence[Piece]) -> tuple[Balance, Piece]:
    """Returns where the average stands still on a profile: where `D(x)·W(x)²` is `g`.

    Raises `NoBalanceError` where that is nowhere on its sloped parts.
    """
    from scipy.optimize import brentq

    def excess(piece: Piece, x: float) -> float:
        return path.answers.decrease(piece.shares(x)) * path.window(x) ** 2 - path.growth

    for piece in profile:
        if excess(piece, piece.low) > 0:
            break
        if excess(piece, piece.high) >= 0:
            x = brentq(lambda x, piece=piece: excess(piece, x), piece.low, piece.high, xtol=1e-12)
            return balance(path, piece.where, x, piece.shares(x)), piece
    else:
        end = profile[-1].high
        needs = path.growth / path.window(end) ** 2
        has = path.answers.decrease(profile[-1].shares(end))
        raise NoBalanceError(
            f"no equilibrium on the profile: at its end, {end:.4g} packets, a packet costs a sender {has:.3g} of its "
            f"window, and the balance needs {needs:.3g}: the average stays around the end, where everything is dropped"
        )
    raise NoBalanceError(f"no equilibrium on the profile: at {piece.low:.4g} packets it jumps over the balance")


def set_point(path: Path, queue: float) -> Balance:
    """Returns the balance of a discipline that integrates its error: the queue stands at its set point."""
    beta = path.answers.moderate
    p = path.growth / path.window(queue) ** 2 / beta
    if p > 1:
        raise NoBalanceError(
            f"no equilibrium: windows of {path.window(queue):.2g} packets need more signals than one per packet"
        )
    return balance(path, "set point", queue, (0.0, p, 0.0))


def steepness(path: Path, piece: Piece, x: float) -> float:
    """Returns dD/dx on a stretch of a profile, per packet."""
    step = 1e-6 * (piece.high - piece.low)
    low, high = max(piece.low, x - step), min(piece.high, x + step)
    decrease = path.answers.decrease
    return (decrease(piece.shares(high)) - decrease(piece.shares(low))) / (high - low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """The closed loop near its balance, cut open behind the queue.

    path, at: the link, and the balance.
    discipline: from the queue to D, as a control engineer's transfer function.
    """

    path: Path
    at: Balance
    discipline: control.TransferFunction

    @property
    def pole(self) -> float:
        """Half of the window's own speed in rad/s: a = g·N/(R²C) = g/(W·R)."""
        return self.path.growth / (self.at.window * self.at.round_trip_s)

    @property
    def plant(self) -> control.TransferFunction:
        """The transfer function from D to the queue, with the sign turned and without the delay, as the paper
        simplifies it.

        `(C²/N) / ((s + 2a)(s + 1/R))`. The paper has C²/2N, since its D is p/2.
        """
        from control import TransferFunction

        gain = self.path.capacity**2 / self.path.flows
        window = TransferFunction([1], [1, 2 * self.pole])
        queue = TransferFunction([1], [1, 1 / self.at.round_trip_s])
        return gain * window * queue

    def window_and_queue(self, s: Response, *, simplified: bool = False) -> Response:
        """Returns `Δ(s)`: the queue answers to D as `−(C²/N)·e^(−sR)/Δ(s)`.

        The two equations, linearised without leaving anything out, give

            Δ(s) = s² + s·(1/R + a·(1 + e^(−sR))) + 2a/R

        The paper goes on with `(s + 2a)(s + 1/R)`, which differs by `s·a·(1 − e^(−sR))`: little where
        windows are large, since a·R = g/W.
        """
        r, a = self.at.round_trip_s, self.pole
        lag = 1.0 if simplified else np.exp(-s * r)
        return np.asarray(s**2 + s * (1 / r + a * (1 + lag)) + 2 * a / r)

    def response(self, omega: Omega, *, simplified: bool = False) -> Response:
        """Returns `L(jω)`: discipline, flows, queue, and the delay R."""
        s: Response = np.asarray(1j * omega)
        gain = self.path.capacity**2 / self.path.flows * np.exp(-s * self.at.round_trip_s)
        law: Any = self.discipline(s)
        return np.asarray(law * gain / self.window_and_queue(s, simplified=simplified))
