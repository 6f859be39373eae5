"""The stability of a scenario's queue: `penstock.stability`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.fluid import range as ranges
from penstock.fluid import simulated
from penstock.model.scenario import Scenario
from penstock.runs.execute import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability(ranges.Range):
    """What `penstock.stability` returns: a scenario's points, in the order of its axes."""

    def plot(self, *, size: tuple[float, float] | None = None) -> Figure:
        """Draws the range: a map of flows and round trips, a line over one axis, or one loop's curves.

        size: width and height in inches.
        """
        from penstock.fluid.figures import draw

        return draw(self, size)


def stability(
    scenario: Scenario | str | Path,
    *,
    flows: str | int | Sequence[int] | None = None,
    rtt: str | float | Sequence[str | float] | None = None,
    simulate: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Stability:
    """Returns whether the queue of a scenario settles or oscillates, by the fluid model of TCP and AQM.

    Every point of the scenario's `[sweep]` is judged: its balance, the loop near it, gain and phase
    margins. There is a model for red, ared, rared, mecn, amecn, pi and rem.

    scenario: or the path of its file: a dumbbell with long Reno transfers.
    flows: further values of the number of flows: a range `"5:200"`, a list, or one.
    rtt: likewise of the round trip over an empty queue: `"20ms:200ms"`, seconds, a list.
    simulate: run every point, too, and look for the oscillation in its queue.
    seeds: runs of every point with `simulate`; default: 3.
    jobs: threads; default: one a core.
    progress: called about twenty times a second with `simulate`.

    `docs/stability.md` derives the model and holds it against the simulator.
    """
    base = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    found = ranges.points(base, ranges.axes(base, flows, rtt))
    if simulate:
        found = simulated.simulate(found, seeds or simulated.SEEDS, base.seed, jobs, progress)
    return Stability(name=found.name, kind=found.kind, axes=found.axes, cases=found.cases)
