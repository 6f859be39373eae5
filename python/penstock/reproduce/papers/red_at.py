"""RED-AT, RED with adaptive thresholds: the reproduction of its section 6, figures 8 to 12.

N sources, 70 % of them FTP and 30 % HTTP, share a link. The paper: RED-AT, which moves RED's two thresholds with the
region that the average queue stays in, has smaller oscillations of the queue and its average, the lowest drop rate and
jitter and the highest throughput; ARED's throughput meets RED-AT's at high load, where RED's declines sharply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import penstock as ps
from penstock.reproduce.common import difference_along, measured, percent_along, tally
from penstock.reproduce.draw import curves, figure, side_by_side, traces
from penstock.reproduce.model import (
    DEFAULT,
    Above,
    Below,
    Case,
    Cases,
    Claim,
    Exhibit,
    Finding,
    Paper,
    Reading,
    Rule,
    Settings,
    Within,
)
from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from penstock.reproduce.runs import Quantity, Run, Runs

# ------------------------------------------------------------------ what the paper leaves open


@dataclass(frozen=True, slots=True)
class Open:
    """What a reading says where the paper says nothing, or nothing clear.

    every, red_at: keys of all queues, of RED-AT. ared: ARED's kind. gentle: RED's, ARED's and RED-AT's.
    http_of: the HTTP sources among N; extra_http: those besides the N.
    """

    profile: str = "ns-2"
    rate: str = "10 Mbit/s"
    delay: str = "20 ms"
    every: Mapping[str, Any] = field(default_factory=dict)
    red_at: Mapping[str, Any] = field(default_factory=dict)
    ared: str = "Floyd"
    gentle: tuple[bool, bool, bool] = (False, True, False)
    ecn: bool = False
    http_of: float = 0.3
    extra_http: int = 0


def _bounds(of_min: float, of_max: float) -> Mapping[str, float]:
    """min± and max± as parts of the nominal 10 and 30 packets."""
    return {
        "min_lo": 10 * (1 - of_min),
        "min_hi": 10 * (1 + of_min),
        "max_lo": 30 * (1 - of_max),
        "max_hi": 30 * (1 + of_max),
    }


#: What a reading is about: all queues, or one of them.
_ALL, _ARED, _RED_AT = "all", "ARED", "RED-AT"

_READINGS: tuple[tuple[str, Reading, Open], ...] = (
    (
        _ALL,
        Reading(
            "rfc", "TCP and queues as the RFCs and the papers have them (profile rfc) instead of as ns-2 has them."
        ),
        Open(profile="rfc"),
    ),
    (
        _ALL,
        Reading("gentle", "All three are gentle above max_th, as ns-2's RED is unless told otherwise."),
        Open(gentle=(True, True, True)),
    ),
    (_ALL, Reading("rate=1.5M", "The link has 1.5 Mbit/s."), Open(rate="1.5 Mbit/s")),
    (_ALL, Reading("rate=45M", "The link has 45 Mbit/s."), Open(rate="45 Mbit/s")),
    (_ALL, Reading("delay=80ms", "The link's delay is 80 ms."), Open(delay="80 ms")),
    (
        _ALL,
        Reading("ecn", "The flows use ECN and the queues mark, at any probability below 1."),
        Open(ecn=True, every={"ecn": True, "mark_p": 1.0}),
    ),
    (
        _ALL,
        Reading("ecn,mark_p=0.1", "Likewise, but dropping above a probability of 0.1, as ns-2 since 2002."),
        Open(ecn=True, every={"ecn": True, "mark_p": 0.1}),
    ),
    (_ALL, Reading("http=0", "All N sources are FTP."), Open(http_of=0)),
    (_ALL, Reading("http=50%", "Half of the N sources are HTTP."), Open(http_of=0.5)),
    (
        _ALL,
        Reading("http=30", "N counts the FTP sources; 30 HTTP sources are always there."),
        Open(http_of=0, extra_http=30),
    ),
    (_ARED, Reading("ared=feng", "ARED is Feng's of 1999, max_p times 2 or over 3."), Open(ared="Feng")),
    (
        _ARED,
        Reading("ared=blue", "ARED is what the paper's Fig. 4 prints under that name: BLUE."),
        Open(ared="BLUE"),
    ),
    (
        _ARED,
        Reading("ared.gentle=false", "ARED, too, drops every packet above max_th."),
        Open(gentle=(False, False, False)),
    ),
    (
        _RED_AT,
        Reading("bounds=20/10%", "Narrower bounds: min_th ± 20 %, max_th ± 10 %."),
        Open(red_at=_bounds(0.2, 0.1)),
    ),
    (
        _RED_AT,
        Reading("bounds=50/50%", "Wider bounds of max_th: ± 50 %."),
        Open(red_at=_bounds(0.5, 0.5)),
    ),
    (
        _RED_AT,
        Reading("region_a=min_minus", "Region a is below min⁻, as Fig. 5 suggests, not below min⁺ as Fig. 6 prints."),
        Open(red_at={"region_a": "min_minus"}),
    ),
    (
        _RED_AT,
        Reading("reset=false", "Between the regions the thresholds stay where they are."),
        Open(red_at={"reset": False}),
    ),
    (
        _RED_AT,
        Reading("alpha=0.01", "Steps of a tenth: α = 0.01, β = 0.005."),
        Open(red_at={"alpha": 0.01, "beta": 0.005}),
    ),
)
OPEN: Mapping[Reading, Open] = {DEFAULT: Open(), **{reading: taken for _, reading, taken in _READINGS}}


def readings_of(*queues: str) -> tuple[Reading, ...]:
    """Those that touch a comparison of these queues."""
    return tuple(reading for about, reading, _ in _READINGS if about == _ALL or about in queues)


# ------------------------------------------------------------------ the scenarios of section 6

QUEUES = ("RED", "ARED", "RED-AT")
FLOWS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
#: The loads that claims are about, as the paper groups them: "low to medium" and "high".
LOW, HIGH = (5, 20, 40), (60, 80, 100)

#: "All three schemes use parameters w_q = 0.002, max_p = 0.1, min_th = 10 packets and max_th = 30 packets."
PARAMETERS: Mapping[str, Any] = {"w_q": 0.002, "max_p": 0.1, "min_th": 10, "max_th": 30}


def queue(name: str, reading: Reading) -> Any:
    """The discipline of that name."""
    taken = OPEN[reading]
    common: dict[str, Any] = {"mean_packet": "1000 B", **taken.every}
    if name == "ARED" and taken.ared == "BLUE":
        return ps.Blue(**{key: value for key, value in common.items() if key != "mark_p"})
    gentle = dict(zip(QUEUES, taken.gentle, strict=True))[name]
    if name == "ARED" and taken.ared == "Feng":
        return ps.FengAred(**PARAMETERS, **common, gentle=False)
    own: dict[str, Any] = {**PARAMETERS, **common, "gentle": gentle}
    if name == "RED-AT":
        return ps.RedAt(**{**own, **_bounds(0.5, 0.2), "alpha": 0.1, "beta": 0.05, **taken.red_at})
    return ps.Ared(**own) if name == "ARED" else ps.Red(**own)


def scenario(name: str, n: int, reading: Reading) -> ps.Scenario:
    """Fig. 7: N sources through R1, where the discipline is, to a sink behind R2."""
    taken = OPEN[reading]
    tcp: dict[str, Any] = {"tcp": "reno", "segment": "1000 B", "window": 20, "ecn": "classic" if taken.ecn else "off"}
    start = {"uniform": ["0 s", "1 s"]}
    http = int(taken.http_of * n)
    traffic: list[Any] = [ps.Ftp(name="FTP", flows=n - http, start=start, **tcp)]
    http += taken.extra_http
    if http:
        traffic.append(ps.Web(name="HTTP", sessions=http, pairs=http, start=start, **tcp))
    return ps.Scenario(
        profile=taken.profile,
        topology=ps.Dumbbell(
            bottleneck=ps.Link(rate=taken.rate, delay=taken.delay, buffer=50, reverse_buffer=1000),
            access=ps.Access(rate="100 Mbit/s", delay="5 ms"),
            egress=ps.Access(rate="100 Mbit/s", delay="5 ms"),
        ),
        aqm=queue(name, reading),
        traffic=traffic,
        duration="150 s",
    )


def over_flows(queues: Sequence[str] = QUEUES, only: Sequence[int] = FLOWS) -> Cases:
    """Experiment 2: every N."""

    def cases(settings: Settings, reading: Reading) -> Iterator[Case]:
        for n in only:
            if not settings.quick or n in (5, 40, 100):
                for name in queues:
                    yield Case({"aqm": name, "N": n}, scenario(name, n, reading))

    return cases


def at_80(queues: Sequence[str]) -> Cases:
    """Experiment 1: N = 80, recorded."""

    def cases(settings: Settings, reading: Reading) -> Iterator[Case]:
        for name in queues:
            yield Case({"aqm": name}, scenario(name, 80, reading), trace_s=0.05)

    return cases


EXPERIMENT_1, THRESHOLDS = at_80(("RED", "RED-AT")), at_80(("RED-AT",))
EXPERIMENT_2 = over_flows()

# ------------------------------------------------------------------ what is measured

LOSS, THROUGHPUT, CONSECUTIVE = "loss_ratio", "throughput_bps", "delay_variation_s"
#: Experiment 1 is judged from here on: the flows have started, slow start is over.
SETTLED_S = 20.0


def jitter_s(run: Run) -> float | None:
    """The standard deviation of the queueing delay."""
    variance = run.metrics["delay_var_s2"]
    return None if variance is None else float(np.sqrt(variance))


def goodput_bps(run: Run) -> float:
    """What all sources get through, FTP and HTTP: payload acknowledged, each byte once."""
    return sum(group["goodput_bps"] or 0.0 for group in run.groups)


def settled(column: str, of: Callable[[NDArray[np.float64]], Any]) -> Callable[[Run], float]:
    """A number of a recorded series from `SETTLED_S` on."""

    def number(run: Run) -> float:
        assert run.trace is not None
        series, t = (run.trace[name].to_numpy() for name in (column, "t_s"))
        return float(of(series[t >= SETTLED_S]))

    return number


# ------------------------------------------------------------------ figures

_N = "number of flows N"
#: The part of experiment 1 that is shown: all of it would be a band.
WINDOW_S = (60.0, 90.0)


def show_queues(runs: Runs) -> Figure:
    """Figure 8 or 9, with RED's thresholds."""
    made = traces(runs, "aqm", target=(10.0, 30.0), top=52, order=QUEUES)
    made.axes[0].set_xlim(*WINDOW_S)
    return made


