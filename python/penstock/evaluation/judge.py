"""Finds the answers: each question of each candidate, its interval, and what may be said of it.

A test per answer, Student's t on one number a seed: is the mean on the yes side of the rule's bound? Where the bound is
DropTail's number, the two are paired by seed. The tests of all answers are corrected together for their number
(Benjamini and Hochberg 1995): of those that are decided, at most 5 % in expectation are so by chance. What is not
decided is `undecided`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

import numpy as np

from penstock.evaluation.candidates import BASELINE
from penstock.evaluation.numbers import Array, Numbers
from penstock.evaluation.questions import Question
from penstock.judging.estimate import Estimate
from penstock.judging.paired import adjusted, p_value

Key = TypeVar("Key", bound=Hashable)

#: The share of the decided answers that chance may have decided.
ALPHA = 0.05


class Answer(Enum):
    """What is said."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"
    NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True)
class Judged:
    """A question of a candidate.

    estimate: of the number, in its own unit.
    against: the mean of the paired differences to DropTail; `None` for DropTail itself.
    differs: whether that difference is not by chance.
    """

    question: Question
    candidate: str
    answer: Answer
    estimate: Estimate
    against: Estimate | None
    differs: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """All answers, and of each question whose number is the best.

    best: question → the candidates that are not worse than the best one beyond chance.
    """

    answers: Mapping[tuple[str, str], Judged]
    best: Mapping[str, Sequence[str]]

    def of(self, question: Question, candidate: str) -> Judged:
        """Returns one answer."""
        return self.answers[question.key, candidate]


def judge(numbers: Numbers, questions: Sequence[Question], candidates: Sequence[str]) -> Judgement:
    """Asks everything."""
    asked = {(q.key, c): q.ask(numbers, c) for q in questions for c in candidates}
    tests: dict[tuple[str, str], float | None] = {}
    sides: dict[tuple[str, str], bool] = {}
    pairs: dict[tuple[str, str], float | None] = {}
    for q in questions:
        droptail = asked[q.key, BASELINE]
        for c in candidates:
            values = asked[q.key, c]
            bound = q.rule.bound * droptail if q.of_droptail else np.full(len(values), q.rule.bound)
            if q.of_droptail and c == BASELINE:
                continue  # it would be asked about itself
            margin = _paired(bound, values) if q.lower_is_better else _paired(values, bound)
            tests[q.key, c], sides[q.key, c] = _p_value(margin), bool(len(margin)) and float(np.mean(margin)) > 0
            if c != BASELINE:
                pairs[q.key, c] = _p_value(_paired(values, droptail))
    corrected = _corrected(tests)
    differing = _corrected(pairs)
    answers = {}
    for q in questions:
        for c in candidates:
            key = q.key, c
            p = corrected.get(key)
            answer = Answer.NOT_ASKED if p is None else Answer.UNDECIDED
            if _clear(p):
                answer = Answer.YES if sides[key] else Answer.NO
            against = None if c == BASELINE else _paired(asked[key], asked[q.key, BASELINE])
            apart = None if against is None else Estimate.of_differences(against.tolist(), q.within)
            answers[key] = Judged(q, c, answer, _estimate(q, asked[key]), apart, _clear(differing.get(key)))
    return Judgement(answers, {q.key: _best(q, asked, candidates) for q in questions})


def _paired(a: Array, b: Array) -> Array:
    n = min(len(a), len(b))
    difference = a[:n] - b[:n]
    return difference[np.isfinite(difference)]


def _estimate(question: Question, values: Array) -> Estimate:
    return Estimate.of(values[np.isfinite(values)].tolist(), question.within)


def _p_value(margin: Array) -> float | None:
    """Returns the p value of the hypothesis that its mean is zero; `None` where there is nothing to test."""
    return 1.0 if len(margin) == 1 else p_value(margin.tolist())


def _clear(p: float | None) -> bool:
    return p is not None and p < ALPHA


def _corrected(tests: Mapping[Key, float | None]) -> dict[Key, float | None]:
    return dict(zip(tests, adjusted(list(tests.values())), strict=True))


def _best(question: Question, asked: Mapping[tuple[str, str], Array], candidates: Sequence[str]) -> list[str]:
    """Returns the candidate with the best mean and those from which it does not differ beyond chance."""
    sign = 1 if question.lower_is_better else -1
    found = {c: _estimate(question, asked[question.key, c]).mean for c in candidates}
    means = {c: sign * mean for c, mean in found.items() if mean is not None}
    if not means:
        return []
    first = min(means, key=lambda c: means[c])
    others = [c for c in means if c != first]
    p = {c: _p_value(_paired(asked[question.key, c], asked[question.key, first])) for c in others}
    corrected = _corrected(p)
    return [first, *(c for c in others if not _clear(corrected[c]))]
