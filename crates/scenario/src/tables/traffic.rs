//! Kinds of traffic.

use super::REQUIRED;
use penstock_units::param::{
    int, num, num_open, Arrivals, DelaySpec, Dist, Param, StartSpec, Ty, PARAM,
};
use penstock_units::{params, words, Bytes, Duration, Rate};

/// A kind of traffic.
#[derive(Clone, Copy)]
pub(crate) struct TrafficKind {
    pub name: &'static str,
    pub doc: &'static str,
    pub source: &'static str,
    /// Its parameters besides [`Group`].
    pub params: &'static [&'static [Param]],
    /// Whether it takes TCP's keys, which `params` then holds.
    pub tcp: bool,
    pub sends: Sends,
}

/// The data that a kind of traffic sends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sends {
    Ftp,
    Web,
    Video,
    Cbr,
    Poisson,
    OnOff,
    Voip,
    Replay,
}

pub(crate) const TRAFFICS: &[TrafficKind] = &[
    TrafficKind {
        name: "ftp",
        doc: "Long-lived TCP transfers.",
        source: "ns-2: Application/FTP",
        params: &[Ftp::TABLE, penstock_tcp::PARAMS],
        tcp: true,
        sends: Sends::Ftp,
    },
    TrafficKind {
        name: "web",
        doc: "Sessions of pages: each object is a TCP connection of its own. With `connections`, as a \
              browser fetches them.",
        source: "ns-2: web traffic; RARED paper, section 4; RFC 7928, section 7.2",
        params: &[Web::TABLE, Browser::TABLE, penstock_tcp::PARAMS],
        tcp: true,
        sends: Sends::Web,
    },
    TrafficKind {
        name: "video",
        doc: "Adaptive video: chunk after chunk over one TCP connection, ahead of the playback, \
              each at a bitrate that the throughput allows.",
        source: "ISO/IEC 23009-1 (DASH); RFC 8216 (HLS); RFC 7928 7.2",
        params: &[Video::TABLE, penstock_tcp::PARAMS],
        tcp: true,
        sends: Sends::Video,
    },
    TrafficKind {
        name: "cbr",
        doc: "Datagrams at a constant rate.",
        source: "ns-2: Application/Traffic/CBR",
        params: &[Datagrams::TABLE],
        tcp: false,
        sends: Sends::Cbr,
    },
    TrafficKind {
        name: "poisson",
        doc: "Datagrams with exponential gaps.",
        source: "ns-2: exponential source without burst time",
        params: &[Datagrams::TABLE],
        tcp: false,
        sends: Sends::Poisson,
    },
    TrafficKind {
        name: "onoff",
        doc: "Datagrams at a constant rate during on-periods, silence between.",
        source: "ns-2: Application/Traffic/Exponential, /Pareto",
        params: &[Datagrams::TABLE, OnOff::TABLE],
        tcp: false,
        sends: Sends::OnOff,
    },
    TrafficKind {
        name: "voip",
        doc: "Calls: datagrams at a constant rate both ways. Each flow is a call, whose way back \
              is a flow of a further group.",
        source: "ITU-T G.711, RFC 3550; RFC 7928 9.1",
        params: &[Voip::TABLE],
        tcp: false,
        sends: Sends::Voip,
    },
    TrafficKind {
        name: "replay",
        doc: "Datagrams at the times and with the sizes that a file holds; each flow replays it from its own start.",
        source: "ns-2: Application/Traffic/Trace",
        params: &[Replay::TABLE],
        tcp: false,
        sends: Sends::Replay,
    },
];

words! {
    /// Which way the data go.
    pub(crate) enum Direction {
        /// From the first router to the last.
        Forward = "forward",
        /// Back.
        Reverse = "reverse",
    }
}

params! {
    /// Keys of every entry of `[[traffic]]`, besides `kind`.
    pub(crate) struct Group {
        /// What tables and figures call the group.
        pub name: Option<String> { auto: "its kind" },
        /// Flows of the group (web: sessions, where `sessions` is left out).
        pub flows: u32 { ty: int(1, 10_000_000), unit: "1", default: 1 },
        /// When each flow starts.
        pub start: StartSpec { default: "0 s" },
        /// When all flows stop.
        pub stop: Option<Duration> { auto: "never" },
        /// Whether data go from the first router to the last or back; not in a graph.
        pub direction: Option<Direction> { auto: "forward, or as `from` and `to` say" },
        /// Router at which the data enter: "R0", "R1" …, in a graph its name.
        pub from: Option<String> {
            auto: "the first router (reverse: the last); required in a graph",
        },
        /// Router at which the data leave.
        pub to: Option<String> {
            auto: "the last router (reverse: the first); required in a graph",
        },
        /// Priority class of the group's data.
        pub class: u8 { ty: int(0, 63), unit: "1", default: 0, source: "RFC 2474: DSCP" },
        /// The host that all flows of the group come from, as disciplines that share a link among
        /// hosts see it: groups that name it share it. Each flow keeps its own access link.
        pub source_host: Option<String> {
            auto: "each flow has its own; web: each pair",
            quiet: true,
        },
        /// The host that all flows of the group go to, in the same way.
        pub destination_host: Option<String> {
            auto: "each flow has its own; web: each pair",
            quiet: true,
        },
        /// Delay of this group's links on the side of `topology.access`, instead of its `delay`: it
        /// counts twice in a round trip. The links on the other side keep theirs: that of
        /// `topology.egress`, or without one that of `topology.access`.
        pub access_delay: Option<DelaySpec> { auto: "the topology's" },
    }
}

