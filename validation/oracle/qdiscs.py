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
MODULES = ("veth", "sch_red", "sch_gred", "sch_choke", "sch_codel", "sch_fq_codel", "sch_pie", "sch_cake", "sch_tbf")


def loaded(cases: Sequence[Sequence[str]], cache: Path, limit_s: float = 600) -> list[list[dict[str, Any]] | str]:
    """Returns what the kernel reports for each case, or what tc said where it or the kernel
    refused.

    cases: each the commands of tc that set up `DEVICE`.

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
    return [answer if answer.startswith("refused: ") else json.loads(answer) for answer in answers]
