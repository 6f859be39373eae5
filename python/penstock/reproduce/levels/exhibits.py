"""Shows the figures, and lists the exhibits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from penstock.judging.estimate import Estimate
from penstock.reproduce import draw
from penstock.reproduce.levels import scenarios as at
from penstock.reproduce.levels import signals
from penstock.reproduce.levels.measured import (
    DOWNLOADS,
    GOODPUT,
    P99,
    PAGE,
    RATING,
    USED,
    per_flow_ratio,
)
from penstock.reproduce.levels.tables import (
    changes_table,
    crowd_table,
    hidden_table,
    losses_table,
    places_table,
    published_table,
    ramp_table,
    tuned_table,
)
from penstock.reproduce.measures import DELAY, Measure
from penstock.reproduce.model import Exhibit
from penstock.reproduce.runs import Labels, Runs
from penstock.show import style, ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# ---- how families look

_FAMILIES = {"drop": None, "classic": 0, "mecn": 1, "sce": 2, "l4s": 3}
FAMILY_NAMES = {
    "drop": "drops",
    "classic": "classic ECN",
    "mecn": "multi-level ECN",
    "sce": "SCE",
    "l4s": "L4S and DCTCP",
}


def look(name: str) -> style.Look:
    """Returns a signal's look: the colour of its family, and a marker and a line of its own in it."""
    family = signals.SIGNALS[name].family
    place = [each for each, of in signals.SIGNALS.items() if of.family == family].index(name)
    number = _FAMILIES[family]
    own = style.look(place)
    colour = style.MUTED if number is None else style.look(number).colour
    return style.Look(colour=colour, line=own.line, marker=own.marker)


# ---- strips: a row for each signal


@dataclass(frozen=True, slots=True)
class Strip:
    """A panel with a row for each signal and a dot with its interval in it.

    labels: which of the runs. along: a label, for each value of which the row has a fainter dot; the median is strong.
    limits: of the axis. What is beyond stands at its end.
    """

    measure: Measure
    labels: Labels
    title: str = ""
    along: str = ""
    log: bool = False
    limits: tuple[float, float] = (0.0, 100.0)


def strips(runs: Runs, panels: Sequence[Strip], columns: int, names: Sequence[str] = signals.NAMES) -> Figure:
    """Draws panels, `columns` beside each other, with the signals' names at the left."""
    with style.context():
        rows = math.ceil(len(panels) / columns)
        made = draw.figure(1.3 + 2.2 * columns, 0.5 + 3.6 * rows)
        grid = made.subplots(rows, columns, squeeze=False, sharey=True)
        for ax, panel in zip(grid.flat, panels, strict=True):
            _strip(ax, runs, panel, names)
        for row in grid:
            row[0].set_yticks(range(len(names)), names)
            for label, name in zip(row[0].get_yticklabels(), names, strict=True):
                label.set_color(look(name).colour)
        grid[0][0].set_ylim(len(names) - 0.4, -0.6)
    return made


def _strip(ax: Axes, runs: Runs, panel: Strip, names: Sequence[str]) -> None:
    of, scale = panel.measure, panel.measure.scale
    for row, name in enumerate(names):
        own = look(name)
        part = runs.where(aqm=name, **panel.labels)
        if panel.along:
            means = [part.estimate(of.quantity, **{panel.along: x}).mean for x in part.labels(panel.along)]
            there = np.clip([scale * x for x in means if x is not None], *panel.limits)
            ax.plot(there, [row] * len(there), "o", color=own.colour, alpha=0.35, ms=4, mew=0)
            ax.plot([np.median(there)], [row], "|", color=own.colour, ms=12, mew=2.2)
        else:
            found = part.estimate(of.quantity)
            if found.mean is None or not math.isfinite(found.mean):
                continue
            low, high = (found.mean if end is None else end for end in (found.low, found.high))
            low, mean, high = np.clip([scale * low, scale * found.mean, scale * high], *panel.limits)
            ax.plot([low, high], [row, row], "-", color=own.colour, lw=1.6)
            ax.plot([mean], [row], "o", color=own.colour, ms=4.5)
    if panel.log:
        ax.set_xscale("log")
        ticks.plain(ax.xaxis)
    ax.set_xlim(*panel.limits)
    ax.set_xlabel(of.axis)
    ax.set_title(panel.title)
    ax.grid(True, axis="y", color=style.GRID, lw=0.6)


