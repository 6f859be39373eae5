"""The figures of an evaluation: all candidates together, or one beside DropTail."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.evaluation.candidates import BASELINE
from penstock.evaluation.numbers import Array, Numbers
from penstock.evaluation.points import Where
from penstock.evaluation.rfc import experiment
from penstock.runs.measures import QUANTILES
from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The share of runs that an ellipse is to hold (2.7: 1 − ε).
INSIDE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A figure of the page.

    needs: the experiments whose runs it shows.
    draw: makes it for these candidates.
    """

    key: str
    section: str
    title: str
    caption: str
    needs: Sequence[str]
    draw: Callable[[Numbers, Sequence[str]], Figure]


def looks(names: Sequence[str]) -> dict[str, style.Look]:
    """The look of each candidate: DropTail is always the same."""
    others = [name for name in names if name != BASELINE]
    return {name: style.look(i) for i, name in enumerate(others)} | {
        BASELINE: style.Look(colour=style.MUTED, line="solid", marker="x")
    }


def _axes(columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, columns, figsize=size, squeeze=False)
    plt.close(figure)
    return figure, list(axes[0])


def plane(numbers: Numbers, names: Sequence[str]) -> Figure:
    """Delay and goodput: a point a run, the median, the ellipse that holds half of the runs (2.7)."""
    with style.context():
        figure, axes = _axes(3, (11.0, 3.6))
        for ax, key in zip(axes, ("mild", "medium", "heavy"), strict=True):
            for name, look in looks(names).items():
                where = Where(name, key)
                delay, goodput = 1e3 * numbers.metric(where, "delay_mean_s"), numbers.metric(where, "goodput_bps") / 1e6
                ax.plot(delay, goodput, look.marker, color=look.colour, ms=2.5, alpha=0.5)
                ax.plot(np.median(delay), np.median(goodput), look.marker, color=look.colour, ms=6, label=name)
                _ellipse(ax, delay, goodput, look.colour)
            ax.set_title(experiment(key).title)
            ax.set_xlabel("mean queueing delay [ms]")
            ax.invert_xaxis()
        axes[0].set_ylabel("goodput [Mbit/s]")
        _legend(figure, axes[-1], names)
    return figure


def _ellipse(ax: Axes, x: Array, y: Array, colour: str) -> None:
    """The ellipse of the normal law that fits best, which holds the share `INSIDE`; its tilt is the covariance."""
    from matplotlib.patches import Ellipse

    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return
    values, vectors = np.linalg.eigh(np.cov(x, y, bias=True))
    width, height = 2 * np.sqrt(np.maximum(values, 0) * -2 * math.log(1 - INSIDE))
    angle = math.degrees(math.atan2(vectors[1, 0], vectors[0, 0]))
    ax.add_patch(Ellipse((x.mean(), y.mean()), width, height, angle=angle, fill=False, ec=colour, lw=1))


def delays(numbers: Numbers, names: Sequence[str]) -> Figure:
    """The distribution of the queueing delay under mild, medium and heavy congestion."""
    with style.context():
        figure, axes = _axes(3, (11.0, 3.2))
        for ax, key in zip(axes, ("mild", "medium", "heavy"), strict=True):
            for name, look in looks(names).items():
                where = Where(name, key)
                at = [1e3 * np.nanmean(numbers.quantile(where, "delay_s", q)) for q in QUANTILES]
                ax.plot(at, np.array(QUANTILES) / 100, color=look.colour, ls=look.line, label=name)
            ax.set_title(experiment(key).title)
            ax.set_xlabel("queueing delay [ms]")
            ax.set_ylim(0, 1)
        axes[0].set_ylabel("share of the packets")
        _legend(figure, axes[-1], names)
    return figure


