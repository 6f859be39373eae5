"""RARED: what is measured, and the figures and tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.judging.estimate import FROM_ZERO
from penstock.reproduce import draw
from penstock.reproduce.draw import Panel
from penstock.reproduce.measures import DELAY, LOSS, Measure
from penstock.reproduce.model import Exhibit
from penstock.reproduce.papers.rared.scenarios import (
    AT_LONG_DELAY,
    BESIDE,
    OVER_DELAY,
    OVER_SLOPE,
    QUEUES,
    STRONG_RED,
)
from penstock.reproduce.runs import Run, Runs, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure


JITTER = Measure(quantity="delay_var_s2", scale=1e6, unit="ms²", axis="variance of the queueing delay [ms²]")
THROUGHPUT = Measure(quantity="throughput_bps", scale=1e-6, unit="Mbit/s", axis="throughput [Mbit/s]")
#: How steady the queue's length is over time.
STEADINESS = Measure(quantity="queue_sd_pkts", unit="packets", axis="standard deviation of the queue [packets]")
#: The same of data packets alone, without acknowledgements.
DATA_DELAY, DATA_JITTER, DATA_LOSS = (
    replace(measure, quantity=f"data_{measure.quantity}") for measure in (DELAY, JITTER, LOSS)
)


@within(FROM_ZERO)
def swing(run: Run) -> float | None:
    """Returns the standard deviation of the queue's length as a share of its mean."""
    sd, mean = run.metrics["queue_sd_pkts"], run.metrics["queue_mean_pkts"]
    return sd / mean if sd is not None and mean else None


SWING = Measure(quantity=swing, unit="times the mean queue", axis="the queue's standard deviation\nover its mean")


def figure(key: str, title: str, measure: Measure, caption: str, ylim: draw.Limits = (0, None)) -> Exhibit:
    """Returns one of the figures 3 to 6: a measure over m."""
    show = draw.over("m", measure, xlabel="FTP flows that join at 20 s, m", ylim=ylim, order=QUEUES)
    return Exhibit(key=key, title=title, cases=AT_LONG_DELAY, show=show, caption=caption)


def show_over_delay(runs: Runs) -> Figure:
    """Draws delay and loss beside each other, over the bottleneck's delay."""
    panels = (Panel(DELAY), Panel(LOSS))
    xlabel = "one-way delay of the bottleneck [ms]"
    return draw.side_by_side(runs, "delay_ms", panels, xlabel=xlabel, log=True, order=QUEUES)


def show_over_slope(runs: Runs) -> Figure:
    """Draws what RARED's threshold brings and what it costs."""
    panels = (Panel(DELAY), Panel(THROUGHPUT, (1.0, 1.5)))
    xlabel = "threshold of the slope, slope_th [packets/s]"
    return draw.side_by_side(runs, "slope_th", panels, xlabel=xlabel, log=True, order=QUEUES)


def show_beside(runs: Runs) -> Figure:
    """Draws RARED between two plain REDs."""
    panels = (Panel(DELAY), Panel(LOSS))
    xlabel = "FTP flows that join at 20 s, m"
    return draw.side_by_side(runs, "m", panels, xlabel=xlabel, order=(*QUEUES, STRONG_RED))


EXHIBITS = (
    figure(
        "fig3",
        "Delay over the number of joining flows",
        DELAY,
        "Queueing delay at the bottleneck; the paper's delay has a constant more, the propagation.",
    ),
    figure(
        "fig4",
        "Delay jitter over the number of joining flows",
        JITTER,
        "The paper's definition: “the variance of delay”, over all packets of a run. The whole "
        "run has the step from the first half's queue to the second's in it; the reading "
        "window=20-40s has not.",
    ),
    figure(
        "fig5",
        "Packet loss ratio over the number of joining flows",
        LOSS,
        "Packets dropped at the bottleneck over packets that arrived there.",
    ),
    figure(
        "fig6",
        "Throughput over the number of joining flows",
        THROUGHPUT,
        "All that left the bottleneck's queue. The axis begins at two thirds of the link's rate and ends at it.",
        ylim=(1.0, 1.5),
    ),
    Exhibit(
        key="section5",
        title="Not shown in the paper: short and long links",
        cases=OVER_DELAY,
        show=show_over_delay,
        caption="Eight flows join. The paper's section 5 says that RARED does as ARED when the "
        "delay is short, and leaves the figure out.",
    ),
    Exhibit(
        key="slope",
        title="Not shown in the paper: the threshold of the slope",
        cases=OVER_SLOPE,
        show=show_over_slope,
        caption="Eight flows join. The paper prints 20 packets/s; its section 5 says what a lower "
        "threshold does. The right axis begins at two thirds of the link's rate.",
    ),
    Exhibit(
        key="beside",
        title="Not in the paper: a plain RED that signals as strongly",
        cases=BESIDE,
        show=show_beside,
        caption="RARED signals with a probability of 0.8 while the average climbs; its RED has a "
        "max_p of 0.1. The third curve is that RED with a max_p of 0.8, without any look at the "
        "slope.",
    ),
)
