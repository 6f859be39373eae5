"""The distribution of the delay in a run, from its recorded queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.emulation import EmulationError
from penstock.model.scenario import Scenario
from penstock.runs.result import Result
from penstock.show.shown import window_s

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Name → value, of one run.
Metrics = Mapping[str, "float | None"]

#: The shares at which the distributions of the delay are kept.
SHARES = tuple(i / 100 for i in range(101))


def delays(side: Result) -> list[NDArray[np.float64]]:
    """Returns what waited at each sample of the window over the link's rate, in seconds: one array per run."""
    import pyarrow.compute as pc

    table = side.series("queue")
    delays = []
    for run in side.runs:
        since, until = window_s(side, run)
        mine = table.filter(pc.equal(table["seed"], run.seed))
        times, waiting = mine["t_s"].to_numpy(), mine["queue_bytes"].to_numpy()
        inside = (times >= since) & (times < until)
        delays.append(waiting[inside] * 8.0 / _rate_bps(run.metrics, side.scenario))
    return delays


def _rate_bps(metrics: Metrics, scenario: Scenario) -> float:
    """Returns the link's mean rate in the window."""
    throughput, utilization = metrics["throughput_bps"], metrics["utilization"]
    if not throughput or not utilization:
        raise EmulationError(f"{scenario.name}: nothing crossed the bottleneck in the measured window")
    return throughput / utilization
