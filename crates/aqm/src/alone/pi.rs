//! PI, the proportional-integral controller. C. Hollot, V. Misra, D. Towsley, W. Gong, "On
//! designing improved controllers for AQM routers supporting TCP flows", INFOCOM 2001: `p <- p +
//! a(q − q_ref) − b(q_old − q_ref)`, `w` times a second.

use crate::aqm::Aqm;
use crate::context::{Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::signal::Classic;
use crate::verdict::Verdict;
use penstock_units::param::{num, num_open, ParamError};
use penstock_units::{group, params, Duration, QueueLen, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "pi",
    doc: "Proportional-integral control of the queue length.",
    source: "Hollot, Misra, Towsley, Gong 2001",
    equations: "w times a second:  p ← p + a·(q − q_ref) − b·(q_old − q_ref),  p in [0, 1]\n\
        arrival:           signal with p",
    expect: "The queue settles at q_ref whatever the load, since only there p stands still. a is \
        little more than b: p follows the queue's change at once, by a, and its distance from \
        q_ref slowly, by a − b = 6e-8 for each packet at each step.",
    weaknesses: "The gains were designed for one network: 15 Mbit/s of 500 B packets, about 60 \
        flows, 240 ms. On a slower link or with fewer flows it takes minutes to find p: with the \
        queue held at 100 packets, 50 above q_ref, p is 0.7 % after ten seconds. The target, 50 \
        packets, is a length and not a delay: on a slow link it is much.",
    params: own_tables::<PiParams>(),
    state: &states(COLUMNS),
    defaults: PiParams::DEFAULTS,
};

group! {
    /// What the user of PI sets.
    pub struct PiParams {
        /// Its own.
        pub own: PiOwn,
        /// What every kind takes.
        pub common: Common,
    }
}

params! {
    /// Parameters.
    pub struct PiOwn: Default {
        /// Gain of the present error.
        pub a: f64 {
            ty: num(0.0, 1.0),
            unit: "1/packet",
            default: 1.822e-5,
            source: "Hollot 2001; ns-2",
        },
        /// Gain of the error one period ago.
        pub b: f64 {
            ty: num(0.0, 1.0),
            unit: "1/packet",
            default: 1.816e-5,
            source: "Hollot 2001; ns-2",
        },
        /// Updates a second.
        pub w: f64 {
            ty: num_open(0.0, 1e6),
            unit: "Hz",
            default: 170,
            source: "Hollot 2001; ns-2",
        },
        /// Target queue length.
        pub q_ref: QueueLen { unit: "packets", default: 50, source: "Hollot 2001; ns-2" },
    }
}

const COLUMNS: &[Column<Pi>; 1] = &[column("p", "The probability.", |d| d.p)];

/// PI.
#[derive(Clone, Debug)]
pub struct Pi {
    a: f64,
    b: f64,
    q_ref: f64,
    period: Duration,
    /// Bytes of a mean packet, where the queue is measured in bytes.
    per_pkt: Option<f64>,
    signal: Classic,
    p: f64,
    q_old: f64,
    next: Time,
}

impl Pi {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &PiParams, cx: &Context) -> Result<Self, ParamError> {
        let unit = Unit::of(p, &p.common, cx)?;
        let period = Duration::from_secs_f64(1.0 / p.own.w);
        Ok(Pi {
            a: p.own.a,
            b: p.own.b,
            q_ref: unit.in_packets().length(p.own.q_ref),
            period,
            per_pkt: unit.bytes.then_some(unit.per_pkt),
            signal: Classic::new(p.common.ecn),
            p: 0.0,
            q_old: 0.0,
            next: Time::ZERO + period,
        })
    }
}

impl Pi {
    // p <- p + a (q - q_ref) - b (q_old - q_ref)
    fn update(&mut self, q: f64) {
        let p = self.p + self.a * (q - self.q_ref) - self.b * (self.q_old - self.q_ref);
        self.p = p.clamp(0.0, 1.0);
        self.q_old = q;
    }
}

impl Aqm for Pi {
    #[inline]
    fn arrive(&mut self, _: Time, pkt: &Packet, _: &Queue, rng: &mut Rng) -> Verdict {
        if self.p > 0.0 && rng.unit() < self.p {
            self.signal.early(pkt, self.p)
        } else {
            Verdict::Pass
        }
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.next)
    }

    fn tick(&mut self, now: Time, q: &Queue) {
        self.update(self.per_pkt.map_or(f64::from(q.pkts), |m| q.bytes as f64 / m));
        self.next = now + self.period;
    }

    fn begin(&mut self, now: Time) {
        self.next += now.since(Time::ZERO);
    }

    fn go_on(&mut self, before: Self, _: Time) {
        self.p = before.p;
        self.q_old = before.q_old;
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

    #[test]
    fn probability_by_hand() {
        let mut pi = Pi::new(&params(&KIND, &[]), &context()).unwrap();
        pi.update(150.0); // 1.822e-5 * 100 - 1.816e-5 * (0 - 50) = 2.730e-3
        assert!((pi.p - 2.730e-3).abs() < 1e-12);
        pi.update(150.0); // + (1.822e-5 - 1.816e-5) * 100 = 6e-6
        assert!((pi.p - 2.736e-3).abs() < 1e-12);
        pi.update(0.0); // - 1.822e-5 * 50 - 1.816e-5 * 100 = -2.727e-3
        assert!((pi.p - 9e-6).abs() < 1e-12);
        pi.update(0.0);
        assert!(pi.p >= 0.0);
    }
}
