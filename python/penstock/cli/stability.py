"""`penstock stability`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from penstock.cli import options
from penstock.cli.inputs import scenario_of
from penstock.cli.output import report, say
from penstock.cli.picture import Picture
from penstock.errors import ScenarioError
from penstock.fluid.stability import stability
from penstock.fluid.tables import lines, stability_table
from penstock.show.progress import Bar


@options.command("stability")
@options.file
@options.changes()
@click.option("--flows", metavar="A:B", help="Numbers of flows: a range, or values with commas between them.")
@click.option("--rtt", metavar="A:B", help="Round trips over an empty queue, likewise: 20ms:200ms.")
@click.option("--simulate", is_flag=True, help="Run every point, too, and look for the oscillation in its queue.")
@options.seeds("Runs of every point, with --simulate [default: 3].", None)
@options.jobs
@options.figure()
@options.as_json()
def command(
    file: str,
    changes: tuple[str, ...],
    simulate: bool,
    seeds: int | None,
    figure: Path | None,
    style: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Say by the fluid model whether FILE's queue settles.

    Every point of FILE's [sweep], and of --flows and --rtt, has its balance, crossover frequency, gain and phase
    margins. There is a model for red, ared, rared, mecn, amecn, pi and rem, and for long Reno transfers over a
    dumbbell. docs/stability.md derives it.
    """
    picture = Picture(figure, style)
    if seeds is not None and not simulate:
        raise ScenarioError("--seeds: needs --simulate, which makes runs")
    with Bar("simulating") as bar:
        found = stability(scenario_of(file, changes), simulate=simulate, seeds=seeds, progress=bar, **asked)
    picture.draw(found.plot)
    report(as_json, found.json, lambda: stability_table(found))
    if not as_json:
        for line in lines(found):
            say(line)
