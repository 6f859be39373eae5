"""RARED: what is measured, and the figures and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.reproduce import draw
from penstock.reproduce.draw import Panel
from penstock.reproduce.measures import DELAY, LOSS, Measure
from penstock.reproduce.model import Exhibit
from penstock.reproduce.papers.rared.scenarios import AT_LONG_DELAY, OVER_DELAY, QUEUES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from penstock.reproduce.runs import Runs


JITTER = Measure(quantity="delay_var_s2", scale=1e6, unit="ms²", axis="variance of the queueing delay [ms²]")
THROUGHPUT = Measure(quantity="throughput_bps", scale=1e-6, unit="Mbit/s", axis="throughput [Mbit/s]")


def figure(key: str, title: str, measure: Measure, caption: str, ylim: draw.Limits = (0, None)) -> Exhibit:
    """One of the figures 3 to 6: a measure over m."""
    show = draw.over("m", measure, xlabel="FTP flows that join at 20 s, m", ylim=ylim, order=QUEUES)
    return Exhibit(key=key, title=title, cases=AT_LONG_DELAY, show=show, caption=caption)


def show_over_delay(runs: Runs) -> Figure:
    """Delay and loss beside each other, over the bottleneck's delay."""
    panels = (Panel(DELAY), Panel(LOSS))
    xlabel = "one-way delay of the bottleneck [ms]"
    return draw.side_by_side(runs, "delay_ms", panels, xlabel=xlabel, log=True, order=QUEUES)


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
        "The paper's definition: “the variance of delay”, over all packets of a run. The whole run has the step from "
        "the first half's queue to the second's in it; the reading window=20-40s has not.",
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
        caption="m = 8. The paper's section 5 says that RARED does as ARED when the delay is short, and leaves the "
        "figure out.",
    ),
)
