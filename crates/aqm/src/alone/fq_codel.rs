//! FQ-CoDel. RFC 8290: packets are hashed by flow into queues, deficit round robin serves the
//! queues by bytes, those of sparse flows first, and each queue runs its own CoDel (RFC 8289, in
//! [`super::codel`]).
//!
//! Settled here: the hash's perturbation (section 4.1.1) is drawn from the discipline's random
//! stream at the first packet. CoDel's "nothing waits behind" looks at the packet's own queue, as
//! RFC 8289's does; Linux looks at all. When the total is at its limit (`limit`, or the link's
//! buffer, whichever is reached first) packets go before the arriving one enters, instead of after;
//! it counts in its queue, and is dropped itself only where nothing else waits.

use crate::alone::codel::{Control, ControlParams, Vars};
use crate::aqm::Aqm;
use crate::context::{Common, Context, Unit};
use crate::ecn::{Ecn, Level};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{int, ParamError};
use penstock_units::{group, params, Bytes, Duration, Rng, Time};

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
    ns2: FqCodelParams::NS2,
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
        /// Besides what CoDel marks, mark every capable packet that has waited longer than this.
        pub ce_threshold: Option<Duration> { auto: "none", source: "RFC 8290, section 5.2.7" },
    }
}

const COLUMNS: &[Column<FqCodel>; 2] = &[
    column("new_queues", "Queues on the list of new ones.", |d| f64::from(d.new.len)),
    column("old_queues", "Queues on the list of old ones.", |d| f64::from(d.old.len)),
];

/// No packet, no queue.
const NONE: u32 = u32::MAX;
/// No flow has this number.
const NOBODY: u64 = u64::MAX;

/// One flow's queue: packets in a chain from the head, and its place on a list. It is one cache
/// line, since a packet of each flow comes between two of the same.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct FlowQueue {
    codel: Vars,
    /// Bytes that wait, and those of the packet that `next` named until its departure.
    backlog: u64,
    /// At most a quantum, at least a packet less than nothing.
    credits: i64,
    head: u32,
    /// The last packet; where none waits, some handle that was given out, or 0.
    tail: u32,
    /// The queue behind it on its list.
    next: u32,
    listed: bool,
}

const _: () = assert!(size_of::<FlowQueue>() == 64);

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
        let flows = p.own.flows as usize;
        Ok(FqCodel {
            control: Control::new(&p.control)?,
            ecn: p.common.ecn,
            quantum: quantum as i64,
            limit: p.own.limit,
            drop_batch: p.own.drop_batch,
            ce_threshold: p.own.ce_threshold,
            perturbation: 0,
            flow: NOBODY,
            queues: vec![FlowQueue::default(); flows],
            behind: vec![],
            new: List::default(),
            old: List::default(),
            arriving: 0,
            serving: 0,
            batch: (0, 0),
        })
    }
}

impl Default for FlowQueue {
    fn default() -> Self {
        FlowQueue {
            codel: Vars::default(),
            backlog: 0,
            credits: 0,
            head: NONE,
            tail: 0,
            next: NONE,
            listed: false,
        }
    }
}

/// A list of queues in the order of service. They stand in a circle, in which the last one names
/// the first: what deficit round robin does most is to send the first one to the end.
#[derive(Clone, Debug)]
struct List {
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
    /// Queue `i` comes to the end.
    #[inline(always)]
    fn push(&mut self, queues: &mut [FlowQueue], i: u32) {
        if self.len == 0 {
            self.first = i;
        } else {
            queues[self.last as usize].next = i;
        }
        queues[i as usize].next = self.first;
        self.last = i;
        self.len += 1;
    }

    /// The first queue goes to the end. `next`: the one behind it.
    #[inline(always)]
    fn turn(&mut self, next: u32) {
        self.last = self.first;
        self.first = next;
    }

    /// The first queue leaves the list.
    #[inline(always)]
    fn pop(&mut self, queues: &mut [FlowQueue]) {
        self.first = queues[self.first as usize].next;
        queues[self.last as usize].next = self.first;
        self.len -= 1;
    }

    /// The queues on the list, the first one first.
    fn all<'a>(&self, queues: &'a [FlowQueue]) -> impl Iterator<Item = u32> + 'a {
        let behind = |i: &u32| Some(queues[*i as usize].next);
        std::iter::successors(Some(self.first), behind).take(self.len as usize)
    }
}

