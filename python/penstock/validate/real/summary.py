"""Comparisons of many scenarios as JSON and as Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from penstock import _json
from penstock.show.numbers import number, scale
from penstock.validate.agreement import Verdict
from penstock.validate.real.compare import BOUNDED, Agreement


def document(agreements: Sequence[Agreement]) -> str:
    """Returns what `penstock validate-real --json` prints."""
    return _json.document({"cases": [each.document() for each in agreements]})


#: What stands for each metric in the summary of many scenarios.
HEADLINES = ("utilization", "delay_mean_s")


def word(verdict: Verdict) -> str:
    """Returns a verdict in a word or two."""
    if verdict.agrees is None:
        return "not counted"
    return f"agrees ({verdict.why})" if verdict.agrees else f"differs ({verdict.why})"


def markdown(agreements: Sequence[Agreement]) -> str:
    """Returns the summary as Markdown: how many pairs agree, metric by metric, and those that differ.

    Only pairs of which bounds are promised are counted; `pairs_csv` has all.
    """
    pairs = [(each, pair) for each in agreements for pair in each.pairs if pair.bounded]
    counted = [pair for _, pair in pairs if pair.verdict.agrees is not None]
    agree = sum(pair.verdict.agrees is True for pair in counted)
    alone = sum(pair.verdict.why == "interval" for pair in counted if pair.verdict.agrees)
    lines = [
        f"{len(agreements)} scenarios, {len(counted)} pairs: {agree} agree ({_per_cent(agree, len(counted))}), "
        f"{alone} of them by their interval alone.",
        "",
        "| metric | bound | pairs | agree | by interval alone |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name in BOUNDED:
        mine = [pair for pair in counted if pair.metric.split(".")[0] == name]
        if mine:
            agree = sum(pair.verdict.agrees is True for pair in mine)
            alone = sum(pair.verdict.why == "interval" for pair in mine if pair.verdict.agrees)
            lines.append(f"| {name} | {mine[0].tolerance * 100:g} % | {len(mine)} | {agree} | {alone} |")
    differ = [(each, pair) for each, pair in pairs if pair.verdict.agrees is False]
    if differ:
        lines += [
            "",
            "| scenario | runs | metric | real | simulated | difference |",
            "| --- | ---: | --- | ---: | ---: | ---: |",
        ]
    for each, pair in differ:
        factor, unit = scale(pair.metric, max(abs(pair.real.mean or 0.0), abs(pair.simulated.mean or 0.0)))
        values = [f"{number(side, factor)} {unit}".rstrip() for side in (pair.real, pair.simulated)]
        cells = [each.name, str(len(each.emulations)), pair.metric, *values, pair.verdict.difference]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _per_cent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def pairs_csv(agreements: Sequence[Agreement]) -> str:
    """Returns every pair as a row of comma-separated values."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(
        "scenario,metric,bound,real,real_ci95,real_runs,simulated,simulated_ci95,seeds,difference,agrees,why".split(",")
    )
    for each in agreements:
        for pair in each.pairs:
            sides = [
                value
                for side in (pair.real, pair.simulated)
                for value in (_digits(side.mean), _digits(side.ci95), str(side.n))
            ]
            agrees = {True: "yes", False: "no", None: ""}[pair.verdict.agrees]
            bound = f"{pair.tolerance:g}" if pair.bounded else ""
            rows.writerow([each.name, pair.metric, bound, *sides, pair.verdict.difference, agrees, pair.verdict.why])
    return text.getvalue()


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
