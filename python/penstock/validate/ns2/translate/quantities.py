"""Quantities as a scenario has them."""

from __future__ import annotations

from decimal import Decimal


def _plain(value: float) -> str:
    """Returns the decimal digits without an exponent."""
    text = format(Decimal(repr(value)).normalize(), "f")
    return "0" if text == "-0" else text


def seconds(value: float) -> str:
    """Returns a span of time, to the nanosecond: `0.0005` is `"0.5 ms"`.

    >>> seconds(0.0005), seconds(25.0), seconds(0.0)
    ('0.5 ms', '25 s', '0 s')
    """
    value = round(value, 9)
    return f"{_plain(value)} s" if value == 0 or abs(value) >= 1 else f"{_plain(round(value * 1e3, 6))} ms"


def rate(bps: float) -> str:
    """Returns a rate, to the bit per second: `1.5e6` is `"1.5 Mbit/s"`.

    >>> rate(1.5e6), rate(150e3), rate(7)
    ('1.5 Mbit/s', '150 kbit/s', '7 bit/s')
    """
    bits = round(bps)
    for unit, size in (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3)):
        if bits >= size and bits % (size // 1000) == 0:
            return f"{_plain(bits / size)} {unit}"
    return f"{bits} bit/s"


def size(count: float) -> str:
    """Returns a number of bytes.

    >>> size(1460.0)
    '1460 B'
    """
    return f"{round(count)} B"
