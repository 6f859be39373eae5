"""Reads what the documents show, in the order of each page: files, commands and pieces of Python.

A fence with a title is a file: it is written before what follows on its page. A console block is
typed line by line. A Python block runs after those above it, in one interpreter for each page; a
`text` block right below it is what it prints. `tests/test_snippets.py` runs what takes seconds,
`make accept` all.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import re
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import console

#: Page and a text of a Python block that is not run; each with its reason.
LISTED = {
    (
        "docs/emulate.md",
        "ps.network",
    ): "needs namespaces; tests/test_network.py has it",
    ("docs/evaluate.md", "ps.evaluate"): "takes a minute; tests/test_evaluate.py calls the same",
    ("docs/operators.md", "state.json"): "the file is the reader's own",
    ("docs/scale.md", "SLURMCluster"): "needs SLURM",
    ("docs/stability.md", "penstock.stability"): "a minute; tests/test_stability.py calls the same",
    ("docs/sweeps.md", "penstock.sweep"): "hours of runs; tests/test_sweep.py calls the same",
    ("docs/sweeps.md", "warm_up.check"): "a part; tests/test_sweep_warm_up.py calls the same",
    ("docs/sweeps.md", "polars"): "needs polars and pandas",
    ("docs/tune.md", "ps.tune"): "takes minutes; tests/test_tune_run.py calls the same",
}

#: Commands that take longer than CI has for them, and those that read what they wrote: `make
#: accept` runs them. A * stands for anything.
SLOW = (
    "penstock compare scenarios/*",
    "penstock compare scenario.toml *",
    "penstock config scenarios/*",
    "penstock emulate *",
    "penstock evaluate red *",
    "penstock reproduce amecn*",
    "penstock reproduce repairs*",
    "penstock reproduce --only *",
    "penstock reproduce levels*",
    "penstock stability *--*",
    "penstock sweep scenarios/*",
    "penstock sweep --verify *",
    "penstock show out/bbr*",
    "penstock show out/k *",
    "penstock show out/l4s*",
    "penstock show out/red*",
    "penstock show out/rude*",
    "penstock show out/sweep*",
    "penstock export out/red*",
    "penstock tune *",
    "penstock validate*",
)

#: Programs that not every machine has, and where each is from.
PROGRAMS = {"ns": "ns2", "tshark": "tshark", "iperf3": "iperf3", "curl": "curl"}

#: Python packages of the same sort.
PACKAGES = ("pandas", "polars", "gymnasium")

FENCE = re.compile(r"^( *)```(\w+)([^\n]*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r'title="([^"]+)"')

#: Runs each piece that arrives as a line of JSON, and answers with what it printed.
INTERPRETER = """
import contextlib, io, json, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            exec(compile(json.loads(line), "<page>", "exec"), names)
            failed = False
        except BaseException:
            traceback.print_exc()
            failed = True
    print(json.dumps([failed, said.getvalue()]), flush=True)
"""

Run = Callable[[str], tuple[int, str]]


@dataclass(frozen=True)
class Piece:
    """One thing that a page shows, and the output that it shows below it."""

    where: str
    kind: Literal["file", "command", "python"]
    text: str
    name: str = ""
    output: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The command, or the first line of a piece of Python, for messages."""
        return self.text.strip().splitlines()[0]

    @property
    def listed(self) -> str | None:
        """The reason why it is never run; `None` where it is."""
        if self.kind == "command":
            return console.listed(self.text)
        if self.kind == "python":
            for (page, part), reason in LISTED.items():
                if page == self.where and part in self.text:
                    return reason
        return None

    @property
    def slow(self) -> bool:
        """Returns whether it is left to `make accept`."""
        return self.kind == "command" and any(fnmatch.fnmatchcase(self.text, key) for key in SLOW)

    def lacks(self) -> str | None:
        """Returns the reason why this machine cannot run it; `None` where it can."""
        for package in PACKAGES if self.kind == "python" else ():
            if package in self.text and importlib.util.find_spec(package) is None:
                return f"no {package}: pip install {package}"
        program = self.text.split()[0] if self.kind == "command" else ""
        if program in PROGRAMS and shutil.which(program) is None:
            return f"no {program}: apt-get install {PROGRAMS[program]}"
        return None


