use super::*;
use crate::testing::{context, params};
use crate::Level;

fn ms(n: u64) -> Time {
    Time::from_nanos(n * 1_000_000)
}

const BYTES: u32 = 1500;

/// A CAKE on 10 Mbit/s, and the packets that wait in it by handle.
struct Line {
    cake: Cake,
    held: Vec<Option<(Packet, Time)>>,
    now: Time,
    rng: Rng,
}

impl Line {
    fn with(set: &[(&'static str, &'static str)], cx: Context) -> Self {
        let cake = Cake::new(&params(&KIND, set), &cx).unwrap();
        Line { cake, held: vec![], now: Time::ZERO, rng: Rng::stream(1, "test") }
    }

    /// With so long a round trip that COBALT never signals.
    fn patient(set: &[(&'static str, &'static str)], cx: Context) -> Self {
        let set: Vec<_> = set.iter().copied().chain([("rtt", "\"1000 s\"")]).collect();
        Line::with(&set, cx)
    }

    fn queue(&self) -> Queue {
        let waiting = self.held.iter().flatten();
        let bytes = waiting.clone().map(|(p, _)| u64::from(p.bytes)).sum();
        Queue { pkts: waiting.count() as u32, bytes, idle_since: None }
    }

    /// A packet arrives. Returns the handles of those that it puts out, in order.
    fn arrive(&mut self, flow: u32, class: u8, bytes: u32) -> Vec<u32> {
        let pkt = Packet { bytes, ecn: Ecn::NotEct, flow, class };
        let q = self.queue();
        assert_eq!(self.cake.arrive(self.now, &pkt, &q, &mut self.rng), Verdict::Pass);
        let mut out = vec![];
        while let Some((handle, reason)) = self.cake.evict(self.now, &pkt, &self.queue(), false) {
            assert_eq!(reason, Reason::Overflow);
            self.held[handle as usize] = None;
            out.push(handle);
        }
        let free = self.held.iter().position(Option::is_none);
        let handle = free.unwrap_or_else(|| {
            self.held.push(None);
            self.held.len() - 1
        });
        self.held[handle] = Some((pkt, self.now));
        self.cake.enqueued(self.now, &pkt, handle as u32);
        out
    }

    /// The next packet that leaves, as the driver takes it.
    fn serve(&mut self) -> Option<Packet> {
        loop {
            let Turn::Packet(handle) = self.cake.next(self.now) else { return None };
            let (pkt, since) = self.held[handle as usize].take().expect("it waits");
            let q = self.queue();
            let waited = self.now.since(since);
            let verdict = self.cake.depart(self.now, &pkt, waited, &q, &mut self.rng);
            if !matches!(verdict, Verdict::Drop(_)) {
                return Some(pkt);
            }
        }
    }

    /// Of `sent` packets that leave a link of 10 Mbit/s, the shares of flows that always have three
    /// waiting; each is a flow number and a class.
    fn shares(&mut self, flows: &[(u32, u8)], sent: usize) -> Vec<f64> {
        for (flow, class) in flows {
            (0..3).for_each(|_| drop(self.arrive(*flow, *class, BYTES)));
        }
        let mut counts = vec![0.0; flows.len()];
        for _ in 0..sent {
            let pkt = self.serve().expect("all are full");
            let at = flows.iter().position(|f| *f == (pkt.flow, pkt.class)).unwrap();
            counts[at] += 1.0;
            self.now += Duration::from_micros(1200);
            self.arrive(pkt.flow, pkt.class, BYTES);
        }
        counts.iter().map(|n| 100.0 * n / sent as f64).collect()
    }
}

fn near(got: &[f64], want: &[f64], within: f64) {
    let close =
        got.len() == want.len() && got.iter().zip(want).all(|(a, b)| (a - b).abs() < within);
    assert!(close, "{got:?} instead of {want:?}");
}

