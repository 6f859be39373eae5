"""Findings in words: no sentence says what the numbers do not."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.judging.rules import Above, Below
from penstock.reproduce.model import Claim, Finding, MostBelow, Point
from penstock.reproduce.readings import DEFAULT, Reading
from penstock.reproduce.report import strip
from penstock.reproduce.tables import findings_table
from penstock.reproduce.verdict import CANNOT_TELL, FAILS, HOLDS, UNDECIDED
from penstock.reproduce.words import (
    amount,
    apart,
    at_points,
    direction,
    ours,
    read_otherwise,
    saying,
    tally,
    together,
    verdict,
)


def finding(verdict: str = HOLDS, **changes: Any) -> Finding:
    """Something judged: 2 ± 0.5 ms."""
    about: dict[str, Any] = {"estimate": 2.0, "low": 1.5, "high": 2.5, "unit": "ms", "claim": None, "reading": None}
    return Finding(**{"paper": "a", "n": 10, "verdict": verdict, "rule": None, **about, **changes})


@pytest.mark.parametrize(
    ("verdicts", "all_of_them"),
    [
        ((HOLDS, HOLDS), HOLDS),
        ((HOLDS, FAILS), FAILS),
        ((FAILS, UNDECIDED), FAILS),
        ((HOLDS, UNDECIDED), UNDECIDED),
        ((CANNOT_TELL, HOLDS), UNDECIDED),
        ((CANNOT_TELL, CANNOT_TELL), CANNOT_TELL),
        ((), UNDECIDED),
    ],
)
def test_claims_are_true_together_only_where_each_holds(verdicts: tuple[str, ...], all_of_them: str) -> None:
    found = {str(i): finding(verdict) for i, verdict in enumerate(verdicts)}
    assert together(found, [*found, "not judged"]) == all_of_them
    said = saying(found, list(found), holds="yes", fails="no", undecided="open")
    assert said == {HOLDS: "yes", FAILS: "no"}.get(all_of_them, "open")


def test_a_number_stands_in_a_sentence() -> None:
    assert amount(finding()) == "2.0 ± 0.5 ms"
    assert amount(finding(estimate=-2.0, low=-2.5, high=-1.5), 2) == "2.00 ± 0.50 ms"
    assert amount(finding(low=None, high=None)) == "2.0 ms"
    assert apart(finding()) == "2.0 ± 0.5 ms higher"
    assert apart(finding(estimate=-2.0, low=-2.5, high=-1.5), below="shorter") == "2.0 ± 0.5 ms shorter"
    assert apart(finding(unit="% of RED's"), 0) == "2 ± 0 % higher than RED's"
    assert apart(finding(estimate=None, low=None, high=None)) == "not measured"


def test_points_are_counted_where_a_claim_has_some() -> None:
    points = [Point("1", 0.0, 0.0, 0.0, HOLDS), Point("2", 0.0, 0.0, 0.0, FAILS)]
    assert at_points(finding(points=points)) == "at 1 of 2"
    assert at_points(finding()) == ""


def test_what_the_nearest_reading_turns_is_counted() -> None:
    def paper_says(key: str, verdict: str, reading: str = "default", of: Any = "paper") -> Finding:
        claim = Claim(
            key=key,
            text="",
            exhibit="a",
            paper_value="",
            of=of,
            unit="",
            cases=lambda settings, reading: [],
            values=lambda runs: [],
            rule=None,
        )
        return finding(verdict, claim=claim, reading=Reading(reading, ""))

    found = {"a": paper_says("a", FAILS), "b": paper_says("b", HOLDS), "c": paper_says("c", FAILS, of="project")}
    assert read_otherwise(found) == ""
    nearest = {f"@{key}": paper_says(key, HOLDS, "ecn", each.claim.of) for key, each in found.items()}
    assert read_otherwise({**found, **nearest}) == "; read as ecn, 1 more of its claims holds"
    worse = {**nearest, "@b": paper_says("b", UNDECIDED, "ecn")}
    assert read_otherwise({**found, **worse}) == "; read as ecn, 1 more of its claims holds and 1 no longer does"
    only_worse = {**worse, "@a": paper_says("a", FAILS, "ecn")}
    assert read_otherwise({**found, **only_worse}) == "; read as ecn, 1 of its claims no longer holds"


def test_our_number_has_its_unit_and_no_interval_where_all_runs_are_one() -> None:
    assert ours(finding()) == "2.00 ± 0.50 ms"
    assert ours(finding(low=2.0, high=2.0, note="the runs are identical")) == "2 ms"
    assert ours(finding(estimate=10.0, rule=MostBelow(15.0))) == "1 of 10 runs"
    assert ours(finding(estimate=None, low=None, high=None)) == "–"


def test_the_sign_of_a_difference_is_said_in_words() -> None:
    assert direction(finding(rule=Above(0.0))) == "in the claimed direction"
    assert direction(finding(rule=Below(0.0))) == "in the other direction"
    assert direction(finding(rule=Below(3.0))) == direction(finding(rule=None)) == ""


def test_no_verdict_reads_as_a_contradiction() -> None:
    points = [Point("1", 0.0, 0.0, 0.0, HOLDS), Point("2", 0.0, 0.0, 0.0, FAILS), Point("3", 0.0, 0.0, 0.0, HOLDS)]
    assert verdict(finding(FAILS, rule=Above(0.0), points=points)) == "does not hold at 1 of 3 points"
    never = finding(UNDECIDED, rule=MostBelow(18.0), estimate=0.0, n=5, note="never in 5 of 5")
    assert (ours(never), verdict(never)) == ("0 of 5 runs", "undecided: 5 runs are too few to tell")


def test_a_strip_has_the_mean_its_interval_and_the_threshold_in_their_order() -> None:
    drawn = strip(finding(rule=Above(0.0), printed=5.0))
    bound, reach, end = (float(x) for x in re.findall(r'(?:bound" d="M|reach" d="M|H)([\d.]+)', drawn)[-3:])
    mean, printed = (float(x) for x in re.findall(r'cx="([\d.]+)"', drawn))
    assert bound < reach < mean < end < printed
    assert 'class="strip holds"' in drawn
    assert strip(finding(rule=None)) == ""


def test_the_terminal_counts_the_papers_claims_alone() -> None:
    def judged(of: Any, verdict: str) -> Finding:
        claim = cast(Any, SimpleNamespace(key="fig1.delay", of=of, paper_value="lower"))
        return finding(verdict, claim=claim, reading=DEFAULT, note="the runs are identical")

    table = findings_table([judged("paper", HOLDS), judged("check", FAILS), judged("paper", FAILS)])
    assert table.caption == "The papers' own claims: holds 1, does not hold 1."
    assert [row[2:] for row, _ in table.rows] == [
        ("lower", "2.00 ± 0.50 ms", "holds, the runs are identical"),
        ("not the paper's claim", "2.00 ± 0.50 ms", "does not hold, the runs are identical"),
        ("lower", "2.00 ± 0.50 ms", "does not hold, the runs are identical"),
    ]
    assert findings_table([judged("check", FAILS)]).caption is None


def test_runs_that_are_the_same_are_said_to_be() -> None:
    points = [Point("1", 0.0, 0.0, 0.0, CANNOT_TELL)] * 2
    same = finding(CANNOT_TELL, points=points, note="the runs are identical")
    assert verdict(same) == "cannot tell: the runs are the same"
    assert tally({"a": same, "b": finding()}, ("a", "b", "not judged")) == "1 of 2 holds, 1 cannot be told"
