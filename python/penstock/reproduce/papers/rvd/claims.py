"""RED against DropTail: the claims of the paper as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from penstock.reproduce.comparisons import Comparison, of_one_case
from penstock.reproduce.grids import Grid
from penstock.reproduce.model import Above, Below, Claim, Within
from penstock.reproduce.papers.rvd.exhibits import (
    FAIRNESS,
    PART_1,
    PART_2,
    PART_3,
    PART_4,
    THROUGHPUT,
    Part,
    throughput_mbit_s,
)
from penstock.reproduce.papers.rvd.scenarios import CASE_1, CASE_2, CASE_3, CASE_4, FLOWS, OPEN, QUEUES, over_flows

if TYPE_CHECKING:
    from penstock.reproduce.runs import Runs


READINGS = OPEN.touching(*QUEUES)


def red_over_droptail(cases: Grid, at: Sequence[int] | None = None) -> Comparison:
    """RED against DropTail."""
    return Comparison.on(cases, *QUEUES, at=at, readings=READINGS)


def smallest_step(runs: Runs) -> Sequence[float]:
    """The smallest change of throughput from one N to the next, RED's and DropTail's, Mbit/s."""
    flows = sorted(runs.labels("N"), key=float)
    steps = [np.diff([runs.values(throughput_mbit_s, aqm=queue, N=n) for n in flows], axis=0) for queue in QUEUES]
    return [float(v) for v in np.min(np.concatenate(steps), axis=0)]


def highest_jain(runs: Runs) -> Sequence[float]:
    """The highest fairness index of either queue over D."""
    cases = [runs.values("jain", aqm=queue, D_ms=at) for queue in QUEUES for at in runs.labels("D_ms")]
    return [float(v) for v in np.max(cases, axis=0)]


def throughput_of_case(number: int, cases: Grid, grows: str, printed: str) -> Iterator[Claim]:
    """What the paper says of the throughput in case 1 or 2."""
    yield red_over_droptail(cases).claim(
        key=f"fig{number + 1}.grows",
        text=f"Case {number}: throughput grows with every step of N: the smallest step of either queue is above 0.",
        paper_value=grows,
        unit="Mbit/s",
        values=smallest_step,
        rule=Above(),
    )
    yield Claim(
        key=f"fig{number + 1}.congested",
        text=f"Case {number}: the connections congest the link: with N = 32 they use more than 90 % of it.",
        exhibit=f"fig{number + 1}",
        paper_value=f"printed: {printed} %",
        unit="% of the link",
        cases=cases.only("DropTail", at=(32,)),
        values=of_one_case("utilization", 100),
        rule=Above(90),
        readings=OPEN.touching("DropTail"),
    )


def fairness_of_case(number: int, cases: Grid, fairer: str, unfair: str, bound: float) -> Iterator[Claim]:
    """What the paper says of the fairness in case 3 or 4."""
    yield red_over_droptail(cases).difference(
        FAIRNESS,
        key=f"fig{number + 1}.fairer",
        text=f"Case {number}: RED is fairer: its fairness index, mean over D, less DropTail's is above 0.",
        paper_value=fairer,
        rule=Above(),
    )
    yield red_over_droptail(cases).claim(
        key=f"fig{number + 1}.unfair",
        text=f"Case {number}: the fairness index of both is below {bound}: the highest over D.",
        paper_value=unfair,
        unit="of the index",
        values=highest_jain,
        rule=Below(bound),
    )


def equal_places(number: int, delay_ms: int) -> Claim:
    """What is left of the difference when as many packets may wait under both."""
    return Comparison.on(over_flows(delay_ms, droptail_buffer=51), *QUEUES).percent(
        THROUGHPUT,
        key=f"fig{number + 1}.places",
        text=f"Beyond the paper, case {number}: with as many waiting places under DropTail as under RED the "
        "throughputs are equal: the difference, mean over N, is within ±0.1 %.",
        paper_value="not considered",
        rule=Within(-0.1, 0.1),
    )


def printed_numbers(number: int, part: Part) -> Iterator[Claim]:
    """How near the reading comes to what a table prints."""
    for key, text, gather, bound in (
        (
            "mean",
            f"The numbers of table {number} come out again: |ours/printed − 1|, mean over the table, is below 10 %.",
            np.mean,
            10,
        ),
        ("worst", f"No number of table {number} is off by 25 % or more: the largest |ours/printed − 1|.", np.max, 25),
    ):
        yield red_over_droptail(part.cases).claim(
            key=f"table{number}.{key}",
            text=text,
            paper_value="0",
            unit="%",
            values=part.deviations(gather),
            rule=Below(bound),
        )


CLAIMS = (
    red_over_droptail(CASE_1).percent(
        THROUGHPUT,
        key="fig2.same",
        text="Case 1: RED and DropTail perform almost equally: RED's throughput, mean over N, is within ±2 % of "
        "DropTail's.",
        paper_value="almost equally (+0.1 %)",
        rule=Within(-2, 2),
    ),
    *throughput_of_case(1, CASE_1, "almost a steady increase", "23.0 of 45 Mbit/s, 51"),
    *throughput_of_case(2, CASE_2, "not said; printed: −0.08 from 8 to 12", "2.30 of 45 Mbit/s, 5"),
    red_over_droptail(CASE_2, FLOWS[:3]).percent(
        THROUGHPUT,
        key="fig3.few",
        text="Case 2: up to N = 8 they perform almost equally: RED's throughput, mean over N = 2…8, is within ±2 % of "
        "DropTail's.",
        paper_value="almost equally (0 %)",
        rule=Within(-2, 2),
    ),
    red_over_droptail(CASE_2, FLOWS[3:]).percent(
        THROUGHPUT,
        key="fig3.many",
        text="Case 2: from there to N = 32 RED performs better: its throughput, mean over N = 12…32, less DropTail's "
        "is above 0.",
        paper_value="better (+3.3 %)",
        rule=Above(),
    ),
    *fairness_of_case(3, CASE_3, "better (printed: −0.005, −0.002, +0.100)", "less than 0.7", 0.7),
    *fairness_of_case(4, CASE_4, "better (printed: +0.044, +0.095, +0.120)", "never greater than 0.8", 0.8),
    equal_places(1, 80),
    equal_places(2, 250),
    *(
        claim
        for number, part in enumerate((PART_1, PART_2, PART_3, PART_4), 1)
        for claim in printed_numbers(number, part)
    ),
)
