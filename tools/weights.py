"""Writes what each kind of page weighs into docs/performance.md: `python tools/weights.py`.

It takes the pages that are there: `out/site` (`make site`), `out/report.html` (`make demo`), and
`out/repairs`, `out/evaluate`, `out/tune`, where the commands of those names write.
"""

from __future__ import annotations

import gzip
import html
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import tables

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
MARK = "tools/weights.py"

#: What is weighed: its name, and where it is in `out`.
WEIGHED = {
    "site: start, with its lanes": "site/index.html",
    "site: a discipline": "site/aqm/red.html",
    "site: reference, TCP": "site/reference/tcp.html",
    "site: agreement with ns-2": "site/validation.html",
    "lab": "site/lab/index.html",
    "report, quick": "report.html",
    "repairs, quick": "repairs/report.html",
    "evaluate, six disciplines": "evaluate/index.html",
    "tune": "tune/index.html",
}
LOADED = re.compile(r'<(?:script|img|link)\b[^>]*?\b(?:src|href)="([^"#]+)|data-lab="([^"#]+)')


def loads(page: Path) -> set[Path]:
    """Returns a page with the files that it loads, and with what those in its frame load."""
    found = {page}
    for source, frame in LOADED.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / unquote(urlsplit(html.unescape(source or frame)).path)).resolve()
        if target.is_file() and (frame or target.suffix != ".html"):
            found |= loads(target) if frame else {target}
    return found


def weight(page: Path) -> tuple[int, int]:
    """Returns the bytes that a page and what it loads have, as they are and compressed."""
    parts = [each.read_bytes() for each in loads(page)]
    return sum(map(len, parts)), sum(len(gzip.compress(each, mtime=0)) for each in parts)


def main(out: Path) -> int:
    """Writes the table."""
    there = {name: out / path for name, path in WEIGHED.items()}
    if missing := [f"{path}" for path in there.values() if not path.is_file()]:
        print(f"weights.py: not there: {', '.join(missing)}", file=sys.stderr)
        return 1
    rows = [[name, *(f"{each / 1e3:.0f}" for each in weight(path))] for name, path in there.items()]
    lines = tables.table(["page", "kB", "kB compressed"], rows, "lrr")
    tables.fill(PAGE, MARK, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main(ROOT / "out"))
