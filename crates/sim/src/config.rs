//! What a run is made of: the fully resolved scenario, one value for everything. The scenario crate makes it
//! from a file; a test or a program may make it by hand.

use crate::user::AqmConfig;
use penstock_aqm::Context;
use penstock_tcp::TcpParams;
use penstock_units::param::{Dist, Values};
use penstock_units::{Bytes, Duration, QueueLen, Rate, Time};
use std::sync::Arc;

/// One run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The root of every random stream.
    pub seed: u64,
    /// When the run ends.
    pub duration: Duration,
    /// Start of the measured window.
    pub measure_from: Time,
    /// End of the measured window (excluded).
    pub measure_to: Time,
    /// Links between routers, each with a queue and a discipline. The order is free.
    pub links: Vec<LinkConfig>,
    /// The link that the run's metrics describe (the bottleneck, forward).
    pub bottleneck: usize,
    /// When a packet arrives at the very instant of a departure, what was scheduled first goes first, as in ns-2; else the departure does.
    pub ties_by_scheduling: bool,
    /// Hosts, each with its own full-duplex access link to its router.
    pub hosts: Vec<HostConfig>,
    /// Sequences of links (indices into `links`) from a source's router to a sink's router.
    pub routes: Vec<Vec<u32>>,
    /// The number of traffic groups (entries of `[[traffic]]`).
    pub groups: usize,
    /// All flows, in the order of the groups.
    pub flows: Vec<FlowConfig>,
    /// What to write down besides the metrics.
    pub record: Record,
}

/// A link between two routers and the queue in front of it.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Its name in series, traces and random streams: `"bottleneck"`, `"bottleneck.reverse"`, `"R0-R1"`.
    pub name: String,
    /// Rate at the start of the run.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// What may wait.
    pub buffer: QueueLen,
    /// Whether the packet in transmission counts against `buffer`.
    pub count_in_service: bool,
    /// The discipline.
    pub aqm: AqmConfig,
    /// Its checked values.
    pub aqm_values: Arc<Values>,
    /// What the discipline may know of the link.
    pub aqm_context: Context,
    /// Probability that a packet is lost on the wire, after the queue.
    pub loss: f64,
    /// Steps of the rate, ascending in time; `None` is a link that is down.
    pub schedule: Vec<(Time, Option<Rate>)>,
}

/// A host's access link, the same in both directions. Each direction is a FIFO.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// `None`: the host is the router itself, there is no access link.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Packets that may wait in each direction; `None`: any number.
    pub buffer: Option<u32>,
}

/// One flow (for web: one session).
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Its entry of `[[traffic]]`.
    pub group: u32,
    /// Its number within the group.
    pub index: u32,
    /// The host that sends data.
    pub src: u32,
    /// The host that receives them.
    pub dst: u32,
    /// Route of the data, an index into `Config::routes`.
    pub forward: u16,
    /// Route of the ACKs.
    pub backward: u16,
    /// Whether `goodput_bps` and `jain` count this flow (forward FTP).
    pub counts: bool,
    /// Priority class (DSCP) of its data.
    pub class: u8,
    /// What it sends.
    pub app: App,
}

/// What a flow sends.
#[derive(Clone, Debug)]
pub enum App {
    /// A long transfer.
    Ftp {
        /// The transport.
        tcp: Arc<TcpParams>,
        /// When it starts.
        start: Time,
        /// When it stops sending anything, retransmissions included.
        stop: Option<Time>,
        /// How much it sends; `None`: without end.
        bytes: Option<u64>,
    },
    /// Sessions of pages.
    Web {
        /// The transport; each object is a connection of its own.
        tcp: Arc<TcpParams>,
        /// When the first page is fetched.
        start: Time,
        /// No new object after this.
        stop: Option<Time>,
        /// Object size in bytes.
        object: Dist,
        /// Objects of one page, fetched one after the other.
        objects_per_page: u32,
        /// Seconds from the end of a page to the start of the next.
        think: Dist,
        /// Seconds between two objects of one page.
        inter_object: Dist,
    },
    /// Unresponsive datagrams.
    Udp {
        /// Mean rate while on, counted on the wire.
        rate: Rate,
        /// Size of a packet on the wire.
        packet: Bytes,
        /// When they leave.
        pattern: UdpPattern,
        /// When it starts.
        start: Time,
        /// When it stops.
        stop: Option<Time>,
    },
}

/// The rhythm of a datagram source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UdpPattern {
    /// Even gaps, each times `1 + U(−jitter, jitter)`.
    Cbr {
        /// In [0, 1].
        jitter: f64,
    },
    /// Exponential gaps.
    Poisson,
    /// Even gaps during on-periods, silence during off-periods; both in seconds.
    OnOff {
        /// Length of an on-period.
        on: Dist,
        /// Length of an off-period.
        off: Dist,
    },
}

/// What a run writes down besides its metrics. Off, it costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Sampling interval of the queue and flow series.
    pub series: Option<Duration>,
    /// Every arrival, drop, mark and departure at the bottleneck as the `events` series.
    pub events: bool,
    /// Capture packets here as pcap.
    pub pcap: Option<Tap>,
}

/// Where packets are captured: at a link and its opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap {
    /// The link, an index into [`Config::links`].
    pub link: u32,
    /// Behind the queue, when a packet's transmission starts; else in front of it, when a packet arrives.
    pub out: bool,
}
