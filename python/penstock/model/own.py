"""A discipline of the user's own as scenarios take it: the annotated arguments of its class are keys of `[aqm]`."""

from __future__ import annotations

import copy
import inspect
import json
import math
import traceback
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock import _penstock
from penstock._names import nearest
from penstock.errors import ScenarioError
from penstock.model.aqm import Aqm, label, made_with

#: Keys that `[aqm]` has whatever the discipline: no argument can be one of them.
TAKEN = frozenset(("kind", "reverse", "ecn", "unit", "mean_packet", "count_in_service"))
_NAMES: Mapping[type, str] = {bool: "bool", int: "int", float: "float", str: "str"}
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument that is a key.

    type: `int`, `float`, `bool`, `str`, or `word`: one of `words`.
    default: its default; `None` where it has none, or one that a file cannot say.
    required: whether there has to be a value.
    """

    name: str
    type: str
    words: tuple[str, ...]
    default: bool | int | float | str | None
    required: bool

    @property
    def is_number(self) -> bool:
        """Returns whether a search can vary it."""
        return self.type in ("int", "float")

    @property
    def allowed(self) -> str:
        """Returns what it takes, for a person."""
        words = f"one of {', '.join(map(repr, self.words))}"
        return {"int": "a whole number", "float": "a number", "bool": "True or False", "word": words}.get(
            self.type, "a text"
        )

    def fits(self, value: object) -> bool:
        """Returns whether a value is of its type, or the `None` that it is without."""
        if value is None:
            return not self.required and self.default is None
        if self.type == "float":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        if self.type == "word":
            return value in self.words
        return type(value).__name__ == self.type

    def takes(self, value: object) -> bool:
        """Returns whether a value is of its type, and a file could say it."""
        return value is not None and self.fits(value) and _sayable(value)


@dataclass(frozen=True, slots=True)
class Own:
    """A class with arguments, or an instance.

    arguments: those that were said.
    given: the keys that it comes with: of a class what was said, of an instance all.
    """

    name: str
    parameters: tuple[Parameter, ...]
    arguments: Mapping[str, Any]
    given: Mapping[str, Any]
    core: _penstock.UserAqm = field(repr=False)


def of_class(cls: type[Aqm], given: Mapping[str, Any], text: str) -> Own:
    """Returns a class as a discipline that is made with the values in force. Raises `ScenarioError`.

    given: arguments by name.
    text: what was written, for messages.
    """
    arguments, open_ended = _arguments(cls)
    for name in given:
        if name not in arguments and not open_ended:
            near = nearest(name, arguments)
            hint = f"; nearest: {near}" if near else ""
            listed = ", ".join(arguments) or "none"
            raise ScenarioError(f"{text}: {cls.__name__} has no argument {name!r}{hint}; there are: {listed}")
    for each in parameters(cls):
        if each.name in given and not each.fits(given[each.name]):
            raise ScenarioError(f"{text}: {each.name} = {given[each.name]!r}: must be {each.allowed}")
    return _own(cls, dict(given), None)


def of_instance(instance: Aqm) -> Own:
    """Returns an instance as a discipline; where it is known what it was made with, its arguments are keys."""
    made = made_with(instance)
    cls = type(instance)
    if made is not None:
        bound = _bound(cls, *made)
        if bound is not None:
            return _own(cls, bound, instance)
    why = "this instance of {} was changed, or copied, after it was made: give the class, or a new instance"
    refused = [(name, why.format(cls.__name__)) for name in _arguments(cls)[0]]
    kept = copy.deepcopy(instance)
    return _made(label(instance), kept, (), refused, {}, {}, lambda _: kept)


def parameters(cls: type[Aqm]) -> tuple[Parameter, ...]:
    """Returns the arguments of a class that are keys: those with a type."""
    return tuple(each for each in (_parameter(cls, a) for a in _arguments(cls)[0].values()) if each is not None)


def _own(cls: type[Aqm], arguments: dict[str, Any], instance: Aqm | None) -> Own:
    keys, said = [], dict(arguments)
    for each in parameters(cls):
        if each.name not in arguments or each.takes(_plain(arguments[each.name])):
            keys.append(each)
        elif arguments[each.name] is None and each.default is None and not each.required:
            keys.append(each)
            del arguments[each.name]
    names = {each.name for each in keys}
    given = {name: _plain(value) for name, value in arguments.items() if name in names}
    # An instance is complete: a file's keys do not stand in for its defaults.
    if instance is not None:
        given = {each.name: each.default for each in keys if each.default is not None} | given
    others = {name: value for name, value in arguments.items() if name not in names}
    # A copy: what becomes of the user's object afterwards changes no scenario.
    kept = None if instance is None else copy.deepcopy(instance)
    usual = {each.name: each.default for each in keys} | given
    last: list[tuple[dict[str, Any], Aqm]] = []

    def settle(values: dict[str, Any]) -> Aqm:
        if kept is not None and all(values.get(name) == usual[name] for name in usual):
            return kept
        if not last or last[0][0] != values:
            last[:] = [(dict(values), _instance(cls, {**others, **values}))]
        return last[0][1]

    refused = [(name, _why(cls, name, others)) for name in _arguments(cls)[0] if name not in names]
    title = label(cls if instance is None else instance)
    return _made(title, cls if kept is None else kept, tuple(keys), refused, said, given, settle)


def _made(
    title: str,
    thing: Aqm | type[Aqm],
    keys: tuple[Parameter, ...],
    refused: list[tuple[str, str]],
    arguments: Mapping[str, Any],
    given: Mapping[str, Any],
    settle: Callable[[dict[str, Any]], Aqm],
) -> Own:
    def literal(value: object) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=False)

    declared = [(each.name, each.type, list(each.words), literal(each.default), each.required) for each in keys]
    return Own(title, keys, arguments, given, _penstock.UserAqm(thing, title, declared, refused, settle))


def _instance(cls: type[Aqm], arguments: Mapping[str, Any]) -> Aqm:
    said = f"{cls.__name__}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
    try:
        return cls(**arguments)
    except ValueError as error:
        raise ScenarioError(f"{said}: {error}") from None
    except (Exception, SystemExit) as error:
        at = traceback.extract_tb(error.__traceback__)[1:]  # the first is the call here
        where = f"{at[-1].filename}:{at[-1].lineno}: in {at[-1].name}: " if at else ""
        raise ScenarioError(f"{said}: {where}{type(error).__name__}: {error}") from None


def _arguments(cls: type[Aqm]) -> tuple[dict[str, inspect.Parameter], bool]:
    """Returns the arguments that have a name, and whether any other name is taken, too."""
    try:
        signature = inspect.signature(cls.__init__)
    except (TypeError, ValueError):
        return {}, True
    if cls.__init__ is object.__init__:
        return {}, False
    found = list(signature.parameters.values())[1:]
    named = [each for each in found if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    return {each.name: each for each in named}, any(each.kind is each.VAR_KEYWORD for each in found)


def _bound(cls: type[Aqm], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Returns arguments by name; `None` where some have none."""
    try:
        bound = inspect.signature(cls.__init__).bind(None, *args, **kwargs)
    except (TypeError, ValueError):
        return None
    named, _ = _arguments(cls)
    found = dict(list(bound.arguments.items())[1:])
    for each in bound.signature.parameters.values():
        if each.kind is each.VAR_KEYWORD:
            found |= found.pop(each.name, {})
        elif each.name in found and each.name not in named:
            return None
    return found


