//! A discipline of RED's family put together by name: estimator, profile, gate, signal and adapter.
//! Every member of the family that has a kind of its own can be said this way, and then does the
//! same, bit for bit.

use crate::context::{Common, Context};
use crate::family::amecn::{Ceilings, Levels};
use crate::family::ared::{Floyd, Lowest, Steps, Target};
use crate::family::dt_red::{Burst, BurstParams};
use crate::family::feng::{Bounds, Crossings, Factors, Highest};
use crate::family::mecn::{self, TwoLevel, TwoRamps};
use crate::family::nlred::Square;
use crate::family::nred::{self, Exponent, Exponents, Power};
use crate::family::params::{Base, Ceiling, Setting, Thresholds};
use crate::family::pdt_red::{Classes, Shares};
use crate::family::rared::{self, Climb, Climbing};
use crate::family::red_at::{RegionParams, Regions, ThresholdSteps};
use crate::kind::{column, own_tables, states, Column, Kind};
use crate::parts::adapter::{Adapter, ClockParams};
use crate::parts::compose::Composed;
use crate::parts::estimator::Weight;
use crate::parts::profile::{Arrival, Point, Profile, Ramp, Straight};
use penstock_units::param::{num_open, ParamError};
use penstock_units::{group, params, words, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "custom",
    doc: "RED's family recombined: an estimator, a profile, a gate, a signal and an adapter, by \
        name.",
    source: "the parts' papers",
    equations: "estimator  avg ← ewma | instantaneous\n\
        profile    p ← ramp | rate-aware | square | power | two-level\n\
        gate       uniform | wait | geometric | drawn\n\
        signal     drop | classic | levels\n\
        adapter    none | ared | feng-ared | amecn | nred | red-at | dt-red | pdt-red",
    expect: "It does what its parts do; with its defaults it is RED. A member of the family that \
        is put together this way does the same, bit for bit, as its own kind. It is meant for \
        combinations that nobody has published: a square profile with ARED's adapter, or two \
        levels on the instantaneous queue. The adapter must have something to move: ared, \
        feng-ared and amecn move max_p, nred moves n, the others the thresholds.",
    weaknesses: "Combinations that make no sense are not refused: nred's adapter does nothing to \
        a ramp, amecn's p2_max nothing to one level. `alpha`, `beta` and `max_p_low` belong to \
        the adapter that is chosen and have its defaults.",
    params: own_tables::<CustomParams>(),
    state: &states(COLUMNS),
    defaults: CustomParams::DEFAULTS,
};

group! {
    /// What the user of a recombination sets: the names of the parts, and the keys of them all.
    pub struct CustomParams {
        /// Which parts.
        pub parts: Parts,
        /// What the whole family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// The ramp's ceiling.
        pub ceiling: Ceiling,
        /// MECN's.
        pub ramps: TwoRamps,
        /// AMECN's.
        pub ceilings: Ceilings,
        /// RARED's.
        pub climbing: Climbing,
        /// NRED's.
        pub exponents: Exponents,
        /// RED-AT's.
        pub regions: RegionParams,
        /// Feng's.
        pub factors: Factors,
        /// DT-RED's.
        pub bursts: BurstParams,
        /// PDT-RED's.
        pub shares: Shares,
        /// Of adapters with a clock.
        pub clock: ClockParams,
        /// ARED's.
        pub target: Target,
        /// Of several adapters.
        pub shared: Shared,
        /// What every kind takes.
        pub common: Common,
    }
}

words! {
    /// What follows the queue.
    pub enum EstimatorName {
        /// The weighted average.
        Ewma = "ewma",
        /// The queue itself.
        Instantaneous = "instantaneous",
    }
}

words! {
    /// The profile.
    pub enum ProfileName {
        /// RED's.
        Ramp = "ramp",
        /// RED's, with RARED's switch.
        RateAware = "rate-aware",
        /// NLRED's.
        Square = "square",
        /// NRED's.
        Power = "power",
        /// MECN's.
        TwoLevel = "two-level",
    }
}

words! {
    /// The signal.
    pub enum SignalName {
        /// Drops only.
        Drop = "drop",
        /// CE marks, where `ecn` is on.
        Classic = "classic",
        /// MECN's marks.
        Levels = "levels",
    }
}

