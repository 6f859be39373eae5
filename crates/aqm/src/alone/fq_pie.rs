//! FQ-PIE: flow queueing ([`crate::parts::isolation`], RFC 8290, section 4) with PIE
//! ([`super::pie`]) on each queue, which acts when a packet arrives, on its own queue. Linux's
//! `sch_fq_pie` is the source (Linux 7.3, net/sched/sch_fq_pie.c); no document describes it.
//!
//! PIE is Linux's by default (`variant`). Departs from the kernel: the hash is perturbed, as
//! FQ-CoDel's is here; queues in which nothing goes on are left out of the updates, which would
//! change nothing; and there is no memory limit, which the kernel only counts.

use crate::alone::pie::{Control, PieOwn, Vars};
use crate::aqm::{Aqm, Service, Turn};
use crate::context::{Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::isolation::{Batch, Isolation};
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{int, ParamError};
use penstock_units::{group, params, words, Bytes, Duration, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "fq-pie",
    doc: "Flow queueing with PIE on each queue: flows share the link fairly, each with its own \
        drop probability.",
    source: "Linux: sch_fq_pie; RFC 8033, RFC 8290",
    equations: "arrival:    queue i = hash(flow) mod flows; at the limit the packet is dropped\n\
        \u{20}           drop (or mark, p_i ≤ mark_ecnth) with p_i of its queue, as PIE does\n\
        every t_update:  p_i of each queue by PIE, from what its last packet has waited\n\
        departure:  new queues before old ones, each quantum bytes a round (deficit round robin)",
    expect: "Flows share the link equally, and each has about 15 ms of queue of its own: a flow \
        that does not slow down gets a high p_i, and pays alone. Sparse flows pass the queues of \
        the others. The decision costs nothing at the head. In the figure five flows share what \
        is held; their probabilities rise for seconds.",
    weaknesses: "PIE's slowness holds for each flow: p_i starts at 0 with each new one, in steps \
        that are smallest there, and a short transfer is over before. At the limit the arriving \
        packet goes, whosever it is, so that one flow that fills the buffer costs others theirs; \
        with `full = \"fattest\"` the fullest queue pays, as in ns-3 and FQ-CoDel. Flows in one \
        queue share it, and a tunnel is one flow. With ECN, above p_i = 0.1 capable packets are \
        dropped, too.",
    params: own_tables::<FqPieParams>(),
    state: &states(COLUMNS),
    defaults: FqPieParams::DEFAULTS,
};

group! {
    /// What the user of FQ-PIE sets.
    pub struct FqPieParams {
        /// Its queues.
        pub own: FqPieOwn,
        /// PIE's keys.
        pub pie: PieOwn,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("variant", "\"linux\""), ("delay_from", "\"timestamps\"")],
}

words! {
    /// Who pays for the limit.
    pub enum Full {
        /// The arriving packet.
        Arriving = "arriving",
        /// The fullest queue.
        Fattest = "fattest",
    }
}

params! {
    /// Parameters.
    pub struct FqPieOwn: Default {
        /// Number of queues.
        pub flows: u32 {
            ty: int(1, 65_536),
            unit: "1",
            default: 1024,
            source: "Linux: sch_fq_pie",
        },
        /// Bytes that a queue may send in a round.
        pub quantum: Bytes {
            default: "1514 B",
            source: "Linux: sch_fq_pie, the interface's MTU with its header",
        },
        /// Packets in all queues together; the link's buffer holds beside it, the smaller one
        /// counts.
        pub limit: u32 {
            ty: int(1, 1_000_000),
            unit: "packets",
            default: 10240,
            source: "Linux: sch_fq_pie",
        },
        /// At the limit the arriving packet is dropped, or the fullest queue loses half its
        /// packets, at most 64, from its head.
        pub full: Full { default: "arriving", source: "Linux: sch_fq_pie; fattest: ns-3" },
    }
}

const COLUMNS: &[Column<FqPie>; 3] = &[
    column("new_queues", "Queues on the list of new ones.", |d| f64::from(d.flows.listed().0)),
    column("old_queues", "Queues on the list of old ones.", |d| f64::from(d.flows.listed().1)),
    column("p_max", "The highest drop probability of a queue.", |d| {
        let of = |i: &u32| d.flows.queue(*i).control.vars.p;
        d.awake.iter().map(of).fold(0.0, f64::max)
    }),
];

/// PIE of one queue.
#[derive(Clone, Debug, Default)]
struct OfQueue {
    vars: Vars,
    /// Updates look at it.
    awake: bool,
}

/// FQ-PIE.
#[derive(Clone, Debug)]
pub struct FqPie {
    flows: Isolation<OfQueue>,
    control: Control,
    limit: u32,
    fattest: bool,
    /// The queues at which updates look.
    awake: Vec<u32>,
    next: Time,
}

impl FqPie {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &FqPieParams, cx: &Context) -> Result<Self, ParamError> {
        let unit = Unit::of(p, &p.common, cx)?;
        let control = Control::new(&p.pie, &unit, p.common.ecn)?;
        let quantum = p.own.quantum.0;
        if !(256..=1 << 20).contains(&quantum) {
            return Err(ParamError::new("quantum", "must be in [256 B, 1048576 B]"));
        }
        let loses = Batch { most: 64, halve_bytes: false };
        let mut flows: Isolation<OfQueue> = Isolation::new(p.own.flows, quantum, loses);
        for queue in flows.queues() {
            queue.control.vars = Vars::new(&control);
        }
        let next = Time::ZERO + control.first_update;
        Ok(FqPie {
            flows,
            limit: p.own.limit,
            fattest: p.own.full == Full::Fattest,
            // As many as there are queues: nothing is allocated later.
            awake: Vec::with_capacity(p.own.flows as usize),
            next,
            control,
        })
    }
}

