"""All that was measured of a candidate: a row for each form of each scenario."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.evaluation.numbers import Array, Numbers, goodput_share
from penstock.evaluation.points import Where
from penstock.judging.estimate import FROM_ZERO, SHARE, Bounds, Estimate
from penstock.show.numbers import IDENTICAL, number


@dataclass(frozen=True, slots=True)
class Column:
    """A number of a run: what it is called, its section of the RFC, its unit, where it comes from, and its bounds."""

    key: str
    section: str
    title: str
    unit: str
    scale: float
    of: Callable[[Numbers, Where], Array]
    within: Bounds = FROM_ZERO


def _metric(name: str) -> Callable[[Numbers, Where], Array]:
    return lambda numbers, where: numbers.metric(where, name)


def _quantile(measure: str, percent: float) -> Callable[[Numbers, Where], Array]:
    return lambda numbers, where: numbers.quantile(where, measure, percent)


def _value(measure: str) -> Callable[[Numbers, Where], Array]:
    return lambda numbers, where: numbers.value(where, measure)


def _of_any_group(measure: str) -> Callable[[Numbers, Where], Array]:
    """The median of the traffic group that has such a measure; where several do, of the first in the file."""

    def asked(numbers: Numbers, where: Where) -> Array:
        found = [numbers.quantile(where, measure, 50.0, of) for of in numbers.groups(where)]
        there = [each for each in found if np.isfinite(each).any()]
        return there[0] if there else np.full(len(numbers.seeds[where]), np.nan)

    return asked


def _share(numbers: Numbers, where: Where) -> Array:
    """The first of two traffic entries' part of the goodput; of more or fewer there is none."""
    if len(numbers.groups(where)) != 2:
        return np.full(len(numbers.seeds[where]), np.nan)
    return goodput_share(numbers, where, 0)


COLUMNS: Sequence[Column] = (
    Column("delay_mean", "2.6", "delay, mean", "ms", 1e3, _metric("delay_mean_s")),
    Column("delay_p99", "2.6", "delay, 99 %", "ms", 1e3, _quantile("delay_s", 99.0)),
    Column("pdv_p99", "2.6", "variation, 99 %", "ms", 1e3, _quantile("pdv_s", 99.0)),
    Column("goodput", "2.5", "goodput", "Mbit/s", 1e-6, _metric("goodput_bps")),
    Column("utilization", "2", "utilization", "%", 100, _metric("utilization"), SHARE),
    Column("loss", "2.3", "loss", "%", 100, _metric("loss_ratio"), SHARE),
    Column("loss_gap", "2.3", "median gap between losses", "packets", 1, _quantile("loss_gap_pkts", 50.0)),
    Column("sync", "2.4", "flows that lose together", "%", 100, _value("loss_sync"), SHARE),
    Column("jain", "RFC 5166", "Jain's index", "", 1, _metric("jain"), SHARE),
    Column("share", "5", "first entry's share", "%", 100, _share, SHARE),
    Column("fct", "2.1", "transfer, median", "s", 1, _of_any_group("fct_s")),
    Column("page", "2.1", "web page, median", "s", 1, _of_any_group("page_s")),
    Column("startup", "2.2", "start-up, median", "ms", 1e3, _of_any_group("startup_s")),
)


def places(numbers: Numbers, candidate: str) -> list[Where]:
    """Returns where a candidate ran with its usual control values."""
    return [where for where in numbers.seeds if where.candidate == candidate and not where.knob]


def form(where: Where) -> str:
    """Returns the form of a scenario in words; empty for the file as it is."""
    return ", ".join(part for part in (where.variant, "ECN" if where.ecn else "") if part)


def rows(numbers: Numbers, candidate: str) -> list[dict[str, Any]]:
    """Returns the rows for the page."""
    found = []
    for where in places(numbers, candidate):
        estimates = [_estimate(column, numbers, where) for column in COLUMNS]
        same = all(each.ci95 in (None, 0.0) for each in estimates) and any(each.n > 1 for each in estimates)
        cells = [
            number(Estimate(each.mean, None, each.n) if same else each, column.scale)
            for each, column in zip(estimates, COLUMNS, strict=True)
        ]
        words = [form(where), IDENTICAL if same else ""]
        found.append({"experiment": where.experiment, "form": ", ".join(filter(None, words)), "cells": cells})
    return found


def _estimate(column: Column, numbers: Numbers, where: Where) -> Estimate:
    values = column.of(numbers, where)
    return Estimate.of(values[np.isfinite(values)].tolist(), column.within)


def measured_csv(numbers: Numbers, candidates: Sequence[str]) -> str:
    """Returns every number, a row each, in the unit named."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(
        ("candidate", "experiment", "form", "measure", "section", "unit", "mean", "ci95", "n", "low", "high")
    )
    for candidate in candidates:
        for where in places(numbers, candidate):
            for column in COLUMNS:
                estimate = _estimate(column, numbers, where)
                if estimate.mean is None:
                    continue
                mean, ci95, low, high = (
                    None if v is None else f"{v * column.scale:.6g}"
                    for v in (estimate.mean, estimate.ci95, estimate.low, estimate.high)
                )
                about = (candidate, where.experiment, form(where), column.key, column.section, column.unit)
                table.writerow([*about, mean, ci95, estimate.n, low, high])
    return text.getvalue()
