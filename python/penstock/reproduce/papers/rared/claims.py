"""RARED: the claims of the paper as numbers."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.reproduce.comparisons import Comparison
from penstock.reproduce.measures import DELAY, LOSS
from penstock.reproduce.model import Below, Claim, Within
from penstock.reproduce.papers.rared.exhibits import JITTER, THROUGHPUT
from penstock.reproduce.papers.rared.scenarios import AT_LONG_DELAY, AT_SHORT_DELAY, OPEN, QUEUES, of_rared


def rared_against(other: str) -> Iterator[Claim]:
    """Figures 3 to 6: RARED and one of the others."""
    versus = Comparison.on(AT_LONG_DELAY, "RARED", other, readings=OPEN.without())
    for key, what, measure in (
        ("fig3.delay", "mean delay", DELAY),
        ("fig4.jitter", "delay jitter (variance of the delay)", JITTER),
        ("fig5.loss", "loss ratio", LOSS),
    ):
        yield versus.difference(
            measure,
            key=f"{key}-{other.lower()}",
            text=f"RARED has the lower {what}: RARED's minus {other}'s, mean over m = 1…15, is below 0.",
            paper_value="lower",
            rule=Below(),
        )
    yield versus.percent(
        THROUGHPUT,
        key=f"fig6.throughput-{other.lower()}",
        text=f"RARED keeps the throughput of {other}: the difference of the means over m = 1…15 is within ±2 % of "
        f"{other}'s.",
        paper_value="the same",
        rule=Within(-2, 2),
    )


def as_ared() -> Iterator[Claim]:
    """Section 5: RARED and ARED with a short delay of the bottleneck."""
    readings = OPEN.without("delay=10ms", "delay=200ms", "rate=10M")
    versus = Comparison.on(AT_SHORT_DELAY, "RARED", "ARED", readings=readings)
    for key, text, claim, measure, margin in (
        ("delay", "the mean delays over m = 1…15 differ by at most 10 %.", versus.percent, DELAY, 10),
        ("loss", "the loss ratios over m = 1…15 differ by at most 1 percentage point.", versus.difference, LOSS, 1),
        ("throughput", "the throughputs over m = 1…15 differ by at most 2 %.", versus.percent, THROUGHPUT, 2),
    ):
        yield claim(
            measure,
            key=f"section5.short-{key}",
            text=f"With a short link delay (10 ms) RARED does as ARED: {text}",
            paper_value="the same",
            rule=Within(-margin, margin),
        )


def of_parameters() -> Iterator[Claim]:
    """What sections 3 and 5 say of RARED's own parameters."""
    readings = OPEN.without("delay=40ms")
    climb = Comparison.on(of_rared("max_p_climb", 0.8, 1.0), 1.0, 0.8, readings=readings)
    beyond = "Beyond 0.8 max_p' does not matter: with 1.0 the"
    yield climb.percent(
        DELAY,
        key="section3.max_p-delay",
        text=f"{beyond} mean delay over m = 1, 5, 10, 15 is within ±5 % of that with 0.8.",
        exhibit="fig3",
        paper_value="no effect",
        rule=Within(-5, 5),
    )
    yield climb.difference(
        LOSS,
        key="section3.max_p-loss",
        text=f"{beyond} loss ratio over m = 1, 5, 10, 15 is within ±0.5 percentage points of that with 0.8.",
        exhibit="fig5",
        paper_value="no effect",
        rule=Within(-0.5, 0.5),
    )
    yield Comparison.on(of_rared("slope_th", 5, 20), 5, 20, readings=readings).percent(
        THROUGHPUT,
        key="section5.slope-throughput",
        text="A lower slope threshold costs link utilization: with slope_th = 5 instead of 20 the throughput over "
        "m = 1, 5, 10, 15 is lower.",
        exhibit="fig6",
        paper_value="less link utilization",
        rule=Below(),
    )


CLAIMS = (
    *(claim for three in zip(*map(rared_against, QUEUES[:3]), strict=True) for claim in three),
    *as_ared(),
    *of_parameters(),
)
