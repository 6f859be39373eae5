"""RED-AT: the claims of the paper as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from penstock.judging.rules import Above, Below, Within
from penstock.reproduce.comparisons import Comparison
from penstock.reproduce.measures import Measure
from penstock.reproduce.model import Claim, Sense
from penstock.reproduce.papers.red_at.exhibits import (
    CONSECUTIVE,
    DROPS,
    FORCED,
    FORCED_NOMINAL,
    GOODPUT,
    JITTER,
    THROUGHPUT,
    UTILIZATION,
    settled,
)
from penstock.reproduce.papers.red_at.scenarios import ALL_AT_80, HIGH, LOW, OPEN, OVER_FLOWS, at_80
from penstock.reproduce.readings import Reading

if TYPE_CHECKING:
    from penstock.reproduce.runs import Runs

IN_GOODPUT = Reading("goodput", "Throughput is the payload that was acknowledged, each byte once.")
BY_STEPS = Reading("consecutive", "Jitter is the change of the delay from packet to packet, as in RFC 3550.")
OF_AVERAGE = Reading("average", "Of the average queue instead of the queue itself.")

AT_EACH_N = "at each of N = 5, 20, 40, 60, 80 and 100"
AT_LOW, AT_HIGH = "at each of N = 5, 20 and 40", "at each of N = 60, 80 and 100"


def compared(ours: str, theirs: str, at: Sequence[int] = (*LOW, *HIGH)) -> Comparison:
    """Returns two of the disciplines in experiment 2."""
    return Comparison.on(OVER_FLOWS, ours, theirs, at=at, readings=OPEN.touching(ours, theirs))


def oscillation() -> Iterator[Claim]:
    """Yields the claims of experiment 1: RED-AT against RED with N = 80."""
    versus = Comparison(
        cases=at_80("RED", "RED-AT"), ours="RED-AT", theirs="RED", along=None, readings=OPEN.touching("RED", "RED-AT")
    )
    yield versus.difference(
        settled("queue_pkts", np.std),
        key="fig9.oscillation",
        text="With N = 80 RED-AT's queue oscillates less than RED's: its standard deviation from "
        "second 20 on is lower.",
        paper_value="reduced",
        place="section 6.1, figures 8 and 9",
        rule=Below(),
        senses=(versus.sense(OF_AVERAGE, settled("avg_pkts", np.std)),),
    )
    yield versus.difference(
        settled("avg_pkts", np.mean),
        key="fig9.level",
        text="With N = 80 RED-AT keeps the average queue slightly higher than RED: its mean from "
        "second 20 on is higher.",
        paper_value="slightly higher",
        place="section 6.1, figures 8 and 9",
        rule=Above(),
    )
    yield versus.difference(
        UTILIZATION,
        key="fig9.utilization",
        text="With N = 80 RED-AT uses more of the link than RED: its utilization is higher.",
        paper_value="enhanced",
        place="section 6.1",
        rule=Above(),
    )
    yield versus.difference(
        FORCED,
        key="fig9.away",
        text="RED-AT keeps the average queue away from max_th: with N = 80 it spends less of the "
        "time from second 20 on at or above max_th, as the threshold stands at that time, than "
        "RED does.",
        paper_value="kept away",
        place="section 6.2",
        rule=Below(),
        senses=(versus.sense(Reading("nominal", "The threshold is the nominal one of 30 packets."), FORCED_NOMINAL),),
    )


def much_smaller() -> Claim:
    """Returns the claim of section 6.2, of experiment 1: the oscillation beside both others'."""

    def smaller(column: str) -> Callable[[Runs], Mapping[str, Sequence[float]]]:
        swing = settled(column, np.std).quantity

        def values(runs: Runs) -> Mapping[str, Sequence[float]]:
            found = {}
            for name in ("RED", "ARED"):
                of = runs.difference(swing, {"aqm": "RED-AT"}, {"aqm": name})
                found[f"against {name}"] = [float(v) for v in 100 * of / np.mean(runs.values(swing, aqm=name))]
            return found

        return values

    return Claim(
        key="fig9.much-smaller",
        text="With N = 80 the variation of RED-AT's queue is much smaller than RED's and ARED's: "
        "the standard deviation from second 20 on is at least 20 % lower than that of each. The "
        "bound is ours.",
        exhibit="fig9",
        paper_value="much smaller",
        place="section 6.2",
        unit="% of the other's",
        cases=ALL_AT_80,
        values=smaller("queue_pkts"),
        rule=Below(-20),
        readings=OPEN.touching("RED", "ARED", "RED-AT"),
        senses=(Sense(reading=OF_AVERAGE, values=smaller("avg_pkts")),),
    )


