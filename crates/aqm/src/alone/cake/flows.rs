//! The queues of a tin: deficit round robin, sparse flows first, with a quantum that a host's busy
//! flows share.

use crate::alone::cobalt::{Law, Vars};
use crate::parts::associative::Associative;
use crate::parts::isolation::{Chain, Chains, List, Listed};
use penstock_units::{words, Time};
use std::collections::VecDeque;

words! {
    /// What has a queue of its own, and among whom shares are equal.
    pub enum Isolates {
        /// All packets share one queue.
        Flowblind = "flowblind",
        /// A queue for each source.
        Srchost = "srchost",
        /// A queue for each destination.
        Dsthost = "dsthost",
        /// A queue for each pair of hosts.
        Hosts = "hosts",
        /// A queue for each flow, all equal.
        Flows = "flows",
        /// A queue for each flow; sources are equal.
        DualSrchost = "dual-srchost",
        /// A queue for each flow; destinations are equal.
        DualDsthost = "dual-dsthost",
        /// A queue for each flow; sources and destinations are equal.
        Triple = "triple-isolate",
    }
}

/// Queues of a tin, and places for its sources and its destinations.
const QUEUES: usize = 1024;

impl Isolates {
    /// Returns whether the busy flows of a source share a quantum, and those of a destination.
    #[inline]
    fn counts(self) -> [bool; 2] {
        [Isolates::DualSrchost, Isolates::DualDsthost]
            .map(|dual| self == dual || self == Isolates::Triple)
    }
}

/// Where a queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Set {
    /// Nowhere: it is empty, and its COBALT at rest.
    #[default]
    None,
    /// Its flow has not used up its first quantum.
    Sparse,
    /// It was empty when it had, and is still counted as sparse.
    SparseWait,
    /// It has used up a quantum while packets waited.
    Bulk,
    /// It is empty, and its COBALT remembers something.
    Decaying,
}

/// One flow's queue: a cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(super) struct Flow {
    pub vars: Vars,
    /// Its packets. `bytes` counts the packet whose turn it is until it leaves.
    pub packets: Chain,
    deficit: i32,
    /// The queue behind it on its list.
    next: u32,
    /// The places of its hosts: source, destination.
    hosts: [u16; 2],
    /// How often it has begun to decay.
    decays: u16,
    set: Set,
}

const _: () = assert!(size_of::<Flow>() == 64, "a queue is one cache line");

impl Flow {
    /// Returns whether it stands on a list of flows to be served.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        !matches!(self.set, Set::None | Set::Decaying)
    }

    /// `bytes` on the wire have left it.
    #[inline]
    pub(super) fn sends(&mut self, bytes: u32) {
        self.deficit = self.deficit.saturating_sub_unsigned(bytes);
    }
}

impl Listed for Flow {
    #[inline(always)]
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// The hosts on one side: how many queues name each, and how many bulk flows of it there are.
#[derive(Clone, Debug)]
struct Side {
    places: Associative,
    named: Vec<u16>,
    bulk: Vec<u16>,
}

impl Side {
    fn new() -> Self {
        Side { places: Associative::new(QUEUES), named: vec![0; QUEUES], bulk: vec![0; QUEUES] }
    }

    fn enters(&mut self, bits: u32) -> u16 {
        let Side { places, named, .. } = self;
        let place = places.place(bits, |i| named[i] == 0);
        named[place] += 1;
        place as u16
    }

    fn leaves(&mut self, place: u16, was_bulk: bool) {
        self.named[usize::from(place)] -= 1;
        self.bulk[usize::from(place)] -= u16::from(was_bulk);
    }

