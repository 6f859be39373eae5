"""The report: one page that opens from a file, with what to believe of each paper first.

The first screen has a row for each paper and a mark for each of its claims. Below, each figure stands
beside the claims about it; tables, readings and long texts are folded. `page/report.html` is the
template, with the style and the script beside it. They go into the page, so that nothing is fetched.
The same runs give the same bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from penstock import __version__
from penstock.judging.rules import Within
from penstock.reproduce import words, worth
from penstock.reproduce.hosts import NAMES, READINGS, Compared
from penstock.reproduce.lab import links
from penstock.reproduce.model import (
    Claim,
    Exhibit,
    Finding,
    MostBelow,
    Opening,
    Paper,
    Settings,
    TableData,
)
from penstock.reproduce.readings import DEFAULT, Reading
from penstock.reproduce.verdict import CANNOT_TELL, FAILS, HOLDS, LEVEL, NOT_JUDGED, UNDECIDED
from penstock.show import palette, style
from penstock.show.pages import one_panel, templates

#: Verdict → the name of its sign and colour in the page, worst first: so the table sorts.
SIGNS = {
    FAILS: "fails",
    UNDECIDED: "undecided",
    CANNOT_TELL: "cannot-tell",
    HOLDS: "holds",
    NOT_JUDGED: "not-judged",
}
#: Room that report.css gives a drawing → the widest one, in points, whose letters are large enough there: 26 and 46rem.
ROOMS = {name: 16 * rem * style.SIZE // style.LEAST for name, rem in (("", 26), ("wide", 46))}
#: Whose a claim is, for a reader; of the paper's nothing is said.
WHOSE = {"paper": "", "project": "ours, not the paper's", "check": "a check of ours"}

#: What ends in a colon earlier is an opening such as "Case 1: ", and no claim.
OPENING = 30


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim with what was found: under the default reading, under each other, and with today's hosts."""

    paper: Paper
    claim: Claim
    id: str
    exhibit_id: str
    found: Finding
    others: Mapping[str, Finding]
    today: Mapping[str, Finding]

    @property
    def head(self) -> str:
        """The claim without what is measured for it."""
        return self._parts[0].rstrip(".")

    @property
    def measure(self) -> str:
        """Returns what is measured for it, where the claim's text says so."""
        of = self._parts[1]
        return of[:1].upper() + of[1:]

    @property
    def _parts(self) -> tuple[str, str]:
        """The claim, and what is measured: it follows a colon that neither an opening nor a bracket has."""
        text = self.claim.text
        for colon in re.finditer(": ", text):
            before = text[: colon.start()]
            if len(before) >= OPENING and before.count("(") == before.count(")"):
                return before, text[colon.end() :]
        return text, ""

    @property
    def is_the_paper_s(self) -> bool:
        return self.claim.of == self.paper.headline

    @property
    def whose(self) -> str:
        return WHOSE[self.claim.of]

    @property
    def turned(self) -> list[Finding]:
        """The findings of other readings that decide otherwise than the default one."""
        return [
            each
            for each in self.others.values()
            if each.verdict in (HOLDS, FAILS) and each.verdict != self.found.verdict
        ]

    @property
    def turns(self) -> str:
        """Returns what turns it, in words; empty where nothing does."""
        parts = []
        for verdict in (HOLDS, FAILS):
            keys = [each.reading.key for each in self.turned if each.verdict == verdict]
            if keys:
                some = ", ".join(keys[:2]) + (f" and {len(keys) - 2} more" if len(keys) > 2 else "")
                parts.append(f"{verdict} under {some}")
        return "; ".join(parts)

    @property
    def changed(self) -> list[tuple[str, Finding]]:
        """The hosts of today with which it is decided otherwise, and what was found with them."""
        return [(NAMES[of], each) for of, each in self.today.items() if each.verdict != self.found.verdict]

    @property
    def command(self) -> str:
        return f"penstock reproduce --only {self.paper.key}.{self.claim.key}"

    @property
    def tip(self) -> str:
        """Returns what a mark says when it is pointed at or read aloud."""
        text = f"{self.claim.exhibit}: {self.head}. {words.verdict(self.found)}; here {words.ours(self.found)}"
        return text + (f". Turned: {self.turns}." if self.turned else ".")


