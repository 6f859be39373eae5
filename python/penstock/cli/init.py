"""`penstock init`."""

from __future__ import annotations

from pathlib import Path

import click

from penstock import _penstock
from penstock._names import command as command_line
from penstock.cli import options
from penstock.cli.output import tell
from penstock.errors import ScenarioError


@options.command("init")
@click.argument("name", default="scenario")
def command(name: str) -> None:
    """Write a commented scenario to start from: NAME.toml.

    Without NAME it is scenario.toml.
    """
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    try:
        with path.open("x", encoding="utf-8") as file:  # fails if it exists, also when another process just made it
            file.write(_penstock.init_template())
    except FileExistsError:
        raise ScenarioError(f"{path}: exists already; give another name") from None
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from None
    tell(f"{path}: try {command_line('run', path)}")
