"""Figures that several papers share: curves with 95 % intervals, and the queue over time.

Each function returns a matplotlib `Figure` in the project's style. The functions on an `Axes` draw
one panel of a figure. A discipline has its own look (`style.discipline`) in all figures. Another
series has that of its place in `order`, or among the figure's own series.

What the paper prints is shown as open marks, and what ns-2 measured of the same cases as crosses;
a line above the panel says so.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np

from penstock.judging.estimate import Estimate
from penstock.reproduce.measures import Measure
from penstock.reproduce.ns2 import Cases, measured
from penstock.reproduce.runs import Quantity, Run, Runs, bounds
from penstock.show import canvas, style
from penstock.validate.agreement import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    #: Draws an exhibit from its runs.
    Show: TypeAlias = Callable[[Runs], Figure]

#: Width and height of a panel in inches: a letter has 11 pixels on a phone, 12 beside a report's claims.
PANEL = (4.4, 2.7)
#: Characters in a line of a note above a panel.
NOTE = 46
#: Lower and upper limit of an axis; `None`: as matplotlib has it.
Limits: TypeAlias = tuple[float | None, float | None]
#: Series → the points (x, y) that the paper prints, in the units of the axes.
Printed: TypeAlias = Mapping[str, Sequence[tuple[float, float]]]


class _How(TypedDict, total=False):
    """What is passed on to `curves_on`."""

    along: str | None
    scale: float
    xscale: float
    order: Sequence[str]
    printed: Printed | None
    ns2: Cases | None


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of `side_by_side`: a measure, the limits of its axis, what the paper prints."""

    measure: Measure
    ylim: Limits = (0, None)
    printed: Printed | None = None


