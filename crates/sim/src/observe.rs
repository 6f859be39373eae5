//! How a run stands while it goes on, for whoever looks at it between two steps.

/// How a sender stands. Counts are from the beginning of the run.
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
    /// Payload bytes acknowledged.
    pub acked_bytes: u64,
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}
