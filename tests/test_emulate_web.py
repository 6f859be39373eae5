"""Web and video on real packets: the simulator's pages and bitrates over the kernel's TCP.

As in `test_emulate.py`, what is counted is exact, and what is timed is judged only where the run says that it kept up.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from penstock.emulation import Emulated, emulate
from penstock.model.scenario import Scenario
from penstock.runs import runner
from penstock.runs.result import Result
from penstock.validate.real.compare import as_linux
from test_emulate import BACKENDS, REFUSAL, command, document, metrics, needs_iperf3, running, scenario

pytestmark = [pytest.mark.alone, pytest.mark.skipif(REFUSAL is not None, reason=REFUSAL or "")]

BROWSER = """
[[traffic]]
kind = "web"
sessions = 2
start = { every = "0.1 s" }
object = { pareto = { shape = 1.5, mean = "8 kB", max = "60 kB" } }
objects_per_page = 12
think = { constant = "0.1 s" }
connections = 4
tcp = "sack"
delayed_ack = true
"""
ASKS = 'request = "300 B"\n'
PERSISTENT = "persistent = true\n"
ECN = 'ecn = "classic"\n'
WEB = """
[[traffic]]
kind = "web"
sessions = 3
objects_per_page = 3
object = { pareto = { shape = 1.5, mean = "8 kB", max = "60 kB" } }
think = { exponential = "0.2 s" }
tcp = "sack"
"""
VIDEO = """
[[traffic]]
kind = "video"
tcp = "sack"
chunk = "0.5 s"
buffer = "2 s"
startup = "1 s"
"""
IDLE = 'kind = "droptail"'


def real(file: Path) -> Emulated:
    return emulate(Scenario.load(file), series=0.05)


def simulated(file: Path) -> Result:
    """What the simulator makes of it, told of Linux's ways."""
    mapped = as_linux(Scenario.load(file))
    return runner.run(mapped, [mapped.seed], series=0.05)


def column(of: Result, table: str, name: str) -> list[Any]:
    found: list[Any] = of.series(table)[name].to_pylist()
    return found


def sizes(of: Result, table: str, flow: int) -> list[int]:
    """The bytes of a flow's pages or objects."""
    both = zip(column(of, table, "flow"), column(of, table, "bytes"), strict=True)
    return [size for whose, size in both if whose == flow]


def same_shape(one: Result, other: Result) -> None:
    """Metrics, flows and groups have the same names."""
    a, b = one.runs[0], other.runs[0]
    assert a.metrics.keys() == b.metrics.keys()
    assert [flow.keys() for flow in a.flows] == [flow.keys() for flow in b.flows]
    assert [group.keys() for group in a.groups] == [group.keys() for group in b.groups]


def begin_alike(real: list[int], other: list[int], least: int) -> None:
    """Both fetch the same, as far as both come."""
    n = min(len(real), len(other))
    assert n >= least, (len(real), len(other))
    assert real[:n] == other[:n]


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(ASKS + PERSISTENT, id="http/1.1"),
        pytest.param(ASKS, id="http/1.0", marks=pytest.mark.long),
        pytest.param(PERSISTENT, id="push", marks=pytest.mark.long),
        pytest.param("", id="once"),
    ],
)
def test_the_same_pages_arrive(tmp_path: Path, keys: str) -> None:
    """To the byte, however late the machine is, in the document's same shape."""
    file = scenario(tmp_path, BROWSER + keys, duration="3 s", start="0 s", aqm=IDLE)
    found, other = real(file), simulated(file)
    same_shape(found, other)
    for first in (0, 4):
        begin_alike(sizes(found, "pages", first), sizes(other, "pages", first), 2)
    run = found.runs[0]
    pages = len(column(found, "pages", "bytes"))
    assert run.metrics["pages"] == pages
    objects = column(found, "fct", "bytes")
    assert 0 <= len(objects) - 12 * pages < 24
    # What was acknowledged is what arrived, but for an object under way on each connection.
    acked = sum(flow["goodput_bps"] for flow in run.flows) * 3 / 8
    assert abs(sum(objects) - acked) <= 8 * 60_001
    kernel = found.emulation["kernel"]
    assert [(k["congestion"], k["ecn"]) for k in kernel] == [("reno", False)] * 8
    assert all(flow["connections"] is None for flow in run.flows)
    # A connection that is being set up when the run ends has not measured a round trip yet. One whose answer is lost is
    # measured by timestamps, in whole milliseconds: 10 for a little more than the links' 10 ms.
    assert all(flow["srtt_s"] is None or flow["srtt_s"] >= 0.01 for flow in run.flows)
    measured = column(found, "rtt", "rtt_s")
    assert len(measured) > 50
    assert min(measured) >= 0.01
    assert all(k["min_rtt_s"] is None or 0.01 <= k["min_rtt_s"] < 1 for k in kernel)


