"""The tables of `penstock tune` on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.show.table import Table
from penstock.tuning.statement import change, said

if TYPE_CHECKING:
    from penstock.tuning.tune import Tuning


def settings_table(done: Tuning) -> Table:
    """Returns the result beside others, over the range and on what the search has not seen."""
    statement, finals = done.statement, done.statement.finals
    table = Table(f"{statement.judge.words}, 95 % intervals")
    table.add_column("setting")
    for wanted in statement.aims.wanted:
        table.add_column(wanted.metric, justify="right")
    if statement.aims.goals:
        table.add_column("goals")
    rows = [
        ("tuned", finals.best),
        *((each.name, each) for each in finals.beside),
        ("other seeds: tuned", finals.again),
    ]
    for name, measured in [*rows, *((f"unseen: {each.name}", each) for each in finals.held_out)]:
        cells = [statement.at(measured, wanted) for wanted in statement.aims.wanted]
        goals = [measured.standing(statement.aims).name.lower()] if statement.aims.goals else []
        table.add_row(name, *cells, *goals)
    return table


def parameters_table(done: Tuning) -> Table:
    """Returns the parameters, and what a change of each by 20 % does."""
    statement = done.statement
    keys = {key.name: key for key in statement.space.keys}
    table = Table("parameters, and what a change by 20 % does to each metric", keys=4)
    for header in ("parameter", "value", "default", "change"):
        table.add_column(header, justify="left" if header == "parameter" else "right")
    for wanted in statement.aims.wanted:
        table.add_column(wanted.metric, justify="right")
    for each in statement.finals.neighbours:
        of = [keys[name] for name in each.changed.split(" and ")]
        values = ", ".join(key.text(statement.finals.best.values.get(key.name)) for key in of)
        defaults = ", ".join(key.text(key.default) for key in of)
        effects = [
            said(wanted.metric, effect, sign=True)
            for wanted, effect in zip(statement.aims.wanted, each.effects, strict=False)
        ]
        effects = effects or ["not allowed", *([""] * (len(statement.aims.wanted) - 1))]
        table.add_row(each.changed, values, defaults, change(each.factor), *effects)
    return table


def front_table(done: Tuning) -> Table:
    """Returns the Pareto front."""
    statement = done.statement
    table = Table("Pareto front")
    table.add_column("candidate")
    for name in (*statement.space.names, *(each.metric for each in statement.aims.wanted)):
        table.add_column(name, justify="right")
    for each in statement.finals.front:
        name = f"{each.name}, chosen" if each is statement.finals.best else each.name
        values = [key.text(each.values.get(key.name)) for key in statement.space.keys]
        table.add_row(name, *values, *(statement.at(each, wanted) for wanted in statement.aims.wanted))
    return table
