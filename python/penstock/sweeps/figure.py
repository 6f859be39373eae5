"""Draws what a store of runs says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.errors import Error
from penstock.judging.intervals import Interval, ends
from penstock.show import canvas, labels, style, ticks
from penstock.show.canvas import Size
from penstock.sweeps.show import Shown, Values
from penstock.sweeps.values import order, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: From this ratio of the largest to the least on, values stand on a logarithmic axis.
FAR = 16


def draw(shown: Shown, size: Size = None) -> Figure:
    """Draws the first metric over the first axis, with one line for each value of the others and 95 % intervals.

    At most eight lines are drawn; the legend says how many are not. Differences have a line at zero. Words along the
    axis have points and no line, since nothing lies between them; numbers that span a factor of 16 or more stand on a
    logarithmic axis.

    size: width and height in inches.
    """
    if not shown.axes:
        raise Error("--figure: nothing varies in these runs; there is no axis to draw over")
    metric = shown.metrics[0]
    factor, unit = shown.scaled(0)
    places = list(dict.fromkeys(at[0] for at in shown.rows))
    numeric = all(order(place)[0] == 1 for place in places)
    x = {place: order(place)[1] if numeric else i for i, place in enumerate(places)}
    lines = _lines(shown)
    drawn = canvas.few(list(lines))
    with style.context():
        figure = canvas.figure(6.4, 4.0, size)
        ax = figure.subplots()
        if shown.against is not None:
            ax.axhline(0.0, color=style.ink(), linewidth=0.8)
            ax.set_title(shown.compared_with(), wrap=True)
        for i, others in enumerate(drawn):
            look = style.look(i)
            _line(ax, others, lines[others], x, factor, look if numeric else replace(look, line="none"))
        if numeric and min(x.values()) > 0 and max(x.values()) >= FAR * min(x.values()):
            ax.set_xscale("log")
            ticks.plain(ax.xaxis)
        whole = factor if labels.share(metric) and shown.against is None else None
        canvas.span(ax, "y", share=whole, zero=shown.against is not None)
        ax.set_xlabel(shown.axes[0])
        ax.set_ylabel(labels.with_unit(labels.label(metric), unit))
        if len(shown.axes) > 1:
            left = len(lines) - len(drawn)
            hint = f"{left} more not drawn: choose with --over and --by" if left else None
            canvas.legend(figure, ax, size, title=", ".join(shown.axes[1:]), more=hint)
        name = canvas.even_ticks if numeric else canvas.name_ticks
        name(ax, list(x.values()), [text(place) for place in places])
    return figure


def _lines(shown: Shown) -> dict[Values, list[tuple[Any, Interval]]]:
    """Returns the values of the other axes → the first axis' values, with the first metric there."""
    lines: dict[Values, list[tuple[Any, Interval]]] = defaultdict(list)
    for at, cell in shown.intervals(0).items():
        if cell.mean is not None:
            lines[at[1:]].append((at[0], cell))
    return lines


def _line(
    ax: Axes,
    others: Values,
    points: Sequence[tuple[Any, Interval]],
    places: Mapping[Any, float],
    factor: float,
    look: style.Look,
) -> None:
    """Draws one of them. places: where each value of the first axis stands."""
    y = [(each.mean or 0.0) * factor for _, each in points]
    reach = [ends(each) or (each.mean or 0.0,) * 2 for _, each in points]
    # An end may lie beyond the mean by rounding, or that of a bootstrap by its correction.
    half = [
        [max(0.0, mean - low * factor) for mean, (low, _) in zip(y, reach, strict=True)],
        [max(0.0, high * factor - mean) for mean, (_, high) in zip(y, reach, strict=True)],
    ]
    ax.errorbar(
        [places[place] for place, _ in points],
        y,
        half,
        color=look.colour,
        linestyle=look.line,
        marker=look.marker,
        label=", ".join(map(text, others)),
        capsize=2,
    )
