"""Damaged files: found, and set aside before a sweep writes, so that their runs are done again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from penstock.sweeps.store import schemas
from penstock.sweeps.store.journal import SUFFIX, BrokenError, entries
from penstock.sweeps.store.layout import (
    DAMAGED,
    RUNS,
    TABLES,
    about,
    mark_of,
    parts,
    place,
    write_about,
)
from penstock.sweeps.store.manifest import DamagedError, Manifest, State
from penstock.sweeps.store.parquet import open_part


def damages(manifest: Manifest) -> Iterator[DamagedError]:
    """Reads a store whole, and gives what is wrong with it. The caller holds the store's lock."""
    folder = manifest.folder
    yield from _schema(folder)
    for path in manifest:
        try:
            named = manifest.states(path.stem)
        except DamagedError as error:
            yield error
            continue
        # While there is a journal, files may be absent: a kill came between manifest and files.
        if not (folder / "journal" / f"{path.stem}{SUFFIX}").exists():
            for file in named:
                if not file.exists():
                    yield DamagedError(folder, file, "it is missing")
    for table in TABLES:
        for part in parts(folder, table):
            yield from _part(manifest, part)
    for journal in sorted((folder / "journal").glob(f"*{SUFFIX}")):
        try:
            for _ in entries(journal, strict=True):
                pass
        except BrokenError as error:
            yield DamagedError(folder, journal, str(error))


def mend(manifest: Manifest, notice: Callable[[str], object]) -> None:
    """Sets damaged files aside, and pledges the files that no manifest names.

    The runs of a file that is set aside count as not done. Journals are left to their adoption. The
    caller holds the store's lock.
    """
    folder = manifest.folder
    # The second turn reads the files whose manifest the first one set aside.
    for _ in range(2):
        for damage in sorted(damages(manifest), key=lambda damage: damage.path == _schema_of(folder)):
            path = damage.path
            if path == _schema_of(folder):
                where = _moved(set_aside(folder, path) if path.exists() else None)
                _schema_anew(manifest)
                notice(f"{path} is damaged: {damage.why}; it is made anew{where}")
            elif path.parent == folder / "manifest":
                where = _moved(set_aside(folder, path))
                notice(f"{path} is damaged: {damage.why}; its files are read in full{where}")
            elif path.suffix != SUFFIX:
                _part_aside(manifest, damage, notice)
    for table in TABLES:
        for part in parts(folder, table):
            if not manifest.check(part):
                # An older build wrote it, or its manifest was damaged. It could be read, and each
                # page has its checksum.
                manifest.pledge(part.stem, {part: State.of(part)})


def set_aside(folder: Path, path: Path) -> Path:
    """Moves a file of the store into its folder of damaged files, and returns where it is now."""
    to = folder / DAMAGED / path.relative_to(folder)
    to.parent.mkdir(parents=True, exist_ok=True)
    n = 1
    while to.exists():
        n += 1
        to = to.with_name(f"{path.stem}-{n}{path.suffix}")
    return path.rename(to)


def _part_aside(manifest: Manifest, damage: DamagedError, notice: Callable[[str], object]) -> None:
    """Sets a Parquet file aside, and those that have no use without it.

    A run has all series or none, so the files of its series go together.
    """
    folder, path = manifest.folder, damage.path
    of = next(table for table in TABLES if place(folder, table) == path.parent)
    together = [table for table in TABLES if mark_of(table) == mark_of(of)]
    files = [place(folder, table) / path.name for table in together]
    moved = [set_aside(folder, file) for file in files if file.exists()]
    manifest.settle(path.stem)
    where = "" if not moved else _moved(moved[0])
    if len(moved) > 1:
        where = f"; moved to {folder / DAMAGED}, as are the other series of its runs"
    notice(f"{path} is damaged: {damage.why}; its runs are done again{where}")


def _moved(to: Path | None) -> str:
    return "" if to is None else f"; moved to {to}"


def _schema_of(folder: Path) -> Path:
    return folder / "schema.json"


def _part(manifest: Manifest, part: Path) -> Iterator[DamagedError]:
    """Gives what is wrong with a Parquet file."""
    try:
        if not manifest.check(part):
            with open_part(manifest, part) as file:
                for _ in file.iter_batches():
                    pass
    except DamagedError as error:
        if error.path == part:  # not: its manifest, which is said once
            yield error


def _schema(folder: Path) -> Iterator[DamagedError]:
    path = _schema_of(folder)
    try:
        about(folder)
    except DamagedError as error:
        yield error
    else:
        if not path.exists() and parts(folder):
            yield DamagedError(folder, path, "it is missing")


def _schema_anew(manifest: Manifest) -> None:
    """Writes `schema.json` from what the Parquet files hold. Those that are damaged, too, say nothing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = manifest.folder
    content = about(folder)
    kinds = {pa.bool_(): "bool", pa.int64(): "int", pa.float64(): "float", pa.string(): "text"}
    fixed = set(schemas.schema({}).names)
    for part in parts(folder, RUNS):
        with suppress(pa.ArrowException, OSError):
            keys = [field for field in pq.read_schema(part) if field.name not in fixed and field.type in kinds]
            content["parameters"] = {field.name: kinds[field.type] for field in keys}
            break
    for part in parts(folder, "queue"):
        with suppress(DamagedError, KeyError, StopIteration), open_part(manifest, part) as file:
            # A queue is sampled at every interval, from 0 on.
            times = next(file.iter_batches(2, columns=["t_s"]))["t_s"].to_pylist()
            if len(times) == 2 and times[1] > 0:
                content["series_s"] = times[1]
            break
    write_about(folder, content)
