"""Runs that are kept by content: what was computed once is not computed again, and an interrupted job goes on.

A run's key is the hash of its resolved scenario, its seed, what is recorded and the simulator itself. Finished runs are
lines of a journal, appended and flushed to the disk at least twice a second; a line that a crash cut short is dropped.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from penstock._files import replacing
from penstock.errors import Error
from penstock.sweeps import tasks

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.scenario import Scenario

#: Seconds for which a finished run may be in memory only.
FLUSH_S = 0.5


def identity(scenario: Scenario, trace_s: float | None) -> str:
    """What a case's runs are, but for the seed."""
    return tasks.identity(scenario.core.canonical_json()[1], trace_s)


class Kept:
    """The kept runs of a folder: `runs.jsonl`, and `traces/KEY.parquet` for recorded series."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._journal = folder / "runs.jsonl"
        self._traces = folder / "traces"
        self._runs: dict[str, dict[str, Any]] = {}
        self._traced: set[str] = set()
        self._file: IO[bytes] | None = None
        self._flushed = time.monotonic()

    def __enter__(self) -> Kept:
        self._traces.mkdir(parents=True, exist_ok=True)
        self._traced = {path.stem for path in self._traces.glob("*.parquet")}
        self._file = self._journal.open("a+b")
        _lock(self._file)
        self._file.seek(0)
        whole = 0
        for line in self._file:
            try:
                run = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                run = None
            if run is None:
                break  # cut short by a crash: what follows was never finished
            self._runs[run["key"]] = run
            whole += len(line)
        self._file.truncate(whole)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self.flush()
            self._file.close()

    def has(self, key: str, *, traced: bool) -> bool:
        """Whether the run need not be run: its numbers are kept and, where it is `traced`, its series."""
        return key in self._runs and (not traced or key in self._traced)

    def get(self, key: str) -> dict[str, Any] | None:
        """The numbers of a kept run; `None` if it has to be run. A trace is `trace`'s."""
        return self._runs.get(key)

    def trace(self, key: str) -> pa.Table:
        """The kept series of a run."""
        import pyarrow.parquet as pq

        return pq.read_table(self._traces / f"{key}.parquet")

    def put(self, key: str, run: dict[str, Any], trace: pa.Table | None) -> None:
        """Keeps a finished run."""
        if trace is not None:
            import pyarrow.parquet as pq

            with replacing(self._traces / f"{key}.parquet") as file:
                pq.write_table(trace, file, compression="zstd")
            self._traced.add(key)
        run = {"key": key, **run}
        self._runs[key] = run
        assert self._file is not None
        self._file.write(json.dumps(run, separators=(",", ":")).encode() + b"\n")
        if time.monotonic() - self._flushed > FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Everything finished so far is on the disk after this."""
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        self._flushed = time.monotonic()


def _lock(file: IO[bytes]) -> None:
    """Two processes that append to one journal would cut off each other's lines. Raises `Error`."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise Error(f"{file.name}: another reproduction is running there; wait for it or give another --out") from None
