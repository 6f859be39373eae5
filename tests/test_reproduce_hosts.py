"""Claims judged again with the TCP of today's hosts: `penstock reproduce --hosts`."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from helpers import tiny_paper
from penstock.model.hosts import HOSTS
from penstock.reproduce import command
from penstock.reproduce.hosts import NAMES, READINGS, Compared, cases_under
from penstock.reproduce.model import Case, Cases, Finding, Settings
from penstock.reproduce.papers import choose
from penstock.reproduce.readings import DEFAULT
from penstock.reproduce.tables import findings_table
from penstock.reproduce.verdict import FAILS, HOLDS, UNDECIDED

WITH_BOTH = replace(Settings.of_seeds(3), hosts=HOSTS)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> command.Reproduced:
    """The tiny paper, with the hosts of both profiles beside its own."""
    return command.reproduce([tiny_paper.PAPER], WITH_BOTH, tmp_path_factory.mktemp("hosts"), jobs=2)


def test_every_host_has_a_reading_and_a_name() -> None:
    assert set(READINGS) == set(NAMES) == set(HOSTS)


def test_a_claim_is_judged_again_on_runs_with_those_hosts(done: command.Reproduced) -> None:
    found = {(each.claim.key, each.reading.key): each for each in done.findings}
    for hosts in HOSTS:
        delays = [
            [run.metrics["delay_mean_s"] for run in ps.run(made.with_hosts(hosts), [1, 2, 3]).runs]
            for made in (tiny_paper.scenario(buffer, DEFAULT) for buffer in (20, 5))
        ]
        longer, shorter = np.array(delays, dtype=float)
        assert found["fig1.delay", f"hosts={hosts}"].estimate == pytest.approx(1e3 * np.mean(longer - shorter))
        assert found["fig1.delay", f"hosts={hosts}"].estimate != found["fig1.delay", "default"].estimate
    # The paper's own readings are as without; what checks our code is no claim about hosts.
    assert {key for key, reading in found if reading.startswith("hosts=")} == {"fig1.delay", "table1.none"}


def test_hosts_are_in_every_form_of_the_result(done: command.Reproduced) -> None:
    rows = list(csv.DictReader((done.page.parent / "claims.csv").read_text(encoding="utf-8").splitlines()))
    assert {"hosts=linux", "hosts=quic"} <= {row["reading"] for row in rows}
    document = json.loads(done.json())
    assert document["asked"]["hosts"] == list(HOSTS)
    page = done.page.read_text(encoding="utf-8")
    for name in ("Linux", "QUIC"):
        assert f"<strong>With {name}'s hosts</strong> 1 of 1 conclusion still holds: the router's." in page
        assert f'<th scope="col" role="columnheader">With {name}\'s hosts</th>' in page
    assert page.count('class="judged today"') == 2 * 3
    assert "--hosts linux --hosts quic}" in page
    links, ids = (set(re.findall(pattern, page)) for pattern in (r'href="#([^"]+)"', r' id="([^"]+)"'))
    assert links <= ids
    table = findings_table(done.findings)
    assert [title for title, _ in table.columns][-2:] == ["with Linux's hosts", "with QUIC's hosts"]


def test_hosts_are_no_gap_of_the_paper(done: command.Reproduced) -> None:
    """A mark is hatched where another reading of the paper turns it; hosts of today are not one."""
    found = [replace(each, verdict=FAILS) if each.reading in READINGS.values() else each for each in done.findings]
    assert done.page.read_text(encoding="utf-8").count(" turned") == 0
    from penstock.reproduce import report

    shown = {(tiny_paper.PAPER.key, each.key): '<svg viewBox="0 0 90 60"></svg>' for each in tiny_paper.PAPER.exhibits}
    page = report.page([tiny_paper.PAPER], WITH_BOTH, found, shown, "")
    assert page.count(" turned") == 0
    assert "none of its 1 conclusions still holds. 1 was the hosts': <a" in page
    assert "with Linux's hosts: does not hold" in page


def test_without_hosts_nothing_is_said_of_them(reproduced: Path) -> None:
    text = (reproduced / "report.html").read_text(encoding="utf-8")
    assert "s hosts" not in text
    assert "hosts=" not in (reproduced / "claims.csv").read_text(encoding="utf-8")


def test_claims_are_sorted_by_whose_they_are() -> None:
    usual = {
        "a": (HOLDS, HOLDS),
        "b": (HOLDS, FAILS),
        "c": (FAILS, HOLDS),
        "d": (HOLDS, UNDECIDED),
        "e": (UNDECIDED, FAILS),
        "f": (FAILS, FAILS),
        "g": (UNDECIDED, UNDECIDED),
    }
    became = Compared.of((key, finding(one), finding(other)) for key, (one, other) in usual.items())
    assert became == Compared(both=["a"], lost=["b"], now=["c"], open=["d", "e"])


def finding(verdict: str) -> Finding:
    """A finding with that verdict."""
    claim = tiny_paper.PAPER.claims[0]
    return Finding(
        paper="", claim=claim, reading=DEFAULT, estimate=1, low=0, high=2, n=3, verdict=verdict, unit="", rule=None
    )


@pytest.mark.parametrize("hosts", HOSTS)
def test_every_claim_of_every_paper_and_repair_can_have_them(hosts: str) -> None:
    """Of each claim the first case; its queue, links and packets are the paper's."""
    asked: dict[Cases, None] = {
        claim.cases: None for paper in choose(("all", "repairs")) for claim in paper.claims if claim.of != "check"
    }
    for cases in asked:
        usual, made = first(cases(Settings(), DEFAULT)), first(cases_under(cases, Settings(), READINGS[hosts]))
        assert made.labels == usual.labels
        before, after = usual.scenario.resolved, made.scenario.resolved
        for old, new in zip(before.pop("traffic"), after.pop("traffic"), strict=True):
            assert (old.get("segment"), old.get("ecn"), old.get("flows")) == (
                new.get("segment"),
                new.get("ecn"),
                new.get("flows"),
            )
            assert new.get("tcp", "cubic") == "cubic"
        assert before == after


def first(cases: object) -> Case:
    """The first of some cases."""
    assert isinstance(cases, Iterator)
    made = next(cases)
    assert isinstance(made, Case)
    return made
