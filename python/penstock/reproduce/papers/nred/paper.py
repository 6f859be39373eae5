"""NRED: how the gaps were read, what was found, and the whole."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduce.model import Finding, Paper
from penstock.reproduce.nearest import shipped
from penstock.reproduce.papers.nred.claims import CLAIMS
from penstock.reproduce.papers.nred.exhibits import EXHIBITS
from penstock.reproduce.papers.nred.scenarios import OPEN
from penstock.reproduce.words import apart, read_otherwise, saying

UNSTATED = (
    "The exponent's start and bounds: n_0 = 2, n_min = 1, n_max = 5; others are readings. The step is the printed 1.",
    "How p becomes a drop: through RED's count, as in RED itself; without it is a reading.",
    "What the buffer counts: 1 KB is a packet, so that 100 KB are 100 packets; bytes are a "
    "reading. Packets carry 1000 B of payload, the CBR's are 1000 B in all.",
    "RED gentle or not: gentle, as Fig. 1 draws it; without is a reading.",
    "Drop or mark (Table 1: “dropped or marked”): dropped. ECN is a reading, with marks at any "
    "probability, and with ns-2's limit of 0.1 since 2002.",
    "The TCP variant and its window: Reno with ns-2's 20 packets; Tahoe, SACK and 100 packets are readings.",
    "The length of a run and what is measured of it: 100 s, all of it.",
    "What delay is: the queueing delay of all packets at the bottleneck. A delay from a segment's "
    "first sending to its delivery, retransmissions included, would charge losses to it; this "
    "reading was not tried.",
    "The other direction's queue: DropTail with 1000 packets.",
    "What “much smaller”, “not much” and “not large” allow: the bounds in the claims are ours.",
)

OTHERS = ("droptail", "red")


def believe(found: Mapping[str, Finding]) -> str:
    """Returns what to believe of the paper, in a sentence."""
    droptail = saying(
        found,
        ["fig3.large-droptail", "fig5.few-droptail"],
        holds="NRED does have a lower delay than DropTail",
        fails="NRED does not have a lower delay than DropTail throughout",
        undecided="Whether NRED has a lower delay than DropTail is open",
    )
    red = saying(
        found,
        ["fig3.large-red", "fig5.few-red"],
        holds="and than RED",
        fails="but a higher one than RED",
        undecided="and perhaps than RED",
    )
    loss = saying(
        found,
        ["fig6.loss-droptail"],
        holds="it loses less than DropTail",
        fails="it loses more than DropTail",
        undecided="whether it loses less than DropTail is open",
    )
    less = saying(
        found,
        ["fig6.loss-red"],
        holds="less than RED",
        fails="not less than RED",
        undecided="perhaps less than RED",
    )
    exponent = saying(
        found,
        ["section2.exponent"],
        holds="its exponent follows the load",
        fails="its exponent does not follow the load",
        undecided="whether its exponent follows the load is open",
    )
    return f"{droptail}, {red}; {loss} and {less}; {exponent}{read_otherwise(found)}."


def discussion(found: Mapping[str, Finding]) -> str:
    """Discusses the paper in plain words, from the findings."""
    return "\n\n".join((_delay(found), _why(found), _loss(found), _exponent(found), NS2))


def _delay(found: Mapping[str, Finding]) -> str:
    droptail = saying(
        found,
        ["fig3.large-droptail", "fig5.few-droptail"],
        holds="**Believe that NRED's delay is lower than DropTail's.**",
        fails="**NRED's delay is not lower than DropTail's throughout.**",
        undecided="**NRED's delay may be lower than DropTail's.**",
    )
    red = saying(
        found,
        ["fig3.large-red", "fig5.few-red"],
        holds="**It is lower than RED's, too.**",
        fails="**Do not believe that it is lower than RED's.**",
        undecided="**Against RED it is open.**",
    )
    return f"""\
{droptail} It is {apart(found["fig3.large-droptail"])} with larger buffers, in the mean, and
{apart(found["fig5.few-droptail"])} with few connections. {red} It is
{apart(found["fig3.large-red"], 0)} with larger buffers and {apart(found["fig5.few-red"], 0)} with
few connections."""


def _why(found: Mapping[str, Finding]) -> str:
    apart = saying(
        found,
        ["fig5.red-droptail"],
        holds="In the paper and here RED's delay is close to DropTail's as connections are added.",
        fails="In the paper RED's delay is close to DropTail's as connections are added; here it "
        "is far below. This is where our runs and the paper part, and its text does not say what "
        "its RED did otherwise.",
        undecided="In the paper RED's delay is close to DropTail's as connections are added; here that is open.",
    )
    small = saying(
        found,
        ["fig3.small"],
        holds="With a small buffer the three are alike, as the paper says.",
        fails="With a small buffer the three are not as alike as the paper says.",
        undecided="With a small buffer the three are about alike.",
    )
    return f"""\
Fig. 1 says what to expect. NRED's curve reaches 1 at the buffer, RED's at 30 packets whatever the
buffer is. Flows that need a drop probability of 0.1 to 0.2 hold RED's average at 15 to 17 packets,
and that of NRED with n = 2 at 35 to 47; DropTail's queue is the buffer. So NRED should lie between
the two. {apart} {small}"""


def _loss(found: Mapping[str, Finding]) -> str:
    loss = saying(
        found,
        [f"{claim}-{other}" for claim in ("fig4.loss", "fig6.loss") for other in OTHERS],
        holds="**Believe that NRED loses least.**",
        fails="**Do not believe that NRED loses least.**",
        undecided="**Whether NRED loses least is open.**",
    )
    return f"""\
{loss} In the mean over the numbers of connections its loss is {apart(found["fig6.loss-droptail"])}
than DropTail's and {apart(found["fig6.loss-red"])} than RED's. Lowest delay and lowest loss at
once is not to be had by dropping alone: flows with a shorter round trip need more loss to share
the same link. Marks cost no packet. Under the reading ecn, in which RED and NRED mark and DropTail
cannot, the claims against DropTail come out otherwise, and the paper's Table 1 does say “dropped
or marked”."""


def _exponent(found: Mapping[str, Finding]) -> str:
    exponent = saying(
        found,
        ["section2.exponent"],
        holds="**The exponent follows the load.**",
        fails="**The adaptation does not adapt.**",
        undecided="**Whether the exponent follows the load is open.**",
    )
    more = found["section2.exponent"].estimate or 0.0
    return f"""\
{exponent} Its mean at N = 20 is {more:.2f} higher than at N = 100, where one step is 1. The rule
moves n when the average enters a region: up below min_th, where every run begins, and down when it
first passes max_th. Under steady load the average stays above min_th from then on, so that the
exponent goes back to where it began. Its start decides, and bounds beyond it do not matter."""


NS2 = """\
The same three algorithms inside ns-2, with NRED written there independently, give the same delays
and losses; its points are on the figures."""


PAPER = Paper(
    key="nred",
    name="NRED",
    citation="K.-J. Park, E.-C. Park, H. Lim, C.-H. Choi, Adaptive Nonlinear RED Algorithm for TCP Congestion Control",
    bibtex="""@misc{park-nred,
  author = {Park, Kyung-Joon and Park, Eun-Chan and Lim, Hyuk and Choi, Chong-Ho},
  title  = {Adaptive Nonlinear {RED} Algorithm for {TCP} Congestion Control},
  note   = {Seoul National University. Year and place of publication are not in the text at hand}
}""",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    readings=OPEN,
    nearest=shipped("nred", OPEN),
    believe=believe,
    discussion=discussion,
)
