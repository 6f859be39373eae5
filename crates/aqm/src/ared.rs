//! ARED: S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: an algorithm for increasing the
//! robustness of RED's active queue management", 2001. Fig. 2: additive increase, multiplicative
//! decrease of `max_p` every interval, so that `avg` settles in the middle of the thresholds.

use crate::adapter::{Adapter, Clock};
use crate::profile::Ramp;
use crate::red::{RedFamily, PARAMS, RAMP, STATE, THRESHOLDS};
use crate::registry::{at_least_a_microsecond, num_or_default};
use crate::{Context, Discipline, Kind};
use penstock_units::param::{num, num_open, Param, ParamError, Ty, Values, PARAM};
use penstock_units::Time;

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "ared",
    doc: "Adaptive RED: RED whose max_p follows the average into a target range.",
    source: "Floyd, Gummadi, Shenker 2001",
    equations: "RED, gentle, and every interval:\n\
        avg > min_th + 0.6·(max_th − min_th) and max_p ≤ 0.5:   max_p ← max_p + min(0.01, max_p/4)\n\
        avg < min_th + 0.4·(max_th − min_th) and max_p ≥ 0.01:  max_p ← 0.9·max_p",
    expect:
        "Whatever the load, the average comes back into the middle fifth of the thresholds: the delay is \
        known in advance, and only target_delay is left to choose. That takes time: from max_p 0.01 to 0.5 \
        some 25 s, back down some 20 s. Until then it is RED with the old max_p.",
    weaknesses:
        "It does not help against a sudden change, only after it. The instantaneous queue still oscillates \
        around the average as RED's does. With few flows max_p stands at 0.01 and the average lies below the \
        target; with very many it stands at 0.5 and the gentle part takes over. Where every flow is short, \
        max_p never arrives.",
    params: &[PARAMS, THRESHOLDS, RAMP, CLOCK, TARGET, STEPS],
    state: STATE,
    defaults: &[],
    ns2: &[],
    build: |v, cx| {
        let family = RedFamily::new(v, cx, STATE)?;
        Ok(Discipline::Red(family.with_adapter(Adapter::Floyd(Floyd::from_values(v, cx)?))))
    },
};

/// When it adapts; shared by adapters with a clock.
pub(crate) const CLOCK: &[Param] = &[
    Param {
        name: "interval",
        ty: Ty::Duration,
        default: Some("\"0.5 s\""),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2; AMECN paper, Fig. 3",
        doc: "Time between two adaptations.",
        ..PARAM
    },
    Param {
        name: "adapt_on",
        ty: Ty::Word(&["interval", "arrival"]),
        default: Some("\"interval\""),
        ns2: Some("\"arrival\""),
        source: "Floyd, Gummadi, Shenker 2001: every interval; ns-2: at arrivals",
        doc: "A timer, or the first arrival after the interval.",
        ..PARAM
    },
];

/// Its target range.
pub(crate) const TARGET: &[Param] = &[
    Param {
        name: "target_low",
        ty: num(0.0, 1.0),
        unit: "1",
        default: Some("0.4"),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        doc: "Lower end of the target range, as a fraction of the way from min_th to max_th.",
        ..PARAM
    },
    Param {
        name: "target_high",
        ty: num(0.0, 1.0),
        unit: "1",
        default: Some("0.6"),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        doc: "Upper end of the target range, likewise.",
        ..PARAM
    },
];

/// Its steps and bounds, whose names other adapters use as well.
pub(crate) const STEPS: &[Param] = &[
    Param {
        name: "alpha",
        ty: num(0.0, 1.0),
        unit: "1",
        default: Some("0.01"),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2: min(0.01, max_p/4)",
        doc: "Largest increment of max_p; never more than max_p/4.",
        ..PARAM
    },
    Param {
        name: "beta",
        ty: num_open(0.0, 1.0),
        unit: "1",
        default: Some("0.9"),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        doc: "Factor of a decrease of max_p.",
        ..PARAM
    },
    Param {
        name: "max_p_low",
        ty: Ty::NumOr(&num(0.0, 1.0), &["rate"]),
        unit: "1",
        default: Some("0.01"),
        ns2: Some("\"rate\""),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2; ns-2: bottom_",
        doc: "max_p is not decreased from below this; \"rate\": min(0.01, 80 kbit/s ÷ the link's rate).",
        ..PARAM
    },
    Param {
        name: "max_p_high",
        ty: num_open(0.0, 1.0),
        unit: "1",
        default: Some("0.5"),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        doc: "max_p is not increased from above this.",
        ..PARAM
    },
];