/// FQ-CoDel.
#[derive(Clone, Debug)]
pub struct FqCodel {
    control: Control,
    ecn: bool,
    quantum: i64,
    limit: u32,
    drop_batch: u32,
    ce_threshold: Option<Duration>,
    /// Drawn when the first packet arrives.
    perturbation: u64,
    /// The flow of the packet that arrived last, or [`NOBODY`].
    flow: u64,
    queues: Vec<FlowQueue>,
    /// By handle: the handle of the packet behind, and the size.
    behind: Vec<(u32, u32)>,
    new: List,
    old: List,
    /// The queue of the packet that arrived last.
    arriving: u32,
    /// The queue that `next` named last.
    serving: u32,
    /// The queue that is losing packets, and how many more.
    batch: (u32, u32),
}

impl FqCodel {
    /// Section 4.1.1. The bits of the flow's number are mixed (SplitMix64), then scaled to the
    /// number of queues.
    #[inline(always)]
    fn classify(&self, flow: u64) -> u32 {
        let mut h = self.perturbation ^ flow;
        h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((h ^ (h >> 31)) >> 32).wrapping_mul(self.queues.len() as u64) >> 32) as u32
    }

    /// The packet at the head of queue `i`, in which one waits, leaves it. `backlog` still counts it.
    #[inline(always)]
    fn take(&mut self, i: u32) -> u32 {
        let queue = &mut self.queues[i as usize];
        let handle = queue.head;
        queue.head = self.behind[handle as usize].0;
        handle
    }

    /// How many packets wait in queue `i`. Counting ends at `most`.
    fn packets(&self, i: u32, most: u32) -> u32 {
        let some = |handle: u32| (handle != NONE).then_some(handle);
        let head = some(self.queues[i as usize].head);
        let all = std::iter::successors(head, |handle| some(self.behind[*handle as usize].0));
        all.take(most as usize).count() as u32
    }

    /// The queue with the most bytes, the arriving packet's among them; one in which something
    /// waits. Of several it is the one with the lowest number. All in which something waits are on
    /// a list.
    fn fattest(&self, arriving: u32) -> u32 {
        let backlog = |i: u32| {
            let more = if i == self.arriving { u64::from(arriving) } else { 0 };
            self.queues[i as usize].backlog + more
        };
        let listed = self.new.all(&self.queues).chain(self.old.all(&self.queues));
        let waiting = listed.filter(|i| self.queues[*i as usize].head != NONE);
        let fatter = |a: &u32, b: &u32| backlog(*a).cmp(&backlog(*b)).then(b.cmp(a));
        waiting.max_by(fatter).expect("something waits")
    }

    /// The next packet to lose: of the queue that is losing packets, or of the fattest, which then
    /// loses half its packets, up to `drop_batch`.
    #[cold]
    fn give_up(&mut self, arriving: u32) -> u32 {
        if self.batch.1 == 0 {
            let fattest = self.fattest(arriving);
            // Of more than that the half is more than may go, so that a drop costs two steps.
            let pkts = self.packets(fattest, 2 * self.drop_batch);
            let half = (pkts + u32::from(fattest == self.arriving)).div_ceil(2);
            self.batch = (fattest, half.min(pkts).min(self.drop_batch));
        }
        self.batch.1 -= 1;
        let handle = self.take(self.batch.0);
        let bytes = self.behind[handle as usize].1;
        self.queues[self.batch.0 as usize].backlog -= u64::from(bytes);
        handle
    }

    /// The link fell idle: it asked for a packet and every queue was empty, so none is on a list
    /// any more (section 4.2).
    #[cold]
    fn unlist(&mut self) {
        for list in [&mut self.new, &mut self.old] {
            while list.len > 0 {
                self.queues[list.first as usize].listed = false;
                list.pop(&mut self.queues);
            }
        }
    }
}

impl Aqm for FqCodel {
    #[inline(always)]
    fn arrive(&mut self, _: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        if q.idle_since.is_some() && self.new.len + self.old.len > 0 {
            self.unlist();
        }
        // Packets of one flow often come in a row.
        let flow = u64::from(pkt.flow);
        if flow != self.flow {
            if self.flow == NOBODY {
                self.perturbation = rng.bits();
            }
            self.flow = flow;
            self.arriving = self.classify(flow);
        }
        Verdict::Pass
    }

