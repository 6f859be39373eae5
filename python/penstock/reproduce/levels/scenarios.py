"""What the signals are run in beside the places: a delay to aim at, changes, a home, neighbours, paths that hide
signals, one level in the place of two, and other values of a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import penstock as ps
from penstock.reproduce.grids import Grid
from penstock.reproduce.levels.signals import (
    BBR,
    CUBIC,
    DCTCP,
    DROPS,
    MECN_CUBIC,
    MIDDLE,
    NAMES,
    PLACES,
    PLANE,
    PRAGUE,
    QUICK_MBPS,
    RENO,
    SCE_CUBIC,
    SCE_RENO,
    SIGNALS,
    UP_TO_100,
    WITH_DELAY,
    Place,
    at_place,
    held,
    scenario,
)
from penstock.reproduce.model import Case, Settings
from penstock.reproduce.readings import Reading
from penstock.reproduce.runs import Labels

# ---- the plane: the delay that a discipline aims at, halved and doubled

FACTORS = (0.5, 1.0, 2.0, 4.0)


@cache
def aimed(name: str, at: str, factor: float) -> ps.Scenario:
    """Returns a signal at a place with its delays times a factor."""
    signal, place = SIGNALS[name], PLACES[at]
    if factor == 1:
        return at_place(name, at)
    return scenario(place, signal.queue(factor), [{"flows": place.flows, **signal.sender}])


@dataclass(frozen=True, slots=True)
class Plane:
    """Signals at places, each with the delay that it aims at times each factor."""

    names: Sequence[str] = WITH_DELAY
    at: Sequence[str] = PLANE

    def __call__(self, settings: Settings, reading: Reading) -> Iterator[Case]:
        """Yields the cases."""
        for at in held(settings, self.at):
            for name in self.names:
                for factor in FACTORS:
                    yield Case({"aqm": name, "place": at, "factor": factor}, aimed(name, at, factor))


# ---- changes

#: When the load or the rate changes, and how long is measured from then on, in seconds.
CHANGE_S, AFTER_S = 20.0, 10.0
CHANGES = ("load rises", "load falls", "rate falls", "rate rises")


@cache
def changed(name: str, change: str, reading: Reading) -> ps.Scenario:
    """Returns a signal in the middle, measured from a change on: 4 flows and 16, or 20 Mbit/s and 5."""
    signal = SIGNALS[name]
    sender = {**signal.sender}
    at = f"{CHANGE_S:g} s"
    traffic = [{"flows": 4, **sender}]
    link: dict[str, Any] = {}
    if change == "load rises":
        traffic.append({"flows": 12, **sender, "start": {"uniform": [at, f"{CHANGE_S + 1:g} s"]}})
    elif change == "load falls":
        traffic.append({"flows": 12, **sender, "stop": at})
    elif change == "rate falls":
        link["schedule"] = [{"at": at, "rate": "5 Mbit/s"}]
    else:
        link["rate"] = "5 Mbit/s"
        link["schedule"] = [{"at": at, "rate": "20 Mbit/s"}]
    return scenario(MIDDLE, signal.queue(), traffic, begin_s=CHANGE_S, length_s=AFTER_S, **link)


OVER_CHANGES = Grid(build=changed, names=NAMES, along="change", values=CHANGES, trace_s=0.05)

# ---- a home: pages and calls beside downloads

HOME = Place(20, 30, 2)


@cache
def at_home(name: str) -> ps.Scenario:
    """Returns two downloads, four who browse and four calls; pages are sent as the downloads are."""
    signal = SIGNALS[name]
    page = {
        "kind": "web",
        "sessions": 4,
        "object": {"pareto": {"shape": 1.5, "mean": "12 kB", "max": "500 kB"}},
        "objects_per_page": 50,
        "think": {"exponential": "1 s"},
        "connections": 6,
        "persistent": True,
        "request": "500 B",
    }
    call = {"kind": "voip", "flows": 4, "silence": {"exponential": "1.587 s"}}
    traffic = [{"flows": HOME.flows, **signal.sender}, {**page, **signal.sender}, call]
    return scenario(HOME, signal.queue(), traffic, begin_s=10, length_s=40).recording(groups=True)


@dataclass(frozen=True, slots=True)
class AtHome:
    """Signals at home."""

    names: Sequence[str] = NAMES

    def __call__(self, settings: Settings, reading: Reading) -> Iterator[Case]:
        """Yields the cases."""
        for name in self.names:
            yield Case({"aqm": name}, at_home(name))


# ---- neighbours

#: Senders of the new kinds, and who is beside them.
NEW = {"MECN": MECN_CUBIC, "CUBIC-SCE": SCE_CUBIC, "Reno-SCE": SCE_RENO, "Prague": PRAGUE, "DCTCP": DCTCP}
NEIGHBOURS = {"CUBIC": CUBIC, "Reno": RENO, "BBR": BBR}
#: New kind → its signals: its own queues, queues of classic ECN, and flow isolation.
MEETS: Mapping[str, Sequence[str]] = {
    "MECN": ("MECN", "RED", "CoDel", "FQ-CoDel"),
    "CUBIC-SCE": ("SCE, CUBIC", "CoDel", "FQ-CoDel"),
    "Reno-SCE": ("SCE, Reno", "CoDel", "FQ-CoDel"),
    "Prague": ("DualPI2, Prague", "Step, Prague", "RED", "PIE", "CoDel", "FQ-CoDel"),
    "DCTCP": ("Step, DCTCP", "CoDel", "FQ-CoDel"),
}
CROWD = Place(50, 50, 10)
#: How many of ten flows are of the new kind.
PARTS = (1, 5, 9)


def queue_name(signal: str) -> str:
    """Returns a signal's queue without its senders: `"DualPI2"`."""
    return signal.split(",")[0]


