"""Reads the words of `penstock run` without Click, which takes two fifths of a start to load.

Nothing is declared or judged here. The options are Click's, from `run_options`, which is made of the command itself.
Whatever is not one of them, spelled in full, with a value that stands for itself goes to Click: a mistake, `--help`, a
value out of its range or with a minus in front, a completion.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from penstock.cli.run_options import ARGUMENT, DEFAULTS, OPTIONS


def run_asked(words: Sequence[str]) -> dict[str, Any] | None:
    """Returns what `simulate` takes, as Click would give it; `None` where Click must be asked.

    words: what stands behind `penstock`.
    """
    if words[:1] != ["run"] or "_PENSTOCK_COMPLETE" in os.environ:
        return None
    given: dict[str, Any] = dict(DEFAULTS)
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-"):
            if not word or ARGUMENT in given:
                return None
            given[ARGUMENT] = word
            continue
        name, equals, text = word.partition("=")
        if name not in OPTIONS:
            return None
        into, kind, least, most, many = OPTIONS[name]
        if kind == "flag":
            if equals:
                return None
            given[into] = True
            continue
        value = _value(text if equals else next(rest, ""), kind, least, most)
        if value is None:
            return None
        given[into] = (*given[into], value) if many else value
    return given if ARGUMENT in given else None


def _value(text: str, kind: str, least: int, most: int) -> object | None:
    """Returns an option's value; `None` where it is for Click to say."""
    if not text or text.startswith("-"):
        return None
    if kind == "path":
        from pathlib import Path

        return Path(text)
    if kind == "text":
        return text
    plain = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    return int(text) if plain and least <= int(text) <= most else None
