"""Adaptive multi-level ECN: figures 5 to 12.

A. Durresi, M. Sridharan, R. Jain, "Adaptive multi-level explicit congestion notification", Int. J.
High Performance Computing and Networking 5(1/2), 2007, section 4. AMECN keeps its average queue in a
target range when the load changes, has more throughput than MECN then, and more than ARED at the
same delay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import penstock as ps
from penstock.reproduce import draw
from penstock.reproduce.claims import Comparison, Values, at_equal, of_one_case
from penstock.reproduce.draw import Panel
from penstock.reproduce.grids import Grid
from penstock.reproduce.measures import LOSS, Measure
from penstock.reproduce.model import Above, Below, Claim, Exhibit, Finding, Paper, Reading, Within
from penstock.reproduce.readings import Alternative, Readings, changing_only
from penstock.reproduce.words import minus

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock._table import Table
    from penstock.reproduce.runs import Quantity, Run, Runs

# ---- what the paper leaves open


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """What a reading takes where the paper says nothing.

    every, levels, adaptive, ared: keys of all disciplines, of MECN and AMECN, of AMECN, of ARED.
    sender: keys of the MECN senders.
    long_routes: where the flows over several links of the parking lot enter.
    """

    profile: str = "ns-2"
    every: Mapping[str, Any] = field(default_factory=dict)
    levels: Mapping[str, Any] = field(default_factory=dict)
    adaptive: Mapping[str, Any] = field(default_factory=dict)
    ared: Mapping[str, Any] = field(default_factory=dict)
    sender: Mapping[str, Any] = field(default_factory=dict)
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
    ),
    Alternative(
        "w_q=auto",
        "w_q from equation (5), 0.0053, not the printed 0.0027.",
        Open(every={"w_q": "auto"}),
        where=(LOAD_CHANGE,),
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


def queue(aqm: str, reading: Reading, **keys: Any) -> Table:
    """A discipline with `keys`, as the paper calls it."""
    taken = OPEN[reading]
    keys = {"mark_p": 1.0, **keys, **taken.every}
    if aqm == "ARED":
        return ps.Ared(ecn=True, **{**keys, **taken.ared})
    keys |= taken.levels
    if aqm == "AMECN":
        return ps.Amecn(**{**keys, **taken.adaptive})
    # One P_max for both of MECN's ramps.
    return ps.Mecn(**{**keys, "p2_max": keys.get("p1_max", 0.1)})


#: Packets; ns-2's, where the paper gives no window.
WINDOW = 20


def sender(aqm: str, reading: Reading) -> dict[str, Any]:
    """The keys of a TCP sender that understands the queue's marks."""
    tcp = {"tcp": "reno", "window": WINDOW}
    return {**tcp, "ecn": "classic"} if aqm == "ARED" else {**tcp, "ecn": "mecn", **OPEN[reading].sender}


# ---- 4.2: the load changes

CHANGE_S = 25.0
#: Where AMECN wants its average in figures 5 to 8: packets.
TARGET = (9.0, 12.0)
#: The paper's "within 15 seconds" are over.
SETTLED_S = 40.0


def load_change(aqm: str, load: str, reading: Reading) -> ps.Scenario:
    """Figures 5 to 8: 2 flows and 1 the other way; 20 more come at 25 s (`"rises"`) or go then (`"falls"`)."""
    tcp = sender(aqm, reading)
    more: dict[str, Any] = {"start": {"every": "0.1 s", "from": "25 s"}}
    if load == "falls":
        more = {"start": {"every": "0.1 s", "from": "0 s"}, "stop": "25 s"}
    begin = {"uniform": ["0 s", "0.1 s"]}
    discipline = queue(aqm, reading, min_th=5, mid_th=10, max_th=15, w_q=0.0027)
    return ps.Scenario(
        profile=OPEN[reading].profile,
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
            ps.Ftp(name="reverse", flows=1, direction="reverse", start=begin, **tcp),
        ],
        duration="50 s",
    )


