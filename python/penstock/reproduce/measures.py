"""Computes what papers measure: a quantity of a run, in the unit in which it is shown."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.reproduce.runs import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A quantity of a run with the unit in which figures and claims give it.

    quantity: a metric by name, or a function of a run.
    scale: the factor from the quantity's own unit to the one that is shown.
    unit: of the difference of two values: `"ms"`, `"percentage points"`.
    axis: the label of an axis that shows it: `"loss ratio [%]"`.
    """

    quantity: Quantity
    scale: float = 1.0
    unit: str = ""
    axis: str = ""


#: The queueing delay at the bottleneck, the mean over all packets.
DELAY = Measure(quantity="delay_mean_s", scale=1e3, unit="ms", axis="mean queueing delay [ms]")
#: Packets dropped at the bottleneck, over packets that arrived there.
LOSS = Measure(quantity="loss_ratio", scale=100, unit="percentage points", axis="loss ratio [%]")
