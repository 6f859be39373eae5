"""Writes `docs/img/report.png`: the first screen of `out/report.html`, for the README.

`make picture` calls it. It needs Chromium; what is kept in `out` is not run again.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from chromium import CHROMIUM, MISSING, OPTIONS

ROOT = Path(__file__).resolve().parents[1]
#: The window, in pixels.
SIZE = (1400, 900)
#: What GitHub's page should not have to load more than.
MOST_BYTES = 300_000


def main(page: Path, picture: Path, size: tuple[int, int] = SIZE) -> int:
    """Takes the picture of a page on light paper; returns the exit status."""
    if CHROMIUM is None:
        print(f"picture.py: {MISSING}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as profile:
        options = [*OPTIONS, "--hide-scrollbars"]
        options += [f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"]
        # Chromium's number for light paper.
        options += ["--blink-settings=preferredColorScheme=1", f"--screenshot={picture}"]
        subprocess.run(
            [CHROMIUM, *options, page.resolve().as_uri()],
            check=True,
            capture_output=True,
            timeout=90,
        )
    written = picture.stat().st_size
    print(f"{picture}: {written} bytes")
    return int(written > MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main(ROOT / "out" / "report.html", ROOT / "docs" / "img" / "report.png"))
