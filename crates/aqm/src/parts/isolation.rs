//! Isolation: packets of different flows wait in queues of their own, which share the link by
//! deficit round robin. RFC 8290, section 4, without what decides inside a queue.
//!
//! A discipline takes the whole of it ([`Isolation`]), or the pieces: a [`struct@Hash`] of flows,
//! [`Chains`] of waiting packets in as many queues as it likes, a [`List`] of queues in the order
//! of service.

use penstock_units::Rng;

/// The number that stands for no packet and no queue.
const NONE: u32 = u32::MAX;
/// A number that no flow has.
const NOBODY: u64 = u64::MAX;

/// A hash of flows, perturbed for each run (RFC 8290, section 4.1.1).
#[derive(Clone, Debug)]
pub struct Hash {
    /// Drawn at the first packet.
    perturbation: Option<u64>,
}

impl Hash {
    /// A hash that has drawn nothing.
    pub fn new() -> Self {
        Hash { perturbation: None }
    }

    /// Returns the bits of a flow's number, perturbed and mixed (SplitMix64).
    #[inline(always)]
    pub fn bits(&mut self, flow: u64, rng: &mut Rng) -> u64 {
        self.perturbation.get_or_insert_with(|| rng.bits());
        self.drawn(flow)
    }

    /// Returns what [`Hash::bits`] does, of a hash that has been asked before.
    #[inline(always)]
    pub fn drawn(&self, flow: u64) -> u64 {
        let mut h = self.perturbation.unwrap_or_default() ^ flow;
        h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        h ^ (h >> 31)
    }

    /// Returns one of `places` for a flow.
    #[inline(always)]
    pub fn place(&mut self, flow: u64, places: usize, rng: &mut Rng) -> u32 {
        ((self.bits(flow, rng) >> 32).wrapping_mul(places as u64) >> 32) as u32
    }
}

impl Default for Hash {
    fn default() -> Self {
        Hash::new()
    }
}

/// The packets of one queue, from its head.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// Bytes that wait. What [`Chains::pop`] took out counts until the caller takes it off.
    pub bytes: u64,
    head: u32,
    /// The last packet; where none waits, some handle that was given out, or 0.
    tail: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { bytes: 0, head: NONE, tail: 0 }
    }
}

impl Chain {
    /// Returns whether no packet waits in it.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

/// The facts of the waiting packets that every chain needs.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// By handle: the handle of the packet behind, and the size.
    behind: Vec<(u32, u32)>,
}

impl Chains {
    /// Bytes for each waiting packet.
    pub const PACKET_BYTES: usize = size_of::<(u32, u32)>();

    /// A packet of `bytes` waits at the end of a chain.
    #[inline(always)]
    pub fn push(&mut self, chain: &mut Chain, handle: u32, bytes: u32) {
        match self.behind.get_mut(handle as usize) {
            Some(place) => *place = (NONE, bytes),
            None => self.behind.resize(handle as usize + 1, (NONE, bytes)),
        }
        chain.bytes += u64::from(bytes);
        // Chosen, not branched to: whether a flow's queue is empty is hard to foresee. `tail` names
        // a place that is there in any case: `behind` never shrinks, and holds this packet's already.
        let last = &mut self.behind[chain.tail as usize].0;
        *(if chain.head == NONE { &mut chain.head } else { last }) = handle;
        chain.tail = handle;
    }

    /// Takes out the packet at the head of a chain, whose `bytes` still count it.
    #[inline(always)]
    pub fn pop(&self, chain: &mut Chain) -> Option<u32> {
        let (behind, _) = self.behind.get(chain.head as usize)?;
        Some(std::mem::replace(&mut chain.head, *behind))
    }

    /// Returns the size of a waiting packet, or of one that was taken out just now.
    pub fn bytes(&self, handle: u32) -> u32 {
        self.behind[handle as usize].1
    }

    /// Returns how many packets wait in a chain. Counting ends at `most`.
    pub fn count(&self, chain: &Chain, most: u32) -> u32 {
        self.all(chain).take(most as usize).count() as u32
    }

