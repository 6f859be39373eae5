//! AFD, approximate fair dropping. R. Pan, L. Breslau, B. Prabhakar, S. Shenker, "Approximate
//! fairness through differential dropping", ACM CCR 33(2), 2003: one FIFO, and for each flow a
//! probability that leaves it the fair share.
//!
//! A shadow buffer holds some of the packets that arrived last. A flow's packets there, `m_i`,
//! measure its rate; `m_fair` is what a flow with the fair share would have there. A PI controller
//! moves `m_fair` so that the queue is at its target.
//!
//! ```text
//! arrival:        signal with max(0, 1 − m_fair/m_i);  every 1/sample-th goes into the shadow
//! every interval: m_fair += α·(q_old − q_target) − β·(q − q_target)
//! ```
//! Settled here: the gains, the interval and the target are those of two published implementations,
//! and how large the shadow buffer is and how often it samples is left open by the sources at hand.
//! Its oldest packet makes room. `m_fair` begins with the whole shadow, so that nothing is signalled
//! before there is a queue, and is at least one packet.

use crate::aqm::Aqm;
use crate::context::{at_least_a_microsecond, Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::signal::Classic;
use crate::verdict::Verdict;
use penstock_units::param::{int, num, num_open, ParamError};
use penstock_units::{group, params, Duration, QueueLen, Rng, Time};
use std::collections::VecDeque;

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "afd",
    doc: "Fair shares from one FIFO: each flow is signalled by its part of the packets that came last.",
    source: "Pan, Breslau, Prabhakar, Shenker 2003",
    equations: "arrival:         signal with max(0, 1 − m_fair/m_i),  m_i: the flow's packets in the shadow buffer\n\
        every interval:  m_fair ← m_fair + alpha·(q_old − q_target) − beta·(q − q_target)",
    expect: "A flow that sends too much loses what is too much, and no other loses for it: a flow at \
        twice its share has every other packet signalled. The queue stands at q_target. The figure \
        holds a queue of five equal flows, to which m_fair comes down within a second where the \
        queue is above the target.",
    weaknesses: "What counts is a flow's part of some hundred packets, so that with more flows than \
        that, or flows of few packets, the shares are left to chance. TCP's rate follows losses by \
        its own law: AFD gives equal signals for equal rates, and flows with a longer round trip \
        still get less where they cannot reach the fair share. The gains are for one rate: on slow \
        links m_fair swings.",
    params: own_tables::<AfdParams>(),
    state: &states(COLUMNS),
    defaults: AfdParams::DEFAULTS,
};

group! {
    /// What the user of AFD sets.
    pub struct AfdParams {
        /// Its own keys.
        pub own: AfdOwn,
        /// What every kind takes.
        pub common: Common,
    }
}

params! {
    /// Parameters.
    pub struct AfdOwn: Default {
        /// Queue that is aimed at.
        pub q_target: QueueLen {
            unit: "packets",
            default: 50,
            source: "published implementations of Pan et al. 2003",
        },
        /// Gain of the queue at the last update; below beta.
        pub alpha: f64 {
            ty: num_open(0.0, 1e3),
            unit: "1",
            default: 1.7,
            source: "published implementations of Pan et al. 2003",
        },
        /// Gain of the queue now.
        pub beta: f64 {
            ty: num_open(0.0, 1e3),
            unit: "1",
            default: 1.8,
            source: "published implementations of Pan et al. 2003",
        },
        /// Time between updates of m_fair.
        pub interval: Duration {
            default: "6.25 ms",
            source: "published implementations of Pan et al. 2003: 160 Hz",
        },
        /// Packets that the shadow buffer holds.
        pub shadow: u32 {
            ty: int(10, 100_000),
            unit: "packets",
            default: 500,
            source: "left open",
        },
        /// The part of the arriving packets that goes there.
        pub sample: f64 { ty: num(0.001, 1.0), unit: "1", default: 0.2, source: "left open" },
    }
}

const COLUMNS: &[Column<Afd>; 2] = &[
    column("m_fair", "What the fair share is in the shadow buffer, in the queue's unit.", |d| {
        d.m_fair
    }),
    column("m_i", "What the flow of the packet that arrived last has there.", |d| d.m_i),
];

/// The shadow buffer: a flow and a length in the queue's unit for each packet, the oldest first;
/// and what each flow has there, by its number.
#[derive(Clone, Debug, Default)]
struct Shadow {
    packets: VecDeque<(u32, u32)>,
    flows: Vec<(u32, u64)>,
}

impl Shadow {
    fn of(&self, flow: u32) -> u64 {
        match self.flows.binary_search_by_key(&flow, |(f, _)| *f) {
            Ok(i) => self.flows[i].1,
            Err(_) => 0,
        }
    }

    fn push(&mut self, flow: u32, length: u32, most: usize) {
        if self.packets.len() >= most {
            if let Some((oldest, length)) = self.packets.pop_front() {
                let i = self.flows.partition_point(|(f, _)| *f < oldest);
                self.flows[i].1 -= u64::from(length);
                if self.flows[i].1 == 0 {
                    self.flows.remove(i);
                }
            }
        }
        self.packets.push_back((flow, length));
        match self.flows.binary_search_by_key(&flow, |(f, _)| *f) {
            Ok(i) => self.flows[i].1 += u64::from(length),
            Err(i) => self.flows.insert(i, (flow, length.into())),
        }
    }
}

