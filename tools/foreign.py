"""Python for a processor that this machine does not have, under qemu's user emulation.

The interpreter comes from Debian's archive, unpacked into a folder of the cache and installed
nowhere; packages come from PyPI. It needs `qemu-user-static`, and the apt of a Debian.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock-dist"

#: Processor → Debian's name of it.
DEBIAN = {"aarch64": "arm64"}

#: With what they depend on, these are an interpreter that loads extensions written in C++.
WANTED = ("python3-minimal", "libpython3-stdlib", "libstdc++6", "zlib1g")

#: Versions of glibc, 2.17 (manylinux2014) to that of Debian 12, that a wheel may be built against.
GLIBC = range(17, 37)


class MissingError(Exception):
    """The processor cannot be emulated here; the message says why."""


class Foreign:
    """A Python for another processor, with an empty folder for packages."""

    def __init__(self, processor: str, packages: Path) -> None:
        """Fetches it where it is not there yet. Raises `MissingError`."""
        emulator = shutil.which(f"qemu-{processor}-static")
        if emulator is None:
            raise MissingError("no qemu: apt-get install qemu-user-static")
        root = CACHE / DEBIAN[processor]
        if not root.is_dir():
            _fetch(DEBIAN[processor], root)
        (interpreter,) = (root / "usr/bin").glob("python3.[0-9]*")
        self.processor, self.packages = processor, packages
        self.version = interpreter.name.removeprefix("python")
        self._line = [emulator, "-L", f"{root}", "-E", f"PYTHONPATH={packages}", f"{interpreter}"]

    def install(self, wheel: Path) -> None:
        """Installs a wheel with what it depends on, by this machine's own pip."""
        line = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        line += ["--target", f"{self.packages}", "--python-version", self.version]
        for minor in GLIBC:
            line += ["--platform", f"manylinux_2_{minor}_{self.processor}"]
        subprocess.run([*line, wheel], check=True)

    def run(self, *arguments: str | Path, cwd: Path) -> str:
        """Returns what Python prints to its standard output."""
        line = [*self._line, *map(str, arguments)]
        return subprocess.run(line, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def _fetch(architecture: str, root: Path) -> None:
    """Unpacks the packages of an architecture; what was fetched in part is not kept."""
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise MissingError(f"no {tool}: the interpreter comes from Debian's archive")
    part = root.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    for folder in ("lists/partial", "cache/archives/partial", "debs", "root"):
        (part / folder).mkdir(parents=True)
    (part / "status").touch()  # a machine that has nothing
    places = {
        "APT::Architecture": architecture,
        "APT::Architectures::": architecture,
        "Dir::State::lists": part / "lists",
        "Dir::State::status": part / "status",
        "Dir::Cache": part / "cache",
        "APT::Sandbox::User": "root",  # no other user can write here
    }
    options = [each for key, value in places.items() for each in ("-o", f"{key}={value}")]

    def apt(*arguments: str) -> str:
        line = ["apt-get", *options, *arguments]
        done = subprocess.run(line, cwd=part / "debs", capture_output=True, text=True)
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["no reason"]
            raise MissingError(f"no Python for {architecture} from apt: {said[-1]}")
        return done.stdout

    apt("update")
    listed = apt("--simulate", "--no-install-recommends", "install", *WANTED)
    apt("download", *re.findall(r"^Inst (\S+)", listed, re.MULTILINE))
    for package in (part / "debs").iterdir():
        subprocess.run(["dpkg-deb", "-x", package, part / "root"], check=True)
    (part / "root").rename(root)
    shutil.rmtree(part)
