"""Linux's queue disciplines, as commands of `tc`.

tests/test_config_kernel.py loads what is written here into a real kernel and compares what it
reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from penstock.operators import tc_delays as delays
from penstock.operators import tc_ramps as ramps
from penstock.operators.model import Place, RefusedError, Wanted, Written
from penstock.operators.tc_line import FRAME, Line


def write(wanted: Wanted, place: Place) -> Written:
    """Returns the commands."""
    line = line_of(wanted, place.variant)
    dev = place.dev or "eth0"
    head, parent = "", "root handle 1:"
    lost, notes = line.lost, line.notes
    if place.shape and line.qdisc != "cake":
        burst = max(2 * FRAME, math.ceil(wanted.rate_bps / 8 / delays.HZ))
        head = (
            f"tc qdisc replace dev {dev} root handle 1: tbf rate {round(wanted.rate_bps)}bit burst {burst} "
            f"limit {round(wanted.buffer_bytes)}\n"
        )
        parent = "parent 1:1 handle 10:"
        if line.qdisc in ("red", "gred"):
            lost += ("below a shaper the average does not decay while the link is idle",)
    elif line.qdisc != "cake":
        notes += (f"the queue forms here only where {dev} itself is the bottleneck; --shape puts tbf above it",)
    first, *more = line.arguments
    text = f"{head}tc qdisc replace dev {dev} {parent} {line.qdisc} {first}\n"
    text += "".join(f"tc qdisc change dev {dev} {parent} {line.qdisc} {each}\n" for each in more)
    return Written(
        text=text,
        values=line.values,
        aqm=line.aqm,
        buffer=line.buffer,
        lost=lost,
        notes=notes,
        readback={"kind": line.qdisc, "options": line.readback},
    )


#: Qdisc → the kinds that it can run.
QDISCS: Mapping[str, tuple[str, ...]] = {
    "red": ("red", "ared", "step"),
    "gred": ("red",),
    "choke": ("choke",),
    "codel": ("codel",),
    "fq_codel": ("fq-codel",),
    "cake": ("fq-codel",),
    "pie": ("pie",),
    "pfifo": ("droptail",),
}


def line_of(wanted: Wanted, qdisc: str | None) -> Line:
    """Returns a qdisc's arguments, without its place.

    qdisc: which, where several run the discipline; default: the nearest.
    """
    kind = wanted.aqm.kind
    able = [name for name, kinds in QDISCS.items() if kind in kinds]
    if not able:
        raise RefusedError(f"tc: no qdisc of Linux runs {kind}")
    if qdisc is not None and qdisc not in able:
        raise RefusedError(f"--as {qdisc}: tc expresses {kind} as {' or '.join(able)}")
    write_as: dict[str, Callable[[Wanted], Line]] = {
        "red": ramps.step if kind == "step" else ramps.red,
        "gred": ramps.gred,
        "choke": ramps.choke,
        "codel": delays.codel,
        "fq_codel": delays.codel,
        "cake": delays.cake,
        "pie": delays.pie,
        "pfifo": delays.tail,
    }
    return write_as[qdisc or able[0]](wanted)
