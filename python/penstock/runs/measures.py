"""Computes what RFC 7928 asks of a run beyond its metrics, computed where the run was made.

Every packet's fate at the bottleneck goes in, a few hundred numbers come out, so that a judgement
over thousands of runs neither keeps nor sends packets. The rows of the table:

    measure   what it is: a key of `MEASURES`
    of        the traffic group's name; empty: the link's
    at        where: a quantile in percent, or a time in seconds from the scenario's time zero
    value     the number, in the unit that `MEASURES` says

Everything is over the measured window, except the series over time, which are of the whole run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from penstock.model.events import LET_IN, OUT, matched
from penstock.runs.recorded import recorded

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from penstock import _penstock

#: What is measured, with its unit and the section of RFC 7928 that asks for it.
MEASURES: Mapping[str, str] = {
    "delay_s": "quantile of the queueing delay, seconds (2.6)",
    "pdv_s": "quantile of the packet delay variation, delay less the flow's least, seconds (2.6, RFC 5481)",
    "loss_ratio": "packets lost over packets that arrived (2.3)",
    "loss_gap_s": "quantile of the time between two losses, seconds (2.3)",
    "loss_gap_pkts": "quantile of the packets that arrived between two losses (2.3)",
    "loss_sync": "mean share of the flows that lose in a loss event of one round trip (2.4)",
    "goodput_bps": "quantile of the payload acknowledged in windows of 10 round trips, bits per second (2.5)",
    "startup_s": "quantile over flows of the time from a flow's first packet to its first data, seconds (2.2)",
    "fct_s": "quantile of the completion time of transfers, seconds (2.1)",
    "page_s": "quantile of the time of whole pages, seconds (2.1)",
    "delay_over_time_s": "mean queueing delay of the packets that left in a slice, seconds (2.7)",
    "rate_over_time_bps": "bits that left in a slice, per second (2.7)",
    "losses_over_time": "packets lost in a slice (2.7)",
    "goodput_over_time_bps": "payload acknowledged in a window of 10 round trips, per second (2.5, 2.7)",
}

#: Percent.
QUANTILES = (0.0, 1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 100.0)
#: Slices of a run, for what is shown over time.
SLICES = 240
#: Round trips of the shortest path in a window of goodput: the K of RFC 7928, section 2.5.
K = 10
#: A segment without payload takes at most this on the wire: SYN, ACK.
BARE = 60

Row = tuple[str, str, float, float]


def window_s(scenario: _penstock.Scenario) -> float:
    """Returns the window over which goodput is measured, seconds."""
    return max(K * _least_s(scenario), 1e-3)


def _least_s(scenario: _penstock.Scenario) -> float:
    """Returns the shortest round trip over empty queues, transmissions left out."""
    trips = (group.round_trip_s for group in scenario.facts().groups)
    return min(trip[0] for trip in trips if trip is not None)


@dataclass(frozen=True)
class Fates:
    """The packets of a run, as columns. A packet that was not let in has no delay.

    flow, t_s, size: of the arrivals at the queue, in their order.
    left_s: when the packet's transmission began, or it was dropped while it waited; NaN: neither.
    lost: whether it was dropped, now or later.
    """

    flow: NDArray[np.int64]
    t_s: NDArray[np.float64]
    size: NDArray[np.float64]
    left_s: NDArray[np.float64]
    lost: NDArray[np.bool_]

    @staticmethod
    def of(events: pa.Table) -> Fates:
        """Returns the fates that the events tell."""
        import numpy as np

        column = events["event"].combine_chunks()
        words, codes = column.dictionary.to_pylist(), column.indices.to_numpy(zero_copy_only=False)
        code = {word: i for i, word in enumerate(words)}
        t_s = events["t_s"].to_numpy()
        flow = events["flow"].to_numpy().astype(np.int64)
        size = events["bytes"].to_numpy().astype(float)

        def among(*names: str) -> NDArray[np.bool_]:
            return np.isin(codes, [code[name] for name in names])

        entered, left = among(*LET_IN), among(*OUT)
        refused = among("drop_early", "drop_forced", "drop_overflow")
        thrown = among("drop_head", "evict")
        arrived = entered | refused
        place = np.flatnonzero(arrived)
        left_s, lost = np.full(len(flow), np.nan), refused.copy()
        came, went = matched(events["packet"].to_numpy(), entered, left)
        left_s[came] = t_s[went]
        lost[came] |= thrown[went]
        return Fates(flow[place], t_s[place], size[place], left_s[place], lost[place])

    @cached_property
    def delay_s(self) -> NDArray[np.float64]:
        """The delay of the packets that were sent; NaN for the others."""
        import numpy as np

        return np.where(self.lost, np.nan, self.left_s - self.t_s)

    def where(self, keep: NDArray[np.bool_]) -> Fates:
        """Returns the fates of some of the packets."""
        return Fates(self.flow[keep], self.t_s[keep], self.size[keep], self.left_s[keep], self.lost[keep])


class _Run:
    """A run with what was recorded of it."""

    def __init__(self, result: _penstock.RunResult, made: _penstock.Scenario) -> None:
        import numpy as np

        facts = made.facts()
        self.zero_s = result.lead_in_s or 0.0
        self.duration_s = made.duration_s
        self.from_s, self.to_s = self.zero_s + facts.from_s, self.zero_s + facts.to_s
        self.rtt_s = _least_s(made)
        self.fates = Fates.of(recorded(result, "events"))
        self.goodput = recorded(result, "goodput")
        self.fct = recorded(result, "fct")
        self.pages = recorded(result, "pages") if "pages" in result.tables else None
        of_group = np.array([flow["group"] for flow in result.flows], dtype=np.int64)
        names = enumerate(group.name for group in facts.groups)
        self.members = {name: np.flatnonzero(of_group == i) for i, name in names if (of_group == i).any()}

    def inside(self, t_s: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Returns whether a time is in the measured window."""
        return (t_s >= self.from_s) & (t_s < self.to_s)


