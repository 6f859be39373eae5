//! The parameters that belong to the scenario itself: the top level, topologies and traffic. Those
//! of disciplines and of TCP are declared in their crates.

use penstock_units::param::{int, num, Param, Ty, PARAM};

/// What an absent required key says in `Param::auto`.
pub(crate) const REQUIRED: &str = "required";

/// Keys beside the tables at the top of a scenario.
pub(crate) const TOP: &[Param] = &[
    Param {
        name: "name",
        ty: Ty::Text,
        default: Some("\"scenario\""),
        doc: "What the scenario is called in tables, figures and reports.",
        ..PARAM
    },
    Param { name: "duration", ty: Ty::Duration, auto: REQUIRED, doc: "Simulated time.", ..PARAM },
    Param {
        name: "seed",
        // Whole numbers up to here survive every JSON reader.
        ty: int(0, 1 << 53),
        unit: "1",
        default: Some("1"),
        doc: "The root of every random stream; `--seeds N` means this one and the N − 1 after it.",
        ..PARAM
    },
    Param {
        name: "profile",
        ty: Ty::Word(&["rfc", "ns-2"]),
        default: Some("\"rfc\""),
        source: "RFCs and papers; ns-2 2.35",
        doc: "Whose defaults the keys that are left out take; single keys still win.",
        ..PARAM
    },
    Param {
        name: "overhead",
        ty: Ty::Size,
        default: Some("\"40 B\""),
        source: "IPv4 and TCP without options",
        doc: "Header bytes that the wire counts on a TCP data segment.",
        ..PARAM
    },
    Param {
        name: "ties",
        ty: Ty::Word(&["departures", "scheduling"]),
        default: Some("\"departures\""),
        ns2: Some("\"scheduling\""),
        source: "ns-2 takes events of one instant in the order in which they were scheduled",
        doc: "When a packet arrives at the very instant of a departure: the departure goes first, or what was scheduled first (an arrival is when the packet begins to be sent to the queue, a departure when the packet before it begins to be sent).",
        ..PARAM
    },
];

/// `measure = { … }`.
pub(crate) const MEASURE: &[Param] = &[
    Param {
        name: "from",
        ty: Ty::Duration,
        default: Some("\"0 s\""),
        doc: "Start of the measured window; everything before is warm-up.",
        ..PARAM
    },
    Param {
        name: "to",
        ty: Ty::Duration,
        auto: "the end of the run",
        doc: "End of the measured window (excluded).",
        ..PARAM
    },
];

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
}

pub(crate) const TOPOLOGIES: &[TopologyKind] = &[
    TopologyKind {
        name: "dumbbell",
        doc: "Two routers R0 and R1 with the bottleneck between them; each flow has a host of its own on either side.",
        params: &[],
        link: "bottleneck",
        graph: false,
    },
    TopologyKind {
        name: "parking-lot",
        doc: "Routers R0 … Rn in a row; the flows of `[[traffic]]` go through, cross flows go over one hop each. \
              The run's metrics describe the first hop; `links` in its results describes every link.",
        params: &[
            Param {
                name: "hops",
                ty: int(1, 200),
                unit: "1",
                auto: REQUIRED,
                doc: "Links between routers.",
                ..PARAM
            },
            Param {
                name: "cross_flows",
                ty: int(0, 1_000_000),
                unit: "1",
                default: Some("0"),
                doc: "One-hop FTP flows forward on every hop, each as a flow of the first `ftp` entry; \
                      together they are one more group after the entries of `[[traffic]]`.",
                ..PARAM
            },
        ],
        link: "link",
        graph: false,
    },
    TopologyKind {
        name: "graph",
        doc: "Routers `[[topology.node]]` and links `[[topology.link]]`; traffic goes `from` one router `to` another, on the \
              route of the least cost. Of equal ones it takes, at each router, the link that stands first in the file. \
              The sender's host hangs on `access`, the receiver's on `egress`. The run's metrics describe the \
              bottleneck; `links` in its results describes every link.",
        params: &[Param {
            name: "bottleneck",
            ty: Ty::Text,
            auto: "the first link",
            doc: "The link that the run's metrics describe: \"a-b\" from a to b, \"b-a\" the other way.",
            ..PARAM
        }],
        link: "link",
        graph: true,
    },
];

/// `topology.kind`.
pub(crate) const TOPOLOGY: &[Param] = &[Param {
    name: "kind",
    ty: Ty::Word(&["dumbbell", "parking-lot", "graph"]),
    default: Some("\"dumbbell\""),
    doc: "The arrangement of routers and links.",
    ..PARAM
}];

