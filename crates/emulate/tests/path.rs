//! The path between the hosts without a host: frames made by hand, times that a reader can work
//! out.

#![cfg(target_os = "linux")]

use penstock_aqm::{Aqm, Ecn, Packet, Queue, Service, Turn, Verdict};
use penstock_emulate::flows::{Flows, Known};
use penstock_emulate::frame::{self, Layer};
use penstock_emulate::path::Path;
use penstock_emulate::side::Side;
use penstock_scenario::Scenario;
use penstock_sim::{Abort, AqmConfig, Config, UserAqm};
use penstock_units::{Duration, Rng, Time};
use std::collections::VecDeque;

/// A link of 8 Mbit/s, on which a byte takes 1 µs, and 1 ms long.
fn path(aqm: &str, access: &str) -> Path {
    path_of(&config(aqm, access))
}

fn path_of(config: &Config) -> Path {
    let window = (Time::ZERO, Time::NEVER);
    Path::new(config, Layer::Ip, &Abort::default(), Flows::new(vec![], window, 0)).unwrap()
}

fn config(aqm: &str, access: &str) -> Config {
    let text = format!(
        "duration = '10 s'\n[topology]\nkind = 'dumbbell'\nbottleneck = {{ rate = '8 Mbit/s', delay = '1 ms', buffer = '4 packets' }}\n\
         {access}\n[aqm]\n{aqm}\n[[traffic]]\nkind = 'ftp'\n"
    );
    let scenario = Scenario::from_toml(&text, "<test>").unwrap();
    let mut config = scenario.lower(1).unwrap();
    config.ties_by_scheduling = false;
    config
}

/// A datagram of `bytes` in all, from one of several ports.
fn datagram(bytes: u16, ecn: Ecn, port: u16) -> Vec<u8> {
    let mut b = vec![0x45, ecn as u8];
    b.extend(bytes.to_be_bytes());
    b.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
    b.extend(port.to_be_bytes());
    b.extend([0, 9]);
    b.extend((bytes - 20).to_be_bytes());
    b.resize(usize::from(bytes), 0);
    b
}

fn us(n: u64) -> Time {
    Time::from_nanos(n * 1000)
}

fn arrive(path: &mut Path, now: Time, from: Side, frame: &[u8]) {
    path.advance(now);
    let slot = path.take();
    let s = path.slot(slot);
    s.bytes[..frame.len()].copy_from_slice(frame);
    s.len = frame.len();
    path.arrive(now, from, slot);
}

/// What came out until `now`: when it was due, where to, its port, its ECN field.
fn out(path: &mut Path, now: Time) -> Vec<(Time, Side, u16, Ecn)> {
    path.advance(now);
    let due: Vec<_> = path.due().collect();
    due.into_iter()
        .map(|(t, slot)| {
            let seen = frame::read(Layer::Ip, path.frame(slot)).unwrap();
            let found = (t, path.to(slot), seen.transport.unwrap().ends.from_port, seen.ecn);
            path.release(slot);
            found
        })
        .collect()
}

const NO_ACCESS: &str = "";

#[test]
fn departures_are_those_of_the_link() {
    let mut p = path("kind = 'droptail'", NO_ACCESS);
    // Seven at once: one in transmission, four that wait; the buffer takes no more.
    for port in 1..=7 {
        arrive(&mut p, us(10), Side::Left, &datagram(1000, Ecn::NotEct, port));
    }
    // Back: a link of its own, as fast.
    arrive(&mut p, us(10), Side::Right, &datagram(100, Ecn::NotEct, 50));
    assert_eq!(p.waiting(us(10)), 4);
    assert_eq!(p.waiting(us(10 + 1000)), 3, "one has begun to be sent");
    let found = out(&mut p, us(1_000_000));
    let want = [
        (us(10 + 100 + 1000), Side::Left, 50, Ecn::NotEct),
        (us(10 + 1000 + 1000), Side::Right, 1, Ecn::NotEct),
        (us(10 + 2000 + 1000), Side::Right, 2, Ecn::NotEct),
        (us(10 + 3000 + 1000), Side::Right, 3, Ecn::NotEct),
        (us(10 + 4000 + 1000), Side::Right, 4, Ecn::NotEct),
        (us(10 + 5000 + 1000), Side::Right, 5, Ecn::NotEct),
    ];
    assert_eq!(found, want);
    assert_eq!((p.counts().received, p.counts().forwarded, p.counts().dropped), (8, 6, 2));
    assert!(p.empty(Side::Left) && p.empty(Side::Right) && p.conserves());
}

