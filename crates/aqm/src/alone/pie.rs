//! PIE, proportional integral controller enhanced. RFC 8033; names are its. Packets are dropped at
//! random when they arrive, with a probability that follows the queueing delay and its trend:
//! section 4, with these parts of section 5: ECN (5.1), estimation of the departure rate (5.2),
//! derandomization (5.4) and the cap on an increase (5.5). The controller is always active (5.3 is
//! left out). The growth by 2 % at high delay is Linux's (`sch_pie`), after DOCSIS-PIE.
//!
//! `variant = "linux"` is the kernel's form (net/sched/sch_pie.c, Linux 7.3). Three of its
//! differences have no key: when both delays were low and p is 0, all starts anew, not the allowance
//! alone; a delay of 0 while packets wait does not count for the decay; and the sum of probabilities
//! goes on after a mark that it made certain. [`crate::alone::fq_pie`] has this PIE for each flow.

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
        RFC 8033 it leaves out switching itself off (5.3). Linux's timer \
        counts whole jiffies and fires one later: at 250 of them a second its 15 ms, which tc \
        shows as 16 ms, are 20 ms (`t_update`).",
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
        /// Whose PIE: what the keys come to that say so and are left out. Linux's `delay_from` is
        /// "timestamps".
        pub variant: PieVariant {
            default: "rfc",
            quiet: true,
            source: "RFC 8033; Linux 7.3: sch_pie",
        },
        /// What uses up the allowance for bursts: each update its period, or the departures the
        /// time between them, or with `delay_from = "rate-estimate"` that of each measurement.
        pub burst_from: Option<BurstFrom> {
            auto: "updates; departures with the variant linux",
            quiet: true,
            source: "RFC 8033, section 4.2; Linux: pie_process_dequeue",
        },
        /// What remains of the probability at an update that finds no delay, as the one before.
        pub decay: Option<f64> {
            ty: num(0.0, 1.0),
            unit: "1",
            auto: "0.98; 63/64 with the variant linux",
            quiet: true,
            source: "RFC 8033, section 4.2; Linux: pie_calculate_probability",
        },
        /// Whether the delay that must be half the target for drops is that of the last update, or
        /// that of the last departure where `delay_from` is "timestamps".
        pub guard_from: Option<GuardFrom> {
            auto: "update; departure with the variant linux",
            quiet: true,
            source: "RFC 8033, section 4.1; Linux: pie_drop_early",
        },
        /// Nothing is dropped while fewer bytes than this wait.
        pub min_backlog: Option<Bytes> {
            auto: "more than two of `mean_packet`; 3028 B with the variant linux",
            quiet: true,
            source: "RFC 8033, section 4.1; Linux: two frames of 1514 B",
        },
        /// Smaller packets are dropped less often, by their share of half `min_backlog`.
        pub bytemode: bool { default: false, quiet: true, source: "Linux: bytemode" },
        /// Whether measurements of the departure rate are averaged as times, the newest with
        /// `dq_threshold` over 64 kB, or as rates, the newest with 1/8.
        pub dq_average: Option<DqAverage> {
            auto: "time; rate with the variant linux",
            quiet: true,
            source: "RFC 8033, section 5.2; Linux: pie_process_dequeue",
        },
        /// When the probability is updated for the first time.
        pub first_update: Option<Duration> {
            auto: "`t_update`; 500 ms with the variant linux",
            quiet: true,
            source: "Linux: pie_init",
        },
    }
}

words! {
    /// Whose PIE: a bundle of defaults.
    pub enum PieVariant {
        /// The RFC's.
        Rfc = "rfc",
        /// The kernel's.
        Linux = "linux",
    }
}

words! {
    /// What uses up the allowance for bursts.
    pub enum BurstFrom {
        /// Updates of the probability.
        Updates = "updates",
        /// Departures.
        Departures = "departures",
    }
}

words! {
    /// Where the delay is from below which nothing is dropped.
    pub enum GuardFrom {
        /// The last update.
        Update = "update",
        /// The last departure.
        Departure = "departure",
    }
}

