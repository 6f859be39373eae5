"""RARED: the claims of the paper as numbers."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.judging.rules import Above, Below, Within
from penstock.reproduce.comparisons import Comparison
from penstock.reproduce.measures import DELAY, LOSS
from penstock.reproduce.model import Claim
from penstock.reproduce.papers.rared.exhibits import (
    DATA_DELAY,
    DATA_JITTER,
    DATA_LOSS,
    JITTER,
    STEADINESS,
    SWING,
    THROUGHPUT,
)
from penstock.reproduce.papers.rared.scenarios import (
    AT_LONG,
    AT_LONG_DELAY,
    AT_SHORT,
    AT_SHORT_DELAY,
    BESIDE,
    OPEN,
    QUEUES,
    SHORT,
    STRONG_RED,
    of_rared,
)
from penstock.reproduce.readings import Reading

OF_DATA = Reading("data", "Counted over data packets alone, without acknowledgements.")
LONG_READINGS = OPEN.touching("RARED", where=AT_LONG)
#: Without the fast link, whose runs take six times as long: it is judged against RED alone.
USUAL_READINGS = tuple(reading for reading in LONG_READINGS if reading.key != "rate=10M")
SHORT_READINGS = tuple(
    reading for reading in OPEN.touching("RARED", "ARED", where=AT_SHORT) if reading.key != "rate=10M"
)

AT_EACH_M = "at each number m of joining flows from 1 to 15"
AT_SOME_M = "at m = 1, 5, 10 and 15 joining flows"


def rared_against(other: str) -> Iterator[Claim]:
    """Yields the claims about figures 3 to 6: RARED and one of the others."""
    readings = LONG_READINGS if other == "RED" else USUAL_READINGS
    versus = Comparison.on(AT_LONG_DELAY, "RARED", other, readings=readings)
    for key, what, place, measure, of_data in (
        ("fig3.delay", "mean queueing delay", "section 4, figure 3", DELAY, DATA_DELAY),
        ("fig4.jitter", "delay jitter (the variance of the delay)", "section 4, figure 4", JITTER, DATA_JITTER),
        ("fig5.loss", "packet loss ratio", "section 4, figure 5", LOSS, DATA_LOSS),
    ):
        yield versus.difference(
            measure,
            key=f"{key}-{other.lower()}",
            text=f"RARED's {what} is lower than {other}'s {AT_EACH_M}.",
            paper_value="lower",
            place=place,
            rule=Below(),
            senses=(versus.sense(OF_DATA, of_data),),
        )
    yield versus.percent(
        THROUGHPUT,
        key=f"fig6.throughput-{other.lower()}",
        text=f"RARED keeps the throughput of {other}: the two differ by at most 2 % {AT_EACH_M}. The margin is ours.",
        paper_value="the same",
        place="section 4, figure 6",
        rule=Within(-2, 2),
    )
    yield versus.difference(
        STEADINESS,
        key=f"section4.steady-{other.lower()}",
        text=f"RARED's queue is steadier than {other}'s: the standard deviation of its length "
        f"over time is lower {AT_EACH_M}.",
        exhibit="fig4",
        paper_value="more steady",
        place="section 4",
        rule=Below(),
    )


def as_ared() -> Claim:
    """Returns the claim of section 5: RARED and ARED with a short delay of the bottleneck."""
    versus = Comparison.on(AT_SHORT_DELAY, "RARED", "ARED", readings=SHORT_READINGS)
    return versus.percent(
        DELAY,
        key="section5.short",
        text=f"On a short link ({SHORT} ms) RARED performs as ARED does: the mean queueing delays "
        f"differ by at most 10 % {AT_EACH_M}. The margin is ours.",
        paper_value="the same",
        place="section 5",
        rule=Within(-10, 10),
        senses=(
            versus.sense(
                Reading("jitter", "Performance is the delay jitter (the variance of the delay): within 20 %."),
                JITTER,
                rule=Within(-20, 20),
                percent=True,
            ),
            versus.sense(
                Reading("loss", "Performance is the packet loss ratio: within 1 percentage point."),
                LOSS,
                rule=Within(-1, 1),
            ),
            versus.sense(
                Reading("throughput", "Performance is the throughput: within 2 %."),
                THROUGHPUT,
                rule=Within(-2, 2),
                percent=True,
            ),
        ),
    )


def of_max_p() -> Claim:
    """Returns the claim of section 3: RARED's own probability."""
    versus = Comparison.on(of_rared("max_p_climb", 0.8, 1.0), 1.0, 0.8, readings=USUAL_READINGS)
    return versus.percent(
        DELAY,
        key="section3.max_p",
        text="Above 0.8 RARED's max_p' does not affect the performance: with 1.0 the mean "
        f"queueing delay is within 5 % of that with 0.8 {AT_SOME_M}. The margin is ours.",
        exhibit="fig3",
        paper_value="no effect",
        place="section 3",
        rule=Within(-5, 5),
        senses=(
            versus.sense(
                Reading("loss", "Performance is the packet loss ratio: within 0.5 percentage points."),
                LOSS,
                rule=Within(-0.5, 0.5),
            ),
        ),
    )