words! {
    /// The adapter.
    pub enum AdapterName {
        /// None.
        None = "none",
        /// ARED's.
        Ared = "ared",
        /// Feng's.
        Feng = "feng-ared",
        /// AMECN's.
        Amecn = "amecn",
        /// NRED's.
        Nred = "nred",
        /// RED-AT's.
        RedAt = "red-at",
        /// DT-RED's.
        DtRed = "dt-red",
        /// PDT-RED's.
        PdtRed = "pdt-red",
    }
}

params! {
    /// Parameters.
    pub struct Parts: Default {
        /// What follows the queue: the weighted average, or the queue itself.
        pub estimator: EstimatorName {
            default: "ewma",
            source: "Floyd, Jacobson 1993; DCTCP looks at the queue itself",
        },
        /// From the average to probabilities; the keys are those of the kind that has it.
        pub profile: ProfileName { default: "ramp", source: "red; rared; nlred; nred; mecn" },
        /// Drop; or, with `ecn`, mark CE; or mark incipient and moderate congestion.
        pub signal: SignalName { default: "classic", source: "RFC 3168; AMECN paper, Table 1" },
        /// What retunes the profile; the keys are those of the kind that has it.
        pub adapter: AdapterName { default: "none", source: "the kinds of these names" },
    }
}

params! {
    /// Keys that several adapters have, each with a default of its own.
    pub struct Shared: Default {
        /// Step up of the adapter that has an alpha.
        pub alpha: Option<f64> {
            ty: num_open(0.0, 1.0),
            unit: "1",
            auto: "the adapter's",
            source: "ared; red-at",
        },
        /// Step down of the adapter that has a beta.
        pub beta: Option<f64> {
            ty: num_open(0.0, 1.0),
            unit: "1",
            auto: "the adapter's",
            source: "ared; red-at",
        },
        /// Lower bound of max_p of the adapter that has one.
        pub max_p_low: Option<Lowest> {
            unit: "1",
            auto: "the adapter's",
            source: "ared; feng-ared",
        },
        /// Upper bound of max_p of the adapter that has one.
        pub max_p_high: Option<Highest> {
            unit: "1",
            auto: "the adapter's",
            source: "ared; feng-ared",
        },
    }
}

/// A member of the family by names: which profile and which adapter it has is looked at per packet.
pub type Custom = Composed<Profiles, (AnyAdapter, Option<Climb>)>;

const COLUMNS: &[Column<Custom>; 10] = &[
    Custom::AVG,
    Custom::MIN_TH,
    Custom::MAX_TH,
    Custom::MAX_P,
    column(mecn::P2_MAX.0, mecn::P2_MAX.1, |d| d.profile.two.p2_max),
    column(nred::EXPONENT.0, nred::EXPONENT.1, |d| d.profile.power.n),
    Custom::P_B,
    column(mecn::P2.0, mecn::P2.1, |d| d.last.p()[1]),
    column(rared::PKTS.0, rared::PKTS.1, |d| d.adapter.1.as_ref().map_or(0.0, |c| c.pkts as f64)),
    column(rared::MARKS.0, rared::MARKS.1, |d| {
        d.adapter.1.as_ref().map_or(0.0, |c| c.marks as f64)
    }),
];

impl Custom {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &CustomParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let (min_th, max_th) = p.thresholds.place(&setting, p.ceilings.min_th(&setting)?)?;
        let mut ramp = Ramp { min_th, max_th, max_p: p.ceiling.max_p };
        let mut base = p.base.clone();
        if p.parts.estimator == EstimatorName::Instantaneous {
            base.w_q = Weight::Number(1.0);
        }
        let mut profile = Profiles::new(p, &setting, &mut ramp)?;
        let climb = (p.parts.profile == ProfileName::RateAware)
            .then(|| Climb::new(&p.climbing, &setting, &ramp));
        let w_q = base.w_q.on(setting.c, cx.delay);
        let adapter = AnyAdapter::new(p, &setting, w_q, &mut ramp, &mut profile)?;
        let marks = p.parts.signal != SignalName::Drop;
        let setting = Setting { ecn: setting.ecn && marks, ..setting };
        let composed = base.compose(&setting, ramp, profile, (adapter, climb), COLUMNS);
        Ok(match p.parts.signal {
            SignalName::Drop | SignalName::Classic => composed,
            SignalName::Levels => composed.with_two_marks(&p.ramps),
        })
    }
}

