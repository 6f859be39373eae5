"""The one palette and the one type scale of every figure and page (docs/decisions/0022-visual-system.md).

A colour means one thing. Each row has it for light paper and for dark; `css` makes custom properties of the rows, which
the reports, the site and the lab use by name. Nothing else says a colour.

>>> BY_NAME["drop"].light
'#881847'
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Colour:
    """A colour by name. light, dark: on paper of that kind, as `"#rrggbb"`."""

    name: str
    light: str
    dark: str
    meaning: str


#: Ink on paper. No two colours of the table are the same, so that `style.themed_svg` can find each again.
GROUND = (
    Colour("ink", "#1b1b1d", "#ececf0", "text, axes that say something, a queue's average"),
    Colour("muted", "#5c5f66", "#a5a8b1", "what stands behind: notes, DropTail, a target's band"),
    Colour("grid", "#dcdee3", "#3a3d45", "grids and borders"),
    Colour("paper", "#fefefe", "#17181c", "the ground"),
    Colour("shade", "#f1f2f5", "#22242a", "code, boxes"),
)

#: The hues of Okabe and Ito (https://jfly.uni-koeln.de/color), darkened until text in them is legible on light paper
#: (4.5:1, WCAG AA); lighter ones of the same hues for dark paper. Line and marker go with each (`style.looks`).
DISCIPLINES = (
    Colour("c0", "#0072b2", "#58aee8", "RED and its kin; yes, holds"),
    Colour("c1", "#b84a00", "#ff8a42", "what a paper proposes; no, does not hold"),
    Colour("c2", "#00795a", "#2fcb9d", "what adapts; the best"),
    Colour("c3", "#a8457f", "#e79cc4", "CoDel and its kin"),
    Colour("c4", "#5a4a00", "#f7df7a", "PIE and its kin"),
    Colour("c5", "#4b2a9b", "#b9a4ff", "queues for each flow; repairs"),
)

#: What happens to packets. Areas and points: 3:1 on both papers; `drop` and `threshold` may be text.
SIGNALS = (
    Colour("mark", "#b2800a", "#a88400", "a packet with CE"),
    Colour("mild", "#f0c060", "#6b5a14", "a packet with an incipient mark"),
    Colour("drop", "#881847", "#ff5064", "a packet dropped; an error"),
    Colour("threshold", "#a80edb", "#d955ff", "a threshold, a target: where a discipline begins"),
)

#: Flows, one after the other: grey with a hint of a hue, so that no flow looks like a signal or a discipline.
FLOWS = (
    Colour("flow0", "#7089a0", "#7f95aa", "flows 1, 6, …"),
    Colour("flow1", "#8d8068", "#9a8e78", "flows 2, 7, …"),
    Colour("flow2", "#6f8f76", "#7d9a84", "flows 3, 8, …"),
    Colour("flow3", "#8f7a93", "#9c899f", "flows 4, 9, …"),
    Colour("flow4", "#7f8289", "#8d9097", "flows 5, 10, …"),
)

#: Areas of a map, from the worst to the best.
STRETCHES = (
    Colour("worst", "#f6cdb4", "#5c2f18", "an area of a map: unstable"),
    Colour("poor", "#f6ecd2", "#4a3f1c", "an area of a map: little margin"),
    Colour("good", "#d5e8f3", "#1d3a4d", "an area of a map: enough margin"),
    Colour("best", "#aed3ea", "#245472", "an area of a map: ample margin"),
)

PALETTE = (*GROUND, *DISCIPLINES, *SIGNALS, *FLOWS, *STRETCHES)
BY_NAME = {colour.name: colour for colour in PALETTE}

#: Step of the type scale → its size on a screen, and what has it. Figures are drawn so that their text is `note`.
TYPE = {
    "note": ("0.8125rem", "notes, captions, what stands at lines in a figure; nothing is smaller"),
    "text": ("0.9375rem", "text, tables"),
    "head": ("1.1875rem", "headings of sections"),
    "title": ("1.625rem", "a page's title"),
}
FONT = 'system-ui, "DejaVu Sans", sans-serif'


def css(names: Collection[str] | None = None, *, switched: bool = False) -> str:
    """Returns the custom properties `--ink`, `--c0`, …, `--size-note`, …, for light paper and, where the reader's
    screen asks for it, dark.

    names: only these colours, for a picture by itself.
    switched: also for a page with a switch of its own, as the site has it (`data-md-color-scheme`).
    """
    some = [each for each in PALETTE if names is None or each.name in names]
    light = "".join(f"--{each.name}:{each.light};" for each in some)
    dark = "".join(f"--{each.name}:{each.dark};" for each in some)
    sizes = "".join(f"--size-{name}:{size};" for name, (size, _) in TYPE.items()) + f"--font:{FONT}"
    made = f":root{{{light}{sizes if names is None else ''}}}\n"
    made += f"@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"
    if switched:
        made += f"[data-md-color-scheme=default]{{{light}}}\n[data-md-color-scheme=slate]{{{dark}}}\n"
    return made
