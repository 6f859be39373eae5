"""RED-AT: the claims of the paper as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from penstock.reproduce.comparisons import Comparison
from penstock.reproduce.measures import Measure
from penstock.reproduce.model import Above, Below, Claim, Within
from penstock.reproduce.papers.red_at.exhibits import (
    CONSECUTIVE,
    DROPS,
    GOODPUT,
    JITTER,
    THROUGHPUT,
    UTILIZATION,
    settled,
)
from penstock.reproduce.papers.red_at.scenarios import HIGH, LOW, OPEN, OVER_FLOWS, at_80

if TYPE_CHECKING:
    from penstock.reproduce.runs import Runs


def compared(ours: str, theirs: str, at: Sequence[int] = (*LOW, *HIGH)) -> Comparison:
    """Two of the disciplines in experiment 2."""
    return Comparison.on(OVER_FLOWS, ours, theirs, at=at, readings=OPEN.touching(ours, theirs))


def oscillation() -> Iterator[Claim]:
    """Experiment 1: RED-AT against RED with N = 80."""
    versus = Comparison(
        cases=at_80("RED", "RED-AT"), ours="RED-AT", theirs="RED", along=None, readings=OPEN.touching("RED", "RED-AT")
    )
    for key, text, said, measure, rule in (
        (
            "queue",
            "oscillates less: the standard deviation of its queue, from second 20 on, less RED's is below 0",
            "reduced",
            settled("queue_pkts", np.std),
            Below(),
        ),
        (
            "average",
            "oscillates less in its average: the same of the average queue",
            "reduced",
            settled("avg_pkts", np.std),
            Below(),
        ),
        (
            "level",
            "keeps the average queue slightly higher: its mean from second 20 on, less RED's, is above 0",
            "slightly higher",
            settled("avg_pkts", np.mean),
            Above(),
        ),
        (
            "utilization",
            "uses more of the link than RED: the difference in utilization is above 0",
            "enhanced",
            UTILIZATION,
            Above(),
        ),
    ):
        yield versus.difference(
            measure, key=f"fig9.{key}", text=f"With N = 80 RED-AT {text}.", paper_value=said, rule=rule
        )


def drop_rate() -> Iterator[Claim]:
    """Figure 10."""
    for name in ("RED", "ARED"):
        yield compared("RED-AT", name).difference(
            DROPS,
            key=f"fig10.lowest-{name.lower()}",
            text=f"RED-AT drops less than {name}: its drop rate less {name}'s, mean over N = 5…100, is below 0.",
            paper_value="lower",
            rule=Below(),
        )
    yield compared("RED", "ARED", LOW).difference(
        DROPS,
        key="fig10.follows",
        text="At low to medium load RED's drop rate closely follows ARED's: the difference, mean over N = 5…40, is "
        "within ±0.5 percentage points.",
        paper_value="closely follows",
        rule=Within(-0.5, 0.5),
    )
    yield compared("ARED", "RED", HIGH).difference(
        DROPS,
        key="fig10.high",
        text="At high load ARED drops less than RED: its drop rate less RED's, mean over N = 60…100, is below 0.",
        paper_value="lower",
        rule=Below(),
    )


def throughput(suffix: str, what: str, measure: Measure) -> Iterator[Claim]:
    """Figure 11's claims for one meaning of throughput."""
    for name in ("RED", "ARED"):
        yield compared("RED-AT", name).percent(
            measure,
            key=f"fig11.highest-{name.lower()}{suffix}",
            text=f"RED-AT has the higher {what} than {name}: the difference, mean over N = 5…100, is above 0.",
            paper_value="higher",
            rule=Above(),
        )

    def decline(runs: Runs) -> Sequence[float]:
        medium, high = (runs.values(measure.quantity, N=n) for n in (40, 100))
        return [float(v) for v in 100 * (high / medium - 1)]

    yield Claim(
        key=f"fig11.decline{suffix}",
        text=f"RED's {what} declines sharply at high load: at N = 100 it is more than 10 % below that at N = 40.",
        exhibit="fig11",
        paper_value="declines sharply",
        unit="% of that at N = 40",
        cases=OVER_FLOWS.only("RED", at=(40, 100)),
        values=decline,
        rule=Below(-10),
        readings=OPEN.touching("RED"),
    )
    yield compared("RED-AT", "ARED", (100,)).percent(
        measure,
        key=f"fig11.meet{suffix}",
        text=f"ARED's and RED-AT's {what} meet at high load: RED-AT's at N = 100 is within ±1 % of ARED's.",
        paper_value="converge",
        rule=Within(-1, 1),
    )


def jitter(suffix: str, what: str, measure: Measure) -> Iterator[Claim]:
    """Figure 12's claims for one meaning of jitter."""
    for name in ("RED-AT", "ARED"):
        yield compared(name, "RED").difference(
            measure,
            key=f"fig12.{name.lower()}-red{suffix}",
            text=f"RED has the highest jitter: {name}'s {what} less RED's, mean over N = 5…100, is below 0.",
            paper_value="RED's is the highest",
            rule=Below(),
        )
    yield compared("RED-AT", "ARED", LOW).percent(
        measure,
        key=f"fig12.low{suffix}",
        text=f"At low to medium load RED-AT and ARED have roughly the same jitter: RED-AT's {what}, mean over "
        "N = 5…40, is within ±20 % of ARED's.",
        paper_value="roughly the same",
        rule=Within(-20, 20),
    )
    yield compared("RED-AT", "ARED", HIGH).difference(
        measure,
        key=f"fig12.high{suffix}",
        text=f"At higher load RED-AT has the lower jitter: its {what} less ARED's, mean over N = 60…100, is below 0.",
        paper_value="lower",
        rule=Below(),
    )


CLAIMS = (
    *oscillation(),
    *drop_rate(),
    *throughput("", "throughput", THROUGHPUT),
    *throughput(".goodput", "goodput", GOODPUT),
    *jitter("", "standard deviation of the delay", JITTER),
    *jitter(".consecutive", "change of the delay from packet to packet", CONSECUTIVE),
)
