"""The words in which the papers' modules declare what they run, read and claim."""

from __future__ import annotations

from typing import Any

import pytest

from helpers import tiny_paper
from penstock.judging.rules import Below
from penstock.reproduce.comparisons import Comparison
from penstock.reproduce.grids import Grid
from penstock.reproduce.measures import DELAY
from penstock.reproduce.model import Settings
from penstock.reproduce.readings import DEFAULT, Alternative, Readings, changing_only

ONE = Settings.of_seeds(1)


def grid(**keys: Any) -> Grid:
    """Two disciplines over three buffers."""
    return Grid(
        build=lambda name, buffer, reading: tiny_paper.scenario(buffer, reading),
        names=("A", "B"),
        along="buffer",
        values=(5, 10, 20),
        **keys,
    )


def labels(of: Grid, settings: Settings = ONE) -> list[tuple[Any, ...]]:
    return [tuple(case.labels.values()) for case in of(settings, DEFAULT)]


def test_a_grid_has_every_name_at_every_value() -> None:
    assert labels(grid()) == [("A", 5), ("B", 5), ("A", 10), ("B", 10), ("A", 20), ("B", 20)]
    assert labels(grid(by_name=True)) == [("A", 5), ("A", 10), ("A", 20), ("B", 5), ("B", 10), ("B", 20)]
    assert labels(grid().only("B", at=(10, 20))) == [("B", 10), ("B", 20)]
    assert list(next(iter(grid(series="kind")(ONE, DEFAULT))).labels) == ["kind", "buffer"]


def test_readings_are_chosen_by_what_they_change() -> None:
    readings: Readings[Any] = Readings(
        0,
        Alternative("all", "Everything.", 1),
        *changing_only(("A",), Alternative("a", "A.", 2), Alternative("a, lot", "A in the lot.", 3, where=("lot",))),
        *changing_only(("B",), Alternative("b", "B.", 4)),
    )
    assert [readings[each] for each in readings] == [0, 1, 2, 3, 4]
    assert next(iter(readings)) == DEFAULT
    assert [each.key for each in readings.touching("A")] == ["all", "a"]
    assert [each.key for each in readings.touching("A", "B", where="lot")] == ["all", "a", "a, lot", "b"]
    assert [each.key for each in readings.without("a", "a, lot")] == ["all", "b"]
    assert [each.key for each in readings.keyed("b", "all")] == ["b", "all"]
    with pytest.raises(KeyError):
        readings.without("c")


def test_a_comparison_says_its_unit_and_exhibit() -> None:
    said: Any = {"key": "fig1.delay", "text": "A waits less than B.", "paper_value": "less", "rule": Below()}
    versus = Comparison.on(grid(), "A", "B", at=(5,))
    claim = versus.difference(DELAY, **said)
    assert (claim.exhibit, claim.unit) == ("fig1", "ms")
    assert labels(versus.cases) == [("A", 5), ("B", 5)]  # type: ignore[arg-type]
    assert versus.percent(DELAY, **said).unit == "% of B's"
    assert versus.percent(DELAY, **said, exhibit="table1").exhibit == "table1"
    assert Comparison.on(grid(series="w_q"), "A", "B").percent(DELAY, **said).unit == "% of that with B"
    single = Comparison(cases=grid(), ours="A", theirs="B", along=None)
    with pytest.raises(ValueError, match="needs a label"):
        single.percent(DELAY, **said)
