//! LEDBAT, RFC 6817: a background transfer that takes what others leave. It keeps the queue that it
//! sees at TARGET seconds, and so yields to whoever fills the queue further.
//!
//! Section 2.4.2, at each ACK, in segments:
//!
//! queuing delay = min(last CURRENT_FILTER delays) − min(last BASE_HISTORY minutes' minima),
//! off_target = (TARGET − queuing delay)/TARGET,
//! cwnd += GAIN · off_target · newly acknowledged/cwnd,
//! MIN_CWND ≤ cwnd ≤ flight size + ALLOWED_INCREASE.
//!
//! A loss or a mark halves cwnd, down to MIN_CWND; a timeout sets it to one segment.
//!
//! Readings. The delay is the round trip of each segment, where the RFC measures one way: no header
//! here carries a timestamp. LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus) does the same. A queue on
//! the way back then counts as well. FILTER() is the minimum. A segment that was sent again, and
//! those whose ACK waited for it, give no sample (Karn); nor does segment 0, the SYN, which is
//! shorter than data. The RFC has no slow start, and so the default of `initial_ssthresh` is 2. A
//! larger one permits it, until the queuing delay is above 3/4 of TARGET (LEDBAT++), or the first
//! cut.

use crate::control::algorithm::{Acked, Cause, CongestionControl, Cut, Growth};
use crate::control::variant::{VariantInfo, VARIANT};
use crate::control::window::Window;
use crate::ecn::bits::Ecn;
use crate::recovery::kind::Recovery;
use penstock_units::param::{int, num, num_open, ParamError};
use penstock_units::{Duration, Time};
use std::collections::VecDeque;

penstock_units::params! {
    /// LEDBAT's target and steps.
    pub struct LedbatParams: Default {
        /// LEDBAT's TARGET: the queuing delay that it keeps. RFC 7928 compares disciplines with a
        /// target of 5 ms.
        pub ledbat_target: Duration {
            default: "100 ms",
            source: "RFC 6817 2.5: at most 100 ms; RFC 7928 5.4",
        },
        /// LEDBAT's GAIN: segments per round trip while there is no queue. Above 1 it grows faster
        /// than Reno, which RFC 6817 forbids; RFC 7928 sets 10.
        pub ledbat_gain: f64 {
            ty: num_open(0.0, 1000.0),
            unit: "segments",
            default: 1,
            source: "RFC 6817 2.5: at most 1; RFC 7928 5.4",
        },
        /// Minutes whose smallest delays are remembered: the smallest of all is LEDBAT's base
        /// delay.
        pub base_history: u32 {
            ty: int(1, 1000),
            unit: "min",
            default: 10,
            source: "RFC 6817 2.5",
        },
        /// Delays, none older than a round trip, of which LEDBAT takes the smallest.
        pub current_filter: u32 {
            ty: int(1, 1000),
            unit: "1",
            default: 4,
            source: "RFC 6817 2.5: at least 4 in a round trip",
        },
        /// How far LEDBAT's window may grow above what was outstanding.
        pub allowed_increase: f64 {
            ty: num_open(0.0, 1000.0),
            unit: "segments",
            default: 1,
            source: "RFC 6817 2.5",
        },
        /// LEDBAT's window goes below this at a timeout alone.
        pub min_cwnd: f64 {
            ty: num(1.0, 1000.0),
            unit: "segments",
            default: 2,
            source: "RFC 6817 2.5",
        },
    }
}

pub(crate) const INFO: VariantInfo = VariantInfo {
    name: "ledbat",
    doc:
        "A background transfer: keeps the queuing delay at a target, and yields to others. Starts \
          without slow start, unless initial_ssthresh (here 2) is raised.",
    source: "RFC 6817",
    own: &[LedbatParams::TABLE, Recovery::TABLE],
    defaults: &[("initial_ssthresh", "2")],
    ..VARIANT
};

/// The state that LEDBAT keeps beside the common state.
#[derive(Clone, Debug)]
pub(crate) struct Ledbat {
    p: LedbatParams,
    /// The last minutes' smallest delays.
    base: VecDeque<Duration>,
    /// The minute of the last of them.
    minute: Option<u64>,
    /// The last delays, and when they were measured.
    current: VecDeque<(Time, Duration)>,
    queuing: Duration,
    /// Segments outstanding before the last ACK.
    flight: f64,
    slow_start: bool,
}

