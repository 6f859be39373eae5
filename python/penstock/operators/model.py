"""The words that all platforms share: what is wanted, and what was written."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from penstock.errors import ScenarioError
from penstock.operators.gates import EVEN, SHARE, signalled


class RefusedError(ScenarioError):
    """What a platform cannot express, with the reason."""


#: The keys by which ARED moves its max_p, which no platform does.
ADAPTATION = "interval, adapt_on, target_low, target_high, alpha, beta, max_p_low, max_p_high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp:
    """RED and its kin.

    kind: `red`, `ared`, `choke` or `nlred`.
    min_bytes, max_bytes: where the ramp begins and ends.
    max_p: at the end of the ramp, spaced by `gate`.
    w_q: weight of the newest sample in the average; 1 is no average.
    bytes_counted: whether the queue counts bytes rather than packets of the mean size.
    gentle: whether a second ramp leads from max_p to 1 at twice max_bytes.
    forced: `drop` or `mark`: what becomes of a capable packet beyond the ramp.
    mark_p: above this probability a capable packet is dropped all the same.
    byte_mode: whether the probability scales with the packet's size.
    """

    kind: str
    min_bytes: float
    max_bytes: float
    max_p: float
    w_q: float
    gate: str = "uniform"
    bytes_counted: bool = True
    gentle: bool = False
    forced: str = "drop"
    mark_p: float = 1.0
    byte_mode: bool = False

    def share(self) -> float:
        """Returns the share of packets that are signalled at the end of the ramp; NLRED's ends at
        1.5·max_p.
        """
        top = 1.5 * self.max_p if self.kind == "nlred" else self.max_p
        return min(1.0, signalled(self.gate, top))

    def max_p_of_even_gaps(self) -> float:
        """Returns the max_p that signals as often where signals are spaced evenly."""
        return self.max_p if self.gate in EVEN else min(1.0, signalled(self.gate, self.max_p) / SHARE["uniform"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Colour:
    """A colour of WRED.

    dscps: the first and the last DSCP of its packets. precedence: it has those of this drop
        precedence; without either all that no other has.
    rank: its place for `average = "rio"`.
    drops, marks: its ramps; `None`: marks are where drops would be.
    """

    name: str
    dscps: tuple[int, int] | None
    precedence: int | None
    rank: int
    drops: Ramp
    marks: Ramp | None

    @property
    def claim(self) -> dict[str, int]:
        """The keys of a scenario that say whose packets it has; none for all that no other has."""
        if self.dscps is not None:
            first, last = self.dscps
            return {"dscp": first} | ({"dscp_to": last} if last != first else {})
        return {} if self.precedence is None else {"drop_precedence": self.precedence}


@dataclass(frozen=True, slots=True, kw_only=True)
class Coloured:
    """WRED by colour. average: `shared`, `own` or `rio`."""

    colours: tuple[Colour, ...]
    average: str
    kind: str = "wred"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A threshold above which every packet is marked, as DCTCP wants it.

    not_capable: `pass` or `drop`: what becomes of a packet that cannot be marked.
    """

    threshold_bytes: float
    bytes_counted: bool
    not_capable: str = "pass"
    kind: str = "step"


