//! PIE, proportional integral controller enhanced. RFC 8033; names are its. Packets are dropped at
//! random when they arrive, with a probability that follows the queueing delay and its trend:
//! section 4, with these parts of section 5: ECN (5.1), estimation of the departure rate (5.2),
//! derandomization (5.4) and the cap on an increase (5.5). The controller is always active (5.3 is
//! left out). The growth by 2 % at high delay is Linux's (`sch_pie`), after DOCSIS-PIE.

use crate::aqm::{Aqm, Service};
use crate::context::{at_least_a_microsecond, Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::signal::Classic;
use crate::verdict::Verdict;
use penstock_units::param::{num, ParamError};
use penstock_units::{group, params, words, Bytes, Duration, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "pie",
    doc: "Proportional-integral control of the queueing delay, by random drops at arrival.",
    source: "RFC 8033",
    equations: "every t_update:  p ← p + α·(qdelay − qdelay_ref) + β·(qdelay − qdelay_old)\n\
        \u{20}                steps are smaller at small p (÷2 below 0.1 … ÷2048 below 1e-6), at most 0.02 from p = 0.1\n\
        \u{20}                qdelay = bytes waiting/measured departure rate\n\
        arrival:         drop (or mark, p ≤ mark_ecnth) with p, but not in the first max_burst of congestion,\n\
        \u{20}                nor while qdelay_old < qdelay_ref/2 and p < 0.2, nor while at most 2·mean_packet bytes wait",
    expect: "The queueing delay settles at qdelay_ref, 15 ms, whatever the load and the link's \
        rate. Decisions are made at arrival, so it costs no work at the head. The first 150 ms of \
        congestion pass freely. Derandomisation spaces the drops: none before the probabilities \
        since the last one add up to 0.85; where p itself is above that, the figure has its kink.",
    weaknesses: "It takes seconds to find p after a change, and the queue overshoots meanwhile. \
        With ECN, above p = 0.1 it drops capable packets too. The departure rate is measured only \
        while 16 kB wait: below that, at 10 Mbit/s 13 ms, no measurement begins and the last one \
        holds (`delay_from = \"timestamps\"` does without). One queue: flows are not isolated. Of \
        RFC 8033 it leaves out switching itself off (5.3).",
    params: own_tables::<PieParams>(),
    state: &states(COLUMNS),
    defaults: PieParams::DEFAULTS,
};

group! {
    /// What the user of PIE sets.
    pub struct PieParams {
        /// Its own.
        pub own: PieOwn,
        /// What every kind takes.
        pub common: Common,
    }
}

words! {
    /// Where the queueing delay is taken from.
    pub enum DelayFrom {
        /// Bytes waiting over the measured departure rate.
        RateEstimate = "rate-estimate",
        /// What the last packet to leave has waited.
        Timestamps = "timestamps",
    }
}

params! {
    /// Parameters.
    pub struct PieOwn: Default {
        /// The queueing delay to keep.
        pub qdelay_ref: Duration { default: "15 ms", source: "RFC 8033, section 4.2: QDELAY_REF" },
        /// Time between two updates of the probability.
        pub t_update: Duration { default: "15 ms", source: "RFC 8033, section 4.2: T_UPDATE" },
        /// Gain of the delay's distance from the target.
        pub alpha: f64 {
            ty: num(0.0, 100.0),
            unit: "1/s",
            default: 0.125,
            source: "RFC 8033, section 4.2",
        },
        /// Gain of the delay's change.
        pub beta: f64 {
            ty: num(0.0, 100.0),
            unit: "1/s",
            default: 1.25,
            source: "RFC 8033, section 4.2",
        },
        /// Nothing is dropped in the first moments of congestion, for this long.
        pub max_burst: Duration { default: "150 ms", source: "RFC 8033, section 4.4: MAX_BURST" },
        /// With `ecn`: above this probability a capable packet is dropped all the same.
        pub mark_ecnth: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.1,
            source: "RFC 8033, section 5.1",
        },
        /// The queueing delay: bytes waiting over the measured departure rate, or what the last
        /// packet to leave has waited.
        pub delay_from: DelayFrom {
            default: "rate-estimate",
            source: "RFC 8033, sections 4.3 and 5.2",
        },
        /// The departure rate is measured over this much, while at least as much waits.
        pub dq_threshold: Bytes {
            default: "16384 B",
            source: "RFC 8033, section 5.2: DQ_THRESHOLD",
        },
        /// No drop until the probabilities since the last one add up to 0.85; for certain at 8.5.
        pub derandomize: bool { default: true, source: "RFC 8033, section 5.4" },
        /// Above this delay the probability grows by a further 0.02 at each update.
        pub high_delay: Duration { default: "250 ms", source: "Linux: sch_pie" },
    }
}

