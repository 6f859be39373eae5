//! ARED: S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: an algorithm for increasing the
//! robustness of RED's active queue management", 2001. Fig. 2: additive increase, multiplicative
//! decrease of `max_p` every interval, so that `avg` settles in the middle of the thresholds.

use crate::context::{Common, Context};
use crate::family::params::{Base, Ceiling, Setting, Thresholds};
use crate::kind::{own_tables, states, Column, Kind};
use crate::parts::adapter::{Adapter, Clock, ClockParams};
use crate::parts::compose::Composed;
use crate::parts::profile::{Arrival, Ramp, Straight};
use penstock_units::param::{num, num_open, ParamError};
use penstock_units::{group, params, words, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "ared",
    doc: "Adaptive RED: RED whose max_p follows the average into a target range.",
    source: "Floyd, Gummadi, Shenker 2001",
    equations: "RED, gentle, and every interval:\n\
        avg > min_th + 0.6·(max_th − min_th) and max_p ≤ 0.5:   max_p ← max_p + min(0.01, max_p/4)\n\
        avg < min_th + 0.4·(max_th − min_th) and max_p ≥ 0.01:  max_p ← 0.9·max_p",
    expect: "Whatever the load, the average comes back into the middle fifth of the thresholds: \
        the delay is known in advance, and only target_delay is left to choose. Getting there \
        takes time: from max_p 0.01 to 0.5 some 25 s, back down some 20 s. Until then it is RED \
        with the old max_p.",
    weaknesses: "It does not help during a sudden change, only after it. The instantaneous queue \
        still oscillates around the average as RED's does. With few flows max_p stands at 0.01 \
        and the average lies below the target; with very many it stands at 0.5 and the gentle \
        part takes over. Where every flow is short, max_p never arrives.",
    params: own_tables::<AredParams>(),
    state: &states(COLUMNS),
    defaults: AredParams::DEFAULTS,
    ns2: AredParams::NS2,
};

group! {
    /// What the user of ARED sets.
    pub struct AredParams {
        /// What the whole family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// The ramp's ceiling.
        pub ceiling: Ceiling,
        /// When it adapts.
        pub clock: ClockParams,
        /// Its target range.
        pub target: Target,
        /// Its steps and bounds.
        pub steps: Steps,
        /// What every kind takes.
        pub common: Common,
    }
}

words! {
    /// A bound below which max_p is not decreased.
    pub enum Lowest or num(0.0, 1.0) {
        /// 80 kbit/s over the link's rate, at most 0.01 (ns-2).
        Rate = "rate",
    }
}

params! {
    /// Its target range.
    pub struct Target: Default {
        /// Lower end of the target range, as a fraction of the way from min_th to max_th.
        pub target_low: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.4,
            source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        },
        /// Upper end of the target range, likewise.
        pub target_high: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.6,
            source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        },
    }
}

params! {
    /// Its steps and bounds, whose names other adapters use as well.
    pub struct Steps: Default {
        /// Largest increment of max_p; never more than max_p/4.
        pub alpha: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.01,
            source: "Floyd, Gummadi, Shenker 2001, Fig. 2: min(0.01, max_p/4)",
        },
        /// Factor of a decrease of max_p.
        pub beta: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.9,
            source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        },
        /// max_p is not decreased from below this; "rate": min(0.01, 80 kbit/s ÷ the link's rate).
        pub max_p_low: Lowest {
            unit: "1",
            default: 0.01,
            ns2: "rate",
            source: "Floyd, Gummadi, Shenker 2001, Fig. 2; ns-2: bottom_",
        },
        /// max_p is not increased from above this.
        pub max_p_high: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.5,
            source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        },
    }
}

/// ARED: RED with an adapter.
pub type Ared = Composed<Straight, Floyd>;

const COLUMNS: &[Column<Ared>; 3] = &[Ared::AVG, Ared::MAX_P, Ared::P_B];

impl Ared {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &AredParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let ramp = p.thresholds.ramp(&setting, p.ceiling.max_p)?;
        let adapter = Floyd::new(&p.target, &p.steps, &p.clock, cx)?;
        Ok(p.base.compose(&setting, ramp, p.ceiling.profile(), adapter, COLUMNS))
    }
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
    /// `max_p` does not decrease below the first, nor increase above the second.
    pub bounds: (f64, f64),
    /// At arrivals it restarts only on a change, as in ns-2.
    pub(crate) clock: Clock,
}

