"""Runs what the best candidate is held against: its neighbours, the defaults, other disciplines,
conditions unseen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from penstock.evaluation.candidates import BASELINE
from penstock.judging.estimate import Estimate
from penstock.tuning.candidates import Ask, Bench, Candidate, Setting
from penstock.tuning.goals import Aims, Goal, Objective
from penstock.tuning.hunt import Hunt, setting_of
from penstock.tuning.judge import Judge, Over, Runs, Verdict, difference, jackknife, over, verdict
from penstock.tuning.judge import costs as costs_of
from penstock.tuning.search import front
from penstock.tuning.space import Space

#: Finalists by their values, and as many by the worse ends of their intervals.
FINALISTS = 4
#: The most points of a Pareto front that are measured in full.
FRONT = 12
#: By how much a parameter is changed to see how sensitive the result is to it.
CHANGES = (0.8, 1.2)
#: Other disciplines on the same range, beside the tuned one's defaults.
BESIDE = (BASELINE, "codel")


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A setting with all seeds of the statement.

    values: of the searched keys; empty for another discipline.
    """

    name: str
    setting: Setting
    values: Mapping[str, float]
    runs: Runs
    judge: Judge

    def over(self, wanted: Goal | Objective) -> Over:
        """Returns a wanted metric over the range."""
        return over(self.judge, wanted, self.runs[wanted.metric])

    def verdict(self, goal: Goal) -> Verdict:
        """Returns whether a goal is kept."""
        return verdict(goal, self.over(goal), self.judge)

    def standing(self, aims: Aims) -> Standing:
        """Returns whether all goals are kept."""
        found = {self.verdict(goal) for goal in aims.goals}
        if Verdict.MISSED in found:
            return Standing.MISSED
        return Standing.UNDECIDED if Verdict.UNDECIDED in found else Standing.MET

    def costs(self, aims: Aims) -> list[float]:
        """Returns by how much goals are broken, and the objectives; smaller is better."""
        found = jackknife(self.runs, lambda means: costs_of(aims, self.judge, means))[0]
        return [float(cost) for cost in found]

    def binding(self, aims: Aims) -> Goal | None:
        """Returns the goal with the least margin; `None` without goals."""
        means = {goal: self.over(goal).estimate.mean for goal in aims.goals}
        margins = {goal: -math.inf if mean is None else goal.margin(mean) for goal, mean in means.items()}
        return min(margins, key=lambda goal: margins[goal]) if margins else None


