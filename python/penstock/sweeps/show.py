"""What a store of runs says: metrics over axes, or their differences, as tables, figure, JSON; and every run as CSV."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from penstock.errors import Error
from penstock.result import Estimate
from penstock.sweeps import store
from penstock.sweeps.statistics import INTERVALS, Interval, Paired, corrected, ends, paired

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

#: What `show` without a metric shows.
HEADLINES = ("utilization", "queue_mean_pkts", "delay_p99_s", "loss_ratio", "jain")

#: What a unit is worth in its dimension, to put values in order and on a scale.
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
_UNITS |= {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_UNITS |= {"B": 1, "kB": 1e3, "MB": 1e6, "KiB": 1024, "MiB": 1024**2, "packets": 1}

Values: TypeAlias = tuple[Any, ...]
#: Runs of a metric at one place: seed → values of the pooled axes → value.
Cell: TypeAlias = dict[int, dict[Values, float]]


@dataclass(frozen=True, slots=True)
class Shown:
    """Estimates of metrics over the values of axes, or their differences.

    rows: the axes' values → an interval a metric; with `against` a `Paired` a metric.
    pooled: axes that vary besides: each seed's runs over them are averaged first, and the interval is over the seeds.
    ci: the kind of the intervals, `"t"` or `"bootstrap"`.
    against: an axis and the value that its other values are compared with.
    """

    axes: Sequence[str]
    metrics: Sequence[str]
    rows: dict[Values, list[Interval | Paired]]
    pooled: Sequence[str]
    runs: int
    ci: str = "t"
    against: tuple[str, Any] | None = None

    def intervals(self, metric: int) -> dict[Values, Interval]:
        """Those of the metric of that number, what was compared as its difference."""
        cells = {at: row[metric] for at, row in self.rows.items()}
        return {at: each.difference if isinstance(each, Paired) else each for at, each in cells.items()}

    def json(self) -> str:
        """All of it as `docs/sweeps.md` says, for scripts."""
        document: dict[str, Any] = {"axes": self.axes, "metrics": self.metrics, "pooled": self.pooled}
        document |= {"runs": self.runs, "ci": self.ci}
        if self.against is not None:
            document["against"] = dict([self.against])
        document["rows"] = [
            {
                "at": dict(zip(self.axes, at, strict=True)),
                "values": {name: _plain(cell) for name, cell in zip(self.metrics, row, strict=True)},
            }
            for at, row in self.rows.items()
        ]
        return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def show(
    folder: str | Path,
    metric: str | None = None,
    over: str | None = None,
    by: str | None = None,
    *,
    ci: str = "t",
    against: str | None = None,
) -> Shown:
    """A metric of a store's runs over an axis, one line for each value of another.

    metric: default: a few that matter most.
    over, by: key paths of the sweep, or `"variant"`; default: all that vary.
    ci: intervals by Student's t, or by the `"bootstrap"`.
    against: `"AXIS=VALUE"`: instead of the means, the differences of that axis' other values against this one, at equal
        values of the other axes shown, paired by seed and by what is pooled.
    """
    folder = Path(folder)
    store.settle(folder)
    listed = ["variant", "version", *store.columns(folder)]
    metrics = HEADLINES if metric is None else (_named(metric, store.metrics(), "metric"),)
    chosen = [_named(axis, listed, "axis") for axis in (over, by) if axis is not None]
    ci = _named(ci, list(INTERVALS), "interval")
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
            at: [INTERVALS[ci](list(_over_seeds(cell, cell)[0].values())) for cell in cells]
            for at, cells in places.items()
        }
    else:
        rows = _compared(places, axes.index(baseline[0]), baseline[1], ci)
    return Shown(axes, metrics, rows, pooled, table.num_rows, ci, baseline)


def _cells(table: Any, axes: Sequence[str], pooled: Sequence[str], metrics: Sequence[str]) -> dict[Values, list[Cell]]:
    """The runs by the values of axes, a cell a metric, in order."""
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
    """Seed → mean over the pooled values that both cells have, of one and the other."""
    found: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for seed in ours.keys() & theirs.keys():
        both = [at for at in ours[seed] if at in theirs[seed]]
        if both:
            for means, cell in zip(found, (ours, theirs), strict=True):
                means[seed] = _mean([cell[seed][at] for at in both])
    return {seed: found[0][seed] for seed in sorted(found[0])}, found[1]


def _compared(
    places: Mapping[Values, list[Cell]], i: int, value: Any, ci: str
) -> dict[Values, list[Interval | Paired]]:
    """Every place against the one where axis number `i` has that value, all p values adjusted together."""
    compared: dict[tuple[Values, int], Paired] = {}
    for at, cells in places.items():
        if at[i] != value:
            theirs = places.get((*at[:i], value, *at[i + 1 :]), [{} for _ in cells])
            for metric, (a, b) in enumerate(zip(cells, theirs, strict=True)):
                compared[at, metric] = paired(*_over_seeds(a, b), ci)
    rows: dict[Values, list[Interval | Paired]] = {}
    for (at, _), each in corrected(compared).items():
        rows.setdefault(at, []).append(each)
    return rows


def _baseline(text: str, listed: Sequence[str], values_of: Callable[[str], list[Any]]) -> tuple[str, Any]:
    """The axis and value of `--against`; a value may lack its unit or be written with another."""
    name, equals, wanted = text.partition("=")
    if not equals:
        raise Error(f"--against {text}: must be AXIS=VALUE, as in aqm.min_th=5")
    axis, wanted = _named(name.strip(), listed, "axis"), wanted.strip()
    there = sorted(values_of(axis), key=order)
    if not there:
        raise Error(f"--against {text}: there are no runs")
    texts = {_text(value): value for value in there}
    kind, size, _ = order(wanted)
    sizes = [(order(value)[1], value) for value in there if order(value)[0] == 1]
    if wanted in texts:
        found = texts[wanted]
    elif kind == 1 and (same := [value for each, value in sizes if math.isclose(each, size, rel_tol=1e-9)]):
        found = same[0]
    else:
        near = difflib.get_close_matches(wanted, texts, n=1, cutoff=0.0)
        if kind == 1 and sizes:
            near = [_text(min(sizes, key=lambda each: abs(each[0] - size))[1])]
        raise Error(f"--against {text}: no run has that value. Nearest: {near[0]}. There are: {', '.join(texts)}")
    if len(there) < 2:
        raise Error(f"--against {text}: every run has {axis} = {_text(found)}; there is nothing to compare it with")
    return axis, found


def tables(shown: Shown, title: str) -> list[Table]:
    """As tables for a person: one, or of comparisons one a metric."""
    if shown.against is None:
        return [_means(shown, title)]
    return [_differences(shown, i) for i in range(len(shown.metrics))]


def _means(shown: Shown, title: str) -> Table:
    drawn = _new(shown, title)
    factors = []
    for i, metric in enumerate(shown.metrics):
        factor, unit = _scale(shown, i)
        factors.append(factor)
        drawn.add_column(_with_unit(metric, unit), justify="right")
    drawn.add_column("seeds", justify="right")
    cells = [shown.intervals(i) for i in range(len(shown.metrics))]
    for at in shown.rows:
        numbers = [_number(each[at], factor) for each, factor in zip(cells, factors, strict=True)]
        drawn.add_row(*map(_text, at), *numbers, str(max(each[at].n for each in cells)))
    drawn.caption = f"{shown.runs} runs; mean {_about(shown)}"
    return drawn


def _differences(shown: Shown, i: int) -> Table:
    """Of one metric; bold where the adjusted p is below 0.05."""
    assert shown.against is not None
    factor, unit = _scale(shown, i)
    drawn = _new(shown, f"{shown.metrics[i]}, {_compared_with(shown)}")
    for column in (_with_unit("difference", unit), "p", "p adjusted", "seeds"):
        drawn.add_column(column, justify="right")
    for at, row in shown.rows.items():
        each = row[i]
        assert isinstance(each, Paired)
        style = "bold" if each.p_adjusted is not None and each.p_adjusted < 0.05 else None
        cells = [_number(each.difference, factor, sign=True), _p(each.p), _p(each.p_adjusted), str(each.difference.n)]
        drawn.add_row(*map(_text, at), *cells, style=style)
    tests = sum(isinstance(each, Paired) and each.p is not None for row in shown.rows.values() for each in row)
    drawn.caption = (
        f"{shown.runs} runs; mean difference {_about(shown)}, paired by seed; p of the paired t test, "
        f"adjusted for {tests} comparisons (Benjamini-Hochberg), bold where below 0.05"
    )
    return drawn


def _new(shown: Shown, title: str) -> Table:
    """A table with a column for each axis."""
    from rich.table import Table

    drawn = Table(title=title, title_justify="left", caption_justify="left")
    for axis in shown.axes:
        drawn.add_column(axis, justify="right")
    return drawn


def _with_unit(name: str, unit: str) -> str:
    from rich.markup import escape

    return escape(f"{name} [{unit}]") if unit else name


def _about(shown: Shown) -> str:
    interval = "± 95 % interval" if shown.ci == "t" else "(95 % bootstrap interval)"
    return f"{interval} over seeds" + (f"; averaged over {', '.join(shown.pooled)}" if shown.pooled else "")


def _compared_with(shown: Shown) -> str:
    assert shown.against is not None
    return f"difference to {shown.against[0]} {_text(shown.against[1])}"


def draw(shown: Shown) -> Figure:
    """The first metric over the first axis, one line for each value of the others, with 95 % intervals; differences
    with a line at zero."""
    from matplotlib.figure import Figure

    from penstock import style

    if not shown.axes:
        raise Error("--figure: nothing varies in these runs; there is no axis to draw over")
    metric = shown.metrics[0]
    factor, unit = _scale(shown, 0)
    lines: dict[Values, list[tuple[Any, Interval]]] = defaultdict(list)
    for at, cell in shown.intervals(0).items():
        if cell.mean is not None:
            lines[at[1:]].append((at[0], cell))
    places = list(dict.fromkeys(at[0] for at in shown.rows))
    numeric = all(order(place)[0] == 1 for place in places)
    with style.context():
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        ax = figure.subplots()
        if shown.against is not None:
            ax.axhline(0.0, color=style.INK, linewidth=0.8)
        for i, (others, points) in enumerate(lines.items()):
            look = style.look(i)
            x = [order(place)[1] if numeric else places.index(place) for place, _ in points]
            y = [(each.mean or 0.0) * factor for _, each in points]
            reach = [ends(each) or (each.mean or 0.0,) * 2 for _, each in points]
            # An end may lie beyond the mean by rounding, or that of a bootstrap by its correction.
            half = [
                [max(0.0, mean - low * factor) for mean, (low, _) in zip(y, reach, strict=True)],
                [max(0.0, high * factor - mean) for mean, (_, high) in zip(y, reach, strict=True)],
            ]
            label = ", ".join(f"{axis} {_text(value)}" for axis, value in zip(shown.axes[1:], others, strict=True))
            ax.errorbar(x, y, half, color=look.colour, linestyle=look.line, marker=look.marker, label=label, capsize=2)
        ticks = [order(place)[1] if numeric else i for i, place in enumerate(places)]
        if len(places) <= 12:
            ax.set_xticks(ticks, [_text(place) for place in places])
        ax.set_xlabel(shown.axes[0])
        ax.set_ylabel(f"{metric} [{unit}]" if unit else metric)
        if shown.against is not None:
            ax.set_title(_compared_with(shown))
        if len(shown.axes) > 1:
            ax.legend()
    return figure


def _scale(shown: Shown, metric: int) -> tuple[float, str]:
    """The factor and unit in which a metric reads well; shares differ by points."""
    from penstock._tables import scale

    name = shown.metrics[metric]
    factor, unit = scale(name, max((abs(each.mean or 0.0) for each in shown.intervals(metric).values()), default=0.0))
    return factor, "percentage points" if unit == "%" and shown.against is not None else unit


def _number(interval: Interval, factor: float, *, sign: bool = False) -> str:
    from penstock._tables import number, spanned

    if isinstance(interval, Estimate):
        return number(interval, factor, sign=sign)
    return spanned(interval.mean, ends(interval), factor, sign=sign)


def _p(p: float | None) -> str:
    return "–" if p is None else "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _plain(cell: Interval | Paired) -> dict[str, float | int | None]:
    interval = cell.difference if isinstance(cell, Paired) else cell
    low, high = ends(interval) or (None, None)
    plain: dict[str, float | int | None] = {"mean": interval.mean, "low": low, "high": high, "n": interval.n}
    return plain | ({"p": cell.p, "p_adjusted": cell.p_adjusted} if isinstance(cell, Paired) else {})


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def export(folder: str | Path, file: IO[bytes], table: str = store.RUNS) -> None:
    """Every row of a table as a line of CSV, in the order of the runs' keys. Lists are JSON text."""
    import pyarrow.csv as pa_csv

    folder = Path(folder)
    store.settle(folder)
    if table != store.RUNS and not store.parts(folder, table):
        option = "--flows" if table == "flows" else "--series 100ms"
        raise Error(f"{folder}: no {table} is kept there; `penstock sweep FILE {option} --out {folder}` adds it")
    for i, rows in enumerate(store.in_order(folder, table)):
        pa_csv.write_csv(_flat(rows), file, pa_csv.WriteOptions(include_header=i == 0))


