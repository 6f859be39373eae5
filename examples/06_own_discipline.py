r"""A custom discipline in Python, beside RED on the same load.

It marks packets according to the time that they wait.

2 + 20 sources --\                                        /-- sinks
                  R0 == 1.5 Mbit/s, 40 ms, 40 packets == R1
       1 sink  --/                                        \-- 1 source
"""

from collections.abc import Mapping
from pathlib import Path

import penstock as ps

SCENARIOS = Path(__file__).parent.parent / "scenarios"


class DelayTarget(ps.Aqm):
    """A timer raises the signal probability while the queue is above its target, else lowers it."""

    interval_s = 0.1

    def __init__(self, target_s: float, step: float = 0.005) -> None:
        self.target_s, self.step = target_s, step
        self.p = 0.0

    def setup(self, link: ps.LinkFacts) -> None:
        """Take the link's rate before the run."""
        self.target_bytes = self.target_s * link.rate_bps / 8

    def tick(self, now: float, queue: ps.Queue) -> None:
        """Move the probability, every `interval_s`."""
        up = queue.bytes > self.target_bytes
        self.p = min(max(self.p + (self.step if up else -self.step), 0.0), 0.5)

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        """Decide about one packet."""
        return ps.MARK if self.random() < self.p else ps.PASS  # dropped if it cannot be marked

    def series(self) -> Mapping[str, float]:
        """Return columns for the series `"queue"`."""
        return {"p": self.p}


scenario = ps.Scenario.load(SCENARIOS / "load-rises.toml")
comparison = ps.compare(scenario, ["red", DelayTarget(0.04)], seeds=4)

for name, result in comparison.results.items():
    wait, used = result.summary["delay_mean_s"], result.summary["utilization"]
    print(f"{name:12}{wait.mean * 1e3:4.0f} ms in the queue, link used to {100 * used.mean:.0f} %")

series = comparison.results["DelayTarget"].series("queue")
print("columns:", *series.column_names)
