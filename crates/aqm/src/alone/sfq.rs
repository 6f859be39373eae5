//! SFQ, stochastic fairness queueing. P. McKenney, "Stochastic fairness queueing", INFOCOM 1990, as
//! Linux's `sch_sfq` has it (Linux 7.3, net/sched/sch_sfq.c): flows are hashed into slots, which are
//! served by deficit round robin, and a full buffer costs the longest slot a packet. Linux's RED on
//! each slot is its variant "SFQRED".
//!
//! Departs from the kernel: of several longest slots the arriving packet's pays, then that of the
//! lowest number, where the kernel takes the one that last grew to that length. The hash changes at
//! the first arrival `perturb` after the last change, and nothing is lost by that: a slot that is
//! then beyond `depth` keeps its packets, and where no slot is free two flows share one. RED's
//! averages weigh by `w_q`; the kernel's weights are powers of two.

use crate::aqm::{Aqm, Service, Turn};
use crate::context::{Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::gate::{Gate, Sizes, Spacing};
use crate::parts::isolation::{Hash, List, Listed};
use crate::parts::profile::{ramp, Ramp};
use crate::parts::signal::Classic;
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{int, num_open, ParamError};
use penstock_units::{group, params, Bytes, Duration, Ecn, Level, QueueLen, Rng, Time};
use std::collections::VecDeque;

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "sfq",
    doc: "Flows are hashed into slots that are served in turn; a full buffer costs the longest.",
    source: "McKenney 1990; Linux: sch_sfq",
    equations: "arrival:    slot of hash(flow) mod divisor, or a free one; none: drop\n\
        \u{20}           RED on the slot's bytes, if set;  slot ≥ depth: drop\n\
        \u{20}           all > limit: the longest slot loses its last packet (headdrop: its first)\n\
        departure:  the first slot of the round: allot ≤ 0 → allot += quantum, to the end\n\
        \u{20}           else send, allot −= size",
    expect: "Active flows have equal shares of the link, whatever they send, and a flow that fills \
        the buffer loses its own packets alone. In the figure five flows share what is held: all \
        wait for each other, and nothing is signalled before the buffer is full. With \
        `perturb` flows that fell into one slot are parted after a while.",
    weaknesses: "It shares a standing queue and does not shorten it: without RED each flow fills its \
        depth, and at a low rate 127 packets are a long wait. It has no place ahead for sparse flows, \
        as FQ-CoDel has. Flows in one slot share it, and whoever opens ten has ten shares. A change \
        of the hash may let packets of a flow overtake each other. RED on a slot looks at bytes and \
        not at time, and its average stands still while nothing of the slot arrives.",
    params: own_tables::<SfqParams>(),
    state: &states(COLUMNS),
    defaults: SfqParams::DEFAULTS,
};

group! {
    /// What the user of SFQ sets.
    pub struct SfqParams {
        /// Its own.
        pub own: SfqOwn,
        /// What every kind takes.
        pub common: Common,
    }
}

params! {
    /// Parameters.
    pub struct SfqOwn: Default {
        /// Places of the hash.
        pub divisor: u32 { ty: int(1, 65_536), unit: "1", default: 1024, source: "Linux: sch_sfq" },
        /// Slots: no more flows than this wait at once.
        pub flows: u32 { ty: int(1, 65_408), unit: "1", default: 128, source: "Linux: sch_sfq" },
        /// Packets of a slot.
        pub depth: u32 {
            ty: int(1, 65_535),
            unit: "packets",
            default: 127,
            source: "Linux: sch_sfq",
        },
        /// Packets in all slots together; the link's buffer holds beside it, the smaller one counts.
        pub limit: u32 {
            ty: int(2, 1_000_000),
            unit: "packets",
            default: 127,
            source: "Linux: sch_sfq",
        },
        /// Bytes that a slot may send in a round.
        pub quantum: Bytes {
            default: "1514 B",
            source: "Linux: sch_sfq, the interface's MTU with its header",
        },
        /// The hash changes every so often.
        pub perturb: Option<Duration> { auto: "never", source: "Linux: sch_sfq, whole seconds" },
        /// Drops are from the head of a slot, not from its end; marks are, too.
        pub headdrop: bool { default: false, source: "Linux: sch_sfq" },
        /// RED on each slot: average below which nothing is signalled. In packets it means mean ones.
        pub min_th: Option<QueueLen> { unit: "packets", auto: "no RED", source: "Linux: sch_sfq, min" },
        /// The average from which every packet is signalled.
        pub max_th: Option<QueueLen> {
            unit: "packets",
            auto: "3·min_th",
            source: "Linux: sch_sfq, max",
        },
        /// The probability just below that.
        pub max_p: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.02,
            source: "Linux: sch_sfq, probability",
        },
        /// Weight of the newest sample in a slot's average.
        pub w_q: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.0625,
            source: "settled here; Linux finds it from burst and avpkt",
        },
        /// With `ecn`: from max_th on capable packets are dropped all the same.
        pub harddrop: bool { default: false, source: "Linux: sch_sfq" },
    }
}

