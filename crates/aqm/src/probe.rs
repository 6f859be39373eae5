//! A discipline by itself, open loop: the queue is held at a length whatever the discipline does to
//! it, and what it does is counted. No sender answers, so this is the discipline's own curve from
//! the queue to a signal, at the start and after a while.
//!
//! The link sends without a pause, and with each packet that it takes another arrives: both see
//! `queue` packets that wait. The queue stands from time 0 on. What the discipline drops is made
//! good at once.

use crate::{Aqm, Ecn, Level, Packet, Queue, Verdict};
use penstock_units::{Duration, QueueLen, Rate, Rng, Time};

/// The queue that is held, and who fills it.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Packets that wait.
    pub queue: u32,
    /// What may wait: an arrival that finds no room is dropped.
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

/// What became of packets.
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
    fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Pass => {}
            Verdict::Mark(Level::Incipient, _) => self.incipient += 1,
            Verdict::Mark(Level::Ce, _) => self.ce += 1,
            Verdict::Drop(_) => self.dropped += 1,
        }
    }
}

/// Counts into `sums` what `aqm`, fresh from the start, does to packets in each of the windows:
/// when it begins, and how long it is.
pub fn probe(
    aqm: &mut impl Aqm,
    rng: &mut Rng,
    held: &Held,
    windows: &[(Duration, Duration)],
    sums: &mut [Counts],
) {
    let gap = Duration::from_secs_f64(
        8.0 * f64::from(held.bytes) / (held.rate.as_bps() as f64 * held.load),
    );
    let mut bench = Bench::new(aqm, rng, held, gap);
    let end = windows.iter().map(|(from, long)| *from + *long).max().unwrap_or_default();
    let mut now = Time::ZERO;
    while now < Time::ZERO + end {
        let counts = bench.step(now);
        for ((from, long), sum) in windows.iter().zip(&mut *sums) {
            if now >= Time::ZERO + *from && now < Time::ZERO + *from + *long {
                sum.packets += counts.packets;
                sum.incipient += counts.incipient;
                sum.ce += counts.ce;
                sum.dropped += counts.dropped;
            }
        }
        now += gap;
    }
}

/// A queue as a link keeps it, but for its length.
struct Bench<'a, A: Aqm> {
    aqm: &'a mut A,
    rng: &'a mut Rng,
    held: &'a Held,
    gap: Duration,
    /// No room for one more than the held queue.
    full: bool,
    q: Queue,
    arrivals: u32,
    /// Where the discipline orders the packets: each one's flow and time of arrival, by handle, and
    /// the handles that are free.
    waiting: Vec<(u32, Time)>,
    free: Vec<u32>,
}

impl<'a, A: Aqm> Bench<'a, A> {
    fn new(aqm: &'a mut A, rng: &'a mut Rng, held: &'a Held, gap: Duration) -> Self {
        let bytes = u64::from(held.bytes);
        let one_more = u64::from(held.queue) + 1;
        let full = match held.buffer {
            QueueLen::Packets(limit) => one_more as f64 > limit,
            QueueLen::Bytes(limit) => one_more * bytes > limit,
        };
        let pkts = if aqm.schedules() { 0 } else { held.queue };
        let q = Queue { pkts, bytes: u64::from(pkts) * bytes, idle_since: None };
        let mut bench =
            Bench { aqm, rng, held, gap, full, q, arrivals: 0, waiting: vec![], free: vec![] };
        bench.fill(Time::ZERO, &mut Counts::default());
        bench
    }

    /// A packet comes and a packet goes.
    fn step(&mut self, now: Time) -> Counts {
        while let Some(due) = self.aqm.next_tick().filter(|due| *due <= now) {
            self.aqm.tick(due, &self.q);
        }
        let mut counts = Counts::default();
        let mut let_in = self.arrive(now, &mut counts);
        // One dequeue: what is dropped at the head makes room, and the next packet follows. There
        // are no more than wait.
        for _ in 0..=self.held.queue {
            let Some(verdict) = self.depart(now) else { break };
            // Where packets are not told apart this stands for the one that came, which counts
            // once.
            if let_in || self.aqm.schedules() {
                counts.add(verdict);
            }
            if !matches!(verdict, Verdict::Drop(_)) {
                break;
            }
            if !self.aqm.schedules() {
                let_in = self.arrive(now, &mut counts);
            }
        }
        self.fill(now, &mut counts);
        counts
    }

