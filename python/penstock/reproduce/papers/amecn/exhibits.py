"""AMECN: what is measured, and the figures and tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.judging.estimate import FROM_ZERO, PERCENT
from penstock.reproduce import draw
from penstock.reproduce.draw import Panel
from penstock.reproduce.measures import Measure
from penstock.reproduce.model import Exhibit
from penstock.reproduce.ns2 import measured
from penstock.reproduce.papers.amecn.conformance import (
    one_level,
    receiver_echoes,
    router_marks,
    sender_cuts,
    with_marks,
)
from penstock.reproduce.papers.amecn.scenarios import (
    ADAPTATIONS,
    CHANGE_S,
    DUMBBELL_PKTS_S,
    ON_DUMBBELL,
    ON_LOT,
    OVER_P_MAX,
    SETTLED_S,
    TARGET,
    load_changes,
    profiles,
)
from penstock.reproduce.runs import Run, Runs, within
from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


# ---- what is measured


def mean_between(run: Run, since: float, until: float, column: str = "avg_pkts") -> float:
    """Returns the mean of avg, or of the queue (`queue_pkts`), between two times in seconds: packets."""
    return float(np.mean(run.recorded(column, since, until)))


@within(FROM_ZERO)
def settled_avg(run: Run) -> float:
    """Returns the mean of avg from 15 s after the change to the end: packets."""
    return mean_between(run, SETTLED_S, run.scenario.duration_s)


@within(FROM_ZERO)
def before_change(run: Run) -> float:
    """Returns the mean of avg from 10 to 25 s: packets."""
    return mean_between(run, 10.0, CHANGE_S)


def after_change(run: Run) -> float:
    """Returns by how much avg differs at the end from what it was before the change: packets."""
    return settled_avg(run) - before_change(run)


@within(FROM_ZERO)
def off_target(run: Run, column: str = "avg_pkts") -> float:
    """Returns how far the mean of a column is from the middle of the target range at the end: packets."""
    return abs(mean_between(run, SETTLED_S, run.scenario.duration_s, column) - sum(TARGET) / 2)


@within(FROM_ZERO)
def return_s(run: Run, column: str = "avg_pkts") -> float:
    """Returns seconds from the change until a column's mean over 5 s is in the target range, or infinity."""
    window = 5.0
    for since in np.arange(CHANGE_S, run.scenario.duration_s - window, 0.1):
        if TARGET[0] <= mean_between(run, since, since + window, column) <= TARGET[1]:
            return float(since) - CHANGE_S
    return float("inf")


def p_max(run: Run, since: float = 0.0) -> NDArray[Any]:
    """Returns the recorded P_max from a time in seconds on: AMECN's, MECN's or ARED's."""
    assert run.trace is not None
    return run.recorded("p1_max" if "p1_max" in run.trace.column_names else "max_p", since)


@within(FROM_ZERO)
def reaches_s(run: Run) -> float:
    """Returns seconds until P_max has gone from one of its bounds to the other, or infinity."""
    values = p_max(run)
    there = values >= 0.5 if run.labels["way"] == "rises" else values <= 0.0101
    return float(run.recorded("t_s")[int(np.argmax(there))]) if there.any() else float("inf")


@within(PERCENT)
def percent_used(run: Run) -> float:
    """Returns the utilization in percent."""
    return 100.0 * (run.metrics["utilization"] or 0.0)


@within(PERCENT)
def percent_received(run: Run) -> float:
    """Returns what the receivers get, in percent of the link's rate."""
    rate = 1.5e6 if "load" in run.labels else 1e3 * 8 * DUMBBELL_PKTS_S
    return 100.0 * (run.metrics["goodput_bps"] or 0.0) / rate


def target_pkts(run: Run) -> float:
    """Returns the target delay in packets of the dumbbell's link."""
    return float(run.labels["target_ms"]) * 1e-3 * DUMBBELL_PKTS_S


