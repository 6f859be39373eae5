"""What RFC 7928 asks of a run, against packets worked by hand and against the run's own metrics."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import _penstock
from penstock.runs import measures
from penstock.runs.measures import Fates, measured, window_s

WORDS = ["enqueue", "mark", "mark_head", "dequeue", "drop_early", "drop_forced", "drop_overflow", "drop_head", "evict"]


def events(*rows: tuple[float, str, int, int, int]) -> pa.Table:
    """Time in ms, event, packet, flow, bytes."""
    codes = pa.array([WORDS.index(word) for _, word, *_ in rows], pa.uint8())
    return pa.table(
        {
            "t_s": pa.array([t / 1e3 for t, *_ in rows], pa.float64()),
            "event": pa.DictionaryArray.from_arrays(codes, pa.array(WORDS)),
            "packet": pa.array([packet for _, _, packet, _, _ in rows], pa.uint64()),
            "flow": pa.array([flow for *_, flow, _ in rows], pa.uint64()),
            "bytes": pa.array([size for *_, size in rows], pa.uint64()),
        }
    )


def test_what_leaves_is_the_packet_of_that_number() -> None:
    """Flow 1's packets leave before flow 0's, as under fair queueing; the last one of flow 0 is thrown away while it
    waits."""
    fates = Fates.of(
        events(
            (0, "enqueue", 7, 0, 100),
            (1, "enqueue", 4, 0, 200),
            (2, "mark", 5, 1, 300),
            (3, "drop_overflow", 6, 1, 400),
            (5, "dequeue", 5, 1, 300),
            (6, "evict", 4, 0, 200),
            (9, "dequeue", 7, 0, 100),
            (10, "enqueue", 8, 0, 500),
        )
    )
    assert fates.flow.tolist() == [0, 0, 1, 1, 0]
    assert fates.size.tolist() == [100, 200, 300, 400, 500]
    assert fates.lost.tolist() == [False, True, False, True, False]
    assert fates.delay_s.tolist() == pytest.approx([0.009, math.nan, 0.003, math.nan, math.nan], nan_ok=True)


def test_no_packets_are_no_fates() -> None:
    fates = Fates.of(events())
    assert len(fates.flow) == len(fates.delay_s) == 0


def test_quantiles_are_values_that_occurred() -> None:
    rows = {at: value for _, _, at, value in measures.quantiles("x", "", np.array([4.0, 1.0, 2.0, 3.0]))}
    assert (rows[0.0], rows[25.0], rows[50.0], rows[75.0], rows[100.0]) == (1.0, 1.0, 2.0, 3.0, 4.0)
    assert list(measures.quantiles("x", "", np.array([]))) == []


def scenario(**more: Any) -> ps.Scenario:
    usual: dict[str, Any] = {
        "topology": ps.Dumbbell(
            bottleneck=ps.Link(rate="2 Mbit/s", delay="20 ms", buffer=20),
            access=ps.Access(rate="10 Mbit/s", delay="5 ms"),
        ),
        "aqm": ps.Red(min_th=5, max_th=15),
        "traffic": [ps.Ftp(flows=3, name="long", start={"uniform": ["0 s", "1 s"]})],
        "duration": "21 s",
        "measure": {"from": "6 s", "to": "20.4 s"},
    }
    return ps.Scenario(**{**usual, **more})


def round_trips(given: ps.Scenario) -> list[tuple[float, float] | None]:
    return [group.round_trip_s for group in given.core.facts().groups]


def test_round_trips_lead_there_and_back() -> None:
    """20 ms of the link, 5 ms of each access link; entries and egress may have their own."""
    assert round_trips(scenario()) == [pytest.approx((0.060, 0.060))]
    assert window_s(scenario().core) == pytest.approx(0.6)
    near = scenario(traffic=[ps.Ftp(), ps.Ftp(access_delay="1 ms")])
    assert round_trips(near) == [pytest.approx((0.060, 0.060)), pytest.approx((0.052, 0.052))]
    assert window_s(near.core) == pytest.approx(0.52)
    link = ps.Link(rate="2 Mbit/s", delay="20 ms", buffer=20)
    three = scenario(topology=ps.ParkingLot(hops=3, link=link))
    assert round_trips(three) == [pytest.approx((0.120, 0.120))]
    far = scenario(traffic=[ps.Ftp(access_delay={"uniform": ["7 ms", "9 ms"]})])
    assert round_trips(far) == [pytest.approx((0.064, 0.068))], "no flow uses the shared delay"
    back = ps.Link(rate="2 Mbit/s", delay="20 ms", reverse_delay="5 ms", buffer=20)
    assert round_trips(scenario(topology=ps.Dumbbell(bottleneck=back))) == [pytest.approx((0.025, 0.025))]


GRAPH = """
duration = "1 s"
[topology]
kind = "graph"
link = [
  { from = "A", to = "B", rate = "1 Mbit/s", delay = "1 ms", buffer = 9, one_way = true },
  { from = "A", to = "C", rate = "1 Mbit/s", delay = "2 ms", buffer = 9, cost = 1 },
  { from = "C", to = "B", rate = "1 Mbit/s", delay = "3 ms", reverse_delay = "7 ms", buffer = 9, cost = 1 },
  { from = "B", to = "D", rate = "1 Mbit/s", delay = "5 ms", buffer = 9, one_way = true },
]
[[traffic]]
kind = "ftp"
from = "A"
to = "B"
[[traffic]]
kind = "cbr"
rate = "10 kbit/s"
from = "A"
to = "D"
"""


def test_round_trips_of_a_graph_lead_where_its_packets_go() -> None:
    """1 ms from A to B, 7 + 2 ms back by C; from D there is no way back."""
    assert round_trips(ps.Scenario.from_toml(GRAPH)) == [pytest.approx((0.010, 0.010)), None]


def run(given: ps.Scenario, seed: int = 1) -> tuple[Any, dict[tuple[str, str], dict[float, float]]]:
    (result,) = _penstock.run(given.core, [seed], 1, series_interval_s=window_s(given.core), events=True)
    found: dict[tuple[str, str], dict[float, float]] = {}
    for row in measured(result, given.core).to_pylist():
        found.setdefault((row["measure"], row["of"]), {})[row["at"]] = row["value"]
    return result, found


def only(rows: dict[float, float]) -> float:
    (value,) = rows.values()
    return value


@pytest.mark.parametrize("kind", ["droptail", "red", "codel", "fq-codel", "pie", "choke"])
def test_they_agree_with_the_run_s_own_metrics(kind: str) -> None:
    result, found = run(scenario().with_aqm(kind))
    metrics = result.metrics
    assert found["delay_s", ""][50.0] == pytest.approx(metrics["delay_p50_s"], rel=0.02, abs=1e-4)
    assert found["delay_s", ""][99.0] == pytest.approx(metrics["delay_p99_s"], rel=0.05)
    assert only(found["loss_ratio", ""]) == pytest.approx(metrics["loss_ratio"], rel=0.02)
    inside = [v for t, v in found["rate_over_time_bps", ""].items() if 6 - 1e-9 <= t < 20.4 - 1e-9]
    assert np.mean(inside) == pytest.approx(metrics["throughput_bps"], rel=0.02)
    series = [v for t, v in found["goodput_over_time_bps", "long"].items() if 6 - 1e-9 <= t < 20.4 - 1e-9]
    assert np.mean(series) == pytest.approx(result.groups[0]["goodput_bps"], rel=1e-9)
    # Loss events, gaps and delay variation are of the order that they must be of.
    assert 0 < only(found["loss_sync", ""]) <= 1
    assert found["pdv_s", "long"][0.0] == 0
    assert found["pdv_s", "long"][100.0] <= found["delay_s", ""][100.0]
    assert found["loss_gap_pkts", ""][0.0] >= 1


def test_a_flow_starts_up_one_round_trip_after_its_syn() -> None:
    """Alone on the link, its first data leave the queue a round trip and the SYNs' transmissions after its SYN."""
    alone = scenario(traffic=[ps.Ftp(name="long", start="7 s")])
    _, found = run(alone)
    syns = 2 * 40 * 8 / 10e6 + 40 * 8 / 2e6 + 40 * 8 / 10e6 + 40 * 8 / 2e6
    assert found["startup_s", "long"][50.0] == pytest.approx(0.060 + syns, abs=2e-3)


def test_times_count_from_the_scenario_s_zero() -> None:
    led = scenario(traffic=[ps.Ftp(flows=3, name="long", lead_in="60 s")], measure={"from": "0 s"})
    result, found = run(led)
    assert result.lead_in_s > 0
    assert min(found["rate_over_time_bps", ""]) == 0
    assert json.loads(ps.run(led).json())["runs"][0]["lead_in_s"] == result.lead_in_s
