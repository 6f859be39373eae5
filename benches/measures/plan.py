"""How thorough a run of the benchmarks is, and which of the other simulators take part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Plan:
    """What the options ask for."""

    quick: bool
    """A smoke test: a tenth of the simulated time, everything once, nothing written."""
    record: bool
    """Write the instruction counts of this run into the repository."""
    peers: bool
    """Count the instructions of the other simulators anew, instead of showing the record's."""
    ns: bool
    """ns-2 is installed."""
    valgrind: bool
    """valgrind is installed."""
    htsim: Path | None
    """The folder `sim` of a built checkout of csg-htsim."""

    @property
    def shorter(self) -> int:
        """Divides simulated times."""
        return 10 if self.quick else 1

    @property
    def repeats(self) -> int:
        """Runs of which the median counts, where wall time is measured."""
        return 1 if self.quick else 3

    def turns(self, most: int) -> int:
        """Turns of which the shortest run counts."""
        return 1 if self.quick else most

    @property
    def seeds(self) -> int:
        """Seeds of the comparison of results."""
        return 1 if self.quick else 8
