"""A run's metrics as ns-2 counts them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

#: What the script samples as maxp_mean, by kind: a column of the queue's series. Only what an adapter moves; it is a
#: parameter elsewhere, and no measurement.
ADAPTED = {
    "ared": "max_p",
    "feng-ared": "max_p",
    "amecn": "p1_max",
    "nred": "n",
    "blue": "p_m",
}
#: How often the series are sampled for it, in seconds.
SAMPLING_S = 0.1
Metrics = Mapping[str, "float | None"]
#: A table of a run, as the extension module gives it.
Table = Sequence[tuple[str, str, bytes, Sequence[str]]]


def as_ns2_counts(
    document: Mapping[str, Any], metrics: Metrics, flows: Sequence[Mapping[str, Any]]
) -> dict[str, float | None]:
    """Returns the metrics with goodput and fairness as the reference has them.

    ns-2 numbers packets from the SYN, so its counter of acknowledged packets moves by one when a connection opens, and
    the reference counts that as a packet's payload. Here it is none. For the comparison each long-lived forward flow
    that opened inside the window gets that one packet: percents of what a flow sends in 3.5 s, nothing over minutes.
    """
    begin, end = (_seconds(document["measure"][key]) for key in ("from", "to"))
    entries = document["traffic"]
    forward = {i: e for i, e in enumerate(entries) if e["kind"] == "ftp" and e.get("direction") != "reverse"}
    if document["topology"]["kind"] == "parking-lot" and forward:
        # The cross flows are a group of their own, behind the others, with the start of the first.
        forward[len(entries)] = next(iter(forward.values()))
    rates, seen = [], dict.fromkeys(forward, 0)
    for flow in flows:
        entry = forward.get(flow["group"])
        if entry is None:
            continue
        bps = flow["goodput_bps"] or 0.0
        if bps > 0 and entry["tcp"] != "vegas":  # which sends no SYN
            share = _inside(entry["start"], seen[flow["group"]], begin, end)
            bps += share * 8.0 * float(entry["segment"].split()[0]) / (end - begin)
        seen[flow["group"]] += 1
        rates.append(bps)
    if not rates:
        return dict(metrics)
    squares = math.fsum(r * r for r in rates)
    jain = math.fsum(rates) ** 2 / (len(rates) * squares) if squares > 0 else 1.0
    return {**metrics, "goodput_bps": math.fsum(rates), "jain": jain}


def columns(document: Mapping[str, Any]) -> dict[str, str]:
    """Returns the columns of the queue's series that this case's comparison needs, by what they are for."""
    aqm = document["aqm"]
    needed = {}
    if adapted := ADAPTED.get("ared" if aqm.get("base") == "ared" else aqm["kind"]):
        needed["maxp_mean"] = adapted
    if aqm["kind"] == "rared":
        needed["marks_2"] = "climb_marks"
    return needed


def counters(document: Mapping[str, Any], metrics: Metrics, queue: Table | None) -> dict[str, float | None]:
    """Returns those metrics of the reference that are none of ours.

    queue: the queue's series, where `columns` asks for it.
    """
    kind = document["aqm"]["kind"]
    # BLUE keeps no average; the script's variable is then the queue that the last arrival found.
    average = metrics["queue_mean_pkts" if kind == "blue" else "avg_queue_mean_pkts"]
    if average is not None and document["aqm"].get("unit") == "bytes":  # ours is in packets of the mean size
        average *= float(document["aqm"]["mean_packet"].split()[0])
    # Moderate marks; for RARED those made while the average climbs.
    found: dict[str, float | None] = {"avg_mean": average, "marks_2": metrics["marks_ce"] if kind != "rared" else None}
    if queue is None:
        return found
    begin, end = (_seconds(document["measure"][key]) for key in ("from", "to"))
    series = {name: array("d", raw) for name, kind, raw, _ in queue if kind == "f64"}
    inside = [i for i, t in enumerate(series["t_s"]) if begin - 1e-9 <= t < end - 1e-9]
    for metric, column in columns(document).items():
        values = series[column]
        if metric == "maxp_mean":
            found[metric] = math.fsum(values[i] for i in inside) / len(inside)
        else:  # a counter
            after = inside[-1] + 1
            found[metric] = values[min(after, len(values) - 1)] - values[inside[0]]
    return found


def _inside(start: Any, i: int, begin: float, end: float) -> float:
    """Returns the probability that flow `i` of an entry starts in [begin, end)."""
    if isinstance(start, str):
        return float(begin <= _seconds(start) < end)
    if "every" in start:
        return float(begin <= _seconds(start["from"]) + i * _seconds(start["every"]) < end)
    low, high = (_seconds(t) for t in start["uniform"])
    return max(0.0, min(high, end) - max(low, begin)) / (high - low)


def _seconds(text: str) -> float:
    from penstock import _penstock

    return _penstock.parse_duration(text)