def of_slope() -> Iterator[Claim]:
    """Yields the claims of section 5: what a lower threshold of the slope brings, and what it costs."""
    versus = Comparison.on(of_rared("slope_th", 5, 20), 5, 20, readings=USUAL_READINGS)
    yield versus.difference(
        DELAY,
        key="slope.performance",
        text="A lower slope threshold improves the performance: the mean queueing delay is lower "
        f"with slope_th = 5 than with 20 {AT_SOME_M}.",
        paper_value="elevates the performance",
        place="section 5",
        rule=Below(),
        senses=(
            versus.sense(Reading("jitter", "Performance is the delay jitter (the variance of the delay)."), JITTER),
            versus.sense(Reading("loss", "Performance is the packet loss ratio."), LOSS),
        ),
    )
    yield versus.percent(
        THROUGHPUT,
        key="slope.utilization",
        text="A lower slope threshold costs link utilization: the throughput is lower with "
        f"slope_th = 5 than with 20 {AT_SOME_M}.",
        paper_value="less link utilization",
        place="section 5",
        rule=Below(),
    )
    yield versus.difference(
        SWING,
        key="slope.fluctuation",
        text="A lower slope threshold makes the queue fluctuate more: the standard deviation of "
        "its length, as a share of its mean, is higher with slope_th = 5 than with 20 "
        f"{AT_SOME_M}.",
        paper_value="high possibility of fluctuation",
        place="section 5",
        rule=Above(),
        senses=(versus.sense(Reading("packets", "The standard deviation itself, in packets."), STEADINESS),),
    )


def beside() -> Iterator[Claim]:
    """Yields claims that are not in the paper: a plain RED that signals as strongly, with neither rate nor slope."""
    versus = Comparison.on(BESIDE, STRONG_RED, "RARED", readings=USUAL_READINGS)
    yield versus.difference(
        DELAY,
        key="beside.delay",
        text=f"A plain RED with a max_p of 0.8 instead of 0.1 has a lower mean queueing delay than RARED {AT_EACH_M}.",
        paper_value="not considered",
        of="project",
        rule=Below(),
    )
    yield versus.difference(
        JITTER,
        key="beside.jitter",
        text=f"A plain RED with a max_p of 0.8 has a lower delay jitter than RARED {AT_EACH_M}.",
        paper_value="not considered",
        of="project",
        rule=Below(),
    )
    yield versus.percent(
        THROUGHPUT,
        key="beside.throughput",
        text=f"A plain RED with a max_p of 0.8 has RARED's throughput: the two differ by at most 2 % {AT_EACH_M}.",
        paper_value="not considered",
        of="project",
        rule=Within(-2, 2),
    )
    yield versus.difference(
        LOSS,
        key="beside.loss",
        text="RARED loses less than a plain RED with a max_p of 0.8: the RED's packet loss ratio "
        f"is higher {AT_EACH_M}.",
        paper_value="not considered",
        of="project",
        rule=Above(),
    )


CLAIMS = (
    *(claim for five in zip(*map(rared_against, QUEUES[:3]), strict=True) for claim in five),
    as_ared(),
    of_max_p(),
    *of_slope(),
    *beside(),
)
