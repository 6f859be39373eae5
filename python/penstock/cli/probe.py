"""`penstock probe`."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli import options
from penstock.cli.inputs import assignments, scenario_of
from penstock.cli.output import report
from penstock.cli.picture import Picture
from penstock.errors import ScenarioError
from penstock.model.discipline import discipline
from penstock.model.scenario import Scenario
from penstock.runs import probing
from penstock.show.list_tables import probe_table


@options.command("probe")
@click.argument("what", metavar="FILE|DISCIPLINE")
@options.aqm()
@options.changes()
@click.option("--not-capable", is_flag=True, help="Packets that may not be marked.")
@click.option("--flows", default=5, show_default=True, type=click.IntRange(min=1), help="Flows that send in turn.")
@options.figure()
@options.as_json()
def command(
    what: str,
    aqm: str | None,
    changes: tuple[str, ...],
    not_capable: bool,
    flows: int,
    figure: Path | None,
    style: str | None,
    as_json: bool,
) -> None:
    """Hold the queue, and count what is marked and dropped.

    This is a discipline's profile: its answer 0.1 s, 1 s and 10 s after the start, at every length of the queue. FILE
    is a scenario, whose bottleneck is taken. DISCIPLINE (red, red:min_th=20, my_aqm.py:Mine) is put on a link of 10
    Mbit/s, 20 ms and 100 packets, with ECN.
    """
    scenario = _probed(what, aqm, changes)
    picture = Picture(figure, style)
    probed = probing.probe(scenario, capable=not not_capable, flows=flows)
    picture.draw(probed.plot)
    report(as_json, probed.json, lambda: probe_table(probed))


def _probed(what: str, aqm: str | None, changes: tuple[str, ...]) -> Scenario:
    """Returns the scenario of a file, or the common link under a discipline; what is no file was meant to be one,
    unless it is called like a scenario."""
    if what.endswith(".toml") or Path(what).is_file():
        return scenario_of(what, changes, aqm)
    if aqm is not None:
        raise ScenarioError(f"--aqm {aqm}: {what} is no file, and so it is the discipline already")
    made = probing.common_link().with_aqm(discipline(what, "FILE|DISCIPLINE"))
    return made.set_all(assignments(changes, "--set"))
