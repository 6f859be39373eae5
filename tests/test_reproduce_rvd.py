"""RvD's reproduction: its scenarios are what ns-2 ran, its tables are the paper's, its claims measure what they say."""

from __future__ import annotations

import pytest

from helpers.reproduced import differences_from_ns2, readings_that_change_nothing
from penstock.reproduce.papers import paper
from penstock.reproduce.papers.rvd.scenarios import OPEN, QUEUES, TABLE_1, TABLE_2, TABLE_3, TABLE_4, scenario
from penstock.reproduce.readings import DEFAULT

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
def test_at_one_instant_it_is_what_ns2_ran(
    case: str, queue: str, flows: int, delay_ms: int, spread_ms: int | None
) -> None:
    ours = scenario(queue, flows, delay_ms, OPEN.joint("start=0"), spread_ms)
    assert differences_from_ns2(case, ours, "ns2-cases.json") <= {".measure.to"}


def test_flows_start_within_10_ms() -> None:
    (flows,) = scenario("RED", 2, 80, DEFAULT).resolved["traffic"]
    assert flows["start"] == {"uniform": ["0 s", "10 ms"]}


def test_the_printed_numbers() -> None:
    assert [TABLE_1.of(queue, 16) for queue in QUEUES] == [12.0, 11.9]
    assert [TABLE_2.of(queue, 12) for queue in QUEUES] == [1.40, 1.35]
    assert [TABLE_3.of(queue, 20) for queue in QUEUES] == [0.585, 0.485]
    assert [TABLE_4.of(queue, 15) for queue in QUEUES] == [0.750, 0.655]


def test_what_is_printed_of_a_difference_is_that_of_its_table() -> None:
    claims = {claim.key: claim for claim in PAPER.claims}
    red, droptail = (sum(TABLE_2.column(queue)[3:]) for queue in QUEUES)
    assert claims["fig3.many"].printed == pytest.approx(100 * (red / droptail - 1), abs=0.05)
    for key, table in (("fig4.fairer", TABLE_3), ("fig5.fairer", TABLE_4)):
        red, droptail = (sum(table.column(queue)) / 3 for queue in QUEUES)
        assert claims[key].printed == pytest.approx(red - droptail, abs=5e-4)
    for key, table in (("fig2.congested", TABLE_1), ("fig3.congested", TABLE_2)):
        assert claims[key].printed == pytest.approx(100 * table.of("DropTail", 32) / 45, abs=0.05)


def test_the_papers_claims_are_apart_from_ours() -> None:
    whose = {of: [claim.key for claim in PAPER.claims if claim.of == of] for of in ("paper", "project", "check")}
    assert whose["project"] == ["fig2.congested", "fig3.congested", "fig3.grows", "fig2.places", "fig3.places"]
    assert whose["check"] == ["table1.off", "table2.off", "table3.off", "table4.off"]
    assert len(whose["paper"]) == 9
    assert all(claim.place for claim in PAPER.claims if claim.of == "paper")


def test_readings_reach_what_they_are_about() -> None:
    by_key = {reading.key: reading for reading in OPEN}
    more = OPEN.joint("buffer=equal", "buffer=100")
    for reading, places in ((by_key["buffer=equal"], (50, 51)), (more, (100, 101))):
        made = [scenario(queue, 2, 80, reading).resolved["topology"]["bottleneck"]["buffer"] for queue in QUEUES]
        assert made == [f"{n} packets" for n in places]
    assert scenario("RED", 2, 80, by_key["red=5/15"]).resolved["aqm"]["max_th"] == "15 packets"
    assert readings_that_change_nothing(PAPER) == []


def test_no_free_number_is_searched() -> None:
    searched = set(OPEN.keys_in_order())
    assert {"duration=4s", "segment=1000B", "window=64"} <= searched
    assert not {"duration=10s", "duration=30s", "buffer=20", "buffer=100"} & searched
