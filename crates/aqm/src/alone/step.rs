//! Step marking, the switch of DCTCP. M. Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010,
//! section 3.1: a packet is marked if the queue is longer than K when it arrives. RFC 8257, section
//! 3.1. No average, no randomness.
//!
//! The paper does not say what becomes of packets that are not ECN-capable. Switches mark with RED,
//! which drops them where it would mark others, and RFC 8257, section 5.1, warns of that; here they
//! pass by default, and only a full buffer drops them.
//!
//! Beside the step on the queue's length:
//!
//! - a ramp from the threshold to `kmax`, which is RED on the queue as it is, without an average;
//! - a threshold in time, `sojourn`, which is tested where the packet leaves: the immediate AQM of
//!   RFC 9332, appendix A, and Linux's sch_dualpi2;
//! - HULL's phantom queue: M. Alizadeh et al., "Less is more", NSDI 2012. A counter beside the queue
//!   takes what leaves and drains at γ·C, so that marks come before anything waits.

use crate::aqm::{Aqm, Service};
use crate::context::{Common, Context, Unit};
use crate::kind::{own_tables, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::gate::{recur, Spread};
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{int, num_open, ParamError};
use penstock_units::{group, params, words, Duration, QueueLen, Rng, Time};
use penstock_units::{Ecn, Level};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "step",
    doc: "Marks every arriving packet while the queue is above a threshold, as DCTCP wants it.",
    source: "Alizadeh et al. 2010 (DCTCP); RFC 8257; HULL: Alizadeh et al. 2012",
    equations: "arrival:  q > K → mark CE, else pass\n\
        kmax:     with pmax·(q − K)/(kmax − K), from kmax on always\n\
        sojourn:  departure: the packet's wait in the place of q, sojourn of K, sojourn_max of kmax\n\
        phantom:  departure: pq ← max(0, pq − γ·C·Δt) + size,  pq in the place of q",
    expect: "Made for DCTCP, which reads the fraction of marked packets: the instantaneous queue, \
        without average or chance, tells it exactly when the queue is above K. With DCTCP the \
        queue stands around K, at full utilisation if K is above about a seventh of the \
        bandwidth-delay product. With `of = \"phantom\"` DCTCP gives up a tenth of the \
        link, and next to nothing waits but bursts.",
    weaknesses: "For TCP that halves its window at a mark (RFC 3168) it is too harsh: K must then \
        be a whole bandwidth-delay product, or the link idles. All flows are marked at once and \
        back off at once. A packet that is not ECN-capable passes by default and competes with \
        the others by filling the buffer; with `not_capable = \"drop\"` it loses everything above \
        K, its SYNs too. The paper does not say which of the two is meant. A threshold in time \
        below the time of a packet marks all that waits at all: `few` spares a queue so short. A \
        phantom queue drains at a share of the rate that the link began with; senders that are \
        not paced, as HULL's are, still send bursts that wait.",
    params: own_tables::<StepParams>(),
    state: &[],
    defaults: StepParams::DEFAULTS,
};

group! {
    /// What the user of Step sets.
    pub struct StepParams {
        /// Its own.
        pub own: StepOwn,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("ecn", "true")],
}

words! {
    /// What becomes of a packet above the threshold that may not be marked.
    pub enum NotCapable {
        /// It passes.
        Pass = "pass",
        /// It is dropped.
        Drop = "drop",
    }
}

words! {
    /// The queue that decides.
    pub enum Of {
        /// The one that waits.
        Queue = "queue",
        /// A counter that drains more slowly than the link.
        Phantom = "phantom",
    }
}

