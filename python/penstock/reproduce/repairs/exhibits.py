"""Shows what is measured of the repairs, and the figures and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from penstock.judging.estimate import FROM_ZERO
from penstock.reproduce import draw
from penstock.reproduce.draw import Panel
from penstock.reproduce.grids import Grid
from penstock.reproduce.measures import DELAY, LOSS, Measure
from penstock.reproduce.model import Exhibit, TableData
from penstock.reproduce.papers.amecn.exhibits import off_target, return_s
from penstock.reproduce.papers.amecn.scenarios import CHANGE_S, TARGET
from penstock.reproduce.repairs.scenarios import (
    AMECN,
    LOAD_CHANGES,
    NRED,
    OVER_M,
    OVER_N,
    OVER_N_ECN,
    OVER_RANGE,
    OVER_SOURCES,
    PLACES,
    RARED,
    RED_AT,
    Repair,
    names,
    shares,
)
from penstock.reproduce.runs import Run, Runs, within
from penstock.reproduce.words import minus
from penstock.show import style, ticks
from penstock.show.numbers import spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# ---- what is measured


@within(FROM_ZERO)
def delay_sd_s(run: Run) -> float | None:
    """Returns the standard deviation of the queueing delay."""
    variance = run.metrics["delay_var_s2"]
    return None if variance is None else math.sqrt(variance)


#: What AMECN's figures 5 to 8 ask of avg, asked of the queue: others keep no average.
QUEUE = "queue_pkts"
back_s = within(FROM_ZERO)(partial(return_s, column=QUEUE))

JITTER = Measure(quantity=delay_sd_s, scale=1e3, unit="ms", axis="standard deviation of the delay [ms]")
GOODPUT = Measure(quantity="goodput_bps", scale=1e-6, unit="Mbit/s", axis="goodput [Mbit/s]")
THROUGHPUT = Measure(quantity="throughput_bps", scale=1e-6, unit="Mbit/s", axis="throughput [Mbit/s]")
OFF_TARGET = Measure(
    quantity=within(FROM_ZERO)(partial(off_target, column=QUEUE)),
    unit="packets",
    axis="distance from the target [packets]",
)

#: What everything is compared by.
MEASURES: Mapping[str, Measure] = {"delay": DELAY, "goodput": GOODPUT, "loss": LOSS, "jitter": JITTER}

# ---- the papers' own experiments


def own(
    repair: Repair,
    grid: Grid,
    along: str,
    xlabel: str,
    said: str,
    key: str = "own",
    carried: tuple[str, Measure] = ("goodput", GOODPUT),
) -> tuple[Exhibit, Exhibit]:
    """Returns two figures over a paper's axis: delay with what is carried, and loss with jitter."""
    show = partial(draw.side_by_side, x=along, xlabel=xlabel, order=names(repair))
    titles = {"": f"delay and {carried[0]}", "2": "loss and jitter"}
    panels = {"": (Panel(DELAY), Panel(carried[1], (None, None))), "2": (Panel(LOSS), Panel(JITTER))}
    first, second = (
        Exhibit(
            key=f"{key}{i}",
            title=f"{repair.name} over the paper's axis: {titles[i]}",
            cases=grid,
            show=partial(show, panels=panels[i]),
            caption=said,
        )
        for i in titles
    )
    return first, second


def load_exhibits() -> tuple[Exhibit, ...]:
    """Returns the queue where the load rises, and a table of both changes."""
    shown = LOAD_CHANGES.only(AMECN.name, "AMECN", "PIE", "CoDel", at=("rises",))
    return (
        Exhibit(
            key="rises",
            title="The queue where the load rises",
            cases=shown,
            show=partial(
                draw.traces,
                panels="aqm",
                target=TARGET,
                events={CHANGE_S: "20 flows start"},
                top=44,
                order=names(AMECN),
            ),
            caption="The paper's figure 6 with the repair, the original, and PIE and CoDel with the middle of the "
            "thresholds, 53 ms, as their target. The band is AMECN's target range of 9 to 12 packets.",
        ),
        Exhibit(
            key="own",
            title="Both load changes",
            cases=LOAD_CHANGES,
            show=load_table,
            caption="Means over the seeds with 95 % intervals. Delay, loss and goodput are of the whole run; the "
            "distance is that of the mean queue from 40 to 50 s from the middle of the target, 10.5 packets.",
        ),
    )


