"""A reproduction as one document: every claim with its findings, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock._json import document
from penstock.reproduce.model import Finding, Paper, Settings
from penstock.reproduce.words import rule_in_words


def document_of(papers: Sequence[Paper], settings: Settings, findings: Sequence[Finding]) -> str:
    """Returns what the report says of the claims as a document."""
    of: dict[tuple[str, str], list[Finding]] = {}
    for found in findings:
        of.setdefault((found.paper, found.claim.key), []).append(found)
    told = [
        {
            "key": paper.key,
            "name": paper.name,
            "citation": paper.citation,
            "claims": [
                {
                    "key": claim.key,
                    "exhibit": claim.exhibit,
                    "of": claim.of,
                    "place": claim.place,
                    "text": claim.text,
                    "paper_value": claim.paper_value,
                    "findings": [_finding(found) for found in of.get((paper.key, claim.key), [])],
                }
                for claim in paper.claims
            ],
        }
        for paper in papers
    ]
    asked = {key: getattr(settings, key) for key in ("looks", "joint", "single", "quick", "hosts")}
    return document({"asked": asked, "papers": told})


def _finding(found: Finding) -> dict[str, Any]:
    return {
        "reading": found.reading.key,
        "verdict": found.verdict,
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "unit": found.unit,
        "rule": rule_in_words(found.rule),
        "printed": found.printed,
        "size": found.size,
        "points": [
            {key: getattr(point, key) for key in ("at", "estimate", "low", "high", "verdict")} for point in found.points
        ],
        "note": found.note,
    }
