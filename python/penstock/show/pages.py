"""Defines what the pages share that open from a file: how templates are read, and figures put into them."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2

from penstock._text import visible
from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def templates(*folders: Path) -> jinja2.Environment:
    """Returns the templates of these folders; a name that nobody gave a value is an error."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_written,
    )
    made.globals["policy"] = policy
    return made


def policy(script: str = "") -> str:
    """Returns what a browser lets a page do: draw itself, and run this script alone. A figure that was kept in a
    folder, and changed there, can do nothing.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"script-src 'sha256-{digest}'; " if script else ""
    return f"default-src 'none'; {scripts}style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def _written(value: object) -> object:
    """Returns what is put into a page: names without control characters, which no HTML may have."""
    return visible(value) if type(value) is str else value


def svg(draw: Callable[[], Figure], name: str) -> str:
    """Returns a figure as an `<svg>` element for a page, in the pages' one look; its ids begin with `name`."""
    buffer = io.BytesIO()
    with style.context(alone=True):
        figure = draw()
        style.clean(figure)
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return style.themed_svg(buffer.getvalue().decode(), name)
