//! For how long a receiver holds an ACK back: RFC 1122, 4.2.3.2, and how Linux adapts it
//! (`tcp_event_data_recv`, `tcp_send_delayed_ack`). A connection begins with ACKs that are not held
//! back, so that slow start has one for each segment. Later the wait follows the gaps between
//! segments, within the round trip that the handshake has shown, and doubles when no second segment
//! came in time (`tcp_delack_timer_handler`). It is counted in ticks, Linux's jiffies, and ends with
//! one: the tick in which the segment came does not count (`calc_index`). While a segment is missing,
//! three duplicate ACKs go at once; later ones wait for each other (`__tcp_ack_snd_check`).
//!
//! Departs from Linux: an ACK is held back until the second segment whatever that one's size, and
//! later growth of the receive buffer does not begin quick ACKs again. Duplicate ACKs wait within the
//! handshake's round trip, not within what timestamps measure where that is less; their timer has no
//! slack; and an ACK that would forget a block goes with the segment that makes it do so, not before.

use crate::params::TcpParams;
use crate::segment::Block;
use penstock_units::{Duration, Time};

/// An adapted wait is a tick shorter at least (`TCP_DELACK_MAX`).
const LONGEST: Duration = Duration::from_millis(200);
/// The window grows from 64 to 78 kB with so many segments, and their ACKs go at once
/// (`tcp_grow_window`). The first is none of them: it is taken for a greeting, below 128 B.
const GROWS: u32 = 6;
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
    /// The wait where it adapts, and what it is counted in.
    jiffies: Option<Jiffies>,
    /// ACKs that are not held back: at the start, and how many are left.
    quick: u32,
    left: u32,
    grows: u32,
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
        let least = p.delayed_ack_timeout;
        let jiffies = p.delayed_ack_adapts.then(|| Jiffies::new(least, p.rtt.tick));
        (p.delayed_ack && any).then(|| Held::with(least, jiffies, p.quickack, compression))
    }

    fn with(least: Duration, jiffies: Option<Jiffies>, quick: u32, compression: Duration) -> Self {
        Held {
            least,
            jiffies,
            quick,
            compression,
            missing: 0,
            gone: 0,
            merged: 0,
            left: 0,
            grows: GROWS,
            last: None,
            answered: Time::ZERO,
            rtt: None,
        }
    }

    /// The SYN is answered.
    pub(crate) fn open(&mut self, now: Time) {
        let jiffies = self.jiffies.map(|t| Jiffies::of(t.least, t.tick));
        let fresh = Held::with(self.least, jiffies, self.quick, self.compression);
        *self = Held { answered: now, ..fresh };
    }

    /// The next `n` ACKs are not held back.
    pub(crate) fn hurry(&mut self, n: u32) {
        self.left = self.left.max(n);
    }

    /// The data arrive that were expected. What comes out of order ends no gap.
    pub(crate) fn data(&mut self, now: Time) {
        if self.last.replace(now).is_none() {
            let rtt = now.since(self.answered);
            self.rtt = Some(rtt);
            if let Some(t) = &mut self.jiffies {
                t.know(rtt, now);
            }
            return self.hurry(self.quick);
        }
        let Some(t) = &mut self.jiffies else { return };
        let at = t.until(now);
        let gap = at - std::mem::replace(&mut t.last, at);
        if gap <= t.least / 2 {
            t.wait = t.wait / 2 + t.least / 2;
        } else if gap < t.wait {
            t.wait = (t.wait / 2 + gap).min(t.timeout);
        } else if gap > t.timeout {
            self.hurry(self.quick);
        }
        if self.grows > 0 && self.quick > 0 {
            self.grows -= 1;
            self.left |= 1;
        }
    }

    /// Data arrive that were there: their ACK was lost, or held back for too long.
    pub(crate) fn again(&mut self) {
        if self.jiffies.is_some() {
            self.hurry(self.quick);
        }
    }

    /// An ACK that was held back goes: no second segment came in time. One that goes as its segment
    /// comes, since that one's mark is another, was not held back.
    pub(crate) fn missed(&mut self, now: Time) {
        if let Some(t) = self.jiffies.as_mut().filter(|_| self.last < Some(now)) {
            t.wait = (2 * t.wait).min(t.timeout);
        }
    }

    /// Returns until when the ACK of a segment that arrives now may be held back; `None`: it goes at
    /// once.
    #[inline]
    pub(crate) fn due(&self, now: Time) -> Option<Time> {
        if self.left > 0 {
            return None;
        }
        let Some(t) = &self.jiffies else { return Some(now + self.least) };
        let n = t.wait.min(t.longest);
        Some(t.end(t.until(now), n))
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
            if let (0, Some(t)) = (self.left, &mut self.jiffies) {
                t.wait = t.least;
            }
        }
    }
}

/// A wait in ticks of the host's clock.
#[derive(Clone, Copy, Debug)]
struct Jiffies {
    tick: u64,
    least: u64,
    wait: u64,
    /// No wait is longer.
    longest: u64,
    /// The receiver's own timeout.
    timeout: u64,
    /// The tick in which data arrived last that were expected.
    last: u64,
}

impl Jiffies {
    fn new(least: Duration, tick: Duration) -> Self {
        let tick = tick.as_nanos().max(1);
        Jiffies::of(least.as_nanos().div_ceil(tick), tick)
    }

