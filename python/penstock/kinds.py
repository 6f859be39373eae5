"""The tables of a scenario as Python classes: disciplines, traffic, topology.

Made by `penstock._generate` from the declarations in Rust; `make generate` writes it again. Every field may be left out
unless it is said to be required; then its default or automatic value holds. A quantity is text with its unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from penstock._table import Table

#: A value of several parts: `{"spread": ["2 ms", "27 ms"]}`, `{"exponential": "12 kB"}`.
Spec = Mapping[str, Any]

__all__ = [
    "Access",
    "Ared",
    "Cbr",
    "DropTail",
    "Dumbbell",
    "Ftp",
    "Graph",
    "GraphLink",
    "Link",
    "Node",
    "OnOff",
    "ParkingLot",
    "Pi",
    "Poisson",
    "Red",
    "Rem",
    "Replay",
    "Web",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Table):
    """A link between routers, and the queue in front of it.

    rate: Rate of the link; beside a mahimahi trace only what disciplines take it to be; a rate with its unit, for
        example "1.5 Mbit/s"; left out: required; with a mahimahi trace its mean.
    delay: Propagation delay of the link; a time with its unit, for example "40 ms"; required.
    buffer: What may wait in front of the link; a number of packets, or a size, for example 40, "40 packets" or "30
        kB"; default: 50 packets. Source: ns-2: limit_ 50.
    reverse_rate: Rate of the opposite direction; a rate with its unit, for example "1.5 Mbit/s"; left out: as
        forward.
    reverse_delay: Propagation delay of the opposite direction; a time with its unit, for example "40 ms"; left out:
        as forward.
    reverse_buffer: What may wait for the opposite direction; a number of packets, or a size, for example 40, "40
        packets" or "30 kB"; left out: as forward.
    loss: Probability that a forward packet is lost on the wire, after the queue; or loss in bursts: a wire that
        starts good, turns bad with probability p a packet and good again with r, and loses packets with the
        probabilities `good` (default 0) and `bad` (default 1); a probability in [0, 1], or for example {
        gilbert_elliott = { p = 0.01, r = 0.3 } }; default: 0. Source: Gilbert 1960; Elliott 1963.
    reverse_loss: The same for packets of the opposite direction; a probability in [0, 1], or for example {
        gilbert_elliott = { p = 0.01, r = 0.3 } }; default: 0.
    schedule: Steps of the forward rate over time ("0 bit/s" is a link that is down); or a mahimahi trace, a file with
        a line for each opportunity to send up to 1500 B: its time in milliseconds, whole and ascending. After the
        last it begins again. Packets that wait share an opportunity or take several; one that arrives at its very
        instant is too late, and no packet counts as in service. Its path is relative to the scenario file; a list of
        steps ascending in time, for example [{ at = "10 s", rate = "1 Mbit/s" }], or { mahimahi = "file.trace" };
        left out: the rate never changes. Source: mahimahi (Netravali et al. 2015): link_queue.cc.
    """

    rate: str | None = None
    delay: str
    buffer: float | str | None = None
    reverse_rate: str | None = None
    reverse_delay: str | None = None
    reverse_buffer: float | str | None = None
    loss: float | Spec | None = None
    reverse_loss: float | Spec | None = None
    schedule: Sequence[Spec] | Spec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Access(Table):
    """The links between hosts and their router, one a flow.

    rate: Rate of a host's link to its router; a rate with its unit, for example "1.5 Mbit/s"; required.
    delay: Propagation delay of that link, per flow; a time, { uniform = [a, b] } or { spread = [a, b] }, for example
        { spread = ["2 ms", "27 ms"] }; default: 0 s.
    buffer: What may wait for that link, in each direction; bytes are turned into packets of `aqm.mean_packet`; a
        number of packets, or a size, for example 40, "40 packets" or "30 kB"; left out: large enough never to drop.
    """

    rate: str
    delay: str | Spec | None = None
    buffer: float | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Table):
    """A router of a graph.

    name: What links and traffic call the router; at most 64 characters; a text; required.
    """

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLink(Table):
    """A link of a graph, and the queues at its ends.

    aqm: The link's own discipline, forward; left out: the scenario's `aqm`.
    reverse_aqm: The one back; left out: the scenario's `reverse_aqm`.
    from_: Router at which the link begins; a text; required.
    to: Router at which it ends; a text; required.
    cost: What the link adds to the cost of a route, in each direction; a whole number in [1, 1000000]; default: 1.
        Source: ns-2: cost 1, so that routes have the fewest hops.
    one_way: Whether there is no opposite direction; true or false; default: false. Source: ns-2: simplex-link.
    rate: Rate of the link; beside a mahimahi trace only what disciplines take it to be; a rate with its unit, for
        example "1.5 Mbit/s"; left out: required; with a mahimahi trace its mean.
    delay: Propagation delay of the link; a time with its unit, for example "40 ms"; required.
    buffer: What may wait in front of the link; a number of packets, or a size, for example 40, "40 packets" or "30
        kB"; default: 50 packets. Source: ns-2: limit_ 50.
    reverse_rate: Rate of the opposite direction; a rate with its unit, for example "1.5 Mbit/s"; left out: as
        forward.
    reverse_delay: Propagation delay of the opposite direction; a time with its unit, for example "40 ms"; left out:
        as forward.
    reverse_buffer: What may wait for the opposite direction; a number of packets, or a size, for example 40, "40
        packets" or "30 kB"; left out: as forward.
    loss: Probability that a forward packet is lost on the wire, after the queue; or loss in bursts: a wire that
        starts good, turns bad with probability p a packet and good again with r, and loses packets with the
        probabilities `good` (default 0) and `bad` (default 1); a probability in [0, 1], or for example {
        gilbert_elliott = { p = 0.01, r = 0.3 } }; default: 0. Source: Gilbert 1960; Elliott 1963.
    reverse_loss: The same for packets of the opposite direction; a probability in [0, 1], or for example {
        gilbert_elliott = { p = 0.01, r = 0.3 } }; default: 0.
    schedule: Steps of the forward rate over time ("0 bit/s" is a link that is down); or a mahimahi trace, a file with
        a line for each opportunity to send up to 1500 B: its time in milliseconds, whole and ascending. After the
        last it begins again. Packets that wait share an opportunity or take several; one that arrives at its very
        instant is too late, and no packet counts as in service. Its path is relative to the scenario file; a list of
        steps ascending in time, for example [{ at = "10 s", rate = "1 Mbit/s" }], or { mahimahi = "file.trace" };
        left out: the rate never changes. Source: mahimahi (Netravali et al. 2015): link_queue.cc.
    """

    aqm: Table | None = None
    reverse_aqm: Table | None = None
    from_: str
    to: str
    cost: int | None = None
    one_way: bool | None = None
    rate: str | None = None
    delay: str
    buffer: float | str | None = None
    reverse_rate: str | None = None
    reverse_delay: str | None = None
    reverse_buffer: float | str | None = None
    loss: float | Spec | None = None
    reverse_loss: float | Spec | None = None
    schedule: Sequence[Spec] | Spec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dumbbell(Table):
    """Two routers R0 and R1 with the bottleneck between them; each flow has a host of its own on either side.

    bottleneck: The link between two routers; required.
    access: Links of the hosts on the sources' (left) side; left out: the hosts are the router itself.
    egress: Links of the hosts on the sinks' (right) side; left out: as access.
    """

    kind: ClassVar[str] = "dumbbell"
    bottleneck: Link
    access: Access | None = None
    egress: Access | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkingLot(Table):
    """Routers R0 … Rn in a row; the flows of `[[traffic]]` go through, cross flows go over one hop each. The run's
    metrics describe the first hop; `links` in its results describes every link.

    link: The link between two routers; required.
    access: Links of the hosts on the sources' (left) side; left out: the hosts are the router itself.
    egress: Links of the hosts on the sinks' (right) side; left out: as access.
    hops: Links between routers; a whole number in [1, 200]; required.
    cross_flows: One-hop FTP flows forward on every hop, each as a flow of the first `ftp` entry; together they are
        one more group after the entries of `[[traffic]]`; a whole number in [0, 1000000]; default: 0.
    """

    kind: ClassVar[str] = "parking-lot"
    link: Link
    access: Access | None = None
    egress: Access | None = None
    hops: int
    cross_flows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph(Table):
    """Routers `[[topology.node]]` and links `[[topology.link]]`; traffic goes `from` one router `to` another, on the
    route of the least cost. Of equal ones it takes, at each router, the link that stands first in the file. The
    sender's host hangs on `access`, the receiver's on `egress`. The run's metrics describe the bottleneck; `links` in
    its results describes every link.

    link: The links; required.
    node: The routers of a graph. Left out: those that the links name, in the order in which they name them.
    access: Links of the hosts on the sources' (left) side; left out: the hosts are the router itself.
    egress: Links of the hosts on the sinks' (right) side; left out: as access.
    bottleneck: The link that the run's metrics describe: "a-b" from a to b, "b-a" the other way; a text; left out:
        the first link.
    """

    kind: ClassVar[str] = "graph"
    link: Sequence[GraphLink]
    node: Sequence[Node] | None = None
    access: Access | None = None
    egress: Access | None = None
    bottleneck: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTail(Table):
    """First in, first out; the arriving packet is dropped when the buffer is full.

    ecn: Mark packets that allow it instead of dropping them; true or false; default: false. Source: RFC 3168.
    unit: Whether the queue is measured in packets or bytes; one of "packets", "bytes"; left out: bytes where the
        buffer or a threshold is in bytes, else packets. Source: Floyd, Jacobson 1993, section 8.
    mean_packet: Mean packet size, from which the link's packets per second follow; a size with its unit, for example
        "1000 B"; default: 1000 B. Source: Floyd, Jacobson 1993.
    count_in_service: Whether the packet in transmission counts against the buffer; true or false; default: false;
        with profile ns-2: true. Source: ns-2: DropTail and REM hold limit − 1 waiting packets.
    Source: ns-2: DropTail.
    """

    kind: ClassVar[str] = "droptail"
    ecn: bool | None = None
    unit: Literal["packets", "bytes"] | None = None
    mean_packet: str | None = None
    count_in_service: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Red(Table):
    """Random early detection: signals with a probability that ramps up with the average queue.

    min_th: Average queue below which nothing is signalled; a number of packets, or a size, for example 40, "40
        packets" or "30 kB"; unit: packets; left out: max(5, target_delay·C/2). Source: Floyd, Gummadi, Shenker 2001,
        section 5.
    max_th: Average queue at which the ramp reaches max_p; a number of packets, or a size, for example 40, "40
        packets" or "30 kB"; unit: packets; left out: 3·min_th. Source: Floyd, Gummadi, Shenker 2001, section 5.
    max_p: Signalling probability at max_th (for an adaptive kind: at the start); a number in (0, 1]; default: 0.1.
        Source: Floyd 1997; ns-2: linterm_ 10.
    w_q: Weight of the newest sample in the average; smaller is smoother and slower. "auto": 1 − exp(−1/C); "rtt": 1 −
        exp(−1/(10·R·C)), R = max(100 ms, 3·(delay + 1/C)); a number in (0, 1] or one of "auto", "rtt"; default: auto;
        with profile ns-2: rtt. Source: Floyd, Gummadi, Shenker 2001, section 4; ns-2.
    gentle: Ramp from max_p at max_th to 1 at 2·max_th instead of a step at max_th; true or false; default: true.
        Source: Floyd 2000.
    gentle_tracks_max_p: Whether the gentle part of the ramp starts at the adapted max_p; true or false; default:
        true; with profile ns-2: false. Source: Floyd 2000; ns-2 freezes the slope at the first max_p.
    gate: How signals are spaced at constant p_b: gaps uniform on 1…1/p_b, uniform on 1/p_b…2/p_b, or geometric; one
        of "uniform", "wait", "geometric"; default: uniform; with profile ns-2: wait. Source: Floyd, Jacobson 1993,
        section 7; ns-2: wait_.
    mark_p: Above this p_b a capable packet is dropped all the same; a number in [0, 1]; default: 1; with profile
        ns-2: 0.1. Source: ns-2 since 2002.
    forced: What happens to a capable packet when avg is beyond the end of the ramp; one of "drop", "mark"; default:
        drop. Source: Floyd, Jacobson 1993; Linux marks.
    target_delay: Queueing delay from which an automatic min_th follows; a time with its unit, for example "40 ms";
        default: 5 ms. Source: Floyd, Gummadi, Shenker 2001, section 5.
    byte_mode: Scale the probability with packet size / mean packet size; true or false; default: false. Source:
        Floyd, Jacobson 1993, section 8; ns-2: bytes_.
    byte_scale: Which probability byte mode scales; with p_a the count is in mean packets' worth of bytes; one of
        "p_b", "p_a"; default: p_b; with profile ns-2: p_a. Source: Floyd, Jacobson 1993, section 8; ns-2.
    idle: Whether idle time decays the average by a real or a whole number of packet times; one of "exact", "floor";
        default: exact; with profile ns-2: floor. Source: Floyd, Jacobson 1993, Fig. 2; ns-2.
    early_min_queue: No early decision while less than this is waiting; a number in [0, 1000000000]; unit: the queue's
        unit; default: 0; with profile ns-2: 2. Source: ns-2.
    first_passes: The first packet of an excursion above min_th passes and counts as one; true or false; default:
        false; with profile ns-2: true. Source: ns-2.
    ecn: Mark packets that allow it instead of dropping them; true or false; default: false. Source: RFC 3168.
    unit: Whether the queue is measured in packets or bytes; one of "packets", "bytes"; left out: bytes where the
        buffer or a threshold is in bytes, else packets. Source: Floyd, Jacobson 1993, section 8.
    mean_packet: Mean packet size, from which the link's packets per second follow; a size with its unit, for example
        "1000 B"; default: 1000 B. Source: Floyd, Jacobson 1993.
    count_in_service: Whether the packet in transmission counts against the buffer; true or false; default: false.
        Source: ns-2: DropTail and REM hold limit − 1 waiting packets.
    Source: Floyd, Jacobson 1993; gentle: Floyd 2000; ECN: RFC 3168.
    """

    kind: ClassVar[str] = "red"
    min_th: float | str | None = None
    max_th: float | str | None = None
    max_p: float | None = None
    w_q: float | Literal["auto", "rtt"] | None = None
    gentle: bool | None = None
    gentle_tracks_max_p: bool | None = None
    gate: Literal["uniform", "wait", "geometric"] | None = None
    mark_p: float | None = None
    forced: Literal["drop", "mark"] | None = None
    target_delay: str | None = None
    byte_mode: bool | None = None
    byte_scale: Literal["p_b", "p_a"] | None = None
    idle: Literal["exact", "floor"] | None = None
    early_min_queue: float | None = None
    first_passes: bool | None = None
    ecn: bool | None = None
    unit: Literal["packets", "bytes"] | None = None
    mean_packet: str | None = None
    count_in_service: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ared(Table):
    """Adaptive RED: RED whose max_p follows the average into a target range.

    min_th: Average queue below which nothing is signalled; a number of packets, or a size, for example 40, "40
        packets" or "30 kB"; unit: packets; left out: max(5, target_delay·C/2). Source: Floyd, Gummadi, Shenker 2001,
        section 5.
    max_th: Average queue at which the ramp reaches max_p; a number of packets, or a size, for example 40, "40
        packets" or "30 kB"; unit: packets; left out: 3·min_th. Source: Floyd, Gummadi, Shenker 2001, section 5.
    max_p: Signalling probability at max_th (for an adaptive kind: at the start); a number in (0, 1]; default: 0.1.
        Source: Floyd 1997; ns-2: linterm_ 10.
    w_q: Weight of the newest sample in the average; smaller is smoother and slower. "auto": 1 − exp(−1/C); "rtt": 1 −
        exp(−1/(10·R·C)), R = max(100 ms, 3·(delay + 1/C)); a number in (0, 1] or one of "auto", "rtt"; default: auto;
        with profile ns-2: rtt. Source: Floyd, Gummadi, Shenker 2001, section 4; ns-2.
    gentle: Ramp from max_p at max_th to 1 at 2·max_th instead of a step at max_th; true or false; default: true.
        Source: Floyd 2000.
    gentle_tracks_max_p: Whether the gentle part of the ramp starts at the adapted max_p; true or false; default:
        true; with profile ns-2: false. Source: Floyd 2000; ns-2 freezes the slope at the first max_p.
    gate: How signals are spaced at constant p_b: gaps uniform on 1…1/p_b, uniform on 1/p_b…2/p_b, or geometric; one
        of "uniform", "wait", "geometric"; default: uniform; with profile ns-2: wait. Source: Floyd, Jacobson 1993,
        section 7; ns-2: wait_.
    mark_p: Above this p_b a capable packet is dropped all the same; a number in [0, 1]; default: 1; with profile
        ns-2: 0.1. Source: ns-2 since 2002.
    forced: What happens to a capable packet when avg is beyond the end of the ramp; one of "drop", "mark"; default:
        drop. Source: Floyd, Jacobson 1993; Linux marks.
    target_delay: Queueing delay from which an automatic min_th follows; a time with its unit, for example "40 ms";
        default: 5 ms. Source: Floyd, Gummadi, Shenker 2001, section 5.
    byte_mode: Scale the probability with packet size / mean packet size; true or false; default: false. Source:
        Floyd, Jacobson 1993, section 8; ns-2: bytes_.
    byte_scale: Which probability byte mode scales; with p_a the count is in mean packets' worth of bytes; one of
        "p_b", "p_a"; default: p_b; with profile ns-2: p_a. Source: Floyd, Jacobson 1993, section 8; ns-2.
    idle: Whether idle time decays the average by a real or a whole number of packet times; one of "exact", "floor";
        default: exact; with profile ns-2: floor. Source: Floyd, Jacobson 1993, Fig. 2; ns-2.
    early_min_queue: No early decision while less than this is waiting; a number in [0, 1000000000]; unit: the queue's
        unit; default: 0; with profile ns-2: 2. Source: ns-2.
    first_passes: The first packet of an excursion above min_th passes and counts as one; true or false; default:
        false; with profile ns-2: true. Source: ns-2.
    interval: Time between two adaptations; a time with its unit, for example "40 ms"; default: 0.5 s. Source: Floyd,
        Gummadi, Shenker 2001, Fig. 2.
    alpha: Largest increment of max_p; never more than max_p/4; a number in [0, 1]; default: 0.01. Source: Floyd,
        Gummadi, Shenker 2001, Fig. 2: min(0.01, max_p/4).
    beta: Factor of a decrease of max_p; a number in (0, 1]; default: 0.9. Source: Floyd, Gummadi, Shenker 2001, Fig.
        2.
    target_low: Lower end of the target range, as a fraction of the way from min_th to max_th; a number in [0, 1];
        default: 0.4. Source: Floyd, Gummadi, Shenker 2001, Fig. 2.
    target_high: Upper end of the target range, likewise; a number in [0, 1]; default: 0.6. Source: Floyd, Gummadi,
        Shenker 2001, Fig. 2.
    max_p_low: max_p is not decreased from below this; "rate": min(0.01, 80 kbit/s ÷ the link's rate); a number in [0,
        1] or one of "rate"; default: 0.01; with profile ns-2: rate. Source: Floyd, Gummadi, Shenker 2001, Fig. 2;
        ns-2: bottom_.
    max_p_high: max_p is not increased from above this; a number in (0, 1]; default: 0.5. Source: Floyd, Gummadi,
        Shenker 2001, Fig. 2.
    adapt_on: A timer, or the first arrival an interval after the last change; one of "interval", "arrival"; default:
        interval; with profile ns-2: arrival. Source: Floyd, Gummadi, Shenker 2001: every interval; ns-2: at arrivals.
    ecn: Mark packets that allow it instead of dropping them; true or false; default: false. Source: RFC 3168.
    unit: Whether the queue is measured in packets or bytes; one of "packets", "bytes"; left out: bytes where the
        buffer or a threshold is in bytes, else packets. Source: Floyd, Jacobson 1993, section 8.
    mean_packet: Mean packet size, from which the link's packets per second follow; a size with its unit, for example
        "1000 B"; default: 1000 B. Source: Floyd, Jacobson 1993.
    count_in_service: Whether the packet in transmission counts against the buffer; true or false; default: false.
        Source: ns-2: DropTail and REM hold limit − 1 waiting packets.
    Source: Floyd, Gummadi, Shenker 2001.
    """

    kind: ClassVar[str] = "ared"
    min_th: float | str | None = None
    max_th: float | str | None = None
    max_p: float | None = None
    w_q: float | Literal["auto", "rtt"] | None = None
    gentle: bool | None = None
    gentle_tracks_max_p: bool | None = None
    gate: Literal["uniform", "wait", "geometric"] | None = None
    mark_p: float | None = None
    forced: Literal["drop", "mark"] | None = None
    target_delay: str | None = None
    byte_mode: bool | None = None
    byte_scale: Literal["p_b", "p_a"] | None = None
    idle: Literal["exact", "floor"] | None = None
    early_min_queue: float | None = None
    first_passes: bool | None = None
    interval: str | None = None
    alpha: float | None = None
    beta: float | None = None
    target_low: float | None = None
    target_high: float | None = None
    max_p_low: float | Literal["rate"] | None = None
    max_p_high: float | None = None
    adapt_on: Literal["interval", "arrival"] | None = None
    ecn: bool | None = None
    unit: Literal["packets", "bytes"] | None = None
    mean_packet: str | None = None
    count_in_service: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rem(Table):
    """Random exponential marking: a price integrates the queue's and the rate's excess.

    phi: Base of the exponential law; a number in (1, 1000000]; default: 1.001. Source: RARED paper; ns-2.
    gamma: Step of the price; a number in (0, 1000]; default: 0.001. Source: RARED paper; ns-2.
    alpha: Weight of the queue's excess against the rate's; a number in [0, 1000]; default: 0.1. Source: ns-2 (fixed
        there).
    b_star: Target queue length; a number of packets, or a size, for example 40, "40 packets" or "30 kB"; unit:
        packets; default: 20. Source: RARED paper; ns-2: pbo_.
    period: Time between two updates of the price; a time with its unit, for example "40 ms"; default: 2 ms. Source:
        ns-2: pupdtime_.
    mark_at: Where marks are decided when `ecn` is on; one of "arrival", "departure"; default: arrival; with profile
        ns-2: departure. Source: ns-2 marks at departure, and then never drops early.
    ecn: Mark packets that allow it instead of dropping them; true or false; default: false. Source: RFC 3168.
    unit: Whether the queue is measured in packets or bytes; one of "packets", "bytes"; left out: bytes where the
        buffer or a threshold is in bytes, else packets. Source: Floyd, Jacobson 1993, section 8.
    mean_packet: Mean packet size, from which the link's packets per second follow; a size with its unit, for example
        "1000 B"; default: 1000 B. Source: Floyd, Jacobson 1993.
    count_in_service: Whether the packet in transmission counts against the buffer; true or false; default: false;
        with profile ns-2: true. Source: ns-2: DropTail and REM hold limit − 1 waiting packets.
    Source: Athuraliya, Low, Li, Yin 2001.
    """

    kind: ClassVar[str] = "rem"
    phi: float | None = None
    gamma: float | None = None
    alpha: float | None = None
    b_star: float | str | None = None
    period: str | None = None
    mark_at: Literal["arrival", "departure"] | None = None
    ecn: bool | None = None
    unit: Literal["packets", "bytes"] | None = None
    mean_packet: str | None = None
    count_in_service: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pi(Table):
    """Proportional-integral control of the queue length.

    a: Gain of the present error; a number in [0, 1]; unit: 1/packet; default: 1.822e-5. Source: Hollot 2001; ns-2.
    b: Gain of the error one period ago; a number in [0, 1]; unit: 1/packet; default: 1.816e-5. Source: Hollot 2001;
        ns-2.
    w: Updates a second; a number in (0, 1000000]; unit: Hz; default: 170. Source: Hollot 2001; ns-2.
    q_ref: Target queue length; a number of packets, or a size, for example 40, "40 packets" or "30 kB"; unit:
        packets; default: 50. Source: Hollot 2001; ns-2.
    ecn: Mark packets that allow it instead of dropping them; true or false; default: false. Source: RFC 3168.
    unit: Whether the queue is measured in packets or bytes; one of "packets", "bytes"; left out: bytes where the
        buffer or a threshold is in bytes, else packets. Source: Floyd, Jacobson 1993, section 8.
    mean_packet: Mean packet size, from which the link's packets per second follow; a size with its unit, for example
        "1000 B"; default: 1000 B. Source: Floyd, Jacobson 1993.
    count_in_service: Whether the packet in transmission counts against the buffer; true or false; default: false.
        Source: ns-2: DropTail and REM hold limit − 1 waiting packets.
    Source: Hollot, Misra, Towsley, Gong 2001.
    """

    kind: ClassVar[str] = "pi"
    a: float | None = None
    b: float | None = None
    w: float | None = None
    q_ref: float | str | None = None
    ecn: bool | None = None
    unit: Literal["packets", "bytes"] | None = None
    mean_packet: str | None = None
    count_in_service: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ftp(Table):
    """Long-lived TCP transfers.

    bytes: Payload of each flow; a size with its unit, for example "1000 B"; unit: B; left out: without end.
    tcp: The sender's variant; one of "tahoe", "reno", "newreno", "sack", "vegas"; default: reno. Source: the papers'
        experiments use Reno.
    ecn: How the two ends use ECN; one of "off", "classic"; default: off. Source: RFC 3168.
    segment: Payload of a full segment; a size with its unit, for example "1000 B"; default: 1000 B. Source: the
        papers' packets.
    header: Header bytes that the wire counts on a data segment; an ACK and a SYN are 40 B; a size with its unit, for
        example "1000 B"; left out: the scenario's `overhead` (40 B). Source: IPv4 and TCP without options.
    window: The receiver's window: at most this much is outstanding; a whole number in [1, 268435456]; unit: segments;
        default: 1000; with profile ns-2: 20. Source: ns-2: window_.
    delayed_ack: Acknowledge every second segment, or after `delayed_ack_timeout`; true or false; default: false.
        Source: RFC 1122 4.2.3.2; the papers do without.
    delayed_ack_timeout: How long a delayed ACK waits for a second segment; a time with its unit, for example "40 ms";
        default: 100 ms. Source: RFC 5681 4.2: at most 500 ms; ns-2: 100 ms.
    min_rto: Lower bound of the retransmission timeout, before back-off; a time with its unit, for example "40 ms";
        default: 1 s; with profile ns-2: 200 ms. Source: RFC 6298 (2.4).
    max_rto: Upper bound of the retransmission timeout; a time with its unit, for example "40 ms"; default: 60 s.
        Source: RFC 6298 (2.5).
    initial_rto: Timeout before the first round-trip sample; a time with its unit, for example "40 ms"; default: 1 s;
        with profile ns-2: 3 s. Source: RFC 6298 (2.1).
    tick: Granularity of the clock that measures round trips; its phase is random; a time with its unit, for example
        "40 ms"; default: 1 ms; with profile ns-2: 10 ms. Source: RFC 6298 (2): clock granularity G.
    rtt_clock: Whether round trips are measured exactly, or in whole ticks with integer arithmetic; one of "exact",
        "ticks"; default: exact; with profile ns-2: ticks. Source: RFC 6298; ns-2 and 4.4BSD count ticks in integers.
    initial_window: Congestion window after the handshake; a whole number in [1, 1000]; unit: segments; default: 2.
        Source: RFC 2581; ns-2: windowInit_ 2 (RFC 6928: 10).
    initial_ssthresh: Slow-start threshold at the start; a number in [1, 1000000000]; unit: segments; left out: no
        limit; under profile ns-2 the window. Source: RFC 5681 3.1: arbitrarily high.
    limited_transmit: Send a new segment on the first and second duplicate ACK; true or false; default: true. Source:
        RFC 3042.
    send_overhead: Each transmission waits a random time up to this, against phase effects; a time with its unit, for
        example "40 ms"; default: 0 s. Source: ns-2: overhead_.
    cwnd_floor: The congestion window never goes below this; a number in [0, 1000]; unit: segments; default: 1; with
        profile ns-2: 0. Source: RFC 3168 6.1.2; ns-2 has no floor after ECN cuts.
    ssthresh_from: What a cut halves: the data outstanding, or the window in force, rounded down to whole segments;
        one of "flight", "window"; default: flight; with profile ns-2: window. Source: RFC 5681 (4): FlightSize; ns-2:
        min(cwnd, window).
    growth: Whether growth counts the bytes that an ACK covers (at most one segment) or one step for each ACK; one of
        "bytes", "acks"; default: bytes; with profile ns-2: acks. Source: RFC 5681 3.1 (min(N, SMSS)); ns-2 takes one
        step an ACK.
    window_validation: Grow cwnd only while it, not the receiver or the application, limits sending; true or false;
        default: true; with profile ns-2: false. Source: RFC 7661 4.1, RFC 5681 4.1; ns-2 lets cwnd grow without a
        cap.
    go_back_n: After a timeout send everything outstanding again from the first hole; false: only what no SACK has
        reported (variant sack); true or false; default: true; with profile ns-2: true. Source: ns-2; 4.4BSD.
    loss_recovery: Recovery's book-keeping: the RFCs', or ns-2's (bugfix rule, impatient partial ACKs, pipe of SACK);
        one of "rfc", "ns-2"; default: rfc; with profile ns-2: ns-2. Source: RFC 6582, RFC 6675; ns-2 2.35.
    retransmit_ect: Whether retransmissions are ECN-capable; true or false; default: false; with profile ns-2: true.
        Source: RFC 3168 6.1.5.
    ecn_across_connections: Whether successive connections of the same two ends (web) inherit the receiver's echo and
        the sender's CWR; true or false; default: false; with profile ns-2: true. Source: ns-2: a sink's echo and a
        sender's CWR outlive a reset.
    handshake: Open with SYN and SYN-ACK; false: the first data segment takes their place; true or false; default:
        true. Source: RFC 9293; ns-2's Vegas has none.
    whole_segments: Round a byte count up to whole segments; true or false; default: false; with profile ns-2: true.
        Source: ns-2 counts packets.
    alpha: Vegas grows below this many segments queued; a number in [0, 1000000]; unit: segments; default: 2; with
        profile ns-2: 1. Source: Brakmo 1994.
    beta: Vegas shrinks above this many segments queued; a number in [0, 1000000]; unit: segments; default: 4; with
        profile ns-2: 3. Source: Brakmo 1994.
    gamma: Vegas leaves slow start above this many segments queued; a number in (0, 1000000]; unit: segments; default:
        1. Source: Brakmo 1994.
    name: What tables and figures call the group; a text; left out: its kind.
    flows: Flows of the group (web: sessions, where `sessions` is left out); a whole number in [1, 10000000]; default:
        1.
    start: When each flow starts; a time, { uniform = [a, b] } or { every = d, from = t }, for example { uniform = ["0
        s", "0.1 s"] }; default: 0 s.
    stop: When all flows stop; a time with its unit, for example "40 ms"; left out: never.
    direction: Whether data go from the first router to the last or back; not in a graph; one of "forward", "reverse";
        left out: forward, or as `from` and `to` say.
    from_: Router at which the data enter: "R0", "R1" …, in a graph its name; a text; left out: the first router
        (reverse: the last); required in a graph.
    to: Router at which the data leave; a text; left out: the last router (reverse: the first); required in a graph.
    class_: Priority class of the group's data; a whole number in [0, 63]; default: 0. Source: RFC 2474: DSCP.
    access_delay: Delay of this group's access links, instead of `topology.access.delay`; a time, { uniform = [a, b] }
        or { spread = [a, b] }, for example { spread = ["2 ms", "27 ms"] }; left out: the topology's.
    Source: ns-2: Application/FTP.
    """

    kind: ClassVar[str] = "ftp"
    bytes: str | None = None
    tcp: Literal["tahoe", "reno", "newreno", "sack", "vegas"] | None = None
    ecn: Literal["off", "classic"] | None = None
    segment: str | None = None
    header: str | None = None
    window: int | None = None
    delayed_ack: bool | None = None
    delayed_ack_timeout: str | None = None
    min_rto: str | None = None
    max_rto: str | None = None
    initial_rto: str | None = None
    tick: str | None = None
    rtt_clock: Literal["exact", "ticks"] | None = None
    initial_window: int | None = None
    initial_ssthresh: float | None = None
    limited_transmit: bool | None = None
    send_overhead: str | None = None
    cwnd_floor: float | None = None
    ssthresh_from: Literal["flight", "window"] | None = None
    growth: Literal["bytes", "acks"] | None = None
    window_validation: bool | None = None
    go_back_n: bool | None = None
    loss_recovery: Literal["rfc", "ns-2"] | None = None
    retransmit_ect: bool | None = None
    ecn_across_connections: bool | None = None
    handshake: bool | None = None
    whole_segments: bool | None = None
    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None
    name: str | None = None
    flows: int | None = None
    start: str | Spec | None = None
    stop: str | None = None
    direction: Literal["forward", "reverse"] | None = None
    from_: str | None = None
    to: str | None = None
    class_: int | None = None
    access_delay: str | Spec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Web(Table):
    """Sessions of pages: each object is a TCP connection of its own.

    sessions: Sessions, each of which fetches page after page; a whole number in [1, 10000000]; left out: `flows`.
    pairs: Pairs of hosts that the sessions share: session i is on pair i mod pairs. The server is on the left; a
        whole number in [1, 10000000]; left out: one a session.
    object: Size of an object; a distribution, for example { pareto = { shape = 1.5, mean = "12 kB", max = "500 kB" }
        }, { exponential = "12 kB" } or { constant = "12 kB" }; default: { pareto = { shape = 1.5, mean = "12 kB", max
        = "500 kB" } }. Source: the reference runs in ns-2.
    objects_per_page: Objects of a page, fetched one after the other; a whole number in [1, 1000000]; default: 1.
    think: Time from the end of a page to the start of the next; a distribution, for example { pareto = { shape = 1.5,
        mean = "1 s" } }, { exponential = "1 s" } or { constant = "1 s" }; default: { exponential = "1 s" }. Source:
        the reference runs in ns-2.
    inter_object: Time between two objects of a page; a distribution, for example { pareto = { shape = 1.5, mean = "1
        s" } }, { exponential = "1 s" } or { constant = "1 s" }; default: { constant = "0 s" }.
    tcp: The sender's variant; one of "tahoe", "reno", "newreno", "sack", "vegas"; default: reno. Source: the papers'
        experiments use Reno.
    ecn: How the two ends use ECN; one of "off", "classic"; default: off. Source: RFC 3168.
    segment: Payload of a full segment; a size with its unit, for example "1000 B"; default: 1000 B. Source: the
        papers' packets.
    header: Header bytes that the wire counts on a data segment; an ACK and a SYN are 40 B; a size with its unit, for
        example "1000 B"; left out: the scenario's `overhead` (40 B). Source: IPv4 and TCP without options.
    window: The receiver's window: at most this much is outstanding; a whole number in [1, 268435456]; unit: segments;
        default: 1000; with profile ns-2: 20. Source: ns-2: window_.
    delayed_ack: Acknowledge every second segment, or after `delayed_ack_timeout`; true or false; default: false.
        Source: RFC 1122 4.2.3.2; the papers do without.
    delayed_ack_timeout: How long a delayed ACK waits for a second segment; a time with its unit, for example "40 ms";
        default: 100 ms. Source: RFC 5681 4.2: at most 500 ms; ns-2: 100 ms.
    min_rto: Lower bound of the retransmission timeout, before back-off; a time with its unit, for example "40 ms";
        default: 1 s; with profile ns-2: 200 ms. Source: RFC 6298 (2.4).
    max_rto: Upper bound of the retransmission timeout; a time with its unit, for example "40 ms"; default: 60 s.
        Source: RFC 6298 (2.5).
    initial_rto: Timeout before the first round-trip sample; a time with its unit, for example "40 ms"; default: 1 s;
        with profile ns-2: 3 s. Source: RFC 6298 (2.1).
    tick: Granularity of the clock that measures round trips; its phase is random; a time with its unit, for example
        "40 ms"; default: 1 ms; with profile ns-2: 10 ms. Source: RFC 6298 (2): clock granularity G.
    rtt_clock: Whether round trips are measured exactly, or in whole ticks with integer arithmetic; one of "exact",
        "ticks"; default: exact; with profile ns-2: ticks. Source: RFC 6298; ns-2 and 4.4BSD count ticks in integers.
    initial_window: Congestion window after the handshake; a whole number in [1, 1000]; unit: segments; default: 2.
        Source: RFC 2581; ns-2: windowInit_ 2 (RFC 6928: 10).
    initial_ssthresh: Slow-start threshold at the start; a number in [1, 1000000000]; unit: segments; left out: no
        limit; under profile ns-2 the window. Source: RFC 5681 3.1: arbitrarily high.
    limited_transmit: Send a new segment on the first and second duplicate ACK; true or false; default: true. Source:
        RFC 3042.
    send_overhead: Each transmission waits a random time up to this, against phase effects; a time with its unit, for
        example "40 ms"; default: 0 s. Source: ns-2: overhead_.
    cwnd_floor: The congestion window never goes below this; a number in [0, 1000]; unit: segments; default: 1; with
        profile ns-2: 0. Source: RFC 3168 6.1.2; ns-2 has no floor after ECN cuts.
    ssthresh_from: What a cut halves: the data outstanding, or the window in force, rounded down to whole segments;
        one of "flight", "window"; default: flight; with profile ns-2: window. Source: RFC 5681 (4): FlightSize; ns-2:
        min(cwnd, window).
    growth: Whether growth counts the bytes that an ACK covers (at most one segment) or one step for each ACK; one of
        "bytes", "acks"; default: bytes; with profile ns-2: acks. Source: RFC 5681 3.1 (min(N, SMSS)); ns-2 takes one
        step an ACK.
    window_validation: Grow cwnd only while it, not the receiver or the application, limits sending; true or false;
        default: true; with profile ns-2: false. Source: RFC 7661 4.1, RFC 5681 4.1; ns-2 lets cwnd grow without a
        cap.
    go_back_n: After a timeout send everything outstanding again from the first hole; false: only what no SACK has
        reported (variant sack); true or false; default: true; with profile ns-2: true. Source: ns-2; 4.4BSD.
    loss_recovery: Recovery's book-keeping: the RFCs', or ns-2's (bugfix rule, impatient partial ACKs, pipe of SACK);
        one of "rfc", "ns-2"; default: rfc; with profile ns-2: ns-2. Source: RFC 6582, RFC 6675; ns-2 2.35.
    retransmit_ect: Whether retransmissions are ECN-capable; true or false; default: false; with profile ns-2: true.
        Source: RFC 3168 6.1.5.
    ecn_across_connections: Whether successive connections of the same two ends (web) inherit the receiver's echo and
        the sender's CWR; true or false; default: false; with profile ns-2: true. Source: ns-2: a sink's echo and a
        sender's CWR outlive a reset.
    handshake: Open with SYN and SYN-ACK; false: the first data segment takes their place; true or false; default:
        true. Source: RFC 9293; ns-2's Vegas has none.
    whole_segments: Round a byte count up to whole segments; true or false; default: false; with profile ns-2: true.
        Source: ns-2 counts packets.
    alpha: Vegas grows below this many segments queued; a number in [0, 1000000]; unit: segments; default: 2; with
        profile ns-2: 1. Source: Brakmo 1994.
    beta: Vegas shrinks above this many segments queued; a number in [0, 1000000]; unit: segments; default: 4; with
        profile ns-2: 3. Source: Brakmo 1994.
    gamma: Vegas leaves slow start above this many segments queued; a number in (0, 1000000]; unit: segments; default:
        1. Source: Brakmo 1994.
    name: What tables and figures call the group; a text; left out: its kind.
    flows: Flows of the group (web: sessions, where `sessions` is left out); a whole number in [1, 10000000]; default:
        1.
    start: When each flow starts; a time, { uniform = [a, b] } or { every = d, from = t }, for example { uniform = ["0
        s", "0.1 s"] }; default: 0 s.
    stop: When all flows stop; a time with its unit, for example "40 ms"; left out: never.
    direction: Whether data go from the first router to the last or back; not in a graph; one of "forward", "reverse";
        left out: forward, or as `from` and `to` say.
    from_: Router at which the data enter: "R0", "R1" …, in a graph its name; a text; left out: the first router
        (reverse: the last); required in a graph.
    to: Router at which the data leave; a text; left out: the last router (reverse: the first); required in a graph.
    class_: Priority class of the group's data; a whole number in [0, 63]; default: 0. Source: RFC 2474: DSCP.
    access_delay: Delay of this group's access links, instead of `topology.access.delay`; a time, { uniform = [a, b] }
        or { spread = [a, b] }, for example { spread = ["2 ms", "27 ms"] }; left out: the topology's.
    Source: ns-2: web traffic; RARED paper, section 4.
    """

    kind: ClassVar[str] = "web"
    sessions: int | None = None
    pairs: int | None = None
    object: Spec | None = None
    objects_per_page: int | None = None
    think: Spec | None = None
    inter_object: Spec | None = None
    tcp: Literal["tahoe", "reno", "newreno", "sack", "vegas"] | None = None
    ecn: Literal["off", "classic"] | None = None
    segment: str | None = None
    header: str | None = None
    window: int | None = None
    delayed_ack: bool | None = None
    delayed_ack_timeout: str | None = None
    min_rto: str | None = None
    max_rto: str | None = None
    initial_rto: str | None = None
    tick: str | None = None
    rtt_clock: Literal["exact", "ticks"] | None = None
    initial_window: int | None = None
    initial_ssthresh: float | None = None
    limited_transmit: bool | None = None
    send_overhead: str | None = None
    cwnd_floor: float | None = None
    ssthresh_from: Literal["flight", "window"] | None = None
    growth: Literal["bytes", "acks"] | None = None
    window_validation: bool | None = None
    go_back_n: bool | None = None
    loss_recovery: Literal["rfc", "ns-2"] | None = None
    retransmit_ect: bool | None = None
    ecn_across_connections: bool | None = None
    handshake: bool | None = None
    whole_segments: bool | None = None
    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None
    name: str | None = None
    flows: int | None = None
    start: str | Spec | None = None
    stop: str | None = None
    direction: Literal["forward", "reverse"] | None = None
    from_: str | None = None
    to: str | None = None
    class_: int | None = None
    access_delay: str | Spec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cbr(Table):
    """Datagrams at a constant rate.

    rate: Rate of each flow (onoff: while on), counted on the wire; a rate with its unit, for example "1.5 Mbit/s";
        required.
    packet: Size of a packet on the wire; a size with its unit, for example "1000 B"; default: 1000 B. Source: the
        papers' packets.
    jitter: Each gap between two packets (onoff: of one on-period) is multiplied by 1 + U(−jitter, jitter); a number
        in [0, 1]; default: 0. Source: ns-2: random_ is 0.5.
    name: What tables and figures call the group; a text; left out: its kind.
    flows: Flows of the group (web: sessions, where `sessions` is left out); a whole number in [1, 10000000]; default:
        1.
    start: When each flow starts; a time, { uniform = [a, b] } or { every = d, from = t }, for example { uniform = ["0
        s", "0.1 s"] }; default: 0 s.
    stop: When all flows stop; a time with its unit, for example "40 ms"; left out: never.
    direction: Whether data go from the first router to the last or back; not in a graph; one of "forward", "reverse";
        left out: forward, or as `from` and `to` say.
    from_: Router at which the data enter: "R0", "R1" …, in a graph its name; a text; left out: the first router
        (reverse: the last); required in a graph.
    to: Router at which the data leave; a text; left out: the last router (reverse: the first); required in a graph.
    class_: Priority class of the group's data; a whole number in [0, 63]; default: 0. Source: RFC 2474: DSCP.
    access_delay: Delay of this group's access links, instead of `topology.access.delay`; a time, { uniform = [a, b] }
        or { spread = [a, b] }, for example { spread = ["2 ms", "27 ms"] }; left out: the topology's.
    Source: ns-2: Application/Traffic/CBR.
    """

    kind: ClassVar[str] = "cbr"
    rate: str
    packet: str | None = None
    jitter: float | None = None
    name: str | None = None
    flows: int | None = None
    start: str | Spec | None = None
    stop: str | None = None
    direction: Literal["forward", "reverse"] | None = None
    from_: str | None = None
    to: str | None = None
    class_: int | None = None
    access_delay: str | Spec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Poisson(Table):
    """Datagrams with exponential gaps.

    rate: Rate of each flow (onoff: while on), counted on the wire; a rate with its unit, for example "1.5 Mbit/s";
        required.
    packet: Size of a packet on the wire; a size with its unit, for example "1000 B"; default: 1000 B. Source: the
        papers' packets.
    jitter: Each gap between two packets (onoff: of one on-period) is multiplied by 1 + U(−jitter, jitter); a number
        in [0, 1]; default: 0. Source: ns-2: random_ is 0.5.
    name: What tables and figures call the group; a text; left out: its kind.
    flows: Flows of the group (web: sessions, where `sessions` is left out); a whole number in [1, 10000000]; default:
        1.
    start: When each flow starts; a time, { uniform = [a, b] } or { every = d, from = t }, for example { uniform = ["0
        s", "0.1 s"] }; default: 0 s.
    stop: When all flows stop; a time with its unit, for example "40 ms"; left out: never.
    direction: Whether data go from the first router to the last or back; not in a graph; one of "forward", "reverse";
        left out: forward, or as `from` and `to` say.
    from_: Router at which the data enter: "R0", "R1" …, in a graph its name; a text; left out: the first router
        (reverse: the last); required in a graph.
    to: Router at which the data leave; a text; left out: the last router (reverse: the first); required in a graph.
    class_: Priority class of the group's data; a whole number in [0, 63]; default: 0. Source: RFC 2474: DSCP.
    access_delay: Delay of this group's access links, instead of `topology.access.delay`; a time, { uniform = [a, b] }
        or { spread = [a, b] }, for example { spread = ["2 ms", "27 ms"] }; left out: the topology's.
    Source: ns-2: exponential source without burst time.
    """

    kind: ClassVar[str] = "poisson"
    rate: str
    packet: str | None = None
    jitter: float | None = None
    name: str | None = None
    flows: int | None = None
    start: str | Spec | None = None
    stop: str | None = None
    direction: Literal["forward", "reverse"] | None = None
    from_: str | None = None
    to: str | None = None
    class_: int | None = None
    access_delay: str | Spec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OnOff(Table):
    """Datagrams at a constant rate during on-periods, silence between.

    rate: Rate of each flow (onoff: while on), counted on the wire; a rate with its unit, for example "1.5 Mbit/s";
        required.
    packet: Size of a packet on the wire; a size with its unit, for example "1000 B"; default: 1000 B. Source: the
        papers' packets.
    jitter: Each gap between two packets (onoff: of one on-period) is multiplied by 1 + U(−jitter, jitter); a number
        in [0, 1]; default: 0. Source: ns-2: random_ is 0.5.
    on: Length of an on-period; a distribution, for example { pareto = { shape = 1.5, mean = "1 s" } }, { exponential
        = "1 s" } or { constant = "1 s" }; default: { exponential = "0.5 s" }. Source: ns-2: burst_time_.
    off: Length of an off-period; a distribution, for example { pareto = { shape = 1.5, mean = "1 s" } }, {
        exponential = "1 s" } or { constant = "1 s" }; default: { exponential = "0.5 s" }. Source: ns-2: idle_time_.
    name: What tables and figures call the group; a text; left out: its kind.
    flows: Flows of the group (web: sessions, where `sessions` is left out); a whole number in [1, 10000000]; default:
        1.
    start: When each flow starts; a time, { uniform = [a, b] } or { every = d, from = t }, for example { uniform = ["0
        s", "0.1 s"] }; default: 0 s.
    stop: When all flows stop; a time with its unit, for example "40 ms"; left out: never.
    direction: Whether data go from the first router to the last or back; not in a graph; one of "forward", "reverse";
        left out: forward, or as `from` and `to` say.
    from_: Router at which the data enter: "R0", "R1" …, in a graph its name; a text; left out: the first router
        (reverse: the last); required in a graph.
    to: Router at which the data leave; a text; left out: the last router (reverse: the first); required in a graph.
    class_: Priority class of the group's data; a whole number in [0, 63]; default: 0. Source: RFC 2474: DSCP.
    access_delay: Delay of this group's access links, instead of `topology.access.delay`; a time, { uniform = [a, b] }
        or { spread = [a, b] }, for example { spread = ["2 ms", "27 ms"] }; left out: the topology's.
    Source: ns-2: Application/Traffic/Exponential, /Pareto.
    """

    kind: ClassVar[str] = "onoff"
    rate: str
    packet: str | None = None
    jitter: float | None = None
    on: Spec | None = None
    off: Spec | None = None
    name: str | None = None
    flows: int | None = None
    start: str | Spec | None = None
    stop: str | None = None
    direction: Literal["forward", "reverse"] | None = None
    from_: str | None = None
    to: str | None = None
    class_: int | None = None
    access_delay: str | Spec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay(Table):
    """Datagrams at the times and with the sizes that a file holds; each flow replays it from its own start.

    file: A CSV file with the columns t_s, bytes (seconds from the flow's start, ascending, and the size on the wire;
        a line with these names may come first), or a capture (pcap; original lengths, times from the earliest packet
        on). Its path is relative to the scenario file; a text; required.
    hash: FNV-1a (64 bit, hexadecimal) of the file's content; another content is an error; a text; left out: that of
        the file.
    name: What tables and figures call the group; a text; left out: its kind.
    flows: Flows of the group (web: sessions, where `sessions` is left out); a whole number in [1, 10000000]; default:
        1.
    start: When each flow starts; a time, { uniform = [a, b] } or { every = d, from = t }, for example { uniform = ["0
        s", "0.1 s"] }; default: 0 s.
    stop: When all flows stop; a time with its unit, for example "40 ms"; left out: never.
    direction: Whether data go from the first router to the last or back; not in a graph; one of "forward", "reverse";
        left out: forward, or as `from` and `to` say.
    from_: Router at which the data enter: "R0", "R1" …, in a graph its name; a text; left out: the first router
        (reverse: the last); required in a graph.
    to: Router at which the data leave; a text; left out: the last router (reverse: the first); required in a graph.
    class_: Priority class of the group's data; a whole number in [0, 63]; default: 0. Source: RFC 2474: DSCP.
    access_delay: Delay of this group's access links, instead of `topology.access.delay`; a time, { uniform = [a, b] }
        or { spread = [a, b] }, for example { spread = ["2 ms", "27 ms"] }; left out: the topology's.
    Source: ns-2: Application/Traffic/Trace.
    """

    kind: ClassVar[str] = "replay"
    file: str
    hash: str | None = None
    name: str | None = None
    flows: int | None = None
    start: str | Spec | None = None
    stop: str | None = None
    direction: Literal["forward", "reverse"] | None = None
    from_: str | None = None
    to: str | None = None
    class_: int | None = None
    access_delay: str | Spec | None = None