def show_thresholds(runs: Runs) -> Figure:
    """Ten seconds of RED-AT's queue, its average and its thresholds."""
    run = min(runs, key=lambda run: run.seed)
    assert run.trace is not None
    t = run.trace["t_s"].to_numpy()
    part = (t >= 60) & (t <= 70)
    with style.context():
        made = figure(7.6, 3.6)
        ax = made.subplots()
        for column, text, colour, width, drawn in (
            ("queue_pkts", "queue", style.look(QUEUES.index("RED-AT")).colour, 0.8, "default"),
            ("avg_pkts", "average", style.INK, 1.8, "default"),
            ("max_th", "max_th", style.look(1).colour, 1.4, "steps-post"),
            ("min_th", "min_th", style.look(0).colour, 1.4, "steps-post"),
        ):
            series = run.trace[column].to_numpy()[part]
            ax.plot(t[part], series, color=colour, linewidth=width, drawstyle=drawn)
            level = {"queue_pkts": 48.0, "max_th": 39.0, "min_th": 2.0}.get(column, 21.0)
            ax.annotate(
                text,
                (1.01, level / 52),
                xycoords="axes fraction",
                va="center",
                color=colour,
                fontweight="bold",
                annotation_clip=False,
            )
        ax.set_xlim(60, 70)
        ax.set_ylim(0, 52)
        ax.set_xlabel("time [s]")
        ax.set_ylabel("packets")
    return made


