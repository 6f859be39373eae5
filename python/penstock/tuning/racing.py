"""Races: seeds and conditions go to the candidates that may still be the best.

All candidates run with the same seeds, so that what a seed does to all of them cancels out. A race
has heats. After
each, a candidate is dropped that a paired t test calls worse than one of the best: it breaks the
    goals more, or, where
neither breaks them, it is worse by every objective. Under the worst case a race begins with those
conditions that
decided most often so far: no other condition can make a candidate's worst case better.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.tuning.candidates import Ask, Bench, Candidate
from penstock.tuning.goals import Aims
from penstock.tuning.judge import Array, Judge, Runs, clearly_above, costs, jackknife, over
from penstock.tuning.search import front

#: The level of each test. A candidate that is dropped wrongly costs the search a chance, and no
#: claim its truth.
LEVEL = 0.05
#: Candidates that must have run under all conditions before a race begins with half of them.
BEFORE_HALF = 4


@dataclass(frozen=True, slots=True)
class Heat:
    """A part of a race.

    seeds: that a candidate has after it.
    half: only those conditions that decided most often.
    """

    seeds: int
    half: bool = False


class Race:
    """Candidates on one bench.

    seeds: of all candidates, in the order in which they are used.
    heats: with rising numbers of seeds.
    """

    def __init__(
        self, bench: Bench, aims: Aims, judge: Judge, conditions: int, seeds: Sequence[int], heats: Sequence[Heat]
    ) -> None:
        self._bench, self._aims, self._judge = bench, aims, judge
        self._conditions, self._seeds, self._heats = conditions, seeds, heats
        self._bound: Counter[int] = Counter()
        self._whole = 0

    @property
    def least_runs(self) -> int:
        """Returns the runs of a candidate that is dropped after the first heat under all
        conditions.
        """
        return self._conditions * next(heat.seeds for heat in self._heats if not heat.half)

    def run(self, racers: Sequence[Candidate], best: Sequence[Candidate], room: float) -> None:
        """Runs a race, and leaves in each candidate its runs, its costs, and why it was dropped.

        best: those that have run before and that nobody has beaten.
        room: the most runs that the race may ask for.
        """
        end = self._bench.asked + room
        for heat in self._heats:
            still = [each for each in racers if not each.out]
            where = self._where(heat)
            missing = sum(heat.seeds - each.done.get(i, 0) for each in still for i in where)
            if not where or not still:
                continue
            if self._bench.asked + missing > end:
                break
            self.extend(still, where, heat.seeds)
            self._drop(still, best)
        for each in racers:
            if not each.out and len(each.done) < self._conditions:
                each.out = "the budget was spent"
            if not each.out:
                self._note(each)

    def extend(self, racers: Sequence[Candidate], conditions: Sequence[int], seeds: int) -> None:
        """Runs candidates until each has that many seeds under these conditions."""
        asks: list[tuple[Candidate, Ask]] = []
        for each in racers:
            for done in sorted({each.done.get(i, 0) for i in conditions}):
                if done < seeds:
                    places = [i for i in conditions if each.done.get(i, 0) == done]
                    asks.append((each, Ask(each.setting, places, self._seeds[done:seeds])))
        size = (self._conditions, len(self._seeds))
        for (each, ask), found in zip(asks, self._bench.measure([ask for _, ask in asks]), strict=True):
            each.keep(ask.conditions, self._seeds.index(ask.seeds[0]), found, size)
        for each in racers:
            each.costs = tuple(float(cost) for cost in self._jackknife(each, each.seeds)[0])

    def _where(self, heat: Heat) -> list[int]:
        """Returns the conditions of a heat; none for half of them where that would say nothing."""
        every = list(range(self._conditions))
        if not heat.half:
            return every
        if self._judge.share != 1.0 or self._conditions < 4 or self._whole < BEFORE_HALF:
            return []
        ranked = sorted(every, key=lambda i: (-self._bound[i], i))
        return sorted(ranked[: math.ceil(self._conditions / 2)])

    def _drop(self, racers: Sequence[Candidate], best: Sequence[Candidate]) -> None:
        """Drops those that are clearly worse than one of the best of all that have run under every
        condition.
        """
        whole = [each for each in (*best, *racers) if len(each.done) == self._conditions]
        rivals = [whole[i] for i in front([each.costs for each in whole])]
        for each in racers:
            beaten = next((rival for rival in rivals if rival is not each and self._worse(each, rival)), None)
            if beaten is not None:
                each.out = f"clearly worse than number {beaten.number}"

    def _worse(self, ours: Candidate, theirs: Candidate) -> bool:
        seeds = min(ours.seeds, theirs.seeds)
        (value, pseudo), (other, others) = self._jackknife(ours, seeds), self._jackknife(theirs, seeds)
        if value[0] != other[0]:
            return bool(value[0] > other[0]) and clearly_above(pseudo[:, 0], others[:, 0], LEVEL)
        return all(clearly_above(pseudo[:, i], others[:, i], LEVEL) for i in range(1, len(value)))

    def _jackknife(self, each: Candidate, seeds: int) -> tuple[Array, Array]:
        part: Runs = each.part(sorted(each.done), seeds)
        return jackknife(part, lambda means: costs(self._aims, self._judge, means))

    def _note(self, each: Candidate) -> None:
        """Counts which conditions decided."""
        self._whole += 1
        for wanted in self._aims.wanted:
            found = over(self._judge, wanted, each.part(range(self._conditions), each.seeds)[wanted.metric])
            self._bound[found.binds] += 1
