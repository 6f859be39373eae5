"""What goes by the time in the queue: `codel`, `fq_codel`, `pie`, `cake`; and the plain queues.

Sources: iproute2's tc/q_*.c, Linux's net/sched/sch_*.c, include/net/codel.h and pie.h.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from penstock.operators.model import Codel, Pie, Tail, Value, Wanted, bytes_text
from penstock.operators.tc_line import FRAME, Line

#: Timer interrupts a second of Debian's kernels; others have 100, 300 or 1000. PIE's period is
#: whole ones.
HZ = 250
#: What the kernel's PIE has built in (net/sched/sch_pie.c, include/net/pie.h).
PIE_MAX_BURST_S, PIE_MARK_ECNTH, PIE_HIGH_DELAY_S, PIE_DQ_THRESHOLD = 0.15, 0.1, 0.25, 16384
#: PIE's gains are whole sixteenths, at most two.
PIE_GAIN, PIE_MOST = 16, 32
#: Memory that the kernel books for a full frame, about.
FRAME_MEMORY = 2304


def codel_ticks(microseconds: int) -> int:
    """Returns a time in CoDel's units of 1024 ns, as the kernel rounds it down."""
    return microseconds * 1000 >> 10


def codel_reported(microseconds: int) -> int:
    """Returns the microseconds that the kernel reports for a time that it was given.

    >>> codel_reported(5000)
    4999
    """
    return (codel_ticks(microseconds) << 10) // 1000


def _codel_time(name: str, wanted_s: float) -> tuple[int, Value]:
    told = max(1, round(wanted_s * 1e6))
    used = (codel_ticks(told) << 10) / 1e6
    why = "the kernel's CoDel counts time in units of 1024 ns"
    return told, Value(name=name, wanted=wanted_s * 1e3, used=used, unit="ms", why=why)


def _seconds_text(milliseconds: float) -> str:
    return f"{milliseconds * 1e3:.10g} us"


def codel(wanted: Wanted) -> Line:
    """sch_codel and sch_fq_codel."""
    wants = wanted.aqm
    assert isinstance(wants, Codel)
    target, target_value = _codel_time("target", wants.target_s)
    interval, interval_value = _codel_time("interval", wants.interval_s)
    limit = min(wants.limit_pkts, wanted.buffer_pkts) if wants.flows else wanted.buffer_pkts
    values = [target_value, interval_value]
    readback: dict[str, Any] = {"limit": limit, "ecn": wanted.ecn}
    readback |= {"target": codel_reported(target), "interval": codel_reported(interval)}
    arguments = f"limit {limit} target {target}us interval {interval}us"
    aqm: dict[str, Any] = {"kind": wants.kind, "ecn": wanted.ecn, "mean_packet": bytes_text(wanted.mean_packet)}
    aqm |= {"target": _seconds_text(target_value.used), "interval": _seconds_text(interval_value.used)}
    if wants.flows:
        quantum = max(256, wants.quantum_bytes)
        arguments += f" flows {wants.flows} quantum {quantum} drop_batch {wants.drop_batch}"
        readback |= {"flows": wants.flows, "quantum": quantum, "drop_batch": wants.drop_batch}
        aqm |= {"flows": wants.flows, "quantum": bytes_text(quantum), "drop_batch": wants.drop_batch, "limit": limit}
        values.append(Value(name="quantum", wanted=wants.quantum_bytes, used=quantum, unit="B", why="256 B at least"))
        if wants.ce_threshold_s is not None:
            told, value = _codel_time("ce_threshold", wants.ce_threshold_s)
            arguments += f" ce_threshold {told}us"
            readback["ce_threshold"] = codel_reported(told)
            aqm["ce_threshold"] = _seconds_text(value.used)
            values.append(value)
    aqm["maxpacket"] = f"{FRAME} B"
    values.append(Value(name="buffer", wanted=wanted.buffer_bytes / wanted.mean_packet, used=limit, unit="packets"))
    return Line(
        qdisc="fq_codel" if wants.flows else "codel",
        arguments=(f"{arguments} {'ecn' if wanted.ecn else 'noecn'}",),
        values=tuple(values),
        aqm=aqm,
        buffer=f"{limit} packets",
        readback=readback,
    )


def pie_reported(microseconds: int) -> int:
    """Returns the microseconds that the kernel's PIE reports for a time: it counts ticks of 64
    ns.
    """
    return (microseconds * 1000 >> 6 << 6) // 1000


