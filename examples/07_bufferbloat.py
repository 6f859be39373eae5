r"""Bufferbloat on this machine: the kernel's own TCP through three disciplines, in half a minute.

laptop -- box == 5 Mbit/s, 20 ms, 200 packets == server

Both hosts are network namespaces of this machine. Your network is not touched.

On a terminal, with a picture: `penstock emulate scenarios/bufferbloat.toml --live`, and the same
with `--set aqm.kind=codel`.
"""

from pathlib import Path

import penstock as ps
from penstock.emulation import emulate

SCENARIOS = Path(__file__).parent.parent / "scenarios"

scenario = ps.Scenario.load(SCENARIOS / "bufferbloat.toml")
waits = {}
for kind in ("droptail", "red", "codel"):
    result = emulate(scenario.with_aqm(kind))
    delay, used = (result.summary[metric].mean for metric in ("delay_mean_s", "utilization"))
    waits[kind] = delay
    print(f"{kind:10}{delay * 1e3:4.0f} ms in the queue, link used to {100 * used:.0f} %")

print("the large buffer alone:", "a wait that everyone notices" if waits["droptail"] > 0.1 else "no harm")
print("the same buffer with CoDel:", "no harm" if waits["codel"] < 0.1 else "a wait that everyone notices")
