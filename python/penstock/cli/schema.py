"""`penstock schema`."""

from __future__ import annotations

from penstock import _penstock
from penstock.cli import options
from penstock.cli.output import say


@options.command("schema")
def command() -> None:
    """Print the JSON Schema of a scenario, for editors.

    Editors complete and check scenarios with it.
    """
    say(_penstock.schema())
