"""Tries what README and docs/ promise, with its budgets, and the table of what was measured.

`make accept` runs the tests marked `accept` (`tests/test_promises.py`) on a fresh clone of the last
commit, which lies in `out/accept/clone`. Each test is about the promises whose names begin with its
own; what it measured goes into `docs/accept.md` when it ends. A test whose promises were all kept
at the present commit is not run again, unless it is chosen: `make accept ACCEPT='-k bench'`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from measures.targets import TARGETS


@dataclass(frozen=True)
class Promise:
    """A promise as a number: what is measured, and the least or the most that it may be."""

    text: str
    unit: str = ""
    least: float | None = None
    most: float | None = None

    @property
    def budget(self) -> str:
        """`≥ 8 ×`, `≤ 60 s`, `= 999`, or a dash."""
        if self.least is not None and self.least == self.most:
            return f"= {self.shown(self.least)}"
        ends = [("≥", self.least), ("≤", self.most)]
        return ", ".join(f"{s} {self.shown(end)}" for s, end in ends if end is not None) or "–"

    def keeps(self, value: float) -> bool:
        """Returns whether a value is within the budget; NaN is not."""
        above = self.least is None or value >= self.least
        return above and (self.most is None or value <= self.most)

    def shown(self, value: float) -> str:
        """Returns a value with its unit."""
        whole = value == int(value) or value >= 1000
        return f"{value:.0f} {self.unit}".rstrip() if whole else f"{value:.3g} {self.unit}".rstrip()


#: Every promise. A name's first word is the test that measures it.
PROMISES = {
    "setup": Promise("`make setup` is all that a fresh clone needs", "s"),
    "demo": Promise("`make demo` takes less than a minute", "s", most=60),
    "tests": Promise("`make test` passes", "s"),
    "tests slow": Promise("`make test-slow` passes", "s"),
    "reproduce": Promise("all papers reproduced, ten seeds and more", "s", most=600),
    "reproduce again": Promise("the same command again", "s", most=30),
    "reproduce quick": Promise("verdicts that the demo decides the other way", most=0),
    "evaluate": Promise("one discipline judged by RFC 7928, `--quick`", "s", most=60),
    "evaluate all": Promise("all disciplines judged, ten seeds", "s", most=1800),
    "evaluate answers": Promise("`docs/evaluate/answers.csv` is what that gives", least=1),
    "validate": Promise("ns-2's own queues: pairs that are compared", least=999, most=999),
    "validate agree": Promise("of these agree", "%", least=96),
    "validate papers": Promise("the papers' queues: pairs compared", least=2945, most=2945),
    "validate papers agree": Promise("of these agree", "%", least=97.5),
    "validate fresh": Promise("the reports in `docs/` are what that gives", least=1),
    **{
        f"bench {case}": Promise(
            f"times as fast as ns-2, {case}", "×", TARGETS[f"speed {case}"].value
        )
        for case in ("B1", "B2", "B3", "B4")
    },
    "examples": Promise("every example prints what stands beside it", least=1),
    "console": Promise("commands and snippets in README and `docs/` that were run", least=1),
    "console wrong": Promise("of these fail, or print something else", most=0),
    "kills": Promise("sweeps killed twenty times end with the same tables", least=1),
    "flips": Promise("no flipped bit of many in a store stays unseen", least=1),
    "real": Promise("mean delay agrees with Linux's TCP, of 12 cases", least=12, most=12),
    "real utilization": Promise("utilization agrees, of 12 cases", least=11),
    "fuzz": Promise("fuzzing without a finding, four targets", "s", least=3596),
    "lab": Promise("the lab: 100 flows at 20 times real time, 60 frames a second", least=1),
    "site": Promise("`make site`; browsers find nothing wrong", "s"),
    "dist": Promise("wheels that install and run in an empty environment", least=1),
}

HEAD = """# What is promised, and what was measured

<!-- Made by `make accept`; edits are lost. -->

`make accept` tries on a fresh clone what the README and these pages promise, in hours;
`tools/accept.py` has the budgets, `tests/test_promises.py` says how each is tried. A row keeps its
date and its commit until it is measured again; 1 stands for "yes". In bold: what falls short.