const COLUMNS: &[Column<Sfq>; 2] = &[
    column("active_slots", "Slots in the round.", |d| f64::from(d.round.len())),
    column("longest_pkts", "Packets of the longest slot.", |d| {
        d.slots.iter().map(|slot| slot.packets.len()).max().unwrap_or(0) as f64
    }),
];

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    handle: u32,
    bytes: u32,
    flow: u32,
    capable: bool,
    /// It is marked as it leaves.
    marked: bool,
}

/// A slot.
#[derive(Clone, Debug)]
struct Slot {
    packets: VecDeque<Waiting>,
    bytes: u64,
    allot: i64,
    /// Its place of the hash, while it is in the round.
    place: u32,
    next: u32,
    /// RED's average and gate.
    avg: f64,
    gate: Gate,
}

impl Listed for Slot {
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// RED of the slots.
#[derive(Clone, Debug)]
struct Red {
    ramp: Ramp,
    w_q: f64,
    signal: Classic,
}

/// No slot.
const NONE: u32 = u32::MAX;

/// SFQ.
#[derive(Clone, Debug)]
pub struct Sfq {
    hash: Hash,
    /// The slot of each place of the hash.
    places: Vec<u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    round: List,
    red: Option<Red>,
    depth: usize,
    limit: u32,
    quantum: i64,
    headdrop: bool,
    perturb: Option<Duration>,
    /// When the hash changes.
    change: Time,
    /// The place and the slot of the packet that arrived last.
    arriving: (u32, u32),
    /// The slot whose head goes for the arriving packet, and why.
    head_goes: Option<Reason>,
    /// The arriving packet is let in.
    enters: bool,
    /// The packet that goes next is to be marked.
    marks: bool,
}

impl Sfq {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &SfqParams, cx: &Context) -> Result<Self, ParamError> {
        let unit = Unit::of(p, &p.common, cx)?.in_bytes();
        let own = &p.own;
        if !own.divisor.is_power_of_two() {
            return Err(ParamError::new("divisor", "must be a power of two"));
        }
        if !(256..=1 << 20).contains(&own.quantum.0) {
            return Err(ParamError::new("quantum", "must be in [256 B, 1048576 B]"));
        }
        if own.perturb == Some(Duration::ZERO) {
            return Err(ParamError::new("perturb", "must be above 0 s"));
        }
        if own.min_th.is_none() && own.max_th.is_some() {
            return Err(ParamError::new("max_th", "goes with min_th"));
        }
        let red = own.min_th.map(|min_th| {
            let min_th = unit.length(min_th);
            let max_th = own.max_th.map_or(3.0 * min_th, |max_th| unit.length(max_th));
            let signal = Classic { mark_forced: !own.harddrop, ..Classic::new(p.common.ecn) };
            Red { ramp: Ramp { min_th, max_th, max_p: own.max_p }, w_q: own.w_q, signal }
        });
        if red.as_ref().is_some_and(|red| red.ramp.min_th >= red.ramp.max_th) {
            return Err(ParamError::new("min_th", "must be below max_th"));
        }
        let slot = Slot {
            packets: VecDeque::new(),
            bytes: 0,
            allot: 0,
            place: 0,
            next: NONE,
            avg: 0.0,
            gate: Gate::new(Spacing::Drawn, Sizes::Ignored, false),
        };
        Ok(Sfq {
            hash: Hash::new(),
            places: vec![NONE; own.divisor as usize],
            slots: vec![slot; own.flows as usize],
            free: (0..own.flows).rev().collect(),
            round: List::default(),
            red,
            depth: own.depth as usize,
            limit: own.limit,
            quantum: own.quantum.0 as i64,
            headdrop: own.headdrop,
            perturb: own.perturb,
            change: Time::ZERO + own.perturb.unwrap_or_default(),
            arriving: (0, NONE),
            head_goes: None,
            enters: false,
            marks: false,
        })
    }

