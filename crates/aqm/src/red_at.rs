//! RED-AT, RED with adaptive threshold: Patel, Dalal. Fig. 6: at every arrival the average is in
//! one of three regions; when it has been there for more than four successive arrivals, both
//! thresholds go up (a, light load), down (c, heavy load), or back to nominal (b), within bounds.
//!
//! The paper gives neither bounds nor steps: parameters. Fig. 6 prints region a as `avg < min⁺`;
//! Fig. 5 fits `min⁻` better (`region_a`).

use crate::adapter::Adapter;
use crate::profile::Ramp;
use crate::red::{RedFamily, Unit, AVG, MAX_TH_NOW, MIN_TH_NOW, PARAMS, P_B, RAMP, THRESHOLDS};
use crate::registry::num_or_default;
use crate::{Discipline, Kind};
use penstock_units::param::{int, num_open, Param, ParamError, Ty, Values, PARAM};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "red-at",
    doc: "RED with adaptive thresholds: both move with the region that the average stays in.",
    source: "RED-AT paper, Fig. 6",
    equations: "RED, and at each arrival, after more than hold arrivals in one region:\n\
        a:  avg < min⁺  min_th ← min(min⁺, min_th + α·(min⁺ − min⁻)),  max_th ← min(max⁺, max_th + β·(max⁺ − max⁻))\n\
        c:  avg > max⁻  min_th ← max(min⁻, min_th − α·(min⁺ − min⁻)),  max_th ← max(max⁻, max_th − β·(max⁺ − max⁻))\n\
        b:  else        min_th, max_th ← nominal",
    expect: "Under light load the ramp moves to the right, and fewer packets are signalled; under a heavy one it \
        moves to the left and gets steeper. Both thresholds reach their bounds within some dozen packets, so \
        in effect it switches between three ramps. In the figure, after 10 s, nothing is marked in region a, \
        below min⁺ = 7.5; there the ramp jumps to the nominal one, and at max⁻ = 12 to the steeper one.",
    weaknesses: "The switch is faster than the average that drives it, so at a region's edge the ramp jumps to and \
        fro. The paper gives neither bounds nor steps: ±50 % of min_th, ±20 % of max_th, α = 0.1 and β = \
        0.05 are readings, and so is that the ramp becomes a step where bounds overlap and the thresholds \
        meet. Fig. 6 prints region a as below min⁺, which covers light and medium load alike; Fig. 5 fits \
        min⁻ better (`region_a`).",
    params: &[PARAMS, THRESHOLDS, RAMP, RED_AT, STEPS],
    state: &[AVG, MIN_TH_NOW, MAX_TH_NOW, P_B],
    defaults: &[],
    ns2: &[],
    build: |v, cx| {
        let family = RedFamily::new(v, cx, KIND.state)?;
        let regions = Regions::from_values(v, &family.ramp, &family.unit)?;
        Ok(Discipline::Red(family.with_adapter(Adapter::Regions(regions))))
    },
};

/// Its own parameters.
pub(crate) const RED_AT: &[Param] = &[
    Param {
        name: "min_lo",
        ty: Ty::Queue,
        unit: "packets",
        auto: "0.5·min_th",
        source: "reading: the paper gives no bound",
        doc: "Lower bound of min_th, min⁻.",
        ..PARAM
    },
    Param {
        name: "min_hi",
        ty: Ty::Queue,
        unit: "packets",
        auto: "1.5·min_th",
        source: "reading: the paper gives no bound",
        doc: "Upper bound of min_th, min⁺.",
        ..PARAM
    },
    Param {
        name: "max_lo",
        ty: Ty::Queue,
        unit: "packets",
        auto: "0.8·max_th, at least min_th",
        source: "reading: the paper gives no bound",
        doc: "Lower bound of max_th, max⁻.",
        ..PARAM
    },
    Param {
        name: "max_hi",
        ty: Ty::Queue,
        unit: "packets",
        auto: "1.2·max_th",
        source: "reading: the paper gives no bound",
        doc: "Upper bound of max_th, max⁺.",
        ..PARAM
    },
    Param {
        name: "hold",
        ty: int(0, 1_000_000),
        unit: "arrivals",
        default: Some("4"),
        source: "RED-AT paper, Fig. 6: cnt > 4",
        doc: "A region acts when it has held for more than this many successive arrivals; its count then starts again.",
        ..PARAM
    },
    Param {
        name: "region_a",
        ty: Ty::Word(&["min_plus", "min_minus"]),
        default: Some("\"min_plus\""),
        source: "RED-AT paper: Fig. 6 prints min⁺, Fig. 5 fits min⁻",
        doc: "Region a is where the average is below min_hi, or below min_lo.",
        ..PARAM
    },
    Param {
        name: "reset",
        ty: Ty::Bool,
        default: Some("true"),
        source: "RED-AT paper, Fig. 6",
        doc: "Region b returns both thresholds to nominal; false: it leaves them.",
        ..PARAM
    },
];

