"""RED-AT: what is measured, and the figures and tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.judging.estimate import FROM_ZERO, SHARE
from penstock.reproduce import draw
from penstock.reproduce.draw import Panel
from penstock.reproduce.measures import LOSS, Measure
from penstock.reproduce.model import Exhibit
from penstock.reproduce.papers.red_at.scenarios import (
    DELAY_BASED,
    LOSS_BASED,
    ONLY_RED_AT,
    OVER_FLOWS,
    PARAMETERS,
    QUEUES,
    WIRE_LOSS,
    WIRELESS,
    at_80,
    blue,
    bounds,
    one_flow,
)
from penstock.reproduce.runs import Run, Runs, within
from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


# ---- what is measured

#: Experiment 1 is judged from here on: the flows have started, slow start is over.
SETTLED_S = 20.0


@within(FROM_ZERO)
def jitter_s(run: Run) -> float | None:
    """Returns the standard deviation of the queueing delay."""
    variance = run.metrics["delay_var_s2"]
    return None if variance is None else float(np.sqrt(variance))


@within(FROM_ZERO)
def goodput_bps(run: Run) -> float:
    """Returns what all sources get through, FTP and HTTP: payload acknowledged, each byte once."""
    return sum(group["goodput_bps"] or 0.0 for group in run.groups)


def settled(column: str, of: Callable[[NDArray[np.float64]], Any]) -> Measure:
    """Returns a number of a recorded series from `SETTLED_S` on, in packets."""
    asked = within(FROM_ZERO)(lambda run: float(of(run.recorded(column, since=SETTLED_S))))
    return Measure(quantity=asked, unit="packets")


DROPS = replace(LOSS, axis="drop rate [%]")
THROUGHPUT = Measure(quantity="throughput_bps", scale=1e-6, axis="throughput of the link [Mbit/s]")
GOODPUT = Measure(quantity=goodput_bps, scale=1e-6, axis="goodput of all sources [Mbit/s]")
JITTER = Measure(quantity=jitter_s, scale=1e3, unit="ms", axis="standard deviation of the delay [ms]")
CONSECUTIVE = Measure(quantity="delay_variation_s", scale=1e3, unit="ms", axis="change from packet to packet [ms]")
UTILIZATION = Measure(quantity="utilization", scale=100, unit="percentage points")

#: Where RED-AT's nominal and RED's only max_th is, in packets.
MAX_TH = PARAMETERS["max_th"]


@within(SHARE)
def forced(run: Run) -> float:
    """Returns the share of the time in which the average is at or above max_th as it stands."""
    assert run.trace is not None
    moves = "max_th" in run.trace.column_names
    threshold = run.recorded("max_th", since=SETTLED_S) if moves else MAX_TH
    return float(np.mean(run.recorded("avg_pkts", since=SETTLED_S) >= threshold))


FORCED = Measure(quantity=forced, scale=100, unit="percentage points of the time")
#: The same with the nominal threshold.
FORCED_NOMINAL = replace(
    FORCED,
    quantity=within(SHARE)(lambda run: float(np.mean(run.recorded("avg_pkts", since=SETTLED_S) >= MAX_TH))),
)

# ---- figures

OURS = style.discipline("RED-AT") or style.look(1)
N_AXIS = "number of flows N"
#: The part of experiment 1 that is shown: all of it would be a band.
SHOWN_S = (60.0, 90.0)


def show_windows(runs: Runs) -> Figure:
    """Draws figures 1 to 3: a flow's window over time, a panel for each TCP."""
    names = runs.labels("tcp")
    with style.context():
        made = draw.figure(height=0.9 + 1.45 * len(names))
        axes = made.subplots(len(names), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for number, (ax, name) in enumerate(zip(axes, names, strict=True)):
            run = min(runs.where(tcp=name), key=lambda run: run.seed)
            assert run.windows is not None
            look = style.look(number)
            t, window, ssthresh = (run.windows[key] for key in ("t_s", "cwnd_segments", "ssthresh_segments"))
            ax.plot(t, window, color=look.colour, linewidth=1.4)
            if name not in DELAY_BASED:  # Vegas uses ssthresh at the start alone
                ax.plot(t, ssthresh, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
            used, lost = (100 * (run.metrics[key] or 0.0) for key in ("utilization", "loss_ratio"))
            said = f"{used:.1f} % used, {lost:.2f} % lost"
            ax.set_title(name, color=look.colour)
            ax.set_title(said, loc="right", fontsize="medium", fontweight="normal")
            ax.set_ylabel("cwnd [segments]")
        axes[0].set_xlim(0, 40)
        axes[0].set_ylim(0, 160)
        axes[-1].set_xlabel("time [s]")
    return made


def show_blue(runs: Runs) -> Figure:
    """Draws figure 4: BLUE's queue, and the one probability that it keeps."""
    run = min(runs, key=lambda run: run.seed)
    with style.context():
        made = draw.figure(height=3.6)
        above, below = made.subplots(2, 1, sharex=True)
        t = run.recorded("t_s")
        above.plot(t, run.recorded("queue_pkts"), color=style.look(5).colour, linewidth=0.5)
        above.set_ylabel("queue [packets]")
        below.plot(t, 100 * run.recorded("p_m"), color=style.INK, linewidth=1.4, drawstyle="steps-post")
        below.set_ylabel("p_m [%]")
        above.set_ylim(0, 52)
        below.set_ylim(0, None)
        below.set_xlim(0, 150)
        below.set_xlabel("time [s]")
    return made


def show_bounds(runs: Runs) -> Figure:
    """Draws figure 5: the drop probability over the average queue, within the bounds of its thresholds."""
    run = min(runs, key=lambda run: run.seed)
    bound = bounds(0.5, 0.2)
    with style.context():
        made = draw.figure(height=3.6)
        ax = made.subplots()
        for low, high, text, line in (
            (bound["min_lo"], bound["max_lo"], "at min⁻ and max⁻", (0, (4, 2))),
            (PARAMETERS["min_th"], MAX_TH, "nominal", "solid"),
            (bound["min_hi"], bound["max_hi"], "at min⁺ and max⁺", (0, (1, 1))),
        ):
            ax.plot([0, low, high, high, 44], [0, 0, PARAMETERS["max_p"], 1, 1], color=style.INK, linestyle=line)
            ax.annotate(
                text,
                (high, 0.102),
                xytext=(3, 0),
                textcoords="offset points",
                rotation=90,
                va="bottom",
                color=style.INK,
            )
        avg, p = (run.recorded(column, since=SETTLED_S) for column in ("avg_pkts", "p_b"))
        ax.plot(avg, p, linestyle="none", marker="o", markersize=2, alpha=0.4, color=OURS.colour)
        for at, text in ((7.5, "region a:\nboth rise"), (19.5, "b: nominal"), (40.9, "c: both\nfall")):
            ax.annotate(text, (at, 0.238), ha="center", va="top", color=style.MUTED)
        for edge in (bound["min_hi"], bound["max_lo"]):
            ax.axvline(edge, color=style.MUTED, linewidth=0.7)
        ax.set_xlim(0, 44)
        ax.set_ylim(-0.004, 0.24)
        ax.set_xlabel("average queue [packets]")
        ax.set_ylabel("drop probability p_b")
    return made


def show_queues(runs: Runs) -> Figure:
    """Draws figure 8 or 9, with RED's thresholds: one run, since a mean over several does not oscillate."""
    first = Runs([run for run in runs if run.seed == runs.seeds[0]])
    made = draw.traces(first, "aqm", target=(10.0, 30.0), top=52, order=QUEUES)
    made.axes[0].set_xlim(*SHOWN_S)
    return made


def show_thresholds(runs: Runs) -> Figure:
    """Draws ten seconds of RED-AT's queue, its average and its thresholds."""
    run = min(runs, key=lambda run: run.seed)
    shown = (60.0, np.nextafter(70.0, np.inf))
    with style.context():
        made = draw.figure()
        ax = made.subplots()
        for column, text, level, colour, width, drawn, line in (
            ("queue_pkts", "queue", 48.0, OURS.colour, 0.8, "default", "solid"),
            ("avg_pkts", "average", 21.0, style.INK, 1.8, "default", "solid"),
            ("max_th", "max_th", 39.0, style.look(0).colour, 1.4, "steps-post", "solid"),
            ("min_th", "min_th", 2.0, style.look(0).colour, 1.4, "steps-post", (0, (4, 2))),
        ):
            t, series = (run.recorded(name, *shown) for name in ("t_s", column))
            ax.plot(t, series, color=colour, linewidth=width, drawstyle=drawn, linestyle=line)
            draw.write(ax, text, (1.01, level / 52), colour, beside=True)
        ax.set_xlim(60, 70)
        ax.set_ylim(0, 52)
        ax.set_xlabel("time [s]")
        ax.set_ylabel("packets")
    return made


def show_throughput(runs: Runs) -> Figure:
    """Draws figure 11, read in two ways."""
    panels = (Panel(THROUGHPUT, (7.0, 10.0)), Panel(GOODPUT, (7.0, 10.0)))
    return draw.side_by_side(runs, "N", panels, xlabel=N_AXIS, order=QUEUES)


def show_jitter(runs: Runs) -> Figure:
    """Draws figure 12, read in two ways."""
    return draw.side_by_side(runs, "N", (Panel(JITTER), Panel(CONSECUTIVE)), xlabel=N_AXIS, order=QUEUES)


EXHIBITS = (
    Exhibit(
        key="fig1",
        title="Congestion window over time: Tahoe and Reno",
        cases=one_flow(*LOSS_BASED),
        show=show_windows,
        caption="The paper's figure is a sketch of others' work. Here it is one flow alone on the "
        "link of 10 Mbit/s with a round trip of 60 ms and a DropTail buffer of 50 packets; the "
        "link holds 78 packets.",
    ),
    Exhibit(
        key="fig2",
        title="Congestion window over time: Vegas",
        cases=one_flow(*DELAY_BASED),
        show=show_windows,
        caption="Likewise. Vegas compares the window with what the shortest round trip would "
        "carry, and settles with one to three packets waiting (ns-2's α and β). Equation (2) of "
        "the paper prints cwnd + α where Vegas has α.",
    ),
    Exhibit(
        key="fig3",
        title="Westwood+, which the paper prints as pseudocode: its window on a link that loses packets",
        cases=one_flow(*WIRELESS, loss=WIRE_LOSS),
        show=show_windows,
        caption=f"The same flow on a wire that loses {100 * WIRE_LOSS:g} % of the packets at "
        "random, beside New Reno. Dashed: ssthresh. After a loss Westwood+ goes back to what its "
        "estimate of the rate delivers in the shortest round trip. Equation (3) of the paper "
        "prints a minus where the filter has a plus.",
    ),
    Exhibit(
        key="fig4",
        title="What the paper prints as adaptive RED [4]: BLUE, its queue and its probability",
        cases=blue,
        show=show_blue,
        caption="N = 80 as in figures 8 and 9. One probability rises by 0.25 points when the "
        "buffer overflows and falls by a tenth of that when the link is idle, each at most once "
        "in 0.1 s. Whether ARED is this is the reading ared=blue.",
    ),
    Exhibit(
        key="fig5",
        title="The bounds of RED-AT's thresholds, and the drop probability in a run",
        cases=ONLY_RED_AT,
        show=show_bounds,
        caption="Lines: the profile with the thresholds at their bounds and at their nominal "
        "values; beyond max_th every packet is dropped, above the scale. Points: the probability "
        "of the last arrival in the run of figure 9, every 50 ms from second 20 on; those at 0 "
        "above the line are arrivals at an almost empty queue, which ns-2's RED never drops. The "
        "paper names no bounds; these are ours.",
    ),
    Exhibit(
        key="fig8",
        title="Queue and average queue over time with N = 80: RED",
        cases=at_80("RED"),
        show=show_queues,
        caption="Thirty of 150 s. The band reaches from min_th = 10 to max_th = 30 packets.",
    ),
    Exhibit(
        key="fig9",
        title="Queue and average queue over time with N = 80: RED-AT",
        cases=ONLY_RED_AT,
        show=show_queues,
        caption="Thirty of 150 s. The band reaches from min_th = 10 to max_th = 30 packets, "
        "RED-AT's nominal thresholds.",
    ),
    Exhibit(
        key="thresholds",
        title="Not shown in the paper: what RED-AT's thresholds do in Fig. 9",
        cases=ONLY_RED_AT,
        show=show_thresholds,
        caption="Ten seconds of seed 1, sampled every 50 ms. Region a (average below 15) lifts "
        "both thresholds, region c (above 24) lowers both, between them they are at 10 and 30. "
        "From one bound to the other min_th takes 10 steps of 5 arrivals and max_th 20, less than "
        "0.1 s.",
    ),
    Exhibit(
        key="fig10",
        title="Drop rate over the number of flows",
        cases=OVER_FLOWS,
        show=draw.over("N", DROPS, xlabel=N_AXIS, order=QUEUES),
        caption="Packets dropped at R1 over packets that arrived there.",
    ),
    Exhibit(
        key="fig11",
        title="Throughput over the number of flows",
        cases=OVER_FLOWS,
        show=show_throughput,
        caption="Left, all that crossed the link of 10 Mbit/s; right, payload that was "
        "acknowledged, each byte once. The axes do not begin at 0.",
    ),
    Exhibit(
        key="fig12",
        title="Jitter over the number of flows",
        cases=OVER_FLOWS,
        show=show_jitter,
        caption="The paper does not define jitter. Left, the standard deviation of the queueing "
        "delay; right, the mean absolute difference of successive packets' delays, as in RFC 3550.",
    ),
)
