"""RED against DropTail: how the gaps were read, what was found, and the whole."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduce.model import Finding, Paper
from penstock.reproduce.nearest import shipped
from penstock.reproduce.papers.rvd.claims import CLAIMS
from penstock.reproduce.papers.rvd.exhibits import EXHIBITS
from penstock.reproduce.papers.rvd.scenarios import OPEN
from penstock.reproduce.words import measured, minus, tally

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
    readings=OPEN,
    nearest=shipped("rvd", OPEN),
    discussion=discussion,
)
