"""RED against DropTail: figures 2 to 5 and tables 1 to 4 of a comparison in ns-2 on a dumbbell of 45 Mbit/s.

N connections share a long link: their throughput over N (cases 1 and 2) and their fairness over a delay D (cases 3 and
4). The paper: RED does slightly better in both. It says neither what the connections are nor how long they run; the
reading taken here is the one that comes nearest to its tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import penstock as ps
from penstock.reproduce.common import difference_along, measured, percent_along, tally
from penstock.reproduce.draw import curves_on, figure, label_ends
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
    Settings,
    TableData,
    Within,
)
from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from penstock.reproduce.runs import Quantity, Run, Runs

# ------------------------------------------------------------------ what the paper prints

QUEUES = ("RED", "DropTail")


@dataclass(frozen=True, slots=True)
class Printed:
    """One of the paper's tables: the row's N or D, and RED's and DropTail's numbers."""

    at: Sequence[int]
    red: Sequence[float]
    droptail: Sequence[float]

    def of(self, queue: str, at: float) -> float:
        """The number of a queue in a row."""
        return (self.red if queue == "RED" else self.droptail)[self.at.index(int(at))]


FLOWS = (2, 4, 8, 12, 16, 20, 24, 32)
SPREADS_MS = (10, 15, 20)
#: Throughput, Mbit/s.
TABLE_1 = Printed(FLOWS, (2.5, 3.5, 7.5, 8.0, 12.0, 12.5, 17.0, 23.0), (2.5, 3.5, 7.5, 8.0, 11.9, 12.5, 17.0, 23.0))
TABLE_2 = Printed(
    FLOWS, (0.40, 0.80, 1.43, 1.40, 1.60, 1.75, 2.20, 2.35), (0.40, 0.80, 1.43, 1.35, 1.50, 1.70, 2.15, 2.30)
)
#: Fairness index.
TABLE_3 = Printed(SPREADS_MS, (0.638, 0.530, 0.585), (0.643, 0.532, 0.485))
TABLE_4 = Printed(SPREADS_MS, (0.762, 0.750, 0.738), (0.718, 0.655, 0.618))


# ------------------------------------------------------------------ what it leaves open


@dataclass(frozen=True, slots=True)
class Open:
    """What a reading says where the paper says nothing.

    tcp: keys of the senders. red: keys of RED. droptail_buffer: DropTail's, where it is not `buffer`.
    """

    profile: str = "ns-2"
    duration: str = "3.5 s"
    start: Any = "0 s"
    buffer: int = 50
    droptail_buffer: int | None = None
    tcp: Mapping[str, Any] = field(default_factory=dict)
    red: Mapping[str, Any] = field(default_factory=dict)


OPEN: Mapping[Reading, Open] = {
    DEFAULT: Open(),
    Reading(
        "rfc", "TCP and queues as the RFCs and the papers have them (profile rfc) instead of as ns-2 has them."
    ): Open(profile="rfc"),
    Reading("duration=10s", "Runs of 10 s."): Open(duration="10 s"),
    Reading("duration=30s", "Runs of 30 s."): Open(duration="30 s"),
    Reading("start=10ms", "Each flow starts at random within the first 10 ms, not all at one instant."): Open(
        start={"uniform": ["0 s", "10 ms"]}
    ),
    Reading("window=64", "The receivers' windows are 64 packets."): Open(tcp={"window": 64}),
    Reading("window=64,30s", "Windows of 64 packets and runs of 30 s: the flows fill the link."): Open(
        tcp={"window": 64}, duration="30 s"
    ),
    Reading("buffer=20", "A buffer of 20 packets."): Open(buffer=20),
    Reading("buffer=100", "A buffer of 100 packets."): Open(buffer=100),
    Reading(
        "buffer=equal", "As many packets may wait under DropTail as under RED (ns-2's DropTail holds one less)."
    ): Open(droptail_buffer=51),
    Reading("tcp=reno", "The flows are Reno."): Open(tcp={"tcp": "reno"}),
    Reading("segment=1000B", "Packets of 1000 bytes."): Open(tcp={"segment": "1000 B"}),
    Reading("red=5/15", "RED's thresholds are 5 and 15 packets, its weight 0.002: ns-2's defaults before 2001."): Open(
        red={"min_th": 5, "max_th": 15, "w_q": 0.002}
    ),
}
READINGS = tuple(reading for reading in OPEN if reading != DEFAULT)


# ------------------------------------------------------------------ the scenarios


def scenario(queue: str, flows: int, delay_ms: int, reading: Reading, spread_ms: int | None = None) -> ps.Scenario:
    """Fig. 1: N senders and receivers, T_p = `delay_ms`. Source i is i·D away from the router, i = 0…N − 1, where there
    is a D, `spread_ms`."""
    taken = OPEN[reading]
    tcp: dict[str, Any] = {"tcp": "tahoe", "window": 20, "segment": "1460 B", **taken.tcp}
    own = taken.buffer if queue == "RED" else taken.droptail_buffer or taken.buffer
    away: Any = "0.1 ms" if spread_ms is None else {"spread": ["0 ms", f"{(flows - 1) * spread_ms} ms"]}
    return ps.Scenario(
        profile=taken.profile,
        topology=ps.Dumbbell(
            bottleneck=ps.Link(rate="45 Mbit/s", delay=f"{delay_ms} ms", buffer=own, reverse_buffer=1000),
            access=ps.Access(rate="45 Mbit/s", delay=away),
            egress=ps.Access(rate="45 Mbit/s", delay="0.1 ms"),
        ),
        aqm=ps.Red(mean_packet=tcp["segment"], **taken.red) if queue == "RED" else ps.DropTail(),
        traffic=[ps.Ftp(flows=flows, start=taken.start, **tcp)],
        duration=taken.duration,
    )


def over_flows(
    delay_ms: int, only: Sequence[int] = FLOWS, queues: Sequence[str] = QUEUES, droptail_buffer: int | None = None
) -> Cases:
    """Cases 1 and 2: every N. droptail_buffer: DropTail's, instead of the reading's."""

    def cases(settings: Settings, reading: Reading) -> Iterator[Case]:
        for flows in only:
            if not settings.quick or flows in (2, 4, 8, 16, 32):
                for queue in queues:
                    made = scenario(queue, flows, delay_ms, reading)
                    if queue == "DropTail" and droptail_buffer is not None:
                        made = made.set("topology.bottleneck.buffer", droptail_buffer)
                    yield Case({"aqm": queue, "N": flows}, made)

    return cases


def over_spread(delay_ms: int) -> Cases:
    """Cases 3 and 4: N = 16, every D."""

    def cases(settings: Settings, reading: Reading) -> Iterator[Case]:
        for spread in SPREADS_MS:
            for queue in QUEUES:
                yield Case({"aqm": queue, "D_ms": spread}, scenario(queue, 16, delay_ms, reading, spread))

    return cases


CASE_1, CASE_2, CASE_3, CASE_4 = over_flows(80), over_flows(250), over_spread(75), over_spread(250)
CASE_2_FEW, CASE_2_MANY = over_flows(250, FLOWS[:3]), over_flows(250, FLOWS[3:])


# ------------------------------------------------------------------ figures and tables


def throughput(run: Run) -> float | None:
    """What crosses the link, Mbit/s: headers and packets sent again count, as with a sink that counts bytes."""
    bps = run.metrics["throughput_bps"]
    return None if bps is None else 1e-6 * bps


def beside(x: str, quantity: Quantity, printed: Printed, xlabel: str, ylabel: str) -> Callable[[Runs], Figure]:
    """Draws our curves with the paper's numbers as open marks."""

    def show(runs: Runs) -> Figure:
        with style.context():
            made = figure()
            ax = made.subplots()
            curves_on(ax, runs, x, quantity, "aqm", order=QUEUES)
            for i, queue in enumerate(QUEUES):
                look = style.look(i)
                numbers = printed.red if queue == "RED" else printed.droptail
                # RED's marks are wider: where the two print the same, one is seen inside the other.
                ax.plot(
                    printed.at,
                    numbers,
                    color=look.colour,
                    marker=look.marker,
                    markersize=(9, 6)[i],
                    linestyle="none",
                    fillstyle="none",
                )
            ax.annotate("open: printed in the paper", (0.02, 0.95), xycoords="axes fraction", color=style.MUTED)
            ax.set_xticks(printed.at)
            ax.set_ylim(0, 1 if x == "D_ms" else None)
            ax.set_xlabel(xlabel)
            ax.set_ylabel(ylabel)
            label_ends(ax)
        return made

    return show


