"""Shows what is measured of the signals, and the figures and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from penstock.judging.estimate import FROM_ZERO, SHARE, Estimate
from penstock.reproduce import draw
from penstock.reproduce.levels import scenarios as at
from penstock.reproduce.measures import DELAY, LOSS, Measure
from penstock.reproduce.model import Exhibit, TableData
from penstock.reproduce.runs import Labels, Run, Runs, within
from penstock.reproduce.words import minus
from penstock.show import style, ticks
from penstock.show.numbers import spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# ---- what is measured

GOODPUT = Measure(quantity="goodput_bps", scale=1e-6, unit="Mbit/s", axis="goodput [Mbit/s]")
USED = Measure(quantity="utilization", scale=100, unit="percentage points", axis="link used [%]")
P99 = Measure(quantity="delay_p99_s", scale=1e3, unit="ms", axis="99th percentile of the delay [ms]")
JAIN = Measure(quantity="jain", unit="", axis="Jain's index")


@within(FROM_ZERO)
def per_flow_ratio(run: Run) -> float | None:
    """Returns the goodput of a flow of the first group over that of a flow of the second."""
    ours, theirs = (
        (group["goodput_bps"] or 0.0) / table["flows"]
        for group, table in zip(run.groups[:2], run.scenario.resolved["traffic"], strict=True)
    )
    return ours / theirs if theirs else math.inf


@within(SHARE)
def moderate_share(run: Run) -> float | None:
    """Returns the share of moderate marks among all marks; `None` where nothing is marked."""
    incipient, moderate = (run.metrics[f"marks_{level}"] or 0.0 for level in ("incipient", "ce"))
    return moderate / (incipient + moderate) if incipient + moderate else None


@within((0.0, 93.2))
def call_rating(run: Run) -> float | None:
    """Returns R of ITU-T G.107 of the calls."""
    return run.groups[2]["r_factor"]


@within(FROM_ZERO)
def page_time_s(run: Run) -> float | None:
    """Returns the median time of a page."""
    return run.metrics["page_time_p50_s"]


@within(FROM_ZERO)
def downloads_bps(run: Run) -> float | None:
    """Returns the goodput of the downloads at home."""
    return run.groups[0]["goodput_bps"]


#: The queue's delay is its bytes over the rate; it has settled where the mean of this long stays below this.
SETTLED_MS, WINDOW_S = 20.0, 0.5


@within(FROM_ZERO)
def settles_s(run: Run) -> float:
    """Returns seconds from a change until the queue's delay stays below 20 ms, each half second's mean; infinity where
    it does not within the run."""
    rate = _rate_after_bps(run)
    since = at.CHANGE_S
    last = 0.0
    for start in np.arange(since, run.scenario.duration_s - WINDOW_S + 1e-9, WINDOW_S):
        wait_ms = 8e3 * float(np.mean(run.recorded("queue_bytes", start, start + WINDOW_S))) / rate
        if wait_ms > SETTLED_MS:
            last = float(start) + WINDOW_S - since
    return last if last < run.scenario.duration_s - since - WINDOW_S / 2 else math.inf


def _rate_after_bps(run: Run) -> float:
    """Returns the bottleneck's rate after the change."""
    link = run.scenario.resolved["topology"]["bottleneck"]
    steps = link["schedule"]
    text = steps[-1]["rate"] if steps else link["rate"]
    number, unit = str(text).split()
    return float(number) * {"Mbit/s": 1e6, "kbit/s": 1e3, "Gbit/s": 1e9}[unit]


RATING = Measure(quantity=call_rating, unit="points of R", axis="rating of a call, R")
PAGE = Measure(quantity=page_time_s, unit="s", axis="median time of a page [s]")
DOWNLOADS = Measure(quantity=downloads_bps, scale=1e-6, unit="Mbit/s", axis="downloads [Mbit/s]")
RATIO = Measure(quantity=per_flow_ratio, unit="times", axis="goodput of a new flow : of a neighbour")
SETTLES = Measure(quantity=settles_s, unit="s", axis="until the delay stays below 20 ms [s]")

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
    family = at.SIGNALS[name].family
    place = [each for each, of in at.SIGNALS.items() if of.family == family].index(name)
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


def strips(runs: Runs, panels: Sequence[Strip], columns: int, names: Sequence[str] = at.NAMES) -> Figure:
    """Draws panels, `columns` beside each other, with the signals' names at the left."""
    with style.context():
        rows = math.ceil(len(panels) / columns)
        made = draw.figure(1.3 + 2.5 * columns, 0.5 + 3.6 * rows)
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
        made = draw.figure(1.6 + 3.6 * len(held), 4.4)
        axes = made.subplots(1, len(held), squeeze=False)[0]
        for ax, place in zip(axes, held, strict=True):
            part = runs.where(place=place)
            for name in at.WITH_DELAY:
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
        axes[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=8)
    return made


