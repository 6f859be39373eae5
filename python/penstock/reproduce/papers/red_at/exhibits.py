"""RED-AT: what is measured, and the figures and tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.reproduce import draw
from penstock.reproduce.draw import Panel
from penstock.reproduce.measures import LOSS, Measure
from penstock.reproduce.model import Exhibit
from penstock.reproduce.papers.red_at.scenarios import ONLY_RED_AT, OVER_FLOWS, QUEUES, at_80
from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from penstock.reproduce.runs import Run, Runs


# ---- what is measured

#: Experiment 1 is judged from here on: the flows have started, slow start is over.
SETTLED_S = 20.0


def jitter_s(run: Run) -> float | None:
    """The standard deviation of the queueing delay."""
    variance = run.metrics["delay_var_s2"]
    return None if variance is None else float(np.sqrt(variance))


def goodput_bps(run: Run) -> float:
    """What all sources get through, FTP and HTTP: payload acknowledged, each byte once."""
    return sum(group["goodput_bps"] or 0.0 for group in run.groups)


def settled(column: str, of: Callable[[NDArray[np.float64]], Any]) -> Measure:
    """A number of a recorded series from `SETTLED_S` on, in packets."""
    return Measure(quantity=lambda run: float(of(run.recorded(column, since=SETTLED_S))), unit="packets")


DROPS = replace(LOSS, axis="drop rate [%]")
THROUGHPUT = Measure(quantity="throughput_bps", scale=1e-6, axis="throughput of the link [Mbit/s]")
GOODPUT = Measure(quantity=goodput_bps, scale=1e-6, axis="goodput of all sources [Mbit/s]")
JITTER = Measure(quantity=jitter_s, scale=1e3, unit="ms", axis="standard deviation of the delay [ms]")
CONSECUTIVE = Measure(quantity="delay_variation_s", scale=1e3, unit="ms", axis="change from packet to packet [ms]")
UTILIZATION = Measure(quantity="utilization", scale=100, unit="percentage points")

# ---- figures

N_AXIS = "number of flows N"
#: The part of experiment 1 that is shown: all of it would be a band.
SHOWN_S = (60.0, 90.0)


def show_queues(runs: Runs) -> Figure:
    """Figure 8 or 9, with RED's thresholds."""
    made = draw.traces(runs, "aqm", target=(10.0, 30.0), top=52, order=QUEUES)
    made.axes[0].set_xlim(*SHOWN_S)
    return made


def show_thresholds(runs: Runs) -> Figure:
    """Ten seconds of RED-AT's queue, its average and its thresholds."""
    run = min(runs, key=lambda run: run.seed)
    shown = (60.0, np.nextafter(70.0, np.inf))
    with style.context():
        made = draw.figure(7.6, 3.6)
        ax = made.subplots()
        for column, text, level, colour, width, drawn in (
            ("queue_pkts", "queue", 48.0, style.look(QUEUES.index("RED-AT")).colour, 0.8, "default"),
            ("avg_pkts", "average", 21.0, style.INK, 1.8, "default"),
            ("max_th", "max_th", 39.0, style.look(1).colour, 1.4, "steps-post"),
            ("min_th", "min_th", 2.0, style.look(0).colour, 1.4, "steps-post"),
        ):
            t, series = (run.recorded(name, *shown) for name in ("t_s", column))
            ax.plot(t, series, color=colour, linewidth=width, drawstyle=drawn)
            draw.write(ax, text, (1.01, level / 52), colour, beside=True)
        ax.set_xlim(60, 70)
        ax.set_ylim(0, 52)
        ax.set_xlabel("time [s]")
        ax.set_ylabel("packets")
    return made


def show_throughput(runs: Runs) -> Figure:
    """Figure 11, read in two ways."""
    panels = (Panel(THROUGHPUT, (7.0, 10.0)), Panel(GOODPUT, (7.0, 10.0)))
    return draw.side_by_side(runs, "N", panels, xlabel=N_AXIS, order=QUEUES)


def show_jitter(runs: Runs) -> Figure:
    """Figure 12, read in two ways."""
    return draw.side_by_side(runs, "N", (Panel(JITTER), Panel(CONSECUTIVE)), xlabel=N_AXIS, order=QUEUES)


EXHIBITS = (
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
        caption="Thirty of 150 s. The band reaches from min_th = 10 to max_th = 30 packets, RED-AT's nominal "
        "thresholds.",
    ),
    Exhibit(
        key="fig6",
        title="Not shown in the paper: what RED-AT's thresholds do in Fig. 9",
        cases=ONLY_RED_AT,
        show=show_thresholds,
        caption="Ten seconds of seed 1, sampled every 50 ms. Region a (average below 15) lifts both thresholds, region "
        "c (above 24) lowers both, between them they are at 10 and 30. From one bound to the other min_th takes 10 "
        "steps of 5 arrivals and max_th 20, less than 0.1 s.",
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
        caption="Left, all that crossed the link of 10 Mbit/s; right, payload that was acknowledged, each byte once. "
        "The axes do not begin at 0.",
    ),
    Exhibit(
        key="fig12",
        title="Jitter over the number of flows",
        cases=OVER_FLOWS,
        show=show_jitter,
        caption="The paper does not define jitter. Left, the standard deviation of the queueing delay; right, the mean "
        "absolute difference of successive packets' delays, as in RFC 3550.",
    ),
)
