"""The figures of `docs/hosts.md`, from its numbers: a curve is a mean, its band the interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from penstock import _files
from penstock.judging.estimate import Estimate
from penstock.show import canvas, style
from slim_svg import written

Numbers: TypeAlias = Mapping[str, Estimate]
#: Name → milliseconds after a mark and packets, of the single runs that a figure shows.
Traces: TypeAlias = Mapping[str, Sequence[tuple[float, float]]]


def write(name: str, folder: Path, numbers: Numbers, traces: Traces) -> None:
    """Draws the figure of a part of the page, if it has one."""
    if name not in FIGURES:
        return
    with style.context(alone=True):
        drawn = written(FIGURES[name](numbers, traces))
    _files.write(folder / f"{name}.svg", drawn)


# ---- the parts of a panel


def panels(rows: int, columns: int, width: float, height: float) -> tuple[Any, list[list[Any]]]:
    """Returns a figure with its panels, row by row. width, height: of the whole, in inches."""
    figure = canvas.figure(width, height)
    return figure, figure.subplots(rows, columns, squeeze=False).tolist()


def curve(ax: Any, i: int, label: str, points: Sequence[tuple[float, Estimate]]) -> None:
    """Draws means with the band of their intervals."""
    look = style.look(i)
    drawn = [(x, e.mean, e.low, e.high) for x, e in points if e.mean is not None]
    if not drawn:
        return
    x, mean, low, high = zip(*drawn, strict=True)
    ax.fill_between(x, low, high, color=look.colour, alpha=0.2, lw=0)
    ax.plot(x, mean, color=look.colour, ls=look.line, marker=look.marker, ms=4, label=label)


def idle(found: Estimate) -> Estimate:
    """Returns what utilization leaves idle, in per cent."""
    ends = (None if x is None else 100 - x for x in (found.mean, found.high, found.low))
    mean, low, high = ends
    return Estimate(mean, found.ci95, found.n, low, high)


def logarithmic(axis: Any, values: Sequence[float]) -> None:
    """Makes an axis logarithmic, with ticks at these values."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:g}")


def over(numbers: Numbers, pattern: str, values: Sequence[float]) -> list[tuple[float, Estimate]]:
    """Returns the points of a curve: the numbers whose name has each value at its `{}`."""
    names = [(x, pattern.replace("{}", f"{x:g}")) for x in values]
    return [(x, numbers[name]) for x, name in names if name in numbers]


# ---- the figures

BUFFERS = (0.25, 0.5, 1, 2, 4, 8, 16)


def shares(numbers: Numbers, _: Traces) -> Any:
    """BBR's share over the buffer: two links, three numbers of CUBIC flows; and what is lost."""
    figure, ((one, many, lost),) = panels(1, 3, 10.2, 3.9)
    lines = {"bbr, 10 Mbit/s": "bbr/10", "bbr, 100 Mbit/s": "bbr/100"}
    lines |= {"bbr3, 10 Mbit/s": "bbr3/10", "bbr3, 100 Mbit/s": "bbr3/100"}
    for i, (label, name) in enumerate(lines.items()):
        curve(one, i, label, over(numbers, f"shares/{name}/{{}}", BUFFERS))
        curve(lost, i, label, over(numbers, f"shares/{name}/{{}}/loss", BUFFERS))
    for i, flows in enumerate((1, 4, 10)):
        label = f"bbr beside {flows}"
        curve(many, 4 + i, label, over(numbers, f"shares/bbr/{{}}/n{flows}", BUFFERS))
    for ax in (one, many, lost):
        logarithmic(ax.xaxis, BUFFERS)
        ax.set_xlabel("Buffer [products]")
        canvas.span(ax, "y", share=100)
    for ax in (one, many):
        ax.set_ylim(0, 104)
    one.axhline(50, color=style.muted(), lw=0.8)
    one.set(title="Beside one cubic", ylabel="BBR's share [%]")
    many.set(title="Beside more, 10 Mbit/s", ylabel="bbr's share [%]")
    lost.set(title="Lost, both flows", ylabel="Packets lost [%]")
    for ax in (one, many):
        ax.legend(loc="best")
    return figure


