"""The function `penstock.tune`.

It loads what it needs when it is called, as `penstock.sweep` does: the package's names are all
loaded before a discipline in Python runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.model.scenario import Scenario

if TYPE_CHECKING:
    from penstock.sweeps.drive import Sweep
    from penstock.tuning.command import Tuning
    from penstock.tuning.goals import Goal


def tune(
    scenario: Scenario | str | Path,
    aqm: str,
    *,
    goals: Sequence[str | Goal] | str = (),
    maximize: Sequence[str] | str = (),
    minimize: Sequence[str] | str = (),
    judge: str = "worst",
    vary: Sequence[str] = (),
    fix: Mapping[str, object] | None = None,
    runs: int | None = None,
    time: str | float | None = None,
    seeds: int | None = None,
    out: str | Path = "out/tune",
    jobs: int | None = None,
    scheduler: Any = None,
    progress: Callable[[Sweep], object] | None = None,
) -> Tuning:
    """Finds a discipline's parameters for a range of conditions, and writes a statement about them.

    scenario: or the path of its file; the points of its `[sweep]` are the range.
    aqm: the discipline, such as `"red"`.
    goals: bounds that must be kept: `"delay_p99_s < 20 ms"`.
    maximize, minimize: metrics; several give a Pareto front.
    judge: over the range: `"worst"`, `"mean"`, or a quantile such as `"q90"`.
    vary: the keys that are searched, perhaps with ends: `["aqm.max_p=0.01..0.5"]`; default: the
        usual ones.
    fix: key → value of the discipline, that stays.
    runs: of the search; the statement takes some more; default: 6000. The same call gives the same
        statement.
    time: of the search, instead (`"5 min"`, or seconds). What is found then depends on the machine.
    seeds: of the statement, under each condition; default: 10.
    out: the folder of the page and the runs; what it holds is not run again.
    jobs: threads; default: one a core.
    scheduler: a Dask scheduler's address or client.
    progress: called a few times a second.

    Raises `Error` for what makes no sense, before anything runs.
    """
    from penstock.tuning.command import SEEDS, Wanted, run

    given = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    file = None if isinstance(scenario, Scenario) else Path(scenario)
    wanted = Wanted(
        given,
        file,
        aqm,
        [goals] if isinstance(goals, str) else goals,
        [maximize] if isinstance(maximize, str) else maximize,
        [minimize] if isinstance(minimize, str) else minimize,
        judge,
        vary,
        fix or {},
        runs,
        time,
        SEEDS if seeds is None else seeds,
    )
    return run(wanted, Path(out), jobs, scheduler, progress)
