"""The commands that README and docs/ show: run, or listed with the reason why not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: Shown, but not run by the item `console`; each with its reason. A key may end in `*`.
LISTED = {
    "make demo": "the item `demo` runs it",
    "make test": "the item `tests` runs it",
    "make validate-real": "the item `real` runs it",
    "penstock validate": "the item `validate` runs it",
    "penstock validate-real scenarios/real/reno-red-10.toml *": "the item `real` has this case",
    "penstock validate-real MINE.toml *": "the file is the reader's own",
    "penstock emulate link.toml -- curl *": "the server that it asks is the reader's own",
    "penstock compare ... *": "the dots stand for the command before it",
    "dask scheduler": "needs several machines; the item `kills` runs a cluster on one",
    "dask worker *": "needs several machines; the item `kills` runs a cluster on one",
    "penstock sweep scenarios/web-mix.toml --seeds 10000 *": "needs several machines, and hours",
    "penstock sweep grid.toml *": "needs a hundred machines",
    "penstock evaluate red ared pie my_aqm.py:Mine": "the file is the reader's own",
    "penstock evaluate all *": "takes the better part of an hour",
    "penstock-mecn *": "needs two namespaces; tests/test_mecn_bpf.py runs it where it can",
}

#: Commands that begin so send real packets.
REAL = ("penstock emulate",)


@dataclass(frozen=True)
class Shown:
    """A command in a document, and the output that the document shows below it."""

    where: str
    command: str
    output: tuple[str, ...]

    @property
    def listed(self) -> str | None:
        """The reason why it is not run; `None` where it is."""
        for key, reason in LISTED.items():
            if self.command == key or (key.endswith("*") and self.command.startswith(key[:-1])):
                return reason
        return None


def documents(root: Path) -> list[Path]:
    """README, and every page whose blocks are read."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md")), root / "bpf" / "README.md"]


def shown(root: Path) -> Iterator[Shown]:
    """Every command of the documents, in their order."""
    for page in documents(root):
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(r"^```(?:console|sh)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            yield from commands(f"{page.relative_to(root)}", block[1])


def commands(where: str, block: str) -> Iterator[Shown]:
    """Every command of a block."""
    lines = re.sub(r"\\\n\s*", "", block).splitlines()
    prompts = any(line.startswith("$ ") for line in lines)
    command, output = None, []
    for line in lines:
        if prompts and not line.startswith("$ "):
            output.append(line)
            continue
        if command:
            yield Shown(where, command, tuple(output))
        command, output = _without_comment(line.removeprefix("$ ")), []
    if command:
        yield Shown(where, command, tuple(output))


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s+)#.*", "", line).strip()


def missing(expected: tuple[str, ...], output: str) -> list[str]:
    """The shown lines that the output lacks. Spaces do not count; a … stands for anything."""
    there = {" ".join(line.split()) for line in output.splitlines()}
    return [line for line in expected if not _among(" ".join(line.split()), there)]


def _among(line: str, there: set[str]) -> bool:
    if "…" not in line:
        return line in there
    pattern = ".*".join(re.escape(part) for part in line.split("…"))
    return line == "…" or any(re.fullmatch(pattern, each) for each in there)


def try_all(
    root: Path, run: Callable[[str], tuple[int, str]], real_refused: str | None
) -> tuple[int, list[str], list[str]]:
    """Runs every command that is not listed.

    Returns how many ran, what went wrong (a line each), and what was not run with the reason.
    """
    count, wrong, left = 0, [], []
    for each in shown(root):
        reason = each.listed
        if reason is None and each.command.startswith(REAL):
            reason = real_refused
        if reason is not None:
            left.append(f"not run: `{each.command}` ({each.where}): {reason}")
            continue
        code, output = run(each.command)
        count += 1
        if code != 0:
            wrong.append(f"`{each.command}` ({each.where}) ended with {code}")
        wrong += [
            f"`{each.command}` ({each.where}) no longer prints: {line}"
            for line in missing(each.output, output)
        ]
    return count, wrong, left
