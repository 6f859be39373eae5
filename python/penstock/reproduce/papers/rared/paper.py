"""RARED: how the gaps were read, what was found, and the whole."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduce.model import Finding, Paper
from penstock.reproduce.papers.rared.claims import CLAIMS
from penstock.reproduce.papers.rared.exhibits import EXHIBITS
from penstock.reproduce.papers.rared.scenarios import QUEUES, SHORT
from penstock.reproduce.words import measured, tally

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


def old_discussion(found: Mapping[str, Finding]) -> str:
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

)