/// `[[topology.node]]`.
pub(crate) const NODE: &[Param] = &[Param {
    name: "name",
    ty: Ty::Text,
    auto: REQUIRED,
    doc: "What links and traffic call the router; at most 64 characters.",
    ..PARAM
}];

/// What routers and links of a graph are, for schema and lists.
pub(crate) const NODE_DOC: &str =
    "The routers of a graph. Left out: those that the links name, in the order in which they name them.";
pub(crate) const GRAPH_LINK_DOC: &str = "The links of a graph. Each is called \"a-b\" forward and \"b-a\" back, and has these keys, those of `bottleneck, \
     link`, and a discipline of its own: `aqm` (left out: `[aqm]`) and `aqm.reverse` (left out: `[aqm.reverse]`).";

/// Keys of `[[topology.link]]` besides [`LINK`].
pub(crate) const GRAPH_LINK: &[Param] = &[
    Param {
        name: "from",
        ty: Ty::Text,
        auto: REQUIRED,
        doc: "Router at which the link begins.",
        ..PARAM
    },
    Param { name: "to", ty: Ty::Text, auto: REQUIRED, doc: "Router at which it ends.", ..PARAM },
    Param {
        name: "cost",
        ty: int(1, 1_000_000),
        unit: "1",
        default: Some("1"),
        source: "ns-2: cost 1, so that routes have the fewest hops",
        doc: "What the link adds to the cost of a route, in each direction.",
        ..PARAM
    },
    Param {
        name: "one_way",
        ty: Ty::Bool,
        default: Some("false"),
        source: "ns-2: simplex-link",
        doc: "Whether there is no opposite direction.",
        ..PARAM
    },
];

/// `topology.bottleneck`, `topology.link`.
pub(crate) const LINK: &[Param] = &[
    Param {
        name: "rate",
        ty: Ty::Rate,
        auto: "required; with a mahimahi trace its mean",
        doc: "Rate of the link; beside a mahimahi trace only what disciplines take it to be.",
        ..PARAM
    },
    Param { name: "delay", ty: Ty::Duration, auto: REQUIRED, doc: "Propagation delay of the link.", ..PARAM },
    Param {
        name: "buffer",
        ty: Ty::Queue,
        default: Some("\"50 packets\""),
        source: "ns-2: limit_ 50",
        doc: "What may wait in front of the link.",
        ..PARAM
    },
    Param {
        name: "reverse_rate",
        ty: Ty::Rate,
        auto: "as forward",
        doc: "Rate of the opposite direction.",
        ..PARAM
    },
    Param {
        name: "reverse_delay",
        ty: Ty::Duration,
        auto: "as forward",
        doc: "Propagation delay of the opposite direction.",
        ..PARAM
    },
    Param {
        name: "reverse_buffer",
        ty: Ty::Queue,
        auto: "as forward",
        doc: "What may wait for the opposite direction.",
        ..PARAM
    },
    Param {
        name: "loss",
        ty: Ty::Loss,
        unit: "1",
        default: Some("0"),
        source: "Gilbert 1960; Elliott 1963",
        doc: "Probability that a forward packet is lost on the wire, after the queue; or loss in bursts: a wire that starts good, \
              turns bad with probability p a packet and good again with r, and loses packets with the probabilities `good` \
              (default 0) and `bad` (default 1).",
        ..PARAM
    },
    Param {
        name: "reverse_loss",
        ty: Ty::Loss,
        unit: "1",
        default: Some("0"),
        doc: "The same for packets of the opposite direction.",
        ..PARAM
    },
    Param {
        name: "schedule",
        ty: Ty::Schedule,
        auto: "the rate never changes",
        source: "mahimahi (Netravali et al. 2015): link_queue.cc",
        doc: "Steps of the forward rate over time (\"0 bit/s\" is a link that is down); or a mahimahi trace, a file with a line for \
              each opportunity to send up to 1500 B: its time in milliseconds, whole and ascending. After the last it begins again. \
              Packets that wait share an opportunity or take several; one that arrives at its very instant is too late, and no \
              packet counts as in service. Its path is relative to the scenario file.",
        ..PARAM
    },
];

/// `topology.access`, `topology.egress`.
pub(crate) const ACCESS: &[Param] = &[
    Param { name: "rate", ty: Ty::Rate, auto: REQUIRED, doc: "Rate of a host's link to its router.", ..PARAM },
    Param {
        name: "delay",
        ty: Ty::Delay,
        default: Some("\"0 s\""),
        doc: "Propagation delay of that link, per flow.",
        ..PARAM
    },
    Param {
        name: "buffer",
        ty: Ty::Queue,
        auto: "large enough never to drop",
        doc: "What may wait for that link, in each direction; bytes are turned into packets of `aqm.mean_packet`.",
        ..PARAM
    },
];

