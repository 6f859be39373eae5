"""The router between two interfaces: a middlebox between two hosts, each of them a network namespace at the end of a
wire. All of it is in a namespace of its own, in which this test is root.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import penstock as ps

UNSHARE = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"]


def refusal() -> str | None:
    """Why this machine cannot have the namespaces and the devices, if it cannot."""
    if sys.platform != "linux":
        return "a bridge needs Linux"
    for program in ("unshare", "nsenter", "ip", "ethtool"):
        if shutil.which(program) is None:
            return f"no {program}: apt-get install util-linux iproute2 ethtool"
    trial = "mount -t sysfs none /sys && ip link add one type veth peer name two && ip link add three type bridge"
    done = subprocess.run([*UNSHARE, "sh", "-c", trial], capture_output=True, text=True)
    return None if done.returncode == 0 else f"no namespaces: {done.stderr.strip()}"


REFUSAL = refusal()
pytestmark = [pytest.mark.alone, pytest.mark.skipif(REFUSAL is not None, reason=REFUSAL or "")]

LINK = """
[topology]
kind = "dumbbell"
bottleneck = { rate = "20 Mbit/s", delay = "5 ms", buffer = "30 packets" }
"""

#: eth1 and eth2 lead to a host each.
HOSTS = """
import contextlib, io, json, os, signal, subprocess, sys, time
from pathlib import Path

