"""The processes of an emulation: how they are made, asked, given programs, and ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from penstock import _penstock
from penstock.emulation import ends
from penstock.errors import ScenarioError, SimulationError

if TYPE_CHECKING:
    from penstock.model.scenario import Scenario

#: The hosts, in the order of their network namespaces.
HOSTS = ("client", "server")


class EmulationError(SimulationError):
    """The machine does not allow an emulation, or a program in it failed; the message says which and what helps."""


@dataclass(frozen=True, slots=True)
class Status:
    """How far an emulation is.

    t_s: seconds since its beginning.
    queue_pkts: packets that wait at the bottleneck now.
    received, dropped, marked: frames so far.
    """

    t_s: float
    queue_pkts: int
    received: int
    dropped: int
    marked: int


class EndedError(EmulationError):
    """The emulation has ended: nobody answers any more."""


class Processes:
    """An emulation that runs beside this process. It is asked by a socket, and has an answer when it has ended.

    environment: what programs on the hosts find in their environment.
    """

    def __init__(self, child: ends.Child, control: socket.socket, answer: IO[bytes]) -> None:
        self.environment: dict[str, str] = {}
        self._child, self._control, self._answer = child, control, answer
        self._lines = control.makefile("rb")
        self._lock = threading.Lock()
        self._spaces: list[int] = []
        self._programs: list[subprocess.Popen[Any]] = []

    def fileno(self) -> int:
        """Returns the socket's descriptor. Between two questions it can be read once the emulation has ended."""
        return self._control.fileno()

    def ask(self, request: str | dict[str, Any]) -> Any:
        """Returns the answer to a request. Raises `EndedError` after the end, `ScenarioError` where it refuses."""
        with self._lock:
            self._send(request)
            try:
                line = self._lines.readline()
            except ConnectionError:
                line = b""
            except BaseException:  # half an answer: nothing fits together any more
                self._control.close()
                raise
        if not line:
            raise EndedError("the emulation has ended")
        said = json.loads(line)
        if "error" in said:
            raise ScenarioError(said["error"])
        return said["ok"]

    def listening(self, host: str) -> list[int]:
        """Returns the TCP ports at which programs listen on a host."""
        found: list[int] = self.ask({"listening": HOSTS.index(host)})
        return found

    def end(self, exit_code: int | None, notes: list[str]) -> None:
        """Lets the run end now, with the exit code of its program and what there is to say of others."""
        with self._lock, contextlib.suppress(EndedError):
            self._send({"end": {"exit_code": exit_code, "notes": notes}})

    def _send(self, request: object) -> None:
        try:
            self._control.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            raise EndedError("the emulation has ended") from None

    def take_hosts(self) -> None:
        """Takes over the hosts, as soon as they are there: programs can be started on them."""
        try:
            line, found, _, _ = socket.recv_fds(self._control, 1 << 16, 8)
        except ConnectionError:
            line, found = b"", []
        if not line:
            raise EndedError("the emulation has ended")
        self.environment = json.loads(line)
        self._spaces = found
        for descriptor in found:
            os.set_inheritable(descriptor, False)

    def start(
        self, args: Any, host: str, *, terminal: bool = False, jobs: bool = False, **keys: Any
    ) -> subprocess.Popen[Any]:
        """Starts a program on a host, as `subprocess.Popen` does; a string is a line for the shell."""
        process = subprocess.Popen(args, **self.keys(args, host, keys, terminal=terminal, jobs=jobs))
        self._programs.append(process)
        return process

    def keys(
        self, args: Any, host: str, keys: dict[str, Any], *, terminal: bool = False, jobs: bool = False
    ) -> dict[str, Any]:
        """Returns what `subprocess` has to be told beside `keys` so that a program runs on a host.

        terminal: it gets the terminal on standard input.
        jobs: it may be stopped from there.
        """
        if host not in HOSTS:
            raise ScenarioError(f"on = {host!r}: allowed: {', '.join(HOSTS)}")
        if not self._spaces:
            raise EndedError("the emulation has ended")
        # Of users first, where there is one: it gives the right to the others.
        networks, (processes, mounts, *users) = self._spaces[:2], self._spaces[2:]
        spaces = [*users, networks[HOSTS.index(host)], processes, mounts]
        before = keys.get("env")
        return {
            "shell": isinstance(args, str),
            **keys,
            "env": {**(os.environ if before is None else before), **self.environment},
            "preexec_fn": lambda: _penstock.emulate_enter(spaces, terminal, jobs),
        }

    def result(self) -> str:
        """Waits for the end, and returns the answer. Raises `EmulationError` and the like where there is none."""
        self._child.wait()
        self._answer.seek(0)
        found = self._answer.read().decode()
        if not found:
            raise EmulationError(f"the emulation's process ended unexpectedly ({_ending(self._child.status or 0)})")
        document = json.loads(found)
        if "error" not in document:
            return found
        kind, message = document["error"]["kind"], document["error"]["message"]
        if kind == "interrupted":
            raise KeyboardInterrupt
        if kind == "capture":
            raise OSError(int(message), os.strerror(int(message)))
        raise (ScenarioError if kind == "scenario" else EmulationError)(message)

    def close(self) -> None:
        """Ends what still runs, and gives everything back."""
        try:
            self._child.end()
        finally:
            self._lines.close()
            self._control.close()
            for descriptor in self._spaces:
                os.close(descriptor)
            self._spaces = []
            for process in self._programs:  # the kernel has ended them with their namespace
                process.wait()