def pie(wanted: Wanted) -> Line:
    """sch_pie."""
    wants = wanted.aqm
    assert isinstance(wants, Pie)
    target, period = (max(1, round(each * 1e6)) for each in (wants.target_s, wants.t_update_s))
    target_used = (target * 1000 >> 6 << 6) / 1e6
    period_used = math.ceil(period / (1e6 / HZ)) * 1e3 / HZ
    gains = {name: min(PIE_MOST, round(getattr(wants, name) * PIE_GAIN)) for name in ("alpha", "beta")}
    words = [f"limit {wanted.buffer_pkts} target {target}us tupdate {period}us"]
    words += [f"alpha {gains['alpha']} beta {gains['beta']}", "ecn" if wanted.ecn else "noecn", "nobytemode"]
    words += ["dq_rate_estimator"] if wants.rate_estimate else ["no_dq_rate_estimator"]
    values = _pie_values(wanted, wants, (target_used, period_used), gains)
    aqm = {
        "kind": "pie",
        "ecn": wanted.ecn,
        "mean_packet": bytes_text(wanted.mean_packet),
        "qdelay_ref": _seconds_text(target_used),
        "t_update": _seconds_text(period_used),
        "alpha": gains["alpha"] / PIE_GAIN,
        "beta": gains["beta"] / PIE_GAIN,
        "max_burst": f"{PIE_MAX_BURST_S} s",
        "mark_ecnth": PIE_MARK_ECNTH,
        "high_delay": f"{PIE_HIGH_DELAY_S} s",
        "delay_from": "rate-estimate" if wants.rate_estimate else "timestamps",
        "dq_threshold": f"{PIE_DQ_THRESHOLD} B",
        "derandomize": True,
    }
    readback = {
        "limit": wanted.buffer_pkts,
        "target": pie_reported(target),
        "tupdate": math.ceil(period / (1e6 / HZ)) * 1_000_000 // HZ,
        "alpha": gains["alpha"],
        "beta": gains["beta"],
        "ecn": wanted.ecn,
    }
    lost = () if wants.derandomize else ("derandomize: the kernel always spreads its drops (RFC 8033, section 5.4)",)
    return Line(
        qdisc="pie",
        arguments=(" ".join(words),),
        values=tuple(values),
        aqm=aqm,
        buffer=f"{wanted.buffer_pkts} packets",
        readback=readback,
        lost=lost,
    )


def _pie_values(wanted: Wanted, wants: Pie, used_s: tuple[float, float], gains: Mapping[str, int]) -> list[Value]:
    """What becomes of each value."""
    target_used, period_used = used_s
    why = f"the kernel's timer ticks {HZ} times a second (CONFIG_HZ={HZ}; with another CONFIG_HZ another period)"
    built_in = "built into the kernel"
    sixteenths = f"whole sixteenths, at most {PIE_MOST // PIE_GAIN}"
    values = [
        Value(name="qdelay_ref", wanted=wants.target_s * 1e3, used=target_used, unit="ms", why="ticks of 64 ns"),
        Value(name="t_update", wanted=wants.t_update_s * 1e3, used=period_used, unit="ms", why=why),
        *(
            Value(name=name, wanted=getattr(wants, name), used=n / PIE_GAIN, shown=f"{n}/{PIE_GAIN}", why=sixteenths)
            for name, n in gains.items()
        ),
        Value(name="max_burst", wanted=wants.max_burst_s * 1e3, used=PIE_MAX_BURST_S * 1e3, unit="ms", why=built_in),
        Value(name="high_delay", wanted=wants.high_delay_s * 1e3, used=PIE_HIGH_DELAY_S * 1e3, unit="ms", why=built_in),
        Value(name="buffer", wanted=wanted.buffer_bytes / wanted.mean_packet, used=wanted.buffer_pkts, unit="packets"),
    ]
    if wanted.ecn:
        values.append(Value(name="mark_ecnth", wanted=wants.mark_ecnth, used=PIE_MARK_ECNTH, why=built_in))
    if wants.rate_estimate:
        values.append(
            Value(name="dq_threshold", wanted=wants.dq_threshold_bytes, used=PIE_DQ_THRESHOLD, unit="B", why=built_in)
        )
    return values


