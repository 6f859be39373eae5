//! FQ-COBALT: FQ-CoDel's queues and rounds (RFC 8290, [`crate::parts::isolation`]) with COBALT in
//! each queue ([`super::cobalt`]). ns-3 and OpenWrt have it; CAKE is this with more around it.
//!
//! Settled here: at the limit the fattest queue loses packets from its head, as FQ-CoDel's, and its
//! COBALT hears of it once for each. A queue found empty in its turn is told; those that stand on a
//! list when the link falls idle are told at the next arrival, for the time at which it fell idle.

use crate::alone::cobalt::{Law, LawParams, Vars};
use crate::aqm::{Aqm, Service, Turn};
use crate::context::{Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::isolation::{Batch, FlowQueue, Isolation};
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{int, ParamError};
use penstock_units::{group, params, Bytes, Duration, Ecn, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "fq-cobalt",
    doc: "Flow queueing with COBALT on each queue: CAKE's core, without hosts, classes and shaper.",
    source: "RFC 8290; Høiland-Jørgensen, Täht, Morton 2018 (CAKE); ns-3: FqCobaltQueueDisc",
    equations: "arrival:    queue i = hash(flow) mod flows; at the limit the fullest queue loses packets from its head\n\
        departure:  new queues before old ones, each quantum bytes a round (deficit round robin)\n\
        each queue: COBALT, on its own packets",
    expect: "As FQ-CoDel: flows share the link equally, sparse ones pass, each long flow has 5 ms of \
        its own. Where a flow comes back, or answers no signals, its queue remembers: signals begin \
        as often as they were, and BLUE drops what overflows again and again.",
    weaknesses: "FQ-CoDel's: whoever opens ten flows gets ten shares, flows that fall into one queue \
        share it, and the delay of a packet grows with the number of busy flows. An empty queue is \
        forgotten by its flow but not by its COBALT: another flow that is hashed there begins with \
        what the last one left.",
    params: own_tables::<FqCobaltParams>(),
    state: &states(COLUMNS),
    defaults: FqCobaltParams::DEFAULTS,
};

group! {
    /// What the user of FQ-COBALT sets.
    pub struct FqCobaltParams {
        /// Its queues.
        pub own: FqCobaltOwn,
        /// The law in each of them.
        pub law: LawParams,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("ecn", "true")],
}

params! {
    /// Parameters.
    pub struct FqCobaltOwn: Default {
        /// Number of queues.
        pub flows: u32 {
            ty: int(1, 65_536),
            unit: "1",
            default: 1024,
            source: "RFC 8290, section 5.2.4",
        },
        /// Bytes that a queue may send in a round.
        pub quantum: Bytes { default: "1514 B", source: "RFC 8290, section 5.2.3" },
        /// Packets in all queues together; the link's buffer holds beside it, the smaller one
        /// counts.
        pub limit: u32 {
            ty: int(1, 1_000_000),
            unit: "packets",
            default: 10240,
            source: "RFC 8290, section 5.2.2",
        },
        /// At the limit the fullest queue loses half its packets, but no more than this.
        pub drop_batch: u32 {
            ty: int(1, 65_536),
            unit: "packets",
            default: 64,
            source: "RFC 8290, section 4.1",
        },
    }
}

const COLUMNS: &[Column<FqCobalt>; 2] = &[
    column("new_queues", "Queues on the list of new ones.", |d| f64::from(d.flows.listed().0)),
    column("old_queues", "Queues on the list of old ones.", |d| f64::from(d.flows.listed().1)),
];

/// FQ-COBALT.
#[derive(Clone, Debug)]
pub struct FqCobalt {
    flows: Isolation<Vars>,
    law: Law,
    ecn: bool,
    limit: u32,
}

const _: () = assert!(size_of::<FlowQueue<Vars>>() == 64, "a queue is one cache line");

impl FqCobalt {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &FqCobaltParams, cx: &Context) -> Result<Self, ParamError> {
        let _ = Unit::of(p, &p.common, cx)?;
        let quantum = p.own.quantum.0;
        if !(64..=1 << 20).contains(&quantum) {
            return Err(ParamError::new("quantum", "must be in [64 B, 1048576 B]"));
        }
        let loses = Batch { most: p.own.drop_batch, halve_bytes: false };
        Ok(FqCobalt {
            flows: Isolation::new(p.own.flows, quantum, loses),
            law: Law::new(&p.law, cx),
            ecn: p.common.ecn,
            limit: p.own.limit,
        })
    }
}

impl Aqm for FqCobalt {
    #[inline(always)]
    fn arrive(&mut self, _: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        if let Some(idle) = q.idle_since {
            self.flows.rest(|vars| vars.queue_empty(&self.law, idle));
        }
        self.flows.arrives(pkt.flow, false, rng);
        Verdict::Pass
    }

    #[inline(always)]
    fn evict(&mut self, now: Time, pkt: &Packet, q: &Queue, full: bool) -> Option<(u32, Reason)> {
        let full = full || q.pkts >= self.limit;
        let handle = self.flows.evict(pkt.bytes, full, q.pkts > 0)?;
        self.flows.losing().control.queue_full(&self.law, now);
        Some((handle, Reason::Overflow))
    }

    #[inline(always)]
    fn enqueued(&mut self, _: Time, pkt: &Packet, handle: u32) {
        self.flows.enqueued(pkt.bytes, handle);
    }

