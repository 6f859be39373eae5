"""The repairs, and the scenarios that they are judged in: the papers' own, and others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import penstock as ps
from penstock.reproduce.grids import Grid
from penstock.reproduce.papers.amecn import scenarios as amecn
from penstock.reproduce.papers.nred import scenarios as nred
from penstock.reproduce.papers.rared import scenarios as rared
from penstock.reproduce.papers.red_at import scenarios as red_at
from penstock.reproduce.readings import DEFAULT, Reading

# ---- the repairs


@dataclass(frozen=True, slots=True)
class Repair:
    """A paper's discipline and the keys that mend it.

    kind: of the discipline. keys: on top of whatever the discipline has there.
    """

    original: str
    kind: str
    keys: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name as figures call it."""
        return f"{self.original} repaired"


AMECN = Repair("AMECN", "amecn", {"mark_p": 0.2})
RARED = Repair("RARED", "rared", {"climb": "once"})
NRED = Repair("NRED", "nred", {"n_step": "timed", "n_min": 0.2})
RED_AT = Repair("RED-AT", "red-at", {"alpha": 0.001, "beta": 0.0005, "reset": False})
REPAIRS = (AMECN, RARED, NRED, RED_AT)

#: What every repair is held against besides its original.
OTHERS = ("RED", "ARED", "PIE", "CoDel")


def names(repair: Repair) -> tuple[str, ...]:
    """Returns the disciplines of its figures, in their order."""
    return (repair.name, repair.original, *OTHERS)


# ---- the papers' own experiments


def _modern(name: str, target_ms: float, ecn: bool) -> dict[str, Any]:
    """Returns PIE or CoDel with that target.

    PIE takes the delay from timestamps, as Linux does unless told otherwise: its estimate of the
    rate needs 16 kB in the queue, which slow links never have at these targets.
    """
    if name == "PIE":
        return {"kind": "pie", "ecn": ecn, "qdelay_ref": f"{target_ms:g} ms", "delay_from": "timestamps"}
    return {"kind": "codel", "ecn": ecn, "target": f"{target_ms:g} ms"}


def _under(made: ps.Scenario, discipline: Mapping[str, Any], *, reverse: bool) -> ps.Scenario:
    """Returns the scenario under another discipline; with `reverse` in both directions."""
    if not reverse:
        # The other direction keeps what it has.
        back = made.resolved["aqm"]["reverse"]
        discipline = {**discipline, "reverse": {key: value for key, value in back.items() if value is not None}}
    else:
        discipline = {**discipline, "reverse": dict(discipline)}
    return made.set("aqm", discipline)


def _mended(made: ps.Scenario, repair: Repair, *, reverse: bool) -> ps.Scenario:
    """Returns the original's scenario with the repair's keys; with `reverse` in both directions."""
    places = ("aqm", "aqm.reverse") if reverse else ("aqm",)
    return made.set_all({f"{place}.{key}": value for place in places for key, value in repair.keys.items()})


#: The middle of the thresholds of 5 and 15 packets at 1.5 Mbit/s, in milliseconds: what PIE and CoDel
#: are given as their target.
MIDDLE_MS = 53.0


@cache
def load_change(name: str, load: str, reading: Reading) -> ps.Scenario:
    """Returns the scenario of AMECN's section 4.2: 20 flows more, or fewer, from 25 s on."""
    if name == AMECN.name:
        return _mended(amecn.load_change("AMECN", load, DEFAULT), AMECN, reverse=True)
    if name == "AMECN":
        return amecn.load_change("AMECN", load, DEFAULT)
    # Senders with classic ECN.
    made = amecn.load_change("AMECN", load, DEFAULT)
    made = made.set_all({f"traffic.{i}.ecn": "classic" for i in range(len(made.resolved["traffic"]))})
    red: dict[str, Any] = {"min_th": 5, "max_th": 15, "w_q": 0.0027, "ecn": True, "mark_p": 1.0}
    own = {"RED": {"kind": "red", **red}, "ARED": {"kind": "ared", **red}}
    return _under(made, own.get(name) or _modern(name, MIDDLE_MS, ecn=True), reverse=True)


@cache
def joining(name: str, m: int, reading: Reading) -> ps.Scenario:
    """Returns the scenario of RARED's section 4: m flows join at 20 s."""
    if name == RARED.name:
        return _mended(rared.scenario("RARED", m, DEFAULT), RARED, reverse=True)
    if name in rared.QUEUES:
        return rared.scenario(name, m, DEFAULT)
    return _under(rared.scenario("RED", m, DEFAULT), _modern(name, MIDDLE_MS, ecn=True), reverse=True)


@cache
def many(name: str, n: int, ecn: bool) -> ps.Scenario:
    """Returns the scenario of NRED's section 3 with 100 KB: N flows, one of them CBR."""
    mended = name == NRED.name
    made = nred.scenario("NRED" if mended else name if name in nred.QUEUES else "RED", n, 100, DEFAULT)
    if mended:
        made = _mended(made, NRED, reverse=False)
    elif name == "ARED":
        made = _under(made, {"kind": "ared", **nred.BOTH}, reverse=False)
    elif name not in nred.QUEUES:
        made = _under(made, _modern(name, MIDDLE_MS, ecn=ecn), reverse=False)
    if ecn:
        made = made.set_all({"aqm.ecn": True, "traffic.0.ecn": "classic"})
        if name not in ("PIE", "CoDel"):
            made = made.set("aqm.mark_p", 1.0)
    return made


