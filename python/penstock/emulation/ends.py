"""Signals that end this process while an emulation's processes run beside it, and the terminal that a program had."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator

#: Seconds that the processes have after SIGTERM. Of them a program has one, then SIGKILL ends it.
PATIENCE_S = 3.0


class Signalled(BaseException):
    """A signal asks this process to end.

    number: which.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """Raises `Signalled` in the block at a signal that would end this process at once (SIGTERM, SIGHUP, SIGQUIT).

    Where somebody else handles or ignores a signal, and outside of the main thread, nothing changes.
    """

    def hear(number: int, _: object) -> None:
        raise Signalled(number)

    main = threading.current_thread() is threading.main_thread()
    numbers = [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT] if main else []
    mine = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in mine:
            signal.signal(number, hear)
        yield
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def held() -> Iterator[set[signal.Signals]]:
    """Lets the signals that may end this process wait until the block is left. A process forked in it begins with them
    waiting, and with their dispositions as they are: what it starts ignores what the caller ignores (`nohup`).
    """
    numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield numbers
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Child:
    """A child of this process.

    pid: its id, its own until its end has been noted.
    status: how it ended, as `os.waitpid` says; `None` before that is noted.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None

    def wait(self, flags: int = 0) -> bool:
        """Waits for its end (with `os.WNOHANG`: looks), and returns whether it has ended."""
        if self.status is None:
            try:
                pid, status = os.waitpid(self.pid, flags)
            except ChildProcessError:  # SIGCHLD is ignored: the kernel keeps no end
                pid, status = self.pid, 0
            if pid == self.pid:
                self.status = status
        return self.status is not None

    def end(self) -> None:
        """Ends it, if it still runs: SIGTERM, time to obey, and SIGKILL."""
        try:
            if not self.wait(os.WNOHANG):
                os.kill(self.pid, signal.SIGTERM)
            until = time.monotonic() + PATIENCE_S
            while not self.wait(os.WNOHANG) and time.monotonic() < until:
                time.sleep(0.005)
        finally:  # also where a second Ctrl-C does not wait
            if not self.wait(os.WNOHANG):
                os.kill(self.pid, signal.SIGKILL)
                self.wait()


def in_foreground() -> bool:
    """Returns whether the terminal on standard input, if it is one, is this process group's."""
    with contextlib.suppress(OSError):
        return os.tcgetpgrp(0) == os.getpgrp()
    return False


@contextlib.contextmanager
def lent_terminal() -> Iterator[None]:
    """Takes the terminal on standard input back from the program that had it in the block, and with it the settings
    that the program may have changed.
    """
    import termios

    settings = termios.tcgetattr(0)
    # Where another of the group uses the terminal from the background (`| less`), the kernel stops the whole group.
    # This process and its children go on; the other one does when the terminal is back.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTIN, signal.SIGTTOU})
    try:
        yield
    finally:
        with contextlib.suppress(OSError, termios.error):
            os.tcsetpgrp(0, os.getpgrp())
            termios.tcsetattr(0, termios.TCSANOW, settings)
        os.killpg(0, signal.SIGCONT)  # takes away what waits to stop this process, too
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
