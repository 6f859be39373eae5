"""States of a real kernel's queue disciplines, in JSON and as the text that people paste.

The same virtual machine as oracle.py's, with another guest program. Nothing is sent.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import oracle
from debian import packages
from image import image

#: The device that the commands name.
DEVICE = "v0"
MODULES = (
    *("veth", "sch_red", "sch_gred", "sch_choke", "sch_codel", "sch_fq_codel", "sch_pie", "sch_fq_pie", "sch_cake"),
    *("sch_tbf", "sch_htb", "sch_sfq", "sch_sfb", "sch_prio", "sch_ets", "sch_netem", "sch_ingress"),
)


@dataclass(frozen=True, slots=True)
class State:
    """What `tc -d -s qdisc show` prints, with `-j` and without."""

    document: list[dict[str, Any]]
    text: str


def shown(cases: Sequence[Sequence[str]], cache: Path, limit_s: float = 600) -> list[list[State]]:
    """Returns the states of each case, one for each `show` among its lines.

    cases: each the commands of tc that set up `DEVICE`, with `show` wherever a state is wanted.

    Raises `UnavailableError` where there is no virtual machine, `GuestError` where it failed, or the
    kernel refused.
    """
    lines = "".join(f"{command}\n" for case in cases for command in (*case, "clear"))
    with tempfile.TemporaryDirectory(prefix="penstock-states-") as folder:
        archive = Path(folder) / "guest.gz"
        fetched = packages(cache)
        archive.write_bytes(image(fetched, {"cases": lines.encode()}, None, "states.sh", MODULES))
        answers = iter(oracle.said(fetched, archive, 1, limit_s).splitlines())
    return [[_state(next(answers, "no answer")) for line in case if line == "show"] for case in cases]


def _state(answer: str) -> State:
    document, _, text = answer.rpartition(" ")
    try:
        return State(json.loads(document), base64.b64decode(text).decode())
    except ValueError:
        raise oracle.GuestError(answer) from None
