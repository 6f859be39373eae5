//! NRED: "Adaptive nonlinear RED". Park, Park, Lim, Choi. Equation (1): `p = ((avg − min_th)/(B −
//! min_th))^n` for `min_th < avg < B`; the exponent moves when the average enters a region: up
//! below `min_th` (towards DropTail), down above `max_th` (towards RED).
//!
//! There is no forced drop at `max_th`, the curve goes on to the buffer. The paper gives neither
//! bounds nor start of `n`: parameters. Nor does it give the status at the start: `Between`, so
//! that a queue that starts empty enters Below with its first packet, which raises `n` once.

use crate::context::{Common, Context};
use crate::family::params::{Base, Setting, Thresholds};
use crate::kind::{column, own_tables, states, Column, Kind};
use crate::parts::adapter::{Adapter, Arrival, Status};
use crate::parts::compose::Composed;
use crate::parts::profile::{Point, Profile, Ramp};
use penstock_units::param::{num_open, ParamError};
use penstock_units::{group, params};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "nred",
    doc: "Nonlinear RED: a power law up to the buffer, whose exponent falls with load.",
    source: "Park, Park, Lim, Choi (NRED paper)",
    equations: "avg as in RED\n\
        p = 0                                      avg < min_th\n\
        p = ((avg − min_th)/(B − min_th))^n        min_th ≤ avg < B\n\
        entering avg < min_th:  n ← min(n_max, n + 1)\n\
        entering avg > max_th:  n ← max(n_min, n − 1)",
    expect: "One curve from min_th to the full buffer instead of max_p: nearly flat at first, \
        steep towards the end, and with n the load decides how flat. At light load (n up to 5) \
        almost nothing is signalled before half the buffer is full; under a heavy one n falls to \
        1, a straight line. Losses are fewer than RED's at the price of a longer queue.",
    weaknesses: "The profile ends at the buffer: with a large one the queue becomes long, with a \
        small one it is DropTail with averaging. n moves only when the average crosses a \
        threshold, one step at a time. The paper gives no bounds, start or gate: n in 1…5 from 2 \
        and RED's gate are readings. Between max_th and B nothing bounds the delay but the \
        buffer.",
    params: own_tables::<NredParams>(),
    state: &states(COLUMNS),
    defaults: NredParams::DEFAULTS,
    ns2: NredParams::NS2,
};

group! {
    /// What the user of NRED sets.
    pub struct NredParams {
        /// What the whole family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// The exponent, and how it moves.
        pub exponents: Exponents,
        /// What every kind takes.
        pub common: Common,
    }
}

params! {
    /// Its own parameters.
    pub struct Exponents: Default {
        /// Smallest exponent.
        pub n_min: f64 {
            ty: num_open(0.0, 1000.0),
            unit: "1",
            default: 1,
            source: "reading: the paper gives no bound",
        },
        /// Largest exponent.
        pub n_max: f64 {
            ty: num_open(0.0, 1000.0),
            unit: "1",
            default: 5,
            source: "reading: the paper gives no bound",
        },
        /// Exponent at the start.
        pub n_0: f64 {
            ty: num_open(0.0, 1000.0),
            unit: "1",
            default: 2,
            source: "reading: the paper gives no start",
        },
        /// How far the exponent moves at once.
        pub n_step: f64 {
            ty: num_open(0.0, 1000.0),
            unit: "1",
            default: 1,
            source: "NRED paper, section 2: n ± 1",
        },
    }
}

/// NRED: RED with a power law for its profile, and an adapter of the exponent.
pub type Nred = Composed<Power, Exponent>;

const COLUMNS: &[Column<Nred>; 3] =
    &[Nred::AVG, column(EXPONENT.0, EXPONENT.1, |d| d.profile.n), Nred::P_B];

/// A column that the recombined family publishes too: name and doc.
pub(crate) const EXPONENT: (&str, &str) = ("n", "The exponent of the profile in force.");

impl Nred {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &NredParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        // The profile has no ceiling below 1.
        let mut ramp = p.thresholds.ramp(&setting, 1.0)?;
        let mut profile = Power::within(&setting, &p.thresholds, &mut ramp)?;
        let adapter = Exponent::new(&p.exponents, &mut profile)?;
        Ok(p.base.compose(&setting, ramp, profile, adapter, COLUMNS))
    }
}

/// NRED's profile: equation (1).
#[derive(Clone, Copy, Debug)]
pub struct Power {
    /// The buffer, `B`: where the profile ends.
    pub limit: f64,
    /// The exponent.
    pub n: f64,
}

impl Power {
    /// The profile up to the buffer. An automatic `min_th` is at most half of it.
    pub(crate) fn within(
        setting: &Setting,
        thresholds: &Thresholds,
        r: &mut Ramp,
    ) -> Result<Self, ParamError> {
        let limit = setting.limit();
        if thresholds.min_th.is_none() {
            r.min_th = r.min_th.min(limit / 2.0);
        }
        if r.min_th >= limit {
            let shown = limit / setting.unit.per_pkt;
            let problem = format!("must be below the buffer ({shown} packets)");
            return Err(ParamError::new("min_th", problem));
        }
        Ok(Power { limit, n: 1.0 })
    }
}

