"""The written causes of differences, which the report copies."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from pathlib import Path

from penstock.validate.ns2.pairs import Pair


@dataclass(frozen=True)
class Cause:
    """Why pairs whose case and metric fit the patterns differ."""

    cases: tuple[str, ...]
    metrics: tuple[str, ...]
    text: str

    def explains(self, pair: Pair) -> bool:
        """Returns whether it is about this pair."""
        case, metric = pair.case, pair.metric
        return any(fnmatch.fnmatchcase(case, c) for c in self.cases) and any(
            fnmatch.fnmatchcase(metric, m) for m in self.metrics
        )


def read_causes(path: Path) -> list[Cause]:
    """Returns the written causes of differences: sections `## case, case · metric, metric` (shell patterns),
    then prose."""
    if not path.is_file():
        return []
    causes = []
    for section in ("\n" + path.read_text(encoding="utf-8")).split("\n## ")[1:]:
        head, _, body = section.partition("\n")
        cases, dot, metrics = head.partition("·")
        names = [tuple(n.strip() for n in side.split(",")) for side in (cases, metrics if dot else "*")]
        causes.append(Cause(names[0], names[1], " ".join(body.split())))
    return causes
