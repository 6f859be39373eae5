"""A store that is open for a sweep: runs are put in, and are on the disk soon after.

A run is finished when it is in a journal with all its tables and flushed to the disk. A process keeps
its journal locked for life. A journal that is not locked is one whose process was killed: whoever
opens the store next writes its runs to Parquet, before anything else is written.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from penstock._text import visible
from penstock.errors import Error
from penstock.runs.tasks import Outcome, Tables, simulator
from penstock.sweeps.store import adopt, schemas
from penstock.sweeps.store.damage import mend
from penstock.sweeps.store.journal import Journal, lock
from penstock.sweeps.store.known import Known
from penstock.sweeps.store.layout import RUNS, TABLES, about, parts, write_about
from penstock.sweeps.store.manifest import Manifest
from penstock.sweeps.store.parquet import table_bytes
from penstock.sweeps.store.picked import read_runs
from penstock.sweeps.store.widen import add_columns, complete

if TYPE_CHECKING:
    import pyarrow as pa

#: Seconds for which a finished run may be in memory only, how many runs, and bytes of their tables.
FLUSH_S, FLUSH_RUNS, FLUSH_BYTES = 0.5, 1000, 16 << 20
#: Runs and bytes of a journal that become Parquet files while the sweep goes on.
COMPACT_RUNS, COMPACT_BYTES = 50_000, 256 << 20


@dataclass(frozen=True, slots=True)
class Point:
    """A scenario of a sweep.

    identity: the hash of the scenario without its seed.
    scenario: the resolved scenario as JSON text; its seed is the sweep's first.
    variant: the name of the variant that made it.
    """

    identity: str
    scenario: str
    variant: str | None


class Store:
    """The folder, open for a sweep that writes to it.

    parameters: keys of the scenario that are to be columns.
    tables: what else is kept of every run.
    alone: refuse a folder that another process writes to.
    notice: called with each damaged file that was set aside, in words; default: stderr.
    """

    def __init__(
        self,
        folder: Path,
        parameters: Sequence[str] = (),
        tables: Tables | None = None,
        *,
        alone: bool = False,
        notice: Callable[[str], object] | None = None,
    ) -> None:
        self._folder = folder
        self._wanted = parameters
        self._interval_s = tables.series_s if tables else None
        self._alone = alone
        self._journals: list[Journal] = []  # the last is written to; those before it are becoming Parquet files
        self._points: list[dict[str, Any]] = []
        #: Runs that wait to be written: each one's row, and its tables.
        self._runs: list[tuple[dict[str, Any], dict[str, pa.Table]]] = []
        self._bytes = 0  # of the tables
        self._guard = threading.RLock()
        self._closing = threading.Event()
        self._failure: OSError | None = None
        self._manifest = Manifest(folder)
        self._known = Known(self._manifest)
        self._notice = notice or _say
        self._compacting: Future[None] | None = None

    def __enter__(self) -> Store:
        for name in (RUNS, "journal"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        with self._locked():
            for part in self._folder.rglob(".*.part"):
                part.unlink()  # whoever wrote it was killed: writers hold the lock
            mend(self._manifest, self._notice)
            self._settle_interval()
            add_columns(self._manifest, dict.fromkeys(self._wanted, "null"))
            for table in TABLES[1:]:
                complete(self._manifest, table)
            live = self._adopt()
            if live and self._alone:
                raise Error(f"{self._folder}: another process writes there; wait for it or give another --out")
            self._journals.append(Journal(self._folder / "journal"))
        for path in live:
            for table, keys in adopt.keys(path).items():
                self._known.add(table, keys)
        self._pool = ThreadPoolExecutor(1)
        self._flusher = threading.Thread(target=self._flush_in_time, daemon=True)
        self._flusher.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
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
        """Returns whether that run is finished, and these of its tables are kept.

        tables: as `Tables.marks` gives them.
        """
        if any(key in journal.keys for journal in self._journals):
            return True  # all that this process puts in has the same tables
        return all(self._known.has(table, key) for table in (RUNS, *tables))

    def values(self, points: Iterable[str], names: Sequence[str]) -> dict[str, dict[int, dict[str, float | None]]]:
        """Returns these metrics of the runs in Parquet files: identity → seed → metrics.

        points: the identities of the points that are asked for.
        """
        found: dict[str, dict[int, dict[str, float | None]]] = {}
        wanted = [("point", "in", list(points))]
        for part in parts(self._folder):
            runs = read_runs(self._manifest, part, ["point", "seed", *names], wanted)
            for run in runs.to_pylist():
                found.setdefault(run.pop("point"), {})[run.pop("seed")] = run
        return found

    def put(self, point: Point, seed: int, outcome: Outcome) -> None:
        """Keeps a finished run. It is on the disk after half a second, or the next `flush`."""
        assert outcome.numbers is not None
        with self._guard:
            if self._failure is not None:
                raise self._failure
            journal = self._journals[-1]
            if outcome.key in journal.keys:
                return
            if point.identity not in journal.points:
                journal.points.add(point.identity)
                self._points.append(
                    {
                        "point": point.identity,
                        "scenario": point.scenario,
                        "variant": point.variant,
                        "version": simulator(),
                    }
                )
            metrics, groups = outcome.numbers["metrics"], outcome.numbers["groups"]
            links = [{"name": name, **numbers} for name, numbers in outcome.numbers["links"].items()]
            run = {
                "key": outcome.key,
                "point": point.identity,
                "seed": seed,
                "events": outcome.events,
            }
            warnings = outcome.numbers["warnings"]
            row = {**run, **metrics, "groups": groups, "links": links, "warnings": warnings}
            # In one step: Ctrl-C may come at any line, and must not part a run from its tables.
            self._runs.append((row, {name: _owned(name, table, run) for name, table in outcome.tables.items()}))
            journal.keys.add(outcome.key)
            self._bytes += sum(map(table_bytes, outcome.tables.values()))
            if len(self._runs) >= FLUSH_RUNS or self._bytes >= FLUSH_BYTES:
                self.flush()

    def flush(self) -> None:
        """Writes everything put so far to the disk."""
        import pyarrow as pa

        with self._guard:
            journal = self._journals[-1]
            if self._runs:
                of_runs: dict[str, list[pa.Table]] = {}
                for _, one in self._runs:
                    for name, table in one.items():
                        of_runs.setdefault(name, []).append(table)
                # In one piece each: a stream has a message for each piece and column.
                tables = {name: pa.concat_tables(each).combine_chunks() for name, each in of_runs.items()}
                tables[RUNS] = schemas.table(schemas.journaled(), [row for row, _ in self._runs])
                if self._points:
                    tables["points"] = schemas.table(schemas.points(), self._points)
                before = journal.bytes
                try:
                    journal.append(tables, len(self._runs))
                finally:
                    # Ctrl-C may come when they are in the journal already: they must not go there
                    # twice.
                    if journal.bytes != before:
                        self._runs, self._points, self._bytes = [], [], 0
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
        """Begins a journal, and writes the runs of the old one to Parquet meanwhile."""
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
            adopt.compact(self._manifest, self._known, journal.path)
            journal.remove()
        self._journals.remove(journal)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keeps every other process from writing Parquet files or creating journals meanwhile."""
        with (self._folder / "lock").open("a") as file:
            lock(file)
            yield

    def _adopt(self) -> list[Path]:
        self._known.learn()
        return adopt.adopt(self._manifest, self._known, self._notice)

    def _settle_interval(self) -> None:
        """Refuses another interval than the store has.

        A row's key says which run it is of, and not how the run was sampled.
        """
        if self._interval_s is None:
            return
        content = about(self._folder)
        kept = content.get("series_s", self._interval_s)
        if kept != self._interval_s:
            raise Error(
                f"{self._folder}: keeps series every {kept:g} s, not {self._interval_s:g} s; give"
                f" --series {kept:g}s, or another --out"
            )
        if "series_s" not in content:
            write_about(self._folder, {**content, "series_s": self._interval_s})


def _owned(name: str, table: pa.Table, run: Mapping[str, Any]) -> pa.Table:
    """Returns a run's table with the columns of the store's: it says whose rows they are.

    A column that the run's table lacks is null.
    """
    import pyarrow as pa

    schema = schemas.table_schema(name)

    def column(field: pa.Field) -> Any:
        if field.name in run:
            return pa.repeat(pa.scalar(run[field.name], field.type), table.num_rows)
        if field.name in table.column_names:
            return table[field.name].cast(field.type)
        return pa.nulls(table.num_rows, field.type)

    return pa.table([column(field) for field in schema], schema=schema)


def _say(message: str) -> None:
    print(visible(f"penstock: {message}"), file=sys.stderr)
