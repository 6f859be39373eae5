//! DOCSIS-PIE, the PIE of cable modems. RFC 8034; names are its. The modem knows the rate at which
//! its queue is served, because a token bucket makes it, so that the delay is computed and nothing
//! is measured. Probabilities are of a packet of 1024 B, smaller ones are spared, and what adds up
//! may exceed 1. It switches itself off when there was no congestion for a while. It drops only.
//!
//! Departs from the RFC: the bucket is followed from arrivals and the queue's length, so that what
//! left between two arrivals counts as having left evenly; and by default (`msr_share` 1) there is
//! none, as the link sends at its one rate.

use crate::aqm::Aqm;
use crate::context::{at_least_a_microsecond, Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{num, num_open, ParamError};
use penstock_units::{group, params, Bytes, Duration, QueueLen, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "docsis-pie",
    doc: "PIE for a cable modem's upstream: the delay follows from the known rate, small packets \
        are spared.",
    source: "RFC 8034",
    equations: "every interval:  p ← p + α·(d − latency_target) + β·(d − d_old)\n\
        \u{20}                steps are smaller at small p (÷2048 … ÷2), larger above 0.1 (×2), 1 (×8) and 10 (×32)\n\
        \u{20}                d = queue/peak within the tokens, beyond them (queue − tokens)/msr + tokens/peak\n\
        arrival:         p1 = min(p·size/1024, 0.85);  accu ← accu + p1\n\
        \u{20}                drop with p1, never below accu 0.85, for certain at 8.5",
    expect: "The delay of an upstream settles around 10 ms. ACKs, requests and voice are dropped \
        by their share of 1024 B: at p = 0.4 a full frame in 59 % of the draws, an ACK of 64 B in \
        2.5 %. After a second without congestion it sleeps, and a burst up to a third of the \
        buffer then passes freely; the first drop after that gives 142 ms of grace.",
    weaknesses: "It knows the rate of the service flow alone: where something else is the \
        bottleneck, as a radio link or a rate that changes under way, the delay is wrong, and here \
        the rate is the link's at the start. It knows no ECN. One queue: flows are not isolated. \
        A flow of small packets that does not slow down is hardly held back.",
    params: own_tables::<DocsisPieParams>(),
    state: &states(COLUMNS),
    defaults: DocsisPieParams::DEFAULTS,
};

group! {
    /// What the user of DOCSIS-PIE sets.
    pub struct DocsisPieParams {
        /// Its own.
        pub own: DocsisPieOwn,
        /// What every kind takes.
        pub common: Common,
    }
}

params! {
    /// Parameters.
    pub struct DocsisPieOwn: Default {
        /// The queueing delay to keep.
        pub latency_target: Duration {
            default: "10 ms",
            source: "RFC 8034, section 4.1: LATENCY_TARGET",
        },
        /// Time between two updates of the probability.
        pub interval: Duration { default: "16 ms", source: "RFC 8034, appendix A.1.2: INTERVAL" },
        /// Gain of the delay's distance from the target.
        pub alpha: f64 {
            ty: num(0.0, 100.0),
            unit: "1/s",
            default: 0.25,
            source: "RFC 8034, appendix A.1.2: A",
        },
        /// Gain of the delay's change.
        pub beta: f64 {
            ty: num(0.0, 100.0),
            unit: "1/s",
            default: 2.5,
            source: "RFC 8034, appendix A.1.2: B",
        },
        /// Nothing is dropped for so long after the drop that ends a quiet time.
        pub max_burst: Duration { default: "142 ms", source: "RFC 8034, appendix A.1.2: MAX_BURST" },
        /// After so long without congestion it is inactive until a third of the buffer is full.
        pub burst_reset_timeout: Duration {
            default: "1 s",
            source: "RFC 8034, appendix A.1.2: BURST_RESET_TIMEOUT",
        },
        /// The maximum sustained rate as a share of the link's, which is the peak rate.
        pub msr_share: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 1,
            source: "RFC 8034, section 4.2: the service flow's",
        },
        /// What the token bucket holds that refills with the sustained rate.
        pub bucket: Bytes { default: "0 B", source: "RFC 8034, section 4.2: its tokens" },
    }
}

/// Probabilities are those of a packet of this size: MEAN_PKTSIZE.
const MEAN: f64 = 1024.0;
/// PROB_LOW and PROB_HIGH: the sums from which drops are possible, and certain.
const LOW: f64 = 0.85;
const HIGH: f64 = 8.5;
/// The largest p (4.6): with it a packet of 64 B, MIN_PKTSIZE, has PROB_LOW.
const MOST: f64 = LOW * MEAN / 64.0;
/// LATENCY_LOW and LATENCY_HIGH in seconds: below, p decays; above, it grows by a further 0.02.
const LATENCY_LOW: f64 = 0.005;
const LATENCY_HIGH: f64 = 0.2;

