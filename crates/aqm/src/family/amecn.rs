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

use crate::context::{Common, Context};
use crate::family::mecn::{TwoLevel, TwoRamps};
use crate::family::params::{Base, Setting, Thresholds};
use crate::kind::{own_tables, states, Kind};
use crate::parts::adapter::{Adapter, Clock, ClockParams};
use crate::parts::compose::Composed;
use crate::parts::profile::{Arrival, Ramp};
use penstock_units::param::{num, num_open, ParamError};
use penstock_units::{group, params, words, QueueLen, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "amecn",
    doc: "Adaptive MECN: the ceilings of both ramps follow the average into a target range.",
    source: "AMECN paper, section 3",
    equations: "MECN, and every interval, with target = (min_th + max_th)/2:\n\
        avg above the target range and P_max ≤ 0.5:   P_max ← P_max + 0.25·((avg − target)/target)·P_max\n\
        avg below the target range and P_max ≥ 0.01:  P_max ← P_max·(1 − 0.17·(target − avg)/(target − min_th))\n\
        target range: min_th + 0.4…0.6·(max_th − min_th);  P_max in [0.01, 0.5];  p1_max = P_max, p2_max = P_max·p2_over_p1",
    expect: "As ARED, the average returns to the middle of the thresholds whatever the load; \
        steps grow with the distance, so it is there sooner: the paper shows about 15 s. The \
        target lies below mid_th, so in steady state marks are incipient; moderate ones answer a \
        rise in load. One number is to be chosen: target_delay or target_queue.",
    weaknesses: "The paper contradicts itself: equation (4) has a further factor 0.17 in the \
        increment, against Fig. 3 (`alpha_scale`); β falls to 0.66 at avg = 0 though the text \
        says 0.83 (`beta_floor`). It does not say which ramp P_max is: here both (`adapt`, \
        `p2_over_p1`). At light load P_max stands at its floor, 0.01, and the queue lies below \
        the target. Marks cannot push a flow below one packet per round trip: with more flows \
        than the path holds packets the queue stays above the target and P_max at its ceiling. \
        `mark_p = 0.2` drops beyond, which mends that at the price of losses (penstock reproduce \
        repairs).",
    params: own_tables::<AmecnParams>(),
    state: &states(Amecn::LEVELS),
    defaults: AmecnParams::DEFAULTS,
};

group! {
    /// What the user of AMECN sets.
    pub struct AmecnParams {
        /// What the whole family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// MECN's two ramps and marks.
        pub ramps: TwoRamps,
        /// How the ceilings move.
        pub ceilings: Ceilings,
        /// When they move.
        pub clock: ClockParams,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("ecn", "true")],
}

/// Bounds of `P_max` (Fig. 3 and section 3.3.1).
const BOUNDS: (f64, f64) = (0.01, 0.5);
/// The target range, as fractions of the way from `min_th` to `max_th`.
const RANGE: (f64, f64) = (0.4, 0.6);

words! {
    /// Which ceilings are adapted.
    pub enum Adapt {
        /// Both: the second is in proportion to the first.
        Both = "both",
        /// The first; the second stays.
        First = "p1",
    }
}

params! {
    /// Its own parameters.
    pub struct Ceilings: Default {
        /// Average queue to aim at, from which min_th follows where that is left out; instead of
        /// target_delay.
        pub target_queue: Option<QueueLen> {
            unit: "packets",
            auto: "from target_delay",
            source: "AMECN paper, section 3.3.3: target = 2·min_th",
        },
        /// A further factor of the increment.
        pub alpha_scale: f64 {
            ty: num_open(0.0, 100.0),
            unit: "1",
            default: 1,
            source: "AMECN paper: Fig. 3; equation (4) has 0.17",
        },
        /// Adapt only outside the target range; false: at any distance from its middle.
        pub deadband: bool { default: true, source: "AMECN paper, Fig. 3: target is a range" },
        /// Both: p2_max is p2_over_p1·p1_max, whatever it is set to; p1: it stays.
        pub adapt: Adapt { default: "both", source: "reading: the paper adapts \"P_max\"" },
        /// p2_max over p1_max, where both are adapted.
        pub p2_over_p1: f64 { ty: num_open(0.0, 100.0), unit: "1", default: 1, source: "reading" },
        /// β is not below this.
        pub beta_floor: Option<f64> {
            ty: num(0.0, 1.0),
            unit: "1",
            auto: "none, as equation (3) prints",
            source: "AMECN paper, section 3.3.2: β from 0.83 to 1",
        },
    }
}

/// AMECN: MECN with an adapter.
pub type Amecn = Composed<TwoLevel, Levels>;

impl Amecn {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &AmecnParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let (min_th, max_th) = p.thresholds.place(&setting, p.ceilings.min_th(&setting)?)?;
        let mut ramp = Ramp { min_th, max_th, max_p: p.ramps.p1_max };
        let mut profile = TwoLevel::new(&p.ramps, &setting, &ramp)?;
        let adapter = Levels::new(&p.ceilings, &p.clock)?;
        adapter.begin(&mut ramp, &mut profile);
        let composed = p.base.compose(&setting, ramp, profile, adapter, Amecn::LEVELS);
        Ok(composed.with_two_marks(&p.ramps))
    }
}

