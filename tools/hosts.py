"""`make hosts`: what today's senders do beside each other, judged by what is published.

    tools/hosts.py [shares|prague|trips|starts|dctcp|dip|mix…]

Without a name all parts run: minutes. `docs/hosts/expected.csv` has the expectations, which were
written down before the first run, `docs/hosts/reasons.csv` why one of them did not come true or
stays open. A part runs its scenarios (`hosts_runs`), keeps its numbers in `docs/hosts/numbers.csv`
and draws its figure (`hosts_figures`). At the end the tables of `docs/hosts.md` are written again
from the files, between their marks. The same build gives the same bytes.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from penstock import _files
from penstock.judging.estimate import Estimate
from penstock.judging.rules import Above, Below, Within
from tables import filled, table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "hosts.md"
FOLDER = ROOT / "docs" / "hosts"
NUMBERS, REASONS = FOLDER / "numbers.csv", FOLDER / "reasons.csv"
RUN = FOLDER / "run.txt"
COMMAND = ("run", "scenarios/hosts.toml")
EXPECTED, DIPS = FOLDER / "expected.csv", FOLDER / "dips.csv"

Rule: TypeAlias = Above | Below | Within
#: Name → what the runs say.
Numbers: TypeAlias = Mapping[str, Estimate]
#: The questions, in the order of the page.
QUESTIONS = {
    "shares": "BBR beside CUBIC",
    "prague": "Prague beside classic senders",
    "trips": "Round trips",
    "starts": "The first seconds",
    "dctcp": "DCTCP",
    "dip": "Proportional rate reduction",
    "mix": "All three in one link",
}
VERDICTS = {True: "as expected", False: "**not**", None: "open"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What one source leads to expect of one number."""

    question: str
    what: str
    number: str
    unit: str
    rule: Rule
    source: str

    def verdict(self, found: Estimate | None) -> bool | None:
        """Returns whether the interval keeps the rule; `None` where it does not decide."""
        if found is None or found.low is None or found.high is None:
            return None
        return self.rule.decided(found.low, found.high)


def expectations() -> list[Expectation]:
    """Returns what was written down before the runs."""
    return [Expectation(**{**row, "rule": _rule(row["rule"])}) for row in _rows(EXPECTED)]


def _rule(words: str) -> Rule:
    """Returns the rule that is written as `above 80`, `below 2` or `0.9 to 1.1`."""
    if words.startswith("above "):
        return Above(float(words[6:]))
    if words.startswith("below "):
        return Below(float(words[6:]))
    low, _, high = words.partition(" to ")
    return Within(float(low), float(high))


def _rows(file: Path) -> list[dict[str, Any]]:
    """Returns the rows of a file; none where there is no file yet."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


# ---- the files


def numbers() -> dict[str, Estimate]:
    """Returns what the runs said."""
    return {name: _read(row) for name, row in _numbers().items()}


def _numbers() -> dict[str, dict[str, Any]]:
    return {row["number"]: row for row in _rows(NUMBERS)}


def _read(row: Mapping[str, str]) -> Estimate:
    mean, low, high = (float(row[key]) if row[key] else None for key in ("mean", "low", "high"))
    half = None if low is None or high is None else (high - low) / 2
    return Estimate(mean, half, int(row["runs"]), low, high)


def keep(part: str, found: Numbers) -> None:
    """Writes the numbers of a part into their file, in place of its older ones."""
    kept = {name: row for name, row in _numbers().items() if row["part"] != part}
    for name, each in found.items():
        ends = zip(("mean", "low", "high"), (each.mean, each.low, each.high), strict=True)
        said = {end: "" if x is None else f"{x:.6g}" for end, x in ends}
        kept[name] = {"part": part, "number": name, **said, "runs": each.n}
    _write(NUMBERS, ["part", "number", "mean", "low", "high", "runs"], kept)


def keep_dips(found: Sequence[tuple[str, float, float]]) -> None:
    """Writes the dips that a figure shows into their file."""
    rows = {
        i: dict(zip(("run", "ms", "packets"), each, strict=True)) for i, each in enumerate(found)
    }
    _write(DIPS, ["run", "ms", "packets"], rows)


def dips() -> dict[str, list[tuple[float, float]]]:
    """Returns the dips: name → milliseconds after the mark, packets in the queue."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in _rows(DIPS):
        found.setdefault(row["run"], []).append((float(row["ms"]), float(row["packets"])))
    return found


