//! For how long a receiver holds an ACK back: RFC 1122, 4.2.3.2, and how Linux adapts it
//! (`tcp_event_data_recv`, `tcp_send_delayed_ack`). A connection begins with ACKs that are not held
//! back, so that slow start has one for each segment. Later the wait follows the gaps between
//! segments, within the round trip that the handshake has shown. While a segment is missing, three
//! duplicate ACKs go at once; later ones wait for each other (`__tcp_ack_snd_check`).
//!
//! Departs from Linux: an ACK is held back until the second segment whatever that one's size, and
//! growth of the receive buffer does not begin quick ACKs again. Duplicate ACKs wait within the
//! handshake's round trip, not within what timestamps measure where that is less; their timer has no
//! slack; and an ACK that would forget a block goes with the segment that makes it do so, not before.

use crate::params::TcpParams;
use crate::segment::Block;
use penstock_units::{Duration, Time};

/// No adapted wait is longer (Linux: a jiffy less than `TCP_DELACK_MAX`), and without a sample of
/// the round trip none that is bounded by it.
const LONGEST: Duration = Duration::from_millis(199);
/// Duplicate ACKs that go at once (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u32 = 3;
/// The most that become one ACK (`tcp_comp_sack_nr`).
const MERGED: u32 = 44;
/// The blocks that a receiver remembers (`TCP_NUM_SACKS`).
const BLOCKS: usize = 4;

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
    /// Duplicate ACKs wait at most so long.
    compression: Duration,
    /// The segment that they ask for, how many have gone at once, and how many wait.
    missing: i64,
    gone: u32,
    merged: u32,
}

impl Held {
    /// Returns the state of a receiver, where something adapts.
    pub(crate) fn new(p: &TcpParams) -> Option<Self> {
        let compression = if p.sack() { p.sack_compression } else { Duration::ZERO };
        let any = p.delayed_ack_adapts || p.quickack > 0 || compression > Duration::ZERO;
        let (least, adapts) = (p.delayed_ack_timeout, p.delayed_ack_adapts);
        (p.delayed_ack && any).then(|| Held::with(least, adapts, p.quickack, compression))
    }

    fn with(least: Duration, adapts: bool, quick: u32, compression: Duration) -> Self {
        Held {
            least,
            adapts,
            quick,
            compression,
            missing: 0,
            gone: 0,
            merged: 0,
            left: 0,
            wait: least,
            last: None,
            answered: Time::ZERO,
            rtt: None,
        }
    }

    /// The SYN is answered.
    pub(crate) fn open(&mut self, now: Time) {
        let fresh = Held::with(self.least, self.adapts, self.quick, self.compression);
        *self = Held { answered: now, ..fresh };
    }

    /// The next `n` ACKs are not held back.
    pub(crate) fn hurry(&mut self, n: u32) {
        self.left = self.left.max(n);
    }

    /// The data arrive that were expected. What comes out of order ends no gap.
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

    /// Data arrive that were there: their ACK was lost, or held back for too long.
    pub(crate) fn again(&mut self) {
        if self.adapts {
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

    /// A segment has come while the one with number `missing` has not; what has come behind that is
    /// `blocks`, the newest first. Returns how long the segment's ACK may wait for others, from the
    /// first that waits; `None`: it goes at once.
    pub(crate) fn merges(&mut self, missing: i64, blocks: &[Block]) -> Option<Duration> {
        if self.compression == Duration::ZERO || self.left > 0 {
            return None;
        }
        if std::mem::replace(&mut self.missing, missing) != missing {
            self.gone = 0;
        }
        if self.gone < AT_ONCE {
            self.gone += 1;
            return None;
        }
        let forgets = || blocks.len() > BLOCKS && blocks[0].right - blocks[0].left == 1;
        if self.merged >= MERGED || self.merged > 0 && forgets() {
            return None;
        }
        self.merged += 1;
        let trip = Duration::from_ticks(self.rtt.unwrap_or(Duration::ZERO).as_ticks() / 20);
        Some(self.compression.min(trip))
    }

    /// An ACK goes out.
    pub(crate) fn sent(&mut self) {
        self.merged = 0;
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
        let mut h = Held::with(Duration::from_millis(40), true, quick, Duration::from_millis(1));
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

    /// Segment 5 is missing: the ACKs of 6, 7 and 8 go, 44 wait for a twentieth of 10 ms and the
    /// next goes. When 5 has come and 100 is missing, three go again. With more blocks than a receiver
    /// remembers no new one waits behind another.
    #[test]
    fn duplicate_acks_wait_for_each_other() {
        let mut h = held(0);
        h.data(ms(10));
        let all = |right| [Block { left: 6, right }];
        assert_eq!([7, 8, 9].map(|right| h.merges(5, &all(right))), [None; 3]);
        let wait = Some(Duration::from_micros(500));
        assert!((10..54).all(|right| h.merges(5, &all(right)) == wait));
        assert_eq!(h.merges(5, &all(54)), None, "44 wait");
        h.sent();
        assert_eq!(h.merges(5, &all(55)), wait);
        assert_eq!([0; 3].map(|_| h.merges(100, &all(101))), [None; 3], "another is missing");
        h.sent();
        let far = |n: i64| -> Vec<Block> {
            (0..n).rev().map(|i| Block { left: 110 + 2 * i, right: 111 + 2 * i }).collect()
        };
        assert_eq!([4, 5].map(|n| h.merges(100, &far(n))), [wait, None]);
        h.sent();
        assert_eq!(h.merges(100, &far(6)), wait, "none waits yet");
    }

    /// A wait is at most what is asked for, and quick ACKs do not wait.
    #[test]
    fn duplicate_acks_wait_no_longer_than_asked() {
        let mut h = held(5);
        h.data(ms(100));
        assert!((0..5).all(|_| {
            h.sent();
            h.merges(5, &[]).is_none()
        }));
        assert!([h.merges(5, &[]), h.merges(5, &[])].iter().all(Option::is_none), "three");
        assert_eq!(h.merges(5, &[]), Some(Duration::from_millis(1)));
    }
}
