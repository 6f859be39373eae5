"""RED and what is made of it: `red`, `choke`.

Sources: iproute2's tc/q_red.c and q_choke.c, Linux's net/sched/sch_red.c and sch_choke.c.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.operators import tc_arithmetic as arithmetic
from penstock.operators import wred
from penstock.operators.gates import EVEN
from penstock.operators.model import (
    ADAPTATION,
    Ramp,
    RefusedError,
    Step,
    Value,
    Wanted,
    bytes_text,
    power_of_two,
    weight_value,
)
from penstock.operators.tc_line import RANGES, Line


def _exponent(ramp: Ramp, high: int, wanted: Wanted, idles: bool = True) -> tuple[int, int]:
    """Returns n of the weight 2^-n to aim at, and the largest one that kernel and tc take here."""
    most = min(RANGES["red average"].high, arithmetic.largest_exponent(high))
    if idles:
        most = arithmetic.largest_for_idle(most, wanted.mean_packet, wanted.rate_bps)
    return power_of_two(ramp.w_q, 1, most), most


WHY_WEIGHT = "the kernel averages by shifts: a weight is a power of two"


def _probability(ramp: Ramp) -> tuple[float, Value]:
    """Returns max_p as tc takes it: whole parts of 2^32."""
    asked, takes = ramp.max_p_of_even_gaps(), RANGES["red probability"]
    used = min(max(asked, 2.0**-32), arithmetic.MOST_PROBABILITY)
    if asked < 2.0**-32:
        why = takes.said
    elif ramp.gate in EVEN:
        why = "max_p has 32 binary digits"
    else:
        why = (
            f"the kernel spaces signals uniformly: max_p {ramp.max_p:g} with gate {ramp.gate} signals "
            f"{ramp.share():.3g} of the packets at max_th"
        )
    return used, Value(name="max_p", wanted=asked, used=int(used * 2**32) / 2**32, why=why)


def _weight_why(ramp: Ramp, n: int, most: int, aimed: int) -> str:
    if n != aimed:
        return f"{WHY_WEIGHT}, and tc finds no burst for 2^-{aimed} at this min_th"
    if n == most and ramp.w_q < 2.0**-n:
        return f"{WHY_WEIGHT}; with this max_th and rate it takes none below 2^-{most}"
    return WHY_WEIGHT


def ramp_losses(ramp: Ramp, ecn: bool) -> list[str]:
    """Returns what Linux's RED does not do."""
    lost = []
    if ramp.gentle:
        lost.append("gentle: above max_th every packet is signalled, not with a probability that rises to 1")
    if ramp.kind == "ared":
        lost.append(
            "adaptation: tc since 5.7 asks for it where kernels since 5.7 no longer look, and max_p stays at its "
            f"first value; there is no {ADAPTATION}"
        )
    if ramp.mark_p < 1 and ecn:
        lost.append(f"mark_p: above a probability of {ramp.mark_p:g} capable packets are marked, not dropped")
    if ramp.byte_mode:
        lost.append("byte_mode: the probability does not depend on a packet's size")
    if ramp.gate not in EVEN:
        lost.append(f"gate: the kernel spaces signals uniformly, not {ramp.gate}")
    return lost


@dataclass(frozen=True, slots=True)
class Numbers:
    """RED's numbers in whole units of the qdisc."""

    low: int
    high: int
    max_p: float
    burst: arithmetic.Burst
    values: tuple[Value, ...]

    def arguments(self) -> str:
        """Returns the words of a command."""
        told = self.burst
        return (
            f"min {self.low} max {self.high} avpkt {told.avpkt} burst {told.burst} bandwidth {told.bits_per_s}bit "
            f"probability {self.max_p:.10g}"
        )

    def readback(self) -> dict[str, Any]:
        """Returns what tc reports of them."""
        told = self.burst
        return {
            "min": self.low,
            "max": self.high,
            "ewma": told.n,
            "probability": int(self.max_p * 2**32) / 2**32,
            "Scell_log": arithmetic.cell_log(told.n, told.avpkt, told.bits_per_s / 8),
        }


