"""RED-AT, RED with adaptive thresholds: the reproduction of its section 6, figures 8 to 12.

N sources, 70 % of them FTP and 30 % HTTP, share a link. The paper says of RED-AT, which moves RED's
two thresholds with the region that the average queue stays in: it has smaller oscillations of the
queue and its average, the lowest drop rate and jitter and the highest throughput. ARED's throughput
meets RED-AT's at high load, where RED's declines sharply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import penstock as ps
from penstock import style
from penstock.reproduce import draw
from penstock.reproduce.claims import Comparison
from penstock.reproduce.draw import Panel
from penstock.reproduce.grids import Grid
from penstock.reproduce.measures import LOSS, Measure
from penstock.reproduce.model import (
    Above,
    Below,
    Case,
    Cases,
    Claim,
    Exhibit,
    Finding,
    Paper,
    Reading,
    Settings,
    Within,
)
from penstock.reproduce.readings import Alternative, Readings, as_the_rfcs, changing_only, marking_up_to_0_1
from penstock.reproduce.words import measured, tally

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from penstock.reproduce.runs import Run, Runs

# ---- what the paper leaves open


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """What a reading takes where the paper says nothing, or nothing clear.

    mark_p: the queues mark up to this probability and the flows use ECN; `None`: they drop.
    red_at: keys of RED-AT.
    ared: whose ARED it is.
    gentle: RED's, ARED's and RED-AT's.
    http_of: the HTTP sources as a part of N. extra_http: those besides the N.
    """

    profile: str = "ns-2"
    rate: str = "10 Mbit/s"
    delay: str = "20 ms"
    mark_p: float | None = None
    red_at: Mapping[str, Any] = field(default_factory=dict)
    ared: str = "Floyd"
    gentle: tuple[bool, bool, bool] = (False, True, False)
    http_of: float = 0.3
    extra_http: int = 0


def bounds(of_min: float, of_max: float) -> Mapping[str, float]:
    """min± and max± as parts of the nominal 10 and 30 packets."""
    return {
        "min_lo": 10 * (1 - of_min),
        "min_hi": 10 * (1 + of_min),
        "max_lo": 30 * (1 - of_max),
        "max_hi": 30 * (1 + of_max),
    }


OPEN = Readings(
    Open(),
    as_the_rfcs(Open(profile="rfc")),
    Alternative(
        "gentle",
        "All three are gentle above max_th, as ns-2's RED is unless told otherwise.",
        Open(gentle=(True, True, True)),
    ),
    Alternative("rate=1.5M", "The link has 1.5 Mbit/s.", Open(rate="1.5 Mbit/s")),
    Alternative("rate=45M", "The link has 45 Mbit/s.", Open(rate="45 Mbit/s")),
    Alternative("delay=80ms", "The link's delay is 80 ms.", Open(delay="80 ms")),
    Alternative("ecn", "The flows use ECN and the queues mark, at any probability below 1.", Open(mark_p=1.0)),
    marking_up_to_0_1(Open(mark_p=0.1)),
    Alternative("http=0", "All N sources are FTP.", Open(http_of=0)),
    Alternative("http=50%", "Half of the N sources are HTTP.", Open(http_of=0.5)),
    Alternative(
        "http=30", "N counts the FTP sources; 30 HTTP sources are always there.", Open(http_of=0, extra_http=30)
    ),
    *changing_only(
        ("ARED",),
        Alternative("ared=feng", "ARED is Feng's of 1999, max_p times 2 or over 3.", Open(ared="Feng")),
        Alternative("ared=blue", "ARED is what the paper's Fig. 4 prints under that name: BLUE.", Open(ared="BLUE")),
        Alternative(
            "ared.gentle=false", "ARED, too, drops every packet above max_th.", Open(gentle=(False, False, False))
        ),
    ),
    *changing_only(
        ("RED-AT",),
        Alternative("bounds=20/10%", "Narrower bounds: min_th ± 20 %, max_th ± 10 %.", Open(red_at=bounds(0.2, 0.1))),
        Alternative("bounds=50/50%", "Wider bounds of max_th: ± 50 %.", Open(red_at=bounds(0.5, 0.5))),
        Alternative(
            "region_a=min_minus",
            "Region a is below min⁻, as Fig. 5 suggests, not below min⁺ as Fig. 6 prints.",
            Open(red_at={"region_a": "min_minus"}),
        ),
        Alternative(
            "reset=false", "Between the regions the thresholds stay where they are.", Open(red_at={"reset": False})
        ),
        Alternative(
            "alpha=0.01", "Steps of a tenth: α = 0.01, β = 0.005.", Open(red_at={"alpha": 0.01, "beta": 0.005})
        ),
    ),
)

# ---- the scenarios of section 6

QUEUES = ("RED", "ARED", "RED-AT")
#: "All three schemes use parameters w_q = 0.002, max_p = 0.1, min_th = 10 packets and max_th = 30 packets."
PARAMETERS: Mapping[str, Any] = {"w_q": 0.002, "max_p": 0.1, "min_th": 10, "max_th": 30}


def queue(name: str, taken: Open) -> Any:
    """The discipline of that name."""
    common: dict[str, Any] = {"mean_packet": "1000 B"}
    if taken.mark_p is not None:
        common["ecn"] = True
    if name == "ARED" and taken.ared == "BLUE":
        return ps.Blue(**common)
    if taken.mark_p is not None:
        common["mark_p"] = taken.mark_p
    if name == "ARED" and taken.ared == "Feng":
        return ps.FengAred(**PARAMETERS, **common, gentle=False)
    gentle = dict(zip(QUEUES, taken.gentle, strict=True))[name]
    own: dict[str, Any] = {**PARAMETERS, **common, "gentle": gentle}
    if name == "RED-AT":
        return ps.RedAt(**{**own, **bounds(0.5, 0.2), "alpha": 0.1, "beta": 0.05, **taken.red_at})
    return ps.Ared(**own) if name == "ARED" else ps.Red(**own)


def scenario(name: str, n: int, reading: Reading) -> ps.Scenario:
    """Fig. 7: N sources through R1, where the discipline is, to a sink behind R2."""
    taken = OPEN[reading]
    ecn = "off" if taken.mark_p is None else "classic"
    tcp: dict[str, Any] = {"tcp": "reno", "segment": "1000 B", "window": 20, "ecn": ecn}
    start = {"uniform": ["0 s", "1 s"]}
    http = int(taken.http_of * n)
    traffic: list[Any] = [ps.Ftp(name="FTP", flows=n - http, start=start, **tcp)]
    http += taken.extra_http
    if http:
        traffic.append(ps.Web(name="HTTP", sessions=http, pairs=http, start=start, **tcp))
    access = ps.Access(rate="100 Mbit/s", delay="5 ms")
    return ps.Scenario(
        profile=taken.profile,
        topology=ps.Dumbbell(
            bottleneck=ps.Link(rate=taken.rate, delay=taken.delay, buffer=50, reverse_buffer=1000),
            access=access,
            egress=access,
        ),
        aqm=queue(name, taken),
        traffic=traffic,
        duration="150 s",
    )


def at_80(*queues: str) -> Cases:
    """Experiment 1: N = 80, recorded."""

    def cases(settings: Settings, reading: Reading) -> Iterator[Case]:
        for name in queues:
            yield Case({"aqm": name}, scenario(name, 80, reading), trace_s=0.05)

    return cases


ONLY_RED_AT = at_80("RED-AT")

#: Experiment 2: every N.
OVER_FLOWS = Grid(
    build=scenario, names=QUEUES, along="N", values=(5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100), quick=(5, 40, 100)
)
#: The loads that claims are about, as the paper groups them: "low to medium" and "high".
LOW, HIGH = (5, 20, 40), (60, 80, 100)

# ---- what is measured

#: Experiment 1 is judged from here on: the flows have started, slow start is over.
SETTLED_S = 20.0


def jitter_s(run: Run) -> float | None:
    """The standard deviation of the queueing delay."""
    variance = run.metrics["delay_var_s2"]
    return None if variance is None else float(np.sqrt(variance))


def goodput_bps(run: Run) -> float:
    """What all sources get through, FTP and HTTP: payload acknowledged, each byte once."""
    return sum(group["goodput_bps"] or 0.0 for group in run.groups)


def settled(column: str, of: Callable[[NDArray[np.float64]], Any]) -> Measure:
    """A number of a recorded series from `SETTLED_S` on, in packets."""
    return Measure(quantity=lambda run: float(of(run.recorded(column, since=SETTLED_S))), unit="packets")


DROPS = replace(LOSS, axis="drop rate [%]")
THROUGHPUT = Measure(quantity="throughput_bps", scale=1e-6, axis="throughput of the link [Mbit/s]")
GOODPUT = Measure(quantity=goodput_bps, scale=1e-6, axis="goodput of all sources [Mbit/s]")
JITTER = Measure(quantity=jitter_s, scale=1e3, unit="ms", axis="standard deviation of the delay [ms]")
CONSECUTIVE = Measure(quantity="delay_variation_s", scale=1e3, unit="ms", axis="change from packet to packet [ms]")
UTILIZATION = Measure(quantity="utilization", scale=100, unit="percentage points")

# ---- figures

N_AXIS = "number of flows N"
#: The part of experiment 1 that is shown: all of it would be a band.
SHOWN_S = (60.0, 90.0)


def show_queues(runs: Runs) -> Figure:
    """Figure 8 or 9, with RED's thresholds."""
    made = draw.traces(runs, "aqm", target=(10.0, 30.0), top=52, order=QUEUES)
    made.axes[0].set_xlim(*SHOWN_S)
    return made


