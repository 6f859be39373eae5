"""Markdown tables, and the place on a page that a tool writes again: what stands between its marks.

    <!-- made by tools/NAME.py -->
    <!-- end -->

A tool with several such places writes `tools/NAME.py: PLACE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock import _files

RULES = {"l": "---", "r": "---:"}


def table(header: Sequence[str], rows: Iterable[Sequence[str]], sides: str = "r") -> list[str]:
    """Returns the lines of a table.

    sides: a letter for each column, `l` for words and `r` for numbers; the last one also holds for
    those that follow.

    >>> table(["", "packets"], [["red", "5"]], "lr")
    ['|  | packets |', '| --- | ---: |', '| red | 5 |']
    """
    rules = [RULES[sides[min(i, len(sides) - 1)]] for i in range(len(header))]
    return [f"| {' | '.join(cells)} |" for cells in (header, rules, *rows)]


def filled(text: str, maker: str, lines: Iterable[str]) -> str:
    """Returns the text of a page with lines between the marks of `maker`, such as `tools/pages.py`.

    Raises `SystemExit` if it has none.
    """
    begin, end = f"<!-- made by {maker} -->", "<!-- end -->"
    made = "\n".join([begin, "", *lines, "", end])
    marks = f"{re.escape(begin)}.*?{re.escape(end)}"
    text, count = re.subn(marks, lambda _: made, text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"{begin} … {end}: stands {count} times on the page")
    return text


def fill(page: Path, maker: str, lines: Iterable[str]) -> None:
    """Writes lines into a page, between the marks of `maker`."""
    _files.write(page, filled(page.read_text(encoding="utf-8"), maker, lines))
