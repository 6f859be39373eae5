//! CHOKe. R. Pan, B. Prabhakar, K. Psounis, "CHOKe: a stateless active queue management scheme for
//! approximating fair bandwidth allocation", INFOCOM 2000, section 2 and Fig. 1. RED, but each
//! arriving packet is first compared with a packet drawn at random from the queue. If both are of
//! one flow, both are dropped.
//!
//! Left open by the paper: whether a dropped pair counts among the packets since RED's last signal
//! (here it does not, as in Linux), and what happens to a capable packet (here a pair is dropped
//! whatever its ECN field). The paper's variants with several draws are not here.

use crate::aqm::{Aqm, Service};
use crate::context::{Common, Context};
use crate::family::params::{Base, Ceiling, Setting, Thresholds};
use crate::family::red::Red;
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::profile::Straight;
use crate::verdict::{Reason, Verdict};
use penstock_units::group;
use penstock_units::param::ParamError;
use penstock_units::{Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "choke",
    doc: "RED that drops an arriving packet and a waiting one of the same flow together.",
    source: "Pan, Prabhakar, Psounis 2000",
    equations: "avg as in RED\n\
        avg < min_th:  queue\n\
        else draw a waiting packet at random\n\
        same flow as the arriving one:  drop both\n\
        else as RED:  drop (or mark) with p_a below max_th, drop (forced) beyond",
    expect: "A flow that holds a share s of the queue loses a share s of its arrivals, and as \
        many packets again from the queue. So a flow that sends too much and does not slow down \
        is held back, and no state is kept per flow. TCP flows with a few packets each in the \
        queue hardly notice. In the figure five flows share the queue evenly, so above min_th \
        every fifth arrival takes a waiting packet with it.",
    weaknesses: "One draw per arrival is not enough against several flows that send too much, and \
        the paper's variants with more draws are not here. With few flows it punishes those that \
        behave: alone, a flow matches itself at every arrival above min_th. Drops come in pairs, \
        which costs a flow with a small window a timeout. A pair is dropped even if ECN could \
        have marked it.",
    params: own_tables::<ChokeParams>(),
    state: &states(COLUMNS),
    defaults: ChokeParams::DEFAULTS,
    ns2: ChokeParams::NS2,
};

group! {
    /// What the user of CHOKe sets.
    pub struct ChokeParams {
        /// What RED's family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// The ramp's ceiling.
        pub ceiling: Ceiling,
        /// What every kind takes.
        pub common: Common,
    }
    // Fig. 1 drops every packet above max_th.
    defaults: [("gentle", "false")],
}

const COLUMNS: &[Column<Choke>; 3] = &[
    column("avg_pkts", "The average queue, in packets of the mean size.", |d| {
        (Red::AVG.value)(&d.red)
    }),
    column("p_b", "RED's probability before the gate, at the last arrival.", |d| {
        (Red::P_B.value)(&d.red)
    }),
    column("pairs", "Pairs of packets dropped since the start.", |d| d.pairs as f64),
];

/// CHOKe.
#[derive(Clone, Debug)]
pub struct Choke {
    red: Red,
    /// The packet that the driver drew for the next arrival: its handle and its flow.
    drawn: Option<(u32, u32)>,
    /// The waiting packet to drop.
    victim: Option<u32>,
    pairs: u64,
}

impl Choke {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &ChokeParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let ramp = p.thresholds.ramp(&setting, p.ceiling.max_p)?;
        let profile: Straight = p.ceiling.profile();
        let red = p.base.compose(&setting, ramp, profile, (), &[]);
        Ok(Choke { red, drawn: None, victim: None, pairs: 0 })
    }
}

impl Aqm for Choke {
    #[inline(always)]
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        let (length, avg) = self.red.average(now, q);
        let drawn = self.drawn.take().filter(|_| avg >= self.red.ramp.min_th);
        if let Some((handle, _)) = drawn.filter(|(_, flow)| *flow == pkt.flow) {
            self.victim = Some(handle);
            self.pairs += 1;
            return Verdict::Drop(Reason::Early);
        }
        self.red.decide(now, length, avg, pkt, rng)
    }

    fn overflow(&mut self, now: Time, pkt: &Packet, q: &Queue) {
        self.red.overflow(now, pkt, q);
    }

    #[inline(always)]
    fn service(&self) -> Service {
        Service::Draws
    }

    #[inline(always)]
    fn drawn(&mut self, handle: u32, waiting: &Packet) {
        self.drawn = Some((handle, waiting.flow));
    }

    #[inline(always)]
    fn evict(&mut self, _: Time, _: &Packet, _: &Queue, _: bool) -> Option<(u32, Reason)> {
        self.victim.take().map(|handle| (handle, Reason::Early))
    }

    fn average_pkts(&self) -> Option<f64> {
        self.red.average_pkts()
    }

    fn go_on(&mut self, before: Self, now: Time) {
        self.pairs = before.pairs;
        self.red.go_on(before.red, now);
    }

    fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.red.settled(out);
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{busy, context, params, PKT};

    /// 5, 15, w_q = 1: the average is the queue.
    fn choke() -> Choke {
        let set = [("min_th", "5"), ("max_th", "15"), ("w_q", "1"), ("max_p", "1e-9")];
        Choke::new(&params(&KIND, &set), &context()).unwrap()
    }

    /// Fig. 1, by hand: the queue, the flow of the packet drawn (the arriving one is of flow 1),
    /// the verdict, and whether the drawn packet goes too.
    #[test]
    fn both_packets_of_a_flow_go() {
        let (pair, forced) = (Verdict::Drop(Reason::Early), Verdict::Drop(Reason::Forced));
        for (queue, drawn, want, both) in [
            (4, Some(1), Verdict::Pass, false), // below min_th nothing is compared
            (5, Some(1), pair, true),
            (5, Some(2), Verdict::Pass, false), // max_p is next to nothing
            (14, Some(1), pair, true),
            (15, Some(1), pair, true),
            (15, Some(2), forced, false),
            (15, None, forced, false),
        ] {
            let mut d = choke();
            let mut rng = Rng::stream(1, "test");
            if let Some(flow) = drawn {
                d.drawn(7, &Packet { flow, ..PKT });
            }
            let pkt = Packet { flow: 1, ..PKT };
            let got = d.arrive(Time::ZERO, &pkt, &busy(queue), &mut rng);
            assert_eq!(got, want, "{queue} {drawn:?}");
            let evicted = d.evict(Time::ZERO, &pkt, &busy(queue), false);
            assert_eq!(evicted, both.then_some((7, Reason::Early)), "{queue} {drawn:?}");
            assert_eq!(d.evict(Time::ZERO, &pkt, &busy(queue), false), None, "once");
            assert_eq!(d.pairs, u64::from(both));
        }
    }

    /// What was drawn for one packet is not compared with the next.
    #[test]
    fn a_drawn_packet_is_compared_once() {
        let mut d = choke();
        let mut rng = Rng::stream(1, "test");
        d.drawn(7, &Packet { flow: 2, ..PKT });
        for flow in [1, 2] {
            let pkt = Packet { flow, ..PKT };
            assert_eq!(d.arrive(Time::ZERO, &pkt, &busy(5), &mut rng), Verdict::Pass);
        }
    }
}
