"""The link that the RFC's scenarios share: the RFC's own, or the user's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock._penstock import parse_duration, parse_rate, parse_size
from penstock.errors import ScenarioError
from penstock.model.scenario import Scenario

#: Which congestion 8.2.2 to 8.2.4 speak of: N = round(share · S).
CONGESTION = {"mild": 0.036, "medium": 0.081, "heavy": 0.114}
#: Bytes of a full packet in the files.
PACKET = 1500
#: What a link's line adds to packets: keys that every bottleneck of the scenarios gets.
FRAMING = ("overhead", "mpu", "framing")
#: The keys of a bottleneck that are played, be it in the scenarios' own proportions.
_PLAYED = ("rate", "delay", "buffer", "shaped")
#: From so many flows on, in a buffer of so many bandwidth-delay products, the number is the buffer's and nobody's load.
_MANY, _DEEP = 100, 4
#: What rtt-fairness has behind the senders' own links, one way: at the bottleneck, and beyond.
_COMMON_S = (0.001, 0.0005)


def flows(congestion: str, rate_bps: float, rtt_s: float, buffer_pkts: float, packet_bytes: float) -> int:
    """Returns how many flows make that congestion: `round(share · S)`, where S is what path and buffer hold (8.2.1).

    >>> flows("mild", 10e6, 0.1, 83, 1500)
    6
    """
    return round(CONGESTION[congestion] * (rate_bps * rtt_s / (8 * packet_bytes) + buffer_pkts))


@dataclass(frozen=True, slots=True)
class Link:
    """A bottleneck with the path that leads through it.

    rate_bps: of the bottleneck.
    rtt_s: base round trip, with all access links.
    buffer_pkts: packets for which the bottleneck has room.
    framing: those of `FRAMING` that it has, each with its value.
    notes: what of a file is not played, or in other words: sentences.
    """

    rate_bps: float
    rtt_s: float
    buffer_pkts: int
    framing: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def packet_bytes(self) -> int:
        """Returns what a full packet takes on the line.

        >>> Link(10e6, 0.1, 83, (("overhead", "32 B"), ("framing", "atm"))).packet_bytes
        1696
        """
        said = dict(self.framing)
        size = max(PACKET + parse_size(said.get("overhead", "0 B")), parse_size(said.get("mpu", "0 B")))
        cells = {"atm": 53 * -(-size // 48), "ptm": size + -(-size // 64)}
        return cells.get(said.get("framing", "none"), size)

    def flows(self, congestion: str) -> int:
        """Returns how many flows make that congestion here; one at least."""
        return max(1, flows(congestion, self.rate_bps, self.rtt_s, self.buffer_pkts, self.packet_bytes))

    @property
    def left(self) -> float:
        """Returns what datagrams at half the rate leave to packets, as a part of what they leave without framing."""
        framed = self.packet_bytes / PACKET
        return (2 - framed) / framed

    @property
    def words(self) -> Mapping[str, object]:
        """Returns what texts say of it, by name."""
        mild, medium, heavy = (self.flows(each) for each in CONGESTION)
        fast, slow = rate_text(10 * self.rate_bps), rate_text(self.rate_bps)
        parts = {"join": max(1, medium - mild), "half": max(1, medium // 2)}
        return {
            "mild": mild,
            "medium": medium,
            "heavy": heavy,
            **parts,
            "rtt": f"{self.rtt_s * 1e3:g} ms",
            "fast": fast,
            "slow": slow,
        }

    @property
    def text(self) -> str:
        """Returns it in words: `"10 Mbit/s, 100 ms, 83 packets"`."""
        own = "".join(f", {key} {value}" for key, value in self.framing)
        return f"{rate_text(self.rate_bps)}, {self.rtt_s * 1e3:g} ms, {self.buffer_pkts} packets{own}"


#: Section 8's: 10 Mbit/s, a base round trip of 100 ms, one bandwidth-delay product.
RFC = Link(10e6, 0.1, 83)


def rate_text(bps: float) -> str:
    """Returns a rate in words.

    >>> rate_text(2.5e9), rate_text(1.5e6)
    ('2.5 Gbit/s', '1.5 Mbit/s')
    """
    unit, scale = ("Gbit/s", 1e9) if bps >= 1e9 else ("Mbit/s", 1e6)
    return f"{bps / scale:g} {unit}"


def link_of(file: str | Path | Scenario) -> Link:
    """Returns the bottleneck of a scenario or of its file, which may be a link alone. Raises `ScenarioError` for one
    that is no dumbbell, or whose rate changes.
    """
    scenario = file if isinstance(file, Scenario) else Scenario.load_link(file)[0]
    topology = scenario.resolved["topology"]
    if topology["kind"] != "dumbbell":
        raise ScenarioError(f'topology.kind = "{topology["kind"]}": one link is evaluated; allowed: dumbbell')
    line = topology["bottleneck"]
    if line["schedule"] is not None:
        raise ScenarioError(
            "topology.bottleneck.schedule: the RFC's scenarios vary the rate themselves (8.2.6); leave it out"
        )
    near = topology["access"] or {"delay": "0 s"}
    far = topology["egress"] or near
    for name, each in (("access", near), ("egress", far)):
        if not isinstance(each["delay"], str):
            raise ScenarioError(f"topology.{name}.delay: one round trip is evaluated, so it must be one time")
    one_way_s = sum(parse_duration(each["delay"]) for each in (line, near, far))
    if one_way_s <= 0:
        raise ScenarioError("topology.bottleneck.delay: the round trip must be above 0 s")
    said, unit, _ = line["buffer"].partition(" packets")
    room = int(said) if unit else parse_size(line["buffer"]) // PACKET
    # Behind a shaper the rate of its queue is its own.
    rate_bps = scenario.core.facts().bottleneck.rate_bps
    counted = line.get("shaper_framed") is not False
    own = tuple((key, line[key]) for key in FRAMING if counted and line.get(key) is not None)
    made = Link(rate_bps, 2 * one_way_s, max(1, room), own)
    return replace(made, notes=tuple(_notes(line, made)))


def _notes(line: Mapping[str, Any], link: Link) -> Iterator[str]:
    """Yields what is to be said of a bottleneck that the scenarios are played on."""
    if not line["buffer"].endswith(" packets"):
        yield f"buffer {line['buffer']}: in the scenarios {link.buffer_pkts} packets, which are of {PACKET} B"
    if line.get("shaped") is not None:
        yield f"shaped {line['shaped']}: in the scenarios the link has the shaper's rate, {rate_text(link.rate_bps)}"
    played = {*_PLAYED, *dict(link.framing)}
    unsaid = (type(None), None), (float, 0.0)
    lost = [key for key, value in line.items() if key not in played and (type(value), value) not in unsaid]
    if lost:
        yield f"not played, since the RFC's scenarios have their own or none: topology.bottleneck.{', .'.join(lost)}"
    path = link.rate_bps * link.rtt_s / (8 * link.packet_bytes)
    heavy = link.flows("heavy")
    if heavy > _MANY and link.buffer_pkts > _DEEP * path:
        product = max(1, round(path))
        fewer = replace(link, buffer_pkts=product).flows("heavy")
        yield (
            f"heavy congestion is {heavy} flows: the RFC's formula counts the buffer, which holds {link.buffer_pkts} "
            f'packets, {link.buffer_pkts / path:.0f} times what the path does; with buffer = "{product} packets", a '
            f"bandwidth-delay product, it is {fewer}"
        )


def under(scenario: Scenario, key: str, link: Link) -> Scenario:
    """Returns the RFC's scenario of that key on another link.

    Rates, round trips and buffers keep their proportions to the link's, those of datagrams and access links too; the
    numbers of flows follow from the formula. Pages, calls, videos, and the second category's round trips in 6.2, stay
    as the RFC has them.
    """
    resolved = scenario.resolved
    changes = dict(_lines(resolved["topology"], link))
    for i, each in enumerate(resolved["traffic"]):
        if each["kind"] == "cbr":
            changes[f"traffic.{i}.rate"] = _rate(each["rate"], link)
    for i, count in enumerate(_counts(key, link)):
        changes[f"traffic.{i}.flows"] = count
    if key == "rtt-fairness":
        changes |= _round_trips(resolved["traffic"], link)
    return scenario.set_all(changes)


def _lines(topology: Mapping[str, Any], link: Link) -> Iterator[tuple[str, object]]:
    """Yields the changes of the links."""
    if topology["kind"] == "dumbbell":
        lines = [("topology.bottleneck", topology["bottleneck"])]
    else:
        lines = [(f"topology.link.{i}", each) for i, each in enumerate(topology["link"])]
    for name in ("access", "egress"):
        if topology[name] is not None:
            lines.append((f"topology.{name}", topology[name]))
    for path, line in lines:
        for key in ("rate", "reverse_rate"):
            if line.get(key) is not None:
                yield f"{path}.{key}", _rate(line[key], link)
        yield f"{path}.delay", _span(parse_duration(line["delay"]) * link.rtt_s / RFC.rtt_s)
        if line["buffer"] is not None:
            pkts = int(line["buffer"].removesuffix(" packets")) * link.buffer_pkts / RFC.buffer_pkts
            yield f"{path}.buffer", f"{max(1, round(pkts))} packets"
        if line.get("schedule") is not None:
            cycle = [_rate(rate, link) for rate in line["schedule"]["cycle"]]
            yield f"{path}.schedule", {"cycle": cycle, "every": line["schedule"]["every"]}
        if path not in ("topology.access", "topology.egress"):
            yield from ((f"{path}.{key}", value) for key, value in link.framing)


def _counts(key: str, link: Link) -> list[int]:
    """Returns how many flows each entry of a scenario has that is made of congestion."""
    mild, medium, heavy = (link.flows(each) for each in CONGESTION)
    joins, more = max(1, medium - mild), max(1, heavy - medium)
    fast = replace(link, rate_bps=10 * link.rate_bps, buffer_pkts=10 * link.buffer_pkts).flows("mild")
    return {
        "mild": [mild],
        "medium": [medium],
        "heavy": [heavy],
        "both-ways": [mild, mild],
        "varying-load": [mild, joins, more, joins, more],
        "capacity-slow": [fast],
        "capacity-fast": [fast],
        "series": [max(1, mild // 2)] * 2,
        "packet-sizes": [max(1, mild // 2)] * 2,
        "bbr": [max(1, medium // 2)] * 2,
    }.get(key, [])


def _round_trips(traffic: list[Mapping[str, Any]], link: Link) -> dict[str, object]:
    """Returns the changes of 6.2: the first flow has the link's round trip, the second its own."""
    # What both have in common leaves room for the shorter of them.
    common = [each * min(1.0, link.rtt_s / 0.006) for each in _COMMON_S]
    other_s = parse_duration(traffic[1]["access_delay"]) + sum(_COMMON_S)
    return {
        "topology.bottleneck.delay": _span(common[0]),
        "topology.egress.delay": _span(common[1]),
        "topology.access.delay": _span(link.rtt_s / 2 - sum(common)),
        "traffic.1.access_delay": _span(other_s - sum(common)),
    }


def _rate(rate: str, link: Link) -> str:
    return f"{round(parse_rate(rate) * link.rate_bps / RFC.rate_bps)} bit/s"


def _span(seconds: float) -> str:
    return f"{round(seconds * 1e9)} ns"
