"""Computes what is asked of the numbers: each function returns one that gives one number a seed for a candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from penstock.evaluation.numbers import NONE, Array, Numbers, goodput_share
from penstock.evaluation.points import Where
from penstock.evaluation.rfc import experiment

Ask = Callable[[Numbers, str], Array]

#: Seconds over which a delay must stay near where it ends up, for a change to be over.
STEADY_S = 2.0


def _at(experiment_key: str, variant: str = "", ecn: bool = False) -> Callable[[str], Where]:
    first = experiment(experiment_key).variants[0].key
    return lambda candidate: Where(candidate, experiment_key, variant or first, ecn)


def metric(experiment_key: str, name: str, variant: str = "", ecn: bool = False) -> Ask:
    """Returns a metric of the run."""
    where = _at(experiment_key, variant, ecn)
    return lambda numbers, candidate: numbers.metric(where(candidate), name)


def measure(experiment_key: str, name: str, percent: float = NONE, of: str = "", variant: str = "") -> Ask:
    """Returns a measure, or a quantile of one."""
    where = _at(experiment_key, variant)
    return lambda numbers, candidate: numbers.quantile(where(candidate), name, percent, of)


def goodput(experiment_key: str, group: int, variant: str = "") -> Ask:
    """Returns the goodput of a traffic entry, bits per second."""
    where = _at(experiment_key, variant)
    return lambda numbers, candidate: numbers.group(where(candidate), group, "goodput_bps")


def utilization(experiment_key: str, group: int) -> Ask:
    """Returns the goodput of a traffic entry over the link's rate."""
    where = _at(experiment_key)

    def asked(numbers: Numbers, candidate: str) -> Array:
        place = where(candidate)
        return numbers.group(place, group, "goodput_bps") / numbers.rate_bps(place)

    return asked


def ratio(above: Ask, below: Ask) -> Ask:
    """Returns one number over another of the same seed."""

    def asked(numbers: Numbers, candidate: str) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(above(numbers, candidate) / below(numbers, candidate), dtype=np.float64)

    return asked


def share(experiment_key: str, group: int) -> Ask:
    """Returns what one of two traffic entries has of the goodput of both."""
    where = _at(experiment_key)
    return lambda numbers, candidate: goodput_share(numbers, where(candidate), group)


def _mean_between(series: tuple[Array, Array], since: float, until: float) -> float:
    at, value = series
    inside = (at >= since) & (at < until)
    return float(value[inside].mean()) if inside.any() else NONE


def phases(experiment_key: str, high: Sequence[tuple[float, float]], low: Sequence[tuple[float, float]]) -> Ask:
    """Returns the mean delay in some phases over that in others. Each span leaves out the phase's first half."""
    where = _at(experiment_key)

    def asked(numbers: Numbers, candidate: str) -> Array:
        found = []
        for series in numbers.over_time(where(candidate), "delay_over_time_s"):
            a, b = ([_mean_between(series, *span) for span in spans] for spans in (high, low))
            found.append(float(np.mean(a) / np.mean(b)) if np.mean(b) > 0 else NONE)
        return np.array(found)

    return asked


def during(experiment_key: str, spans: Sequence[tuple[float, float]]) -> Ask:
    """Returns the mean delay in some spans, seconds."""
    where = _at(experiment_key)

    def asked(numbers: Numbers, candidate: str) -> Array:
        runs = numbers.over_time(where(candidate), "delay_over_time_s")
        return np.array([np.mean([_mean_between(series, *span) for span in spans]) for series in runs])

    return asked


def settling(experiment_key: str) -> Ask:
    """Returns seconds after a change until the delay stays for 2 s within a quarter, or 5 ms, of where the phase ends.

    The mean over the changes. A phase in which it never does counts whole.
    """
    of = experiment(experiment_key)
    where = _at(experiment_key)

    def one(series: tuple[Array, Array]) -> float:
        at, value = series
        if not len(at):
            return NONE
        ends = [*of.changing[1:], of.scenario(of.variants[0]).duration_s]
        return float(np.mean([_settles(at, value, begin, end) for begin, end in zip(of.changing, ends, strict=True)]))

    return lambda numbers, candidate: np.array(
        [one(series) for series in numbers.over_time(where(candidate), "delay_over_time_s")]
    )


