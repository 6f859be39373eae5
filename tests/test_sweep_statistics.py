"""Statistics and designs of sweeps, by hand."""

from __future__ import annotations

import math
import random
import re

import pytest

import penstock as ps
from penstock.judging.estimate import Estimate
from penstock.judging.intervals import bootstrap, ends
from penstock.judging.paired import adjusted, corrected, paired
from penstock.sweeps.design import samples, unit_cube
from penstock.sweeps.until import Goal, Stopping, Until

SCENARIO = """
duration = "2 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "1 Mbit/s", delay = "1 ms", buffer = 9 }
[aqm]
kind = "red"
[[traffic]]
kind = "ftp"
[sweep]
"""


def sampled(text: str) -> list[dict[str, object]]:
    return list(samples(ps.Scenario.from_toml(SCENARIO + text).core))


def test_estimate_leaves_out_runs_without_the_metric() -> None:
    found = Estimate.of([1.0, None, 2.0, 3.0])
    assert (found.mean, found.n) == (2.0, 3)
    # s = 1, t(0.975, 2) = 4.302653
    assert found.ci95 == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)


def test_bootstrap_is_seeded_and_sees_skew() -> None:
    values = [0.0] * 15 + [1.0, 2.0, 3.0, 5.0, 9.0]
    found = bootstrap(values)
    assert found.mean == 1.0
    assert found.low is not None
    assert found.high is not None
    assert 0.0 < found.low < 1.0 < found.high < 9.0
    assert found.high - 1.0 > 1.0 - found.low, "the long side is the skewed one"
    assert bootstrap(values) == found
    assert bootstrap(values, seed=2) != found


@pytest.mark.parametrize(("values", "ends"), [([], (None, None)), ([4.0], (None, None)), ([4.0, 4.0], (4.0, 4.0))])
def test_bootstrap_of_what_has_no_spread(values: list[float], ends: tuple[float, float]) -> None:
    found = bootstrap(values)
    assert (found.low, found.high) == ends


def test_pairs_by_hand() -> None:
    # Differences 2, 1, 3: mean 2, s = 1, t = 2 sqrt(3); with two degrees of freedom p = 1 - t / sqrt(t^2 + 2).
    found = paired({3: 7.0, 1: 3.0, 2: 5.0, 4: None, 5: 1.0}, {1: 1.0, 2: 4.0, 3: 4.0, 4: 1.0, 9: 0.0})
    assert (found.difference.mean, found.difference.n) == (2.0, 3)
    half = 4.302653 / math.sqrt(3)
    assert ends(found.difference) == pytest.approx((2.0 - half, 2.0 + half), rel=1e-6)
    assert found.p == pytest.approx(1 - math.sqrt(12 / 14), rel=1e-12)


@pytest.mark.parametrize(("other", "p"), [([1.0, 2.0], 1.0), ([0.0, 1.0], 0.0), ([1.0], None), ([], None)])
def test_pairs_without_spread(other: list[float], p: float | None) -> None:
    assert paired({0: 1.0, 1: 2.0}, dict(enumerate(other))).p == p


def test_pairing_takes_out_what_a_seed_does_to_both() -> None:
    rng = random.Random(1)
    seeds = {s: rng.gauss(0, 100) for s in range(10)}
    ours = {s: each + 1 + rng.gauss(0, 0.1) for s, each in seeds.items()}
    found = paired(ours, seeds)
    low, high = ends(found.difference) or (0.0, 0.0)
    assert 0.8 < low < high < 1.2
    assert (Estimate.of(list(ours.values())).ci95 or 0) > 50


def test_pairs_with_a_bootstrap_interval() -> None:
    differences = [0.0] * 8 + [1.0, 5.0]
    ours = {seed: 10.0 * seed + each for seed, each in enumerate(differences)}
    found = paired(ours, {seed: 10.0 * seed for seed in range(10)}, "bootstrap")
    assert found.difference == bootstrap(differences)
    assert found.p == paired(ours, {seed: 10.0 * seed for seed in range(10)}).p


def test_adjusted_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04, times 4 / rank: 0.02, 0.02, 0.04, 0.04.
    assert adjusted([0.01, 0.04, None, 0.03, 0.005]) == pytest.approx([0.02, 0.04, None, 0.04, 0.02])
    assert adjusted([None]) == [None]
    assert adjusted([]) == []


def test_p_values_are_scipy_s() -> None:
    """They are worked out here because `scipy.stats` takes half a second to load."""
    from scipy import stats

    drawn = random.Random(5)
    tables = [[drawn.gauss(0.5, 1.0) for _ in range(n)] for n in range(2, 30)]
    p = [paired(dict(enumerate(t)), dict.fromkeys(range(len(t)), 0.0)).p for t in tables]
    assert p == pytest.approx([stats.ttest_1samp(t, 0.0).pvalue for t in tables], rel=1e-12)
    assert adjusted(p) == pytest.approx(stats.false_discovery_control(p, method="bh").tolist(), rel=1e-12)


