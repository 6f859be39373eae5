"""What a user calls a discipline: here a text, a class or an object becomes one, everywhere in the same way.

red                           a kind
red:min_th=20,max_th=60       a kind with some of its keys
my_aqm.py:Mine                a class in a file, or an instance
my_aqm.py:Mine(limit=5)       a class with some of its arguments
tight=red:min_th=5,max_th=15  any of these under a name of the user's choice
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock._names import kinds, nearest
from penstock.errors import ScenarioError
from penstock.model.aqm import Aqm, label
from penstock.model.table import Table

if TYPE_CHECKING:
    from penstock import _penstock
    from penstock.model.own import Own

#: What a user may give where a discipline is asked for.
Named: TypeAlias = "str | Table | Aqm | type[Aqm] | Discipline"

#: One is put together by the user, and one is set from outside: none by themselves.
NO_DISCIPLINES = ("custom", "bernoulli")
ALL = "all"

_NAMED = re.compile(r"(?P<label>[^=:()]+)=(?P<rest>.+)", re.DOTALL)
_IN_FILE = re.compile(r"(?P<path>.*?\.py):(?P<name>\w+)(?P<call>\(.*\))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Discipline:
    """A discipline with what was said of it.

    label: what tables and figures call it.
    kind: the kind; empty for one of the user's own.
    keys: of `[aqm]`, over those of the scenario.
    own: the user's.
    named: whether the user chose the label.
    """

    label: str
    kind: str = ""
    keys: Mapping[str, object] = field(default_factory=dict)
    own: Own | None = None
    named: bool = False

    @property
    def declared(self) -> list[_penstock.UserAqm]:
        """Returns what brings keys of its own into a file's `[aqm]`."""
        return [] if self.own is None else [self.own.core]


def discipline(given: Named, where: str, *, named: bool = False) -> Discipline:
    """Returns one discipline. Raises `ScenarioError`, or `TypeError` for an object that is none.

    where: what was given it, for messages.
    named: whether it may have a name of the user's choice.
    """
    if isinstance(given, Discipline):
        return given
    if isinstance(given, str):
        found = _of_text(given, where)
        if found.named and not named:
            raise ScenarioError(f"{where} {given!r}: a name ({found.label}=) is for several that are compared")
        return found
    if isinstance(given, Table) and given.kind in kinds():
        keys = {key: value for key, value in given.to_dict().items() if key != "kind"}
        return Discipline(_said(given.kind, keys), given.kind, keys)
    if isinstance(given, Aqm) or (isinstance(given, type) and issubclass(given, Aqm)):
        return _of_object(given)
    raise TypeError(
        f"{where}: a kind such as 'red', ps.Red(min_th=5), or a subclass of penstock.Aqm or an instance of one, not "
        f"{given!r}"
    )


def disciplines(given: Iterable[Named] | Mapping[str, Named], where: str) -> list[Discipline]:
    """Returns several disciplines, each under a label of its own, in their order; `"all"` adds every other kind.

    given: or label → discipline.

    Raises as `discipline` does, and `ValueError` where two would be called the same.
    """
    if isinstance(given, str):
        raise TypeError(f"{where}: a list of them, as in [{given!r}]")
    if isinstance(given, Mapping):
        found = [
            replace(discipline(each, where), label=_checked(name, where), named=True) for name, each in given.items()
        ]
    else:
        listed = list(given)
        found = [discipline(each, where, named=True) for each in listed if each != ALL]
        there = {each.label for each in found}
        if ALL in listed:
            found += [Discipline(kind, kind) for kind in every_kind() if kind not in there]
    labels = [each.label for each in found]
    # Several of one class are told apart by what they were made with.
    found = [_longer(each) if labels.count(each.label) > 1 else each for each in found]
    labels = [each.label for each in found]
    if not labels or len({*labels}) < len(labels):
        raise ValueError(f"{where}: at least one, each once (by its name), not {labels}; NAME=… gives one another name")
    return found


def every_kind() -> list[str]:
    """Returns the kinds that are disciplines by themselves."""
    return [kind for kind in kinds() if kind not in NO_DISCIPLINES]