# ---- the plane


def show_plane(runs: Runs) -> Figure:
    """Draws a panel for each place: delay against how much of the link is used, a line for each signal."""
    with style.context():
        held = [str(x) for x in runs.labels("place")]
        made = draw.figure(1.6 + 2.85 * len(held), 4.0)
        axes = made.subplots(1, len(held), squeeze=False)[0]
        for ax, place in zip(axes, held, strict=True):
            part = runs.where(place=place)
            for name in signals.WITH_DELAY:
                own = look(name)
                curve = [
                    (
                        part.estimate(DELAY.quantity, aqm=name, factor=f).mean,
                        part.estimate("utilization", aqm=name, factor=f).mean,
                    )
                    for f in at.FACTORS
                ]
                x, y = (
                    [k * (v or 0.0) for v in side] for k, side in zip((1e3, 100), zip(*curve, strict=True), strict=True)
                )
                ax.plot(x, y, color=own.colour, ls=own.line, marker=own.marker, ms=4, lw=1.1, label=name)
            ax.set_xscale("log")
            ticks.plain(ax.xaxis)
            ax.set_xlabel(DELAY.axis)
            ax.set_title(place)
        axes[0].set_ylabel(USED.axis)
        axes[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    return made


# ---- neighbours


def show_crowd(runs: Runs) -> Figure:
    """Draws a panel for each new kind: the ratio of goodputs beside CUBIC over the part of the new kind."""
    with style.context():
        news = [str(x) for x in runs.labels("new")]
        columns = min(3, len(news))
        rows = math.ceil(len(news) / columns)
        made = draw.figure(0.8 + 2.6 * columns, 3.6 * rows)
        grid = made.subplots(rows, columns, squeeze=False, sharey=True)
        for ax in grid.flat[len(news) :]:
            ax.set_axis_off()
        for ax, new in zip(grid.flat, news, strict=False):
            part = runs.where(new=new, beside="CUBIC")
            queues = [str(x) for x in part.labels("queue")]
            looks = style.looks([queue.lower() for queue in queues])
            for queue in queues:
                own = looks[queue.lower()]
                points = part.curve("part", per_flow_ratio, queue=queue)
                x, y = zip(*[(10 * p, each.mean) for p, each in points], strict=True)
                ax.plot(x, y, color=own.colour, ls=own.line, marker=own.marker, ms=4, label=queue)
            _ratios(ax)
            ax.set(title=f"{new} beside CUBIC", xlabel=f"flows of {new} [%]")
            ax.set_xticks([10 * int(p) for p in part.labels("part")])
            ax.legend(loc="best")
        for row in grid:
            row[0].set_ylabel("goodput of a flow : of a neighbour")
    return made


def show_pairs(runs: Runs) -> Figure:
    """Draws the ratio of two flows' goodputs over the rate, in CoDel's queue and in the new kind's own."""
    with style.context():
        made = draw.figure(8.6, 3.7)
        axes = made.subplots(1, 2, sharey=True)
        for ax, queue in zip(axes, ("CoDel", "its own"), strict=True):
            for new in at.NEW:
                own = look(at.PAIR_OWN[new])
                points = runs.curve("rate", per_flow_ratio, new=new, queue=queue)
                x = [p for p, _ in points]
                ends = [[each.mean if end is None else end for end in (each.low, each.high)] for _, each in points]
                ax.fill_between(x, *zip(*ends, strict=True), color=own.colour, alpha=0.2, lw=0)
                ax.plot(
                    x, [e.mean for _, e in points], color=own.colour, ls=own.line, marker=own.marker, ms=4, label=new
                )
            ax.set_xscale("log")
            ax.set_xticks(at.PAIR_MBPS, [f"{rate:g}" for rate in at.PAIR_MBPS])
            ax.minorticks_off()
            _ratios(ax)
            where = "one CoDel queue, classic ECN" if queue == "CoDel" else "the new kind's own queue"
            ax.set(title=where, xlabel="rate [Mbit/s]")
        axes[0].set_ylabel("goodput : that of a CUBIC flow")
        axes[0].legend(loc="lower left")
    return made


def _ratios(ax: Axes) -> None:
    """Makes the y axis one of ratios, with a line at equal shares."""
    ax.set_yscale("log")
    ax.set_ylim(0.005, 200)
    ax.set_yticks([0.01, 0.1, 1, 10, 100], ["1:100", "1:10", "1", "10:1", "100:1"])
    ax.minorticks_off()
    ax.axhline(1, color=style.MUTED, lw=0.8)


# ---- one level in the place of two


def show_folded(runs: Runs) -> Figure:
    """Draws a panel for each control and place: one level's cuts as a curve, the two levels as a mark."""
    with style.context():
        controls, held = (([str(x) for x in runs.labels(name)]) for name in ("tcp", "place"))
        made = draw.figure(2.8 * len(held), 2.9 * len(controls))
        grid = made.subplots(len(controls), len(held), squeeze=False)
        for row, control in zip(grid, controls, strict=True):
            for ax, place in zip(row, held, strict=True):
                part = runs.where(tcp=control, place=place)
                _fold(ax, part)
                ax.set(title=f"{control}\n{place}", xlabel=DELAY.axis)
            row[0].set_ylabel(GOODPUT.axis)
        made.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return made


def _fold(ax: Axes, part: Runs) -> None:
    points = {
        str(level): (part.estimate(DELAY.quantity, level=level), part.estimate("goodput_bps", level=level))
        for level in part.labels("level")
    }
    one, two = style.look(0), style.look(1)
    singles = {name: of for name, of in points.items() if name != at.TWO}
    xs, ys = zip(*[(1e3 * (d.mean or 0), 1e-6 * (g.mean or 0)) for d, g in singles.values()], strict=True)
    ax.plot(xs, ys, color=one.colour, ls=one.line, marker=one.marker, ms=4, label="one level: what a mark takes")
    for name, x, y in zip(singles, xs, ys, strict=True):
        ax.annotate(name.split(", ")[1], (x, y), xytext=(4, -9), textcoords="offset points", color=one.colour)
    _cross(ax, *points[at.TWO], two.colour)
    ax.margins(0.2)


def _cross(ax: Axes, delay: Estimate, goodput: Estimate, colour: str) -> None:
    """Draws a mean with its two intervals."""
    x, y = 1e3 * (delay.mean or 0), 1e-6 * (goodput.mean or 0)
    dx, dy = ([[scale * each.below], [scale * each.above]] for each, scale in ((delay, 1e3), (goodput, 1e-6)))
    ax.errorbar([x], [y], xerr=dx, yerr=dy, color=colour, marker="s", ms=6, lw=1.6, zorder=4, label=at.TWO)


# ---- the exhibits


def _strips(*panels: Strip, columns: int) -> Callable[[Runs], Figure]:
    return partial(strips, panels=panels, columns=columns)


_INTERVALS = "Means over the seeds with 95 % intervals."
EXHIBITS = (
    Exhibit(
        key="places",
        title="Delay and use of the link at twelve places",
        cases=signals.places(),
        show=_strips(
            Strip(DELAY, {}, along="place", log=True, limits=(0.01, 1000)),
            Strip(P99, {}, along="place", log=True, limits=(0.1, 1000)),
            Strip(USED, {}, along="place", limits=(0, 103)),
            columns=3,
        ),
        caption="A dot is a place, the stroke the median over the places. Each is the mean over the seeds.",
    ),
    Exhibit(
        key="places-table",
        title="The same as numbers",
        cases=signals.places(),
        show=places_table,
        caption="Means over the seeds: percent of the link that is used, and the mean queueing delay.",
    ),
    Exhibit(
        key="losses",
        title="Losses and fairness at the twelve places",
        cases=signals.places(),
        show=losses_table,
        caption="Packets lost at the bottleneck, and Jain's index of the flows' goodputs where there is more than one.",
    ),
    Exhibit(
        key="plane",
        title="The plane of delay and use",
        cases=at.Plane(),
        show=show_plane,
        caption="A line is a signal: the delays that its discipline is told, times ½, 1, 2 and 4. Better is up and to "
        "the left.",
    ),
    Exhibit(
        key="changes",
        title="Ten seconds after a change",
        cases=at.OVER_CHANGES,
        show=_strips(
            *(Strip(P99, {"change": x}, title=x, log=True, limits=(1, 2000)) for x in at.CHANGES),
            *(Strip(USED, {"change": x}, limits=(0, 103)) for x in at.CHANGES),
            columns=4,
        ),
        caption="20 Mbit/s and 50 ms. The load rises from 4 flows to 16, and falls back; the rate falls to 5 Mbit/s, "
        "and rises from there. " + _INTERVALS,
    ),
    Exhibit(
        key="changes-table",
        title="The same as numbers, with settling",
        cases=at.OVER_CHANGES,
        show=changes_table,
        caption="Settled: the mean delay of each half second stays below 20 ms; in how many of the runs, and when.",
    ),
    Exhibit(
        key="home",
        title="A home: calls, pages and downloads",
        cases=at.AtHome(),
        show=_strips(
            Strip(RATING, {}, limits=(70, 95)),
            Strip(PAGE, {}, limits=(0, 1.2)),
            Strip(DOWNLOADS, {}, limits=(0, 12)),
            columns=3,
        ),
        caption="20 Mbit/s and 30 ms: two downloads, four who browse, four calls. Pages come over the downloads' kind "
        "of sender; calls are datagrams that are not ECN-capable. " + _INTERVALS,
    ),
    Exhibit(
        key="crowd",
        title="Beside CUBIC: who gets what, by the share of the new kind",
        cases=at.Crowd(),
        show=show_crowd,
        caption="Ten flows on 50 Mbit/s and 50 ms.",
    ),
    Exhibit(
        key="crowd-table",
        title="Beside CUBIC, Reno and BBR",
        cases=at.Crowd(),
        show=crowd_table,
        caption="Goodput of a new flow over that of a neighbour. " + _INTERVALS,
    ),
    Exhibit(
        key="pairs",
        title="One new flow beside one of CUBIC, over the rate",
        cases=at.Pairs(),
        show=show_pairs,
        caption="20 ms. Its own queue is MECN's, CoDel with the ramp (SCE), DualPI2 (Prague), and the step (DCTCP). "
        "A band is the 95 % interval.",
    ),
    Exhibit(
        key="published",
        title="Where others have measured two flows",
        cases=at.Published(),
        show=published_table,
        caption=_INTERVALS,
    ),
    Exhibit(
        key="hidden",
        title="Where the signal does not arrive",
        cases=at.OVER_SITUATIONS,
        show=hidden_table,
        caption="20 Mbit/s, 50 ms, four flows. Bleached: the ECN field is cleared behind the queue. No AQM: DropTail "
        "with a product. " + _INTERVALS,
    ),
    Exhibit(
        key="folded",
        title="MECN's router with one level in the place of two",
        cases=at.Folded(),
        show=show_folded,
        caption="The curve: both marks take the same part of the window, as written there. The square: an incipient "
        "mark takes 20 % and a moderate one 40 % (CUBIC: 30 %).",
    ),
    Exhibit(
        key="ramp",
        title="SCE's queue and senders with the ramp, and without",
        cases=at.Ramped(),
        show=ramp_table,
        caption=_INTERVALS,
    ),
    Exhibit(
        key="tuned",
        title="What each key moves",
        cases=at.Tuned(),
        show=tuned_table,
        caption="20 Mbit/s, 50 ms, four flows. " + _INTERVALS,
    ),
)
