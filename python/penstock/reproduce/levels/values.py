"""Turns runs into the numbers that claims are about, seed by seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.reproduce.comparisons import Comparison, Values
from penstock.reproduce.levels import signals
from penstock.reproduce.model import Numbers
from penstock.reproduce.runs import Labels, Quantity, Runs, bounds, within


def at_each(along: str, quantity: Quantity, scale: float = 1.0, **labels: str | float | int) -> Values:
    """Returns the quantity, times `scale`, at every value of the label `along`."""

    @within(bounds(quantity, scale))
    def values(runs: Runs) -> Numbers:
        part = runs.where(**labels) if labels else runs
        return {str(x): [float(scale * v) for v in part.values(quantity, **{along: x})] for x in part.labels(along)}

    return values


def middle(values: Values) -> Values:
    """Returns the median over the points, seed by seed."""

    @within(bounds(values))
    def median(runs: Runs) -> Numbers:
        found = values(runs)
        assert not isinstance(found, Sequence)
        return [float(x) for x in np.nanmedian(np.array(list(found.values())), axis=0)]

    return median


def versus_at_places(ours: str, theirs: str, where: Sequence[str] | None = None) -> Comparison:
    """Returns two signals side by side at the places; at all of them where none are given."""
    return Comparison(cases=signals.places(ours, theirs, at=where), ours=ours, theirs=theirs, along="place")


def percent_more(quantity: Quantity, ours: Labels, theirs: Labels) -> Values:
    """Returns by how much ours is above theirs, in percent of the mean of theirs, seed by seed."""

    def values(runs: Runs) -> Numbers:
        base = float(np.nanmean(runs.values(quantity, **theirs)))
        return [float(100 * x / base) for x in runs.difference(quantity, ours, theirs)]

    return values
