//! Vegas as in Linux (`tcp_vegas.c`, 6.x): `vegas = "linux"`, in whole segments.
//!
//! Once per round trip with more than two samples, of which RTT is the least, and RTT_min the least
//! of all: Diff = cwnd (RTT − RTT_min)/RTT_min.
//!
//! - In slow start, Diff above γ: cwnd = min(cwnd, cwnd RTT_min/RTT + 1), which is ssthresh, too.
//! - After it, Diff above β: one segment less; below α: one more.
//! - ssthresh is at least three quarters of cwnd.
//!
//! Slow start doubles each round trip. Vegas rests from a loss or a mark until that is repaired, and
//! Reno's window moves meanwhile; a cut is Reno's. Left out: RTT_min is found anew when data are
//! sent with nothing outstanding.

use crate::control::algorithm::{CongestionControl, Growth};
use crate::control::reno::Reno;
use crate::control::window::Window;
use crate::info::CaState;
use penstock_units::Duration;

/// α, β and γ, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thresholds {
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) gamma: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct InSegments {
    thresholds: Thresholds,
    /// Nothing is being repaired.
    open: bool,
    /// The segment whose ACK begins a round trip; `None`: the next to be sent.
    begin: Option<i64>,
    rtt_min: Duration,
    /// The least sample of this round trip, and how many there were.
    rtt: Duration,
    samples: u32,
}

const NEVER: Duration = Duration::from_ticks(u64::MAX);

impl InSegments {
    pub(crate) fn new(thresholds: Thresholds) -> Self {
        InSegments { thresholds, open: true, begin: None, rtt_min: NEVER, rtt: NEVER, samples: 0 }
    }

    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.rtt_min = self.rtt_min.min(rtt);
        self.rtt = self.rtt.min(rtt);
        self.samples += 1;
    }

    pub(crate) fn on_state(&mut self, to: CaState) {
        self.open = to == CaState::Open;
        if self.open {
            (self.begin, self.rtt, self.samples) = (None, NEVER, 0);
        }
    }

    pub(crate) fn grow(&mut self, g: &Growth, w: &mut Window) {
        if !self.open {
            return Reno.grow(g, w);
        }
        let begin = *self.begin.get_or_insert(g.next);
        if g.seq < begin {
            if w.cwnd < w.ssthresh {
                w.slow_start_by(g.acked);
            }
            return;
        }
        if self.samples > 2 {
            self.judge(g, w);
        } else {
            Reno.grow(g, w); // too little is known
        }
        (self.begin, self.rtt, self.samples) = (Some(g.next), NEVER, 0);
    }

    fn judge(&self, g: &Growth, w: &mut Window) {
        let Thresholds { alpha, beta, gamma } = self.thresholds;
        // In microseconds, so that the quotients are Linux's.
        let [rtt, rtt_min] = [self.rtt, self.rtt_min].map(|t| (t.as_secs_f64() * 1e6).max(1.0));
        let diff = libm::trunc(w.cwnd * (rtt - rtt_min) / rtt_min);
        if w.cwnd < w.ssthresh {
            if diff > gamma {
                w.cwnd = w.cwnd.min(libm::trunc(w.cwnd * rtt_min / rtt) + 1.0).max(2.0);
                w.ssthresh = w.ssthresh.min(w.cwnd);
            } else {
                w.slow_start_by(g.acked);
            }
        } else if diff > beta {
            w.cwnd = (w.cwnd - 1.0).max(2.0);
            w.ssthresh = w.ssthresh.min(w.cwnd);
        } else if diff < alpha {
            w.cwnd += 1.0;
        }
        w.ssthresh = w.ssthresh.max(libm::trunc(w.cwnd / 2.0) + libm::trunc(w.cwnd / 4.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::{RttEstimator, RttParams};
    use penstock_units::Time;

    const BRAKMO: Thresholds = Thresholds { alpha: 2.0, beta: 4.0, gamma: 1.0 };

    /// A round trip of segments `next − 20` to `next − 1` with this least sample, from `w`.
    fn round(rtt_ms: u64, samples: u32, w: Window) -> Window {
        let (mut v, mut w) = (InSegments::new(BRAKMO), w);
        let rtt_params = RttParams::default();
        let rtt = RttEstimator::new(&rtt_params, Duration::ZERO);
        let grow = |v: &mut InSegments, w: &mut Window, seq, next| {
            let g = Growth { seq, next, ..Growth::of(Time::ZERO, 1.0, &rtt, &rtt_params) };
            v.grow(&g, w);
        };
        v.sample(Duration::from_millis(100));
        v.begin = Some(20);
        (v.rtt, v.samples) = (NEVER, 0);
        for _ in 0..samples {
            v.sample(Duration::from_millis(rtt_ms));
        }
        grow(&mut v, &mut w, 20, 40);
        assert_eq!((v.begin, v.samples), (Some(40), 0));
        let kept = w.cwnd;
        grow(&mut v, &mut w, 21, 41);
        if w.cwnd >= w.ssthresh {
            assert_eq!(w.cwnd, kept, "once per round trip");
        }
        w
    }

    /// RTT_min 100 ms, cwnd 20: at 104 ms Diff is 0 (0.8), at 115 ms 3, at 125 ms 5; at 124 ms it
    /// is 4, which is not above β.
    #[test]
    fn a_segment_per_round_trip() {
        for (rtt, cwnd) in [(104, 21.0), (115, 20.0), (124, 20.0), (125, 19.0)] {
            let w = round(rtt, 3, Window { cwnd: 20.0, ssthresh: 10.0 });
            assert_eq!(w.cwnd, cwnd, "{rtt} ms");
            // Three quarters: 10 + 5, and 9 + 4.
            assert_eq!(w.ssthresh, if cwnd < 20.0 { 13.0 } else { 15.0 });
        }
    }

    /// At 110 ms Diff is 2, above γ: 20 · 100/110 + 1 = 19. At 105 ms it is 1: slow start, which
    /// goes on within the next round trip.
    #[test]
    fn gamma_ends_slow_start() {
        let start = Window { cwnd: 20.0, ssthresh: f64::INFINITY };
        let w = round(110, 3, start);
        assert_eq!((w.cwnd, w.ssthresh), (19.0, 19.0));
        assert_eq!(round(105, 3, start).cwnd, 22.0);
    }

    /// Two samples may both be delayed ACKs': Reno's step.
    #[test]
    fn two_samples_are_too_few() {
        let w = round(125, 2, Window { cwnd: 20.0, ssthresh: 10.0 });
        assert_eq!(w.cwnd, 20.05);
    }

    /// From a loss to its repair Reno's window moves.
    #[test]
    fn rests_while_something_is_repaired() {
        let mut v = InSegments::new(BRAKMO);
        v.begin = Some(20);
        v.on_state(CaState::Disorder);
        assert!(!v.open);
        v.on_state(CaState::Open);
        assert_eq!((v.open, v.begin), (true, None));
    }
}
