"""`penstock config`: what each platform is told, what it will really use, and what it is
refused.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from conftest import ROOT, SCENARIOS, Command
from penstock.cli import main
from penstock.operators import config as work
from penstock.operators import junos, openconfig, platforms, simulate, sonic, tc_dual, vyos, wanted
from penstock.operators import tc_arithmetic as arithmetic
from penstock.operators.model import (
    Codel,
    Colour,
    Coloured,
    Dual,
    Pie,
    Place,
    Ramp,
    RefusedError,
    Sfb,
    Sfq,
    Step,
    Tail,
    Value,
    Wanted,
    Written,
    per_cent,
)
from penstock.operators.platforms import PLATFORMS
from penstock.operators.state import Given

CASES = {
    "home-uplink": ("sqm", "tc", "vyos"),
    "wan-edge": ("cisco-ios", "junos", "dpdk", "vyos", "tc", "sonic", "eos", "openconfig"),
    "dctcp-25g": ("sonic", "eos", "openconfig", "tc"),
}

#: A busy machine is slow, which says nothing about the properties.
#: The same examples in each run, so that what passes once goes on passing.
PATIENT = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

LINK = """\
name = "a link"
duration = "3 s"
measure = { from = "1 s" }

[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "10 ms", buffer = "200 packets" }
access = { rate = "100 Mbit/s", delay = "1 ms" }

[aqm]
kind = "red"
mean_packet = "1500 B"
min_th = 20
max_th = 60
max_p = 0.1
w_q = 0.002
gentle = false

