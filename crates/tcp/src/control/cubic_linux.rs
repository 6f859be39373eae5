//! CUBIC as Linux computes it (`tcp_cubic.c`, 6.x), in integers: `cubic = "linux"` asks for it.
//! Windows are whole segments, C and β are in 1/1024, times on the curve in 2⁻¹⁰ s. The clock moves
//! once per `tick`, Linux's jiffy.
//!
//! Where RFC 9438 differs:
//!
//! - The curve is read a *minimum* round trip ahead, at most once per jiffy, and what was read holds
//!   for 1/32 s while the window stays: one segment more for every `cnt` acknowledged.
//! - `cnt` is at least 2 (4.4 aims at most at 1.5 cwnd). It is at most 20 before the first maximum,
//!   and never asks for less window.
//! - Reno's window grows in steps, by 8/15 segment a round trip for ever (`reno_friendly`).
//! - A cut takes from cwnd, whatever is outstanding. A timeout forgets the maximum too.
//!
//! Readings. The cube root is exact and rounded down; the kernel's, from a table and one step of
//! Newton's, is within 0.2 % of it. A pause of the application is seen at the first ACK after it.

use crate::control::algorithm::{Acked, Cause, Growth};
use penstock_units::param::ParamError;
use penstock_units::{Duration, Time};

/// C and β are in units of one over this, and so is a second of the curve.
const UNIT: u64 = 1024;

const SECOND: Duration = Duration::from_secs(1);

/// What a user sets, in real numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set {
    pub(crate) c: f64,
    pub(crate) beta: f64,
    pub(crate) fast_convergence: bool,
    /// Reno's window grows by one a round trip above the last maximum, as RFC 9438 has it.
    pub(crate) reno_of_rfc: bool,
}

/// The state of one epoch and of the connection. Names are those of the kernel.
#[derive(Clone, Debug)]
pub(crate) struct CubicLinux {
    c: u64,
    beta: u64,
    /// (2⁴⁰ units of time³) per (C · segment).
    cube_factor: u64,
    /// Reno's window grows by one for every `beta_scale`/8 windows acknowledged.
    beta_scale: u64,
    fast_convergence: bool,
    /// RFC 9438's second phase of Reno's window.
    reno_of_rfc: bool,

    last_max: u64,
    /// The window before the last cut.
    prior: u64,
    epoch: Option<Time>,
    k: u64,
    origin: u64,
    tcp_cwnd: u64,
    ack_cnt: u64,
    cnt: u64,
    last_cwnd: u64,
    /// The jiffy in which the curve was read last.
    last_time: u64,
    delay_min: Option<Duration>,
    /// `snd_cwnd_cnt`: segments acknowledged since the last step.
    cwnd_cnt: u64,
    /// Nothing is outstanding; the last segment left at this time.
    quiet: Option<Time>,
}

/// Returns the cube root of `n`, rounded down.
fn cube_root(n: u64) -> u64 {
    let cube = |x: u64| u128::from(x).pow(3);
    let mut x = libm::cbrt(n as f64) as u64;
    while cube(x) > u128::from(n) {
        x -= 1;
    }
    while cube(x + 1) <= u128::from(n) {
        x += 1;
    }
    x
}

impl CubicLinux {
    pub(crate) fn new(p: Set) -> Self {
        let in_units = |x: f64| (x * UNIT as f64 + 0.5) as u64;
        let (c, beta) = (in_units(p.c), in_units(p.beta));
        CubicLinux {
            c,
            beta,
            cube_factor: (1 << 40) / c,
            beta_scale: 8 * (UNIT + beta) / 3 / (UNIT - beta),
            fast_convergence: p.fast_convergence,
            reno_of_rfc: p.reno_of_rfc,
            last_max: 0,
            prior: 0,
            epoch: None,
            k: 0,
            origin: 0,
            tcp_cwnd: 0,
            ack_cnt: 0,
            cnt: 0,
            last_cwnd: 0,
            last_time: 0,
            delay_min: None,
            cwnd_cnt: 0,
            quiet: None,
        }
    }

    /// Checks that C and β are not rounded to nothing, or β to one.
    pub(crate) fn check(p: Set) -> Result<(), ParamError> {
        let unit = 1.0 / UNIT as f64;
        let refuse = |name, problem| Err(ParamError::new(name, problem));
        if p.c < unit {
            return refuse("cubic_c", "must be at least 1/1024 with cubic = \"linux\"");
        }
        if !(unit..=1.0 - unit).contains(&p.beta) {
            let problem = "must be between 1/1024 and 1023/1024 with cubic = \"linux\"";
            return refuse("cubic_beta", problem);
        }
        Ok(())
    }

