"""Loads disciplines from the user's files: `my_aqm.py`, with the modules beside it."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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
    """Counts modules that are loaded in the block to those that came with the file of that module, if it is one:
    code that is looked at may import some."""
    before = {*sys.modules}
    yield
    if _file(module) in _LOADED.modules:
        _LOADED.note(before)


def files() -> list[Path]:
    """Returns the files that disciplines were loaded from."""
    return list(_LOADED.modules)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The disciplines' files that are loaded.

    modules: each file's module.
    brought: the user's modules that came with them, with what their files held then.
    specs: what each of the user's modules was loaded by, also of those that were there before. Whoever loads a module
        again gives it another.
    """

    modules: dict[Path, ModuleType] = field(default_factory=dict)
    brought: dict[str, bytes | None] = field(default_factory=dict)
    specs: dict[str, object] = field(default_factory=dict)

    def note(self, before: Collection[str]) -> None:
        """Adds what is loaded now and was not before."""
        own = [each for each in list(sys.modules) if not installed(each)]
        self.brought.update({each: _held(each) for each in own if each not in before})
        self.specs.update({each: _spec(each) for each in own if each not in self.specs})

    def stand(self) -> bool:
        """Returns whether the files are as they were, and nobody has loaded one of the modules again."""
        same = all(_spec(each) is spec for each, spec in self.specs.items())
        return same and all(_held(each) == held for each, held in self.brought.items())

    def clear(self) -> None:
        """Takes all away, but for modules that somebody else has loaded again."""
        for each in self.brought:
            if _spec(each) is self.specs[each]:
                sys.modules.pop(each, None)
        for part in (self.modules, self.brought, self.specs):
            part.clear()


_LOADED = _Loaded()


def _imported(file: Path) -> ModuleType:
    """Returns the file as a module under a name of its own: one that the program has imported itself stays as it is.

    It finds the modules beside it. Where a file of theirs has changed, all are loaded again.
    """
    path = file.resolve()
    if not _LOADED.stand():
        _LOADED.clear()
    if path in _LOADED.modules:
        return _LOADED.modules[path]
    for each in {*_LOADED.brought} - {file.stem}:
        beside = path.with_name(f"{each}.py")
        if beside.is_file() and _file(each) not in (None, beside):
            raise ScenarioError(f"{file}: there are two modules {each}: {beside} and {_file(each)}; rename one")
    name = f"_{file.stem}_{hashlib.sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module, before = importlib.util.module_from_spec(spec), {*sys.modules}
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    importlib.invalidate_caches()
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        for each in [each for each in sys.modules if each not in before and not installed(each)]:
            del sys.modules[each]
        raise ScenarioError(f"{file}: {type(error).__name__}: {error}") from error
    _LOADED.note(before)
    _LOADED.modules[path] = module
    return module


def _spec(module: str) -> object:
    """Returns what a module was loaded by."""
    return getattr(sys.modules.get(module), "__spec__", None)


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
