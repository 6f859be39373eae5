"""Sets how Penstock's figures look: Okabe and Ito's hues, direct labels, no chart junk.

In the reports a discipline has one colour, line and marker (`discipline`); elsewhere a thing has those
of its place (`look`). Colour is never the only difference, so that a figure survives a black-and-white
printer and every kind of colour vision. What the user has changed in matplotlib's `rcParams` goes before
all of this (`context`). Importing this module loads nothing but the standard library.

>>> look(1).line, look(1).marker
('dashed', 's')
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock._text import visible
from penstock.show import palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.ticker import Formatter

#: Ink on paper.
INK, MUTED, GRID, PAPER, SHADE = (each.light for each in palette.GROUND)
#: What happens to packets, and where a discipline begins to do it.
MARK, MILD, DROP, THRESHOLD = (each.light for each in palette.SIGNALS)

_COLOURS = tuple(each.light for each in palette.DISCIPLINES)
_LINES: tuple[Any, ...] = ("solid", "dashed", "dashdot", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
#: Characters in a line of a title with a dollar in it.
WRAP = 60
_MARKERS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How one thing among several is drawn."""

    colour: str
    line: Any
    marker: str


#: The values of `rcParams` that are the user's, inside `context()`; outside there are none.
_GIVEN: ContextVar[Mapping[str, Any] | None] = ContextVar("given", default=None)


def look(index: int) -> Look:
    """Returns the look of the thing number `index`; from the seventh on they repeat with another line.

    Colours, lines and markers of the user's `axes.prop_cycle` go before ours.
    """
    cycle = given("axes.prop_cycle")
    own = {} if cycle is None else cycle.by_key()
    colours = own.get("color") or _COLOURS
    lines = own.get("linestyle") or _LINES
    markers = own.get("marker") or _MARKERS
    turned = index + index // len(colours)
    return Look(
        colour=colours[index % len(colours)],
        line=lines[(index if "linestyle" in own else turned) % len(lines)],
        marker=markers[index % len(markers)],
    )


#: Discipline → the numbers of its colour (none: the baseline's grey), line and marker. What the papers propose is
#: vermillion; each triple is that of one discipline.
_DISCIPLINES: dict[str, tuple[int | None, int, int]] = {
    "droptail": (None, 1, 1),
    "bernoulli": (None, 0, 0),
    "red": (0, 0, 0),
    "wred": (0, 2, 2),
    "choke": (0, 3, 3),
    "step": (0, 4, 4),
    "nlred": (0, 5, 5),
    "blue": (0, 1, 4),
    "amecn": (1, 1, 1),
    "nred": (1, 2, 4),
    "rared": (1, 4, 3),
    "red-at": (1, 5, 5),
    "dt-red": (1, 0, 2),
    "pdt-red": (1, 3, 0),
    "ared": (2, 2, 2),
    "feng-ared": (2, 3, 5),
    "avq": (2, 1, 3),
    "afd": (2, 0, 1),
    "mecn": (3, 0, 3),
    "rem": (3, 3, 4),
    "codel": (3, 4, 5),
    "cobalt": (3, 2, 1),
    "pie": (4, 3, 4),
    "pi": (4, 0, 1),
    "pi2": (4, 2, 2),
    "dualpi2": (4, 4, 3),
    "docsis-pie": (4, 5, 5),
    "fq-codel": (5, 1, 3),
    "fq-pie": (5, 2, 4),
    "fq-cobalt": (5, 3, 1),
    "cake": (5, 4, 2),
    "sfq": (5, 5, 0),
    "sfb": (5, 5, 4),
}
#: The look of a discipline with a repair: that of nothing else.
_REPAIRED = (5, 0, 5)


