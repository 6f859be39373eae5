"""The figures of an evaluation: all candidates together, or one beside DropTail."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.evaluation.candidates import BASELINE
from penstock.evaluation.numbers import Array, Numbers, goodput_share
from penstock.evaluation.points import Where
from penstock.evaluation.rfc import Variant, experiment
from penstock.runs.measures import QUANTILES
from penstock.show import canvas, labels, style, ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The share of runs that an ellipse is to hold (2.7: 1 − ε).
INSIDE = 0.5
#: More candidates than this are drawn a row or a panel each: their lines could not be told apart.
FEW = 6
#: Marks on an axis of delays, in milliseconds.
DELAYS_MS = (1, 2, 5, 10, 20, 50, 100)
#: What the axes of the plane say.
_DELAY, _GOODPUT = labels.axis("delay_mean_s", 0.1)[1], labels.axis("goodput_bps", 1e7)[1]
#: The three levels of congestion of 8.2.2 to 8.2.4.
LEVELS = ("mild", "medium", "heavy")


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


def _axes(columns: int, size: tuple[float, float], sharex: bool = False) -> tuple[Figure, list[Axes]]:
    figure = canvas.figure(*size)
    return figure, list(figure.subplots(1, columns, squeeze=False, sharex=sharex)[0])


def plane(numbers: Numbers, names: Sequence[str]) -> Figure:
    """Draws delay and goodput: a point a run, the median, the ellipse that holds half of the runs (2.7)."""
    if len(names) > FEW:
        return _planes(numbers, names)
    with style.context():
        figure, axes = _axes(3, (11.0, 3.6))
        for ax, key in zip(axes, LEVELS, strict=True):
            for name, look in style.looks(names).items():
                where = Where(name, key)
                delay, goodput = _place(numbers, where)
                ax.plot(delay, goodput, look.marker, color=look.colour, ms=2.5, alpha=0.5)
                ax.plot(np.median(delay), np.median(goodput), look.marker, color=look.colour, ms=6, label=name)
                _ellipse(ax, delay, goodput, look.colour)
            canvas.span(ax, "x")
            canvas.span(ax, "y")
            ax.set_title(experiment(key).title, wrap=True)
            ax.set_xlabel(_DELAY)
            ax.invert_xaxis()
        axes[0].set_ylabel(_GOODPUT)
        canvas.legend(figure, axes[-1])
    return figure


def _place(numbers: Numbers, where: Where) -> tuple[Array, Array]:
    """Returns where the runs are in the plane: milliseconds and Mbit/s."""
    return 1e3 * numbers.metric(where, "delay_mean_s"), numbers.metric(where, "goodput_bps") / 1e6


def _planes(numbers: Numbers, names: Sequence[str]) -> Figure:
    """Draws the plane of each candidate, with the medians of the others in grey."""
    medians = {
        (name, key): [float(np.median(each)) for each in _place(numbers, Where(name, key))]
        for name in names
        for key in LEVELS
    }
    with style.context():
        figure, axes = _small_multiples(len(names))
        for ax, name in zip(axes, names, strict=True):
            others = np.array([medians[other, key] for other in names if other != name for key in LEVELS])
            ax.plot(others[:, 0], others[:, 1], "o", color=style.GRID, ms=3)
            for i, key in enumerate(LEVELS):
                look = style.look(i)
                delay, goodput = _place(numbers, Where(name, key))
                ax.plot(delay, goodput, look.marker, color=look.colour, ms=2, alpha=0.5)
                ax.plot(*medians[name, key], look.marker, color=look.colour, ms=5, label=experiment(key).title)
                _ellipse(ax, delay, goodput, look.colour)
            ax.set_title(canvas.wrapped(name, 24))
        axes[0].set_xscale("log")  # they share it
        axes[0].set_xticks(DELAYS_MS, [str(ms) for ms in DELAYS_MS])
        axes[0].set_xticks([], minor=True)
        canvas.span(axes[0], "y")
        axes[0].invert_xaxis()
        figure.supxlabel(_DELAY, fontsize="medium")
        figure.supylabel(_GOODPUT, fontsize="medium")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", frameon=False, ncols=len(LEVELS))
    return figure


def _small_multiples(count: int) -> tuple[Figure, list[Axes]]:
    """Returns a panel each, all with the same axes."""
    columns = min(5 if count > 12 else 4, count)
    rows = -(-count // columns)
    size = (2.2 * columns if columns > 1 else 8.0, 1.75 * rows + 0.5)
    figure = canvas.figure(*size)
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for ax in axes.flat[count:]:
        ax.set_visible(False)
    for ax in axes.flat[max(0, count - columns) : count]:
        ax.tick_params(labelbottom=True)  # below it there may be none
    return figure, list(axes.flat[:count])


@dataclass(frozen=True, slots=True)
class _Panel:
    """A distribution that every candidate has a row of."""

    title: str
    label: str
    key: str
    measure: str
    of: str = ""
    scale: float = 1.0


def _rows(numbers: Numbers, names: Sequence[str], panels: Sequence[_Panel]) -> Figure:
    """Draws a row for each candidate: median, the middle half, and 5 to 95 %, mean of the runs' quantiles.

    Panels of one quantity share its axis, so that they can be compared.
    """
    with style.context():
        figure, axes = _row_axes(len(panels), names, sharex=len({panel.label for panel in panels}) == 1)
        colour = style.look(0).colour
        for ax, panel in zip(axes, panels, strict=True):
            for row, name in enumerate(names):
                where = Where(name, panel.key)
                five, low, middle, high, most = (
                    panel.scale * float(np.mean(numbers.quantile(where, panel.measure, q, panel.of)))
                    for q in (5.0, 25.0, 50.0, 75.0, 95.0)
                )
                shade = style.MUTED if name == BASELINE else colour
                ax.plot([five, most], [row, row], color=shade, lw=0.9)
                ax.plot([low, high], [row, row], color=shade, lw=3.2, solid_capstyle="butt")
                ax.plot(middle, row, "o", color=style.PAPER, mec=shade, ms=4.5)
            ax.set_title(panel.title)
            ax.set_xlabel(panel.label)
            ax.set_xlim(0)
    return figure


def _row_axes(columns: int, names: Sequence[str], sharex: bool = False) -> tuple[Figure, list[Axes]]:
    """Axes side by side with a row for each candidate."""
    figure = canvas.figure(11.0, 0.9 + 0.22 * len(names))
    axes = figure.subplots(1, columns, sharex=sharex, sharey=True, squeeze=False)
    for ax in axes[0]:
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_yticks(range(len(names)), [canvas.wrapped(name) for name in names])
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", visible=True, linewidth=0.4)
    return figure, list(axes[0])


def _ellipse(ax: Axes, x: Array, y: Array, colour: str) -> None:
    """Draws the ellipse of the normal law that fits best, which holds the share `INSIDE`; its tilt is the
    covariance."""
    from matplotlib.patches import Ellipse

    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return
    values, vectors = np.linalg.eigh(np.cov(x, y, bias=True))
    width, height = 2 * np.sqrt(np.maximum(values, 0) * -2 * math.log(1 - INSIDE))
    angle = math.degrees(math.atan2(vectors[1, 0], vectors[0, 0]))
    ax.add_patch(Ellipse((x.mean(), y.mean()), width, height, angle=angle, fill=False, ec=colour, lw=1))


def delays(numbers: Numbers, names: Sequence[str]) -> Figure:
    """Draws the distribution of the queueing delay under mild, medium and heavy congestion."""
    if len(names) > FEW:
        label = "Delay [ms]"
        return _rows(
            numbers, names, [_Panel(experiment(key).title, label, key, "delay_s", scale=1e3) for key in LEVELS]
        )
    with style.context():
        figure, axes = _axes(3, (11.0, 3.2), sharex=True)
        for ax, key in zip(axes, LEVELS, strict=True):
            _distribution(ax, numbers, names, key, "delay_s", "", 1e3)
            ax.set_title(experiment(key).title)
            ax.set_xlabel("Delay [ms]")
        axes[0].set_ylabel("Share of the packets")
        canvas.legend(figure, axes[-1])
    return figure


def _ran(numbers: Numbers, key: str) -> list[Variant]:
    """Returns the forms of a scenario that there are runs of."""
    return [each for each in experiment(key).variants if Where(BASELINE, key, each.key) in numbers.seeds]


def round_trips(numbers: Numbers, names: Sequence[str]) -> Figure:
    """Draws the goodput of both categories over the second one's round trip (6.2)."""
    key = "rtt-fairness"
    shown = _ran(numbers, key)
    if len(names) > FEW:
        few = [variant for variant in shown if variant.at in (5, 50, 200, 560)]
        return _shares(numbers, names, key, 1, [(variant, variant.key) for variant in few])
    with style.context():
        figure, axes = _axes(2, (9.0, 3.2))
        for name, look in style.looks(names).items():
            for ax, group in zip(axes, (0, 1), strict=True):
                found = [numbers.group(Where(name, key, v.key), group, "goodput_bps").mean() for v in shown]
                at = [v.at or 0.0 for v in shown]
                ax.plot(
                    at, np.array(found) / 1e6, color=look.colour, ls=look.line, marker=look.marker, ms=4, label=name
                )
        for ax, title in zip(axes, ("The flow of the base round trip", "The other one"), strict=True):
            ax.set_title(title)
            ax.set_xlabel("Round trip of the other [ms]")
            ax.set_xscale("log")
            ticks.plain(ax.xaxis)
            ax.set_xticks([5, 10, 50, 100, 560], ["5", "10", "50", "100", "560"])
            ax.set_ylim(0)
        axes[0].set_ylabel(_GOODPUT)
        canvas.legend(figure, axes[-1])
    return figure