/// The profiles of the family, of which one is in use. An adapter may move numbers of one that is
/// not; they are published all the same.
#[derive(Clone, Debug)]
pub struct Profiles {
    which: ProfileName,
    straight: Straight,
    square: Square,
    power: Power,
    two: TwoLevel,
    /// The ramps of the classes, where each class has one of its own.
    classes: Option<Classes>,
}

impl Profiles {
    fn new(p: &CustomParams, setting: &Setting, r: &mut Ramp) -> Result<Self, ParamError> {
        let gentle = p.ceiling.gentle;
        let mut profiles = Profiles {
            which: p.parts.profile,
            straight: p.ceiling.profile(),
            square: Square { gentle },
            power: Power { limit: setting.limit(), n: 1.0, straight: false },
            two: TwoLevel { mid_th: r.max_th, p2_max: 0.0, gentle },
            classes: None,
        };
        match profiles.which {
            ProfileName::Ramp | ProfileName::RateAware | ProfileName::Square => {}
            ProfileName::Power => {
                profiles.power = Power::within(setting, &p.thresholds, &p.exponents, r)?
            }
            ProfileName::TwoLevel => {
                r.max_p = p.ramps.p1_max;
                profiles.two = TwoLevel::new(&p.ramps, setting, r)?;
            }
        }
        if p.parts.adapter == AdapterName::PdtRed {
            let classes = Classes::new(&p.shares, setting, r.max_p)?;
            *r = classes.ramp;
            profiles.classes = Some(classes);
        }
        Ok(profiles)
    }
}

impl Profile for Profiles {
    #[inline]
    fn at(&mut self, a: &Arrival, r: &Ramp) -> Point {
        let placed = self.classes.as_mut().map(|c| c.place(a.q, a.pkt.class, r.max_p));
        let r = placed.as_ref().unwrap_or(r);
        match self.which {
            ProfileName::Ramp | ProfileName::RateAware => self.straight.at(a, r),
            ProfileName::Square => self.square.at(a, r),
            ProfileName::Power => self.power.at(a, r),
            ProfileName::TwoLevel => self.two.at(a, r),
        }
    }

    #[inline]
    fn in_force<'a>(&'a self, own: &'a Ramp) -> &'a Ramp {
        self.classes.as_ref().map_or(own, |classes| &classes.ramp)
    }

    fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        if self.which == ProfileName::TwoLevel {
            self.two.settled(out);
        }
    }
}

/// An adapter of the family.
#[derive(Clone, Debug)]
pub enum AnyAdapter {
    /// It adapts nothing: RED.
    None,
    /// ARED: `max_p` by a timer.
    Ared(Floyd),
    /// Feng's ARED: `max_p` when the average crosses a threshold.
    Feng(Crossings),
    /// AMECN: the ceilings of both levels by a timer.
    Amecn(Levels),
    /// NRED: the exponent when the average crosses a threshold.
    Nred(Exponent),
    /// RED-AT: the thresholds by the region of the average.
    RedAt(Regions),
    /// DT-RED: the thresholds by bursts and flows.
    DtRed(Burst),
}

impl AnyAdapter {
    fn new(
        p: &CustomParams,
        setting: &Setting,
        w_q: f64,
        r: &mut Ramp,
        profiles: &mut Profiles,
    ) -> Result<Self, ParamError> {
        Ok(match p.parts.adapter {
            // The thresholds of the packet's class are part of the profile.
            AdapterName::None | AdapterName::PdtRed => AnyAdapter::None,
            AdapterName::Ared => {
                let steps = p.shared.steps();
                AnyAdapter::Ared(Floyd::new(&p.target, &steps, &p.clock, &setting.cx)?)
            }
            AdapterName::Feng => AnyAdapter::Feng(Crossings::new(&p.factors, &p.shared.bounds())?),
            AdapterName::Amecn => {
                let levels = Levels::new(&p.ceilings, &p.clock)?;
                levels.begin(r, &mut profiles.two);
                AnyAdapter::Amecn(levels)
            }
            AdapterName::Nred => {
                AnyAdapter::Nred(Exponent::new(&p.exponents, r, &mut profiles.power)?)
            }
            AdapterName::RedAt => {
                let steps = p.shared.threshold_steps();
                AnyAdapter::RedAt(Regions::new(&p.regions, &steps, r, &setting.unit)?)
            }
            AdapterName::DtRed => {
                AnyAdapter::DtRed(Burst::new(&p.bursts, &p.clock, setting, w_q, r)?)
            }
        })
    }
}