/// The clock that `interval` and `adapt_on` ask for.
pub(crate) fn clock(v: &Values) -> Result<Clock, ParamError> {
    let interval = v.duration("interval");
    at_least_a_microsecond("interval", interval)?;
    Ok(Clock::new(interval, v.is("adapt_on", "arrival")))
}

/// Floyd's adapter.
#[derive(Clone, Debug)]
pub struct Floyd {
    /// Largest increment.
    pub alpha: f64,
    /// Factor of a decrease.
    pub beta: f64,
    /// Target range, as fractions of the way from `min_th` to `max_th`.
    pub target: (f64, f64),
    /// No decrease below the first, no increase above the second.
    pub bounds: (f64, f64),
    /// At arrivals it restarts only on a change, as in ns-2.
    pub(crate) clock: Clock,
}

impl Floyd {
    pub(crate) fn from_values(v: &Values, cx: &Context) -> Result<Self, ParamError> {
        let num = |name| num_or_default(v, STEPS, name);
        let by_rate = v.is("max_p_low", "rate");
        let low =
            if by_rate { f64::min(0.01, 80e3 / cx.rate.as_bps() as f64) } else { num("max_p_low") };
        let (target_low, target_high) = (v.num("target_low"), v.num("target_high"));
        if target_low > target_high {
            return Err(ParamError::new(
                "target_low",
                format!("must not be above target_high ({target_high})"),
            ));
        }
        let high = num("max_p_high");
        if low > high {
            return Err(ParamError::new(
                "max_p_low",
                format!("must not be above max_p_high ({high})"),
            ));
        }
        Ok(Floyd {
            alpha: num("alpha"),
            beta: num("beta"),
            target: (target_low, target_high),
            bounds: (low, high),
            clock: clock(v)?,
        })
    }

    /// One adaptation; whether it changed anything.
    fn adapt(&self, avg: f64, r: &mut Ramp) -> bool {
        let part = |f: f64| r.min_th + f * (r.max_th - r.min_th);
        let (low, high) = self.bounds;
        let strict = self.clock.at_arrivals();
        // The paper's Fig. 2 tests max_p <= 0.5 and max_p >= 0.01; ns-2's tests are strict, which
        // differs only at equality.
        if avg > part(self.target.1) && r.max_p <= high && (!strict || r.max_p < high) {
            // A probability, even where max_p_high is 1.
            r.max_p = (r.max_p + self.alpha.min(r.max_p / 4.0)).min(1.0);
            true
        } else if avg < part(self.target.0) && r.max_p >= low && (!strict || r.max_p > low) {
            r.max_p *= self.beta;
            true
        } else {
            false
        }
    }

    /// A packet arrived and the average is now `avg`.
    #[inline]
    pub fn arrived(&mut self, now: Time, avg: f64, r: &mut Ramp) {
        if self.clock.over(now) && self.adapt(avg, r) {
            self.clock.restart(now);
        }
    }

    /// The interval is over.
    pub fn tick(&mut self, avg: f64, r: &mut Ramp) {
        self.clock.ticked();
        let _ = self.adapt(avg, r);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::red::tests::{build, RAMP5_15};
    use penstock_units::Duration;

    fn floyd(at_arrivals: bool) -> Floyd {
        Floyd {
            alpha: 0.01,
            beta: 0.9,
            target: (0.4, 0.6),
            bounds: (0.01, 0.5),
            clock: Clock::new(Duration::from_millis(500), at_arrivals),
        }
    }

    /// From max_p 0.01 with avg pinned above the target: α = 0.0025 first (max_p/4), 0.01 from
    /// max_p ≥ 0.04.
    #[test]
    fn increments_by_hand() {
        let mut r = Ramp { max_p: 0.01, ..RAMP5_15 };
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
        let mut r = RAMP5_15;
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
        let mut r = RAMP5_15;
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

    #[test]
    fn lowest_max_p_under_ns2_follows_the_rate() {
        let ared = build(&KIND, &[("max_p_low", "\"rate\"")]).unwrap();
        let Adapter::Floyd(f) = &ared.adapter else { unreachable!() };
        assert!((f.bounds.0 - 0.008).abs() < 1e-12); // 80 kbit/s / 10 Mbit/s
    }
}
