"""Makes an SVG of matplotlib's small: for the figures that are committed, and that readers load."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.show import palette, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A number with more digits than a tenth of a point.
_LONG = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
#: A turn by nothing, which matplotlib gives every text.
_NO_TURN = re.compile(r' transform="rotate\(-0 [^)]*\)"')


def written(figure: Figure) -> str:
    """Returns a figure as the SVG that is committed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.svg"
        style.save(figure, str(path))
        return committed(path)


def committed(drawn: Path) -> str:
    """Returns a drawn SVG as the one that is committed."""
    return themed(slim(drawn.read_text(encoding="utf-8")))


def slim(svg: str) -> str:
    """Returns the picture with coordinates in tenths of a point, each style said once, a line for
    each element, and without groups, names and metadata that nothing refers to.

    The description in the metadata becomes the picture's title.
    """
    said = re.search(r"<dc:description>(.*?)</dc:description>", svg, re.DOTALL)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = _NO_TURN.sub("", svg)
    svg = re.sub(r'(?<==)"[^"]*"', lambda value: f'"{" ".join(value[0][1:-1].split())}"', svg)
    svg = re.sub(r' (?:d|x|y|transform)="[^"]*"', lambda each: _LONG.sub(_tenths, each[0]), svg)
    used = set(re.findall(r"#([\w-]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda name: name[0] if name[1] in used else "", svg)
    svg = _without_empty_groups(svg)
    styles = dict.fromkeys(re.findall(r' style="([^"]*)"', svg))
    names = {style: f"s{i}" for i, style in enumerate(styles)}
    svg = re.sub(r' style="([^"]*)"', lambda style: f' class="{names[style[1]]}"', svg)
    rules = "".join(f"\n.{name} {{{style}}}" for style, name in names.items())
    svg = svg.replace("</style>", f"{rules}\n</style>", 1)
    if said:
        svg = svg.replace(">", f">\n<title>{said[1]}</title>", 1)
    return "\n".join(line for line in map(str.strip, svg.splitlines()) if line) + "\n"


def themed(svg: str) -> str:
    """Returns a picture by itself, slim, on the reader's light or dark ground."""
    size = re.search(r' width="[^"]*"', svg)
    svg = style.themed_svg(svg, "f").replace("<svg", f"<svg{size[0] if size else ''}", 1)
    rules = palette.css(set(re.findall(r"var\(--([\w-]+)\)", svg)))
    return svg.replace("<style", f"<style>\n{rules}</style>\n<style", 1) + "\n"


def _without_empty_groups(svg: str) -> str:
    """Returns the picture without the tags of the groups that have no attribute."""
    open_groups: list[str] = []

    def kept(tag: re.Match[str]) -> str:
        if tag[0].endswith("/>"):  # of a point outside of the panel
            return ""
        if tag[0] == "</g>":
            return open_groups.pop()
        bare = tag[0] == "<g>"
        open_groups.append("" if bare else "</g>")
        return "" if bare else tag[0]

    return re.sub(r"</?g\b[^>]*>", kept, svg)


def _tenths(number: re.Match[str]) -> str:
    return f"{round(float(number[0]), 1) + 0.0:g}"  # 0.0: no minus in front of a zero
