"""The one look of all tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def literal(cells: Sequence[str]) -> list[str]:
    """Returns cells in which rich takes no bracket for markup: `[[topology.link]]`."""
    from rich.markup import escape

    return [escape(cell) for cell in cells]


def new(title: str) -> Table:
    """Returns a table without rows and columns."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    return Table(
        title=escape(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        caption_justify="left",
    )