def cake_times_us(interval_us: int, rate_bps: float) -> tuple[int, int]:
    """Returns target and interval in nanoseconds, as sch_cake makes them of `rtt` and the rate
    (cake_set_rate).

    The target is a twentieth of the interval, but at least one and a half frames' time on the link.
    """
    target = max(1, interval_us // 20) * 1000
    rate = max(64, round(rate_bps) // 8)
    # The kernel keeps the time of a byte with as many binary digits as fit.
    shift, per_byte = 34, (10**9 << 34) // rate
    while per_byte >> 34:
        per_byte, shift = per_byte >> 1, shift - 1
    frame = FRAME * per_byte >> shift
    used = max(frame * 3 // 2, target)
    return used, max(interval_us * 1000 + used - target, 2 * used)


def cake_rtt_us(interval_s: float, rate_bps: float) -> int:
    """Returns the `rtt` from which sch_cake makes an interval, or the nearest: on a slow link the
    interval is longer than `rtt` by what the target is longer.

    >>> cake_rtt_us(0.1, 1e9), cake_rtt_us(0.11785283, 795e3)
    (100000, 100000)
    """
    asked = interval_s * 1e6
    least_target = cake_times_us(20, rate_bps)[0] / 1e3
    return max(20, round(asked if asked >= 20 * least_target else (asked - least_target) / 0.95))


def cake(wanted: Wanted) -> Line:
    """sch_cake with one tin: the nearest that it comes to FQ-CoDel."""
    wants = wanted.aqm
    assert isinstance(wants, Codel)
    told = cake_rtt_us(wants.interval_s, wanted.rate_bps)
    target_ns, interval_ns = cake_times_us(told, wanted.rate_bps)
    bytes_per_s = round(wanted.rate_bps) // 8
    quantum = max(min(bytes_per_s >> 12, FRAME), 300)
    limit = min(wants.limit_pkts or wanted.buffer_pkts, wanted.buffer_pkts)
    memory = min(2**32 - 1, limit * FRAME_MEMORY)
    values = (
        Value(
            name="target",
            wanted=wants.target_s * 1e3,
            used=target_ns / 1e6,
            unit="ms",
            why="a twentieth of rtt, at least one and a half frames' time",
        ),
        Value(name="interval", wanted=wants.interval_s * 1e3, used=interval_ns / 1e6, unit="ms"),
        Value(name="flows", wanted=wants.flows or 1024, used=1024, why="built in"),
        Value(name="quantum", wanted=wants.quantum_bytes, used=quantum, unit="B", why="follows from the rate"),
        Value(
            name="buffer",
            wanted=limit,
            used=memory // FRAME_MEMORY,
            unit="packets",
            why=f"CAKE counts memory, of which a full frame takes about {FRAME_MEMORY} B",
        ),
    )
    rate = round(wanted.rate_bps)
    return Line(
        qdisc="cake",
        arguments=(
            f"bandwidth {rate}bit rtt {told}us besteffort flows nonat nowash no-ack-filter split-gso raw "
            f"memlimit {memory}",
        ),
        values=values,
        aqm={
            "kind": "fq-codel",
            "ecn": True,
            "mean_packet": bytes_text(wanted.mean_packet),
            "target": f"{target_ns / 1e3:.10g} us",
            "interval": f"{interval_ns / 1e3:.10g} us",
            "flows": 1024,
            "quantum": bytes_text(quantum),
            "limit": limit,
        },
        buffer=f"{limit} packets",
        readback={
            "bandwidth": bytes_per_s,
            "rtt": told,
            "memlimit": memory,
            "target_us": target_ns // 1000,
            "interval_us": interval_ns // 1000,
        },
        lost=tuple(_cake_lost(wanted, wants)),
        notes=("CAKE makes the rate itself: give it a little less than the line's",),
    )


def _cake_lost(wanted: Wanted, wants: Codel) -> list[str]:
    """What FQ-CoDel has and CAKE has not."""
    lost = ["CoDel alone: CAKE's drops come from COBALT, which is CoDel with BLUE for full queues"]
    if not wanted.ecn:
        lost.append("no ECN: CAKE always marks capable packets")
    if wants.ce_threshold_s is not None:
        lost.append("ce_threshold: CAKE has none")
    return lost


def tail(wanted: Wanted) -> Line:
    """A plain queue."""
    assert isinstance(wanted.aqm, Tail)
    counted = wanted.buffer_counted
    qdisc = "bfifo" if counted else "pfifo"
    limit = max(1, round(wanted.buffer_bytes)) if counted else wanted.buffer_pkts
    asked = wanted.buffer_bytes if counted else wanted.buffer_bytes / wanted.mean_packet
    unit = "B" if counted else "packets"
    return Line(
        qdisc=qdisc,
        arguments=(f"limit {limit}",),
        values=(Value(name="buffer", wanted=asked, used=limit, unit=unit),),
        aqm={"kind": "droptail", "mean_packet": bytes_text(wanted.mean_packet)},
        buffer=f"{limit} {unit}",
        readback={"limit": limit},
    )
