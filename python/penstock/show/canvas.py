"""Defines what all figures share: their size, how far an axis spans, and where names stand.

A figure does not mislead. `span` is the rule for axes, `few` the rule for lines, and names stand
outside the data (`legend`), or where nothing else is drawn (`name_points`, `name_beside`).
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from penstock._text import visible
from penstock.errors import Error
from penstock.show import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.figure import SubFigure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

T = TypeVar("T")

#: Width and height in inches, as `size=` takes them; `None`: the user's `figure.figsize`, or else ours.
Size = tuple[float, float] | None

#: The most lines with a name in a panel.
MOST = 8
#: The part of its largest value that an axis spans at least.
LEAST = 0.25
#: The least distance of two names at the ends of curves, in heights of the letters.
GAP = 12.5 / 9.5
#: Characters of a name in a legend before it goes on in the next line.
NAME = 32
#: The part of a figure's width that a legend beside the panels may take; a wider one stands below them.
BESIDE = 0.3
#: Characters of a name at a tick.
TICK = 40


class Drawn(Figure):
    """A figure that is saved in the style in which it was drawn, whatever the style is by then."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._style = style.now()

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Writes it, as matplotlib's own does."""
        with mpl.rc_context(self._style):
            super().savefig(*args, **kwargs)

    def draw(self, renderer: Any) -> None:
        """Draws it, as matplotlib's own does, whoever asks: a file, a notebook, a window."""
        style.clean(self)
        super().draw(renderer)

    def _repr_svg_(self) -> str:
        """Returns the picture that a notebook shows and keeps."""
        written = io.StringIO()
        self.savefig(written, format="svg", metadata={"Date": None, "Description": style.described(self)})
        return written.getvalue()


def figure(width: float, height: float, size: Size = None) -> Drawn:
    """Returns a figure that pyplot does not know. Call it inside `style.context()`.

    width, height: inches, where neither `size` nor the user's `figure.figsize` says it.
    """
    if size is None:
        return Drawn(figsize=style.given("figure.figsize") or (width, height))
    try:
        across, up = (float(each) for each in size)
    except (TypeError, ValueError):
        across = up = 0.0
    if not (0.0 < across < math.inf and 0.0 < up < math.inf):
        raise Error(f"size: {size!r}: must be (width, height) in inches, as in (3.4, 2.4)")
    return Drawn(figsize=(across, up))


def free(size: Size) -> bool:
    """Returns whether a figure may become larger for what has to stand outside its panels."""
    return size is None and style.given("figure.figsize") is None


def span(ax: Axes, which: Literal["x", "y"], *, share: float | None = None, zero: bool = False) -> None:
    """Sets the limits of an axis, and of those that share it. Call it when all is drawn. This is the rule:

    - A share's axis begins at zero, and ends at the whole where the values come past its half.
    - An axis of differences (`zero`) includes zero.
    - Any other spans at least a quarter of its largest value, so that 0.8 % never looks like a cliff.
    - Where no value is negative, the axis shows nothing that is.

    share: the whole, in the axis' unit: 100 for per cent.
    """
    lows, highs = zip(*(getattr(each.dataLim, f"interval{which}") for each in _sharing(ax, which)), strict=True)
    low = min((each for each in lows if math.isfinite(each)), default=0.0)
    high = max((each for each in highs if math.isfinite(each)), default=0.0)
    positive = low >= 0.0
    if share is not None or zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if share is not None and high > share / 2:
        high = max(high, share)
    lack = LEAST * max(abs(low), abs(high)) - (high - low)
    if lack > 0.0:
        low, high = low - lack / 2, high + lack / 2
    if high == low:
        high = low + (share or 1.0) / 100
    margin = max(0.04, style.value(f"axes.{which}margin")) * (high - low)
    # A mark at zero is not cut in half.
    low = max(low - margin, -0.03 * (high - low)) if positive else low - margin
    ends = (low, high + margin)
    inverted = getattr(ax, f"{which}axis_inverted")()
    getattr(ax, f"set_{which}lim")(ends[::-1] if inverted else ends)


def _sharing(ax: Axes, which: str) -> list[Axes]:
    siblings: list[Axes] = getattr(ax, f"get_shared_{which}_axes")().get_siblings(ax)
    return siblings


def few(everything: Sequence[T], most: int = MOST) -> list[T]:
    """Returns at most so many of them, evenly from the first to the last.

    >>> few([1, 2, 3, 4, 5], 3)
    [1, 3, 5]
    """
    if len(everything) <= most:
        return list(everything)
    return [everything[round(i * (len(everything) - 1) / (most - 1))] for i in range(most)]


