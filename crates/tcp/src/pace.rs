//! Pacing decides when a segment may leave its host, as Linux has it since 4.20 (earliest departure
//! time). The sender hands segments to the network ahead of that time, and the network waits. A
//! flow whose ACKs come no faster than its pace needs no timer for it.
//!
//! - `tcp_update_skb_after_send`: a segment that leaves late may make up for it, but for no more
//!   than half of its own time.
//! - `tcp_small_queue_check`: what waits at the host is two segments, or the pace of a millisecond.
//! - `tcp_tso_autosize`, `tcp_tso_should_defer`: a host that segments late hands over bursts. What a
//!   window lets go that is no whole burst waits for the next ACK, if that is about to come. A burst
//!   leaves at once, and the pace counts it as one.

use crate::control::window::Window;
use penstock_units::param::{int, num_open, Param, Params, Values};
use penstock_units::{Duration, Rate, Time};

penstock_units::words! {
    /// Who spaces out a sender's segments.
    pub enum Pacing {
        /// Nobody, unless the control does.
        Off = "off",
        /// The host's queue, as Linux's `sch_fq`.
        Fq = "fq",
        /// The sender itself, from the first data on (QUIC).
        Always = "always",
    }
}

penstock_units::params! {
    /// The keys of pacing.
    pub struct PaceKeys: Default {
        /// Whether segments leave their host at a pace under any control: with fq twice as fast as
        /// the window would have it, or 1.2 times from half of ssthresh on, after a first ten that
        /// leave at once; with always 1.25 times. Controls that have a pace of their own keep it.
        pub pacing: Pacing {
            default: "off",
            quic: "always",
            quiet: true,
            source: "Linux: tcp_update_pacing_rate, sch_fq; RFC 9002 7.7",
        },
        /// How much faster segments are paced than a window in each round trip.
        pub pacing_gain: Option<f64> {
            ty: num_open(0.0, 100.0),
            unit: "1",
            auto: "1.2 with pacing fq, 1.25 with always",
            quiet: true,
            source: "Linux: tcp_pacing_ca_ratio; RFC 9002 7.7: N",
        },
        /// The same in slow start: with fq below half of ssthresh, with always below ssthresh.
        pub pacing_gain_start: Option<f64> {
            ty: num_open(0.0, 100.0),
            unit: "1",
            auto: "2 with pacing fq, pacing_gain with always",
            quiet: true,
            source: "Linux: tcp_pacing_ss_ratio; s2n-quic has 2",
        },
        /// With recovery rack: new segments leave in bursts of what the pace of a millisecond has, or
        /// Linux's would have, and of more below a round trip of 6 ms, but of so many at least and of
        /// 64 kB at most. 0: they leave one by one.
        pub min_tso_segments: u32 {
            ty: int(0, 64),
            unit: "segments",
            default: 0,
            quiet: true,
            source: "Linux: tcp_min_tso_segs, which is 2",
        },
    }
}

/// The pacing that does not depend on the control.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacingParams {
    /// What a scenario says.
    pub keys: PaceKeys,
    /// Segments leave the host no faster than this, evenly spaced (Linux: `SO_MAX_PACING_RATE`). It
    /// is no key of a scenario.
    pub max_rate: Option<Rate>,
}

impl PacingParams {
    pub(crate) const TABLE: &'static [Param] = PaceKeys::TABLE;

    /// Whether the host's queue paces.
    #[inline]
    pub(crate) fn by_fq(&self) -> bool {
        self.keys.pacing == Pacing::Fq
    }

    /// Whether segments are paced by the window, under any control.
    #[inline]
    pub(crate) fn by_window(&self) -> bool {
        self.keys.pacing != Pacing::Off
    }
}

impl Params for PacingParams {
    const TABLES: &'static [&'static [Param]] = &[PacingParams::TABLE];

    fn read(values: &Values) -> Self {
        PacingParams { keys: PaceKeys::read(values), max_rate: None }
    }

    fn write(&self, out: &mut Values) {
        self.keys.write(out);
    }
}

/// So many segments at the start of a connection are not held (`TCP_INIT_CWND`).
pub(crate) const FREE: i64 = 10;