params! {
    /// Parameters.
    pub struct StepOwn: Default {
        /// K: a packet that finds more than this waiting is marked.
        pub threshold: QueueLen {
            unit: "packets",
            default: 20,
            source: "Alizadeh et al. 2010, section 4: K = 20 at 1 Gbit/s (65 at 10 Gbit/s)",
        },
        /// What becomes of a packet above the threshold that may not be marked; "drop" is what a
        /// switch does that marks with RED.
        pub not_capable: NotCapable {
            default: "pass",
            source: "left open by Alizadeh et al. 2010; RFC 8257, section 5.1",
        },
        /// From threshold up to this length packets are marked by a ramp, from it on always.
        pub kmax: Option<QueueLen> {
            unit: "packets",
            auto: "no ramp",
            quiet: true,
            source: "switches with RED whose weight is 1; DCQCN: Zhu et al. 2015",
        },
        /// The ramp's probability just below its end.
        pub pmax: Option<f64> {
            ty: num_open(0.0, 1.0),
            unit: "1",
            auto: "1",
            quiet: true,
            source: "as kmax",
        },
        /// How the ramp's marks are spread: by chance, or evenly, by a count.
        pub spread: Option<Spread> {
            auto: "random",
            quiet: true,
            source: "RFC 9332, Figure 4",
        },
        /// In the place of threshold: a packet that has waited longer is marked as it leaves.
        pub sojourn: Option<Duration> {
            auto: "a threshold of length",
            quiet: true,
            source: "RFC 9332, appendix A; Linux: sch_dualpi2, 1 ms",
        },
        /// The end of the ramp, with sojourn.
        pub sojourn_max: Option<Duration> { auto: "no ramp", quiet: true, source: "as sojourn" },
        /// No mark while at most so many packets are there, the one in question among them.
        pub few: u32 {
            ty: int(0, 1_000_000),
            unit: "packets",
            default: 0,
            quiet: true,
            source: "RFC 9332, Figure 7: 1",
        },
        /// The queue that decides: the one that waits, or a phantom, of which threshold and kmax are
        /// lengths then. HULL's threshold is 6 kB at 1 Gbit/s, 15 kB at 10 Gbit/s.
        pub of: Of { default: "queue", quiet: true, source: "phantom: Alizadeh et al. 2012" },
        /// γ: the phantom's rate as a share of the link's.
        pub gamma: Option<f64> {
            ty: num_open(0.0, 1.0),
            unit: "1",
            auto: "0.95",
            quiet: true,
            source: "Alizadeh et al. 2012",
        },
    }
}

/// What is held against the threshold.
#[derive(Clone, Copy, Debug)]
enum Measure {
    /// The queue's length at an arrival, in bytes or packets.
    Length { bytes: bool },
    /// The time in seconds that a packet has waited when it leaves.
    Sojourn,
    /// A phantom's length in bytes after the packet that leaves.
    Phantom { per_s: f64, length: f64, since: Time },
}

/// What lies above the threshold, if not a mark for all.
#[derive(Clone, Copy, Debug)]
struct Slope {
    end: f64,
    pmax: f64,
    spread: Spread,
    /// With [`Spread::Recur`], the sum of the probabilities since the last mark.
    count: f64,
}

/// Step marking.
#[derive(Clone, Debug)]
pub struct Step {
    measure: Measure,
    /// K, or what is in its place.
    k: f64,
    slope: Option<Slope>,
    few: u32,
    ecn: bool,
    /// Drop what may not be marked.
    drop: bool,
}

