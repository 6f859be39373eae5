//! MECN, multi-level explicit congestion notification: Durresi, Sridharan, Jain, "Adaptive
//! multi-level explicit congestion notification", 2007, section 2. Two ramps over one average: `p1`
//! from 0 at `min_th` to `p1_max` at `max_th` for incipient congestion, `p2` from 0 at `mid_th` to
//! `p2_max` at `max_th` for moderate congestion (Fig. 2). Between `mid_th` and `max_th` the
//! moderate coin is thrown first, then the incipient one. What is not ECN-capable is dropped where
//! it would be marked.
//!
//! Left open by the paper: both ceilings, and what happens above `max_th` (2.1: everything is
//! dropped; 3.3.1: gentle mode).

use crate::context::{Common, Context};
use crate::family::params::{Base, Setting, Thresholds};
use crate::kind::{column, own_tables, states, Column, Kind};
use crate::parts::compose::Composed;
use crate::parts::profile::{gentle_part, ramp, Arrival, Point, Profile, Ramp};
use crate::parts::signal::Signal;
use penstock_units::param::{num, ParamError};
use penstock_units::Codepoints;
use penstock_units::{group, params, words, QueueLen};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "mecn",
    doc: "Multi-level ECN: incipient and moderate marks from two ramps, drops beyond them.",
    source: "AMECN paper, section 2",
    equations: "avg as in RED\n\
        p1 = p1_max·(avg − min_th)/(max_th − min_th)  min_th ≤ avg < max_th\n\
        p2 = p2_max·(avg − mid_th)/(max_th − mid_th)  mid_th ≤ avg < max_th\n\
        \n\
        min_th ≤ avg < mid_th:    incipient mark with p1\n\
        mid_th ≤ avg < max_th:    moderate mark with p2, else incipient mark with p1\n\
        max_th ≤ avg < 2·max_th:  drop with p, from max(p1_max, p2_max) to 1 (gentle-drop)\n\
        beyond:                   drop",
    expect: "Senders that know two levels (`ecn = \"mecn\"`) take a fifth off their window for an \
        incipient mark and two fifths for a moderate one, instead of half: the windows swing \
        less, so the link stays busy with a shorter queue. Most signals at light load are \
        incipient. What is not ECN-capable is dropped where it would be marked, at either level. \
        See docs/mecn.md for the end systems and for mixed traffic.",
    weaknesses: "As in RED the average moves with the load. The paper states neither p1_max nor \
        p2_max (0.1 both, a reading) and says two things of the range above max_th: 2.1 drops \
        everything, 3.3.1 speaks of gentle mode (`above_max`). A classic ECN flow does not see \
        incipient marks and halves for moderate ones. ECT(1) on the wire is L4S's codepoint: both \
        cannot be used on one path.",
    params: own_tables::<MecnParams>(),
    state: &states(Mecn::LEVELS),
    defaults: MecnParams::DEFAULTS,
    ns2: MecnParams::NS2,
};

group! {
    /// What the user of MECN sets.
    pub struct MecnParams {
        /// What the whole family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// Its two ramps and its marks.
        pub ramps: TwoRamps,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("ecn", "true")],
}

words! {
    /// What happens above `max_th`.
    pub enum AboveMax {
        /// Drops, with a probability that rises to 1 at `2·max_th`.
        GentleDrop = "gentle-drop",
        /// Moderate marks with that probability.
        GentleMark = "gentle-mark",
        /// Everything is dropped.
        Drop = "drop",
    }
}

params! {
    /// Its own parameters.
    pub struct TwoRamps: Default {
        /// Average queue from which moderate marks are made.
        pub mid_th: Option<QueueLen> {
            unit: "packets",
            auto: "min_th + 0.625·(max_th − min_th), which is 2.25·min_th where max_th = 3·min_th",
            source: "AMECN paper, section 3.3.3",
        },
        /// Ceiling of the incipient ramp, at max_th.
        pub p1_max: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.1,
            source: "reading: the paper does not say; ns-2's ramp",
        },
        /// Ceiling of the moderate ramp, at max_th.
        pub p2_max: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.1,
            source: "reading: the paper does not say; ns-2's ramp",
        },
        /// Above max_th: drop with a probability that rises from the larger ceiling to 1 at
        /// 2·max_th; moderate marks with it; or drop everything.
        pub above_max: AboveMax {
            default: "gentle-drop",
            source: "AMECN paper: 2.1 drops all, 3.3.1 speaks of gentle mode",
        },
        /// Table 1's (CE, ECT) as two bits of the header: no congestion ECT(0), incipient ECT(1);
        /// or read as the field's value: no congestion ECT(1), incipient ECT(0). Moderate is CE.
        pub codepoints: Codepoints {
            default: "wire",
            source: "AMECN paper, Table 1; RFC 2481 has ECT as the first bit",
        },
    }
}