def _parameter(cls: type[Aqm], argument: inspect.Parameter) -> Parameter | None:
    kind = None if argument.name in TAKEN else _type(_hints(cls).get(argument.name))
    if kind is None:
        return None
    required = argument.default is argument.empty
    made = Parameter(argument.name, *kind, None, required)
    default = _plain(argument.default)
    if required or default is None:
        return made
    if made.takes(default):
        return Parameter(argument.name, *kind, float(default) if kind[0] == "float" else default, False)
    # Such as infinity: it holds where no value is given.
    return made


def _hints(cls: type[Aqm]) -> Mapping[str, Any]:
    """Returns the annotations of a class's arguments; where one means nothing here, the plain ones."""
    try:
        return typing.get_type_hints(cls.__init__)
    except Exception:
        plain = {kind.__name__: kind for kind in _NAMES}
        said = getattr(cls.__init__, "__annotations__", {})
        return {name: plain.get(each) if isinstance(each, str) else each for name, each in said.items()}


def _type(annotation: Any) -> tuple[str, tuple[str, ...]] | None:
    """Returns the type of a key, and its words; `None` for what is none."""
    if isinstance(annotation, type) and annotation in _NAMES:
        return _NAMES[annotation], ()
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(parts[0])
    if origin is Literal and all(isinstance(each, str) for each in parts):
        return "word", parts
    if origin in (typing.Union, types.UnionType):
        kinds = {_type(each) for each in parts if each is not type(None)}
        if kinds == {("int", ()), ("float", ())}:
            return "float", ()
        return kinds.pop() if len(kinds) == 1 else None
    return None


def _why(cls: type[Aqm], name: str, others: Mapping[str, Any]) -> str:
    """Returns why an argument is no key."""
    if name in TAKEN:
        return f"is a key of every discipline, and so no argument of {cls.__name__} can be set by it"
    typed = name in {each.name for each in parameters(cls)}
    if typed and name in others:
        return f"{cls.__name__} was made with {name} = {others[name]!r}, which is not of its type: give the class"
    return (
        f"is an argument of {cls.__name__} without a type; with one (int, float, bool, str or Literal words), as in "
        f"`{name}: float`, it is a key"
    )


def _plain(value: Any) -> Any:
    """Returns numpy's numbers as Python's."""
    return value.item() if hasattr(value, "item") and hasattr(value, "dtype") else value


def _sayable(value: object) -> bool:
    """Returns whether a file's text holds a value as it is."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return -_LARGEST <= value <= _LARGEST
    return isinstance(value, str) and value.isprintable() and not {*'"\\'} & {*value}
