"""Figures of stability: the map of flows and round trips, margins over one axis, one loop, spectra."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.fluid.limits import FEW_SIGNALS, OSCILLATES, SMALL_WINDOW
from penstock.fluid.margins import frequencies, scatter
from penstock.fluid.range import Case, Range
from penstock.show import canvas, palette, style, ticks
from penstock.show.canvas import Size
from penstock.sweeps.values import order, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What the hatched part of the map is.
_DOUBTS = f"windows below {SMALL_WINDOW:g} packets, or\nfewer than {FEW_SIGNALS:g} signals a swing"
#: A phase margin's stretch of the map, from below: its upper end in degrees, its colour.
_BANDS = tuple(zip((0.0, 30.0, 60.0, math.inf), (each.light for each in palette.STRETCHES), strict=True))


def draw(found: Range, size: Size = None) -> Figure:
    """Returns the figure that fits a range. size: width and height in inches."""
    flows, trips = _grid(found)
    if len(flows) > 1 and len(trips) > 1 and len(flows) * len(trips) == len(found.cases):
        return map_of(found, size)
    judged = [case for case in found.cases if case.margins is not None]
    return curves(judged[0], size) if len(judged) == 1 else over_axis(found, size)


def map_of(found: Range, size: Size = None) -> Figure:
    """Draws phase margins over flows and round trips, and what runs did there, if any were made."""
    with style.context():
        figure = canvas.figure(7.2, 4.6, size)
        ax = figure.subplots()
        draw_map(ax, found)
        _keys(ax, found)
        return figure


def draw_map(ax: Axes, found: Range) -> None:
    """Draws the map into axes."""
    flows, trips = _grid(found)
    place = {(case.path.flows, _trip(case)): case for case in found.cases}
    margin = np.array([[_margin(place.get((n, trip))) for trip in trips] for n in flows])
    levels = [-1e3, *(upper for upper, _ in _BANDS[:-1]), 1e3]
    ax.contourf(trips, flows, margin, levels=levels, colors=[colour for _, colour in _BANDS])
    if np.nanmin(margin) < 0 < np.nanmax(margin):
        ax.contour(trips, flows, margin, levels=[0.0], colors=[style.INK], linewidths=1.8)
    _doubtful(ax, found, place)
    for case in found.cases:
        x, y = _trip(case), case.path.flows
        if case.margins is None:
            ax.plot(x, y, "x", color=style.MUTED, ms=5, clip_on=False)
        elif case.swing is None:
            ax.plot(x, y, ".", color=style.MUTED, ms=3, clip_on=False)
        else:
            look = style.look(1 if case.swing.oscillates else 0)
            face = look.colour if case.swing.oscillates else style.PAPER
            size = 3 + 8 * min(1.0, case.swing.rhythm.mean or 0.0)
            ax.plot(x, y, "o", ms=size, mfc=face, mec=look.colour, mew=1.2, clip_on=False, zorder=3)
    for scale, values in ((ax.xaxis, trips), (ax.yaxis, flows)):
        scale.axes.set(**{f"{scale.axis_name}scale": "log"})
        _ticks(scale, values)
    ax.grid(False)
    ax.set_xlabel("Round trip over an empty queue [ms]")
    ax.set_ylabel("Flows")
    ax.set_title(f"{found.kind}: phase margin", wrap=True)


def _doubtful(ax: Axes, found: Range, place: Mapping[tuple[float, float], Case]) -> None:
    """Hatches where the model says that the queue oscillates, and may be wrong."""
    flows, trips = _grid(found)
    doubts = np.array([[float(bool((case := place.get((n, t))) and case.doubts)) for t in trips] for n in flows])
    if doubts.any():
        ax.contourf(trips, flows, doubts, levels=[0.5, 1.5], colors="none", hatches=["////"])


def _keys(ax: Axes, found: Range) -> None:
    """Says beside the map what its colours and marks are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = ["below 0°: oscillates", "0° to 30°", "30° to 60°", "above 60°, or no crossover"]
    keys: list[Any] = [Patch(facecolor=colour, label=name) for (_, colour), name in zip(_BANDS, names, strict=True)]
    if any(case.doubts for case in found.cases):
        keys.append(Patch(facecolor="none", edgecolor=style.MUTED, hatch="////", lw=0, label=_DOUBTS))
    if any(case.margins is None for case in found.cases):
        keys.append(Line2D([], [], marker="x", ls="", color=style.MUTED, label="no equilibrium"))
    if any(case.swing is not None for case in found.cases):
        on, off = style.look(1).colour, style.look(0).colour
        keys.append(Line2D([], [], marker="o", ls="", color=on, label="runs: oscillates"))
        keys.append(Line2D([], [], marker="o", ls="", mfc=style.PAPER, mec=off, label="runs: settles"))
        keys.append(Line2D([], [], ls="", label=f"(size: rhythm; {OSCILLATES} divides)"))
    ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, borderaxespad=0)


