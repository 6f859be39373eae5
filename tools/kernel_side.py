"""One side of `tools/kernel_pairs.py`: a discipline in the kernel or the emulator, under real TCP.

    c – m – r – s    four network namespaces: sender, emulator, router, receiver

The emulator is `penstock bridge`, the router forwards. In the emulator the bottleneck is the
emulator's own, with the delay. In the kernel the emulator has the delay alone, and the router's
device to `s` has the program over a shaper, as docs/kernel.md says.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import penstock as ps
from penstock.emulation.network import Options, held
from penstock.emulation.processes import Processes
from penstock.kernel import device
from penstock.model.scenario import literal

#: A full frame, as `tc` counts it, and what it has beside a segment's payload.
FRAME = 1514
OVERHEAD = "54 B"
CLONE_NEWNET = 0x40000000
#: For how long the shaper may be late and catch up; so long before its time a packet may leave.
LATE_MS = 2.0
#: From the flows' start on this is not measured; then so long between two looks.
WARM_UP_S, BETWEEN_S = 5.0, 4.0
#: The program that sets up a namespace waits for its standard input's end, and so dies with us.
HOLDER = ("unshare", "--net", "cat")
LINKS = (("c", "c0", "m", "m0"), ("m", "m1", "r", "r0"), ("r", "r1", "s", "s0"))
ADDRESSES = {"c0": "10.9.1.2", "r0": "10.9.1.1", "r1": "10.9.2.1", "s0": "10.9.2.2"}
SERVER = "10.9.2.2"


class Flows(NamedTuple):
    """Connections of one iperf3. dscp: their class."""

    number: int
    cc: str
    dscp: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A link, its discipline and what it carries.

    aqm: as in a scenario. rate in Mbit/s; trip in ms, there and back; buffer in packets.
    """

    aqm: Mapping[str, Any]
    rate: float
    trip: float
    buffer: int
    flows: tuple[Flows, ...]
    ecn: bool

    def scenario(self, *, in_kernel: bool) -> ps.Scenario:
        """Returns the scenario of the emulator's bottleneck, or that which the kernel loads."""
        link = {
            "rate": f"{self.rate:g} Mbit/s",
            "delay": f"{self.trip / 2:g} ms",
            "buffer": f"{self.buffer} packets",
        }
        return _scenario(link, self.aqm, {} if in_kernel else {"overhead": OVERHEAD})

    def delay_alone(self) -> ps.Scenario:
        """Returns what the emulator has where the kernel has the bottleneck.

        A frame leaves the shaper when its time on the link begins, or `LATE_MS` before, the
        emulator's when that ends.
        """
        early = 8e-3 * FRAME / self.rate + LATE_MS
        link = {
            "rate": "1 Gbit/s",
            "delay": f"{self.trip / 2 + early:.6f} ms",
            "reverse_delay": f"{self.trip / 2:g} ms",
            "buffer": "10000 packets",
        }
        return _scenario(link, {"kind": "droptail"}, {"overhead": OVERHEAD})


def _scenario(
    link: Mapping[str, str], aqm: Mapping[str, Any], more: Mapping[str, Any]
) -> ps.Scenario:
    text = {
        "name": "kernel",
        "duration": "1 h",
        "topology": {"kind": "dumbbell", "bottleneck": dict(link)},
        "aqm": dict(aqm),
        "traffic": [{"kind": "ftp"}],
        **more,
    }
    return ps.Scenario.from_toml("".join(f"{k} = {literal(v)}\n" for k, v in text.items()))


class Look(NamedTuple):
    """What has come to pass since the beginning.

    at in seconds; queue in packets times seconds; received in bytes.
    """

    at: float
    queue: float
    marks: float
    drops: float
    received: float


