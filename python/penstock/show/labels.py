"""Says what the axes of figures say: the labels of metrics, which their rows declare, and units."""

from __future__ import annotations

from functools import cache

from penstock._names import listing
from penstock.judging.named import own
from penstock.show.numbers import scale


@cache
def _declared() -> dict[str, str]:
    """Returns metric → label. A name has the label of its first row: a run's goes before a group's and a flow's."""
    rows = listing("metrics")
    return {row["name"]: row["label"] for row in reversed(rows)}


def label(metric: str) -> str:
    """Returns a metric in words, without its unit; what is no metric stays as it is.

    >>> label("delay_p99_s"), label("links.bottleneck.reverse.delay_p99_s")
    ('99th-percentile delay', '99th-percentile delay of bottleneck.reverse')
    """
    whose, dot, name = metric.rpartition(".")
    if not dot or name not in _declared():
        return _declared().get(metric, metric)
    return f"{_declared()[name]} of {whose.partition('.')[2]}"


def axis(metric: str, size: float) -> tuple[float, str]:
    """Returns the factor in which values of that size read well, and what the axis says.

    >>> axis("goodput_bps", 9.5e6)
    (1e-06, 'Goodput [Mbit/s]')
    """
    factor, unit = scale(metric, size)
    return factor, with_unit(label(metric), unit)


def with_unit(text: str, unit: str) -> str:
    """Returns an axis' text with its unit, if it has one."""
    return f"{text} [{unit}]" if unit else text


def share(metric: str) -> bool:
    """Returns whether a metric is a part of a whole, or an index like one: between 0 and 1.

    >>> share("loss_ratio"), share("jain"), share("delay_mean_s")
    (True, True, False)
    """
    return own(metric) == "jain" or scale(metric, 1.0)[1] == "%"
