"""The figures: the range, what the search tried, and the Pareto front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.show import canvas, labels, style
from penstock.show.numbers import scale
from penstock.tuning.candidates import Candidate
from penstock.tuning.compare import Measured
from penstock.tuning.goals import Goal, Objective
from penstock.tuning.judge import Array, over
from penstock.tuning.statement import Statement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure of the page."""

    key: str
    title: str
    caption: str
    draw: Callable[[], Figure]


def drawings(statement: Statement, candidates: Sequence[Candidate]) -> list[Drawing]:
    """Returns the figures of a statement."""
    found = [
        Drawing(
            "range",
            "Over the range",
            "The mean under each condition with its 95 % interval. The dashed line is a goal's bound.",
            lambda: over_range(statement),
        )
    ]
    wanted = pair(statement)
    if wanted is not None:
        several = len(statement.aims.objectives) > 1
        said = "The line joins the points of the Pareto front." if several else "The dashed line is the goal's bound."
        found.append(
            Drawing(
                "plane",
                "Pareto front" if several else "What was tried",
                f"A mark is a candidate that ran under all conditions; open ones break a goal. {said}",
                lambda: plane(statement, candidates, wanted),
            )
        )
    found.append(
        Drawing(
            "progress",
            "Progress of the search",
            "Each candidate in its order, and the best so far. An open mark breaks a goal.",
            lambda: progress(statement, candidates),
        )
    )
    return found


def pair(statement: Statement) -> tuple[Goal | Objective, Goal | Objective] | None:
    """Returns two wanted metrics to draw against each other: two objectives, or a goal and an
    objective.
    """
    aims = statement.aims
    if len(aims.objectives) > 1:
        return aims.objectives[0], aims.objectives[1]
    others = [each for each in aims.goals if not aims.objectives or each.metric != aims.objectives[0].metric]
    if aims.objectives:
        return (others[0], aims.objectives[0]) if others else None
    return (others[0], others[1]) if len({each.metric for each in others}) > 1 else None


def over_range(statement: Statement) -> Figure:
    """Draws each wanted metric under each condition: the result, the defaults, and other
    disciplines.
    """
    shown = list({each.metric: each for each in reversed(statement.aims.wanted)}.values())[::-1]
    settings = [statement.finals.best, *statement.finals.beside]
    height = 1.2 + 0.26 * len(statement.seen)
    with style.context():
        looks = _looks(statement)
        figure, axes = _axes(len(shown), (min(10.2, 4.6 + 2.8 * len(shown)), height))
        for ax, wanted in zip(axes, shown, strict=True):
            factor, unit = _scaled(wanted, settings)
            for i, measured in enumerate(settings):
                _row(ax, measured, wanted, factor, looks[i], (i, len(settings)))
            _bounds(ax, statement, wanted.metric, factor, vertical=True)
            canvas.span(ax, "x", share=factor if labels.share(wanted.metric) else None)
            ax.set_xlabel(canvas.wrapped(_label(wanted.metric, unit)))
            ax.set_yticks(range(len(statement.seen)), [canvas.wrapped(each.name) for each in statement.seen])
            ax.invert_yaxis()
            if ax is not axes[0]:
                ax.tick_params(labelleft=False)
        canvas.legend(figure, axes[0])
    return figure


def _looks(statement: Statement) -> list[style.Look]:
    """Returns the looks of the result and of what stands beside it."""
    beside = [each.name for each in statement.finals.beside]
    return list(style.looks([f"{statement.kind}, tuned", *beside]).values())


def _row(
    ax: Axes, measured: Measured, wanted: Goal | Objective, factor: float, look: style.Look, place: tuple[int, int]
) -> None:
    """Draws one setting's means; several settings stand beside each other on a condition's row.

    place: the setting's number, and of how many.
    """
    i, count = place
    shift = 0.6 * ((i + 0.5) / count - 0.5)
    found = measured.over(wanted).conditions
    rows = [row for row, each in enumerate(found) if each.mean is not None]
    means = [factor * (found[row].mean or 0.0) for row in rows]
    reach = [[factor * found[row].below for row in rows], [factor * found[row].above for row in rows]]
    ax.errorbar(
        means,
        [row + shift for row in rows],
        xerr=reach,
        fmt=look.marker,
        color=look.colour,
        ms=4 if i else 5,
        lw=1,
        label=measured.name if measured.values == {} else "tuned",
    )