const COLUMNS: &[Column<Pie>; 3] = &[
    column("p", "The drop probability.", |d| d.p),
    column("qdelay_s", "The queueing delay at the last update.", |d| d.qdelay_old),
    column("burst_allowance_s", "For how long nothing will be dropped yet.", |d| {
        d.burst_allowance.as_secs_f64()
    }),
];

/// A measurement of the departure rate under way (section 5.2).
#[derive(Clone, Copy, Debug)]
struct Measurement {
    start: Time,
    dq_count: u64,
}

/// PIE. Delays are in seconds.
#[derive(Clone, Debug)]
pub struct Pie {
    qdelay_ref: f64,
    t_update: Duration,
    alpha: f64,
    beta: f64,
    max_burst: Duration,
    signal: Classic,
    /// No drops while no more bytes wait: two mean packets.
    small: u64,
    timestamps: bool,
    dq_threshold: u64,
    derandomize: bool,
    high_delay: f64,
    /// drop_prob_.
    p: f64,
    accu_prob: f64,
    qdelay_old: f64,
    burst_allowance: Duration,
    /// The time that the last packet to leave has waited; 0 if it left nothing behind.
    sojourn: f64,
    measurement: Option<Measurement>,
    /// Seconds that `dq_threshold` bytes take to leave; 0 until measured.
    avg_dq_time: f64,
    next: Time,
}

/// Section 4.2: small probabilities move in small steps.
fn auto_tuned(step: f64, p: f64) -> f64 {
    const SCALES: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    SCALES.iter().find(|(below, _)| p < *below).map_or(step, |(_, divisor)| step / divisor)
}

impl Pie {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &PieParams, cx: &Context) -> Result<Self, ParamError> {
        let unit = Unit::of(p, &p.common, cx)?;
        at_least_a_microsecond("t_update", p.own.t_update)?;
        if p.own.dq_threshold.0 == 0 {
            return Err(ParamError::new("dq_threshold", "must be above 0 B"));
        }
        let mark_p = p.own.mark_ecnth;
        Ok(Pie {
            qdelay_ref: p.own.qdelay_ref.as_secs_f64(),
            t_update: p.own.t_update,
            alpha: p.own.alpha,
            beta: p.own.beta,
            max_burst: p.own.max_burst,
            signal: Classic { mark_p, ..Classic::new(p.common.ecn) },
            small: 2 * unit.mean.0,
            timestamps: p.own.delay_from == DelayFrom::Timestamps,
            dq_threshold: p.own.dq_threshold.0,
            derandomize: p.own.derandomize,
            high_delay: p.own.high_delay.as_secs_f64(),
            p: 0.0,
            accu_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance: p.own.max_burst,
            sojourn: 0.0,
            measurement: None,
            avg_dq_time: 0.0,
            next: Time::ZERO + p.own.t_update,
        })
    }
}

impl Pie {
    /// Section 4.1 and 5.4.
    fn drop_early(&mut self, q: &Queue, rng: &mut Rng) -> bool {
        if self.qdelay_old < self.qdelay_ref / 2.0 && self.p < 0.2 || q.bytes <= self.small {
            return false;
        }
        if self.derandomize {
            self.accu_prob = if self.p == 0.0 { 0.0 } else { self.accu_prob + self.p };
            if self.accu_prob < 0.85 {
                return false;
            }
        }
        let drop = self.derandomize && self.accu_prob >= 8.5 || rng.unit() < self.p;
        if drop {
            self.accu_prob = 0.0;
        }
        drop
    }