[[traffic]]
kind = "ftp"
flows = 5
segment = "1460 B"
start = { uniform = ["0 s", "0.1 s"] }
"""


@pytest.fixture
def link(tmp_path: Path) -> Path:
    path = tmp_path / "link.toml"
    path.write_text(LINK, encoding="utf-8")
    return path


def scenario(**aqm: object) -> ps.Scenario:
    """The link with other keys of its discipline; `kind` begins it anew."""
    base = ps.Scenario.from_toml(LINK)
    if "kind" in aqm:
        return base.set("aqm", {"mean_packet": "1500 B", **aqm})
    return base.set_all({f"aqm.{key}": value for key, value in aqm.items()})


def write(to: str, place: Place | None = None, **aqm: Any) -> Written:
    return work.write(scenario(**aqm), to, place or Place())


def value(written: Written, name: str) -> Value:
    return next(each for each in written.values if each.name == name)


def is_one_line(error: Exception) -> None:
    assert len(str(error).splitlines()) == 1


# ------------------------------------------------------------------------- the worked cases


@pytest.mark.parametrize(("name", "to"), [(name, to) for name, tos in CASES.items() for to in tos])
def test_a_worked_case_is_written_or_refused_with_the_reason(name: str, to: str) -> None:
    given = ps.Scenario.load(SCENARIOS / "operators" / f"{name}.toml")
    if (name, to) == ("home-uplink", "vyos"):
        with pytest.raises(RefusedError, match="do not mark"):
            ps.config(given, to, seeds=0)
        return
    done = ps.config(given, to, seeds=0)
    assert done.text.endswith("\n")
    assert done.box.resolved["traffic"] == given.resolved["traffic"]


def test_the_home_line_loses_nothing_on_openwrt() -> None:
    done = ps.config(ps.Scenario.load(SCENARIOS / "operators" / "home-uplink.toml"), "sqm", seeds=0)
    assert "\toption upload '47500'\n\toption download '95000'\n" in done.text
    assert done.written.lost == ()
    assert max(each.error for each in done.written.values if each.name != "maxpacket") < 0.001


@pytest.mark.parametrize("to", ["tc", "sqm"])
@pytest.mark.parametrize("key", ["shaped", "reverse_shaped"])
def test_a_line_that_is_shaped_one_way_is_told(to: str, key: str) -> None:
    both = (SCENARIOS / "operators" / "dsl.toml").read_text()
    one = "".join(line for line in both.splitlines(True) if not line.startswith(f"{key} "))
    notes = [ps.config(ps.Scenario.from_toml(text), to, seeds=0).written.notes for text in (both, one)]
    told = [[each for each in said if f"{key} is not given" in each] for said in notes]
    rate = "1 Mbit/s" if key == "shaped" else "16 Mbit/s"
    assert [len(each) for each in told] == [0, 1]
    assert f"all of the line's {rate}" in told[1][0]


def test_the_wan_edge_is_what_the_page_says() -> None:
    done = ps.config(ps.Scenario.load(SCENARIOS / "operators" / "wan-edge.toml"), "cisco-ios", seeds=0)
    assert "  random-detect exponential-weighting-constant 9\n" in done.text
    assert "  random-detect precedence 0 100 300 20\n" in done.text
    assert (value(done.written, "w_q").used, value(done.written, "share at max_th").error) == (2.0**-9, 0)


def test_dctcp_loses_nothing_on_a_switch_and_the_step_on_linux() -> None:
    given = ps.Scenario.load(SCENARIOS / "operators" / "dctcp-25g.toml")
    for to in ("sonic", "eos", "openconfig"):
        done = ps.config(given, to, exact=0.0, seeds=0)
        assert done.box.resolved["aqm"] == {**given.resolved["aqm"], "unit": "bytes"}
    with pytest.raises(RefusedError, match="averaged with w_q = 2\\^-1"):
        ps.config(given, "tc", exact=0.01, seeds=0)


# ------------------------------------------------------------------------- what is wanted


def test_automatic_values_are_those_of_the_simulator() -> None:
    """Floyd, Gummadi, Shenker 2001: min_th max(5, 5 ms·C/2), max_th three times that, w_q 1 −
    exp(−1/C).
    """
    auto = wanted.wanted(scenario(kind="red")).aqm
    assert isinstance(auto, Ramp)
    pkts_per_s = 10e6 / 12000
    assert (auto.min_bytes, auto.max_bytes) == (5 * 1500, 15 * 1500)
    assert auto.w_q == pytest.approx(1 - math.exp(-1 / pkts_per_s))
    assert auto.gentle
    fast = wanted.wanted(scenario(kind="red", target_delay="40 ms", w_q="rtt")).aqm
    assert isinstance(fast, Ramp)
    assert fast.min_bytes == pytest.approx(1500 * 0.04 * pkts_per_s / 2)
    assert fast.w_q == pytest.approx(1 - math.exp(-1 / (10 * 0.1 * pkts_per_s)))


def test_a_resolved_scenario_written_out_runs_as_the_automatic_one() -> None:
    """What `wanted` takes for automatic values is what the simulator takes."""
    auto = scenario(kind="red", gentle=False)
    ramp = wanted.wanted(auto).aqm
    assert isinstance(ramp, Ramp)
    told = {"min_th": ramp.min_bytes / 1500, "max_th": ramp.max_bytes / 1500, "w_q": ramp.w_q}
    same = scenario(kind="red", gentle=False, **told)
    assert ps.run(auto).runs[0].metrics == pytest.approx(ps.run(same).runs[0].metrics)


@pytest.mark.parametrize(
    ("unit", "threshold", "counted"),
    [("packets", "30 kB", False), ("bytes", "20 packets", True), (None, "30 kB", True), (None, "20 packets", False)],
)
def test_bytes_are_counted_where_the_simulator_counts_them(unit: str | None, threshold: str, counted: bool) -> None:
    keys: dict[str, object] = {"kind": "red", "min_th": threshold, "max_th": "90 kB" if "kB" in threshold else 60}
    if unit:
        keys["unit"] = unit
    ramp = wanted.wanted(scenario(**keys)).aqm
    assert isinstance(ramp, Ramp)
    assert (ramp.min_bytes, ramp.bytes_counted) == (30_000, counted)


def test_every_topology_has_its_bottleneck() -> None:
    line = wanted.wanted(ps.Scenario.load(SCENARIOS / "home-line.toml").set("topology.link.1.aqm", {"kind": "pie"}))
    assert (line.rate_bps, line.reverse_rate_bps, line.buffer_pkts, line.aqm.kind) == (2e6, 20e6, 60, "pie")
    lot = ps.Scenario.load(SCENARIOS / "parking-lot.toml").with_aqm("codel")
    done = ps.config(lot, "tc", seeds=0)
    assert done.box.resolved["aqm"]["kind"] == "codel"
    assert done.box.resolved["topology"]["link"]["buffer"] == "300 packets"
    back = ps.Scenario.load(SCENARIOS / "home-line.toml").set("topology.bottleneck", "isp-box")
    with pytest.raises(RefusedError, match="forward"):
        wanted.wanted(back)


def test_the_box_keeps_the_discipline_of_the_other_direction() -> None:
    both = scenario(kind="codel", reverse={"kind": "red", "min_th": 7})
    box = ps.config(both, "tc", seeds=0).box.resolved["aqm"]
    assert (box["kind"], box["reverse"]["kind"], box["reverse"]["min_th"]) == ("codel", "red", "7 packets")


class Own(ps.Aqm):
    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        return ps.PASS


def test_a_discipline_that_no_router_has_is_refused() -> None:
    with pytest.raises(RefusedError, match="runs on no router"):
        ps.config(ps.Scenario.from_toml(LINK).with_aqm(Own()), "tc", seeds=0)
    for kind in ("mecn", "amecn", "rared", "blue", "pi", "rem"):
        with pytest.raises(RefusedError, match=f"{kind}.*no platform here runs it"):
            ps.config(scenario(kind=kind), "tc", seeds=0)


# ------------------------------------------------------------------------- tables and reasons


SAMPLES: dict[str, dict[str, object]] = {
    "red": {"kind": "red"},
    "ared": {"kind": "ared"},
    "choke": {"kind": "choke"},
    "nlred": {"kind": "nlred"},
    "wred": {"kind": "wred", "colour": {"green": {"min_th": 20, "max_th": 60}}},
    "step": {"kind": "step", "ecn": True},
    "codel": {"kind": "codel"},
    "fq-codel": {"kind": "fq-codel", "ecn": False},
    "cake": {"kind": "cake"},
    "pie": {"kind": "pie"},
    "fq-pie": {"kind": "fq-pie"},
    "dualpi2": {"kind": "dualpi2"},
    "sfq": {"kind": "sfq", "min_th": 10},
    "sfb": {"kind": "sfb", "ecn": True},
    "droptail": {"kind": "droptail"},
}


@pytest.mark.parametrize("to", PLATFORMS)
def test_the_table_of_platforms_says_what_each_takes(to: str) -> None:
    for kind, keys in SAMPLES.items():
        if kind in PLATFORMS[to].kinds:
            assert ps.config(scenario(**keys), to, seeds=0).text
        else:
            with pytest.raises(RefusedError, match=kind):
                ps.config(scenario(**keys), to, seeds=0)


def test_the_page_has_the_disciplines_of_each_platform() -> None:
    page = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| `(\w[\w-]*)` \| [^|]* \| ([\w, -]*) \|", page, re.M))
    assert shown == {to: ", ".join(each.kinds) for to, each in PLATFORMS.items()}


@pytest.mark.parametrize("to", PLATFORMS)
def test_what_a_box_does_runs(to: str) -> None:
    for kind in PLATFORMS[to].kinds:
        box = ps.config(scenario(**SAMPLES[kind]), to, seeds=0).box
        assert (ps.run(box).runs[0].metrics["departures"] or 0) > 20


@pytest.mark.parametrize("to", ["dpdk", "vyos"])
def test_no_ecn_is_a_reason(to: str) -> None:
    with pytest.raises(RefusedError, match=r"mark.*--set aqm.ecn=false"):
        write(to, ecn=True)


@pytest.mark.parametrize(("to", "kind"), [("cisco-ios", "step"), ("junos", "step"), ("dpdk", "step")])
def test_a_step_is_refused_where_everything_above_is_dropped(to: str, kind: str) -> None:
    with pytest.raises(RefusedError):
        write(to, kind=kind, ecn=True)


def test_a_step_that_marks_nothing_is_refused() -> None:
    for to in ("tc", "sonic", "eos", "openconfig"):
        with pytest.raises(RefusedError, match="DropTail"):
            write(to, kind="step", ecn=False)


@pytest.mark.parametrize(
    ("to", "keys", "lost"),
    [
        ("tc", {"gentle": True}, "gentle"),
        ("tc", {"kind": "ared"}, "adaptation"),
        ("tc", {"mark_p": 0.1, "ecn": True}, "mark_p"),
        ("tc", {"byte_mode": True}, "byte_mode"),
        ("tc", {"gate": "geometric"}, "gate"),
        ("tc", {"kind": "choke", "ecn": True}, "forced"),
        ("sonic", {}, "averaging"),
        ("sonic", {"ecn": True, "forced": "drop"}, "forced"),
        ("cisco-ios", {"ecn": True, "forced": "mark"}, "forced"),
        ("cisco-ios", {"gentle": True}, "gentle"),
        ("junos", {}, "averaging"),
        ("vyos", {}, "averaging"),
        ("sonic", {"kind": "step", "ecn": True}, "not_capable"),
    ],
)
def test_what_is_lost_is_named_and_exact_refuses_it(to: str, keys: dict[str, Any], lost: str) -> None:
    written = write(to, **keys)
    assert [each for each in written.lost if each.startswith(lost)], written.lost
    with pytest.raises(RefusedError, match=f"--exact.*lost is {lost}"):
        ps.config(scenario(**keys), to, exact=10.0, seeds=0)


@pytest.mark.parametrize("key", ["schedule", "reverse_schedule"])
def test_a_rate_that_varies_is_lost_by_name(key: str) -> None:
    varies = scenario().set(f"topology.bottleneck.{key}", [{"at": "1 s", "rate": "1 Mbit/s"}])
    assert ps.config(varies, "tc", seeds=0).written.lost == (f"{key}: the box is told one rate, 10 Mbit/s",)


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"kmax": 40}, r"aqm\.kmax = '40 packets': .*w_q = 1"),
        ({"sojourn": "1 ms"}, r"aqm\.sojourn = '1 ms'"),
        ({"few": 2}, r"aqm\.few = 2"),
        ({"of": "phantom"}, r"aqm\.of = 'phantom'"),
    ],
)
def test_what_no_step_has_is_refused_by_name(keys: dict[str, Any], named: str) -> None:
    with pytest.raises(RefusedError, match=named):
        write("sonic", kind="step", ecn=True, **keys)


def test_marks_for_some_congestion_are_refused_by_name() -> None:
    with pytest.raises(RefusedError, match=r"aqm\.sce_ramp = '2.5 ms': no platform"):
        write("tc", kind="codel", ecn=True, sce_ramp="2.5 ms")


def test_what_is_kept_is_not_called_lost() -> None:
    assert write("tc", w_q=2.0**-9).lost == ()
    assert write("cisco-ios", w_q=2.0**-9, gate="geometric").lost == ()
    assert write("junos", w_q=1.0, gate="geometric", gentle=True, ecn=True, forced="mark").lost == ()
    assert write("sonic", w_q=1.0, gate="geometric", ecn=True, forced="mark").lost == ()
    assert write("eos", w_q=2.0**-4, gate="geometric", ecn=True, forced="mark").lost == ()


def test_exact_names_the_value_that_is_off() -> None:
    with pytest.raises(RefusedError, match=r"w_q is 0.001953 for 0.002 \(2.3 %\)"):
        ps.config(scenario(), "tc", exact=0.02, seeds=0)
    assert ps.config(scenario(), "tc", exact=0.03, seeds=0).text


# ------------------------------------------------------------------------- each platform


def test_tc_is_told_a_burst_from_which_it_makes_the_weight() -> None:
    text = write("tc").text
    found = re.search(r"min (\d+) max (\d+) avpkt (\d+) burst (\d+)", text)
    assert found is not None
    low, high, avpkt, burst = map(int, found.groups())
    assert (low, high) == (30_000, 90_000)
    assert arithmetic.weight_log(low, burst, avpkt) == 9
    assert "limit 300000 " in text
    gone, line = text.splitlines()
    assert gone == "tc qdisc del dev eth0 root 2>/dev/null || true"
    assert line.startswith("tc qdisc add dev eth0 root handle 1: red ")


@settings(PATIENT)
@given(
    low=st.integers(1, 10**7),
    n=st.integers(1, 12),
    mean=st.integers(64, 9000),
    rate=st.floats(1e6, 4e11),
)
def test_the_arithmetic_finds_every_weight(low: int, n: int, mean: int, rate: float) -> None:
    """Whatever threshold and packet: the weight is the wanted one, or so low a threshold leaves no
    choice.
    """
    told = arithmetic.burst_for(low, n, mean, rate)
    assert arithmetic.weight_log(low, told.burst, told.avpkt) == told.n
    assert told.bits_per_s / 8 <= arithmetic.MOST_BYTES_PER_S
    # Idle time counts mean packets all the same, in the nearest whole microseconds.
    us = arithmetic.packet_us(told.avpkt, told.bits_per_s / 8)
    assert us == pytest.approx(max(1, round(8e6 * mean / rate)), rel=0.1)
    if low >= 6:
        assert told.n == n


def test_the_kernel_keeps_32_bits_of_a_threshold() -> None:
    """include/net/red.h: the bits of a threshold and the exponent together stay below 32."""
    assert arithmetic.largest_exponent(2**20 - 1) == 11
    written = write("tc", min_th="500 kB", max_th="1048575 B", w_q=2.0**-14)
    assert value(written, "w_q").used == 2.0**-11
    assert "takes none below 2^-11" in value(written, "w_q").why


def test_a_shaper_stands_above_on_request() -> None:
    _, head, line = write("tc", Place(dev="wan", shape=True)).text.splitlines()
    assert head == "tc qdisc add dev wan root handle 1: tbf rate 10000000bit burst 5000 limit 300000"
    assert line.startswith("tc qdisc add dev wan parent 1:1 handle 10: red ")
    assert "idle" in write("tc", Place(shape=True)).lost[-1]
    assert "tbf" not in write("tc", Place(variant="cake", shape=True), kind="fq-codel").text


def test_forms_are_chosen_by_name() -> None:
    assert " gred setup vqs 1 default 0 " in write("tc", Place(variant="gred")).text
    assert " cake bandwidth 10000000bit rtt 100000us " in write("tc", Place(variant="cake"), kind="fq-codel").text
    assert "piece_of_cake.qos" in write("sqm", Place(variant="cake"), kind="fq-codel").text
    for to, variant in (("tc", "cake"), ("sonic", "gred")):
        with pytest.raises(RefusedError, match="--as"):
            write(to, Place(variant=variant))
    with pytest.raises(RefusedError, match="--as pie"):
        write("sqm", Place(variant="pie"), kind="fq-codel")


def test_signals_are_as_frequent_on_a_box_that_spaces_them_in_another_way() -> None:
    """Even gaps on 1…1/p − 1 signal 2p of the packets, Linux's on 1…1/p 2p/(1 + p), a coin p, ns-2's wait 2p/3."""
    for gate, share in (("uniform", 20), ("drawn", 18), ("geometric", 10), ("wait", 7)):
        assert value(write("sonic", gate=gate), "share at max_th").used == pytest.approx(share)
        assert json.loads(write("sonic", gate=gate).text)["WRED_PROFILE"]["a-link"]["green_drop_probability"] == str(
            share
        )
    assert value(write("tc", gate="geometric"), "max_p").used == pytest.approx(0.05)
    assert value(write("tc", gate="wait"), "max_p").used == pytest.approx(0.1 / 3)
    for gate in ("uniform", "drawn"):  # the kernel's are even, too
        written = write("tc", gate=gate)
        assert value(written, "max_p").used == pytest.approx(0.1)
        assert written.aqm["gate"] == "drawn"


def test_a_box_signals_the_share_that_was_promised() -> None:
    """The rounded scenario, probed halfway up its ramp, drops half of the share at max_th."""
    for to in ("tc", "sonic", "cisco-ios", "dpdk", "eos"):
        box = ps.config(scenario(w_q=1.0), to, seeds=0).box
        held = ps.probe(box, queues=[40], after=["30 s"], window="10 s", capable=False)
        assert held.shares("drop")[0][0] == pytest.approx(0.1, rel=0.06), to


def test_sonic_has_what_its_schema_wants() -> None:
    document = json.loads(write("sonic", ecn=True).text)
    assert sonic.mistakes(document) == []
    profile = document["WRED_PROFILE"]["a-link"]
    assert profile["ecn"] == "ecn_all"
    assert [profile[f"wred_{colour}_enable"] for colour in sonic.COLOURS] == ["true"] * 3
    assert document["QUEUE"] == {"Ethernet0|0": {"wred_profile": "a-link"}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"green_min_threshold": 30000}, "must be a string"),
        ({"green_min_threshold": "-1"}, "a whole number"),
        ({"green_min_threshold": "30 kB"}, "a whole number"),
        ({"green_min_threshold": str(2**64)}, "a whole number"),
        ({"green_max_threshold": "29999"}, "below green_min_threshold"),
        ({"green_drop_probability": "101"}, "from 0 to 100"),
        ({"ecn": "ecn_blue"}, "one of ecn_none"),
        ({"wred_red_enable": "yes"}, "true or false"),
        ({"wred_blue_enable": "true"}, "no such field"),
        ({"green_mark_probability": "1"}, "no such field"),
        ({"ecn_green_drop_probability": "1"}, "no such field"),
        ({"ecn_green_min_threshold": "1"}, "needs green among the colours of ecn"),
        ({"ecn": "ecn_yellow_red", "ecn_green_min_threshold": "1"}, "needs green"),
        ({"ecn": "ecn_all", "ecn_red_min_threshold": "2", "ecn_red_max_threshold": "1"}, "below ecn_red_min"),
        ({"ecn": "ecn_all", "ecn_red_mark_probability": "101"}, "from 0 to 100"),
    ],
)
def test_each_rule_of_sonics_schema_is_kept(change: dict[str, Any], said: str) -> None:
    document = json.loads(write("sonic").text)
    document["WRED_PROFILE"]["a-link"] |= change
    assert said in sonic.mistakes(document)[0]


@pytest.mark.parametrize("name", ["", "-first", "x" * 33, "a link", "ünicode"])
def test_sonics_names_are_short_words(name: str) -> None:
    profile = json.loads(write("sonic").text)["WRED_PROFILE"]["a-link"]
    assert "a name is" in sonic.mistakes({"WRED_PROFILE": {name: profile}})[0]


def test_cisco_takes_whole_packets_powers_and_denominators() -> None:
    written = write("cisco-ios", ecn=True, max_p=0.06)
    assert "  random-detect precedence 7 20 60 8\n" in written.text  # 0.12 of the packets: 1/8.3
    assert "  random-detect ecn\n" in written.text
    assert value(written, "share at max_th").error == pytest.approx(0.125 / 0.12 - 1)
    far = write("cisco-ios", min_th=5000, max_th=9000, w_q=1e-9)
    assert "precedence 0 4095 4096 " in far.text
    assert "constant 16\n" in far.text
    assert value(far, "max_th").why == "random-detect maximum takes 2 to 4096 packets"


def test_junos_draws_the_ramp_in_per_cent_of_the_buffer() -> None:
    fast = scenario(w_q=1.0, gate="geometric").set("topology.bottleneck.rate", "20 Mbit/s")
    text = work.write(fast, "junos", Place()).text
    assert "fill-level [ 0 10 30 31 100 ]\n" in text
    assert "drop-probability [ 0 0 10 100 100 ]\n" in text
    assert "buffer-size temporal 120000\n" in text
    gentle = work.write(fast.set("aqm.gentle", True), "junos", Place()).text
    assert "fill-level [ 0 10 30 60 100 ]\n" in gentle
    with pytest.raises(RefusedError, match="above the buffer"):
        write("junos", max_th=250)


def test_junos_draws_a_parabola() -> None:
    ramp = wanted.wanted(scenario(kind="nlred", min_th=20, max_th=60, max_p=0.2, gate="geometric")).aqm
    assert isinstance(ramp, Ramp)
    points = junos.profile(ramp, 10, 30, gentle=False)
    assert len(points) <= junos.MOST_POINTS
    assert (20, round(0.25 * 30)) in points  # 1.5·max_p·x² at half the way
    assert (30, 30) in points


def test_eos_has_units_and_a_weight() -> None:
    assert (
        "random-detect ecn minimum-threshold 30000 bytes maximum-threshold 90000 bytes max-mark-probability 20 weight 9"
        in write("eos", ecn=True).text
    )
    assert "random-detect drop minimum-threshold 30000 bytes " in write("eos").text
    far = write("eos", min_th="100 MB", max_th="300 MB")
    assert value(far, "max_th").why == "maximum-threshold takes 1 to 256000000 B"


def test_openconfig_writes_large_numbers_as_strings() -> None:
    document = json.loads(write("openconfig", ecn=True).text)
    assert openconfig.mistakes(document) == []
    rule = document["openconfig-qos:qos"]["queue-management-profiles"]["queue-management-profile"][0]["wred"]["uniform"]
    assert rule["config"]["min-threshold"] == "30000"
    assert rule["config"]["enable-ecn"] is True


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"min-threshold": 30000}, "must be a str"),
        ({"min-threshold": "90001"}, "above max-threshold"),
        ({"max-drop-probability-percent": 101}, "from 0 to 100"),
        ({"weight": 2**32}, "from 0 to"),
        ({"min-threshold": "many"}, "from 0 to"),
        ({"enable-ecn": "true"}, "must be a bool"),
        ({"wq": 1}, "no such leaf"),
    ],
)
def test_each_rule_of_openconfigs_model_is_kept(change: dict[str, Any], said: str) -> None:
    document = json.loads(write("openconfig").text)
    profiles = document["openconfig-qos:qos"]["queue-management-profiles"]["queue-management-profile"]
    profiles[0]["wred"]["uniform"]["config"] |= change
    assert said in openconfig.mistakes(document)[0]


def test_vyos_makes_a_fast_average_of_any() -> None:
    """Its burst of (2·min + max)/3 packets gives 2^-4 here, whatever the scenario wants."""
    written = write("vyos")
    assert value(written, "w_q").used == 2.0 ** -(arithmetic.weight_log(30_000, 33, 1500) or 0)
    assert value(written, "w_q").used > 30 * 0.002
    assert "precedence 0 mark-probability 10\n" in written.text


def test_codel_is_rounded_as_the_kernel_does() -> None:
    written = write("tc", kind="codel")
    assert value(written, "target").used == pytest.approx(4.999168)
    assert written.readback["options"]["target"] == 4999


def test_pie_has_the_kernels_timer() -> None:
    written = write("tc", kind="pie", alpha=3.0)
    assert (value(written, "t_update").used, written.readback["options"]["tupdate"]) == (16.0, 12000)
    assert (value(written, "alpha").used, value(written, "beta").used) == (2.0, 1.25)


def test_dualpi2_is_written_as_the_kernel_has_it() -> None:
    written = write("tc", kind="dualpi2", variant="linux")
    assert written.text.splitlines()[-1].endswith(
        " dualpi2 limit 200 memlimit 605600 target 15000us tupdate 16000us alpha 0.16015625 beta 3.19921875 "
        "coupling_factor 2 step_thresh 1000us min_qlen_step 0 drop_on_overload drop_dequeue classic_protection 10% "
        "l4s_ect split_gso"
    )
    assert written.readback["options"]["alpha"] == 40 / 256  # rounded down twice
    assert written.lost == ()
    packets = write("tc", kind="dualpi2", variant="linux", step_packets=5, beta=0.001, decides="arrival")
    assert " beta 0.00390625 " in packets.text
    assert " step_thresh 5p " in packets.text
    assert " drop_enqueue " in packets.text


@pytest.mark.parametrize(
    ("asked", "reported"),
    # What tc makes of max_rtt 200 ms with typical_rtt 20 ms, and of 300 ms, and then prints:
    # 0.1·0.02/0.2² = 0.05, 0.3/0.2 = 1.5; 0.1·0.05/0.3² = 0.0556, 0.3/0.3 = 1.
    [(0.05, 0.042969), (1.5, 1.496094), (0.0556, 0.050781), (1.0, 0.996094), (0.16016, 0.15625), (3.2, 3.195312)],
)
def test_a_gain_of_dualpi2_is_rounded_down_twice(asked: float, reported: float) -> None:
    told = int(asked * tc_dual.GAIN)
    assert tc_dual.gain_reported(told) / tc_dual.GAIN == pytest.approx(reported, abs=1e-6)
    assert tc_dual.gain_told(tc_dual.gain_reported(told)) == told


def test_what_the_rfcs_dualpi2_has_beyond_linuxs_is_lost() -> None:
    written = write("tc", kind="dualpi2", scheduler="ts-fifo")
    for word in ("spread", "native", "joined", "th_len_at", "pi_guard", "overload", "fixed_point", "scheduler"):
        assert any(each.startswith(word) for each in written.lost), word
    assert value(written, "alpha").shown == "38/256"  # 0.15


def test_sfq_is_written_with_red_on_its_slots() -> None:
    written = write("tc", kind="sfq", min_th=10, perturb="12.4 s", depth=300, limit=150, ecn=True, harddrop=True)
    assert written.text.splitlines()[-1].endswith(
        " sfq limit 150 quantum 1514 depth 127 flows 128 divisor 1024 perturb 12 redflowlimit 45000 min 15000 max "
        "45000 avpkt 1500 burst 18 probability 0.02 ecn harddrop"
    )
    assert {each.name for each in written.values if each.error > 1e-7} == {"depth", "perturb"}
    assert (written.lost, written.readback["options"]["ewma"]) == ((), 4)
    assert (written.aqm["depth"], written.aqm["perturb"], written.buffer) == (127, "12 s", "150 packets")


@pytest.mark.parametrize(
    ("keys", "flows", "buffer"),
    # The kernel's own limit counts for nothing else; one that it is told is the most slots that it has.
    [({}, 128, 127), ({"limit": 100}, 100, 100), ({"limit": 9000, "depth": 2, "divisor": 16}, 16, 32)],
)
def test_sfq_has_no_more_slots_than_places_and_packets(keys: dict[str, Any], flows: int, buffer: int) -> None:
    written = write("tc", kind="sfq", **keys)
    options = written.readback["options"]
    assert (options["flows"], options["limit"], written.buffer) == (flows, buffer, f"{buffer} packets")
    assert (" limit 127" in written.text, "limit" in written.text) == (False, bool(keys))


def test_an_sfq_that_linux_has_no_limit_for_is_refused() -> None:
    with pytest.raises(ps.ScenarioError, match="one slot of depth 1"):
        write("tc", kind="sfq", flows=1, depth=1)


def test_sfb_has_parts_and_ticks() -> None:
    """33 and 3 of 65535 are tc's defaults; a tick of 250 Hz is 4 ms."""
    written = write("tc", kind="sfb", rehash="30.001 s", warm_up="1 s", penalty_rate=7.4)
    assert written.text.splitlines()[-1].endswith(
        " sfb rehash 30001 db 1000 limit 200 max 25 target 20 increment 0.0005035477226 decrement 4.577706569e-05 "
        "penalty_rate 7 penalty_burst 20"
    )
    assert {each.name: each.used for each in written.values if each.error} == {"rehash": 30.004, "penalty_rate": 7}
    assert written.readback["options"]["rehash"] == 30_004_000
    assert [each.partition(":")[0] for each in written.lost] == ["no ECN"]


