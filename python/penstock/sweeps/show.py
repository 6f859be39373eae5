"""What a store of runs says: a metric over an axis, as a table and a figure; and all of it as CSV."""

from __future__ import annotations

import difflib
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from penstock.errors import Error
from penstock.result import Estimate
from penstock.sweeps import store

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


@dataclass(frozen=True, slots=True)
class Shown:
    """Estimates of metrics over the values of axes.

    rows: the axes' values → an estimate a metric.
    pooled: axes that vary besides: each seed's runs over them are averaged first, and the interval is over the seeds.
    """

    axes: Sequence[str]
    metrics: Sequence[str]
    rows: dict[Values, list[Estimate]]
    pooled: Sequence[str]
    runs: int


def show(folder: str | Path, metric: str | None = None, over: str | None = None, by: str | None = None) -> Shown:
    """A metric of a store's runs over an axis, one line for each value of another.

    metric: default: a few that matter most.
    over, by: key paths of the sweep, or `"variant"`; default: all that vary.
    """
    folder = Path(folder)
    store.settle(folder)
    listed = ["variant", "version", *store.columns(folder)]
    metrics = HEADLINES if metric is None else (_named(metric, store.metrics(), "metric"),)
    chosen = [_named(axis, listed, "axis") for axis in (over, by) if axis is not None]
    table = store.read(folder, list(dict.fromkeys([*listed, "seed", *metrics])))
    # Runs of two builds are never pooled.
    varying = [axis for axis in listed if len(table[axis].unique()) > 1]
    axes = chosen or varying
    if "version" in varying and "version" not in axes:
        axes = [*axes, "version"]
    values: dict[Values, list[dict[int, list[float]]]] = {}
    columns = [table[name].to_pylist() for name in (*axes, "seed", *metrics)]
    for row in zip(*columns, strict=True):
        at = row[: len(axes)]
        cells = values.setdefault(at, [defaultdict(list) for _ in metrics])
        for cell, value in zip(cells, row[len(axes) + 1 :], strict=True):
            if value is not None:
                cell[row[len(axes)]].append(value)
    rows = {
        at: [Estimate.of([math.fsum(each) / len(each) for _, each in sorted(cell.items())]) for cell in cells]
        for at, cells in sorted(values.items(), key=lambda item: [order(value) for value in item[0]])
    }
    return Shown(axes, metrics, rows, [axis for axis in varying if axis not in axes], table.num_rows)


def table(shown: Shown, title: str) -> Table:
    """As a table for a person."""
    from rich.table import Table

    from penstock._tables import number, scale

    drawn = Table(title=title, title_justify="left")
    for axis in shown.axes:
        drawn.add_column(axis, justify="right")
    factors = []
    for i, metric in enumerate(shown.metrics):
        size = max((abs(cells[i].mean or 0.0) for cells in shown.rows.values()), default=0.0)
        factor, unit = scale(metric, size)
        factors.append(factor)
        drawn.add_column(f"{metric} [{unit}]" if unit else metric, justify="right")
    drawn.add_column("seeds", justify="right")
    for at, cells in shown.rows.items():
        numbers = [number(cell, factor) for cell, factor in zip(cells, factors, strict=True)]
        drawn.add_row(*map(_text, at), *numbers, str(max(cell.n for cell in cells)))
    about = f"{shown.runs} runs; mean ± 95 % interval over seeds"
    if shown.pooled:
        about += f"; averaged over {', '.join(shown.pooled)}"
    drawn.caption, drawn.caption_justify = about, "left"
    return drawn


def draw(shown: Shown) -> Figure:
    """The first metric over the first axis, one line for each value of the others, with 95 % intervals."""
    from matplotlib.figure import Figure

    from penstock import style
    from penstock._tables import scale

    if not shown.axes:
        raise Error("--figure: nothing varies in these runs; there is no axis to draw over")
    metric = shown.metrics[0]
    factor, unit = scale(metric, max((abs(cells[0].mean or 0.0) for cells in shown.rows.values()), default=0.0))
    lines: dict[Values, list[tuple[Any, Estimate]]] = defaultdict(list)
    for at, cells in shown.rows.items():
        if cells[0].mean is not None:
            lines[at[1:]].append((at[0], cells[0]))
    places = list(dict.fromkeys(at[0] for at in shown.rows))
    numeric = all(order(place)[0] == 1 for place in places)
    with style.context():
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        ax = figure.subplots()
        for i, (others, points) in enumerate(lines.items()):
            look = style.look(i)
            x = [order(place)[1] if numeric else places.index(place) for place, _ in points]
            y = [(each.mean or 0.0) * factor for _, each in points]
            half = [(each.ci95 or 0.0) * factor for _, each in points]
            label = ", ".join(f"{axis} {_text(value)}" for axis, value in zip(shown.axes[1:], others, strict=True))
            ax.errorbar(x, y, half, color=look.colour, linestyle=look.line, marker=look.marker, label=label, capsize=2)
        ticks = [order(place)[1] if numeric else i for i, place in enumerate(places)]
        if len(places) <= 12:
            ax.set_xticks(ticks, [_text(place) for place in places])
        ax.set_xlabel(shown.axes[0])
        ax.set_ylabel(f"{metric} [{unit}]" if unit else metric)
        if len(shown.axes) > 1:
            ax.legend()
    return figure


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
    import json

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
    found = re.fullmatch(r"([-+0-9.eE]+)(?: (\S+))?", str(value))
    if found and (found[2] is None or found[2] in _UNITS):
        try:
            return (1, float(found[1]) * _UNITS.get(found[2] or "", 1), "")
        except ValueError:
            pass
    return (2, 0.0, str(value))


def _text(value: Any) -> str:
    return "–" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _named(name: str, names: Sequence[str], what: str) -> str:
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise Error(f"{name}: no such {what}.{hint} There are: {', '.join(names)}")
