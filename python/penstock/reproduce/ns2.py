"""Reads what ns-2 measured of the same experiments: the data that `penstock validate` holds us against.

A case of an exhibit is looked up by its scenario: where ns-2 ran the same one, figures show its number
beside ours. Where the two say the same in other words, a paper's module names ns-2's case.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from penstock import _penstock
from penstock.validate.agreement import RULES, Value
from penstock.validate.ns2.command import DATA
from penstock.validate.ns2.files import SHIPPED, read_cases, read_results
from penstock.validate.ns2.translate import scenario as translated

if TYPE_CHECKING:
    from penstock.reproduce.runs import Quantity, Run

#: What may differ between our scenario and ns-2's: the names, the seed, the end of a window that ends
#: with the run, and a buffer of the direction back that is what it is anyway.
_FREE = (".seed", ".measure.to", ".topology.bottleneck.reverse_buffer")
#: Series → the value of its label on the axis → the name of ns-2's case.
Cases: TypeAlias = Mapping[str, Mapping[Any, str]]

#: Our name of a metric → ns-2's.
_METRICS = {rule.ours: rule.metric for rule in RULES if "/" not in rule.metric}


class _Unknown(Mapping[Any, Any]):
    """The parts of a run that ns-2's data does not have. Whoever asks for one gets a `LookupError`."""

    def __getitem__(self, key: Any) -> NoReturn:
        raise LookupError(f"ns-2's data has no {key}")

    def __iter__(self) -> NoReturn:
        raise LookupError("ns-2's data has no such part")

    def __len__(self) -> NoReturn:
        raise LookupError("ns-2's data has no such part")


def measured(run: Run, quantity: Quantity, case: str | None = None) -> Value | None:
    """Returns what ns-2 measured of the scenario of `run`, with a 95 % interval; `None` where it did not.

    quantity: a metric's name, or a function that is asked of a run with ns-2's metrics alone.
    case: the name of ns-2's case, where it is not found by its scenario. Raises `KeyError` for an
        unknown one.
    """
    values = _by_scenario().get(_key(run.scenario.resolved)) if case is None else _by_name()[case]
    if values is None:
        return None
    means, ends = _metrics(run, values, 0.0), _metrics(run, values, 1.0)
    if isinstance(quantity, str):
        mean, end = means.get(quantity), ends.get(quantity)
    else:
        try:
            mean, end = (quantity(_with(run, metrics)) for metrics in (means, ends))
        except (LookupError, AssertionError):
            return None
    if mean is None or end is None:
        return None
    return Value(float(mean), abs(float(end) - float(mean)), next(iter(values.values())).n)


def _metrics(run: Run, values: Mapping[str, Value], halves: float) -> dict[str, float | None]:
    """Returns ns-2's means under our names, plus that many half-widths of their intervals."""
    found: dict[str, float | None] = {}
    for ours, theirs in _METRICS.items():
        if theirs in values:
            found[ours] = values[theirs].mean + halves * values[theirs].half
    used, share = run.metrics.get("throughput_bps"), run.metrics.get("utilization")
    ratio = found.get("utilization")
    if used and share and ratio is not None:
        found["throughput_bps"] = ratio * used / share
    return found


def _with(run: Run, metrics: Mapping[str, float | None]) -> Run:
    unknown: Any = _Unknown()
    return replace(run, metrics=metrics, groups=unknown, links=unknown, trace=None)


@cache
def _by_name() -> dict[str, dict[str, Value]]:
    """Returns every case's results. Of two cases of one name the later set's count."""
    return {name: of for shipped in SHIPPED for name, of in read_results(DATA / shipped.results).items()}


@cache
def _by_scenario() -> dict[frozenset[tuple[str, str]], dict[str, Value]]:
    """Returns every case's results by its scenario. Of two cases that are the same the later set's count."""
    found = {}
    for shipped in SHIPPED:
        results = read_results(DATA / shipped.results)
        for case in read_cases(DATA / shipped.cases):
            if case.name in results:
                theirs = _penstock.Scenario.from_json(json.dumps(translated(case.name, case.args)))
                found[_key(json.loads(theirs.resolved_json()))] = results[case.name]
    return found


def _key(resolved: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """Returns what a scenario is, without what may differ."""
    return frozenset((path, value) for path, value in _flat(resolved, "") if path not in _FREE)


def _flat(value: Any, path: str) -> list[tuple[str, str]]:
    """Returns a nested document as pairs of a path and a text; names are left out."""
    if isinstance(value, Mapping):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return [] if path.endswith(".name") else [(path, repr(value))]
    return [pair for key, each in items for pair in _flat(each, f"{path}.{key}")]