@within(FROM_ZERO)
def summed_delay_ms(run: Run) -> float:
    """Returns the mean queueing delays of the parking lot's three links, forward, added up."""
    return 1e3 * sum(run.links[name]["delay_mean_s"] or 0.0 for name in ("R0-R1", "R1-R2", "R2-R3"))


@within(FROM_ZERO)
def long_goodput_bps(run: Run) -> float:
    """Returns what the flows over more than one link receive: the groups before the one-hop flows'."""
    return sum(group["goodput_bps"] or 0.0 for group in run.groups[:-1])


UTILIZATION = Measure(quantity=percent_used, unit="percentage points")
RECEIVED = Measure(quantity=percent_received, unit="percentage points")
TOTAL = Measure(quantity="goodput_bps", scale=1e-6, unit="Mbit/s", axis="total throughput [Mbit/s]")
LONG = Measure(quantity=long_goodput_bps, scale=1e-6, unit="Mbit/s", axis="of it, flows over several links [Mbit/s]")

# ---- figures

ORDER = ("AMECN", "ARED", "MECN", "RED")
#: ns-2's cases of figures 9 and 10 that give AMECN's thresholds in packets instead of a target delay.
NS2 = {"AMECN": {ms: f"amecn-fig9-amecn-t{ms:03}" for ms in (10, 20, 100)}}
EVENTS = {"rises": "20 flows start", "falls": "20 flows stop"}
#: What section 4.2 prints of the throughput: percent of the link's rate.
PRINTED = {"fig5": 94.5, "fig6": 96.3, "fig7": 93.4, "fig8": 94.5}


def look_of(aqm: str) -> style.Look:
    """Returns the look of a discipline in all figures."""
    return style.discipline(aqm) or style.look(0)


