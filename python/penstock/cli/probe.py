"""`penstock probe`."""

from __future__ import annotations

from pathlib import Path

import click

from penstock._names import kind_named, kinds
from penstock.cli import options
from penstock.cli.inputs import assignments, scenario_of
from penstock.cli.output import report
from penstock.cli.picture import Picture
from penstock.model.scenario import Scenario
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
    scenario = _common(what, changes) if what in kinds() else _of_file(what, changes)
    picture = Picture(figure, style)
    probed = probing.probe(scenario, capable=not not_capable, flows=flows)
    picture.draw(probed.plot)
    report(as_json, probed.json, lambda: probe_table(probed))


def _common(kind: str, changes: tuple[str, ...]) -> Scenario:
    """Returns the common link under a kind."""
    return probing.scenario(kind).set_all(assignments(changes, "--set"))


def _of_file(what: str, changes: tuple[str, ...]) -> Scenario:
    """Returns a file's scenario; what is no file was meant to be a kind, unless it is called like a scenario."""
    if not what.endswith(".toml") and not Path(what).is_file():
        own = "penstock.probe takes a scenario with an instance of it in Python: penstock.Scenario.with_aqm"
        kind_named(what, "FILE|KIND", own)
    return scenario_of(what, changes)
