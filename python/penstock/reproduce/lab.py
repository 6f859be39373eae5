"""Links from a figure of the report into the lab (`docs/lab`), where the figure shows a dumbbell over time."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from penstock.reproduce.model import Exhibit, Settings
from penstock.reproduce.readings import DEFAULT

#: More runs than these are a comparison, not something to watch.
MOST = 4


def place(out: Path) -> str | None:
    """Returns the lab as seen from a report in `out`; `None` where that is not part of the checkout that has it."""
    checkout = Path(__file__).resolve().parents[3]
    page = checkout / "docs" / "lab" / "index.html"
    inside = out.resolve().is_relative_to(checkout)
    return Path(os.path.relpath(page, out.resolve())).as_posix() if inside and page.exists() else None


def links(exhibit: Exhibit, lab: str | None) -> list[tuple[str, str]]:
    """Returns what the runs of a figure are called, and where each is open in the lab.

    None where it does not show time, has many runs, or they are no dumbbells.
    """
    if lab is None:
        return []
    shown = [case for case in exhibit.cases(Settings(), DEFAULT) if case.trace_s is not None]
    dumbbells = [case for case in shown if case.scenario.resolved["topology"]["kind"] == "dumbbell"]
    if len(shown) > MOST or len(dumbbells) < len(shown) or any(case.scenario.core.has_user_aqm for case in shown):
        return []
    return [
        (", ".join(str(label) for label in case.labels.values()), f"{lab}#toml={_packed(case.scenario.to_toml())}")
        for case in shown
    ]


def _packed(text: str) -> str:
    """Returns a text as the lab reads it from a fragment."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
