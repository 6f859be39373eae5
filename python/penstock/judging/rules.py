"""Says what a number is to be: above a bound, below one, within two."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Above:
    """The quantity is above `bound`."""

    bound: float = 0.0

    def decided(self, low: float, high: float) -> bool | None:
        """Returns whether an interval keeps the rule; `None` where it contains the border."""
        return True if low > self.bound else False if high <= self.bound else None


@dataclass(frozen=True, slots=True)
class Below:
    """The quantity is below `bound`."""

    bound: float = 0.0

    def decided(self, low: float, high: float) -> bool | None:
        """Returns whether an interval keeps the rule; `None` where it contains the border."""
        return True if high < self.bound else False if low >= self.bound else None


@dataclass(frozen=True, slots=True)
class Within:
    """The quantity lies in [low, high]. "The same" is a margin around 0."""

    low: float
    high: float

    def decided(self, low: float, high: float) -> bool | None:
        """Returns whether an interval keeps the rule; `None` where it contains a border."""
        if self.low <= low and high <= self.high:
            return True
        return False if high < self.low or low > self.high else None
