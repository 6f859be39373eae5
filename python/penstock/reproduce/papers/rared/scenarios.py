"""RARED: what the paper leaves open, and the scenarios that are run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import penstock as ps
from penstock.reproduce.grids import Grid
from penstock.reproduce.model import Reading
from penstock.reproduce.readings import Alternative, Readings, as_the_rfcs

# ---- what the paper leaves open


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """What a reading takes where the paper says nothing.

    delay_ms: the bottleneck's delay; `None`: the one that the exhibit or claim is about.
    rate, access_rate: of the bottleneck and of the access links.
    measure: the measured window; `None`: the whole run.
    rared: keys of RARED.
    """

    profile: str = "ns-2"
    mark_p: float = 1.0
    delay_ms: int | None = None
    rate: str = "1.5 Mbit/s"
    access_rate: str = "10 Mbit/s"
    measure: Mapping[str, str] | None = None
    rared: Mapping[str, Any] = field(default_factory=dict)


OPEN = Readings(
    Open(),
    Alternative(
        "mark_p=0.1",
        "As ns-2 since 2002: a capable packet is dropped all the same where p is above 0.1.",
        Open(mark_p=0.1),
    ),
    as_the_rfcs(Open(profile="rfc")),
    Alternative("delay=10ms", "The bottleneck's delay is 10 ms.", Open(delay_ms=10)),
    Alternative("delay=40ms", "The bottleneck's delay is 40 ms.", Open(delay_ms=40)),
    Alternative("delay=200ms", "The bottleneck's delay is 200 ms.", Open(delay_ms=200)),
    Alternative(
        "rate=10M",
        "The bottleneck has 10 Mbit/s, the access links 100 Mbit/s.",
        Open(rate="10 Mbit/s", access_rate="100 Mbit/s"),
    ),
    Alternative(
        "window=20-40s",
        "Measured from second 20 on, when the m flows join, instead of over the whole run.",
        Open(measure={"from": "20 s"}),
    ),
    Alternative("base=ared", "RARED stands on ARED instead of RED: max_p adapts.", Open(rared={"base": "ared"})),
    Alternative(
        "slope_of=instantaneous",
        "The queue's slope is held against slope_th, not the average's.",
        Open(rared={"slope_of": "instantaneous"}),
    ),
    Alternative(
        "climb=ramp",
        "max_p' is the ceiling of RED's ramp while the average climbs, not the probability.",
        Open(rared={"climb": "ramp"}),
    ),
)

# ---- the scenarios of section 4

QUEUES = ("RED", "REM", "ARED", "RARED")
#: A bottleneck's delay in ms: the paper's "long" and "short", as read.
LONG, SHORT = 90, 10
#: "Parameters used for RED is max_th = 15, min_th = 5, max_p = 0.1, w_q = 0.0019 and with gentle
#: mode on."
RED: Mapping[str, Any] = {"min_th": 5, "max_th": 15, "max_p": 0.1, "w_q": 0.0019, "gentle": True}


def queue(name: str, taken: Open, **changes: Any) -> Any:
    """The discipline of that name, with ECN. changes: of RARED's own parameters."""
    both: dict[str, Any] = {"ecn": True, "mean_packet": "1000 B"}
    if name == "REM":
        return ps.Rem(phi=1.001, gamma=0.001, b_star=20, **both)
    both["mark_p"] = taken.mark_p
    if name == "RED":
        return ps.Red(**RED, **both)
    if name == "ARED":  # "the default values in ns-2"; all automatic
        return ps.Ared(**both)
    return ps.Rared(**RED, **both, **{"slope_th": 20, "max_p_climb": 0.8, **taken.rared, **changes})


def scenario(name: str, joining: int, reading: Reading, delay_ms: int = LONG, **changes: Any) -> ps.Scenario:
    """Section 4's dumbbell with `joining` flows from second 20 on."""
    taken = OPEN[reading]
    tcp: dict[str, Any] = {"tcp": "reno", "window": 24, "segment": "1000 B", "ecn": "classic"}
    discipline = queue(name, taken, **changes)
    return ps.Scenario(
        name=f"RARED paper: {name}, m = {joining}",
        topology=ps.Dumbbell(
            bottleneck=ps.Link(rate=taken.rate, delay=f"{delay_ms} ms", buffer=30),
            access=ps.Access(rate=taken.access_rate, delay="2 ms"),
            egress=ps.Access(rate=taken.access_rate, delay="4 ms"),
        ),
        aqm=discipline,
        reverse_aqm=discipline,
        traffic=[
            ps.Ftp(name="from the start", flows=2, start={"uniform": ["0 s", "0.1 s"]}, **tcp),
            ps.Ftp(name="joining", flows=joining, start={"uniform": ["20 s", "20.1 s"]}, **tcp),
            ps.Ftp(name="the other way", direction="reverse", start={"uniform": ["0 s", "0.1 s"]}, **tcp),
            ps.Web(sessions=20, pairs=10, start={"uniform": ["0 s", "1 s"]}, **tcp),
        ],
        duration="40 s",
        measure=taken.measure,
        profile=taken.profile,
    )


def over_m(delay_ms: int) -> Grid:
    """Every queue with every m, at that delay of the bottleneck if the reading has no other."""
    return Grid(
        build=lambda name, m, reading: scenario(name, m, reading, OPEN[reading].delay_ms or delay_ms),
        names=QUEUES,
        along="m",
        values=tuple(range(1, 16)),
    )


AT_LONG_DELAY, AT_SHORT_DELAY = over_m(LONG), over_m(SHORT)

#: Eight joining flows, over the bottleneck's delay.
OVER_DELAY = Grid(
    build=lambda name, delay_ms, reading: scenario(name, 8, reading, delay_ms),
    names=QUEUES,
    along="delay_ms",
    values=(10, 20, 40, 90, 200),
)


def of_rared(parameter: str, *values: float) -> Grid:
    """RARED alone, one of its parameters at several values."""
    return Grid(
        build=lambda value, m, reading: scenario(
            "RARED", m, reading, OPEN[reading].delay_ms or LONG, **{parameter: value}
        ),
        names=values,
        series=parameter,
        along="m",
        values=(1, 5, 10, 15),
    )
