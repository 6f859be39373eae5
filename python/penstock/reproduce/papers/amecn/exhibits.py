"""AMECN: what is measured, and the figures and tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from penstock.reproduce import draw
from penstock.reproduce.draw import Panel
from penstock.reproduce.measures import Measure
from penstock.reproduce.model import Exhibit
from penstock.reproduce.papers.amecn.scenarios import (
    CHANGE_S,
    DUMBBELL_PKTS_S,
    ON_DUMBBELL,
    ON_LOT,
    SETTLED_S,
    TARGET,
    load_changes,
)

if TYPE_CHECKING:
    from penstock.reproduce.runs import Run


# ---- what is measured


def mean_avg(run: Run, since: float, until: float) -> float:
    """The mean of avg between two times in seconds: packets."""
    return float(np.mean(run.recorded("avg_pkts", since, until)))


def settled_avg(run: Run) -> float:
    """Mean of avg from 15 s after the change to the end: packets."""
    return mean_avg(run, SETTLED_S, run.scenario.duration_s)


def return_s(run: Run) -> float:
    """Seconds from the change until the mean of avg over 5 s is in the target range.

    Returns 20 where it never is.
    """
    window = 5.0
    for since in np.arange(CHANGE_S, run.scenario.duration_s - window, 0.1):
        if TARGET[0] <= mean_avg(run, since, since + window) <= TARGET[1]:
            return float(since) - CHANGE_S
    return run.scenario.duration_s - window - CHANGE_S


def percent_used(run: Run) -> float:
    """Utilization in percent."""
    return 100.0 * (run.metrics["utilization"] or 0.0)


def target_pkts(run: Run) -> float:
    """The target delay in packets of the dumbbell's link."""
    return float(run.labels["target_ms"]) * 1e-3 * DUMBBELL_PKTS_S


def summed_delay_ms(run: Run) -> float:
    """Mean queueing delays of the parking lot's three links, forward, added up."""
    return 1e3 * sum(run.links[name]["delay_mean_s"] or 0.0 for name in ("R0-R1", "R1-R2", "R2-R3"))


def long_goodput_bps(run: Run) -> float:
    """What the flows over more than one link receive: the groups before the one-hop flows'."""
    return sum(group["goodput_bps"] or 0.0 for group in run.groups[:-1])


UTILIZATION = Measure(quantity=percent_used, unit="percentage points")
TOTAL = Measure(quantity="goodput_bps", scale=1e-6, unit="Mbit/s", axis="total throughput [Mbit/s]")
LONG = Measure(quantity=long_goodput_bps, scale=1e-6, unit="Mbit/s", axis="of it, flows over several links [Mbit/s]")

# ---- figures

ORDER = ("AMECN", "ARED", "MECN")
#: ns-2's cases of figures 9 and 10 that give AMECN's thresholds in packets instead of a target delay.
NS2 = {"AMECN": {ms: f"amecn-fig9-amecn-t{ms:03}" for ms in (10, 20, 100)}}
EVENTS = {"rises": {CHANGE_S: "20 flows start"}, "falls": {CHANGE_S: "20 flows stop"}}


def load_exhibit(key: str, aqm: str, load: str) -> Exhibit:
    """One of figures 5 to 8."""
    more = "more" if load == "rises" else "fewer"
    return Exhibit(
        key=key,
        title=f"{aqm} when the load {load}",
        cases=load_changes(load, aqm),
        show=partial(draw.traces, panels="aqm", target=TARGET, events=EVENTS[load], top=44, order=ORDER),
        caption=f"Queue and average at 1.5 Mbit/s with 20 flows {more} from 25 s on; the band is AMECN's target range "
        "of 9 to 12 packets. P_max of 0.1 is our reading.",
    )


EXHIBITS = (
    load_exhibit("fig5", "MECN", "rises"),
    load_exhibit("fig6", "AMECN", "rises"),
    load_exhibit("fig7", "MECN", "falls"),
    load_exhibit("fig8", "AMECN", "falls"),
    Exhibit(
        key="fig9",
        title="Throughput over average delay, dumbbell",
        cases=ON_DUMBBELL,
        show=partial(
            draw.curves,
            x="queue_mean_pkts",
            quantity="utilization",
            series="aqm",
            along="target_ms",
            scale=100,
            xlabel="mean queueing delay [packets]",
            ylabel="link utilization [%]",
            order=ORDER,
            ns2=NS2,
        ),
        caption="100 flows, web and reverse traffic over 7 Mbit/s; a point is a target delay from 10 to 100 ms, "
        "measured from 50 to 100 s. The delay is the mean queue, ACKs of the reverse flows included. An independent "
        "implementation inside ns-2 has 94.3, 95.5 and 93.2 % for AMECN at 10, 20 and 100 ms, 94.0, 95.3 and 98.6 % "
        "for ARED at 10, 20 and 80 ms.",
    ),
    Exhibit(
        key="fig10",
        title="Measured over target delay, dumbbell",
        cases=ON_DUMBBELL,
        show=partial(
            draw.curves,
            x=target_pkts,
            quantity="queue_mean_pkts",
            series="aqm",
            along="target_ms",
            xlabel="target delay [packets]",
            ylabel="measured mean delay [packets]",
            diagonal="measured = target",
            order=ORDER,
            ns2=NS2,
        ),
        caption="The runs of figure 9. A packet of delay is 8/7 ms, a full packet's time on the link.",
    ),
    Exhibit(
        key="fig12",
        title="Throughput over average delay, three congested links",
        cases=ON_LOT,
        show=partial(
            draw.side_by_side,
            x=summed_delay_ms,
            panels=(Panel(TOTAL, (None, None)), Panel(LONG)),
            along="target_ms",
            xlabel="summed mean queueing delay [ms]",
            order=ORDER,
        ),
        caption="Left, the paper's figure: what all flows receive, over the queueing delays of the three 10 Mbit/s "
        "links added up; a point is a target delay from 10 to 100 ms. Right, ours: the part of it that goes to flows "
        "over two or three links. Full links carry between 10 and 30 Mbit/s in all: most where nothing goes to those. "
        "Inside ns-2: 28.5 and 26.3 Mbit/s for AMECN at 10 and 40 ms, 24.7 and 23.9 for ARED.",
    ),
)
