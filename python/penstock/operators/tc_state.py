"""What `tc -d -j qdisc show` says, as a scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from penstock.errors import ScenarioError
from penstock.operators.state import Given, number, one, rate_text, scenario_file, table, whole
from penstock.operators.tc_delays import FRAME_MEMORY, PIE_GAIN, PIE_MOST, pie_reported

#: A frame's IP packet; the state does not say the mean packet.
PACKET = 1500
MOST = 2**32 - 1

Options = Mapping[str, Any]
Read = tuple[dict[str, object], str]


def read(document: Any, given: Given) -> str:
    """Returns a scenario file. Raises `ScenarioError`."""
    if not isinstance(document, list):
        raise ScenarioError("must be the list that `tc -d -j qdisc show` prints")
    qdiscs = [table(each, f"entry {place}") for place, each in enumerate(document)]
    qdisc = _chosen(qdiscs, given)
    kind, dev = qdisc["kind"], _device(qdisc, given)
    where = f"{dev}: {kind}"
    options = table(qdisc.get("options"), where)
    aqm, buffer = READ[kind](options, where)
    rate = rate_text(_rate(qdisc, qdiscs), given, where)
    said = f"What `tc -d -j qdisc show` says of {dev}: {kind}."
    if _flag(options, "adaptive"):
        said += "\n# It says `adaptive`, but max_p stands still with tc and kernels since 5.7."
    return scenario_file(
        dev,
        said,
        rate=rate,
        buffer=buffer,
        aqm=aqm,
        given=given,
    )


def _chosen(qdiscs: list[Mapping[str, Any]], given: Given) -> Mapping[str, Any]:
    """Returns the qdisc that decides: the only one that is read, on the interface that was
    chosen.
    """
    there = [each for each in qdiscs if isinstance(each.get("kind"), str)]
    if given.dev is not None:
        devices = sorted({_device(each, given) for each in there})
        there = [each for each in there if _device(each, given) == given.dev]
        if not there:
            raise ScenarioError(f"--dev {given.dev}: no such interface; there are: {', '.join(devices) or 'none'}")
    found = [each for each in there if each["kind"] in READ]
    if not found:
        kinds = ", ".join(sorted({each["kind"] for each in there})) or "none"
        raise ScenarioError(f"has no qdisc that is read ({', '.join(READ)}); it has: {kinds}")
    one(sorted({_device(each, given) for each in found}), "interface", "--dev")
    # Below mq every hardware queue has its own, all alike.
    several = sorted({each["kind"] for each in found})
    if len(several) > 1:
        raise ScenarioError(f"has several qdiscs: {', '.join(several)}; a scenario has one")
    return found[0]


def _device(qdisc: Mapping[str, Any], given: Given) -> str:
    """Returns the interface; `tc qdisc show dev NAME` leaves it out."""
    dev = qdisc.get("dev")
    return dev if isinstance(dev, str) else given.dev or "eth0"


def _rate(qdisc: Mapping[str, Any], qdiscs: list[Mapping[str, Any]]) -> float | None:
    """Returns the rate of the qdisc itself or of the shaper above it in bit/s; tc prints bytes per
    second.
    """
    options = qdisc["options"]
    if qdisc["kind"] == "cake":
        told = options.get("bandwidth")
        return 8 * told if isinstance(told, (int, float)) and not isinstance(told, bool) and 0 < told < 1e12 else None
    for each in qdiscs:
        above = each.get("options")
        if each.get("kind") == "tbf" and each.get("dev") == qdisc.get("dev") and isinstance(above, dict):
            told = above.get("rate")
            if isinstance(told, (int, float)) and not isinstance(told, bool) and 0 < told < 1e12:
                return 8 * told
    return None


def _flag(options: Options, key: str) -> bool:
    return options.get(key) is True


def _ramp(options: Options, where: str) -> dict[str, object]:
    """Returns what all of RED's kin share, without the thresholds."""
    if "ewma" not in options:
        raise ScenarioError(f"{where}: has no ewma: read the state with `tc -d -s -j qdisc show`, which has it")
    return {
        "max_p": max(2.0**-32, number(options, "probability", where, 0, 1)),
        "w_q": 2.0 ** -whole(options, "ewma", where, 0, 31),
        "gate": "uniform",
        "gentle": False,
        "ecn": _flag(options, "ecn"),
        "forced": "mark" if _flag(options, "ecn") and not _flag(options, "harddrop") else "drop",
    }


def _red(options: Options, where: str) -> Read:
    low = whole(options, "min", where, 1, MOST)
    high = whole(options, "max", where, low + 1, MOST)
    shared = _ramp(options, where)
    aqm = {
        "kind": "red",
        "unit": "bytes",
        "mean_packet": f"{PACKET} B",
        "min_th": f"{low} B",
        "max_th": f"{high} B",
    }
    return {**aqm, **shared}, f"{whole(options, 'limit', where, 1, MOST)} B"


