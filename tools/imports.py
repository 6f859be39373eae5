#!/usr/bin/env python3
"""Draw the import graph of the repository, and say where files import each other in a circle.

    tools/imports.py                                      # the table, and every circle's files
    tools/imports.py --out docs/img/imports-after.svg     # the picture, too
    tools/imports.py --out FILE --fold python/penstock/validate     # its packages as one box
    tools/imports.py --root ../elsewhere                  # another checkout

`import_graph.py` measures and says what counts. Standard library only.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from import_graph import Graph, measure


def table(graph: Graph) -> str:
    """Return the table in Markdown: a row per room, then the circles."""
    room, circles = graph.room_of(), graph.circles()
    lines = ["| room | files | arrows inside | circles (files) |", "| --- | ---: | ---: | --- |"]
    for name, files in graph.rooms.items():
        inside = sum(room[a] == name == room[b] for a, b in graph.arrows)
        sizes = [str(len(each)) for each in circles if {room[file] for file in each} == {name}]
        lines.append(f"| `{name}` | {len(files)} | {inside} | {', '.join(sizes) or '–'} |")
    total = sum(len(files) for files in graph.rooms.values())
    wide = [each for each in circles if len({room[file] for file in each}) > 1]
    lines.append(
        f"| all | {total} | {len(graph.arrows)}, between rooms too "
        f"| {len(circles)} circles, {len(wide)} across rooms |"
    )
    for each in graph.circles_of_rooms():
        lines.append(f"\nA circle of {len(each)} rooms: {', '.join(each)}")
    for each in circles:
        lines.append(f"\nA circle of {len(each)} files: {', '.join(each)}")
    return "\n".join(lines)


def folded(graph: Graph, folders: list[str]) -> Graph:
    """Return the graph with one room for each of `folders`, instead of one for each inside it."""
    rooms: dict[str, list[str]] = {}
    for name, files in graph.rooms.items():
        whole = next((each for each in folders if f"{name}/".startswith(f"{each}/")), name)
        rooms.setdefault(whole, []).extend(files)
    return Graph(rooms, graph.arrows)


def _floors(graph: Graph) -> dict[str, int]:
    """Return room → floor, one above the highest room imported; a circle shares a floor."""
    together = {room: room for room in graph.rooms}
    for circle in graph.circles_of_rooms():
        together.update(dict.fromkeys(circle, circle[0]))
    arrows = {
        (together[a], together[b]) for a, b in graph.between_rooms() if together[a] != together[b]
    }
    floor = dict.fromkeys(together.values(), 0)
    for _ in floor:
        for a, b in arrows:
            floor[a] = max(floor[a], floor[b] + 1)
    return {room: floor[each] for room, each in together.items()}


def _drawn(arrows: set[tuple[str, str]], floors: dict[str, int]) -> set[tuple[str, str]]:
    """Return the arrows that do not follow from others by way of a floor between."""
    out: dict[str, set[str]] = {}
    for a, b in arrows:
        out.setdefault(a, set()).add(b)

    def below(a: str, b: str) -> bool:
        return any(c == b or below(c, b) for c in out.get(a, ()) if floors[c] < floors[a])

    return {
        (a, b)
        for a, b in arrows
        if not any(below(c, b) for c in out[a] if floors[a] > floors[c] > floors[b])
    }


_SQUARE, _ROW, _GAP, _FLOOR = 13, 10, 30, 52
_INK, _GREY, _RED, _BOX = "#1f2933", "#9aa5b1", "#c62828", "#f5f7fa"


def draw(graph: Graph, title: str) -> str:
    """Return the picture as SVG: rooms on floors, a square per file, red if in a circle."""
    floors, room, circles = _floors(graph), graph.room_of(), graph.circles()
    red = {file for each in circles for file in each}
    sizes: dict[str, tuple[float, float]] = {}
    notes: dict[str, list[str]] = {}
    for name, files in graph.rooms.items():
        notes[name] = []
        for circle in circles:
            here = sum(room[file] == name for file in circle)
            if here:
                rest = "" if here == len(circle) else f", {here} here"
                notes[name].append(f"circle of {len(circle)} files{rest}")
        rows = -(-len(files) // _ROW)
        text = max(len(name) * 7.4, max((len(each) * 6.4 for each in notes[name]), default=0.0))
        sizes[name] = (
            max(min(len(files), _ROW) * _SQUARE, text) + 20,
            44 + rows * _SQUARE + 15 * len(notes[name]),
        )
    shelves = [
        [name for name in graph.rooms if floors[name] == at]
        for at in range(max(floors.values()) + 1)
    ]
    widths = [sum(sizes[name][0] for name in shelf) + _GAP * (len(shelf) - 1) for shelf in shelves]
    width = max(max(widths) + 40, 640)
    y, places = 62.0, {}
    for shelf, used in reversed(list(zip(shelves, widths, strict=True))):
        x, tall = (width - used) / 2, max(sizes[name][1] for name in shelf)
        for name in shelf:
            places[name] = (x, y, *sizes[name])
            x += sizes[name][0] + _GAP
        y += tall + _FLOOR
    body = [
        _arrow(places[a], places[b], floors[a] <= floors[b])
        for a, b in sorted(_drawn(graph.between_rooms(), floors))
    ]
    for name, files in graph.rooms.items():
        body += _room(
            name,
            places[name],
            sorted(files, key=lambda file: (file not in red, file)),
            red,
            notes[name],
        )
    bottom = y - _FLOOR
    counts = f"{len(room)} files, {len(graph.arrows)} imports, {len(circles)} circles"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {bottom + 40:.0f}" '
            f'width="{width:.0f}" font-family="sans-serif" font-size="12" fill="{_INK}">',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="20" y="28" font-size="17" font-weight="600">{title}</text>',
            f'<text x="20" y="46">{counts}. A square is a file; a red one is in a circle.</text>',
            *body,
            f'<text x="20" y="{bottom + 28:.0f}" fill="#616e7c">An arrow leads from the importer '
            "to the imported; arrows that follow from others are left out.</text>",
            "</svg>\n",
        ]
    )


def _room(
    name: str, place: tuple[float, ...], files: list[str], red: set[str], notes: list[str]
) -> list[str]:
    x, y, w, h = place
    lines = [
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="6" fill="{_BOX}" '
        f'stroke="{_RED if notes else _GREY}" stroke-width="{1.6 if notes else 1}"/>',
        f'<text x="{x + 10:.1f}" y="{y + 20:.1f}" font-weight="600">{name}</text>',
    ]
    for i, file in enumerate(files):
        left, top = x + 10 + i % _ROW * _SQUARE, y + 30 + i // _ROW * _SQUARE
        lines.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="10" height="10" rx="2" '
            f'fill="{_RED if file in red else _GREY}"><title>{file}</title></rect>'
        )
    below = y + 30 + -(-len(files) // _ROW) * _SQUARE
    for i, note in enumerate(notes):
        lines.append(
            f'<text x="{x + 10:.1f}" y="{below + 12 + 15 * i:.1f}" fill="{_RED}">{note}</text>'
        )
    return lines


def _arrow(a: tuple[float, ...], b: tuple[float, ...], wrong: bool) -> str:
    """Return a line from room `a` down to room `b`, and one in red where `b` is not below `a`."""
    (ax, ay, aw, ah), (bx, by, bw, _) = a, b
    colour = _RED if wrong else "#7b8794"
    if ay == by:  # side by side: rooms of one circle
        x1, x2 = (ax + aw, bx) if ax < bx else (ax, bx + bw)
        y1 = y2 = ay + (14 if ax < bx else 26)
        back = -7 if ax < bx else 7
        line = f"M{x1:.1f},{y1:.1f} L{x2:.1f},{y2:.1f}"
        tip = f"M{x2 + back:.1f},{y2 - 4:.1f} L{x2:.1f},{y2:.1f} L{x2 + back:.1f},{y2 + 4:.1f}"
    else:
        x1, y1, y2 = ax + aw / 2, ay + ah, by
        x2 = min(max(x1, bx + 12), bx + bw - 12)
        bend = (y1 + y2) / 2
        line = f"M{x1:.1f},{y1:.1f} C{x1:.1f},{bend:.1f} {x2:.1f},{bend:.1f} {x2:.1f},{y2:.1f}"
        tip = f"M{x2 - 4:.1f},{y2 - 7:.1f} L{x2:.1f},{y2:.1f} L{x2 + 4:.1f},{y2 - 7:.1f}"
    return f'<path d="{line} {tip}" fill="none" stroke="{colour}" stroke-width="1.3"/>'


def main() -> int:
    """Print the table; write the picture if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).resolve().parent.parent, help="the checkout"
    )
    parser.add_argument("--out", type=Path, help="an SVG file for the picture")
    parser.add_argument(
        "--fold", nargs="*", default=[], metavar="FOLDER", help="draw all packages in it as one"
    )
    parser.add_argument(
        "--title", default="Who imports whom in Penstock", help="the picture's heading"
    )
    given = parser.parse_args()
    graph = measure(given.root)
    print(table(graph))
    if given.out is not None:
        given.out.write_text(draw(folded(graph, given.fold), given.title), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