@dataclass(frozen=True, slots=True, kw_only=True)
class Codel:
    """CoDel. `flows` and what follows is FQ-CoDel's; `None` and zero in CoDel itself.

    maxpacket_bytes: nothing is dropped while no more waits behind; 1514 is what Linux finds on
        Ethernet. ce_selector: what the DS byte must be for `ce_threshold_s`, and under which bits.
    memory_bytes: of all queues; `None`: any. booked_bytes: what each packet counts there beside its
        own.
    form: keys that say whose CoDel it is, beside `variant`.
    others: what is asked for and Linux has not, a sentence each.
    """

    kind: str
    target_s: float
    interval_s: float
    maxpacket_bytes: int = 1514
    flows: int | None = None
    quantum_bytes: int = 0
    limit_pkts: int = 0
    drop_batch: int = 64
    ce_threshold_s: float | None = None
    ce_selector: tuple[int, int] = (0, 0)
    memory_bytes: int | None = None
    booked_bytes: int = 0
    form: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cake:
    """CAKE; `tins` and `isolation` are words of tc, too.

    unlimited: tins take turns by rounds, and something else makes the rate. memory_bytes: of all
        queues; booked_bytes: what each packet counts there beside its own.
    """

    tins: str
    isolation: str
    rtt_s: float
    unlimited: bool
    memory_bytes: float
    booked_bytes: int
    kind: str = "cake"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pie:
    """PIE. `flows` and what follows is FQ-PIE's; `None` and zero in PIE itself.

    others: what is asked for and Linux has not, a sentence each.
    """

    target_s: float
    t_update_s: float
    alpha: float
    beta: float
    max_burst_s: float
    mark_ecnth: float
    derandomize: bool
    high_delay_s: float
    rate_estimate: bool
    dq_threshold_bytes: int
    bytemode: bool = False
    others: tuple[str, ...] = ()
    kind: str = "pie"
    flows: int | None = None
    quantum_bytes: int = 0
    limit_pkts: int = 0
    fattest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dual:
    """DualPI2.

    step_s, step_pkts: L's own step, as a time or as packets.
    th_len: packets of L that are left alone by it. protection: C's share of the bytes.
    limit_pkts, limit_bytes, memory_bytes: infinite where there is no such limit.
    others: what is asked for and Linux has not, a sentence each.
    """

    target_s: float
    t_update_s: float
    alpha: float
    beta: float
    k: float
    step_s: float
    step_pkts: int | None
    th_len: int
    protection: float
    limit_pkts: float = math.inf
    limit_bytes: float = math.inf
    memory_bytes: float = math.inf
    drop_on_overload: bool = True
    at_arrival: bool = False
    any_ect: bool = False
    others: tuple[str, ...] = ()
    kind: str = "dualpi2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sfq:
    """SFQ. perturb_s: how often the hash changes; `None`: never. red: RED on each slot; `None`: none."""

    divisor: int
    flows: int
    depth: int
    limit_pkts: int
    quantum_bytes: int
    perturb_s: float | None = None
    headdrop: bool = False
    red: Ramp | None = None
    kind: str = "sfq"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sfb:
    """SFB. rehash_s: how often the hashes change. warm_up_s: for how long before that the next ones are
    trained.
    """

    target: int
    max: int
    increment: float
    decrement: float
    penalty_rate: float
    penalty_burst: int
    rehash_s: float
    warm_up_s: float
    kind: str = "sfb"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """DropTail."""

    kind: str = "droptail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """A discipline that no platform has."""

    kind: str


Discipline: TypeAlias = Ramp | Coloured | Step | Codel | Cake | Pie | Dual | Sfq | Sfb | Tail | Other


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """What a packet takes on the line.

    overhead, mpu: bytes added to it, and the least that it takes with them.
    cells: `none`, `atm` or `ptm`.
    """

    overhead: int
    mpu: int
    cells: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a scenario asks of its bottleneck: SI units, bytes and probabilities.

    name: the scenario's.
    rate_bps, reverse_rate_bps: of the bottleneck, and of the opposite direction.
    buffer_bytes: what may wait; `buffer_counted` says whether it counts bytes.
    mean_packet: bytes; packets and bytes are turned into each other by it.
    framing: what a packet takes of the rate; `None`: its own size.
    shaped: whether the rate is a shaper's.
    opposite: what the scenario asks of the opposite direction; `None` where it says nothing of it.
    lost: what it asks for and no platform has, a sentence each.
    """

    name: str
    aqm: Discipline
    ecn: bool
    rate_bps: float
    reverse_rate_bps: float
    buffer_bytes: float
    buffer_counted: bool
    mean_packet: int
    framing: Framing | None = None
    shaped: bool = False
    opposite: Wanted | None = None
    lost: tuple[str, ...] = ()

    @property
    def buffer_pkts(self) -> int:
        """The buffer in packets of the mean size."""
        return max(1, round(self.buffer_bytes / self.mean_packet))


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the configuration goes, and what the user chose.

    dev: the interface; `None`: the platform's usual first one.
    variant: which of several forms: tc's `gred` rather than `red`.
    shape: whether tc makes the bottleneck's rate itself, in both directions where the scenario has
        two.
    """

    dev: str | None = None
    variant: str | None = None
    shape: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A number on its way to the box.

    name: as the scenario calls it.
    wanted, used: in the same unit.
    unit: of both: `B`, `ms`, `packets`, `%`; empty for a bare number.
    why: why the box does not take the number as it is.
    shown: how the platform writes what it uses, such as `2^-9`; empty where it is the number
        itself.
    """

    name: str
    wanted: float
    used: float
    unit: str = ""
    why: str = ""
    shown: str = ""

    @property
    def error(self) -> float:
        """The relative error; infinite where nothing was wanted and something is used."""
        if self.used == self.wanted:
            return 0.0
        return abs(self.used - self.wanted) / abs(self.wanted) if self.wanted else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The whole numbers that a platform takes in one place, both ends among them.

    name: what the platform calls the number.
    source: where the range is said.
    """

    name: str
    low: int
    high: int
    unit: str = ""
    source: str

    @property
    def said(self) -> str:
        """The range as a reason: `maximum-threshold takes 1 to 4096 packets`."""
        return f"{self.name} takes {self.low} to {self.high} {self.unit}".rstrip()

    def fit(self, wanted: float) -> int:
        """Returns the nearest number that the platform takes."""
        return round(min(self.high, max(self.low, wanted)))

    def why(self, wanted: float, otherwise: str = "") -> str:
        """Returns why the platform does not take a number as it is: the range where it lies
        outside, else `otherwise`.
        """
        return otherwise if self.low <= round(wanted) <= self.high else self.said

    def value(self, name: str, wanted: float, why: str = "", used: float | None = None) -> Value:
        """Returns a number on its way to this place.

        name: as the scenario calls it.
        why: what rounds it inside the range.
        used: what is written; `None`: the nearest that is taken.
        """
        told = self.fit(wanted) if used is None else used
        return Value(name=name, wanted=wanted, used=told, unit=self.unit, why=self.why(wanted, why))

    def check(self, name: str, wanted: float) -> int:
        """Returns the nearest whole number. Raises `RefusedError` where it lies outside."""
        if not self.low <= round(wanted) <= self.high:
            raise RefusedError(f"{name} = {round(wanted)} {self.unit}".rstrip() + f": {self.said}")
        return round(wanted)


def ranges(*each: Range) -> Mapping[str, Range]:
    """Returns ranges by their names."""
    return {one.name: one for one in each}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A platform's configuration.

    text: complete, as the box takes it; ends in a newline.
    values: each number with what the box makes of it.
    lost: what the scenario asks for and the box does not do, a sentence each.
    notes: what whoever pastes it should know, a sentence each.
    aqm: the discipline that the box will really run, as a scenario's `[aqm]`.
    buffer: what may wait at the box, as a scenario says it.
    reverse: `aqm` and `buffer` of the opposite direction; `None` where it is not written.
    readback: of tc: what `tc -d -j qdisc show` will report of the discipline. It has `kind` and
        `options`, which are complete: every option that tc prints, also those that the lines leave
        at their defaults; flags that tc prints only where they are set are absent where they are
        not. CAKE's `tins` have what `-s` adds of the target. Below a shaper `shaper` has the same
        of the shaper; `reverse` the same of the opposite direction, with its device as `dev`.
        Empty for other platforms.
    """

    text: str
    values: tuple[Value, ...]
    aqm: Mapping[str, Any]
    buffer: str
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reverse: tuple[Mapping[str, Any], str] | None = None
    readback: Mapping[str, Any] = field(default_factory=dict)


