//! What a control believes of its path, for reports: a control fills in what it has.

use penstock_units::Duration;

penstock_units::words! {
    /// The state of a control that probes its path in turns.
    pub enum Phase {
        /// It raises its rate every round.
        Startup = "startup",
        /// It empties the queue that STARTUP has made.
        Drain = "drain",
        /// It goes through the gains of BBR's version 1.
        ProbeBw = "probe-bw",
        /// Version 3: below the bandwidth.
        Down = "probe-bw-down",
        /// Version 3: at the bandwidth.
        Cruise = "probe-bw-cruise",
        /// Version 3: at the bandwidth, for a round before it goes up.
        Refill = "probe-bw-refill",
        /// Version 3: above the bandwidth.
        Up = "probe-bw-up",
        /// It sends little, so that the queue empties and a round trip shows the path's.
        ProbeRtt = "probe-rtt",
    }
}

/// What a control believes of its path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Model {
    /// The bandwidth in segments per second.
    pub bandwidth: Option<f64>,
    /// The round trip without a queue.
    pub min_rtt: Option<Duration>,
    /// The marked fraction.
    pub alpha: Option<f64>,
    /// What it is doing.
    pub phase: Option<Phase>,
}
