//! These tests work queues, rounds and evictions out by hand.

use super::*;

/// A link around the queues: handles are given in order and never again. Packets are of 1000 B.
struct Bench {
    flows: Isolation<()>,
    rng: Rng,
    /// By handle.
    of: Vec<u32>,
    waiting: u32,
    idle: bool,
}

impl Bench {
    fn new(quantum: u64, drop_batch: u32) -> Self {
        let flows = Isolation::new(1024, quantum, Batch { most: drop_batch, halve_bytes: false });
        Bench { flows, rng: Rng::stream(1, "test"), of: vec![], waiting: 0, idle: false }
    }

    /// A packet arrives, for which others are given up until fewer than `limit` wait; their flows.
    fn arrive(&mut self, flow: u32, limit: u32) -> Vec<u32> {
        self.flows.arrives(flow, self.idle, &mut self.rng);
        let mut evicted = vec![];
        while let Some(h) = self.flows.evict(1000, self.waiting >= limit, self.waiting > 0) {
            self.waiting -= 1;
            evicted.push(self.of[h as usize]);
        }
        self.flows.enqueued(1000, self.of.len() as u32);
        self.of.push(flow);
        self.waiting += 1;
        evicted
    }

    fn arrive_all(&mut self, flows: &[u32]) {
        for flow in flows {
            assert!(self.arrive(*flow, u32::MAX).is_empty());
        }
    }

    /// The flow of the packet that goes next.
    fn serve(&mut self) -> Option<u32> {
        let handle = self.flows.turn(|()| {})?;
        self.flows.leaves(1000).sends(1000);
        self.waiting -= 1;
        Some(self.of[handle as usize])
    }

    fn serve_all(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.serve()).collect()
    }
}

/// Quantum 1500 B, packets of 1000 B: credits 1500, 500, −500 → 1000, 0 → 1500, …: two, one,
/// two, … packets a turn.
#[test]
fn rounds_by_hand() {
    let mut b = Bench::new(1500, 64);
    b.arrive_all(&[1, 1, 1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!(b.serve_all(), [1, 1, 2, 2, 1, 2, 1, 1, 2, 1]);
    assert_eq!(b.flows.listed(), (0, 0));
    assert!(b.flows.queues().iter().all(|q| q.packets.bytes == 0 && q.packets.is_empty()));
}

#[test]
fn a_new_flow_goes_first_for_one_quantum() {
    let mut b = Bench::new(2000, 64);
    b.arrive_all(&[1; 8]);
    assert_eq!([b.serve(), b.serve(), b.serve()], [Some(1); 3]);
    b.arrive_all(&[2; 3]);
    // Flow 1 is old, with 1000 B left of its second quantum; flow 2's third packet waits for
    // its second.
    assert_eq!(b.serve_all(), [2, 2, 1, 2, 1, 1, 1, 1]);
}

/// An empty new queue becomes an old one: a flow that sends a packet now and then does not
/// overtake for ever.
#[test]
fn a_queue_is_not_new_again_at_once() {
    let mut b = Bench::new(2000, 64);
    b.arrive_all(&[1, 1, 1, 1, 1, 1, 2]);
    assert_eq!([b.serve(), b.serve(), b.serve(), b.serve()], [Some(1), Some(1), Some(2), Some(1)]);
    b.arrive_all(&[2]); // behind flow 1, which has 1000 B left
    assert_eq!(b.serve_all(), [1, 2, 1, 1]);
}

#[test]
fn an_idle_link_forgets_the_lists() {
    let mut b = Bench::new(1514, 64);
    b.arrive_all(&[1]);
    b.serve();
    assert_eq!(b.flows.listed(), (1, 0));
    b.idle = true;
    b.arrive_all(&[2]);
    assert_eq!(b.flows.listed(), (1, 0));
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
        let mut b = Bench::new(1514, batch);
        b.arrive_all(waiting);
        let got = b.arrive(arriving, waiting.len() as u32);
        assert_eq!(got, evicted, "{waiting:?} + {arriving}, batch {batch}");
        assert_eq!(b.serve_all().len(), waiting.len() + 1 - evicted.len());
    }
}

#[test]
fn flows_spread_over_the_queues() {
    let mut b = Bench::new(1514, 64);
    b.arrive_all(&(0..1024).collect::<Vec<_>>());
    let used = b.flows.queues().iter().filter(|q| !q.packets.is_empty()).count();
    // 1024 balls in 1024 bins leave 1024/e = 377 empty, give or take 10.
    assert!((597..=697).contains(&used), "{used}");
}

/// ns-3's FQ-CoDel and FQ-PIE suites, the case of the deficits: a quantum of 90 B, packets of 120 B
/// of A (flow 1), then of B (flow 2); the credits of both after each departure.
#[test]
fn credits_as_in_ns_3() {
    let batch = Batch { most: 64, halve_bytes: false };
    let mut flows: Isolation<()> = Isolation::new(1024, 90, batch);
    let mut rng = Rng::stream(1, "test");
    let mut handle = 0;
    let mut comes = |flows: &mut Isolation<()>, flow| {
        flows.arrives(flow, false, &mut rng);
        flows.enqueued(120, handle);
        handle += 1;
        flows.arriving as usize
    };
    let a = comes(&mut flows, 1);
    assert!(flows.turn(|()| {}).is_some());
    flows.leaves(120).sends(120);
    assert_eq!(flows.queues()[a].credits, -30);
    let b = [1, 1, 2, 2].map(|flow| comes(&mut flows, flow))[3];
    for want in [(60, -30), (-60, 60), (30, -60), (-90, 30)] {
        assert!(flows.turn(|()| {}).is_some());
        flows.leaves(120).sends(120);
        assert_eq!((flows.queues()[a].credits, flows.queues()[b].credits), want);
    }
    assert_eq!(flows.turn(|()| {}), None);
    assert_eq!((flows.queues()[a].credits, flows.queues()[b].credits), (90, 30));
    assert_eq!(flows.listed(), (0, 0));
}
