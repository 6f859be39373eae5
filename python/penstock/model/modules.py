"""Tells the user's own modules from Python's and from those of installed packages."""

from __future__ import annotations

import functools
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path


def installed(module: str) -> bool:
    """Returns whether a module is Python's own or of an installed package, this one included."""
    top = module.partition(".")[0]
    if top == "penstock":
        return True
    file = origin(top)
    if top == "__main__" or (file is not None and not _in_folders(file)):
        return False
    return file is not None or top in sys.stdlib_module_names or top in sys.builtin_module_names


def origin(module: str) -> str | None:
    """Returns the file of a loaded module, or the folder of one that is a package without a file."""
    loaded = sys.modules.get(module)
    return getattr(loaded, "__file__", None) or next(iter(getattr(loaded, "__path__", ())), None)


def _folders() -> Iterator[Path]:
    for name in ("stdlib", "platstdlib", "purelib", "platlib"):
        yield Path(sysconfig.get_path(name))
    yield from map(Path, (*site.getsitepackages(), site.getusersitepackages()))


@functools.cache
def _in_folders(file: str) -> bool:
    path = Path(file).resolve()
    return any(path.is_relative_to(folder.resolve()) for folder in _folders())