def mean_of(runs: Runs, aqm: str, quantity: Callable[[Run], NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns the times, and the mean over the seeds of what is recorded."""
    part = list(runs.where(aqm=aqm))
    return part[0].recorded("t_s"), np.mean([quantity(run) for run in part], axis=0)


def show_load(runs: Runs, key: str, aqm: str, load: str) -> Figure:
    """Draws one of figures 5 to 8: the queue and the averages above, P_max below."""
    with style.context():
        made = draw.figure(height=3.2)
        top, below = made.subplots(2, 1, sharex=True, height_ratios=(3, 1.5))
        own = min(runs.where(aqm=aqm), key=lambda run: run.seed)
        queue = own.recorded("t_s"), own.recorded("queue_pkts")
        top.plot(*queue, color=look_of(aqm).colour, alpha=0.35, linewidth=0.6)
        top.axhspan(*TARGET, color=style.MUTED, alpha=0.22, linewidth=0, zorder=0.5)
        for name in ("MECN", "AMECN", "ARED"):
            how: dict[str, Any] = {"color": look_of(name).colour, "linestyle": look_of(name).line, "label": name}
            for ax, quantity in ((top, avg_of), (below, p_max)):
                ax.errorbar(*mean_of(runs, name, quantity), linewidth=2.2 if name == aqm else 1.1, **how)
        for ax in (top, below):
            for at in (CHANGE_S, SETTLED_S):
                ax.axvline(at, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 2)))
        for at, text in ((CHANGE_S, EVENTS[load]), (SETTLED_S, "15 s later")):
            where: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            top.annotate(text, (at, 0.97), xytext=(4, 0), va="top", color=style.MUTED, **where)
        used = runs.estimate(percent_used, aqm=aqm).mean or 0.0
        there = measured(own, percent_used)
        beside = "" if there is None else f", {there.mean:.1f} % in ns-2"
        said = f"{aqm}: {used:.1f} % of the link used; printed: {PRINTED[key]} %{beside}"
        draw.note_above(top, said)
        top.set_xlim(0, own.scenario.duration_s)
        top.set_ylim(0, 44)
        top.set_ylabel("queue [packets]")
        below.set_ylim(0, 0.55)
        below.set_ylabel("P_max")
        below.set_xlabel("time [s]")
        for ax in (top, below):
            draw.label_ends(ax)
    return made


def avg_of(run: Run) -> NDArray[Any]:
    """Returns the recorded average."""
    return run.recorded("avg_pkts")


def load_exhibit(key: str, aqm: str, load: str) -> Exhibit:
    """Returns one of figures 5 to 8."""
    more = "more" if load == "rises" else "fewer"
    return Exhibit(
        key=key,
        title=f"{aqm} when the load {load}",
        cases=load_changes(load, "MECN", "AMECN", "ARED"),
        show=partial(show_load, key=key, aqm=aqm, load=load),
        caption=f"1.5 Mbit/s with 20 flows {more} from 25 s on. Thin: {aqm}'s queue with seed 1. Lines: the average, "
        f"{aqm}'s and the others', mean over the seeds. The band is AMECN's target range of 9 to "
        "12 packets, in which the paper has it from about 40 s on. Below: P_max, which starts at "
        "0.1 in our reading.",
    )


def show_profile(runs: Runs, aqm: str) -> Figure:
    """Draws figure 1 or 2, from what the discipline published."""
    with style.context():
        made = draw.figure()
        ax = made.subplots()
        run = min(runs.where(aqm=aqm), key=lambda run: run.seed)
        avg = run.recorded("avg_pkts")
        order = np.argsort(avg, kind="stable")
        curves = {"p_b": "mark or drop"} if aqm == "RED" else {"p1": "incipient", "p2": "moderate"}
        for i, (column, name) in enumerate(curves.items()):
            look, p = style.look(i), run.recorded(column)
            ax.plot(avg[order], p[order], color=look.colour, linestyle=look.line)
            x, shift, side = (10.5, (-6, 4), "right") if i == 0 else (12.5, (6, -6), "left")
            y = float(np.interp(x, avg[order], p[order]))
            draw.write(ax, name, (x, y), look.colour, xytext=shift, textcoords="offset points", ha=side)
        for at, name in ((5, "min_th"), (10, "mid_th"), (15, "max_th")):
            if aqm == "MECN" or name != "mid_th":
                ax.axvline(at, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 2)))
                ax.annotate(
                    name,
                    (at, 0.97),
                    xycoords=("data", "axes fraction"),
                    xytext=(3, 0),
                    va="top",
                    textcoords="offset points",
                    color=style.MUTED,
                )
        ax.set_xlim(0, 16)
        ax.set_ylim(0, 0.2)
        ax.set_xlabel("average queue [packets]")
        ax.set_ylabel("probability; P_max is 0.1")
    return made


def show_adaptation(runs: Runs) -> Figure:
    """Draws what figure 3's algorithm does to P_max, beside ARED's."""
    with style.context():
        made, axes = draw.beside(2)
        for ax, way, said in zip(axes, ("rises", "falls"), (24.5, 20.1), strict=True):
            for aqm in ("AMECN", "ARED"):
                run = min(runs.where(aqm=aqm, way=way), key=lambda run: run.seed)
                t, p, look = run.recorded("t_s"), p_max(run), look_of(aqm)
                ax.plot(t, p, color=look.colour, linestyle=look.line)
                at = int(np.argmax(p > 0.3)) if way == "rises" else int(np.argmax(p < 0.2))
                draw.write(ax, aqm, (t[at], p[at]), look.colour, xytext=(6, 2), textcoords="offset points")
            ax.axvline(said, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 2)))
            where: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            ax.annotate(f"printed: {said} s", (said, 0.5), xytext=(4, 0), color=style.MUTED, **where)
            title = "too much load" if way == "rises" else "too little load"
            draw.note_above(ax, title)
            ax.set_xlim(0, 40)
            ax.set_ylim(0, 0.55)
            ax.set_ylabel("P_max")
            ax.set_xlabel("time [s]")
    return made


def show_equation_2(runs: Runs) -> Figure:
    """Draws the average over P_max, with what equation (2) makes of the first point."""
    with style.context():
        made = draw.figure()
        ax = made.subplots()
        for i, (name, quantity) in enumerate((("22 flows", settled_avg), ("2 flows", before_change))):
            points = runs.curve("p_max", quantity)
            at, avg = [x for x, _ in points], [y.mean or 0.0 for _, y in points]
            look = style.look(i)
            half = [[y.below for _, y in points], [y.above for _, y in points]]
            ax.errorbar(at, avg, yerr=half, color=look.colour, marker=look.marker, linestyle=look.line, capsize=2)
            ax.plot(at, [avg[0] * at[0] / x for x in at], color=look.colour, linestyle=":", linewidth=1)
            draw.write(ax, name, (at[-1], avg[-1]), look.colour, xytext=(6, 0), textcoords="offset points", va="center")
        ax.annotate(
            "dotted: in proportion to 1/P_max",
            (0.98, 0.95),
            xycoords="axes fraction",
            ha="right",
            va="top",
            color=style.MUTED,
        )
        ax.set_xlabel("P_max")
        ax.set_ylabel("average queue [packets]")
        ax.set_ylim(0, None)
    return made


EXHIBITS = (
    Exhibit(
        key="fig1",
        title="RED's marking probability",
        cases=profiles,
        show=partial(show_profile, aqm="RED"),
        caption="What the discipline published, arrival by arrival, while a flood lifted its average. Thresholds of 5 "
        "and 15 packets.",
    ),
    Exhibit(
        key="fig2",
        title="MECN's two marking probabilities",
        cases=profiles,
        show=partial(show_profile, aqm="MECN"),
        caption="As figure 1: each packet draws for a moderate mark first, so that the two do not add up.",
    ),
    Exhibit(
        key="table1",
        title="The router's marks",
        cases=with_marks,
        show=router_marks,
        caption="All packets behind MECN's queue in the run of figure 5, captured, beside what the queue counted. ACKs "
        "are not ECN-capable.",
    ),
    Exhibit(
        key="table2",
        title="The receivers' echo",
        cases=with_marks,
        show=receiver_echoes,
        caption="All packets of the direction back in the same run, captured. A mark is told once, on the next ACK. "
        "That a window was reduced is told on data packets, here those of the reverse flow.",
    ),
    Exhibit(
        key="table3",
        title="The sender's answer",
        cases=one_level,
        show=sender_cuts,
        caption="One flow behind a router that gives signals of one level alone: the slow-start threshold after a cut "
        "over the window before, without the first, which ends slow start. After a loss RFC 5681 "
        "halves what is in flight, which is a little more than the window that is recorded.",
    ),
    Exhibit(
        key="fig3",
        title="How fast P_max adapts",
        cases=ADAPTATIONS,
        show=show_adaptation,
        caption="1.5 Mbit/s under a constant load of 3 Mbit/s, P_max from 0.01; and of 0.75 Mbit/s, P_max from 0.5. "
        "The printed times are those of ARED's fixed steps.",
    ),
    Exhibit(
        key="eq2",
        title="The average over P_max",
        cases=OVER_P_MAX,
        show=show_equation_2,
        caption="MECN in the run of figure 5: with 2 flows (10 to 25 s) and with 22 (40 to 50 s). Equation (2) has the "
        "average in proportion to 1/P_max at one marking probability; flows that are marked more "
        "slow down, and so change that probability.",
    ),
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
        "measured from 50 to 100 s. The delay is the mean queue, ACKs of the reverse flows "
        "included. Crosses: an independent implementation inside ns-2.",
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
        "links added up; a point is a target delay from 10 to 100 ms. Right, ours: the part of "
        "it that goes to flows over two or three links. Full links carry between 10 and 30 "
        "Mbit/s in all: most where nothing goes to those. Inside ns-2: 28.5 and 26.3 Mbit/s for "
        "AMECN at 10 and 40 ms, 24.7 and 23.9 for ARED.",
    ),
)
