"""A WRED_PROFILE of SONiC's config DB, as a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock._names import nearest
from penstock.errors import ScenarioError
from penstock.operators import sonic
from penstock.operators.state import Given, one, rate_text, scenario_file, table

PACKET = 1500


def read(document: Any, given: Given) -> str:
    """Returns a scenario file for the profile's green packets. Raises `ScenarioError`."""
    tables = table(document, "the config DB")
    profiles = table(tables.get("WRED_PROFILE"), "WRED_PROFILE")
    if not profiles:
        raise ScenarioError("WRED_PROFILE: has no profile")
    name = given.profile or one(list(profiles), "profile", "--profile")
    if name not in profiles:
        near = nearest(name, profiles)
        raise ScenarioError(f"--profile {name}: no such profile{f'; nearest: {near}' if near else ''}")
    profile = table(profiles[name], name)
    if wrong := sonic.mistakes({"WRED_PROFILE": {name: profile}}):
        raise ScenarioError(f"WRED_PROFILE: {wrong[0]}")
    if profile.get("wred_green_enable", "false") != "true":
        raise ScenarioError(f"{name}: wred_green_enable is not true, so the switch ignores the thresholds: DropTail")
    rate = rate_text(_speed(tables, given), given, name)
    aqm, high = _aqm(name, profile)
    return scenario_file(
        name,
        f"What SONiC's WRED_PROFILE {name} does to green packets.",
        rate=rate,
        buffer=f"{4 * high} B",
        aqm=aqm,
        given=given,
    )


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
        raise ScenarioError(f"{name}: {own[0]}: it marks and drops at two pairs of thresholds; a scenario has one")
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


def _speed(tables: Mapping[str, Any], given: Given) -> float | None:
    """Returns the port's speed in bit/s; the table has Mbit/s. All ports, where they are alike."""
    ports = tables.get("PORT")
    if not isinstance(ports, dict):
        return None
    chosen = [ports.get(given.dev)] if given.dev is not None else list(ports.values())
    speeds = {each.get("speed") for each in chosen if isinstance(each, dict)}
    if len(speeds) != 1:
        return None
    speed = speeds.pop()
    return (
        1e6 * int(speed) if isinstance(speed, str) and speed.isascii() and speed.isdigit() and len(speed) < 9 else None
    )
