"""From what runs on a box to a scenario file: what both readers share."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import ScenarioError

#: What is taken where neither the state nor the user says it.
RTT = "40 ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a state leaves open, and the user says.

    dev: the interface, where the state has several.
    profile: SONiC's, where there are several.
    rate: of the bottleneck, with its unit.
    rtt: the round trip without queues, with its unit.
    buffer: what may wait, as a scenario says it.
    """

    dev: str | None = None
    profile: str | None = None
    rate: str | None = None
    rtt: str | None = None
    buffer: str | None = None


def number(table: Mapping[str, Any], key: str, where: str, low: float = 0, high: float = 2**53) -> float:
    """Returns a number of the state. Raises `ScenarioError` where there is none, or none that a box
    could have.
    """
    value = table.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ScenarioError(f"{where}: {key} must be a number, not {_shown(value)}")
    if not low <= value <= high:
        raise ScenarioError(f"{where}: {key} = {value:g}: must be in [{low:g}, {high:g}]")
    return value


def whole(table: Mapping[str, Any], key: str, where: str, low: int = 0, high: int = 2**53) -> int:
    """Returns a whole number of the state."""
    value = number(table, key, where, low, high)
    if value != int(value):
        raise ScenarioError(f"{where}: {key} = {value:g}: must be a whole number")
    return int(value)


def table(value: Any, where: str) -> Mapping[str, Any]:
    """Returns an object of the state."""
    if not isinstance(value, dict):
        raise ScenarioError(f"{where}: must be an object, not {_shown(value)}")
    return value


def one(found: Sequence[str], what: str, option: str) -> str:
    """Returns the only one of several names. Raises `ScenarioError` that asks which."""
    if len(found) > 1:
        raise ScenarioError(f"has {len(found)} {what}s: {', '.join(found)}; choose one with {option}")
    return found[0]


def rate_text(bits_per_s: float | None, given: Given, where: str) -> str:
    """Returns the bottleneck's rate, from the state or from the user."""
    if given.rate is not None:
        return given.rate
    if not bits_per_s:
        raise ScenarioError(f"{where}: the state does not say the link's rate: give it, as in --rate '50 Mbit/s'")
    return f"{round(bits_per_s)} bit/s"


def scenario_file(name: str, said: str, *, rate: str, buffer: str, aqm: Mapping[str, object], given: Given) -> str:
    """Returns the text of a scenario file.

    said: what the state is, for the comment at the top.
    """
    rtt = given.rtt or RTT
    rtt_said = "" if given.rtt else "   # not in the state: --rtt says it"
    ecn = "classic" if aqm.get("ecn") else "off"
    keys = "\n".join(f"{key} = {_literal(value)}" for key, value in aqm.items())
    return f"""\
# {said}
name = {json.dumps(name)}
duration = "60 s"
measure = {{ from = "20 s" }}

[topology]
kind = "dumbbell"
access = {{ rate = {json.dumps(rate)}, delay = "0 s" }}{rtt_said}

[topology.bottleneck]
rate = {json.dumps(rate)}
delay = {json.dumps(_half(rtt))}
buffer = {json.dumps(given.buffer or buffer)}

[aqm]
{keys}

# The state does not say who sends. Change this to what your link carries.
[[traffic]]
kind = "ftp"
flows = 10
tcp = "cubic"
segment = "1448 B"
start = {{ uniform = ["0 s", "1 s"] }}
ecn = "{ecn}"
"""


def _half(rtt: str) -> str:
    from penstock._penstock import parse_duration

    return f"{parse_duration(rtt) / 2 * 1e6:.10g} us"


def _literal(value: object) -> str:
    return json.dumps(value)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return "absent" if value is None else text if len(text) < 40 else f"{text[:37]}..."
