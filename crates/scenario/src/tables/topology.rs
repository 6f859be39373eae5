//! Topologies: routers, the links between them, the links of hosts.

use super::REQUIRED;
use penstock_units::param::{
    int, DelaySpec, Dist, Loss, Param, Params as _, RateSchedule, Ty, Values, PARAM,
};
use penstock_units::{params, Bytes, Cells, Duration, QueueLen, Rate};

/// A kind of topology: a chain of routers R0 … Rn, whose links are alike, or any graph.
#[derive(Clone, Copy)]
pub(crate) struct TopologyKind {
    pub name: &'static str,
    pub doc: &'static str,
    pub params: &'static [Param],
    /// The table that describes the link between two routers; in a graph the list of tables.
    pub link: &'static str,
    /// Whether routers and links are listed one by one.
    pub graph: bool,
    /// Reads `params`.
    pub shape: fn(&Values) -> Shape,
}

/// The facts that the keys of a kind of topology give.
#[derive(Clone)]
pub(crate) enum Shape {
    Dumbbell,
    ParkingLot(ParkingLot),
    Graph(Graph),
}

pub(crate) const TOPOLOGIES: &[TopologyKind] = &[
    TopologyKind {
        name: "dumbbell",
        doc: "Two routers R0 and R1 with the bottleneck between them; each flow has a host of its own on either side.",
        params: &[],
        link: "bottleneck",
        graph: false,
        shape: |_| Shape::Dumbbell,
    },
    TopologyKind {
        name: "parking-lot",
        doc: "Routers R0 … Rn in a row; the flows of `[[traffic]]` go through, cross flows go over one hop each. \
              The run's metrics describe the first hop; `links` in its results describes every link.",
        params: ParkingLot::TABLE,
        link: "link",
        graph: false,
        shape: |v| Shape::ParkingLot(ParkingLot::read(v)),
    },
    TopologyKind {
        name: "graph",
        doc: "Routers `[[topology.node]]` and links `[[topology.link]]`; traffic goes `from` one router `to` another, on the \
              route of the least cost. Of equal ones it takes, at each router, the link that stands first in the file. \
              The sender's host hangs on `access`, the receiver's on `egress`. The run's metrics describe the \
              bottleneck; `links` in its results describes every link.",
        params: Graph::TABLE,
        link: "link",
        graph: true,
        shape: |v| Shape::Graph(Graph::read(v)),
    },
];

params! {
    /// Keys of a parking lot.
    pub(crate) struct ParkingLot {
        /// Links between routers.
        pub hops: u32 { ty: int(1, 200), unit: "1", auto: REQUIRED },
        /// One-hop FTP flows forward on every hop, each as a flow of the first `ftp` entry;
        /// together they are one more group after the entries of `[[traffic]]`.
        pub cross_flows: u32 { ty: int(0, 1_000_000), unit: "1", default: 0 },
    }
}

params! {
    /// Keys of a graph.
    pub(crate) struct Graph {
        /// The link that the run's metrics describe: "a-b" from a to b, "b-a" the other way.
        pub bottleneck: Option<String> { auto: "the first link" },
    }
}

/// `topology.kind`.
pub(crate) const TOPOLOGY: &[Param] = &[Param {
    name: "kind",
    ty: Ty::Word(names!(TOPOLOGIES)),
    default: Some("\"dumbbell\""),
    doc: "The arrangement of routers and links.",
    ..PARAM
}];

params! {
    /// `[[topology.node]]`.
    pub(crate) struct Router {
        /// What links and traffic call the router; at most 64 characters.
        pub name: String { auto: REQUIRED },
    }
}

/// The text that says what routers of a graph are, for schema and lists.
pub(crate) const NODE_DOC: &str =
    "The routers of a graph. Left out: those that the links name, in the order in which they name them.";
pub(crate) const GRAPH_LINK_DOC: &str = "The links of a graph. Each is called \"a-b\" forward and \"b-a\" back, and has these keys, those of `bottleneck, \
     link`, and a discipline of its own: `aqm` (left out: `[aqm]`) and `aqm.reverse` (left out: `[aqm.reverse]`).";

params! {
    /// Keys of `[[topology.link]]` besides those of [`Link`].
    pub(crate) struct GraphLink {
        /// Router at which the link begins.
        pub from: String { auto: REQUIRED },
        /// Router at which it ends.
        pub to: String { auto: REQUIRED },
        /// What the link adds to the cost of a route, in each direction.
        pub cost: u32 {
            ty: int(1, 1_000_000),
            unit: "1",
            default: 1,
            source: "ns-2: cost 1, so that routes have the fewest hops",
        },
        /// Whether there is no opposite direction.
        pub one_way: bool { default: false, source: "ns-2: simplex-link" },
    }
}

