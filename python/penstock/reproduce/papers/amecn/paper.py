"""AMECN: how the gaps were read, what was found, and the whole."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduce.model import Finding, Paper
from penstock.reproduce.nearest import shipped
from penstock.reproduce.papers.amecn.claims import CLAIMS
from penstock.reproduce.papers.amecn.exhibits import EXHIBITS
from penstock.reproduce.papers.amecn.scenarios import OPEN
from penstock.reproduce.words import minus


def discussion(found: Mapping[str, Finding]) -> str:
    """The findings under the default reading, in words."""

    def number(key: str) -> str:
        at = found[key]
        half = "" if at.estimate is None or at.high is None else f" ± {at.high - at.estimate:.2g}"
        return minus(f"{at.estimate:.3g}{half} {at.claim.unit}")

    def say(key: str) -> str:
        return f"{number(key)} ({found[key].verdict})"

    return "\n\n".join(
        (
            f"The load changes. When it rises, AMECN's average ends at {say('fig6.settled')} and is back in its "
            f"range of 9 to 12 packets after {say('fig6.return')}; when it falls, at {say('fig8.settled')}, after "
            f"{say('fig8.return')}; 20 s stand for never. P_max may not exceed 0.5: where the average is above its "
            "range with P_max at that bound, nothing is left to adapt. Throughput over MECN's: "
            f"{say('fig6.throughput')} for the rise, "
            f"{say('fig8.throughput')} for the fall. P_max takes at least 2 s from 0.5 down to 0.1 (β is 0.66 or more, "
            "twice a second); meanwhile the flows that are left are marked as if the others were still there. MECN has "
            "no such memory.",
            f"The average queue over MECN's: {say('fig6.avg')}. Drops over MECN's: {say('fig6.drops')} of all packets, "
            f"{say('fig6.data_drops')} of data packets. ACKs of the reverse flow are not ECN-capable: what is a mark "
            "for data is a drop for them, so a queue that marks more also drops more of them.",
            f"Against ARED. Utilization over ARED's at the same mean queue: {say('fig9.utilization')}, where it is "
            f"least {say('fig9.least')}; at the same target: {say('fig9.target')}. From the target AMECN's mean queue "
            f"is off by {say('fig10.amecn')}, ARED's by {say('fig10.ared')}; in waiting time of data packets "
            f"{say('fig10.amecn.time')} and {say('fig10.ared.time')}: the queue also holds short ACKs, so that packets "
            f"and time are not proportional. The slope of figure 10 is {say('fig10.amecn.slope')} for AMECN, "
            f"{say('fig10.ared.slope')} for ARED.",
            f"Three congested links. Total throughput over ARED's: {say('fig12.throughput')}; of it the flows over "
            f"two or three links: {say('fig12.long')}. A packet that crosses three links counts once and takes the "
            "place of three that cross one, so the total is highest where the long flows get nothing: read it beside "
            "the panel on the right.",
            "Beside ns-2. An independent implementation inside ns-2 (validation/ns2x.csv) has, for the rise, a "
            f"utilization of 96.0 % under MECN and 96.6 % under AMECN; here {number('fig5.level')} and "
            f"{number('fig6.level')}. For AMECN's fall it has 90.8 ± 1.8 %; here {number('fig8.level')}.",
        )
    )


UNSTATED = (
    "P_max of MECN and AMECN's first: 0.1 for both ramps, ns-2's default.",
    "Which ceiling AMECN adapts: both, at the same value.",
    "Above max_th section 2.1 drops all packets and section 3.3.1 is gentle: drops with a probability that rises from "
    "P_max to 1 at 2 max_th.",
    "α is Figure 3's; equation (4) has a further factor 0.17 that contradicts it. β as printed, down to 0.66.",
    "AMECN adapts outside its target range only, around the middle of it.",
    "w_q of figures 5 to 8 is the printed 0.0027, which is equation (5)'s for packets of 500 bytes; mid_th is the "
    "printed 10 packets, not 2.25 min_th.",
    "The receiver's window where none is given: 20 packets, ns-2's.",
    "How long figures 5 to 8 run: 50 s; throughput is the share of the link's rate that is used, over all of it.",
    "The direction back has the same discipline and buffer, as ns-2's duplex links do; ACKs are not ECN-capable.",
    "Figures 9 and 10: buffer of 300 packets, 10 reverse flows, 20 web sessions (Pareto objects of 12 kB, a second of "
    "thought), flows' round trips in even steps from 100 to 150 ms, targets of 10 to 100 ms. Delay in packets is the "
    "mean queue.",
    'Figure 11: access links of 10 Mbit/s, 2 and 4 ms, buffer of 300 packets; "at R0 and R1 20 flows enter" is 20 at '
    "each.",
    "ARED is Floyd's of 2001 with its automatic parameters, its senders classic ECN's; both mark at any probability.",
)

PAPER = Paper(
    key="amecn",
    name="AMECN",
    citation="A. Durresi, M. Sridharan, R. Jain, Adaptive multi-level explicit congestion notification, "
    "Int. J. High Performance Computing and Networking 5(1/2), 2007",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    readings=OPEN,
    nearest=shipped("amecn", OPEN),
    discussion=discussion,
)