| name | promise | budget | measured | date | commit |
| --- | --- | ---: | ---: | --- | --- |
"""


class Table:
    """The table in `docs/accept.md`. It is all that an interrupted call needs to go on."""

    def __init__(self, page: Path, promises: Mapping[str, Promise] = PROMISES) -> None:
        self.page, self.promises = page, promises
        self.read()

    def read(self) -> None:
        """Reads the page: another call may have written meanwhile."""
        lines = self.page.read_text(encoding="utf-8").splitlines() if self.page.exists() else []
        rows = [tuple(re.split(r" \| ", line.strip("| "))) for line in lines]
        #: Name → measured, date and commit.
        self.rows = {row[0]: row[-3:] for row in rows if row[0] in self.promises and len(row) == 6}

    def names(self, test: str) -> list[str]:
        """Returns the promises that a test measures."""
        return [name for name in self.promises if name.split()[0] == test]

    def kept(self, test: str, commit: str) -> bool:
        """Returns whether all promises of a test were measured at this commit, and kept."""
        rows = [self.rows.get(name, ("**", "", "")) for name in self.names(test)]
        return all(row[2] == commit and "**" not in row[0] for row in rows)

    def write(self, name: str, measured: float | str, commit: str) -> None:
        """Puts a number, or the reason for which there is none, into the page."""
        promise = self.promises[name]
        text = measured if isinstance(measured, str) else promise.shown(measured)
        short = isinstance(measured, str) or not promise.keeps(measured)
        text = " ".join(text.replace("|", "/").split())[:200]
        self.read()
        self.rows[name] = (f"**{text}**" if short else text, time.strftime("%Y-%m-%d"), commit)
        part = self.page.with_name(self.page.name + ".part")
        part.write_text(self.text(), encoding="utf-8")
        part.replace(self.page)

    def text(self) -> str:
        """Returns the page."""
        none = ("**not measured**", "", "")
        lines = [
            " | ".join(["", name, promise.text, promise.budget, *self.rows.get(name, none), ""])
            for name, promise in self.promises.items()
        ]
        return HEAD + "".join(f"{line.strip()}\n" for line in lines)


@dataclass(frozen=True)
class Done:
    """A command that ended."""

    seconds: float
    output: str


@dataclass
class Trial:
    """Where a test works: the checkout that it tries, a folder of its own, what it measured.

    failed: why a command failed. lacking: why nothing can be measured here.
    """

    checkout: Path
    folder: Path
    measured: dict[str, float] = field(default_factory=dict)
    failed: str | None = None
    lacking: str | None = None

    def bin(self, program: str) -> Path:
        """Returns a program of the checkout's virtual environment, which is made where there is
        none."""
        path = self.checkout / ".venv" / "bin" / program
        if not path.exists():
            self.run("make", "setup")
        return path

    def run(
        self,
        *command: str | Path,
        limit_s: float = 3 * 3600,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Done:
        """Runs a command that has to succeed. Raises `RuntimeError` with its last lines if not."""
        code, done = self.ended(*command, limit_s=limit_s, cwd=cwd, environment=environment)
        if code != 0:
            last = " / ".join(line[:300] for line in done.output.strip().splitlines()[-3:])
            self.fail(f"`{' '.join(map(str, command))}` ended with {code}: {last}")
        return done

    def ended(
        self,
        *command: str | Path,
        limit_s: float = 3 * 3600,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> tuple[int, Done]:
        """Runs a command to its end or its limit (124), its output into `log`; returns its exit
        status too.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "log").open("a+", encoding="utf-8", errors="replace") as log:
            log.write(f"$ {' '.join(map(str, command))}\n")
            log.flush()
            begun, offset = time.monotonic(), log.tell()
            # A session of its own, so that whatever the command started ends with it.
            process = subprocess.Popen(
                list(map(str, command)),
                cwd=cwd or self.checkout,
                env={**os.environ, "PYTHONUTF8": "1", **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = 124
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            seconds = time.monotonic() - begun
            log.seek(offset)
            return code, Done(round(seconds, 1), log.read())

    def pytest(self, *options: str) -> Done:
        """Tests of the checkout, which have to pass; at least one has to run."""
        done = self.run(self.bin("pytest"), *options)
        if not re.search(r"\b[1-9]\d* passed", done.output):
            self.fail(f"`pytest {' '.join(options)}` passed no test")
        return done

    def fail(self, why: str) -> NoReturn:
        """Raises `RuntimeError`, and keeps the reason for the table."""
        self.failed = why
        raise RuntimeError(why)


def ratios(table: str) -> dict[str, float]:
    """Returns how many times as fast as ns-2 each case is, from the table of `make bench`."""
    rows = re.findall(r"^\| (B\d) \|.*\| ([\d.]+)× \|$", table, re.MULTILINE)
    return {case: float(ratio) for case, ratio in rows}


def clone(root: Path) -> Path:
    """Returns a clone of the last commit. One of the same commit that is there already is gone on
    with."""
    place, here = root / "out" / "accept" / "clone", git(root, "rev-parse", "HEAD")
    if not place.exists() or git(place, "rev-parse", "HEAD") != here:
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--no-local", root, place], check=True)
    return place


def git(where: Path, *arguments: str) -> str:
    """Returns what git prints."""
    command: Sequence[str | Path] = ["git", "-C", where, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
