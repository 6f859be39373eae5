"""`penstock list`."""

from __future__ import annotations

import json
from typing import Any

import click

from penstock._names import known, listing
from penstock.cli import options
from penstock.cli.output import draw, say, tell
from penstock.show.list_tables import entry, list_table

#: What there are lists of, in the order in which they are shown.
LISTS = ("aqm", "tcp", "traffic", "topology", "metrics", "profiles")


@options.command("list")
@click.argument("what", type=options.Word(LISTS), required=False)
@click.argument("name", required=False)
@options.as_json("tables")
def command(what: str | None, name: str | None, as_json: bool) -> None:
    """List disciplines, TCPs, traffic, metrics, profiles.

    Each comes with its parameters, defaults and sources. `penstock list aqm red` tells all about one: equations, what
    to expect, where it fails, keys, state. `penstock list profiles linux` has the defaults that a profile changes.
    """
    lists = {each: listing(each) for each in (LISTS if what is None else (what,))}
    if what is not None and name is not None:
        _show_one(lists[what], name, what, as_json)
    elif as_json:
        say(json.dumps(lists if what is None else lists[what], ensure_ascii=False, indent=2))
    else:
        for each, rows in lists.items():
            for table in list_table(each, rows):
                draw(table)
        if what == "aqm":
            tell("All about one: penstock list aqm NAME")


def _show_one(rows: list[dict[str, Any]], name: str, what: str, as_json: bool) -> None:
    by_name = {row["name"]: row for row in rows}
    row = by_name[known(name, by_name, what)]
    if as_json:
        say(json.dumps(row, ensure_ascii=False, indent=2))
    else:
        draw(entry(row))