    /// Where packets are told apart: up to the held length again.
    fn fill(&mut self, now: Time, counts: &mut Counts) {
        let missing = self.held.queue - self.q.pkts.min(self.held.queue);
        for _ in 0..missing {
            let _ = self.arrive(now, counts);
        }
    }

    /// Whether it was let in.
    fn arrive(&mut self, now: Time, counts: &mut Counts) -> bool {
        let flow = self.arrivals % self.held.flows.max(1);
        self.arrivals = self.arrivals.wrapping_add(1);
        let pkt = self.packet(flow);
        counts.packets += 1;
        let verdict = self.aqm.arrive(now, &pkt, &self.q, self.rng);
        let dropped = matches!(verdict, Verdict::Drop(_));
        let mut full = self.full && self.q.pkts >= self.held.queue;
        if self.aqm.schedules() && !dropped {
            while let Some(handle) = self.aqm.evict(now, &pkt, &self.q, full) {
                self.leaves(handle);
                counts.dropped += 1;
                full = false;
            }
        }
        if full {
            self.aqm.overflow(now, &pkt, &self.q);
            counts.dropped += 1;
            return false;
        }
        counts.add(verdict);
        if self.aqm.schedules() && !dropped {
            let handle = self.free.pop().unwrap_or(self.waiting.len() as u32);
            if handle as usize == self.waiting.len() {
                self.waiting.push((flow, now));
            }
            self.waiting[handle as usize] = (flow, now);
            self.q.pkts += 1;
            self.q.bytes += u64::from(pkt.bytes);
            self.aqm.enqueued(now, &pkt, handle);
        }
        !dropped
    }

    /// `None` where nothing waits, or nothing is decided.
    fn depart(&mut self, now: Time) -> Option<Verdict> {
        if !self.aqm.decides_at_departure() {
            return None;
        }
        let (flow, since) = if self.aqm.schedules() {
            let handle = self.aqm.next(now)?;
            self.leaves(handle)
        } else {
            // It waited while those before it left, or from the start.
            let ticks = self.gap.as_ticks().saturating_mul(u64::from(self.held.queue));
            (self.arrivals % self.held.flows.max(1), now.before(Duration::from_ticks(ticks)))
        };
        Some(self.aqm.depart(now, &self.packet(flow), now.since(since), &self.q, self.rng))
    }

    fn packet(&self, flow: u32) -> Packet {
        Packet { bytes: self.held.bytes, ecn: self.held.ecn, flow, class: 0 }
    }

    fn leaves(&mut self, handle: u32) -> (u32, Time) {
        self.free.push(handle);
        self.q.pkts -= 1;
        self.q.bytes -= u64::from(self.held.bytes);
        self.waiting[handle as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::{context, values};
    use crate::{build, kind, Discipline};

    const ECT: Held = Held {
        queue: 0,
        buffer: QueueLen::Packets(100.0),
        rate: Rate::from_bps(10_000_000).expect("not zero"),
        load: 1.0,
        bytes: 1000,
        ecn: Ecn::Ect0,
        flows: 5,
    };

    /// What becomes of packets in the second that begins `from` seconds after the start: `runs`
    /// times 1250 of them.
    fn counts(
        name: &str,
        set: &[(&'static str, &str)],
        held: Held,
        from: u64,
        runs: u64,
    ) -> Counts {
        let mut sums = [Counts::default()];
        let window = [(Duration::from_secs(from), Duration::from_secs(1))];
        for seed in 0..runs {
            let mut d: Discipline =
                build(name, &values(kind(name).unwrap(), set), &context()).unwrap();
            probe(&mut d, &mut Rng::stream(seed, "aqm/probe"), &held, &window, &mut sums);
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
