//! NLRED: K. Zhou, K. Yeung, V. Li, "Nonlinear RED: a simple yet efficient active queue management
//! scheme", Computer Networks 50, 2006. `p_b = 1.5·max_p·((avg − min_th)/(max_th − min_th))²`
//! between the thresholds, then a forced drop: gentler than RED's ramp at light load, and with the
//! same area under it (∫1.5 x² = ∫x).

use crate::context::{Common, Context};
use crate::family::params::{Base, Ceiling, Setting, Thresholds};
use crate::kind::{own_tables, states, Column, Kind};
use crate::parts::compose::Composed;
use crate::parts::profile::{gentle_part, Arrival, Point, Profile, Ramp};
use penstock_units::group;
use penstock_units::param::ParamError;

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "nlred",
    doc: "Nonlinear RED: a parabola of 1.5·max_p instead of the ramp.",
    source: "Zhou, Yeung, Li 2006",
    equations: "avg as in RED\n\
        p_b = 1.5·max_p·((avg − min_th)/(max_th − min_th))²  min_th ≤ avg < max_th\n\
        drop (forced)                                        beyond",
    expect: "A parabola with the same area under it as RED's ramp: gentler near min_th, steeper \
        near max_th. Light load costs less throughput; under heavy load it signals more than RED, \
        so the average depends less on the load. It is RED in everything else, and as cheap.",
    weaknesses: "It has RED's parameters, and they need the same care; the average still moves \
        with the load. At max_th the probability jumps from 1.5·max_p to 1, as in RED of 1993, \
        and capable packets are dropped there; `gentle` ramps instead, which the paper does not \
        do.",
    params: own_tables::<NlredParams>(),
    state: &states(COLUMNS),
    defaults: NlredParams::DEFAULTS,
};

group! {
    /// What the user of NLRED sets.
    pub struct NlredParams {
        /// What the whole family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// The ramp's ceiling.
        pub ceiling: Ceiling,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("gentle", "false")],
}

/// NLRED: RED with a parabola for its profile.
pub type Nlred = Composed<Square, ()>;

const COLUMNS: &[Column<Nlred>; 3] = &[Nlred::AVG, Nlred::MAX_P, Nlred::P_B];

impl Nlred {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &NlredParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let ramp = p.thresholds.ramp(&setting, p.ceiling.max_p)?;
        let profile = Square { gentle: p.ceiling.gentle };
        Ok(p.base.compose(&setting, ramp, profile, (), COLUMNS))
    }
}

/// NLRED's profile.
#[derive(Clone, Copy, Debug)]
pub struct Square {
    /// The profile goes on from 1.5·`max_p` at `max_th` to 1 at `2·max_th`.
    pub gentle: bool,
}

impl Profile for Square {
    #[inline]
    fn at(&mut self, a: &Arrival, r: &Ramp) -> Point {
        let avg = a.avg;
        if avg < r.min_th {
            return Point::Below;
        }
        if avg < r.max_th {
            let x = (avg - r.min_th) / (r.max_th - r.min_th);
            return Point::On((1.5 * r.max_p * x * x).clamp(0.0, 1.0));
        }
        let beyond = self.gentle.then(|| gentle_part(avg, r.max_th, (1.5 * r.max_p).min(1.0)));
        beyond.flatten().map_or(Point::Beyond, Point::On)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::profile::tests::{at, RAMP5_15};

    /// max_p 0.1 between 5 and 15: 0.15 x².
    #[test]
    fn parabola_by_hand() {
        for (gentle, avg, want) in [
            (false, 4.0, Point::Below),
            (false, 10.0, Point::On(0.0375)),
            (false, 13.0, Point::On(0.096)),
            (false, 15.0, Point::Beyond),
            (true, 15.0, Point::On(0.15)),
            (true, 22.5, Point::On(0.575)), // 0.15 + 0.85 / 2
            (true, 30.0, Point::Beyond),
        ] {
            match (at(Square { gentle }, avg, &RAMP5_15), want) {
                (Point::On(got), Point::On(want)) => {
                    assert!((got - want).abs() < 1e-12, "{avg}: {got}")
                }
                (got, want) => assert_eq!(got, want, "{avg}"),
            }
        }
    }
}