def show_thresholds(runs: Runs) -> Figure:
    """Ten seconds of RED-AT's queue, its average and its thresholds."""
    run = min(runs, key=lambda run: run.seed)
    shown = (60.0, np.nextafter(70.0, np.inf))
    with style.context():
        made = draw.figure(7.6, 3.6)
        ax = made.subplots()
        for column, text, level, colour, width, drawn in (
            ("queue_pkts", "queue", 48.0, style.look(QUEUES.index("RED-AT")).colour, 0.8, "default"),
            ("avg_pkts", "average", 21.0, style.INK, 1.8, "default"),
            ("max_th", "max_th", 39.0, style.look(1).colour, 1.4, "steps-post"),
            ("min_th", "min_th", 2.0, style.look(0).colour, 1.4, "steps-post"),
        ):
            t, series = (run.recorded(name, *shown) for name in ("t_s", column))
            ax.plot(t, series, color=colour, linewidth=width, drawstyle=drawn)
            draw.write(ax, text, (1.01, level / 52), colour, beside=True)
        ax.set_xlim(60, 70)
        ax.set_ylim(0, 52)
        ax.set_xlabel("time [s]")
        ax.set_ylabel("packets")
    return made


def show_throughput(runs: Runs) -> Figure:
    """Figure 11, read in two ways."""
    panels = (Panel(THROUGHPUT, (7.0, 10.0)), Panel(GOODPUT, (7.0, 10.0)))
    return draw.side_by_side(runs, "N", panels, xlabel=N_AXIS, order=QUEUES)


