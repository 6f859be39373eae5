//! RED with reconfigurable thresholds: M. Murshed, "Adaptive RED with dynamic threshold
//! adjustment", 2005, as the RED-AT paper tells it (section 4.3). `min_th` starts at 4 and follows
//! burst size and number of flows up to a target, `max_th = 2·min_th`; once the target is reached,
//! equation (4): `max_th ← max_th + (1 − w)^{nk}·a_0 + (1 − (1 − w)^{nk})·q_0`, n flows, k burst,
//! a_0 the average, q_0 the queue.
//!
//! Only that much is in the paper. Our reading of the rest: n is the number of flows seen in an
//! interval, k the mean run of packets of one flow, `min_th = n·k` between its start and the target
//! (room for one burst of every flow), `max_th` at most B. The two terms that equation (4) adds are
//! where the average stands after nk more arrivals; added to `max_th` every interval they soon
//! reach B (`max_th_rule`).

use crate::adapter::{Adapter, Arrival, Clock};
use crate::ared::{clock, CLOCK};
use crate::profile::Ramp;
use crate::red::{RedFamily, AVG, MAX_TH_NOW, MIN_TH_NOW, PARAMS, P_B, RAMP};
use crate::{Discipline, Kind};
use penstock_units::param::{Param, ParamError, Ty, Values, PARAM};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "dt-red",
    doc: "RED whose thresholds follow the number of flows and the size of their bursts.",
    source: "Murshed 2005, as told by the RED-AT paper, section 4.3",
    equations: "RED, with min_th = 4, max_th = 2·min_th at the start, and every interval:\n\
        min_th ← n·k within [4, target]     n flows, k packets in a burst of one of them\n\
        max_th ← 2·min_th                   below the target\n\
        max_th ← max_th + (1 − w)^{nk}·a0 + (1 − (1 − w)^{nk})·q0, at most B    at the target (a0 average, q0 queue)",
    expect: "The thresholds make room for one burst of every flow: few smooth flows get a short queue, many or \
        bursty ones a long one. At the target max_th grows to the buffer within some intervals, and the ramp \
        is flat.",
    weaknesses: "The original (Murshed 2005) was not at hand: the RED-AT paper tells only that much. How flows and \
        bursts are counted, that min_th = n·k, the target (a quarter of the buffer) and when equation (4) \
        acts are readings. As printed equation (4) only ever adds; `max_th_rule = \"average\"` sets instead. \
        Flows are counted by hashing into 1024 bits, which saturates at some thousands.",
    params: &[PARAMS, START, RAMP, DT_RED, CLOCK],
    state: &[AVG, MIN_TH_NOW, MAX_TH_NOW, P_B],
    defaults: &[],
    ns2: &[],
    build: |v, cx| RedFamily::new(v, cx, KIND.state)?.with_bursts(v).map(Discipline::Red),
};

/// Its own parameters.
pub(crate) const DT_RED: &[Param] = &[
    Param {
        name: "min_th_target",
        ty: Ty::Queue,
        unit: "packets",
        auto: "a quarter of the buffer",
        source: "RED-AT paper, section 4.3: \"target\"; its value is our reading",
        doc: "The highest min_th; while it stands there equation (4) moves max_th.",
        ..PARAM
    },
    Param {
        name: "max_th_rule",
        ty: Ty::Word(&["sum", "average"]),
        default: Some("\"sum\""),
        source: "RED-AT paper, equation (4)",
        doc: "At the target: add what equation (4) adds, as printed; or set max_th to the average that is expected after the burst, at least 2·min_th.",
        ..PARAM
    },
];

/// Where min_th starts.
const START: &[Param] = &[Param {
    name: "min_th",
    ty: Ty::Queue,
    unit: "packets",
    default: Some("4"),
    source: "RED-AT paper, section 4.3",
    doc: "min_th at the start, and its lower bound; max_th is twice min_th until the target is reached.",
    ..PARAM
}];

/// Bits of the table in which flows are counted.
const BITS: usize = 1024;

/// DT-RED's adapter.
#[derive(Clone, Debug)]
pub struct Burst {
    start: f64,
    target: f64,
    limit: f64,
    per_pkt: f64,
    w_q: f64,
    sum: bool,
    pub(crate) clock: Clock,
    /// One bit a hashed flow (linear counting: Whang, Vander-Zanden, Taylor 1990): constant memory,
    /// whatever the number of flows.
    seen: [u64; BITS / 64],
    last_flow: Option<u32>,
    runs: u64,
    pkts: u64,
}

