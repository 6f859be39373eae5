//! FQ-CoDel. RFC 8290: packets are hashed by flow into queues, deficit round robin serves the
//! queues by bytes, those of sparse flows first, and each queue runs its own CoDel (RFC 8289, in
//! [`crate::codel`]).
//!
//! Settled here: the hash's perturbation (section 4.1.1) is drawn from the discipline's random
//! stream at the first packet. CoDel's "nothing waits behind" looks at the packet's own queue, as
//! RFC 8289's does; Linux looks at all. When the total is at its limit (`limit`, or the link's
//! buffer, whichever is reached first) packets go before the arriving one enters, instead of after;
//! it counts in its queue, and is dropped itself only where nothing else waits.

use crate::codel::{Control, Vars};
use crate::{Aqm, Discipline, Ecn, Kind, Level, Packet, Queue, Reason, State, Verdict};
use penstock_units::param::{int, Param, ParamError, Ty, PARAM};
use penstock_units::{Duration, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "fq-codel",
    doc: "Flow queueing with CoDel on each queue: flows share the link fairly, sparse ones go first.",
    source: "RFC 8290",
    equations: "arrival:    queue i = hash(flow) mod flows; at the limit the fullest queue loses half its packets (at most drop_batch) from its head\n\
        departure:  new queues before old ones, each quantum bytes a round (deficit round robin)\n\
        each queue: CoDel, on its own packets",
    expect: "Flows share the link equally, whatever they send; a flow that sends less than its share (DNS, SYN, \
        voice) passes the standing queues of the others. Each long flow has its own 5 ms of queue. In the \
        figure five flows share what is held, and each has its own row of signals, so their share is five \
        times CoDel's. An unresponsive flow harms itself only.",
    weaknesses: "Fairness counts flows: who opens ten has ten shares, and a tunnel is one flow. Flows that fall into \
        one of the 1024 queues share it. CoDel's 5 ms hold for each queue, so the total delay of a packet \
        grows with the number of busy flows. It needs more state than any other here: a queue a flow and the \
        order of all packets.",
    params: &[PARAMS, crate::codel::PARAMS],
    state: &[
        State { name: "new_queues", doc: "Queues on the list of new ones." },
        State { name: "old_queues", doc: "Queues on the list of old ones." },
    ],
    // Section 5.2.6: on by default.
    defaults: &[("ecn", "true")],
    ns2: &[],
    build: |v, _| {
        let quantum = v.size("quantum").0;
        if !(256..=1 << 20).contains(&quantum) {
            return Err(ParamError::new("quantum", "must be in [256 B, 1048576 B]"));
        }
        let flows = v.int("flows") as usize;
        Ok(Discipline::FqCodel(FqCodel {
            control: Control::new(v)?,
            ecn: v.bool("ecn"),
            quantum: quantum as i64,
            limit: v.int("limit") as u32,
            drop_batch: v.int("drop_batch") as u32,
            ce_threshold: v.opt_duration("ce_threshold"),
            perturbation: None,
            queues: vec![FlowQueue::default(); flows],
            backlog: vec![0; flows],
            behind: vec![],
            new: List::default(),
            old: List::default(),
            arriving: 0,
            serving: 0,
            batch: (0, 0),
        }))
    },
};

const PARAMS: &[Param] = &[
    Param {
        name: "flows",
        ty: int(1, 65_536),
        unit: "1",
        default: Some("1024"),
        source: "RFC 8290, section 5.2.4",
        doc: "Number of queues.",
        ..PARAM
    },
    Param {
        name: "quantum",
        ty: Ty::Size,
        default: Some("\"1514 B\""),
        source: "RFC 8290, section 5.2.3; at least 256 B as in Linux",
        doc: "Bytes that a queue may send in a round.",
        ..PARAM
    },
    Param {
        name: "limit",
        ty: int(1, 1_000_000),
        unit: "packets",
        default: Some("10240"),
        source: "RFC 8290, section 5.2.2",
        doc: "Packets in all queues together; the link's buffer holds beside it, the smaller one counts.",
        ..PARAM
    },
    Param {
        name: "drop_batch",
        ty: int(1, 65_536),
        unit: "packets",
        default: Some("64"),
        source: "RFC 8290, section 4.1",
        doc: "At the limit the fullest queue loses half its packets, but no more than this.",
        ..PARAM
    },
    Param {
        name: "ce_threshold",
        ty: Ty::Duration,
        auto: "none",
        source: "RFC 8290, section 5.2.7",
        doc: "Besides what CoDel marks, mark every capable packet that has waited longer than this.",
        ..PARAM
    },
];

