"""The papers, their exhibits and what became of their claims as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.reproduce.hosts import NAMES, READINGS
from penstock.reproduce.model import Finding, Paper
from penstock.reproduce.readings import DEFAULT
from penstock.reproduce.verdict import CANNOT_TELL, FAILS, HOLDS, LEVEL, NOT_JUDGED, UNDECIDED
from penstock.reproduce.words import ours, verdict
from penstock.show.table import Bold, Table

#: The order in which they are counted.
VERDICTS = (HOLDS, UNDECIDED, CANNOT_TELL, FAILS, NOT_JUDGED)


def papers_table(papers: Sequence[Paper]) -> Table:
    """Returns what `penstock reproduce --list` shows: every exhibit with the claims about it."""
    table = Table("papers")
    table.add_column("exhibit", no_wrap=True)
    table.add_column("claim", no_wrap=True)
    table.add_column("what")
    table.add_column("the paper's number", style="dim")
    for paper in papers:
        table.add_row(Bold(paper.key), "", paper.citation)
        for exhibit in paper.exhibits:
            table.add_row(f"{paper.key}.{exhibit.key}", "", exhibit.title)
            for claim in paper.claims:
                if claim.exhibit == exhibit.key:
                    table.add_row("", claim.key, claim.text, claim.paper_value)
    return table


def findings_table(findings: Sequence[Finding]) -> Table:
    """Returns what `penstock reproduce` says of the claims, under the default readings and with today's hosts."""
    table = Table("claims")
    table.add_column("paper", no_wrap=True)
    table.add_column("claim", no_wrap=True)
    table.add_column("the paper's number")
    table.add_column(f"ours, mean ± {100 * LEVEL:g} %")
    table.add_column("verdict")
    shown = [found for found in findings if found.reading == DEFAULT]
    by_key = {(each.paper, each.claim.key, each.reading): each for each in findings}
    today = {of: reading for of, reading in READINGS.items() if any(each.reading == reading for each in findings)}
    for of in today:
        table.add_column(f"with {NAMES[of]}'s hosts")
    for found in shown:
        theirs = found.claim.paper_value if found.claim.of == "paper" else "not the paper's claim"
        others = [by_key.get((found.paper, found.claim.key, reading)) for reading in today.values()]
        cells = ["–" if each is None else f"{each.verdict}, {ours(each)}" for each in others]
        table.add_row(found.paper, found.claim.key, theirs, ours(found), verdict(found), *cells)
    verdicts = [found.verdict for found in shown if found.claim.of == "paper"]
    if verdicts:
        each = ", ".join(f"{name} {verdicts.count(name)}" for name in VERDICTS if name in verdicts)
        table.caption = f"The papers' own claims: {each}."
    return table
