"""Computes what a SONiC switch's config DB will be once a document is loaded, beside what it is now.

`sonic-cfggen --write-to-db` sets the fields that a document has and leaves the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from penstock.operators.changes import ABSENT, Change
from penstock.operators.model import Place, Written
from penstock.operators.sonic_state import stripped
from penstock.operators.state import Given, table


def changes(document: Any, given: Given, write: Callable[[Place], Written], place: Place) -> list[Change]:
    """Returns what changes, field by field, profiles and what binds them alike. Raises
    `ScenarioError`.
    """
    tables = table(document, "the config DB")
    written = json.loads(write(replace(place, dev=given.dev)).text)
    found: list[Change] = []
    for name, rows in written.items():
        there = tables.get(name)
        for key, row in rows.items():
            now = there.get(key) if isinstance(there, dict) else None
            found += _row(f"{name} {key}", now, row)
    return found


def _row(where: str, now: Any, row: Mapping[str, str]) -> list[Change]:
    own = stripped(now) if isinstance(now, dict) else {}
    if own.get("wred_profile") == f"[WRED_PROFILE|{row.get('wred_profile')}]":
        own["wred_profile"] = row["wred_profile"]  # as releases before 2021 write a reference
    return [
        Change(where=where, field=field, now=own.get(field), after=value, shown=(str(own.get(field, ABSENT)), value))
        for field, value in row.items()
        if own.get(field) != value
    ]
