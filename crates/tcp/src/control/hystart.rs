//! HyStart leaves slow start before the queue overflows: round trips that grow, or ACKs that come in
//! a train for half of a round trip, say that the path is full.
//!
//! - `linux`: as CUBIC has it in Linux (`tcp_cubic.c`, 6.x; S. Ha, I. Rhee, "Taming the elephants:
//!   new TCP slow start", Computer Networks 55(9), 2011), under any control here. It compares with
//!   the connection's least round trip, and leaves slow start at once. A timeout starts it anew.
//! - `rfc9406`: HyStart++, section 4. It compares with the last round's least, and goes on by a
//!   quarter of slow start's steps for up to five rounds (conservative slow start, CSS), so that a
//!   false alarm costs little. Only in the first slow start of a connection.
//!
//! Readings. Linux's looks at windows of 16 segments and more. The pace may delay its ACKs by the
//! time that four of the host's largest bursts take, at most 1 ms. Round trips are those of data sent
//! once: the handshake's do not count.

use crate::control::algorithm::{Acked, Cause, Growth};
use crate::control::window::Window;
use penstock_units::{Duration, Time};

penstock_units::words! {
    /// How slow start ends before a loss.
    pub enum HyStart {
        /// It does not.
        Off = "off",
        /// Linux's HyStart.
        Linux = "linux",
        /// HyStart++.
        Rfc9406 = "rfc9406",
    }
}

penstock_units::params! {
    /// Slow start's end.
    pub struct HyStartParams: Default {
        /// What ends slow start before a loss: nothing; linux: HyStart as in Linux's CUBIC, by
        /// growing round trips or trains of ACKs; rfc9406: HyStart++, by growing round trips, with
        /// up to five rounds of slower growth in which it may think better of it.
        pub hystart: HyStart {
            default: "off",
            quiet: true,
            source: "RFC 5681 has none; Linux 6.x tcp_cubic.c; RFC 9406",
        },
    }
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// MIN_RTT_THRESH, MAX_RTT_THRESH and MIN_RTT_DIVISOR; Linux has the same numbers.
const THRESH: (Duration, Duration, u64) = (ms(4), ms(16), 8);

/// N_RTT_SAMPLE, HYSTART_MIN_SAMPLES.
const SAMPLES: u32 = 8;

/// Returns by how much the round trip has to grow: an eighth, at least 4 ms, at most 16 ms.
fn threshold(least: Duration) -> Duration {
    let (low, high, divisor) = THRESH;
    Duration::from_ticks(least.as_ticks() / divisor).clamp(low, high)
}

/// The least round trip of a round: what was sent in a window, until all of it is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The highest segment sent when it began.
    end: i64,
    least: Option<Duration>,
    samples: u32,
}

impl Round {
    fn new(max_sent: i64) -> Self {
        Round { end: max_sent, least: None, samples: 0 }
    }

    fn add(&mut self, rtt: Duration) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }
}

/// What watches slow start.
#[derive(Clone, Debug)]
pub(crate) enum Watch {
    Linux(Linux),
    Rfc9406(PlusPlus),
}

impl Watch {
    /// Returns what `kind` asks for. `segment`: payload of a full one in bytes.
    pub(crate) fn new(kind: HyStart, paced: bool, segment: u32) -> Option<Box<Self>> {
        match kind {
            HyStart::Off => None,
            HyStart::Linux => Some(Box::new(Watch::Linux(Linux::new(paced, f64::from(segment))))),
            HyStart::Rfc9406 => Some(Box::new(Watch::Rfc9406(PlusPlus::new(paced)))),
        }
    }

    /// An ACK has arrived: slow start may end here, with ssthresh at cwnd.
    pub(crate) fn on_ack(&mut self, a: &Acked, w: &mut Window) {
        if a.newly > 0 {
            let ends = match self {
                Watch::Linux(linux) => linux.ends(a, w),
                Watch::Rfc9406(plus) => plus.ends(a, w),
            };
            if ends {
                w.ssthresh = w.cwnd.max(2.0);
            }
        }
    }

    /// Takes slow start's step for an ACK, if it has one of its own.
    #[cold]
    #[inline(never)]
    pub(crate) fn slow_start(&self, g: &Growth, w: &mut Window) -> bool {
        if !g.used || w.cwnd >= w.ssthresh {
            return false;
        }
        match self {
            Watch::Rfc9406(PlusPlus { over: false, limit, divisor, .. }) => {
                w.cwnd = (w.cwnd + g.acked.min(*limit) / divisor).min(w.ssthresh);
                true
            }
            _ => false,
        }
    }

