"""The AMECN paper's module: its cases, claims and figures, on a few real runs and on traces made by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

from penstock.reproduce.execute import collect, ensure, identity
from penstock.reproduce.model import DEFAULT, Claim, Reading, Settings
from penstock.reproduce.papers.amecn.exhibits import return_s, settled_avg
from penstock.reproduce.papers.amecn.paper import PAPER
from penstock.reproduce.papers.amecn.scenarios import OPEN, dumbbell, load_change
from penstock.reproduce.runs import Run
from penstock.reproduce.verdict import judge

QUICK, SEEDS = Settings(looks=(2,), quick=True), (1, 2)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("kept")
    asked = [exhibit.cases for exhibit in PAPER.exhibits] + [claim.cases for claim in PAPER.claims]
    ensure([case for cases in asked for case in cases(QUICK, DEFAULT)], SEEDS, folder, 2, lambda done, total: None)
    return folder


def test_figures_are_drawn(kept: Path) -> None:
    for exhibit in PAPER.exhibits:
        assert isinstance(exhibit.show(collect(exhibit.cases(QUICK, DEFAULT), SEEDS, kept)), Figure)


def test_claims_are_numbers_about_exhibits_and_told_in_words(kept: Path) -> None:
    exhibits = {exhibit.key for exhibit in PAPER.exhibits}
    found = {}
    for claim in PAPER.claims:
        values = claim.values(collect(claim.cases(QUICK, DEFAULT), SEEDS, kept))
        assert len(values) == len(SEEDS), claim.key
        assert np.isfinite(values).all(), claim.key
        assert claim.exhibit in exhibits
        assert claim.key not in found
        found[claim.key] = judge(PAPER.key, claim, DEFAULT, values)
    text = PAPER.discussion(found)
    assert f"{found['fig12.throughput'].estimate:.3g}" in text


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.key)
def test_every_reading_of_a_claim_is_another_experiment(claim: Claim) -> None:
    def runs(reading: Reading) -> set[str]:
        return {identity(case) for case in claim.cases(QUICK, reading)}

    default = runs(DEFAULT)
    for reading in claim.readings:
        assert runs(reading) != default, reading.key


def test_every_reading_is_taken_somewhere() -> None:
    used = {reading for claim in PAPER.claims for reading in claim.readings}
    assert used == set(OPEN) - {DEFAULT}


def test_the_thresholds_follow_from_the_target() -> None:
    # 40 ms at 875 packets/s are 35 packets; min_th is half of that, and automatic.
    resolved = dumbbell("AMECN", 40, DEFAULT).resolved
    assert (resolved["aqm"]["target_delay"], resolved["aqm"]["min_th"]) == ("40 ms", None)
    assert resolved["aqm"]["mark_p"] == resolved["aqm"]["reverse"]["mark_p"] == 1.0


def traced(avg: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Run:
    scenario = load_change("AMECN", "rises", DEFAULT)
    table = pa.table({"t_s": np.arange(len(avg)) * 0.05, "avg_pkts": avg})
    return Run(labels={}, seed=1, scenario=scenario, metrics={}, groups=[], links={}, trace=table)


def test_the_return_is_when_the_coming_mean_is_in_range() -> None:
    t = np.arange(1000) * 0.05
    # 20 until 33 s, then 10: the mean of the 5 s from t on is 10 + 2 (33 - t), which is 12 at t = 32.
    back = traced(np.where(t < 33.0, 20.0, 10.0))
    assert return_s(back) == pytest.approx(7.0, abs=0.1)
    assert settled_avg(back) == 10.0
    never = traced(np.full(1000, 13.0))
    assert return_s(never) == 20.0
