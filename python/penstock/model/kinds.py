"""The tables of a scenario as Python classes: disciplines, traffic, topology.

Made by `tools/generate.py` from the declarations in Rust; `make generate` writes it again. Every
field that is not said to be required may be left out: then its default or automatic value holds. A
quantity is text with its unit. A class whose name begins with an underscore has what several kinds
share; their docstrings get its keys when they are made (`Table`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from penstock.model.table import Table

#: A value of several parts: `{"spread": ["2 ms", "27 ms"]}`, `{"exponential": "12 kB"}`.
Spec = Mapping[str, Any]

__all__ = [
    "Access",
    "Afd",
    "Amecn",
    "Ared",
    "Avq",
    "Bernoulli",
    "Blue",
    "Cake",
    "Cbr",
    "Choke",
    "CoDel",
    "Cobalt",
    "Custom",
    "DocsisPie",
    "DropTail",
    "DtRed",
    "Dualpi2",
    "Dumbbell",
    "FengAred",
    "FqCobalt",
    "FqCodel",
    "FqPie",
    "Ftp",
    "Graph",
    "GraphLink",
    "Link",
    "Mecn",
    "Nlred",
    "Node",
    "Nred",
    "OnOff",
    "ParkingLot",
    "PdtRed",
    "Pi",
    "Pi2",
    "Pie",
    "Poisson",
    "Rared",
    "Red",
    "RedAt",
    "Rem",
    "Replay",
    "Sfb",
    "Sfq",
    "Step",
    "Video",
    "Voip",
    "Web",
    "Wred",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Table):
    """A link between routers, and the queue in front of it.

    rate: Rate of the link; beside a mahimahi trace only what disciplines take it to be; a rate with its unit, for
        example "1.5 Mbit/s"; left out: required; with a file of the rate over time its mean.
    delay: Propagation delay of the link; a time with its unit, for example "40 ms"; required.
    buffer: What may wait in front of the link; a number of packets, or a size, for example 40, "40 packets" or "30
        kB"; default: 50 packets. Source: ns-2: limit_ 50.
    reverse_rate: Rate of the opposite direction; a rate with its unit, for example "1.5 Mbit/s"; left out: as
        forward; with a file of the rate over time its mean.
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
    bleach: Whether the wire clears the ECN field of forward packets, after the queue, as some routers do: marks that
        were set before do not arrive, and later queues find no packet capable; true or false; default: false. Source:
        RFC 9768 3.2.2.3.
    reverse_bleach: The same for packets of the opposite direction; true or false; default: false.
    schedule: Steps of the forward rate over time ("0 bit/s" is a link that is down); or rates that take turns from
        time zero on; or a file with a step in each line, seconds and Mbit/s: times count from the first line's, each
        rate holds until the next line's, the last one as long as the one before it, and then the file begins again;
        or a mahimahi trace, a file with a line for each opportunity to send up to 1500 B: its time in milliseconds,
        whole and ascending. After the last it begins again. Packets that wait share an opportunity or take several;
        one that arrives at its very instant is too late, and no packet counts as in service. Paths are relative to
        the scenario file; a list of steps ascending in time, for example [{ at = "10 s", rate = "1 Mbit/s" }], rates
        that take turns, { cycle = ["9 Mbit/s", "1 Mbit/s"], every = "1 s" }, a file with seconds and Mbit/s in each
        line, { steps = "file.txt" }, or a mahimahi trace, { mahimahi = "file.trace" } or "file.trace"; left out: the
        rate never changes. Source: mahimahi (Netravali et al. 2015): link_queue.cc.
    reverse_schedule: The same for the opposite direction; a list of steps ascending in time, for example [{ at = "10
        s", rate = "1 Mbit/s" }], rates that take turns, { cycle = ["9 Mbit/s", "1 Mbit/s"], every = "1 s" }, a file
        with seconds and Mbit/s in each line, { steps = "file.txt" }, or a mahimahi trace, { mahimahi = "file.trace" }
        or "file.trace"; left out: the rate never changes.
    jitter: What the delay of each forward packet is longer than `delay`, drawn for each of them; a distribution, for
        example { pareto = { shape = 1.5, mean = "1 s" } }, { exponential = "1 s" }, { constant = "1 s" }, { uniform =
        ["1 s", "2 s"] } or { empirical = [["1 ms", 0.5], ["5 ms", 1]] }; left out: none. Source: tc-netem(8).
    reverse_jitter: The same for packets of the opposite direction; a distribution, for example { pareto = { shape =
        1.5, mean = "1 s" } }, { exponential = "1 s" }, { constant = "1 s" }, { uniform = ["1 s", "2 s"] } or {
        empirical = [["1 ms", 0.5], ["5 ms", 1]] }; left out: none.
    reorder: Whether a packet overtakes those before it where its delay is so much less, in either direction, as with
        netem. Otherwise it arrives behind them; true or false; default: false. Source: tc-netem(8).
    overhead: What the line adds to each packet, in both directions: at most "256 B". The link's rate, its throughput
        and its utilization are of what is on the wire; buffers and disciplines count packets as they are; a size with
        its unit, for example "1000 B"; default: 0 B. Source: tc-stab(8).
    mpu: The least that a packet takes on the line, with its overhead: at most "256 B"; a size with its unit, for
        example "1000 B"; default: 0 B. Source: tc-stab(8).
    framing: How the line cuts up what it sends: ATM into cells of 53 bytes with 48 of data, the last one padded; PTM
        into 65 bytes for each 64; one of "none", "atm", "ptm"; default: none. Source: ITU-T I.363.5 (AAL5); ITU-T
        G.992.3, annex N.
    shaped: A shaper stands in front of the line and holds the queue, as SQM does it: at a rate, or at a share of the
        line's, "95 %". The discipline and `buffer` are the shaper's. Behind it stands the modem, a link of its own in
        the results ("bottleneck.modem") with a FIFO and what else is said of the line: rate, schedule, loss; a text;
        left out: no shaper. Source: OpenWrt: SQM.
    reverse_shaped: The same for the opposite direction; a share is one of that direction's rate; a text; left out: no
        shaper.
    shaper_burst: What a shaper lets go at once after it has been idle, as time at its rate; a time with its unit, for
        example "40 ms"; left out: 1 ms, at least 1514 B. Source: OpenWrt: sqm-scripts, a burst of 1 ms.
    shaper_framed: Whether a shaper counts what a packet takes on the line. Otherwise it counts the packet alone:
        nobody has told it of `overhead`, `mpu` and `framing`; true or false; default: true.
    modem_buffer: What may wait at the modem, behind a shaper; a number of packets, or a size, for example 40, "40
        packets" or "30 kB"; default: 1000 packets.
    """

    rate: str | None = None
    delay: str
    buffer: float | str | None = None
    reverse_rate: str | None = None
    reverse_delay: str | None = None
    reverse_buffer: float | str | None = None
    loss: float | Spec | None = None
    reverse_loss: float | Spec | None = None
    bleach: bool | None = None
    reverse_bleach: bool | None = None
    schedule: Sequence[Spec] | Spec | None = None
    reverse_schedule: Sequence[Spec] | Spec | None = None
    jitter: Spec | None = None
    reverse_jitter: Spec | None = None
    reorder: bool | None = None
    overhead: str | None = None
    mpu: str | None = None
    framing: Literal["none", "atm", "ptm"] | None = None
    shaped: str | None = None
    reverse_shaped: str | None = None
    shaper_burst: str | None = None
    shaper_framed: bool | None = None
    modem_buffer: float | str | None = None


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
class GraphLink(Link):
    """A link of a graph, and the queues at its ends.

    aqm: The link's own discipline, forward; left out: the scenario's `aqm`.
    reverse_aqm: The one back; left out: the scenario's `reverse_aqm`.
    from_: Router at which the link begins; a text; required.
    to: Router at which it ends; a text; required.
    cost: What the link adds to the cost of a route, in each direction; a whole number in [1, 1000000]; default: 1.
        Source: ns-2: cost 1, so that routes have the fewest hops.
    one_way: Whether there is no opposite direction; true or false; default: false. Source: ns-2: simplex-link.
    """

    aqm: Table | None = None
    reverse_aqm: Table | None = None
    from_: str
    to: str
    cost: int | None = None
    one_way: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dumbbell(Table):
    """Two routers R0 and R1 with the bottleneck between them; each flow has a host of its own on either side.

    bottleneck: The link between two routers; required.
    access: Links of the hosts on the sources' (left) side; left out: the hosts are the router itself.
    egress: Links of the hosts on the sinks' (right) side. Left out: as access, so that access.delay counts four times
        in a round trip: on both sides, each way.
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
    egress: Links of the hosts on the sinks' (right) side. Left out: as access, so that access.delay counts four times
        in a round trip: on both sides, each way.
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
    egress: Links of the hosts on the sinks' (right) side. Left out: as access, so that access.delay counts four times
        in a round trip: on both sides, each way.
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
class _Discipline(Table):
    """A queue discipline.

    ecn: Mark packets that allow it instead of dropping them; true or false; default: false. Source: RFC 3168.
    unit: Whether the queue is measured in packets or bytes; one of "packets", "bytes"; left out: bytes where the
        buffer or a threshold is in bytes, else packets. Source: Floyd, Jacobson 1993, section 8.
    mean_packet: Mean packet size, from which the link's packets per second follow; a size with its unit, for example
        "1000 B"; default: 1000 B. Source: Floyd, Jacobson 1993.
    count_in_service: Whether the packet in transmission counts against the buffer; true or false; default: false.
        Source: ns-2: DropTail and REM hold limit − 1 waiting packets.
    """

    ecn: bool | None = None
    unit: Literal["packets", "bytes"] | None = None
    mean_packet: str | None = None
    count_in_service: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Averaging(_Discipline):
    """RED and its descendants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Thresholds(_Averaging):
    """Those with two thresholds.

    w_q: Weight of the newest sample in the average; smaller is smoother and slower. "auto": 1 − exp(−1/C); "rtt": 1 −
        exp(−1/(10·R·C)), R = max(100 ms, 3·(delay + 1/C)); a number in (0, 1] or one of "auto", "rtt"; default: auto;
        with profile ns-2: rtt. Source: Floyd, Gummadi, Shenker 2001, section 4; ns-2.
    gate: How signals are spaced at constant p_b: gaps uniform on 1…1/p_b, uniform on 1/p_b…2/p_b, or geometric. drawn
        is uniform too: a signal comes where count·p_b reaches R, drawn from [0, 1) after each one; so a higher p_b
        counts for the packets since then as well; one of "uniform", "wait", "geometric", "drawn"; default: uniform;
        with profile ns-2: wait. Source: Floyd, Jacobson 1993, section 7; ns-2: wait_; Linux: red_action.
    mark_p: Above this p_b a capable packet is dropped all the same; a number in [0, 1]; default: 1; with profile
        ns-2: 0.1. Source: ns-2 since 2002.
    forced: What happens to a capable packet when avg is beyond the end of the ramp; one of "drop", "mark"; default:
        drop. Source: Floyd, Jacobson 1993; Linux marks.
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
    min_th: Average queue below which nothing is signalled; a number of packets, or a size, for example 40, "40
        packets" or "30 kB"; unit: packets; left out: max(5, target_delay·C/2); nred: at most half the buffer. Source:
        Floyd, Gummadi, Shenker 2001, section 5.
    max_th: Average queue at which the ramp reaches max_p; a number of packets, or a size, for example 40, "40
        packets" or "30 kB"; unit: packets; left out: 3·min_th. Source: Floyd, Gummadi, Shenker 2001, section 5.
    target_delay: Queueing delay from which an automatic min_th follows; a time with its unit, for example "40 ms";
        default: 5 ms. Source: Floyd, Gummadi, Shenker 2001, section 5.
    """

    w_q: float | Literal["auto", "rtt"] | None = None
    gate: Literal["uniform", "wait", "geometric", "drawn"] | None = None
    mark_p: float | None = None
    forced: Literal["drop", "mark"] | None = None
    byte_mode: bool | None = None
    byte_scale: Literal["p_b", "p_a"] | None = None
    idle: Literal["exact", "floor"] | None = None
    early_min_queue: float | None = None
    first_passes: bool | None = None
    min_th: float | str | None = None
    max_th: float | str | None = None
    target_delay: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _TwoLevels(_Thresholds):
    """Those with incipient marks.

    mid_th: Average queue from which moderate marks are made; a number of packets, or a size, for example 40, "40
        packets" or "30 kB"; unit: packets; left out: min_th + 0.625·(max_th − min_th), which is 2.25·min_th where
        max_th = 3·min_th. Source: AMECN paper, section 3.3.3.
    p1_max: Ceiling of the incipient ramp, at max_th; a number in [0, 1]; default: 0.1. Source: reading: the paper
        does not say; ns-2's ramp.
    p2_max: Ceiling of the moderate ramp, at max_th; a number in [0, 1]; default: 0.1. Source: reading: the paper does
        not say; ns-2's ramp.
    above_max: Above max_th: drop with a probability that rises from the larger ceiling to 1 at 2·max_th; moderate
        marks with it; or drop everything; one of "gentle-drop", "gentle-mark", "drop"; default: gentle-drop. Source:
        AMECN paper: 2.1 drops all, 3.3.1 speaks of gentle mode.
    codepoints: Table 1's (CE, ECT) as two bits of the header: no congestion ECT(0), incipient ECT(1); or read as the
        field's value: no congestion ECT(1), incipient ECT(0). Moderate is CE; one of "wire", "literal"; default:
        wire. Source: AMECN paper, Table 1; RFC 2481 has ECT as the first bit.
    """

    mid_th: float | str | None = None
    p1_max: float | None = None
    p2_max: float | None = None
    above_max: Literal["gentle-drop", "gentle-mark", "drop"] | None = None
    codepoints: Literal["wire", "literal"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ramp(_Thresholds):
    """Those with one ramp between the thresholds.

    max_p: Signalling probability at max_th (for an adaptive kind: at the start); a number in (0, 1]; default: 0.1.
        Source: Floyd 1997; ns-2: linterm_ 10.
    gentle: Ramp from max_p at max_th to 1 at 2·max_th instead of a step at max_th; true or false; default: true.
        Source: Floyd 2000.
    gentle_tracks_max_p: Whether the gentle part of the ramp starts at the adapted max_p; true or false; default:
        true; with profile ns-2: false. Source: Floyd 2000; ns-2 freezes the slope at the first max_p.
    """

    max_p: float | None = None
    gentle: bool | None = None
    gentle_tracks_max_p: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Adaptive(_Ramp):
    """Those that move max_p as ARED does.

    interval: Time between two adaptations; a time with its unit, for example "40 ms"; default: 0.5 s. Source: Floyd,
        Gummadi, Shenker 2001, Fig. 2; AMECN paper, Fig. 3.
    adapt_on: A timer, or the first arrival after the interval; one of "interval", "arrival"; default: interval; with
        profile ns-2: arrival. Source: Floyd, Gummadi, Shenker 2001: every interval; ns-2: at arrivals.
    target_low: Lower end of the target range, as a fraction of the way from min_th to max_th; a number in [0, 1];
        default: 0.4. Source: Floyd, Gummadi, Shenker 2001, Fig. 2.
    target_high: Upper end of the target range, likewise; a number in [0, 1]; default: 0.6. Source: Floyd, Gummadi,
        Shenker 2001, Fig. 2.
    alpha: Largest increment of max_p; never more than max_p/4; a number in [0, 1]; default: 0.01. Source: Floyd,
        Gummadi, Shenker 2001, Fig. 2: min(0.01, max_p/4).
    beta: Factor of a decrease of max_p; a number in (0, 1]; default: 0.9. Source: Floyd, Gummadi, Shenker 2001, Fig.
        2.
    max_p_low: max_p is not decreased from below this; "rate": min(0.01, 80 kbit/s ÷ the link's rate); a number in [0,
        1] or one of "rate"; default: 0.01; with profile ns-2: rate. Source: Floyd, Gummadi, Shenker 2001, Fig. 2;
        ns-2: bottom_.
    """

    interval: str | None = None
    adapt_on: Literal["interval", "arrival"] | None = None
    target_low: float | None = None
    target_high: float | None = None
    alpha: float | None = None
    beta: float | None = None
    max_p_low: float | Literal["rate"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTail(_Discipline):
    """First in, first out; the arriving packet is dropped when the buffer is full.

    Long TCP flows fill whatever buffer there is, so the buffer sets the delay: 100 packets of 1000 B at 10 Mbit/s are
    80 ms. The link is busy as long as the buffer holds about a bandwidth-delay product. Losses come in bursts, when
    the buffer overflows. All other disciplines are measured against it.

    Delay grows with the buffer. Flows that lose together back off together, and a flow that sends in bursts loses
    more than its share. There is no signal before a loss: with ECN nothing is ever marked.

    count_in_service: Whether the packet in transmission counts against the buffer; true or false; default: false;
        with profile ns-2: true. Source: ns-2: DropTail and REM hold limit − 1 waiting packets.
    Source: ns-2: DropTail.
    """

    kind: ClassVar[str] = "droptail"
    count_in_service: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Red(_Ramp):
    """Random early detection: signals with a probability that ramps up with the average queue.

    Signals begin before the buffer is full, fall on flows in proportion to what they send, and are spread evenly over
    time. The average settles where the ramp's probability is what the flows need, so it rises with their number: the
    thresholds bound the queue, they do not fix it. The average follows the queue with a time constant of 1/(w_q·C),
    one second by default, so a short burst passes without a signal. The gate makes gaps uniform on 1…1/p_b − 1
    packets: at constant p_b it signals about 2·p_b of the packets, not p_b.

    No one setting of w_q, min_th, max_th and max_p suits every load, round-trip time and packet size. A slow average
    lets a sudden load overflow the buffer first, and still signals when the queue has gone; a fast one punishes
    bursts. Thresholds of a few packets cost utilisation. Beyond the ramp capable packets are dropped too, unless
    `forced` is "mark".

    Source: Floyd, Jacobson 1993; gentle: Floyd 2000; ECN: RFC 3168.
    """

    kind: ClassVar[str] = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ared(_Adaptive):
    """Adaptive RED: RED whose max_p follows the average into a target range.

    Whatever the load, the average comes back into the middle fifth of the thresholds: the delay is known in advance,
    and only target_delay is left to choose. Getting there takes time: from max_p 0.01 to 0.5 some 25 s, back down
    some 20 s. Until then it is RED with the old max_p.

    It does not help during a sudden change, only after it. The instantaneous queue still oscillates around the
    average as RED's does. With few flows max_p stands at 0.01 and the average lies below the target; with very many
    it stands at 0.5 and the gentle part takes over. Where every flow is short, max_p never arrives.

    max_p_high: max_p is not increased from above this; a number in (0, 1]; default: 0.5. Source: Floyd, Gummadi,
        Shenker 2001, Fig. 2.
    Source: Floyd, Gummadi, Shenker 2001.
    """

    kind: ClassVar[str] = "ared"
    max_p_high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FengAred(_Ramp):
    """Self-configuring RED: max_p is divided or multiplied when the average crosses a threshold.

    The first self-configuring RED: when the average leaves the thresholds, max_p changes by a large factor, once at
    each crossing. It keeps the average between the thresholds rather than at a point, and finds a new order of
    magnitude of max_p within a few crossings.

    The steps are coarse: the average swings from one threshold to the other, and each swing costs delay or
    utilisation. While it stays above max_th nothing more happens. Neither the paper nor ns-2 bounds max_p; here it
    stays in [0.0001, 1] (a reading), and a queue that starts empty counts as entering from between, so its first
    packet divides max_p once (another).

    increase: Factor of max_p when the average rises above max_th; a number in [1, 1000]; default: 2. Source: Feng
        1999; ns-2: beta_.
    decrease: Divisor of max_p when the average falls below min_th; a number in [1, 1000]; default: 3. Source: Feng
        1999; ns-2: alpha_.
    max_p_low: max_p never falls below this; a number in [0, 1]; default: 0.0001; with profile ns-2: 0. Source: our
        bound; Feng and ns-2 have none.
    max_p_high: max_p never rises above this; "none": it may exceed 1, and the ramp is cut there; a number in [0, 1]
        or one of "none"; default: 1; with profile ns-2: none. Source: our bound; Feng and ns-2 have none.
    Source: Feng, Kandlur, Saha, Shin 1999.
    """

    kind: ClassVar[str] = "feng-ared"
    increase: float | None = None
    decrease: float | None = None
    max_p_low: float | None = None
    max_p_high: float | Literal["none"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blue(_Discipline):
    """One probability, raised when packets are lost and lowered when the link is idle.

    It looks at no queue length, only at losses and idle time, so it needs no averaging and no thresholds. Under a
    lasting load p_m settles between too many losses and an idle link, with little buffer and, with ECN, few losses.
    Every event moves it by d1 = 0.25 % or d2 = 0.025 %, at most ten times a second.

    It is slow: from 0 to 10 % takes 4 s of overflow, and back 40 s of idle link. Between the two events it is
    DropTail with a constant p_m: the queue may stand full or nearly empty for long. The paper leaves open whether a
    link that stays idle lowers p_m again; here it does after every freeze_time (`idle_events`).

    d1: Increment of p_m; above d2; a number in (0, 1]; default: 0.0025. Source: Feng et al. 2001.
    d2: Decrement of p_m; a number in [0, 1]; default: 0.00025. Source: Feng et al. 2001.
    freeze_time: No change of p_m for this long after one; a time with its unit, for example "40 ms"; default: 100 ms.
        Source: Feng et al. 2001.
    limit: L: an arrival that finds more than this waiting raises p_m as a loss does; a number of packets, or a size,
        for example 40, "40 packets" or "30 kB"; unit: packets; left out: none: only a full buffer raises p_m. Source:
        Feng et al. 2001: Q_len > L.
    idle_events: Whether an idle link lowers p_m again after each freeze_time, or only when it falls idle; one of
        "repeat", "once"; default: repeat. Source: left open by Feng et al. 2001.
    Source: Feng, Shin, Kandlur, Saha 2001.
    """

    kind: ClassVar[str] = "blue"
    d1: float | None = None
    d2: float | None = None
    freeze_time: str | None = None
    limit: float | str | None = None
    idle_events: Literal["repeat", "once"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rem(_Discipline):
    """Random exponential marking: a price integrates the queue's and the rate's excess.

    The price integrates, so in steady state the queue stands at b* and the arrivals match the link, however many
    flows there are: the load changes the price and not the queue. Prices of several links add up along a path. The
    figure shows the integrator: a queue held above b* gives a probability that keeps growing.

    The gains fix how fast it is: with γ = 0.001 the price needs seconds to tens of seconds, in which the buffer
    overflows or the queue runs empty. Stability depends on round-trip time and load. The period and α are ns-2's; the
    RARED paper, where the other settings are from, gives neither. Marks at departure are ns-2's too (`mark_at`), and
    then nothing is dropped early at all.

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
    count_in_service: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pi(_Discipline):
    """Proportional-integral control of the queue length.

    The queue settles at q_ref whatever the load, since only there p stands still. a is little more than b: p follows
    the queue's change at once, by a, and its distance from q_ref slowly, by a − b = 6e-8 for each packet at each
    step.

    The gains were designed for one network: 15 Mbit/s of 500 B packets, about 60 flows, 240 ms. On a slower link or
    with fewer flows it takes minutes to find p: with the queue held at 100 packets, 50 above q_ref, p is 0.7 % after
    ten seconds. The target, 50 packets, is a length and not a delay: on a slow link it is much.

    a: Gain of the present error; a number in [0, 1]; unit: 1/packet; default: 1.822e-5. Source: Hollot 2001; ns-2.
    b: Gain of the error one period ago; a number in [0, 1]; unit: 1/packet; default: 1.816e-5. Source: Hollot 2001;
        ns-2.
    w: Updates a second; a number in (0, 1000000]; unit: Hz; default: 170. Source: Hollot 2001; ns-2.
    q_ref: Target queue length; a number of packets, or a size, for example 40, "40 packets" or "30 kB"; unit:
        packets; default: 50. Source: Hollot 2001; ns-2.
    Source: Hollot, Misra, Towsley, Gong 2001.
    """

    kind: ClassVar[str] = "pi"
    a: float | None = None
    b: float | None = None
    w: float | None = None
    q_ref: float | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Avq(_Discipline):
    """Adaptive virtual queue: signals what would overflow a slower link whose rate follows the arrivals.

    The virtual queue belongs to a link a little slower than the real one, so signals come before the real queue has
    grown: it stays short, at a utilisation of γ. What counts is the rate of the arrivals, not the queue; the figure
    therefore runs over the load. Below γ nothing is signalled; above it C̃ falls, and what the virtual link cannot
    carry is signalled.

    With drops instead of marks the dropped packets count as load, and the link carries γ·C less the losses. A load
    above γ·C that does not respond takes C̃ to zero, and then every packet is signalled. α must suit round-trip time
    and load (the paper has a rule); the default is its example. Lengths count in bytes whatever `unit` says.

    gamma: Desired utilisation of the link; a number in (0, 1]; default: 0.98. Source: Kunniyur, Srikant 2001, section
        4.
    alpha: How fast the virtual capacity follows; a number in (0, 1]; unit: 1/s; default: 0.15. Source: Kunniyur,
        Srikant 2001, section 4.
    virtual_buffer: Size of the virtual queue; packets count as many bytes as the mean one; a number of packets, or a
        size, for example 40, "40 packets" or "30 kB"; unit: packets; left out: the link's buffer. Source: Kunniyur,
        Srikant 2001, section 2.
    Source: Kunniyur, Srikant 2001.
    """

    kind: ClassVar[str] = "avq"
    gamma: float | None = None
    alpha: float | None = None
    virtual_buffer: float | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mecn(_TwoLevels):
    """Multi-level ECN: incipient and moderate marks from two ramps, drops beyond them.

    Senders that know two levels (`ecn = "mecn"`) take a fifth off their window for an incipient mark and two fifths
    for a moderate one, instead of half: the windows swing less, so the link stays busy with a shorter queue. Most
    signals at light load are incipient. What is not ECN-capable is dropped where it would be marked, at either level.
    See docs/mecn.md for the end systems and for mixed traffic.

    As in RED the average moves with the load. The paper states neither p1_max nor p2_max (0.1 both, a reading) and
    says two things of the range above max_th: 2.1 drops everything, 3.3.1 speaks of gentle mode (`above_max`). A
    classic ECN flow does not see incipient marks and halves for moderate ones. ECT(1) on the wire is L4S's codepoint:
    both cannot be used on one path.

    ecn: Mark packets that allow it instead of dropping them; true or false; default: true. Source: RFC 3168.
    Source: AMECN paper, section 2.
    """

    kind: ClassVar[str] = "mecn"
    ecn: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Amecn(_TwoLevels):
    """Adaptive MECN: the ceilings of both ramps follow the average into a target range.

    As ARED, the average returns to the middle of the thresholds whatever the load; steps grow with the distance, so
    it is there sooner: the paper shows about 15 s. The target lies below mid_th, so in steady state marks are
    incipient; moderate ones answer a rise in load. One number is to be chosen: target_delay or target_queue.

    The paper contradicts itself: equation (4) has a further factor 0.17 in the increment, against Fig. 3
    (`alpha_scale`); β falls to 0.66 at avg = 0 though the text says 0.83 (`beta_floor`). It does not say which ramp
    P_max is: here both (`adapt`, `p2_over_p1`). At light load P_max stands at its floor, 0.01, and the queue lies
    below the target. Marks cannot push a flow below one packet per round trip: with more flows than the path holds
    packets the queue stays above the target and P_max at its ceiling. `mark_p = 0.2` drops beyond, which mends that
    at the price of losses (penstock reproduce repairs).

    target_queue: Average queue to aim at, from which min_th follows where that is left out; instead of target_delay;
        a number of packets, or a size, for example 40, "40 packets" or "30 kB"; unit: packets; left out: from
        target_delay. Source: AMECN paper, section 3.3.3: target = 2·min_th.
    alpha_scale: A further factor of the increment; a number in (0, 100]; default: 1. Source: AMECN paper: Fig. 3;
        equation (4) has 0.17.
    deadband: Adapt only outside the target range; false: at any distance from its middle; true or false; default:
        true. Source: AMECN paper, Fig. 3: target is a range.
    adapt: Both: p2_max is p2_over_p1·p1_max, whatever it is set to; p1: it stays; one of "both", "p1"; default: both.
        Source: reading: the paper adapts "P_max".
    p2_over_p1: p2_max over p1_max, where both are adapted; a number in (0, 100]; default: 1. Source: reading.
    beta_floor: β is not below this; a number in [0, 1]; left out: none, as equation (3) prints. Source: AMECN paper,
        section 3.3.2: β from 0.83 to 1.
    interval: Time between two adaptations; a time with its unit, for example "40 ms"; default: 0.5 s. Source: Floyd,
        Gummadi, Shenker 2001, Fig. 2; AMECN paper, Fig. 3.
    adapt_on: A timer, or the first arrival after the interval; one of "interval", "arrival"; default: interval; with
        profile ns-2: arrival. Source: Floyd, Gummadi, Shenker 2001: every interval; ns-2: at arrivals.
    ecn: Mark packets that allow it instead of dropping them; true or false; default: true. Source: RFC 3168.
    Source: AMECN paper, section 3.
    """

    kind: ClassVar[str] = "amecn"
    target_queue: float | str | None = None
    alpha_scale: float | None = None
    deadband: bool | None = None
    adapt: Literal["both", "p1"] | None = None
    p2_over_p1: float | None = None
    beta_floor: float | None = None
    interval: str | None = None
    adapt_on: Literal["interval", "arrival"] | None = None
    ecn: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rared(_Adaptive):
    """Rate-aware RED: a high probability while the average climbs fast.

    When a load rises suddenly, RED's average lags. RARED looks at the slope of the average: while it climbs faster
    than 20 packets/s, four packets of five are signalled, and senders slow down before the queue is long. When
    nothing climbs it is RED (or ARED: `base`). In the figure the queue is there from the start. The average climbs at
    first, and where the gap is large enough 80 % are marked after 0.1 s, when RED marks nothing; later it is RED.

    The slope of an average with a time constant of T can exceed slope_th only while q − avg > slope_th·T: with the
    default weight (1 s) at gaps of more than 20 packets. On a fast link 20 packets/s is nothing and every burst is
    hit, on a slow one it is never reached; `slope_th = "auto"` scales with the thresholds (our rule; the paper leaves
    it to future work). Signalling 80 % halves many windows at once: a burst is signalled many times within a round
    trip, before one sender can answer, and the link then stands idle. `climb = "once"` signals once per round trip
    (penstock reproduce repairs). The paper reads as if p = max_p' replaced p_a directly. So it does here, without the
    gate (`climb`).

    slope_th: The average climbs when it rises faster than this; "auto": (max_th − min_th) in half a second; a number
        in [0, 1000000000] or one of "auto"; unit: packets/s; default: 20. Source: RARED paper, section 4; "auto" is
        ours (the paper's future work).
    max_p_climb: The probability while the average climbs; a number in (0, 1]; default: 0.8. Source: RARED paper,
        section 4: max_p'.
    climb: max_p_climb as it stands, an independent coin; or as the ceiling of the ramp, through the gate; or a coin
        that falls only while the queue itself is above max_th and, once it has signalled, not again within R =
        max(100 ms, 3·(delay + 1/C)), while RED goes on; one of "bernoulli", "ramp", "once"; default: bernoulli.
        Source: RARED paper, Fig. 1: p_d ← max_p'; "the maximum drop probability"; once: ours, R as ns-2 guesses a
        round trip.
    slope_of: Whether the average's slope counts, or the queue's; one of "average", "instantaneous"; default: average.
        Source: RARED paper, Fig. 1: average queue occupancy.
    base: What it is when the average does not climb; one of "red", "ared"; default: red. Source: RARED paper: Fig. 1
        has RED; section 5 compares with ARED.
    max_p_high: max_p is not increased from above this; a number in (0, 1]; default: 0.5. Source: Floyd, Gummadi,
        Shenker 2001, Fig. 2.
    Source: RARED paper.
    """

    kind: ClassVar[str] = "rared"
    slope_th: float | Literal["auto"] | None = None
    max_p_climb: float | None = None
    climb: Literal["bernoulli", "ramp", "once"] | None = None
    slope_of: Literal["average", "instantaneous"] | None = None
    base: Literal["red", "ared"] | None = None
    max_p_high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nred(_Thresholds):
    """Nonlinear RED: a power law up to the buffer, whose exponent falls with load.

    One curve from min_th to the full buffer instead of max_p: nearly flat at first, steep towards the end, and with n
    the load decides how flat. At light load (n up to 5) almost nothing is signalled before half the buffer is full;
    under a heavy one n falls to 1, a straight line. Losses are fewer than RED's at the price of a longer queue.

    The profile ends at the buffer: with a large one the queue becomes long, with a small one it is DropTail with
    averaging. n moves only when the average crosses a threshold, one step at a time, so under a steady load it stays
    wherever the start left it. `n_step = "timed"` moves it on a timer (penstock reproduce repairs). The paper gives
    no bounds, start or gate: n in 1…5 from 2 and RED's gate are readings. Between max_th and B nothing bounds the
    delay but the buffer.

    n_min: Smallest exponent; a number in (0, 1000]; default: 1. Source: reading: the paper gives no bound.
    n_max: Largest exponent; a number in (0, 1000]; default: 5. Source: reading: the paper gives no bound.
    n_0: Exponent at the start; a number in (0, 1000]; default: 2. Source: reading: the paper gives no start.
    n_step: How far the exponent moves when the average crosses a threshold. "timed": every half second instead, down
        while the average is above the middle fifth between the thresholds and up while it is below, so far that p in
        their middle changes by a tenth; and up to max_th p is at most the straight line from 0 at min_th; a number in
        (0, 1000] or one of "timed"; default: 1. Source: NRED paper, section 2: n ± 1; timed: ours, after Floyd,
        Gummadi, Shenker 2001, Fig. 2.
    Source: Park, Park, Lim, Choi (NRED paper).
    """

    kind: ClassVar[str] = "nred"
    n_min: float | None = None
    n_max: float | None = None
    n_0: float | None = None
    n_step: float | Literal["timed"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RedAt(_Ramp):
    """RED with adaptive thresholds: both move with the region that the average stays in.

    Under light load the ramp moves to the right, and fewer packets are signalled; under a heavy one it moves to the
    left and gets steeper. Both thresholds reach their bounds within some dozen packets, so in effect it switches
    between three ramps. In the figure, after 10 s, nothing is marked in region a, below min⁺ = 7.5; there the ramp
    jumps to the nominal one, and at max⁻ = 12 to the steeper one.

    The switch is faster than the average that drives it, so at a region's edge the ramp jumps back and forth. The
    paper gives neither bounds nor steps: ±50 % of min_th, ±20 % of max_th, α = 0.1 and β = 0.05 are readings, and so
    is that the ramp becomes a step where bounds overlap and the thresholds meet. Fig. 6 prints region a as below
    min⁺, which covers light and medium load alike; Fig. 5 fits min⁻ better (`region_a`). A hundred times slower
    (`alpha = 0.001`, `beta = 0.0005`) and with `reset = false` it no longer oscillates, and is RED with more loss
    (penstock reproduce repairs).

    min_lo: Lower bound of min_th, min⁻; a number of packets, or a size, for example 40, "40 packets" or "30 kB";
        unit: packets; left out: 0.5·min_th. Source: reading: the paper gives no bound.
    min_hi: Upper bound of min_th, min⁺; a number of packets, or a size, for example 40, "40 packets" or "30 kB";
        unit: packets; left out: 1.5·min_th. Source: reading: the paper gives no bound.
    max_lo: Lower bound of max_th, max⁻; a number of packets, or a size, for example 40, "40 packets" or "30 kB";
        unit: packets; left out: 0.8·max_th, at least min_th. Source: reading: the paper gives no bound.
    max_hi: Upper bound of max_th, max⁺; a number of packets, or a size, for example 40, "40 packets" or "30 kB";
        unit: packets; left out: 1.2·max_th. Source: reading: the paper gives no bound.
    hold: A region acts when it has held for more than this many successive arrivals; its count then starts again; a
        whole number in [0, 1000000]; unit: arrivals; default: 4. Source: RED-AT paper, Fig. 6: cnt > 4.
    region_a: Region a is where the average is below min_hi, or below min_lo; one of "min_plus", "min_minus"; default:
        min_plus. Source: RED-AT paper: Fig. 6 prints min⁺, Fig. 5 fits min⁻.
    reset: Region b returns both thresholds to nominal; false: it leaves them; true or false; default: true. Source:
        RED-AT paper, Fig. 6.
    alpha: Step of min_th, as a fraction of min_hi − min_lo; a number in (0, 1]; default: 0.1. Source: reading: the
        paper says β < α.
    beta: Step of max_th, as a fraction of max_hi − max_lo; a number in (0, 1]; default: 0.05. Source: reading: the
        paper says β < α.
    Source: RED-AT paper, Fig. 6.
    """

    kind: ClassVar[str] = "red-at"
    min_lo: float | str | None = None
    min_hi: float | str | None = None
    max_lo: float | str | None = None
    max_hi: float | str | None = None
    hold: int | None = None
    region_a: Literal["min_plus", "min_minus"] | None = None
    reset: bool | None = None
    alpha: float | None = None
    beta: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DtRed(_Averaging):
    """RED whose thresholds follow the number of flows and the size of their bursts.

    The thresholds make room for one burst of every flow: few smooth flows get a short queue, many or bursty ones a
    long one. At the target max_th grows to the buffer within some intervals, and the ramp is flat.

    The original (Murshed 2005) was not at hand, and the RED-AT paper tells no more than this. How flows and bursts
    are counted, that min_th = n·k, the target (a quarter of the buffer) and when equation (4) acts are readings. As
    printed equation (4) only ever adds; `max_th_rule = "average"` sets instead. Flows are counted by hashing into
    1024 bits, which saturates at some thousands.

    w_q: Weight of the newest sample in the average; smaller is smoother and slower. "auto": 1 − exp(−1/C); "rtt": 1 −
        exp(−1/(10·R·C)), R = max(100 ms, 3·(delay + 1/C)); a number in (0, 1] or one of "auto", "rtt"; default: auto;
        with profile ns-2: rtt. Source: Floyd, Gummadi, Shenker 2001, section 4; ns-2.
    gate: How signals are spaced at constant p_b: gaps uniform on 1…1/p_b, uniform on 1/p_b…2/p_b, or geometric. drawn
        is uniform too: a signal comes where count·p_b reaches R, drawn from [0, 1) after each one; so a higher p_b
        counts for the packets since then as well; one of "uniform", "wait", "geometric", "drawn"; default: uniform;
        with profile ns-2: wait. Source: Floyd, Jacobson 1993, section 7; ns-2: wait_; Linux: red_action.
    mark_p: Above this p_b a capable packet is dropped all the same; a number in [0, 1]; default: 1; with profile
        ns-2: 0.1. Source: ns-2 since 2002.
    forced: What happens to a capable packet when avg is beyond the end of the ramp; one of "drop", "mark"; default:
        drop. Source: Floyd, Jacobson 1993; Linux marks.
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
    min_th: min_th at the start, and its lower bound; max_th is twice min_th until the target is reached; a number of
        packets, or a size, for example 40, "40 packets" or "30 kB"; unit: packets; default: 4. Source: RED-AT paper,
        section 4.3.
    max_p: Signalling probability at max_th (for an adaptive kind: at the start); a number in (0, 1]; default: 0.1.
        Source: Floyd 1997; ns-2: linterm_ 10.
    gentle: Ramp from max_p at max_th to 1 at 2·max_th instead of a step at max_th; true or false; default: true.
        Source: Floyd 2000.
    gentle_tracks_max_p: Whether the gentle part of the ramp starts at the adapted max_p; true or false; default:
        true; with profile ns-2: false. Source: Floyd 2000; ns-2 freezes the slope at the first max_p.
    min_th_target: The highest min_th; while it stands there equation (4) moves max_th; a number of packets, or a
        size, for example 40, "40 packets" or "30 kB"; unit: packets; left out: a quarter of the buffer. Source:
        RED-AT paper, section 4.3: "target"; its value is our reading.
    max_th_rule: At the target: add what equation (4) adds, as printed; or set max_th to the average that is expected
        after the burst, at least 2·min_th; one of "sum", "average"; default: sum. Source: RED-AT paper, equation (4).
    interval: Time between two adaptations; a time with its unit, for example "40 ms"; default: 0.5 s. Source: Floyd,
        Gummadi, Shenker 2001, Fig. 2; AMECN paper, Fig. 3.
    adapt_on: A timer, or the first arrival after the interval; one of "interval", "arrival"; default: interval; with
        profile ns-2: arrival. Source: Floyd, Gummadi, Shenker 2001: every interval; ns-2: at arrivals.
    Source: Murshed 2005, as told by the RED-AT paper, section 4.3.
    """

    kind: ClassVar[str] = "dt-red"
    w_q: float | Literal["auto", "rtt"] | None = None
    gate: Literal["uniform", "wait", "geometric", "drawn"] | None = None
    mark_p: float | None = None
    forced: Literal["drop", "mark"] | None = None
    byte_mode: bool | None = None
    byte_scale: Literal["p_b", "p_a"] | None = None
    idle: Literal["exact", "floor"] | None = None
    early_min_queue: float | None = None
    first_passes: bool | None = None
    min_th: float | str | None = None
    max_p: float | None = None
    gentle: bool | None = None
    gentle_tracks_max_p: bool | None = None
    min_th_target: float | str | None = None
    max_th_rule: Literal["sum", "average"] | None = None
    interval: str | None = None
    adapt_on: Literal["interval", "arrival"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PdtRed(_Averaging):
    """RED with thresholds for each priority class, which move with the unused buffer.

    All classes share one buffer and one average; a higher class has higher thresholds, so under overload the lower
    classes lose first. As the buffer fills, everybody's thresholds fall. Without classes in the traffic all is class
    0: in steady state its ramp runs from an average of a seventh of the buffer to a third, and from half of it
    everything is dropped.

    The original (Sun, Wang 2007) was not at hand. The RED-AT paper says only that thresholds vary with the unused
    buffer and the priority. The rule is the dynamic threshold of shared-memory switches (Choudhury, Hahne 1998), and
    the shares are ours. Thresholds use the queue and the test uses its average, so a burst lowers the ramp before the
    average has moved. Nothing keeps a high class from starving a low one.

    w_q: Weight of the newest sample in the average; smaller is smoother and slower. "auto": 1 − exp(−1/C); "rtt": 1 −
        exp(−1/(10·R·C)), R = max(100 ms, 3·(delay + 1/C)); a number in (0, 1] or one of "auto", "rtt"; default: auto;
        with profile ns-2: rtt. Source: Floyd, Gummadi, Shenker 2001, section 4; ns-2.
    gate: How signals are spaced at constant p_b: gaps uniform on 1…1/p_b, uniform on 1/p_b…2/p_b, or geometric. drawn
        is uniform too: a signal comes where count·p_b reaches R, drawn from [0, 1) after each one; so a higher p_b
        counts for the packets since then as well; one of "uniform", "wait", "geometric", "drawn"; default: uniform;
        with profile ns-2: wait. Source: Floyd, Jacobson 1993, section 7; ns-2: wait_; Linux: red_action.
    mark_p: Above this p_b a capable packet is dropped all the same; a number in [0, 1]; default: 1; with profile
        ns-2: 0.1. Source: ns-2 since 2002.
    forced: What happens to a capable packet when avg is beyond the end of the ramp; one of "drop", "mark"; default:
        drop. Source: Floyd, Jacobson 1993; Linux marks.
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
    max_p: Signalling probability at max_th (for an adaptive kind: at the start); a number in (0, 1]; default: 0.1.
        Source: Floyd 1997; ns-2: linterm_ 10.
    gentle: Ramp from max_p at max_th to 1 at 2·max_th instead of a step at max_th; true or false; default: true.
        Source: Floyd 2000.
    gentle_tracks_max_p: Whether the gentle part of the ramp starts at the adapted max_p; true or false; default:
        true; with profile ns-2: false. Source: Floyd 2000; ns-2 freezes the slope at the first max_p.
    share_low: max_th of class 0 over the unused buffer: while the queue stands its ramp reaches max_p at B·a/(1 + a),
        a third of the buffer; a number in (0, 1000000]; default: 0.5. Source: reading.
    share_high: The same of the highest class, in the limit: four fifths of the buffer; a number in (0, 1000000];
        default: 4. Source: reading.
    ratio: max_th over min_th of every class; a number in (1, 1000000]; default: 3. Source: Floyd 1997: max_th =
        3·min_th.
    Source: Sun, Wang 2007, as told by the RED-AT paper, section 4.3.
    """

    kind: ClassVar[str] = "pdt-red"
    w_q: float | Literal["auto", "rtt"] | None = None
    gate: Literal["uniform", "wait", "geometric", "drawn"] | None = None
    mark_p: float | None = None
    forced: Literal["drop", "mark"] | None = None
    byte_mode: bool | None = None
    byte_scale: Literal["p_b", "p_a"] | None = None
    idle: Literal["exact", "floor"] | None = None
    early_min_queue: float | None = None
    first_passes: bool | None = None
    max_p: float | None = None
    gentle: bool | None = None
    gentle_tracks_max_p: bool | None = None
    share_low: float | None = None
    share_high: float | None = None
    ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nlred(_Ramp):
    """Nonlinear RED: a parabola of 1.5·max_p instead of the ramp.

    A parabola with the same area under it as RED's ramp: gentler near min_th, steeper near max_th. Light load costs
    less throughput; under heavy load it signals more than RED, so the average depends less on the load. It is RED in
    everything else, and as cheap.

    It has RED's parameters, and they need the same care; the average still moves with the load. At max_th the
    probability jumps from 1.5·max_p to 1, as in RED of 1993, and capable packets are dropped there; `gentle` ramps
    instead, which the paper does not do.

    gentle: Ramp from max_p at max_th to 1 at 2·max_th instead of a step at max_th; true or false; default: false.
        Source: Floyd 2000.
    Source: Zhou, Yeung, Li 2006.
    """

    kind: ClassVar[str] = "nlred"
    gentle: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoDel(_Discipline):
    """Controlled delay: drops at the head while the time in the queue stays above a target.

    It needs no knowledge of the link's rate: it looks at time. A standing queue falls to about 5 ms; a burst that
    drains within 100 ms is left alone. While the delay stays above the target, signals come ever faster: 27 in the
    first second, some 500 a second after ten. Dropping at the head tells the sender a queueing time earlier.

    The rate of signals grows slowly: against many flows or an unresponsive load it takes many seconds, and until then
    the buffer is what bounds the queue. interval must be near the largest usual round-trip time, so short paths (data
    centres) need other numbers. On slow links target must be at least a packet's time. One queue: a greedy flow still
    delays all others. With ECN it marks only, and an unresponsive capable flow is never dropped. Linux's form
    (`variant`) differs where it begins: its second and third signal are 50 ms apart instead of 71.

    ce_threshold: With `ecn`: besides what CoDel marks, mark every capable packet that has waited longer than this; a
        time with its unit, for example "40 ms"; left out: none. Source: Linux: sch_codel; RFC 8290, section 5.2.7.
    sce_ramp: With `ecn`: what CoDel passes and has waited longer than this is marked ECT(1) for some congestion (SCE)
        if it is ECT(0): by chance, with a probability that grows to 1 at target; a time with its unit, for example
        "40 ms"; left out: none. Source: draft-morton-tsvwg-sce; chromi/sce: half of target.
    target: Acceptable time in the queue; a time with its unit, for example "40 ms"; default: 5 ms. Source: RFC 8289,
        section 4.4.
    interval: How long the time in the queue may stay above the target: about the largest usual round-trip time; a
        time with its unit, for example "40 ms"; default: 100 ms. Source: RFC 8289, section 4.3.
    maxpacket: Nothing is dropped while no more than this waits behind; a size with its unit, for example "1000 B";
        default: 1500 B. Source: RFC 8289, section 5.3: should be the interface's MTU.
    variant: Whose CoDel: what the keys come to that say so and are left out. Linux's `maxpacket` is the interface's
        MTU with its header, "1514 B" on Ethernet; one of "rfc", "linux"; default: rfc. Source: RFC 8289, RFC 8290;
        Linux 7.3: include/net/codel_impl.h, sch_fq_codel.c.
    control_law: Whether 1/√count is exact, or is kept in 16 bits and moved by one step of Newton's method at each
        change of count; the second signal then brings the third after half an interval; one of "exact", "newton";
        left out: exact; newton with the variant linux. Source: RFC 8289, section 5.5; Linux: codel_Newton_step.
    above: Whether signals may begin at the end of the first interval above the target, or only after it; one of "at",
        "after"; left out: at; after with the variant linux. Source: RFC 8289, section 5.6; Linux: codel_should_drop.
    clock: Whether times are exact, or counted in units of 1024 ns, rounded down; one of "exact", "linux"; left out:
        exact; linux with the variant linux. Source: Linux: codel_get_time.
    most_drops: No dequeue drops more than this; the next signal is then due a step from now; a whole number in [1,
        65535]; unit: packets; left out: no limit; 256 with the variant linux. Source: Linux 7.3:
        CODEL_MAX_DROPS_PER_DEQUEUE.
    Source: RFC 8289.
    """

    kind: ClassVar[str] = "codel"
    ce_threshold: str | None = None
    sce_ramp: str | None = None
    target: str | None = None
    interval: str | None = None
    maxpacket: str | None = None
    variant: Literal["rfc", "linux"] | None = None
    control_law: Literal["exact", "newton"] | None = None
    above: Literal["at", "after"] | None = None
    clock: Literal["exact", "linux"] | None = None
    most_drops: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pie(_Discipline):
    """Proportional-integral control of the queueing delay, by random drops at arrival.

    The queueing delay settles at qdelay_ref, 15 ms, whatever the load and the link's rate. Decisions are made at
    arrival, so it costs no work at the head. The first 150 ms of congestion pass freely. Derandomisation spaces the
    drops: none before the probabilities since the last one add up to 0.85; where p itself is above that, the figure
    has its kink.

    It takes seconds to find p after a change, and the queue overshoots meanwhile. With ECN, above p = 0.1 it drops
    capable packets too. The departure rate is measured only while 16 kB wait: below that, at 10 Mbit/s 13 ms, no
    measurement begins and the last one holds (`delay_from = "timestamps"` does without). One queue: flows are not
    isolated. Of RFC 8033 it leaves out switching itself off (5.3). Linux's timer counts whole jiffies and fires one
    later: at 250 of them a second its 15 ms, which tc shows as 16 ms, are 20 ms (`t_update`).

    qdelay_ref: The queueing delay to keep; a time with its unit, for example "40 ms"; default: 15 ms. Source: RFC
        8033, section 4.2: QDELAY_REF.
    t_update: Time between two updates of the probability; a time with its unit, for example "40 ms"; default: 15 ms.
        Source: RFC 8033, section 4.2: T_UPDATE.
    alpha: Gain of the delay's distance from the target; a number in [0, 100]; unit: 1/s; default: 0.125. Source: RFC
        8033, section 4.2.
    beta: Gain of the delay's change; a number in [0, 100]; unit: 1/s; default: 1.25. Source: RFC 8033, section 4.2.
    max_burst: Nothing is dropped in the first moments of congestion, for this long; a time with its unit, for example
        "40 ms"; default: 150 ms. Source: RFC 8033, section 4.4: MAX_BURST.
    mark_ecnth: With `ecn`: above this probability a capable packet is dropped all the same; a number in [0, 1];
        default: 0.1. Source: RFC 8033, section 5.1.
    delay_from: The queueing delay: bytes waiting over the measured departure rate, or what the last packet to leave
        has waited; one of "rate-estimate", "timestamps"; default: rate-estimate. Source: RFC 8033, sections 4.3 and
        5.2.
    dq_threshold: The departure rate is measured over this much, while at least as much waits; a size with its unit,
        for example "1000 B"; default: 16384 B. Source: RFC 8033, section 5.2: DQ_THRESHOLD.
    derandomize: No drop until the probabilities since the last one add up to 0.85; for certain at 8.5; true or false;
        default: true. Source: RFC 8033, section 5.4.
    high_delay: Above this delay the probability grows by a further 0.02 at each update; a time with its unit, for
        example "40 ms"; default: 250 ms. Source: Linux: sch_pie.
    variant: Whose PIE: what the keys come to that say so and are left out. Linux's `delay_from` is "timestamps"; one
        of "rfc", "linux"; default: rfc. Source: RFC 8033; Linux 7.3: sch_pie.
    burst_from: What uses up the allowance for bursts: each update its period, or the departures the time between
        them, or with `delay_from = "rate-estimate"` that of each measurement; one of "updates", "departures"; left
        out: updates; departures with the variant linux. Source: RFC 8033, section 4.2; Linux: pie_process_dequeue.
    decay: What remains of the probability at an update that finds no delay, as the one before; a number in [0, 1];
        left out: 0.98; 63/64 with the variant linux. Source: RFC 8033, section 4.2; Linux: pie_calculate_probability.
    guard_from: Whether the delay that must be half the target for drops is that of the last update, or that of the
        last departure where `delay_from` is "timestamps"; one of "update", "departure"; left out: update; departure
        with the variant linux. Source: RFC 8033, section 4.1; Linux: pie_drop_early.
    min_backlog: Nothing is dropped while fewer bytes than this wait; a size with its unit, for example "1000 B"; left
        out: more than two of `mean_packet`; 3028 B with the variant linux. Source: RFC 8033, section 4.1; Linux: two
        frames of 1514 B.
    bytemode: Smaller packets are dropped less often, by their share of half `min_backlog`; true or false; default:
        false. Source: Linux: bytemode.
    dq_average: Whether measurements of the departure rate are averaged as times, the newest with `dq_threshold` over
        64 kB, or as rates, the newest with 1/8; one of "time", "rate"; left out: time; rate with the variant linux.
        Source: RFC 8033, section 5.2; Linux: pie_process_dequeue.
    first_update: When the probability is updated for the first time; a time with its unit, for example "40 ms"; left
        out: `t_update`; 500 ms with the variant linux. Source: Linux: pie_init.
    Source: RFC 8033.
    """

    kind: ClassVar[str] = "pie"
    qdelay_ref: str | None = None
    t_update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    max_burst: str | None = None
    mark_ecnth: float | None = None
    delay_from: Literal["rate-estimate", "timestamps"] | None = None
    dq_threshold: str | None = None
    derandomize: bool | None = None
    high_delay: str | None = None
    variant: Literal["rfc", "linux"] | None = None
    burst_from: Literal["updates", "departures"] | None = None
    decay: float | None = None
    guard_from: Literal["update", "departure"] | None = None
    min_backlog: str | None = None
    bytemode: bool | None = None
    dq_average: Literal["time", "rate"] | None = None
    first_update: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cobalt(_Discipline):
    """CoDel that forgets slowly, with BLUE for loads that do not answer: CAKE's control of a queue.

    A standing queue of about 5 ms, as CoDel's. Because the count is remembered, it signals at once as often as before
    when a load comes back, where CoDel begins anew. Against senders that answer nothing BLUE's drops take over after
    the buffer has overflowed a few times, so that the queue does not stay full. In the figure signals begin an
    interval earlier than CoDel's.

    One queue: a greedy flow still delays the others; CAKE gives each its own. BLUE needs overflow to begin: a buffer
    so large that nothing overflows leaves it at 0. It drops at the head whatever may be marked. On slow links a
    frame's time makes the target: four frames of 1514 B are 48 ms at 1 Mbit/s.

    target: Acceptable time in the queue; a time with its unit, for example "40 ms"; default: 5 ms. Source: Linux:
        sch_cake, rtt/20.
    interval: How long the time in the queue may stay above the target: about the largest usual round-trip time; a
        time with its unit, for example "40 ms"; default: 100 ms. Source: Linux: sch_cake, rtt.
    frame_time: The time of a frame on the link: four of them are waited for in any case; a time with its unit, for
        example "40 ms"; left out: 1514 B at the link's rate. Source: Linux: sch_cake, mtu_time.
    increment: What an overflow adds to BLUE's probability; a number in [0, 1]; default: 0.00390625. Source: Linux:
        sch_cake, 1/256.
    decrement: What a queue that runs empty takes off it; a number in [0, 1]; default: 0.000244140625. Source: Linux:
        sch_cake, 1/4096.
    blue_above: BLUE's probability also grows at each departure, once a target, of a packet that has waited longer
        than this; a time with its unit, for example "40 ms"; left out: none. Source: ns-3: BlueThreshold.
    ce_threshold: Besides what the law marks, mark every capable packet that has waited longer than this; a time with
        its unit, for example "40 ms"; left out: none. Source: ns-3: CeThreshold; RFC 8290, section 5.2.7.
    ecn: Mark packets that allow it instead of dropping them; true or false; default: true. Source: RFC 3168.
    Source: Høiland-Jørgensen, Täht, Morton 2018 (CAKE); Linux: sch_cake.
    """

    kind: ClassVar[str] = "cobalt"
    target: str | None = None
    interval: str | None = None
    frame_time: str | None = None
    increment: float | None = None
    decrement: float | None = None
    blue_above: str | None = None
    ce_threshold: str | None = None
    ecn: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FqCodel(_Discipline):
    """Flow queueing with CoDel on each queue: flows share the link fairly, sparse ones go first.

    Flows share the link equally, whatever they send; a flow that sends less than its share (DNS, SYN, voice) passes
    the standing queues of the others. Each long flow has its own 5 ms of queue. In the figure five flows share what
    is held, and each has its own row of signals, so their share is five times CoDel's. An unresponsive flow harms
    itself only.

    Fairness counts flows: whoever opens ten flows gets ten shares, and a tunnel is one flow. Flows that fall into one
    of the 1024 queues share it. CoDel's 5 ms hold for each queue, so the total delay of a packet grows with the
    number of busy flows. It needs more state than any other discipline here: a queue per flow, and the order of all
    packets.

    flows: Number of queues; a whole number in [1, 65536]; default: 1024. Source: RFC 8290, section 5.2.4.
    quantum: Bytes that a queue may send in a round; a size with its unit, for example "1000 B"; default: 1514 B.
        Source: RFC 8290, section 5.2.3; at least 256 B as in Linux.
    limit: Packets in all queues together; the link's buffer holds beside it, the smaller one counts; a whole number
        in [1, 1000000]; unit: packets; default: 10240. Source: RFC 8290, section 5.2.2.
    drop_batch: At the limit the fullest queue loses half its packets, but no more than this; a whole number in [1,
        65536]; unit: packets; default: 64. Source: RFC 8290, section 4.1.
    behind: Whether CoDel lets a packet pass when no more than `maxpacket` waits behind it in its own queue, or in all
        of them. Many flows with short queues then get more signals; one of "queue", "all"; left out: queue; all with
        the variant linux. Source: RFC 8289, section 4.4; all: Linux.
    ce_threshold: Besides what CoDel marks, mark every capable packet that has waited longer than this; a time with
        its unit, for example "40 ms"; left out: none. Source: RFC 8290, section 5.2.7.
    ce_selector: `ce_threshold` holds for packets alone whose DS byte (the class times 4, and the ECN field) has these
        bits under `ce_mask`: 1 of 3 is ECT(1), the packets of L4S; a whole number in [0, 255]; default: 0. Source:
        Linux: ce_threshold_selector.
    ce_mask: The bits of the DS byte that `ce_selector` compares; 0 for none; a whole number in [0, 255]; default: 0.
        Source: Linux: ce_threshold_selector.
    memory_limit: Bytes in all queues together, `packet_overhead` counted; beside `limit`; a size with its unit, for
        example "1000 B"; left out: none; 32 MiB with the variant linux. Source: Linux: sch_fq_codel.
    packet_overhead: What a packet takes of `memory_limit` beside its own bytes; Linux counts the memory of its
        buffers, for a full frame about 800 B more; a size with its unit, for example "1000 B"; default: 0 B. Source:
        Linux: truesize.
    overflow_when: Whether packets go for the arriving one before it enters, or after: then it may be one of them; one
        of "before", "after"; left out: before; after with the variant linux. Source: RFC 8290, section 4.1; Linux:
        fq_codel_enqueue.
    halve: Whether the fullest queue loses half its packets or half its bytes; one of "packets", "bytes"; left out:
        packets; bytes with the variant linux. Source: RFC 8290, section 4.1; Linux: fq_codel_drop.
    overflow_counts: Whether what a queue loses so counts as signals of its CoDel, which then signals faster; true or
        false; left out: false; true with the variant linux. Source: Linux: fq_codel_drop.
    target: Acceptable time in the queue; a time with its unit, for example "40 ms"; default: 5 ms. Source: RFC 8289,
        section 4.4.
    interval: How long the time in the queue may stay above the target: about the largest usual round-trip time; a
        time with its unit, for example "40 ms"; default: 100 ms. Source: RFC 8289, section 4.3.
    maxpacket: Nothing is dropped while no more than this waits behind; a size with its unit, for example "1000 B";
        default: 1500 B. Source: RFC 8289, section 5.3: should be the interface's MTU.
    variant: Whose CoDel: what the keys come to that say so and are left out. Linux's `maxpacket` is the interface's
        MTU with its header, "1514 B" on Ethernet; one of "rfc", "linux"; default: rfc. Source: RFC 8289, RFC 8290;
        Linux 7.3: include/net/codel_impl.h, sch_fq_codel.c.
    control_law: Whether 1/√count is exact, or is kept in 16 bits and moved by one step of Newton's method at each
        change of count; the second signal then brings the third after half an interval; one of "exact", "newton";
        left out: exact; newton with the variant linux. Source: RFC 8289, section 5.5; Linux: codel_Newton_step.
    above: Whether signals may begin at the end of the first interval above the target, or only after it; one of "at",
        "after"; left out: at; after with the variant linux. Source: RFC 8289, section 5.6; Linux: codel_should_drop.
    clock: Whether times are exact, or counted in units of 1024 ns, rounded down; one of "exact", "linux"; left out:
        exact; linux with the variant linux. Source: Linux: codel_get_time.
    most_drops: No dequeue drops more than this; the next signal is then due a step from now; a whole number in [1,
        65535]; unit: packets; left out: no limit; 256 with the variant linux. Source: Linux 7.3:
        CODEL_MAX_DROPS_PER_DEQUEUE.
    ecn: Mark packets that allow it instead of dropping them; true or false; default: true. Source: RFC 3168.
    Source: RFC 8290.
    """

    kind: ClassVar[str] = "fq-codel"
    flows: int | None = None
    quantum: str | None = None
    limit: int | None = None
    drop_batch: int | None = None
    behind: Literal["queue", "all"] | None = None
    ce_threshold: str | None = None
    ce_selector: int | None = None
    ce_mask: int | None = None
    memory_limit: str | None = None
    packet_overhead: str | None = None
    overflow_when: Literal["before", "after"] | None = None
    halve: Literal["packets", "bytes"] | None = None
    overflow_counts: bool | None = None
    target: str | None = None
    interval: str | None = None
    maxpacket: str | None = None
    variant: Literal["rfc", "linux"] | None = None
    control_law: Literal["exact", "newton"] | None = None
    above: Literal["at", "after"] | None = None
    clock: Literal["exact", "linux"] | None = None
    most_drops: int | None = None
    ecn: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FqCobalt(_Discipline):
    """Flow queueing with COBALT on each queue: CAKE's core, without hosts, classes and shaper.

    As FQ-CoDel: flows share the link equally, sparse ones pass, each long flow has 5 ms of its own. Where a flow
    comes back, or answers no signals, its queue remembers: signals begin as often as they were, and BLUE drops what
    overflows again and again.

    FQ-CoDel's: whoever opens ten flows gets ten shares, flows that fall into one queue share it, and the delay of a
    packet grows with the number of busy flows. An empty queue is forgotten by its flow but not by its COBALT: another
    flow that is hashed there begins with what the last one left.

    flows: Number of queues; a whole number in [1, 65536]; default: 1024. Source: RFC 8290, section 5.2.4.
    quantum: Bytes that a queue may send in a round; a size with its unit, for example "1000 B"; default: 1514 B.
        Source: RFC 8290, section 5.2.3.
    limit: Packets in all queues together; the link's buffer holds beside it, the smaller one counts; a whole number
        in [1, 1000000]; unit: packets; default: 10240. Source: RFC 8290, section 5.2.2.
    drop_batch: At the limit the fullest queue loses half its packets, but no more than this; a whole number in [1,
        65536]; unit: packets; default: 64. Source: RFC 8290, section 4.1.
    target: Acceptable time in the queue; a time with its unit, for example "40 ms"; default: 5 ms. Source: Linux:
        sch_cake, rtt/20.
    interval: How long the time in the queue may stay above the target: about the largest usual round-trip time; a
        time with its unit, for example "40 ms"; default: 100 ms. Source: Linux: sch_cake, rtt.
    frame_time: The time of a frame on the link: four of them are waited for in any case; a time with its unit, for
        example "40 ms"; left out: 1514 B at the link's rate. Source: Linux: sch_cake, mtu_time.
    increment: What an overflow adds to BLUE's probability; a number in [0, 1]; default: 0.00390625. Source: Linux:
        sch_cake, 1/256.
    decrement: What a queue that runs empty takes off it; a number in [0, 1]; default: 0.000244140625. Source: Linux:
        sch_cake, 1/4096.
    blue_above: BLUE's probability also grows at each departure, once a target, of a packet that has waited longer
        than this; a time with its unit, for example "40 ms"; left out: none. Source: ns-3: BlueThreshold.
    ce_threshold: Besides what the law marks, mark every capable packet that has waited longer than this; a time with
        its unit, for example "40 ms"; left out: none. Source: ns-3: CeThreshold; RFC 8290, section 5.2.7.
    ecn: Mark packets that allow it instead of dropping them; true or false; default: true. Source: RFC 3168.
    Source: RFC 8290; Høiland-Jørgensen, Täht, Morton 2018 (CAKE); ns-3: FqCobaltQueueDisc.
    """

    kind: ClassVar[str] = "fq-cobalt"
    flows: int | None = None
    quantum: str | None = None
    limit: int | None = None
    drop_batch: int | None = None
    target: str | None = None
    interval: str | None = None
    frame_time: str | None = None
    increment: float | None = None
    decrement: float | None = None
    blue_above: str | None = None
    ce_threshold: str | None = None
    ecn: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cake(_Discipline):
    """Tins for classes, fair shares for hosts and flows, COBALT in each queue: home routers' default.

    As FQ-COBALT, and hosts are equal before their flows are: a host with four downloads has no more than one with a
    single one. Traffic that is marked as voice or as bulk has tins of its own: a call does not wait for downloads,
    and bulk has what the others leave. The first time that a queue is late it signals with the next packet, and not
    after an interval, as Linux's does: a download's slow start ends early. In the figure one queue is held: from then
    on signals come as COBALT's.

    It believes DSCPs: whoever marks downloads as voice has a quarter of the link ahead of the others, and the shares
    of diffserv8 add up to more than the link, so that low tins starve while high ones are full. ACKs are not thinned
    out (Linux's ack-filter): a discipline here does not see TCP's header, and on a very asymmetric link ACKs can fill
    the slow direction. Its tins take the link's rate at the start. Hosts are those that the scenario names; two
    behind one address are one.

    tins: The tins, by DSCP: all in one; best effort, bulk and latency; those and video; or eight; one of
        "besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"; default: diffserv3. Source: Linux:
        sch_cake.
    isolation: What has a queue, and whether hosts are equal before their flows are; one of "flowblind", "srchost",
        "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"; default: triple-isolate.
        Source: Linux: sch_cake.
    rtt: The largest usual round-trip time: COBALT's interval; its target is a twentieth; a time with its unit, for
        example "40 ms"; default: 100 ms. Source: Linux: sch_cake, internet.
    unlimited: Whether tins take turns by deficit round robin, as where no bandwidth is set, and not by clocks at
        their shares of the link's rate; true or false; default: false. Source: Linux: sch_cake.
    memory_limit: Bytes in all queues together, `packet_overhead` counted; the link's buffer holds beside it; a size
        with its unit, for example "1000 B"; left out: four rtt at the link's rate, from 4 MiB to 15503360 B;
        unlimited: 15503360 B. Source: Linux: sch_cake, memlimit.
    packet_overhead: What a packet takes of `memory_limit` beside its own bytes; Linux counts the memory of its
        buffers, for a full frame about 800 B more; a size with its unit, for example "1000 B"; default: 0 B. Source:
        Linux: truesize.
    ecn: Mark packets that allow it instead of dropping them; true or false; default: true. Source: RFC 3168.
    Source: Høiland-Jørgensen, Täht, Morton 2018 (CAKE); Linux: sch_cake.
    """

    kind: ClassVar[str] = "cake"
    tins: Literal["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"] | None = None
    isolation: (
        Literal["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"]
        | None
    ) = None
    rtt: str | None = None
    unlimited: bool | None = None
    memory_limit: str | None = None
    packet_overhead: str | None = None
    ecn: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FqPie(_Discipline):
    """Flow queueing with PIE on each queue: flows share the link fairly, each with its own drop probability.

    Flows share the link equally, and each has about 15 ms of queue of its own: a flow that does not slow down gets a
    high p_i, and pays alone. Sparse flows pass the queues of the others. The decision costs nothing at the head. In
    the figure five flows share what is held; their probabilities rise for seconds.

    PIE's slowness holds for each flow: p_i starts at 0 with each new one, in steps that are smallest there, and a
    short transfer is over before. At the limit the arriving packet goes, whosever it is, so that one flow that fills
    the buffer costs others theirs; with `full = "fattest"` the fullest queue pays, as in ns-3 and FQ-CoDel. Flows in
    one queue share it, and a tunnel is one flow. With ECN, above p_i = 0.1 capable packets are dropped, too.

    flows: Number of queues; a whole number in [1, 65536]; default: 1024. Source: Linux: sch_fq_pie.
    quantum: Bytes that a queue may send in a round; a size with its unit, for example "1000 B"; default: 1514 B.
        Source: Linux: sch_fq_pie, the interface's MTU with its header.
    limit: Packets in all queues together; the link's buffer holds beside it, the smaller one counts; a whole number
        in [1, 1000000]; unit: packets; default: 10240. Source: Linux: sch_fq_pie.
    full: At the limit the arriving packet is dropped, or the fullest queue loses half its packets, at most 64, from
        its head; one of "arriving", "fattest"; default: arriving. Source: Linux: sch_fq_pie; fattest: ns-3.
    qdelay_ref: The queueing delay to keep; a time with its unit, for example "40 ms"; default: 15 ms. Source: RFC
        8033, section 4.2: QDELAY_REF.
    t_update: Time between two updates of the probability; a time with its unit, for example "40 ms"; default: 15 ms.
        Source: RFC 8033, section 4.2: T_UPDATE.
    alpha: Gain of the delay's distance from the target; a number in [0, 100]; unit: 1/s; default: 0.125. Source: RFC
        8033, section 4.2.
    beta: Gain of the delay's change; a number in [0, 100]; unit: 1/s; default: 1.25. Source: RFC 8033, section 4.2.
    max_burst: Nothing is dropped in the first moments of congestion, for this long; a time with its unit, for example
        "40 ms"; default: 150 ms. Source: RFC 8033, section 4.4: MAX_BURST.
    mark_ecnth: With `ecn`: above this probability a capable packet is dropped all the same; a number in [0, 1];
        default: 0.1. Source: RFC 8033, section 5.1.
    delay_from: The queueing delay: bytes waiting over the measured departure rate, or what the last packet to leave
        has waited; one of "rate-estimate", "timestamps"; default: timestamps. Source: RFC 8033, sections 4.3 and 5.2.
    dq_threshold: The departure rate is measured over this much, while at least as much waits; a size with its unit,
        for example "1000 B"; default: 16384 B. Source: RFC 8033, section 5.2: DQ_THRESHOLD.
    derandomize: No drop until the probabilities since the last one add up to 0.85; for certain at 8.5; true or false;
        default: true. Source: RFC 8033, section 5.4.
    high_delay: Above this delay the probability grows by a further 0.02 at each update; a time with its unit, for
        example "40 ms"; default: 250 ms. Source: Linux: sch_pie.
    variant: Whose PIE: what the keys come to that say so and are left out. Linux's `delay_from` is "timestamps"; one
        of "rfc", "linux"; default: linux. Source: RFC 8033; Linux 7.3: sch_pie.
    burst_from: What uses up the allowance for bursts: each update its period, or the departures the time between
        them, or with `delay_from = "rate-estimate"` that of each measurement; one of "updates", "departures"; left
        out: updates; departures with the variant linux. Source: RFC 8033, section 4.2; Linux: pie_process_dequeue.
    decay: What remains of the probability at an update that finds no delay, as the one before; a number in [0, 1];
        left out: 0.98; 63/64 with the variant linux. Source: RFC 8033, section 4.2; Linux: pie_calculate_probability.
    guard_from: Whether the delay that must be half the target for drops is that of the last update, or that of the
        last departure where `delay_from` is "timestamps"; one of "update", "departure"; left out: update; departure
        with the variant linux. Source: RFC 8033, section 4.1; Linux: pie_drop_early.
    min_backlog: Nothing is dropped while fewer bytes than this wait; a size with its unit, for example "1000 B"; left
        out: more than two of `mean_packet`; 3028 B with the variant linux. Source: RFC 8033, section 4.1; Linux: two
        frames of 1514 B.
    bytemode: Smaller packets are dropped less often, by their share of half `min_backlog`; true or false; default:
        false. Source: Linux: bytemode.
    dq_average: Whether measurements of the departure rate are averaged as times, the newest with `dq_threshold` over
        64 kB, or as rates, the newest with 1/8; one of "time", "rate"; left out: time; rate with the variant linux.
        Source: RFC 8033, section 5.2; Linux: pie_process_dequeue.
    first_update: When the probability is updated for the first time; a time with its unit, for example "40 ms"; left
        out: `t_update`; 500 ms with the variant linux. Source: Linux: pie_init.
    Source: Linux: sch_fq_pie; RFC 8033, RFC 8290.
    """

    kind: ClassVar[str] = "fq-pie"
    flows: int | None = None
    quantum: str | None = None
    limit: int | None = None
    full: Literal["arriving", "fattest"] | None = None
    qdelay_ref: str | None = None
    t_update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    max_burst: str | None = None
    mark_ecnth: float | None = None
    delay_from: Literal["rate-estimate", "timestamps"] | None = None
    dq_threshold: str | None = None
    derandomize: bool | None = None
    high_delay: str | None = None
    variant: Literal["rfc", "linux"] | None = None
    burst_from: Literal["updates", "departures"] | None = None
    decay: float | None = None
    guard_from: Literal["update", "departure"] | None = None
    min_backlog: str | None = None
    bytemode: bool | None = None
    dq_average: Literal["time", "rate"] | None = None
    first_update: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsisPie(_Discipline):
    """PIE for a cable modem's upstream: the delay follows from the known rate, small packets are spared.

    The delay of an upstream settles around 10 ms. ACKs, requests and voice are dropped by their share of 1024 B: at p
    = 0.4 a full frame in 59 % of the draws, an ACK of 64 B in 2.5 %. After a second without congestion it sleeps, and
    a burst up to a third of the buffer then passes freely; the first drop after that gives 142 ms of grace.

    It knows the rate of the service flow alone: where something else is the bottleneck, as a radio link or a rate
    that changes under way, the delay is wrong, and here the rate is the link's at the start. It knows no ECN. One
    queue: flows are not isolated. A flow of small packets that does not slow down is hardly held back.

    latency_target: The queueing delay to keep; a time with its unit, for example "40 ms"; default: 10 ms. Source: RFC
        8034, section 4.1: LATENCY_TARGET.
    interval: Time between two updates of the probability; a time with its unit, for example "40 ms"; default: 16 ms.
        Source: RFC 8034, appendix A.1.2: INTERVAL.
    alpha: Gain of the delay's distance from the target; a number in [0, 100]; unit: 1/s; default: 0.25. Source: RFC
        8034, appendix A.1.2: A.
    beta: Gain of the delay's change; a number in [0, 100]; unit: 1/s; default: 2.5. Source: RFC 8034, appendix A.1.2:
        B.
    max_burst: Nothing is dropped for so long after the drop that ends a quiet time; a time with its unit, for example
        "40 ms"; default: 142 ms. Source: RFC 8034, appendix A.1.2: MAX_BURST.
    burst_reset_timeout: After so long without congestion it is inactive until a third of the buffer is full; a time
        with its unit, for example "40 ms"; default: 1 s. Source: RFC 8034, appendix A.1.2: BURST_RESET_TIMEOUT.
    msr_share: The maximum sustained rate as a share of the link's, which is the peak rate; a number in (0, 1];
        default: 1. Source: RFC 8034, section 4.2: the service flow's.
    bucket: What the token bucket holds that refills with the sustained rate; a size with its unit, for example "1000
        B"; default: 0 B. Source: RFC 8034, section 4.2: its tokens.
    Source: RFC 8034.
    """

    kind: ClassVar[str] = "docsis-pie"
    latency_target: str | None = None
    interval: str | None = None
    alpha: float | None = None
    beta: float | None = None
    max_burst: str | None = None
    burst_reset_timeout: str | None = None
    msr_share: float | None = None
    bucket: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pi2(_Discipline):
    """PI control of the queueing delay; Classic packets get the square of its probability, Scalable ones get it
    straight.

    The queueing delay settles at target, 15 ms, whatever the load. Since a window goes with 1/√p under Reno or CUBIC
    and with 1/p under DCTCP or Prague, p' is linear in both, so one pair of gains suits every load: there is no table
    as in PIE. Flows of both sorts share one queue at about equal rates.

    One queue: Scalable flows, which could do with 1 ms, wait as long as the others; `dualpi2` gives them a queue of
    their own. k balances the rates for one round trip, about 25 ms beside 15 ms of queue, and flows with other round
    trips get more or less. It has no burst allowance: a burst after silence raises p' at the next update. Its delay
    is that of the head, so what has just arrived is seen a queue later.

    target: The queueing delay to keep; a time with its unit, for example "40 ms"; default: 15 ms. Source: RFC 9332,
        appendix A.1; 20 ms in 2016.
    t_update: Time between two updates of the probability; a time with its unit, for example "40 ms"; default: 16 ms.
        Source: RFC 9332, appendix A.1: Tupdate as Linux has it; 32 ms in 2016.
    alpha: Gain of the delay's distance from the target; a number in [0, 256]; unit: 1/s; default: 0.16. Source: RFC
        9332, appendix A.1, with 16 ms.
    beta: Gain of the delay's change; a number in [0, 256]; unit: 1/s; default: 3.2. Source: RFC 9332, appendix A.1.
    k: The coupling factor: a Scalable packet is marked with k·p'; a number in (0, 255]; default: 2. Source: RFC 9332,
        appendix C.
    p_cmax: Above this probability of a Classic signal capable packets are dropped too; a number in [0, 1]; default:
        0.25. Source: RFC 9332, appendix A.2: 1/k².
    identify: Which packets are Scalable: ECT(1) and CE, or all that are ECN-capable; one of "l4s", "any-ect";
        default: l4s. Source: RFC 9331, section 2; any-ect: Linux.
    decides: Where packets are chosen for a signal. At their arrival the signal is a queue earlier; one of
        "departure", "arrival"; default: departure. Source: RFC 9332, appendix A.1.
    ecn: Mark packets that allow it instead of dropping them; true or false; default: true. Source: RFC 3168.
    Source: De Schepper et al. 2016; RFC 9332, appendix A.
    """

    kind: ClassVar[str] = "pi2"
    target: str | None = None
    t_update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    k: float | None = None
    p_cmax: float | None = None
    identify: Literal["l4s", "any-ect"] | None = None
    decides: Literal["departure", "arrival"] | None = None
    ecn: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dualpi2(_Discipline):
    """Two coupled queues: Scalable packets (L4S) wait about a millisecond, Classic ones 15 ms, and flows of both get
    equal rates.

    Prague and DCTCP, which are in L, wait less than a millisecond on average, and CUBIC or Reno in C about 15 ms, on
    one link and without any state for flows. p_CL is k = 2 times the square root of what C gets, so a flow in L has
    about the rate of one in C: from 10 to 100 Mbit/s and 10 to 50 ms a Prague flow has 1.1 to 2.1 times the rate of a
    CUBIC flow. Without traffic in C the ramp alone holds L near 1 ms. Nothing of L is dropped short of overload.

    On a link where a packet takes longer than the step, 1.2 ms at 10 Mbit/s, Linux marks all of L that is not alone,
    and Prague gets a third of CUBIC's rate or less; th_len = 1, as in the RFC, mends it. Equal rates hold for round
    trips like each other. L does not forgive bursts: paced senders alone belong there. A sender that sets ECT(1) and
    does not answer marks costs both queues the same share of packets, so that a single CUBIC flow beside it nearly
    stops; what is sent into C gets its classic_protection all the same. Linux's class that is never marked, and its
    filters, are left out; so are the PIE of DOCSIS and its queue protection.

    variant: Whose defaults the other keys take: of RFC 9332, of Linux, or of DOCSIS 3.1; one of "rfc", "linux",
        "docsis"; default: rfc; with profile linux: linux. Source: RFC 9332, appendix A.
    target: The Classic queueing delay to keep; a time with its unit, for example "40 ms"; left out: rfc, linux: 15
        ms; docsis: 10 ms. Source: RFC 9332, appendix A.1.
    rtt_max: The longest round trip for which the gains are made; a time with its unit, for example "40 ms"; left out:
        rfc: 100 ms; linux, docsis: none, their gains are constants. Source: RFC 9332, appendix A.1.
    t_update: Time between two updates of the base probability; a time with its unit, for example "40 ms"; left out:
        min(target, rtt_max/3); without rtt_max: 16 ms. Source: RFC 9332, appendix A.1.
    alpha: Gain of the delay's distance from the target; a number in [0, 256]; unit: 1/s; left out:
        0.1·t_update/rtt_max²; without rtt_max: linux 41/256, docsis 0.25. Source: RFC 9332, appendix A.1.
    beta: Gain of the delay's change; a number in [0, 256]; unit: 1/s; left out: 0.3/rtt_max; without rtt_max: linux
        819/256, docsis 2.5. Source: RFC 9332, appendix A.1.
    fixed_point: Whether the base probability is reckoned in Linux's whole numbers of 32 bits; true or false; left
        out: linux: true; others: false. Source: Linux.
    k: The coupling factor: L is marked with k·p', C with p'²; a number in (0, 255]; default: 2. Source: RFC 9332,
        appendix C.
    identify: Which packets go to L: ECT(1) and CE, or all that are ECN-capable; one of "l4s", "any-ect"; default:
        l4s. Source: RFC 9331, section 2; any-ect: Linux.
    spread: How signals are spread: evenly, by a count, or by chance; one of "recur", "random"; left out: rfc, docsis:
        recur; linux: random. Source: RFC 9332, Figure 4; Linux.
    native: L's own AQM: a ramp from ramp_start, or a step; one of "ramp", "step"; left out: rfc, docsis: ramp; linux:
        step. Source: RFC 9332, Figure 5; Linux.
    ramp_start: Where the ramp begins; a time with its unit, for example "40 ms"; left out: 800 us; docsis: 1000 us −
        ramp_range. Source: RFC 9332, appendix A.1: minTh.
    ramp_range: How wide the ramp is; at 0 it is a step; a time with its unit, for example "40 ms"; left out: 400 us;
        docsis: 524.288 us. Source: RFC 9332, appendix A.1: range.
    ramp_floor: The ramp begins at the time of this many bytes on the link at the earliest; a size with its unit, for
        example "1000 B"; left out: none; docsis: 4000 B. Source: RFC 9332, appendix A.2, of DOCSIS 3.1: two packets.
    step_thresh: The step: what waits longer is marked; a time with its unit, for example "40 ms"; default: 1 ms.
        Source: Linux.
    step_packets: The step as packets left in L, instead of a time; a whole number in [0, 1000000]; left out: none.
        Source: Linux.
    th_len: L's own AQM leaves a packet alone while L holds no more than this, itself counted; a whole number in [0,
        1000000]; unit: packets; left out: rfc: 1; linux, docsis: 0. Source: RFC 9332, appendix A.2: Th_len; Linux:
        min_qlen_step.
    th_len_at: Where th_len is looked at; one of "departure", "arrival"; left out: rfc, docsis: departure; linux:
        arrival. Source: RFC 9332, appendix A.2.
    joined: How L's own signal and the coupled one come together: as the larger, or each by itself; one of "max",
        "independent"; left out: rfc, docsis: max; linux: independent. Source: RFC 9332, Figure 4; Linux.
    pi_guard: The base probability signals nothing while fewer bytes wait in both queues; a size with its unit, for
        example "1000 B"; left out: linux: 2·mtu; others: 0 B. Source: Linux; RFC 9332 has none.
    decides: Where p_C and p_CL choose packets; one of "departure", "arrival"; default: departure. Source: RFC 9332,
        appendix A.1.
    overload: Whether overload begins at k·p' = 1, or above it; one of "reached", "passed"; left out: rfc, docsis:
        reached; linux: passed. Source: RFC 9332, Figure 7; Linux.
    drop_on_overload: In overload, drop capable packets too. Otherwise p' stays within 1/k, and what is too much fills
        the buffer; true or false; default: true. Source: RFC 9332, appendix A.2; Linux.
    scheduler: Which queue goes next where both wait: by shares of bytes, or by time; one of "wrr", "ts-fifo";
        default: wrr. Source: RFC 9332, appendix A.2.
    classic_protection: C's share of the bytes while both queues wait, with "wrr"; a number in [0, 1]; left out: rfc:
        1/16; linux: 0.1; docsis: 26/256. Source: RFC 9332, appendix A.2; Linux.
    t_shift: L goes first unless C's head has waited this much longer, with "ts-fifo"; a time with its unit, for
        example "40 ms"; default: 50 ms. Source: RFC 9332, appendix A.2.
    limit_bytes: Bytes in both queues together: no room for one more packet of mtu, and an arriving one is dropped.
        The link's buffer holds beside it, the smaller one counts; a size with its unit, for example "1000 B"; left
        out: rfc, docsis: 250 ms at the link's rate, at least 2·mtu; linux: none. Source: RFC 9332, appendix A.1.
    limit_packets: The same in packets; a whole number in [1, 1000000000]; unit: packets; left out: linux: 10000;
        others: none. Source: Linux.
    memory: The same as memory: the arriving packet has to fit, and each counts packet_memory more; a size with its
        unit, for example "1000 B"; left out: linux: 2·mtu·limit_packets; others: none. Source: Linux.
    packet_memory: What a packet takes of the memory beside its bytes; a size with its unit, for example "1000 B";
        default: 0 B. Source: left open; Linux counts its buffers.
    mtu: The largest packet, for the limit, the guard and the scheduler's first credit; a size with its unit, for
        example "1000 B"; default: 1514 B. Source: Linux: Ethernet.
    ecn: Mark packets that allow it instead of dropping them; true or false; default: true. Source: RFC 3168.
    Source: RFC 9332, appendix A; Linux: sch_dualpi2.
    """

    kind: ClassVar[str] = "dualpi2"
    variant: Literal["rfc", "linux", "docsis"] | None = None
    target: str | None = None
    rtt_max: str | None = None
    t_update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    fixed_point: bool | None = None
    k: float | None = None
    identify: Literal["l4s", "any-ect"] | None = None
    spread: Literal["recur", "random"] | None = None
    native: Literal["ramp", "step"] | None = None
    ramp_start: str | None = None
    ramp_range: str | None = None
    ramp_floor: str | None = None
    step_thresh: str | None = None
    step_packets: int | None = None
    th_len: int | None = None
    th_len_at: Literal["departure", "arrival"] | None = None
    joined: Literal["max", "independent"] | None = None
    pi_guard: str | None = None
    decides: Literal["departure", "arrival"] | None = None
    overload: Literal["reached", "passed"] | None = None
    drop_on_overload: bool | None = None
    scheduler: Literal["wrr", "ts-fifo"] | None = None
    classic_protection: float | None = None
    t_shift: str | None = None
    limit_bytes: str | None = None
    limit_packets: int | None = None
    memory: str | None = None
    packet_memory: str | None = None
    mtu: str | None = None
    ecn: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wred(_Ramp):
    """RED by colour: packets of a class or a drop precedence have thresholds of their own.

    Colours lose in stages: while the average is between the thresholds of two colours, only the worse one is dropped.
    So traffic that was marked down (out of its contract) gives way first, and what is within its contract loses
    little, in one FIFO and without reordering. With an average of its own a colour is judged by what it holds itself,
    and a flood of one does not drop the other.

    It protects colours, not flows, and trusts whoever sets the DSCP: where all packets are of one colour it is RED.
    With the shared average a colour with low thresholds is starved by the others' queue, as long as that stands.
    RED's own weaknesses remain: the thresholds are of queue lengths, and suit one load and one rate. The ratios of
    the built-in colours are a switch's defaults, no rule.

    gentle: Ramp from max_p at max_th to 1 at 2·max_th instead of a step at max_th; true or false; default: false.
        Source: Floyd 2000.
    average: Whose average decides: the whole queue's (WRED), the colour's own (GRED), or the colour's and those of
        lower ranks (RIO, GRED's grio); one of "shared", "own", "rio"; default: shared. Source: Cisco: WRED; Linux:
        sch_gred.
    colour: The colours by name, `[aqm.colour.red]`. Without any: green for drop precedence 1 and all other packets,
        with the thresholds above; yellow for 2 with ¾ of min_th and 0.9 of max_th; red for 3 with half and 0.8;
        tables by name, each with the keys dscp (a whole number in [0, 63]), dscp_to (a whole number in [0, 63]),
        drop_precedence (a whole number in [1, 3]), rank (a whole number in [0, 63]), min_th (a number of packets, or
        a size, for example 40, "40 packets" or "30 kB"), max_th (a number of packets, or a size, for example 40, "40
        packets" or "30 kB"), max_p (a number in (0, 1]), ecn_min_th (a number of packets, or a size, for example 40,
        "40 packets" or "30 kB"), ecn_max_th (a number of packets, or a size, for example 40, "40 packets" or "30
        kB"), ecn_max_p (a number in (0, 1]); left out: green, yellow, red, by drop precedence. Source: RFC 2597; Dell
        N-series: 40, 30, 20 % to 100, 90, 80 % of the buffer.
    Source: RFC 2597; Cisco's WRED, Linux: sch_gred.
    """

    kind: ClassVar[str] = "wred"
    gentle: bool | None = None
    average: Literal["shared", "own", "rio"] | None = None
    colour: dict[str, dict[str, float | str | bool]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choke(_Ramp):
    """RED that drops an arriving packet and a waiting one of the same flow together.

    A flow that holds a share s of the queue loses a share s of its arrivals, and as many packets again from the
    queue. So a flow that sends too much and does not slow down is held back, and no state is kept per flow. TCP flows
    with a few packets each in the queue hardly notice. In the figure five flows share the queue evenly, so above
    min_th every fifth arrival takes a waiting packet with it.

    One draw per arrival is not enough against several flows that send too much, and the paper's variants with more
    draws are not here. With few flows it punishes those that behave: alone, a flow matches itself at every arrival
    above min_th. Drops come in pairs, which costs a flow with a small window a timeout. A pair is dropped even if ECN
    could have marked it.

    gentle: Ramp from max_p at max_th to 1 at 2·max_th instead of a step at max_th; true or false; default: false.
        Source: Floyd 2000.
    Source: Pan, Prabhakar, Psounis 2000.
    """

    kind: ClassVar[str] = "choke"
    gentle: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sfb(_Discipline):
    """BLUE for each flow, by eight hashes: signals for flows that answer, a limit for those that do not.

    One FIFO, no state per flow. Flows that answer are signalled as often as their own bins ask for. Of a flow that
    answers nothing p grows until its bins hold less than target: it keeps a little of the link, and the others have
    the rest. Only where that is not enough, after some two thousand arrivals, p is 1 and the flow is pressed to
    penalty_rate.

    It is slow: from 0 to 1 a bin takes 1986 arrivals above the target, and back 21845 to an empty bin. A bin is
    lowered only by arrivals that find it empty, so that a quiet one keeps what it had. Ten flows that answer nothing
    share all eight bins with one in four hundred others, which they take down with them until the next rehash. The
    ten packets a second that still pass of them are too few to train the next hashes, so that a rehash lets them go
    until they are found again. target counts packets, so that what it means in time depends on the link.

    target: A bin with so many packets raises its probability; a whole number in [1, 65535]; unit: packets; default:
        20. Source: iproute2: tc-sfb.
    max: A flow all of whose bins hold so many packets gets no further one in; a whole number in [1, 65535]; unit:
        packets; default: 25. Source: iproute2: tc-sfb.
    increment: What an arrival at a bin above the target adds to its probability; a number in [0, 1]; default:
        0.0005035477226. Source: iproute2: tc-sfb, 33/65535.
    decrement: What an arrival at an empty bin takes off it; a number in [0, 1]; default: 0.0000457770656. Source:
        iproute2: tc-sfb, 3/65535.
    penalty_rate: Packets a second of flows that answer nothing that pass; a number in [0, 1000000000]; unit: 1/s;
        default: 10. Source: iproute2: tc-sfb.
    penalty_burst: Of those packets so many at once; a whole number in [0, 1000000]; unit: packets; default: 20.
        Source: iproute2: tc-sfb.
    rehash: How often the hashes change; a time with its unit, for example "40 ms"; default: 600 s. Source: iproute2:
        tc-sfb.
    warm_up: For how long before that flows that answer nothing train the next ones; a time with its unit, for example
        "40 ms"; default: 60 s. Source: iproute2: tc-sfb, db.
    Source: Feng, Kandlur, Saha, Shin 2001; Linux: sch_sfb.
    """

    kind: ClassVar[str] = "sfb"
    target: int | None = None
    max: int | None = None
    increment: float | None = None
    decrement: float | None = None
    penalty_rate: float | None = None
    penalty_burst: int | None = None
    rehash: str | None = None
    warm_up: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Afd(_Discipline):
    """Fair shares from one FIFO: each flow is signalled by its part of the packets that came last.

    A flow that sends too much loses what is too much, and no other loses for it: a flow at twice its share has every
    other packet signalled. The queue stands at q_target. The figure holds a queue of five equal flows, to which
    m_fair comes down within a second where the queue is above the target.

    What counts is a flow's part of some hundred packets, so that with more flows than that, or flows of few packets,
    the shares are left to chance. TCP's rate follows losses by its own law: AFD gives equal signals for equal rates,
    and flows with a longer round trip still get less where they cannot reach the fair share. The gains are for one
    rate: on slow links m_fair swings.

    q_target: Queue that is aimed at; a number of packets, or a size, for example 40, "40 packets" or "30 kB"; unit:
        packets; default: 50. Source: published implementations of Pan et al. 2003.
    alpha: Gain of the queue at the last update; below beta; a number in (0, 1000]; default: 1.7. Source: published
        implementations of Pan et al. 2003.
    beta: Gain of the queue now; a number in (0, 1000]; default: 1.8. Source: published implementations of Pan et al.
        2003.
    interval: Time between updates of m_fair; a time with its unit, for example "40 ms"; default: 6.25 ms. Source:
        published implementations of Pan et al. 2003: 160 Hz.
    shadow: Packets that the shadow buffer holds; a whole number in [10, 100000]; unit: packets; default: 500. Source:
        left open.
    sample: The part of the arriving packets that goes there; a number in [0.001, 1]; default: 0.2. Source: left open.
    Source: Pan, Breslau, Prabhakar, Shenker 2003.
    """

    kind: ClassVar[str] = "afd"
    q_target: float | str | None = None
    alpha: float | None = None
    beta: float | None = None
    interval: str | None = None
    shadow: int | None = None
    sample: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sfq(_Averaging):
    """Flows are hashed into slots that are served in turn; a full buffer costs the longest.

    Active flows have equal shares of the link, whatever they send, and a flow that fills the buffer loses its own
    packets alone. In the figure five flows share what is held: all wait for each other, and nothing is signalled
    before the buffer is full. With `perturb` flows that fell into one slot are parted after a while.

    It shares a standing queue and does not shorten it: without RED each flow fills its depth, and at a low rate 127
    packets are a long wait. It has no place ahead for sparse flows, as FQ-CoDel has. Flows in one slot share it, and
    whoever opens ten has ten shares. A change of the hash may let packets of a flow overtake each other. RED on a
    slot looks at bytes and not at time, and its average stands still while nothing of the slot arrives.

    divisor: Places of the hash; a whole number in [1, 65536]; default: 1024. Source: Linux: sch_sfq.
    flows: Slots: no more flows than this wait at once; a whole number in [1, 65408]; default: 128. Source: Linux:
        sch_sfq.
    depth: Packets of a slot; a whole number in [1, 65535]; unit: packets; default: 127. Source: Linux: sch_sfq.
    limit: Packets in all slots together; the link's buffer holds beside it, the smaller one counts; a whole number in
        [2, 1000000]; unit: packets; default: 127. Source: Linux: sch_sfq.
    quantum: Bytes that a slot may send in a round; a size with its unit, for example "1000 B"; default: 1514 B.
        Source: Linux: sch_sfq, the interface's MTU with its header.
    perturb: The hash changes every so often; a time with its unit, for example "40 ms"; left out: never. Source:
        Linux: sch_sfq, whole seconds.
    headdrop: Drops are from the head of a slot, not from its end; marks are, too; true or false; default: false.
        Source: Linux: sch_sfq.
    min_th: RED on each slot: average below which nothing is signalled. In packets it means mean ones; a number of
        packets, or a size, for example 40, "40 packets" or "30 kB"; unit: packets; left out: no RED. Source: Linux:
        sch_sfq, min.
    max_th: The average from which every packet is signalled; a number of packets, or a size, for example 40, "40
        packets" or "30 kB"; unit: packets; left out: 3·min_th. Source: Linux: sch_sfq, max.
    max_p: The probability just below that; a number in (0, 1]; default: 0.02. Source: Linux: sch_sfq, probability.
    w_q: Weight of the newest sample in a slot's average; a number in (0, 1]; default: 0.0625. Source: settled here;
        Linux finds it from burst and avpkt.
    harddrop: With `ecn`: from max_th on capable packets are dropped all the same; true or false; default: false.
        Source: Linux: sch_sfq.
    Source: McKenney 1990; Linux: sch_sfq.
    """

    kind: ClassVar[str] = "sfq"
    divisor: int | None = None
    flows: int | None = None
    depth: int | None = None
    limit: int | None = None
    quantum: str | None = None
    perturb: str | None = None
    headdrop: bool | None = None
    min_th: float | str | None = None
    max_th: float | str | None = None
    max_p: float | None = None
    w_q: float | None = None
    harddrop: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(_Discipline):
    """Marks every arriving packet while the queue is above a threshold, as DCTCP wants it.

    Made for DCTCP, which reads the fraction of marked packets: the instantaneous queue, without average or chance,
    tells it exactly when the queue is above K. With DCTCP the queue stands around K, at full utilisation if K is
    above about a seventh of the bandwidth-delay product. With `of = "phantom"` DCTCP gives up a tenth of the link,
    and next to nothing waits but bursts.

    For TCP that halves its window at a mark (RFC 3168) it is too harsh: K must then be a whole bandwidth-delay
    product, or the link idles. All flows are marked at once and back off at once. A packet that is not ECN-capable
    passes by default and competes with the others by filling the buffer; with `not_capable = "drop"` it loses
    everything above K, its SYNs too. The paper does not say which of the two is meant. A threshold in time below the
    time of a packet marks all that waits at all: `few` spares a queue so short. A phantom queue drains at a share of
    the rate that the link began with; senders that are not paced, as HULL's are, still send bursts that wait.

    threshold: K: a packet that finds more than this waiting is marked; a number of packets, or a size, for example
        40, "40 packets" or "30 kB"; unit: packets; default: 20. Source: Alizadeh et al. 2010, section 4: K = 20 at 1
        Gbit/s (65 at 10 Gbit/s).
    not_capable: What becomes of a packet above the threshold that may not be marked; "drop" is what a switch does
        that marks with RED; one of "pass", "drop"; default: pass. Source: left open by Alizadeh et al. 2010; RFC
        8257, section 5.1.
    kmax: From threshold up to this length packets are marked by a ramp, from it on always; a number of packets, or a
        size, for example 40, "40 packets" or "30 kB"; unit: packets; left out: no ramp. Source: switches with RED
        whose weight is 1; DCQCN: Zhu et al. 2015.
    pmax: The ramp's probability just below its end; a number in (0, 1]; left out: 1. Source: as kmax.
    spread: How the ramp's marks are spread: by chance, or evenly, by a count; one of "recur", "random"; left out:
        random. Source: RFC 9332, Figure 4.
    sojourn: In the place of threshold: a packet that has waited longer is marked as it leaves; a time with its unit,
        for example "40 ms"; left out: a threshold of length. Source: RFC 9332, appendix A; Linux: sch_dualpi2, 1 ms.
    sojourn_max: The end of the ramp, with sojourn; a time with its unit, for example "40 ms"; left out: no ramp.
        Source: as sojourn.
    few: No mark while at most so many packets are there, the one in question among them; a whole number in [0,
        1000000]; unit: packets; default: 0. Source: RFC 9332, Figure 7: 1.
    of: The queue that decides: the one that waits, or a phantom, of which threshold and kmax are lengths then. HULL's
        threshold is 6 kB at 1 Gbit/s, 15 kB at 10 Gbit/s; one of "queue", "phantom"; default: queue. Source: phantom:
        Alizadeh et al. 2012.
    gamma: γ: the phantom's rate as a share of the link's; a number in (0, 1]; left out: 0.95. Source: Alizadeh et al.
        2012.
    ecn: Mark packets that allow it instead of dropping them; true or false; default: true. Source: RFC 3168.
    Source: Alizadeh et al. 2010 (DCTCP); RFC 8257; HULL: Alizadeh et al. 2012.
    """

    kind: ClassVar[str] = "step"
    threshold: float | str | None = None
    not_capable: Literal["pass", "drop"] | None = None
    kmax: float | str | None = None
    pmax: float | None = None
    spread: Literal["recur", "random"] | None = None
    sojourn: str | None = None
    sojourn_max: str | None = None
    few: int | None = None
    of: Literal["queue", "phantom"] | None = None
    gamma: float | None = None
    ecn: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bernoulli(_Discipline):
    """Every packet is dropped or marked with the same probability, whatever waits.

    Each long flow of Reno's gets about 1.22·MSS / (RTT·√p), and the queue is what is left over: where that is less
    than the flow's share of the link, nothing waits, else the buffer fills. It is meant for theory, for loss of a
    known rate under ECN, and for a controller outside that sets p while the simulation runs.

    It controls nothing by itself: any load but one leaves the link idle or the buffer full. The probability does not
    depend on a packet's size, so small packets lose as often as large ones.

    p: Probability with which a packet is dropped or marked; a number in [0, 1]; default: 0.01. Source: Mathis et al.
        1997, figure 2: from 0.0001 to 0.1.
    Source: Mathis, Semke, Mahdavi, Ott 1997: losses of one probability.
    """

    kind: ClassVar[str] = "bernoulli"
    p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Custom(_Adaptive):
    """RED's family recombined: an estimator, a profile, a gate, a signal and an adapter, by name.

    It does what its parts do; with its defaults it is RED. A member of the family that is put together this way does
    the same, bit for bit, as its own kind. It is meant for combinations that nobody has published: a square profile
    with ARED's adapter, or two levels on the instantaneous queue. The adapter must have something to move: ared,
    feng-ared and amecn move max_p, nred moves n, the others the thresholds.

    Combinations that make no sense are not refused: nred's adapter does nothing to a ramp, amecn's p2_max nothing to
    one level. `alpha`, `beta` and `max_p_low` belong to the adapter that is chosen and have its defaults.

    estimator: What follows the queue: the weighted average, or the queue itself; one of "ewma", "instantaneous";
        default: ewma. Source: Floyd, Jacobson 1993; DCTCP looks at the queue itself.
    profile: From the average to probabilities; the keys are those of the kind that has it; one of "ramp",
        "rate-aware", "square", "power", "two-level"; default: ramp. Source: red; rared; nlred; nred; mecn.
    signal: Drop; or, with `ecn`, mark CE; or mark incipient and moderate congestion; one of "drop", "classic",
        "levels"; default: classic. Source: RFC 3168; AMECN paper, Table 1.
    adapter: What retunes the profile; the keys are those of the kind that has it; one of "none", "ared", "feng-ared",
        "amecn", "nred", "red-at", "dt-red", "pdt-red"; default: none. Source: the kinds of these names.
    mid_th: Average queue from which moderate marks are made; a number of packets, or a size, for example 40, "40
        packets" or "30 kB"; unit: packets; left out: min_th + 0.625·(max_th − min_th), which is 2.25·min_th where
        max_th = 3·min_th. Source: AMECN paper, section 3.3.3.
    p1_max: Ceiling of the incipient ramp, at max_th; a number in [0, 1]; default: 0.1. Source: reading: the paper
        does not say; ns-2's ramp.
    p2_max: Ceiling of the moderate ramp, at max_th; a number in [0, 1]; default: 0.1. Source: reading: the paper does
        not say; ns-2's ramp.
    above_max: Above max_th: drop with a probability that rises from the larger ceiling to 1 at 2·max_th; moderate
        marks with it; or drop everything; one of "gentle-drop", "gentle-mark", "drop"; default: gentle-drop. Source:
        AMECN paper: 2.1 drops all, 3.3.1 speaks of gentle mode.
    codepoints: Table 1's (CE, ECT) as two bits of the header: no congestion ECT(0), incipient ECT(1); or read as the
        field's value: no congestion ECT(1), incipient ECT(0). Moderate is CE; one of "wire", "literal"; default:
        wire. Source: AMECN paper, Table 1; RFC 2481 has ECT as the first bit.
    target_queue: Average queue to aim at, from which min_th follows where that is left out; instead of target_delay;
        a number of packets, or a size, for example 40, "40 packets" or "30 kB"; unit: packets; left out: from
        target_delay. Source: AMECN paper, section 3.3.3: target = 2·min_th.
    alpha_scale: A further factor of the increment; a number in (0, 100]; default: 1. Source: AMECN paper: Fig. 3;
        equation (4) has 0.17.
    deadband: Adapt only outside the target range; false: at any distance from its middle; true or false; default:
        true. Source: AMECN paper, Fig. 3: target is a range.
    adapt: Both: p2_max is p2_over_p1·p1_max, whatever it is set to; p1: it stays; one of "both", "p1"; default: both.
        Source: reading: the paper adapts "P_max".
    p2_over_p1: p2_max over p1_max, where both are adapted; a number in (0, 100]; default: 1. Source: reading.
    beta_floor: β is not below this; a number in [0, 1]; left out: none, as equation (3) prints. Source: AMECN paper,
        section 3.3.2: β from 0.83 to 1.
    slope_th: The average climbs when it rises faster than this; "auto": (max_th − min_th) in half a second; a number
        in [0, 1000000000] or one of "auto"; unit: packets/s; default: 20. Source: RARED paper, section 4; "auto" is
        ours (the paper's future work).
    max_p_climb: The probability while the average climbs; a number in (0, 1]; default: 0.8. Source: RARED paper,
        section 4: max_p'.
    climb: max_p_climb as it stands, an independent coin; or as the ceiling of the ramp, through the gate; or a coin
        that falls only while the queue itself is above max_th and, once it has signalled, not again within R =
        max(100 ms, 3·(delay + 1/C)), while RED goes on; one of "bernoulli", "ramp", "once"; default: bernoulli.
        Source: RARED paper, Fig. 1: p_d ← max_p'; "the maximum drop probability"; once: ours, R as ns-2 guesses a
        round trip.
    slope_of: Whether the average's slope counts, or the queue's; one of "average", "instantaneous"; default: average.
        Source: RARED paper, Fig. 1: average queue occupancy.
    n_min: Smallest exponent; a number in (0, 1000]; default: 1. Source: reading: the paper gives no bound.
    n_max: Largest exponent; a number in (0, 1000]; default: 5. Source: reading: the paper gives no bound.
    n_0: Exponent at the start; a number in (0, 1000]; default: 2. Source: reading: the paper gives no start.
    n_step: How far the exponent moves when the average crosses a threshold. "timed": every half second instead, down
        while the average is above the middle fifth between the thresholds and up while it is below, so far that p in
        their middle changes by a tenth; and up to max_th p is at most the straight line from 0 at min_th; a number in
        (0, 1000] or one of "timed"; default: 1. Source: NRED paper, section 2: n ± 1; timed: ours, after Floyd,
        Gummadi, Shenker 2001, Fig. 2.
    min_lo: Lower bound of min_th, min⁻; a number of packets, or a size, for example 40, "40 packets" or "30 kB";
        unit: packets; left out: 0.5·min_th. Source: reading: the paper gives no bound.
    min_hi: Upper bound of min_th, min⁺; a number of packets, or a size, for example 40, "40 packets" or "30 kB";
        unit: packets; left out: 1.5·min_th. Source: reading: the paper gives no bound.
    max_lo: Lower bound of max_th, max⁻; a number of packets, or a size, for example 40, "40 packets" or "30 kB";
        unit: packets; left out: 0.8·max_th, at least min_th. Source: reading: the paper gives no bound.
    max_hi: Upper bound of max_th, max⁺; a number of packets, or a size, for example 40, "40 packets" or "30 kB";
        unit: packets; left out: 1.2·max_th. Source: reading: the paper gives no bound.
    hold: A region acts when it has held for more than this many successive arrivals; its count then starts again; a
        whole number in [0, 1000000]; unit: arrivals; default: 4. Source: RED-AT paper, Fig. 6: cnt > 4.
    region_a: Region a is where the average is below min_hi, or below min_lo; one of "min_plus", "min_minus"; default:
        min_plus. Source: RED-AT paper: Fig. 6 prints min⁺, Fig. 5 fits min⁻.
    reset: Region b returns both thresholds to nominal; false: it leaves them; true or false; default: true. Source:
        RED-AT paper, Fig. 6.
    increase: Factor of max_p when the average rises above max_th; a number in [1, 1000]; default: 2. Source: Feng
        1999; ns-2: beta_.
    decrease: Divisor of max_p when the average falls below min_th; a number in [1, 1000]; default: 3. Source: Feng
        1999; ns-2: alpha_.
    min_th_target: The highest min_th; while it stands there equation (4) moves max_th; a number of packets, or a
        size, for example 40, "40 packets" or "30 kB"; unit: packets; left out: a quarter of the buffer. Source:
        RED-AT paper, section 4.3: "target"; its value is our reading.
    max_th_rule: At the target: add what equation (4) adds, as printed; or set max_th to the average that is expected
        after the burst, at least 2·min_th; one of "sum", "average"; default: sum. Source: RED-AT paper, equation (4).
    share_low: max_th of class 0 over the unused buffer: while the queue stands its ramp reaches max_p at B·a/(1 + a),
        a third of the buffer; a number in (0, 1000000]; default: 0.5. Source: reading.
    share_high: The same of the highest class, in the limit: four fifths of the buffer; a number in (0, 1000000];
        default: 4. Source: reading.
    ratio: max_th over min_th of every class; a number in (1, 1000000]; default: 3. Source: Floyd 1997: max_th =
        3·min_th.
    alpha: Step up of the adapter that has an alpha; a number in (0, 1]; left out: the adapter's. Source: ared;
        red-at.
    beta: Step down of the adapter that has a beta; a number in (0, 1]; left out: the adapter's. Source: ared; red-at.
    max_p_low: Lower bound of max_p of the adapter that has one; a number in [0, 1] or one of "rate"; left out: the
        adapter's. Source: ared; feng-ared.
    max_p_high: Upper bound of max_p of the adapter that has one; a number in [0, 1] or one of "none"; left out: the
        adapter's. Source: ared; feng-ared.
    Source: the parts' papers.
    """

    kind: ClassVar[str] = "custom"
    estimator: Literal["ewma", "instantaneous"] | None = None
    profile: Literal["ramp", "rate-aware", "square", "power", "two-level"] | None = None
    signal: Literal["drop", "classic", "levels"] | None = None
    adapter: Literal["none", "ared", "feng-ared", "amecn", "nred", "red-at", "dt-red", "pdt-red"] | None = None
    mid_th: float | str | None = None
    p1_max: float | None = None
    p2_max: float | None = None
    above_max: Literal["gentle-drop", "gentle-mark", "drop"] | None = None
    codepoints: Literal["wire", "literal"] | None = None
    target_queue: float | str | None = None
    alpha_scale: float | None = None
    deadband: bool | None = None
    adapt: Literal["both", "p1"] | None = None
    p2_over_p1: float | None = None
    beta_floor: float | None = None
    slope_th: float | Literal["auto"] | None = None
    max_p_climb: float | None = None
    climb: Literal["bernoulli", "ramp", "once"] | None = None
    slope_of: Literal["average", "instantaneous"] | None = None
    n_min: float | None = None
    n_max: float | None = None
    n_0: float | None = None
    n_step: float | Literal["timed"] | None = None
    min_lo: float | str | None = None
    min_hi: float | str | None = None
    max_lo: float | str | None = None
    max_hi: float | str | None = None
    hold: int | None = None
    region_a: Literal["min_plus", "min_minus"] | None = None
    reset: bool | None = None
    increase: float | None = None
    decrease: float | None = None
    min_th_target: float | str | None = None
    max_th_rule: Literal["sum", "average"] | None = None
    share_low: float | None = None
    share_high: float | None = None
    ratio: float | None = None
    alpha: float | None = None
    beta: float | None = None
    max_p_low: float | Literal["rate"] | None = None
    max_p_high: float | Literal["none"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Traffic(Table):
    """A group of flows.

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
    source_host: The host that all flows of the group come from, as disciplines that share a link among hosts see it:
        groups that name it share it. Each flow keeps its own access link; a text; left out: each flow has its own;
        web: each pair.
    destination_host: The host that all flows of the group go to, in the same way; a text; left out: each flow has its
        own; web: each pair.
    access_delay: Delay of this group's links on the side of `topology.access`, instead of its `delay`: it counts
        twice in a round trip. The links on the other side keep theirs: that of `topology.egress`, or without one that
        of `topology.access`; a time, { uniform = [a, b] } or { spread = [a, b] }, for example { spread = ["2 ms", "27
        ms"] }; left out: the topology's.
    """

    name: str | None = None
    flows: int | None = None
    start: str | Spec | None = None
    stop: str | None = None
    direction: Literal["forward", "reverse"] | None = None
    from_: str | None = None
    to: str | None = None
    class_: int | None = None
    source_host: str | None = None
    destination_host: str | None = None
    access_delay: str | Spec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tcp(_Traffic):
    """Flows of TCP.

    tcp: The sender's variant; one of "tahoe", "reno", "newreno", "sack", "vegas", "westwood", "highspeed", "cubic",
        "dctcp", "ledbat", "bbr", "bbr3", "prague", "fixed"; default: reno; with profile linux: cubic; with profile
        quic: cubic. Source: the papers' experiments use Reno; Linux: CONFIG_DEFAULT_TCP_CONG; quinn, neqo, s2n-quic.
    ecn: How the two ends use ECN. mecn: not with vegas and dctcp. accecn: the header's counter; with `accecn_option`
        the TCP option as well. sce: with Reno's four, cubic and dctcp. With dctcp the default is classic; one of
        "off", "classic", "mecn", "accecn", "sce"; default: off. Source: RFC 3168; mecn: Durresi 2007, tables 1 to 3;
        accecn: RFC 9768; sce: draft-morton-tsvwg-sce-04.
    segment: Payload of a full segment; a size with its unit, for example "1000 B"; default: 1000 B; with profile
        linux: 1448 B; with profile quic: 1165 B. Source: the papers' packets; Ethernet's 1500 B less IPv4, TCP and
        timestamps; QUIC: 1200 B less its header, a STREAM frame's and the tag.
    header: Header bytes that the wire counts on a data segment; an ACK and a SYN are 40 B, and with `timestamps` as
        long as their options make them; a size with its unit, for example "1000 B"; left out: the scenario's
        `overhead` (40 B), with `timestamps` 12 B more. Source: IPv4 and TCP without options.
    timestamps: Every packet has a timestamp, and an ACK returns that of the segment which it answers: each ACK of new
        data gives a sample of the round trip, and with rack a cut is taken back when the original turns out to have
        arrived. The clock is `tick`; true or false; default: false; with profile linux: true. Source: RFC 7323; RFC
        3522 (Eifel); Linux: tcp_timestamps.
    window: The receiver's window: at most this much is outstanding; a whole number in [1, 268435456]; unit: segments;
        default: 1000; with profile ns-2: 20; with profile linux: 11586. Source: ns-2: window_; Linux: half of
        tcp_rmem's 32 MiB, which it grows to.
    window_start: The receiver's window at the start, from which it grows to `window` with what arrives in a round
        trip; a whole number in [1, 268435456]; unit: segments; left out: `window`, from the start. Source: Linux:
        tcp_rcv_space_adjust, tcp_grow_window; half of tcp_rmem's 128 KiB is 45.
    send_buffer: The most that a socket's send buffer grows to. What the application has written stays in it until an
        ACK covers it. It grows with the window, to two of them (bbr: three); a size with its unit, for example "1000
        B"; left out: it holds every window. Source: Linux: tcp_sndbuf_expand, sk_stream_write_space; tcp_wmem's most
        is 4 MiB.
    delayed_ack: Acknowledge every second segment, or after `delayed_ack_timeout`; true or false; default: false; with
        profile linux: true; with profile quic: true. Source: RFC 1122 4.2.3.2; RFC 9000 13.2.2; the papers do
        without.
    delayed_ack_timeout: How long a delayed ACK waits for a second segment; part of the timeout with recovery quic; a
        time with its unit, for example "40 ms"; default: 100 ms; with profile linux: 40 ms; with profile quic: 25 ms.
        Source: RFC 5681 4.2: at most 500 ms; ns-2: 100 ms; Linux: TCP_DELACK_MIN; RFC 9000 18.2: max_ack_delay.
    delayed_ack_adapts: How long a delayed ACK waits follows the gaps between segments, and doubles when it was in
        vain: from `delayed_ack_timeout` up to the round trip of the handshake, in whole ticks of the host's clock,
        with one of which it ends; true or false; default: false; with profile linux: true. Source: Linux:
        tcp_event_data_recv, tcp_delack_timer_handler.
    quickack: With delayed ACKs: so many at the start, and after a pause longer than a timeout, are not delayed. Where
        they adapt, five more at the start, while the window grows; a whole number in [0, 1000]; unit: ACKs; default:
        0; with profile linux: 16. Source: Linux: TCP_MAX_QUICKACKS.
    sack_compression: With delayed ACKs and SACK: after three duplicate ACKs, those of further segments out of order
        wait for each other so long, but no longer than a twentieth of the handshake's round trip; a time with its
        unit, for example "40 ms"; default: 0 s; with profile linux: 1 ms. Source: Linux: tcp_comp_sack_delay_ns.
    min_rto: Lower bound of the retransmission timeout, before back-off; with the clock linux that of the deviation in
        it; a time with its unit, for example "40 ms"; default: 1 s; with profile ns-2: 200 ms; with profile linux:
        200 ms; with profile quic: 0 s. Source: RFC 6298 (2.4); Linux: TCP_RTO_MIN; RFC 9002 has none.
    max_rto: Upper bound of the retransmission timeout; a time with its unit, for example "40 ms"; default: 60 s; with
        profile linux: 120 s. Source: RFC 6298 (2.5); Linux: TCP_RTO_MAX.
    initial_rto: Timeout before the first round-trip sample; a time with its unit, for example "40 ms"; default: 1 s;
        with profile ns-2: 3 s. Source: RFC 6298 (2.1).
    tick: Granularity of the host's clock, by which round trips are measured (its phase is random) and timestamps are
        made; with `rtt_clock` linux these are in milliseconds, and it is the jiffy of delayed ACKs and of CUBIC; a
        time with its unit, for example "40 ms"; default: 1 ms; with profile ns-2: 10 ms. Source: RFC 6298 (2): clock
        granularity G.
    rtt_clock: Whether round trips are measured exactly, or with integer arithmetic: in whole ticks, or in
        microseconds as Linux does, where the timeout is the smoothed round trip and at least `min_rto`; one of
        "exact", "ticks", "linux"; default: exact; with profile ns-2: ticks; with profile linux: linux. Source: RFC
        6298; ns-2 and 4.4BSD count ticks in integers; Linux: tcp_rtt_estimator.
    linear_syns: So many SYNs are sent again after `initial_rto` each, before that doubles; a whole number in [0,
        255]; default: 0; with profile linux: 4. Source: RFC 6298 (5.5): none; Linux: tcp_syn_linear_timeouts.
    initial_window: Congestion window after the handshake; a whole number in [1, 1000]; unit: segments; default: 2;
        with profile linux: 10; with profile quic: 10. Source: RFC 2581; ns-2: windowInit_ 2; Linux: RFC 6928; RFC
        9002 7.2.
    initial_ssthresh: Slow-start threshold at the start; a number in [1, 1000000000]; unit: segments; left out: no
        limit; under profile ns-2 the window. Source: RFC 5681 3.1: arbitrarily high.
    limited_transmit: Send a new segment on the first and second duplicate ACK; true or false; default: true. Source:
        RFC 3042.
    send_overhead: Each transmission waits a random time up to this, against phase effects; a time with its unit, for
        example "40 ms"; default: 0 s. Source: ns-2: overhead_.
    cwnd_floor: The congestion window never goes below this; a number in [0, 1000]; unit: segments; default: 1; with
        profile ns-2: 0; with profile quic: 2. Source: RFC 3168 6.1.2; ns-2 has no floor after ECN cuts; RFC 9002:
        kMinimumWindow.
    ssthresh_from: What a cut halves: the data outstanding, at most cwnd; the window in force, rounded down to whole
        segments; or cwnd; one of "flight", "window", "cwnd"; default: flight; with profile ns-2: window; with profile
        linux: cwnd; with profile quic: cwnd. Source: RFC 5681 (4): FlightSize; ns-2: min(cwnd, window); Linux:
        snd_cwnd; RFC 9002 7.3.2.
    whole_cwnd: Keep cwnd and ssthresh in whole segments: what growth has short of one is counted until it makes one,
        and forgotten at a cut; true or false; default: false; with profile linux: true. Source: Linux: snd_cwnd_cnt.
    growth: Whether growth counts the bytes that an ACK covers (in slow start at most one segment), one step for each
        ACK, or every segment that it covers; one of "bytes", "acks", "segments"; default: bytes; with profile ns-2:
        acks; with profile linux: segments; with profile quic: segments. Source: RFC 5681 3.1 (min(N, SMSS)); ns-2
        takes one step an ACK; Linux, RFC 9002 7.3.1: no limit an ACK.
    window_validation: Grow cwnd only while it, not the receiver or the application, limits sending. linux judges that
        by a round trip: in slow start more than half of cwnd must have been outstanding, later all of it; and a
        window that goes unused for a timeout shrinks towards what is used; true, false or one of "linux"; default:
        true; with profile ns-2: false; with profile linux: linux; with profile quic: linux. Source: RFC 7661 4.1, RFC
        5681 4.1; ns-2 lets cwnd grow without a cap; Linux: tcp_cwnd_validate.
    idle_restart: A sender that has had nothing outstanding for longer than a timeout halves cwnd for each of these,
        down to the initial window; true or false; default: false; with profile linux: true. Source: RFC 2861; RFC
        5681 4.1; Linux: tcp_slow_start_after_idle.
    go_back_n: After a timeout send everything outstanding again from the first hole; false: only what no SACK has
        reported (variant sack); true or false; default: true; with profile ns-2: true; with profile linux: false.
        Source: ns-2; 4.4BSD; Linux: tcp_timeout_mark_lost.
    loss_recovery: Recovery's book-keeping: the RFCs', or ns-2's (bugfix rule, impatient partial ACKs, pipe of SACK);
        one of "rfc", "ns-2"; default: rfc; with profile ns-2: ns-2. Source: RFC 6582, RFC 6675; ns-2 2.35.
    retransmit_ect: Whether retransmissions are ECN-capable; true or false; default: false; with profile ns-2: true;
        with profile quic: true. Source: RFC 3168 6.1.5; RFC 9000 13.4.
    ecn_across_connections: Whether successive connections of the same two ends (web) inherit the receiver's echo and
        the sender's CWR; true or false; default: false; with profile ns-2: true. Source: ns-2: a sink's echo and a
        sender's CWR outlive a reset.
    beta1: mecn: the part of the window that an incipient mark takes; a number in [0, 0.99]; default: 0.2. Source:
        Durresi 2007, table 3.
    beta2: mecn: the part of the window that a moderate mark takes; a number in [0, 0.99]; default: 0.4. Source:
        Durresi 2007, table 3.
    beta3: mecn: the part of Reno's window that a loss takes; a number in [0, 0.99]; default: 0.5. Source: Durresi
        2007, table 3.
    incipient: mecn: an incipient mark takes beta1 of the window, only keeps its ACK from growing it, or takes one
        segment (at most half); one of "decrease", "hold", "additive"; default: decrease. Source: Durresi 2007, table
        3; hold and additive: section 2.3.
    escalate: mecn: a moderate mark in a window already cut for an incipient one deepens that cut; true or false;
        default: false. Source: our reading: the paper is silent.
    latch: mecn: the receiver repeats the highest level until the sender says that it has reduced its window; false:
        each ACK tells the highest level among the packets that it answers; true or false; default: false. Source: RFC
        3168 6.1.3 does so; Durresi 2007 reflects each mark once.
    codepoints: mecn: wire: data are ECT(0), ECT(1) is incipient; literal: Table 1's order of the bits, the other way
        round; one of "wire", "literal"; left out: as the discipline says. Source: Durresi 2007, table 1; RFC 2481.
    accecn_option: accecn: ACKs carry the option that counts bytes by code point; true or false; default: false; with
        profile linux: true. Source: RFC 9768 3.2.3; Linux: tcp_ecn_option.
    ace: accecn: whose rules of the ACE field hold. rfc: a receiver ACKs at once the first mark after none, and each
        second mark; a sender takes the largest number that fits where the field may have wrapped. linux: at once each
        change of the ECN field, and six marks; the smallest number from a receiver whose ACKs usually answer more
        than four packets; one of "rfc", "linux"; default: rfc; with profile linux: linux. Source: RFC 9768 3.2.2.5,
        A.2; Linux 6.18.
    ect_on: accecn: which packets are ECN-capable. established: all after the handshake, retransmissions and ACKs too,
        as Linux has it; all: the SYN and its answer as well (ECN++). Marks on ACKs are counted and told in the data's
        ACE field; one of "data", "established", "all"; default: data; with profile linux: established. Source: RFC
        3168 6.1; draft-ietf-tcpm-generalized-ecn; Linux 6.18.
    ecn_fallback: A SYN that is sent again asks for less and then for nothing, and an end that finds ECN's bits
        changed on the way sends no more ECN-capable packets; true or false; default: false; with profile linux: true.
        Source: RFC 3168 6.1.1.1; RFC 9768 3.1.4, 3.2.2.3, 3.2.2.4; Linux: tcp_ecn_fallback.
    handshake: Open with SYN and SYN-ACK; false: the first data segment takes their place; true or false; default:
        true. Source: RFC 9293; ns-2's Vegas has none.
    whole_segments: Round a byte count up to whole segments; true or false; default: false; with profile ns-2: true.
        Source: ns-2 counts packets.
    pacing: Whether segments leave their host at a pace under any control: with fq twice as fast as the window would
        have it, or 1.2 times from half of ssthresh on, after a first ten that leave at once; with always 1.25 times.
        Controls that have a pace of their own keep it; one of "off", "fq", "always"; default: off; with profile quic:
        always. Source: Linux: tcp_update_pacing_rate, sch_fq; RFC 9002 7.7.
    pacing_gain: How much faster segments are paced than a window in each round trip; a number in (0, 100]; left out:
        1.2 with pacing fq, 1.25 with always. Source: Linux: tcp_pacing_ca_ratio; RFC 9002 7.7: N.
    pacing_gain_start: The same in slow start: with fq below half of ssthresh, with always below ssthresh; a number in
        (0, 100]; left out: 2 with pacing fq, pacing_gain with always. Source: Linux: tcp_pacing_ss_ratio; s2n-quic
        has 2.
    min_tso_segments: With recovery rack: new segments leave in bursts of what the pace of a millisecond has, or
        Linux's would have, and of more below a round trip of 6 ms, but of so many at least and of 64 kB at most. 0:
        they leave one by one; a whole number in [0, 64]; unit: segments; default: 0. Source: Linux: tcp_min_tso_segs,
        which is 2.
    reduction: rack: a cut for a loss or a mark takes effect over a round trip, by proportional rate reduction, or at
        once; one of "prr", "at once"; default: prr. Source: RFC 9937; for marks: Linux.
    tlp: rack: a probe of the tail goes out after two round trips of silence; true or false; default: true. Source:
        RFC 8985 7.
    undo: rack, quic: a cut for a loss that turns out to be none is taken back: by DSACK, and with rack after a
        timeout by F-RTO; true or false; default: true. Source: RFC 3708, RFC 5682; Linux.
    packet_threshold: quic: a transmission is lost once one that was sent so many later has arrived; a whole number in
        [1, 10000]; unit: packets; default: 3. Source: RFC 9002 6.1.1: kPacketThreshold.
    time_threshold: quic: a transmission is lost once a later one has arrived and so many round trips have passed, 1
        ms at least; a number in [1, 100]; unit: round trips; default: 1.125. Source: RFC 9002 6.1.2: kTimeThreshold,
        kGranularity.
    pto_probes: quic: so many probes go out when nothing has arrived for the probe timeout: new segments, or the
        oldest again; a whole number in [1, 2]; default: 2. Source: RFC 9002 6.2.4.
    persistent_congestion: quic: losses that span so many probe timeouts leave the smallest window, `cwnd_floor`; a
        number in [1, 1000]; unit: probe timeouts; default: 3. Source: RFC 9002 7.6.1: kPersistentCongestionThreshold.
    first_repair_free: quic: one lost segment is sent again at once, however much is in flight; true or false;
        default: false. Source: RFC 9002 7.3.2; s2n-quic.
    hystart: What ends slow start before a loss: nothing; linux: HyStart as in Linux's CUBIC, by growing round trips
        or trains of ACKs; rfc9406: HyStart++, by growing round trips, with up to five rounds of slower growth in
        which it may think better of it; one of "off", "linux", "rfc9406"; default: off. Source: RFC 5681 has none;
        Linux 6.x tcp_cubic.c; RFC 9406.
    beta_ecn: ABE: what a mark leaves of the window in congestion avoidance. RFC 8511 has 0.8 for Reno's window and
        0.85 for CUBIC's. Not with ecn = mecn, whose marks have their own; a number in (0, 0.999999]; left out: what a
        loss leaves. Source: RFC 8511 3.1.
    alpha: Vegas grows below this many segments queued; a number in [0, 1000000]; unit: segments; default: 2; with
        profile ns-2: 1. Source: Brakmo 1994.
    beta: Vegas shrinks above this many segments queued; a number in [0, 1000000]; unit: segments; default: 4; with
        profile ns-2: 3. Source: Brakmo 1994.
    gamma: Vegas leaves slow start above this many segments queued; a number in (0, 1000000]; unit: segments; default:
        1. Source: Brakmo 1994.
    vegas: Whose Vegas: the paper's with its own repair of losses, or Linux's, which takes the least round trip of
        each, doubles in slow start, halves for losses and marks, and leaves their repair to recovery = "rack"; one of
        "rfc", "linux"; default: rfc; with profile linux: linux. Source: Brakmo 1994; Linux 6.x tcp_vegas.c.
    gain: Westwood's filter: how much of the bandwidth estimate stays from one round trip to the next; a number in [0,
        0.999999]; default: 0.9. Source: Mascolo 2001; Patel 2014, eq. 3.
    westwood_cwnd: Three duplicate ACKs set cwnd to min(cwnd, ssthresh), or as printed to ssthresh; one of "min",
        "printed"; default: min. Source: Grieco 2004; printed: Patel 2014, fig. 3.
    westwood: Whose Westwood: the papers', or Linux's, which filters twice, samples at most every 50 ms, halves the
        window, and sets it to the estimate when the cut is over. linux goes with recovery = "rack"; one of "rfc",
        "linux"; default: rfc; with profile linux: linux. Source: Grieco 2004; Linux 6.x tcp_westwood.c.
    recovery: How controls other than Reno's and Vegas's repair losses; selective acknowledgements are negotiated for
        sack, rack and quic. rack and quic go with reno, too; one of "newreno", "sack", "rack", "quic"; default: sack;
        with profile linux: rack; with profile quic: quic. Source: RFC 6582, RFC 6675; rack: RFC 8985 as in Linux;
        quic: RFC 9002; Westwood+ was written on NewReno.
    low_window: HighSpeed is Reno up to this window; a number in [2, 1000000000]; unit: segments; default: 38. Source:
        RFC 3649 5.
    high_window: The window that HighSpeed reaches at a drop rate of high_p; a number in [2, 1000000000]; unit:
        segments; default: 83000. Source: RFC 3649 5.
    high_p: The drop rate at which HighSpeed's window is high_window; a number in (0, 1]; default: 0.0000001. Source:
        RFC 3649 5.
    high_decrease: The part of the window that a loss takes at high_window; 0.5 up to low_window; a number in (0,
        0.5]; default: 0.1. Source: RFC 3649 5.
    highspeed: Whose HighSpeed: RFC 3649's formulas, or Linux's, with the steps of the RFC's table, whole windows
        after a cut, and one step for each ACK; one of "rfc", "linux"; default: rfc; with profile linux: linux.
        Source: RFC 3649 5 and B; Linux 6.x tcp_highspeed.c.
    cubic_c: CUBIC's C: how steeply the window grows; a number in (0, 1000]; unit: segments/s^3; default: 0.4. Source:
        RFC 9438 5.1.
    cubic_beta: CUBIC's beta: what a cut leaves of the window; a number in (0, 0.999999]; default: 0.7. Source: RFC
        9438 4.6.
    fast_convergence: CUBIC aims lower than the last maximum where that was below the one before; true or false;
        default: true. Source: RFC 9438 4.7.
    cubic: Whose CUBIC: RFC 9438's, or Linux's in integers, which reads its curve a minimum round trip ahead, adds
        whole segments, and forgets its maximum at a timeout; one of "rfc", "linux"; default: rfc; with profile linux:
        linux. Source: RFC 9438; Linux 6.x tcp_cubic.c.
    reno_friendly: How fast Reno's part of CUBIC grows above the last maximum: rfc: by a segment a round trip, linux:
        by 9/17 (in integers 8/15), as below it; one of "rfc", "linux"; left out: as `cubic` says; with profile quic:
        linux. Source: RFC 9438 4.3; Linux 6.x tcp_cubic.c; quinn, neqo, s2n-quic.
    g: Weight of the newest window in DCTCP's estimate of the marked fraction; a number in (0, 1]; default: 0.0625.
        Source: RFC 8257 4.2.
    dctcp: Whose DCTCP: RFC 8257's, or Linux's in integers, in which g is a power of two, small fractions count as
        none, and a cut takes whole segments; no ACK covers marked segments and others; one of "rfc", "linux";
        default: rfc; with profile linux: linux. Source: RFC 8257; Linux 6.x tcp_dctcp.c.
    ledbat_target: LEDBAT's TARGET: the queuing delay that it keeps. RFC 7928 compares disciplines with a target of 5
        ms; a time with its unit, for example "40 ms"; default: 100 ms. Source: RFC 6817 2.5: at most 100 ms; RFC 7928
        5.4.
    ledbat_gain: LEDBAT's GAIN: segments per round trip while there is no queue. Above 1 it grows faster than Reno,
        which RFC 6817 forbids; RFC 7928 sets 10; a number in (0, 1000]; unit: segments; default: 1. Source: RFC 6817
        2.5: at most 1; RFC 7928 5.4.
    base_history: Minutes whose smallest delays are remembered: the smallest of all is LEDBAT's base delay; a whole
        number in [1, 1000]; unit: min; default: 10. Source: RFC 6817 2.5.
    current_filter: Delays, none older than a round trip, of which LEDBAT takes the smallest; a whole number in [1,
        1000]; default: 4. Source: RFC 6817 2.5: at least 4 in a round trip.
    allowed_increase: How far LEDBAT's window may grow above what was outstanding; a number in (0, 1000]; unit:
        segments; default: 1. Source: RFC 6817 2.5.
    min_cwnd: LEDBAT's window goes below this at a timeout alone; a number in [1, 1000]; unit: segments; default: 2.
        Source: RFC 6817 2.5.
    bbr_cwnd_gain: BBR's congestion window in bandwidth-delay products, once the pipe is full; a number in [1, 16];
        default: 2. Source: Linux: bbr_cwnd_gain.
    bbr_min_rtt_window: How long BBR keeps a minimum round trip before it lets the queue empty to measure again; a
        time with its unit, for example "40 ms"; default: 10 s. Source: Linux: bbr_min_rtt_win_sec.
    bbr_loss_threshold: The lost fraction of what was under way above which a probe was too high; a number in (0, 1];
        default: 0.02. Source: draft-ietf-ccwg-bbr: BBR.LossThresh.
    bbr_beta: What a lossy round leaves of the bounds, at least; a number in (0, 1]; default: 0.7. Source:
        draft-ietf-ccwg-bbr: BBR.Beta.
    bbr_headroom: The share of the long-term bound that is left to others between probes; a number in [0, 0.9];
        default: 0.15. Source: draft-ietf-ccwg-bbr: BBR.Headroom.
    prague_g: Weight of the newest round trip in Prague's estimate of the marked fraction; a number in (0, 1];
        default: 0.0625. Source: Linux: PRAGUE_SHIFT_G 4.
    prague_rtt: The round trip below which Prague grows and answers marks as it does at this one; 0: round trips count
        as they are; a time with its unit, for example "40 ms"; default: 25 ms. Source: Linux: prague_rtt_target 25
        ms; RFC 9331 4.3.
    prague_rtt_transition: Round trips after slow start before `prague_rtt` counts; a whole number in [0, 1048576];
        default: 4. Source: Linux: prague_rtt_transition.
    fixed_window: The congestion window, until somebody sets another one; a number in [1, 1000000000]; unit: segments;
        default: 10. Source: RFC 6928: the initial window.
    """

    tcp: (
        Literal[
            "tahoe",
            "reno",
            "newreno",
            "sack",
            "vegas",
            "westwood",
            "highspeed",
            "cubic",
            "dctcp",
            "ledbat",
            "bbr",
            "bbr3",
            "prague",
            "fixed",
        ]
        | None
    ) = None
    ecn: Literal["off", "classic", "mecn", "accecn", "sce"] | None = None
    segment: str | None = None
    header: str | None = None
    timestamps: bool | None = None
    window: int | None = None
    window_start: int | None = None
    send_buffer: str | None = None
    delayed_ack: bool | None = None
    delayed_ack_timeout: str | None = None
    delayed_ack_adapts: bool | None = None
    quickack: int | None = None
    sack_compression: str | None = None
    min_rto: str | None = None
    max_rto: str | None = None
    initial_rto: str | None = None
    tick: str | None = None
    rtt_clock: Literal["exact", "ticks", "linux"] | None = None
    linear_syns: int | None = None
    initial_window: int | None = None
    initial_ssthresh: float | None = None
    limited_transmit: bool | None = None
    send_overhead: str | None = None
    cwnd_floor: float | None = None
    ssthresh_from: Literal["flight", "window", "cwnd"] | None = None
    whole_cwnd: bool | None = None
    growth: Literal["bytes", "acks", "segments"] | None = None
    window_validation: bool | Literal["linux"] | None = None
    idle_restart: bool | None = None
    go_back_n: bool | None = None
    loss_recovery: Literal["rfc", "ns-2"] | None = None
    retransmit_ect: bool | None = None
    ecn_across_connections: bool | None = None
    beta1: float | None = None
    beta2: float | None = None
    beta3: float | None = None
    incipient: Literal["decrease", "hold", "additive"] | None = None
    escalate: bool | None = None
    latch: bool | None = None
    codepoints: Literal["wire", "literal"] | None = None
    accecn_option: bool | None = None
    ace: Literal["rfc", "linux"] | None = None
    ect_on: Literal["data", "established", "all"] | None = None
    ecn_fallback: bool | None = None
    handshake: bool | None = None
    whole_segments: bool | None = None
    pacing: Literal["off", "fq", "always"] | None = None
    pacing_gain: float | None = None
    pacing_gain_start: float | None = None
    min_tso_segments: int | None = None
    reduction: Literal["prr", "at once"] | None = None
    tlp: bool | None = None
    undo: bool | None = None
    packet_threshold: int | None = None
    time_threshold: float | None = None
    pto_probes: int | None = None
    persistent_congestion: float | None = None
    first_repair_free: bool | None = None
    hystart: Literal["off", "linux", "rfc9406"] | None = None
    beta_ecn: float | None = None
    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None
    vegas: Literal["rfc", "linux"] | None = None
    gain: float | None = None
    westwood_cwnd: Literal["min", "printed"] | None = None
    westwood: Literal["rfc", "linux"] | None = None
    recovery: Literal["newreno", "sack", "rack", "quic"] | None = None
    low_window: float | None = None
    high_window: float | None = None
    high_p: float | None = None
    high_decrease: float | None = None
    highspeed: Literal["rfc", "linux"] | None = None
    cubic_c: float | None = None
    cubic_beta: float | None = None
    fast_convergence: bool | None = None
    cubic: Literal["rfc", "linux"] | None = None
    reno_friendly: Literal["rfc", "linux"] | None = None
    g: float | None = None
    dctcp: Literal["rfc", "linux"] | None = None
    ledbat_target: str | None = None
    ledbat_gain: float | None = None
    base_history: int | None = None
    current_filter: int | None = None
    allowed_increase: float | None = None
    min_cwnd: float | None = None
    bbr_cwnd_gain: float | None = None
    bbr_min_rtt_window: str | None = None
    bbr_loss_threshold: float | None = None
    bbr_beta: float | None = None
    bbr_headroom: float | None = None
    prague_g: float | None = None
    prague_rtt: str | None = None
    prague_rtt_transition: int | None = None
    fixed_window: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Datagrams(_Traffic):
    """Datagrams at a rate.

    rate: Rate of each flow (onoff: while on), counted on the wire; a rate with its unit, for example "1.5 Mbit/s";
        required.
    packet: Size of a packet on the wire; a size with its unit, for example "1000 B"; default: 1000 B. Source: the
        papers' packets.
    jitter: Each gap between two packets (onoff: of one on-period) is multiplied by 1 + U(−jitter, jitter); a number
        in [0, 1]; default: 0. Source: ns-2: random_ is 0.5.
    """

    rate: str
    packet: str | None = None
    jitter: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ftp(_Tcp):
    """Long-lived TCP transfers.

    bytes: Payload of each flow, or what each flow draws its own from; a size with its unit, or a distribution, for
        example "100 kB", { exponential = "12 kB" } or { empirical = "sizes.cdf" }; unit: B; left out: without end.
    connect: When each flow connects, before its `start`: it sends `greeting` then, and the rest from `start` on, as
        the streams of one iperf3 do, which begin together when all are connected. So both ends know the path's round
        trip before there is a queue; a time, { uniform = [a, b] } or { every = d, from = t }, for example { uniform =
        ["0 s", "0.1 s"] }; left out: at its start. Source: iperf3: each stream sends its cookie and waits for the
        others.
    greeting: Payload that a flow sends when it connects before its `start`; a size with its unit, for example "1000
        B"; unit: B; default: 37 B. Source: iperf3's cookie.
    arrivals: Transfers begin at random, whatever became of those before (an open loop, a Poisson process), from
        `start` until `stop`; one that has begun goes on. `rate` is how many a second. `load` is the part of the
        bottleneck's mean rate that their payload is: load × rate ÷ (8 × mean of `bytes`) transfers a second, headers
        and what is sent again not counted. A backward group's bottleneck is the one of its own direction; how often
        transfers begin, for example { poisson = { load = 0.6 } } or { poisson = { rate = "200 /s" } }; left out: the
        flows that `flows` and `start` say. Source: Alizadeh et al. 2010 (DCTCP), section 4.3; 2013 (pFabric), section
        5.1.
    pairs: Pairs of hosts that the flows share: flow i is on pair i mod pairs. With `arrivals` each transfer takes one
        of them at random; a whole number in [1, 1000000]; left out: each flow has its own.
    lead_in: The flows begin before the scenario's time zero, from which all other times count. It comes when each of
        them has been in congestion avoidance, or after this long. Their own `start` counts from the beginning; a time
        with its unit, for example "40 ms"; left out: they begin with the scenario. Source: RFC 7928, sections 5.1.2,
        8.2.
    Source: ns-2: Application/FTP.
    """

    kind: ClassVar[str] = "ftp"
    bytes: str | Spec | None = None
    connect: str | Spec | None = None
    greeting: str | None = None
    arrivals: Spec | None = None
    pairs: int | None = None
    lead_in: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Web(_Tcp):
    """Sessions of pages: each object is a TCP connection of its own. With `connections`, as a browser fetches them.

    sessions: Sessions, each of which fetches page after page; a whole number in [1, 10000000]; left out: `flows`.
    pairs: Pairs of hosts that the sessions share: session i is on pair i mod pairs. The server is on the left; a
        whole number in [1, 10000000]; left out: one a session.
    object: Size of an object; a distribution, for example { pareto = { shape = 1.5, mean = "12 kB", max = "500 kB" }
        }, { exponential = "12 kB" }, { constant = "12 kB" }, { uniform = ["1 kB", "9 kB"] } or { empirical =
        "sizes.cdf" }; default: { pareto = { shape = 1.5, mean = "12 kB", max = "500 kB" } }. Source: the reference
        runs in ns-2.
    objects_per_page: Objects of a page, fetched one after the other, or by parallel connections; a whole number in
        [1, 1000000]; default: 1.
    think: Time from the end of a page to the start of the next; a distribution, for example { pareto = { shape = 1.5,
        mean = "1 s" } }, { exponential = "1 s" }, { constant = "1 s" }, { uniform = ["1 s", "2 s"] } or { empirical =
        [["1 ms", 0.5], ["5 ms", 1]] }; default: { exponential = "1 s" }. Source: the reference runs in ns-2.
    inter_object: Time between two objects of a page, on each connection; a distribution, for example { pareto = {
        shape = 1.5, mean = "1 s" } }, { exponential = "1 s" }, { constant = "1 s" }, { uniform = ["1 s", "2 s"] } or
        { empirical = [["1 ms", 0.5], ["5 ms", 1]] }; default: { constant = "0 s" }.
    connections: Parallel connections of a session, each a flow: an object goes to the next one that is free, and a
        page ends with its last object. With this key pages are timed (metrics `page_time_mean_s` and others, series
        `pages`), and a session draws its sizes and times in the order in which it hands out objects, whatever the
        network does; a whole number in [1, 1000]; left out: 1, and pages are not timed; with `persistent` or
        `request` they are. Source: RFC 7928, section 7.2: six.
    persistent: Whether a connection stays open from object to object and from page to page, with its congestion
        window and its estimate of the round-trip time. Else each object opens a new one; true or false; default:
        false. Source: RFC 9112, section 9.3.
    request: Payload of the request, one packet, that the client sends for each object on the way of the ACKs; the
        server begins when it arrives. On a new connection SYN, SYN-ACK and data follow it, so that the first byte is
        there after two round trips; on an open one, after one. The object is there with its last byte at the client.
        A request without an answer goes out again after `initial_rto`, then after twice that, up to `max_rto`; it is
        not ECN-capable; a size with its unit, for example "1000 B"; unit: B; left out: none: the server begins by
        itself when a connection is free, and an object ends with its last ACK. Source: RFC 7928, section 7.2; RFC
        6298 (2.1), (5.5).
    Source: ns-2: web traffic; RARED paper, section 4; RFC 7928, section 7.2.
    """

    kind: ClassVar[str] = "web"
    sessions: int | None = None
    pairs: int | None = None
    object: Spec | None = None
    objects_per_page: int | None = None
    think: Spec | None = None
    inter_object: Spec | None = None
    connections: int | None = None
    persistent: bool | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Video(_Tcp):
    """Adaptive video: chunk after chunk over one TCP connection, ahead of the playback, each at a bitrate that the
    throughput allows.

    chunk: Playing time of a chunk, which is also the step of the playback buffer; a time with its unit, for example
        "40 ms"; default: 2 s. Source: DASH: 2 s to 10 s are common.
    bitrates: The bitrates in which each chunk exists, ascending. The first chunk has the lowest; a rate, or a list of
        rates, for example ["1 Mbit/s", "3 Mbit/s"]; default: ["300 kbit/s", "750 kbit/s", "1.2 Mbit/s", "1.85
        Mbit/s", "2.85 Mbit/s", "4.3 Mbit/s"]. Source: a ladder that studies of DASH use, up to 1080p.
    safety: The next chunk has the highest bitrate that is at most this part of the average throughput, or the lowest
        one; a number in (0, 100]; default: 0.9. Source: dash.js: bandwidthSafetyFactor.
    weight: Weight of the last chunk in the moving average of the chunks' throughputs; a number in (0, 1]; default:
        0.4. Source: dash.js: a half-life of 3 s.
    buffer: Playing time that is ready at most. When there is no room for a chunk, the next one waits; a time with its
        unit, for example "40 ms"; default: 20 s. Source: dash.js: 12 s to 30 s.
    startup: Playback begins, and resumes after a stall, when so much is ready; a time with its unit, for example "40
        ms"; default: 4 s. Source: two chunks.
    Source: ISO/IEC 23009-1 (DASH); RFC 8216 (HLS); RFC 7928 7.2.
    """

    kind: ClassVar[str] = "video"
    chunk: str | None = None
    bitrates: str | Sequence[str] | None = None
    safety: float | None = None
    weight: float | None = None
    buffer: str | None = None
    startup: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cbr(_Datagrams):
    """Datagrams at a constant rate.

    Source: ns-2: Application/Traffic/CBR.
    """

    kind: ClassVar[str] = "cbr"


@dataclass(frozen=True, slots=True, kw_only=True)
class Poisson(_Datagrams):
    """Datagrams with exponential gaps.

    Source: ns-2: exponential source without burst time.
    """

    kind: ClassVar[str] = "poisson"


@dataclass(frozen=True, slots=True, kw_only=True)
class OnOff(_Datagrams):
    """Datagrams at a constant rate during on-periods, silence between.

    on: Length of an on-period; a distribution, for example { pareto = { shape = 1.5, mean = "1 s" } }, { exponential
        = "1 s" }, { constant = "1 s" }, { uniform = ["1 s", "2 s"] } or { empirical = [["1 ms", 0.5], ["5 ms", 1]] };
        default: { exponential = "0.5 s" }. Source: ns-2: burst_time_.
    off: Length of an off-period; a distribution, for example { pareto = { shape = 1.5, mean = "1 s" } }, {
        exponential = "1 s" }, { constant = "1 s" }, { uniform = ["1 s", "2 s"] } or { empirical = [["1 ms", 0.5], ["5
        ms", 1]] }; default: { exponential = "0.5 s" }. Source: ns-2: idle_time_.
    Source: ns-2: Application/Traffic/Exponential, /Pareto.
    """

    kind: ClassVar[str] = "onoff"
    on: Spec | None = None
    off: Spec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Voip(_Traffic):
    """Calls: datagrams at a constant rate both ways. Each flow is a call, whose way back is a flow of a further
    group.

    interval: Time between two packets of one end; a time with its unit, for example "40 ms"; default: 20 ms. Source:
        RFC 3551 4.2.
    packet: Size of a packet on the wire; a size with its unit, for example "1000 B"; default: 200 B. Source: 20 ms of
        G.711 are 160 B; RTP, UDP and IPv4 add 40 B.
    silence: Length of a silence between two talk spurts of an end, in which it sends nothing; P.59 measured {
        exponential = "1.587 s" }; a distribution, for example { pareto = { shape = 1.5, mean = "1 s" } }, {
        exponential = "1 s" }, { constant = "1 s" }, { uniform = ["1 s", "2 s"] } or { empirical = [["1 ms", 0.5], ["5
        ms", 1]] }; left out: none: both ends send all the time. Source: ITU-T P.59.
    talk: Length of a talk spurt, where there are silences; a distribution, for example { pareto = { shape = 1.5, mean
        = "1 s" } }, { exponential = "1 s" }, { constant = "1 s" }, { uniform = ["1 s", "2 s"] } or { empirical = [["1
        ms", 0.5], ["5 ms", 1]] }; default: { exponential = "1.004 s" }. Source: ITU-T P.59.
    Source: ITU-T G.711, RFC 3550; RFC 7928 9.1.
    """

    kind: ClassVar[str] = "voip"
    interval: str | None = None
    packet: str | None = None
    silence: Spec | None = None
    talk: Spec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay(_Traffic):
    """Datagrams at the times and with the sizes that a file holds; each flow replays it from its own start.

    file: A CSV file with the columns t_s, bytes (seconds from the flow's start, ascending, and the size on the wire;
        a line with these names may come first), or a capture (pcap; original lengths, times from the earliest packet
        on). The lengths in a capture count the link's header, 14 B with Ethernet; TCP's segments here have none, only
        `overhead`. Its path is relative to the scenario file; a text; required.
    hash: FNV-1a (64 bit, hexadecimal) of the file's content; another content is an error; a text; left out: that of
        the file.
    Source: ns-2: Application/Traffic/Trace.
    """

    kind: ClassVar[str] = "replay"
    file: str
    hash: str | None = None