# ------------------------------------------------------------------------- properties


@st.composite
def ramps(draw: st.DrawFn) -> Ramp:
    low = draw(st.floats(1e3, 1e7))
    return Ramp(
        kind=draw(st.sampled_from(["red", "ared"])),
        min_bytes=low,
        max_bytes=low * draw(st.floats(1.01, 10)),
        max_p=draw(st.floats(1e-3, 1)),
        w_q=draw(st.floats(1e-6, 1)),
        gate=draw(st.sampled_from(["uniform", "wait", "geometric"])),
        gentle=draw(st.booleans()),
        forced=draw(st.sampled_from(["drop", "mark"])),
    )


@st.composite
def coloured(draw: st.DrawFn) -> Coloured:
    claims: list[dict[str, Any]] = [{"precedence": y} for y in draw(st.sets(st.integers(1, 3)))]
    claims += [{"dscps": (dscp, dscp)} for dscp in draw(st.sets(st.sampled_from([0, 10, 46, 48]), max_size=2))]
    claims += [{"dscps": (24, 31)}] if draw(st.booleans()) else []
    first = draw(ramps())
    colours = [
        Colour(
            name=f"c{place}",
            dscps=claim.get("dscps"),
            precedence=claim.get("precedence"),
            rank=rank,
            drops=replace(draw(ramps()), kind="red", w_q=first.w_q, gate=first.gate, forced=first.forced),
            marks=replace(draw(ramps()), kind="red") if draw(st.booleans()) else None,
        )
        for place, (claim, rank) in enumerate(zip([*claims, {}], draw(st.permutations(range(9))), strict=False))
    ]
    return Coloured(colours=tuple(colours), average=draw(st.sampled_from(["shared", "own", "rio"])))


