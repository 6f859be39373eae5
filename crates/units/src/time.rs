//! Time in integers, rates in bits per second, sizes in bytes.
//!
//! The tick is 1/2520 of a nanosecond. 2520 is the smallest number that is divisible by 1 … 10, so
//! at 1.5, 7, 45 Mbit/s or 10 Gbit/s a byte takes a whole number of ticks: events that fall on one
//! instant on paper do so here, hop after hop, and no rate drifts. A rate that does not divide has
//! its remainder carried (see [`TxClock`]). `u64` holds 84 days.

use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Sub};

/// Ticks in a nanosecond.
pub const TICKS_PER_NANO: u64 = 2520;
const TICKS_PER_SEC: f64 = 1e9 * TICKS_PER_NANO as f64;

/// An instant, counted from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A span of time, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `ns` nanoseconds after the start.
    pub const fn from_nanos(ns: u64) -> Self {
        Time(ns.saturating_mul(TICKS_PER_NANO))
    }
    /// Returns whole nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0 / TICKS_PER_NANO
    }
    /// The instant `ticks` after the start.
    pub const fn from_ticks(ticks: u64) -> Self {
        Time(ticks)
    }
    /// Ticks since the start.
    pub const fn as_ticks(self) -> u64 {
        self.0
    }
    /// Seconds since the start, for reporting and for the real-valued equations.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / TICKS_PER_SEC
    }
    /// The instant `d` earlier, not before the start.
    pub const fn before(self, d: Duration) -> Time {
        Time(self.0.saturating_sub(d.0))
    }
    /// The time since `earlier`; zero when `earlier` is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);

    /// A span of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Duration(ns.saturating_mul(TICKS_PER_NANO))
    }
    /// A span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Duration::from_nanos(us.saturating_mul(1_000))
    }
    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Duration::from_nanos(ms.saturating_mul(1_000_000))
    }
    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Duration::from_nanos(s.saturating_mul(1_000_000_000))
    }
    /// The whole nanoseconds nearest to `s` seconds; negative and NaN become zero.
    pub fn from_secs_f64(s: f64) -> Self {
        // `as` saturates and turns NaN into 0, which is what is promised.
        Duration::from_nanos(libm::round(s * 1e9) as u64)
    }
    /// A span of `ticks`.
    pub const fn from_ticks(ticks: u64) -> Self {
        Duration(ticks)
    }
    /// Returns whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0 / TICKS_PER_NANO
    }
    /// Ticks.
    pub const fn as_ticks(self) -> u64 {
        self.0
    }
    /// Seconds, for the real-valued equations.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / TICKS_PER_SEC
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, d: Duration) -> Time {
        Time(self.0.saturating_add(d.0))
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}
impl Sub<Time> for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        debug_assert!(self >= earlier, "time runs forward");
        self.since(earlier)
    }
}
impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0.saturating_add(d.0))
    }
}

/// Bits per second, never zero: a link that is down has no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(NonZeroU64);