/// What access and egress are, for schema and lists.
pub(crate) const SIDES: &[(&str, &str)] = &[
    ("access", "Links of the hosts on the sources' (left) side; left out: the hosts are the router itself."),
    ("egress", "Links of the hosts on the sinks' (right) side; left out: as access."),
];

/// A kind of traffic.
#[derive(Clone, Copy)]
pub(crate) struct TrafficKind {
    pub name: &'static str,
    pub doc: &'static str,
    pub source: &'static str,
    /// Its parameters besides [`TRAFFIC`].
    pub params: &'static [&'static [Param]],
    /// Whether it takes TCP's keys, which `params` then holds.
    pub tcp: bool,
}

pub(crate) const TRAFFICS: &[TrafficKind] = &[
    TrafficKind {
        name: "ftp",
        doc: "Long-lived TCP transfers.",
        source: "ns-2: Application/FTP",
        params: &[FTP, penstock_tcp::PARAMS],
        tcp: true,
    },
    TrafficKind {
        name: "web",
        doc: "Sessions of pages: each object is a TCP connection of its own.",
        source: "ns-2: web traffic; RARED paper, section 4",
        params: &[WEB, penstock_tcp::PARAMS],
        tcp: true,
    },
    TrafficKind {
        name: "cbr",
        doc: "Datagrams at a constant rate.",
        source: "ns-2: Application/Traffic/CBR",
        params: &[UDP],
        tcp: false,
    },
    TrafficKind {
        name: "poisson",
        doc: "Datagrams with exponential gaps.",
        source: "ns-2: exponential source without burst time",
        params: &[UDP],
        tcp: false,
    },
    TrafficKind {
        name: "onoff",
        doc: "Datagrams at a constant rate during on-periods, silence between.",
        source: "ns-2: Application/Traffic/Exponential, /Pareto",
        params: &[UDP, ONOFF],
        tcp: false,
    },
    TrafficKind {
        name: "replay",
        doc: "Datagrams at the times and with the sizes that a file holds; each flow replays it from its own start.",
        source: "ns-2: Application/Traffic/Trace",
        params: &[REPLAY],
        tcp: false,
    },
];

/// Keys of every entry of `[[traffic]]`, besides `kind`.
pub(crate) const TRAFFIC: &[Param] = &[
    Param {
        name: "name",
        ty: Ty::Text,
        auto: "its kind",
        doc: "What tables and figures call the group.",
        ..PARAM
    },
    Param {
        name: "flows",
        ty: int(1, 10_000_000),
        unit: "1",
        default: Some("1"),
        doc: "Flows of the group (web: sessions, where `sessions` is left out).",
        ..PARAM
    },
    Param {
        name: "start",
        ty: Ty::Start,
        default: Some("\"0 s\""),
        doc: "When each flow starts.",
        ..PARAM
    },
    Param { name: "stop", ty: Ty::Duration, auto: "never", doc: "When all flows stop.", ..PARAM },
    Param {
        name: "direction",
        ty: Ty::Word(&["forward", "reverse"]),
        auto: "forward, or as `from` and `to` say",
        doc: "Whether data go from the first router to the last or back; not in a graph.",
        ..PARAM
    },
    Param {
        name: "from",
        ty: Ty::Text,
        auto: "the first router (reverse: the last); required in a graph",
        doc: "Router at which the data enter: \"R0\", \"R1\" …, in a graph its name.",
        ..PARAM
    },
    Param {
        name: "to",
        ty: Ty::Text,
        auto: "the last router (reverse: the first); required in a graph",
        doc: "Router at which the data leave.",
        ..PARAM
    },
    Param {
        name: "class",
        ty: int(0, 63),
        unit: "1",
        default: Some("0"),
        source: "RFC 2474: DSCP",
        doc: "Priority class of the group's data.",
        ..PARAM
    },
    Param {
        name: "access_delay",
        ty: Ty::Delay,
        auto: "the topology's",
        doc: "Delay of this group's access links, instead of `topology.access.delay`.",
        ..PARAM
    },
];

/// `kind` of an entry of `[[traffic]]`.
pub(crate) const TRAFFIC_KIND: &[Param] = &[Param {
    name: "kind",
    ty: Ty::Word(&["ftp", "web", "cbr", "poisson", "onoff", "replay"]),
    auto: REQUIRED,
    doc: "What the group sends.",
    ..PARAM
}];

