"""AMECN: the claims of section 4.3, against ARED."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from penstock.judging.estimate import FROM_ZERO
from penstock.judging.rules import Above, Below
from penstock.reproduce.comparisons import (
    MEAN,
    Comparison,
    Values,
    at_equal,
    mean_over,
)
from penstock.reproduce.measures import Measure
from penstock.reproduce.model import Claim, Numbers, Sense, Whose
from penstock.reproduce.papers.amecn.exhibits import (
    LONG,
    RECEIVED,
    TOTAL,
    UTILIZATION,
    percent_received,
    percent_used,
    summed_delay_ms,
    target_pkts,
)
from penstock.reproduce.papers.amecn.scenarios import (
    DUMBBELL,
    ON_DUMBBELL,
    ON_LOT,
    OPEN,
    PARKING_LOT,
)
from penstock.reproduce.readings import Reading
from penstock.reproduce.runs import Quantity, Run, Runs, within

#: "Throughput" and "link utilisation" as what the receivers get.
GOODPUT = Reading(
    "throughput=received",
    "Throughput is what the receivers get: without headers, ACKs and packets that are sent again.",
)


def plain(values: Numbers) -> list[float]:
    """Returns the values of a claim without an axis."""
    assert not isinstance(values, Mapping)
    return list(values)


# ---- section 4.3: against ARED

over_ared = partial(Comparison.on, ours="AMECN", theirs="ARED")
ARED_ON_DUMBBELL = over_ared(ON_DUMBBELL, readings=OPEN.touching("AMECN", "ARED", where=DUMBBELL))
ARED_ON_LOT = over_ared(ON_LOT, readings=OPEN.touching("AMECN", "ARED", where=PARKING_LOT))
STEPS = 9


def at_equal_delay(x: Quantity, y: Quantity, scale: float) -> Values:
    """Returns AMECN's y minus ARED's at equal delays x, at even steps over the range that both reach."""

    def values(runs: Runs) -> Numbers:
        found = scale * at_equal(runs, x, y, "target_ms", {"aqm": "AMECN"}, {"aqm": "ARED"}, STEPS)
        return {f"{i + 1} of {STEPS}": [float(v) for v in found[:, i]] for i in range(STEPS)}

    return values


def at_equal_efficiency(runs: Runs) -> Numbers:
    """Returns AMECN's mean queue less ARED's where they first use the link equally.

    Each curve runs from the lowest target on. Where it first reaches a utilization gives the delay
    that this costs. The utilizations are even steps over the range that both reach.
    """
    steps = np.linspace(0, 1, 5)
    found: list[list[float]] = []
    for seed in runs.seeds:
        curves = []
        for aqm in ("AMECN", "ARED"):
            part = [run for run in runs.where(aqm=aqm) if run.seed == seed]
            part.sort(key=lambda run: float(run.labels["target_ms"]))
            curves.append([(run.metrics["utilization"] or 0.0, run.metrics["queue_mean_pkts"] or 0.0) for run in part])
        low = max(min(used for used, _ in curve) for curve in curves)
        high = min(max(used for used, _ in curve) for curve in curves)
        ours, theirs = ([first_at(curve, low + step * (high - low)) for step in steps] for curve in curves)
        found.append([a - b if low < high else float("nan") for a, b in zip(ours, theirs, strict=True)])
    return {f"{step:.0%} of the range": [each[i] for each in found] for i, step in enumerate(steps)}


def first_at(curve: Sequence[tuple[float, float]], level: float) -> float:
    """Returns the second coordinate where a curve first reaches a level of the first, interpolated."""
    if curve[0][0] >= level:
        return curve[0][1]
    for (a, delay_a), (b, delay_b) in itertools.pairwise(curve):
        if a < level <= b:
            return delay_a + (delay_b - delay_a) * (level - a) / (b - a)
    return float("nan")


def throughput_claims() -> Iterator[Claim]:
    """Yields the claims about figure 9."""
    place = "section 4.3.1, figure 9"
    at_delay = at_equal_delay("queue_mean_pkts", percent_used, 1)
    received = at_equal_delay("queue_mean_pkts", percent_received, 1)
    yield ARED_ON_DUMBBELL.claim(
        key="fig9.utilization",
        text="AMECN has the higher throughput for a given average delay: the difference in utilization to ARED at "
        "equal mean queues, at nine even steps over the range that both reach (curves "
        "interpolated).",
        paper_value="better",
        place=place,
        unit="percentage points",
        values=at_delay,
        rule=Above(),
        senses=(Sense(reading=MEAN, values=mean_over(at_delay)), Sense(reading=GOODPUT, values=received)),
    )
    yield ARED_ON_DUMBBELL.difference(
        UTILIZATION,
        key="fig9.target",
        text="AMECN has the higher throughput for a given target delay: the difference in utilization to ARED at every "
        "target.",
        paper_value="higher",
        place=place,
        rule=Above(),
        senses=(ARED_ON_DUMBBELL.sense(GOODPUT, RECEIVED),),
    )
    yield ARED_ON_DUMBBELL.claim(
        key="fig9.delay",
        text="AMECN has the lesser delay for a given link efficiency: the difference in mean queue to ARED where both "
        "first use the link equally, at five even steps over the range that both reach (curves "
        "interpolated).",
        paper_value="lesser",
        place=place,
        unit="packets",
        values=at_equal_efficiency,
        rule=Below(),
        senses=(Sense(reading=MEAN, values=mean_over(at_equal_efficiency)),),
    )


def in_packets(run: Run) -> float:
    """Returns the mean queue over the target delay, both in packets."""
    return (run.metrics["queue_mean_pkts"] or 0.0) / target_pkts(run)


def in_time(run: Run) -> float:
    """Returns the time that data packets wait, over the target delay."""
    return 1e3 * (run.metrics["data_delay_mean_s"] or 0.0) / float(run.labels["target_ms"])


def misses(aqm: str, ratio: Callable[[Run], float]) -> Values:
    """Returns |measured/target − 1| in percent, at every target."""

    @within(FROM_ZERO)
    def values(runs: Runs) -> Numbers:
        return {
            f"{at} ms": [float(100 * abs(v - 1)) for v in runs.values(ratio, aqm=aqm, target_ms=at)]
            for at in runs.labels("target_ms")
        }

    return values


def target_claims() -> Iterator[Claim]:
    """Yields the claims about figure 10."""
    for aqm in ("AMECN", "ARED"):
        in_time_ = misses(aqm, in_time)
        yield Claim(
            key=f"fig10.{aqm.lower()}",
            text=f"{aqm}'s measured delay is very close to the target, within 10 % at every target: "
            "|measured/target − 1|, delays as the mean queue in packets.",
            exhibit="fig10",
            paper_value="very closely",
            place="section 4.3.1, figure 10",
            unit="%",
            cases=ON_DUMBBELL.only(aqm),
            values=misses(aqm, in_packets),
            rule=Below(10.0),
            readings=OPEN.touching(aqm, where=DUMBBELL),
            senses=(
                Sense(reading=MEAN, values=mean_over(misses(aqm, in_packets))),
                Sense(reading=Reading("time", "Delays as the time that data packets wait."), values=in_time_),
            ),
        )
    yield ARED_ON_DUMBBELL.claim(
        key="fig10.closer",
        text="AMECN keeps to the target no worse than ARED: the difference in |measured/target − 1|, mean over the "
        "targets, delays in packets.",
        paper_value="both very closely",
        of="project",
        unit="percentage points",
        values=lambda runs: [
            a - b
            for a, b in zip(
                *(plain(mean_over(misses(aqm, in_packets))(runs)) for aqm in ("AMECN", "ARED")), strict=True
            )
        ],
        rule=Below(),
    )


def three_links_claims() -> Iterator[Claim]:
    """Yields the claims about figure 12."""
    kinds: tuple[tuple[str, Whose, Measure, str, str], ...] = (
        (
            "throughput",
            "paper",
            TOTAL,
            "better",
            "With three congested links AMECN has the higher overall throughput at the same summed queueing delay",
        ),
        (
            "long",
            "project",
            LONG,
            "not given",
            "Beyond the paper: of that throughput the flows over two or three links get more, too",
        ),
    )
    for key, of, measure, said, text in kinds:
        values = at_equal_delay(summed_delay_ms, measure.quantity, measure.scale)
        yield ARED_ON_LOT.claim(
            key=f"fig12.{key}",
            text=f"{text}: the difference to ARED at nine even steps over the range of delays that both reach (curves "
            "interpolated).",
            paper_value=said,
            place="section 4.3.2, figure 12" if of == "paper" else "",
            of=of,
            unit=measure.unit,
            values=values,
            rule=Above(),
            senses=(Sense(reading=MEAN, values=mean_over(values)),),
        )
