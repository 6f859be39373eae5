"""Agreement with ns-2: from a case to a scenario, the rules, the report."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any

import pytest

from penstock import _penstock
from penstock.errors import Error
from penstock.validate.agreement import RULES, Rule, Value, Verdict, judge
from penstock.validate.ns2 import command
from penstock.validate.ns2.causes import Cause, read_causes
from penstock.validate.ns2.command import DATA
from penstock.validate.ns2.counts import Table, as_ns2_counts, columns, counters
from penstock.validate.ns2.files import SHIPPED, Case, read_cases, read_results
from penstock.validate.ns2.measure import Outcome, outcomes
from penstock.validate.ns2.pairs import Pair, compare, our_value, reference_value
from penstock.validate.ns2.report import COLUMNS, NOT_LOOKED_AT, last_line, report
from penstock.validate.ns2.translate import NotExpressible, deterministic, forward_flows, scenario


@pytest.fixture(scope="module")
def shipped() -> dict[str, Case]:
    return {case.name: case for case in read_cases(DATA / "ns2-cases.json")}


@pytest.fixture(scope="module")
def papers() -> dict[str, Case]:
    return {case.name: case for case in read_cases(DATA / "ns2x-cases.json")}


def red(**args: object) -> dict[str, Any]:
    """`[aqm]` of a RED case with these arguments."""
    aqm: dict[str, Any] = scenario("case", {"q": "RED", "bw": 1e6, "meanpkt": 1000, **args})["aqm"]
    return aqm


def rule(metric: str) -> Rule:
    return next(r for r in RULES if r.metric == metric)


# ---------------------------------------------------------------------- from a case to a scenario


def test_every_shipped_case_has_a_scenario_and_results(shipped: dict[str, Case]) -> None:
    results = read_results(DATA / "ns2.csv")
    assert len(shipped) == 150
    for case in shipped.values():
        assert scenario(case.name, case.args)["profile"] == "ns-2"
        for r in RULES:
            assert r.optional or reference_value(results[case.name], r.metric) is not None


def test_every_case_with_the_papers_queues_has_a_scenario(papers: dict[str, Case]) -> None:
    results = read_results(DATA / "ns2x.csv")
    assert len(papers) == 372
    for case in papers.values():
        _penstock.Scenario.from_json(json.dumps(scenario(case.name, case.args)))
        assert {"util", "loss", "qmean_pkts"} <= results[case.name].keys()


def test_dumbbells_pass_the_parser(shipped: dict[str, Case]) -> None:
    for case in shipped.values():
        if "topo" not in case.args:
            _penstock.Scenario.from_json(json.dumps(scenario(case.name, case.args)))


def test_a_load_rise(shipped: dict[str, Case]) -> None:
    s = scenario("rise", shipped["amecn-inc-red-markall-w2550"].args)
    assert s["measure"] == {"from": "25 s", "to": "50 s"}
    assert s["topology"]["bottleneck"] == {
        "rate": "1.5 Mbit/s",
        "delay": "40 ms",
        "buffer": 40,
        "reverse_buffer": 40,
    }
    aqm = s["aqm"]
    assert {k: x for k, x in aqm.items() if k != "reverse"} == aqm["reverse"], "rq same: both directions"
    assert (aqm["kind"], aqm["min_th"], aqm["max_th"], aqm["w_q"], aqm["mark_p"]) == ("red", 5, 15, 0.0027, 1)
    first, more, back = s["traffic"]
    assert (first["flows"], first["window"], first["ecn"]) == (2, 20, "classic")
    assert (more["flows"], more["window"], more["start"]) == (20, 25, {"every": "100 ms", "from": "25 s"})
    assert (back["direction"], back["start"]) == ("reverse", {"uniform": ["0 s", "100 ms"]})


def test_web_objects_are_packets(shipped: dict[str, Case]) -> None:
    web = scenario("web", shipped["redat-ared-n020"].args)["traffic"][-1]
    assert web["object"] == {"pareto": {"shape": 1.5, "mean": "12000 B", "max": "500000 B"}}
    assert (web["sessions"], web["pairs"], web["think"]) == (6, 6, {"exponential": "1 s"})


def test_idle_web_pairs_keep_their_place_in_linear_delays() -> None:
    args: dict[str, object] = {"web": 3, "webpairs": 5, "adelay1": "linear:0.001:0.005"}
    web = scenario("web", args)["traffic"][-1]
    assert (web["sessions"], web["pairs"], web["access_delay"]) == (3, 3, {"spread": ["1 ms", "3 ms"]})


def test_udp_has_no_long_lived_flow() -> None:
    args: dict[str, object] = {"n1": 0, "cbr": 300e3, "cbrn": 3, "cbrrandom": 1, "cbrpkt": 500, "poisson": 1e5}
    cbr, poisson = scenario("udp", args)["traffic"]
    assert cbr == {
        "kind": "cbr",
        "name": "cbr",
        "flows": 3,
        "rate": "100 kbit/s",
        "packet": "500 B",
        "jitter": 0.5,
        "start": "0 s",
    }
    assert (poisson["flows"], poisson["rate"]) == (1, "100 kbit/s")
    assert forward_flows(args) == 0


def test_a_parking_lot(shipped: dict[str, Case]) -> None:
    case = next(c for c in shipped.values() if c.args.get("topo") == "parkinglot")
    s = scenario(case.name, case.args)
    assert (s["topology"]["kind"], s["topology"]["hops"], s["topology"]["cross_flows"]) == ("parking-lot", 3, 20)
    assert [(t["from"], t["flows"]) for t in s["traffic"]] == [("R0", 20), ("R1", 20)]
    assert forward_flows(case.args) == 100


@pytest.mark.parametrize(
    ("args", "want"),
    [
        ({}, {"kind": "red", "w_q": "rtt", "max_p": 0.1, "gentle": True, "gate": "wait", "mark_p": 0.1}),
        ({"qw": 0}, {"w_q": "auto"}),
        ({"qw": -1}, {"w_q": "rtt"}),
        ({"qw": -2}, {"w_q": 1 - math.exp(-10 / 125)}),  # 1 Mbit/s of 1000 B packets: 125 a second
        ({"thresh": 0, "maxthresh": 0}, {"min_th": None, "max_th": None}),
        ({"thresh": 5, "maxthresh": 15}, {"min_th": 5, "max_th": 15}),
        ({"linterm": 50}, {"max_p": 0.02}),
        ({"gentle": "false", "qset": "wait_=false"}, {"gentle": False, "gate": "uniform"}),
        ({"ecn": 1}, {"ecn": True, "mark_p": 0.1}),
        ({"ecn": 1, "qset": "use_mark_p_=false"}, {"mark_p": 1.0}),
        ({"ecn": 1, "qset": "mark_p_=0.5"}, {"mark_p": 0.5}),
        ({"bytes": 1}, {"byte_mode": True, "unit": None}),
        ({"qib": 1}, {"byte_mode": None, "unit": "bytes"}),
        ({"adaptive": 1}, {"kind": "ared", "alpha": 0.01, "beta": 0.9, "interval": "500 ms", "max_p_low": None}),
        ({"adaptive": 1, "qset": "bottom_=0.02,top_=0.4"}, {"max_p_low": 0.02, "max_p_high": 0.4}),
        ({"targetdelay": 0.02}, {"target_delay": "20 ms"}),
        ({"meanpkt": 500}, {"mean_packet": "500 B"}),
        ({"qset": "cautious_=0,idle_pktsize_=7"}, {"kind": "red"}),
    ],
)
def test_red_settings(args: dict[str, object], want: dict[str, object]) -> None:
    aqm = red(**args)
    assert {key: aqm.get(key) for key in want} == want


MECN: dict[str, object] = {"kind": "mecn", "gate": "wait", "mark_p": 1, "min_th": 5, "max_th": 15, "mid_th": 11.25}


@pytest.mark.parametrize(
    ("queue", "args", "want"),
    [
        ("MECN", {}, {**MECN, "p1_max": 0.1, "p2_max": 0.1, "above_max": "gentle-drop", "max_p": None}),
        ("MECN", {"linterm": 4, "qset": "mid_=9"}, {"mid_th": 9, "p1_max": 0.25, "p2_max": 0.25}),
        ("MECN", {"linterm": 4, "qset": "p2ratio_=2"}, {"p1_max": 0.25, "p2_max": 0.5}),
        ("MECN", {"linterm": 4, "qset": "p2ratio_=8"}, {"p2_max": 1}),
        ("MECN", {"qset": "p2fix_=0.3"}, {"kind": "mecn", "p1_max": 0.1, "p2_max": 0.3}),
        ("MECN", {"qset": "m_gdrop_=0"}, {"above_max": "gentle-mark"}),
        ("MECN", {"gentle": "false", "qset": "m_gdrop_=0"}, {"above_max": "drop", "gentle": None}),
        ("MECN", {"qset": "wait_=false"}, {"gate": "uniform"}),
        (
            "MECN",
            {"qset": "m_adapt_=1"},
            {"kind": "amecn", "adapt": "both", "p2_over_p1": 1, "deadband": True, "alpha_scale": 1, "p2_max": None},
        ),
        (
            "MECN",
            {"qset": "m_adapt_=1,p2fix_=0.5,m_inside_=1,m_ascale_=0.17,interval_=0.2"},
            {"adapt": "p1", "p2_max": 0.5, "deadband": False, "alpha_scale": 0.17, "interval": "200 ms"},
        ),
        ("MECN", {"qset": "m_adapt_=1,p2ratio_=2"}, {"p2_over_p1": 2}),
        # 1 Mbit/s of 1000 B packets, 125 a second: 0.2 s are 25, half of that is min_th.
        ("MECN", {"thresh": 0, "maxthresh": 0, "targetdelay": 0.2}, {"min_th": 12.5, "max_th": 37.5, "mid_th": 28.125}),
        ("RARED", {}, {"kind": "rared", "max_p": 0.1, "slope_th": 20, "max_p_climb": 0.8, "base": None}),
        ("RARED", {}, {"climb": "bernoulli", "slope_of": "average", "mark_p": 0.1}),
        (
            "RARED",
            {"qset": "slope_th_=5,maxp2_=0.3,use_mark_p_=false"},
            {"slope_th": 5, "max_p_climb": 0.3, "mark_p": 1},
        ),
        ("RARED", {"qset": "rmode_=1,rsrc_=1"}, {"climb": "ramp", "slope_of": "instantaneous"}),
        ("RARED", {"adaptive": 1}, {"kind": "rared", "base": "ared", "alpha": 0.01, "interval": "500 ms"}),
        ("NRED", {}, {"kind": "nred", "n_0": 2, "n_min": 1, "n_max": 5, "gate": "wait", "max_p": None}),
        (
            "NRED",
            {"qset": "n_0_=3,n_min_=2,n_max_=4,n_gate_=0"},
            {"n_0": 3, "n_min": 2, "n_max": 4, "gate": "geometric"},
        ),
        ("NRED", {"qset": "n_min_=3,n_max_=4"}, {"n_0": 3, "n_min": 3, "n_max": 4}),
        ("REDAT", {}, {"kind": "red-at", "min_lo": 2.5, "min_hi": 7.5, "max_lo": 12, "max_hi": 18, "max_p": 0.1}),
        ("REDAT", {}, {"alpha": 0.1, "beta": 0.05, "hold": 4, "region_a": "min_plus", "reset": True}),
        ("REDAT", {"qset": "at_dmin_=0.2,at_dmax_=0"}, {"min_lo": 4, "min_hi": 6, "max_lo": 15, "max_hi": 15}),
        (
            "REDAT",
            {"qset": "at_alpha_=0.2,at_beta_=0.1,at_hold_=9,at_region_=1,at_reset_=0"},
            {"alpha": 0.2, "beta": 0.1, "hold": 9, "region_a": "min_minus", "reset": False},
        ),
        (
            "BLUE",
            {},
            {"kind": "blue", "d1": 0.0025, "d2": 0.00025, "freeze_time": "100 ms", "limit": None, "w_q": None},
        ),
        ("BLUE", {"ecn": 1, "qset": "b_d1_=0.02,b_d2_=0.002,b_freeze_=0.01,b_limit_=9"}, {"ecn": True, "limit": 9}),
    ],
)
def test_the_papers_queues(queue: str, args: dict[str, object], want: dict[str, object]) -> None:
    aqm = red(**{"thresh": 5, "maxthresh": 15, **args, "q": f"RED/{queue}"})
    assert {key: aqm.get(key) for key in want} == pytest.approx(want)


def test_feng_has_alpha_as_divisor() -> None:
    feng = red(adaptive=1, qset="feng_adaptive_=1,alpha_=3,beta_=2")
    assert (feng["kind"], feng["decrease"], feng["increase"]) == ("feng-ared", 3, 2)


@pytest.mark.parametrize(
    ("args", "want"),
    [
        ({}, {"tcp": "reno", "ecn": "mecn", "incipient": "decrease", "beta1": 0.2, "beta2": 0.4, "latch": False}),
        ({"tcpset": "mecnMode_=1"}, {"incipient": "hold", "escalate": False}),
        (
            {"tcpset": "mecnMode_=2,mecnEscalate_=1", "latch": 1},
            {"incipient": "additive", "escalate": True, "latch": True},
        ),
        ({"tcpset": "mecnB1_=0.5,mecnB2_=0.6"}, {"beta1": 0.5, "beta2": 0.6, "cwnd_floor": None}),
        ({"tcpset": "mecnFloor_=1"}, {"cwnd_floor": 1}),
        ({"ecn": 0}, {"tcp": "reno", "ecn": None, "beta1": None}),
        ({"tcp": "Reno", "tcpset": "mecnB1_=0.5"}, {"ecn": "classic", "beta1": None}),
        ({"tcp": "Westwood", "ecn": 0}, {"tcp": "westwood", "recovery": "sack", "ecn": None}),
    ],
)
def test_multi_level_ecn_and_westwood(args: dict[str, object], want: dict[str, object]) -> None:
    (flow,) = scenario("c", {"tcp": "MecnReno", "ecn": 1, **args})["traffic"]
    assert {key: flow.get(key) for key in want} == want


def test_a_classic_sender_meets_red_at_a_mecn_queue() -> None:
    # The reference's queue tells the two apart; on the wire they look the same.
    case: dict[str, object] = {"q": "RED/MECN", "thresh": 5, "maxthresh": 15, "linterm": 5, "ecn": 1}
    aqm = scenario("c", {**case, "tcp": "Reno"})["aqm"]
    assert (aqm["kind"], aqm["max_p"], aqm["mark_p"], "mid_th" in aqm) == ("red", 0.2, 0.2, False)
    for other in ({"tcp": "MecnReno"}, {"tcp": "Reno", "ecn": 0}, {"n1": 0, "poisson": 1e5}):
        assert scenario("c", {**case, **other})["aqm"]["kind"] == "mecn"


def test_limits_in_bytes_are_mean_packets() -> None:
    # RED has room for one more packet, of 1040 B, as long as less than the limit waits.
    red_in_bytes = scenario("c", {"q": "RED", "qib": 1, "buf": 30, "meanpkt": 1000})
    assert red_in_bytes["topology"]["bottleneck"]["buffer"] == "31039 B"
    assert scenario("c", {"q": "PI", "qib": 1, "buf": 30, "n1": 0, "cbr": 1e5, "cbrpkt": 500})["topology"][
        "bottleneck"
    ]["buffer"] == ("15499 B")
    # DropTail drops as soon as limit * mean is reached, 500 B a packet unless told.
    droptail = scenario("c", {"qib": 1, "buf": 30})
    assert droptail["topology"]["bottleneck"]["buffer"] == "14999 B"


def test_rem_and_pi() -> None:
    rem = scenario("c", {"q": "REM", "qset": "phi_=1.01,gamma_=0.01,pbo_=30,pupdtime_=0.01", "ecn": 1})["aqm"]
    assert rem == {
        "kind": "rem",
        "ecn": True,
        "phi": 1.01,
        "gamma": 0.01,
        "b_star": 30,
        "period": "10 ms",
        "mean_packet": "1000 B",
    }
    pi = scenario("c", {"q": "PI", "qset": "a_=2e-5,b_=1e-5,w_=100,qref_=20", "meanpkt": 1000})["aqm"]
    assert (pi["a"], pi["b"], pi["w"], pi["q_ref"]) == (2e-5, 1e-5, 100, 20)


@pytest.mark.parametrize(
    ("tcpset", "key", "value"),
    [
        ("tcpTick_=0.1", "tick", "100 ms"),
        ("minrto_=1.0", "min_rto", "1 s"),
        ("minrto_=0.2", "min_rto", None),
        ("maxrto_=30", "max_rto", "30 s"),
        ("rtxcur_init_=6.0", "initial_rto", "6 s"),
        ("overhead_=0.0001", "send_overhead", "0.1 ms"),
        ("windowInit_=1", "initial_window", 1),
        ("useHeaders_=false", "header", "0 B"),
        ("singledup_=0", "limited_transmit", False),
        ("packetSize_=500", "segment", "500 B"),
        ("window_=8,bugFix_=true", "window", 8),
        ("ecn_=1", "ecn", "classic"),
    ],
)
def test_tcp_settings(tcpset: str, key: str, value: object) -> None:
    flow = scenario("c", {"tcpset": tcpset})["traffic"][0]
    assert flow.get(key) == value


def test_vegas_never_asks_for_ecn() -> None:
    flow = scenario("c", {"tcp": "Vegas", "ecn": 1, "tcpset": "useHeaders_=false"})["traffic"][0]
    assert (flow["tcp"], flow.get("ecn"), flow.get("header")) == ("vegas", None, None)


@pytest.mark.parametrize(
    ("args", "starts"),
    [
        ({"n2": 3, "start2": "fixed:25", "gap2": 0.1}, [{"every": "100 ms", "from": "25 s"}]),
        ({"n2": 3, "start2": "linear:1:2"}, [{"every": "500 ms", "from": "1 s"}]),
        ({"n2": 3, "start2": "linear:1:2", "gap2": 0.5}, [{"every": "1 s", "from": "1 s"}]),
        ({"n2": 1, "start2": "linear:1:2"}, ["1.5 s"]),
        ({"n2": 2, "start2": "uniform:20:20.1"}, [{"uniform": ["20 s", "20.1 s"]}]),
        (
            {"n2": 2, "start2": "uniform:0:1", "gap2": 5},
            [{"uniform": ["0 s", "1 s"]}, {"uniform": ["5 s", "6 s"]}],
        ),
        ({"n2": 2, "start2": "linear:2:1"}, ["2 s", "1 s"]),
        ({"n2": 2, "start2": "3"}, ["3 s"]),
    ],
)
def test_starts(args: dict[str, object], starts: list[object]) -> None:
    s = scenario("c", {"n1": 0, **args})
    assert [t["start"] for t in s["traffic"]] == starts
    assert sum(t["flows"] for t in s["traffic"]) == args["n2"]


def test_delays() -> None:
    s = scenario("c", {"adelay1": "linear:0.002:0.022", "adelay2": "uniform:0.04:0.06", "n1": 5})["topology"]
    assert s["access"]["delay"] == {"spread": ["2 ms", "22 ms"]}
    assert s["egress"]["delay"] == {"uniform": ["40 ms", "60 ms"]}


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ({"wormhole": 1, "zzz": 2}, "unknown key wormhole, zzz"),
        ({"q": "RED/PD"}, "queue class RED/PD"),
        ({"rq": "SFQ"}, "queue class SFQ"),
        ({"tcp": "Fack"}, "tcp Fack"),
        ({"tcpset": "numdupacks_=2"}, "tcpset numdupacks_=2"),
        ({"tcpset": "nonsense_=2"}, "tcpset nonsense_"),
        ({"q": "RED", "qset": "mid_=10"}, "qset mid_ of queue class RED"),
        ({"q": "RED", "qset": "drop_front_=true"}, "qset drop_front_=true"),
        ({"q": "RED/NRED", "qset": "mid_=10"}, "qset mid_ of queue class RED/NRED"),
        ({"q": "RED/MECN", "adaptive": 1}, "adaptive of queue class RED/MECN"),
        ({"q": "RED/RARED", "adaptive": 1, "qset": "feng_adaptive_=1"}, "adaptive of queue class RED/RARED"),
        ({"tcp": "MecnReno", "ecn": 1, "tcpset": "mecnMode_=3"}, "tcpset mecnMode_=3"),
        ({"q": "REM", "qset": "inw_=0.5"}, "REM's smoothing"),
        ({"bw": "fast"}, "bw = 'fast' is not a number"),
        ({"n1": 1.5}, "n1 = 1.5 is not a whole number"),
        ({"topo": "ring"}, "topo ring"),
        ({"adelay1": "linear:1"}, "wrong number of values"),
    ],
)
def test_not_expressible_names_the_reason(args: dict[str, object], reason: str) -> None:
    with pytest.raises(NotExpressible) as e:
        scenario("c", args)
    assert reason in str(e.value)


def test_what_has_no_chance(shipped: dict[str, Case]) -> None:
    alone = [c.name for c in shipped.values() if deterministic(c.args, c.seeds)]
    assert [n for n in shipped if n.startswith(("cal-1flow", "cal-cbr", "cal-winlimited"))] == alone
    assert not deterministic(shipped["cal-1flow-reno-b60"].args, 10)
    assert not deterministic({**shipped["cal-1flow-reno-b60"].args, "start1": "uniform:0:1"}, 1)


# ---------------------------------------------------------------------- the rules


@pytest.mark.parametrize(
    ("metric", "reference", "ours", "agrees"),
    [
        ("util", (0.9, 0, 10), (0.918, 0), True),  # 2 %
        ("util", (0.9, 0, 10), (0.9181, 0), False),
        ("util", (0.9, 0.03, 10), (0.95, 0.04), True),  # 0.05 = sqrt(0.03² + 0.04²)
        ("util", (0.9, 0.03, 10), (0.9501, 0.04), False),
        ("qmean_pkts", (100, 0, 10), (105, 0), True),
        ("qmean_pkts", (100, 0, 10), (94.9, 0), False),
        ("qmean_pkts", (100, 0, 3), (109.9, 0), True),  # no spread: 10 %
        ("delay_mean_s", (0.1, 0, 1), (0.111, 0), False),
        ("loss", (0.02, 0, 10), (0.0219, 0), True),
        ("loss", (0.02, 0, 10), (0.0221, 0), False),
        ("loss", (0.02, 0, 10), (0.0, 0), False),
        ("loss", (0.0, 0, 10), (0.5, 0), None),
        ("loss", (1e-10, 0, 10), (0.5, 0), None),
        ("marks/arrivals", (0.01, 0.001, 10), (0.0115, 0.0012), True),
        ("jain", (0.9, 0, 10), (0.93, 0), True),
        ("jain", (0.9, 0, 10), (0.94, 0), False),
        ("jain", (0.9, 0, 3), (0.94, 0), True),
        ("jain", None, (0.94, 0), None),
        ("util", (0.9, 0, 10), None, False),
        ("util", (math.nan, 0, 10), (0.9, 0), None),
    ],
)
def test_rules(
    metric: str, reference: tuple[float, float, int] | None, ours: tuple[float, float] | None, agrees: bool | None
) -> None:
    there = Value(*reference) if reference else None
    here = Value(*ours, 10) if ours else None
    assert judge(rule(metric), there, here).agrees is agrees


@pytest.mark.parametrize(
    ("metric", "reference", "ours", "events", "agrees"),
    [
        ("util", 0.9, 0.9045, None, True),  # 0.5 %
        ("util", 0.9, 0.9046, None, False),
        ("goodput_bps", 0.9, 0.91, None, False),  # the interval does not help
        ("loss", 1e-4, 2e-4, (9, 10), True),
        ("loss", 1e-4, 1.1e-4, (90, 92), False),
        ("jain", 1.0, 0.98, None, True),
    ],
)
def test_one_flow_without_chance_is_held_to_more(
    metric: str, reference: float, ours: float, events: tuple[float, float] | None, agrees: bool
) -> None:
    verdict = judge(rule(metric), Value(reference, 0, 1), Value(ours, 1.0, 10), alone=True, events=events)
    assert verdict.agrees is agrees


def test_marks_are_a_ratio_of_means() -> None:
    measured = {"marks": Value(50, 5, 10), "arrivals": Value(1000, 1, 10)}
    assert reference_value(measured, "marks/arrivals") == Value(0.05, 0.005, 10)
    runs = [{"marks_ce": 40.0, "marks_incipient": None, "arrivals": 1000.0}] * 2
    assert our_value(runs, "marks/arrivals") == Value(0.04, 0.0, 2)


def test_what_the_script_samples_comes_from_the_series() -> None:
    def queue(**values: list[float]) -> Table:
        t = [("t_s", "f64", array("d", [0.0, 1.0, 2.0, 3.0]).tobytes(), ())]
        return t + [(name, "f64", array("d", column).tobytes(), ()) for name, column in values.items()]

    def document(**aqm: object) -> dict[str, Any]:
        return {"aqm": aqm, "measure": {"from": "1 s", "to": "3 s"}}

    metrics = {"avg_queue_mean_pkts": 7.0, "queue_mean_pkts": 8.0, "marks_ce": 9.0}
    plain = {"avg_mean": 7.0, "marks_2": 9.0}
    assert counters(document(kind="red"), metrics, None) == plain
    in_bytes = document(kind="red", unit="bytes", mean_packet="500 B")
    assert counters(in_bytes, metrics, None) == {**plain, "avg_mean": 3500.0}
    amecn = counters(document(kind="amecn"), metrics, queue(p1_max=[9.0, 0.25, 0.5, 9.0]))
    assert amecn == {**plain, "maxp_mean": 0.375}, "from 1 s until just before 3 s"
    rared = document(kind="rared", base="ared")
    assert counters(rared, metrics, queue(max_p=[0, 2.0, 4.0, 9.0], climb_marks=[1.0, 4.0, 5.0, 11.0])) == {
        "avg_mean": 7.0,
        "maxp_mean": 3.0,
        "marks_2": 7.0,
    }
    assert columns(document(kind="rared")) == {"marks_2": "climb_marks"}
    # BLUE has no average of its own.
    none: dict[str, float | None] = {**metrics, "avg_queue_mean_pkts": None}
    assert counters(document(kind="blue"), none, queue(p_m=[0, 0, 0.5, 1.0]))["avg_mean"] == 8.0


def test_counters_that_a_case_has_none_of_are_left_out() -> None:
    case = Case("c", "", "", 5, {"q": "RED", "ecn": 1})
    measured = {"marks_1": Value(0, 0, 5), "avg_mean": Value(5, 0.1, 5), "maxp_mean": Value(0.1, 0, 5)}
    run: dict[str, float | None] = {"avg_mean": 5.1, "marks_incipient": 0.0, "marks_2": 3.0}
    pairs = {p.metric: p.verdict.agrees for p in compare(case, measured, [run])}
    assert pairs["avg_mean"] is True
    assert not {"marks_1", "marks_2", "maxp_mean"} & pairs.keys()
    pairs = {p.metric: p.verdict.agrees for p in compare(case, measured, [{**run, "maxp_mean": 0.2}])}
    assert pairs["maxp_mean"] is False


def test_a_syn_inside_the_window_counts_as_a_packet_for_the_comparison() -> None:
    args: dict[str, object] = {
        "n1": 2,
        "n2": 2,
        "start2": "fixed:9",
        "gap2": 2,
        "nrev": 1,
        "t0": 10,
        "t1": 20,
        "dur": 20,
    }
    document = scenario("c", args)
    rates = [(0, 8000.0), (0, 8000.0), (1, 8000.0), (1, 8000.0), (2, 9e9)]
    flows = [{"group": g, "goodput_bps": bps} for g, bps in rates]
    counted = as_ns2_counts(document, {"goodput_bps": 32000.0, "jain": 1.0, "utilization": 0.5}, flows)
    # The flows start at 0, 0, 9 and 11 s: one opens inside, and 1000 B in 10 s are 800 bit/s. The reverse flow is out.
    assert counted["goodput_bps"] == 32800.0
    assert counted["jain"] == pytest.approx(32800**2 / (4 * (3 * 8000**2 + 8800**2)))
    assert counted["utilization"] == 0.5
    flows[3]["goodput_bps"] = 0.0  # never opened
    assert as_ns2_counts(document, {}, flows)["goodput_bps"] == 24000.0
    vegas = scenario("c", {**args, "tcp": "Vegas"})
    assert as_ns2_counts(vegas, {}, flows)["goodput_bps"] == 24000.0


def test_starts_drawn_around_the_window_count_by_their_chance() -> None:
    document = scenario("c", {"n1": 1, "start1": "uniform:8:12", "t0": 10, "t1": 20, "dur": 20})
    flows = [{"group": 0, "goodput_bps": 8000.0}]
    assert as_ns2_counts(document, {}, flows)["goodput_bps"] == 8400.0


# ---------------------------------------------------------------------- a sample of the real thing

SAMPLE = (
    *(f"unit-{queue}-l120" for queue in ("red", "rared", "nred", "redat", "mecn", "amecn", "feng", "blue-fast")),
    *(f"tcp20-{queue}" for queue in ("mecn", "mecn-hold", "mecn-latch", "amecn", "rared", "redat")),
)


def test_a_sample_of_the_papers_queues_agrees(papers: dict[str, Case]) -> None:
    done = outcomes([papers[name] for name in SAMPLE], read_results(DATA / "ns2x.csv"), 2, seeds=5)
    assert not [o.refused for o in done if o.refused]
    counted = [p for o in done for p in o.pairs if p.verdict.agrees is not None]
    assert len(counted) > 90
    assert {p.metric for p in counted} >= {"util", "loss", "jain", "marks_1", "marks_2", "avg_mean", "maxp_mean"}
    assert [(p.case, p.metric, p.verdict) for p in counted if not p.verdict.agrees] == []


# ---------------------------------------------------------------------- files, report, command

SMALL: dict[str, object] = {"bw": 1e6, "n1": 0, "cbr": 5e5, "buf": 20, "dur": 3, "t0": 1, "t1": 3}


def files(folder: Path, cases: list[dict[str, object]], rows: list[str]) -> tuple[Path, Path]:
    """The two files of a validation."""
    a, b = folder / "cases.json", folder / "results.csv"
    a.write_text(json.dumps({"about": "", "cases": cases}), encoding="utf-8")
    b.write_text("\n".join(["case,metric,mean,sd,ci95_half,n", *rows]) + "\n", encoding="utf-8")
    return a, b


def test_other_files_of_the_same_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases, results = files(
        tmp_path,
        [
            {"id": "half", "group": "g", "figure": "half load", "seeds": 1, "note": "", "args": SMALL},
            {"id": "odd", "seeds": 1, "args": {**SMALL, "wormhole": 1}},
            {"id": "sfb", "seeds": 1, "args": {**SMALL, "q": "SFB"}},
        ],
        [
            "half,util,0.5,0,0,1",
            "half,goodput_bps,0,0,0,1",
            "half,loss,0.5,0,0,1",
            "half,jain,1,0,0,1",
            "half,path_loss,0.25,0,0,1",
            "odd,util,0.5,0,0,1",
        ],
    )
    out = tmp_path / "sub" / "report.md"
    pairs = tmp_path / "out" / "pairs.csv"
    assert command.validate(cases, results, out, pairs, 2) == 0
    text = out.read_text(encoding="utf-8")
    last = "1 of 2 pairs agree (50.0 %); 2 cases not expressible"
    assert text.splitlines()[-1] == last
    assert capsys.readouterr().out == last + "\n"
    assert "- unknown key wormhole: odd" in text
    assert "- queue class SFB: sfb" in text
    assert "| half | loss | 0.5 | 0 | -100.00 % |" in text
    assert "| half | util |" not in text, "pairs that agree are in the CSV alone"
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in csv.reader(pairs.read_text("utf-8").splitlines())][1:]
    assert {row["metric"]: row["agrees"] for row in rows} == {
        **dict.fromkeys(("goodput_bps", "qmean_pkts", "delay_mean_s", "marks/arrivals"), ""),
        **{"util": "yes", "loss": "no", "jain": ""},
    }
    (util,) = (row for row in rows if row["metric"] == "util")
    assert (util["report"], util["group"], util["case"], util["ns2"]) == ("report.md", "g", "half", "0.5")
    assert float(util["mean"]) == pytest.approx(0.5, abs=0.01)
    assert [p.name for p in out.parent.iterdir()] == ["report.md"], "nothing half-written stays"
    before = out.read_bytes()
    command.validate(cases, results, out, pairs, 1)
    assert out.read_bytes() == before, "the same input gives the same bytes"


def test_without_files_both_shipped_sets_are_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, docs = tmp_path / "data", tmp_path / "docs"
    data.mkdir()
    for s in SHIPPED:
        cases, results = files(tmp_path, [{"id": "half", "seeds": 1, "args": SMALL}], ["half,util,0.5,0,0,1"])
        cases.rename(data / s.cases)
        results.rename(data / s.results)
    monkeypatch.setattr(command, "DATA", data)
    monkeypatch.setattr(command, "reports", lambda: docs)
    assert command.validate(None, None, None, tmp_path / "pairs.csv", 2) == 0
    one = "1 of 1 pairs agree (100.0 %); 0 cases not expressible"
    assert capsys.readouterr().out.splitlines() == [
        f"validation.md: {one}",
        f"validation-papers.md: {one}",
        "2 of 2 pairs agree (100.0 %); 0 cases not expressible",
    ]
    for s in SHIPPED:
        text = (docs / s.report).read_text(encoding="utf-8")
        assert s.measured in " ".join(text.split())
        assert text.splitlines()[-1] == one


def test_an_installed_package_has_the_cases_and_writes_its_report_here(tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    package = Path(_penstock.__file__ or "").parent
    shutil.copytree(package, installed / "penstock", ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
    (installed / "penstock" / Path(str(_penstock.__file__)).name).symlink_to(str(_penstock.__file__))
    cases, _ = files(tmp_path, [{"id": "cal-1flow-reno-b60", "seeds": 1, "args": SMALL}], [])
    here = tmp_path / "here"
    here.mkdir()

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(installed)}
        line = [sys.executable, "-m", *arguments]
        return subprocess.run(line, cwd=here, env=environment, capture_output=True, text=True)

    done = run("penstock", "validate", "--cases", str(cases))
    assert (done.returncode, done.stderr) == (0, "")
    assert "pairs agree" in done.stdout
    assert sorted(path.name for path in here.iterdir()) == ["out", "validation.md"]
    shown = run("penstock.validate", "--only", "cal-*", "--scenario")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.count('"profile": "ns-2"') > 10, "the shipped cases"


def test_a_file_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    good, results = files(tmp_path, [{"id": "a", "args": SMALL}], ["a,util,much,0,0,1"])
    out, pairs = tmp_path / "out.md", tmp_path / "pairs.csv"
    with pytest.raises(Error, match=r"results\.csv:2: "):
        command.validate(good, results, out, pairs, 1)
    with pytest.raises(Error, match=r"nowhere\.json"):
        command.validate(tmp_path / "nowhere.json", results, out, pairs, 1)
    with pytest.raises(Error, match="not a file of cases"):
        command.validate(results, results, out, pairs, 1)
    results.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(Error, match="no column case"):
        command.validate(good, results, out, pairs, 1)
    assert not out.exists()
    assert not pairs.exists()


def different(case: str, metric: str) -> Pair:
    return Pair(case, metric, None, None, Verdict(False, "+9 %", "9 %"))


def test_causes_are_data(tmp_path: Path) -> None:
    path = tmp_path / "causes.md"
    path.write_text(
        "# Causes\n\n## Phases\n\nLooked at: `a-1` qmean_pkts,\nloss; `b` util\n\nThe first\nreason.\n\n"
        "More of it.\n\n## Chance\n\nThe other.\n",
        "utf-8",
    )
    first, other = read_causes(path)
    assert (first.title, first.text) == ("Phases", "The first reason. More of it.")
    assert first.looked_at == {("a-1", "qmean_pkts"), ("a-1", "loss"), ("b", "util")}
    assert (other.text, other.looked_at) == ("The other.", frozenset())
    assert first.explains(different("a-1", "loss"))
    assert not first.explains(different("b", "loss")), "of each case the metrics that stand behind it"
    assert read_causes(tmp_path / "none.md") == []


@pytest.mark.parametrize("entry", ["`a-*", "a util", "`a` utility", "`a`", "`a` util, ", ""])
def test_a_pair_that_cannot_be_read_is_refused(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "causes.md"
    path.write_text(f"## Chance\n\nLooked at: `b` util; {entry}\n\nIt was.\n", "utf-8")
    with pytest.raises(Error, match=r"causes\.md: Looked at: "):
        read_causes(path)


def test_only_a_pair_that_is_named_gets_the_cause() -> None:
    """A pattern is no name: what resembles a pair that was looked at is not looked at by that."""
    causes = [Cause("Phases", frozenset({("a-1", "util"), ("a-*", "util")}), "Phases. They beat.")]
    pairs = (different("a-2", "util"), different("a-1", "util"), different("a-1", "loss"))
    case = Case("a-1", "g", "", 1, {})
    text = report([Outcome(case, pairs)], causes)
    differing = text.partition("## Pairs that differ, and why\n\n")[2].partition("\n## ")[0]
    head = ["| case | pair | ns-2 | Penstock | difference |", "| --- | --- | ---: | ---: | ---: |"]
    assert differing.splitlines() == [
        "Phases. They beat.",
        "",
        *head,
        "| a-1 | util | – | – | +9 % |",
        "",
        NOT_LOOKED_AT,
        "",
        *head,
        "| a-2 | util | – | – | +9 % |",
        "| a-1 | loss | – | – | +9 % |",
    ]


def test_the_shipped_causes_name_pairs_that_there_are() -> None:
    base = DATA
    causes = read_causes(base / "causes.md")
    assert len(causes) > 5
    assert all(cause.looked_at for cause in causes)
    there = {case.name for s in SHIPPED for case in read_cases(base / s.cases)}
    assert {case for cause in causes for case, _ in cause.looked_at} <= there
    named = [pair for cause in causes for pair in cause.looked_at]
    assert len(named) == len(set(named)), "each pair has one cause"


def test_shares_are_rounded_down() -> None:
    case = Case("c", "", "", 1, {})
    pairs = [Pair("c", "util", None, None, Verdict(i > 0, "", "")) for i in range(2000)]
    assert last_line([Outcome(case, tuple(pairs))]) == ("1999 of 2000 pairs agree (99.9 %); 0 cases not expressible")