def in_bytes(wanted: Wanted, ramp: Ramp, idles: bool = True, n: int | None = None) -> Numbers:
    """Returns RED in bytes.

    idles: whether its average decays while nothing is there.
    n: of the weight 2^-n to aim at; `None`: that of the nearest.
    """
    RANGES["red max"].check("max_th", max(2.0, ramp.max_bytes))
    low, high, thresholds = wred.thresholds(
        (ramp.min_bytes, ramp.max_bytes), (RANGES["red min"], RANGES["red max"]), "whole bytes"
    )
    nearest, most = _exponent(ramp, high, wanted, idles)
    aimed = nearest if n is None else n
    told = arithmetic.burst_for(low, aimed, wanted.mean_packet, wanted.rate_bps)
    max_p, probability = _probability(ramp)
    if arithmetic.slope_log(low, high, max_p) is None:
        raise RefusedError(f"max_p = {max_p:g}: tc refuses so flat a ramp, over {high - low} B")
    values = (*thresholds, weight_value(ramp.w_q, told.n, _weight_why(ramp, told.n, most, aimed)), probability)
    return Numbers(low, high, max_p, told, values)


def flags_of(
    ecn: bool = False, harddrop: bool = False, adaptive: bool = False, nodrop: bool = False
) -> dict[str, bool]:
    """Returns the flags that tc prints of RED and its kin, set or not."""
    return {"ecn": ecn, "harddrop": harddrop, "adaptive": adaptive, "nodrop": nodrop}


def buffer_value(wanted: Wanted) -> Value:
    """Returns the bytes that may wait."""
    return RANGES["red limit"].value("buffer", wanted.buffer_bytes, "whole bytes")


def red_aqm(numbers: Mapping[str, Any], wanted: Wanted, **more: Any) -> dict[str, Any]:
    """Returns the kernel's RED as a scenario's `[aqm]`."""
    return {
        "kind": "red",
        "unit": "bytes",
        "mean_packet": bytes_text(wanted.mean_packet),
        "min_th": bytes_text(numbers["min"]),
        "max_th": bytes_text(numbers["max"]),
        "max_p": numbers["probability"],
        "w_q": 2.0 ** -numbers["ewma"],
        "gate": "drawn",
        "gentle": False,
        "ecn": wanted.ecn,
        **more,
    }


def unit_notes(wanted: Wanted, counted: bool) -> list[str]:
    """Returns what follows from counting bytes where the scenario counts packets, and from tc's
    clock.
    """
    notes = []
    if not counted:
        notes.append(f"the box counts bytes: a packet of the scenario is {wanted.mean_packet} B (aqm.mean_packet)")
    packet_us = 8e6 * wanted.mean_packet / wanted.rate_bps
    told = arithmetic.idle_us(wanted.mean_packet, wanted.rate_bps)
    if abs(told / packet_us - 1) > 0.1:
        notes.append(
            f"while idle the average decays as for packets of {told} us, not of {packet_us:.2g} us: tc counts whole "
            "microseconds (the simulation does not have this)"
        )
    return notes


def red(wanted: Wanted) -> Line:
    """Writes sch_red."""
    ramp = wanted.aqm
    assert isinstance(ramp, Ramp)
    numbers = in_bytes(wanted, ramp)
    buffer = buffer_value(wanted)
    flags = ["ecn"] if wanted.ecn else []
    hard = wanted.ecn and ramp.forced == "drop"
    flags += ["harddrop"] if hard else []
    adaptive = ramp.kind == "ared"
    flags += ["adaptive"] if adaptive else []
    readback = {
        "limit": int(buffer.used),
        **numbers.readback(),
        **flags_of(wanted.ecn, hard, adaptive),
    }
    return Line(
        qdisc="red",
        arguments=(" ".join([f"limit {int(buffer.used)}", numbers.arguments(), *flags]),),
        values=(*numbers.values, buffer),
        aqm=red_aqm(readback, wanted, forced="drop" if hard or not wanted.ecn else "mark"),
        buffer=bytes_text(buffer.used),
        readback=readback,
        lost=tuple(ramp_losses(ramp, wanted.ecn)),
        notes=tuple(unit_notes(wanted, ramp.bytes_counted)),
    )