/// No packet, no queue.
const NONE: u32 = u32::MAX;

/// One flow's queue: packets in a chain from the head, and its place on a list.
#[derive(Clone, Debug)]
struct FlowQueue {
    head: u32,
    tail: u32,
    pkts: u32,
    /// The next queue on the same list.
    next: u32,
    listed: bool,
    credits: i64,
    codel: Vars,
}

impl Default for FlowQueue {
    fn default() -> Self {
        FlowQueue {
            head: NONE,
            tail: NONE,
            pkts: 0,
            next: NONE,
            listed: false,
            credits: 0,
            codel: Vars::default(),
        }
    }
}

/// A list of queues in the order of service.
#[derive(Clone, Debug)]
struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for List {
    fn default() -> Self {
        List { head: NONE, tail: NONE, len: 0 }
    }
}

impl List {
    fn push(&mut self, queues: &mut [FlowQueue], i: u32) {
        queues[i as usize].next = NONE;
        if self.head == NONE {
            self.head = i;
        } else {
            queues[self.tail as usize].next = i;
        }
        self.tail = i;
        self.len += 1;
    }

    fn pop(&mut self, queues: &[FlowQueue]) -> u32 {
        let i = self.head;
        self.head = queues[i as usize].next;
        self.len -= 1;
        i
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
    perturbation: Option<u64>,
    queues: Vec<FlowQueue>,
    /// Bytes of each queue, apart so that the largest is found in one short walk.
    backlog: Vec<u64>,
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
    fn classify(&self, flow: u32, perturbation: u64) -> u32 {
        let mut h = perturbation ^ u64::from(flow);
        h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((h ^ (h >> 31)) >> 32).wrapping_mul(self.queues.len() as u64) >> 32) as u32
    }

    /// The packet at the head of queue `i`.
    fn take(&mut self, i: u32) -> u32 {
        let queue = &mut self.queues[i as usize];
        let handle = queue.head;
        let (next, bytes) = self.behind[handle as usize];
        queue.head = next;
        queue.pkts -= 1;
        self.backlog[i as usize] -= u64::from(bytes);
        handle
    }

    /// The queue with the most bytes, the arriving packet's among them; one in which something
    /// waits.
    fn fattest(&mut self, arriving: u32) -> u32 {
        let largest = |backlog: &[u64]| {
            let most = backlog.iter().copied().max().expect("at least one queue");
            backlog.iter().position(|b| *b == most).expect("the largest") as u32
        };
        self.backlog[self.arriving as usize] += u64::from(arriving);
        let fattest = largest(&self.backlog);
        self.backlog[self.arriving as usize] -= u64::from(arriving);
        if self.queues[fattest as usize].pkts > 0 {
            fattest
        } else {
            largest(&self.backlog)
        }
    }

    /// The link fell idle: it asked for a packet and every queue was empty, so none is on a list
    /// any more (section 4.2).
    #[cold]
    fn unlist(&mut self) {
        for list in [&mut self.new, &mut self.old] {
            while list.head != NONE {
                let i = list.pop(&self.queues);
                self.queues[i as usize].listed = false;
            }
        }
    }
}

impl Aqm for FqCodel {
    fn arrive(&mut self, _: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        if q.idle_since.is_some() && self.new.len + self.old.len > 0 {
            self.unlist();
        }
        let perturbation = *self.perturbation.get_or_insert_with(|| rng.bits());
        self.arriving = self.classify(pkt.flow, perturbation);
        Verdict::Pass
    }

    /// Section 4.1: half the packets of the fullest queue, from its head, up to `drop_batch`.
    fn evict(&mut self, _: Time, pkt: &Packet, q: &Queue, full: bool) -> Option<u32> {
        if self.batch.1 == 0 {
            if q.pkts == 0 || !full && q.pkts < self.limit {
                return None;
            }
            let fattest = self.fattest(pkt.bytes);
            let pkts = self.queues[fattest as usize].pkts;
            let half = (pkts + u32::from(fattest == self.arriving)).div_ceil(2);
            self.batch = (fattest, half.min(pkts).min(self.drop_batch));
        }
        self.batch.1 -= 1;
        Some(self.take(self.batch.0))
    }

    fn enqueued(&mut self, _: Time, pkt: &Packet, handle: u32) {
        if self.behind.len() <= handle as usize {
            self.behind.resize(handle as usize + 1, (NONE, 0));
        }
        self.behind[handle as usize] = (NONE, pkt.bytes);
        let i = self.arriving;
        self.backlog[i as usize] += u64::from(pkt.bytes);
        let queue = &mut self.queues[i as usize];
        if queue.pkts == 0 {
            queue.head = handle;
        } else {
            self.behind[queue.tail as usize].0 = handle;
        }
        queue.tail = handle;
        queue.pkts += 1;
        if !queue.listed {
            queue.listed = true;
            queue.credits = self.quantum;
            self.new.push(&mut self.queues, i);
        }
    }

