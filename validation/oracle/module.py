"""A module that Debian's kernel leaves out, built from Debian's own source for the guest's kernel.

Nothing of the kernel is kept here: headers, build tools and source are fetched as the other packages are. The build
tools need the libraries of their own suite, which `Packages.root` has; the compiler is this machine's.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from debian import Apt, Packages, UnavailableError

#: Programs of this machine that the build starts.
TOOLS = ("gcc", "ld", "make", "tar", "xz")


def module(packages: Packages, cache: Path, name: str) -> bytes:
    """The module `name`, whose source is one file of net/sched; built once and then kept in `cache`.

    Raises `UnavailableError`.
    """
    kept = cache / f"{name}-{packages.kernel}.ko"
    if not kept.is_file():
        for tool in TOOLS:
            if shutil.which(tool) is None:
                raise UnavailableError(f"no {tool} here, with which {name} is built")
        with (cache / ".lock").open("w") as lock, tempfile.TemporaryDirectory(dir=cache, prefix=".build-") as folder:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.is_file():
                _build(packages, Path(folder), name).rename(kept)
    return kept.read_bytes()


def _build(packages: Packages, folder: Path, name: str) -> Path:
    release = packages.kernel.removesuffix("-cloud-amd64")
    version = packages.versions[f"linux-modules-{packages.kernel}"]
    series = re.match(r"\d+\.\d+", release)
    assert series is not None
    wanted = [f"linux-headers-{packages.kernel}", f"linux-headers-{release}-common", f"linux-kbuild-{release}"]
    wanted.append(f"linux-source-{series[0]}")
    root, debs, work = (folder / part for part in ("root", "debs", "work"))
    for each in (debs, work):
        each.mkdir()
    Apt(folder / "apt").unpack([f"{each}={version}" for each in wanted], debs, root)
    sources = root / "usr/src"
    headers = sources / f"linux-headers-{packages.kernel}"
    for makefile in (headers / "Makefile", headers / ".kernelvariables"):
        if makefile.is_file():
            text = makefile.read_text(encoding="utf-8")
            makefile.write_text(text.replace("/usr/src/", f"{sources}/"), encoding="utf-8")
    _foreign_tools(packages, root / f"usr/lib/linux-kbuild-{release}")
    tar = f"linux-source-{series[0]}.tar.xz"
    _run("tar", "-xJf", sources / tar, "-C", work, "--strip-components=3", "--wildcards", f"*/net/sched/{name}.c")
    (work / "Makefile").write_text(f"obj-m += {name}.o\n", encoding="utf-8")
    # gcc 12 does not have the one option; the other has the same effect for what is not cold.
    compiler = _script(folder / "cc", 'exec gcc "${@/#-fmin-function-alignment=/-falign-functions=}"')
    _run("make", "-C", headers, f"M={work}", f"CC={compiler}", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules")
    built = work / f"{name}.ko"
    _run("strip", "--strip-debug", built)
    return built


def _foreign_tools(packages: Packages, kbuild: Path) -> None:
    """Starts the tools of kbuild with the packages' loader and libraries, which may be newer than this machine's."""
    start = " ".join(str(part) for part in packages.loader())
    scripts, objtool = kbuild / "scripts", kbuild / "tools/objtool"
    tools = ((scripts / "mod/modpost", "modpost.real-lsb-64"), (objtool / "objtool", "objtool.real-x86"))
    for tool, real in (*tools, (scripts / "basic/fixdep", "fixdep.real")):
        if not (tool.parent / real).exists():
            tool.rename(tool.parent / real)
        _script(tool, f'exec {start} {tool.parent / real} "$@"')


def _script(path: Path, line: str) -> Path:
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/bash\n{line}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def _run(*line: str | Path) -> None:
    try:
        subprocess.run(line, capture_output=True, text=True, check=True, env={**os.environ, "MAKEFLAGS": ""})
    except subprocess.CalledProcessError as error:
        last = "; ".join((error.stderr or error.stdout).strip().splitlines()[-3:])
        raise UnavailableError(f"{line[0]}: {last}") from error