/// MECN: RED with two ramps, and a level of mark for each.
pub type Mecn = Composed<TwoLevel, ()>;

impl<A: 'static> Composed<TwoLevel, A> {
    /// The columns that MECN and its descendants publish.
    pub(crate) const LEVELS: &'static [Column<Self>; 5] = &[
        Self::AVG,
        column("p1_max", "The ceiling of the incipient ramp in force.", |d| d.ramp.max_p),
        column(P2_MAX.0, P2_MAX.1, |d| d.profile.p2_max),
        column("p1", "The incipient probability before the gate, at the last arrival.", |d| {
            d.last.p()[0]
        }),
        column(P2.0, P2.1, |d| d.last.p()[1]),
    ];
}

/// Columns that the recombined family publishes too: name and doc.
pub(crate) const P2_MAX: (&str, &str) = ("p2_max", "The ceiling of the moderate ramp in force.");
/// The column of the moderate probability, which the recombined family publishes too.
pub(crate) const P2: (&str, &str) =
    ("p2", "The moderate probability before the gate (above max_th: the severe one), likewise.");

impl Mecn {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &MecnParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let ramp = p.thresholds.ramp(&setting, p.ramps.p1_max)?;
        let profile = TwoLevel::new(&p.ramps, &setting, &ramp)?;
        let composed = p.base.compose(&setting, ramp, profile, (), Mecn::LEVELS);
        Ok(composed.with_two_marks(&p.ramps))
    }
}

impl<P, A> Composed<P, A> {
    /// Returns this discipline with MECN's signal.
    pub(crate) fn with_two_marks(mut self, p: &TwoRamps) -> Self {
        if let Signal::Classic(classic) = self.signal {
            self.signal = Signal::Levels {
                classic,
                mark_severe: p.above_max == AboveMax::GentleMark,
                codepoints: p.codepoints,
            };
        }
        self
    }
}

/// MECN's profile: the first ramp is RED's, from `min_th` to `max_th`; the second is here.
#[derive(Clone, Copy, Debug)]
pub struct TwoLevel {
    /// The average at which the second ramp begins.
    pub mid_th: f64,
    /// The second ramp's ceiling.
    pub p2_max: f64,
    /// The profile goes on from the larger ceiling at `max_th` to 1 at `2·max_th`.
    pub gentle: bool,
}

impl TwoLevel {
    pub(crate) fn new(p: &TwoRamps, setting: &Setting, r: &Ramp) -> Result<Self, ParamError> {
        let mid = p.mid_th.map(|q| setting.unit.length(q));
        let mid_th = mid.unwrap_or(r.min_th + 0.625 * (r.max_th - r.min_th));
        if !(r.min_th..=r.max_th).contains(&mid_th) {
            let per_pkt = setting.unit.per_pkt;
            let (low, high) = (r.min_th / per_pkt, r.max_th / per_pkt);
            let problem = format!("must be between min_th and max_th ({low} and {high} packets)");
            return Err(ParamError::new("mid_th", problem));
        }
        Ok(TwoLevel { mid_th, p2_max: p.p2_max, gentle: p.above_max != AboveMax::Drop })
    }
}

impl Profile for TwoLevel {
    #[inline]
    fn at(&mut self, a: &Arrival, r: &Ramp) -> Point {
        let avg = a.avg;
        if avg < r.min_th {
            return Point::Below;
        }
        if avg < r.max_th {
            let p1 = ramp(avg, r.min_th, r.max_th, r.max_p);
            return if avg < self.mid_th {
                Point::On(p1)
            } else {
                Point::Levels(p1, ramp(avg, self.mid_th, r.max_th, self.p2_max))
            };
        }
        let p = self.gentle.then(|| gentle_part(avg, r.max_th, r.max_p.max(self.p2_max)));
        p.flatten().map_or(Point::Beyond, Point::Severe)
    }

    fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("mid_th", self.mid_th);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::profile::tests::{at, RAMP5_15};
    use crate::testing::{busy, context, params};
    use crate::{Aqm, Ecn, Level, Packet, Reason, Verdict};
    use penstock_units::{Rng, Time};

    fn build(set: &[(&'static str, &'static str)]) -> Result<Mecn, ParamError> {
        Mecn::new(&params(&KIND, set), &context())
    }

    const CAPABLE: Packet = Packet { bytes: 1000, ecn: Ecn::Ect0, flow: 0, class: 0 };

    const TWO: TwoLevel = TwoLevel { mid_th: 10.0, p2_max: 0.1, gentle: true };