    fn of(least: u64, tick: u64) -> Self {
        let mut t = Jiffies { tick, least, wait: least, longest: 0, timeout: 0, last: 0 };
        t.longest = (t.hold(LONGEST) - 1).max(least);
        t.timeout = t.hold(Duration::from_secs(1));
        t
    }

    /// The first data have arrived, and with them the round trip is known: no wait is longer. The
    /// timeout has that one sample, and a deviation of 200 ms at least.
    fn know(&mut self, rtt: Duration, now: Time) {
        self.longest = self.hold(rtt).min(self.longest).max(self.least);
        self.timeout = self.hold(rtt + (rtt + rtt).max(Duration::from_millis(200)));
        self.last = self.until(now);
    }

    /// Returns the ticks that hold `d` (`usecs_to_jiffies`).
    fn hold(self, d: Duration) -> u64 {
        d.as_nanos().div_ceil(self.tick)
    }

    /// Returns how many ticks there were until `at`.
    fn until(self, at: Time) -> u64 {
        at.as_nanos() / self.tick
    }

    /// Returns when a timer of `n` ticks goes off that is set in tick `at`.
    fn end(self, at: u64, n: u64) -> Time {
        Time::from_nanos((at + n + 1) * self.tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    fn with(tick_ms: u64, quick: u32) -> Held {
        let [least, tick] = [40, tick_ms].map(Duration::from_millis);
        let jiffies = Some(Jiffies::new(least, tick));
        let mut h = Held::with(least, jiffies, quick, Duration::from_millis(1));
        h.open(ms(0));
        h
    }

    fn held(quick: u32) -> Held {
        with(1, quick)
    }

    /// For how many ticks of 1 ms, at the start of one: that one does not count.
    fn waits(h: &Held) -> Option<f64> {
        h.due(ms(1000)).map(|at| at.since(ms(1000)).as_secs_f64() * 1e3 - 1.0)
    }

    /// The first data come after 100 ms. In an even stream the wait is 40 ms. Gaps of 30 ms: 20 +
    /// 30, 25 + 30, 27 + 30 …; a gap of 90 ms is longer than that and changes nothing, and then
    /// gaps of 10 ms halve the way to 40. No wait is longer than the round trip.
    #[test]
    fn the_wait_follows_the_gaps() {
        let mut h = held(0);
        let mut now = 100;
        h.data(ms(now));
        assert_eq!(waits(&h), Some(40.0));
        for (gap, want) in
            [(1, 40.0), (30, 50.0), (30, 55.0), (30, 57.0), (90, 57.0), (10, 48.0), (20, 44.0)]
        {
            now += gap;
            h.data(ms(now));
            assert_eq!(waits(&h), Some(want), "after a gap of {gap} ms");
        }
        let mut near = held(0);
        (0..9).for_each(|i| near.data(ms(45 + 39 * i)));
        assert_eq!(waits(&near), Some(45.0), "a round trip");
    }

    /// An ACK that is held back in vain doubles the wait, up to the round trip of 150 ms; segments in
    /// quick succession then halve the way to 40 ms, from 80. One that goes with the next segment
    /// was not in vain.
    #[test]
    fn a_wait_in_vain_doubles() {
        let mut h = held(0);
        h.data(ms(150));
        h.missed(ms(150));
        assert_eq!(waits(&h), Some(40.0));
        for want in [80.0, 150.0] {
            h.missed(ms(200));
            assert_eq!(waits(&h), Some(want));
        }
        for (i, want) in [100.0, 70.0, 55.0, 47.0, 43.0, 41.0, 40.0].into_iter().enumerate() {
            h.data(ms(151 + i as u64));
            assert_eq!(waits(&h), Some(want));
        }
    }

    /// Jiffies of 4 ms: a round trip of 40.04 ms is eleven of them, and a wait ends with the twelfth
    /// after the one in which the segment came: 44 to 48 ms later. At first it is ten.
    #[test]
    fn a_wait_ends_with_a_tick() {
        let mut h = with(4, 0);
        h.data(Time::from_nanos(40_040_000));
        let wait = |h: &Held, us: u64| {
            let now = Time::from_nanos(us * 1000);
            h.due(now).map(|at| at.since(now).as_nanos() / 1000)
        };
        assert_eq!([100_000, 103_999].map(|us| wait(&h, us)), [Some(44_000), Some(40_001)]);
        h.missed(ms(84));
        assert_eq!([100_000, 103_999].map(|us| wait(&h, us)), [Some(48_000), Some(44_001)]);
    }

    /// Sixteen ACKs at once, and five more: with six segments the window grows, and sets the lowest
    /// bit of what is left, 15 and then 14. The next is held back; after a pause longer than the
    /// timeout, 100 + 200 ms, sixteen again.
    #[test]
    fn a_connection_begins_with_quick_acks() {
        let mut h = held(16);
        for i in 0..21 {
            h.data(ms(100 + i));
            assert_eq!(waits(&h), None, "ACK {i}");
            h.sent();
        }
        h.data(ms(121));
        assert_eq!(waits(&h), Some(40.0));
        h.data(ms(421));
        assert_eq!(waits(&h), Some(40.0), "300 ms are not more than the timeout");
        h.data(ms(722));
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
