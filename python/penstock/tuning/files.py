"""Writes what stands beside the page: the tuned scenario, and every number as CSV and JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock._files import write
from penstock._json import document
from penstock.errors import ScenarioError
from penstock.judging.estimate import Estimate
from penstock.model.discipline import Discipline
from penstock.model.scenario import Scenario, literal
from penstock.tuning.candidates import Candidate
from penstock.tuning.compare import Measured
from penstock.tuning.judge import Over, over
from penstock.tuning.statement import Statement, change

_HEADER = re.compile(r"\s*\[aqm\]\s*(#.*)?")
_ANY_HEADER = re.compile(r"\s*\[")


def write_files(out: Path, statement: Statement, candidates: Sequence[Candidate], tuned: str, document: str) -> None:
    """Writes `tuned.toml`, `statement.json` and the tables."""
    write(out / "tuned.toml", tuned)
    write(out / "statement.json", document + "\n")
    write(out / "candidates.csv", _csv(_candidates(statement, candidates)))
    write(out / "range.csv", _csv(_range(statement)))
    write(out / "sensitivity.csv", _csv(_sensitivity(statement)))
    if len(statement.aims.objectives) > 1:
        write(out / "front.csv", _csv(_front(statement)))


def document_of(statement: Statement, asked: Mapping[str, Any]) -> str:
    """Returns the statement as one document; `docs/json.md` describes it.

    asked: what was to be tuned, and how.
    """
    best, finals = statement.finals.best, statement.finals
    parts = {
        "asked": dict(asked),
        "aqm": statement.kind,
        "aims": [str(each) for each in statement.aims.wanted],
        "judge": statement.judge.name,
        "standing": statement.standing.name.lower(),
        "parameters": {f"aqm.{name}": value for name, value in written(statement, best).items()},
        "range": {each.metric: _plain(best.over(each)) for each in statement.aims.wanted},
        "other_seeds": {each.metric: _plain(statement.finals.again.over(each)) for each in statement.aims.wanted},
        "held_out": {each.metric: _plain(statement.finals.held_out[0].over(each)) for each in statement.aims.wanted},
        "settings": [
            *(_setting(statement, each, "range") for each in (best, *finals.beside)),
            _setting(statement, finals.again, "other_seeds"),
            *(_setting(statement, each, "held_out") for each in finals.held_out),
        ],
        "sensitivity": [
            {
                "changed": each.changed,
                "factor": each.factor,
                "values": dict(each.values),
                "refused": each.refused,
                "standing": each.standing and each.standing.name.lower(),
                "effects": {
                    wanted.metric: effect.row()
                    for wanted, effect in zip(statement.aims.wanted, each.effects, strict=False)
                },
            }
            for each in finals.neighbours
        ],
        "front": [_setting(statement, each, "range") for each in finals.front],
        "conditions": {
            "range": [each.name for each in statement.seen],
            "held_out": [each.name for each in statement.unseen],
        },
        "seeds": {"range": list(statement.seeds), "held_out": list(statement.unseen_seeds)},
        "runs": statement.runs,
        "identical": statement.identical,
        "statement": statement.sentences(),
    }
    return document(parts)


def _setting(statement: Statement, measured: Measured, where: str) -> dict[str, Any]:
    """Returns a setting as a row of the document.

    where: `range`, `other_seeds` or `held_out`.
    """
    conditions = statement.unseen if where == "held_out" else statement.seen
    metrics = {}
    for wanted in statement.aims.wanted:
        found = measured.over(wanted)
        metrics[wanted.metric] = {**found.estimate.row(), "condition": conditions[found.binds].name}
    return {
        "name": "tuned" if measured is statement.finals.best or measured is statement.finals.again else measured.name,
        "where": where,
        "values": written(statement, measured),
        "standing": measured.standing(statement.aims).name.lower() if statement.aims.goals else None,
        "metrics": metrics,
    }


def written(statement: Statement, measured: Measured) -> dict[str, float | int | str]:
    """Returns the searched keys' values as a scenario has them."""
    keys = {key.name: key for key in statement.space.keys}
    return {name: keys[name].written(value) for name, value in measured.values.items()}


def tuned_toml(
    file: Path | None, tuned: Scenario, original: Scenario, changes: Mapping[str, object], aqm: Discipline
) -> str:
    """Returns the tuned scenario as a file.

    file: what the scenario was read from: only its `[aqm]` changes, and comments stay. Where that
        cannot say it, or without a file, every key stands there with its value in force.
    changes: keys of `[aqm]` with their new values.
    aqm: the discipline, which a file does not name where it is the user's own.
    """
    head = "" if aqm.own is None else f"# {aqm.label}: a file names no class; --aqm FILE.py:{aqm.label} does.\n"
    if file is not None:
        text = _edited(file.read_text(encoding="utf-8"), changes)
        try:
            again = Scenario.from_toml(text, (aqm,))
            again = again if aqm.own is None else again.with_aqm(replace(aqm, keys={}))
        except ScenarioError:
            pass
        else:
            same = again.resolved == tuned.resolved and again.core.grid() == original.core.grid()
            if same and again.core.design() == original.core.design():
                return head + text
    return (
        head
        + "# The range of conditions ([sweep]) is in the scenario that was tuned.\n"
        + _spelled(tuned.resolved, aqm)
    )


