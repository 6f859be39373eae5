"""RED against DropTail: figures 2 to 5 and tables 1 to 4 of a comparison in ns-2.

N connections share a long link of 45 Mbit/s. The paper has their throughput over N (cases 1 and 2)
and their fairness over a delay D (cases 3 and 4), and says that RED does slightly better in both. It
says neither what the connections are nor how long they run; the reading taken here is the one that
comes nearest to its tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import penstock as ps
from penstock import style
from penstock.reproduce import draw
from penstock.reproduce.claims import Comparison, Values, of_one_case
from penstock.reproduce.grids import Grid
from penstock.reproduce.measures import Measure
from penstock.reproduce.model import Above, Below, Claim, Exhibit, Finding, Paper, Reading, TableData, Within
from penstock.reproduce.readings import Alternative, Readings, as_the_rfcs
from penstock.reproduce.words import measured, minus, tally

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from penstock.reproduce.runs import Run, Runs

# ---- what the paper prints

QUEUES = ("RED", "DropTail")


@dataclass(frozen=True, slots=True)
class Printed:
    """One of the paper's tables: each row's N or D, and RED's and DropTail's numbers."""

    at: Sequence[int]
    red: Sequence[float]
    droptail: Sequence[float]

    def of(self, queue: str, at: float) -> float:
        """The number of a queue in a row."""
        return self.column(queue)[self.at.index(int(at))]

    def column(self, queue: str) -> Sequence[float]:
        """All numbers of a queue."""
        return self.red if queue == "RED" else self.droptail


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

# ---- what the paper leaves open


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """What a reading takes where the paper says nothing.

    tcp: keys of the senders. red: keys of RED.
    droptail_buffer: DropTail's; `None`: it is `buffer`, as RED's.
    """

    profile: str = "ns-2"
    duration: str = "3.5 s"
    start: Any = "0 s"
    buffer: int = 50
    droptail_buffer: int | None = None
    tcp: Mapping[str, Any] = field(default_factory=dict)
    red: Mapping[str, Any] = field(default_factory=dict)


OPEN = Readings(
    Open(),
    as_the_rfcs(Open(profile="rfc")),
    Alternative("duration=10s", "Runs of 10 s.", Open(duration="10 s")),
    Alternative("duration=30s", "Runs of 30 s.", Open(duration="30 s")),
    Alternative(
        "start=10ms",
        "Each flow starts at random within the first 10 ms, not all at one instant.",
        Open(start={"uniform": ["0 s", "10 ms"]}),
    ),
    Alternative("window=64", "The receivers' windows are 64 packets.", Open(tcp={"window": 64})),
    Alternative(
        "window=64,30s",
        "Windows of 64 packets and runs of 30 s: the flows fill the link.",
        Open(tcp={"window": 64}, duration="30 s"),
    ),
    Alternative("buffer=20", "A buffer of 20 packets.", Open(buffer=20)),
    Alternative("buffer=100", "A buffer of 100 packets.", Open(buffer=100)),
    Alternative(
        "buffer=equal",
        "As many packets may wait under DropTail as under RED (ns-2's DropTail holds one less).",
        Open(droptail_buffer=51),
    ),
    Alternative("tcp=reno", "The flows are Reno.", Open(tcp={"tcp": "reno"})),
    Alternative("segment=1000B", "Packets of 1000 bytes.", Open(tcp={"segment": "1000 B"})),
    Alternative(
        "red=5/15",
        "RED's thresholds are 5 and 15 packets, its weight 0.002: ns-2's defaults before 2001.",
        Open(red={"min_th": 5, "max_th": 15, "w_q": 0.002}),
        queues=("RED",),
    ),
)

# ---- the scenarios


def scenario(queue: str, flows: int, delay_ms: int, reading: Reading, spread_ms: int | None = None) -> ps.Scenario:
    """Fig. 1: N senders and receivers, T_p = `delay_ms`.

    Where there is a D, `spread_ms`, source i is i·D away from the router, i = 0…N − 1.
    """
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


def over_flows(delay_ms: int, droptail_buffer: int | None = None) -> Grid:
    """Cases 1 and 2: every N. droptail_buffer: DropTail's, instead of the reading's."""

    def build(queue: str, flows: int, reading: Reading) -> ps.Scenario:
        made = scenario(queue, flows, delay_ms, reading)
        own = queue == "DropTail" and droptail_buffer is not None
        return made.set("topology.bottleneck.buffer", droptail_buffer) if own else made

    return Grid(build=build, names=QUEUES, along="N", values=FLOWS, quick=(2, 4, 8, 16, 32))


def over_spread(delay_ms: int) -> Grid:
    """Cases 3 and 4: N = 16, every D."""

    def build(queue: str, spread_ms: int, reading: Reading) -> ps.Scenario:
        return scenario(queue, 16, delay_ms, reading, spread_ms)

    return Grid(build=build, names=QUEUES, along="D_ms", values=SPREADS_MS)


CASE_1, CASE_2, CASE_3, CASE_4 = over_flows(80), over_flows(250), over_spread(75), over_spread(250)

# ---- what is measured, figures and tables


def throughput_mbit_s(run: Run) -> float | None:
    """What crosses the link, with headers and packets sent again, as a sink that counts bytes has it."""
    bps = run.metrics["throughput_bps"]
    return None if bps is None else 1e-6 * bps


THROUGHPUT = Measure(quantity=throughput_mbit_s, unit="Mbit/s", axis="throughput [Mbit/s]")
FAIRNESS = Measure(quantity="jain", unit="of the index", axis="fairness index")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of the paper's four cases with the table that has its numbers.

    xlabel: of its figure's axis. head: of its table's first column.
    """

    cases: Grid
    measure: Measure
    printed: Printed
    xlabel: str
    head: str
    digits: int

    def figure(self, runs: Runs) -> Figure:
        """Our curves with the paper's numbers as open marks."""
        with style.context():
            made = draw.figure()
            ax = made.subplots()
            draw.curves_on(ax, runs, self.cases.along, self.measure.quantity, "aqm", order=QUEUES)
            # RED's marks are wider: where the two print the same, one is seen inside the other.
            for i, (queue, size) in enumerate(zip(QUEUES, (9, 6), strict=True)):
                look = style.look(i)
                (marks,) = ax.plot(self.printed.at, self.printed.column(queue), color=look.colour, linestyle="none")
                marks.set(marker=look.marker, markersize=size, fillstyle="none")
            ax.annotate("open: printed in the paper", (0.02, 0.95), xycoords="axes fraction", color=style.MUTED)
            ax.set_xticks(self.printed.at)
            ax.set_ylim(0, 1 if self.measure == FAIRNESS else None)
            ax.set_xlabel(self.xlabel)
            ax.set_ylabel(self.measure.axis)
            draw.label_ends(ax)
        return made

    def table(self, runs: Runs) -> TableData:
        """Our numbers beside the printed ones."""
        rows, digits = [], self.digits
        for at in runs.labels(self.cases.along):
            row = [f"{at}"]
            for queue in QUEUES:
                ours = runs.estimate(self.measure.quantity, **{self.cases.along: at, "aqm": queue})
                said = self.printed.of(queue, float(at))
                assert ours.mean is not None
                half = "" if ours.ci95 is None else f" ± {ours.ci95:.{digits}f}"
                off = minus(f"{100 * (ours.mean / said - 1):+.0f} %")
                row += [f"{said:.{digits}f}", f"{ours.mean:.{digits}f}{half}", off]
            rows.append(row)
        heads = [(f"{queue}: paper", f"{queue}: here", "off by") for queue in QUEUES]
        return TableData((self.head, *heads[0], *heads[1]), rows)

    def deviations(self, gather: Callable[..., NDArray[np.float64]]) -> Values:
        """A claim's values: |ours/printed − 1| in percent, gathered over the table by a function."""

        def values(runs: Runs) -> Sequence[float]:
            along = self.cases.along
            rows = [
                runs.values(self.measure.quantity, aqm=queue, **{along: at}) / self.printed.of(queue, float(at))
                for queue in QUEUES
                for at in runs.labels(along)
            ]
            return [float(v) for v in gather(100 * np.abs(np.array(rows) - 1), axis=0)]

        return values


