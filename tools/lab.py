"""Builds the lab, for `make lab`: the engine as WebAssembly and the worker, in docs/lab/engine.js.

The page loads them as a script, so that it works from a file as well as from a server. Nothing that
is built is committed.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAB = ROOT / "docs" / "lab"
TARGET = "wasm32-unknown-unknown"
MODULE = ROOT / "target" / TARGET / "release" / "penstock_lab.wasm"


class MissingError(Exception):
    """No Rust for WebAssembly is here."""


def has_target() -> bool:
    """Return whether the present Rust has the standard library for WebAssembly."""
    said = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", TARGET], capture_output=True, text=True
    )
    return said.returncode == 0 and any(Path(said.stdout.strip()).glob("libstd-*.rlib"))


def add_target() -> bool:
    """Ask rustup for it; return whether it is here now."""
    try:
        subprocess.run(["rustup", "target", "add", TARGET], capture_output=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return has_target()


def build() -> Path:
    """Compile the engine. Return the module.

    Raises MissingError where no Rust for WebAssembly can be had.
    """
    if not has_target() and not add_target():
        raise MissingError(f"no Rust for {TARGET}: rustup target add {TARGET}")
    command = [
        "cargo",
        "build",
        "--release",
        "--quiet",
        "--package",
        "penstock-lab",
        "--target",
        TARGET,
    ]
    subprocess.run(command, cwd=ROOT, check=True)
    return MODULE


def number(module: bytes, at: int) -> tuple[int, int]:
    """Read a number in LEB128. Return it, and where the next byte is."""
    value = shift = 0
    while True:
        byte = module[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at


def sections(module: bytes) -> Iterator[tuple[int, bytes]]:
    """Each section of a module: its kind, and its bytes with their header."""
    at = 8
    while at < len(module):
        size, inside = number(module, at + 1)
        yield module[at], module[at : inside + size]
        at = inside + size


def stripped(module: bytes) -> bytes:
    """Return the module without its custom sections, which hold names for debuggers."""
    return module[:8] + b"".join(section for kind, section in sections(module) if kind != 0)


def write(module: bytes, path: Path) -> None:
    """Write the script that the page loads."""
    said = {
        "wasm": base64.b64encode(module).decode(),
        "worker": (LAB / "worker.js").read_text(encoding="utf-8"),
    }
    path.write_text(f"globalThis.PENSTOCK = {json.dumps(said)};\n", encoding="utf-8")


def main() -> int:
    """Build the lab."""
    try:
        module = stripped(build().read_bytes())
    except MissingError as missing:
        print(f"lab.py: {missing}", file=sys.stderr)
        return 1
    write(module, LAB / "engine.js")
    print(f"docs/lab/index.html: {len(module) / 1e3:.0f} kB of engine")
    return 0


if __name__ == "__main__":
    sys.exit(main())
