"""Measures what the simulator's queue does where the model says that it settles or oscillates.

A queue of real flows never stands still: every signal meets some flow at random. So a rule is needed
for what "oscillates" means. Here it is the rhythm of the queue: how far its correlation with itself,
over about a period, falls and rises again. It is 0 for noise that just dies out and 1 for a pure
swing. A swing of which each is a quarter of the last, the usual rule for a loop that is still
called damped, has 3/8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.fluid.margins import Margins, expected_correlation
from penstock.fluid.model import Loop
from penstock.fluid.range import Case, Range
from penstock.fluid.swing import Swing
from penstock.judging.estimate import FROM_ZERO, SHARE, Estimate
from penstock.runs.execute import Progress, cores, execute, share
from penstock.runs.recorded import recorded

#: Runs of every point.
SEEDS = 3
#: Periods over which the correlation is looked at.
PERIODS = 2.0
#: Periods that a run must have of a crossover; else the turn, which is faster, is looked for.
ENOUGH = 10
#: Samples in a period, and the shortest and longest interval between two, seconds.
SAMPLES, SHORTEST_S, LONGEST_S = 40, 1e-3, 0.1
#: Samples of a piece of the run of which a spectrum is taken, in periods.
PIECE = 16


def simulate(found: Range, seeds: int, first: int, jobs: int | None, progress: Progress | None) -> Range:
    """Runs every point that has a balance, and returns the points with what their queues did."""
    runs = range(first, first + seeds)
    cases = []
    for i, case in enumerate(found.cases):
        if case.loop is not None and case.margins is not None:
            part = share(progress, i, len(found.cases))
            case = replace(case, swing=_swing(case, runs, jobs or cores(), part))
        cases.append(case)
    return replace(found, cases=cases)


def rhythm(correlation: Any) -> float:
    """Returns how far a correlation rises after it has fallen: half of the greatest rise.

    >>> lags = np.linspace(0, 1.5, 151)
    >>> round(rhythm(np.cos(2 * np.pi * lags)), 3), round(rhythm(np.exp(-lags)), 3)
    (1.0, 0.0)
    """
    return float(np.max(correlation - np.minimum.accumulate(correlation)) / 2)


def correlation(values: Any, lags: int) -> Any:
    """Returns how a series correlates with itself after 0 … `lags` samples."""
    centred = np.asarray(values, dtype=float) - np.mean(values)
    n = len(centred)
    transform = np.fft.rfft(centred, 2 * n)
    products = np.fft.irfft(np.abs(transform) ** 2)[: lags + 1]
    return products / products[0] if products[0] > 0 else np.zeros(lags + 1)


def period_s(loop_frequency: float) -> float:
    """Returns the time of one swing at a frequency in rad/s."""
    return 2 * math.pi / loop_frequency


def expected_rhythm(loop: Loop, frequency: float) -> float:
    """Returns the rhythm of a stable loop's queue by the linear model."""
    lags = np.linspace(0, PERIODS * period_s(frequency), round(PERIODS * SAMPLES) + 1)
    return rhythm(expected_correlation(loop, lags))


def _swing(case: Case, seeds: Sequence[int], jobs: int, progress: Progress | None) -> Swing:
    assert case.loop is not None
    assert case.margins is not None
    facts = case.core.facts()
    frequency = _frequency(case.margins, facts.to_s - facts.from_s) or 2 * case.loop.pole
    interval_s = min(LONGEST_S, max(SHORTEST_S, round(period_s(frequency) / SAMPLES, 3)))
    runs = execute(case.core, list(seeds), jobs, progress=progress, series_interval_s=interval_s)
    queues = []
    for run in runs:
        table = recorded(run, "queue")
        t_s, queue = table["t_s"].to_numpy(), table["queue_pkts"].to_numpy().astype(float)
        queues.append(queue[(t_s >= facts.from_s) & (t_s < facts.to_s)])
    spectra = [_spectrum(queue, interval_s, frequency) for queue in queues]
    omega, power = spectra[0][0], np.mean([power for _, power in spectra], axis=0)
    lags = round(PERIODS * period_s(frequency) / interval_s)
    return Swing(
        frequency_rad_s=frequency,
        queue_pkts=Estimate.of([float(np.mean(queue)) for queue in queues], FROM_ZERO),
        sd_pkts=Estimate.of([float(np.std(queue)) for queue in queues], FROM_ZERO),
        rhythm=Estimate.of([rhythm(correlation(queue, lags)) for queue in queues], SHARE),
        expected_rhythm=expected_rhythm(case.loop, frequency) if case.margins.stable else None,
        near=Estimate.of([_near(omega, each, frequency) for _, each in spectra], SHARE),
        peak_rad_s=float(omega[np.argmax(power)]),
        utilization=Estimate.of([run.metrics["utilization"] or 0.0 for run in runs], SHARE),
        omega=omega,
        power=power,
    )


def _frequency(margins: Margins, window_s: float) -> float | None:
    """Returns the frequency at which a swing is looked for: one of which the window has enough periods."""
    expected = margins.frequency_rad_s
    slow = expected is not None and ENOUGH * period_s(expected) > window_s
    return margins.turn_rad_s if slow else expected


def _spectrum(queue: Any, interval_s: float, frequency: float) -> tuple[Any, Any]:
    """Returns the spectrum (Welch's method): rad/s, and packets² per Hz of both signs."""
    from scipy.signal import welch

    samples = min(len(queue), max(64, round(PIECE * period_s(frequency) / interval_s)))
    hz, density = welch(queue, fs=1 / interval_s, nperseg=samples, detrend="constant")
    return 2 * math.pi * hz[1:], density[1:] / 2


def _near(omega: Any, power: Any, frequency: float) -> float:
    """Returns the share of the variance within half an octave on either side of a frequency."""
    inside = (omega > frequency / math.sqrt(2)) & (omega < frequency * math.sqrt(2))
    return float(np.sum(power[inside]) / np.sum(power)) if np.sum(power) > 0 else 0.0
