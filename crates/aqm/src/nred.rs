//! NRED: "Adaptive nonlinear RED". Park, Park, Lim, Choi. Equation (1): `p = ((avg − min_th)/(B −
//! min_th))^n` for `min_th < avg < B`; the exponent moves when the average enters a region: up
//! below `min_th` (towards DropTail), down above `max_th` (towards RED).
//!
//! There is no forced drop at `max_th`, the curve goes on to the buffer. The paper gives neither
//! bounds nor start of `n`: parameters. Nor does it give the status at the start: `Between`, so
//! that a queue that starts empty enters Below with its first packet, which raises `n` once.

use crate::adapter::{Adapter, Status};
use crate::profile::{Profile, Ramp};
use crate::red::{RedFamily, AVG, PARAMS, P_B, THRESHOLDS};
use crate::{Discipline, Kind, State};
use penstock_units::param::{num_open, Param, ParamError, Values, PARAM};

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
    expect:
        "One curve from min_th to the full buffer instead of max_p: nearly flat at first, steep towards the \
        end, and with n the load decides how flat. At light load (n up to 5) almost nothing is signalled \
        before half the buffer is full; under a heavy one n falls to 1, a straight line. Losses are fewer \
        than RED's at the price of a longer queue.",
    weaknesses:
        "The profile ends at the buffer: with a large one the queue becomes long, with a small one it is \
        DropTail with averaging. n moves only when the average crosses a threshold, one step at a time. The \
        paper gives no bounds, start or gate: n in 1…5 from 2 and RED's gate are readings. Between max_th \
        and B nothing bounds the delay but the buffer.",
    params: &[PARAMS, THRESHOLDS, NRED],
    state: STATE,
    defaults: &[],
    ns2: &[],
    build: |v, cx| {
        let family = RedFamily::new(v, cx, STATE)?.within_the_buffer(v).with_profile(Profile::Power)?;
        family.with_exponent(v).map(Discipline::Red)
    },
};

const STATE: &[State] = &[AVG, EXPONENT, P_B];
pub(crate) const EXPONENT: State =
    State { name: "n", doc: "The exponent of the profile in force." };

/// Its own parameters.
pub(crate) const NRED: &[Param] = &[
    Param {
        name: "n_min",
        ty: num_open(0.0, 1000.0),
        unit: "1",
        default: Some("1"),
        source: "reading: the paper gives no bound",
        doc: "Smallest exponent.",
        ..PARAM
    },
    Param {
        name: "n_max",
        ty: num_open(0.0, 1000.0),
        unit: "1",
        default: Some("5"),
        source: "reading: the paper gives no bound",
        doc: "Largest exponent.",
        ..PARAM
    },
    Param {
        name: "n_0",
        ty: num_open(0.0, 1000.0),
        unit: "1",
        default: Some("2"),
        source: "reading: the paper gives no start",
        doc: "Exponent at the start.",
        ..PARAM
    },
    Param {
        name: "n_step",
        ty: num_open(0.0, 1000.0),
        unit: "1",
        default: Some("1"),
        source: "NRED paper, section 2: n ± 1",
        doc: "How far the exponent moves at once.",
        ..PARAM
    },
];

impl RedFamily {
    /// The exponent's start and adapter.
    pub(crate) fn with_exponent(mut self, v: &Values) -> Result<Self, ParamError> {
        let (low, high, start) = (v.num("n_min"), v.num("n_max"), v.num("n_0"));
        if low > high {
            return Err(ParamError::new("n_min", format!("must not be above n_max ({high})")));
        }
        if !(low..=high).contains(&start) {
            return Err(ParamError::new(
                "n_0",
                format!("must be in [n_min, n_max] = [{low}, {high}]"),
            ));
        }
        self.ramp.n = start;
        let exponent =
            Exponent { bounds: (low, high), step: v.num("n_step"), status: Status::Between };
        Ok(self.with_adapter(Adapter::Exponent(exponent)))
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
    /// A packet arrived and the average is now `avg`.
    #[inline]
    pub fn arrived(&mut self, avg: f64, r: &mut Ramp) {
        match self.status.enter(avg, r) {
            Some(Status::Below) => r.n = (r.n + self.step).min(self.bounds.1),
            Some(Status::Above) => r.n = (r.n - self.step).max(self.bounds.0),
            Some(Status::Between) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Point;
    use crate::red::tests::{build, RAMP5_15};

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
            match (Profile::Power.at(avg, &Ramp { n, ..RAMP5_15 }), want) {
                (Point::On(got), Point::On(want)) => {
                    assert!((got - want).abs() < 1e-12, "{n} {avg}: {got}")
                }
                (got, want) => assert_eq!(got, want, "{n} {avg}"),
            }
        }
    }

    #[test]
    fn exponent_by_hand() {
        let d = build(&KIND, &[("min_th", "5"), ("max_th", "15")]).unwrap();
        assert_eq!(d.ramp.n, 2.0);
        let Adapter::Exponent(mut e) = d.adapter else { unreachable!() };
        let mut r = Ramp { n: 2.0, ..RAMP5_15 };
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
            e.arrived(avg, &mut r);
            assert_eq!(r.n, n, "avg = {avg}");
        }
    }

    #[test]
    fn a_start_outside_its_bounds_names_the_key() {
        assert_eq!(build(&KIND, &[("n_0", "7")]).unwrap_err().name, "n_0");
        assert_eq!(build(&KIND, &[("n_min", "6")]).unwrap_err().name, "n_min");
        assert_eq!(
            build(&KIND, &[("min_th", "120"), ("max_th", "150")]).unwrap_err().name,
            "min_th"
        );
        // An automatic min_th stays within a small buffer (1000 packets of delay would ask for
        // more).
        let small = build(&KIND, &[("target_delay", "\"10 s\"")]).unwrap();
        assert_eq!((small.ramp.min_th, small.ramp.limit), (50.0, 100.0));
    }
}
