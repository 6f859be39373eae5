"""Finds whose fault an exception is: a discipline in Python is its author's code, which runs in the middle of
Penstock's."""

from __future__ import annotations

import traceback
from collections.abc import Collection
from pathlib import Path
from typing import TypeAlias

from penstock.errors import Error, SimulationError

#: A line of a traceback: file, line, function, text. It travels between processes.
Frame: TypeAlias = tuple[str, int, str, str]

#: The files that hand a run to the engine. What is called below them is the discipline.
_ABOVE = {str(Path(__file__).with_name(name)) for name in ("execute.py", "processes.py")}


class RemoteError(Exception):
    """Where in a worker process an exception came from. It is the cause of that exception here."""

    def __init__(self, text: str, frames: list[Frame]) -> None:
        super().__init__(text)
        self.frames = frames


def frames(error: BaseException) -> list[Frame]:
    """Returns the lines of an exception's traceback, those of another process where it comes from there."""
    if isinstance(error.__cause__, RemoteError):
        return error.__cause__.frames
    found = traceback.extract_tb(error.__traceback__)
    return [(each.filename, each.lineno or 0, each.name, each.line or "") for each in found]


def of_discipline(error: BaseException, files: Collection[Path]) -> str | None:
    """Returns what a discipline in Python did wrong: where, what, and the lines of its own that led there.

    files: those that disciplines were loaded from; what they raise before a run begins is also theirs.

    Returns `None` where it is not the discipline's fault.
    """
    lines = frames(error)
    above = [place + 1 for place, (file, *_) in enumerate(lines) if file in _ABOVE]
    loaded = [place for place, (file, *_) in enumerate(lines) if Path(file) in files]
    begin = above[-1:] or loaded[:1]
    own = lines[begin[0] :] if begin else []
    if not own:
        # The engine does not take what a method returned; its message names the method.
        refused = above and isinstance(error, (TypeError, ValueError)) and not isinstance(error, Error)
        return str(error) if refused else None
    # A worker sends as a SimulationError what cannot travel; its text names the real one.
    what = str(error) if isinstance(error, SimulationError) else f"{type(error).__name__}: {error}"
    file, line, name, _ = own[-1]
    shown = "".join(traceback.format_list([traceback.FrameSummary(f, n, at, line=text) for f, n, at, text in own]))
    return f"{file}:{line}: in {name}: {what}\n{shown}".rstrip()