@dataclass
class Net:
    """The namespaces, by name."""

    spaces: dict[str, str] = field(default_factory=dict)
    pids: dict[str, int] = field(default_factory=dict)

    @contextlib.contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """Lets this thread be in a namespace meanwhile, and what it starts."""
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        enter(self.spaces[name])
        try:
            yield
        finally:
            _setns(before)
            os.close(before)

    def command(self, name: str, *line: object) -> list[str]:
        """Returns the line that runs a program in a namespace."""
        return ["nsenter", f"--net={self.spaces[name]}", *map(str, line)]

    def run(self, name: str, *line: object) -> str:
        """Runs a program in a namespace."""
        done = subprocess.run(
            self.command(name, *line), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{line}: {done.stdout}{done.stderr}")
        return done.stdout

    def received(self, name: str, interface: str) -> float:
        """Returns the bytes that an interface has received."""
        text = Path(f"/proc/{self.pids[name]}/net/dev").read_text(encoding="ascii")
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{interface}:"))
        return float(line.split(":")[1].split()[0])


def enter(space: str) -> None:
    """Moves this thread into a network namespace."""
    descriptor = os.open(space, os.O_RDONLY)
    try:
        _setns(descriptor)
    finally:
        os.close(descriptor)


def _setns(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def net(*, ecn: bool) -> Iterator[Net]:
    """The four namespaces, wired; they go with the block. ecn: of the hosts' TCP."""
    made = Net()
    with contextlib.ExitStack() as stack:
        for name in "cmrs":
            pipe = subprocess.PIPE
            holder = stack.enter_context(subprocess.Popen(HOLDER, stdin=pipe, stdout=pipe))
            stack.callback(holder.kill)
            made.pids[name], made.spaces[name] = holder.pid, f"/proc/{holder.pid}/ns/net"
        own = Path("/proc/self/ns/net").readlink()
        while any(Path(space).readlink() == own for space in made.spaces.values()):
            time.sleep(0.01)
        _wire(made)
        for host in "cs":
            keys = (f"net.ipv4.tcp_ecn={int(ecn)}", "net.ipv4.tcp_no_metrics_save=1")
            made.run(host, "sysctl", "-qw", *keys)
        yield made


def _wire(made: Net) -> None:
    for one, near, other, far in LINKS:
        pair = ("type", "veth", "peer", "name", far, "netns", made.pids[other])
        made.run(one, "ip", "link", "add", "name", near, *pair)
        for space, name in ((one, near), (other, far)):
            # Whole packets: the bottleneck decides about each.
            made.run(
                space, "ethtool", "-K", name, "tx", "off", "tso", "off", "gso", "off", "gro", "off"
            )
            made.run(space, "sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1")
            if name in ADDRESSES:
                made.run(space, "ip", "addr", "add", f"{ADDRESSES[name]}/24", "dev", name)
            made.run(space, "ip", "link", "set", name, "up")
    made.run("r", "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.send_redirects=0")
    for host, gateway in (("c", "r0"), ("s", "r1")):
        made.run(host, "ip", "route", "add", "default", "via", ADDRESSES[gateway])


def measured(setting: Setting, *, in_kernel: bool, looks: int, seed: int) -> dict[str, Any]:
    """Returns what a side measures: a row for each time between two looks, and what says whether
    it counts."""
    here = setting.delay_alone() if in_kernel else setting.scenario(in_kernel=False)
    with net(ecn=setting.ecn) as made, contextlib.ExitStack() as stack:
        if in_kernel:
            stack.enter_context(loaded(made, setting))
        emulator = stack.enter_context(emulated(made, here, seed))
        with flowing(made, setting, WARM_UP_S + looks * BETWEEN_S + 3):
            time.sleep(WARM_UP_S)
            begin, found, waiting = time.monotonic(), [], []
            for number in range(looks + 1):
                while (left := begin + number * BETWEEN_S - time.monotonic()) > 0:
                    if in_kernel:
                        waiting.append(_waits(made))
                    time.sleep(max(0.0, min(left, 0.25)))
                found.append(_kernel(made) if in_kernel else _emulator(made, emulator))
        last = shown(made) if in_kernel else {}
        emulator.end(None, [])
        emulation = json.loads(emulator.result())["emulation"]
    return {
        "rows": [_between(*pair) for pair in itertools.pairwise(found)],
        "waiting": sum(waiting) / len(waiting) if waiting else None,
        "large": last.get("large", 0),
        "late_updates": last.get("late_updates", 0),
        "valid": emulation["valid"],
    }


@contextlib.contextmanager
def emulated(made: Net, scenario: ps.Scenario, seed: int) -> Iterator[Processes]:
    """The emulator between `c` and `r`."""
    with contextlib.ExitStack() as stack:
        with made.inside("m"):
            emulator = stack.enter_context(held(scenario, seed, Options(), between=["m0", "m1"]))
        yield emulator


def _between(one: Look, other: Look) -> dict[str, float]:
    seconds = other.at - one.at
    names = Look._fields[1:]
    rates = {name: (getattr(other, name) - getattr(one, name)) / seconds for name in names}
    return {
        "queue_mean_pkts": rates["queue"],
        "marks_per_s": rates["marks"],
        "drops_per_s": rates["drops"],
        "received_bps": 8 * rates["received"],
    }


@contextlib.contextmanager
def loaded(made: Net, setting: Setting) -> Iterator[None]:
    """The program at the router, over a shaper that holds the whole buffer."""
    burst, limit = FRAME + round(125 * setting.rate * LATE_MS), 2 * setting.buffer * FRAME
    line = ("rate", f"{setting.rate * 1e6:.0f}", "burst", burst, "limit", limit)
    made.run("r", "tc", "qdisc", "replace", "dev", "r1", "root", "tbf", *line)
    with made.inside("r"):
        device.load(setting.scenario(in_kernel=True), "r1")
    try:
        yield
    finally:
        with made.inside("r"):
            device.unload("r1")


@contextlib.contextmanager
def flowing(made: Net, setting: Setting, seconds: float) -> Iterator[None]:
    """The flows send meanwhile."""
    with contextlib.ExitStack() as stack:
        quiet: Mapping[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        ports = range(5201, 5201 + len(setting.flows))
        for port in ports:
            line = made.command("s", "iperf3", "-s", "-1", "-p", port)
            server = stack.enter_context(subprocess.Popen(line, **quiet))
            stack.callback(server.kill)
        time.sleep(0.5)
        for port, flows in zip(ports, setting.flows, strict=True):
            words = (
                "-C",
                flows.cc,
                "-P",
                flows.number,
                "-t",
                f"{seconds:.0f}",
                "--dscp",
                flows.dscp,
            )
            line = made.command("c", "iperf3", "-c", SERVER, "-p", port, *words)
            client = stack.enter_context(subprocess.Popen(line, **quiet))
            stack.callback(client.kill)
        yield


def shown(made: Net) -> Mapping[str, Any]:
    """Returns what `penstock kernel show` has of the router."""
    with made.inside("r"):
        return device.show("r1").values


def _waits(made: Net) -> float:
    """Returns the packets that wait in the shaper."""
    [shaper] = json.loads(made.run("r", "tc", "-s", "-j", "qdisc", "show", "dev", "r1"))
    return float(shaper["qlen"])


def _kernel(made: Net) -> Look:
    values = shown(made)
    return Look(
        values["time_s"],
        values["queue_mean_pkts"] * values["time_s"],
        values["marks_ce"] + values["marks_incipient"],
        _drops(values),
        made.received("s", "s0"),
    )


def _emulator(made: Net, emulator: Processes) -> Look:
    values, at = emulator.ask("metrics"), emulator.ask("status")["t_s"]
    return Look(
        at,
        values["queue_mean_pkts"] * at,
        values["marks_ce"] + values["marks_incipient"],
        _drops(values),
        made.received("s", "s0"),
    )


def _drops(values: Mapping[str, Any]) -> float:
    return float(sum(values[f"drops_{why}"] for why in ("early", "forced", "overflow")))