over_n = partial(Part, measure=THROUGHPUT, xlabel="number of connections N", head="N", digits=2)
over_d = partial(Part, measure=FAIRNESS, xlabel="D [ms]", head="D [ms]", digits=3)
PART_1, PART_2 = over_n(cases=CASE_1, printed=TABLE_1), over_n(cases=CASE_2, printed=TABLE_2)
PART_3, PART_4 = over_d(cases=CASE_3, printed=TABLE_3), over_d(cases=CASE_4, printed=TABLE_4)

DROPLESS = "Source i of 16 is i·D away. No packet is dropped, so that RED and DropTail are the same run."

EXHIBITS = (
    Exhibit(
        key="fig2",
        title="Throughput over N, T_p = 80 ms",
        cases=CASE_1,
        show=PART_1.figure,
        caption="Case 1. The link has 45 Mbit/s. Flows start at one instant, so that seeds differ in hardly more than "
        "the phase of the senders' clocks: the intervals say little about another order of packets (reading "
        "start=10ms).",
    ),
    Exhibit(
        key="table1",
        title="Throughput in case 1",
        cases=CASE_1,
        show=PART_1.table,
        caption="In Mbit/s. The text at hand has lost the points of 2.5, 3.5 and 7.5.",
    ),
    Exhibit(
        key="fig3",
        title="Throughput over N, T_p = 250 ms",
        cases=CASE_2,
        show=PART_2.figure,
        caption="Case 2. The link has 45 Mbit/s: an axis up to it would show nothing but its foot.",
    ),
    Exhibit(key="table2", title="Throughput in case 2", cases=CASE_2, show=PART_2.table, caption="In Mbit/s."),
    Exhibit(
        key="fig4",
        title="Fairness over D, T_p = 75 ms",
        cases=CASE_3,
        show=PART_3.figure,
        caption=f"Case 3. {DROPLESS}",
    ),
    Exhibit(
        key="table3",
        title="Fairness index in case 3",
        cases=CASE_3,
        show=PART_3.table,
        caption="The paper's text has RED above DropTail here; its own numbers have it below at 10 and 15 ms.",
    ),
    Exhibit(
        key="fig5",
        title="Fairness over D, T_p = 250 ms",
        cases=CASE_4,
        show=PART_4.figure,
        caption=f"Case 4. {DROPLESS}",
    ),
    Exhibit(key="table4", title="Fairness index in case 4", cases=CASE_4, show=PART_4.table, caption=""),
)

