"""The one look of all tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock._text import visible

if TYPE_CHECKING:
    from rich import table as rich
    from rich.console import Console, ConsoleOptions, RenderResult


class Bold(str):
    """A cell in bold."""

    __slots__ = ()


class Table:
    """A table with a title above and perhaps a caption below.

    Rich lays it out, and is loaded when it does.

    No cell is cut. What is wider than the terminal is folded, words first, columns of numbers last; where even that is
    too wide, some columns stand in a second table below, beside the first `keys` columns again.
    """

    def __init__(self, title: str, *, keys: int = 1) -> None:
        self.title = title
        self.keys = keys
        self.caption: str | None = None
        #: The header of each column, and what else rich is told of it.
        self.columns: list[tuple[str, dict[str, Any]]] = []
        self.rows: list[tuple[tuple[str, ...], str | None]] = []

    def add_column(self, header: str, **look: Any) -> None:
        """Adds a column.

        look: `justify="right"`, `style="dim"`, `no_wrap=True`, as rich knows them.
        """
        self.columns.append((header, look))

    def add_row(self, *cells: str, style: str | None = None) -> None:
        """Adds a row. A cell is text as it is, whatever it says; `Bold` makes it bold."""
        missing = len(self.columns) - len(cells)
        self.rows.append(((*cells, *[""] * missing), style))

    def _repr_html_(self) -> str:
        """Returns the table as HTML, for notebooks."""
        right = [look.get("justify") == "right" for _, look in self.columns]

        def row(tag: str, cells: Sequence[str]) -> str:
            sides = ("right" if each else "left" for each in right)
            fields = zip(sides, map(_html, cells), strict=True)
            return "".join(f'<{tag} style="text-align:{side}">{text}</{tag}>' for side, text in fields)

        rows = "".join(f"<tr>{row('td', cells)}</tr>" for cells, _ in self.rows)
        head = f"<thead><tr>{row('th', [header for header, _ in self.columns])}</tr></thead>"
        caption = f"<p><small>{_html(self.caption)}</small></p>" if self.caption else ""
        title = f"<p><b>{_html(self.title)}</b></p>" if self.title else ""
        return f"{title}<table>{head}<tbody>{rows}</tbody></table>{caption}"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields what rich prints: the table, or the tables of which none is too wide."""
        parts = self._parts(options.max_width)
        for i, part in enumerate(parts):
            yield self._rich(part, title=i == 0, caption=i == len(parts) - 1)

    def _rich(self, widths: dict[int, int], *, title: bool, caption: bool) -> rich.Table:
        """Returns some columns as rich's table.

        widths: place → width.
        """
        from rich import box
        from rich.table import Table
        from rich.text import Text

        made = Table(
            title=Text(visible(self.title), style="bold") if title else None,
            caption=Text(visible(self.caption), style="table.caption") if caption and self.caption else None,
            title_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            caption_justify="left",
        )
        for place, width in widths.items():
            header, look = self.columns[place]
            fixed = {"width": width, "no_wrap": False, "overflow": "fold"}
            made.add_column(Text(visible(header)), **{**look, **fixed})
        for cells, style in self.rows:
            texts = (cells[place] for place in widths)
            made.add_row(
                *(Text(visible(cell), style="bold" if isinstance(cell, Bold) else "") for cell in texts), style=style
            )
        return made

    def _parts(self, width: int) -> list[dict[int, int]]:
        """Returns the columns of each table that fits into a width: place → the column's own width."""
        wanted = [self._widths(place) for place in range(len(self.columns))]
        keys, rest = range(min(self.keys, len(wanted))), range(min(self.keys, len(wanted)), len(wanted))
        parts: list[list[int]] = [[*keys]]
        for place in rest:
            more = [*parts[-1], place]
            if _whole([wanted[each][0] for each in more]) <= width or len(parts[-1]) == len(keys):
                parts[-1] = more
            else:
                parts.append([*keys, place])
        return [_shared({place: wanted[place] for place in part}, width) for part in parts]

    def _widths(self, place: int) -> tuple[int, int]:
        """Returns a column's least width and the one that it needs to fold nothing."""
        from rich.text import Text

        header, look = self.columns[place]
        texts = [Text(visible(text)) for text in (header, *(cells[place] for cells, _ in self.rows))]
        lines = [line for text in texts for line in text.split()]
        whole = max((line.cell_len for line in lines), default=0)
        if look.get("justify") == "right" or look.get("no_wrap"):
            return min(whole, _WIDEST), whole
        words = [word.cell_len for line in lines for word in line.split(" ")]
        return min(max(words, default=0), _WIDEST), whole


#: The least width of a column is at most this: what is longer without a space is folded, however it reads.
_WIDEST = 36


def _whole(widths: Sequence[int]) -> int:
    """Returns the width of a table with columns of these widths."""
    return sum(widths) + 3 * len(widths) - 1


def _shared(wanted: dict[int, tuple[int, int]], width: int) -> dict[int, int]:
    """Returns the width of each column: the least one, and of what is left over as much as it needs, in equal shares.

    Where even the least ones are too much, the widest columns give way.
    """
    widths = {place: least for place, (least, _) in wanted.items()}
    left = width - _whole(list(widths.values()))
    while left > 0:
        short = [place for place in widths if widths[place] < wanted[place][1]]
        if not short:
            break
        for place in sorted(short, key=lambda place: widths[place])[:left]:
            widths[place] += 1
            left -= 1
    while left < 0:
        widest = max(widths, key=lambda place: widths[place])
        widths[widest] = max(1, widths[widest] - 1)
        left += 1
    return widths


def _html(cell: str) -> str:
    text = _escaped(visible(cell))
    return f"<b>{text}</b>" if isinstance(cell, Bold) else text


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
