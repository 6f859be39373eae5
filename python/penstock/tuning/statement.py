"""Writes what is said of the result: a statement that an engineer can sign."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.judging.estimate import Estimate
from penstock.show.numbers import IDENTICAL, number, scale
from penstock.tuning.compare import Finals, Measured, Neighbour, Standing
from penstock.tuning.conditions import Condition
from penstock.tuning.goals import Aims, Goal, Objective
from penstock.tuning.hunt import SEARCHED
from penstock.tuning.judge import Judge, Verdict, difference
from penstock.tuning.space import Key, Space

#: A goal whose margin is below this share of its bound limits the result.
TIGHT = 0.1
#: A value within this share of its range from an end stands at the end.
EDGE = 0.02


@dataclass(frozen=True, slots=True)
class Statement:
    """All that is known at the end.

    kind: the discipline.
    origins: the result's rule or `"search"`, and the rule's source.
    alone: goal → whether some candidate kept it, whatever became of the others.
    candidates, dropped, refused: how many ran, were dropped by a race, were no scenario.
    runs: of everything.
    repeats: whether the same call gives the same statement.
    """

    kind: str
    scenario: str
    aims: Aims
    judge: Judge
    space: Space
    seen: Sequence[Condition]
    unseen: Sequence[Condition]
    seeds: Sequence[int]
    unseen_seeds: Sequence[int]
    finals: Finals
    origin: tuple[str, str]
    alone: Mapping[Goal, bool]
    candidates: int
    dropped: int
    refused: int
    runs: int
    repeats: bool

    @property
    def standing(self) -> Standing:
        """Returns whether the result keeps all goals, on the range and on what the search has not
        seen.
        """
        found = (self._seen, self.finals.again, self._unseen)
        return max((each.standing(self.aims) for each in found), key=lambda each: each.value)

    @property
    def _seen(self) -> Measured:
        return self.finals.best

    @property
    def _unseen(self) -> Measured:
        return self.finals.held_out[0]

    def sentences(self) -> list[str]:
        """Returns the statement."""
        return [
            self._headline(),
            *self._goals(),
            *self._objectives(),
            *self._limits(),
            *self._beside(),
            *self._sensitivity(),
            *self._validation(),
            self._method(),
            *self._sameness(),
        ]

    def _sameness(self) -> Iterator[str]:
        if self.identical:
            yield f"{IDENTICAL[0].upper()}{IDENTICAL[1:]} whatever the seed: nothing random acts in these scenarios."

    @property
    def identical(self) -> bool:
        """Returns whether no seed changes any wanted metric, of any setting under any condition."""
        several = [self._seen, self.finals.again, *self.finals.beside, *self.finals.held_out]
        widths = [cell.ci95 for each in several for want in self.aims.wanted for cell in each.over(want).conditions]
        return all(width in (None, 0.0) for width in widths) and 0.0 in widths

    def at(self, measured: Measured, wanted: Goal | Objective) -> str:
        """Returns a metric over the range with its interval: `"18.2 ± 0.5 ms"`."""
        return said(wanted.metric, measured.over(wanted).estimate)

    def where(self, measured: Measured, wanted: Goal | Objective) -> str:
        """Returns the name of the condition that decides a metric."""
        conditions = self.unseen if measured in self.finals.held_out else self.seen
        return conditions[measured.over(wanted).binds].name

    def _headline(self) -> str:
        standing, kind = self.standing, self.kind
        values = ", ".join(f"{key.name} = {key.text(self._seen.values.get(key.name))}" for key in self.space.keys)
        if not self.aims.goals:
            return f"The best {kind} found: {values}."
        if standing is Standing.MET:
            return f"{kind} meets the goals over the range with {values}."
        if self._seen.standing(self.aims) is Standing.MISSED:
            return f"No candidate meets the goals over the range. The nearest {kind}: {values}."
        if standing is Standing.MISSED:
            return f"{kind} misses a goal with seeds or conditions that the search has not seen, with {values}."
        return f"Whether {kind} meets the goals over the range is not decided, with {values}: more --seeds may tell."

    def _goals(self) -> Iterator[str]:
        words = {Verdict.MET: "is met", Verdict.MISSED: "is missed", Verdict.UNDECIDED: "is not decided"}
        for goal in self.aims.goals:
            found = words[self._seen.verdict(goal)]
            yield f"The goal {goal} {found}: {self.at(self._seen, goal)}, {self._decided(goal)}."
        if self._seen.standing(self.aims) is Standing.MISSED:
            yield from self._infeasible()

    def _infeasible(self) -> Iterator[str]:
        goal = self._seen.binding(self.aims)
        if goal is not None:
            yield f"The goal that binds is {goal}."
        never = [str(each) for each, found in self.alone.items() if not found]
        if never:
            yield f"No candidate kept {', '.join(never)} even by itself."
        elif len(self.alone) > 1:
            yield "Each goal is kept by some candidate, all together by none: they contradict each other here."

    def _objectives(self) -> Iterator[str]:
        for wanted in self.aims.objectives:
            yield f"{wanted.metric} is {self.at(self._seen, wanted)}, {self._decided(wanted)}."
        if len(self.finals.front) > 1:
            points = len(self.finals.front)
            yield f"The Pareto front has {points} points; this one is nearest to the best of each objective."

    def _decided(self, wanted: Goal | Objective) -> str:
        where = self.where(self._seen, wanted)
        if self.judge.share is None:
            return f"the mean over the conditions, the worst of which is {where}"
        if self.judge.share == 1.0:
            return f"in the worst condition, {where}"
        return f"{self.judge.words}, the last of them {where}"

    def _limits(self) -> Iterator[str]:
        goal = self._seen.binding(self.aims)
        mean = None if goal is None else self._seen.over(goal).estimate.mean
        if goal is not None and mean is not None and 0 <= goal.margin(mean) < TIGHT:
            yield f"What limits it: the goal {goal} is kept by {100 * goal.margin(mean):.1f} % of its bound."
        for key in self.space.keys:
            end = self._end(key)
            if end is not None:
                name = "greatest" if end else "least"
                more = "" if key.hard[end] else " A wider range (--vary) may give more."
                yield f"{key.name} stands at the {name} value that was searched.{more}"

    def _end(self, key: Key) -> int | None:
        """Returns which end of its range a value stands at, 0 or 1; `None` where it stands at none."""
        value = self._seen.values.get(key.name)
        if value is None or key.near is not None:
            return None
        place = (value - key.low) / (key.high - key.low)
        if key.log:
            place = math.log(max(value, key.low) / key.low) / math.log(key.high / key.low)
        return 0 if place < EDGE else 1 if place > 1 - EDGE else None

    def _beside(self) -> Iterator[str]:
        for other in self.finals.beside:
            changes = [
                f"{wanted.metric} {said(wanted.metric, self.against(other, wanted), sign=True)}"
                for wanted in self.aims.wanted
            ]
            goals = "" if not self.aims.goals else f" (which {_KEEPS[other.standing(self.aims)]})"
            yield f"Compared with {other.name}{goals}: {', '.join(dict.fromkeys(changes))}."

    def against(self, other: Measured, wanted: Goal | Objective) -> Estimate:
        """Returns the result less another setting, paired by seed."""
        return difference(self._seen.over(wanted), other.over(wanted))

    def _sensitivity(self) -> Iterator[str]:
        lost = [each for each in self.finals.neighbours if self.breaks(each)]
        if lost:
            named = ", ".join(f"{each.changed} {change(each.factor)}" for each in lost)
            yield f"A goal is no longer known to be met with {named}."
        elif self._seen.standing(self.aims) is Standing.MET and self.aims.goals:
            yield "The goals stay met when any one parameter changes by 20 %."

    def breaks(self, neighbour: Neighbour) -> bool:
        """Returns whether the goals are met, and no longer after a change."""
        met = self._seen.standing(self.aims) is Standing.MET and bool(self.aims.goals)
        return met and neighbour.standing not in (None, Standing.MET)

    def _validation(self) -> Iterator[str]:
        count = len(self.unseen_seeds)
        for where, measured in (
            (f"Over the same range with {count} seeds that the search has not seen", self.finals.again),
            (f"On {len(self.unseen)} other conditions, with those seeds", self._unseen),
        ):
            numbers = [f"{wanted.metric} {self.at(measured, wanted)}" for wanted in self.aims.wanted]
            goals = "" if not self.aims.goals else f"; the result {_KEEPS[measured.standing(self.aims)]}"
            yield f"{where}: {', '.join(dict.fromkeys(numbers))}{goals}."

    def _method(self) -> str:
        origin, source = self.origin
        found = "by the search" if origin == SEARCHED else f"as {origin}" + (f" ({source})" if source else "")
        again = (
            "The same file, options and versions give this statement again."
            if self.repeats
            else "The search ended by the clock (--time): another call may find something else."
        )
        refused = f", {self.refused} were no scenario" if self.refused else ""
        return (
            f"Found {found} among {self.candidates} candidates, of which races dropped {self.dropped}{refused}, over "
            f"{len(self.seen)} conditions, with {self.runs} runs. The intervals are of 95 % over seeds {self.seeds[0]} "
            f"to {self.seeds[-1]}. {again}"
        )


_KEEPS = {
    Standing.MET: "meets the goals",
    Standing.UNDECIDED: "may meet the goals or not",
    Standing.MISSED: "misses a goal",
}


def said(metric: str, estimate: Estimate, *, sign: bool = False) -> str:
    """Returns an estimate of a metric as text, in a unit that reads well.

    >>> said("delay_p99_s", Estimate(mean=0.0182, ci95=0.0005, n=10))
    '18.20 ± 0.50 ms'
    """
    if estimate.mean is None:
        return "does not apply"
    factor, unit = scale(metric, abs(estimate.mean))
    unit = "percentage points" if sign and unit == "%" else unit
    return f"{number(estimate, factor, sign=sign)} {unit}".rstrip().replace("-", "−")


def change(factor: float) -> str:
    """Returns a change in percent.

    >>> change(0.8)
    '−20 %'
    """
    return f"{factor - 1:+.0%}".replace("-", "−").replace("%", " %")
