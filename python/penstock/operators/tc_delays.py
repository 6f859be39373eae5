"""Writes what goes by the time in the queue: `codel`, `fq_codel`; and the plain queues.

Sources: iproute2's tc/q_*.c, Linux's net/sched/sch_*.c and include/net/codel.h.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.operators.model import Codel, Framing, Pie, Tail, Value, Wanted, bytes_text
from penstock.operators.tc_arithmetic import TICKS_PER_US
from penstock.operators.tc_line import FRAME, RANGES, Line

#: Timer interrupts a second of Debian's kernels; others have 100, 300 or 1000. PIE's period is
#: whole ones.
HZ = 250
#: Memory that the kernel books for a full frame, about.
FRAME_MEMORY = 2304
#: What of that is not the frame's own.
BOOKED = FRAME_MEMORY - FRAME
#: fq_codel's memory, where it is not told (net/sched/sch_fq_codel.c: 32 MB).
MEMORY_LIMIT = 32 << 20


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
    takes = RANGES[f"codel {name}"]
    told = takes.fit(wanted_s * 1e6)
    used = (codel_ticks(told) << 10) / 1e6
    why = takes.why(wanted_s * 1e6, "the kernel's CoDel counts time in units of 1024 ns")
    return told, Value(name=name, wanted=wanted_s * 1e3, used=used, unit="ms", why=why)


def seconds_text(milliseconds: float) -> str:
    """Returns a time in microseconds, with its unit."""
    return f"{milliseconds * 1e3:.10g} us"


def asked_limit(wanted: Wanted, wants: Codel | Pie) -> float:
    """Returns the packets that may wait: those of the buffer, or the own limit of flow queues."""
    room = wanted.buffer_bytes / wanted.mean_packet
    return room if wants.flows is None else min(wants.limit_pkts, room)


def memory_told(wants: Codel, limit: int) -> int:
    """Returns fq_codel's memory_limit: as asked for, else its default, or more where that would not hold
    so many full frames.
    """
    asked = max(MEMORY_LIMIT, limit * FRAME_MEMORY) if wants.memory_bytes is None else wants.memory_bytes
    return RANGES["fq_codel memory_limit"].fit(asked)


def queue_words(wants: Codel, limit: int) -> dict[str, str]:
    """Returns fq_codel's words for its queues and their memory, which is left out where it is the default."""
    asked = {"flows": wants.flows or 0, "quantum": wants.quantum_bytes, "drop_batch": wants.drop_batch}
    words = {key: str(RANGES[f"fq_codel {key}"].fit(number)) for key, number in asked.items()}
    memory = memory_told(wants, limit)
    return words if memory == MEMORY_LIMIT else {**words, "memory_limit": str(memory)}


def threshold_words(wants: Codel) -> dict[str, str]:
    """Returns CoDel's words for the threshold of its marks, and for the packets that it holds for."""
    if wants.ce_threshold_s is None:
        return {}
    words = {"ce_threshold": f"{RANGES['codel ce_threshold'].fit(wants.ce_threshold_s * 1e6)}us"}
    selector, mask = wants.ce_selector
    return {**words, "ce_threshold_selector": f"{selector:#x}/{mask:#x}"} if mask else words


def booked(wants: Codel, limit: int) -> tuple[Value, ...]:
    """Returns what a packet takes of the memory beside its own bytes, where the scenario says so, or has
    a memory that may be used up before so many full frames wait.
    """
    scarce = wants.memory_bytes is not None and wants.memory_bytes < limit * FRAME_MEMORY
    if wants.booked_bytes in (0, BOOKED) and not scarce:
        return ()
    return (packet_overhead(wants.booked_bytes),)


def packet_overhead(asked: int) -> Value:
    """Returns what a packet takes of the memory beside its own bytes."""
    why = "the kernel counts the memory of a packet"
    return Value(name="packet_overhead", wanted=asked, used=BOOKED, unit="B", why=why)


def no_threshold(wants: Codel, box: str) -> tuple[str, ...]:
    """Returns what is lost of the threshold of marks where a box has none."""
    selector = ", ce_selector, ce_mask" if wants.ce_selector[1] else ""
    return () if wants.ce_threshold_s is None else (f"ce_threshold{selector}: {box} has none",)


