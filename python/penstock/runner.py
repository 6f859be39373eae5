"""Running a scenario, or one scenario under several disciplines."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable

from penstock import _penstock
from penstock.result import Comparison, Result
from penstock.scenario import Scenario, seconds

Progress = Callable[[float, int, int], object]


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
    """Runs a scenario once a seed and returns all of it.

    seeds: how many, from the scenario's `seed` on, or the seeds themselves.
    jobs: threads; default: one for each core that the process may use. The results do not depend on it.
    series: sampling interval of the recorded series, `"10 ms"` or seconds; default: nothing is recorded.
    events: record every packet's fate at the bottleneck, too.
    pcap: the name of a link whose packets are captured (`"bottleneck"`); see `RunResult.pcap`.
    progress: called about twenty times a second with (fraction done, runs done, runs in all).

    Releases the GIL; Ctrl-C stops it at once. Raises `ScenarioError` or `SimulationError`.
    """
    chosen = list(range(scenario.seed, scenario.seed + seeds)) if isinstance(seeds, int) else list(seeds)
    if not chosen:
        raise ValueError("seeds: at least one")
    threads = cores() if jobs is None else jobs
    interval = seconds(series) if series is not None else None
    runs = _penstock.run(
        scenario.core, chosen, threads, series_interval_s=interval, events=events, pcap=pcap, progress=progress
    )
    return Result(scenario, runs, threads)


def compare(
    scenario: Scenario,
    aqms: Iterable[str],
    seeds: int | Iterable[int] = 1,
    *,
    jobs: int | None = None,
    series: str | float | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Runs a scenario under each of the named disciplines with the same seeds.

    aqms: kinds, the baseline first; each takes its own keys of the scenario's `[aqm]`.
    The other arguments are `run`'s.
    """
    kinds = list(aqms)
    if not kinds or len(set(kinds)) < len(kinds):
        raise ValueError(f"disciplines to compare: at least one, each once, not {kinds}")
    seeds = seeds if isinstance(seeds, int) else list(seeds)
    # All are made before any runs: a mistake in the last must not cost the time of the first.
    scenarios = {kind: scenario.with_aqm(kind) for kind in kinds}
    results = {}
    for i, (kind, each) in enumerate(scenarios.items()):
        results[kind] = run(each, seeds, jobs=jobs, series=series, progress=_share(progress, i, len(kinds)))
    return Comparison(results)


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def auto_interval_s(duration_s: float) -> float:
    """The sampling interval when nobody chose one: about 2000 samples, rounded up to 1, 2 or 5 × a power of ten.

    >>> auto_interval_s(100.0)
    0.05
    """
    exact = duration_s / 2000
    unit = 10.0 ** math.floor(math.log10(exact))
    return float(f"{next(step for step in (1, 2, 5, 10) if step * unit >= exact * 0.999999) * unit:.9g}")


def _share(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """`progress` for one part of several equal ones."""
    if progress is None:
        return None
    return lambda fraction, done, total: progress((part + fraction) / parts, part * total + done, parts * total)
