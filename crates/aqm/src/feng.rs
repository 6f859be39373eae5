//! ARED as first proposed: W. Feng, D. Kandlur, D. Saha, K. Shin, "A self-configuring RED gateway",
//! INFOCOM 1999, Fig. 3. `max_p` is divided when the average falls below `min_th` and multiplied
//! when it rises above `max_th`, once at each crossing.

use crate::adapter::{Adapter, Status};
use crate::profile::Ramp;
use crate::red::{RedFamily, PARAMS, RAMP, STATE, THRESHOLDS};
use crate::registry::num_or_default;
use crate::{Discipline, Kind};
use penstock_units::param::{num, Param, ParamError, Ty, Values, PARAM};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "feng-ared",
    doc: "Self-configuring RED: max_p is divided or multiplied when the average crosses a threshold.",
    source: "Feng, Kandlur, Saha, Shin 1999",
    equations: "RED, and where the average crosses a threshold:\n\
        avg falls below min_th:  max_p ← max_p/3\n\
        avg rises above max_th:  max_p ← 2·max_p\n\
        between:                 max_p stays",
    expect: "The first self-configuring RED: when the average leaves the thresholds, max_p changes by a large \
        factor, once at each crossing. It keeps the average between the thresholds rather than at a point, \
        and finds a new order of magnitude of max_p within a few crossings.",
    weaknesses: "The steps are coarse: the average swings from one threshold to the other, and each swing costs delay \
        or utilisation. While it stays above max_th nothing more happens. Neither the paper nor ns-2 bounds \
        max_p; here it stays in [0.0001, 1] (a reading), and a queue that starts empty counts as entering \
        from between, so its first packet divides max_p once (another).",
    params: &[PARAMS, THRESHOLDS, RAMP, FENG, BOUNDS],
    state: STATE,
    defaults: &[],
    ns2: &[("max_p_low", "0"), ("max_p_high", "\"none\"")],
    build: |v, cx| {
        let family = RedFamily::new(v, cx, STATE)?;
        Ok(Discipline::Red(family.with_adapter(Adapter::Feng(Feng::from_values(v)?))))
    },
};

/// Its own parameters.
pub(crate) const FENG: &[Param] = &[
    Param {
        name: "increase",
        ty: num(1.0, 1000.0),
        unit: "1",
        default: Some("2"),
        source: "Feng 1999; ns-2: beta_",
        doc: "Factor of max_p when the average rises above max_th.",
        ..PARAM
    },
    Param {
        name: "decrease",
        ty: num(1.0, 1000.0),
        unit: "1",
        default: Some("3"),
        source: "Feng 1999; ns-2: alpha_",
        doc: "Divisor of max_p when the average falls below min_th.",
        ..PARAM
    },
];

/// Its bounds, whose names other adapters use as well.
pub(crate) const BOUNDS: &[Param] = &[
    Param {
        name: "max_p_low",
        ty: num(0.0, 1.0),
        unit: "1",
        default: Some("0.0001"),
        source: "our bound; Feng and ns-2 have none",
        doc: "max_p never falls below this.",
        ..PARAM
    },
    Param {
        name: "max_p_high",
        ty: Ty::NumOr(&num(0.0, 1.0), &["none"]),
        unit: "1",
        default: Some("1"),
        source: "our bound; Feng and ns-2 have none",
        doc: "max_p never rises above this; \"none\": it may exceed 1, and the ramp is cut there.",
        ..PARAM
    },
];

/// Feng's adapter.
#[derive(Clone, Debug)]
pub struct Feng {
    increase: f64,
    decrease: f64,
    bounds: (f64, f64),
    status: Status,
}

impl Feng {
    pub(crate) fn from_values(v: &Values) -> Result<Self, ParamError> {
        let num = |name| num_or_default(v, BOUNDS, name);
        let high = if v.is("max_p_high", "none") { f64::MAX } else { num("max_p_high") };
        let low = num("max_p_low");
        if low > high {
            return Err(ParamError::new(
                "max_p_low",
                format!("must not be above max_p_high ({high})"),
            ));
        }
        Ok(Feng {
            increase: v.num("increase"),
            decrease: v.num("decrease"),
            bounds: (low, high),
            // The paper leaves the start open: between, so that a queue that starts empty enters
            // Below at its first packet.
            status: Status::Between,
        })
    }

    /// A packet arrived and the average is now `avg`.
    #[inline]
    pub fn arrived(&mut self, avg: f64, r: &mut Ramp) {
        let moved = match self.status.enter(avg, r) {
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
    use crate::red::tests::{build, RAMP5_15};

    /// 0.1 → /3 on entering Below, once; ×2 on entering Above, once; nothing between or on a
    /// threshold.
    #[test]
    fn crossings_by_hand() {
        let feng = build(&KIND, &[("min_th", "5"), ("max_th", "15")]).unwrap();
        let Adapter::Feng(mut f) = feng.adapter else { unreachable!() };
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
            f.arrived(avg, &mut r);
            assert!((r.max_p - want).abs() < 1e-12, "avg = {avg}: {} {want}", r.max_p);
        }
    }

    #[test]
    fn bounds_hold() {
        let feng = build(&KIND, &[]).unwrap();
        let Adapter::Feng(mut f) = feng.adapter else { unreachable!() };
        let mut r = RAMP5_15;
        for _ in 0..20 {
            f.arrived(10.0, &mut r);
            f.arrived(20.0, &mut r);
        }
        assert_eq!(r.max_p, 1.0);
        for _ in 0..20 {
            f.arrived(10.0, &mut r);
            f.arrived(0.0, &mut r);
        }
        assert_eq!(r.max_p, 1e-4);
    }
}
