"""NRED: what is measured, and the figures and tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from penstock.judging.estimate import FROM_ZERO
from penstock.reproduce import draw
from penstock.reproduce.measures import DELAY, LOSS
from penstock.reproduce.model import Exhibit, TableData
from penstock.reproduce.papers.nred.scenarios import EXPONENTS, FLOOD_BUFFER, OVER_BUFFER, OVER_LOAD, QUEUES, profiles
from penstock.reproduce.runs import Run, Runs, within
from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show_profiles(runs: Runs) -> Figure:
    """Draws Fig. 1, from what the disciplines published."""
    with style.context():
        made = draw.figure()
        ax = made.subplots()
        for number, (name, at) in enumerate(
            (("RED", 23), ("NRED, n = 1", 62), ("NRED, n = 2", 72), ("NRED, n = 5", 84)), start=1
        ):
            run = min(runs.where(aqm=name), key=lambda run: run.seed)
            avg, p = run.recorded("avg_pkts"), run.recorded("p_b")
            order = np.argsort(avg, kind="stable")
            look = style.discipline(name) or style.look(number)
            # The profiles of one discipline share its colour, and differ in their lines.
            line = look.line if name == "RED" else style.look(number).line
            ax.plot(avg[order], p[order], color=look.colour, linestyle=line)
            level = float(np.interp(at, avg[order], p[order]))
            # One name says whose the family is; three would cover the curves.
            text = name.removeprefix("NRED, ") if name != "NRED, n = 1" else name
            draw.write(ax, text, (at, level), look.colour, xytext=(-6, 3), textcoords="offset points", ha="right")
        droptail = style.discipline("DropTail")
        assert droptail is not None
        colour = droptail.colour
        ax.plot([0, FLOOD_BUFFER, FLOOD_BUFFER], [0, 0, 1], color=colour, linewidth=2.4, zorder=1)
        draw.write(ax, "DropTail, over the queue itself", (1.01, 0.5), colour, beside=True, rotation=90)
        ax.set_xlim(0, FLOOD_BUFFER * 1.02)
        ax.set_ylim(0, 1.02)
        ax.set_xlabel("average queue [packets]; min_th 5, max_th 15, buffer 100")
        ax.set_ylabel("drop probability p")
    return made


#: Table 1: parameter → as the paper prints it.
TABLE_1 = {"min_th": "5 packets", "max_th": "3 × min_th", "max_p": "0.1", "w_q": "0.002"}


def show_parameters(runs: Runs) -> TableData:
    """Shows table 1 beside what the runs had."""

    def had(name: str, parameter: str) -> str:
        run = next(iter(runs.where(aqm=name)))
        return str(run.scenario.resolved["aqm"].get(parameter, "has none"))

    rows = [[each, printed, had("RED", each), had("NRED", each)] for each, printed in TABLE_1.items()]
    return TableData(("parameter", "printed for RED", "RED in our runs", "NRED in our runs"), rows)


def show_exponents(runs: Runs) -> TableData:
    """Returns what NRED's exponent does in the runs of figures 5 and 6."""
    rows = []
    for flows in runs.labels("N"):
        part = runs.where(N=flows)
        mean = part.estimate(mean_exponent)
        series = [run.recorded("n") for run in part]
        highest = max(float(np.max(n)) for n in series)
        changes = max(int(np.count_nonzero(np.diff(n))) for n in series)
        ends = " or ".join(f"{v:g}" for v in sorted({float(n[-1]) for n in series}))
        rows.append([f"{flows}", f"{mean.mean:.3f}", f"{highest:g}", f"{changes:g}", ends])
    return TableData(("N", "mean of n", "highest n", "most changes in a run", "n at the end"), rows)


@within(FROM_ZERO)
def mean_exponent(run: Run) -> float:
    """Returns the mean of NRED's exponent over a run."""
    return float(np.mean(run.recorded("n")))


over_buffer = partial(draw.over, "buffer_kb", xlabel="buffer [KB]", order=QUEUES)
over_load = partial(draw.over, "N", xlabel="flows N (N − 1 FTP, 1 CBR)", order=QUEUES)

EXHIBITS = (
    Exhibit(
        key="fig1",
        title="Drop probability profile of NRED, DropTail and RED",
        cases=profiles,
        show=show_profiles,
        caption="RED's and NRED's curves are what the disciplines published, arrival by arrival, "
        "while a flood lifted the average; DropTail's is its definition. The paper's Fig. 1 names "
        "no n.",
    ),
    Exhibit(
        key="section2",
        title="Not shown in the paper: NRED's exponent in the runs of figures 5 and 6",
        cases=EXPONENTS,
        show=show_exponents,
        caption="Sampled every 0.1 s for 100 s. The exponent starts at 2, with bounds 1 and 5.",
    ),
    Exhibit(
        key="table1",
        title="The parameters of RED",
        cases=OVER_BUFFER.only("RED", "NRED", at=(100,)),
        show=show_parameters,
        caption="As the paper prints them, and as the scenarios had them. NRED has the same "
        "except max_p, which it does not need.",
    ),
    Exhibit(
        key="fig3",
        title="Delay over buffer size",
        cases=OVER_BUFFER,
        show=over_buffer(DELAY),
        caption="N = 50. Queueing delay at the bottleneck, of all packets; propagation is a constant more.",
    ),
    Exhibit(
        key="fig4",
        title="Packet loss over buffer size",
        cases=OVER_BUFFER,
        show=over_buffer(LOSS),
        caption="N = 50. Packets dropped at the bottleneck over packets that arrived there.",
    ),
    Exhibit(
        key="fig5",
        title="Delay over the number of connections",
        cases=OVER_LOAD,
        show=over_load(DELAY),
        caption="Buffer 100 KB.",
    ),
    Exhibit(
        key="fig6",
        title="Packet loss over the number of connections",
        cases=OVER_LOAD,
        show=over_load(LOSS),
        caption="Buffer 100 KB.",
    ),
)
