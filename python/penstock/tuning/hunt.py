"""The search from its first candidates to the end of its budget."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.tuning.candidates import Bench, Candidate, Setting
from penstock.tuning.racing import Race
from penstock.tuning.rules import Rule
from penstock.tuning.search import Search, front
from penstock.tuning.space import Space

#: Candidates of a race. It does not depend on the number of threads, so that neither does the
#: result.
BATCH = 8
#: Races without a new candidate after which a search ends: a small space is used up.
USED_UP = 5
#: What candidates that no rule names come from.
SEARCHED = "search"


@dataclass(slots=True)
class Budget:
    """What a search may spend.

    runs: different runs, whether they are kept from an earlier call or not.
    seconds: after which no race begins.
    """

    runs: float = math.inf
    seconds: float = math.inf
    begun: float = field(default_factory=time.monotonic)

    def left(self, asked: int) -> float:
        """Returns the runs that are left."""
        return self.runs - asked if time.monotonic() - self.begun < self.seconds else 0.0


@dataclass(slots=True)
class Hunt:
    """A search on its way.

    candidates: all that ran, in their order.
    refused: those that are no scenario, with the reason.
    """

    space: Space
    search: Search
    race: Race
    bench: Bench
    kind: str
    first: Sequence[Rule]
    candidates: list[Candidate] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    _known: dict[tuple[float, ...], Candidate | None] = field(default_factory=dict)

    def run(self, budget: Budget) -> None:
        """Searches until the budget is spent, or nothing new is left."""
        rules, idle = list(self.first), 0
        while idle < USED_UP:
            left = budget.left(self.bench.asked)
            count = int(min(BATCH, left // self.race.least_runs))
            if count < 1:
                return
            count = max(count, min(len(rules), int(left // self.race.least_runs)))
            idle = 0 if self._step(count, rules, left) else idle + 1

    def best(self) -> list[Candidate]:
        """Returns the candidates that ran under all conditions and that no other one beats."""
        whole = [each for each in self.candidates if not each.out]
        return [whole[i] for i in front([each.costs for each in whole])]

    def _step(self, count: int, rules: list[Rule], left: float) -> bool:
        """Asks for candidates, races them, and tells what came of it; returns whether one was new."""
        asked: list[Candidate | None] = []
        new: list[Candidate] = []
        for point in self.search.ask(count):
            rule = rules.pop(0) if rules else None
            values = dict(rule.values) if rule else self.space.decode(point)
            key = tuple(values.values())
            if key not in self._known:
                self._known[key] = made = self._candidate(values, rule, len(self.candidates) + len(new) + 1)
                new += [made] if made else []
            asked.append(self._known[key])
        self.race.run(new, self.best(), left)
        self.candidates += [each for each in new if each.done]
        for each in asked:
            self.search.tell(None if each is None or not each.costs else each.costs)
        return bool(new)

    def _candidate(self, values: dict[str, float], rule: Rule | None, number: int) -> Candidate | None:
        setting = setting_of(self.kind, self.space, values)
        why = self.bench.refuses(setting)
        if why is not None:
            self.refused.append(why)
            return None
        return Candidate(number, rule.name if rule else SEARCHED, values, setting, rule.source if rule else "")


def setting_of(kind: str, space: Space, values: dict[str, float]) -> Setting:
    """Returns the setting with these values of the searched keys."""
    changes = space.changes(values)
    return Setting(kind, tuple((path, json.dumps(value)) for path, value in changes.items()))
