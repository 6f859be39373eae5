"""The platforms, each declared once: the command line, the messages and the documentation take
their words here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock._names import known
from penstock.operators import cisco_ios, dpdk, eos, junos, openconfig, sonic, sqm, tc, vyos
from penstock.operators.model import Names, Place, Range, RefusedError, Wanted, Written


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A kind of box.

    doc: what it is, in a few words.
    kinds: the disciplines of a scenario that it expresses, exactly or nearly.
    write: the function.
    ranges: the numbers that it takes, by their names.
    interface: the names of interfaces that it takes; `None` where no interface is named.
    variants: the forms among which `--as` chooses.
    shapes: whether it makes the bottleneck's rate itself.
    checked: how it is known that the box takes it so.
    """

    doc: str
    kinds: tuple[str, ...]
    write: Callable[[Wanted, Place], Written]
    ranges: Mapping[str, Range]
    interface: Names | None
    shapes: bool = False
    variants: tuple[str, ...] = ()
    checked: str


PLATFORMS: Mapping[str, Platform] = {
    "tc": Platform(
        doc="Linux: commands of tc",
        kinds=(
            *("red", "ared", "wred", "step", "choke", "codel", "fq-codel", "cake", "pie", "fq-pie", "dualpi2"),
            *("sfq", "sfb", "droptail"),
        ),
        write=tc.write,
        ranges=tc.RANGES,
        interface=tc.INTERFACE,
        variants=tuple(tc.QDISCS),
        checked="loaded into a real kernel and read back, but for dualpi2",
    ),
    "sonic": Platform(
        doc="SONiC switches: WRED_PROFILE of the config DB",
        kinds=("red", "ared", "wred", "step"),
        write=sonic.write,
        ranges=sonic.RANGES,
        interface=sonic.INTERFACE,
        checked="by the rules of its YANG model",
    ),
    "cisco-ios": Platform(
        doc="Cisco IOS: WRED in a policy map",
        kinds=("red", "ared", "wred"),
        write=cisco_ios.write,
        ranges=cisco_ios.RANGES,
        interface=cisco_ios.INTERFACE,
        shapes=True,
        checked="by the documented ranges",
    ),
    "junos": Platform(
        doc="Junos: drop profiles",
        kinds=("red", "ared", "wred", "nlred"),
        write=junos.write,
        ranges=junos.RANGES,
        interface=junos.INTERFACE,
        checked="by the documented ranges",
    ),
    "eos": Platform(
        doc="Arista EOS: WRED and ECN in a QoS profile",
        kinds=("red", "ared", "wred", "step"),
        write=eos.write,
        ranges=eos.RANGES,
        interface=eos.INTERFACE,
        checked="by the ranges of AVD's schema",
    ),
    "openconfig": Platform(
        doc="OpenConfig: a queue-management profile, JSON",
        kinds=("red", "ared", "step"),
        write=openconfig.write,
        ranges=openconfig.RANGES,
        interface=openconfig.INTERFACE,
        checked="by the types and ranges of its YANG model",
    ),
    "dpdk": Platform(
        doc="DPDK: rte_red, as qos_sched reads it",
        kinds=("red", "ared"),
        write=dpdk.write,
        ranges=dpdk.RANGES,
        interface=None,
        checked="by Debian's librte_sched",
    ),
    "vyos": Platform(
        doc="VyOS: random-detect, fq-codel, drop-tail",
        kinds=("red", "ared", "wred", "fq-codel", "droptail"),
        write=vyos.write,
        ranges=vyos.RANGES,
        interface=vyos.INTERFACE,
        checked="by its source code; the kernel below it as tc",
    ),
    "sqm": Platform(
        doc="OpenWrt: SQM, /etc/config/sqm",
        kinds=("fq-codel", "cake"),
        write=sqm.write,
        ranges=sqm.RANGES,
        interface=sqm.INTERFACE,
        shapes=True,
        variants=tuple(sqm.SCRIPTS),
        checked="by its scripts; the kernel below it as tc",
    ),
}


def write(wanted: Wanted, to: str, place: Place) -> Written:
    """Returns what a platform makes of it. Raises `RefusedError` with the reason where it
    cannot.
    """
    platform = PLATFORMS[known(to, PLATFORMS, "platform")]
    if place.variant is not None and not platform.variants:
        raise RefusedError(f"--as {place.variant}: {to} has one form only")
    if place.shape and to != "tc":
        own = "makes the rate by itself" if platform.shapes else "has no shaper here"
        raise RefusedError(f"--shape: goes with --to tc alone; {to} {own}")
    written = platform.write(wanted, place)
    notes = written.notes
    if wanted.opposite is not None and written.reverse is None:
        there = wanted.opposite
        notes += (
            f"the opposite direction ({there.aqm.kind}, {_rate(there.rate_bps)}) is left out: "
            f"{'--shape writes both' if to == 'tc' else 'it is for the box at the other end'}",
        )
    return replace(written, lost=(*wanted.lost, *written.lost), notes=notes)


def _rate(bits_per_s: float) -> str:
    return f"{bits_per_s / 1e6:g} Mbit/s"
