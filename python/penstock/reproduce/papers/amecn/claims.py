"""AMECN: the claims of the paper as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from penstock.judging.rules import Above, Below, Within
from penstock.reproduce.comparisons import (
    Comparison,
    Values,
    difference,
    of_one_case,
)
from penstock.reproduce.measures import LOSS, Measure
from penstock.reproduce.model import Claim, MostBelow, Numbers, Sense
from penstock.reproduce.papers.amecn.claims_ared import (
    GOODPUT,
    plain,
    target_claims,
    three_links_claims,
    throughput_claims,
)
from penstock.reproduce.papers.amecn.exhibits import (
    UTILIZATION,
    after_change,
    before_change,
    off_target,
    percent_received,
    percent_used,
    reaches_s,
    return_s,
    settled_avg,
)
from penstock.reproduce.papers.amecn.scenarios import (
    ADAPTATIONS,
    LOAD_CHANGE,
    OPEN,
    OVER_P_MAX,
    TARGET,
    load_changes,
)
from penstock.reproduce.readings import Reading

if TYPE_CHECKING:
    from penstock.reproduce.runs import Quantity, Run, Runs

#: What section 2.1 prints of packets above max_th, and what ns-2 did in the paper's years.
BOTH = OPEN.joint("mark_p=0.1", "above_max=drop")


def changing(*aqms: str) -> tuple[Reading, ...]:
    """Returns the readings of section 4.2 that change these disciplines."""
    return (*OPEN.touching(*aqms, where=LOAD_CHANGE), BOTH)


def pair(quantity: Quantity, theirs: str) -> Values:
    """Returns AMECN's quantity less that of `theirs`."""
    return difference(quantity, {"aqm": "AMECN"}, {"aqm": theirs})


# ---- sections 2 and 3: what the algorithm does by itself


def in_steady_state(runs: Runs) -> Numbers:
    """Returns MECN's average less mid_th, with 2 flows (10 to 25 s) and with 22 (40 to 50 s)."""
    return {
        name: [float(value) - 10.0 for value in runs.values(quantity)]
        for name, quantity in (("2 flows", before_change), ("22 flows", settled_avg))
    }


def exponent(quantity: Callable[[Run], float], less: float = 0.0) -> Values:
    """Returns the exponent k of avg ∝ P_max^k, least squares over P_max, seed by seed. less: taken from avg."""

    def values(runs: Runs) -> Sequence[float]:
        at = [float(p) for p in runs.labels("p_max")]
        avg = np.array([runs.values(quantity, p_max=p) for p in at]) - less
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = np.log(np.where(avg > 0, avg, np.nan))
        if not np.isfinite(logs).all():
            return [float("nan")] * logs.shape[1]
        return [float(k) for k in np.polyfit(np.log(at), logs, 1)[0]]

    return values


def algorithm_claims() -> Iterator[Claim]:
    """Yields the claims of sections 2.3 and 3.1: what the average is in a steady state."""
    of_mecn = changing("MECN")
    yield Claim(
        key="fig5.mid_th",
        text="MECN's steady-state average is above mid_th: the mean of avg less 10 packets, with 2 flows and with 22.",
        exhibit="fig5",
        paper_value="larger than mid_th",
        place="section 2.3",
        unit="packets",
        cases=load_changes("rises", "MECN"),
        values=in_steady_state,
        rule=Above(),
        readings=of_mecn,
    )
    yield Claim(
        key="eq2.inverse",
        text="The average queue is inversely proportional to P_max: the exponent k of avg ∝ P_max^k with 22 flows "
        "under MECN is −1, within 0.2.",
        exhibit="eq2",
        paper_value="proportional to 1/P_max",
        place="section 3.1, equation (2)",
        unit="as an exponent",
        cases=OVER_P_MAX,
        values=exponent(settled_avg),
        rule=Within(-1.2, -0.8),
        printed=-1.0,
        readings=tuple(each for each in of_mecn if not each.key.startswith("p_max=")),
        senses=(
            Sense(
                reading=Reading("above-min_th", "As equation (1) has it: the average less min_th of 5 packets."),
                values=exponent(settled_avg, less=5.0),
                printed=-1.0,
            ),
            Sense(
                reading=Reading("2-flows", "With the 2 flows of the first 25 s, not with 22."),
                values=exponent(before_change),
                printed=-1.0,
            ),
        ),
    )


