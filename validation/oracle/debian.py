"""Debian packages without installing them: `apt-get download` and `dpkg -x` into a folder of one's own."""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: Where packages come from, whatever release this machine has; its own mirror, where it has one.
SUITES = ("trixie", "trixie-backports", "sid")
MIRROR = "http://deb.debian.org/debian"

#: What runs here and in the guest. Their libraries come from packages too: what the host has installed does not matter.
#: Only sid's tc knows dualpi2.
PROGRAMS = ("bash", "busybox-static", "ethtool", "iperf3", "iproute2/sid", "perl-base", "qemu-system-x86")

#: The kernel, by suite: names the image, which names the packages with the kernel and its modules.
KERNEL = "linux-image-cloud-amd64/trixie-backports"

#: Of what the programs depend on: libraries and qemu's firmware, not the tools of maintainer scripts.
NEEDED = re.compile(r"(?!libperl)(?!.*-perl$)(lib|qemu-|seabios$)")

#: Another layout of the cache, another number.
LAYOUT = 2


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
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"no {tool} here: the packages come from Debian's archive")
    if (architecture := _run("dpkg", "--print-architecture").strip()) != "amd64":
        raise UnavailableError(f"packages of architecture {architecture} here: the guest needs those of amd64")
    apt = Apt(part / "apt")
    programs = {name.partition("/")[0] for name in PROGRAMS}
    wanted = [each for each in apt.closure(*PROGRAMS) if each.name in programs or NEEDED.match(each.name)]
    kernel = [each for each in apt.closure(KERNEL) if re.match(r"linux-(binary|modules|base)-\d", each.name)]
    apt.unpack([f"{each.name}={each.version}" for each in (*wanted, *kernel)], debs, root)
    shutil.rmtree(debs)
    shutil.rmtree(part / "apt")
    versions = {each.name: each.version for each in (*wanted, *kernel)}
    release = next(name.removeprefix("linux-modules-") for name in versions if name.startswith("linux-modules-"))
    manifest = {"layout": LAYOUT, "kernel": release, "versions": versions}
    (part / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class _Package:
    name: str
    version: str


class Apt:
    """Debian's archive, with lists of its own: this machine's are neither read nor changed."""

    def __init__(self, folder: Path) -> None:
        """Fetches the lists of `SUITES` into `folder`. Raises `UnavailableError`."""
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()  # as on a machine that has nothing
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        mirror = _mirror()
        sources = "".join(f"deb [signed-by={keys}] {mirror} {suite} main\n" for suite in SUITES)
        (folder / "sources.list").write_text(sources, encoding="utf-8")
        settings = {
            "Dir::State": folder,
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder / "cache",
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "APT::Default-Release": SUITES[0],
            "APT::Sandbox::User": "root",
        }
        self._options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
        self._get("update", "--error-on=any")

    def closure(self, *names: str) -> list[_Package]:
        """The packages and all that they depend on."""
        said = self._get("install", "-s", "-y", "--no-install-recommends", *names)
        return [_Package(*found) for found in re.findall(r"^Inst (\S+) \((\S+)", said, re.MULTILINE)]

    def unpack(self, wanted: Sequence[str], debs: Path, root: Path) -> None:
        """Downloads into `debs`, and unpacks over each other into `root`; wanted: each as NAME=VERSION."""
        self._get("download", *wanted, cwd=debs)
        for deb in sorted(debs.iterdir()):
            _run("dpkg-deb", "-x", deb, root)

    def _get(self, *line: str, cwd: Path | None = None) -> str:
        try:
            return _run("apt-get", *self._options, *line, cwd=cwd)
        except subprocess.CalledProcessError as error:
            raise UnavailableError(f"apt-get {line[0]}: {_last(error)}") from error


def _mirror() -> str:
    """Where this machine has Debian from, if it has."""
    found = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True)
    return next((line for line in found.stdout.splitlines() if line.rstrip("/").endswith("/debian")), MIRROR)


def _run(*line: str | Path, cwd: Path | None = None) -> str:
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, check=True).stdout


def _last(error: subprocess.CalledProcessError) -> str:
    """What a tool said last."""
    return (error.stderr.strip() or error.stdout.strip() or f"exit status {error.returncode}").splitlines()[-1]
