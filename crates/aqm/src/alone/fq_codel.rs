//! FQ-CoDel. RFC 8290: packets are hashed by flow into queues, deficit round robin serves the
//! queues by bytes, those of sparse flows first ([`crate::parts::isolation`]), and each queue runs
//! its own CoDel (RFC 8289, in [`super::codel`]).
//!
//! Settled here: the hash's perturbation (section 4.1.1) is drawn from the discipline's random
//! stream at the first packet. CoDel's "nothing waits behind" looks at the packet's own queue, as
//! RFC 8289's does, or with `behind = "all"` at all queues, as Linux does. When the total is at its
//! limit (`limit`, or the link's buffer, whichever is reached first) packets go before the arriving
//! one enters; it counts in its queue, and is dropped itself only where nothing else waits. With
//! `overflow_when = "after"` it is one of those that may go, as in Linux, where only the link's
//! buffer still makes room beforehand.

use crate::alone::codel::{CodelVariant, Control, ControlParams, Vars};
use crate::aqm::{Aqm, Service, Turn};
use crate::context::{Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::isolation::{Batch, FlowQueue, Isolation};
use crate::parts::memory::Memory;
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{int, ParamError};
use penstock_units::{group, params, words, Bytes, Duration, Rng, Time};
use penstock_units::{Ecn, Level};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "fq-codel",
    doc: "Flow queueing with CoDel on each queue: flows share the link fairly, sparse ones go \
        first.",
    source: "RFC 8290",
    equations: "arrival:    queue i = hash(flow) mod flows; at the limit the fullest queue loses half its packets (at most drop_batch) from its head\n\
        departure:  new queues before old ones, each quantum bytes a round (deficit round robin)\n\
        each queue: CoDel, on its own packets",
    expect: "Flows share the link equally, whatever they send; a flow that sends less than its \
        share (DNS, SYN, voice) passes the standing queues of the others. Each long flow has its \
        own 5 ms of queue. In the figure five flows share what is held, and each has its own row \
        of signals, so their share is five times CoDel's. An unresponsive flow harms itself only.",
    weaknesses: "Fairness counts flows: whoever opens ten flows gets ten shares, and a tunnel is \
        one flow. Flows that fall into one of the 1024 queues share it. CoDel's 5 ms hold for \
        each queue, so the total delay of a packet grows with the number of busy flows. It needs \
        more state than any other discipline here: a queue per flow, and the order of all \
        packets.",
    params: own_tables::<FqCodelParams>(),
    state: &states(COLUMNS),
    defaults: FqCodelParams::DEFAULTS,
};

group! {
    /// What the user of FQ-CoDel sets.
    pub struct FqCodelParams {
        /// Its queues.
        pub own: FqOwn,
        /// CoDel's control loop.
        pub control: ControlParams,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("ecn", "true")],
}

words! {
    /// What counts as waiting behind a packet.
    pub enum Behind {
        /// Its own queue.
        Queue = "queue",
        /// All queues.
        All = "all",
    }
}

words! {
    /// When packets go for the arriving one.
    pub enum OverflowWhen {
        /// Before it enters.
        Before = "before",
        /// After it has.
        After = "after",
    }
}

words! {
    /// What is halved where packets have to go.
    pub enum Halve {
        /// The number of packets.
        Packets = "packets",
        /// Their bytes.
        Bytes = "bytes",
    }
}

