"""States of `tc`: one for each queue discipline with every field set, and what `tc` prints of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.operators import tc_fields as fields
from penstock.operators.tc_fields import Field
from penstock.operators.tc_forms import Form, show

RED: dict[str, Any] = {
    "limit": 300000,
    "min": 30000,
    "max": 90000,
    "ecn": True,
    "harddrop": False,
    "adaptive": False,
    "nodrop": False,
    "ewma": 9,
    "probability": 0.1,
    "Scell_log": 20,
}
_PIE = {"limit": 500, "target": 20000, "tupdate": 32000, "alpha": 3, "beta": 21, "ecn": True}
_PIE |= {"bytemode": False, "dq_rate_estimator": False}
_SFQ: dict[str, Any] = {
    "limit": 300,
    "quantum": 2000,
    "depth": 50,
    "headdrop": True,
    "flows": 128,
    "divisor": 256,
    "perturb": 10,
}
_SFQ |= {"ewma": 5, "min": 15000, "max": 60000, "probability": 0.02, "ecn": True}
_SFQ |= dict.fromkeys(("harddrop", "adaptive", "nodrop"), False)
#: Queue discipline → options as JSON has them, at 10 Mbit/s.
OPTIONS: dict[str, dict[str, Any]] = {
    "red": RED,
    "gred": {
        **{"dp_cnt": 1, "dp_default": 0, "grio": False, "limit": 300000, "ecn": True, "harddrop": False},
        "vqs": [{"vq": 0, "prio": 8} | {k: v for k, v in RED.items() if not isinstance(v, bool)}],
    },
    "choke": RED | {"limit": 1000, "min": 20, "max": 60},
    "codel": {"limit": 1000, "target": 6999, "interval": 119999, "ecn": True},
    "fq_codel": {
        **{"limit": 10240, "flows": 1024, "quantum": 1514, "target": 4999, "ce_threshold": 2999},
        **{"interval": 99999, "memory_limit": 2**25, "ecn": True, "drop_batch": 64},
    },
    "pie": _PIE,
    "fq_pie": _PIE | {"flows": 512, "quantum": 1000, "memory_limit": 2**20, "ecn_prob": 20},
    "cake": {
        **{"bandwidth": 1250000, "diffserv": "besteffort", "flowmode": "flows", "nat": False, "wash": False},
        **{"ingress": False, "ack-filter": "disabled", "split_gso": True, "rtt": 100000, "raw": False},
        **{"atm": "noatm", "overhead": 0, "memlimit": 1820 * 2304, "fwmark": "0"},
    },
    "sfq": _SFQ,
    "sfb": {
        **{"rehash": 500_000_000, "db": 50_000_000, "limit": 900, "max": 20, "target": 15},
        **{"increment": 0.0010071, "decrement": 0.000198367, "penalty_rate": 8, "penalty_burst": 19},
    },
    "dualpi2": {
        "limit": 10000,
        "memory-limit": 30280000,
        "target": 15000,
        "tupdate": 16000,
        "alpha": 0.15625,
        "beta": 3.1953125,
        "step-thresh-us": 1000,
        "min-qlen-step": 0,
        "coupling": 2,
        "drop-overload": "drop",
        "drop-early": "drop-dequeue",
        "c-protection": 10,
        "ecn-mask": "l4s-ect",
        "split-gso": True,
    },
    "pfifo": {"limit": 77},
    "bfifo": {"limit": 77777},
    "pfifo_fast": {"bands": 3, "priomap": [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1], "multiqueue": False},
    "tbf": {"rate": 1250000, "burst": "5000b/1", "mpu": 0, "lat": 236000, "linklayer": "ethernet"},
    "htb": {"r2q": 10, "default": "0x12", "direct_packets_stat": 0, "ver": "3.17", "direct_qlen": 1000},
    "mq": {},
    "mqprio": {"tc": 1},
    "prio": {"bands": 3, "priomap": [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1], "multiqueue": False},
    "ets": {"bands": 4, "strict": 2, "quanta": [4500, 3000], "priomap": [3, 3, 2, 1, 0]},
    "drr": {},
    "hfsc": {"default": "0x12"},
    "qfq": {},
    "multiq": {},
    "netem": {"limit": 1000, "ecn": False, "gap": 0},
    "noqueue": {},
    "clsact": {},
    "ingress": {},
}
#: Values that differ from the base where the form alone does not give one.
_OTHER: dict[tuple[str, str], Any] = {
    ("fq_codel", "memory_limit"): 4 << 20,
    ("cake", "memlimit"): 8 << 20,
    ("cake", "mpu"): 68,
    ("htb", "default"): "0x99",
    ("hfsc", "default"): "0x99",
    ("tbf", "linklayer"): "atm",
    ("tbf", "burst"): "9000b/1",
    ("stab", "linklayer"): "atm",
    ("red", "Plog"): 21,
    ("gred", "Plog"): 21,
    ("choke", "Plog"): 12,
    ("tbf", "limit"): 5 << 20,
    ("gred", "limit"): 200000,
    ("codel", "ce_threshold"): 1999,
    ("pie", "beta"): 11,
    ("fq_pie", "beta"): 11,
    ("sfb", "target"): 17,  # not above max
}


def other(kind: str, name: str, known: Field, base: Any) -> Any:
    """Returns a value of a field that is not the base's, and of which something is lost if anything is."""
    if (kind, name) in _OTHER:
        return _OTHER[kind, name]
    if known.form is Form.FLAG:
        return base is not True
    if known.words:
        return next(value for value in known.words.values() if value not in (base, *known.harmless, known.new))
    if known.form is Form.LIST:
        return [2, 1, 0]
    if known.form is Form.WORDS:
        return "20ms 5ms"
    if known.form is Form.NAME:
        return "0xff" if name == "fwmark" else "other"
    if known.form is Form.CELL:
        return "7000b/1"
    if known.form is Form.NUMBER:
        return base / 2 if base else 0.25
    if name in ("ewma", "Scell_log"):
        return base - 2
    return 2 * base + (known.form is Form.CODEL) if base else 7000 if known.form is Form.PIE else 4


