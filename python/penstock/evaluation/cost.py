"""Measures what a discipline costs whoever builds it (RFC 7928, section 11), and what there is to set (section 12)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from penstock._names import listing
from penstock.evaluation.candidates import BASELINE, Candidate
from penstock.evaluation.rfc import Variant, experiment
from penstock.model.discipline import Discipline
from penstock.model.scenario import Scenario
from penstock.runs import runner

#: Written by `make bench ARGS=--record`.
RECORDED = Path(__file__).parent / "costs.json"
#: A discipline of one's own is timed here: so many rounds, each of so much simulated time.
ROUNDS, SPAN = 3, "100 s"


@dataclass(frozen=True, slots=True)
class Cost:
    """What an arrival and a queue cost. `None`: not known.

    ns, instructions: of an arrival, beyond DropTail's.
    state_bytes: held for the queue. packet_bytes: to remember of each waiting packet, beside the packet.
    values: control values, those that DropTail has not.
    """

    ns: int | None
    instructions: int | None
    state_bytes: int | None
    packet_bytes: int | None
    values: int | None


@dataclass(frozen=True, slots=True)
class Costs:
    """Of every candidate, and where the times were measured."""

    of: Mapping[str, Cost]
    under: str


@cache
def _recorded() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def costs(candidates: Sequence[Candidate]) -> Costs:
    """Returns the costs of built-in disciplines as the benchmarks recorded them; those in Python are timed here and
    now."""
    recorded = _recorded()
    declared = {each["name"]: each for each in listing("aqm")}
    found = {}
    for each in candidates:
        values = len(each.values)
        if each.is_own:
            found[each.name] = Cost(_timed(each), None, None, None, values)
            continue
        listed = declared[each.discipline.kind]
        spent = recorded["disciplines"].get(each.discipline.kind, {})
        held = listed["state_bytes"], listed["packet_bytes"]
        found[each.name] = Cost(spent.get("ns"), spent.get("instructions"), *held, values)
    return Costs(found, f"{recorded['processor']}, Rust {recorded['rustc']}, {recorded['date']}")


def _timed(own: Candidate) -> int:
    """Nanoseconds of an arrival beyond DropTail's: the least of some rounds, the two in turns."""
    of = experiment("unresponsive-alone")
    base = of.scenario(Variant()).set("duration", SPAN)
    both = [candidate.under(base) for candidate in (Candidate(Discipline(BASELINE, BASELINE)), own)]
    spent: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for scenario, each in zip(both, spent, strict=True):
            each.append(_each_arrival(scenario))
    return round((min(spent[1]) - min(spent[0])) * 1e9)


def _each_arrival(scenario: Scenario) -> float:
    begun = time.process_time()
    run = runner.run(scenario, 1, jobs=1).runs[0]
    return (time.process_time() - begun) / (run.metrics["arrivals"] or 1)
