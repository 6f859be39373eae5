"""The router between two interfaces of this machine: a middlebox for a test bed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from penstock._names import known
from penstock.emulation.emulated import Emulated
from penstock.emulation.ends import Signalled
from penstock.emulation.network import Options, emulated, held
from penstock.emulation.processes import EmulationError, EndedError
from penstock.emulation.run import Progress, watched
from penstock.errors import ScenarioError
from penstock.model.scenario import Scenario

#: The longest packets that the router takes.
MTU = 1500
#: ioctl(2), see netdevice(7): an interface's flags and MTU. Among the flags: it is up, it has a cable; it is `lo`.
SIOCGIFFLAGS, SIOCGIFMTU = 0x8913, 0x8921
UP, LOOPBACK = 0x1, 0x8


def bridge(
    scenario: Scenario | str | Path,
    left: str,
    right: str,
    *,
    seed: int | None = None,
    limited: bool = False,
    allow_default_route: bool = False,
    fifo: bool = True,
    series: str | float | None = None,
    pcap: str | Path | None = None,
    pcap_link: str = "bottleneck",
    progress: Progress | None = None,
) -> Emulated:
    """Stands between two interfaces of this machine, and lets what comes at one out at the other through a scenario's
    bottleneck. Needs root. It ends at SIGINT or SIGTERM, or with the scenario's duration.

    scenario: a dumbbell, or its file, which may be a link alone; its traffic does not run.
    left, right: the interfaces. The bottleneck's forward direction leads from left to right.
    limited: it ends after the scenario's duration.
    allow_default_route: an interface may carry this machine's own default route.
    The rest: as for `emulate`.

    Both interfaces see the frames for all hosts, and put none together (GRO, LRO), meanwhile; afterwards they are as
    before.

    Raises `ScenarioError` for an interface or a scenario that it cannot take, `EmulationError` where the machine does
    not allow it.
    """
    if not sys.platform.startswith("linux"):
        raise EmulationError("a bridge needs Linux: it reads an interface's frames by packet sockets")
    if left == right:
        raise ScenarioError(f"{left}: a bridge stands between two interfaces, and this is one")
    for name in (left, right):
        _check(name, allow_default_route)
    base = scenario if isinstance(scenario, Scenario) else Scenario.load_link(scenario)[0]
    options = Options(fifo=fifo, series=series, pcap=pcap, pcap_link=pcap_link)
    with held(base, seed, options, between=[left, right], limited=limited) as made:
        with _asked_to_end():
            try:
                watched(made, progress)
            except EndedError:
                pass  # its answer says why
            except (KeyboardInterrupt, Signalled):
                made.end(None, [])
        return emulated(base, made.result())


@contextlib.contextmanager
def _asked_to_end() -> Iterator[None]:
    """Within it SIGTERM ends the bridge as Ctrl-C does, and not this process."""

    def end(number: int, _: object) -> None:
        raise Signalled(number)

    try:
        before = signal.signal(signal.SIGTERM, end)
    except ValueError:  # not the main thread: nobody else hears signals there
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check(name: str, allow_default_route: bool) -> None:
    """Raises `ScenarioError` for an interface between which and another no bridge can stand."""
    there = [each for _, each in socket.if_nameindex()]
    known(name, there, "interface")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:

        def number(request: int) -> int:
            answer = fcntl.ioctl(asks, request, struct.pack("16s16x", os.fsencode(name)))
            return int.from_bytes(answer[16:18] if request == SIOCGIFFLAGS else answer[16:20], sys.byteorder)

        flags, mtu = number(SIOCGIFFLAGS), number(SIOCGIFMTU)
    if flags & LOOPBACK:
        raise ScenarioError(f"{name}: this machine's own loopback leads to no other host")
    if not flags & UP:
        raise ScenarioError(f"{name}: the interface is down; `ip link set {name} up`")
    if mtu > MTU:
        raise ScenarioError(f"{name}: its MTU is {mtu}, above {MTU}; `ip link set {name} mtu {MTU}`")
    master = Path(f"/sys/class/net/{name}/master")
    if master.exists():
        raise ScenarioError(
            f"{name}: it belongs to {master.resolve().name}, which would forward its frames, too; "
            f"`ip link set {name} nomaster`"
        )
    if not allow_default_route and name in _default_routes():
        raise ScenarioError(
            f"{name}: this machine's own default route leads through it, and would lead through the bottleneck; "
            "--allow-default-route takes it all the same"
        )


def _default_routes() -> set[str]:
    """Returns the interfaces that a default route leads through."""
    found = set()
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/route").read_text().splitlines()[1:]:
            name, to, *_, mask = line.split()[:8]
            if int(to, 16) == int(mask, 16) == 0:
                found.add(name)
    with contextlib.suppress(OSError):  # without IPv6
        for line in Path("/proc/net/ipv6_route").read_text().splitlines():
            to, bits, *_, flags, name = line.split()
            rejects = int(flags, 16) & 0x200
            if int(to, 16) == int(bits, 16) == 0 and not rejects:
                found.add(name)
    return found - {"lo"}
