"""RARED, rate-aware RED: the reproduction of its section 4, figures 3 to 6, and of its text.

Two FTP flows run for 40 s over a slow link with a long delay. In the middle m more join. The paper
says of RARED, which signals strongly while the average queue climbs: it has a lower delay, delay
jitter and loss than RED, REM and ARED, at the same throughput; with a short delay it does as ARED
does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import penstock as ps
from penstock.reproduce import draw
from penstock.reproduce.claims import Comparison
from penstock.reproduce.draw import Panel
from penstock.reproduce.grids import Grid
from penstock.reproduce.measures import DELAY, LOSS, Measure
from penstock.reproduce.model import Below, Claim, Exhibit, Finding, Paper, Reading, Within
from penstock.reproduce.readings import Alternative, Readings, as_the_rfcs
from penstock.reproduce.words import measured, tally

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from penstock.reproduce.runs import Runs

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
#: "Parameters used for RED is max_th = 15, min_th = 5, max_p = 0.1, w_q = 0.0019 and with gentle mode on."
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
        quick=(1, 5, 10, 15),
    )


AT_LONG_DELAY, AT_SHORT_DELAY = over_m(LONG), over_m(SHORT)

#: Eight joining flows, over the bottleneck's delay.
OVER_DELAY = Grid(
    build=lambda name, delay_ms, reading: scenario(name, 8, reading, delay_ms),
    names=QUEUES,
    along="delay_ms",
    values=(10, 20, 40, 90, 200),
    quick=(10, 40, 200),
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


# ---- what is measured, and figures

JITTER = Measure(quantity="delay_var_s2", scale=1e6, unit="ms²", axis="variance of the queueing delay [ms²]")
THROUGHPUT = Measure(quantity="throughput_bps", scale=1e-6, unit="Mbit/s", axis="throughput [Mbit/s]")


def figure(key: str, title: str, measure: Measure, caption: str, ylim: draw.Limits = (0, None)) -> Exhibit:
    """One of the figures 3 to 6: a measure over m."""
    show = draw.over("m", measure, xlabel="FTP flows that join at 20 s, m", ylim=ylim, order=QUEUES)
    return Exhibit(key=key, title=title, cases=AT_LONG_DELAY, show=show, caption=caption)


def show_over_delay(runs: Runs) -> Figure:
    """Delay and loss beside each other, over the bottleneck's delay."""
    panels = (Panel(DELAY), Panel(LOSS))
    xlabel = "one-way delay of the bottleneck [ms]"
    return draw.side_by_side(runs, "delay_ms", panels, xlabel=xlabel, log=True, order=QUEUES)


EXHIBITS = (
    figure(
        "fig3",
        "Delay over the number of joining flows",
        DELAY,
        "Queueing delay at the bottleneck; the paper's delay has a constant more, the propagation.",
    ),
    figure(
        "fig4",
        "Delay jitter over the number of joining flows",
        JITTER,
        "The paper's definition: “the variance of delay”, over all packets of a run. The whole run has the step from "
        "the first half's queue to the second's in it; the reading window=20-40s has not.",
    ),
    figure(
        "fig5",
        "Packet loss ratio over the number of joining flows",
        LOSS,
        "Packets dropped at the bottleneck over packets that arrived there.",
    ),
    figure(
        "fig6",
        "Throughput over the number of joining flows",
        THROUGHPUT,
        "All that left the bottleneck's queue. The axis begins at two thirds of the link's rate and ends at it.",
        ylim=(1.0, 1.5),
    ),
    Exhibit(
        key="section5",
        title="Not shown in the paper: short and long links",
        cases=OVER_DELAY,
        show=show_over_delay,
        caption="m = 8. The paper's section 5 says that RARED does as ARED when the delay is short, and leaves the "
        "figure out.",
    ),
)

# ---- claims


def rared_against(other: str) -> Iterator[Claim]:
    """Figures 3 to 6: RARED and one of the others."""
    versus = Comparison.on(AT_LONG_DELAY, "RARED", other, readings=OPEN.without())
    for key, what, measure in (
        ("fig3.delay", "mean delay", DELAY),
        ("fig4.jitter", "delay jitter (variance of the delay)", JITTER),
        ("fig5.loss", "loss ratio", LOSS),
    ):
        yield versus.difference(
            measure,
            key=f"{key}-{other.lower()}",
            text=f"RARED has the lower {what}: RARED's minus {other}'s, mean over m = 1…15, is below 0.",
            paper_value="lower",
            rule=Below(),
        )
    yield versus.percent(
        THROUGHPUT,
        key=f"fig6.throughput-{other.lower()}",
        text=f"RARED keeps the throughput of {other}: the difference of the means over m = 1…15 is within ±2 % of "
        f"{other}'s.",
        paper_value="the same",
        rule=Within(-2, 2),
    )


def as_ared() -> Iterator[Claim]:
    """Section 5: RARED and ARED with a short delay of the bottleneck."""
    readings = OPEN.without("delay=10ms", "delay=200ms", "rate=10M")
    versus = Comparison.on(AT_SHORT_DELAY, "RARED", "ARED", readings=readings)
    for key, text, claim, measure, margin in (
        ("delay", "the mean delays over m = 1…15 differ by at most 10 %.", versus.percent, DELAY, 10),
        ("loss", "the loss ratios over m = 1…15 differ by at most 1 percentage point.", versus.difference, LOSS, 1),
        ("throughput", "the throughputs over m = 1…15 differ by at most 2 %.", versus.percent, THROUGHPUT, 2),
    ):
        yield claim(
            measure,
            key=f"section5.short-{key}",
            text=f"With a short link delay (10 ms) RARED does as ARED: {text}",
            paper_value="the same",
            rule=Within(-margin, margin),
        )