@cache
def beside(new: str, queue: str, neighbour: str, part: int) -> ps.Scenario:
    """Returns `part` of ten flows of the new kind beside the others in a queue."""
    traffic = [{"flows": part, **NEW[new]}, {"flows": CROWD.flows - part, **NEIGHBOURS[neighbour]}]
    return scenario(CROWD, SIGNALS[queue].queue(), traffic, begin_s=15, length_s=15)


@dataclass(frozen=True, slots=True)
class Crowd:
    """New kinds beside their neighbours in their queues."""

    news: Sequence[str] = tuple(NEW)
    queues: Sequence[str] = ()
    neighbours: Sequence[str] = tuple(NEIGHBOURS)
    parts: Sequence[int] = PARTS

    def __call__(self, settings: Settings, reading: Reading) -> Iterator[Case]:
        """Yields the cases; a quick reproduction has CUBIC beside half of the flows alone, whoever asks."""
        for new in self.news:
            for queue in self.queues or MEETS[new]:
                for neighbour in self.neighbours:
                    for part in self.parts:
                        if settings.quick and (part != 5 or neighbour != "CUBIC"):
                            continue
                        labels: Labels = {"new": new, "queue": queue_name(queue), "beside": neighbour, "part": part}
                        yield Case(labels, beside(new, queue, neighbour, part))


# ---- two flows: who starves whom, over the rate

PAIR_MBPS = (5, 20, 50, 100, 200)
#: Senders beside one CUBIC flow: in CoDel's queue with classic ECN, and in their own, which they meet first.
PAIR_OWN = {new: queues[0] for new, queues in MEETS.items()}


@cache
def pair(new: str, queue: str, rate: int, trip: int = 20) -> ps.Scenario:
    """Returns one flow of the new kind and one of CUBIC."""
    table = SIGNALS[queue].queue()
    traffic = [{"flows": 1, **NEW[new]}, {"flows": 1, **CUBIC}]
    return scenario(Place(rate, trip, 2), table, traffic, begin_s=20, length_s=30)


@dataclass(frozen=True, slots=True)
class Pairs:
    """One flow of each new kind beside one of CUBIC, over the rate."""

    news: Sequence[str] = tuple(NEW)
    rates: Sequence[int] = PAIR_MBPS
    queues: Sequence[str] = ("CoDel", "its own")

    def __call__(self, settings: Settings, reading: Reading) -> Iterator[Case]:
        """Yields the cases."""
        for new in self.news:
            for queue in self.queues:
                signal = PAIR_OWN[new] if queue == "its own" else queue
                for rate in self.rates:
                    if not settings.quick or rate <= QUICK_MBPS:
                        yield Case({"new": new, "queue": queue, "rate": rate}, pair(new, signal, rate))


#: What others have measured on 50 Mbit/s: the new kind, its queue, the round trip in milliseconds.
PUBLISHED = (
    ("Prague", "CoDel", 20),
    ("Prague", "CoDel", 10),
    ("Prague", "FQ-CoDel", 20),
    ("Prague", "DualPI2, Prague", 20),
    ("CUBIC-SCE", "CoDel", 20),
    ("Reno-SCE", "CoDel", 10),
    ("Reno-SCE", "SCE, Reno", 10),
)