@dataclass(frozen=True, slots=True)
class _Exhibit:
    """An exhibit as the page shows it: a figure, or a table, with the claims about it.

    room: what the style sheet calls the room that a drawing needs.
    lab: what its runs are called, and where each is open in the lab.
    """

    exhibit: Exhibit
    id: str
    svg: str | None
    table: TableData | None
    claims: Sequence[_Claim]
    room: str
    lab: Sequence[tuple[str, str]] = ()

    @property
    def theirs(self) -> list[_Claim]:
        """The paper's claims."""
        return [claim for claim in self.claims if claim.is_the_paper_s]

    @property
    def ours(self) -> list[_Claim]:
        """Claims that are not the paper's."""
        return [claim for claim in self.claims if not claim.is_the_paper_s]

    @property
    def source(self) -> str:
        """Who claims what is counted."""
        opening = self.claims[0].paper.opening
        return opening.source if opening else "paper"

    @property
    def alt(self) -> str:
        """Returns what came of it, in place of the drawing."""
        about = self.theirs or self.ours
        told = "; ".join(f"{claim.head}: {words.verdict(claim.found)}" for claim in about)
        return f"{self.exhibit.title}. {told}." if told else f"{self.exhibit.title}. {self.exhibit.caption}"


@dataclass(frozen=True, slots=True)
class _Today:
    """What became of claims with hosts of today; the kinds are those of `Compared`."""

    name: str
    both: Sequence[_Claim]
    lost: Sequence[_Claim]
    now: Sequence[_Claim]
    open: Sequence[_Claim]

    @staticmethod
    def of(hosts: str, claims: Sequence[_Claim]) -> _Today:
        """Sorts claims by what was found with those hosts."""
        by_kind = Compared.of((claim, claim.found, claim.today[hosts]) for claim in claims if hosts in claim.today)
        return _Today(NAMES[hosts], by_kind.both, by_kind.lost, by_kind.now, by_kind.open)


@dataclass(frozen=True, slots=True)
class _Section:
    """A paper's part of the page."""

    paper: Paper
    id: str
    believe: str
    discussion: Sequence[str]
    exhibits: Sequence[_Exhibit]
    claims: Sequence[_Claim]
    readings: Sequence[Reading]

    @property
    def title(self) -> str:
        """The paper's title; without BibTeX all of its citation."""
        found = re.search(r"\btitle\s*=\s*[{\"](.+?)[}\"]\s*,?\s*$", self.paper.bibtex, re.MULTILINE)
        return re.sub(r"[{}\\]", "", found[1]) if found else self.paper.citation

    @property
    def theirs(self) -> list[_Claim]:
        """The paper's claims."""
        return [claim for claim in self.claims if claim.is_the_paper_s]

    @property
    def counts(self) -> list[tuple[str, int]]:
        """Returns how many of the paper's claims have each verdict."""
        return _counts([claim.found.verdict for claim in self.theirs])

    @property
    def first(self) -> list[_Exhibit]:
        """The figures that the paper's claims are about, and the tables: these are shown at once."""
        return [each for each in self.exhibits if each.theirs]

    @property
    def further(self) -> list[_Exhibit]:
        """Returns the exhibits that no claim of the paper is about."""
        return [each for each in self.exhibits if not each.theirs]

    @property
    def today(self) -> list[tuple[str, Compared[_Claim]]]:
        """Returns for each of today's hosts what became of the paper's claims with them."""
        return [
            (NAMES[hosts], Compared.of((claim, claim.found, claim.today[hosts]) for claim in self.theirs))
            for hosts in (self.theirs[0].today if self.theirs else ())
        ]

    @property
    def turned_by_nearest(self) -> list[tuple[_Claim, Finding]]:
        """The paper's claims to which the nearest joint reading gives another verdict."""
        if self.paper.nearest is None:
            return []
        key = self.paper.nearest.reading.key
        found = [(claim, claim.others.get(key)) for claim in self.theirs]
        return [(claim, of) for claim, of in found if of is not None and of.verdict != claim.found.verdict]

    @property
    def nearest_counts(self) -> list[tuple[str, int]]:
        """Returns how many of the paper's claims have each verdict under the nearest joint reading."""
        assert self.paper.nearest is not None
        key = self.paper.nearest.reading.key
        return _counts([claim.others.get(key, claim.found).verdict for claim in self.theirs])


