"""What `penstock show` says of a store: bootstrap intervals, comparisons paired by seed, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import SMALL, Command
from penstock.errors import Error
from penstock.judging.estimate import Estimate
from penstock.judging.intervals import bootstrap, ends
from penstock.judging.paired import Paired, adjusted, paired
from penstock.model.scenario import Scenario
from penstock.sweeps import store
from penstock.sweeps.figure import draw
from penstock.sweeps.show import Shown, show
from penstock.sweeps.sweep import sweep
from penstock.sweeps.tables import tables
from penstock.sweeps.values import order

GRID = (
    SMALL
    + """
[sweep]
"aqm.min_th" = [3, 5, 8]
"topology.bottleneck.delay" = ["100 ms", "20 ms"]

[[variant]]
name = "drops"
set = { "aqm.ecn" = false }

[[variant]]
name = "marks"
set = { "aqm.ecn" = true }
"""
)
SEEDS, DELAYS = range(1, 9), ("20 ms", "100 ms")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("show") / "runs"
    assert sweep(Scenario.from_toml(GRID), seeds=len(SEEDS), out=folder, jobs=2).ran == 12 * len(SEEDS)
    return folder


def value(folder: Path, metric: str, seed: int, **at: Any) -> float:
    """Of one run; keys with `_` for `.` and without what comes before the last one."""
    rows = store.read(folder).to_pylist()
    found = [row for row in rows if row["seed"] == seed and all(any(k.endswith(n) and row[k] == v for k in row)
             for n, v in at.items())]  # fmt: skip
    assert len(found) == 1
    return float(found[0][metric])


def differences(shown: Shown, metric: int = 0) -> dict[tuple[Any, ...], Paired]:
    found = {}
    for at, row in shown.rows.items():
        each = row[metric]
        assert isinstance(each, Paired)
        found[at] = each
    return found


def test_bootstrap_intervals_are_those_of_the_seeds(runs: Path) -> None:
    metric, at = "loss_ratio", {"delay": "20 ms", "variant": "marks", "min_th": "3 packets"}
    found = show(runs, metric, ci="bootstrap").rows["marks", "3 packets", "20 ms"][0]
    assert found == bootstrap([value(runs, metric, seed, **at) for seed in SEEDS])
    low, high = ends(found) or (0.0, 0.0)
    assert found.mean is not None
    assert 0 < low < found.mean < high
    assert high - found.mean != pytest.approx(found.mean - low, rel=0.01), "not symmetric"
    as_t = show(runs, metric).rows["marks", "3 packets", "20 ms"][0]
    assert isinstance(as_t, Estimate)
    assert as_t == Estimate.of([value(runs, metric, seed, **at) for seed in SEEDS])


def test_every_other_value_against_one_by_hand(runs: Path) -> None:
    shown = show(runs, "queue_mean_pkts", against="aqm.min_th=5")
    assert shown.axes == ["variant", "topology.bottleneck.delay", "aqm.min_th"]
    found = differences(shown)
    places = [(v, d, m) for v in ("drops", "marks") for d in DELAYS for m in ("3 packets", "8 packets")]
    assert list(found) == places
    by_hand = []
    for variant, delay, min_th in places:
        ours, theirs = (
            {s: value(runs, "queue_mean_pkts", s, variant=variant, delay=delay, min_th=each) for s in SEEDS}
            for each in (min_th, "5 packets")
        )
        by_hand.append(paired(ours, theirs))
    assert [each.difference for each in found.values()] == [each.difference for each in by_hand]
    assert [each.p for each in found.values()] == [each.p for each in by_hand]
    assert [each.p_adjusted for each in found.values()] == adjusted([each.p for each in by_hand])


def test_pooled_values_are_paired_too(runs: Path) -> None:
    shown = show(runs, "queue_mean_pkts", over="topology.bottleneck.delay", against="variant=drops")
    assert list(shown.pooled) == ["aqm.min_th"]
    found = differences(shown)
    assert list(found) == [(delay, "marks") for delay in DELAYS]
    per_seed = [
        sum(
            value(runs, "queue_mean_pkts", seed, variant="marks", delay="20 ms", min_th=m)
            - value(runs, "queue_mean_pkts", seed, variant="drops", delay="20 ms", min_th=m)
            for m in ("3 packets", "5 packets", "8 packets")
        )
        / 3
        for seed in SEEDS
    ]
    difference = found["20 ms", "marks"].difference
    assert difference.n == len(SEEDS)
    assert difference.mean == pytest.approx(sum(per_seed) / len(SEEDS))
    assert ends(difference) == pytest.approx(ends(Estimate.of(per_seed)))


def test_only_what_both_have_is_compared(tmp_path: Path) -> None:
    # Of "marks" all thresholds and three seeds, of "drops" one threshold and two seeds.
    out = tmp_path / "runs"
    scenario = Scenario.from_toml(GRID.split("[[variant]]", maxsplit=1)[0].replace("[3, 5, 8]", "[3, 8]"))
    sweep(scenario.set("aqm.ecn", True), seeds=3, out=out, over={"aqm.ecn": [True]})
    sweep(scenario, seeds=2, out=out, over=[{"aqm.ecn": False, "aqm.min_th": 3}])
    found = differences(show(out, "queue_mean_pkts", over="topology.bottleneck.delay", against="aqm.ecn=true"))
    alone = differences(show(out, "queue_mean_pkts", against="aqm.ecn=true"))
    assert list(found) == [("20 ms", False), ("100 ms", False)]
    for delay in DELAYS:
        assert found[delay, False].difference == alone["3 packets", delay, False].difference
        assert found[delay, False].difference.n == 2
    backwards = show(out, "queue_mean_pkts", over="topology.bottleneck.delay", against="aqm.ecn=false")
    for delay in DELAYS:
        there, back = found[delay, False].difference.mean, differences(backwards)[delay, True].difference.mean
        assert there is not None
        assert back == pytest.approx(-there)
    backwards = show(out, "queue_mean_pkts", against="aqm.ecn=false")
    nothing = differences(backwards)["8 packets", "20 ms", True]
    assert (nothing.difference.mean, nothing.p, nothing.p_adjusted) == (None, None, None)
    assert len(tables(backwards, "")[0].rows) == 4
    assert json.loads(backwards.json())["rows"][0]["at"]["aqm.ecn"] is True


def test_common_random_numbers_narrow_the_interval(tmp_path: Path) -> None:
    # What a web user asks for is up to the seed, and the same whatever the queue.
    web = SMALL.replace('kind = "ftp"\nflows = 3', 'kind = "web"\nsessions = 8\nthink = { exponential = "0.5 s" }')
    web = web.replace('start = { uniform = ["0 s", "0.1 s"] }\n', "").replace('duration = "5 s"', 'duration = "20 s"')
    sweep(Scenario.from_toml(web), seeds=12, out=tmp_path, over={"aqm.max_th": [15, 18]})
    by_seed = [
        {s: value(tmp_path, "utilization", s, max_th=each) for s in range(1, 13)}
        for each in ("18 packets", "15 packets")
    ]
    difference = differences(show(tmp_path, "utilization", against="aqm.max_th=15"))["18 packets",].difference
    low, high = ends(difference) or (0.0, 0.0)
    # The interval of two independent samples: the root of the sum of both squares.
    apart = [Estimate.of(list(each.values())).ci95 or 0.0 for each in by_seed]
    assert 0 < high - low < (apart[0] ** 2 + apart[1] ** 2) ** 0.5 * 2 * 0.8


def test_the_correction_is_over_all_metrics(runs: Path) -> None:
    shown = show(runs, against="variant=drops")
    cells = [each for row in shown.rows.values() for each in row if isinstance(each, Paired)]
    assert len(cells) == 6 * len(shown.metrics)
    assert [each.p_adjusted for each in cells] == adjusted([each.p for each in cells])
    alone = differences(show(runs, shown.metrics[0], against="variant=drops"))
    assert [each.p for each in alone.values()] == [each.p for each in differences(shown).values()]
    assert [each.p_adjusted for each in alone.values()] != [each.p_adjusted for each in differences(shown).values()]
    drawn = tables(shown, "")
    assert [str(each.title).split(",")[0] for each in drawn] == list(shown.metrics)
    assert all(f"{len(cells)} comparisons" in str(each.caption) for each in drawn)


@pytest.mark.parametrize(
    ("against", "message"),
    [
        ("variant", "must be AXIS=VALUE"),
        ("varaint=drops", "no axis is called 'varaint'; nearest: variant"),
        ("variant=drop", "no run has that value. Nearest: drops. There are: drops, marks"),
        ("aqm.min_th=6", "Nearest: 5 packets."),
        ("aqm.min_th=100", "Nearest: 8 packets."),
        ("topology.bottleneck.delay=5 s", "Nearest: 100 ms."),
        ("topology.bottleneck.delay=", "no run has that value"),
    ],
)
def test_wrong_baselines(runs: Path, against: str, message: str) -> None:
    with pytest.raises(Error) as error:
        show(runs, "utilization", against=against)
    assert message in str(error.value)


def test_one_value_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    sweep(Scenario.from_toml(SMALL), seeds=2, out=tmp_path, over={"aqm.min_th": [5]})
    with pytest.raises(Error, match=r"every run has aqm\.min_th = 5 packets"):
        show(tmp_path, "utilization", against="aqm.min_th=5")


@pytest.mark.parametrize("text", ["20 ms", "0.02 s", "20ms", "2e-2 s"])
def test_a_baseline_in_another_unit(runs: Path, text: str) -> None:
    shown = show(runs, "utilization", against=f"topology.bottleneck.delay={text}")
    assert shown.against == ("topology.bottleneck.delay", "20 ms")


def test_order_of_values() -> None:
    assert order("20ms") == order("20 ms") == (1, 0.02, "")
    assert order("5 packets")[:2] == order(5)[:2]
    assert order("20 parsec")[0] == order("drops")[0] == 2


def test_figures(runs: Path) -> None:
    # The bars end where the intervals do.
    shown = show(runs, "loss_ratio", over="aqm.min_th", by="variant", ci="bootstrap")
    ax = draw(shown).axes[0]
    for container, variant in zip(ax.containers, ("drops", "marks"), strict=True):
        bars = container[2][0].get_segments()
        wanted = [[100 * end for end in ends(shown.intervals(0)[f"{m} packets", variant]) or ()] for m in (3, 5, 8)]
        assert [list(bar[:, 1]) for bar in bars] == [pytest.approx(each) for each in wanted]
    compared = show(runs, "loss_ratio", over="aqm.min_th", against="variant=drops")
    ax = draw(compared).axes[0]
    assert any(np.array_equal(line.get_ydata(), [0.0, 0.0]) for line in ax.lines), "a line at zero"
    assert ax.get_ylabel() == "Loss [percentage points]"
    assert ax.get_title(loc="left") == "difference to variant drops"
    own = draw(show(runs, "loss_ratio", over="aqm.min_th", against="aqm.min_th=3")).axes[0]
    assert [tick.get_text() for tick in own.get_xticklabels()] == ["5 packets", "8 packets"]


def test_commands(penstock: Command, runs: Path, tmp_path: Path) -> None:
    document = json.loads(penstock("show", runs, "utilization", "--ci", "bootstrap", "--json").stdout)
    assert {key: document[key] for key in ("metrics", "pooled", "runs", "ci")} == {
        "metrics": ["utilization"], "pooled": [], "runs": 96, "ci": "bootstrap",
    }  # fmt: skip
    assert "against" not in document
    shown = show(runs, "utilization", ci="bootstrap")
    for row, (at, (each,)) in zip(document["rows"], shown.rows.items(), strict=True):
        assert tuple(row["at"].values()) == at
        assert list(row["at"]) == document["axes"]
        low, high = ends(each) or (None, None)  # type: ignore[arg-type]
        assert row["values"] == {"utilization": {"mean": each.mean, "low": low, "high": high, "n": 8}}  # type: ignore[union-attr]

    compared = penstock("show", runs, "--over", "aqm.min_th", "--against", "variant=drops", "--json")
    document = json.loads(compared.stdout)
    assert document["against"] == {"variant": "drops"}
    assert len(document["metrics"]) == 5
    cell = document["rows"][0]["values"]["utilization"]
    assert list(cell) == ["mean", "low", "high", "n", "p", "p_adjusted"]
    assert cell["low"] < cell["mean"] < cell["high"]

    table = penstock("show", runs, "delay_mean_s", "--over", "aqm.min_th", "--against", "variant=drops",
                     "--ci", "bootstrap", "--figure", "figure.svg")  # fmt: skip
    assert table.returncode == 0
    for text in ("difference [ms]", "p adjusted", "adjusted for 3 comparisons", "(Benjamini-Hochberg)"):
        assert text in " ".join(table.stdout.split())
    assert "difference to variant drops" in (tmp_path / "figure.svg").read_text()
    wrong = penstock("show", runs, "utilization", "--against", "aqm.min_th=9", "--figure", "none.svg")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Nearest: 8 packets" in wrong.stderr
    assert not (tmp_path / "none.svg").exists()
    assert penstock("show", runs, "utilization", "--ci", "normal").returncode == 2