@contextlib.contextmanager
def processes(
    scenario: Scenario, seed: int, options: str, *, here: bool, rootless: bool, lent: bool
) -> Iterator[Processes]:
    """An emulation in a process outside the caller's network, and the first of a process namespace below that. After
    the block it has ended.

    here: in one process in the caller's network.
    lent: a program gets the terminal on standard input.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    with tempfile.TemporaryFile() as answer, contextlib.ExitStack() as stack:
        if lent:
            stack.enter_context(ends.lent_terminal())
        mine, theirs = socket.socketpair()
        with ends.held():
            parent = os.getpid()
            pid = os.fork()
            if pid == 0:
                mine.close()
                if here:
                    _inner(scenario, seed, options, "root", answer.fileno(), theirs.detach())
                _outer(scenario, seed, options, rootless, parent, answer.fileno(), theirs)
            theirs.close()
            held = Processes(ends.Child(pid), mine, answer)
            stack.callback(held.close)
        yield held


def _outer(
    scenario: Scenario, seed: int, options: str, rootless: bool, parent: int, answer: int, control: socket.socket
) -> None:
    """Runs in the first child: leaves the network, makes the second, and waits for it. Never returns.

    Of the signals that end processes, both children hear SIGTERM alone, which the caller sends.
    """
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        privilege = _penstock.emulate_isolate(rootless)
        if os.getppid() != parent:  # it ended before this process asked to die with it
            os._exit(1)
        inner = os.fork()
        if inner == 0:
            _inner(scenario, seed, options, privilege, answer, control.detach())
        control.close()
        signal.signal(signal.SIGTERM, lambda number, _: os.kill(inner, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        _, ended = os.waitpid(inner, 0)
        code = 0 if os.waitstatus_to_exitcode(ended) == 0 else 1
    except BaseException as error:
        _write(answer, _failure(error))
    finally:
        os._exit(code)


def _inner(scenario: Scenario, seed: int, options: str, privilege: str, answer: int, control: int) -> None:
    """Runs in the second child, or in the only one: emulates. Never returns."""
    code = 1
    try:
        signal.signal(signal.SIGTERM, _terminated)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        _write(answer, _penstock.emulate_run(scenario.core, seed, options, privilege, control))
        code = 0
    except BaseException as error:
        _write(answer, _failure(error))
    finally:
        os._exit(code)


def _terminated(*_: object) -> None:
    raise KeyboardInterrupt


def _failure(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return json.dumps({"error": {"kind": "interrupted", "message": "interrupted"}})
    if isinstance(error, SimulationError):
        with contextlib.suppress(ValueError):
            return json.dumps({"error": json.loads(str(error))})
    return json.dumps({"error": {"kind": "failed", "message": f"{type(error).__name__}: {error}"}})


def _write(descriptor: int, text: str) -> None:
    data = text.encode()
    while data:
        data = data[os.write(descriptor, data) :]


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit {code}"
