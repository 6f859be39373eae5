//! Timestamps (RFC 7323): each segment carries the time of its sending in ticks, and an ACK returns
//! that of the segment which moved its left edge. So a sender knows which transmission an ACK
//! answers, and every ACK of new data measures a round trip (RTTM, section 4).
//!
//! The two values of the option are one here: data carry their own, ACKs the echo. PAWS (section 5)
//! has nothing to guard, as sequence numbers do not wrap.

use penstock_units::{Duration, Time};

/// Bytes of the option with its padding (RFC 7323, appendix A).
pub(crate) const OPTION_BYTES: u32 = 12;

/// A host's clock, modulo 2³¹ ticks.
///
/// In the highest bit of its number is one: whoever carries it has the other half for something
/// else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(u32);

const HIGHEST: u32 = 1 << 31;

impl Stamp {
    /// There is none.
    pub const NONE: Stamp = Stamp(u32::MAX);

    /// Returns the stamp of `at`, in ticks.
    pub fn of(at: Time, tick: Duration) -> Self {
        let ticks = at.as_ticks() / tick.as_ticks();
        // What would read as none is the tick before.
        Stamp((ticks as u32 | HIGHEST).min(u32::MAX - 1))
    }

    /// Returns its number.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Returns the stamp of a number; of one that is no stamp's [`Stamp::NONE`].
    #[inline]
    pub const fn from_number(number: u32) -> Self {
        if number < HIGHEST {
            Stamp::NONE
        } else {
            Stamp(number)
        }
    }

    /// Whether it is of an earlier tick than `other`. Neither is [`Stamp::NONE`].
    fn is_before(self, other: Stamp) -> bool {
        // Half of what can be told lies behind.
        (self.0.wrapping_sub(other.0) & (HIGHEST - 1)) > HIGHEST / 2
    }

    /// Whether both are there, and it is of an earlier tick.
    pub(crate) fn predates(self, other: Stamp) -> bool {
        self != Stamp::NONE && other != Stamp::NONE && self.is_before(other)
    }

    /// Returns when a round trip began that ends at `now` with this echo, and `now`: in whole
    /// ticks, of which it takes at least one (Linux: `tcp_rtt_tsopt_us`). An echo of a time to come
    /// measures nothing.
    pub(crate) fn round_trip(self, now: Time, tick: Duration) -> Option<(Time, Time)> {
        if self == Stamp::NONE {
            return None;
        }
        let tick = tick.as_nanos();
        let ticks = now.as_nanos() / tick;
        let since = (ticks as u32).wrapping_sub(self.0) & (HIGHEST - 1);
        if since >= HIGHEST / 2 {
            return None;
        }
        let since = u64::from(since.max(1));
        let end = ticks.max(since);
        Some((Time::from_nanos((end - since) * tick), Time::from_nanos(end * tick)))
    }
}

/// What a receiver echoes (section 4.3): the stamp of the earliest segment that the last ACK did not
/// cover, so that a delayed ACK's round trip has the delay in it. Out of order, that of the segment
/// which moved the left edge last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    /// TS.Recent.
    recent: Stamp,
    /// Last.ACK.sent.
    acked: i64,
}

impl Echo {
    pub(crate) const NONE: Echo = Echo { recent: Stamp::NONE, acked: 0 };

    /// Segment `seq` arrives.
    pub(crate) fn take(&mut self, seq: i64, stamp: Stamp) {
        let older = stamp.predates(self.recent);
        if seq <= self.acked && !older {
            self.recent = stamp;
        }
    }

    /// An ACK leaves of all before segment `next`. Returns the echo in it.
    pub(crate) fn leaves(&mut self, next: i64) -> Stamp {
        self.acked = next;
        self.recent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(1);

    fn us(n: u64) -> Time {
        Time::from_nanos(n * 1000)
    }

    fn stamp(n: u64) -> Stamp {
        Stamp::of(us(n), TICK)
    }

    /// 1.9 ms and 1.0 ms are one tick. The clock wraps at 2³¹ ms.
    #[test]
    fn stamps_are_ticks() {
        assert_eq!(stamp(1900), stamp(1000));
        assert!(stamp(1900).predates(stamp(2000)) && !stamp(2000).predates(stamp(1900)));
        assert!(!stamp(1900).predates(stamp(1000)), "the same tick");
        let wraps = 1000 << 31;
        assert!(stamp(wraps - 5000).predates(stamp(wraps + 5000)));
        assert!(!stamp(wraps + 5000).predates(stamp(wraps - 5000)));
        assert_ne!(stamp(wraps - 1000), Stamp::NONE);
        assert!(!Stamp::NONE.predates(stamp(5000)) && !stamp(5000).predates(Stamp::NONE));
        assert_eq!(Stamp::from_number(stamp(7000).number()), stamp(7000));
        assert_eq!(Stamp::from_number(7), Stamp::NONE);
    }

    /// From 5.9 to 45.1 ms there are 40 ticks; within one tick there is one.
    #[test]
    fn round_trips_are_whole_ticks() {
        let trip = |sent, now| stamp(sent).round_trip(us(now), TICK).map(|(a, b)| b.since(a));
        assert_eq!(trip(5900, 45_100), Some(Duration::from_millis(40)));
        assert_eq!(trip(5100, 5900), Some(Duration::from_millis(1)));
        assert_eq!(trip(100, 900), Some(Duration::from_millis(1)));
        let wraps = 1000 << 31;
        assert_eq!(trip(wraps - 5000, wraps + 35_000), Some(Duration::from_millis(40)));
        assert_eq!(trip(45_100, 5900), None, "from the future");
        assert_eq!(Stamp::NONE.round_trip(us(7), TICK), None);
    }

    /// RFC 7323, 4.3: of two segments that an ACK answers together the first is echoed; above a
    /// hole the last one below it; and what fills the hole.
    #[test]
    fn what_moved_the_left_edge_is_echoed() {
        let mut echo = Echo::NONE;
        let at = |ms: u64| stamp(ms * 1000);
        echo.take(0, at(10));
        assert_eq!(echo.leaves(1), at(10));
        echo.take(1, at(20));
        echo.take(2, at(21));
        assert_eq!(echo.leaves(3), at(20), "a delayed ACK");
        echo.take(4, at(30));
        assert_eq!(echo.leaves(3), at(20), "3 is missing");
        echo.take(3, at(40));
        assert_eq!(echo.leaves(5), at(40));
        echo.take(3, at(50));
        assert_eq!(echo.leaves(5), at(50), "again");
        echo.take(3, at(45));
        assert_eq!(echo.leaves(5), at(50), "an older one does not take its place");
    }
}