def table(x: str, quantity: Quantity, printed: Printed, digits: int, head: str) -> Callable[[Runs], TableData]:
    """One of the paper's tables with our numbers beside the printed ones."""

    def show(runs: Runs) -> TableData:
        rows = []
        for at in runs.labels(x):
            row = [f"{at}"]
            for queue in QUEUES:
                ours, said = runs.estimate(quantity, **{x: at, "aqm": queue}), printed.of(queue, float(at))
                assert ours.mean is not None
                half = "" if ours.ci95 is None else f" ± {ours.ci95:.{digits}f}"
                off = f"{100 * (ours.mean / said - 1):+.0f} %".replace("-", "−")
                row += [f"{said:.{digits}f}", f"{ours.mean:.{digits}f}{half}", off]
            rows.append(row)
        heads = [(f"{queue}: paper", f"{queue}: here", "off by") for queue in QUEUES]
        return TableData((head, *heads[0], *heads[1]), rows)

    return show


def _exhibits() -> Iterator[Exhibit]:
    mbits, index = "throughput [Mbit/s]", "fairness index"
    flows, spread = "number of connections N", "D [ms]"
    dropless = "Source i of 16 is i·D away. No packet is dropped, so that RED and DropTail are the same run."
    yield Exhibit(
        "fig2",
        "Throughput over N, T_p = 80 ms",
        CASE_1,
        beside("N", throughput, TABLE_1, flows, mbits),
        "Case 1. The link has 45 Mbit/s. Flows start at one instant, so that seeds differ in hardly more than the "
        "phase of the senders' clocks: the intervals say little about another order of packets (reading start=10ms).",
    )
    yield Exhibit(
        "table1",
        "Throughput in case 1",
        CASE_1,
        table("N", throughput, TABLE_1, 2, "N"),
        "In Mbit/s. The text at hand has lost the points of 2.5, 3.5 and 7.5.",
    )
    yield Exhibit(
        "fig3",
        "Throughput over N, T_p = 250 ms",
        CASE_2,
        beside("N", throughput, TABLE_2, flows, mbits),
        "Case 2. The link has 45 Mbit/s: an axis up to it would show nothing but its foot.",
    )
    yield Exhibit("table2", "Throughput in case 2", CASE_2, table("N", throughput, TABLE_2, 2, "N"), "In Mbit/s.")
    yield Exhibit(
        "fig4",
        "Fairness over D, T_p = 75 ms",
        CASE_3,
        beside("D_ms", "jain", TABLE_3, spread, index),
        f"Case 3. {dropless}",
    )
    yield Exhibit(
        "table3",
        "Fairness index in case 3",
        CASE_3,
        table("D_ms", "jain", TABLE_3, 3, "D [ms]"),
        "The paper's text has RED above DropTail here; its own numbers have it below at 10 and 15 ms.",
    )
    yield Exhibit(
        "fig5",
        "Fairness over D, T_p = 250 ms",
        CASE_4,
        beside("D_ms", "jain", TABLE_4, spread, index),
        f"Case 4. {dropless}",
    )
    yield Exhibit("table4", "Fairness index in case 4", CASE_4, table("D_ms", "jain", TABLE_4, 3, "D [ms]"), "")


