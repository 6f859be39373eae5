"""How Penstock's figures look: the Okabe-Ito colours, direct labels, no chart junk.

A discipline keeps its colour, line and marker whatever else is on the figure as long as the order of the names is
kept; colour is never the only difference, so that a figure survives a black-and-white printer and every kind of
colour vision. Importing this module loads nothing but the standard library.

>>> look(0).colour, look(1).line
('#0072b2', 'dashed')
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Ink on paper. Each is a colour that nothing else uses, so that `themed_svg` can find it again.
INK, MUTED, GRID, PAPER, SHADE = "#1b1b1d", "#5c5f66", "#dcdee3", "#fefefe", "#f1f2f5"

#: The same in the dark.
_DARK = {INK: "#ececf0", MUTED: "#a5a8b1", GRID: "#3a3d45", PAPER: "#17181c", SHADE: "#22242a"}

#: Okabe and Ito's colours (https://jfly.uni-koeln.de/color), those that carry text on white first; beside each
#: a lighter one of the same hue for dark paper.
_COLOURS = {
    "#0072b2": "#58aee8",  # blue
    "#d55e00": "#ff8a42",  # vermillion
    "#009e73": "#2fcb9d",  # bluish green
    "#cc79a7": "#e79cc4",  # reddish purple
    "#e69f00": "#f2b530",  # orange
    "#56b4e9": "#8bd0f7",  # sky blue
}
_LINES: tuple[Any, ...] = ("solid", "dashed", "dashdot", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How one thing among several is drawn."""

    colour: str
    line: Any
    marker: str


def look(index: int) -> Look:
    """The look of the thing number `index`; from the seventh on they repeat with another line."""
    colours = tuple(_COLOURS)
    return Look(
        colour=colours[index % len(colours)],
        line=_LINES[(index + index // len(colours)) % len(_LINES)],
        marker=_MARKERS[index % len(_MARKERS)],
    )


def context() -> AbstractContextManager[None]:
    """A `with` block in which matplotlib draws in the house style. Needs matplotlib, and changes nothing outside."""
    import matplotlib as mpl

    return mpl.rc_context(
        {
            "font.family": "DejaVu Sans",
            "font.size": 9.5,
            "text.color": INK,
            "axes.titlesize": 10.5,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.labelcolor": INK,
            "axes.edgecolor": MUTED,
            "axes.linewidth": 0.8,
            "axes.facecolor": PAPER,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "grid.color": GRID,
            "grid.linewidth": 0.6,
            "xtick.color": MUTED,
            "ytick.color": MUTED,
            "xtick.labelcolor": INK,
            "ytick.labelcolor": INK,
            "lines.linewidth": 1.4,
            "figure.facecolor": PAPER,
            "figure.constrained_layout.use": True,
            "savefig.dpi": 160,
            "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and coloured
            "svg.hashsalt": "penstock",  # the same figure gives the same bytes
            "path.simplify": True,
        }
    )


def save(figure: Figure, path: str) -> None:
    """Writes `figure` to `path` (the ending says what: .svg, .png, .pdf) without a date in it."""
    from pathlib import Path

    from penstock._files import replacing

    kind = Path(path).suffix.removeprefix(".")
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with context(), replacing(Path(path)) as file:
        figure.savefig(file, format=kind, metadata=metadata)


def themed_svg(svg: str, name: str) -> str:
    """An `<svg>` element to put into a page: colours become the page's variables, ids begin with `name`.

    svg: what `save` wrote. The page supplies `css()`.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r'<svg([^>]*?) width="[^"]*"', r"<svg\1", svg, count=1)
    svg = re.sub(r'<svg([^>]*?) height="[^"]*"', r"<svg\1", svg, count=1)
    for colour, variable in _variables():
        svg = re.sub(re.escape(colour), f"var({variable})", svg, flags=re.IGNORECASE)
    return svg.strip()


def css() -> str:
    """The variables that `themed_svg` names, for light paper and, where the reader's screen asks for it, dark."""
    dark = {**_DARK, **_COLOURS}
    light_rules = "".join(f"{variable}:{colour};" for colour, variable in _variables())
    dark_rules = "".join(f"{variable}:{dark[colour]};" for colour, variable in _variables())
    return f":root{{{light_rules}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark_rules}}}}}\n"


def _variables() -> list[tuple[str, str]]:
    """Every colour of the style with the name of its CSS variable."""
    names = {INK: "--ink", MUTED: "--muted", GRID: "--grid", PAPER: "--paper", SHADE: "--shade"}
    return [*names.items(), *((colour, f"--c{i}") for i, colour in enumerate(_COLOURS))]
