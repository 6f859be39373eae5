//! CUBIC, RFC 9438. Windows are in segments, times in seconds.
//!
//! Readings. Where `growth = "bytes"`, an ACK of several segments moves the window as that many
//! ACKs would (4.4 takes one step per ACK). Time in which the window did not limit sending does not
//! count (4.2). RTT is the smoothed one. Reductions are not undone (4.9). HyStart++ (4.10) is the
//! key `hystart`. Linux's CUBIC is in `cubic_linux.rs`.

use crate::control::algorithm::{Acked, Cause, CongestionControl, Cut, Growth};
use crate::control::cubic_linux::{CubicLinux, Set};
use crate::control::hystart::HyStartParams;
use crate::control::variant::{Form, VariantInfo, FRACTIONS, VARIANT};
use crate::control::window::Window;
use crate::ecn::abe::AbeParams;
use crate::ecn::bits::Ecn;
use crate::recovery::kind::Recovery;
use penstock_units::param::{num_open, OwnDefaults, ParamError, Under};
use penstock_units::Time;

penstock_units::params! {
    /// CUBIC's curve.
    pub struct CubicParams: Default {
        /// CUBIC's C: how steeply the window grows.
        pub cubic_c: f64 {
            ty: num_open(0.0, 1000.0),
            unit: "segments/s^3",
            default: 0.4,
            source: "RFC 9438 5.1",
        },
        /// CUBIC's beta: what a cut leaves of the window.
        pub cubic_beta: f64 {
            ty: num_open(0.0, 0.999_999),
            unit: "1",
            default: 0.7,
            source: "RFC 9438 4.6",
        },
        /// CUBIC aims lower than the last maximum where that was below the one before.
        pub fast_convergence: bool { default: true, source: "RFC 9438 4.7" },
        /// Whose CUBIC: RFC 9438's, or Linux's in integers, which reads its curve a minimum round
        /// trip ahead, adds whole segments, and forgets its maximum at a timeout.
        pub cubic: Form {
            default: "rfc",
            linux: "linux",
            quiet: true,
            source: "RFC 9438; Linux 6.x tcp_cubic.c",
        },
        /// How fast Reno's part of CUBIC grows above the last maximum: rfc: by a segment a round
        /// trip, linux: by 9/17 (in integers 8/15), as below it.
        pub reno_friendly: Option<Form> {
            auto: "as `cubic` says",
            quic: "linux",
            quiet: true,
            source: "RFC 9438 4.3; Linux 6.x tcp_cubic.c; quinn, neqo, s2n-quic",
        },
    }
}

pub(crate) const INFO: VariantInfo = VariantInfo {
    name: "cubic",
    doc: "The window is a cubic function of the time since the last cut, and never below Reno's.",
    source: "RFC 9438",
    own: &[CubicParams::TABLE, HyStartParams::TABLE, AbeParams::TABLE, Recovery::TABLE],
    defaults: OwnDefaults {
        under: Under { linux: &[("hystart", "\"linux\"")], ..Under::all(&[]) },
        ..OwnDefaults::NONE
    },
    linux: Some("cubic"),
    ..VARIANT
};

/// The state that CUBIC keeps beside the common state.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    p: CubicParams,
    /// `cubic = "linux"`: it has a state of its own, and what follows here is not used.
    linux: Option<CubicLinux>,
    /// α_cubic above the last maximum.
    alpha_above: f64,
    /// The window before the last cut, or less (4.7); 0 before the first.
    w_max: f64,
    /// The time at which the curve is back at W_max, from the start of the stage.
    k: f64,
    w_est: f64,
    cwnd_prior: f64,
    /// The time at which this stage of congestion avoidance began; `None` before it has.
    epoch: Option<Time>,
    last_ack: Time,
    after_timeout: bool,
}

/// Returns what `cubic = "linux"` takes of the parameters.
fn in_integers(p: &CubicParams) -> Set {
    let CubicParams { cubic_c: c, cubic_beta: beta, fast_convergence, .. } = *p;
    Set { c, beta, fast_convergence, reno_of_rfc: p.reno_friendly == Some(Form::Rfc) }
}

