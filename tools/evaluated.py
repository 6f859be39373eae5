"""Writes docs/evaluate: what came of `penstock evaluate all`, as a summary and a table; its
picture, docs/img/evaluate.svg; and the tables of docs/evaluate.md, between their marks.

    tools/evaluated.py [DIR]      DIR: what `penstock evaluate` wrote [default: out/judged]

`make evaluate` calls it.
"""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from penstock import _files
from penstock.show import canvas, style
from slim_svg import written
from tables import fill, table

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs" / "evaluate"
PICTURE = ROOT / "docs" / "img" / "evaluate.svg"
PAGE = ROOT / "docs" / "evaluate.md"
#: The rows of the page's table; the papers' own stand out.
ROWS = (
    "droptail",
    "red",
    "ared",
    "mecn",
    "amecn",
    "rared",
    "nred",
    "red-at",
    "dt-red",
    "pdt-red",
    "pi",
    "pie",
    "pi2",
    "dualpi2",
    "codel",
    "fq-codel",
    "cake",
    "fq-pie",
    "sfb",
    "afd",
    "sfq",
)
PAPERS = {"mecn", "amecn", "rared", "nred", "red-at", "dt-red", "pdt-red"}
#: Its columns: heading; scenario, form and measure in numbers.csv.
COLUMNS = (
    ("busy, 6 flows", ("mild", "", "utilization")),
    ("delay, 19 flows", ("heavy", "", "delay_mean")),
    ("99 % of it", ("heavy", "", "delay_p99")),
    ("lost", ("heavy", "", "loss")),
    ("web page", ("bursts-iv", "", "page")),
    ("ECN: busy, 13 flows", ("medium", "ECN", "utilization")),
)
#: One more column: what a call waits, an answer's own number.
CALL = ("call, 99 %", "call")

#: The rows of the table of CUBIC beside BBR: who is short, and who parts the flows.
BESIDE_BBR = (
    "droptail",
    "red",
    "codel",
    "pie",
    "choke",
    "sfb",
    "afd",
    "sfq",
    "fq-codel",
    "fq-pie",
    "cake",
)
#: Its columns: heading; form and measure in numbers.csv. Shares have their intervals.
BBR_COLUMNS = (
    ("CUBIC keeps", ("", "share")),
    ("with ECN", ("ECN", "share")),
    ("beside BBRv3", ("BBRv3", "share")),
    ("delay", ("", "delay_mean")),
    ("lost", ("", "loss")),
)