def load_changes(load: str, *aqms: str) -> Grid:
    """The cases of a figure of section 4.2."""
    return Grid(build=load_change, names=aqms, along="load", values=(load,), trace_s=0.05)


# ---- 4.3: against ARED

#: Packets of 1000 B that the dumbbell's link carries in a second.
DUMBBELL_PKTS_S = 875.0


def dumbbell(aqm: str, target_ms: float, reading: Reading) -> ps.Scenario:
    """Figures 9 and 10: 100 flows of 100 to 150 ms, web and reverse traffic over 7 Mbit/s."""
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
    """Figures 11 and 12: 20 flows from R0 and 20 from R1 to R3, and 20 over each of the three links alone."""
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
    quick=(10, 40, 100),
    by_name=True,
)
ON_DUMBBELL, ON_LOT = over_targets(build=dumbbell), over_targets(build=parking_lot)

# ---- what is measured


def mean_avg(run: Run, since: float, until: float) -> float:
    """The mean of avg between two times in seconds: packets."""
    return float(np.mean(run.recorded("avg_pkts", since, until)))


def settled_avg(run: Run) -> float:
    """Mean of avg from 15 s after the change to the end: packets."""
    return mean_avg(run, SETTLED_S, run.scenario.duration_s)


def return_s(run: Run) -> float:
    """Seconds from the change until the mean of avg over 5 s is in the target range.

    Returns 20 where it never is.
    """
    window = 5.0
    for since in np.arange(CHANGE_S, run.scenario.duration_s - window, 0.1):
        if TARGET[0] <= mean_avg(run, since, since + window) <= TARGET[1]:
            return float(since) - CHANGE_S
    return run.scenario.duration_s - window - CHANGE_S


def percent_used(run: Run) -> float:
    """Utilization in percent."""
    return 100.0 * (run.metrics["utilization"] or 0.0)


def target_pkts(run: Run) -> float:
    """The target delay in packets of the dumbbell's link."""
    return float(run.labels["target_ms"]) * 1e-3 * DUMBBELL_PKTS_S


def summed_delay_ms(run: Run) -> float:
    """Mean queueing delays of the parking lot's three links, forward, added up."""
    return 1e3 * sum(run.links[name]["delay_mean_s"] or 0.0 for name in ("R0-R1", "R1-R2", "R2-R3"))


def long_goodput_bps(run: Run) -> float:
    """What the flows over more than one link receive: the groups before the one-hop flows'."""
    return sum(group["goodput_bps"] or 0.0 for group in run.groups[:-1])


UTILIZATION = Measure(quantity=percent_used, unit="percentage points")
TOTAL = Measure(quantity="goodput_bps", scale=1e-6, unit="Mbit/s", axis="total throughput [Mbit/s]")
LONG = Measure(quantity=long_goodput_bps, scale=1e-6, unit="Mbit/s", axis="of it, flows over several links [Mbit/s]")

# ---- figures

ORDER = ("AMECN", "ARED", "MECN")
EVENTS = {"rises": {CHANGE_S: "20 flows start"}, "falls": {CHANGE_S: "20 flows stop"}}


def load_exhibit(key: str, aqm: str, load: str) -> Exhibit:
    """One of figures 5 to 8."""
    more = "more" if load == "rises" else "fewer"
    return Exhibit(
        key=key,
        title=f"{aqm} when the load {load}",
        cases=load_changes(load, aqm),
        show=partial(draw.traces, panels="aqm", target=TARGET, events=EVENTS[load], top=44, order=ORDER),
        caption=f"Queue and average at 1.5 Mbit/s with 20 flows {more} from 25 s on; the band is AMECN's target range "
        "of 9 to 12 packets. P_max of 0.1 is our reading.",
    )


