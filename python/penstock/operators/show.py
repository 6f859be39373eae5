"""A configuration's report on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable

from penstock.operators.config import Configuration
from penstock.operators.model import Value
from penstock.operators.platforms import PLATFORMS
from penstock.operators.simulate import BOX, METRICS, WANTED
from penstock.show.numbers import NOT_RANDOM, number, scale
from penstock.show.table import Table


def values_table(configuration: Configuration) -> Table:
    """Returns a table of each value, what the box makes of it, and why."""
    table = Table(f"{configuration.scenario.name} on {configuration.platform}: what the box will use")
    values_rows(table, configuration.written.values)
    return table


def values_rows(table: Table, values: Iterable[Value]) -> None:
    """Fills a table with each value, what is made of it, and why."""
    table.add_column("value")
    for header in ("wanted", "used", "error"):
        table.add_column(header, justify="right")
    table.add_column("why")
    for each in values:
        wanted, used = (_number(number, each.unit) for number in (each.wanted, each.used))
        shown = f"{each.shown} = {used}" if each.shown else used
        why = each.why if each.error else ""
        table.add_row(each.name, wanted, shown, error_text(each), why)


def difference_table(configuration: Configuration) -> Table | None:
    """Returns what the box does beside what was wanted; `None` where nothing was run."""
    comparison = configuration.comparison
    if comparison is None:
        return None
    first = comparison.results[WANTED]
    table = Table(f"simulated, {len(first.runs)} seeds, paired", keys=2)
    table.add_column("metric")
    table.add_column("")
    for header in (WANTED, "the box", "difference"):
        table.add_column(header, justify="right")
    differences = comparison.difference(BOX)
    for metric in METRICS:
        sides = [comparison.results[side].summary[metric] for side in (WANTED, BOX)]
        sizes = [abs(each.mean) for each in sides if each.mean is not None]
        if not sizes or max(sizes) == 0:
            continue
        factor, unit = scale(metric, max(sizes))
        table.add_row(
            metric, unit, *(number(each, factor) for each in sides), number(differences[metric], factor, sign=True)
        )
    table.caption = "mean ± 95 % interval; differences are paired by seed"
    if comparison.identical:
        table.caption = NOT_RANDOM
    return table


def platforms_table() -> Table:
    """Returns the platforms."""
    table = Table("platforms")
    for header in ("--to", "what it is", "disciplines", "checked"):
        table.add_column(header)
    for name, each in PLATFORMS.items():
        table.add_row(name, each.doc, ", ".join(each.kinds), each.checked)
    return table


def error_text(value: Value) -> str:
    """Returns a relative error.

    >>> error_text(Value(name="w_q", wanted=0.002, used=0.001953125))
    '2.3 %'
    """
    if value.error == 0:
        return "0"
    if not math.isfinite(value.error):
        return "–"
    if value.error < 1e-5:
        return "< 0.001 %"
    return f"{100 * value.error:.2g} %" if value.error < 1 else f"× {1 + value.error:.3g}"


def _number(value: float, unit: str) -> str:
    text = f"{value:.0f}" if value == round(value) else f"{value:.6g}"
    return f"{text} {unit}".rstrip()
