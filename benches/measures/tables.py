"""Markdown tables, and numbers in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NONE = "–"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns a Markdown table, numbers to the right."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(str(c) for c in line) + " |" for line in lines) + "\n"


def millions(x: float) -> str:
    """A rate in millions."""
    return f"{x / 1e6:.2f}"


def mib(x: float) -> str:
    """Bytes in MiB."""
    return f"{x / 2**20:.1f}"


def per_cent(x: float) -> str:
    """A relative difference."""
    shown = f"{100 * x:+.1f} %"
    return "0.0 %" if shown in ("+0.0 %", "-0.0 %") else shown
