"""Finds what the range says about the link: rate, round trips, flows, buffer. Rules and ranges follow
from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock import _penstock
from penstock._penstock import parse_duration, parse_queue, parse_size

#: The path of the only link of which every flow has one round trip.
DUMBBELL = "topology.bottleneck"


@dataclass(frozen=True, slots=True)
class Facts:
    """The least and the greatest over the conditions.

    rate_pps: the bottleneck's, in mean packets a second.
    rtt_s: base round trips, without queues; `None` where the topology has no single one.
    flows: long transfers; `None` where there is none.
    room: packets that the smallest buffer holds.
    mean_packet: bytes.
    """

    rate_pps: tuple[float, float]
    rtt_s: tuple[float, float] | None
    flows: tuple[int, int] | None
    room: int
    mean_packet: float


def facts(made: Sequence[_penstock.Scenario]) -> Facts:
    """Returns the facts of the scenarios of a range."""
    found = [core.facts() for core in made]
    mean_packet = float(found[0].bottleneck.mean_packet)
    rates = [each.bottleneck.rate_bps / (8 * mean_packet) for each in found]
    single = [each for each in found if each.bottleneck.path == DUMBBELL]
    trips = [group.round_trip_s for each in single for group in each.groups if group.round_trip_s is not None]
    flows = [sum(group.flows for group in each.groups if group.kind == "ftp") for each in found]
    return Facts(
        (min(rates), max(rates)),
        (min(t[0] for t in trips), max(t[1] for t in trips)) if trips else None,
        (min(flows), max(flows)) if min(flows) > 0 else None,
        min(each.bottleneck.room_pkts for each in found),
        mean_packet,
    )


def amount(value: Any, kind: str, mean_packet: float) -> float | None:
    """Returns a key's value as a number: seconds, bytes, packets, or the number itself; `None` for
    a word.

    kind: the key's type, as it is declared.

    >>> amount("40 packets", "queue", 1000.0), amount("5 ms", "duration", 1000.0), amount("auto", "number", 1000.0)
    (40.0, 0.005, None)
    """
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    try:
        return quantity(value, kind, mean_packet)
    except ValueError:
        return None


def quantity(text: str, kind: str, mean_packet: float) -> float:
    """Returns what a text says, as `amount` has it. Raises `ValueError` for a word, and of a
    quantity the `ScenarioError` that says what its text must be.
    """
    if kind == "duration":
        return parse_duration(text)
    if kind == "size":
        return float(parse_size(text))
    if kind == "queue":
        length, in_packets = parse_queue(text)
        return length if in_packets else length / mean_packet
    return float(text)
