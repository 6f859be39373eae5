"""Comparisons of many scenarios as JSON and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence

from penstock import _penstock
from penstock.show.numbers import number, scale
from penstock.validate.agreement import Verdict
from penstock.validate.real.compare import COMPARED, Agreement, Pair


def document(agreements: Sequence[Agreement]) -> str:
    """Returns what `penstock validate-real --json` prints."""
    cases = [each.document() for each in agreements]
    return json.dumps({"version": _penstock.__version__, "cases": cases}, ensure_ascii=False, separators=(",", ":"))


#: What stands for each metric in the summary of many scenarios.
HEADLINES = ("utilization", "delay_mean_s")


def word(verdict: Verdict) -> str:
    """Returns a verdict in a word or two."""
    if verdict.agrees is None:
        return "not counted"
    return f"agrees ({verdict.why})" if verdict.agrees else f"differs ({verdict.why})"


def markdown(agreements: Sequence[Agreement]) -> str:
    """Returns the summary as Markdown: one row per scenario, first the metrics that the bounds are about, then
    the others.

    A cell is the real value, an arrow, the simulated one and the difference: bold where it differs, with an i where
    only the interval lets it agree.
    """
    there = {pair.metric for each in agreements for pair in each.pairs}
    others = [c.name for c in COMPARED if c.name in there and c.name not in HEADLINES]
    return _markdown(agreements, HEADLINES) + "\n" + _markdown(agreements, others)


def _markdown(agreements: Sequence[Agreement], names: Sequence[str]) -> str:
    lines = ["| scenario | runs | " + " | ".join(names) + " |", "| --- " * (len(names) + 2) + "|"]
    for each in agreements:
        pairs = {pair.metric: pair for pair in each.pairs}
        cells = [_cell(pairs[name]) if name in pairs else "–" for name in names]
        again = f" (+ {len(each.invalid)} not counted)" if each.invalid else ""
        lines.append(f"| {each.name} | {len(each.emulations)}{again} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(pair: Pair) -> str:
    largest = max(abs(pair.real.mean or 0.0), abs(pair.simulated.mean or 0.0))
    if largest == 0:
        return "0"
    factor, unit = scale(pair.metric, largest)
    text = f"{number(pair.real, factor)} → {number(pair.simulated, factor)} {unit}, {pair.verdict.difference}"
    if pair.verdict.agrees is False:
        return f"**{text}**"
    return f"{text} i" if pair.verdict.why == "interval" else text
