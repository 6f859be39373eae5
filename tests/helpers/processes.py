"""Processes that a test starts, found by a mark in their environment; how far they are, by what they computed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path

#: The variable that a test sets to a name of its own for what it starts.
MARK = "PENSTOCK_TEST"


def marked(name: str) -> list[int]:
    """The processes with that mark in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdecimal() and f"{MARK}={name}".encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
    return found


def wait_until_busy(process: subprocess.Popen[str], name: str, seconds: float = 2) -> None:
    """Waits until those with that mark have computed for so long: as far on a busy machine as on an idle one."""
    ticks = os.sysconf("SC_CLK_TCK")
    spent = 0
    while spent < seconds * ticks:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
        spent = 0
        for each in marked(name):
            with contextlib.suppress(OSError):
                spent += sum(map(int, Path(f"/proc/{each}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