QUEUES = {
    "codel": "CoDel",
    "codel-1ms": "CoDel\n1 ms",
    "pie": "PIE",
    "pie-5ms": "PIE\n5 ms",
    "red": "RED",
    "fq-codel": "fq-codel",
    "droptail": "DropTail",
}
#: What heistp/l4s-tests has, queue by queue.
PUBLISHED = {"codel": 24, "codel-1ms": 27, "pie": 23, "pie-5ms": 20, "red": 27, "fq-codel": 1.03}


def prague(numbers: Numbers, _: Traces) -> Any:
    """Prague's goodput over a classic flow's, queue by queue; the delay with and without it."""
    figure, ((ratio, delay),) = panels(1, 2, 10.2, 3.9)
    others = {"cubic": "cubic with ECN", "reno": "reno with ECN", "cubic-off": "cubic without ECN"}
    rows = [
        (ratio, i, label, f"prague/{key}/{{}}") for i, (key, label) in enumerate(others.items())
    ]
    rows.append((delay, 0, "cubic and prague", "prague/delay/{}"))
    rows.append((delay, 1, "cubic alone", "prague/delay-without/{}"))
    for ax, i, label, pattern in rows:
        look = style.look(i)
        for x, queue in enumerate(QUEUES):
            found = numbers.get(pattern.replace("{}", queue))
            if found is not None and found.mean is not None:
                at = x + 0.16 * (i - 1)
                ax.plot([at, at], [found.low, found.high], color=look.colour, lw=1.2)
                named = {"label": label} if x == 0 else {}
                ax.plot(at, found.mean, look.marker, color=look.colour, ms=5, **named)
    for x, queue in enumerate(QUEUES):
        if queue in PUBLISHED:
            named = {"label": "published, cubic with ECN"} if x == 0 else {}
            y = PUBLISHED[queue]
            ratio.plot([x - 0.36, x + 0.36], [y, y], color=style.muted(), lw=1.5, **named)
    for ax in (ratio, delay):
        ax.set_xticks(range(len(QUEUES)), list(QUEUES.values()))
        ax.grid(False, axis="x")
    logarithmic(ratio.yaxis, (0.1, 0.3, 1, 3, 10, 30, 100))
    ratio.set_ylim(0.05, 200)
    logarithmic(delay.yaxis, (0.3, 1, 3, 10, 30, 100, 300))
    ratio.axhline(1, color=style.ink(), lw=0.8)
    ratio.set(title="Prague : the classic flow", ylabel="Ratio of goodputs")
    delay.set(title="Delay in the queue", ylabel="Mean delay [ms]")
    ratio.legend(loc="lower left")
    delay.legend(loc="upper left")
    return figure


TRIPS = (2, 4, 8)
FLENT = {10: 36.8, 50: 25.4, 200: 20.5, 500: 10.3}


def trips(numbers: Numbers, _: Traces) -> Any:
    """The goodput of the short trip over the long one's; flent's four flows."""
    figure, (row,) = panels(1, 3, 10.2, 3.9)
    for ax, aqm, title in zip(row, ("droptail", "codel"), ("DropTail", "CoDel"), strict=False):
        for i, control in enumerate(("reno", "cubic", "bbr", "bbr3", "prague")):
            curve(ax, i, control, over(numbers, f"trips/{control}/{aqm}/short/{{}}", TRIPS))
        ax.plot(TRIPS, TRIPS, color=style.muted(), lw=0.8, label="as the trips")
        logarithmic(ax.xaxis, TRIPS)
        logarithmic(ax.yaxis, (0.03, 0.1, 0.3, 1, 3, 10, 30))
        ax.set_ylim(0.03, 30)
        ax.axhline(1, color=style.ink(), lw=0.8)
        ax.set(title=title, xlabel="Ratio of the round trips", ylabel="Goodput, short : long")
    row[1].sharey(row[0])
    row[1].legend(loc="lower left")
    last = row[2]
    for i, profile in enumerate(("linux", "rfc")):
        curve(last, i, profile, over(numbers, f"flent/{profile}/{{}}", tuple(FLENT)))
    last.plot(list(FLENT), list(FLENT.values()), "x", color=style.ink(), ms=6, label="published")
    logarithmic(last.xaxis, tuple(FLENT))
    canvas.span(last, "y", zero=True)
    last.set(title="flent's four, fq-codel", xlabel="Round trip [ms]", ylabel="Goodput [Mbit/s]")
    last.legend(loc="best")
    return figure