def _of_text(text: str, where: str) -> Discipline:
    chosen = _NAMED.fullmatch(text)
    if chosen is not None:
        return replace(_of_text(chosen["rest"], where), label=_checked(chosen["label"].strip(), where), named=True)
    inside = _IN_FILE.fullmatch(text)
    if inside is not None:
        return _in_file(inside, text)
    kind, colon, rest = text.partition(":")
    if kind.endswith(".py"):
        raise ScenarioError(f"{where} {text!r}: must be FILE.py:CLASS, as in my_aqm.py:Mine or my_aqm.py:Mine(limit=5)")
    if kind not in kinds():
        near = nearest(kind, kinds())
        hint = f"; nearest: {near}" if near else ""
        raise ScenarioError(
            f"{where} {kind!r}: no discipline is called that{hint}; there are: {', '.join(kinds())}, and yours: "
            "FILE.py:CLASS"
        )
    keys = dict(_assigned(each, text, where) for each in parts(rest)) if colon else {}
    return Discipline(_said(kind, keys), kind, keys)


def _assigned(part: str, text: str, where: str) -> tuple[str, str]:
    key, equals, value = part.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise ScenarioError(f"{where} {text!r}: after the colon KEY=VALUE, …, as in red:min_th=20,max_th=60")
    return key.strip().removeprefix("aqm."), value.strip()


def parts(text: str) -> list[str]:
    """Returns what stands between commas, but for those within quotes, brackets and braces."""
    parts, depth, quote = [""], 0, ""
    for each in text:
        if quote:
            quote = "" if each == quote else quote
        elif each in "\"'":
            quote = each
        elif each in "[{":
            depth += 1
        elif each in "]}":
            depth -= 1
        if each == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += each
    return parts


def _in_file(found: re.Match[str], text: str) -> Discipline:
    from penstock.model.own import of_class
    from penstock.model.own_file import from_file, is_discipline

    thing = from_file(found["path"], found["name"], text)
    if not is_discipline(thing) and not (isinstance(thing, type) and issubclass(thing, Aqm)):
        raise ScenarioError(f"{text}: must be a subclass of penstock.Aqm, or an instance of one")
    if not isinstance(thing, type):
        if found["call"]:
            raise ScenarioError(f"{text}: {found['name']} is an instance, which takes no arguments")
        return _of_object(thing)
    given = _call(found["call"], text) if found["call"] else {}
    own = of_class(thing, given, text)
    return Discipline(_called(own.name, given), keys=own.given, own=own)


def _call(call: str, text: str) -> dict[str, Any]:
    """Returns the arguments of a call: keywords with literals."""
    try:
        made = ast.parse(f"f{call}", mode="eval").body
        assert isinstance(made, ast.Call)
        if made.args or any(each.arg is None for each in made.keywords):
            raise ValueError
        return {str(each.arg): ast.literal_eval(each.value) for each in made.keywords}
    except (SyntaxError, ValueError, AssertionError):
        raise ScenarioError(
            f"{text}: arguments are NAME=VALUE with plain values, as in Mine(limit=5, mode='fast')"
        ) from None


def _of_object(given: Aqm | type[Aqm]) -> Discipline:
    from penstock.model.own import of_class, of_instance

    own = of_class(given, {}, label(given)) if isinstance(given, type) else of_instance(given)
    return Discipline(own.name, keys=own.given, own=own)


def _longer(each: Discipline) -> Discipline:
    return replace(each, label=_called(each.own.name, each.own.arguments)) if each.own and not each.named else each


def _said(kind: str, keys: Mapping[str, object]) -> str:
    return f"{kind}:{','.join(f'{key}={value}' for key, value in keys.items())}" if keys else kind


def _called(name: str, arguments: Mapping[str, object]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})" if arguments else name


def _checked(name: str, where: str) -> str:
    """Returns a label if it can be the name of a folder."""
    if not name or "/" in name or "\0" in name or name.startswith("."):
        raise ScenarioError(f"{where}: the name {name!r} must be one that a folder can have: no slash, no dot in front")
    return name
