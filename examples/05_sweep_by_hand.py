"""One key of the scenario, changed step by step: how the target of PI changes the delay.

5 sources -- R0 == 6 Mbit/s, 25 ms, 80 packets == R1 -- sinks
"""

from pathlib import Path

import penstock as ps

SCENARIOS = Path(__file__).parent.parent / "scenarios"

steady = ps.Scenario.load(SCENARIOS / "rate-drops.toml").set("topology.bottleneck.schedule", [])

delays = []
for target in (10, 20, 40):
    wait = ps.run(steady.set("aqm.q_ref", target), seeds=2).summary["delay_mean_s"].mean
    delays.append(wait)
    print(f"q_ref {target}: {wait * 1e3:.0f} ms")
print("more asked for, more waited:", delays == sorted(delays))
