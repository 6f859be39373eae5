"""Finding what a user named, and saying so in one way where it does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

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


def nearest(name: str, names: Iterable[str], cutoff: float = 0.4) -> str | None:
    """Returns the name that is spelled most like `name`, or `None` if none is at least that similar (0 to 1)."""
    found = difflib.get_close_matches(name, list(names), n=1, cutoff=cutoff)
    return found[0] if found else None