def of_parameters() -> Iterator[Claim]:
    """What sections 3 and 5 say of RARED's own parameters."""
    readings = OPEN.without("delay=40ms")
    climb = Comparison.on(of_rared("max_p_climb", 0.8, 1.0), 1.0, 0.8, readings=readings)
    beyond = "Beyond 0.8 max_p' does not matter: with 1.0 the"
    yield climb.percent(
        DELAY,
        key="section3.max_p-delay",
        text=f"{beyond} mean delay over m = 1, 5, 10, 15 is within ±5 % of that with 0.8.",
        exhibit="fig3",
        paper_value="no effect",
        rule=Within(-5, 5),
    )
    yield climb.difference(
        LOSS,
        key="section3.max_p-loss",
        text=f"{beyond} loss ratio over m = 1, 5, 10, 15 is within ±0.5 percentage points of that with 0.8.",
        exhibit="fig5",
        paper_value="no effect",
        rule=Within(-0.5, 0.5),
    )
    yield Comparison.on(of_rared("slope_th", 5, 20), 5, 20, readings=readings).percent(
        THROUGHPUT,
        key="section5.slope-throughput",
        text="A lower slope threshold costs link utilization: with slope_th = 5 instead of 20 the throughput over "
        "m = 1, 5, 10, 15 is lower.",
        exhibit="fig6",
        paper_value="less link utilization",
        rule=Below(),
    )


CLAIMS = (
    *(claim for three in zip(*map(rared_against, QUEUES[:3]), strict=True) for claim in three),
    *as_ared(),
    *of_parameters(),
)

# ---- what was read, and what was found

UNSTATED = (
    "The topology's numbers (Fig. 2 is not in the text): bottleneck 1.5 Mbit/s and 90 ms, access links 10 Mbit/s with "
    "2 ms on the sources' and 4 ms on the sinks' side. The printed w_q of 0.0019 is ns-2's automatic weight for 1.5 "
    "Mbit/s and 88 ms. Other delays and another rate are readings.",
    "Which link delay is short: 10 ms; 40 ms is a reading.",
    "The web: 20 sessions that start within the first second, one object after the other, Pareto sizes (shape 1.5, "
    "mean 12 kB, at most 500 kB), pauses exponential with mean 1 s.",
    "What is measured, and when: queueing delay, loss and throughput at the bottleneck's forward direction, of all "
    "packets, over the whole 40 s; the second half alone is a reading.",
    "The other direction's queue: the same discipline with the same buffer.",
    "The unit of slope_th = 20: packets a second. Penstock's slope_th = \"auto\", the paper's future work, gives the "
    "same 20 with thresholds of 5 and 15, hence the same runs.",
    "Whether a capable packet is marked or dropped while the average climbs (p = 0.8): marked; that ns-2 since 2002 "
    "drops where p is above 0.1 is a reading.",
    "What RARED is when the average does not climb: RED with the parameters printed for RED; ARED is a reading.",
    "“The default values in ns-2” for ARED: all automatic, thresholds 5 and 15 here. For REM the rest of its "
    "parameters: period 2 ms, weight of the queue 0.1, marks at departure.",
)


def discussion(found: Mapping[str, Finding]) -> str:
    """In plain words, from the findings."""

    def verdicts(figure: str) -> str:
        return tally(found, [key for key in found if key.startswith(figure)])

    def numbers(figure: str, what: str) -> str:
        return "; ".join(f"{name} {measured(found[f'{figure}.{what}-{name.lower()}'])}" for name in QUEUES[:3])

    def one(key: str) -> str:
        return measured(found[f"section5.{key}"])

    return f"""
Against RED, REM and ARED: delay, {verdicts("fig3")}; jitter, {verdicts("fig4")}; loss, {verdicts("fig5")}; throughput,
{verdicts("fig6")}. RARED's mean delay against {numbers("fig3", "delay")}. Its loss against {numbers("fig5", "loss")}.
Its jitter against {numbers("fig4", "jitter")}; Fig. 4 shows how much that depends on m.

The throughput against {numbers("fig6", "throughput")}. The shorter queue comes with a link that stands idle for longer.
The paper says so of a lower threshold: with slope_th = 5 instead of 20 the throughput changes by
{one("slope-throughput")}.

With a short link ({SHORT} ms), RARED against ARED: delay {one("short-delay")}, loss {one("short-loss")}, throughput
{one("short-throughput")}. The default reading marks at any probability, so that a signal costs RARED no packet. Under
the reading mark_p=0.1 ns-2 drops every packet that RARED signals while the average climbs, since 0.8 is above 0.1; the
claims on loss, at the long and at the short delay, are to be read with that reading's verdicts beside them.

REM with the printed parameters is next to DropTail: with φ = 1.001 its probability reaches 0.1 only at a price of 105,
and with γ = 0.001 the price hardly leaves 0. It marks a few packets in 40 s (in ns-2 up to 3) and loses by overflow.

The same algorithms inside ns-2 (validation/ns2x.csv, ten seeds of its own) have, for m = 5, RARED at 37.7 ± 1.1 ms and
2.0 ± 0.3 % loss, RED at 47.4 ms and 4.1 %, ARED at 44.0 ms and 4.0 %, REM at 52.4 ms and 5.4 %.
"""


PAPER = Paper(
    key="rared",
    name="RARED",
    citation="Rate-Aware Random Early Detection (the authors and the year are not in the text at hand)",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    discussion=discussion,
)