# ---- claims

READINGS = OPEN.touching(*QUEUES)


def red_over_droptail(cases: Grid, at: Sequence[int] | None = None) -> Comparison:
    """RED against DropTail."""
    return Comparison.on(cases, *QUEUES, at=at, readings=READINGS)


def smallest_step(runs: Runs) -> Sequence[float]:
    """The smallest change of throughput from one N to the next, RED's and DropTail's, Mbit/s."""
    flows = sorted(runs.labels("N"), key=float)
    steps = [np.diff([runs.values(throughput_mbit_s, aqm=queue, N=n) for n in flows], axis=0) for queue in QUEUES]
    return [float(v) for v in np.min(np.concatenate(steps), axis=0)]


def highest_jain(runs: Runs) -> Sequence[float]:
    """The highest fairness index of either queue over D."""
    cases = [runs.values("jain", aqm=queue, D_ms=at) for queue in QUEUES for at in runs.labels("D_ms")]
    return [float(v) for v in np.max(cases, axis=0)]


def throughput_of_case(number: int, cases: Grid, grows: str, printed: str) -> Iterator[Claim]:
    """What the paper says of the throughput in case 1 or 2."""
    yield red_over_droptail(cases).claim(
        key=f"fig{number + 1}.grows",
        text=f"Case {number}: throughput grows with every step of N: the smallest step of either queue is above 0.",
        paper_value=grows,
        unit="Mbit/s",
        values=smallest_step,
        rule=Above(),
    )
    yield Claim(
        key=f"fig{number + 1}.congested",
        text=f"Case {number}: the connections congest the link: with N = 32 they use more than 90 % of it.",
        exhibit=f"fig{number + 1}",
        paper_value=f"printed: {printed} %",
        unit="% of the link",
        cases=cases.only("DropTail", at=(32,)),
        values=of_one_case("utilization", 100),
        rule=Above(90),
        readings=OPEN.touching("DropTail"),
    )


