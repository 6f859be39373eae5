//! RED, random early detection, and the family composed like it. S. Floyd, V. Jacobson, "Random early detection gateways
//! for congestion avoidance", IEEE/ACM ToN 1(4), 1993: Fig. 2 is the algorithm, names are its symbols. Gentle: Floyd, "Recommendation
//! on using the gentle_ variant of RED", 2000. ECN: RFC 3168. ARED: Floyd, Gummadi, Shenker 2001.
//!
//! On each arrival: the estimator moves `avg`; the adapter may retune the ramp; the profile turns `avg` into `p_b`; the
//! gate turns `p_b` into a verdict for this packet; the signal drops or marks it.
//!
//! Departs from the paper: once `count·p_b` reaches 1 Fig. 2 divides by zero or less; here that signals for certain.

use crate::adapter::Floyd;
use crate::estimator::{auto_weight, rtt_weight, Ewma};
use crate::gate::{Gate, Sizes, Spacing};
use crate::profile::{Point, Profile, Ramp};
use crate::registry::mean_packet;
use crate::signal::Classic;
use crate::{Aqm, Context, Discipline, Kind, Packet, Queue, State, Verdict};
use penstock_units::param::{num, num_open, Param, ParamError, Ty, Values, PARAM};
use penstock_units::{QueueLen, Rng, Time};

/// RED as it is listed.
pub const RED: Kind = Kind {
    name: "red",
    doc: "Random early detection: signals with a probability that ramps up with the average queue.",
    source: "Floyd, Jacobson 1993; gentle: Floyd 2000; ECN: RFC 3168",
    params: &[PARAMS],
    state: STATE,
    defaults: &[],
    ns2: &[],
    build: |v, cx| Ok(Discipline::Red(RedFamily::new(v, cx, |_| Adapter::None)?)),
};

/// ARED as it is listed.
pub const ARED: Kind = Kind {
    name: "ared",
    doc: "Adaptive RED: RED whose max_p follows the average into a target range.",
    source: "Floyd, Gummadi, Shenker 2001",
    params: &[PARAMS, ARED_PARAMS],
    state: STATE,
    defaults: &[],
    ns2: &[],
    build: |v, cx| {
        let low = v.opt_num("max_p_low").unwrap_or(f64::min(0.01, 80e3 / cx.rate.as_bps() as f64));
        let (target_low, target_high) = (v.num("target_low"), v.num("target_high"));
        if target_low > target_high {
            return Err(ParamError::new(
                "target_low",
                format!("must not be above target_high ({target_high})"),
            ));
        }
        if low > v.num("max_p_high") {
            let high = v.num("max_p_high");
            return Err(ParamError::new("max_p_low", format!("must not be above max_p_high ({high})")));
        }
        if v.duration("interval").as_nanos() < 1_000 {
            return Err(ParamError::new("interval", "must be at least 1 us"));
        }
        let floyd = Floyd::new(
            v.duration("interval"),
            (v.num("alpha"), v.num("beta")),
            (target_low, target_high),
            (low, v.num("max_p_high")),
            v.is("adapt_on", "arrival"),
        );
        Ok(Discipline::Red(RedFamily::new(v, cx, |_| Adapter::Floyd(floyd))?))
    },
};

const STATE: &[State] = &[
    State { name: "avg_pkts", doc: "The average queue, in packets of the mean size." },
    State { name: "max_p", doc: "The ceiling of the ramp in force." },
    State { name: "p_b", doc: "The probability before the gate, at the last arrival." },
];

