//! The configuration of a run: the fully resolved scenario, one value for everything. The scenario crate
//! makes it from a file; a test or a program may make it by hand.

use penstock_queue::{Abort, HostConfig, Keep, Link, LinkConfig, LinkError};
use penstock_tcp::TcpParams;
use penstock_units::param::Dist;
use penstock_units::{Bytes, Duration, Rate, Time};
use std::collections::BTreeMap;
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
    /// Whether every link is measured, for [`crate::RunResult::links`]; else the bottleneck alone.
    pub measure_links: bool,
    /// When a packet arrives at the very instant of a departure, what was scheduled first goes
    /// first, as in ns-2; else the departure does.
    pub ties_by_scheduling: bool,
    /// Hosts, each with its own full-duplex access link to its router.
    pub hosts: Vec<HostConfig>,
    /// Sequences of links (indices into `links`) from a source's router to a sink's router.
    pub routes: Vec<Vec<u32>>,
    /// The number of traffic groups (entries of `[[traffic]]`).
    pub groups: usize,
    /// All flows, in the order of the groups.
    pub flows: Vec<FlowConfig>,
    /// The groups that are calls, with the time between two packets of one end.
    pub calls: BTreeMap<u32, Duration>,
    /// What runs before the scenario's time zero, if anything does.
    pub lead_in: Option<LeadIn>,
    /// What to write down besides the metrics.
    pub record: Record,
}

/// Long transfers that begin before the scenario does. Its time zero, from which all other times
/// count, is when each of them has left slow start once (RFC 7928, sections 5.1.2 and 8.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadIn {
    /// Of each group whether its flows are among them.
    pub groups: Vec<bool>,
    /// The longest that it takes: flows that a window limits never leave slow start.
    pub limit: Duration,
}

impl Config {
    /// Makes link `i` of the run, with the counters and the series that the run asks for.
    ///
    /// # Errors
    /// If the discipline's values do not fit together, or a custom discipline cannot be made.
    pub fn link(&self, i: usize, abort: &Abort) -> Result<Link, LinkError> {
        let measured = i == self.bottleneck || self.measure_links;
        let window = (self.measure_from, self.measure_to);
        let keep = Keep {
            window: measured.then_some(window),
            series: self.record.series.filter(|_| measured),
            events: self.record.events && measured,
            flows: (self.record.groups && self.crossed(i)).then_some(window),
            tally: self.record.tally,
        };
        Link::new(&self.links[i], self.seed, self.ties_by_scheduling, &keep, abort)
    }

    /// Whether link `i` is the bottleneck, or its other direction.
    fn crossed(&self, i: usize) -> bool {
        i == self.bottleneck || self.links[self.bottleneck].opposite == Some(i as u32)
    }

    /// Returns at which of the two a flow's data wait, if they cross one of them.
    pub fn crosses(&self, flow: &FlowConfig) -> Option<usize> {
        let route = self.routes[usize::from(flow.forward)].iter().map(|link| *link as usize);
        route.filter(|link| self.crossed(*link)).min_by_key(|link| *link != self.bottleneck)
    }

    /// The mean rate of link `i` over the measured window, bits per second.
    pub fn mean_rate(&self, i: usize) -> f64 {
        self.links[i].mean_rate(self.measure_from, self.measure_to)
    }
}

/// One flow (for web: one session; for a browser: one of a session's connections).
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
    /// Whether it is one of many transfers that come one after the other: no `jain` counts it.
    pub open_loop: bool,
    /// Priority class (DSCP) of its data.
    pub class: u8,
    /// What it sends.
    pub app: App,
}

impl FlowConfig {
    /// The route of a dumbbell that leads forward, from the `access` side to the `egress` side. A
    /// chain of links has it as its first route.
    pub const FORWARD: u16 = 0;

    /// Whether the flow's data take the way forward, in a dumbbell.
    pub fn leads_forward(&self) -> bool {
        self.forward == Self::FORWARD
    }
}

/// A connection before the start of its transfer.
#[derive(Clone, Copy, Debug)]
pub struct Early {
    /// How long before.
    pub ahead: Duration,
    /// What is sent then.
    pub bytes: u64,
}

/// What a flow sends. What is large, such as laws of sizes and times, is behind a pointer: a run
/// may have a hundred thousand flows, and most of them are long transfers.
#[derive(Clone, Debug)]
pub enum App {
    /// A long transfer.
    Ftp {
        /// The transport.
        tcp: Arc<TcpParams>,
        /// When it starts.
        start: Time,
        /// Where it connects before that.
        early: Option<Box<Early>>,
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
        /// What is fetched.
        pages: Arc<Pages>,
    },
    /// A connection of a browser's session. The connections of a session stand one after the other
    /// in [`Config::flows`], and have the same two hosts.
    Browser {
        /// The transport.
        tcp: Arc<TcpParams>,
        /// What the session does.
        session: Arc<Session>,
        /// The connection's number within the session.
        connection: u32,
    },
    /// A video in chunks, whose bitrate adapts.
    Video {
        /// The transport: one connection for all chunks.
        tcp: Arc<TcpParams>,
        /// When the first chunk is fetched.
        start: Time,
        /// No new chunk after this, and nobody watches.
        stop: Option<Time>,
        /// What is watched.
        config: Arc<VideoConfig>,
    },
    /// Unresponsive datagrams.
    Udp {
        /// Mean rate while on, counted on the wire.
        rate: Rate,
        /// Size of a packet on the wire.
        packet: Bytes,
        /// When they leave.
        pattern: UdpPattern,
        /// Each gap is multiplied by `1 + U(−jitter, jitter)`; in [0, 1].
        jitter: f64,
        /// When it starts.
        start: Time,
        /// When it stops.
        stop: Option<Time>,
    },
    /// Datagrams that were written down.
    Replay {
        /// In ascending order of time.
        packets: Arc<[Datagram]>,
        /// When it starts.
        start: Time,
        /// When it stops.
        stop: Option<Time>,
    },
}