def measured(result: _penstock.RunResult, scenario: _penstock.Scenario) -> pa.Table:
    """Returns the rows of a run that recorded `events` and the series at intervals of `window_s`."""
    import pyarrow as pa

    rows = list(_rows(_Run(result, scenario)))
    names, ofs, ats, values = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table(
        {
            "measure": pa.array(names, pa.string()),
            "of": pa.array(ofs, pa.string()),
            "at": pa.array(ats, pa.float64()),
            "value": pa.array(values, pa.float64()),
        }
    )


def _rows(run: _Run) -> Iterator[Row]:
    import numpy as np

    here = run.fates.where(run.inside(run.fates.t_s))
    yield from _of_packets("", here)
    for name, flows in run.members.items():
        yield from _of_packets(name, here.where(np.isin(here.flow, flows)))
        yield from _startup(name, run, flows)
        yield from _transfers(name, run, flows)
        yield from _pages(name, run, flows)
        yield from _goodput(name, run, flows)
    yield from _sync(run, here)
    yield from _over_time(run)


def quantiles(measure: str, of: str, values: NDArray[np.float64]) -> Iterator[Row]:
    """Yields a measure's quantiles; no rows where there is no value. Infinite values are kept."""
    import numpy as np

    if len(values):
        for at, value in zip(
            QUANTILES, np.quantile(values, np.array(QUANTILES) / 100, method="inverted_cdf"), strict=True
        ):
            yield measure, of, at, float(value)


def _of_packets(of: str, fates: Fates) -> Iterator[Row]:
    import numpy as np

    sent = ~np.isnan(fates.delay_s)
    delay, flow = fates.delay_s[sent], fates.flow[sent]
    yield from quantiles("delay_s", of, delay)
    if len(delay):
        _, owner = np.unique(flow, return_inverse=True)
        least = np.full(owner.max() + 1, np.inf)
        np.minimum.at(least, owner, delay)
        yield from quantiles("pdv_s", of, delay - least[owner])
    if len(fates.flow):
        yield "loss_ratio", of, math.nan, float(fates.lost.mean())
    at = np.flatnonzero(fates.lost)
    yield from quantiles("loss_gap_pkts", of, np.diff(at).astype(float))
    yield from quantiles("loss_gap_s", of, np.diff(fates.t_s[at]))


def _startup(of: str, run: _Run, flows: NDArray[np.int64]) -> Iterator[Row]:
    """Yields the time from a flow's first packet at the queue, let in or not, until its first data leave the queue."""
    import numpy as np

    mine = run.fates.where(np.isin(run.fates.flow, flows))
    first = _first(mine.flow, mine.t_s)
    data = mine.where((mine.size > BARE) & ~mine.lost & ~np.isnan(mine.left_s))
    begun = _first(data.flow, data.left_s)
    waited = [begun.get(flow, math.inf) - t for flow, t in first.items() if run.from_s <= t < run.to_s]
    yield from quantiles("startup_s", of, np.array(waited))


