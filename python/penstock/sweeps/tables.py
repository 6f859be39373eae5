"""Prints what a store of runs says, as tables on a terminal."""

from __future__ import annotations

from penstock.judging.estimate import Estimate
from penstock.judging.intervals import Interval, ends
from penstock.judging.paired import Paired
from penstock.show.numbers import NOT_RANDOM, number, spanned
from penstock.show.table import Table
from penstock.sweeps.show import Shown
from penstock.sweeps.values import text


def tables(shown: Shown, title: str) -> list[Table]:
    """Returns one table; of comparisons one per metric."""
    if shown.against is None:
        return [_means(shown, title)]
    return [_differences(shown, i) for i in range(len(shown.metrics))]


def _means(shown: Shown, title: str) -> Table:
    drawn = _new(shown, title)
    factors = []
    for i, metric in enumerate(shown.metrics):
        factor, unit = shown.scaled(i)
        factors.append(factor)
        drawn.add_column(_with_unit(metric, unit), justify="right")
    drawn.add_column("seeds", justify="right")
    cells = [shown.intervals(i) for i in range(len(shown.metrics))]
    for at in shown.rows:
        numbers = [_number(each[at], factor) for each, factor in zip(cells, factors, strict=True)]
        drawn.add_row(*map(text, at), *numbers, str(max(each[at].n for each in cells)))
    drawn.caption = f"{shown.runs} runs; mean {_about(shown)}" + _sameness(shown)
    return drawn


def _differences(shown: Shown, i: int) -> Table:
    """Returns the table of one metric; bold where the adjusted p is below 0.05."""
    assert shown.against is not None
    factor, unit = shown.scaled(i)
    drawn = _new(shown, f"{shown.metrics[i]}, {shown.compared_with()}")
    for column in (_with_unit("difference", unit), "p", "p adjusted", "seeds"):
        drawn.add_column(column, justify="right")
    for at, row in shown.rows.items():
        each = row[i]
        assert isinstance(each, Paired)
        style = "bold" if each.p_adjusted is not None and each.p_adjusted < 0.05 else None
        cells = [_number(each.difference, factor, sign=True), _p(each.p), _p(each.p_adjusted), str(each.difference.n)]
        drawn.add_row(*map(text, at), *cells, style=style)
    tests = sum(isinstance(each, Paired) and each.p is not None for row in shown.rows.values() for each in row)
    drawn.caption = (
        f"{shown.runs} runs; mean difference {_about(shown)}, paired by seed; p of the paired t test, "
        f"adjusted for {tests} comparisons (Benjamini-Hochberg), bold where below 0.05"
    ) + _sameness(shown)
    return drawn


def _new(shown: Shown, title: str) -> Table:
    """Returns a table with a column for each axis."""
    drawn = Table(title, keys=len(shown.axes))
    for axis in shown.axes:
        drawn.add_column(axis, justify="right")
    return drawn


def _with_unit(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def _about(shown: Shown) -> str:
    interval = "± 95 % interval" if shown.ci == "t" else "(95 % bootstrap interval)"
    return f"{interval} over seeds" + (f"; averaged over {', '.join(shown.pooled)}" if shown.pooled else "")


def _sameness(shown: Shown) -> str:
    return "; " + NOT_RANDOM if shown.identical else ""


def _number(interval: Interval, factor: float, *, sign: bool = False) -> str:
    if isinstance(interval, Estimate):
        return number(interval, factor, sign=sign)
    return spanned(interval.mean, ends(interval), factor, sign=sign)


def _p(p: float | None) -> str:
    return "–" if p is None else "<0.0001" if p < 0.0001 else f"{p:.4f}"
