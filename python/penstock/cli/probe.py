"""`penstock probe`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from penstock import _penstock
from penstock.cli import options
from penstock.cli.inputs import changed, scenario_of
from penstock.cli.output import report
from penstock.cli.picture import Picture
from penstock.runs import probing
from penstock.show.list_tables import probe_table


@click.command("probe")
@click.argument("what", metavar="FILE|KIND")
@options.changes()
@click.option("--not-capable", is_flag=True, help="Packets that may not be marked.")
@click.option("--flows", default=5, show_default=True, type=click.IntRange(min=1), help="Flows that send in turn.")
@options.figure()
@options.as_json()
def command(
    what: str,
    changes: tuple[str, ...],
    not_capable: bool,
    flows: int,
    figure: Path | None,
    style: str | None,
    as_json: bool,
) -> None:
    """Hold the queue, and count what is marked and dropped.

    This is a discipline's profile: its answer 0.1 s, 1 s and 10 s after the start, at every length of the queue. FILE
    is a scenario, whose bottleneck is taken. KIND is a discipline on a link of 10 Mbit/s, 20 ms and 100 packets, with
    ECN.
    """
    kinds = [row["name"] for row in json.loads(_penstock.list_json("aqm"))]
    scenario = changed(probing.scenario(what), changes) if what in kinds else scenario_of(Path(what), changes)
    picture = Picture(figure, style)
    probed = probing.probe(scenario, capable=not not_capable, flows=flows)
    picture.draw(probed.plot)
    report(as_json, probed.json, lambda: probe_table(probed))