const FTP: &[Param] = &[Param {
    name: "bytes",
    ty: Ty::Size,
    unit: "B",
    auto: "without end",
    doc: "Payload of each flow.",
    ..PARAM
}];

const WEB: &[Param] = &[
    Param {
        name: "sessions",
        ty: int(1, 10_000_000),
        unit: "1",
        auto: "`flows`",
        doc: "Sessions, each of which fetches page after page.",
        ..PARAM
    },
    Param {
        name: "pairs",
        ty: int(1, 10_000_000),
        unit: "1",
        auto: "one a session",
        doc: "Pairs of hosts that the sessions share: session i is on pair i mod pairs. The server is on the left.",
        ..PARAM
    },
    Param {
        name: "object",
        ty: Ty::SizeDist,
        default: Some("{ pareto = { shape = 1.5, mean = \"12 kB\", max = \"500 kB\" } }"),
        source: "the reference runs in ns-2",
        doc: "Size of an object.",
        ..PARAM
    },
    Param {
        name: "objects_per_page",
        ty: int(1, 1_000_000),
        unit: "1",
        default: Some("1"),
        doc: "Objects of a page, fetched one after the other.",
        ..PARAM
    },
    Param {
        name: "think",
        ty: Ty::TimeDist,
        default: Some("{ exponential = \"1 s\" }"),
        source: "the reference runs in ns-2",
        doc: "Time from the end of a page to the start of the next.",
        ..PARAM
    },
    Param {
        name: "inter_object",
        ty: Ty::TimeDist,
        default: Some("{ constant = \"0 s\" }"),
        doc: "Time between two objects of a page.",
        ..PARAM
    },
];

const UDP: &[Param] = &[
    Param {
        name: "rate",
        ty: Ty::Rate,
        auto: REQUIRED,
        doc: "Rate of each flow (onoff: while on), counted on the wire.",
        ..PARAM
    },
    Param {
        name: "packet",
        ty: Ty::Size,
        default: Some("\"1000 B\""),
        source: "the papers' packets",
        doc: "Size of a packet on the wire.",
        ..PARAM
    },
    Param {
        name: "jitter",
        ty: num(0.0, 1.0),
        unit: "1",
        default: Some("0"),
        source: "ns-2: random_ is 0.5",
        doc:
            "Each gap between two packets (onoff: of one on-period) is multiplied by 1 + U(−jitter, jitter).",
        ..PARAM
    },
];

const ONOFF: &[Param] = &[
    Param {
        name: "on",
        ty: Ty::TimeDist,
        default: Some("{ exponential = \"0.5 s\" }"),
        source: "ns-2: burst_time_",
        doc: "Length of an on-period.",
        ..PARAM
    },
    Param {
        name: "off",
        ty: Ty::TimeDist,
        default: Some("{ exponential = \"0.5 s\" }"),
        source: "ns-2: idle_time_",
        doc: "Length of an off-period.",
        ..PARAM
    },
];

const REPLAY: &[Param] = &[
    Param {
        name: "file",
        ty: Ty::Text,
        auto: REQUIRED,
        doc: "A CSV file with the columns t_s, bytes (seconds from the flow's start, ascending, and the size on the wire; a line with \
              these names may come first), or a capture (pcap; original lengths, times from the earliest packet on). Its \
              path is relative to the scenario file.",
        ..PARAM
    },
    Param {
        name: "hash",
        ty: Ty::Text,
        auto: "that of the file",
        doc: "FNV-1a (64 bit, hexadecimal) of the file's content; another content is an error.",
        ..PARAM
    },
];

const AQM_NAMES: [&str; penstock_aqm::KINDS.len()] = {
    let mut names = [""; penstock_aqm::KINDS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = penstock_aqm::KINDS[i].name;
        i += 1;
    }
    names
};

/// `aqm.kind`, `aqm.reverse.kind`.
pub(crate) const AQM_KIND: &[Param] = &[Param {
    name: "kind",
    ty: Ty::Word(&AQM_NAMES),
    default: Some("\"droptail\""),
    doc: "The queue's discipline.",
    ..PARAM
}];

pub(crate) const SWEEP_SEEDS: Param = Param {
    name: "seeds",
    ty: int(1, 1_000_000),
    unit: "1",
    auto: "1",
    doc: "Seeds of every point of the grid.",
    ..PARAM
};

