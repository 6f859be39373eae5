"""The guest's file system: programs with their libraries, kernel modules, the guest program; a gzipped newc archive."""

from __future__ import annotations

import gzip
import lzma
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from debian import Packages, UnavailableError

HERE = Path(__file__).parent

#: Programs of the guest besides busybox's.
PROGRAMS = ("bash", "ethtool", "ip", "iperf3", "perl", "tc")

#: Where our own program and its libraries lie: it may be linked with another libc than the packages'.
OURS = "penstock"

#: The first process. However the guest program ends, it switches the machine off.
INIT = b"""#!/bin/busybox sh
export PATH=/bin HOME=/
/bin/busybox --install -s /bin
mkdir -p /proc /sys /dev /run /tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
dmesg -n 1
/guest 2>/tmp/errors || cat /tmp/errors
poweroff -f
"""


def image(
    packages: Packages,
    texts: dict[str, bytes],
    program: Path | None,
    guest: str = "guest.sh",
    wanted: Sequence[str] = (),
    built: Mapping[str, bytes] = MappingProxyType({}),
) -> bytes:
    """The archive.

    texts: files that the guest program reads, by name.
    program: one of ours: the router that is the bottleneck, or what loads a discipline into the guest's kernel.
    guest: the guest program, a file beside this one.
    wanted: the kernel modules that it needs; what they need comes along, what is built in is left out.
    built: modules that are not the kernel's.
    """
    files = _guest(packages, guest, wanted, built) | {name: (0o644, content) for name, content in texts.items()}
    if program is not None:
        files |= _ours(program)
    return gzip.compress(_newc(files), compresslevel=6, mtime=0)


#: Permissions and content of a file; the path is its key.
Files = dict[str, tuple[int, bytes]]


def _guest(packages: Packages, guest: str, wanted: Sequence[str], built: Mapping[str, bytes]) -> Files:
    files: Files = {"init": (0o755, INIT), "guest": (0o755, (HERE / guest).read_bytes())}
    files["bin/busybox"] = (0o755, packages.program("busybox").read_bytes())
    for name in PROGRAMS:
        program = packages.program(name)
        files[f"bin/{name}"] = (0o755, program.read_bytes())
        listed = subprocess.run([*packages.loader(), "--list", program], capture_output=True, text=True, check=True)
        for library in re.findall(r"=> (/\S+)", listed.stdout):
            files[f"lib/{Path(library).name}"] = (0o755, Path(library).read_bytes())
    # A thread that ends opens it: no program names it.
    files["lib/libgcc_s.so.1"] = (0o755, packages.file("usr/lib/x86_64-linux-gnu/libgcc_s.so.1").read_bytes())
    files["lib64/ld-linux-x86-64.so.2"] = (0o755, Path(packages.loader()[0]).read_bytes())
    modules = {**_modules(packages, wanted), **built}
    files |= {f"modules/{name}.ko": (0o644, content) for name, content in modules.items()}
    files["modules/order"] = (0o644, "".join(f"{name}\n" for name in modules).encode())
    return files


def _ours(program: Path) -> Files:
    """The program and what ldd names, in a folder of their own."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True)
    if "not found" in listed.stdout:
        raise UnavailableError(f"{program}: {listed.stdout.strip()}")
    files: Files = {f"{OURS}/program": (0o755, program.read_bytes())}
    for library in re.findall(r"(?:=> )?(/\S+) \(0x", listed.stdout):
        files[f"{OURS}/{Path(library).name}"] = (0o755, Path(library).read_bytes())
    return files


def _modules(packages: Packages, wanted: Sequence[str]) -> dict[str, bytes]:
    """The modules and what they need, in the order in which they can be loaded."""
    tree = packages.file(f"lib/modules/{packages.kernel}", f"usr/lib/modules/{packages.kernel}")
    found = {re.split(r"\.ko", path.name)[0].replace("-", "_"): path for path in tree.rglob("*.ko*")}
    built_in = {Path(line).stem for line in (tree / "modules.builtin").read_text(encoding="utf-8").split()}
    order: dict[str, bytes] = {}

    def load(name: str) -> None:
        if name in order or name in built_in:
            return
        if name not in found:
            raise UnavailableError(f"kernel {packages.kernel} has no module {name}")
        content = found[name].read_bytes()
        if found[name].suffix == ".xz":
            content = lzma.decompress(content)
        if depends := re.search(rb"\0depends=([^\0]+)", content):
            for other in depends[1].decode().split(","):
                load(other.replace("-", "_"))
        order[name] = content

    for name in wanted:
        load(name)
    return order


def _newc(files: Files) -> bytes:
    """A cpio archive in the format that the kernel unpacks; every time is 0."""
    folders = {str(parent) for path in files for parent in Path(path).parents if str(parent) != "."}
    entries = [(path, 0o040755, b"") for path in sorted(folders)]
    entries += [(path, 0o100000 | mode, content) for path, (mode, content) in sorted(files.items())]
    entries.append(("TRAILER!!!", 0, b""))
    archive = bytearray()
    for number, (path, mode, content) in enumerate(entries, start=1):
        name = path.encode() + b"\0"
        # inode, mode, user, group, links, time, size, device (2), device's own (2), the name's length, checksum
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
        archive += b"070701" + b"".join(b"%08x" % field for field in fields) + name
        archive += bytes(-len(archive) % 4) + content
        archive += bytes(-len(archive) % 4)
    return bytes(archive)


def write(path: Path, content: bytes) -> None:
    """Writes `path` in one step: whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