impl App {
    /// Returns the transport; datagrams have none.
    pub fn tcp(&self) -> Option<&TcpParams> {
        match self {
            App::Ftp { tcp, .. }
            | App::Web { tcp, .. }
            | App::Browser { tcp, .. }
            | App::Video { tcp, .. } => Some(tcp),
            App::Udp { .. } | App::Replay { .. } => None,
        }
    }

    /// When it starts and when it stops.
    pub(crate) fn times_mut(&mut self) -> (&mut Time, &mut Option<Time>) {
        match self {
            App::Ftp { start, stop, .. }
            | App::Web { start, stop, .. }
            | App::Video { start, stop, .. }
            | App::Udp { start, stop, .. }
            | App::Replay { start, stop, .. } => (start, stop),
            App::Browser { session, .. } => {
                let session = Arc::make_mut(session);
                (&mut session.start, &mut session.stop)
            }
        }
    }
}

/// The pages of a session without parallel connections: object after object.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// Object size in bytes.
    pub object: Dist,
    /// Objects of one page, fetched one after the other.
    pub objects_per_page: u32,
    /// Seconds from the end of a page to the start of the next.
    pub think: Dist,
    /// Seconds between two objects of one page.
    pub inter_object: Dist,
}

/// A browser's session: page after page, each of several objects over parallel connections.
#[derive(Clone, Debug)]
pub struct Session {
    /// When the first page is fetched.
    pub start: Time,
    /// No new object after this.
    pub stop: Option<Time>,
    /// Object size in bytes.
    pub object: Dist,
    /// Objects of one page.
    pub objects_per_page: u32,
    /// Seconds from the end of a page to the start of the next.
    pub think: Dist,
    /// Seconds between two objects of one page on one connection.
    pub inter_object: Dist,
    /// How many connections the session has.
    pub connections: u32,
    /// Whether a connection stays open from object to object.
    pub persistent: bool,
    /// Bytes that the client sends for each object; `None`: the server begins by itself.
    pub request: Option<u32>,
}

/// An adaptive video.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoConfig {
    /// Playing time of a chunk.
    pub chunk: Duration,
    /// The bitrates in which each chunk exists, ascending; one at least.
    pub bitrates: Vec<Rate>,
    /// The part of the throughput that a bitrate may have.
    pub safety: f64,
    /// Weight of the last chunk in the average of the chunks' throughputs.
    pub weight: f64,
    /// Playing time that is ready at most.
    pub buffer: Duration,
    /// Playing time that is ready before playback begins or resumes; with a chunk, `buffer` at
    /// most.
    pub startup: Duration,
}

/// A datagram to replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// When it leaves, counted from the flow's start.
    pub at: Duration,
    /// Its size on the wire.
    pub bytes: u32,
}

/// The rhythm of a datagram source.
#[derive(Clone, Debug, PartialEq)]
pub enum UdpPattern {
    /// Even gaps.
    Cbr,
    /// Exponential gaps.
    Poisson,
    /// Even gaps during on-periods, silence during off-periods.
    OnOff(Box<OnOff>),
}

impl UdpPattern {
    /// Returns the pattern whose periods have these lengths, in seconds.
    pub fn on_off(on: Dist, off: Dist) -> Self {
        UdpPattern::OnOff(Box::new(OnOff { on, off }))
    }
}

/// Lengths of periods in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct OnOff {
    /// Of an on-period.
    pub on: Dist,
    /// Of an off-period.
    pub off: Dist,
}

/// What a run writes down besides its metrics. Off, it costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Sampling interval of the series of the measured links' queues and of the flows.
    pub series: Option<Duration>,
    /// Every arrival, drop, mark and departure at each measured link as the `events` series.
    pub events: bool,
    /// The metrics of each group's and flow's packets ([`crate::PACKET_METRICS`]).
    pub groups: bool,
    /// What becomes of each link's packets, from the beginning on ([`crate::Tally`]).
    pub tally: bool,
    /// Capture packets here as pcap.
    pub pcap: Option<Tap>,
}

/// Where packets are captured: at a link and its opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap {
    /// The link, an index into [`Config::links`].
    pub link: u32,
    /// Behind the queue, when a packet's transmission starts; else in front of it, when a packet
    /// arrives.
    pub out: bool,
}
