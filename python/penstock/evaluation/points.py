"""Plans what is run: every candidate in every form of every scenario, each with every seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock._penstock import parse_duration
from penstock.errors import ScenarioError
from penstock.evaluation.candidates import Candidate
from penstock.evaluation.rfc import Experiment, Variant, with_ecn
from penstock.model.scenario import Scenario
from penstock.runs.identity import Identities
from penstock.runs.tasks import identity
from penstock.sweeps.store import Point

#: By how much a control value is varied (8.3).
FACTORS = (0.5, 2.0)


@dataclass(frozen=True, slots=True)
class Where:
    """A form of a scenario under a candidate.

    knob: the control value that is varied and by how much, `"max_p × 2"`; empty: none.
    """

    candidate: str
    experiment: str
    variant: str = ""
    ecn: bool = False
    knob: str = ""


@dataclass(frozen=True, slots=True)
class Planned:
    """A point with its seeds.

    own: of a discipline in Python. kept: its runs are kept for the next evaluation.
    """

    where: Where
    point: Point
    scenario: Scenario
    own: bool
    seeds: Sequence[int]
    kept: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """All that an evaluation runs.

    refused: control values that the discipline does not take, or that do not hold together.
    """

    points: Sequence[Planned]
    refused: Mapping[Where, str] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """Returns how many runs there are."""
        return sum(len(each.seeds) for each in self.points)


def plan(
    candidates: Sequence[Candidate],
    experiments: Sequence[Experiment],
    seeds: Sequence[int],
    knob_seeds: Sequence[int],
    quick: bool = False,
) -> Plan:
    """Returns the plan of all runs, in the order of the experiments.

    Each in all its forms, the first one with ECN too, and with other control values where the experiment has them;
    quick: each in its first form alone.
    """
    points: list[Planned] = []
    refused: dict[Where, str] = {}
    identities = Identities()
    for experiment in experiments:
        for variant, ecn in _forms(experiment, quick):
            for candidate in candidates:
                points.append(_planned(candidate, experiment, variant, ecn, seeds, identities))
        if experiment.knobs and not quick:
            for candidate in candidates:
                points += _knobs(candidate, experiment, knob_seeds, refused, identities)
    return Plan(points, refused)


def _forms(experiment: Experiment, quick: bool) -> list[tuple[Variant, bool]]:
    """Returns the forms in which an experiment runs, each with whether it has ECN."""
    first, *others = experiment.variants
    if quick:
        return [(first, False)]
    return [(first, False), *([(first, True)] if experiment.ecn else []), *((each, False) for each in others)]


def _planned(
    candidate: Candidate,
    experiment: Experiment,
    variant: Variant,
    ecn: bool,
    seeds: Sequence[int],
    identities: Identities,
) -> Planned:
    base = _form(experiment, variant, ecn)
    scenario = candidate.under(base, experiment.both_ways)
    where = Where(candidate.name, experiment.key, variant.key, ecn)
    point = _point(candidate, scenario, identities)
    return Planned(where, point, scenario, candidate.is_own, seeds, not candidate.unknown)


def _form(experiment: Experiment, variant: Variant, ecn: bool) -> Scenario:
    scenario = experiment.scenario(variant)
    return with_ecn(scenario) if ecn else scenario


def _knobs(
    candidate: Candidate,
    experiment: Experiment,
    seeds: Sequence[int],
    refused: dict[Where, str],
    identities: Identities,
) -> Iterator[Planned]:
    """Yields each control value by itself, halved and doubled, in the experiment's first form."""
    variant = experiment.variants[0]
    usual = candidate.under(experiment.scenario(variant))
    for name in candidate.values:
        value = usual.resolved["aqm"].get(name)
        for factor in FACTORS:
            scaled = times(value, factor)
            if scaled is None:
                continue
            where = Where(candidate.name, experiment.key, variant.key, knob=f"{name} × {factor:g}")
            try:
                scenario = usual.set(f"aqm.{name}", scaled)
            except ScenarioError as error:
                refused[where] = str(error)
                continue
            point = _point(candidate, scenario, identities)
            yield Planned(where, point, scenario, candidate.is_own, seeds, not candidate.unknown)


def times(value: Any, factor: float) -> float | str | None:
    """Returns a control value times a factor; `None` for what is no number above 0.

    >>> times("15 ms", 2.0)
    '30000000 ns'
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return value * factor if value > 0 else None
    try:
        seconds = parse_duration(value)
    except ScenarioError:
        return None
    return f"{round(seconds * factor * 1e9)} ns" if seconds > 0 else None


def _point(candidate: Candidate, scenario: Scenario, identities: Identities) -> Point:
    if not candidate.unknown:
        text, name = identities.of(scenario.core)
        return Point(name, text, None)
    text, canonical = scenario.core.canonical_json()
    return Point(identity(f"{candidate.source}\0{canonical}"), text, None)
