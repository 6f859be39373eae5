//! AMECN: Durresi, Sridharan, Jain, "Adaptive multi-level explicit congestion notification", 2007,
//! section 3. MECN whose ceilings follow the average into a target range, in steps that grow with
//! the distance (Fig. 3):
//!
//! `avg > target` and `P_max ≤ 0.5`: `P_max += 0.25·((avg − target)/target)·P_max`;
//! `avg < target` and `P_max ≥ 0.01`: `P_max *= 1 − 0.17·(target − avg)/(target − min_th)`.
//!
//! Departs from the text: equation (4) prints the increment with a further factor 0.17, against
//! Fig. 3 and the sentence before it (`alpha_scale`); β falls to 0.66 at avg = 0 although the text
//! says 0.83 (`beta_floor`).

use crate::adapter::{Adapter, Clock};
use crate::ared::{clock, CLOCK};
use crate::mecn::{MECN, STATE};
use crate::profile::Ramp;
use crate::red::{RedFamily, PARAMS, THRESHOLDS};
use crate::{Discipline, Kind};
use penstock_units::param::{num, num_open, Param, ParamError, Ty, Values, PARAM};
use penstock_units::Time;

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "amecn",
    doc: "Adaptive MECN: the ceilings of both ramps follow the average into a target range.",
    source: "AMECN paper, section 3",
    equations: "MECN, and every interval, with target = (min_th + max_th)/2:\n\
        avg above the target range and P_max ≤ 0.5:   P_max ← P_max + 0.25·((avg − target)/target)·P_max\n\
        avg below the target range and P_max ≥ 0.01:  P_max ← P_max·(1 − 0.17·(target − avg)/(target − min_th))\n\
        target range: min_th + 0.4…0.6·(max_th − min_th);  P_max in [0.01, 0.5];  p1_max = P_max, p2_max = P_max·p2_over_p1",
    expect: "As ARED, the average returns to the middle of the thresholds whatever the load; steps grow with the \
        distance, so it is there sooner: the paper shows about 15 s. The target lies below mid_th, so in \
        steady state marks are incipient; moderate ones answer a rise in load. One number is to be chosen: \
        target_delay or target_queue.",
    weaknesses: "The paper contradicts itself: equation (4) has a further factor 0.17 in the increment, against Fig. \
        3 (`alpha_scale`); β falls to 0.66 at avg = 0 though the text says 0.83 (`beta_floor`). It does not \
        say which ramp P_max is: here both (`adapt`, `p2_over_p1`). At light load P_max stands at its floor, \
        0.01, and the queue lies below the target.",
    params: &[PARAMS, THRESHOLDS, MECN, AMECN, CLOCK],
    state: STATE,
    defaults: &[("ecn", "true")],
    ns2: &[],
    build: |v, cx| {
        let mut family = RedFamily::new(v, cx, STATE)?.with_levels(v)?;
        let adapter = Levels::from_values(v)?;
        adapter.begin(&mut family.ramp);
        Ok(Discipline::Red(family.with_adapter(Adapter::Levels(adapter))))
    },
};

/// Bounds of `P_max` (Fig. 3 and section 3.3.1).
const BOUNDS: (f64, f64) = (0.01, 0.5);
/// The target range, as fractions of the way from `min_th` to `max_th`.
const RANGE: (f64, f64) = (0.4, 0.6);

/// Its own parameters.
pub(crate) const AMECN: &[Param] = &[
    Param {
        name: "target_queue",
        ty: Ty::Queue,
        unit: "packets",
        auto: "from target_delay",
        source: "AMECN paper, section 3.3.3: target = 2·min_th",
        doc: "Average queue to aim at, from which min_th follows where that is left out; instead of target_delay.",
        ..PARAM
    },
    Param {
        name: "alpha_scale",
        ty: num_open(0.0, 100.0),
        unit: "1",
        default: Some("1"),
        source: "AMECN paper: Fig. 3; equation (4) has 0.17",
        doc: "A further factor of the increment.",
        ..PARAM
    },
    Param {
        name: "deadband",
        ty: Ty::Bool,
        default: Some("true"),
        source: "AMECN paper, Fig. 3: target is a range",
        doc: "Adapt only outside the target range; false: at any distance from its middle.",
        ..PARAM
    },
    Param {
        name: "adapt",
        ty: Ty::Word(&["both", "p1"]),
        default: Some("\"both\""),
        source: "reading: the paper adapts \"P_max\"",
        doc: "Both: p2_max is p2_over_p1·p1_max, whatever it is set to; p1: it stays.",
        ..PARAM
    },
    Param {
        name: "p2_over_p1",
        ty: num_open(0.0, 100.0),
        unit: "1",
        default: Some("1"),
        source: "reading",
        doc: "p2_max over p1_max, where both are adapted.",
        ..PARAM
    },
    Param {
        name: "beta_floor",
        ty: num(0.0, 1.0),
        unit: "1",
        auto: "none, as equation (3) prints",
        source: "AMECN paper, section 3.3.2: β from 0.83 to 1",
        doc: "β is not below this.",
        ..PARAM
    },
];

/// AMECN's adapter.
#[derive(Clone, Debug)]
pub struct Levels {
    alpha_scale: f64,
    deadband: bool,
    /// `p2_max = ratio·p1_max`; `None`: it stays.
    ratio: Option<f64>,
    beta_floor: f64,
    /// At arrivals it restarts at every check.
    pub(crate) clock: Clock,
}

