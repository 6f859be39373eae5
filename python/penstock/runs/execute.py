"""The runs of one scenario under several seeds, on all cores: the step below `run`, `compare` and `Result`."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from penstock import _penstock
from penstock._penstock import RunResult

#: Called with (fraction done, runs done, runs in all).
Progress: TypeAlias = Callable[[float, int, int], object]


def execute(
    core: _penstock.Scenario,
    seeds: Sequence[int],
    jobs: int,
    done: dict[int, RunResult] | None = None,
    progress: Progress | None = None,
    **record: Any,
) -> Sequence[RunResult]:
    """Returns the runs of all seeds: on threads or, for a discipline written in Python, in processes.

    done: receives the runs of such a discipline, by their place in `seeds`, as they are completed.
    record: what `_penstock.run` is told to record.
    """
    if not core.has_user_aqm:
        return _penstock.run(core, seeds, jobs, progress=progress, **record)
    done = {} if done is None else done
    if min(jobs, len(seeds)) > 1:
        from penstock.runs import processes

        if processes.available():
            processes.run(core, seeds, jobs, done, progress, **record)
            return [done[i] for i in range(len(seeds))]
        message = "a discipline in Python, and no worker processes here: the seeds run one after the other"
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    for i, seed in enumerate(seeds):
        part = share(progress, i, len(seeds))
        done[i] = _penstock.run(core, [seed], 1, progress=part, **record)[0]
    return [done[i] for i in range(len(seeds))]


def cores() -> int:
    """Returns how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def auto_interval_s(duration_s: float) -> float:
    """Returns the sampling interval when nobody chose one: about 2000 samples, rounded up to 1, 2 or 5 × a
    power of ten.

    >>> auto_interval_s(100.0)
    0.05
    """
    exact = duration_s / 2000
    unit = 10.0 ** math.floor(math.log10(exact))
    return float(f"{next(step for step in (1, 2, 5, 10) if step * unit >= exact * 0.999999) * unit:.9g}")


def share(progress: Progress | None, part: int, parts: int) -> Progress | None:
    """Returns `progress` for one of several equal parts."""
    if progress is None:
        return None
    return lambda fraction, done, total: progress((part + fraction) / parts, part * total + done, parts * total)
