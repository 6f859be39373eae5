"""Describes how the simulator's queue moves: what `simulated` finds, and what figures and tables show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.fluid.limits import OSCILLATES
from penstock.judging.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """How the simulator's queue moves, over the runs' measured windows.

    frequency_rad_s: at which a swing was looked for.
    queue_pkts, sd_pkts: its mean and standard deviation.
    rhythm: see above. expected_rhythm: the linear model's; `None` where the model oscillates.
    near: the share of the variance within half an octave of the expected frequency.
    peak_rad_s: where the spectrum has its highest point.
    utilization: of the link.
    omega, power: the spectrum, packets² per Hz, of both signs, mean over the runs.
    """

    frequency_rad_s: float
    queue_pkts: Estimate
    sd_pkts: Estimate
    rhythm: Estimate
    expected_rhythm: float | None
    near: Estimate
    peak_rad_s: float
    utilization: Estimate
    omega: Any
    power: Any

    @property
    def oscillates(self) -> bool:
        """Returns whether the queue swings with a rhythm that hardly dies out."""
        return (self.rhythm.mean or 0.0) >= OSCILLATES

    def row(self) -> dict[str, Any]:
        """Returns the swing as plain numbers, without the spectrum."""
        estimates = {
            "queue_pkts": self.queue_pkts,
            "queue_sd_pkts": self.sd_pkts,
            "rhythm": self.rhythm,
            "near_frequency": self.near,
            "utilization": self.utilization,
        }
        found: dict[str, Any] = {name: each.row() for name, each in estimates.items()}
        return {
            **found,
            "oscillates": self.oscillates,
            "expected_rhythm": self.expected_rhythm,
            "frequency_rad_s": self.frequency_rad_s,
            "peak_rad_s": self.peak_rad_s,
        }
