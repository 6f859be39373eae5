"""The page: the statement with its tables and figures. It opens from a file and fetches nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock import __version__
from penstock._files import write
from penstock.model.scenario import literal
from penstock.show import labels, palette
from penstock.show.pages import svg, templates
from penstock.tuning.candidates import Candidate
from penstock.tuning.compare import Measured, Neighbour, Standing
from penstock.tuning.hunt import SEARCHED
from penstock.tuning.judge import over
from penstock.tuning.statement import Statement, change, said

#: The page's mark of each standing, as the pages of `penstock evaluate` have them.
SIGNS = {Standing.MET: "yes", Standing.MISSED: "no", Standing.UNDECIDED: "undecided"}


def write_page(out: Path, statement: Statement, candidates: Sequence[Candidate], changes: Mapping[str, object]) -> Path:
    """Writes `index.html`, and returns its path.

    changes: the keys of `[aqm]` with their values, for the reader to copy.
    """
    here = Path(__file__).parent
    folders = [here / "page", here.parent / "evaluation" / "page"]  # the frame and the look are those of `evaluate`
    environment = templates(*folders)
    page = environment.get_template("tuned.html").render(**_content(statement, candidates, changes))
    write(out / "index.html", page)
    return out / "index.html"


def _content(statement: Statement, candidates: Sequence[Candidate], changes: Mapping[str, object]) -> dict[str, Any]:
    goals = bool(statement.aims.goals)
    seeds = statement.unseen_seeds
    return {
        "version": __version__,
        "variables": palette.css(),
        "title": f"{statement.kind}, tuned for {statement.scenario}",
        "aims": str(statement.aims),
        "judge": statement.judge.words,
        "judge_words": statement.judge.words.capitalize(),
        "seen": f"{len(statement.seen)} conditions",
        "sign_of": SIGNS[statement.standing] if goals else "",
        "sentences": statement.sentences(),
        "block": "\n".join(["[aqm]", *(f"{name} = {literal(value)}" for name, value in changes.items())]),
        "metrics": [labels.label(each.metric) for each in statement.aims.wanted],
        "goals": goals,
        "settings": _settings(statement),
        "parameters": _parameters(statement),
        "keys": statement.space.names,
        "front": _front(statement),
        "rules": _rules(statement, candidates),
        "figures": _figures(statement, candidates),
        "seen_names": "; ".join(each.name for each in statement.seen),
        "unseen_names": "; ".join(each.name for each in statement.unseen),
        "unseen_seeds": f"seeds {seeds[0]} to {seeds[-1]}",
    }


def _settings(statement: Statement) -> list[dict[str, Any]]:
    finals = statement.finals
    rows = [_setting(statement, finals.best, "tuned", "")]
    rows += [_setting(statement, each, each.name, "") for each in finals.beside]
    rows.append(_setting(statement, finals.again, "tuned", "unseen seeds"))
    unseen = "unseen conditions and seeds"
    return [*rows, *(_setting(statement, each, each.name, unseen) for each in finals.held_out)]


def _setting(statement: Statement, measured: Measured, name: str, note: str) -> dict[str, Any]:
    cells = []
    for wanted in statement.aims.wanted:
        against = ""
        if measured in statement.finals.beside:
            against = said(wanted.metric, statement.against(measured, wanted), sign=True)
        where = statement.where(measured, wanted)
        cells.append({"said": statement.at(measured, wanted), "note": f"{where}; {against}" if against else where})
    return {"name": name, "note": note, "cells": cells, "sign": SIGNS[measured.standing(statement.aims)]}


def _parameters(statement: Statement) -> list[dict[str, Any]]:
    """Returns a row for each change of a parameter; keys that are changed together stand in one."""
    rows: list[dict[str, Any]] = []
    keys = {key.name: key for key in statement.space.keys}
    said_of: set[str] = set()
    for each in statement.finals.neighbours:
        of = [keys[name] for name in each.changed.split(" and ")]
        first = each.changed not in said_of
        said_of.add(each.changed)
        values = [key.text(statement.finals.best.values.get(key.name)) for key in of]
        searched = [f"{key.text(key.low)} … {key.text(key.high)}" for key in of if key.near is None]
        rows.append(
            {
                "name": each.changed if first else "",
                "value": ", ".join(values) if first else "",
                "default": ", ".join(key.text(key.default) for key in of) if first else "",
                "searched": ", ".join(searched) if first else "",
                "change": change(each.factor),
                "cells": _effects(statement, each),
                "sign": SIGNS[each.standing] if each.standing else "",
            }
        )
    return rows


def _effects(statement: Statement, neighbour: Neighbour) -> list[str]:
    wanted = statement.aims.wanted
    if neighbour.refused:
        return ["not allowed", *([""] * (len(wanted) - 1))]
    return [said(each.metric, effect, sign=True) for each, effect in zip(wanted, neighbour.effects, strict=True)]


def _front(statement: Statement) -> list[dict[str, Any]]:
    keys = statement.space.keys
    return [
        {
            "name": each.name,
            "chosen": each is statement.finals.best,
            "cells": [
                *(key.text(each.values.get(key.name)) for key in keys),
                *(statement.at(each, wanted) for wanted in statement.aims.wanted),
            ],
        }
        for each in statement.finals.front
    ]


def _rules(statement: Statement, candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    rows = []
    for each in candidates:
        if each.origin == SEARCHED:
            continue
        cells = [key.text(each.values.get(key.name)) for key in statement.space.keys]
        for wanted in statement.aims.wanted:
            if len(each.done) < len(statement.seen):
                cells.append("–")
                continue
            part = each.part(range(len(statement.seen)), each.seeds)
            cells.append(said(wanted.metric, over(statement.judge, wanted, part[wanted.metric]).estimate))
        rows.append({"name": each.origin, "source": each.source, "cells": cells})
    return rows


def _figures(statement: Statement, candidates: Sequence[Candidate]) -> list[dict[str, str]]:
    from penstock.tuning.figures import drawings  # matplotlib, which takes longer to load than all else

    found = []
    for drawing in drawings(statement, candidates):
        drawn = svg(drawing.draw, drawing.key, drawing.title)
        found.append({"key": drawing.key, "title": drawing.title, "caption": drawing.caption, "svg": drawn})
    return found