RATES, DELAYS = (10, 30, 100), (10, 40, 100)
FORMS = {"off": "none", "linux": "HyStart", "rfc9406": "HyStart++"}


def starts(numbers: Numbers, _: Traces) -> Any:
    """Losses, peak of the queue and utilization of the first seconds, link by link."""
    figure, grid = panels(3, 3, 10.2, 7.2)
    measures = {
        "drops-of-window": "Lost, of product\nand buffer",
        "peak": "Peak, of the buffer",
        "utilization": "Idle in 5 s [%]",
    }
    for row, (key, label) in zip(grid, measures.items(), strict=True):
        for ax, rate in zip(row, RATES, strict=True):
            for i, (form, name) in enumerate(FORMS.items()):
                points = [(d, numbers.get(f"starts/{form}/{rate}-{d}/{key}")) for d in DELAYS]
                shown = idle if key == "utilization" else lambda each: each
                curve(ax, i, name, [(d, shown(each)) for d, each in points if each is not None])
            logarithmic(ax.xaxis, DELAYS)
            if row is grid[0]:
                ax.set_title(f"{rate} Mbit/s")
            if row is grid[-1]:
                ax.set_xlabel("Round trip [ms]")
        row[0].set_ylabel(label)
        for ax in row[1:]:
            ax.sharey(row[0])
        canvas.span(row[0], "y", share=100 if key == "utilization" else 1)
    grid[0][0].legend(loc="best")
    return figure


WINDOWS = (30, 60, 120, 240)
THRESHOLDS = (1 / 28, 1 / 14, 1 / 7, 1 / 4, 1 / 2)


def dctcp(numbers: Numbers, _: Traces) -> Any:
    """The swing of the queue over the window, and utilization over the threshold."""
    figure, ((swing, used),) = panels(1, 2, 8.4, 3.9)
    for i, form in enumerate(("rfc", "linux")):
        curve(swing, i, form, over(numbers, f"dctcp/{form}/swing/{{}}", WINDOWS))
        names = [(k, f"dctcp/{form}/k/{k:.3f}") for k in THRESHOLDS]
        curve(used, i, form, [(k, idle(numbers[name])) for k, name in names if name in numbers])
    points = over(numbers, "dctcp/linux-at-once/swing/{}", WINDOWS)
    curve(swing, 2, "linux, cut at once", points)
    formula = [0.5 * math.sqrt(2 * w) for w in WINDOWS]
    swing.plot(WINDOWS, formula, color=style.ink(), lw=0.8, label="½·√(2W)")
    logarithmic(swing.xaxis, WINDOWS)
    logarithmic(swing.yaxis, (2, 4, 8, 16, 32))
    swing.set(title="Swing", xlabel="C·RTT + K [packets]", ylabel="Swing of the queue [packets]")
    used.axvline(1 / 7, color=style.muted(), lw=0.8)
    used.text(1 / 7, 0.9, " 1/7", transform=used.get_xaxis_transform(), color=style.ink())
    canvas.span(used, "y", share=100)
    used.set(title="The link", xlabel="K over C·RTT", ylabel="Idle [%]")
    swing.legend(loc="upper left")
    return figure


def dip(_: Numbers, traces: Traces) -> Any:
    """The queue around a mark, cut at once and by PRR."""
    figure, (row,) = panels(1, 2, 8.4, 3.6)
    for ax, control in zip(row, ("reno", "cubic"), strict=True):
        for i, form in enumerate(("at once", "prr")):
            look = style.look(i)
            t, held = zip(*traces.get(f"{control}/{form}", [(0.0, 0.0)]), strict=True)
            label = {"prr": "PRR"}.get(form, form)
            ax.plot(t, held, color=look.colour, ls=look.line, label=label)
        ax.axvline(0, color=style.muted(), lw=0.8)
        ax.set(title=control, xlabel="After the mark [ms]", ylabel="Queue [packets]")
        canvas.span(ax, "y", zero=True)
    row[1].sharey(row[0])
    row[0].legend(loc="upper right")
    return figure


FIGURES: Mapping[str, Callable[[Numbers, Traces], Any]] = {
    "shares": shares,
    "prague": prague,
    "trips": trips,
    "starts": starts,
    "dctcp": dctcp,
    "dip": dip,
}