def say(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout

def host(number):
    process = subprocess.Popen(["unshare", "-n", "sleep", "600"])
    while os.readlink(f"/proc/{process.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
        time.sleep(0.005)
    inside = ["nsenter", "-t", str(process.pid), "-n"]
    say("ip", "link", "add", f"eth{number}", "type", "veth", "peer", "name", "eth0", "netns", str(process.pid))
    say("ip", "link", "set", f"eth{number}", "up")
    # What a network card does for its host: what comes over the wire are whole packets with their checksums.
    say(*inside, "ethtool", "-K", "eth0", "tx", "off", "tso", "off", "gso", "off")
    say(*inside, "ip", "address", "add", f"10.1.0.{number}/24", "dev", "eth0")
    say(*inside, "ip", "link", "set", "eth0", "up")
    return inside

say("mount", "-t", "sysfs", "none", "/sys")
say("mount", "-t", "proc", "none", "/proc")
left, right = host(1), host(2)
say("ethtool", "-K", "eth1", "gro", "on")

def state():
    links = [{key: each[key] for key in ("flags", "promiscuity")} for each in json.loads(say("ip", "-j", "-d", "link"))]
    return links, say("ethtool", "-k", "eth1"), say("ethtool", "-k", "eth2")
"""

CARRIES = """
before = state()
line = [sys.executable, "-m", "penstock", "bridge", "eth1", "eth2", "link.toml", "--json", "--pcap", "x.pcap"]
line += ["--pcap-link", "bottleneck:out"]
bridge = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
said = bridge.stderr.readline()
meanwhile = state()
server = subprocess.Popen([*right, sys.executable, "-m", "http.server", "8000"], stderr=subprocess.DEVNULL)
fetch = '''
import sys, time, urllib.request
until = time.monotonic() + 20
while True:
    try:
        print(len(urllib.request.urlopen(sys.argv[1], timeout=20).read()))
        break
    except OSError:
        assert time.monotonic() < until
        time.sleep(0.05)
'''
got = say(*left, sys.executable, "-c", fetch, "http://10.1.0.2:8000/page")
burst = '''
import socket
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(1000):
    to.sendto(bytes(1000), ("10.1.0.2", 9))
'''
say(*left, sys.executable, "-c", burst)
time.sleep(0.2)
tagged = '''
import socket
to = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
to.bind(("eth0", 0))
to.send(bytes.fromhex("ffffffffffff 020000000001 8100 6005 0800 4500 0024 0001 0000 4011 0000 0a020001 0a020002")
        + bytes.fromhex("0009 0009 0010 0000") + b"a tagged")
'''
say(*left, sys.executable, "-c", tagged)
time.sleep(0.2)
bridge.send_signal(getattr(signal, sys.argv[1]))
document, more = bridge.communicate()
print(json.dumps({"code": bridge.returncode, "said": said, "more": more, "document": json.loads(document), "got": got,
                  "gro": [state.count("generic-receive-offload: on") for state in meanwhile[1:]],
                  "promiscuity": [link["promiscuity"] for link in meanwhile[0]],
                  "same": before == state(), "captured": Path("x.pcap").read_bytes().hex()}))
"""

REFUSES = """
from penstock.cli.app import main

say("ip", "link", "add", "the", "type", "bridge")
found = []
def refused(*words, prepare=None):
    if prepare:
        say(*prepare)
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
        code = main(["bridge", *words])
    found.append([code, error.getvalue()])

refused("eth1", "eth1", "link.toml")
refused("eth1", "eht2", "link.toml")
refused("lo", "eth2", "link.toml")
refused("eth1", "eth2", "no-link.toml")
refused("eth1", "eth2", "link.toml", "--duration", "0 s")
say("ip", "address", "add", "10.3.0.1/24", "dev", "eth1")
refused("eth1", "eth2", "link.toml", prepare=["ip", "route", "add", "default", "via", "10.3.0.2"])
say("ip", "route", "del", "default")
refused("eth2", "eth1", "link.toml", prepare=["ip", "link", "set", "eth1", "mtu", "9000"])
refused("eth2", "eth1", "link.toml", prepare=["ip", "link", "set", "eth1", "mtu", "1500", "down"])
refused("eth1", "eth2", "link.toml", prepare=["ip", "link", "set", "eth1", "master", "the", "up"])
print(json.dumps({"found": found, "there": sorted(each.name for each in Path().iterdir())}))
"""


def inside(folder: Path, program: str, *arguments: str) -> dict[str, Any]:
    (folder / "link.toml").write_text(LINK, encoding="utf-8")
    (folder / "page").write_bytes(bytes(300_000))
    paths = os.pathsep.join([str(Path(ps.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-c", HOSTS + program, *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM"])
def test_a_bridge_carries_what_comes_and_leaves_the_interfaces_as_they_were(tmp_path: Path, signal: str) -> None:
    found = inside(tmp_path, CARRIES, signal)
    assert (found["code"], found["said"], found["more"]) == (0, "eth1 → eth2; Ctrl-C ends it\n", "")
    assert found["got"] == "300000\n"
    assert (found["gro"], sorted(found["promiscuity"])[-2:]) == ([0, 0], [1, 1])
    assert found["same"]
    e, metrics = found["document"]["emulation"], found["document"]["runs"][0]["metrics"]
    assert e["frames"]["received"] == e["frames"]["forwarded"] + e["frames"]["dropped"]
    assert (e["oversized"], e["unsent"], e["missed"], e["uncaptured"]) == (0, 0, 0, 0)
    # The burst of 1000, of 400 ms on the link, finds room for 30, and however slowly it is sent not for all.
    assert 0 < metrics["drops_overflow"] <= 969
    assert metrics["udp_goodput_bps"] * (e["measured_to_s"] - e["measured_from_s"]) / 8 >= 31 * 1028
    assert e["late_p50_s"] > 0
    # What has left is captured: the page, and once the packet in a VLAN, with its tag.
    captured = bytes.fromhex(found["captured"])
    assert len(captured) > 300_000
    assert captured.count(bytes.fromhex("8100 6005 0800")) == captured.count(b"a tagged") == 1


def test_what_a_bridge_cannot_stand_between(tmp_path: Path) -> None:
    found = inside(tmp_path, REFUSES)
    assert found["there"] == ["link.toml", "page"]
    says = [
        "eth1: a bridge stands between two interfaces, and this is one",
        "nearest: eth2",
        "lo: this machine's own loopback",
        "no-link.toml: No such file or directory",
        "--duration '0 s': must be above 0 s",
        "eth1: this machine's own default route leads through it, and would lead through the bottleneck; "
        "--allow-default-route takes it",
        "eth1: its MTU is 9000, above 1500; `ip link set eth1 mtu 1500`",
        "eth1: the interface is down; `ip link set eth1 up`",
        "eth1: it belongs to the, which would forward its frames, too; `ip link set eth1 nomaster`",
    ]
    for (code, error), said in zip(found["found"], says, strict=True):
        assert (code, said in error, error.count("\n")) == (2, True, 1), error