def wrapped(name: str, width: int = NAME) -> str:
    """Returns a name over as many lines as it needs.

    >>> print(wrapped("topology.bottleneck.delay = 20 ms", 20))
    topology.bottleneck.
    delay = 20 ms
    """
    # A key breaks after its points, a path after its slashes.
    pieces = visible(name).replace(".", ".\u200b").replace("/", "/\u200b").replace("_", "_\u200b").split("\u200b")
    lines, line = [], ""
    for piece in pieces:
        for i, word in enumerate(piece.split(" ")):
            grown = f"{line} {word}" if i else line + word
            if len(grown) > width and line:
                lines.append(line)
                grown = word
            line = grown
    lines += textwrap.wrap(line, width) or [""]
    return "\n".join(each.strip() for each in lines)


def legend(
    made: Figure | SubFigure, ax: Axes, size: Size = None, *, title: str | None = None, more: str | None = None
) -> None:
    """Names what is drawn in `ax` outside of all panels: beside them, or below where a name is too long for that.

    title: what the names are values of.
    more: what else is to be said: how much is not drawn.
    """
    from matplotlib.lines import Line2D

    handles, names = ax.get_legend_handles_labels()
    shown = [wrapped(name) for name in names]
    if more is not None:
        handles, shown = [*handles, Line2D([], [], linestyle="none")], [*shown, wrapped(more)]
    if not handles:
        return
    how: dict[str, Any] = {"handles": handles, "labels": shown, "title": title and wrapped(title), "alignment": "left"}
    whole = made.get_figure(root=True)
    assert whole is not None
    width = whole.get_window_extent().width
    columns = 1 if len(shown) <= 14 else 2
    drawn = made.legend(loc="outside right upper", ncols=columns, **how)
    if _extent(drawn).width <= BESIDE * width:
        return
    ncols = len(shown)
    while True:
        drawn.remove()
        drawn = made.legend(loc="outside lower left", ncols=ncols, **how)
        if ncols == 1 or _extent(drawn).width <= 0.98 * width:
            break
        ncols -= 1
    if free(size):
        across, up = whole.get_size_inches()
        whole.set_size_inches(across, up + _extent(drawn).height / whole.dpi)


def _extent(artist: Legend | Text) -> Bbox:
    return artist.get_window_extent(_renderer(artist))


def _renderer(artist: Legend | Text) -> RendererBase:
    made: Any = artist.get_figure(root=True)
    renderer: RendererBase = made._get_renderer()
    return renderer


def name_ticks(ax: Axes, places: Sequence[float], names: Sequence[str]) -> None:
    """Puts names along the x axis: level, upright where they would touch, and fewer where even that is too tight.

    Of a name that would take the panel's place the beginning is shown.
    """
    made: Any = ax.get_figure(root=True)
    names = [each if len(each) <= TICK else f"{each[: TICK - 1]}…" for each in map(visible, names)]
    for rotation in (0, 90):
        ax.set_xticks(places, names, rotation=rotation)
        style.settle(made)
        if not _touch(ax):
            return
    ax.set_xticks(*(list(each) for each in zip(*_apart_enough(ax, places, names), strict=True)), rotation=90)


def even_ticks(ax: Axes, places: Sequence[float], names: Sequence[str]) -> None:
    """Sets ticks where the values are, if their names have room; else matplotlib's own."""
    made: Any = ax.get_figure(root=True)
    locator, formatter = ax.xaxis.get_major_locator(), ax.xaxis.get_major_formatter()
    minor = ax.xaxis.get_minor_locator()
    ax.set_xticks(places, names)
    ax.set_xticks([], minor=True)
    style.settle(made)
    if _touch(ax):
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(formatter)
        ax.xaxis.set_minor_locator(minor)


def _touch(ax: Axes) -> bool:
    boxes = [_extent(each) for each in ax.get_xticklabels() if each.get_text()]
    return any(a.x1 + 3 > b.x0 for a, b in pairwise(boxes))


def _apart_enough(ax: Axes, places: Sequence[float], names: Sequence[str]) -> Iterator[tuple[float, str]]:
    """Returns every second name, or third, …: the first step at which they are apart."""
    width = max(_extent(each).width for each in ax.get_xticklabels()) + 3
    across = ax.get_window_extent().width / max(1, len(places))
    step = max(1, math.ceil(width / across))
    return ((place, name) for i, (place, name) in enumerate(zip(places, names, strict=True)) if i % step == 0)


def name_beside(ax: Axes, ends: Sequence[tuple[float, float, str, Any]]) -> list[Text]:
    """Writes names beside the panel, each at the level of its point: of the ends of curves, most often.

    Names that would overlap move apart, and a thin line leads from each point to its name. Call it last: it needs the
    limits.

    ends: x, y, name, colour.
    """
    made: Any = ax.get_figure(root=True)
    ax.set_xlim(ax.get_xlim())
    ax.set_ylim(ax.get_ylim())
    # The layout makes room for the names' width first, so that the panel's height is about final.
    style.settle(made)
    gap = GAP * style.value("font.size") / (ax.get_window_extent().height * 72 / made.dpi)
    low, high = ax.get_ylim()
    ends = sorted(ends, key=lambda end: end[1])
    wanted = [(y - low) / (high - low) for _, y, _, _ in ends]
    return [
        ax.annotate(
            name,
            (x, y),
            xytext=(1.025, level),
            textcoords="axes fraction",
            color=colour,
            va="center",
            fontweight="bold",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "shrinkA": 1, "shrinkB": 4},
        )
        for (x, y, name, colour), level in zip(ends, apart(wanted, gap), strict=True)
    ]


def apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Levels near the `wanted` ones (ascending), each at least `gap` above the one before it.

    Neighbours that are too close form a group around their mean. No level is outside [0, 1] as far
    as there is room.
    """
    groups: list[list[float]] = []
    for level in wanted:
        groups.append([level])
        while len(groups) > 1 and _middle(groups[-1], gap) - _middle(groups[-2], gap) < gap * _gaps(*groups[-2:]):
            groups[-2:] = [groups[-2] + groups[-1]]
    levels = []
    for group in groups:
        first = _middle(group, gap) - gap * (len(group) - 1) / 2
        levels += [first + gap * k for k in range(len(group))]
    return levels


def _middle(group: Sequence[float], gap: float) -> float:
    """Returns the middle of a group: the mean of what is wanted, moved so that the group lies inside."""
    half = gap * (len(group) - 1) / 2
    return min(max(sum(group) / len(group), half), max(1 - half, half))


def _gaps(upper: Sequence[float], lower: Sequence[float]) -> float:
    """Returns how many gaps lie between the middles of two neighbouring groups."""
    return (len(upper) + len(lower)) / 2


#: Directions and distances (points) in which a name is tried beside its point, the nearest first.
_SIDES = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
_AWAY = (8, 12, 17, 23)


def name_points(
    ax: Axes, named: Sequence[tuple[str, Any, tuple[float, float]]], others: Sequence[tuple[float, float]] = ()
) -> None:
    """Writes each name next to its point where no other name, no point and no edge is, or else beside the panel.

    Call it last: it needs the limits.

    named: name, colour, point. others: points that are not covered, either.
    """
    made: Any = ax.get_figure(root=True)
    crowded: set[str] = set()
    while True:
        ends = [(*at, name, colour) for name, colour, at in named if name in crowded]
        beside = name_beside(ax, ends) if ends else []
        style.settle(made)
        near, lost = _near(ax, named, others, crowded)
        if not lost:
            return
        for each in (*near, *beside):
            each.remove()
        crowded |= lost


def _near(
    ax: Axes,
    named: Sequence[tuple[str, Any, tuple[float, float]]],
    others: Sequence[tuple[float, float]],
    without: set[str],
) -> tuple[list[Text], set[str]]:
    """Returns the names that have a place near their points, and those that have none."""
    from matplotlib.transforms import Bbox

    made: Any = ax.get_figure(root=True)
    pixel = made.dpi / 72
    frame = ax.get_window_extent()
    spots: list[Any] = [ax.transData.transform(at) for _, _, at in named]
    taken = [_square(x, y, 6 * pixel) for x, y in spots]
    taken += [_square(x, y, 2.5 * pixel) for x, y in map(ax.transData.transform, others)]
    written: list[Text] = []
    lost = set()
    for (name, colour, at), spot in zip(named, spots, strict=True):
        if name in without:
            continue
        text = ax.annotate(
            visible(name), at, xytext=(0, 0), textcoords="offset points", color=colour, fontweight="bold", zorder=4
        )
        text.set_in_layout(False)
        here = _extent(text)
        places = (each for away in _AWAY for each in _around(spot, here, away * pixel))
        place = next((each for each in places if _is_free(each, frame, taken)), None)
        if place is None:
            text.remove()
            lost.add(name)
            continue
        taken.append(Bbox.from_bounds(*place.bounds))
        text.set_position(((place.x0 - here.x0) / pixel, (place.y0 - here.y0) / pixel))
        written.append(text)
    return written, lost


def _square(x: float, y: float, half: float) -> Bbox:
    from matplotlib.transforms import Bbox

    return Bbox.from_extents(x - half, y - half, x + half, y + half)


def _around(at: tuple[float, float], size: Bbox, away: float) -> Iterator[Bbox]:
    """Yields the boxes of that size around a point, so far away."""
    from matplotlib.transforms import Bbox

    x, y = at
    for right, up in _SIDES:
        d = away if 0 in (right, up) else away * 0.75
        left = x + d if right > 0 else x - d - size.width if right < 0 else x - size.width / 2
        low = y + d if up > 0 else y - d - size.height if up < 0 else y - size.height / 2
        yield Bbox.from_bounds(left, low, size.width, size.height)


def _is_free(box: Bbox, frame: Bbox, taken: Sequence[Bbox]) -> bool:
    inside = box.x0 >= frame.x0 and box.x1 <= frame.x1 and box.y0 >= frame.y0 and box.y1 <= frame.y1
    return inside and not any(box.overlaps(each) for each in taken)