impl RedFamily {
    pub(crate) fn with_bursts(mut self, v: &Values) -> Result<Self, ParamError> {
        let (per_pkt, limit) = (self.unit.per_pkt, self.ramp.limit);
        let target = v.opt_queue("min_th_target").map(|q| self.unit.length(q));
        // However small the buffer, there is room for a ramp.
        let target = target.unwrap_or(f64::max(limit / 4.0, self.ramp.min_th));
        let start = self.ramp.min_th;
        if target < start {
            let problem = format!("must not be below min_th ({} packets)", start / per_pkt);
            return Err(ParamError::new("min_th_target", problem));
        }
        self.ramp.max_th = 2.0 * start;
        let (w_q, sum) = (self.w_q(), !v.is("max_th_rule", "average"));
        let burst = Burst {
            start,
            target,
            limit,
            per_pkt,
            w_q,
            sum,
            clock: clock(v)?,
            seen: [0; BITS / 64],
            last_flow: None,
            runs: 0,
            pkts: 0,
        };
        Ok(self.with_adapter(Adapter::Burst(Box::new(burst))))
    }
}

impl Burst {
    /// A packet arrived.
    #[inline]
    pub fn arrived(&mut self, a: &Arrival, r: &mut Ramp) {
        // Fibonacci hashing: the high bits of the product.
        let bit = (a.pkt.flow.wrapping_mul(0x9e37_79b9) >> 22) as usize;
        self.seen[bit / 64] |= 1 << (bit % 64);
        self.pkts += 1;
        if self.last_flow != Some(a.pkt.flow) {
            self.last_flow = Some(a.pkt.flow);
            self.runs += 1;
        }
        if self.clock.over(a.now) {
            self.clock.restart(a.now);
            self.adapt(a.avg, a.q, r);
        }
    }

    /// The interval is over.
    pub fn tick(&mut self, avg: f64, q: f64, r: &mut Ramp) {
        self.clock.ticked();
        self.adapt(avg, q, r);
    }

    /// n·k of the interval that ends here.
    fn expected_burst(&mut self) -> f64 {
        let free = self.seen.iter().map(|w| w.count_zeros()).sum::<u32>().max(1);
        let flows = -(BITS as f64) * libm::log(f64::from(free) / BITS as f64);
        let run = if self.runs > 0 { self.pkts as f64 / self.runs as f64 } else { 0.0 };
        self.seen = [0; BITS / 64];
        (self.last_flow, self.runs, self.pkts) = (None, 0, 0);
        flows * run
    }

    fn adapt(&mut self, avg: f64, q: f64, r: &mut Ramp) {
        let burst = self.expected_burst();
        let at_target = r.min_th >= self.target;
        r.min_th = (burst * self.per_pkt).clamp(self.start, self.target);
        if r.min_th < self.target || !at_target {
            r.max_th = 2.0 * r.min_th;
            return;
        }
        let keep = libm::pow(1.0 - self.w_q, burst);
        let expected = keep * avg + (1.0 - keep) * q;
        let moved = if self.sum { r.max_th + expected } else { expected };
        r.max_th = moved.min(self.limit).max(2.0 * r.min_th);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::red::tests::build;
    use crate::{Ecn, Packet};
    use penstock_units::Time;

    fn feed(b: &mut Burst, r: &mut Ramp, flows: u32, run: u32, rounds: u32) {
        for _ in 0..rounds {
            for flow in 0..flows {
                for _ in 0..run {
                    let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: flow * 7919, class: 0 };
                    b.arrived(&Arrival { now: Time::ZERO, avg: 0.0, q: 0.0, pkt: &pkt }, r);
                }
            }
        }
    }

    /// B 100, target 25, w 0.5: 5 flows in runs of 2 make min_th 10; 20 runs of 2 the target; then
    /// equation (4) by hand.
    #[test]
    fn thresholds_by_hand() {
        for (rule, first, second) in [("\"sum\"", 74.0, 98.0), ("\"average\"", 50.0, 50.0)] {
            let d = build(&KIND, &[("w_q", "0.5"), ("max_th_rule", rule)]).unwrap();
            let (Adapter::Burst(mut b), mut r) = (d.adapter, d.ramp) else { unreachable!() };
            assert_eq!((r.min_th, r.max_th, b.target), (4.0, 8.0, 25.0));
            feed(&mut b, &mut r, 5, 2, 3);
            b.tick(0.0, 0.0, &mut r);
            // Linear counting is exact to a few tenths of a percent here.
            assert!(
                (r.min_th - 10.0).abs() < 0.1 && (r.max_th - 2.0 * r.min_th).abs() < 1e-9,
                "{r:?}"
            );
            feed(&mut b, &mut r, 20, 2, 1);
            b.tick(20.0, 24.0, &mut r);
            assert_eq!((r.min_th, r.max_th), (25.0, 50.0));
            // nk = 40: 0.5^40 of the average is nothing, the rest is q = 24.
            for want in [first, second] {
                feed(&mut b, &mut r, 20, 2, 1);
                b.tick(20.0, 24.0, &mut r);
                assert!((r.max_th - want).abs() < 1e-6, "{rule}: {}", r.max_th);
            }
            b.tick(20.0, 24.0, &mut r); // nothing arrived: back to the start
            assert_eq!((r.min_th, r.max_th), (4.0, 8.0));
        }
    }

    #[test]
    fn a_target_below_the_start_names_the_key() {
        assert_eq!(build(&KIND, &[("min_th_target", "3")]).unwrap_err().name, "min_th_target");
    }
}