@st.composite
def wishes(draw: st.DrawFn) -> Wanted:
    times = st.floats(1e-5, 1)
    aqm = draw(
        st.one_of(
            ramps(),
            st.builds(Step, threshold_bytes=st.floats(100, 1e7), bytes_counted=st.booleans()),
            st.builds(Codel, kind=st.just("codel"), target_s=times, interval_s=times),
            st.builds(
                Codel,
                kind=st.just("fq-codel"),
                target_s=times,
                interval_s=times,
                flows=st.integers(1, 65536),
                quantum_bytes=st.integers(256, 9000),
                limit_pkts=st.integers(1, 10**6),
            ),
            st.builds(
                Pie,
                target_s=times,
                t_update_s=times,
                alpha=st.floats(0, 9),
                beta=st.floats(0, 9),
                max_burst_s=times,
                mark_ecnth=st.floats(0, 1),
                derandomize=st.booleans(),
                high_delay_s=times,
                rate_estimate=st.booleans(),
                dq_threshold_bytes=st.integers(1, 10**5),
            ),
            st.builds(
                Dual,
                target_s=times,
                t_update_s=times,
                alpha=st.floats(0, 256),
                beta=st.floats(0, 256),
                k=st.floats(0.01, 255),
                step_s=times,
                step_pkts=st.none() | st.integers(0, 10**6),
                th_len=st.integers(0, 10**6),
                protection=st.floats(0, 1),
                memory_bytes=st.just(math.inf) | st.floats(1e4, 1e9),
                drop_on_overload=st.booleans(),
                at_arrival=st.booleans(),
                any_ect=st.booleans(),
            ),
            st.builds(
                Sfq,
                divisor=st.sampled_from([2**n for n in range(17)]),
                flows=st.integers(1, 65_408),
                depth=st.integers(1, 65_535),
                limit_pkts=st.integers(2, 10**6),
                quantum_bytes=st.integers(256, 2**20),
                perturb_s=st.none() | times,
                headdrop=st.booleans(),
                red=st.none() | ramps().map(lambda ramp: replace(ramp, kind="red", gate="uniform", gentle=False)),
            ),
            st.builds(
                lambda target, more, warm_up, rest, **keys: Sfb(
                    target=target, max=min(65_535, target + more), warm_up_s=warm_up, rehash_s=warm_up + rest, **keys
                ),
                target=st.integers(1, 65_535),
                more=st.integers(0, 100),
                increment=st.floats(0, 1),
                decrement=st.floats(0, 1),
                penalty_rate=st.floats(0, 1e9),
                penalty_burst=st.integers(0, 10**6),
                warm_up=times,
                rest=times,
            ),
            coloured(),
            st.just(Tail()),
        )
    )
    return Wanted(
        name=draw(st.text(max_size=50)),
        aqm=aqm,
        ecn=draw(st.booleans()),
        rate_bps=draw(st.floats(1e5, 1e11)),
        reverse_rate_bps=draw(st.floats(1e5, 1e11)),
        buffer_bytes=draw(st.floats(1500, 1e8)),
        buffer_counted=draw(st.booleans()),
        mean_packet=draw(st.integers(64, 9000)),
    )


