"""Turns this project's docstrings into Markdown, for the site's page of the Python API.

A docstring names its arguments as lines `name: what it means`, continued by indentation. In
Markdown such lines would run into one paragraph; here they become a list.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

ARGUMENT = re.compile(r"^([a-z_][\w, .*]*): (.*)$")
EXAMPLE = re.compile(r"^>>> ")


def as_markdown(text: str) -> str:
    """Returns a docstring with its lines `name: meaning` as a list and its examples as code."""
    return "\n\n".join(_paragraph(each) for each in re.split(r"\n\s*\n", text.strip("\n")))


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if EXAMPLE.match(lines[0]):
        return "\n".join(["```python", *lines, "```"])
    if not ARGUMENT.match(lines[0]):
        return text
    items = []
    for line in lines:
        found = ARGUMENT.match(line)
        if found:
            items.append(f"- `{found[1]}`: {found[2]}")
        else:
            items.append(f"  {line.strip()}")
    return "\n".join(items)


class Docstrings(griffe.Extension):
    """Rewrites each docstring once its object is known."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrites one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