params! {
    /// Parameters.
    pub struct FqOwn: Default {
        /// Number of queues.
        pub flows: u32 {
            ty: int(1, 65_536),
            unit: "1",
            default: 1024,
            source: "RFC 8290, section 5.2.4",
        },
        /// Bytes that a queue may send in a round.
        pub quantum: Bytes {
            default: "1514 B",
            source: "RFC 8290, section 5.2.3; at least 256 B as in Linux",
        },
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
        /// Whether CoDel lets a packet pass when no more than `maxpacket` waits behind it in its own
        /// queue, or in all of them. Many flows with short queues then get more signals.
        pub behind: Option<Behind> {
            auto: "queue; all with the variant linux",
            quiet: true,
            source: "RFC 8289, section 4.4; all: Linux",
        },
        /// Besides what CoDel marks, mark every capable packet that has waited longer than this.
        pub ce_threshold: Option<Duration> { auto: "none", source: "RFC 8290, section 5.2.7" },
        /// `ce_threshold` holds for packets alone whose DS byte (the class times 4, and the ECN
        /// field) has these bits under `ce_mask`: 1 of 3 is ECT(1), the packets of L4S.
        pub ce_selector: u32 {
            ty: int(0, 255),
            unit: "1",
            default: 0,
            quiet: true,
            source: "Linux: ce_threshold_selector",
        },
        /// The bits of the DS byte that `ce_selector` compares; 0 for none.
        pub ce_mask: u32 {
            ty: int(0, 255),
            unit: "1",
            default: 0,
            quiet: true,
            source: "Linux: ce_threshold_selector",
        },
        /// Bytes in all queues together, `packet_overhead` counted; beside `limit`.
        pub memory_limit: Option<Bytes> {
            auto: "none; 32 MiB with the variant linux",
            quiet: true,
            source: "Linux: sch_fq_codel",
        },
        /// What a packet takes of `memory_limit` beside its own bytes; Linux counts the memory of
        /// its buffers, for a full frame about 800 B more.
        pub packet_overhead: Bytes { default: "0 B", quiet: true, source: "Linux: truesize" },
        /// Whether packets go for the arriving one before it enters, or after: then it may be one
        /// of them.
        pub overflow_when: Option<OverflowWhen> {
            auto: "before; after with the variant linux",
            quiet: true,
            source: "RFC 8290, section 4.1; Linux: fq_codel_enqueue",
        },
        /// Whether the fullest queue loses half its packets or half its bytes.
        pub halve: Option<Halve> {
            auto: "packets; bytes with the variant linux",
            quiet: true,
            source: "RFC 8290, section 4.1; Linux: fq_codel_drop",
        },
        /// Whether what a queue loses so counts as signals of its CoDel, which then signals faster.
        pub overflow_counts: Option<bool> {
            auto: "false; true with the variant linux",
            quiet: true,
            source: "Linux: fq_codel_drop",
        },
    }
}

const COLUMNS: &[Column<FqCodel>; 2] = &[
    column("new_queues", "Queues on the list of new ones.", |d| f64::from(d.flows.listed().0)),
    column("old_queues", "Queues on the list of old ones.", |d| f64::from(d.flows.listed().1)),
];

/// FQ-CoDel.
#[derive(Clone, Debug)]
pub struct FqCodel {
    flows: Isolation<Vars>,
    control: Control,
    ecn: bool,
    limit: u32,
    memory: Memory,
    /// Packets go after the arriving one has entered.
    after: bool,
    overflow_counts: bool,
    /// Whether what waits in all queues is behind a packet.
    behind_all: bool,
    ce_threshold: Option<Duration>,
    /// The bits of the DS byte that are compared, and what they must be.
    ce_select: (u8, u8),
}

const _: () = assert!(size_of::<FlowQueue<Vars>>() == 64, "a queue is one cache line");

