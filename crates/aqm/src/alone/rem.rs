//! REM, random exponential marking. S. Athuraliya, S. Low, V. Li, Q. Yin, "REM: active queue
//! management", IEEE Network 15(3), 2001. A price rises with the queue's excess over `b*` and with
//! the rate's excess over capacity: `price <- max(0, price + γ(α(q − b*) + x − c))` every period;
//! signal with `1 − φ^(−price)`.
//!
//! `x` counts the packets that arrived in the period, `c` those that the link can send in it. In
//! ns-2 α is fixed at 0.1, drops are decided at arrival and marks at departure, for capable packets
//! only (`mark_at = "departure"`).

use crate::aqm::{Aqm, Service};
use crate::context::{at_least_a_microsecond, Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{num, num_open, ParamError};
use penstock_units::{group, params, words, Duration, QueueLen, Rng, Time};
use penstock_units::{Ecn, Level};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "rem",
    doc: "Random exponential marking: a price integrates the queue's and the rate's excess.",
    source: "Athuraliya, Low, Li, Yin 2001",
    equations: "every period:  price ← max(0, price + γ·(α·(q − b*) + x − c))\n\
        \u{20}              x = arrivals, c = capacity of the period, in packets\n\
        p = 1 − φ^(−price):  signal with p",
    expect: "The price integrates, so in steady state the queue stands at b* and the arrivals \
        match the link, however many flows there are: the load changes the price and not the \
        queue. Prices of several links add up along a path. The figure shows the integrator: a \
        queue held above b* gives a probability that keeps growing.",
    weaknesses: "The gains fix how fast it is: with γ = 0.001 the price needs seconds to tens of \
        seconds, in which the buffer overflows or the queue runs empty. Stability depends on \
        round-trip time and load. The period and α are ns-2's; the RARED paper, where the other \
        settings are from, gives neither. Marks at departure are ns-2's too (`mark_at`), and then \
        nothing is dropped early at all.",
    params: own_tables::<RemParams>(),
    state: &states(COLUMNS),
    defaults: RemParams::DEFAULTS,
};

group! {
    /// What the user of REM sets.
    pub struct RemParams {
        /// Its own.
        pub own: RemOwn,
        /// What every kind takes.
        pub common: Common,
    }
    under: { ns2: [("count_in_service", "true")] },
}

words! {
    /// Where marks are decided.
    pub enum MarkAt {
        /// At arrival.
        Arrival = "arrival",
        /// At departure (ns-2).
        Departure = "departure",
    }
}

params! {
    /// Parameters.
    pub struct RemOwn: Default {
        /// Base of the exponential law.
        pub phi: f64 {
            ty: num_open(1.0, 1e6),
            unit: "1",
            default: 1.001,
            source: "RARED paper; ns-2",
        },
        /// Step of the price.
        pub gamma: f64 {
            ty: num_open(0.0, 1e3),
            unit: "1",
            default: 0.001,
            source: "RARED paper; ns-2",
        },
        /// Weight of the queue's excess against the rate's.
        pub alpha: f64 { ty: num(0.0, 1e3), unit: "1", default: 0.1, source: "ns-2 (fixed there)" },
        /// Target queue length.
        pub b_star: QueueLen { unit: "packets", default: 20, source: "RARED paper; ns-2: pbo_" },
        /// Time between two updates of the price.
        pub period: Duration { default: "2 ms", source: "ns-2: pupdtime_" },
        /// Where marks are decided when `ecn` is on.
        pub mark_at: MarkAt {
            default: "arrival",
            ns2: "departure",
            source: "ns-2 marks at departure, and then never drops early",
        },
    }
}

const COLUMNS: &[Column<Rem>; 2] = &[
    column("price", "The price.", |d| d.price),
    column("p", "The probability 1 − φ^(−price).", |d| d.p),
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
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &RemParams, cx: &Context) -> Result<Self, ParamError> {
        let unit = Unit::of(p, &p.common, cx)?;
        let period = p.own.period;
        at_least_a_microsecond("period", period)?;
        Ok(Rem {
            phi: p.own.phi,
            gamma: p.own.gamma,
            alpha: p.own.alpha,
            // The queue and the arrivals count in packets (of the mean size, where the unit is
            // bytes).
            b_star: unit.in_packets().length(p.own.b_star),
            capacity: cx.rate.packets_per_sec(unit.mean) * period.as_secs_f64(),
            per_pkt: unit.per_pkt,
            bytes: unit.bytes,
            period,
            ecn: p.common.ecn,
            at_departure: p.common.ecn && p.own.mark_at == MarkAt::Departure,
            price: 0.0,
            p: 0.0,
            arrived: 0.0,
            next: Time::ZERO + period,
        })
    }
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

    #[inline(always)]
    fn service(&self) -> Service {
        if self.at_departure {
            Service::AtDeparture
        } else {
            Service::AtArrival
        }
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.next)
    }

    fn tick(&mut self, now: Time, q: &Queue) {
        self.update(if self.bytes { q.bytes as f64 / self.per_pkt } else { f64::from(q.pkts) });
        self.next = now + self.period;
    }

    fn begin(&mut self, now: Time) {
        self.next += now.since(Time::ZERO);
    }

    fn go_on(&mut self, before: Self, _: Time) {
        self.price = before.price;
        self.p = before.p;
        self.arrived = before.arrived;
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

    fn rem() -> Rem {
        Rem::new(&params(&KIND, &[]), &context()).unwrap()
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
