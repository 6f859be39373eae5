"""AMECN: how the gaps were read, what was found, and the whole."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduce.model import Finding, Paper
from penstock.reproduce.nearest import shipped
from penstock.reproduce.papers.amecn.claims import CLAIMS
from penstock.reproduce.papers.amecn.exhibits import EXHIBITS
from penstock.reproduce.papers.amecn.scenarios import OPEN
from penstock.reproduce.verdict import HOLDS
from penstock.reproduce.words import at_points, nearest, read_otherwise, say, saying, together

#: The claims about the return to the target range when the load rises.
RETURN = ("fig6.settled", "fig6.return")


def believe(found: Mapping[str, Finding]) -> str:
    """Returns what to believe of the paper, in a sentence."""
    back = saying(
        found,
        RETURN,
        holds="AMECN brings its queue back into its range after the load has risen",
        fails="AMECN does not bring its queue back into its range after the load has risen, unless "
        "the router drops where it would mark with more than 0.1",
        undecided="whether AMECN brings its queue back into its range after the load has risen is open",
    )
    closer = saying(
        found,
        ("fig6.steady", "fig6.sensitivity"),
        holds="it does hold it steadier than MECN and nearer to the range than ARED",
        fails="it is not both steadier than MECN and nearer to the range than ARED",
        undecided="it may be steadier than MECN and nearer to the range than ARED",
    )
    used = saying(
        found,
        ("fig9.utilization",),
        holds="at every delay it uses the link better than ARED",
        fails="it does not use the link better than ARED at every delay",
        undecided="whether it uses the link better than ARED at every delay is open",
    )
    return f"{back[0].upper()}{back[1:]}; {closer}; {used}{read_otherwise(found)}."


def discussion(found: Mapping[str, Finding]) -> str:
    """Discusses the paper in plain words, from the findings."""
    parts = (_load(found), _turns(found), _throughput(found), _ared(found), _links(found), _algorithm(found))
    return "\n\n".join(part for part in parts if part)


def _load(found: Mapping[str, Finding]) -> str:
    lead = saying(
        found,
        RETURN,
        holds="**When the load rises, AMECN returns to its range of 9 to 12 packets.**",
        fails="**When the load rises, AMECN does not return to its range of 9 to 12 packets.**",
        undecided="**Whether AMECN returns to its range when the load rises is open.**",
    )
    return (
        f"{lead} From 40 s on its average is {say(found, 'fig6.settled')}; it returns within 18 s "
        f"in {say(found, 'fig6.return')}. When the load falls: {say(found, 'fig8.settled')}, and "
        f"{say(found, 'fig8.return')}. Why: P_max may not exceed 0.5. With 22 flows each has about "
        "one packet in flight, and a mark cannot slow it further: the average stays above the "
        "range with P_max at its bound. Beside the others: how much less AMECN's average moves than "
        f"MECN's, {say(found, 'fig6.steady')}; how much nearer to the range than ARED's it ends, "
        f"{say(found, 'fig6.sensitivity')}."
    )


def _turns(found: Mapping[str, Finding]) -> str:
    text = (
        "**What turns these verdicts.** Section 2.1 has the router drop every packet above "
        "max_th, while section 3.3.1 is gentle; and ns-2 in the paper's years dropped packets "
        "instead of marking them where the probability was above 0.1. With the second, or with "
        "both at once (reading “mark_p=0.1 + above_max=drop”), drops do what marks cannot, and "
        "the average is back in its range within seconds. Figures 5 and 6 then come out, both "
        "printed throughputs included; the smaller drop rate does not."
    )
    near = nearest(found)
    if near:
        if together(near, RETURN) != HOLDS:
            text += (
                " The nearest joint reading is another one. It has more of the claims on the right "
                "side, but not the return."
            )
        text += (
            f" In the nearest joint reading the average ends at {say(near, 'fig6.settled')} when "
            f"the load rises, and returns within 18 s in {say(near, 'fig6.return')}; the "
            f"throughput over MECN's is {say(near, 'fig6.throughput')}, over ARED's at the same "
            f"mean queue {say(near, 'fig9.utilization')}."
        )
    return text


def _throughput(found: Mapping[str, Finding]) -> str:
    return (
        f"**Throughput over MECN's.** Utilization: {say(found, 'fig6.throughput')} where the load "
        f"rises, {say(found, 'fig8.throughput')} where it falls. What “throughput” means matters "
        "(sense “throughput=received”): ACKs of the reverse flow and packets that are sent again "
        "cross the link as well, and MECN sends more of these. When the load falls, AMECN's "
        "P_max takes at least 2 s from 0.5 to 0.1; meanwhile the flows that are left are marked "
        "as if the others were still there. MECN has no such memory. The average queue over "
        f"MECN's: {say(found, 'fig6.avg')}; drops: {say(found, 'fig6.drops')}. ACKs are not "
        "ECN-capable. What is a mark for data is a drop for them, so that a queue that marks "
        "more drops more of them (sense “data”: of data packets alone)."
    )


def _ared(found: Mapping[str, Finding]) -> str:
    return (
        f"**Against ARED.** Utilization at the same mean queue: {say(found, 'fig9.utilization')}; "
        f"at the same target: {say(found, 'fig9.target')}; the mean queue where both use the link "
        f"equally: {say(found, 'fig9.delay')}. From the target AMECN's queue is off by "
        f"{say(found, 'fig10.amecn')}, ARED's by {say(found, 'fig10.ared')}. The queue also holds "
        "short ACKs, so that packets and time are not proportional (sense “time”)."
    )


def _links(found: Mapping[str, Finding]) -> str:
    return (
        "**Three congested links.** Total throughput over ARED's: "
        f"{say(found, 'fig12.throughput')}; of it the flows over two or three links: "
        f"{say(found, 'fig12.long')}. A packet that crosses three links counts once and takes the "
        "place of three that cross one. The total is highest where the long flows get nothing: "
        "read it beside the other panel."
    )


def _algorithm(found: Mapping[str, Finding]) -> str:
    return (
        "**The algorithm by itself.** Marks, echo and cuts are those of tables 1 to 3. P_max "
        f"rises from 0.01 to 0.5 in {say(found, 'fig3.rises')} with ARED's steps and falls back "
        f"in {say(found, 'fig3.falls')}; the paper leaves out that ARED's first steps are a "
        f"quarter of P_max. AMECN's own steps are faster, by {say(found, 'fig3.rises.faster')} "
        f"and {say(found, 'fig3.falls.faster')}. MECN's average follows the load "
        f"({say(found, 'fig5.follows')}), and it stays above mid_th "
        f"{at_points(found['fig5.mid_th'])} ({found['fig5.mid_th'].verdict}). Equation (2) holds "
        f"for one marking probability. Under TCP the exponent is {say(found, 'eq2.inverse')}: "
        "flows that are marked more slow down, and so change that probability."
    )


UNSTATED = (
    "P_max of MECN and AMECN's first: 0.1 for both ramps, ns-2's default.",
    "Which ceiling AMECN adapts: both, at the same value.",
    "Above max_th section 2.1 drops all packets and section 3.3.1 is gentle: drops with a "
    "probability that rises from P_max to 1 at 2 max_th. The default is gentle.",
    "α is Figure 3's; equation (4) has a further factor 0.17 that contradicts it. β as printed, down to 0.66.",
    "AMECN adapts outside its target range only, around the middle of it.",
    "w_q of figures 5 to 8 is the printed 0.0027, which is equation (5)'s for packets of 500 "
    "bytes; mid_th is the printed 10 packets, not 2.25 min_th.",
    "The receiver's window where none is given: 20 packets, ns-2's.",
    "How long figures 5 to 8 run: 50 s; throughput is the share of the link's rate that is used, over all of it.",
    "The direction back has the same discipline and buffer, as ns-2's duplex links do; ACKs are not ECN-capable.",
    "What the paper means by a mark's echo and cut in detail: each mark is told on one ACK, a "
    "window is cut once for a window of data, and nothing keeps it at one packet, as in ns-2.",
    "Figures 9 and 10: buffer of 300 packets, 10 reverse flows, 20 web sessions (Pareto objects "
    "of 12 kB, a second of thought), flows' round trips in even steps from 100 to 150 ms, "
    "targets of 10 to 100 ms. Delay in packets is the mean queue.",
    'Figure 11: access links of 10 Mbit/s, 2 and 4 ms, buffer of 300 packets; "at R0 and R1 20 flows enter" is 20 at '
    "each.",
    "ARED is Floyd's of 2001 with its automatic parameters, in section 4.2 with the thresholds "
    "and w_q of the others; its senders are classic ECN's; both mark at any probability.",
)

PAPER = Paper(
    key="amecn",
    name="AMECN",
    citation="A. Durresi, M. Sridharan, R. Jain, Adaptive multi-level explicit congestion notification, "
    "Int. J. High Performance Computing and Networking 5(1/2), 2007",
    bibtex="""@article{amecn,
  author  = {Durresi, Arjan and Sridharan, Mukundan and Jain, Raj},
  title   = {Adaptive multi-level explicit congestion notification},
  journal = {International Journal of High Performance Computing and Networking},
  volume  = {5},
  number  = {1/2},
  pages   = {3--11},
  year    = {2007}
}""",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    readings=OPEN,
    nearest=shipped("amecn", OPEN),
    believe=believe,
    discussion=discussion,
)