def show_drops(runs: Runs) -> Figure:
    """Figure 10."""
    return curves(runs, "N", LOSS, "aqm", xlabel=_N, ylabel="drop rate [%]", scale=100, ylim=(0, None), order=QUEUES)


def show_throughput(runs: Runs) -> Figure:
    """Figure 11, read in two ways."""
    panels = (
        (THROUGHPUT, 1e-6, "throughput of the link [Mbit/s]", (7.0, 10.0)),
        (goodput_bps, 1e-6, "goodput of all sources [Mbit/s]", (7.0, 10.0)),
    )
    return side_by_side(runs, "N", "aqm", panels, xlabel=_N, order=QUEUES)


def show_jitter(runs: Runs) -> Figure:
    """Figure 12, read in two ways."""
    panels = (
        (jitter_s, 1e3, "standard deviation of the delay [ms]", (0, None)),
        (CONSECUTIVE, 1e3, "change from packet to packet [ms]", (0, None)),
    )
    return side_by_side(runs, "N", "aqm", panels, xlabel=_N, order=QUEUES)


EXHIBITS = (
    Exhibit(
        "fig8",
        "Queue and average queue over time with N = 80: RED",
        at_80(("RED",)),
        show_queues,
        "Thirty of 150 s. The band reaches from min_th = 10 to max_th = 30 packets.",
    ),
    Exhibit(
        "fig9",
        "Queue and average queue over time with N = 80: RED-AT",
        THRESHOLDS,
        show_queues,
        "Thirty of 150 s. The band reaches from min_th = 10 to max_th = 30 packets, RED-AT's nominal thresholds.",
    ),
    Exhibit(
        "fig6",
        "Not shown in the paper: what RED-AT's thresholds do in Fig. 9",
        THRESHOLDS,
        show_thresholds,
        "Ten seconds of seed 1, sampled every 50 ms. Region a (average below 15) lifts both thresholds, region c "
        "(above 24) lowers both, between them they are at 10 and 30. From one bound to the other min_th takes 10 steps "
        "of 5 arrivals and max_th 20, less than 0.1 s.",
    ),
    Exhibit(
        "fig10",
        "Drop rate over the number of flows",
        EXPERIMENT_2,
        show_drops,
        "Packets dropped at R1 over packets that arrived there.",
    ),
    Exhibit(
        "fig11",
        "Throughput over the number of flows",
        EXPERIMENT_2,
        show_throughput,
        "Left, all that crossed the link of 10 Mbit/s; right, payload that was acknowledged, each byte once. The axes "
        "do not begin at 0.",
    ),
    Exhibit(
        "fig12",
        "Jitter over the number of flows",
        EXPERIMENT_2,
        show_jitter,
        "The paper does not define jitter. Left, the standard deviation of the queueing delay; right, the mean "
        "absolute difference of successive packets' delays, as in RFC 3550.",
    ),
)

