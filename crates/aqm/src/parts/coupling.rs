//! The base probability p' of PI2 and DualPI2, and what it comes to for the two sorts of traffic.
//! K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe, "PI2: a linearized AQM for both classic and
//! scalable TCP", CoNEXT 2016; RFC 9332, section 2.1 and appendix A.
//!
//! A window under Classic congestion control goes with 1/√p, under Scalable control with 1/p. So
//! `p_C = p'²` for Classic and `p_CL = k·p'` for Scalable packets: p' is linear for both, and k
//! balances their rates.

use crate::context::at_least_a_microsecond;
use penstock_units::param::ParamError;
use penstock_units::{words, Duration, Ecn, Time};

words! {
    /// Which packets are Scalable.
    pub enum Identify {
        /// ECT(1) and CE.
        L4s = "l4s",
        /// All that are ECN-capable.
        AnyEct = "any-ect",
    }
}

impl Identify {
    /// Returns whether a packet with this field is Scalable.
    #[inline(always)]
    pub fn scalable(self, ecn: Ecn) -> bool {
        match ecn {
            Ecn::Ect1 | Ecn::Ce => true,
            Ecn::Ect0 => self == Identify::AnyEct,
            Ecn::NotEct => false,
        }
    }
}

/// Gains in Linux's whole numbers: p' in 2⁻³², delays in nanoseconds, 2⁻²⁶ of p' for each.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    alpha: i128,
    beta: i128,
}

/// The controller: p', and when it is renewed.
#[derive(Clone, Debug)]
pub struct Base {
    target: Duration,
    t_update: Duration,
    /// Per second of delay.
    alpha: f64,
    beta: f64,
    fixed: Option<Fixed>,
    /// At most this.
    most: f64,
    k: f64,
    p: f64,
    prev: Duration,
    next: Time,
}

/// 1 as Linux has it.
const MAX: i128 = u32::MAX as i128;

/// A gain as Linux has it: from whole 1/256ths to 2⁻²⁶ of p' for a nanosecond, rounded down twice.
fn fixed(gain: f64) -> i128 {
    let told = (gain * 256.0).round() as i128;
    ((told * MAX) >> 2) / 1_000_000_000
}

impl Base {
    /// A controller that has seen nothing. `alpha` and `beta` are per second of delay, with
    /// `in_fixed` rounded as Linux does; p' stays within `most`.
    ///
    /// # Errors
    /// If the period is too short.
    pub fn new(
        (target, t_update): (Duration, Duration),
        (alpha, beta): (f64, f64),
        k: f64,
        most: f64,
        in_fixed: bool,
    ) -> Result<Self, ParamError> {
        at_least_a_microsecond("t_update", t_update)?;
        let fixed = in_fixed.then(|| Fixed { alpha: fixed(alpha), beta: fixed(beta) });
        Ok(Base {
            target,
            t_update,
            alpha,
            beta,
            fixed,
            most,
            k,
            p: 0.0,
            prev: Duration::ZERO,
            next: Time::ZERO + t_update,
        })
    }

    /// The queue's delay is `q`:  p' <- p' + α (q − target) + β (q − prev),  within [0, most].
    pub fn update(&mut self, q: Duration) {
        let p = match self.fixed {
            None => {
                let [q, target, prev] = [q, self.target, self.prev].map(Duration::as_secs_f64);
                self.p + self.alpha * (q - target) + self.beta * (q - prev)
            }
            Some(Fixed { alpha, beta }) => {
                let [q, target, prev] =
                    [q, self.target, self.prev].map(|d| i128::from(d.as_nanos()));
                let delta = (q - target) * alpha + (q - prev) * beta;
                // Towards zero, in both directions.
                let p = (self.p * TWO_32) as i128 + delta / 64;
                p.clamp(0, MAX) as f64 / TWO_32
            }
        };
        self.p = p.clamp(0.0, self.most);
        self.prev = q;
    }

    /// [`Base::update`] at the time that [`Base::next`] named.
    pub fn tick(&mut self, now: Time, q: Duration) {
        self.update(q);
        self.next = now + self.t_update;
    }

    /// Returns when p' is renewed next.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Returns p'.
    #[inline(always)]
    pub fn p(&self) -> f64 {
        self.p
    }

    /// Returns `p_C = p'²`.
    #[inline(always)]
    pub fn p_c(&self) -> f64 {
        self.p * self.p
    }

    /// Returns `p_CL = k·p'`, at most 1.
    #[inline(always)]
    pub fn p_cl(&self) -> f64 {
        (self.k * self.p).min(1.0)
    }

    /// Returns `k·p'`, which tells overload.
    #[inline(always)]
    pub fn coupled(&self) -> f64 {
        self.k * self.p
    }

    /// Begins at `now`, not at time zero.
    pub fn begin(&mut self, now: Time) {
        self.next += now.since(Time::ZERO);
    }

