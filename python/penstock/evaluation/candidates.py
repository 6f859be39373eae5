"""Names what is judged: a discipline by name, one of a user's own, or either with other settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from uuid import uuid4

from penstock._names import parameters
from penstock.model.discipline import Discipline, Named, disciplines
from penstock.model.scenario import Scenario
from penstock.runs.identity import Identities, UnidentifiedError
from penstock.runs.identity import disciplines as own_of
from penstock.runs.probing import common_link

#: What everything is compared with.
BASELINE = "droptail"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A discipline with its settings.

    discipline: what it is.
    source: what tells a discipline in Python from any other.
    unknown: why nothing can; its runs are not kept then.
    changes: key path → value, applied to every scenario.
    """

    discipline: Discipline
    source: str = ""
    unknown: str = ""
    changes: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Returns what tables and figures call it."""
        return self.discipline.label

    @property
    def values(self) -> Sequence[str]:
        """Returns the names of its control values: those keys that DropTail has not."""
        own = self.discipline.own
        return own_keys(self.discipline.kind) if own is None else [each.name for each in own.parameters]

    @property
    def is_own(self) -> bool:
        """Returns whether it is written in Python."""
        return self.discipline.own is not None

    def under(self, scenario: Scenario, both_ways: bool = False) -> Scenario:
        """Returns the scenario under this discipline, in both directions if so asked."""
        made = scenario.with_aqm(self.discipline)
        made = made.set_all(self.changes) if self.changes else made
        if not both_ways:
            return made
        if self.is_own:
            (own, *_) = own_of(made.core)
            return made.with_reverse_aqm(own)
        return made.set_all(_reversed(made))


def _reversed(scenario: Scenario) -> dict[str, object]:
    """Returns the changes that give the way back the discipline of the way forward."""
    kept = {key: value for key, value in scenario.resolved["aqm"].items() if key != "reverse" and value is not None}
    return {f"aqm.reverse.{key}": value for key, value in kept.items()}


@cache
def own_keys(kind: str) -> Sequence[str]:
    """Returns the keys that a discipline has and DropTail has not."""
    return [name for name in parameters()[kind] if name not in parameters()[BASELINE]]


def candidates(named: Sequence[Named], changes: Mapping[str, object] | None = None) -> list[Candidate]:
    """Returns DropTail, then what is named, each once.

    named: as `Scenario.with_aqm` takes it, or `"all"`.
    changes: for all but DropTail.

    Raises `ScenarioError` for a name that does not exist, and for a file that has no such discipline.
    """
    found = {BASELINE: Candidate(Discipline(BASELINE, BASELINE))}
    for each in disciplines([each for i, each in enumerate(named) if each not in named[:i]], "disciplines"):
        if each.label != BASELINE:
            found[each.label] = _told(Candidate(each, changes=changes or {}))
    return list(found.values())


def _told(candidate: Candidate) -> Candidate:
    """Returns a candidate with what tells it from any other, or with the reason why nothing can."""
    if not candidate.is_own:
        return candidate
    try:
        own = {path: value for path, value in candidate.changes.items() if path.startswith("aqm.")}
        _, source = Identities().of(replace(candidate, changes=own).under(common_link()).core)
    except UnidentifiedError as error:
        return replace(candidate, unknown=str(error), source=uuid4().hex)
    return replace(candidate, source=source)
