"""What the pages share that open from a file: how templates are read, and figures put into them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2

from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def templates(*folders: Path) -> jinja2.Environment:
    """The templates of these folders; a name that nobody gave a value is an error."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def svg(draw: Callable[[], Figure], name: str) -> str:
    """A figure as an `<svg>` element for a page, in the pages' one look; its ids begin with `name`."""
    buffer = io.BytesIO()
    with style.context(alone=True):
        draw().savefig(buffer, format="svg", metadata={"Date": None})
    return style.themed_svg(buffer.getvalue().decode(), name)