def _choke(options: Options, where: str) -> Read:
    low = whole(options, "min", where, 1, MOST)
    high = whole(options, "max", where, low + 1, MOST)
    shared = {key: value for key, value in _ramp(options, where).items() if key != "gentle"}
    aqm = {
        "kind": "choke",
        "unit": "packets",
        "mean_packet": f"{PACKET} B",
        "min_th": low,
        "max_th": high,
    }
    return {**aqm, **shared}, f"{whole(options, 'limit', where, 1, MOST)} packets"


def _gred(options: Options, where: str) -> Read:
    queues = options.get("vqs")
    if not isinstance(queues, list) or len(queues) != 1:
        count = len(queues) if isinstance(queues, list) else 0
        raise ScenarioError(f"{where}: has {count} virtual queues; a scenario has one")
    queue = table(queues[0], where)
    flags = {flag: _flag(queue, flag) or _flag(options, flag) for flag in ("ecn", "harddrop")}
    return _red({**queue, **flags}, where)


def codel_time(reported_us: int) -> int:
    """Returns the round number of microseconds that the kernel was given, from those that it
    reports.

    It counts in units of 1024 ns and rounds down twice: 5000 µs are reported as 4999.

    >>> codel_time(4999), codel_time(99999)
    (5000, 100000)
    """
    ticks = math.ceil(reported_us * 1000 / 1024)
    return math.ceil(ticks * 1024 / 1000)


def _codel(options: Options, where: str) -> Read:
    aqm: dict[str, object] = {
        "kind": "codel",
        "mean_packet": f"{PACKET} B",
        "ecn": _flag(options, "ecn"),
        "target": f"{codel_time(whole(options, 'target', where, 1, MOST))} us",
        "interval": f"{codel_time(whole(options, 'interval', where, 1, MOST))} us",
    }
    return aqm, f"{whole(options, 'limit', where, 1, MOST)} packets"


def _fq_codel(options: Options, where: str) -> Read:
    aqm, buffer = _codel(options, where)
    aqm |= {
        "kind": "fq-codel",
        "flows": whole(options, "flows", where, 1, 65536),
        "quantum": f"{whole(options, 'quantum', where, 256, 2**20)} B",
        "limit": min(10**6, whole(options, "limit", where, 1, MOST)),
    }
    if "drop_batch" in options:
        aqm["drop_batch"] = whole(options, "drop_batch", where, 1, 65536)
    if "ce_threshold" in options:
        aqm["ce_threshold"] = f"{codel_time(whole(options, 'ce_threshold', where, 0, MOST))} us"
    return aqm, buffer


def _pie(options: Options, where: str) -> Read:
    period = whole(options, "tupdate", where, 1, MOST)
    target = whole(options, "target", where, 1, MOST)
    target += pie_reported(target) < target  # rounded down once: the next higher is what it was given
    aqm: dict[str, object] = {
        "kind": "pie",
        "mean_packet": f"{PACKET} B",
        "ecn": _flag(options, "ecn"),
        "qdelay_ref": f"{target} us",
        "t_update": f"{period} us",
        "alpha": whole(options, "alpha", where, 0, PIE_MOST) / PIE_GAIN,
        "beta": whole(options, "beta", where, 0, PIE_MOST) / PIE_GAIN,
        "delay_from": "rate-estimate" if _flag(options, "dq_rate_estimator") else "timestamps",
    }
    return aqm, f"{whole(options, 'limit', where, 1, MOST)} packets"


def _cake(options: Options, where: str) -> Read:
    rtt = whole(options, "rtt", where, 1, MOST)
    aqm: dict[str, object] = {
        "kind": "fq-codel",
        "mean_packet": f"{PACKET} B",
        "ecn": True,
        "target": f"{max(1, rtt // 20)} us",
        "interval": f"{rtt} us",
    }
    memory = whole(options, "memlimit", where, 0, MOST) if "memlimit" in options else 0
    return aqm, f"{max(1, (memory or 4 * 1024 * 1024) // FRAME_MEMORY)} packets"


def _fifo(unit: str) -> Callable[[Options, str], Read]:
    def read_fifo(options: Options, where: str) -> Read:
        return {
            "kind": "droptail",
            "mean_packet": f"{PACKET} B",
        }, f"{whole(options, 'limit', where, 1, 10**9)} {unit}"

    return read_fifo


#: Qdisc → its reader.
READ: Mapping[str, Callable[[Options, str], Read]] = {
    "red": _red,
    "gred": _gred,
    "choke": _choke,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "pie": _pie,
    "cake": _cake,
    "pfifo": _fifo("packets"),
    "bfifo": _fifo("B"),
}
