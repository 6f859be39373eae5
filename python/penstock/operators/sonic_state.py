"""A WRED_PROFILE of SONiC's config DB, as a scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock._names import nearest
from penstock.errors import ScenarioError
from penstock.operators import coloured, sonic
from penstock.operators.state import Carried, Fate, Given, Lost, Reading, one, rate_text, scenario_file, table

PACKET = 1500
#: A colour's fields, without the colour → the key of the scenario, and what they are where the profile does not say
#: them.
FIELDS: Mapping[str, tuple[str, str | None]] = {
    "wred_{}_enable": ("kind", "false"),
    "{}_min_threshold": ("min_th", None),
    "{}_max_threshold": ("max_th", None),
    "{}_drop_probability": ("max_p", "100"),
    "ecn_{}_min_threshold": ("ecn_min_th", None),
    "ecn_{}_max_threshold": ("ecn_max_th", None),
    "ecn_{}_mark_probability": ("ecn_max_p", "100"),
}
#: The largest threshold that is read.
MOST = 10**12
MARKS = "the scenario marks all colours, or none"


def parse(text: str) -> Any:
    """Returns the config DB. Raises `ScenarioError`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"is not JSON: {str(error).splitlines()[0]}") from None


def stripped(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a profile whose values have no space around them; some templates have."""
    return {key: value.strip() if isinstance(value, str) else value for key, value in profile.items()}


def profile_of(tables: Mapping[str, Any], given: Given) -> tuple[str, dict[str, Any]]:
    """Returns the profile that was chosen, or the only one, and its name. Raises `ScenarioError`."""
    profiles = table(tables.get("WRED_PROFILE"), "WRED_PROFILE")
    if not profiles:
        raise ScenarioError("WRED_PROFILE: has no profile")
    name = given.profile or one(list(profiles), "profile", "--profile")
    if name not in profiles:
        near = nearest(name, profiles)
        raise ScenarioError(f"--profile {name}: no such profile{f'; nearest: {near}' if near else ''}")
    return name, stripped(table(profiles[name], name))


def read(document: Any, given: Given) -> Reading:
    """Returns a scenario file for the profile, by colour where it treats colours otherwise, and what is lost. Raises
    `ScenarioError`.
    """
    tables = table(document, "the config DB")
    name, profile = profile_of(tables, given)
    if wrong := sonic.mistakes({"WRED_PROFILE": {name: profile}}):
        raise ScenarioError(f"WRED_PROFILE: {wrong[0]}")
    if not _on(profile, "green"):
        raise ScenarioError(f"{name}: wred_green_enable is not true, so the switch ignores the thresholds: DropTail")
    alike = len({_fields(profile, colour) for colour in sonic.COLOURS}) == 1
    plain = alike and not any(key.startswith("ecn_green_") for key in profile)
    high = max(_ends(name, profile, colour)[1] for colour in sonic.COLOURS if _on(profile, colour))
    aqm = _aqm(name, profile) if plain else _coloured(name, profile, 4 * high)
    fate = _fate(tables, name, profile, plain)
    rate = rate_text(_speed(tables, name, given), given, name)
    text = scenario_file(
        name,
        f"What SONiC's WRED_PROFILE {name} does.",
        link={"rate": rate},
        buffer=f"{4 * high} B",
        aqm=aqm,
        given=given,
        fate=fate,
    )
    return Reading(text=text, fate=fate)


def _on(profile: Mapping[str, str], colour: str) -> bool:
    """Returns whether the switch looks at the thresholds of a colour."""
    return profile.get(f"wred_{colour}_enable", "false") == "true"


def _fields(profile: Mapping[str, str], colour: str) -> tuple[str | None, ...]:
    """Returns a colour's fields, or what stands for them where they are not said."""
    return tuple(profile.get(form.format(colour), unsaid) for form, (_, unsaid) in FIELDS.items())


def _fate(tables: Mapping[str, Any], name: str, profile: Mapping[str, str], plain: bool) -> Fate:
    """Returns what becomes of each field of the profile and of what binds it."""
    fate = Fate()
    marked = [sonic.marks(profile, colour) for colour in sonic.COLOURS]
    keys = {"ecn": "aqm.ecn"}
    for colour in sonic.COLOURS:
        own = "aqm" if plain else f"aqm.colour.{colour}"
        # What the switch does not look at says only that the colour passes.
        on = _on(profile, colour)
        keys |= {form.format(colour): f"{own}.{key}" if on else own for form, (key, _) in FIELDS.items()}
        keys[f"wred_{colour}_enable"] = "aqm.kind"
    for key, value in profile.items():
        fate.carried.append(Carried(field=f"{name} {key}", value=value, to=keys[key]))
    if len(set(marked)) > 1:
        said = f"ecn {profile.get('ecn')}"
        fate.lost.append(Lost(field=f"{name} ecn", value=profile.get("ecn"), by=name, said=said, why=MARKS))
    for key, entry in _bindings(tables, name).items():
        for field, value in entry.items():
            if field != "wred_profile":
                why = "the queue is one of several of the port; the scenario has one"
                fate.lost.append(
                    Lost(field=f"QUEUE {key} {field}", value=value, by=f"QUEUE {key}", said=f"{field} {value}", why=why)
                )
    fate.notes.append(
        "how much may wait stands in the switch's buffer profiles, which are not read: four times the largest "
        "max_threshold is taken"
    )
    if not plain:
        fate.notes.append("a packet's colour is for the switch's maps: yellow is taken for AFx2, red for AFx3")
    return fate


def _bindings(tables: Mapping[str, Any], name: str) -> dict[str, Mapping[str, Any]]:
    """Returns the queues that have the profile, such as `Ethernet0|3`."""
    queues = tables.get("QUEUE")
    entries = queues.items() if isinstance(queues, dict) else ()
    bound = (name, f"[WRED_PROFILE|{name}]")
    return {key: each for key, each in entries if isinstance(each, dict) and each.get("wred_profile") in bound}


def _ends(name: str, profile: Mapping[str, str], colour: str, prefix: str = "") -> tuple[int, int]:
    """Returns the thresholds of a colour. Raises `ScenarioError` where there are none, or too large ones."""
    try:
        low, high = (int(profile[f"{prefix}{colour}_{end}_threshold"]) for end in ("min", "max"))
    except KeyError as error:
        raise ScenarioError(f"{name}: has no {error.args[0]}") from None
    if not 1 <= high <= MOST:
        raise ScenarioError(f"{name}: {prefix}{colour}_max_threshold = {high}: must be in [1, {MOST:g}]")
    return low, high


def _aqm(name: str, profile: Mapping[str, str]) -> dict[str, object]:
    """Returns the `[aqm]` of a profile that treats all colours as green."""
    low, high = _ends(name, profile, "green")
    share = int(profile.get("green_drop_probability", "100"))
    marks = sonic.marks(profile, "green")
    if low == high and marks:
        return {"kind": "step", **_shared(marks), "threshold": f"{high} B", "not_capable": "drop"}
    if share == 0:
        raise ScenarioError(f"{name}: green_drop_probability = 0: signals nothing below green_max_threshold")
    return {"kind": "red", **_shared(marks), **_ramp(low, high, share), **_red(marks)}


def _shared(marks: bool) -> dict[str, object]:
    return {"mean_packet": f"{PACKET} B", "unit": "bytes", "ecn": marks}


def _red(marks: bool) -> dict[str, object]:
    return {"w_q": 1.0, "gate": "geometric", "gentle": False, "forced": "mark" if marks else "drop"}


def _ramp(low: int, high: int, share: int, prefix: str = "") -> dict[str, object]:
    """Returns the keys of a ramp; one without a share, or without a width, is a step at its end."""
    begins = min(low, high - 1) if share else high - 1
    return {
        f"{prefix}min_th": f"{begins} B",
        f"{prefix}max_th": f"{high} B",
        f"{prefix}max_p": (share or 100) / 100,
    }


def _coloured(name: str, profile: Mapping[str, str], buffer: int) -> dict[str, object]:
    """Returns the `[aqm]` of a profile by colour. What the switch does not look at passes up to the buffer."""
    table: dict[str, object] = {}
    for colour, claim in zip(sonic.COLOURS, coloured.CLAIMS, strict=True):
        ramp: dict[str, object] = _ramp(buffer, buffer + 1, 100)
        if _on(profile, colour):
            share = int(profile.get(f"{colour}_drop_probability", "100"))
            ramp = _ramp(*_ends(name, profile, colour), share)
        if any(key.startswith(f"ecn_{colour}_") for key in profile):
            share = int(profile.get(f"ecn_{colour}_mark_probability", "100"))
            ramp |= _ramp(*_ends(name, profile, colour, "ecn_"), share, "ecn_")
        table[colour] = {**claim, **ramp}
    marks = any(sonic.marks(profile, colour) for colour in sonic.COLOURS)
    return {"kind": "wred", **_shared(marks), **_red(marks), "average": "shared", "colour": table}


def _speed(tables: Mapping[str, Any], name: str, given: Given) -> float | None:
    """Returns the speed in bit/s of the port that was chosen, or of those that have the profile, or of all, where they
    are alike; the table has Mbit/s. Raises `ScenarioError` where they are not.
    """
    ports = tables.get("PORT")
    if not isinstance(ports, dict):
        if given.dev is not None and given.rate is None:
            raise ScenarioError(f"--dev {given.dev}: the state has no table PORT; give --rate")
        return None
    if given.dev is not None and given.dev not in ports:
        near = nearest(given.dev, ports)
        raise ScenarioError(f"--dev {given.dev}: no such port{f'; nearest: {near}' if near else ''}")
    bound = {port for key in _bindings(tables, name) for port in key.split("|")[0].split(",")}
    chosen = [given.dev] if given.dev is not None else [each for each in ports if each in bound] or list(ports)
    speeds: dict[float, list[str]] = {}
    for port in chosen:
        if (speed := _bits(ports[port])) is not None:
            speeds.setdefault(speed, []).append(port)
    if len(speeds) > 1 and given.rate is None:
        listed = ", ".join(f"{each[0]} has {speed / 1e9:g} Gbit/s" for speed, each in sorted(speeds.items()))
        raise ScenarioError(f"{name}: the ports are not equally fast: {listed}; choose one with --dev, or give --rate")
    return next(iter(speeds)) if len(speeds) == 1 else None


def _bits(port: Any) -> float | None:
    speed = port.get("speed") if isinstance(port, dict) else None
    plain = speed.strip() if isinstance(speed, str) else ""
    return 1e6 * int(plain) if plain.isascii() and plain.isdigit() and 0 < len(plain) < 9 else None
