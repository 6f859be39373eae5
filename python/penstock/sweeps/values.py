"""The values of axes: their order, and how they are written."""

from __future__ import annotations

import re
from typing import Any

#: What a unit is worth in its dimension, to put values in order and on a scale.
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
_UNITS |= {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_UNITS |= {"B": 1, "kB": 1e3, "MB": 1e6, "KiB": 1024, "MiB": 1024**2, "packets": 1}


def order(value: Any) -> tuple[int, float, str]:
    """Returns a key to sort values by: nothing, then numbers (in the base unit of their dimension), then words.

    >>> sorted(["100 ms", "2 s", "20 ms"], key=order)
    ['20 ms', '100 ms', '2 s']
    """
    if value is None:
        return (0, 0.0, "")
    if isinstance(value, bool):
        return (2, 0.0, str(value))
    if isinstance(value, (int, float)):
        return (1, float(value), "")
    found = re.fullmatch(r"([-+0-9.eE]+) ?([^\d\s]\S*)?", str(value))
    if found and (found[2] is None or found[2] in _UNITS):
        try:
            return (1, float(found[1]) * _UNITS.get(found[2] or "", 1), "")
        except ValueError:
            pass
    return (2, 0.0, str(value))


def text(value: Any) -> str:
    """Returns a value as a scenario file has it.

    >>> text(True), text(0.1), text("20 ms"), text(None)
    ('true', '0.1', '20 ms', '–')
    """
    if value is None:
        return "–"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