def step_claims() -> Iterator[Claim]:
    """Yields the claims of sections 3.2 and 3.3.2: how fast P_max moves."""
    for way, words, seconds in (("rises", "from 0.01 to 0.5", 24.5), ("falls", "from 0.5 to 0.01", 20.1)):
        name = f"fig3.{way}"
        yield Claim(
            key=name,
            text=f"With ARED's fixed steps P_max takes {seconds} s {words} (±10 %), under a load that does not answer.",
            exhibit="fig3",
            paper_value=f"{seconds} s",
            place="section 3.3.2",
            unit="s",
            cases=ADAPTATIONS.only("ARED", at=(way,)),
            values=of_one_case(reaches_s),
            rule=Within(round(0.9 * seconds, 2), round(1.1 * seconds, 2)),
            printed=seconds,
        )
        yield Claim(
            key=f"{name}.faster",
            text=f"AMECN's own steps take P_max {words} sooner than ARED's: the difference of the two times.",
            exhibit="fig3",
            paper_value="faster",
            place="sections 3.2 and 3.3.2",
            unit="s",
            cases=ADAPTATIONS.only("AMECN", "ARED", at=(way,)),
            values=pair(reaches_s, "ARED"),
            rule=Below(),
            readings=OPEN.keyed("alpha_scale=0.17", "deadband=false", "beta_floor=0.83"),
        )


# ---- section 4.2: the load changes


def load_claims(load: str, mecn: str, amecn: str, levels: tuple[float, float]) -> Iterator[Claim]:
    """Yields what section 4.2 says of both changes. levels: the paper's utilizations in percent."""
    yield from return_claims(load, amecn)
    yield from level_claims(load, mecn, amecn, levels)
    yield from motion_claims(load, mecn, amecn)


def of_figure(figure: str) -> str:
    """Returns the place in the paper: `"section 4.2, figure 6"`."""
    return f"section 4.2, figure {figure[3:]}"


def return_claims(load: str, amecn: str) -> Iterator[Claim]:
    """Yields the claims that AMECN returns to its target range."""
    readings = changing("AMECN")
    of_amecn = partial(
        Claim, exhibit=amecn, place=of_figure(amecn), cases=load_changes(load, "AMECN"), readings=readings
    )
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
        text=f"After the load {load} AMECN brings its average back into the target range within about 15 s (here: 18), "
        "in most runs: the time until the mean of avg over the next 5 s is in the range.",
        paper_value="about 15 s",
        unit="% of the runs",
        values=of_one_case(return_s),
        rule=MostBelow(18.0),
    )


def level_claims(load: str, mecn: str, amecn: str, levels: tuple[float, float]) -> Iterator[Claim]:
    """Yields the claims about the throughputs, as levels and against each other."""
    yield over(load, "MECN").difference(
        UTILIZATION,
        key=f"{amecn}.throughput",
        text=f"AMECN has a slightly higher throughput than MECN where the load {load}: the difference in utilization "
        "over the whole run.",
        paper_value=f"{levels[1]} % against {levels[0]} %",
        place=of_figure(amecn),
        rule=Above(),
        printed=round(levels[1] - levels[0], 1),
        senses=(
            Sense(
                reading=GOODPUT,
                values=pair(percent_received, "MECN"),
                printed=round(levels[1] - levels[0], 1),
            ),
        ),
    )
    for figure, aqm, level in ((mecn, "MECN", levels[0]), (amecn, "AMECN", levels[1])):
        yield Claim(
            key=f"{figure}.level",
            text=f"{aqm}'s throughput where the load {load} is {level} % of the link's rate, within one percentage "
            "point.",
            exhibit=figure,
            paper_value=f"{level} %",
            place=of_figure(amecn),
            unit="%",
            cases=load_changes(load, aqm),
            values=of_one_case(percent_used),
            rule=Within(level - 1, level + 1),
            printed=level,
            readings=changing(aqm),
            senses=(Sense(reading=GOODPUT, values=of_one_case(percent_received), printed=level),),
        )


