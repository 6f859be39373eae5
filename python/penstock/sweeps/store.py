"""The runs of sweeps in a folder: Parquet files that any tool reads, and journals of what was not written there yet.

    DIR/runs/*.parquet      finished runs, one row each; all files have the same columns
    DIR/journal/*.jsonl     finished runs of a sweep under way, one journal a process
    DIR/schema.json         which keys of the scenario are columns, and of which type
    DIR/lock                held while files in `runs` are written

A run is finished when its line is in a journal and flushed to the disk. A process holds a lock on its journal for life;
who finds one without owner (its process was killed) writes its runs to Parquet. A line that was cut short is dropped.
Parquet files appear whole, under their name, and before the journal goes; a run that is in both is written once.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from penstock import _penstock
from penstock._files import replacing, write
from penstock.errors import Error
from penstock.sweeps.tasks import Outcome, simulator

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

#: Seconds for which a finished run may be in memory only, and how many runs.
FLUSH_S, FLUSH_RUNS = 0.5, 1000
#: Runs and bytes of a journal that become a Parquet file while the sweep goes on.
COMPACT_RUNS, COMPACT_BYTES = 50_000, 256 << 20
#: Rows of a row group: with it goes the memory that writing takes.
GROUP_ROWS = 10_000

VERSION = 1


@dataclass(frozen=True, slots=True)
class Point:
    """A scenario of a sweep.

    identity: what its runs are, but for the seed.
    scenario: resolved, as JSON text; its seed is the sweep's first.
    variant: the name of the variant that made it.
    """

    identity: str
    scenario: str
    variant: str | None


class Store:
    """The folder, open for a sweep that writes to it."""

    def __init__(self, folder: Path, parameters: Sequence[str] = ()) -> None:
        self._folder = folder
        self._wanted = parameters
        self._journal: _Journal | None = None
        self._buffer: list[str] = []
        self._runs = 0  # in the buffer
        self._guard = threading.RLock()
        self._closing = threading.Event()
        self._failure: OSError | None = None
        self._parts: dict[str, int] = {}
        self._compacting: Future[None] | None = None

    def __enter__(self) -> Store:
        import numpy as np

        for name in ("runs", "journal"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        self._known: npt.NDArray[np.bytes_] = np.empty(0, dtype="S32")
        with self._locked():
            for part in (self._folder / "runs").glob(".*.part"):
                part.unlink()  # whoever wrote it was killed: writers hold the lock
            self._add_columns(dict.fromkeys(self._wanted, "null"))
            self._learn()
            live = self._adopt()
            self._journal = _Journal(self._folder)
        self._know(live)
        self._pool = ThreadPoolExecutor(1)
        self._flusher = threading.Thread(target=self._flush_in_time, daemon=True)
        self._flusher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._flusher.join()
        try:
            self.flush()
            self._rotate(last=True)
            if self._compacting is not None:
                self._compacting.result()
        except OSError:
            if kind is None:
                raise
        finally:
            self._pool.shutdown()

    def has(self, key: str) -> bool:
        """Whether that run was finished when the store was opened, or since then and written to Parquet."""
        import numpy as np

        known = self._known
        at = int(np.searchsorted(known, key.encode()))
        return at < len(known) and bool(known[at] == key.encode())

    def values(self, points: Iterable[str], names: Sequence[str]) -> dict[str, dict[int, dict[str, float | None]]]:
        """These metrics of the runs in Parquet files, of points by their identities: identity → seed → metrics."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        found: dict[str, dict[int, dict[str, float | None]]] = {}
        wanted = list(points)
        for part in parts(self._folder):
            runs = pq.read_table(part, columns=["point", "seed", *names], filters=[("point", "in", wanted)])
            assert isinstance(runs, pa.Table)
            for run in runs.to_pylist():
                found.setdefault(run.pop("point"), {})[run.pop("seed")] = run
        return found

    def put(self, point: Point, seed: int, outcome: Outcome) -> None:
        """Keeps a finished run."""
        assert outcome.numbers is not None
        line = {"key": outcome.key, "point": point.identity, "seed": seed, "events": outcome.events}
        with self._guard:
            if self._failure is not None:
                raise self._failure
            assert self._journal is not None
            if point.identity not in self._journal.points:
                self._journal.points.add(point.identity)
                about = {"identity": point.identity, "scenario": point.scenario, "variant": point.variant}
                self._buffer.append(json.dumps({**about, "version": simulator()}, separators=(",", ":")))
            self._buffer.append(json.dumps({**line, **outcome.numbers}, separators=(",", ":")))
            self._runs += 1
            if self._runs >= FLUSH_RUNS:
                self.flush()

    def flush(self) -> None:
        """Everything put so far is on the disk after this."""
        with self._guard:
            assert self._journal is not None
            if self._buffer:
                self._journal.append("\n".join(self._buffer) + "\n", self._runs)
                self._buffer.clear()
                self._runs = 0
            if self._journal.runs >= COMPACT_RUNS or self._journal.bytes >= COMPACT_BYTES:
                self._rotate(last=False)

    def _flush_in_time(self) -> None:
        while not self._closing.wait(FLUSH_S / 2):
            try:
                self.flush()
            except OSError as error:
                self._failure = error
                return

    def _rotate(self, last: bool) -> None:
        """Begins a journal, and writes the old one's runs to Parquet meanwhile."""
        if self._compacting is not None:
            self._compacting.result()
        old = self._journal
        assert old is not None
        if not last:
            with self._locked():
                self._journal = _Journal(self._folder)
        self._compacting = self._pool.submit(self._compact, old)

    def _compact(self, journal: _Journal) -> None:
        with self._locked():
            self._learn()
            self._write(journal.path)
            journal.remove()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """No other process writes Parquet files or creates journals meanwhile."""
        with (self._folder / "lock").open("a") as file:
            _lock(file)
            yield

    def _adopt(self) -> list[str]:
        """Writes journals without owner to Parquet; the keys of the others."""
        live: list[str] = []
        for path in sorted((self._folder / "journal").glob("*.jsonl")):
            with path.open("rb") as file:
                try:
                    _lock(file, wait=False)
                except BlockingIOError:
                    live += [line["key"] for line in _lines(path) if "key" in line]
                    continue
                self._write(path)
                path.unlink()
        return live

    def _write(self, journal: Path) -> None:
        """The runs of a journal that are in no Parquet file yet, as one more of these."""
        columns: dict[str, str] = dict(self._columns())
        points: dict[str, dict[str, Any]] = {}
        for point in _lines(journal, _POINT):
            scenario = json.loads(point["scenario"])
            values = {name: value_at(scenario, name) for name in columns}
            for name, value in values.items():
                columns[name] = _wider(columns[name], _kind(value))
            points[point["identity"]] = {"name": scenario.get("name"), **values}
        self._add_columns(columns)
        new = self._rows(journal, points)
        first = next(new, None)
        if first is None:
            return
        path = self._folder / "runs" / f"{uuid.uuid4().hex}.parquet"
        schema = self._schema()
        _write_parquet(path, schema, _tables(schema, _chain(first, new)))
        self._learn()

    def _rows(self, journal: Path, points: Mapping[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The new runs of a journal; points: columns of each that its line does not have."""
        seen: set[str] = set()
        about: dict[str, dict[str, Any]] = {}
        for line in _lines(journal):
            if "identity" in line:
                identity = line.pop("identity")
                about[identity] = {**line, **points[identity]}
            elif line["key"] not in seen and not self.has(line["key"]):
                seen.add(line["key"])
                metrics, links = line.pop("metrics"), line.pop("links")
                line["links"] = [{"name": name, **numbers} for name, numbers in links.items()]
                yield {**line, **about[line["point"]], **metrics}

    def _know(self, keys: Iterable[str]) -> None:
        import numpy as np

        # Sorted are the new ones only: to sort all at every file would take most of the time from millions of runs on.
        more = np.unique(np.array([key.encode() for key in keys], dtype="S32"))
        if len(self._known) == 0:
            self._known = more
            return
        at = np.searchsorted(self._known, more)
        new = self._known[np.minimum(at, len(self._known) - 1)] != more
        self._known = np.insert(self._known, at[new], more[new])

    def _learn(self) -> None:
        """Reads the keys of Parquet files that are new."""
        import pyarrow.parquet as pq

        for part in parts(self._folder):
            if part.name not in self._parts:
                self._parts[part.name] = 1
                self._know(pq.read_table(part, columns=["key"])["key"].to_pylist())

    def _columns(self) -> dict[str, str]:
        return columns(self._folder)

    def _schema(self) -> pa.Schema:
        return schema(self._columns())

    def _add_columns(self, wanted: Mapping[str, str]) -> None:
        """Makes these keys columns of these types or wider ones, in all files."""
        import pyarrow.parquet as pq

        now = self._columns()
        then = dict(now)
        for name, kind in wanted.items():
            then[name] = _wider(now.get(name, "null"), kind)
        if new := [name for name in then if name not in now]:
            for part in parts(self._folder):
                for text in pq.read_table(part, columns=["scenario"])["scenario"].unique().to_pylist():
                    scenario = json.loads(text)
                    for name in new:
                        then[name] = _wider(then[name], _kind(value_at(scenario, name)))
        then = dict(sorted(then.items()))
        if then != now or not (self._folder / "schema.json").exists():
            about = {"penstock_store": VERSION, "parameters": then}
            write(self._folder / "schema.json", json.dumps(about, indent=2) + "\n")
        schema_ = schema(then)
        # A kill between the two leaves files as they were; the next call finds them here.
        for part in parts(self._folder):
            if not pq.read_schema(part).equals(schema_):
                _write_parquet(part, schema_, _again(part, schema_, list(then)))


class _Journal:
    """A file of lines that only this process appends to."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal" / f"{uuid.uuid4().hex}.jsonl"
        self.points: set[str] = set()
        self.runs = 0
        self.bytes = 0
        self._file = self.path.open("xb", buffering=0)
        _lock(self._file)

    def append(self, text: str, runs: int) -> None:
        data = text.encode()
        try:
            written = 0
            while written < len(data):
                written += self._file.write(data[written:])
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(self.bytes)
            raise
        self.bytes += len(data)
        self.runs += runs

    def remove(self) -> None:
        self.path.unlink()
        self._file.close()


def _lock(file: IO[Any], *, wait: bool = True) -> None:
    """Locks a file until its process ends; without `wait`, raises `BlockingIOError` if another has it."""
    try:
        import fcntl
    except ImportError:
        raise Error("sweeps need flock, which this system lacks") from None
    fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def parts(folder: Path) -> list[Path]:
    """The Parquet files of a store."""
    return sorted(path for path in (folder / "runs").glob("*.parquet") if not path.name.startswith("."))


def columns(folder: Path) -> dict[str, str]:
    """Keys of the scenario that are columns, and their types."""
    try:
        about = json.loads((folder / "schema.json").read_text())
    except FileNotFoundError:
        return {}
    if about["penstock_store"] != VERSION:
        raise Error(f"{folder}: a store of version {about['penstock_store']}; this Penstock reads version {VERSION}")
    parameters: dict[str, str] = about["parameters"]
    return parameters


def settle(folder: Path) -> None:
    """Writes to Parquet what a killed process left in its journal."""
    if not (folder / "schema.json").is_file():
        raise Error(f"{folder}: no store of runs; `penstock sweep FILE --out {folder}` makes one")
    with Store(folder):
        pass


def read(folder: Path, names: Sequence[str] | None = None) -> pa.Table:
    """The runs, or these columns of theirs, in no order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema_ = schema(columns(folder))
    tables = [pq.read_table(part, columns=names) for part in parts(folder)]
    empty = schema_.empty_table()
    return pa.concat_tables(tables) if tables else empty.select(names) if names is not None else empty


@cache
def _metrics() -> dict[str, list[str]]:
    listed = json.loads(_penstock.list_json("metrics"))
    return {per: [m["name"] for m in listed if m["per"] == per] for per in ("run", "group", "link")}


def metrics() -> list[str]:
    """The metrics of a run, which are columns."""
    return _metrics()["run"]


def schema(parameters: Mapping[str, str]) -> pa.Schema:
    """The columns of every file of a store; `docs/sweeps.md` says what they are."""
    import pyarrow as pa

    types = {"null": pa.string(), "bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "text": pa.string()}
    group = pa.struct([(name, pa.float64()) for name in _metrics()["group"]])
    link = pa.struct([("name", pa.string()), *((name, pa.float64()) for name in metrics())])
    return pa.schema(
        [
            ("key", pa.string()),
            ("point", pa.string()),
            ("seed", pa.uint64()),
            ("version", pa.string()),
            ("name", pa.string()),
            ("variant", pa.string()),
            ("scenario", pa.string()),
            ("events", pa.uint64()),
            *((path, types[kind]) for path, kind in parameters.items()),
            *((name, pa.float64()) for name in metrics()),
            ("groups", pa.list_(group)),
            ("links", pa.list_(link)),
        ]
    )


def value_at(scenario: Any, path: str) -> Any:
    """The value of a key path in a resolved scenario; `None` where there is no such key."""
    for name in path.split("."):
        if isinstance(scenario, list):
            scenario = scenario[int(name)] if name.isdigit() and int(name) < len(scenario) else None
        else:
            scenario = scenario.get(name) if isinstance(scenario, dict) else None
    return scenario


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return {bool: "bool", int: "int", float: "float"}.get(type(value), "text")


def _wider(a: str, b: str) -> str:
    """The type that holds values of both."""
    if a == b or b == "null":
        return a
    if a == "null":
        return b
    return "float" if {a, b} == {"int", "float"} else "text"


#: How a point's line begins.
_POINT = b'{"identity":'


def _lines(journal: Path, begin: bytes = b"") -> Iterator[dict[str, Any]]:
    """The whole lines of a journal that begin so."""
    with journal.open("rb") as file:
        for line in file:
            if not line.startswith(begin):
                continue
            try:
                parsed = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                parsed = None
            if not isinstance(parsed, dict):
                return  # cut short by a crash: what follows was never finished
            yield parsed


def _chain(first: dict[str, Any], rest: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield first
    yield from rest


def _tables(schema: pa.Schema, rows: Iterable[dict[str, Any]]) -> Iterator[pa.Table]:
    """Rows as tables of at most `GROUP_ROWS`."""
    import pyarrow as pa

    def table(batch: list[dict[str, Any]]) -> pa.Table:
        arrays = []
        for field in schema:
            values = [row.get(field.name) for row in batch]
            if field.type == pa.string():
                values = [each if each is None or isinstance(each, str) else json.dumps(each) for each in values]
            arrays.append(pa.array(values, field.type))
        return pa.Table.from_arrays(arrays, schema=schema)

    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) >= GROUP_ROWS:
            yield table(batch)
            batch = []
    if batch:
        yield table(batch)


def _again(part: Path, schema: pa.Schema, paths: Sequence[str]) -> Iterator[pa.Table]:
    """A file's rows under other columns for keys of the scenario."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(part) as file:
        for batch in file.iter_batches(GROUP_ROWS):
            rows = batch.to_pylist()
            for row in rows:
                scenario = json.loads(row["scenario"])
                row.update((path, value_at(scenario, path)) for path in paths)
            yield from _tables(schema, rows)


def _write_parquet(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    import pyarrow.parquet as pq

    with replacing(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """A renamed file keeps its name through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
