//! PI2, PI improved with a square. K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe, "PI2: a
//! linearized AQM for both classic and scalable TCP", CoNEXT 2016. One queue: a PI controller moves
//! the base probability p' by the delay of the packet at the head, Classic packets are signalled
//! with p'² and Scalable ones with k·p' ([`crate::parts::coupling`]). PIE without its table of
//! steps, its burst allowance and its caps.
//!
//! The defaults are those of DualPI2 in Linux (RFC 9332, appendix A, with 16 ms), the same controller
//! with two queues. Beyond `p_cmax` capable packets are dropped too, with p'²: Classic ones as in the
//! paper, Scalable ones as RFC 9332, section 2.5.1, wants it of overload.

use crate::aqm::{Aqm, Service, Turn};
use crate::context::{Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::coupling::{Base, Identify};
use crate::parts::signal::Classic;
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{num, num_open, ParamError};
use penstock_units::{group, params, words, Duration, Rng, Time};
use std::collections::VecDeque;

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "pi2",
    doc: "PI control of the queueing delay; Classic packets get the square of its probability, \
        Scalable ones get it straight.",
    source: "De Schepper et al. 2016; RFC 9332, appendix A",
    equations: "every t_update:  p' ← p' + α·(q − target) + β·(q − q_old),  p' in [0, 1]\n\
        \u{20}                q = how long the packet at the head has waited\n\
        departure:       Not-ECT, ECT(0): signal with p'²  (two draws below p')\n\
        \u{20}                ECT(1), CE:      mark with min(1, k·p')\n\
        \u{20}                p'² > p_cmax:    drop with p'², whatever the packet is",
    expect: "The queueing delay settles at target, 15 ms, whatever the load. Since a window goes \
        with 1/√p under Reno or CUBIC and with 1/p under DCTCP or Prague, p' is linear in both, \
        so one pair of gains suits every load: there is no table as in PIE. Flows of both sorts \
        share one queue at about equal rates.",
    weaknesses: "One queue: Scalable flows, which could do with 1 ms, wait as long as the others; \
        `dualpi2` gives them a queue of their own. k balances the rates for one round trip, about \
        25 ms beside 15 ms of queue, and flows with other round trips get more or less. It has no \
        burst allowance: a burst after silence raises p' at the next update. Its delay is that of \
        the head, so what has just arrived is seen a queue later.",
    params: own_tables::<Pi2Params>(),
    state: &states(COLUMNS),
    defaults: Pi2Params::DEFAULTS,
};

group! {
    /// What the user of PI2 sets.
    pub struct Pi2Params {
        /// Its own.
        pub own: Pi2Own,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("ecn", "true")],
}

words! {
    /// Where packets are chosen.
    pub enum Decides {
        /// Where they leave.
        Departure = "departure",
        /// Where they arrive.
        Arrival = "arrival",
    }
}

params! {
    /// Parameters.
    pub struct Pi2Own: Default {
        /// The queueing delay to keep.
        pub target: Duration { default: "15 ms", source: "RFC 9332, appendix A.1; 20 ms in 2016" },
        /// Time between two updates of the probability.
        pub t_update: Duration {
            default: "16 ms",
            source: "RFC 9332, appendix A.1: Tupdate as Linux has it; 32 ms in 2016",
        },
        /// Gain of the delay's distance from the target.
        pub alpha: f64 {
            ty: num(0.0, 256.0),
            unit: "1/s",
            default: 0.16,
            source: "RFC 9332, appendix A.1, with 16 ms",
        },
        /// Gain of the delay's change.
        pub beta: f64 {
            ty: num(0.0, 256.0),
            unit: "1/s",
            default: 3.2,
            source: "RFC 9332, appendix A.1",
        },
        /// The coupling factor: a Scalable packet is marked with k·p'.
        pub k: f64 {
            ty: num_open(0.0, 255.0),
            unit: "1",
            default: 2,
            source: "RFC 9332, appendix C",
        },
        /// Above this probability of a Classic signal capable packets are dropped too.
        pub p_cmax: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.25,
            source: "RFC 9332, appendix A.2: 1/k²",
        },
        /// Which packets are Scalable: ECT(1) and CE, or all that are ECN-capable.
        pub identify: Identify { default: "l4s", source: "RFC 9331, section 2; any-ect: Linux" },
        /// Where packets are chosen for a signal. At their arrival the signal is a queue earlier.
        pub decides: Decides { default: "departure", source: "RFC 9332, appendix A.1" },
    }
}

