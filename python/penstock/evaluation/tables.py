"""The tables of `penstock evaluate` on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.evaluation.judge import Answer, Judgement
from penstock.evaluation.link import RFC, Link
from penstock.evaluation.page import said
from penstock.evaluation.questions import Question
from penstock.evaluation.rfc import Experiment
from penstock.show.table import Table

#: The most candidates whose numbers fit side by side.
WIDE = 5


class Answers(Protocol):
    """What an evaluation found: `Evaluation`."""

    @property
    def questions(self) -> Sequence[Question]:
        """Returns what was asked."""

    @property
    def names(self) -> Sequence[str]:
        """Returns of whom."""

    @property
    def judgement(self) -> Judgement:
        """Returns the answers."""

    @property
    def link(self) -> Link:
        """Returns the link that the scenarios were played on."""


def experiments_table(experiments: Sequence[Experiment]) -> Table:
    """Returns what `penstock evaluate --list` shows."""
    table = Table("scenarios of RFC 7928")
    table.add_column("scenario", no_wrap=True)
    table.add_column("section", no_wrap=True)
    table.add_column("the RFC says", no_wrap=True)
    table.add_column("what")
    table.add_column("hosts", no_wrap=True)
    table.add_column("forms", style="dim")
    for each in experiments:
        forms = ", ".join(variant.key for variant in each.variants if variant.key)
        table.add_row(each.key, each.section, each.level, each.title, each.hosts, forms)
    return table


def answers_table(done: Answers) -> Table:
    """Returns the answers: with their numbers where the candidates are few, else who says yes and no to what."""
    if len(done.names) > WIDE:
        return _many(done)
    table = Table(_title(done))
    table.add_column("question")
    table.add_column("yes is")
    for name in done.names:
        table.add_column(name)
    for question in done.questions:
        cells = []
        for name in done.names:
            judged = done.judgement.of(question, name)
            cells.append(f"{judged.answer.value}, {said(judged)}")
        table.add_row(question.text, question.rule_text, *cells)
    return table


def _title(done: Answers) -> str:
    return "RFC 7928" if done.link == RFC else f"RFC 7928 on {done.link.text}"


def _many(done: Answers) -> Table:
    """Returns a row for each candidate: the questions by their keys. What is in neither column is undecided."""
    table = Table(_title(done))
    table.add_column("discipline", no_wrap=True)
    table.add_column("yes")
    table.add_column("no")
    for name in done.names:
        told = {
            answer: ", ".join(q.key for q in done.questions if done.judgement.of(q, name).answer is answer)
            for answer in (Answer.YES, Answer.NO)
        }
        table.add_row(name, told[Answer.YES], told[Answer.NO])
    return table