def _write(file: Path, columns: Sequence[str], rows: Mapping[Any, Mapping[str, Any]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows[key] for key in sorted(rows))
    _files.write(file, text.getvalue())


def reasons() -> dict[str, str]:
    """Returns why numbers are not what was expected, by the name of the number."""
    return {row["number"]: row["reason"] for row in _rows(REASONS)}


# ---- the page


def page(text: str) -> str:
    """Returns the page with its tables written again from the files."""
    rows, found, why = expectations(), numbers(), reasons()
    text = filled(text, "tools/hosts.py: summary", summary(rows, found))
    for question in QUESTIONS:
        own = [each for each in rows if each.question == question]
        lines = [*judged(own, found), "", *explained(own, found, why)]
        lines += EXTRA[question](found) if question in EXTRA else []
        text = filled(text, f"tools/hosts.py: {question}", lines)
    return text


def summary(rows: Sequence[Expectation], found: Numbers) -> list[str]:
    """Returns how many expectations came true, question by question."""
    lines = []
    for question, title in QUESTIONS.items():
        said = [each.verdict(found.get(each.number)) for each in rows if each.question == question]
        counts = [str(said.count(verdict)) for verdict in VERDICTS]
        lines.append([title, str(len(said)), *counts])
    total = [str(sum(int(line[i]) for line in lines)) for i in range(1, 5)]
    header = ["question", "expectations", "as expected", "not", "open"]
    return table(header, [*lines, ["all", *total]], "lr")


def table_of_shares(found: Numbers) -> list[str]:
    """Returns BBR's share beside one CUBIC flow, and what both lose, over the buffer."""
    buffers = ("0.25", "0.5", "1", "2", "4", "8", "16")
    lines = []
    for control in ("bbr", "bbr3"):
        for rate in ("10", "100"):
            names = [f"shares/{control}/{rate}/{size}" for size in buffers]
            link = f"{control}, {rate} Mbit/s"
            lines.append([f"{link}: share, %", *(said(found.get(name)) for name in names)])
            lost = [said(found.get(f"{name}/loss")) for name in names]
            lines.append([f"{link}: lost, %", *lost])
    return ["", *table(["buffer, in products", *buffers], lines, "lr")]


def shares_of_three(found: Numbers) -> list[str]:
    """Returns what each control gets in both disciplines, and what `penstock run` prints."""
    lines = [
        [aqm, *(said(found.get(f"mix/{aqm}/{name}")) for name in ("cubic", "bbr", "prague"))]
        for aqm in ("droptail", "fq-codel")
    ]
    header = ["share of the goodput, %", "cubic", "bbr", "prague"]
    shown = RUN.read_text(encoding="utf-8").splitlines() if RUN.exists() else []
    console = ["```console", f"$ penstock {' '.join(COMMAND)}", *shown, "```"]
    return ["", *table(header, lines, "lr"), "", *console]


EXTRA: Mapping[str, Callable[[Numbers], list[str]]] = {
    "shares": table_of_shares,
    "mix": shares_of_three,
}


def keep_run() -> None:
    """Keeps what `penstock run` says of the scenario with all three."""
    command = [sys.executable, "-m", "penstock", *COMMAND]
    wide = {**os.environ, "COLUMNS": "80"}
    ran = subprocess.run(command, cwd=ROOT, env=wide, capture_output=True, text=True, check=True)
    lines = [line.rstrip() for line in ran.stdout.splitlines()]
    _files.write(RUN, "\n".join(lines).strip("\n") + "\n")


def judged(rows: Sequence[Expectation], found: Numbers) -> list[str]:
    """Returns the expectations of a question, with what the runs say and the verdict."""
    lines = [
        [
            each.what,
            f"{ruled(each.rule)} {each.unit}".strip(),
            said(found.get(each.number)),
            VERDICTS[each.verdict(found.get(each.number))] if found else "–",
            each.source.replace("*", "\\*"),
        ]
        for each in rows
    ]
    return table(["what", "expected", "runs", "verdict", "source"], lines, "lrrll")


def explained(rows: Sequence[Expectation], found: Numbers, why: Mapping[str, str]) -> Iterator[str]:
    """Yields the reason of each verdict that is not as expected."""
    whole = ""
    for each in rows:
        whole = whole if each.what.startswith("…") else each.what
        verdict = each.verdict(found.get(each.number))
        if found and verdict is not True:
            word = "Not" if verdict is False else "Open"
            what = each.what if each.what == whole else f"{whole} {each.what}"
            reason = why.get(each.number, "No reason is known.")
            yield from _item(f"{word}: {what}. {_with_numbers(reason, found)}")


def _with_numbers(reason: str, found: Numbers) -> str:
    """Returns a reason with what the runs say in place of each name in braces."""
    return re.sub(r"\{([^}]+)\}", lambda name: said(found.get(name[1])), reason)


def _item(text: str) -> list[str]:
    """Returns an item of a list, at most 100 columns wide."""
    return textwrap.wrap(f"- {text}", 100, subsequent_indent="  ", break_on_hyphens=False)


def unexplained() -> list[str]:
    """Returns the numbers whose verdict lacks a reason, and the reasons that no verdict needs."""
    found, why = numbers(), reasons()
    wanted = {
        each.number
        for each in expectations()
        if found and each.verdict(found.get(each.number)) is not True
    }
    return sorted(wanted ^ why.keys())


def ruled(rule: Rule) -> str:
    """Returns a rule in words.

    >>> ruled(Within(0.9, 1.1))
    '0.9 to 1.1'
    """
    if isinstance(rule, Above):
        return f"above {rule.bound:g}"
    if isinstance(rule, Below):
        return f"below {rule.bound:g}"
    return f"{rule.low:g} to {rule.high:g}"


def said(found: Estimate | None) -> str:
    """Returns a mean with its interval, the ends as exact as the interval is wide."""
    if found is None or found.mean is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{found.mean:.3g}"
    width = found.high - found.low
    if width <= 1e-9 * max(1.0, abs(found.mean)):
        return f"{found.mean:.3g}"
    digits = max(0, min(3, 1 - math.floor(math.log10(width))))
    mean, low, high = (
        f"{round(x, digits) + 0.0:.{digits}f}" for x in (found.mean, found.low, found.high)
    )
    return f"{mean} ({low} to {high})".replace("-", "−")


# ---- the command


def main(names: Sequence[str]) -> int:
    """Does these parts, or all; returns the exit status."""
    import hosts_figures
    import hosts_runs

    for name in names or QUESTIONS:
        found = hosts_runs.Found()
        hosts_runs.PARTS[name](found)
        keep(name, found.numbers)
        if found.trace:
            keep_dips(found.trace)
        if name == "mix":
            keep_run()
        hosts_figures.write(name, FOLDER, numbers(), dips())
    _files.write(PAGE, page(PAGE.read_text(encoding="utf-8")))
    for name in unexplained():
        print(f"{REASONS.relative_to(ROOT)}: {name}: verdict and reason do not go together")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