    #[inline(always)]
    fn next(&mut self, now: Time) -> Turn<u32> {
        let law = &self.law;
        let handle = self.flows.turn(|vars| vars.queue_empty(law, now));
        handle.map_or(Turn::Empty, Turn::Packet)
    }

    #[inline(always)]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        sojourn: Duration,
        _: &Queue,
        rng: &mut Rng,
    ) -> Verdict {
        let capable = self.ecn && pkt.ecn != Ecn::NotEct;
        let queue = self.flows.leaves(pkt.bytes);
        let verdict = queue.control.dequeue(&self.law, now, sojourn, (capable, false), rng);
        if !matches!(verdict, Verdict::Drop(_)) {
            queue.sends(pkt.bytes);
        }
        verdict
    }

    #[inline(always)]
    fn service(&self) -> Service {
        Service::Orders
    }

    fn state_bytes(&self) -> usize {
        size_of_val(self) + self.flows.heap_bytes()
    }

    /// Each packet keeps the time at which it came, and its place in its queue.
    fn packet_bytes(&self) -> usize {
        size_of::<Time>() + Isolation::<Vars>::PACKET_BYTES
    }

    fn go_on(&mut self, before: Self, _: Time) {
        self.flows.go_on(before.flows);
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{busy, context, params};
    use crate::Level;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    /// ns-3's suite of FQ-COBALT, its case of marks: five flows with 20 packets of 120 B each, the
    /// first three capable; quantum 1514, so that 13 packets are a turn; 60 departures, the first
    /// `gap` after the start. Returns for each flow its marks and its drops.
    fn five_flows(gap_us: u64, ce_threshold: Option<&'static str>) -> [(u32, u32); 5] {
        let mut set = vec![("frame_time", "\"0 s\""), ("flows", "65536")];
        set.extend(ce_threshold.map(|most| ("ce_threshold", most)));
        let mut fq = FqCobalt::new(&params(&KIND, &set), &context()).unwrap();
        let mut rng = Rng::stream(1, "test");
        let pkt = |flow: u32| Packet {
            bytes: 120,
            ecn: if flow < 3 { Ecn::Ect0 } else { Ecn::NotEct },
            flow,
            class: 0,
        };
        for flow in 0..5 {
            for i in 0..20 {
                let _ = fq.arrive(Time::ZERO, &pkt(flow), &busy(100), &mut rng);
                fq.enqueued(Time::ZERO, &pkt(flow), 20 * flow + i);
            }
        }
        let mut told = [(0, 0); 5];
        for i in 1..=60 {
            let now = Time::from_nanos(1000 * gap_us * i);
            // Again after each drop, as the driver does.
            loop {
                let Turn::Packet(handle) = fq.next(now) else { return told };
                let flow = handle / 20;
                match fq.depart(now, &pkt(flow), now.since(Time::ZERO), &busy(9), &mut rng) {
                    Verdict::Drop(_) => told[flow as usize].1 += 1,
                    verdict => {
                        told[flow as usize].0 += u32::from(verdict != Verdict::Pass);
                        break;
                    }
                }
            }
        }
        told
    }

    /// Without a rule for few bytes behind, 19, 16 and 12 marks of the capable flows, no drops.
    #[test]
    fn ns3_marks_by_the_law() {
        let told = five_flows(110_000, None);
        assert_eq!(told[..3], [(19, 0), (16, 0), (12, 0)]);
        assert!(told[3..].iter().all(|(marks, drops)| *marks == 0 && *drops > 0), "{told:?}");
    }

    /// Departures 0.1 ms apart, and marks above 2 ms: 0, 6 and 13 of the capable flows, no drop; of
    /// the others the second loses a packet, whose queue began above the target.
    #[test]
    fn ns3_marks_above_a_threshold() {
        let told = five_flows(100, Some("\"2 ms\""));
        assert_eq!(told, [(0, 0), (6, 0), (13, 0), (0, 0), (0, 1)]);
    }

    #[test]
    fn an_overflow_is_told_to_the_queue_that_loses() {
        let mut fq = FqCobalt::new(&params(&KIND, &[("limit", "2")]), &context()).unwrap();
        let mut rng = Rng::stream(1, "test");
        let pkt = |flow| Packet { bytes: 1000, ecn: Ecn::NotEct, flow, class: 0 };
        for (handle, flow) in [1, 1].into_iter().enumerate() {
            let _ = fq.arrive(Time::ZERO, &pkt(flow), &busy(handle as u32), &mut rng);
            fq.enqueued(Time::ZERO, &pkt(flow), handle as u32);
        }
        let _ = fq.arrive(ms(10), &pkt(2), &busy(2), &mut rng);
        assert_eq!(fq.evict(ms(10), &pkt(2), &busy(2), false), Some((0, Reason::Overflow)));
        // Its next packet has waited 200 ms, and is signalled at once.
        fq.enqueued(ms(10), &pkt(2), 0);
        let mut verdicts = vec![];
        for _ in 0..2 {
            let Turn::Packet(handle) = fq.next(ms(210)) else { panic!("two wait") };
            let flow = if handle == 1 { 1 } else { 2 };
            let q = busy(1);
            let v = fq.depart(ms(210), &pkt(flow), Duration::from_millis(200), &q, &mut rng);
            verdicts.push((flow, v));
        }
        let drop = Verdict::Drop(Reason::Early);
        assert!(verdicts.contains(&(1, drop)), "{verdicts:?}");
        assert!(
            !verdicts.contains(&(2, drop)) && !matches!(verdicts[0].1, Verdict::Mark(Level::Ce, _))
        );
    }
}
