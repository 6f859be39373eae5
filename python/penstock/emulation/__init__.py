"""Real packets: a scenario's bottleneck between two network namespaces of this machine, with the kernel's own TCP.

The queue is the simulator's own, discipline included; `penstock_emulate` (Rust) holds the packets. Everything happens
in processes of its own, which die together: the caller's network is never touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import _penstock
from penstock._files import replacing
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
        """The document of `penstock run --json`, with `emulation` beside its other parts."""
        if self._document is None:
            document = json.loads(super().json())
            document["emulation"] = self.emulation
            self._document = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        return self._document

    def _with_table(self, name: str) -> tuple[_penstock.RunResult, ...]:
        """The run; what it did not record is gone."""
        if name not in self.runs[0].tables:
            raise ValueError(
                f'the emulation recorded no {name}: emulate(..., series="10 ms") records queue, cwnd and rtt'
            )
        return self.runs

    @property
    def valid(self) -> bool:
        """Whether the machine kept up."""
        return bool(self.emulation["valid"])


def emulate(
    scenario: Scenario | str | Path,
    *,
    seed: int | None = None,
    client: Sequence[str] | None = None,
    server: str | None = None,
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
    client: a program to run on the access side instead of the traffic, with its arguments; empty: a shell. It finds the
        server's address in `PENSTOCK_SERVER` (10.9.0.2). The run ends when it does.
    server: a line for the shell on the other side, started before.
    download: the bottleneck's forward direction is from the server to the client.
    limited: own programs end after the scenario's duration at the latest, and its measured window holds.
    rootless: use a user namespace even where this process is privileged.
    backend: `"tun"`, `"packet"` (AF_PACKET on veth); default: TUN where it may be opened.
    fifo: ask for real-time scheduling.
    series: sampling interval of the recorded series; default: nothing is recorded.
    pcap: write a capture there.
    pcap_link: `"bottleneck"`, frames as they arrive at the router, those that it drops among them; with `:out` as they
        leave it towards their hosts, with the marks that it made.
    progress: called about ten times a second.

    Raises `ScenarioError` for a scenario that real packets cannot play, `EmulationError` where the machine does not
    allow it.
    """
    if not sys.platform.startswith("linux"):
        raise EmulationError("emulation needs Linux: network namespaces hold its hosts")
    if pcap_link not in PCAP_LINKS:
        raise ScenarioError(f"pcap_link = {pcap_link!r}: emulation has one link; allowed: {', '.join(PCAP_LINKS)}")
    base = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    options: dict[str, Any] = {
        "backend": backend,
        "no_fifo": not fifo,
        "client": list(client) if client is not None else None,
        "server": server,
        "download": download,
        "limited": limited,
        "foreground": client is not None and _in_foreground(),
        "pcap_out": pcap_link.endswith(":out"),
        "series_s": seconds(series) if isinstance(series, str) else series,
        "mecn": mecn_program(),
    }
    own = client is not None or server is not None
    with contextlib.ExitStack() as stack:
        if pcap is not None:
            # The processes inherit the descriptor: the name under which the file is written may be out of their sight.
            options["pcap"] = f"/proc/self/fd/{stack.enter_context(replacing(Path(pcap))).fileno()}"
        text = _in_processes(base, base.seed if seed is None else seed, json.dumps(options), rootless, own, progress)
    run, emulation = _penstock.emulate_report(text)
    return Emulated(base, run, json.loads(emulation))


def mecn_program() -> str | None:
    """The program that makes multi-level ECN's two ends, if it has been built."""
    here = Path(__file__).parent
    places = [here / "bin" / "penstock-mecn", here.parents[1] / "target" / "release" / "penstock-mecn"]
    return next((str(place) for place in places if place.is_file()), None)


def _in_processes(
    scenario: Scenario, seed: int, options: str, rootless: bool, own: bool, progress: Progress | None
) -> str:
    """Runs it in a process outside the caller's network, and the first of a process namespace below that."""
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as answer, contextlib.ExitStack() as stack:
        status_read, status_write = os.pipe()
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            os.close(status_read)
            _outer(scenario, seed, options, rootless, parent, answer.fileno(), status_write)
        os.close(status_write)
        stack.callback(_reap, child)
        # The terminal's Ctrl-C is for the program. (Only the main thread hears it.)
        if own and threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)
            stack.callback(signal.signal, signal.SIGINT, before)
            if _in_foreground():
                stack.callback(_to_foreground)
        with os.fdopen(status_read) as lines:
            for line in lines:
                if progress is not None:
                    progress(Status(*json.loads(line)))
        _, status = os.waitpid(child, 0)
        answer.seek(0)
        found = answer.read().decode()
    if not found:
        if os.waitstatus_to_exitcode(status) == -signal.SIGINT:
            raise KeyboardInterrupt
        raise EmulationError(f"the emulation's process ended unexpectedly ({_ending(status)})")
    document = json.loads(found)
    if "error" not in document:
        return found
    kind, message = document["error"]["kind"], document["error"]["message"]
    if kind == "interrupted":
        raise KeyboardInterrupt
    raise (ScenarioError if kind == "scenario" else EmulationError)(message)


def _outer(scenario: Scenario, seed: int, options: str, rootless: bool, parent: int, answer: int, status: int) -> None:
    """In the first child: leaves the network, makes the second, and waits for it. Never returns."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        privilege = _penstock.emulate_isolate(rootless)
        if os.getppid() != parent:  # it ended before this process asked to die with it
            os._exit(1)
        inner = os.fork()
        if inner == 0:
            _inner(scenario, seed, options, privilege, answer, status)
        os.close(status)
        _, ended = os.waitpid(inner, 0)
        code = 0 if os.waitstatus_to_exitcode(ended) == 0 else 1
    except BaseException as error:
        _write(answer, _failure(error))
    finally:
        os._exit(code)


def _inner(scenario: Scenario, seed: int, options: str, privilege: str, answer: int, status: int) -> None:
    """In the second: emulates. Never returns."""
    code = 1
    try:
        # The first process of a namespace hears only signals that it asked for.
        own = json.loads(options)["client"] is not None
        signal.signal(signal.SIGINT, signal.SIG_IGN if own else signal.default_int_handler)
        signal.signal(signal.SIGTERM, _terminated)

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


def _reap(child: int) -> None:
    """Ends the processes if they still run: the caller was interrupted."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        if os.waitpid(child, os.WNOHANG) == (0, 0):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _in_foreground() -> bool:
    """Whether the terminal on standard input, if it is one, is this process group's."""
    with contextlib.suppress(OSError):
        return os.tcgetpgrp(0) == os.getpgrp()
    return False


def _to_foreground() -> None:
    """Takes the terminal back from the program that had it."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, before)


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit {code}"