def motion_claims(load: str, mecn: str, amecn: str) -> Iterator[Claim]:
    """Yields the claims about how the averages follow the load."""
    yield Claim(
        key=f"{mecn}.follows",
        text=f"MECN's average follows the load: where that {load}, avg from 40 to 50 s less avg from 10 to 25 s.",
        exhibit=mecn,
        paper_value="rises" if load == "rises" else "decreases",
        place=of_figure(mecn),
        unit="packets",
        cases=load_changes(load, "MECN"),
        values=of_one_case(after_change),
        rule=Above() if load == "rises" else Below(),
        readings=changing("MECN"),
    )
    yield over(load, "MECN").claim(
        key=f"{amecn}.steady",
        text=f"AMECN keeps the average steadier than MECN where the load {load}: by how much avg from 40 to 50 s "
        "differs from that of 10 to 25 s, AMECN's less MECN's.",
        paper_value="a steady average",
        place=of_figure(amecn),
        unit="packets",
        values=pair(lambda run: abs(after_change(run)), "MECN"),
        rule=Below(),
    )
    yield over(load, "ARED").claim(
        key=f"{amecn}.sensitivity",
        text=f"AMECN answers a change faster than ARED: from 15 s after the load {load} its average is nearer to the "
        "middle of the target range (avg from 40 to 50 s, distance from 10.5 packets, AMECN's "
        "less ARED's).",
        paper_value="better sensitivity than ARED",
        place="section 3.2",
        unit="packets",
        values=pair(off_target, "ARED"),
        rule=Below(),
    )


def over(load: str, theirs: str) -> Comparison:
    """Compares AMECN with another discipline where the load changes."""
    readings = changing("AMECN", theirs)
    grid = load_changes(load, "AMECN", theirs)
    return Comparison(cases=grid, ours="AMECN", theirs=theirs, along=None, readings=readings)


def rise_claims() -> Iterator[Claim]:
    """Yields what section 4.2 says of the rise alone."""
    place = "section 4.2, figure 6"
    yield over("rises", "MECN").difference(
        Measure(quantity="avg_queue_mean_pkts", unit="packets"),
        key="fig6.avg",
        text="Where the load rises AMECN has a slightly lower average queue: the mean of avg over the whole run, less "
        "MECN's.",
        paper_value="slightly lower",
        place=place,
        rule=Below(),
        senses=(
            Sense(
                reading=Reading("queue", "The queue itself, not its moving average."),
                values=pair("queue_mean_pkts", "MECN"),
            ),
        ),
    )
    yield over("rises", "MECN").difference(
        LOSS,
        key="fig6.drops",
        text="Where the load rises AMECN drops a smaller share of the packets than MECN, over the whole run.",
        paper_value="smaller",
        place=place,
        rule=Below(),
        senses=(
            Sense(
                reading=Reading(
                    "data",
                    "Of data packets alone. The others are ACKs, which are dropped where data would be marked.",
                ),
                values=lambda runs: [100 * v for v in plain(pair("data_loss_ratio", "MECN")(runs))],
            ),
        ),
    )


CLAIMS = (
    *algorithm_claims(),
    *step_claims(),
    *load_claims("rises", "fig5", "fig6", (94.5, 96.3)),
    *rise_claims(),
    *load_claims("falls", "fig7", "fig8", (93.4, 94.5)),
    *throughput_claims(),
    *target_claims(),
    *three_links_claims(),
)
