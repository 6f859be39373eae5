"""Writes docs/img/tune.svg: the range of docs/tune.md's example, as its page shows it.

`make tune` calls it. Finished runs are kept in `out/tune`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import penstock
from penstock import _files
from penstock.show import style
from penstock.tuning.figures import over_range
from slim_svg import written

ROOT = Path(__file__).resolve().parents[1]


def main(folder: Path) -> int:
    """Tunes as the page's command does, and keeps the picture; returns the exit status."""
    done = penstock.tune(
        ROOT / "scenarios" / "tune" / "link.toml",
        "red",
        goals=["delay_p99_s < 20 ms"],
        maximize=["utilization"],
        out=folder,
    )
    with style.context(alone=True):
        drawn = written(over_range(done.statement))
    _files.write(ROOT / "docs" / "img" / "tune.svg", drawn)
    print(done.page)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "out" / "tune"))
