"""RARED's reproduction: its scenarios are the paper's, its claims measure what they say."""

from __future__ import annotations

import pytest

from helpers.reproduced import differences_from_ns2, readings_that_change_nothing
from penstock.reproduce.comparisons import difference_at_each, mean_over, percent_along, percent_at_each
from penstock.reproduce.grids import Grid
from penstock.reproduce.model import Settings
from penstock.reproduce.papers import paper
from penstock.reproduce.papers.rared.scenarios import (
    AT_LONG_DELAY,
    AT_SHORT_DELAY,
    LONG,
    OPEN,
    STRONG_RED,
    scenario,
)
from penstock.reproduce.readings import DEFAULT, Reading
from penstock.reproduce.runs import Run, Runs

PAPER = paper("rared")
MARK_P, BASE, CLIMB = OPEN.keyed("mark_p=0.1", "base=ared", "climb=ramp")
LONG_200, SHORT_20 = OPEN.keyed("long=200ms", "short=20ms")


@pytest.mark.parametrize(
    ("case", "name", "m", "delay_ms"),
    [
        ("rared-red-m15", "RED", 15, LONG),
        ("rared-rem-m09", "REM", 9, LONG),
        ("rared-ared-m01", "ARED", 1, LONG),
        ("rared-rared-m05", "RARED", 5, LONG),
        ("rared-d010-rared-m10", "RARED", 10, 10),
    ],
)
def test_the_default_reading_is_what_ns2_ran(case: str, name: str, m: int, delay_ms: int) -> None:
    # The case says what is the default anyway: the window's end, the other direction's buffer.
    same = {".measure.to", ".topology.bottleneck.reverse_buffer"}
    assert differences_from_ns2(case, scenario(name, m, DEFAULT, delay_ms)) <= same


def test_readings_reach_the_queue() -> None:
    assert scenario("RED", 1, MARK_P).resolved["aqm"]["mark_p"] == 0.1
    assert scenario("RARED", 1, BASE).resolved["aqm"]["base"] == "ared"
    assert scenario("RARED", 1, CLIMB).resolved["aqm"]["climb"] == "ramp"
    assert scenario("RED", 1, CLIMB).resolved == scenario("RED", 1, DEFAULT).resolved
    assert readings_that_change_nothing(PAPER) == []


def test_the_long_and_the_short_link_are_read_apart() -> None:
    def delay(grid: Grid, reading: Reading) -> str:
        built: str = next(iter(grid(Settings(), reading))).scenario.resolved["topology"]["bottleneck"]["delay"]
        return built

    assert [delay(AT_LONG_DELAY, each) for each in (DEFAULT, LONG_200, SHORT_20)] == ["90 ms", "200 ms", "90 ms"]
    assert [delay(AT_SHORT_DELAY, each) for each in (DEFAULT, LONG_200, SHORT_20)] == ["10 ms", "10 ms", "20 ms"]


def test_the_plain_red_differs_in_max_p_alone() -> None:
    red, strong = (scenario(name, 1, DEFAULT).resolved["aqm"] for name in ("RED", STRONG_RED))
    reverse = {**red["reverse"], "max_p": 0.8}
    assert {key: strong[key] for key in strong if strong[key] != red[key]} == {"max_p": 0.8, "reverse": reverse}


def test_the_grid_is_every_m() -> None:
    cases = list(PAPER.exhibits[0].cases(Settings.of_seeds(1), DEFAULT))
    assert [case.labels["m"] for case in cases[::4]] == list(range(1, 16))


def test_differences_by_hand() -> None:
    """Seed 1: ours 2 and 6 against 1 and 3, seed 2: 4 and 4 against 2 and 6."""
    delays = {("a", 1): (2.0, 4.0), ("a", 5): (6.0, 4.0), ("b", 1): (1.0, 2.0), ("b", 5): (3.0, 6.0)}
    any_scenario = scenario("RED", 1, DEFAULT)
    runs = Runs(
        [
            Run(
                labels={"aqm": aqm, "m": m},
                seed=seed + 1,
                scenario=any_scenario,
                metrics={"delay_mean_s": delay},
                groups=[],
                links={},
                trace=None,
            )
            for (aqm, m), values in delays.items()
            for seed, delay in enumerate(values)
        ]
    )
    ours, theirs = {"aqm": "a"}, {"aqm": "b"}
    each = difference_at_each("m", "delay_mean_s", ours, theirs)
    assert each(runs) == {"1": [1.0, 2.0], "5": [3.0, -2.0]}
    assert mean_over(each)(runs) == [2.0, 0.0]  # (1 + 3)/2, (2 − 2)/2
    in_ms = difference_at_each("m", "delay_mean_s", ours, theirs, scale=1e3)
    assert mean_over(in_ms)(runs) == [2000.0, 0.0]
    # In percent of theirs over both seeds: 3 over all m, 1.5 at m = 1, 4.5 at m = 5.
    assert percent_along("m", "delay_mean_s", ours, theirs)(runs) == pytest.approx([200 / 3, 0.0])
    shares = percent_at_each("m", "delay_mean_s", ours, theirs)(runs)
    assert isinstance(shares, dict)
    assert shares["1"] == pytest.approx([100 / 1.5, 200 / 1.5])
    assert shares["5"] == pytest.approx([300 / 4.5, -200 / 4.5])
