r"""Two disciplines on one scenario, paired by seed: the difference with its interval.

2 + 20 sources --\                                        /-- sinks
                  R0 == 1.5 Mbit/s, 40 ms, 40 packets == R1
       1 sink  --/                                        \-- 1 source
"""

from pathlib import Path

import penstock as ps

SCENARIOS = Path(__file__).parent.parent / "scenarios"

comparison = ps.compare(ps.Scenario.load(SCENARIOS / "load-rises.toml"), ["droptail", "red"], seeds=5)

for name, result in comparison.results.items():
    wait = result.summary["delay_mean_s"]
    print(f"{name:9}{wait.mean * 1e3:5.0f} ms in the queue")
saved = comparison.difference("red")["delay_mean_s"]
print("RED makes packets wait less:", saved.mean + saved.ci95 < 0)
