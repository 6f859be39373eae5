"""A real kernel's word on queue disciplines: what `tc -d -s -j qdisc show` reports after loading
them.

The same virtual machine as oracle.py's, with another guest program. Nothing is sent.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import oracle
from debian import packages
from image import image

#: The device that the commands name.
DEVICE = "v0"
#: The device through which what arrives there is sent.
IFB = "ifb4v0"
MODULES = (
    *("veth", "ifb", "sch_ingress", "cls_matchall", "act_mirred", "sch_tbf", "sch_htb", "sch_prio", "sch_sfq"),
    *("sch_red", "sch_gred", "sch_choke", "sch_codel", "sch_fq_codel", "sch_pie", "sch_cake"),
    *("sch_sfb", "sch_fq", "sch_fq_pie"),
)


def loaded(cases: Sequence[Sequence[str]], cache: Path, limit_s: float = 600) -> list[list[dict[str, Any]] | str]:
    """Returns what the kernel reports for each case, or what tc said where it or the kernel
    refused. Reports of `IFB`, where a case makes it, follow those of `DEVICE` and name it as `dev`.

    cases: each the command lines of a shell that set up `DEVICE`.

    Raises `UnavailableError` where there is no virtual machine, `GuestError` where it failed.
    """
    lines = "".join(f"{command}\n" for case in cases for command in (*case, "show"))
    with tempfile.TemporaryDirectory(prefix="penstock-qdiscs-") as folder:
        archive = Path(folder) / "guest.gz"
        fetched = packages(cache)
        archive.write_bytes(image(fetched, {"cases": lines.encode()}, None, "qdiscs.sh", MODULES))
        answers = oracle.said(fetched, archive, 1, limit_s).splitlines()
    if len(answers) != len(cases):
        raise oracle.GuestError(f"{len(cases)} cases have {len(answers)} answers: {answers[-3:]}")
    return [answer if answer.startswith("refused: ") else _both(json.loads(answer)) for answer in answers]


def _both(answer: list[Any]) -> list[dict[str, Any]]:
    """Returns the reports of both devices as one list."""
    if not answer:
        return []
    own, there = answer
    return [*own, *({**each, "dev": IFB} for each in there)]