impl Ceilings {
    /// Returns the automatic `min_th`: a target queue is twice `min_th` (section 3.3.3).
    pub(crate) fn min_th(&self, setting: &Setting) -> Result<Option<f64>, ParamError> {
        let min_th = self.target_queue.map(|q| setting.unit.length(q) / 2.0);
        if min_th.is_some_and(|min_th| min_th <= 0.0) {
            return Err(ParamError::new("target_queue", "must be above 0"));
        }
        Ok(min_th)
    }
}

/// AMECN's adapter.
#[derive(Clone, Debug)]
pub struct Levels {
    alpha_scale: f64,
    deadband: bool,
    /// `p2_max = ratio·p1_max`; `None` where it stays.
    ratio: Option<f64>,
    beta_floor: f64,
    /// At arrivals it restarts at every check.
    clock: Clock,
}

impl Levels {
    pub(crate) fn new(p: &Ceilings, clock: &ClockParams) -> Result<Self, ParamError> {
        Ok(Levels {
            alpha_scale: p.alpha_scale,
            deadband: p.deadband,
            ratio: (p.adapt == Adapt::Both).then_some(p.p2_over_p1),
            beta_floor: p.beta_floor.unwrap_or(0.0),
            clock: Clock::new(clock)?,
        })
    }

    /// P_max starts at `p1_max`, within its bounds.
    pub(crate) fn begin(&self, r: &mut Ramp, second: &mut TwoLevel) {
        r.max_p = r.max_p.clamp(BOUNDS.0, BOUNDS.1);
        self.second(r, second);
    }

    /// The second ceiling follows the first.
    fn second(&self, r: &Ramp, second: &mut TwoLevel) {
        if let Some(ratio) = self.ratio {
            second.p2_max = (ratio * r.max_p).min(1.0);
        }
    }

    /// Fig. 3.
    fn adapt(&self, avg: f64, r: &mut Ramp, second: &mut TwoLevel) {
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
        self.second(r, second);
    }
}

impl Adapter<TwoLevel> for Levels {
    #[inline]
    fn arrived(&mut self, a: &Arrival, r: &mut Ramp, second: &mut TwoLevel) {
        if self.clock.over(a.now) {
            self.clock.restart(a.now);
            self.adapt(a.avg, r, second);
        }
    }

    #[inline]
    fn next_tick(&self) -> Option<Time> {
        self.clock.next_tick()
    }

    fn start(&mut self, now: Time) {
        self.clock.start(now);
    }

    fn tick(&mut self, avg: f64, _: f64, r: &mut Ramp, second: &mut TwoLevel) {
        self.clock.ticked();
        self.adapt(avg, r, second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::profile::tests::RAMP5_15;
    use crate::testing::{context, params};

    fn build(set: &[(&'static str, &'static str)]) -> Result<Amecn, ParamError> {
        Amecn::new(&params(&KIND, set), &context())
    }

    fn adapter(set: &[(&'static str, &'static str)]) -> Levels {
        build(&[&[("min_th", "5"), ("max_th", "15")], set].concat()).unwrap().adapter
    }

    const TWO: TwoLevel = TwoLevel { mid_th: 10.0, p2_max: 0.1, gentle: true };

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
            let (mut r, mut two) = (RAMP5_15, TWO);
            adapter(set).tick(avg, 0.0, &mut r, &mut two);
            assert!((r.max_p - want).abs() < 1e-12, "{set:?} {avg}: {}", r.max_p);
            assert_eq!(two.p2_max, r.max_p);
        }
    }

    #[test]
    fn ceilings_stay_in_their_bounds() {
        let (mut r, mut two) = (RAMP5_15, TWO);
        let mut a = adapter(&[("p2_over_p1", "2")]);
        for _ in 0..200 {
            a.tick(30.0, 0.0, &mut r, &mut two);
        }
        assert_eq!((r.max_p, two.p2_max), (0.5, 1.0));
        for _ in 0..200 {
            a.tick(0.0, 0.0, &mut r, &mut two);
        }
        assert_eq!((r.max_p, two.p2_max), (0.01, 0.02));
        let (mut r, mut two) = (RAMP5_15, TWO);
        adapter(&[("adapt", "\"p1\"")]).tick(30.0, 0.0, &mut r, &mut two);
        assert!((r.max_p - 0.15).abs() < 1e-12 && two.p2_max == 0.1);
    }

    #[test]
    fn p_max_starts_within_its_bounds() {
        for (p1_max, want) in [("0.9", (0.5, 0.5)), ("0.2", (0.2, 0.2)), ("0", (0.01, 0.01))] {
            let d = build(&[("p1_max", p1_max)]).unwrap();
            assert_eq!((d.ramp.max_p, d.profile.p2_max), want, "{p1_max}");
        }
        assert_eq!(build(&[("target_queue", "0")]).unwrap_err().name, "target_queue");
    }

    /// 10 Mbit/s, 1000 B. Target queue 20 packets: min 10, max 30, mid 22.5. Target delay 40 ms: 50
    /// packets.
    #[test]
    fn automatic_setting() {
        for (set, min_th) in [(("target_queue", "20"), 10.0), (("target_delay", "\"40 ms\""), 25.0)]
        {
            let d = build(&[set]).unwrap();
            let r = d.ramp;
            assert!((r.min_th - min_th).abs() < 1e-9, "{set:?}: {r:?}");
            assert!(
                (r.max_th - 3.0 * min_th).abs() < 1e-9
                    && (d.profile.mid_th - 2.25 * min_th).abs() < 1e-9
            );
        }
    }
}
