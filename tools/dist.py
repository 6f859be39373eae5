"""`make dist`: the source archive and the wheels, each tried in an empty virtual environment.

The wheel for this machine is built against an old glibc (manylinux2014) with Zig as its linker, and
with profile-guided optimisation where llvm-profdata is. A wheel for another processor is built
where Rust's standard library for it is installed, and tried where qemu can run its programs.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import foreign

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"

#: Processor → Rust's name of the target.
TARGETS = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}

#: What an installed wheel must bring beside the package.
SHARED = (
    "share/man/man1/penstock.1",
    "share/bash-completion/completions/penstock",
    "share/zsh/site-functions/_penstock",
    "share/fish/vendor_completions.d/penstock.fish",
)

LINK = """
duration = "3 s"
measure = { from = "1 s" }
[topology]
kind = "dumbbell"
bottleneck = { rate = "5 Mbit/s", delay = "5 ms", buffer = "50 packets" }
[aqm]
kind = "codel"
[[traffic]]
kind = "ftp"
segment = "1448 B"
"""


def call(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """Runs a command, and returns what it printed. Ends the program where it fails."""
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(f"`{' '.join(map(str, command))}` ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def installed(target: str) -> bool:
    """Returns whether Rust's standard library for a target is there."""
    folder = call("rustc", "--print", "target-libdir", "--target", target).strip()
    return Path(folder).is_dir()


def profile(maturin: Path, target: str, path: str) -> Path | None:
    """Returns what a training run says of the code, for profile-guided optimisation; None without
    its tool.

    maturin's own `--pgo` fails with Zig, which does not know an option of instrumented builds. So
    the instrumented library is linked as usual; it stays on this machine.
    """
    sysroot = Path(call("rustc", "--print", "sysroot").strip())
    merge = next(sysroot.glob("lib/rustlib/*/bin/llvm-profdata*"), None)
    if merge is None:
        print("no profile-guided optimisation: rustup component add llvm-tools")
        return None
    work = ROOT / "target" / "pgo"
    shutil.rmtree(work / "counts", ignore_errors=True)
    shutil.rmtree(work / "wheel", ignore_errors=True)
    build = ["build", "--release", "--target", target, "--target-dir", f"{work / 'build'}"]
    flags = f"-Cprofile-generate={work / 'counts'}"
    call(maturin, *build, "--out", work / "wheel", cwd=ROOT, PATH=path, RUSTFLAGS=flags)
    with tempfile.TemporaryDirectory() as folder:
        call(sys.executable, "-m", "venv", folder)
        (wheel,) = (work / "wheel").iterdir()
        call(f"{folder}/bin/pip", "install", "--quiet", wheel)
        call(f"{folder}/bin/python", ROOT / "benches" / "train.py", cwd=Path(folder))
    call(merge, "merge", "-o", work / "merged", work / "counts")
    return work / "merged"


def build() -> list[Path]:
    """Returns the source archive and a wheel for every target that can be built here."""
    shutil.rmtree(DIST, ignore_errors=True)
    maturin = Path(sys.executable).parent / "maturin"
    path = f"{maturin.parent}:{os.environ['PATH']}"
    call(maturin, "sdist", "--out", DIST, cwd=ROOT, PATH=path)
    for processor, target in TARGETS.items():
        if not installed(target):
            print(f"no wheel for {processor}: rustup target add {target}")
            continue
        options = ["--release", "--strip", "--zig", "--compatibility", "manylinux2014"]
        learned = profile(maturin, target, path) if processor == platform.machine() else None
        call(
            maturin,
            "build",
            *options,
            "--target",
            target,
            "--out",
            DIST,
            cwd=ROOT,
            PATH=path,
            RUSTFLAGS=f"-Cprofile-use={learned}" if learned else "",
        )
    return sorted(DIST.iterdir())


def check_contents(wheel: Path) -> None:
    """Checks that a wheel has the extension, the man page and the completions, and no test."""
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    assert any(name.endswith("_penstock.abi3.so") for name in names), names
    for each in SHARED:
        assert any(name.endswith(f".data/data/{each}") for name in names), each
    assert not any("test" in Path(name).name for name in names if name.endswith(".py"))


def try_out(package: Path) -> None:
    """Installs a package in an empty environment, and uses it there."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        call(sys.executable, "-m", "venv", place / "venv")
        call(place / "venv/bin/pip", "install", "--quiet", package)
        for each in SHARED:
            assert (place / "venv" / each).exists(), f"{each} was not installed"
        penstock = place / "venv/bin/penstock"
        (place / "link.toml").write_text(LINK, encoding="utf-8")
        print(f"  {call(penstock, '--version', cwd=place).strip()}")
        assert "delay_mean_s" in call(penstock, "run", "link.toml", cwd=place)
        offered = call("bash", "-c", COMPLETED, PATH=f"{penstock.parent}:{os.environ['PATH']}")
        assert "reproduce" in offered, f"bash offers {offered!r}"
        if platform.system() == "Linux" and shutil.which("iperf3"):
            last = call(penstock, "emulate", "link.toml", cwd=place).strip().splitlines()
            print(f"  emulate: {next((line for line in last if 'valid' in line), last[-1])}")
        else:
            print("  emulate: not tried, no iperf3")


def try_elsewhere(wheel: Path) -> None:
    """Uses a wheel for another processor, where qemu can run its programs.

    The documents of the scenarios that the repository keeps must be this machine's, to the byte.
    """
    processor = next(each for each in TARGETS if each in wheel.name)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        try:
            python = foreign.Foreign(processor, place / "packages")
        except foreign.MissingError as missing:
            print(f"  not tried: {missing}")
            return
        python.install(wheel)
        (place / "link.toml").write_text(LINK, encoding="utf-8")
        version = python.run("-m", "penstock", "--version", cwd=place).strip()
        assert "delay_mean_s" in python.run("-m", "penstock", "run", "link.toml", cwd=place)
        theirs = python.run("-c", DOCUMENTS, KEPT, cwd=place)
        ours = call(sys.executable, "-c", DOCUMENTS, KEPT, cwd=place)
        assert theirs == ours, f"documents differ:\n{theirs}{ours}"
        same = len(ours.splitlines())
        print(f"  {version} under qemu, Python {python.version}: {same} documents as here")


#: The scenarios whose documents are compared.
KEPT = ROOT / "crates/scenario/tests/documents"

#: Prints a line for the document of each.
DOCUMENTS = """
import hashlib, pathlib, sys
from penstock import _penstock
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.toml")):
    scenario = _penstock.Scenario.from_toml(path.read_text(), path.name)
    runs = _penstock.run(scenario, [scenario.seed, scenario.seed + 1], 1)
    print(path.stem, hashlib.sha256(_penstock.document(scenario, runs).encode()).hexdigest())
"""

#: Asks for completions as bash does after `penstock re`.
COMPLETED = 'COMP_WORDS="penstock re" COMP_CWORD=1 _PENSTOCK_COMPLETE=bash_complete penstock'


def main() -> None:
    """Builds everything, and tries what runs on this machine."""
    for package in build():
        print(f"{package.name}: {package.stat().st_size / 1e6:.1f} MB")
        if package.suffix == ".whl":
            check_contents(package)
        if package.suffix != ".whl" or platform.machine() in package.name:
            try_out(package)
        else:
            try_elsewhere(package)


if __name__ == "__main__":
    main()