/// 4.3: returns the growth per round trip with which Reno's window, cut by β, keeps Reno's average.
fn alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

impl Cubic {
    /// Figure 1: W_cubic(t) = C (t − K)³ + W_max.
    fn w_cubic(&self, t: f64) -> f64 {
        let x = t - self.k;
        self.p.cubic_c * (x * x * x) + self.w_max
    }

    /// Figure 2: K = ∛((W_max − cwnd_epoch)/C); 0 after a timeout (4.8) and where there is no
    /// maximum to come back to.
    fn begin(&mut self, now: Time, cwnd: f64) {
        if std::mem::take(&mut self.after_timeout) || cwnd >= self.w_max {
            self.w_max = cwnd;
        }
        self.k = libm::cbrt((self.w_max - cwnd) / self.p.cubic_c);
        self.w_est = cwnd;
        self.epoch = Some(now);
    }
}

impl CongestionControl for Cubic {
    type Params = CubicParams;

    fn new(p: &CubicParams) -> Self {
        let alpha_above = match p.reno_friendly.unwrap_or(p.cubic) {
            Form::Rfc => 1.0,
            Form::Linux => alpha(p.cubic_beta),
        };
        Cubic {
            p: p.clone(),
            linux: (p.cubic == Form::Linux).then(|| CubicLinux::new(in_integers(p))),
            alpha_above,
            w_max: 0.0,
            k: 0.0,
            w_est: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            last_ack: Time::ZERO,
            after_timeout: false,
        }
    }

    const SCE: bool = true;

    fn check(p: &CubicParams, ecn: Ecn) -> Result<(), ParamError> {
        match (p.cubic, ecn) {
            (Form::Rfc, _) => Ok(()),
            (Form::Linux, Ecn::Sce) => Err(ParamError::new("cubic", FRACTIONS)),
            (Form::Linux, _) => CubicLinux::check(in_integers(p)),
        }
    }

    fn watches(&self) -> bool {
        self.linux.is_some()
    }

    fn records(&self) -> bool {
        self.linux.is_some()
    }

    fn on_ack(&mut self, a: &Acked, _w: &mut Window) {
        if let Some(linux) = &mut self.linux {
            linux.on_ack(a);
        }
    }

    fn avoid(&mut self, g: &Growth, cwnd: f64) -> f64 {
        if let Some(linux) = &mut self.linux {
            return linux.avoid(g, cwnd);
        }
        if self.epoch.is_none() {
            self.begin(g.now, cwnd);
        }
        self.last_ack = g.now;
        let t = self.epoch.map_or(0.0, |epoch| g.now.since(epoch).as_secs_f64());
        // 4.3, figure 4: what Reno would have, first with alpha_cubic = 3 (1 − β)/(1 + β), then
        // with 1; Linux goes on with the first.
        let alpha =
            if self.w_est < self.cwnd_prior { alpha(self.p.cubic_beta) } else { self.alpha_above };
        self.w_est += alpha * g.acked / cwnd;
        if self.w_cubic(t) < self.w_est {
            return cwnd.max(self.w_est);
        }
        // 4.2, 4.4, 4.5: where the curve stands a round trip ahead.
        let target = self.w_cubic(t + g.srtt()).clamp(cwnd, 1.5 * cwnd);
        cwnd + (target - cwnd) / cwnd * g.acked
    }

    /// The stage's time stands still.
    fn unused(&mut self, g: &Growth, cwnd: f64) -> f64 {
        if let Some(epoch) = &mut self.epoch {
            *epoch += g.now.since(self.last_ack);
        }
        self.last_ack = g.now;
        cwnd
    }