# ------------------------------------------------------------------ claims

RED, DROPTAIL = {"aqm": "RED"}, {"aqm": "DropTail"}


def deviations(x: str, quantity: Quantity, printed: Printed) -> Callable[[Runs], Any]:
    """|ours/printed − 1| in percent: a row a number of the table, a column a seed."""

    def of(runs: Runs) -> Any:
        rows = [
            runs.values(quantity, aqm=queue, **{x: at}) / printed.of(queue, float(at))
            for queue in QUEUES
            for at in runs.labels(x)
        ]
        return 100 * np.abs(np.array(rows) - 1)

    return of


def over_table(off: Callable[[Runs], Any], gather: Callable[..., Any]) -> Callable[[Runs], Sequence[float]]:
    """The mean or the largest of a table's deviations, a number a seed."""
    return lambda runs: [float(v) for v in gather(off(runs), axis=0)]


def _places() -> Iterator[Claim]:
    """What is left of the differences when as many packets may wait under both."""
    for number, delay_ms in ((2, 80), (3, 250)):
        yield Claim(
            f"fig{number}.places",
            f"Beyond the paper, case {number - 1}: with as many waiting places under DropTail as under RED the "
            "throughputs are equal: the difference, mean over N, is within ±0.1 %.",
            f"fig{number}",
            "not considered",
            "% of DropTail's",
            over_flows(delay_ms, droptail_buffer=51),
            percent_along("N", throughput, RED, DROPTAIL),
            Within(-0.1, 0.1),
        )


