"""RvD's reproduction: its scenarios are what ns-2 ran, its tables are the paper's, its claims measure what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.reproduced import differences_from_ns2, readings_that_change_nothing, reproduce
from penstock.reproduce.model import DEFAULT
from penstock.reproduce.papers import paper
from penstock.reproduce.papers.rvd.scenarios import OPEN, QUEUES, TABLE_1, TABLE_2, TABLE_3, TABLE_4, scenario

PAPER = paper("rvd")


@pytest.mark.parametrize(
    ("case", "queue", "flows", "delay_ms", "spread_ms"),
    [
        ("rvd-droptail-t1-n12", "DropTail", 12, 80, None),
        ("rvd-red-t2-n32", "RED", 32, 250, None),
        ("rvd-red-t3-d10", "RED", 16, 75, 10),
        ("rvd-droptail-t4-d20", "DropTail", 16, 250, 20),
    ],
)
def test_the_default_reading_is_what_ns2_ran(
    case: str, queue: str, flows: int, delay_ms: int, spread_ms: int | None
) -> None:
    ours = scenario(queue, flows, delay_ms, DEFAULT, spread_ms)
    assert differences_from_ns2(case, ours, "ns2-cases.json") <= {".measure.to"}


def test_the_printed_numbers() -> None:
    assert [TABLE_1.of(queue, 16) for queue in QUEUES] == [12.0, 11.9]
    assert [TABLE_2.of(queue, 12) for queue in QUEUES] == [1.40, 1.35]
    assert [TABLE_3.of(queue, 20) for queue in QUEUES] == [0.585, 0.485]
    assert [TABLE_4.of(queue, 15) for queue in QUEUES] == [0.750, 0.655]


def test_readings_reach_what_they_are_about() -> None:
    by_key = {reading.key: reading for reading in OPEN}
    equal = by_key["buffer=equal"]
    assert scenario("DropTail", 2, 80, equal).resolved["topology"]["bottleneck"]["buffer"] == "51 packets"
    assert scenario("RED", 2, 80, equal).resolved["topology"]["bottleneck"]["buffer"] == "50 packets"
    assert scenario("RED", 2, 80, by_key["red=5/15"]).resolved["aqm"]["max_th"] == "15 packets"
    assert readings_that_change_nothing(PAPER) == []


def test_two_seeds_of_the_coarse_grid(tmp_path: Path) -> None:
    found = reproduce(PAPER, tmp_path)
    assert found["fig2.places"].estimate == 0.0
    assert found["fig5.fairer"].estimate == 0.0
    # Windows of 20 packets of 1500 B each 160 ms, set-up and slow start off: N = 4 has 5.07 Mbit/s, printed are 3.5.
    assert found["table1.worst"].estimate == pytest.approx(45.0, abs=0.5)
    said = PAPER.discussion(found)
    assert all(f"{found[key].estimate:.0f} %" in said for key in ("fig2.congested", "fig3.congested"))
