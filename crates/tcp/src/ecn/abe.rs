//! ABE, alternative back-off with ECN, RFC 8511: a mark comes from a short queue, long before a
//! buffer is full, so that less has to be given back than for a loss. In congestion avoidance a mark
//! sets ssthresh = max(FlightSize · beta_ecn, 2) and cwnd to it; in slow start it counts as a loss
//! (section 4), and a loss is what it was.
//!
//! Section 3.1 recommends 0.8 for Reno, and reports tests with 0.85 for CUBIC. What else the control
//! remembers of a cut, such as CUBIC's maximum, it remembers of this one.

use crate::control::algorithm::Cause;
use crate::control::window::Window;
use penstock_units::param::num_open;

penstock_units::params! {
    /// Alternative back-off.
    pub struct AbeParams: Default {
        /// ABE: what a mark leaves of the window in congestion avoidance. RFC 8511 has 0.8 for
        /// Reno's window and 0.85 for CUBIC's. Not with ecn = mecn, whose marks have their own.
        pub beta_ecn: Option<f64> {
            ty: num_open(0.0, 0.999_999),
            unit: "1",
            auto: "what a loss leaves",
            quiet: true,
            source: "RFC 8511 3.1",
        },
    }
}

impl AbeParams {
    /// Returns what a cut leaves of the window, if that is for ABE to say.
    #[inline]
    pub(crate) fn leaves(&self, cause: Cause, w: &Window) -> Option<f64> {
        self.beta_ecn.filter(|_| cause == Cause::Mark && w.cwnd >= w.ssthresh)
    }
}
