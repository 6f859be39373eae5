"""`penstock validate`."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli import options
from penstock.validate.ns2.command import validate


@options.command("validate")
@click.option("--cases", type=options.PATH, metavar="FILE", help="Cases [default: those shipped].")
@click.option("--results", type=options.PATH, metavar="FILE", help="What ns-2 measured on them.")
@click.option("--out", type=options.PATH, metavar="FILE", help="The report [default: docs/validation.md].")
@click.option(
    "--pairs", type=options.PATH, metavar="FILE", default="out/pairs.csv", show_default=True, help="Every pair, as CSV."
)
@options.jobs
def command(cases: Path | None, results: Path | None, out: Path | None, pairs: Path, jobs: int | None) -> int:
    """Run ns-2's cases, and compare with it pair by pair.

    A pair is one metric of one case. The report counts the pairs that agree, and has those that do not, with their
    numbers and why they differ. Outside a checkout of Penstock it is written into the current folder.
    """
    return validate(cases, results, out, pairs, jobs)