impl Step {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &StepParams, cx: &Context) -> Result<Self, ParamError> {
        let unit = Unit::of(p, &p.common, cx)?;
        let own = &p.own;
        let phantom = own.of == Of::Phantom;
        let wrong = |key, problem: &str| Err(ParamError::new(key, problem));
        let (measure, k, end) = match own.sojourn {
            Some(_) if phantom => return wrong("sojourn", "nothing waits in a phantom queue"),
            Some(_) if own.kmax.is_some() => {
                return wrong("kmax", "is a length: with sojourn the ramp ends at sojourn_max");
            }
            Some(sojourn) => {
                let end = own.sojourn_max.map(Duration::as_secs_f64);
                (Measure::Sojourn, sojourn.as_secs_f64(), end)
            }
            None if own.sojourn_max.is_some() => return wrong("sojourn_max", "goes with sojourn"),
            None => {
                let (unit, measure) = if phantom {
                    let per_s = own.gamma.unwrap_or(0.95) * cx.rate.as_bps() as f64 / 8.0;
                    (unit.in_bytes(), Measure::Phantom { per_s, length: 0.0, since: Time::ZERO })
                } else {
                    (unit, Measure::Length { bytes: unit.bytes })
                };
                (measure, unit.length(own.threshold), own.kmax.map(|end| unit.length(end)))
            }
        };
        if phantom && own.few > 0 {
            return wrong("few", "a phantom queue marks before anything waits");
        }
        if !phantom && own.gamma.is_some() {
            return wrong("gamma", "goes with of = \"phantom\"");
        }
        let slope = end.map(|end| Slope {
            end,
            pmax: own.pmax.unwrap_or(1.0),
            spread: own.spread.unwrap_or(Spread::Random),
            count: 0.0,
        });
        match slope {
            Some(slope) if slope.end <= k && own.sojourn.is_some() => {
                return wrong("sojourn_max", "must be above sojourn");
            }
            Some(slope) if slope.end <= k => return wrong("kmax", "must be above threshold"),
            None if own.pmax.is_some() => return wrong("pmax", "goes with kmax or sojourn_max"),
            None if own.spread.is_some() => {
                return wrong("spread", "goes with kmax or sojourn_max")
            }
            _ => {}
        }
        let drop = own.not_capable == NotCapable::Drop;
        Ok(Step { measure, k, slope, few: own.few, ecn: p.common.ecn, drop })
    }

    /// What becomes of a packet for which `x` is measured.
    #[inline(always)]
    fn verdict(&mut self, x: f64, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        if x <= self.k || q.pkts < self.few {
            return Verdict::Pass;
        }
        if let Some(slope) = &mut self.slope {
            if !slope.signals(x, self.k, rng) {
                return Verdict::Pass;
            }
        }
        if self.ecn && pkt.ecn != Ecn::NotEct {
            Verdict::Mark(Level::Ce, Reason::Early)
        } else if self.drop {
            Verdict::Drop(Reason::Early)
        } else {
            Verdict::Pass
        }
    }
}

impl Slope {
    /// The probability between the threshold `k` and the end, and beyond.
    fn p(&self, x: f64, k: f64) -> f64 {
        if x >= self.end {
            1.0
        } else {
            self.pmax * (x - k) / (self.end - k)
        }
    }

    fn signals(&mut self, x: f64, k: f64, rng: &mut Rng) -> bool {
        let p = self.p(x, k);
        p >= 1.0
            || match self.spread {
                Spread::Random => rng.unit() < p,
                Spread::Recur => recur(&mut self.count, p),
            }
    }
}

impl Aqm for Step {
    #[inline]
    fn arrive(&mut self, _: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        match self.measure {
            Measure::Length { bytes } => self.verdict(q.length(bytes), pkt, q, rng),
            Measure::Sojourn | Measure::Phantom { .. } => Verdict::Pass,
        }
    }