def _settles(at: Array, value: Array, begin: float, end: float) -> float:
    final = _mean_between((at, value), (begin + end) / 2, end)
    near = max(0.25 * final, 0.005)
    inside = (at >= begin) & (at < end - STEADY_S)
    for t in at[inside].tolist():
        span = (at >= t) & (at < t + STEADY_S)
        if span.any() and abs(float(value[span].mean()) - final) <= near:
            return float(t - begin)
    return end - begin


def tuning(experiment_key: str, name: str) -> Ask:
    """Returns by how much halving or doubling the worst control value changes a metric, relative to the usual one.

    Paired by seed, on the seeds that the control values ran with.
    """

    def asked(numbers: Numbers, candidate: str) -> Array:
        usual_at = _at(experiment_key)(candidate)
        knobs = [w for w in numbers.seeds if w.candidate == candidate and w.experiment == experiment_key and w.knob]
        if not knobs:
            return np.array([NONE])
        n = min(len(numbers.seeds[knobs[0]]), len(numbers.seeds[usual_at]))
        usual = numbers.metric(usual_at, name)[:n]
        changed = [np.abs(numbers.metric(knob, name)[:n] / usual - 1) for knob in knobs]
        # The control value with the largest mean change; another in each seed would be its noise.
        return max(changed, key=lambda each: float(np.mean(each)))

    return asked


def unsteadiness(experiment_key: str) -> Ask:
    """Returns the coefficient of variation of the delay, mean by mean of short spans, in the measured window (RFC
    5166)."""
    of = experiment(experiment_key)
    where = _at(experiment_key)
    until = of.scenario(of.variants[0]).duration_s

    def one(series: tuple[Array, Array]) -> float:
        at, value = series
        inside = value[(at >= 0) & (at < until)]
        return float(inside.std() / inside.mean()) if len(inside) and inside.mean() > 0 else NONE

    return lambda numbers, candidate: np.array(
        [one(series) for series in numbers.over_time(where(candidate), "delay_over_time_s")]
    )


#: Two allocations are fair to each other up to δ where the smaller one is at least (1 − δ)/(1 + δ) of the larger
#: (RFC 5166, section 2.4.2's δ-fair convergence time).
DELTA = 0.3


def convergence(experiment_key: str, old: str, arrivals: Sequence[tuple[str, float, float]]) -> Ask:
    """Returns seconds until flows that join have, each, a δ-fair part of what those have that were there.

    The mean of the arrivals.

    old: the group that was there. arrivals: the group that joins, when, and when that phase ends; if it never gets so
    far, the phase counts whole.
    """
    of = experiment(experiment_key)
    where = _at(experiment_key)
    flows = {each.name: each.flows for each in of.scenario(of.variants[0]).core.facts().groups}

    def one(there: tuple[Array, Array], joins: tuple[Array, Array], name: str, begin: float, end: float) -> float:
        at, value = joins
        if not len(at) or not len(there[0]):
            return NONE
        fair = (1 - DELTA) / (1 + DELTA) * np.interp(at, *there) / flows[old]
        reached = at[(at >= begin) & (at < end) & (value / flows[name] >= fair)]
        return float(reached[0] - begin) if len(reached) else end - begin

    def asked(numbers: Numbers, candidate: str) -> Array:
        place, measure = where(candidate), "goodput_over_time_bps"
        olds = numbers.over_time(place, measure, old)
        found = [
            [one(there, joins, name, begin, end) for there, joins in zip(olds, news, strict=True)]
            for name, begin, end in arrivals
            for news in [numbers.over_time(place, measure, name)]
        ]
        means: Array = np.mean(np.array(found, dtype=np.float64), axis=0)
        return means

    return asked


def product(one: Ask, other: Ask) -> Ask:
    """Returns one number times another of the same seed."""
    return lambda numbers, candidate: one(numbers, candidate) * other(numbers, candidate)
