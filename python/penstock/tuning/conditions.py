"""The range of conditions: the points of the scenario's `[sweep]`, and others of the same axes that
stay unseen.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import ScenarioError
from penstock.model.scenario import Scenario
from penstock.sweeps.design import samples, unit_cube
from penstock.sweeps.values import order, text

#: The most conditions of a range: each candidate runs under all of them.
MOST = 200
#: How many conditions the search does not see, at least and at most.
UNSEEN = (6, 16)


@dataclass(frozen=True, slots=True)
class Condition:
    """A point of the range.

    values: key path → value as JSON text, in the order of the axes.
    name: the values in short, `"flows=200, delay=10 ms"`.
    """

    variant: str | None
    values: tuple[tuple[str, str], ...]
    name: str


def conditions(scenario: Scenario) -> list[Condition]:
    """Returns the points of the scenario's `[sweep]` and `[[variant]]`.

    Raises `ScenarioError` where there is no axis, or where the axes have too many points.
    """
    axes, variants = _axes(scenario), _variants(scenario)
    count = math.prod(len(values) for _, values in axes) * len(variants)
    design = scenario.core.design()
    if not axes and design is None and variants == [None]:
        raise ScenarioError(
            "an empty range: the scenario has no [sweep]; name the conditions that the setting is for, for example "
            '"traffic.0.flows" = [5, 50, 200] under [sweep]'
        )
    drawn = list(itertools.islice(samples(scenario.core), MOST + 1))
    if count * len(drawn) > MOST:
        raise ScenarioError(
            f"[sweep] has more than {MOST} points, and each candidate runs under all of them: give fewer values, or "
            "ranges with samples = 12"
        )
    found = []
    for listed in itertools.product(*(values for _, values in axes)):
        for sample in drawn:
            at = {**sample, **dict(zip((path for path, _ in axes), listed, strict=True))}
            found += [_condition(variant, at) for variant in variants]
    return found


def unseen(scenario: Scenario, count: int, seed: int) -> list[Condition]:
    """Returns other points of the same axes, for the validation: a Latin hypercube.

    An axis of numbers is sampled between its least and its greatest value, an axis of words takes
    its words in turn.
    seed: of the design.
    """
    ranges = {path: _range(values) for path, values in _axes(scenario)}
    changes: dict[str, Any] = {f"sweep.{path}": each for path, each in ranges.items() if each is not None}
    words = {path: values for path, values in _axes(scenario) if ranges[path] is None}
    variants = _variants(scenario)
    count = min(max(count, UNSEEN[0]), UNSEEN[1])
    sampled = bool(changes) or scenario.core.design() is not None
    changed = scenario.set_all({**changes, "sweep.samples": count}) if sampled else scenario
    design = changed.core.design()
    paths: Sequence[str] = design[0] if design else ()
    cube = unit_cube("lhs", count, len(paths) + len(words) + 1, seed)
    rows = changed.core.sampled(cube[:, : len(paths)].tolist()) if paths else [[] for _ in range(count)]
    found: dict[Condition, None] = {}
    for point, row in zip(cube[:, len(paths) :].tolist(), rows, strict=True):
        at = dict(zip(paths, map(json.loads, row), strict=True))
        for (path, values), u in zip(words.items(), point, strict=False):
            at[path] = values[int(u * len(values))]
        found[_condition(variants[int(point[-1] * len(variants))], at)] = None
    return list(found)


def _axes(scenario: Scenario) -> list[tuple[str, list[Any]]]:
    return [(path, json.loads(values)) for path, values in scenario.core.grid()[0]]


def _variants(scenario: Scenario) -> list[str | None]:
    named: list[str | None] = list(scenario.core.grid()[1])
    return named or [None]


def _condition(variant: str | None, values: Mapping[str, Any]) -> Condition:
    named = {**values, **({} if variant is None else {"variant": variant})}
    name = ", ".join(
        f"{short}={_brief(value)}" for short, value in zip(_short(list(named)), named.values(), strict=True)
    )
    return Condition(variant, tuple((path, json.dumps(value)) for path, value in values.items()), name)


def _brief(value: Any) -> str:
    """Returns a value in at most four figures.

    >>> _brief("15.818769 ms")
    '15.82 ms'
    """
    return re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.4g}", text(value))


def _short(paths: Sequence[str]) -> list[str]:
    """Returns the last part of each path where it tells the paths apart, else the whole paths."""
    ends = [path.rpartition(".")[2] for path in paths]
    return ends if len(set(ends)) == len(ends) else list(paths)


def _range(values: Sequence[Any]) -> dict[str, list[Any]] | None:
    """Returns the range that listed numbers span, as `[sweep]` has it, or `None` for words and for
    a single value.
    """
    if len(values) < 2 or any(order(value)[0] != 1 for value in values):
        return None
    low, high = min(values, key=order), max(values, key=order)
    if all(isinstance(value, int) for value in values):
        return {"integer": [low, high]}
    least, greatest = order(low)[1], order(high)[1]
    law = "log_uniform" if least > 0 and greatest / least >= 10 else "uniform"
    return {law: [low, high]}