/// `kind` of an entry of `[[traffic]]`.
pub(crate) const TRAFFIC_KIND: &[Param] = &[Param {
    name: "kind",
    ty: Ty::Word(names!(TRAFFICS)),
    auto: REQUIRED,
    doc: "What the group sends.",
    ..PARAM
}];

params! {
    /// Keys of `ftp`.
    pub(crate) struct Ftp {
        /// Payload of each flow, or what each flow draws its own from.
        pub bytes: Option<Dist> { ty: Ty::Sizes, unit: "B", auto: "without end" },
        /// When each flow connects, before its `start`: it sends `greeting` then, and the rest from
        /// `start` on, as the streams of one iperf3 do, which begin together when all are connected.
        /// So both ends know the path's round trip before there is a queue.
        pub connect: Option<StartSpec> {
            auto: "at its start",
            quiet: true,
            source: "iperf3: each stream sends its cookie and waits for the others",
        },
        /// Payload that a flow sends when it connects before its `start`.
        pub greeting: Bytes { default: "37 B", unit: "B", quiet: true, source: "iperf3's cookie" },
        /// Transfers begin at random, whatever became of those before (an open loop, a Poisson
        /// process), from `start` until `stop`; one that has begun goes on. `rate` is how many a
        /// second. `load` is the part of the bottleneck's mean rate that their payload is: load ×
        /// rate ÷ (8 × mean of `bytes`) transfers a second, headers and what is sent again not
        /// counted. A backward group's bottleneck is the one of its own direction.
        pub arrivals: Option<Arrivals> {
            auto: "the flows that `flows` and `start` say",
            quiet: true,
            source: "Alizadeh et al. 2010 (DCTCP), section 4.3; 2013 (pFabric), section 5.1",
        },
        /// Pairs of hosts that the flows share: flow i is on pair i mod pairs. With `arrivals` each
        /// transfer takes one of them at random.
        pub pairs: Option<u32> {
            ty: int(1, 1_000_000),
            unit: "1",
            auto: "each flow has its own",
            quiet: true,
        },
        /// The flows begin before the scenario's time zero, from which all other times count. It
        /// comes when each of them has been in congestion avoidance, or after this long. Their own
        /// `start` counts from the beginning.
        pub lead_in: Option<Duration> {
            auto: "they begin with the scenario",
            source: "RFC 7928, sections 5.1.2, 8.2",
        },
    }
}

params! {
    /// Keys of `web`.
    pub(crate) struct Web {
        /// Sessions, each of which fetches page after page.
        pub sessions: Option<u32> { ty: int(1, 10_000_000), unit: "1", auto: "`flows`" },
        /// Pairs of hosts that the sessions share: session i is on pair i mod pairs. The server
        /// is on the left.
        pub pairs: Option<u32> { ty: int(1, 10_000_000), unit: "1", auto: "one a session" },
        /// Size of an object.
        pub object: Dist {
            ty: Ty::SizeDist,
            default_toml: "{ pareto = { shape = 1.5, mean = \"12 kB\", max = \"500 kB\" } }",
            source: "the reference runs in ns-2",
        },
        /// Objects of a page, fetched one after the other, or by parallel connections.
        pub objects_per_page: u32 { ty: int(1, 1_000_000), unit: "1", default: 1 },
        /// Time from the end of a page to the start of the next.
        pub think: Dist {
            ty: Ty::TimeDist,
            default_toml: "{ exponential = \"1 s\" }",
            source: "the reference runs in ns-2",
        },
        /// Time between two objects of a page, on each connection.
        pub inter_object: Dist { ty: Ty::TimeDist, default_toml: "{ constant = \"0 s\" }" },
    }
}

params! {
    /// Keys of `web` for sessions that fetch as a browser does. Each of them makes it such a
    /// session, whose pages are timed.
    pub(crate) struct Browser {
        /// Parallel connections of a session, each a flow: an object goes to the next one that is
        /// free, and a page ends with its last object. With this key pages are timed (metrics
        /// `page_time_mean_s` and others, series `pages`), and a session draws its sizes and times
        /// in the order in which it hands out objects, whatever the network does.
        pub connections: Option<u32> {
            ty: int(1, 1000),
            unit: "1",
            auto: "1, and pages are not timed; with `persistent` or `request` they are",
            source: "RFC 7928, section 7.2: six",
        },
        /// Whether a connection stays open from object to object and from page to page, with its
        /// congestion window and its estimate of the round-trip time. Else each object opens a new
        /// one.
        pub persistent: bool { default: false, source: "RFC 9112, section 9.3" },
        /// Payload of the request, one packet, that the client sends for each object on the way of
        /// the ACKs; the server begins when it arrives. On a new connection SYN, SYN-ACK and data
        /// follow it, so that the first byte is there after two round trips; on an open one, after
        /// one. The object is there with its last byte at the client. A request without an answer
        /// goes out again after `initial_rto`, then after twice that, up to `max_rto`; it is not
        /// ECN-capable.
        pub request: Option<Bytes> {
            unit: "B",
            auto: "none: the server begins by itself when a connection is free, and an object ends \
                   with its last ACK",
            source: "RFC 7928, section 7.2; RFC 6298 (2.1), (5.5)",
        },
    }
}