    /// An ACK: the minimum round trip, and pauses of the application.
    pub(crate) fn on_ack(&mut self, a: &Acked) {
        let Some(newest) = a.newest else { return };
        if let (Some(quiet), Some(epoch)) = (self.quiet.take(), &mut self.epoch) {
            // The epoch does not count the time in which nothing was sent.
            *epoch = (*epoch + newest.at.since(quiet)).min(a.now);
        }
        self.quiet = (a.seq >= a.max_sent).then_some(newest.at);
        // For a second after a cut round trips are those of the queue that asked for it.
        let settled = self.epoch.is_none_or(|epoch| a.now.since(epoch) >= SECOND);
        if let Some(rtt) = a.sample().filter(|_| settled) {
            self.delay_min = Some(self.delay_min.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// Starts an epoch: K = ∛((W_max − cwnd)/C).
    fn begin(&mut self, now: Time, cwnd: u64, acked: u64) {
        self.epoch = Some(now);
        self.ack_cnt = acked;
        self.tcp_cwnd = cwnd;
        let below = self.last_max.saturating_sub(cwnd);
        self.k = cube_root(self.cube_factor.saturating_mul(below));
        self.origin = self.last_max.max(cwnd);
    }

    /// The curve at `t`: origin ± C |t − K|³.
    fn w_cubic(&self, t: u64) -> u64 {
        let delta = (u128::from(self.c) * u128::from(t.abs_diff(self.k)).pow(3)) >> 40;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        if t < self.k {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        }
    }

    /// Reads the curve: sets `cnt` to the segments acknowledged that one more in the window takes.
    fn read_curve(&mut self, jiffy: u64, epoch: Time, tick: u64, cwnd: u64) {
        let ahead = self.delay_min.map_or(0, |d| d.as_nanos().div_ceil(tick));
        let jiffies = jiffy - (epoch.as_nanos() / tick).min(jiffy) + ahead;
        let t = (u128::from(jiffies) * u128::from(tick) * u128::from(UNIT)) / 1_000_000_000;
        let target = self.w_cubic(u64::try_from(t).unwrap_or(u64::MAX));
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 {
            self.cnt = self.cnt.min(20);
        }
    }

    /// What Reno would have, which the window is not to stay behind.
    fn reno_friendly(&mut self, cwnd: u64) {
        let scale = |w: u64, prior: u64, s: &Self| {
            if s.reno_of_rfc && w >= prior {
                8
            } else {
                s.beta_scale
            }
        };
        loop {
            let per_step = ((cwnd * scale(self.tcp_cwnd, self.prior, self)) >> 3).max(1);
            if self.ack_cnt <= per_step {
                break;
            }
            self.ack_cnt -= per_step;
            self.tcp_cwnd += 1;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }

    fn update(&mut self, now: Time, tick: u64, cwnd: u64, acked: u64) {
        let jiffy = now.as_nanos() / tick;
        self.ack_cnt += acked;
        let holds = 1_000_000_000 / 32 / tick;
        if self.last_cwnd == cwnd && jiffy - self.last_time <= holds {
            return;
        }
        match self.epoch {
            Some(_) if jiffy == self.last_time => {}
            epoch => {
                (self.last_cwnd, self.last_time) = (cwnd, jiffy);
                if epoch.is_none() {
                    self.begin(now, cwnd, acked);
                }
                self.read_curve(jiffy, epoch.unwrap_or(now), tick, cwnd);
            }
        }
        self.reno_friendly(cwnd);
        self.cnt = self.cnt.max(2);
    }

    /// Returns the window after an ACK of congestion avoidance.
    pub(crate) fn avoid(&mut self, g: &Growth, cwnd: f64) -> f64 {
        let (mut cwnd, acked) = ((cwnd as u64).max(1), g.acked as u64);
        self.update(g.now, g.rtt_params.tick.as_nanos().max(1), cwnd, acked);
        if self.cwnd_cnt >= self.cnt {
            self.cwnd_cnt = 0;
            cwnd += 1;
        }
        self.cwnd_cnt += acked;
        cwnd += self.cwnd_cnt / self.cnt;
        self.cwnd_cnt %= self.cnt;
        cwnd as f64
    }

    /// Returns what a cut leaves; `beta`: another factor than β.
    pub(crate) fn leaves(&self, cwnd: f64, beta: Option<f64>) -> f64 {
        let cwnd = cwnd as u64;
        let left = match beta {
            Some(beta) => (cwnd as f64 * beta) as u64,
            None => cwnd * self.beta / UNIT,
        };
        left.max(2) as f64
    }

    pub(crate) fn before_cut(&mut self, cause: Cause, cwnd: f64) {
        self.epoch = None;
        self.cwnd_cnt = 0;
        if cause == Cause::Deeper {
            return;
        }
        let cwnd = cwnd as u64;
        let lower = self.fast_convergence && cwnd < self.last_max;
        self.last_max = if lower { cwnd * (UNIT + self.beta) / (2 * UNIT) } else { cwnd };
        self.prior = cwnd;
        if cause == Cause::Timeout {
            (self.last_max, self.prior, self.delay_min) = (0, 0, None);
            (self.last_cwnd, self.last_time, self.cnt) = (0, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::{RttEstimator, RttParams};

    fn cubic() -> CubicLinux {
        CubicLinux::new(Set { c: 0.4, beta: 0.7, fast_convergence: true, reno_of_rfc: false })
    }

    fn ms(n: f64) -> Time {
        Time::from_nanos((n * 1e6) as u64)
    }

    /// An epoch's beginning below a maximum of `last_max`, on a path of `delay` ms.
    fn below(last_max: u64, delay: u64) -> CubicLinux {
        let delay_min = Some(Duration::from_millis(delay));
        CubicLinux { last_max, prior: last_max, delay_min, ..cubic() }
    }

    fn ack(c: &mut CubicLinux, now: Time, cwnd: u64, acked: u64) -> u64 {
        let p = RttParams::default();
        let rtt = RttEstimator::new(&p, Duration::ZERO);
        c.avoid(&Growth::of(now, acked as f64, &rtt, &p), cwnd as f64) as u64
    }

    /// The window at the start of each round trip of `rtt` ms, in which one ACK per segment comes,
    /// evenly spaced.
    fn rounds(c: &mut CubicLinux, start: u64, rtt: f64, n: u32) -> Vec<u64> {
        let mut cwnd = start;
        let of_round = |round: u32| {
            let segments = cwnd;
            for i in 1..=segments {
                let at = 1.0 + rtt * (f64::from(round) + i as f64 / segments as f64);
                cwnd = ack(c, ms(at), cwnd, 1);
            }
            segments
        };
        (0..n).map(of_round).collect()
    }

    /// 0.4 · 1024 = 409.6 and 0.7 · 1024 = 716.8, rounded: Linux's constants.
    #[test]
    fn linuxs_constants() {
        let c = cubic();
        assert_eq!((c.c, c.beta, c.cube_factor, c.beta_scale), (410, 717, 2_681_735_677, 15));
    }

    /// K in 2⁻¹⁰ s. In brackets what the kernel's root gives.
    #[test]
    fn k_by_hand() {
        let factor = cubic().cube_factor;
        for (below, k, kernel) in [
            (1, 1389, 1388),
            (6, 2524, 2523),
            (10, 2993, 2991),
            (30, 4316, 4316), // 4.215 s
            (100, 6448, 6451),
            (1000, 13893, 13897),
        ] {
            let got = cube_root(factor * below);
            assert_eq!(got, k, "{below}");
            assert!(got.abs_diff(kernel) * 500 <= kernel, "{below}: within 0.2 % of the kernel's");
        }
    }

    #[test]
    fn cuts_by_hand() {
        for (cwnd, left) in [(10, 7), (14, 9), (20, 14), (26, 18), (100, 70), (143, 100), (2, 2)] {
            assert_eq!(cubic().leaves(f64::from(cwnd), None), f64::from(left), "{cwnd}");
        }
        for (cwnd, last_max) in [(80, 68), (20, 17), (100, 100)] {
            let mut c = below(100, 50);
            c.before_cut(Cause::Loss, f64::from(cwnd));
            assert_eq!(c.last_max, last_max, "{cwnd}: fast convergence");
        }
    }

    /// Reno's window gains one for 26, 37 and 187 segments more than acknowledged.
    #[test]
    fn steps_of_renos_window() {
        for (cwnd, per_step) in [(14, 26), (20, 37), (100, 187)] {
            for (ack_cnt, tcp_cwnd) in [(per_step, cwnd), (per_step + 1, cwnd + 1)] {
                let mut c = CubicLinux { ack_cnt, tcp_cwnd: cwnd, cnt: 1000, ..cubic() };
                c.reno_friendly(cwnd);
                assert_eq!(c.tcp_cwnd, tcp_cwnd, "{cwnd}");
            }
        }
    }

    /// A window of 14 below a maximum of 20, 50 ms: Reno's part leads, and its slope above the
    /// maximum stays 0.55 a round trip, where RFC 9438 has 0.97.
    #[test]
    fn a_small_window_grows_as_slowly_above_the_maximum() {
        let got = rounds(&mut below(20, 50), 14, 50.0, 41);
        let want = [
            14, 15, 15, 16, 16, 16, 17, 17, 18, 18, 19, 19, 20, 20, 21, 21, 22, 22, 23, 23, 24, 24,
            25, 25, 26, 27, 27, 28,
        ];
        assert_eq!(got[..28], want);
        let slope = (got[40] - got[30]) as f64 / 10.0;
        assert!((0.5..=0.6).contains(&slope), "{slope}");
    }

    /// `reno_friendly = "rfc"`: one a round trip above the maximum.
    #[test]
    fn renos_second_phase_may_be_had_in_integers() {
        let mut c = CubicLinux { reno_of_rfc: true, ..below(20, 50) };
        let got = rounds(&mut c, 14, 50.0, 41);
        let slope = (got[40] - got[30]) as f64 / 10.0;
        assert!((0.9..=1.1).contains(&slope), "{slope}");
    }

    /// A window of 70 below a maximum of 100, 100 ms: the concave part of the curve.
    #[test]
    fn a_large_window_follows_the_curve() {
        let want = [
            70, 73, 75, 77, 79, 80, 82, 83, 85, 86, 87, 88, 90, 91, 92, 93, 94, 95, 95, 96, 97, 97,
            98, 98, 98, 99, 99, 99, 100,
        ];
        assert_eq!(rounds(&mut below(100, 100), 70, 100.0, 29), want);
    }

    /// With a round trip of 20 ms the hundredth segment comes in round 57 or 58.
    #[test]
    fn a_short_path_takes_as_many_seconds() {
        let got = rounds(&mut below(100, 20), 70, 20.0, 60);
        assert!(got.iter().position(|w| *w == 100).is_some_and(|r| (56..=58).contains(&r)));
    }

    /// No maximum to come back to: 100 ms ahead are 102 units, and 410 · 102³ is below 2⁴⁰. One more
    /// segment for 100 windows, or for 20 segments where there was no cut yet.
    #[test]
    fn the_start_of_an_epoch() {
        for (last_max, cnt) in [(20, 2000), (0, 20)] {
            let mut c = below(last_max, 100);
            ack(&mut c, ms(1000.0), 20, 1);
            assert_eq!((c.k, c.origin, c.cnt), (0, 20, cnt), "{last_max}");
        }
    }

    /// After a timeout at 10: seven, then one for every 20 acknowledged, until Reno's part is
    /// faster.
    #[test]
    fn a_timeout_forgets_the_maximum() {
        let mut c = below(100, 100);
        assert_eq!(c.leaves(10.0, None), 7.0);
        c.before_cut(Cause::Timeout, 10.0);
        c.delay_min = Some(Duration::from_millis(100));
        let mut cwnd = 7;
        let mut acks_of_step = vec![];
        let mut acks = 0;
        for i in 0..42 {
            let before = cwnd;
            cwnd = ack(&mut c, ms(1000.0 + f64::from(i)), cwnd, 1);
            acks += 1;
            if cwnd > before {
                acks_of_step.push(acks);
                acks = 0;
            }
        }
        assert_eq!(acks_of_step[0], 20);
        assert_eq!(c.last_max, 0);
    }

    /// Half a minute without anything to send: the epoch is as old as before, and the minimum of
    /// round trips ignores the first second of an epoch.
    #[test]
    fn pauses_do_not_count() {
        use crate::segment::Ack;
        use crate::sent::SentLog;
        let (mut c, mut log) = (below(100, 100), SentLog::default());
        log.sent(ms(0.0), 0);
        let _ = log.on_ack(ms(0.0), &Ack { seq: 0, ..Ack::default() }, |_, _| {});
        ack(&mut c, ms(1000.0), 70, 1);
        let mut at = |c: &mut CubicLinux, sent: f64, acked: f64, seq: i64, max_sent: i64| {
            log.sent(ms(sent), seq);
            let news = log.on_ack(ms(acked), &Ack { seq, ..Ack::default() }, |_, _| {});
            let a = Acked::of(ms(acked), seq, 1);
            c.on_ack(&Acked { newest: news.newest, once: news.once, max_sent, ..a });
        };
        at(&mut c, 1900.0, 1950.0, 1, 1);
        assert_eq!(c.delay_min, Some(Duration::from_millis(100)), "within the first second");
        at(&mut c, 31_900.0, 31_980.0, 2, 3);
        assert_eq!(c.epoch, Some(ms(31_000.0)));
        at(&mut c, 32_000.0, 32_080.0, 3, 3);
        assert_eq!(c.delay_min, Some(Duration::from_millis(80)));
    }
}