impl Ledbat {
    /// Takes a delay in.
    fn sample(&mut self, now: Time, delay: Duration) {
        let minute = now.as_nanos() / 60_000_000_000;
        match self.base.back_mut() {
            Some(last) if self.minute == Some(minute) => *last = delay.min(*last),
            _ => {
                self.minute = Some(minute);
                self.base.push_back(delay);
            }
        }
        if self.base.len() > self.p.base_history as usize {
            self.base.pop_front();
        }
        // No delay stays that was measured before this segment was sent: none older than a round
        // trip.
        while self.current.front().is_some_and(|(at, _)| now.since(*at) >= delay) {
            self.current.pop_front();
        }
        self.current.push_back((now, delay));
        if self.current.len() > self.p.current_filter as usize {
            self.current.pop_front();
        }
        let filtered = self.current.iter().map(|c| c.1).min().unwrap_or(delay);
        let base = self.base.iter().copied().min().unwrap_or(delay);
        let queuing = filtered.as_ticks().saturating_sub(base.as_ticks());
        self.queuing = Duration::from_ticks(queuing);
    }

    /// (TARGET − queuing delay)/TARGET.
    fn off_target(&self) -> f64 {
        let target = self.p.ledbat_target.as_secs_f64();
        (target - self.queuing.as_secs_f64()) / target
    }
}

impl CongestionControl for Ledbat {
    type Params = LedbatParams;
    const WATCHES: bool = true;
    const RECORDS: bool = true;

    fn new(p: &LedbatParams) -> Self {
        Ledbat {
            p: p.clone(),
            base: VecDeque::new(),
            minute: None,
            current: VecDeque::new(),
            queuing: Duration::ZERO,
            flight: 0.0,
            slow_start: true,
        }
    }

    fn check(p: &LedbatParams, _ecn: Ecn) -> Result<(), ParamError> {
        if p.ledbat_target == Duration::ZERO {
            return Err(ParamError::new("ledbat_target", "must be above 0 s"));
        }
        Ok(())
    }

    fn on_ack(&mut self, a: &Acked, _w: &mut Window) {
        if a.newly <= 0 {
            return;
        }
        self.flight = (a.max_sent - (a.seq - a.newly)) as f64;
        if let Some(newest) = a.newest.filter(|_| a.once && a.seq > 0) {
            self.sample(a.now, a.now.since(newest.at));
        }
    }

    fn ends_slow_start(&mut self) -> bool {
        self.slow_start &= self.off_target() >= 0.25;
        !self.slow_start
    }

    fn avoid(&mut self, g: &Growth, cwnd: f64) -> f64 {
        self.slow_start = false;
        let cwnd = cwnd + self.p.ledbat_gain * self.off_target() * g.acked / cwnd;
        cwnd.min(self.flight + self.p.allowed_increase).max(self.p.min_cwnd)
    }

    /// The window shrinks as it does when it limits sending.
    fn unused(&mut self, g: &Growth, cwnd: f64) -> f64 {
        self.avoid(g, cwnd)
    }

    fn leaves(&self, c: &Cut, w: &Window) -> f64 {
        match c.cause {
            // No slow start back: ssthresh would ask for one.
            Cause::Timeout => self.p.min_cwnd,
            _ => (w.cwnd * c.reno).max(self.p.min_cwnd),
        }
    }

    fn may_lift(&self) -> bool {
        false
    }

