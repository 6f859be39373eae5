"""Figures of results, in the house style (`penstock.show.style`).

Every method returns a matplotlib `Figure` and leaves matplotlib's state alone. Several seeds are always all shown:
as faint lines behind one, as points, or as a band of runs; a figure of means alone hides what a discipline does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.model import events
from penstock.model.scenario import seconds
from penstock.show import style

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from penstock import _penstock
    from penstock.runs.probing import Probe
    from penstock.runs.result import Result

    Numbers = NDArray[np.float64]


#: Colour and hatch of what becomes of packets: told apart by hue, by lightness, and the drop without any colour.
LEVEL_LOOKS = {"incipient mark": ("#56b4e9", ""), "CE mark": ("#0072b2", ""), "drop": ("#d55e00", "////")}


class Plots:
    """The figures of one result, or of several side by side: `result.plot`, `comparison.plot`."""

    def __init__(self, results: Mapping[str, Result]) -> None:
        self._results = dict(results)

    def queue(self) -> Figure:
        """Draws the queue over time, one panel per discipline: every seed faint, the first one strong with its
        average."""
        panels = len(self._results)
        with style.context():
            figure = _figure(7.6, 1.2 + 1.75 * panels)
            axes = figure.subplots(panels, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
            tallest = 0.0
            for i, (ax, (name, result)) in enumerate(zip(axes, self._results.items(), strict=True)):
                tallest = max(tallest, _queue_panel(ax, name, result, style.look(i)))
            axes[0].set_xlim(0, _first(self._results).scenario.duration_s)
            axes[0].set_ylim(0, tallest * 1.08 or 1)
            axes[-1].set_xlabel("time [s]")
            return figure

    def delay_cdf(self) -> Figure:
        """The share of packets that waited at most so long, over the measured window: every seed faint, all together
        strong."""
        import numpy as np

        with style.context():
            figure = _figure(7.6, 3.8)
            ax = figure.subplots()
            shares = np.linspace(0.0, 1.0, 201)
            for i, (name, result) in enumerate(self._results.items()):
                look = style.look(i)
                waits = _waits_ms(result)
                for each in waits.values():
                    ax.plot(np.quantile(each, shares), shares, color=look.colour, alpha=0.18, linewidth=0.7)
                pooled = np.quantile(np.concatenate(list(waits.values())), shares)
                ax.plot(pooled, shares, color=look.colour, linestyle=look.line, linewidth=2)
                # Labels climb from curve to curve, so that neighbours do not cover each other.
                level = 0.3 + 0.45 * i / max(1, len(self._results) - 1)
                at = float(np.interp(level, shares, pooled))
                _label(ax, name, (at, level), look.colour, offset=(7, -3))
            ax.set_xlabel("time in the queue [ms]")
            ax.set_ylabel("share of packets")
            ax.set_xlim(left=0)
            ax.set_ylim(0, 1.01)
            return figure

    def plane(self) -> Figure:
        """Draws delay against throughput: one point per run, the median as a large marker, an ellipse of one standard
        deviation. The delay axis runs to the left, so better is up and to the right."""
        import numpy as np

        with style.context():
            figure = _figure(7.6, 4.2)
            ax = figure.subplots()
            middles: list[tuple[str, str, tuple[float, float]]] = []
            for i, (name, result) in enumerate(self._results.items()):
                look = style.look(i)
                points = np.array(
                    [
                        (run.metrics["delay_mean_s"], run.metrics["throughput_bps"])
                        for run in result.runs
                        if run.metrics["delay_mean_s"] is not None
                    ],
                    dtype=np.float64,
                ) * np.array([1e3, 1e-6])
                if len(points) == 0:
                    continue
                ax.scatter(
                    points[:, 0], points[:, 1], s=16, color=look.colour, marker=look.marker, alpha=0.45, linewidth=0
                )
                middle = np.median(points, axis=0)
                ax.scatter(
                    middle[0], middle[1], s=110, color=look.colour, marker=look.marker, edgecolor=style.PAPER, zorder=3
                )
                _ellipse(ax, points, look.colour)
                middles.append((name, look.colour, (float(middle[0]), float(middle[1]))))
            ax.margins(0.12)
            ax.invert_xaxis()
            _labels_apart(ax, middles)
            ax.set_xlabel("mean time in the queue [ms], less is to the right")
            ax.set_ylabel("throughput [Mbit/s]")
            ax.annotate(
                "better ↗",
                (0.995, 0.985),
                xycoords="axes fraction",
                ha="right",
                va="top",
                color=style.MUTED,
            )
            return figure

    def overview(self) -> Figure:
        """Draws many disciplines at a glance: one row each, one panel for utilization, delay, loss and
        fairness. Every seed is a
        faint point, the mean a strong one with its 95 % interval."""
        panels = (
            ("utilization", "utilization [%]", 100.0),
            ("delay_mean_s", "mean time in the queue [ms]", 1e3),
            ("loss_ratio", "loss [%]", 100.0),
            ("jain", "fairness (Jain)", 1.0),
        )
        names = list(self._results)
        with style.context():
            figure = _figure(9.6, 1.0 + 0.27 * len(names))
            axes = figure.subplots(1, len(panels), sharey=True)
            for ax, (metric, label, factor) in zip(axes, panels, strict=True):
                for row, result in enumerate(self._results.values()):
                    look = style.look(0)
                    values = [run.metrics[metric] for run in result.runs]
                    points = [v * factor for v in values if v is not None]
                    ax.scatter(points, [row] * len(points), s=12, color=style.MUTED, alpha=0.35, linewidth=0)
                    estimate = result.summary[metric]
                    if estimate.mean is not None:
                        mean = estimate.mean * factor
                        ends = [mean - estimate.below * factor, mean + estimate.above * factor]
                        ax.plot(ends, [row, row], color=look.colour, linewidth=1.6)
                        ax.scatter([mean], [row], s=26, color=look.colour, zorder=3, linewidth=0)
                ax.set_xlabel(label)
                ax.set_yticks(range(len(names)), names)
                ax.set_ylim(len(names) - 0.5, -0.5)
                ax.tick_params(axis="y", length=0)
                ax.grid(axis="y", visible=True, linewidth=0.4)
            return figure

    def cwnd(self) -> Figure:
        """Draws the congestion windows of the first seed: one line per flow, one panel per discipline."""
        panels = len(self._results)
        with style.context():
            figure = _figure(7.6, 1.2 + 1.75 * panels)
            axes = figure.subplots(panels, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
            for i, (ax, (name, result)) in enumerate(zip(axes, self._results.items(), strict=True)):
                table = result.series("cwnd")
                flows, times, windows = (
                    _column(table, c, result.runs[0].seed) for c in ("flow", "t_s", "cwnd_segments")
                )
                for flow in sorted(set(flows.tolist())):
                    mine = flows == flow
                    ax.plot(times[mine], windows[mine], color=style.look(i).colour, alpha=0.5, linewidth=0.8)
                ax.set_title(f"{name}, seed {result.runs[0].seed}", color=style.look(i).colour)
                ax.set_ylabel("cwnd [segments]")
            axes[-1].set_xlabel("time [s]")
            return figure


def _queue_panel(ax: Axes, name: str, result: Result, look: style.Look) -> float:
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
        ax.plot(times, _column(table, "avg_pkts", strong), color=style.INK, linewidth=1.6)
        title += "; heavy: its average"
    since, until = window_s(result)
    if since > 0 or until < result.scenario.duration_s:
        ax.axvspan(since, until, color=style.SHADE, zorder=0, linewidth=0)
    ax.set_title(title, color=look.colour)
    ax.set_ylabel("packets")
    return float(max(_all(table, "queue_pkts"), default=0.0))


def profile(probe: Probe) -> Figure:
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
        figure = _figure(7.6, 2.75)
        axes = figure.subplots(1, len(probe.after_s), sharex=True, sharey=True, squeeze=False)[0]
        for i, (ax, after) in enumerate(zip(axes, probe.after_s, strict=True)):
            base = np.zeros(len(points))
            for level in probe.levels:
                above = base + shares[level][i]
                if (above > base).any():
                    colour, hatch = LEVEL_LOOKS[level]
                    area = {"facecolor": colour, "hatch": hatch, "edgecolor": style.PAPER, "linewidth": 0.0}
                    label = level if level not in named else None
                    bends = _bends(base, above)
                    ax.fill_between(points[bends], base[bends], above[bends], label=label, zorder=2, **area)
                    named.add(level)
                base = above
            ax.set_title(f"after {after:g} s", fontweight="normal")
        axes[0].set_xlim(float(points.min()), float(points.max()))
        axes[0].set_ylim(0, 1.0 if top > 0.5 else 1.15 * top)
        axes[0].yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:.6g} %"))
        axes[0].set_ylabel("share of packets")
        held = "packets held in the queue" if probe.axis == "queue" else "arrivals over the link's rate"
        axes[len(axes) // 2].set_xlabel(held)
        if named:
            # In the order of the levels, whichever panel showed one first.
            areas = {str(area.get_label()): area for ax in axes for area in ax.collections}
            shown = [areas[level] for level in probe.levels if level in named]
            figure.legend(handles=shown, loc="outside upper right", ncols=len(probe.levels), frameon=False, borderpad=0)
        return figure


def _bends(*curves: Numbers) -> NDArray[np.intp]:
    """The places where one of the curves over even steps is not straight, and the ends: all that a polygon needs."""
    import numpy as np

    bent = np.ones(len(curves[0]), dtype=bool)
    if len(bent) > 2:
        bent[1:-1] = np.any([np.abs(np.diff(curve, 2)) > 1e-12 for curve in curves], axis=0)
    return np.flatnonzero(bent)


def window_s(result: Result, run: _penstock.RunResult | None = None) -> tuple[float, float]:
    """Returns the measured window of a run, in seconds from its beginning, any lead-in included.

    run: default: the first one.
    """
    measure = result.scenario.resolved["measure"]
    zero = (run or result.runs[0]).lead_in_s or 0.0
    until = measure["to"]  # null: the end of the run
    return zero + seconds(measure["from"]), zero + (result.scenario.duration_s if until is None else seconds(until))


def _waits_ms(result: Result) -> dict[int, Numbers]:
    """Per seed, how long each packet that left in the measured window had been in the queue."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    def among(words: pa.ChunkedArray, names: Sequence[str]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = pc.is_in(words, value_set=pa.array(names)).to_numpy()
        return found

    table = result.series("events")
    waits = {}
    for run in result.runs:
        since, until = window_s(result, run)
        rows = table.filter(pc.equal(table["seed"], run.seed))
        time, words = rows["t_ns"].to_numpy(), rows["event"].cast("string")
        came, went = events.matched(rows["flow"].to_numpy(), among(words, events.LET_IN), among(words, events.OUT))
        measured = among(words, ["dequeue"])[went] & (time[went] >= since * 1e9) & (time[went] < until * 1e9)
        waits[run.seed] = (time[went] - time[came])[measured] * 1e-6
    return {seed: each.astype(np.float64) for seed, each in waits.items() if len(each)}