impl FqCodel {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &FqCodelParams, cx: &Context) -> Result<Self, ParamError> {
        let _ = Unit::of(p, &p.common, cx)?;
        let quantum = p.own.quantum.0;
        if !(256..=1 << 20).contains(&quantum) {
            return Err(ParamError::new("quantum", "must be in [256 B, 1048576 B]"));
        }
        let FqOwn { behind, overflow_when, halve, overflow_counts, .. } = p.own;
        let linux = p.control.variant == CodelVariant::Linux;
        let most = p.own.memory_limit.map(|b| b.0).or(linux.then_some(32 << 20));
        let loses = Batch {
            most: p.own.drop_batch,
            halve_bytes: halve.map_or(linux, |halve| halve == Halve::Bytes),
        };
        Ok(FqCodel {
            flows: Isolation::new(p.own.flows, quantum, loses),
            control: Control::new(&p.control)?,
            ecn: p.common.ecn,
            limit: p.own.limit,
            memory: Memory { limit: most.unwrap_or(u64::MAX), per_packet: p.own.packet_overhead.0 },
            after: overflow_when.map_or(linux, |when| when == OverflowWhen::After),
            overflow_counts: overflow_counts.unwrap_or(linux),
            behind_all: behind.map_or(linux, |behind| behind == Behind::All),
            ce_threshold: p.own.ce_threshold,
            ce_select: match p.own.ce_mask as u8 {
                0 => (0, 0),
                mask => (mask, p.own.ce_selector as u8),
            },
        })
    }

    /// Returns whether the arriving packet is one too many.
    #[inline(always)]
    fn overflows(&self, pkt: &Packet, q: &Queue) -> bool {
        q.pkts >= self.limit || self.memory.exceeded(q, pkt.bytes)
    }

    /// Section 5.2.7: beside CoDel, for flows that want a step (DCTCP), or for those that a DS byte
    /// tells apart.
    fn above_the_threshold(&self, pkt: &Packet, sojourn: Duration) -> bool {
        let (mask, selector) = self.ce_select;
        let ds = pkt.class << 2 | pkt.ecn as u8;
        self.ce_threshold.is_some_and(|most| sojourn > most) && ds & mask == selector
    }
}

impl Aqm for FqCodel {
    #[inline(always)]
    fn arrive(&mut self, _: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        self.flows.arrives(pkt.flow, q.idle_since.is_some(), rng);
        if self.after && self.overflows(pkt, q) && self.flows.overflows(pkt.bytes) {
            if self.overflow_counts {
                let control = &mut self.flows.losing().control;
                control.count = control.count.saturating_add(1);
            }
            return Verdict::Drop(Reason::Overflow);
        }
        Verdict::Pass
    }

    #[inline(always)]
    fn evict(&mut self, _: Time, pkt: &Packet, q: &Queue, full: bool) -> Option<(u32, Reason)> {
        let full = full || !self.after && self.overflows(pkt, q);
        let handle = self.flows.evict(pkt.bytes, full, q.pkts > 0)?;
        if self.overflow_counts {
            let control = &mut self.flows.losing().control;
            control.count = control.count.saturating_add(1);
        }
        Some((handle, Reason::Overflow))
    }

    #[inline(always)]
    fn enqueued(&mut self, _: Time, pkt: &Packet, handle: u32) {
        let _ = self.flows.enqueued(pkt.bytes, handle);
    }