    fn before_cut(&mut self, _c: &Cut, _w: &Window) {
        self.slow_start = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::{RttEstimator, RttParams};
    use crate::segment::Ack;
    use crate::sent::{News, SentLog};

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn at(n: u64) -> Time {
        Time::ZERO + ms(n)
    }

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-9, "{got}, should be {want}");
    }

    fn window(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: 2.0 }
    }

    fn a_cut(cause: Cause, base: f64) -> Cut {
        Cut { cause, base, reno: 0.5, floor: 1.0, whole: false }
    }

    fn ledbat() -> Ledbat {
        Ledbat::new(&LedbatParams::default())
    }

    /// An ACK of `seq` and what came before it, at `now` ms.
    fn ack(l: &mut Ledbat, log: &mut SentLog, now: u64, seq: i64, newly: i64, max_sent: i64) {
        let News { newest, once, .. } =
            log.on_ack(at(now), &Ack { seq, ..Ack::default() }, |_, _| {});
        let a = Acked { newest, once, max_sent, ..Acked::of(at(now), seq, newly) };
        l.on_ack(&a, &mut window(1.0));
    }

    fn grow(l: &mut Ledbat, cwnd: f64, acked: f64) -> f64 {
        let rtt_params = RttParams::default();
        let rtt = RttEstimator::new(&rtt_params, Duration::ZERO);
        l.avoid(&Growth::of(Time::ZERO, acked, &rtt, &rtt_params), cwnd)
    }

    /// From a window of 10: without a queue one tenth up; at half of the target half of that; at
    /// the target nothing; at twice the target one tenth down. With a gain of 10 and a target of
    /// 5 ms, a queue of 15 ms is −2 targets off: 10 · −2/10 = −2.
    #[test]
    fn steps_by_hand() {
        for (gain, target, queuing, want) in [
            (1.0, 100, 0, 10.1),
            (1.0, 100, 50, 10.05),
            (1.0, 100, 100, 10.0),
            (1.0, 100, 200, 9.9),
            (10.0, 5, 0, 11.0),
            (10.0, 5, 15, 8.0),
        ] {
            let (ledbat_gain, ledbat_target) = (gain, ms(target));
            let p = LedbatParams { ledbat_gain, ledbat_target, ..LedbatParams::default() };
            let mut l = Ledbat { flight: 100.0, queuing: ms(queuing), ..Ledbat::new(&p) };
            near(grow(&mut l, 10.0, 1.0), want);
            near(grow(&mut l, 10.0, 2.0), 2.0 * want - 10.0);
        }
    }

    /// Three outstanding and one more; never below two.
    #[test]
    fn the_window_stays_within_what_is_outstanding() {
        near(grow(&mut Ledbat { flight: 3.0, ..ledbat() }, 10.0, 1.0), 4.0);
        near(grow(&mut Ledbat { flight: 0.0, ..ledbat() }, 10.0, 1.0), 2.0);
        let mut l = Ledbat { flight: 9.0, queuing: ms(10_000), ..ledbat() };
        near(grow(&mut l, 2.0, 1.0), 2.0);
    }

    /// Delays of 40, 70, 60, 90, 80 and 95 ms: the base is 40, and of the last four the smallest
    /// is 70, 60, 60.
    #[test]
    fn the_smallest_of_the_last_four() {
        let mut l = ledbat();
        let mut seen = vec![];
        for (i, delay) in [40, 70, 60, 90, 80, 95].into_iter().enumerate() {
            l.sample(at(1000 + i as u64), ms(delay));
            seen.push(l.queuing.as_nanos() / 1_000_000);
        }
        assert_eq!(seen, [0, 0, 0, 0, 20, 20]);
        // A round trip of 50 ms later the older ones are too old.
        l.sample(at(1080), ms(50));
        assert_eq!(l.queuing, ms(10));
    }

    /// A history of two minutes: the path's delay rises from 40 to 60 ms at 1:00; at 2:00 the
    /// minimum of the first minute is forgotten.
    #[test]
    fn the_base_delay_is_of_the_last_minutes() {
        let p = LedbatParams { base_history: 2, ..LedbatParams::default() };
        let mut l = Ledbat::new(&p);
        for (now, delay, queuing) in
            [(0, 50, 0), (1000, 40, 0), (60_000, 60, 20), (119_000, 61, 21), (120_000, 62, 2)]
        {
            l.sample(at(now), ms(delay));
            assert_eq!(l.queuing, ms(queuing), "at {now} ms");
        }
    }

    /// Segments 0 to 4 at 0, 10, … 40 ms; segment 2 again at 200 ms. The SYN's round trip is not
    /// data's. The ACK of 1 measures 100 ms; that of 4 covers the segment sent twice and measures
    /// nothing; segment 5 measures 120 ms.
    #[test]
    fn only_what_was_sent_once_is_measured() {
        let (mut l, mut log) = (ledbat(), SentLog::default());
        for seq in 0..5 {
            log.sent(at(10 * seq as u64), seq);
        }
        ack(&mut l, &mut log, 30, 0, 1, 4);
        assert_eq!(l.base.len(), 0);
        ack(&mut l, &mut log, 110, 1, 1, 4);
        assert_eq!((l.base[0], l.queuing, l.flight), (ms(100), ms(0), 4.0));
        log.sent(at(200), 2);
        ack(&mut l, &mut log, 300, 4, 3, 4);
        assert_eq!((l.current.len(), l.flight), (1, 3.0));
        log.sent(at(300), 5);
        ack(&mut l, &mut log, 420, 5, 1, 5);
        assert_eq!((l.base[0], l.queuing), (ms(100), ms(20)));
    }

    /// 3/4 of 100 ms end it for good, as does a cut.
    #[test]
    fn slow_start_ends_before_the_target() {
        let mut l = Ledbat { queuing: ms(75), ..ledbat() };
        assert!(!l.ends_slow_start());
        l.queuing = ms(76);
        assert!(l.ends_slow_start());
        l.queuing = ms(0);
        assert!(l.ends_slow_start());
        let mut l = ledbat();
        l.before_cut(&a_cut(Cause::Mark, 9.0), &window(9.0));
        assert!(l.ends_slow_start());
    }

    #[test]
    fn cuts_by_half_down_to_two() {
        let cut = |cause, cwnd| ledbat().leaves(&a_cut(cause, 100.0), &window(cwnd));
        assert_eq!(cut(Cause::Loss, 10.0), 5.0);
        assert_eq!(cut(Cause::Mark, 3.0), 2.0);
        assert_eq!(cut(Cause::Timeout, 10.0), 2.0);
    }
}
