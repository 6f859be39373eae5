//! RED-AT, RED with adaptive threshold: Patel, Dalal. Fig. 6: at every arrival the average is in
//! one of three regions; when it has been there for more than four successive arrivals, both
//! thresholds go up (a, light load), down (c, heavy load), or back to nominal (b), within bounds.
//!
//! The paper gives neither bounds nor steps: parameters. Fig. 6 prints region a as `avg < min⁺`;
//! Fig. 5 fits `min⁻` better (`region_a`).

use crate::context::{Common, Context, Unit};
use crate::family::params::{Base, Ceiling, Setting, Thresholds};
use crate::kind::{own_tables, states, Column, Kind};
use crate::parts::adapter::Adapter;
use crate::parts::compose::Composed;
use crate::parts::profile::{Arrival, Ramp, Straight};
use penstock_units::param::{int, num_open, ParamError};
use penstock_units::{group, params, words, QueueLen};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "red-at",
    doc: "RED with adaptive thresholds: both move with the region that the average stays in.",
    source: "RED-AT paper, Fig. 6",
    equations: "RED, and at each arrival, after more than hold arrivals in one region:\n\
        a:  avg < min⁺  min_th ← min(min⁺, min_th + α·(min⁺ − min⁻)),  max_th ← min(max⁺, max_th + β·(max⁺ − max⁻))\n\
        c:  avg > max⁻  min_th ← max(min⁻, min_th − α·(min⁺ − min⁻)),  max_th ← max(max⁻, max_th − β·(max⁺ − max⁻))\n\
        b:  else        min_th, max_th ← nominal",
    expect: "Under light load the ramp moves to the right, and fewer packets are signalled; under \
        a heavy one it moves to the left and gets steeper. Both thresholds reach their bounds \
        within some dozen packets, so in effect it switches between three ramps. In the figure, \
        after 10 s, nothing is marked in region a, below min⁺ = 7.5; there the ramp jumps to the \
        nominal one, and at max⁻ = 12 to the steeper one.",
    weaknesses: "The switch is faster than the average that drives it, so at a region's edge the \
        ramp jumps back and forth. The paper gives neither bounds nor steps: ±50 % of min_th, ±20 \
        % of max_th, α = 0.1 and β = 0.05 are readings, and so is that the ramp becomes a step \
        where bounds overlap and the thresholds meet. Fig. 6 prints region a as below min⁺, which \
        covers light and medium load alike; Fig. 5 fits min⁻ better (`region_a`). A hundred times \
        slower (`alpha = 0.001`, `beta = 0.0005`) and with `reset = false` it no longer \
        oscillates, and is RED with more loss (penstock reproduce repairs).",
    params: own_tables::<RedAtParams>(),
    state: &states(COLUMNS),
    defaults: RedAtParams::DEFAULTS,
};

group! {
    /// What the user of RED-AT sets.
    pub struct RedAtParams {
        /// What the whole family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// The ramp's ceiling.
        pub ceiling: Ceiling,
        /// The regions, and the bounds of the thresholds.
        pub regions: RegionParams,
        /// The steps of the thresholds.
        pub steps: ThresholdSteps,
        /// What every kind takes.
        pub common: Common,
    }
}

words! {
    /// Where region a ends.
    pub enum RegionA {
        /// At `min_hi`.
        MinPlus = "min_plus",
        /// At `min_lo`.
        MinMinus = "min_minus",
    }
}

params! {
    /// Its own parameters.
    pub struct RegionParams: Default {
        /// Lower bound of min_th, min⁻.
        pub min_lo: Option<QueueLen> {
            unit: "packets",
            auto: "0.5·min_th",
            source: "reading: the paper gives no bound",
        },
        /// Upper bound of min_th, min⁺.
        pub min_hi: Option<QueueLen> {
            unit: "packets",
            auto: "1.5·min_th",
            source: "reading: the paper gives no bound",
        },
        /// Lower bound of max_th, max⁻.
        pub max_lo: Option<QueueLen> {
            unit: "packets",
            auto: "0.8·max_th, at least min_th",
            source: "reading: the paper gives no bound",
        },
        /// Upper bound of max_th, max⁺.
        pub max_hi: Option<QueueLen> {
            unit: "packets",
            auto: "1.2·max_th",
            source: "reading: the paper gives no bound",
        },
        /// A region acts when it has held for more than this many successive arrivals; its count
        /// then starts again.
        pub hold: u32 {
            ty: int(0, 1_000_000),
            unit: "arrivals",
            default: 4,
            source: "RED-AT paper, Fig. 6: cnt > 4",
        },
        /// Region a is where the average is below min_hi, or below min_lo.
        pub region_a: RegionA {
            default: "min_plus",
            source: "RED-AT paper: Fig. 6 prints min⁺, Fig. 5 fits min⁻",
        },
        /// Region b returns both thresholds to nominal; false: it leaves them.
        pub reset: bool { default: true, source: "RED-AT paper, Fig. 6" },
    }
}

