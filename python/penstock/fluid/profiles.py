"""Profiles as the model needs them: from the average to the share of packets that are signalled.

The shares are those that a queue at a standstill gives over many packets. RED's gate makes them
differ from the ramp: `spaced` says by how much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from penstock.operators.gates import signalled

#: Shares of packets with an incipient mark, with a moderate one (classic ECN's CE), and lost early.
Shares: TypeAlias = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of a profile on which it is smooth.

    where: its name. low, high: its ends, in packets. shares: of packets signalled at an average.
    """

    where: str
    low: float
    high: float
    shares: Callable[[float], Shares]


def spaced(gate: str, p: float) -> float:
    """Returns the share of packets that a gate signals where the ramp says `p`.

    RED spreads the gaps between two signals evenly over 1 … 1/p − 1, whose mean is 1/(2p): twice as
    many packets are signalled as the ramp says. ns-2's `wait` spreads them over 1/p … 2/p − 1,
    Linux's `drawn` over 1 … 1/p. They hold where 1/p is a whole number, and in between, up to p =
    1/2, within 8 %.

    >>> spaced("uniform", 0.05), spaced("geometric", 0.05)
    (0.1, 0.05)
    """
    return min(1.0, 2 * p / (3 - p) if gate == "wait" else signalled(gate, p))


def ramp(low: float, high: float, top: float) -> Callable[[float], float]:
    """Returns the straight line from 0 at `low` to `top` at `high`."""
    return lambda x: top * (x - low) / (high - low)


def gentle_part(max_th: float, bottom: float) -> Callable[[float], float]:
    """Returns the line from `bottom` at `max_th` to 1 at twice `max_th` (Floyd 2000)."""
    return lambda x: bottom + (1 - bottom) * (x - max_th) / max_th


def red(
    min_th: float, max_th: float, max_p: float, *, gate: str, gentle_from: float | None, mark_p: float = 1.0
) -> list[Piece]:
    """Returns RED's profile (Floyd, Jacobson 1993; gentle: Floyd 2000).

    gentle_from: where the gentle part begins, at `max_th`; `None`: everything is dropped there.
    """
    pieces = _classic("ramp", min_th, max_th, ramp(min_th, max_th, max_p), gate, mark_p)
    if gentle_from is not None:
        pieces += _classic("gentle part", max_th, 2 * max_th, gentle_part(max_th, gentle_from), gate, mark_p)
    return pieces


def mecn(
    min_th: float,
    mid_th: float,
    max_th: float,
    p1_max: float,
    p2_max: float,
    *,
    gate: str,
    above_max: str,
    mark_p: float,
) -> list[Piece]:
    """Returns MECN's profile (AMECN paper, Fig. 2): two ramps, and what `above_max` says beyond.

    A packet that gets a moderate mark gets no incipient one. RED's gate then tries the next packet,
    so that P1 is a little larger than here: by 8 % at the ramps' upper ends, by less below.
    """
    first, second = ramp(min_th, max_th, p1_max), ramp(mid_th, max_th, p2_max)

    def both(x: float) -> Shares:
        p1, p2 = first(x), second(x)
        moderate = spaced(gate, p2)
        return _marked((1 - moderate) * spaced(gate, p1), moderate, p1 <= mark_p, p2 <= mark_p)

    def incipient(x: float) -> Shares:
        return _marked(spaced(gate, first(x)), 0.0, first(x) <= mark_p, True)

    def severe(x: float) -> Shares:
        p = gentle_part(max_th, max(p1_max, p2_max))(x)
        return _marked(0.0, spaced(gate, p), True, above_max == "gentle-mark" and p <= mark_p)

    pieces = [
        *_cut(Piece(where="first ramp", low=min_th, high=mid_th, shares=incipient), _reaches(first, mark_p, min_th)),
        *_cut(Piece(where="both ramps", low=mid_th, high=max_th, shares=both), _reaches(first, mark_p, min_th)),
    ]
    if above_max != "drop":
        pieces.append(Piece(where="gentle part", low=max_th, high=2 * max_th, shares=severe))
    return pieces


def _classic(
    where: str, low: float, high: float, line: Callable[[float], float], gate: str, mark_p: float
) -> list[Piece]:
    """Returns a stretch with classic signals. Above `mark_p` packets are dropped instead of marked."""

    def shares(x: float) -> Shares:
        return _marked(0.0, spaced(gate, line(x)), True, line(x) <= mark_p)

    return _cut(Piece(where=where, low=low, high=high, shares=shares), _reaches(line, mark_p, low))


def _marked(incipient: float, moderate: float, first: bool, second: bool) -> Shares:
    """Returns the shares of the three levels; what is not marked is lost."""
    lost = (0.0 if first else incipient) + (0.0 if second else moderate)
    return (incipient if first else 0.0), (moderate if second else 0.0), lost


def _reaches(line: Callable[[float], float], p: float, low: float) -> float:
    """Returns where a straight line reaches `p`."""
    slope = line(low + 1) - line(low)
    return low + (p - line(low)) / slope if slope > 0 else float("inf")


def _cut(piece: Piece, at: float) -> list[Piece]:
    """Returns a stretch in two where it jumps."""
    if not piece.low < at < piece.high:
        return [piece]
    above = at * (1 + 1e-12)
    return [
        Piece(where=piece.where, low=piece.low, high=at, shares=piece.shares),
        Piece(where=piece.where, low=above, high=piece.high, shares=piece.shares),
    ]
