"""Real packets: a scenario's bottleneck between two network namespaces of this machine, with the kernel's own TCP.

The queue is the simulator's own, discipline included; `penstock_emulate` (Rust) holds the packets. Everything happens
in processes of its own, which die together: the caller's network is never touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import _penstock
from penstock._files import replacing
from penstock.emulation import ends
from penstock.errors import ScenarioError, SimulationError
from penstock.model.scenario import Scenario, seconds
from penstock.runs.result import Result

#: Told about ten times a second.
Progress = Callable[["Status"], object]
#: Where a capture can be taken.
PCAP_LINKS = ("bottleneck", "bottleneck:out")


@dataclass(frozen=True, slots=True)
class Status:
    """How far an emulation is.

    t_s: seconds since its beginning, negative while it is prepared.
    queue_pkts: packets that wait at the bottleneck now.
    received, dropped, marked: frames so far.
    """

    t_s: float
    queue_pkts: int
    received: int
    dropped: int
    marked: int


class EmulationError(SimulationError):
    """The machine does not allow an emulation, or a program in it failed; the message says which and what helps."""


class Emulated(Result):
    """What an emulation gives: the simulator's metrics of one run, and how far reality was from the ideal path.

    emulation: backend, rights, priority, lateness (seconds), frames, marks that the receiving kernel counted, and
        whether the run is `valid`, with the reasons where it is not.
    """

    def __init__(self, scenario: Scenario, run: _penstock.RunResult, emulation: dict[str, Any]) -> None:
        super().__init__(scenario, [run])
        self.emulation = emulation
        self._document: str | None = None

    def json(self) -> str:
        """Returns the document of `penstock run --json`, with `emulation` beside its other parts."""
        if self._document is None:
            document = json.loads(super().json())
            document["emulation"] = self.emulation
            self._document = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        return self._document

    def _with_table(self, name: str) -> tuple[_penstock.RunResult, ...]:
        """Returns the run. Raises `ValueError` for a table that it has not recorded: the packets are gone."""
        if name not in self.runs[0].tables:
            raise ValueError(
                f'the emulation recorded no {name}: emulate(..., series="10 ms") records queue, cwnd and rtt'
            )
        return self.runs

    @property
    def valid(self) -> bool:
        """Returns whether the machine kept up."""
        return bool(self.emulation["valid"])


def emulate(
    scenario: Scenario | str | Path,
    *,
    seed: int | None = None,
    client: str | Sequence[str | os.PathLike[str]] | None = None,
    server: str | None = None,
    cc: str | None = None,
    download: bool = False,
    limited: bool = False,
    rootless: bool = False,
    backend: str | None = None,
    fifo: bool = True,
    series: str | float | None = None,
    pcap: str | Path | None = None,
    pcap_link: str = "bottleneck",
    progress: Progress | None = None,
) -> Emulated:
    """Runs a scenario on real packets, in real time.

    scenario: a dumbbell; its ftp, web and video traffic goes over the kernel's TCP.
    seed: of the discipline's random numbers, of starts, and of web's sizes and pauses; default: the scenario's.
    client: a program to run on the access side instead of the traffic: a line for the shell, or a sequence of the
        program and its arguments, of which an empty one is an interactive shell. It finds the server's address in
        `PENSTOCK_SERVER` (10.9.0.2). The run ends when it does. The file may then be a link alone.
    server: a line for the shell on the other side, started before.
    cc: the congestion control that own programs' TCP begins with; default: this machine's.
    download: the bottleneck's forward direction is from the server to the client.
    limited: own programs end after the scenario's duration at the latest. `measure` holds with and without it; where
        it has no `to`, the window ends with the run.
    rootless: use a user namespace even where this process is privileged.
    backend: `"tun"`, `"packet"` (AF_PACKET on veth); default: TUN where it may be opened.
    fifo: ask for real-time scheduling.
    series: sampling interval of the recorded series; default: nothing is recorded.
    pcap: write a capture there.
    pcap_link: `"bottleneck"`, frames as they arrive at the router, those that it drops among them; with `:out` as they
        leave it towards their hosts, with the marks that it made.
    progress: called about ten times a second.

    A signal to this process ends the programs first: SIGTERM, and after a second SIGKILL, for them and all that they
    started. Then SIGINT raises `KeyboardInterrupt`, as a program does that died of SIGINT; this process dies of
    SIGTERM, SIGHUP or SIGQUIT, where nobody else handles them.

    Raises `ScenarioError` for a scenario that real packets cannot play, `EmulationError` where the machine does not
    allow it or a program failed, `KeyboardInterrupt` as said.
    """
    if not sys.platform.startswith("linux"):
        raise EmulationError("emulation needs Linux: network namespaces hold its hosts")
    if pcap_link not in PCAP_LINKS:
        raise ScenarioError(f"pcap_link = {pcap_link!r}: emulation has one link; allowed: {', '.join(PCAP_LINKS)}")
    own = client is not None or server is not None
    if cc is not None and not own:
        raise ScenarioError("cc: it is own programs' (client, server); the scenario's flows have `tcp`")
    base = scenario if isinstance(scenario, Scenario) else _read(scenario, own)
    lent = own and ends.in_foreground()
    options: dict[str, Any] = {
        "backend": backend,
        "no_fifo": not fifo,
        "client": _words(client),
        "server": server,
        "cc": cc,
        "download": download,
        "limited": limited,
        "foreground": lent,
        "pcap_out": pcap_link.endswith(":out"),
        "series_s": seconds(series) if isinstance(series, str) else series,
        "mecn": mecn_program(),
    }
    with contextlib.ExitStack() as stack:
        stack.enter_context(_dies_afterwards())
        if pcap is not None:
            # The processes inherit the descriptor: the name under which the file is written may be out of their sight.
            options["pcap"] = f"/proc/self/fd/{stack.enter_context(replacing(Path(pcap))).fileno()}"
        text = _in_processes(base, base.seed if seed is None else seed, json.dumps(options), rootless, lent, progress)
    run, emulation = _penstock.emulate_report(text)
    return Emulated(base, run, json.loads(emulation))


def _read(file: str | Path, own: bool) -> Scenario:
    """Returns the scenario of a file, which for own programs may be a link alone."""
    return Scenario.load_link(file)[0] if own else Scenario.load(file)


def mecn_program() -> str | None:
    """Returns the program that makes multi-level ECN's two ends: the checkout's, else the one in PATH."""
    built = Path(__file__).parents[3] / "target" / "release" / "penstock-mecn"
    return str(built) if built.is_file() else shutil.which("penstock-mecn")


def _words(client: str | Sequence[str | os.PathLike[str]] | None) -> list[str] | None:
    """Returns the words of the client's command."""
    if isinstance(client, str):
        return ["/bin/sh", "-c", client]
    words = None if client is None else [os.fspath(word) for word in client]
    if any(not isinstance(word, str) for word in words or ()):
        raise TypeError(f"client = {client!r}: a line for the shell, or a sequence of a program and its arguments")
    return words


