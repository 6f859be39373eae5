"""Writes docs/img/answers: the pictures of docs/answers.md, each by the command shown there.

`make answers` calls it. It says what the commands print, so that the page can be compared: a test
does so for the lines that the page has.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import console
import slim_svg
import snippets

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "answers.md"
PICTURES = ROOT / "docs" / "img" / "answers"


@dataclass(frozen=True)
class Answer:
    """A section: its text, the question, the number in front, the picture's name, what is typed."""

    text: str
    question: str
    number: str
    picture: str
    typed: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def shown(self) -> str:
        """What the page shows of the output."""
        return "\n".join(line for _, output in self.typed for line in output)


def answers(text: str) -> Iterator[Answer]:
    """Yields the sections that have a number: `## 1. Why …?`"""
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title = re.match(r"\d+\. (.*)\n", section)
        if title is None:
            continue
        (number, *_) = re.findall(r"^\*\*(.*?)\*\*", section, re.MULTILINE) or [""]
        (picture, *_) = re.findall(r"!\[[^]]*\]\(img/answers/(.*?)\.svg\)", section) or [""]
        blocks = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
        typed = tuple(each for block in blocks for each in console.commands(block))
        yield Answer(" ".join(section.split()), title[1], number, picture, typed)


def main() -> int:
    """Runs the page's commands and keeps their pictures; returns the exit status."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "110", "PYTHONUTF8": "1"}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "scenarios").symlink_to(ROOT / "scenarios")

        def run(command: str) -> tuple[int, str]:
            done = subprocess.run(
                ["bash", "-c", command], cwd=place, env=environment, capture_output=True, text=True
            )
            print(f"$ {command}\n{done.stdout}{done.stderr}", flush=True)
            return done.returncode, done.stdout

        pieces = list(snippets.pieces(ROOT, PAGE))
        outcome = snippets.try_page(pieces, place, run, sys.executable, lambda piece: None)
        PICTURES.mkdir(exist_ok=True)
        for file in place.glob("*.svg"):
            (PICTURES / file.name).write_text(slim_svg.committed(file), encoding="utf-8")
    print(*outcome.wrong, sep="\n", file=sys.stderr)
    return int(bool(outcome.wrong))


if __name__ == "__main__":
    sys.exit(main())