    /// SCE: a window of such ACKs takes √W, and the curve with it. What is left of the way to the
    /// curve's flat part, or behind it, shrinks by n/√W, so that the curve turns flat about here.
    /// The authors' kernel compares n in *bytes* with √W, which makes it flat at the first ACK; here
    /// is what they say that it is for.
    fn on_some_congestion(&mut self, now: Time, acked: f64, w: &mut Window) {
        if let Some(epoch) = self.epoch {
            let (t, root) = (now.since(epoch).as_secs_f64(), libm::sqrt(w.cwnd));
            // At its floor the window stays, and so does the curve: a curve that sank on would hold
            // the window there for seconds after the last mark.
            let before = w.cwnd;
            w.shrink(acked * root / w.cwnd);
            let taken = before - w.cwnd;
            let x = (t - self.k) * (1.0 - (acked / root).min(1.0));
            self.w_max = self.w_cubic(t) - self.p.cubic_c * (x * x * x) - taken;
            // Reno's part may have raised the window without the curve; that does not sink below 0.
            self.w_max = self.w_max.max(0.0);
            self.k = t - x;
            self.w_est -= taken;
        }
        // A window below ssthresh would come back by slow start, which does not raise the curve.
        w.ssthresh = (w.cwnd / 2.0).max(2.0);
    }

    fn cuts_marks_as_losses(&self) -> bool {
        true
    }

    fn leaves(&self, c: &Cut, w: &Window) -> f64 {
        match &self.linux {
            Some(linux) => linux.leaves(w.cwnd, c.abe),
            None => c.abe.map_or(c.base * self.p.cubic_beta, |abe| (c.base * abe).max(2.0)),
        }
    }

