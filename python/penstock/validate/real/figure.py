"""Both sides of a comparison in one figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.runs.result import Result
from penstock.show import canvas, style
from penstock.show.canvas import Size
from penstock.show.labels import label
from penstock.show.shown import window_s
from penstock.validate.real.compare import Agreement
from penstock.validate.real.delays import SHARES, delays

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(agreement: Agreement, size: Size = None) -> Figure:
    """Returns every metric against reality's, the distribution of the delay, and each side's queue for a while."""
    with style.context():
        figure = canvas.figure(9.6, 6.4, size)
        halves: Any = figure.subfigures(2, 1, height_ratios=(1.25, 1))
        above, below = halves
        figure.suptitle(agreement.name, x=0.01, ha="left", fontweight="bold", wrap=True)
        left, right = above.subplots(1, 2, width_ratios=(1.15, 1))
        _ratios(left, agreement)
        _distribution(right, agreement)
        canvas.legend(above, right, size)
        axes = below.subplots(2, 1, sharex=True, sharey=True)
        tallest = 0.0
        sides = (("real", agreement.real), ("simulated", agreement.simulated))
        for i, (ax, (name, side)) in enumerate(zip(axes, sides, strict=True)):
            tallest = max(tallest, _stretch(ax, name, side, style.look(i).colour))
        axes[0].set_ylim(0, 1.08 * tallest or 1)
        axes[1].set_xlabel("Time [s]")
        return figure


def _ratios(ax: Axes, agreement: Agreement) -> None:
    """Draws a row a metric, in per cent of the real mean: each run a faint point, means with their intervals, the
    bound."""
    pairs = [pair for pair in agreement.pairs if pair.real.mean]
    for row, pair in enumerate(pairs):
        whole = pair.real.mean or 1.0
        ax.fill_between(
            [100 * (1 - pair.tolerance), 100 * (1 + pair.tolerance)],
            row - 0.42,
            row + 0.42,
            color=style.SHADE,
            linewidth=0,
            zorder=0,
        )
        for i, (estimate, values) in enumerate(
            ((pair.real, pair.real_values), (pair.simulated, pair.simulated_values))
        ):
            look, y = style.look(i), row + (-0.17, 0.17)[i]
            ax.scatter([100 * v / whole for v in values], [y] * len(values), s=9, color=look.colour, alpha=0.3, lw=0)
            if estimate.mean is not None:
                mean = 100 * estimate.mean / whole
                ends = [mean - 100 * estimate.below / whole, mean + 100 * estimate.above / whole]
                ax.plot(ends, [y, y], color=look.colour, linewidth=1.6)
                ax.scatter([mean], [y], s=28, color=look.colour, marker=look.marker, zorder=3, linewidth=0)
    names = [f"{label(pair.metric)}{'' if pair.verdict.agrees else ' ✗'}" for pair in pairs]
    ax.set_yticks(range(len(pairs)), names)
    ax.set_ylim(len(pairs) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    # A count of few events may lie far out: the rest stays readable.
    ends = [100 * (e.mean or 0.0) / (p.real.mean or 1.0) for p in pairs for e in (p.real, p.simulated)]
    reach = min(100.0, max(25.0, 1.4 * max((abs(end - 100) for end in ends), default=0.0)))
    ax.set_xlim(100 - reach, 100 + reach)
    ax.set_xlabel("Per cent of the real mean; shaded: the bound")


def _distribution(ax: Axes, agreement: Agreement) -> None:
    """Draws the distributions of the delay: each run faint, all of a side strong."""
    import numpy as np

    for i, (name, side) in enumerate((("real", agreement.real), ("simulated", agreement.simulated))):
        look = style.look(i)
        waits = delays(side)
        for each in waits:
            ax.plot(np.quantile(each, SHARES) * 1e3, SHARES, color=look.colour, alpha=0.2, linewidth=0.7)
        pooled = np.quantile(np.concatenate(waits), SHARES) * 1e3
        ax.plot(pooled, SHARES, color=look.colour, linestyle=look.line, linewidth=2, label=name)
    ax.set_xlabel("What waits over the link's rate [ms]")
    ax.set_ylabel("Share of the time")
    ax.set_xlim(left=0)
    ax.set_ylim(0, 1.01)


def _stretch(ax: Axes, name: str, side: Result, colour: str) -> float:
    """Draws the queue of the first run in the window; returns its longest."""
    import pyarrow.compute as pc

    run = side.runs[0]
    since, until = window_s(side)
    table = side.series("queue")
    inside = pc.and_(pc.greater_equal(table["t_s"], since), pc.less(table["t_s"], until))
    mine = table.filter(pc.and_(pc.equal(table["seed"], run.seed), inside))
    times, waiting = mine["t_s"].to_numpy(), mine["queue_pkts"].to_numpy()
    ax.plot(times, waiting, color=colour, linewidth=0.8)
    title = f"{name}: queue, seed {run.seed}"
    if "avg_pkts" in mine.column_names:
        ax.plot(times, mine["avg_pkts"].to_numpy(), color=style.ink(), linewidth=1.2)
        title += "; heavy: its average"
    ax.set_xlim(since, until)
    ax.set_title(title, color=colour, wrap=True)
    ax.set_ylabel("Queue [packets]")
    return float(waiting.max(initial=0))
