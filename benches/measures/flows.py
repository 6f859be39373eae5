"""From few flows to many: cost per packet, and memory."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .callgrind import Pair, per_packet
from .plan import Plan
from .processes import HERE, say, shortest, spend
from .programs import natively
from .tables import mib, table
from .targets import WITHOUT, beside

FLOWS = (10, 100, 1000, 10_000)
#: How often they take turns.
TURNS = 12


def crowded(folder: str, flows: int, seconds: float, share: float) -> Path:
    """B2 with other numbers of flows; link, thresholds and limit are `share` of B2's.

    Access links stay ten times as fast as the link: slower ones have their queues measured.
    """
    text = (HERE / "b2.toml").read_text(encoding="utf-8")
    changes = {
        'duration = "10 s"': f'duration = "{seconds:g} s"',
        "flows = 100": f"flows = {flows}",
        'every = "10 ms"': f'every = "{1e9 / flows:.0f} ns"',
        'rate = "1 Gbit/s"': f'rate = "{1000 * share:g} Mbit/s"',
    }
    lengths = (("min_th", 833), ("max_th", 2500), ("buffer", 6667))
    changes |= {f"{key} = {n}": f"{key} = {math.ceil(share * n)}" for key, n in lengths}
    fast = f'rate = "{10 * max(share, 1):g} Gbit/s"'
    for end in ("access", "egress"):
        changes[f'{end} = {{ rate = "10 Gbit/s"'] = f"{end} = {{ {fast}"
    for old, new in changes.items():
        if text.count(old) != 1:
            raise SystemExit(f"bench: b2.toml must say {old!r} once")
        text = text.replace(old, new)
    file = Path(folder, f"{flows}-{seconds:g}.toml")
    file.write_text(text, encoding="utf-8")
    return file


def _rows(
    plan: Plan, length: Callable[[int], float], share: Callable[[int], float]
) -> list[list[object]]:
    with tempfile.TemporaryDirectory() as folder:
        files = {n: crowded(folder, n, length(n) / plan.shorter, share(n)) for n in FLOWS}
        commands = {f"{n:,} flows": natively(file) for n, file in files.items()}
        costs = shortest(commands, plan.turns(TURNS))
    lines: list[list[object]] = []
    first = 0.0
    for flows, cost in zip(FLOWS, costs.values(), strict=True):
        d = cost.document
        each = cost.cpu_s / d["packets"]
        first = first or each
        row: list[object] = [f"{flows:,}", f"{d['packets']:,}"]
        row.append(f"{100 * d['drops'] / d['packets']:.1f} %")
        lines.append([*row, f"{each * 1e9:.0f}", f"{each / first:.2f}×"])
    return lines


def growth(plan: Plan) -> str:
    """Cost a packet from few flows to many: on B2's link, and with a link that grows with them."""
    head = ["flows", "packets through", "dropped", "ns a packet", "against 10 flows"]
    same = _rows(plan, lambda _: 20, lambda _: 1)
    grown = _rows(plan, lambda flows: max(4, 10_000 / flows), lambda flows: flows / 1000)
    times = float(str(grown[-1][-1]).rstrip("×"))
    for row in grown:
        row += beside("10,000 flows", times) if row is grown[-1] else WITHOUT
    head_grown = [*head, "target", "met"]
    if plan.valgrind and not plan.quick:
        head_grown.append("instructions a packet")
        for row, counted in zip(grown, _counted(), strict=True):
            row.append(f"{counted:,.0f}")
    return (
        "On B2's 1 Gbit/s, where each flow's share shrinks and timeouts take over:\n\n"
        f"{table(head, same)}\n"
        "With 1 Mbit/s of link for each flow, so that a flow always does the same:\n\n"
        f"{table(head_grown, grown)}"
    )


def _counted() -> list[float]:
    """Instructions a packet at a constant share, for each number of flows."""
    say("instructions of many flows")
    with tempfile.TemporaryDirectory() as folder:
        pairs: list[Pair] = []
        for flows in FLOWS:
            lengths = (max(1.0, 600 / flows), max(1.2, 900 / flows))
            short, long = (natively(crowded(folder, flows, s, flows / 1000)) for s in lengths)
            pairs.append((short, long))
        return [each.instructions for each in per_packet(pairs)]


IDLE = """\
duration = "1 s"
profile = "ns-2"
[topology]
bottleneck = { rate = "1 Gbit/s", delay = "20 ms", buffer = 1000 }
access = { rate = "1 Gbit/s", delay = "1 ms" }
[[traffic]]
kind = "ftp"
flows = %d
start = "2 s"
"""
UNDER_WAY = """\
duration = "18 s"
[topology]
bottleneck = { rate = "10 Gbit/s", delay = "1 s", buffer = 400000 }
access = { rate = "10 Gbit/s", delay = "1 ms" }
[[traffic]]
kind = "ftp"
flows = 10
window = %d
initial_window = 1000
initial_rto = "10 s"
"""
CROWD = """\
duration = "20 s"
measure = { from = "10 s" }
profile = "ns-2"
[topology]
bottleneck = { rate = "1 Gbit/s", delay = "20 ms", buffer = 10000 }
access = { rate = "1 Gbit/s", delay = { spread = ["2 ms", "20 ms"] } }
[aqm]
kind = "red"
[[traffic]]
kind = "ftp"
flows = 100000
start = { uniform = ["0 s", "10 s"] }
"""


def memory(_: Plan) -> str:
    """Memory a flow, a packet, and of a crowd."""
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as folder:

        def peak(text: str) -> tuple[int, Any]:
            file = Path(folder, "case.toml")
            file.write_text(text, encoding="utf-8")
            document = spend(natively(file)).document
            return document["peak_bytes"], document

        say("memory of idle flows")
        few, many = 1000, 101_000
        each = (peak(IDLE % many)[0] - peak(IDLE % few)[0]) / (many - few)
        rows.append(["an idle flow", f"{each:.0f} B", *beside("idle flow", each)])
        say("memory of packets in flight")
        # No loss, and windows that are open long before the end: what differs is all in flight,
        # as data or as ACK.
        small, large = 2000, 20_000
        each = (peak(UNDER_WAY % large)[0] - peak(UNDER_WAY % small)[0]) / (10 * (large - small))
        what = "a TCP packet in flight, with what both ends keep of it"
        rows.append([what, f"{each:.0f} B", *beside("packet in flight", each)])
        recorded = 'profile = "linux"\n' + UNDER_WAY
        each = (peak(recorded % large)[0] - peak(recorded % small)[0]) / (10 * (large - small))
        what = 'the same under `profile = "linux"`, with the record of its transmission'
        rows.append([what, f"{each:.0f} B", *beside("packet on record", each)])
        say("100,000 flows")
        size, document = peak(CROWD)
        cost = f"{document['packets']:,} packets through, {document['cpu_s']:.1f} CPU s"
        row = [f"100,000 flows, 20 s on 1 Gbit/s ({cost})", f"{mib(size)} MiB"]
        rows.append([*row, *beside("100,000 flows", size / 2**20)])
    return table(["", "here", "target", "met"], rows)
