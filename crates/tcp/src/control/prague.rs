//! TCP Prague, the scalable control of L4S: draft-briscoe-iccrg-prague-congestion-control, Linux's
//! `tcp_prague.c` (L4S team, 0.7), RFC 9331's requirements. It sends ECT(1), and needs the counts of
//! Accurate ECN.
//!
//! Once per round trip, and per 25 ms, alpha += (f − alpha)/16, with f the marked fraction of what
//! was delivered. As often, a mark takes alpha/2 of the window. Unmarked segments add, together,
//!
//! a = (RTT/25 ms)² segments in a round trip below 25 ms, else 1:
//!
//! per second as much as at 25 ms, so that short round trips have no advantage. In balance the rate
//! is 2 segments of (1/p − 1) per 25 ms: about 1 Mbit/s · (1/p − 1).
//!
//! The window is a fraction. The one in force follows it, a segment per ACK, and segments leave
//! evenly over the smoothed round trip. A loss halves the window, once in a recovery.
//!
//! Departs from Linux's: below four segments that one goes over to a rate without a window, with
//! segments of as little as 150 B. Here the window stays at two segments at least: below 2 segments
//! in a round trip the queue cannot be held. There is no search for AQMs that take ECT(1) for
//! classic traffic, as in Linux's.

use crate::control::algorithm::{CongestionControl, Did, Random, Steered};
use crate::control::model::Model;
use crate::control::variant::{VariantInfo, VARIANT};
use crate::control::window::Window;
use crate::ecn::bits::Ecn;
use crate::info::CaState;
use crate::recovery::kind::Recovery;
use penstock_units::param::{num_open, OwnDefaults, ParamError};
use penstock_units::{Duration, Time};

penstock_units::params! {
    /// Prague's estimate and its round trip.
    pub struct PragueParams: Default {
        /// Weight of the newest round trip in Prague's estimate of the marked fraction.
        pub prague_g: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.0625,
            source: "Linux: PRAGUE_SHIFT_G 4",
        },
        /// The round trip below which Prague grows and answers marks as it does at this one; 0:
        /// round trips count as they are.
        pub prague_rtt: Duration {
            default: "25 ms",
            source: "Linux: prague_rtt_target 25 ms; RFC 9331 4.3",
        },
        /// Round trips after slow start before `prague_rtt` counts.
        pub prague_rtt_transition: u32 {
            ty: penstock_units::param::int(0, 1 << 20),
            unit: "1",
            default: 4,
            source: "Linux: prague_rtt_transition",
        },
    }
}

pub(crate) const INFO: VariantInfo = VariantInfo {
    name: "prague",
    doc: "Holds the queue of an L4S router at its marking threshold; round trips count little.",
    source: "draft-briscoe-iccrg-prague-congestion-control-04; Linux's tcp_prague.c",
    own: &[PragueParams::TABLE, Recovery::TABLE],
    defaults: OwnDefaults::any(&[
        ("recovery", "\"rack\""),
        ("ecn", "\"accecn\""),
        ("retransmit_ect", "true"),
    ]),
    linux: Some("prague"),
    ..VARIANT
};

const MIN_CWND: f64 = 2.0;

/// What Prague keeps.
#[derive(Clone, Debug)]
pub(crate) struct Prague {
    p: PragueParams,
    /// The window as a fraction; `None` before the first ACK.
    frac: Option<f64>,
    alpha: f64,
    saw_mark: bool,
    /// Marked segments so far, and both counts when alpha was updated last.
    marked: u64,
    counted: (u64, u64),
    /// The highest segment of the round trip that is being observed.
    round_end: i64,
    /// Round trips since slow start.
    rounds: u32,
    alpha_at: Time,
    cut_at: Option<Time>,
    /// A loss is being repaired, and the window was this before it.
    repairs: bool,
    before_loss: f64,
    gap: Option<Duration>,
}

impl Prague {
    fn independent(&self) -> bool {
        self.rounds >= self.p.prague_rtt_transition
    }

    /// Segments that a round trip without marks adds.
    fn increase(&self, rtt: Duration) -> f64 {
        if !self.independent() || rtt >= self.p.prague_rtt {
            return 1.0;
        }
        let share = rtt.as_secs_f64() / self.p.prague_rtt.as_secs_f64();
        share * share
    }

