"""Writes `dualpi2`, the coupled dual queue of L4S.

Sources: iproute2's tc/q_dualpi2.c, Linux's net/sched/sch_dualpi2.c (7.3). Debian's kernels do not
build it, so no kernel was asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.operators.model import Dual, Value, Wanted, bytes_text
from penstock.operators.tc_delays import BOOKED
from penstock.operators.tc_line import FRAME, RANGES, Line

#: tc's gains are whole 1/256ths.
GAIN = 256
#: 1 as the kernel has it.
MAX = 2**32 - 1


def gain_reported(told: int) -> int:
    """Returns the 1/256ths that the kernel reports of a gain that it was given: it rounds down twice.

    >>> gain_reported(41), gain_reported(819)
    (40, 818)
    """
    inside = (told * MAX >> 2) // 10**9
    return (inside * 10**9 << 2) // MAX


def gain_told(reported: int) -> int:
    """Returns the 1/256ths that the kernel was given, from those that it reports.

    >>> gain_told(40), gain_told(818)
    (41, 819)
    """
    return reported + (gain_reported(reported) < reported)


def dualpi2(wanted: Wanted) -> Line:
    """Writes sch_dualpi2."""
    wants = wanted.aqm
    assert isinstance(wants, Dual)
    room = min(wanted.buffer_bytes / wanted.mean_packet, wants.limit_pkts, wants.limit_bytes / wanted.mean_packet)
    limit = RANGES["dualpi2 limit"].value("buffer", room, "whole packets")
    times = {
        name: RANGES[f"dualpi2 {name}"].fit(seconds * 1e6)
        for name, seconds in (("target", wants.target_s), ("tupdate", wants.t_update_s))
    }
    gains = {name: RANGES[f"dualpi2 {name}"].fit(getattr(wants, name) * GAIN) for name in ("alpha", "beta")}
    coupling = RANGES["dualpi2 coupling_factor"].value("k", wants.k, "whole numbers")
    shortest = RANGES["dualpi2 min_qlen_step"].value("th_len", wants.th_len)
    protection = RANGES["dualpi2 classic_protection"].value(
        "classic_protection", 100 * wants.protection, "whole per cent"
    )
    told: dict[str, int] = {"limit": int(limit.used), "coupling": int(coupling.used)}
    told |= {"min-qlen-step": int(shortest.used), "c-protection": int(protection.used)}
    # As the kernel makes it, unless less is asked for.
    booked = RANGES["dualpi2 memlimit"].value("memory", min(wants.memory_bytes, 2 * FRAME * told["limit"]))
    memory = int(booked.used)
    step_name, step, step_value, step_text = _step(wants)
    words = [f"limit {told['limit']} memlimit {memory} target {times['target']}us tupdate {times['tupdate']}us"]
    words += [f"{name} {n / GAIN:.8f}".rstrip("0").rstrip(".") for name, n in gains.items()]
    words += [f"coupling_factor {told['coupling']} step_thresh {step_text} min_qlen_step {told['min-qlen-step']}"]
    words += ["drop_on_overload" if wants.drop_on_overload else "overflow"]
    words += ["drop_enqueue" if wants.at_arrival else "drop_dequeue"]
    words += [f"classic_protection {told['c-protection']}%", "any_ect" if wants.any_ect else "l4s_ect", "split_gso"]
    values = (
        *(_time(name, wanted_s, used) for (name, used), wanted_s in zip(times.items(), _seconds(wants), strict=True)),
        *(_gain(name, getattr(wants, name), n) for name, n in gains.items()),
        coupling,
        step_value,
        *([shortest] if shortest.error else []),
        protection,
        *([booked] if booked.error else []),
        limit,
    )
    return Line(
        qdisc="dualpi2",
        arguments=(" ".join(words),),
        values=values,
        aqm=_box(wanted, wants, told | times | {"memory": memory, step_name: step}, gains),
        buffer=f"{told['limit']} packets",
        readback={
            **told,
            "memory-limit": memory,
            **times,
            **{name: gain_reported(n) / GAIN for name, n in gains.items()},
            step_name: step,
            "drop-overload": "drop" if wants.drop_on_overload else "overflow",
            "drop-early": "drop-enqueue" if wants.at_arrival else "drop-dequeue",
            "ecn-mask": "any-ect" if wants.any_ect else "l4s-ect",
            "split-gso": True,
        },
        lost=(*wants.others, *(() if wanted.ecn else ("no ECN: the kernel's DualPI2 always marks capable packets",))),
        notes=("Linux has dualpi2 since 6.17; Debian's kernels are built without it (CONFIG_NET_SCH_DUALPI2)",),
    )


def _box(wanted: Wanted, wants: Dual, told: Mapping[str, int], gains: Mapping[str, int]) -> dict[str, object]:
    """Returns the discipline that the kernel will run. told: numbers by the names of a state."""
    in_packets = "step-thresh-pkts" in told
    return {
        "kind": "dualpi2",
        "variant": "linux",
        "ecn": True,
        "mean_packet": bytes_text(wanted.mean_packet),
        "target": f"{told['target']} us",
        "t_update": f"{told['tupdate']} us",
        **{name: n / GAIN for name, n in gains.items()},
        "k": told["coupling"],
        "identify": "any-ect" if wants.any_ect else "l4s",
        **({"step_packets": told["step-thresh-pkts"]} if in_packets else {}),
        **({} if in_packets else {"step_thresh": f"{told['step-thresh-us']} us"}),
        "th_len": told["min-qlen-step"],
        "decides": "arrival" if wants.at_arrival else "departure",
        "drop_on_overload": wants.drop_on_overload,
        "classic_protection": told["c-protection"] / 100,
        "limit_packets": min(10**9, told["limit"]),
        "memory": f"{told['memory']} B",
        "packet_memory": f"{BOOKED} B",
    }


def _seconds(wants: Dual) -> tuple[float, float]:
    return wants.target_s, wants.t_update_s


def _step(wants: Dual) -> tuple[str, int, Value, str]:
    """Returns the step: what a state calls it, the number, the value on its way, and tc's argument."""
    if wants.step_pkts is not None:
        value = RANGES["dualpi2 step_thresh packets"].value("step_packets", wants.step_pkts)
        return "step-thresh-pkts", int(value.used), value, f"{int(value.used)}p"
    told = RANGES["dualpi2 step_thresh"].fit(wants.step_s * 1e6)
    why = RANGES["dualpi2 step_thresh"].why(wants.step_s * 1e6, "whole microseconds")
    value = Value(name="step_thresh", wanted=wants.step_s * 1e3, used=told / 1e3, unit="ms", why=why)
    return "step-thresh-us", told, value, f"{told}us"


def _time(name: str, wanted_s: float, told: int) -> Value:
    why = RANGES[f"dualpi2 {name}"].why(wanted_s * 1e6, "whole microseconds")
    key = {"tupdate": "t_update"}.get(name, name)
    return Value(name=key, wanted=wanted_s * 1e3, used=told / 1e3, unit="ms", why=why)


def _gain(name: str, wanted: float, n: int) -> Value:
    why = RANGES[f"dualpi2 {name}"].why(wanted * GAIN, "whole 1/256ths")
    return Value(name=name, wanted=wanted, used=n / GAIN, shown=f"{n}/{GAIN}", why=why)
