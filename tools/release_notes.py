"""Prints the notes of a release, from the changelog: `python tools/release_notes.py 0.1.0`."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def notes(changelog: str, version: str) -> str:
    """Returns a version's section without its heading. Raises `KeyError` where there is none."""
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    for section in sections:
        heading, _, body = section.partition("\n")
        if heading.split(",")[0].strip() == version:
            return body.strip() + "\n"
    raise KeyError(version)


if __name__ == "__main__":
    path = Path(__file__).parents[1] / "CHANGELOG.md"
    try:
        print(notes(path.read_text(encoding="utf-8"), sys.argv[1]), end="")
    except (KeyError, IndexError):
        sys.exit("usage: release_notes.py VERSION, a version that CHANGELOG.md has a section for")
