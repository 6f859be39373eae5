"""RED-AT's reproduction: its scenarios are what ns-2 ran, its claims measure what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.reproduced import differences_from_ns2, readings_that_change_nothing, reproduce
from penstock.reproduce.papers import paper
from penstock.reproduce.papers.red_at.scenarios import OPEN, scenario

PAPER = paper("red-at")
BY_KEY = {reading.key: reading for reading in OPEN}


@pytest.mark.parametrize(
    ("case", "name", "n", "reading"),
    [
        ("redat-red-nogentle-n020", "RED", 20, "default"),
        ("redat-ared-n030", "ARED", 30, "default"),
        ("redat-redat-nogentle-n100", "RED-AT", 100, "default"),
        ("redat-redat-n070", "RED-AT", 70, "gentle"),
        ("redat-ared-nogentle-n020", "ARED", 20, "ared.gentle=false"),
        ("redat-blue-n080", "ARED", 80, "ared=blue"),
        ("redat-bw02-redat-n005", "RED-AT", 5, "rate=1.5M"),
    ],
)
def test_scenarios_are_what_ns2_ran(case: str, name: str, n: int, reading: str) -> None:
    gentle = {} if reading != "rate=1.5M" else {".aqm.gentle"}
    assert differences_from_ns2(case, scenario(name, n, BY_KEY[reading])) <= {".measure.to", *gentle}


def test_readings_reach_what_they_are_about() -> None:
    narrow = scenario("RED-AT", 20, BY_KEY["bounds=20/10%"]).resolved["aqm"]
    assert [narrow[key] for key in ("min_lo", "min_hi", "max_lo", "max_hi")] == [
        "8 packets",
        "12 packets",
        "27 packets",
        "33 packets",
    ]
    marking = scenario("RED-AT", 20, BY_KEY["ecn,mark_p=0.1"]).resolved
    assert (marking["aqm"]["ecn"], marking["aqm"]["mark_p"], marking["traffic"][0]["ecn"]) == (True, 0.1, "classic")
    flows = [(t.get("flows"), t.get("sessions")) for t in scenario("RED", 20, BY_KEY["http=30"]).resolved["traffic"]]
    assert flows[0][0] == 20
    assert flows[1][1] == 30
    assert readings_that_change_nothing(PAPER) == []


def test_two_seeds_of_the_coarse_grid(tmp_path: Path) -> None:
    found = reproduce(PAPER, tmp_path)
    # Far from any border: at N = 80 RED-AT's queue swings between empty and full, RED's half as much.
    queue, level = found["fig9.queue"].estimate, found["fig9.level"].estimate
    assert queue is not None and 5 < queue < 12  # noqa: PT018
    assert level is not None and -10 < level < -5  # noqa: PT018
    said = PAPER.discussion(found)
    assert f"+{queue:.2f}" in said
    assert f"−{-level:.2f}" in said
