"""Finding what a user named, and saying so in one way where it does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from typing import Any

from penstock.errors import Error


def known(name: str, names: Iterable[str], what: str) -> str:
    """Returns `name` if it is one of `names`. Raises `Error` with the nearest one otherwise.

    what: what the names are names of: `"metric"`.

    >>> known("red", ["red", "pie"], "aqm")
    'red'
    """
    listed = list(names)
    if name in listed:
        return name
    near = nearest(name, listed)
    hint = f"; nearest: {near}" if near else ""
    raise Error(f"no {what} is called {name!r}{hint}; there are: {', '.join(listed)}")


@cache
def listing(what: str) -> Any:
    """Returns what `penstock list WHAT --json` prints, as values that nobody may change."""
    import json

    from penstock import _penstock

    return json.loads(_penstock.list_json(what))


def kinds() -> list[str]:
    """Returns the names of the disciplines that a scenario can have."""
    return list(parameters())


@cache
def parameters() -> dict[str, dict[str, Any]]:
    """Returns how each parameter of each discipline is declared: discipline → key → declaration."""
    return {kind["name"]: {each["name"]: each for each in kind["params"]} for kind in listing("aqm")}


def command(*words: object) -> str:
    """Returns a command as a shell reads it, for hints: a path with a space stands in quotes.

    >>> command("run", "my file.toml")
    "`penstock run 'my file.toml'`"
    """
    import shlex

    return f"`{shlex.join(['penstock', *map(str, words)])}`"


def nearest(name: str, names: Iterable[str], cutoff: float = 0.4) -> str | None:
    """Returns the name that is spelled most like `name`, by the rule of the messages about scenarios: the fewest edits.

    cutoff: `None` is returned if it is not at least that similar (0 to 1).
    """
    from penstock import _penstock

    found = _penstock.nearest(name, list(names))
    similar = difflib.SequenceMatcher(None, name, found).ratio()
    return found if found and similar >= cutoff else None