/// Its steps, whose names other adapters use as well.
pub(crate) const STEPS: &[Param] = &[
    Param {
        name: "alpha",
        ty: num_open(0.0, 1.0),
        unit: "1",
        default: Some("0.1"),
        source: "reading: the paper says β < α",
        doc: "Step of min_th, as a fraction of min_hi − min_lo.",
        ..PARAM
    },
    Param {
        name: "beta",
        ty: num_open(0.0, 1.0),
        unit: "1",
        default: Some("0.05"),
        source: "reading: the paper says β < α",
        doc: "Step of max_th, as a fraction of max_hi − max_lo.",
        ..PARAM
    },
];

/// RED-AT's adapter.
#[derive(Clone, Debug)]
pub struct Regions {
    min: (f64, f64),
    max: (f64, f64),
    nominal: (f64, f64),
    steps: (f64, f64),
    hold: u32,
    /// The average below which region a lies.
    region_a: f64,
    reset: bool,
    region: Region,
    held: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    A,
    B,
    C,
}

/// The highest min_th, as a fraction of max_th.
const NARROWEST: f64 = 0.999;

impl Regions {
    pub(crate) fn from_values(v: &Values, r: &Ramp, unit: &Unit) -> Result<Self, ParamError> {
        let bound = |key, auto| v.opt_queue(key).map_or(auto, |q| unit.length(q));
        let min = (bound("min_lo", 0.5 * r.min_th), bound("min_hi", 1.5 * r.min_th));
        let max =
            (bound("max_lo", (0.8 * r.max_th).max(r.min_th)), bound("max_hi", 1.2 * r.max_th));
        let pkts = |x: f64| x / unit.per_pkt;
        for (key, bad, than) in [
            ("min_lo", min.0 > r.min_th, format!("above min_th ({})", pkts(r.min_th))),
            ("min_hi", min.1 < r.min_th, format!("below min_th ({})", pkts(r.min_th))),
            ("max_lo", max.0 > r.max_th, format!("above max_th ({})", pkts(r.max_th))),
            ("max_hi", max.1 < r.max_th, format!("below max_th ({})", pkts(r.max_th))),
            ("max_lo", max.0 <= min.0, format!("at or below min_lo ({})", pkts(min.0))),
        ] {
            if bad {
                return Err(ParamError::new(key, format!("must not be {than}")));
            }
        }
        let num = |name| num_or_default(v, STEPS, name);
        Ok(Regions {
            min,
            max,
            nominal: (r.min_th, r.max_th),
            steps: (num("alpha") * (min.1 - min.0), num("beta") * (max.1 - max.0)),
            hold: v.int("hold") as u32,
            region_a: if v.is("region_a", "min_minus") { min.0 } else { min.1 },
            reset: v.bool("reset"),
            region: Region::B,
            held: 0,
        })
    }

