"""Defines what a reproduction is made of: exhibits, claims and readings.

An exhibit is a figure or a table of the paper. A claim is a sentence of the paper as a number. A
reading is one way to understand what the paper leaves open: where the text is silent or unclear,
the default reading is what the specification settles on, and a claim is judged again under others.

A paper is one module of `penstock.reproduce.papers` that reads like the paper's evaluation section.
It builds scenarios, says how each exhibit is drawn, and says what each claim is as a number. It
does not run, keep, judge or report anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from penstock.judging.estimate import Estimate
from penstock.judging.rules import Above, Below, Within
from penstock.reproduce.readings import Reading, Readings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from penstock.model.scenario import Scenario
    from penstock.reproduce.runs import Labels, Runs


#: How many seeds a claim has been judged on when it is looked at, until it is decided.
LOOKS = (10, 20, 50, 100, 200)

#: The same of a quick reproduction.
QUICK_LOOKS = (5,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much to run.

    looks: after how many seeds, from seed 1 on, a claim is judged. Once it is decided, it takes no
        more. Exhibits are drawn from the first of these numbers.
    joint: the most seeds under the nearest joint reading; 0: it is not judged.
    single: the seeds under each single reading, which says whether a verdict turns.
    quick: no reading is judged by itself. The cases are the same: with fewer of them, or shorter
        ones, claims would be about another experiment.
    hosts: today's hosts whose TCP every claim is judged again with, of `penstock.model.hosts.HOSTS`.
    """

    looks: Sequence[int] = LOOKS
    joint: int = 50
    single: int = 5
    quick: bool = False
    hosts: Sequence[str] = ()

    @staticmethod
    def of_seeds(seeds: int) -> Settings:
        """Returns the settings in which everything runs with that many seeds."""
        return Settings(looks=(seeds,), joint=seeds, single=seeds)

    def quickly(self, nearest: bool = False) -> Settings:
        """Returns the same settings without the readings one by one, and without the joint one unless `nearest`."""
        return replace(self, joint=self.joint if nearest else 0, quick=True)

    @property
    def seeds(self) -> int:
        """The seeds of every exhibit; of some cases there are more."""
        return self.looks[0]

    def up_to(self, most: int) -> Sequence[int]:
        """Returns the looks up to so many seeds; the first one always."""
        return [look for i, look in enumerate(self.looks) if i == 0 or look <= most]


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario of an exhibit or a claim, run once with each seed.

    labels: what tells it apart from the others.
    scenario: what is run; its own seed does not matter.
    trace_s: the sampling interval of the queue's series in seconds, where the exhibit shows time;
        `None` records nothing.
    windows: the flows' congestion windows are recorded, too, at the same interval.
    """

    labels: Labels
    scenario: Scenario
    trace_s: float | None = None
    windows: bool = False


#: The cases of an exhibit or a claim under a reading.
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
class MostBelow:
    """The claim is that the quantity is below `bound` in most runs.

    It is for a time until something happens, which is infinite in a run in which it never does. The
    share of the runs is judged against one half.
    """

    bound: float


Rule: TypeAlias = Above | Below | Within | MostBelow

#: Whose a claim is. `"paper"`: the paper says it. `"project"`: we ask beyond the paper. `"check"`:
#: it checks our code or says how near our reading comes. The headline counts the paper's alone.
Whose: TypeAlias = Literal["paper", "project", "check"]

#: One number a seed in the order of the seeds, or this for every point of an axis: a claim about a
#: whole axis holds where it holds at each point. A number that does not apply in a run is NaN.
Numbers: TypeAlias = Sequence[float] | Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sense:
    """Another sense of a claim's words: another quantity of the same runs.

    "Throughput" may be what crosses the link or what arrives at the receivers. The claim is one, and
    each sense is a reading of it.

    unit, rule, printed: where they are not the claim's own.
    """

    reading: Reading
    values: Callable[[Runs], Numbers]
    unit: str | None = None
    rule: Rule | None = None
    printed: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the paper as a number.

    key: `"fig9.utilization"`, unique within the paper.
    text: the claim in plain words, with what is measured.
    exhibit: the exhibit it is about, for the link.
    paper_value: the paper's number or word: `"96.3 % against 94.5 %"`, `"higher"`.
    place: where the paper says it: `"section 4.2, figure 6"`. Empty where it is not the paper's.
    of: whose claim it is.
    unit: of the estimate: `"packets"`, `"percentage points"`.
    cases: what is run for it (most often a part of its exhibit's cases).
    values: a quantity, or a paired difference (the same seed on both sides).
    rule: when it holds; `None`: it is a distance that is shown and not judged.
    printed: what the estimate is where the paper is right to the digit: 1.8 for 96.3 against 94.5.
        `None` where the paper gives no number.
    readings: under which readings besides the default it is judged again.
    senses: what else its words may mean.
    most: how many seeds it takes at most, however undecided it is; `None`: all of `Settings.looks`.
    """

    key: str
    text: str
    exhibit: str
    paper_value: str
    place: str = ""
    of: Whose = "paper"
    unit: str
    cases: Cases
    values: Callable[[Runs], Numbers]
    rule: Rule | None
    printed: float | None = None
    readings: Sequence[Reading] = ()
    senses: Sequence[Sense] = ()
    most: int | None = None

    def under(self, reading: Reading) -> Callable[[Runs], Numbers]:
        """Returns what is measured under a reading: that of the sense which it names, else the claim's."""
        return next((sense.values for sense in self.senses if sense.reading == reading), self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The joint reading that comes nearest to the paper, and how it was found.

    tried: joint readings that were run; possible: all that contradict no other.
    seeds: those that it was chosen on. The report's are others.
    score: what it was chosen by, of it and of the default reading: how many of the paper's claims
        lie on the wrong side, and the mean distance from the printed numbers in percent.
    """

    reading: Reading
    tried: int
    possible: int
    seeds: Sequence[int]
    score: tuple[int, float | None]
    default_score: tuple[int, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How a report begins that is of no papers.

    title: the page's. text: what was done; `{seeds}` stands for how many. mark: what a mark is, up to the counts.
    source: who claims what a mark is about.
    """

    title: str
    text: str
    mark: str
    source: str = "paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper's reproduction.

    key: on the command line: `"amecn"`.
    name: in tables and headings: `"AMECN"`.
    citation: authors, title, year. bibtex: the same as an entry of BibTeX.
    exhibits, claims: in the paper's order.
    unstated: what the paper leaves out and how it was read, one sentence each.
    readings: what the paper leaves open, where joint readings are to be searched.
    nearest: the joint reading that comes nearest to the paper, where a search has found one.
    headline: whose claims are counted; `"project"` for what is no paper but a repair of ours.
    opening: how its report begins, where it is no paper; of several, all have the same.
    looks: after how many seeds its claims are judged, where its runs are too dear for the usual.
    believe: returns one sentence that says what to believe of the paper. It takes the findings under
        the default reading (claim → finding); those of the nearest joint reading, where there is one,
        have `"@"` before their keys.
    discussion: returns what was found, in plain words. It takes the same findings, so that it never
        says what the numbers do not. An empty line ends a paragraph; `**words**` are emphasised.
    """

    key: str
    name: str
    citation: str
    exhibits: Sequence[Exhibit]
    claims: Sequence[Claim]
    bibtex: str = ""
    unstated: Sequence[str] = ()
    readings: Readings[Any] | None = None
    nearest: Nearest | None = None
    headline: Whose = "paper"
    opening: Opening | None = None
    looks: Sequence[int] = LOOKS
    believe: Callable[[Mapping[str, Finding]], str] = field(default=lambda found: "")
    discussion: Callable[[Mapping[str, Finding]], str] = field(default=lambda found: "")


@dataclass(frozen=True, slots=True)
class Point:
    """A claim at one point of its axis: the mean over the seeds, its interval, and the verdict."""

    at: str
    estimate: float | None
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim judged under one reading.

    estimate, low, high: the mean over the seeds and its 99 % interval (Student's t, on a scale that
        keeps to the quantity's bounds); `None` where there is none. Of a claim about every point of
        an axis it is the mean over the points; of one about most runs the share of these in percent.
    n: seeds.
    verdict: `"holds"`, `"does not hold"`, `"undecided"`, `"cannot tell"` where the runs that are
        compared are the same, or `"not judged"`.
    printed: what the estimate is where the paper is right to the digit, or `None`.
    points: of a claim about every point of an axis.
    note: what the numbers do not say: `"never in 10 of 10"`, `"the runs are identical"`, or empty.
    """

    paper: str
    claim: Claim
    reading: Reading
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    verdict: str
    unit: str
    rule: Rule | None
    printed: float | None = None
    points: Sequence[Point] = ()
    note: str = ""

    @property
    def interval(self) -> Estimate:
        """The mean with the half-width of its interval."""
        half = None if self.low is None or self.high is None else (self.high - self.low) / 2
        return Estimate(self.estimate, half, self.n, self.low, self.high)

    @property
    def size(self) -> float | None:
        """Returns how large the effect is, as a multiple of what is printed; `None` where nothing is."""
        return None if self.estimate is None or not self.printed else self.estimate / self.printed
