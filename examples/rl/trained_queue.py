"""A queue whose policy was trained by `train.py`: every 20 ms a linear rule moves the probability of a mark."""

from __future__ import annotations

import math

import penstock as ps

STEP_S = 0.02
#: The unit of each number that the policy sees; it is told with the last action and a one behind them.
SCALES = (0.02, 0.02, 1.0, 1.0, 0.1, 0.1)
#: The most that a step moves the probability.
GAIN = 0.02
WEIGHTS = (15.463, 10.527, -0.08, -0.022, -0.291, -3.049, -4.851, -0.188)


def moved(p: float, seen: tuple[float, ...], weights: tuple[float, ...] = WEIGHTS) -> float:
    """Returns the next probability: p + GAIN · tanh(w · x), within 0 and 1."""
    x = (*(value / scale for value, scale in zip(seen, SCALES, strict=True)), 10 * p, 1.0)
    return min(max(p + GAIN * math.tanh(sum(w * each for w, each in zip(weights, x, strict=True))), 0.0), 1.0)


class Trained(ps.Aqm):
    """Marks or drops with a probability that the trained rule moves."""

    name = "trained"
    interval_s = STEP_S

    def __init__(self) -> None:
        self.p = 0.0
        self.begin()

    def begin(self) -> None:
        """A step begins: its counters."""
        self.came = self.dropped = self.marked = self.left = self.left_bytes = 0
        self.waited_s = 0.0

    def setup(self, link: ps.LinkFacts) -> None:
        """The link is known."""
        self.rate_bps, self.ecn = link.rate_bps, link.ecn

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        """A coin decides."""
        self.came += 1
        if self.random() >= self.p:
            return ps.PASS
        if self.ecn and packet.ecn_capable:
            self.marked += 1
            return ps.MARK
        self.dropped += 1
        return ps.DROP

    def overflow(self, now: float, packet: ps.Packet, queue: ps.Queue) -> None:
        """A full buffer counts as a drop."""
        self.dropped += 1

    def depart(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        """A packet leaves: it is counted."""
        self.left += 1
        self.left_bytes += packet.bytes
        self.waited_s += packet.sojourn_s
        return ps.PASS

    def tick(self, now: float, queue: ps.Queue) -> None:
        """A step is over: the rule moves p."""
        bits = self.rate_bps * STEP_S
        came = max(self.came, 1)
        seen = (
            queue.bytes * 8 / self.rate_bps,
            self.waited_s / max(self.left, 1),
            min(self.left_bytes * 8 / bits, 1.0),
            self.came * 12_000 / bits,
            min(self.dropped / came, 1.0),
            min(self.marked / came, 1.0),
        )
        self.p = moved(self.p, seen)
        self.begin()

    def series(self) -> dict[str, float]:
        """Returns the probability, for `r.series("queue")`."""
        return {"p": self.p}
