"""Shows the tables."""

from __future__ import annotations

import math

import numpy as np

from penstock.reproduce.levels import scenarios as at
from penstock.reproduce.levels import signals
from penstock.reproduce.levels.measured import GOODPUT, P99, RATIO, USED, settles_s
from penstock.reproduce.measures import DELAY, LOSS, Measure
from penstock.reproduce.model import TableData
from penstock.reproduce.runs import Runs
from penstock.reproduce.words import minus
from penstock.show.numbers import spread

#: Digits after the point, by measure.
_DIGITS = {id(DELAY): 2, id(P99): 1, id(USED): 1, id(LOSS): 2, id(GOODPUT): 2, id(RATIO): 2}


def shown(runs: Runs, of: Measure, **labels: str | float | int) -> str:
    """Returns a mean with its interval, in the measure's unit."""
    found = runs.estimate(of.quantity, **labels)
    if found.mean is None or not math.isfinite(found.mean):
        return "–"
    digits = _DIGITS.get(id(of), 2)
    return minus(f"{found.mean * of.scale:.{digits}f}{spread(found, digits, of.scale)}")


def places_table(runs: Runs) -> TableData:
    """Returns what of the link is used, and the mean delay, of every signal at every place."""
    held = [str(x) for x in runs.labels("place")]
    rows = []
    for place in held:
        part = runs.where(place=place)
        cells = []
        for name in signals.NAMES:
            used, delay = (part.estimate(of.quantity, aqm=name).mean for of in (USED, DELAY))
            cells.append(f"{100 * (used or 0):.1f} / {1e3 * (delay or 0):.2f}")
        rows.append([place, *cells])
    return TableData(("used [%] / mean delay [ms]", *signals.NAMES), rows)


def losses_table(runs: Runs) -> TableData:
    """Returns the losses and Jain's index of every signal, the median and the worst over the places."""
    rows = []
    for name in signals.NAMES:
        part = runs.where(aqm=name)
        held = part.labels("place")
        lost = [100 * (part.estimate("loss_ratio", place=x).mean or 0.0) for x in held]
        shares = [part.estimate("jain", place=x).mean for x in held if "1 flow" not in str(x)]
        there = [x for x in shares if x is not None]
        rows.append(
            [name, f"{np.median(lost):.3f}", f"{max(lost):.3f}", f"{np.median(there):.3f}", f"{min(there):.3f}"]
        )
    return TableData(("", "lost [%], median", "worst", "Jain's index, median", "worst"), rows)


def changes_table(runs: Runs) -> TableData:
    """Returns what every signal does after every change."""
    measures = (P99, USED, LOSS)
    rows = []
    for change in runs.labels("change"):
        for name in signals.NAMES:
            back = runs.values(settles_s, aqm=name, change=change)
            there = back[np.isfinite(back)]
            settled = f"{np.mean(there):.1f} in {len(there)} of {len(back)}" if len(there) else f"none of {len(back)}"
            rows.append([f"{name}, {change}", *(shown(runs, of, aqm=name, change=change) for of in measures), settled])
    return TableData(("", "p99 delay [ms]", "used [%]", "lost [%]", "settled after [s]"), rows)


def crowd_table(runs: Runs) -> TableData:
    """Returns the ratio of goodputs a flow of every new kind in every queue beside every neighbour."""
    parts = runs.labels("part")
    rows = []
    for new in runs.labels("new"):
        for queue in runs.where(new=new).labels("queue"):
            for neighbour in runs.labels("beside"):
                part = runs.where(new=new, queue=queue, beside=neighbour)
                cells = [shown(part, RATIO, part=p) for p in part.labels("part")]
                rows.append([f"{new} beside {neighbour}, {queue}", *cells])
    return TableData(("", *(f"{10 * int(p)} % of the flows" for p in parts)), rows)


def published_table(runs: Runs) -> TableData:
    """Returns the ratios under the conditions of the published ones."""
    rows = []
    for new in runs.labels("new"):
        for queue in runs.where(new=new).labels("queue"):
            for trip in runs.where(new=new, queue=queue).labels("trip"):
                ratio = shown(runs, RATIO, new=new, queue=queue, trip=trip)
                rows.append([f"{new} : CUBIC, {at.queue_name(str(queue))}, {trip} ms", ratio])
    return TableData(("50 Mbit/s", "ratio of goodputs"), rows)


def hidden_table(runs: Runs) -> TableData:
    """Returns delay, goodput and losses of each signal on each kind of path."""
    rows = [
        [f"{name}, {path}", *(shown(runs, of, aqm=name, path=path) for of in (DELAY, P99, USED, LOSS))]
        for name in at.BLIND
        for path in at.SITUATIONS
    ]
    return TableData(("", "mean delay [ms]", "p99 [ms]", "used [%]", "lost [%]"), rows)


def ramp_table(runs: Runs) -> TableData:
    """Returns SCE's queue and senders with the ramp and without, at each place."""
    rows = []
    for window in runs.labels("window"):
        part = runs.where(window=window)
        for place in part.labels("place"):
            cells = [shown(part, of, ramp=ramp, place=place) for of in (DELAY, USED) for ramp in at.RAMP]
            rows.append([f"{window}, {place}", *cells])
    heads = [f"{what}, {ramp}" for what in ("mean delay [ms]", "used [%]") for ramp in at.RAMP]
    return TableData(("", *heads), rows)


def tuned_table(runs: Runs) -> TableData:
    """Returns by how much delay and goodput move with each key."""
    rows = []
    for name, knobs in at.KNOBS.items():
        rows.append([f"{name}, as it is", shown(runs, DELAY, aqm=name, way=""), shown(runs, GOODPUT, aqm=name, way="")])
        for knob, _, low, high in knobs:
            for way, value in (("lower", low), ("higher", high)):
                part = runs.where(aqm=name, knob=knob, way=way)
                rows.append([f"{name}, {knob} = {value}", shown(part, DELAY), shown(part, GOODPUT)])
    return TableData(("", "mean delay [ms]", "goodput [Mbit/s]"), rows)
