"""Finds what a scenario asks of its bottleneck, and a scenario with something else there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock._penstock import Facts, LinkFacts, parse_duration, parse_queue, parse_size
from penstock.model.scenario import Scenario, value_at
from penstock.operators.model import (
    Cake,
    Codel,
    Colour,
    Coloured,
    Discipline,
    Dual,
    Framing,
    Other,
    Pie,
    Ramp,
    RefusedError,
    Sfb,
    Sfq,
    Step,
    Tail,
    Wanted,
    Written,
)
from penstock.operators.tc_delays import BOOKED, MEMORY_LIMIT
from penstock.operators.tc_line import FRAME

#: The kinds that any platform has, and no other.
RAMPS = ("red", "ared", "choke", "nlred")
#: Keys of a discipline that no platform has → the value that every platform's own way comes to.
NOWHERE: Mapping[str, object] = {
    "count_in_service": False,
    "byte_scale": "p_b",
    "idle": "exact",
    "early_min_queue": 0.0,
    "first_passes": False,
    "gentle_tracks_max_p": True,
}


def wanted(scenario: Scenario) -> Wanted:
    """Returns what a scenario asks of its bottleneck. Raises `RefusedError` for a discipline that
    no router has.
    """
    facts, resolved = _facts(scenario), scenario.resolved
    here, there = facts.bottleneck, facts.opposite
    link, aqm = value_at(resolved, here.path), value_at(resolved, here.aqm_path)
    return Wanted(
        name=scenario.name,
        aqm=_discipline(aqm, here),
        ecn=bool(aqm["ecn"]),
        rate_bps=here.rate_bps,
        reverse_rate_bps=there.rate_bps if there is not None else here.rate_bps,
        buffer_bytes=_bytes(link["buffer"], here.mean_packet),
        buffer_counted=not _in_packets(link["buffer"]),
        mean_packet=here.mean_packet,
        framing=_framing(link),
        shaped=bool(link.get("shaped")),
        opposite=_opposite(scenario.name, facts, link, resolved),
        lost=(*_nowhere(aqm), *_varying(link)),
    )


def _opposite(name: str, facts: Facts, link: Mapping[str, Any], resolved: Mapping[str, Any]) -> Wanted | None:
    """Returns what the scenario asks of the opposite direction: `None` where it has neither a rate,
    nor a buffer, nor a discipline of its own there.
    """
    here, there = facts.bottleneck, facts.opposite
    if there is None:
        return None
    reverse = value_at(resolved, there.aqm_path)
    own = reverse if reverse["kind"] != "droptail" else None
    if not (own or link["reverse_rate"] or link["reverse_buffer"] or link.get("reverse_shaped")):
        return None
    # A plain queue has no mean packet of its own to speak of: what is said in packets means the same
    # packets in both directions.
    mean = (there if own else here).mean_packet
    buffer = link["reverse_buffer"] or link["buffer"]
    discipline: Discipline = Tail()
    if own is not None:
        try:
            discipline = _discipline(own, there)
        except RefusedError:
            discipline = Other(kind=str(own["kind"]).removeprefix("python:"))
    return Wanted(
        name=name,
        aqm=discipline,
        ecn=own is not None and bool(own["ecn"]),
        rate_bps=there.rate_bps,
        reverse_rate_bps=here.rate_bps,
        buffer_bytes=_bytes(buffer, mean),
        buffer_counted=not _in_packets(buffer),
        mean_packet=mean,
        framing=_framing(link),
        shaped=bool(link.get("reverse_shaped")),
        lost=_nowhere(own) if own is not None else (),
    )


def _framing(link: Mapping[str, Any]) -> Framing | None:
    """Returns what the line adds to a packet, and the box is told: not where the scenario's shaper is not."""
    overhead, mpu = (int(parse_size(link.get(key) or "0 B")) for key in ("overhead", "mpu"))
    cells = link.get("framing") or "none"
    told = link.get("shaper_framed", True) and (overhead or mpu or cells != "none")
    return Framing(overhead=overhead, mpu=mpu, cells=cells) if told else None


