"""What the papers' modules share: figures, and comparisons at equal terms."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from penstock import _penstock
from penstock.model.scenario import Scenario
from penstock.reproduce import comparisons, draw, ns2
from penstock.reproduce.runs import Run, Runs
from penstock.show import canvas, style
from penstock.validate.agreement import Value
from penstock.validate.ns2.command import DATA
from penstock.validate.ns2.files import read_cases, read_results
from penstock.validate.ns2.translate import scenario as translated


class _Lasts:
    duration_s = 10.0
    resolved: Any = None


def run(labels: dict[str, Any], seed: int, trace: pa.Table | None = None, **metrics: float) -> Run:
    return Run(
        labels=labels,
        seed=seed,
        scenario=cast(Scenario, _Lasts()),
        metrics=metrics,
        groups=[],
        links={},
        trace=trace,
    )


def sloped(aqm: str, seed: int, xs: tuple[float, ...], above: float) -> list[Run]:
    """A curve y = x + above through xs."""
    return [run({"aqm": aqm, "step": k}, seed, x=x, y=x + above) for k, x in enumerate(xs)]


def test_curves_are_compared_where_both_are() -> None:
    # Seed 1: y differs by 1, whatever x. Seed 2: the curves share no x.
    runs = Runs(
        [
            *sloped("A", 1, (10.0, 0.0), above=1.0),
            *sloped("B", 1, (5.0, 15.0), above=0.0),
            *sloped("A", 2, (0.0, 1.0), above=1.0),
            *sloped("B", 2, (2.0, 3.0), above=0.0),
        ]
    )
    found = comparisons.at_equal(runs, "x", "y", "step", {"aqm": "A"}, {"aqm": "B"}, steps=3)
    assert found.shape == (2, 3)
    assert found[0] == pytest.approx([1.0, 1.0, 1.0])
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize(
    ("wanted", "levels"),
    [
        ([0.2, 0.8], [0.2, 0.8]),
        ([0.5, 0.5], [0.45, 0.55]),
        ([0.5, 0.52, 0.9], [0.46, 0.56, 0.9]),
        ([0.0, 0.0], [0.0, 0.1]),
        ([0.98, 1.0], [0.9, 1.0]),
        ([0.3, 0.35, 0.44], [0.2633333, 0.3633333, 0.4633333]),
    ],
)
def test_labels_keep_apart(wanted: list[float], levels: list[float]) -> None:
    assert canvas.apart(wanted, gap=0.1) == pytest.approx(levels)


def test_curves_show_every_series_with_its_interval_and_name() -> None:
    runs = Runs(
        [
            run({"aqm": aqm, "n": n}, seed, q=float(n * at + seed))
            for at, aqm in enumerate(("RED", "ARED"))
            for n in (1, 2)
            for seed in (1, 2, 3)
        ]
    )
    figure = draw.curves(runs, "n", "q", "aqm", xlabel="flows", ylabel="queue", scale=10, order=("ARED", "RED"))
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.texts] == ["RED", "ARED"]
    assert [list(drawn[0].get_ydata()) for drawn in ax.containers] == [[20.0, 20.0], [30.0, 40.0]]
    # A discipline has its own look, whatever the order.
    assert [drawn[0].get_color() for drawn in ax.containers] == [colour("RED"), colour("ARED")]


def colour(name: str) -> str:
    look = style.discipline(name)
    assert look is not None
    return look.colour


def test_a_series_without_a_look_of_its_own_has_that_of_its_place_in_the_order() -> None:
    runs = Runs([run({"aqm": "slow", "n": n}, 1, q=1.0) for n in (1, 2)])
    (ax,) = draw.curves(runs, "n", "q", "aqm", xlabel="", ylabel="", order=("fast", "slow")).axes
    assert ax.containers[0][0].get_color() == style.look(1).colour


def test_no_two_disciplines_look_the_same() -> None:
    names = [*style._DISCIPLINES, "AMECN, repaired"]
    looks = [style.discipline(name) for name in names]
    assert style.discipline("AMECN repaired") != style.discipline("AMECN")
    assert style.discipline("NRED, n = 2") == style.discipline("NRED")
    assert len({(look.line, look.marker, look.colour) for look in looks[:-1] if look is not None}) == len(names) - 1


def test_what_the_paper_prints_is_open_and_what_ns2_measured_is_a_cross(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "measured", lambda run, q, case: Value(5.0, 0.5, 10) if run.labels["n"] == 2 else None)
    runs = Runs([run({"aqm": "RED", "n": n}, seed, q=1.0) for n in (1, 2) for seed in (1, 2)])
    (ax,) = draw.curves(runs, "n", "q", "aqm", xlabel="", ylabel="", scale=2.0, printed={"RED": [(1.0, 7.0)]}).axes
    _, crosses = ax.containers
    assert np.array_equal(crosses[0].get_xydata(), [[2.0, 10.0]])
    assert crosses[0].get_marker() == "x"
    (printed,) = [line for line in ax.lines if line.get_fillstyle() == "none"]
    assert np.array_equal(printed.get_xydata(), [[1.0, 7.0]])
    assert ax.get_title("left") == "open marks: printed in the paper; ×: ns-2,\nsame case"
    assert [text.get_text() for text in ax.texts] == ["RED"], "the crosses are named by the curve"


def test_ns2_is_found_by_the_scenario_and_not_asked_for_what_it_has_not() -> None:
    case = next(each for each in read_cases(DATA / "ns2-cases.json") if each.name == "cal-aqm-red-vegas")
    document = {**translated(case.name, case.args), "seed": 7}
    there = read_results(DATA / "ns2.csv")["cal-aqm-red-vegas"]

    class Same(_Lasts):
        resolved = json.loads(_penstock.Scenario.from_json(json.dumps(document)).resolved_json())

    ours = replace(run({}, 1, utilization=0.5, throughput_bps=3e6), scenario=cast(Scenario, Same()))
    lost = ns2.measured(ours, "loss_ratio")
    assert lost is not None
    assert lost.mean == there["loss"].mean
    assert lost.half == pytest.approx(there["loss"].half)
    throughput = ns2.measured(ours, lambda run: 1e-6 * (run.metrics["throughput_bps"] or 0.0))
    assert throughput is not None
    assert throughput.mean == pytest.approx(6.0 * there["util"].mean)
    assert ns2.measured(ours, lambda run: sum(group["goodput_bps"] or 0.0 for group in run.groups)) is None
    assert ns2.measured(ours, "delay_var_s2") is None
    assert ns2.measured(run({}, 1), "loss_ratio") is None
    assert ns2.measured(run({}, 1), "loss_ratio", "cal-aqm-red-vegas") == lost


def test_traces_show_every_seed_and_the_mean_of_their_averages() -> None:
    def trace(level: int) -> pa.Table:
        return pa.table({"t_s": [0.0, 5.0], "queue_pkts": [0, level], "avg_pkts": [0.0, level / 2]})

    runs = Runs([run({"aqm": "RED"}, seed, trace(seed * 10)) for seed in (2, 1, 3)])
    figure = draw.traces(runs, "aqm", target=(4, 6), events={5.0: "more"})
    (ax,) = figure.axes
    drawn = [float(np.asarray(line.get_ydata())[-1]) for line in ax.lines]
    assert drawn[:4] == [20, 30, 10, 10]  # the others, then seed 1 in front, then the mean of the averages
    assert ax.get_title("left") == "RED"
    assert ax.get_ylim()[1] == pytest.approx(30 * 1.05 * 1.12)
    assert [text.get_text() for text in ax.texts] == ["more"]
