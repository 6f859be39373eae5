"""Writes what shares by hashes of flows, without a delay in sight: `sfq` and `sfb`.

Sources: iproute2's tc/q_sfq.c and q_sfb.c, Linux's net/sched/sch_sfq.c and sch_sfb.c.
"""

from __future__ import annotations

import math
from typing import Any

from penstock.operators import tc_ramps as ramps
from penstock.operators.model import RefusedError, Sfb, Sfq, Value, Wanted, bytes_text
from penstock.operators.tc_delays import HZ
from penstock.operators.tc_line import RANGES, Line

#: Packets that the kernel's SFQ holds where it is told no limit.
LIMIT = 127
#: SFB's probabilities are whole parts of this.
PROBABILITY = RANGES["sfb increment"].high


def sfq(wanted: Wanted) -> Line:
    """Writes sch_sfq, with RED on its slots where that is asked for."""
    wants = wanted.aqm
    assert isinstance(wants, Sfq)
    divisor, depth, quantum = (
        RANGES[f"sfq {name}"].value(name, each)
        for name, each in (("divisor", wants.divisor), ("depth", wants.depth), ("quantum", wants.quantum_bytes))
    )
    slots = RANGES["sfq flows"]
    flows = min(slots.fit(wants.flows), int(divisor.used))
    room = RANGES["sfq limit"]
    if int(depth.used) * flows < room.low:
        raise RefusedError(
            "tc: one slot of depth 1 holds one packet, and sfq has a limit of two at least; give more depth"
        )
    asked = min(wants.limit_pkts, wanted.buffer_bytes / wanted.mean_packet)
    limit = min(room.fit(asked), int(depth.used) * flows)
    why = "whole packets" if limit == room.fit(asked) else "the slots hold no more, depth in each"
    buffer = room.value("buffer", asked, why, limit)
    why = "no more slots than places of the hash" if flows < slots.fit(wants.flows) else ""
    # Told a limit, the kernel makes no more slots than that; its own does not count so.
    own = limit == LIMIT
    if limit < flows and not own:
        flows, why = limit, "no more slots than packets"
    told = {"limit": limit, "quantum": int(quantum.used), "depth": int(depth.used), "flows": flows}
    told["divisor"] = int(divisor.used)
    values = [quantum, depth, slots.value("flows", wants.flows, why, flows), divisor]
    aqm: dict[str, Any] = {"kind": "sfq", "mean_packet": bytes_text(wanted.mean_packet), "ecn": wanted.ecn}
    aqm |= told | {"quantum": bytes_text(quantum.used), "headdrop": wants.headdrop}
    readback: dict[str, Any] = dict(told)
    if wants.perturb_s is not None:
        period = RANGES["sfq perturb"].value("perturb", wants.perturb_s, "whole seconds")
        told["perturb"] = readback["perturb"] = int(period.used)
        aqm["perturb"] = f"{period.used:.0f} s"
        values.append(period)
    words = [f"{name} {number}" for name, number in told.items() if name != "limit" or not own]
    if wants.headdrop:
        words.append("headdrop")
        readback["headdrop"] = True
    if wants.red is not None:
        red = ramps.in_bytes(wanted, wants.red, idles=False)
        burst = red.burst
        hard = wanted.ecn and wants.red.forced == "drop"
        # tc wants the limit of a slot in bytes, looks whether max is below it, and the kernel ignores it.
        words += [f"redflowlimit {red.high} min {red.low} max {red.high} avpkt {burst.avpkt} burst {burst.burst}"]
        words += [f"probability {red.max_p:.10g}", *(["ecn"] if wanted.ecn else []), *(["harddrop"] if hard else [])]
        readback |= {name: value for name, value in red.readback().items() if name != "Scell_log"}
        readback |= ramps.flags_of(wanted.ecn, hard)
        aqm |= {"unit": "bytes", "min_th": bytes_text(red.low), "max_th": bytes_text(red.high), "harddrop": hard}
        aqm |= {"max_p": readback["probability"], "w_q": 2.0**-burst.n}
        values += red.values
    # What is as it was asked for, and rarely chosen, needs no line of its own.
    shown = ("quantum", "perturb", *(each.name for each in values if each.error), "min_th", "max_th", "w_q", "max_p")
    return Line(
        qdisc="sfq",
        arguments=(" ".join(words),),
        values=(*(each for each in values if each.name in shown), buffer),
        aqm=aqm,
        buffer=f"{limit} packets",
        readback=readback,
    )


