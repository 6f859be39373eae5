"""What the papers' modules share: figures, and comparisons at equal terms."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from penstock.model.scenario import Scenario
from penstock.reproduce import comparisons, draw
from penstock.reproduce.runs import Run, Runs
from penstock.show import style


class _Lasts:
    duration_s = 10.0


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
    assert draw._apart(wanted, gap=0.1) == pytest.approx(levels)


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
    # The look is that of the place in the order, not on the figure.
    assert [drawn[0].get_color() for drawn in ax.containers] == [style.look(1).colour, style.look(0).colour]


def test_traces_show_every_seed_and_the_first_one_s_average() -> None:
    def trace(level: int) -> pa.Table:
        return pa.table({"t_s": [0.0, 5.0], "queue_pkts": [0, level], "avg_pkts": [0.0, level / 2]})

    runs = Runs([run({"aqm": "RED"}, seed, trace(seed * 10)) for seed in (2, 1, 3)])
    figure = draw.traces(runs, "aqm", target=(4, 6), events={5.0: "more"})
    (ax,) = figure.axes
    drawn = [float(np.asarray(line.get_ydata())[-1]) for line in ax.lines]
    assert drawn[:4] == [20, 30, 10, 5]  # the others, then seed 1 in front, then its average
    assert [text.get_text() for text in ax.texts] == ["more"]