def _flat(runs: Any) -> Any:
    import pyarrow as pa

    for name in {"groups", "links"} & set(runs.column_names):
        texts = [json.dumps(value, separators=(",", ":")) for value in runs[name].to_pylist()]
        runs = runs.set_column(runs.schema.get_field_index(name), name, pa.array(texts, pa.string()))
    return runs


def order(value: Any) -> tuple[int, float, str]:
    """A key to sort values by: nothing, then numbers (in the base unit of their dimension), then words.

    >>> sorted(["100 ms", "2 s", "20 ms"], key=order)
    ['20 ms', '100 ms', '2 s']
    """
    if value is None:
        return (0, 0.0, "")
    if isinstance(value, bool):
        return (2, 0.0, str(value))
    if isinstance(value, (int, float)):
        return (1, float(value), "")
    found = re.fullmatch(r"([-+0-9.eE]+) ?([^\d\s]\S*)?", str(value))
    if found and (found[2] is None or found[2] in _UNITS):
        try:
            return (1, float(found[1]) * _UNITS.get(found[2] or "", 1), "")
        except ValueError:
            pass
    return (2, 0.0, str(value))


def _text(value: Any) -> str:
    """As the file has it.

    >>> _text(True), _text(0.1), _text("20 ms"), _text(None)
    ('true', '0.1', '20 ms', '–')
    """
    if value is None:
        return "–"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def _named(name: str, names: Sequence[str], what: str) -> str:
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise Error(f"{name}: no such {what}.{hint} There are: {', '.join(names)}")
