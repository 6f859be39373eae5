"""Writes `docs/img/lab.png`, for the README: the lab's fourth story, while a packet is followed.

`make lab-picture` calls it. It needs Chromium.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from chromium import CHROMIUM, MISSING  # noqa: E402
from helpers.chromium import Browser  # noqa: E402

PAGE = ROOT / "docs" / "lab" / "index.html"
#: The window, in pixels.
SIZE = (1200, 860)
#: Enough for a page of few colours, if rare ones are kept: a legend's.
COLOURS = 256
#: The moment of the picture: the load has trebled six seconds before, and both lanes answer.
AFTER_S = 6

ANSWERED = f"sides[0].frame.now > page.tale.seen.at(-1)[0].now + {AFTER_S}"
ON_THE_LINK = "document.body.innerText.includes('and is on the link')"


def main(picture: Path = ROOT / "docs" / "img" / "lab.png") -> int:
    """Takes the picture; returns the exit status."""
    if CHROMIUM is None:
        print(f"lab_picture.py: {MISSING}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as profile, Browser(Path(profile)) as browser:
        browser.size(*SIZE)
        browser.open(f"{PAGE.as_uri()}#story=4")
        browser.until("page.tale?.at === 1 && !$('tale-do').hidden")
        browser.run("$('tale-do').click()")
        browser.until(f"page.tale.at === 2 && {ANSWERED}")
        browser.run("follow()")
        browser.until(ON_THE_LINK)
        browser.run("$('play').click()")
        time.sleep(1)  # the plots are drawn a few times a second
        browser.picture(picture, whole=False)
    few = Image.open(picture).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE)
    few.save(picture, optimize=True)
    print(f"{picture}: {picture.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