    fn heap_bytes(&self) -> usize {
        self.places.heap_bytes() + size_of_val(&*self.named) + size_of_val(&*self.bulk)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    /// Bytes of a round for a flow whose hosts have no other.
    pub quantum: u32,
    /// Flows that count as sparse, as bulk, and queues that only remember.
    pub sparse: u32,
    pub bulk: u32,
    pub decaying: u32,
    flows: Vec<Flow>,
    places: Associative,
    sides: [Side; 2],
    new: List,
    old: List,
    /// Queues that decay, and the how manieth time each did when it came here: of one that has been
    /// used since, the entry is void.
    decays: VecDeque<(u32, u16)>,
    /// What rounds quanta, as Linux does at random: the last of a congruential sequence.
    dither: u32,
}

impl Queues {
    pub(super) fn new(quantum: u32) -> Self {
        Queues {
            quantum,
            sparse: 0,
            bulk: 0,
            decaying: 0,
            flows: vec![Flow { vars: Vars::fresh(), ..Flow::default() }; QUEUES],
            places: Associative::new(QUEUES),
            sides: [Side::new(), Side::new()],
            new: List::default(),
            old: List::default(),
            decays: VecDeque::new(),
            dither: 0,
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let sides: usize = self.sides.iter().map(Side::heap_bytes).sum();
        size_of_val(&*self.flows) + self.places.heap_bytes() + sides
    }

    /// Returns whether any flow is to be served, though its queue may be empty.
    #[inline]
    pub(super) fn has_flows(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// Returns the queue of a flow with these hashed bits.
    #[inline]
    pub(super) fn place(&mut self, bits: u32) -> u32 {
        let Queues { places, flows, .. } = self;
        places.place(bits, |i| flows[i].set == Set::None) as u32
    }

    /// The queue with this number.
    #[inline]
    pub(super) fn flow(&mut self, i: u32) -> &mut Flow {
        &mut self.flows[i as usize]
    }

    /// Each queue in which packets wait, and their bytes.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let all = |list: &List| {
            let behind = |i: &u32| Some(self.flows[*i as usize].next);
            std::iter::successors(list.first(), behind).take(list.len() as usize)
        };
        let full = |i: u32| {
            let packets = &self.flows[i as usize].packets;
            (!packets.is_empty()).then_some((i, packets.bytes))
        };
        all(&self.new).chain(all(&self.old)).filter_map(full)
    }

    /// A packet waits in a queue that was on no list of flows to be served: it is the last of the
    /// new ones. `hosts`: the hashed bits of its source and its destination.
    pub(super) fn enters(&mut self, i: u32, hosts: [u32; 2], isolates: Isolates) {
        let [source, destination] = &mut self.sides;
        let flow = &mut self.flows[i as usize];
        self.decaying -= u32::from(flow.set == Set::Decaying);
        flow.hosts = [source.enters(hosts[0]), destination.enters(hosts[1])];
        flow.set = Set::Sparse;
        self.sparse += 1;
        self.flows[i as usize].deficit = self.quantum(i, isolates);
        self.new.push(&mut self.flows, i);
    }

    /// A packet waits in a queue that is on a list: if it was empty after its first quantum, its
    /// flow is a bulk flow.
    #[inline]
    pub(super) fn goes_on(&mut self, i: u32) {
        if self.flows[i as usize].set == Set::SparseWait {
            self.becomes_bulk(i);
        }
    }

    fn becomes_bulk(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        flow.set = Set::Bulk;
        for (side, host) in self.sides.iter_mut().zip(flow.hosts) {
            side.bulk[usize::from(host)] += 1;
        }
        self.sparse -= 1;
        self.bulk += 1;
    }

    /// The bytes of a flow's round: the quantum over the bulk flows of its host that has more, in
    /// parts of 2¹⁶, rounded up or down.
    fn quantum(&mut self, i: u32, isolates: Isolates) -> i32 {
        let hosts = self.flows[i as usize].hosts;
        let sides = self.sides.iter().zip(hosts).zip(isolates.counts());
        let loads = sides
            .map(|((side, host), counts)| if counts { side.bulk[usize::from(host)] } else { 1 });
        let load = loads.fold(1, u16::max);
        self.dither = next(self.dither);
        rounded(self.quantum, load, (self.dither >> 16) as u16)
    }

