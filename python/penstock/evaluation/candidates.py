"""Names what is judged: a discipline by name, one of a user's own, or either with other settings."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

from penstock import _penstock
from penstock._names import known
from penstock.errors import ScenarioError
from penstock.evaluation.identity import UnidentifiedError, identity, installed
from penstock.model.aqm import Aqm
from penstock.model.scenario import Scenario

#: What everything is compared with.
BASELINE = "droptail"
#: Put together by the user: it is no discipline by itself.
NO_DISCIPLINE = "custom"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A discipline with its settings.

    name: what tables and figures call it.
    kind: the built-in kind, or `None`.
    own: the user's discipline, or `None`.
    source: what tells the user's discipline from any other: see `penstock.evaluation.identity`.
    unknown: why nothing can; its runs are not kept then.
    changes: key path → value, applied to every scenario.
    """

    name: str
    kind: str | None = None
    own: Aqm | None = None
    source: str = ""
    unknown: str = ""
    changes: Mapping[str, object] | None = None

    def under(self, scenario: Scenario, both_ways: bool = False) -> Scenario:
        """Returns the scenario under this discipline, in both directions if so asked."""
        changed = scenario.set_all(self.changes) if self.changes else scenario
        if self.own is not None:
            made = changed.with_aqm(self.own)
            return made.with_reverse_aqm(self.own) if both_ways else made
        assert self.kind is not None
        made = changed.with_aqm(self.kind)
        return made.set_all(_reversed(made)) if both_ways else made


def _reversed(scenario: Scenario) -> dict[str, object]:
    """Returns the changes that give the way back the discipline of the way forward."""
    kept = {key: value for key, value in scenario.resolved["aqm"].items() if key != "reverse" and value is not None}
    return {f"aqm.reverse.{key}": value for key, value in kept.items()}


def kinds() -> list[str]:
    """Returns the names of the built-in disciplines."""
    return [kind["name"] for kind in json.loads(_penstock.list_json("aqm")) if kind["name"] != NO_DISCIPLINE]


def candidates(named: Sequence[str | Aqm | type[Aqm]], changes: Mapping[str, object] | None = None) -> list[Candidate]:
    """Returns DropTail, then what is named, each once.

    named: kinds, `"all"`, `"my_aqm.py:Mine"` (a class or an instance in that file), or objects.
    changes: for all but DropTail.

    Raises `ScenarioError` for a name that does not exist, and for a file that has no such discipline.
    """
    found = {BASELINE: Candidate(BASELINE, kind=BASELINE)}
    for each in _each(named):
        made = _own(each, changes) if not isinstance(each, str) or ".py" in each else _built_in(each, changes)
        if made.name in found and made.name != BASELINE and found[made.name] != made:
            raise ScenarioError(f"two disciplines are called {made.name}; rename one class")
        found.setdefault(made.name, made)
    return list(found.values())


def _each(named: Sequence[str | Aqm | type[Aqm]]) -> Iterable[str | Aqm | type[Aqm]]:
    for each in named:
        yield from kinds() if each == "all" else (each,)


def _built_in(kind: str, changes: Mapping[str, object] | None) -> Candidate:
    known(kind, ["all", *kinds()], "discipline")
    return Candidate(kind, kind=kind, changes=None if kind == BASELINE else changes)


def _own(given: str | Aqm | type[Aqm], changes: Mapping[str, object] | None) -> Candidate:
    thing = _from_file(given) if isinstance(given, str) else given
    if isinstance(thing, type) and issubclass(thing, Aqm):
        try:
            thing = thing()
        except TypeError as error:
            raise ScenarioError(f"{given}: cannot be made without arguments ({error}); name an instance") from None
    if not isinstance(thing, Aqm):
        raise ScenarioError(f"{given}: must be a subclass of penstock.Aqm, or an instance of one")
    name, before = type(thing).__name__, {*sys.modules}
    try:
        source = identity(thing)
        if isinstance(given, str):
            _LOADED[Path(given.rpartition(":")[0]).resolve()].note(before)  # what its methods import
        return Candidate(name, own=thing, source=source, changes=changes)
    except UnidentifiedError as error:
        return Candidate(name, own=thing, source=uuid4().hex, unknown=str(error), changes=changes)


def _from_file(text: str) -> Any:
    path, colon, name = text.rpartition(":")
    if not colon:
        raise ScenarioError(f"{text}: must be FILE.py:CLASS, as in my_aqm.py:Mine")
    file = Path(path)
    if not file.is_file():
        raise ScenarioError(f"{text}: there is no file {path}")
    module = _imported(file)
    if not hasattr(module, name):
        named = [key for key, value in vars(module).items() if _is_discipline(value)]
        known(name, named, f"discipline in {path}")
    return getattr(module, name)


def _is_discipline(value: object) -> bool:
    return isinstance(value, Aqm) or (
        isinstance(value, type) and issubclass(value, Aqm) and not inspect.isabstract(value)
    )


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
        if beside.is_file() and _file(each) != beside:
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
