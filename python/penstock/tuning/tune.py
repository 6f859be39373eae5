"""A tuning from beginning to end: `penstock.tune`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from penstock.errors import Error, ScenarioError
from penstock.model.discipline import Discipline, Named, discipline
from penstock.model.scenario import Scenario, seconds
from penstock.runs.execute import cores
from penstock.sweeps.drive import Sweep, engine_for
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
from penstock.tuning.space import Space, key_name, space, varied
from penstock.tuning.statement import Statement

T = TypeVar("T")

#: Runs of a search, and seeds of its statement, unless something else is asked for.
RUNS, SEEDS = 6000, 10
#: Seeds after each heat of a race.
HEATS = (Heat(3, half=True), Heat(3), Heat(6))
#: The seeds of the validation begin so far after the search's.
UNSEEN_SEEDS = 1_000_000


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """What is wanted, checked: nothing has run, and nothing is written.

    aqm: the discipline with the keys that stay.
    original: the scenario as it was given; file: what it was read from.
    fixed: key of `[aqm]` → value that stays.
    scenario: the original one with these; changed: whether its `[aqm]` differs from the defaults.
    asked: the options, as plain values.
    """

    aqm: Discipline
    original: Scenario
    file: Path | None
    fixed: Mapping[str, object]
    aims: Aims
    judge: Judge
    scenario: Scenario
    changed: bool
    space: Space
    first: Sequence[Rule]
    budget: Budget
    seeds: Sequence[int]
    asked: Mapping[str, Any]


def tune(
    scenario: Scenario | str | Path,
    aqm: Named,
    *,
    goals: Sequence[str | Goal] | str = (),
    maximize: Sequence[str] | str = (),
    minimize: Sequence[str] | str = (),
    judge: str = "worst",
    vary: Sequence[str] = (),
    fix: Mapping[str, object] | None = None,
    set: Mapping[str, object] | None = None,
    runs: int | None = None,
    time: str | float | None = None,
    seeds: int = SEEDS,
    out: str | Path = "out/tune",
    jobs: int | None = None,
    scheduler: Any = None,
    progress: Callable[[Sweep], object] | None = None,
) -> Tuning:
    """Finds a discipline's parameters for a range of conditions, and writes a statement about them.

    scenario: or the path of its file; the points of its `[sweep]` are the range.
    aqm: the discipline, as `Scenario.with_aqm` takes it: `"red"`, or a class of your own, whose annotated arguments are
        its keys. What is said of it stays (`"red:w_q=0.002"`), unless `vary` names it: then the search begins there.
    goals: bounds that must be kept: `"delay_p99_s < 20 ms"`.
    maximize, minimize: metrics; several give a Pareto front.
    judge: over the range: `"worst"`, `"mean"`, or a quantile such as `"q90"`.
    vary: the keys that are searched, perhaps with ends: `["aqm.max_p=0.01..0.5"]`; default: the
        usual ones, and of a class of your own all numbers.
    fix: key → value of the discipline, that stays.
    set: key path → value of the scenario, changed before it is read: `{"duration": "20 s"}`.
    runs: of the search; the statement takes some more; default: 6000. The same call gives the same
        statement.
    time: of the search, instead (`"5 min"`, or seconds). What is found then depends on the machine.
    seeds: of the statement, under each condition; default: 10.
    out: the folder of the page and the runs; what it holds is not run again.
    jobs: threads; default: one a core.
    scheduler: a Dask scheduler's address or client.
    progress: called a few times a second.

    Raises `Error` for what makes no sense, before anything runs.
    """
    found = discipline(aqm, "aqm")
    base, file = _read(scenario, found, set)
    goals, maximize, minimize = _listed(goals), _listed(maximize), _listed(minimize)
    aimed, judged = aims(goals, maximize, minimize), Judge.parse(judge)
    base, budget = base.recording(aimed.metrics), _budget(runs, time, seeds)
    tuned, ready, fixed = _settled(found, base, vary, fix or {})
    searched, first, changed = _candidates(tuned, ready, aimed, vary, list(fixed))
    task = _Task(
        aqm=tuned,
        original=base,
        file=file,
        fixed=fixed,
        aims=aimed,
        judge=judged,
        scenario=ready,
        changed=changed,
        space=searched,
        first=first,
        budget=budget,
        seeds=range(ready.seed, ready.seed + seeds),
        asked={
            "file": file and file.name,
            "aqm": found.label,
            "goals": [str(goal) for goal in goals],
            "maximize": list(maximize),
            "minimize": list(minimize),
            "judge": judge,
            "vary": list(vary),
            "fix": dict(fix or {}),
            "runs": runs,
            "time": time,
            "seeds": seeds,
        },
    )
    return _run(task, Path(out), jobs, scheduler, progress)


def _settled(
    found: Discipline, base: Scenario, vary: Sequence[str], fix: Mapping[str, object]
) -> tuple[Discipline, Scenario, dict[str, object]]:
    """Returns the discipline that is tuned, the scenario with all that was said of it, and the keys that stay."""
    names = found.own.arguments if found.own else found.keys
    said = {name: value for name, value in found.keys.items() if name in names and name not in varied(vary)}
    fixed = {**said, **{key_name(path): value for path, value in fix.items()}}
    if found.own is not None:
        needed = {each.name for each in found.own.parameters if each.required}
        kept = {name: value for name, value in found.keys.items() if name in needed} | fixed
        tuned = replace(found, label=found.own.name, keys=kept)
        return tuned, base.with_aqm(replace(tuned, keys={**found.keys, **fixed})), fixed
    # The fixed keys belong to the tuned discipline, so that the scenario has it from here on.
    changes = {f"aqm.{name}": value for name, value in {**found.keys, **fixed}.items()}
    ready = base.set_all({"aqm.kind": found.kind, **changes}) if changes else base
    return replace(found, label=found.kind, keys={}), ready, fixed


def _read(
    scenario: Scenario | str | Path, aqm: Discipline, changes: Mapping[str, object] | None
) -> tuple[Scenario, Path | None]:
    """Returns a scenario with its changes, and its file if it has one."""
    if not isinstance(scenario, Scenario):
        return Scenario.load(scenario, changes, (aqm,)), Path(scenario)
    base = scenario if aqm.own is None else scenario.with_aqm(aqm)
    return base.set_all(changes) if changes else base, None


def _budget(runs: int | None, time: str | float | None, seeds: int) -> Budget:
    if seeds < 2:
        raise Error("--seeds: at least 2, since one seed has no interval")
    if runs is not None and time is not None:
        raise Error("--runs and --time: give one of them")
    return Budget(runs=runs or RUNS) if time is None else Budget(seconds=_seconds(time))


def _listed(given: Sequence[T | str] | str) -> Sequence[T | str]:
    return [given] if isinstance(given, str) else given


def _candidates(
    aqm: Discipline, scenario: Scenario, wanted: Aims, vary: Sequence[str], fixed: Sequence[str]
) -> tuple[Space, list[Rule], bool]:
    """Returns the keys that are searched, the first candidates, and whether `[aqm]` differs from the defaults."""
    made, seen = under(scenario, aqm, plain=False), conditions(scenario)
    found = facts([made.core.point(each.variant, list(each.values)) for each in seen])
    resolved = made.resolved["aqm"]
    searched = space(aqm, resolved, found, vary, fixed)
    axes = {path for each in seen for path, _ in each.values}
    for path in ("aqm.kind", *(key.path for key in searched.keys)):
        if path in axes:
            raise ScenarioError(
                f"[sweep] has {path}, which is searched; take it out of [sweep], or name others: --vary"
            )
    first = first_candidates(aqm.kind, searched, found, wanted)
    own = _own(searched, resolved, found)
    plain = under(scenario, aqm, plain=True).resolved["aqm"]
    rules = first if own is None or resolved == plain else [own, *first]
    return searched, _once(rules), resolved != plain


def _run(
    task: _Task, folder: Path, jobs: int | None, scheduler: Any, progress: Callable[[Sweep], object] | None
) -> Tuning:
    """Searches, measures what was found, and writes the page and the files."""
    seen = conditions(task.scenario)
    others = unseen(task.scenario, len(seen), task.scenario.seed)
    with ExitStack() as stack:
        engine = engine_for(under(task.scenario, task.aqm, plain=False), jobs or cores())
        if scheduler is not None:
            from penstock.sweeps.on_dask import DaskEngine

            engine = stack.enter_context(DaskEngine(scheduler))
        runner = Runner(task.scenario, task.aqm, seen, others, task.aims.metrics, folder, engine, progress)
        hunt = _hunt(task, runner, len(seen))
        if hunt.race.least_runs > task.budget.runs:
            raise Error(
                f"--runs {task.asked['runs']}: one candidate takes {hunt.race.least_runs} runs "
                f"({len(seen)} conditions, {hunt.race.least_runs // len(seen)} seeds each)"
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
        found = finals(ground, hunt, beside(task.aqm.label, task.changed))
    best = next(each for each in hunt.candidates if each.setting == found.best.setting)
    statement = Statement(
        task.aqm.label,
        task.file.name if task.file else task.original.name or "a scenario",
        *(task.aims, task.judge, task.space, seen, others, task.seeds, ground.unseen_seeds, found),
        (best.origin, best.source),
        feasible_alone(hunt, ground),
        *(len(hunt.candidates), sum(bool(each.out) for each in hunt.candidates), len(hunt.refused), runner.asked),
        repeats=math.isinf(task.budget.seconds),
    )
    return _finish(task, statement, hunt, folder)


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
    return Hunt(task.space, search, race, runner, task.aqm.label, task.first)


def _expected(task: _Task, seen: int, others: int) -> int:
    """Returns about how many runs there will be."""
    settings = 8 + 3 + 2 * len(task.space.keys)
    rest = len(task.seeds) * (settings * seen + 4 * others)
    return int(rest + (task.budget.runs if math.isfinite(task.budget.runs) else 0))


def _refuse_without_metric(task: _Task, runner: Runner, names: Sequence[str]) -> None:
    """Raises `Error` for a metric that has no value under a condition, neither here nor under
    DropTail.
    """
    asked = [Setting(task.aqm.label, plain=True), Setting("droptail", plain=True)]
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
    changes = {**({"kind": task.aqm.kind} if task.aqm.kind else {}), **task.fixed, **values}
    base = under(task.scenario, task.aqm, plain=False)
    tuned = base.set_all({f"aqm.{name}": value for name, value in values.items()})
    text = tuned_toml(task.file, tuned, task.original, changes, task.aqm)
    document = document_of(statement, task.asked)
    write_files(folder, statement, hunt.candidates, text, document)
    page = write_page(folder, statement, hunt.candidates, changes)
    met = {"MET": True, "MISSED": False, "UNDECIDED": None}[statement.standing.name]
    return Tuning(tuned, {f"aqm.{name}": value for name, value in values.items()}, met, statement, page, document)