def discipline(name: str) -> Look | None:
    """Returns the one look of a discipline in all figures, or `None` for a name that has none.

    A name that goes on after a comma or a bracket is the same discipline with other settings:
    `"NRED, n = 2"`. A name that ends in "repaired" is a discipline with its repair.
    """
    base = re.split(r"[,(]", name)[0].strip().lower()
    numbers = _REPAIRED if base.endswith("repaired") else _DISCIPLINES.get(base)
    if numbers is None:
        return None
    colour, line, marker = numbers
    return Look(colour=MUTED if colour is None else _COLOURS[colour], line=_LINES[line], marker=_MARKERS[marker])


def looks(names: Sequence[str]) -> dict[str, Look]:
    """Returns the look of each of several things in one figure: a discipline's own, as far as no two share a colour.

    Who comes later takes the first colour that is free, and keeps its line and marker where it can. The user's
    `axes.prop_cycle` goes before ours.

    >>> found = looks(["droptail", "red", "wred"])
    >>> found["red"] == discipline("red"), found["wred"].colour == look(1).colour
    (True, True)
    """
    if given("axes.prop_cycle") is not None:
        return {name: look(i) for i, name in enumerate(names)}
    found: dict[str, Look] = {}
    own = {each.colour for name in names if (each := discipline(name)) is not None}
    for i, name in enumerate(names):
        mine, taken = discipline(name), {each.colour for each in found.values()}
        if mine is None or mine.colour in taken:
            free = [c for c in _COLOURS if c not in taken | own] or [c for c in _COLOURS if c not in taken]
            other = mine is None or any((each.line, each.marker) == (mine.line, mine.marker) for each in found.values())
            mine = replace(look(i) if mine is None or other else mine, colour=free[0] if free else look(i).colour)
        found[name] = mine
    return found


#: Points: of text, and of titles.
SIZE, _TITLE = 9.5, 10.5
#: Pixels that a letter of a page's figure has at least.
LEAST = 11
#: Settings of the program that draws, not of a figure.
_NOT_STYLE = re.compile(r"backend|interactive|toolbar|timezone|tk\.|webagg\.|savefig\.directory|date\.epoch")


@contextmanager
def context(sheet: Mapping[str, Any] | None = None, *, alone: bool = False) -> Iterator[None]:
    """Opens a `with` block in which matplotlib draws in the house style. Needs matplotlib, and changes nothing outside.

    Values of `rcParams` that differ from matplotlib's defaults are the user's and stay, whether a
    program or a `matplotlibrc` set them. Inside another such block nothing changes: the outermost decides.

    sheet: values that go before all others: those of a style sheet.
    alone: leaves the user's values out. The reports and pages have one look everywhere.
    """
    if _GIVEN.get() is not None:
        yield
        return
    import matplotlib as mpl

    changed = _changed()
    of_sheet = {key: value for key, value in (sheet or {}).items() if not _NOT_STYLE.match(key)}
    users = {**({} if alone else changed), **of_sheet}
    default: Any = mpl.rcParamsDefault
    reset = {key: default[key] for key in changed} if alone else {}
    values: Any = {**reset, **_house(users.get("font.size", SIZE)), **users}
    token = _GIVEN.set(users)
    try:
        with mpl.rc_context(values):
            yield
    finally:
        _GIVEN.reset(token)


def given(key: str) -> Any:
    """Returns the user's value of one of matplotlib's `rcParams`, inside `context()`; `None` where it is not the
    user's."""
    return (_GIVEN.get() or {}).get(key)


def _changed() -> dict[str, Any]:
    """Returns what differs now from matplotlib's own defaults."""
    import matplotlib as mpl

    default: Any = mpl.rcParamsDefault
    current: Any = mpl.rcParams
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of keys that matplotlib is about to drop
        keys = [key for key in default if not _NOT_STYLE.match(key)]
        return {key: current[key] for key in keys if current[key] != default[key]}


def now() -> Any:
    """Returns the style that holds now, as values of `rcParams`."""
    return _changed()


