"""What a scenario asks of its bottleneck, and a scenario with something else there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from penstock._penstock import parse_duration, parse_queue, parse_rate, parse_size
from penstock.errors import ScenarioError
from penstock.model.scenario import Scenario
from penstock.operators.model import Codel, Discipline, Pie, Ramp, RefusedError, Step, Tail, Wanted, Written

#: The kinds that any platform has, and no other.
RAMPS = ("red", "ared", "choke", "nlred")


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
    )


def rounded(scenario: Scenario, written: Written) -> Scenario:
    """Returns the scenario with what the box will really do at its bottleneck."""
    _, aqm, link_path, aqm_path = _bottleneck(scenario.resolved)
    table = dict(written.aqm)
    reverse = aqm.get("reverse")
    if reverse is not None and reverse["kind"] != "droptail":
        table["reverse"] = {key: value for key, value in reverse.items() if value is not None}
    return scenario.set_all({aqm_path: table, f"{link_path}.buffer": written.buffer})


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
    if kind == "codel":
        return Codel(kind=kind, target_s=target_s, interval_s=interval_s)
    threshold = aqm["ce_threshold"]
    return Codel(
        kind=kind,
        target_s=target_s,
        interval_s=interval_s,
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
