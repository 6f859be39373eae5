"""The runs of sweeps in a folder: Parquet files that any tool reads, and journals of what was not written there yet.

    DIR/runs/*.parquet          finished runs, one row each; all files have the same columns
    DIR/flows/*.parquet         where asked, the metrics of each of a run's flows
    DIR/series/NAME/*.parquet   where asked, what was recorded during a run: `SERIES`
    DIR/journal/*.journal       finished runs of a sweep under way, one journal a process
    DIR/schema.json             which keys of the scenario are columns, and of which type; the interval of the series
    DIR/lock                    held while Parquet files are written

A run is finished when it is in a journal with all its tables and flushed to the disk. A process holds a lock on its
journal for life; who finds one without owner (its process was killed) writes its runs to Parquet, before anything else
is written. A journal ID becomes files of the name ID, each of which appears whole, that of the runs last; then it goes.
So who was killed in between is followed by one who finds the same runs new and writes the files that are missing. A run
that is in two journals is written once, and so is each of its tables.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from penstock import _penstock
from penstock._files import replacing, write
from penstock.errors import Error
from penstock.sweeps.journal import SUFFIX, Journal, entries, lock
from penstock.sweeps.tasks import FLOWS, SERIES, Outcome, Tables, simulator

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

#: Seconds for which a finished run may be in memory only, how many runs, and bytes of their tables.
FLUSH_S, FLUSH_RUNS, FLUSH_BYTES = 0.5, 1000, 16 << 20
#: Runs and bytes of a journal that become Parquet files while the sweep goes on.
COMPACT_RUNS, COMPACT_BYTES = 50_000, 256 << 20
#: Bytes of a row group: with it goes the memory that writing takes.
GROUP_BYTES = 32 << 20
#: Rows that are sorted at once.
ORDER_ROWS = 1_000_000

VERSION = 1

RUNS = "runs"
#: What a store may hold, in the order in which the files of a journal are begun; they appear in the opposite order.
TABLES = (RUNS, FLOWS, *SERIES)


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
    """The folder, open for a sweep that writes to it.

    parameters: keys of the scenario that are to be columns.
    tables: what is kept of every run besides.
    alone: refuse a folder that another process writes to.
    """

    def __init__(
        self, folder: Path, parameters: Sequence[str] = (), tables: Tables | None = None, *, alone: bool = False
    ) -> None:
        self._folder = folder
        self._wanted = parameters
        self._interval_s = tables.series_s if tables else None
        self._alone = alone
        self._journals: list[Journal] = []  # the last is written to; those before it are becoming Parquet files
        self._points: list[dict[str, Any]] = []
        self._rows: list[dict[str, Any]] = []
        self._tables: dict[str, list[pa.Table]] = {}
        self._bytes = 0  # of the tables
        self._guard = threading.RLock()
        self._closing = threading.Event()
        self._failure: OSError | None = None
        self._known: dict[str, npt.NDArray[np.bytes_]] = {}
        self._learned: set[Path] = set()
        self._compacting: Future[None] | None = None

    def __enter__(self) -> Store:
        for name in (RUNS, "journal"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        with self._locked():
            for part in self._folder.rglob(".*.part"):
                part.unlink()  # whoever wrote it was killed: writers hold the lock
            self._settle_interval()
            self._add_columns(dict.fromkeys(self._wanted, "null"))
            for table in TABLES[1:]:
                _complete(self._folder, table)
            live = self._adopt()
            if live and self._alone:
                raise Error(f"{self._folder}: another process writes there; wait for it or give another --out")
            self._journals.append(Journal(self._folder / "journal"))
        for path in live:
            for table, keys in _keys(path).items():
                self._know(table, keys)
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

    def has(self, key: str, tables: Sequence[str] = ()) -> bool:
        """Whether that run is finished and, of what it records, these are kept (`Tables.marks`)."""
        if any(key in journal.keys for journal in self._journals):
            return True  # what one process puts in has the same tables
        return all(_in(self._known.get(table), key) for table in (RUNS, *tables))

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
        with self._guard:
            if self._failure is not None:
                raise self._failure
            journal = self._journals[-1]
            if outcome.key in journal.keys:
                return
            journal.keys.add(outcome.key)
            if point.identity not in journal.points:
                journal.points.add(point.identity)
                about = {"point": point.identity, "scenario": point.scenario, "variant": point.variant}
                self._points.append({**about, "version": simulator()})
            metrics, groups = outcome.numbers["metrics"], outcome.numbers["groups"]
            links = [{"name": name, **numbers} for name, numbers in outcome.numbers["links"].items()]
            run = {"key": outcome.key, "point": point.identity, "seed": seed, "events": outcome.events}
            self._rows.append({**run, **metrics, "groups": groups, "links": links})
            for name, table in outcome.tables.items():
                self._bytes += table.nbytes
                self._tables.setdefault(name, []).append(_owned(name, table, run))
            if len(self._rows) >= FLUSH_RUNS or self._bytes >= FLUSH_BYTES:
                self.flush()

    def flush(self) -> None:
        """Everything put so far is on the disk after this."""
        import pyarrow as pa

        with self._guard:
            journal = self._journals[-1]
            if self._rows:
                tables = {name: pa.concat_tables(of_runs) for name, of_runs in self._tables.items()}
                tables[RUNS] = _table(_journaled(), self._rows)
                if self._points:
                    tables["points"] = _table(_points(), self._points)
                before = journal.bytes
                try:
                    journal.append(tables, len(self._rows))
                finally:
                    # Ctrl-C may come when they are in the journal already: they must not go there twice.
                    if journal.bytes != before:
                        self._points, self._rows, self._tables, self._bytes = [], [], {}, 0
            if journal.runs >= COMPACT_RUNS or journal.bytes >= COMPACT_BYTES:
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
        old = self._journals[-1]
        if not last:
            with self._locked():
                self._journals.append(Journal(self._folder / "journal"))
        self._compacting = self._pool.submit(self._compact, old)

    def _compact(self, journal: Journal) -> None:
        with self._locked():
            self._adopt()
            self._write(journal.path)
            journal.remove()
        self._journals.remove(journal)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """No other process writes Parquet files or creates journals meanwhile."""
        with (self._folder / "lock").open("a") as file:
            lock(file)
            yield

    def _adopt(self) -> list[Path]:
        """Learns what there is and writes journals without owner to Parquet; the others."""
        for table in (RUNS, *MARKS):
            self._learn(table)
        live = []
        # One whose files were begun goes first: what others hold of its runs must not come before it.
        journals = (self._folder / "journal").glob(f"*{SUFFIX}")
        for path in sorted(journals, key=lambda path: (not self._begun(path), path)):
            with path.open("rb") as file:
                try:
                    lock(file, wait=False)
                except BlockingIOError:
                    live.append(path)
                    continue
                self._write(path)
                path.unlink()
        return live

    def _begun(self, journal: Path) -> bool:
        return any((place(self._folder, table) / f"{journal.stem}.parquet").exists() for table in TABLES)

    def _write(self, journal: Path) -> None:
        """The runs of a journal that are in no Parquet file yet, as further ones of these, and their tables."""
        import pyarrow as pa

        there = _keys(journal)
        new = {
            mark: [key for key in there[mark] if not _in(self._known.get(mark), key)]
            for mark in (RUNS, *MARKS)
            if mark in there
        }
        about = self._of_points(journal)
        adders: dict[str, Callable[[pa.Table], None]] = {}
        with ExitStack() as files:
            for table in TABLES:
                path = place(self._folder, table) / f"{journal.stem}.parquet"
                if table in there and new.get(_mark(table)) and not path.exists():
                    schema_ = self._schema() if table == RUNS else table_schema(table)
                    adders[table] = files.enter_context(_parquet(path, schema_))
            chosen = {mark: None if len(new[mark]) == len(there[mark]) else pa.array(new[mark]) for mark in new}
            for entry in entries(journal) if adders else ():
                for table, add in adders.items():
                    if table in entry:
                        rows = _of(entry[table], chosen[_mark(table)])
                        add(_joined(rows, about) if table == RUNS else rows)
        for table, keys in new.items():
            self._know(table, keys)
            self._learned.add(place(self._folder, table) / f"{journal.stem}.parquet")

    def _of_points(self, journal: Path) -> pa.Table:
        """What the rows of a journal's runs have from their points, which may make columns wider."""
        import pyarrow as pa

        columns: dict[str, str] = dict(self._columns())
        names, values = [], {path: [] for path in columns}  # type: tuple[list[str | None], dict[str, list[Any]]]
        found = [_points().empty_table(), *(entry["points"] for entry in entries(journal) if "points" in entry)]
        points = pa.concat_tables(found).combine_chunks()
        for text in points["scenario"]:
            scenario = json.loads(text.as_py())
            names.append(scenario.get("name"))
            for path, column in values.items():
                value = value_at(scenario, path)
                columns[path] = _wider(columns[path], _kind(value))
                column.append(value)
        self._add_columns(columns)
        now = self._schema()
        points = points.append_column("name", pa.array(names, pa.string()))
        for path, column in values.items():
            points = points.append_column(path, _array(column, now.field(path).type))
        return points

    def _know(self, table: str, keys: Iterable[str]) -> None:
        import numpy as np

        # Sorted are the new ones only: to sort all at every file would take most of the time from millions of runs on.
        more = np.unique(np.array([key.encode() for key in keys], dtype="S32"))
        known = self._known.get(table)
        if known is None or len(known) == 0:
            self._known[table] = more
            return
        at = np.searchsorted(known, more)
        new = known[np.minimum(at, len(known) - 1)] != more
        self._known[table] = np.insert(known, at[new], more[new])

    def _learn(self, table: str) -> None:
        """Reads the keys of Parquet files that are new."""
        import pyarrow.parquet as pq

        for part in parts(self._folder, table):
            if part not in self._learned:
                self._learned.add(part)
                with pq.ParquetFile(part, read_dictionary=["key"]) as file:
                    batches = file.iter_batches(1 << 20, columns=["key"])
                    self._know(table, {key for batch in batches for key in batch["key"].dictionary.to_pylist()})

    def _columns(self) -> dict[str, str]:
        return columns(self._folder)

    def _schema(self) -> pa.Schema:
        return schema(self._columns())

    def _settle_interval(self) -> None:
        """One store has its series at one interval: a key says which run a row is of, not how it was sampled."""
        if self._interval_s is None:
            return
        about = _about(self._folder)
        kept = about.get("series_s", self._interval_s)
        if kept != self._interval_s:
            raise Error(
                f"{self._folder}: keeps series every {kept:g} s, not {self._interval_s:g} s; give --series"
                f" {kept:g}s, or another --out"
            )
        if "series_s" not in about:
            _write_about(self._folder, {**about, "series_s": self._interval_s})

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
            _write_about(self._folder, {**_about(self._folder), "parameters": then})
        schema_ = schema(then)
        # A kill between the two leaves files as they were; the next call finds them here.
        for part in parts(self._folder):
            if not pq.read_schema(part).equals(schema_):
                _again(part, schema_, list(then))


