"""Writes docs/evaluate: what came of `penstock evaluate all`, as a picture, a summary and a table.

    tools/evaluated.py [DIR]      DIR: what `penstock evaluate` wrote [default: out/judged]

`make evaluate` calls it. The picture needs Chromium.
"""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import picture

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs" / "evaluate"
#: The table of the first page and its legend, in pixels.
SIZE = (1400, 1330)

Row = dict[str, str]


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of the summary: a row of the table for each question."""
    names = list(dict.fromkeys(row["candidate"] for row in rows))
    seeds = max(int(row["n"] or 0) for row in rows)
    yield "# Every discipline, judged by RFC 7928"
    yield ""
    yield "<!-- Made by `make evaluate`; edits are lost. -->"
    yield ""
    yield f"`penstock evaluate all --seeds {seeds}`: {len(names)} disciplines with their defaults."
    yield "[evaluate.md](../evaluate.md) says what the questions mean, what was expected, and what"
    yield "came out. [answers.csv](answers.csv) has every number with its interval."
    yield ""
    yield "![The questions as rows, the disciplines as columns](all.png)"
    yield ""
    yield "Who is in neither list is undecided: the runs do not tell."
    yield ""
    yield "| question | yes is | DropTail | best | yes | no |"
    yield "| --- | --- | ---: | ---: | --- | --- |"
    for key in dict.fromkeys(row["question"] for row in rows):
        yield _line([row for row in rows if row["question"] == key])


def _line(rows: Sequence[Row]) -> str:
    first = rows[0]
    said = {
        answer: [row["candidate"] for row in rows if row["answer"] == answer]
        for answer in ("yes", "no")
    }
    best = [row for row in rows if row["best"] == "True" and row["mean"]]
    # The best numbers cannot be told apart; the range says which they are.
    means = sorted((float(row["mean"]) for row in best), key=abs)
    unit = f" {first['unit']}".rstrip()
    span = "–".join(dict.fromkeys(f"{mean:.3g}" for mean in means[:1] + means[-1:]))
    droptail = next(row for row in rows if row["candidate"] == "droptail")
    ours = f"{float(droptail['mean']):.3g}{unit}" if droptail["mean"] else "–"
    question = f"{first['text']} ({first['section']}) {first['measured']}"
    cells = (
        question,
        first["rule"],
        ours,
        f"{span}{unit}" if span else "–",
        ", ".join(said["yes"]),
        ", ".join(said["no"]),
    )
    return f"| {' | '.join(cells)} |"


def main(folder: Path) -> int:
    """Writes everything; returns the exit status."""
    DOCS.mkdir(exist_ok=True)
    shutil.copy(folder / "answers.csv", DOCS / "answers.csv")
    with (folder / "answers.csv").open(newline="", encoding="utf-8") as file:
        lines = summary(list(csv.DictReader(file)))
        (DOCS / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return picture.main(folder / "index.html", DOCS / "all.png", SIZE)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "out" / "judged"))