words! {
    /// How measurements of the departure rate are averaged.
    pub enum DqAverage {
        /// As times.
        Time = "time",
        /// As rates.
        Rate = "rate",
    }
}

const COLUMNS: &[Column<Pie>; 3] = &[
    column("p", "The drop probability.", |d| d.vars.p),
    column("qdelay_s", "The queueing delay at the last update.", |d| d.vars.qdelay_old),
    column("burst_allowance_s", "For how long nothing will be dropped yet.", |d| {
        d.vars.burst_allowance.as_secs_f64()
    }),
];

/// A measurement of the departure rate under way (section 5.2).
#[derive(Clone, Copy, Debug)]
struct Measurement {
    start: Time,
    dq_count: u64,
}

/// The constants of the controller. Delays are in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    qdelay_ref: f64,
    pub(crate) t_update: Duration,
    pub(crate) first_update: Duration,
    alpha: f64,
    beta: f64,
    max_burst: Duration,
    pub(crate) signal: Classic,
    /// No drops while fewer bytes wait.
    min_backlog: u64,
    bytemode: bool,
    pub(crate) timestamps: bool,
    dq_threshold: u64,
    dq_rate: bool,
    derandomize: bool,
    high_delay: f64,
    decay: f64,
    guard_at_departure: bool,
    burst_at_departures: bool,
    linux: bool,
}

/// The state of one queue. Delays are in seconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vars {
    /// drop_prob_.
    pub(crate) p: f64,
    accu_prob: f64,
    pub(crate) qdelay_old: f64,
    burst_allowance: Duration,
    /// The time that the last packet to leave has waited; 0 if it left nothing behind.
    sojourn: f64,
    measurement: Option<Measurement>,
    /// Seconds that `dq_threshold` bytes take to leave; 0 until measured.
    avg_dq_time: f64,
    /// When a packet left last, where departures use up the allowance.
    departed: Option<Time>,
}

/// PIE.
#[derive(Clone, Debug)]
pub struct Pie {
    control: Control,
    vars: Vars,
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
        let control = Control::new(&p.own, &unit, p.common.ecn)?;
        let vars = Vars::new(&control);
        let next = Time::ZERO + control.first_update;
        Ok(Pie { control, vars, next })
    }
}

impl Control {
    pub(crate) fn new(p: &PieOwn, unit: &Unit, ecn: bool) -> Result<Self, ParamError> {
        at_least_a_microsecond("t_update", p.t_update)?;
        if p.dq_threshold.0 == 0 {
            return Err(ParamError::new("dq_threshold", "must be above 0 B"));
        }
        let linux = p.variant == PieVariant::Linux;
        let first_update = if linux { Duration::from_millis(500) } else { p.t_update };
        let first_update = p.first_update.unwrap_or(first_update);
        at_least_a_microsecond("first_update", first_update)?;
        let min_backlog = if linux { 2 * 1514 } else { 2 * unit.mean.0 + 1 };
        Ok(Control {
            qdelay_ref: p.qdelay_ref.as_secs_f64(),
            t_update: p.t_update,
            first_update,
            alpha: p.alpha,
            beta: p.beta,
            max_burst: p.max_burst,
            signal: Classic { mark_p: p.mark_ecnth, ..Classic::new(ecn) },
            min_backlog: p.min_backlog.map_or(min_backlog, |b| b.0),
            bytemode: p.bytemode,
            timestamps: p.delay_from == DelayFrom::Timestamps,
            dq_threshold: p.dq_threshold.0,
            dq_rate: p.dq_average.map_or(linux, |average| average == DqAverage::Rate),
            derandomize: p.derandomize,
            high_delay: p.high_delay.as_secs_f64(),
            decay: p.decay.unwrap_or(if linux { 63.0 / 64.0 } else { 0.98 }),
            guard_at_departure: p.guard_from.map_or(linux, |from| from == GuardFrom::Departure),
            burst_at_departures: p.burst_from.map_or(linux, |from| from == BurstFrom::Departures),
            linux,
        })
    }
}

