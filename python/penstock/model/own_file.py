"""Loads disciplines from the user's files: `my_aqm.py`, with the modules beside it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock._names import known
from penstock.errors import ScenarioError
from penstock.model.aqm import Aqm
from penstock.model.modules import installed


def from_file(path: str, name: str, text: str) -> Any:
    """Returns what has that name in a file. Raises `ScenarioError`.

    text: what was written, for the message.
    """
    file = Path(path)
    if not file.is_file():
        raise ScenarioError(f"{text}: there is no file {path}")
    module = _imported(file)
    if not hasattr(module, name):
        known(name, [key for key, value in vars(module).items() if is_discipline(value)], f"discipline in {path}")
    return getattr(module, name)


def is_discipline(value: object) -> bool:
    """Returns whether something is a discipline of a user's: an instance, or a class that can have one."""
    return isinstance(value, Aqm) or (
        isinstance(value, type) and issubclass(value, Aqm) and not inspect.isabstract(value)
    )


@contextmanager
def watched(module: str) -> Iterator[None]:
    """Counts modules that are loaded in the block to that one's, if it is of a file: code that is looked at may import
    some."""
    before = {*sys.modules}
    yield
    file = _file(module)
    if file in _LOADED:
        _LOADED[file].note(before)


def files() -> list[Path]:
    """Returns the files that disciplines were loaded from."""
    return list(_LOADED)


def modules() -> list[str]:
    """Returns the names of the user's modules that came with these files."""
    return list(dict.fromkeys(each for loaded in _LOADED.values() for each in loaded.brought))


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A discipline's file that is loaded.

    brought: the user's modules that came with it, with what their files held then.
    """

    brought: dict[str, bytes | None]

    def note(self, before: Collection[str]) -> None:
        """Adds what is loaded now and was not before."""
        self.brought.update({each: _held(each) for each in {*sys.modules} - {*before} if not installed(each)})

    def stands(self) -> bool:
        """Returns whether the files are as they were."""
        return all(_held(each) == held for each, held in self.brought.items())

    def unload(self) -> None:
        """Takes its modules away."""
        for each in self.brought:
            sys.modules.pop(each, None)


_LOADED: dict[Path, _Loaded] = {}


def _imported(file: Path) -> ModuleType:
    """Returns the file as a module that worker processes can find again by its name.

    It finds the modules beside it. It is loaded again, with them, where a file of theirs has changed.
    """
    path, name = file.resolve(), file.stem
    there = _LOADED.get(path)
    if there is not None and _file(name) == path and there.stands():
        return sys.modules[name]
    if there is not None:
        _LOADED.pop(path).unload()
    for each in {each for others in _LOADED.values() for each in others.brought if each != name}:
        beside = path.with_name(f"{each}.py")
        if beside.is_file() and _file(each) not in (None, beside):
            raise ScenarioError(f"{file}: there are two modules {each}: {beside} and {_file(each)}; rename one")
    before, loaded = {*sys.modules} - {name}, _Loaded({})
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    importlib.invalidate_caches()
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        loaded.note(before)
        loaded.unload()
        raise ScenarioError(f"{file}: {type(error).__name__}: {error}") from error
    loaded.note(before)
    _LOADED[path] = loaded
    return module


def _file(module: str) -> Path | None:
    """Returns where a loaded module comes from."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return None if file is None else Path(file).resolve()


def _held(module: str) -> bytes | None:
    """Returns what the file of a loaded module holds."""
    file = _file(module)
    try:
        return None if file is None else file.read_bytes()
    except OSError:
        return None