    /// Goes on from another.
    pub fn go_on(&mut self, before: &Base) {
        self.p = before.p.min(self.most);
        self.prev = before.prev;
        self.next = before.next;
    }

    /// Publishes what its keys come to (see [`crate::Aqm::settled`]); times in seconds.
    pub fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("target", self.target.as_secs_f64());
        out("t_update", self.t_update.as_secs_f64());
        out("alpha", self.alpha);
        out("beta", self.beta);
        out("fixed_point", f64::from(u8::from(self.fixed.is_some())));
    }

    /// Sets p', for tests.
    #[cfg(test)]
    pub fn set(&mut self, p: f64) {
        self.p = p;
    }
}

const TWO_32: f64 = 4_294_967_296.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn base(in_fixed: bool) -> Base {
        Base::new((ms(15), ms(16)), (0.16, 3.2), 2.0, 1.0, in_fixed).unwrap()
    }

    /// One update from p' and the delay before to the delay now, in ms. In fixed point α = ⌊⌊41 MAX
    /// / 4⌋ / 10⁹⌋ = 44 and β = 879 of 2⁻²⁶ for a nanosecond. The first row: 20e6·44 + 35e6·879 =
    /// 31 645e6, over 64 is 494 453 125 of 2³².
    #[test]
    fn base_probability_by_hand() {
        assert_eq!((fixed(0.16), fixed(3.2)), (44, 879));
        for (p, before, now, in_fixed, in_float) in [
            (0.0, 0, 35, 0.115124, 0.16 * 0.020 + 3.2 * 0.035),
            (0.0, 0, 10, 0.031177, 3.2 * 0.010 - 0.16 * 0.005),
            (0.1, 20, 25, 0.117590, 0.1 + 0.16 * 0.010 + 3.2 * 0.005),
            (0.1, 25, 15, 0.068022, 0.1 - 3.2 * 0.010),
            (0.5, 15, 0, 0.449632, 0.5 - 0.16 * 0.015 - 3.2 * 0.015),
            (0.01, 0, 0, 0.0076, 0.01 - 0.16 * 0.015),
            (0.001, 0, 0, 0.0, 0.0), // 0.001 − 0.0024
            (0.9, 0, 500, 1.0, 1.0), // 0.9 + 1.6…
        ] {
            for (fixed, want, near) in [(true, in_fixed, 6e-7), (false, in_float, 1e-12)] {
                // The row's 0.0076 is rounded: 15e6·44/64 of 2³² is 0.002401.
                let near = if fixed && want == 0.0076 { 2e-6 } else { near };
                let mut x = base(fixed);
                (x.p, x.prev) = (p, ms(before));
                x.update(ms(now));
                assert!((x.p - want).abs() < near, "{p}, {before} to {now} ms, {fixed}: {}", x.p);
                assert_eq!(x.prev, ms(now));
            }
        }
        let mut x = base(true);
        x.update(ms(35));
        assert_eq!(x.p * TWO_32, 494_453_125.0);
    }

    /// A delay that stays at 35 ms: + 0.16·0.020 = 0.0032 at each update after the first.
    #[test]
    fn a_delay_that_stays_adds_the_integral_alone() {
        let (mut float, mut fixed) = (base(false), base(true));
        for want in [0.115124, 0.118325, 0.121527, 0.124728, 0.127930] {
            float.update(ms(35));
            fixed.update(ms(35));
            assert!((fixed.p - want).abs() < 6e-7, "{} {want}", fixed.p);
            assert!((float.p - want).abs() < 2e-4, "{} {want}", float.p);
        }
    }

    #[test]
    fn coupling_by_hand() {
        let mut x = base(false);
        for (p, p_c, p_cl, coupled) in [
            (0.125, 0.015625, 0.25, 0.25),
            (0.25, 0.0625, 0.5, 0.5),
            (0.5, 0.25, 1.0, 1.0),
            (0.75, 0.5625, 1.0, 1.5),
        ] {
            x.p = p;
            assert_eq!((x.p_c(), x.p_cl(), x.coupled()), (p_c, p_cl, coupled));
        }
        for (p, p_c, p_cl) in [(0.01, 1e-4, 0.02), (0.1, 0.01, 0.2)] {
            x.p = p;
            assert!((x.p_c() - p_c).abs() < 1e-15 && (x.p_cl() - p_cl).abs() < 1e-15);
        }
    }

    #[test]
    fn scalable_is_told_from_classic() {
        for (ecn, l4s, any) in [
            (Ecn::NotEct, false, false),
            (Ecn::Ect0, false, true),
            (Ecn::Ect1, true, true),
            (Ecn::Ce, true, true),
        ] {
            assert_eq!(Identify::L4s.scalable(ecn), l4s, "{ecn:?}");
            assert_eq!(Identify::AnyEct.scalable(ecn), any, "{ecn:?}");
        }
    }
}
