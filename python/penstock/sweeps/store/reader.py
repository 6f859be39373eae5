"""Reads what a store holds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock._names import command
from penstock.errors import Error
from penstock.sweeps.store import schemas
from penstock.sweeps.store.damage import damages
from penstock.sweeps.store.journal import SUFFIX, lock
from penstock.sweeps.store.layout import RUNS, columns, parts
from penstock.sweeps.store.manifest import DamagedError, Manifest
from penstock.sweeps.store.parquet import open_part, read_part
from penstock.sweeps.store.picked import read_runs, with_made
from penstock.sweeps.store.writer import Store

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows that are sorted at once.
ORDER_ROWS = 1_000_000


def settle(folder: Path) -> None:
    """Writes to Parquet what a killed process left in its journal."""
    _exists(folder)
    # To open a store reads all of it; most have no journal.
    if any((folder / "journal").glob(f"*{SUFFIX}")):
        with Store(folder):
            pass


def verify(folder: Path) -> list[DamagedError]:
    """Reads a whole store, and returns what is damaged in it. Nothing is changed."""
    _exists(folder)
    with (folder / "lock").open("a") as file:
        lock(file)
        return list(damages(Manifest(folder)))


def read(
    folder: Path,
    names: Sequence[str] | None = None,
    table: str = RUNS,
    filters: Any = None,
    manifest: Manifest | None = None,
) -> pa.Table:
    """Returns a table's rows. The rows of a run are together and in order; the runs are in none.

    names: the columns that are wanted, of runs also metrics of links and groups (`links.R0-R1.delay_mean_s`); default:
        all columns.
    filters: as in `pyarrow.parquet.read_table`.
    manifest: of a caller that reads several times, so that each file is checked once.

    Raises `DamagedError` where a file is not what was written.
    """
    import pyarrow as pa

    manifest = manifest or Manifest(folder)
    schema = schemas.schema(columns(folder)) if table == RUNS else schemas.table_schema(table)
    if names is None or table != RUNS:
        tables = [read_part(manifest, part, names, filters) for part in parts(folder, table)]
    else:
        tables = [read_runs(manifest, part, names, filters) for part in parts(folder)]
    if tables:
        return pa.concat_tables(tables)
    empty = schema.empty_table()
    if names is None:
        return empty
    return with_made(empty, [name for name in names if name not in schema.names]).select(names)


def warnings(folder: Path) -> tuple[str, ...]:
    """Returns what is to be said of the runs in a folder beside their numbers: how many have a warning, and one of
    them; nothing where none has."""
    said = [text for run in read(folder, ["warnings"])["warnings"].to_pylist() for text in run or ()]
    return (f"{len(said)} runs in {folder} have a warning, such as: {min(said)}",) if said else ()


def in_order(folder: Path, table: str = RUNS) -> Iterator[pa.Table]:
    """Gives a table in the order of its keys, one part at a time: equal sweeps give equal rows."""
    import pyarrow.parquet as pq

    manifest = Manifest(folder)
    rows = sum(pq.read_metadata(part).num_rows for part in parts(folder, table))
    # Keys are hashes: equal shares of their range hold about equal numbers of runs.
    shares = -(-rows // ORDER_ROWS) or 1
    ends = [f"{(i << 32) // shares:08x}" for i in range(shares)] + ["g"]
    for low, high in itertools.pairwise(ends):
        share = read(folder, None, table, [("key", ">=", low), ("key", "<", high)], manifest)
        yield share.sort_by("key").combine_chunks()


@contextmanager
def opened(part: Path, folder: Path, dictionaries: Sequence[str] = ()) -> Iterator[Any]:
    """Opens one of the store's files as a `pyarrow.parquet.ParquetFile`, after a check of it.

    dictionaries: columns that are read as dictionaries.
    """
    with open_part(Manifest(folder), part, dictionaries) as file:
        yield file


def _exists(folder: Path) -> None:
    if not (folder / "schema.json").is_file() and not any(parts(folder)):
        raise Error(f"{folder}: no store of runs; {command('sweep', 'FILE', '--out', folder)} makes one")
