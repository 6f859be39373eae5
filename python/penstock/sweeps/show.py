"""Computes what a store of runs says: metrics over axes, or their differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from penstock._json import document
from penstock._names import known, nearest
from penstock.errors import Error
from penstock.judging.estimate import bounds_of
from penstock.judging.intervals import INTERVALS, Interval, ends
from penstock.judging.named import LEVELS, Named, parts
from penstock.judging.paired import Paired, corrected, paired
from penstock.show.numbers import scale
from penstock.sweeps import store
from penstock.sweeps.values import order, text

#: What `show` without a metric shows.
HEADLINES = ("utilization", "queue_mean_pkts", "delay_p99_s", "loss_ratio", "jain")


Values: TypeAlias = tuple[Any, ...]
#: Runs of a metric at one place: seed → values of the pooled axes → value.
Cell: TypeAlias = dict[int, dict[Values, float]]


@dataclass(frozen=True, slots=True)
class Shown:
    """Estimates of metrics over the values of axes, or their differences.

    rows: the axes' values → one interval per metric; with `against` one `Paired` per metric.
    pooled: axes that vary besides: each seed's runs over them are averaged first, and the interval is over the seeds.
    ci: the kind of the intervals, `"t"` or `"bootstrap"`.
    against: an axis and the value that its other values are compared with.
    identical: whether runs that differ in their seed alone are the same: no seed changes anything.
    """

    axes: Sequence[str]
    metrics: Sequence[str]
    rows: dict[Values, list[Interval | Paired]]
    pooled: Sequence[str]
    runs: int
    ci: str = "t"
    against: tuple[str, Any] | None = None
    identical: bool = False

    def intervals(self, metric: int) -> dict[Values, Interval]:
        """Returns the intervals of the metric of that number; of what was compared, of its differences."""
        cells = {at: row[metric] for at, row in self.rows.items()}
        return {at: each.difference if isinstance(each, Paired) else each for at, each in cells.items()}

    def scaled(self, metric: int) -> tuple[float, str]:
        """Returns the factor and unit in which a metric reads well; shares differ by percentage points."""
        largest = max((abs(each.mean or 0.0) for each in self.intervals(metric).values()), default=0.0)
        factor, unit = scale(self.metrics[metric], largest)
        return factor, "percentage points" if unit == "%" and self.against is not None else unit

    def compared_with(self) -> str:
        """Returns what the differences are taken against, in words."""
        assert self.against is not None
        return f"difference to {self.against[0]} {text(self.against[1])}"

    def json(self) -> str:
        """Returns all of it as a document; `docs/sweeps.md` describes it."""
        whole: dict[str, Any] = {"axes": self.axes, "metrics": self.metrics, "pooled": self.pooled}
        whole |= {"runs": self.runs, "ci": self.ci, "identical": self.identical}
        if self.against is not None:
            whole["against"] = dict([self.against])
        whole["rows"] = [
            {
                "at": dict(zip(self.axes, at, strict=True)),
                "values": {name: _plain(cell) for name, cell in zip(self.metrics, row, strict=True)},
            }
            for at, row in self.rows.items()
        ]
        return document(whole)


def show(
    folder: str | Path,
    metric: str | None = None,
    over: str | None = None,
    by: str | None = None,
    *,
    ci: str = "t",
    against: str | None = None,
) -> Shown:
    """Returns a metric of a store's runs over an axis, one line for each value of another.

    metric: a run's, or one of a link or a group, as in `links.bottleneck.reverse.delay_p99_s`; default: a few that
        matter most.
    over, by: key paths of the sweep, or `"variant"`; default: all that vary.
    ci: intervals by Student's t, or by the `"bootstrap"`.
    against: `"AXIS=VALUE"`: instead of the means, the differences of that axis' other values against this one, at equal
        values of the other axes shown, paired by seed and by what is pooled.
    """
    folder = Path(folder)
    store.settle(folder)
    listed = ["variant", "version", *store.columns(folder)]
    metrics = HEADLINES if metric is None else (_metric(folder, metric),)
    chosen = [known(axis, listed, "axis") for axis in (over, by) if axis is not None]
    ci = known(ci, INTERVALS, "interval")
    table = store.read(folder, list(dict.fromkeys([*listed, "seed", *metrics])))
    # Runs of two builds are never pooled.
    varying = [axis for axis in listed if len(table[axis].unique()) > 1]
    axes = chosen or varying
    baseline: tuple[str, Any] | None = None
    if against is not None:
        axis, value = _baseline(against, listed, lambda axis: table[axis].unique().to_pylist())
        baseline = axis, value
        # It is what a figure is drawn over only if it is asked for.
        axes = axes if axis in chosen else [*(each for each in axes if each != axis), axis]
    if "version" in varying and "version" not in axes:
        axes = [*axes, "version"]
    pooled = [axis for axis in varying if axis not in axes]
    places = _cells(table, axes, pooled, metrics)
    rows: dict[Values, list[Interval | Paired]]
    if baseline is None:
        rows = {
            at: [
                INTERVALS[ci](list(_over_seeds(cell, cell)[0].values()), bounds_of(metric))
                for metric, cell in zip(metrics, cells, strict=True)
            ]
            for at, cells in places.items()
        }
    else:
        rows = _compared(places, axes.index(baseline[0]), baseline[1], ci, metrics)
    identical = _identical(table, listed, metrics) and _identical(
        store.read(folder, [*listed, "seed", *store.metrics()]), listed, store.metrics()
    )
    return Shown(axes, metrics, rows, pooled, table.num_rows, ci, baseline, identical)


def _metric(folder: Path, metric: str) -> str:
    """Returns the name of a metric of runs, or of their links or groups; checks that a run has one of these."""
    named = Named.parse(metric)
    if named.level == "run":
        return str(named)
    what = LEVELS[named.level]
    rows = store.read(folder, [named.level])[named.level].to_pylist()
    there = [of for row in rows for of in parts(row or ())]
    if not there:
        raise Error(f"{metric}: no run in {folder} has {named.level}; record = {{ {named.level} = true }} keeps them")
    known(named.of, dict.fromkeys(there), what)
    if named.needs_record and all(named.of_part(parts(row or ())) is None for row in rows):
        raise Error(f"{metric}: no run in {folder} has it; record = {{ groups = true }} keeps it")
    return str(named)


def _identical(table: Any, listed: Sequence[str], metrics: Sequence[str]) -> bool:
    """Returns whether runs that differ in their seed alone have the same metrics, and there are such."""
    ends = [(name, end) for name in metrics for end in ("min", "max")]
    found = table.group_by([*listed]).aggregate([("seed", "count_distinct"), *ends])
    same = all(found[f"{name}_min"].equals(found[f"{name}_max"]) for name in metrics)
    return same and max(found["seed_count_distinct"].to_pylist(), default=0) > 1


def _cells(table: Any, axes: Sequence[str], pooled: Sequence[str], metrics: Sequence[str]) -> dict[Values, list[Cell]]:
    """Returns the runs by the values of axes, one cell per metric, in order."""
    values: dict[Values, list[dict[int, dict[Values, list[float]]]]] = {}
    columns = zip(*(table[name].to_pylist() for name in (*axes, *pooled, "seed", *metrics)), strict=True)
    for row in columns:
        at, others = row[: len(axes)], row[len(axes) : len(axes) + len(pooled)]
        seed, *numbers = row[len(axes) + len(pooled) :]
        cells = values.setdefault(at, [{} for _ in metrics])
        for cell, value in zip(cells, numbers, strict=True):
            if value is not None:
                cell.setdefault(seed, {}).setdefault(others, []).append(value)
    return {
        at: [
            # Keys that are no columns may differ between runs here.
            {seed: {k: _mean(v) for k, v in each.items()} for seed, each in sorted(cell.items())}
            for cell in cells
        ]
        for at, cells in sorted(values.items(), key=lambda item: [order(value) for value in item[0]])
    }


def _over_seeds(ours: Cell, theirs: Cell) -> tuple[dict[int, float], dict[int, float]]:
    """Returns seed → mean over the pooled values that both cells have, of one and the other."""
    found: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for seed in ours.keys() & theirs.keys():
        both = [at for at in ours[seed] if at in theirs[seed]]
        if both:
            for means, cell in zip(found, (ours, theirs), strict=True):
                means[seed] = _mean([cell[seed][at] for at in both])
    return {seed: found[0][seed] for seed in sorted(found[0])}, found[1]


def _compared(
    places: Mapping[Values, list[Cell]], i: int, value: Any, ci: str, metrics: Sequence[str]
) -> dict[Values, list[Interval | Paired]]:
    """Compares every place with the one where axis number `i` has that value; all p values are adjusted together."""
    compared: dict[tuple[Values, int], Paired] = {}
    for at, cells in places.items():
        if at[i] != value:
            theirs = places.get((*at[:i], value, *at[i + 1 :]), [{} for _ in cells])
            for metric, (a, b) in enumerate(zip(cells, theirs, strict=True)):
                compared[at, metric] = paired(*_over_seeds(a, b), ci, bounds_of(metrics[metric]))
    rows: dict[Values, list[Interval | Paired]] = {}
    for (at, _), each in corrected(compared).items():
        rows.setdefault(at, []).append(each)
    return rows


def _baseline(given: str, listed: Sequence[str], values_of: Callable[[str], list[Any]]) -> tuple[str, Any]:
    """Returns the axis and value of `--against`; the value may lack its unit or be written with another."""
    name, equals, wanted = given.partition("=")
    if not equals:
        raise Error(f"--against {given}: must be AXIS=VALUE, as in aqm.min_th=5")
    axis, wanted = known(name.strip(), listed, "axis"), wanted.strip()
    there = sorted(values_of(axis), key=order)
    if not there:
        raise Error(f"--against {given}: there are no runs")
    texts = {text(value): value for value in there}
    kind, size, _ = order(wanted)
    sizes = [(order(value)[1], value) for value in there if order(value)[0] == 1]
    if wanted in texts:
        found = texts[wanted]
    elif kind == 1 and (same := [value for each, value in sizes if math.isclose(each, size, rel_tol=1e-9)]):
        found = same[0]
    else:
        near = nearest(wanted, texts, cutoff=0.0)
        if kind == 1 and sizes:
            near = text(min(sizes, key=lambda each: abs(each[0] - size))[1])
        raise Error(f"--against {given}: no run has that value. Nearest: {near}. There are: {', '.join(texts)}")
    if len(there) < 2:
        raise Error(f"--against {given}: every run has {axis} = {text(found)}; there is nothing to compare it with")
    return axis, found


def _plain(cell: Interval | Paired) -> dict[str, float | int | None]:
    interval = cell.difference if isinstance(cell, Paired) else cell
    low, high = ends(interval) or (None, None)
    plain: dict[str, float | int | None] = {"mean": interval.mean, "low": low, "high": high, "n": interval.n}
    return plain | ({"p": cell.p, "p_adjusted": cell.p_adjusted} if isinstance(cell, Paired) else {})


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