params! {
    /// Keys of `video`.
    pub(crate) struct Video {
        /// Playing time of a chunk, which is also the step of the playback buffer.
        pub chunk: Duration { default: "2 s", source: "DASH: 2 s to 10 s are common" },
        /// The bitrates in which each chunk exists, ascending. The first chunk has the lowest.
        pub bitrates: Vec<Rate> {
            default_toml: "[\"300 kbit/s\", \"750 kbit/s\", \"1.2 Mbit/s\", \"1.85 Mbit/s\", \
                \"2.85 Mbit/s\", \"4.3 Mbit/s\"]",
            source: "a ladder that studies of DASH use, up to 1080p",
        },
        /// The next chunk has the highest bitrate that is at most this part of the average
        /// throughput, or the lowest one.
        pub safety: f64 {
            ty: num_open(0.0, 100.0),
            unit: "1",
            default: 0.9,
            source: "dash.js: bandwidthSafetyFactor",
        },
        /// Weight of the last chunk in the moving average of the chunks' throughputs.
        pub weight: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.4,
            source: "dash.js: a half-life of 3 s",
        },
        /// Playing time that is ready at most. When there is no room for a chunk, the next one
        /// waits.
        pub buffer: Duration { default: "20 s", source: "dash.js: 12 s to 30 s" },
        /// Playback begins, and resumes after a stall, when so much is ready.
        pub startup: Duration { default: "4 s", source: "two chunks" },
    }
}

params! {
    /// Keys of `cbr`, `poisson` and `onoff`.
    pub(crate) struct Datagrams {
        /// Rate of each flow (onoff: while on), counted on the wire.
        pub rate: Rate { auto: REQUIRED },
        /// Size of a packet on the wire.
        pub packet: Bytes { default: "1000 B", source: "the papers' packets" },
        /// Each gap between two packets (onoff: of one on-period) is multiplied by 1 +
        /// U(−jitter, jitter).
        pub jitter: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0,
            source: "ns-2: random_ is 0.5",
        },
    }
}

params! {
    /// Keys of `onoff`.
    pub(crate) struct OnOff {
        /// Length of an on-period.
        pub on: Dist {
            ty: Ty::TimeDist,
            default_toml: "{ exponential = \"0.5 s\" }",
            source: "ns-2: burst_time_",
        },
        /// Length of an off-period.
        pub off: Dist {
            ty: Ty::TimeDist,
            default_toml: "{ exponential = \"0.5 s\" }",
            source: "ns-2: idle_time_",
        },
    }
}

params! {
    /// Keys of `voip`.
    pub(crate) struct Voip {
        /// Time between two packets of one end.
        pub interval: Duration { default: "20 ms", source: "RFC 3551 4.2" },
        /// Size of a packet on the wire.
        pub packet: Bytes {
            default: "200 B",
            source: "20 ms of G.711 are 160 B; RTP, UDP and IPv4 add 40 B",
        },
        /// Length of a silence between two talk spurts of an end, in which it sends nothing; P.59
        /// measured { exponential = "1.587 s" }.
        pub silence: Option<Dist> {
            ty: Ty::TimeDist,
            auto: "none: both ends send all the time",
            source: "ITU-T P.59",
        },
        /// Length of a talk spurt, where there are silences.
        pub talk: Dist {
            ty: Ty::TimeDist,
            default_toml: "{ exponential = \"1.004 s\" }",
            source: "ITU-T P.59",
        },
    }
}

params! {
    /// Keys of `replay`.
    pub(crate) struct Replay {
        /// A CSV file with the columns t_s, bytes (seconds from the flow's start, ascending,
        /// and the size on the wire; a line with these names may come first), or a capture
        /// (pcap; original lengths, times from the earliest packet on). The lengths in a capture
        /// count the link's header, 14 B with Ethernet; TCP's segments here have none, only
        /// `overhead`. Its path is relative to the scenario file.
        pub file: String { auto: REQUIRED },
        /// FNV-1a (64 bit, hexadecimal) of the file's content; another content is an error.
        pub hash: Option<String> { auto: "that of the file" },
    }
}

/// Returns the kind of traffic of that name.
pub(crate) fn traffic(name: &str) -> Option<&'static TrafficKind> {
    TRAFFICS.iter().find(|k| k.name == name)
}