    /// Section 4.2: new queues before old ones; a queue without credits gets a quantum and goes to
    /// the end of the old ones; an empty one goes from the new to the old, from the old to nowhere.
    fn next(&mut self, _: Time) -> Option<u32> {
        loop {
            let is_new = self.new.head != NONE;
            let list = if is_new { &mut self.new } else { &mut self.old };
            let i = list.head;
            if i == NONE {
                return None;
            }
            let queue = &mut self.queues[i as usize];
            if queue.credits <= 0 {
                queue.credits += self.quantum;
                list.pop(&self.queues);
                self.old.push(&mut self.queues, i);
            } else if queue.pkts > 0 {
                self.serving = i;
                return Some(self.take(i));
            } else {
                queue.listed = is_new;
                list.pop(&self.queues);
                if is_new {
                    self.old.push(&mut self.queues, i);
                }
            }
        }
    }

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
        let behind = self.backlog[self.serving as usize];
        let verdict = queue.codel.dequeue(&self.control, now, sojourn, behind, capable);
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

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("new_queues", f64::from(self.new.len));
        out("old_queues", f64::from(self.old.len));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::{context, values};

    /// A link around FQ-CoDel: handles are given in order and never again; flows are told apart by
    /// the handle's hundreds.
    struct Bench {
        fq: FqCodel,
        rng: Rng,
        q: Queue,
        flows: Vec<u32>,
        now: Time,
    }

    impl Bench {
        fn new(set: &[(&'static str, &str)]) -> Self {
            let fq = match (KIND.build)(&values(&KIND, set), &context()).unwrap() {
                Discipline::FqCodel(f) => f,
                _ => unreachable!(),
            };
            let q = Queue { pkts: 0, bytes: 0, idle_since: None };
            Bench { fq, rng: Rng::stream(1, "test"), q, flows: vec![], now: Time::ZERO }
        }

        /// A packet of 1000 B arrives; what is evicted for it.
        fn arrive(&mut self, flow: u32, full: bool) -> Vec<u32> {
            let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow, class: 0 };
            let _ = self.fq.arrive(self.now, &pkt, &self.q, &mut self.rng);
            let mut evicted = vec![];
            while let Some(h) = self.fq.evict(self.now, &pkt, &self.q, full && evicted.is_empty()) {
                self.q.pkts -= 1;
                evicted.push(self.flows[h as usize]);
            }
            self.fq.enqueued(self.now, &pkt, self.flows.len() as u32);
            self.flows.push(flow);
            self.q.pkts += 1;
            evicted
        }

        /// The flow of the packet that goes next.
        fn serve(&mut self) -> Option<u32> {
            let handle = self.fq.next(self.now)?;
            let flow = self.flows[handle as usize];
            let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow, class: 0 };
            assert_eq!(
                self.fq.depart(self.now, &pkt, Duration::ZERO, &self.q, &mut self.rng),
                Verdict::Pass
            );
            self.q.pkts -= 1;
            Some(flow)
        }

        fn serve_all(&mut self) -> Vec<u32> {
            std::iter::from_fn(|| self.serve()).collect()
        }
    }

    /// Quantum 1500 B, packets of 1000 B: credits 1500, 500, −500 → 1000, 0 → 1500, …: two, one,
    /// two, … packets a turn.
    #[test]
    fn rounds_by_hand() {
        let mut b = Bench::new(&[("quantum", "\"1500 B\"")]);
        for flow in [1, 1, 1, 1, 1, 1, 2, 2, 2, 2] {
            b.arrive(flow, false);
        }
        assert_eq!(b.serve_all(), [1, 1, 2, 2, 1, 2, 1, 1, 2, 1]);
        assert_eq!((b.fq.new.len, b.fq.old.len), (0, 0));
        assert!(b.fq.backlog.iter().all(|bytes| *bytes == 0));
    }

    #[test]
    fn a_new_flow_goes_first_for_one_quantum() {
        let mut b = Bench::new(&[("quantum", "\"2000 B\"")]);
        for _ in 0..8 {
            b.arrive(1, false);
        }
        assert_eq!([b.serve(), b.serve(), b.serve()], [Some(1); 3]);
        for _ in 0..3 {
            b.arrive(2, false);
        }
        // Flow 1 is old, with 1000 B left of its second quantum; flow 2's third packet waits for
        // its second.
        assert_eq!(b.serve_all(), [2, 2, 1, 2, 1, 1, 1, 1]);
    }