def sfb(wanted: Wanted) -> Line:
    """Writes sch_sfb."""
    wants = wanted.aqm
    assert isinstance(wants, Sfb)
    counts = {
        name: RANGES[f"sfb {name}"].value(name, getattr(wants, name), "whole packets")
        for name in ("max", "target", "penalty_rate", "penalty_burst")
    }
    parts = {name: _parts(name, getattr(wants, name)) for name in ("increment", "decrement")}
    times = {"rehash": _time("rehash", "rehash", wants.rehash_s), "db": _time("db", "warm_up", wants.warm_up_s)}
    buffer = RANGES["sfb limit"].value("buffer", wanted.buffer_bytes / wanted.mean_packet, "whole packets")
    told = {name: int(value.used) for name, value in counts.items()}
    limit = int(buffer.used)
    words = [f"{name} {milliseconds}" for name, (milliseconds, _) in times.items()]
    words += [f"limit {limit} max {told['max']} target {told['target']}"]
    words += [f"{name} {number / PROBABILITY:.10g}" for name, (number, _) in parts.items()]
    words += [f"penalty_rate {told['penalty_rate']} penalty_burst {told['penalty_burst']}"]
    rare = [times["rehash"][1], times["db"][1], counts["penalty_rate"], counts["penalty_burst"]]
    return Line(
        qdisc="sfb",
        arguments=(" ".join(words),),
        values=(
            counts["target"],
            counts["max"],
            *(value for _, value in parts.values()),
            # What is as it was asked for, and rarely chosen, needs no line of its own.
            *(value for value in rare if value.error),
            buffer,
        ),
        aqm={
            "kind": "sfb",
            "mean_packet": bytes_text(wanted.mean_packet),
            "ecn": True,
            **told,
            **{name: value.used for name, (_, value) in parts.items()},
            "rehash": f"{times['rehash'][1].used:.10g} s",
            "warm_up": f"{times['db'][1].used:.10g} s",
        },
        buffer=f"{limit} packets",
        readback={
            **{name: round(1e6 * value.used) for name, (_, value) in times.items()},
            "limit": limit,
            **told,
            # tc prints six digits.
            **{name: float(f"{number / PROBABILITY:.6g}") for name, (number, _) in parts.items()},
        },
        lost=() if wanted.ecn else ("no ECN: SFB always marks capable packets",),
    )


def _parts(name: str, asked: float) -> tuple[int, Value]:
    """Returns a probability in whole parts: one at least, where it is not nothing."""
    number = max(RANGES[f"sfb {name}"].fit(asked * PROBABILITY), int(asked > 0))
    why = "the kernel's probabilities have 16 binary digits"
    used = number / PROBABILITY
    # The scenario's default has ten digits of it.
    near = asked if abs(used - asked) < 1e-12 else used
    return number, Value(name=name, wanted=asked, used=near, why=why)


def _time(word: str, name: str, asked_s: float) -> tuple[int, Value]:
    """Returns the milliseconds that are written, and what the kernel makes of them: whole ticks of its timer,
    rounded up.
    """
    takes = RANGES[f"sfb {word}"]
    told = takes.fit(asked_s * 1e3)
    used = math.ceil(told * HZ / 1e3) / HZ
    why = takes.why(asked_s * 1e3, f"whole ticks of the kernel's timer, 1/{HZ} s")
    return told, Value(name=name, wanted=asked_s, used=used, unit="s", why=why)