impl Adapter<Profiles> for AnyAdapter {
    #[inline]
    fn arrived(&mut self, a: &Arrival, r: &mut Ramp, p: &mut Profiles) {
        match self {
            AnyAdapter::None => {}
            AnyAdapter::Ared(x) => x.arrived(a, r, p),
            AnyAdapter::Feng(x) => x.arrived(a, r, p),
            AnyAdapter::Amecn(x) => x.arrived(a, r, &mut p.two),
            AnyAdapter::Nred(x) => x.arrived(a, r, &mut p.power),
            AnyAdapter::RedAt(x) => x.arrived(a, r, p),
            AnyAdapter::DtRed(x) => x.arrived(a, r, p),
        }
    }

    #[inline]
    fn next_tick(&self) -> Option<Time> {
        match self {
            AnyAdapter::Ared(x) => Adapter::<Profiles>::next_tick(x),
            AnyAdapter::Amecn(x) => x.next_tick(),
            AnyAdapter::Nred(x) => x.next_tick(),
            AnyAdapter::DtRed(x) => Adapter::<Profiles>::next_tick(x),
            AnyAdapter::None | AnyAdapter::Feng(_) | AnyAdapter::RedAt(_) => None,
        }
    }

    fn start(&mut self, now: Time) {
        match self {
            AnyAdapter::Ared(x) => Adapter::<Profiles>::start(x, now),
            AnyAdapter::Amecn(x) => x.start(now),
            AnyAdapter::Nred(x) => x.start(now),
            AnyAdapter::DtRed(x) => Adapter::<Profiles>::start(x, now),
            AnyAdapter::None | AnyAdapter::Feng(_) | AnyAdapter::RedAt(_) => {}
        }
    }

    fn tick(&mut self, avg: f64, q: f64, r: &mut Ramp, p: &mut Profiles) {
        match self {
            AnyAdapter::Ared(x) => x.tick(avg, q, r, p),
            AnyAdapter::Amecn(x) => x.tick(avg, q, r, &mut p.two),
            AnyAdapter::Nred(x) => x.tick(avg, q, r, &mut p.power),
            AnyAdapter::DtRed(x) => x.tick(avg, q, r, p),
            AnyAdapter::None | AnyAdapter::Feng(_) | AnyAdapter::RedAt(_) => {}
        }
    }

    fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        if let AnyAdapter::Ared(x) = self {
            Adapter::<Profiles>::settled(x, out);
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            AnyAdapter::DtRed(x) => Adapter::<Profiles>::heap_bytes(x),
            AnyAdapter::None
            | AnyAdapter::Ared(_)
            | AnyAdapter::Feng(_)
            | AnyAdapter::Amecn(_)
            | AnyAdapter::Nred(_)
            | AnyAdapter::RedAt(_) => 0,
        }
    }
}

/// Each adapter's own default where the key is left out, or holds what another adapter understands.
impl Shared {
    fn steps(&self) -> Steps {
        let own = Steps::default();
        Steps {
            alpha: self.alpha.unwrap_or(own.alpha),
            beta: self.beta.unwrap_or(own.beta),
            max_p_low: self.max_p_low.unwrap_or(own.max_p_low),
            max_p_high: match self.max_p_high {
                Some(Highest::Number(high)) => high,
                Some(Highest::Unbounded) | None => own.max_p_high,
            },
        }
    }

    fn bounds(&self) -> Bounds {
        let own = Bounds::default();
        Bounds {
            max_p_low: match self.max_p_low {
                Some(Lowest::Number(low)) => low,
                Some(Lowest::Rate) | None => own.max_p_low,
            },
            max_p_high: self.max_p_high.unwrap_or(own.max_p_high),
        }
    }

    fn threshold_steps(&self) -> ThresholdSteps {
        let own = ThresholdSteps::default();
        ThresholdSteps {
            alpha: self.alpha.unwrap_or(own.alpha),
            beta: self.beta.unwrap_or(own.beta),
        }
    }
}

#[cfg(test)]
mod tests;