EXHIBITS = (
    load_exhibit("fig5", "MECN", "rises"),
    load_exhibit("fig6", "AMECN", "rises"),
    load_exhibit("fig7", "MECN", "falls"),
    load_exhibit("fig8", "AMECN", "falls"),
    Exhibit(
        key="fig9",
        title="Throughput over average delay, dumbbell",
        cases=ON_DUMBBELL,
        show=partial(
            draw.curves,
            x="queue_mean_pkts",
            quantity="utilization",
            series="aqm",
            along="target_ms",
            scale=100,
            xlabel="mean queueing delay [packets]",
            ylabel="link utilization [%]",
            order=ORDER,
        ),
        caption="100 flows, web and reverse traffic over 7 Mbit/s; a point is a target delay from 10 to 100 ms, "
        "measured from 50 to 100 s. The delay is the mean queue, ACKs of the reverse flows included. An independent "
        "implementation inside ns-2 has 94.3, 95.5 and 93.2 % for AMECN at 10, 20 and 100 ms, 94.0, 95.3 and 98.6 % "
        "for ARED at 10, 20 and 80 ms.",
    ),
    Exhibit(
        key="fig10",
        title="Measured over target delay, dumbbell",
        cases=ON_DUMBBELL,
        show=partial(
            draw.curves,
            x=target_pkts,
            quantity="queue_mean_pkts",
            series="aqm",
            along="target_ms",
            xlabel="target delay [packets]",
            ylabel="measured mean delay [packets]",
            diagonal="measured = target",
            order=ORDER,
        ),
        caption="The runs of figure 9. A packet of delay is 8/7 ms, a full packet's time on the link.",
    ),
    Exhibit(
        key="fig12",
        title="Throughput over average delay, three congested links",
        cases=ON_LOT,
        show=partial(
            draw.side_by_side,
            x=summed_delay_ms,
            panels=(Panel(TOTAL, (None, None)), Panel(LONG)),
            along="target_ms",
            xlabel="summed mean queueing delay [ms]",
            size=(9.6, 3.9),
            order=ORDER,
        ),
        caption="Left, the paper's figure: what all flows receive, over the queueing delays of the three 10 Mbit/s "
        "links added up; a point is a target delay from 10 to 100 ms. Right, ours: the part of it that goes to flows "
        "over two or three links. Full links carry between 10 and 30 Mbit/s in all: most where nothing goes to those. "
        "Inside ns-2: 28.5 and 26.3 Mbit/s for AMECN at 10 and 40 ms, 24.7 and 23.9 for ARED.",
    ),
)

# ---- claims


def load_claims(load: str, mecn: str, amecn: str, levels: tuple[float, float]) -> Iterator[Claim]:
    """What section 4.2 says of both changes. levels: the paper's utilizations in percent."""
    readings = OPEN.touching("AMECN", where=LOAD_CHANGE)
    of_amecn = partial(Claim, exhibit=amecn, cases=load_changes(load, "AMECN"), readings=readings)
    yield of_amecn(
        key=f"{amecn}.settled",
        text=f"From 15 s after the load {load} AMECN's average is in its target range of 9 to 12 packets: the mean of "
        "avg from 40 to 50 s.",
        paper_value="9 to 12 packets",
        unit="packets",
        values=of_one_case(settled_avg),
        rule=Within(*TARGET),
    )
    yield of_amecn(
        key=f"{amecn}.return",
        text=f"After the load {load} AMECN brings its average back into the target range within about 15 s (here: 18): "
        "the time until the mean of avg over the next 5 s is in the range, 20 s where that never comes.",
        paper_value="about 15 s",
        unit="s",
        values=of_one_case(return_s),
        rule=Below(18.0),
    )
    yield over_mecn(load).difference(
        UTILIZATION,
        key=f"{amecn}.throughput",
        text=f"AMECN has a slightly higher throughput than MECN where the load {load}: the difference in utilization "
        "over the whole run.",
        paper_value=f"{levels[1]} % against {levels[0]} %",
        rule=Above(),
    )
    for figure, aqm, level in ((mecn, "MECN", levels[0]), (amecn, "AMECN", levels[1])):
        yield Claim(
            key=f"{figure}.level",
            text=f"{aqm}'s throughput where the load {load} is {level} % of the link's rate, within one percentage "
            "point.",
            exhibit=figure,
            paper_value=f"{level} %",
            unit="%",
            cases=load_changes(load, aqm),
            values=of_one_case(percent_used),
            rule=Within(level - 1, level + 1),
            readings=OPEN.touching(aqm, where=LOAD_CHANGE),
        )