    /// Returns the queue whose turn it is, and its first packet, which is taken out. `None` where
    /// all its flows turn out to have nothing.
    #[inline]
    pub(super) fn turn(
        &mut self,
        packets: &Chains,
        law: &Law,
        now: Time,
        isolates: Isolates,
    ) -> Option<(u32, u32)> {
        loop {
            let (is_new, i) = match (self.new.first(), self.old.first()) {
                (Some(i), _) => (true, i),
                (None, Some(i)) => (false, i),
                (None, None) => return None,
            };
            let flow = &mut self.flows[i as usize];
            if flow.deficit <= 0 {
                let next = flow.next;
                match (flow.set, flow.packets.is_empty()) {
                    (Set::Sparse, true) => flow.set = Set::SparseWait,
                    (Set::Sparse, false) => self.becomes_bulk(i),
                    _ => {}
                }
                let more = self.quantum(i, isolates);
                self.flows[i as usize].deficit += more;
                if is_new {
                    self.new.pop(&mut self.flows);
                    self.old.push(&mut self.flows, i);
                } else {
                    self.old.turn(next);
                }
            } else if let Some(handle) = packets.pop(&mut flow.packets) {
                return Some((i, handle));
            } else {
                let list = if is_new { &mut self.new } else { &mut self.old };
                list.pop(&mut self.flows);
                self.empty(i, law, now);
            }
        }
    }

    /// A flow whose turn it is has nothing: it leaves its list.
    fn empty(&mut self, i: u32, law: &Law, now: Time) {
        let flow = &mut self.flows[i as usize];
        let was_bulk = flow.set == Set::Bulk;
        for (side, host) in self.sides.iter_mut().zip(flow.hosts) {
            side.leaves(host, was_bulk);
        }
        self.bulk -= u32::from(was_bulk);
        self.sparse -= u32::from(!was_bulk);
        flow.vars.queue_empty(law, now);
        flow.set = Set::None;
        if !flow.vars.is_at_rest(now) {
            flow.set = Set::Decaying;
            flow.decays = flow.decays.wrapping_add(1);
            self.decaying += 1;
            self.decays.push_back((i, flow.decays));
        }
    }

    /// One look at the queue that has decayed for longest: it is free once its COBALT is at rest,
    /// else it goes behind the others.
    pub(super) fn look(&mut self, law: &Law, now: Time) {
        while let Some((i, decays)) = self.decays.pop_front() {
            let flow = &mut self.flows[i as usize];
            if flow.set != Set::Decaying || flow.decays != decays {
                continue;
            }
            flow.vars.queue_empty(law, now);
            if flow.vars.is_at_rest(now) {
                flow.set = Set::None;
                self.decaying -= 1;
            } else {
                self.decays.push_back((i, decays));
            }
            return;
        }
    }
}

/// The next number of a linear congruential sequence (Numerical Recipes, 7.1).
fn next(last: u32) -> u32 {
    last.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
}

/// ⌊(quantum · ⌊65535/load⌋ + dither)/65536⌋.
fn rounded(quantum: u32, load: u16, dither: u16) -> i32 {
    ((quantum * u32::from(u16::MAX / load) + u32::from(dither)) >> 16) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quantum of 1514 B: alone 1513 or 1514, of four flows 378.48 in the mean, of 32 47.29.
    #[test]
    fn a_quantum_is_shared_by_the_busy_flows_of_a_host() {
        for (load, mean) in [(1, 1513.977), (4, 378.477), (32, 47.2895)] {
            let mut dither = 0;
            let sum: i64 = (0..65_536)
                .map(|_| {
                    dither = next(dither);
                    i64::from(rounded(1514, load, (dither >> 16) as u16))
                })
                .sum();
            assert!((sum as f64 / 65_536.0 - mean).abs() < 0.01, "{load}: {sum}");
        }
        assert_eq!((rounded(1514, 1, 0), rounded(1514, 1, u16::MAX)), (1513, 1514));
    }
}
