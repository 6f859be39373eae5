"""VyOS: the policies random-detect, fq-codel and drop-tail.

Facts: vyos-1x (October 2024): the ranges of interface-definitions/include/qos/*.xml.i, the checks of
src/conf_mode/qos.py, and what python/vyos/qos makes of the values (randomdetect.py, fqcodel.py,
droptail.py, base.py). `random-detect` becomes `gred` with a burst of (2·min + max)/3 packets, so
the weight follows from the thresholds and cannot be chosen; neither can ECN. Since its pull request
3400 nothing sorts packets into the eight queues, one for each precedence, and all take queue 0. The
kernel cuts that queue to what the interface may hold, txqueuelen · (MTU + 14 B). Not checked on a
router; tests/test_config_kernel.py gives the kernel below it the commands that VyOS makes of the
text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.operators import coloured, wred
from penstock.operators import tc_arithmetic as arithmetic
from penstock.operators.model import (
    LINUX,
    Codel,
    Coloured,
    Place,
    Ramp,
    Range,
    RefusedError,
    Tail,
    Value,
    Wanted,
    Written,
    bytes_text,
    ranges,
    slug,
    weight_value,
)
from penstock.operators.tc_delays import BOOKED, MEMORY_LIMIT, booked, codel_ticks, no_threshold
from penstock.operators.tc_line import FRAME

INTERFACE = LINUX
_INCLUDE = "vyos-1x, interface-definitions/include/qos"
#: Packets that an interface of Linux may hold, by default: its txqueuelen.
TXQUEUELEN = 1000
U32 = 2**32 - 1
RANGES = ranges(
    # The validator takes any rate; tc keeps it as bytes per second in 32 bits.
    Range(
        name="random-detect bandwidth",
        low=8,
        high=8 * arithmetic.MOST_BYTES_PER_S,
        unit="bit/s",
        source="iproute2, tc/q_gred.c",
    ),
    Range(name="average-packet", low=16, high=10240, unit="B", source=f"{_INCLUDE}/queue-average-packet.xml.i"),
    # The validators take 0, which tc refuses; qos.py wants min below max.
    Range(
        name="minimum-threshold",
        low=1,
        high=4095,
        unit="packets",
        source=f"{_INCLUDE}/queue-minimum-threshold.xml.i: 0 to 4096",
    ),
    Range(
        name="maximum-threshold",
        low=2,
        high=4096,
        unit="packets",
        source=f"{_INCLUDE}/queue-maximum-threshold.xml.i: 0 to 4096",
    ),
    # The validator takes 1, but tc multiplies by 2^32 and keeps 32 bits: nothing on most processors.
    Range(name="mark-probability", low=2, high=U32, source=f"{_INCLUDE}/queue-mark-probability.xml.i: above 0"),
    Range(
        name="random-detect queue-limit",
        low=2,
        high=U32,
        unit="packets",
        source=f"{_INCLUDE}/queue-limit-1-4294967295.xml.i; not below the maximum-threshold",
    ),
    # The validator takes 0; Linux takes 256 for less.
    Range(
        name="codel-quantum", low=256, high=1_048_576, unit="B", source=f"{_INCLUDE}/codel-quantum.xml.i: 0 to 1048576"
    ),
    Range(name="flows", low=1, high=65_536, source=f"{_INCLUDE}/flows.xml.i"),
    # The validators take 32 bits of milliseconds, tc 32 bits of microseconds.
    Range(name="fq-codel interval", low=1, high=U32 // 1000, unit="ms", source=f"{_INCLUDE}/interval.xml.i"),
    Range(name="fq-codel target", low=1, high=U32 // 1000, unit="ms", source=f"{_INCLUDE}/target.xml.i"),
    Range(
        name="fq-codel queue-limit", low=2, high=10_999, unit="packets", source=f"{_INCLUDE}/queue-limit-2-10999.xml.i"
    ),
    Range(
        name="drop-tail queue-limit",
        low=1,
        high=U32,
        unit="packets",
        source=f"{_INCLUDE}/queue-limit-1-4294967295.xml.i",
    ),
)
NO_SHAPER = "this policy does not shape: the interface itself has to be the bottleneck"


def write(wanted: Wanted, place: Place) -> Written:
    """Returns the policy, and the interface that has it."""
    dev = INTERFACE.chosen(place)
    if isinstance(wanted.aqm, Tail):
        return _tail(wanted, dev)
    flow_queues = isinstance(wanted.aqm, Codel) and wanted.aqm.flows is not None
    by_colour = isinstance(wanted.aqm, Coloured)
    ramp = None if flow_queues or by_colour else wred.ramp_of(wanted, "vyos", ["wred", "fq-codel", "droptail"])
    if wanted.ecn:
        raise RefusedError("vyos: its policies do not mark; --set aqm.ecn=false writes what it can do")
    if isinstance(wanted.aqm, Coloured):
        return _coloured(wanted, wanted.aqm, dev)
    if ramp is not None:
        return _random_detect(wanted, {0: ramp}, dev)
    assert isinstance(wanted.aqm, Codel)
    return _fq_codel(wanted, wanted.aqm, dev)


def _coloured(wanted: Wanted, wants: Coloured, dev: str) -> Written:
    """Returns the policy with the colour of each precedence's first DSCP, of which the box uses that of
    precedence 0 for all packets.
    """
    by_dscp = coloured.of_dscps(wants)
    written = _random_detect(wanted, {each: by_dscp[8 * each].drops for each in range(8)}, dev)
    lost = (
        "colour: nothing sorts packets into the queues of the eight precedences, and all take that of precedence 0, "
        f"which is {by_dscp[0].name}'s"
    )
    own = () if wants.average == "shared" else (f"average = {wants.average!r}: the one queue has one average",)
    return replace(written, lost=(*written.lost, lost, *own))


def _text(lines: list[str], policy: str, dev: str) -> str:
    lines = [f"set qos policy {policy} {each}" for each in lines]
    return "\n".join([*lines, f"set qos interface {dev} egress {policy.split()[1]}"]) + "\n"


def _random_detect(wanted: Wanted, ramps: Mapping[int, Ramp], dev: str) -> Written:
    """Returns the policy. ramps: of each precedence that is written; that of 0 is what the box runs."""
    rate = RANGES["random-detect bandwidth"].value("rate", wanted.rate_bps, "whole bit/s")
    average = RANGES["average-packet"].value("mean_packet", wanted.mean_packet)
    told = {precedence: _queue(wanted, ramp, int(average.used), rate.used) for precedence, ramp in ramps.items()}
    lines = [f"bandwidth {rate.used:.0f}bit"]
    lines += [f"precedence {precedence} {each}" for precedence, queue in told.items() for each in queue.lines]
    used = told[0]
    return Written(
        text=_text(lines, f"random-detect {slug(wanted.name)}", dev),
        values=(
            *([average] if average.error else []),
            *used.told.values,
            *([rate] if rate.error else []),
            used.holds,
        ),
        aqm=used.told.aqm,
        buffer=bytes_text(used.holds.used * int(average.used)),
        lost=used.told.lost,
        notes=("all packets take the queue of precedence 0, whatever their own precedence", NO_SHAPER),
    )


@dataclass(frozen=True, slots=True)
class _Queue:
    """The queue of a precedence: its lines, what becomes of its ramp, and what it holds."""

    lines: tuple[str, ...]
    told: wred.Told
    holds: Value


def _queue(wanted: Wanted, ramp: Ramp, mean: int, rate_bps: float) -> _Queue:
    low, high, thresholds = wred.thresholds(
        (ramp.min_bytes / mean, ramp.max_bytes / mean),
        (RANGES["minimum-threshold"], RANGES["maximum-threshold"]),
        "whole packets",
    )
    n = kernel_weight(low, high, mean, rate_bps)
    inverse = RANGES["mark-probability"]
    asked = ramp.max_p_of_even_gaps()
    told = inverse.fit(1 / asked)
    used = min(1 / told, arithmetic.MOST_PROBABILITY)
    if arithmetic.slope_log(low * mean, high * mean, used) is None:
        raise RefusedError(f"max_p = {asked:g}: tc refuses so flat a ramp, over {(high - low) * mean} B")
    limit, holds = _limit(wanted, high, mean)
    lost = wred.losses(ramp, False, beyond="drop")
    if ramp.w_q < 2.0**-n:
        lost.append(f"averaging: the weight follows from the thresholds, 2^-{n}, and cannot be chosen")
    one_over = inverse.why(1 / asked, "one over a whole number")
    return _Queue(
        lines=(
            f"average-packet {mean}",
            f"minimum-threshold {low}",
            f"maximum-threshold {high}",
            f"mark-probability {told}",
            f"queue-limit {limit}",
        ),
        told=wred.Told(
            values=(
                *thresholds,
                weight_value(ramp.w_q, n, "tc's weight for a burst of (2·min + max)/3 packets"),
                Value(name="max_p", wanted=asked, used=used, shown=f"1/{told}", why=one_over),
            ),
            lost=tuple(lost),
            aqm=wred.aqm(
                wanted,
                low=bytes_text(low * mean),
                high=bytes_text(high * mean),
                max_p=used,
                w_q=2.0**-n,
                beyond="drop",
                gate="drawn",
            ),
        ),
        holds=holds,
    )


def kernel_weight(low: int, high: int, mean: int, rate_bps: float) -> int:
    """Returns n of the weight 2^-n that tc makes of VyOS's burst. Raises `RefusedError` where tc or
    the kernel then refuses the whole policy.
    """
    n = arithmetic.weight_log(low * mean, (2 * low + high) // 3, mean)
    if n is None:
        raise RefusedError(f"min_th = {low} packets: tc finds no weight for the burst that VyOS gives it")
    most = arithmetic.largest_exponent(high * mean)
    if n > most:
        raise RefusedError(
            f"min_th = {low} and max_th = {high} packets: of VyOS's burst of (2·min + max)/3 packets tc makes a "
            f"weight of 2^-{n}, and beside a threshold of {high * mean} B Linux takes none below 2^-{most}"
        )
    if arithmetic.cell_log(n, mean, rate_bps // 8) is None:
        raise RefusedError(f"rate = {rate_bps:.0f} bit/s: tc finds no decay of the average for so slow a link")
    return n


def _limit(wanted: Wanted, high: int, mean: int) -> tuple[int, Value]:
    """Returns the limit of random-detect, and what the queue then holds, both in packets."""
    takes = RANGES["random-detect queue-limit"]
    asked = wanted.buffer_bytes / mean
    most = U32 // mean  # VyOS tells tc bytes
    limit = max(min(takes.fit(asked), most), high)
    holds = min(limit, TXQUEUELEN * FRAME / mean)
    why = "not below maximum-threshold" if limit > asked else "whole packets"
    if limit == most or not takes.low <= round(asked):
        why = takes.said
    if holds < limit:
        why = f"Linux cuts it to txqueuelen · (MTU + 14 B), {TXQUEUELEN} · {FRAME} B by default"
    return limit, Value(name="buffer", wanted=asked, used=holds, unit="packets", why=why)


def _fq_codel(wanted: Wanted, wants: Codel, dev: str) -> Written:
    target, interval = (_time("target", wants.target_s), _time("interval", wants.interval_s))
    asked = min(wants.limit_pkts, wanted.buffer_bytes / wanted.mean_packet)
    limit = RANGES["fq-codel queue-limit"].value("buffer", asked, "whole packets")
    quantum = RANGES["codel-quantum"].value("quantum", wants.quantum_bytes)
    flows = RANGES["flows"].value("flows", wants.flows or 1024)
    batch = Value(name="drop_batch", wanted=wants.drop_batch, used=64, unit="packets", why="VyOS leaves it at 64")
    largest = Value(
        name="maxpacket", wanted=wants.maxpacket_bytes, used=FRAME, unit="B", why="the largest frame that it has sent"
    )
    memory = () if wants.memory_bytes is None else (_memory(wants.memory_bytes),)
    own = [*(each for each in memory if each.error), *booked(wants, round(limit.used))]
    told = {
        "codel-quantum": quantum.used,
        "flows": flows.used,
        "interval": interval[0],
        "queue-limit": limit.used,
        "target": target[0],
    }
    return Written(
        text=_text([f"{key} {each:.0f}" for key, each in told.items()], f"fq-codel {slug(wanted.name)}", dev),
        values=(target[1], interval[1], flows, quantum, batch, largest, *own, limit),
        aqm={
            "kind": "fq-codel",
            "variant": "linux",
            "ecn": False,
            "mean_packet": bytes_text(wanted.mean_packet),
            "target": f"{1e3 * target[1].used:.10g} us",
            "interval": f"{1e3 * interval[1].used:.10g} us",
            "maxpacket": f"{FRAME} B",
            "flows": int(flows.used),
            "quantum": bytes_text(quantum.used),
            "drop_batch": 64,
            "limit": int(limit.used),
            "memory_limit": bytes_text(MEMORY_LIMIT),
            "packet_overhead": bytes_text(BOOKED),
        },
        buffer=f"{limit.used:.0f} packets",
        lost=(*wants.others, *no_threshold(wants, "VyOS")),
        notes=(NO_SHAPER,),
    )


def _memory(asked: int) -> Value:
    """Returns what becomes of a limit of memory."""
    why = "VyOS leaves it at the kernel's"
    return Value(name="memory_limit", wanted=asked, used=MEMORY_LIMIT, unit="B", why=why)


def _time(name: str, wanted_s: float) -> tuple[int, Value]:
    """Returns the milliseconds that are written, and what CoDel makes of them."""
    takes = RANGES[f"fq-codel {name}"]
    told = takes.fit(wanted_s * 1e3)
    why = takes.why(wanted_s * 1e3, "whole milliseconds, which the kernel counts in units of 1024 ns")
    return told, Value(name=name, wanted=wanted_s * 1e3, used=codel_ticks(told * 1000) * 1.024e-3, unit="ms", why=why)


def _tail(wanted: Wanted, dev: str) -> Written:
    limit = RANGES["drop-tail queue-limit"].value("buffer", wanted.buffer_bytes / wanted.mean_packet, "whole packets")
    return Written(
        text=_text([f"queue-limit {limit.used:.0f}"], f"drop-tail {slug(wanted.name)}", dev),
        values=(limit,),
        aqm={"kind": "droptail", "mean_packet": bytes_text(wanted.mean_packet)},
        buffer=f"{limit.used:.0f} packets",
        notes=(NO_SHAPER,),
    )
