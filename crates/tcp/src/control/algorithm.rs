//! What a congestion control is asked, and what it is told. Every method has a default, Reno's, so
//! that a control states only what it does differently.

use crate::ecn::bits::Ecn;
use crate::rtt::{RttEstimator, RttParams};
use penstock_units::param::ParamError;
use penstock_units::{Duration, Time};

/// An ACK, as a control sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    pub(crate) now: Time,
    /// The highest segment received in order.
    pub(crate) seq: i64,
    /// Segments newly acknowledged; 0: a duplicate, below 0: an ACK from the past.
    pub(crate) newly: i64,
    /// Segments newly reported as marked.
    pub(crate) marked: i64,
    /// The highest segment sent.
    pub(crate) max_sent: i64,
    /// The last round-trip sample.
    pub(crate) rtt: Option<Duration>,
}

/// An ACK of congestion avoidance: the window may grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth<'a> {
    pub(crate) now: Time,
    /// The window in segments.
    pub(crate) cwnd: f64,
    /// Segments that count towards growth.
    pub(crate) acked: f64,
    pub(crate) rtt: &'a RttEstimator,
    pub(crate) rtt_params: &'a RttParams,
}

impl Growth<'_> {
    /// Returns the smoothed round trip in seconds.
    pub(crate) fn srtt(&self) -> f64 {
        self.rtt.smoothed(self.rtt_params)
    }
}

/// What a cut answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Loss,
    Timeout,
    Mark,
    /// A moderate mark in a window that was cut for an incipient one.
    Deeper,
}

/// A cut of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) cause: Cause,
    /// The window in segments, before the cut.
    pub(crate) cwnd: f64,
    /// The segments that a cut by a factor multiplies: those outstanding, or the window in force.
    pub(crate) base: f64,
    /// Reno's factor: one half, or 1 − β3 under multi-level ECN.
    pub(crate) reno: f64,
}

/// A congestion control: how the window grows in congestion avoidance, and what a cut leaves of it.
/// Slow start, the timer and the repair of losses are the sender's.
pub(crate) trait CongestionControl: Sized {
    /// What a user sets.
    type Params;

    /// Whether the answer to marks depends on how many there are.
    const COUNTS_MARKS: bool = false;

    /// Whether [`CongestionControl::on_ack`] does anything.
    const WATCHES: bool = false;

    /// Returns the control of a connection that has sent nothing.
    fn new(p: &Self::Params) -> Self;

    /// Checks parameters against each other and against the use of ECN.
    fn check(_p: &Self::Params, _ecn: Ecn) -> Result<(), ParamError> {
        Ok(())
    }

    /// The first data were given, at `now`.
    fn started(&mut self, _now: Time) {}

    /// Segment `seq` is sent.
    fn sent(&mut self, _now: Time, _seq: i64, _highest_ack: i64) {}

    /// An ACK has arrived. Nothing else has been done with it.
    fn on_ack(&mut self, _a: &Acked) {}

    /// Returns the window after an ACK of congestion avoidance.
    fn grow(&mut self, g: &Growth) -> f64 {
        g.cwnd + g.acked / g.cwnd
    }

    /// Whether slow start ends here, below ssthresh.
    fn ends_slow_start(&mut self) -> bool {
        false
    }

    /// Returns the window after an ACK that could have let it grow, had it been what limited
    /// sending.
    fn unused(&mut self, g: &Growth) -> f64 {
        g.cwnd
    }

    /// Returns what a cut leaves of the window.
    fn leaves(&self, c: &Cut) -> f64 {
        c.base * c.reno
    }

    /// Returns what a multi-level mark leaves of the window; `table_3` is what the paper says, and
    /// `c` a loss at the same time (see `ecn/mecn.rs`).
    fn level_leaves(&self, table_3: f64, c: &Cut) -> f64 {
        table_3.max(self.leaves(c))
    }

    /// Whether a loss may leave cwnd at ssthresh even where that is above cwnd.
    fn may_lift(&self) -> bool {
        true
    }

    /// The window is about to be cut.
    fn before_cut(&mut self, _c: &Cut) {}
}
