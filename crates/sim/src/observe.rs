//! How a run stands while it goes on, for whoever looks at it between two steps.

use penstock_tcp::Counters;

/// How a sender stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// Its congestion window, segments.
    pub cwnd: f64,
    /// Its slow-start threshold, segments: infinity before the first cut.
    pub ssthresh: f64,
    /// Its smoothed round trip, seconds, once there is one.
    pub srtt_s: Option<f64>,
    /// The rate of payload at which its segments may leave, bits per second, where they are paced.
    pub pacing_bps: Option<f64>,
    /// What it has done since the beginning of the run.
    pub done: Sent,
}

/// What a sender has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Payload bytes acknowledged.
    pub acked_bytes: u64,
    /// The rest.
    pub counters: Counters,
}

impl Sent {
    /// Returns what it has done since `then`.
    #[must_use]
    pub fn since(self, then: Self) -> Self {
        Sent {
            acked_bytes: self.acked_bytes - then.acked_bytes,
            counters: self.counters.since(then.counters),
        }
    }
}
