"""The programs that are measured: Penstock with and without Python, ns-2, csg-htsim.

What is compared with ns-2 is the wheel as it is published, with profile-guided optimisation. It
lives in an environment of its own under `target/`, so that the developer's stays as it is.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from .plan import Plan
from .processes import HERE, ROOT, say

CASES = ("B1", "B2", "B3", "B4")
#: Simulated seconds of the timed run (start-up is below 5 %) and of the comparison of results.
TIMED = {"B1": 1000, "B2": 60, "B3": 60, "B4": 60}
COMPARED = {"B1": 100, "B2": 10, "B3": 10, "B4": 10}
SEGMENT = {"B1": 1000, "B2": 1460, "B3": 1460}
#: ns-2 and csg-htsim count wire bytes.
HEADER = 40


def scenario(case: str) -> str:
    """The file of a benchmark case, from the root of the repository."""
    return f"benches/{case.lower()}.toml"


def penstock(python: str, case: str, seconds: float, seeds: int = 1) -> list[str]:
    """The command that runs a benchmark case, one seed after the other."""
    length = f"duration={seconds:g} s"
    options = ["--json", "--set", length, "--seeds", str(seeds), "--jobs", "1"]
    return [python, "-m", "penstock", "run", scenario(case), *options]


@functools.cache
def optimised(plan: Plan) -> str:
    """A Python with the wheel of `make wheel`; in a smoke test the one that runs this."""
    if plan.quick:
        return sys.executable
    say("building the wheel with profile-guided optimisation: some minutes where it is out of date")
    subprocess.run(["make", "--silent", "wheel"], cwd=ROOT, check=True)
    folder = _target() / "wheel-bench"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        # Its dependencies are the developer's. The path does not lead to the package itself: that
        # is installed there by a .pth file, which is not read from here.
        here, there = ({"base": str(f), "platbase": str(f)} for f in (sys.prefix, folder))
        purelib = sysconfig.get_path("purelib", vars=there)
        borrowed = sysconfig.get_path("purelib", vars=here)
        Path(purelib, "borrowed.pth").write_text(f"{borrowed}\n", encoding="utf-8")
    (wheel,) = (ROOT / "target" / "wheels").glob("penstock-*.whl")
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]
    subprocess.run([*install, str(wheel)], check=True)
    return str(python)


def ns2(case: str, seconds: float, count: bool, seed: int = 0) -> list[str]:
    """The same work for ns-2; seed 0 is its default."""
    return ["ns", "benches/ns2.tcl", case, f"{seconds:g}", "1" if count else "0", str(seed)]


def _target() -> Path:
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


@functools.cache
def native() -> Path:
    """The runner without Python (`crates/scenario/examples/run.rs`), built."""
    say("building the runner")
    command = ["cargo", "build", "--release", "--quiet", "-p", "penstock-scenario"]
    subprocess.run([*command, "--example", "run"], cwd=ROOT, check=True)
    return _target() / "release" / "examples" / "run"


def natively(file: str | Path, *changes: str) -> list[str]:
    """The command that runs a scenario without Python; `changes` are KEY=VALUE."""
    return [str(native()), str(file), *changes]


@functools.cache
def htsim(sim: Path) -> Path:
    """Our driver for csg-htsim, built against the library in `sim`."""
    say("building the driver for csg-htsim")
    driver = _target() / "htsim-bench"
    driver.parent.mkdir(exist_ok=True)
    compiler = os.environ.get("CXX", "g++")
    flags = ["-std=c++17", "-O3", "-I", str(sim)]
    line = [compiler, *flags, str(HERE / "htsim.cpp"), str(sim / "libhtsim.a"), "-o", str(driver)]
    subprocess.run(line, check=True)
    return driver


def metrics(document: Any) -> dict[str, float]:
    """The means of a document's metrics; one that does not apply is 0."""
    return {name: estimate["mean"] or 0.0 for name, estimate in document["summary"].items()}


def drops(m: dict[str, float]) -> float:
    """All packets dropped at the bottleneck."""
    return m["drops_early"] + m["drops_forced"] + m["drops_overflow"]