impl Vars {
    pub(crate) fn new(c: &Control) -> Self {
        Vars { burst_allowance: c.max_burst, ..Vars::default() }
    }

    /// A packet arrives where `backlog` bytes wait.
    #[inline(always)]
    pub(crate) fn arrives(
        &mut self,
        c: &Control,
        pkt: &Packet,
        backlog: u64,
        rng: &mut Rng,
    ) -> Verdict {
        if self.burst_allowance > Duration::ZERO || !self.drop_early(c, pkt.bytes, backlog, rng) {
            return Verdict::Pass;
        }
        let verdict = c.signal.early(pkt, self.p);
        if matches!(verdict, Verdict::Drop(_)) {
            self.accu_prob = 0.0;
        }
        verdict
    }

    /// Section 4.1 and 5.4.
    fn drop_early(&mut self, c: &Control, bytes: u32, backlog: u64, rng: &mut Rng) -> bool {
        let of_departure = c.guard_at_departure && c.timestamps;
        let qdelay = if of_departure { self.sojourn } else { self.qdelay_old };
        if qdelay < c.qdelay_ref / 2.0 && self.p < 0.2 || backlog < c.min_backlog {
            return false;
        }
        let mut p = self.p;
        if c.bytemode {
            p *= (2.0 * f64::from(bytes) / c.min_backlog as f64).min(1.0);
        }
        if c.derandomize {
            self.accu_prob = if p == 0.0 { 0.0 } else { self.accu_prob + p };
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                if !c.linux {
                    self.accu_prob = 0.0;
                }
                return true;
            }
        }
        let drop = rng.unit() < p;
        if drop {
            self.accu_prob = 0.0;
        }
        drop
    }

    /// The packet that arrived found no room.
    pub(crate) fn overflow(&mut self, c: &Control) {
        if c.linux {
            self.accu_prob = 0.0;
        }
    }

    /// The time of an update, where `backlog` bytes wait.
    #[inline]
    pub(crate) fn tick(&mut self, c: &Control, backlog: u64) {
        let qdelay = if c.timestamps {
            self.sojourn
        } else {
            backlog as f64 * self.avg_dq_time / c.dq_threshold as f64
        };
        self.update(c, qdelay, backlog);
    }

    /// Section 4.2: p <- p + α(qdelay − qdelay_ref) + β(qdelay − qdelay_old), and the burst
    /// allowance (4.4).
    fn update(&mut self, c: &Control, qdelay: f64, backlog: u64) {
        let old = self.qdelay_old;
        let mut step =
            auto_tuned(c.alpha * (qdelay - c.qdelay_ref) + c.beta * (qdelay - old), self.p);
        if self.p >= 0.1 {
            step = step.min(0.02);
        }
        if qdelay > c.high_delay {
            step += 0.02;
        }
        self.p += step;
        if qdelay == 0.0 && old == 0.0 && !(c.linux && backlog > 0) {
            self.p *= c.decay;
        }
        self.p = self.p.clamp(0.0, 1.0);
        let low = c.qdelay_ref / 2.0;
        let known = c.timestamps || self.avg_dq_time > 0.0;
        if self.p == 0.0 && qdelay < low && old < low && (known || !c.linux) {
            self.burst_allowance = c.max_burst;
            if c.linux {
                self.accu_prob = 0.0;
                self.avg_dq_time = 0.0;
                (self.measurement, self.departed) = (None, None);
            }
        } else if !c.burst_at_departures {
            self.shrinks(c.t_update);
        }
        self.qdelay_old = qdelay;
    }

    /// So much of the allowance for bursts is used up.
    fn shrinks(&mut self, by: Duration) {
        let left = self.burst_allowance.as_ticks().saturating_sub(by.as_ticks());
        self.burst_allowance = Duration::from_ticks(left);
    }

    /// A packet leaves that has waited `sojourn`; `behind` bytes stay.
    #[inline(always)]
    pub(crate) fn departs(
        &mut self,
        c: &Control,
        now: Time,
        bytes: u32,
        sojourn: Duration,
        behind: u64,
    ) {
        if !c.timestamps {
            return self.measure(c, now, bytes, behind);
        }
        self.sojourn = if behind == 0 { 0.0 } else { sojourn.as_secs_f64() };
        if c.burst_at_departures {
            if let Some(before) = self.departed.replace(now) {
                self.shrinks(now.since(before));
            }
        }
    }

    /// Section 5.2: a packet of `bytes` leaves, `behind` bytes stay.
    fn measure(&mut self, c: &Control, now: Time, bytes: u32, behind: u64) {
        if let Some(Measurement { start, dq_count }) = &mut self.measurement {
            *dq_count += u64::from(bytes);
            if *dq_count >= c.dq_threshold {
                let (took, dq_count) = (now.since(*start), *dq_count);
                self.measurement = None;
                self.measured(c, took.as_secs_f64(), dq_count);
                if c.burst_at_departures {
                    self.shrinks(took);
                }
            }
        }
        if self.measurement.is_none() && behind >= c.dq_threshold {
            self.measurement = Some(Measurement { start: now, dq_count: 0 });
        }
    }

    /// `bytes` took `dq_time` to leave.
    fn measured(&mut self, c: &Control, dq_time: f64, bytes: u64) {
        if c.dq_rate {
            // The average is kept as the time of a threshold's worth, too.
            let took = dq_time * c.dq_threshold as f64 / bytes as f64;
            if self.avg_dq_time == 0.0 {
                self.avg_dq_time = took;
            } else if took > 0.0 {
                self.avg_dq_time = 1.0 / (0.875 / self.avg_dq_time + 0.125 / took);
            }
            return;
        }
        let weight = (c.dq_threshold as f64 / 65_536.0).min(1.0);
        self.avg_dq_time = if self.avg_dq_time == 0.0 {
            dq_time
        } else {
            weight * dq_time + (1.0 - weight) * self.avg_dq_time
        };
    }

    /// Returns whether an update would leave all as it is, while nothing waits.
    pub(crate) fn rests(&self, c: &Control) -> bool {
        // What the kernel starts anew, and has not yet.
        let anew = self.avg_dq_time == 0.0 && self.measurement.is_none() && self.departed.is_none();
        self.p == 0.0
            && self.qdelay_old == 0.0
            && self.sojourn == 0.0
            && self.burst_allowance == c.max_burst
            && (anew || !c.linux)
    }
}