def step(wanted: Wanted) -> Line:
    """Returns a threshold as DCTCP wants it, as near as sch_red comes: min and max one byte apart, and the
    least average.
    """
    wants = wanted.aqm
    assert isinstance(wants, Step)
    if not wanted.ecn:
        raise RefusedError("aqm.ecn = false: a step that marks nothing is DropTail")
    threshold = RANGES["red min"].value("threshold", wants.threshold_bytes, "whole bytes")
    low = int(threshold.used)
    told = arithmetic.burst_for(low, 1, wanted.mean_packet, wanted.rate_bps)
    numbers = Numbers(low, low + 1, arithmetic.MOST_PROBABILITY, told, ())
    buffer = buffer_value(wanted)
    spare = wants.not_capable == "pass"
    flags = ["ecn", "nodrop"] if spare else ["ecn"]
    readback = {
        "limit": int(buffer.used),
        **numbers.readback(),
        **flags_of(ecn=True, nodrop=spare),
    }
    return Line(
        qdisc="red",
        arguments=(" ".join([f"limit {int(buffer.used)}", numbers.arguments(), *flags]),),
        values=(
            threshold,
            weight_value(1.0, told.n, "tc's least average is half the newest sample"),
            buffer,
        ),
        aqm=red_aqm(readback, wanted, forced="mark"),
        buffer=bytes_text(buffer.used),
        readback=readback,
        lost=(f"no average: the queue is averaged with w_q = 2^-{told.n}",),
        notes=(
            *unit_notes(wanted, wants.bytes_counted),
            *(
                ["`nodrop` lets packets pass that cannot be marked; the simulation of the box drops them"]
                if spare
                else []
            ),
        ),
    )


def choke(wanted: Wanted) -> Line:
    """Writes sch_choke, which counts packets."""
    ramp = wanted.aqm
    assert isinstance(ramp, Ramp)
    mean = wanted.mean_packet
    takes = RANGES["choke min"], RANGES["choke max"]
    takes[1].check("max_th", max(2.0, ramp.max_bytes / mean))
    low, high, thresholds = wred.thresholds(
        (ramp.min_bytes / mean, ramp.max_bytes / mean), takes, "choke counts whole packets"
    )
    room = RANGES["choke limit"]
    asked = wanted.buffer_bytes / mean
    limit = min(room.high, max(room.fit(asked), high))
    buffer = room.value("buffer", asked, "whole packets, not below max_th" if limit > asked else "whole packets", limit)
    aimed, most = _exponent(ramp, high, wanted)
    found = arithmetic.nearest(low, aimed, 1)  # avpkt cancels: min·avpkt/avpkt
    if found is None:
        raise RefusedError(f"min_th = {low} packets: tc finds no weight for so low a threshold")
    avpkt, bits = arithmetic.idle(mean, wanted.rate_bps)
    told = arithmetic.Burst(found[0], avpkt, found[1], bits)
    max_p, probability = _probability(ramp)
    if arithmetic.slope_log(low, high, max_p) is None:
        raise RefusedError(f"max_p = {max_p:g}: tc refuses so flat a ramp, over {high - low} packets")
    numbers = Numbers(low, high, max_p, told, ())
    lost = ramp_losses(ramp, wanted.ecn)
    if wanted.ecn and ramp.forced == "drop":
        lost.append("forced: tc's choke marks capable packets above max_th, too")
    readback = {"limit": limit, **numbers.readback(), **flags_of(wanted.ecn)}
    pkts = {"min_th": f"{low} packets", "max_th": f"{high} packets", "unit": "packets", "kind": "choke"}
    weight = weight_value(ramp.w_q, told.n, _weight_why(ramp, told.n, most, aimed))
    return Line(
        qdisc="choke",
        arguments=(" ".join([f"limit {limit}", numbers.arguments(), *(["ecn"] if wanted.ecn else [])]),),
        values=(*thresholds, weight, probability, buffer),
        aqm={**red_aqm(readback, wanted, forced="mark" if wanted.ecn else "drop"), **pkts},
        buffer=f"{limit} packets",
        readback=readback,
        lost=tuple(lost),
    )
