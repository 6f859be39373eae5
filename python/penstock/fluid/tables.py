"""The tables of `penstock stability` on the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.fluid.limits import OSCILLATES
from penstock.fluid.range import Case, Range
from penstock.judging.estimate import Estimate
from penstock.show.numbers import number
from penstock.show.table import Table
from penstock.sweeps.values import text

#: Axes that the columns of flows and round trips show.
_SHOWN = ("flows", "delay")


def stability_table(found: Range) -> Table:
    """Returns a line for each point: its balance, and its margins or the reason why it has none."""
    table = Table(f"{found.name}: {found.kind}")
    others = [axis for axis in found.axes if axis.rsplit(".", 1)[-1] not in _SHOWN]
    simulated = any(case.swing is not None for case in found.cases)
    for axis in others:
        table.add_column(axis, justify="right")
    columns = ["flows", "RTT\nms", "queue\npackets", "window\npackets", "signals\n%", "crossover\nrad/s"]
    columns += ["gain margin\ndB", "phase margin\ndeg", "stable"]
    columns += ["sd, model\npackets", "sd, runs\npackets", "rhythm\nruns", "oscillates\nruns"] if simulated else []
    for header in columns:
        table.add_column(header, justify="right")
    for case in found.cases:
        cells = [text(case.at[axis]) for axis in others] + _model(case) + (_runs(case) if simulated else [])
        table.add_row(*cells)
    table.caption = " ".join(_caption(found, simulated))
    return table


def lines(found: Range) -> list[str]:
    """Returns what is to be said besides the table: why points have no margins, notes, RARED's threshold."""
    said: dict[str, int] = {}
    for case in found.cases:
        for line in ([f"no margin: {case.why}"] if case.why else []) + [
            f"note: {note}" for note in [*case.notes, *case.doubts]
        ]:
            said[line] = said.get(line, 0) + 1
    told = [line if len(found.cases) == 1 else f"{line} ({_points(n)})" for line, n in _few(said)]
    return told + _slopes(found.cases)


def _model(case: Case) -> list[str]:
    where = [f"{case.path.flows:g}", f"{case.path.rtt_s * 1e3:.4g}"]
    if case.loop is None or case.margins is None:
        return [*where, "–", "–", "–", "–", "–", "–", "no margin"]
    at, margin = case.loop.at, case.margins
    return [
        *where,
        f"{at.queue:.1f}",
        f"{at.window:.1f}",
        f"{100 * at.signals:.3g}",
        "–" if margin.crossover_rad_s is None else f"{margin.crossover_rad_s:.3g}",
        "–" if margin.gain_margin is None else f"{20 * math.log10(margin.gain_margin):+.1f}",
        "–" if margin.phase_margin_deg is None else f"{margin.phase_margin_deg:+.0f}",
        "yes" if margin.stable else "no",
    ]


def _runs(case: Case) -> list[str]:
    if case.swing is None or case.loop is None:
        return ["–"] * 4
    from penstock.fluid.margins import expected_sd

    swing = case.swing
    expected = f"{expected_sd(case.loop):.1f}" if case.stable else "–"
    return [expected, _short(swing.sd_pkts), _short(swing.rhythm), "yes" if swing.oscillates else "no"]


def _short(estimate: Estimate) -> str:
    return number(estimate)


def _caption(found: Range, simulated: bool) -> list[str]:
    judged = [case for case in found.cases if case.margins is not None]
    stable = sum(case.stable is True for case in judged)
    said = [f"{stable} of {_points(len(found.cases))} stable, {len(judged) - stable} not"]
    if len(judged) < len(found.cases):
        said[0] += f", {len(found.cases) - len(judged)} without a margin"
    said[0] += "."
    if simulated:
        said.append(f"A run oscillates where its rhythm is at least {OSCILLATES}.")
    return said


def _slopes(cases: Sequence[Case]) -> list[str]:
    slopes = [case.slopes for case in cases if case.slopes is not None]
    if not slopes:
        return []
    rule, force = [each[0] for each in slopes], [each[1] for each in slopes]
    return [
        f"slope_th: the rule for this link, round trip and w_q gives {_span(rule)} packets/s; in force: {_span(force)}"
    ]


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"


def _points(n: int) -> str:
    return "1 point" if n == 1 else f"{n} points"


def _few(said: dict[str, int], most: int = 6) -> list[tuple[str, int]]:
    """Returns the commonest lines."""
    return sorted(said.items(), key=lambda item: -item[1])[:most]