    /// The window has been cut.
    pub(crate) fn on_cut(&mut self, cause: Cause, max_sent: i64) {
        match self {
            Watch::Linux(linux) if matches!(cause, Cause::Timeout | Cause::Again) => {
                linux.reset(max_sent);
            }
            Watch::Linux(_) => {}
            Watch::Rfc9406(plus) => plus.over = true,
        }
    }
}

/// `hystart_low_window`.
const LOW_WINDOW: f64 = 16.0;

/// `hystart_ack_delta_us`: ACKs no further apart than this are of one train.
const ACK_DELTA: Duration = ms(2);

/// Four of the largest bursts that a host sends at once, in bytes.
const BURSTS: f64 = 4.0 * 65536.0;

/// Linux's HyStart.
#[derive(Clone, Debug)]
pub(crate) struct Linux {
    paced: bool,
    segment: f64,
    delay_min: Option<Duration>,
    round: Round,
    round_start: Time,
    last_ack: Time,
    found: bool,
}

impl Linux {
    fn new(paced: bool, segment: f64) -> Self {
        Linux {
            paced,
            segment,
            delay_min: None,
            round: Round::new(0),
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            found: false,
        }
    }

    fn begin(&mut self, now: Time, max_sent: i64) {
        self.round = Round::new(max_sent);
        (self.round_start, self.last_ack) = (now, now);
    }

    fn reset(&mut self, max_sent: i64) {
        *self = Linux { round: Round::new(max_sent), ..Linux::new(self.paced, self.segment) };
    }

    fn ends(&mut self, a: &Acked, w: &Window) -> bool {
        let Some(rtt) = a.sample() else { return false };
        let delay_min = self.delay_min.map_or(rtt, |least| least.min(rtt));
        self.delay_min = Some(delay_min);
        if self.found || w.cwnd >= w.ssthresh || w.cwnd < LOW_WINDOW {
            return false;
        }
        if a.seq > self.round.end {
            self.begin(a.now, a.max_sent);
        }
        let train = self.train(a.now, delay_min, self.burst(rtt, w.cwnd));
        self.found = self.delay(rtt, delay_min) || train;
        self.found
    }

    /// A: the time that the largest bursts take at the pace of slow start, twice the window in a
    /// round trip.
    fn burst(&self, rtt: Duration, cwnd: f64) -> Duration {
        let seconds = BURSTS * rtt.as_secs_f64() / (2.0 * cwnd * self.segment);
        Duration::from_secs_f64(seconds.min(1e-3))
    }

    /// Whether ACKs have come without a gap for half of the least round trip, or if paced all of
    /// it.
    fn train(&mut self, now: Time, delay_min: Duration, burst: Duration) -> bool {
        if now.since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = now;
        let long = delay_min + burst;
        let long = if self.paced { long } else { Duration::from_ticks(long.as_ticks() / 2) };
        now.since(self.round_start) > long
    }

    /// Whether the round's least round trip, of more than eight, is above the connection's.
    fn delay(&mut self, rtt: Duration, delay_min: Duration) -> bool {
        self.round.add(rtt);
        if self.round.samples < SAMPLES {
            self.round.samples += 1;
            return false;
        }
        self.round.least.is_some_and(|least| least > delay_min + threshold(delay_min))
    }
}

/// CSS_GROWTH_DIVISOR.
const CSS_GROWTH_DIVISOR: f64 = 4.0;

/// CSS_ROUNDS.
const CSS_ROUNDS: u32 = 5;

/// L: the most segments that one ACK counts for, where nothing paces what it lets out.
const L: f64 = 8.0;

/// HyStart++.
#[derive(Clone, Debug)]
pub(crate) struct PlusPlus {
    limit: f64,
    /// 1, and in CSS [`CSS_GROWTH_DIVISOR`].
    divisor: f64,
    round: Round,
    last_round: Option<Duration>,
    /// Conservative slow start: cssBaselineMinRtt, and the rounds so far.
    css: Option<(Duration, u32)>,
    over: bool,
}

impl PlusPlus {
    fn new(paced: bool) -> Self {
        PlusPlus {
            limit: if paced { f64::INFINITY } else { L },
            divisor: 1.0,
            round: Round::new(0),
            last_round: None,
            css: None,
            over: false,
        }
    }