/// Every tin is always full: by clocks, a tin has its share of the rate, and best effort the rest;
/// by rounds, its quantum's part of all.
#[test]
fn full_tins_have_their_shares() {
    let (latency, bulk, best) = ((1, 46), (2, 8), (3, 0));
    let of = |tins, rounds: bool, flows: &[(u32, u8)]| {
        let set = [("tins", tins), ("unlimited", if rounds { "true" } else { "false" })];
        Line::patient(&set, context()).shares(flows, 8000)
    };
    near(&of("\"diffserv3\"", false, &[best, bulk, latency]), &[68.75, 6.25, 25.0], 1.0);
    near(&of("\"diffserv3\"", false, &[best, latency]), &[75.0, 25.0], 1.0);
    near(&of("\"diffserv3\"", true, &[best, bulk, latency]), &[76.2, 4.8, 19.0], 1.0);
    let four = [best, bulk, (4, 34), latency];
    near(&of("\"diffserv4\"", false, &four), &[18.75, 6.25, 50.0, 25.0], 1.0);
    near(&of("\"diffserv4\"", true, &four), &[55.2, 3.4, 27.6, 13.8], 1.0);
    // DSCPs 0, 8, 1, 24, 18, 16, 46 and 48: the upper three have all.
    let eight = [(1, 1), (2, 8), (3, 0), (4, 24), (5, 18), (6, 16), (7, 46), (8, 48)];
    let want = [0.0, 0.0, 0.0, 0.0, 0.0, 15.9, 44.9, 39.3];
    near(&of("\"diffserv8\"", false, &eight), &want, 1.0);
    near(&of("\"besteffort\"", false, &[best, bulk, latency]), &[33.3; 3], 1.0);
}

