"""Junos: drop profiles.

Facts: Juniper's "RED Drop Profiles Overview" and the statements drop-profiles, drop-probability and
buffer-size: fill level and probability in whole per cent, up to 64 points with straight lines
between them, a random number for each packet, no average on most hardware, drops at the head of the
queue; a buffer in whole microseconds of the interface's speed, at most 200,000 on M series routers
and half or a quarter of that on some cards. QFX switches take 2 points, QFX10000 32. A scheduler's
drop-profile-map has a profile for each loss priority; that AFx1 to AFx3 are low, medium-high and
high is for the classifiers. Not checked on a router.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.operators import coloured, wred
from penstock.operators.model import (
    Coloured,
    Names,
    Place,
    Ramp,
    Range,
    RefusedError,
    Value,
    Wanted,
    Written,
    bytes_text,
    per_cent,
    ranges,
    slug,
)

MOST_POINTS = 64
#: Loss priorities as drop precedences 1 to 3 have them.
PRIORITIES = ("low", "medium-high", "high")
INTERFACE = Names(
    first="ge-0/0/0",
    pattern=r"[a-z][a-z0-9/.:*-]{0,62}",
    said="a small letter, then small letters, digits and / . : * -",
)
_PROFILES = "Juniper, drop-profiles: 0 through 100 per cent"
RANGES = ranges(
    Range(name="fill-level", low=0, high=100, unit="%", source=_PROFILES),
    Range(name="drop-probability", low=0, high=100, unit="%", source=_PROFILES),
    Range(
        name="buffer-size temporal",
        low=1,
        high=200_000,
        unit="us",
        source="Juniper, buffer-size (Dynamic Scheduling): M Series routers",
    ),
)

Points = list[tuple[int, int]]


def write(wanted: Wanted, place: Place) -> Written:
    """Returns a drop profile, a scheduler with a buffer of the scenario's size, and its place at
    the interface.
    """
    dev = INTERFACE.chosen(place)
    if wanted.aqm.kind == "step":
        raise RefusedError('junos: a step on fill levels of whole per cent of the buffer; give a ramp (kind = "red")')
    bytes_per_us = wanted.rate_bps / 8e6
    time = RANGES["buffer-size temporal"].value(
        "buffer", wanted.buffer_bytes / bytes_per_us, "whole microseconds of the rate"
    )
    buffer = time.used * bytes_per_us
    wants, name = wanted.aqm, slug(wanted.name)
    notes: tuple[str, ...] = ()
    if isinstance(wants, Coloured):
        colours = coloured.by_precedence(wants, PRIORITIES)
        # A second ramp needs room below the buffer, and the simulation has it for all or for none.
        gentle = all(_gentle(each.drops, buffer) for each in colours.values())
        made = {word: _ramp(wanted, each.drops, buffer, gentle) for word, each in colours.items()}
        claims = dict(zip(colours, coloured.CLAIMS, strict=True))
        told = coloured.merged(wants, claims, {word: each for word, (each, _) in made.items()})
        told = replace(told, lost=(*told.lost, *coloured.no_marks(wanted, wants, "Junos")))
        profiles = {word: points for word, (_, points) in made.items()}
        notes = ("a packet's loss priority is for your classifiers: AFx2 is medium-high here, AFx3 high, all else low",)
    else:
        ramp = wred.ramp_of(wanted, "junos", ["wred", "nlred"])
        told, points = _ramp(wanted, ramp, buffer, _gentle(ramp, buffer))
        profiles = {"any": points}
    return Written(
        text=_text(name, dev, profiles, int(time.used), wanted.ecn),
        values=(
            *told.values,
            Value(name="buffer", wanted=wanted.buffer_bytes, used=buffer, unit="B", why=time.why),
        ),
        aqm=told.aqm,
        buffer=bytes_text(buffer),
        lost=told.lost,
        notes=(
            *notes,
            "packets are dropped at the head of the queue; the simulation drops the arriving one",
            "levels are per cent of the buffer that the box really gives the queue: check it, and give that here",
            f"the buffer is a time at the interface's speed, taken to be {round(wanted.rate_bps)} bit/s; this does not "
            "shape",
        ),
    )


def _levels(ramp: Ramp, buffer: float) -> tuple[int, int]:
    """Returns the fill levels between which a ramp lies. Raises `RefusedError` where the buffer has no room for
    it.
    """
    low, high = (100 * each / buffer for each in (ramp.min_bytes, ramp.max_bytes))
    level = RANGES["fill-level"]
    if round(high) > level.high or round(low) >= level.high:
        raise RefusedError(
            f"max_th = {round(ramp.max_bytes)} B: above the buffer of {round(buffer)} B; {level.said} of it"
        )
    return level.fit(low), max(level.fit(high), level.fit(low) + 1)


def _gentle(ramp: Ramp, buffer: float) -> bool:
    """Returns whether a second ramp is wanted, and ends below the buffer."""
    return ramp.gentle and 2 * _levels(ramp, buffer)[1] <= 100


def _ramp(wanted: Wanted, ramp: Ramp, buffer: float, gentle: bool) -> tuple[wred.Told, Points]:
    """Returns what becomes of a ramp, and its points. gentle: whether it has a second one."""
    low, high = _levels(ramp, buffer)
    takes = RANGES["drop-probability"]
    share = per_cent(ramp.share())
    lost = wred.losses(ramp, wanted.ecn, gentle=gentle, beyond="mark")
    used_low, used_high = buffer * low / 100, buffer * high / 100
    why = f"whole per cent of the buffer of {round(buffer)} B"
    values = (
        Value(name="min_th", wanted=ramp.min_bytes, used=used_low, unit="B", why=why),
        Value(name="max_th", wanted=ramp.max_bytes, used=used_high, unit="B", why=why),
        wred.instantaneous(ramp, lost),
        wred.share_value(ramp, share / 100, takes.why(100 * ramp.share(), "whole per cent")),
    )
    kind = "nlred" if ramp.kind == "nlred" else "red"
    max_p = share / 100 / (1.5 if kind == "nlred" else 1)
    aqm = wred.aqm(
        wanted,
        low=bytes_text(used_low),
        high=bytes_text(used_high),
        max_p=max_p,
        w_q=1.0,
        beyond="mark",
        kind=kind,
        gentle=gentle,
    )
    return wred.Told(values=values, lost=tuple(lost), aqm=aqm), profile(ramp, low, high, gentle)


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


def _text(name: str, dev: str, profiles: Mapping[str, Points], time_us: int, ecn: bool) -> str:
    """Returns the statements. profiles: loss priority → points."""
    top = "set class-of-service"
    names = {priority: name if priority == "any" else f"{name}-{priority}" for priority in profiles}
    lines = []
    for priority, points in profiles.items():
        for what, place in (("fill-level", 0), ("drop-probability", 1)):
            numbers = " ".join(str(each[place]) for each in points)
            lines.append(f"{top} drop-profiles {names[priority]} interpolate {what} [ {numbers} ]")
    map_of = f"{top} schedulers {name} drop-profile-map loss-priority"
    lines += [
        f"{top} schedulers {name} buffer-size temporal {time_us}",
        *(f"{map_of} {priority} protocol any drop-profile {each}" for priority, each in names.items()),
        *([f"{top} schedulers {name} explicit-congestion-notification"] if ecn else []),
        f"{top} scheduler-maps {name} forwarding-class best-effort scheduler {name}",
        f"{top} interfaces {dev} scheduler-map {name}",
    ]
    return "\n".join(lines) + "\n"