@settings(PATIENT, max_examples=200)
@given(asked=wishes(), to=st.sampled_from(sorted(PLATFORMS)))
def test_whatever_is_wanted_is_written_whole_or_refused(asked: Wanted, to: str) -> None:
    """A configuration that is written keeps the platform's rules, and is a scenario again that
    runs.
    """
    try:
        written = platforms.write(asked, to, Place())
    except RefusedError as refused:
        is_one_line(refused)
        return
    assert written.text.endswith("\n")
    assert all(math.isfinite(each.used) for each in written.values)
    if to == "sonic":
        assert sonic.mistakes(json.loads(written.text)) == []
    if to == "openconfig":
        assert openconfig.mistakes(json.loads(written.text)) == []
    box = wanted.rounded(ps.Scenario.from_toml(LINK), written)
    assert box.resolved["aqm"]["kind"] == written.aqm["kind"]


@settings(PATIENT, max_examples=60)
@given(asked=wishes(), to=st.sampled_from(["tc", "sonic", "eos", "openconfig", "cisco-ios", "dpdk"]))
def test_writing_what_the_box_does_changes_nothing(asked: Wanted, to: str) -> None:
    """Rounded values are already round: the box that was predicted is written as the box that was
    asked for.
    """
    base = ps.Scenario.from_toml(LINK).set("topology.bottleneck.rate", f"{round(asked.rate_bps)} bit/s")
    asked = replace(asked, rate_bps=round(asked.rate_bps), name="a link")
    try:
        first = platforms.write(asked, to, Place())
        second = platforms.write(wanted.wanted(wanted.rounded(base, first)), to, Place())
    except RefusedError:
        return
    if asked.aqm.kind in ("codel", "fq-codel", "pie"):
        return  # their rounding goes down once more: 5 ms, 4.999 ms
    assert {k: v for k, v in second.aqm.items() if k != "kind"} == {k: v for k, v in first.aqm.items() if k != "kind"}


