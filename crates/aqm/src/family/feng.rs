//! ARED as first proposed: W. Feng, D. Kandlur, D. Saha, K. Shin, "A self-configuring RED gateway",
//! INFOCOM 1999, Fig. 3. `max_p` is divided when the average falls below `min_th` and multiplied
//! when it rises above `max_th`, once at each crossing.

use crate::context::{Common, Context};
use crate::family::params::{Base, Ceiling, Setting, Thresholds};
use crate::kind::{own_tables, states, Column, Kind};
use crate::parts::adapter::{Adapter, Status};
use crate::parts::compose::Composed;
use crate::parts::profile::{Arrival, Ramp, Straight};
use penstock_units::param::{num, ParamError};
use penstock_units::{group, params, words};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "feng-ared",
    doc: "Self-configuring RED: max_p is divided or multiplied when the average crosses a \
        threshold.",
    source: "Feng, Kandlur, Saha, Shin 1999",
    equations: "RED, and where the average crosses a threshold:\n\
        avg falls below min_th:  max_p ← max_p/3\n\
        avg rises above max_th:  max_p ← 2·max_p\n\
        between:                 max_p stays",
    expect: "The first self-configuring RED: when the average leaves the thresholds, max_p \
        changes by a large factor, once at each crossing. It keeps the average between the \
        thresholds rather than at a point, and finds a new order of magnitude of max_p within a \
        few crossings.",
    weaknesses: "The steps are coarse: the average swings from one threshold to the other, and \
        each swing costs delay or utilisation. While it stays above max_th nothing more happens. \
        Neither the paper nor ns-2 bounds max_p; here it stays in [0.0001, 1] (a reading), and a \
        queue that starts empty counts as entering from between, so its first packet divides \
        max_p once (another).",
    params: own_tables::<FengParams>(),
    state: &states(COLUMNS),
    defaults: FengParams::DEFAULTS,
};

group! {
    /// What the user of Feng's ARED sets.
    pub struct FengParams {
        /// What the whole family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// The ramp's ceiling.
        pub ceiling: Ceiling,
        /// Its steps.
        pub factors: Factors,
        /// Its bounds.
        pub bounds: Bounds,
        /// What every kind takes.
        pub common: Common,
    }
    under: { ns2: [("max_p_low", "0"), ("max_p_high", "\"none\"")] },
}

words! {
    /// A bound above which max_p is not increased.
    pub enum Highest or num(0.0, 1.0) {
        /// max_p may exceed 1, and the ramp is cut there.
        Unbounded = "none",
    }
}

params! {
    /// Its own parameters.
    pub struct Factors: Default {
        /// Factor of max_p when the average rises above max_th.
        pub increase: f64 {
            ty: num(1.0, 1000.0),
            unit: "1",
            default: 2,
            source: "Feng 1999; ns-2: beta_",
        },
        /// Divisor of max_p when the average falls below min_th.
        pub decrease: f64 {
            ty: num(1.0, 1000.0),
            unit: "1",
            default: 3,
            source: "Feng 1999; ns-2: alpha_",
        },
    }
}

params! {
    /// Its bounds, whose names other adapters use as well.
    pub struct Bounds: Default {
        /// max_p never falls below this.
        pub max_p_low: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.0001,
            source: "our bound; Feng and ns-2 have none",
        },
        /// max_p never rises above this; "none": it may exceed 1, and the ramp is cut there.
        pub max_p_high: Highest {
            unit: "1",
            default: 1,
            source: "our bound; Feng and ns-2 have none",
        },
    }
}

/// Feng's ARED: RED with an adapter.
pub type Feng = Composed<Straight, Crossings>;

const COLUMNS: &[Column<Feng>; 3] = &[Feng::AVG, Feng::MAX_P, Feng::P_B];

impl Feng {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &FengParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let ramp = p.thresholds.ramp(&setting, p.ceiling.max_p)?;
        let adapter = Crossings::new(&p.factors, &p.bounds)?;
        Ok(p.base.compose(&setting, ramp, p.ceiling.profile(), adapter, COLUMNS))
    }
}

/// Feng's adapter.
#[derive(Clone, Debug)]
pub struct Crossings {
    increase: f64,
    decrease: f64,
    bounds: (f64, f64),
    status: Status,
}

impl Crossings {
    /// An adapter that has seen nothing.
    ///
    /// # Errors
    /// If the bounds are not in order.
    pub fn new(factors: &Factors, bounds: &Bounds) -> Result<Self, ParamError> {
        let high = match bounds.max_p_high {
            Highest::Number(high) => high,
            Highest::Unbounded => f64::MAX,
        };
        let low = bounds.max_p_low;
        if low > high {
            let problem = format!("must not be above max_p_high ({high})");
            return Err(ParamError::new("max_p_low", problem));
        }
        Ok(Crossings {
            increase: factors.increase,
            decrease: factors.decrease,
            bounds: (low, high),
            // The paper leaves the start open. It is between, so that a queue that starts empty
            // enters Below at its first packet.
            status: Status::Between,
        })
    }
}

impl<P> Adapter<P> for Crossings {
    #[inline]
    fn arrived(&mut self, a: &Arrival, r: &mut Ramp, _: &mut P) {
        let moved = match self.status.enter(a.avg, r) {
            Some(Status::Below) => r.max_p / self.decrease,
            Some(Status::Above) => r.max_p * self.increase,
            Some(Status::Between) | None => return,
        };
        r.max_p = moved.clamp(self.bounds.0, self.bounds.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::profile::tests::RAMP5_15;
    use crate::testing::{context, params, PKT};
    use penstock_units::Time;

    fn build(set: &[(&'static str, &'static str)]) -> Result<Feng, ParamError> {
        Feng::new(&params(&KIND, set), &context())
    }

    fn arrived(f: &mut Crossings, avg: f64, r: &mut Ramp) {
        f.arrived(&Arrival { now: Time::ZERO, avg, q: 0.0, pkt: &PKT }, r, &mut ());
    }

    /// 0.1 → /3 on entering Below, once; ×2 on entering Above, once; nothing between or on a
    /// threshold.
    #[test]
    fn crossings_by_hand() {
        let feng = build(&[("min_th", "5"), ("max_th", "15")]).unwrap();
        let mut f = feng.adapter;
        let mut r = RAMP5_15;
        for (avg, want) in [
            (0.0, 0.1 / 3.0),
            (4.9, 0.1 / 3.0),
            (5.0, 0.1 / 3.0), // on the threshold: still below
            (4.0, 0.1 / 3.0),
            (10.0, 0.1 / 3.0),
            (15.1, 0.2 / 3.0),
            (20.0, 0.2 / 3.0),
            (14.0, 0.2 / 3.0),
            (16.0, 0.4 / 3.0),
            (4.0, 0.4 / 9.0), // straight down
        ] {
            arrived(&mut f, avg, &mut r);
            assert!((r.max_p - want).abs() < 1e-12, "avg = {avg}: {} {want}", r.max_p);
        }
    }

    #[test]
    fn bounds_hold() {
        let feng = build(&[]).unwrap();
        let mut f = feng.adapter;
        let mut r = RAMP5_15;
        for _ in 0..20 {
            arrived(&mut f, 10.0, &mut r);
            arrived(&mut f, 20.0, &mut r);
        }
        assert_eq!(r.max_p, 1.0);
        for _ in 0..20 {
            arrived(&mut f, 10.0, &mut r);
            arrived(&mut f, 0.0, &mut r);
        }
        assert_eq!(r.max_p, 1e-4);
    }
}
