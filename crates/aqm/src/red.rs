//! RED, random early detection, and the family composed like it. S. Floyd, V. Jacobson, "Random
//! early detection gateways for congestion avoidance", IEEE/ACM ToN 1(4), 1993: Fig. 2 is the
//! algorithm, names are its symbols. Gentle: Floyd, "Recommendation on using the gentle_ variant of
//! RED", 2000. ECN: RFC 3168.
//!
//! On each arrival: the estimator moves `avg`; the adapter may retune the profile; the profile
//! turns `avg` into probabilities; a gate for each level turns them into a verdict for this packet;
//! the signal drops or marks it. Descendants change one part each, in their own files.
//!
//! Departs from the paper: once `count·p_b` reaches 1 Fig. 2 divides by zero or less; here that
//! signals for certain.

use crate::adapter::{Adapter, Arrival};
use crate::estimator::{auto_weight, rtt_weight, Ewma};
use crate::gate::{Gate, Sizes, Spacing};
use crate::profile::{Point, Profile, Ramp};
use crate::rared::Climb;
use crate::registry::{in_unit, mean_packet};
use crate::signal::{Classic, Severity, Signal};
use crate::{Aqm, Codepoints, Context, Discipline, Kind, Packet, Queue, State, Verdict};
use penstock_units::param::{num, num_open, Param, ParamError, Ty, Values, PARAM};
use penstock_units::{Bytes, QueueLen, Rng, Time};

/// RED as it is listed.
pub const KIND: Kind = Kind {
    name: "red",
    doc: "Random early detection: signals with a probability that ramps up with the average queue.",
    source: "Floyd, Jacobson 1993; gentle: Floyd 2000; ECN: RFC 3168",
    equations: "busy:  avg ← (1 − w_q)·avg + w_q·q\n\
        idle:  avg ← (1 − w_q)^m·avg,  m = idle time·C\n\
        \n\
        p_b = 0                                          avg < min_th\n\
        p_b = max_p·(avg − min_th)/(max_th − min_th)     min_th ≤ avg < max_th\n\
        p_b = max_p + (1 − max_p)·(avg − max_th)/max_th  max_th ≤ avg < 2·max_th, gentle\n\
        drop (forced)                                    beyond\n\
        \n\
        p_a = p_b/(1 − count·p_b): signal with p_a;  count = packets since the last signal",
    expect: "Signals begin before the buffer is full, fall on flows in proportion to what they send, and are \
        spread evenly over time. The average settles where the ramp's probability is what the flows need, so \
        it rises with their number: the thresholds bound the queue, they do not fix it. The average follows \
        the queue with a time constant of 1/(w_q·C), one second by default, so a short burst passes without \
        a signal. The gate makes gaps uniform on 1…1/p_b − 1 packets: at constant p_b it signals about 2·p_b \
        of the packets, not p_b.",
    weaknesses: "No one setting of w_q, min_th, max_th and max_p suits every load, round-trip time and packet size. A \
        slow average lets a sudden load overflow the buffer first, and still signals when the queue has \
        gone; a fast one punishes bursts. Thresholds of a few packets cost utilisation. Beyond the ramp \
        capable packets are dropped too, unless `forced` is \"mark\".",
    params: &[PARAMS, THRESHOLDS, RAMP],
    state: STATE,
    defaults: &[],
    ns2: &[],
    build: |v, cx| RedFamily::new(v, cx, STATE).map(Discipline::Red),
};

pub(crate) const STATE: &[State] = &[AVG, MAX_P, P_B];
pub(crate) const AVG: State =
    State { name: "avg_pkts", doc: "The average queue, in packets of the mean size." };
pub(crate) const MAX_P: State = State { name: "max_p", doc: "The ceiling of the ramp in force." };
pub(crate) const P_B: State =
    State { name: "p_b", doc: "The probability before the gate, at the last arrival." };
