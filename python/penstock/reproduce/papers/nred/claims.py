"""NRED: the claims of the paper as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.judging.rules import Above, Below, Within
from penstock.reproduce.comparisons import Comparison, difference
from penstock.reproduce.grids import Grid
from penstock.reproduce.measures import DELAY, LOSS
from penstock.reproduce.model import Claim
from penstock.reproduce.papers.nred.exhibits import mean_exponent
from penstock.reproduce.papers.nred.scenarios import (
    BOTH,
    EXPONENTS,
    FLOOD_BUFFER,
    LARGE_KB,
    OPEN,
    OVER_BUFFER,
    OVER_LOAD,
    PROFILE_N,
    QUEUES,
    profiles,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.reproduce.runs import Run, Runs


def compared(grid: Grid, ours: str, theirs: str, at: Sequence[int] | None = None) -> Comparison:
    """Returns two of the disciplines on a grid."""
    return Comparison.on(grid, ours, theirs, at=at, readings=OPEN.touching(ours, theirs))


def nred_against(other: str) -> Iterator[Claim]:
    """Yields what the paper says of NRED and one of the others."""
    name = other.lower()
    yield compared(OVER_BUFFER, "NRED", other, LARGE_KB).percent(
        DELAY,
        key=f"fig3.large-{name}",
        text=f"With larger buffers NRED's mean queueing delay is lower than {other}'s: at each of "
        "80, 100, 120 and 140 KB.",
        paper_value="lower",
        place="section 3, figure 3",
        rule=Below(),
    )
    yield compared(OVER_BUFFER, "NRED", other).difference(
        LOSS,
        key=f"fig4.loss-{name}",
        text=f"NRED's packet loss is lower than {other}'s at each buffer from 20 to 140 KB.",
        paper_value="lower",
        place="section 3, figure 4",
        rule=Below(),
    )
    yield compared(OVER_LOAD, "NRED", other, (20,)).percent(
        DELAY,
        key=f"fig5.few-{name}",
        text="With few connections (N = 20) NRED's mean queueing delay is much lower than "
        f"{other}'s: by at least 20 %, a bound of ours.",
        paper_value="much smaller",
        place="section 3, figure 5",
        rule=Below(-20),
    )
    yield compared(OVER_LOAD, "NRED", other).difference(
        LOSS,
        key=f"fig6.loss-{name}",
        text=f"NRED's packet loss is lower than {other}'s at each number of connections, N = 20, 40, 60, 80 and 100.",
        paper_value="lower",
        place="section 3, figure 6",
        rule=Below(),
    )

    def growth(runs: Runs) -> Sequence[float]:
        few, many = (runs.where(N=n).difference(LOSS.quantity, {"aqm": "NRED"}, {"aqm": other}) for n in (20, 100))
        return [float(v) for v in LOSS.scale * (many - few)]

    yield compared(OVER_LOAD, "NRED", other, (20, 100)).claim(
        key=f"fig6.growing-{name}",
        text=f"NRED's advantage in packet loss over {other} grows with the number of connections: "
        f"its loss less {other}'s is lower at N = 100 than at N = 20.",
        paper_value="better as N grows",
        place="section 3, figure 6",
        unit="percentage points",
        values=growth,
        rule=Below(),
    )


def small_buffer() -> Claim:
    """Returns the claim of figure 3 that all three are about the same at a small buffer."""
    pairs = (("NRED", "DropTail"), ("NRED", "RED"), ("RED", "DropTail"))

    def values(runs: Runs) -> Mapping[str, Sequence[float]]:
        found = {}
        for ours, theirs in pairs:
            of = runs.difference(DELAY.quantity, {"aqm": ours}, {"aqm": theirs})
            base = np.mean(runs.values(DELAY.quantity, aqm=theirs))
            found[f"{ours} against {theirs}"] = [float(v) for v in 100 * of / base]
        return found

    return Claim(
        key="fig3.small",
        text="With a small buffer (20 KB) the three disciplines do not differ much in delay: each "
        "pair's mean queueing delays are within 10 % of each other, a margin of ours.",
        exhibit="fig3",
        paper_value="not much difference",
        place="section 3, figure 3",
        unit="% of the other's",
        cases=OVER_BUFFER.only(at=(20,)),
        values=values,
        rule=Within(-10, 10),
        readings=OPEN.touching(*QUEUES),
    )


def equation_1(avg: NDArray[Any] | float, n: float) -> Any:
    """Returns the paper's eq. (1) with the parameters of Fig. 1."""
    min_th = BOTH["min_th"]
    return np.clip((avg - min_th) / (FLOOD_BUFFER - min_th), 0.0, 1.0) ** n


def off_equation_1(runs: Runs) -> Sequence[float]:
    """Returns a seed's largest distance of a published probability from eq. (1)."""

    def off(run: Run, n: float) -> float:
        return float(np.max(np.abs(run.recorded("p_b") - equation_1(run.recorded("avg_pkts"), n))))

    return [max(off(run, n) for n in PROFILE_N for run in runs.where(n=n) if run.seed == seed) for seed in runs.seeds]


CLAIMS = (
    Claim(
        key="fig1.profile",
        text="The code's profile is the paper's equation (1): the largest distance of a drop "
        "probability in a run from it, with the exponent held at 1, 2 and 5.",
        exhibit="fig1",
        paper_value="((avg − min_th)/(B − min_th))^n",
        of="check",
        unit="probability",
        cases=profiles,
        values=off_equation_1,
        rule=Within(-1e-9, 1e-9),
    ),
    Claim(
        key="section2.exponent",
        text="NRED's exponent n decreases as the load gets heavier: its mean over a run is higher "
        "at N = 20 than at N = 100, by more than half of its step of 1. The bound is ours.",
        exhibit="section2",
        paper_value="n decreases as load gets heavier",
        place="section 2",
        unit="of n",
        cases=EXPONENTS.only(at=(20, 100)),
        values=difference(mean_exponent, {"N": 20}, {"N": 100}),
        rule=Above(0.5),
        readings=OPEN.touching("NRED"),
    ),
    small_buffer(),
    *(claim for pair in zip(nred_against("DropTail"), nred_against("RED"), strict=True) for claim in pair),
    compared(OVER_LOAD, "RED", "DropTail").percent(
        DELAY,
        key="fig5.red-droptail",
        text="RED's and DropTail's delays do not differ largely as connections are added: RED's "
        "mean queueing delay is within 20 % of DropTail's at N = 20, 40, 60, 80 and 100. The "
        "margin is ours.",
        paper_value="no large difference",
        place="section 3, figure 5",
        rule=Within(-20, 20),
    ),
)
