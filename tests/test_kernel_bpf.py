"""`penstock kernel` on real packets: what is counted is what arrives, between own network namespaces."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import kernel_pairs
import kernel_side
import penstock as ps
import test_mecn_bpf as mecn
from conftest import ROOT
from helpers.real import machines_controls
from penstock.errors import ScenarioError
from penstock.kernel import device
from penstock.kernel.words import KINDS, told
from penstock.model.discipline import discipline

pytestmark = [pytest.mark.alone, pytest.mark.skipif(mecn.REASON is not None, reason=str(mecn.REASON))]

SENT = 60
#: Counts the ECN fields of datagrams until none comes for a moment.
RECEIVER = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
s.bind(("10.9.0.2", 9)); print("ready", flush=True)
s.settimeout(20)
while True:
    try: data, extra, *_ = s.recvmsg(2000, 64)
    except TimeoutError: break
    s.settimeout(0.5); print(extra[0][2][0] & 3, flush=True)
"""
SENDER = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(sys.argv[1]))
for _ in range(int(sys.argv[2])): s.sendto(bytes(972), ("10.9.0.2", 9))
"""


@dataclass
class Pair:
    """A sender whose device d0 has the discipline, and a receiver."""

    sender: str
    receiver: str

    def send(self, ecn: int) -> Counter[int]:
        """Sends datagrams with an ECN field; how many came with each."""
        with mecn.process("nsenter", f"--net={self.receiver}", "python3", "-c", RECEIVER) as receiver:
            line = ["nsenter", f"--net={self.sender}", "python3", "-c", SENDER, str(ecn), str(SENT)]
            subprocess.run(line, check=True)
            out, _ = receiver.communicate(timeout=60)
        return Counter(map(int, out.split()))


@pytest.fixture(scope="module")
def programs() -> Path:
    """The folder of `penstock-kernel` and `penstock-mecn`."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    line = ["cargo", "build", "--quiet", "--release", "--manifest-path", str(ROOT / "bpf/Cargo.toml")]
    subprocess.run(["nice", *line, "--target-dir", str(target)], check=True)
    check = subprocess.run([target / "release/penstock-kernel", "check"], capture_output=True, text=True, check=False)
    if check.returncode == 3:
        pytest.skip(check.stderr.strip())
    return target / "release"


