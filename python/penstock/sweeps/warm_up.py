"""Tests whether the measured window starts before the queue has settled.

MSER-5 says from when on the queue is in its steady state. Of a sawtooth or a noisy queue it names any time by
chance, so a warning also needs that the window begins unlike it goes on (a test at 1 %) and that its mean would change.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock import _penstock
from penstock.errors import ScenarioError
from penstock.judging.paired import adjusted
from penstock.model.scenario import Scenario
from penstock.runs import execute, runner
from penstock.runs.pool import Stopped, Watch, in_order
from penstock.runs.recorded import recorded
from penstock.runs.result import Result
from penstock.sweeps.design import samples

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

#: Samples to a batch: the 5 of MSER-5.
BATCH = 5
#: Below this many batches the statistic says nothing.
_FEWEST = 20
#: Stretches of the settled part that the start is compared with, at least.
_STRETCHES = 8
#: The level of the test, and how much of the mean the start must be worth.
LEVEL, SHARE = 0.01, 0.01
#: Points of a sweep that are looked at, and those that are named.
POINTS, NAMED = 8, 3
#: Seconds after which a run takes too long to be done once more.
LIMIT_S = 5.0


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What a series of the queue says.

    settled_s: from when on it is in its steady state, by MSER-5; `None` where it is not before the middle of the
        series, or where the series is too short to tell.
    from_s: start of the measured window.
    p: of the test that the window begins as it goes on; 1 where there is nothing to test.
    share: what the part before `settled_s` moves the window's mean queue by, as a share of the mean without it.
    """

    settled_s: float | None
    from_s: float
    p: float = 1.0
    share: float = 0.0

    @property
    def too_early(self) -> bool:
        """Returns whether the measured window starts before the queue has settled."""
        return self.p < LEVEL and abs(self.share) > SHARE

    def __str__(self) -> str:
        window = f"the measured window starts at {self.from_s:.4g} s"
        if self.too_early and self.settled_s is None:
            return f"the queue is in no steady state within the first half, {window}: run longer"
        if self.too_early:
            return (
                f"the queue settles at {self.settled_s:.4g} s, {window}, which moves its mean by {self.share:+.1%}: "
                f'set measure.from to "{math.ceil(self.settled_s or 0.0)} s" or later'
            )
        if self.settled_s is not None and self.settled_s <= self.from_s:
            return f"the queue has settled by {self.settled_s:.4g} s, {window}"
        return f"no transient to be told from the queue's usual ups and downs, {window}"


def check(scenario: Scenario, seeds: int | Iterable[int] = 1, *, jobs: int | None = None) -> WarmUp:
    """Runs a scenario and looks at its bottleneck's queue against its own measured window.

    seeds: their queues are averaged first (Welch 1983), which leaves less noise to hide a trend.
    """
    interval = execute.auto_interval_s(scenario.duration_s)
    return of_result(runner.run(scenario, seeds, jobs=jobs, series=interval))


def of_result(result: Result) -> WarmUp:
    """Returns what `check` returns, of a result; what it has not recorded runs once more."""
    return of_series(result.series("queue"), *_window(result.scenario.core))


def of_series(series: pa.Table, from_s: float, to_s: float = math.inf) -> WarmUp:
    """Returns what `check` says of recorded queues.

    series: `Result.series("queue")`: seed, t_s, queue_pkts.
    from_s, to_s: the measured window; what is after it does not count.

    Where the scenario changes the load on purpose, the answer has little meaning.
    """
    import numpy as np

    t, queue = (series.column(name).to_numpy() for name in ("t_s", "queue_pkts"))
    seeds = len(np.unique(series.column("seed").to_numpy()))
    each = len(t) // seeds if seeds else 0
    # Every run is sampled at the same instants.
    times, mean = t[:each], queue[: each * seeds].reshape(seeds, each).mean(axis=0) if seeds else queue
    times, mean = times[times <= to_s], mean[: np.count_nonzero(times <= to_s)]
    cut = mser(mean)
    # The first sample may lie an interval after the start.
    settled = None if cut is None else float(times[cut]) if cut else 0.0
    window = mean[times >= from_s]
    if len(mean) < _FEWEST * BATCH or (settled is not None and settled <= from_s):
        return WarmUp(settled, from_s)
    start = len(window) // 2 if settled is None else int(np.count_nonzero(times[times >= from_s] < settled))
    rest, whole = float(window[start:].mean()), float(window.mean())
    share = whole / rest - 1.0 if rest else math.inf if whole else 0.0
    return WarmUp(settled, from_s, _alike(window[:start], window[start:]), share)


def mser(values: Sequence[float] | npt.NDArray[np.float64], batch: int = BATCH) -> int | None:
    """Returns how many of the values to cut off at the front: MSER (White 1997) over means of batches, with 5 MSER-5
    (White, Cobb, Spratt 2000).

    With Z_1 … Z_k the means, the cut d minimizes the squared standard error of what is left,
    sum over j > d of (Z_j − mean of those)² / (k − d)². A minimum in the second half means that the series is too short
    (`None`), as fewer than 20 batches do. What does not fill a batch is left out at the end.
    """
    import numpy as np

    k = len(values) // batch
    if k < _FEWEST:
        return None
    z = np.asarray(values[: k * batch], dtype=np.float64).reshape(k, batch).mean(axis=1)
    z -= z.mean()  # sums of squares lose fewer digits
    left = np.arange(k, 0, -1)
    sums, squares = np.cumsum(z[::-1])[::-1], np.cumsum((z * z)[::-1])[::-1]
    error = np.maximum(squares - sums**2 / left, 0.0) / left.astype(np.float64) ** 2
    # The last few batches have a small error by chance alone.
    d = int(np.argmin(error[: k - batch]))
    return d * batch if d <= k // 2 else None


