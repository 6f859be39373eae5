"""Writes PIE: `pie` and `fq_pie`.

Sources: iproute2's tc/q_pie.c and q_fq_pie.c, Linux's net/sched/sch_pie.c, sch_fq_pie.c and
include/net/pie.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.operators.model import Pie, Value, Wanted, bytes_text
from penstock.operators.tc_delays import HZ, MEMORY_LIMIT, asked_limit, seconds_text
from penstock.operators.tc_line import RANGES, Line

#: What the kernel's PIE has built in (net/sched/sch_pie.c, include/net/pie.h).
PIE_MAX_BURST_S, PIE_MARK_ECNTH, PIE_HIGH_DELAY_S, PIE_DQ_THRESHOLD = 0.15, 0.1, 0.25, 16384
#: PIE's gains are whole sixteenths, at most two.
PIE_GAIN, PIE_MOST = 16, RANGES["pie alpha"].high


def pie_reported(microseconds: int) -> int:
    """Returns the microseconds that the kernel's PIE reports for a time: it counts ticks of 64
    ns.
    """
    return (microseconds * 1000 >> 6 << 6) // 1000


def _on_the_wheel(microseconds: int, most: int) -> tuple[int, int]:
    """Returns a time in whole ticks, rounded up, and at multiples of how many a timer fires that is so
    far ahead; at every tick up to `most`.
    """
    ticks, step = -(-microseconds * HZ // 1_000_000), 1
    while ticks > most * step:
        step *= 8
    return ticks, step


def tupdate(microseconds: int) -> int:
    """Returns the `tupdate` of which [`period`][] makes this time, or the next longer one, in
    microseconds.

    >>> tupdate(15_000), period(12_000)
    (12000, 16000)
    """
    ticks, step = _on_the_wheel(microseconds, 64)
    return max(1, -(-ticks // step) - 1) * step * 1_000_000 // HZ


def period(microseconds: int) -> int:
    """Returns the microseconds after which the kernel's PIE updates, told `tupdate`: whole ticks,
    rounded up, and one more, for a timer never fires early. One that is set 64 ticks ahead fires
    at a multiple of 8, 505 ahead of 64, and so on (kernel/time/timer.c: calc_index).

    >>> period(15_000)
    20000
    """
    ticks, step = _on_the_wheel(microseconds, 63)
    return (ticks // step + 1) * step * 1_000_000 // HZ


def pie(wanted: Wanted) -> Line:
    """Writes sch_pie and sch_fq_pie."""
    wants = wanted.aqm
    assert isinstance(wants, Pie)
    target = RANGES["pie target"].fit(wants.target_s * 1e6)
    update = tupdate(RANGES["pie tupdate"].fit(wants.t_update_s * 1e6))
    room = RANGES["pie limit"].value("buffer", asked_limit(wanted, wants), "whole packets")
    limit = int(room.used)
    target_used = (target * 1000 >> 6 << 6) / 1e6
    period_used = period(update) / 1e3
    gains = {name: RANGES[f"pie {name}"].fit(getattr(wants, name) * PIE_GAIN) for name in ("alpha", "beta")}
    words = [f"limit {limit} target {target}us tupdate {update}us"]
    words += [f"alpha {gains['alpha']} beta {gains['beta']}", "ecn" if wanted.ecn else "noecn"]
    words += ["bytemode" if wants.bytemode else "nobytemode"]
    words += ["dq_rate_estimator"] if wants.rate_estimate else ["no_dq_rate_estimator"]
    values = [*_pie_values(wanted, wants, (target_used, period_used), gains), room]
    aqm: dict[str, Any] = {
        "kind": wants.kind,
        "variant": "linux",
        "ecn": wanted.ecn,
        "mean_packet": bytes_text(wanted.mean_packet),
        "qdelay_ref": seconds_text(target_used),
        "t_update": seconds_text(period_used),
        "alpha": gains["alpha"] / PIE_GAIN,
        "beta": gains["beta"] / PIE_GAIN,
        "max_burst": f"{PIE_MAX_BURST_S} s",
        "mark_ecnth": PIE_MARK_ECNTH,
        "high_delay": f"{PIE_HIGH_DELAY_S} s",
        "delay_from": "rate-estimate" if wants.rate_estimate else "timestamps",
        "dq_threshold": f"{PIE_DQ_THRESHOLD} B",
        "derandomize": True,
        **({"bytemode": True} if wants.bytemode else {}),
    }
    readback: dict[str, Any] = {
        "limit": limit,
        "target": pie_reported(target),
        "tupdate": update,
        "alpha": gains["alpha"],
        "beta": gains["beta"],
    }
    flags = {"ecn": wanted.ecn, "bytemode": wants.bytemode, "dq_rate_estimator": wants.rate_estimate}
    readback |= {flag: True for flag, on in flags.items() if on}
    lost = _losses(wants)
    if wants.flows is not None:
        told, more = _queues(wants)
        words += [f"{name} {number}" for name, number in told.items()]
        readback |= {**told, "memory_limit": MEMORY_LIMIT}
        aqm |= {"flows": told["flows"], "quantum": bytes_text(told["quantum"]), "limit": limit}
        aqm |= {"mark_ecnth": told["ecn_prob"] / 100}
        values += more
    return Line(
        qdisc="pie" if wants.flows is None else "fq_pie",
        arguments=(" ".join(words),),
        values=tuple(values),
        aqm=aqm,
        buffer=f"{limit} packets",
        readback=readback,
        lost=tuple(lost),
    )


def _losses(wants: Pie) -> list[str]:
    """Returns what the kernel does not do, a sentence each."""
    lost = list(wants.others)
    if not wants.derandomize:
        lost.append("derandomize: the kernel always spreads its drops (RFC 8033, section 5.4)")
    if wants.fattest:
        lost.append("full: the kernel drops the arriving packet")
    return lost


def _queues(wants: Pie) -> tuple[dict[str, int], list[Value]]:
    """Returns what is told of flow queues, and the values that need a line."""
    flows = RANGES["fq_pie flows"].value("flows", wants.flows or 0)
    quantum = RANGES["fq_pie quantum"].value("quantum", wants.quantum_bytes)
    percent = RANGES["fq_pie ecn_prob"].value("mark_ecnth", 100 * wants.mark_ecnth, "whole per cent")
    told = {"flows": int(flows.used), "quantum": int(quantum.used), "ecn_prob": int(percent.used)}
    return told, [quantum, *(each for each in (flows, percent) if each.error)]


def _pie_values(wanted: Wanted, wants: Pie, used_s: tuple[float, float], gains: Mapping[str, int]) -> list[Value]:
    """Returns what becomes of each value."""
    target_used, period_used = used_s
    why = (
        f"the kernel's timer ticks {HZ} times a second (CONFIG_HZ={HZ}; with another CONFIG_HZ another period), and "
        "fires a tick later than tupdate"
    )
    built_in = "built into the kernel"
    ticks = RANGES["pie target"].why(wants.target_s * 1e6, "ticks of 64 ns")
    why = RANGES["pie tupdate"].why(wants.t_update_s * 1e6, why)
    values = [
        Value(name="qdelay_ref", wanted=wants.target_s * 1e3, used=target_used, unit="ms", why=ticks),
        Value(name="t_update", wanted=wants.t_update_s * 1e3, used=period_used, unit="ms", why=why),
        *(
            Value(
                name=name,
                wanted=getattr(wants, name),
                used=n / PIE_GAIN,
                shown=f"{n}/{PIE_GAIN}",
                why=RANGES[f"pie {name}"].why(getattr(wants, name) * PIE_GAIN, "whole sixteenths"),
            )
            for name, n in gains.items()
        ),
        Value(name="max_burst", wanted=wants.max_burst_s * 1e3, used=PIE_MAX_BURST_S * 1e3, unit="ms", why=built_in),
        Value(name="high_delay", wanted=wants.high_delay_s * 1e3, used=PIE_HIGH_DELAY_S * 1e3, unit="ms", why=built_in),
    ]
    if wanted.ecn and wants.flows is None:
        values.append(Value(name="mark_ecnth", wanted=wants.mark_ecnth, used=PIE_MARK_ECNTH, why=built_in))
    if wants.rate_estimate:
        values.append(
            Value(name="dq_threshold", wanted=wants.dq_threshold_bytes, used=PIE_DQ_THRESHOLD, unit="B", why=built_in)
        )
    return values
