"""A journal: a file to which one process appends the tables of finished runs, a few runs at a time.

An entry is a head, a directory (JSON: the bytes of each table) and each table as an Arrow stream.
It counts once it is whole: length and checksums say so. A kill or a power cut may leave a part of an
entry at the end, whose runs were never finished. Any other entry that is not whole is damage.
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

#: Mark, bytes of the directory, bytes of the streams, checksum of both; then that of the head.
_HEAD = struct.Struct("<4sIQI")
_HEAD_CHECKSUM = struct.Struct("<I")
_HEAD_BYTES = _HEAD.size + _HEAD_CHECKSUM.size
_MARK = b"pns2"


class Journal:
    """A file that only this process appends to, and that it keeps locked for life.

    points, keys: what the user has put in; the user puts nothing into one journal twice.
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
        """Appends an entry of that many runs.

        It is on the disk when this returns. If this raises, `bytes` says whether the entry is in the
        journal whole, or not at all.
        """
        streams = {name: _stream(table) for name, table in tables.items()}
        directory = json.dumps({name: len(stream) for name, stream in streams.items()}).encode()
        body = b"".join((directory, *streams.values()))
        head = _HEAD.pack(_MARK, len(directory), len(body) - len(directory), zlib.crc32(body))
        head += _HEAD_CHECKSUM.pack(zlib.crc32(head))
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
        """Deletes the file: its runs are elsewhere."""
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

    def keys(self, name: str) -> list[str]:
        """Returns the keys of a table's runs. No other column is unpacked."""
        import pyarrow as pa

        stream = pa.py_buffer(self._streams[name])
        at = pa.ipc.open_stream(stream).schema.get_field_index("key")
        only = pa.ipc.IpcReadOptions(included_fields=[at])
        rows = pa.ipc.open_stream(stream, options=only).read_all()
        found: list[str] = rows["key"].unique().to_pylist()
        return found


class BrokenError(Exception):
    """An entry of a journal is not what was written, and no kill explains it."""


def entries(path: Path, *, strict: bool = False) -> Iterator[Entry]:
    """Gives the entries of a journal up to the first that is not whole, one in memory at a time.

    strict: raise `BrokenError` where that one is damaged rather than cut short.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while len(head := file.read(_HEAD_BYTES)) == _HEAD_BYTES:
            at = file.tell() - _HEAD_BYTES
            mark, directory, streams, checksum = _HEAD.unpack(head[: _HEAD.size])
            (of_head,) = _HEAD_CHECKSUM.unpack(head[_HEAD.size :])
            if mark != _MARK or zlib.crc32(head[: _HEAD.size]) != of_head:
                # A power cut may leave a file with its length, but zeros in place of the data.
                if strict and any(head):
                    raise BrokenError(f"the entry at byte {at} has no head")
                return
            if directory + streams > size - file.tell():
                return
            body = file.read(directory + streams)
            if zlib.crc32(body) != checksum:
                if strict:
                    raise BrokenError(f"the entry at byte {at} does not fit its checksum")
                return
            yield Entry(json.loads(body[:directory]), memoryview(body)[directory:])


def lock(file: IO[Any], *, wait: bool = True) -> None:
    """Locks a file until this process ends.

    wait: if not, raise `BlockingIOError` where another process holds the lock.
    """
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
