"""The report: one page that opens from a file, with every claim and verdict first.

Every exhibit is below them. `page/report.html` is the template, with the style and the script beside
it. They go into the page, so that nothing is fetched. The same runs give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from penstock import __version__
from penstock.reproduce.model import (
    DEFAULT,
    Claim,
    Exhibit,
    Finding,
    Paper,
    Reading,
    Settings,
    TableData,
)
from penstock.reproduce.verdict import CANNOT_TELL, FAILS, HOLDS, NOT_JUDGED, UNDECIDED
from penstock.reproduce.words import rule_in_words
from penstock.show import style
from penstock.show.numbers import number

#: Verdict → the name of its sign and colour in the page, worst first: so the table sorts.
SIGNS = {
    FAILS: "fails",
    UNDECIDED: "undecided",
    CANNOT_TELL: "cannot-tell",
    HOLDS: "holds",
    NOT_JUDGED: "not-judged",
}


@dataclass(frozen=True, slots=True)
class _Exhibit:
    """An exhibit as the page shows it: a figure, or a table."""

    exhibit: Exhibit
    id: str
    svg: str | None
    table: TableData | None


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim with what was found: under the default reading, and under each other."""

    paper: Paper
    claim: Claim
    id: str
    exhibit_id: str
    found: Finding
    others: Mapping[str, Finding]

    @property
    def fails_everywhere(self) -> bool:
        return all(each.verdict == FAILS for each in (self.found, *self.others.values()))

    @property
    def differing(self) -> list[tuple[str, list[Finding]]]:
        """Verdict → the findings of the other readings that come to it; without the default's."""
        verdicts = {v: [each for each in self.others.values() if each.verdict == v] for v in reversed(SIGNS)}
        return [(v, found) for v, found in verdicts.items() if found and v != self.found.verdict]


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


def page(
    papers: Sequence[Paper],
    settings: Settings,
    findings: Sequence[Finding],
    shown: Mapping[tuple[str, str], str | TableData],
) -> str:
    """The page.

    findings: of every claim under the default reading and then its others.
    shown: (paper, exhibit) → the figure as SVG, as `style.save` writes it, or the table.
    """
    sections = [_section(paper, findings, shown) for paper in papers]
    claims = [claim for section in sections for claim in section.claims]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=_number, verdict=SIGNS.__getitem__, rule=rule_in_words, order=_order, emphasis=_emphasis
    )
    return environment.get_template("report.html").render(
        sections=sections,
        claims=claims,
        counts=[(verdict, sum(claim.found.verdict == verdict for claim in claims)) for verdict in reversed(SIGNS)],
        failing=[claim for claim in claims if claim.fails_everywhere],
        default=DEFAULT,
        version=__version__,
        seeds=f"seed {settings.seeds}" if settings.seeds == 1 else f"seeds 1–{settings.seeds}",
        n=settings.seeds,
        quick=settings.quick,
        variables=style.css(),
    )


def _section(paper: Paper, findings: Sequence[Finding], shown: Mapping[tuple[str, str], str | TableData]) -> _Section:
    ours = [found for found in findings if found.paper == paper.key]
    claims = [_claim(paper, claim, [found for found in ours if found.claim.key == claim.key]) for claim in paper.claims]
    readings = {reading.key: reading for claim in paper.claims for reading in claim.readings}
    said = paper.discussion(_told(paper, claims))
    return _Section(
        paper=paper,
        id=_id(paper.key),
        believe=paper.believe(_told(paper, claims)),
        discussion=[part for part in (" ".join(part.split()) for part in said.split("\n\n")) if part],
        exhibits=[_exhibit(paper, exhibit, shown[paper.key, exhibit.key]) for exhibit in paper.exhibits],
        claims=claims,
        readings=list(readings.values()),
    )


def _told(paper: Paper, claims: Sequence[_Claim]) -> dict[str, Finding]:
    """What a paper's own words are made from: claim → finding, and after `"@"` the nearest joint reading's."""
    found = {claim.claim.key: claim.found for claim in claims}
    if paper.nearest is not None:
        key = paper.nearest.reading.key
        near = {f"@{claim.claim.key}": {DEFAULT.key: claim.found, **claim.others}.get(key) for claim in claims}
        found |= {name: each for name, each in near.items() if each is not None}
    return found


def _claim(paper: Paper, claim: Claim, found: Sequence[Finding]) -> _Claim:
    by_reading = {each.reading.key: each for each in found}
    default = by_reading.pop(DEFAULT.key)
    return _Claim(
        paper, claim, _id(f"{paper.key}-claim-{claim.key}"), _id(f"{paper.key}-{claim.exhibit}"), default, by_reading
    )


def _exhibit(paper: Paper, exhibit: Exhibit, shown: str | TableData) -> _Exhibit:
    name = _id(f"{paper.key}-{exhibit.key}")
    if isinstance(shown, TableData):
        return _Exhibit(exhibit, name, None, shown)
    return _Exhibit(exhibit, name, style.themed_svg(shown, f"{name}-svg"), None)


def _id(text: str) -> str:
    """A name that a link can end in."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _emphasis(text: str) -> Markup:
    """A paragraph in which `**words**` are strong, and all else is text."""
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(text))))


def _number(found: Finding) -> str:
    """The estimate with its interval; the unit stands beside it."""
    return number(found.interval).replace("-", "−")


def _order(verdict: str) -> int:
    return list(SIGNS).index(verdict)