impl Aqm for Pie {
    #[inline(always)]
    fn arrive(&mut self, _: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        self.vars.arrives(&self.control, pkt, q.bytes, rng)
    }

    fn overflow(&mut self, _: Time, _: &Packet, _: &Queue) {
        self.vars.overflow(&self.control);
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
        self.vars.departs(&self.control, now, pkt.bytes, sojourn, q.bytes);
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
        self.vars.tick(&self.control, q.bytes);
        self.next = now + self.control.t_update;
    }

    /// Each packet keeps the time at which it came, where the delay is known from that.
    fn packet_bytes(&self) -> usize {
        if self.control.timestamps {
            size_of::<Time>()
        } else {
            0
        }
    }

    fn begin(&mut self, now: Time) {
        self.next += now.since(Time::ZERO);
    }

    fn go_on(&mut self, before: Self, _: Time) {
        self.vars = before.vars;
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
            (x.vars.p, x.vars.qdelay_old) = (p, old / 1e3);
            x.vars.update(&x.control, new / 1e3, 0);
            assert!(
                (x.vars.p - want).abs() < 1e-12,
                "from {p}, {old} to {new} ms: {} should be {want}",
                x.vars.p
            );
            assert_eq!(x.vars.qdelay_old, new / 1e3);
        }
    }

    #[test]
    fn a_burst_is_let_through() {
        let mut x = pie(&[("max_burst", "\"40 ms\"")]);
        let mut rng = Rng::stream(1, "test");
        for (qdelay, allowance, drops) in
            [(0.0, 40, false), (0.4, 25, false), (0.4, 10, false), (0.4, 0, true), (0.4, 0, true)]
        {
            x.vars.update(&x.control, qdelay, 0);
            assert_eq!(x.vars.burst_allowance, Duration::from_millis(allowance));
            let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: 0, class: 0 };
            x.vars.p = f64::max(x.vars.p, if qdelay > 0.0 { 1.0 } else { 0.0 });
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
            (x.vars.p, x.vars.qdelay_old, x.vars.accu_prob, x.vars.burst_allowance) =
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
        (x.vars.p, x.vars.qdelay_old) = (0.125, 0.1);
        let mut rng = Rng::stream(3, "test");
        let (mut gap, mut gaps) = (0u32, vec![]);
        for _ in 0..200_000 {
            gap += 1;
            if x.vars.drop_early(&x.control, 1000, 10_000, &mut rng) {
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
        let leave = |x: &mut Pie, at, behind| x.vars.measure(&x.control, ms(at), 1024, behind);
        leave(&mut x, 0, 16_383);
        assert!(x.vars.measurement.is_none(), "too little waits");
        leave(&mut x, 0, 16_384);
        for i in 1..=16 {
            leave(&mut x, i, 16_384);
        }
        assert!((x.vars.avg_dq_time - 0.016).abs() < 1e-12);
        for i in 1..=16 {
            leave(&mut x, 16 + 2 * i, 0);
        }
        assert!((x.vars.avg_dq_time - (0.25 * 0.032 + 0.75 * 0.016)).abs() < 1e-12); // 20 ms
        x.tick(ms(60), &Queue { pkts: 32, bytes: 32_768, idle_since: None });
        assert!((x.vars.qdelay_old - 0.040).abs() < 1e-12, "32 kB at 16 kB in 20 ms");
    }

    #[test]
    fn timestamps_tell_the_last_wait() {
        let mut x = pie(&[("delay_from", "\"timestamps\"")]);
        let mut rng = Rng::stream(1, "test");
        let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: 0, class: 0 };
        for (behind, want) in [(3, 0.030), (0, 0.0)] {
            let _ = x.depart(ms(30), &pkt, Duration::from_millis(30), &queue(behind), &mut rng);
            x.tick(ms(30), &queue(behind));
            assert_eq!(x.vars.qdelay_old, want);
        }
    }

    const LINUX: [(&str, &str); 2] = [("variant", "\"linux\""), ("delay_from", "\"timestamps\"")];

    /// One update by the kernel, worked out in its integers: p has 56 bits there, delays count 64
    /// ns.
    #[test]
    fn probability_as_the_kernel_has_it() {
        for (p, old, new, want) in [
            (0.0, 0.0, 35.0, 2.2583e-5),
            (5e-6, 20.0, 25.0, 1.9648e-5),
            (5e-4, 20.0, 25.0, 7.34375e-4),
            (0.05, 20.0, 25.0, 0.05375),
            (0.5, 20.0, 60.0, 0.52),
            (0.5, 200.0, 260.0, 0.54),
            (0.5, 0.0, 0.0, 0.490_342), // (0.5 − 0.001875)·63/64
            (0.001, 30.0, 10.0, 0.0),
        ] {
            let mut x = pie(&LINUX);
            (x.vars.p, x.vars.qdelay_old) = (p, old / 1e3);
            x.vars.update(&x.control, new / 1e3, 0);
            let got = x.vars.p;
            assert!((got - want).abs() < 1e-6 * want.max(1e-2), "{p}, {old} to {new}: {got}");
        }
        // A delay of 0 while packets wait comes from a queue that was just empty.
        let mut x = pie(&LINUX);
        x.vars.p = 0.5;
        x.vars.update(&x.control, 0.0, 1000);
        assert!((x.vars.p - 0.498_125).abs() < 1e-12);
    }

    /// 3027 B never, 3028 B may; here p is 1. With bytemode a packet of 757 B counts half.
    #[test]
    fn the_kernel_spares_two_frames() {
        for (backlog, want) in [(3027, false), (3028, true)] {
            let mut x = pie(&LINUX);
            (x.vars.p, x.vars.qdelay_old, x.vars.sojourn) = (1.0, 0.1, 0.1);
            let mut rng = Rng::stream(1, "test");
            assert_eq!(x.vars.drop_early(&x.control, 1514, backlog, &mut rng), want, "{backlog}");
        }
        let mut x = pie(&[LINUX[0], LINUX[1], ("bytemode", "true")]);
        (x.vars.p, x.vars.sojourn) = (0.25, 0.1);
        x.vars.drop_early(&x.control, 757, 3028, &mut Rng::stream(1, "test"));
        assert_eq!(x.vars.accu_prob, 0.125);
    }

    /// Below half the target and p = 0.1: the guard holds while the last departure says so, whatever
    /// the update said.
    #[test]
    fn the_kernel_looks_at_the_delay_of_now() {
        for (set, drops) in [(&[][..], true), (&LINUX, false)] {
            let mut x = pie(&[set, &[("delay_from", "\"timestamps\"")]].concat());
            (x.vars.p, x.vars.qdelay_old, x.vars.sojourn) = (0.1, 0.1, 0.001);
            x.vars.accu_prob = 8.45;
            let mut rng = Rng::stream(1, "test");
            assert_eq!(x.vars.drop_early(&x.control, 1000, 10_000, &mut rng), drops);
        }
    }

    /// A certain mark leaves the sum as it is in the kernel; a certain drop does not.
    #[test]
    fn a_certain_mark_keeps_the_sum() {
        for (set, ecn, left) in [
            (&[][..], Ecn::Ect0, 0.0),
            (&LINUX[..1], Ecn::Ect0, 8.5),
            (&LINUX[..1], Ecn::NotEct, 0.0),
        ] {
            let mut x = pie(&[set, &[("ecn", "true")]].concat());
            (x.vars.p, x.vars.qdelay_old, x.vars.burst_allowance) = (0.1, 0.1, Duration::ZERO);
            x.vars.accu_prob = 8.4;
            let pkt = Packet { bytes: 1000, ecn, flow: 0, class: 0 };
            let _ = x.arrive(Time::ZERO, &pkt, &queue(10), &mut Rng::stream(1, "test"));
            assert!((x.vars.accu_prob - left).abs() < 1e-12, "{set:?} {ecn:?}");
        }
    }

    /// Departures at 0, 40 and 100 ms use up 100 of 150 ms; updates use up none.
    #[test]
    fn departures_use_up_the_kernels_allowance() {
        let mut x = pie(&LINUX);
        let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: 0, class: 0 };
        for at in [0, 40, 100] {
            let waited = Duration::from_millis(20);
            let _ = x.depart(ms(at), &pkt, waited, &queue(9), &mut Rng::stream(1, "test"));
        }
        assert_eq!(x.vars.burst_allowance, Duration::from_millis(50));
        assert_eq!(x.next, ms(500));
        x.tick(ms(500), &queue(9));
        assert_eq!(x.vars.burst_allowance, Duration::from_millis(50));
        assert_eq!(x.next, ms(515));
    }

    /// 16 packets of 1024 B in 16 ms, then in 32 ms: 1024 kB/s, and 7/8 of it and 1/8 of 512 kB/s.
    #[test]
    fn the_kernel_averages_rates() {
        let mut x = pie(&[LINUX[0]]);
        for i in 0..=16 {
            x.vars.measure(&x.control, ms(i), 1024, 16_384);
        }
        for i in 1..=16 {
            x.vars.measure(&x.control, ms(16 + 2 * i), 1024, 0);
        }
        assert!((16.384e3 / x.vars.avg_dq_time - 960e3).abs() < 1e-6);
    }
}
