"""What a discipline costs: each built-in one beside RED, and one written in Python."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from penstock import _penstock

from .callgrind import Pair, per_packet
from .plan import Plan
from .processes import HERE, say, shortest
from .programs import TIMED, metrics, natively, scenario
from .record import processor, rustc, today
from .tables import NONE, table
from .targets import TARGETS, WITHOUT, beside

ON = ("B2", "B4")
#: Where the package finds what a discipline costs.
COSTS = HERE.parent / "python" / "penstock" / "evaluation" / "costs.json"
#: How often a discipline and RED take turns.
TURNS = 40
#: The same for disciplines in Python: the difference of two processes is small.
OWN_TURNS = 12
#: What looks at flows or classes, or decides anew at departure, has its target on B2.
ON_B2 = {
    "cake": "CAKE",
    **dict.fromkeys(
        ("dualpi2", "fq-pie", "cobalt", "fq-cobalt", "sfq", "sfb", "wred"), "discipline of today"
    ),
}
#: Keys beside the kind: CAKE has all its tins.
KEYS = {"cake": ("aqm.tins=diffserv8",)}
#: Simulated seconds of the two counted runs: short, because there are so many disciplines. B2 is
#: past its slow start then.
COUNTED = {"B2": (5.0, 5.3), "B4": (0.2, 0.4)}


def disciplines(plan: Plan) -> str:
    """Every discipline on the same two links, as multiples of RED in the same round."""
    kinds = [kind["name"] for kind in json.loads(_penstock.list_json("aqm"))]
    kinds.remove("red")
    kinds.insert(0, "red")
    counted = _counted(kinds) if plan.valgrind and not plan.quick else {}
    rows: list[list[object]] = []
    datagrams: dict[str, Cost] = {}
    red_ns = 0.0
    for kind in kinds:
        say(f"{kind} beside red")
        row: list[object] = [kind]
        found: dict[str, float] = {}
        for case in ON:
            each, found[case] = _beside_red(kind, case, plan)
            times = found[case]
            red_ns = each * 1e9 if kind == "red" else red_ns  # red is the first, and B4 the last
            datagrams[kind] = Cost(ns=times * red_ns, instructions=counted.get((kind, case)))
            instructions = counted.get((kind, case))
            row += [f"{each * 1e9:.0f}", f"{times:.2f}×"]
            row.append(f"{instructions:,.0f}" if instructions else NONE)
        measured = found["B2"] if kind in ON_B2 else max(found.values())
        judged = WITHOUT if kind == "red" else beside(ON_B2.get(kind, "discipline"), measured)
        rows.append([*row, *judged])
    if plan.record and not plan.quick:
        save_costs(datagrams)
    columns = [f"{case}: {what}" for case in ON for what in ("ns", "times RED", "instructions")]
    return table(["", *columns, "target", "met"], rows)


@dataclass(frozen=True)
class Cost:
    """What an arrival costs on B4, the last of `ON`: discipline, link and source together."""

    ns: float
    instructions: float | None


def save_costs(costs: Mapping[str, Cost]) -> None:
    """Writes what each discipline costs beyond DropTail, for the pages of `penstock evaluate`."""
    none = costs["droptail"]

    def beyond(each: Cost) -> dict[str, int | None]:
        more = None
        if each.instructions is not None and none.instructions is not None:
            more = round(each.instructions - none.instructions)
        return {"ns": round(each.ns - none.ns), "instructions": more}

    file = {
        "date": today(),
        "rustc": rustc(),
        "processor": processor(),
        "disciplines": {kind: beyond(each) for kind, each in costs.items()},
    }
    COSTS.write_text(json.dumps(file, indent=2) + "\n", encoding="utf-8")


def _beside_red(kind: str, case: str, plan: Plan) -> tuple[float, float]:
    """CPU seconds for each arrival, and what that is as a multiple of RED's."""
    length = f"duration={TIMED[case] / 9 / plan.shorter:g} s"
    commands = {each: natively(scenario(case), *_changes(each), length) for each in (kind, "red")}
    costs = shortest(commands, plan.turns(TURNS))
    arrival_s = {each: cost.cpu_s / cost.document["arrivals"] for each, cost in costs.items()}
    return arrival_s[kind], arrival_s[kind] / arrival_s["red"]


def _changes(kind: str) -> tuple[str, ...]:
    return (f"aqm.kind={kind}", *KEYS.get(kind, ()))


def _counted(kinds: list[str]) -> dict[tuple[str, str], float]:
    """Instructions for each arrival, of each discipline on each link."""
    say("instructions of the disciplines")
    keys = [(kind, case) for kind in kinds for case in ON]
    pairs: list[Pair] = []
    for kind, case in keys:
        short, long = (
            natively(scenario(case), *_changes(kind), f"duration={s:g} s") for s in COUNTED[case]
        )
        pairs.append((short, long))
    counted = per_packet(pairs, key=lambda document: int(document["arrivals"]))
    return {key: each.instructions for key, each in zip(keys, counted, strict=True)}


#: Four million datagrams through one link. Every discipline here lets all of them in: RED's
#: thresholds lie beyond the queue, so that it does its arithmetic and drops nothing.
OWN = """\
import sys
import penstock as ps
from penstock import DROP, PASS

class Pass(ps.Aqm):
    def arrive(self, now, packet, queue):
        return PASS

class Reads(ps.Aqm):
    def arrive(self, now, packet, queue):
        return DROP if self.random() < 0 or packet.bytes * queue.pkts > 10**8 else PASS

class Average(Pass):
    def average_pkts(self):
        return 1.0

class Departs(Pass):
    def depart(self, now, packet, queue):
        return PASS

aqm = {
    "none": None,
    "red": ps.Red(min_th=5000, max_th=9000),
    "pass": Pass(),
    "reads": Reads(),
    "average": Average(),
    "departs": Departs(),
}
link = ps.Link(rate="100 Mbit/s", delay="10 ms", buffer=10_000)
datagrams = ps.Poisson(rate="98 Mbit/s", packet="1000 B")
s = ps.Scenario(
    topology=ps.Dumbbell(bottleneck=link),
    aqm=aqm[sys.argv[1]],
    traffic=[datagrams],
    duration=f"{sys.argv[2]} s",
)
print(ps.run(s, jobs=1).json())
"""
LINES = {
    "`arrive` returns `PASS`": "pass",
    "`arrive` reads queue and packet, draws a number": "reads",
    "`arrive` and `average_pkts`": "average",
    "`arrive` and `depart` (an event more for each packet, besides)": "departs",
    "DropTail, built in": "none",
}


def own(plan: Plan) -> str:
    """What a discipline in Python costs beside RED, per arrival at its link."""
    seconds = f"{320 / plan.shorter:g}"
    kinds = ("red", *LINES.values())
    commands = {which: [sys.executable, "-c", OWN, which, seconds] for which in kinds}
    say("a discipline in Python")
    costs = shortest(commands, plan.turns(OWN_TURNS))
    rows = []
    for name, which in LINES.items():
        arrivals = metrics(costs[which].document)["arrivals"]
        more = (costs[which].cpu_s - costs["red"].cpu_s) / arrivals * 1e9
        target = beside("Python discipline", more) if which == "pass" else WITHOUT
        rows.append([name, f"{arrivals:,.0f}", f"{more:.0f}", *target])
    bound = TARGETS["Python discipline"]
    under = f"\nThe target, {bound} over RED, is for `arrive` that returns `PASS`.\n"
    return table(["", "arrivals", "ns more an arrival than RED", "target", "met"], rows) + under
