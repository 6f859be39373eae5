"""Tables of what there is (`penstock list`) and of what a probe counted."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock._names import listing
from penstock.show.shown import Counts
from penstock.show.table import Table

if TYPE_CHECKING:
    from rich.console import Group


def list_table(what: str, rows: list[Mapping[str, Any]]) -> list[Table]:
    """Returns what `penstock list` shows: an overview, then the parameters of each kind."""
    overview = Table(what)
    overview.add_column("name", no_wrap=True)
    of = any("per" in row for row in rows)
    if of:
        overview.add_column("of a", no_wrap=True)
    overview.add_column("what")
    if any(row.get("source") for row in rows):
        overview.add_column("source", style="dim")
    for row in rows:
        cells = [row["name"], *([row["per"]] if of else []), row.get("doc", "")]
        if len(overview.columns) > len(cells):
            cells.append(row.get("source", ""))
        overview.add_row(*cells)
    return [overview, *(_parameters(row) for row in rows if row.get("params"))]


def entry(row: Mapping[str, Any]) -> Group:
    """Returns all about one entry of a list. Of a discipline it is what its page in docs/aqm says, except the
    figure."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    def prose(text: str) -> Text:
        return Text("\n".join(textwrap.wrap(text, 110)))

    parts: list[Any] = [Text(row["name"], style="bold"), prose(row["doc"])]
    if row.get("source"):
        parts.append(Text(row["source"], style="dim"))
    for title, key in (("Algorithm", "equations"), ("What to expect", "expect"), ("Weaknesses", "weaknesses")):
        if row.get(key):
            text = Text(row[key]) if key == "equations" else prose(row[key])
            parts += [Text(f"\n{title}", style="bold"), Padding(text, (0, 0, 0, 2))]
    parts.append(Text(""))
    if row.get("params"):
        parts.append(_parameters({**row, "name": "Keys"}))
    if row.get("state"):
        table = Table("State, columns of the queue series")
        table.add_column("column", no_wrap=True)
        table.add_column("what it is")
        for state in row["state"]:
            table.add_row(state["name"], state["doc"])
        parts.append(table)
    return Group(*parts)


def probe_table(probe: Counts) -> Table:
    """Returns what a probe counted: one row per point, one column per level and time. Of many points about 20
    are shown."""
    table = Table(f"{probe.scenario.label} · share of packets in % after the queue has stood so long")
    table.add_column("packets held" if probe.axis == "queue" else "load", justify="right")
    shown = [(level, shares) for level in probe.levels if any(map(any, shares := probe.shares(level)))]
    for level, _ in shown:
        for after in probe.after_s:
            table.add_column(f"{level}\n{after:g} s", justify="right")
    step = max(1, len(probe.points) // 20)
    for j in range(0, len(probe.points), step):
        cells = [f"{100 * row[j]:.2f}" if row[j] else "–" for _, shares in shown for row in shares]
        table.add_row(f"{probe.points[j]:g}", *cells)
    return table


def _parameters(kind: Mapping[str, Any]) -> Table:
    profiles = listing("profiles")
    columns = {each["column"]: each["name"] for each in profiles if each["column"]}
    table = Table(kind["name"])
    for column in ("key", "default", "range", "unit"):
        table.add_column(column, no_wrap=column == "key")
    table.add_column("what")
    table.add_column("source", style="dim")
    for p in kind["params"]:
        default = p["default"] if p.get("default") is not None else p.get("auto", "")
        own = [f"{word}: {p[column]}" for column, word in columns.items() if p.get(column) is not None]
        if own and "table" not in p:  # a profile's own list has its value as the default
            default = f"{default} ({', '.join(own)})"
        cells = [p["name"], default, p.get("range", ""), p.get("unit", ""), p["doc"], p.get("source", "")]
        table.add_row(*cells)
    return table
