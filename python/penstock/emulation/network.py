"""An emulation that is held: two hosts and a bottleneck between them, for as long as a block lasts."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import _penstock
from penstock._files import replacing
from penstock.emulation import ends
from penstock.emulation.emulated import Emulated
from penstock.emulation.processes import EmulationError, EndedError, Processes, Status, processes
from penstock.errors import ScenarioError
from penstock.model.kinds import Dumbbell, Ftp, Link
from penstock.model.scenario import Scenario, as_toml, seconds

if TYPE_CHECKING:
    from penstock.model.discipline import Named

#: Where a capture can be taken.
PCAP_LINKS = ("bottleneck", "bottleneck:out")
#: The time that a program may take to listen at the port that was named.
LISTENS_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How an emulation is made, whatever runs in it; `emulate` and `network` say what each means."""

    rootless: bool = False
    backend: str | None = None
    fifo: bool = True
    series: str | float | None = None
    pcap: str | Path | None = None
    pcap_link: str = "bottleneck"
    cc: str | None = None
    download: bool = False


@contextlib.contextmanager
def held(
    scenario: Scenario, seed: int | None, options: Options, *, lent: bool = False, **more: Any
) -> Iterator[Processes]:
    """An emulation, from before its clock starts to its end.

    lent: a program gets the terminal on standard input.
    more: the core's options: `own`, `shell`, `limited`, `between`.
    """
    if not sys.platform.startswith("linux"):
        raise EmulationError("emulation needs Linux: network namespaces hold its hosts")
    if options.pcap_link not in PCAP_LINKS:
        raise ScenarioError(
            f"pcap_link = {options.pcap_link!r}: emulation has one link; allowed: {', '.join(PCAP_LINKS)}"
        )
    series = options.series
    said: dict[str, Any] = {
        "backend": options.backend,
        "no_fifo": not options.fifo,
        "cc": options.cc,
        "download": options.download,
        "pcap_out": options.pcap_link.endswith(":out"),
        "series_s": seconds(series) if isinstance(series, str) else series,
        "mecn": mecn_program(),
        **more,
    }
    with contextlib.ExitStack() as stack:
        stack.enter_context(_dies_afterwards())
        if options.pcap is not None:
            # The processes inherit the descriptor: the name under which the file is written may be out of their sight.
            said["pcap"] = f"/proc/self/fd/{stack.enter_context(replacing(Path(options.pcap))).fileno()}"
        seed = scenario.seed if seed is None else seed
        here = "between" in more
        made = processes(scenario, seed, json.dumps(said), here=here, rootless=options.rootless, lent=lent)
        yield stack.enter_context(made)


def emulated(scenario: Scenario, text: str) -> Emulated:
    """Returns the result that an emulation's answer has."""
    run, emulation = _penstock.emulate_report(text)
    return Emulated(scenario, run, json.loads(emulation))


def mecn_program() -> str | None:
    """Returns the program that makes multi-level ECN's two ends: the checkout's, else the one in PATH."""
    built = Path(__file__).parents[3] / "target" / "release" / "penstock-mecn"
    return str(built) if built.is_file() else shutil.which("penstock-mecn")


@contextlib.contextmanager
def _dies_afterwards() -> Iterator[None]:
    """Lets this process die of a signal after the block, in which what has to end before it is ended."""
    try:
        with ends.heard():
            yield
    except ends.Signalled as signalled:
        os.kill(os.getpid(), signalled.number)
        raise