impl PaceKeys {
    /// Returns the time from one segment to the next: Linux's (`tcp_update_pacing_rate`), which is
    /// 200 % of what window and round trip say below half of ssthresh, then 120 %; or QUIC's (RFC
    /// 9002, 7.7), N times that.
    pub(crate) fn of_window(&self, w: &Window, outstanding: i64, srtt: f64) -> Duration {
        let (gain, segments) = if self.pacing != Pacing::Always {
            let gain = if w.cwnd < (w.ssthresh / 2.0).floor() {
                self.pacing_gain_start.unwrap_or(2.0)
            } else {
                self.pacing_gain.unwrap_or(1.2)
            };
            (gain, w.cwnd.max(outstanding as f64))
        } else {
            let gain = self.pacing_gain.unwrap_or(1.25);
            let starts = w.cwnd < w.ssthresh;
            (self.pacing_gain_start.filter(|_| starts).unwrap_or(gain), w.cwnd)
        };
        Duration::from_secs_f64(srtt / (gain * segments.max(1.0)))
    }
}

/// The time's worth of data that may wait in fq, where that is more than two segments
/// (`sk_pacing_shift`).
const AHEAD: Duration = Duration::from_millis(1);

/// The largest burst in bytes: `GSO_LEGACY_MAX_SIZE` less room for headers.
pub(crate) const MAX_BURST: u64 = 65_535 - 320;

/// The part of a second whose worth of the pace is a burst.
const BURST: f64 = 1.0 / 1024.0;

/// A burst that was handed over longer ago than this is not waited on, nor an ACK that is farther
/// away.
const SOON: Duration = Duration::from_millis(1);

/// How a sender stands that might hand over a burst. Counts are in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    pub(crate) cwnd: i64,
    /// What the window and the receiver have room for, and what the application has given.
    pub(crate) room: i64,
    pub(crate) given: i64,
    /// A loss is being repaired.
    pub(crate) repairs: bool,
    /// When the next ACK is due, where one is.
    pub(crate) ack_due: Option<Time>,
    pub(crate) srtt: Duration,
}

/// The bursts of a host that segments late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bursts {
    least: u32,
    /// The smallest round trip.
    pub(crate) min_rtt: Option<Duration>,
    /// When the last burst left, and what is to follow of it.
    at: Time,
    left: i64,
    /// The last burst has more than one segment.
    several: bool,
    /// What there is room for waits for more.
    pub(crate) waits: bool,
}

impl Bursts {
    pub(crate) fn new(keys: &PaceKeys) -> Option<Box<Self>> {
        let least = keys.min_tso_segments;
        let (at, left) = (Time::ZERO, 0);
        let b = Bursts { least, min_rtt: None, at, left, several: false, waits: false };
        (least > 0).then(|| Box::new(b))
    }

    /// Returns the segments of a whole burst: `gap` apart is the pace. least: the control's own.
    pub(crate) fn whole(&self, gap: Option<Duration>, segment: u32, least: Option<u32>) -> i64 {
        let mss = f64::from(segment);
        let by_rate = gap.map_or(0.0, |gap| BURST / gap.as_secs_f64().max(1e-12) * mss);
        let halvings = self.min_rtt.map_or(63, |rtt| rtt.as_nanos() / 512_000).min(63);
        let by_rtt = (65_536_u64 >> halvings) as f64;
        let bytes = (by_rate + by_rtt).min(MAX_BURST as f64);
        ((bytes / mss) as i64).max(i64::from(least.unwrap_or(self.least)))
    }

    /// Sending begins.
    pub(crate) fn look(&mut self, min_rtt: Option<Duration>) {
        (self.min_rtt, self.left, self.waits) = (min_rtt, 0, false);
    }

    /// Whether a chance to send is let go by because a whole burst is about to become possible.
    pub(crate) fn passes(&mut self, now: Time, whole: i64, c: &Chance) -> bool {
        let enough = c.room >= whole || c.room >= c.given || c.room >= c.cwnd / 3;
        let near = SOON.min(Duration::from_ticks(c.srtt.as_ticks() / 2));
        let ack = c.ack_due.is_some_and(|due| due <= now + near);
        self.waits = !c.repairs && !enough && now <= self.at + SOON && ack;
        self.waits
    }