@contextlib.contextmanager
def _dies_afterwards() -> Iterator[None]:
    """Lets this process die of a signal after the block, in which what has to end before it is ended."""
    try:
        with ends.heard():
            yield
    except ends.Signalled as signalled:
        os.kill(os.getpid(), signalled.number)
        raise


def _in_processes(
    scenario: Scenario, seed: int, options: str, rootless: bool, lent: bool, progress: Progress | None
) -> str:
    """Runs it in a process outside the caller's network, and the first of a process namespace below that.

    lent: a program gets the terminal on standard input.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    with tempfile.TemporaryFile() as answer, contextlib.ExitStack() as stack:
        if lent:
            stack.enter_context(ends.lent_terminal())
        status_read, status_write = os.pipe()
        with ends.held():
            parent = os.getpid()
            pid = os.fork()
            if pid == 0:
                os.close(status_read)
                _outer(scenario, seed, options, rootless, parent, answer.fileno(), status_write)
            child = ends.Child(pid)
            stack.callback(child.end)
            lines = stack.enter_context(os.fdopen(status_read))
            os.close(status_write)
        for line in lines:
            if progress is not None:
                progress(Status(*json.loads(line)))
        child.wait()
        answer.seek(0)
        found = answer.read().decode()
    if not found:
        raise EmulationError(f"the emulation's process ended unexpectedly ({_ending(child.status or 0)})")
    document = json.loads(found)
    if "error" not in document:
        return found
    kind, message = document["error"]["kind"], document["error"]["message"]
    if kind == "interrupted":
        raise KeyboardInterrupt
    if kind == "capture":
        raise OSError(int(message), os.strerror(int(message)))
    raise (ScenarioError if kind == "scenario" else EmulationError)(message)


def _outer(scenario: Scenario, seed: int, options: str, rootless: bool, parent: int, answer: int, status: int) -> None:
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
            _inner(scenario, seed, options, privilege, answer, status)
        os.close(status)
        signal.signal(signal.SIGTERM, lambda number, _: os.kill(inner, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        _, ended = os.waitpid(inner, 0)
        code = 0 if os.waitstatus_to_exitcode(ended) == 0 else 1
    except BaseException as error:
        _write(answer, _failure(error))
    finally:
        os._exit(code)


def _inner(scenario: Scenario, seed: int, options: str, privilege: str, answer: int, status: int) -> None:
    """Runs in the second child: emulates. Never returns."""
    code = 1
    try:
        signal.signal(signal.SIGTERM, _terminated)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

        def tell(*now: Any) -> None:
            os.write(status, json.dumps(now).encode() + b"\n")

        _write(answer, _penstock.emulate_run(scenario.core, seed, options, privilege, tell))
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
