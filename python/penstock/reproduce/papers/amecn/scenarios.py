"""AMECN: what the paper leaves open, and the scenarios that are run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import penstock as ps
from penstock.reproduce.grids import Grid
from penstock.reproduce.model import Case, Settings
from penstock.reproduce.readings import Alternative, Reading, Readings, changing_only

if TYPE_CHECKING:
    from penstock.model.table import Table


# ---- what the paper leaves open


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """What a reading takes where the paper says nothing.

    every, levels, adaptive, ared: keys of all disciplines, of MECN and AMECN, of AMECN, of ARED.
    tcp, sender: keys of all senders, of the MECN senders.
    mid_th, segment, reverse_flows: of the load changes: packets, data packets' size, flows back.
    long_routes: where the flows over several links of the parking lot enter.
    """

    profile: str = "ns-2"
    every: Mapping[str, Any] = field(default_factory=dict)
    levels: Mapping[str, Any] = field(default_factory=dict)
    adaptive: Mapping[str, Any] = field(default_factory=dict)
    ared: Mapping[str, Any] = field(default_factory=dict)
    tcp: Mapping[str, Any] = field(default_factory=dict)
    sender: Mapping[str, Any] = field(default_factory=dict)
    mid_th: float = 10
    segment: str = "1000 B"
    reverse_flows: int = 1
    reverse_droptail: bool = False
    long_routes: tuple[str, ...] = ("R0", "R1")


#: The experiments: section 4.2, figures 9 and 10, figures 11 and 12.
LOAD_CHANGE, DUMBBELL, PARKING_LOT = "load change", "dumbbell", "parking lot"

#: The disciplines with two levels of marks, and the one that adapts.
LEVELS, ADAPTER = ("MECN", "AMECN"), ("AMECN",)

OPEN = Readings(
    Open(),
    Alternative(
        "mark_p=0.1",
        "All queues drop a capable packet where they would mark it with more than 0.1.",
        Open(every={"mark_p": 0.1}),
    ),
    Alternative(
        "rfc",
        "TCP and queues as the RFCs have them, not as ns-2 does; timeouts last a second at least.",
        Open(profile="rfc"),
    ),
    *changing_only(
        LEVELS,
        Alternative(
            "p_max=0.02",
            "P_max of MECN, and at AMECN's start, is 0.02.",
            Open(levels={"p1_max": 0.02}),
            where=(LOAD_CHANGE,),
        ),
        Alternative(
            "p_max=0.5",
            "P_max of MECN, and at AMECN's start, is 0.5.",
            Open(levels={"p1_max": 0.5}),
            where=(LOAD_CHANGE,),
        ),
        Alternative(
            "mid_th=11.25",
            "mid_th is 2.25 min_th (section 3.3.3), not the 10 packets of section 4.2.",
            Open(mid_th=11.25),
            where=(LOAD_CHANGE,),
        ),
    ),
    Alternative(
        "w_q=auto",
        "w_q from equation (5), 0.0053, not the printed 0.0027.",
        Open(every={"w_q": "auto"}),
        where=(LOAD_CHANGE,),
    ),
    Alternative(
        "segment=500B",
        "Packets of 500 bytes, for which the printed w_q is equation (5)'s. Section 4.1 prints 1000.",
        Open(segment="500 B"),
        where=(LOAD_CHANGE,),
        documented=False,
    ),
    Alternative(
        "reverse=none",
        "No flow the other way, so that no ACK waits or is dropped. Section 4.2 prints one flow.",
        Open(reverse_flows=0),
        where=(LOAD_CHANGE,),
        documented=False,
    ),
    Alternative(
        "floor=1",
        "A mark never cuts the window below one segment (RFC 3168); ns-2's senders have no such floor.",
        Open(tcp={"cwnd_floor": 1}),
    ),
    *changing_only(
        ("ARED",),
        Alternative(
            "ared.mark_p=0.1",
            "ARED drops above 0.1, as ns-2's does since 2002; AMECN never does so.",
            Open(ared={"mark_p": 0.1}),
            where=(DUMBBELL, PARKING_LOT),
        ),
    ),
    Alternative(
        "reverse=droptail", "The other direction has a DropTail queue.", Open(reverse_droptail=True), where=(DUMBBELL,)
    ),
    Alternative(
        "long=R0",
        "In the parking lot only the 20 flows that enter at R0 go all the way.",
        Open(long_routes=("R0",)),
        where=(PARKING_LOT,),
    ),
    *changing_only(
        LEVELS,
        Alternative(
            "above_max=gentle-mark",
            "Above max_th: moderate marks with rising probability.",
            Open(levels={"above_max": "gentle-mark"}),
        ),
        Alternative(
            "above_max=drop", "Above max_th: every packet is dropped (section 2.1).", Open(levels={"above_max": "drop"})
        ),
        Alternative(
            "incipient=hold",
            "An incipient mark keeps the window from growing and cuts nothing.",
            Open(sender={"incipient": "hold"}),
        ),
        Alternative(
            "incipient=additive",
            "An incipient mark takes one segment of the window.",
            Open(sender={"incipient": "additive"}),
        ),
        Alternative(
            "latch",
            "The receiver repeats a mark until the sender says that it has reduced its window, as in RFC 3168.",
            Open(sender={"latch": True}),
        ),
        Alternative(
            "escalate",
            "A moderate mark deepens the cut that an incipient one has made in the same window.",
            Open(sender={"escalate": True}),
        ),
    ),
    *changing_only(
        ADAPTER,
        Alternative(
            "alpha_scale=0.17", "α with the further factor 0.17 of equation (4).", Open(adaptive={"alpha_scale": 0.17})
        ),
        Alternative(
            "deadband=false",
            "P_max adapts at any distance from the middle of the target range.",
            Open(adaptive={"deadband": False}),
        ),
        Alternative(
            "adapt=p1",
            "P_max is that of the incipient ramp; the moderate one stays at 0.1.",
            Open(adaptive={"adapt": "p1"}),
        ),
        Alternative(
            "p2_over_p1=2",
            "The moderate ramp rises to twice the incipient one's ceiling.",
            Open(adaptive={"p2_over_p1": 2}),
        ),
        Alternative("beta_floor=0.83", "β is not below 0.83 (section 3.3.2).", Open(adaptive={"beta_floor": 0.83})),
    ),
)


def queue(aqm: str, reading: Reading, p_max: float | None = None, **keys: Any) -> Table:
    """Returns a discipline with `keys`, as the paper calls it. p_max: its P_max, under every reading."""
    taken = OPEN[reading]
    keys = {"mark_p": 1.0, **keys, **taken.every}
    if aqm == "ARED":
        keys |= taken.ared if p_max is None else {**taken.ared, "max_p": p_max}
        return ps.Ared(ecn=True, **{key: value for key, value in keys.items() if key != "mid_th"})
    keys |= taken.levels if p_max is None else {**taken.levels, "p1_max": p_max}
    if aqm == "AMECN":
        return ps.Amecn(**{**keys, **taken.adaptive})
    # One P_max for both of MECN's ramps.
    return ps.Mecn(**{**keys, "p2_max": keys.get("p1_max", 0.1)})


#: Packets; ns-2's, where the paper gives no window.
WINDOW = 20


def sender(aqm: str, reading: Reading) -> dict[str, Any]:
    """Returns the keys of a TCP sender that understands the queue's marks."""
    tcp = {"tcp": "reno", "window": WINDOW, **OPEN[reading].tcp}
    return {**tcp, "ecn": "classic"} if aqm == "ARED" else {**tcp, "ecn": "mecn", **OPEN[reading].sender}