@settings(PATIENT)
@given(share=st.floats(0, 1))
def test_a_share_is_never_rounded_to_nothing(share: float) -> None:
    assert 0 <= per_cent(share) <= 100
    assert (per_cent(share) == 0) == (share == 0)


# ------------------------------------------------------------------------- the simulation


def test_the_rounded_runs_beside_the_wanted_paired() -> None:
    done = ps.config(scenario(), "vyos", seeds=3)
    assert done.comparison is not None
    pairs = done.comparison.results
    assert [[run.seed for run in pairs[side].runs] for side in (simulate.WANTED, simulate.BOX)] == [[1, 2, 3]] * 2
    difference = done.comparison.difference(simulate.BOX)
    assert {difference[metric].n for metric in ("utilization", "delay_mean_s", "delay_p99_s", "loss_ratio")} == {3}
    # w_q 0.0625 for 0.002: the average no longer lags behind, and the queue is shorter.
    delay = difference["delay_p99_s"]
    assert delay.mean is not None
    assert delay.mean < 0


def test_nothing_differs_where_nothing_is_rounded() -> None:
    done = ps.config(
        scenario(kind="fq-codel", variant="linux", target="4999168 ns", interval="99999744 ns", maxpacket="1514 B"),
        "tc",
        seeds=2,
    )
    assert done.written.lost == ()
    assert done.comparison is not None
    assert all(each.mean in (0, None) for each in done.comparison.difference(simulate.BOX).values())


def test_the_document_has_it_all() -> None:
    document = json.loads(ps.config(scenario(), "tc", seeds=2).json())
    assert set(document) == {
        *("version", "platform", "text", "values", "lost", "notes", "box", "difference", "identical"),
    }
    assert set(document["difference"]) == set(simulate.METRICS)
    weight = next(each for each in document["values"] if each["name"] == "w_q")
    assert weight["relative_error"] == pytest.approx(0.0234375)


# ------------------------------------------------------------------------- reading


def qdisc(kind: str, dev: Any = "eth0", **options: Any) -> dict[str, object]:
    return {"kind": kind, "handle": "1:", "dev": dev, "root": True, "options": options}


RED: dict[str, Any] = {
    "limit": 300000,
    "min": 30000,
    "max": 90000,
    "ecn": True,
    "harddrop": False,
    "adaptive": False,
    "nodrop": False,
    "ewma": 9,
    "probability": 0.1,
    "Scell_log": 20,
}


