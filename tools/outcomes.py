"""Pages of published outcomes: what a source leads to expect of a number, and what the runs say.

A page `docs/NAME.md` has its files in `docs/NAME`: `expected.csv` has the expectations,
`numbers.csv` what the runs said, `reasons.csv` why a verdict is not *as expected*. The page's
tables stand between marks, and are written again from these files.
"""

from __future__ import annotations

import csv
import io
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from penstock import _files
from penstock.judging.estimate import ANYWHERE, Bounds, Estimate
from penstock.judging.rules import Above, Below, Within
from penstock.runs.result import Result
from tables import filled, table

ROOT = Path(__file__).resolve().parents[1]

Rule: TypeAlias = Above | Below | Within
#: Name → what the runs say.
Numbers: TypeAlias = Mapping[str, Estimate]
#: A number in each run, seed by seed; `None` where a run has none.
Values: TypeAlias = Sequence[float | None]
#: Names and one row per point: what a figure shows of single runs.
Trace: TypeAlias = list[tuple[str, float, float]]
VERDICTS = {True: "as expected", False: "**not**", None: "open"}


@dataclass
class Found:
    """What a part measures."""

    numbers: dict[str, Estimate] = field(default_factory=dict)
    trace: Trace = field(default_factory=list)

    def add(self, name: str, values: Values, bounds: Bounds = ANYWHERE) -> None:
        """Keeps a number with its interval."""
        self.numbers[name] = Estimate.of(values, bounds)


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


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """A page.

    questions: the name of a part of `expected.csv` → its heading in the summary, in the order of
        the page. extra: what follows a part's table.
    """

    name: str
    questions: Mapping[str, str]
    extra: Mapping[str, Callable[[Numbers], list[str]]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return ROOT / "docs" / self.name

    @property
    def path(self) -> Path:
        """The page."""
        return ROOT / "docs" / f"{self.name}.md"

    @property
    def reasons_file(self) -> Path:
        """The reasons, which are written by hand."""
        return self.folder / "reasons.csv"

    def expectations(self) -> list[Expectation]:
        """Returns what the sources lead to expect."""
        kept = rows(self.folder / "expected.csv")
        return [Expectation(**{**row, "rule": _rule(row["rule"])}) for row in kept]

    def numbers(self) -> dict[str, Estimate]:
        """Returns what the runs said."""
        return {name: _read(row) for name, row in self._numbers().items()}

    def _numbers(self) -> dict[str, dict[str, Any]]:
        return {row["number"]: row for row in rows(self.folder / "numbers.csv")}

    def reasons(self) -> dict[str, str]:
        """Returns why numbers are not what was expected, by the name of the number."""
        return {row["number"]: row["reason"] for row in rows(self.reasons_file)}

    def keep(self, part: str, found: Numbers) -> None:
        """Writes the numbers of a part into their file, in place of its older ones."""
        kept = {name: row for name, row in self._numbers().items() if row["part"] != part}
        for name, each in found.items():
            ends = zip(("mean", "low", "high"), (each.mean, each.low, each.high), strict=True)
            said = {end: "" if x is None else f"{x:.6g}" for end, x in ends}
            kept[name] = {"part": part, "number": name, **said, "runs": each.n}
        columns = ["part", "number", "mean", "low", "high", "runs"]
        write_rows(self.folder / "numbers.csv", columns, kept)

    def page(self, text: str) -> str:
        """Returns the page with its tables written again from the files."""
        expected, found, why = self.expectations(), self.numbers(), self.reasons()
        maker = f"tools/{self.name}.py"
        text = filled(text, f"{maker}: summary", self.summary(expected, found))
        for question in self.questions:
            own = [each for each in expected if each.question == question]
            lines = [*judged(own, found), "", *explained(own, found, why)]
            lines += self.extra[question](found) if question in self.extra else []
            text = filled(text, f"{maker}: {question}", lines)
        return text

    def write(self) -> None:
        """Writes the page again, and says which verdict lacks its reason."""
        _files.write(self.path, self.page(self.path.read_text(encoding="utf-8")))
        for name in self.unexplained():
            file = self.reasons_file.relative_to(ROOT)
            print(f"{file}: {name}: verdict and reason do not go together")

    def summary(self, expected: Sequence[Expectation], found: Numbers) -> list[str]:
        """Returns how many expectations came true, question by question."""
        lines = []
        for question, title in self.questions.items():
            own = [each for each in expected if each.question == question]
            said = [each.verdict(found.get(each.number)) for each in own]
            counts = [str(said.count(verdict)) for verdict in VERDICTS]
            lines.append([title, str(len(said)), *counts])
        total = [str(sum(int(line[i]) for line in lines)) for i in range(1, 5)]
        header = ["question", "expectations", "as expected", "not", "open"]
        return table(header, [*lines, ["all", *total]], "lr")

    def unexplained(self) -> list[str]:
        """Returns the numbers whose verdict lacks a reason, and the reasons that none needs."""
        found, why = self.numbers(), self.reasons()
        wanted = {
            each.number
            for each in self.expectations()
            if found and each.verdict(found.get(each.number)) is not True
        }
        return sorted(wanted ^ why.keys())


def _rule(words: str) -> Rule:
    """Returns the rule that is written as `above 80`, `below 2` or `0.9 to 1.1`."""
    if words.startswith("above "):
        return Above(float(words[6:]))
    if words.startswith("below "):
        return Below(float(words[6:]))
    low, _, high = words.partition(" to ")
    return Within(float(low), float(high))


def rows(file: Path) -> list[dict[str, Any]]:
    """Returns the rows of a file; none where there is no file yet."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def _read(row: Mapping[str, str]) -> Estimate:
    mean, low, high = (float(row[key]) if row[key] else None for key in ("mean", "low", "high"))
    half = None if low is None or high is None else (high - low) / 2
    return Estimate(mean, half, int(row["runs"]), low, high)


def write_rows(file: Path, columns: Sequence[str], kept: Mapping[Any, Mapping[str, Any]]) -> None:
    """Writes rows in the order of their keys."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(kept[key] for key in sorted(kept))
    _files.write(file, text.getvalue())


def judged(expected: Sequence[Expectation], found: Numbers) -> list[str]:
    """Returns the expectations of a question, with what the runs say and the verdict."""
    lines = [
        [
            each.what,
            f"{ruled(each.rule)} {each.unit}".strip(),
            said(found.get(each.number)),
            VERDICTS[each.verdict(found.get(each.number))] if found else "–",
            each.source.replace("*", "\\*"),
        ]
        for each in expected
    ]
    return table(["what", "expected", "runs", "verdict", "source"], lines, "lrrll")


def explained(
    expected: Sequence[Expectation], found: Numbers, why: Mapping[str, str]
) -> Iterator[str]:
    """Yields the reason of each verdict that is not as expected."""
    whole = ""
    for each in expected:
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


# ---- measures of a run


def metric(found: Result, name: str, times: float = 1.0) -> list[float]:
    """Returns a metric of each run."""
    return [times * (run.metrics[name] or 0.0) for run in found.runs]


def share(found: Result, group: int = 0) -> list[float]:
    """Returns a group's share of the goodput, in per cent."""
    return [100 * mine / (sum(all_of) or 1.0) for mine, all_of in _goodputs(found, group)]


def ratio(found: Result, group: int = 0, over: int = 1) -> list[float]:
    """Returns the goodput of a group over that of another."""
    return [
        (run.groups[group]["goodput_bps"] or 0.0) / max(run.groups[over]["goodput_bps"] or 0.0, 1.0)
        for run in found.runs
    ]


def _goodputs(found: Result, group: int) -> Iterator[tuple[float, list[float]]]:
    for run in found.runs:
        rates = [each["goodput_bps"] or 0.0 for each in run.groups]
        yield rates[group], rates


def less(ours: Values, theirs: Values) -> list[float | None]:
    """Returns the differences, seed by seed."""
    both = zip(ours, theirs, strict=True)
    return [None if a is None or b is None else a - b for a, b in both]


def over(ours: Values, theirs: Values) -> list[float | None]:
    """Returns the quotients, seed by seed; `None` where there is none."""
    both = zip(ours, theirs, strict=True)
    return [None if a is None or not b else a / b for a, b in both]