/// Parameters of the whole family.
pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "min_th",
        ty: Ty::Queue,
        unit: "packets",
        auto: "max(5, target_delay·C/2)",
        source: "Floyd, Gummadi, Shenker 2001, section 5",
        doc: "Average queue below which nothing is signalled.",
        ..PARAM
    },
    Param {
        name: "max_th",
        ty: Ty::Queue,
        unit: "packets",
        auto: "3·min_th",
        source: "Floyd, Gummadi, Shenker 2001, section 5",
        doc: "Average queue at which the ramp reaches max_p.",
        ..PARAM
    },
    Param {
        name: "max_p",
        ty: num_open(0.0, 1.0),
        unit: "1",
        default: Some("0.1"),
        source: "Floyd 1997; ns-2: linterm_ 10",
        doc: "Signalling probability at max_th (for an adaptive kind: at the start).",
        ..PARAM
    },
    Param {
        name: "w_q",
        ty: Ty::NumOr(&num_open(0.0, 1.0), &["auto", "rtt"]),
        unit: "1",
        default: Some("\"auto\""),
        ns2: Some("\"rtt\""),
        source: "Floyd, Gummadi, Shenker 2001, section 4; ns-2",
        doc: "Weight of the newest sample in the average; smaller is smoother and slower. \"auto\": 1 − exp(−1/C); \"rtt\": 1 − exp(−1/(10·R·C)), R = max(100 ms, 3·(delay + 1/C)).",
        ..PARAM
    },
    Param {
        name: "gentle",
        ty: Ty::Bool,
        default: Some("true"),
        source: "Floyd 2000",
        doc: "Ramp from max_p at max_th to 1 at 2·max_th instead of a step at max_th.",
        ..PARAM
    },
    Param {
        name: "gentle_tracks_max_p",
        ty: Ty::Bool,
        default: Some("true"),
        ns2: Some("false"),
        source: "Floyd 2000; ns-2 freezes the slope at the first max_p",
        doc: "Whether the gentle part of the ramp starts at the adapted max_p.",
        ..PARAM
    },
    Param {
        name: "gate",
        ty: Ty::Word(&["uniform", "wait", "geometric"]),
        default: Some("\"uniform\""),
        ns2: Some("\"wait\""),
        source: "Floyd, Jacobson 1993, section 7; ns-2: wait_",
        doc: "How signals are spaced at constant p_b: gaps uniform on 1…1/p_b, uniform on 1/p_b…2/p_b, or geometric.",
        ..PARAM
    },
    Param {
        name: "mark_p",
        ty: num(0.0, 1.0),
        unit: "1",
        default: Some("1"),
        ns2: Some("0.1"),
        source: "ns-2 since 2002",
        doc: "Above this p_b a capable packet is dropped all the same.",
        ..PARAM
    },
    Param {
        name: "forced",
        ty: Ty::Word(&["drop", "mark"]),
        default: Some("\"drop\""),
        source: "Floyd, Jacobson 1993; Linux marks",
        doc: "What happens to a capable packet when avg is beyond the end of the ramp.",
        ..PARAM
    },
    Param {
        name: "target_delay",
        ty: Ty::Duration,
        default: Some("\"5 ms\""),
        source: "Floyd, Gummadi, Shenker 2001, section 5",
        doc: "Queueing delay from which an automatic min_th follows.",
        ..PARAM
    },
    Param {
        name: "byte_mode",
        ty: Ty::Bool,
        default: Some("false"),
        source: "Floyd, Jacobson 1993, section 8; ns-2: bytes_",
        doc: "Scale the probability with packet size / mean packet size.",
        ..PARAM
    },
    Param {
        name: "byte_scale",
        ty: Ty::Word(&["p_b", "p_a"]),
        default: Some("\"p_b\""),
        ns2: Some("\"p_a\""),
        source: "Floyd, Jacobson 1993, section 8; ns-2",
        doc: "Which probability byte mode scales; with p_a the count is in mean packets' worth of bytes.",
        ..PARAM
    },
    Param {
        name: "idle",
        ty: Ty::Word(&["exact", "floor"]),
        default: Some("\"exact\""),
        ns2: Some("\"floor\""),
        source: "Floyd, Jacobson 1993, Fig. 2; ns-2",
        doc: "Whether idle time decays the average by a real or a whole number of packet times.",
        ..PARAM
    },
    Param {
        name: "early_min_queue",
        ty: num(0.0, 1e9),
        unit: "the queue's unit",
        default: Some("0"),
        ns2: Some("2"),
        source: "ns-2",
        doc: "No early decision while less than this is waiting.",
        ..PARAM
    },
    Param {
        name: "first_passes",
        ty: Ty::Bool,
        default: Some("false"),
        ns2: Some("true"),
        source: "ns-2",
        doc: "The first packet of an excursion above min_th passes and counts as one.",
        ..PARAM
    },
];