# ---- neighbours


def show_crowd(runs: Runs) -> Figure:
    """Draws a panel for each new kind: the ratio of goodputs beside CUBIC over the part of the new kind."""
    with style.context():
        news = [str(x) for x in runs.labels("new")]
        made = draw.figure(0.8 + 2.9 * len(news), 3.8)
        axes = made.subplots(1, len(news), squeeze=False, sharey=True)[0]
        for ax, new in zip(axes, news, strict=True):
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
            ax.legend(loc="best", fontsize=8)
        axes[0].set_ylabel("goodput of a flow : of a neighbour")
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
        axes[1].legend(loc="upper left", fontsize=8)
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
        made = draw.figure(3.2 * len(held), 3.1 * len(controls))
        grid = made.subplots(len(controls), len(held), squeeze=False)
        for row, control in zip(grid, controls, strict=True):
            for ax, place in zip(row, held, strict=True):
                part = runs.where(tcp=control, place=place)
                _fold(ax, part)
                ax.set(title=f"{control}, {place}", xlabel=DELAY.axis)
            row[0].set_ylabel(GOODPUT.axis)
    return made


def _fold(ax: Axes, part: Runs) -> None:
    points = {
        str(level): (part.estimate(DELAY.quantity, level=level), part.estimate("goodput_bps", level=level))
        for level in part.labels("level")
    }
    one, two = style.look(0), style.look(1)
    singles = {name: of for name, of in points.items() if name != at.TWO}
    xs, ys = zip(*[(1e3 * (d.mean or 0), 1e-6 * (g.mean or 0)) for d, g in singles.values()], strict=True)
    ax.plot(xs, ys, color=one.colour, ls=one.line, marker=one.marker, ms=4)
    for name, x, y in zip(singles, xs, ys, strict=True):
        ax.annotate(
            name.split(", ")[1], (x, y), xytext=(4, -9), textcoords="offset points", fontsize=8, color=one.colour
        )
    _cross(ax, *points[at.TWO], two.colour)
    ax.annotate(
        at.TWO,
        (1e3 * (points[at.TWO][0].mean or 0), 1e-6 * (points[at.TWO][1].mean or 0)),
        xytext=(-6, 6),
        textcoords="offset points",
        ha="right",
        fontweight="bold",
        color=two.colour,
    )
    ax.margins(0.15)


def _cross(ax: Axes, delay: Estimate, goodput: Estimate, colour: str) -> None:
    """Draws a mean with its two intervals."""
    x, y = 1e3 * (delay.mean or 0), 1e-6 * (goodput.mean or 0)
    dx, dy = 1e3 * (delay.ci95 or 0), 1e-6 * (goodput.ci95 or 0)
    ax.errorbar([x], [y], xerr=[dx], yerr=[dy], color=colour, marker="s", ms=6, lw=1.6, zorder=4)


# ---- tables

#: Digits after the point, by measure.
_DIGITS = {id(DELAY): 2, id(P99): 1, id(USED): 1, id(LOSS): 2, id(GOODPUT): 2, id(RATIO): 2}


def shown(runs: Runs, of: Measure, **labels: str | float | int) -> str:
    """Returns a mean with its interval, in the measure's unit."""
    found = runs.estimate(of.quantity, **labels)
    if found.mean is None or not math.isfinite(found.mean):
        return "–"
    digits = _DIGITS.get(id(of), 2)
    return minus(f"{found.mean * of.scale:.{digits}f}{spread(found, digits, of.scale)}")


def places_table(runs: Runs) -> TableData:
    """Returns what of the link is used, and the mean delay, of every signal at every place."""
    held = [str(x) for x in runs.labels("place")]
    rows = []
    for place in held:
        part = runs.where(place=place)
        cells = []
        for name in at.NAMES:
            used, delay = (part.estimate(of.quantity, aqm=name).mean for of in (USED, DELAY))
            cells.append(f"{100 * (used or 0):.1f} / {1e3 * (delay or 0):.2f}")
        rows.append([place, *cells])
    return TableData(("used [%] / mean delay [ms]", *at.NAMES), rows)


