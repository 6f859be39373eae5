//! A probe runs a discipline by itself, in an open loop. The queue is held at a length whatever the
//! discipline does to it, and its drops and marks are counted. No sender answers, so this is the
//! discipline's own curve from the queue to a signal, at the start and after a while.
//!
//! The link sends without a pause, and with each packet that it takes another arrives: both see
//! `queue` packets that wait. The queue stands from time 0 on. What the discipline drops is made
//! good at once.

use crate::aqm::{Aqm, Service, Turn};
use crate::driver::{Driver, Line};
use crate::packet::{Packet, Queue};
use crate::verdict::Reason;
use penstock_units::{Duration, QueueLen, Rate, Rng, Time};
use penstock_units::{Ecn, Level};
use std::collections::VecDeque;

/// The queue that is held, and who fills it.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Packets that wait.
    pub queue: u32,
    /// The queue length that may wait: an arrival that finds no room is dropped.
    pub buffer: QueueLen,
    /// The link's rate.
    pub rate: Rate,
    /// Arrivals over what the link was said to carry; departures keep pace.
    pub load: f64,
    /// Every packet's size.
    pub bytes: u32,
    /// Every packet's ECN field.
    pub ecn: Ecn,
    /// Flows, of which each sends the same.
    pub flows: u32,
}

/// Counts of what became of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them.
    pub packets: u64,
    /// Marked for incipient congestion.
    pub incipient: u64,
    /// Marked CE.
    pub ce: u64,
    /// Dropped, whatever for.
    pub dropped: u64,
}

impl Counts {
    /// A packet that arrived with `before` in its ECN field is sent with `after`.
    fn sent(&mut self, before: Ecn, after: Ecn) {
        if after == before {
            return;
        }
        match if after == Ecn::Ce { Level::Ce } else { Level::Incipient } {
            Level::Incipient => self.incipient += 1,
            Level::Ce => self.ce += 1,
        }
    }

    fn add(&mut self, other: &Counts) {
        self.packets += other.packets;
        self.incipient += other.incipient;
        self.ce += other.ce;
        self.dropped += other.dropped;
    }
}

/// Counts into `sums` what `aqm`, fresh from the start, does to packets in each of the windows:
/// when it begins, and how long it is.
pub fn probe(
    aqm: &mut dyn Aqm,
    rng: Rng,
    held: &Held,
    windows: &[(Duration, Duration)],
    sums: &mut [Counts],
) {
    let gap = Duration::from_secs_f64(
        8.0 * f64::from(held.bytes) / (held.rate.as_bps() as f64 * held.load),
    );
    let mut bench = Bench::new(aqm, rng, *held, gap);
    let end = windows.iter().map(|(from, long)| *from + *long).max().unwrap_or_default();
    let mut now = Time::ZERO;
    while now < Time::ZERO + end {
        let counts = bench.step(now);
        for ((from, long), sum) in windows.iter().zip(&mut *sums) {
            if now >= Time::ZERO + *from && now < Time::ZERO + *from + *long {
                sum.add(&counts);
            }
        }
        now += gap;
    }
}

/// The packets that are held.
enum Waiting {
    /// The packets are all alike, and there are always as many. The discipline knows none of them.
    Alike,
    /// The packets stand in the order of their arrival: flow and time. The handle is the place.
    /// There are always as many: a packet that leaves or is evicted is made good, whatever the
    /// discipline does to arrivals.
    Fifo(VecDeque<(u32, Time)>),
    /// The packets leave in the discipline's order: flow and time by handle, and the handles that
    /// are free.
    Places { places: Vec<(u32, Time)>, free: Vec<u32> },
}

struct Shelf {
    held: Held,
    gap: Duration,
    /// There is no room for one more than the held queue.
    full: bool,
    q: Queue,
    arrivals: u32,
    waiting: Waiting,
    evicted: u64,
    /// The packets that this dequeue dropped at the head.
    dropped_at_the_head: u64,
}

impl Shelf {
    fn packet(&self, flow: u32) -> Packet {
        Packet { bytes: self.held.bytes, ecn: self.held.ecn, flow, class: 0 }
    }

    fn leaves(&mut self) {
        self.q.pkts -= 1;
        self.q.bytes -= u64::from(self.held.bytes);
    }

