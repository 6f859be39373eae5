"""AMECN: what is measured, and the figures and tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

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
    from numpy.typing import NDArray

    from penstock.reproduce.runs import Run


# ---- what is measured


def mean_avg(run: Run, since: float, until: float) -> float:
    """The mean of avg between two times in seconds: packets."""
    return float(np.mean(run.recorded("avg_pkts", since, until)))


def settled_avg(run: Run) -> float:
    """Mean of avg from 15 s after the change to the end: packets."""
    return mean_avg(run, SETTLED_S, run.scenario.duration_s)


def before_change(run: Run) -> float:
    """Mean of avg from 10 to 25 s: packets."""
    return mean_avg(run, 10.0, CHANGE_S)


def after_change(run: Run) -> float:
    """By how much avg differs at the end from what it was before the change: packets."""
    return settled_avg(run) - before_change(run)


def off_target(run: Run) -> float:
    """How far the mean of avg is from the middle of the target range at the end: packets."""
    return abs(settled_avg(run) - sum(TARGET) / 2)


def return_s(run: Run) -> float:
    """Seconds from the change until the mean of avg over 5 s is in the target range, or infinity."""
    window = 5.0
    for since in np.arange(CHANGE_S, run.scenario.duration_s - window, 0.1):
        if TARGET[0] <= mean_avg(run, since, since + window) <= TARGET[1]:
            return float(since) - CHANGE_S
    return float("inf")


def p_max(run: Run, since: float = 0.0) -> NDArray[Any]:
    """The recorded P_max from a time in seconds on: AMECN's, MECN's or ARED's."""
    assert run.trace is not None
    return run.recorded("p1_max" if "p1_max" in run.trace.column_names else "max_p", since)


def reaches_s(run: Run) -> float:
    """Seconds until P_max has gone from one of its bounds to the other, or infinity."""
    values = p_max(run)
    there = values >= 0.5 if run.labels["way"] == "rises" else values <= 0.0101
    return float(run.recorded("t_s")[int(np.argmax(there))]) if there.any() else float("inf")


def percent_used(run: Run) -> float:
    """Utilization in percent."""
    return 100.0 * (run.metrics["utilization"] or 0.0)


def percent_received(run: Run) -> float:
    """What the receivers get, in percent of the link's rate."""
    rate = 1.5e6 if "load" in run.labels else 1e3 * 8 * DUMBBELL_PKTS_S
    return 100.0 * (run.metrics["goodput_bps"] or 0.0) / rate


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
RECEIVED = Measure(quantity=percent_received, unit="percentage points")
TOTAL = Measure(quantity="goodput_bps", scale=1e-6, unit="Mbit/s", axis="total throughput [Mbit/s]")
LONG = Measure(quantity=long_goodput_bps, scale=1e-6, unit="Mbit/s", axis="of it, flows over several links [Mbit/s]")

# ---- figures

ORDER = ("AMECN", "ARED", "MECN")
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
            size=(9.6, 3.9),
            order=ORDER,
        ),
        caption="Left, the paper's figure: what all flows receive, over the queueing delays of the three 10 Mbit/s "
        "links added up; a point is a target delay from 10 to 100 ms. Right, ours: the part of it that goes to flows "
        "over two or three links. Full links carry between 10 and 30 Mbit/s in all: most where nothing goes to those. "
        "Inside ns-2: 28.5 and 26.3 Mbit/s for AMECN at 10 and 40 ms, 24.7 and 23.9 for ARED.",
    ),
)