    fn before_cut(&mut self, c: &Cut, w: &Window) {
        if let Some(linux) = &mut self.linux {
            return linux.before_cut(c.cause, w.cwnd);
        }
        self.epoch = None;
        if c.cause == Cause::Deeper {
            return; // the first cut of this window has noted its maximum
        }
        // 4.7: a flow that did not get back to its last maximum makes room.
        let lower = self.p.fast_convergence && w.cwnd < self.w_max;
        self.w_max = if lower { w.cwnd * (1.0 + self.p.cubic_beta) / 2.0 } else { w.cwnd };
        self.cwnd_prior = w.cwnd;
        self.after_timeout = c.cause == Cause::Timeout;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::{RttEstimator, RttParams};
    use penstock_units::Duration;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-3, "{got}, should be {want}");
    }

    fn at(seconds: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(seconds)
    }

    fn cubic() -> Cubic {
        Cubic::new(&CubicParams::default())
    }

    /// A cut of a window of `cwnd` segments, and what it leaves.
    fn cut(c: &mut Cubic, cwnd: f64, cause: Cause) -> f64 {
        let cut = Cut { cause, base: cwnd, reno: 0.5, abe: None, floor: 1.0, whole: false };
        let w = Window { cwnd, ssthresh: cwnd };
        c.before_cut(&cut, &w);
        c.leaves(&cut, &w)
    }

    fn grow(c: &mut Cubic, now: Time, rtt: f64, cwnd: f64, acked: f64) -> f64 {
        let p = RttParams::default();
        let mut e = RttEstimator::new(&p, Duration::ZERO);
        e.sample(&p, Time::ZERO, at(rtt));
        c.avoid(&Growth::of(now, acked, &e, &p), cwnd)
    }

    fn unused(c: &mut Cubic, now: Time, cwnd: f64) -> f64 {
        let p = RttParams::default();
        let rtt = RttEstimator::new(&p, Duration::ZERO);
        c.unused(&Growth::of(now, 1.0, &rtt, &p), cwnd)
    }

    /// W_max 100, β 0.7, C 0.4: K = ∛(30/0.4) = 4.217 s; W(0) = 70, W(2) = 100 − 0.4 · 2.217³ =
    /// 95.64, W(K) = 100, W(K + 5) = 100 + 0.4 · 125 = 150.
    #[test]
    fn the_curve_by_hand() {
        let mut c = cubic();
        near(cut(&mut c, 100.0, Cause::Loss), 70.0);
        c.begin(Time::ZERO, 70.0);
        near(c.k, 4.217);
        for (t, want) in [(0.0, 70.0), (2.0, 95.640), (c.k, 100.0), (c.k + 5.0, 150.0)] {
            near(c.w_cubic(t), want);
        }
    }

    /// At t = 2 with an RTT of 0.1 s the target is 100 − 0.4 · 2.117³ = 96.204, from 95: 95 +
    /// 1.204/95. Far below, it is 1.5 cwnd.
    #[test]
    fn steps_towards_the_target() {
        let mut c = cubic();
        cut(&mut c, 100.0, Cause::Loss);
        c.begin(Time::ZERO, 70.0);
        near(grow(&mut c.clone(), at(2.0), 0.1, 95.0, 1.0), 95.0 + 1.204 / 95.0);
        near(grow(&mut c.clone(), at(2.0), 0.1, 95.0, 2.0), 95.0 + 2.0 * 1.204 / 95.0);
        near(grow(&mut c.clone(), at(2.0), 0.1, 99.0, 1.0), 99.0); // never down
        near(grow(&mut c, at(60.0), 0.1, 80.0, 1.0), 80.5);
    }

    /// W_est from 7 with α = 3 · 0.3/1.7 = 0.5294 until it is back at 10, then with 1. The curve's
    /// K is ∛(3/0.4) = 1.957 s.
    #[test]
    fn never_slower_than_reno() {
        let mut c = cubic();
        cut(&mut c, 10.0, Cause::Loss);
        let mut cwnd = 7.0;
        let mut seen = vec![];
        for round in 0..9 {
            cwnd = grow(&mut c, at(0.01 * f64::from(round)), 0.01, cwnd, cwnd);
            seen.push(cwnd);
        }
        near(seen[0], 7.5294);
        near(seen[5], 10.1765);
        near(seen[8], 13.1765);
    }

    /// The window at the start of each round trip, in which one ACK per segment comes, evenly spaced.
    fn rounds(c: &mut Cubic, start: f64, rtt: f64, n: u32) -> Vec<f64> {
        let mut cwnd = start;
        let of_round = |round: u32| {
            let (before, segments) = (cwnd, cwnd as u32);
            for i in 1..=segments {
                let at_s = rtt * (f64::from(round) + f64::from(i) / f64::from(segments));
                cwnd = grow(c, at(at_s), rtt, cwnd, 1.0);
            }
            before
        };
        (0..n).map(of_round).collect()
    }

    /// Below a maximum of 20, 50 ms: Reno's part leads, by 0.53 a round trip up to the maximum and
    /// then by one. `reno_friendly = "linux"` goes on with 0.53. Of a window of 70 below 100, 100
    /// ms, the curve leads.
    #[test]
    fn trajectories_below_and_above_the_maximum() {
        let small = [
            14.0, 14.5, 15.0, 15.5, 16.1, 16.6, 17.1, 17.6, 18.1, 18.6, 19.1, 19.6, 20.3, 21.2,
            22.2, 23.2, 24.1, 25.1, 26.1, 27.1,
        ];
        let large = [70.0, 72.0, 74.0, 75.9, 77.7, 79.4, 81.0, 82.5, 84.0, 85.3, 86.6];
        for (last_max, start, rtt, want) in
            [(20.0, 14.0, 0.05, &small[..]), (100.0, 70.0, 0.1, &large[..])]
        {
            let mut c = cubic();
            cut(&mut c, last_max, Cause::Loss);
            let got = rounds(&mut c, start, rtt, want.len() as u32);
            for (got, want) in got.iter().zip(want) {
                assert!((got - want).abs() < 0.06, "{got}, should be {want}");
            }
        }
        for (reno_friendly, slope) in [(Form::Rfc, 0.97), (Form::Linux, 0.53)] {
            let reno_friendly = Some(reno_friendly);
            let mut c = Cubic::new(&CubicParams { reno_friendly, ..CubicParams::default() });
            cut(&mut c, 20.0, Cause::Loss);
            let got = rounds(&mut c, 14.0, 0.05, 41);
            let got = (got[40] - got[30]) / 10.0;
            assert!((got - slope).abs() < 0.04, "{got}, should be {slope}");
        }
    }

    /// 4.7: a maximum of 80 below the last one, 100, becomes 80 · 1.7/2 = 68.
    #[test]
    fn fast_convergence_aims_lower() {
        for (fast_convergence, want) in [(true, 68.0), (false, 80.0)] {
            let mut c = Cubic::new(&CubicParams { fast_convergence, ..CubicParams::default() });
            cut(&mut c, 100.0, Cause::Loss);
            cut(&mut c, 80.0, Cause::Loss);
            near(c.w_max, want);
            near(c.cwnd_prior, 80.0);
        }
    }

    /// 4.8: the first stage after a timeout starts on the convex side, from its own window.
    #[test]
    fn after_a_timeout_k_is_zero() {
        let mut c = cubic();
        cut(&mut c, 100.0, Cause::Timeout);
        c.begin(Time::ZERO, 70.0);
        assert_eq!((c.k, c.w_max), (0.0, 70.0));
    }

    /// SCE, a window of 100 half way below K: an ACK of two takes 2 · √100/100 = 0.2. A fifth of the
    /// way to K is left out, and the curve goes through the window. Behind K it is the same way back.
    #[test]
    fn some_congestion_flattens_the_curve() {
        for (t, way) in [(2.0, -2.0), (6.0, 2.0)] {
            let mut c = Cubic { w_max: 100.0, k: 4.0, epoch: Some(at(0.0)), ..cubic() };
            let (before, mut w) = (c.w_cubic(t), Window { cwnd: 100.0, ssthresh: 50.0 });
            c.on_some_congestion(at(t), 2.0, &mut w);
            near(w.cwnd, 99.8);
            near(t - c.k, way * 0.8);
            near(c.w_cubic(t), before - 0.2);
            c.on_some_congestion(at(t), 20.0, &mut w);
            near(c.k, t); // more than √W segments: flat at once
        }
    }

    #[test]
    fn some_congestion_leaves_the_curve_of_a_window_at_its_floor() {
        let mut c = Cubic { w_max: 2.0, w_est: 2.0, k: 0.0, epoch: Some(at(0.0)), ..cubic() };
        let mut w = Window { cwnd: 2.0, ssthresh: 2.0 };
        for _ in 0..100 {
            c.on_some_congestion(at(0.0), 1.0, &mut w);
        }
        assert_eq!((w.cwnd, c.w_max, c.w_est), (2.0, 2.0, 2.0));
    }

    /// After a cut the window is at ssthresh. What SCE takes from there does not come back by slow
    /// start, and a thousand such ACKs under Reno's part leave the curve at 0.
    #[test]
    fn some_congestion_does_not_push_the_curve_away() {
        let mut c = cubic();
        let left = cut(&mut c, 10.0, Cause::Mark);
        let mut w = Window { cwnd: left, ssthresh: left };
        for round in 0..1000 {
            let now = at(0.05 * f64::from(round));
            w.cwnd = grow(&mut c, now, 0.05, w.cwnd, 10.0);
            c.on_some_congestion(now, 1.0, &mut w);
            assert!(w.cwnd > w.ssthresh);
        }
        assert!(c.w_max >= 0.0);
    }

    #[test]
    fn time_without_use_does_not_count() {
        let mut c = cubic();
        cut(&mut c, 100.0, Cause::Loss);
        grow(&mut c, at(0.0), 0.1, 70.0, 1.0);
        assert_eq!(unused(&mut c, at(50.0), 70.0), 70.0);
        let used = grow(&mut c, at(52.0), 0.1, 95.0, 1.0);
        near(used, 95.0 + 1.204 / 95.0); // as at t = 2
    }

    /// Multi-level ECN, `escalate`: the second cut of a window aims at the maximum that the first
    /// one noted, from where it left the window.
    #[test]
    fn a_deeper_cut_keeps_the_maximum() {
        let mut c = cubic();
        cut(&mut c, 100.0, Cause::Mark);
        grow(&mut c, at(0.0), 0.1, 80.0, 1.0);
        cut(&mut c, 80.0, Cause::Deeper);
        grow(&mut c, at(1.0), 0.1, 70.0, 1.0);
        assert_eq!((c.w_max, c.epoch), (100.0, Some(at(1.0))));
    }
}
