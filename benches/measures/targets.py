"""The targets: floors under what each measure should reach, and not what it reached last.

`make bench` shows what is missed and does not fail; `make accept` does, for the speeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .tables import NONE


@dataclass(frozen=True)
class Target:
    """A bound on a measure: `value` in `unit`, and `aim`, which is better still."""

    direction: Literal["at most", "at least"]
    value: float
    unit: str = ""
    aim: float | None = None

    def met(self, measured: float) -> bool:
        """Whether a value is within the bound."""
        return measured <= self.value if self.direction == "at most" else measured >= self.value

    def __str__(self) -> str:
        sign = "≤" if self.direction == "at most" else "≥"
        space = "" if self.unit in ("", "×") else " "
        return f"{sign} {self.value:,g}{space}{self.unit}"


#: Every target by the name of its measure. A case of the benchmark is named as `speed B1`.
TARGETS = {
    "speed B1": Target("at least", 8, "×"),
    "speed B2": Target("at least", 10, "×"),
    "speed B3": Target("at least", 25, "×"),
    "speed B4": Target("at least", 14, "×"),
    "instructions B1": Target("at most", 1870, aim=1200),
    "instructions B2": Target("at most", 1600, aim=1000),
    "instructions B3": Target("at most", 1600, aim=1000),
    "instructions B4": Target("at most", 650, aim=400),
    "10,000 flows": Target("at most", 1.5, "×"),
    "idle flow": Target("at most", 1024, "B"),
    "packet in flight": Target("at most", 100, "B"),
    "packet on record": Target("at most", 160, "B"),
    "Linux's CUBIC": Target("at most", 1.4, "×"),
    "BBR": Target("at most", 1.7, "×"),
    "100,000 flows": Target("at most", 1024, "MiB"),
    "discipline": Target("at most", 1.3, "×"),
    "discipline of today": Target("at most", 1.6, "×"),
    "CAKE": Target("at most", 2.2, "×"),
    "Python discipline": Target("at most", 60, "ns"),
    "packet and hop": Target("at most", 1, "×"),
    "penstock run": Target("at most", 0.08, "s"),
    "import penstock": Target("at most", 0.05, "s"),
}


def beside(name: str, measured: float) -> list[str]:
    """Two cells for a measured value: its target, and whether it is met."""
    target = TARGETS[name]
    return [str(target), "yes" if target.met(measured) else "**no**"]


#: The two cells of a row that has no target.
WITHOUT = [NONE, NONE]