const COLUMNS: &[Column<Pi2>; 4] = &[
    column("p", "The base probability p'.", |d| d.base.p()),
    column("p_c", "The probability of a Classic signal, p'².", |d| d.base.p_c()),
    column("p_cl", "The probability of a Scalable mark, k·p'.", |d| d.base.p_cl()),
    column("qdelay_s", "The queueing delay at the last update.", |d| d.delay.as_secs_f64()),
];

/// PI2.
#[derive(Clone, Debug)]
pub struct Pi2 {
    base: Base,
    signal: Classic,
    identify: Identify,
    at_arrival: bool,
    /// The packets that wait, by handle, and since when.
    waiting: VecDeque<(u32, Time)>,
    delay: Duration,
}

impl Pi2 {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &Pi2Params, cx: &Context) -> Result<Self, ParamError> {
        let _ = Unit::of(p, &p.common, cx)?;
        let own = &p.own;
        let base = Base::new((own.target, own.t_update), (own.alpha, own.beta), own.k, 1.0, false)?;
        Ok(Pi2 {
            base,
            signal: Classic { mark_p: own.p_cmax, ..Classic::new(p.common.ecn) },
            identify: own.identify,
            at_arrival: own.decides == Decides::Arrival,
            waiting: VecDeque::new(),
            delay: Duration::ZERO,
        })
    }

    /// What becomes of a packet.
    #[inline(always)]
    fn decide(&self, pkt: &Packet, rng: &mut Rng) -> Verdict {
        let p = self.base.p();
        if p == 0.0 {
            return Verdict::Pass;
        }
        let p_c = self.base.p_c();
        if !self.identify.scalable(pkt.ecn) {
            // max(u1, u2) < p' with p'².
            let chosen = rng.unit() < p && rng.unit() < p;
            return if chosen { self.signal.early(pkt, p_c) } else { Verdict::Pass };
        }
        if p_c > self.signal.mark_p && rng.unit() < p && rng.unit() < p {
            return Verdict::Drop(Reason::Early);
        }
        if rng.unit() < self.base.p_cl() {
            self.signal.early(pkt, 0.0)
        } else {
            Verdict::Pass
        }
    }
}

impl Aqm for Pi2 {
    #[inline(always)]
    fn arrive(&mut self, _: Time, pkt: &Packet, _: &Queue, rng: &mut Rng) -> Verdict {
        if self.at_arrival {
            self.decide(pkt, rng)
        } else {
            Verdict::Pass
        }
    }

    #[inline(always)]
    fn enqueued(&mut self, now: Time, _: &Packet, handle: u32) {
        self.waiting.push_back((handle, now));
    }

    #[inline(always)]
    fn next(&mut self, _: Time) -> Turn<u32> {
        self.waiting.pop_front().map_or(Turn::Empty, |(handle, _)| Turn::Packet(handle))
    }

    #[inline(always)]
    fn depart(&mut self, _: Time, pkt: &Packet, _: Duration, _: &Queue, rng: &mut Rng) -> Verdict {
        if self.at_arrival {
            Verdict::Pass
        } else {
            self.decide(pkt, rng)
        }
    }

