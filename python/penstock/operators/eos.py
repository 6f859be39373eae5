"""Arista EOS: WRED and ECN thresholds of a transmit queue, in a QoS profile.

Facts: the schema of aristanetworks/avd (ethernet_interfaces and qos_profiles: units, thresholds 1
to 256000000, per cent 1 to 100, weight 0 to 15, drop precedence 0 to 2) and published
configurations (`random-detect ecn minimum-threshold … max-mark-probability … weight …`). A weight n
is taken for 2^-n, 0 for no average. Not checked on a switch: the hardware also rounds thresholds to
its own cells.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.operators import coloured, wred
from penstock.operators.model import Coloured, Names, Place, Range, Step, Wanted, Written, bytes_text, ranges, slug

INTERFACE = Names(
    first="Ethernet1",
    pattern=r"[A-Za-z][A-Za-z-]{0,30} ?[0-9][0-9/.]{0,20}",
    said="letters and - and a number of digits and / .",
)
_ENDS = "aristanetworks/avd, ethernet_interfaces.uc_tx_queues.random_detect.ecn.threshold"
_REST = "aristanetworks/avd, qos_profiles.uc_tx_queues.random_detect.ecn.threshold"
RANGES = ranges(
    Range(name="minimum-threshold", low=1, high=255_999_999, unit="B", source=_ENDS),
    Range(name="maximum-threshold", low=1, high=256_000_000, unit="B", source=_ENDS),
    Range(name="max-mark-probability", low=1, high=100, unit="%", source=_REST),
    Range(name="weight", low=0, high=15, source=_REST),
)


def write(wanted: Wanted, place: Place) -> Written:
    """Returns a QoS profile with one queue, and the interface that has it."""
    dev, name = INTERFACE.chosen(place), slug(wanted.name)
    colours: tuple[str, ...] = ()
    if isinstance(wanted.aqm, Coloured):
        told, rules = _coloured(wanted, wanted.aqm)
        colours = (
            "which packets have which drop precedence is for the switch's maps; here AFx2 has 1, AFx3 2, all else 0",
        )
    else:
        one = _told(wanted)
        told, rules = one, [_rule(one, "ecn" if wanted.ecn else "drop")]
    rule = "".join(f"      {each}\n" for each in rules)
    text = f"qos profile {name}\n   uc-tx-queue 0\n{rule}!\ninterface {dev}\n   service-profile {name}\n!\n"
    written = Written(
        text=text,
        values=told.values,
        aqm=told.aqm,
        buffer=bytes_text(wanted.buffer_bytes),
        lost=told.lost,
        notes=(
            *colours,
            "some platforms say `tx-queue` for `uc-tx-queue`, and round thresholds to their own cells",
            wred.elsewhere(wanted, "in the switch's buffer settings"),
        ),
    )
    if isinstance(wanted.aqm, Step) and told.lost:
        note = "`qos random-detect ecn allow non-ect` lets packets pass that cannot be marked, on the whole switch"
        return replace(written, notes=(*written.notes, note))
    return written


def _told(wanted: Wanted) -> wred.InBytes:
    ends = (RANGES["minimum-threshold"], RANGES["maximum-threshold"])
    return wred.in_bytes(wanted, "eos", ends, RANGES["max-mark-probability"], RANGES["weight"])


def _rule(told: wred.InBytes, what: str) -> str:
    """Returns the line that marks or drops. what: `ecn`, or `drop` with the drop precedence that it is for."""
    ends = f"minimum-threshold {told.low} bytes maximum-threshold {told.high} bytes"
    share = "max-mark-probability" if what == "ecn" else "drop-probability"
    return f"random-detect {what} {ends} {share} {told.share} weight {told.weight}"


def _coloured(wanted: Wanted, wants: Coloured) -> tuple[wred.Told, list[str]]:
    """Returns what becomes of colours, and the lines for the drop precedences."""
    colours = coloured.by_precedence(wants, ("green", "yellow", "red"))
    told = {word: _told(replace(wanted, aqm=each.drops, ecn=False)) for word, each in colours.items()}
    lines = [_rule(each, f"drop drop-precedence {place}") for place, each in enumerate(told.values())]
    claims = dict(zip(colours, coloured.CLAIMS, strict=True))
    all_of_them = coloured.merged(wants, claims, told)
    if wanted.ecn:
        keys = "mark_p, forced, ecn_min_th, ecn_max_th, ecn_max_p"
        lost = f"ecn: `random-detect ecn` has one profile for all colours, so all are dropped, and there is no {keys}"
        all_of_them = replace(all_of_them, lost=(*all_of_them.lost, lost))
    return all_of_them, lines
