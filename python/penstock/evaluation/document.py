"""An evaluation as one document: every answer with its numbers, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock._json import document
from penstock._names import kinds
from penstock.evaluation.judge import Judged
from penstock.evaluation.page import Evaluated
from penstock.evaluation.questions import Question
from penstock.evaluation.real import Pair, estimates
from penstock.judging.estimate import Estimate


def document_of(done: Evaluated, asked: Mapping[str, Any]) -> str:
    """Returns what the pages say as a document.

    asked: what was to be judged, and how.
    """
    questions = [
        {
            "key": each.key,
            "section": each.section,
            "text": each.text,
            "measured": each.measured,
            "unit": each.unit,
            "rule": each.rule_text,
            "best": list(done.best_is[each.key]),
            "answers": {name: _answer(done.judgement.of(each, name)) for name in done.names},
        }
        for each in done.questions
    ]
    return document(
        {
            "asked": dict(asked),
            "candidates": list(done.names),
            "scenarios": [each.key for each in done.experiments],
            "seeds": list(done.seeds),
            "questions": questions,
            "costs": _costs(done),
            "real": [
                {
                    **{key: getattr(each, key) for key in ("candidate", "experiment", "valid", "tried", "why")},
                    "pairs": [_pair(pair) for pair in each.pairs],
                }
                for each in done.real
            ],
            "notes": list(done.link.notes),
        }
    )


def _answer(judged: Judged) -> dict[str, Any]:
    against = None if judged.against is None else _scaled(judged.against, judged.question)
    return {
        "answer": judged.answer.value,
        "value": _scaled(judged.estimate, judged.question),
        "minus_droptail": against,
        "differs_from_droptail": judged.differs,
    }


def _pair(pair: Pair) -> dict[str, Any]:
    """Returns a metric on both sides, each as an estimate."""
    real, simulated = estimates(pair)
    return {"metric": pair.metric, "real": real.row(), "simulated": simulated.row(), "agrees": pair.agrees}


def _scaled(estimate: Estimate, question: Question) -> dict[str, Any]:
    """Returns an estimate in the question's unit."""
    row = estimate.row()
    return {key: value if key == "n" or value is None else value * question.scale for key, value in row.items()}


def _costs(done: Evaluated) -> dict[str, Any]:
    """Returns what the built-in disciplines cost.

    One's own is timed at each call, and stands on the page alone: a document is the same each time.
    """
    built_in = kinds()
    names = ("ns", "instructions", "state_bytes", "packet_bytes", "values")
    return {
        name: {key: getattr(cost, key) for key in names} if name in built_in else None
        for name, cost in done.costs.of.items()
    }