def over_mecn(load: str) -> Comparison:
    """AMECN against MECN where the load changes."""
    readings = OPEN.touching("AMECN", "MECN", where=LOAD_CHANGE)
    return Comparison.on(load_changes(load, "AMECN", "MECN"), "AMECN", "MECN", readings=readings)


def rise_claims() -> Iterator[Claim]:
    """What section 4.2 says of the rise alone."""
    for key, measure, said, text in (
        (
            "avg",
            Measure(quantity="avg_queue_mean_pkts", unit="packets"),
            "slightly lower",
            "a lower overall average queue",
        ),
        ("drops", LOSS, "smaller", "a smaller packet drop rate, all packets"),
        (
            "data_drops",
            replace(LOSS, quantity="data_loss_ratio"),
            "smaller",
            "a smaller drop rate of data packets; the others are ACKs, which are dropped where data would be marked",
        ),
    ):
        yield over_mecn("rises").difference(
            measure,
            key=f"fig6.{key}",
            text=f"Where the load rises AMECN has {text}: the difference to MECN over the whole run.",
            paper_value=said,
            rule=Below(),
        )


over_ared = partial(Comparison.on, ours="AMECN", theirs="ARED")
ARED_ON_DUMBBELL = over_ared(ON_DUMBBELL, readings=OPEN.touching("AMECN", "ARED", where=DUMBBELL))
ARED_ON_LOT = over_ared(ON_LOT, readings=OPEN.touching("AMECN", "ARED", where=PARKING_LOT))


def at_equal_delay(x: Quantity, y: Quantity, scale: float, gather: Callable[..., Any] = np.mean) -> Values:
    """AMECN's y minus ARED's at equal delays x: the mean, or the least, over their common range."""

    def values(runs: Runs) -> Sequence[float]:
        differences = at_equal(runs, x, y, "target_ms", {"aqm": "AMECN"}, {"aqm": "ARED"})
        return [float(v) for v in scale * gather(differences, axis=1)]

    return values


def throughput_claims() -> Iterator[Claim]:
    """Figure 9."""
    for key, text, gather in (
        (
            "utilization",
            "AMECN has the higher throughput at the same average delay: the difference in utilization to ARED at "
            "equal mean queues, over the range that both reach (curves interpolated).",
            np.mean,
        ),
        ("least", "AMECN's curve lies above ARED's all along: the least of those differences over the range.", np.min),
    ):
        yield ARED_ON_DUMBBELL.claim(
            key=f"fig9.{key}",
            text=text,
            paper_value="higher",
            unit="percentage points",
            values=at_equal_delay("queue_mean_pkts", "utilization", 100, gather),
            rule=Above(),
        )
    yield ARED_ON_DUMBBELL.difference(
        UTILIZATION,
        key="fig9.target",
        text="AMECN has the higher throughput for a given target delay: the difference in utilization to ARED, mean "
        "over the targets.",
        paper_value="higher",
        rule=Above(),
    )


def in_packets(run: Run) -> float:
    """The mean queue over the target delay, both in packets."""
    return (run.metrics["queue_mean_pkts"] or 0.0) / target_pkts(run)


def in_time(run: Run) -> float:
    """The time that data packets wait, over the target delay."""
    return 1e3 * (run.metrics["data_delay_mean_s"] or 0.0) / float(run.labels["target_ms"])


def miss(runs: Runs, aqm: str, ratio: Callable[[Run], float]) -> NDArray[np.float64]:
    """|measured/target − 1| in percent, the mean over the targets."""
    each = [runs.values(ratio, aqm=aqm, target_ms=at) for at in runs.labels("target_ms")]
    found: NDArray[np.float64] = 100 * np.mean(np.abs(np.array(each) - 1), axis=0)
    return found


