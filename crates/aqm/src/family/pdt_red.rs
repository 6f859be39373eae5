//! PDT-RED, preferential dynamic thresholds: Sun, Wang 2007, as the RED-AT paper tells it (section
//! 4.3). Packets carry a priority class; each class has thresholds of its own, which move with the
//! unused buffer and the class's priority.
//!
//! Only that much is in the paper. Our reading takes dynamic thresholds as in shared-memory
//! switches (Choudhury, Hahne 1998): class c has `max_th = a_c·(B − q)` and `min_th =
//! max_th/ratio`, with one average and one buffer for all. `a_c` rises with the class (DSCP, 0 to
//! 63) from `share_low` towards `share_high`: `a_c = share_high − (share_high − share_low)/(1 +
//! c)`, so that neighbouring classes differ whatever numbering is used.

use crate::context::{Common, Context};
use crate::family::params::{Base, Ceiling, Setting};
use crate::kind::{own_tables, states, Column, Kind};
use crate::parts::compose::Composed;
use crate::parts::profile::{Arrival, Point, Profile, Ramp, Straight};
use penstock_units::param::{num_open, ParamError};
use penstock_units::{group, params};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "pdt-red",
    doc: "RED with thresholds for each priority class, which move with the unused buffer.",
    source: "Sun, Wang 2007, as told by the RED-AT paper, section 4.3",
    equations: "RED, and for a packet of class c (DSCP 0…63):\n\
        a_c = share_high − (share_high − share_low)/(1 + c)\n\
        max_th = a_c·(B − q),  min_th = max_th/ratio",
    expect: "All classes share one buffer and one average; a higher class has higher thresholds, \
        so under overload the lower classes lose first. As the buffer fills, everybody's \
        thresholds fall. Without classes in the traffic all is class 0: in steady state its ramp \
        runs from an average of a seventh of the buffer to a third, and from half of it \
        everything is dropped.",
    weaknesses: "The original (Sun, Wang 2007) was not at hand. The RED-AT paper says only that \
        thresholds vary with the unused buffer and the priority. The rule is the dynamic \
        threshold of shared-memory switches (Choudhury, Hahne 1998), and the shares are ours. \
        Thresholds use the queue and the test uses its average, so a burst lowers the ramp before \
        the average has moved. Nothing keeps a high class from starving a low one.",
    params: own_tables::<PdtRedParams>(),
    state: &states(COLUMNS),
    defaults: PdtRedParams::DEFAULTS,
};

group! {
    /// What the user of PDT-RED sets.
    pub struct PdtRedParams {
        /// What the whole family takes.
        pub base: Base,
        /// The ramp's ceiling.
        pub ceiling: Ceiling,
        /// The shares of the classes.
        pub shares: Shares,
        /// What every kind takes.
        pub common: Common,
    }
}

params! {
    /// Its own parameters.
    pub struct Shares: Default {
        /// max_th of class 0 over the unused buffer: while the queue stands its ramp reaches max_p
        /// at B·a/(1 + a), a third of the buffer.
        pub share_low: f64 { ty: num_open(0.0, 1e6), unit: "1", default: 0.5, source: "reading" },
        /// The same of the highest class, in the limit: four fifths of the buffer.
        pub share_high: f64 { ty: num_open(0.0, 1e6), unit: "1", default: 4, source: "reading" },
        /// max_th over min_th of every class.
        pub ratio: f64 {
            ty: num_open(1.0, 1e6),
            unit: "1",
            default: 3,
            source: "Floyd 1997: max_th = 3·min_th",
        },
    }
}

/// PDT-RED: RED whose ramp is that of the packet's class.
pub type PdtRed = Composed<PerClass, ()>;

const COLUMNS: &[Column<PdtRed>; 4] = &[PdtRed::AVG, PdtRed::MIN_TH, PdtRed::MAX_TH, PdtRed::P_B];

impl PdtRed {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &PdtRedParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let classes = Classes::new(&p.shares, &setting, p.ceiling.max_p)?;
        let ramp = classes.ramp;
        let profile = PerClass { classes, curve: p.ceiling.profile() };
        Ok(p.base.compose(&setting, ramp, profile, (), COLUMNS))
    }
}

