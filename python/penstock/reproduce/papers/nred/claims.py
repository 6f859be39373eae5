"""NRED: the claims of the paper as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.reproduce.comparisons import Comparison, difference
from penstock.reproduce.grids import Grid
from penstock.reproduce.measures import DELAY, LOSS
from penstock.reproduce.model import Above, Below, Claim, Within
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
    profiles,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.reproduce.runs import Run, Runs


def compared(grid: Grid, ours: str, theirs: str, at: Sequence[int] | None = None) -> Comparison:
    """Two of the disciplines on a grid."""
    return Comparison.on(grid, ours, theirs, at=at, readings=OPEN.touching(ours, theirs))


def nred_against(other: str) -> Iterator[Claim]:
    """What the paper says of NRED and one of the others."""
    name = other.lower()
    yield compared(OVER_BUFFER, "NRED", other, LARGE_KB).percent(
        DELAY,
        key=f"fig3.large-{name}",
        text=f"At larger buffers NRED has the lower delay: NRED's mean over 80…140 KB, less {other}'s, is below 0.",
        paper_value="lower",
        rule=Below(),
    )
    yield compared(OVER_BUFFER, "NRED", other, (20,)).percent(
        DELAY,
        key=f"fig3.small-{name}",
        text=f"At a small buffer (20 KB) the delays do not differ much: NRED's is within ±10 % of {other}'s.",
        paper_value="not much difference",
        rule=Within(-10, 10),
    )
    yield compared(OVER_BUFFER, "NRED", other).difference(
        LOSS,
        key=f"fig4.loss-{name}",
        text=f"NRED loses less: its loss ratio less {other}'s, mean over 20…140 KB, is below 0.",
        paper_value="lower",
        rule=Below(),
    )
    yield compared(OVER_LOAD, "NRED", other, (20,)).percent(
        DELAY,
        key=f"fig5.few-{name}",
        text=f"With few connections (N = 20) NRED's delay is much lower: at least 20 % below {other}'s.",
        paper_value="much smaller",
        rule=Below(-20),
    )
    yield compared(OVER_LOAD, "NRED", other).difference(
        LOSS,
        key=f"fig6.loss-{name}",
        text=f"NRED suffers the least loss: its loss ratio less {other}'s, mean over N = 20…100, is below 0.",
        paper_value="lower",
        rule=Below(),
    )

    def growth(runs: Runs) -> Sequence[float]:
        few, many = (runs.where(N=n).difference(LOSS.quantity, {"aqm": "NRED"}, {"aqm": other}) for n in (20, 100))
        return [float(v) for v in LOSS.scale * (many - few)]

    yield compared(OVER_LOAD, "NRED", other, (20, 100)).claim(
        key=f"fig6.growing-{name}",
        text=f"The advantage in loss grows with N: NRED's loss ratio less {other}'s is lower at N = 100 than at "
        "N = 20.",
        paper_value="better as N grows",
        unit="percentage points",
        values=growth,
        rule=Below(),
    )


def equation_1(avg: NDArray[Any] | float, n: float) -> Any:
    """The paper's eq. (1) with the parameters of Fig. 1."""
    min_th = BOTH["min_th"]
    return np.clip((avg - min_th) / (FLOOD_BUFFER - min_th), 0.0, 1.0) ** n


def off_equation_1(runs: Runs) -> Sequence[float]:
    """A seed's largest distance of a published probability from eq. (1)."""

    def off(run: Run, n: float) -> float:
        return float(np.max(np.abs(run.recorded("p_b") - equation_1(run.recorded("avg_pkts"), n))))

    return [max(off(run, n) for n in PROFILE_N for run in runs.where(n=n) if run.seed == seed) for seed in runs.seeds]


CLAIMS = (
    Claim(
        key="fig1.profile",
        text="The code's profile is equation (1): the largest distance of a published probability from it, "
        "n = 1, 2, 5.",
        exhibit="fig1",
        paper_value="((avg − min_th)/(B − min_th))^n",
        unit="probability",
        cases=profiles,
        values=off_equation_1,
        rule=Within(-1e-9, 1e-9),
    ),
    Claim(
        key="section2.exponent",
        text="The heavier the load, the lower n: its mean over a run is higher at N = 20 than at N = 100, by more than "
        "half a step.",
        exhibit="section2",
        paper_value="n decreases as load gets heavier",
        unit="of n",
        cases=EXPONENTS.only(at=(20, 100)),
        values=difference(mean_exponent, {"N": 20}, {"N": 100}),
        rule=Above(0.5),
        readings=OPEN.keyed("rfc", "n_max=3", "n_max=10", "n_0=1"),
    ),
    *(claim for pair in zip(nred_against("DropTail"), nred_against("RED"), strict=True) for claim in pair),
    compared(OVER_BUFFER, "RED", "DropTail", (20,)).percent(
        DELAY,
        key="fig3.small-red-droptail",
        text="At a small buffer (20 KB) RED's delay is within ±10 % of DropTail's.",
        paper_value="not much difference",
        rule=Within(-10, 10),
    ),
    compared(OVER_LOAD, "RED", "DropTail").percent(
        DELAY,
        key="fig5.red-droptail",
        text="RED's and DropTail's delays do not show a large difference: RED's mean over N = 20…100 is within ±20 % "
        "of DropTail's.",
        paper_value="no large difference",
        rule=Within(-20, 20),
    ),
)