def power_of_two(weight: float, least: int, most: int) -> int:
    """Returns n for the 2^-n that is nearest to a weight, by ratio.

    >>> power_of_two(0.002, 1, 16)
    9
    """
    return min(most, max(least, round(-math.log2(weight))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names of interfaces that a platform's text may hold: none that could end a line or a word,
    or mean something to a shell.

    first: what is written where the user names none.
    pattern: of the whole name. said: the same in words.
    """

    first: str
    pattern: str
    said: str

    def chosen(self, place: Place) -> str:
        """Returns the interface. Raises `RefusedError` for a name that the platform cannot have."""
        dev = self.first if place.dev is None else place.dev
        if not re.fullmatch(self.pattern, dev):
            raise RefusedError(f"--dev {dev!a}: an interface's name here is {self.said}")
        return dev


#: Linux takes stranger names, but no script could be trusted with them.
LINUX = Names(
    first="eth0",
    pattern=r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]{0,14}",
    said="at most 15 letters, digits and _ . : @ + -",
)


def exponent(weight: float, takes: Range) -> tuple[int, Value]:
    """Returns n of the nearest weight 2^-n that a platform takes, and the value of the weight."""
    n = power_of_two(weight, takes.low, takes.high)
    return n, weight_value(weight, n, takes.why(-math.log2(weight), "the weight is 2^-n"))


def weight_value(wanted: float, n: int, why: str) -> Value:
    """Returns the value of a weight that a box has as 2^-n."""
    return Value(name="w_q", wanted=wanted, used=2.0**-n, shown=f"2^-{n}" if n else "", why=why)


def per_cent(share: float) -> int:
    """Returns a share as whole per cent, at least one where it is not nothing."""
    return min(100, max(1, round(100 * share))) if share > 0 else 0


def slug(name: str, allowed: str = r"A-Za-z0-9_-", most: int = 32) -> str:
    """Returns a scenario's name as an identifier that every platform takes.

    >>> slug("WAN edge, 10 Mbit/s")
    'WAN-edge-10-Mbit-s'
    """
    text = re.sub(rf"[^{allowed}]+", "-", name).strip("-_")[:most].rstrip("-_")
    return text or "penstock"


def bytes_text(size: float) -> str:
    """Returns a size as a scenario says it."""
    return f"{round(size)} B"