    /// Section 4.2: p <- p + α(qdelay − qdelay_ref) + β(qdelay − qdelay_old), and the burst
    /// allowance (4.4).
    fn update(&mut self, qdelay: f64) {
        let old = self.qdelay_old;
        let mut step = auto_tuned(
            self.alpha * (qdelay - self.qdelay_ref) + self.beta * (qdelay - old),
            self.p,
        );
        if self.p >= 0.1 {
            step = step.min(0.02);
        }
        if qdelay > self.high_delay {
            step += 0.02;
        }
        self.p += step;
        if qdelay == 0.0 && old == 0.0 {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        self.burst_allowance =
            if self.p == 0.0 && qdelay < self.qdelay_ref / 2.0 && old < self.qdelay_ref / 2.0 {
                self.max_burst
            } else {
                let left = self.burst_allowance.as_ticks().saturating_sub(self.t_update.as_ticks());
                Duration::from_ticks(left)
            };
        self.qdelay_old = qdelay;
    }

    /// Section 5.2: a packet of `bytes` leaves, `behind` bytes stay.
    fn measure(&mut self, now: Time, bytes: u32, behind: u64) {
        if let Some(m) = &mut self.measurement {
            m.dq_count += u64::from(bytes);
            if m.dq_count >= self.dq_threshold {
                let dq_time = now.since(m.start).as_secs_f64();
                let weight = (self.dq_threshold as f64 / 65_536.0).min(1.0);
                self.avg_dq_time = if self.avg_dq_time == 0.0 {
                    dq_time
                } else {
                    weight * dq_time + (1.0 - weight) * self.avg_dq_time
                };
                self.measurement = None;
            }
        }
        if self.measurement.is_none() && behind >= self.dq_threshold {
            self.measurement = Some(Measurement { start: now, dq_count: 0 });
        }
    }
}

impl Aqm for Pie {
    #[inline(always)]
    fn arrive(&mut self, _: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        if self.burst_allowance > Duration::ZERO || !self.drop_early(q, rng) {
            Verdict::Pass
        } else {
            self.signal.early(pkt, self.p)
        }
    }

    #[inline(always)]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        sojourn: Duration,
        q: &Queue,
        _: &mut Rng,
    ) -> Verdict {
        if self.timestamps {
            self.sojourn = if q.pkts == 0 { 0.0 } else { sojourn.as_secs_f64() };
        } else {
            self.measure(now, pkt.bytes, q.bytes);
        }
        Verdict::Pass
    }