class Network:
    """Two hosts and the bottleneck between them, on which programs run; `network` makes it.

    Programs on the client's host find the server's address in `PENSTOCK_SERVER` (10.9.0.2), those on the server's find
    the client's in `PENSTOCK_CLIENT` (10.9.0.1); `PENSTOCK_SERVER6` and `PENSTOCK_CLIENT6` are those of IPv6.
    """

    def __init__(self, made: Processes) -> None:
        self._processes = made
        self._result: Emulated | None = None
        self.client, self.server = made.environment["PENSTOCK_CLIENT"], made.environment["PENSTOCK_SERVER"]

    def run(self, args: Any, *, on: str = "client", **keys: Any) -> subprocess.CompletedProcess[str]:
        """Runs a program on a host to its end, as `subprocess.run` does, and returns its output and exit code.

        args: the program and its arguments; a string is a line for the shell.
        on: `"client"` or `"server"`.
        keys: those of `subprocess.run`. The output is captured as text, unless they say otherwise.
        """
        if not keys.keys() & {"stdout", "stderr", "capture_output"}:
            keys["capture_output"] = True
        keys.setdefault("text", True)
        return subprocess.run(args, **self._processes.keys(args, on, keys))

    def start(self, args: Any, *, on: str = "server", listens: int | None = None, **keys: Any) -> subprocess.Popen[str]:
        """Starts a program on a host, as `subprocess.Popen` does, and returns that. It ends with the network.

        args, on: as for `run`.
        listens: the TCP port at which it will listen. Then this waits until it does, up to ten seconds. Raises
            `EmulationError` where it does not.
        keys: those of `subprocess.Popen`; what it reads and writes is text, unless they say otherwise.
        """
        keys.setdefault("text", True)
        process = self._processes.start(args, on, **keys)
        until = time.monotonic() + LISTENS_S
        while listens is not None and listens not in self._processes.listening(on):
            ended = process.poll()
            if ended or time.monotonic() > until:  # one that ends well may go on in the background
                why = f"it has ended with exit code {ended}" if ended else f"it does not within {LISTENS_S:g} s"
                raise EmulationError(f"{args}: should listen at TCP port {listens} of the {on}: {why}")
            time.sleep(0.01)
        return process

    def status(self) -> Status:
        """Returns the queue and the counts of now."""
        return Status(**self._processes.ask("status"))

    def metrics(self) -> dict[str, float | None]:
        """Returns the metrics of the measured window up to now, by name; `None` for one that does not apply."""
        found: dict[str, float | None] = self._processes.ask("metrics")
        return found

    def set(self, path: str, value: object) -> None:
        """Changes a key of the scenario from now on: `aqm.max_p` or any other parameter of the discipline,
        `aqm.reverse.max_p` of the opposite one, `topology.bottleneck.buffer` or `reverse_buffer`. The packets that
        wait, and what the discipline has learned, stay. The result has a note of it.

        path, value: as for `Scenario.set`.

        Raises `ScenarioError` where the value does not fit, or the key cannot change while packets wait.
        """
        self.set_all({path: value})

    def set_all(self, changes: Mapping[str, object]) -> None:
        """Changes several keys at once, which only have to hold together, as `set` does and `Scenario.set_all`."""
        self._processes.ask({"set": [(path, as_toml(value)) for path, value in changes.items()]})

    @property
    def result(self) -> Emulated:
        """Returns what the run gave, once the block has ended. Raises `EmulationError` before."""
        if self._result is None:
            raise EmulationError("the result is there when the block of the network has ended")
        return self._result


@contextlib.contextmanager
def network(
    link: Scenario | Dumbbell | Link | str | Path,
    aqm: Named | None = None,
    *,
    seed: int | None = None,
    cc: str | None = None,
    download: bool = False,
    rootless: bool = False,
    backend: str | None = None,
    fifo: bool = True,
    series: str | float | None = None,
    pcap: str | Path | None = None,
    pcap_link: str = "bottleneck",
) -> Iterator[Network]:
    """An emulation to run programs in, for as long as the block lasts.

    >>> with ps.network("link.toml") as net:  # doctest: +SKIP
    ...     net.start(["python3", "-m", "http.server", "8000"], listens=8000)
    ...     page = net.run(["curl", "-s", f"http://{net.server}:8000/"]).stdout
    >>> net.result.summary["delay_p99_s"].mean  # doctest: +SKIP

    link: a file, which may be a link alone; a scenario, whose traffic does not run; a `Dumbbell`, or the `Link` that is
        its bottleneck.
    aqm: the discipline at the bottleneck; default: the scenario's, drop-tail for a link.
    The rest: as for `emulate`.

    After the block nothing is left: everything that runs on the hosts gets SIGTERM, and after a second SIGKILL, also
    where the block raises. Then `Network.result` is the result, unless it did.

    Raises `ScenarioError` for a link that real packets cannot play, `EmulationError` where the machine does not allow
    it.
    """
    scenario = _scenario(link)
    scenario = scenario if aqm is None else scenario.with_aqm(aqm)
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
    with held(scenario, seed, options, own=True) as made:
        try:
            made.take_hosts()
            made.ask("begin")
        except EndedError:
            made.result()  # says why
            raise
        net = Network(made)
        yield net
        made.end(None, [])
        net._result = emulated(scenario, made.result())


def _scenario(link: Scenario | Dumbbell | Link | str | Path) -> Scenario:
    """Returns the scenario of a link."""
    if isinstance(link, Scenario):
        return link
    if isinstance(link, (str, Path)):
        return Scenario.load_link(link)[0]
    topology = Dumbbell(bottleneck=link) if isinstance(link, Link) else link
    return Scenario(topology=topology, traffic=[Ftp()], duration="1 h")
