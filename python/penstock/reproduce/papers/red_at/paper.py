"""RED-AT: how the gaps were read, what was found, and the whole."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduce.model import Finding, Paper
from penstock.reproduce.nearest import shipped
from penstock.reproduce.papers.red_at.claims import CLAIMS
from penstock.reproduce.papers.red_at.exhibits import EXHIBITS
from penstock.reproduce.papers.red_at.scenarios import OPEN
from penstock.reproduce.words import apart, at_points, read_otherwise, saying

UNSTATED = (
    "The link's rate and delay and the access links' (Fig. 7 is not in the text): 10 Mbit/s and "
    "20 ms, 100 Mbit/s and 5 ms. Other rates and a longer delay are readings, and they matter.",
    "Gentle or not: section 4.1 says that all packets are dropped above max_th, so RED and RED-AT "
    "are not; ARED is, as [5] defines it. All three gentle, and none, are readings. This departs "
    "from Penstock's default.",
    "Drop or mark: the paper counts drops and speaks of ECN as an alternative, so the queues drop; marks are readings.",
    "Which adaptive RED is compared: we take [5] (Floyd). What the paper prints under [4] is "
    "BLUE; BLUE, and Feng's ARED of 1999, are readings.",
    "RED-AT's bounds and steps: min_th ± 50 %, max_th ± 20 %, α = 0.1, β = 0.05. Region a is "
    "below min⁺, as Fig. 6 prints it.",
    "What N counts: all sources, 30 % of them (rounded down) HTTP: one session each, Pareto "
    "objects of 12 kB, a second of thought. TCP is Reno with ns-2's window of 20 packets.",
    "What jitter and throughput are: both senses of each that the text allows are judged.",
    "How long figures 8 and 9 run: 150 s as the others; their numbers are from second 20 on, sampled every 50 ms.",
    "What “much smaller”, “sharply”, “roughly” and “closely” allow: the bounds in the claims are ours.",
    "At which N a claim is judged: at 5, 20 and 40, and at 60, 80 and 100, which we take as low "
    "to medium and as high load. The figures have more.",
)


def of_both(claim: str) -> list[str]:
    """Returns the keys of a claim against RED and ARED."""
    return [f"{claim}-red", f"{claim}-ared"]


def believe(found: Mapping[str, Finding]) -> str:
    """Returns what to believe of the paper, in a sentence."""
    swing = saying(
        found,
        ["fig9.oscillation"],
        holds="RED-AT's queue does oscillate less than RED's",
        fails="RED-AT's queue oscillates more than RED's, not less",
        undecided="Whether RED-AT's queue oscillates less than RED's is open",
    )
    best = saying(
        found,
        [*of_both("fig10.lowest"), *of_both("fig11.highest")],
        holds="it has the lowest drop rate and the highest throughput",
        fails="it has neither the lowest drop rate nor the highest throughput at every load",
        undecided="its drop rate and throughput are not shown to be the best",
    )
    return f"{swing}, and {best}; the link's rate decides, which the text does not give{read_otherwise(found)}."


def discussion(found: Mapping[str, Finding]) -> str:
    """Discusses the paper in plain words, from the findings."""
    return "\n\n".join((_oscillation(found), WHY, _best(found), _jitter(found), LINK, NS2))


def _oscillation(found: Mapping[str, Finding]) -> str:
    swing = saying(
        found,
        ["fig9.oscillation"],
        holds="**Believe that RED-AT calms the queue.** Its standard deviation is lower than RED's.",
        fails="**Do not believe that RED-AT calms the queue.** Its standard deviation is higher than RED's.",
        undecided="**Whether RED-AT calms the queue is open.**",
    )
    level = saying(
        found,
        ["fig9.level"],
        holds="The average queue is higher than RED's, as the paper says.",
        fails="The average queue is lower than RED's, where the paper has it slightly higher.",
        undecided="Whether the average queue is higher than RED's is open.",
    )
    used = saying(
        found,
        ["fig9.utilization"],
        holds="More of the link is used.",
        fails="Nor is more of the link used.",
        undecided="Whether more of the link is used is open.",
    )
    away = saying(
        found,
        ["fig9.away"],
        holds="It does stay away from max_th more than RED's does.",
        fails="It does not stay away from max_th: it is above the threshold for more of the time than RED's.",
        undecided="Whether it stays away from max_th more than RED's does is open.",
    )
    return f"""\
{swing} With N = 80 it is {apart(found["fig9.oscillation"])}. {level} It is
{apart(found["fig9.level"])}. {away} {used}"""


WHY = """\
The figure of the thresholds shows why. They move from one bound to the other within a tenth of a
second, as fast as the average. Where it passes max⁻ = 24 packets, max_th comes down to meet it,
and every packet is dropped until the average is back below. The queue runs empty, the average
falls, and the thresholds let the next burst in. Lowering the thresholds where the queue is high
raises the gain of the loop that the paper wants to calm."""


def _best(found: Mapping[str, Finding]) -> str:
    drops = saying(
        found,
        of_both("fig10.lowest"),
        holds="**Its drop rate is the lowest at every load.**",
        fails="**Its drop rate is not the lowest at every load.**",
        undecided="**That its drop rate is the lowest at every load is not shown.**",
    )
    most = saying(
        found,
        of_both("fig11.highest"),
        holds="**Its throughput is the highest at every load.**",
        fails="**Its throughput is not the highest at every load.**",
        undecided="**That its throughput is the highest at every load is not shown.**",
    )
    decline = saying(
        found,
        ["fig11.decline"],
        holds="RED's throughput declines sharply with many flows, as in the paper.",
        fails="RED's throughput does not decline sharply with many flows, since so many fill the link.",
        undecided="Whether RED's throughput declines sharply with many flows is open.",
    )
    follows = saying(
        found,
        ["fig10.follows", "fig10.high"],
        holds="RED and ARED stand to each other as the paper says: alike at low to medium load, "
        "ARED lower at high load.",
        fails="RED and ARED do not stand to each other quite as the paper says.",
        undecided="RED and ARED stand to each other about as the paper says.",
    )
    return f"""\
{drops} It is lower than RED's {at_points(found["fig10.lowest-red"])} loads and lower than ARED's
{at_points(found["fig10.lowest-ared"])}. {most} It is higher than RED's
{at_points(found["fig11.highest-red"])} loads and higher than ARED's
{at_points(found["fig11.highest-ared"])}. {decline} {follows}"""


def _jitter(found: Mapping[str, Finding]) -> str:
    highest = saying(
        found,
        ["fig12.red-at-red"],
        holds="**RED-AT's jitter is lower than RED's.**",
        fails="**RED-AT's jitter is not lower than RED's at every load.**",
        undecided="**That RED-AT's jitter is lower than RED's at every load is not shown.**",
    )
    return f"""\
{highest} This takes jitter as the standard deviation of the delay; it is lower
{at_points(found["fig12.red-at-red"])} loads. As the change of the delay from packet to packet, the
other sense that the text allows, it is judged beside it. A queue that swings between empty and
full has small steps from packet to packet: that sense does not see the oscillation that the
paper's argument is about."""


