"""The study of a second level of congestion: its grid, its numbers, its page."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import levels
import penstock as ps
from penstock.judging.rules import Above
from penstock.reproduce import command
from penstock.reproduce.levels import KEY as LEVELS
from penstock.reproduce.levels import LOOKS, answers, measured, signals, values
from penstock.reproduce.levels import claims as asked
from penstock.reproduce.levels import scenarios as of
from penstock.reproduce.levels.expected import EXPECTED
from penstock.reproduce.levels.paper import PAPER
from penstock.reproduce.model import Case, Settings, TableData
from penstock.reproduce.papers import KEYS, choose, paper
from penstock.reproduce.readings import DEFAULT
from penstock.reproduce.runs import Run, Runs
from penstock.reproduce.verdict import FAILS, HOLDS, decide, judge

PAGE = levels.PAGE.read_text(encoding="utf-8")
FULL = Settings(looks=LOOKS)


def test_the_study_is_chosen_by_its_name_alone() -> None:
    assert [each.key for each in choose([LEVELS])] == [LEVELS]
    assert LEVELS not in [each.key for each in choose(["all"])]
    assert tuple(each.key for each in choose([])) == KEYS
    (narrow,) = choose([], ["levels.folded.goodput-reno-20"])
    assert [exhibit.key for exhibit in narrow.exhibits] == ["folded"]
    assert paper(LEVELS) is PAPER


def test_it_fits_together() -> None:
    exhibits = [each.key for each in PAPER.exhibits]
    keys = [each.key for each in PAPER.claims]
    assert len(set(exhibits)) == len(exhibits)
    assert len(set(keys)) == len(keys)
    for claim in PAPER.claims:
        assert claim.exhibit in exhibits, claim.key
    for claim in EXPECTED:
        assert claim.of == "paper", claim.key
        assert claim.place, claim.key
        assert claim.rule is not None, claim.key
    for claim in asked.ASKED:
        assert (claim.of, claim.place) == ("project", ""), claim.key


def test_every_two_of_rate_trip_and_flows_meet() -> None:
    points = [(place.rate_mbps, place.rtt_ms, place.flows) for place in signals.PLACES.values()]
    assert len(points) == 12
    for i, j in itertools.combinations(range(3), 2):
        values = [sorted({point[k] for point in points}) for k in (i, j)]
        assert {(point[i], point[j]) for point in points} == set(itertools.product(*values))
    assert set(signals.PLANE) < set(signals.PLACES)


def test_every_case_is_a_valid_scenario_and_has_labels_of_its_own() -> None:
    for exhibit in PAPER.exhibits:
        cases = list(exhibit.cases(FULL, DEFAULT))
        assert cases, exhibit.key
        assert len({tuple(case.labels.items()) for case in cases}) == len(cases), exhibit.key
    for claim in PAPER.claims:
        assert any(True for _ in claim.cases(FULL, DEFAULT)), claim.key


def test_a_quick_run_has_no_fast_link_and_leaves_out_what_asks_for_one() -> None:
    quick = FULL.quickly()
    cut = command._within_quick(PAPER, quick)
    gone = {claim.key for claim in PAPER.claims} - {claim.key for claim in cut.claims}
    assert gone
    crowds = {key for key in gone if key.startswith("crowd.")}
    assert crowds
    assert all(key.endswith(("-reno", "-bbr")) for key in crowds)
    assert all("100" in key or "dctcp-" in key for key in gone - crowds)
    asking = [each.cases for each in cut.exhibits if each.key.startswith("crowd")]
    asking += [each.cases for each in cut.claims if each.exhibit == "crowd"]
    for cases in asking:
        assert {(case.labels["beside"], case.labels["part"]) for case in cases(quick, DEFAULT)} == {("CUBIC", 5)}
    for key in ("places", "plane", "folded", "pairs", "ramp"):
        exhibit = next(each for each in cut.exhibits if each.key == key)
        for case in exhibit.cases(quick, DEFAULT):
            rate = case.scenario.resolved["topology"]["bottleneck"]["rate"]
            assert float(rate.split()[0]) <= signals.QUICK_MBPS, case.labels
            assert rate.endswith("Mbit/s"), case.labels


def aqm(scenario: ps.Scenario) -> dict[str, Any]:
    return {key: value for key, value in scenario.resolved["aqm"].items() if key != "reverse"}


def changed(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in ours.items() if value != theirs.get(key)}


def test_what_is_compared_differs_in_what_is_asked_alone() -> None:
    at = signals.PLANE[0]
    repaired, original = (signals.at_place(name, at) for name in ("AMECN repaired", "AMECN"))
    assert changed(aqm(repaired), aqm(original)) == {"mark_p": 0.2}
    assert repaired.resolved["traffic"] == original.resolved["traffic"]
    one, two = (of.folded("reno", level, at) for level in (of.one_level(0.3), of.TWO))
    assert aqm(one) == aqm(two)
    (ours,), (theirs,) = (each.resolved["traffic"] for each in (one, two))
    assert changed(ours, theirs) == {"beta1": 0.3, "beta2": 0.3}
    for window in of.WINDOWS:
        ramp, without = (of.ramped(window, which, at) for which in of.RAMP)
        assert changed(aqm(ramp), aqm(without)) == {"sce_ramp": "2.5 ms"}
        assert ramp.resolved["traffic"] == without.resolved["traffic"]
        classic = of.classic(window, at)
        assert aqm(classic) == aqm(without)
        (ours,), (theirs,) = (each.resolved["traffic"] for each in (without, classic))
        assert changed(ours, theirs).keys() == {"ecn"} | ({"cubic"} if window == "CUBIC" else set())
    hidden = of.hidden("MECN", "classic hosts", DEFAULT), of.hidden("MECN", "understood", DEFAULT)
    assert [each.resolved["traffic"][0]["ecn"] for each in hidden] == ["classic", "mecn"]
    bleached = of.hidden("MECN", "bleached", DEFAULT).resolved["topology"]["bottleneck"]["bleach"]
    assert bleached is True


def test_delays_are_scaled_and_nothing_else() -> None:
    for name in signals.WITH_DELAY:
        signal = signals.SIGNALS[name]
        doubled = changed(signal.queue(2.0), signal.queue())
        assert doubled.keys() == signal.delays.keys(), name
        assert all(float(doubled[key].split()[0]) == 2 * value for key, value in signal.delays.items())


# ---- from runs to numbers


def run(labels: dict[str, Any], seed: int = 1, goodputs: tuple[float, float] = (1.0, 1.0), **metrics: Any) -> Run:
    groups = [{"goodput_bps": each} for each in goodputs]
    scenario = of.beside("MECN", "MECN", "CUBIC", 1)
    return Run(labels=labels, seed=seed, scenario=scenario, metrics=metrics, groups=groups, links={}, trace=None)


def test_a_ratio_is_of_single_flows() -> None:
    assert measured.per_flow_ratio(run({}, goodputs=(2.0, 9.0))) == 2.0  # one flow beside nine
    assert measured.per_flow_ratio(run({}, goodputs=(2.0, 0.0))) == math.inf


def test_two_levels_are_compared_at_their_own_delay() -> None:
    """One level has 10 Mbit/s at 1 ms and 20 at 3 ms, so 15 at 2 ms, where two have 18: a fifth more."""
    points = {"one level, 20 %": (1e-3, 10e6), "one level, 40 %": (3e-3, 20e6), of.TWO: (2e-3, 18e6)}
    runs = Runs([run({"level": level}, delay_mean_s=d, goodput_bps=g) for level, (d, g) in points.items()])
    assert asked.beside_one_level(runs) == pytest.approx([20.0])
    far = Runs(
        [run({"level": x}, delay_mean_s=9 * d if x == of.TWO else d, goodput_bps=g) for x, (d, g) in points.items()]
    )
    assert asked.beside_one_level(far) == pytest.approx([math.nan], nan_ok=True)


def test_a_queue_settles_where_it_stays_below_20_ms() -> None:
    """At 20 Mbit/s 20 ms are 50 kB. The queue is above until 3 s after the change, and in another run to the end."""
    import pyarrow as pa

    scenario = of.changed("CoDel", "load rises", DEFAULT)
    times = [i / 20 for i in range(600)]
    for until, expected in ((of.CHANGE_S + 3.0, 3.0), (99.0, math.inf), (0.0, 0.0)):
        long = [100_000 if t < until and t >= of.CHANGE_S else 0 for t in times]
        trace = pa.table({"t_s": times, "queue_bytes": long})
        assert measured.settles_s(replace(run({}), scenario=scenario, trace=trace)) == expected


def test_the_median_is_over_places_and_not_over_seeds() -> None:
    runs = Runs([run({"aqm": "MECN", "place": p}, seed, x=10.0 * p + seed) for p in (1, 2, 9) for seed in (1, 2)])
    assert values.middle(values.at_each("place", "x", aqm="MECN"))(runs) == [21.0, 22.0]


def test_no_group_at_home_loses_more_than_it_sends() -> None:
    """Its hosts are shared, and Prague's segments wait at them for their time."""
    for seed in (1, 2, 3):
        for name, group in ps.run(of.at_home("Step, Prague").set("seed", seed)).groups.items():
            lost = group["one_way_loss_ratio"].mean
            assert lost is None or 0 <= lost <= 1, (seed, name)


