"""A tuning from beginning to end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock._names import known
from penstock.errors import Error, ScenarioError
from penstock.evaluation.candidates import kinds
from penstock.model.scenario import Scenario, seconds
from penstock.runs.execute import cores
from penstock.runs.tasks import Engine
from penstock.sweeps.drive import Threads
from penstock.tuning.bench import Runner, under
from penstock.tuning.candidates import Ask, Setting
from penstock.tuning.compare import Ground, beside, feasible_alone, finals
from penstock.tuning.conditions import conditions, unseen
from penstock.tuning.facts import Facts, amount, facts
from penstock.tuning.files import document_of, tuned_toml, write_files, written
from penstock.tuning.goals import Aims, Goal, aims
from penstock.tuning.hunt import Budget, Hunt
from penstock.tuning.judge import Judge
from penstock.tuning.page import write_page
from penstock.tuning.racing import Heat, Race
from penstock.tuning.rules import Rule, complete, first_candidates
from penstock.tuning.search import Search
from penstock.tuning.space import Space, key_name, space
from penstock.tuning.statement import Statement

if TYPE_CHECKING:
    from penstock.sweeps.drive import Sweep

#: Runs of a search, and seeds of its statement, unless something else is asked for.
RUNS, SEEDS = 6000, 10
#: Seeds after each heat of a race.
HEATS = (Heat(3, half=True), Heat(3), Heat(6))
#: The seeds of the validation begin so far after the search's.
UNSEEN_SEEDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be tuned, and how: see `penstock.tune`."""

    scenario: Scenario
    file: Path | None
    kind: str
    goals: Sequence[str | Goal]
    maximize: Sequence[str]
    minimize: Sequence[str]
    judge: str
    vary: Sequence[str]
    fix: Mapping[str, object]
    runs: int | None
    time: str | float | None
    seeds: int


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a tuning found.

    scenario: with the parameters.
    parameters: key path → value.
    met: whether the goals are met, over the range and on unseen conditions: `True`, `False`, or
        `None`: not decided.
    statement: all of it; `sentences()` is the text.
    page: the page.
    document: all of it as the text of a document, as `statement.json` has it.
    """

    scenario: Scenario
    parameters: Mapping[str, float | int | str]
    met: bool | None
    statement: Statement
    page: Path
    document: str

    def json(self) -> str:
        """Returns all of it as one document."""
        return self.document


@dataclass(frozen=True, slots=True)
class _Task:
    """What is wanted, checked: nothing has run, and nothing is written."""

    wanted: Wanted
    aims: Aims
    judge: Judge
    scenario: Scenario
    changed: bool
    space: Space
    first: Sequence[Rule]
    budget: Budget
    seeds: Sequence[int]


def run(
    wanted: Wanted, folder: Path, jobs: int | None, scheduler: Any, progress: Callable[[Sweep], object] | None
) -> Tuning:
    """Searches, measures what was found, and writes the page and the files."""
    task = _task(wanted)
    seen = conditions(task.scenario)
    others = unseen(task.scenario, len(seen), task.scenario.seed)
    with ExitStack() as stack:
        engine: Engine = Threads(jobs or cores())
        if scheduler is not None:
            from penstock.sweeps.on_dask import DaskEngine

            engine = stack.enter_context(DaskEngine(scheduler))
        runner = Runner(task.scenario, seen, others, task.aims.metrics, folder, engine, progress)
        hunt = _hunt(task, runner, len(seen))
        if hunt.race.least_runs > task.budget.runs:
            raise Error(
                f"--runs {wanted.runs}: one candidate takes {hunt.race.least_runs} runs ({len(seen)} conditions, "
                f"{hunt.race.least_runs // len(seen)} seeds each)"
            )
        runner.total.runs = _expected(task, len(seen), len(others))
        _refuse_without_metric(task, runner, [each.name for each in seen])
        task.budget.runs += runner.asked
        hunt.run(task.budget)
        if not hunt.best():
            raise Error(f"no candidate is a scenario: {hunt.refused[0]}" if hunt.refused else "no candidate has run")
        ground = Ground(
            *(runner, task.aims, task.judge, task.seeds),
            [seed + UNSEEN_SEEDS for seed in task.seeds],
            *(len(seen), len(others)),
        )
        found = finals(ground, hunt, beside(wanted.kind, task.changed))
    best = next(each for each in hunt.candidates if each.setting == found.best.setting)
    statement = Statement(
        wanted.kind,
        wanted.file.name if wanted.file else wanted.scenario.name or "a scenario",
        *(task.aims, task.judge, task.space, seen, others, task.seeds, ground.unseen_seeds, found),
        (best.origin, best.source),
        feasible_alone(hunt, ground),
        *(len(hunt.candidates), sum(bool(each.out) for each in hunt.candidates), len(hunt.refused), runner.asked),
        repeats=math.isinf(task.budget.seconds),
    )
    return _finish(task, statement, hunt, folder)


def _task(wanted: Wanted) -> _Task:
    """Checks what is wanted. Raises `Error` where it makes no sense."""
    kind = known(wanted.kind, kinds(), "discipline")
    if wanted.scenario.core.has_user_aqm:
        raise ScenarioError("tune keeps scenarios as text, which no discipline written in Python is")
    aimed, judge = aims(wanted.goals, wanted.maximize, wanted.minimize), Judge.parse(wanted.judge)
    if wanted.seeds < 2:
        raise Error("--seeds: at least 2, since one seed has no interval")
    if wanted.runs is not None and wanted.time is not None:
        raise Error("--runs and --time: give one of them")
    fix = {f"aqm.{key_name(path)}": value for path, value in wanted.fix.items()}
    # The fixed keys belong to the tuned discipline, so that this is what the scenario has from here
    # on.
    scenario = wanted.scenario.set_all({"aqm.kind": kind, **fix}) if fix else wanted.scenario
    made, seen = under(scenario, kind, plain=False), conditions(scenario)
    found = facts([made.core.point(each.variant, list(each.values)) for each in seen])
    resolved = made.resolved["aqm"]
    searched = space(kind, resolved, found, wanted.vary, [key_name(path) for path in fix])
    axes = {path for each in seen for path, _ in each.values}
    for path in ("aqm.kind", *(key.path for key in searched.keys)):
        if path in axes:
            raise ScenarioError(
                f"[sweep] has {path}, which is searched; take it out of [sweep], or name others: --vary"
            )
    first = first_candidates(kind, searched, found, aimed)
    own = _own(searched, resolved, found)
    plain = under(scenario, kind, plain=True).resolved["aqm"]
    rules = first if own is None or resolved == plain else [own, *first]
    budget = Budget(runs=wanted.runs or RUNS) if wanted.time is None else Budget(seconds=_seconds(wanted.time))
    seeds = range(scenario.seed, scenario.seed + wanted.seeds)
    return _Task(wanted, aimed, judge, scenario, resolved != plain, searched, _once(rules), budget, seeds)


def _own(searched: Space, resolved: Mapping[str, Any], found: Facts) -> Rule | None:
    """Returns what the file says about the searched keys; `None` where a key has no value."""
    values = {key.name: amount(resolved.get(key.name), key.kind, found.mean_packet) for key in searched.keys}
    given = complete({name: value for name, value in values.items() if value is not None}, searched, found)
    return None if given is None else Rule("the file's", "[aqm] of the file", given)


def _once(rules: Sequence[Rule]) -> list[Rule]:
    """Returns the rules whose values no rule before them has."""
    found: dict[tuple[tuple[str, float], ...], Rule] = {}
    for rule in rules:
        found.setdefault(tuple(rule.values.items()), rule)
    return list(found.values())


def _seconds(time: str | float) -> float:
    try:
        found = seconds(time)
    except ScenarioError as error:
        raise Error(f"--time {error}") from None
    if found <= 0:
        raise Error(f"--time {time}: must be above zero")
    return found


def _hunt(task: _Task, runner: Runner, count: int) -> Hunt:
    heats = [heat for heat in HEATS if heat.seeds <= len(task.seeds)] or [Heat(len(task.seeds))]
    race = Race(runner, task.aims, task.judge, count, task.seeds, heats)
    points = [task.space.encode(rule.values) for rule in task.first]
    objectives = max(1, len(task.aims.objectives))
    search = Search(len(task.space.keys), objectives, task.scenario.seed, points)
    return Hunt(task.space, search, race, runner, task.wanted.kind, task.first)


def _expected(task: _Task, seen: int, others: int) -> int:
    """Returns about how many runs there will be."""
    settings = 8 + 3 + 2 * len(task.space.keys)
    rest = len(task.seeds) * (settings * seen + 4 * others)
    return int(rest + (task.budget.runs if math.isfinite(task.budget.runs) else 0))


def _refuse_without_metric(task: _Task, runner: Runner, names: Sequence[str]) -> None:
    """Raises `Error` for a metric that has no value under a condition, neither here nor under
    DropTail.
    """
    asked = [Setting(task.wanted.kind, plain=True), Setting("droptail", plain=True)]
    missing = {metric: set(range(len(names))) for metric in task.aims.metrics}
    for setting in asked:
        if not any(missing.values()):
            return
        (found,) = runner.measure([Ask(setting, range(len(names)), task.seeds[:1])])
        for metric, values in found.items():
            missing[metric] &= {i for i in range(len(names)) if math.isnan(values[i, 0])}
    for metric, where in missing.items():
        if where:
            raise Error(f"{metric} has no value at {names[min(where)]}: no traffic there gives it one")


def _finish(task: _Task, statement: Statement, hunt: Hunt, folder: Path) -> Tuning:
    """Writes everything."""
    values = written(statement, statement.finals.best)
    fixed = {key_name(path): value for path, value in task.wanted.fix.items()}
    changes = {"kind": task.wanted.kind, **fixed, **values}
    base = under(task.scenario, task.wanted.kind, plain=False)
    tuned = base.set_all({f"aqm.{name}": value for name, value in values.items()})
    text = tuned_toml(task.wanted.file, tuned, task.wanted.scenario, changes)
    document = document_of(statement, _asked(task.wanted))
    write_files(folder, statement, hunt.candidates, text, document)
    page = write_page(folder, statement, hunt.candidates)
    met = {"MET": True, "MISSED": False, "UNDECIDED": None}[statement.standing.name]
    return Tuning(tuned, {f"aqm.{name}": value for name, value in values.items()}, met, statement, page, document)


def _asked(wanted: Wanted) -> dict[str, Any]:
    """Returns what was asked, as plain values."""
    return {
        "file": wanted.file and wanted.file.name,
        "aqm": wanted.kind,
        "goals": [str(goal) for goal in wanted.goals],
        "maximize": list(wanted.maximize),
        "minimize": list(wanted.minimize),
        "judge": wanted.judge,
        "vary": list(wanted.vary),
        "fix": dict(wanted.fix),
        "runs": wanted.runs,
        "time": wanted.time,
        "seeds": wanted.seeds,
    }