    /// Whether the next segment belongs to a burst that has begun.
    pub(crate) fn goes_on(&self) -> bool {
        self.left > 0
    }

    /// A segment follows in its burst. Returns when that leaves.
    pub(crate) fn follow(&mut self, now: Time) -> Time {
        self.left -= 1;
        self.at.max(now)
    }

    /// A burst of `n` begins, which leaves at `at`.
    pub(crate) fn begin(&mut self, n: i64, at: Time) -> Time {
        (self.at, self.left, self.several) = (at, n - 1, n > 1);
        at
    }

    /// Whether the segment that was last put out ends a burst of several.
    pub(crate) fn ended(&self) -> bool {
        self.left == 0 && self.several
    }
}

/// The clock of a paced sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// The time at which the next segment may leave.
    next: Time,
}

impl Pacer {
    pub(crate) const IDLE: Pacer = Pacer { next: Time::ZERO };

    /// Returns when a segment that is sent at `now` may leave; the next one follows `gap` later.
    pub(crate) fn departs(&mut self, now: Time, gap: Duration) -> Time {
        let at = now.max(self.next);
        let late = at.since(self.next).as_ticks().min(gap.as_ticks() / 2);
        self.next = at + Duration::from_ticks(gap.as_ticks() - late);
        at
    }

    /// Returns when the next segment may leave, not before `now`.
    pub(crate) fn next(&self, now: Time) -> Time {
        self.next.max(now)
    }