def misses(aqm: str, ratio: Callable[[Run], float]) -> Values:
    """A claim's values: `miss` for one discipline."""
    return lambda runs: list(miss(runs, aqm, ratio))


def slope(runs: Runs) -> Sequence[float]:
    """Least-squares slope of the measured over the target delay, for the only discipline."""
    targets = runs.labels("target_ms")
    x = np.array([float(at) * 1e-3 * DUMBBELL_PKTS_S for at in targets])
    y = np.array([runs.values("queue_mean_pkts", target_ms=at) for at in targets])
    return [float(v) for v in np.polyfit(x, y, 1)[0]]


def target_claims() -> Iterator[Claim]:
    """Figure 10."""
    for aqm in ("AMECN", "ARED"):
        close = f"{aqm}'s measured delay is very close to the target, within 10 %:"
        ratios: tuple[tuple[str, str, Callable[[Run], float]], ...] = (
            ("", "|measured/target − 1|, mean over the targets, delays as the mean queue in packets.", in_packets),
            (".time", "the same measure, delays as the time that data packets wait.", in_time),
        )
        of_one = partial(
            Claim, exhibit="fig10", cases=ON_DUMBBELL.only(aqm), readings=OPEN.touching(aqm, where=DUMBBELL)
        )
        for suffix, text, ratio in ratios:
            yield of_one(
                key=f"fig10.{aqm.lower()}{suffix}",
                text=f"{close} {text}",
                paper_value="very closely",
                unit="%",
                values=misses(aqm, ratio),
                rule=Below(10.0),
            )
        yield of_one(
            key=f"fig10.{aqm.lower()}.slope",
            text=f"A target that is one packet higher raises {aqm}'s measured delay by 0.9 to 1.1 packets: figure 10's "
            "slope.",
            paper_value="close to 1",
            unit="packets/packet",
            values=slope,
            rule=Within(0.9, 1.1),
        )
    yield ARED_ON_DUMBBELL.claim(
        key="fig10.closer",
        text="AMECN keeps to the target no worse than ARED: the difference in |measured/target − 1|, mean over the "
        "targets, delays in packets.",
        paper_value="both very closely",
        unit="percentage points",
        values=lambda runs: list(miss(runs, "AMECN", in_packets) - miss(runs, "ARED", in_packets)),
        rule=Below(),
    )


def three_links_claims() -> Iterator[Claim]:
    """Figure 12."""
    for key, measure, said, text in (
        (
            "throughput",
            TOTAL,
            "higher",
            "With three congested links AMECN has the higher overall throughput at the same summed queueing delay",
        ),
        (
            "long",
            LONG,
            "not given",
            "Beyond the paper: of that throughput the flows over two or three links get more, too",
        ),
    ):
        yield ARED_ON_LOT.claim(
            key=f"fig12.{key}",
            text=f"{text}: the difference to ARED over the range of delays that both reach (curves interpolated).",
            paper_value=said,
            unit=measure.unit,
            values=at_equal_delay(summed_delay_ms, measure.quantity, measure.scale),
            rule=Above(),
        )


CLAIMS = (
    *load_claims("rises", "fig5", "fig6", (94.5, 96.3)),
    *rise_claims(),
    *load_claims("falls", "fig7", "fig8", (93.4, 94.5)),
    *throughput_claims(),
    *target_claims(),
    *three_links_claims(),
)

# ---- what was found, and what was read