/// However late it is asked: the ideal departure is reported, and the link's next packet starts
/// after it.
#[test]
fn lateness_does_not_add_up() {
    let mut p = path("kind = 'droptail'", NO_ACCESS);
    for i in 0..100 {
        arrive(&mut p, us(i * 1000), Side::Left, &datagram(1000, Ecn::NotEct, 1));
    }
    let found = out(&mut p, us(10_000_000));
    let times: Vec<Time> = found.iter().map(|f| f.0).collect();
    assert_eq!(times, (0..100).map(|i| us(i * 1000 + 2000)).collect::<Vec<_>>());
}

/// An access link of 80 Mbit/s and 2 ms before the bottleneck, the egress one behind it.
#[test]
fn access_links_come_before_and_behind() {
    let mut p = path(
        "kind = 'droptail'",
        "access = { rate = '80 Mbit/s', delay = '2 ms' }\negress = { rate = '4 Mbit/s', delay = '3 ms' }",
    );
    arrive(&mut p, us(0), Side::Left, &datagram(1000, Ecn::NotEct, 1));
    arrive(&mut p, us(0), Side::Left, &datagram(1000, Ecn::NotEct, 2));
    // Port 1: 100 + 2000 on access; 1000 + 1000 on the bottleneck; 2000 + 3000 on egress. Port 2 is
    // a flow with hosts of its own: it has left its access link at the same time, and waits for 1
    // at the bottleneck.
    let want = [
        (us(2100 + 2000 + 5000), Side::Right, 1, Ecn::NotEct),
        (us(2100 + 3000 + 5000), Side::Right, 2, Ecn::NotEct),
    ];
    assert_eq!(out(&mut p, us(100_000)), want);
}

/// Two connections of a session, and one of another session, at 8 Mbit/s: the second packet of a
/// host leaves a millisecond after the first. The bottleneck takes 100 µs for each.
#[test]
fn connections_of_a_session_share_their_access_links() {
    let text = "duration = '10 s'\n[topology]\nkind = 'dumbbell'\n\
                bottleneck = { rate = '80 Mbit/s', delay = '0 s', buffer = 9 }\n\
                access = { rate = '8 Mbit/s', delay = '0 s' }\negress = { rate = '1 Gbit/s', delay = '0 s' }\n\
                [[traffic]]\nkind = 'web'\nsessions = 2\nconnections = 2\n";
    let config = Scenario::from_toml(text, "<test>").unwrap().lower(1).unwrap();
    let known = |port| Known {
        port,
        sender: Side::Left,
        udp: true,
        header: 0,
        bytes: None,
        every_connection: true,
    };
    let flows = Flows::new((1..=4).map(known).collect(), (Time::ZERO, Time::NEVER), 0);
    let mut p = Path::new(&config, Layer::Ip, &Abort::default(), flows).unwrap();
    for port in 1..=3 {
        arrive(&mut p, us(0), Side::Left, &datagram(1000, Ecn::NotEct, port));
    }
    let found: Vec<(Time, u16)> = out(&mut p, us(9000)).iter().map(|f| (f.0, f.2)).collect();
    assert_eq!(found, [(us(1108), 1), (us(1208), 3), (us(2108), 2)]);
}

/// Step marking above two waiting packets: the mark is in the frame, its checksum with it, and
/// counted.
#[test]
fn marks_are_written_and_counted() {
    let mut p = path("kind = 'step'\nthreshold = 2\necn = true\nnot_capable = 'pass'", NO_ACCESS);
    for port in 1..=5 {
        arrive(&mut p, us(0), Side::Left, &datagram(1000, Ecn::Ect0, port));
    }
    let marked: Vec<bool> = out(&mut p, us(100_000)).iter().map(|f| f.3 == Ecn::Ce).collect();
    let n = marked.iter().filter(|m| **m).count() as u64;
    assert!(n > 0 && n < 5, "{marked:?}");
    assert_eq!((p.counts().made_ce, p.counts().made_ect1), (n, 0));
    // The way back has no discipline of its own, and its marks would not count.
    arrive(&mut p, us(200_000), Side::Right, &datagram(100, Ecn::Ce, 9));
    assert_eq!(out(&mut p, us(300_000))[0].3, Ecn::Ce);
    assert_eq!(p.counts().made_ce, n);
}