    /// The slot of a place of the hash: its own, or a free one, which comes to the end of the round.
    fn slot_of(&mut self, place: u32) -> Option<u32> {
        let own = self.places[place as usize];
        if own != NONE {
            return Some(own);
        }
        let i = self.free.pop()?;
        self.places[place as usize] = i;
        let slot = &mut self.slots[i as usize];
        (slot.place, slot.allot, slot.avg) = (place, self.quantum, 0.0);
        slot.gate.leave();
        self.round.push(&mut self.slots, i);
        Some(i)
    }

    /// The first slot of the round, in which nothing waits, leaves it.
    fn leave_round(&mut self, i: u32) {
        self.round.pop(&mut self.slots);
        self.places[self.slots[i as usize].place as usize] = NONE;
        self.free.push(i);
    }

    /// Another hash: all that waits is sorted again, in the order of the slots.
    fn rehash(&mut self, rng: &mut Rng) {
        self.hash = Hash::new();
        let waiting: Vec<Waiting> =
            self.slots.iter_mut().flat_map(|slot| std::mem::take(&mut slot.packets)).collect();
        while let Some(i) = self.round.first() {
            self.slots[i as usize].bytes = 0;
            self.leave_round(i);
        }
        for packet in waiting {
            let place = self.hash.place(u64::from(packet.flow), self.places.len(), rng);
            let shared = place % self.slots.len() as u32;
            let i = self.slot_of(place).unwrap_or(shared);
            let slot = &mut self.slots[i as usize];
            slot.bytes += u64::from(packet.bytes);
            slot.packets.push_back(packet);
        }
    }

    /// RED on a slot: what becomes of the packet that arrives, or of the slot's head.
    fn red(&mut self, i: u32, pkt: &Packet, rng: &mut Rng) -> Verdict {
        let (Some(red), slot) = (&self.red, &mut self.slots[i as usize]) else {
            return Verdict::Pass;
        };
        slot.avg += red.w_q * (slot.bytes as f64 - slot.avg);
        let Ramp { min_th, max_th, max_p } = red.ramp;
        let head = slot.packets.front_mut().filter(|_| self.headdrop);
        let signalled = match &head {
            Some(head) if head.capable => Packet { ecn: Ecn::Ect0, ..*pkt },
            Some(_) => Packet { ecn: Ecn::NotEct, ..*pkt },
            None => *pkt,
        };
        let verdict = if slot.avg < min_th {
            slot.gate.leave();
            Verdict::Pass
        } else if slot.avg >= max_th {
            slot.gate.restart();
            red.signal.forced(&signalled)
        } else {
            let p = ramp(slot.avg, min_th, max_th, max_p);
            if slot.gate.decide(p, pkt.bytes, rng) {
                red.signal.early(&signalled, p)
            } else {
                Verdict::Pass
            }
        };
        match (verdict, head) {
            (Verdict::Mark(..), Some(head)) => {
                head.marked = true;
                Verdict::Pass
            }
            (Verdict::Drop(reason), Some(_)) => {
                self.head_goes = Some(reason);
                Verdict::Pass
            }
            (verdict, _) => verdict,
        }
    }

    /// The slot that pays for a full buffer, the arriving packet counted in its own: the longest;
    /// where all have one packet, that whose turn it is.
    fn longest(&self) -> u32 {
        let arriving = self.arriving.1;
        let len = |i: u32| self.slots[i as usize].packets.len() + usize::from(i == arriving);
        let most = (0..self.slots.len() as u32).map(len).max().unwrap_or(0);
        if most <= 1 {
            return self.round.first().unwrap_or(arriving);
        }
        if len(arriving) == most {
            return arriving;
        }
        (0..self.slots.len() as u32).find(|i| len(*i) == most).unwrap_or(arriving)
    }

