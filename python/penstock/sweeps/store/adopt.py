"""Journals become Parquet files.

A journal ID becomes files of the name ID. Their states are pledged in the manifest; then they get
their names, that of the runs last; then the journal goes. A kill in between leaves the journal. The
next process finds the same runs new in it, and writes the files that are missing. A run that is in
two journals is written once, and so is each of its tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.model.scenario import value_at
from penstock.sweeps.store import schemas
from penstock.sweeps.store.damage import set_aside
from penstock.sweeps.store.journal import SUFFIX, BrokenError, entries, lock
from penstock.sweeps.store.known import Known
from penstock.sweeps.store.layout import MARKS, RUNS, TABLES, columns, mark_of, place
from penstock.sweeps.store.manifest import Manifest
from penstock.sweeps.store.parquet import Writer, writing
from penstock.sweeps.store.widen import add_columns

if TYPE_CHECKING:
    import pyarrow as pa


def adopt(manifest: Manifest, known: Known, notice: Callable[[str], object]) -> list[Path]:
    """Writes journals whose process has ended to Parquet, and returns those of other processes.

    The caller holds the store's lock. `known` has learnt what the Parquet files hold.
    notice: called with what was damaged.
    """
    folder = manifest.folder
    live = []
    # A journal that has some of its files goes first, so that no other journal's file takes its
    # runs before it.
    journals = (folder / "journal").glob(f"*{SUFFIX}")
    for path in sorted(journals, key=lambda path: (not _begun(folder, path), path)):
        with path.open("rb") as file:
            try:
                lock(file, wait=False)
            except BlockingIOError:
                live.append(path)
                continue
            compact(manifest, known, path)
            try:
                for _ in entries(path, strict=True):
                    pass
            except BrokenError as error:
                aside = set_aside(folder, path)
                notice(f"{path} is damaged: {error}; what follows is run again; moved to {aside}")
            else:
                path.unlink()
    return live


def compact(manifest: Manifest, known: Known, journal: Path) -> None:
    """Writes the runs of a journal that no Parquet file has yet, with their tables."""
    import pyarrow as pa

    folder, identity = manifest.folder, journal.stem
    about = _of_points(manifest, journal)
    there = keys(journal)
    new = {mark: [key for key in there[mark] if not known.has(mark, key)] for mark in there}
    begun = tables(journal)
    wanted = {
        table: path
        for table in TABLES
        if table in begun
        and new.get(mark_of(table))
        and not (path := place(folder, table) / f"{identity}.parquet").exists()
    }
    # `None`: all rows.
    chosen = {mark: None if len(new[mark]) == len(there[mark]) else pa.array(new[mark]) for mark in new}
    with ExitStack() as files:
        writers: dict[str, Writer] = {}
        for table, path in wanted.items():
            schema = schemas.schema(columns(folder)) if table == RUNS else schemas.table_schema(table)
            writers[table] = files.enter_context(writing(path, schema))
        for entry in entries(journal) if writers else ():
            for table, writer in writers.items():
                if table in entry:
                    rows = _of(entry[table], chosen[mark_of(table)])
                    writer.add(_joined(rows, about) if table == RUNS else rows)
        states = {wanted[table]: writer.finish() for table, writer in writers.items()}
        if states:
            manifest.pledge(identity, states)
    manifest.settle(identity)
    for mark, of_mark in new.items():
        known.add(mark, of_mark)
        known.wrote(place(folder, mark) / f"{identity}.parquet")


def tables(journal: Path) -> set[str]:
    """Returns the tables that a journal has."""
    return {table for entry in entries(journal) for table in entry}


def keys(journal: Path) -> dict[str, list[str]]:
    """Returns the keys of a journal's runs, in the table of runs and in `MARKS`."""
    found: dict[str, list[str]] = {}
    for entry in entries(journal):
        for table in (RUNS, *MARKS):
            if table in entry:
                found.setdefault(table, []).extend(entry.keys(table))
    return found


def _begun(folder: Path, journal: Path) -> bool:
    files = (place(folder, table) / f"{journal.stem}.parquet" for table in TABLES)
    return any(path.exists() for path in files)


def _of_points(manifest: Manifest, journal: Path) -> pa.Table:
    """Returns what the rows of a journal's runs have from their points.

    It may make the columns of the store's files wider.
    """
    import pyarrow as pa

    types: dict[str, str] = dict(columns(manifest.folder))
    names: list[str | None] = []
    values: dict[str, list[Any]] = {path: [] for path in types}
    entered = (entry["points"] for entry in entries(journal) if "points" in entry)
    points = pa.concat_tables([schemas.points().empty_table(), *entered]).combine_chunks()
    for text in points["scenario"]:
        scenario = json.loads(text.as_py())
        names.append(scenario.get("name"))
        for path, column in values.items():
            value = value_at(scenario, path)
            types[path] = schemas.wider(types[path], schemas.kind_of(value))
            column.append(value)
    add_columns(manifest, types)
    now = schemas.schema(columns(manifest.folder))
    points = points.append_column("name", pa.array(names, pa.string()))
    for path, column in values.items():
        points = points.append_column(path, schemas.column(column, now.field(path).type))
    return points


def _of(rows: pa.Table, keys: pa.Array | None) -> pa.Table:
    """Returns the rows of these runs; without keys, all rows."""
    import pyarrow.compute as pc

    return rows if keys is None else rows.filter(pc.is_in(rows["key"], keys))


def _joined(runs: pa.Table, about: pa.Table) -> pa.Table:
    """Returns the rows of runs with what their points say."""
    import pyarrow as pa
    import pyarrow.compute as pc

    at = pc.index_in(runs["point"], about["point"])
    joined: Mapping[str, Any] = {name: about[name].take(at) for name in about.column_names if name != "point"}
    return pa.table({**joined, **{name: runs[name] for name in runs.column_names}})
