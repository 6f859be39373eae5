"""Instructions per packet in steady state: Penstock, ns-2 and csg-htsim; and where ours go."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

from .callgrind import ELSEWHERE, Pair, PerPacket, per_packet
from .plan import Plan
from .processes import say
from .programs import CASES, htsim, metrics, natively, ns2, optimised, penstock, scenario
from .record import Counts, Record, rustc, today
from .tables import NONE, per_cent, table
from .targets import TARGETS, beside

#: Simulated seconds of the two runs. B2 to B4 are out of slow start after 5 s. B1's link is a
#: hundred times slower; all its flows have started after 1 s, and its queue is in balance after
#: 30 s. A minute then has as many packets as one second of the others.
COUNTED = {"B1": (30.0, 90.0), "B2": (5.0, 7.0), "B3": (5.0, 7.0), "B4": (5.0, 7.0)}
#: The same where only the way through is tested.
BRIEFLY = {"B1": (3.0, 6.0), "B2": (0.5, 0.7), "B3": (1.0, 1.1), "B4": (0.2, 0.4)}
#: ns-2 takes billions of instructions to set up its hosts in OTcl. The thousand of B3 take it more
#: than a quarter of an hour under callgrind, so B3 is left out.
NS2_CASES = ("B1", "B2", "B4")
#: A smoke test has the case with the fewest hosts.
PEERS_BRIEFLY = ("B4",)

#: What a file of the simulator belongs to: the first pattern that matches.
GROUPS = (
    ("event queue", r"sim/src/(sched|wheel|event|calendar)"),
    ("application", r"sim/src/(app|source)"),
    ("statistics", r"(queue|sim)/src/(stats|metrics|measure|series|histogram|table|result)"),
    ("discipline", r"aqm/"),
    ("link and queue", r"queue/"),
    ("receiver", r"tcp/src/receiver"),
    ("sender", r"tcp/"),
    ("time, rates, random numbers", r"units/"),
    ("engine: dispatch, hosts, packets on their way", r"sim/"),
    ("elsewhere: libc, libm, calls of the standard library", r""),
)
#: A file is shown by itself from this share of all instructions on.
SHOWN = 0.02


def group(file: str) -> str:
    """What a source file belongs to."""
    return next(name for name, pattern in GROUPS if re.match(pattern, file))


def _windows(plan: Plan) -> dict[str, tuple[float, float]]:
    return BRIEFLY if plan.quick else COUNTED


@functools.cache
def plain(plan: Plan) -> dict[str, PerPacket]:
    """Counts every case without Python and without a profile, by source file."""
    say("instructions of Penstock")
    pairs: list[Pair] = []
    for case in CASES:
        short, long = (natively(scenario(case), f"duration={s:g} s") for s in _windows(plan)[case])
        pairs.append((short, long))
    return dict(zip(CASES, per_packet(pairs, by_file=True), strict=True))


def wheel(plan: Plan) -> dict[str, PerPacket]:
    """Counts every case in the wheel. Python's own start-up cancels."""
    python = optimised(plan)
    say("instructions of the wheel")
    pairs: list[Pair] = []
    for case in CASES:
        short, long = (penstock(python, case, s) for s in _windows(plan)[case])
        pairs.append((short, long))
    counted = per_packet(pairs, key=lambda document: int(metrics(document)["departures"]))
    return dict(zip(CASES, counted, strict=True))


def _theirs(
    name: str,
    plan: Plan,
    recorded: Counts,
    cases: Sequence[str],
    command: Callable[[str, float], list[str]],
) -> Counts:
    """Counts another simulator where that is asked for or not on record."""
    if recorded and not plan.peers and not plan.quick:
        return recorded
    counted: Counts = {}
    for case in PEERS_BRIEFLY if plan.quick else cases:
        say(f"instructions of {name} on {case}")
        short, long = (command(case, seconds) for seconds in _windows(plan)[case])
        counted[case] = round(per_packet([(short, long)])[0].instructions)
        say(f"{counted[case]:,} a packet")
    return counted


def instructions(plan: Plan) -> str:
    """Instructions a packet, beside target, record and the other simulators."""
    if not plan.valgrind:
        return "valgrind is not installed here.\n"
    record = Record.load()
    before, counted = plain(plan), wheel(plan)
    ns = record.ns2
    if plan.ns:
        ns = _theirs("ns-2", plan, ns, NS2_CASES, lambda case, s: ns2(case, s, count=True))
    other = record.htsim
    if (sim := plan.htsim) is not None:
        driver = str(htsim(sim))
        other = _theirs("csg-htsim", plan, other, CASES, lambda case, s: [driver, case, f"{s:g}"])
    rows = [_row(case, plan, before[case], counted[case], record, ns, other) for case in CASES]
    head = ["", "simulated s", "packets", "instructions a packet", "without a profile", "target"]
    head += ["met", "aim", "recorded", "change", "ns-2", "csg-htsim"]
    under = f"Recorded: {record.under()}.\n" if record.date else "Nothing is recorded yet.\n"
    if plan.record and not plan.quick:
        # Counts of peers stay as they are where this run has not made them anew.
        own: Counts = {case: round(each.instructions) for case, each in counted.items()}
        without: Counts = {case: round(each.instructions) for case, each in before.items()}
        Record(today(), rustc(), own, without, ns, other).save()
    return table(head, rows) + "\n" + under


def _row(
    case: str,
    plan: Plan,
    without: PerPacket,
    each: PerPacket,
    record: Record,
    ns: Counts,
    other: Counts,
) -> list[object]:
    first, last = _windows(plan)[case]
    aim = TARGETS[f"instructions {case}"].aim
    before = record.penstock.get(case)
    row: list[object] = [case, f"{first:g} to {last:g}", f"{each.packets:,}"]
    row += [f"{each.instructions:,.0f}", f"{without.instructions:,.0f}"]
    row += beside(f"instructions {case}", each.instructions)
    row.append(f"{aim:,g}" if aim else NONE)
    row += [f"{before:,.0f}", per_cent(each.instructions / before - 1)] if before else [NONE, NONE]
    return row + [f"{of[case]:,.0f}" if case in of else NONE for of in (ns, other)]


def floor(plan: Plan) -> str:
    """Where the instructions of a packet go, by part of the simulator and by file."""
    if not plan.valgrind:
        return "valgrind is not installed here.\n"
    shown = {case: plain(plan)[case] for case in ("B2", "B4")}
    sums = {case: sum(each.files.values()) for case, each in shown.items()}
    files = {name for each in shown.values() for name in each.files}

    def cells(names: list[str]) -> list[str]:
        row = []
        for case, each in shown.items():
            value = sum(each.files.get(name, 0.0) for name in names)
            row += [f"{value:,.0f}", f"{100 * value / sums[case]:.1f} %"]
        return row

    def weight(name: str) -> float:
        return max(shown[case].files.get(name, 0.0) / sums[case] for case in shown)

    rows: list[list[object]] = []
    for part, _ in GROUPS:
        members = sorted((f for f in files if group(f) == part), key=weight, reverse=True)
        if not members:
            continue
        rows.append([f"**{part}**", *cells(members)])
        large = [f for f in members if weight(f) >= SHOWN and f != ELSEWHERE]
        rows += [[f"`{name}`", *cells([name])] for name in large]
    rows.append(["all", *cells(list(files))])
    head = ["", *(f"{case}: {what}" for case in shown for what in ("instructions", "share"))]
    note = f"Files from {100 * SHOWN:g} % of either case on; a part counts its other files too.\n"
    return table(head, rows) + "\n" + note
