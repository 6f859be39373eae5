"""Defines what the pages share that open from a file: how templates are read, and figures put into them."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2

from penstock._text import visible
from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def templates(*folders: Path) -> jinja2.Environment:
    """Returns the templates of these folders and what all pages share; a name that nobody gave a value is an error."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, Path(__file__).parent / "page"]),
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


def svg(draw: Callable[[], Figure], name: str, title: str) -> str:
    """Returns a figure as `<svg>` elements for a page, in the pages' one look: the whole, named by `title` and by what
    its axes are, and on a narrow screen each column of its panels. Ids begin with `name`.
    """
    buffer = io.BytesIO()
    with style.context(alone=True):
        figure = draw()
        style.clean(figure)
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        columns = _columns(figure)
    whole = buffer.getvalue().decode()
    widest = max((sum(part[2] for part in parts) for parts in columns), default=0.0)
    made = style.themed_svg(whole + "".join(one_panel(parts, widest) for parts in columns), name)
    said = html.escape(visible(f"{title}. {style.described(figure)}"))
    return _legible(made).replace("<svg", f'<svg role="img" aria-label="{said}"', 1)


def _legible(svg: str) -> str:
    """Returns drawings that go by sideways before their letters have less than 11 pixels."""
    per_point = style.LEAST / style.SIZE
    wide = r'<svg(?! x=)(?=[^>]* viewBox="\S+ \S+ (\S+) )'
    return re.sub(wide, lambda found: f'<svg style="min-width:{math.ceil(float(found[1]) * per_point)}px"', svg)


def one_panel(parts: Sequence[tuple[float, float, float, float]], widest: float = 0.0) -> str:
    """Returns a part of a drawing as one of its own, for a narrow screen: it shows the same by reference.

    parts: left, top, width and height of what stands beside each other in it, in points of the drawing.
    widest: the width of the widest one, so that all have letters of one size.
    """
    across, height, shown = 0.0, max(part[3] for part in parts), []
    for left, top, width, high in parts:
        box = f'viewBox="{left:g} {top:g} {width:g} {high:g}"'
        shown.append(f'<svg x="{across:g}" width="{width:g}" height="{high:g}" {box}><use href="#figure_1"/></svg>')
        across += width
    box = f'viewBox="0 0 {max(across, widest):g} {height:g}"'
    return f'\n<svg class="panel" aria-hidden="true" {box}>{"".join(shown)}</svg>'


def _columns(figure: Figure) -> list[list[tuple[float, float, float, float]]]:
    """Returns what each column of panels, and the legend, need of a drawing; nothing where there is one column.

    Panels that share the names of their rows get these as well.
    """
    point = 72 / figure.dpi
    width, height = (72 * each for each in figure.get_size_inches())
    panels: dict[int, list[Axes]] = {}
    for ax in figure.axes:
        spec = ax.get_subplotspec()
        if spec is not None and ax.get_visible():
            panels.setdefault(spec.colspan.start, []).append(ax)
    if len(panels) < 2:
        return []
    first = min(panels)
    strip = max(0.0, min(ax.get_window_extent().x0 for ax in panels[first]) * point - 1)
    found = []
    for column, axes in panels.items():
        boxes = [box for ax in axes if (box := ax.get_tightbbox()) is not None]
        left = max(0.0, min(box.x0 for box in boxes) * point - 4)
        right = min(width, max(box.x1 for box in boxes) * point + 4)
        shares = all(not ax.yaxis.get_tick_params().get("labelleft", True) for ax in axes)
        if column == first:
            found.append([(0.0, 0.0, right, height)])
        else:
            part = (left, 0.0, right - left, height)
            found.append([(0.0, 0.0, strip, height), part] if shares else [part])
    for legend in figure.legends:
        box = legend.get_window_extent()
        low, high = height - box.y1 * point, height - box.y0 * point
        found.append([(box.x0 * point - 2, low - 2, min(width, box.width * point + 4), high - low + 4)])
    return found