    /// At the end of a round trip: alpha += g (f − alpha), if any mark was ever seen.
    fn observe(&mut self, s: &Steered, in_slow_start: bool) {
        let early = self.independent() && s.now.since(self.alpha_at) < self.p.prague_rtt;
        if s.seq <= self.round_end || early {
            return;
        }
        if self.saw_mark {
            let (delivered, marked) = self.counted;
            let of = (s.delivered_total - delivered).max(1) as f64;
            let f = ((self.marked - marked) as f64 / of).min(1.0);
            self.alpha += self.p.prague_g * (f - self.alpha);
        }
        self.alpha_at = s.now;
        self.round_end = s.max_sent;
        self.counted = (s.delivered_total, self.marked);
        self.rounds += u32::from(!in_slow_start);
    }

    /// A mark: at most one cut in a round trip, or 25 ms. The first, when alpha says nothing yet,
    /// takes half.
    fn cut(&mut self, now: Time, rtt: Duration, frac: f64) -> f64 {
        let least = rtt.max(self.p.prague_rtt);
        if self.cut_at.is_some_and(|at| now.since(at) < least) {
            return frac;
        }
        self.cut_at = Some(now);
        let share = if self.saw_mark { self.alpha / 2.0 } else { 0.5 };
        frac - frac * share
    }

    /// The window in force follows the fraction, one segment per ACK.
    fn follow(frac: f64, w: &mut Window) {
        let target = frac.ceil().max(MIN_CWND);
        if target < w.cwnd {
            w.cwnd -= 1.0;
            w.ssthresh = w.cwnd;
        } else if target > w.cwnd {
            w.cwnd += 1.0;
        }
    }
}

impl CongestionControl for Prague {
    type Params = PragueParams;
    const COUNTS_MARKS: bool = true;
    const SCALABLE: bool = true;
    const FULL: bool = true;
    const PACES: bool = true;

    fn new(p: &PragueParams) -> Self {
        Prague {
            p: p.clone(),
            frac: None,
            alpha: 0.0,
            saw_mark: false,
            marked: 0,
            counted: (0, 0),
            round_end: -1,
            rounds: 0,
            alpha_at: Time::ZERO,
            cut_at: None,
            repairs: false,
            before_loss: 0.0,
            gap: None,
        }
    }

    fn check(_p: &PragueParams, ecn: Ecn) -> Result<(), ParamError> {
        if ecn == Ecn::AccEcn {
            return Ok(());
        }
        Err(ParamError::new("ecn", "must be \"accecn\" with tcp = \"prague\", which counts marks"))
    }

    fn steer(&mut self, s: &Steered, w: &mut Window, _random: Random<'_>) -> Did {
        let rtt = s.srtt.unwrap_or_default();
        let mut frac = self.frac.unwrap_or(w.cwnd);
        self.repairs &= s.state >= CaState::Recovery;
        self.marked += s.marked;
        let slow_start = w.cwnd < w.ssthresh && !self.saw_mark;
        self.observe(s, slow_start);
        let mut cut = false;
        if s.marked > 0 && !self.repairs {
            let before = self.cut_at;
            frac = self.cut(s.now, rtt, frac).max(MIN_CWND);
            cut = self.cut_at != before;
            self.saw_mark = true;
        }
        let unmarked = s.delivered.saturating_sub(s.marked) as f64;
        let mut follows = true;
        if unmarked > 0.0 && s.window_limited && s.state < CaState::Recovery {
            if slow_start && !self.saw_mark {
                w.cwnd += unmarked;
                frac = w.cwnd;
                follows = false;
            } else {
                frac += unmarked * self.increase(rtt) / frac;
            }
        }
        if follows {
            Self::follow(frac, w);
        }
        self.frac = Some(frac);
        let pace = frac.max(s.in_flight as f64) * if w.cwnd < w.ssthresh / 2.0 { 2.0 } else { 1.0 };
        self.gap = s.srtt.map(|rtt| Duration::from_ticks((rtt.as_ticks() as f64 / pace) as u64));
        Did { holds_back: false, cut }
    }

    fn on_state(&mut self, _from: CaState, to: CaState, w: &mut Window) {
        if to < CaState::Recovery {
            self.repairs = false;
            return;
        }
        if self.repairs {
            return;
        }
        self.repairs = true;
        let frac = self.frac.unwrap_or(w.cwnd);
        self.before_loss = frac;
        let left = (frac / 2.0).max(MIN_CWND);
        self.frac = Some(left);
        w.ssthresh = left.ceil();
    }

    fn undo(&mut self, w: &mut Window) {
        let frac = self.frac.unwrap_or(w.cwnd).max(self.before_loss);
        self.frac = Some(frac);
        w.ssthresh = w.ssthresh.max(frac.ceil());
    }

