"""RED against DropTail: what is measured, and the figures and tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from penstock.judging.estimate import FROM_ZERO
from penstock.reproduce import draw
from penstock.reproduce.comparisons import Values
from penstock.reproduce.grids import Grid
from penstock.reproduce.measures import Measure
from penstock.reproduce.model import Exhibit, Numbers, TableData
from penstock.reproduce.papers.rvd.scenarios import (
    CASE_1,
    CASE_2,
    CASE_3,
    CASE_4,
    QUEUES,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    Printed,
)
from penstock.reproduce.runs import Quantity, Run, Runs, within
from penstock.reproduce.words import minus
from penstock.show import style
from penstock.show.numbers import spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@within(FROM_ZERO)
def throughput_mbit_s(run: Run) -> float | None:
    """Returns what crosses the link, headers and packets sent again included."""
    bps = run.metrics["throughput_bps"]
    return None if bps is None else 1e-6 * bps


@within(FROM_ZERO)
def received_mbit_s(run: Run) -> float | None:
    """Returns what the receivers get, once, without headers."""
    bps = run.metrics["goodput_bps"]
    return None if bps is None else 1e-6 * bps


THROUGHPUT = Measure(quantity=throughput_mbit_s, unit="Mbit/s", axis="throughput [Mbit/s]")
RECEIVED = Measure(quantity=received_mbit_s, unit="Mbit/s", axis="received [Mbit/s]")
FAIRNESS = Measure(quantity="jain", unit="of the index", axis="fairness index")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of the paper's four cases with the table that has its numbers.

    xlabel: of its figure's axis. head: of its table's first column.
    """

    cases: Grid
    measure: Measure
    printed: Printed
    xlabel: str
    head: str
    digits: int

    def figure(self, runs: Runs) -> Figure:
        """Draws our curves with the paper's numbers as open marks."""
        with style.context():
            made = draw.figure()
            ax = made.subplots()
            printed = {queue: list(zip(self.printed.at, self.printed.column(queue), strict=True)) for queue in QUEUES}
            along, quantity = self.cases.along, self.measure.quantity
            draw.curves_on(ax, runs, along, quantity, "aqm", order=QUEUES, printed=printed)
            ax.set_xticks(self.printed.at)
            ax.set_ylim(0, 1 if self.measure == FAIRNESS else None)
            ax.set_xlabel(self.xlabel)
            ax.set_ylabel(self.measure.axis)
            draw.label_ends(ax)
        return made

    def table(self, runs: Runs) -> TableData:
        """Returns our numbers beside the printed ones."""
        rows, digits = [], self.digits
        for at in runs.labels(self.cases.along):
            row = [f"{at}"]
            for queue in QUEUES:
                ours = runs.estimate(self.measure.quantity, **{self.cases.along: at, "aqm": queue})
                said = self.printed.of(queue, float(at))
                assert ours.mean is not None
                off = minus(f"{100 * (ours.mean / said - 1):+.0f} %")
                row += [f"{said:.{digits}f}", f"{ours.mean:.{digits}f}{spread(ours, digits)}", off]
            rows.append(row)
        heads = [(f"{queue}: paper", f"{queue}: here", "off by") for queue in QUEUES]
        return TableData((self.head if self.head == "N" else "D [ms]", *heads[0], *heads[1]), rows)

    def deviations(self, quantity: Quantity | None = None) -> Values:
        """Returns a claim's values: |ours/printed − 1| in percent, at every number of the table.

        quantity: what is taken for the printed quantity, in its unit; left out, the part's measure.
        """

        @within(FROM_ZERO)
        def values(runs: Runs) -> Numbers:
            along = self.cases.along
            found = {}
            for at in runs.labels(along):
                for queue in QUEUES:
                    ours = runs.values(quantity or self.measure.quantity, aqm=queue, **{along: at})
                    off = 100 * np.abs(ours / self.printed.of(queue, float(at)) - 1)
                    found[f"{self.head} {at}, {queue}"] = [float(each) for each in off]
            return found

        return values


over_n = partial(Part, measure=THROUGHPUT, xlabel="number of connections N", head="N", digits=2)
over_d = partial(Part, measure=FAIRNESS, xlabel="D [ms]", head="D", digits=3)
PART_1, PART_2 = over_n(cases=CASE_1, printed=TABLE_1), over_n(cases=CASE_2, printed=TABLE_2)
PART_3, PART_4 = over_d(cases=CASE_3, printed=TABLE_3), over_d(cases=CASE_4, printed=TABLE_4)

DROPLESS = "Source i of 16 is i·D away. No packet is dropped, so that RED and DropTail are the same run."

EXHIBITS = (
    Exhibit(
        key="fig2",
        title="Throughput over N, T_p = 80 ms",
        cases=CASE_1,
        show=PART_1.figure,
        caption="Case 1. The link has 45 Mbit/s. Each flow starts at random within the first 10 ms: with all of them "
        "at one instant (reading start=0) all seeds are almost the same run.",
    ),
    Exhibit(
        key="table1",
        title="Throughput in case 1",
        cases=CASE_1,
        show=PART_1.table,
        caption="In Mbit/s. The text at hand has lost the points of 2.5, 3.5 and 7.5.",
    ),
    Exhibit(
        key="fig3",
        title="Throughput over N, T_p = 250 ms",
        cases=CASE_2,
        show=PART_2.figure,
        caption="Case 2. The link has 45 Mbit/s: an axis up to it would show nothing but its foot.",
    ),
    Exhibit(key="table2", title="Throughput in case 2", cases=CASE_2, show=PART_2.table, caption="In Mbit/s."),
    Exhibit(
        key="fig4",
        title="Fairness over D, T_p = 75 ms",
        cases=CASE_3,
        show=PART_3.figure,
        caption=f"Case 3. {DROPLESS}",
    ),
    Exhibit(
        key="table3",
        title="Fairness index in case 3",
        cases=CASE_3,
        show=PART_3.table,
        caption="The paper's text has RED above DropTail here; its own numbers have it below at 10 and 15 ms.",
    ),
    Exhibit(
        key="fig5",
        title="Fairness over D, T_p = 250 ms",
        cases=CASE_4,
        show=PART_4.figure,
        caption=f"Case 4. {DROPLESS}",
    ),
    Exhibit(key="table4", title="Fairness index in case 4", cases=CASE_4, show=PART_4.table, caption=""),
)