params! {
    /// `topology.bottleneck`, `topology.link`.
    pub(crate) struct Link {
        /// Rate of the link; beside a mahimahi trace only what disciplines take it to be.
        pub rate: Option<Rate> { auto: "required; with a file of the rate over time its mean" },
        /// Propagation delay of the link.
        pub delay: Duration { auto: REQUIRED },
        /// What may wait in front of the link.
        pub buffer: QueueLen { default: "50 packets", source: "ns-2: limit_ 50" },
        /// Rate of the opposite direction.
        pub reverse_rate: Option<Rate> {
            auto: "as forward; with a file of the rate over time its mean",
        },
        /// Propagation delay of the opposite direction.
        pub reverse_delay: Option<Duration> { auto: "as forward" },
        /// What may wait for the opposite direction.
        pub reverse_buffer: Option<QueueLen> { auto: "as forward" },
        /// Probability that a forward packet is lost on the wire, after the queue; or loss in
        /// bursts: a wire that starts good, turns bad with probability p a packet and good
        /// again with r, and loses packets with the probabilities `good` (default 0) and `bad`
        /// (default 1).
        pub loss: Loss { unit: "1", default: 0, source: "Gilbert 1960; Elliott 1963" },
        /// The same for packets of the opposite direction.
        pub reverse_loss: Loss { unit: "1", default: 0 },
        /// Whether the wire clears the ECN field of forward packets, after the queue, as some
        /// routers do: marks that were set before do not arrive, and later queues find no packet
        /// capable.
        pub bleach: bool { default: false, quiet: true, source: "RFC 9768 3.2.2.3" },
        /// The same for packets of the opposite direction.
        pub reverse_bleach: bool { default: false, quiet: true },
        /// Steps of the forward rate over time ("0 bit/s" is a link that is down); or rates that
        /// take turns from time zero on; or a file with a step in each line, seconds and Mbit/s:
        /// times count from the first line's, each rate holds until the next line's, the last one
        /// as long as the one before it, and then the file begins again; or a mahimahi trace, a
        /// file with a line for each opportunity to send up to 1500 B: its time in milliseconds,
        /// whole and ascending. After the last it begins again. Packets that wait share an
        /// opportunity or take several; one that arrives at its very instant is too late, and no
        /// packet counts as in service. Paths are relative to the scenario file.
        pub schedule: Option<RateSchedule> {
            auto: "the rate never changes",
            source: "mahimahi (Netravali et al. 2015): link_queue.cc",
        },
        /// The same for the opposite direction.
        pub reverse_schedule: Option<RateSchedule> {
            auto: "the rate never changes",
            quiet: true,
        },
        /// What the delay of each forward packet is longer than `delay`, drawn for each of them.
        pub jitter: Option<Dist> {
            ty: Ty::TimeDist,
            auto: "none",
            quiet: true,
            source: "tc-netem(8)",
        },
        /// The same for packets of the opposite direction.
        pub reverse_jitter: Option<Dist> { ty: Ty::TimeDist, auto: "none", quiet: true },
        /// Whether a packet overtakes those before it where its delay is so much less, in either
        /// direction, as with netem. Otherwise it arrives behind them.
        pub reorder: bool { default: false, quiet: true, source: "tc-netem(8)" },
        /// What the line adds to each packet, in both directions: at most "256 B". The link's
        /// rate, its throughput and its utilization are of what is on the wire; buffers and
        /// disciplines count packets as they are.
        pub overhead: Bytes { default: "0 B", quiet: true, source: "tc-stab(8)" },
        /// The least that a packet takes on the line, with its overhead: at most "256 B".
        pub mpu: Bytes { default: "0 B", quiet: true, source: "tc-stab(8)" },
        /// How the line cuts up what it sends: ATM into cells of 53 bytes with 48 of data, the
        /// last one padded; PTM into 65 bytes for each 64.
        pub framing: Cells {
            default: "none",
            quiet: true,
            source: "ITU-T I.363.5 (AAL5); ITU-T G.992.3, annex N",
        },
        /// A shaper stands in front of the line and holds the queue, as SQM does it: at a rate, or
        /// at a share of the line's, "95 %". The discipline and `buffer` are the shaper's. Behind
        /// it stands the modem, a link of its own in the results ("bottleneck.modem") with a
        /// FIFO and what else is said of the line: rate, schedule, loss.
        pub shaped: Option<String> { auto: "no shaper", quiet: true, source: "OpenWrt: SQM" },
        /// The same for the opposite direction; a share is one of that direction's rate.
        pub reverse_shaped: Option<String> { auto: "no shaper", quiet: true },
        /// What a shaper lets go at once after it has been idle, as time at its rate.
        pub shaper_burst: Option<Duration> {
            auto: "1 ms, at least 1514 B",
            quiet: true,
            source: "OpenWrt: sqm-scripts, a burst of 1 ms",
        },
        /// Whether a shaper counts what a packet takes on the line. Otherwise it counts the packet
        /// alone: nobody has told it of `overhead`, `mpu` and `framing`.
        pub shaper_framed: bool { default: true, quiet: true },
        /// What may wait at the modem, behind a shaper.
        pub modem_buffer: QueueLen { default: "1000 packets", quiet: true },
    }
}

params! {
    /// `topology.access`, `topology.egress`.
    pub(crate) struct Access {
        /// Rate of a host's link to its router.
        pub rate: Rate { auto: REQUIRED },
        /// Propagation delay of that link, per flow.
        pub delay: DelaySpec { default: "0 s" },
        /// What may wait for that link, in each direction; bytes are turned into packets of
        /// `aqm.mean_packet`.
        pub buffer: Option<QueueLen> { auto: "large enough never to drop" },
    }
}

/// The texts that say what access and egress are, for schema and lists.
pub(crate) const SIDES: &[(&str, &str)] = &[
    ("access", "Links of the hosts on the sources' (left) side; left out: the hosts are the router itself."),
    (
        "egress",
        "Links of the hosts on the sinks' (right) side. Left out: as access, so that access.delay counts four \
         times in a round trip: on both sides, each way.",
    ),
];

/// The topology of that name.
pub(crate) fn topology(name: &str) -> Option<&'static TopologyKind> {
    TOPOLOGIES.iter().find(|k| k.name == name)
}
