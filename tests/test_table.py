"""A table that is laid out here is what rich writes."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from conftest import SMALL
from penstock.show.run_tables import comparison_table, result_table
from penstock.show.table import Bold, Table

TEXT = st.text("aZ09 .,;:'\"(){}<>|/+*%=_-^~±µ·–−…", max_size=12)
#: Markup and emoji of rich, which mean nothing here; and what is left to rich: control, wide, combining characters.
ODD = st.text("a[]\\:\n\t\x1b\u3042\u0301\u200b\xad", max_size=8)
CELL = st.one_of(TEXT, TEXT, TEXT, TEXT.map(Bold), ODD, st.tuples(TEXT, TEXT).map("\n".join))
LOOK = st.fixed_dictionaries(
    {}, optional={"justify": st.just("right"), "style": st.just("dim"), "no_wrap": st.just(True)}
)


def by_rich(table: Table, width: int) -> str:
    from rich.console import Console

    console = Console(file=StringIO(), highlight=False, width=width, color_system=None)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    table = Table(draw(TEXT))
    table.caption = draw(st.none() | TEXT)
    columns = draw(st.integers(1, 4))
    for _ in range(columns):
        table.add_column(draw(CELL), **draw(LOOK))
    for _ in range(draw(st.integers(0, 3))):
        table.add_row(*(draw(CELL) for _ in range(columns)), style=draw(st.none() | st.just("bold")))
    return table


@given(tables(), st.integers(10, 80))
def test_a_plain_table_is_what_rich_writes(table: Table, width: int) -> None:
    plain = table.plain(width)
    assert plain is None or plain == by_rich(table, width)


def test_the_tables_of_runs_need_no_rich() -> None:
    scenario = ps.Scenario.from_toml(SMALL).set("duration", "2 s")
    compared = ps.compare(scenario, ["droptail", "red"], seeds=1)
    for table in (result_table(ps.run(scenario)), result_table(ps.run(scenario, 2)), comparison_table(compared)):
        plain = table.plain(200)
        assert plain is not None
        assert plain == by_rich(table, 200)


@pytest.mark.parametrize("cell", ["あ", "e\u0301", "\x1b[1m"])
def test_what_only_rich_can_lay_out_is_left_to_it(cell: str) -> None:
    table = Table("title")
    table.add_column("column")
    table.add_row("a")
    assert table.plain(80) is not None
    table.add_row(cell)
    assert table.plain(80) is None