# ---- 4.2: the load changes

CHANGE_S = 25.0
#: Where AMECN wants its average in figures 5 to 8: packets.
TARGET = (9.0, 12.0)
#: The paper's "within 15 seconds" are over.
SETTLED_S = 40.0


#: Keys of the disciplines of section 4.2; ARED takes all but mid_th.
THRESHOLDS: Mapping[str, Any] = {"min_th": 5, "max_th": 15, "w_q": 0.0027}


def load_change(aqm: str, load: str, reading: Reading, p_max: float | None = None) -> ps.Scenario:
    """Returns the scenario of figures 5 to 8: 2 flows and 1 the other way.

    At 25 s, 20 more flows start where the load `"rises"`, or stop where it `"falls"`.
    """
    taken = OPEN[reading]
    tcp = {**sender(aqm, reading), "segment": taken.segment}
    more: dict[str, Any] = {"start": {"every": "0.1 s", "from": "25 s"}}
    if load == "falls":
        more = {"start": {"every": "0.1 s", "from": "0 s"}, "stop": "25 s"}
    begin = {"uniform": ["0 s", "0.1 s"]}
    discipline = queue(aqm, reading, p_max, mid_th=taken.mid_th, **THRESHOLDS)
    back = [ps.Ftp(name="reverse", flows=1, direction="reverse", start=begin, **tcp)]
    return ps.Scenario(
        profile=taken.profile,
        topology=ps.Dumbbell(
            bottleneck=ps.Link(rate="1.5 Mbit/s", delay="40 ms", buffer=40, reverse_buffer=40),
            access=ps.Access(rate="10 Mbit/s", delay="2 ms"),
            egress=ps.Access(rate="10 Mbit/s", delay="4 ms"),
        ),
        aqm=discipline,
        reverse_aqm=discipline,
        traffic=[
            ps.Ftp(name="all along", flows=2, start=begin, **tcp),
            ps.Ftp(name="change", flows=20, **{**tcp, "window": 25}, **more),
            *back[: taken.reverse_flows],
        ],
        duration="50 s",
    )


