"""Writes what shows the visual system, from its table (`penstock.show.palette`):
`docs/palette.css`, which the site and the lab include, and the swatches of the decision record
0022.

`make generate` calls it; a test fails while a file is stale.
"""

from __future__ import annotations

import re
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
        "docs/img/performance.svg": speeds((ROOT / "docs/performance.md").read_text("utf-8")),
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


#: What the four cases are, in a few words.
CASES = {
    "B1": "100 flows, 10 Mbit/s",
    "B2": "100 flows, 1 Gbit/s",
    "B3": "1,000 flows, 1 Gbit/s",
    "B4": "datagrams, 1 Gbit/s",
}


def speeds(page: str) -> str:
    """Returns a picture of how many times as fast as ns-2 a case of the first table is."""
    found = re.findall(r"^\| (B\d) \|.*\| ([\d.]+)× \|$", page, re.MULTILINE)
    longest = max(float(times) for _, times in found)
    rules = palette.css(["ink", "muted", "grid", "paper", "c0"])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {ROW * len(found) + 48}"'
        ' role="img" font-family="system-ui, sans-serif" font-size="14">',
        "<title>How many times as fast as ns-2 each case is</title>",
        f"<style>\n{rules}</style>",
        '<rect width="100%" height="100%" fill="var(--paper)"/>',
        '<text x="12" y="22" fill="var(--ink)" font-weight="600">'
        "Times as fast as ns-2, whole runs on one core</text>",
    ]
    for i, (case, times) in enumerate(found):
        y, width = 36 + ROW * i, (WIDTH - 290) * float(times) / longest
        parts.append(
            f'<text x="12" y="{y + 17}" fill="var(--ink)">{case}: {CASES[case]}</text>'
            f'<rect x="220" y="{y + 3}" width="{width:.1f}" height="20" fill="var(--c0)"/>'
            f'<text x="{228 + width:.1f}" y="{y + 18}" fill="var(--ink)">{times}</text>'
        )
    one = 220 + (WIDTH - 290) / longest
    parts.append(f'<path d="M{one:.1f} 34v{ROW * len(found) + 4}" stroke="var(--muted)"/>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Writes the files."""
    for path, text in files().items():
        write(ROOT / path, text)


if __name__ == "__main__":
    main()