def losses_table(runs: Runs) -> TableData:
    """Returns the losses and Jain's index of every signal, the median and the worst over the places."""
    rows = []
    for name in at.NAMES:
        part = runs.where(aqm=name)
        held = part.labels("place")
        lost = [100 * (part.estimate("loss_ratio", place=x).mean or 0.0) for x in held]
        shares = [part.estimate("jain", place=x).mean for x in held if "1 flow" not in str(x)]
        there = [x for x in shares if x is not None]
        rows.append(
            [name, f"{np.median(lost):.3f}", f"{max(lost):.3f}", f"{np.median(there):.3f}", f"{min(there):.3f}"]
        )
    return TableData(("", "lost [%], median", "worst", "Jain's index, median", "worst"), rows)


def changes_table(runs: Runs) -> TableData:
    """Returns what every signal does after every change."""
    measures = (P99, USED, LOSS)
    rows = []
    for change in runs.labels("change"):
        for name in at.NAMES:
            back = runs.values(settles_s, aqm=name, change=change)
            there = back[np.isfinite(back)]
            settled = f"{np.mean(there):.1f} in {len(there)} of {len(back)}" if len(there) else f"none of {len(back)}"
            rows.append([f"{name}, {change}", *(shown(runs, of, aqm=name, change=change) for of in measures), settled])
    return TableData(("", "p99 delay [ms]", "used [%]", "lost [%]", "settled after [s]"), rows)


def crowd_table(runs: Runs) -> TableData:
    """Returns the ratio of goodputs a flow of every new kind in every queue beside every neighbour."""
    parts = runs.labels("part")
    rows = []
    for new in runs.labels("new"):
        for queue in runs.where(new=new).labels("queue"):
            for neighbour in runs.labels("beside"):
                part = runs.where(new=new, queue=queue, beside=neighbour)
                cells = [shown(part, RATIO, part=p) for p in part.labels("part")]
                rows.append([f"{new} beside {neighbour}, {queue}", *cells])
    return TableData(("", *(f"{10 * int(p)} % of the flows" for p in parts)), rows)


def published_table(runs: Runs) -> TableData:
    """Returns the ratios under the conditions of the published ones."""
    rows = []
    for new in runs.labels("new"):
        for queue in runs.where(new=new).labels("queue"):
            for trip in runs.where(new=new, queue=queue).labels("trip"):
                ratio = shown(runs, RATIO, new=new, queue=queue, trip=trip)
                rows.append([f"{new} : CUBIC, {at.queue_name(str(queue))}, {trip} ms", ratio])
    return TableData(("50 Mbit/s", "ratio of goodputs"), rows)


def hidden_table(runs: Runs) -> TableData:
    """Returns delay, goodput and losses of each signal on each kind of path."""
    rows = [
        [f"{name}, {path}", *(shown(runs, of, aqm=name, path=path) for of in (DELAY, P99, USED, LOSS))]
        for name in at.BLIND
        for path in at.SITUATIONS
    ]
    return TableData(("", "mean delay [ms]", "p99 [ms]", "used [%]", "lost [%]"), rows)


def ramp_table(runs: Runs) -> TableData:
    """Returns SCE's queue and senders with the ramp and without, at each place."""
    rows = []
    for place in runs.labels("place"):
        cells = [shown(runs, of, ramp=ramp, place=place) for of in (DELAY, USED) for ramp in at.RAMP]
        rows.append([str(place), *cells])
    heads = [f"{what}, {ramp}" for what in ("mean delay [ms]", "used [%]") for ramp in at.RAMP]
    return TableData(("", *heads), rows)


def tuned_table(runs: Runs) -> TableData:
    """Returns by how much delay and goodput move with each key."""
    rows = []
    for name, knobs in at.KNOBS.items():
        rows.append([f"{name}, as it is", shown(runs, DELAY, aqm=name, way=""), shown(runs, GOODPUT, aqm=name, way="")])
        for knob, _, low, high in knobs:
            for way, value in (("lower", low), ("higher", high)):
                part = runs.where(aqm=name, knob=knob, way=way)
                rows.append([f"{name}, {knob} = {value}", shown(part, DELAY), shown(part, GOODPUT)])
    return TableData(("", "mean delay [ms]", "goodput [Mbit/s]"), rows)


# ---- the exhibits


def _strips(*panels: Strip, columns: int) -> Callable[[Runs], Figure]:
    return partial(strips, panels=panels, columns=columns)


_INTERVALS = "Means over the seeds with 95 % intervals."
EXHIBITS = (
    Exhibit(
        key="places",
        title="Delay and use of the link at twelve places",
        cases=at.places(),
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
        cases=at.places(),
        show=places_table,
        caption="Means over the seeds: percent of the link that is used, and the mean queueing delay.",
    ),
    Exhibit(
        key="losses",
        title="Losses and fairness at the twelve places",
        cases=at.places(),
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
        cases=at.WITHOUT_RAMP,
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