class Standing(Enum):
    """Whether all goals are kept; the order is that of preference."""

    MET = 0
    UNDECIDED = 1
    MISSED = 2


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The result with one parameter changed.

    changed: the keys that were changed, those of a pair together.
    refused: why there is no such scenario; else empty.
    effects: of each wanted metric the change, paired by seed.
    """

    changed: str
    factor: float
    values: Mapping[str, float]
    refused: str
    effects: Sequence[Estimate]
    standing: Standing | None


@dataclass(frozen=True, slots=True)
class Finals:
    """What the runs after the search have shown.

    best: the result. others: the other finalists, or the other points of the Pareto front.
    front: with several objectives, the front, `best` among them.
    beside: defaults and other disciplines.
    again: the result over the range once more, with unseen seeds.
    held_out: the result, then `beside`, on unseen conditions with unseen seeds.
    """

    best: Measured
    others: Sequence[Measured]
    front: Sequence[Measured]
    beside: Sequence[Measured]
    neighbours: Sequence[Neighbour]
    again: Measured
    held_out: Sequence[Measured]


@dataclass(frozen=True, slots=True)
class Ground:
    """Where the runs after the search are made.

    seeds, unseen_seeds: of the statement, and of its validation.
    conditions, unseen: how many there are.
    """

    bench: Bench
    aims: Aims
    judge: Judge
    seeds: Sequence[int]
    unseen_seeds: Sequence[int]
    conditions: int
    unseen: int

    def measured(
        self, wanted: Mapping[str, tuple[Setting, Mapping[str, float]]], seeds: Sequence[int], unseen: bool = False
    ) -> list[Measured]:
        """Runs settings with these seeds, under the range or under the unseen conditions.

        wanted: name → setting, values.
        """
        places = range(self.unseen if unseen else self.conditions)
        asks = [Ask(setting, places, seeds, unseen) for setting, _ in wanted.values()]
        found = self.bench.measure(asks)
        named = zip(wanted.items(), found, strict=True)
        return [Measured(name, setting, values, runs, self.judge) for (name, (setting, values)), runs in named]


def finals(ground: Ground, hunt: Hunt, beside: Mapping[str, Setting]) -> Finals:
    """Runs the finalists with all seeds, chooses the best, and runs what it is held against.

    beside: name → setting of the defaults and of other disciplines.
    """
    several = len(ground.aims.objectives) > 1
    chosen = _front(hunt) if several else _finalists(hunt, ground)
    named = {f"number {each.number}": (each.setting, each.values) for each in chosen}
    measured = ground.measured(named, ground.seeds)
    best = choose(measured, ground.aims)
    others = [each for each in measured if each is not best]
    kept = [each for each in measured if each.standing(ground.aims) is best.standing(ground.aims)]
    points = [kept[i] for i in front([each.costs(ground.aims) for each in kept])] if several else []
    compared: dict[str, tuple[Setting, Mapping[str, float]]] = {name: (setting, {}) for name, setting in beside.items()}
    tuned = {"tuned": (best.setting, best.values)}
    return Finals(
        best,
        others,
        sorted(points, key=lambda each: each.costs(ground.aims)[1]),
        ground.measured(compared, ground.seeds),
        neighbours(ground, hunt, best),
        ground.measured(tuned, ground.unseen_seeds)[0],
        ground.measured({**tuned, **compared}, ground.unseen_seeds, unseen=True),
    )


def beside(kind: str, changed: bool) -> dict[str, Setting]:
    """Returns what a result is compared with.

    changed: whether the scenario's `[aqm]` departs from the discipline's defaults.
    """
    found = {f"{kind}, defaults": Setting(kind, plain=True)}
    if changed:
        found[f"{kind}, as in the file"] = Setting(kind)
    return found | {other: Setting(other, plain=True) for other in BESIDE if other != kind}


def choose(measured: Sequence[Measured], aims: Aims) -> Measured:
    """Returns the best: of those that are known to keep the goals the best by the objective.

    Where no goal is known to be kept, those come next that are not known to break one; then what
    breaks them least. Of several objectives, the point that is nearest to the best of each, each
    taken over the front's span.
    """
    least = min(each.standing(aims).value for each in measured)
    kept = [each for each in measured if each.standing(aims).value == least]
    costs = np.array([each.costs(aims) for each in kept])
    if least == Standing.MISSED.value:
        return kept[int(np.lexsort((costs[:, 1], costs[:, 0]))[0])]
    if costs.shape[1] == 2:
        return kept[int(np.argmin(costs[:, 1]))]
    on = front([[0.0, *row[1:]] for row in costs.tolist()])
    points = costs[on, 1:]
    span = np.ptp(points, axis=0)
    distances = np.linalg.norm((points - points.min(axis=0)) / np.where(span > 0, span, 1.0), axis=1)
    return kept[on[int(np.argmin(distances))]]


def neighbours(ground: Ground, hunt: Hunt, best: Measured) -> list[Neighbour]:
    """Changes each parameter of the result by itself, and returns what that does."""
    wanted: list[tuple[str, float, dict[str, float], Setting, str]] = []
    for key in hunt.space.keys:
        if key.near is not None:
            continue  # it is changed with the key that it belongs to
        for factor in CHANGES:
            names, values = _changed(hunt.space, key.name, factor, best.values)
            setting = setting_of(hunt.kind, hunt.space, values)
            least = key.kind == "queue" and values[key.name] < key.low and key.hard[0]
            refused = "no smaller value" if least else ground.bench.refuses(setting) or ""
            wanted.append((names, factor, values, setting, refused))
    runnable = {f"{each[0]} × {each[1]:g}": (each[3], each[2]) for each in wanted if not each[4]}
    found = {each.name: each for each in ground.measured(runnable, ground.seeds)}
    made = []
    for names, factor, values, _, refused in wanted:
        there = found.get(f"{names} × {factor:g}")
        effects = [] if there is None else [difference(there.over(w), best.over(w)) for w in ground.aims.wanted]
        standing = None if there is None else there.standing(ground.aims)
        made.append(Neighbour(names, factor, values, refused, effects, standing))
    return made


def _changed(space: Space, name: str, factor: float, values: Mapping[str, float]) -> tuple[str, dict[str, float]]:
    """Returns the keys that are changed, and all values; whole numbers move by one at least."""
    keys = [key for key in space.keys if key.name == name or key.near == name]
    changed = dict(values)
    for key in keys:
        value = key.rounded(values[key.name] * factor)
        if value == values[key.name]:
            value += math.copysign(1.0, factor - 1.0)
        changed[key.name] = value
    return " and ".join(key.name for key in keys), changed


def _finalists(hunt: Hunt, ground: Ground) -> list[Candidate]:
    """Returns the best by their values, and the best by the worse ends of their intervals."""
    whole = [each for each in hunt.candidates if not each.out]
    by_value = sorted(whole, key=lambda each: (each.costs[0], each.costs[1], each.number))

    def careful(each: Candidate) -> tuple[float, float, int]:
        part = each.part(range(ground.conditions), each.seeds)
        worse = 0.0
        for goal in ground.aims.goals:
            found = over(ground.judge, goal, part[goal.metric]).estimate
            if found.mean is None:
                return math.inf, math.inf, each.number
            end = found.mean + found.above if goal.lower else found.mean - found.below
            worse += max(0.0, -goal.margin(end))
        return worse, each.costs[1], each.number

    chosen = {each.number: each for each in (*by_value[:FINALISTS], *sorted(whole, key=careful)[:FINALISTS])}
    return [chosen[number] for number in sorted(chosen)]


def _front(hunt: Hunt) -> list[Candidate]:
    """Returns the Pareto front, thinned evenly along the first objective."""
    points = sorted(hunt.best(), key=lambda each: (each.costs[1], each.number))
    if len(points) <= FRONT:
        return points
    places = {round(i * (len(points) - 1) / (FRONT - 1)) for i in range(FRONT)}
    return [points[i] for i in sorted(places)]


def feasible_alone(hunt: Hunt, ground: Ground) -> dict[Goal, bool]:
    """Returns for each goal whether some candidate kept it, whatever became of the others."""
    found = dict.fromkeys(ground.aims.goals, False)
    for each in hunt.candidates:
        if each.out and len(each.done) < ground.conditions:
            continue
        part = each.part(range(ground.conditions), each.seeds)
        for goal in found:
            mean = over(ground.judge, goal, part[goal.metric]).estimate.mean
            found[goal] = found[goal] or (mean is not None and goal.margin(mean) > 0)
    return found
