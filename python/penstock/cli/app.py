"""The program from its words to its exit code, and its commands as Click reads them.

Exit 0: done; 1: the machine failed (a full disk), or a run did; 2: the input was wrong, which one message says, and
nothing was run or written; 130: Ctrl-C.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Sequence

import click

from penstock import _penstock
from penstock._names import known
from penstock.cli.output import EXIT_FAILED, EXIT_INPUT, EXIT_INTERRUPTED, EXIT_PIPE, fail
from penstock.errors import Error

#: Each command with its line of help. Its module in this package is loaded when it is used, so that `penstock --help`
#: loads neither Arrow nor the papers; a test compares the lines with what the modules say.
COMMANDS = {
    "bridge": "Put FILE's bottleneck between two interfaces.",
    "compare": "Run FILE under several disciplines, paired by seed.",
    "config": "Write FILE's queue as a router takes it, or read one.",
    "emulate": "Run FILE on real packets, between two namespaces.",
    "evaluate": "Judge disciplines by RFC 7928, with DropTail beside them.",
    "export": "Write the runs of a sweep as CSV.",
    "init": "Write a commented scenario to start from: NAME.toml.",
    "kernel": "Put FILE's discipline into this machine's kernel.",
    "list": "List disciplines, TCPs, traffic, metrics, profiles.",
    "probe": "Hold the queue, and count what is marked and dropped.",
    "reproduce": "Reproduce the papers' figures, and judge their claims.",
    "run": "Run the scenario in FILE.",
    "schema": "Print the JSON Schema of a scenario, for editors.",
    "show": "Show METRIC of a sweep's runs over any axis.",
    "stability": "Say by the fluid model whether FILE's queue settles.",
    "sweep": "Run every point of FILE's [sweep] with every seed.",
    "tune": "Find a discipline's parameters for a range of conditions.",
    "validate": "Run ns-2's cases, and compare with it pair by pair.",
    "validate-real": "Compare the simulator with real packets, by metric.",
}


class Program(click.Group):
    """A group whose commands are loaded when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the commands in the order of `--help`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Loads a command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"penstock.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command that the words name, or says which is nearest."""
        if args and not args[0].startswith("-"):
            known(args[0], COMMANDS, "command")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands' lines of help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(_penstock.__version__, package_name="penstock", message="%(prog)s %(version)s")
def program() -> None:
    """Simulate active queue management and TCP, compare disciplines, and see what happens in the queue.

    Start with `penstock init`, then `penstock run scenario.toml`.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program and returns its exit code.

    argv: what stands behind `penstock`; default: what this process was called with.
    """
    if not _streams():
        return fail("the standard output is closed: > /dev/null discards what is printed", EXIT_FAILED)
    try:
        code = by_click(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print(file=sys.stderr)  # a terminal has written ^C there
        return fail("interrupted", EXIT_INTERRUPTED)
    except (Error, ValueError) as error:
        return _own_fault(error) or fail(str(error), EXIT_INPUT)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`). Without this Python would complain once more while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _own_fault(error) or fail(said, EXIT_FAILED)
    except (Exception, SystemExit) as error:
        fault = _own_fault(error)
        if fault is None:
            raise
        return fault


def _own_fault(error: BaseException) -> int | None:
    """Says what a discipline of the user's own did wrong, and returns the exit code; `None` where it was not that."""
    if "penstock.model.own_file" not in sys.modules:
        return None
    from penstock.model.own_file import files
    from penstock.runs.blame import of_discipline

    fault = of_discipline(error, files())
    return None if fault is None else fail(fault, EXIT_FAILED)


def by_click(words: Sequence[str]) -> int:
    """Runs the command that the words ask for, as Click reads them, and returns the exit code."""
    try:
        code = program.main(args=list(words), prog_name="penstock", standalone_mode=False)
    except click.Abort:
        return fail("interrupted", EXIT_INTERRUPTED)
    except click.NoSuchOption as error:
        return fail(_unknown_option(error), EXIT_INPUT)
    except click.ClickException as error:
        return fail(error.format_message(), EXIT_INPUT)
    return code if isinstance(code, int) else 0


def _unknown_option(error: click.NoSuchOption) -> str:
    """Returns what is said of an option that a command lacks: the nearest one, and all that it has."""
    params = error.ctx.command.params if error.ctx is not None else []
    names = [name for param in params if isinstance(param, click.Option) for name in param.opts]
    near = difflib.get_close_matches(error.option_name, names, n=2)  # what is left out of a name costs least here
    hint = f"; nearest: {', '.join(near)}" if near else ""
    return f"no option is called {error.option_name!r}{hint}; there are: {', '.join([*names, '--help'])}"


def _streams() -> bool:
    """Gives standard input and error a place where they are closed, so that no file that is opened takes theirs.
    Returns whether the standard output is open.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    return sys.stdout is not None