pub(crate) const MIN_TH_NOW: State =
    State { name: "min_th", doc: "The lower threshold in force, in packets." };
pub(crate) const MAX_TH_NOW: State =
    State { name: "max_th", doc: "The upper threshold in force, in packets." };

/// Parameters of the whole family.
pub(crate) const PARAMS: &[Param] = &[
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

/// Where the ramp lies.
pub(crate) const THRESHOLDS: &[Param] = &[
    Param {
        name: "min_th",
        ty: Ty::Queue,
        unit: "packets",
        auto: "max(5, target_delay·C/2); nred: at most half the buffer",
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
        name: "target_delay",
        ty: Ty::Duration,
        default: Some("\"5 ms\""),
        source: "Floyd, Gummadi, Shenker 2001, section 5",
        doc: "Queueing delay from which an automatic min_th follows.",
        ..PARAM
    },
];

/// The ramp of one level.
pub(crate) const RAMP: &[Param] = &[
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
];

/// The unit in which the queue is measured.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    bytes: bool,
    /// Units in a packet of the mean size.
    pub(crate) per_pkt: f64,
    mean: Bytes,
}

impl Unit {
    /// A length as it is written in a scenario, in this unit.
    pub(crate) fn length(&self, q: QueueLen) -> f64 {
        in_unit(q, self.bytes, self.mean)
    }
}

/// A discipline of RED's family: its parts.
#[derive(Clone, Debug)]
pub struct RedFamily {
    estimator: Ewma,
    profile: Profile,
    /// One a level: a signal restarts the count of its own level only.
    gates: [Gate; 2],
    pub(crate) signal: Signal,
    pub(crate) adapter: Adapter,
    /// RARED's switch of the profile.
    pub(crate) climb: Option<Climb>,
    /// What the adapter moves.
    pub(crate) ramp: Ramp,
    pub(crate) unit: Unit,
    pub(crate) codepoints: Codepoints,
    early_min_queue: f64,
    /// Published, not consulted: the levels' probabilities.
    p: [f64; 2],
    state: &'static [State],
}

impl RedFamily {
    /// RED from checked values, of which a member of the family leaves out what it replaces;
    /// automatic thresholds and weight follow from the link.
    pub(crate) fn new(
        v: &Values,
        cx: &Context,
        state: &'static [State],
    ) -> Result<Self, ParamError> {
        let mean = mean_packet(v)?;
        let bytes = v.is("unit", "bytes");
        let per_pkt = if bytes { mean.0 as f64 } else { 1.0 };
        let unit = Unit { bytes, per_pkt, mean };
        let c = cx.rate.packets_per_sec(mean);
        let by_delay = || {
            let delay = v.opt_duration("target_delay").map_or(0.0, |d| d.as_secs_f64());
            per_pkt * f64::max(5.0, delay * c / 2.0)
        };
        // A target queue is twice min_th (AMECN paper, section 3.3.3).
        let by_target = || v.opt_queue("target_queue").map(|q| unit.length(q) / 2.0);
        if by_target().is_some_and(|min_th| min_th <= 0.0) {
            return Err(ParamError::new("target_queue", "must be above 0"));
        }
        let min_th = v
            .opt_queue("min_th")
            .map(|q| unit.length(q))
            .or_else(by_target)
            .unwrap_or_else(by_delay);
        let max_th = v.opt_queue("max_th").map_or(3.0 * min_th, |q| unit.length(q));
        if min_th >= max_th {
            let shown = max_th / per_pkt;
            return Err(ParamError::new(
                "min_th",
                format!("must be below max_th ({shown} packets)"),
            ));
        }
        let max_p = v.opt_num("max_p").unwrap_or(1.0);
        let w_q = match v.opt_num("w_q") {
            Some(w) => w,
            None if v.is("w_q", "rtt") => rtt_weight(c, cx.delay),
            None => auto_weight(c),
        };
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
        let frozen = v.opt_bool("gentle_tracks_max_p") == Some(false);
        let gentle = Profile::Gentle { frozen: frozen.then_some(max_p) };
        let limit = unit.length(cx.buffer);
        Ok(RedFamily {
            estimator: Ewma::new(w_q, c, v.is("idle", "floor")),
            profile: if v.opt_bool("gentle") == Some(true) { gentle } else { Profile::Linear },
            gates: [
                Gate::new(spacing, sizes, v.bool("first_passes")),
                Gate::new(spacing, sizes, false),
            ],
            signal: Signal::Classic(Classic {
                ecn: v.bool("ecn"),
                mark_p: v.num("mark_p"),
                mark_forced: v.is("forced", "mark"),
            }),
            adapter: Adapter::None,
            climb: None,
            ramp: Ramp { min_th, mid_th: max_th, max_th, limit, max_p, p2_max: 0.0, n: 1.0 },
            unit,
            codepoints: Codepoints::Wire,
            early_min_queue: v.num("early_min_queue"),
            p: [0.0; 2],
            state,
        })
    }

