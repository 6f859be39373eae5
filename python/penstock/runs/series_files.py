"""Series as Parquet files."""

from __future__ import annotations

from pathlib import Path

from penstock._files import replacing
from penstock.runs.result import ALL, OF_LINKS, Result


def write_series(out: Path, result: Result) -> list[Path]:
    """Writes every recorded table with at least one row to `out/NAME.parquet`; returns the files.

    Where every link is measured, `out/links/NAME.parquet` has the series of all of them.
    """
    import pyarrow.parquet as pq

    first = result.runs[0]
    wanted: list[tuple[Path, str, str | None]] = [(out / f"{name}.parquet", name, None) for name in first.tables]
    if first.links:
        wanted += [(out / "links" / f"{name}.parquet", name, ALL) for name in OF_LINKS if name in first.tables]
    written = []
    for path, name, link in wanted:
        table = result.series(name, link)
        if table.num_rows:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                pq.write_table(table, file, compression="zstd")
            written.append(path)
    return written
