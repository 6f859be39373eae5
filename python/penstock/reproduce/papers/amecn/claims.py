"""AMECN: the claims of the paper as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.reproduce.comparisons import Comparison, Values, at_equal, of_one_case
from penstock.reproduce.measures import LOSS, Measure
from penstock.reproduce.model import Above, Below, Claim, Within
from penstock.reproduce.papers.amecn.exhibits import (
    LONG,
    TOTAL,
    UTILIZATION,
    percent_used,
    return_s,
    settled_avg,
    summed_delay_ms,
    target_pkts,
)
from penstock.reproduce.papers.amecn.scenarios import (
    DUMBBELL,
    DUMBBELL_PKTS_S,
    LOAD_CHANGE,
    ON_DUMBBELL,
    ON_LOT,
    OPEN,
    PARKING_LOT,
    TARGET,
    load_changes,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.reproduce.runs import Quantity, Run, Runs


def load_claims(load: str, mecn: str, amecn: str, levels: tuple[float, float]) -> Iterator[Claim]:
    """What section 4.2 says of both changes. levels: the paper's utilizations in percent."""
    readings = OPEN.touching("AMECN", where=LOAD_CHANGE)
    of_amecn = partial(Claim, exhibit=amecn, cases=load_changes(load, "AMECN"), readings=readings)
    yield of_amecn(
        key=f"{amecn}.settled",
        text=f"From 15 s after the load {load} AMECN's average is in its target range of 9 to 12 packets: the mean of "
        "avg from 40 to 50 s.",
        paper_value="9 to 12 packets",
        unit="packets",
        values=of_one_case(settled_avg),
        rule=Within(*TARGET),
    )
    yield of_amecn(
        key=f"{amecn}.return",
        text=f"After the load {load} AMECN brings its average back into the target range within about 15 s (here: 18): "
        "the time until the mean of avg over the next 5 s is in the range, 20 s where that never comes.",
        paper_value="about 15 s",
        unit="s",
        values=of_one_case(return_s),
        rule=Below(18.0),
    )
    yield over_mecn(load).difference(
        UTILIZATION,
        key=f"{amecn}.throughput",
        text=f"AMECN has a slightly higher throughput than MECN where the load {load}: the difference in utilization "
        "over the whole run.",
        paper_value=f"{levels[1]} % against {levels[0]} %",
        rule=Above(),
    )
    for figure, aqm, level in ((mecn, "MECN", levels[0]), (amecn, "AMECN", levels[1])):
        yield Claim(
            key=f"{figure}.level",
            text=f"{aqm}'s throughput where the load {load} is {level} % of the link's rate, within one percentage "
            "point.",
            exhibit=figure,
            paper_value=f"{level} %",
            unit="%",
            cases=load_changes(load, aqm),
            values=of_one_case(percent_used),
            rule=Within(level - 1, level + 1),
            readings=OPEN.touching(aqm, where=LOAD_CHANGE),
        )


def over_mecn(load: str) -> Comparison:
    """AMECN against MECN where the load changes."""
    readings = OPEN.touching("AMECN", "MECN", where=LOAD_CHANGE)
    return Comparison.on(load_changes(load, "AMECN", "MECN"), "AMECN", "MECN", readings=readings)


def rise_claims() -> Iterator[Claim]:
    """What section 4.2 says of the rise alone."""
    for key, measure, said, text in (
        (
            "avg",
            Measure(quantity="avg_queue_mean_pkts", unit="packets"),
            "slightly lower",
            "a lower overall average queue",
        ),
        ("drops", LOSS, "smaller", "a smaller packet drop rate, all packets"),
        (
            "data_drops",
            replace(LOSS, quantity="data_loss_ratio"),
            "smaller",
            "a smaller drop rate of data packets; the others are ACKs, which are dropped where data would be marked",
        ),
    ):
        yield over_mecn("rises").difference(
            measure,
            key=f"fig6.{key}",
            text=f"Where the load rises AMECN has {text}: the difference to MECN over the whole run.",
            paper_value=said,
            rule=Below(),
        )


over_ared = partial(Comparison.on, ours="AMECN", theirs="ARED")
ARED_ON_DUMBBELL = over_ared(ON_DUMBBELL, readings=OPEN.touching("AMECN", "ARED", where=DUMBBELL))
ARED_ON_LOT = over_ared(ON_LOT, readings=OPEN.touching("AMECN", "ARED", where=PARKING_LOT))


def at_equal_delay(x: Quantity, y: Quantity, scale: float, gather: Callable[..., Any] = np.mean) -> Values:
    """AMECN's y minus ARED's at equal delays x: the mean, or the least, over their common range."""

    def values(runs: Runs) -> Sequence[float]:
        differences = at_equal(runs, x, y, "target_ms", {"aqm": "AMECN"}, {"aqm": "ARED"})
        return [float(v) for v in scale * gather(differences, axis=1)]

    return values


