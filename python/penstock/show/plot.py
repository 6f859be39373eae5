"""Figures of results, in the house style (`penstock.show.style`).

Every method returns a matplotlib `Figure` and leaves matplotlib's state alone. Several seeds are always all shown:
as faint lines behind one, as points, or as a band of runs; a figure of means alone hides what a discipline does.

`size` is width and height in inches. Fonts, sizes, colours and all else that the user has changed in matplotlib's
`rcParams` are taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.show import canvas, labels, style
from penstock.show.canvas import Size
from penstock.show.shown import Counts, Runs, window_s

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


#: Colour and hatch of what becomes of packets: told apart by hue, by lightness, and the drop without any colour.
LEVEL_LOOKS = {"incipient mark": (style.MILD, ""), "CE mark": (style.MARK, ""), "drop": (style.DROP, "////")}


class Plots:
    """The figures of one result, or of several side by side: `result.plot`, `comparison.plot`."""

    def __init__(self, results: Mapping[str, Runs]) -> None:
        self._results = dict(results)

    def queue(self, *, size: Size = None) -> Figure:
        """Draws the queue over time, one panel per discipline: every seed faint, the first one strong with its
        average."""
        with style.context():
            figure, axes = self._panels(size)
            tallest = 0.0
            looks = style.looks(list(self._results))
            for ax, (name, result) in zip(axes, self._results.items(), strict=True):
                tallest = max(tallest, _queue_panel(ax, name, result, looks[name]))
            axes[0].set_xlim(0, _end_s(_first(self._results)))
            axes[0].set_ylim(0, tallest * 1.08 or 1)
            axes[-1].set_xlabel("Time [s]")
            return figure

    def delay_cdf(self, *, size: Size = None) -> Figure:
        """Draws the share of packets that waited at most so long, over the measured window: every seed faint, all
        together strong. At most eight disciplines are drawn."""
        import numpy as np

        with style.context():
            figure = canvas.figure(7.6, 3.8, size)
            ax = figure.subplots()
            shares = np.linspace(0.0, 1.0, 201)
            shown = canvas.few(list(self._results.items()))
            looks = style.looks([name for name, _ in shown])
            for name, result in shown:
                look = looks[name]
                waits = _waits_ms(result)
                if not waits:
                    continue
                for each in waits.values():
                    ax.plot(np.quantile(each, shares), shares, color=look.colour, alpha=0.18, linewidth=0.7)
                pooled = np.quantile(np.concatenate(list(waits.values())), shares)
                ax.plot(pooled, shares, color=look.colour, linestyle=look.line, linewidth=2, label=name)
            ax.set_xlabel("Delay [ms]")
            ax.set_ylabel("Share of packets [%]")
            ax.yaxis.set_major_formatter(lambda y, _: f"{100 * y:g}")
            canvas.span(ax, "x", zero=True)
            canvas.span(ax, "y", share=1.0)
            left = len(self._results) - len(shown)
            canvas.legend(figure, ax, size, more=f"{left} more not drawn: compare fewer" if left else None)
            return figure

    def plane(self, *, size: Size = None) -> Figure:
        """Draws delay against throughput: one point per run, the median as a large marker, an ellipse of one standard
        deviation (of at most eight disciplines). The delay axis runs to the left, so better is up and to the right."""
        import numpy as np

        metrics = ("delay_mean_s", "throughput_bps")
        found = {
            name: np.array([at for run in result.runs if None not in (at := [run.metrics[m] for m in metrics])])
            for name, result in self._results.items()
        }
        found = {name: points.astype(np.float64) for name, points in found.items() if len(points)}
        largest = [max((float(points[:, i].max()) for points in found.values()), default=0.0) for i in range(2)]
        (fx, xlabel), (fy, ylabel) = (labels.axis(m, top) for m, top in zip(metrics, largest, strict=True))
        with style.context():
            figure = canvas.figure(7.6, max(4.2, 1.0 + 0.34 * len(found)), size)
            ax = figure.subplots()
            middles: list[tuple[str, Any, tuple[float, float]]] = []
            looks = style.looks(list(found))
            for name, points in found.items():
                look = looks[name]
                points = points * np.array([fx, fy])
                ax.scatter(
                    points[:, 0], points[:, 1], s=16, color=look.colour, marker=look.marker, alpha=0.45, linewidth=0
                )
                middle = np.median(points, axis=0)
                ax.scatter(
                    middle[0],
                    middle[1],
                    s=110,
                    color=look.colour,
                    marker=look.marker,
                    edgecolor=style.paper(),
                    zorder=3,
                )
                if len(found) <= canvas.MOST:
                    _ellipse(ax, points, look.colour)
                middles.append((name, look.colour, (float(middle[0]), float(middle[1]))))
            canvas.span(ax, "x")
            canvas.span(ax, "y")
            ax.invert_xaxis()
            ax.set_xlabel(f"{xlabel}, less to the right")
            ax.set_ylabel(ylabel)
            ax.set_title("better ↗", loc="right", color=style.muted(), fontsize="medium", fontweight="normal")
            runs = [tuple(at) for points in found.values() for at in points * np.array([fx, fy])]
            canvas.name_points(ax, middles, [(float(x), float(y)) for x, y in runs])
            return figure

    def overview(self, *, size: Size = None) -> Figure:
        """Draws many disciplines at a glance: one row each, one panel for utilization, delay, loss and
        fairness. Every seed is a faint point, the mean a strong one with its 95 % interval."""
        metrics = ("utilization", "delay_mean_s", "loss_ratio", "jain")
        names = list(self._results)
        with style.context():
            figure = canvas.figure(9.6, 1.0 + 0.27 * len(names), size)
            columns = max(1, min(len(metrics), int(figure.get_figwidth() / 1.7)))
            columns = 2 if columns == 3 else columns
            grid = figure.subplots(-(-len(metrics) // columns), columns, sharey=True, squeeze=False)
            for ax, metric in zip(grid.flat, metrics, strict=True):
                values = {name: [run.metrics[metric] for run in each.runs] for name, each in self._results.items()}
                largest = max((v for each in values.values() for v in each if v is not None), default=0.0)
                factor, label = labels.axis(metric, largest)
                for row, (name, result) in enumerate(self._results.items()):
                    look = style.look(0)
                    points = [v * factor for v in values[name] if v is not None]
                    ax.scatter(points, [row] * len(points), s=12, color=style.muted(), alpha=0.35, linewidth=0)
                    estimate = result.summary[metric]
                    if estimate.mean is not None:
                        mean = estimate.mean * factor
                        ends = [mean - estimate.below * factor, mean + estimate.above * factor]
                        ax.plot(ends, [row, row], color=look.colour, linewidth=1.6)
                        ax.scatter([mean], [row], s=26, color=look.colour, zorder=3, linewidth=0)
                canvas.span(ax, "x", share=factor if labels.share(metric) else None, zero=True)
                ax.set_xlabel(canvas.wrapped(label, 26))
                ax.set_yticks(range(len(names)), [canvas.wrapped(name) for name in names])
                ax.set_ylim(len(names) - 0.5, -0.5)
                ax.tick_params(axis="y", length=0)
                ax.grid(axis="y", visible=True, linewidth=0.4)
            return figure

    def cwnd(self, *, size: Size = None) -> Figure:
        """Draws the congestion windows of the first seed: one line per flow, one panel per discipline. At most eight
        flows of a panel are drawn; its title says of how many."""
        with style.context():
            figure, axes = self._panels(size)
            looks = style.looks(list(self._results))
            for ax, (name, result) in zip(axes, self._results.items(), strict=True):
                table = result.series("cwnd")
                flows, times, windows = (
                    _column(table, c, result.runs[0].seed) for c in ("flow", "t_s", "cwnd_segments")
                )
                every = sorted(set(flows.tolist()))
                shown = canvas.few(every)
                for flow in shown:
                    mine = flows == flow
                    ax.plot(times[mine], windows[mine], color=looks[name].colour, alpha=0.5, linewidth=0.8)
                some = f", {len(shown)} of {len(every)} flows" if len(every) > len(shown) else ""
                ax.set_title(f"{name}, seed {result.runs[0].seed}{some}", color=looks[name].colour, wrap=True)
                ax.set_ylabel("Window [segments]")
            axes[-1].set_xlabel("Time [s]")
            return figure

    def _panels(self, size: Size) -> tuple[Figure, Sequence[Axes]]:
        """Returns a panel for each result, below each other."""
        panels = len(self._results)
        figure = canvas.figure(7.6, 1.2 + 1.75 * panels, size)
        return figure, list(figure.subplots(panels, 1, sharex=True, sharey=True, squeeze=False)[:, 0])


def _queue_panel(ax: Axes, name: str, result: Runs, look: style.Look) -> float:
    """Draws one discipline's panel and returns its longest queue."""
    table = result.series("queue")
    strong, *others = [run.seed for run in result.runs]
    for seed in others:
        ax.plot(
            _column(table, "t_s", seed),
            _column(table, "queue_pkts", seed),
            color=look.colour,
            alpha=0.13,
            linewidth=0.6,
        )
    times = _column(table, "t_s", strong)
    ax.plot(times, _column(table, "queue_pkts", strong), color=look.colour, linewidth=0.9)
    title = f"{name}: queue, seed {strong}" + (f" (faint: {len(others)} more)" if others else "")
    if "avg_pkts" in table.column_names:
        ax.plot(times, _column(table, "avg_pkts", strong), color=style.ink(), linewidth=1.6)
        title += "; heavy: its average"
    since, until = window_s(result)
    if since > 0 or until < _end_s(result):
        ax.axvspan(since, until, color=style.muted(), alpha=0.1, zorder=0, linewidth=0)
    ax.set_title(title, color=look.colour, wrap=True)
    ax.set_ylabel("Queue [packets]")
    return float(max(_all(table, "queue_pkts"), default=0.0))