def _nowhere(aqm: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns what a discipline asks for and no platform has."""
    asked = ((key, aqm[key]) for key in NOWHERE if key in aqm)
    return tuple(
        f"{key} = {value!r}: the box does as {key} = {NOWHERE[key]!r}" for key, value in asked if value != NOWHERE[key]
    )


def _varying(link: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns what rates that vary lose."""
    rates = {"schedule": link["rate"], "reverse_schedule": link.get("reverse_rate") or link["rate"]}
    return tuple(f"{key}: the box is told one rate, {rates[key]}" for key in rates if link.get(key))


def rounded(scenario: Scenario, written: Written) -> Scenario:
    """Returns the scenario with what the box will really do at its bottleneck, in the opposite
    direction, too, where that is written.
    """
    here = _facts(scenario).bottleneck
    resolved = scenario.resolved
    link, aqm = value_at(resolved, here.path), value_at(resolved, here.aqm_path)
    table = dict(written.aqm)
    changes: dict[str, Any] = {here.aqm_path: table, f"{here.path}.buffer": written.buffer}
    reverse = aqm.get("reverse")
    if written.reverse is not None:
        there, buffer = written.reverse
        table["reverse"] = dict(there)
        changes[f"{here.path}.reverse_buffer"] = buffer
    else:
        # What the box does to the forward direction leaves the other one as it is.
        changes[f"{here.path}.reverse_buffer"] = link["reverse_buffer"] or link["buffer"]
        if reverse is not None and reverse["kind"] != "droptail":
            table["reverse"] = {key: value for key, value in reverse.items() if value is not None}
    return scenario.set_all(changes)


def wire_packet(scenario: Scenario) -> int | None:
    """Returns the size on the wire of the first TCP group's full packets; `None` if there is no
    such group.
    """
    full = (group.full_packet for group in scenario.core.facts().groups)
    return next((each.segment + each.header for each in full if each is not None), None)


def _facts(scenario: Scenario) -> Facts:
    """Returns the facts of a scenario whose bottleneck is the forward direction of its table."""
    facts = scenario.core.facts()
    if not facts.bottleneck.forward:
        name = scenario.resolved["topology"]["bottleneck"]
        raise RefusedError(f"topology.bottleneck = {name!r}: is the opposite direction of a link; name the forward one")
    return facts


def _discipline(aqm: Mapping[str, Any], link: LinkFacts) -> Discipline:
    kind = str(aqm["kind"])
    if kind in RAMPS:
        unit = 1 if link.in_bytes else link.mean_packet
        ends = (link.settled["min_th"] * unit, link.settled["max_th"] * unit)
        return _ramp(kind, aqm, link, ends, aqm["max_p"])
    if kind == "step":
        return _step(aqm, link)
    if kind == "wred":
        return _coloured(aqm, link)
    if kind in ("codel", "fq-codel"):
        return _codel(kind, aqm)
    if kind in ("pie", "fq-pie"):
        return _pie(kind, aqm)
    if kind == "cake":
        return _cake(aqm, link.settled)
    if kind == "dualpi2":
        return _dual(aqm, link.settled)
    if kind == "sfq":
        return _sfq(aqm, link.mean_packet)
    if kind == "sfb":
        return _sfb(aqm)
    if kind == "droptail":
        return Tail()
    if kind.startswith("python:"):
        raise RefusedError(f"aqm.kind = {kind.removeprefix('python:')!r}: a discipline of your own runs on no router")
    others = ("wred", "step", "codel", "fq-codel", "cake", "pie", "fq-pie", "dualpi2", "sfq", "sfb")
    can = ", ".join(("droptail", *RAMPS, *others))
    raise RefusedError(f"aqm.kind = {kind!r}: no platform here runs it; these run somewhere: {can}")


#: Keys of `step` that no platform's step has → why.
STEP_NOWHERE: Mapping[str, str] = {
    "kmax": 'a platform\'s step has no ramp; kind = "red" with w_q = 1 is one on the queue as it is',
    "sojourn": "the platforms' steps look at the queue's length",
    "few": "the platforms' steps look at the threshold alone",
    "of": "no platform here has a phantom queue",
}


def _step(aqm: Mapping[str, Any], link: LinkFacts) -> Step:
    for key, why in STEP_NOWHERE.items():
        if key in aqm:
            raise RefusedError(f"aqm.{key} = {aqm[key]!r}: {why}")
    threshold = _bytes(aqm["threshold"], link.mean_packet)
    return Step(threshold_bytes=threshold, bytes_counted=link.in_bytes, not_capable=aqm["not_capable"])


def _ramp(kind: str, aqm: Mapping[str, Any], link: LinkFacts, ends: tuple[float, float], max_p: float) -> Ramp:
    """Returns a ramp between two lengths in bytes, with all else that RED has."""
    return Ramp(
        kind=kind,
        min_bytes=ends[0],
        max_bytes=ends[1],
        max_p=max_p,
        w_q=link.settled["w_q"],
        gate=aqm["gate"],
        bytes_counted=link.in_bytes,
        gentle=aqm["gentle"],
        forced=aqm["forced"],
        mark_p=aqm["mark_p"],
        byte_mode=aqm["byte_mode"],
    )


def _coloured(aqm: Mapping[str, Any], link: LinkFacts) -> Coloured:
    """Returns WRED's colours. Raises `RefusedError` for one without thresholds of its own."""
    colours = []
    for place, (name, told) in enumerate((aqm["colour"] or {}).items()):
        for key in ("min_th", "max_th"):
            if told[key] is None:
                raise RefusedError(
                    f"aqm.colour.{name}.{key}: is needed here; the kind's own threshold is for no router"
                )
        low, high = (_bytes(told[key], link.mean_packet) for key in ("min_th", "max_th"))
        drops = _ramp("red", aqm, link, (low, high), aqm["max_p"] if told["max_p"] is None else told["max_p"])
        marks = None
        if told["ecn_max_th"] is not None:
            begins = low if told["ecn_min_th"] is None else _bytes(told["ecn_min_th"], link.mean_packet)
            most = drops.max_p if told["ecn_max_p"] is None else told["ecn_max_p"]
            ends = _bytes(told["ecn_max_th"], link.mean_packet)
            # Beyond it capable packets are marked, whatever `forced` says.
            marks = replace(drops, min_bytes=begins, max_bytes=ends, max_p=most, forced="mark", gentle=False)
        first = told["dscp"]
        colours.append(
            Colour(
                name=name,
                dscps=None if first is None else (first, first if told["dscp_to"] is None else told["dscp_to"]),
                precedence=told["drop_precedence"],
                rank=place if told["rank"] is None else told["rank"],
                drops=drops,
                marks=marks,
            )
        )
    if not colours:
        raise RefusedError(
            "aqm.colour: name the colours here, [aqm.colour.green] and so on; those built in are no router's"
        )
    return Coloured(colours=tuple(colours), average=aqm["average"])


#: Key → what Linux's CoDel has (include/net/codel_impl.h), and `variant = "linux"` comes to.
LINUX_CODEL: Mapping[str, object] = {"control_law": "newton", "above": "after", "clock": "linux", "most_drops": 256}
#: The same of FQ-CoDel (net/sched/sch_fq_codel.c).
LINUX_FQ_CODEL: Mapping[str, object] = {
    **LINUX_CODEL,
    "behind": "all",
    "overflow_when": "after",
    "halve": "bytes",
    "overflow_counts": True,
}
#: The same of PIE (net/sched/sch_pie.c).
LINUX_PIE: Mapping[str, object] = {
    "burst_from": "departures",
    "decay": 63 / 64,
    "guard_from": "departure",
    "min_backlog": "3028 B",
    "dq_average": "rate",
    "first_update": "500 ms",
}


def _not_linux(aqm: Mapping[str, Any], linux: Mapping[str, object]) -> tuple[str, ...]:
    """Returns what a discipline asks for and Linux's form of it has not, a sentence each."""
    told = {key: aqm[key] for key in linux if aqm.get(key) is not None}
    others = [
        f"{key} = {value!r}: the kernel's is {linux[key]!r}"
        for key, value in told.items()
        if _amount(value) != _amount(linux[key])
    ]
    left = [key for key in linux if key not in told]
    if not _is_linux(aqm) and left:
        form = f"the kernel has its own form of {', '.join(left)}"
        others.append(f"variant = 'rfc': {form}; variant = 'linux' simulates it")
    return tuple(others)


def _is_linux(aqm: Mapping[str, Any]) -> bool:
    """Whether a discipline is the kernel's own form. A quiet key is left out where it has its default."""
    return bool(aqm.get("variant", "rfc") == "linux")


def _amount(value: object) -> object:
    """Returns a size in bytes and a time in seconds; anything else as it is."""
    if not isinstance(value, str) or not value[0].isdigit():
        return value
    return parse_size(value) if value.endswith("B") else parse_duration(value)


def _codel(kind: str, aqm: Mapping[str, Any]) -> Codel:
    if "sce_ramp" in aqm:
        raise RefusedError(f"aqm.sce_ramp = {aqm['sce_ramp']!r}: no platform here marks SCE")
    linux = LINUX_CODEL if kind == "codel" else LINUX_FQ_CODEL
    form = tuple(key for key in linux if aqm.get(key) is not None)
    others = _not_linux(aqm, linux)
    target_s, interval_s = parse_duration(aqm["target"]), parse_duration(aqm["interval"])
    maxpacket = parse_size(aqm["maxpacket"])
    threshold = aqm.get("ce_threshold")
    threshold_s = None if threshold is None else parse_duration(threshold)
    if kind == "codel":
        return Codel(
            kind=kind,
            target_s=target_s,
            interval_s=interval_s,
            maxpacket_bytes=maxpacket,
            ce_threshold_s=threshold_s,
            form=form,
            others=others,
        )
    memory = aqm.get("memory_limit")
    if memory is None and _is_linux(aqm):
        memory = f"{MEMORY_LIMIT} B"
    return Codel(
        kind=kind,
        target_s=target_s,
        interval_s=interval_s,
        maxpacket_bytes=maxpacket,
        flows=aqm["flows"],
        quantum_bytes=parse_size(aqm["quantum"]),
        limit_pkts=aqm["limit"],
        drop_batch=aqm["drop_batch"],
        ce_threshold_s=threshold_s,
        ce_selector=(aqm.get("ce_selector", 0), aqm.get("ce_mask", 0)),
        memory_bytes=None if memory is None else parse_size(memory),
        booked_bytes=parse_size(aqm.get("packet_overhead", "0 B")),
        form=form,
        others=others,
    )


def _cake(aqm: Mapping[str, Any], settled: Mapping[str, float]) -> Cake:
    return Cake(
        tins=aqm["tins"],
        isolation=aqm["isolation"],
        rtt_s=parse_duration(aqm["rtt"]),
        unlimited=aqm["unlimited"],
        memory_bytes=settled["memory_limit"],
        booked_bytes=int(parse_size(aqm.get("packet_overhead") or "0 B")),
    )


def _pie(kind: str, aqm: Mapping[str, Any]) -> Pie:
    queues: dict[str, Any] = {}
    if kind == "fq-pie":
        queues = {"flows": aqm["flows"], "quantum_bytes": parse_size(aqm["quantum"])}
        queues |= {"limit_pkts": aqm["limit"], "fattest": aqm["full"] == "fattest"}
    return Pie(
        kind=kind,
        **queues,
        bytemode=aqm.get("bytemode", False),
        others=_not_linux(aqm, LINUX_PIE),
        target_s=parse_duration(aqm["qdelay_ref"]),
        t_update_s=parse_duration(aqm["t_update"]),
        alpha=aqm["alpha"],
        beta=aqm["beta"],
        max_burst_s=parse_duration(aqm["max_burst"]),
        mark_ecnth=aqm["mark_ecnth"],
        derandomize=aqm["derandomize"],
        high_delay_s=parse_duration(aqm["high_delay"]),
        rate_estimate=aqm["delay_from"] == "rate-estimate",
        dq_threshold_bytes=parse_size(aqm["dq_threshold"]),
    )


#: Settled key of DualPI2 → what Linux does, and what the other value asks for. Words are told by
#: their places.
LINUX_DUAL: Mapping[str, tuple[float, str]] = {
    "spread": (1, "spread = 'recur': the kernel chooses packets by chance"),
    "native": (1, "native = 'ramp': the kernel marks by a step, at step_thresh"),
    "joined": (1, "joined = 'max': the kernel marks by the step and by the coupling, each by itself"),
    "th_len_at": (1, "th_len_at = 'departure': the kernel looks at th_len where packets arrive"),
    "pi_guard": (3028, "pi_guard: the kernel's is two frames, 3028 B"),
    "overload": (1, "overload = 'reached': the kernel's begins above k·p' = 1"),
    "fixed_point": (1, "fixed_point = false: the kernel reckons in whole numbers of 32 bits"),
}


def _dual(aqm: Mapping[str, Any], settled: Mapping[str, float]) -> Dual:
    others = [why for key, (linux, why) in LINUX_DUAL.items() if settled[key] != linux]
    for key, linux in (("mtu", FRAME), ("packet_memory", BOOKED)):
        if parse_size(aqm.get(key, "0 B")) not in (0, linux):
            others.append(f"{key} = {aqm[key]!r}: the kernel's is {linux} B")
    if aqm["scheduler"] != "wrr":
        others.append("scheduler = 'ts-fifo': the kernel shares by bytes, with classic_protection")
    return Dual(
        target_s=settled["target"],
        t_update_s=settled["t_update"],
        alpha=settled["alpha"],
        beta=settled["beta"],
        k=aqm["k"],
        step_s=parse_duration(aqm["step_thresh"]),
        step_pkts=aqm["step_packets"],
        th_len=int(settled["th_len"]),
        protection=settled.get("classic_protection", 0.1),
        limit_pkts=settled.get("limit_packets", math.inf),
        limit_bytes=settled.get("limit_bytes", math.inf),
        memory_bytes=settled.get("memory", math.inf),
        drop_on_overload=aqm["drop_on_overload"],
        at_arrival=aqm["decides"] == "arrival",
        any_ect=aqm["identify"] == "any-ect",
        others=tuple(others),
    )


def _sfq(aqm: Mapping[str, Any], mean: int) -> Sfq:
    red = None
    if aqm["min_th"] is not None:
        low = _bytes(aqm["min_th"], mean)
        red = Ramp(
            kind="red",
            min_bytes=low,
            max_bytes=3 * low if aqm["max_th"] is None else _bytes(aqm["max_th"], mean),
            max_p=aqm["max_p"],
            w_q=aqm["w_q"],
            forced="drop" if aqm["harddrop"] else "mark",
        )
    return Sfq(
        divisor=aqm["divisor"],
        flows=aqm["flows"],
        depth=aqm["depth"],
        limit_pkts=aqm["limit"],
        quantum_bytes=parse_size(aqm["quantum"]),
        perturb_s=None if aqm["perturb"] is None else parse_duration(aqm["perturb"]),
        headdrop=aqm["headdrop"],
        red=red,
    )


def _sfb(aqm: Mapping[str, Any]) -> Sfb:
    return Sfb(
        target=aqm["target"],
        max=aqm["max"],
        increment=aqm["increment"],
        decrement=aqm["decrement"],
        penalty_rate=aqm["penalty_rate"],
        penalty_burst=aqm["penalty_burst"],
        rehash_s=parse_duration(aqm["rehash"]),
        warm_up_s=parse_duration(aqm["warm_up"]),
    )


def _in_packets(length: str) -> bool:
    _, in_packets = parse_queue(length)
    return in_packets


def _bytes(length: str, mean: int) -> float:
    """Returns a queue's length in bytes; packets count as so many mean ones."""
    number, in_packets = parse_queue(length)
    return number * mean if in_packets else number