def round_trips(numbers: Numbers, names: Sequence[str]) -> Figure:
    """The goodput of both categories over the second one's round trip (6.2)."""
    of = experiment("rtt-fairness")
    with style.context():
        figure, axes = _axes(2, (9.0, 3.2))
        for name, look in looks(names).items():
            for ax, group in zip(axes, (0, 1), strict=True):
                found = [numbers.group(Where(name, of.key, v.key), group, "goodput_bps").mean() for v in of.variants]
                at = [v.at or 0.0 for v in of.variants]
                ax.plot(
                    at, np.array(found) / 1e6, color=look.colour, ls=look.line, marker=look.marker, ms=4, label=name
                )
        for ax, title in zip(axes, ("The flow of 100 ms", "The other one"), strict=True):
            ax.set_title(title)
            ax.set_xlabel("round trip of the other [ms]")
            ax.set_xscale("log")
            ax.set_xticks([5, 10, 50, 100, 560], ["5", "10", "50", "100", "560"])
            ax.set_ylim(0)
        axes[0].set_ylabel("goodput [Mbit/s]")
        _legend(figure, axes[-1], names)
    return figure


def over_time(key: str) -> Callable[[Numbers, Sequence[str]], Figure]:
    """The queueing delay over time, mean of the runs, with the changes marked."""

    def draw(numbers: Numbers, names: Sequence[str]) -> Figure:
        import matplotlib.pyplot as plt

        of = experiment(key)
        shown = [name for name in names if name != BASELINE] or [BASELINE]
        columns = min(4, len(shown))
        rows = -(-len(shown) // columns)
        with style.context():
            size = (2.75 * columns if columns > 1 else 8.0, 1.8 * rows + 0.5)
            figure, axes = plt.subplots(rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False)
            plt.close(figure)
            below = _mean_series(numbers, BASELINE, key)
            for ax, name in zip(axes.flat, shown, strict=False):
                if name != BASELINE:
                    ax.plot(*below, color=style.MUTED, lw=0.8)
                ax.plot(*_mean_series(numbers, name, key), color=style.look(0).colour, lw=1.2)
                for t in of.changing:
                    ax.axvline(t, color=style.GRID, lw=1, zorder=0)
                ax.set_title(name)
                ax.set_yscale("log")
            for ax in axes.flat[len(shown) :]:
                ax.set_visible(False)
            figure.supxlabel("time [s]", fontsize=9.5)
            figure.supylabel("queueing delay [ms]", fontsize=9.5)
        return figure

    return draw


def _mean_series(numbers: Numbers, name: str, key: str) -> tuple[list[float], list[float]]:
    """Seconds, and the mean over the runs of the delay in that second, in milliseconds."""
    total: dict[int, list[float]] = {}
    for at, value in numbers.over_time(Where(name, key), "delay_over_time_s"):
        for t, v in zip(at.tolist(), value.tolist(), strict=True):
            total.setdefault(int(t), []).append(v)
    return [t + 0.5 for t in sorted(total)], [1e3 * float(np.mean(total[t])) for t in sorted(total)]


def _legend(figure: Figure, ax: Axes, names: Sequence[str]) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, ncols=1 + (len(names) > 14))


DRAWINGS: Sequence[Drawing] = (
    Drawing(
        key="plane",
        section="2.7",
        title="Delay and goodput",
        caption="A small mark is a run, a large one the median of the runs; the ellipse holds half of the runs of the "
        "normal law that fits them. Up and to the right is better.",
        needs=["mild", "medium", "heavy"],
        draw=plane,
    ),
    Drawing(
        key="delays",
        section="2.6",
        title="Queueing delays",
        caption="The share of the packets that waited at most so long; quantiles, mean over the runs.",
        needs=["mild", "medium", "heavy"],
        draw=delays,
    ),
    Drawing(
        key="round-trips",
        section="6.2",
        title="Two round trips",
        caption="The goodput of two long transfers, one with a round trip of 100 ms, over the round trip of the other.",
        needs=["rtt-fairness"],
        draw=round_trips,
    ),
    Drawing(
        key="varying-load",
        section="8.2.5",
        title="Congestion that varies",
        caption="6, 13 and 19 flows, 20 s of each, twice. In grey DropTail. Mean of each second over the runs.",
        needs=["varying-load"],
        draw=over_time("varying-load"),
    ),
    Drawing(
        key="capacity-slow",
        section="8.2.6",
        title="Capacity that varies slowly",
        caption="The rate falls from 100 to 10 Mbit/s at 20, 60 and 100 s and recovers in between; in grey DropTail. "
        "Means of a second, over the runs.",
        needs=["capacity-slow"],
        draw=over_time("capacity-slow"),
    ),
)
