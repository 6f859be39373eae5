"""Instructions, as callgrind counts them: of a whole process, and of each source file.

A count does not depend on the clock, on other processes or on the processor's frequency. Two
lengths of one run differ by their packets alone, so that start-up cancels.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .processes import at_once, spend

#: What a crate of the simulator calls a source file, in the debug information of a build.
SOURCE = re.compile(r"(?:^|/)crates/((?:aqm|queue|scenario|sim|tcp|units)/src/[^:]*\.rs)")
#: What the standard library calls a module of its sources.
LIBRARY = re.compile(r"/library/(\w+/src(?:/\w+){1,2})")
ELSEWHERE = "elsewhere"

#: Finds the source files of addresses: innermost inlined function first, its callers after it.
Symbolizer = Callable[[Path, Iterable[int]], dict[int, list[str]]]


@dataclass(frozen=True)
class Count:
    """What a run executed and printed."""

    instructions: int
    document: Any
    files: Counter[str] = field(default_factory=Counter)
    """Instructions of each source file of the simulator; empty where they were not asked for."""


def count(command: Sequence[str | Path], by_file: bool = False) -> Count:
    """Runs a command under callgrind; with `by_file`, its first word is the program to look up."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        # Python hashes alike in both lengths of a run: its start-up then cancels.
        tool = [
            "env",
            "PYTHONHASHSEED=0",
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={out}",
            "--quiet",
        ]
        tool += ["--dump-instr=yes"] if by_file else []
        document = spend([*tool, *command], watch=False).document
        text = out.read_text(encoding="utf-8", errors="replace")
    program = Path(command[0])
    files = of_files(own_costs(text), program, inlined) if by_file else Counter[str]()
    return Count(total(text), document, files)


def total(text: str) -> int:
    """The total that a callgrind file states. Raises `SystemExit` where it states none."""
    found = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
    if not found:
        raise SystemExit("bench: callgrind wrote no total")
    return int(found[1])


def own_costs(text: str) -> dict[str, Counter[int]]:
    """Reads a callgrind file that was made with `--dump-instr=yes`.

    Returns the instructions that each address of each object executed by itself. The line after
    `calls=` has the cost of what was called; it counts there. A name follows its number once,
    `(3) /usr/bin/x`, and later the number stands alone.
    """
    names: dict[str, str] = {}
    costs: dict[str, Counter[int]] = {}
    own: Counter[int] = Counter()
    address, called = 0, False
    for line in text.splitlines():
        if line.startswith(("ob=", "cob=")):
            key, _, name = line.partition("=")[2].partition(" ")
            names.setdefault(key, name)
            if line.startswith("ob="):
                own = costs.setdefault(names[key], Counter())
        elif line.startswith("calls="):
            called = True
        elif line[:1] in set("0123456789+-*"):
            position, _, cost = line.split()
            address = _moved(address, position)
            if not called:
                own[address] += int(cost)
            called = False
    return costs


def _moved(address: int, position: str) -> int:
    """An address, which is absolute, or relative to the one before, or the same (`*`)."""
    if position == "*":
        return address
    if position[0] in "+-":
        return address + int(position)
    return int(position, 16)


def inlined(program: Path, addresses: Iterable[int]) -> dict[int, list[str]]:
    """Asks `addr2line` which source files an address belongs to, innermost first."""
    line = ["addr2line", "-e", str(program), "-i", "-a"]
    asked = "\n".join(map(hex, addresses))
    done = subprocess.run(line, input=asked, capture_output=True, text=True, check=True)
    return dict(_stacks(done.stdout))


def _stacks(answer: str) -> Iterator[tuple[int, list[str]]]:
    stack: list[str] = []
    for line in answer.splitlines():
        if line.startswith("0x"):
            stack = []
            yield int(line, 16), stack
        else:
            stack.append(line)


def of_files(costs: dict[str, Counter[int]], program: Path, look_up: Symbolizer) -> Counter[str]:
    """Gives each instruction to a source file."""
    files: Counter[str] = Counter()
    for name, own in costs.items():
        if Path(name).name != program.name:
            files[ELSEWHERE] += own.total()
            continue
        stacks = look_up(program, own)
        for address, cost in own.items():
            files[file_of(stacks.get(address, []))] += cost
    return files


def file_of(stack: Sequence[str]) -> str:
    """The file that an instruction belongs to, of those that its inlined functions come from.

    It is that of the innermost function of the simulator: a bounds check is part of the code that
    asks for it. A function of the standard library that was called, not inlined, is named by its
    module. Everything else, such as libc's, is `ELSEWHERE`.
    """
    for place in stack:
        if found := SOURCE.search(place):
            return found[1]
    library = LIBRARY.search(stack[-1]) if stack else None
    return f"library/{library[1]}" if library else ELSEWHERE


@dataclass(frozen=True)
class PerPacket:
    """What two lengths of a run differ by."""

    packets: int
    instructions: float
    """For each of these packets."""
    files: dict[str, float] = field(default_factory=dict)
    """The same for each source file."""


def between(short: Count, long: Count, packets: Callable[[Any], int]) -> PerPacket:
    """What the longer run did in addition, for each packet that it had in addition."""
    more = packets(long.document) - packets(short.document)
    if more <= 0:
        raise SystemExit("bench: the longer run has no more packets than the shorter one")
    files = {
        name: (long.files[name] - short.files[name]) / more for name in long.files | short.files
    }
    return PerPacket(more, (long.instructions - short.instructions) / more, files)


Pair = tuple[Sequence[str | Path], Sequence[str | Path]]


def packets(document: Any) -> int:
    """The packets that the runner without Python reports."""
    return int(document["packets"])


def per_packet(
    pairs: Sequence[Pair], key: Callable[[Any], int] = packets, by_file: bool = False
) -> list[PerPacket]:
    """Counts pairs of a shorter and a longer run, several at once; `key` is what is divided by."""
    counts = at_once(lambda line: count(line, by_file), [line for pair in pairs for line in pair])
    return [
        between(short, long, key) for short, long in zip(counts[::2], counts[1::2], strict=True)
    ]
