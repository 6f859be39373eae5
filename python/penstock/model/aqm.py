"""A queue discipline of your own, in Python."""

from __future__ import annotations

import enum
import weakref
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock._penstock import Packet, Queue

__all__ = [
    "DROP",
    "DROP_FORCED",
    "MARK",
    "MARK_INCIPIENT",
    "PASS",
    "Aqm",
    "Ecn",
    "LinkFacts",
    "Packet",
    "Queue",
    "Verdict",
]


class Verdict(enum.Enum):
    """What becomes of a packet. `penstock.PASS` is short for `penstock.Verdict.PASS`, and so on."""

    #: Queue it as it is (in `depart`: send it).
    PASS = "pass"
    #: Drop it; counts as `drops_early`.
    DROP = "drop"
    #: Drop it because a threshold is full; counts as `drops_forced`.
    DROP_FORCED = "drop_forced"
    #: Mark it "congestion experienced"; a packet that is not ECN-capable is dropped instead (RFC 3168, section 5).
    MARK = "mark"
    #: Mark it with multi-level ECN's first level; likewise. A mark that is there already is never lowered.
    MARK_INCIPIENT = "mark_incipient"


PASS, DROP, DROP_FORCED = Verdict.PASS, Verdict.DROP, Verdict.DROP_FORCED
MARK, MARK_INCIPIENT = Verdict.MARK, Verdict.MARK_INCIPIENT


class Ecn(enum.IntEnum):
    """The two ECN bits of the IP header (RFC 3168, section 5)."""

    NOT_ECT = 0
    ECT1 = 1
    ECT0 = 2
    CE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFacts:
    """What a discipline is told of its link before the run starts.

    name: `"bottleneck"`, `"bottleneck.reverse"`, in a parking lot `"R0-R1"`.
    rate_bps: rate at the start, bit/s.
    delay_s: propagation delay.
    buffer_pkts: packets that may wait; `None` where the buffer counts bytes.
    buffer_bytes: bytes that may wait; `None` where it counts packets.
    mean_packet_bytes: `[aqm] mean_packet`.
    ecn: `[aqm] ecn`, for disciplines that mark only where they are told to.
    """

    name: str
    rate_bps: float
    delay_s: float
    buffer_pkts: int | None
    buffer_bytes: int | None
    mean_packet_bytes: int
    ecn: bool


class _Made(ABCMeta):
    """The type of disciplines' classes: remembers what an instance is made with, so that its parameters are known."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Makes an instance."""
        made = super().__call__(*args, **kwargs)
        place = id(made)
        _MADE[place] = (weakref.ref(made, lambda _: _MADE.pop(place, None)), args, kwargs, _state(made))
        return made


#: The address of an instance → itself, what it was made with, and how it was then. Not in the instance: what is in
#: there is the user's.
_MADE: dict[int, tuple[weakref.ref[Any], tuple[Any, ...], dict[str, Any], dict[str, Any]]] = {}


def made_with(aqm: Aqm) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Returns the arguments that an instance was made with; `None` where it is a copy or was changed since."""
    known = _MADE.get(id(aqm))
    if known is None or known[0]() is not aqm or known[3] != _state(aqm):
        return None
    return known[1], known[2]


def _state(aqm: Aqm) -> dict[str, Any]:
    """Returns an instance's attributes but for its name: plain ones by value, others by where they are."""
    plain = (bool, int, float, str, bytes, type(None))
    state = {name: (type(v), repr(v)) if isinstance(v, plain) else id(v) for name, v in vars(aqm).items()}
    return {name: value for name, value in state.items() if name != "name"}


class Aqm(metaclass=_Made):
    """A discipline of your own: subclass it, write `arrive`, and give an instance where `penstock.Red(...)` stands.

    >>> import penstock as ps
    >>> class Threshold(ps.Aqm):
    ...     def __init__(self, limit_pkts: int) -> None:
    ...         self.limit_pkts = limit_pkts
    ...
    ...     def arrive(self, now: float, packet: ps.Packet, queue: ps.Queue) -> ps.Verdict:
    ...         return ps.MARK if queue.pkts >= self.limit_pkts else ps.PASS
    >>> s = ps.Scenario(
    ...     topology=ps.Dumbbell(bottleneck=ps.Link(rate="1.5 Mbit/s", delay="40 ms", buffer=40)),
    ...     aqm=Threshold(10),
    ...     traffic=[ps.Ftp(flows=2, ecn="classic")],
    ...     duration="10 s",
    ... )
    >>> ps.run(s).summary["marks_ce"].mean > 0
    True

    Every run (each seed, and in a parking lot each hop) gets a deep copy of the instance, so that nothing leaks from
    one run into the next; state belongs into the instance, not into the class or the module. Chance comes from
    `self.random()`, else a run cannot be repeated. Times are seconds of simulated time since the start.

    A `packet` and a `queue` are valid during the call that they are given to; the objects serve the next call with
    other values. What a method raises ends `penstock.run` with that exception.
    """

    #: What results, tables and figures call it; `None`: the name of the class.
    name: str | None = None
    #: Seconds between two calls of `tick`, from the start of the run; read after `setup`.
    interval_s: float | None = None

    def setup(self, link: LinkFacts) -> None:
        """Before the run starts; here a discipline scales itself to its link."""

    @abstractmethod
    def arrive(self, now: float, packet: Packet, queue: Queue) -> Verdict:
        """A packet arrives; `queue` does not count it yet. Where the buffer is full the packet is dropped whatever the
        verdict, and `overflow` is called.

        now: seconds.
        """

    def overflow(self, now: float, packet: Packet, queue: Queue) -> None:
        """The packet that `arrive` has just seen did not fit and was dropped."""

    def depart(self, now: float, packet: Packet, queue: Queue) -> Verdict:
        """A packet is about to be transmitted, after `packet.sojourn_s` in the queue; `queue` no longer counts it.
        After `DROP` the next one takes its turn, at once.
        """
        return Verdict.PASS

    def tick(self, now: float, queue: Queue) -> float | None:
        """The time has come that `interval_s` told. Returns the seconds until the next call, or `None` for
        `interval_s`.
        """

    def average_pkts(self) -> float | None:
        """The average queue as the discipline sees it: packets. The metric `avg_queue_mean_pkts` follows it; asked
        after every arrival.
        """

    def series(self) -> Mapping[str, float]:
        """Variables to record: further columns of the series `"queue"`. The same names in the same order every time,
        from the start of the run on; the unit belongs into the name (`avg_pkts`).
        """
        return {}

    def random(self) -> float:
        """A random number in [0, 1), from the discipline's own stream: the seed and the link's name determine it."""
        raise RuntimeError("random() gives numbers during a run, from setup on; an object by itself has no seed")


def label(aqm: Aqm | type[Aqm]) -> str:
    """Returns what results call a discipline, or the instances of a class."""
    return aqm.name or (aqm if isinstance(aqm, type) else type(aqm)).__name__
