"""The pages of published outcomes: their tables say what their files say, and each verdict has its reason."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest

import hosts
import hosts_figures
import outcomes
import queues
from penstock.judging.estimate import Estimate
from penstock.judging.rules import Above, Below, Within

PAGES = pytest.mark.parametrize("book", [hosts.OUTCOMES, queues.OUTCOMES], ids=lambda book: book.name)
PAGE = hosts.OUTCOMES.path.read_text(encoding="utf-8")


@PAGES
def test_the_page_says_what_its_files_say(book: outcomes.Outcomes) -> None:
    page = book.path.read_text(encoding="utf-8")
    assert book.page(page) == page, f"stale: make {book.name}"
    assert book.page(page.replace("| as expected |", "| **not** |")) == page


@PAGES
def test_each_number_that_something_was_expected_of_was_measured(book: outcomes.Outcomes) -> None:
    found = book.numbers()
    assert [each.number for each in book.expectations() if each.number not in found] == []
    assert {each.question for each in book.expectations()} == set(book.questions)


@PAGES
def test_each_verdict_that_is_not_as_expected_has_a_reason_and_no_other_has(book: outcomes.Outcomes) -> None:
    assert book.unexplained() == []
    found = book.numbers()
    named = [name for reason in book.reasons().values() for name in re.findall(r"\{([^}]+)\}", reason)]
    assert [name for name in named if name not in found] == []
    assert "No reason is known" not in book.path.read_text(encoding="utf-8")


def test_a_reason_that_lacks_or_is_too_many_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    book = hosts.OUTCOMES
    kept = book.reasons()
    first = next(iter(kept))
    without = {key: kept[key] for key in kept if key != first}
    monkeypatch.setattr(outcomes.Outcomes, "reasons", lambda _: without)
    assert book.unexplained() == [first]
    monkeypatch.setattr(outcomes.Outcomes, "reasons", lambda _: {**kept, "x": "y"})
    assert book.unexplained() == ["x"]


@pytest.mark.parametrize(
    ("words", "rule"), [("above 80", Above(80)), ("below 0.5", Below(0.5)), ("-10 to 10", Within(-10, 10))]
)
def test_rules_are_read_as_they_are_written(words: str, rule: outcomes.Rule) -> None:
    expected = outcomes.Expectation(question="", what="", number="", unit="", rule=rule, source="")
    assert words in {outcomes.ruled(each.rule) for each in [expected]}
    assert any(each.rule == rule for each in hosts.OUTCOMES.expectations())


def test_a_verdict_needs_the_whole_interval() -> None:
    above = outcomes.Expectation(question="", what="", number="", unit="", rule=Above(1), source="")
    verdicts = [above.verdict(Estimate(x, 0.1, 9, x - 0.1, x + 0.1)) for x in (2.0, 0.5, 1.05)]
    assert verdicts == [True, False, None]
    assert above.verdict(None) is None


def test_the_ends_of_an_interval_are_as_exact_as_it_is_wide() -> None:
    said = {
        outcomes.said(Estimate(*given))
        for given in ((12.345, 1.0, 9, 11.3, 13.4), (0.0, 0.0, 9, 0.0, 0.0), (-0.5, 0.25, 9, -0.75, -0.25))
    }
    assert said == {"12.3 (11.3 to 13.4)", "0", "−0.50 (−0.75 to −0.25)"}


def test_the_figures_are_those_of_the_page_and_follow_the_readers_ground() -> None:
    shown = re.findall(r"\]\(hosts/(\w+)\.svg\)", PAGE)
    assert shown == list(hosts_figures.FIGURES)
    assert {path.stem for path in hosts.OUTCOMES.folder.glob("*.svg")} == set(shown)
    for name in shown:
        text = (hosts.OUTCOMES.folder / f"{name}.svg").read_text(encoding="utf-8")
        assert ET.fromstring(text).get("viewBox")
        assert "prefers-color-scheme: dark" in text
        assert "#1b1b1d" not in text.replace("--ink:#1b1b1d", "")
        assert len(text) < 50_000


def test_idle_is_what_utilization_leaves() -> None:
    idle = hosts_figures.idle(Estimate(98.0, 1.0, 9, 96.5, 99.0))
    assert (idle.mean, idle.low, idle.high) == (2.0, 1.0, 3.5)
    assert math.isclose(idle.below, 1.0)