def _first(flow: NDArray[np.int64], t_s: NDArray[np.float64]) -> dict[int, float]:
    import numpy as np

    owners, at = np.unique(flow, return_index=True)
    return dict(zip(owners.tolist(), t_s[at].tolist(), strict=True))


def _transfers(of: str, run: _Run, flows: NDArray[np.int64]) -> Iterator[Row]:
    import numpy as np

    t_s, took = run.fct["t_s"].to_numpy(), run.fct["fct_s"].to_numpy()
    mine = np.isin(run.fct["flow"].to_numpy(), flows) & run.inside(t_s)
    yield from quantiles("fct_s", of, took[mine])


def _pages(of: str, run: _Run, flows: NDArray[np.int64]) -> Iterator[Row]:
    import numpy as np

    if run.pages is not None:
        mine = np.isin(run.pages["flow"].to_numpy(), flows) & run.inside(run.pages["t_s"].to_numpy())
        yield from quantiles("page_s", of, run.pages["page_time_s"].to_numpy()[mine])


def _goodput(of: str, run: _Run, flows: NDArray[np.int64]) -> Iterator[Row]:
    """Yields the group's payload in each window; its quantiles are of windows that lie in the measured one."""
    import numpy as np

    mine = np.isin(run.goodput["flow"].to_numpy(), flows)
    if not mine.any():
        return
    t_s, bits = run.goodput["t_s"].to_numpy()[mine], 8.0 * run.goodput["acked_bytes"].to_numpy()[mine]
    instants, at = np.unique(t_s, return_inverse=True)
    total = np.bincount(at, weights=bits)
    lengths = np.diff(instants)
    rates = np.diff(total) / lengths
    within = (instants[:-1] >= run.from_s - 1e-9) & (instants[1:] <= run.to_s + 1e-9)
    yield from quantiles("goodput_bps", of, rates[within])
    for begin, rate in zip(instants[:-1].tolist(), rates.tolist(), strict=True):
        yield "goodput_over_time_bps", of, begin - run.zero_s, rate


def _sync(run: _Run, here: Fates) -> Iterator[Row]:
    """Yields what RFC 7928, 2.4, asks: of the flows that sent in a loss event, the share that lost in it.

    A loss event begins with a loss that no event holds yet, and lasts one shortest round trip. Events in which fewer
    than two flows sent say nothing.
    """
    import numpy as np

    at = np.flatnonzero(here.lost)
    shares: list[float] = []
    i = 0
    while i < len(at):
        begin = here.t_s[at[i]]
        end = begin + max(run.rtt_s, 1e-9)
        first, last = np.searchsorted(here.t_s, [begin, end])
        active = np.unique(here.flow[first:last])
        if len(active) > 1:
            losing = np.unique(here.flow[first:last][here.lost[first:last]])
            shares.append(len(losing) / len(active))
        i = int(np.searchsorted(here.t_s[at], end))
    if shares:
        yield "loss_sync", "", math.nan, math.fsum(shares) / len(shares)


def _over_time(run: _Run) -> Iterator[Row]:
    import numpy as np

    edges = run.zero_s + np.linspace(0.0, run.duration_s, SLICES + 1)
    starts: Sequence[float] = (edges[:-1] - run.zero_s).tolist()
    width = run.duration_s / SLICES
    fates = run.fates
    sent = ~np.isnan(fates.delay_s)
    left, delay, size = fates.left_s[sent], fates.delay_s[sent], fates.size[sent]
    counts, _ = np.histogram(left, edges)
    delays, _ = np.histogram(left, edges, weights=delay)
    sizes, _ = np.histogram(left, edges, weights=size)
    losses, _ = np.histogram(fates.t_s[fates.lost], edges)
    mean = delays / np.maximum(counts, 1)
    # A series stands in one piece, as a reader takes it.
    for at, count, value in zip(starts, counts.tolist(), mean.tolist(), strict=True):
        if count:
            yield "delay_over_time_s", "", at, value
    yield from (("rate_over_time_bps", "", at, 8 * x / width) for at, x in zip(starts, sizes.tolist(), strict=True))
    yield from (("losses_over_time", "", at, float(n)) for at, n in zip(starts, losses.tolist(), strict=True))
