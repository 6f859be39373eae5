"""Turns what runs on a box into a scenario file: what both readers share."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock._penstock import parse_duration, parse_queue, parse_rate
from penstock.errors import ScenarioError

#: What is taken where neither the state nor the user says it.
RTT = "40 ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a state leaves open, and the user says.

    dev: the interface, where the state has several.
    parent: the class that the queue discipline stands below, where several differ.
    profile: SONiC's, where there are several.
    rate: of the bottleneck, with its unit.
    rtt: the round trip without queues, with its unit.
    buffer: what may wait, as a scenario says it.
    """

    dev: str | None = None
    parent: str | None = None
    profile: str | None = None
    rate: str | None = None
    rtt: str | None = None
    buffer: str | None = None

    def check(self) -> None:
        """Raises `ScenarioError`, which names the option, for a quantity that is none."""
        quantities: tuple[tuple[str, str | None, Callable[[str], object]], ...] = (
            ("rate", self.rate, parse_rate),
            ("rtt", self.rtt, parse_duration),
            ("buffer", self.buffer, parse_queue),
        )
        for option, text, parse in quantities:
            try:
                if text is not None:
                    parse(text)
            except ScenarioError as error:
                raise ScenarioError(f"--{option} {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A field that the scenario has.

    field: what the box calls it, with its place, as in `eth0 root fq_codel limit`.
    value: the box's.
    to: the key of the scenario.
    """

    field: str
    value: Any
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """What the box does and the scenario does not.

    field: what the box calls it, with its place.
    value: the box's; `None` where there is no value to say.
    by, said: what loses it, and the field with its value, as a sentence says them.
    why: what it costs.
    """

    field: str
    value: Any
    by: str
    said: str
    why: str


@dataclass(slots=True, kw_only=True)
class Fate:
    """What becomes of each field of a state."""

    carried: list[Carried] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    statistics: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        """Returns what is lost, a sentence for each reason."""
        said: dict[tuple[str, str], list[str]] = {}
        for each in self.lost:
            said.setdefault((each.by, each.why), []).append(each.said)
        return [
            plain(f"{by} {', '.join(dict.fromkeys(fields))}".strip() + f": {why}") for (by, why), fields in said.items()
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The state of a box, read.

    text: a scenario file.
    fate: what became of each field.
    """

    text: str
    fate: Fate


def plain(text: str) -> str:
    """Returns a text without line ends and control characters, which the names in a state may have."""
    return "".join(each if each.isprintable() else "?" for each in text)


def number(table: Mapping[str, Any], key: str, where: str, low: float = 0, high: float = 2**53) -> float:
    """Returns a number of the state. Raises `ScenarioError` where there is none, or none that a box
    could have.
    """
    value = table.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ScenarioError(f"{where}: {key} must be a number, not {shown(value)}")
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
        raise ScenarioError(f"{where}: must be an object, not {shown(value)}")
    return value


def one(found: Sequence[str], what: str, option: str) -> str:
    """Returns the only one of several names. Raises `ScenarioError` that asks which."""
    if len(found) > 1:
        raise ScenarioError(f"has {len(found)} {what}s: {', '.join(map(str, found))}; choose one with {option}")
    return found[0]


def rate_text(bits_per_s: float | None, given: Given, where: str, hint: str = "") -> str:
    """Returns the bottleneck's rate, from the state or from the user.

    hint: what else to say where neither has it.
    """
    if given.rate is not None:
        return given.rate
    if not bits_per_s:
        raise ScenarioError(f"{where}: the state does not say the link's rate: give it, as in --rate '50 Mbit/s'{hint}")
    return f"{round(bits_per_s)} bit/s"


def scenario_file(
    name: str, said: str, *, link: Mapping[str, str], buffer: str, aqm: Mapping[str, object], given: Given, fate: Fate
) -> str:
    """Returns the text of a scenario file.

    said: what the state is, for the comment at the top.
    link: the bottleneck's keys: its `rate`, and what its line adds to a packet.
    fate: what is lost, and what whoever reads the file should know.
    """
    rtt = given.rtt or RTT
    rtt_said = "" if given.rtt else "   # half of the round trip; not in the state: --rtt says it"
    ecn = "classic" if aqm.get("ecn") else "off"
    framing = "".join(f"{key} = {json.dumps(value)}\n" for key, value in link.items() if key != "rate")
    head = [
        plain(said),
        *(f"Lost: {each}." for each in fate.sentences()),
        *(f"Note: {each}." for each in map(plain, fate.notes)),
    ]
    return f"""\
{_comments(head)}
name = {json.dumps(name)}
duration = "60 s"
measure = {{ from = "20 s" }}
profile = "linux"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate = {json.dumps(link["rate"])}
delay = {json.dumps(_half(rtt))}{rtt_said}
buffer = {json.dumps(given.buffer or buffer)}
{framing}
{_tables("aqm", aqm)}
# The state does not say who sends. Change this to what your link carries.
[[traffic]]
kind = "ftp"
flows = 10
tcp = "cubic"
start = {{ uniform = ["0 s", "1 s"] }}
ecn = "{ecn}"
"""


def _comments(sentences: Iterable[str]) -> str:
    """Returns sentences as comments."""
    lines: list[str] = []
    for sentence in sentences:
        lines += textwrap.wrap(sentence, 98, break_on_hyphens=False)
    return "\n".join(f"# {line}".rstrip() for line in lines)


def _half(rtt: str) -> str:
    return f"{parse_duration(rtt) / 2 * 1e6:.10g} us"


def _tables(name: str, values: Mapping[str, object]) -> str:
    """Returns a table and those within it."""
    keys = "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items() if not isinstance(value, dict))
    inner = [_tables(f"{name}.{key}", value) for key, value in values.items() if isinstance(value, dict)]
    # One that only holds others needs no head.
    return "\n".join([*([f"[{name}]\n{keys}"] if keys else []), *inner])


def shown(value: Any) -> str:
    """Returns a value of the state in a message."""
    text = json.dumps(value)
    return "absent" if value is None else text if len(text) < 40 else f"{text[:37]}..."
