"""RED and its kin, from `tc`'s state to a scenario's keys."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import ScenarioError
from penstock.operators.state import number, table, whole
from penstock.operators.tc_box import MOST, PACKET, Box, Options, Read, on
from penstock.operators.tc_gred import MOST as MOST_QUEUES
from penstock.operators.tc_gred import claims


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
        "gate": "drawn",
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
    """Reads sch_gred: several virtual queues become the colours of wred."""
    listed = box.options.get("vqs")
    queues = [table(each, box.where) for each in listed] if isinstance(listed, list) else []
    if not queues:
        raise ScenarioError(f"{box.where}: has no virtual queue")
    if len(queues) > 1:
        return _coloured(box, queues)
    flags = {flag: on(queues[0], flag) or on(box.options, flag) for flag in ("ecn", "harddrop")}
    box.ramp = {**queues[0], **flags}
    read = ramp(box, "B")
    if "limit" not in box.options:
        return read
    all_of_them, own = (whole(each, "limit", box.where, 1, MOST) for each in (box.options, queues[0]))
    larger = "limit" if all_of_them >= own else "vq limit"
    return Read(read.aqm, f"{min(all_of_them, own)} B", {larger: None})


#: Fields of gred → the key that carries them where there are colours.
COLOURED = {
    **dict.fromkeys(("dp_cnt", "dp_default", "vq vq", "vq min", "vq max", "vq probability", "vq Plog"), "aqm.colour"),
    "grio": "aqm.average",
}
#: Fields of virtual queues that a scenario has but once → what is lost where they differ.
ALIKE = {
    "ewma": "the scenario has one weight for all colours, that of the default one",
    "ecn": "the scenario marks all colours, or none",
    "harddrop": "beyond the ramps the scenario drops all colours, or none",
    "Scell_log": "while the link is idle the scenario's averages decay alike",
    "limit": "the scenario has one buffer for all colours, the largest of these",
}


def _coloured(box: Box, queues: Sequence[Options]) -> Read:
    where = box.where
    numbers = {whole(each, "vq", where, 0, MOST_QUEUES - 1): each for each in queues}
    if len(numbers) < len(queues):
        raise ScenarioError(f"{where}: has two virtual queues of one number")
    default = whole(box.options, "dp_default", where, 0, MOST_QUEUES - 1)
    prios = [whole(each, "prio", where, 0, 255) for each in queues]
    average = "own"
    if on(box.options, "grio"):
        average = "rio" if len(set(prios)) == len(prios) else "shared"
    claimed, words = claims(list(numbers), default)
    usual = {flag: any(on(each, flag) for each in (*queues, box.options)) for flag in ("ecn", "harddrop")}
    first = numbers.get(default, queues[0])
    box.ramp = {**first, **usual}
    aqm = red_numbers(box.ramp, where, "B")
    colours: dict[str, dict[str, object]] = {}
    for vq, queue in numbers.items():
        own = red_numbers({**queue, **usual}, where, "B")
        colours[f"vq{vq}"] = {
            **claimed.get(vq, {}),
            **({"rank": queue["prio"]} if average == "rio" else {}),
            **{key: own[key] for key in ("min_th", "max_th", "max_p")},
        }
    limit = max(whole(each, "limit", where, 1, MOST) for each in queues)
    if default not in numbers:  # what no filter sorts then passes up to the limit
        colours["rest"] = {"min_th": f"{limit} B", "max_th": f"{limit + 1} B"}
        colours["rest"] |= {"rank": 0} if average == "rio" else {}
    for key in ("min_th", "max_th", "max_p"):
        del aqm[key]
    special: dict[str, str | None] = {"limit": None}
    for name, why in ALIKE.items():
        differ = len({str(each.get(name)) for each in queues}) > 1
        special |= {f"vq {name}": why} if differ else {}
    box.default_to |= COLOURED | ({"vq prio": "aqm.colour"} if average == "rio" else {})
    if average != "rio":
        special["vq prio"] = None
    note = (
        f"filters, which are not in the state, say which packets come to which virtual queue: the numbers are taken "
        f"for {words}, and {default} for all others; change the colours' keys to what your filters do"
    )
    made: dict[str, object] = {**aqm, "kind": "wred", "average": average, "colour": colours}
    return Read(made, f"{limit} B", special, notes=(note,))