def figure(width: float = PANEL[0], height: float = PANEL[1]) -> Figure:
    """Draws a figure of that many inches that pyplot does not know. Call it inside `style.context()`."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def beside(panels: int) -> tuple[Figure, list[Axes]]:
    """Returns a figure of panels beside each other. Call it inside `style.context()`.

    They are equally wide, so that a page may put them below each other on a phone.
    """
    made = figure(PANEL[0] * panels, 2.9)
    axes = []
    for i, part in enumerate(made.subfigures(1, panels, squeeze=False)[0], start=1):
        part.patch.set_gid(f"panel{i}")
        axes.append(part.subplots())
    return made, axes


def curves(
    runs: Runs,
    x: str | Quantity,
    quantity: Quantity,
    series: str,
    *,
    xlabel: str,
    ylabel: str,
    along: str | None = None,
    scale: float = 1.0,
    xscale: float = 1.0,
    ylim: Limits = (None, None),
    diagonal: str | None = None,
    order: Sequence[str] = (),
    printed: Printed | None = None,
    ns2: Cases | None = None,
) -> Figure:
    """Draws one panel of `curves_on`. diagonal: draws the line y = x with this text."""
    with style.context():
        made = figure()
        ax = made.subplots()
        how: _How = {"along": along, "scale": scale, "xscale": xscale, "order": order, "printed": printed, "ns2": ns2}
        curves_on(ax, runs, x, quantity, series, **how)
        ax.set_xlabel(xlabel)
        ax.set_ylabel(ylabel)
        ax.set_ylim(*ylim)
        if diagonal is not None:
            _diagonal(ax, diagonal)
        label_ends(ax)
    return made


def over(
    x: str,
    measure: Measure,
    *,
    xlabel: str,
    ylim: Limits = (0, None),
    order: Sequence[str],
    printed: Printed | None = None,
    ns2: Cases | None = None,
) -> Show:
    """Returns what draws `curves` of a measure over the label x, one for each discipline."""

    def show(runs: Runs) -> Figure:
        return curves(
            runs,
            x,
            measure.quantity,
            "aqm",
            xlabel=xlabel,
            ylabel=measure.axis,
            scale=measure.scale,
            ylim=ylim,
            order=order,
            printed=printed,
            ns2=ns2,
        )

    return show


def curves_on(
    ax: Axes,
    runs: Runs,
    x: str | Quantity,
    quantity: Quantity,
    series: str,
    *,
    along: str | None = None,
    scale: float = 1.0,
    xscale: float = 1.0,
    order: Sequence[str] = (),
    printed: Printed | None = None,
    ns2: Cases | None = None,
) -> None:
    """Draws the quantity over x with 95 % intervals over the seeds, a curve for each value of `series`.

    x: a label that all cases have. With `along` it is a quantity, too: then each value of the label
        `along` is a point with an interval in both directions, and the points are joined in that
        order.
    scale, xscale: factors from the quantity's unit to the axis's.
    printed: what the paper prints.
    ns2: names ns-2's cases where they are not found by their scenarios.

    Call `label_ends` when the limits are set.
    """
    crosses = False
    for name in runs.labels(series):
        look, part = _look(runs, series, name, order), runs.where(**{series: name})
        if along is None:
            points = [(Estimate(mean=at, ci95=None, n=0), e) for at, e in part.curve(str(x), quantity)]
        else:
            steps = sorted(part.labels(along), key=float)
            points = [(part.estimate(x, **{along: at}), part.estimate(quantity, **{along: at})) for at in steps]
        points = [(a, b) for a, b in points if a.mean is not None and b.mean is not None]
        (at, dx), (mean, dy) = _reaching([a for a, _ in points], xscale), _reaching([b for _, b in points], scale)
        if along is None:
            ax.fill_between(at, mean - dy[0], mean + dy[1], color=look.colour, alpha=0.16, linewidth=0)
        ax.errorbar(
            at,
            mean,
            yerr=dy,
            xerr=dx if dx.any() else None,
            color=look.colour,
            linestyle=look.line,
            marker=look.marker,
            markersize=3.8,
            elinewidth=0.9,
            capsize=2,
            label=str(name),
        )
        named = (ns2 or {}).get(str(name), {})
        crosses |= _crosses(ax, part, along or str(x), x, quantity, (xscale, scale), look, named)
    for i, (name, at_paper) in enumerate((printed or {}).items()):
        # Where two series print the same, one mark is seen inside the other.
        look, size = _look(runs, series, name, order), (8.5, 6.0, 11.0)[i % 3]
        xs, ys = zip(*at_paper, strict=True) if at_paper else ((), ())
        (marks,) = ax.plot(xs, ys, color=look.colour, linestyle="none", zorder=2.5)
        marks.set(marker=look.marker, markersize=size, fillstyle="none")
    _say_marks(ax, printed=bool(printed), crosses=crosses)


def _reaching(points: Sequence[Estimate], scale: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns the means, and how far the intervals reach below and above them: shape (2, points)."""
    means = np.array([each.mean or 0.0 for each in points]) * scale
    return means, np.array([[each.below for each in points], [each.above for each in points]]) * scale


def _crosses(
    ax: Axes,
    part: Runs,
    label: str,
    x: str | Quantity,
    quantity: Quantity,
    scales: tuple[float, float],
    look: style.Look,
    named: Mapping[Any, str],
) -> bool:
    """Draws what ns-2 measured of the cases of a curve; returns whether there is anything."""
    points = []
    for at in part.labels(label):
        run = next(iter(part.where(**{label: at})))
        case = named.get(at)
        there = Value(float(at), 0.0, 0) if x == label else measured(run, x, case)
        of = measured(run, quantity, case)
        if there is not None and of is not None:
            points.append((there, of))
    if not points:
        return False
    xs, ys = ([value.mean * k for value in side] for side, k in zip(zip(*points, strict=True), scales, strict=True))
    dx, dy = (
        _reaching([Estimate.around(value.mean, value.half, value.n, bounds(of)) for value in side], k)[1]
        for side, k, of in zip(zip(*points, strict=True), scales, (x, quantity), strict=True)
    )
    drawn = ax.errorbar(xs, ys, yerr=dy, xerr=dx if dx.any() else None, color=look.colour, linestyle="none", zorder=2.6)
    drawn[0].set(marker="x", markersize=6.5, markeredgewidth=1.3, label="_ns-2")
    drawn.set_label("_ns-2")
    return True


