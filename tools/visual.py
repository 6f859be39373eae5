"""Writes what shows the visual system, from its table (`penstock.show.palette`):
`docs/palette.css`, which the site and the lab include, and the swatches of the decision record
0022.

`make generate` calls it; a test fails while a file is stale.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock._files import write
from penstock.show import palette

ROOT = Path(__file__).resolve().parents[1]
NOTE = "/* Made by `make generate` from python/penstock/show/palette.py; edits are lost. */\n"
#: The drawing's columns, rows and width, in pixels.
LIGHT, DARK, TEXT, ROW, WIDTH = 12, 150, 296, 30, 720


def files() -> Mapping[str, str]:
    """Returns each file that is written, by its path in the repository."""
    return {
        "docs/palette.css": NOTE + palette.css(switched=True),
        "docs/img/palette.svg": swatches(),
    }


def swatches() -> str:
    """Returns a picture of the palette: each colour on both papers, its name and its meaning."""
    ground = {each.name: each for each in palette.GROUND}
    paper, ink = ground["paper"], ground["ink"]
    height = ROW * len(palette.PALETTE) + 2 * LIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        ' font-family="system-ui, sans-serif" font-size="13">',
        "<title>The palette: each colour on light and on dark paper</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="{paper.light}"/>',
        f'<rect x="{DARK - 6}" width="{TEXT - DARK - 6}" height="{height}" fill="{paper.dark}"/>',
    ]
    for i, each in enumerate(palette.PALETTE):
        y = LIGHT + ROW * i
        for x, colour, text in ((LIGHT, each.light, ink.light), (DARK + 2, each.dark, ink.dark)):
            parts.append(
                f'<rect x="{x}" y="{y + 4}" width="34" height="20" rx="3" fill="{colour}"'
                f' stroke="{text}" stroke-opacity=".3"/>'
                f'<text x="{x + 44}" y="{y + 19}" fill="{text}">{colour}</text>'
            )
        parts.append(
            f'<text x="{TEXT}" y="{y + 19}" fill="{ink.light}"><tspan font-weight="600">'
            f"{each.name}</tspan> <tspan x='{TEXT + 80}'>{each.meaning}</tspan></text>"
        )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Writes the files."""
    for path, text in files().items():
        write(ROOT / path, text)


if __name__ == "__main__":
    main()
