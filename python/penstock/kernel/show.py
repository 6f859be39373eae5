"""A discipline in the kernel on a terminal."""

from __future__ import annotations

from penstock.kernel.device import Loaded
from penstock.operators.show import values_rows
from penstock.show.table import Table


def parameters_table(loaded: Loaded) -> Table:
    """Returns a table of each number, and what it is in fixed point."""
    table = Table(f"{loaded.scenario.label} on {loaded.device}: what the kernel will use")
    values_rows(table, loaded.told.values)
    return table


def values_table(loaded: Loaded) -> Table:
    """Returns a table of the discipline's variables, the queue and the counts."""
    table = Table(f"{loaded.scenario.label} on {loaded.device}")
    table.add_column("name")
    table.add_column("value", justify="right")
    for name, value in loaded.values.items():
        table.add_row(name, "–" if value is None else f"{value:.6g}" if isinstance(value, float) else f"{value}")
    return table
