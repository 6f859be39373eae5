"""Tells how the study was designed, what was found, and the whole."""

from __future__ import annotations

from penstock.reproduce.levels import KEY, LOOKS
from penstock.reproduce.levels.answers import discussion, first
from penstock.reproduce.levels.claims import CLAIMS
from penstock.reproduce.levels.exhibits import EXHIBITS
from penstock.reproduce.model import Opening, Paper

UNSTATED = (
    "Hosts are Linux's with CUBIC, except where a signal has a sender of its own: Prague, DCTCP, and SCE's CUBIC "
    "and Reno, which take parts of segments. Seeds are paired: all signals meet the same flows at the same times.",
    "Twelve places: every two of rate (5, 20, 100 Mbit/s, 1 Gbit/s), round trip (10, 50, 200 ms) and flows (1, 4, 50) "
    "meet in each of their values, in a third of the combinations. What only three of them together do is not seen.",
    "All aim at 5 ms, L4S and the step at 1 ms as their documents say. Buffers hold two products, or 100 ms; DropTail "
    "has one product, at least 20 packets.",
    "Measured are 20 s after 16 to 35 s: what a flow has within its first minute, which on long paths is not yet what "
    "it would have after an hour.",
    "A quick run leaves out places and pairs above 20 Mbit/s, and of the crowds all but five flows beside five of "
    "CUBIC; a claim about each place, rate or share is then about those that are left.",
)

PAPER = Paper(
    key=KEY,
    name="Two levels",
    citation="A second level of congestion: drops, classic ECN, multi-level ECN, SCE and L4S (this project's)",
    exhibits=EXHIBITS,
    claims=CLAIMS,
    unstated=UNSTATED,
    believe=first,
    discussion=discussion,
    looks=LOOKS,
    opening=Opening(
        title="What is a second level of congestion worth?",
        text="Multi-level ECN, SCE and L4S say more than one mark does. Penstock runs them beside drops and classic "
        "ECN over links, round trips, loads and neighbours with {seeds}, and judges what sources lead to expect by its "
        "interval.",
        mark="A mark is an expectation that was written down before the runs: ",
        source="literature",
    ),
)
