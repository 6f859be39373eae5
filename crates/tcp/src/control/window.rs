//! The congestion window, which its control owns. Recovery may lower it while it repairs.

/// cwnd and ssthresh, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) cwnd: f64,
    /// Infinity before the first cut, unless a limit was set.
    pub(crate) ssthresh: f64,
}

impl Window {
    /// Slow start's step (RFC 5681 3.1 (2)): min(N, SMSS), with N of at least a segment.
    #[inline]
    pub(crate) fn slow_start(&mut self) {
        self.cwnd += 1.0;
    }

    /// Takes `n` segments off cwnd, down to two.
    pub(crate) fn shrink(&mut self, n: f64) {
        self.cwnd = (self.cwnd - n).max(2.0_f64.min(self.cwnd));
    }

    /// Sets ssthresh to what a cut leaves, but at least 2. `whole`: ns-2 rounds it down.
    pub(crate) fn set_ssthresh(&mut self, left: f64, whole: bool) {
        self.ssthresh = if whole { left.trunc() } else { left }.max(2.0);
    }
}
