"""Running a scenario, or one scenario under several disciplines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from penstock._penstock import RunResult
from penstock.model.scenario import Scenario, seconds
from penstock.runs.execute import Progress, cores, execute, share
from penstock.runs.result import Comparison, Result
from penstock.show.progress import in_notebook

if TYPE_CHECKING:
    from penstock.model.discipline import Named

#: The most runs of one call, as of a sweep's point.
MOST_SEEDS = 1_000_000
#: Whole numbers up to here survive every JSON reader.
LARGEST_SEED = 2**53


def run(
    scenario: Scenario,
    seeds: int | Iterable[int] = 1,
    *,
    jobs: int | None = None,
    series: str | float | None = None,
    events: bool = False,
    pcap: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Runs a scenario once per seed and returns all of it.

    seeds: how many, from the scenario's `seed` on, or the seeds themselves.
    jobs: threads; default: one for each core that the process may use. The results do not depend on it. For a
        discipline written in Python they are processes.
    series: sampling interval of the recorded series, `"10 ms"` or seconds; default: nothing is recorded.
    events: record every packet's fate at the bottleneck, too.
    pcap: the name of a link whose packets are captured (`"bottleneck"`); see `RunResult.pcap`.
    progress: called about twenty times a second with (fraction done, runs done, runs in all). In a notebook a bar is
        drawn if it is left out.

    Releases the GIL; Ctrl-C stops it at once. Raises `ScenarioError` or `SimulationError`.

    A discipline written in Python holds the GIL: one seed runs on this thread, several in worker processes, with the
    same results. (Where a process cannot be forked, on macOS and Windows, they run one after the other here, and a
    `RuntimeWarning` says so.) What the discipline raises comes out as it is; the runs that were complete by then are
    the exception's attribute `finished`: label → `Result`. An exception out of a worker process has its traceback as
    text, in its cause.
    """
    if isinstance(seeds, int) and not 0 < seeds <= MOST_SEEDS:
        raise ValueError(f"seeds: from 1 to {MOST_SEEDS}, not {seeds}")
    chosen = list(range(scenario.seed, scenario.seed + seeds)) if isinstance(seeds, int) else list(seeds)
    if not chosen or not all(0 <= seed <= LARGEST_SEED for seed in chosen):
        raise ValueError(f"seeds: at least one, each from 0 to {LARGEST_SEED}")
    threads = cores() if jobs is None else jobs
    interval = seconds(series) if series is not None else None
    progress = progress or in_notebook(f"{scenario.name}, {scenario.label}")
    done: dict[int, RunResult] = {}
    try:
        runs = execute(
            scenario.core,
            chosen,
            threads,
            done,
            series_interval_s=interval,
            events=events,
            pcap=pcap,
            progress=progress,
        )
    except BaseException as error:
        if done:
            complete = Result(scenario, [done[i] for i in sorted(done)], threads)
            _keep(error, {scenario.label: complete})
        raise
    return Result(scenario, runs, threads)


def _keep(error: BaseException, results: dict[str, Result]) -> None:
    """Hangs results on an exception."""
    error.finished = {**results, **getattr(error, "finished", {})}  # type: ignore[attr-defined]


def compare(
    scenario: Scenario,
    aqms: Iterable[Named] | Mapping[str, Named],
    seeds: int | Iterable[int] = 1,
    *,
    jobs: int | None = None,
    series: str | float | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Runs a scenario under each of the named disciplines with the same seeds: at the bottleneck, forward. The other
    direction keeps its own.

    aqms: the baseline first, each as `Scenario.with_aqm` takes it: `["red", ps.Red(min_th=20), Mine(5)]`; results are
        then called `red`, `red:min_th=20` and `Mine`, which is the class's name or its `name`. Two of one class are
        told apart by their arguments, `Mine(limit=5)`. A mapping gives them other names: `{"tight": Mine(5)}`.
    The other arguments are those of `run`.
    """
    from penstock.model.discipline import disciplines

    chosen = disciplines(aqms, "disciplines to compare")
    seeds = seeds if isinstance(seeds, int) else list(seeds)
    # All are made before any runs: a mistake in the last must not cost the time of the first.
    scenarios = {each.label: scenario.with_aqm(each) for each in chosen}
    results: dict[str, Result] = {}
    progress = progress or in_notebook(scenario.name)
    for i, (label, each) in enumerate(scenarios.items()):
        try:
            results[label] = run(each, seeds, jobs=jobs, series=series, progress=share(progress, i, len(chosen)))
        except BaseException as error:
            _keep(error, results)
            raise
    return Comparison(results)
