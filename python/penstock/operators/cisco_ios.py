"""Cisco IOS: WRED in a policy map.

Facts, from Cisco's documents: the command references of the ME 3800X (random-detect precedence:
thresholds of 1 to 4096 packets) and the Catalyst 3750 Metro (one over 1 to 65535), "Cisco IOS in a
Nutshell" (exponential-weighting-constant: 2^-n, n from 1 to 16), the command reference of the ASR
901 (shape average: 30,000 to 10,000,000,000 bit/s) and the configuration guide of the 10000 series
(queue-limit: up to 64,000 packets). Other routers take other shapes and queues. Not checked on a
router: that each packet is decided by itself, and that packets above max_th are dropped with ECN,
too. Colours are lines for each of the 64 DSCPs (random-detect dscp-based), or for each precedence
where that tells them apart; both look at one average of the class's queue.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from penstock.operators import coloured, wred
from penstock.operators.model import (
    Coloured,
    Names,
    Place,
    Ramp,
    Range,
    RefusedError,
    Wanted,
    Written,
    exponent,
    ranges,
    slug,
)

INTERFACE = Names(
    first="GigabitEthernet0/0",
    pattern=r"[A-Za-z][A-Za-z-]{0,30} ?[0-9][0-9/.:]{0,20}",
    said="letters and - and a number of digits and / . :",
)
PRECEDENCES = range(8)
_PRECEDENCE = "Cisco ME 3800X command reference, random-detect precedence"
#: The minimum stays below the maximum, so that there is a ramp.
RANGES = ranges(
    Range(name="random-detect minimum", low=1, high=4095, unit="packets", source=_PRECEDENCE),
    Range(name="random-detect maximum", low=2, high=4096, unit="packets", source=_PRECEDENCE),
    Range(
        name="mark-probability-denominator",
        low=1,
        high=65535,
        source="Cisco Catalyst 3750 Metro command reference, random-detect precedence",
    ),
    Range(
        name="exponential-weighting-constant",
        low=1,
        high=16,
        source="Cisco IOS in a Nutshell, random-detect exponential-weighting-constant",
    ),
    Range(
        name="shape average",
        low=30_000,
        high=10**10,
        unit="bit/s",
        source="Cisco ASR 901 command reference, shape (policy-map class)",
    ),
    Range(
        name="queue-limit",
        low=1,
        high=64_000,
        unit="packets",
        source="Cisco 10000 series QoS configuration guide, packets per queue",
    ),
)


def write(wanted: Wanted, place: Place) -> Written:
    """Returns a policy map that shapes to the bottleneck's rate, so that the queue forms at this
    router.
    """
    dev = INTERFACE.chosen(place)
    if wanted.aqm.kind == "step":
        raise RefusedError(
            "cisco-ios: WRED drops above max_th, also with ECN, so it cannot mark everything above a step"
        )
    wants = wanted.aqm
    classes: tuple[str, ...] = ()
    if isinstance(wants, Coloured):
        ramps = {each.name: _ramp(wanted, each.drops) for each in wants.colours}
        claims = {each.name: each.claim for each in wants.colours}
        told = coloured.merged(wants, claims, {name: each for name, (each, _) in ramps.items()})
        words = _by_dscp([ramps[each.name][1] for each in coloured.of_dscps(wants)])
        told = replace(told, lost=(*told.lost, *coloured.no_marks(wanted, wants, "WRED")))
    else:
        told, words_of_all = _ramp(wanted, wred.ramp_of(wanted, "cisco-ios", ["wred"]))
        words = _by_dscp([words_of_all] * 64)
        classes = ("all eight precedences are alike, as the scenario has no classes",)
    rate = RANGES["shape average"].value("rate", wanted.rate_bps, "whole bit/s")
    buffer = RANGES["queue-limit"].value("buffer", wanted.buffer_bytes / wanted.mean_packet, "whole packets")
    name = slug(wanted.name)
    n = round(-math.log2(told.aqm["w_q"]))
    lines = [
        f"policy-map {name}",
        " class class-default",
        f"  shape average {rate.used:.0f}",
        f"  queue-limit {buffer.used:.0f} packets",
        f"  random-detect {words[0]}",
        f"  random-detect exponential-weighting-constant {n}",
        *(f"  random-detect {each}" for each in words[1:]),
        *(["  random-detect ecn"] if wanted.ecn else []),
        "!",
        f"interface {dev}",
        f" service-policy output {name}",
        "!",
        "end",
    ]
    return Written(
        text="\n".join(lines) + "\n",
        values=(*told.values, *([rate] if rate.error else []), buffer),
        aqm=told.aqm,
        buffer=f"{buffer.used:.0f} packets",
        lost=told.lost,
        notes=(
            "; ".join([*classes, "`shape average` makes the rate"]),
            "some releases take `random-detect` for `random-detect precedence-based`; line cards may count cells",
        ),
    )


def _ramp(wanted: Wanted, ramp: Ramp) -> tuple[wred.Told, str]:
    """Returns what becomes of a ramp, and its numbers."""
    mean = wanted.mean_packet
    low, high, thresholds = wred.thresholds(
        (ramp.min_bytes / mean, ramp.max_bytes / mean),
        (RANGES["random-detect minimum"], RANGES["random-detect maximum"]),
        "whole packets",
    )
    inverse = RANGES["mark-probability-denominator"]
    denominator = inverse.fit(1 / ramp.share())
    n, weight = exponent(ramp.w_q, RANGES["exponential-weighting-constant"])
    one_over = wred.share_value(
        ramp, 1 / denominator, inverse.why(1 / ramp.share(), "one over a whole number"), f"1/{denominator}"
    )
    told = wred.Told(
        values=(*thresholds, weight, one_over),
        lost=tuple(wred.losses(ramp, wanted.ecn, beyond="drop")),
        aqm=wred.aqm(
            wanted,
            low=f"{low} packets",
            high=f"{high} packets",
            max_p=1 / denominator,
            w_q=2.0**-n,
            beyond="drop",
        ),
    )
    return told, f"{low} {high} {denominator}"


def _by_dscp(numbers: Sequence[str]) -> list[str]:
    """Returns WRED's words for the numbers of each DSCP: by precedence, where each has one set of them."""
    by_precedence = [numbers[8 * each : 8 * each + 8] for each in PRECEDENCES]
    if all(len(set(each)) == 1 for each in by_precedence):
        return ["precedence-based", *(f"precedence {place} {each[0]}" for place, each in enumerate(by_precedence))]
    return ["dscp-based", *(f"dscp {dscp} {each}" for dscp, each in enumerate(numbers))]
