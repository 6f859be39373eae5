"""RARED: what the paper leaves open, and the scenarios that are run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import penstock as ps
from penstock.reproduce.grids import Grid
from penstock.reproduce.readings import DEFAULT, Alternative, Reading, Readings, as_the_rfcs, changing_only, of_our_own

# ---- what the paper leaves open


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """What a reading takes where the paper says nothing.

    long_ms, short_ms: the bottleneck's delay where the paper calls it long, and where short.
    rate, access_rate: of the bottleneck and of the access links.
    measure: the measured window; `None`: the whole run.
    rared: keys of RARED.
    """

    profile: str = "ns-2"
    mark_p: float = 1.0
    long_ms: int = 90
    short_ms: int = 10
    rate: str = "1.5 Mbit/s"
    access_rate: str = "10 Mbit/s"
    measure: Mapping[str, str] | None = None
    rared: Mapping[str, Any] = field(default_factory=dict)


#: The experiments that readings tell apart: those at a long delay, and those at a short one.
AT_LONG, AT_SHORT = "long", "short"

OPEN = Readings(
    Open(),
    Alternative(
        "mark_p=0.1",
        "As ns-2 since 2002: a capable packet is dropped all the same where p is above 0.1.",
        Open(mark_p=0.1),
    ),
    as_the_rfcs(Open(profile="rfc")),
    *of_our_own(
        Alternative("long=40ms", "A long link has a delay of 40 ms.", Open(long_ms=40), where=(AT_LONG,)),
        Alternative("long=200ms", "A long link has a delay of 200 ms.", Open(long_ms=200), where=(AT_LONG,)),
        Alternative(
            "rate=10M",
            "The bottleneck has 10 Mbit/s, the access links 100 Mbit/s.",
            Open(rate="10 Mbit/s", access_rate="100 Mbit/s"),
        ),
    ),
    Alternative(
        "short=20ms",
        "A short link has a delay of 20 ms, as in the network of ns-2's own tests of RED, whose "
        "access links these are.",
        Open(short_ms=20),
        where=(AT_SHORT,),
    ),
    Alternative(
        "window=20-40s",
        "Measured from second 20 on, when the m flows join, instead of over the whole run.",
        Open(measure={"from": "20 s"}),
    ),
    *changing_only(
        ("RARED",),
        Alternative(
            "climb=ramp",
            "max_p' is the ceiling of RED's ramp while the average climbs, not the probability itself.",
            Open(rared={"climb": "ramp"}),
        ),
        *of_our_own(
            Alternative(
                "base=ared", "RARED stands on ARED instead of RED: max_p adapts.", Open(rared={"base": "ared"})
            ),
            Alternative(
                "slope_of=instantaneous",
                "The queue's slope is held against slope_th, not the average's.",
                Open(rared={"slope_of": "instantaneous"}),
            ),
        ),
    ),
)

# ---- the scenarios of section 4

QUEUES = ("RED", "REM", "ARED", "RARED")
#: Not in the paper: RED whose one max_p is the probability that RARED signals with.
STRONG_RED = "RED with max_p 0.8"
#: A bottleneck's delay in ms: the paper's "long" and "short", as read.
LONG, SHORT = OPEN[DEFAULT].long_ms, OPEN[DEFAULT].short_ms
#: "Parameters used for RED is max_th = 15, min_th = 5, max_p = 0.1, w_q = 0.0019 and with gentle
#: mode on."
RED: Mapping[str, Any] = {"min_th": 5, "max_th": 15, "max_p": 0.1, "w_q": 0.0019, "gentle": True}


def queue(name: str, taken: Open, **changes: Any) -> Any:
    """Returns the discipline of that name, with ECN. changes: of RARED's own parameters."""
    both: dict[str, Any] = {"ecn": True, "mean_packet": "1000 B"}
    if name == "REM":
        return ps.Rem(phi=1.001, gamma=0.001, b_star=20, **both)
    both["mark_p"] = taken.mark_p
    if name == "RED":
        return ps.Red(**RED, **both)
    if name == STRONG_RED:
        return ps.Red(**{**RED, "max_p": 0.8}, **both)
    if name == "ARED":  # "the default values in ns-2"; all automatic
        return ps.Ared(**both)
    return ps.Rared(**RED, **both, **{"slope_th": 20, "max_p_climb": 0.8, **taken.rared, **changes})


def scenario(name: str, joining: int, reading: Reading, delay_ms: int = LONG, **changes: Any) -> ps.Scenario:
    """Returns section 4's dumbbell with `joining` flows from second 20 on."""
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


#: Every queue with every m.
AT_LONG_DELAY = Grid(
    build=lambda name, m, reading: scenario(name, m, reading, OPEN[reading].long_ms),
    names=QUEUES,
    along="m",
    values=tuple(range(1, 16)),
)
AT_SHORT_DELAY = replace(
    AT_LONG_DELAY, build=lambda name, m, reading: scenario(name, m, reading, OPEN[reading].short_ms)
)

#: RARED between two plain REDs.
BESIDE = AT_LONG_DELAY.only("RED", "RARED", STRONG_RED)

#: Eight joining flows, over the bottleneck's delay.
OVER_DELAY = Grid(
    build=lambda name, delay_ms, reading: scenario(name, 8, reading, delay_ms),
    names=QUEUES,
    along="delay_ms",
    values=(10, 20, 40, 90, 200),
)


def of_rared(parameter: str, *values: float) -> Grid:
    """Returns the cases of RARED alone, one of its parameters at several values."""
    return Grid(
        build=lambda value, m, reading: scenario("RARED", m, reading, OPEN[reading].long_ms, **{parameter: value}),
        names=values,
        series=parameter,
        along="m",
        values=(1, 5, 10, 15),
    )


#: The thresholds of the slope in packets a second that are shown, with eight joining flows.
OVER_SLOPE = Grid(
    build=lambda name, slope_th, reading: scenario(name, 8, reading, OPEN[reading].long_ms, slope_th=slope_th),
    names=("RARED",),
    along="slope_th",
    values=(5, 10, 20, 50, 100),
)
