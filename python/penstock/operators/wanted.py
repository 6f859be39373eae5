"""Finds what a scenario asks of its bottleneck, and a scenario with something else there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from penstock._penstock import parse_duration, parse_queue, parse_rate, parse_size
from penstock.errors import ScenarioError
from penstock.model.scenario import Scenario
from penstock.operators.model import Codel, Discipline, Other, Pie, Ramp, RefusedError, Step, Tail, Wanted, Written

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
    resolved = scenario.resolved
    link, aqm, _, _ = _bottleneck(resolved)
    rate = parse_rate(link["rate"])
    mean = parse_size(aqm["mean_packet"])
    return Wanted(
        name=scenario.name,
        aqm=_discipline(aqm, link, rate, mean),
        ecn=bool(aqm["ecn"]),
        rate_bps=rate,
        reverse_rate_bps=parse_rate(link["reverse_rate"] or link["rate"]),
        buffer_bytes=_bytes(link["buffer"], mean),
        buffer_counted=not _in_packets(link["buffer"]),
        mean_packet=mean,
        opposite=_opposite(scenario.name, link, aqm),
        lost=(*_nowhere(aqm), *_varying(link)),
    )


def _opposite(name: str, link: Mapping[str, Any], aqm: Mapping[str, Any]) -> Wanted | None:
    """Returns what the scenario asks of the opposite direction: `None` where it has neither a rate,
    nor a buffer, nor a discipline of its own there.
    """
    reverse = aqm.get("reverse")
    own = reverse if reverse is not None and reverse["kind"] != "droptail" else None
    if link.get("one_way") or not (own or link["reverse_rate"] or link["reverse_buffer"]):
        return None
    # A plain queue has no mean packet of its own to speak of: what is said in packets means the same
    # packets in both directions.
    table = own or aqm
    mean = parse_size(table["mean_packet"])
    buffer, rate = link["reverse_buffer"] or link["buffer"], link["reverse_rate"] or link["rate"]
    there = {**link, "buffer": buffer, "rate": rate, "delay": link["reverse_delay"] or link["delay"]}
    discipline: Discipline = Tail()
    if own is not None:
        try:
            discipline = _discipline(own, there, parse_rate(rate), mean)
        except RefusedError:
            discipline = Other(kind=str(own["kind"]).removeprefix("python:"))
    return Wanted(
        name=name,
        aqm=discipline,
        ecn=own is not None and bool(own["ecn"]),
        rate_bps=parse_rate(rate),
        reverse_rate_bps=parse_rate(link["rate"]),
        buffer_bytes=_bytes(buffer, mean),
        buffer_counted=not _in_packets(buffer),
        mean_packet=mean,
        lost=_nowhere(own) if own is not None else (),
    )


def _nowhere(aqm: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns what a discipline asks for and no platform has."""
    asked = ((key, aqm[key]) for key in NOWHERE if key in aqm)
    return tuple(
        f"{key} = {value!r}: the box does as {key} = {NOWHERE[key]!r}" for key, value in asked if value != NOWHERE[key]
    )


