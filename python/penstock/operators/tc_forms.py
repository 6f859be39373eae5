"""Reads and writes values as `tc` writes the values of a state, in JSON and in text.

Facts: iproute2's lib/utils.c (times), lib/utils_math.c and lib/json_print.c (rates),
lib/json_print_math.c (sizes) and tc/q_*.c. JSON has whole numbers: bytes, microseconds, bytes per
second. The text rounds times to three digits and writes sizes and rates with binary and decimal
prefixes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from penstock.errors import ScenarioError
from penstock.operators.tc_delays import codel_reported
from penstock.operators.tc_pie import pie_reported


class Form(Enum):
    """How one value is written. The comment shows the text."""

    COUNT = "a number of packets"  # 10240p, 1024
    SIZE = "a size"  # 32Mb, 1514b
    TIME = "a time"  # 100ms
    CODEL = "a time of CoDel"  # 5ms: 4999 us in JSON, as the kernel counts it
    PIE = "a time of PIE"  # 15ms
    RATE = "a rate"  # 10Mbit
    NUMBER = "a number"  # 0.02
    PERCENT = "a percentage"  # 10%: 10 in JSON
    NAME = "a word"  # 0x12, ethernet
    FLAG = "a flag"  # ecn
    CELL = "a size over a cell's"  # 5000b/8
    MASKED = "a number over a mask"  # 0x1/0x3
    LIST = "a list of numbers"  # 1 2 2 2
    WORDS = "words"  # 20ms 5ms 25%


_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_WITH_UNIT = re.compile(rf"({_NUMBER})([A-Za-z]*)")
#: Unit → bytes, microseconds, bits per second.
SIZES = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30}
TIMES = {"": 1, "us": 1, "usec": 1, "ms": 1e3, "msec": 1e3, "s": 1e6, "sec": 1e6}
RATES = {"": 1, "bit": 1} | {
    f"{prefix}{binary}bit": (1024 if binary else 1000) ** power
    for power, prefix in enumerate("kmgt", 1)
    for binary in ("", "i")
}
COUNTS = {"": 1, "p": 1, "pps": 1, "sec": 1}
#: What a number or size may be; more is no box's.
MOST = 2.0**64


def parse(form: Form, token: str, name: str) -> Any:
    """Returns what JSON would have for a word of the text. Raises `ScenarioError`."""
    if form is Form.NAME or form is Form.WORDS:
        return token
    if form is Form.RATE:
        return token if token == "unlimited" else math.floor(_scaled(form, token, RATES, name) / 8)
    if form is Form.SIZE:
        return math.floor(_scaled(form, token, SIZES, name))
    if form is Form.CELL:
        return token if re.fullmatch(r"[0-9.]+[A-Za-z]*(/[0-9]+)?", token) else _wrong(form, token, name)
    if form in (Form.TIME, Form.CODEL, Form.PIE):
        told = round(_scaled(form, token, TIMES, name))
        return codel_reported(told) if form is Form.CODEL else pie_reported(told) if form is Form.PIE else told
    if form is Form.PERCENT:
        token = token.removesuffix("%")
    value = _scaled(form, token, {"": 1} if form is Form.NUMBER else COUNTS, name)
    return int(value) if value == int(value) and form is not Form.NUMBER else value


def cell_size(value: Any, name: str) -> float:
    """Returns the bytes of a burst, which `-d` writes as text with the cell's size behind it."""
    if isinstance(value, str):
        return _scaled(Form.SIZE, value.partition("/")[0], SIZES, name)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < MOST:
        return float(value)
    raise ScenarioError(f"{name}: must be a size, not {value!r}")


def show(form: Form | None, value: Any) -> str:
    """Returns a value as the text of `tc` has it."""
    if isinstance(value, bool) or value is None or not isinstance(value, (int, float)) or not abs(value) < MOST:
        return {True: "on", False: "off", None: "none"}.get(value, str(value)) if _plain(value) else _nested(value)
    if form is Form.SIZE:
        return _size(int(value))
    if form in (Form.TIME, Form.CODEL, Form.PIE):
        return _time(value)
    if form is Form.RATE:
        return _rate(8 * int(value))
    if form is Form.PERCENT:
        return f"{value:g}%"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def as_text(form: Form | None, value: Any, name: str) -> Any:
    """Returns a value as it comes back from the text, rounded as the text is."""
    if form in (Form.SIZE, Form.TIME, Form.CODEL, Form.PIE, Form.RATE) and not isinstance(value, str):
        return parse(form, show(form, value), name)
    return value


def _scaled(form: Form, token: str, units: Mapping[str, float], name: str) -> float:
    found = _WITH_UNIT.fullmatch(token)
    if found is None or found[2].lower() not in units:
        _wrong(form, token, name)
    value = float(found[1]) * units[found[2].lower()]  # type: ignore[index]
    if not abs(value) < MOST:
        _wrong(form, token, name)
    return value


def _wrong(form: Form, token: str, name: str) -> Any:
    shown = token if len(token) < 40 else f"{token[:37]}..."
    raise ScenarioError(f"{name}: must be {form.value}, not {shown!r}")


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, str, int, float))


def _nested(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key} {show(None, each)}" for key, each in value.items())
    return " ".join(show(None, each) for each in value) if isinstance(value, list) else str(value)


def _size(size: int) -> str:
    for unit, name, near in ((2**30, "Gb", 1024), (2**20, "Mb", 1024), (2**10, "Kb", 16)):
        if size >= unit and abs(unit * round(size / unit) - size) < near:
            return f"{round(size / unit):g}{name}"
    return f"{size}b"


def _time(us: float) -> str:
    for unit, name in ((1e6, "s"), (1e3, "ms")):
        if us >= unit:
            return f"{us / unit:.3g}{name}"
    return f"{us:.0f}us"


def _rate(bits: int) -> str:
    prefix = 0
    while prefix < 4 and bits >= 1000 and (bits % 1000 == 0 or bits >= 10**6):
        bits, prefix = bits // 1000, prefix + 1
    return f"{bits}{['', 'K', 'M', 'G', 'T'][prefix]}bit"