# ------------------------------------------------------------------ claims

RED, ARED, RED_AT = ({"aqm": name} for name in QUEUES)


def _points(quantity: Quantity, other: Mapping[str, Any], scale: float) -> Callable[[Runs], Sequence[float]]:
    """RED-AT's less another's, in experiment 1."""
    return lambda runs: [scale * float(v) for v in runs.difference(quantity, RED_AT, other)]


def _experiment_1() -> Iterator[Claim]:
    for key, text, said, unit, quantity, scale, rule in (
        (
            "queue",
            "oscillates less: the standard deviation of its queue, from second 20 on, less RED's is below 0",
            "reduced",
            "packets",
            settled("queue_pkts", np.std),
            1.0,
            Below(),
        ),
        (
            "average",
            "oscillates less in its average: the same of the average queue",
            "reduced",
            "packets",
            settled("avg_pkts", np.std),
            1.0,
            Below(),
        ),
        (
            "level",
            "keeps the average queue slightly higher: its mean from second 20 on, less RED's, is above 0",
            "slightly higher",
            "packets",
            settled("avg_pkts", np.mean),
            1.0,
            Above(),
        ),
        (
            "utilization",
            "uses more of the link than RED: the difference in utilization is above 0",
            "enhanced",
            "percentage points",
            "utilization",
            100.0,
            Above(),
        ),
    ):
        rule_: Rule = rule
        yield Claim(
            f"fig9.{key}",
            f"With N = 80 RED-AT {text}.",
            "fig9",
            said,
            unit,
            EXPERIMENT_1,
            _points(quantity, RED, scale),
            rule_,
            readings_of("RED", "RED-AT"),
        )


def _change_from_40(quantity: Quantity) -> Callable[[Runs], Sequence[float]]:
    """RED's at N = 100 over that at N = 40: percent more."""

    def values(runs: Runs) -> Sequence[float]:
        at = {n: runs.values(quantity, aqm="RED", N=n) for n in (40, 100)}
        return [float(v) for v in 100 * (at[100] / at[40] - 1)]

    return values


def _drop_rate() -> Iterator[Claim]:
    for name, other in (("RED", RED), ("ARED", ARED)):
        yield Claim(
            f"fig10.lowest-{name.lower()}",
            f"RED-AT drops less than {name}: its drop rate less {name}'s, mean over N = 5…100, is below 0.",
            "fig10",
            "lower",
            "percentage points",
            PAIRS["RED-AT", name],
            difference_along("N", LOSS, RED_AT, other, scale=100),
            Below(),
            readings_of("RED-AT", name),
        )
    yield Claim(
        "fig10.follows",
        "At low to medium load RED's drop rate closely follows ARED's: the difference, mean over N = 5…40, is within "
        "±0.5 percentage points.",
        "fig10",
        "closely follows",
        "percentage points",
        over_flows(("RED", "ARED"), LOW),
        difference_along("N", LOSS, RED, ARED, scale=100),
        Within(-0.5, 0.5),
        readings_of("RED", "ARED"),
    )
    yield Claim(
        "fig10.high",
        "At high load ARED drops less than RED: its drop rate less RED's, mean over N = 60…100, is below 0.",
        "fig10",
        "lower",
        "percentage points",
        over_flows(("RED", "ARED"), HIGH),
        difference_along("N", LOSS, ARED, RED, scale=100),
        Below(),
        readings_of("RED", "ARED"),
    )


