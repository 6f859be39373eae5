"""VyOS: the policies random-detect, fq-codel and drop-tail.

Facts: vyos-1x's python/vyos/qos (randomdetect.py, base.py) and its documentation. `random-detect`
becomes `gred` with a burst of (2·min + max)/3 packets, so the weight follows from the thresholds
and cannot be chosen; neither can ECN. Not checked on a router; the kernel's side is what `tc` is
tested for.
"""

from __future__ import annotations

from penstock.operators import tc_arithmetic as arithmetic
from penstock.operators import wred
from penstock.operators.model import (
    Codel,
    Place,
    Ramp,
    RefusedError,
    Tail,
    Value,
    Wanted,
    Written,
    bytes_text,
    slug,
    weight_value,
)


def write(wanted: Wanted, place: Place) -> Written:
    """Returns the policy, and the interface that has it."""
    if isinstance(wanted.aqm, Tail):
        return _tail(wanted, place)
    flow_queues = isinstance(wanted.aqm, Codel) and wanted.aqm.flows is not None
    ramp = None if flow_queues else wred.ramp_of(wanted, "vyos", ["fq-codel", "droptail"])
    if wanted.ecn:
        raise RefusedError("vyos: its policies do not mark; --set aqm.ecn=false writes what it can do")
    if ramp is not None:
        return _random_detect(wanted, ramp, place)
    assert isinstance(wanted.aqm, Codel)
    return _fq_codel(wanted, wanted.aqm, place)


def _text(lines: list[str], policy: str, place: Place) -> str:
    lines = [f"set qos policy {policy} {each}" for each in lines]
    return "\n".join([*lines, f"set qos interface {place.dev or 'eth0'} egress {policy.split()[1]}"]) + "\n"


def _random_detect(wanted: Wanted, ramp: Ramp, place: Place) -> Written:
    mean = wanted.mean_packet
    low = max(1, round(ramp.min_bytes / mean))
    high = max(low + 1, round(ramp.max_bytes / mean))
    n = arithmetic.weight_log(low * mean, (2 * low + high) // 3, mean)
    if n is None:
        raise RefusedError(f"min_th = {low} packets: tc finds no weight for the burst that VyOS gives it")
    inverse = max(1, round(1 / ramp.max_p_for("uniform")))
    limit = max(wanted.buffer_pkts, high)
    lost = wred.losses(ramp, False, beyond="drop")
    if ramp.w_q < 2.0**-n:
        lost.append(f"averaging: the weight follows from the thresholds, 2^-{n}, and cannot be chosen")
    lines = [
        f"bandwidth {round(wanted.rate_bps)}bit",
        f"precedence 0 average-packet {mean}",
        f"precedence 0 minimum-threshold {low}",
        f"precedence 0 maximum-threshold {high}",
        f"precedence 0 mark-probability {inverse}",
        f"precedence 0 queue-limit {limit}",
    ]
    used = min(1 / inverse, arithmetic.MOST_PROBABILITY)
    return Written(
        text=_text(lines, f"random-detect {slug(wanted.name)}", place),
        values=(
            *wred.threshold_values(ramp.min_bytes / mean, ramp.max_bytes / mean, low, high, "packets", "whole packets"),
            weight_value(ramp.w_q, n, "tc's weight for a burst of (2·min + max)/3 packets"),
            Value(
                name="max_p",
                wanted=ramp.max_p_for("uniform"),
                used=used,
                shown=f"1/{inverse}",
                why="one over a whole number",
            ),
            Value(name="buffer", wanted=wanted.buffer_bytes / mean, used=limit, unit="packets"),
        ),
        aqm=wred.aqm(
            wanted,
            low=bytes_text(low * mean),
            high=bytes_text(high * mean),
            max_p=used,
            w_q=2.0**-n,
            beyond="drop",
            gate="uniform",
        ),
        buffer=bytes_text(limit * mean),
        lost=tuple(lost),
        notes=("packets of precedence 0 take this queue; the other precedences have thresholds of their own",),
    )


def _fq_codel(wanted: Wanted, wants: Codel, place: Place) -> Written:
    target, interval = (max(1, round(each * 1e3)) for each in (wants.target_s, wants.interval_s))
    limit = min(wants.limit_pkts, wanted.buffer_pkts)
    lost = ["ce_threshold: VyOS has none"] if wants.ce_threshold_s is not None else []
    lines = [
        f"codel-quantum {wants.quantum_bytes}",
        f"flows {wants.flows}",
        f"interval {interval}",
        f"queue-limit {limit}",
        f"target {target}",
    ]
    return Written(
        text=_text(lines, f"fq-codel {slug(wanted.name)}", place),
        values=(
            Value(name="target", wanted=wants.target_s * 1e3, used=target, unit="ms", why="whole milliseconds"),
            Value(name="interval", wanted=wants.interval_s * 1e3, used=interval, unit="ms", why="whole milliseconds"),
            Value(name="buffer", wanted=wanted.buffer_bytes / wanted.mean_packet, used=limit, unit="packets"),
        ),
        aqm={
            "kind": "fq-codel",
            "ecn": False,
            "mean_packet": bytes_text(wanted.mean_packet),
            "target": f"{target} ms",
            "interval": f"{interval} ms",
            "flows": wants.flows,
            "quantum": bytes_text(wants.quantum_bytes),
            "limit": limit,
        },
        buffer=f"{limit} packets",
        lost=tuple(lost),
        notes=("this policy does not shape: the interface itself has to be the bottleneck",),
    )


def _tail(wanted: Wanted, place: Place) -> Written:
    limit = wanted.buffer_pkts
    return Written(
        text=_text([f"queue-limit {limit}"], f"drop-tail {slug(wanted.name)}", place),
        values=(Value(name="buffer", wanted=wanted.buffer_bytes / wanted.mean_packet, used=limit, unit="packets"),),
        aqm={"kind": "droptail", "mean_packet": bytes_text(wanted.mean_packet)},
        buffer=f"{limit} packets",
    )
