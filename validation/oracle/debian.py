"""Debian packages without installing them: `apt-get download` and `dpkg -x` into a folder of one's own."""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

#: What runs here and in the guest. Their libraries come from packages too: what the host has installed does not matter.
PROGRAMS = ("bash", "busybox-static", "ethtool", "iperf3", "iproute2", "perl-base", "qemu-system-x86")

#: Kernels, the newest first; each names the package with the image.
KERNELS = ("linux-image-6.12-cloud-amd64", "linux-image-cloud-amd64")

#: Of what the programs depend on: libraries and qemu's firmware, not the tools of maintainer scripts.
NEEDED = re.compile(r"(?!libperl)(?!.*-perl$)(lib|qemu-|seabios$)")

#: Another layout of the cache, another number.
LAYOUT = 1


class UnavailableError(Exception):
    """What a run needs cannot be had here; says what, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """Packages, unpacked over each other.

    root: the folder they are unpacked in.
    versions: of each package.
    kernel: the release, for example "6.1.0-50-cloud-amd64".
    """

    root: Path
    versions: dict[str, str]
    kernel: str

    def file(self, *names: str) -> Path:
        """The first of `names`, paths below the root, that is there."""
        for name in names:
            if (path := self.root / name).exists():
                return path
        raise UnavailableError(f"{names[0]} is in none of the packages in {self.root}")

    def program(self, name: str) -> Path:
        """A program by its name."""
        return self.file(*(f"{folder}/{name}" for folder in ("usr/bin", "bin", "usr/sbin", "sbin")))

    def loader(self) -> list[str]:
        """The start of a command that runs a program with the packages' libraries."""
        folders = [f"{top}/{name}" for top in ("lib", "usr/lib") for name in ("x86_64-linux-gnu", ".")]
        path = ":".join(str(self.root / folder) for folder in folders)
        return [str(self.file("lib64/ld-linux-x86-64.so.2", "usr/lib64/ld-linux-x86-64.so.2")), "--library-path", path]


def packages(cache: Path) -> Packages:
    """The packages in `cache`, fetched when they are not there; once there they stay as they are.

    Raises `UnavailableError`.
    """
    kept = cache / "packages"
    if not _current(kept):
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _current(kept):  # another process has fetched them meanwhile
                _replace(kept)
    manifest = json.loads((kept / "manifest.json").read_text(encoding="utf-8"))
    return Packages(root=kept / "root", versions=manifest["versions"], kernel=manifest["kernel"])


def _replace(kept: Path) -> None:
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".fetch-") as folder:
        part = Path(folder) / "packages"
        _fetch(part)
        if kept.exists():
            shutil.rmtree(kept)
        part.rename(kept)


def _current(kept: Path) -> bool:
    """Whether a whole set of packages of this layout is there: the manifest is written last."""
    try:
        return bool(json.loads((kept / "manifest.json").read_text(encoding="utf-8"))["layout"] == LAYOUT)
    except FileNotFoundError:
        return False


def _fetch(part: Path) -> None:
    root, debs = part / "root", part / "debs"
    debs.mkdir(parents=True)
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"no {tool} here: the packages come from Debian's archive")
    if (architecture := _run("dpkg", "--print-architecture").strip()) != "amd64":
        raise UnavailableError(f"packages of architecture {architecture} here: the guest needs those of amd64")
    image = _image()
    wanted = [name for name in _closure(part) if name in PROGRAMS or NEEDED.match(name)]
    try:
        _run("apt-get", "download", *wanted, image, cwd=debs)
    except subprocess.CalledProcessError as error:
        raise UnavailableError(f"a package cannot be downloaded: {_last(error)}") from error
    versions = {}
    for deb in sorted(debs.iterdir()):
        _run("dpkg-deb", "-x", deb, root)
        name, version = _run("dpkg-deb", "-W", "--showformat=${Package} ${Version}", deb).split()
        versions[name] = version
    shutil.rmtree(debs)
    manifest = {"layout": LAYOUT, "kernel": image.removeprefix("linux-image-"), "versions": versions}
    (part / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _image() -> str:
    """The newest kernel's package; also tells when there is no list of packages at all."""
    for name in KERNELS:
        found = subprocess.run(["apt-cache", "depends", name], capture_output=True, text=True)
        if depends := re.search(r"Depends: (linux-image-\S+)", found.stdout):
            return depends[1]
    raise UnavailableError(f"none of the packages {', '.join(KERNELS)} is known: run apt-get update, on Debian")


def _closure(part: Path) -> list[str]:
    """The programs and all that they depend on, as apt would install them on a machine that has nothing."""
    nothing = part / "status"
    nothing.touch()
    line = ["apt-get", "-s", "-y", "--no-install-recommends", "-o", f"Dir::State::status={nothing}"]
    line += ["-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=", "install", *PROGRAMS]
    try:
        return re.findall(r"^Inst (\S+)", _run(*line), re.MULTILINE)
    except subprocess.CalledProcessError as error:
        raise UnavailableError(f"the packages {', '.join(PROGRAMS)} cannot be had: {_last(error)}") from error


def _run(*line: str | Path, cwd: Path | None = None) -> str:
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, check=True).stdout


def _last(error: subprocess.CalledProcessError) -> str:
    """What a tool said last."""
    return (error.stderr.strip() or error.stdout.strip() or f"exit status {error.returncode}").splitlines()[-1]