const ARED_PARAMS: &[Param] = &[
    Param {
        name: "interval",
        ty: Ty::Duration,
        default: Some("\"0.5 s\""),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        doc: "Time between two adaptations.",
        ..PARAM
    },
    Param {
        name: "alpha",
        ty: num(0.0, 1.0),
        unit: "1",
        default: Some("0.01"),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2: min(0.01, max_p/4)",
        doc: "Largest increment of max_p; never more than max_p/4.",
        ..PARAM
    },
    Param {
        name: "beta",
        ty: num_open(0.0, 1.0),
        unit: "1",
        default: Some("0.9"),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        doc: "Factor of a decrease of max_p.",
        ..PARAM
    },
    Param {
        name: "target_low",
        ty: num(0.0, 1.0),
        unit: "1",
        default: Some("0.4"),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        doc: "Lower end of the target range, as a fraction of the way from min_th to max_th.",
        ..PARAM
    },
    Param {
        name: "target_high",
        ty: num(0.0, 1.0),
        unit: "1",
        default: Some("0.6"),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        doc: "Upper end of the target range, likewise.",
        ..PARAM
    },
    Param {
        name: "max_p_low",
        ty: Ty::NumOr(&num(0.0, 1.0), &["rate"]),
        unit: "1",
        default: Some("0.01"),
        ns2: Some("\"rate\""),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2; ns-2: bottom_",
        doc: "max_p is not decreased from below this; \"rate\": min(0.01, 80 kbit/s ÷ the link's rate).",
        ..PARAM
    },
    Param {
        name: "max_p_high",
        ty: num_open(0.0, 1.0),
        unit: "1",
        default: Some("0.5"),
        source: "Floyd, Gummadi, Shenker 2001, Fig. 2",
        doc: "max_p is not increased from above this.",
        ..PARAM
    },
    Param {
        name: "adapt_on",
        ty: Ty::Word(&["interval", "arrival"]),
        default: Some("\"interval\""),
        ns2: Some("\"arrival\""),
        source: "Floyd, Gummadi, Shenker 2001: every interval; ns-2: at arrivals",
        doc: "A timer, or the first arrival an interval after the last change.",
        ..PARAM
    },
];

/// What retunes a member of the family.
#[derive(Clone, Debug)]
pub enum Adapter {
    /// Nothing: RED.
    None,
    /// Floyd's ARED.
    Floyd(Floyd),
}

/// A discipline of RED's family: five parts.
#[derive(Clone, Debug)]
pub struct RedFamily {
    estimator: Ewma,
    profile: Profile,
    gate: Gate,
    signal: Classic,
    adapter: Adapter,
    /// What the adapter moves.
    ramp: Ramp,
    /// Whether the queue is measured in bytes.
    bytes: bool,
    /// Units of the queue in one packet of the mean size.
    per_pkt: f64,
    early_min_queue: f64,
    /// Published, not consulted.
    p_b: f64,
}