def page(
    papers: Sequence[Paper],
    settings: Settings,
    findings: Sequence[Finding],
    shown: Mapping[tuple[str, str], str | TableData],
    claims_csv: str,
    lab: str | None = None,
) -> str:
    """Returns the page.

    findings: of every claim under the default reading and then its others.
    shown: (paper, exhibit) → the figure as SVG, as `style.save` writes it, or the table.
    claims_csv: the file of that name, whose hash the page tells.
    lab: the lab's page as seen from this one, where there is one.
    """
    sections = [_section(paper, findings, shown, lab) for paper in papers]
    claims = [claim for section in sections for claim in section.claims]
    theirs = [claim for claim in claims if claim.is_the_paper_s]
    decided = sum(claim.found.verdict in (HOLDS, FAILS) for claim in theirs)
    environment = templates(Path(__file__).parent / "page")
    repairs = all(paper.headline == "project" for paper in papers)
    environment.filters.update(
        ours=words.ours,
        direction=words.direction,
        strip=strip,
        qualified=words.verdict,
        qualifiers=lambda found: words.verdict(found)[len(found.verdict) :],
        verdict=SIGNS.__getitem__,
        rule=words.rule_in_words,
        order=list(SIGNS).index,
        emphasis=_emphasis,
        minus=words.minus,
    )
    return environment.get_template("report.html").render(
        sections=sections,
        claims=claims,
        repairs=repairs,
        instead=_instead(sections) if repairs else None,
        opening=_opening(papers),
        theirs=theirs,
        turned=sum(bool(claim.turned) for claim in theirs),
        counts=_counts([claim.found.verdict for claim in theirs]),
        decided=decided,
        wrong=_at_most(decided * len(settings.looks) * (1 - LEVEL)),
        looks=len(settings.looks),
        level=f"{100 * LEVEL:g} %",
        default=DEFAULT,
        version=__version__,
        seeds=f"seed {settings.seeds}" if settings.seeds == 1 else f"seeds 1–{settings.seeds}",
        most=settings.looks[-1],
        n=settings.seeds,
        quick=settings.quick,
        hosts=[(of, NAMES[of]) for of in settings.hosts],
        sha256=hashlib.sha256(claims_csv.encode()).hexdigest(),
        variables=palette.css(),
    )


@dataclass(frozen=True, slots=True)
class _Instead:
    """What to take instead of the repairs: sentences, and a table.

    others: today's disciplines. rows: repair → for each of them delay and goodput, as line and number.
    """

    sentences: Sequence[str]
    others: Sequence[str]
    rows: Mapping[str, Sequence[tuple[Markup, str]]]


def _instead(sections: Sequence[_Section]) -> _Instead:
    """Returns the repairs beside what a router has at hand; empty where the range was not run."""
    found = {section.paper.name: {claim.claim.key: claim.found for claim in section.claims} for section in sections}
    sides = worth.beside_today(found)
    rows: dict[str, list[tuple[Markup, str]]] = {each.repair: [] for each in sides}
    if sides:
        delays = scaled([each.delay for each in sides], [each.signs[0] for each in sides])
        goodputs = scaled([each.goodput for each in sides], [each.signs[1] for each in sides])
        for each, delay, goodput in zip(sides, delays, goodputs, strict=True):
            rows[each.repair] += [
                (line, worth.number(of, "%")) for line, of in ((delay, each.delay), (goodput, each.goodput))
            ]
    return _Instead(worth.instead(sides), list(dict.fromkeys(each.other for each in sides)), rows)


def _opening(papers: Sequence[Paper]) -> Opening | None:
    """Returns how the report begins where all of it is of one kind that is no paper."""
    found = {paper.opening for paper in papers}
    return found.pop() if len(found) == 1 else None


#: Width and height of a strip, its ends' distance from the edge, and half the height of a threshold, in pixels.
_WIDE, _HIGH, _EDGE, _HALF = 132, 16, 6, 7


def strip(found: Finding) -> Markup:
    """Returns a claim's interval as a picture of a line: the mean a dot, its interval, the thresholds dashed, and what
    is printed as an open mark. Empty where nothing is judged by a number.
    """
    if found.estimate is None or found.rule is None:
        return Markup()
    rule = found.rule
    if isinstance(rule, MostBelow):
        bounds = [50.0]  # the share of the runs, against one half
    else:
        bounds = [rule.low, rule.high] if isinstance(rule, Within) else [rule.bound]
    printed = [] if found.printed is None else [found.printed]
    return _line(found, bounds, printed, SIGNS[found.verdict])


def scaled(found: Sequence[Finding], signs: Sequence[int]) -> list[Markup]:
    """Returns the intervals as lines on one scale, whose threshold is 0; `signs`: whether each is better or worse."""
    every = [value for each in found for value in _reach(each)]
    span = min(0.0, *every), max(0.0, *every)
    kinds = {1: "holds", -1: "fails", 0: "undecided"}
    return [_line(each, [0.0], [], kinds[sign], span) for each, sign in zip(found, signs, strict=True)]


def _reach(found: Finding) -> list[float]:
    assert found.estimate is not None
    return [found.estimate if end is None else end for end in (found.low, found.high, found.estimate)]