    /// The packets that wait in a chain, from its head.
    fn all(&self, chain: &Chain) -> impl Iterator<Item = u32> + '_ {
        let some = |handle: u32| (handle != NONE).then_some(handle);
        let behind = move |handle: &u32| some(self.behind[*handle as usize].0);
        std::iter::successors(some(chain.head), behind)
    }
}

/// An item that stands on a [`List`] by its number.
pub trait Listed {
    /// The number of the one behind it on its list.
    fn next(&mut self) -> &mut u32;
}

/// A list of queues in the order of service. They stand in a circle, in which the last one names
/// the first: what deficit round robin does most is to send the first one to the end.
#[derive(Clone, Debug)]
pub struct List {
    first: u32,
    last: u32,
    len: u32,
}

impl Default for List {
    fn default() -> Self {
        List { first: NONE, last: NONE, len: 0 }
    }
}

impl List {
    /// Returns how many queues stand on it.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether no queue stands on it.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the first queue.
    #[inline(always)]
    pub fn first(&self) -> Option<u32> {
        (self.len > 0).then_some(self.first)
    }

    /// Queue `i` comes to the end.
    #[inline(always)]
    pub fn push<Q: Listed>(&mut self, queues: &mut [Q], i: u32) {
        if self.len == 0 {
            self.first = i;
        } else {
            *queues[self.last as usize].next() = i;
        }
        *queues[i as usize].next() = self.first;
        self.last = i;
        self.len += 1;
    }

    /// The first queue goes to the end. `next`: the one behind it.
    #[inline(always)]
    pub fn turn(&mut self, next: u32) {
        self.last = self.first;
        self.first = next;
    }

    /// The first queue leaves the list.
    #[inline(always)]
    pub fn pop<Q: Listed>(&mut self, queues: &mut [Q]) {
        self.first = *queues[self.first as usize].next();
        *queues[self.last as usize].next() = self.first;
        self.len -= 1;
    }
}

/// What a queue loses when it is its turn to lose packets.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// No more packets than this.
    pub most: u32,
    /// From the head until half the queue's bytes are gone, not half its packets.
    pub halve_bytes: bool,
}

/// One flow's queue, and the control that decides in it. It begins at a cache line, since a packet
/// of each flow comes between two of the same.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub struct FlowQueue<C> {
    /// The control that decides in this queue.
    pub control: C,
    /// Its packets. `bytes` counts the packet whose turn it is until [`Isolation::leaves`].
    pub packets: Chain,
    /// At most a quantum, at least a packet less than nothing.
    credits: i64,
    /// The queue behind it on its list.
    next: u32,
    listed: bool,
}

impl<C> Listed for FlowQueue<C> {
    #[inline(always)]
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// Queues of flows with a `C` in each, in the order of deficit round robin, those of sparse flows
/// first.
#[derive(Clone, Debug)]
pub struct Isolation<C> {
    hash: Hash,
    quantum: i64,
    loses: Batch,
    queues: Vec<FlowQueue<C>>,
    packets: Chains,
    new: List,
    old: List,
    /// The flow of the packet that arrived last, or [`NOBODY`].
    flow: u64,
    /// Its queue.
    arriving: u32,
    /// The queue whose turn it was last.
    serving: u32,
    /// The queue that is losing packets, and how many more.
    batch: (u32, u32),
}

impl<C: Clone + Default> Isolation<C> {
    /// `flows` queues that send `quantum` bytes a round.
    pub fn new(flows: u32, quantum: u64, loses: Batch) -> Self {
        Isolation {
            hash: Hash::new(),
            quantum: quantum as i64,
            loses,
            queues: vec![FlowQueue::default(); flows as usize],
            packets: Chains::default(),
            new: List::default(),
            old: List::default(),
            flow: NOBODY,
            arriving: 0,
            serving: 0,
            batch: (0, 0),
        }
    }
}

impl<C> Isolation<C> {
    /// Bytes for each waiting packet.
    pub const PACKET_BYTES: usize = Chains::PACKET_BYTES;

    /// The queues and their packets stay as they are, and as many; the rest is that of `self`.
    pub fn go_on(&mut self, before: Self) {
        let (quantum, loses) = (self.quantum, self.loses);
        *self = Isolation { quantum, loses, ..before };
    }