const COLUMNS: &[Column<DocsisPie>; 3] = &[
    column("p_pkt", "The drop probability of a packet of 1024 B; it may exceed 1.", |d| d.p),
    column("qdelay_s", "The queueing delay at the last update.", |d| d.old),
    column("burst_allowance_s", "For how long nothing will be dropped yet.", |d| {
        d.burst_allowance.as_secs_f64()
    }),
];

/// Whether it watches for drops.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Nothing is dropped until a third of the buffer is full.
    Inactive,
    /// It may drop; without congestion for so long.
    Quiescent(Duration),
    /// It has dropped since.
    Active,
}

/// DOCSIS-PIE. Delays are in seconds, rates in B/s.
#[derive(Clone, Debug)]
pub struct DocsisPie {
    target: f64,
    interval: Duration,
    alpha: f64,
    beta: f64,
    max_burst: Duration,
    timeout: Duration,
    peak: f64,
    msr: f64,
    bucket: f64,
    /// A third of the buffer, in bytes.
    third: f64,
    p: f64,
    accu: f64,
    old: f64,
    burst_allowance: Duration,
    phase: Phase,
    tokens: f64,
    /// When the tokens were counted, and the bytes that waited then.
    counted: (Time, f64),
    next: Time,
}

/// Section 4.4: small probabilities move in small steps, large ones in large.
fn auto_tuned(step: f64, p: f64) -> f64 {
    const SCALES: [(f64, f64); 8] = [
        (1e-6, 1.0 / 2048.0),
        (1e-5, 1.0 / 512.0),
        (1e-4, 1.0 / 128.0),
        (1e-3, 1.0 / 32.0),
        (1e-2, 1.0 / 8.0),
        (1e-1, 1.0 / 2.0),
        (1.0, 2.0),
        (10.0, 8.0),
    ];
    step * SCALES.iter().find(|(below, _)| p < *below).map_or(32.0, |(_, scale)| *scale)
}

impl DocsisPie {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &DocsisPieParams, cx: &Context) -> Result<Self, ParamError> {
        let unit = Unit::of(p, &p.common, cx)?;
        at_least_a_microsecond("interval", p.own.interval)?;
        let peak = cx.rate.as_bps() as f64 / 8.0;
        let buffer = match cx.buffer {
            QueueLen::Bytes(b) => b as f64,
            QueueLen::Packets(n) => n * unit.mean.0 as f64,
        };
        Ok(DocsisPie {
            target: p.own.latency_target.as_secs_f64(),
            interval: p.own.interval,
            alpha: p.own.alpha,
            beta: p.own.beta,
            max_burst: p.own.max_burst,
            timeout: p.own.burst_reset_timeout,
            peak,
            msr: p.own.msr_share * peak,
            bucket: p.own.bucket.0 as f64,
            third: buffer / 3.0,
            p: 0.0,
            accu: 0.0,
            old: 0.0,
            burst_allowance: Duration::ZERO,
            phase: Phase::Inactive,
            tokens: p.own.bucket.0 as f64,
            counted: (Time::ZERO, 0.0),
            next: Time::ZERO + p.own.interval,
        })
    }

    /// Section 4.2: what waits leaves at the peak rate while there are tokens.
    fn delay(&self, queue: f64) -> f64 {
        let fast = queue.min(self.tokens);
        fast / self.peak + (queue - fast) / self.msr
    }

    /// The bucket since it was counted last: it refills, and what left took from it.
    fn count(&mut self, now: Time, queue: f64) {
        let (since, before) = self.counted;
        let left = (before - queue).max(0.0);
        let refilled = self.tokens + self.msr * now.since(since).as_secs_f64();
        self.tokens = (refilled - left).clamp(0.0, self.bucket);
        self.counted = (now, queue);
    }

    /// Appendix A.2: the probability (4.4, 4.5), and the states of burst protection (4.3).
    fn update(&mut self, d: f64) {
        let (old, low) = (self.old, self.target / 2.0);
        if self.burst_allowance > Duration::ZERO {
            self.p = 0.0;
            let left = self.burst_allowance.as_ticks().saturating_sub(self.interval.as_ticks());
            self.burst_allowance = Duration::from_ticks(left);
        } else {
            let step = self.alpha * (d - self.target) + self.beta * (d - old);
            let mut step = auto_tuned(step, self.p);
            if self.p >= 0.1 {
                step = step.min(0.02);
            }
            self.p += step;
            if d < LATENCY_LOW && old < LATENCY_LOW {
                self.p *= 0.98;
            } else if d > LATENCY_HIGH {
                self.p += 0.02;
            }
            self.p = self.p.clamp(0.0, MOST);
        }
        let quiet = d < low && old < low && self.p == 0.0 && self.burst_allowance == Duration::ZERO;
        self.phase = match (self.phase, quiet) {
            (Phase::Active, true) => Phase::Quiescent(Duration::ZERO),
            (Phase::Quiescent(so_far), true) => {
                let so_far = Duration::from_ticks(so_far.as_ticks() + self.interval.as_ticks());
                if so_far > self.timeout {
                    Phase::Inactive
                } else {
                    Phase::Quiescent(so_far)
                }
            }
            (Phase::Quiescent(_), false) => Phase::Quiescent(Duration::ZERO),
            (phase, _) => phase,
        };
        self.old = d;
    }

    /// Appendix A.3: whether a packet of `bytes` is dropped that finds so many waiting.
    fn drops(&mut self, bytes: u32, queue: f64, rng: &mut Rng) -> bool {
        if self.burst_allowance > Duration::ZERO {
            return false;
        }
        if self.p == 0.0 {
            self.accu = 0.0;
        }
        if self.phase == Phase::Inactive {
            if queue < self.third {
                return false;
            }
            self.phase = Phase::Quiescent(Duration::ZERO);
        }
        let p1 = (self.p * f64::from(bytes) / MEAN).min(LOW);
        self.accu += p1;
        let spared = self.old < self.target / 2.0 && self.p < 0.2 || queue <= 2.0 * MEAN;
        if spared || self.accu < LOW {
            return false;
        }
        self.accu >= HIGH || rng.unit() <= p1
    }
}

