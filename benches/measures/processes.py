"""Running a process to its end, and what it took."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent
CORES = len(os.sched_getaffinity(0))
#: What the processes see of the environment. Python may keep what it has compiled, as it does for
#: a user: without that it would compile a development install at every start.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Cost:
    """What a process took: CPU and wall seconds, its largest resident set, and what it printed."""

    cpu_s: float
    wall_s: float
    peak_bytes: int
    stdout: str

    @property
    def document(self) -> Any:
        """The JSON object that it printed, on the last line that holds one."""
        lines = [line for line in self.stdout.splitlines() if line.startswith("{")]
        return json.loads(lines[-1] if lines else self.stdout)


def spend(command: Sequence[str | Path], watch: bool = True) -> Cost:
    """Runs a process to its end. Raises `SystemExit` with its complaint if it fails.

    The peak is polled from /proc: the kernel's `ru_maxrss` of a child begins at what its parent
    had. Without `watch` there is no peak, and the wall time is exact instead of to 5 ms.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun = time.monotonic()
        line = [str(c) for c in command]
        process = subprocess.Popen(line, stdout=out, stderr=err, cwd=ROOT, env=ENVIRONMENT)
        peak, pid = 0, 0
        while not pid:
            if watch:
                peak = max(peak, _high_water(process.pid))
            pid, status, usage = os.wait4(process.pid, os.WNOHANG if watch else 0)
            if not pid:
                time.sleep(0.005)
        wall = time.monotonic() - begun
        # The process is reaped: subprocess must not wait for it again.
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            message = err.read().decode(errors="replace").strip()
            raise SystemExit(f"bench: {' '.join(line)}: exit {process.returncode}: {message}")
        return Cost(usage.ru_utime + usage.ru_stime, wall, peak, out.read().decode())


def shortest(commands: Mapping[str, Sequence[str | Path]], turns: int) -> dict[str, Cost]:
    """Runs each command once in every turn, and returns the run of each that took the least CPU.

    What else the machine does makes a run longer, never shorter, and those that take turns meet the
    same clock.
    """
    best: dict[str, Cost] = {}
    for i in range(turns):
        for name, command in commands.items():
            say(f"{name}, {i + 1} of {turns}")
            cost = spend(command)
            if name not in best or cost.cpu_s < best[name].cpu_s:
                best[name] = cost
    return best


def _high_water(pid: int) -> int:
    """The largest resident set of a live process so far, in bytes."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def at_once(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """`work` for each item, as many at once as there are cores. For counts, never for timings."""
    with ThreadPoolExecutor(CORES) as pool:
        return list(pool.map(work, items))


def say(text: str) -> None:
    """Progress, on stderr."""
    print(f"bench: {text}", file=sys.stderr, flush=True)
