"""`penstock run`, as Click reads it. Most calls are read without Click, by `plain`."""

from __future__ import annotations

from typing import Any

import click

from penstock.cli import options
from penstock.cli.simulate import simulate


@click.command("run", help=simulate.__doc__)
@options.simulation
@options.pcap
@click.option(
    "--pcap-link",
    default="bottleneck",
    metavar="LINK[:out]",
    show_default=True,
    help="The link to capture, both directions: packets as they arrive at its queue, including those that it drops; "
    "with :out as they leave the queue, with the CE marks that it sets.",
)
@click.option(
    "--warm-up-check", is_flag=True, help="Say on stderr whether the measured window starts before the queue settles."
)
def command(**given: Any) -> None:
    """What was given goes to what the command does, by name."""
    simulate(**given)
