"""The search for the joint reading that comes nearest to a paper, on a paper of four flows and one link."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

import penstock as ps
from helpers import tiny_paper
from penstock.cli import main
from penstock.judging.rules import Above, Below, Within
from penstock.reproduce import nearest, papers
from penstock.reproduce.model import Case, Claim, MostBelow, Numbers, Paper, Rule, Settings
from penstock.reproduce.nearest import Found, Score, anew, search
from penstock.reproduce.readings import DEFAULT, Alternative, Reading, Readings
from penstock.reproduce.runs import Run, Runs
from penstock.reproduce.verdict import judge


@dataclass(frozen=True, kw_only=True)
class Open:
    rate: str = "1.5 Mbit/s"
    flows: int = 4
    profile: str = "ns-2"


OPEN = Readings(
    Open(),
    Alternative("rfc", "As the RFCs have it.", Open(profile="rfc")),
    Alternative("rate=2", "2 Mbit/s.", Open(rate="2 Mbit/s")),
    Alternative("rate=1", "1 Mbit/s.", Open(rate="1 Mbit/s")),
    Alternative("flows=20", "20 flows.", Open(flows=20)),
    Alternative("rate=9", "What the paper rules out.", Open(rate="9 Mbit/s"), documented=False),
)


def cases(settings: Settings, reading: Reading, readings: Readings[Open] = OPEN) -> Iterator[Case]:
    taken = readings[reading]
    scenario = ps.Scenario(
        topology=ps.Dumbbell(bottleneck=ps.Link(rate=taken.rate, delay="10 ms", buffer=10)),
        traffic=[ps.Ftp(flows=taken.flows, tcp="reno", start={"uniform": ["0 s", "0.5 s"]})],
        duration="3 s",
        profile=taken.profile,
    )
    yield Case({"aqm": "DropTail"}, scenario)


def used(runs: Runs) -> list[float]:
    return [float(1e-6 * v) for v in runs.values("throughput_bps")]


def lost(runs: Runs) -> list[float]:
    return [float(100 * v) for v in runs.values("loss_ratio")]


def claim(**keys: object) -> Claim:
    common = {"text": "", "exhibit": "fig1", "paper_value": "", "unit": "Mbit/s", "cases": cases}
    return Claim(**{**common, **keys})  # type: ignore[arg-type]


#: A paper whose numbers are those of 1 Mbit/s and 20 flows.
PAPER = replace(
    tiny_paper.PAPER,
    key="amecn",
    claims=[
        claim(key="fig1.rate", values=used, rule=Within(0.9, 1.0), printed=0.983),
        claim(key="fig1.loss", values=lost, rule=Above(20.5)),
        claim(key="fig1.ours", values=used, rule=Below(0.0), of="project"),
    ],
    readings=OPEN,
    believe=lambda found: "",
    discussion=lambda found: "",
)
SEEDS = (1001, 1002)


def found(paper: Paper = PAPER, jobs: int = 2, most: int = 100) -> Found:
    return search(paper, jobs, seeds=SEEDS, most=most)


@pytest.mark.parametrize("most", [100, 1])
def test_the_best_set_is_found_by_trying_all_and_by_growing(most: int) -> None:
    result = found(most=most)
    best = result.nearest(OPEN)
    assert best.reading.key == "rate=1 + flows=20"
    assert best.score[0] == 0
    assert best.default_score[0] == 2
    assert result.how == ("all" if most == 100 else "grown")
    assert (result.claims, best.possible) == (2, 12)
    assert best.tried == 12 if most == 100 else best.tried <= 12
    assert set(best.seeds) == set(SEEDS)


def test_contradicting_alternatives_never_meet() -> None:
    sets = set(OPEN.possible())
    assert len(sets) == OPEN.count() == 12
    assert not [keys for keys in sets if {"rate=1", "rate=2"} <= set(keys) or "rate=9" in keys]
    assert all(OPEN.permitted(keys) for keys in sets)
    refused = [("rate=2", "rate=1"), ("rate=9",), ("rfc", "rate=9")]
    assert not any(OPEN.permitted(keys) for keys in refused)
    for most in (100, 1):
        assert set(found(most=most).scores) <= sets


def test_sets_are_counted_without_listing_them() -> None:
    taken = [Open(rate="a"), Open(rate="b"), Open(flows=1), Open(rate="a", flows=1), Open(profile="rfc")]
    for some in itertools.combinations(taken, 4):
        readings = Readings(Open(), *(Alternative(str(i), "", each) for i, each in enumerate(some)))
        assert readings.count() == len(list(readings.possible()))


def test_the_result_does_not_depend_on_jobs() -> None:
    assert found(jobs=1).document() == found(jobs=3).document()


def test_a_set_that_changes_no_run_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    usual = nearest._run

    def counted(wanted: Mapping[str, Case], seeds: Sequence[int], jobs: int) -> dict[tuple[str, int], Run]:
        ran.append(len(wanted))
        return usual(wanted, seeds, jobs)

    monkeypatch.setattr(nearest, "_run", counted)
    same = Readings(
        Open(), Alternative("rfc", "", Open(profile="rfc")), Alternative("rate", "", Open(rate="1500 kbit/s"))
    )
    asked = [replace(each, cases=partial(cases, readings=same)) for each in PAPER.claims[:1]]
    found(replace(PAPER, claims=asked, readings=same))
    assert ran == [1, 1, 0, 0, 1, 1, 0, 0], "the default and rfc, on the first seed and on all"


def test_the_command_writes_all_that_was_tried_and_uses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "paper", lambda key: PAPER)
    monkeypatch.setattr(nearest, "SEEDS", SEEDS)
    (paper,) = anew([replace(PAPER, claims=[])], papers.paper, tmp_path / "nearest.json", 2)
    assert paper.nearest is not None
    assert paper.nearest.reading == OPEN.joint("rate=1", "flows=20")
    kept = json.loads((tmp_path / "nearest.json").read_text(encoding="utf-8"))["amecn"]
    assert len(kept["scores"]) == kept["tried"] == 12
    assert kept["scores"][0] == {"takes": ["rate=1", "flows=20"], "wrong": 0, "off_percent": pytest.approx(1, abs=1.5)}


def test_a_report_judges_every_claim_under_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "paper", lambda key: PAPER)
    monkeypatch.setattr(nearest, "SEEDS", SEEDS)
    assert main(["reproduce", "amecn", "--nearest", "--quick", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "nearest.json").exists()
    rows = list(csv.DictReader((tmp_path / "claims.csv").read_text(encoding="utf-8").splitlines()))
    under = {(row["claim"], row["reading"]): row["verdict"] for row in rows}
    joint = "rate=1 + flows=20"
    assert {under[claim.key, joint] for claim in PAPER.claims[:2]} == {"holds"}
    assert {reading for _, reading in under} == {"default", joint}


def test_what_ships_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "place", lambda paper: tmp_path / f"{paper}.json")
    assert nearest.shipped("amecn", OPEN) is None
    result = found()
    (tmp_path / "amecn.json").write_text(nearest.text(result.document(most=3)), encoding="utf-8")
    assert nearest.shipped("amecn", OPEN) == result.nearest(OPEN)


@pytest.mark.parametrize("key", papers.KEYS)
def test_the_shipped_ones_are_chosen_on_other_seeds_than_the_report_judges(key: str) -> None:
    paper = papers.paper(key)
    if paper.nearest is None:
        pytest.skip("no joint reading ships with this paper")
    assert min(paper.nearest.seeds) > max(Settings().looks)
    assert paper.nearest.tried <= paper.nearest.possible
    # Where a paper prints tables, the distance from their numbers counts first, in whole percent.
    order = (1, 0) if any(claim.rule is None and claim.unit == "%" for claim in paper.claims) else (0, 1)
    score, default = ([of[i] for i in order] for of in (paper.nearest.score, paper.nearest.default_score))
    assert paper.nearest.reading == DEFAULT or score < default


def test_numbers_come_first_where_a_paper_prints_tables() -> None:
    few_wrong, near = Score(1, 20.0), Score(2, 10.0)
    assert few_wrong < near
    assert replace(near, numbers_first=True) < replace(few_wrong, numbers_first=True)
    # Less than a percent is noise: then the claims decide.
    assert Score(1, 10.4, numbers_first=True) < Score(2, 9.9, numbers_first=True)


def test_tables_are_told_by_their_distances() -> None:
    table = claim(
        key="table1.off", values=lambda runs: {"a": [1.0, 3.0], "b": [8.0, 8.0]}, rule=None, unit="%", of="check"
    )
    result = found(replace(PAPER, claims=[*PAPER.claims, table]))
    score = next(iter(result.scores.values()))
    assert (score.numbers_first, score.off) == (True, 5.0)
    assert result.claims == 2


@pytest.mark.parametrize(
    ("rule", "right", "wrong"),
    [(Above(1.0), 2.0, 1.0), (Below(1.0), 0.0, 1.0), (Within(1.0, 2.0), 1.5, 3.0), (MostBelow(5.0), 4.0, 6.0)],
)
def test_a_claim_is_wrong_where_its_estimate_is_on_the_other_side(rule: Rule, right: float, wrong: float) -> None:
    def misses(values: Numbers) -> bool:
        return nearest._wrong(judge("a", claim(key="a", values=used, rule=rule), DEFAULT, values))

    assert (misses([right] * 3), misses([wrong] * 3), misses([float("nan")] * 3)) == (False, True, True)
    if not isinstance(rule, MostBelow):
        assert misses({"a": [right] * 3, "b": [wrong] * 3})