/// Approximate fair dropping.
#[derive(Clone, Debug)]
pub struct Afd {
    q_target: f64,
    alpha: f64,
    beta: f64,
    interval: Duration,
    most: usize,
    sample: f64,
    unit: Unit,
    signal: Classic,
    shadow: Shadow,
    m_fair: f64,
    m_i: f64,
    q_old: f64,
    next: Time,
}

impl Afd {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &AfdParams, cx: &Context) -> Result<Self, ParamError> {
        let unit = Unit::of(p, &p.common, cx)?;
        let AfdOwn { q_target, alpha, beta, interval, shadow, sample } = p.own;
        if alpha >= beta {
            return Err(ParamError::new("alpha", format!("must be below beta ({beta})")));
        }
        at_least_a_microsecond("interval", interval)?;
        Ok(Afd {
            q_target: unit.length(q_target),
            alpha,
            beta,
            interval,
            most: shadow as usize,
            sample,
            signal: Classic::new(p.common.ecn),
            shadow: Shadow::default(),
            m_fair: f64::from(shadow) * unit.per_pkt,
            m_i: 0.0,
            q_old: 0.0,
            next: Time::ZERO + interval,
            unit,
        })
    }

    /// The probability for a flow that has `m_i` in the shadow buffer.
    fn probability(&self, m_i: f64) -> f64 {
        if m_i > self.m_fair {
            1.0 - self.m_fair / m_i
        } else {
            0.0
        }
    }

    fn update(&mut self, q: f64) {
        let most = self.most as f64 * self.unit.per_pkt;
        let m = self.m_fair + self.alpha * (self.q_old - self.q_target)
            - self.beta * (q - self.q_target);
        self.m_fair = m.clamp(self.unit.per_pkt, most);
        self.q_old = q;
    }
}

impl Aqm for Afd {
    fn arrive(&mut self, _: Time, pkt: &Packet, _: &Queue, rng: &mut Rng) -> Verdict {
        self.m_i = self.shadow.of(pkt.flow) as f64;
        if rng.unit() < self.sample {
            let length = if self.unit.bytes { pkt.bytes } else { 1 };
            self.shadow.push(pkt.flow, length, self.most);
        }
        let p = self.probability(self.m_i);
        if p > 0.0 && rng.unit() < p {
            self.signal.early(pkt, p)
        } else {
            Verdict::Pass
        }
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.next)
    }

    fn tick(&mut self, now: Time, q: &Queue) {
        self.update(q.length(self.unit.bytes));
        self.next = now + self.interval;
    }

    fn state_bytes(&self) -> usize {
        size_of_val(self) + self.most * size_of::<((u32, u32), (u32, u64))>()
    }

    fn begin(&mut self, now: Time) {
        self.next += now.since(Time::ZERO);
    }

    fn go_on(&mut self, before: Self, _: Time) {
        let Afd { shadow, m_fair, m_i, q_old, next, .. } = before;
        (self.shadow, self.m_fair, self.m_i) = (shadow, m_fair, m_i);
        (self.q_old, self.next) = (q_old, next);
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{busy, context, params, PKT};

    fn afd(set: &[(&'static str, &'static str)]) -> Afd {
        Afd::new(&params(&KIND, set), &context()).unwrap()
    }

    /// m_fair 1000 B: a flow with 4000 B there loses three quarters, one with 900 B nothing.
    #[test]
    fn a_flow_loses_what_is_above_the_fair_share() {
        let mut afd = afd(&[("unit", "\"bytes\"")]);
        afd.m_fair = 1000.0;
        assert_eq!(
            [4000.0, 2000.0, 1000.0, 900.0].map(|m| afd.probability(m)),
            [0.75, 0.5, 0.0, 0.0]
        );
    }

    /// 500 at the start; q = 60: 500 + 1.7·(0 − 50) − 1.8·(60 − 50) = 397; again: 397 + 17 − 18;
    /// at the target nothing moves.
    #[test]
    fn the_fair_share_by_hand() {
        let mut afd = afd(&[]);
        let mut to = |q| {
            afd.update(q);
            (afd.m_fair * 1e6).round() / 1e6
        };
        assert_eq!([to(60.0), to(60.0), to(50.0), to(50.0)], [397.0, 396.0, 413.0, 413.0]);
        assert_eq!((to(1000.0), to(0.0)), (1.0, 500.0));
    }

    /// The oldest packet makes room, and a flow that has none left is forgotten.
    #[test]
    fn the_shadow_holds_the_last_packets() {
        let mut shadow = Shadow::default();
        for flow in [5, 5, 2, 9, 5] {
            shadow.push(flow, 1, 4);
        }
        assert_eq!([2, 5, 9, 7].map(|flow| shadow.of(flow)), [1, 2, 1, 0]);
        (0..4).for_each(|_| shadow.push(1, 1, 4));
        assert_eq!(shadow.flows, [(1, 4)]);
    }

    /// Of two flows, one with four of five packets, at a fair share of 100 of 500 the fast one passes
    /// a quarter of its packets, and the other all.
    #[test]
    fn equal_shares_of_unequal_flows() {
        let (mut afd, mut rng) = (afd(&[("sample", "1")]), Rng::stream(1, "test"));
        let mut passed = [0, 0];
        for i in 0..12_500 {
            afd.m_fair = 100.0;
            let flow = u32::from(i % 5 == 0);
            let verdict = afd.arrive(Time::ZERO, &Packet { flow, ..PKT }, &busy(9), &mut rng);
            if i >= 2500 {
                passed[flow as usize] += u32::from(verdict == Verdict::Pass);
            }
        }
        assert_eq!(passed[1], 2000);
        assert!((1900..2100).contains(&passed[0]), "{passed:?}");
    }
}
