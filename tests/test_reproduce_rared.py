"""RARED's reproduction: its scenarios are the paper's, its claims measure what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.reproduced import differences_from_ns2, readings_that_change_nothing, reproduce
from penstock.reproduce.comparisons import difference_along, percent_along
from penstock.reproduce.model import DEFAULT, Settings
from penstock.reproduce.papers import paper
from penstock.reproduce.papers.rared.scenarios import LONG, OPEN, scenario
from penstock.reproduce.runs import Run, Runs

PAPER = paper("rared")
MARK_P, BASE, CLIMB = OPEN.keyed("mark_p=0.1", "base=ared", "climb=ramp")


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


def test_the_grid_is_every_m_and_a_coarse_one_when_quick() -> None:
    cases = list(PAPER.exhibits[0].cases(Settings(looks=(1,), quick=False), DEFAULT))
    assert [case.labels["m"] for case in cases[::4]] == list(range(1, 16))
    assert len(list(PAPER.exhibits[0].cases(Settings(looks=(1,), quick=True), DEFAULT))) == 16


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
    assert difference_along("m", "delay_mean_s", ours, theirs)(runs) == [2.0, 0.0]  # (1 + 3)/2, (2 − 2)/2
    assert difference_along("m", "delay_mean_s", ours, theirs, scale=1e3)(runs) == [2000.0, 0.0]
    assert percent_along("m", "delay_mean_s", ours, theirs)(runs) == [100.0, 0.0]  # 8/4, 8/8


def test_two_seeds_of_the_coarse_grid(tmp_path: Path) -> None:
    found = reproduce(PAPER, tmp_path)
    # Far from any border: RARED's delay and loss are lower at a long link, and by this.
    delay, loss = found["fig3.delay-rem"].estimate, found["fig5.loss-rem"].estimate
    assert delay is not None and -30 < delay < -5  # noqa: PT018
    assert loss is not None and -8 < loss < -1  # noqa: PT018
    said = PAPER.discussion(found)
    assert all(f"{abs(value):.2f}" in said for value in (delay, loss))