/// FQ-CoDel orders packets itself: one of a flow that has just come passes those that wait.
#[test]
fn a_sparse_flow_goes_first() {
    let mut p = path("kind = 'fq-codel'\nflows = 1024", NO_ACCESS);
    for _ in 0..4 {
        arrive(&mut p, us(0), Side::Left, &datagram(1500, Ecn::NotEct, 1));
    }
    arrive(&mut p, us(1600), Side::Left, &datagram(100, Ecn::NotEct, 2));
    let found = out(&mut p, us(100_000));
    let ports: Vec<u16> = found.iter().map(|f| f.2).collect();
    assert_eq!(ports, [1, 1, 2, 1, 1]);
    // The second of the first flow was in transmission until 3000 µs.
    assert_eq!(found[2].0, us(3000 + 100 + 1000));
    assert!(p.conserves());
}

#[test]
fn what_is_not_ip_takes_the_way_alone() {
    let mut p = path("kind = 'droptail'", NO_ACCESS);
    arrive(&mut p, us(0), Side::Left, &datagram(1500, Ecn::NotEct, 1));
    arrive(&mut p, us(0), Side::Left, &[0; 60]);
    p.advance(us(1000));
    let due: Vec<_> = p.due().collect();
    assert_eq!(due.iter().map(|d| d.0).collect::<Vec<_>>(), [us(1000)]);
}

/// Random packets, sizes, gaps and rubbish under every kind of link: in = out + dropped + held at
/// any time, out in order of time, and in the end nothing is held.
#[test]
fn packets_are_conserved() {
    let lazy = "kind = 'red'\nmin_th = 1\nmax_th = 3\necn = true";
    for (name, aqm) in [
        ("droptail", "kind = 'droptail'"),
        ("red", lazy),
        ("codel", "kind = 'codel'\ntarget = '1 ms'\ninterval = '5 ms'"),
        ("fq-codel", "kind = 'fq-codel'\ntarget = '1 ms'\ninterval = '5 ms'"),
        ("pie", "kind = 'pie'"),
    ] {
        for seed in 1..=8 {
            let mut rng = Rng::stream(seed, "path");
            let mut below = |n: u64| (rng.unit() * n as f64) as u64;
            let mut p = path(
                aqm,
                "access = { rate = '20 Mbit/s', delay = '300 us', buffer = '3 packets' }\negress = { rate = '7 Mbit/s', delay = '0 s' }",
            );
            let (mut now, mut sent, mut last) = (Time::ZERO, 0, Time::ZERO);
            for _ in 0..3000 {
                now = Time::from_nanos(now.as_nanos() + below(1_200_000));
                let side = if below(3) == 0 { Side::Right } else { Side::Left };
                let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][below(4) as usize];
                let mut frame = datagram(28 + below(1472) as u16, ecn, 1 + below(6) as u16);
                match below(20) {
                    0 => frame.truncate(below(60) as usize),
                    1 => frame.iter_mut().for_each(|b| *b = below(256) as u8),
                    _ => {}
                }
                arrive(&mut p, now, side, &frame);
                p.advance(now);
                let due: Vec<_> = p.due().collect();
                for (t, slot) in due {
                    assert!(last <= t && t <= now, "{name}, seed {seed}");
                    last = t;
                    sent += 1;
                    p.release(slot);
                }
                let c = p.counts();
                assert!(
                    c.forwarded == sent && c.received >= c.forwarded + c.dropped,
                    "{name}, seed {seed}"
                );
            }
            p.advance(Time::from_nanos(now.as_nanos() + 10_000_000_000));
            let rest: Vec<_> = p.due().collect();
            sent += rest.len() as u64;
            let left: Vec<u32> = rest.into_iter().map(|(_, slot)| slot).collect();
            left.into_iter().for_each(|slot| p.release(slot));
            let c = p.counts();
            assert_eq!((c.received, c.forwarded), (3000, sent), "{name}, seed {seed}");
            assert_eq!(c.received, c.forwarded + c.dropped, "{name}, seed {seed}");
            assert!(
                p.empty(Side::Left) && p.empty(Side::Right) && p.conserves() && c.dropped > 0,
                "{name}, seed {seed}: {c:?}"
            );
        }
    }
}

