"""`make levels`: what a second level of congestion is worth, in full: docs/two-levels.md.

    tools/levels.py [FOLDER]

Runs `penstock reproduce levels` into FOLDER (`out/levels`), where finished runs are kept; writes
the numbers and figures into `docs/two-levels`, and the page's sentences and tables again from
the numbers.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from outcomes import ROOT, rows, write_rows
from penstock import _files
from penstock.reproduce.command import reproduce
from penstock.reproduce.levels import scenarios, signals
from penstock.reproduce.levels.answers import ANSWERS, first, reason
from penstock.reproduce.levels.claims import CLAIMS, key_of
from penstock.reproduce.levels.expected import EXPECTED
from penstock.reproduce.levels.paper import PAPER
from penstock.reproduce.model import Claim, Finding, Point, Settings
from penstock.reproduce.readings import DEFAULT
from penstock.reproduce.verdict import FAILS
from penstock.reproduce.words import ours, rule_in_words, verdict
from penstock.runs.execute import cores
from slim_svg import committed
from tables import filled, table

PAGE = ROOT / "docs" / "two-levels.md"
FOLDER = ROOT / "docs" / "two-levels"
NUMBERS = FOLDER / "numbers.csv"
MAKER = "tools/levels.py"
#: The figures of the report that the page shows.
FIGURES = ("plane", "places", "changes", "home", "pairs", "crowd", "folded")

Found = Mapping[str, Finding]


# ---- the numbers


def keep(found: Sequence[Finding]) -> None:
    """Writes each finding, and each of its points, as a row."""
    kept: dict[tuple[int, int], dict[str, Any]] = {}
    for i, each in enumerate(found):
        of = {"claim": each.claim.key, "seeds": each.n, "note": each.note}
        kept[i, 0] = of | _said("", each)
        for j, point in enumerate(each.points, start=1):
            kept[i, j] = {"claim": each.claim.key} | _said(point.at, point)
    columns = ["claim", "at", "mean", "low", "high", "verdict", "seeds", "note"]
    write_rows(NUMBERS, columns, kept)


def _said(at: str, of: Finding | Point) -> dict[str, str]:
    ends = zip(("mean", "low", "high"), (of.estimate, of.low, of.high), strict=True)
    return {
        "at": at,
        **{end: "" if x is None else f"{x:.6g}" for end, x in ends},
        "verdict": of.verdict,
    }


def findings() -> dict[str, Finding]:
    """Returns what the numbers' file says, by claim."""
    lines: dict[str, list[dict[str, str]]] = {}
    for row in rows(NUMBERS):
        lines.setdefault(row["claim"], []).append(row)
    return {claim.key: _finding(claim, lines[claim.key]) for claim in CLAIMS if claim.key in lines}


def _finding(claim: Claim, lines: Sequence[Mapping[str, str]]) -> Finding:
    head, *more = lines
    return Finding(
        paper=PAPER.key,
        claim=claim,
        reading=DEFAULT,
        **dict(zip(("estimate", "low", "high"), _numbers(head), strict=True)),
        n=int(head["seeds"]),
        verdict=head["verdict"],
        unit=claim.unit,
        rule=claim.rule,
        printed=claim.printed,
        points=[_point(row) for row in more],
        note=head["note"],
    )


def _point(row: Mapping[str, str]) -> Point:
    mean, low, high = _numbers(row)
    return Point(row["at"], mean, low, high, row["verdict"])


def _numbers(row: Mapping[str, str]) -> list[Any]:
    return [float(row[end]) if row[end] else None for end in ("mean", "low", "high")]


# ---- the page


def page(text: str, found: Found) -> str:
    """Returns the page with its sentences and tables written again from the findings."""
    blocks = {
        "answer": _wrapped(first(found)),
        "answers": _answers(found),
        "expected": expected(found),
        "home": home(found),
        "crowd": crowd(found),
        "hidden": hidden(found),
        "folded": folded(found),
        "keys": keys(found),
    }
    for name, lines in blocks.items():
        text = filled(text, f"{MAKER}: {name}", lines)
    return text


def _wrapped(text: str, begin: str = "") -> list[str]:
    return textwrap.wrap(
        begin + text, 100, subsequent_indent=" " * len(begin), break_on_hyphens=False
    )


def _answers(found: Found) -> list[str]:
    lines: list[str] = []
    for answer in ANSWERS:
        lines += [*_wrapped(f"**{answer.question}** {answer.said(found)}"), ""]
    return lines[:-1]


