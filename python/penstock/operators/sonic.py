"""SONiC's config DB: the table WRED_PROFILE.

Facts: sonic-buildimage's sonic-wred-profile.yang (revision 2026-06-23: names, ranges, defaults) and
sonic-swss's orchagent/qosorch.cpp, which sets SAI's weight to 0: no average. The fields
`ecn_<colour>_…` of that revision, which mark at other thresholds than those that drop, are written
where a colour of `wred` has thresholds of its own for marks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.operators import coloured, wred
from penstock.operators.model import (
    Coloured,
    Names,
    Place,
    Range,
    Wanted,
    Written,
    bytes_text,
    ranges,
    slug,
)

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
    if isinstance(wanted.aqm, Coloured):
        return _coloured(wanted, wanted.aqm, dev, name)
    told = _told(wanted)
    profile = _ends(dict.fromkeys(COLOURS, told))
    return _written(
        wanted, (dev, name), profile, Written(text="", values=told.values, aqm=told.aqm, buffer="", lost=told.lost)
    )


def _ends(told: Mapping[str, wred.InBytes], prefix: str = "", share: str = "drop") -> dict[str, str]:
    """Returns the thresholds and the probability of each colour."""
    return {
        f"{prefix}{colour}_{field}": str(number)
        for colour, each in told.items()
        for field, number in (
            ("min_threshold", each.low),
            ("max_threshold", each.high),
            (f"{share}_probability", each.share),
        )
    }


def _written(wanted: Wanted, where: tuple[str, str], ends: Mapping[str, str], told: Written) -> Written:
    """Returns the document with a profile.

    where: the port, and the profile's name. told: what becomes of the scenario, without the text.
    """
    dev, name = where
    profile = {f"wred_{colour}_enable": "true" for colour in COLOURS}
    profile |= {"ecn": "ecn_all" if wanted.ecn else "ecn_none", **ends}
    document = {"WRED_PROFILE": {name: profile}, "QUEUE": {f"{dev}|0": {"wred_profile": name}}}
    return replace(
        told,
        text=json.dumps(document, indent=4) + "\n",
        buffer=bytes_text(wanted.buffer_bytes),
        notes=(
            "load it with `sonic-cfggen -j FILE --write-to-db`; QUEUE binds it to queue 0 of the port",
            wred.elsewhere(wanted, "in the switch's buffer profiles"),
            *told.notes,
        ),
    )


def _coloured(wanted: Wanted, wants: Coloured, dev: str, name: str) -> Written:
    """Returns the profile of colours that differ."""
    drops: dict[str, wred.InBytes] = {}
    marks: dict[str, wred.InBytes] = {}
    for colour, each in coloured.by_precedence(wants, COLOURS).items():
        apart = wanted.ecn and each.marks is not None
        # What is dropped beyond a ramp of its own cannot be marked.
        drops[colour] = _told(replace(wanted, aqm=each.drops, ecn=wanted.ecn and not apart))
        if apart and each.marks is not None:
            marks[colour] = _told(replace(wanted, aqm=each.marks))
    all_of_them = coloured.merged(wants, dict(zip(COLOURS, coloured.CLAIMS, strict=True)), drops)
    table, values, lost = all_of_them.aqm["colour"], list(all_of_them.values), list(all_of_them.lost)
    for colour, told in marks.items():
        table[colour] |= {f"ecn_{key}": told.aqm[key] for key in ("min_th", "max_th", "max_p")}
        values += [replace(each, name=f"{colour} ecn_{each.name}") for each in told.values if each.name != "w_q"]
        lost += [each for each in told.lost if each not in lost]
    return _written(
        wanted,
        (dev, name),
        _ends(drops) | _ends(marks, "ecn_", "mark"),
        Written(
            text="",
            values=tuple(values),
            aqm={**all_of_them.aqm, "ecn": wanted.ecn, "forced": "mark" if wanted.ecn else "drop"},
            buffer="",
            lost=tuple(lost),
            notes=(
                "a packet's colour is for the switch's maps and meters: AFx2 is yellow here, AFx3 red, all else green",
            ),
        ),
    )


def _told(wanted: Wanted) -> wred.InBytes:
    ends = (RANGES["min_threshold"], RANGES["max_threshold"])
    return wred.in_bytes(wanted, "sonic", ends, RANGES["drop_probability"], None)


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