    fn ends(&mut self, a: &Acked, w: &Window) -> bool {
        self.over |= w.cwnd >= w.ssthresh;
        if self.over || a.seq <= 0 {
            return false;
        }
        if self.round.end == 0 {
            self.round = Round::new(a.max_sent); // the first: the initial window
        }
        // The ACK that changes the phase still takes the step of the old one.
        self.divisor = if self.css.is_some() { CSS_GROWTH_DIVISOR } else { 1.0 };
        if let Some(rtt) = a.sample() {
            self.round.add(rtt);
            self.round.samples += 1;
            self.judge();
        }
        if a.seq >= self.round.end {
            self.last_round = self.round.least;
            self.round = Round::new(a.max_sent);
            if let Some((_, rounds)) = &mut self.css {
                *rounds += 1;
                self.over = *rounds >= CSS_ROUNDS;
            }
        }
        self.over
    }

    /// After eight samples of a round: does the round trip grow, and in CSS has it fallen again?
    fn judge(&mut self) {
        let Some(current) = self.round.least.filter(|_| self.round.samples >= SAMPLES) else {
            return;
        };
        match (self.css, self.last_round) {
            (Some((baseline, _)), _) if current < baseline => self.css = None,
            (None, Some(last)) if current >= last + threshold(last) => {
                self.css = Some((current, 0));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::{RttEstimator, RttParams};
    use crate::sent::Acknowledged;

    fn window(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: f64::INFINITY }
    }

    /// What is told of a segment that was sent so long before `now`.
    fn sent(now: Duration, rtt: Duration) -> Option<Acknowledged> {
        Some(Acknowledged { at: (Time::ZERO + now).before(rtt), times: 1, sacked: false })
    }

    /// An ACK at `now` ms of `newly` segments up to `seq`, after a round trip of `rtt` ms.
    fn acked(now: f64, seq: i64, newly: i64, rtt: f64, max_sent: i64) -> Acked {
        let (now, rtt) = (Duration::from_secs_f64(now / 1e3), Duration::from_secs_f64(rtt / 1e3));
        let newest = sent(now, rtt);
        Acked { newest, max_sent, ..Acked::of(Time::ZERO + now, seq, newly) }
    }

    fn step(watch: &Watch, w: &mut Window, acked: f64) -> bool {
        let p = RttParams::default();
        let rtt = RttEstimator::new(&p, Duration::ZERO);
        watch.slow_start(&Growth::of(Time::ZERO, acked, &rtt, &p), w)
    }

    fn linux(paced: bool) -> Linux {
        Linux::new(paced, 1000.0)
    }

    #[test]
    fn thresholds_by_hand() {
        for (least, more) in
            [(10, 4.0), (32, 4.0), (40, 5.0), (100, 12.5), (128, 16.0), (300, 16.0)]
        {
            assert_eq!(threshold(ms(least)), Duration::from_secs_f64(more / 1e3), "{least} ms");
        }
    }

    /// An initial window of ten is acknowledged at once after 200 ms. The next round's ACKs, of two
    /// segments each, take 240 ms and more: above 200 + 16. Eight are counted, and the ninth ends
    /// slow start at the window that it finds.
    #[test]
    fn the_ninth_sample_of_a_round_may_end_slow_start() {
        let (mut watch, mut w) = (Watch::Linux(linux(false)), window(10.0));
        watch.on_ack(&acked(400.0, 10, 10, 200.0, 10), &mut w);
        w.cwnd = 20.0;
        for i in 1..=8 {
            let now = 639.0 + 3.0 * i as f64; // no train
            watch.on_ack(&acked(now, 10 + 2 * i, 2, 239.0 + i as f64, 30 + 4 * i), &mut w);
            assert_eq!(w.ssthresh, f64::INFINITY, "sample {i}");
            w.cwnd += 2.0;
        }
        watch.on_ack(&acked(680.0, 28, 2, 248.0, 66), &mut w);
        assert_eq!((w.cwnd, w.ssthresh), (36.0, 36.0));
        w.ssthresh = f64::INFINITY;
        watch.on_ack(&acked(690.0, 30, 2, 300.0, 70), &mut w);
        assert_eq!(w.ssthresh, f64::INFINITY, "once");
        watch.on_cut(Cause::Timeout, 70);
        assert!(matches!(watch, Watch::Linux(Linux { found: false, delay_min: None, .. })));
    }

    /// Below 16 segments it does not look.
    #[test]
    fn small_windows_go_on() {
        let (mut watch, mut w) = (Watch::Linux(linux(false)), window(15.0));
        watch.on_ack(&acked(100.0, 1, 1, 10.0, 15), &mut w);
        for i in 2..40 {
            watch.on_ack(&acked(100.0 + i as f64, i, 1, 90.0, 15), &mut w);
        }
        assert_eq!(w.ssthresh, f64::INFINITY);
    }

    /// 100 ms, an ACK every millisecond from a round's start: the first one after more than half of
    /// that ends slow start, or after all of it where segments are paced. Bursts take no time at a
    /// window so large. A gap of more than 2 ms ends the train for the rest of the round.
    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let first = |paced: bool, gap: Option<i64>| {
            let mut l = Linux { segment: 1e9, ..linux(paced) };
            let w = window(1000.0);
            let mut late = 0.0;
            (1..=2000).find(|i| {
                late += if gap == Some(*i) { 1.5 } else { 0.0 };
                l.ends(&acked(1000.0 + *i as f64 + late, *i, 1, 100.0, 5000), &w)
            })
        };
        assert_eq!(first(false, None), Some(52)); // 51 ms after the first
        assert_eq!(first(true, None), Some(102));
        assert_eq!(first(false, Some(20)), None);
    }

    /// A: 256 KiB at twice the window in a round trip, at most 1 ms. 65 536 segments of 1000 B in
    /// 100 ms are 1.31 GB/s, at which 262 144 B take 0.2 ms.
    #[test]
    fn the_time_of_bursts() {
        let l = linux(false);
        assert_eq!(l.burst(ms(100), 20.0), ms(1));
        let got = l.burst(ms(100), 65_536.0);
        assert_eq!(got, Duration::from_micros(200));
    }

    /// The last round's least was 50 ms: a least of 56.25 in eight samples begins CSS, and 56.24
    /// does not.
    #[test]
    fn css_begins_at_the_threshold() {
        for (rtt, css) in [(56.25, true), (56.24, false)] {
            let mut plus = PlusPlus::new(false);
            for i in 1..=10 {
                plus.ends(&acked(60.0, i, 1, 50.0, 10), &window(10.0));
            }
            assert_eq!(plus.last_round, Some(ms(50)));
            plus.round.end = 100;
            for i in 11..=17 {
                plus.ends(&acked(200.0, i, 1, rtt, 100), &window(20.0));
                assert!(plus.css.is_none(), "seven samples");
            }
            plus.ends(&acked(200.0, 18, 1, rtt, 100), &window(20.0));
            assert_eq!(plus.css.is_some(), css, "{rtt}");
        }
    }

    /// In CSS with 40 segments an ACK of two adds a half. An ACK of twelve counts for eight where
    /// segments are not paced, and for all where they are.
    #[test]
    fn steps_of_css() {
        for (paced, acked, divisor, added) in [
            (false, 2.0, CSS_GROWTH_DIVISOR, 0.5),
            (false, 12.0, CSS_GROWTH_DIVISOR, 2.0),
            (true, 12.0, CSS_GROWTH_DIVISOR, 3.0),
            (false, 12.0, 1.0, 8.0),
        ] {
            let mut w = window(40.0);
            assert!(step(
                &Watch::Rfc9406(PlusPlus { divisor, ..PlusPlus::new(paced) }),
                &mut w,
                acked
            ));
            assert_eq!(w.cwnd, 40.0 + added);
        }
        assert!(!step(&Watch::Linux(linux(false)), &mut window(40.0), 2.0), "the control's own");
    }

    /// Five rounds of CSS, the one in which it began among them, end slow start; a round trip below
    /// the baseline resumes it.
    #[test]
    fn css_ends_either_way() {
        let in_css = || PlusPlus {
            css: Some((Duration::from_micros(56_250), 0)),
            round: Round::new(10),
            ..PlusPlus::new(false)
        };
        let (mut watch, mut w) = (Watch::Rfc9406(in_css()), window(40.0));
        for round in 1..=5 {
            assert_eq!(w.ssthresh, f64::INFINITY, "{round}");
            watch.on_ack(&acked(500.0, 10 * round, 1, 57.0, 10 * round + 10), &mut w);
        }
        assert_eq!(w.ssthresh, 40.0);
        assert!(!step(&watch, &mut w, 1.0), "congestion avoidance");
        let mut plus = in_css();
        for i in 1..=8 {
            assert!(plus.css.is_some(), "{i}");
            plus.ends(&acked(500.0, i, 1, 56.0, 20), &window(40.0));
        }
        assert!(plus.css.is_none(), "56 < 56.25");
    }

    /// A cut, or ssthresh, ends it for good.
    #[test]
    fn only_the_first_slow_start() {
        let (mut watch, mut w) = (Watch::Rfc9406(PlusPlus::new(false)), window(4.0));
        assert!(step(&watch, &mut w, 1.0));
        watch.on_cut(Cause::Loss, 10);
        assert!(!step(&watch, &mut w, 1.0));
        let mut plus = PlusPlus::new(false);
        plus.ends(&acked(100.0, 1, 1, 50.0, 4), &Window { cwnd: 4.0, ssthresh: 4.0 });
        assert!(plus.over);
    }
}