LINK = """\
**The link decides, and the paper's text does not give it.** With 45 Mbit/s, the rate of the paper
that introduced RED, RED leaves a part of the link idle even with N = 80. Then all three claims of
experiment 1 come out as the paper has them: RED-AT's queue oscillates less than RED's, its average
is slightly higher, and it uses more of the link (the reading rate=45M). Its drop rate is no lower
there either. At the default rate, thresholds that stay where they are between the regions
(reset=false) leave the queue as RED has it; slower steps alone (alpha=0.01) do not."""

NS2 = """\
RED-AT written independently inside ns-2 has the same drop rate and utilization at N = 100 within a
point, as have its RED and ARED; its points are on the figures."""


PAPER = Paper(
    key="red-at",
    name="RED-AT",
    citation="Z. M. Patel, U. D. Dalal, Enhancing Performance of Internetworking with Novel "
    "RED-AT Congestion Control Algorithm",
    bibtex="""@article{patel-red-at,
  author  = {Patel, Z. M. and Dalal, U. D.},
  title   = {Enhancing Performance of Internetworking with Novel {RED-AT} Congestion Control Algorithm},
  journal = {International Journal of Scientific \\& Engineering Research},
  note    = {Year, volume and pages are not in the text at hand}
}""",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    readings=OPEN,
    nearest=shipped("red-at", OPEN),
    believe=believe,
    discussion=discussion,
)
