"""NRED's reproduction: its scenarios are the paper's, its claims measure what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.reproduced import differences_from_ns2, readings_that_change_nothing
from penstock.reproduce.execute import collect, ensure
from penstock.reproduce.model import Settings
from penstock.reproduce.papers import paper
from penstock.reproduce.papers.nred.claims import equation_1
from penstock.reproduce.papers.nred.scenarios import OPEN, profiles, scenario
from penstock.reproduce.readings import DEFAULT

PAPER = paper("nred")
BYTES, ECN, ECN_MARK_P, GATE, NOT_GENTLE = OPEN.keyed(
    "unit=bytes", "ecn", "ecn,mark_p=0.1", "gate=geometric", "gentle=false"
)


@pytest.mark.parametrize(
    ("case", "name", "flows", "kb"),
    [
        ("nred-droptail-b080", "DropTail", 50, 80),
        ("nred-red-n020", "RED", 20, 100),
        ("nred-nred-b040", "NRED", 50, 40),
        ("nred-nred-n060", "NRED", 60, 100),
    ],
)
def test_the_default_reading_is_what_ns2_ran(case: str, name: str, flows: int, kb: int) -> None:
    assert differences_from_ns2(case, scenario(name, flows, kb, DEFAULT)) <= {".measure.to"}


def test_readings_reach_what_they_are_about() -> None:
    assert scenario("NRED", 20, 100, GATE).resolved["aqm"]["gate"] == "geometric"
    assert scenario("RED", 20, 100, NOT_GENTLE).resolved["aqm"]["gentle"] is False
    assert scenario("RED", 20, 100, ECN_MARK_P).resolved["aqm"]["mark_p"] == 0.1
    marking = scenario("RED", 20, 100, ECN).resolved
    assert (marking["aqm"]["ecn"], marking["traffic"][0]["ecn"]) == (True, "classic")
    for name in ("DropTail", "RED", "NRED"):
        in_bytes = scenario(name, 20, 100, BYTES).resolved
        assert in_bytes["aqm"]["unit"] == "bytes"
        assert in_bytes["topology"]["bottleneck"]["buffer"] == "100 kB"
    assert readings_that_change_nothing(PAPER) == []


def test_equation_1_by_hand() -> None:
    # min_th 5, B 100: half way at 52.5.
    assert [float(equation_1(avg, 2)) for avg in (0.0, 5.0, 52.5, 100.0, 120.0)] == [0.0, 0.0, 0.25, 1.0, 1.0]


def test_the_flood_lifts_the_average_to_the_buffer(tmp_path: Path) -> None:
    (case,) = (case for case in profiles(Settings(), DEFAULT) if case.labels["aqm"] == "RED")
    ensure([case], [1], tmp_path, 1, lambda done, total: None)
    (run,) = collect([case], [1], tmp_path)
    # Where RED drops everything the average still rises: the queue stays full.
    assert run.recorded("avg_pkts").max() > 99
    assert run.recorded("p_b").max() == 1
