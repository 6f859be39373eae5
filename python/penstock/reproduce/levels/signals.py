"""The signals that are compared, and the places: links, round trips and flows.

Hosts are Linux's (`profile = "linux"`) with CUBIC, except where a signal has a sender of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import penstock as ps
from penstock.reproduce.model import Case, Settings
from penstock.reproduce.readings import Reading

Table: TypeAlias = Mapping[str, Any]

# ---- the signals

CUBIC: Table = {"tcp": "cubic", "ecn": "classic"}
DROPS: Table = {"tcp": "cubic", "ecn": "off"}
MECN_CUBIC: Table = {"tcp": "cubic", "ecn": "mecn"}
#: SCE takes parts of segments, which Linux's integers for CUBIC do not have.
SCE_CUBIC: Table = {"tcp": "cubic", "cubic": "rfc", "ecn": "sce"}
SCE_RENO: Table = {"tcp": "reno", "ecn": "sce"}
DCTCP: Table = {"tcp": "dctcp", "ecn": "accecn"}
PRAGUE: Table = {"tcp": "prague"}
RENO: Table = {"tcp": "reno", "ecn": "classic"}
BBR: Table = {"tcp": "bbr"}

#: The delay that disciplines are told to aim at, in milliseconds.
TARGET_MS = 5.0
#: L4S's own: DualPI2's ramp ends at 1.2 ms, and the step is at 1 ms.
STEP_MS = 1.0


@dataclass(frozen=True, slots=True)
class Signal:
    """A discipline with the senders that are made for its signals.

    family: who talks: `"drop"`, `"classic"`, `"mecn"`, `"sce"` or `"l4s"`.
    aqm: the discipline's keys. delays: keys that are delays, in milliseconds, which a factor multiplies.
    sender: the keys of its `[[traffic]]`.
    """

    name: str
    family: str
    aqm: Table
    sender: Table
    delays: Mapping[str, float] = field(default_factory=dict)

    def queue(self, factor: float = 1.0) -> dict[str, Any]:
        """Returns the discipline's table with all its delays times `factor`."""
        return {**self.aqm, **{key: f"{value * factor:g} ms" for key, value in self.delays.items()}}


_RED = {"target_delay": TARGET_MS}
_SCE: Table = {"kind": "codel", "ecn": True}
_RAMP = {"target": TARGET_MS, "sce_ramp": TARGET_MS / 2}
SIGNALS = {
    each.name: each
    for each in (
        Signal("DropTail", "drop", {"kind": "droptail"}, DROPS),
        Signal("CoDel, drops", "drop", {"kind": "codel"}, DROPS, {"target": TARGET_MS}),
        Signal("RED", "classic", {"kind": "red", "ecn": True}, CUBIC, _RED),
        Signal(
            "PIE", "classic", {"kind": "pie", "ecn": True, "delay_from": "timestamps"}, CUBIC, {"qdelay_ref": TARGET_MS}
        ),
        Signal("CoDel", "classic", {"kind": "codel", "ecn": True}, CUBIC, {"target": TARGET_MS}),
        Signal("FQ-CoDel", "classic", {"kind": "fq-codel", "ecn": True}, CUBIC, {"target": TARGET_MS}),
        Signal("CAKE", "classic", {"kind": "cake", "tins": "besteffort"}, CUBIC, {"rtt": 20 * TARGET_MS}),
        Signal("MECN", "mecn", {"kind": "mecn"}, MECN_CUBIC, _RED),
        Signal("AMECN", "mecn", {"kind": "amecn"}, MECN_CUBIC, _RED),
        Signal("AMECN repaired", "mecn", {"kind": "amecn", "mark_p": 0.2}, MECN_CUBIC, _RED),
        Signal("SCE, CUBIC", "sce", _SCE, SCE_CUBIC, _RAMP),
        Signal("SCE, Reno", "sce", _SCE, SCE_RENO, _RAMP),
        Signal(
            "DualPI2, Prague",
            "l4s",
            {"kind": "dualpi2", "variant": "rfc"},
            PRAGUE,
            {"ramp_start": 0.8 * STEP_MS, "ramp_range": 0.4 * STEP_MS},
        ),
        Signal("Step, Prague", "l4s", {"kind": "step", "few": 1}, PRAGUE, {"sojourn": STEP_MS}),
        Signal("Step, DCTCP", "l4s", {"kind": "step", "few": 1}, DCTCP, {"sojourn": STEP_MS}),
    )
}
NAMES = tuple(SIGNALS)
#: Those that have a delay to set.
WITH_DELAY = tuple(name for name, each in SIGNALS.items() if each.delays)

# ---- the places

#: How long is measured, where it is not said.
LENGTH_S = 20.0