    /// Returns the bytes that it keeps outside itself, before any packet came.
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.queues)
    }

    /// Returns how many queues are on the list of new ones, and on that of old ones.
    pub fn listed(&self) -> (u32, u32) {
        (self.new.len(), self.old.len())
    }

    /// Every queue.
    pub fn queues(&mut self) -> &mut [FlowQueue<C>] {
        &mut self.queues
    }

    /// The queue with this number.
    pub fn queue(&self, i: u32) -> &FlowQueue<C> {
        &self.queues[i as usize]
    }

    /// The queue of the packet that arrived last.
    #[inline(always)]
    pub fn arriving(&mut self) -> &mut FlowQueue<C> {
        &mut self.queues[self.arriving as usize]
    }

    /// A packet of `flow` arrives. Returns its queue. `idle`: the link has nothing to send.
    #[inline(always)]
    pub fn arrives(&mut self, flow: u32, idle: bool, rng: &mut Rng) -> &mut FlowQueue<C> {
        if idle && self.new.len + self.old.len > 0 {
            self.rest(|_| {});
        }
        // Packets of one flow often come in a row.
        if u64::from(flow) != self.flow {
            self.flow = u64::from(flow);
            self.arriving = self.hash.place(self.flow, self.queues.len(), rng);
        }
        &mut self.queues[self.arriving as usize]
    }

    /// The packet that arrived last was let in, and waits under this handle. A queue that was on no
    /// list becomes a new one, with a quantum. Returns the number of its queue.
    #[inline(always)]
    pub fn enqueued(&mut self, bytes: u32, handle: u32) -> u32 {
        let i = self.arriving;
        let queue = &mut self.queues[i as usize];
        self.packets.push(&mut queue.packets, handle, bytes);
        if !queue.listed {
            queue.listed = true;
            queue.credits = self.quantum;
            self.new.push(&mut self.queues, i);
        }
        i
    }

    /// Section 4.2: new queues before old ones; a queue without credits gets a quantum and goes to
    /// the end of the old ones; an empty one goes from the new to the old, from the old to nowhere.
    /// Returns the handle of the packet whose turn it is. `emptied` hears of the control of each queue
    /// whose turn finds it empty.
    #[inline(always)]
    pub fn turn(&mut self, mut emptied: impl FnMut(&mut C)) -> Option<u32> {
        let Isolation { queues, packets, new, old, serving, quantum, .. } = self;
        while let Some(i) = new.first() {
            let queue = &mut queues[i as usize];
            if queue.credits <= 0 {
                queue.credits += *quantum;
            } else if let Some(handle) = packets.pop(&mut queue.packets) {
                *serving = i;
                return Some(handle);
            } else {
                emptied(&mut queue.control);
            }
            new.pop(queues);
            old.push(queues, i);
        }
        while let Some(i) = old.first() {
            let queue = &mut queues[i as usize];
            if queue.credits <= 0 {
                queue.credits += *quantum;
                old.turn(queue.next);
            } else if let Some(handle) = packets.pop(&mut queue.packets) {
                *serving = i;
                return Some(handle);
            } else {
                emptied(&mut queue.control);
                queue.listed = false;
                old.pop(queues);
            }
        }
        None
    }

    /// The packet that [`Isolation::turn`] named, of `bytes`, leaves its queue, which it returns.
    #[inline(always)]
    pub fn leaves(&mut self, bytes: u32) -> &mut FlowQueue<C> {
        let queue = &mut self.queues[self.serving as usize];
        queue.packets.bytes -= u64::from(bytes);
        queue
    }

    /// Section 4.1: a waiting packet to give up for the arriving one, of `bytes`, where `full`:
    /// half of the fullest queue, from its head, as [`Batch`] says. Asked again until it names none.
    /// `waits`: whether any packet waits.
    #[inline(always)]
    pub fn evict(&mut self, bytes: u32, full: bool, waits: bool) -> Option<u32> {
        if self.batch.1 == 0 && !(full && waits) {
            return None;
        }
        Some(self.give_up(bytes))
    }

    /// The next packet to lose: of the queue that is losing packets, or of the fattest, which then
    /// loses half of what it holds.
    #[cold]
    fn give_up(&mut self, arriving: u32) -> u32 {
        if self.batch.1 == 0 {
            let fattest = self.fattest(arriving, None).expect("something waits");
            let (waiting, _) = self.half(fattest, arriving);
            self.batch = (fattest, waiting);
        }
        self.batch.1 -= 1;
        let chain = &mut self.queues[self.batch.0 as usize].packets;
        let handle = self.packets.pop(chain).expect("half of what waits");
        chain.bytes -= u64::from(self.packets.bytes(handle));
        handle
    }

    /// The arriving packet is one too many: half of the fullest queue goes, the arriving packet
    /// counted where it would stand. [`Isolation::evict`] then names those that wait; returns
    /// whether the arriving packet is among the lost.
    #[cold]
    pub fn overflows(&mut self, arriving: u32) -> bool {
        let fattest = self.fattest(arriving, Some(self.arriving)).expect("the arriving packet's");
        let (waiting, last) = self.half(fattest, arriving);
        self.batch = (fattest, waiting);
        last
    }

    /// The queue that is losing packets.
    pub fn losing(&mut self) -> &mut FlowQueue<C> {
        &mut self.queues[self.batch.0 as usize]
    }

    /// Returns how many of a queue's waiting packets are half of it, the arriving packet counted at
    /// its end where it comes there; and whether that one belongs to the half, too.
    fn half(&self, i: u32, arriving: u32) -> (u32, bool) {
        let chain = &self.queues[i as usize].packets;
        let comes = i == self.arriving;
        let Batch { most, halve_bytes } = self.loses;
        if !halve_bytes {
            // Of more than that the half is more than may go, so that a drop costs two steps.
            let pkts = self.packets.count(chain, 2 * most);
            let half = (pkts + u32::from(comes)).div_ceil(2);
            let waiting = half.min(pkts).min(most);
            return (waiting, comes && waiting < half.min(most));
        }
        let enough = (chain.bytes + if comes { u64::from(arriving) } else { 0 }) / 2;
        let (mut gone, mut waiting) = (0, 0);
        for handle in self.packets.all(chain).take(most as usize) {
            gone += u64::from(self.packets.bytes(handle));
            waiting += 1;
            if gone >= enough {
                break;
            }
        }
        (waiting, comes && gone < enough && waiting < most)
    }

    /// The queue with the most bytes, the arriving packet's among them; one in which something
    /// waits, or the one named. Of several it is the one with the lowest number. All in which
    /// something waits are on a list.
    fn fattest(&self, arriving: u32, or: Option<u32>) -> Option<u32> {
        let backlog = |i: u32| {
            let more = if i == self.arriving { u64::from(arriving) } else { 0 };
            self.queues[i as usize].packets.bytes + more
        };
        let listed = self.all(&self.new).chain(self.all(&self.old));
        let waiting = listed.filter(|i| !self.queues[*i as usize].packets.is_empty());
        let fatter = |a: &u32, b: &u32| backlog(*a).cmp(&backlog(*b)).then(b.cmp(a));
        waiting.chain(or).max_by(fatter)
    }

    /// The queues on a list, the first one first.
    fn all(&self, list: &List) -> impl Iterator<Item = u32> + '_ {
        let behind = |i: &u32| Some(self.queues[*i as usize].next);
        std::iter::successors(list.first(), behind).take(list.len as usize)
    }

    /// The link fell idle: it asked for a packet and every queue was empty, so none is on a list
    /// any more (section 4.2). `emptied` hears of the control of each.
    #[cold]
    pub fn rest(&mut self, mut emptied: impl FnMut(&mut C)) {
        for list in [&mut self.new, &mut self.old] {
            while let Some(i) = list.first() {
                emptied(&mut self.queues[i as usize].control);
                self.queues[i as usize].listed = false;
                list.pop(&mut self.queues);
            }
        }
    }
}

impl<C> FlowQueue<C> {
    /// A packet of `bytes` is sent: the queue has used that much of its quantum.
    #[inline(always)]
    pub fn sends(&mut self, bytes: u32) {
        self.credits -= i64::from(bytes);
    }
}

#[cfg(test)]
mod tests;