def _varying(link: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns what a rate that varies loses."""
    return (f"schedule: the box is told one rate, {link['rate']}",) if link.get("schedule") else ()


def rounded(scenario: Scenario, written: Written) -> Scenario:
    """Returns the scenario with what the box will really do at its bottleneck, in the opposite
    direction, too, where that is written.
    """
    link, aqm, link_path, aqm_path = _bottleneck(scenario.resolved)
    table = dict(written.aqm)
    changes: dict[str, Any] = {aqm_path: table, f"{link_path}.buffer": written.buffer}
    reverse = aqm.get("reverse")
    if written.reverse is not None:
        there, buffer = written.reverse
        table["reverse"] = dict(there)
        changes[f"{link_path}.reverse_buffer"] = buffer
    else:
        # What the box does to the forward direction leaves the other one as it is.
        changes[f"{link_path}.reverse_buffer"] = link["reverse_buffer"] or link["buffer"]
        if reverse is not None and reverse["kind"] != "droptail":
            table["reverse"] = {key: value for key, value in reverse.items() if value is not None}
    return scenario.set_all(changes)


def wire_packet(scenario: Scenario) -> int | None:
    """Returns the size on the wire of the first TCP group's full packets; `None` if there is no
    such group.
    """
    resolved = scenario.resolved
    for group in resolved["traffic"]:
        if group.get("segment"):
            header = group.get("header") or resolved["overhead"]
            return parse_size(group["segment"]) + parse_size(header)
    return None


def _bottleneck(resolved: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str, str]:
    """Returns the bottleneck's link, its discipline, and the paths of both."""
    topology = resolved["topology"]
    if topology["kind"] == "dumbbell":
        return topology["bottleneck"], resolved["aqm"], "topology.bottleneck", "aqm"
    if topology["kind"] == "parking-lot":
        return topology["link"], resolved["aqm"], "topology.link", "aqm"
    links = topology["link"]
    name = topology["bottleneck"] or f"{links[0]['from']}-{links[0]['to']}"
    for place, link in enumerate(links):
        if f"{link['from']}-{link['to']}" == name:
            path = f"topology.link.{place}"
            own = link.get("aqm")
            return link, own or resolved["aqm"], path, f"{path}.aqm" if own else "aqm"
    raise RefusedError(f"topology.bottleneck = {name!r}: is the opposite direction of a link; name the forward one")


def _discipline(aqm: Mapping[str, Any], link: Mapping[str, Any], rate_bps: float, mean: int) -> Discipline:
    kind = str(aqm["kind"])
    if kind in RAMPS:
        return _ramp(kind, aqm, link, rate_bps, mean)
    if kind == "step":
        counted = _counts_bytes(aqm, link, "threshold")
        threshold = _bytes(aqm["threshold"], mean)
        return Step(threshold_bytes=threshold, bytes_counted=counted, not_capable=aqm["not_capable"])
    if kind in ("codel", "fq-codel"):
        return _codel(kind, aqm)
    if kind == "pie":
        return _pie(aqm)
    if kind == "droptail":
        return Tail()
    if kind.startswith("python:"):
        raise RefusedError(f"aqm.kind = {kind.removeprefix('python:')!r}: a discipline of your own runs on no router")
    can = ", ".join(("droptail", *RAMPS, "step", "codel", "fq-codel", "pie"))
    raise RefusedError(f"aqm.kind = {kind!r}: no platform here runs it; these run somewhere: {can}")


def _ramp(kind: str, aqm: Mapping[str, Any], link: Mapping[str, Any], rate_bps: float, mean: int) -> Ramp:
    counted = _counts_bytes(aqm, link, "min_th", "max_th")
    pkts_per_s = rate_bps / (8 * mean)
    if aqm["min_th"] is not None:
        low = _bytes(aqm["min_th"], mean)
    else:  # Floyd, Gummadi, Shenker 2001, section 5
        low = mean * max(5.0, parse_duration(aqm["target_delay"]) * pkts_per_s / 2)
    high = _bytes(aqm["max_th"], mean) if aqm["max_th"] is not None else 3 * low
    if not low < high:
        raise ScenarioError(f"aqm.min_th: must be below max_th ({high / mean:g} packets)")
    return Ramp(
        kind=kind,
        min_bytes=low,
        max_bytes=high,
        max_p=aqm["max_p"],
        w_q=_weight(aqm["w_q"], pkts_per_s, parse_duration(link["delay"])),
        gate=aqm["gate"],
        bytes_counted=counted,
        gentle=aqm["gentle"],
        forced=aqm["forced"],
        mark_p=aqm["mark_p"],
        byte_mode=aqm["byte_mode"],
    )


def _weight(given: float | str, pkts_per_s: float, delay_s: float) -> float:
    """Returns the weight that an automatic one stands for (Floyd, Gummadi, Shenker 2001, section 4;
    ns-2).
    """
    if given == "auto":
        return -math.expm1(-1 / pkts_per_s)
    if given == "rtt":
        around = max(0.1, 3 * (delay_s + 1 / pkts_per_s))
        return -math.expm1(-1 / (10 * around * pkts_per_s))
    return float(given)


def _codel(kind: str, aqm: Mapping[str, Any]) -> Codel:
    target_s, interval_s = parse_duration(aqm["target"]), parse_duration(aqm["interval"])
    maxpacket = parse_size(aqm["maxpacket"])
    if kind == "codel":
        return Codel(kind=kind, target_s=target_s, interval_s=interval_s, maxpacket_bytes=maxpacket)
    threshold = aqm["ce_threshold"]
    return Codel(
        kind=kind,
        target_s=target_s,
        interval_s=interval_s,
        maxpacket_bytes=maxpacket,
        flows=aqm["flows"],
        quantum_bytes=parse_size(aqm["quantum"]),
        limit_pkts=aqm["limit"],
        drop_batch=aqm["drop_batch"],
        ce_threshold_s=None if threshold is None else parse_duration(threshold),
    )


def _pie(aqm: Mapping[str, Any]) -> Pie:
    return Pie(
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


def _counts_bytes(aqm: Mapping[str, Any], link: Mapping[str, Any], *keys: str) -> bool:
    """Returns whether the discipline counts bytes: as told, or where the buffer or a threshold is
    in bytes.
    """
    if aqm["unit"] is not None:
        return bool(aqm["unit"] == "bytes")
    return any(text is not None and not _in_packets(text) for text in (link["buffer"], *(aqm[key] for key in keys)))


def _in_packets(length: str) -> bool:
    _, in_packets = parse_queue(length)
    return in_packets


def _bytes(length: str, mean: int) -> float:
    """Returns a queue's length in bytes; packets count as so many mean ones."""
    number, in_packets = parse_queue(length)
    return number * mean if in_packets else number
