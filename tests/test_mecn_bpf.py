"""`penstock-mecn`: multi-level ECN with the kernel's TCP, on real packets between own network namespaces."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from helpers.real import machines_controls

BTF = Path("/sys/kernel/btf/vmlinux")
NAME = "penstock_mecn"
CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
PROGRAMS = {"data_in", "ack_out", "ack_in", "mecn_ssthresh"}
TOOLS = {
    "clang": "clang",
    "cargo": "cargo",
    "pkg-config": "pkg-config",
    "iperf3": "iperf3",
    "ethtool": "ethtool",
    "ip": "iproute2",
}
ADDRESSES = {4: ("10.9.0.1", "10.9.0.2", 24), 6: ("fd09::1", "fd09::2", 64)}


def lacking() -> str | None:
    """Why nothing of this can run here."""
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            return f"no {tool}: apt-get install {package}"
    if subprocess.run(["pkg-config", "--exists", "libelf", "zlib"], check=False).returncode:
        return "no libelf: apt-get install libelf-dev zlib1g-dev"
    if os.geteuid() != 0:
        return "not root"
    return None if BTF.exists() else f"no {BTF}"


REASON = lacking()
pytestmark = [pytest.mark.alone, pytest.mark.skipif(REASON is not None, reason=str(REASON))]


@pytest.fixture(scope="module")
def binary() -> Path:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    line = ["cargo", "build", "--quiet", "--release", "--manifest-path", str(ROOT / "bpf/Cargo.toml")]
    subprocess.run(["nice", *line, "--target-dir", str(target)], check=True)
    built = target / "release" / "penstock-mecn"
    with machines_controls(changed=True):  # it loads them for a moment
        check = subprocess.run([built, "--check"], capture_output=True, text=True, check=False)
    if check.returncode == 3:
        pytest.skip(check.stderr.strip())
    assert check.returncode == 0, check.stderr
    return built


def registered() -> bool:
    return NAME in CONTROLS.read_text().split()


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """The congestion control is the machine's: another's is waited for."""
    with machines_controls(changed=True):
        for _ in range(600):
            if not registered():
                break
            time.sleep(0.1)
        else:
            pytest.skip(f"{NAME} is registered by somebody else")
        yield


@contextlib.contextmanager
def process(*line: object, ready: bool = True, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """Ends with the block, however that ends."""
    pipe = subprocess.PIPE
    with subprocess.Popen([*map(str, line)], stdin=pipe, stdout=pipe, stderr=pipe, text=True, **more) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        try:
            if ready and started.stdout.readline() != "ready\n":
                started.kill()
                pytest.fail(started.stderr.read())
            yield started
        finally:
            started.kill()


def finish(started: subprocess.Popen[str]) -> dict[str, Any]:
    """Ends its input and reads its one document."""
    out, err = started.communicate(timeout=60)
    assert started.returncode == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


@dataclass
class Net:
    """Two hosts; the router is a third namespace between them, or a process with a TUN device in each."""

    client: str
    server: str
    router: str

    def inside(self, namespace: str, *line: object, check: bool = True) -> str:
        whole = ["nsenter", f"--net={namespace}", *map(str, line)]
        done = subprocess.run(whole, capture_output=True, text=True, check=False, timeout=120)
        if check and done.returncode:
            pytest.fail(f"{line}: {done.stdout}{done.stderr}")
        return done.stdout

    def tcp(self, host: str) -> dict[str, int]:
        """The host's counters."""
        names, values = [
            line.split()[1:]
            for line in self.inside(host, "cat", "/proc/net/snmp").splitlines()
            if line.startswith("Tcp:")
        ]
        return dict(zip(names, map(int, values), strict=True))

    def mecn(self, binary: Path, *more: object) -> list[object]:
        ends = ["--client-ns", self.client, "--client-dev", "c0", "--server-ns", self.server, "--server-dev", "s0"]
        return [binary, *ends, *more]


