"""Numbers as text for a person: in units that read well, with as many digits as the interval supports."""

from __future__ import annotations

import math

from penstock.judging.estimate import Estimate
from penstock.judging.named import own

#: What is said where no seed changes anything.
IDENTICAL = "the runs are identical"
#: Why, and what to do about it.
NOT_RANDOM = f"""{IDENTICAL}: nothing random acts in this scenario, so more seeds say no more
(start = {{ uniform = ["0 s", "1 s"] }} under [[traffic]] starts the flows at random)"""


def scale(metric: str, size: float) -> tuple[float, str]:
    """Returns the factor and unit in which a metric of that size reads well; the metric's name ends in its own unit.

    >>> scale("delay_mean_s", 0.08)
    (1000.0, 'ms')
    """
    if metric.endswith("_bps"):
        for limit, factor, unit in ((1e9, 1e-9, "Gbit/s"), (1e6, 1e-6, "Mbit/s"), (1e3, 1e-3, "kbit/s")):
            if size >= limit:
                return factor, unit
        return 1.0, "bit/s"
    if metric.endswith("_s2"):
        return 1e6, "ms²"
    if metric.endswith("_per_s"):
        return 1.0, "/s"
    if metric.endswith("_s"):
        return (1.0, "s") if size >= 10 else (1e3, "ms")
    if metric.endswith("_pkts"):
        return 1.0, "packets"
    if own(metric) == "utilization" or metric.endswith(("_ratio", "_share")):
        return 100.0, "%"
    return 1.0, ""


def number(estimate: Estimate, factor: float = 1.0, *, sign: bool = False) -> str:
    """Returns an estimate as text: the interval to two figures, the mean to the same place.

    An interval that is not symmetric is written as how far it reaches below and above the mean.

    >>> number(Estimate(mean=0.08123, ci95=0.00123, n=10), 1000.0)
    '81.2 ± 1.2'
    >>> number(Estimate(mean=0.998, ci95=0.0031, n=5, low=0.9938, high=0.9999), 100.0)
    '99.80 −0.42 +0.19'
    >>> number(Estimate(mean=0.5, ci95=None, n=1), sign=True)
    '+0.5000'
    >>> number(Estimate(mean=-1e-17, ci95=2e-17, n=10))
    '0 ± 0'
    >>> number(Estimate(mean=1189.637766908, ci95=2e-9, n=10))
    '1189.638 ± 0.000'
    """
    if estimate.mean is None:
        return "–"
    plus = "+" if sign else ""
    mean = _shown(estimate.mean * factor)
    if estimate.ci95 is None:
        return f"{mean:{plus}.{_places(mean, 4)}f}"
    if not estimate.symmetric:
        below, above = (_shown(each * factor) for each in (estimate.below, estimate.above))
        places = min(_places((below + above) / 2, 2), _finest(mean))
        return f"{mean:{plus}.{places}f} −{below:.{places}f} +{above:.{places}f}"
    half = _shown(estimate.ci95 * factor)
    places = min(_places(half, 2), _finest(mean)) if half > 0 else _places(mean, 4)
    return f"{mean:{plus}.{places}f} ± {half:.{places}f}"


def spread(estimate: Estimate, places: int, factor: float = 1.0) -> str:
    """Returns the interval alone to so many decimal places, as it stands behind a mean; empty where there is none.

    >>> spread(Estimate(mean=0.5, ci95=0.1, n=3), 1)
    ' ± 0.1'
    """
    if estimate.mean is None or estimate.ci95 is None:
        return ""
    if estimate.symmetric:
        return f" ± {estimate.ci95 * factor:.{places}f}"
    return f" −{estimate.below * factor:.{places}f} +{estimate.above * factor:.{places}f}"


def spanned(mean: float | None, ends: tuple[float, float] | None, factor: float = 1.0, *, sign: bool = False) -> str:
    """Returns a mean and the ends of an interval, which need not be symmetric, to two figures of its half-width.

    >>> spanned(0.08123, (0.0801, 0.0842), 1000.0)
    '81.2 (80.1 to 84.2)'
    """
    if mean is None or ends is None:
        return number(Estimate(mean=mean, ci95=None, n=0), factor, sign=sign)
    low, middle, high = (_shown(each * factor) for each in (ends[0], mean, ends[1]))
    half = (high - low) / 2
    places = _places(half, 2) if half > 0 else _places(middle, 4)
    plus = "+" if sign else ""
    return f"{middle:{plus}.{places}f} ({low:{plus}.{places}f} to {high:{plus}.{places}f})"


#: Decimal places, and significant figures of a mean, at most: what is beyond is rounding.
PLACES, MOST = 9, 7


def _shown(value: float) -> float:
    """Returns the value, or 0 where no place shown has a digit of it: what rounding leaves of a difference of
    equals."""
    return 0.0 if abs(value) < 0.5 * 10**-PLACES else value


def _places(value: float, figures: int) -> int:
    """Returns the decimal places that show `figures` significant figures of `value`; whole numbers show none."""
    return 0 if figures > 2 and value == int(value) else _after_point(value, figures)


def _finest(mean: float) -> int:
    """Returns the decimal places beyond which a mean's digits are rounding."""
    return _after_point(mean, MOST) if mean else PLACES


def _after_point(value: float, figures: int) -> int:
    return max(0, min(PLACES, figures - 1 - math.floor(math.log10(abs(value))))) if value else 0