/// The ramps of the classes.
#[derive(Clone, Debug)]
pub struct Classes {
    low: f64,
    high: f64,
    ratio: f64,
    /// The buffer, in the unit of the queue.
    limit: f64,
    /// The ramp of the packet that arrived last.
    pub(crate) ramp: Ramp,
}

impl Classes {
    /// The ramps, all with this ceiling. Before the first packet that of class 0 at an empty queue
    /// is published.
    pub(crate) fn new(p: &Shares, setting: &Setting, max_p: f64) -> Result<Self, ParamError> {
        let (low, high) = (p.share_low, p.share_high);
        if low > high {
            let problem = format!("must not be above share_high ({high})");
            return Err(ParamError::new("share_low", problem));
        }
        let ramp = Ramp { min_th: 0.0, max_th: 0.0, max_p };
        let mut classes = Classes { low, high, ratio: p.ratio, limit: setting.limit(), ramp };
        classes.place(0.0, 0, max_p);
        Ok(classes)
    }

    /// A packet of class `class` finds `q` waiting. Returns its ramp, up to `max_p`.
    #[inline]
    pub(crate) fn place(&mut self, q: f64, class: u8, max_p: f64) -> Ramp {
        let share = self.high - (self.high - self.low) / (1.0 + f64::from(class));
        // A full buffer leaves no room; the ramp stays a ramp.
        let max_th = (share * (self.limit - q)).clamp(f64::MIN_POSITIVE, self.limit);
        self.ramp = Ramp { min_th: max_th / self.ratio, max_th, max_p };
        self.ramp
    }
}

/// PDT-RED's profile: RED's on the ramp of the packet's class.
#[derive(Clone, Debug)]
pub struct PerClass {
    classes: Classes,
    curve: Straight,
}

impl Profile for PerClass {
    #[inline]
    fn at(&mut self, a: &Arrival, r: &Ramp) -> Point {
        let ramp = self.classes.place(a.q, a.pkt.class, r.max_p);
        self.curve.at(a, &ramp)
    }

    #[inline]
    fn in_force<'a>(&'a self, _: &'a Ramp) -> &'a Ramp {
        &self.classes.ramp
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{busy, context, params, PKT};
    use crate::{Aqm, Packet, Verdict};
    use penstock_units::{Rng, Time};

    fn build(set: &[(&'static str, &'static str)]) -> Result<PdtRed, ParamError> {
        PdtRed::new(&params(&KIND, set), &context())
    }

    /// B 100: class 0 has 0.5 of the unused buffer, class 1 2.25, class 6 3.5, at most B.
    #[test]
    fn thresholds_by_hand() {
        let d = build(&[]).unwrap();
        let mut c = d.profile.classes;
        for (q, class, max_th) in
            [(0.0, 0, 50.0), (40.0, 0, 30.0), (80.0, 1, 45.0), (80.0, 6, 70.0), (10.0, 63, 100.0)]
        {
            let r = c.place(q, class, 0.1);
            assert!(
                (r.max_th - max_th).abs() < 1e-9 && (r.min_th - max_th / 3.0).abs() < 1e-9,
                "{q} {class}: {r:?}"
            );
        }
    }

    /// The same queue treats the classes in the order of their priority.
    #[test]
    fn loss_falls_with_the_class() {
        for q in [20, 30, 45] {
            let mut last = f64::INFINITY;
            for class in [0, 1, 2, 8, 46] {
                let mut d = build(&[("w_q", "1")]).unwrap();
                let mut rng = Rng::stream(1, "pdt");
                let pkt = Packet { class, ..PKT };
                let dropped = (0..20_000)
                    .filter(|_| d.arrive(Time::ZERO, &pkt, &busy(q), &mut rng) != Verdict::Pass);
                let loss = dropped.count() as f64 / 20_000.0;
                assert!(loss <= last + 0.005, "q = {q}, class {class}: {loss} {last}");
                last = loss;
            }
        }
    }
}
