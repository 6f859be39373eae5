"""`penstock export`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from penstock.cli import options
from penstock.runs.tasks import SERIES
from penstock.sweeps.export import export


@options.command("export")
@options.folder
@click.option("--csv", "as_csv", is_flag=True, required=True, help="As CSV, one line per row, on stdout.")
@click.option(
    "--table",
    type=options.Word(("runs", "flows", *SERIES)),
    default="runs",
    show_default=True,
    help="What to write; all except runs only if the sweep was told to keep them.",
)
def command(folder: Path, as_csv: bool, table: str) -> None:
    """Write the runs of a sweep as CSV.

    These are the runs that `penstock sweep` kept in DIR, in the order of their keys.
    """
    assert as_csv
    sys.stdout.flush()
    export(folder, sys.stdout.buffer, table)
