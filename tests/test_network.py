"""A network that a block holds: what runs in it, what it says meanwhile, and that nothing is left of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
import snippets
from conftest import ROOT
from penstock.cli.output import draw, whole
from penstock.emulation import EmulationError, Network
from penstock.emulation.table import emulated_table
from penstock.errors import ScenarioError
from test_emulate import REFUSAL, needs_root, running

pytestmark = [pytest.mark.alone, pytest.mark.skipif(REFUSAL is not None, reason=REFUSAL or "")]

LINK = ps.Link(rate="20 Mbit/s", delay="5 ms", buffer="1000 packets")
BURST = """
import os, socket
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(600):
    to.sendto(bytes(1000), (os.environ["PENSTOCK_SERVER"], 9))
"""


def answered(net: Network) -> int:
    """Sends a burst of datagrams, and returns how many frames were dropped of it."""
    before = net.status().dropped
    assert net.run([sys.executable, "-c", BURST]).returncode == 0
    until = time.monotonic() + 10
    while net.status().queue_pkts and time.monotonic() < until:
        time.sleep(0.01)
    return net.status().dropped - before


@pytest.mark.parametrize("rootless", [pytest.param(False, marks=needs_root), True], ids=["root", "rootless"])
def test_programs_run_on_both_hosts(tmp_path: Path, rootless: bool) -> None:
    (tmp_path / "page").write_text("x" * 100_000)
    serve = [sys.executable, "-m", "http.server", "8000"]
    fetch = "import urllib.request, sys; print(len(urllib.request.urlopen(sys.argv[1]).read()))"
    with ps.network(LINK, aqm=ps.CoDel(), download=True, rootless=rootless) as net:
        server = net.start(serve, listens=8000, cwd=tmp_path, stderr=subprocess.DEVNULL)
        done = net.run([sys.executable, "-c", fetch, f"http://{net.server}:8000/page"], check=True)
        assert done.stdout == "100000\n"
        # A string is a line for the shell; where the caller is, the program is; codes are those of subprocess.
        done = net.run("pwd; echo $PENSTOCK_CLIENT $MINE >&2; exit 3", cwd=tmp_path, env={**os.environ, "MINE": "x"})
        assert (done.stdout, done.stderr, done.returncode) == (f"{tmp_path}\n", "10.9.0.1 x\n", 3)
        assert [net.run(f"kill -{n} $$").returncode for n in (9, 15)] == [-9, -15]
        assert net.run("cat", on="server", input="there and back").stdout == "there and back"
        with pytest.raises(subprocess.TimeoutExpired):
            net.run(["sleep", "600"], timeout=0.1)
        with pytest.raises(FileNotFoundError, match="no-such-program"):
            net.run(["no-such-program"])
        # The handle is Popen's: signals pass, and with two ends of a pipe it can be talked to.
        child = net.start(["cat"], on="client", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.communicate("line\n", timeout=60)[0] == "line\n"
        child = net.start("trap 'exit 7' TERM; echo on; sleep 600 & wait", stdout=subprocess.PIPE)
        assert child.stdout is not None
        assert child.stdout.readline() == "on\n"
        child.terminate()
        assert (child.wait(60), server.poll()) == (7, None)
        child.stdout.close()
        departures = net.metrics()["departures"]
        assert departures is not None
        assert departures > 60
    assert server.returncode == -signal.SIGTERM
    found = net.result
    assert found.emulation["privilege"] == ("user-namespace" if rootless else "root")
    metrics = found.runs[0].metrics
    assert departures <= (metrics["departures"] or 0)
    assert (metrics["goodput_bps"] or 0) > 0


def test_a_key_changes_while_it_runs() -> None:
    with ps.network(LINK, aqm=ps.Red(min_th=800, max_th=900)) as net:
        net.set("aqm.max_p", 0.2)
        net.set("topology.bottleneck.buffer", "900 packets")
        assert answered(net) == 0
        net.set("topology.bottleneck.buffer", "5 packets")
        # It takes 250 ms on the link; a slow machine sends more slowly, but not so much.
        dropped = answered(net)
        assert 0 < dropped <= 595
        for path, value, says in [
            ("topology.bottleneck.rate", "1 Mbit/s", "cannot change while packets wait; allowed: topology.bottleneck"),
            ("aqm.max_q", 1, "nearest: max_p"),
            ("aqm.max_p", 2, r"^aqm\.max_p = 2: must be"),
        ]:
            with pytest.raises(ScenarioError, match=says):
                net.set(path, value)
    notes = net.result.emulation["notes"]
    assert [note.split(" from ")[0] for note in notes] == [
        "aqm.max_p = 0.2",
        "topology.bottleneck.buffer = 900 packets",
        "topology.bottleneck.buffer = 5 packets",
    ]
    assert net.result.emulation["frames"]["dropped"] == dropped


def test_the_opposite_direction_hears_a_change() -> None:
    scenario = ps.Scenario(
        topology=ps.Dumbbell(bottleneck=LINK),
        reverse_aqm=ps.Red(min_th=800, max_th=900, w_q=1),
        traffic=ps.Ftp(),
    )
    with ps.network(scenario, download=True) as net:
        net.run([sys.executable, "-c", BURST])
        assert net.status().dropped == 0
        net.set_all({"aqm.reverse.min_th": 1, "aqm.reverse.max_th": 2})
        net.run([sys.executable, "-c", BURST])
        after = net.status().dropped
        assert after > 0
        net.set_all({"aqm.reverse.min_th": 800, "aqm.reverse.max_th": 900})
        net.set("topology.bottleneck.reverse_buffer", "5 packets")
        net.run([sys.executable, "-c", BURST])
        assert net.status().dropped > after


def test_the_discipline_hears_a_change() -> None:
    with ps.network(LINK, aqm=ps.Red(min_th=800, max_th=900, w_q=1)) as net:
        assert answered(net) == 0
        net.set_all({"aqm.min_th": 1, "aqm.max_th": 2})
        assert answered(net) > 0


def test_tables_and_figures_say_how_long_it_ran() -> None:
    scenario = ps.Scenario(topology=ps.Dumbbell(bottleneck=LINK), traffic=ps.Ftp(), duration="1 h")
    with ps.network(scenario.recording(links=True), series="10 ms") as net:
        answered(net)
    lasted = net.result.emulation["duration_s"]
    assert 0 < lasted < 600
    draw(whole(emulated_table(net.result), net.result, links=True), written := StringIO())
    assert written.getvalue().count(f" · {round(lasted, 3):g} s · seed") == 2
    assert net.result.plot.queue().axes[0].get_xlim() == (0, lasted)


class Mine(ps.Aqm):
    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> Any:
        return ps.PASS


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"no-link\.toml: No such file"), ps.network(tmp_path / "no-link.toml"):
        pass
    with pytest.raises(ScenarioError, match="bottleneck:out"), ps.network(LINK, pcap="x.pcap", pcap_link="elsewhere"):
        pass
    with pytest.raises(EmulationError, match='cc = "none_such"'), ps.network(LINK, cc="none_such"):
        pass
    with ps.network(LINK, aqm=Mine) as net:
        with pytest.raises(ScenarioError, match="allowed: client, server"):
            net.run(["true"], on="router")
        with pytest.raises(EmulationError, match=r"port 8000 of the server: it has ended with exit code 4"):
            net.start("exit 4", listens=8000)
        with pytest.raises(ScenarioError, match="keys cannot change"):
            net.set("aqm.ecn", value=True)
        with pytest.raises(EmulationError, match="has ended"):
            net.result  # noqa: B018
    for gone in (net.status, net.metrics, lambda: net.run(["true"]), lambda: net.start(["true"])):
        with pytest.raises(EmulationError, match="the emulation has ended"):
            gone()


# ---- nothing is left -----------------------------------------------------------------------------------------------

HOLDS = """
import subprocess, sys
import penstock as ps