impl Floyd {
    /// An adapter for a link.
    ///
    /// # Errors
    /// If the bounds are not in order.
    pub fn new(
        target: &Target,
        steps: &Steps,
        clock: &ClockParams,
        cx: &Context,
    ) -> Result<Self, ParamError> {
        let low = match steps.max_p_low {
            Lowest::Number(low) => low,
            Lowest::Rate => f64::min(0.01, 80e3 / cx.rate.as_bps() as f64),
        };
        let (target_low, target_high) = (target.target_low, target.target_high);
        if target_low > target_high {
            let problem = format!("must not be above target_high ({target_high})");
            return Err(ParamError::new("target_low", problem));
        }
        let high = steps.max_p_high;
        if low > high {
            let problem = format!("must not be above max_p_high ({high})");
            return Err(ParamError::new("max_p_low", problem));
        }
        Ok(Floyd {
            alpha: steps.alpha,
            beta: steps.beta,
            target: (target_low, target_high),
            bounds: (low, high),
            clock: Clock::new(clock)?,
        })
    }

    /// Adapts once. Returns whether that changed anything.
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
}

impl<P> Adapter<P> for Floyd {
    #[inline]
    fn arrived(&mut self, a: &Arrival, r: &mut Ramp, _: &mut P) {
        if self.clock.over(a.now) && self.adapt(a.avg, r) {
            self.clock.restart(a.now);
        }
    }

    #[inline]
    fn next_tick(&self) -> Option<Time> {
        self.clock.next_tick()
    }

    fn start(&mut self, now: Time) {
        self.clock.start(now);
    }

    fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("max_p_low", self.bounds.0);
    }

    fn tick(&mut self, avg: f64, _: f64, r: &mut Ramp, _: &mut P) {
        self.clock.ticked();
        let _ = self.adapt(avg, r);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::adapter::AdaptOn;
    use crate::parts::profile::tests::RAMP5_15;
    use crate::testing::{context, params, PKT};
    use penstock_units::Duration;

    fn build(set: &[(&'static str, &'static str)]) -> Result<Ared, ParamError> {
        Ared::new(&params(&KIND, set), &context())
    }

    fn floyd(at_arrivals: bool) -> Floyd {
        Floyd {
            alpha: 0.01,
            beta: 0.9,
            target: (0.4, 0.6),
            bounds: (0.01, 0.5),
            clock: Clock::new(&ClockParams {
                interval: Duration::from_millis(500),
                adapt_on: if at_arrivals { AdaptOn::Arrival } else { AdaptOn::Interval },
            })
            .unwrap(),
        }
    }

    fn arrived(a: &mut Floyd, now: Time, avg: f64, r: &mut Ramp) {
        a.arrived(&Arrival { now, avg, q: 0.0, pkt: &PKT }, r, &mut ());
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
            a.tick(12.0, 0.0, &mut r, &mut ());
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
        a.tick(8.99, 0.0, &mut r, &mut ()); // target range 9..11
        assert!((r.max_p - 0.09).abs() < 1e-12);
        a.tick(9.0, 0.0, &mut r, &mut ());
        a.tick(11.0, 0.0, &mut r, &mut ());
        assert!((r.max_p - 0.09).abs() < 1e-12);
        for _ in 0..100 {
            a.tick(0.0, 0.0, &mut r, &mut ());
        }
        assert!(r.max_p < 0.01 && r.max_p >= 0.009);
    }

    #[test]
    fn at_arrivals_the_clock_restarts_only_on_a_change() {
        let mut r = RAMP5_15;
        let mut a = floyd(true);
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        arrived(&mut a, ms(500), 12.0, &mut r);
        assert_eq!(r.max_p, 0.1, "the interval is not over at its end exactly");
        arrived(&mut a, ms(600), 10.0, &mut r); // in the target range: no change, no restart
        arrived(&mut a, ms(601), 12.0, &mut r);
        assert!((r.max_p - 0.11).abs() < 1e-12);
        arrived(&mut a, ms(1100), 12.0, &mut r);
        assert!((r.max_p - 0.11).abs() < 1e-12);
        arrived(&mut a, ms(1102), 12.0, &mut r);
        assert!((r.max_p - 0.12).abs() < 1e-12);
    }

    #[test]
    fn lowest_max_p_under_ns2_follows_the_rate() {
        let ared = build(&[("max_p_low", "\"rate\"")]).unwrap();
        assert!((ared.adapter.bounds.0 - 0.008).abs() < 1e-12); // 80 kbit/s / 10 Mbit/s
    }
}