def show_jitter(runs: Runs) -> Figure:
    """Figure 12, read in two ways."""
    return draw.side_by_side(runs, "N", (Panel(JITTER), Panel(CONSECUTIVE)), xlabel=N_AXIS, order=QUEUES)


EXHIBITS = (
    Exhibit(
        key="fig8",
        title="Queue and average queue over time with N = 80: RED",
        cases=at_80("RED"),
        show=show_queues,
        caption="Thirty of 150 s. The band reaches from min_th = 10 to max_th = 30 packets.",
    ),
    Exhibit(
        key="fig9",
        title="Queue and average queue over time with N = 80: RED-AT",
        cases=ONLY_RED_AT,
        show=show_queues,
        caption="Thirty of 150 s. The band reaches from min_th = 10 to max_th = 30 packets, RED-AT's nominal "
        "thresholds.",
    ),
    Exhibit(
        key="fig6",
        title="Not shown in the paper: what RED-AT's thresholds do in Fig. 9",
        cases=ONLY_RED_AT,
        show=show_thresholds,
        caption="Ten seconds of seed 1, sampled every 50 ms. Region a (average below 15) lifts both thresholds, region "
        "c (above 24) lowers both, between them they are at 10 and 30. From one bound to the other min_th takes 10 "
        "steps of 5 arrivals and max_th 20, less than 0.1 s.",
    ),
    Exhibit(
        key="fig10",
        title="Drop rate over the number of flows",
        cases=OVER_FLOWS,
        show=draw.over("N", DROPS, xlabel=N_AXIS, order=QUEUES),
        caption="Packets dropped at R1 over packets that arrived there.",
    ),
    Exhibit(
        key="fig11",
        title="Throughput over the number of flows",
        cases=OVER_FLOWS,
        show=show_throughput,
        caption="Left, all that crossed the link of 10 Mbit/s; right, payload that was acknowledged, each byte once. "
        "The axes do not begin at 0.",
    ),
    Exhibit(
        key="fig12",
        title="Jitter over the number of flows",
        cases=OVER_FLOWS,
        show=show_jitter,
        caption="The paper does not define jitter. Left, the standard deviation of the queueing delay; right, the mean "
        "absolute difference of successive packets' delays, as in RFC 3550.",
    ),
)