def state(kind: str, options: Mapping[str, Any] | None = None, **more: Any) -> list[dict[str, Any]]:
    """Returns a state with a queue discipline at the root; one that has classes, with fq_codel below it."""
    place = {"parent": "ffff:fff1"} if kind in ("clsact", "ingress") else {"root": True}
    handle = "ffff:" if kind in ("clsact", "ingress") else "1:"
    own = dict(OPTIONS[kind] if options is None else options)
    made: list[dict[str, Any]] = [{"kind": kind, "handle": handle, "dev": "eth0", **place, "options": own} | more]
    if kind in ("clsact", "ingress"):
        made.insert(0, {"kind": "pfifo", "handle": "1:", "dev": "eth0", "root": True, "options": {"limit": 77}})
    elif fields.QDISCS[kind].above:
        below = {"kind": "fq_codel", "handle": "10:", "dev": "eth0", "parent": "1:12", "options": OPTIONS["fq_codel"]}
        made.append(below)
    return made


def text(entries: list[dict[str, Any]]) -> str:
    """Returns the text of `tc` for a state."""
    return "".join(_entry(each) for each in entries)


def _entry(entry: Mapping[str, Any]) -> str:
    words = ["qdisc", entry["kind"], entry["handle"], "dev", entry["dev"]]
    words += ["root"] if entry.get("root") else ["parent", entry["parent"]]
    for name in fields.OUTER:
        words += [] if entry.get(name) is None else [name] if entry[name] is True else [name, str(entry[name])]
    known = fields.QDISCS[entry["kind"]].fields
    lines = [" ".join([*words, *_words(entry["options"], known)])]
    lines += [" " + " ".join(_words(each, fields.VIRTUAL_QUEUE)) for each in entry["options"].get("vqs", [])]
    lines += [" " + " ".join(_words(entry["stab"], fields.STAB))] if "stab" in entry else []
    return "\n".join(lines) + "\n"


def _words(options: Mapping[str, Any], known: Mapping[str, Field]) -> list[str]:
    words: list[str] = []
    for name, value in options.items():
        each = known.get(name)
        if name == "vqs" or (name == "ce_threshold_mask" and "ce_threshold_selector" in options):
            continue
        if each is not None and each.words:
            words += [word for word, meant in each.words.items() if meant == value][:1]
        elif name == "ce_threshold_selector":
            words += [name, f"{value:#x}/{options.get('ce_threshold_mask', 0):#x}"]
        elif name == "step-thresh-pkts":  # told from a time by its unit
            words += ["step_thresh", f"{value}p"]
        else:
            said = str(each.text if each is not None and each.text else name)
            words += [said, show(each.form if each is not None else None, value)]
    return words
