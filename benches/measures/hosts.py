"""What today's hosts cost on B2, beside CUBIC with SACK under the RFCs."""

from __future__ import annotations

from .callgrind import Pair, per_packet
from .plan import Plan
from .processes import spend
from .programs import natively, scenario
from .tables import table
from .targets import WITHOUT, beside

#: Simulated seconds of the two runs, out of slow start.
COUNTED = (5.0, 7.0)
BRIEFLY = (0.5, 0.7)
#: What stands in the first column, the name of the target, and what is changed in B2.
SENDERS = (
    ('CUBIC with SACK, `profile = "rfc"`', "", ("profile=rfc", "cubic", "recovery=sack")),
    ('CUBIC, `profile = "linux"`', "Linux's CUBIC", ("profile=linux", "cubic")),
    ("BBR", "BBR", ("profile=linux", "bbr")),
    ("BBR version 3", "", ("profile=linux", "bbr3")),
    ("Prague", "", ("profile=linux", "prague")),
)


def _run(seconds: float, profile: str, control: str, *flow: str) -> list[str]:
    changes = [f"traffic.0.{each}" for each in (f"tcp={control}", *flow)]
    return natively(scenario("B2"), f"duration={seconds:g} s", profile, *changes)


def hosts(plan: Plan) -> str:
    """Instructions a packet of each sender, and what it loses of the packets that arrive."""
    if not plan.valgrind:
        return "valgrind is not installed here.\n"
    window = BRIEFLY if plan.quick else COUNTED
    pairs: list[Pair] = [(_run(window[0], *each), _run(window[1], *each)) for *_, each in SENDERS]
    counted = [each.instructions for each in per_packet(pairs)]
    rows: list[list[object]] = []
    for (name, target, _), pair, each in zip(SENDERS, pairs, counted, strict=True):
        short, long = (spend(command).document for command in pair)
        drops, arrivals = (long[key] - short[key] for key in ("drops", "arrivals"))
        lost = 100 * drops / arrivals
        times = each / counted[0]
        row = [name, f"{lost:.1f} %", f"{each:,.0f}", f"{times:.2f}×"]
        rows.append([*row, *(beside(target, times) if target else WITHOUT)])
    head = ["", "lost", "instructions a packet", "times the first", "target", "met"]
    return table(head, rows)
