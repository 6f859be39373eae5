//! Westwood+. S. Mascolo, C. Casetti, M. Gerla, M. Sanadidi, R. Wang, "TCP Westwood: bandwidth
//! estimation for enhanced transport over wireless links", MobiCom 2001; L. Grieco, S. Mascolo,
//! "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion
//! control", CCR 34(2), 2004: the bandwidth is sampled once a round trip, which makes it proof
//! against compressed ACKs.
//!
//! b_k = data acknowledged / time, b̂_k = a b̂_{k−1} + (1 − a)/2 (b_k + b_{k−1}); Patel's eq. (3)
//! prints a minus, with which the filter would hold nothing. A loss sets ssthresh = max(2, b̂
//! RTT_min), a mark (of which the papers do not speak) likewise. Readings: the first sample starts
//! the filter, as in Linux; a duplicate ACK tells of one segment, which the cumulative ACK after it
//! does not tell again (2001, AckedCount). Before the first sample ssthresh falls to 2, as the
//! formula says.

use penstock_units::{Duration, Time};

/// What Westwood keeps beside the common state. Rates are in segments a second.
#[derive(Clone, Debug)]
pub(crate) struct WestwoodState {
    /// b̂_k.
    estimate: Option<f64>,
    /// b_{k−1}.
    last: f64,
    /// Since when `acked` counts.
    since: Option<Time>,
    acked: i64,
    /// Segments that duplicate ACKs have told of already.
    told: i64,
    rtt_min: Duration,
}

impl WestwoodState {
    pub(crate) fn new() -> Self {
        WestwoodState {
            estimate: None,
            last: 0.0,
            since: None,
            acked: 0,
            told: 0,
            rtt_min: Duration::from_ticks(u64::MAX),
        }
    }

    /// An ACK of `newly` segments (none: a duplicate); `rtt` is the last round trip.
    pub(crate) fn ack(&mut self, now: Time, newly: i64, rtt: Option<Duration>, a: f64) {
        let Some(since) = self.since else {
            self.since = Some(now); // the SYN's answer
            return;
        };
        if newly == 0 {
            self.told += 1;
            self.acked += 1;
        } else {
            // A cumulative ACK tells of at least the segment that caused it.
            let old = self.told.min(newly - 1);
            self.told -= old;
            self.acked += newly - old;
        }
        let Some(rtt) = rtt else { return };
        self.rtt_min = self.rtt_min.min(rtt);
        let elapsed = now.since(since);
        if elapsed >= rtt && elapsed > Duration::ZERO {
            self.sample(self.acked as f64 / elapsed.as_secs_f64(), a);
            self.since = Some(now);
            self.acked = 0;
        }
    }

    fn sample(&mut self, b: f64, a: f64) {
        self.estimate = Some(match self.estimate {
            None => b,
            Some(estimate) => a * estimate + (1.0 - a) / 2.0 * (b + self.last),
        });
        self.last = b;
    }

    /// b̂ RTT_min: what the path holds without a queue, in segments.
    pub(crate) fn path_holds(&self) -> f64 {
        self.estimate.map_or(0.0, |b| b * self.rtt_min.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn the_filter_by_hand() {
        let mut w = WestwoodState::new();
        // 100; 0.9 · 100 + 0.05 (200 + 100) = 105; 0.9 · 105 + 0.05 (0 + 200) = 104.5
        for (b, want) in [(100.0, 100.0), (200.0, 105.0), (0.0, 104.5)] {
            w.sample(b, 0.9);
            assert!((w.estimate.unwrap() - want).abs() < 1e-9, "{b}: {:?}", w.estimate);
        }
    }

    /// Ten segments in each round trip of 100 ms: 100 a second, of which the path holds ten.
    #[test]
    fn one_sample_a_round_trip() {
        let (mut w, rtt) = (WestwoodState::new(), Some(Duration::from_millis(100)));
        w.ack(ms(0), 1, rtt, 0.9);
        for t in 1..=19 {
            w.ack(ms(10 * t), 1, rtt, 0.9);
        }
        assert_eq!(w.estimate, Some(100.0));
        assert!((w.path_holds() - 10.0).abs() < 1e-9);
        assert_eq!(w.acked, 9, "the next sample is under way");
    }

    /// One lost, four duplicates, an ACK of all five: five segments arrived, not nine.
    #[test]
    fn duplicates_count_once() {
        let mut w = WestwoodState::new();
        w.ack(ms(0), 1, None, 0.9);
        for t in 1..=4 {
            w.ack(ms(t), 0, None, 0.9);
        }
        w.ack(ms(9), 5, None, 0.9);
        assert_eq!((w.acked, w.told), (5, 0));
    }
}