/// How the values of ranges are chosen.
pub(crate) const SWEEP_DESIGN: &[Param] = &[
    Param {
        name: "samples",
        ty: int(1, 1_000_000),
        unit: "1",
        auto: "required where an axis has a range",
        doc: "Points that are sampled over all axes with a range together, for each combination of the listed values; \
              with `method = \"grid\"`, values of each such axis, all combined.",
        ..PARAM
    },
    Param {
        name: "method",
        ty: Ty::Word(&["lhs", "random", "grid"]),
        default: Some("\"lhs\""),
        source: "McKay, Beckman, Conover 1979",
        doc: "`lhs`: a Latin hypercube, each axis in as many equally likely slices as there are samples, and one sample \
              in each; `random`: independent; `grid`: evenly spaced in the axis's law, both ends included.",
        ..PARAM
    },
    Param {
        name: "design_seed",
        ty: int(0, 9_007_199_254_740_992),
        unit: "1",
        default: Some("1"),
        doc: "Chooses the samples, apart from the runs' seeds.",
        ..PARAM
    },
];

/// The topology of that name.
pub(crate) fn topology(name: &str) -> Option<&'static TopologyKind> {
    TOPOLOGIES.iter().find(|k| k.name == name)
}

/// The kind of traffic of that name.
pub(crate) fn traffic(name: &str) -> Option<&'static TrafficKind> {
    TRAFFICS.iter().find(|k| k.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk;

    /// Every table of every crate, with the kind that it belongs to.
    fn all() -> Vec<(&'static str, Vec<&'static Param>)> {
        let mut all: Vec<(&str, Vec<&Param>)> = vec![
            ("top", TOP.iter().collect()),
            ("measure", MEASURE.iter().collect()),
            ("topology", TOPOLOGY.iter().collect()),
            ("link", LINK.iter().collect()),
            ("node", NODE.iter().collect()),
            ("graph's link", GRAPH_LINK.iter().chain(LINK).collect()),
            ("access", ACCESS.iter().collect()),
        ];
        all.extend(TOPOLOGIES.iter().map(|k| (k.name, k.params.iter().collect())));
        let flat = |tables: walk::Params| tables.into_iter().flatten().collect();
        all.extend(TRAFFICS.iter().map(|k| (k.name, flat(walk::traffic_params(k)))));
        all.extend(penstock_aqm::KINDS.iter().map(|k| (k.name, flat(walk::aqm_params(k)))));
        all
    }

    #[test]
    fn every_default_parses_and_passes_its_own_type() {
        for (_, params) in all() {
            for p in params {
                for text in [p.default, p.ns2].into_iter().flatten() {
                    walk::literal(p, text); // panics with the name
                }
            }
        }
    }

    #[test]
    fn own_defaults_are_of_keys_that_exist() {
        for kind in penstock_aqm::KINDS {
            let tables = walk::aqm_params(kind);
            for (key, text) in kind.defaults.iter().chain(kind.ns2) {
                walk::literal(
                    walk::find(&tables, key).unwrap_or_else(|| panic!("{}: {key}", kind.name)),
                    text,
                );
            }
        }
        for variant in penstock_tcp::VARIANTS {
            let tables = [penstock_tcp::PARAMS];
            for (key, text) in variant.defaults.iter().chain(variant.ns2) {
                walk::literal(
                    walk::find(&tables, key).unwrap_or_else(|| panic!("{}: {key}", variant.name)),
                    text,
                );
            }
            let mut own = variant.own.iter().copied().flatten();
            assert!(own.all(|p| walk::find(&tables, p.name) == Some(p)), "{}", variant.name);
        }
    }

    #[test]
    fn declarations_are_complete() {
        for (table, params) in all() {
            let mut names: Vec<_> = params.iter().map(|p| p.name).collect();
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count, "{table}: a name stands twice");
            for p in params {
                assert!(!p.doc.is_empty(), "{table}.{}: no doc", p.name);
                assert!(
                    p.default.is_some() || !p.auto.is_empty(),
                    "{table}.{}: absent means what?",
                    p.name
                );
            }
        }
    }

    #[test]
    fn words_of_kinds_are_the_kinds() {
        let words = |p: &Param| match p.ty {
            Ty::Word(words) => words.to_vec(),
            _ => vec![],
        };
        assert_eq!(words(&TRAFFIC_KIND[0]), TRAFFICS.iter().map(|k| k.name).collect::<Vec<_>>());
        assert!(words(&TOPOLOGY[0]).iter().all(|w| topology(w).is_some()));
        assert_eq!(
            words(&AQM_KIND[0]),
            penstock_aqm::KINDS.iter().map(|k| k.name).collect::<Vec<_>>()
        );
    }
}