@dataclass(frozen=True, slots=True)
class Published:
    """Published measurements of one flow beside one of CUBIC."""

    which: Sequence[tuple[str, str, int]] = PUBLISHED

    def __call__(self, settings: Settings, reading: Reading) -> Iterator[Case]:
        """Yields the cases."""
        for new, queue, trip in self.which:
            yield Case({"new": new, "queue": queue, "trip": trip}, pair(new, queue, 50, trip))


# ---- paths that do not carry the signal

BLIND = ("MECN", "SCE, CUBIC", "DualPI2, Prague", "Step, DCTCP", "CoDel")
SITUATIONS = ("understood", "classic hosts", "bleached", "no AQM")


@cache
def hidden(name: str, situation: str, reading: Reading) -> ps.Scenario:
    """Returns a signal in the middle where all goes well, where hosts know classic ECN alone, where the path clears
    the ECN field behind the queue, and where the queue does not mark at all."""
    signal = SIGNALS[name]
    sender = CUBIC if situation == "classic hosts" else signal.sender
    queue = {"kind": "droptail"} if situation == "no AQM" else signal.queue()
    bleach = {"bleach": True} if situation == "bleached" else {}
    return scenario(MIDDLE, queue, [{"flows": MIDDLE.flows, **sender}], **bleach)


@dataclass(frozen=True, slots=True)
class Bufferbloat:
    """Prague and CUBIC through DropTail with a product."""

    def __call__(self, settings: Settings, reading: Reading) -> Iterator[Case]:
        """Yields the cases."""
        for name, sender in (("Prague", PRAGUE), ("CUBIC", DROPS)):
            made = scenario(MIDDLE, {"kind": "droptail"}, [{"flows": MIDDLE.flows, **sender}])
            yield Case({"senders": name}, made)


OVER_SITUATIONS = Grid(build=hidden, names=BLIND, along="path", values=SITUATIONS)

# ---- one level in the place of two

#: What one level takes of the window, of MECN's senders.
FOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)
TWO = "two levels"
#: Two places where the average stays below mid_th, and two where it does not.
FOLDED_AT = (
    "20 Mbit/s, 10 ms, 4 flows",
    "100 Mbit/s, 50 ms, 1 flow",
    "20 Mbit/s, 200 ms, 1 flow",
    "20 Mbit/s, 50 ms, 50 flows",
)
#: The paper's senders are Reno's; CUBIC's marks take no more than a loss does, 30 %.
FOLDED = ("Reno", "CUBIC")


def one_level(cut: float) -> str:
    """Returns how senders are called for which both marks mean one cut."""
    return f"one level, {100 * cut:g} %"


#: Two levels, and one for which each mark takes the same.
LEVELS = (TWO, *map(one_level, FOLDS))


@cache
def folded(control: str, level: str, at: str) -> ps.Scenario:
    """Returns MECN's queue at a place under senders for which an incipient and a moderate mark mean the same cut,
    or the paper's two."""
    place = PLACES[at]
    sender: dict[str, Any] = {"tcp": control.lower(), "ecn": "mecn"}
    if level != TWO:
        cut = FOLDS[LEVELS.index(level) - 1]
        sender |= {"beta1": cut, "beta2": cut}
    return scenario(place, SIGNALS["MECN"].queue(), [{"flows": place.flows, **sender}])


@dataclass(frozen=True, slots=True)
class Folded:
    """MECN's queue with two levels and with one, under one control."""

    controls: Sequence[str] = FOLDED
    at: Sequence[str] = FOLDED_AT
    levels: Sequence[str] = LEVELS

    def __call__(self, settings: Settings, reading: Reading) -> Iterator[Case]:
        """Yields the cases. Above CUBIC's own cut one level takes no more."""
        for control in self.controls:
            for at in held(settings, self.at):
                for level in self.levels:
                    if control == "CUBIC" and level in LEVELS[4:]:
                        continue
                    yield Case({"tcp": control, "level": level, "place": at}, folded(control, level, at))


#: SCE's queue, and the same queue and senders without the ramp, so that CE is all there is.
RAMP = ("with the ramp", "without")
#: A window → SCE's sender with it, and the classic one.
WINDOWS = {"CUBIC": (SCE_CUBIC, CUBIC), "Reno": (SCE_RENO, RENO)}


def _without_ramp() -> dict[str, Any]:
    queue = SIGNALS["SCE, CUBIC"].queue()
    del queue["sce_ramp"]
    return queue