    /// Returns the handle of the packet that is let in.
    fn enter(&mut self, flow: u32, now: Time) -> u32 {
        if matches!(self.waiting, Waiting::Places { .. }) {
            self.q.pkts += 1;
            self.q.bytes += u64::from(self.held.bytes);
        }
        match &mut self.waiting {
            Waiting::Alike => 0,
            Waiting::Fifo(line) => {
                line.push_back((flow, now));
                0
            }
            Waiting::Places { places, free } => {
                let handle = free.pop().unwrap_or(places.len() as u32);
                if handle as usize == places.len() {
                    places.push((flow, now));
                }
                places[handle as usize] = (flow, now);
                handle
            }
        }
    }
}

impl Line for Shelf {
    type Waiting = ();

    fn queue(&self) -> &Queue {
        &self.q
    }

    fn full(&self, _: &Packet) -> bool {
        self.full && self.q.pkts >= self.held.queue
    }

    fn draw(&self, rng: &mut Rng) -> Option<(u32, Packet)> {
        let Waiting::Fifo(line) = &self.waiting else { return None };
        let place = (rng.unit() * line.len() as f64) as usize;
        line.get(place).map(|(flow, _)| (place as u32, self.packet(*flow)))
    }

    fn evict(&mut self, now: Time, handle: u32, _: Reason) {
        // The flow whose turn it is.
        let next = self.arrivals % self.held.flows.max(1);
        match &mut self.waiting {
            Waiting::Alike => return,
            Waiting::Fifo(line) => line[handle as usize] = (next, now),
            Waiting::Places { free, .. } => {
                free.push(handle);
                self.leaves();
            }
        }
        self.evicted += 1;
    }

    fn take(&mut self, now: Time, handle: Option<u32>) -> Option<(Packet, Time, ())> {
        let (flow, since) = match (&mut self.waiting, handle) {
            (Waiting::Alike, _) => {
                // There are no more than wait.
                if self.dropped_at_the_head > u64::from(self.held.queue) {
                    return None;
                }
                // It waited while those before it left, or from the start.
                let ticks = self.gap.as_ticks().saturating_mul(u64::from(self.held.queue));
                (self.arrivals % self.held.flows.max(1), now.before(Duration::from_ticks(ticks)))
            }
            (Waiting::Fifo(line), _) => {
                let first = line.pop_front()?;
                if line.len() < self.held.queue as usize {
                    line.push_back((first.0, now));
                }
                first
            }
            (Waiting::Places { places, free }, handle) => {
                free.push(handle?);
                places[handle? as usize]
            }
        };
        if matches!(self.waiting, Waiting::Places { .. }) {
            self.leaves();
        }
        Some((self.packet(flow), since, ()))
    }

    fn drop_head(&mut self, _: Time, (): (), _: Reason) {
        self.dropped_at_the_head += 1;
    }
}

/// A held queue with a discipline in front of it.
struct Bench<'a, A: ?Sized> {
    aqm: &'a mut A,
    driver: Driver,
    line: Shelf,
}

impl<'a, A: Aqm + ?Sized> Bench<'a, A> {
    fn new(aqm: &'a mut A, rng: Rng, held: Held, gap: Duration) -> Self {
        let driver = Driver::of(aqm, rng);
        let bytes = u64::from(held.bytes);
        let one_more = u64::from(held.queue) + 1;
        let full = match held.buffer {
            QueueLen::Packets(limit) => one_more as f64 > limit,
            QueueLen::Bytes(limit) => one_more * bytes > limit,
        };
        let waiting = match driver.service() {
            Service::Orders => Waiting::Places { places: vec![], free: vec![] },
            Service::Draws => {
                let flows = held.flows.max(1);
                Waiting::Fifo((0..held.queue).map(|i| (i % flows, Time::ZERO)).collect())
            }
            Service::AtArrival | Service::AtDeparture => Waiting::Alike,
        };
        let pkts = if matches!(waiting, Waiting::Places { .. }) { 0 } else { held.queue };
        let q = Queue { pkts, bytes: u64::from(pkts) * bytes, idle_since: None };
        let line =
            Shelf { held, gap, full, q, arrivals: 0, waiting, evicted: 0, dropped_at_the_head: 0 };
        let mut bench = Bench { aqm, driver, line };
        if bench.driver.service() == Service::AtDeparture {
            // What will leave has come: a discipline may count both.
            let full = std::mem::take(&mut bench.line.full);
            for _ in 0..held.queue {
                bench.arrive(Time::ZERO, &mut Counts::default());
            }
            bench.line.full = full;
        }
        bench.fill(Time::ZERO, &mut Counts::default());
        bench
    }