def _house(size: float) -> dict[str, Any]:
    """Returns the house style. size: that of the text, in points."""
    return {
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": size,
        "text.color": INK,
        "text.parse_math": False,  # names may have dollars in them; at logarithmic axes: `show.ticks`
        "axes.titlesize": size * _TITLE / SIZE,
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
        "legend.frameon": False,
        "lines.linewidth": 1.4,
        "figure.facecolor": PAPER,
        "figure.constrained_layout.use": True,
        "savefig.dpi": 160,
        "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and coloured
        "pdf.fonttype": 42,  # TrueType: journals refuse Type 3
        "ps.fonttype": 42,
        "svg.hashsalt": "penstock",  # the same figure gives the same bytes
        "path.simplify": True,
    }


def ink() -> Any:
    """Returns the colour of text and of lines that say something, inside `context()`."""
    return value("text.color")


def muted() -> Any:
    """Returns the colour of what stands behind."""
    return value("axes.edgecolor")


def paper() -> Any:
    """Returns the colour of the ground."""
    return value("axes.facecolor")


def value(key: str) -> Any:
    """Returns what holds for one of matplotlib's `rcParams`."""
    import matplotlib as mpl

    values: Any = mpl.rcParams
    return values[key]


def clean(figure: Figure) -> None:
    """Writes control characters of names out, since with them an SVG is none, and wraps what axes say at the figure's
    edges."""
    from matplotlib.category import StrCategoryFormatter
    from matplotlib.text import Text
    from matplotlib.ticker import FuncFormatter

    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        axis.label.set_wrap(True)
        names = axis.get_major_formatter()
        func = getattr(names, "func", None)
        cleaned = isinstance(func, partial) and func.func is _tick
        if isinstance(names, (FuncFormatter, StrCategoryFormatter)) and not cleaned:  # so it keeps the names of ticks
            axis.set_major_formatter(FuncFormatter(partial(_tick, names)))
    for text in figure.findobj(Text):
        if visible(text.get_text()) != text.get_text():
            text.set_text(visible(text.get_text()))
        if text.get_wrap() and "$" in text.get_text():  # matplotlib would take it for a formula while it wraps
            text.set_wrap(False)
            text.set_text(textwrap.fill(text.get_text(), WRAP))


def _tick(names: Formatter, x: float, at: int | None) -> str:
    return visible(names(x, at))


def settle(figure: Figure) -> None:
    """Lays `figure` out. It takes as long as drawing, and `save` does it for what has changed only."""
    clean(figure)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def save(figure: Figure, path: str) -> None:
    """Writes `figure` to `path` (the ending says what: .svg, .png, .pdf) without a date in it.

    The file's metadata say what the axes are (`described`). The layout is final then: a second call, for
    another format, does not work it out again.
    """
    from pathlib import Path

    from penstock._files import replacing

    kind = Path(path).suffix.removeprefix(".")
    said = described(figure)
    about: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Description": said},
        "pdf": {"CreationDate": None, "Subject": said},
        "png": {"Description": said},
    }
    with context(), replacing(Path(path)) as file:
        settle(figure)
        figure.set_layout_engine("none")
        figure.savefig(file, format=kind, metadata=about.get(kind, {}))


def described(figure: Figure) -> str:
    """Returns what each axis of a figure is, each said once: `"y: Loss [%]; x: Time [s]"`."""
    said = [(which, getattr(ax, f"get_{which}label")()) for ax in figure.axes for which in "yx"]
    said += [("y", figure.get_supylabel()), ("x", figure.get_supxlabel())]
    return "; ".join(dict.fromkeys(f"{which}: {' '.join(text.split())}" for which, text in said if text))


def themed_svg(svg: str, name: str) -> str:
    """Returns an `<svg>` element to put into a page: colours become the page's variables, ids begin with `name`.

    svg: what `save` wrote. The page supplies `palette.css()`.
    """
    svg = visible(svg[svg.index("<svg") :])
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r'<svg([^>]*?) width="[^"]*"', r"<svg\1", svg, count=1)
    svg = re.sub(r'<svg([^>]*?) height="[^"]*"', r"<svg\1", svg, count=1)
    for each in palette.PALETTE:
        svg = re.sub(re.escape(each.light), f"var(--{each.name})", svg, flags=re.IGNORECASE)
    return svg.strip()
