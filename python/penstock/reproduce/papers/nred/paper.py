"""NRED: how the gaps were read, what was found, and the whole."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduce.model import Finding, Paper
from penstock.reproduce.papers.nred.claims import CLAIMS
from penstock.reproduce.papers.nred.exhibits import EXHIBITS
from penstock.reproduce.words import measured, tally

UNSTATED = (
    "The exponent's start and bounds: n_0 = 2, n_min = 1, n_max = 5; others are readings. The step is the printed 1.",
    "How p becomes a drop: through RED's count, as RED itself; without it is a reading.",
    "What the buffer counts: 1 KB is a packet, so that 100 KB are 100 packets; bytes are a "
    "reading. Packets carry 1000 B of payload, the CBR's are 1000 B in all.",
    "RED gentle or not: gentle, as Fig. 1 draws it; without is a reading.",
    "Drop or mark (Table 1: “dropped or marked”): dropped; ECN is a reading, with marks at any "
    "probability and with ns-2's limit of 0.1 since 2002.",
    "The TCP variant and its window: Reno with ns-2's 20 packets; Tahoe, SACK and 100 packets are readings.",
    "The length of a run and what is measured of it: 100 s, all of it.",
    "What delay is: the queueing delay of all packets at the bottleneck. A delay from a segment's "
    "first sending to its delivery, retransmissions included, would charge losses to it; this "
    "reading was not tried.",
    "The other direction's queue: DropTail with 1000 packets.",
)


def discussion(found: Mapping[str, Finding]) -> str:
    """In plain words, from the findings."""

    def pair(claim: str) -> str:
        return "; ".join(f"{name} {measured(found[f'{claim}-{name.lower()}'])}" for name in ("DropTail", "RED"))

    against_droptail = [key for key in found if key.endswith("-droptail") and "red-" not in key]
    against_red = [key for key in found if key.endswith("-red")]
    return f"""
NRED's claims against DropTail: {tally(found, against_droptail)}; against RED: {tally(found, against_red)}. NRED's delay
at large buffers against {pair("fig3.large")}; with N = 20 against {pair("fig5.few")}. Its loss over the buffer against
{pair("fig4.loss")}; over N against {pair("fig6.loss")}.

Fig. 1 says what to expect. NRED's curve reaches 1 at the buffer, RED's at 2·max_th = 30 packets whatever the buffer is:
RED has a p of 0.1 to 0.2 at an average of 15 to 17 packets, NRED with n = 2 and a buffer of 100 at 35 to 47. Flows that
need such a p hold a longer queue under NRED than under RED, and DropTail's is the buffer. With 20 packets NRED's curve
is the steeper one; there NRED's delay against RED's: {measured(found["fig3.small-red"])}, RED's against DropTail's:
{measured(found["fig3.small-red-droptail"])}. In the paper RED's delay is close to DropTail's as N varies; here the
difference is {measured(found["fig5.red-droptail"])}. This is where our runs and the paper part, and its text does not
say what its RED did otherwise.

Lowest delay and lowest loss at once is not to be had by dropping alone: flows with a shorter round trip need more loss
to share the same link. Marks cost no packet: the reading ecn, in which RED and NRED mark and DropTail cannot, judges
the claims on loss anew, and Table 1 does say “dropped or marked”.

The adaptation: n at N = 20 less n at N = 100 is {measured(found["section2.exponent"], 3)}. The rule moves n by one as
the average enters a region: up below min_th, where every run begins, down when it first passes max_th. Under steady
load the average stays above min_th from then on, so that n_0 decides, and bounds beyond it do not matter.

The same algorithms inside ns-2 (validation/ns2x.csv, ten seeds of its own) have, at 100 KB and N = 50, NRED at 263.0 ±
1.1 ms and 14.0 ± 0.1 % loss, RED at 99.1 ms and 17.8 %, DropTail at 514.7 ms and 9.7 %.
"""


PAPER = Paper(
    key="nred",
    name="NRED",
    citation="K.-J. Park, E.-C. Park, H. Lim, C.-H. Choi, Adaptive Nonlinear RED Algorithm for TCP Congestion Control",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    discussion=discussion,
)
