"""Junos: drop profiles.

Facts: Juniper's "RED Drop Profiles Overview" and the statements drop-profiles, schedulers: fill
level and probability in whole per cent, up to 64 points with straight lines between them, a random
number for each packet, no average on most hardware, drops at the head of the queue. Not checked on
a router.
"""

from __future__ import annotations

from penstock.operators import wred
from penstock.operators.model import Place, Ramp, RefusedError, Value, Wanted, Written, bytes_text, per_cent, slug

MOST_POINTS = 64

Points = list[tuple[int, int]]


def write(wanted: Wanted, place: Place) -> Written:
    """Returns a drop profile, a scheduler with a buffer of the scenario's size, and its place at
    the interface.
    """
    if wanted.aqm.kind == "step":
        raise RefusedError('junos: a step on fill levels of whole per cent of the buffer; give a ramp (kind = "red")')
    ramp = wred.ramp_of(wanted, "junos", ["nlred"])
    buffer = wanted.buffer_bytes
    low, high = _level(ramp.min_bytes, buffer), _level(ramp.max_bytes, buffer)
    high = max(high, low + 1)
    if high > 100:
        raise RefusedError(
            f"max_th = {round(ramp.max_bytes)} B: above the buffer of {round(buffer)} B; levels end at 100 %"
        )
    gentle = ramp.gentle and 2 * high <= 100
    share = per_cent(ramp.share())
    points = profile(ramp, low, high, gentle)
    lost = wred.losses(ramp, wanted.ecn, gentle=gentle, beyond="mark")
    used_low, used_high = buffer * low / 100, buffer * high / 100
    why = f"whole per cent of the buffer of {round(buffer)} B"
    values = [
        *wred.threshold_values(ramp.min_bytes, ramp.max_bytes, used_low, used_high, "B", why),
        wred.instantaneous(ramp, lost),
        wred.share_value(ramp, share / 100, "whole per cent"),
        Value(name="buffer", wanted=buffer, used=buffer, unit="B"),
    ]
    kind = "nlred" if ramp.kind == "nlred" else "red"
    max_p = share / 100 / (1.5 if kind == "nlred" else 1)
    return Written(
        text=_text(wanted, place, points),
        values=tuple(values),
        aqm=wred.aqm(
            wanted,
            low=bytes_text(used_low),
            high=bytes_text(used_high),
            max_p=max_p,
            w_q=1.0,
            beyond="mark",
            kind=kind,
            gentle=gentle,
        ),
        buffer=bytes_text(buffer),
        lost=tuple(lost),
        notes=(
            "packets are dropped at the head of the queue; the simulation drops the arriving one",
            "levels are per cent of the buffer that the box really gives the queue: check it, and give that here",
        ),
    )


def profile(ramp: Ramp, low: int, high: int, gentle: bool) -> Points:
    """Returns fill levels and probabilities, both in per cent: straight lines, as the box draws
    them.
    """
    top = per_cent(ramp.share())
    points: Points = [(0, 0), (low, 0)] if low else [(0, 0)]
    if ramp.kind == "nlred":  # a parabola, in as many points as whole levels and the box allow
        steps = min(MOST_POINTS - 6, high - low)
        for step in range(1, steps):
            x = step / steps
            points.append((low + round(x * (high - low)), round(top * x * x)))
    points.append((high, top))
    if gentle:
        points.append((2 * high, 100))
    elif high < 100:
        points.append((high + 1, 100))
    if points[-1][0] < 100:
        points.append((100, 100))
    return _ascending(points)


def _ascending(points: Points) -> Points:
    kept: Points = []
    for level, chance in points:
        if not kept or level > kept[-1][0]:
            kept.append((level, chance))
    return kept


def _level(size: float, buffer: float) -> int:
    return max(0, round(100 * size / buffer))


def _text(wanted: Wanted, place: Place, points: Points) -> str:
    name, dev = slug(wanted.name), place.dev or "ge-0/0/0"
    levels = " ".join(str(level) for level, _ in points)
    chances = " ".join(str(chance) for _, chance in points)
    time_us = max(1, round(wanted.buffer_bytes * 8 / wanted.rate_bps * 1e6))
    top = "set class-of-service"
    lines = [
        f"{top} drop-profiles {name} interpolate fill-level [ {levels} ]",
        f"{top} drop-profiles {name} interpolate drop-probability [ {chances} ]",
        f"{top} schedulers {name} buffer-size temporal {time_us}",
        f"{top} schedulers {name} drop-profile-map loss-priority any protocol any drop-profile {name}",
        *([f"{top} schedulers {name} explicit-congestion-notification"] if wanted.ecn else []),
        f"{top} scheduler-maps {name} forwarding-class best-effort scheduler {name}",
        f"{top} interfaces {dev} scheduler-map {name}",
    ]
    return "\n".join(lines) + "\n"
