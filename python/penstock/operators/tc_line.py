"""A queue discipline's arguments without its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.operators.model import Value

#: An Ethernet frame as the kernel counts it: 1500 B and the header.
FRAME = 1514


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A qdisc without its place.

    arguments: after the qdisc's name; more than one where it takes several commands.
    """

    qdisc: str
    arguments: tuple[str, ...]
    values: tuple[Value, ...]
    aqm: Mapping[str, Any]
    buffer: str
    readback: Mapping[str, Any]
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
