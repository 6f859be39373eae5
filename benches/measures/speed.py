"""Whole processes beside ns-2 on the same work in the same run, and whether the work is alike."""

from __future__ import annotations

from .plan import Plan
from .processes import say, shortest, spend
from .programs import (
    CASES,
    COMPARED,
    HEADER,
    SEGMENT,
    TIMED,
    drops,
    metrics,
    ns2,
    optimised,
    penstock,
)
from .tables import NONE, mib, millions, table
from .targets import TARGETS, beside

#: How often the two take turns.
TURNS = 5


def speed(plan: Plan) -> str:
    """The timed runs. `make accept` reads each row's name and its last cell."""
    head = ["", "simulated s", "packets", "CPU s", "M packets / CPU s", "ns a packet", "peak MiB"]
    head += ["ns-2: CPU s", "M packets / CPU s", "peak MiB", "target", "met", "times ns-2"]
    return table(head, [_timed(case, plan) for case in CASES])


def _timed(case: str, plan: Plan) -> list[object]:
    seconds = TIMED[case] / plan.shorter
    commands = {case: penstock(optimised(plan), case, seconds)}
    if plan.ns:
        commands["ns-2"] = ns2(case, seconds, count=False)
    costs = shortest(commands, plan.turns(TURNS))
    ours = costs[case]
    packets = metrics(ours.document)["departures"]
    cpu = ours.cpu_s
    row: list[object] = [case, f"{seconds:g}", f"{packets:,.0f}", f"{cpu:.2f}"]
    row += [millions(packets / cpu), f"{cpu / packets * 1e9:.0f}"]
    row.append(mib(ours.peak_bytes))
    if not plan.ns:
        return [*row, NONE, NONE, NONE, TARGETS[f"speed {case}"], NONE, NONE]
    there = spend(ns2(case, seconds, count=True)).document["packets"]
    their_cpu = costs["ns-2"].cpu_s
    row += [f"{their_cpu:.2f}", millions(there / their_cpu)]
    row.append(mib(costs["ns-2"].peak_bytes))
    # Per packet, because the two numbers of packets may differ by a percent.
    ratio = (their_cpu / there) / (cpu / packets)
    return [*row, *beside(f"speed {case}", ratio), f"{ratio:.1f}×"]


def likeness(plan: Plan) -> str:
    """Whether the two did the same work."""
    if not plan.ns:
        return "ns-2 is not installed here.\n"
    head = ["", "goodput Mbit/s", "ns-2", "difference", "drops", "ns-2", "difference"]
    rows = [_compared(case, plan) for case in CASES]
    under = f"Means of {plan.seeds} seeds on either side (B4: one); goodput is payload.\n\n"
    return under + table([*head, "packets", "ns-2"], rows)


def _compared(case: str, plan: Plan) -> list[object]:
    # B4's datagrams leave nothing to chance except RED's coin.
    seeds = plan.seeds if case in SEGMENT else 1
    seconds = COMPARED[case]
    say(f"{case}, results over {seconds} s, {seeds} seeds")
    m = metrics(spend(penstock(optimised(plan), case, seconds, seeds)).document)
    there = [spend(ns2(case, seconds, count=True, seed=i)).document for i in range(seeds)]
    keys = ("goodput_wire_bps", "drops", "packets")
    theirs = {key: sum(d[key] for d in there) / seeds for key in keys}
    payload = SEGMENT[case] / (SEGMENT[case] + HEADER) if case in SEGMENT else 1.0
    ours_bps = m["goodput_bps"] if case in SEGMENT else m["throughput_bps"]
    theirs_bps = theirs["goodput_wire_bps"] * payload
    row: list[object] = [case, f"{ours_bps / 1e6:.2f}", f"{theirs_bps / 1e6:.2f}"]
    row += [f"{100 * (ours_bps / theirs_bps - 1):+.2f} %", f"{drops(m):.0f}"]
    row += [f"{theirs['drops']:.0f}", f"{100 * (drops(m) / theirs['drops'] - 1):+.1f} %"]
    return [*row, f"{m['departures']:.0f}", f"{theirs['packets']:.0f}"]
