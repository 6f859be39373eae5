"""Every run of a store as CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

from penstock._names import command
from penstock.errors import Error
from penstock.sweeps import store


def export(folder: str | Path, file: IO[bytes], table: str = store.RUNS) -> None:
    """Writes every row of a table as a line of CSV, in the order of the runs' keys. Lists are JSON text."""
    import pyarrow.csv as pa_csv

    folder = Path(folder)
    store.settle(folder)
    if table != store.RUNS and not store.parts(folder, table):
        option = "--flows" if table == "flows" else "--series 100ms"
        adds = command("sweep", "FILE", *option.split(), "--out", folder)
        raise Error(f"{folder}: no {table} is kept there; {adds} adds it")
    for i, rows in enumerate(store.in_order(folder, table)):
        pa_csv.write_csv(_flat(rows), file, pa_csv.WriteOptions(include_header=i == 0))


def _flat(runs: Any) -> Any:
    import pyarrow as pa

    for name in {"groups", "links", "warnings"} & set(runs.column_names):
        texts = [json.dumps(value, separators=(",", ":")) for value in runs[name].to_pylist()]
        runs = runs.set_column(runs.schema.get_field_index(name), name, pa.array(texts, pa.string()))
    return runs
