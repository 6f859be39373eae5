"""States of a real kernel's queue disciplines, in JSON and as the text that people paste.

The same virtual machine as oracle.py's, with another guest program. Nothing is sent.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
from debian import Packages, packages
from image import image
from machine import GuestError

#: The device that the commands name.
DEVICE = "v0"
#: The device through which what arrives there is sent.
IFB = "ifb4v0"
MODULES = (
    *("veth", "ifb", "sch_ingress", "cls_matchall", "act_mirred", "sch_tbf", "sch_htb", "sch_prio", "sch_ets"),
    *("sch_red", "sch_gred", "sch_choke", "sch_codel", "sch_fq_codel", "sch_pie", "sch_fq_pie", "sch_cake"),
    *("sch_sfq", "sch_sfb", "sch_fq", "sch_netem"),
)


@dataclass(frozen=True, slots=True)
class State:
    """What `tc -d -s qdisc show` prints.

    document: with `-j`; reports of `IFB`, where it is there, follow those of `DEVICE` and name it as `dev`.
    text: without, of `DEVICE`, where texts are wanted.
    """

    document: list[dict[str, Any]]
    text: str


def shown(cases: Sequence[Sequence[str]], cache: Path, texts: bool = False) -> list[list[State | str]]:
    """Returns the states of each case, one for each `show` among its lines, or what tc or the kernel said where it
    refused a line.

    cases: each the command lines that set up `DEVICE`, with `show` wherever a state is wanted; texts: with their text.

    Raises `UnavailableError` where there is no virtual machine, `GuestError` where it failed.
    """
    fetched = packages(cache)
    with tempfile.TemporaryDirectory(prefix="penstock-states-") as folder:
        archive = Path(folder) / "guest.gz"
        files = {"cases": lines(cases)} | ({"texts": b""} if texts else {})
        archive.write_bytes(image(fetched, files, None, "states.sh", MODULES))
        found = map(read, answers(fetched, archive, cases))
    return [[next(found) for line in case if line == "show"] for case in cases]


def lines(cases: Sequence[Sequence[str]]) -> bytes:
    """What the guest program reads."""
    return "".join(f"{command}\n" for case in cases for command in (*case, "clear")).encode()


def answers(fetched: Packages, archive: Path, cases: Sequence[Sequence[str]]) -> list[str]:
    """What the guest program says, a line for each `show`. Raises `GuestError` where one is missing."""
    said = machine.said(fetched, archive, 1, limit_s=600).splitlines()
    wanted = sum(line == "show" for case in cases for line in case)
    if len(said) != wanted:
        raise GuestError(f"{wanted} states are wanted, {len(said)} came: {said[-3:]}")
    return said


def read(answer: str) -> State | str:
    """A line of it."""
    try:
        said = json.loads(answer)
    except ValueError:
        raise GuestError(answer) from None
    if isinstance(said, str):
        return said
    return State(
        [*said["own"], *({**each, "dev": IFB} for each in said["there"])], said["text"] and said["text"] + "\n"
    )