def file_in(text: str, title: str) -> str:
    """Returns the file that the text of a page shows under this title."""
    titled = ((TITLE.search(fence[3]), fence[4]) for fence in FENCE.finditer(text))
    found = [textwrap.dedent(body) for name, body in titled if name and name[1] == title]
    assert found, f"the page shows no {title}"
    return found[0]


def pieces(root: Path, page: Path) -> Iterator[Piece]:
    """Returns what a page shows, in its order."""
    where, text = f"{page.relative_to(root)}", page.read_text(encoding="utf-8")
    fences = list(FENCE.finditer(text))
    for number, fence in enumerate(fences):
        language, title = fence[2], TITLE.search(fence[3])
        body = textwrap.dedent(fence[4])
        if title:
            yield Piece(where, "file", body, title[1])
        elif language in ("console", "sh"):
            for command, output in console.commands(body):
                yield Piece(where, "command", command, output=output)
        elif language == "python":
            below = fences[number + 1] if number + 1 < len(fences) else None
            next_to = below and below[2] == "text" and not text[fence.end() : below.start()].strip()
            printed = textwrap.dedent(below[4]).splitlines() if below and next_to else []
            yield Piece(where, "python", body, output=tuple(printed))


def commands(root: Path) -> list[Piece]:
    """Returns every command that the documents show."""
    return [
        each
        for page in console.documents(root)
        for each in pieces(root, page)
        if each.kind == "command"
    ]


@dataclass
class Outcome:
    """What ran, what went wrong (a line each), and what was left out with the reason."""

    count: int
    wrong: list[str]
    left: list[str]


def try_page(
    shown: list[Piece],
    place: Path,
    run: Run,
    python: str | Path,
    leave: Callable[[Piece], str | None],
) -> Outcome:
    """Runs a page's pieces in a folder.

    run: types a command, and returns its exit status and its output.
    python: the interpreter for the pieces of Python.
    leave: returns why a piece is left out, or `None`.
    """
    done = Outcome(0, [], [])
    with Interpreter(python, place) as interpreter:
        for piece in shown:
            if piece.kind == "file":
                (place / piece.name).parent.mkdir(parents=True, exist_ok=True)
                (place / piece.name).write_text(piece.text, encoding="utf-8")
                continue
            reason = piece.listed or leave(piece)
            if reason is not None:
                done.left.append(f"not run: `{piece.shown}` ({piece.where}): {reason}")
                continue
            code, output = (run if piece.kind == "command" else interpreter.run)(piece.text)
            done.count += 1
            if code != 0:
                done.wrong.append(
                    f"`{piece.shown}` ({piece.where}) ended with {code}: {output[-400:]}"
                )
            done.wrong += [
                f"`{piece.shown}` ({piece.where}) no longer prints: {line}"
                for line in console.missing(piece.output, output)
            ]
    return done


def try_all(
    root: Path, place: Path, run: Run, python: str | Path, real_refused: str | None
) -> Outcome:
    """Runs what every document shows, in one folder.

    real_refused: why no real packets can be sent here; `None` where they can.
    """

    def leave(piece: Piece) -> str | None:
        real = piece.kind == "command" and piece.text.startswith(console.REAL)
        return real_refused if real and real_refused else piece.lacks()

    done = Outcome(0, [], [])
    for page in console.documents(root):
        each = try_page(list(pieces(root, page)), place, run, python, leave)
        done = Outcome(done.count + each.count, done.wrong + each.wrong, done.left + each.left)
    return done


class Interpreter:
    """One Python for the pieces of a page."""

    def __init__(self, python: str | Path, place: Path) -> None:
        self.python, self.place = python, place
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Interpreter:
        return self

    def run(self, text: str) -> tuple[int, str]:
        """Runs a piece, and returns whether it failed and what it printed."""
        if self.process is None:
            self.process = subprocess.Popen(
                [self.python, "-c", INTERPRETER],
                cwd=self.place,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(text), file=self.process.stdin, flush=True)
        failed, said = json.loads(self.process.stdout.readline())
        return int(failed), said

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