def load_changes(load: str, *aqms: str) -> Grid:
    """Returns the cases of a figure of section 4.2."""
    return Grid(build=load_change, names=aqms, along="load", values=(load,), trace_s=0.05)


def _mecn_at(aqm: str, p_max: float, reading: Reading) -> ps.Scenario:
    return load_change(aqm, "rises", reading, p_max)


#: Equation (2): MECN at several P_max, where the load rises.
OVER_P_MAX = Grid(build=_mecn_at, names=("MECN",), along="p_max", values=(0.05, 0.1, 0.2, 0.4), trace_s=0.05)

#: Where P_max starts, and what the link of 1.5 Mbit/s is offered meanwhile.
ADAPTATION = {"rises": (0.01, "3 Mbit/s"), "falls": (0.5, "0.75 Mbit/s")}


def adaptation(aqm: str, way: str, reading: Reading) -> ps.Scenario:
    """Returns the scenario of section 3.3.2: P_max goes from one of its bounds to the other under a load that does not
    answer."""
    p_max, rate = ADAPTATION[way]
    return ps.Scenario(
        profile=OPEN[reading].profile,
        topology=ps.Dumbbell(bottleneck=ps.Link(rate="1.5 Mbit/s", delay="40 ms", buffer=40)),
        aqm=queue(aqm, reading, p_max, mid_th=10, **THRESHOLDS),
        traffic=[ps.Cbr(rate=rate, packet="1000 B", start={"uniform": ["0 s", "0.5 s"]})],
        duration="40 s",
    )


#: Figure 3's algorithm beside ARED's.
ADAPTATIONS = Grid(build=adaptation, names=("AMECN", "ARED"), along="way", values=("rises", "falls"), trace_s=0.1)

#: Of the flood that lifts the average through the profiles of figures 1 and 2.
PROFILE_BUFFER = 40