def test_a_table_of_comparisons_is_corrected_as_a_whole() -> None:
    base = {1: 1.0, 2: 4.0, 3: 4.0}
    table = corrected(
        {"a": paired({1: 3.0, 2: 5.0, 3: 7.0}, base), "same": paired(base, base), "one": paired({}, base)}
    )
    assert table["a"].p_adjusted == pytest.approx(2 * (1 - math.sqrt(12 / 14)))
    assert (table["same"].p_adjusted, table["one"].p_adjusted) == (1.0, None)


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("utilization ±0.5%", Goal("utilization", 0.005, relative=True)),
        (" delay_mean_s+-1 ms ", Goal("delay_mean_s", 0.001, relative=False)),
        ("goodput_bps +/- 10 kbit/s", Goal("goodput_bps", 10_000.0, relative=False)),
        ("queue_mean_pkts ±2", Goal("queue_mean_pkts", 2.0, relative=False)),
    ],
)
def test_goals(text: str, goal: Goal) -> None:
    assert Goal.parse(text) == goal


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("utilization 1%", "must be a metric and a half-width"),
        ("utilisation ±1%", "no metric is called 'utilisation'; nearest: utilization"),
        ("delay_mean_s ±1", "unit"),
        ("delay_mean_s ±1 kbit/s", "unknown unit"),
        ("jain ±x", "'x' is no number"),
        ("jain ±0%", "above zero"),
        ("jain ±nan", "above zero"),
    ],
)
def test_wrong_goals(text: str, message: str) -> None:
    with pytest.raises(ps.Error, match=re.escape(message)):
        Goal.parse(text)


@pytest.mark.parametrize(
    ("goal", "least", "most", "needed", "narrow"),
    [
        # 9, 11, 9, … : t s / sqrt(n) is 1.84, 1.36, 1.150, 0.989, 0.894 for n = 4 … 8.
        ("queue_mean_pkts ±1", 2, 100, 7, True),
        ("queue_mean_pkts ±10%", 2, 100, 8, True),  # at n = 7 the mean is 9.857, a tenth of it below 0.989
        ("queue_mean_pkts ±1", 9, 100, 9, True),
        ("queue_mean_pkts ±1", 2, 6, 6, False),
        ("fct_p50_s ±1 s", 2, 12, 12, False),  # applies in no run
        ("queue_mean_pkts ±1, fct_p50_s ±1 s", 2, 12, 12, False),
    ],
)
def test_stopping_needs_the_same_seeds_in_any_order(
    goal: str, least: int, most: int, needed: int, narrow: bool
) -> None:
    for shuffled in range(5):
        stopping = Stopping(Until.parse(goal, least=least, most=most), first_seed=40)
        seeds = list(range(40, 40 + 20))
        random.Random(shuffled).shuffle(seeds)
        for seed in seeds:
            stopping.add(seed, {"queue_mean_pkts": 9.0 + 2.0 * (seed % 2), "fct_p50_s": None})
        assert (stopping.done, stopping.n, stopping.narrow) == (True, needed, narrow)


def test_a_failed_run_counts_as_a_seed() -> None:
    stopping = Stopping(Until.parse("jain ±1", least=2, most=3), first_seed=1)
    assert [stopping.add(1, None), stopping.add(2, {"jain": 1.0}), stopping.add(3, None)] == [False, False, True]
    assert not stopping.narrow


@pytest.mark.parametrize(("least", "most"), [(1, 5), (6, 5)])
def test_until_has_room(least: int, most: int) -> None:
    with pytest.raises(ps.Error, match="at least two"):
        Until((Goal("jain", 1.0, relative=False),), least, most)


def test_a_latin_hypercube_has_one_sample_in_each_slice() -> None:
    cube = unit_cube("lhs", 50, 3, 7)
    for axis in range(3):
        assert sorted(math.floor(50 * u) for u in cube[:, axis]) == list(range(50))
    points = sampled(
        '"aqm.max_p" = { log_uniform = [0.001, 0.1] }\ntraffic.0.flows = { integer = [1, 4] }\nsamples = 8'
    )
    slices = [math.floor(8 * math.log(float(str(p["aqm.max_p"])) / 0.001, 100)) for p in points]
    assert sorted(slices) == list(range(8))
    assert sorted(int(str(p["traffic.0.flows"])) for p in points) == [1, 1, 2, 2, 3, 3, 4, 4]


def test_designs_depend_on_their_seed_alone() -> None:
    text = (
        '"topology.bottleneck.delay" = { uniform = ["1 ms", "100 ms"] }\nsamples = 5\nmethod = "random"\ndesign_seed = '
    )
    assert sampled(text + "1") == sampled(text + "1") != sampled(text + "2")
    assert sampled(text.replace("= 5", "= 9") + "1")[:5] == sampled(text + "1")


def test_a_grid_of_ranges() -> None:
    text = '"topology.bottleneck.delay" = { uniform = ["1 ms", "0.101 s"] }\ntraffic.0.flows = { integer = [1, 2] }\n'
    found = [tuple(point.values()) for point in sampled(text + 'samples = 3\nmethod = "grid"')]
    assert found == [(d, n) for d in ("1 ms", "51 ms", "101 ms") for n in (1, 2)], "two whole numbers, each once"
    assert [tuple(p.values()) for p in sampled(text + 'samples = 1\nmethod = "grid"')] == [("51 ms", 2)]


def test_few_whole_numbers_come_once_each() -> None:
    found = sampled('traffic.0.flows = { integer = [1, 3] }\nsamples = 100\nmethod = "random"')
    assert sorted(int(str(p["traffic.0.flows"])) for p in found) == [1, 2, 3]


def test_without_ranges_there_is_one_point_that_changes_nothing() -> None:
    assert sampled('"aqm.max_p" = [0.1, 0.2]') == [{}]


def test_ranges_from_python() -> None:
    scenario = ps.Scenario.from_toml(SCENARIO).set_all(
        {"sweep.aqm.max_p": {"log_uniform": [0.001, 0.5]}, "sweep.samples": 4}
    )
    assert len(list(samples(scenario.core))) == 4