impl Rate {
    /// `bps` bits per second; `None` for zero.
    pub const fn from_bps(bps: u64) -> Option<Self> {
        match NonZeroU64::new(bps) {
            Some(bps) => Some(Rate(bps)),
            None => None,
        }
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0.get()
    }
    /// Packets of `size` per second: the `C` of the papers' equations.
    pub fn packets_per_sec(self, size: Bytes) -> f64 {
        self.as_bps() as f64 / (8.0 * size.0 as f64)
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A queue length or limit, in the unit that the user chose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueLen {
    /// A count of packets; thresholds may be fractions.
    Packets(f64),
    /// A count of bytes.
    Bytes(u64),
}

/// The exact times at which the packets of one transmitter have left it: what does not fill a tick
/// is carried to the next packet of the same busy period.
#[derive(Clone, Copy, Debug)]
pub struct TxClock {
    bps: u64,
    /// Ticks per byte when that is whole and fits, else 0: a division by a 64-bit number costs more
    /// than the rest of the packet.
    ticks_per_byte: u32,
    rest: u64,
    /// The size of the last packet, the whole ticks that it takes, and what they leave of it.
    last: (u32, u64, u64),
}

/// Ticks that a byte takes at one bit per second.
pub const BYTE_AT_ONE_BPS: u64 = 8_000_000_000 * TICKS_PER_NANO;

impl TxClock {
    /// A transmitter of the given rate.
    pub const fn new(rate: Rate) -> Self {
        let bps = rate.as_bps();
        let (ticks, rest) = (BYTE_AT_ONE_BPS / bps, BYTE_AT_ONE_BPS % bps);
        let fits = rest == 0 && ticks <= u32::MAX as u64;
        TxClock {
            bps,
            ticks_per_byte: if fits { ticks as u32 } else { 0 },
            rest: 0,
            last: (0, 0, 0),
        }
    }

    /// A transmitter that takes a whole number of ticks for a byte.
    pub const fn of_ticks_per_byte(ticks: u32) -> Self {
        TxClock::new(Rate::from_bps(BYTE_AT_ONE_BPS / ticks as u64).expect("ticks are few"))
    }

    /// Returns how long `bytes` take that follow the previous packet at once.
    #[inline]
    pub fn next(&mut self, bytes: u32) -> Duration {
        if self.ticks_per_byte != 0 {
            return Duration(u64::from(bytes) * u64::from(self.ticks_per_byte));
        }
        if bytes != self.last.0 {
            // Fits 64 bits up to 900 kB a packet.
            let work = u128::from(bytes) * u128::from(BYTE_AT_ONE_BPS);
            let Ok(work) = u64::try_from(work) else { return self.next_huge(work) };
            self.last = (bytes, work / self.bps, work % self.bps);
        }
        let (_, ticks, left) = self.last;
        // Two remainders make less than two ticks.
        let rest = self.rest + left;
        let more = rest >= self.bps;
        self.rest = if more { rest - self.bps } else { rest };
        Duration(ticks + u64::from(more))
    }

    #[cold]
    fn next_huge(&mut self, work: u128) -> Duration {
        let (work, bps) = (work + u128::from(self.rest), u128::from(self.bps));
        self.rest = (work % bps) as u64;
        Duration(u64::try_from(work / bps).unwrap_or(u64::MAX))
    }

    /// Ticks that a byte takes, where that is a whole number of 32 bits.
    pub fn ticks_per_byte(&self) -> Option<u32> {
        (self.ticks_per_byte != 0).then_some(self.ticks_per_byte)
    }

    /// Returns how long `bytes` take, without the remainder of earlier packets.
    pub fn alone(&self, bytes: u32) -> Duration {
        TxClock { rest: 0, ..*self }.next(bytes)
    }

    /// Notes that the transmitter is idle: the next packet starts on a whole tick.
    #[inline]
    pub fn idle(&mut self) {
        self.rest = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_times_do_not_drift() {
        // 1500 B at 45 Mbit/s take 266666.67 ns = 672000000 ticks; at 11 bit/s a byte leaves a
        // remainder: 8e9 * 2520 / 11 = 1832727272727.27.
        let mut tx = TxClock::new(Rate::from_bps(45_000_000).unwrap());
        assert_eq!(tx.next(1500).as_ticks(), 672_000_000);
        let mut tx = TxClock::new(Rate::from_bps(11).unwrap());
        let ticks: Vec<u64> = (0..11).map(|_| tx.next(1).as_ticks()).collect();
        assert_eq!(
            ticks[..4],
            [1_832_727_272_727, 1_832_727_272_727, 1_832_727_272_727, 1_832_727_272_728]
        );
        assert_eq!(ticks.iter().sum::<u64>(), BYTE_AT_ONE_BPS, "eleven of them exactly 8 s");
    }

    #[test]
    fn whole_rates_take_the_short_way_to_the_same_answer() {
        for bps in [1_000_000_000, 10_000_000, 8_000, 1_500_000, 3, 7_777_777] {
            let rate = Rate::from_bps(bps).unwrap();
            let (mut a, mut b) = (TxClock::new(rate), TxClock::new(rate));
            b.ticks_per_byte = 0;
            for bytes in [40, 1040, 1500, 0, 65_535] {
                assert_eq!(a.next(bytes), b.next(bytes), "{bps} bit/s, {bytes} B");
            }
        }
    }

    #[test]
    fn packets_per_second_is_the_papers_c() {
        let c = Rate::from_bps(1_500_000).unwrap().packets_per_sec(Bytes(1000));
        assert_eq!(c, 187.5);
    }
}
