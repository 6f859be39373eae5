"""How commands end before they are done: Ctrl-C while others work for them, closed standard streams, full disks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from conftest import SMALL, Command
from helpers.processes import MARK, marked, wait_until_busy

OWN = """
import penstock as ps

class Own(ps.Aqm):
    def arrive(self, now, packet, queue):
        return ps.PASS
"""
LONG = ["--set", "duration=400000 s"]
#: Each command that takes long, at work that takes longer than any test.
BUSY: dict[str, list[str]] = {
    "run": ["run", "small.toml", *LONG, "--seeds", "4"],
    "compare": ["compare", "small.toml", *LONG, "--aqm", "red", "--aqm", "pie"],
    "sweep": ["sweep", "grid.toml", "--seeds", "1000000", "--out", "out"],
    "tune": ["tune", "grid.toml", "--aqm", "red", "--maximize", "utilization", "--runs", "10000000", "--out", "out"],
    "evaluate": ["evaluate", "red", "--seeds", "1000", "--out", "out"],
    "evaluate own": ["evaluate", "own.py:Own", "--seeds", "1000", "--out", "out"],
    "reproduce": ["reproduce", "amecn", "--seeds", "10000", "--out", "out"],
    "stability": ["stability", "small.toml", *LONG, "--simulate", "--seeds", "4"],
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("to", ["group", "process"])
@pytest.mark.parametrize("what", BUSY)
def test_ctrl_c_ends_every_command_and_leaves_no_process(small: Path, what: str, to: str) -> None:
    """From a terminal it reaches the whole group, from a notebook or a service the process alone."""
    folder = small.parent
    (folder / "grid.toml").write_text(SMALL + '\n[sweep]\n"traffic.0.flows" = [2, 3]\n', encoding="utf-8")
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    name = uuid.uuid4().hex
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock", *BUSY[what], "--jobs", "2"],
        cwd=folder,
        env={**os.environ, MARK: name},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until_busy(process, name)  # the slowest has loaded everything after one second
        if to == "group":
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (130, ""), err
        assert err.splitlines()[-1].startswith("penstock: interrupted"), err
        assert "Traceback" not in err
        until = time.monotonic() + 20
        while time.monotonic() < until and marked(name):
            time.sleep(0.05)
        assert marked(name) == []
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(os.name != "posix", reason="a POSIX shell closes them")
def test_closed_streams(small: Path) -> None:
    """What cannot be printed is not lost in silence, and nothing is printed where it was not meant to go."""

    def shell(line: str) -> subprocess.CompletedProcess[str]:
        program = f"{sys.executable} -m penstock"
        line = line.replace("penstock", program, 1)
        return subprocess.run(["sh", "-c", line], cwd=small.parent, capture_output=True, text=True, timeout=60)

    done = shell("penstock list aqm >&-")
    assert (done.returncode, done.stderr) == (
        1,
        "penstock: the standard output is closed: > /dev/null discards what is printed\n",
    )
    done = shell("penstock run nowhere.toml 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")
    done = shell("penstock run small.toml --out out <&- 2>&-")
    assert (done.returncode, "utilization" in done.stdout) == (0, True)
    # The file is where it was to be, and not what descriptor 0 or 2 happened to be.
    assert (small.parent / "out" / "document.json").read_text().startswith("{")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_named(small: Path, penstock: Command) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m penstock list > /dev/full"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (1, "penstock: [Errno 28] No space left on device\n")
