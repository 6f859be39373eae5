"""States what is asked of the repairs, as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.judging.rules import Above, Below
from penstock.reproduce.comparisons import Comparison, of_one_case
from penstock.reproduce.grids import Grid
from penstock.reproduce.model import Claim, MostBelow, Rule
from penstock.reproduce.repairs.exhibits import MEASURES, OFF_TARGET, THROUGHPUT, back_s
from penstock.reproduce.repairs.scenarios import (
    AMECN,
    LOAD_CHANGES,
    NRED,
    OVER_M,
    OVER_N,
    OVER_N_ECN,
    OVER_RANGE,
    OVER_SOURCES,
    RARED,
    RED_AT,
    Repair,
    names,
)

#: How many seeds a claim takes at most: over a paper's own experiments, and over the range.
OWN_SEEDS, RANGE_SEEDS = 20, 10

#: Measure → what is asked, whether in percent of the other's, and when it holds.
ASKED: Mapping[str, tuple[str, bool, Rule]] = {
    "delay": ("a lower mean delay", True, Below()),
    "goodput": ("at most one percent less goodput", True, Above(-1.0)),
    "throughput": ("at most one percent less throughput", True, Above(-1.0)),
    "loss": ("fewer losses", False, Below()),
    "jitter": ("a lower standard deviation of the delay", True, Below()),
}


#: What RARED's paper measures is the throughput: where flows of the other direction share the link,
#: the goodput of forward flows is another quantity.
WITH_GOODPUT, WITH_THROUGHPUT = (
    ("delay", "goodput", "loss", "jitter"),
    ("delay", "throughput", "loss", "jitter"),
)


def against(
    repair: Repair, grid: Grid, exhibit: str, said: str, most: int, measures: Sequence[str] = WITH_GOODPUT
) -> Iterator[Claim]:
    """Yields the repair against its original and the others by every measure, at every point."""
    for other in names(repair)[1:]:
        versus = Comparison.on(grid, repair.name, other)
        for key in measures:
            what, percent, rule = ASKED[key]
            yield (versus.percent if percent else versus.difference)(
                THROUGHPUT if key == "throughput" else MEASURES[key],
                key=f"{exhibit}.{key}-{other.lower()}",
                text=f"{repair.name} has {what} than {other} {said}.",
                paper_value="not in the paper",
                of="project",
                exhibit=exhibit,
                rule=rule,
                most=most,
            )


def back_key(name: str) -> str:
    """Returns the claim about the way back under a discipline."""
    return f"rises.back-{name.lower().replace(' ', '-')}"


def back() -> Iterator[Claim]:
    """Yields what the repair of AMECN is for: the way back to the target after the load has risen."""
    for name in names(AMECN):
        yield Claim(
            key=back_key(name),
            text=f"After the load rises the queue under {name} is back in the target range of 9 to 12 packets within "
            "15 s: the time until the mean queue over the next 5 s is in it.",
            exhibit="rises",
            paper_value="not in the paper",
            of="project",
            unit="% of the runs",
            cases=LOAD_CHANGES.only(name, at=("rises",)),
            values=of_one_case(back_s),
            rule=MostBelow(15.0),
            most=OWN_SEEDS,
        )
    for other in names(AMECN)[1:]:
        versus = Comparison.on(LOAD_CHANGES, AMECN.name, other)
        yield versus.difference(
            OFF_TARGET,
            key=f"own.target-{other.lower()}",
            text=f"From 15 s after the load changes {AMECN.name} is nearer to the middle of the target than {other}: "
            "the distance of its mean queue less the other's is below 0.",
            paper_value="not in the paper",
            of="project",
            rule=Below(),
            most=OWN_SEEDS,
        )


_RANGE = "at each point of the range"


def _claims(repair: Repair, *own: tuple[Grid, str, str], measures: Sequence[str] = WITH_GOODPUT) -> Sequence[Claim]:
    claims = [
        claim for grid, exhibit, said in own for claim in against(repair, grid, exhibit, said, OWN_SEEDS, measures)
    ]
    return [*claims, *against(repair, OVER_RANGE[repair.original], "range", _RANGE, RANGE_SEEDS)]


CLAIMS: Mapping[str, Sequence[Claim]] = {
    AMECN.original: (*back(), *_claims(AMECN, (LOAD_CHANGES, "own", "where the load rises and where it falls"))),
    RARED.original: _claims(RARED, (OVER_M, "own", "for every m"), measures=WITH_THROUGHPUT),
    NRED.original: _claims(
        NRED, (OVER_N, "own", "for every N, with drops"), (OVER_N_ECN, "own-ecn", "for every N, with ECN")
    ),
    RED_AT.original: _claims(RED_AT, (OVER_SOURCES, "own", "for every N")),
}
