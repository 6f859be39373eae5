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

    /// Slow start's step without a limit: every segment acknowledged, up to ssthresh. Returns how
    /// many those were; the rest of them counts in congestion avoidance.
    #[inline]
    pub(crate) fn slow_start_by(&mut self, acked: f64) -> f64 {
        let taken = acked.min(self.ssthresh - self.cwnd);
        self.cwnd += taken;
        taken
    }

    /// Rounds down to whole segments, after a cut. What arithmetic left a hair below one is one.
    pub(crate) fn round(&mut self) {
        self.cwnd = whole(self.cwnd).max(1.0);
        self.ssthresh = whole(self.ssthresh).max(2.0);
    }

    /// Has moved from `before`: does so only by whole segments. `part` is what was counted before,
    /// and becomes what is left.
    pub(crate) fn move_whole(&mut self, before: f64, part: &mut f64) {
        let sum = *part + self.cwnd - before;
        let segments = whole(sum);
        *part = (sum - segments).max(0.0);
        self.cwnd = (whole(before) + segments).max(1.0);
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

/// Returns the whole segments in a sum of parts, which may be a hair short of one.
fn whole(segments: f64) -> f64 {
    (segments + 1e-9).floor()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten tenths are a segment, and no more than a segment. From 10: three ACKs of 0.4 give one,
    /// and 0.2 are left.
    #[test]
    fn parts_add_up_to_segments() {
        for (part_of_one, steps, cwnd, left) in [(0.1, 10, 11.0, 0.0), (0.4, 3, 11.0, 0.2)] {
            let mut w = Window { cwnd: 10.0, ssthresh: 5.0 };
            let mut part = 0.0;
            for _ in 0..steps {
                let before = w.cwnd;
                w.cwnd += part_of_one;
                w.move_whole(before, &mut part);
            }
            assert_eq!(w.cwnd, cwnd);
            assert!((part - left).abs() < 1e-6, "{part}");
        }
    }

    /// CUBIC's 0.7 of 10 and of 14, Reno's half of 7 and of 3.
    #[test]
    fn cuts_round_down() {
        for (left, cwnd, ssthresh) in
            [(7.0, 7.0, 7.0), (9.8, 9.0, 9.0), (3.5, 3.0, 3.0), (1.5, 1.0, 2.0)]
        {
            let mut w = Window { cwnd: left, ssthresh: left.max(2.0) };
            w.round();
            assert_eq!((w.cwnd, w.ssthresh), (cwnd, ssthresh));
        }
    }
}
