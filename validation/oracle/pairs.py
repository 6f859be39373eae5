"""Pairs of a metric in the kernel and in the simulator: how they agree, how they are shown, what their commands share.

A pair agrees where the simulator's mean is within 10 % of the kernel's, or where the two differ by less than the joint
95 % interval.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import oracle
from image import write

#: Within this part of the kernel's mean the simulator's agrees.
BOUND = 0.1


def agrees(kernel: oracle.Estimate, simulated: oracle.Estimate) -> str:
    """How: "yes", "interval", or "no"."""
    difference = abs(float(simulated["mean"] or 0) - float(kernel["mean"] or 0))
    if difference <= BOUND * abs(float(kernel["mean"] or 0)):
        return "yes"
    joint = math.hypot(float(kernel["ci95"] or 0), float(simulated["ci95"] or 0))
    return "interval" if difference <= joint else "no"


def judged(result: dict[str, Any], metrics: Iterable[str]) -> dict[str, str]:
    """How each metric agrees that either side has."""
    pairs = {metric: _pair(result, metric) for metric in metrics}
    return {metric: agrees(*pair) for metric, pair in pairs.items() if any(side["mean"] for side in pair)}


def cells(result: dict[str, Any], metrics: Collection[str], beside: Sequence[str]) -> list[str]:
    """A row of a table: the metrics that are judged, and others beside them."""
    how = judged(result, metrics)
    row = []
    for metric in (*metrics, *beside):
        kernel, simulated = _pair(result, metric)
        if not kernel["mean"] and not simulated["mean"]:
            row.append("0")
            continue
        text = f"{oracle.shown(kernel)} → {oracle.shown(simulated)}"
        if kernel["mean"]:
            text += f", {oracle.difference(kernel, simulated):+.1f} %"
        row.append({"interval": f"{text} *i*", "no": f"**{text}**"}.get(how.get(metric, "yes"), text))
    return row


def _pair(result: dict[str, Any], metric: str) -> tuple[oracle.Estimate, oracle.Estimate]:
    return result["kernel"]["summary"][metric], result["simulator"]["summary"][metric]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The rows as Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def parser(program: str, doc: str | None, seeds: list[int]) -> argparse.ArgumentParser:
    """The options of a command that compares: seeds, the folder of its results, and that of packages."""
    made = argparse.ArgumentParser(prog=program, description=(doc or "").split("\n")[0], allow_abbrev=False)
    named = ",".join(map(str, seeds))
    made.add_argument("--seeds", type=oracle.seeds, default=seeds, help=f"qemu's ({named})")
    made.add_argument("--out", type=Path, required=True, metavar="DIR", help="results; what guests said is kept there")
    made.add_argument("--cache", type=Path, default=oracle.CACHE, help="unpacked packages (~/.cache/penstock-oracle)")
    return made


def compared(settings: Sequence[oracle.Setting], options: argparse.Namespace) -> list[dict[str, Any]]:
    """What the kernel and the simulator make of each setting."""
    keep = options.out / "guests"
    return oracle.run(settings, options.seeds, options.cache, True, None, simulator=True, keep=keep)


def put(page: Path, begin: str, end: str, text: str) -> None:
    """Writes what the page has between two of its lines."""
    before, after = page.read_text(encoding="utf-8").split(begin)
    write(page, f"{before}{begin}\n{text}\n{end}{after.split(end)[1]}".encode())
