"""Finds which runs a store's Parquet files hold."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.sweeps.store.layout import MARKS, RUNS, parts
from penstock.sweeps.store.manifest import Manifest
from penstock.sweeps.store.parquet import open_part

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Known:
    """The keys of runs by table: the table of runs, and those that `MARKS` names.

    A key takes 32 bytes of memory.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._keys: dict[str, npt.NDArray[np.bytes_]] = {}
        self._read: set[Path] = set()

    def has(self, table: str, key: str) -> bool:
        """Returns whether the table has rows of that run."""
        import numpy as np

        known = self._keys.get(table)
        if known is None:
            return False
        at = int(np.searchsorted(known, key.encode()))
        return at < len(known) and bool(known[at] == key.encode())

    def add(self, table: str, keys: Iterable[str]) -> None:
        """Adds runs that the table has now."""
        import numpy as np

        # Only the new ones are sorted: to sort all for each file would take most of the time once
        # there are millions of runs.
        more = np.unique(np.array([key.encode() for key in keys], dtype="S32"))
        known = self._keys.get(table)
        if known is None or len(known) == 0:
            self._keys[table] = more
            return
        at = np.searchsorted(known, more)
        new = known[np.minimum(at, len(known) - 1)] != more
        self._keys[table] = np.insert(known, at[new], more[new])

    def wrote(self, path: Path) -> None:
        """Marks a file as one whose runs have been added."""
        self._read.add(path)

    def learn(self) -> None:
        """Reads the keys of files that are new."""
        for table in (RUNS, *MARKS):
            for part in parts(self._manifest.folder, table):
                if part not in self._read:
                    self._read.add(part)
                    with open_part(self._manifest, part, ["key"]) as file:
                        batches = file.iter_batches(1 << 20, columns=["key"])
                        found = (batch["key"].dictionary.to_pylist() for batch in batches)
                        self.add(table, {key for keys in found for key in keys})
