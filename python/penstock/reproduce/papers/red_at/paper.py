"""RED-AT: how the gaps were read, what was found, and the whole."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduce.model import Finding, Paper
from penstock.reproduce.papers.red_at.claims import CLAIMS
from penstock.reproduce.papers.red_at.exhibits import EXHIBITS
from penstock.reproduce.words import measured, tally

UNSTATED = (
    "The link's rate and delay and the access links' (Fig. 7 is not in the text): 10 Mbit/s and "
    "20 ms, 100 Mbit/s and 5 ms. Other rates and a longer delay are readings, and they matter.",
    "Gentle or not: section 4.1 says that all packets are dropped above max_th, so RED and RED-AT "
    "are not; ARED is, as [5] defines it. All three gentle, and none, are readings. This departs "
    "from Penstock's default.",
    "Drop or mark: the paper counts drops and speaks of ECN as an alternative, so the queues drop; marks are readings.",
    "Which adaptive RED is compared: [5] (Floyd); [4] is BLUE by its printed pseudocode; Feng's "
    "of 1999 is a reading, too.",
    "RED-AT's bounds and steps: min_th ± 50 %, max_th ± 20 %, α = 0.1, β = 0.05. Region a is "
    "below min⁺, as Fig. 6 prints it.",
    "What N counts: all sources, 30 % of them (rounded down) HTTP: one session each, Pareto "
    "objects of 12 kB, a second of thought. TCP is Reno with ns-2's window of 20 packets.",
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
    citation="Z. M. Patel, U. D. Dalal, Enhancing Performance of Internetworking with Novel "
    "RED-AT Congestion Control Algorithm",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    discussion=discussion,
)