    /// An empty new queue becomes an old one: a flow that sends a packet now and then does not
    /// overtake for ever.
    #[test]
    fn a_queue_is_not_new_again_at_once() {
        let mut b = Bench::new(&[("quantum", "\"2000 B\"")]);
        for flow in [1, 1, 1, 1, 1, 1, 2] {
            b.arrive(flow, false);
        }
        assert_eq!(
            [b.serve(), b.serve(), b.serve(), b.serve()],
            [Some(1), Some(1), Some(2), Some(1)]
        );
        b.arrive(2, false); // behind flow 1, which has 1000 B left
        assert_eq!(b.serve_all(), [1, 2, 1, 1]);
    }

    #[test]
    fn a_ce_threshold_marks_besides_codel() {
        let mut b = Bench::new(&[("ce_threshold", "\"1 ms\"")]);
        let mark = Verdict::Mark(Level::Ce, Reason::Early);
        for (us, ecn, want) in [
            (1000, Ecn::Ect0, Verdict::Pass),
            (1001, Ecn::Ect0, mark),
            (1001, Ecn::NotEct, Verdict::Pass),
        ] {
            b.arrive(1, false);
            let _ = b.fq.next(b.now);
            let pkt = Packet { bytes: 1000, ecn, flow: 1, class: 0 };
            assert_eq!(
                b.fq.depart(b.now, &pkt, Duration::from_micros(us), &b.q, &mut b.rng),
                want,
                "{us} {ecn:?}"
            );
        }
    }

    #[test]
    fn an_idle_link_forgets_the_lists() {
        let mut b = Bench::new(&[]);
        b.arrive(1, false);
        b.serve();
        assert_eq!((b.fq.new.len, b.fq.old.len), (1, 0));
        b.q.idle_since = Some(Time::ZERO);
        b.arrive(2, false);
        assert_eq!((b.fq.new.len, b.fq.old.len), (1, 0));
        assert_eq!(b.serve_all(), [2]);
    }

    /// Half of the fullest queue, the arriving packet counted, from the head; at most a batch;
    /// never the arriving packet.
    #[test]
    fn the_fullest_queue_pays() {
        for (batch, waiting, arriving, evicted) in [
            ("64", &[1, 1, 1, 1, 2, 2][..], 2, &[1, 1][..]),
            ("64", &[1, 1, 1, 1, 2, 2], 1, &[1, 1, 1]),
            ("1", &[1, 1, 1, 1, 2, 2], 1, &[1]),
            ("64", &[1], 2, &[1]),
            ("64", &[1], 1, &[1]),
        ] {
            let limit = waiting.len().to_string();
            for (limit, full) in [(limit.as_str(), false), ("10240", true)] {
                let mut b = Bench::new(&[("drop_batch", batch), ("limit", limit)]);
                for flow in waiting {
                    assert!(b.arrive(*flow, false).is_empty());
                }
                assert_eq!(
                    b.arrive(arriving, full),
                    evicted,
                    "{waiting:?} + {arriving}, batch {batch}"
                );
                let left = b.serve_all().len();
                assert_eq!(left, waiting.len() + 1 - evicted.len());
            }
        }
    }

    /// Two queues out of phase: CoDel of one does not see the other.
    #[test]
    fn each_queue_has_its_own_codel() {
        let mut b = Bench::new(&[]);
        let at = |ms| Time::from_nanos(ms * 1_000_000);
        for flow in [1, 1, 1, 1, 1, 1, 1, 1, 2] {
            b.arrive(flow, false);
        }
        let mut verdicts = vec![];
        for ms in [50, 50, 50, 160, 160] {
            let handle = b.fq.next(at(ms)).unwrap();
            let flow = b.flows[handle as usize];
            let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow, class: 0 };
            let v = b.fq.depart(at(ms), &pkt, Duration::from_millis(ms), &b.q, &mut b.rng);
            verdicts.push((flow, v != Verdict::Pass));
        }
        assert_eq!(verdicts, [(1, false), (1, false), (2, false), (1, true), (1, false)]);
    }

    #[test]
    fn flows_spread_over_the_queues() {
        let mut b = Bench::new(&[]);
        let mut used: Vec<u32> = (0..1024)
            .map(|flow| {
                b.arrive(flow, false);
                b.fq.arriving
            })
            .collect();
        used.sort_unstable();
        used.dedup();
        // 1024 balls in 1024 bins leave 1024/e = 377 empty, give or take 10.
        assert!((597..=697).contains(&used.len()), "{}", used.len());
    }
}