@pytest.fixture
def pair(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    with (
        mecn.process("unshare", "--net", "cat", ready=False) as one,
        mecn.process("unshare", "--net", "cat", ready=False) as two,
    ):
        made = Pair(*(f"/proc/{each.pid}/ns/net" for each in (one, two)))
        own = Path("/proc/self/ns/net").readlink()
        while any(Path(path).readlink() == own for path in (made.sender, made.receiver)):
            time.sleep(0.01)
        inside = ["nsenter", f"--net={made.sender}"]
        subprocess.run(
            [*inside, "ip", "link", "add", "d0", "type", "veth", "peer", "name", "d1", "netns", str(two.pid)],
            check=True,
        )
        for namespace, name, address in ((made.sender, "d0", "10.9.0.1"), (made.receiver, "d1", "10.9.0.2")):
            there = ["nsenter", f"--net={namespace}", "ip"]
            subprocess.run([*there, "addr", "add", f"{address}/24", "dev", name], check=True)
            subprocess.run([*there, "link", "set", name, "up"], check=True)
        program = tmp_path / "penstock-kernel"
        program.write_text(f'#!/bin/sh\nexec {" ".join(inside)} {programs}/penstock-kernel "$@"\n')
        program.chmod(0o755)
        monkeypatch.setattr(device, "program", lambda: str(program))
        yield made


def link(named: str) -> ps.Scenario:
    bottleneck = ps.Link(rate="1 Mbit/s", delay="0 ms", buffer="1000 packets")
    scenario = ps.Scenario(topology=ps.Dumbbell(bottleneck=bottleneck), aqm=ps.Red(), traffic=ps.Ftp())
    return scenario.with_aqm(discipline(named, "test")).set("aqm.ecn", True)


def test_marks_and_drops_are_what_arrives(pair: Pair) -> None:
    """Capable packets get CE or MECN's incipient mark, others are dropped; the counts say how many."""
    red = "red:w_q=1,min_th=5,max_th=15,max_p=1,gentle=false,forced=mark"
    two = "mecn:w_q=1,min_th=5,max_th=100,mid_th=99,p1_max=1,gate=geometric"
    for named, ecn, field in ((red, 2, 3), (two, 2, 1), (red, 0, 0)):
        device.load(link(named), "d0")
        came = pair.send(ecn)
        values = device.show("d0").values
        device.unload("d0")
        marks = values["marks_ce"] if field == 3 else values["marks_incipient"]
        drops = sum(values[f"drops_{why}"] or 0 for why in ("early", "forced", "overflow"))
        assert sum(came.values()) + drops >= SENT  # ARP and IPv6 may lose some, too
        assert came[field] == (marks if ecn else SENT - drops), (named, came, values)
        assert (drops if not ecn else marks or 0) > 5, (named, came, values)


def test_set_changes_all_at_once_and_keeps_what_was_learned(pair: Pair) -> None:
    device.load(link("red:w_q=0.1,min_th=5,max_th=900"), "d0")
    with pytest.raises(ScenarioError, match="d0 has a discipline already"):
        device.load(link("red"), "d0")
    pair.send(2)
    before = device.show("d0")
    device.change("d0", {"aqm.max_p": 0.3})
    after = device.show("d0")
    assert after.scenario.resolved["aqm"]["max_p"] == 0.3
    assert (after.values["arrivals"] or 0) >= (before.values["arrivals"] or 0) >= SENT
    pair.send(2)
    assert device.show("d0").values["max_p"] == pytest.approx(0.3)
    with pytest.raises(ScenarioError, match=r"aqm\.unit: cannot change"):
        device.change("d0", {"aqm.unit": "bytes"})
    device.unload("d0")
    with pytest.raises(ScenarioError, match="d0 has no discipline"):
        device.show("d0")


def test_a_load_that_is_killed_leaves_all_or_nothing(pair: Pair) -> None:
    scenario = link("red")
    said = json.dumps({"words": told(scenario).words, "scenario": scenario.to_toml()})
    for wait_s in (0.02, 0.05, 0.08, 0.12):
        started = subprocess.Popen([str(device.program()), "load", "--", "d0"], stdin=subprocess.PIPE, text=True)
        assert started.stdin is not None
        started.stdin.write(said)
        started.stdin.close()
        time.sleep(wait_s)
        started.kill()
        started.wait()
        with contextlib.suppress(ScenarioError):  # it was killed before
            device.unload("d0")
    device.load(scenario, "d0")
    device.unload("d0")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_taken_whatever_its_parameters(pair: Pair, kind: str) -> None:
    """The verifier follows every way through a program, and gives up where there are too many."""
    for number in range(3):
        device.load(kernel_pairs.drawn(kind, number).scenario(in_kernel=True), "d0")
        device.unload("d0")


def test_red_is_as_the_emulators_under_the_same_tcp(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short form of the table in docs/kernel.md."""
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    ramp = {"min_th": 5, "max_th": 20, "max_p": 0.1, "w_q": 0.02, "ecn": True, "mean_packet": "1514 B"}
    flows = (kernel_side.Flows(6, "reno"),)
    red = kernel_side.Setting(aqm={"kind": "red", **ramp}, rate=8, trip=30, buffer=100, flows=flows, ecn=True)
    found = kernel_pairs.both(red, 0, looks=3)
    if not kernel_pairs.valid(found):
        pytest.skip("too busy: the emulator was late")
    for row in kernel_pairs.rows_of("red", 0, found):
        if row["metric"] != "drops_per_s":
            assert float(row["kernel"]) == pytest.approx(float(row["emulator"]), rel=0.3), row


def test_multi_level_ecn_end_to_end(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel marks two levels, and the kernel's TCP answers each in its own way."""
    monkeypatch.setattr(device, "program", lambda: str(programs / "penstock-kernel"))
    ramps = {"min_th": 3, "mid_th": 5, "max_th": 20, "p1_max": 0.2, "p2_max": 0.2, "w_q": 0.1}
    flows = (kernel_side.Flows(3, mecn.NAME),)
    aqm = {"kind": "mecn", **ramps}
    setting = kernel_side.Setting(aqm=aqm, rate=8, trip=20, buffer=100, flows=flows, ecn=True)
    with machines_controls(changed=True), kernel_side.net(ecn=True) as net, kernel_side.loaded(net, setting):
        ends = [f"--{host}-{what}" for host in ("client", "server") for what in ("ns", "dev")]
        values = (net.spaces["c"], "c0", net.spaces["s"], "s0")
        line = [word for pair in zip(ends, values, strict=True) for word in pair]
        with (
            kernel_side.emulated(net, setting.delay_alone(), 1),
            mecn.process(programs / "penstock-mecn", *line) as both,
        ):
            with kernel_side.flowing(net, setting, 5):
                time.sleep(6)
            told_, seen = kernel_side.shown(net), mecn.finish(both)
    assert told_["marks_incipient"] == seen["ect1_received"] > 20
    assert told_["marks_ce"] == seen["ce_received"] > 5
    assert seen["ae_sent"] <= seen["ect1_received"]
    assert seen["cuts_incipient"] > 5
    assert seen["cuts_moderate"] > 5
