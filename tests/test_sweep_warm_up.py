"""Whether the measured window starts too early: warnings where it does, and none where it does not."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from conftest import SCENARIOS, Command
from penstock.sweeps import warm_up
from penstock.sweeps.warm_up import check, check_points, mser, of_series

#: Twenty flows that come one a second into a queue that fills up.
RAMP = """
duration = "60 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "20 ms", buffer = "100 packets" }
access = { rate = "100 Mbit/s", delay = { spread = ["1 ms", "9 ms"] } }
[[traffic]]
kind = "ftp"
flows = 20
start = { every = "1 s" }
"""
GRID = (
    RAMP
    + """
[sweep]
"traffic.0.flows" = [18, 20]
"topology.bottleneck.buffer" = [80, 100]
[[variant]]
name = "slow"
set = { "traffic.0.start" = { every = "1 s" } }
[[variant]]
name = "slower"
set = { "traffic.0.start" = { every = "1.1 s" } }
"""
)

# Four batches at 100, then 36 whose means alternate between 0 and 1: with the four cut the statistic is 9 / 36^2, with
# one more 8.743 / 35^2, with one fewer 9745 / 37^2.
STEP = [100.0] * 20 + ([0.0] * 5 + [1.0] * 5) * 18


def table(values: list[float], seed: int = 1) -> pa.Table:
    """A queue sampled every 0.1 s."""
    times = [i / 10 for i in range(len(values))]
    return pa.table({"seed": pa.array([seed] * len(values), pa.uint64()), "t_s": times, "queue_pkts": values})


def test_mser_5_by_hand() -> None:
    assert mser(STEP) == 20
    assert mser([*STEP, 100.0]) == 20, "what fills no batch is left out"
    assert mser([3.0] * 100) == 0
    assert mser([float(i) for i in range(200)]) is None, "still rising"
    assert mser(STEP[:95]) is None, "19 batches"


def test_against_the_window() -> None:
    # Two seeds whose mean is the step: it settles at sample 20.
    series = pa.concat_tables([table([x - 7 for x in STEP]), table([x + 7 for x in STEP], 2)])
    early = of_series(series, from_s=1.0)
    assert early.settled_s == pytest.approx(2.0)
    assert early.too_early
    # Ten samples of 100 among 190 whose others have mean 0.5.
    assert early.share == pytest.approx((1000 + 90) / 190 / 0.5 - 1)
    assert 'measure.from to "2 s"' in str(early)
    assert not of_series(series, from_s=2.0).too_early
    short = of_series(series, from_s=2.5, to_s=5.0)
    assert (short.settled_s, short.too_early) == (None, False), "ten batches are in the window"


def test_the_test_by_hand() -> None:
    # 20 samples at 0, then nine stretches of 20 at 9 and 11 in turn but for the last at 10: mean 10, s = 1.
    levels = [9.0, 11.0] * 4 + [10.0]
    values = [0.0] * 20 + [level for level in levels for _ in range(20)]
    found = of_series(table(values), 0.0)
    assert found.settled_s == pytest.approx(2.0)
    from scipy import stats

    assert found.p == pytest.approx(2 * stats.t.sf(10 / math.sqrt(1 + 1 / 9), 8))
    assert found.share == pytest.approx(-0.1)


def test_a_series_without_steady_state_warns() -> None:
    rising = of_series(table([float(i) for i in range(400)]), 0.0)
    assert rising.settled_s is None
    assert rising.too_early
    assert "run longer" in str(rising)


def test_small_change_is_not_worth_a_warning() -> None:
    found = of_series(table([100.5 + x / 200 for x in STEP]), 0.0)
    assert found.p < 0.01
    assert 0 < found.share < 0.01
    assert not found.too_early


@pytest.mark.parametrize("period", [7, 40, 130, 500])
def test_a_sawtooth_is_no_transient(period: int) -> None:
    assert not of_series(table([i % period + 5.0 for i in range(2000)]), 0.0).too_early


def test_steady_noise_warns_as_rarely_as_said() -> None:
    rng = np.random.default_rng(1)
    warned = 0
    for _ in range(200):
        # Correlated over about 20 samples, in its steady state from the start.
        noise = np.convolve(rng.normal(size=2100), np.exp(-np.arange(100) / 20), "valid")
        warned += of_series(table(list(50 + noise)), 0.0).too_early
    assert warned <= 8  # of 200 at 1 %: above it once in 5000


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_slow_ramp_from_zero_warns(seed: int) -> None:
    scenario = ps.Scenario.from_toml(RAMP)
    early = check(scenario, [seed])
    assert early.too_early
    assert early.from_s == 0.0
    assert early.settled_s is not None
    assert 2.0 < early.settled_s < 30.0
    assert not check(scenario.set("measure.from", "30 s"), [seed]).too_early


def test_a_window_that_starts_before_the_traffic() -> None:
    scenario = ps.Scenario.from_toml(RAMP.replace('{ every = "1 s" }', '"5 s"'))
    found = check(scenario.set("measure.from", "1 s"), 2)
    assert found.too_early
    assert found.settled_s is not None
    assert 5.0 <= found.settled_s < 15.0
    assert not check(scenario.set("measure.from", "20 s"), 2).too_early


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_no_scenario_of_ours_warns(file: Path) -> None:
    assert check_points(ps.Scenario.load(file)) == []


def test_a_sweep_names_three_points_and_counts_the_others() -> None:
    lines = check_points(ps.Scenario.from_toml(GRID), jobs=2)
    assert len(lines) == 4
    assert lines[0].startswith("warm-up: traffic.0.flows=18, topology.bottleneck.buffer=80, variant=slow: the queue")
    assert all("settles at" in line and "starts at 0 s" in line for line in lines[:3])
    assert re.fullmatch(r"warm-up: and [1-5] more points of the 8 looked at", lines[3])
    assert check_points(ps.Scenario.from_toml(GRID).set("measure.from", "30 s")) == []


def test_points_from_end_to_end() -> None:
    text = RAMP + '[sweep]\n"traffic.0.flows" = [1, 2, 3]\n"aqm.kind" = ["red", "pi"]\nsamples = 5\nmethod = "grid"\n'
    text += '"topology.bottleneck.delay" = { uniform = ["10 ms", "50 ms"] }\n'
    points = [name for name, _ in warm_up._spread(ps.Scenario.from_toml(text), 8)]
    assert len(points) == len(set(points)) == 8
    assert points[0] == "topology.bottleneck.delay=10 ms, traffic.0.flows=1, aqm.kind=red"
    assert points[-1] == "topology.bottleneck.delay=50 ms, traffic.0.flows=3, aqm.kind=pi"
    clash = RAMP + '[aqm]\nkind = "red"\nmin_th = 5\nmax_th = 15\n[sweep]\n"aqm.min_th" = [5, 20]\n'
    assert [name for name, _ in warm_up._spread(ps.Scenario.from_toml(clash), 8)] == ["aqm.min_th=5"], "20 is above 15"
    assert [name for name, _ in warm_up._spread(ps.Scenario.from_toml(RAMP), 8)] == [""]


def test_long_runs_are_not_done_once_more() -> None:
    scenario = ps.Scenario.from_toml(RAMP).set("duration", "20000 s")
    (line,) = check_points(scenario, limit_s=0.0)
    assert line.startswith("warm-up not checked: a run takes longer than 0 s")


def test_commands(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    done = penstock("sweep", "grid.toml", "--out", "runs")
    assert (done.returncode, done.stdout) == (0, "8 runs in runs: 8 new, 0 kept\n")
    assert done.stderr.count("warm-up: ") == 4
    assert penstock("sweep", "grid.toml", "--out", "runs").stderr == "", "nothing new has run"
    assert penstock("sweep", "grid.toml", "--out", "others", "--no-warm-up-check").stderr == ""
    late = penstock("sweep", "grid.toml", "--out", "others", "--set", "measure.from=30 s")
    assert (late.returncode, late.stderr) == (0, "")

    (tmp_path / "ramp.toml").write_text(RAMP)
    plain = penstock("run", "ramp.toml", "--json")
    assert plain.stderr == ""
    for more in ((), ("--out", "out"), ("--seeds", 2)):
        checked = penstock("run", "ramp.toml", "--json", "--warm-up-check", *more)
        assert "set measure.from" in checked.stderr
    assert penstock("run", "ramp.toml", "--json", "--warm-up-check").stdout == plain.stdout
    fine = penstock("run", "ramp.toml", "--json", "--warm-up-check", "--set", "measure.from=30 s")
    assert fine.stderr.startswith("warm-up: the queue has settled by")