@cache
def sources(name: str, n: int, reading: Reading) -> ps.Scenario:
    """Returns the scenario of RED-AT's section 6: N sources over 10 Mbit/s."""
    if name == RED_AT.name:
        return _mended(red_at.scenario("RED-AT", n, DEFAULT), RED_AT, reverse=False)
    if name in red_at.QUEUES:
        return red_at.scenario(name, n, DEFAULT)
    # The middle of the thresholds of 10 and 30 packets.
    return _under(red_at.scenario("RED", n, DEFAULT), _modern(name, 16.0, ecn=False), reverse=False)


LOAD_CHANGES = Grid(build=load_change, names=names(AMECN), along="load", values=("rises", "falls"), trace_s=0.05)
OVER_M = Grid(build=joining, names=names(RARED), along="m", values=(1, 3, 5, 8, 10, 12, 15))
OVER_N = Grid(
    build=lambda name, n, reading: many(name, n, False), names=names(NRED), along="N", values=(20, 40, 60, 80, 100)
)
OVER_N_ECN = Grid(
    build=lambda name, n, reading: many(name, n, True), names=names(NRED), along="N", values=(20, 40, 60, 80, 100)
)
OVER_SOURCES = Grid(build=sources, names=names(RED_AT), along="N", values=(5, 20, 60, 100))

# ---- a range that nothing was made for


@dataclass(frozen=True, slots=True)
class Place:
    """A point of the range: the link's rate, the flows and their round trip."""

    rate_mbps: float
    flows: int
    rtt_ms: int
    ecn: bool

    def __str__(self) -> str:
        return f"{self.rate_mbps:g} Mbit/s, {self.flows} flows, {self.rtt_ms} ms, {'ECN' if self.ecn else 'drops'}"

    @property
    def target_ms(self) -> float:
        """The queueing delay that all disciplines are told to aim at: 20 ms, or ten packets where these take longer."""
        return round(max(20.0, 10 * 8.0 / self.rate_mbps), 1)

    @property
    def buffer(self) -> int:
        """Four times the target, or a bandwidth-delay product: packets of 1000 B."""
        return math.ceil(max(4 * self.target_ms, self.rtt_ms) * self.rate_mbps / 8)


#: Of the range: Mbit/s, flows, ms.
LOWEST, HIGHEST = (1.5, 5.0, 20.0), (100.0, 200.0, 200.0)
#: Points without regard to ECN.
COUNT = 24


def spread(count: int) -> list[tuple[float, int, int]]:
    """Returns points that fill the range evenly in the logarithms of rate, flows and round trip: Halton's
    (1960), in the bases 2, 3 and 5.
    """
    points = []
    for i in range(1, count + 1):
        parts = [_reversed(i, base) for base in (2, 3, 5)]
        rate, flows, rtt = (low * (high / low) ** u for low, high, u in zip(LOWEST, HIGHEST, parts, strict=True))
        points.append((float(f"{rate:.2g}"), round(flows), round(rtt)))
    return points


def _reversed(i: int, base: int) -> float:
    """Returns the digits of a number behind the point in reversed order: 6 = 110₂ gives 0.011₂."""
    value, place = 0.0, 1.0 / base
    while i:
        i, digit = divmod(i, base)
        value += digit * place
        place /= base
    return value


PLACES = {str(place): place for point in spread(COUNT) for place in (Place(*point, False), Place(*point, True))}


def discipline(name: str, place: Place) -> dict[str, Any]:
    """Returns a discipline with its own defaults and the place's target."""
    if name in ("PIE", "CoDel"):
        return _modern(name, place.target_ms, place.ecn)
    repair = next((each for each in REPAIRS if each.name == name), None)
    kind = repair.kind if repair else name.lower()
    mended = repair.keys if repair else {}
    return {"kind": kind, "ecn": place.ecn, "target_delay": f"{place.target_ms:g} ms", **mended}


@cache
def elsewhere(name: str, at: str, reading: Reading) -> ps.Scenario:
    """Returns a scenario of long flows with the same round trip, but for a tenth, over one link; measured from 20 to 40
    s."""
    place = PLACES[at]
    ecn: Literal["off", "classic", "mecn"] = "mecn" if name in (AMECN.name, AMECN.original) else "classic"
    if not place.ecn:
        ecn = "off"
    rtt = place.rtt_ms
    made = ps.Scenario(
        topology=ps.Dumbbell(
            bottleneck=ps.Link(
                rate=f"{place.rate_mbps:g} Mbit/s",
                delay=f"{0.4 * rtt:g} ms",
                buffer=place.buffer,
                reverse_buffer=10_000,
            ),
            access=ps.Access(rate="1 Gbit/s", delay={"spread": [f"{0.025 * rtt:g} ms", f"{0.075 * rtt:g} ms"]}),
            egress=ps.Access(rate="1 Gbit/s", delay=f"{0.05 * rtt:g} ms"),
        ),
        traffic=[
            ps.Ftp(
                flows=place.flows,
                start={"uniform": ["0 s", "1 s"]},
                tcp="sack",
                segment="1000 B",
                window=10_000,
                ecn=ecn,
            )
        ],
        duration="40 s",
        measure={"from": "20 s"},
    )
    return made.set("aqm", discipline(name, place))


def over_range(repair: Repair) -> Grid:
    """Returns a repair and what it is held against, at every point of the range."""
    return Grid(build=elsewhere, names=names(repair), along="point", values=tuple(PLACES))


OVER_RANGE = {repair.original: over_range(repair) for repair in REPAIRS}


def shares(places: Sequence[str], *, ecn: bool) -> list[str]:
    """Returns those of the points with, or without, ECN."""
    return [at for at in places if PLACES[at].ecn == ecn]