impl Profile for Power {
    #[inline]
    fn at(&self, avg: f64, r: &Ramp) -> Point {
        if avg < r.min_th {
            return Point::Below;
        }
        if avg >= self.limit {
            return Point::Beyond;
        }
        // p <- ((avg - min_th) / (B - min_th))^n
        let p = libm::pow((avg - r.min_th) / (self.limit - r.min_th), self.n);
        Point::On(p.clamp(0.0, 1.0))
    }
}

/// NRED's adapter: section 2's update rule.
#[derive(Clone, Debug)]
pub struct Exponent {
    bounds: (f64, f64),
    step: f64,
    status: Status,
}

impl Exponent {
    /// The adapter; the profile gets the exponent's start.
    pub(crate) fn new(p: &Exponents, profile: &mut Power) -> Result<Self, ParamError> {
        let (low, high) = (p.n_min, p.n_max);
        if low > high {
            return Err(ParamError::new("n_min", format!("must not be above n_max ({high})")));
        }
        if !(low..=high).contains(&p.n_0) {
            let problem = format!("must be in [n_min, n_max] = [{low}, {high}]");
            return Err(ParamError::new("n_0", problem));
        }
        profile.n = p.n_0;
        Ok(Exponent { bounds: (low, high), step: p.n_step, status: Status::Between })
    }
}

impl Adapter<Power> for Exponent {
    #[inline]
    fn arrived(&mut self, a: &Arrival, r: &mut Ramp, profile: &mut Power) {
        match self.status.enter(a.avg, r) {
            Some(Status::Below) => profile.n = (profile.n + self.step).min(self.bounds.1),
            Some(Status::Above) => profile.n = (profile.n - self.step).max(self.bounds.0),
            Some(Status::Between) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::profile::tests::RAMP5_15;
    use crate::testing::{context, params, PKT};
    use penstock_units::Time;

    fn build(set: &[(&'static str, &'static str)]) -> Result<Nred, ParamError> {
        Nred::new(&params(&KIND, set), &context())
    }

    /// min 5, B 100: avg 52.5 gives 0.25 at n = 2 and 0.5 at n = 1; 5 gives 0, B and more is the
    /// end.
    #[test]
    fn profile_by_hand() {
        for (n, avg, want) in [
            (2.0, 52.5, Point::On(0.25)),
            (1.0, 52.5, Point::On(0.5)),
            (3.0, 52.5, Point::On(0.125)),
            (2.0, 5.0, Point::On(0.0)),
            (2.0, 4.9, Point::Below),
            (2.0, 24.0, Point::On(0.04)), // (19/95)^2
            (2.0, 100.0, Point::Beyond),
        ] {
            match ((Power { limit: 100.0, n }).at(avg, &RAMP5_15), want) {
                (Point::On(got), Point::On(want)) => {
                    assert!((got - want).abs() < 1e-12, "{n} {avg}: {got}")
                }
                (got, want) => assert_eq!(got, want, "{n} {avg}"),
            }
        }
    }

    #[test]
    fn exponent_by_hand() {
        let d = build(&[("min_th", "5"), ("max_th", "15")]).unwrap();
        assert_eq!(d.profile.n, 2.0);
        let (mut e, mut r, mut power) = (d.adapter, RAMP5_15, d.profile);
        // Below from the start: 3. Then 2 on entering above, and down to the bound only by going
        // away and back.
        for (avg, n) in [
            (0.0, 3.0),
            (1.0, 3.0),
            (10.0, 3.0),
            (16.0, 2.0),
            (17.0, 2.0),
            (14.0, 2.0),
            (16.0, 1.0),
            (10.0, 1.0),
            (16.0, 1.0),
            (4.0, 2.0),
        ] {
            let a = Arrival { now: Time::ZERO, avg, q: 0.0, pkt: &PKT };
            e.arrived(&a, &mut r, &mut power);
            assert_eq!(power.n, n, "avg = {avg}");
        }
    }

    #[test]
    fn a_start_outside_its_bounds_names_the_key() {
        assert_eq!(build(&[("n_0", "7")]).unwrap_err().name, "n_0");
        assert_eq!(build(&[("n_min", "6")]).unwrap_err().name, "n_min");
        assert_eq!(build(&[("min_th", "120"), ("max_th", "150")]).unwrap_err().name, "min_th");
        // An automatic min_th stays within a small buffer (1000 packets of delay would ask for
        // more).
        let small = build(&[("target_delay", "\"10 s\"")]).unwrap();
        assert_eq!((small.ramp.min_th, small.profile.limit), (50.0, 100.0));
    }
}