def profile(probe: Counts, size: Size = None) -> Figure:
    """Draws the shares of packets that a discipline marks and drops, over the length at which the queue is held.

    There is one panel for each time since the queue was first held. The levels are stacked, the mildest at the bottom.
    """
    import matplotlib as mpl
    import numpy as np
    from matplotlib.ticker import FuncFormatter

    points = np.array(probe.points, dtype=np.float64)
    shares = {level: np.array(probe.shares(level), dtype=np.float64) for level in probe.levels}
    top = max(1e-3, float(np.sum(list(shares.values()), axis=0).max()))
    named = set()
    with style.context(), mpl.rc_context({"figure.constrained_layout.w_pad": 0.08}):
        figure = canvas.figure(7.6, 2.75, size)
        axes = figure.subplots(1, len(probe.after_s), sharex=True, sharey=True, squeeze=False)[0]
        for i, (ax, after) in enumerate(zip(axes, probe.after_s, strict=True)):
            base = np.zeros(len(points))
            for level in probe.levels:
                above = base + shares[level][i]
                if (above > base).any():
                    colour, hatch = LEVEL_LOOKS[level]
                    area = {"facecolor": colour, "hatch": hatch, "edgecolor": style.paper(), "linewidth": 0.0}
                    label = level if level not in named else None
                    bends = _bends(base, above)
                    ax.fill_between(points[bends], base[bends], above[bends], label=label, zorder=2, **area)
                    named.add(level)
                base = above
            ax.set_title(f"after {after:g} s", fontweight="normal")
        axes[0].set_xlim(float(points.min()), float(points.max()))
        axes[0].set_ylim(0, 1.0 if top > 0.5 else 1.15 * top)
        axes[0].yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:.6g} %"))
        axes[0].set_ylabel("Share of packets")
        held = "Packets held in the queue" if probe.axis == "queue" else "Arrivals over the link's rate"
        axes[len(axes) // 2].set_xlabel(held)
        if named:
            # In the order of the levels, whichever panel showed one first.
            areas = {str(area.get_label()): area for ax in axes for area in ax.collections}
            shown = [areas[level] for level in probe.levels if level in named]
            figure.legend(handles=shown, loc="outside upper right", ncols=len(probe.levels), frameon=False, borderpad=0)
        return figure


def _bends(*curves: Numbers) -> NDArray[np.intp]:
    """Returns the places where one of the curves over even steps is not straight, and the ends: all that a polygon
    needs."""
    import numpy as np

    bent = np.ones(len(curves[0]), dtype=bool)
    if len(bent) > 2:
        bent[1:-1] = np.any([np.abs(np.diff(curve, 2)) > 1e-12 for curve in curves], axis=0)
    return np.flatnonzero(bent)


def _end_s(result: Runs) -> float:
    """Returns when the last run ended, in seconds from its beginning, any lead-in included."""
    return result.duration_s + max(run.lead_in_s or 0.0 for run in result.runs)


def _waits_ms(result: Runs) -> dict[int, Numbers]:
    """Returns per seed how long each packet that left in the measured window had been in the queue."""
    import pyarrow.compute as pc

    table = result.series("events")
    table = table.filter(pc.equal(table["event"].cast("string"), "dequeue"))
    waits = {}
    for run in result.runs:
        since, until = window_s(result, run)
        rows = table.filter(pc.equal(table["seed"], run.seed))
        time = rows["t_s"].to_numpy()
        waits[run.seed] = rows["sojourn_ns"].to_numpy()[(time >= since) & (time < until)] * 1e-6
    return {seed: each for seed, each in waits.items() if len(each)}


def _column(table: pa.Table, name: str, seed: int) -> Numbers:
    """Returns a column's values of one seed."""
    import pyarrow.compute as pc

    values: Numbers = table.filter(pc.equal(table["seed"], seed))[name].to_numpy()
    return values


def _all(table: pa.Table, name: str) -> Sequence[float]:
    values: Sequence[float] = table[name].to_numpy()
    return values


def _first(results: Mapping[str, Runs]) -> Runs:
    return next(iter(results.values()))


def _ellipse(ax: Axes, points: Numbers, colour: Any) -> None:
    """Draws one standard deviation around the mean, along the directions in which the runs vary; from three runs on.

    It is drawn no further than the runs reach: no throughput above the link's rate, and no delay below zero.
    """
    import numpy as np
    from matplotlib.patches import Ellipse
    from matplotlib.path import Path

    if len(points) < 3:
        return
    spread, directions = np.linalg.eigh(np.cov(points.T))
    width, height = 2 * np.sqrt(np.maximum(spread, 0.0))
    angle = float(np.degrees(np.arctan2(directions[1, 0], directions[0, 0])))
    middle = points.mean(axis=0)
    ellipse = Ellipse(
        (float(middle[0]), float(middle[1])),
        float(width),
        float(height),
        angle=angle,
        facecolor=colour,
        edgecolor=colour,
        alpha=0.18,
        linewidth=1,
    )
    ax.add_artist(ellipse)
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    ellipse.set_clip_path(Path([(x0, y0), (x1, y0), (x1, y1), (x0, y1)]), transform=ax.transData)
