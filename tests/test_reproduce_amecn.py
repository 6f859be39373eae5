"""The AMECN paper's module: its cases, claims and figures, on a few real runs and on traces made by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from helpers.reproduced import differences_from_ns2
from penstock.reproduce.execute import collect, ensure, identity
from penstock.reproduce.model import Claim, MostBelow, Settings
from penstock.reproduce.papers.amecn.claims import BOTH, exponent
from penstock.reproduce.papers.amecn.claims_ared import at_equal_efficiency, first_at
from penstock.reproduce.papers.amecn.conformance import (
    one_level,
    receiver_echoes,
    router_marks,
    sender_cuts,
    with_marks,
)
from penstock.reproduce.papers.amecn.exhibits import after_change, off_target, reaches_s, return_s, settled_avg
from penstock.reproduce.papers.amecn.paper import PAPER
from penstock.reproduce.papers.amecn.scenarios import OPEN, dumbbell, load_change
from penstock.reproduce.readings import DEFAULT, Reading
from penstock.reproduce.runs import Labels, Run, Runs
from penstock.reproduce.verdict import FAILS, HOLDS, judge

TWO = Settings.of_seeds(2).quickly()
BY_KEY = {claim.key: claim for claim in PAPER.claims}


def test_the_papers_claims_say_where_they_stand() -> None:
    assert all(claim.place for claim in PAPER.claims if claim.of == "paper")
    assert {claim.key for claim in PAPER.claims if claim.of != "paper"} == {"fig10.closer", "fig12.long"}
    printed = {claim.key: claim.printed for claim in PAPER.claims if claim.printed is not None}
    assert printed["fig6.throughput"] == pytest.approx(96.3 - 94.5)
    assert printed["fig8.throughput"] == pytest.approx(94.5 - 93.4)
    assert (printed["fig3.rises"], printed["fig3.falls"]) == (24.5, 20.1)


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.key)
def test_every_reading_of_a_claim_is_another_experiment(claim: Claim) -> None:
    def runs(reading: Reading) -> set[str]:
        return {identity(case) for case in claim.cases(TWO, reading)}

    default = runs(DEFAULT)
    for reading in claim.readings:
        assert runs(reading) != default, reading.key


def test_every_reading_is_taken_somewhere() -> None:
    used = {reading for claim in PAPER.claims for reading in claim.readings}
    assert used == {*OPEN, BOTH} - {DEFAULT}


def test_both_readings_of_section_4_2_may_be_searched_and_bring_figures_5_and_6(tmp_path: Path) -> None:
    assert OPEN.permitted(BOTH.parts)
    seeds = range(1, 31)
    verdicts = {}
    for key in ("fig6.settled", "fig6.return", "fig5.level", "fig6.level", "fig6.drops"):
        claim = BY_KEY[key]
        cases = list(claim.cases(TWO, BOTH))
        ensure(cases, seeds, tmp_path, 2, lambda done, total: None)
        verdicts[key] = judge(PAPER.key, claim, BOTH, claim.values(collect(cases, seeds, tmp_path))).verdict
    assert verdicts.pop("fig6.drops") != HOLDS
    assert set(verdicts.values()) == {HOLDS}


def test_dropping_above_0_1_brings_the_average_back(tmp_path: Path) -> None:
    (reading,) = OPEN.keyed("mark_p=0.1")
    for key in ("fig6.settled", "fig6.return"):
        cases = list(BY_KEY[key].cases(TWO, reading))
        ensure(cases, range(1, 21), tmp_path, 2, lambda done, total: None)
        values = BY_KEY[key].values(collect(cases, range(1, 21), tmp_path))
        assert judge(PAPER.key, BY_KEY[key], reading, values).verdict == HOLDS


def test_what_contradicts_the_paper_is_searched_by_nobody() -> None:
    assert not {"segment=500B", "reverse=none"} & set(OPEN.keys_in_order())
    forward = load_change("AMECN", "rises", OPEN.keyed("reverse=none")[0]).resolved["traffic"]
    assert [flow["name"] for flow in forward] == ["all along", "change"]
    short = load_change("AMECN", "rises", OPEN.keyed("segment=500B")[0]).resolved["traffic"]
    assert {flow["segment"] for flow in short} == {"500 B"}


@pytest.mark.parametrize(
    ("case", "aqm", "load", "reading"),
    [
        ("amecn-inc-mecn-base-w0050", "MECN", "rises", "default"),
        ("amecn-dec-amecn-base-w0050", "AMECN", "falls", "default"),
        ("amecn-inc-amecn-latch-w0050", "AMECN", "rises", "latch"),
        ("amecn-dec-amecn-mid1125-w0050", "AMECN", "falls", "mid_th=11.25"),
        ("amecn-inc-mecn-norev-w0050", "MECN", "rises", "reverse=none"),
    ],
)
def test_scenarios_are_what_ns2_ran(case: str, aqm: str, load: str, reading: str) -> None:
    ours = load_change(aqm, load, OPEN.joint(*([] if reading == "default" else [reading])))
    assert differences_from_ns2(case, ours, "ns2x-cases.json") <= {".measure.to"}


def test_the_thresholds_follow_from_the_target() -> None:
    # 40 ms at 875 packets/s are 35 packets; min_th is half of that, and automatic.
    resolved = dumbbell("AMECN", 40, DEFAULT).resolved
    assert (resolved["aqm"]["target_delay"], resolved["aqm"]["min_th"]) == ("40 ms", None)
    assert resolved["aqm"]["mark_p"] == resolved["aqm"]["reverse"]["mark_p"] == 1.0


def traced(avg: np.ndarray[tuple[int], np.dtype[np.float64]], column: str = "avg_pkts", **labels: str) -> Run:
    scenario = load_change("AMECN", "rises", DEFAULT)
    table = pa.table({"t_s": np.arange(len(avg)) * 0.05, column: avg})
    return Run(labels=labels, seed=1, scenario=scenario, metrics={}, groups=[], links={}, trace=table)


def test_the_return_is_when_the_coming_mean_is_in_range() -> None:
    t = np.arange(1000) * 0.05
    # 20 until 33 s, then 10: the mean of the 5 s from t on is 10 + 2 (33 - t), which is 12 at t = 32.
    back = traced(np.where(t < 33.0, 20.0, 10.0))
    assert return_s(back) == pytest.approx(7.0, abs=0.1)
    assert (settled_avg(back), after_change(back), off_target(back)) == (10.0, -10.0, 0.5)
    never = traced(np.full(1000, 13.0))
    assert return_s(never) == math.inf
    claim = BY_KEY["fig6.return"]
    assert claim.rule == MostBelow(18.0)
    one = judge("amecn", claim, DEFAULT, [return_s(never)] * 10)
    assert (one.verdict, one.note) == (FAILS, "never in 10 of 10")


def test_p_max_reaches_a_bound_or_never() -> None:
    rising = np.minimum(np.arange(1000) * 0.001, 0.5)
    assert reaches_s(traced(rising, "p1_max", way="rises")) == pytest.approx(25.0)
    assert reaches_s(traced(0.4 * rising, "max_p", way="rises")) == math.inf
    assert reaches_s(traced(0.5 - rising, "max_p", way="falls")) == pytest.approx(24.5, abs=0.05)


def made(labels: Labels, **metrics: float) -> Run:
    scenario = load_change("AMECN", "rises", DEFAULT)
    return Run(labels=labels, seed=1, scenario=scenario, metrics=metrics, groups=[], links={}, trace=None)


def test_the_exponent_of_a_power_law_is_found() -> None:
    runs = Runs([made({"p_max": p}, avg=5.0 + 2.0 / p) for p in (0.05, 0.1, 0.2, 0.4)])
    assert exponent(lambda run: run.metrics["avg"] or 0.0, less=5.0)(runs) == pytest.approx([-1.0])
    (none,) = exponent(lambda run: run.metrics["avg"] or 0.0, less=20.0)(runs)
    assert math.isnan(none)  # type: ignore[arg-type]


def test_delays_are_compared_where_a_utilization_is_first_reached() -> None:
    assert first_at([(0.90, 10.0), (0.94, 30.0), (0.92, 50.0)], 0.92) == pytest.approx(20.0)
    assert first_at([(0.90, 10.0), (0.94, 30.0)], 0.80) == 10.0
    assert math.isnan(first_at([(0.90, 10.0)], 0.95))
    points = {"AMECN": [(0.90, 10.0), (0.94, 30.0)], "ARED": [(0.90, 20.0), (0.94, 60.0)]}
    runs = Runs(
        [
            made({"aqm": aqm, "target_ms": i}, utilization=used, queue_mean_pkts=queue)
            for aqm, curve in points.items()
            for i, (used, queue) in enumerate(curve)
        ]
    )
    assert list(at_equal_efficiency(runs).values()) == [pytest.approx([v]) for v in (-10, -15, -20, -25, -30)]  # type: ignore[union-attr]


def test_tables_1_to_3_are_what_packets_and_windows_do(tmp_path: Path) -> None:
    def runs(cases: object) -> Runs:
        listed = list(cases(TWO, DEFAULT))  # type: ignore[operator]
        ensure(listed, [1], tmp_path, 2, lambda done, total: None)
        return collect(listed, [1], tmp_path)

    marked = runs(with_marks)
    for seen, counted in [row[3:5] for row in router_marks(marked).rows[1:3]]:
        assert int(seen) == int(counted) > 0
    echoes = receiver_echoes(marked).rows
    assert [row[2] == row[3] for row in echoes[2:]] == [True, True]
    assert (echoes[0][2], int(echoes[0][4]) > 0) == ("0", True)
    assert [row[2] for row in sender_cuts(runs(one_level)).rows[1:3]] == ["−20.0 %", "−40.0 %"]
