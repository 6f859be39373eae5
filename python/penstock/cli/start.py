"""The program from its words to its exit code.

Exit 0: done; 1: the machine failed (a full disk), or a run did; 2: the input was wrong, which one message says, and
nothing was run or written; 130: Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from penstock.cli.output import EXIT_FAILED, EXIT_INPUT, EXIT_INTERRUPTED, EXIT_PIPE, fail
from penstock.cli.plain import run_asked
from penstock.errors import Error


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program and returns its exit code.

    argv: what stands behind `penstock`; default: what this process was called with.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if not _streams():
        return fail("the standard output is closed: > /dev/null discards what is printed", EXIT_FAILED)
    try:
        code = 0
        given = run_asked(words)
        if given is None:
            from penstock.cli.app import by_click

            code = by_click(words)
        else:
            from penstock.cli.simulate import simulate

            simulate(**given)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print(file=sys.stderr)  # a terminal has written ^C there
        return fail("interrupted", EXIT_INTERRUPTED)
    except (Error, ValueError) as error:
        return fail(str(error), EXIT_INPUT)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`). Without this Python would complain once more while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), EXIT_FAILED)


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