def _line(
    found: Finding, bounds: Sequence[float], printed: Sequence[float], kind: str, span: Sequence[float] = ()
) -> Markup:
    values = [*bounds, *_reach(found), *printed]
    low, high = min(*values, *span), max(*values, *span)
    x = [f"{_EDGE + (_WIDE - 2 * _EDGE) * (each - low) / ((high - low) or 1):.1f}" for each in values]
    middle = _HIGH / 2
    marks = [f'<path class="bound" d="M{at} {middle - _HALF:g}v{2 * _HALF}"/>' for at in x[: len(bounds)]]
    left, right, mean, *open_ = x[len(bounds) :]
    marks.append(f'<path class="reach" d="M{left} {middle:g}H{right}"/><circle cx="{mean}" cy="{middle:g}" r="3.4"/>')
    marks += [f'<circle class="printed" cx="{at}" cy="{middle:g}" r="4.2"/>' for at in open_]
    return Markup(
        f'<svg class="strip {kind}" aria-hidden="true" viewBox="0 0 {_WIDE} {_HIGH}">'
        f'<path class="axis" d="M0 {middle:g}H{_WIDE}"/>{"".join(marks)}</svg>'
    )


def _section(
    paper: Paper, findings: Sequence[Finding], shown: Mapping[tuple[str, str], str | TableData], lab: str | None
) -> _Section:
    ours = [found for found in findings if found.paper == paper.key]
    claims = [_claim(paper, claim, [found for found in ours if found.claim.key == claim.key]) for claim in paper.claims]
    readings = {each.reading.key: each.reading for each in ours}
    told = _told(paper, claims)
    said = paper.discussion(told)
    return _Section(
        paper=paper,
        id=_id(paper.key),
        believe=paper.believe(told),
        discussion=[part for part in (" ".join(part.split()) for part in said.split("\n\n")) if part],
        exhibits=[_exhibit(paper, exhibit, shown[paper.key, exhibit.key], claims, lab) for exhibit in paper.exhibits],
        claims=claims,
        readings=list(readings.values()),
    )


def _told(paper: Paper, claims: Sequence[_Claim]) -> dict[str, Finding]:
    """Returns what a paper's own words are made from: claim → finding, and after `"@"` the nearest joint reading's."""
    found = {claim.claim.key: claim.found for claim in claims}
    if paper.nearest is None:
        return found
    key = paper.nearest.reading.key
    near = {claim.claim.key: claim.found if key == DEFAULT.key else claim.others.get(key) for claim in claims}
    return found | {f"@{name}": each for name, each in near.items() if each is not None}


def _claim(paper: Paper, claim: Claim, found: Sequence[Finding]) -> _Claim:
    by_reading = {each.reading.key: each for each in found}
    default = by_reading.pop(DEFAULT.key)
    today = {hosts: by_reading.pop(of.key) for hosts, of in READINGS.items() if of.key in by_reading}
    anchor, exhibit = _id(f"{paper.key}-claim-{claim.key}"), _id(f"{paper.key}-{claim.exhibit}")
    return _Claim(paper, claim, anchor, exhibit, default, by_reading, today)


def _exhibit(
    paper: Paper, exhibit: Exhibit, shown: str | TableData, claims: Sequence[_Claim], lab: str | None
) -> _Exhibit:
    name = _id(f"{paper.key}-{exhibit.key}")
    about = [claim for claim in claims if claim.claim.exhibit == exhibit.key]
    if isinstance(shown, TableData):
        return _Exhibit(exhibit, name, None, shown, about, "")
    panels = max(1, len(re.findall(r'id="panel\d+"', shown)))
    svg = style.themed_svg(shown + (_one_by_one(shown, panels) if panels > 1 else ""), f"{name}-svg")
    return _Exhibit(exhibit, name, svg, None, about, _room(shown), links(exhibit, lab))


def _room(svg: str) -> str:
    """Returns the least room in which a drawing's letters have 11 pixels."""
    return next((name for name, widest in ROOMS.items() if _box(svg)[2] <= widest), "whole")


def _box(svg: str) -> tuple[float, float, float, float]:
    """Returns left, top, width and height of a drawing, in points."""
    box = re.search(r'viewBox="([^"]+)"', svg)
    assert box is not None
    left, top, width, height = (float(each) for each in box[1].split())
    return left, top, width, height


def _one_by_one(svg: str, panels: int) -> str:
    """Returns each panel of a drawing as one of its own, for a narrow screen: all show parts of the same."""
    left, top, width, height = _box(svg)
    each = width / panels
    return "".join(one_panel([(left + i * each, top, each, height)]) for i in range(panels))


def _counts(verdicts: Sequence[str]) -> list[tuple[str, int]]:
    """Returns how many there are of each verdict that there is."""
    order = (HOLDS, UNDECIDED, CANNOT_TELL, FAILS, NOT_JUDGED)
    return [(verdict, verdicts.count(verdict)) for verdict in order if verdict in verdicts]


def _id(text: str) -> str:
    """Returns a name that a link can end in."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _emphasis(text: str) -> Markup:
    """Returns a paragraph in which `**words**` are strong, and all else is text."""
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(text))))


def _at_most(expected: float) -> str:
    """Returns a number of verdicts that may be wrong, for a sentence."""
    return "fewer than one" if expected < 1 else f"{expected:.0f}"