def _column(table: pa.Table, name: str, seed: int) -> Numbers:
    """A column's values of one seed."""
    import pyarrow.compute as pc

    values: Numbers = table.filter(pc.equal(table["seed"], seed))[name].to_numpy()
    return values


def _all(table: pa.Table, name: str) -> Sequence[float]:
    values: Sequence[float] = table[name].to_numpy()
    return values


def _figure(width: float, height: float) -> Figure:
    """A figure of that many inches, apart from pyplot and its global list."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def _first(results: Mapping[str, Result]) -> Result:
    return next(iter(results.values()))


def _label(ax: Axes, text: str, at: tuple[float, float], colour: str, *, offset: tuple[float, float]) -> None:
    """A name beside what it names, in its colour, on a little paper so that no line runs through it."""
    paper: dict[str, Any] = {"facecolor": style.PAPER, "edgecolor": "none", "pad": 1.2, "alpha": 0.85}
    ax.annotate(
        text,
        at,
        xytext=offset,
        textcoords="offset points",
        color=colour,
        fontweight="bold",
        bbox=paper,
        zorder=4,
    )


def _labels_apart(ax: Axes, named: Sequence[tuple[str, str, tuple[float, float]]]) -> None:
    """Names beside points, each on the side that looks away from the other points."""
    places = [ax.transData.transform(at) for _, _, at in named]
    for i, (name, colour, at) in enumerate(named):
        others = [place for j, place in enumerate(places) if j != i]
        away = places[i] - sum(others) / len(others) if others else places[i] * 0
        right, up = away[0] >= 0, away[1] >= 0
        ax.annotate(
            name,
            at,
            xytext=(9 if right else -9, 7 if up else -7),
            textcoords="offset points",
            ha="left" if right else "right",
            va="bottom" if up else "top",
            color=colour,
            fontweight="bold",
            zorder=4,
        )


def _ellipse(ax: Axes, points: Numbers, colour: str) -> None:
    """One standard deviation around the mean, along the directions in which the runs vary; from three runs on."""
    import numpy as np
    from matplotlib.patches import Ellipse

    if len(points) < 3:
        return
    spread, directions = np.linalg.eigh(np.cov(points.T))
    width, height = 2 * np.sqrt(np.maximum(spread, 0.0))
    angle = float(np.degrees(np.arctan2(directions[1, 0], directions[0, 0])))
    middle = points.mean(axis=0)
    ax.add_patch(
        Ellipse(
            (float(middle[0]), float(middle[1])),
            float(width),
            float(height),
            angle=angle,
            facecolor=colour,
            edgecolor=colour,
            alpha=0.18,
            linewidth=1,
        )
    )