def profiles(settings: Settings, reading: Reading) -> Iterator[Case]:
    """Yields the cases of figures 1 and 2: RED and MECN while a flood lifts their average from 0.

    A discipline publishes the average and the probabilities of the last arrival. The thresholds are
    those of section 4.2, P_max is 0.1.
    """
    for name, aqm in (
        ("RED", ps.Red(min_th=5, max_th=15, w_q=0.0027, max_p=0.1, ecn=True, mark_p=1.0)),
        ("MECN", queue("MECN", reading, 0.1, mid_th=10, **THRESHOLDS)),
    ):
        flood = ps.Scenario(
            profile="ns-2",
            topology=ps.Dumbbell(bottleneck=ps.Link(rate="1.5 Mbit/s", delay="40 ms", buffer=PROFILE_BUFFER)),
            aqm=aqm,
            traffic=[ps.Cbr(rate="100 Mbit/s", packet="1000 B")],
            duration="0.4 s",
        )
        yield Case({"aqm": name}, flood, trace_s=0.0002)


# ---- 4.3: against ARED

#: Packets of 1000 B that the dumbbell's link carries in a second.
DUMBBELL_PKTS_S = 875.0


def dumbbell(aqm: str, target_ms: float, reading: Reading) -> ps.Scenario:
    """Returns the scenario of figures 9 and 10: 100 flows of 100 to 150 ms, web and reverse traffic over 7 Mbit/s."""
    tcp = sender(aqm, reading)
    discipline = queue(aqm, reading, target_delay=f"{target_ms} ms", w_q="auto")
    begin = {"uniform": ["0 s", "2 s"]}
    return ps.Scenario(
        profile=OPEN[reading].profile,
        topology=ps.Dumbbell(
            bottleneck=ps.Link(rate="7 Mbit/s", delay="40 ms", buffer=300, reverse_buffer=300),
            access=ps.Access(rate="10 Mbit/s", delay={"spread": ["6 ms", "31 ms"]}),
            egress=ps.Access(rate="10 Mbit/s", delay="4 ms"),
        ),
        aqm=discipline,
        reverse_aqm=ps.DropTail() if OPEN[reading].reverse_droptail else discipline,
        traffic=[
            ps.Ftp(name="long-lived", flows=100, start=begin, **tcp),
            ps.Ftp(name="reverse", flows=10, direction="reverse", start=begin, **tcp),
            ps.Web(
                name="web",
                sessions=20,
                pairs=10,
                start={"uniform": ["0 s", "1 s"]},
                object={"pareto": {"shape": 1.5, "mean": "12 kB", "max": "500 kB"}},
                think={"exponential": "1 s"},
                **tcp,
            ),
        ],
        duration="100 s",
        measure={"from": "50 s"},
    )


def parking_lot(aqm: str, target_ms: float, reading: Reading) -> ps.Scenario:
    """Returns the scenario of figures 11 and 12: 20 flows from R0 and 20 from R1 to R3, and 20 over each single
    link."""
    tcp = sender(aqm, reading)
    begin = {"uniform": ["0 s", "2 s"]}
    return ps.Scenario(
        profile=OPEN[reading].profile,
        topology=ps.ParkingLot(
            link=ps.Link(rate="10 Mbit/s", delay="2 ms", buffer=300, reverse_buffer=1000),
            access=ps.Access(rate="10 Mbit/s", delay="2 ms"),
            egress=ps.Access(rate="10 Mbit/s", delay="4 ms"),
            hops=3,
            cross_flows=20,
        ),
        aqm=queue(aqm, reading, target_delay=f"{target_ms} ms", w_q="auto"),
        traffic=[
            ps.Ftp(name=f"{enter} to R3", flows=20, from_=enter, start=begin, **tcp)
            for enter in OPEN[reading].long_routes
        ],
        duration="100 s",
        measure={"from": "50 s"},
    )


#: Over the target delays of figures 9, 10 and 12, in milliseconds.
over_targets = partial(
    Grid,
    names=("AMECN", "ARED"),
    along="target_ms",
    values=(10, 20, 30, 40, 60, 80, 100),
    by_name=True,
)
ON_DUMBBELL, ON_LOT = over_targets(build=dumbbell), over_targets(build=parking_lot)
