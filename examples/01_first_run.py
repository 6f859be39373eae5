r"""One scenario from its file, one number with its interval.

2 + 20 sources --\                                        /-- sinks
                  R0 == 1.5 Mbit/s, 40 ms, 40 packets == R1
       1 sink  --/                                        \-- 1 source
"""

from pathlib import Path

import penstock as ps

SCENARIOS = Path(__file__).parent.parent / "scenarios"

scenario = ps.Scenario.load(SCENARIOS / "load-rises.toml")
result = ps.run(scenario, seeds=3)

used = result.summary["utilization"]
print(f"{scenario.name}, {scenario.label}: {used.n} runs of {scenario.duration_s:g} s")
print(f"the link was used {used.mean:.1%} of the time")
for run in result.runs:
    print(f"  seed {run.seed}: {run.metrics['queue_mean_pkts']:.1f} packets waited on average")