    #[inline(always)]
    fn service(&self) -> Service {
        Service::AtDeparture
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.next)
    }

    fn tick(&mut self, now: Time, q: &Queue) {
        let qdelay = if self.timestamps {
            self.sojourn
        } else {
            q.bytes as f64 * self.avg_dq_time / self.dq_threshold as f64
        };
        self.update(qdelay);
        self.next = now + self.t_update;
    }

    /// Each packet keeps the time at which it came, where the delay is known from that.
    fn packet_bytes(&self) -> usize {
        if self.timestamps {
            size_of::<Time>()
        } else {
            0
        }
    }

    fn go_on(&mut self, before: Self, _: Time) {
        self.p = before.p;
        self.accu_prob = before.accu_prob;
        self.qdelay_old = before.qdelay_old;
        self.burst_allowance = before.burst_allowance;
        self.sojourn = before.sojourn;
        self.measurement = before.measurement;
        self.avg_dq_time = before.avg_dq_time;
        self.next = before.next;
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, params};
    use crate::{Ecn, Level, Reason};

    fn pie(set: &[(&'static str, &'static str)]) -> Pie {
        Pie::new(&params(&KIND, set), &context()).unwrap()
    }

    fn queue(pkts: u32) -> Queue {
        Queue { pkts, bytes: u64::from(pkts) * 1000, idle_since: None }
    }

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    /// One update from p and the old delay to the new one, in ms.
    #[test]
    fn probability_by_hand() {
        for (p, old, new, want) in [
            (0.0, 0.0, 35.0, (0.125 * 0.020 + 1.25 * 0.035) / 2048.0),
            (5e-6, 20.0, 25.0, 5e-6 + (0.125 * 0.010 + 1.25 * 0.005) / 512.0),
            (5e-5, 20.0, 25.0, 5e-5 + 0.0075 / 128.0),
            (5e-4, 20.0, 25.0, 5e-4 + 0.0075 / 32.0),
            (5e-3, 20.0, 25.0, 5e-3 + 0.0075 / 8.0),
            (0.05, 20.0, 25.0, 0.05 + 0.0075 / 2.0),
            (0.5, 20.0, 25.0, 0.5 + 0.0075),
            (0.5, 20.0, 60.0, 0.5 + 0.02), // 0.005625 + 0.05, capped
            (0.05, 20.0, 60.0, 0.05 + 0.055_625 / 2.0), // no cap below 0.1
            (0.5, 200.0, 260.0, 0.5 + 0.04), // capped, and 0.02 for the high delay
            (0.5, 0.0, 0.0, (0.5 - 0.125 * 0.015) * 0.98),
            (0.5, 30.0, 10.0, 0.5 - 0.000_625 - 0.025),
            (0.001, 30.0, 10.0, 0.0), // (− 0.000625 − 0.025)/8 < − 0.001
            (0.99, 400.0, 500.0, 1.0),
        ] {
            let mut x = pie(&[]);
            (x.p, x.qdelay_old) = (p, old / 1e3);
            x.update(new / 1e3);
            assert!(
                (x.p - want).abs() < 1e-12,
                "from {p}, {old} to {new} ms: {} should be {want}",
                x.p
            );
            assert_eq!(x.qdelay_old, new / 1e3);
        }
    }

    #[test]
    fn a_burst_is_let_through() {
        let mut x = pie(&[("max_burst", "\"40 ms\"")]);
        let mut rng = Rng::stream(1, "test");
        for (qdelay, allowance, drops) in
            [(0.0, 40, false), (0.4, 25, false), (0.4, 10, false), (0.4, 0, true), (0.4, 0, true)]
        {
            x.update(qdelay);
            assert_eq!(x.burst_allowance, Duration::from_millis(allowance));
            let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: 0, class: 0 };
            x.p = f64::max(x.p, if qdelay > 0.0 { 1.0 } else { 0.0 });
            assert_eq!(x.arrive(Time::ZERO, &pkt, &queue(100), &mut rng) != Verdict::Pass, drops);
        }
    }

    #[test]
    fn drops_only_where_it_may() {
        let mark = Verdict::Mark(Level::Ce, Reason::Early);
        let drop = Verdict::Drop(Reason::Early);
        // accu_prob 8.4 and p: the next packet is certain. Two mean packets are 2000 B; half the
        // target is 7.5 ms.
        for (p, qdelay, pkts, ecn, want) in [
            (0.19, 7.4, 10, Ecn::NotEct, Verdict::Pass),
            (0.2, 7.4, 10, Ecn::NotEct, drop),
            (0.19, 7.5, 10, Ecn::NotEct, drop),
            (0.2, 100.0, 2, Ecn::NotEct, Verdict::Pass),
            (0.2, 100.0, 3, Ecn::NotEct, drop),
            (0.1, 100.0, 3, Ecn::Ect0, mark),
            (0.11, 100.0, 3, Ecn::Ect0, drop),
        ] {
            let mut x = pie(&[("ecn", "true")]);
            (x.p, x.qdelay_old, x.accu_prob, x.burst_allowance) =
                (p, qdelay / 1e3, 8.4, Duration::ZERO);
            let pkt = Packet { bytes: 1000, ecn, flow: 0, class: 0 };
            let got = x.arrive(Time::ZERO, &pkt, &queue(pkts), &mut Rng::stream(1, "test"));
            assert_eq!(got, want, "p {p}, {qdelay} ms, {pkts} packets, {ecn:?}");
        }
    }

    /// p = 1/8: none of the first six packets (6/8 < 0.85), and never more than 68 between two
    /// (68/8 = 8.5). On average 6 + 1/p = 14.
    #[test]
    fn derandomized_gaps() {
        let mut x = pie(&[]);
        (x.p, x.qdelay_old) = (0.125, 0.1);
        let mut rng = Rng::stream(3, "test");
        let (mut gap, mut gaps) = (0u32, vec![]);
        for _ in 0..200_000 {
            gap += 1;
            if x.drop_early(&queue(10), &mut rng) {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        assert!(gaps.iter().all(|g| (7..=68).contains(g)));
        let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
        assert!((mean - 14.0).abs() < 0.3, "{mean}"); // four standard errors: 4·7.5/√14000
    }

    /// 16 packets of 1024 B leave in 16 ms: the first measurement counts whole, the next a quarter.
    #[test]
    fn departure_rate_by_hand() {
        let mut x = pie(&[]);
        let leave = |x: &mut Pie, at, behind| x.measure(ms(at), 1024, behind);
        leave(&mut x, 0, 16_383);
        assert!(x.measurement.is_none(), "too little waits");
        leave(&mut x, 0, 16_384);
        for i in 1..=16 {
            leave(&mut x, i, 16_384);
        }
        assert!((x.avg_dq_time - 0.016).abs() < 1e-12);
        for i in 1..=16 {
            leave(&mut x, 16 + 2 * i, 0);
        }
        assert!((x.avg_dq_time - (0.25 * 0.032 + 0.75 * 0.016)).abs() < 1e-12); // 20 ms
        x.tick(ms(60), &Queue { pkts: 32, bytes: 32_768, idle_since: None });
        assert!((x.qdelay_old - 0.040).abs() < 1e-12, "32 kB at 16 kB in 20 ms");
    }

    #[test]
    fn timestamps_tell_the_last_wait() {
        let mut x = pie(&[("delay_from", "\"timestamps\"")]);
        let mut rng = Rng::stream(1, "test");
        let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: 0, class: 0 };
        for (behind, want) in [(3, 0.030), (0, 0.0)] {
            let _ = x.depart(ms(30), &pkt, Duration::from_millis(30), &queue(behind), &mut rng);
            x.tick(ms(30), &queue(behind));
            assert_eq!(x.qdelay_old, want);
        }
    }
}