impl Aqm for FqPie {
    #[inline(always)]
    fn arrive(&mut self, _: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        let queue = self.flows.arrives(pkt.flow, q.idle_since.is_some(), rng);
        if q.pkts >= self.limit && !self.fattest {
            queue.control.vars.overflow(&self.control);
            return Verdict::Drop(Reason::Overflow);
        }
        queue.control.vars.arrives(&self.control, pkt, queue.packets.bytes, rng)
    }

    fn overflow(&mut self, _: Time, _: &Packet, _: &Queue) {
        self.flows.arriving().control.vars.overflow(&self.control);
    }

    #[inline(always)]
    fn evict(&mut self, _: Time, pkt: &Packet, q: &Queue, full: bool) -> Option<(u32, Reason)> {
        if !self.fattest {
            return None;
        }
        let full = full || q.pkts >= self.limit;
        self.flows.evict(pkt.bytes, full, q.pkts > 0).map(|handle| (handle, Reason::Overflow))
    }

    #[inline(always)]
    fn enqueued(&mut self, _: Time, pkt: &Packet, handle: u32) {
        let i = self.flows.enqueued(pkt.bytes, handle);
        let control = &mut self.flows.arriving().control;
        if !control.awake {
            control.awake = true;
            self.awake.push(i);
        }
    }

    #[inline(always)]
    fn next(&mut self, _: Time) -> Turn<u32> {
        self.flows.turn(|_| {}).map_or(Turn::Empty, Turn::Packet)
    }