def bbr(numbers: Numbers, names: Sequence[str]) -> Figure:
    """Draws the share that CUBIC keeps beside as many flows of BBR."""
    shown = [(variant, f"Beside {variant.key or 'BBR'}") for variant in _ran(numbers, "bbr")]
    return _shares(numbers, names, "bbr", 0, shown)


def _shares(
    numbers: Numbers, names: Sequence[str], key: str, group: int, shown: Sequence[tuple[Variant, str]]
) -> Figure:
    """Draws the share that one of two traffic entries gets, in some forms of a scenario, each with its title."""
    with style.context():
        figure, axes = _row_axes(len(shown), names)
        for ax, (variant, title) in zip(axes, shown, strict=True):
            found = {}
            for name in names:
                found[name] = 100 * float(np.mean(goodput_share(numbers, Where(name, key, variant.key), group)))
            ax.axvline(found[BASELINE], color=style.MUTED, lw=0.9)
            for row, name in enumerate(names):
                ax.plot(found[name], row, "o", color=style.MUTED if name == BASELINE else style.look(0).colour, ms=5)
            ax.set_title(title)
            ax.set_xlabel("Share [%]")
            ax.set_xlim(0, 100)
    return figure


def over_time(key: str) -> Callable[[Numbers, Sequence[str]], Figure]:
    """Returns what draws the queueing delay over time, mean of the runs, with the changes marked."""

    def draw(numbers: Numbers, names: Sequence[str]) -> Figure:
        of = experiment(key)
        shown = [name for name in names if name != BASELINE] or [BASELINE]
        with style.context():
            figure, axes = _small_multiples(len(shown))
            below = _mean_series(numbers, BASELINE, key)
            for ax, name in zip(axes, shown, strict=True):
                if name != BASELINE:
                    ax.plot(*below, color=style.MUTED, lw=0.8)
                ax.plot(*_mean_series(numbers, name, key), color=style.look(0).colour, lw=1.2)
                for t in of.changing:
                    ax.axvline(t, color=style.GRID, lw=1, zorder=0)
                ax.set_title(canvas.wrapped(name, 24))
                ax.set_yscale("log")
                ticks.plain(ax.yaxis)
            figure.supxlabel("Time [s]", fontsize="medium")
            figure.supylabel("Delay [ms]", fontsize="medium")
        return figure

    return draw