    /// Returns when sending may go on, unless it may now. Before fq two bursts of `n` may wait, where
    /// that is `fq`; a sender that paces itself hands nothing over before its time.
    pub(crate) fn holds(&self, now: Time, gap: Duration, fq: Option<u64>) -> Option<Time> {
        let bursts = |n: u64| Duration::from_ticks(gap.as_ticks().saturating_mul(2 * n));
        let ahead = fq.map_or(Duration::from_ticks(1), |n| AHEAD.max(bursts(n)));
        (self.next >= now + ahead).then_some(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time::from_nanos(n * 1000)
    }

    /// A segment every 2.5 ms. On time at 10, 12.5 and 15 ms. The one due at 17.5 ms leaves at 19,
    /// 1.5 late, and makes up for 1.25: the next is due at 20.25. That one leaves at 20.75, 0.5
    /// late: 22.75. After a long rest half a segment's time is made up for.
    #[test]
    fn departures_by_hand() {
        let gap = Duration::from_micros(2_500);
        let mut p = Pacer { next: us(10_000) };
        for (now, at, next) in [
            (10_000, 10_000, 12_500),
            (10_000, 12_500, 15_000),
            (15_000, 15_000, 17_500),
            (19_000, 19_000, 20_250),
            (20_750, 20_750, 22_750),
            (90_000, 90_000, 91_250),
        ] {
            assert_eq!((p.departs(us(now), gap), p.next), (us(at), us(next)), "at {now} us");
        }
    }

    /// A window of 20, 100 ms: 2.5 ms without a ssthresh; with one of 30 120 %, 4.17 ms. Half of 41
    /// is 20, and of 42 21, below which 20 is. What is outstanding counts where it is more.
    #[test]
    fn the_pace_of_a_window() {
        for (ssthresh, outstanding, micros) in [
            (f64::INFINITY, 20, 2500),
            (30.0, 20, 4167),
            (41.0, 20, 4167),
            (42.0, 20, 2500),
            (30.0, 25, 3333),
        ] {
            let keys = PaceKeys { pacing: Pacing::Fq, ..PaceKeys::default() };
            let gap = keys.of_window(&Window { cwnd: 20.0, ssthresh }, outstanding, 0.1);
            assert_eq!((gap.as_nanos() + 500) / 1000, micros, "{ssthresh} {outstanding}");
        }
    }

    /// A window of 20, 100 ms: 4 ms at 1.25 times, whatever is outstanding; 2.5 ms at 2 times.
    /// s2n-quic has the one in slow start and the other later.
    #[test]
    fn the_pace_of_quic() {
        for (gain, start, ssthresh, micros) in [
            (None, None, f64::INFINITY, 4000),
            (None, None, 20.0, 4000),
            (Some(2.0), None, 20.0, 2500),
            (None, Some(2.0), 21.0, 2500),
            (None, Some(2.0), 20.0, 4000),
        ] {
            let pacing = Pacing::Always;
            let keys = PaceKeys {
                pacing,
                pacing_gain: gain,
                pacing_gain_start: start,
                ..PaceKeys::default()
            };
            let gap = keys.of_window(&Window { cwnd: 20.0, ssthresh }, 30, 0.1);
            assert_eq!(gap.as_nanos() / 1000, micros, "{gain:?} {start:?} {ssthresh}");
        }
    }

    /// A millisecond of the pace, 2^-10 s, in segments of 1448 B, at 10 ms and more: two at the least,
    /// four at 50 Mbit/s, eight at 100, 42 at 500, then 64 kB. At 1 ms 32 KiB more.
    #[test]
    fn the_size_of_a_burst() {
        let keys = |n| PaceKeys { min_tso_segments: n, ..PaceKeys::default() };
        for (least, mbps, rtt_ms, want) in [
            (2, 1.5, Some(10), 2),
            (2, 10.0, Some(10), 2),
            (1, 10.0, Some(10), 1),
            (2, 50.0, Some(10), 4),
            (2, 100.0, Some(10), 8),
            (9, 100.0, Some(10), 9),
            (2, 500.0, Some(10), 42),
            (2, 5000.0, Some(10), 45),
            (2, 10.0, Some(1), 23),
            (2, 10.0, None, 2),
        ] {
            let mut b = Bursts::new(&keys(least)).expect("bursts");
            b.look(rtt_ms.map(Duration::from_millis));
            let gap = Duration::from_secs_f64(1448.0 * 8.0 / (mbps * 1e6));
            assert_eq!(b.whole(Some(gap), 1448, None), want, "{least} {mbps} {rtt_ms:?}");
        }
        assert!(Bursts::new(&keys(0)).is_none());
        let mut b = Bursts::new(&keys(2)).expect("bursts");
        b.look(Some(Duration::from_millis(10)));
        let whole = |mbps: f64| {
            b.whole(Some(Duration::from_secs_f64(1448.0 * 8.0 / (mbps * 1e6))), 1448, Some(1))
        };
        assert_eq!([whole(1.0), whole(100.0)], [1, 8], "the control's own least");
    }

    /// Three of eight segments have room, in a window of thirty, 0.5 ms after the last burst, and an
    /// ACK is due 0.5 ms from now: that is waited for. Not if one of these is otherwise.
    #[test]
    fn a_burst_waits_for_the_next_ack() {
        let now = us(10_000);
        let c = Chance {
            cwnd: 30,
            room: 3,
            given: 100,
            repairs: false,
            ack_due: Some(us(10_500)),
            srtt: Duration::from_millis(10),
        };
        let passes = |at: Time, c: &Chance| {
            let keys = PaceKeys { min_tso_segments: 2, ..PaceKeys::default() };
            let mut b = Bursts::new(&keys).expect("bursts");
            b.begin(1, at);
            b.passes(now, 8, c)
        };
        assert!(passes(us(9_500), &c));
        assert!(!passes(us(8_999), &c), "the last burst left long ago");
        for c in [
            Chance { room: 8, ..c },
            Chance { cwnd: 11, ..c },
            Chance { given: 3, ..c },
            Chance { repairs: true, ..c },
            Chance { ack_due: None, ..c },
            Chance { ack_due: Some(us(11_001)), ..c },
            Chance { srtt: Duration::from_micros(900), ..c },
        ] {
            assert!(!passes(us(9_500), &c), "{c:?}");
        }
    }

    /// Two segments of 2.5 ms, or five of 0.2 ms, are handed to fq at once. Without it one is.
    #[test]
    fn little_waits_in_fq() {
        for (gap, fq, waiting) in [(2_500, None, 1), (2_500, Some(1), 2), (200, Some(1), 5)] {
            let gap = Duration::from_micros(gap);
            let mut p = Pacer { next: us(1_000) };
            let mut sent = 0;
            while p.holds(us(1_000), gap, fq).is_none() {
                p.departs(us(1_000), gap);
                sent += 1;
            }
            assert_eq!(sent, waiting);
            assert_eq!(p.holds(us(1_000), gap, fq), Some(p.next));
        }
    }
}