params! {
    /// Its steps, whose names other adapters use as well.
    pub struct ThresholdSteps: Default {
        /// Step of min_th, as a fraction of min_hi − min_lo.
        pub alpha: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.1,
            source: "reading: the paper says β < α",
        },
        /// Step of max_th, as a fraction of max_hi − max_lo.
        pub beta: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.05,
            source: "reading: the paper says β < α",
        },
    }
}

/// RED-AT: RED with an adapter of the thresholds.
pub type RedAt = Composed<Straight, Regions>;

const COLUMNS: &[Column<RedAt>; 4] = &[RedAt::AVG, RedAt::MIN_TH, RedAt::MAX_TH, RedAt::P_B];

impl RedAt {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &RedAtParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let ramp = p.thresholds.ramp(&setting, p.ceiling.max_p)?;
        let adapter = Regions::new(&p.regions, &p.steps, &ramp, &setting.unit)?;
        Ok(p.base.compose(&setting, ramp, p.ceiling.profile(), adapter, COLUMNS))
    }
}

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
    pub(crate) fn new(
        p: &RegionParams,
        steps: &ThresholdSteps,
        r: &Ramp,
        unit: &Unit,
    ) -> Result<Self, ParamError> {
        let bound = |q: Option<QueueLen>, auto| q.map_or(auto, |q| unit.length(q));
        let min = (bound(p.min_lo, 0.5 * r.min_th), bound(p.min_hi, 1.5 * r.min_th));
        let max =
            (bound(p.max_lo, (0.8 * r.max_th).max(r.min_th)), bound(p.max_hi, 1.2 * r.max_th));
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
        Ok(Regions {
            min,
            max,
            nominal: (r.min_th, r.max_th),
            steps: (steps.alpha * (min.1 - min.0), steps.beta * (max.1 - max.0)),
            hold: p.hold,
            region_a: match p.region_a {
                RegionA::MinPlus => min.1,
                RegionA::MinMinus => min.0,
            },
            reset: p.reset,
            region: Region::B,
            held: 0,
        })
    }
}

impl<P> Adapter<P> for Regions {
    /// Fig. 6.
    #[inline]
    fn arrived(&mut self, a: &Arrival, r: &mut Ramp, _: &mut P) {
        let avg = a.avg;
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
    use crate::testing::{context, params, PKT};
    use penstock_units::{Rng, Time};

    fn build(set: &[(&'static str, &'static str)]) -> Result<RedAt, ParamError> {
        RedAt::new(&params(&KIND, set), &context())
    }

    fn red_at(set: &[(&'static str, &'static str)]) -> (Regions, Ramp) {
        let d = build(&[&[("min_th", "10"), ("max_th", "30")], set].concat()).unwrap();
        (d.adapter, d.ramp)
    }

    fn arrived(regions: &mut Regions, avg: f64, r: &mut Ramp) {
        regions.arrived(&Arrival { now: Time::ZERO, avg, q: 0.0, pkt: &PKT }, r, &mut ());
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
                arrived(&mut a, avg, &mut r);
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
            (0..5).for_each(|_| arrived(&mut a, 12.0, &mut r));
            assert!((r.min_th - moved).abs() < 1e-9, "{set:?}");
        }
        let (mut a, mut r) = red_at(&[("reset", "false")]);
        (0..5).for_each(|_| arrived(&mut a, 3.0, &mut r));
        (0..5).for_each(|_| arrived(&mut a, 20.0, &mut r));
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
                (0..5 * (1.0 + 15.0 * rng.unit()) as u32)
                    .for_each(|_| arrived(&mut a, avg, &mut r));
                assert!(r.min_th < r.max_th, "{r:?}");
            }
        }
    }

    #[test]
    fn bounds_out_of_order_name_the_key() {
        for (key, value) in
            [("min_lo", "11"), ("min_hi", "9"), ("max_lo", "31"), ("max_hi", "29"), ("max_lo", "5")]
        {
            let err = build(&[("min_th", "10"), ("max_th", "30"), (key, value)]).unwrap_err();
            assert_eq!(err.name, key, "{value}");
        }
        // The automatic bounds of narrow thresholds overlap.
        assert!(build(&[("min_th", "10"), ("max_th", "12")]).is_ok());
    }
}