    /// Takes a packet out of a slot.
    fn out(&mut self, i: u32, head: bool) -> Option<u32> {
        let slot = &mut self.slots[i as usize];
        let packet = if head { slot.packets.pop_front() } else { slot.packets.pop_back() }?;
        slot.bytes -= u64::from(packet.bytes);
        Some(packet.handle)
    }
}

impl Aqm for Sfq {
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        if let Some(perturb) = self.perturb.filter(|_| now >= self.change) {
            self.rehash(rng);
            self.change = now + perturb;
        }
        (self.head_goes, self.enters) = (None, false);
        let place = self.hash.place(u64::from(pkt.flow), self.places.len(), rng);
        let Some(i) = self.slot_of(place) else {
            self.arriving = (place, NONE);
            return Verdict::Drop(Reason::Overflow);
        };
        self.arriving = (place, i);
        let verdict = self.red(i, pkt, rng);
        if let Verdict::Drop(_) = verdict {
            return verdict;
        }
        if self.slots[i as usize].packets.len() >= self.depth && self.head_goes.is_none() {
            if !self.headdrop {
                return Verdict::Drop(Reason::Overflow);
            }
            self.head_goes = Some(Reason::Overflow);
        }
        let full = q.pkts >= self.limit && self.head_goes.is_none();
        if full && !self.headdrop && self.longest() == i {
            return Verdict::Drop(Reason::Overflow);
        }
        self.enters = true;
        verdict
    }

    fn evict(&mut self, _: Time, _: &Packet, q: &Queue, full: bool) -> Option<(u32, Reason)> {
        if !self.enters {
            return None;
        }
        let own = self.arriving.1;
        if let Some(reason) = self.head_goes.take() {
            return self.out(own, true).map(|handle| (handle, reason));
        }
        if !full && q.pkts < self.limit {
            return None;
        }
        let i = self.longest();
        // The arriving packet is the last one of its slot: the driver drops it.
        if i == own && !self.headdrop {
            return None;
        }
        let handle = self.out(i, self.headdrop)?;
        let emptied = self.slots[i as usize].packets.is_empty();
        if emptied && i != own && self.round.first() == Some(i) {
            self.leave_round(i);
        }
        Some((handle, Reason::Overflow))
    }

    fn enqueued(&mut self, _: Time, pkt: &Packet, handle: u32) {
        // What another packet's turn emptied has left the round since.
        let Some(i) = self.slot_of(self.arriving.0) else { return };
        let slot = &mut self.slots[i as usize];
        slot.bytes += u64::from(pkt.bytes);
        let capable = pkt.ecn != Ecn::NotEct;
        let Packet { bytes, flow, .. } = *pkt;
        slot.packets.push_back(Waiting { handle, bytes, flow, capable, marked: false });
    }

    fn next(&mut self, _: Time) -> Turn<u32> {
        while let Some(i) = self.round.first() {
            let slot = &mut self.slots[i as usize];
            if slot.packets.is_empty() {
                // Its first packet found no room.
                self.leave_round(i);
                continue;
            }
            if slot.allot <= 0 {
                slot.allot += self.quantum;
                self.round.turn(slot.next);
                continue;
            }
            let Some(packet) = slot.packets.pop_front() else { continue };
            slot.bytes -= u64::from(packet.bytes);
            slot.allot -= i64::from(packet.bytes);
            if slot.packets.is_empty() {
                self.leave_round(i);
            }
            self.marks = packet.marked;
            return Turn::Packet(packet.handle);
        }
        Turn::Empty
    }

    fn depart(&mut self, _: Time, _: &Packet, _: Duration, _: &Queue, _: &mut Rng) -> Verdict {
        if self.marks {
            Verdict::Mark(Level::Ce, Reason::Early)
        } else {
            Verdict::Pass
        }
    }

    #[inline(always)]
    fn service(&self) -> Service {
        Service::Orders
    }

    fn state_bytes(&self) -> usize {
        let places = size_of_val(&*self.places) + self.free.capacity() * size_of::<u32>();
        size_of_val(self) + places + size_of_val(&*self.slots)
    }

    fn packet_bytes(&self) -> usize {
        size_of::<Waiting>()
    }

    fn begin(&mut self, now: Time) {
        self.change += now.since(Time::ZERO);
    }

    /// The slots and what waits in them stay, and as many.
    fn go_on(&mut self, before: Self, now: Time) {
        let Sfq { red, depth, limit, quantum, headdrop, perturb, .. } = self;
        let change = now + perturb.unwrap_or_default();
        let (red, perturb) = (red.take(), perturb.take());
        let (depth, limit, quantum, headdrop) = (*depth, *limit, *quantum, *headdrop);
        *self = Sfq { red, depth, limit, quantum, headdrop, perturb, change, ..before };
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build, busy, context, params};

    fn sfq(set: &[(&'static str, &'static str)]) -> Sfq {
        Sfq::new(&params(&KIND, set), &context()).unwrap()
    }

    fn pkt(flow: u32) -> Packet {
        Packet { bytes: 1500, ecn: Ecn::Ect0, flow, class: 0 }
    }

    /// A bench that keeps the flows of what waits by handle.
    struct Bench {
        sfq: Sfq,
        rng: Rng,
        flows: Vec<u32>,
        held: u32,
        gone: Vec<u32>,
    }

    impl Bench {
        fn new(set: &[(&'static str, &'static str)]) -> Self {
            let rng = Rng::stream(1, "test");
            Bench { sfq: sfq(set), rng, flows: vec![], held: 0, gone: vec![] }
        }

        /// A packet arrives at a second. Returns whether it is let in.
        fn arrive(&mut self, s: u64, flow: u32) -> bool {
            let (now, pkt) = (Time::from_nanos(s * 1_000_000_000), pkt(flow));
            let verdict = self.sfq.arrive(now, &pkt, &busy(self.held), &mut self.rng);
            while let Some((handle, _)) = self.sfq.evict(now, &pkt, &busy(self.held), false) {
                self.gone.push(handle);
                self.held -= 1;
            }
            if matches!(verdict, Verdict::Drop(_)) {
                return false;
            }
            self.sfq.enqueued(now, &pkt, self.flows.len() as u32);
            self.flows.push(flow);
            self.held += 1;
            true
        }

        fn sent(&mut self, n: usize) -> Vec<u32> {
            let mut turn = || match self.sfq.next(Time::ZERO) {
                Turn::Packet(handle) => self.flows[handle as usize],
                _ => panic!("packets wait"),
            };
            (0..n).map(|_| turn()).collect()
        }
    }

    /// Two flows of 1500 B: a quantum of 1514 B is worth two packets in the first round, since 14 B
    /// are left of it; of 1500 B, one.
    #[test]
    fn rounds_by_hand() {
        for (quantum, want) in [
            ("\"1514 B\"", [1, 1, 2, 2, 1, 2, 1, 2]),
            ("\"1500 B\"", [1, 2, 1, 2, 1, 2, 1, 2]),
            ("\"300 B\"", [1, 2, 1, 2, 1, 2, 1, 2]),
        ] {
            let mut bench = Bench::new(&[("quantum", quantum)]);
            for flow in [1, 1, 1, 1, 1, 2, 2, 2, 2, 2] {
                assert!(bench.arrive(0, flow));
            }
            assert_eq!(bench.sent(8), want, "{quantum}");
        }
    }

    /// Four places: flow 1 holds three and pays for what flow 2 brings, with its last packet, or its
    /// first. What flow 1 itself brings beyond is dropped, or takes its head's place. Where all
    /// slots have one packet, the one whose turn it is loses it.
    #[test]
    fn the_longest_slot_pays() {
        for (headdrop, gone, own) in [("false", vec![2], false), ("true", vec![0], true)] {
            let mut bench = Bench::new(&[("limit", "4"), ("headdrop", headdrop)]);
            for flow in [1, 1, 1, 2] {
                bench.arrive(0, flow);
            }
            assert!(bench.arrive(0, 3));
            assert_eq!(bench.gone, gone, "headdrop {headdrop}");
            assert_eq!(bench.arrive(0, 1), own);
        }
        let mut bench = Bench::new(&[("limit", "2")]);
        assert!(bench.arrive(0, 1) && bench.arrive(0, 2) && bench.arrive(0, 3));
        assert_eq!(bench.gone, [0]);
        assert_eq!(bench.sent(2), [2, 3]);
    }

    /// A slot holds `depth` packets, and `flows` slots there are.
    #[test]
    fn slots_and_their_depth_are_limited() {
        let mut bench = Bench::new(&[("depth", "2"), ("flows", "2")]);
        let let_in = [1, 1, 1, 2, 3].map(|flow| bench.arrive(0, flow));
        assert_eq!(let_in, [true, true, false, true, false]);
    }

    /// RED on a slot, w_q = 1: 2 packets of 1500 B wait, of 1000 to 5000 B the ramp to 1 is half
    /// way. With `headdrop` the head is marked as it leaves.
    #[test]
    fn red_looks_at_the_slots_bytes() {
        let red = [("min_th", "\"1 kB\""), ("max_th", "\"5 kB\""), ("max_p", "1"), ("w_q", "1")];
        let with = |more: &[(&'static str, &'static str)]| {
            let mut bench = Bench::new(&[&red[..], more].concat());
            for flow in [1, 1, 2] {
                // The second of flow 1 meets RED at 1500 B.
                while !bench.arrive(0, flow) {}
            }
            bench
        };
        let mut bench = with(&[]);
        let n = (0..4000)
            .filter(|_| {
                let place = bench.sfq.hash.place(1, 1024, &mut bench.rng);
                let i = bench.sfq.places[place as usize];
                bench.sfq.slots[i as usize].gate.leave();
                let [first, next] = [(); 2].map(|()| bench.sfq.red(i, &pkt(1), &mut bench.rng));
                first == Verdict::Pass && next != Verdict::Pass
            })
            .count();
        assert!((1870..=2130).contains(&n), "{n}");
        let place = bench.sfq.hash.place(2, 1024, &mut bench.rng);
        let i = bench.sfq.places[place as usize];
        assert_eq!(bench.sfq.slots[i as usize].bytes, 1500, "the other slot is its own");
        let mut bench = with(&[("ecn", "true"), ("headdrop", "true")]);
        bench.sfq.red.as_mut().unwrap().ramp.max_th = 2000.0;
        assert!(bench.arrive(0, 1), "the head is marked in its place");
        bench.sent(1);
        let leaves = |sfq: &mut Sfq, rng: &mut Rng| {
            sfq.depart(Time::ZERO, &pkt(1), Duration::ZERO, &busy(2), rng)
        };
        let verdict = leaves(&mut bench.sfq, &mut bench.rng);
        assert_eq!(verdict, Verdict::Mark(Level::Ce, Reason::Early));
    }

    /// After another hash the same packets wait, each flow in a slot, and the hash is another.
    #[test]
    fn a_new_hash_loses_nothing() {
        let mut bench = Bench::new(&[("perturb", "\"10 s\"")]);
        for flow in [1, 1, 1, 2, 2, 2] {
            bench.arrive(1, flow);
        }
        let places = bench.sfq.places.clone();
        assert!(bench.arrive(9, 3));
        assert_eq!(places.iter().filter(|i| **i != NONE).count(), 2);
        bench.arrive(10, 1);
        assert_ne!(places, bench.sfq.places);
        let mut sent = bench.sent(8);
        sent.sort_unstable();
        assert_eq!(sent, [1, 1, 1, 1, 2, 2, 2, 3]);
        assert_eq!(bench.sfq.round.len(), 0);
    }

    #[test]
    fn keys_that_do_not_fit_are_refused() {
        for (set, problem) in [
            (&[("divisor", "1000")][..], "divisor: must be a power of two"),
            (&[("quantum", "\"100 B\"")], "quantum: must be in [256 B, 1048576 B]"),
            (&[("perturb", "\"0 s\"")], "perturb: must be above 0 s"),
            (&[("max_th", "9")], "max_th: goes with min_th"),
            (&[("min_th", "9"), ("max_th", "9")], "min_th: must be below max_th"),
        ] {
            assert_eq!(build(&KIND, set).err().unwrap().to_string(), problem);
        }
    }
}
