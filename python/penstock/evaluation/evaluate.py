"""An evaluation from beginning to end: `penstock.evaluate`."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from penstock._names import known
from penstock.errors import Error, ScenarioError
from penstock.evaluation import drive
from penstock.evaluation import real as packets
from penstock.evaluation.candidates import candidates
from penstock.evaluation.cost import Costs, costs
from penstock.evaluation.document import document_of
from penstock.evaluation.judge import Answer, Judgement, judge
from penstock.evaluation.link import RFC, Link, link_of
from penstock.evaluation.numbers import Numbers
from penstock.evaluation.page import Evaluated, write_pages
from penstock.evaluation.points import plan
from penstock.evaluation.questions import Question, questions_of
from penstock.evaluation.rfc import ALL_HOSTS, EXPERIMENTS, Experiment
from penstock.model.discipline import Named
from penstock.model.scenario import Scenario
from penstock.runs.execute import cores
from penstock.sweeps.drive import Sweep

#: Runs of each form of a scenario.
SEEDS = 5
#: The most with which control values are varied.
KNOB_SEEDS = 3
#: The same of a quick evaluation, and the scenarios that it leaves out: the long and the fast ones.
QUICK_SEEDS = 3
NOT_QUICK = ("rtt-fairness", "capacity-slow", "capacity-fast")


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """What an evaluation found.

    page: the page that compares.
    questions, names: what was asked, of whom; DropTail is the first.
    judgement: the answers.
    numbers: what they were computed from.
    costs: what each of them costs.
    real: what came of real packets, where they were asked for.
    notes: what of the link's file was not played, or in other words; of each discipline whose runs were not kept, why.
    document: all of it as the text of a document.
    link: the one that the scenarios were played on.
    """

    page: Path
    questions: Sequence[Question]
    names: Sequence[str]
    judgement: Judgement
    numbers: Numbers
    costs: Costs
    real: Sequence[packets.Carried] = ()
    notes: Sequence[str] = ()
    document: str = ""
    link: Link = RFC

    def json(self) -> str:
        """Returns all answers with their numbers as one document."""
        return self.document

    def answer(self, question: str, candidate: str) -> Answer:
        """Returns one answer. Raises `Error` for a question that was not asked, and for a candidate that does not
        exist."""
        asked = [q.key for q in self.questions]
        if question not in asked:
            for each in questions_of(RFC):
                if each.key == question:
                    forms = " in all forms" if each.beyond_quick else ""
                    needs = f"it needs the scenario {' and '.join(each.needs)}{forms}"
                    raise Error(f"{question!r} was not asked: {needs}; asked: {_listed(asked)}")
            if question in [each.key for each in EXPERIMENTS]:
                ran = {
                    where.experiment: [q.key for q in self.questions if where.experiment in q.needs]
                    for where in self.numbers.seeds
                }
                known(question, ran, "scenario that ran")
                raise Error(f"{question!r} is a scenario; asked of it: {_listed(ran[question])}")
        known(question, asked, "question")
        known(candidate, self.names, "candidate")
        return self.judgement.answers[question, candidate].answer

    def _repr_html_(self) -> str:
        """Returns the table of `penstock evaluate`, for notebooks."""
        from penstock.evaluation.tables import answers_table

        notes = "".join(f"<p>{html.escape(text)}</p>" for text in self.notes)
        return answers_table(self)._repr_html_() + notes

    def __repr__(self) -> str:
        return f"<penstock.Evaluation {', '.join(self.names)}: {self.page}>"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"


def chosen(only: Sequence[str], quick: bool, link: Link = RFC, hosts: str | None = None) -> list[Experiment]:
    """Returns the scenarios named, or all, on a link and with hosts. Raises `Error` for a name that does not exist."""
    keys = [each.key for each in EXPERIMENTS]
    for name in only:
        known(name, keys, "scenario of RFC 7928")
    if hosts is not None:
        known(hosts, ALL_HOSTS, "profile of hosts")
    there = [replace(each, link=link, hosts=hosts or each.hosts) for each in EXPERIMENTS]
    if only:
        return [each for each in there if each.key in only]
    return [each for each in there if not (quick and each.key in NOT_QUICK)]


def evaluate(
    disciplines: Sequence[Named],
    *,
    set: Mapping[str, object] | None = None,
    link: str | Path | Scenario | None = None,
    hosts: str | None = None,
    seeds: int | None = None,
    quick: bool = False,
    only: Sequence[str] = (),
    real: bool = False,
    out: str | Path = "out/evaluate",
    jobs: int | None = None,
    scheduler: Any = None,
    progress: Callable[[Sweep], object] | None = None,
    real_progress: Callable[[float, str], object] | None = None,
) -> Evaluation:
    """Judges queue disciplines by RFC 7928, with DropTail beside them, and writes the pages.

    disciplines: as `Scenario.with_aqm` takes them (`"red"`, `"my_aqm.py:Mine(limit=5)"`, `Mine`), or `"all"`.
    set: key path → value, for all of them but DropTail: `{"aqm.max_p": 0.2}`.
    link: a scenario or its file, which may be a link alone, on whose rate, round trip, buffer and framing the RFC's
        scenarios are played; default: the RFC's 10 Mbit/s, 100 ms and 83 packets.
    hosts: whose TCP the flows are: `"rfc"`, the RFC's NewReno; `"linux"` or `"quic"`, as by `Scenario.with_hosts`.
        Default: Linux's, and the RFC's in section 5, which is about the senders that it names.
    seeds: runs of every form of every scenario; default: 5, quick: 3.
    quick: a minute for one discipline: fewer seeds, each scenario in its first form, without ECN, without those that
        take longest.
    only: keys of scenarios, as `penstock evaluate --list` names them.
    real: also on real packets (sections 5.1 to 5.3, 7, 8 and 9.1), beside the simulator; each run takes its time.
    out: the folder of the pages and the runs; what it holds is not run again.
    jobs: threads; default: one a core.
    scheduler: a Dask scheduler's address or client; disciplines in Python are sent along.
    progress: called a few times a second.
    real_progress: the same of real runs: what is done of them (0 to 1), and what is under way.

    Raises `ScenarioError` for what does not exist or does not hold together, `EmulationError` where this machine
    sends no real packets.
    """
    if real and hosts == "quic":
        raise ScenarioError('hosts = "quic": real packets are those of Linux\'s TCP; allowed: rfc, linux')
    if real:
        packets.check()
    n = seeds or (QUICK_SEEDS if quick else SEEDS)
    run_with, knobs_with = range(1, n + 1), range(1, min(n, KNOB_SEEDS) + 1)
    folder, changes = Path(out), set or {}
    judged = candidates(disciplines, changes)
    on = RFC if link is None else link_of(link)
    experiments = chosen(only, quick, on, hosts)
    planned = plan(judged, experiments, run_with, knobs_with, quick)
    with TemporaryDirectory(prefix="penstock-") as passing:
        drive.run(planned, folder, Path(passing), jobs, scheduler, progress)
        numbers = Numbers(planned, [folder, Path(passing)])
        numbers.load()
    carried = packets.carry(judged, experiments, folder, real_progress) if real else []
    there = {each.key for each in experiments}
    questions = [q for q in questions_of(on) if there.issuperset(q.needs) and not (quick and q.beyond_quick)]
    names = [each.name for each in judged]
    judgement = judge(numbers, questions, names)
    changed = ", ".join(f"{path} = {value}" for path, value in changes.items())
    spent = costs(judged)
    done = Evaluated(
        numbers, judgement, questions, experiments, names, run_with, knobs_with, spent, changed, carried, on
    )
    page = write_pages(folder, done, jobs or cores())
    notes = [f"link: {each}" for each in on.notes]
    notes += [f"runs of {each.name} are not kept: {each.unknown}" for each in judged if each.unknown]
    asked = {"set": changes, "link": on.text, "hosts": hosts, "seeds": n, "quick": quick, "only": only, "real": real}
    document = document_of(done, {"disciplines": names[1:], **asked})
    return Evaluation(page, questions, names, judgement, numbers, spent, carried, notes, document, on)