impl RedFamily {
    /// From checked values; automatic thresholds and weight follow from the link.
    fn new(v: &Values, cx: &Context, adapter: impl FnOnce(&Ramp) -> Adapter) -> Result<Self, ParamError> {
        let mean = mean_packet(v)?;
        let bytes = v.is("unit", "bytes");
        let per_pkt = if bytes { mean.0 as f64 } else { 1.0 };
        let c = cx.rate.packets_per_sec(mean);
        let in_unit = |q: QueueLen| match q {
            QueueLen::Packets(n) => n * per_pkt,
            QueueLen::Bytes(b) if bytes => b as f64,
            QueueLen::Bytes(b) => b as f64 / mean.0 as f64,
        };
        let min_th = v.opt_queue("min_th").map_or_else(
            || per_pkt * f64::max(5.0, v.duration("target_delay").as_secs_f64() * c / 2.0),
            in_unit,
        );
        let max_th = v.opt_queue("max_th").map_or(3.0 * min_th, in_unit);
        if min_th >= max_th {
            let shown = max_th / per_pkt;
            return Err(ParamError::new("min_th", format!("must be below max_th ({shown} packets)")));
        }
        let max_p = v.num("max_p");
        let w_q = match v.opt_num("w_q") {
            Some(w) => w,
            None if v.is("w_q", "rtt") => rtt_weight(c, cx.delay),
            None => auto_weight(c),
        };
        let ramp = Ramp { min_th, max_th, max_p };
        let spacing = match v.word("gate").as_str() {
            "wait" => Spacing::Wait,
            "geometric" => Spacing::Geometric,
            _ => Spacing::Uniform,
        };
        let sizes = match (v.bool("byte_mode"), v.is("byte_scale", "p_a")) {
            (false, _) => Sizes::Ignored,
            (true, false) => Sizes::ScaleB(mean.0 as f64),
            (true, true) => Sizes::ScaleA(mean.0 as f64),
        };
        Ok(RedFamily {
            estimator: Ewma::new(w_q, c, v.is("idle", "floor")),
            profile: if v.bool("gentle") {
                Profile::Gentle { frozen: (!v.bool("gentle_tracks_max_p")).then_some(max_p) }
            } else {
                Profile::Linear
            },
            gate: Gate::new(spacing, sizes, v.bool("first_passes")),
            signal: Classic {
                ecn: v.bool("ecn"),
                mark_p: v.num("mark_p"),
                mark_forced: v.is("forced", "mark"),
            },
            adapter: adapter(&ramp),
            ramp,
            bytes,
            per_pkt,
            early_min_queue: v.num("early_min_queue"),
            p_b: 0.0,
        })
    }

    #[inline]
    fn length(&self, q: &Queue) -> f64 {
        if self.bytes {
            q.bytes as f64
        } else {
            f64::from(q.pkts)
        }
    }
}