impl Aqm for DocsisPie {
    #[inline]
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        let queue = q.bytes as i64 as f64;
        self.count(now, queue);
        if self.drops(pkt.bytes, queue, rng) {
            self.accu = 0.0;
            if matches!(self.phase, Phase::Quiescent(_)) {
                self.phase = Phase::Active;
                self.burst_allowance = self.max_burst;
            }
            return Verdict::Drop(Reason::Early);
        }
        self.counted.1 += f64::from(pkt.bytes);
        Verdict::Pass
    }

    /// It drops what finds no room, whatever the sum; its bytes never came.
    fn overflow(&mut self, _: Time, pkt: &Packet, q: &Queue) {
        self.accu = 0.0;
        self.counted.1 = (self.counted.1 - f64::from(pkt.bytes)).max(q.bytes as f64);
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.next)
    }

    fn tick(&mut self, now: Time, q: &Queue) {
        self.count(now, q.bytes as f64);
        self.update(self.delay(q.bytes as f64));
        self.next = now + self.interval;
    }

    fn begin(&mut self, now: Time) {
        self.next += now.since(Time::ZERO);
        self.counted.0 = now;
    }

    fn go_on(&mut self, before: Self, _: Time) {
        self.p = before.p;
        self.accu = before.accu;
        self.old = before.old;
        self.burst_allowance = before.burst_allowance;
        self.phase = before.phase;
        self.tokens = before.tokens.min(self.bucket);
        self.counted = before.counted;
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
    use crate::Ecn;

    /// In front of 10 Mbit/s with a buffer of 100 packets of 1000 B.
    fn pie(set: &[(&'static str, &'static str)]) -> DocsisPie {
        DocsisPie::new(&params(&KIND, set), &context()).unwrap()
    }

    fn queue(bytes: u64) -> Queue {
        Queue { pkts: (bytes / 1000) as u32, bytes, idle_since: None }
    }

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    fn pkt(bytes: u32) -> Packet {
        Packet { bytes, ecn: Ecn::NotEct, flow: 0, class: 0 }
    }

    /// 60 kB with 20 kB of tokens: 20 kB at 1.25 MB/s are 16 ms, 40 kB at half of that 64 ms.
    /// Within the tokens there is the peak rate alone.
    #[test]
    fn delay_by_hand() {
        let mut x = pie(&[("msr_share", "0.5"), ("bucket", "\"100 kB\"")]);
        x.tokens = 20_000.0;
        for (queue, want) in [(60_000.0, 0.080), (20_000.0, 0.016), (10_000.0, 0.008)] {
            assert!((x.delay(queue) - want).abs() < 1e-12, "{queue}");
        }
        // RFC 8034's own rates: 32 ms at 1.25 MB/s and 8 ms at 2.5 MB/s.
        (x.msr, x.peak) = (1.25e6, 2.5e6);
        assert!((x.delay(60_000.0) - 0.040).abs() < 1e-12);
    }

    /// 10 kB of tokens. In 4 ms 2500 B come to them at 625 kB/s, while 5000 B leave.
    #[test]
    fn the_bucket_is_followed() {
        let mut x = pie(&[("msr_share", "0.5"), ("bucket", "\"10 kB\"")]);
        let mut rng = Rng::stream(1, "test");
        let _ = x.arrive(ms(0), &pkt(1000), &queue(9_000), &mut rng);
        x.tick(ms(4), &queue(5_000));
        assert_eq!(x.tokens, 7_500.0);
        x.tick(ms(16), &queue(5_000));
        assert_eq!(x.tokens, 10_000.0);
    }

    /// One update from p and the old delay to the new one, in ms.
    #[test]
    fn probability_by_hand() {
        for (p, old, new, want) in [
            (0.0, 0.0, 40.0, 5.249_023_437_5e-5), // (0.25·0.03 + 2.5·0.04)/2048
            (0.05, 20.0, 24.0, 0.05 + 0.0135 / 2.0),
            (0.5, 20.0, 24.0, 0.52),  // 2·0.0135, at most 0.02
            (0.5, 20.0, 16.0, 0.483), // 2·(0.0015 − 0.01)
            (2.0, 20.0, 16.0, 2.0 - 8.0 * 0.0085),
            (12.0, 20.0, 16.0, 12.0 - 32.0 * 0.0085),
            (0.5, 200.0, 201.0, 0.54),
            (13.6, 300.0, 300.0, 13.6),
            (0.5, 0.0, 0.0, (0.5 - 2.0 * 0.0025) * 0.98),
        ] {
            let mut x = pie(&[]);
            (x.p, x.old) = (p, old / 1e3);
            x.update(new / 1e3);
            assert!((x.p - want).abs() < 1e-12, "{p}, {old} to {new} ms: {} for {want}", x.p);
        }
    }

    /// p = 0.4: 1500 B count 0.5859, 64 B 0.025; none below a sum of 0.85.
    #[test]
    fn small_packets_are_spared() {
        for (bytes, p1) in [(1500, 0.585_937_5), (64, 0.025), (9000, 0.85)] {
            let mut x = pie(&[]);
            (x.p, x.old, x.phase) = (0.4, 0.1, Phase::Active);
            x.drops(bytes, 50_000.0, &mut Rng::stream(1, "test"));
            assert_eq!(x.accu, p1);
        }
        for (accu, queue, old, p, want) in [
            (8.4, 50_000.0, 0.1, 0.1024, true),
            (8.3, 2_048.0, 0.1, 0.4, false),
            (8.3, 50_000.0, 0.0049, 0.19, false),
        ] {
            let mut x = pie(&[]);
            (x.p, x.old, x.accu, x.phase) = (p, old, accu, Phase::Active);
            assert_eq!(x.drops(1024, queue, &mut Rng::stream(1, "test")), want, "{accu} {queue}");
        }
    }

    /// Inactive below a third of 100 kB; the first drop makes it active, with 142 ms of grace, which
    /// last 9 updates; 1 s and one update of quiet make it inactive again.
    #[test]
    fn it_sleeps_and_wakes() {
        let mut x = pie(&[]);
        let mut rng = Rng::stream(1, "test");
        (x.p, x.old, x.accu) = (0.5, 0.1, 8.4);
        let _ = x.arrive(ms(0), &pkt(1024), &queue(33_000), &mut rng);
        assert_eq!((x.phase, x.accu), (Phase::Inactive, 8.4));
        let drop = x.arrive(ms(0), &pkt(1024), &queue(34_000), &mut rng);
        assert_eq!((drop, x.phase, x.accu), (Verdict::Drop(Reason::Early), Phase::Active, 0.0));
        x.accu = 8.4;
        let passes = x.arrive(ms(0), &pkt(1024), &queue(34_000), &mut rng);
        assert_eq!(passes, Verdict::Pass, "grace");
        let mut updates = 0;
        while x.burst_allowance > Duration::ZERO {
            x.update(0.0);
            updates += 1;
        }
        assert_eq!((updates, x.phase), (9, Phase::Quiescent(Duration::ZERO)));
        updates = 0;
        while x.phase != Phase::Inactive {
            x.update(0.0);
            updates += 1;
        }
        assert_eq!(updates, 63); // 63·16 ms = 1008 ms
    }
}
