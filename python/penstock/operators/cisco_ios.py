"""Cisco IOS: WRED in a policy map.

Facts: Cisco's command references and "Cisco IOS in a Nutshell" (random-detect precedence,
exponential-weighting- constant, ecn): thresholds in packets 1 to 4096, the share at max_th as one
over a whole number, the weight as 2^-n with n from 1 to 16. Not checked on a router: that each
packet is decided by itself, and that packets above max_th are dropped with ECN, too.
"""

from __future__ import annotations

from penstock.operators import wred
from penstock.operators.model import Place, RefusedError, Value, Wanted, Written, power_of_two, slug, weight_value

MOST_PACKETS = 4096
MOST_DENOMINATOR = 65535
MOST_EXPONENT = 16
PRECEDENCES = range(8)


def write(wanted: Wanted, place: Place) -> Written:
    """Returns a policy map that shapes to the bottleneck's rate, so that the queue forms at this
    router.
    """
    if wanted.aqm.kind == "step":
        raise RefusedError(
            "cisco-ios: WRED drops above max_th, also with ECN, so it cannot mark everything above a step"
        )
    ramp = wred.ramp_of(wanted, "cisco-ios")
    mean = wanted.mean_packet
    low = min(MOST_PACKETS - 1, max(1, round(ramp.min_bytes / mean)))
    high = min(MOST_PACKETS, max(low + 1, round(ramp.max_bytes / mean)))
    denominator = min(MOST_DENOMINATOR, max(1, round(1 / ramp.share())))
    n = power_of_two(ramp.w_q, 1, MOST_EXPONENT)
    name, dev = slug(wanted.name), place.dev or "GigabitEthernet0/0"
    lost = wred.losses(ramp, wanted.ecn, beyond="drop")
    lines = [
        f"policy-map {name}",
        " class class-default",
        f"  shape average {round(wanted.rate_bps)}",
        f"  queue-limit {wanted.buffer_pkts} packets",
        "  random-detect precedence-based",
        f"  random-detect exponential-weighting-constant {n}",
        *(f"  random-detect precedence {each} {low} {high} {denominator}" for each in PRECEDENCES),
        *(["  random-detect ecn"] if wanted.ecn else []),
        "!",
        f"interface {dev}",
        f" service-policy output {name}",
        "!",
        "end",
    ]
    values = [
        *wred.threshold_values(ramp.min_bytes / mean, ramp.max_bytes / mean, low, high, "packets", "whole packets"),
        weight_value(ramp.w_q, n, "the weight is 2^-n, n from 1 to 16"),
        wred.share_value(ramp, 1 / denominator, "one over a whole number", f"1/{denominator}"),
        Value(name="buffer", wanted=wanted.buffer_bytes / mean, used=wanted.buffer_pkts, unit="packets"),
    ]
    return Written(
        text="\n".join(lines) + "\n",
        values=tuple(values),
        aqm=wred.aqm(
            wanted,
            low=f"{low} packets",
            high=f"{high} packets",
            max_p=1 / denominator,
            w_q=2.0**-n,
            beyond="drop",
        ),
        buffer=f"{wanted.buffer_pkts} packets",
        lost=tuple(lost),
        notes=(
            "all eight precedences are alike, as the scenario has no classes; `shape average` makes the rate",
            "some releases take `random-detect` for `random-detect precedence-based`; line cards may count cells",
        ),
    )
