"""Arista EOS: WRED and ECN thresholds of a transmit queue, in a QoS profile.

Facts: the schema of aristanetworks/avd (qos_profiles: units, thresholds 1 to 256000000, per cent 1
to 100, weight 0 to 15) and published configurations (`random-detect ecn minimum-threshold …
max-mark-probability … weight …`). A weight n is taken for 2^-n, 0 for no average. Not checked on a
switch: the hardware also rounds thresholds to its own cells.
"""

from __future__ import annotations

from penstock.operators import wred
from penstock.operators.model import (
    Place,
    RefusedError,
    Wanted,
    Written,
    bytes_text,
    slug,
)

MOST = 256_000_000
MOST_WEIGHT = 15


def write(wanted: Wanted, place: Place) -> Written:
    """Returns a QoS profile with one queue, and the interface that has it."""
    told = wred.in_bytes(wanted, "eos", (MOST_WEIGHT, "the weight is 2^-n, n from 0 to 15"))
    if told.high > MOST:
        raise RefusedError(f"max_th = {told.high} B: EOS takes at most {MOST}")
    name, dev = slug(wanted.name), place.dev or "Ethernet1"
    ends = f"minimum-threshold {told.low} bytes maximum-threshold {told.high} bytes"
    rule = (
        f"random-detect ecn {ends} max-mark-probability {told.share} weight {told.weight}"
        if wanted.ecn
        else f"random-detect drop {ends} drop-probability {told.share} weight {told.weight}"
    )
    text = f"qos profile {name}\n   uc-tx-queue 0\n      {rule}\n!\ninterface {dev}\n   service-profile {name}\n!\n"
    return Written(
        text=text,
        values=told.values,
        aqm=told.aqm,
        buffer=bytes_text(wanted.buffer_bytes),
        lost=told.lost,
        notes=(
            "some platforms say `tx-queue` for `uc-tx-queue`, and round thresholds to their own cells",
            "the switch's buffer settings, which are not here, say how much may wait",
        ),
    )