def _throughput(suffix: str, what: str, quantity: Quantity) -> Iterator[Claim]:
    """Figure 11's claims for one meaning of throughput."""
    for name, other in (("RED", RED), ("ARED", ARED)):
        yield Claim(
            f"fig11.highest-{name.lower()}{suffix}",
            f"RED-AT has the higher {what} than {name}: the difference, mean over N = 5…100, is above 0.",
            "fig11",
            "higher",
            f"% of {name}'s",
            PAIRS["RED-AT", name],
            percent_along("N", quantity, RED_AT, other),
            Above(),
            readings_of("RED-AT", name),
        )
    yield Claim(
        f"fig11.decline{suffix}",
        f"RED's {what} declines sharply at high load: at N = 100 it is more than 10 % below that at N = 40.",
        "fig11",
        "declines sharply",
        "% of that at N = 40",
        RED_AT_40_AND_100,
        _change_from_40(quantity),
        Below(-10),
        readings_of("RED"),
    )
    yield Claim(
        f"fig11.meet{suffix}",
        f"ARED's and RED-AT's {what} meet at high load: RED-AT's at N = 100 is within ±1 % of ARED's.",
        "fig11",
        "converge",
        "% of ARED's",
        AT_100,
        percent_along("N", quantity, RED_AT, ARED),
        Within(-1, 1),
        readings_of("RED-AT", "ARED"),
    )


def _jitter(suffix: str, what: str, quantity: Quantity) -> Iterator[Claim]:
    """Figure 12's claims for one meaning of jitter."""
    for name, ours, other in (("RED-AT", RED_AT, RED), ("ARED", ARED, RED)):
        yield Claim(
            f"fig12.{name.lower()}-red{suffix}",
            f"RED has the highest jitter: {name}'s {what} less RED's, mean over N = 5…100, is below 0.",
            "fig12",
            "RED's is the highest",
            "ms",
            PAIRS[name, "RED"],
            difference_along("N", quantity, ours, other, scale=1e3),
            Below(),
            readings_of(name, "RED"),
        )
    yield Claim(
        f"fig12.low{suffix}",
        f"At low to medium load RED-AT and ARED have roughly the same jitter: RED-AT's {what}, mean over N = 5…40, is "
        "within ±20 % of ARED's.",
        "fig12",
        "roughly the same",
        "% of ARED's",
        LOW_LOAD,
        percent_along("N", quantity, RED_AT, ARED),
        Within(-20, 20),
        readings_of("RED-AT", "ARED"),
    )
    yield Claim(
        f"fig12.high{suffix}",
        f"At higher load RED-AT has the lower jitter: its {what} less ARED's, mean over N = 60…100, is below 0.",
        "fig12",
        "lower",
        "ms",
        HIGH_LOAD,
        difference_along("N", quantity, RED_AT, ARED, scale=1e3),
        Below(),
        readings_of("RED-AT", "ARED"),
    )


PAIRS = {pair: over_flows(pair, (*LOW, *HIGH)) for pair in (("RED-AT", "RED"), ("RED-AT", "ARED"), ("ARED", "RED"))}
RED_AT_40_AND_100, AT_100 = over_flows(("RED",), (40, 100)), over_flows(("RED-AT", "ARED"), (100,))
LOW_LOAD, HIGH_LOAD = over_flows(("RED-AT", "ARED"), LOW), over_flows(("RED-AT", "ARED"), HIGH)

CLAIMS = (
    *_experiment_1(),
    *_drop_rate(),
    *_throughput("", "throughput", THROUGHPUT),
    *_throughput(".goodput", "goodput", goodput_bps),
    *_jitter("", "standard deviation of the delay", jitter_s),
    *_jitter(".consecutive", "change of the delay from packet to packet", CONSECUTIVE),
)

# ------------------------------------------------------------------ what is open, and what was found

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
