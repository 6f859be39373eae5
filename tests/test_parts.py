"""The metrics of a run's parts: of both directions of a link, and of traffic groups."""

from __future__ import annotations

import json
from pathlib import Path

import click.testing
import pytest

import penstock as ps
from penstock.cli.app import program
from penstock.errors import Error
from penstock.judging.estimate import SHARE, Estimate, bounds_of
from penstock.judging.intervals import Interval
from penstock.judging.named import Named
from penstock.judging.paired import Paired
from penstock.sweeps import store
from penstock.sweeps.figure import draw
from penstock.sweeps.show import show
from penstock.tuning.goals import Goal

#: A line of 10 Mbit/s up and 50 down; a download, and an upload behind whose queue its ACKs wait.
LINE = """\
name = "line"
duration = "4 s"
measure = { from = "1 s" }

[topology]
kind = "dumbbell"
bottleneck = { rate = "50 Mbit/s", delay = "5 ms", buffer = "500 packets" }

[aqm]
kind = "fq-codel"

[[traffic]]
name = "download"
kind = "ftp"
tcp = "cubic"
start = { uniform = ["0 s", "0.1 s"] }
"""
UPLOAD = """
[[traffic]]
name = "upload"
kind = "ftp"
tcp = "cubic"
direction = "reverse"
"""
BACK = "bottleneck.reverse"


def mean(of: Interval | Paired) -> float:
    """The mean of a cell, which has one."""
    assert isinstance(of, Estimate)
    assert of.mean is not None
    return of.mean


@pytest.fixture(scope="module")
def line() -> ps.Scenario:
    return ps.Scenario.from_toml(LINE + UPLOAD).set("topology.bottleneck.reverse_rate", "10 Mbit/s")


def test_the_other_direction_has_a_links_metrics_and_series(line: ps.Scenario) -> None:
    result = ps.run(line, seeds=2, series="10 ms")
    there, back = result.links["bottleneck"], result.links[BACK]
    assert there["delay_p99_s"] == result.summary["delay_p99_s"]
    assert there.keys() == back.keys()
    # A bloated upload: 500 packets of 1040 B take 0.4 s.
    assert mean(back["delay_p99_s"]) > 0.2 > mean(there["delay_p99_s"])
    assert 0.8e7 < mean(back["throughput_bps"]) <= 1.001e7
    document = json.loads(result.json())
    assert document["runs"][0]["links"][BACK] == result.runs[0].links[BACK]
    both = result.series("queue", link="all")
    assert both.column_names[:3] == ["seed", "link", "t_s"]
    longest = both.group_by("link").aggregate([("queue_pkts", "max")]).to_pydict()
    assert dict(zip(longest["link"], longest["queue_pkts_max"], strict=True))[BACK] > 400
    alone = result.series("queue", link="bottleneck").drop_columns(["link"])
    assert alone.equals(result.series("queue"))
    assert result.series("events", link=BACK).num_rows > 1000


@pytest.mark.parametrize(
    ("changes", "measured"),
    [
        ({}, False),
        ({"record.links": True}, True),
        ({"topology.bottleneck.reverse_rate": "10 Mbit/s"}, True),
        ({"topology.bottleneck.reverse_buffer": "50 packets"}, False),
        ({"topology.bottleneck.reverse_delay": "7 ms"}, False),
        ({"aqm.reverse.kind": "codel"}, True),
        ({"traffic.0.direction": "reverse"}, True),
        ({"traffic.0": {"kind": "voip"}}, True),
        ({"traffic.0.direction": "reverse", "record.links": False}, False),
    ],
)
def test_it_is_measured_where_a_queue_may_form(changes: dict[str, object], measured: bool) -> None:
    scenario = ps.Scenario.from_toml(LINE).set_all(changes)
    assert scenario.core.measures_links == measured
    # A run's identity is its text: reading that back changes nothing.
    again = ps.Scenario.from_toml(scenario.to_toml())
    assert again.core.canonical_json() == scenario.core.canonical_json()
    assert list(ps.run(scenario).runs[0].links) == (["bottleneck", BACK] if measured else [])


