"""The virtual machine: a Debian kernel in qemu, whose clock counts instructions. README.md says why it is set up so."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from debian import Packages


class GuestError(Exception):
    """The guest did not do what it should; says what it printed."""


def said(packages: Packages, archive: Path, seed: int, limit_s: float) -> str:
    """Boots the guest and returns what it prints between its marker lines."""
    line: list[str | Path] = [*packages.loader(), packages.program("qemu-system-x86_64")]
    for folder in ("usr/share/qemu", "usr/share/seabios"):
        line += ["-L", packages.file(folder)]
    line += ["-machine", "q35", "-m", "1024", "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"]
    # To translate string instructions is slow; without these two features the kernel copies and clears by words.
    # Translated, one processor, no randomness but the seed's, and a clock that counts instructions: repeatable.
    line += ["-accel", "tcg,thread=single", "-cpu", "max,-rdrand,-rdseed,-erms,-fsrm", "-seed", str(seed)]
    # Recording, though nobody reads the record: without it qemu's main thread may move the clock to the next timer
    # while the processor's thread, which has just halted, has not yet added its last instructions; the clock is then
    # late.
    icount = "shift=0,sleep=off,rr=record,rrfile=/dev/null"
    line += ["-rtc", "base=2026-01-01,clock=vm", "-icount", icount]
    line += ["-kernel", packages.file(f"usr/lib/modules/{packages.kernel}/vmlinuz"), "-initrd", archive]
    environment = {"QEMU_MODULE_DIR": str(packages.file("usr/lib/x86_64-linux-gnu/qemu"))}
    # The kernel stirs its command line into its random numbers before it draws any; qemu's seed alone changes none.
    line += ["-append", f"console=ttyS0 quiet panic=-1 ipv6.disable=1 oracle.seed={seed}"]
    try:
        done = subprocess.run(line, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s)
    except subprocess.TimeoutExpired as error:
        raise GuestError(f"seed {seed}: no end after {limit_s:.0f} s; {_tail(error.stdout)}") from error
    text = done.stdout.decode(errors="replace").replace("\r", "")
    document = re.search(r"^penstock-oracle begin\n(.*)^penstock-oracle end$", text, re.DOTALL | re.MULTILINE)
    if document is None:
        raise GuestError(f"seed {seed}: {_tail(done.stdout) or _tail(done.stderr)}")
    return document[1]


def _tail(output: bytes | None) -> str:
    """The last lines of a console."""
    lines = (output or b"").decode(errors="replace").replace("\r", "").strip().splitlines()
    return "\n".join(lines[-80:])