# ---- claims


def compared(ours: str, theirs: str, at: Sequence[int] = (*LOW, *HIGH)) -> Comparison:
    """Two of the disciplines in experiment 2."""
    return Comparison.on(OVER_FLOWS, ours, theirs, at=at, readings=OPEN.touching(ours, theirs))


def oscillation() -> Iterator[Claim]:
    """Experiment 1: RED-AT against RED with N = 80."""
    versus = Comparison(
        cases=at_80("RED", "RED-AT"), ours="RED-AT", theirs="RED", along=None, readings=OPEN.touching("RED", "RED-AT")
    )
    for key, text, said, measure, rule in (
        (
            "queue",
            "oscillates less: the standard deviation of its queue, from second 20 on, less RED's is below 0",
            "reduced",
            settled("queue_pkts", np.std),
            Below(),
        ),
        (
            "average",
            "oscillates less in its average: the same of the average queue",
            "reduced",
            settled("avg_pkts", np.std),
            Below(),
        ),
        (
            "level",
            "keeps the average queue slightly higher: its mean from second 20 on, less RED's, is above 0",
            "slightly higher",
            settled("avg_pkts", np.mean),
            Above(),
        ),
        (
            "utilization",
            "uses more of the link than RED: the difference in utilization is above 0",
            "enhanced",
            UTILIZATION,
            Above(),
        ),
    ):
        yield versus.difference(
            measure, key=f"fig9.{key}", text=f"With N = 80 RED-AT {text}.", paper_value=said, rule=rule
        )


def drop_rate() -> Iterator[Claim]:
    """Figure 10."""
    for name in ("RED", "ARED"):
        yield compared("RED-AT", name).difference(
            DROPS,
            key=f"fig10.lowest-{name.lower()}",
            text=f"RED-AT drops less than {name}: its drop rate less {name}'s, mean over N = 5…100, is below 0.",
            paper_value="lower",
            rule=Below(),
        )
    yield compared("RED", "ARED", LOW).difference(
        DROPS,
        key="fig10.follows",
        text="At low to medium load RED's drop rate closely follows ARED's: the difference, mean over N = 5…40, is "
        "within ±0.5 percentage points.",
        paper_value="closely follows",
        rule=Within(-0.5, 0.5),
    )
    yield compared("ARED", "RED", HIGH).difference(
        DROPS,
        key="fig10.high",
        text="At high load ARED drops less than RED: its drop rate less RED's, mean over N = 60…100, is below 0.",
        paper_value="lower",
        rule=Below(),
    )