@dataclass(frozen=True, slots=True)
class Place:
    """A link, the round trip over its empty queue, and the flows."""

    rate_mbps: int
    rtt_ms: int
    flows: int

    def __str__(self) -> str:
        rate = f"{self.rate_mbps // 1000} Gbit/s" if self.rate_mbps >= 1000 else f"{self.rate_mbps} Mbit/s"
        return f"{rate}, {self.rtt_ms} ms, {self.flows} {'flow' if self.flows == 1 else 'flows'}"

    @property
    def product(self) -> int:
        """The bandwidth-delay product in packets of 1500 B."""
        return math.ceil(self.rate_mbps * self.rtt_ms / 12)

    def buffer(self, kind: str) -> int:
        """Packets. A product for DropTail, at least 20; twice that, or 100 ms, where a discipline keeps the queue."""
        if kind == "droptail":
            return max(20, self.product)
        return max(2 * self.product, math.ceil(self.rate_mbps * 100 / 12))

    @property
    def begin_s(self) -> float:
        """When measuring begins: after a hundred round trips and some seconds."""
        return 15 + 0.1 * self.rtt_ms


RATES, TRIPS, FLOWS = (5, 20, 100, 1000), (10, 50, 200), (1, 4, 50)
#: Every two of rate, round trip and flows meet in each of their values, in a third of the combinations.
PLACES = {
    str(place): place
    for place in (
        Place(rate, trip, FLOWS[(i + j) % len(FLOWS)]) for i, rate in enumerate(RATES) for j, trip in enumerate(TRIPS)
    )
}
#: Where the plane of delay and goodput is drawn, and where in the middle of all that single questions are asked.
PLANE = ("5 Mbit/s, 50 ms, 4 flows", "20 Mbit/s, 10 ms, 4 flows", "100 Mbit/s, 50 ms, 1 flow")
MIDDLE = Place(20, 50, 4)
#: The places without those whose runs are dear.
UP_TO_100 = tuple(name for name, place in PLACES.items() if place.rate_mbps <= 100)
#: A quick reproduction has no faster links than this, in Mbit/s.
QUICK_MBPS = 20

STARTS = {"uniform": ["0 s", "1 s"]}
_LINUX = ps.Scenario(
    topology=ps.Dumbbell(bottleneck=ps.Link(rate="1 Mbit/s", delay="1 ms", buffer=1)),
    traffic=ps.Ftp(),
    profile="linux",
)


def network(place: Place, kind: str, **link: Any) -> dict[str, Any]:
    """Returns the topology of a place; a tenth of the round trip differs among the flows.

    link: further keys of the bottleneck.
    """
    rtt = place.rtt_ms
    bottleneck = {"rate": f"{place.rate_mbps} Mbit/s", "delay": f"{0.4 * rtt:g} ms", "buffer": place.buffer(kind)}
    return {
        "kind": "dumbbell",
        "bottleneck": {**bottleneck, "reverse_buffer": 100_000, **link},
        "access": {"rate": "10 Gbit/s", "delay": {"spread": [f"{0.025 * rtt:g} ms", f"{0.075 * rtt:g} ms"]}},
        "egress": {"rate": "10 Gbit/s", "delay": f"{0.05 * rtt:g} ms"},
    }


def scenario(
    place: Place,
    aqm: Table,
    traffic: Sequence[Table],
    *,
    begin_s: float | None = None,
    length_s: float = LENGTH_S,
    **link: Any,
) -> ps.Scenario:
    """Returns long transfers, or what else `traffic` has, over a place's link.

    begin_s, length_s: when measuring begins, where it is not the place's, and how long it takes.
    """
    begin = place.begin_s if begin_s is None else begin_s
    return _LINUX.set_all(
        {
            "duration": f"{begin + length_s:g} s",
            "measure": {"from": f"{begin:g} s"},
            "topology": network(place, aqm["kind"], **link),
            "aqm": dict(aqm),
            "traffic": [{"kind": "ftp", "start": STARTS, **each} for each in traffic],
        }
    )


@cache
def at_place(name: str, at: str) -> ps.Scenario:
    """Returns a signal at a place."""
    signal, place = SIGNALS[name], PLACES[at]
    return scenario(place, signal.queue(), [{"flows": place.flows, **signal.sender}])


def held(settings: Settings, places: Sequence[str]) -> list[str]:
    """Returns the places that are run: a quick reproduction leaves fast links out."""
    return [at for at in places if not settings.quick or PLACES[at].rate_mbps <= QUICK_MBPS]


@dataclass(frozen=True, slots=True)
class AtPlaces:
    """Signals at places."""

    names: Sequence[str]
    at: Sequence[str]

    def __call__(self, settings: Settings, reading: Reading) -> Iterator[Case]:
        """Yields the cases."""
        for at in held(settings, self.at):
            for name in self.names:
                yield Case({"aqm": name, "place": at}, at_place(name, at))


def places(*names: str, at: Sequence[str] | None = None) -> AtPlaces:
    """Returns signals at places; all of both where none are given."""
    return AtPlaces(names or NAMES, tuple(at or PLACES))