def place(folder: Path, table: str) -> Path:
    """Where the Parquet files of a table are."""
    return folder / "series" / table if table in SERIES else folder / table


def parts(folder: Path, table: str = RUNS) -> list[Path]:
    """The Parquet files of a table."""
    return sorted(path for path in place(folder, table).glob("*.parquet") if not path.name.startswith("."))


def columns(folder: Path) -> dict[str, str]:
    """Keys of the scenario that are columns, and their types."""
    parameters: dict[str, str] = _about(folder)["parameters"]
    return parameters


def _about(folder: Path) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads((folder / "schema.json").read_text())
    except FileNotFoundError:
        return {"penstock_store": VERSION, "parameters": {}}
    if about["penstock_store"] != VERSION:
        raise Error(f"{folder}: a store of version {about['penstock_store']}; this Penstock reads version {VERSION}")
    return about


def _write_about(folder: Path, about: Mapping[str, Any]) -> None:
    write(folder / "schema.json", json.dumps(about, indent=2) + "\n")


def settle(folder: Path) -> None:
    """Writes to Parquet what a killed process left in its journal."""
    if not (folder / "schema.json").is_file():
        raise Error(f"{folder}: no store of runs; `penstock sweep FILE --out {folder}` makes one")
    with Store(folder):
        pass