def throughput(suffix: str, what: str, measure: Measure) -> Iterator[Claim]:
    """Figure 11's claims for one meaning of throughput."""
    for name in ("RED", "ARED"):
        yield compared("RED-AT", name).percent(
            measure,
            key=f"fig11.highest-{name.lower()}{suffix}",
            text=f"RED-AT has the higher {what} than {name}: the difference, mean over N = 5…100, is above 0.",
            paper_value="higher",
            rule=Above(),
        )

    def decline(runs: Runs) -> Sequence[float]:
        medium, high = (runs.values(measure.quantity, N=n) for n in (40, 100))
        return [float(v) for v in 100 * (high / medium - 1)]

    yield Claim(
        key=f"fig11.decline{suffix}",
        text=f"RED's {what} declines sharply at high load: at N = 100 it is more than 10 % below that at N = 40.",
        exhibit="fig11",
        paper_value="declines sharply",
        unit="% of that at N = 40",
        cases=OVER_FLOWS.only("RED", at=(40, 100)),
        values=decline,
        rule=Below(-10),
        readings=OPEN.touching("RED"),
    )
    yield compared("RED-AT", "ARED", (100,)).percent(
        measure,
        key=f"fig11.meet{suffix}",
        text=f"ARED's and RED-AT's {what} meet at high load: RED-AT's at N = 100 is within ±1 % of ARED's.",
        paper_value="converge",
        rule=Within(-1, 1),
    )


def jitter(suffix: str, what: str, measure: Measure) -> Iterator[Claim]:
    """Figure 12's claims for one meaning of jitter."""
    for name in ("RED-AT", "ARED"):
        yield compared(name, "RED").difference(
            measure,
            key=f"fig12.{name.lower()}-red{suffix}",
            text=f"RED has the highest jitter: {name}'s {what} less RED's, mean over N = 5…100, is below 0.",
            paper_value="RED's is the highest",
            rule=Below(),
        )
    yield compared("RED-AT", "ARED", LOW).percent(
        measure,
        key=f"fig12.low{suffix}",
        text=f"At low to medium load RED-AT and ARED have roughly the same jitter: RED-AT's {what}, mean over "
        "N = 5…40, is within ±20 % of ARED's.",
        paper_value="roughly the same",
        rule=Within(-20, 20),
    )
    yield compared("RED-AT", "ARED", HIGH).difference(
        measure,
        key=f"fig12.high{suffix}",
        text=f"At higher load RED-AT has the lower jitter: its {what} less ARED's, mean over N = 60…100, is below 0.",
        paper_value="lower",
        rule=Below(),
    )


CLAIMS = (
    *oscillation(),
    *drop_rate(),
    *throughput("", "throughput", THROUGHPUT),
    *throughput(".goodput", "goodput", GOODPUT),
    *jitter("", "standard deviation of the delay", JITTER),
    *jitter(".consecutive", "change of the delay from packet to packet", CONSECUTIVE),
)

# ---- what was read, and what was found

