"""`penstock schema`."""

from __future__ import annotations

import click

from penstock import _penstock
from penstock.cli.output import say


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of a scenario, for editors.

    Editors complete and check scenarios with it.
    """
    say(_penstock.schema())
