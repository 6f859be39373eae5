"""Measures what the study has of its own: ratios of goodputs, calls, pages, and how soon a queue settles."""

from __future__ import annotations

import math

import numpy as np

from penstock._penstock import parse_rate
from penstock.judging.estimate import FROM_ZERO, SHARE
from penstock.reproduce.levels import scenarios as at
from penstock.reproduce.measures import Measure
from penstock.reproduce.runs import Run, within

GOODPUT = Measure(quantity="goodput_bps", scale=1e-6, unit="Mbit/s", axis="goodput [Mbit/s]")
USED = Measure(quantity="utilization", scale=100, unit="percentage points", axis="link used [%]")
P99 = Measure(quantity="delay_p99_s", scale=1e3, unit="ms", axis="99th percentile of the delay [ms]")
JAIN = Measure(quantity="jain", unit="", axis="Jain's index")


@within(FROM_ZERO)
def per_flow_ratio(run: Run) -> float | None:
    """Returns the goodput of a flow of the first group over that of a flow of the second."""
    ours, theirs = (
        (group["goodput_bps"] or 0.0) / table["flows"]
        for group, table in zip(run.groups[:2], run.scenario.resolved["traffic"], strict=True)
    )
    return ours / theirs if theirs else math.inf


@within(SHARE)
def moderate_share(run: Run) -> float | None:
    """Returns the share of moderate marks among all marks; `None` where nothing is marked."""
    incipient, moderate = (run.metrics[f"marks_{level}"] or 0.0 for level in ("incipient", "ce"))
    return moderate / (incipient + moderate) if incipient + moderate else None


@within((0.0, 93.2))
def call_rating(run: Run) -> float | None:
    """Returns R of ITU-T G.107 of the calls."""
    return run.groups[2]["r_factor"]


@within(FROM_ZERO)
def page_time_s(run: Run) -> float | None:
    """Returns the median time of a page."""
    return run.metrics["page_time_p50_s"]


@within(FROM_ZERO)
def downloads_bps(run: Run) -> float | None:
    """Returns the goodput of the downloads at home."""
    return run.groups[0]["goodput_bps"]


#: The queue's delay is its bytes over the rate; it has settled where the mean of this long stays below this.
SETTLED_MS, WINDOW_S = 20.0, 0.5


@within(FROM_ZERO)
def settles_s(run: Run) -> float:
    """Returns seconds from a change until the queue's delay stays below 20 ms, each half second's mean; infinity where
    it does not within the run."""
    rate = _rate_after_bps(run)
    since = at.CHANGE_S
    last = 0.0
    for start in np.arange(since, run.scenario.duration_s - WINDOW_S + 1e-9, WINDOW_S):
        wait_ms = 8e3 * float(np.mean(run.recorded("queue_bytes", start, start + WINDOW_S))) / rate
        if wait_ms > SETTLED_MS:
            last = float(start) + WINDOW_S - since
    return last if last < run.scenario.duration_s - since - WINDOW_S / 2 else math.inf


def _rate_after_bps(run: Run) -> float:
    """Returns the bottleneck's rate after the change."""
    link = run.scenario.resolved["topology"]["bottleneck"]
    steps = link["schedule"]
    return parse_rate(steps[-1]["rate"] if steps else link["rate"])


RATING = Measure(quantity=call_rating, unit="points of R", axis="rating of a call, R")
PAGE = Measure(quantity=page_time_s, unit="s", axis="median time of a page [s]")
DOWNLOADS = Measure(quantity=downloads_bps, scale=1e-6, unit="Mbit/s", axis="downloads [Mbit/s]")
RATIO = Measure(quantity=per_flow_ratio, unit="times", axis="goodput of a new flow : of a neighbour")
SETTLES = Measure(quantity=settles_s, unit="s", axis="until the delay stays below 20 ms [s]")
