"""Reads columns of runs, and metrics of their links and groups, which stand in lists, as if they were columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.judging.named import LEVELS, Named, parts
from penstock.sweeps.store.manifest import Manifest
from penstock.sweeps.store.parquet import read_part

if TYPE_CHECKING:
    import pyarrow as pa


def read_runs(manifest: Manifest, part: Path, names: Sequence[str], filters: Any = None) -> pa.Table:
    """Returns these columns of a file of runs.

    names: columns, or metrics such as `links.R0-R1.delay_mean_s`.
    """
    made = [name for name in names if _is_made(name)]
    found = read_part(manifest, part, stored(names), filters)
    return with_made(found, made).select(names) if made else found


def stored(names: Iterable[str]) -> list[str]:
    """Returns the columns that have to be read for these names."""
    return list(dict.fromkeys(name.partition(".")[0] if _is_made(name) else name for name in names))


def with_made(found: pa.Table, names: Iterable[str]) -> pa.Table:
    """Returns the table with further columns, made from its lists."""
    import pyarrow as pa

    for each in map(Named.parse, names):
        rows = found[each.level].to_pylist()
        values = [each.of_part(parts(row or ())) for row in rows]
        found = found.append_column(str(each), pa.array(values, pa.float64()))
    return found


def _is_made(name: str) -> bool:
    level, dot, _ = name.partition(".")
    return bool(dot) and level in LEVELS
