//! The window that a receiver offers grows with what arrives, as in Linux: its buffer once in a round
//! trip (dynamic right-sizing; `tcp_rcv_space_adjust`), and what it offers of that by two segments for
//! each that arrives in order (`tcp_grow_window`). The application takes data at once.
//!
//! Departs from Linux: a round trip is the time in which a window arrives, the shortest of them, also
//! where there are timestamps; and a segment takes as much of the buffer as it counts for.

use penstock_units::{Duration, Time};

/// What a buffer is compared with at first (`TCP_INIT_CWND`).
const FIRST: i64 = 10;

/// A receive window that grows. Counts are in segments.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    /// What the buffer has room for, what it may grow to, and what is offered.
    buffer: i64,
    most: i64,
    offered: i64,
    /// The most that has arrived in a round trip.
    copied: i64,
    /// Where and when the present round trip began.
    from: Option<(i64, Time)>,
    /// When the present window was offered, and the first segment beyond it.
    window: Option<(i64, Time)>,
    rtt: Option<Duration>,
}

impl Room {
    pub(crate) fn new(start: u32, most: u32) -> Self {
        let (start, most) = (i64::from(start), i64::from(most));
        Room {
            buffer: start,
            most,
            offered: start,
            copied: start.min(FIRST),
            from: None,
            window: None,
            rtt: None,
        }
    }

    /// Returns the segments that are offered; `None`: all that there will ever be.
    pub(crate) fn offered(&self) -> Option<u32> {
        (self.offered < self.most).then_some(self.offered as u32)
    }

    /// A segment arrives: `before` was the next one expected, now `next` is, and `end` is one past
    /// the highest that has arrived.
    pub(crate) fn data(&mut self, now: Time, before: i64, next: i64, end: i64) {
        match self.window {
            Some((edge, _)) if next < edge => {}
            last => {
                let took = last.map(|(_, at)| now.since(at));
                self.rtt = took.map_or(self.rtt, |t| Some(self.rtt.map_or(t, |rtt| rtt.min(t))));
                self.window = Some((next + self.offered, now));
            }
        }
        if next > before {
            self.offered = (self.offered + 2).min(self.buffer);
        }
        let (first, since) = *self.from.get_or_insert((before, now));
        if self.rtt.is_none_or(|rtt| now.since(since) < rtt) {
            return;
        }
        let copied = next - first;
        if copied > self.copied {
            let base = 2 * copied;
            let grows = 2 * base * (copied - self.copied) / self.copied;
            let wanted = base + grows + (end - next).max(0);
            self.buffer = self.buffer.max(wanted.min(self.most));
            self.copied = copied;
        }
        self.from = Some((next, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: i64) -> Time {
        Time::from_nanos(n as u64 * 1_000_000)
    }

    /// A segment every millisecond, the first is 1. A window of 20 has arrived when 22 is expected, at
    /// 20 ms: 21 in a round trip, after 10: 42 + 84·11/10 = 134. What is offered grows by two for each
    /// segment from there on. In the next 20 ms 20 arrive, and the buffer stays. Then two come every
    /// millisecond: when the first of 60 ms comes 39 have, 78 + 156·18/21 = 211.
    #[test]
    fn by_hand() {
        let mut r = Room::new(20, 1000);
        for k in 1..=20 {
            r.data(ms(k - 1), k, k + 1, k + 1);
            assert_eq!((r.buffer, r.offered()), (20, Some(20)), "{k}");
        }
        r.data(ms(20), 21, 22, 22);
        assert_eq!((r.buffer, r.copied, r.offered()), (134, 21, Some(20)));
        for k in 22..=41 {
            r.data(ms(k - 1), k, k + 1, k + 1);
            assert_eq!((r.buffer, r.offered()), (134, Some(20 + 2 * (k as u32 - 21))), "{k}");
        }
        for k in 42..=81 {
            r.data(ms(40 + (k - 40) / 2), k, k + 1, k + 1);
        }
        assert_eq!((r.buffer, r.copied), (211, 39));
    }

    /// What lies behind a hole is added, and a window never shrinks, nor grows beyond the most.
    #[test]
    fn holes_and_bounds() {
        for (end, most, want) in [(22, 1000, 134), (30, 1000, 142), (22, 100, 100)] {
            let mut r = Room::new(20, most);
            (1..=20).for_each(|k| r.data(ms(k - 1), k, k + 1, k + 1));
            r.data(ms(20), 21, 22, end);
            assert_eq!(r.buffer, want);
            (22..=200).for_each(|k| r.data(ms(100 * k), k, k + 1, k + 1));
            assert_eq!(r.offered(), (want < i64::from(most)).then_some(want as u32));
        }
        let mut r = Room::new(20, 1000);
        r.data(ms(0), 1, 1, 5);
        assert_eq!(r.offered(), Some(20), "out of order");
    }
}
