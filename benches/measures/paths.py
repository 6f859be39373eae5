"""More links than one: what a packet costs on each hop of its way.

A hop is a data packet that leaves a link; the ACK's hop back and both ends are in its cost. B2's
dumbbell has one hop per packet by this measure. All scenarios have a hundred flows with some
10 Mbit/s and, for most of them, a path of 20 ms: windows and losses are then alike, and what
differs is the number of links.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from .callgrind import Count, between, count
from .plan import Plan
from .processes import at_once, say, shortest, spend
from .programs import metrics, natively, scenario
from .tables import NONE, table
from .targets import WITHOUT, beside

LINKS = 100
#: Links that a flow of the graph goes over.
HOPS = 3
SECONDS = 20.0
#: How often they take turns.
TURNS = 12
#: A run of so many seconds is start-up: a ring's file has two hundred tables, which are read once.
START = 0.01
#: Simulated seconds of the two counted runs.
COUNTED = (5.0, 6.0)

#: A ring of routers. From each of them one flow goes `HOPS` links on, so that each link carries
#: three flows. Its rate, thresholds and limit are 3 % of B2's, and three delays are B2's.
GRAPH = """\
name = "a ring of a hundred links"
duration = "10 s"
profile = "ns-2"
[topology]
kind = "graph"
access = { rate = "10 Gbit/s", delay = "0.1 ms" }
egress = { rate = "10 Gbit/s", delay = "0.1 ms" }
[aqm]
kind = "red"
min_th = 25
max_th = 75
max_p = 0.1
w_q = 0.002
gentle = true
gate = "wait"
mean_packet = "1500 B"
"""
LINK = """\
[[topology.link]]
from = "R%d"
to = "R%d"
rate = "30 Mbit/s"
delay = "6667 us"
buffer = 200
reverse_buffer = 100000
"""
FLOW = """\
[[traffic]]
kind = "ftp"
from = "R%d"
to = "R%d"
start = "%d ms"
tcp = "newreno"
segment = "1460 B"
window = 700
"""


def ring() -> str:
    """The graph as a scenario."""
    links = (LINK % (i, (i + 1) % LINKS) for i in range(LINKS))
    flows = (FLOW % (i, (i + HOPS) % LINKS, 10 * i) for i in range(LINKS))
    return GRAPH + "".join(links) + "".join(flows)


def hops(file: str | Path, seconds: float) -> int:
    """Data packets that left a link, over all links forward (`Ra-Rb`, where b follows a)."""
    length = f"duration={seconds:g} s"
    line = [sys.executable, "-m", "penstock", "run", str(file), "--json", "--set", length]
    document = spend([*line, "--jobs", "1"]).document
    links = document["runs"][0].get("links")
    if not links:
        return round(metrics(document)["departures"])
    return sum(int(link["departures"]) for name, link in links.items() if forward(name))


def forward(link: str) -> bool:
    """Whether a link leads from a router to the next one, at the end of a ring to the first."""
    here, there = (int(router.removeprefix("R")) for router in link.split("-"))
    return there == here + 1 or (there == 0 and here > 1)


def paths(plan: Plan) -> str:
    """Cost per packet and hop of a row of links and of a graph, beside the dumbbell's."""
    seconds = SECONDS / plan.shorter
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder, "ring.toml")
        graph.write_text(ring(), encoding="utf-8")
        files: dict[str, str | Path] = {
            "B2, one link": scenario("B2"),
            "a row of 10 links, 100 flows": "benches/parking-lot.toml",
            f"a ring of {LINKS} links, 100 flows over {HOPS}": graph,
        }
        commands = {
            _run(name, length): natively(f, f"duration={length:g} s")
            for name, f in files.items()
            for length in (START, seconds)
        }
        cost = shortest(commands, plan.turns(TURNS))
        gone = {name: hops(file, seconds) for name, file in files.items()}
        counted = _counted(files) if plan.valgrind and not plan.quick else {}
    spent = {f: cost[_run(f, seconds)].cpu_s - cost[_run(f, START)].cpu_s for f in files}
    each = {name: spent[name] / gone[name] for name in files}
    first = next(iter(each.values()))
    rows = []
    for name, value in each.items():
        times = value / first
        target = WITHOUT if value == first else beside("packet and hop", times)
        row = [name, f"{gone[name]:,}", f"{value * 1e9:.0f}", f"{times:.2f}×", *target]
        rows.append([*row, f"{counted[name]:,.0f}" if counted else NONE])
    head = ["", "packets × hops", "ns", "times B2", "target", "met", "instructions"]
    return table(head, rows)


def _run(name: str, seconds: float) -> str:
    return f"{name}, {seconds:g} s"


def _counted(files: dict[str, str | Path]) -> dict[str, float]:
    """Instructions per packet and hop."""
    say("instructions of many links")
    runs = [(name, file, s) for name, file in files.items() for s in COUNTED]

    def one(run: tuple[str, str | Path, float]) -> Count:
        _, file, seconds = run
        counted = count(natively(file, f"duration={seconds:g} s"))
        return Count(counted.instructions, hops(file, seconds))

    counts = at_once(one, runs)
    pairs = zip(counts[::2], counts[1::2], strict=True)
    per_hop = [between(short, long, int).instructions for short, long in pairs]
    return dict(zip(files, per_hop, strict=True))
