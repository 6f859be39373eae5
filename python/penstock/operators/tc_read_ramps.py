"""RED and its kin, from `tc`'s state to a scenario's keys."""

from __future__ import annotations

from penstock.errors import ScenarioError
from penstock.operators.state import number, table, whole
from penstock.operators.tc_box import MOST, PACKET, Box, Options, Read, on


def ramp(box: Box, unit: str) -> Read:
    """Returns RED and its kin. unit: `B` or `packets`."""
    options, where = box.ramp, box.where
    return Read(red_numbers(options, where, unit), f"{whole(options, 'limit', where, 1, MOST)} {unit}")


def red_numbers(options: Options, where: str, unit: str) -> dict[str, object]:
    """Returns RED's `[aqm]`."""
    low = whole(options, "min", where, 1, MOST)
    high = whole(options, "max", where, low + 1, MOST)
    if "ewma" not in options:
        raise ScenarioError(f"{where}: has no ewma: read the state with `tc -d -s -j qdisc show`, which has it")
    if "probability" not in options and "Plog" in options:  # kernels before 3.3: a power of two for each byte
        max_p = min(1.0, (high - low) * 2.0 ** -whole(options, "Plog", where, 0, 63))
    else:
        max_p = number(options, "probability", where, 0, 1)
    ecn = on(options, "ecn")
    return {
        "kind": "red",
        "unit": "bytes" if unit == "B" else "packets",
        "mean_packet": f"{PACKET} B",
        "min_th": f"{low} {unit}",
        "max_th": f"{high} {unit}",
        "max_p": max(2.0**-32, max_p),
        "w_q": 2.0 ** -whole(options, "ewma", where, 0, 31),
        "gate": "uniform",
        "gentle": False,
        "ecn": ecn,
        "forced": "mark" if ecn and not on(options, "harddrop") else "drop",
    }


def red(box: Box) -> Read:
    """Reads sch_red."""
    return ramp(box, "B")


def choke(box: Box) -> Read:
    """Reads sch_choke."""
    read = ramp(box, "packets")
    del read.aqm["gentle"]
    return Read({**read.aqm, "kind": "choke"}, read.buffer)


def gred(box: Box) -> Read:
    """Reads sch_gred."""
    queues = box.options.get("vqs")
    if not isinstance(queues, list) or len(queues) != 1:
        count = len(queues) if isinstance(queues, list) else 0
        raise ScenarioError(f"{box.where}: has {count} virtual queues; a scenario has one")
    queue = table(queues[0], box.where)
    flags = {flag: on(queue, flag) or on(box.options, flag) for flag in ("ecn", "harddrop")}
    box.ramp = {**queue, **flags}
    read = ramp(box, "B")
    if "limit" not in box.options:
        return read
    all_of_them, own = (whole(each, "limit", box.where, 1, MOST) for each in (box.options, queue))
    larger = "limit" if all_of_them >= own else "vq limit"
    return Read(read.aqm, f"{min(all_of_them, own)} B", {larger: None})
