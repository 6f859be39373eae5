//! Queues, rounds and evictions by hand.

use super::*;
use crate::testing::context;

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
    fn new(params: &FqCodelParams) -> Self {
        let fq = FqCodel::new(params, &context()).unwrap();
        let q = Queue { pkts: 0, bytes: 0, idle_since: None };
        Bench { fq, rng: Rng::stream(1, "test"), q, flows: vec![], now: Time::ZERO }
    }

    /// A packet of 1000 B arrives; what is evicted for it.
    fn arrive(&mut self, flow: u32, full: bool) -> Vec<u32> {
        let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow, class: 0 };
        let _ = self.fq.arrive(self.now, &pkt, &self.q, &mut self.rng);
        let mut evicted = vec![];
        while let Some((h, _)) = self.fq.evict(self.now, &pkt, &self.q, full && evicted.is_empty())
        {
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

fn quantum(bytes: u64) -> FqCodelParams {
    let mut params = FqCodelParams::default();
    params.own.quantum = Bytes(bytes);
    params
}

/// Quantum 1500 B, packets of 1000 B: credits 1500, 500, −500 → 1000, 0 → 1500, …: two, one,
/// two, … packets a turn.
#[test]
fn rounds_by_hand() {
    let mut b = Bench::new(&quantum(1500));
    for flow in [1, 1, 1, 1, 1, 1, 2, 2, 2, 2] {
        b.arrive(flow, false);
    }
    assert_eq!(b.serve_all(), [1, 1, 2, 2, 1, 2, 1, 1, 2, 1]);
    assert_eq!((b.fq.new.len, b.fq.old.len), (0, 0));
    assert!(b.fq.queues.iter().all(|queue| queue.backlog == 0));
}

#[test]
fn a_new_flow_goes_first_for_one_quantum() {
    let mut b = Bench::new(&quantum(2000));
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
    let mut b = Bench::new(&quantum(2000));
    for flow in [1, 1, 1, 1, 1, 1, 2] {
        b.arrive(flow, false);
    }
    assert_eq!([b.serve(), b.serve(), b.serve(), b.serve()], [Some(1), Some(1), Some(2), Some(1)]);
    b.arrive(2, false); // behind flow 1, which has 1000 B left
    assert_eq!(b.serve_all(), [1, 2, 1, 1]);
}

#[test]
fn a_ce_threshold_marks_besides_codel() {
    let mut params = FqCodelParams::default();
    params.own.ce_threshold = Some(Duration::from_millis(1));
    let mut b = Bench::new(&params);
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
    let mut b = Bench::new(&FqCodelParams::default());
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
        (64, &[1, 1, 1, 1, 2, 2][..], 2, &[1, 1][..]),
        (64, &[1, 1, 1, 1, 2, 2], 1, &[1, 1, 1]),
        (1, &[1, 1, 1, 1, 2, 2], 1, &[1]),
        (64, &[1], 2, &[1]),
        (64, &[1], 1, &[1]),
    ] {
        let limit = waiting.len() as u32;
        for (limit, full) in [(limit, false), (10240, true)] {
            let mut params = FqCodelParams::default();
            (params.own.drop_batch, params.own.limit) = (batch, limit);
            let mut b = Bench::new(&params);
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
    let mut b = Bench::new(&FqCodelParams::default());
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
    let mut b = Bench::new(&FqCodelParams::default());
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