def test_page_times_are_the_simulators(tmp_path: Path) -> None:
    """On a link without other traffic, page by page with the same objects."""
    one = BROWSER.replace("sessions = 2", "sessions = 1") + ASKS + PERSISTENT
    file = scenario(tmp_path, one, duration="8 s", start="0 s", delay="20 ms", buffer="200 packets", aqm=IDLE)
    other = column(simulated(file), "pages", "page_time_s")

    def times(found: Emulated) -> tuple[float, float]:
        mine = column(found, "pages", "page_time_s")
        n = min(len(mine), len(other))
        assert n > 10
        return sum(mine[:n]), sum(other[:n])

    for _ in range(3):
        found = real(file)
        if not found.valid:
            continue
        mine, theirs = times(found)
        sys.stderr.write(f"\npage times: real {mine:.3f} s, simulated {theirs:.3f} s\n")
        if abs(mine / theirs - 1) < 0.1:
            return
    if not found.valid:
        pytest.skip(f"this machine did not keep up: {found.emulation['invalid_because']}")
    assert times(found)[0] == pytest.approx(times(found)[1], rel=0.1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(ASKS + PERSISTENT, id="http/1.1"),
        pytest.param(ASKS, id="http/1.0", marks=pytest.mark.long),
        pytest.param("", id="once"),
    ],
)
def test_pages_are_marked_and_their_marks_counted(tmp_path: Path, keys: str, backend: str) -> None:
    """Not every mark is counted: what a connection's kernel says last may be gone before it is asked."""
    traffic = BROWSER.replace("8 kB", "30 kB") + keys + ECN
    found = document(scenario(tmp_path, traffic, duration="3 s", delay="20 ms"), "--backend", backend)
    e = found["emulation"]
    assert e["frames"]["made_ce"] > 5
    assert 0.5 * e["frames"]["made_ce"] < e["received_ce"] <= e["frames"]["made_ce"]
    assert [k["ecn"] for k in e["kernel"]] == [True] * 8


def test_requests_are_lost_and_sent_again(tmp_path: Path) -> None:
    loss = 'buffer = "100 packets", loss = 0.1 }'
    file = scenario(tmp_path, BROWSER + ASKS, duration="4 s", start="0 s", aqm=IDLE)
    file.write_text(file.read_text().replace('buffer = "100 packets" }', loss))
    found = metrics(document(file))
    assert found["retransmits"] > 0
    lossy = file.read_text().replace(BROWSER, BROWSER + 'direction = "reverse"\n')
    file.write_text(lossy)
    assert metrics(document(file))["request_repeats"] > 0


def test_sessions_without_parallel_connections(tmp_path: Path) -> None:
    file = scenario(tmp_path, WEB, duration="3 s", start="0 s", aqm=IDLE)
    found, other = real(file), simulated(file)
    same_shape(found, other)
    assert "pages" not in found.runs[0].metrics
    for flow in range(3):
        begin_alike(sizes(found, "fct", flow), sizes(other, "fct", flow), 2)
    assert found.runs[0].metrics["transfers"] == len(column(found, "fct", "bytes"))


