"""`penstock show`."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli import options
from penstock.cli.output import draw, say
from penstock.cli.picture import Picture
from penstock.sweeps import show
from penstock.sweeps.tables import tables


@options.command("show")
@options.folder
@click.argument("metric", required=False)
@click.option("--over", metavar="AXIS", help="The axis of the table's rows and the figure: a key path, or variant.")
@click.option("--by", metavar="AXIS", help="A line for each value of this axis.")
@click.option(
    "--ci",
    type=options.Word(["t", "bootstrap"]),
    default="t",
    show_default=True,
    help="Intervals by Student's t, or bootstrap ones, which need not be symmetric.",
)
@click.option(
    "--against",
    metavar="AXIS=VALUE",
    help="Differences of the axis' other values against this one, paired by seed: variant=droptail, aqm.min_th=5.",
)
@options.figure()
@options.as_json()
def command(
    folder: Path,
    metric: str | None,
    over: str | None,
    by: str | None,
    ci: str,
    against: str | None,
    figure: Path | None,
    style: str | None,
    as_json: bool,
) -> None:
    """Show METRIC of a sweep's runs over any axis.

    The runs are those that `penstock sweep` kept in DIR; intervals are of 95 %. Without --over: over every axis that
    varies. Axes that are not shown are averaged within each seed. Without METRIC: a few that matter most.
    """
    picture = Picture(figure, style)
    shown = show.show(folder, metric, over, by, ci=ci, against=against)
    if figure is not None:
        from penstock.sweeps.figure import draw as drawn

        picture.draw(lambda: drawn(shown))
    if as_json:
        say(shown.json())
        return
    for table in tables(shown, metric or str(folder)):
        draw(table)