def test_a_running_red_becomes_a_scenario() -> None:
    made = ps.config_from(json.dumps([qdisc("red", **RED)]), "tc", rate="10 Mbit/s", rtt="30 ms")
    aqm, link_of = made.resolved["aqm"], made.resolved["topology"]["bottleneck"]
    assert (aqm["kind"], aqm["min_th"], aqm["max_th"], aqm["w_q"]) == ("red", "30 kB", "90 kB", 2.0**-9)
    assert (aqm["ecn"], aqm["forced"], aqm["gentle"], aqm["max_p"]) == (True, "mark", False, 0.1)
    assert (link_of["rate"], link_of["delay"], link_of["buffer"]) == ("10 Mbit/s", "15 ms", "300 kB")
    assert ps.run(made.set_all({"duration": "3 s", "measure.from": "1 s"})).runs[0].metrics["departures"]


def test_the_rate_is_the_shapers_where_there_is_one() -> None:
    state = [qdisc("tbf", rate=1250000, burst=3000), {**qdisc("red", **RED), "handle": "10:", "parent": "1:1"}]
    with pytest.warns(UserWarning, match="lost: tbf burst 3000: after a pause"):
        made = ps.config_from(json.dumps(state), "tc")
    assert made.resolved["topology"]["bottleneck"]["rate"] == "10 Mbit/s"


@settings(PATIENT)
@given(asked=wishes())
def test_there_and_back_without_a_kernel(asked: Wanted) -> None:
    """What the kernel is predicted to report, read and written for it again, is the same line."""
    asked = replace(asked, mean_packet=1500, rate_bps=round(asked.rate_bps))
    try:
        written = platforms.write(asked, "tc", Place())
    except RefusedError:
        return
    state = json.dumps([qdisc(written.readback["kind"], **written.readback["options"])])
    with warnings.catch_warnings():  # of nodrop, and of what the average does while the link is idle
        warnings.simplefilter("ignore")
        again = ps.config_from(state, "tc", rate=f"{round(asked.rate_bps)} bit/s")
    told = work.write(again, "tc", Place()).readback
    if written.readback["kind"] == "gred" and len(written.readback["options"]["vqs"]) == 1:
        assert told["kind"] == "red"  # which one virtual queue is
        return
    assert told["kind"] == written.readback["kind"]
    after = flat(told["options"])
    for key, was in flat(written.readback["options"]).items():
        if not key.endswith(("nodrop", "Scell_log", "adaptive")):
            assert after[key] == (was if isinstance(was, str) else pytest.approx(was, rel=1e-9)), key