def pages(numbers: Numbers, names: Sequence[str]) -> Figure:
    """Draws the distribution of the time of whole pages in the four mixes of 7.2."""
    if len(names) > FEW:
        label = "Time of a page [s]"
        return _rows(numbers, names, [_Panel(f"Mix {_roman(key)}", label, key, "page_s", "web") for key in MIXES])
    with style.context():
        figure, axes = _axes(len(MIXES), (11.0, 3.2), sharex=True)
        for ax, key in zip(axes, MIXES, strict=True):
            _distribution(ax, numbers, names, key, "page_s", "web", 1.0)
            ax.set_title(f"Mix {_roman(key)}")
            ax.set_xlabel("Time of a page [s]")
        axes[0].set_ylabel("Share of the pages")
        canvas.legend(figure, axes[-1])
    return figure


def _roman(key: str) -> str:
    return key.removeprefix("bursts-").upper()


def mix(numbers: Numbers, names: Sequence[str]) -> Figure:
    """Draws what the call's packets wait, and how long a page takes, in the traffic mix (9.1)."""
    shown = [
        _Panel("A call's packets", "Delay [ms]", "mix", "delay_s", "call", 1e3),
        _Panel("Web pages", "Time of a page [s]", "mix", "page_s", "web"),
        _Panel("Bulk", "Goodput in a second, all five [Mbit/s]", "mix", "goodput_bps", "bulk", 1e-6),
    ]
    if len(names) > FEW:
        return _rows(numbers, names, shown)
    with style.context():
        figure, axes = _axes(len(shown), (11.0, 3.2))
        for ax, panel in zip(axes, shown, strict=True):
            _distribution(ax, numbers, names, panel.key, panel.measure, panel.of, panel.scale)
            ax.set_title(panel.title)
            ax.set_xlabel(panel.label)
        axes[0].set_ylabel("Share at most")
        canvas.legend(figure, axes[-1])
    return figure