Row = dict[str, str]


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Yields the lines of the summary: a row of the table for each question."""
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
    yield "![A row for each discipline, a mark for each question](../img/evaluate.svg)"
    yield ""
    yield "*A dot is a yes, a cross a no; where no mark is, it is undecided, or was not asked.*"
    yield ""
    yield from table(HEADS, [_told(rows, name) for name in names], "lrrrrl")
    yield ""
    yield "## Question by question"
    yield ""
    yield "Who is in neither list is undecided: the runs do not tell."
    yield ""
    questions = dict.fromkeys(row["question"] for row in rows)
    lines = [_cells([row for row in rows if row["question"] == key]) for key in questions]
    yield from table(["question", "yes is", "DropTail", "best", "yes", "no"], lines, "llrrl")


#: The columns of the summary's table of disciplines.
HEADS = ("", "yes", "no", "waits, 19 flows", "busy, 6 flows", "no to")


def _told(rows: Sequence[Row], name: str) -> tuple[str, ...]:
    """Returns what came of a discipline: its answers counted, two numbers, what it fails."""
    mine = {row["question"]: row for row in rows if row["candidate"] == name}
    said = [row["answer"] for row in mine.values()]
    fails = [row["text"].rstrip("?") for row in mine.values() if row["answer"] == "no"]
    more = f"; {len(fails) - 3} more" if len(fails) > 3 else ""
    numbers = (f"{float(mine[key]['mean']):.3g} {mine[key]['unit']}" for key in ("delay", "busy"))
    counts = (str(said.count(answer)) for answer in ("yes", "no"))
    return f"[{name}](../aqm/{name}.md)", *counts, *numbers, "; ".join(fails[:3]) + more


def _cells(rows: Sequence[Row]) -> tuple[str, ...]:
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
    return (
        question,
        first["rule"],
        ours,
        f"{span}{unit}" if span else "–",
        ", ".join(said["yes"]),
        ", ".join(said["no"]),
    )


#: Answer → its mark in the picture: colour, marker, size.
MARKS = {"yes": (0, "o", 6.0), "no": (1, "x", 4.0)}


def picture(rows: Sequence[Row]) -> str:
    """Returns the answers of all disciplines as a picture: who has most of a yes first."""
    names = list(dict.fromkeys(row["candidate"] for row in rows))
    questions = {row["question"]: row["text"].rstrip("?") for row in rows}
    held = [row for row in rows if row["answer"] == "yes"]
    names.sort(key=lambda name: -sum(row["candidate"] == name for row in held))
    keys = sorted(questions, key=lambda key: -sum(row["question"] == key for row in held))
    with style.context(alone=True):
        figure = canvas.figure(10.2, 2.6 + 0.2 * len(names))
        ax = figure.subplots()
        for answer, (number, marker, size) in MARKS.items():
            cells = [(row["question"], row["candidate"]) for row in rows if row["answer"] == answer]
            at = [(keys.index(key), names.index(name)) for key, name in cells]
            ax.plot(*zip(*at, strict=True), marker, color=style.look(number).colour, ms=size)
        ax.set_xlim(-0.6, len(keys) - 0.4)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.xaxis.tick_top()
        said = [questions[key] for key in keys]
        ax.set_xticks(range(len(keys)), said, rotation=55, ha="left", rotation_mode="anchor")
        ax.set_yticks(range(len(names)), names)
        counted = ax.secondary_yaxis("right")
        counts = [sum(row["candidate"] == name for row in held) for name in names]
        counted.set_yticks(range(len(names)), [f"{count} yes" for count in counts])
        for axis in (ax, counted):
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
        return written(figure)


def papers_table(numbers: Sequence[Row], answers: Sequence[Row]) -> list[str]:
    """Returns the lines of the page's table: a discipline each."""
    kept = _by_place(numbers)
    calls = {row["candidate"]: row for row in answers if row["question"] == CALL[1]}
    lines = []
    for kind in ROWS:
        keys = [(kind, *key) for _, key in COLUMNS]
        found = [*(kept[key] for key in keys), calls[kind]]
        cells = [f"{_digits(float(row['mean']))} {row['unit']}" for row in found]
        name = f"**{kind}**" if kind in PAPERS else kind
        lines.append([name, *cells])
    return table(["", *(heading for heading, _ in COLUMNS), CALL[0]], lines, "lr")


def bbr_table(numbers: Sequence[Row]) -> list[str]:
    """Returns the lines of the table of CUBIC beside BBR."""
    kept = _by_place(numbers)
    lines = []
    for kind in BESIDE_BBR:
        cells = []
        for _, (form, measure) in BBR_COLUMNS:
            row = kept[kind, "bbr", form, measure]
            mean, ci95 = float(row["mean"]), float(row["ci95"])
            said = f"{mean:.1f} ± {ci95:.1f}" if measure == "share" else _digits(mean)
            cells.append(f"{said} {row['unit']}")
        lines.append([kind, *cells])
    return table(["", *(heading for heading, _ in BBR_COLUMNS)], lines, "lr")


def _by_place(numbers: Sequence[Row]) -> dict[tuple[str, str, str, str], Row]:
    """Returns each row by discipline, scenario, form and measure."""
    return {
        (row["candidate"], row["experiment"], row["form"], row["measure"]): row for row in numbers
    }


def _digits(x: float) -> str:
    """Returns at least two digits, and no more after the point than they need."""
    return f"{x:.1f}" if abs(x) < 9.95 else f"{x:.0f}"


def _rows(file: Path) -> list[Row]:
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def main(folder: Path) -> int:
    """Writes everything; returns the exit status."""
    DOCS.mkdir(exist_ok=True)
    shutil.copy(folder / "answers.csv", DOCS / "answers.csv")
    answers = _rows(folder / "answers.csv")
    _files.write(PICTURE, picture(answers))
    lines = summary(answers)
    (DOCS / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    numbers = _rows(folder / "numbers.csv")
    fill(PAGE, "tools/evaluated.py", papers_table(numbers, answers))
    fill(PAGE, "tools/evaluated.py: bbr", bbr_table(numbers))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "out" / "judged"))