def flat(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options, those of gred's virtual queues beside the others; their order counts."""
    queues = [f"{place} {key}" for place, queue in enumerate(options.get("vqs", [])) for key in queue]
    values = [value for queue in options.get("vqs", []) for value in queue.values()]
    return {key: value for key, value in options.items() if key != "vqs"} | dict(zip(queues, values, strict=True))


SONIC = json.dumps(
    {
        "PORT": {"Ethernet0": {"speed": "25000"}, "Ethernet4": {"speed": "25000"}},
        "WRED_PROFILE": {
            "AZURE_LOSSLESS": {
                "ecn": "ecn_all",
                **{
                    key.format(colour): value
                    for colour in sonic.COLOURS
                    for key, value in {
                        "wred_{}_enable": "true",
                        "{}_min_threshold": "1048576",
                        "{}_max_threshold": "2097152",
                        "{}_drop_probability": "5",
                    }.items()
                },
            }
        },
    }
)


def test_a_sonic_profile_becomes_a_scenario_and_a_profile_again() -> None:
    made = ps.config_from(SONIC, "sonic")
    aqm = made.resolved["aqm"]
    assert (aqm["w_q"], aqm["gate"], aqm["max_p"], aqm["forced"]) == (1.0, "geometric", 0.05, "mark")
    assert made.resolved["topology"]["bottleneck"]["rate"] == "25 Gbit/s"
    profile = json.loads(ps.config(made, "sonic", exact=0.0, seeds=0).text)["WRED_PROFILE"]["AZURE_LOSSLESS"]
    assert (profile["green_min_threshold"], profile["green_drop_probability"]) == ("1048576", "5")


def test_a_step_of_sonic_is_a_step() -> None:
    document = json.loads(SONIC)
    for colour in sonic.COLOURS:
        document["WRED_PROFILE"]["AZURE_LOSSLESS"][f"{colour}_min_threshold"] = "2097152"
    assert ps.config_from(json.dumps(document), "sonic").resolved["aqm"]["kind"] == "step"


def several() -> str:
    return json.dumps([qdisc("red", "eth0", **RED), qdisc("red", "eth1", **RED)])


@pytest.mark.parametrize(
    ("text", "platform", "given_", "said"),
    [
        ("", "tc", {}, "is not JSON"),
        ("[" * 100_000, "tc", {}, "is not JSON"),
        ("{}", "tc", {}, "must be the list"),
        ("[]", "tc", {}, "it has: none"),
        ("[1]", "tc", {}, "entry 0: must be an object, not 1"),
        (json.dumps([qdisc("noqueue")]), "tc", {}, "it has: noqueue"),
        (json.dumps([qdisc("netem", limit=10)]), "tc", {}, "it has: netem"),
        (json.dumps([qdisc("red", **RED)]), "tc", {}, "--rate"),
        (json.dumps([qdisc("red", **{k: v for k, v in RED.items() if k != "ewma"})]), "tc", {}, "tc -d -s -j"),
        (json.dumps([qdisc("red", **{**RED, "min": 90000})]), "tc", {}, "max = 90000: must be in"),
        (json.dumps([qdisc("red", **{**RED, "min": "30Kb"})]), "tc", {}, 'min must be a number, not "30Kb"'),
        (json.dumps([qdisc("red", **{**RED, "probability": 2})]), "tc", {}, "probability = 2"),
        (json.dumps([qdisc("red", **{**RED, "ewma": 8.5})]), "tc", {}, "ewma = 8.5: must be a whole number"),
        (json.dumps([{"kind": "red", "dev": "eth0"}]), "tc", {}, "must be an object, not absent"),
        (json.dumps([qdisc("gred", vqs=[])]), "tc", {}, "no virtual queue"),
        (several(), "tc", {}, "--dev"),
        (several(), "tc", {"dev": "eth2"}, "there are: eth0, eth1"),
        (json.dumps([qdisc("red", **RED)]), "tc", {"rate": "fast"}, "fast"),
        (json.dumps([qdisc("red", **RED)]), "tc", {"rate": "1 Mbit/s", "rtt": "long"}, "long"),
        ("[]", "sonic", {}, "the config DB: must be an object"),
        ("{}", "sonic", {}, "WRED_PROFILE: must be an object, not absent"),
        ('{"WRED_PROFILE": {}}', "sonic", {}, "has no profile"),
        (SONIC, "sonic", {"profile": "AZURE"}, "nearest: AZURE_LOSSLESS"),
        (SONIC.replace('"true"', '"false"'), "sonic", {}, "wred_green_enable"),
        (SONIC.replace('"1048576"', '"2097153"'), "sonic", {}, "below green_min_threshold"),
        (SONIC.replace('"5"', '"0"'), "sonic", {}, "signals nothing"),
        (SONIC.replace('"green_min_threshold": "1048576", ', ""), "sonic", {}, "green_min_threshold"),
        (SONIC.replace('"ecn": ', '"ecn_green_min_threshold": "1", "ecn": '), "sonic", {}, "ecn_green_max_threshold"),
        (SONIC.replace('"25000"', '"x"'), "sonic", {}, "--rate"),
        ("{}", "cisco-ios", {}, "tc, sonic"),
    ],
)
def test_a_state_that_is_none_gets_one_message(text: str, platform: str, given_: dict[str, str], said: str) -> None:
    with pytest.raises(ps.Error) as caught:
        work.read(text, platform, Given(**given_), "state.json")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["red", "eth0"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["kind", "dev", "options", "min", "max", "limit", "ewma", "probability", "vqs", "WRED_PROFILE"]
            )
            | st.text(max_size=5),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


def only_one_message(text: str, platform: str) -> None:
    try:
        work.read(text, platform, Given(rate="10 Mbit/s"), "state.json")
    except ps.Error as error:
        is_one_line(error)


@settings(PATIENT, max_examples=300)
@given(document=JSON, platform=st.sampled_from(["tc", "sonic"]))
def test_any_document_gives_a_scenario_or_one_message(document: object, platform: str) -> None:
    only_one_message(json.dumps(document), platform)


@settings(PATIENT, max_examples=300)
@given(
    data=st.data(),
    kind=st.sampled_from(
        ["red", "choke", "codel", "fq_codel", "pie", "cake", "gred", "pfifo", "dualpi2", "sfq", "sfb"]
    ),
)
def test_any_options_of_a_qdisc_give_a_scenario_or_one_message(data: st.DataObject, kind: str) -> None:
    numbers = st.integers(-10, 2**40) | st.floats() | st.none() | st.just("1500us") | st.booleans()
    keys = st.sampled_from(
        "limit min max ewma probability target interval flows quantum tupdate alpha beta rtt memlimit bandwidth "
        "divisor depth perturb rehash db increment decrement penalty_rate penalty_burst".split()
    )
    options = data.draw(st.dictionaries(keys, numbers))
    only_one_message(json.dumps([qdisc(kind, **options)]), "tc")


@settings(PATIENT, max_examples=200)
@given(text=st.text() | st.binary().map(lambda raw: raw.decode("latin-1")), platform=st.sampled_from(["tc", "sonic"]))
def test_garbage_gives_one_message(text: str, platform: str) -> None:
    only_one_message(text, platform)


# ------------------------------------------------------------------------- the command


def test_the_configuration_can_be_piped_and_the_report_stands_apart(penstock: Command, link: Path) -> None:
    done = penstock("config", link, "--to", "tc", "--seeds", 2)
    assert done.returncode == 0
    assert done.stdout == ps.config(ps.Scenario.load(link), "tc", seeds=0).text
    assert re.search(r"w_q +0.002 +2\^-9 = 0.00195312 +2.3 %", done.stderr)
    assert "simulated, 2 seeds, paired" in done.stderr
    assert re.search(r"utilization +% ", done.stderr)


def test_a_file_is_written_whole(penstock: Command, link: Path, tmp_path: Path) -> None:
    out = tmp_path / "wred.json"
    done = penstock("config", link, "--to", "sonic", "--seeds", 0, "--out", out)
    assert (done.returncode, done.stdout) == (0, "")
    assert sonic.mistakes(json.loads(out.read_text(encoding="utf-8"))) == []


def test_what_runs_becomes_a_file_that_runs(penstock: Command, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text(json.dumps([qdisc("red", **RED)]), encoding="utf-8")
    done = penstock("config", "--from", "tc", state, "--rate", "10 Mbit/s")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "made.toml").write_text(done.stdout, encoding="utf-8")
    again = penstock("config", "made.toml", "--to", "tc", "--against", state, "--rate", "10 Mbit/s")
    assert (again.returncode, again.stdout) == (0, "")
    changed = penstock(
        "config", "made.toml", "--to", "tc", "--against", state, "--rate", "10 Mbit/s", "--set", "aqm.ecn=false"
    )
    assert changed.stdout == "eth0 root red ecn: on → off\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "needs FILE"),
        (["link.toml"], "needs FILE"),
        (["link.toml", "--to", "tc", "--from", "tc"], "needs FILE"),
        (["link.toml", "--to", "jounos"], "nearest: junos"),
        (["link.toml", "--to", "sqm"], "not red"),
        (["link.toml", "--to", "tc", "--exact"], "w_q is 0.001953 for 0.002"),
        (["link.toml", "--to", "tc", "--exact", "some"], "must be a share"),
        (["link.toml", "--to", "tc", "--exact", "nan"], "must be a share"),
        (["link.toml", "--to", "eos", "--against", "link.toml"], "is not read"),
        (["link.toml", "--to", "tc", "--against", "link.toml"], "link.toml: is not JSON"),
        (["link.toml", "--to", "tc", "--parent", "1:1"], "goes with --from"),
        (["link.toml", "--from", "tc", "--rate", "10"], 'penstock: --rate "10": needs a unit'),
        (["link.toml", "--to", "sonic", "--shape"], "goes with --to tc alone; sonic has no shaper here"),
        (["link.toml", "--from", "tc", "--as", "gred"], "goes with --to"),
        (["link.toml", "--from", "tc"], "link.toml: is not JSON"),
        (["missing.json", "--from", "tc"], "No such file"),
        (["link.toml", "--to", "tc", "--out", "."], "is a folder"),
        (["link.toml", "--to", "tc", "--out", "nowhere/x"], "there is no folder"),
    ],
)
def test_a_wrong_argument_gets_one_message(
    penstock: Command, link: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    assert link.exists()
    before = sorted(tmp_path.iterdir())
    done = penstock("config", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_the_list_names_every_platform(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--list"]) == 0
    said = capsys.readouterr().out
    assert [name for name in PLATFORMS if not re.search(rf"^ {name} ", said, re.MULTILINE)] == []


def test_the_page_names_every_platform_and_case() -> None:
    page = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    assert [name for name in PLATFORMS if f"`{name}`" not in page] == []
    assert [name for name in CASES if f"scenarios/operators/{name}.toml" not in page] == []


def test_the_source_of_each_platform_is_stated() -> None:
    for module in (sonic, junos, openconfig, vyos):
        assert module.__doc__ is not None
        assert "Facts:" in module.__doc__
