"""An evaluation from beginning to end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from penstock._names import known
from penstock.evaluation import drive, real
from penstock.evaluation.candidates import candidates
from penstock.evaluation.cost import Costs, costs
from penstock.evaluation.document import document_of
from penstock.evaluation.judge import Answer, Judgement, judge
from penstock.evaluation.numbers import Numbers
from penstock.evaluation.page import Evaluated, write_pages
from penstock.evaluation.points import plan
from penstock.evaluation.questions import QUESTIONS, Question
from penstock.evaluation.rfc import EXPERIMENTS, Experiment
from penstock.runs.execute import cores

if TYPE_CHECKING:
    from penstock.model.aqm import Aqm
    from penstock.sweeps.drive import Sweep

#: Runs of each form of a scenario.
SEEDS = 5
#: The most with which control values are varied.
KNOB_SEEDS = 3
#: The same of a quick evaluation, and the scenarios that it leaves out: the long and the fast ones.
QUICK_SEEDS = 3
NOT_QUICK = ("rtt-fairness", "capacity-slow", "capacity-fast")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluation found.

    page: the page that compares.
    questions, names: what was asked, of whom; DropTail is the first.
    judgement: the answers.
    numbers: what they were computed from.
    costs: what each of them costs.
    real: what came of real packets, where they were asked for.
    notes: of each discipline whose runs were not kept, why.
    document: all of it as the text of a document.
    """

    page: Path
    questions: Sequence[Question]
    names: Sequence[str]
    judgement: Judgement
    numbers: Numbers
    costs: Costs
    real: Sequence[real.Carried] = ()
    notes: Sequence[str] = ()
    document: str = ""

    def json(self) -> str:
        """Returns all answers with their numbers as one document."""
        return self.document

    def answer(self, question: str, candidate: str) -> Answer:
        """One answer. Raises `Error` for a question or candidate that does not exist."""
        known(question, [q.key for q in self.questions], "question")
        known(candidate, self.names, "candidate")
        return self.judgement.answers[question, candidate].answer


def chosen(only: Sequence[str], quick: bool) -> list[Experiment]:
    """The scenarios named, or all. Raises `Error` for a name that does not exist."""
    keys = [each.key for each in EXPERIMENTS]
    for name in only:
        known(name, keys, "scenario of RFC 7928")
    if only:
        return [each for each in EXPERIMENTS if each.key in only]
    return [each for each in EXPERIMENTS if not (quick and each.key in NOT_QUICK)]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be judged, and how: see `penstock.evaluate`."""

    disciplines: Sequence[str | Aqm | type[Aqm]]
    changes: Mapping[str, object]
    seeds: int | None
    quick: bool
    only: Sequence[str]
    real: bool


@dataclass(frozen=True, slots=True)
class Told:
    """Who is told how far it is: of simulated runs, and of real ones."""

    simulated: Callable[[Sweep], object] | None = None
    real: real.Progress | None = None


def run(wanted: Wanted, folder: Path, jobs: int | None, scheduler: Any, told: Told) -> Evaluation:
    """Runs what the folder does not hold, judges, and writes the pages."""
    if wanted.real:
        real.check()
    n = wanted.seeds or (QUICK_SEEDS if wanted.quick else SEEDS)
    run_with, knobs_with = range(1, n + 1), range(1, min(n, KNOB_SEEDS) + 1)
    judged = candidates(wanted.disciplines, wanted.changes)
    experiments = chosen(wanted.only, wanted.quick)
    planned = plan(judged, experiments, run_with, knobs_with, wanted.quick)
    with TemporaryDirectory(prefix="penstock-") as passing:
        drive.run(planned, folder, Path(passing), jobs, scheduler, told.simulated)
        numbers = Numbers(planned, [folder, Path(passing)])
        numbers.load()
    carried = real.carry(judged, experiments, folder, told.real) if wanted.real else []
    there = {each.key for each in experiments}
    questions = [q for q in QUESTIONS if there.issuperset(q.needs) and not (wanted.quick and q.beyond_quick)]
    names = [each.name for each in judged]
    judgement = judge(numbers, questions, names)
    changes = ", ".join(f"{path} = {value}" for path, value in wanted.changes.items())
    spent = costs(judged)
    done = Evaluated(numbers, judgement, questions, experiments, names, run_with, knobs_with, spent, changes, carried)
    page = write_pages(folder, done, jobs or cores())
    notes = [f"runs of {each.name} are not kept: {each.unknown}" for each in judged if each.unknown]
    asked = {"set": wanted.changes, "seeds": n, "quick": wanted.quick, "only": wanted.only, "real": wanted.real}
    document = document_of(done, {"disciplines": names[1:], **asked})
    return Evaluation(page, questions, names, judgement, numbers, spent, carried, notes, document)