def discussion(found: Mapping[str, Finding]) -> str:
    """The findings under the default reading, in words."""

    def number(key: str) -> str:
        at = found[key]
        half = "" if at.estimate is None or at.high is None else f" ± {at.high - at.estimate:.2g}"
        return minus(f"{at.estimate:.3g}{half} {at.claim.unit}")

    def say(key: str) -> str:
        return f"{number(key)} ({found[key].verdict})"

    return "\n\n".join(
        (
            f"The load changes. When it rises, AMECN's average ends at {say('fig6.settled')} and is back in its "
            f"range of 9 to 12 packets after {say('fig6.return')}; when it falls, at {say('fig8.settled')}, after "
            f"{say('fig8.return')}; 20 s stand for never. P_max may not exceed 0.5: where the average is above its "
            "range with P_max at that bound, nothing is left to adapt. Throughput over MECN's: "
            f"{say('fig6.throughput')} for the rise, "
            f"{say('fig8.throughput')} for the fall. P_max takes at least 2 s from 0.5 down to 0.1 (β is 0.66 or more, "
            "twice a second); meanwhile the flows that are left are marked as if the others were still there. MECN has "
            "no such memory.",
            f"The average queue over MECN's: {say('fig6.avg')}. Drops over MECN's: {say('fig6.drops')} of all packets, "
            f"{say('fig6.data_drops')} of data packets. ACKs of the reverse flow are not ECN-capable: what is a mark "
            "for data is a drop for them, so a queue that marks more also drops more of them.",
            f"Against ARED. Utilization over ARED's at the same mean queue: {say('fig9.utilization')}, where it is "
            f"least {say('fig9.least')}; at the same target: {say('fig9.target')}. From the target AMECN's mean queue "
            f"is off by {say('fig10.amecn')}, ARED's by {say('fig10.ared')}; in waiting time of data packets "
            f"{say('fig10.amecn.time')} and {say('fig10.ared.time')}: the queue also holds short ACKs, so that packets "
            f"and time are not proportional. The slope of figure 10 is {say('fig10.amecn.slope')} for AMECN, "
            f"{say('fig10.ared.slope')} for ARED.",
            f"Three congested links. Total throughput over ARED's: {say('fig12.throughput')}; of it the flows over "
            f"two or three links: {say('fig12.long')}. A packet that crosses three links counts once and takes the "
            "place of three that cross one, so the total is highest where the long flows get nothing: read it beside "
            "the panel on the right.",
            "Beside ns-2. An independent implementation inside ns-2 (validation/ns2x.csv) has, for the rise, a "
            f"utilization of 96.0 % under MECN and 96.6 % under AMECN; here {number('fig5.level')} and "
            f"{number('fig6.level')}. For AMECN's fall it has 90.8 ± 1.8 %; here {number('fig8.level')}.",
        )
    )


UNSTATED = (
    "P_max of MECN and AMECN's first: 0.1 for both ramps, ns-2's default.",
    "Which ceiling AMECN adapts: both, at the same value.",
    "Above max_th section 2.1 drops all packets and section 3.3.1 is gentle: drops with a probability that rises from "
    "P_max to 1 at 2 max_th.",
    "α is Figure 3's; equation (4) has a further factor 0.17 that contradicts it. β as printed, down to 0.66.",
    "AMECN adapts outside its target range only, around the middle of it.",
    "w_q of figures 5 to 8 is the printed 0.0027, which is equation (5)'s for packets of 500 bytes; mid_th is the "
    "printed 10 packets, not 2.25 min_th.",
    "The receiver's window where none is given: 20 packets, ns-2's.",
    "How long figures 5 to 8 run: 50 s; throughput is the share of the link's rate that is used, over all of it.",
    "The direction back has the same discipline and buffer, as ns-2's duplex links do; ACKs are not ECN-capable.",
    "Figures 9 and 10: buffer of 300 packets, 10 reverse flows, 20 web sessions (Pareto objects of 12 kB, a second of "
    "thought), flows' round trips in even steps from 100 to 150 ms, targets of 10 to 100 ms. Delay in packets is the "
    "mean queue.",
    'Figure 11: access links of 10 Mbit/s, 2 and 4 ms, buffer of 300 packets; "at R0 and R1 20 flows enter" is 20 at '
    "each.",
    "ARED is Floyd's of 2001 with its automatic parameters, its senders classic ECN's; both mark at any probability.",
)

PAPER = Paper(
    key="amecn",
    name="AMECN",
    citation="A. Durresi, M. Sridharan, R. Jain, Adaptive multi-level explicit congestion notification, "
    "Int. J. High Performance Computing and Networking 5(1/2), 2007",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    discussion=discussion,
)
