"""Says what pasting a configuration changes on a box, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.operators.state import plain

#: What a field has where the box has no such thing.
ABSENT = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One field that changes.

    where: what has it: `eth0 root fq_codel`, `WRED_PROFILE AZURE`.
    field: its name; empty where the whole thing comes or goes.
    now, after: its values; `None`: there is none.
    shown: both as the box writes them.
    """

    where: str
    field: str
    now: Any
    after: Any
    shown: tuple[str, str]


def text(found: Sequence[Change]) -> str:
    """Returns changes, a line for each; nothing where there is none."""
    return "".join(f"{plain(_line(each))}\n" for each in found)


def _line(change: Change) -> str:
    now, after = change.shown
    if change.field:
        return f"{change.where} {change.field}: {now} → {after}"
    return f"{change.where}: {'comes' if change.now is None else 'goes'}: {after if change.now is None else now}"


def listed(found: Sequence[Change]) -> list[dict[str, Any]]:
    """Returns changes as a document has them."""
    return [{"where": each.where, "field": each.field, "now": each.now, "after": each.after} for each in found]
