"""What is judged: a discipline by name, one of a user's own, or either with other settings."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock import _penstock
from penstock._names import known
from penstock.errors import ScenarioError
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
    source: what identifies the user's discipline: the hash of its file.
    changes: key path → value, applied to every scenario.
    """

    name: str
    kind: str | None = None
    own: Aqm | None = None
    source: str = ""
    changes: Mapping[str, object] | None = None

    def under(self, scenario: Scenario, both_ways: bool = False) -> Scenario:
        """The scenario under this discipline, in both directions if so asked."""
        changed = scenario.set_all(self.changes) if self.changes else scenario
        if self.own is not None:
            made = changed.with_aqm(self.own)
            return made.with_reverse_aqm(self.own) if both_ways else made
        assert self.kind is not None
        made = changed.with_aqm(self.kind)
        return made.set_all(_reversed(made)) if both_ways else made


def _reversed(scenario: Scenario) -> dict[str, object]:
    """The changes that give the way back the discipline of the way forward."""
    kept = {key: value for key, value in scenario.resolved["aqm"].items() if key != "reverse" and value is not None}
    return {f"aqm.reverse.{key}": value for key, value in kept.items()}


def kinds() -> list[str]:
    """The names of the built-in disciplines."""
    return [kind["name"] for kind in json.loads(_penstock.list_json("aqm")) if kind["name"] != NO_DISCIPLINE]


def candidates(named: Sequence[str | Aqm | type[Aqm]], changes: Mapping[str, object] | None = None) -> list[Candidate]:
    """DropTail, then what is named, each once.

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
    return Candidate(type(thing).__name__, own=thing, source=_source(thing), changes=changes)


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


def _imported(file: Path) -> ModuleType:
    """The file as a module that worker processes can find again by its name."""
    name = file.stem
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(file.resolve()):
        return loaded
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ScenarioError(f"{file}: {type(error).__name__}: {error}") from error
    return module


def _source(own: Aqm) -> str:
    """A hash of the file that the discipline is in, and of the values it was made with.

    What the file imports is not in it.
    """
    try:
        text = Path(inspect.getfile(type(own))).read_bytes()
    except (OSError, TypeError):
        text = b""
    values = repr(sorted(vars(own).items())) if hasattr(own, "__dict__") else ""
    return hashlib.sha256(text + b"\0" + values.encode()).hexdigest()