def _say_marks(ax: Axes, *, printed: bool, crosses: bool) -> None:
    """Draws a line above the panel that says what marks without a curve are."""
    said = ["open marks: printed in the paper"] * printed + ["×: ns-2, same case"] * crosses
    if said:
        note_above(ax, "; ".join(said))


def note_above(ax: Axes, text: str) -> None:
    """Draws a note above a panel: of what it shows, in lines that the panel has room for."""
    text = textwrap.fill(text.replace(" %", "\u00a0%"), NOTE)
    ax.set_title(text, loc="left", fontsize="medium", fontweight="normal", color=style.MUTED)


def label_ends(ax: Axes) -> None:
    """Names every curve beside the panel, at the level of its right end.

    Names that would overlap move apart, and a thin line leads from each curve to its name. Call it
    last: it needs the limits.
    """
    named = [
        (drawn[0], str(drawn.get_label()))
        for drawn in ax.containers
        if len(np.asarray(drawn[0].get_xdata())) and not str(drawn.get_label()).startswith("_")
    ]
    ends = []
    for line, name in named:
        xs, ys = (np.asarray(values, dtype=np.float64) for values in (line.get_xdata(), line.get_ydata()))
        last = int(np.argmax(xs))
        ends.append((float(xs[last]), float(ys[last]), name, line.get_color()))
    canvas.name_beside(ax, ends)


def traces(
    runs: Runs,
    panels: str,
    *,
    ylabel: str = "queue [packets]",
    target: tuple[float, float] | None = None,
    events: Mapping[float, str] | None = None,
    top: float | None = None,
    order: Sequence[str] = (),
) -> Figure:
    """Draws the queue over time, a panel for every value of the label `panels`.

    Seed 1's queue is in front of every other seed's. Its average is a heavy line where the
    discipline has one: the mean over all seeds.

    target: a range of the average, drawn as a band.
    events: seconds → what happens then.
    top: the upper end of the queue axis; left out, it is the longest queue.
    """
    names = runs.labels(panels)
    with style.context():
        made = figure(PANEL[0], 0.8 + 1.45 * len(names))
        axes = made.subplots(len(names), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for ax, name in zip(axes, names, strict=True):
            part = sorted(runs.where(**{panels: name}), key=lambda run: run.seed)
            _trace(ax, str(name), part, _look(runs, panels, name, order))
            if target is not None:
                ax.axhspan(*target, color=style.MUTED, alpha=0.22, linewidth=0, zorder=1.5)
            ax.set_ylabel(ylabel)
        made.suptitle(textwrap.fill(_trace_legend(runs), NOTE), fontsize="medium", color=style.MUTED, x=0.01, ha="left")
        axes[0].set_xlim(0, max(run.scenario.duration_s for run in runs))
        # Room above the longest queue for the events' names.
        axes[0].set_ylim(0, axes[0].get_ylim()[1] * 1.12 if top is None else top)
        for at, text in (events or {}).items():
            for ax in axes:
                ax.axvline(at, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 2)))
            axes[0].annotate(
                text,
                (at, 0.97),
                xycoords=("data", "axes fraction"),
                xytext=(4, 0),
                textcoords="offset points",
                va="top",
                color=style.MUTED,
                backgroundcolor=style.PAPER,
            )
        axes[-1].set_xlabel("time [s]")
    return made


def _look(runs: Runs, label: str, name: str | float | int, order: Sequence[str]) -> style.Look:
    own = style.discipline(str(name))
    if own is not None:
        return own
    names: Sequence[str | float | int] = order or runs.labels(label)
    return style.look(names.index(name))