def test_a_few_short_runs_are_judged(tmp_path: Path) -> None:
    (narrow,) = choose([], ["levels.folded.goodput-reno-40"])
    short = [
        Case(case.labels, case.scenario.set_all({"duration": "6 s", "measure.from": "2 s"}))
        for case in narrow.exhibits[0].cases(FULL, DEFAULT)
        if case.labels["tcp"] == "Reno" and case.labels["place"] == signals.PLANE[1]
    ]
    claims = [replace(claim, cases=lambda settings, reading: short) for claim in narrow.claims]
    drawn = replace(narrow.exhibits[0], cases=lambda settings, reading: short)
    done = command.reproduce([replace(narrow, claims=claims, exhibits=[drawn])], Settings.of_seeds(2), tmp_path, jobs=2)
    found = done.findings[0]
    assert (found.n, [point.at for point in found.points]) == (2, [signals.PLANE[1]])
    page = done.page.read_text(encoding="utf-8")
    assert "<h1>What is a second level of congestion worth?</h1>" in page
    assert (tmp_path / "figures" / "levels.folded.svg").exists()


@pytest.mark.parametrize("key", ["places-table", "losses", "hidden", "ramp", "tuned", "crowd-table", "published"])
def test_a_table_has_a_row_for_each_case_or_group(key: str) -> None:
    exhibit = next(each for each in PAPER.exhibits if each.key == key)
    metrics: dict[str, Any] = dict.fromkeys(
        ("delay_mean_s", "delay_p99_s", "utilization", "loss_ratio", "goodput_bps", "jain"), 0.5
    )
    runs = Runs(
        [
            replace(run(dict(case.labels), seed, **metrics), scenario=case.scenario)
            for case in exhibit.cases(FULL, DEFAULT)
            for seed in (1, 2)
        ]
    )
    found = exhibit.show(runs)
    assert isinstance(found, TableData)
    assert {len(row) for row in found.rows} == {len(found.head)}
    assert len({row[0] for row in found.rows}) == len(found.rows)