def load_table(runs: Runs) -> TableData:
    """Returns a row for each discipline and change."""
    measures = (OFF_TARGET, DELAY, JITTER, GOODPUT, LOSS, replace(LOSS, quantity="data_loss_ratio"))
    rows = []
    for load in runs.labels("load"):
        for name in runs.labels("aqm"):
            found = [_shown(runs, of, aqm=name, load=load) for of in measures]
            back = runs.values(back_s, aqm=name, load=load)
            rows.append([f"{name}, {load}", *found, f"{int(np.isfinite(back).sum())} of {len(back)}"])
    head = ("", "from the target [packets]", "delay [ms]", "its sd [ms]", "goodput [Mbit/s]", "loss [%]")
    return TableData((*head, "loss of data [%]", "back in the target range"), rows)


def _shown(runs: Runs, of: Measure, **labels: str | float | int) -> str:
    found = runs.estimate(of.quantity, **labels)
    if found.mean is None:
        return "–"
    return f"{found.mean * of.scale:.2f}{spread(found, 2, of.scale)}"


# ---- the range


#: Factors of the delay and percents of goodput at the edges of a panel; what is beyond stands there.
FACTORS, PERCENTS = (1 / 8, 8), (-90, 200)


class Means:
    """Means over the seeds of each discipline at each point, looked up at once."""

    def __init__(self, runs: Runs) -> None:
        self.points = [str(at) for at in runs.labels("point")]
        self._runs: dict[tuple[str, str], list[Run]] = {}
        for run in runs:
            self._runs.setdefault((str(run.labels["aqm"]), str(run.labels["point"])), []).append(run)

    def of(self, measure: Measure, name: str, at: str) -> float:
        """Returns the mean in the quantity's own unit."""
        each = Runs(self._runs[name, at]).values(measure.quantity)
        return float(np.nanmean(each))


def show_range(runs: Runs, repair: Repair) -> Figure:
    """Draws a panel for each opponent: how much longer the delay is, against how much more arrives."""
    opponents, means = names(repair)[1:], Means(runs)
    with style.context():
        made = draw.figure(9.0, 5.4)
        axes = made.subplots(2, 3, sharex=True, sharey=True)
        for ax, other in zip(axes.flat, opponents, strict=False):
            _against(ax, means, repair.name, other)
        for ax in axes.flat[len(opponents) :]:
            ax.set_axis_off()
        _key(axes.flat[-1])
        for ax in axes.flat[2:5]:
            ax.set_xlabel("delay over the other's")
            ax.xaxis.set_tick_params(labelbottom=True)
        for ax in axes[:, 0]:
            ax.set_ylabel("goodput: percent more")
    return made


def _against(ax: Axes, means: Means, ours: str, theirs: str) -> None:
    """Draws one panel: a mark for every point of the range, ECN filled, without it open."""
    ax.set_xscale("log", base=2)
    ax.set_yscale("symlog", linthresh=2.0)
    ticks.plain(ax.xaxis, ax.yaxis)
    ax.axhline(0, color=style.MUTED, linewidth=0.8)
    ax.axvline(1, color=style.MUTED, linewidth=0.8)
    for ecn in (True, False):
        look = style.look(0 if ecn else 1)
        places = shares(means.points, ecn=ecn)
        x = [means.of(DELAY, ours, at) / means.of(DELAY, theirs, at) for at in places]
        y = [100 * (means.of(GOODPUT, ours, at) / means.of(GOODPUT, theirs, at) - 1) for at in places]
        (marks,) = ax.plot(np.clip(x, *FACTORS), np.clip(y, *PERCENTS), color=look.colour, linestyle="none", zorder=3)
        marks.set(marker=look.marker, markersize=4.2, markerfacecolor=look.colour if ecn else "none", clip_on=False)
    ax.set_xlim(*FACTORS)
    ax.set_ylim(*PERCENTS)
    ax.set_xticks([1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8], ["⅛", "¼", "½", "1", "2", "4", "8"])
    ax.set_yticks([-50, -10, -2, 0, 2, 10, 50, 200], ["−50", "−10", "−2", "0", "+2", "+10", "+50", "+200"])
    ax.minorticks_off()
    ax.set_title(f"against {theirs}")