    pub(crate) fn with_adapter(mut self, adapter: Adapter) -> Self {
        self.adapter = adapter;
        self
    }

    pub(crate) fn with_profile(mut self, profile: Profile) -> Result<Self, ParamError> {
        let (min_th, limit) = (self.ramp.min_th, self.ramp.limit);
        if matches!(profile, Profile::Power) && min_th >= limit {
            let shown = limit / self.unit.per_pkt;
            return Err(ParamError::new(
                "min_th",
                format!("must be below the buffer ({shown} packets)"),
            ));
        }
        self.profile = profile;
        Ok(self)
    }

    /// For a profile that ends at the buffer: an automatic min_th is at most half of it.
    pub(crate) fn within_the_buffer(mut self, v: &Values) -> Self {
        if v.opt_queue("min_th").is_none() {
            self.ramp.min_th = self.ramp.min_th.min(self.ramp.limit / 2.0);
        }
        self
    }

    /// Without ECN.
    pub(crate) fn without_marks(mut self) -> Self {
        if let Signal::Classic(classic) = &mut self.signal {
            classic.ecn = false;
        }
        self
    }

    /// Without averaging.
    pub(crate) fn instantaneous(mut self) -> Self {
        self.estimator = self.estimator.with_weight(1.0);
        self
    }

    pub(crate) fn w_q(&self) -> f64 {
        self.estimator.weight()
    }

    /// The packet passes unless the gate of `level` chooses it at `p`.
    #[inline]
    fn gated(&mut self, level: Severity, p: f64, pkt: &Packet, rng: &mut Rng) -> Option<Verdict> {
        let gate = &mut self.gates[usize::from(level != Severity::Incipient)];
        gate.decide(p, pkt.bytes, rng).then(|| self.signal.early(level, pkt, p))
    }

    /// RARED: the average climbs, and the packet is decided with `max_p'`.
    #[cold]
    fn climbing(&mut self, avg: f64, pkt: &Packet, rng: &mut Rng) -> Verdict {
        let Some(climb) = &mut self.climb else { return Verdict::Pass };
        climb.pkts += 1;
        let signal = if climb.ramp {
            let steep = Ramp { max_p: climb.max_p, ..self.ramp };
            let (Point::On(p) | Point::Levels(p, _) | Point::Severe(p)) =
                self.profile.at(avg, &steep)
            else {
                return Verdict::Pass;
            };
            self.p[0] = p;
            self.gates[0].decide(p, pkt.bytes, rng)
        } else {
            self.p[0] = climb.max_p;
            self.gates[0].coin(climb.max_p, pkt.bytes, rng)
        };
        if !signal {
            return Verdict::Pass;
        }
        let verdict = self.signal.early(Severity::Incipient, pkt, self.p[0]);
        climb.marks += u64::from(matches!(verdict, Verdict::Mark(..)));
        verdict
    }
}