# ---- the page


def test_the_page_says_what_its_numbers_say() -> None:
    found = levels.findings()
    assert levels.page(PAGE, found) == PAGE, "stale: make levels"
    assert found.keys() == {claim.key for claim in PAPER.claims}


def test_kept_numbers_are_judged_as_they_were() -> None:
    for key, each in levels.findings().items():
        if not each.points and each.verdict in (HOLDS, FAILS):
            assert decide(each.rule, each.low, each.high) == each.verdict, key


def test_the_figures_are_those_of_the_page() -> None:
    assert re.findall(r"\]\(two-levels/([\w-]+)\.svg\)", PAGE) == list(levels.FIGURES)
    assert {path.stem for path in levels.FOLDER.glob("*.svg")} == set(levels.FIGURES)
    for name in levels.FIGURES:
        text = (levels.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
        assert ET.fromstring(text).get("viewBox")
        assert "prefers-color-scheme: dark" in text


def test_an_answer_holds_to_its_verdicts() -> None:
    """Where a verdict that its words stand on turns, it says the numbers alone."""
    found = levels.findings()
    for answer in answers.ANSWERS:
        said = answer.said(found)
        assert "{" not in said, answer.question
        assert all(found[key].verdict == verdict for key, verdict in answer.given.items()), answer.question
        for key, verdict in answer.given.items():
            turned = replace(found[key], verdict=FAILS if verdict != FAILS else HOLDS)
            other = answer.said({**found, key: turned})
            assert other != said, answer.question
            assert found[key].claim.text.rstrip(".") in other, answer.question
    assert answers.ANSWERS[0].said({}) == ""
    (point,) = (answer for answer in answers.ANSWERS if "{pairs.prague-codel@200}" in answer.text)
    fewer = found["pairs.prague-codel"]
    assert point.said({**found, fewer.claim.key: replace(fewer, points=fewer.points[:2])}) == ""


def test_each_expectation_that_does_not_hold_has_its_reason_and_no_other_has() -> None:
    found = levels.findings()
    open_ = {claim.key for claim in EXPECTED if found[claim.key].verdict != HOLDS}
    assert set(answers.REASONS) == open_
    assert all(answers.reason(key, found) for key in open_)


def test_a_number_in_a_sentence_has_a_short_unit_and_perhaps_no_sign() -> None:
    claim = next(each for each in asked.CLAIMS if each.key == "ramp.delay-cubic")
    found = {"ramp.delay": judge("levels", claim, DEFAULT, {"here": [-40.0, -41.0, -42.0]})}
    said = answers.Answer("", "{-ramp.delay}; {ramp.delay@here}; {-ramp.delay@here}").said(found)
    assert said == "41.0 ± 5.7 %; −41 (−46.7 to −35.3) %; 41 (35.3 to 46.7) %"


def test_a_claim_of_points_is_kept_with_them() -> None:
    claim = next(each for each in asked.CLAIMS if each.key == "crowd.dualpi2")
    made = judge("levels", claim, DEFAULT, {"1": [1.0, 1.1, 1.2], "5": [3.0, 3.1, 3.2]})
    kept = levels.findings()["crowd.dualpi2"]
    assert [point.at for point in kept.points] == ["1", "5", "9"]
    assert made.verdict == FAILS
    assert isinstance(asked.CLAIMS[0].rule, Above) or asked.CLAIMS[0].rule is not None
