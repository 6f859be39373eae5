"""Declares what tables and figures ask of the results that they show, which are `penstock.runs`'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock._penstock import RunResult
    from penstock.judging.estimate import Estimate
    from penstock.model.scenario import Scenario


class Runs(Protocol):
    """One scenario's runs: `Result`."""

    @property
    def scenario(self) -> Scenario:
        """Returns what ran."""

    @property
    def duration_s(self) -> float:
        """Returns how long each run lasted, without its lead-in."""

    @property
    def runs(self) -> Sequence[RunResult]:
        """One for each seed."""

    @property
    def summary(self) -> Mapping[str, Estimate]:
        """Returns metric name → estimate over the runs."""

    @property
    def links(self) -> Mapping[str, Mapping[str, Estimate]]:
        """Returns link → metric name → estimate over the runs."""

    @property
    def groups(self) -> Mapping[str, Mapping[str, Estimate]]:
        """Returns traffic group → metric name → estimate over the runs."""

    @property
    def identical(self) -> bool:
        """Returns whether there are several runs and they are all the same."""

    def series(self, name: str) -> pa.Table:
        """Returns a recorded table of all runs."""


class Compared(Protocol):
    """One scenario under several disciplines: `Comparison`."""

    @property
    def results(self) -> Mapping[str, Runs]:
        """Returns discipline → its runs."""

    @property
    def baseline(self) -> str:
        """The discipline that the others are compared with."""

    @property
    def identical(self) -> bool:
        """Returns whether the runs of every discipline are all the same."""

    def difference(self, aqm: str) -> Mapping[str, Estimate]:
        """Returns metric name → estimate of the paired differences against the baseline."""


class Counts(Protocol):
    """What became of packets while the queue was held: `Probe`."""

    @property
    def scenario(self) -> Scenario:
        """The scenario whose bottleneck was probed."""

    @property
    def axis(self) -> str:
        """Returns what `points` are."""

    @property
    def points(self) -> Sequence[float]:
        """Queues, or loads."""

    @property
    def after_s(self) -> Sequence[float]:
        """Returns how long the queue had stood."""

    @property
    def levels(self) -> Sequence[str]:
        """Returns what may become of a packet, mildest first."""

    def shares(self, level: str) -> Sequence[Sequence[float]]:
        """Returns the share of packets at each of `after_s`, for each of `points`."""


def window_s(result: Runs, run: RunResult | None = None) -> tuple[float, float]:
    """Returns the measured window of a run, in seconds from its beginning, any lead-in included.

    run: default: the first one.
    """
    facts = result.scenario.core.facts()
    zero = (run or result.runs[0]).lead_in_s or 0.0
    return zero + facts.from_s, zero + facts.to_s
