"""The commands that README and docs/ show: run, or listed with the reason why not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

#: Shown, but not run by `make accept`'s `console`; each with its reason. A key may end in `*`.
LISTED = {
    "make demo": "accept's `demo` runs it",
    "make test": "accept's `tests` runs it",
    "make validate-real": "accept's `real` runs it",
    "penstock validate": "accept's `validate` runs it",
    "penstock validate-real scenarios/real/reno-red-10.toml *": "accept's `real` has this case",
    "penstock validate-real MINE.toml *": "the file is the reader's own",
    "penstock emulate link.toml -- curl *": "the server that it asks is the reader's own",
    "penstock compare ... *": "the dots stand for the command before it",
    "dask scheduler*": "needs several machines; accept's `kills` runs a cluster on one",
    "dask worker *": "needs several machines; accept's `kills` runs a cluster on one",
    "penstock sweep scenarios/web-mix.toml --seeds 10000 *": "needs several machines, and hours",
    "penstock sweep grid.toml *": "needs a hundred machines",
    "penstock evaluate red ared pie my_aqm.py:Mine": "the file is the reader's own",
    "penstock evaluate all *": "takes the better part of an hour",
    "penstock reproduce all*": "accept's `demo` and `reproduce` run it",
    "penstock emulate home.toml --shell": "waits for what the reader types",
    "sudo penstock bridge *": "needs two interfaces; tests/test_bridge.py makes them",
    "python dumbbell_ns3.py *": "needs ns-3's wheel, 520 MB; the page says what it printed",
    "git clone *": "the scripts are no part of Penstock",
    "make packetdrill *": "the scripts are no part of Penstock",
    "cargo run -p penstock-packetdrill *": "the file is the reader's own",
    "penstock kernel *": "needs a device to spare; tests/test_kernel_bpf.py makes one where it can",
    "tc qdisc replace dev eth1 *": "needs a device to spare; tests/test_kernel_bpf.py makes one",
    "penstock-mecn *": "needs two namespaces; tests/test_mecn_bpf.py runs it where it can",
}

#: Commands that begin so send real packets.
REAL = ("penstock emulate",)


def listed(command: str) -> str | None:
    """Returns the reason why a command is not run; `None` where it is."""
    for key, reason in LISTED.items():
        if command == key or (key.endswith("*") and command.startswith(key[:-1])):
            return reason
    return None


def documents(root: Path) -> list[Path]:
    """Returns README and every page whose blocks are read."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md")), root / "bpf" / "README.md"]


def commands(block: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields every command of a block, and the output that the block shows below it."""
    lines = re.sub(r"\\\n\s*", "", block).splitlines()
    prompts = any(line.startswith("$ ") for line in lines)
    command, output = None, []
    for line in lines:
        if prompts and not line.startswith("$ "):
            output.append(line)
            continue
        if command:
            yield command, tuple(output)
        command, output = _without_comment(line.removeprefix("$ ")), []
    if command:
        yield command, tuple(output)


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s+)#.*", "", line).strip()


def missing(expected: tuple[str, ...], output: str) -> list[str]:
    """Returns the shown lines that the output lacks. Spaces do not count; a … stands for
    anything."""
    there = {" ".join(line.split()) for line in output.splitlines()}
    return [line for line in expected if not _among(" ".join(line.split()), there)]


def _among(line: str, there: set[str]) -> bool:
    if "…" not in line:
        return line in there
    pattern = ".*".join(re.escape(part) for part in line.split("…"))
    return line == "…" or any(re.fullmatch(pattern, each) for each in there)
