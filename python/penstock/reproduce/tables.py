"""The papers, their exhibits and what became of their claims as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.reproduce.model import DEFAULT, Finding, Paper
from penstock.show.numbers import number
from penstock.show.table import Table, literal


def papers_table(papers: Sequence[Paper]) -> Table:
    """Returns what `penstock reproduce --list` shows: every exhibit with the claims about it."""
    table = Table("papers")
    table.add_column("exhibit", no_wrap=True)
    table.add_column("claim", no_wrap=True)
    table.add_column("what")
    table.add_column("the paper's number", style="dim")
    for paper in papers:
        table.add_row(f"[bold]{paper.key}[/bold]", "", *literal([paper.citation]))
        for exhibit in paper.exhibits:
            table.add_row(*literal([f"{paper.key}.{exhibit.key}", "", exhibit.title]))
            for claim in paper.claims:
                if claim.exhibit == exhibit.key:
                    table.add_row(*literal(["", claim.key, claim.text, claim.paper_value]))
    return table


def findings_table(findings: Sequence[Finding]) -> Table:
    """Returns what `penstock reproduce` says of the claims, under the default readings."""
    table = Table("claims")
    table.add_column("paper", no_wrap=True)
    table.add_column("claim", no_wrap=True)
    table.add_column("the paper's number")
    table.add_column("ours, mean ± 95 %")
    table.add_column("verdict", no_wrap=True)
    for found in findings:
        if found.reading == DEFAULT:
            claim = found.claim
            ours = f"{number(found.interval)} {claim.unit}"
            table.add_row(*literal([found.paper, claim.key, claim.paper_value, ours, found.verdict]))
    return table