def drop_rate() -> Iterator[Claim]:
    """Yields the claims about figure 10."""
    for name in ("RED", "ARED"):
        yield compared("RED-AT", name).difference(
            DROPS,
            key=f"fig10.lowest-{name.lower()}",
            text=f"RED-AT's drop rate is lower than {name}'s {AT_EACH_N}.",
            paper_value="lower",
            place="section 6.2, figure 10",
            rule=Below(),
        )
    yield low_load()
    # Whether a curve follows another is asked of every point of the figure.
    low_to_medium = tuple(n for n in OVER_FLOWS.values if float(n) <= max(LOW))
    yield Comparison.on(OVER_FLOWS, "RED", "ARED", at=low_to_medium, readings=OPEN.touching("RED", "ARED")).difference(
        DROPS,
        key="fig10.follows",
        text="At low to medium load RED's drop rate closely follows ARED's: the two differ by at "
        "most 0.5 percentage points at each of N = 5, 10, 20, 30 and 40. The margin is ours.",
        paper_value="closely follows",
        place="section 6.2, figure 10",
        rule=Within(-0.5, 0.5),
    )
    yield compared("ARED", "RED", HIGH).difference(
        DROPS,
        key="fig10.high",
        text=f"At high load ARED's drop rate is lower than RED's, {AT_HIGH}.",
        paper_value="lower",
        place="section 6.2, figure 10",
        rule=Below(),
    )


def low_load() -> Claim:
    """Returns the claim of sections 5 and 7: the drop rate where RED-AT's lower threshold is high."""

    def values(runs: Runs) -> Mapping[str, Sequence[float]]:
        found = {}
        for n in LOW:
            for name in ("RED", "ARED"):
                of = runs.where(N=n).difference(DROPS.quantity, {"aqm": "RED-AT"}, {"aqm": name})
                found[f"N = {n}, against {name}"] = [float(v) for v in DROPS.scale * of]
        return found

    return Claim(
        key="fig10.low",
        text="At low to medium load RED-AT's high lower threshold keeps the drop rate low: it is "
        f"lower than RED's and ARED's {AT_LOW}.",
        exhibit="fig10",
        paper_value="lower",
        place="sections 5 and 7",
        unit="percentage points",
        cases=OVER_FLOWS.only(at=LOW),
        values=values,
        rule=Below(),
        readings=OPEN.touching("RED", "ARED", "RED-AT"),
    )


def throughput() -> Iterator[Claim]:
    """Yields the claims about figure 11."""
    place = "section 6.2, figure 11"
    for name in ("RED", "ARED"):
        versus = compared("RED-AT", name)
        yield versus.percent(
            THROUGHPUT,
            key=f"fig11.highest-{name.lower()}",
            text=f"RED-AT's throughput is higher than {name}'s {AT_EACH_N}.",
            paper_value="higher",
            place=place,
            rule=Above(),
            senses=(versus.sense(IN_GOODPUT, GOODPUT, percent=True),),
        )

    def decline(measure: Measure) -> Callable[[Runs], Sequence[float]]:
        def values(runs: Runs) -> Sequence[float]:
            medium, high = (runs.values(measure.quantity, N=n) for n in (40, 100))
            return [float(v) for v in 100 * (high / medium - 1)]

        return values

    yield Claim(
        key="fig11.decline",
        text="RED's throughput declines sharply under high load: at N = 100 it is more than 10 % "
        "below that at N = 40. The bound is ours.",
        exhibit="fig11",
        paper_value="declines sharply",
        place=place,
        unit="% of that at N = 40",
        cases=OVER_FLOWS.only("RED", at=(40, 100)),
        values=decline(THROUGHPUT),
        rule=Below(-10),
        readings=OPEN.touching("RED"),
        senses=(Sense(reading=IN_GOODPUT, values=decline(GOODPUT)),),
    )
    versus = compared("RED-AT", "ARED", (100,))
    yield versus.percent(
        THROUGHPUT,
        key="fig11.meet",
        text="ARED's and RED-AT's throughput converge under high load: at N = 100 they differ by "
        "at most 1 %. The margin is ours.",
        paper_value="converge",
        place=place,
        rule=Within(-1, 1),
        senses=(versus.sense(IN_GOODPUT, GOODPUT, percent=True),),
    )


def jitter() -> Iterator[Claim]:
    """Yields the claims about figure 12."""
    place = "section 6.2, figure 12"
    for name in ("RED-AT", "ARED"):
        versus = compared(name, "RED")
        yield versus.difference(
            JITTER,
            key=f"fig12.{name.lower()}-red",
            text=f"RED has the highest jitter: the standard deviation of {name}'s queueing delay "
            f"is lower than RED's {AT_EACH_N}.",
            paper_value="RED's is the highest",
            place=place,
            rule=Below(),
            senses=(versus.sense(BY_STEPS, CONSECUTIVE),),
        )
    versus = compared("RED-AT", "ARED", LOW)
    yield versus.percent(
        JITTER,
        key="fig12.low",
        text="At low to medium load RED-AT and ARED have roughly the same jitter: the standard "
        f"deviations of their queueing delays differ by at most 20 % {AT_LOW}. The margin is ours.",
        paper_value="roughly the same",
        place=place,
        rule=Within(-20, 20),
        senses=(versus.sense(BY_STEPS, CONSECUTIVE, percent=True),),
    )
    versus = compared("RED-AT", "ARED", HIGH)
    yield versus.difference(
        JITTER,
        key="fig12.high",
        text="At higher load RED-AT has a lower jitter than ARED: the standard deviation of its "
        f"queueing delay is lower {AT_HIGH}.",
        paper_value="lower",
        place=place,
        rule=Below(),
        senses=(versus.sense(BY_STEPS, CONSECUTIVE),),
    )


CLAIMS = (*oscillation(), much_smaller(), *drop_rate(), *throughput(), *jitter())
