"""Prints and writes what a command prints and writes."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from penstock._files import write
from penstock._text import visible

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Group

    from penstock.runs.result import Result
    from penstock.show.table import Table

EXIT_FAILED, EXIT_INPUT, EXIT_INTERRUPTED, EXIT_PIPE = 1, 2, 130, 141
#: A program that signal n ended exits with n more.
EXIT_SIGNAL = 128


def fail(message: str, code: int) -> int:
    """Says what went wrong, and returns the exit code."""
    tell(f"penstock: {message}")
    return code


def tell(text: str) -> None:
    """Says something beside the result."""
    print(visible(text), file=sys.stderr)


def warn(warnings: Iterable[str]) -> None:
    """Says on stderr what a reader of the results has to know."""
    for text in warnings:
        tell(f"warning: {text}")


def say(text: str) -> None:
    """Prints a result."""
    text = visible(text)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


#: Columns of a pipe or a file: a table takes the width that it needs, and nothing is cut off.
WIDE = 200


def draw(table: Table | Group, file: TextIO | None = None) -> None:
    """Prints a table.

    file: where to; default: the standard output.
    """
    from rich.console import Console  # two fifths of the start of a program that draws a table

    file = file or sys.stdout
    console = Console(file=file, highlight=False, width=None if file.isatty() else WIDE)
    with console.capture() as captured:
        console.print(table)
    file.write(captured.get())  # a pipe that nobody reads any longer is for `main` to answer, not for rich


@contextlib.contextmanager
def alone(as_json: bool) -> Iterator[None]:
    """Within it nothing but a document may go to the standard output: what anything else prints, a child or a worker
    process or a discipline of the user's, goes to the standard error.
    """
    if not as_json:
        yield
        return
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, ValueError):  # a standard output that is no file
            out, error = sys.stdout.fileno(), sys.stderr.fileno()
            kept = os.dup(out)
            stack.callback(os.close, kept)
            os.dup2(error, out)
            stack.callback(os.dup2, kept, out)
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield


def whole(table: Table | Group, result: Result, *, links: bool) -> Table | Group:
    """Returns a run's table with that of its links, if it was asked for, and of its groups where they are recorded."""
    from rich.console import Group

    from penstock.show.run_tables import parts_table

    tables = [parts_table(result, result.links, "links")] if links else []
    if result.scenario.core.records_groups:
        tables.append(parts_table(result, result.groups, "groups"))
    return Group(table, *tables) if tables else table


def report(as_json: bool, document: Callable[[], str], table: Callable[[], Table | Group]) -> None:
    """Prints a result as a document or as a table."""
    if as_json:
        say(document())
    else:
        draw(table())


def write_result(out: Path, result: Result) -> None:
    """Writes everything about one scenario's runs into a folder."""
    from penstock.runs.series_files import write_series

    write_series(out, result)
    write(out / "document.json", result.json() + "\n")  # last: where it exists, the rest does


class Clock:
    """How long the runs took. Never in results: the same input gives the same bytes."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        """Ends the measured time."""
        self.wall_s, self.cpu_s = time.perf_counter() - self._wall, time.process_time() - self._cpu

    def report(self, path: Path | None, results: Sequence[Result], jobs: int) -> None:
        """Writes the times into the file that was asked for, and onto a terminal."""
        runs = [run for result in results for run in result.runs]
        events = sum(run.events for run in runs)
        if path is not None:
            timing = {"wall_s": self.wall_s, "cpu_s": self.cpu_s, "jobs": jobs, "runs": len(runs), "events": events}
            write(path, json.dumps(timing) + "\n")
        if sys.stderr.isatty():
            speed = f", {events / self.wall_s / 1e6:.1f} M events/s" if self.wall_s > 0 else ""
            print(f"{len(runs)} runs in {self.wall_s:.2f} s{speed}", file=sys.stderr)