impl Aqm for RedFamily {
    #[inline]
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        let length = q.length(self.unit.bytes);
        let avg = self.estimator.update(now, length, q.idle_since);
        self.adapter.arrived(&Arrival { now, avg, q: length, pkt }, &mut self.ramp);
        let climbs = self.climb.as_mut().is_some_and(|c| c.climbs(now, avg, length, &self.ramp));
        let at = if length < self.early_min_queue {
            Point::Below
        } else {
            self.profile.at(avg, &self.ramp)
        };
        self.p = [0.0; 2];
        match at {
            Point::Below => {
                self.gates[0].leave();
                self.gates[1].leave();
                Verdict::Pass
            }
            Point::Beyond => {
                self.p = [1.0; 2];
                self.gates[0].restart();
                self.gates[1].restart();
                self.signal.forced(pkt)
            }
            _ if climbs => self.climbing(avg, pkt, rng),
            Point::On(p) => {
                self.p[0] = p;
                self.gated(Severity::Incipient, p, pkt, rng).unwrap_or(Verdict::Pass)
            }
            Point::Levels(p1, p2) => {
                self.p = [p1, p2];
                // First the moderate coin; where it falls, the incipient count goes on all the
                // same.
                if let Some(verdict) = self.gated(Severity::Moderate, p2, pkt, rng) {
                    self.gates[0].count(pkt.bytes);
                    return verdict;
                }
                self.gated(Severity::Incipient, p1, pkt, rng).unwrap_or(Verdict::Pass)
            }
            Point::Severe(p) => {
                self.p[1] = p;
                self.gates[0].count(pkt.bytes);
                self.gated(Severity::Severe, p, pkt, rng).unwrap_or(Verdict::Pass)
            }
        }
    }

    fn overflow(&mut self, _: Time, _: &Packet, _: &Queue) {
        self.gates[0].restart();
        self.gates[1].restart();
    }

    #[inline]
    fn average_pkts(&self) -> Option<f64> {
        Some(self.estimator.value() / self.unit.per_pkt)
    }

    #[inline]
    fn next_tick(&self) -> Option<Time> {
        self.adapter.next_tick()
    }

    fn tick(&mut self, _: Time, q: &Queue) {
        self.adapter.tick(self.estimator.value(), q.length(self.unit.bytes), &mut self.ramp);
    }

    fn codepoints(&self) -> Codepoints {
        self.codepoints
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let r = &self.ramp;
        let climb = |f: fn(&Climb) -> u64| self.climb.as_ref().map_or(0.0, |c| f(c) as f64);
        for s in self.state {
            let value = match s.name {
                "avg_pkts" => self.estimator.value() / self.unit.per_pkt,
                "max_p" | "p1_max" => r.max_p,
                "p2_max" => r.p2_max,
                "n" => r.n,
                "min_th" => r.min_th / self.unit.per_pkt,
                "max_th" => r.max_th / self.unit.per_pkt,
                "p_b" | "p1" => self.p[0],
                "p2" => self.p[1],
                "climb_pkts" => climb(|c| c.pkts),
                "climb_marks" => climb(|c| c.marks),
                name => unreachable!("{name} is not of this family"),
            };
            out(s.name, value);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::registry::tests::{context, values};
    use crate::{Ecn, Reason};

    /// 5, 10, 15; 0.1.
    pub(crate) const RAMP5_15: Ramp = Ramp {
        min_th: 5.0,
        mid_th: 10.0,
        max_th: 15.0,
        limit: 100.0,
        max_p: 0.1,
        p2_max: 0.1,
        n: 2.0,
    };

    pub(crate) fn build(
        kind: &Kind,
        set: &[(&'static str, &str)],
    ) -> Result<RedFamily, ParamError> {
        (kind.build)(&values(kind, set), &context()).map(|d| match d {
            Discipline::Red(r) => r,
            _ => unreachable!(),
        })
    }

    const PKT: Packet = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: 0, class: 0 };

    pub(crate) fn busy(pkts: u32) -> Queue {
        Queue { pkts, bytes: u64::from(pkts) * 1000, idle_since: None }
    }

    /// 10 Mbit/s, 1000 B: C = 1250; target delay 5 ms: max(5, 3.125) = 5; 10 ms: 6.25; 40 ms: 25.
    #[test]
    fn automatic_setting() {
        for (set, min_th) in [(vec![], 5.0), (vec![("target_delay", "\"10 ms\"")], 6.25)] {
            let red = build(&KIND, &set).unwrap();
            assert!((red.ramp.min_th - min_th).abs() < 1e-9);
            assert!((red.ramp.max_th - 3.0 * min_th).abs() < 1e-9);
        }
        let bytes = build(&KIND, &[("unit", "\"bytes\"")]).unwrap();
        assert_eq!((bytes.ramp.min_th, bytes.ramp.max_th), (5000.0, 15_000.0));
    }

    #[test]
    fn thresholds_out_of_order_name_the_key() {
        let err = build(&KIND, &[("min_th", "20"), ("max_th", "15")]).unwrap_err();
        assert_eq!(
            (err.name, err.problem.as_str()),
            ("min_th", "must be below max_th (15 packets)")
        );
    }

    /// q held at 10, w_q 0.002, min_th 5: nothing can be signalled before the 347th arrival.
    #[test]
    fn no_signal_before_the_average_arrives() {
        let mut red = build(&KIND, &[("min_th", "5"), ("max_th", "15"), ("w_q", "0.002")]).unwrap();
        let mut rng = Rng::stream(1, "red");
        for k in 1..=346 {
            assert_eq!(red.arrive(Time::ZERO, &PKT, &busy(10), &mut rng), Verdict::Pass, "k = {k}");
        }
        assert!(red.estimator.value() < 5.0);
        let later = (0..1000)
            .filter(|_| red.arrive(Time::ZERO, &PKT, &busy(10), &mut rng) != Verdict::Pass);
        assert!(later.count() > 10);
    }

    #[test]
    fn beyond_the_end_everything_is_dropped_even_if_capable() {
        let set =
            [("min_th", "5"), ("max_th", "15"), ("w_q", "1"), ("ecn", "true"), ("gentle", "false")];
        let mut red = build(&KIND, &set).unwrap();
        let mut rng = Rng::stream(1, "red");
        let capable = Packet { ecn: Ecn::Ect0, ..PKT };
        for _ in 0..10 {
            let v = red.arrive(Time::ZERO, &capable, &busy(15), &mut rng);
            assert_eq!(v, Verdict::Drop(Reason::Forced));
        }
    }

    /// w_q = 1 makes avg = q. At p_b = 1/20 gaps are 1…19 packets (`uniform`), 20…39 (`wait`),
    /// geometric with mean 20.
    #[test]
    fn signal_rate_follows_the_gate() {
        for (gate, rate) in
            [("\"uniform\"", 0.1), ("\"wait\"", 1.0 / 29.5), ("\"geometric\"", 0.05)]
        {
            let set = [("min_th", "5"), ("max_th", "15"), ("w_q", "1"), ("gate", gate)];
            let mut red = build(&KIND, &set).unwrap();
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
            build(&KIND, &[("min_th", "5"), ("max_th", "15"), ("w_q", "1"), ("gate", "\"wait\"")])
                .unwrap();
        let mut rng = Rng::stream(5, "red");
        // wait: no signal in the first 1/p_b = 20 packets after a restart.
        for _ in 0..200 {
            red.overflow(Time::ZERO, &PKT, &busy(10));
            for k in 1..20 {
                assert_eq!(
                    red.arrive(Time::ZERO, &PKT, &busy(10), &mut rng),
                    Verdict::Pass,
                    "k = {k}"
                );
            }
        }
    }
}
