"""Says where the files of a store are, and what `schema.json` says about them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock._files import write
from penstock.errors import Error
from penstock.runs.tasks import FLOWS, MEASURES, SERIES
from penstock.sweeps.store.manifest import DamagedError
from penstock.sweeps.store.sealed import SealError, seal, unseal

VERSION = 1

RUNS = "runs"
#: All tables that a store may hold. The files of a journal are begun in this order, and they get
#: their names in the opposite order.
TABLES = (RUNS, FLOWS, MEASURES, *SERIES)
#: Tables that have at least one row for each run that was recorded: each run has flows and a
#: first packet, and each recorded queue has a first sample. The other series may have no row for a run.
MARKS = (FLOWS, MEASURES, SERIES[0])

#: Damaged files are moved to this folder of the store.
DAMAGED = "damaged"


def mark_of(table: str) -> str:
    """Returns the table whose rows say that a run has what `table` records."""
    return SERIES[0] if table in SERIES else table


def place(folder: Path, table: str) -> Path:
    """Returns the folder of a table's Parquet files."""
    return folder / "series" / table if table in SERIES else folder / table


def parts(folder: Path, table: str = RUNS) -> list[Path]:
    """Returns the Parquet files of a table."""
    found = place(folder, table).glob("*.parquet")
    return sorted(path for path in found if not path.name.startswith("."))


def columns(folder: Path) -> dict[str, str]:
    """Returns the keys of the scenario that are columns, with their types."""
    parameters: dict[str, str] = about(folder)["parameters"]
    return parameters


def about(folder: Path) -> dict[str, Any]:
    """Returns the content of `schema.json`; where there is none yet, that of an empty store."""
    path = folder / "schema.json"
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {"penstock_store": VERSION, "parameters": {}}
    try:
        found = unseal(text)
    except SealError as error:
        # Stores of older builds have no seal. A broken seal leaves a key that they did not have.
        older = _unsealed(text)
        if older is None:
            raise DamagedError(folder, path, str(error)) from error
        found = older
    if found["penstock_store"] != VERSION:
        raise Error(f"{folder}: a store of version {found['penstock_store']}; this Penstock reads version {VERSION}")
    return found


def write_about(folder: Path, content: Mapping[str, Any]) -> None:
    """Replaces `schema.json`."""
    write(folder / "schema.json", seal(content))


def _unsealed(text: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    known = {"penstock_store", "parameters", "series_s"}
    right = isinstance(found, dict) and {"penstock_store", "parameters"} <= set(found) <= known
    # The older builds' own writing, byte for byte.
    return found if right and json.dumps(found, indent=2) + "\n" == text.decode() else None
