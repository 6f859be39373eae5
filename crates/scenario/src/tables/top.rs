//! Keys at the top of a scenario, and its measured window.

use super::REQUIRED;
use penstock_units::param::{int, Profile};
use penstock_units::{params, words, Bytes, Duration};

words! {
    /// What goes first when a packet arrives at the very instant of a departure.
    pub(crate) enum Ties {
        /// The departure.
        Departures = "departures",
        /// What was scheduled first.
        Scheduling = "scheduling",
    }
}

params! {
    /// Keys beside the tables at the top of a scenario.
    pub(crate) struct Top {
        /// What the scenario is called in tables, figures and reports.
        pub name: String { default: "scenario" },
        /// Simulated time.
        pub duration: Duration { auto: REQUIRED },
        // Whole numbers up to 2^53 survive every JSON reader.
        /// The root of every random stream; `--seeds N` means this one and the N − 1 after it.
        pub seed: i64 { ty: int(0, 1 << 53), unit: "1", default: 1 },
        /// Whose defaults the keys that are left out take; single keys still win.
        pub profile: Profile { default: "rfc", source: "RFCs and papers; ns-2 2.35; Linux 6.18; RFC 9002" },
        /// Header bytes that the wire counts on a TCP data segment, beside timestamps.
        pub overhead: Bytes {
            default: "40 B",
            quic: "63 B",
            source: "IPv4 and TCP without options; QUIC: UDP, short header, STREAM frame and tag",
        },
        /// When a packet arrives at the very instant of a departure: the departure goes first,
        /// or what was scheduled first (an arrival is when the packet begins to be sent to the
        /// queue, a departure when the packet before it begins to be sent).
        pub ties: Ties {
            default: "departures",
            ns2: "scheduling",
            source: "ns-2 takes events of one instant in the order in which they were scheduled",
        },
    }
}

params! {
    /// `measure = { … }`.
    pub(crate) struct Measure {
        /// Start of the measured window; everything before is warm-up.
        pub from: Duration { default: "0 s" },
        /// End of the measured window (excluded).
        pub to: Option<Duration> { auto: "the end of the run" },
    }
}

/// What `[record]` is, for schema and lists.
pub(crate) const RECORD_DOC: &str = "What results have besides the run's metrics.";

params! {
    /// `record = { … }`.
    pub(crate) struct Record: Default {
        /// Whether results have `links`, the metrics of each link by its name. Those of a dumbbell
        /// are "bottleneck" and "bottleneck.reverse".
        pub links: Option<bool> {
            auto: "in a dumbbell where a queue may form in the other direction: data go there, or its rate or discipline \
                   is its own; else always",
        },
        /// Whether groups and flows have the metrics of their packets: delay, delay variation and
        /// loss at the bottleneck and one way, and of calls R. Memory: a few kB a flow.
        pub groups: bool { default: false },
    }
}
