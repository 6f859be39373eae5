"""A disk that a process writes to until it dies: at its n-th write, flush to the disk, renaming or deletion."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class DeathError(BaseException):
    """The process is gone. No Exception: whoever catches those must not go on."""


class Disk:
    """From the step `dies_at` on nothing is written any more; of that write itself the first half is.

    Steps are counted by `steps`. What a dead process would not do, its clean-up, raises again and changes nothing.
    """

    def __init__(self, dies_at: float = float("inf")) -> None:
        self.steps = 0
        self._dies_at = dies_at
        self._files: list[io.FileIO] = []

    @property
    def dead(self) -> bool:
        return self.steps > self._dies_at

    def step(self) -> bool:
        """Whether this is the last step of the process; raises `DeathError` after it."""
        if self.dead:
            raise DeathError
        self.steps += 1
        return self.dead

    @contextmanager
    def mounted(self) -> Iterator[Disk]:
        """Everything that this process writes meanwhile goes to this disk."""
        opening = Path.open
        with pytest.MonkeyPatch.context() as patch:

            def stepping(original: Any) -> Any:
                def call(*arguments: Any, **keys: Any) -> Any:
                    if self.step():
                        raise DeathError
                    return original(*arguments, **keys)

                return call

            def opened(path: Path, mode: str = "r", *arguments: Any, **keys: Any) -> Any:
                if mode == "xb":
                    return self._file(path, mode)
                assert not mode.startswith(("w", "x")), "a way of writing that this disk does not see"
                return opening(path, mode, *arguments, **keys)

            patch.setattr(Path, "open", opened)
            patch.setattr(os, "fdopen", lambda handle, mode: io.BufferedWriter(self._file(handle, mode)))
            patch.setattr(os, "fsync", stepping(lambda handle: None))
            for name in ("replace", "rename", "unlink"):
                patch.setattr(Path, name, stepping(getattr(Path, name)))
            try:
                yield self
            finally:
                for file in self._files:  # and with them their locks
                    file.close()

    def _file(self, place: Path | int, mode: str) -> io.FileIO:
        disk = self

        class File(io.FileIO):
            def write(self, data: Any) -> int:
                if not disk.step():
                    return super().write(data)
                super().write(memoryview(data)[: len(data) // 2])
                raise DeathError

            def truncate(self, size: int | None = None) -> int:
                if disk.step():
                    raise DeathError
                return super().truncate(size)

        file = File(place, mode)
        self._files.append(file)
        return file