    #[inline(always)]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        sojourn: Duration,
        _: &Queue,
        _: &mut Rng,
    ) -> Verdict {
        let queue = self.flows.leaves(pkt.bytes);
        queue.sends(pkt.bytes);
        let behind = queue.packets.bytes;
        queue.control.vars.departs(&self.control, now, pkt.bytes, sojourn, behind);
        Verdict::Pass
    }

    #[inline(always)]
    fn service(&self) -> Service {
        Service::Orders
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.next)
    }

    fn tick(&mut self, now: Time, _: &Queue) {
        let FqPie { flows, control, awake, .. } = self;
        awake.retain(|i| {
            let queue = &mut flows.queues()[*i as usize];
            let backlog = queue.packets.bytes;
            queue.control.vars.tick(control, backlog);
            queue.control.awake = backlog > 0 || !queue.control.vars.rests(control);
            queue.control.awake
        });
        self.next = now + self.control.t_update;
    }

    fn state_bytes(&self) -> usize {
        size_of_val(self) + self.flows.heap_bytes() + self.awake.capacity() * size_of::<u32>()
    }

    /// Each packet keeps the time at which it came, and its place in its queue.
    fn packet_bytes(&self) -> usize {
        size_of::<Time>() + Isolation::<OfQueue>::PACKET_BYTES
    }

    fn begin(&mut self, now: Time) {
        self.next += now.since(Time::ZERO);
    }

    fn go_on(&mut self, before: Self, _: Time) {
        self.flows.go_on(before.flows);
        self.awake = before.awake;
        self.next = before.next;
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build, busy, context, params};
    use crate::Ecn;

    fn fq(set: &[(&'static str, &'static str)]) -> FqPie {
        FqPie::new(&params(&KIND, set), &context()).unwrap()
    }

    fn pkt(flow: u32) -> Packet {
        Packet { bytes: 1000, ecn: Ecn::NotEct, flow, class: 0 }
    }

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    /// Packets of these flows come at 0.
    fn waiting(fq: &mut FqPie, rng: &mut Rng, flows: &[u32]) {
        for (handle, flow) in flows.iter().enumerate() {
            let _ = fq.arrive(ms(0), &pkt(*flow), &busy(handle as u32), rng);
            fq.enqueued(ms(0), &pkt(*flow), handle as u32);
        }
    }

    /// Flow 1 waits long, flow 2 does not: the packets of one are dropped, those of the other pass.
    /// Delays of 400 and 5 ms at the updates.
    #[test]
    fn each_queue_has_its_own_pie() {
        let mut fq = fq(&[("max_burst", "\"0 s\""), ("quantum", "\"1000 B\"")]);
        let mut rng = Rng::stream(1, "test");
        waiting(&mut fq, &mut rng, &[1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
        for (flow, waited) in [(1, 400), (2, 5)] {
            let Turn::Packet(handle) = fq.next(ms(500)) else { panic!("packets wait") };
            assert_eq!(handle + 1, flow);
            let waited = Duration::from_millis(waited);
            let _ = fq.depart(ms(500), &pkt(flow), waited, &busy(8), &mut rng);
        }
        for i in 0..20 {
            fq.tick(ms(500 + 15 * i), &busy(8));
        }
        let mut drops = |flow| {
            let mut drop = || fq.arrive(ms(900), &pkt(flow), &busy(8), &mut rng) != Verdict::Pass;
            (0..200).filter(|_| drop()).count()
        };
        assert!(drops(1) > 20);
        assert_eq!(drops(2), 0);
    }

    /// Its own delay of the first update, 400 ms: (0.125·0.385 + 1.25·0.4)/2048 + 0.02.
    #[test]
    fn an_update_goes_by_the_queues_last_departure() {
        let mut fq = fq(&[]);
        let mut rng = Rng::stream(1, "test");
        waiting(&mut fq, &mut rng, &[7, 7, 7]);
        assert!(matches!(fq.next(ms(400)), Turn::Packet(0)));
        let _ = fq.depart(ms(400), &pkt(7), Duration::from_millis(400), &busy(2), &mut rng);
        fq.tick(ms(500), &busy(2));
        let mut p = 0.0;
        fq.state(&mut |name, x| {
            if name == "p_max" {
                p = x
            }
        });
        assert!((p - (0.548_125 / 2048.0 + 0.02)).abs() < 1e-12, "{p}");
    }

    /// At the limit the arriving packet goes, or the fullest queue pays with half its packets.
    #[test]
    fn who_pays_for_the_limit() {
        let overflow = Verdict::Drop(Reason::Overflow);
        for (full, verdict, evicted) in
            [("\"arriving\"", overflow, vec![]), ("\"fattest\"", Verdict::Pass, vec![0, 1])]
        {
            let mut fq = fq(&[("limit", "4"), ("full", full)]);
            let mut rng = Rng::stream(1, "test");
            waiting(&mut fq, &mut rng, &[1, 1, 1, 2]);
            assert_eq!(fq.arrive(ms(1), &pkt(2), &busy(4), &mut rng), verdict);
            let mut held = 4;
            let mut gone = vec![];
            while let Some((handle, _)) = fq.evict(ms(1), &pkt(2), &busy(held), false) {
                gone.push(handle);
                held -= 1;
            }
            assert_eq!(gone, evicted, "{full}");
        }
    }

    /// A queue in which nothing waits, nothing was delayed and p is 0 leaves the updates; so it
    /// does when all that has passed.
    #[test]
    fn queues_at_rest_cost_no_update() {
        let mut fq = fq(&[]);
        let mut rng = Rng::stream(1, "test");
        waiting(&mut fq, &mut rng, &[1, 2]);
        assert_eq!(fq.awake.len(), 2);
        for (flow, waited) in [(1, 400), (2, 400)] {
            let _ = fq.next(ms(400));
            let waited = Duration::from_millis(waited);
            let _ = fq.depart(ms(400), &pkt(flow), waited, &busy(0), &mut rng);
        }
        fq.tick(ms(500), &busy(0));
        assert_eq!(fq.awake.len(), 0);
    }

    #[test]
    fn a_quantum_out_of_range_is_refused() {
        let error = build(&KIND, &[("quantum", "\"100 B\"")]).err().unwrap().to_string();
        assert_eq!(error, "quantum: must be in [256 B, 1048576 B]");
    }
}