    /// A packet comes and a packet goes.
    fn step(&mut self, now: Time) -> Counts {
        while let Some(due) = self.aqm.next_tick().filter(|due| *due <= now) {
            self.aqm.tick(due, &self.line.q);
        }
        let mut counts = Counts::default();
        let let_in = self.arrive(now, &mut counts);
        if self.driver.service().is_eager() {
            self.depart(now, let_in, &mut counts);
        }
        self.fill(now, &mut counts);
        counts
    }

    /// Makes one dequeue. A packet that is dropped at the head makes room, and the next packet
    /// follows.
    fn depart(&mut self, now: Time, let_in: bool, counts: &mut Counts) {
        self.line.dropped_at_the_head = 0;
        let served = self.driver.serve(self.aqm, now, &mut self.line);
        let dropped = self.line.dropped_at_the_head;
        let alike = matches!(self.line.waiting, Waiting::Alike);
        // Where packets are alike, each stands for one that came, which counts once.
        if let_in || !alike {
            counts.dropped += dropped;
            if let Turn::Packet(((), ecn)) = served {
                counts.sent(self.line.held.ecn, ecn);
            }
        }
        if alike {
            for _ in 0..dropped {
                self.arrive(now, counts);
            }
        }
    }

    /// Fills the queue up to the held length again, where the discipline orders the packets.
    fn fill(&mut self, now: Time, counts: &mut Counts) {
        let held = self.line.held.queue;
        let missing = held - self.line.q.pkts.min(held);
        for _ in 0..missing {
            self.arrive(now, counts);
        }
    }

