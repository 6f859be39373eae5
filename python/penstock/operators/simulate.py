"""Simulates what the box will do beside what was wanted: the same seeds under both."""

from __future__ import annotations

from penstock.model.scenario import Scenario
from penstock.runs.execute import Progress, share
from penstock.runs.result import Comparison
from penstock.runs.runner import run

#: What both are compared by.
METRICS = ("utilization", "delay_mean_s", "delay_p99_s", "loss_ratio", "marks_ce")
WANTED, BOX = "wanted", "box"


def compared(
    scenario: Scenario, box: Scenario, seeds: int, jobs: int | None = None, progress: Progress | None = None
) -> Comparison:
    """Returns both runs, paired by seed; `difference("box")` is what the box does more than
    wanted.
    """
    return Comparison(
        {
            WANTED: run(scenario, seeds, jobs=jobs, progress=share(progress, 0, 2)),
            BOX: run(box, seeds, jobs=jobs, progress=share(progress, 1, 2)),
        }
    )
