"""Arista EOS: WRED and ECN thresholds of a transmit queue, in a QoS profile.

Facts: the schema of aristanetworks/avd (ethernet_interfaces and qos_profiles: units, thresholds 1
to 256000000, per cent 1 to 100, weight 0 to 15) and published configurations (`random-detect ecn
minimum-threshold … max-mark-probability … weight …`). A weight n is taken for 2^-n, 0 for no
average. Not checked on a switch: the hardware also rounds thresholds to its own cells.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.operators import wred
from penstock.operators.model import Names, Place, Range, Step, Wanted, Written, bytes_text, ranges, slug

INTERFACE = Names(
    first="Ethernet1",
    pattern=r"[A-Za-z][A-Za-z-]{0,30} ?[0-9][0-9/.]{0,20}",
    said="letters and - and a number of digits and / .",
)
_ENDS = "aristanetworks/avd, ethernet_interfaces.uc_tx_queues.random_detect.ecn.threshold"
_REST = "aristanetworks/avd, qos_profiles.uc_tx_queues.random_detect.ecn.threshold"
RANGES = ranges(
    Range(name="minimum-threshold", low=1, high=255_999_999, unit="B", source=_ENDS),
    Range(name="maximum-threshold", low=1, high=256_000_000, unit="B", source=_ENDS),
    Range(name="max-mark-probability", low=1, high=100, unit="%", source=_REST),
    Range(name="weight", low=0, high=15, source=_REST),
)


def write(wanted: Wanted, place: Place) -> Written:
    """Returns a QoS profile with one queue, and the interface that has it."""
    dev, name = INTERFACE.chosen(place), slug(wanted.name)
    told = wred.in_bytes(
        wanted,
        "eos",
        (RANGES["minimum-threshold"], RANGES["maximum-threshold"]),
        RANGES["max-mark-probability"],
        RANGES["weight"],
    )
    ends = f"minimum-threshold {told.low} bytes maximum-threshold {told.high} bytes"
    rule = (
        f"random-detect ecn {ends} max-mark-probability {told.share} weight {told.weight}"
        if wanted.ecn
        else f"random-detect drop {ends} drop-probability {told.share} weight {told.weight}"
    )
    text = f"qos profile {name}\n   uc-tx-queue 0\n      {rule}\n!\ninterface {dev}\n   service-profile {name}\n!\n"
    written = Written(
        text=text,
        values=told.values,
        aqm=told.aqm,
        buffer=bytes_text(wanted.buffer_bytes),
        lost=told.lost,
        notes=(
            "some platforms say `tx-queue` for `uc-tx-queue`, and round thresholds to their own cells",
            wred.elsewhere(wanted, "in the switch's buffer settings"),
        ),
    )
    if isinstance(wanted.aqm, Step) and told.lost:
        note = "`qos random-detect ecn allow non-ect` lets packets pass that cannot be marked, on the whole switch"
        return replace(written, notes=(*written.notes, note))
    return written
