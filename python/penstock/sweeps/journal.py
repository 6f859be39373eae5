"""A journal: the tables of finished runs, appended by one process, a few runs at a time; all of those or none.

An entry is a head, a directory (JSON: table → bytes) and each table as an Arrow stream. It counts once it is whole: its
length and checksum say so after a crash or a power cut, and what follows the first broken one was never finished.
"""

from __future__ import annotations

import json
import os
import struct
import uuid
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from penstock.errors import Error

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = ".journal"

#: Mark, bytes of the directory, bytes of the streams, checksum of both.
_HEAD = struct.Struct("<4sIQI")
_MARK = b"pnsj"


class Journal:
    """A file that only this process appends to; it holds a lock on it for life.

    points, keys: what has been put in by its user, who minds that nothing is twice in one journal.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{uuid.uuid4().hex}{SUFFIX}"
        self.points: set[str] = set()
        self.keys: set[str] = set()
        self.runs = 0
        self.bytes = 0
        self._file = self.path.open("xb", buffering=0)
        lock(self._file)

    def append(self, tables: Mapping[str, pa.Table], runs: int) -> None:
        """On the disk after this, or, as `bytes` says, not in the journal at all. Raises `OSError`."""
        streams = {name: _stream(table) for name, table in tables.items()}
        directory = json.dumps({name: len(stream) for name, stream in streams.items()}).encode()
        body = b"".join((directory, *streams.values()))
        head = _HEAD.pack(_MARK, len(directory), len(body) - len(directory), zlib.crc32(body))
        end = self.bytes + len(head) + len(body)
        try:
            for data in (head, body):
                view = memoryview(data)
                while view:
                    view = view[self._file.write(view) :]
            os.fsync(self._file.fileno())
            self.bytes = end
        except BaseException:  # Ctrl-C, too: half an entry would hide those after it
            self._file.truncate(self.bytes)
            self._file.seek(self.bytes)
            raise
        self.runs += runs

    def remove(self) -> None:
        """Its runs are elsewhere."""
        self.path.unlink()
        self._file.close()


class Entry:
    """What was appended at once: tables by name."""

    def __init__(self, directory: Mapping[str, int], streams: memoryview) -> None:
        self._streams: dict[str, memoryview] = {}
        for name, size in directory.items():
            self._streams[name], streams = streams[:size], streams[size:]

    def __contains__(self, name: str) -> bool:
        return name in self._streams

    def __iter__(self) -> Iterator[str]:
        return iter(self._streams)

    def __getitem__(self, name: str) -> pa.Table:
        import pyarrow as pa

        return pa.ipc.open_stream(pa.py_buffer(self._streams[name])).read_all()


def entries(path: Path) -> Iterator[Entry]:
    """The whole entries of a journal, one in memory at a time."""
    with path.open("rb") as file:
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            mark, directory, streams, checksum = _HEAD.unpack(head)
            if mark != _MARK or directory + streams > os.fstat(file.fileno()).st_size - file.tell():
                return
            body = file.read(directory + streams)
            if zlib.crc32(body) != checksum:
                return
            yield Entry(json.loads(body[:directory]), memoryview(body)[directory:])


def lock(file: IO[Any], *, wait: bool = True) -> None:
    """Locks a file until its process ends; without `wait`, raises `BlockingIOError` if another has it."""
    try:
        import fcntl
    except ImportError:
        raise Error("sweeps need flock, which this system lacks") from None
    fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _stream(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written
