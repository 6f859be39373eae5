"""Takes what the fluid model takes from a scenario: one link, and the long transfers over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock._penstock import Facts, Scenario, parse_queue
from penstock.errors import ScenarioError

#: A scenario's table with every key's value in force.
Table: TypeAlias = Mapping[str, Any]

#: The TCPs whose window grows by a segment per round trip and is halved at a loss.
RENO = ("tahoe", "reno", "newreno", "sack")
#: What Reno gives up for a loss, and for a mark of classic ECN (RFC 5681, RFC 3168).
HALF = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The share of its window that a sender gives up for one signal of each level."""

    incipient: float = HALF
    moderate: float = HALF
    loss: float = HALF

    def decrease(self, shares: Sequence[float]) -> float:
        """Returns the share of a window that one packet costs on average: `D = Σ β_i·p_i`.

        shares: the shares of packets that are signalled, in the order of the levels.
        """
        return sum(beta * p for beta, p in zip(self._all, shares, strict=True))

    def square(self, shares: Sequence[float]) -> float:
        """Returns `Σ β_i²·p_i`, which says how much the decreases scatter."""
        return sum(beta**2 * p for beta, p in zip(self._all, shares, strict=True))

    @property
    def _all(self) -> tuple[float, float, float]:
        return self.incipient, self.moderate, self.loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A link and the flows over it, all alike.

    capacity: C, packets per second.
    flows: N.
    rtt_s: the round trip while the queue is empty, the papers' T_p.
    answers: what a signal costs.
    growth: segments by which a window grows in a round trip without a signal.
    window_limit, buffer: the longest window of a flow, and the longest queue, in packets.
    """

    capacity: float
    flows: float
    rtt_s: float
    answers: Answers = Answers()
    growth: float = 1.0
    window_limit: float = float("inf")
    buffer: float = float("inf")

    def round_trip_s(self, queue: float) -> float:
        """Returns R = T_p + q/C."""
        return self.rtt_s + queue / self.capacity

    def window(self, queue: float) -> float:
        """Returns the window at which the flows together just fill the link, W = RC/N."""
        return self.round_trip_s(queue) * self.capacity / self.flows


def path(core: Scenario, resolved: Table) -> tuple[Path, tuple[str, ...]]:
    """Returns the path of a scenario, and what of the scenario it leaves out.

    resolved: the scenario with every key's value.

    Raises `ScenarioError` where the model says nothing about such a scenario.
    """
    _check(resolved["topology"])
    facts = core.facts()
    groups, notes = _groups(facts, resolved)
    flows = sum(each["flows"] for each in groups)
    full = [(each.round_trip_s, each.full_packet) for i in modelled(facts) for each in [facts.groups[i]]]
    packet = _common("size of a packet", [float(each.segment + each.header) for _, each in full if each])
    trips = [sum(trip) / 2 + each.sending_s for trip, each in full if trip and each]
    if max(trips) > 1.1 * min(trips):
        notes.append("the groups' round trips differ: their mean is taken")
    link = facts.bottleneck
    made = Path(
        capacity=link.rate_bps / (8 * packet),
        flows=flows,
        rtt_s=sum(trip * each["flows"] for trip, each in zip(trips, groups, strict=True)) / flows,
        answers=_common("answer to a signal", [answers(resolved["aqm"], each) for each in groups]),
        growth=_common("growth of the window", [_growth(each) for each in groups]),
        window_limit=min(each["window"] for each in groups),
        buffer=link.buffer_bytes / link.mean_packet,
    )
    return made, tuple(notes)


def modelled(facts: Facts) -> list[int]:
    """Returns which entries of `[[traffic]]` are the model's flows: FTP without an end."""
    return [i for i, each in enumerate(facts.groups) if each.endless and each.forward]


def answers(aqm: Table, group: Table) -> Answers:
    """Returns what a group's senders give up for the signals of a discipline.

    A packet that is not ECN-capable is dropped at every level. A classic receiver does not see an
    incipient mark.
    """
    ecn = group["ecn"]
    loss = group["beta3"] if ecn == "mecn" else HALF
    if ecn == "off" or not aqm["ecn"]:
        return Answers(incipient=loss, moderate=loss, loss=loss)
    if ecn != "mecn":
        return Answers(incipient=0.0, moderate=HALF, loss=HALF)
    if group["incipient"] != "decrease":
        raise ScenarioError(f'incipient = "{group["incipient"]}": the model has a decrease by beta1 only')
    return Answers(incipient=group["beta1"], moderate=group["beta2"], loss=loss)


def packets(length: str, in_bytes: bool, mean: float, packet: float) -> float:
    """Returns a length as packets of the size `packet`.

    in_bytes: whether the queue counts bytes. mean: bytes that the discipline takes for a packet.
    """
    number, in_packets = parse_queue(length)
    if in_packets:
        return number * mean / packet if in_bytes else number
    return number / (packet if in_bytes else mean)


#: What makes the path vary by itself, and why the model has none of it.
VARYING = {
    "schedule": "the model has one rate",
    "reverse_schedule": "the model has one rate",
    "jitter": "the model has one delay",
    "reverse_jitter": "the model has one delay",
}


def _check(topology: Table) -> None:
    kind = topology["kind"]
    if kind != "dumbbell":
        raise ScenarioError(f'topology.kind = "{kind}": the model has one bottleneck; it takes a dumbbell')
    link = topology["bottleneck"]
    for key, why in VARYING.items():
        if link.get(key) is not None:
            raise ScenarioError(f"topology.bottleneck.{key}: {why}")
    if link["loss"] != 0.0:
        raise ScenarioError("topology.bottleneck.loss: the model has no losses on the wire")


def _groups(facts: Facts, resolved: Table) -> tuple[list[Table], list[str]]:
    """Returns the long transfers, and a note about the rest."""
    chosen = modelled(facts)
    if not chosen:
        raise ScenarioError("traffic: the model needs long transfers: ftp forward, without bytes and stop")
    groups = [resolved["traffic"][i] for i in chosen]
    for each in groups:
        if each["tcp"] not in RENO:
            raise ScenarioError(f'tcp = "{each["tcp"]}": the model has Reno\'s window; it takes {", ".join(RENO)}')
    others = len(resolved["traffic"]) - len(groups)
    return groups, [f"left out: {others} of {others + len(groups)} traffic groups"] if others else []


def _common(what: str, values: Sequence[Any]) -> Any:
    if any(value != values[0] for value in values):
        raise ScenarioError(f"traffic: the model's flows are all alike, and here the {what} differs between groups")
    return values[0]


def _growth(group: Table) -> float:
    """Returns the growth of a window in a round trip: half where it counts ACKs, which answer two segments each."""
    return 0.5 if group["delayed_ack"] and group["growth"] == "acks" else 1.0