def test_what_is_not_measured_says_what_measures_it() -> None:
    result = ps.run(ps.Scenario.from_toml(LINE))
    with pytest.raises(ValueError, match=r"bottleneck\.reverse is not measured; record = \{ links = true \}"):
        result.series("queue", link=BACK)
    with pytest.raises(Error, match=r"no link is called 'bottleneck\.revers'; nearest: bottleneck\.reverse"):
        result.series("queue", link="bottleneck.revers")
    with pytest.raises(ValueError, match="no link's"):
        result.series("cwnd", link=BACK)


def test_run_prints_both_directions(tmp_path: Path) -> None:
    file = tmp_path / "line.toml"
    file.write_text(LINE, encoding="utf-8")
    done = click.testing.CliRunner().invoke(program, ["run", str(file), "--links", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0
    assert "links of line" in done.output
    assert BACK in done.output
    assert (tmp_path / "out" / "links" / "queue.parquet").exists()


def test_a_metric_of_a_part_is_named_with_it() -> None:
    named = Named.parse(f"links.{BACK}.loss_ratio")
    assert (named.of, str(named)) == (BACK, f"links.{BACK}.loss_ratio")
    assert bounds_of(str(named)) == SHARE
    assert Goal.parse(f"links.{BACK}.delay_p99_s < 20 ms") == Goal(f"links.{BACK}.delay_p99_s", True, 0.02)
    for wrong, message in (
        ("link.bottleneck.loss_ratio", r"links\.NAME\.METRIC or groups\.NAME\.METRIC"),
        ("links.loss_ratio", r"links\.NAME\.METRIC"),
        (f"links.{BACK}.los_ratio", "no metric of a link is called 'los_ratio'; nearest: loss_ratio"),
        ("los_ratio", "no metric is called 'los_ratio'; nearest: loss_ratio"),
    ):
        with pytest.raises(Error, match=message):
            Named.parse(wrong)
    with pytest.raises(Error, match="no link is called 'bottelneck'; nearest: bottleneck"):
        ps.Scenario.from_toml(LINE).recording(["links.bottelneck.loss_ratio"])
    with pytest.raises(Error, match="no group is called 'downloads'; nearest: download"):
        ps.Scenario.from_toml(LINE).recording(["groups.downloads.goodput_bps"])


def test_a_sweep_keeps_them_and_show_shows_them(line: ps.Scenario, tmp_path: Path) -> None:
    over = {"aqm.reverse.kind": ["droptail", "fq-codel"]}
    metric = f"links.{BACK}.delay_p99_s"
    ps.sweep(line, over=over, until=f"{metric} ±50%", seeds=3, out=tmp_path)
    shown = show(tmp_path, metric)
    by_kind = {at[0]: mean(cells[0]) for at, cells in shown.rows.items()}
    assert by_kind["droptail"] > 10 * by_kind["fq-codel"]
    group = show(tmp_path, "groups.upload.goodput_bps")
    assert all(mean(cells[0]) > 5e6 for cells in group.rows.values())
    assert "of bottleneck.reverse" in draw(shown).axes[0].get_ylabel()
    assert store.read(tmp_path, [metric, "seed"]).column_names == [metric, "seed"]
    with pytest.raises(Error, match=r"no link is called 'bottleneck\.revers'; nearest: bottleneck\.reverse"):
        show(tmp_path, "links.bottleneck.revers.delay_p99_s")


def test_a_sweep_records_what_its_rule_names(tmp_path: Path) -> None:
    scenario = ps.Scenario.from_toml(LINE)
    ps.sweep(scenario, seeds=2, out=tmp_path / "without")
    with pytest.raises(Error, match=r"has links; record = \{ links = true \} keeps them"):
        show(tmp_path / "without", f"links.{BACK}.throughput_bps")
    ps.sweep(scenario, seeds=3, until=f"links.{BACK}.throughput_bps ±99%", out=tmp_path / "with")
    assert mean(show(tmp_path / "with", f"links.{BACK}.throughput_bps").rows[()][0]) > 1e5


#: fq-codel at 2 Mbit/s, a transfer and a call: each has its own delay.
CALL = """\
name = "call"
duration = "8 s"
measure = { from = "2 s" }
record = { groups = true }

[topology]
kind = "dumbbell"
bottleneck = { rate = "2 Mbit/s", delay = "20 ms", buffer = "1000 packets" }
access = { rate = "100 Mbit/s", delay = "1 ms" }

[aqm]
kind = "fq-codel"

[[traffic]]
name = "transfer"
kind = "ftp"
tcp = "cubic"
start = { uniform = ["0 s", "0.1 s"] }

[[traffic]]
name = "calls"
kind = "voip"
flows = 2
start = { uniform = ["0 s", "0.1 s"] }
"""
AT_QUEUE = ("delay_mean_s", "delay_p50_s", "delay_p99_s", "delay_variation_s", "loss_ratio")
ONE_WAY = tuple(f"one_way_{name}" for name in AT_QUEUE)


@pytest.fixture(scope="module")
def call() -> ps.Result:
    return ps.run(ps.Scenario.from_toml(CALL), seeds=2)


def test_a_call_has_its_own_delay_and_quality(call: ps.Result) -> None:
    assert list(call.groups) == ["transfer", "calls", "calls back"]
    calls, transfer = call.groups["calls"], call.groups["transfer"]
    assert mean(calls["delay_p99_s"]) < 0.5 * mean(transfer["delay_p99_s"])
    assert mean(calls["loss_ratio"]) == 0.0
    # 20 ms, 1 ms on either side, and at the least the transmission of its own 200 B: 0.8 ms.
    assert mean(calls["one_way_delay_p50_s"]) == pytest.approx(0.0228 + mean(calls["delay_p50_s"]), rel=0.02)
    assert 85 < mean(calls["r_factor"]) < 93.2
    assert transfer["r_factor"].mean is None
    document = json.loads(call.json())
    assert document["runs"][0]["groups"]["1"]["name"] == "calls"
    assert document["runs"][0]["groups"]["1"]["r_factor"] == call.runs[0].groups[1]["r_factor"]
    # Both ends send the same, and nobody else sends back but ACKs.
    assert mean(call.groups["calls back"]["one_way_delay_p50_s"]) == pytest.approx(0.0228, rel=0.1)


def test_to_ask_for_them_changes_no_other_number(call: ps.Result) -> None:
    plain = ps.run(ps.Scenario.from_toml(CALL).set("record.groups", False), seeds=2)
    assert plain.summary == call.summary
    for ours, theirs in zip(plain.runs, call.runs, strict=True):
        assert ours.events == theirs.events
        assert not {*AT_QUEUE, *ONE_WAY} & ours.groups[1].keys()
        assert {*AT_QUEUE, *ONE_WAY, "r_factor"} <= theirs.groups[1].keys() & theirs.flows[1].keys()
        assert ours.groups == [
            {name: of[name] for name in mine} for mine, of in zip(ours.groups, theirs.groups, strict=True)
        ]


def test_groups_are_what_their_flows_are(call: ps.Result) -> None:
    run = call.runs[0]
    flows = [flow for flow in run.flows if flow["group"] == 1]
    means = [flow["one_way_delay_mean_s"] for flow in flows]
    assert min(means) <= run.groups[1]["one_way_delay_mean_s"] <= max(means)
    alone = next(flow for flow in run.flows if flow["group"] == 0)
    assert all(alone[name] == run.groups[0][name] for name in (*AT_QUEUE, *ONE_WAY))


def test_datagrams_of_all_kinds_are_counted_one_way() -> None:
    """Alone behind its own access link, and two behind one bottleneck, half of whose packets are lost."""
    lossy = """\
        duration = "10 s"
        measure = {{ from = "2 s", to = "7 s" }}
        record = {{ groups = true }}
        [topology]
        bottleneck = {{ rate = "1 Mbit/s", delay = "10 ms", buffer = "10 packets" }}
        access = {{ rate = "10 Mbit/s", delay = "1 ms" }}
        [[traffic]]
        kind = "cbr"
        rate = "2 Mbit/s"
        packet = "1000 B"
        flows = {flows}
        start = {{ uniform = ["0 s", "0.1 s"] }}
        """
    for flows, lost in ((1, 0.5), (2, 0.75)):
        run = ps.run(ps.Scenario.from_toml(lossy.format(flows=flows))).runs[0]
        group = run.groups[0]
        assert group["one_way_loss_ratio"] == pytest.approx(lost, abs=0.01)
        assert group["loss_ratio"] == pytest.approx(run.metrics["loss_ratio"])
        assert group["delay_p99_s"] == run.metrics["delay_p99_s"]
        assert group["delay_mean_s"] == pytest.approx(run.metrics["delay_mean_s"])
        # 10 packets of 8 ms wait, and each is sent in 8 ms; 0.8 ms at either access link.
        assert group["one_way_delay_p99_s"] == pytest.approx(0.0936 + 0.008, rel=0.1)


def test_a_backward_group_waits_in_the_other_direction(line: ps.Scenario) -> None:
    result = ps.run(line.set("record.groups", True))
    up = result.groups["upload"]
    back = result.links[BACK]
    assert mean(up["delay_p99_s"]) == pytest.approx(mean(back["delay_p99_s"]), rel=0.1)
    assert mean(up["loss_ratio"]) == pytest.approx(mean(back["data_loss_ratio"]), abs=1e-9)
    assert mean(result.groups["download"]["delay_p99_s"]) < 0.3 * mean(up["delay_p99_s"])


def test_groups_may_be_named_wherever_metrics_are(tmp_path: Path) -> None:
    metric = "groups.calls.delay_p99_s"
    scenario = ps.Scenario.from_toml(CALL).set("record.groups", False)
    compared = ps.compare(scenario.set("record.groups", True), ["droptail", "fq-codel"], seeds=2)
    assert mean(compared.difference("fq-codel")[metric]) < -0.01
    assert metric in json.loads(compared.json())["difference"]["fq-codel"]
    assert Goal.parse(f"{metric} < 20 ms").bound == 0.02
    ps.sweep(scenario, seeds=2, out=tmp_path / "without")
    with pytest.raises(Error, match=r"has it; record = \{ groups = true \} keeps it"):
        show(tmp_path / "without", metric)
    ps.sweep(scenario, seeds=3, until=f"{metric} ±99%", flows=True, out=tmp_path / "with")
    assert 0 < mean(show(tmp_path / "with", metric).rows[()][0]) < 0.05
    assert store.read(tmp_path / "with", ["one_way_delay_p99_s"], "flows")["one_way_delay_p99_s"].null_count == 0
    with pytest.raises(Error, match="no metric of a group is called 'delay_p98_s'"):
        Goal.parse("groups.calls.delay_p98_s < 20 ms")


def test_run_and_compare_print_groups(tmp_path: Path) -> None:
    file = tmp_path / "call.toml"
    file.write_text(CALL.replace("record = { groups = true }\n", ""), encoding="utf-8")
    runner = click.testing.CliRunner()
    plain, asked = (runner.invoke(program, ["run", str(file), *more]) for more in ([], ["--groups"]))
    assert "groups of call" not in plain.output
    assert "groups of call" in asked.output
    assert "r_factor" in asked.output
    compared = ["compare", str(file), "--aqm", "droptail", "--aqm", "codel", "--set", "record.groups=true"]
    assert "groups.calls.delay_p99_s" in runner.invoke(program, compared).output


def test_groups_that_share_a_name_go_by_number() -> None:
    twice = ps.Scenario.from_toml(CALL.replace('name = "calls"', 'name = "transfer"'))
    assert list(ps.run(twice).groups) == ["0", "1", "transfer back"]
    assert twice.recording(["groups.1.delay_p99_s"]).core.canonical_json() == twice.core.canonical_json()
    with pytest.raises(Error, match="no group is called 'transfer'"):
        twice.recording(["groups.transfer.delay_p99_s"])