def throughput_claims() -> Iterator[Claim]:
    """Figure 9."""
    for key, text, gather in (
        (
            "utilization",
            "AMECN has the higher throughput at the same average delay: the difference in utilization to ARED at "
            "equal mean queues, over the range that both reach (curves interpolated).",
            np.mean,
        ),
        ("least", "AMECN's curve lies above ARED's all along: the least of those differences over the range.", np.min),
    ):
        yield ARED_ON_DUMBBELL.claim(
            key=f"fig9.{key}",
            text=text,
            paper_value="higher",
            unit="percentage points",
            values=at_equal_delay("queue_mean_pkts", "utilization", 100, gather),
            rule=Above(),
        )
    yield ARED_ON_DUMBBELL.difference(
        UTILIZATION,
        key="fig9.target",
        text="AMECN has the higher throughput for a given target delay: the difference in utilization to ARED, mean "
        "over the targets.",
        paper_value="higher",
        rule=Above(),
    )


def in_packets(run: Run) -> float:
    """The mean queue over the target delay, both in packets."""
    return (run.metrics["queue_mean_pkts"] or 0.0) / target_pkts(run)


def in_time(run: Run) -> float:
    """The time that data packets wait, over the target delay."""
    return 1e3 * (run.metrics["data_delay_mean_s"] or 0.0) / float(run.labels["target_ms"])


def miss(runs: Runs, aqm: str, ratio: Callable[[Run], float]) -> NDArray[np.float64]:
    """|measured/target − 1| in percent, the mean over the targets."""
    each = [runs.values(ratio, aqm=aqm, target_ms=at) for at in runs.labels("target_ms")]
    found: NDArray[np.float64] = 100 * np.mean(np.abs(np.array(each) - 1), axis=0)
    return found


def misses(aqm: str, ratio: Callable[[Run], float]) -> Values:
    """A claim's values: `miss` for one discipline."""
    return lambda runs: list(miss(runs, aqm, ratio))


def slope(runs: Runs) -> Sequence[float]:
    """Least-squares slope of the measured over the target delay, for the only discipline."""
    targets = runs.labels("target_ms")
    x = np.array([float(at) * 1e-3 * DUMBBELL_PKTS_S for at in targets])
    y = np.array([runs.values("queue_mean_pkts", target_ms=at) for at in targets])
    return [float(v) for v in np.polyfit(x, y, 1)[0]]


def target_claims() -> Iterator[Claim]:
    """Figure 10."""
    for aqm in ("AMECN", "ARED"):
        close = f"{aqm}'s measured delay is very close to the target, within 10 %:"
        ratios: tuple[tuple[str, str, Callable[[Run], float]], ...] = (
            ("", "|measured/target − 1|, mean over the targets, delays as the mean queue in packets.", in_packets),
            (".time", "the same measure, delays as the time that data packets wait.", in_time),
        )
        of_one = partial(
            Claim, exhibit="fig10", cases=ON_DUMBBELL.only(aqm), readings=OPEN.touching(aqm, where=DUMBBELL)
        )
        for suffix, text, ratio in ratios:
            yield of_one(
                key=f"fig10.{aqm.lower()}{suffix}",
                text=f"{close} {text}",
                paper_value="very closely",
                unit="%",
                values=misses(aqm, ratio),
                rule=Below(10.0),
            )
        yield of_one(
            key=f"fig10.{aqm.lower()}.slope",
            text=f"A target that is one packet higher raises {aqm}'s measured delay by 0.9 to 1.1 packets: figure 10's "
            "slope.",
            paper_value="close to 1",
            unit="packets/packet",
            values=slope,
            rule=Within(0.9, 1.1),
        )
    yield ARED_ON_DUMBBELL.claim(
        key="fig10.closer",
        text="AMECN keeps to the target no worse than ARED: the difference in |measured/target − 1|, mean over the "
        "targets, delays in packets.",
        paper_value="both very closely",
        unit="percentage points",
        values=lambda runs: list(miss(runs, "AMECN", in_packets) - miss(runs, "ARED", in_packets)),
        rule=Below(),
    )


def three_links_claims() -> Iterator[Claim]:
    """Figure 12."""
    for key, measure, said, text in (
        (
            "throughput",
            TOTAL,
            "higher",
            "With three congested links AMECN has the higher overall throughput at the same summed queueing delay",
        ),
        (
            "long",
            LONG,
            "not given",
            "Beyond the paper: of that throughput the flows over two or three links get more, too",
        ),
    ):
        yield ARED_ON_LOT.claim(
            key=f"fig12.{key}",
            text=f"{text}: the difference to ARED over the range of delays that both reach (curves interpolated).",
            paper_value=said,
            unit=measure.unit,
            values=at_equal_delay(summed_delay_ms, measure.quantity, measure.scale),
            rule=Above(),
        )


CLAIMS = (
    *load_claims("rises", "fig5", "fig6", (94.5, 96.3)),
    *rise_claims(),
    *load_claims("falls", "fig7", "fig8", (93.4, 94.5)),
    *throughput_claims(),
    *target_claims(),
    *three_links_claims(),
)
