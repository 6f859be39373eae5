"""Finds which figures need not be drawn again: the same code makes the same files of the same runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

import penstock
from penstock._files import sources, write
from penstock.reproduce.execute import Wanted
from penstock.reproduce.model import Exhibit
from penstock.runs.tasks import simulator
from penstock.sweeps.store.sealed import SealError, seal, unseal


class Drawn:
    """What `figures/drawn.json` says: of each figure, what it was made of, and the hashes of its files."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._path = out / "figures" / "drawn.json"
        try:
            self._kept = unseal(self._path.read_bytes())
        except (OSError, SealError):
            self._kept = {}

    def has(self, name: str, made_of: str) -> bool:
        """Returns whether the figure of that name is there, made of the same, and its files are unchanged."""
        kept = self._kept.get(name)
        return (
            kept is not None
            and kept["made_of"] == made_of
            and all(_hash(self._out / path) == of for path, of in kept["files"].items())
        )

    def keep(self, name: str, made_of: str, files: Iterable[Path]) -> None:
        """Notes a figure that has been drawn; `write` keeps the note."""
        hashes = {path.relative_to(self._out).as_posix(): _hash(path) for path in files}
        self._kept[name] = {"made_of": made_of, "files": hashes}

    def write(self) -> None:
        """Writes `figures/drawn.json`."""
        write(self._path, seal(self._kept))


def made_of(exhibit: Exhibit, wanted: Wanted, seeds: Sequence[int]) -> str:
    """Returns a hash of all that decides what an exhibit shows: its runs, their labels, the code."""
    # Of a paper outside this package, too.
    code = getattr(exhibit.show, "__code__", None)
    source = _hash(Path(code.co_filename)) if code is not None else None
    runs = [
        [base, list(map(list, case.labels.items()))] for base, case in zip(wanted.identities, wanted.cases, strict=True)
    ]
    about = [
        simulator(),
        _code(),
        source,
        exhibit.key,
        list(seeds),
        runs,
    ]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()


@cache
def _code() -> str:
    """Returns a hash of this package's Python files, of ns-2's data, and of the versions of what draws."""
    digest = hashlib.sha256(sources().encode())
    root = Path(penstock.__file__).parent
    for path in sorted((root / "validate" / "ns2" / "data").iterdir()):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update("".join(version(name) for name in ("matplotlib", "numpy", "scipy", "pyarrow")).encode())
    return digest.hexdigest()


def _hash(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
