"""What a reproduction is made of: exhibits, claims and readings.

An exhibit is a figure or a table of the paper. A claim is a sentence of the paper as a number. A
reading is one way to understand what the paper leaves open: where the text is silent or unclear,
the default reading is what the specification settles on, and a claim is judged again under others.

A paper is one module of `penstock.reproduce.papers` that reads like the paper's evaluation section.
It builds scenarios, says how each exhibit is drawn, and says what each claim is as a number. It
does not run, keep, judge or report anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from penstock.estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from penstock.model.scenario import Scenario
    from penstock.reproduce.runs import Labels, Runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much to run.

    seeds: runs of every case, from seed 1 on.
    quick: exhibits take a coarser grid. It has fewer points, never shorter runs: a shorter run is
        another experiment.
    """

    seeds: int
    quick: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read what a paper leaves open.

    key: short and stable, for `claims.csv` and file names: `"mark_p=0.1"`.
    text: what it takes instead of the default, in a sentence.
    """

    key: str
    text: str


#: The readings that the specification settles on.
DEFAULT = Reading("default", "As the specification settles what the paper leaves open.")


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario of an exhibit or a claim, run once with each seed.

    labels: what tells it apart from the others.
    scenario: what is run; its own seed does not matter.
    trace_s: the sampling interval of the queue's series in seconds, where the exhibit shows time;
        `None` records nothing.
    """

    labels: Labels
    scenario: Scenario
    trace_s: float | None = None


#: The cases of an exhibit or a claim under a reading. `Settings.quick` may thin the grid.
Cases: TypeAlias = Callable[[Settings, Reading], Iterable[Case]]


@dataclass(frozen=True, slots=True)
class TableData:
    """A table of an exhibit, its numbers already rounded. The first column names the rows."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """A figure or table of the paper.

    key: `"fig9"`, `"table1"`.
    title: the paper's title of it, in our words.
    cases: what is run for it.
    show: draws it from the runs. It returns a matplotlib `Figure` (made under `penstock.style`) or
        a `TableData`.
    caption: what is seen and which readings were taken; seeds and version are added.
    """

    key: str
    title: str
    cases: Cases
    show: Callable[[Runs], Figure | TableData]
    caption: str


@dataclass(frozen=True, slots=True)
class Above:
    """The claim is that the quantity is above `bound`."""

    bound: float = 0.0


@dataclass(frozen=True, slots=True)
class Below:
    """The claim is that the quantity is below `bound`."""

    bound: float = 0.0


@dataclass(frozen=True, slots=True)
class Within:
    """The claim is that the quantity lies in [low, high].

    "The same" is a margin around 0, which the claim states.
    """

    low: float
    high: float


Rule: TypeAlias = Above | Below | Within


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the paper as a number.

    key: `"fig9.utilization"`, unique within the paper.
    text: the claim in plain words, with what is measured.
    exhibit: the exhibit it is about, for the link.
    paper_value: the paper's number or word: `"96.3 % against 94.5 %"`, `"higher"`.
    unit: of the estimate: `"packets"`, `"percentage points"`.
    cases: what is run for it (most often a part of its exhibit's cases).
    values: returns one number a seed, in the order of the seeds: a quantity, or a paired difference
        (the same seed on both sides).
    rule: when it holds.
    readings: under which readings besides the default it is judged again.
    """

    key: str
    text: str
    exhibit: str
    paper_value: str
    unit: str
    cases: Cases
    values: Callable[[Runs], Sequence[float]]
    rule: Rule
    readings: Sequence[Reading] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper's reproduction.

    key: on the command line: `"amecn"`.
    name: in tables and headings: `"AMECN"`.
    citation: authors, title, year.
    exhibits, claims: in the paper's order.
    unstated: what the paper leaves out and how it was read, one sentence each.
    discussion: returns what was found, in plain words. It takes the findings under the default
        reading (claim → finding), so that it never says what the numbers do not. An empty line
        ends a paragraph; `**words**` are emphasised.
    """

    key: str
    name: str
    citation: str
    exhibits: Sequence[Exhibit]
    claims: Sequence[Claim]
    unstated: Sequence[str] = ()
    discussion: Callable[[Mapping[str, Finding]], str] = field(default=lambda found: "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim judged under one reading.

    estimate, low, high: the mean over the seeds and its 95 % interval (Student's t); `None` where
        there is none.
    n: seeds.
    verdict: `"holds"`, `"does not hold"` or `"undecided"`.
    """

    paper: str
    claim: Claim
    reading: Reading
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    verdict: str

    @property
    def interval(self) -> Estimate:
        """The mean with the half-width of its interval."""
        half = None if self.low is None or self.high is None else (self.high - self.low) / 2
        return Estimate(mean=self.estimate, ci95=half, n=self.n)
