"""A sweep from beginning to end: `penstock.sweep`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import ScenarioError
from penstock.model.scenario import Scenario, scenario_under, seconds
from penstock.runs.execute import cores
from penstock.runs.tasks import Engine, Tables
from penstock.show.progress import NotebookBar, in_notebook
from penstock.sweeps.drive import Driver, Failure, Grid, Sweep, engine_for
from penstock.sweeps.until import Until

if TYPE_CHECKING:
    from penstock.model.discipline import Named


def sweep(
    scenario: Scenario | str | Path,
    *,
    aqm: Named | None = None,
    over: Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]] = (),
    seeds: int | None = None,
    out: str | Path = "out/sweep",
    jobs: int | None = None,
    scheduler: Any = None,
    engine: Engine | None = None,
    until: str | Until | None = None,
    flows: bool = False,
    series: str | float | None = None,
    fail_fast: bool = False,
    patience: str | float | None = None,
    progress: Callable[[Sweep], object] | None = None,
    failure: Callable[[Failure], object] | None = None,
) -> Sweep:
    """Runs every point of a scenario's `[sweep]` and `[[variant]]` with every seed, but for what `out` holds already.

    scenario: or the path of its file.
    aqm: the discipline, as `Scenario.with_aqm` takes it; default: the scenario's. The annotated arguments of a class of
        your own are keys, such as `"aqm.limit"`, of `over` and of a file's `[sweep]`.
    over: further axes, key path → values; or a list of points, each a mapping of key paths to values.
    seeds: runs of every point, from the scenario's seed on; default: `sweep.seeds`, or 1.
    out: the folder of the runs; read it with `penstock.sweeps.store.read`, DuckDB, Polars or pandas.
    jobs: threads; default: one a core.
    scheduler: a Dask scheduler's address (`"tcp://head:8786"`) or a `distributed.Client`, whose workers run them.
    engine: where runs go instead: anything that is an `Engine`.
    until: more seeds for each point until its interval is so narrow, as in `"utilization ±0.5%"`; at most `seeds`, or
        1000.
    flows: keep the metrics of each flow, too, in `out/flows`.
    series: keep the queue's, cwnd, rtt, goodput, model, fct and pages series at this interval (`"100 ms"` or seconds),
        too, in `out/series`.
    fail_fast: a run that fails ends the sweep; else it is reported, and the others go on.
    patience: with a scheduler: how long nothing may come back (`"300 s"` or seconds) before the sweep asks what is
        going on; then it sends lost runs again, or ends if no worker is left; default: 300 s.
    progress: called a few times a second. In a notebook a bar is drawn if it is left out.
    failure: called with each run that failed.

    A discipline in Python runs in forked processes. Raises `ScenarioError` where it cannot be told from others, since
    its runs cannot be kept then.
    """
    base = scenario_under(scenario, aqm)
    if not isinstance(over, Mapping):
        over = list(over) or {}
    if isinstance(until, str):
        until = Until.parse(until, most=seeds or 1000)
    if until is not None:
        base = base.recording([goal.metric for goal in until.goals])
    grid = Grid(base, over)
    first, each = base.seed, seeds or grid.seeds or 1
    tables = Tables(flows, None if series is None else _interval_s(series))
    with ExitStack() as stack:
        if engine is None and scheduler is not None:
            from penstock.sweeps.on_dask import PATIENCE_S, DaskEngine

            patience_s = PATIENCE_S if patience is None else seconds(patience)
            engine = stack.enter_context(DaskEngine(scheduler, patience_s=patience_s))
        engine = engine or engine_for(base, jobs or cores())
        driver = Driver(grid, range(first, first + each), Path(out), engine, fail_fast, until, tables)
        bar = in_notebook(base.name) if progress is None else None
        if bar is not None:
            progress = partial(_drawn, bar)
        return driver.run(progress, failure)


def _interval_s(series: str | float) -> float:
    interval_s = seconds(series)
    if not 1e-9 <= interval_s <= 1e9:
        raise ScenarioError(f"series interval {series}: must be from 1 ns to 1e9 s")
    return interval_s


def _drawn(bar: NotebookBar, state: Sweep) -> None:
    bar(state.done / max(state.runs, 1), state.done, state.runs)
