"""Records what each finished file must be: its size and its SHA-256, in `manifest/ID.json`.

All Parquet files that come of one journal share its ID, and so they share one manifest. It is
written before its files get their names, so that a file under its final name always has one. If the
writer is killed in between, the manifest names files that are absent; the journal still holds their
runs, and whoever adopts it writes the files.

A file that is written again, with more columns, has two states in its manifest: the old one and the
new one. Either is right, since a kill may come before or after the renaming.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock._files import write
from penstock.errors import Error
from penstock.sweeps.store.sealed import SealError, seal, unseal

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class State:
    """What a file contains."""

    bytes: int
    sha256: str

    @staticmethod
    def of(path: Path) -> State:
        """Reads a file."""
        digest, size = hashlib.sha256(), 0
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
        return State(size, digest.hexdigest())


class DamagedError(Error):
    """A file of a store is not what was written.

    path: the file; why: what is wrong with it, without the file's name.
    """

    def __init__(self, folder: Path, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is damaged: {why}; the next sweep into {folder} sets it aside and does its runs again"
        )
        self.path = path
        self.why = why


class Manifest:
    """The manifests of a store. A file that was found right is not read a second time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._right: set[tuple[Path, int, int]] = set()

    def path(self, identity: str) -> Path:
        """Returns where the manifest of a journal's files is."""
        return self.folder / "manifest" / f"{identity}.json"

    def __iter__(self) -> Iterator[Path]:
        found = (self.folder / "manifest").glob("*.json")
        return iter(sorted(path for path in found if not path.name.startswith(".")))

    def states(self, identity: str) -> dict[Path, Sequence[State]]:
        """Returns the states in which each file of that ID is right.

        Raises `DamagedError` if the manifest itself is damaged.
        """
        path = self.path(identity)
        try:
            files = unseal(path.read_bytes())["files"]
        except FileNotFoundError:
            return {}
        except SealError as error:
            raise DamagedError(self.folder, path, str(error)) from error
        return {self.folder / name: [State(**state) for state in states] for name, states in files.items()}

    def pledge(self, identity: str, states: Mapping[Path, State]) -> None:
        """Adds states in which files will be right, and is on the disk when it returns."""
        now = self.states(identity)
        for path, state in states.items():
            # Of the older states one can be on the disk: the last one, or the one before it if a
            # kill came before the renaming.
            older = [each for each in now.get(path, ()) if each != state]
            now[path] = [*older[-2:], state]
        self._write(identity, now)

    def settle(self, identity: str) -> None:
        """Forgets files that are absent."""
        now = self.states(identity)
        there = {path: states for path, states in now.items() if path.exists()}
        if there != now:
            self._write(identity, there)

    def check(self, path: Path) -> bool:
        """Returns whether the manifest names the file; raises `DamagedError` if it is another."""
        for last in (False, True):
            states = self.states(path.stem).get(path)
            if states is None:
                return False
            about = path.stat()
            seen = (path, about.st_size, about.st_mtime_ns)
            if seen in self._right:
                return True
            if any(state.bytes == about.st_size for state in states) and State.of(path) in states:
                self._right.add(seen)
                return True
            # Another process may have written both again since this one read the manifest.
            if last and all(state.bytes != about.st_size for state in states):
                sizes = " or ".join(str(state.bytes) for state in states)
                raise DamagedError(self.folder, path, f"it has {about.st_size} bytes instead of {sizes}")
        raise DamagedError(self.folder, path, "its content does not fit its SHA-256")

    def _write(self, identity: str, states: Mapping[Path, Sequence[State]]) -> None:
        path = self.path(identity)
        if not states:
            path.unlink(missing_ok=True)
            return
        files = {
            file.relative_to(self.folder).as_posix(): [asdict(state) for state in right]
            for file, right in sorted(states.items())
        }
        write(path, seal({"files": files}))