impl Aqm for RedFamily {
    #[inline]
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        let length = self.length(q);
        let avg = self.estimator.update(now, length, q.idle_since);
        if let Adapter::Floyd(a) = &mut self.adapter {
            a.arrived(now, avg, &mut self.ramp);
        }
        let at = if length < self.early_min_queue { Point::Below } else { self.profile.at(avg, &self.ramp) };
        match at {
            Point::Below => {
                self.p_b = 0.0;
                self.gate.leave();
                Verdict::Pass
            }
            Point::On(p_b) => {
                self.p_b = p_b;
                if self.gate.decide(p_b, pkt.bytes, rng) {
                    self.signal.early(pkt, p_b)
                } else {
                    Verdict::Pass
                }
            }
            Point::Beyond => {
                self.p_b = 1.0;
                self.gate.restart();
                self.signal.forced(pkt)
            }
        }
    }

    fn overflow(&mut self, _: Time, _: &Packet, _: &Queue) {
        self.gate.restart();
    }

    #[inline]
    fn average_pkts(&self) -> Option<f64> {
        Some(self.estimator.value() / self.per_pkt)
    }

    fn next_tick(&self) -> Option<Time> {
        match &self.adapter {
            Adapter::None => None,
            Adapter::Floyd(a) => a.next_tick(),
        }
    }

    fn tick(&mut self, _: Time, _: &Queue) {
        match &mut self.adapter {
            Adapter::None => {}
            Adapter::Floyd(a) => a.tick(self.estimator.value(), &mut self.ramp),
        }
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("avg_pkts", self.estimator.value() / self.per_pkt);
        out("max_p", self.ramp.max_p);
        out("p_b", self.p_b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::{context, values};
    use crate::{Ecn, Reason};

    fn build(kind: &Kind, set: &[(&'static str, &str)]) -> Result<RedFamily, ParamError> {
        (kind.build)(&values(kind, set), &context()).map(|d| match d {
            Discipline::Red(r) => r,
            _ => unreachable!(),
        })
    }

    const PKT: Packet = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: 0, class: 0 };

    fn busy(pkts: u32) -> Queue {
        Queue { pkts, bytes: u64::from(pkts) * 1000, idle_since: None }
    }

    /// 10 Mbit/s, 1000 B: C = 1250; target delay 5 ms: max(5, 3.125) = 5; 10 ms: 6.25; 40 ms: 25.
    #[test]
    fn automatic_setting() {
        for (set, min_th) in [(vec![], 5.0), (vec![("target_delay", "\"10 ms\"")], 6.25)] {
            let red = build(&RED, &set).unwrap();
            assert!((red.ramp.min_th - min_th).abs() < 1e-9);
            assert!((red.ramp.max_th - 3.0 * min_th).abs() < 1e-9);
        }
        let bytes = build(&RED, &[("unit", "\"bytes\"")]).unwrap();
        assert_eq!((bytes.ramp.min_th, bytes.ramp.max_th), (5000.0, 15_000.0));
    }

    #[test]
    fn thresholds_out_of_order_name_the_key() {
        let err = build(&RED, &[("min_th", "20"), ("max_th", "15")]).unwrap_err();
        assert_eq!((err.name, err.problem.as_str()), ("min_th", "must be below max_th (15 packets)"));
    }

    /// q held at 10, w_q 0.002, min_th 5: nothing can be signalled before the 347th arrival.
    #[test]
    fn no_signal_before_the_average_arrives() {
        let mut red = build(&RED, &[("min_th", "5"), ("max_th", "15"), ("w_q", "0.002")]).unwrap();
        let mut rng = Rng::stream(1, "red");
        for k in 1..=346 {
            assert_eq!(red.arrive(Time::ZERO, &PKT, &busy(10), &mut rng), Verdict::Pass, "k = {k}");
        }
        assert!(red.estimator.value() < 5.0);
        let later = (0..1000).filter(|_| red.arrive(Time::ZERO, &PKT, &busy(10), &mut rng) != Verdict::Pass);
        assert!(later.count() > 10);
    }

    #[test]
    fn beyond_the_end_everything_is_dropped_even_if_capable() {
        let set = [("min_th", "5"), ("max_th", "15"), ("w_q", "1"), ("ecn", "true"), ("gentle", "false")];
        let mut red = build(&RED, &set).unwrap();
        let mut rng = Rng::stream(1, "red");
        let capable = Packet { ecn: Ecn::Ect0, ..PKT };
        for _ in 0..10 {
            let v = red.arrive(Time::ZERO, &capable, &busy(15), &mut rng);
            assert_eq!(v, Verdict::Drop(Reason::Forced));
        }
    }

    /// w_q = 1 makes avg = q: the signalling rate at constant p_b is 2 p_b / (1 + p_b) for `uniform`.
    #[test]
    fn signal_rate_follows_the_gate() {
        for (gate, rate) in [("\"uniform\"", 0.1 / 1.05), ("\"wait\"", 1.0 / 29.5), ("\"geometric\"", 0.05)] {
            let set = [("min_th", "5"), ("max_th", "15"), ("w_q", "1"), ("gate", gate)];
            let mut red = build(&RED, &set).unwrap();
            let mut rng = Rng::stream(5, "red");
            let n = 100_000;
            let signals = (0..n).filter(|_| {
                red.arrive(Time::ZERO, &PKT, &busy(10), &mut rng) == Verdict::Drop(Reason::Early)
            });
            let got = signals.count() as f64 / f64::from(n);
            assert!((got - rate).abs() < 0.05 * rate, "{gate}: {got} {rate}");
        }
    }

    #[test]
    fn overflow_restarts_the_count() {
        let mut red =
            build(&RED, &[("min_th", "5"), ("max_th", "15"), ("w_q", "1"), ("gate", "\"wait\"")]).unwrap();
        let mut rng = Rng::stream(5, "red");
        // wait: no signal in the first 1/p_b = 20 packets after a restart.
        for _ in 0..200 {
            red.overflow(Time::ZERO, &PKT, &busy(10));
            for k in 1..20 {
                assert_eq!(red.arrive(Time::ZERO, &PKT, &busy(10), &mut rng), Verdict::Pass, "k = {k}");
            }
        }
    }

    #[test]
    fn ared_lowest_max_p_under_ns2_follows_the_rate() {
        let ared = build(&ARED, &[("max_p_low", "\"rate\"")]).unwrap();
        let Adapter::Floyd(f) = &ared.adapter else { unreachable!() };
        assert!((f.bounds.0 - 0.008).abs() < 1e-12); // 80 kbit/s / 10 Mbit/s
    }
}
