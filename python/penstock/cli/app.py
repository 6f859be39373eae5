"""The program: its commands, and how it ends.

Exit 0: done; 1: the machine failed (a full disk), or a run did; 2: the input was wrong, which one message says, and
nothing was run or written; 130: Ctrl-C.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from penstock import _penstock
from penstock.cli.output import EXIT_FAILED, EXIT_INPUT, EXIT_INTERRUPTED, EXIT_PIPE, fail
from penstock.errors import Error

#: Command → its module in this package, which is loaded when the command is used.
COMMANDS = {
    "compare": "compare",
    "emulate": "emulate",
    "export": "export",
    "init": "init",
    "list": "list_",
    "probe": "probe",
    "reproduce": "reproduce",
    "run": "run",
    "schema": "schema",
    "show": "show",
    "sweep": "sweep",
    "validate": "validate",
    "validate-real": "validate_real",
}


class Program(click.Group):
    """A group whose commands are loaded when they are used, so that `penstock list` does not load Dask or Arrow."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the commands in the order of `--help`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Loads a command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"penstock.cli.{COMMANDS[cmd_name]}")
        command: click.Command = module.command
        return command


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(_penstock.__version__, package_name="penstock", message="%(prog)s %(version)s")
def program() -> None:
    """Simulate active queue management and TCP, compare disciplines, and see what happens in the queue.

    Start with `penstock init`, then `penstock run scenario.toml`.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program and returns its exit code."""
    try:
        code = program.main(args=None if argv is None else list(argv), prog_name="penstock", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, click.Abort):
        return fail("interrupted", EXIT_INTERRUPTED)
    except click.ClickException as error:
        return fail(error.format_message(), EXIT_INPUT)
    except (Error, ValueError) as error:
        return fail(str(error), EXIT_INPUT)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`). Without this Python would complain once more while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), EXIT_FAILED)
