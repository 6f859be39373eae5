"""A discipline by itself: the queue is held at a length, no sender answers, and what becomes of packets is counted.

The curve from the queue to a signal is a discipline's profile. For RED and its kin it is what the papers draw; for
those that integrate (PI, PIE, REM, BLUE, CoDel) it grows while the queue stands, so it is counted after several times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from penstock import _penstock
from penstock._json import document
from penstock._names import nearest
from penstock.model.scenario import Scenario, seconds
from penstock.runs.execute import cores
from penstock.runs.pool import Watch, in_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from penstock.model.discipline import Named

#: The link that all pages of docs/aqm have in common.
COMMON = """
duration = "1 s"
[topology]
kind = "dumbbell"
bottleneck = { rate = "10 Mbit/s", delay = "20 ms", buffer = "100 packets" }
[aqm]
ecn = true
[[traffic]]
kind = "ftp"
"""

#: What may become of a packet besides passing, mildest first.
LEVELS = ("incipient mark", "CE mark", "drop")


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What `probe` returns.

    scenario: whose bottleneck was probed.
    axis: what `points` are: packets held in the queue, or arrivals over the link's rate.
    after_s: how long the queue had stood when counting began.
    counts: for each of `after_s`, for each of `points`: packets, and of these incipient marks, CE marks, drops.
    """

    #: What may become of a packet: `LEVELS`.
    levels: ClassVar[tuple[str, ...]] = LEVELS

    scenario: Scenario
    axis: Literal["queue", "load"]
    points: tuple[float, ...]
    after_s: tuple[float, ...]
    counts: tuple[tuple[tuple[int, int, int, int], ...], ...]

    def shares(self, level: str) -> list[list[float]]:
        """Returns the share of packets of one of `LEVELS`, in the shape of `counts`.

        Raises `ValueError` for another word.
        """
        if level not in self.levels:
            near = nearest(level, self.levels)
            hint = f"; nearest: {near!r}" if near else ""
            raise ValueError(f"level {level!r}: must be one of {', '.join(map(repr, self.levels))}{hint}")
        place = self.levels.index(level) + 1
        return [[count[place] / count[0] for count in row] for row in self.counts]

    def json(self) -> str:
        """Returns all of it as a document."""
        series: list[dict[str, Any]] = [
            {"after_s": after, **{level: shares[i] for level, shares in ((n, self.shares(n)) for n in self.levels)}}
            for i, after in enumerate(self.after_s)
        ]
        return document({"aqm": self.scenario.resolved["aqm"], self.axis: self.points, "shares": series})

    def plot(self, *, size: tuple[float, float] | None = None) -> Figure:
        """Draws one panel per time, with the shares stacked, the mildest at the bottom.

        size: width and height in inches.
        """
        from penstock.show.plot import profile

        return profile(self, size)


def scenario(aqm: Named) -> Scenario:
    """Returns the common link (10 Mbit/s, 20 ms, 100 packets) under a discipline with its defaults and ECN."""
    return common_link().with_aqm(aqm)


def common_link() -> Scenario:
    """Returns the common link under DropTail."""
    return Scenario.from_toml(COMMON)


def probe(
    scenario: Scenario,
    *,
    queues: Sequence[int] | None = None,
    loads: Sequence[float] | None = None,
    after: Iterable[str | float] = ("0.1 s", "1 s", "10 s"),
    window: str | float = "0.1 s",
    runs: int = 16,
    capable: bool = True,
    flows: int = 5,
) -> Probe:
    """Holds the queue of a scenario's bottleneck and counts what its discipline does to packets of the mean size.

    queues: packets held in the queue; default: every second length up to the buffer.
    loads: instead, arrivals over the link's rate; then the queue is held at one length, the first of `queues` or 10.
    after, window: counting begins so long after the queue's start, and takes so long.
    runs: random streams that are added up.
    capable: whether the packets are ECN-capable.
    flows: flows that send in turn.

    >>> red = probe(scenario("red"), queues=[0, 40], after=["10 s"], runs=1)
    >>> red.shares("drop")
    [[0.0, 1.0]]
    """
    after_s = tuple(seconds(span) for span in after)
    held = list(queues) if queues is not None else [10] if loads is not None else _lengths(scenario)
    jobs = [(held[0], load) for load in loads] if loads is not None else [(queue, 1.0) for queue in held]

    def one(job: tuple[int, float], _watch: Watch) -> list[tuple[int, int, int, int]]:
        return _penstock.probe(
            scenario.core, job[0], after_s, seconds(window), runs, capable=capable, flows=flows, load=job[1]
        )

    rows = in_order(one, jobs, cores())
    return Probe(
        scenario=scenario,
        axis="queue" if loads is None else "load",
        points=tuple(map(float, held if loads is None else loads)),
        after_s=after_s,
        counts=tuple(zip(*rows, strict=True)),
    )


def _lengths(scenario: Scenario) -> list[int]:
    """Returns about fifty lengths from 0 to the buffer."""
    buffer = scenario.core.facts().bottleneck.room_pkts
    step = max(1, buffer // 50)
    return sorted({*range(0, buffer + 1, step), buffer})