with ps.network(ps.Link(rate="20 Mbit/s", delay="5 ms", buffer=100)) as net:
    net.start("trap '' INT TERM; (setsid sleep 600 &); while :; do sleep 600; done")
    if sys.argv[1] == "raises":
        net.run("sleep 1; exit 3", check=True)
    net.run(["sleep", "600"])
"""


@pytest.mark.parametrize(("sent", "code"), [(None, 1), (signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, -15)])
def test_nothing_is_left(tmp_path: Path, sent: signal.Signals | None, code: int) -> None:
    line = [sys.executable, "-c", HOLDS, "waits" if sent else "raises"]
    with running(tmp_path, line, 6) as (process, _):
        if sent:
            process.send_signal(sent)  # to this process alone
        _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert said.rstrip().splitlines()[-1:] == (
        ["subprocess.CalledProcessError: Command 'sleep 1; exit 3' returned non-zero exit status 3."]
        if sent is None
        else ["KeyboardInterrupt"]
        if sent is signal.SIGINT
        else []
    )


def test_networks_follow_each_other_and_stand_side_by_side() -> None:
    for _ in range(2):
        with ps.network(LINK) as one, ps.network(LINK) as other:
            assert [net.run("exit 5").returncode for net in (one, other)] == [5, 5]


# ---- what the docs show --------------------------------------------------------------------------------------------


def test_the_block_of_the_docs() -> None:
    pieces = snippets.pieces(ROOT, ROOT / "docs" / "emulate.md")
    (piece,) = (piece for piece in pieces if piece.kind == "python" and "ps.network" in piece.text)
    line = [sys.executable, "-c", piece.text]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert (tuple(done.stdout.splitlines()), done.stderr) == (piece.output, "")


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl: apt-get install curl")
def test_the_fixture_of_the_docs(tmp_path: Path) -> None:
    """As in a project of the reader's."""
    for piece in snippets.pieces(ROOT, ROOT / "docs" / "emulate.md"):
        if piece.kind == "file":
            (tmp_path / piece.name).write_text(piece.text, encoding="utf-8")
    paths = os.pathsep.join([str(Path(ps.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    done = subprocess.run(
        line, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.splitlines()[-1][:8]) == (0, "1 passed"), done.stdout + done.stderr
    # Where there are no namespaces, it is skipped, and says why.
    (tmp_path / "sitecustomize.py").write_text(
        "from penstock import _penstock\n\ndef refuse(_):\n"
        "    raise OSError('none here')\n\n_penstock.emulate_isolate = refuse\n"
    )
    paths = os.pathsep.join([str(tmp_path), paths])
    done = subprocess.run(
        [*line, "-rs"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 skipped" in done.stdout
    assert "none here" in done.stdout
