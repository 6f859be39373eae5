"""Both sides of a comparison with real packets as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock._text import visible
from penstock.show.numbers import number, scale
from penstock.show.table import Bold, Table
from penstock.validate.real.summary import HEADLINES, word

if TYPE_CHECKING:
    from rich.console import Group

    from penstock.validate.real.compare import Agreement


def agreement_table(agreement: Agreement) -> Group:
    """Returns one scenario on real packets and in the simulator, metric by metric, and what the real runs were like."""
    from rich.console import Group
    from rich.text import Text

    real, simulated = len(agreement.real.runs), len(agreement.simulated.runs)
    seconds = f"{agreement.real.scenario.duration_s:g} s"
    table = Table(f"{agreement.name} · {seconds} · {real} real runs, {simulated} simulated")
    table.add_column("metric")
    for name in ("real", "simulated"):
        table.add_column(name, justify="right")
    table.add_column("")
    table.add_column("difference", justify="right")
    table.add_column("verdict")
    for pair in agreement.pairs:
        factor, unit = scale(pair.metric, max(abs(pair.real.mean or 0.0), abs(pair.simulated.mean or 0.0)))
        said = word(pair.verdict)
        table.add_row(
            pair.metric,
            number(pair.real, factor),
            number(pair.simulated, factor),
            unit,
            pair.verdict.difference,
            Bold(said) if pair.verdict.agrees is False else said,
        )
    table.caption = "mean ± 95 % interval (Student's t); the difference is that of the simulated mean to the real one"
    late = max(e["late_p99_s"] or 0.0 for e in agreement.emulations)
    lines = [
        f"{len(agreement.emulations)} valid real runs; 99 % of their frames were at most {late * 1e6:.0f} µs late",
        *(f"not counted, seed {each.seed}: {'; '.join(each.because)}" for each in agreement.invalid),
        *(f"note: {note}" for note in dict.fromkeys(n for e in agreement.emulations for n in e["notes"])),
    ]
    return Group(table, *(Text(visible(line)) for line in lines))


def agreements_table(agreements: Sequence[Agreement]) -> Table:
    """Returns a table of scenarios, one row each: the two metrics that the bounds are about, and others that differ."""
    table = Table("simulated against real")
    table.add_column("scenario")
    for name in HEADLINES:
        table.add_column(name, justify="right")
    table.add_column("differs")
    for each in agreements:
        pairs = {pair.metric: pair for pair in each.pairs}
        cells = [
            f"{pairs[name].verdict.difference} {'agrees' if pairs[name].verdict.agrees else 'differs'}"
            for name in HEADLINES
        ]
        differ = ", ".join(pair.metric for pair in each.pairs if pair.verdict.agrees is False)
        table.add_row(each.name, *cells, differ or "–")
    return table