def plane(
    statement: Statement, candidates: Sequence[Candidate], wanted: tuple[Goal | Objective, Goal | Objective]
) -> Figure:
    """Draws the candidates with two metrics as axes, the front and the result."""
    across, up = wanted
    settings = [statement.finals.best, *statement.finals.beside]
    (fx, ux), (fy, uy) = _scaled(across, settings), _scaled(up, settings)
    with style.context():
        figure, (ax,) = _axes(1, (8.0, 4.2))
        whole = [each for each in candidates if len(each.done) == len(statement.seen)]
        for keeps in (True, False):
            some = [each for each in whole if (each.costs[0] == 0) is keeps]
            _marks(ax, fx * _numbers(statement, some, across), fy * _numbers(statement, some, up), keeps)
        for i, (each, look) in enumerate(zip(settings, _looks(statement), strict=True)):
            x, y = [fx * _mean(each, across)], [fy * _mean(each, up)]
            ax.plot(x, y, look.marker, color=look.colour, ms=8, ls="none", label=each.name if i else "tuned")
        front = statement.finals.front
        x, y = ([factor * _mean(each, on) for each in front] for factor, on in ((fx, across), (fy, up)))
        ax.plot(x, y, color=style.INK, lw=1, zorder=1)
        _bounds(ax, statement, across.metric, fx, vertical=True)
        _bounds(ax, statement, up.metric, fy, vertical=False)
        canvas.span(ax, "x", share=fx if labels.share(across.metric) else None)
        canvas.span(ax, "y", share=fy if labels.share(up.metric) else None)
        ax.set_xlabel(_label(across.metric, ux))
        ax.set_ylabel(_label(up.metric, uy))
        canvas.legend(figure, ax)
    return figure


def progress(statement: Statement, candidates: Sequence[Candidate]) -> Figure:
    """Draws the first objective, or the first goal's metric, of each candidate in its order."""
    first: Sequence[Goal | Objective] = [*statement.aims.objectives, *statement.aims.goals]
    wanted = first[0]
    whole = [each for each in candidates if len(each.done) == len(statement.seen)]
    factor, unit = _scaled(wanted, [statement.finals.best])
    values = factor * _numbers(statement, whole, wanted)
    order = np.array([each.number for each in whole])
    keeps = np.array([each.costs[0] == 0 for each in whole], dtype=bool)
    with style.context():
        figure, (ax,) = _axes(1, (8.0, 3.0))
        _marks(ax, order[keeps], values[keeps], True)
        _marks(ax, order[~keeps], values[~keeps], False)
        best = min(whole, key=lambda each: tuple(each.costs[:2]), default=None)
        if best is not None:
            so_far = [min(whole[: i + 1], key=lambda each: tuple(each.costs[:2])) for i in range(len(whole))]
            at = {each.number: value for each, value in zip(whole, values, strict=True)}
            ax.step(order, [at[each.number] for each in so_far], where="post", color=style.look(0).colour)
        canvas.span(ax, "y", share=factor if labels.share(wanted.metric) else None)
        ax.set_xlabel("Candidate")
        ax.set_ylabel(_label(wanted.metric, unit))
    return figure


def _marks(ax: Axes, x: Array, y: Array, keeps: bool) -> None:
    fill = style.MUTED if keeps else "none"
    ax.plot(x, y, "o", color=style.MUTED, mfc=fill, ms=3.5, ls="none", zorder=2)


def _numbers(statement: Statement, candidates: Sequence[Candidate], wanted: Goal | Objective) -> Array:
    found = []
    for each in candidates:
        part = each.part(range(len(statement.seen)), each.seeds)
        mean = over(statement.judge, wanted, part[wanted.metric]).estimate.mean
        found.append(np.nan if mean is None else mean)
    return np.array(found, dtype=np.float64)


def _mean(measured: Measured, wanted: Goal | Objective) -> float:
    mean = measured.over(wanted).estimate.mean
    return float("nan") if mean is None else mean


def _bounds(ax: Axes, statement: Statement, metric: str, factor: float, vertical: bool) -> None:
    for goal in statement.aims.goals:
        if goal.metric == metric:
            draw = ax.axvline if vertical else ax.axhline
            draw(factor * goal.bound, color=style.THRESHOLD, lw=1, ls="dashed", zorder=1)


def _scaled(wanted: Goal | Objective, settings: Sequence[Measured]) -> tuple[float, str]:
    means = [each.over(wanted).estimate.mean for each in settings]
    return scale(wanted.metric, max((abs(mean) for mean in means if mean is not None), default=0.0))


def _label(metric: str, unit: str) -> str:
    return labels.with_unit(labels.label(metric), unit)


def _axes(columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    figure = canvas.figure(*size)
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])
