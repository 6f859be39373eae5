"""The runs of sweeps in a folder: Parquet files for any tool, and journals of what is not in them yet.

    DIR/runs/*.parquet          finished runs, one row for each; all files have the same columns
    DIR/flows/*.parquet         the metrics of each flow, where they were asked for
    DIR/measures/*.parquet      what RFC 7928 asks of each run, where it was asked for
    DIR/series/NAME/*.parquet   what was recorded during a run, where it was asked for: `SERIES`
    DIR/manifest/*.json         size and SHA-256 of each Parquet file
    DIR/journal/*.journal       finished runs of a sweep under way, one journal for each process
    DIR/damaged/                damaged files that a sweep has set aside
    DIR/schema.json             the keys of the scenario that are columns, with their types; the
                                interval of the series
    DIR/lock                    locked while Parquet files are written

Modules, each of which uses those before it: `sealed` (JSON with a checksum), `manifest`, `layout`
(where files are), `schemas` (the columns of tables), `journal`, `parquet` (files written and
checked), `picked` (metrics of links and groups as columns), `known` (which runs there are), `widen`
(new columns in old files), `damage` (found and set aside), `adopt` (journals become Parquet files),
`writer` (the store as a sweep sees it), `reader` (as a reader sees it).
"""

from penstock.sweeps.store.layout import MARKS, RUNS, TABLES, columns, parts, place
from penstock.sweeps.store.manifest import DamagedError
from penstock.sweeps.store.reader import in_order, opened, read, settle, verify, warnings
from penstock.sweeps.store.schemas import metrics, schema, table_schema
from penstock.sweeps.store.writer import Point, Store

__all__ = [
    "MARKS",
    "RUNS",
    "TABLES",
    "DamagedError",
    "Point",
    "Store",
    "columns",
    "in_order",
    "metrics",
    "opened",
    "parts",
    "place",
    "read",
    "schema",
    "settle",
    "table_schema",
    "verify",
    "warnings",
]