def _alike(start: npt.NDArray[np.float64], rest: npt.NDArray[np.float64]) -> float:
    """Applies Student's test that the mean of the start is one more of the means of stretches as long as it: so the
    queue's correlation in time is in their spread. Of a long start its beginning counts, of at least eight stretches.
    """
    length = min(len(start), len(rest) // _STRETCHES)
    if length == 0:
        return 1.0
    k = len(rest) // length
    means = rest[len(rest) - k * length :].reshape(k, length).mean(axis=1)
    spread, difference = float(means.std(ddof=1)), float(abs(start[:length].mean() - means.mean()))
    if spread == 0.0:
        return 0.0 if difference > 0.0 else 1.0
    return _penstock.student_p(k, difference / (spread * math.sqrt(1 + 1 / k)))


def _window(core: _penstock.Scenario) -> tuple[float, float]:
    facts = core.facts()
    return facts.from_s, facts.to_s


# --- sweeps ---------------------------------------------------------------------------------------------------------


def check_points(scenario: Scenario, jobs: int | None = None, limit_s: float = LIMIT_S) -> list[str]:
    """Returns what there is to warn of in a sweep, a line each: the first seed of a few of its points runs once more.

    limit_s: a run that takes longer ends the check, and the one line says so.

    The p values are adjusted for the number of points, so that a sweep warns in vain no more often than a run.
    """
    chosen = list(_spread(scenario, POINTS))

    def look(point: tuple[str, _penstock.Scenario], watch: Watch) -> WarmUp | None:
        return _first_seed(point[1], watch, limit_s)

    try:
        found = in_order(look, chosen, jobs or execute.cores())
    except _TooLongError:
        return [
            f"warm-up not checked: a run takes longer than {limit_s:g} s; `penstock run --warm-up-check` checks one"
        ]
    said = [(name, each) for (name, _), each in zip(chosen, found, strict=True) if each is not None]
    p = adjusted([each.p for _, each in said])
    early = [
        (name, now) for (name, each), q in zip(said, p, strict=True) if (now := replace(each, p=q or 0.0)).too_early
    ]
    lines = [f"warm-up: {name}: {each}" if name else f"warm-up: {each}" for name, each in early[:NAMED]]
    if len(early) > NAMED:
        lines.append(f"warm-up: and {len(early) - NAMED} more points of the {len(said)} looked at")
    return lines


class _TooLongError(Exception):
    """A run takes too long to be done once more."""


def _first_seed(core: _penstock.Scenario, watch: Watch, limit_s: float) -> WarmUp | None:
    """Returns what `check` says of the first seed; `None` for a run that fails, since the sweep has said so."""
    begun = time.monotonic()

    def progress(fraction: float, done: int, total: int) -> None:
        watch(fraction, done, total)
        if time.monotonic() - begun > limit_s:
            raise _TooLongError

    interval = execute.auto_interval_s(core.duration_s)
    try:
        run = _penstock.run(core, [core.seed], 1, series_interval_s=interval, progress=progress)[0]
    except (_TooLongError, Stopped, KeyboardInterrupt):
        raise
    except BaseException:  # a panic of the extension is no Exception
        return None
    return of_series(recorded(run, "queue"), *_window(core))


def _spread(scenario: Scenario, most: int) -> Iterator[tuple[str, _penstock.Scenario]]:
    """Yields points from the first to the last of a sweep, at even steps, named by their axes' values. None but these
    is made.

    The order is the sweep's. Those whose values do not hold together are left out.
    """
    core = scenario.core
    listed, variants, _ = core.grid()
    axes: list[tuple[str, list[Any]]] = [(path, json.loads(values)) for path, values in listed]
    sizes = [*(len(values) for _, values in axes), sum(1 for _ in samples(core)), max(1, len(variants))]
    count = math.prod(sizes)
    chosen = []
    for i in sorted({round(step * (count - 1) / (most - 1)) for step in range(most)}):
        places, rest = [], i
        for size in reversed(sizes):
            rest, place = divmod(rest, size)
            places.append(place)
        chosen.append(places)
    wanted = {sample for _, sample, *_ in chosen}
    drawn = {i: sample for i, sample in enumerate(samples(core)) if i in wanted}
    for variant, sample, *others in chosen:
        at = {**drawn[sample], **{path: values[k] for (path, values), k in zip(axes, reversed(others), strict=True)}}
        named = variants[variant] if variants else None
        try:
            made = core.point(named, [(path, json.dumps(value)) for path, value in at.items()])
        except ScenarioError:
            continue
        yield ", ".join(f"{k}={v}" for k, v in {**at, **({"variant": named} if named else {})}.items()), made
