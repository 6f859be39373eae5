"""SONiC's config DB: the table WRED_PROFILE.

Facts: sonic-buildimage's sonic-wred-profile.yang (revision 2026-06-23: names, ranges, defaults) and
sonic-swss's orchagent/qosorch.cpp, which sets SAI's weight to 0: no average. The fields
`ecn_<colour>_…` of that revision, which mark at other thresholds than those that drop, are known
here but not written: a scenario has one pair.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from penstock.operators import wred
from penstock.operators.model import Names, Place, Range, Wanted, Written, bytes_text, ranges, slug

NAME = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9_]{0,31}")
COLOURS = ("green", "yellow", "red")
ECN = (
    "ecn_none",
    "ecn_green",
    "ecn_yellow",
    "ecn_red",
    "ecn_green_yellow",
    "ecn_green_red",
    "ecn_yellow_red",
    "ecn_all",
)
#: The largest threshold, a uint64.
MOST = 2**64 - 1
INTERFACE = Names(
    first="Ethernet0", pattern=r"[A-Za-z][A-Za-z0-9_./-]{0,62}", said="a letter, then letters, digits and _ . / -"
)
_MODEL = "sonic-wred-profile.yang"
#: A threshold of 0, and a probability of 0, would make no ramp.
RANGES = ranges(
    Range(name="min_threshold", low=1, high=MOST - 1, unit="B", source=f"{_MODEL}: uint64"),
    Range(name="max_threshold", low=1, high=MOST, unit="B", source=f"{_MODEL}: uint64"),
    Range(name="drop_probability", low=1, high=100, unit="%", source=f"{_MODEL}: 0 to 100"),
)


def write(wanted: Wanted, place: Place) -> Written:
    """Returns the profile, all colours alike, and the queue that it is bound to."""
    dev, name = INTERFACE.chosen(place), slug(wanted.name, "A-Za-z0-9_")
    told = wred.in_bytes(
        wanted, "sonic", (RANGES["min_threshold"], RANGES["max_threshold"]), RANGES["drop_probability"], None
    )
    profile = {f"wred_{colour}_enable": "true" for colour in COLOURS}
    profile["ecn"] = "ecn_all" if wanted.ecn else "ecn_none"
    for colour in COLOURS:
        profile[f"{colour}_min_threshold"] = str(told.low)
        profile[f"{colour}_max_threshold"] = str(told.high)
        profile[f"{colour}_drop_probability"] = str(told.share)
    document = {"WRED_PROFILE": {name: profile}, "QUEUE": {f"{dev}|0": {"wred_profile": name}}}
    return Written(
        text=json.dumps(document, indent=4) + "\n",
        values=told.values,
        aqm=told.aqm,
        buffer=bytes_text(wanted.buffer_bytes),
        lost=told.lost,
        notes=(
            "load it with `sonic-cfggen -j FILE --write-to-db`; QUEUE binds it to queue 0 of the port",
            wred.elsewhere(wanted, "in the switch's buffer profiles"),
        ),
    )


def mistakes(document: Mapping[str, Any]) -> list[str]:
    """Returns what the schema forbids in a document's WRED_PROFILE, a sentence each."""
    found = []
    for name, profile in document.get("WRED_PROFILE", {}).items():
        if not NAME.fullmatch(name):
            found.append(f"{name!r}: a name is a letter or digit and up to 31 of letters, digits, - and _")
        found += [f"{name}: {each}" for each in _profile_mistakes(profile)]
    return found


#: A field → what its name is made of: whether it is about marks alone, the colour, the end.
FIELD = re.compile(rf"(ecn_)?({'|'.join(COLOURS)})_(min_threshold|max_threshold|drop_probability|mark_probability)")


def _profile_mistakes(profile: Mapping[str, Any]) -> list[str]:
    found = [f"{key}: must be a string" for key, value in profile.items() if not isinstance(value, str)]
    found = found or [said for key, value in profile.items() if (said := _field_mistake(key, value, profile))]
    if found:
        return found
    for prefix in (f"{about}{colour}" for about in ("", "ecn_") for colour in COLOURS):
        low, high = (profile.get(f"{prefix}_{end}_threshold") for end in ("min", "max"))
        if low is not None and high is not None and int(low) > int(high):
            found.append(f"{prefix}_max_threshold = {high}: below {prefix}_min_threshold = {low}")
    return found


def _field_mistake(key: str, value: str, profile: Mapping[str, str]) -> str | None:
    """Returns what is wrong with one field."""
    if key == "ecn":
        return None if value in ECN else f'ecn = "{value}": one of {", ".join(ECN)}'
    if re.fullmatch(rf"wred_({'|'.join(COLOURS)})_enable", key):
        return None if value in ("true", "false") else f'{key} = "{value}": true or false'
    field = FIELD.fullmatch(key)
    if field is None or (field[3] == "mark_probability") > bool(field[1]) or (field[1] and field[3][:4] == "drop"):
        return f"{key}: no such field"
    most = 100 if field[3].endswith("probability") else MOST
    if not re.fullmatch(r"[0-9]{1,20}", value) or int(value) > most:
        return f'{key} = "{value}": a whole number from 0 to {most}'
    if field[1] and not marks(profile, field[2]):
        return f"{key}: needs {field[2]} among the colours of ecn"
    return None


def marks(profile: Mapping[str, str], colour: str) -> bool:
    """Returns whether packets of a colour are marked."""
    ecn = profile.get("ecn", "ecn_none")
    return ecn == "ecn_all" or colour in ecn.split("_")
