"""Builds the lab, for `make lab`: the engine as WebAssembly and the worker, in docs/lab/engine.js.

The page loads them as a script, so that it works from a file as well as from a server. Nothing that
is built is committed.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAB = ROOT / "docs" / "lab"
TARGET = "wasm32-unknown-unknown"
MODULE = Path(TARGET) / "release" / "penstock_lab.wasm"

#: Where Debian puts the Rust that it builds browsers with, and the linkers that make WebAssembly.
COMPILERS = ("rustc", "/usr/bin/rustc")
LINKERS = ("wasm-ld", *(f"wasm-ld-{version}" for version in range(22, 13, -1)))


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


def from_source() -> dict[str, str] | None:
    """Returns how to build the standard library along with the engine: variables of the
    environment.

    It takes a Rust that has the library's source beside it (Debian: `rustc-web`, `rust-web-src`)
    and a linker. None where one of them is missing.
    """
    found = {name: sysroot for name in COMPILERS if (sysroot := _sysroot(name)) is not None}
    source = "lib/rustlib/src/rust/library/std/Cargo.toml"
    compiler = next((name for name, sysroot in found.items() if (sysroot / source).exists()), None)
    linkers = [
        *(f"{path}" for each in found.values() for path in each.glob("lib/rustlib/*/bin/rust-lld")),
        *filter(None, map(shutil.which, LINKERS)),
    ]
    if compiler is None or not linkers:
        return None
    variable = f"CARGO_TARGET_{TARGET.upper().replace('-', '_')}_LINKER"
    return {"RUSTC": compiler, "RUSTC_BOOTSTRAP": "1", variable: linkers[0]}


def _sysroot(compiler: str) -> Path | None:
    """Returns the folder of a Rust, where there is one."""
    if shutil.which(compiler) is None:
        return None
    said = subprocess.run([compiler, "--print", "sysroot"], capture_output=True, text=True)
    return Path(said.stdout.strip()) if said.returncode == 0 else None


def build() -> Path:
    """Compile the engine. Return the module.

    Raises MissingError where no Rust for WebAssembly can be had.
    """
    if has_target() or add_target():
        return compiled({}, ROOT / "target")
    if (variables := from_source()) is not None:
        return compiled(variables, ROOT / "target" / "web", "-Zbuild-std=std,panic_abort")
    raise MissingError(
        f"no Rust for {TARGET}: rustup target add {TARGET}, or Debian's rustc-web, "
        "libstd-rust-web-dev, rust-web-src and lld"
    )


def compiled(variables: dict[str, str], folder: Path, *options: str) -> Path:
    """Compile the engine into a folder, with variables of the environment and further options."""
    command = ["cargo", "build", "--release", "--quiet", "--package", "penstock-lab"]
    command += ["--target", TARGET, "--target-dir", f"{folder}", *options]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **variables})
    return folder / MODULE


def number(module: bytes, at: int) -> tuple[int, int]:
    """Read a number in LEB128. Return it, and where the next byte is."""
    value = shift = 0
    while True:
        byte = module[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at


def sections(module: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields each section of a module: its kind, and its bytes with their header."""
    at = 8
    while at < len(module):
        size, inside = number(module, at + 1)
        yield module[at], module[at : inside + size]
        at = inside + size


def stripped(module: bytes) -> bytes:
    """Return the module without its custom sections, which hold names for debuggers."""
    return module[:8] + b"".join(section for kind, section in sections(module) if kind != 0)


def write(module: bytes, path: Path) -> None:
    """Write the script that the page loads. The module is compressed, because its text does not
    compress well any more."""
    said = {
        "wasm": base64.b64encode(gzip.compress(module, mtime=0)).decode(),
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
