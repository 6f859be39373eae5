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

use crate::context::{Common, Context};
use crate::family::params::{Base, Ceiling, Setting, Thresholds};
use crate::kind::{own_tables, states, Column, Kind};
use crate::parts::adapter::{Adapter, Clock, ClockParams};
use crate::parts::compose::Composed;
use crate::parts::profile::{Arrival, Ramp, Straight};
use penstock_units::param::ParamError;
use penstock_units::{group, params, words, QueueLen, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "dt-red",
    doc: "RED whose thresholds follow the number of flows and the size of their bursts.",
    source: "Murshed 2005, as told by the RED-AT paper, section 4.3",
    equations: "RED, with min_th = 4, max_th = 2·min_th at the start, and every interval:\n\
        min_th ← n·k within [4, target]     n flows, k packets in a burst of one of them\n\
        max_th ← 2·min_th                   below the target\n\
        max_th ← max_th + (1 − w)^{nk}·a0 + (1 − (1 − w)^{nk})·q0, at most B    at the target (a0 average, q0 queue)",
    expect: "The thresholds make room for one burst of every flow: few smooth flows get a short \
        queue, many or bursty ones a long one. At the target max_th grows to the buffer within \
        some intervals, and the ramp is flat.",
    weaknesses: "The original (Murshed 2005) was not at hand, and the RED-AT paper tells no more \
        than this. How flows and bursts are counted, that min_th = n·k, the target (a quarter of \
        the buffer) and when equation (4) acts are readings. As printed equation (4) only ever \
        adds; `max_th_rule = \"average\"` sets instead. Flows are counted by hashing into 1024 \
        bits, which saturates at some thousands.",
    params: own_tables::<DtRedParams>(),
    state: &states(COLUMNS),
    defaults: DtRedParams::DEFAULTS,
};

group! {
    /// What the user of DT-RED sets.
    pub struct DtRedParams {
        /// What the whole family takes.
        pub base: Base,
        /// Where the thresholds start.
        pub start: Start,
        /// The ramp's ceiling.
        pub ceiling: Ceiling,
        /// Where they go.
        pub bursts: BurstParams,
        /// When they move.
        pub clock: ClockParams,
        /// What every kind takes.
        pub common: Common,
    }
}

words! {
    /// What equation (4) does to `max_th`.
    pub enum MaxThRule {
        /// It adds, as printed.
        Sum = "sum",
        /// It sets `max_th` to the average that is expected after the burst.
        Average = "average",
    }
}

params! {
    /// Where min_th starts.
    pub struct Start: Default {
        /// min_th at the start, and its lower bound; max_th is twice min_th until the target is
        /// reached.
        pub min_th: QueueLen { unit: "packets", default: 4, source: "RED-AT paper, section 4.3" },
    }
}

params! {
    /// Its own parameters.
    pub struct BurstParams: Default {
        /// The highest min_th; while it stands there equation (4) moves max_th.
        pub min_th_target: Option<QueueLen> {
            unit: "packets",
            auto: "a quarter of the buffer",
            source: "RED-AT paper, section 4.3: \"target\"; its value is our reading",
        },
        /// At the target: add what equation (4) adds, as printed; or set max_th to the average that
        /// is expected after the burst, at least 2·min_th.
        pub max_th_rule: MaxThRule { default: "sum", source: "RED-AT paper, equation (4)" },
    }
}

/// DT-RED: RED with an adapter of the thresholds.
pub type DtRed = Composed<Straight, Burst>;

const COLUMNS: &[Column<DtRed>; 4] = &[DtRed::AVG, DtRed::MIN_TH, DtRed::MAX_TH, DtRed::P_B];

impl DtRed {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &DtRedParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let start = Thresholds { min_th: Some(p.start.min_th), ..Thresholds::default() };
        let mut ramp = start.ramp(&setting, p.ceiling.max_p)?;
        let w_q = p.base.w_q.on(setting.c, cx.delay);
        let adapter = Burst::new(&p.bursts, &p.clock, &setting, w_q, &mut ramp)?;
        Ok(p.base.compose(&setting, ramp, p.ceiling.profile(), adapter, COLUMNS))
    }
}

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
    clock: Clock,
    /// One bit per hashed flow (linear counting: Whang, Vander-Zanden, Taylor 1990): constant memory,
    /// whatever the number of flows.
    seen: Box<[u64; BITS / 64]>,
    last_flow: Option<u32>,
    runs: u64,
    pkts: u64,
}

