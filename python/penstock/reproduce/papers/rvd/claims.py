"""RED against DropTail: the claims of the paper as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.judging.estimate import SHARE
from penstock.judging.rules import Above, Below, Within
from penstock.reproduce.comparisons import Comparison, difference, of_one_case, percent_at_each
from penstock.reproduce.grids import Grid
from penstock.reproduce.model import Claim, Numbers, Sense
from penstock.reproduce.papers.rvd.exhibits import (
    FAIRNESS,
    PART_1,
    PART_2,
    PART_3,
    PART_4,
    RECEIVED,
    THROUGHPUT,
    Part,
    throughput_mbit_s,
)
from penstock.reproduce.papers.rvd.scenarios import (
    CASE_1,
    CASE_2,
    CASE_3,
    CASE_4,
    FLOWS,
    OPEN,
    QUEUES,
    over_flows,
)
from penstock.reproduce.readings import Reading
from penstock.reproduce.runs import Runs, within

#: Those of each single alternative, and of the two that fill the link together.
READINGS = (*OPEN.touching(*QUEUES), OPEN.joint("duration=30s", "window=64"))

#: "The total data received by the end", as the paper defines throughput.
AS_RECEIVED = Reading(
    "throughput=received",
    "Throughput is what the receivers get, as the paper's definition has it: without headers and "
    "without packets that are sent again.",
)


def red_over_droptail(cases: Grid, at: Sequence[int] | None = None) -> Comparison:
    """Compares RED with DropTail."""
    return Comparison.on(cases, *QUEUES, at=at, readings=READINGS)


def received() -> Sense:
    """Returns the throughput as what the receivers get."""
    red, droptail = ({"aqm": queue} for queue in QUEUES)
    return Sense(reading=AS_RECEIVED, values=percent_at_each("N", RECEIVED.quantity, red, droptail))


def steps(runs: Runs) -> Numbers:
    """Returns the change of throughput from each N to the next, RED's and DropTail's, Mbit/s."""
    flows = [int(n) for n in runs.labels("N")]
    found = {}
    for queue in QUEUES:
        each = np.diff([runs.values(throughput_mbit_s, aqm=queue, N=n) for n in flows], axis=0)
        for a, b, step in zip(flows, flows[1:], each, strict=False):
            found[f"N {a} to {b}, {queue}"] = [float(v) for v in step]
    return found


@within(SHARE)
def indices(runs: Runs) -> Numbers:
    """Returns the fairness index of either queue at each D."""
    return {
        f"D {at}, {queue}": [float(v) for v in runs.values("jain", aqm=queue, D_ms=at)]
        for at in runs.labels("D_ms")
        for queue in QUEUES
    }


def throughput_claims() -> Iterator[Claim]:
    """Yields the claims about cases 1 and 2."""
    yield red_over_droptail(CASE_1).percent(
        THROUGHPUT,
        key="fig2.same",
        text="Case 1: RED and DropTail perform almost equally: at every N RED's throughput is within "
        "±2 % of DropTail's.",
        paper_value="almost equally (+0.1 %)",
        place="case 1, figure 2, table 1",
        rule=Within(-2, 2),
        senses=(received(),),
    )
    yield red_over_droptail(CASE_1).claim(
        key="fig2.grows",
        text="Case 1: throughput grows almost steadily: each step of N adds to it, under either queue.",
        paper_value="almost a steady increase",
        place="case 1, figure 2",
        unit="Mbit/s",
        values=steps,
        rule=Above(),
    )
    yield Claim(
        key="fig2.worse",
        text="The more connections, the worse is the congestion: with 32 connections more packets "
        "wait in the mean under DropTail than with 2 (case 1).",
        exhibit="fig2",
        paper_value="the worse",
        place="simulation model",
        unit="packets",
        cases=CASE_1.only("DropTail", at=(2, 32)),
        values=difference("queue_mean_pkts", {"N": 32}, {"N": 2}),
        rule=Above(),
        readings=OPEN.touching("DropTail"),
    )
    yield red_over_droptail(CASE_2, FLOWS[:3]).percent(
        THROUGHPUT,
        key="fig3.few",
        text="Case 2: up to N = 8 they perform almost equally: at N = 2, 4 and 8 RED's throughput is "
        "within ±2 % of DropTail's.",
        paper_value="almost equally (0 %)",
        place="case 2, figure 3, table 2",
        rule=Within(-2, 2),
        senses=(received(),),
    )
    yield red_over_droptail(CASE_2, FLOWS[3:]).percent(
        THROUGHPUT,
        key="fig3.many",
        text="Case 2: from there to N = 32 RED performs better: at every N from 12 on its throughput "
        "is above DropTail's. (At 8, which the paper counts to both parts, it prints the same.)",
        paper_value="better (+3.3 %)",
        place="case 2, figure 3, table 2",
        rule=Above(),
        printed=3.3,
        senses=(received(),),
    )


def fairness_claims() -> Iterator[Claim]:
    """Yields the claims about cases 3 and 4."""
    for number, cases, fairer, printed, unfair, bound in (
        (3, CASE_3, "better (printed: −0.005, −0.002, +0.100)", 0.031, "less than 0.7", 0.7),
        (4, CASE_4, "better in all (printed: +0.044, +0.095, +0.120)", 0.086, "never greater than 0.8", 0.8),
    ):
        place = f"case {number}, figure {number + 1}, table {number}"
        yield red_over_droptail(cases).difference(
            FAIRNESS,
            key=f"fig{number + 1}.fairer",
            text=f"Case {number}: RED is fairer: at every D its fairness index is above DropTail's.",
            paper_value=fairer,
            place=place,
            rule=Above(),
            printed=printed,
        )
        yield red_over_droptail(cases).claim(
            key=f"fig{number + 1}.unfair",
            text=f"Case {number}: the fairness index of either queue is below {bound} at every D.",
            paper_value=unfair,
            place=place,
            unit="of the index",
            values=indices,
            rule=Below(bound),
        )


def beyond() -> Iterator[Claim]:
    """Yields what we ask beyond the paper."""
    for number, cases, printed in ((1, CASE_1, 51.1), (2, CASE_2, 5.1)):
        yield Claim(
            key=f"fig{number + 1}.congested",
            text=f"Case {number}: how much of the link 32 connections use under DropTail. The paper "
            "calls it congested, and its own numbers say how little is used.",
            exhibit=f"fig{number + 1}",
            paper_value=f"{printed:.0f} % by its table",
            of="project",
            unit="% of the link",
            cases=cases.only("DropTail", at=(32,)),
            values=of_one_case("utilization", 100),
            rule=None,
            printed=printed,
            readings=OPEN.touching("DropTail"),
        )
    yield red_over_droptail(CASE_2).claim(
        key="fig3.grows",
        text="Case 2: each step of N adds to the throughput, under either queue. The paper does not say "
        "so, and prints 0.03 to 0.08 Mbit/s less at N = 12 than at 8.",
        paper_value="not said",
        exhibit="fig3",
        of="project",
        unit="Mbit/s",
        values=steps,
        rule=Above(),
    )
    for number, delay_ms in ((1, 80), (2, 250)):
        yield Comparison.on(over_flows(delay_ms, droptail_more=1), *QUEUES).percent(
            THROUGHPUT,
            key=f"fig{number + 1}.places",
            text=f"Case {number}, with as many waiting places under DropTail as under RED: at every N the "
            "throughputs differ by less than 0.1 %.",
            paper_value="not considered",
            of="project",
            rule=Within(-0.1, 0.1),
        )


def printed_numbers(number: int, part: Part) -> Claim:
    """Returns how near a reading comes to what a table prints."""
    of_throughput = number < 3
    return red_over_droptail(part.cases).claim(
        key=f"table{number}.off",
        text=f"How far the numbers of table {number} are: |ours/printed − 1| at each of them, and their mean.",
        paper_value="0",
        place=f"table {number}",
        of="check",
        unit="%",
        values=part.deviations(),
        rule=None,
        senses=(Sense(reading=AS_RECEIVED, values=part.deviations(RECEIVED.quantity)),) if of_throughput else (),
    )


CLAIMS = (
    *throughput_claims(),
    *fairness_claims(),
    *beyond(),
    *(printed_numbers(number, part) for number, part in enumerate((PART_1, PART_2, PART_3, PART_4), 1)),
)
