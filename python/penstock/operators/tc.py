"""Linux's queue disciplines, as commands of `tc`.

The commands delete what is there first: the kernel refuses to make one qdisc of another under the
same handle, and would keep options of a qdisc of the same kind that the new line does not name.
tests/test_config_kernel.py loads what is written here into a real kernel, over each other kind of
qdisc and over itself, and compares what it reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from penstock.operators import tc_cake as cakes
from penstock.operators import tc_delays as delays
from penstock.operators import tc_dual as dual
from penstock.operators import tc_fair as fair
from penstock.operators import tc_gred as greds
from penstock.operators import tc_pie as pies
from penstock.operators import tc_ramps as ramps
from penstock.operators.model import LINUX, Place, RefusedError, Value, Wanted, Written
from penstock.operators.tc_line import RANGES, Line

__all__ = ["INTERFACE", "QDISCS", "RANGES", "line_of", "write"]

INTERFACE = LINUX


def write(wanted: Wanted, place: Place) -> Written:
    """Returns the commands: with `--shape` of both directions, where the scenario says anything of
    the opposite one.
    """
    dev = INTERFACE.chosen(place)
    place = replace(place, shape=place.shape or wanted.shaped)
    ahead = _direction(wanted, place, dev)
    ahead = replace(ahead, notes=(*ahead.notes, *unshaped(wanted)))
    if not place.shape or wanted.opposite is None:
        return ahead
    ifb = f"ifb4{dev}"[:15]
    back = _direction(wanted.opposite, _back(wanted.opposite, place), ifb)
    return Written(
        text=ahead.text + _arriving(dev, ifb, back.text),
        values=(*ahead.values, *(_named(each) for each in back.values)),
        aqm=ahead.aqm,
        buffer=ahead.buffer,
        reverse=(back.aqm, back.buffer),
        lost=(*ahead.lost, *(f"opposite direction: {each}" for each in (*wanted.opposite.lost, *back.lost))),
        notes=(
            *ahead.notes,
            *(f"opposite direction: {each}" for each in back.notes if each not in ahead.notes),
            f"what arrives at {dev}, the opposite direction, goes through the queue of {ifb}",
        ),
        readback={**ahead.readback, "reverse": {**back.readback, "dev": ifb}},
    )


def unshaped(wanted: Wanted) -> tuple[str, ...]:
    """Returns what should be known where the scenario shapes one direction of a line alone."""
    ahead, back = wanted.shaped, wanted.opposite is not None and wanted.opposite.shaped
    if ahead == back:
        return ()
    way, rate, key = (
        ("opposite", wanted.reverse_rate_bps, "reverse_shaped") if ahead else ("forward", wanted.rate_bps, "shaped")
    )
    return (
        f"{key} is not given: the {way} direction has all of the line's {rate / 1e6:g} Mbit/s, and its queue stands "
        f'outside this box; topology.bottleneck.{key} = "95 %" brings it here',
    )


def _back(opposite: Wanted, place: Place) -> Place:
    """Returns the place of the opposite direction: the form that was chosen, where it runs there."""
    able = place.variant is not None and opposite.aqm.kind in QDISCS.get(place.variant, ())
    return Place(variant=place.variant if able else None, shape=True)


def _named(value: Value) -> Value:
    return replace(value, name=f"reverse {value.name}")


def _arriving(dev: str, ifb: str, queue: str) -> str:
    """Returns the commands that send what arrives through the queue of another interface."""
    return (
        f"ip link add {ifb} type ifb 2>/dev/null || true\n"
        f"ip link set {ifb} up\n"
        f"{queue}"
        f"tc qdisc del dev {dev} parent ffff:fff1 2>/dev/null || true\n"
        f"tc qdisc add dev {dev} handle ffff: ingress\n"
        f"tc filter add dev {dev} parent ffff: matchall action mirred egress redirect dev {ifb}\n"
    )


def _direction(wanted: Wanted, place: Place, dev: str) -> Written:
    line = line_of(wanted, place.variant)
    above = delays.shaper(wanted) if place.shape and not line.shapes else None
    text = f"tc qdisc del dev {dev} root 2>/dev/null || true\n"
    parent = "root handle 1:"
    lost, notes, values = line.lost, line.notes, line.values
    readback: dict[str, Any] = {"kind": line.qdisc, "options": line.readback}
    if above is not None:
        text += f"tc qdisc add dev {dev} {parent} tbf {above.arguments[0]}\n"
        parent = "parent 1:1 handle 10:"
        values += above.values
        lost += above.lost
        notes += above.notes
        readback["shaper"] = {"kind": above.qdisc, "options": above.readback}
        if line.qdisc in ("red", "gred", "choke"):
            lost += ("below a shaper the average does not decay while the link is idle",)
    elif not line.shapes:
        notes += (f"the queue forms here only where {dev} itself is the bottleneck; --shape puts tbf above it",)
    if line.tins:
        readback["tins"] = line.tins
    first, *more = line.arguments
    text += f"tc qdisc add dev {dev} {parent} {line.qdisc} {first}\n"
    text += "".join(f"tc qdisc change dev {dev} {parent} {line.qdisc} {each}\n" for each in more)
    return Written(
        text=text,
        values=values,
        aqm=line.aqm,
        buffer=line.buffer,
        lost=lost,
        notes=notes,
        readback=readback,
    )


#: Qdisc → the kinds that it can run.
QDISCS: Mapping[str, tuple[str, ...]] = {
    "red": ("red", "ared", "step"),
    "gred": ("red", "wred"),
    "choke": ("choke",),
    "codel": ("codel",),
    "fq_codel": ("fq-codel",),
    "cake": ("cake", "fq-codel"),
    "pie": ("pie",),
    "fq_pie": ("fq-pie",),
    "dualpi2": ("dualpi2",),
    "sfq": ("sfq",),
    "sfb": ("sfb",),
    "pfifo": ("droptail",),
}


def line_of(wanted: Wanted, qdisc: str | None) -> Line:
    """Returns a qdisc's arguments, without its place.

    qdisc: which, where several run the discipline; default: the nearest.
    """
    kind = wanted.aqm.kind
    able = [name for name, kinds in QDISCS.items() if kind in kinds]
    if not able:
        raise RefusedError(f"tc: no qdisc is written for {kind}")
    if qdisc is not None and qdisc not in able:
        raise RefusedError(f"--as {qdisc}: tc expresses {kind} as {' or '.join(able)}")
    write_as: dict[str, Callable[[Wanted], Line]] = {
        "red": ramps.step if kind == "step" else ramps.red,
        "gred": greds.gred,
        "choke": ramps.choke,
        "codel": delays.codel,
        "fq_codel": delays.codel,
        "cake": cakes.cake if kind == "cake" else cakes.as_fq_codel,
        "pie": pies.pie,
        "fq_pie": pies.pie,
        "dualpi2": dual.dualpi2,
        "sfq": fair.sfq,
        "sfb": fair.sfb,
        "pfifo": delays.tail,
    }
    return write_as[qdisc or able[0]](wanted)