def _tables() -> Iterator[Claim]:
    """How near the reading comes to what is printed."""
    for number, x, quantity, printed, cases in (
        (1, "N", throughput, TABLE_1, CASE_1),
        (2, "N", throughput, TABLE_2, CASE_2),
        (3, "D_ms", "jain", TABLE_3, CASE_3),
        (4, "D_ms", "jain", TABLE_4, CASE_4),
    ):
        off = deviations(x, quantity, printed)
        yield Claim(
            f"table{number}.mean",
            f"The numbers of table {number} come out again: |ours/printed − 1|, mean over the table, is below 10 %.",
            f"table{number}",
            "0",
            "%",
            cases,
            over_table(off, np.mean),
            Below(10),
            READINGS,
        )
        yield Claim(
            f"table{number}.worst",
            f"No number of table {number} is off by 25 % or more: the largest |ours/printed − 1|.",
            f"table{number}",
            "0",
            "%",
            cases,
            over_table(off, np.max),
            Below(25),
            READINGS,
        )


def smallest_step(runs: Runs) -> Sequence[float]:
    """The smallest change of throughput from one N to the next, RED's and DropTail's, Mbit/s."""
    steps = [
        np.diff([runs.values(throughput, aqm=queue, N=n) for n in sorted(runs.labels("N"), key=float)], axis=0)
        for queue in QUEUES
    ]
    return [float(v) for v in np.min(np.concatenate(steps), axis=0)]


def highest_jain(runs: Runs) -> Sequence[float]:
    """The highest fairness index of either queue over D."""
    return [
        float(v)
        for v in np.max(
            [runs.values("jain", aqm=queue, D_ms=at) for queue in QUEUES for at in runs.labels("D_ms")], axis=0
        )
    ]


def share_at_32(runs: Runs) -> Sequence[float]:
    """Percent of the link that 32 connections use under DropTail."""
    return [100 * float(v) for v in runs.values("utilization", aqm="DropTail", N=32)]


def _claims() -> Iterator[Claim]:
    yield Claim(
        "fig2.same",
        "Case 1: RED and DropTail perform almost equally: RED's throughput, mean over N, is within ±2 % of DropTail's.",
        "fig2",
        "almost equally (+0.1 %)",
        "% of DropTail's",
        CASE_1,
        percent_along("N", throughput, RED, DROPTAIL),
        Within(-2, 2),
        READINGS,
    )
    for number, cases in ((2, CASE_1), (3, CASE_2)):
        yield Claim(
            f"fig{number}.grows",
            f"Case {number - 1}: throughput grows with every step of N: the smallest step of either queue is above 0.",
            f"fig{number}",
            "almost a steady increase" if number == 2 else "not said; printed: −0.08 from 8 to 12",
            "Mbit/s",
            cases,
            smallest_step,
            Above(),
            READINGS,
        )
        yield Claim(
            f"fig{number}.congested",
            f"Case {number - 1}: the connections congest the link: with N = 32 they use more than 90 % of it.",
            f"fig{number}",
            f"printed: {'23.0' if number == 2 else '2.30'} of 45 Mbit/s, {'51' if number == 2 else '5'} %",
            "% of the link",
            over_flows(80 if number == 2 else 250, (32,), queues=("DropTail",)),
            share_at_32,
            Above(90),
            tuple(reading for reading in READINGS if not OPEN[reading].red),
        )
    yield Claim(
        "fig3.few",
        "Case 2: up to N = 8 they perform almost equally: RED's throughput, mean over N = 2…8, is within ±2 % of "
        "DropTail's.",
        "fig3",
        "almost equally (0 %)",
        "% of DropTail's",
        CASE_2_FEW,
        percent_along("N", throughput, RED, DROPTAIL),
        Within(-2, 2),
        READINGS,
    )
    yield Claim(
        "fig3.many",
        "Case 2: from there to N = 32 RED performs better: its throughput, mean over N = 12…32, less DropTail's is "
        "above 0.",
        "fig3",
        "better (+3.3 %)",
        "% of DropTail's",
        CASE_2_MANY,
        percent_along("N", throughput, RED, DROPTAIL),
        Above(),
        READINGS,
    )
    for number, cases, said, bound in (
        (4, CASE_3, "better (printed: −0.005, −0.002, +0.100)", 0.7),
        (5, CASE_4, "better (printed: +0.044, +0.095, +0.120)", 0.8),
    ):
        yield Claim(
            f"fig{number}.fairer",
            f"Case {number - 1}: RED is fairer: its fairness index, mean over D, less DropTail's is above 0.",
            f"fig{number}",
            said,
            "of the index",
            cases,
            difference_along("D_ms", "jain", RED, DROPTAIL),
            Above(),
            READINGS,
        )
        yield Claim(
            f"fig{number}.unfair",
            f"Case {number - 1}: the fairness index of both is below {bound}: the highest over D.",
            f"fig{number}",
            "less than 0.7" if number == 4 else "never greater than 0.8",
            "of the index",
            cases,
            highest_jain,
            Below(bound),
            READINGS,
        )
    yield from _places()
    yield from _tables()


