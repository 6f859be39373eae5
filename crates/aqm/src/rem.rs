//! REM, random exponential marking. S. Athuraliya, S. Low, V. Li, Q. Yin, "REM: active queue
//! management", IEEE Network 15(3), 2001. A price rises with the queue's excess over `b*` and with
//! the rate's excess over capacity: `price <- max(0, price + γ(α(q − b*) + x − c))` every period;
//! signal with `1 − φ^(−price)`.
//!
//! `x` counts the packets that arrived in the period, `c` those that the link can send in it. In
//! ns-2 α is fixed at 0.1, drops are decided at arrival and marks at departure, for capable packets
//! only (`mark_at = "departure"`).

use crate::registry::{at_least_a_microsecond, mean_packet};
use crate::{Aqm, Discipline, Ecn, Kind, Level, Packet, Queue, Reason, State, Verdict};
use penstock_units::param::{num, num_open, Param, Ty, PARAM};
use penstock_units::{Duration, QueueLen, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "rem",
    doc: "Random exponential marking: a price integrates the queue's and the rate's excess.",
    source: "Athuraliya, Low, Li, Yin 2001",
    equations: "every period:  price ← max(0, price + γ·(α·(q − b*) + x − c))\n\
        \u{20}              x = arrivals, c = capacity of the period, in packets\n\
        p = 1 − φ^(−price):  signal with p",
    expect:
        "The price integrates, so in steady state the queue stands at b* and the arrivals match the link, \
        however many flows there are: the load changes the price, not the queue. Prices of several links add \
        up along a path. The figure shows the integrator: a queue held above b* gives a probability that \
        keeps growing.",
    weaknesses:
        "The gains fix how fast it is: with γ = 0.001 the price needs seconds to tens of seconds, in which \
        the buffer overflows or the queue runs empty. Stability depends on round-trip time and load. The \
        period and α are ns-2's; the RARED paper, where the other settings are from, gives neither. Marks at \
        departure are ns-2's too (`mark_at`), and then nothing is dropped early at all.",
    params: &[PARAMS],
    state: &[
        State { name: "price", doc: "The price." },
        State { name: "p", doc: "The probability 1 − φ^(−price)." },
    ],
    defaults: &[],
    ns2: &[("count_in_service", "true")],
    build: |v, cx| {
        let mean = mean_packet(v)?;
        let bytes = v.is("unit", "bytes");
        let per_pkt = if bytes { mean.0 as f64 } else { 1.0 };
        let period = v.duration("period");
        at_least_a_microsecond("period", period)?;
        Ok(Discipline::Rem(Rem {
            phi: v.num("phi"),
            gamma: v.num("gamma"),
            alpha: v.num("alpha"),
            // The queue and the arrivals count in packets (of the mean size, where the unit is
            // bytes).
            b_star: match v.queue("b_star") {
                QueueLen::Packets(n) => n,
                QueueLen::Bytes(b) => b as f64 / mean.0 as f64,
            },
            capacity: cx.rate.packets_per_sec(mean) * period.as_secs_f64(),
            per_pkt,
            bytes,
            period,
            ecn: v.bool("ecn"),
            at_departure: v.bool("ecn") && v.is("mark_at", "departure"),
            price: 0.0,
            p: 0.0,
            arrived: 0.0,
            next: Time::ZERO + period,
        }))
    },
};

const PARAMS: &[Param] = &[
    Param {
        name: "phi",
        ty: num_open(1.0, 1e6),
        unit: "1",
        default: Some("1.001"),
        source: "RARED paper; ns-2",
        doc: "Base of the exponential law.",
        ..PARAM
    },
    Param {
        name: "gamma",
        ty: num_open(0.0, 1e3),
        unit: "1",
        default: Some("0.001"),
        source: "RARED paper; ns-2",
        doc: "Step of the price.",
        ..PARAM
    },
    Param {
        name: "alpha",
        ty: num(0.0, 1e3),
        unit: "1",
        default: Some("0.1"),
        source: "ns-2 (fixed there)",
        doc: "Weight of the queue's excess against the rate's.",
        ..PARAM
    },
    Param {
        name: "b_star",
        ty: Ty::Queue,
        unit: "packets",
        default: Some("20"),
        source: "RARED paper; ns-2: pbo_",
        doc: "Target queue length.",
        ..PARAM
    },
    Param {
        name: "period",
        ty: Ty::Duration,
        default: Some("\"2 ms\""),
        source: "ns-2: pupdtime_",
        doc: "Time between two updates of the price.",
        ..PARAM
    },
    Param {
        name: "mark_at",
        ty: Ty::Word(&["arrival", "departure"]),
        default: Some("\"arrival\""),
        ns2: Some("\"departure\""),
        source: "ns-2 marks at departure, and then never drops early",
        doc: "Where marks are decided when `ecn` is on.",
        ..PARAM
    },
];