def _key(ax: Axes) -> None:
    """Says what the marks are, in the panel that is left over."""
    for level, ecn, text in ((0.62, True, "with ECN"), (0.5, False, "drops only")):
        look = style.look(0 if ecn else 1)
        (mark,) = ax.plot([0.2], [level], transform=ax.transAxes, color=look.colour, linestyle="none")
        mark.set(marker=look.marker, markersize=5, markerfacecolor=look.colour if ecn else "none")
        ax.text(0.26, level, text, transform=ax.transAxes, va="center", color=look.colour)
    ax.text(0.16, 0.36, "better: up and to the left", transform=ax.transAxes, va="center", color=style.MUTED)


def range_table(runs: Runs, repair: Repair) -> TableData:
    """Returns the medians over the points, with and without ECN."""
    rows, means = [], Means(runs)
    for ecn in (True, False):
        places = shares(means.points, ecn=ecn)
        for name in names(repair):
            found = [np.median([means.of(of, name, at) for at in places]) * of.scale for of in MEASURES.values()]
            used = np.median([means.of(Measure(quantity="utilization"), name, at) for at in places])
            words = [minus(f"{value:.{digits}f}") for value, digits in zip(found, (1, 2, 2, 1), strict=True)]
            rows.append([f"{name}, {'ECN' if ecn else 'drops'}", *words, f"{100 * used:.1f}"])
    head = ("median over the points", "delay [ms]", "goodput [Mbit/s]", "loss [%]", "sd of the delay [ms]")
    return TableData((*head, "utilization [%]"), rows)


def range_exhibits(repair: Repair) -> tuple[Exhibit, Exhibit]:
    """Returns the figure and the table of the range."""
    grid = OVER_RANGE[repair.original]
    where = (
        f"{len(PLACES) // 2} points from 1.5 to 100 Mbit/s, 5 to 200 flows and 20 to 200 ms, each with ECN and "
        "without; every discipline aims at 20 ms, or at ten packets on slow links."
    )
    return (
        Exhibit(
            key="range",
            title=f"{repair.name} where nothing was made for it",
            cases=grid,
            show=partial(show_range, repair=repair),
            caption=f"A mark is the mean over the seeds at a point; one at an edge lies beyond it. {where}",
        ),
        Exhibit(
            key="range-table",
            title="The same in numbers",
            cases=grid,
            show=partial(range_table, repair=repair),
            caption=where,
        ),
    )


_PIE = "PIE and CoDel aim at the middle of the thresholds."

EXHIBITS: Mapping[str, Sequence[Exhibit]] = {
    AMECN.original: (*load_exhibits(), *range_exhibits(AMECN)),
    RARED.original: (
        *own(
            RARED,
            OVER_M,
            "m",
            "FTP flows that join at 20 s, m",
            f"The paper's figures 3 to 6. {_PIE} The throughput is all that left the queue, ACKs included.",
            carried=("throughput", THROUGHPUT),
        ),
        *range_exhibits(RARED),
    ),
    NRED.original: (
        *own(NRED, OVER_N, "N", "flows, N", f"The paper's figures 5 and 6, a buffer of 100 KB; drops. {_PIE}"),
        *own(NRED, OVER_N_ECN, "N", "flows, N", f"The same with ECN; marks at any probability. {_PIE}", "own-ecn"),
        *range_exhibits(NRED),
    ),
    RED_AT.original: (
        *own(RED_AT, OVER_SOURCES, "N", "sources, N", f"The paper's experiment 2. {_PIE}"),
        *range_exhibits(RED_AT),
    ),
}
