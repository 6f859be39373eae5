"""DPDK: rte_red, in the form of the example qos_sched's configuration file.

Facts: DPDK's lib/sched/rte_red.h and the programmer's guide, "Quality of Service (QoS) Framework":
thresholds in packets with min below max and max at most 1023, the weight 2^-n with n from 1 to 12,
one over max_p as a whole number from 1 to 255, no ECN. The example's reader asks for `tc N red …`
since 21.11, before that for `tc N wred …`, and takes no notice of rows that it does not know; so
both are written. tests/test_config_dpdk.py asks Debian's librte_sched.

What it drops. p_a = p_b/(2 − count·p_b) would spread gaps evenly on 1…2/p_b, so that a share of p_b
is dropped. But the library draws one number of 22 bits for each gap, and compares its rest after
division by D − count·u with u, where u = 2^10·(avg − min) and D = 2^11·(max − min)/max_p. Where D
is above 2^22, every gap is at least (D − 2^22)/u, and the share is smaller: (avg − min)/(2·(max −
min)/max_p − 2048), down to half of what the formula says. That is a straight ramp, too.
"""

from __future__ import annotations

from penstock.operators import wred
from penstock.operators.gates import SHARE
from penstock.operators.model import Place, Ramp, Range, RefusedError, Wanted, Written, exponent, ranges

_HEADER = "DPDK's lib/sched/rte_red.h"
RANGES = ranges(
    Range(name="rte_red min", low=0, high=1022, unit="packets", source=_HEADER),
    Range(name="rte_red max", low=1, high=1023, unit="packets", source=f"{_HEADER}: RTE_RED_MAX_TH_MAX"),
    Range(name="rte_red inv prob", low=1, high=255, source=f"{_HEADER}: RTE_RED_MAXP_INV_MAX"),
    Range(name="rte_red weight", low=1, high=12, source=f"{_HEADER}: RTE_RED_WQ_LOG2_MAX"),
)
#: Packets of the ramp times the inverse probability up to which the random number has enough
#: digits: 2^22/2^11.
DIGITS = 2048
#: From here on gaps begin at a third of the longest or later, and ns-2's gate is nearer than even
#: gaps.
LATE = 1.5 * DIGITS


def write(wanted: Wanted, place: Place) -> Written:
    """Returns the section `[red]` for traffic class 0, all colours alike."""
    if place.dev is not None:
        raise RefusedError(f"--dev {place.dev!a}: dpdk's file names no interface")
    ramp = wred.ramp_of(wanted, "dpdk")
    if wanted.ecn:
        raise RefusedError("dpdk: rte_red drops, it cannot mark; --set aqm.ecn=false writes what it can do")
    mean = wanted.mean_packet
    RANGES["rte_red max"].check("max_th", max(1.0, ramp.max_bytes / mean))
    low, high, thresholds = wred.thresholds(
        (ramp.min_bytes / mean, ramp.max_bytes / mean), (RANGES["rte_red min"], RANGES["rte_red max"]), "whole packets"
    )
    takes = RANGES["rte_red inv prob"]
    inverse = min(range(takes.low, takes.high + 1), key=lambda each: abs(share(each, high - low) - ramp.share()))
    used = share(inverse, high - low)
    late = inverse * (high - low) > LATE
    n, weight = exponent(ramp.w_q, RANGES["rte_red weight"])
    rows = {"min": low, "max": high, "inv prob": inverse, "weight": n}
    lines = ["; green yellow red", "[red]"]
    for word, releases in (("red", "since DPDK 21.11"), ("wred", "before")):
        lines += [f"; {releases}"]
        lines += [f"tc 0 {word} {key} = {value} {value} {value}" for key, value in rows.items()]
    return Written(
        text="\n".join(lines) + "\n",
        values=(
            *thresholds,
            weight,
            wred.share_value(ramp, used, _why(ramp, inverse, high - low), f"inv prob {inverse}"),
        ),
        aqm=wred.aqm(
            wanted,
            low=f"{low} packets",
            high=f"{high} packets",
            max_p=min(1.0, used / SHARE["wait" if late else "uniform"]),
            w_q=2.0**-n,
            beyond="drop",
            gate="wait" if late else "uniform",
        ),
        buffer=f"{wanted.buffer_pkts} packets",
        lost=tuple(wred.losses(ramp, False, beyond="drop")),
        notes=(f"the queue's size stands elsewhere: rte_sched wants a power of two, at least {wanted.buffer_pkts}",),
    )


def share(inverse: int, packets: int) -> float:
    """Returns the share of packets that is dropped at the end of a ramp over so many packets.

    >>> share(10, 200), share(50, 200)
    (0.1, 0.011140819964349376)
    """
    return 1 / inverse if inverse * packets <= DIGITS else 1 / (2 * inverse - DIGITS / packets)


def _why(ramp: Ramp, inverse: int, packets: int) -> str:
    takes = RANGES["rte_red inv prob"]
    if inverse == takes.high and ramp.share() < share(inverse, packets):
        return takes.said
    if inverse * packets <= DIGITS:
        return "one over a whole number"
    return "its random number has 22 bits, too few for so long and flat a ramp: it drops less than 1/inv"