def expected(found: Found) -> list[str]:
    """Returns each expectation with what came of it."""
    cells = [
        [
            each.text.replace("|", "\\|"),
            f"{each.paper_value}: {rule_in_words(each.rule)} {each.unit}",
            ours(found[each.key]),
            verdict(found[each.key]),
            each.place,
        ]
        for each in EXPECTED
        if each.key in found
    ]
    lines = table(["expected", "as a number", "here", "verdict", "source"], cells, "llrll")
    for each in EXPECTED:
        why = reason(each.key, found)
        if why:
            word = "Not" if found[each.key].verdict == FAILS else "Open"
            lines += ["", *_wrapped(f"{word}: {each.text.rstrip('.')}. {why}", "- ")]
    return lines


def _cell(found: Found, key: str) -> str:
    return ours(found[key]) if key in found else "–"


def home(found: Found) -> list[str]:
    """Returns what every signal gives calls, pages and downloads."""
    cells = [
        [name, *(_cell(found, f"home.{what}-{key_of(name)}") for what in HOME)]
        for name in signals.NAMES
    ]
    return table(["signal", *HOME.values()], cells, "lr")


HOME = {"call": "a call's rating", "page": "a page", "downloads": "downloads"}


def crowd(found: Found) -> list[str]:
    """Returns who gets how much beside whom, at each share of the new kind."""
    cells = []
    for key in (each.key for each in CLAIMS if each.exhibit == "crowd"):
        if key in found:
            each = found[key]
            cells.append([_who(each.claim), *(_times(point) for point in each.points)])
    shares = [f"{10 * part} % of the flows" for part in scenarios.PARTS]
    return table(["a new flow : a neighbour", *shares], cells, "lr")


def _who(claim: Claim) -> str:
    """Returns who is beside whom in which queue, of the claim's first case."""
    labels = next(iter(claim.cases(Settings(), DEFAULT))).labels
    return "{new} : {beside}, {queue}".format(**labels)


def _times(point: Point) -> str:
    if point.estimate is None or point.low is None or point.high is None:
        return "–"
    return f"{point.estimate:.3g} ({point.low:.3g} to {point.high:.3g})"


def hidden(found: Found) -> list[str]:
    """Returns what each signal does on each kind of path."""
    cells = []
    for name in scenarios.BLIND:
        for path in scenarios.SITUATIONS:
            key = f"{key_of(name)}-{path.replace(' ', '-').lower()}"
            numbers = [_cell(found, f"hidden.{what}-{key}") for what in ("delay", "used", "loss")]
            cells.append([name, path, *numbers])
    return table(["signal", "path", "mean delay", "used", "lost"], cells, "llr")


def folded(found: Found) -> list[str]:
    """Returns two levels beside one, point by point."""
    cells = []
    for control in scenarios.FOLDED:
        for cut in (20, 30, 40):
            for what in ("delay", "goodput"):
                each = found.get(f"folded.{what}-{control.lower()}-{cut}")
                if each is not None:
                    numbers = [_percent(point) for point in each.points]
                    cells.append([f"{control}: {what}, one level of {cut} %", *numbers])
    return table(["two levels less one, in percent of one", *scenarios.FOLDED_AT], cells, "lr")


def _percent(point: Point) -> str:
    if point.estimate is None or point.low is None or point.high is None:
        return "–"
    text = f"{point.estimate:+.1f} ({point.low:+.1f} to {point.high:+.1f})"
    return text.replace("-", "−")


def keys(found: Found) -> list[str]:
    """Returns by how much each key moves delay and goodput."""
    cells = []
    for name, knobs in scenarios.KNOBS.items():
        for knob, _, low, high in knobs:
            for way, value in (("lower", low), ("higher", high)):
                tail = f"{key_of(name)}-{knob}-{way}"
                numbers = [_cell(found, f"tuned.{what}-{tail}") for what in ("delay", "goodput")]
                cells.append([name, f"`{knob} = {value}`", *numbers])
    return table(["signal", "key", "delay", "goodput"], cells, "llr")


def figures(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields the name of each figure, and the figure."""
    for name in FIGURES:
        drawn = folder / "figures" / f"{PAPER.key}.{name}.svg"
        yield name, committed(drawn)


def main(folder: Path) -> int:
    """Runs, and writes all; returns the exit status."""
    done = reproduce([PAPER], Settings(looks=PAPER.looks, joint=0), folder, cores())
    keep([each for each in done.findings if each.reading == DEFAULT])
    for name, drawn in figures(folder):
        _files.write(FOLDER / f"{name}.svg", drawn)
    _files.write(PAGE, page(PAGE.read_text(encoding="utf-8"), findings()))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "out" / "levels"))
