"""Reads what a run recorded, as Arrow tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock._penstock import RunResult


def recorded(run: RunResult, name: str, link: str | None = None) -> pa.Table:
    """Returns one run's recorded table over the extension's buffers, without copying them but for a time in ns.

    link: whose it is, where it is not the bottleneck's.
    """
    import numpy as np
    import pyarrow as pa

    columns = run.table(name, link)
    if columns is None:
        raise ValueError(f"the run of seed {run.seed} recorded no {name}")
    arrays: dict[str, Any] = {}
    for column, kind, raw, words in columns:
        buffers = [None, pa.py_buffer(raw)]
        if column == "t_ns":  # one time in all tables, so that they can be laid over each other
            arrays["t_s"] = pa.array(np.frombuffer(raw, np.uint64) / 1e9)
        elif kind == "word":
            codes = pa.Array.from_buffers(pa.uint8(), len(raw), buffers)
            arrays[column] = pa.DictionaryArray.from_arrays(codes, pa.array(words, pa.string()))
        else:
            kind_of = {"f64": pa.float64(), "u64": pa.uint64()}[kind]
            arrays[column] = pa.Array.from_buffers(kind_of, len(raw) // 8, buffers)
    rows = len(next(iter(arrays.values())))
    return pa.table({"seed": pa.repeat(pa.scalar(run.seed, pa.uint64()), rows), **arrays})