def over_axis(found: Range, size: Size = None) -> Figure:
    """Draws the phase margin and the crossover frequency over the first axis, a line per value of the others.

    At most eight lines are drawn; the legend says how many are not.
    """
    axis = next(iter(found.axes), None)
    lines: dict[str, list[Case]] = {}
    for case in found.cases:
        others = ", ".join(f"{each} = {text(case.at[each])}" for each in found.axes if each != axis)
        lines.setdefault(others, []).append(case)
    with style.context():
        figure = canvas.figure(7.2, 4.8, size)
        above, below = figure.subplots(2, 1, sharex=True)
        drawn = canvas.few(list(lines.items()))
        for i, (name, cases) in enumerate(drawn):
            look = style.look(i)
            x = [_on_axis(case, axis) for case in cases]
            for ax, y in (
                (above, [_margin(case) if _margin(case) < 999 else math.nan for case in cases]),
                (below, [case.margins.crossover_rad_s if case.margins else None for case in cases]),
            ):
                values = np.array([math.nan if each is None else each for each in y])
                ax.plot(x, values, color=look.colour, ls=look.line, marker=look.marker, ms=4, label=name or None)
        above.axhline(0, color=style.ink(), lw=0.8)
        canvas.span(above, "y", zero=True)
        canvas.span(below, "y")
        above.set_ylabel("Phase margin [°]")
        below.set_ylabel("Crossover [rad/s]")
        below.set_xlabel(axis or "Point")
        above.set_title(f"{found.name}: {found.kind}", wrap=True)
        if len(lines) > 1:
            left = len(lines) - len(drawn)
            canvas.legend(figure, above, size, more=f"{left} more not drawn: give fewer values" if left else None)
        return figure


def curves(case: Case, size: Size = None) -> Figure:
    """Draws one loop's gain and phase over frequency, with its margins."""
    assert case.loop is not None
    assert case.margins is not None
    omega = frequencies(case.loop)
    values = case.loop.response(omega)
    gain, phase = 20 * np.log10(np.abs(values)), np.degrees(np.unwrap(np.angle(values)))
    shown = (gain > -40) & (phase > -540)
    with style.context():
        figure = canvas.figure(7.2, 4.8, size)
        above, below = figure.subplots(2, 1, sharex=True)
        above.semilogx(omega[shown], gain[shown], color=style.look(0).colour)
        below.semilogx(omega[shown], phase[shown], color=style.look(0).colour)
        ticks.plain(below.xaxis)  # they share it
        above.axhline(0, color=style.ink(), lw=0.8)
        below.axhline(-180, color=style.ink(), lw=0.8)
        for at, what, i in (
            (case.margins.crossover_rad_s, f"phase margin {case.margins.phase_margin_deg or 0:+.0f}°", 1),
            (case.margins.turn_rad_s, f"gain margin {_decibel(case.margins.gain_margin):+.1f} dB", 2),
        ):
            if at is not None:
                for ax, name in ((above, what), (below, None)):
                    ax.axvline(at, color=style.look(i).colour, ls=style.look(i).line, lw=1, label=name)
        above.set_ylabel("Gain [dB]")
        below.set_ylabel("Phase [°]")
        below.set_xlabel("Frequency [rad/s]")
        canvas.legend(figure, above, size)
        title = f"N = {case.path.flows:g}, T_p = {_trip(case):.3g} ms: {'stable' if case.stable else 'oscillates'}"
        above.set_title(title, wrap=True)
        return figure


def draw_spectra(axes: Sequence[Axes], cases: Sequence[Case]) -> None:
    """Draws the spectrum of each simulated point, with the model's and with the expected frequency."""
    for ax, case in zip(axes, cases, strict=True):
        assert case.loop is not None
        assert case.margins is not None
        assert case.swing is not None
        ax.loglog(case.swing.omega, case.swing.power, color=style.look(1).colour, label="runs")
        ticks.plain(ax.xaxis, ax.yaxis)
        if case.stable:
            shown = np.geomspace(case.swing.omega[0], case.swing.omega[-1], 400)
            ax.loglog(shown, scatter(case.loop, shown), color=style.look(0).colour, ls="dashed", label="model")
        at = case.swing.frequency_rad_s
        ax.axvline(at, color=style.MUTED, lw=1)
        ax.text(at, 0.04, " expected", transform=ax.get_xaxis_transform(), color=style.MUTED, size=8)
        ax.set_xlim(at / 20, at * 20)
        lacks = case.margins.phase_margin_deg
        margin = "no crossover" if lacks is None else f"phase margin {lacks:+.0f}°"
        ax.set_title(f"{case.path.flows:g} flows: {margin}", fontsize=9)
        ax.set_xlabel("frequency [rad/s]")
    top = max(float(np.max(case.swing.power)) for case in cases if case.swing is not None)
    for ax in axes:
        ax.set_ylim(top * 1e-5, top * 4)
    axes[0].set_ylabel("power [packets²/Hz]")
    axes[0].legend(frameon=False, loc="upper right")


def _trip(case: Case) -> float:
    """Returns the round trip over an empty queue in ms, rounded so that equal ones are the same."""
    return float(f"{case.path.rtt_s * 1e3:.4g}")


def _grid(found: Range) -> tuple[list[float], list[float]]:
    return sorted({case.path.flows for case in found.cases}), sorted({_trip(case) for case in found.cases})


def _margin(case: Case | None) -> float:
    """Returns the phase margin in degrees; 999 where the gain never reaches 1, NaN without a balance."""
    if case is None or case.margins is None:
        return math.nan
    lacks = case.margins.phase_margin_deg
    return 999.0 if lacks is None else max(-900.0, min(lacks, 180.0))


def _decibel(factor: float | None) -> float:
    return 20 * math.log10(factor) if factor else 0.0


def _on_axis(case: Case, axis: str | None) -> Any:
    """Returns a value of an axis as a number, where it is one."""
    if axis is None:
        return 0
    kind, number, word = order(case.at[axis])
    return number if kind == 1 else word


def _ticks(axis: Any, values: Sequence[float]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:.3g}")