impl Levels {
    pub(crate) fn from_values(v: &Values) -> Result<Self, ParamError> {
        Ok(Levels {
            alpha_scale: v.num("alpha_scale"),
            deadband: v.bool("deadband"),
            ratio: (!v.is("adapt", "p1")).then(|| v.num("p2_over_p1")),
            beta_floor: v.opt_num("beta_floor").unwrap_or(0.0),
            clock: clock(v)?,
        })
    }

    /// P_max starts at `p1_max`, within its bounds.
    pub(crate) fn begin(&self, r: &mut Ramp) {
        r.max_p = r.max_p.clamp(BOUNDS.0, BOUNDS.1);
        self.second(r);
    }

    /// The second ceiling follows the first.
    fn second(&self, r: &mut Ramp) {
        if let Some(ratio) = self.ratio {
            r.p2_max = (ratio * r.max_p).min(1.0);
        }
    }

    /// Fig. 3.
    fn adapt(&self, avg: f64, r: &mut Ramp) {
        let part = |f: f64| r.min_th + f * (r.max_th - r.min_th);
        let target = part((RANGE.0 + RANGE.1) / 2.0);
        let (low, high) =
            if self.deadband { (part(RANGE.0), part(RANGE.1)) } else { (target, target) };
        if avg > high && r.max_p <= BOUNDS.1 {
            let alpha = 0.25 * self.alpha_scale * (avg - target) / target * r.max_p;
            r.max_p += alpha;
        } else if avg < low && r.max_p >= BOUNDS.0 {
            let beta = 1.0 - 0.17 * (target - avg) / (target - r.min_th);
            r.max_p *= beta.max(self.beta_floor).max(0.0);
        } else {
            return;
        }
        r.max_p = r.max_p.clamp(BOUNDS.0, BOUNDS.1);
        self.second(r);
    }

    /// A packet arrived and the average is now `avg`.
    #[inline]
    pub fn arrived(&mut self, now: Time, avg: f64, r: &mut Ramp) {
        if self.clock.over(now) {
            self.clock.restart(now);
            self.adapt(avg, r);
        }
    }

    /// The interval is over.
    pub fn tick(&mut self, avg: f64, r: &mut Ramp) {
        self.clock.ticked();
        self.adapt(avg, r);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::red::tests::{build, RAMP5_15};

    fn adapter(set: &[(&'static str, &str)]) -> Levels {
        let d = build(&KIND, &[&[("min_th", "5"), ("max_th", "15")], set].concat()).unwrap();
        match d.adapter {
            Adapter::Levels(a) => a,
            other => panic!("{other:?}"),
        }
    }

    /// min 5, max 15, target 10, P_max 0.1: avg 15 gives α = 0.25·0.5·0.1; avg 5 β = 0.83; 7.5 β =
    /// 0.915; 0 β = 0.66.
    #[test]
    fn steps_by_hand() {
        for (set, avg, want) in [
            (&[][..], 15.0, 0.1125),
            (&[], 5.0, 0.083),
            (&[], 7.5, 0.0915),
            (&[], 0.0, 0.066),
            (&[], 9.5, 0.1), // within 9..11
            (&[], 30.0, 0.15),
            (&[("alpha_scale", "0.17")], 15.0, 0.102125),
            (&[("deadband", "false")], 9.5, 0.0983), // 1 − 0.17·0.5/5
            (&[("beta_floor", "0.83")], 0.0, 0.083),
        ] {
            let mut r = RAMP5_15;
            adapter(set).tick(avg, &mut r);
            assert!((r.max_p - want).abs() < 1e-12, "{set:?} {avg}: {}", r.max_p);
            assert_eq!(r.p2_max, r.max_p);
        }
    }

    #[test]
    fn ceilings_stay_in_their_bounds() {
        let mut r = RAMP5_15;
        let mut a = adapter(&[("p2_over_p1", "2")]);
        for _ in 0..200 {
            a.tick(30.0, &mut r);
        }
        assert_eq!((r.max_p, r.p2_max), (0.5, 1.0));
        for _ in 0..200 {
            a.tick(0.0, &mut r);
        }
        assert_eq!((r.max_p, r.p2_max), (0.01, 0.02));
        let mut r = RAMP5_15;
        adapter(&[("adapt", "\"p1\"")]).tick(30.0, &mut r);
        assert!((r.max_p - 0.15).abs() < 1e-12 && r.p2_max == 0.1);
    }

    #[test]
    fn p_max_starts_within_its_bounds() {
        for (p1_max, want) in [("0.9", (0.5, 0.5)), ("0.2", (0.2, 0.2)), ("0", (0.01, 0.01))] {
            let r = build(&KIND, &[("p1_max", p1_max)]).unwrap().ramp;
            assert_eq!((r.max_p, r.p2_max), want, "{p1_max}");
        }
        assert_eq!(build(&KIND, &[("target_queue", "0")]).unwrap_err().name, "target_queue");
    }

    /// 10 Mbit/s, 1000 B. Target queue 20 packets: min 10, max 30, mid 22.5. Target delay 40 ms: 50
    /// packets.
    #[test]
    fn automatic_setting() {
        for (set, min_th) in [(("target_queue", "20"), 10.0), (("target_delay", "\"40 ms\""), 25.0)]
        {
            let r = build(&KIND, &[set]).unwrap().ramp;
            assert!((r.min_th - min_th).abs() < 1e-9, "{set:?}: {r:?}");
            assert!(
                (r.max_th - 3.0 * min_th).abs() < 1e-9 && (r.mid_th - 2.25 * min_th).abs() < 1e-9
            );
        }
    }
}
