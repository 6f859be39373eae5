"""Parquet files with a checksum for each page: written whole or not at all, and checked when read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from penstock._files import replacing
from penstock.sweeps.store.manifest import DamagedError, Manifest, State

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes of a row group. Writing takes memory in proportion.
GROUP_BYTES = 32 << 20


class Writer:
    """A Parquet file that is being written. Tables are added in pieces of any size."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._names = schema.names
        self._sink = _Hashed(file)
        self._writer = pq.ParquetWriter(self._sink, schema, compression="zstd", write_page_checksum=True)
        self._waiting: list[pa.Table] = []
        # Kept as a sum: to sum the waiting tables anew for each one takes time in its square.
        self._waiting_bytes = 0

    def add(self, table: pa.Table) -> None:
        """Adds rows."""
        self._waiting.append(table.select(self._names))
        self._waiting_bytes += table_bytes(table)
        if self._waiting_bytes >= GROUP_BYTES:
            self._group()

    def finish(self) -> State:
        """Writes the rest; nothing can be added after this."""
        self._group()
        self._writer.close()
        return self._sink.state()

    def close(self) -> None:
        """Lets go of the file, finished or not."""
        if self._writer.is_open:
            self._writer.close()

    def _group(self) -> None:
        import pyarrow as pa

        if self._waiting:
            rows = pa.concat_tables(self._waiting)
            self._writer.write_table(rows, row_group_size=max(1, rows.num_rows))
            self._waiting.clear()
            self._waiting_bytes = 0


class _Hashed:
    """A file that hashes what is written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._bytes = 0
        self.closed = False

    def write(self, data: Any) -> int:
        self._digest.update(data)
        self._file.write(data)
        size = memoryview(data).nbytes
        self._bytes += size
        return size

    def tell(self) -> int:
        return self._bytes

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.closed = True  # the file itself is its opener's

    def state(self) -> State:
        return State(self._bytes, self._digest.hexdigest())


def table_bytes(table: pa.Table) -> int:
    """Returns the bytes of a table's columns."""
    size: int = table.nbytes
    return size


@contextmanager
def writing(path: Path, schema: pa.Schema) -> Iterator[Writer]:
    """Opens a Parquet file that gets its name when the block ends well.

    The block finishes it, and pledges its state in the manifest before it ends.
    """
    with replacing(path) as file:
        writer = Writer(file, schema)
        try:
            yield writer
        finally:
            writer.close()
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes sure that a renamed file keeps its name through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_part(manifest: Manifest, path: Path, names: Sequence[str] | None = None, filters: Any = None) -> pa.Table:
    """Returns a file's rows. Raises `DamagedError` if the file is not what was written."""
    import pyarrow.parquet as pq

    manifest.check(path)
    with _damage(manifest, path):
        return pq.read_table(path, columns=names, filters=filters, page_checksum_verification=True)


@contextmanager
def open_part(manifest: Manifest, path: Path, dictionaries: Sequence[str] = ()) -> Iterator[Any]:
    """Opens a `pyarrow.parquet.ParquetFile` to be read in pieces.

    Raises `DamagedError` if the file is not what was written.
    dictionaries: columns that are read as dictionaries.
    """
    import pyarrow.parquet as pq

    manifest.check(path)
    with (
        _damage(manifest, path),
        pq.ParquetFile(path, read_dictionary=list(dictionaries), page_checksum_verification=True) as file,
    ):
        yield file


@contextmanager
def _damage(manifest: Manifest, path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # Arrow raises OSError for pages with a wrong checksum. One with a number is the system's.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = " ".join(str(error).split())
        raise DamagedError(manifest.folder, path, f"Arrow cannot read it ({said})") from error