    #[inline]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        sojourn: Duration,
        q: &Queue,
        rng: &mut Rng,
    ) -> Verdict {
        let x = match &mut self.measure {
            Measure::Length { .. } => return Verdict::Pass,
            Measure::Sojourn => sojourn.as_secs_f64(),
            Measure::Phantom { per_s, length, since } => {
                let drained = *per_s * now.since(*since).as_secs_f64();
                *length = (*length - drained).max(0.0) + f64::from(pkt.bytes);
                *since = now;
                *length
            }
        };
        self.verdict(x, pkt, q, rng)
    }

    #[inline(always)]
    fn service(&self) -> Service {
        match self.measure {
            Measure::Length { .. } => Service::AtArrival,
            Measure::Sojourn | Measure::Phantom { .. } => Service::AtDeparture,
        }
    }

    fn go_on(&mut self, before: Self, _: Time) {
        if let (Some(slope), Some(before)) = (&mut self.slope, before.slope) {
            slope.count = before.count;
        }
        if let (
            Measure::Phantom { length, since, .. },
            Measure::Phantom { length: reached, since: then, .. },
        ) = (&mut self.measure, before.measure)
        {
            (*length, *since) = (reached, then);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{busy, context, params, PKT};
    use penstock_units::Rate;

    #[test]
    fn marks_above_k_and_only_what_may_be_marked() {
        let (mark, drop) = (Verdict::Mark(Level::Ce, Reason::Early), Verdict::Drop(Reason::Early));
        let in_bytes = [("threshold", "\"20 kB\""), ("unit", "\"bytes\"")];
        for (set, pkts, bytes, ecn, want) in [
            (&[][..], 20, 1, Ecn::Ect0, Verdict::Pass),
            (&[], 21, 1, Ecn::Ect0, mark),
            (&[], 21, 1, Ecn::Ce, mark),
            (&[], 21, 1, Ecn::NotEct, Verdict::Pass),
            (&[("not_capable", "\"drop\"")], 21, 1, Ecn::NotEct, drop),
            (&[("not_capable", "\"drop\""), ("ecn", "false")], 21, 1, Ecn::Ect0, drop),
            (&in_bytes, 90, 20_000, Ecn::Ect0, Verdict::Pass),
            (&in_bytes, 1, 20_001, Ecn::Ect0, mark),
        ] {
            let mut aqm = Step::new(&params(&KIND, set), &context()).unwrap();
            let pkt = Packet { bytes: 1000, ecn, flow: 0, class: 0 };
            let q = Queue { pkts, bytes, idle_since: None };
            let got = aqm.arrive(Time::ZERO, &pkt, &q, &mut Rng::stream(1, "test"));
            assert_eq!(got, want, "{set:?} {pkts} packets, {bytes} B, {ecn:?}");
        }
    }

    fn step(set: &[(&'static str, &'static str)]) -> Step {
        Step::new(&params(&KIND, set), &context()).unwrap()
    }

    fn marked(verdict: Verdict) -> bool {
        verdict == Verdict::Mark(Level::Ce, Reason::Early)
    }

    /// From 100 to 400 packets up to 0.2: half way 0.1, at the end 1, below nothing. Evenly spread
    /// with 1/8, the sum passes 1 at the 9th packet and at the 17th.
    #[test]
    fn a_ramp_by_hand() {
        let set = [("threshold", "100"), ("kmax", "400"), ("pmax", "0.2")];
        let ramp = step(&set).slope.unwrap();
        for (q, p) in [(250.0, 0.1), (399.0, 0.2 * 299.0 / 300.0), (400.0, 1.0), (900.0, 1.0)] {
            assert!((ramp.p(q, 100.0) - p).abs() < 1e-12, "{q}");
        }
        let pkt = Packet { ecn: Ecn::Ect0, ..PKT };
        let mut rng = Rng::stream(1, "test");
        let mut at = |aqm: &mut Step, q| marked(aqm.arrive(Time::ZERO, &pkt, &busy(q), &mut rng));
        let mut random = step(&set);
        let n = (0..10_000).filter(|_| at(&mut random, 250)).count();
        // Four standard errors of a count: 4·√(10000·0.1·0.9) = 120.
        assert!((880..=1120).contains(&n), "{n}");
        assert!((0..100).all(|_| at(&mut random, 400) && !at(&mut random, 99)));
        let mut even = step(&[set[0], set[1], ("pmax", "0.25"), ("spread", "\"recur\"")]);
        // 0.25·(250 − 100)/300 = 1/8.
        let due: Vec<_> = (1..=17).filter(|_| at(&mut even, 250)).collect();
        assert_eq!(due, [9, 17]);
    }

    /// 1 ms is not longer than 1 ms. Alone in the queue a packet is spared with `few = 1`, and with
    /// a ramp to 3 ms one that waited 2 ms is marked with ½.
    #[test]
    fn a_threshold_in_time_is_tested_at_departure() {
        let mut rng = Rng::stream(1, "test");
        let pkt = Packet { ecn: Ecn::Ect1, ..PKT };
        let mut leaves = |aqm: &mut Step, us, behind| {
            let waited = Duration::from_micros(us);
            marked(aqm.depart(Time::ZERO, &pkt, waited, &busy(behind), &mut rng))
        };
        let sojourn = ("sojourn", "\"1 ms\"");
        let mut aqm = step(&[sojourn]);
        assert_eq!(aqm.service(), Service::AtDeparture);
        let arrives = aqm.arrive(Time::ZERO, &pkt, &busy(90), &mut Rng::stream(1, "test"));
        assert_eq!(arrives, Verdict::Pass);
        assert_eq!([1000, 1001].map(|us| leaves(&mut aqm, us, 0)), [false, true]);
        let mut aqm = step(&[sojourn, ("few", "1")]);
        assert_eq!([0, 1].map(|behind| leaves(&mut aqm, 9000, behind)), [false, true]);
        let mut aqm = step(&[sojourn, ("sojourn_max", "\"3 ms\"")]);
        let n = (0..10_000).filter(|_| leaves(&mut aqm, 2000, 5)).count();
        assert!((4800..=5200).contains(&n), "{n}");
        assert!((0..50).all(|_| leaves(&mut aqm, 3000, 5)));
    }

    /// 1500 B back to back at 1 Gbit/s leave every 12 us, in which 1425 B drain: after n packets it
    /// is 1500 + 75·(n − 1), above 6000 first at n = 62. At 0.94 of the rate it drains in between.
    #[test]
    fn a_phantom_queue_by_hand() {
        let set = [("of", "\"phantom\""), ("threshold", "\"6 kB\"")];
        let gigabit = Context { rate: Rate::from_bps(1_000_000_000).unwrap(), ..context() };
        let first = |gap_ns: u64, packets: u64| {
            let mut aqm = Step::new(&params(&KIND, &set), &gigabit).unwrap();
            let mut rng = Rng::stream(1, "test");
            let pkt = Packet { bytes: 1500, ecn: Ecn::Ect0, ..PKT };
            (1..=packets).find(|n| {
                let now = Time::from_nanos((n - 1) * gap_ns);
                marked(aqm.depart(now, &pkt, Duration::ZERO, &busy(0), &mut rng))
            })
        };
        assert_eq!(first(12_000, 100), Some(62));
        assert_eq!(first(12_766, 100_000), None);
    }

    /// What does not fit together names its key.
    #[test]
    fn keys_that_do_not_fit_are_refused() {
        let phantom = ("of", "\"phantom\"");
        let sojourn = ("sojourn", "\"1 ms\"");
        for (set, problem) in [
            (&[("kmax", "20")][..], "kmax: must be above threshold"),
            (&[("pmax", "0.5")], "pmax: goes with kmax or sojourn_max"),
            (&[("spread", "\"recur\"")], "spread: goes with kmax or sojourn_max"),
            (&[("sojourn_max", "\"1 ms\"")], "sojourn_max: goes with sojourn"),
            (&[sojourn, ("sojourn_max", "\"1 ms\"")], "sojourn_max: must be above sojourn"),
            (
                &[sojourn, ("kmax", "30")],
                "kmax: is a length: with sojourn the ramp ends at sojourn_max",
            ),
            (&[sojourn, phantom], "sojourn: nothing waits in a phantom queue"),
            (&[phantom, ("few", "1")], "few: a phantom queue marks before anything waits"),
            (&[("gamma", "0.9")], "gamma: goes with of = \"phantom\""),
        ] {
            let error = Step::new(&params(&KIND, set), &context()).unwrap_err();
            assert_eq!(error.to_string(), problem);
        }
    }
}
