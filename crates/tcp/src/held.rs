//! For how long a receiver holds an ACK back: RFC 1122, 4.2.3.2, and how Linux adapts it
//! (`tcp_event_data_recv`, `tcp_send_delayed_ack`). A connection begins with ACKs that are not held
//! back, so that slow start has one for each segment. Later the wait follows the gaps between
//! segments, within the round trip that the handshake has shown.
//!
//! Departs from Linux: an ACK is held back until the second segment whatever that one's size, and
//! growth of the receive buffer does not begin quick ACKs again.

use penstock_units::{Duration, Time};

/// No adapted wait is longer (Linux: a jiffy less than `TCP_DELACK_MAX`), and without a sample of
/// the round trip none that is bounded by it.
const LONGEST: Duration = Duration::from_millis(199);

/// What a receiver keeps that adapts.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// The wait at first, and in an even stream.
    least: Duration,
    adapts: bool,
    /// ACKs that are not held back: at the start, and how many are left.
    quick: u32,
    left: u32,
    wait: Duration,
    last: Option<Time>,
    /// When the SYN was answered, and how long the first data took from there.
    answered: Time,
    rtt: Option<Duration>,
}

impl Held {
    pub(crate) fn new(least: Duration, adapts: bool, quick: u32) -> Self {
        Held {
            least,
            adapts,
            quick,
            left: 0,
            wait: least,
            last: None,
            answered: Time::ZERO,
            rtt: None,
        }
    }

    /// The SYN is answered.
    pub(crate) fn open(&mut self, now: Time) {
        *self = Held { answered: now, ..Held::new(self.least, self.adapts, self.quick) };
    }

    /// The next `n` ACKs are not held back.
    pub(crate) fn hurry(&mut self, n: u32) {
        self.left = self.left.max(n);
    }

    /// Data arrive.
    pub(crate) fn data(&mut self, now: Time) {
        let Some(last) = self.last.replace(now) else {
            self.rtt = Some(now.since(self.answered));
            return self.hurry(self.quick);
        };
        if !self.adapts {
            return;
        }
        let gap = now.since(last);
        let half = |d: Duration| Duration::from_ticks(d.as_ticks() / 2);
        if gap <= half(self.least) {
            self.wait = half(self.wait) + half(self.least);
        } else if gap < self.wait {
            self.wait = (half(self.wait) + gap).min(self.timeout());
        } else if gap > self.timeout() {
            self.hurry(self.quick);
        }
    }

    /// Returns for how long the ACK of one segment may be held back; `None`: it goes at once.
    pub(crate) fn wait(&self) -> Option<Duration> {
        if self.left > 0 {
            return None;
        }
        let longest = self.rtt.map_or(LONGEST, |rtt| rtt.max(self.least));
        Some(self.wait.min(longest.max(self.least)).min(LONGEST.max(self.least)))
    }

    /// An ACK goes out.
    pub(crate) fn sent(&mut self) {
        if self.left > 0 {
            self.left -= 1;
            if self.left == 0 {
                self.wait = self.least;
            }
        }
    }

    /// The receiver's own timeout, from the handshake: one sample, and a deviation of 200 ms at
    /// least.
    fn timeout(&self) -> Duration {
        let Some(rtt) = self.rtt else { return Duration::from_secs(1) };
        rtt + (rtt + rtt).max(Duration::from_millis(200))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    fn held(quick: u32) -> Held {
        let mut h = Held::new(Duration::from_millis(40), true, quick);
        h.open(ms(0));
        h
    }

    fn waits(h: &Held) -> Option<f64> {
        h.wait().map(|d| d.as_secs_f64() * 1e3)
    }

    /// The first data come after 100 ms. In an even stream the wait is 40 ms. Gaps of 30 ms: 20 +
    /// 30, 25 + 30, 27.5 + 30 …; a gap of 90 ms is longer than that and changes nothing, and then
    /// gaps of 10 ms halve the way to 40. No wait is longer than the round trip.
    #[test]
    fn the_wait_follows_the_gaps() {
        let mut h = held(0);
        let mut now = 100;
        h.data(ms(now));
        assert_eq!(waits(&h), Some(40.0));
        for (gap, want) in
            [(1, 40.0), (30, 50.0), (30, 55.0), (30, 57.5), (90, 57.5), (10, 48.75), (20, 44.375)]
        {
            now += gap;
            h.data(ms(now));
            assert_eq!(waits(&h), Some(want), "after a gap of {gap} ms");
        }
        let mut near = held(0);
        (0..9).for_each(|i| near.data(ms(45 + 39 * i)));
        assert_eq!(waits(&near), Some(45.0), "a round trip");
    }

    /// Sixteen ACKs at once, the next is held back; after a pause longer than the timeout, 100 +
    /// 200 ms, sixteen again.
    #[test]
    fn a_connection_begins_with_quick_acks() {
        let mut h = held(16);
        for i in 0..16 {
            h.data(ms(100 + i));
            assert_eq!(waits(&h), None, "ACK {i}");
            h.sent();
        }
        h.data(ms(116));
        assert_eq!(waits(&h), Some(40.0));
        h.data(ms(416));
        assert_eq!(waits(&h), Some(40.0), "300 ms are not more than the timeout");
        h.data(ms(717));
        assert_eq!(waits(&h), None);
    }
}