    /// Section 4.1: half the packets of the fullest queue, from its head, up to `drop_batch`.
    #[inline(always)]
    fn evict(&mut self, _: Time, pkt: &Packet, q: &Queue, full: bool) -> Option<(u32, Reason)> {
        let room = !full && q.pkts < self.limit;
        if self.batch.1 == 0 && (room || q.pkts == 0) {
            return None;
        }
        Some((self.give_up(pkt.bytes), Reason::Overflow))
    }

    #[inline(always)]
    fn enqueued(&mut self, _: Time, pkt: &Packet, handle: u32) {
        match self.behind.get_mut(handle as usize) {
            Some(place) => *place = (NONE, pkt.bytes),
            None => self.behind.resize(handle as usize + 1, (NONE, pkt.bytes)),
        }
        let i = self.arriving;
        let queue = &mut self.queues[i as usize];
        queue.backlog += u64::from(pkt.bytes);
        // Chosen, not branched to: whether a flow's queue is empty is hard to foresee. `tail` names
        // a place that is there in any case: `behind` never shrinks, and holds this packet's already.
        let last = &mut self.behind[queue.tail as usize].0;
        *(if queue.head == NONE { &mut queue.head } else { last }) = handle;
        queue.tail = handle;
        if !queue.listed {
            queue.listed = true;
            queue.credits = self.quantum;
            self.new.push(&mut self.queues, i);
        }
    }

    /// Section 4.2: new queues before old ones; a queue without credits gets a quantum and goes to
    /// the end of the old ones; an empty one goes from the new to the old, from the old to nowhere.
    #[inline(always)]
    fn next(&mut self, _: Time) -> Option<u32> {
        let FqCodel { queues, behind, new, old, serving, quantum, .. } = self;
        while new.len > 0 {
            let i = new.first;
            let queue = &mut queues[i as usize];
            if queue.credits <= 0 {
                queue.credits += *quantum;
            } else if let Some((behind, _)) = behind.get(queue.head as usize) {
                *serving = i;
                return Some(std::mem::replace(&mut queue.head, *behind));
            }
            new.pop(queues);
            old.push(queues, i);
        }
        while old.len > 0 {
            let i = old.first;
            let queue = &mut queues[i as usize];
            if queue.credits <= 0 {
                queue.credits += *quantum;
                old.turn(queue.next);
            } else if let Some((behind, _)) = behind.get(queue.head as usize) {
                *serving = i;
                return Some(std::mem::replace(&mut queue.head, *behind));
            } else {
                queue.listed = false;
                old.pop(queues);
            }
        }
        None
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
        let capable = self.ecn && pkt.ecn != Ecn::NotEct;
        let queue = &mut self.queues[self.serving as usize];
        queue.backlog -= u64::from(pkt.bytes);
        let verdict = queue.codel.dequeue(&self.control, now, sojourn, queue.backlog, capable);
        if matches!(verdict, Verdict::Drop(_)) {
            return verdict;
        }
        queue.credits -= i64::from(pkt.bytes);
        // Section 5.2.7: beside CoDel, for flows that want a step (DCTCP).
        if capable && self.ce_threshold.is_some_and(|most| sojourn > most) {
            return Verdict::Mark(Level::Ce, Reason::Early);
        }
        verdict
    }

    fn decides_at_departure(&self) -> bool {
        true
    }

    fn schedules(&self) -> bool {
        true
    }

    fn state_bytes(&self) -> usize {
        size_of_val(self) + size_of_val(&*self.queues)
    }

    /// When it came, the packet behind it, and its size.
    fn packet_bytes(&self) -> usize {
        size_of::<Time>() + size_of::<(u32, u32)>()
    }

    /// The queues stay as they are, and as many.
    fn go_on(&mut self, before: Self, _: Time) {
        *self = FqCodel {
            control: self.control.clone(),
            ecn: self.ecn,
            quantum: self.quantum,
            limit: self.limit,
            drop_batch: self.drop_batch,
            ce_threshold: self.ce_threshold,
            ..before
        };
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests;