#[test]
fn each_code_point_has_its_tin() {
    let of = |tins, dscps: &[u8]| -> Vec<u8> {
        dscps.iter().map(|dscp| Scheme::of(tins).tin(*dscp)).collect()
    };
    assert_eq!(of(Tins::Diffserv3, &[0, 1, 8, 4, 44, 46, 48, 56, 34]), [0, 1, 1, 2, 2, 2, 2, 2, 0]);
    assert_eq!(of(Tins::Diffserv4, &[0, 10, 8, 34, 46, 40, 24]), [0, 0, 1, 2, 3, 3, 2]);
    assert_eq!(of(Tins::Diffserv8, &[1, 10, 0, 34, 18, 16, 46, 56]), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(of(Tins::Precedence, &[0, 8, 46, 63]), [0, 1, 5, 7]);
    assert_eq!(of(Tins::BestEffort, &[0, 46]), [0, 0]);
}

/// The hosts of flows 0 to 4, four of the first source.
fn hosts(of_flows: [(u32, u32); 5]) -> Context {
    Context { hosts: Hosts::new(of_flows.to_vec()), ..context() }
}

/// Host A has four downloads and B one: each host has half. Where all go to one destination, that
/// one counts five flows, and they are equal.
#[test]
fn hosts_are_equal_before_their_flows_are() {
    let flows = [0, 1, 2, 3, 4].map(|flow| (flow, 0));
    let apart = [(10, 20), (10, 21), (10, 22), (10, 23), (11, 24)];
    let together = apart.map(|(source, _)| (source, 30));
    let of = |isolation, hosts_of| {
        let set = [("isolation", isolation), ("tins", "\"besteffort\"")];
        let shares = Line::patient(&set, hosts(hosts_of)).shares(&flows, 4000);
        [shares[..4].iter().sum(), shares[4]]
    };
    for (isolation, hosts_of, want) in [
        ("\"triple-isolate\"", apart, [50.0, 50.0]),
        ("\"dual-srchost\"", apart, [50.0, 50.0]),
        ("\"dual-dsthost\"", apart, [80.0, 20.0]),
        ("\"flows\"", apart, [80.0, 20.0]),
        ("\"srchost\"", apart, [50.0, 50.0]),
        ("\"dsthost\"", apart, [80.0, 20.0]),
        ("\"hosts\"", apart, [80.0, 20.0]),
        ("\"hosts\"", together, [50.0, 50.0]),
        ("\"dual-dsthost\"", together, [80.0, 20.0]),
        ("\"triple-isolate\"", together, [80.0, 20.0]),
        ("\"dual-srchost\"", together, [50.0, 50.0]),
    ] {
        near(&of(isolation, hosts_of), &want, 1.0);
    }
}

/// One queue for all: packets leave in the order in which they came.
#[test]
fn flowblind_is_a_fifo() {
    let set = [("isolation", "\"flowblind\""), ("tins", "\"besteffort\"")];
    let mut line = Line::patient(&set, context());
    for flow in [3, 1, 2, 1] {
        line.arrive(flow, 0, BYTES);
    }
    let left: Vec<u32> = std::iter::from_fn(|| line.serve().map(|p| p.flow)).collect();
    assert_eq!(left, [3, 1, 2, 1]);
}

/// Target and interval in ms, and the quantum, of the best-effort tin at some rates.
#[test]
fn slow_links_have_time_for_a_frame() {
    for (kbps, target, interval, quantum) in [
        (64, 283.875, 567.75, 300),
        (256, 70.969, 165.969, 300),
        (1000, 18.168, 113.168, 300),
        (2000, 9.084, 104.084, 300),
        (10_000, 5.0, 100.0, 305),
        (50_000, 5.0, 100.0, 1514),
    ] {
        let rate = Rate::from_bps(kbps * 1000).unwrap();
        let (law, round) = tin_of(Some(rate), Duration::from_millis(100), &context());
        let [got_target, got_interval] =
            [law.target(), law.interval()].map(|d| (d.as_secs_f64() * 1e6).round() / 1e3);
        assert_eq!((got_target, got_interval, round), (target, interval, quantum), "{kbps}");
    }
    let (law, round) = tin_of(None, Duration::from_millis(10), &context());
    assert_eq!((law.target(), round), (Duration::from_micros(500), 1514));
}

/// 10 Mbit/s: 4 MiB; 100: 5 MB; 1000: the most.
#[test]
fn the_memory_follows_from_the_rate() {
    for (mbps, unlimited, want) in [
        (10, "false", 4_194_304),
        (100, "false", 5_000_000),
        (1000, "false", 15_503_360),
        (10, "true", 15_503_360),
    ] {
        let rate = Rate::from_bps(mbps * 1_000_000).unwrap();
        let p = params(&KIND, &[("unlimited", unlimited)]);
        let cake = Cake::new(&p, &Context { rate, ..context() }).unwrap();
        assert_eq!(cake.memory.limit, want);
    }
}

/// 6000 B, four packets of 1500 B; the fifth puts out the first of the fullest queue, over tins, the
/// arriving one counted in its own.
#[test]
fn the_fullest_queue_loses_its_head() {
    let mut line = Line::patient(&[("memory_limit", "\"6000 B\"")], context());
    for (flow, class) in [(1, 0), (2, 46), (2, 46), (1, 0)] {
        assert_eq!(line.arrive(flow, class, BYTES), []);
    }
    assert_eq!(line.arrive(2, 46, BYTES), [1]);
    // Flows 1 and 2 have as much: the first tin's.
    assert_eq!(line.arrive(3, 0, BYTES), [0]);
    // 3000 B need the room of two: flow 2 has 3000, and then all have 1500.
    assert_eq!(line.arrive(4, 0, 3000), [2, 3]);
    let (waiting, tins) = (line.cake.waiting, &line.cake.tins);
    assert_eq!((waiting, tins[0].turn.packets, tins[2].turn.packets), (3, 2, 1));
}

/// A flow with a packet now and then goes ahead of two that always have some.
#[test]
fn sparse_flows_pass() {
    let mut line = Line::patient(&[("tins", "\"besteffort\"")], context());
    for _ in 0..10 {
        line.arrive(1, 0, BYTES);
        line.arrive(2, 0, BYTES);
    }
    (0..6).for_each(|_| assert!(line.serve().is_some()));
    line.arrive(3, 0, 100);
    assert_eq!(line.serve().unwrap().flow, 3);
    let count = |name| {
        let mut found = None;
        line.cake.state(&mut |n, v| found = found.or((n == name).then_some(v)));
        found.unwrap()
    };
    assert_eq!((count("sparse_flows"), count("bulk_flows")), (1.0, 2.0));
}

/// At one packet a second that has waited for half of one, COBALT would drop; the last packet of a
/// queue goes all the same, and those behind which others wait do not.
#[test]
fn the_last_packet_of_a_queue_is_not_dropped() {
    let mut line = Line::with(&[("tins", "\"besteffort\"")], context());
    for _ in 0..20 {
        line.arrive(1, 0, BYTES);
        line.now += Duration::from_millis(500);
        assert_eq!(line.serve().map(|p| p.flow), Some(1));
    }
    for _ in 0..20 {
        line.arrive(1, 0, BYTES);
    }
    line.now += Duration::from_millis(500);
    let mut left = 0;
    while line.serve().is_some() {
        left += 1;
        line.now += Duration::from_millis(500);
    }
    assert!((1..20).contains(&left), "{left}");
}

/// A queue that signalled is remembered while it is empty. On an idle link it is looked at each 5
/// ms, until its count is 0.
#[test]
fn an_empty_queue_decays() {
    let mut line = Line::with(&[("tins", "\"besteffort\"")], context());
    (0..40).for_each(|_| drop(line.arrive(1, 0, BYTES)));
    // 200 ms above the target: two signals, at 100 and 171 ms after the first look.
    for _ in 0..4 {
        line.now += Duration::from_millis(60);
        assert!(line.serve().is_some());
    }
    while line.serve().is_some() {}
    let decaying = |line: &Line| line.cake.tins[0].queues.decaying;
    // The empty queue is found when its turn comes among others.
    for _ in 0..10 {
        line.arrive(2, 0, BYTES);
        assert!(line.serve().is_some());
    }
    assert_eq!(decaying(&line), 1);
    let idle = Queue { idle_since: Some(line.now), ..line.queue() };
    let pkt = Packet { bytes: BYTES, ecn: Ecn::NotEct, flow: 4, class: 0 };
    line.now += Duration::from_secs_f64(5.0);
    let _ = line.cake.arrive(line.now, &pkt, &idle, &mut line.rng);
    assert_eq!(decaying(&line), 0);
}

/// With another scheme of as many tins, a longer round trip and other shares, all goes on from what
/// waits; more tins than before are not made.
#[test]
fn other_parameters_take_over_what_waits() {
    let mut line = Line::patient(&[("tins", "\"diffserv8\"")], context());
    (0..4).for_each(|flow| drop(line.arrive(flow, 46, BYTES)));
    let other = |tins| {
        let set = [("tins", tins), ("isolation", "\"flows\""), ("rtt", "\"200 ms\"")];
        Cake::new(&params(&KIND, &set), &context()).unwrap()
    };
    let before = std::mem::replace(&mut line.cake, other("\"precedence\""));
    line.cake.go_on(before, ms(1));
    assert_eq!((line.cake.tins.len(), line.cake.scheme.tin(46)), (8, 5));
    let before = std::mem::replace(&mut line.cake, other("\"besteffort\""));
    line.cake.go_on(before, ms(2));
    assert_eq!((line.cake.tins.len(), line.cake.scheme.tin(46)), (8, 5));
    assert_eq!(line.cake.tins[0].law.interval(), Duration::from_millis(200));
    let left = std::iter::from_fn(|| line.serve()).count();
    assert_eq!(left, 4);
}

/// What may be marked is marked, also the last packet of a queue.
#[test]
fn capable_packets_are_marked() {
    let mut line = Line::with(&[("tins", "\"besteffort\"")], context());
    let pkt = Packet { bytes: BYTES, ecn: Ecn::Ect0, flow: 1, class: 0 };
    let mut marked = 0;
    for i in 0..10 {
        line.now = ms(500 * i + 500);
        let _ = line.cake.arrive(line.now, &pkt, &line.queue(), &mut line.rng);
        line.cake.enqueued(line.now, &pkt, 0);
        let Turn::Packet(0) = line.cake.next(line.now) else { panic!("it waits") };
        let waited = Duration::from_millis(200);
        let q = line.queue();
        let verdict = line.cake.depart(line.now, &pkt, waited, &q, &mut line.rng);
        marked += u32::from(matches!(verdict, Verdict::Mark(Level::Ce, Reason::Early)));
    }
    assert!(marked >= 8, "{marked}");
}

/// On ATM a packet of 49 B with 8 B of overhead takes two cells, 106 B, one of 40 B takes one. Two
/// flows of such packets share the wire, not the bytes.
#[test]
fn shares_are_those_of_the_wire() {
    let framing = Framing { overhead: 8, mpu: 0, cells: penstock_units::Cells::Atm };
    let cx = Context { framing, ..context() };
    let mut line = Line::patient(&[("tins", "\"besteffort\"")], cx);
    let mut counts = [0.0; 2];
    (0..50)
        .for_each(|_| (0..2).for_each(|flow| drop(line.arrive(flow, 0, [40, 49][flow as usize]))));
    for _ in 0..3000 {
        let pkt = line.serve().unwrap();
        counts[pkt.flow as usize] += 1.0;
        line.arrive(pkt.flow, 0, pkt.bytes);
    }
    assert!((counts[0] / counts[1] - 2.0_f64).abs() < 0.05, "{counts:?}");
}
