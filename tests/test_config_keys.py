"""Each key of each discipline against each platform: it changes what is written, or the report names it.

The keys come from the disciplines' own declarations, so that a new one is tried by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import penstock as ps
from penstock import _penstock
from penstock.operators import config as work
from penstock.operators.model import Place, RefusedError, Written
from penstock.operators.platforms import PLATFORMS

KINDS = {row["name"]: row for row in json.loads(_penstock.list_json("aqm"))}
LINK = """\
duration = "3 s"

[topology]
kind = "dumbbell"
bottleneck = { rate = "50 Mbit/s", delay = "10 ms", buffer = "2000 packets" }
access = { rate = "100 Mbit/s", delay = "1 ms" }

[aqm]
kind = "droptail"

[[traffic]]
kind = "ftp"
flows = 5
"""

#: A colour, so that others can be compared with it.
GREEN = {"min_th": 20, "max_th": 60}
#: Kind → what is set in any case, so that each key has something to act on.
BASES: dict[str, dict[str, Any]] = {
    "codel": {"variant": "linux", "ce_threshold": "1 ms"},
    "fq-codel": {
        "variant": "linux",
        "limit": 500,
        "ce_threshold": "1 ms",
        "ce_mask": 3,
        "memory_limit": "9000000 B",
        "packet_overhead": "790 B",
    },
    "pie": {"variant": "linux", "ecn": True},
    "fq-pie": {"variant": "linux", "limit": 500, "ecn": True, "delay_from": "rate-estimate"},
    "cake": {},
    "dualpi2": {"variant": "linux"},
    "sfq": {"limit": 1000, "ecn": True, "min_th": "20 kB", "max_th": "70 kB"},
    "sfb": {"ecn": True, "target": 1, "warm_up": "1 ms"},
    **{kind: {"ecn": True, "gentle": False} for kind in ("red", "ared", "choke", "nlred")},
    "wred": {"ecn": True, "colour": {"green": GREEN, "yellow": {"drop_precedence": 2, "min_th": 10, "max_th": 30}}},
    "step": {},
}
#: Words whose values do not come from a list.
OTHER: dict[str, tuple[object, ...]] = {
    "bool": (True, False),
    "duration": ("3 ms", "70 ms"),
    "size": ("1000 B", "4000 B"),
    "number": (0.3, 0.7),
    "int": (1, 2),
    "queue": ("7 packets", "70 packets"),
    "number or word": (0.3, 0.7),
    "tables": ({"all": GREEN},),
}
#: Keys that no box has to know: packets and bytes of the scenario are turned into each other by them.
SAYS_HOW = ("mean_packet", "unit")
#: Keys that act beside the values of others alone, which are named themselves.
WITH = {
    "dualpi2": ("ramp_start", "ramp_range", "ramp_floor", "t_shift"),
    "step": ("pmax", "spread", "sojourn_max", "gamma"),
    # Each colour has thresholds of its own here.
    "wred": ("min_th", "max_th", "target_delay"),
}
#: Linux's gate, which is what `uniform` becomes there.
LINUX = ("tc", "vyos")
#: Boxes that mark nothing, and the keys that are about marks.
NO_MARKS = ("vyos", "dpdk")
OF_MARKS = ("mark_p", "forced")
#: Kind → forms in which a box with several can have it.
FORMS = {"fq-codel": ("fq_codel", "cake"), "red": ("red", "gred")}


def left_out(kind: str, to: str) -> set[str]:
    """Keys that need not show."""
    return {*SAYS_HOW, *WITH.get(kind, ()), *(OF_MARKS if to in NO_MARKS else ())}


def changes(kind: str, to: str) -> Iterator[tuple[str, object]]:
    """Every key with some values, of which one at least is another than it has; not with what it comes to anyway."""
    for param in KINDS[kind]["params"]:
        if param["name"] in left_out(kind, to):
            continue
        words = tuple(re.findall(r'"([^"]+)"', param["range"])) if param["type"] == "word" else OTHER[param["type"]]
        linux = re.search(r"(\S+) with the variant linux|linux(?:, docsis)?: ([^;]+)", param["auto"])
        if param["name"] == "gate" and to in LINUX:
            words = tuple(word for word in words if word != "drawn")
        same = (linux[1] or linux[2]) if linux and BASES[kind].get("variant") == "linux" else None
        yield from ((param["name"], word) for word in words if str(word).lower() != same)


def written(kind: str, to: str, form: str | None, **keys: object) -> tuple[ps.Scenario, Written] | str:
    """What a platform makes of it, or why it does not."""
    no_ecn = {"ecn": False} if to in NO_MARKS else {}
    scenario = ps.Scenario.from_toml(LINK).set("aqm", {"kind": kind, **BASES[kind], **no_ecn, **keys})
    try:
        return scenario, work.write(scenario, to, Place(variant=form))
    except RefusedError as refused:
        return str(refused)


PLACES = [
    (kind, to, form)
    for kind in BASES
    for to, platform in PLATFORMS.items()
    if kind in platform.kinds
    for form in (FORMS.get(kind, (None,)) if platform.variants else (None,))
]


@pytest.mark.parametrize(("kind", "to", "form"), PLACES)
def test_no_key_is_lost_in_silence(kind: str, to: str, form: str | None) -> None:
    base = written(kind, to, form)
    assert not isinstance(base, str)
    tried, silent = set(), set()
    for key, value in changes(kind, to):
        try:
            made = written(kind, to, form, **{key: value})
        except ps.ScenarioError:
            continue  # not a value of this key
        if isinstance(made, str):
            tried.add(key)
            silent |= set() if key in made else {f"{key} = {value!r}: {made}"}
            continue
        scenario, told = made
        if scenario.resolved["aqm"] == base[0].resolved["aqm"]:
            continue
        tried.add(key)
        named = [*told.lost, *(each.name for each in told.values)]
        # What was lost before may be what is asked for now.
        named += set(base[1].lost) - set(told.lost)
        if told.text == base[1].text and not any(re.search(rf"\b{key}\b", each, re.IGNORECASE) for each in named):
            silent.add(f"{key} = {value!r}")
    assert silent == set()
    assert tried == {param["name"] for param in KINDS[kind]["params"]} - left_out(kind, to)


#: A key of a colour → what the colour has beside it, and its value.
OF_A_COLOUR: dict[str, tuple[dict[str, object], object]] = {
    "dscp": ({"dscp": 40}, 46),
    "dscp_to": ({"dscp": 40}, 47),
    "drop_precedence": ({"drop_precedence": 2}, 3),
    "rank": ({"drop_precedence": 2}, 9),
    "min_th": ({"drop_precedence": 2}, 7),
    "max_th": ({"drop_precedence": 2}, 77),
    "max_p": ({"drop_precedence": 2}, 0.4),
    "ecn_min_th": ({"drop_precedence": 2, "ecn_max_th": 50}, 7),
    "ecn_max_th": ({"drop_precedence": 2}, 50),
    "ecn_max_p": ({"drop_precedence": 2, "ecn_max_th": 50}, 0.4),
}
#: A key → what names it with others that it acts with.
NAMED_BY = {"rank": "average = 'rio'", "dscp_to": "dscp"}


def test_every_key_of_a_colour_is_tried() -> None:
    (said,) = (param["range"] for param in KINDS["wred"]["params"] if param["name"] == "colour")
    assert re.findall(r"(\w+) \(a", said) == list(OF_A_COLOUR)


@pytest.mark.parametrize("key", OF_A_COLOUR)
@pytest.mark.parametrize("to", [to for to, platform in PLATFORMS.items() if "wred" in platform.kinds])
def test_no_key_of_a_colour_is_lost_in_silence(to: str, key: str) -> None:
    if to in NO_MARKS and key.startswith("ecn_"):
        return
    beside, value = OF_A_COLOUR[key]
    average = "rio" if key == "rank" else "shared"
    base, made = (
        written(
            "wred",
            to,
            None,
            average=average,
            colour={"green": GREEN, "other": {**GREEN, "min_th": 10, **beside, **changed}},
        )
        for changed in ({}, {key: value})
    )
    if isinstance(made, str):
        assert re.search(rf"\b({key}|{NAMED_BY.get(key, key)})\b", made)
        return
    assert not isinstance(base, str)
    named = " ".join([*made[1].lost, *(each.name for each in made[1].values)])
    # tc's filters stand in a note; what VyOS loses are colours as such.
    found = re.search(rf"\b{key}\b|{NAMED_BY.get(key, key)}|colour: nothing sorts", named)
    assert (made[1].text, made[1].notes) != (base[1].text, base[1].notes) or found
