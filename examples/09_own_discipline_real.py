r"""A custom discipline in Python on real packets.

The class that the simulator runs decides about packets between two hosts.

4 flows -- R0 == 10 Mbit/s, 20 ms, 60 packets == R1

Both hosts are network namespaces of this machine, with the kernel's TCP.
"""

from pathlib import Path

import penstock as ps
from penstock.emulation import emulate

SCENARIOS = Path(__file__).parent.parent / "scenarios"


class Bell(ps.Aqm):
    """Marks a packet that finds the queue above its target, at most one per round trip."""

    def __init__(self, target_s: float, quiet_s: float) -> None:
        self.target_s, self.quiet_s = target_s, quiet_s
        self.rang = -quiet_s

    def setup(self, link: ps.LinkFacts) -> None:
        """Take what is needed of the link, before the run."""
        self.target_bytes = self.target_s * link.rate_bps / 8

    def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
        """Decide about one packet."""
        if queue.bytes <= self.target_bytes or now < self.rang + self.quiet_s:
            return ps.PASS
        self.rang = now
        return ps.MARK


scenario = ps.Scenario.load(SCENARIOS / "real" / "reno-red-10.toml")
scenario = scenario.set_all({"duration": "8 s", "measure.from": "3 s"}).with_aqm(Bell(0.02, 0.04))
simulated, real = ps.run(scenario), emulate(scenario)
for where, result in (("simulated", simulated), ("real", real)):
    metrics = result.runs[0].metrics
    wait, used = metrics["delay_mean_s"] * 1e3, metrics["utilization"] * 100
    print(f"{where:10}{wait:4.0f} ms in the queue, link used to {used:.0f} %, {metrics['marks_ce']:.0f} marks")
