"""What a store of runs says, as a figure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.errors import Error
from penstock.show import style
from penstock.sweeps.show import Shown, Values
from penstock.sweeps.statistics import Interval, ends
from penstock.sweeps.values import order, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(shown: Shown) -> Figure:
    """Returns the first metric over the first axis, with one line for each value of the others and 95 % intervals.

    Differences have a line at zero.
    """
    from matplotlib.figure import Figure

    if not shown.axes:
        raise Error("--figure: nothing varies in these runs; there is no axis to draw over")
    metric = shown.metrics[0]
    factor, unit = shown.scaled(0)
    places = list(dict.fromkeys(at[0] for at in shown.rows))
    numeric = all(order(place)[0] == 1 for place in places)
    x = {place: order(place)[1] if numeric else i for i, place in enumerate(places)}
    with style.context():
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        ax = figure.subplots()
        if shown.against is not None:
            ax.axhline(0.0, color=style.INK, linewidth=0.8)
            ax.set_title(shown.compared_with())
        _lines(ax, shown, x, factor)
        if len(places) <= 12:
            ax.set_xticks([x[place] for place in places], [text(place) for place in places])
        ax.set_xlabel(shown.axes[0])
        ax.set_ylabel(f"{metric} [{unit}]" if unit else metric)
        if len(shown.axes) > 1:
            ax.legend()
    return figure


def _lines(ax: Axes, shown: Shown, places: Mapping[Any, float], factor: float) -> None:
    """Draws the first metric. places: where each value of the first axis stands."""
    lines: dict[Values, list[tuple[Any, Interval]]] = defaultdict(list)
    for at, cell in shown.intervals(0).items():
        if cell.mean is not None:
            lines[at[1:]].append((at[0], cell))
    for i, (others, points) in enumerate(lines.items()):
        look = style.look(i)
        y = [(each.mean or 0.0) * factor for _, each in points]
        reach = [ends(each) or (each.mean or 0.0,) * 2 for _, each in points]
        # An end may lie beyond the mean by rounding, or that of a bootstrap by its correction.
        half = [
            [max(0.0, mean - low * factor) for mean, (low, _) in zip(y, reach, strict=True)],
            [max(0.0, high * factor - mean) for mean, (_, high) in zip(y, reach, strict=True)],
        ]
        label = ", ".join(f"{axis} {text(value)}" for axis, value in zip(shown.axes[1:], others, strict=True))
        ax.errorbar(
            [places[place] for place, _ in points],
            y,
            half,
            color=look.colour,
            linestyle=look.line,
            marker=look.marker,
            label=label,
            capsize=2,
        )