def _trace(ax: Axes, name: str, part: Sequence[Run], look: style.Look) -> None:
    """Draws one panel of `traces`."""
    strong, *others = part
    for run in others:
        assert run.trace is not None
        ax.plot(run.trace["t_s"], run.trace["queue_pkts"], color=look.colour, alpha=0.12, linewidth=0.5)
    assert strong.trace is not None
    ax.plot(strong.trace["t_s"], strong.trace["queue_pkts"], color=look.colour, linewidth=0.8)
    if "avg_pkts" in strong.trace.column_names:
        ax.plot(*mean_recorded(part, "avg_pkts"), color=style.INK, linewidth=1.6, zorder=3)
    ax.set_title(name, color=look.colour)


def _trace_legend(runs: Runs) -> str:
    """Returns what the lines of `traces` are."""
    seeds, some = runs.seeds, next(iter(runs))
    text = f"thin: queue, seed {seeds[0]}" + (f" (faint: {len(seeds) - 1} more)" if len(seeds) > 1 else "")
    if some.trace is not None and "avg_pkts" in some.trace.column_names:
        text += "; heavy: average" + (f", mean of {len(seeds)} seeds" if len(seeds) > 1 else "")
    return text


def mean_recorded(part: Sequence[Run], column: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns a recorded series as its mean over runs that are sampled at the same times: (t, mean)."""
    series = [run.recorded(column).astype(float) for run in part]
    shortest = min(len(each) for each in series)
    mean = np.mean([each[:shortest] for each in series], axis=0)
    return part[0].recorded("t_s")[:shortest], mean


def _diagonal(ax: Axes, text: str) -> None:
    """Draws the line y = x over the panel, named inside it."""
    low = max(ax.get_xlim()[0], ax.get_ylim()[0])
    high = min(ax.get_xlim()[1], ax.get_ylim()[1])
    ax.set_xlim(ax.get_xlim())
    ax.set_ylim(ax.get_ylim())
    ax.plot([low, high], [low, high], color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    ax.annotate(
        text,
        (low + 0.7 * (high - low), low + 0.7 * (high - low)),
        xytext=(6, -6),
        textcoords="offset points",
        va="top",
        color=style.MUTED,
    )


def side_by_side(
    runs: Runs,
    x: str | Quantity,
    panels: Sequence[Panel],
    *,
    xlabel: str,
    along: str | None = None,
    log: bool = False,
    order: Sequence[str] = (),
    ns2: Cases | None = None,
) -> Figure:
    """Draws several measures over the same x, a panel each, a curve for each discipline.

    x, along: as for `curves_on`.
    log: the x axis is logarithmic with a tick at every value of the label x.
    """
    with style.context():
        made, axes = beside(len(panels))
        for ax, panel in zip(axes, panels, strict=True):
            of = panel.measure
            how: _How = {"along": along, "scale": of.scale, "order": order, "printed": panel.printed, "ns2": ns2}
            curves_on(ax, runs, x, of.quantity, "aqm", **how)
            if log:
                ax.set_xscale("log")
                ax.set_xticks(sorted(int(value) for value in runs.labels(str(x))), minor=False)
                ax.set_xticks([], minor=True)
                ax.xaxis.set_major_formatter("{x:g}")
            ax.set_ylim(*panel.ylim)
            ax.set_xlabel(xlabel)
            ax.set_ylabel(of.axis)
            label_ends(ax)
    return made


def write(ax: Axes, text: str, at: tuple[float, float], colour: str, *, beside: bool = False, **how: Any) -> None:
    """Writes a curve's name in its colour.

    at: in data units; with `beside`, as shares of the panel: 1.01 is just beside it.
    how: for matplotlib's `annotate`.
    """
    how = {"xycoords": "axes fraction", "va": "center", **how} if beside else how
    ax.annotate(text, at, color=colour, fontweight="bold", annotation_clip=False, **how)
