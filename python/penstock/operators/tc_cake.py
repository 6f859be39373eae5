"""Writes `cake`: as the scenario has it, or as the nearest to FQ-CoDel.

Sources: iproute2's tc/q_cake.c, Linux's net/sched/sch_cake.c.
"""

from __future__ import annotations

from penstock.operators.model import Cake, Codel, Framing, Value, Wanted, bytes_text
from penstock.operators.tc_delays import (
    BOOKED,
    FRAME_MEMORY,
    asked_limit,
    booked,
    no_threshold,
    packet_overhead,
    rate_value,
)
from penstock.operators.tc_line import FRAME, RANGES, Line

#: tc's words for the tins and for what has a queue.
TINS = ("besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence")
ISOLATION = ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate")


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


def as_fq_codel(wanted: Wanted) -> Line:
    """Writes sch_cake with one tin: the nearest that it comes to FQ-CoDel."""
    wants = wanted.aqm
    assert isinstance(wants, Codel)
    rtt = RANGES["cake rtt"]
    rate = RANGES["cake bandwidth"].fit(wanted.rate_bps)
    told = rtt.fit(cake_rtt_us(wants.interval_s, rate))
    target_ns, interval_ns = cake_times_us(told, rate)
    quantum = max(min(rate // 8 >> 12, FRAME), 300)
    asked = asked_limit(wanted, wants)
    room = RANGES["cake memlimit"]
    needed = max(1, round(asked)) * FRAME_MEMORY
    memory = room.fit(min(needed, needed if wants.memory_bytes is None else wants.memory_bytes))
    limit = max(1, memory // FRAME_MEMORY)
    counts = f"CAKE counts memory, of which a full frame takes about {FRAME_MEMORY} B"
    twentieth = "a twentieth of rtt, at least one and a half frames' time"
    values = (
        Value(name="target", wanted=wants.target_s * 1e3, used=target_ns / 1e6, unit="ms", why=twentieth),
        Value(
            name="interval",
            wanted=wants.interval_s * 1e3,
            used=interval_ns / 1e6,
            unit="ms",
            why=rtt.why(wants.interval_s * 1e6, "rtt, and what the target has grown by"),
        ),
        Value(name="flows", wanted=wants.flows or 1024, used=1024, why="built in"),
        Value(name="drop_batch", wanted=wants.drop_batch, used=1, unit="packets", why="CAKE drops one by one"),
        *booked(wants, max(1, round(asked))),
        Value(name="quantum", wanted=wants.quantum_bytes, used=quantum, unit="B", why="follows from the rate"),
        Value(name="buffer", wanted=asked, used=limit, unit="packets", why=room.why(asked * FRAME_MEMORY, counts)),
        *rate_value("cake bandwidth", wanted.rate_bps, rate),
    )
    return Line(
        qdisc="cake",
        arguments=(_words(f"{rate}bit", told, "besteffort", "flows", wanted.framing, memory),),
        values=values,
        aqm={
            "kind": "fq-codel",
            "ecn": True,
            "mean_packet": bytes_text(wanted.mean_packet),
            "target": f"{target_ns / 1e3:.10g} us",
            "interval": f"{interval_ns / 1e3:.10g} us",
            "flows": 1024,
            "quantum": bytes_text(quantum),
            "drop_batch": 1,
            "limit": min(1_000_000, limit),
        },
        buffer=f"{limit} packets",
        readback=_reports(rate, told, "besteffort", "flows", wanted.framing, memory),
        tins=({"target_us": target_ns // 1000, "interval_us": interval_ns // 1000},),
        lost=tuple(_lost(wanted, wants)),
        shapes=True,
        notes=(_MAKES_THE_RATE,),
    )


def cake(wanted: Wanted) -> Line:
    """Writes sch_cake as the scenario has it."""
    wants = wanted.aqm
    assert isinstance(wants, Cake)
    rtt = RANGES["cake rtt"].value("rtt", wants.rtt_s * 1e6, "whole microseconds")
    rate = None if wants.unlimited else RANGES["cake bandwidth"].fit(wanted.rate_bps)
    # What the kernel books of a packet is more than its bytes: the buffer's packets are full frames.
    asked = min(wants.memory_bytes, wanted.buffer_bytes / wanted.mean_packet * FRAME_MEMORY)
    memory = RANGES["cake memlimit"].value("memory_limit", asked)
    used = int(memory.used)
    framing = None if wants.unlimited else wanted.framing
    told = (int(rtt.used), wants.tins, wants.isolation, framing, used)
    return Line(
        qdisc="cake",
        arguments=(_words("unlimited" if rate is None else f"{rate}bit", *told),),
        values=(
            *(rtt, memory, packet_overhead(wants.booked_bytes)),
            *(() if rate is None else rate_value("cake bandwidth", wanted.rate_bps, rate)),
        ),
        aqm={
            "kind": "cake",
            "mean_packet": bytes_text(wanted.mean_packet),
            "tins": wants.tins,
            "isolation": wants.isolation,
            "rtt": f"{told[0]} us",
            "unlimited": wants.unlimited,
            "memory_limit": bytes_text(used),
            "packet_overhead": bytes_text(BOOKED),
        },
        buffer=f"{packets_of(used)} packets",
        readback=_reports(rate, *told),
        lost=() if wanted.ecn else (_NO_ECN,),
        shapes=rate is not None,
        notes=() if rate is None else (_MAKES_THE_RATE,),
    )


def packets_of(memory: int) -> int:
    """Returns a number of packets above which memory is the limit in any case."""
    return min(10**9, max(1, memory // BOOKED))


def _words(bandwidth: str, rtt_us: int, tins: str, isolation: str, framing: Framing | None, memory: int) -> str:
    """Returns tc's words for all that sch_cake takes."""
    shape = f"bandwidth {bandwidth}" if bandwidth != "unlimited" else bandwidth
    counted = "raw"
    if framing is not None and framing != _HEADER_ALONE:
        counted = f"{_CELLS[framing.cells]} overhead {framing.overhead} mpu {framing.mpu}"
    return f"{shape} rtt {rtt_us}us {tins} {isolation} nonat nowash no-ack-filter split-gso {counted} memlimit {memory}"


#: What `raw` counts: the packet as the interface has it.
_HEADER_ALONE = Framing(overhead=14, mpu=0, cells="none")
_CELLS = {"none": "noatm", "atm": "atm", "ptm": "ptm"}


def _reports(
    rate: int | None, rtt_us: int, tins: str, isolation: str, framing: Framing | None, memory: int
) -> dict[str, object]:
    """Returns what sch_cake reports of such a line, in its order."""
    told: dict[str, object] = {"raw": True, "overhead": 0}
    if framing is not None and framing != _HEADER_ALONE:
        mpu = {"mpu": framing.mpu} if framing.mpu else {}
        told = {"raw": False, "atm": _CELLS[framing.cells], "overhead": framing.overhead, **mpu}
    return {
        "bandwidth": "unlimited" if rate is None else rate // 8,
        "diffserv": tins,
        "flowmode": isolation,
        "nat": False,
        "wash": False,
        "ingress": False,
        "ack-filter": "disabled",
        "split_gso": True,
        "rtt": rtt_us,
        **told,
        "memlimit": memory,
        "fwmark": "0",
    }


_MAKES_THE_RATE = "CAKE makes the rate itself: give it a little less than the line's"
_NO_ECN = "no ECN: CAKE always marks capable packets"


def _lost(wanted: Wanted, wants: Codel) -> list[str]:
    """Returns what FQ-CoDel has and CAKE has not."""
    cobalt = "CoDel alone: CAKE's drops come from COBALT, which is CoDel with BLUE for full queues"
    lost = [f"{cobalt}, and has no {', '.join(('maxpacket', 'variant', *wants.form))}"]
    if not wanted.ecn:
        lost.append(_NO_ECN)
    return [*lost, *no_threshold(wants, "CAKE")]
