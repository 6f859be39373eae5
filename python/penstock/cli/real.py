"""What the commands that send real packets share: their options, their file, and their result."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli import options
from penstock.cli.inputs import assignments, seconds_of
from penstock.cli.output import report, warn, whole, write_result
from penstock.emulation import Emulated
from penstock.emulation.table import emulated_table
from penstock.errors import ScenarioError
from penstock.model.discipline import discipline
from penstock.model.scenario import Scenario

pcap = click.option("--pcap", type=options.PATH, metavar="FILE", help="Capture packets.")
pcap_link = click.option(
    "--pcap-link",
    type=options.Word(["bottleneck", "bottleneck:out"]),
    default="bottleneck",
    show_default=True,
    help="Packets as they arrive at the router, or with :out as they leave it, with the marks that it makes.",
)
live = click.option("--live", is_flag=True, help="Draw the queue while it runs.")
no_fifo = click.option("--no-fifo", is_flag=True, help="Do not ask for real-time scheduling.")


def link(file: str, duration: str | None, aqm: str | None, changes: tuple[str, ...]) -> tuple[Scenario, bool]:
    """Returns the scenario of a file, which may be a link alone, with the command's changes, and whether it has
    traffic."""
    wanted = assignments(changes, "--set")
    if duration is not None:
        if seconds_of("--duration", duration) <= 0:
            raise ScenarioError(f"--duration {duration!r}: must be above 0 s")
        wanted["duration"] = duration
    found = None if aqm is None else discipline(aqm, "--aqm")
    scenario, has_traffic = Scenario.load_link(file, wanted, () if found is None else (found,))
    return scenario if found is None else scenario.with_aqm(found), has_traffic


def show(as_json: bool, out: Path | None, result: Emulated, *, links: bool) -> None:
    """Writes the result where that was asked for, and shows it."""
    try:
        if out is not None:
            write_result(out, result)
    finally:  # what took real time is shown, also where the disk is full
        report(as_json, result.json, lambda: whole(emulated_table(result), result, links=links))
        warn(result.warnings)
