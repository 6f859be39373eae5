"""A queue over time as an Arrow table, and as a figure.

Arrow and matplotlib are loaded here, not by `import penstock`.

5 sources -- R0 == 6, then 2, then 6 Mbit/s, 25 ms, 80 packets == R1 -- sinks
"""

import tempfile
from pathlib import Path

import penstock as ps

SCENARIOS = Path(__file__).parent.parent / "scenarios"

scenario = ps.Scenario.load(SCENARIOS / "rate-drops.toml")
result = ps.run(scenario, series="10 ms")

queue = result.series("queue")
print("columns:", ", ".join(queue.column_names[:3]), "…")
times, waiting = queue["t_s"].to_numpy(), queue["queue_pkts"].to_numpy()
for since in (10, 20, 30):
    during = (times >= since) & (times < since + 10)
    print(f"{since} to {since + 10} s: {waiting[during].mean():.0f} packets")

figure = result.plot.queue()
with tempfile.TemporaryDirectory() as folder:
    figure.savefig(Path(folder) / "queue.png")
