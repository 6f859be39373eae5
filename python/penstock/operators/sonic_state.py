"""A WRED_PROFILE of SONiC's config DB, as a scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock._names import nearest
from penstock.errors import ScenarioError
from penstock.operators import sonic
from penstock.operators.state import Carried, Fate, Given, Lost, Reading, one, rate_text, scenario_file, table

PACKET = 1500
#: Fields of a profile → the key of the scenario.
CARRIED = {
    "ecn": "aqm.ecn",
    "wred_green_enable": "aqm.kind",
    "green_min_threshold": "aqm.min_th",
    "green_max_threshold": "aqm.max_th",
    "green_drop_probability": "aqm.max_p",
}
#: A colour's fields, without the colour, and what they are where the profile does not say them.
FIELDS = {"{}_min_threshold": None, "{}_max_threshold": None, "{}_drop_probability": "100", "wred_{}_enable": "false"}
COLOURED = "packets of this colour are treated otherwise than green ones; what is read has green ones alone"


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
    """Returns a scenario file for the profile's green packets, and what is lost. Raises
    `ScenarioError`.
    """
    tables = table(document, "the config DB")
    name, profile = profile_of(tables, given)
    if wrong := sonic.mistakes({"WRED_PROFILE": {name: profile}}):
        raise ScenarioError(f"WRED_PROFILE: {wrong[0]}")
    if profile.get("wred_green_enable", "false") != "true":
        raise ScenarioError(f"{name}: wred_green_enable is not true, so the switch ignores the thresholds: DropTail")
    aqm, high = _aqm(name, profile)
    fate = _fate(tables, name, profile)
    rate = rate_text(_speed(tables, name, given), given, name)
    text = scenario_file(
        name,
        f"What SONiC's WRED_PROFILE {name} does to green packets.",
        link={"rate": rate},
        buffer=f"{4 * high} B",
        aqm=aqm,
        given=given,
        fate=fate,
    )
    return Reading(text=text, fate=fate)


def _fate(tables: Mapping[str, Any], name: str, profile: Mapping[str, str]) -> Fate:
    """Returns what becomes of each field of the profile and of what binds it."""
    fate = Fate()

    def lose(field: str, value: Any, why: str) -> None:
        fate.lost.append(Lost(field=f"{name} {field}", value=value, by=name, said=f"{field} {value}", why=why))

    for key, value in profile.items():
        if key in CARRIED:
            fate.carried.append(Carried(field=f"{name} {key}", value=value, to=CARRIED[key]))
    for colour in sonic.COLOURS[1:]:
        for form, unsaid in FIELDS.items():
            key, green = form.format(colour), profile.get(form.format(sonic.COLOURS[0]), unsaid)
            if profile.get(key, unsaid) != green:
                lose(key, profile.get(key, unsaid) or "none", COLOURED)
        for key in (each for each in profile if each.startswith(f"ecn_{colour}_")):
            lose(key, profile[key], COLOURED)
    if len({sonic.marks(profile, colour) for colour in sonic.COLOURS}) > 1:
        lose("ecn", profile.get("ecn"), "not all colours are marked; the scenario has green packets alone")
    for key, entry in _bindings(tables, name).items():
        for field, value in entry.items():
            if field != "wred_profile":
                why = "the queue is one of several of the port; the scenario has one"
                fate.lost.append(
                    Lost(field=f"QUEUE {key} {field}", value=value, by=f"QUEUE {key}", said=f"{field} {value}", why=why)
                )
    fate.notes.append(
        "how much may wait stands in the switch's buffer profiles, which are not read: four times green_max_threshold "
        "is taken"
    )
    return fate


def _bindings(tables: Mapping[str, Any], name: str) -> dict[str, Mapping[str, Any]]:
    """Returns the queues that have the profile, such as `Ethernet0|3`."""
    queues = tables.get("QUEUE")
    entries = queues.items() if isinstance(queues, dict) else ()
    bound = (name, f"[WRED_PROFILE|{name}]")
    return {key: each for key, each in entries if isinstance(each, dict) and each.get("wred_profile") in bound}


def _aqm(name: str, profile: Mapping[str, str]) -> tuple[dict[str, object], int]:
    """Returns the `[aqm]`, and the upper threshold; the buffer is not in the profile."""
    try:
        low, high = (int(profile[f"green_{end}_threshold"]) for end in ("min", "max"))
    except KeyError as error:
        raise ScenarioError(f"{name}: has no {error.args[0]}") from None
    if not 1 <= high <= 10**12:
        raise ScenarioError(f"{name}: green_max_threshold = {high}: must be in [1, 1e+12]")
    share = int(profile.get("green_drop_probability", "100"))
    marks = sonic.marks(profile, "green")
    if own := [key for key in profile if key.startswith("ecn_green_")]:
        raise ScenarioError(
            f"{name}: {own[0]}: it marks and drops at two pairs of thresholds, and a profile is read with one; "
            'write the scenario with kind = "wred", whose colours have both'
        )
    shared: dict[str, object] = {"mean_packet": f"{PACKET} B", "unit": "bytes", "ecn": marks}
    if low == high and marks:
        return {"kind": "step", **shared, "threshold": f"{high} B", "not_capable": "drop"}, high
    if share == 0:
        raise ScenarioError(f"{name}: green_drop_probability = 0: signals nothing below green_max_threshold")
    ramp = {
        "kind": "red",
        **shared,
        "min_th": f"{min(low, high - 1)} B",
        "max_th": f"{high} B",
        "max_p": share / 100,
        "w_q": 1.0,
        "gate": "geometric",
        "gentle": False,
        "forced": "mark" if marks else "drop",
    }
    return ramp, high


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