UNSTATED = (
    "The link's rate and delay and the access links' (Fig. 7 is not in the text): 10 Mbit/s and 20 ms, 100 Mbit/s and "
    "5 ms. Other rates and a longer delay are readings, and they matter.",
    "Gentle or not: section 4.1 says that all packets are dropped above max_th, so RED and RED-AT are not; ARED is, as "
    "[5] defines it. All three gentle, and none, are readings. This departs from Penstock's default.",
    "Drop or mark: the paper counts drops and speaks of ECN as an alternative, so the queues drop; marks are readings.",
    "Which adaptive RED is compared: [5] (Floyd); [4] is BLUE by its printed pseudocode; Feng's of 1999 is a reading, "
    "too.",
    "RED-AT's bounds and steps: min_th ± 50 %, max_th ± 20 %, α = 0.1, β = 0.05. Region a is below min⁺, as Fig. 6 "
    "prints it.",
    "What N counts: all sources, 30 % of them (rounded down) HTTP: one session each, Pareto objects of 12 kB, a second "
    "of thought. TCP is Reno with ns-2's window of 20 packets.",
    "What jitter and throughput are: both meanings of each that the text allows are judged.",
    "How long figures 8 and 9 run: 150 s as the others; their numbers are from second 20 on, sampled every 50 ms.",
)


def discussion(found: Mapping[str, Finding]) -> str:
    """In plain words, from the findings."""

    def say(key: str, digits: int = 2) -> str:
        return measured(found[key], digits)

    oscillation = ("fig9.queue", "fig9.average")
    best = [f"{key}-{name}" for key in ("fig10.lowest", "fig11.highest") for name in ("red", "ared")]
    jitter = ("fig12.red-at-red", "fig12.ared-red", "fig12.low", "fig12.high")
    return f"""
Oscillation: {tally(found, oscillation)}. With N = 80 the standard deviation of RED-AT's queue less RED's is
{say("fig9.queue")}, that of its average {say("fig9.average")}; its mean average less RED's is {say("fig9.level")}, its
utilization {say("fig9.utilization")}. The figure of the thresholds shows why: they move within a tenth of a second, as
fast as the average. Where it passes max⁻ = 24 packets, max_th comes down to meet it, and every packet is dropped until
the average is back below; the queue runs empty, the average falls, and the thresholds let the next burst in. Lowering
the thresholds where the queue is high raises the gain of the loop that the paper wants to calm.

Lowest drop rate and highest throughput: {tally(found, best)}. Drop rate less RED's {say("fig10.lowest-red")}, less
ARED's {say("fig10.lowest-ared")}; throughput less RED's {say("fig11.highest-red")}, less ARED's
{say("fig11.highest-ared")}. RED's change from N = 40 to 100: {say("fig11.decline")}; so many flows fill the link. RED
against ARED is as in the paper's figure 10: {say("fig10.follows")} at low to medium load, ARED less RED
{say("fig10.high")} at high load. RED-AT's throughput at N = 100 less ARED's: {say("fig11.meet")}.

Jitter depends on what it is. As the standard deviation of the delay: {tally(found, jitter)}; as its change from packet
to packet: {tally(found, [f"{key}.consecutive" for key in jitter])}. A queue that swings between empty and full has
small steps from packet to packet: the second meaning does not see the oscillation that the paper's argument is about.

The link decides, and the paper's text does not give it. With 45 Mbit/s or a delay of 80 ms (the readings rate=45M and
delay=80ms) RED leaves more of the link idle, and the claims on oscillation and throughput are judged otherwise; those
on the drop rate are not.

Beside ns-2: RED-AT written independently inside ns-2 (validation/ns2x.csv, redat-redat-nogentle-n100, five seeds) drops
16.2 ± 0.3 % of the packets of N = 100 at a utilization of 99.1 ± 0.1 %; 60 seeds here have 15.7 ± 0.1 and 98.7 ± 0.1 %.
ns-2's RED, not gentle, drops 14.4 % with N = 80 (here 14.3 %), its ARED 15.2 % with N = 100 (here 15.2 %).
"""


PAPER = Paper(
    key="red-at",
    name="RED-AT",
    citation="Z. M. Patel, U. D. Dalal, Enhancing Performance of Internetworking with Novel RED-AT Congestion Control "
    "Algorithm",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    discussion=discussion,
)
