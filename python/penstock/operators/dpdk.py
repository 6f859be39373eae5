"""DPDK: rte_red, in the form of the example qos_sched's configuration file.

Facts: DPDK's lib/sched/rte_red.h and the programmer's guide, "Quality of Service (QoS) Framework":
thresholds in packets with min below max and max at most 1023, the weight 2^-n with n from 1 to 12,
one over max_p as a whole number from 1 to 255, no ECN. Its p_a = p_b/(2 − count·p_b) spreads gaps
uniformly on 1…2/p_b: a share of p_b is dropped, and RED with half that max_p and even gaps on
1…1/p_b does the same. tests/test_config_dpdk.py asks Debian's librte_sched.
"""

from __future__ import annotations

from penstock.operators import wred
from penstock.operators.model import Place, RefusedError, Value, Wanted, Written, power_of_two, weight_value

MOST_MAX_TH = 1023
MOST_INVERSE = 255
MOST_EXPONENT = 12


def write(wanted: Wanted, place: Place) -> Written:
    """Returns the section `[red]` for traffic class 0, all colours alike."""
    del place
    if wanted.ecn:
        raise RefusedError("dpdk: rte_red drops, it cannot mark; --set aqm.ecn=false writes what it can do")
    ramp = wred.ramp_of(wanted, "dpdk")
    mean = wanted.mean_packet
    high = max(1, round(ramp.max_bytes / mean))
    if high > MOST_MAX_TH:
        raise RefusedError(f"max_th = {high} packets: rte_red takes at most {MOST_MAX_TH}")
    low = max(0, min(high - 1, round(ramp.min_bytes / mean)))
    inverse = min(MOST_INVERSE, max(1, round(1 / ramp.share())))
    n = power_of_two(ramp.w_q, 1, MOST_EXPONENT)
    rows = {"min": low, "max": high, "inv prob": inverse, "weight": n}
    lines = ["; green yellow red", "[red]"]
    lines += [f"tc 0 wred {key} = {value} {value} {value}" for key, value in rows.items()]
    lost = wred.losses(ramp, False, beyond="drop")
    values = [
        *wred.threshold_values(ramp.min_bytes / mean, ramp.max_bytes / mean, low, high, "packets", "whole packets"),
        weight_value(ramp.w_q, n, "the weight is 2^-n, n from 1 to 12"),
        wred.share_value(ramp, 1 / inverse, "one over a whole number up to 255", f"1/{inverse}"),
        Value(name="buffer", wanted=wanted.buffer_bytes / mean, used=wanted.buffer_pkts, unit="packets"),
    ]
    return Written(
        text="\n".join(lines) + "\n",
        values=tuple(values),
        aqm=wred.aqm(
            wanted,
            low=f"{low} packets",
            high=f"{high} packets",
            max_p=0.5 / inverse,
            w_q=2.0**-n,
            beyond="drop",
            gate="uniform",
        ),
        buffer=f"{wanted.buffer_pkts} packets",
        lost=tuple(lost),
        notes=(f"the queue's size stands elsewhere: rte_sched wants a power of two, at least {wanted.buffer_pkts}",),
    )