def _edited(text: str, changes: Mapping[str, object]) -> str:
    """Returns the text of a scenario with other keys in `[aqm]`."""
    lines = text.splitlines()
    new = [f"{name} = {literal(value)}" for name, value in changes.items()]
    start = next((i for i, line in enumerate(lines) if _HEADER.fullmatch(line)), None)
    if start is None:
        return "\n".join([*lines, "", "[aqm]", *new]) + "\n"
    end = next((i for i in range(start + 1, len(lines)) if _ANY_HEADER.match(lines[i])), len(lines))
    kept = [line for line in lines[start + 1 : end] if re.split(r"[=\s]", line.strip(), maxsplit=1)[0] not in changes]
    return "\n".join([*lines[: start + 1], *new, *kept, *lines[end:]]) + "\n"


def _spelled(resolved: Mapping[str, Any], aqm: Discipline) -> str:
    """Returns a resolved scenario as TOML: a table for each part, what is inside it on one line
    each.
    """
    if aqm.own is not None:
        resolved = {**resolved, "aqm": {key: value for key, value in resolved["aqm"].items() if key != "kind"}}
    plain = {key: value for key, value in _present(resolved).items() if not isinstance(value, (dict, list))}
    lines = [f"{key} = {literal(value)}" for key, value in plain.items()]
    for key, value in _present(resolved).items():
        for table in value if isinstance(value, list) else [value]:
            if isinstance(table, dict):
                header = f"[[{key}]]" if isinstance(value, list) else f"[{key}]"
                lines += ["", header, *(f"{name} = {literal(each)}" for name, each in table.items())]
    return "\n".join(lines) + "\n"


def _present(value: Any) -> Any:
    """Returns the same without what has no value."""
    if isinstance(value, dict):
        return {key: _present(each) for key, each in value.items() if each is not None}
    return [_present(each) for each in value] if isinstance(value, list) else value


def _candidates(statement: Statement, candidates: Sequence[Candidate]) -> Iterable[Sequence[Any]]:
    metrics = [each.metric for each in statement.aims.wanted]
    yield ("number", "origin", "source", *statement.space.names, *metrics, "conditions", "seeds", "dropped")
    for each in candidates:
        whole = len(each.done) == len(statement.seen)
        part = each.part(range(len(statement.seen)), each.seeds) if whole else {}
        numbers = [
            over(statement.judge, wanted, part[wanted.metric]).estimate.mean if whole else None
            for wanted in statement.aims.wanted
        ]
        values = [each.values.get(name) for name in statement.space.names]
        about = (len(each.done), each.seeds, each.out)
        yield (each.number, each.origin, each.source, *values, *map(_figures, numbers), *about)


def _range(statement: Statement) -> Iterable[Sequence[Any]]:
    """Yields each setting under each condition."""
    yield ("setting", "range", "condition", "metric", "mean", "ci95", "n", "decides", "low", "high")
    finals = statement.finals
    for word, measured in (
        ("searched", [finals.best, *finals.beside]),
        ("searched, other seeds", [finals.again]),
        ("held out", finals.held_out),
    ):
        conditions = statement.unseen if word == "held out" else statement.seen
        for each in measured:
            name = "tuned" if each.values else each.name
            for wanted in statement.aims.wanted:
                found = each.over(wanted)
                for i, estimate in enumerate(found.conditions):
                    decides = i == found.binds and statement.judge.share is not None
                    yield (
                        name,
                        word,
                        conditions[i].name,
                        wanted.metric,
                        *_numbers(estimate),
                        decides,
                        *_ends(estimate),
                    )


def _sensitivity(statement: Statement) -> Iterable[Sequence[Any]]:
    names = [f"{each.metric}, {end}" for each in statement.aims.wanted for end in ("change", "ci95")]
    yield ("parameter", "change", "values", *names, "goals", "refused")
    for each in statement.finals.neighbours:
        effects = [value for effect in each.effects for value in _numbers(effect)[:2]] or [None] * len(names)
        values = " ".join(f"{name}={value:g}" for name, value in each.values.items() if name in each.changed.split())
        goals = each.standing.name.lower() if each.standing and statement.aims.goals else ""
        yield (each.changed, change(each.factor), values, *effects, goals, each.refused)


def _front(statement: Statement) -> Iterable[Sequence[Any]]:
    names = [f"{each.metric}{end}" for each in statement.aims.wanted for end in ("", ", ci95")]
    yield ("candidate", *statement.space.names, *names, "goals", "chosen")
    for each in statement.finals.front:
        values = [each.values.get(name) for name in statement.space.names]
        numbers = [v for wanted in statement.aims.wanted for v in _numbers(each.over(wanted).estimate)[:2]]
        goals = each.standing(statement.aims).name.lower() if statement.aims.goals else ""
        yield (each.name, *values, *numbers, goals, each is statement.finals.best)


def _plain(found: Over) -> dict[str, float | None]:
    return {name: found.estimate.row()[name] for name in ("mean", "ci95", "low", "high")}


def _numbers(estimate: Estimate) -> tuple[str | None, str | None, int]:
    return _figures(estimate.mean), _figures(estimate.ci95), estimate.n


def _ends(estimate: Estimate) -> tuple[str | None, str | None]:
    return _figures(estimate.low), _figures(estimate.high)


def _figures(value: float | None) -> str | None:
    return None if value is None else f"{value:.6g}"


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