    /// Fig. 6.
    #[inline]
    pub fn arrived(&mut self, avg: f64, r: &mut Ramp) {
        let region = if avg < self.region_a {
            Region::A
        } else if avg > self.max.0 {
            Region::C
        } else {
            Region::B
        };
        self.held = if region == self.region { self.held + 1 } else { 1 };
        self.region = region;
        if self.held <= self.hold {
            return;
        }
        self.held = 0;
        match region {
            Region::A => {
                r.min_th = (r.min_th + self.steps.0).min(self.min.1);
                r.max_th = (r.max_th + self.steps.1).min(self.max.1);
            }
            Region::C => {
                r.min_th = (r.min_th - self.steps.0).max(self.min.0);
                r.max_th = (r.max_th - self.steps.1).max(self.max.0);
            }
            Region::B if self.reset => (r.min_th, r.max_th) = self.nominal,
            Region::B => {}
        }
        // Bounds may overlap, and the paper does not say what happens where the thresholds meet:
        // the ramp becomes a step.
        r.min_th = r.min_th.min(NARROWEST * r.max_th);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::red::tests::build;
    use penstock_units::Rng;

    fn red_at(set: &[(&'static str, &str)]) -> (Regions, Ramp) {
        let d = build(&KIND, &[&[("min_th", "10"), ("max_th", "30")], set].concat()).unwrap();
        match d.adapter {
            Adapter::Regions(a) => (a, d.ramp),
            other => panic!("{other:?}"),
        }
    }

    /// Nominal 10/30, bounds 5..15 and 24..36, α 0.1, β 0.05.
    #[test]
    fn thresholds_by_hand() {
        // (average, arrivals, min_th, max_th) one after the other.
        let (mut a, mut r) = red_at(&[]);
        for (avg, n, min_th, max_th) in [
            (3.0, 4, 10.0, 30.0),
            (3.0, 1, 11.0, 30.6),
            (3.0, 45, 15.0, 36.0),
            (26.0, 4, 15.0, 36.0), // region c: above 24
            (26.0, 1, 14.0, 35.4),
            (20.0, 4, 14.0, 35.4), // region b
            (20.0, 1, 10.0, 30.0),
            (26.0, 4, 10.0, 30.0),
            (20.0, 1, 10.0, 30.0), // a region left loses its count
            (26.0, 4, 10.0, 30.0),
            (26.0, 200, 5.0, 24.0),
        ] {
            for _ in 0..n {
                a.arrived(avg, &mut r);
            }
            assert!(
                (r.min_th - min_th).abs() < 1e-9 && (r.max_th - max_th).abs() < 1e-9,
                "{avg} {n}: {r:?}"
            );
        }
    }

    #[test]
    fn readings_of_the_regions() {
        // 12 is below min⁺ = 15, above min⁻ = 5.
        for (set, moved) in [(&[][..], 11.0), (&[("region_a", "\"min_minus\"")], 10.0)] {
            let (mut a, mut r) = red_at(set);
            (0..5).for_each(|_| a.arrived(12.0, &mut r));
            assert!((r.min_th - moved).abs() < 1e-9, "{set:?}");
        }
        let (mut a, mut r) = red_at(&[("reset", "false")]);
        (0..5).for_each(|_| a.arrived(3.0, &mut r));
        (0..5).for_each(|_| a.arrived(20.0, &mut r));
        assert!((r.min_th - 11.0).abs() < 1e-9);
    }

    /// Bounds that overlap (min 1..19, max 15..45): the thresholds never cross, whatever the steps.
    #[test]
    fn overlapping_bounds_keep_the_order() {
        let wide = [
            ("min_lo", "1"),
            ("min_hi", "19"),
            ("max_lo", "15"),
            ("max_hi", "45"),
            ("alpha", "0.3"),
            ("beta", "0.7"),
        ];
        let mut rng = Rng::stream(1, "regions");
        for _ in 0..200 {
            let (mut a, mut r) = red_at(&wide);
            for _ in 0..200 {
                // Runs of a and of c, of any length.
                let avg = if rng.unit() < 0.5 { 3.0 } else { 40.0 };
                (0..5 * (1.0 + 15.0 * rng.unit()) as u32).for_each(|_| a.arrived(avg, &mut r));
                assert!(r.min_th < r.max_th, "{r:?}");
            }
        }
    }

    #[test]
    fn bounds_out_of_order_name_the_key() {
        for (key, value) in
            [("min_lo", "11"), ("min_hi", "9"), ("max_lo", "31"), ("max_hi", "29"), ("max_lo", "5")]
        {
            let err =
                build(&KIND, &[("min_th", "10"), ("max_th", "30"), (key, value)]).unwrap_err();
            assert_eq!(err.name, key, "{value}");
        }
        // The automatic bounds of narrow thresholds overlap.
        assert!(build(&KIND, &[("min_th", "10"), ("max_th", "12")]).is_ok());
    }
}