    #[inline(always)]
    fn next(&mut self, _: Time) -> Turn<u32> {
        self.flows.turn(Vars::emptied).map_or(Turn::Empty, Turn::Packet)
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
        let capable = self.ecn && pkt.ecn != Ecn::NotEct;
        let queue = self.flows.leaves(pkt.bytes);
        let behind = if self.behind_all { q.bytes } else { queue.packets.bytes };
        let verdict = queue.control.dequeue(&self.control, now, sojourn, behind, capable);
        if matches!(verdict, Verdict::Drop(_)) {
            return verdict;
        }
        queue.sends(pkt.bytes);
        if capable && self.above_the_threshold(pkt, sojourn) {
            return Verdict::Mark(Level::Ce, Reason::Early);
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
    use crate::testing::{busy, context};

    /// FQ-CoDel in front of a busy link, at which packets of these flows wait, 1000 B each.
    fn waiting(own: FqOwn, flows: &[u32]) -> (FqCodel, Rng) {
        let params = FqCodelParams { own, ..FqCodelParams::default() };
        let mut fq = FqCodel::new(&params, &context()).unwrap();
        let mut rng = Rng::stream(1, "test");
        for (handle, flow) in flows.iter().enumerate() {
            let pkt = pkt(Ecn::NotEct, *flow);
            let _ = fq.arrive(Time::ZERO, &pkt, &busy(handle as u32), &mut rng);
            fq.enqueued(Time::ZERO, &pkt, handle as u32);
        }
        (fq, rng)
    }

    fn pkt(ecn: Ecn, flow: u32) -> Packet {
        Packet { bytes: 1000, ecn, flow, class: 0 }
    }

    #[test]
    fn a_ce_threshold_marks_besides_codel() {
        let own = FqOwn { ce_threshold: Some(Duration::from_millis(1)), ..FqOwn::default() };
        let (mut fq, mut rng) = waiting(own, &[1; 3]);
        let mark = Verdict::Mark(Level::Ce, Reason::Early);
        for (us, ecn, want) in [
            (1000, Ecn::Ect0, Verdict::Pass),
            (1001, Ecn::Ect0, mark),
            (1001, Ecn::NotEct, Verdict::Pass),
        ] {
            let _ = fq.next(Time::ZERO);
            let (pkt, waited) = (pkt(ecn, 1), Duration::from_micros(us));
            let got = fq.depart(Time::ZERO, &pkt, waited, &busy(0), &mut rng);
            assert_eq!(got, want, "{us} {ecn:?}");
        }
    }

    /// ECT(1) alone, 1 of 3; and class 46 (EF), 184 of 252.
    #[test]
    fn a_ds_byte_tells_whom_the_threshold_is_for() {
        let own = FqOwn { ce_threshold: Some(Duration::from_millis(1)), ..FqOwn::default() };
        for (mask, selector, ecn, class, marked) in [
            (0, 0, Ecn::Ect0, 0, true),
            (0, 1, Ecn::Ect0, 0, true),
            (3, 1, Ecn::Ect1, 0, true),
            (3, 1, Ecn::Ect0, 0, false),
            (252, 184, Ecn::Ect0, 46, true),
            (252, 184, Ecn::Ect0, 45, false),
        ] {
            let own = FqOwn { ce_mask: mask, ce_selector: selector, ..own.clone() };
            let (mut fq, mut rng) = waiting(own, &[1; 3]);
            let _ = fq.next(Time::ZERO);
            let pkt = Packet { class, ..pkt(ecn, 1) };
            let waited = Duration::from_millis(2);
            let got = fq.depart(Time::ZERO, &pkt, waited, &busy(0), &mut rng);
            assert_eq!(got != Verdict::Pass, marked, "{selector}/{mask} {ecn:?} {class}");
        }
    }

    /// What is lost when a packet of 1000 B comes to these queues of 1000 B packets: the packets
    /// that wait, and whether the arriving one, of flow 9 where there is none of it, goes too.
    #[test]
    fn what_goes_at_the_limit() {
        let (after, bytes) = (Some(OverflowWhen::After), Some(Halve::Bytes));
        for (overflow_when, halve, flows, comes, waiting_lost, itself) in [
            (None, None, &[1, 1, 1, 2][..], 2, 2, false),
            (None, bytes, &[1, 1, 1, 2], 2, 2, false), // 1500 of 3000 B: two packets
            (after, bytes, &[1, 1, 1, 2], 2, 2, false),
            (None, None, &[1, 2, 3, 4], 1, 1, false),
            (after, bytes, &[1, 2, 3, 4], 1, 1, false),
            // As much in each queue: the lowest number, not the arriving packet's for sure.
            (None, None, &[1, 2, 3, 4], 9, 1, false),
        ] {
            let own = FqOwn { limit: 4, overflow_when, halve, ..FqOwn::default() };
            let (mut fq, mut rng) = waiting(own, flows);
            let pkt = pkt(Ecn::NotEct, comes);
            let verdict = fq.arrive(Time::ZERO, &pkt, &busy(4), &mut rng);
            let mut held = 4;
            while fq.evict(Time::ZERO, &pkt, &busy(held), false).is_some() {
                held -= 1;
            }
            assert_eq!((4 - held, verdict != Verdict::Pass), (waiting_lost, itself), "{flows:?}");
        }
    }

    /// A packet of 3000 B comes behind one of 1000 B: half of 4000 B is more than the first, so
    /// both go, and count as two signals.
    #[test]
    fn the_arriving_packet_may_be_one_of_those_that_go() {
        let own = FqOwn {
            limit: 1,
            overflow_when: Some(OverflowWhen::After),
            halve: Some(Halve::Bytes),
            overflow_counts: Some(true),
            ..FqOwn::default()
        };
        let (mut fq, mut rng) = waiting(own, &[1]);
        let pkt = Packet { bytes: 3000, ..pkt(Ecn::NotEct, 1) };
        let drop = Verdict::Drop(Reason::Overflow);
        assert_eq!(fq.arrive(Time::ZERO, &pkt, &busy(1), &mut rng), drop);
        let gone = Some((0, Reason::Overflow));
        assert_eq!(fq.evict(Time::ZERO, &pkt, &busy(1), false), gone);
        assert_eq!(fq.evict(Time::ZERO, &pkt, &busy(0), false), None);
        assert_eq!(fq.flows.losing().control.count, 2);
    }

    /// Three packets of 1000 B and 300 B of overhead each wait: 3900 B, with a fourth 5200 B.
    #[test]
    fn memory_is_a_limit_too() {
        for (limit, lost) in [(5200, 0), (5199, 2)] {
            let own = FqOwn {
                memory_limit: Some(Bytes(limit)),
                packet_overhead: Bytes(300),
                ..FqOwn::default()
            };
            let (mut fq, mut rng) = waiting(own, &[1, 1, 1]);
            let pkt = pkt(Ecn::NotEct, 2);
            let _ = fq.arrive(Time::ZERO, &pkt, &busy(3), &mut rng);
            let mut held = 3;
            while fq.evict(Time::ZERO, &pkt, &busy(held), false).is_some() {
                held -= 1;
            }
            assert_eq!(3 - held, lost, "{limit}");
        }
    }

    /// Two queues out of phase: CoDel of one does not see the other.
    #[test]
    fn each_queue_has_its_own_codel() {
        let flows = [1, 1, 1, 1, 1, 1, 1, 1, 2];
        let (mut fq, mut rng) = waiting(FqOwn::default(), &flows);
        let mut verdicts = vec![];
        for ms in [50, 50, 50, 160, 160] {
            let now = Time::from_nanos(ms * 1_000_000);
            let Turn::Packet(handle) = fq.next(now) else { panic!("a packet waits") };
            let flow = flows[handle as usize];
            let pkt = pkt(Ecn::NotEct, flow);
            let v = fq.depart(now, &pkt, Duration::from_millis(ms), &busy(0), &mut rng);
            verdicts.push((flow, v != Verdict::Pass));
        }
        assert_eq!(verdicts, [(1, false), (1, false), (2, false), (1, true), (1, false)]);
    }

    /// A packet is the last of its queue, and 3000 B wait in others: enough for Linux.
    #[test]
    fn what_waits_in_other_queues_may_count_as_behind() {
        for (behind, want) in
            [(None, false), (Some(Behind::Queue), false), (Some(Behind::All), true)]
        {
            let (mut fq, mut rng) = waiting(FqOwn { behind, ..FqOwn::default() }, &[1, 1]);
            let mut signalled = false;
            for ms in [50, 160] {
                let now = Time::from_nanos(ms * 1_000_000);
                let _ = fq.next(now);
                let others = Queue { pkts: 3, bytes: 3000, idle_since: None };
                let sojourn = Duration::from_millis(ms);
                let v = fq.depart(now, &pkt(Ecn::Ect0, 1), sojourn, &others, &mut rng);
                signalled |= v != Verdict::Pass;
            }
            assert_eq!(signalled, want, "{behind:?}");
        }
    }

    /// The limit of all queues and the link's buffer, whichever is reached first, but never the
    /// only packet.
    #[test]
    fn a_limit_is_a_full_buffer() {
        for (limit, full, evicted) in
            [(4, false, None), (3, false, Some(0)), (10240, true, Some(0)), (10240, false, None)]
        {
            let (mut fq, mut rng) = waiting(FqOwn { limit, ..FqOwn::default() }, &[1, 1, 1]);
            let pkt = pkt(Ecn::NotEct, 2);
            let _ = fq.arrive(Time::ZERO, &pkt, &busy(3), &mut rng);
            let got = fq.evict(Time::ZERO, &pkt, &busy(3), full);
            assert_eq!(got, evicted.map(|h| (h, Reason::Overflow)), "{limit} {full}");
        }
    }
}
