"""A run on real packets from its beginning to its end: the scenario's traffic, or the user's client and server."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from penstock.emulation import ends
from penstock.emulation.emulated import Emulated
from penstock.emulation.network import Options, emulated, held
from penstock.emulation.processes import EmulationError, EndedError, Processes, Status
from penstock.errors import ScenarioError
from penstock.model.scenario import Scenario

#: Told about ten times a second.
Progress = Callable[[Status], object]

#: Between two looks at an emulation.
LOOK_S = 0.1
#: The time that a server may take to listen; one of datagrams never shows.
READY_S = 2.0
#: The bytes kept of what a server writes to its standard error.
KEPT = 4096


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
    own = client is not None or server is not None
    if cc is not None and not own:
        raise ScenarioError("cc: it is own programs' (client, server); the scenario's flows have `tcp`")
    base = scenario if isinstance(scenario, Scenario) else _read(scenario, own)
    words = _words(client)
    lent = own and ends.in_foreground()
    options = Options(
        rootless=rootless,
        backend=backend,
        fifo=fifo,
        series=series,
        pcap=pcap,
        pcap_link=pcap_link,
        cc=cc,
        download=download,
    )
    shell = own and not words
    with held(base, seed, options, lent=lent, own=own, shell=shell, limited=limited) as made:
        try:
            if own:
                _programs(made, words, server, lent, progress)
            else:
                watched(made, progress)
        except EndedError:
            pass  # its answer says why
        return emulated(base, made.result())


def watched(made: Processes, progress: Progress | None) -> None:
    """Waits for the end of an emulation without programs."""
    while not select.select([made], [], [], LOOK_S)[0]:
        if progress is not None:
            progress(Status(**made.ask("status")))


def _read(file: str | Path, own: bool) -> Scenario:
    """Returns the scenario of a file, which for own programs may be a link alone."""
    return Scenario.load_link(file)[0] if own else Scenario.load(file)


def _words(client: str | Sequence[str | os.PathLike[str]] | None) -> list[str]:
    """Returns the words of the client's command; none for a shell."""
    if isinstance(client, str):
        return ["/bin/sh", "-c", client]
    words = [os.fspath(word) for word in client or ()]
    if any(not isinstance(word, str) for word in words):
        raise TypeError(f"client = {client!r}: a line for the shell, or a sequence of a program and its arguments")
    return words


def _programs(made: Processes, words: list[str], server: str | None, lent: bool, progress: Progress | None) -> None:
    """Runs the client, beside the server if there is one, until it ends or the run does."""
    made.take_hosts()
    serving = None if server is None else _Server(made, server)
    made.ask("begin")
    line = words or [os.environ.get("SHELL") or "/bin/sh"]
    try:
        process = made.start(line, "client", terminal=lent, jobs=not words)
    except FileNotFoundError:
        raise ScenarioError(f"{line[0]}: no such program") from None
    except OSError as error:
        raise EmulationError(f"starting {line[0]}: {error.strerror}") from None
    end = os.pidfd_open(process.pid)
    try:
        while True:
            ended = select.select([end, made.fileno()], [], [], LOOK_S)[0]
            if serving is not None:
                serving.look()
            if ended:
                break
            if progress is not None:
                progress(Status(**made.ask("status")))
    finally:
        os.close(end)
    code = process.wait() if end in ended else None
    if code == -signal.SIGINT:
        raise KeyboardInterrupt
    exit_code = None if code is None else _as_a_shell_says(code)
    made.end(exit_code, [] if serving is None else serving.notes())


class _Server:
    """A program of the user's that is started before the client."""

    def __init__(self, made: Processes, line: str) -> None:
        self._made, self._line = made, line
        self._said = b""
        self._ended: tuple[int, float] | None = None
        self._process = made.start(
            line, "server", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        self._listener = threading.Thread(target=self._pass_on, daemon=True)
        self._listener.start()
        self._ready()

    def _pass_on(self) -> None:
        """Passes on what it writes to its standard error, and keeps the last of it."""
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            while part := os.read(stream.fileno(), KEPT):
                os.write(2, part)
                self._said = (self._said + part)[-KEPT:]

    def _ready(self) -> None:
        """Waits until it listens. Raises `EmulationError` if it fails before."""
        until = time.monotonic() + READY_S
        while time.monotonic() < until and not self._made.listening("server"):
            code = self._process.poll()
            if code:  # one that ends well may still come to listen, in the background
                raise EmulationError(f"{self._ending(code)} before the client was started{self._last()}")
            time.sleep(0.02)

    def look(self) -> None:
        """Notes the end."""
        if self._ended is None and (code := self._process.poll()) is not None:
            self._ended = code, float(self._made.ask("status")["t_s"])

    def notes(self) -> list[str]:
        """Returns that it failed before the client's end, if it did."""
        if self._ended is None or self._ended[0] == 0:
            return []
        code, t_s = self._ended
        return [f"{self._ending(code)} at {t_s:.3f} s{self._last()}"]

    def _ending(self, code: int) -> str:
        return f"the server ({self._line}) ended with exit code {_as_a_shell_says(code)}"

    def _last(self) -> str:
        """Returns the last line that it wrote to its standard error, behind a colon."""
        self._listener.join(0.2)  # that may still be on its way
        lines = [line.strip() for line in self._said.decode(errors="replace").splitlines()]
        return next((f": {line}" for line in reversed(lines) if line), "")


def _as_a_shell_says(code: int) -> int:
    """Returns an exit code: 128 + n if signal n ended the program."""
    return code if code >= 0 else 128 - code
