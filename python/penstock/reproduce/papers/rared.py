"""RARED, rate-aware RED: the reproduction of its section 4, figures 3 to 6, and of what it says without a figure.

Two FTP flows run for 40 s over a slow link with a long delay; in the middle m more join. The paper: RARED, which
signals strongly while the average queue climbs, has a lower delay, delay jitter and loss than RED, REM and ARED, at the
same throughput; with a short delay it does as ARED does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import penstock as ps
from penstock.reproduce.common import difference_along, measured, percent_along, tally
from penstock.reproduce.draw import curves, curves_on, figure, label_ends
from penstock.reproduce.model import (
    Below,
    Case,
    Claim,
    Exhibit,
    Finding,
    Labels,
    Paper,
    Reading,
    Rule,
    Settings,
    Within,
)
from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from penstock.reproduce.runs import Runs

# ------------------------------------------------------------------ the scenarios of section 4

QUEUES = ("RED", "REM", "ARED", "RARED")
JOINING = tuple(range(1, 16))
#: A bottleneck's delay in ms: the paper's "long" and "short", as read.
LONG, SHORT = 90, 10
DELAYS = (10, 20, 40, 90, 200)

#: "Parameters used for RED is max_th = 15, min_th = 5, max_p = 0.1, w_q = 0.0019 and with gentle mode on."
RED: Mapping[str, Any] = {"min_th": 5, "max_th": 15, "max_p": 0.1, "w_q": 0.0019, "gentle": True}


def queue(name: str, reading: Reading, **changes: Any) -> Any:
    """The discipline of that name, in both directions, with ECN. changes: of RARED's own parameters."""
    mark_p = 0.1 if reading == MARK_P else 1.0
    both: dict[str, Any] = {"ecn": True, "mean_packet": "1000 B"}
    if name == "REM":
        return ps.Rem(phi=1.001, gamma=0.001, b_star=20, **both)
    both["mark_p"] = mark_p
    if name == "RED":
        return ps.Red(**RED, **both)
    if name == "ARED":  # "the default values in ns-2"; all automatic
        return ps.Ared(**both)
    own = {"slope_th": 20, "max_p_climb": 0.8, **OF_RARED.get(reading, {}), **changes}
    return ps.Rared(**RED, **both, **own)


