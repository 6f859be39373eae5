"""All files of a table have the same columns: those that lack some are written again with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.model.scenario import value_at
from penstock.sweeps.store import schemas
from penstock.sweeps.store.layout import about, columns, parts, write_about
from penstock.sweeps.store.manifest import Manifest
from penstock.sweeps.store.parquet import open_part, read_part, writing

if TYPE_CHECKING:
    import pyarrow as pa


def add_columns(manifest: Manifest, wanted: Mapping[str, str]) -> None:
    """Makes these keys of the scenario columns, of these types or wider ones, in all files."""
    import pyarrow.parquet as pq

    folder = manifest.folder
    now = columns(folder)
    then = dict(now)
    for name, kind in wanted.items():
        then[name] = schemas.wider(now.get(name, "null"), kind)
    if new := [name for name in then if name not in now]:
        for part in parts(folder):
            for text in read_part(manifest, part, ["scenario"])["scenario"].unique().to_pylist():
                scenario = json.loads(text)
                for name in new:
                    value = value_at(scenario, name)
                    then[name] = schemas.wider(then[name], schemas.kind_of(value))
    then = dict(sorted(then.items()))
    if then != now or not (folder / "schema.json").exists():
        write_about(folder, {**about(folder), "parameters": then})
    schema = schemas.schema(then)
    # A kill between the two leaves files as they were; the next call finds them here.
    for part in parts(folder):
        if not pq.read_schema(part).equals(schema):
            _again(manifest, part, schema, list(then))


def complete(manifest: Manifest, table: str) -> None:
    """Gives the files of a build that knew fewer columns those of this one, empty."""
    import pyarrow.parquet as pq

    schema = schemas.table_schema(table)
    for part in parts(manifest.folder, table):
        if set(schema.names) - set(pq.read_schema(part).names):
            _again(manifest, part, schema, ())


def _again(manifest: Manifest, part: Path, schema: pa.Schema, paths: Sequence[str]) -> None:
    """Writes a file again; `paths` are those of its columns that are keys of the scenario."""
    import pyarrow as pa

    with open_part(manifest, part) as file, writing(part, schema) as writer:
        for batch in file.iter_batches(10_000):
            texts = batch["scenario"].to_pylist() if paths else []
            scenarios = [json.loads(text) for text in texts]

            def column(field: pa.Field, batch: Any = batch, scenarios: Sequence[Any] = scenarios) -> Any:
                if field.name in paths:
                    values = [value_at(scenario, field.name) for scenario in scenarios]
                    return schemas.column(values, field.type)
                if field.name in batch.schema.names:
                    return batch[field.name].cast(field.type)
                return pa.nulls(batch.num_rows, field.type)

            writer.add(pa.table([column(field) for field in schema], schema=schema))
        manifest.pledge(part.stem, {part: writer.finish()})