@cache
def ramped(window: str, ramp: str, at: str) -> ps.Scenario:
    """Returns SCE's senders through CoDel with its ramp, and without."""
    place = PLACES[at]
    queue = _without_ramp() if ramp == RAMP[1] else SIGNALS["SCE, CUBIC"].queue()
    return scenario(place, queue, [{"flows": place.flows, **WINDOWS[window][0]}])


@cache
def classic(window: str, at: str) -> ps.Scenario:
    """Returns CoDel without a ramp under classic ECN."""
    place = PLACES[at]
    return scenario(place, _without_ramp(), [{"flows": place.flows, **WINDOWS[window][1]}])


@dataclass(frozen=True, slots=True)
class Ramped:
    """SCE's senders of one window with the ramp and without, at the places up to 100 Mbit/s."""

    windows: Sequence[str] = tuple(WINDOWS)

    def __call__(self, settings: Settings, reading: Reading) -> Iterator[Case]:
        """Yields the cases."""
        for window in self.windows:
            for at in held(settings, UP_TO_100):
                for ramp in RAMP:
                    yield Case({"window": window, "ramp": ramp, "place": at}, ramped(window, ramp, at))


@dataclass(frozen=True, slots=True)
class Conventional:
    """SCE's senders of one window and classic ones through CoDel without a ramp, at the same places."""

    window: str

    def __call__(self, settings: Settings, reading: Reading) -> Iterator[Case]:
        """Yields the cases."""
        for at in held(settings, UP_TO_100):
            yield Case({"senders": "SCE's", "place": at}, ramped(self.window, RAMP[1], at))
            yield Case({"senders": "classic", "place": at}, classic(self.window, at))


# ---- sensitivity

#: Signal → (what is shown, key of the discipline or of the sender, halved, as it is, doubled).
KNOBS: Mapping[str, Sequence[tuple[str, str, Any, Any]]] = {
    "MECN": (
        ("target_delay", "aqm.target_delay", "2.5 ms", "10 ms"),
        ("w_q", "aqm.w_q", 0.0002, 0.0008),
        ("p1_max", "aqm.p1_max", 0.05, 0.2),
        ("p2_max", "aqm.p2_max", 0.05, 0.2),
        ("beta1", "traffic.0.beta1", 0.1, 0.4),
        ("beta2", "traffic.0.beta2", 0.2, 0.5),
    ),
    "AMECN": (
        ("target_delay", "aqm.target_delay", "2.5 ms", "10 ms"),
        ("interval", "aqm.interval", "0.25 s", "1 s"),
        ("mark_p", "aqm.mark_p", 0.2, 0.5),
    ),
    "SCE, CUBIC": (
        ("target", "aqm.target", "2.6 ms", "10 ms"),
        ("interval", "aqm.interval", "50 ms", "200 ms"),
        ("sce_ramp", "aqm.sce_ramp", "1.25 ms", "4.9 ms"),
    ),
    "DualPI2, Prague": (
        ("ramp_start", "aqm.ramp_start", "0.4 ms", "1.6 ms"),
        ("ramp_range", "aqm.ramp_range", "0.2 ms", "0.8 ms"),
        ("target", "aqm.target", "7.5 ms", "30 ms"),
        ("k", "aqm.k", 1, 4),
    ),
    "Step, DCTCP": (("sojourn", "aqm.sojourn", "0.5 ms", "2 ms"),),
}
AS_IT_IS = "as it is"


@dataclass(frozen=True, slots=True)
class Tuned:
    """Signals in the middle as they are, and with one key lower or higher.

    knobs: these alone; all where none are given.
    """

    names: Sequence[str] = tuple(KNOBS)
    knobs: Sequence[str] = ()

    def __call__(self, settings: Settings, reading: Reading) -> Iterator[Case]:
        """Yields the cases."""
        for name in self.names:
            usual = usually(name)
            if not self.knobs or AS_IT_IS in self.knobs:
                yield Case({"aqm": name, "knob": AS_IT_IS, "way": ""}, usual)
            for knob, key, low, high in KNOBS[name]:
                if not self.knobs or knob in self.knobs:
                    yield Case({"aqm": name, "knob": knob, "way": "lower"}, turned(name, key, low))
                    yield Case({"aqm": name, "knob": knob, "way": "higher"}, turned(name, key, high))


@cache
def usually(name: str) -> ps.Scenario:
    """Returns a signal in the middle."""
    return scenario(MIDDLE, SIGNALS[name].queue(), [{"flows": MIDDLE.flows, **SIGNALS[name].sender}])


@cache
def turned(name: str, key: str, value: Any) -> ps.Scenario:
    """Returns the same with another value of a key."""
    return usually(name).set(key, value)
