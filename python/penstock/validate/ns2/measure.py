"""Runs the cases here, and says what becomes of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from penstock import _penstock
from penstock.errors import ScenarioError, SimulationError
from penstock.runs.pool import Pool, Watch
from penstock.show.progress import Bar
from penstock.validate.agreement import Value
from penstock.validate.ns2.counts import SAMPLING_S, Metrics, as_ns2_counts, columns, counters
from penstock.validate.ns2.files import Case
from penstock.validate.ns2.pairs import Pair, compare
from penstock.validate.ns2.translate import NotExpressible, scenario

#: Seeds on our side, at least: as many as take minutes on two cores. What is left of the joint interval is then the
#: reference's.
SEEDS = 40


@dataclass(frozen=True)
class Outcome:
    """What became of one case: its pairs, or why it has none."""

    case: Case
    pairs: tuple[Pair, ...] = ()
    refused: str = ""
    unmeasured: bool = False


@dataclass
class _Work:
    """A case that can run, and the metrics of the seeds that have run."""

    case: Case
    core: Any
    document: Mapping[str, Any]
    runs: dict[int, Metrics] = field(default_factory=dict)


def _prepare(case: Case) -> _Work | Outcome:
    """Returns the case as a checked scenario, or the reason why there is none."""
    try:
        document = scenario(case.name, case.args)
        return _Work(case, _penstock.Scenario.from_json(json.dumps(document)), document)
    except (NotExpressible, ScenarioError) as e:
        return Outcome(case, refused=" ".join(str(e).split()))


def _run_all(work: Sequence[_Work], jobs: int, seeds: int) -> dict[str, str]:
    """Runs every case under every seed on `jobs` threads; returns what refused to run, case → reason."""
    refused: dict[str, str] = {}

    def one(item: tuple[_Work, int], watch: Watch) -> Iterator[bool]:
        w, seed = item
        if w.case.name not in refused:
            try:
                interval = SAMPLING_S if columns(w.document) else None
                (result,) = _penstock.run(w.core, [seed], 1, interval, progress=watch)
            except SimulationError as e:
                refused[w.case.name] = " ".join(str(e).split())
            else:
                metrics = as_ns2_counts(w.document, result.metrics, result.flows)
                w.runs[seed] = {**metrics, **counters(w.document, result.metrics, result.table("queue"))}
        yield True

    todo = [(w, seed) for w in work for seed in range(1, max(seeds, w.case.seeds) + 1)]
    done = 0
    with Bar("validate") as bar, closing(Pool(one, jobs).results(todo)) as results:
        for ended in results:
            done += ended is not None
            bar(done / len(todo), done, len(todo))
    return refused


def outcomes(
    cases: Sequence[Case], results: Mapping[str, Mapping[str, Value]], jobs: int, seeds: int = SEEDS
) -> list[Outcome]:
    """Returns what becomes of every case, in the order of `cases`."""
    prepared = [_prepare(case) for case in cases]
    work = [w for w in prepared if isinstance(w, _Work) and w.case.name in results]
    refused = _run_all(work, jobs, seeds)
    done = []
    for p in prepared:
        if isinstance(p, Outcome):
            done.append(p)
        elif p.case.name in refused:
            done.append(Outcome(p.case, refused=refused[p.case.name]))
        elif p.case.name not in results:
            done.append(Outcome(p.case, unmeasured=True))
        else:
            runs = [p.runs[seed] for seed in sorted(p.runs)]
            done.append(Outcome(p.case, compare(p.case, results[p.case.name], runs)))
    return done