/// Whatever bytes a port gives: reading and marking end, and marking changes no more than the two
/// bits and an IPv4 header's checksum.
#[test]
fn any_bytes_are_read_and_marked() {
    let mut rng = Rng::stream(1, "frame");
    let mut below = |n: u64| (rng.unit() * n as f64) as u64;
    let mut read = 0;
    for _ in 0..200_000 {
        let mut b: Vec<u8> = (0..below(90)).map(|_| below(256) as u8).collect();
        let layer = if below(2) == 0 { Layer::Ip } else { Layer::Ethernet };
        let at = if layer == Layer::Ip { 0 } else { 14 };
        // Most of them as an IP packet begins.
        if below(4) > 0 && b.len() > at + 6 {
            if layer == Layer::Ethernet {
                b[12..14].copy_from_slice([[8, 0], [0x86, 0xdd]][below(2) as usize].as_slice());
            }
            b[at] = [0x45, 0x46, 0x4f, 0x40, 0x60][below(5) as usize];
            b[at + 2] = 0;
            b[at + 4] = 0;
        }
        read += u64::from(frame::read(layer, &b).is_some());
        let before = b.clone();
        frame::write_ecn(layer, &mut b, Ecn::Ce);
        let changed: Vec<usize> =
            (0..b.len()).filter(|i| b[*i] != before[*i]).map(|i| i - at).collect();
        assert!(changed.iter().all(|i| matches!(i, 1 | 10 | 11)), "{changed:?}");
        if let Some(seen) = frame::read(layer, &b).filter(|_| b.len() >= at + 20) {
            assert_eq!(seen.ecn, Ecn::Ce);
        }
    }
    assert!(read > 1000, "{read}");
}

/// Lets a packet go every 10 ms and holds the others, in order.
#[derive(Default)]
struct Gaps {
    waiting: VecDeque<u32>,
    next: Time,
}

impl Aqm for Gaps {
    fn service(&self) -> Service {
        Service::Orders
    }
    fn arrive(&mut self, _: Time, _: &Packet, _: &Queue, _: &mut Rng) -> Verdict {
        Verdict::Pass
    }
    fn enqueued(&mut self, _: Time, _: &Packet, handle: u32) {
        self.waiting.push_back(handle);
    }
    fn next(&mut self, now: Time) -> Turn<u32> {
        if !self.waiting.is_empty() && now < self.next {
            return Turn::NotBefore(self.next);
        }
        self.next = now + Duration::from_millis(10);
        self.waiting.pop_front().map_or(Turn::Empty, Turn::Packet)
    }
}

/// Whatever comes in between, and however late the router looks.
#[test]
fn a_discipline_may_hold_packets_back() {
    let mut config = config("kind = 'droptail'", NO_ACCESS);
    let own = UserAqm::new("rust:gaps", |_| Ok(Box::new(Gaps::default())));
    config.links[config.bottleneck].aqm = AqmConfig::User(own);
    let mut p = path_of(&config);
    for (at, port) in [(0, 1), (0, 2), (5_000, 3), (12_000, 4)] {
        arrive(&mut p, us(at), Side::Left, &datagram(1000, Ecn::NotEct, port));
    }
    let found = out(&mut p, us(1_000_000));
    let times: Vec<_> = found.iter().map(|(t, _, port, _)| (*port, *t)).collect();
    let at = |port: u16| (port, us(u64::from(port - 1) * 10_000 + 1000 + 1000));
    assert_eq!(times, [at(1), at(2), at(3), at(4)]);
    assert!(p.empty(Side::Left) && p.conserves());
}