impl Burst {
    /// The adapter of a discipline with this weight; `max_th` is set to its start.
    pub(crate) fn new(
        p: &BurstParams,
        clock: &ClockParams,
        setting: &Setting,
        w_q: f64,
        r: &mut Ramp,
    ) -> Result<Self, ParamError> {
        let (per_pkt, limit) = (setting.unit.per_pkt, setting.limit());
        let start = r.min_th;
        // However small the buffer, there is room for a ramp.
        let automatic = f64::max(limit / 4.0, start);
        let target = p.min_th_target.map_or(automatic, |q| setting.unit.length(q));
        if target < start {
            let problem = format!("must not be below min_th ({} packets)", start / per_pkt);
            return Err(ParamError::new("min_th_target", problem));
        }
        r.max_th = 2.0 * start;
        Ok(Burst {
            start,
            target,
            limit,
            per_pkt,
            w_q,
            sum: p.max_th_rule == MaxThRule::Sum,
            clock: Clock::new(clock)?,
            seen: Box::new([0; BITS / 64]),
            last_flow: None,
            runs: 0,
            pkts: 0,
        })
    }
}

impl Burst {
    /// Returns n·k of the interval that ends here.
    fn expected_burst(&mut self) -> f64 {
        let free = self.seen.iter().map(|w| w.count_zeros()).sum::<u32>().max(1);
        let flows = -(BITS as f64) * libm::log(f64::from(free) / BITS as f64);
        let run = if self.runs > 0 { self.pkts as f64 / self.runs as f64 } else { 0.0 };
        *self.seen = [0; BITS / 64];
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

impl<P> Adapter<P> for Burst {
    #[inline]
    fn arrived(&mut self, a: &Arrival, r: &mut Ramp, _: &mut P) {
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

    #[inline]
    fn next_tick(&self) -> Option<Time> {
        self.clock.next_tick()
    }

    fn start(&mut self, now: Time) {
        self.clock.start(now);
    }

    fn tick(&mut self, avg: f64, q: f64, r: &mut Ramp, _: &mut P) {
        self.clock.ticked();
        self.adapt(avg, q, r);
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(&*self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, params, PKT};
    use crate::Packet;

    fn build(set: &[(&'static str, &'static str)]) -> Result<DtRed, ParamError> {
        DtRed::new(&params(&KIND, set), &context())
    }

    fn feed(b: &mut Burst, r: &mut Ramp, flows: u32, run: u32, rounds: u32) {
        for _ in 0..rounds {
            for flow in 0..flows {
                for _ in 0..run {
                    let pkt = Packet { flow: flow * 7919, ..PKT };
                    b.arrived(
                        &Arrival { now: Time::ZERO, avg: 0.0, q: 0.0, pkt: &pkt },
                        r,
                        &mut (),
                    );
                }
            }
        }
    }

    /// B 100, target 25, w 0.5: 5 flows in runs of 2 make min_th 10; 20 runs of 2 the target; then
    /// equation (4) by hand.
    #[test]
    fn thresholds_by_hand() {
        for (rule, first, second) in [("\"sum\"", 74.0, 98.0), ("\"average\"", 50.0, 50.0)] {
            let d = build(&[("w_q", "0.5"), ("max_th_rule", rule)]).unwrap();
            let (mut b, mut r) = (d.adapter, d.ramp);
            assert_eq!((r.min_th, r.max_th, b.target), (4.0, 8.0, 25.0));
            feed(&mut b, &mut r, 5, 2, 3);
            b.tick(0.0, 0.0, &mut r, &mut ());
            // Linear counting is exact to a few tenths of a percent here.
            assert!(
                (r.min_th - 10.0).abs() < 0.1 && (r.max_th - 2.0 * r.min_th).abs() < 1e-9,
                "{r:?}"
            );
            feed(&mut b, &mut r, 20, 2, 1);
            b.tick(20.0, 24.0, &mut r, &mut ());
            assert_eq!((r.min_th, r.max_th), (25.0, 50.0));
            // nk = 40: 0.5^40 of the average is nothing, the rest is q = 24.
            for want in [first, second] {
                feed(&mut b, &mut r, 20, 2, 1);
                b.tick(20.0, 24.0, &mut r, &mut ());
                assert!((r.max_th - want).abs() < 1e-6, "{rule}: {}", r.max_th);
            }
            b.tick(20.0, 24.0, &mut r, &mut ()); // nothing arrived: back to the start
            assert_eq!((r.min_th, r.max_th), (4.0, 8.0));
        }
    }

    #[test]
    fn a_target_below_the_start_names_the_key() {
        assert_eq!(build(&[("min_th_target", "3")]).unwrap_err().name, "min_th_target");
    }
}