def codel(wanted: Wanted) -> Line:
    """Writes sch_codel and sch_fq_codel."""
    wants = wanted.aqm
    assert isinstance(wants, Codel)
    target, target_value = _codel_time("target", wants.target_s)
    interval, interval_value = _codel_time("interval", wants.interval_s)
    buffer = RANGES["codel limit"].value("buffer", asked_limit(wanted, wants), "whole packets")
    limit = int(buffer.used)
    values = [target_value, interval_value]
    readback: dict[str, Any] = {"limit": limit}
    readback |= {"target": codel_reported(target), "interval": codel_reported(interval)}
    readback |= {"ecn": True} if wanted.ecn else {}
    arguments = f"limit {limit} target {target}us interval {interval}us"
    aqm: dict[str, Any] = {"kind": wants.kind, "variant": "linux", "ecn": wanted.ecn}
    aqm |= {"mean_packet": bytes_text(wanted.mean_packet)}
    aqm |= {"target": seconds_text(target_value.used), "interval": seconds_text(interval_value.used)}
    if wants.flows is not None:
        flows = RANGES["fq_codel flows"].value("flows", wants.flows)
        quantum = RANGES["fq_codel quantum"].value("quantum", wants.quantum_bytes)
        batch = RANGES["fq_codel drop_batch"].value("drop_batch", wants.drop_batch)
        numbers = {"flows": int(flows.used), "quantum": int(quantum.used), "drop_batch": int(batch.used)}
        memory = memory_told(wants, limit)
        if wants.memory_bytes is not None:
            limits = RANGES["fq_codel memory_limit"].value("memory_limit", wants.memory_bytes)
            values += [limits] if limits.error or memory != MEMORY_LIMIT else []
        elif memory < limit * FRAME_MEMORY:
            why = f"{RANGES['fq_codel memory_limit'].said}, and a full frame takes about {FRAME_MEMORY} B"
            buffer = replace(buffer, used=memory // FRAME_MEMORY, why=why)
        arguments += "".join(f" {key} {word}" for key, word in queue_words(wants, limit).items())
        readback |= numbers | {"memory_limit": memory}
        aqm |= numbers | {"quantum": bytes_text(quantum.used), "limit": int(buffer.used)}
        aqm |= {"memory_limit": bytes_text(memory), "packet_overhead": bytes_text(BOOKED)}
        values += booked(wants, limit)
        # What is as it was asked for, and rarely chosen, needs no line of its own.
        values += [*([flows] if flows.error else []), quantum, *([batch] if batch.error else [])]
    if wants.ce_threshold_s is not None:
        threshold, value = _codel_time("ce_threshold", wants.ce_threshold_s)
        arguments += "".join(f" {key} {word}" for key, word in threshold_words(wants).items())
        readback["ce_threshold"] = codel_reported(threshold)
        aqm["ce_threshold"] = seconds_text(value.used)
        values.append(value)
        selector, mask = wants.ce_selector
        if mask:
            readback |= {"ce_threshold_selector": selector, "ce_threshold_mask": mask}
            aqm |= {"ce_selector": selector, "ce_mask": mask}
    aqm["maxpacket"] = f"{FRAME} B"
    values += [maxpacket(wants), buffer]
    return Line(
        qdisc="fq_codel" if wants.flows is not None else "codel",
        arguments=(f"{arguments} {'ecn' if wanted.ecn else 'noecn'}",),
        values=tuple(values),
        aqm=aqm,
        buffer=f"{int(buffer.used)} packets",
        readback=readback,
        lost=wants.others,
    )


def maxpacket(wants: Codel) -> Value:
    """Returns what may always wait behind: the kernel takes the largest packet that it has sent."""
    why = "the largest frame that it has sent"
    return Value(name="maxpacket", wanted=wants.maxpacket_bytes, used=FRAME, unit="B", why=why)


def rate_value(name: str, wanted_bps: float, told: int) -> tuple[Value, ...]:
    """Returns a rate where it is not the wanted one; tc keeps whole bytes per second."""
    used = 8 * (told // 8)
    why = RANGES[name].why(wanted_bps, "whole bytes per second")
    return (Value(name="rate", wanted=wanted_bps, used=used, unit="bit/s", why=why),) if used != wanted_bps else ()


def shaper(wanted: Wanted) -> Line:
    """Writes sch_tbf above a queue: a bucket of two frames, or of what a tick of the timer lets through."""
    rate = RANGES["tbf rate"].fit(wanted.rate_bps)
    words, counted, lost = _tbf_framing(wanted.framing)
    burst = max(2 * FRAME, math.ceil(rate / 8 / HZ))
    limit = RANGES["tbf limit"].fit(wanted.buffer_bytes)
    bytes_per_s = rate // 8
    # The kernel has the bucket as nanoseconds and reports ticks of 64; tc makes whole microseconds
    # of them, and of those bytes. The bucket is framed like a packet.
    bucket_us = int((_sending_ns(_tbf_counts(burst, counted), bytes_per_s) >> 6) / TICKS_PER_US)
    waits_us = 1e6 * limit / bytes_per_s - bucket_us
    return Line(
        qdisc="tbf",
        arguments=(f"rate {rate}bit burst {burst} limit {limit}{words}",),
        values=rate_value("tbf rate", wanted.rate_bps, rate),
        aqm={},
        buffer="",
        readback={
            "rate": bytes_per_s,
            "burst": f"{int(bytes_per_s * bucket_us / 1e6)}b/1",
            "mpu": 0,
            **({"lat": int(waits_us)} if waits_us >= 0 else {"limit": limit}),
            "linklayer": "ethernet",
            **counted,
        },
        lost=lost,
        notes=(HEADER_COUNTS,) if words else (),
    )


#: The bytes of an Ethernet header, which the kernel's shapers count without being told.
HEADER = 14
HEADER_COUNTS = (
    f"the kernel counts an Ethernet header of {HEADER} B by itself, and overhead is the rest; on an interface without "
    f"one, such as ppp0, it is {HEADER} more"
)


def _sending_ns(size: int, bytes_per_s: int) -> int:
    """Returns the time of so many bytes as the kernel reckons it, with 32 binary digits of a byte's time
    (Linux, net/sched/sch_generic.c: psched_ratecfg_precompute).

    >>> _sending_ns(4650, 1_162_500), _sending_ns(5000, 1_250_000)
    (3999999, 4000000)
    """
    factor, shift = 10**9, 0
    while factor // bytes_per_s < 2**31 and factor < 2**63:
        factor, shift = factor << 1, shift + 1
    return size * (factor // bytes_per_s) >> shift


def _tbf_counts(size: int, told: Mapping[str, object]) -> int:
    """Returns the bytes that a size takes, as tbf reports its framing."""
    framed = size + int(str(told.get("overhead", 0)))
    return -(-framed // 48) * 53 if told.get("linklayer") == "atm" else framed


def _tbf_framing(framing: Framing | None) -> tuple[str, dict[str, object], tuple[str, ...]]:
    """Returns tbf's words for what the rate counts of a packet, what it reports of them, and what it
    cannot count (Linux, include/net/sch_generic.h: psched_l2t_ns).
    """
    if framing is None:
        return "", {}, ()
    lost = []
    if framing.overhead < HEADER:
        lost.append(f"overhead = '{framing.overhead} B': tbf counts the {HEADER} B of an Ethernet header at least")
    overhead = max(0, framing.overhead - HEADER)
    if framing.cells == "ptm":
        lost.append("framing = 'ptm': tbf counts no PTM; CAKE does, and a rate of 64/65 makes up for it here")
    words, told = "", {"mpu": framing.mpu, "linklayer": "ethernet"}
    if overhead:
        words, told = f" overhead {overhead}", {**told, "overhead": overhead}
    if framing.mpu:
        words += f" mpu {framing.mpu}"
    if framing.cells == "atm":
        words, told = f"{words} linklayer atm", {**told, "linklayer": "atm"}
    return words, told, tuple(lost)


def tail(wanted: Wanted) -> Line:
    """Returns a plain queue."""
    assert isinstance(wanted.aqm, Tail)
    counted = wanted.buffer_counted
    qdisc = "bfifo" if counted else "pfifo"
    asked = wanted.buffer_bytes if counted else wanted.buffer_bytes / wanted.mean_packet
    unit = "B" if counted else "packets"
    buffer = RANGES[f"{qdisc} limit"].value("buffer", asked, f"whole {'bytes' if counted else unit}")
    limit = int(buffer.used)
    return Line(
        qdisc=qdisc,
        arguments=(f"limit {limit}",),
        values=(buffer,),
        aqm={"kind": "droptail", "mean_packet": bytes_text(wanted.mean_packet)},
        buffer=f"{limit} {unit}",
        readback={"limit": limit},
    )
