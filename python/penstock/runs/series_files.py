"""Series as Parquet files."""

from __future__ import annotations

from pathlib import Path

from penstock._files import replacing
from penstock.runs.result import Result


def write_series(out: Path, result: Result) -> list[Path]:
    """Writes every recorded table with at least one row to `out/NAME.parquet`; returns the files."""
    import pyarrow.parquet as pq

    written = []
    for name in result.runs[0].tables:
        table = result.series(name)
        if table.num_rows:
            path = out / f"{name}.parquet"
            with replacing(path) as file:
                pq.write_table(table, file, compression="zstd")
            written.append(path)
    return written