def scenario(name: str, joining: int, reading: Reading, delay_ms: int = LONG, **changes: Any) -> ps.Scenario:
    """Section 4's dumbbell with `joining` flows from second 20 on."""
    tcp: dict[str, Any] = {"tcp": "reno", "window": 24, "segment": "1000 B", "ecn": "classic"}
    fast = reading == RATE
    access = "100 Mbit/s" if fast else "10 Mbit/s"
    discipline = queue(name, reading, **changes)
    return ps.Scenario(
        name=f"RARED paper: {name}, m = {joining}",
        topology=ps.Dumbbell(
            bottleneck=ps.Link(rate="10 Mbit/s" if fast else "1.5 Mbit/s", delay=f"{delay_ms} ms", buffer=30),
            access=ps.Access(rate=access, delay="2 ms"),
            egress=ps.Access(rate=access, delay="4 ms"),
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
        measure={"from": "20 s"} if reading == WINDOW else None,
        profile="rfc" if reading == RFC else "ns-2",
    )


# ------------------------------------------------------------------ readings of what is open

MARK_P = Reading("mark_p=0.1", "As ns-2 since 2002: a capable packet is dropped all the same where p is above 0.1.")
RFC = Reading("rfc", "TCP and queues as the RFCs and the papers have them (profile rfc) instead of as ns-2 has them.")
DELAY_10 = Reading("delay=10ms", "The bottleneck's delay is 10 ms.")
DELAY_40 = Reading("delay=40ms", "The bottleneck's delay is 40 ms.")
DELAY_200 = Reading("delay=200ms", "The bottleneck's delay is 200 ms.")
RATE = Reading("rate=10M", "The bottleneck has 10 Mbit/s, the access links 100 Mbit/s.")
WINDOW = Reading("window=20-40s", "Measured from second 20 on, when the m flows join, instead of over the whole run.")
BASE = Reading("base=ared", "RARED stands on ARED instead of RED: max_p adapts.")
SLOPE_OF = Reading("slope_of=instantaneous", "The queue's slope is held against slope_th, not the average's.")
CLIMB = Reading("climb=ramp", "max_p' is the ceiling of RED's ramp while the average climbs, not the probability.")

_DELAY_MS = {DELAY_10.key: 10, DELAY_40.key: 40, DELAY_200.key: 200}
OF_RARED: Mapping[Reading, Mapping[str, Any]] = {
    BASE: {"base": "ared"},
    SLOPE_OF: {"slope_of": "instantaneous"},
    CLIMB: {"climb": "ramp"},
}
ALL = (MARK_P, RFC, DELAY_10, DELAY_40, DELAY_200, RATE, WINDOW, BASE, SLOPE_OF, CLIMB)
AT_SHORT_DELAY = (MARK_P, RFC, DELAY_40, WINDOW, BASE, SLOPE_OF, CLIMB)
OF_ITSELF = (MARK_P, RFC, DELAY_10, DELAY_200, RATE, WINDOW, BASE, SLOPE_OF, CLIMB)


def grid(
    settings: Settings, reading: Reading, *, queues: Iterable[str] = QUEUES, delay_ms: int = LONG
) -> Iterable[Case]:
    """Every queue with every m."""
    delay_ms = _DELAY_MS.get(reading.key, delay_ms)
    for m in (1, 5, 10, 15) if settings.quick else JOINING:
        for name in queues:
            yield Case({"aqm": name, "m": m}, scenario(name, m, reading, delay_ms))


def over_delay(settings: Settings, reading: Reading) -> Iterable[Case]:
    """Eight joining flows, over the bottleneck's delay."""
    for delay in (10, 40, 200) if settings.quick else DELAYS:
        for name in QUEUES:
            yield Case({"aqm": name, "delay_ms": delay}, scenario(name, 8, reading, delay))


def of_rared(settings: Settings, reading: Reading, *, label: str, values: Iterable[float]) -> Iterable[Case]:
    """RARED alone, one of its parameters at several values, m = 1, 5, 10, 15."""
    delay_ms = _DELAY_MS.get(reading.key, LONG)
    for m in (1, 5, 10, 15):
        for value in values:
            yield Case({label: value, "m": m}, scenario("RARED", m, reading, delay_ms, **{label: value}))


# ------------------------------------------------------------------ figures

DELAY, JITTER, LOSS, THROUGHPUT = "delay_mean_s", "delay_var_s2", "loss_ratio", "throughput_bps"


def over_m(quantity: str, scale: float, ylabel: str, ylim: tuple[float | None, float | None] = (0, None)) -> Any:
    """Draws a figure of the paper: the quantity over m."""

    def show(runs: Runs) -> Figure:
        xlabel = "FTP flows that join at 20 s, m"
        return curves(runs, "m", quantity, "aqm", xlabel=xlabel, ylabel=ylabel, scale=scale, ylim=ylim, order=QUEUES)

    return show


def show_over_delay(runs: Runs) -> Figure:
    """Delay and loss beside each other, over the bottleneck's delay."""
    with style.context():
        made = figure(9.2, 3.7)
        panels = made.subplots(1, 2)
        for ax, (quantity, scale, ylabel) in zip(
            panels, ((DELAY, 1e3, "mean queueing delay [ms]"), (LOSS, 100, "loss ratio [%]")), strict=True
        ):
            curves_on(ax, runs, "delay_ms", quantity, "aqm", scale=scale, order=QUEUES)
            ax.set_xscale("log")
            ax.set_xticks(sorted(int(d) for d in runs.labels("delay_ms")), minor=False)
            ax.set_xticks([], minor=True)
            ax.xaxis.set_major_formatter("{x:g}")
            ax.set_ylim(0, None)
            ax.set_xlabel("one-way delay of the bottleneck [ms]")
            ax.set_ylabel(ylabel)
            label_ends(ax)
    return made


EXHIBITS = (
    Exhibit(
        "fig3",
        "Delay over the number of joining flows",
        grid,
        over_m(DELAY, 1e3, "mean queueing delay [ms]"),
        "Queueing delay at the bottleneck; the paper's delay has a constant more, the propagation.",
    ),
    Exhibit(
        "fig4",
        "Delay jitter over the number of joining flows",
        grid,
        over_m(JITTER, 1e6, "variance of the queueing delay [ms²]"),
        "The paper's definition: “the variance of delay”, over all packets of a run. The whole run has the step from "
        "the first half's queue to the second's in it; the reading window=20-40s has not.",
    ),
    Exhibit(
        "fig5",
        "Packet loss ratio over the number of joining flows",
        grid,
        over_m(LOSS, 100, "loss ratio [%]"),
        "Packets dropped at the bottleneck over packets that arrived there.",
    ),
    Exhibit(
        "fig6",
        "Throughput over the number of joining flows",
        grid,
        over_m(THROUGHPUT, 1e-6, "throughput [Mbit/s]", (1.0, 1.5)),
        "All that left the bottleneck's queue. The axis begins at two thirds of the link's rate and ends at it.",
    ),
    Exhibit(
        "section5",
        "Not shown in the paper: short and long links",
        over_delay,
        show_over_delay,
        "m = 8. The paper's section 5 says that RARED does as ARED when the delay is short, and leaves the figure out.",
    ),
)


# ------------------------------------------------------------------ claims


def against(other: str) -> tuple[Claim, ...]:
    """Figures 3 to 6, RARED against one other discipline."""
    ours: Labels = {"aqm": "RARED"}
    theirs: Labels = {"aqm": other}
    cases = partial(grid, queues=("RARED", other))

    def lower(key: str, exhibit: str, what: str, unit: str, quantity: str, scale: float) -> Claim:
        return Claim(
            f"{exhibit}.{key}-{other.lower()}",
            f"RARED has the lower {what}: RARED's minus {other}'s, mean over m = 1…15, is below 0.",
            exhibit,
            "lower",
            unit,
            cases,
            difference_along("m", quantity, ours, theirs, scale=scale),
            Below(),
            ALL,
        )

    return (
        lower("delay", "fig3", "mean delay", "ms", DELAY, 1e3),
        lower("jitter", "fig4", "delay jitter (variance of the delay)", "ms²", JITTER, 1e6),
        lower("loss", "fig5", "loss ratio", "percentage points", LOSS, 100),
        Claim(
            f"fig6.throughput-{other.lower()}",
            f"RARED keeps the throughput of {other}: the difference of the means over m = 1…15 is within ±2 % of "
            f"{other}'s.",
            "fig6",
            "the same",
            f"% of {other}'s",
            cases,
            percent_along("m", THROUGHPUT, ours, theirs),
            Within(-2, 2),
            ALL,
        ),
    )


def at_short_delay(key: str, text: str, unit: str, values: Any, rule: Rule) -> Claim:
    """Section 5: RARED and ARED with a bottleneck of 10 ms."""
    cases = partial(grid, queues=("RARED", "ARED"), delay_ms=SHORT)
    text = f"With a short link delay (10 ms) RARED does as ARED: {text}"
    return Claim(f"section5.short-{key}", text, "section5", "the same", unit, cases, values, rule, AT_SHORT_DELAY)


CLAIMS = (
    *(claim for claims in zip(*map(against, ("RED", "REM", "ARED")), strict=True) for claim in claims),
    at_short_delay(
        "delay",
        "the mean delays over m = 1…15 differ by at most 10 %.",
        "% of ARED's",
        percent_along("m", DELAY, {"aqm": "RARED"}, {"aqm": "ARED"}),
        Within(-10, 10),
    ),
    at_short_delay(
        "loss",
        "the loss ratios over m = 1…15 differ by at most 1 percentage point.",
        "percentage points",
        difference_along("m", LOSS, {"aqm": "RARED"}, {"aqm": "ARED"}, scale=100),
        Within(-1, 1),
    ),
    at_short_delay(
        "throughput",
        "the throughputs over m = 1…15 differ by at most 2 %.",
        "% of ARED's",
        percent_along("m", THROUGHPUT, {"aqm": "RARED"}, {"aqm": "ARED"}),
        Within(-2, 2),
    ),
    Claim(
        "section3.max_p-delay",
        "Beyond 0.8 max_p' does not matter: with 1.0 the mean delay over m = 1, 5, 10, 15 is within ±5 % of that with "
        "0.8.",
        "fig3",
        "no effect",
        "% of that with 0.8",
        partial(of_rared, label="max_p_climb", values=(0.8, 1.0)),
        percent_along("m", DELAY, {"max_p_climb": 1.0}, {"max_p_climb": 0.8}),
        Within(-5, 5),
        OF_ITSELF,
    ),
    Claim(
        "section3.max_p-loss",
        "Beyond 0.8 max_p' does not matter: with 1.0 the loss ratio over m = 1, 5, 10, 15 is within ±0.5 percentage "
        "points of that with 0.8.",
        "fig5",
        "no effect",
        "percentage points",
        partial(of_rared, label="max_p_climb", values=(0.8, 1.0)),
        difference_along("m", LOSS, {"max_p_climb": 1.0}, {"max_p_climb": 0.8}, scale=100),
        Within(-0.5, 0.5),
        OF_ITSELF,
    ),
    Claim(
        "section5.slope-throughput",
        "A lower slope threshold costs link utilization: with slope_th = 5 instead of 20 the throughput over m = 1, 5, "
        "10, 15 is lower.",
        "fig6",
        "less link utilization",
        "% of that with 20",
        partial(of_rared, label="slope_th", values=(5, 20)),
        percent_along("m", THROUGHPUT, {"slope_th": 5}, {"slope_th": 20}),
        Below(),
        OF_ITSELF,
    ),
)


# ------------------------------------------------------------------ what is open, and what was found

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