/// REM.
#[derive(Clone, Debug)]
pub struct Rem {
    phi: f64,
    gamma: f64,
    alpha: f64,
    b_star: f64,
    /// c: packets that the link sends in a period.
    capacity: f64,
    /// Units of the queue in one packet.
    per_pkt: f64,
    bytes: bool,
    period: Duration,
    ecn: bool,
    at_departure: bool,
    price: f64,
    p: f64,
    /// x: packets that arrived in this period.
    arrived: f64,
    next: Time,
}

impl Rem {
    /// price <- max(0, price + γ(α(q − b*) + x − c));  p = 1 − φ^(−price).
    fn update(&mut self, q: f64) {
        let excess = self.alpha * (q - self.b_star) + self.arrived - self.capacity;
        self.price = (self.price + self.gamma * excess).max(0.0);
        self.p = if self.price > 0.0 { 1.0 - libm::pow(self.phi, -self.price) } else { 0.0 };
        self.arrived = 0.0;
    }

    fn chance(&self, rng: &mut Rng) -> bool {
        self.p > 0.0 && rng.unit() < self.p
    }
}

impl Aqm for Rem {
    #[inline]
    fn arrive(&mut self, _: Time, pkt: &Packet, _: &Queue, rng: &mut Rng) -> Verdict {
        self.arrived += if self.bytes { f64::from(pkt.bytes) / self.per_pkt } else { 1.0 };
        if self.at_departure || !self.chance(rng) {
            Verdict::Pass
        } else if self.ecn && pkt.ecn != Ecn::NotEct {
            Verdict::Mark(Level::Ce, Reason::Early)
        } else {
            Verdict::Drop(Reason::Early)
        }
    }

    fn depart(&mut self, _: Time, pkt: &Packet, _: Duration, _: &Queue, rng: &mut Rng) -> Verdict {
        if self.at_departure && pkt.ecn != Ecn::NotEct && self.chance(rng) {
            Verdict::Mark(Level::Ce, Reason::Early)
        } else {
            Verdict::Pass
        }
    }

    fn decides_at_departure(&self) -> bool {
        self.at_departure
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.next)
    }

    fn tick(&mut self, now: Time, q: &Queue) {
        self.update(if self.bytes { q.bytes as f64 / self.per_pkt } else { f64::from(q.pkts) });
        self.next = now + self.period;
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("price", self.price);
        out("p", self.p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::{context, values};

    fn rem() -> Rem {
        match (KIND.build)(&values(&KIND, &[]), &context()).unwrap() {
            Discipline::Rem(r) => r,
            _ => unreachable!(),
        }
    }

    /// 10 Mbit/s of 1000 B packets: c = 2.5 packets in 2 ms.
    #[test]
    fn price_by_hand() {
        let mut r = rem();
        assert!((r.capacity - 2.5).abs() < 1e-12);
        r.arrived = 10.0;
        r.update(50.0); // 0.001 * (0.1 * 30 + 10 - 2.5) = 0.0105
        assert!((r.price - 0.0105).abs() < 1e-12);
        assert!((r.p - (1.0 - libm::pow(1.001, -0.0105))).abs() < 1e-15);
        r.update(0.0); // 0.0105 + 0.001 * (-2 + 0 - 2.5) = 0.006
        assert!((r.price - 0.006).abs() < 1e-12);
        for _ in 0..10 {
            r.update(0.0);
        }
        assert_eq!((r.price, r.p), (0.0, 0.0), "a price is never negative");
    }
}