def test_a_video_adapts(tmp_path: Path) -> None:
    """1.5 Mbit/s carry the third of the bitrates, and the document has what viewers see."""
    file = scenario(tmp_path, VIDEO, duration="6 s", start="2 s", rate="1.5 Mbit/s", aqm=IDLE)
    other = simulated(file)
    for _ in range(3):
        found = real(file)
        same_shape(found, other)
        flow = found.runs[0].flows[0]
        assert flow["connections"] == 0, "its one connection is older than the window"
        assert found.emulation["kernel"][0]["congestion"] == "reno"
        assert sizes(found, "fct", 0)[0] == 19_000, "half a second at the lowest bitrate, in whole segments"
        assert flow["video_startup_s"] > 0
        # A host that waits for a processor chooses lower bitrates.
        if 300e3 < flow["video_bitrate_bps"] <= 1.2e6 and flow["video_chunks"] > 4:
            return
    assert not found.valid, flow


@needs_iperf3
def test_the_rfcs_mixes_run(tmp_path: Path) -> None:
    """RFC 7928, sections 7.2 and 9.1: web, video, a call and bulk beside each other."""
    for name in ("bursts-iv", "mix"):
        file = ROOT / "scenarios" / "rfc7928" / f"{name}.toml"
        found = document(file, "--duration", "4 s", "--set", "measure.from=1 s", "--set", "aqm.kind=codel",
                         "--series", "50 ms", "--out", tmp_path / name)  # fmt: skip
        assert metrics(found)["pages"] > 0
        assert metrics(found)["utilization"] > 0.3
        tables = {each.stem.split("-")[0] for each in (tmp_path / name).rglob("*.parquet")}
        assert {"pages", "fct", "queue", "cwnd"} <= tables
        goodputs = {of: group["goodput_bps"] for of, group in found["runs"][0]["groups"].items()}
        assert all(goodput is None or goodput > 0 for goodput in goodputs.values()), goodputs


def test_hundreds_of_connections(tmp_path: Path) -> None:
    traffic = BROWSER.replace("sessions = 2", "sessions = 100").replace('every = "0.1 s"', 'uniform = ["0 s", "1 s"]')
    file = scenario(tmp_path, traffic + ASKS + PERSISTENT, duration="4 s", rate="40 Mbit/s", buffer="400 packets")
    found = document(file)
    flows = found["runs"][0]["flows"]
    assert len(flows) == 400
    # A busy machine does not get to all of them in the time.
    assert sum(flow["goodput_bps"] > 0 for flow in flows) > 100
    assert metrics(found)["pages"] > 10


def test_too_few_files_are_said(tmp_path: Path) -> None:
    traffic = BROWSER.replace("sessions = 2", "sessions = 100") + ASKS
    line = " ".join(command(scenario(tmp_path, traffic)))
    done = subprocess.run(["sh", "-c", f"ulimit -n 512; exec {line}"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "400 connections of web and video need" in done.stderr
    assert "ulimit -n" in done.stderr


@needs_iperf3
@pytest.mark.parametrize("killed", [True, False])
def test_nothing_is_left_of_pages(tmp_path: Path, killed: bool) -> None:
    traffic = BROWSER + ASKS + WEB + VIDEO + '\n[[traffic]]\nkind = "ftp"\ntcp = "reno"\n'
    file = scenario(tmp_path, traffic, duration="60 s" if killed else "2 s")
    with running(tmp_path, command(file, "--json")) as (process, family):
        if killed:
            time.sleep(0.5)
            os.kill(family["command"], signal.SIGKILL)
        process.communicate(timeout=60)
        assert process.returncode == (-signal.SIGKILL if killed else 0)