def fairness_of_case(number: int, cases: Grid, fairer: str, unfair: str, bound: float) -> Iterator[Claim]:
    """What the paper says of the fairness in case 3 or 4."""
    yield red_over_droptail(cases).difference(
        FAIRNESS,
        key=f"fig{number + 1}.fairer",
        text=f"Case {number}: RED is fairer: its fairness index, mean over D, less DropTail's is above 0.",
        paper_value=fairer,
        rule=Above(),
    )
    yield red_over_droptail(cases).claim(
        key=f"fig{number + 1}.unfair",
        text=f"Case {number}: the fairness index of both is below {bound}: the highest over D.",
        paper_value=unfair,
        unit="of the index",
        values=highest_jain,
        rule=Below(bound),
    )


def equal_places(number: int, delay_ms: int) -> Claim:
    """What is left of the difference when as many packets may wait under both."""
    return Comparison.on(over_flows(delay_ms, droptail_buffer=51), *QUEUES).percent(
        THROUGHPUT,
        key=f"fig{number + 1}.places",
        text=f"Beyond the paper, case {number}: with as many waiting places under DropTail as under RED the "
        "throughputs are equal: the difference, mean over N, is within ±0.1 %.",
        paper_value="not considered",
        rule=Within(-0.1, 0.1),
    )


def printed_numbers(number: int, part: Part) -> Iterator[Claim]:
    """How near the reading comes to what a table prints."""
    for key, text, gather, bound in (
        (
            "mean",
            f"The numbers of table {number} come out again: |ours/printed − 1|, mean over the table, is below 10 %.",
            np.mean,
            10,
        ),
        ("worst", f"No number of table {number} is off by 25 % or more: the largest |ours/printed − 1|.", np.max, 25),
    ):
        yield red_over_droptail(part.cases).claim(
            key=f"table{number}.{key}",
            text=text,
            paper_value="0",
            unit="%",
            values=part.deviations(gather),
            rule=Below(bound),
        )


CLAIMS = (
    red_over_droptail(CASE_1).percent(
        THROUGHPUT,
        key="fig2.same",
        text="Case 1: RED and DropTail perform almost equally: RED's throughput, mean over N, is within ±2 % of "
        "DropTail's.",
        paper_value="almost equally (+0.1 %)",
        rule=Within(-2, 2),
    ),
    *throughput_of_case(1, CASE_1, "almost a steady increase", "23.0 of 45 Mbit/s, 51"),
    *throughput_of_case(2, CASE_2, "not said; printed: −0.08 from 8 to 12", "2.30 of 45 Mbit/s, 5"),
    red_over_droptail(CASE_2, FLOWS[:3]).percent(
        THROUGHPUT,
        key="fig3.few",
        text="Case 2: up to N = 8 they perform almost equally: RED's throughput, mean over N = 2…8, is within ±2 % of "
        "DropTail's.",
        paper_value="almost equally (0 %)",
        rule=Within(-2, 2),
    ),
    red_over_droptail(CASE_2, FLOWS[3:]).percent(
        THROUGHPUT,
        key="fig3.many",
        text="Case 2: from there to N = 32 RED performs better: its throughput, mean over N = 12…32, less DropTail's "
        "is above 0.",
        paper_value="better (+3.3 %)",
        rule=Above(),
    ),
    *fairness_of_case(3, CASE_3, "better (printed: −0.005, −0.002, +0.100)", "less than 0.7", 0.7),
    *fairness_of_case(4, CASE_4, "better (printed: +0.044, +0.095, +0.120)", "never greater than 0.8", 0.8),
    equal_places(1, 80),
    equal_places(2, 250),
    *(
        claim
        for number, part in enumerate((PART_1, PART_2, PART_3, PART_4), 1)
        for claim in printed_numbers(number, part)
    ),
)

# ---- what was read, and what was found

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
        return "nothing" if at is None else minus(f"{at:.{digits}f}")

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
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    discussion=discussion,
)