#: The mixes of 7.2.
MIXES = ("bursts-i", "bursts-ii", "bursts-iii", "bursts-iv")


def _distribution(
    ax: Axes, numbers: Numbers, names: Sequence[str], key: str, measure: str, of: str, scale: float
) -> None:
    """Draws a measure's distribution in an experiment's first form, mean of the runs' quantiles."""
    for name, look in style.looks(names).items():
        found = [numbers.quantile(Where(name, key), measure, q, of) for q in QUANTILES]
        at = [scale * float(np.mean(each)) for each in found]
        ax.plot(at, np.array(QUANTILES) / 100, color=look.colour, ls=look.line, label=name)
    ax.set_ylim(0, 1)


def _mean_series(numbers: Numbers, name: str, key: str) -> tuple[list[float], list[float]]:
    """Returns seconds, and the mean over the runs of the delay in that second, in milliseconds."""
    total: dict[int, list[float]] = {}
    for at, value in numbers.over_time(Where(name, key), "delay_over_time_s"):
        for t, v in zip(at.tolist(), value.tolist(), strict=True):
            total.setdefault(int(t), []).append(v)
    return [t + 0.5 for t in sorted(total)], [1e3 * float(np.mean(total[t])) for t in sorted(total)]


DRAWINGS: Sequence[Drawing] = (
    Drawing(
        key="plane",
        section="2.7",
        title="Delay and goodput",
        caption="A small mark is a run, a large one the median of the runs; the ellipse holds half of the runs of the "
        "normal law that fits them. Up and to the right is better. Where each discipline has a panel, the others' "
        "medians are in grey.",
        needs=LEVELS,
        draw=plane,
    ),
    Drawing(
        key="delays",
        section="2.6",
        title="Queueing delays",
        caption="How long packets waited: quantiles, mean over the runs. Where each discipline has a row, the dot is "
        "the median, the thick line the middle half, the thin line 5 to 95 %.",
        needs=LEVELS,
        draw=delays,
    ),
    Drawing(
        key="round-trips",
        section="6.2",
        title="Two round trips",
        caption="Two long transfers, one with a round trip of {rtt}, and what they get over the round trip of the "
        "other. Where each discipline has a row: the other one's share of both; the grey line is DropTail's.",
        needs=["rtt-fairness"],
        draw=round_trips,
    ),
    Drawing(
        key="pages",
        section="7.2",
        title="Bursts",
        caption="The time of whole pages of fifty objects. Beside them, in mix I a constant rate; in II bulk, too; in "
        "III video; in IV both. Quantiles, mean over the runs.",
        needs=MIXES,
        draw=pages,
    ),
    Drawing(
        key="mix",
        section="9.1",
        title="Traffic mix",
        caption="A call, six people who browse, a constant rate, a video and five bulk transfers on one line: what the "
        "call's packets wait, how long a page takes, and what the bulk transfers get, second by second.",
        needs=["mix"],
        draw=mix,
    ),
    Drawing(
        key="varying-load",
        section="8.2.5",
        title="Congestion that varies",
        caption="{mild}, {medium} and {heavy} flows, 20 s of each, twice. In grey DropTail. Mean of each second over "
        "the runs.",
        needs=["varying-load"],
        draw=over_time("varying-load"),
    ),
    Drawing(
        key="capacity-slow",
        section="8.2.6",
        title="Capacity that varies slowly",
        caption="The rate falls from {fast} to {slow} at 20, 60 and 100 s and recovers in between; in grey DropTail. "
        "Means of a second, over the runs.",
        needs=["capacity-slow"],
        draw=over_time("capacity-slow"),
    ),
    Drawing(
        key="bbr",
        section="RFC 9743",
        title="Half of the flows BBR",
        caption="What {half} flows of CUBIC keep of the goodput beside {half} of BBR; half would be their part. The "
        "grey line is DropTail's.",
        needs=["bbr"],
        draw=bbr,
    ),
)
