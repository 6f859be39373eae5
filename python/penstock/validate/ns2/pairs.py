"""Each metric of a case beside ns-2's, and whether the two agree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.judging.estimate import Estimate
from penstock.validate.agreement import RULES, ZERO, Value, Verdict, judge
from penstock.validate.ns2.counts import Metrics
from penstock.validate.ns2.files import Case
from penstock.validate.ns2.translate import deterministic, forward_flows


@dataclass(frozen=True)
class Pair:
    """One metric of one case on both sides."""

    case: str
    metric: str
    reference: Value | None
    ours: Value | None
    verdict: Verdict


def reference_value(measured: Mapping[str, Value], metric: str) -> Value | None:
    """Returns one of ns-2's metrics; the ratio of marks to arrivals is made from its two parts."""
    if metric != "marks/arrivals":
        return measured.get(metric)
    marks, arrivals = measured.get("marks"), measured.get("arrivals")
    if marks is None or arrivals is None or arrivals.mean <= 0:
        return None
    return Value(marks.mean / arrivals.mean, marks.half / arrivals.mean, marks.n)


def _estimate(values: Iterable[float | None]) -> Value | None:
    """Returns mean and 95 % half-width over the runs where the metric applies."""
    estimate = Estimate.of(values)
    if estimate.mean is None:
        return None
    return Value(estimate.mean, estimate.ci95 or 0.0, estimate.n)


def our_value(runs: Sequence[Metrics], metric: str) -> Value | None:
    """Returns one of our metrics over the runs; the ratio of marks to arrivals is made from its parts."""
    if metric != "marks/arrivals":
        return _estimate(run.get(metric) for run in runs)
    marks, arrivals = _estimate(_total(run, MARKS) for run in runs), _estimate(run.get("arrivals") for run in runs)
    if marks is None or arrivals is None or arrivals.mean <= 0:
        return None
    return Value(marks.mean / arrivals.mean, marks.half / arrivals.mean, marks.n)


MARKS = ("marks_ce", "marks_incipient")
DROPS = ("drops_early", "drops_forced", "drops_overflow")


def _total(run: Metrics, names: Sequence[str]) -> float | None:
    """Returns the sum of counters, or None where none applies."""
    known = [v for v in (run.get(name) for name in names) if v is not None]
    return math.fsum(known) if known else None


def compare(case: Case, measured: Mapping[str, Value], runs: Sequence[Metrics]) -> tuple[Pair, ...]:
    """Returns the case's pairs."""
    alone = deterministic(case.args, case.seeds)
    pairs = []
    for rule in RULES:
        reference, ours = reference_value(measured, rule.metric), our_value(runs, rule.ours)
        constant = rule.metric == "maxp_mean" and ours is None
        if rule.optional and (constant or reference is None or abs(reference.mean) < ZERO):
            continue
        if rule.metric == "jain" and forward_flows(case.args) == 0:
            reference = None  # ns-2's script prints 1 for the fairness of no flows
        events = None
        if alone and rule.counted:
            names, total = (DROPS, "drops") if rule.metric == "loss" else (MARKS, "marks")
            here, there = _estimate(_total(run, names) for run in runs), measured.get(total)
            if here is not None and there is not None:
                events = (there.mean, here.mean)
        verdict = judge(rule, reference, ours, alone=alone, events=events)
        pairs.append(Pair(case.name, rule.metric, reference, ours, verdict))
    return tuple(pairs)
