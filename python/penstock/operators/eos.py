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
    Step,
    Value,
    Wanted,
    Written,
    bytes_text,
    power_of_two,
    slug,
    weight_value,
)

MOST = 256_000_000
MOST_WEIGHT = 15


def write(wanted: Wanted, place: Place) -> Written:
    """Returns a QoS profile with one queue, and the interface that has it."""
    lost: list[str]
    if isinstance(wanted.aqm, Step):
        threshold, value = wred.step_of(wanted)
        low, high, share, weight, values = threshold, threshold, 100, 0, [value]
        lost = list(wred.step_losses(wanted))
        aqm = wred.step_aqm(wanted, threshold)
    else:
        ramp = wred.ramp_of(wanted, "eos", ["step"])
        low, high, values = wred.whole_bytes(ramp)
        share, value = wred.whole_per_cent(ramp)
        weight = power_of_two(ramp.w_q, 0, MOST_WEIGHT)
        lost = wred.losses(ramp, wanted.ecn, beyond="mark")
        values += [weight_value(ramp.w_q, weight, "the weight is 2^-n, n from 0 to 15"), value]
        aqm = wred.aqm(
            wanted, low=bytes_text(low), high=bytes_text(high), max_p=share / 100, w_q=2.0**-weight, beyond="mark"
        )
    if high > MOST:
        raise RefusedError(f"max_th = {high} B: EOS takes at most {MOST}")
    name, dev = slug(wanted.name), place.dev or "Ethernet1"
    ends = f"minimum-threshold {low} bytes maximum-threshold {high} bytes"
    rule = (
        f"random-detect ecn {ends} max-mark-probability {share} weight {weight}"
        if wanted.ecn
        else f"random-detect drop {ends} drop-probability {share} weight {weight}"
    )
    text = f"qos profile {name}\n   uc-tx-queue 0\n      {rule}\n!\ninterface {dev}\n   service-profile {name}\n!\n"
    return Written(
        text=text,
        values=(
            *values,
            Value(name="buffer", wanted=wanted.buffer_bytes, used=wanted.buffer_bytes, unit="B"),
        ),
        aqm=aqm,
        buffer=bytes_text(wanted.buffer_bytes),
        lost=tuple(lost),
        notes=(
            "some platforms say `tx-queue` for `uc-tx-queue`, and round thresholds to their own cells",
            "the switch's buffer settings, which are not here, say how much may wait",
        ),
    )