    /// min 5, mid 10, max 15, ceilings 0.1: at 12 p1 = 0.07 and p2 = 0.04.
    #[test]
    fn profile_by_hand() {
        let r = RAMP5_15;
        for (gentle, avg, want) in [
            (true, 4.9, (None, None)),
            (true, 9.0, (Some(0.04), None)),
            (true, 10.0, (Some(0.05), Some(0.0))),
            (true, 12.0, (Some(0.07), Some(0.04))),
        ] {
            let got = match at(TwoLevel { gentle, ..TWO }, avg, &r) {
                Point::On(p) => (Some(p), None),
                Point::Levels(p, q) => (Some(p), Some(q)),
                _ => (None, None),
            };
            for (got, want) in [(got.0, want.0), (got.1, want.1)] {
                assert_eq!(got.is_some(), want.is_some(), "{avg}");
                assert!((got.unwrap_or(0.0) - want.unwrap_or(0.0)).abs() < 1e-12, "{avg}: {got:?}");
            }
        }
        // The larger ceiling, 0.2, at 15; half way up to 30: 0.2 + 0.8 / 2.
        let higher = TwoLevel { p2_max: 0.2, ..TWO };
        let Point::Severe(p) = at(higher, 22.5, &r) else { unreachable!() };
        assert!((p - 0.6).abs() < 1e-12);
        assert_eq!(at(higher, 30.0, &r), Point::Beyond);
        assert_eq!(at(TwoLevel { gentle: false, ..higher }, 15.0, &r), Point::Beyond);
    }

    /// Geometric gate: P(moderate) = 0.04, P(incipient) = (1 − 0.04)·0.07 = 0.0672.
    #[test]
    fn shares_of_the_levels() {
        let set = [
            ("min_th", "5"),
            ("mid_th", "10"),
            ("max_th", "15"),
            ("w_q", "1"),
            ("gate", "\"geometric\""),
        ];
        let mut d = build(&set).unwrap();
        let mut rng = Rng::stream(1, "mecn");
        let n = 400_000;
        let (mut incipient, mut moderate) = (0, 0);
        for _ in 0..n {
            match d.arrive(Time::ZERO, &CAPABLE, &busy(12), &mut rng) {
                Verdict::Mark(Level::Incipient, Reason::Early) => incipient += 1,
                Verdict::Mark(Level::Ce, Reason::Early) => moderate += 1,
                v => assert_eq!(v, Verdict::Pass),
            }
        }
        let share = |k: i32| f64::from(k) / f64::from(n);
        assert!((share(moderate) - 0.04).abs() < 0.002, "{}", share(moderate));
        assert!((share(incipient) - 0.0672).abs() < 0.002, "{}", share(incipient));
    }

    /// p1 = 0.07 alone would space incipient marks at most 15 apart; a moderate one in between does
    /// not restart that count.
    #[test]
    fn a_moderate_signal_leaves_the_incipient_count() {
        let set = [("min_th", "5"), ("mid_th", "10"), ("max_th", "15"), ("w_q", "1")];
        let mut d = build(&set).unwrap();
        let mut rng = Rng::stream(2, "mecn");
        let (mut gap, mut seen) = (0, 0);
        for _ in 0..100_000 {
            gap += 1;
            match d.arrive(Time::ZERO, &CAPABLE, &busy(12), &mut rng) {
                Verdict::Mark(Level::Incipient, _) => {
                    // Only a moderate mark, which comes first, may take a packet that was due.
                    assert!(gap <= 17, "{gap}");
                    gap = 0;
                }
                Verdict::Mark(Level::Ce, _) => seen += 1,
                _ => assert!(gap < 15, "{gap}"),
            }
        }
        assert!(seen > 1000);
    }

    #[test]
    fn what_cannot_be_marked_is_dropped() {
        let mut d = build(&[("min_th", "5"), ("max_th", "15"), ("w_q", "1")]).unwrap();
        let mut rng = Rng::stream(3, "mecn");
        let plain = Packet { ecn: Ecn::NotEct, ..CAPABLE };
        let drops = (0..1000).filter(|_| match d.arrive(Time::ZERO, &plain, &busy(12), &mut rng) {
            Verdict::Pass => false,
            v => {
                assert_eq!(v, Verdict::Drop(Reason::Early));
                true
            }
        });
        assert!(drops.count() > 50);
    }

    #[test]
    fn mid_th_lies_between() {
        let err = build(&[("min_th", "5"), ("max_th", "15"), ("mid_th", "16")]).unwrap_err();
        assert_eq!(err.name, "mid_th");
        let auto = build(&[("min_th", "4"), ("max_th", "12")]).unwrap();
        assert!((auto.profile.mid_th - 9.0).abs() < 1e-12); // 2.25 · 4
    }
}
