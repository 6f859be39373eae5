"""OpenConfig: a queue-management profile, as gNMI and NETCONF take it.

Facts: openconfig-qos-mem-mgmt.yang 0.11.1 to 2.2.0: thresholds in bytes (uint64), the weight n of
2^-n (uint32), the share in whole per cent, `enable-ecn`, and `drop`, which says whether packets are
dropped that are *not* capable of being marked. RFC 7951 writes a uint64 as a string. What a box
makes of the numbers is its own affair; the simulation takes them as the model defines them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.operators import wred
from penstock.operators.model import Names, Place, Range, Step, Wanted, Written, bytes_text, ranges, slug

INTERFACE = Names(
    first="eth0", pattern=r"[A-Za-z0-9][A-Za-z0-9_.:/@+ -]{0,62}", said="letters, digits and _ . : / @ + - and blanks"
)
_MODEL = "openconfig-qos-mem-mgmt.yang"
RANGES = ranges(
    Range(name="min-threshold", low=1, high=2**64 - 2, unit="B", source=f"{_MODEL}: uint64"),
    Range(name="max-threshold", low=1, high=2**64 - 1, unit="B", source=f"{_MODEL}: uint64"),
    # A uint32, but a slower average than this would not move in the life of a queue.
    Range(name="weight", low=0, high=31, source=f"{_MODEL}: uint32, the n of 2^-n"),
    Range(name="max-drop-probability-percent", low=1, high=100, unit="%", source=f"{_MODEL}: oc-types:percentage"),
)
#: What the model takes, for `mistakes`: a leaf's type in JSON and its largest value.
LEAVES: Mapping[str, tuple[type, int]] = {
    "min-threshold": (str, 2**64 - 1),
    "max-threshold": (str, 2**64 - 1),
    "enable-ecn": (bool, 1),
    "drop": (bool, 1),
    "weight": (int, 2**32 - 1),
    "max-drop-probability-percent": (int, 100),
}


def write(wanted: Wanted, place: Place) -> Written:
    """Returns the profile, and the queue of an interface that has it."""
    dev, name = INTERFACE.chosen(place), slug(wanted.name)
    told = wred.in_bytes(
        wanted,
        "openconfig",
        (RANGES["min-threshold"], RANGES["max-threshold"]),
        RANGES["max-drop-probability-percent"],
        RANGES["weight"],
        passes=True,
    )
    passes = isinstance(wanted.aqm, Step) and wanted.aqm.not_capable == "pass"
    rule = {
        "min-threshold": str(told.low),
        "max-threshold": str(told.high),
        "enable-ecn": wanted.ecn,
        "drop": not passes,
        "weight": told.weight,
        "max-drop-probability-percent": told.share,
    }
    return Written(
        text=json.dumps(_document(name, dev, rule), indent=2) + "\n",
        values=told.values,
        aqm=told.aqm,
        buffer=bytes_text(wanted.buffer_bytes),
        lost=told.lost,
        notes=(
            "a box may do more rounding of its own: read `state` back after setting `config`",
            wred.elsewhere(wanted, "in a buffer-allocation-profile"),
        ),
    )


def _document(name: str, dev: str, rule: Mapping[str, Any]) -> dict[str, Any]:
    profile = {"name": name, "config": {"name": name}, "wred": {"uniform": {"config": rule}}}
    queue = {"name": "0", "config": {"name": "0", "queue-management-profile": name}}
    interface = {
        "interface-id": dev,
        "config": {"interface-id": dev},
        "output": {"queues": {"queue": [queue]}},
    }
    return {
        "openconfig-qos:qos": {
            "queue-management-profiles": {"queue-management-profile": [profile]},
            "interfaces": {"interface": [interface]},
        }
    }


def mistakes(document: Mapping[str, Any]) -> list[str]:
    """Returns what the model forbids in a document's profiles, a sentence each."""
    found = []
    qos = document.get("openconfig-qos:qos", {})
    for profile in qos.get("queue-management-profiles", {}).get("queue-management-profile", []):
        rule = profile["wred"]["uniform"]["config"]
        for key, value in rule.items():
            if key not in LEAVES:
                found.append(f"{key}: no such leaf")
                continue
            kind, most = LEAVES[key]
            if type(value) is not kind:
                found.append(f"{key} = {value!r}: must be a {kind.__name__}")
            elif kind is not bool and not _within(str(value), most):
                found.append(f"{key} = {value}: from 0 to {most}")
        if not found and int(rule["min-threshold"]) > int(rule["max-threshold"]):
            found.append("min-threshold: above max-threshold")
    return found


def _within(number: str, most: int) -> bool:
    return number.isascii() and number.isdigit() and len(number) <= 20 and int(number) <= most