    /// Returns whether the packet was let in.
    fn arrive(&mut self, now: Time, counts: &mut Counts) -> bool {
        let flow = self.line.arrivals % self.line.held.flows.max(1);
        self.line.arrivals = self.line.arrivals.wrapping_add(1);
        let pkt = self.line.packet(flow);
        counts.packets += 1;
        let entry = self.driver.arrive(self.aqm, now, &pkt, &mut self.line);
        let evicted = std::mem::take(&mut self.line.evicted);
        counts.dropped += evicted;
        if matches!(self.line.waiting, Waiting::Fifo(_)) {
            counts.packets += evicted; // those that make them good
        }
        match entry {
            Err(_) => counts.dropped += 1,
            Ok(ecn) => {
                counts.sent(pkt.ecn, ecn);
                let handle = self.line.enter(flow, now);
                self.driver.enqueued(self.aqm, now, &pkt, handle);
            }
        }
        entry.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind;
    use crate::testing::build;

    const ECT: Held = Held {
        queue: 0,
        buffer: QueueLen::Packets(100.0),
        rate: Rate::from_bps(10_000_000).expect("not zero"),
        load: 1.0,
        bytes: 1000,
        ecn: Ecn::Ect0,
        flows: 5,
    };

    /// Counts what becomes of packets in the second that begins `from` seconds after the start:
    /// `runs` times 1250 of them.
    fn counts(
        name: &str,
        set: &[(&'static str, &'static str)],
        held: Held,
        from: u64,
        runs: u64,
    ) -> Counts {
        let mut sums = [Counts::default()];
        let window = [(Duration::from_secs(from), Duration::from_secs(1))];
        for seed in 0..runs {
            let mut d = build(kind(name).unwrap(), set).unwrap();
            probe(&mut *d, Rng::stream(seed, "aqm/probe"), &held, &window, &mut sums);
        }
        sums[0]
    }

    fn near(got: u64, share: f64, of: u64) {
        let got = got as f64 / of as f64;
        assert!((got - share).abs() < 0.05 * share, "{got} {share}");
    }

    const RAMP: [(&str, &str); 3] = [("min_th", "5"), ("max_th", "15"), ("w_q", "1")];

    /// The average is the queue, p_b = 0.05 at 10 packets: gaps are uniform on 1…19, so every tenth
    /// packet is signalled.
    #[test]
    fn red_signals_at_its_gates_rate() {
        let set = [&RAMP[..], &[("ecn", "true")]].concat();
        let c = counts("red", &set, Held { queue: 10, ..ECT }, 0, 40);
        assert_eq!((c.packets, c.incipient, c.dropped), (50_000, 0, 0));
        near(c.ce, 0.1, c.packets);
        let c = counts("red", &set, Held { queue: 10, ecn: Ecn::NotEct, ..ECT }, 0, 40);
        assert_eq!((c.incipient, c.ce), (0, 0));
        near(c.dropped, 0.1, c.packets);
    }

    /// p1 = 0.07 and p2 = 0.04 at 12 packets, with independent coins: 0.04 moderate, 0.96·0.07
    /// incipient.
    #[test]
    fn mecn_marks_two_levels() {
        let set = [&RAMP[..], &[("mid_th", "10"), ("gate", "\"geometric\"")]].concat();
        let c = counts("mecn", &set, Held { queue: 12, ..ECT }, 0, 100);
        assert_eq!(c.dropped, 0);
        near(c.incipient, 0.0672, c.packets);
        near(c.ce, 0.04, c.packets);
    }

    #[test]
    fn droptail_drops_what_finds_no_room_and_nothing_else() {
        for (queue, buffer, dropped) in [
            (99, QueueLen::Packets(100.0), 0),
            (100, QueueLen::Packets(100.0), 1250),
            (99, QueueLen::Bytes(99_999), 1250),
        ] {
            let c = counts("droptail", &[], Held { queue, buffer, ..ECT }, 0, 1);
            assert_eq!(
                c,
                Counts { packets: 1250, incipient: 0, ce: 0, dropped },
                "{queue} {buffer:?}"
            );
        }
    }

    /// 6 packets wait 4.8 ms, 7 wait 5.6 ms. Those are above the target for 100 ms at 105.6 ms;
    /// there the first mark is made, the others at gaps of 100 ms/√k: 105.6 ms + 100 ms·Σ 1/√k is
    /// 989.1 ms at the 27th, 1008.4 ms at the 28th.
    #[test]
    fn codel_goes_by_the_delay_and_by_the_time() {
        let marks = |name, set, queue| counts(name, set, Held { queue, ..ECT }, 0, 1).ce;
        let ecn = [("ecn", "true")];
        assert_eq!(marks("codel", &ecn, 6), 0);
        assert_eq!(marks("codel", &ecn, 7), 27);
        // Without ECN the packet behind a dropped one follows at once: one more packet, one drop.
        let c = counts("codel", &[], Held { queue: 7, ..ECT }, 0, 1);
        assert_eq!((c.packets, c.dropped), (1250 + 27, 27));
        // Five flows, each with its own CoDel, and packets of the size of a quantum, so that turns
        // are even.
        let set = [("quantum", "\"1000 B\"")];
        assert_eq!(marks("fq-codel", &set, 35), 5 * 27);
    }

    /// Five flows share the queue, so at 5 packets, where p_b is 0, one arrival of five takes a
    /// waiting packet with it: 2 drops of 6 packets. From max_th on nothing gets in.
    #[test]
    fn choke_drops_pairs_and_beyond_the_ramp_all() {
        let set = [&RAMP[..], &[("ecn", "true")]].concat();
        let c = counts("choke", &set, Held { queue: 5, ..ECT }, 0, 40);
        assert_eq!((c.incipient, c.ce), (0, 0));
        near(c.dropped, 1.0 / 3.0, c.packets);
        let c = counts("choke", &set, Held { queue: 40, ..ECT }, 0, 1);
        assert_eq!((c.incipient, c.ce, c.dropped), (0, 0, c.packets));
    }

    /// Every kind, with and without ECN, at any length: no packet is counted twice, and what is
    /// dropped at the head is made good.
    #[test]
    fn every_kind_is_probed() {
        for kind in crate::KINDS {
            for queue in [0, 1, 30, 99, 100] {
                for ecn in [Ecn::NotEct, Ecn::Ect0] {
                    let c = counts(kind.name, &[], Held { queue, ecn, ..ECT }, 1, 1);
                    assert!(c.packets >= 1250, "{} {queue}: {c:?}", kind.name);
                    assert!(
                        c.incipient + c.ce + c.dropped <= c.packets,
                        "{} {queue}: {c:?}",
                        kind.name
                    );
                    assert!(
                        ecn == Ecn::Ect0 || c.incipient + c.ce == 0,
                        "{} {queue}: {c:?}",
                        kind.name
                    );
                }
            }
        }
    }
}