# ------------------------------------------------------------------ what is open, and what was found

UNSTATED = (
    "What the connections are and how long they run. A coarse search came nearest to tables 1 and 2 with Tahoe (ns-2's "
    "Agent/TCP), ns-2's window of 20 packets, packets of 1460 bytes, a buffer of 50 packets, and all connections from "
    "the start for 3.5 s. It is a fit, not a finding: other combinations may come as near.",
    "RED's parameters: all automatic as in ns-2 2.35 (at 45 Mbit/s min_th 9.6 and max_th 28.9 packets).",
    "What D is: source i has i·D of access delay, i = 0…15, so that with D = 10 ms the farthest is 150 ms away. An "
    "access delay that is D for all gives a fairness index near 1, far above the printed ones.",
    "Access links: 45 Mbit/s and, without a D, 0.1 ms; sinks are 0.1 ms away.",
    "Throughput: all that crosses the link in 3.5 s, headers and packets sent again included. The fairness index is "
    "that of the payload acknowledged.",
)


def discussion(found: Mapping[str, Finding]) -> str:
    """In plain words, from the findings."""

    def number(key: str, digits: int = 0) -> str:
        at = found[key].estimate
        return "nothing" if at is None else f"{at:.{digits}f}".replace("-", "−")

    better = ("fig3.many", "fig4.fairer", "fig5.fairer")
    return f"""
How near the reading comes: the mean deviation from the printed numbers is {number("table1.mean")} % in table 1,
{number("table2.mean")} % in table 2, {number("table3.mean")} % in table 3 and {number("table4.mean")} % in table 4; the
largest {number("table1.worst")}, {number("table2.worst")}, {number("table3.worst")} and {number("table4.worst")} %. The
worst of table 1 is N = 4, where the paper has 1.4 times the throughput of N = 2: connections that are too few to lose a
packet to each other carry twice as much, whatever their parameters. The scenario was probably of this kind; it was not
this one.

The queue hardly matters. With N = 32 the connections use {number("fig2.congested")} % of the link in case 1 and
{number("fig3.congested")} % in case 2 (printed: 51 and 5 %). What they lack is time: setting up a connection and slow
start take the better part of a second at a round trip of 160 ms and most of the 3.5 s at 500 ms, and the losses are
those of their bursts. In cases 3 and 4 the bursts come apart, and nothing is lost: the fairness indices of RED and
DropTail differ by {number("fig4.fairer", 3)} and {number("fig5.fairer", 3)}. They tell round trips, not queues.

RED against DropTail: in case 1 {measured(found["fig2.same"])}; in case 2 {measured(found["fig3.few"])} up to N = 8 and
{measured(found["fig3.many"])} beyond. That RED is better, in cases 2, 3 and 4: {tally(found, better)}. Of a limit of 50
packets ns-2's DropTail lets 49 wait and its RED 50. With 50 for both the difference is {measured(found["fig2.places"])}
in case 1 and {measured(found["fig3.places"])} in case 2; it is 0 where RED drops nothing before its buffer is full, as
DropTail does. In the readings in which the link is busier (duration=30s and window=64,30s) the queues do differ; their
verdicts are in the table of claims.

The paper against itself: its text has RED fairer in case 3, and its table 3 has DropTail fairer at 10 and 15 ms. The
text has a steady increase over N; its table 2 has less at N = 12 than at 8.

Beside ns-2: the same cases in ns-2 itself (validation/ns2.csv) give with T_p = 250 ms what they give here (N = 16: 1.81
Mbit/s under DropTail, 1.82 under RED). With 80 ms packets of different connections are due at the queue at the same
instant, and which is first decides who loses; ns-2's rounded and our exact times differ there: 11.9 and 12.8 Mbit/s at
N = 16 in ns-2, 11.5 for both here. The reading start=10ms takes this coincidence away.
"""


PAPER = Paper(
    key="rvd",
    name="RvD",
    citation="Comparison of RED and DropTail (authors and title are not in the text at hand)",
    exhibits=tuple(_exhibits()),
    claims=tuple(_claims()),
    unstated=UNSTATED,
    discussion=discussion,
)
