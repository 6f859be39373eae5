"""The columns of a store's tables, and which type holds the values of a key of the scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from penstock._names import listing
from penstock.runs.tasks import FLOWS, MEASURES

if TYPE_CHECKING:
    import pyarrow as pa


@cache
def _metrics() -> dict[str, list[str]]:
    listed = listing("metrics")
    names = {per: [m["name"] for m in listed if m["per"] == per] for per in ("run", "group", "flow")}
    return {**names, "link": [m["name"] for m in listed if m["links"]]}


def metrics() -> list[str]:
    """Returns the names of a run's metrics, which are columns."""
    return _metrics()["run"]


def schema(parameters: Mapping[str, str]) -> pa.Schema:
    """Returns the columns of every file of runs; `docs/sweeps.md` explains them.

    parameters: keys of the scenario that are columns, with their types.
    """
    import pyarrow as pa

    types = {
        "null": pa.string(),
        "bool": pa.bool_(),
        "int": pa.int64(),
        "float": pa.float64(),
        "text": pa.string(),
    }
    run = journaled()
    of_point = [(name, pa.string()) for name in ("version", "name", "variant", "scenario")]
    given = [(path, types[kind]) for path, kind in parameters.items()]
    numbers = [run.field(name) for name in (*metrics(), "groups", "links", "warnings")]
    return pa.schema(
        [
            *(run.field(name) for name in ("key", "point", "seed")),
            *of_point,
            run.field("events"),
            *given,
            *numbers,
        ]
    )


@cache
def journaled() -> pa.Schema:
    """Returns the columns of a run in a journal: what its point does not say."""
    import pyarrow as pa

    group = pa.struct([*((name, pa.float64()) for name in _metrics()["group"]), ("name", pa.string())])
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
            ("warnings", pa.list_(pa.string())),
        ]
    )


@cache
def points() -> pa.Schema:
    """Returns the columns of a point in a journal."""
    import pyarrow as pa

    return pa.schema([(name, pa.string()) for name in ("point", "scenario", "variant", "version")])


@cache
def table_schema(table: str) -> pa.Schema:
    """Returns the columns of every file of flows or of a series; `docs/sweeps.md` explains them."""
    import pyarrow as pa

    number, count = pa.float64(), pa.uint64()
    of_run = [("key", pa.string()), ("seed", count)]
    if table == FLOWS:
        place_ = [
            ("key", pa.string()),
            ("point", pa.string()),
            ("seed", count),
            ("group", count),
            ("flow", count),
        ]
        return pa.schema([*place_, *((name, number) for name in _metrics()["flow"])])
    if table == MEASURES:
        text = [("measure", pa.string()), ("of", pa.string())]
        return pa.schema([*of_run, *text, ("at", number), ("value", number)])
    if table == "queue":
        kinds = listing("aqm")
        state = dict.fromkeys(each["name"] for kind in kinds for each in kind["state"])
        counts = [("t_s", number), ("queue_pkts", count), ("queue_bytes", count)]
        return pa.schema([*of_run, *counts, *((name, number) for name in state)])
    own = {
        "cwnd": [("cwnd_segments", number), ("ssthresh_segments", number)],
        "rtt": [("rtt_s", number)],
        "goodput": [("acked_bytes", count)],
        "model": [
            *((name, number) for name in ("pacing_bps", "bandwidth_bps", "min_rtt_s", "alpha")),
            ("state", pa.string()),
        ],
        "fct": [("bytes", count), ("fct_s", number), ("slowdown", number)],
        "pages": [("session", count), ("objects", count), ("bytes", count), ("page_time_s", number)],
    }
    return pa.schema([*of_run, ("t_s", number), ("flow", count), *own[table]])


def kind_of(value: Any) -> str:
    """Returns the type of a value, as `schema.json` names it."""
    if value is None:
        return "null"
    return {bool: "bool", int: "int", float: "float"}.get(type(value), "text")


def wider(a: str, b: str) -> str:
    """Returns the type that holds values of both types."""
    if a == b or b == "null":
        return a
    if a == "null":
        return b
    return "float" if {a, b} == {"int", "float"} else "text"


def column(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Returns a column. Where it is one of text, other values are written as JSON."""
    import pyarrow as pa

    if type_ == pa.string():
        values = [each if each is None or isinstance(each, str) else json.dumps(each) for each in values]
    return pa.array(values, type_)


def table(schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Returns rows as a table; what a row lacks is null."""
    import pyarrow as pa

    return pa.table(
        [pa.array([row.get(field.name) for row in rows], field.type) for field in schema],
        schema=schema,
    )