    /// The order is a FIFO's; what it needs is the time of the packet at the head.
    #[inline(always)]
    fn service(&self) -> Service {
        Service::Orders
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.base.next())
    }

    fn tick(&mut self, now: Time, _: &Queue) {
        self.delay = self.waiting.front().map_or(Duration::ZERO, |(_, since)| now.since(*since));
        self.base.tick(now, self.delay);
    }

    /// Each packet keeps its place and the time at which it came.
    fn packet_bytes(&self) -> usize {
        size_of::<(u32, Time)>()
    }

    fn begin(&mut self, now: Time) {
        self.base.begin(now);
    }

    fn go_on(&mut self, before: Self, _: Time) {
        self.base.go_on(&before.base);
        self.waiting = before.waiting;
        self.delay = before.delay;
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build, busy, context, params, PKT};
    use crate::{Ecn, Level};

    fn pi2(set: &[(&'static str, &'static str)]) -> Pi2 {
        Pi2::new(&params(&KIND, set), &context()).unwrap()
    }

    /// 35 ms after the head came, p' = 0.16·0.020 + 3.2·0.035 = 0.1152; the packet behind it came
    /// 25 ms later. With nothing waiting: 0.1152 − 0.16·0.015 − 3.2·0.035 = 0.0008.
    #[test]
    fn the_delay_is_the_heads() {
        let mut x = pi2(&[]);
        x.enqueued(Time::ZERO, &PKT, 7);
        x.enqueued(Time::from_nanos(25_000_000), &PKT, 3);
        let at = |ns| Time::from_nanos(ns);
        x.tick(at(35_000_000), &busy(2));
        assert!((x.base.p() - 0.1152).abs() < 1e-12, "{}", x.base.p());
        assert_eq!(x.next_tick(), Some(at(51_000_000)));
        assert_eq!(
            [(); 3].map(|()| x.next(at(1))),
            [Turn::Packet(7), Turn::Packet(3), Turn::Empty]
        );
        x.tick(at(51_000_000), &busy(0));
        assert!((x.base.p() - 0.0008).abs() < 1e-12, "{}", x.base.p());
    }

    /// The share of 40 000 packets that gets each verdict, within four standard errors of 0.0025.
    #[test]
    fn shares_of_signals() {
        let (mark, drop) = (Verdict::Mark(Level::Ce, Reason::Early), Verdict::Drop(Reason::Early));
        let any = [("identify", "\"any-ect\"")];
        for (set, p, ecn, verdict, share) in [
            (&[][..], 0.25, Ecn::NotEct, drop, 0.0625), // p'²
            (&[], 0.25, Ecn::Ect0, mark, 0.0625),
            (&[], 0.5, Ecn::Ect0, mark, 0.25), // 1/4 is not beyond 1/4
            (&[], 0.75, Ecn::Ect0, drop, 0.5625),
            (&[], 0.25, Ecn::Ect1, mark, 0.5), // 2 p'
            (&[], 0.25, Ecn::Ce, mark, 0.5),
            (&[], 0.5, Ecn::Ect1, mark, 1.0),
            (&[], 0.75, Ecn::Ect1, drop, 0.5625),
            (&[], 0.75, Ecn::Ect1, mark, 0.4375), // all the rest
            (&any, 0.25, Ecn::Ect0, mark, 0.5),
            (&[("k", "1")], 0.25, Ecn::Ect1, mark, 0.25),
            (&[("ecn", "false")], 0.25, Ecn::Ect1, drop, 0.5),
            (&[], 0.0, Ecn::Ect1, mark, 0.0),
        ] {
            let mut x = pi2(set);
            x.base.set(p);
            let pkt = Packet { ecn, ..PKT };
            let mut rng = Rng::stream(5, "test");
            let got = (0..40_000)
                .filter(|_| {
                    x.depart(Time::ZERO, &pkt, Duration::ZERO, &busy(9), &mut rng) == verdict
                })
                .count();
            let got = got as f64 / 40_000.0;
            assert!(
                (got - share).abs() < 0.01,
                "{set:?} {p} {ecn:?} {verdict:?}: {got}, not {share}"
            );
            assert_eq!(x.arrive(Time::ZERO, &pkt, &busy(9), &mut rng), Verdict::Pass);
        }
    }

    #[test]
    fn it_decides_at_arrivals_where_it_is_told_to() {
        let mut x = pi2(&[("decides", "\"arrival\"")]);
        x.base.set(0.5);
        let (pkt, mut rng) = (Packet { ecn: Ecn::Ect1, ..PKT }, Rng::stream(1, "test"));
        assert_ne!(x.arrive(Time::ZERO, &pkt, &busy(9), &mut rng), Verdict::Pass);
        let leaves = x.depart(Time::ZERO, &pkt, Duration::ZERO, &busy(9), &mut rng);
        assert_eq!(leaves, Verdict::Pass);
    }

    #[test]
    fn a_period_of_nothing_is_refused() {
        let error = build(&KIND, &[("t_update", "\"10 ns\"")]).err().unwrap();
        assert_eq!(error.to_string(), "t_update: must be at least 1 us");
    }
}
