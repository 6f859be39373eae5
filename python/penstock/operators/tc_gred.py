"""RED by colour: `gred`, with one virtual queue for each, or one for all packets.

Sources: iproute2's tc/q_gred.c, Linux's net/sched/sch_gred.c; of what sorts packets, Linux's
net/core/dev.c (tc_run).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.operators import coloured
from penstock.operators import tc_ramps as ramps
from penstock.operators.model import Colour, Coloured, Ramp, RefusedError, Wanted, bytes_text
from penstock.operators.tc_line import RANGES, Line
from penstock.operators.wred import Told

#: The priority of a virtual queue that is told none (net/sched/sch_gred.c: GRED_DEF_PRIO).
PRIO = 8
#: Virtual queues that there are (include/uapi/linux/pkt_sched.h: MAX_DPs).
MOST = 16
#: How many DSCPs a virtual queue of one number has, by what the numbers are: IP precedences, or sixteenths of
#: all DSCPs.
SPANS = (8, 4)


def gred(wanted: Wanted) -> Line:
    """Writes sch_gred with one virtual queue, to which filters can add more; of `wred` with one for each
    colour.
    """
    if isinstance(wanted.aqm, Coloured):
        return _coloured(wanted, wanted.aqm)
    ramp = wanted.aqm
    assert isinstance(ramp, Ramp)
    numbers = ramps.in_bytes(wanted, ramp)
    buffer = ramps.buffer_value(wanted)
    queue, words, forced = _queue(wanted, ramp, numbers, int(buffer.used))
    return Line(
        qdisc="gred",
        arguments=(f"setup vqs 1 default 0 limit {int(buffer.used)}", f"vq 0 {words}"),
        values=(*numbers.values, buffer),
        aqm=ramps.red_aqm(queue, wanted, forced=forced),
        buffer=bytes_text(buffer.used),
        readback=_reports([{"vq": 0, "prio": PRIO, **queue}], 0, False, int(buffer.used)),
        lost=tuple(ramps.ramp_losses(ramp, wanted.ecn)),
        notes=(
            *ramps.unit_notes(wanted, ramp.bytes_counted),
            "one virtual queue takes all packets; which packet goes to which of several is for your filters",
        ),
    )


def _queue(wanted: Wanted, ramp: Ramp, numbers: ramps.Numbers, limit: int) -> tuple[dict[str, Any], str, str]:
    """Returns what a virtual queue reports, its words, and what becomes of a capable packet beyond its ramp."""
    hard = wanted.ecn and ramp.forced == "drop"
    flags = [*(["ecn"] if wanted.ecn else []), *(["harddrop"] if hard else [])]
    told = {"limit": limit, **numbers.readback(), **ramps.flags_of(wanted.ecn, hard)}
    words = " ".join([f"limit {limit}", numbers.arguments(), *flags])
    return told, words, "drop" if hard or not wanted.ecn else "mark"


def _reports(queues: Sequence[Mapping[str, Any]], default: int, grio: bool, limit: int) -> dict[str, Any]:
    """Returns what tc reports of the whole."""
    count = max(each["vq"] for each in queues) + 1
    whole = {"dp_cnt": count, "dp_default": default, "grio": grio, "limit": limit, **ramps.flags_of()}
    return {**whole, "vqs": sorted(queues, key=lambda each: each["vq"])}


def _coloured(wanted: Wanted, wants: Coloured) -> Line:
    numbers = _numbers(wants.colours)
    # Several of one priority share an average; one alone has it to itself in any case.
    grio = wants.average != "own" and len(numbers) > 1
    ranked = grio and wants.average == "rio"
    prios = _prios(wants.colours) if ranked else dict.fromkeys(numbers, PRIO)
    buffer = ramps.buffer_value(wanted)
    limit = int(buffer.used)
    told: dict[str, Told] = {}
    claim: dict[str, dict[str, int]] = {}
    queues: list[dict[str, Any]] = []
    lines: list[str] = []
    for colour, each in zip(wants.colours, _averaged(wanted, wants.colours), strict=True):
        vq, prio = numbers[colour.name], prios[colour.name]
        queue, words, forced = _queue(wanted, colour.drops, each, limit)
        queues.append({"vq": vq, "prio": prio, **queue})
        lines.append(f"vq {vq} {f'prio {prio} ' if grio else ''}{words}")
        claim[colour.name] = colour.claim | ({"rank": prio} if wants.average == "rio" else {})
        told[colour.name] = Told(
            values=each.values,
            lost=tuple(ramps.ramp_losses(colour.drops, wanted.ecn)),
            aqm=ramps.red_aqm(queue, wanted, forced=forced),
        )
    all_of_them = coloured.merged(wants, claim, told, wants.average)
    default = next((numbers[each.name] for each in wants.colours if not each.claim), min(numbers.values()))
    setup = f"setup vqs {max(numbers.values()) + 1} default {default} {'grio ' if grio else ''}limit {limit}"
    own = () if wants.average == "shared" else (_OWN_LIMIT,)
    return Line(
        qdisc="gred",
        arguments=(setup, *lines),
        values=(*all_of_them.values, buffer),
        aqm=all_of_them.aqm,
        buffer=bytes_text(limit),
        readback=_reports(queues, default, grio, limit),
        lost=(*all_of_them.lost, *coloured.no_marks(wanted, wants, "gred")),
        notes=(*ramps.unit_notes(wanted, wants.colours[0].drops.bytes_counted), _sorting(wants.colours, numbers), *own),
    )


_OWN_LIMIT = (
    "each virtual queue counts its own packets, also for its limit: several may hold more than the buffer together "
    "(the simulation does not have this)"
)


def _numbers(colours: Sequence[Colour]) -> dict[str, int]:
    """Returns the virtual queue of each colour: its drop precedence where that tells colours apart, or its place among
    IP precedences or sixteenths of the DSCPs; what has all others takes the first free one. Raises
    `RefusedError` where there are too many.
    """
    named = [each for each in colours if each.dscps is not None]
    numbers = {each.name: each.precedence for each in colours if each.precedence is not None}
    span = next((span for span in SPANS if not numbers and all(_fills(each, span) for each in named)), None)
    for place, each in enumerate(named, 4):
        numbers[each.name] = place if span is None or each.dscps is None else each.dscps[0] // span
    free = (number for number in range(MOST + 1) if number not in numbers.values())
    numbers |= {each.name: next(free) for each in colours if not each.claim}
    if max(numbers.values()) >= MOST:
        raise RefusedError(
            f"aqm.colour: has {len(colours)} colours; gred has {MOST} virtual queues, and 4 to 15 for DSCPs"
        )
    return numbers


def claims(numbers: Sequence[int], default: int) -> tuple[dict[int, dict[str, int]], str]:
    """Returns the keys of a scenario that say whose packets each virtual queue has, and the same in words: the
    filters that say so are not in the state.
    """
    others = [each for each in numbers if each != default]
    if set(others) <= {1, 2, 3}:
        return {each: {"drop_precedence": each} for each in others}, "the drop precedences"
    span = next((span for span in SPANS if (max(others) + 1) * span <= 64), SPANS[-1])
    found = {each: {"dscp": each * span, "dscp_to": (each + 1) * span - 1} for each in others}
    return found, f"DSCPs from {span} times the number on"


def _fills(colour: Colour, span: int) -> bool:
    """Returns whether a colour has a whole span of DSCPs."""
    assert colour.dscps is not None
    first, last = colour.dscps
    return first % span == 0 and last == first + span - 1


def _prios(colours: Sequence[Colour]) -> dict[str, int]:
    """Returns priorities that rank as the colours do. Raises `RefusedError` for two of one rank, which the kernel
    would give one average.
    """
    ranks = sorted(each.rank for each in colours)
    if len(set(ranks)) < len(ranks):
        raise RefusedError("aqm.colour: two have one rank, which gred gives one average; number them by rank")
    low = 1 - min(ranks[0], 1)  # gred takes 0 for none
    return {each.name: each.rank + low for each in colours}


def _averaged(wanted: Wanted, colours: Sequence[Colour]) -> list[ramps.Numbers]:
    """Returns the colours' numbers with one weight, as the kernel's average has one, and the scenario's. Raises
    `RefusedError` where tc finds none for all of them.
    """
    nearest = [ramps.in_bytes(wanted, each.drops) for each in colours]
    first = min(each.burst.n for each in nearest)
    for n in sorted(range(1, RANGES["red average"].high + 1), key=lambda n: abs(n - first)):
        told = [ramps.in_bytes(wanted, each.drops, n=n) for each in colours]
        if all(each.burst.n == n for each in told):
            return told
    raise RefusedError("aqm.colour: tc finds no weight that all of these thresholds can have")


def _sorting(colours: Sequence[Colour], numbers: Mapping[str, int]) -> str:
    """Returns how packets come to their virtual queues."""
    said = "; ".join(f"{numbers[each.name]} for {_packets(each)} ({each.name})" for each in colours)
    return (
        f"a packet's virtual queue is its tc_index, which filters have to set: {said}. `tc filter add dev DEV egress "
        "protocol ip flower ip_tos 0x30/0xfc classid :2` below clsact does so for DSCP 12 and virtual queue 2"
    )


def _packets(colour: Colour) -> str:
    """Returns whose packets a colour has."""
    if colour.dscps is not None:
        return "DSCP {}".format(" to ".join(str(each) for each in dict.fromkeys(colour.dscps)))
    return "all others" if colour.precedence is None else f"drop precedence {colour.precedence}"
