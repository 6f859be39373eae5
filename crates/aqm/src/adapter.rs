//! Adapters: what retunes the profile, and when.

use crate::profile::Ramp;
use penstock_units::{Duration, Time};

/// ARED: S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: an algorithm for increasing the robustness of RED's active
/// queue management", 2001, Fig. 2. Additive increase, multiplicative decrease of `max_p`, so that `avg` settles
/// in the middle of the thresholds.
#[derive(Clone, Debug)]
pub struct Floyd {
    /// Between two adaptations.
    pub interval: Duration,
    /// Largest increment.
    pub alpha: f64,
    /// Factor of a decrease.
    pub beta: f64,
    /// Target range, as fractions of the way from `min_th` to `max_th`.
    pub target: (f64, f64),
    /// No decrease below the first, no increase above the second.
    pub bounds: (f64, f64),
    /// Adapt at arrivals, the clock restarting only on a change, instead of on a timer (ns-2).
    pub at_arrivals: bool,
    /// Timer: when due next. Arrivals: the last change.
    clock: Time,
}

impl Floyd {
    /// An adapter whose first interval starts at time zero.
    pub fn new(
        interval: Duration,
        (alpha, beta): (f64, f64),
        target: (f64, f64),
        bounds: (f64, f64),
        at_arrivals: bool,
    ) -> Self {
        let clock = if at_arrivals { Time::ZERO } else { Time::ZERO + interval };
        Floyd { interval, alpha, beta, target, bounds, at_arrivals, clock }
    }

    /// One adaptation; whether it changed anything.
    fn adapt(&self, avg: f64, r: &mut Ramp) -> bool {
        let part = |f: f64| r.min_th + f * (r.max_th - r.min_th);
        let (low, high) = self.bounds;
        // The paper's Fig. 2 tests max_p <= 0.5 and max_p >= 0.01; ns-2's tests are strict, which differs only at equality.
        if avg > part(self.target.1) && r.max_p <= high && (!self.at_arrivals || r.max_p < high) {
            // A probability, even where max_p_high is 1.
            r.max_p = (r.max_p + self.alpha.min(r.max_p / 4.0)).min(1.0);
            true
        } else if avg < part(self.target.0) && r.max_p >= low && (!self.at_arrivals || r.max_p > low) {
            r.max_p *= self.beta;
            true
        } else {
            false
        }
    }

    /// A packet arrived and the average is now `avg`.
    #[inline]
    pub fn arrived(&mut self, now: Time, avg: f64, r: &mut Ramp) {
        if self.at_arrivals && now > self.clock + self.interval && self.adapt(avg, r) {
            self.clock = now;
        }
    }

    /// When [`Floyd::tick`] is due.
    #[inline]
    pub fn next_tick(&self) -> Option<Time> {
        (!self.at_arrivals).then_some(self.clock)
    }

    /// The interval is over.
    pub fn tick(&mut self, avg: f64, r: &mut Ramp) {
        self.clock += self.interval;
        let _ = self.adapt(avg, r);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floyd(at_arrivals: bool) -> Floyd {
        Floyd::new(Duration::from_millis(500), (0.01, 0.9), (0.4, 0.6), (0.01, 0.5), at_arrivals)
    }

    /// From max_p 0.01 with avg pinned above the target: α = 0.0025 first (max_p/4), 0.01 from max_p ≥ 0.04.
    #[test]
    fn increments_by_hand() {
        let mut r = Ramp { min_th: 5.0, max_th: 15.0, max_p: 0.01 };
        let mut a = floyd(false);
        let mut steps = vec![];
        for _ in 0..100 {
            let before = r.max_p;
            a.tick(12.0, &mut r);
            steps.push((before, r.max_p - before));
        }
        assert!((steps[0].1 - 0.0025).abs() < 1e-12);
        for (from, step) in steps {
            let want = if from > 0.5 { 0.0 } else { f64::min(0.01, from / 4.0) };
            assert!((step - want).abs() < 1e-12, "from {from}: {step}");
        }
        assert!(r.max_p > 0.5 && r.max_p <= 0.51);
    }

    #[test]
    fn decrease_and_dead_band() {
        let mut r = Ramp { min_th: 5.0, max_th: 15.0, max_p: 0.1 };
        let mut a = floyd(false);
        a.tick(8.99, &mut r); // target range 9..11
        assert!((r.max_p - 0.09).abs() < 1e-12);
        a.tick(9.0, &mut r);
        a.tick(11.0, &mut r);
        assert!((r.max_p - 0.09).abs() < 1e-12);
        for _ in 0..100 {
            a.tick(0.0, &mut r);
        }
        assert!(r.max_p < 0.01 && r.max_p >= 0.009);
    }

    #[test]
    fn at_arrivals_the_clock_restarts_only_on_a_change() {
        let mut r = Ramp { min_th: 5.0, max_th: 15.0, max_p: 0.1 };
        let mut a = floyd(true);
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        a.arrived(ms(500), 12.0, &mut r);
        assert_eq!(r.max_p, 0.1, "the interval is not over at its end exactly");
        a.arrived(ms(600), 10.0, &mut r); // in the target range: no change, no restart
        a.arrived(ms(601), 12.0, &mut r);
        assert!((r.max_p - 0.11).abs() < 1e-12);
        a.arrived(ms(1100), 12.0, &mut r);
        assert!((r.max_p - 0.11).abs() < 1e-12);
        a.arrived(ms(1102), 12.0, &mut r);
        assert!((r.max_p - 0.12).abs() < 1e-12);
    }
}
