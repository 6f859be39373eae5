"""The repairs' report: its parts fit together, its scenarios are valid, each repair reaches its queue."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from helpers import tiny_paper
from penstock.judging.rules import Above
from penstock.reproduce import command
from penstock.reproduce.model import Finding, MostBelow, Settings, TableData
from penstock.reproduce.papers import KEYS, REPAIRS, choose, paper
from penstock.reproduce.papers.amecn.scenarios import load_change as amecn_load_change
from penstock.reproduce.papers.nred.scenarios import scenario as nred_scenario
from penstock.reproduce.papers.rared.scenarios import scenario as rared_scenario
from penstock.reproduce.papers.red_at.scenarios import scenario as red_at_scenario
from penstock.reproduce.readings import DEFAULT
from penstock.reproduce.repairs import scenarios as of
from penstock.reproduce.verdict import judge
from penstock.reproduce.worth import ALIKE, BETTER, TRADES, WORSE, beside_today, instead, standing

#: A point of the range without ECN, and the same with it.
PLAIN, MARKED = list(of.PLACES)[:2]


@pytest.mark.parametrize("key", REPAIRS)
def test_a_repair_fits_together(key: str) -> None:
    repair = paper(key)
    assert repair.key == key
    exhibits = [exhibit.key for exhibit in repair.exhibits]
    claims = [claim.key for claim in repair.claims]
    assert len(set(exhibits)) == len(exhibits)
    assert len(set(claims)) == len(claims)
    for claim in repair.claims:
        assert claim.exhibit in exhibits, claim.key
        assert (claim.of, claim.place) == ("project", ""), claim.key
        assert claim.most is not None, claim.key


@pytest.mark.parametrize("key", REPAIRS)
def test_every_case_is_a_valid_scenario(key: str) -> None:
    for exhibit in paper(key).exhibits:
        cases = list(exhibit.cases(Settings(), DEFAULT))
        assert len({tuple(case.labels.items()) for case in cases}) == len(cases), exhibit.key


def aqm(scenario: ps.Scenario, *, reverse: bool = False) -> dict[str, Any]:
    found = dict(scenario.resolved["aqm"])
    back: dict[str, Any] = found.pop("reverse")
    return back if reverse else found


def changed(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    assert ours.keys() == theirs.keys()
    return {key: value for key, value in ours.items() if value != theirs[key]}


@pytest.mark.parametrize(
    ("repair", "ours", "theirs", "both_ways"),
    [
        (of.AMECN, of.load_change(of.AMECN.name, "rises", DEFAULT), amecn_load_change("AMECN", "rises", DEFAULT), True),
        (of.RARED, of.joining(of.RARED.name, 5, DEFAULT), rared_scenario("RARED", 5, DEFAULT), True),
        (of.NRED, of.many(of.NRED.name, 20, False), nred_scenario("NRED", 20, 100, DEFAULT), False),
        (of.RED_AT, of.sources(of.RED_AT.name, 20, DEFAULT), red_at_scenario("RED-AT", 20, DEFAULT), False),
    ],
)
def test_a_repair_is_the_papers_queue_but_for_its_keys(
    repair: of.Repair, ours: ps.Scenario, theirs: ps.Scenario, both_ways: bool
) -> None:
    assert changed(aqm(ours), aqm(theirs)) == repair.keys
    back = changed(aqm(ours, reverse=True), aqm(theirs, reverse=True))
    assert back == (repair.keys if both_ways else {})
    for point in (PLAIN, MARKED):
        pair = [aqm(of.elsewhere(name, point, DEFAULT)) for name in (repair.name, repair.original)]
        assert changed(*pair) == repair.keys


def test_originals_and_others_are_the_papers() -> None:
    for name in ("RARED", "RED", "ARED"):
        assert of.joining(name, 5, DEFAULT).resolved == rared_scenario(name, 5, DEFAULT).resolved
    pie = of.joining("PIE", 5, DEFAULT)
    assert (aqm(pie)["kind"], aqm(pie)["qdelay_ref"], aqm(pie)["ecn"]) == ("pie", "53 ms", True)
    assert aqm(pie, reverse=True) == aqm(pie)
    # NRED's other direction is long and drops nothing.
    codel = of.many("CoDel", 20, True)
    assert (aqm(codel)["target"], aqm(codel)["ecn"]) == ("53 ms", True)
    assert aqm(codel, reverse=True) == aqm(nred_scenario("RED", 20, 100, DEFAULT), reverse=True)
    assert codel.resolved["traffic"][0]["ecn"] == "classic"
    assert [flow["ecn"] for flow in of.load_change("PIE", "falls", DEFAULT).resolved["traffic"]] == ["classic"] * 3


def test_the_range_by_hand() -> None:
    """1 is 0.1 in each base, at 1/2, 1/3 and 1/5; 6 is 110₂, 20₃ and 11₅, at 3/8, 2/9 and 6/25."""
    points = of.spread(6)
    assert points[0] == (12.0, 17, 32)  # 1.5·66.7^(1/2), 5·40^(1/3), 20·10^(1/5)
    assert points[5] == (7.2, 11, 35)  # 1.5·66.7^(3/8), 5·40^(2/9), 20·10^(6/25)
    points = of.spread(of.COUNT)
    for values, low, high in zip(zip(*points, strict=True), of.LOWEST, of.HIGHEST, strict=True):
        assert low <= min(values) < low * 1.5
        assert high / 1.5 < max(values) <= high
    assert len(of.PLACES) == 2 * of.COUNT
    slow, fast = of.Place(2.0, 10, 100, True), of.Place(80.0, 10, 100, True)
    assert (slow.target_ms, slow.buffer) == (40.0, 40)  # ten packets of 4 ms; four times as many
    assert (fast.target_ms, fast.buffer) == (20.0, 1000)  # 100 ms of 10 packets a ms


def test_without_marks_the_repair_of_amecn_changes_nothing() -> None:
    runs = []
    for name in (of.AMECN.name, "AMECN"):
        short = of.elsewhere(name, PLAIN, DEFAULT).set_all({"duration": "5 s", "measure.from": "0 s"})
        runs.append(ps.run(short, [1]).runs[0].metrics)
    assert runs[0] == runs[1]


def test_repairs_are_chosen_by_their_name() -> None:
    assert tuple(each.key for each in choose(["repairs"])) == REPAIRS
    assert tuple(each.key for each in choose([])) == tuple(each.key for each in choose(["all"])) == KEYS
    (narrow,) = choose([], ["repair-rared.own"])
    assert [exhibit.key for exhibit in narrow.exhibits] == ["own"]


def test_a_few_seeds_judge(tmp_path: Path) -> None:
    (narrow,) = choose([], ["repair-rared.own.delay-rared"])
    at = narrow.claims[0].cases(Settings(), DEFAULT)
    few = [case for case in at if case.labels["m"] in (1, 15)]
    claims = [replace(claim, cases=lambda settings, reading: few) for claim in narrow.claims]
    made = replace(narrow, claims=claims, exhibits=[exhibit_of(few)])
    done = command.reproduce([made], Settings.of_seeds(3), tmp_path, jobs=2)
    default = [found for found in done.findings if found.reading == DEFAULT]
    assert [point.at for point in default[0].points] == ["1", "15"]
    assert default[0].n == 3


def exhibit_of(cases: Sequence[Any]) -> Any:
    shown = paper("repair-rared").exhibits[0]
    return replace(shown, cases=lambda settings, reading: cases, show=lambda runs: TableData(("a",), [["b"]]))


def test_a_claim_takes_no_more_seeds_than_it_may(tmp_path: Path) -> None:
    for most, n in ((None, "3"), (2, "2")):
        claims = [replace(claim, most=most) for claim in tiny_paper.PAPER.claims if claim.key == "fig2.seed"]
        whole = replace(tiny_paper.PAPER, claims=claims, discussion=lambda found: "", believe=lambda found: "")
        command.reproduce([whole], Settings(looks=(2, 3)), tmp_path, jobs=2)
        rows = list(csv.DictReader((tmp_path / "claims.csv").read_text(encoding="utf-8").splitlines()))
        assert {row["n"] for row in rows if row["claim"] == "fig2.seed"} == {n}


@pytest.mark.parametrize("key", REPAIRS)
def test_what_is_said_follows_from_the_findings(key: str) -> None:
    repair = paper(key)

    def found(sign: float) -> dict[str, Finding]:
        """As if every difference were clear: for the repair, or against it."""
        made = {}
        for claim in repair.claims:
            if isinstance(claim.rule, MostBelow):
                made[claim.key] = judge(key, claim, DEFAULT, [1.0, 2.0] * 20)
                continue
            one = -sign if not isinstance(claim.rule, Above) else sign * 10
            made[claim.key] = judge(key, claim, DEFAULT, {at: [one, one * 1.001, one * 0.999] for at in of.PLACES})
        return made

    good, bad = found(1.0), found(-1.0)
    assert (standing(good, "PIE"), standing(bad, "PIE")) == (BETTER, WORSE)
    delay, goodput = "range.delay-pie", "range.goodput-pie"
    assert standing({delay: good[delay], goodput: bad[goodput]}, "PIE") == TRADES
    unclear = replace(good[delay], low=-1.0, high=1.0)
    assert standing({delay: unclear, goodput: unclear}, "PIE") == ALIKE
    assert standing({delay: unclear, goodput: bad[goodput]}, "PIE") == WORSE
    assert standing({}, "PIE") is None
    assert "It is worth taking" in repair.believe(good)
    assert "nothing speaks for it" in repair.believe(bad)
    points = len(of.PLACES)
    assert f"beside PIE delay −1.0 ± 0.0 % ({points} of {points})" in repair.discussion(good)
    (today, _) = beside_today({repair.name: bad})
    assert instead([today])[0].startswith(f"**Take PIE instead of {repair.name}**")
    mixed = replace(today, standing=TRADES, signs=(1, -1))
    assert instead([mixed, replace(mixed, repair="X")]) == [
        f"Beside PIE, {repair.name} and X have the shorter queue, and the emptier link."
    ]
    assert instead(beside_today({repair.name: {}})) == []
    assert repair.believe({}) == ""
    assert repair.discussion({})
