"""Progress of what takes over a second: a bar on a terminal or in a notebook, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from penstock._text import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: Seconds after which a bar is worth drawing.
PATIENCE_S = 1.0
#: Seconds between two lines where stderr is no terminal.
LINE_S = 10.0


class Bar:
    """A callback for `penstock.run` that says on stderr how far a long run has come."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._begun = self._said = time.monotonic()
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Bar:
        return self

    def __call__(self, fraction: float, done: int, total: int) -> None:
        """Draws the state; the extension calls this about twenty times a second."""
        self.show(fraction, self._label, f"{done}/{total} runs")

    def show(self, fraction: float, label: str, note: str = "") -> None:
        """Draws the state of a job whose label changes on the way."""
        label, note = visible(label), visible(note)
        if self._bar is None:
            if not sys.stderr.isatty():
                self._line(fraction, label, note)
                return
            if time.monotonic() - self._begun < PATIENCE_S:
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.percentage:3.0f} %  {task.fields[note]}", markup=False),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            progress.start()
            self._bar = (progress, progress.add_task(label, total=1.0, note=note))
        progress, task = self._bar
        progress.update(task, completed=fraction, description=label, note=note)

    def _line(self, fraction: float, label: str, note: str) -> None:
        """Prints the state if the last line is `LINE_S` ago."""
        now = time.monotonic()
        if now - self._said < LINE_S:
            return
        self._said = now
        more = f", {note}" if note else ""
        print(f"{label}: {fraction:.0%}{more}, {now - self._begun:.0f} s", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()


class NotebookBar:
    """A callback for `penstock.run` that draws below the cell of a notebook, and leaves nothing there in the end."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._begun = time.monotonic()
        self._shown: Any = None

    def __call__(self, fraction: float, done: int, total: int) -> None:
        """Draws the state."""
        from html import escape

        from IPython.display import HTML, display

        if self._shown is None and (time.monotonic() - self._begun < PATIENCE_S or fraction >= 1):
            return
        note = f"{fraction:.0%}, {done}/{total} runs"
        label = f'{escape(self._label)} <progress value="{fraction:.3f}"></progress> {note}'
        page = HTML("" if fraction >= 1 else label)
        if self._shown is None:
            self._shown = display(page, display_id=True)
        else:
            self._shown.update(page)


def in_notebook(label: str) -> NotebookBar | None:
    """Returns a bar where this program is the kernel of a notebook, else `None`."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    return NotebookBar(label) if type(shell).__name__ == "ZMQInteractiveShell" else None