    fn pacing(&self, _w: &Window) -> Option<Duration> {
        self.gap
    }

    fn model(&self) -> Option<Model> {
        Some(Model { alpha: Some(self.alpha), ..Model::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn at(n: u64) -> Time {
        Time::ZERO + ms(n)
    }

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-4, "{got}, should be {want}");
    }

    fn prague() -> Prague {
        Prague::new(&PragueParams::default())
    }

    /// One out of slow start whose round trips count alike.
    fn steady(frac: f64, alpha: f64) -> (Prague, Window) {
        let round_end = 900; // what follows is within a round trip
        let p =
            Prague { frac: Some(frac), alpha, saw_mark: true, rounds: 4, round_end, ..prague() };
        (p, Window { cwnd: frac.ceil(), ssthresh: frac.ceil() })
    }

    fn ack(now: u64, total: u64, rtt: u64) -> Steered {
        Steered { srtt: Some(ms(rtt)), ..Steered::of(at(now), total, 20) }
    }

    fn steer(p: &mut Prague, s: &Steered, w: &mut Window) {
        p.steer(s, w, &mut || 0.0);
    }

    /// From 0 with all marked; from 1 with none.
    #[test]
    fn alpha_by_hand() {
        for (alpha, marked, want) in
            [(0.0, 1, [0.0625, 0.1211, 0.1760, 0.2275]), (1.0, 0, [0.9375, 0.8789, 0.8240, 0.7725])]
        {
            let (mut p, mut w) = steady(20.0, alpha);
            p.round_end = 0;
            for (n, want) in want.into_iter().enumerate() {
                let s = ack(25 * (n as u64 + 1), 30 * (n as u64 + 1), 25);
                steer(&mut p, &Steered { delivered: 30, marked: 30 * marked, ..s }, &mut w);
                near(p.alpha, want);
            }
        }
    }

    /// Below 25 ms alpha moves every 25 ms, once round trips count alike; before that, every round
    /// trip. Without any mark it does not move.
    #[test]
    fn when_alpha_moves() {
        let (mut p, mut w) = steady(20.0, 1.0);
        p.round_end = 0;
        let mut moved = |p: &mut Prague, now, total: u64| {
            let before = p.alpha;
            steer(p, &Steered { max_sent: total as i64, ..ack(now, total, 10) }, &mut w);
            p.alpha != before
        };
        assert!([(24, 30, false), (25, 31, true), (35, 61, false), (50, 90, true)]
            .iter()
            .all(|(now, total, moves)| moved(&mut p, *now, *total) == *moves));
        p.rounds = 0;
        assert!(moved(&mut p, 60, 120));
        p.saw_mark = false;
        assert!(!moved(&mut p, 90, 150));
    }

    /// alpha/2 of 40 is 2: the window goes to 38 in two ACKs. The next mark counts 25 ms later, or
    /// a round trip if that is longer.
    #[test]
    fn a_mark_takes_half_of_alpha() {
        let (mut p, mut w) = steady(40.0, 0.1);
        let marked = |now| Steered { marked: 1, max_sent: 900, ..ack(now, 100, 10) };
        steer(&mut p, &marked(100), &mut w);
        assert_eq!((p.frac, w.cwnd, w.ssthresh), (Some(38.0), 39.0, 39.0));
        for now in [110, 124] {
            steer(&mut p, &marked(now), &mut w);
            assert_eq!((p.frac, w.cwnd), (Some(38.0), 38.0));
        }
        steer(&mut p, &marked(125), &mut w);
        near(p.frac.expect("a window"), 36.1);
        let (mut p, mut w) = steady(40.0, 0.1);
        steer(&mut p, &Steered { srtt: Some(ms(50)), ..marked(100) }, &mut w);
        steer(&mut p, &Steered { srtt: Some(ms(50)), ..marked(149) }, &mut w);
        assert_eq!(p.frac, Some(38.0));
    }

    /// The first mark of a connection halves, ends slow start, and leaves alpha at 0.
    #[test]
    fn the_first_mark_ends_slow_start() {
        let (mut p, mut w) = (prague(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        steer(&mut p, &Steered { delivered: 6, ..ack(10, 6, 10) }, &mut w);
        assert_eq!((w.cwnd, p.rounds), (16.0, 0));
        let s = Steered { delivered: 2, marked: 1, max_sent: 99, ..ack(20, 8, 10) };
        steer(&mut p, &s, &mut w);
        // Half of 16, and one segment was unmarked.
        near(p.frac.expect("a window"), 8.0 + 1.0 / 8.0);
        assert_eq!((p.alpha, w.cwnd, w.ssthresh), (0.0, 15.0, 15.0));
    }

    /// Twenty unmarked ACKs of a window of 20: (10/25)² at 10 ms, one at 25 and 50 ms; one at 10 ms
    /// too, before round trips count alike.
    #[test]
    fn growth_in_a_round_trip() {
        for (rtt, rounds, want) in [(10, 4, 0.16), (25, 4, 1.0), (50, 4, 1.0), (10, 0, 1.0)] {
            let (mut p, mut w) = steady(20.0, 0.1);
            p.rounds = rounds;
            (0..20).for_each(|n| steer(&mut p, &ack(100, 100 + n, rtt), &mut w));
            let grown = p.frac.expect("a window") - 20.0;
            assert!((grown - want).abs() < 0.03 * want, "{rtt} ms: {grown}");
        }
        // Marked segments do not count, nor a window that does not limit.
        let (mut p, mut w) = steady(20.0, 0.0);
        steer(&mut p, &Steered { marked: 1, ..ack(100, 100, 25) }, &mut w);
        steer(&mut p, &Steered { window_limited: false, ..ack(100, 101, 25) }, &mut w);
        assert_eq!(p.frac, Some(20.0));
    }

    /// In balance growth and cuts are the same per 25 ms: at 1 Mbit/s half is marked, at 10 a
    /// eleventh, at 99 a hundredth (segments of 1500 B, at 5, 10 and 20 ms).
    #[test]
    fn the_rate_in_balance() {
        for (mbits, p_mark) in [(1.0, 0.5), (10.0, 1.0 / 11.0), (40.0, 1.0 / 41.0), (99.0, 0.01)] {
            for rtt in [5, 10, 20] {
                let frac = mbits * 1e6 / 8.0 / 1500.0 * ms(rtt).as_secs_f64();
                let (p, _) = steady(frac, p_mark);
                let up = 25.0 / rtt as f64 * p.increase(ms(rtt)) * (1.0 - p_mark);
                let down = frac * p_mark / 2.0;
                // 0.96 Mbit/s instead of 1.
                assert!((down / up - 1.0).abs() < 0.05, "{mbits} {rtt}: {up} {down}");
            }
        }
    }

    /// A window of 20 over 10 ms: a segment every 0.5 ms, and twice as fast below half of ssthresh.
    #[test]
    fn segments_leave_evenly() {
        let (mut p, mut w) = steady(20.0, 0.1);
        let s = Steered { window_limited: false, ..ack(100, 100, 10) };
        steer(&mut p, &s, &mut w);
        assert_eq!(p.pacing(&w), Some(Duration::from_micros(500)));
        w.ssthresh = 41.0;
        steer(&mut p, &s, &mut w);
        assert_eq!(p.pacing(&w), Some(Duration::from_micros(250)));
        steer(&mut p, &Steered { in_flight: 40, ..s }, &mut w);
        assert_eq!(p.pacing(&w), Some(Duration::from_micros(125)));
    }

    /// A loss halves once, and nothing grows before it is repaired; a false alarm is undone.
    #[test]
    fn a_loss_halves_once() {
        let (mut p, mut w) = steady(40.0, 0.1);
        p.on_state(CaState::Open, CaState::Recovery, &mut w);
        p.on_state(CaState::Recovery, CaState::Loss, &mut w);
        let s = ack(100, 100, 25);
        for n in 1..=30 {
            steer(&mut p, &Steered { state: CaState::Recovery, marked: 1, ..s }, &mut w);
            assert_eq!((p.frac, w.cwnd), (Some(20.0), (40.0 - f64::from(n)).max(20.0)));
        }
        p.undo(&mut w);
        assert_eq!(p.frac, Some(40.0));
        steer(&mut p, &s, &mut w);
        near(p.frac.expect("a window"), 40.025);
    }

    /// The ACK that ends a recovery may begin the next: that is another loss, which halves too.
    #[test]
    fn each_recovery_halves() {
        let (mut p, mut w) = steady(40.0, 0.1);
        for left in [20.0, 10.0] {
            p.on_state(CaState::Open, CaState::Recovery, &mut w);
            assert_eq!((p.frac, w.ssthresh), (Some(left), left));
            p.on_state(CaState::Recovery, CaState::Open, &mut w);
        }
    }
}