@pytest.fixture
def net() -> Iterator[Net]:
    with contextlib.ExitStack() as stack:
        # Each namespace lives as long as its `cat`, which ends with this process.
        held = [stack.enter_context(process("unshare", "--net", "cat", ready=False)) for _ in range(3)]
        paths = [f"/proc/{holder.pid}/ns/net" for holder in held]
        own = Path("/proc/self/ns/net").readlink()
        while any(Path(path).readlink() == own for path in paths):
            time.sleep(0.01)
        made = Net(*paths)
        for host in (made.client, made.server):
            made.inside(host, "sysctl", "-qw", "net.ipv4.tcp_ecn=1", "net.ipv4.tcp_no_metrics_save=1")
        yield made


def wire(net: Net) -> None:
    """Lays the two cables."""
    for near, far, host in (("rc", "c0", net.client), ("rs", "s0", net.server)):
        pid = host.split("/")[2]
        net.inside(net.router, "ip", "link", "add", "name", near, "type", "veth", "peer", "name", far, "netns", pid)
        net.inside(host, "ethtool", "-K", far, "tx", "off")
    net.inside(net.router, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
    for near in ("rc", "rs"):
        net.inside(net.router, "ip", "link", "set", near, "up")


def address(net: Net) -> None:
    for host, device, end in ((net.client, "c0", 0), (net.server, "s0", 1)):
        for version, own in ADDRESSES.items():
            extra = ["nodad"] if version == 6 else []
            net.inside(host, "ip", "addr", "add", f"{own[end]}/{own[2]}", "dev", device, *extra)
        net.inside(host, "ip", "link", "set", device, "up")


@contextlib.contextmanager
def routed(net: Net, kind: str, plan: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    script = [sys.executable, ROOT / "tests/helpers/mecn_router.py", kind]
    if kind == "veth":
        wire(net)
        line = ["nsenter", f"--net={net.router}", *script, "rc", "rs"]
    else:
        line = [*script, net.client, net.server]
    with process(*line, json.dumps(plan)) as router:
        address(net)
        yield router


@dataclass
class Result:
    made: dict[str, Any]
    mecn: dict[str, Any]
    iperf: dict[str, Any]
    checksum_errors: int
    sent: int  # segments by the client
    received: int  # by the server; what GRO merged counts once


def send(
    net: Net,
    binary: Path,
    plan: dict[str, Any],
    kind: str = "veth",
    version: int = 4,
    default: bool = False,
    options: tuple[str, ...] = (),
    gro: bool = False,
) -> Result:
    """4 MB from the client to the server, about 2 s."""
    with routed(net, kind, plan) as router, process(*net.mecn(binary, *options)) as mecn:
        if gro:
            # The router writes packet by packet: without a wait nothing would be there to merge with.
            wait = "mount -t sysfs none /sys; cd /sys/class/net/s0; echo 2000000 >gro_flush_timeout"
            net.inside(net.server, "ethtool", "-K", "s0", "gro", "on")
            net.inside(
                net.router, "ethtool", "-K", "rs", "tx", "off"
            )  # veth leaves GRO out where the other end has TSO
            net.inside(net.server, "unshare", "--mount", "sh", "-ec", f"{wait}; echo 9 >napi_defer_hard_irqs")
        choice = ["-C", NAME]
        if default:
            net.inside(net.client, "sysctl", "-qw", f"net.ipv4.tcp_congestion_control={NAME}")
            choice = []
        with process("nsenter", f"--net={net.server}", "iperf3", "-s", "-1", ready=False) as server:
            for _ in range(100):
                if "5201" in net.inside(net.server, "ss", "-ltn"):
                    break
                time.sleep(0.05)
            said = net.inside(net.client, "iperf3", "-J", "-n", "4M", "-c", ADDRESSES[version][1], *choice)
            server.wait(timeout=60)
        time.sleep(0.5)  # the last ACKs are under way
        client, server_side = net.tcp(net.client), net.tcp(net.server)
        errors = client["InCsumErrors"] + server_side["InCsumErrors"]
        done = finish(router), finish(mecn), json.loads(said)
        return Result(*done, errors, client["OutSegs"], server_side["InSegs"])


def quietly(net: Net, binary: Path, plan: dict[str, Any], **more: Any) -> Result:
    result = send(net, binary, plan, **more)
    if result.made["late"] > 0.1:
        pytest.skip(
            f"too busy: the router slept {result.made['late']:.2f} s too long, and TCP's timer may have run out"
        )
    return result


def echoed_exactly(result: Result) -> None:
    made, mecn = result.made, result.mecn
    assert made["ect1"] > 0
    assert made["ect1"] == mecn["ect1_received"] == mecn["ae_sent"] == mecn["ae_received"]
    assert made["ce"] == mecn["ce_received"]
    assert result.checksum_errors == 0
    assert result.iperf["end"]["sender_tcp_congestion"] == NAME


def cut_by(window: dict[str, int], cuts: int, beta: float) -> bool:
    """Each window is cut to a whole number of packets."""
    left = (1 - beta) * window["before"]
    return left - cuts <= window["after"] <= left


#: Far enough apart that each falls into a window of its own, from a flow's 100th packet on.
APART = {"period": 600, "at": {"100": "ect1", "300": "ce", "500": "drop"}}
#: In one window.
TOGETHER = {"period": 600, "at": {"100": "ect1", "110": "ce", "116": "drop"}}


@pytest.mark.parametrize(
    ("kind", "version", "default"), [("veth", 4, False), ("veth", 6, True), ("tun", 4, True), ("tun", 6, False)]
)
def test_each_mark_is_echoed_once_and_answered_in_its_own_way(
    net: Net, binary: Path, kind: str, version: int, default: bool
) -> None:
    for left in (2, 1, 0):
        result = quietly(net, binary, APART, kind=kind, version=version, default=default)
        echoed_exactly(result)
        made, mecn, windows = result.made, result.mecn, result.mecn["windows"]
        cuts = (mecn["cuts_incipient"], mecn["cuts_moderate"], mecn["cuts_loss"])
        signals = (made["ect1"], made["ce"], made["drop"])
        # A machine that looks away for a while lets ACKs come in one lump, and two signals fall into one window.
        if cuts == signals or left == 0 or sum(cuts) < sum(signals) - 2:
            break
    assert cuts == signals
    assert mecn["cuts_deepened"] == 0
    assert cut_by(windows["incipient"], mecn["cuts_incipient"], 0.2)
    assert cut_by(windows["moderate"], mecn["cuts_moderate"], 0.4)
    assert cut_by(windows["loss"], mecn["cuts_loss"], 0.5)


def test_of_two_signals_in_a_window_the_stronger_counts(net: Net, binary: Path) -> None:
    result = quietly(net, binary, TOGETHER)
    echoed_exactly(result)
    made, mecn, windows = result.made, result.mecn, result.mecn["windows"]
    rounds, early = made["drop"], mecn["cuts_incipient"]
    assert rounds > 0
    assert (mecn["cuts_moderate"], mecn["cuts_loss"]) == (rounds, rounds)
    # A receiver that is slow to read delays its ACK until the CE packet's, which has both signals: then CE is alone.
    assert early <= rounds
    assert mecn["cuts_deepened"] == early + rounds
    # All count from the window before the first: 0.8, then 0.6, then 0.5 of it.
    assert windows["moderate"]["before"] == windows["loss"]["before"]
    assert windows["incipient"]["before"] == windows["loss"]["before"] or early < rounds
    assert cut_by(windows["moderate"], rounds, 0.4)
    assert cut_by(windows["loss"], rounds, 0.5)


#: More in a row than delayed ACKs there are for them.
BURST = {"period": 300, "at": dict.fromkeys(map(str, range(100, 110)), "ect1")}


def test_delayed_acks_echo_each_mark_of_a_burst_and_not_each_cuts(net: Net, binary: Path) -> None:
    result = quietly(net, binary, BURST)
    echoed_exactly(result)
    rounds = result.made["ect1"] / 10
    assert rounds <= result.mecn["cuts_incipient"] < 5 * rounds  # slow ACKs may take the echoes into a second window
    assert result.mecn["cuts_loss"] == 0


def test_merged_packets_are_counted_one_by_one(net: Net, binary: Path) -> None:
    # Few enough for the ACKs that merging leaves.
    plan = {"period": 300, "at": {"100": "ect1", "101": "ect1", "102": "ect1"}, "rate": 1e9}
    result = send(net, binary, plan, gro=True)
    echoed_exactly(result)
    assert result.received < result.sent  # GRO was at work; nothing was dropped
    assert result.made["drop"] == 0


def test_the_parts_are_the_caller_s(net: Net, binary: Path) -> None:
    result = quietly(net, binary, APART, options=("--beta1=0.1", "--beta2=0.3", "--beta3=0.4", "--incipient=ect1"))
    mecn, windows = result.mecn, result.mecn["windows"]
    assert cut_by(windows["incipient"], mecn["cuts_incipient"], 0.1)
    assert cut_by(windows["moderate"], mecn["cuts_moderate"], 0.3)
    assert cut_by(windows["loss"], mecn["cuts_loss"], 0.4)


def programs() -> set[str]:
    listed = subprocess.run(["bpftool", "-j", "prog", "list"], capture_output=True, text=True, check=True)
    return {program.get("name", "") for program in json.loads(listed.stdout)} & PROGRAMS


def gone() -> bool:
    """The kernel frees programs a grace period after their last user."""
    assert not registered()
    if shutil.which("bpftool") is None:
        return True
    for _ in range(100):
        if not programs():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("end", ["input", "SIGTERM", "SIGINT", "SIGKILL"])
def test_nothing_is_left_however_it_ends(net: Net, binary: Path, end: str) -> None:
    wire(net)
    with process(*net.mecn(binary)) as mecn:
        assert registered()
        if end != "input":
            mecn.send_signal(signal.Signals[end])
            mecn.wait(timeout=20)
        out, err = mecn.communicate(timeout=20)
    if end == "SIGKILL":
        assert (mecn.returncode, out, err) == (-signal.SIGKILL, "", "")
    else:
        assert (mecn.returncode, err) == (0, "")
        assert json.loads(out)["ect1_received"] == 0
    assert gone()


def test_it_ends_with_its_parent(net: Net, binary: Path) -> None:
    wire(net)
    # The input stays open here, so that it is not what ends it.
    with process("sh", "-c", '"$@" <&0 & wait', "sh", *net.mecn(binary)) as parent:
        assert registered()
        parent.kill()
        parent.wait(timeout=20)
        assert parent.stdout is not None
        assert json.loads(parent.stdout.read())["cuts_loss"] == 0
        assert gone()


def refused(*line: object, status: int, within: tuple[object, ...] = ()) -> str:
    """The one line on standard error."""
    whole = [*map(str, within), *map(str, line)]
    done = subprocess.run(whole, capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def test_what_is_missing_is_named(binary: Path) -> None:
    nobody = refused(binary, "--check", status=3, within=("setpriv", "--reuid=65534"))
    assert nobody == "penstock-mecn: cannot run here: not root: only root may load BPF programs\n"
    hidden = 'mount -t tmpfs none /sys/kernel/btf && exec "$@"'
    blind = refused(binary, "--check", status=3, within=("unshare", "--mount", "sh", "-c", hidden, "sh"))
    assert blind.startswith("penstock-mecn: cannot run here: no /sys/kernel/btf/vmlinux")
    guest = refused(binary, "--check", status=3, within=("unshare", "--user", "--map-root-user"))
    assert "the kernel refuses the BPF programs: Operation not permitted" in guest


def test_wrong_ends_are_named(net: Net, binary: Path) -> None:
    wire(net)
    line = net.mecn(binary)
    for index, wrong, said in (
        (2, "/nowhere", 'network namespace "/nowhere": No such file'),
        (2, "999", 'network namespace "999": No such file'),
        (2, "/dev/null", 'network namespace "/dev/null": EINVAL'),
        (4, "eth7", 'no device "eth7" in its network namespace, which has lo, c0'),
        (8, "c0", 'no device "c0" in its network namespace, which has lo, s0'),
    ):
        assert said in refused(*line[:index], wrong, *line[index + 1 :], status=2)
        assert gone()


def test_a_second_one_is_refused_and_harms_nothing(net: Net, binary: Path) -> None:
    wire(net)
    with process(*net.mecn(binary)) as first:
        assert "is registered already" in refused(*net.mecn(binary), status=1)
        assert registered()
        assert finish(first)["ae_received"] == 0
    assert gone()


def test_namespaces_are_given_by_descriptor_too(net: Net, binary: Path) -> None:
    wire(net)
    with Path(net.client).open() as client, Path(net.server).open() as server:
        held = [client.fileno(), server.fileno()]
        line = net.mecn(binary)
        line[2], line[6] = held
        with process(*line, pass_fds=held) as mecn:
            assert finish(mecn)["ae_sent"] == 0
