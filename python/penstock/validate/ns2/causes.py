"""The written causes of differences, which the report copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import Error
from penstock.validate.agreement import RULES
from penstock.validate.ns2.pairs import Pair

#: Begins the paragraph of a cause that names its pairs.
LOOKED_AT = "Looked at:"


@dataclass(frozen=True)
class Cause:
    """Why some pairs differ. It is told only of the pairs that somebody looked at, each a case and a metric."""

    title: str
    looked_at: frozenset[tuple[str, str]]
    text: str

    def explains(self, pair: Pair) -> bool:
        """Returns whether this pair was looked at."""
        return (pair.case, pair.metric) in self.looked_at


def read_causes(path: Path) -> list[Cause]:
    """Returns the written causes of differences: sections `## title`, a paragraph `Looked at:`, then prose.

    That paragraph names pairs: "`case` metric, metric; `case` metric". A section without it is told of no pair. Raises
    `Error` for a pair that it cannot read.
    """
    if not path.is_file():
        return []
    causes = []
    for section in ("\n" + path.read_text(encoding="utf-8")).split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        paragraphs = [" ".join(paragraph.split()) for paragraph in body.split("\n\n")]
        looked = [p.removeprefix(LOOKED_AT) for p in paragraphs if p.startswith(LOOKED_AT)]
        pairs = frozenset(pair for text in looked for pair in _named_pairs(path, text))
        prose = " ".join(p for p in paragraphs if p and not p.startswith(LOOKED_AT))
        causes.append(Cause(title.strip(), pairs, prose))
    return causes


def _named_pairs(path: Path, text: str) -> Iterator[tuple[str, str]]:
    known = {rule.metric for rule in RULES}
    for entry in text.split(";"):
        _, case, metrics = [part.strip() for part in entry.split("`")] if entry.count("`") == 2 else ("", "", "")
        names = [metric.strip() for metric in metrics.split(",")]
        if not case or not known.issuperset(names):
            raise Error(
                f"{path}: {LOOKED_AT} {entry.strip()}: must be `case` and metrics out of {', '.join(sorted(known))}"
            )
        yield from ((case, metric) for metric in names)