def read(folder: Path, names: Sequence[str] | None = None, table: str = RUNS, filters: Any = None) -> pa.Table:
    """A table's rows, or these columns of theirs, in no order but that of each run's own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema_ = schema(columns(folder)) if table == RUNS else table_schema(table)
    tables = [pq.read_table(part, columns=names, filters=filters) for part in parts(folder, table)]
    empty = schema_.empty_table()
    return pa.concat_tables(tables) if tables else empty.select(names) if names is not None else empty


def in_order(folder: Path, table: str = RUNS) -> Iterator[pa.Table]:
    """A table in the order of its keys, a part of them at a time: equal sweeps give equal rows."""
    import pyarrow.parquet as pq

    rows = sum(pq.read_metadata(part).num_rows for part in parts(folder, table))
    # Keys are hashes: equal shares of their range hold about equal numbers of runs.
    shares = -(-rows // ORDER_ROWS) or 1
    ends = [f"{(i << 32) // shares:08x}" for i in range(shares)] + ["g"]
    for low, high in itertools.pairwise(ends):
        yield read(folder, None, table, [("key", ">=", low), ("key", "<", high)]).sort_by("key").combine_chunks()


@cache
def _metrics() -> dict[str, list[str]]:
    listed = json.loads(_penstock.list_json("metrics"))
    names = {per: [m["name"] for m in listed if m["per"] == per] for per in ("run", "group", "flow")}
    return {**names, "link": [m["name"] for m in listed if m["links"]]}


def metrics() -> list[str]:
    """The metrics of a run, which are columns."""
    return _metrics()["run"]


def schema(parameters: Mapping[str, str]) -> pa.Schema:
    """The columns of every file of runs; `docs/sweeps.md` says what they are."""
    import pyarrow as pa

    types = {"null": pa.string(), "bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "text": pa.string()}
    run = _journaled()
    of_point = [(name, pa.string()) for name in ("version", "name", "variant", "scenario")]
    given = [(path, types[kind]) for path, kind in parameters.items()]
    numbers = [run.field(name) for name in (*metrics(), "groups", "links")]
    return pa.schema(
        [*(run.field(name) for name in ("key", "point", "seed")), *of_point, run.field("events"), *given, *numbers]
    )


@cache
def _journaled() -> pa.Schema:
    """Of a run, what its point does not say."""
    import pyarrow as pa

    group = pa.struct([(name, pa.float64()) for name in _metrics()["group"]])
    link = pa.struct([("name", pa.string()), *((name, pa.float64()) for name in _metrics()["link"])])
    return pa.schema(
        [
            ("key", pa.string()),
            ("point", pa.string()),
            ("seed", pa.uint64()),
            ("events", pa.uint64()),
            *((name, pa.float64()) for name in metrics()),
            ("groups", pa.list_(group)),
            ("links", pa.list_(link)),
        ]
    )


@cache
def _points() -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(name, pa.string()) for name in ("point", "scenario", "variant", "version")])


@cache
def table_schema(table: str) -> pa.Schema:
    """The columns of every file of flows or of a series; `docs/sweeps.md` says what they are."""
    import pyarrow as pa

    number, count = pa.float64(), pa.uint64()
    of_run = [("key", pa.string()), ("seed", count)]
    if table == FLOWS:
        place_ = [("key", pa.string()), ("point", pa.string()), ("seed", count), ("group", count), ("flow", count)]
        return pa.schema([*place_, *((name, number) for name in _metrics()["flow"])])
    if table == "queue":
        kinds = json.loads(_penstock.list_json("aqm"))
        state = dict.fromkeys(each["name"] for kind in kinds for each in kind["state"])
        counts = [("t_s", number), ("queue_pkts", count), ("queue_bytes", count)]
        return pa.schema([*of_run, *counts, *((name, number) for name in state)])
    own = {
        "cwnd": [("cwnd_segments", number), ("ssthresh_segments", number)],
        "rtt": [("rtt_s", number)],
        "fct": [("bytes", count), ("fct_s", number)],
    }
    return pa.schema([*of_run, ("t_s", number), ("flow", count), *own[table]])


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


#: Tables whose rows say that a run has all that it records of a sort: every run has flows, and a queue at its start.
MARKS = (FLOWS, SERIES[0])


def _mark(table: str) -> str:
    return SERIES[0] if table in SERIES else table


def _keys(journal: Path) -> dict[str, list[str]]:
    """The tables of a journal: the keys of its runs and in the marks, of the others none."""
    found: dict[str, list[str]] = {}
    for entry in entries(journal):
        for table in entry:
            keys = found.setdefault(table, [])
            if table in (RUNS, *MARKS):
                keys += entry[table]["key"].unique().to_pylist()
    return found


def _in(known: npt.NDArray[np.bytes_] | None, key: str) -> bool:
    import numpy as np

    if known is None:
        return False
    at = int(np.searchsorted(known, key.encode()))
    return at < len(known) and bool(known[at] == key.encode())


def _owned(name: str, table: pa.Table, run: Mapping[str, Any]) -> pa.Table:
    """A run's table with the columns that the store's has: whose it is, and nothing where it has no such column."""
    import pyarrow as pa

    schema_ = table_schema(name)

    def column(field: pa.Field) -> Any:
        if field.name in run:
            return pa.repeat(pa.scalar(run[field.name], field.type), table.num_rows)
        if field.name in table.column_names:
            return table[field.name].cast(field.type)
        return pa.nulls(table.num_rows, field.type)

    return pa.table([column(field) for field in schema_], schema=schema_)


def _of(rows: pa.Table, keys: pa.Array | None) -> pa.Table:
    """The rows of these runs; without keys, all."""
    import pyarrow.compute as pc

    return rows if keys is None else rows.filter(pc.is_in(rows["key"], keys))


def _joined(runs: pa.Table, about: pa.Table) -> pa.Table:
    """Runs with what their points say."""
    import pyarrow as pa
    import pyarrow.compute as pc

    at = pc.index_in(runs["point"], about["point"])
    columns = {name: about[name].take(at) for name in about.column_names if name != "point"}
    columns |= {name: runs[name] for name in runs.column_names}
    return pa.table(columns)


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if type_ == pa.string():
        values = [each if each is None or isinstance(each, str) else json.dumps(each) for each in values]
    return pa.array(values, type_)


def _table(schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    import pyarrow as pa

    return pa.table([pa.array([row.get(field.name) for row in rows], field.type) for field in schema], schema=schema)


def _complete(folder: Path, table: str) -> None:
    """Gives the files of a build that knew fewer columns those of this one, empty."""
    import pyarrow.parquet as pq

    schema_ = table_schema(table)
    for part in parts(folder, table):
        if set(schema_.names) - set(pq.read_schema(part).names):
            _again(part, schema_, ())


def _again(part: Path, schema: pa.Schema, paths: Sequence[str]) -> None:
    """Writes a file again, with other columns for keys of the scenario."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(part) as file, _parquet(part, schema) as add:
        for batch in file.iter_batches(10_000):
            scenarios = [json.loads(text) for text in batch["scenario"].to_pylist()] if paths else []

            def column(field: pa.Field, batch: Any = batch, scenarios: Sequence[Any] = scenarios) -> Any:
                if field.name in paths:
                    return _array([value_at(scenario, field.name) for scenario in scenarios], field.type)
                if field.name in batch.schema.names:
                    return batch[field.name].cast(field.type)
                return pa.nulls(batch.num_rows, field.type)

            add(pa.table([column(field) for field in schema], schema=schema))


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    """A file that appears under its name once it is whole; tables are added in pieces of any size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    waiting: list[pa.Table] = []

    with replacing(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:

        def group() -> None:
            if waiting:
                rows = pa.concat_tables(waiting)
                writer.write_table(rows, row_group_size=max(1, rows.num_rows))
                waiting.clear()

        def add(table: pa.Table) -> None:
            waiting.append(table.select(schema.names))
            if sum(each.nbytes for each in waiting) >= GROUP_BYTES:
                group()

        yield add
        group()
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """A renamed file keeps its name through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
