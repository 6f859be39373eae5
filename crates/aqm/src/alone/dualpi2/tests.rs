//! RFC 9332's and Linux's rules, by hand.

use super::*;
use crate::testing::{build, busy, context, params, PKT};
use crate::{Ecn, Level};

const MARK: Verdict = Verdict::Mark(Level::Ce, Reason::Early);
const DROP: Verdict = Verdict::Drop(Reason::Early);
const LINUX: (&str, &str) = ("variant", "\"linux\"");

type Set<'a> = &'a [(&'static str, &'static str)];

fn dual(set: Set) -> DualPi2 {
    DualPi2::new(&params(&KIND, set), &context()).unwrap()
}

fn rng() -> Rng {
    Rng::stream(1, "test")
}

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

fn pkt(ecn: Ecn, bytes: u32) -> Packet {
    Packet { ecn, bytes, ..PKT }
}

/// Far from any limit.
const Q: Queue = Queue { pkts: 9, bytes: 9000, idle_since: None };

/// A packet arrives and is let in.
fn enter(x: &mut DualPi2, pkt: &Packet) {
    assert_eq!(x.arrive(Time::ZERO, pkt, &Q, &mut rng()), Verdict::Pass);
    x.enqueued(Time::ZERO, pkt, 0);
}

/// The order of `n` departures while packets of these sizes always wait in both queues.
fn order(set: Set, l_bytes: u32, c_bytes: u32, n: usize) -> String {
    let mut x = dual(set);
    let of = [pkt(Ecn::Ect1, l_bytes), pkt(Ecn::NotEct, c_bytes)];
    of.iter().for_each(|p| enter(&mut x, p));
    let mut sent = String::new();
    for _ in 0..n {
        // What leaves has another one behind it.
        of.iter().for_each(|p| enter(&mut x, p));
        assert_ne!(x.next(Time::ZERO), Turn::Empty);
        let i = x.serving;
        let verdict = x.depart(Time::ZERO, &of[i], Duration::ZERO, &Q, &mut rng());
        assert_eq!(verdict, Verdict::Pass);
        sent.push(['L', 'C'][i]);
    }
    sent
}

/// The first credit is 1514·(10 − 90) = −121 120 parts of a byte, 100 to a byte. A packet of 1500 B
/// adds 15 000 or takes 135 000: after 9 of L it is 13 880, C goes, and it is −121 120 again.
#[test]
fn shares_of_the_scheduler_by_hand() {
    let all = ["LLLLLLLLLC".repeat(4), "L".repeat(25) + "C" + &("L".repeat(27) + "C").repeat(2)];
    assert_eq!(order(&[LINUX], 1500, 1500, 40), all[0]);
    // 500 B add 5000: 25 of them lead to 3880, C takes 135 000, then it needs 27.
    assert_eq!(order(&[LINUX], 500, 1500, 82), all[1]);
    // C's 500 B take 45 000: three of L's 15 000 make up for them.
    let short = "L".repeat(9) + "C" + &"LLLC".repeat(8);
    assert_eq!(order(&[LINUX], 1500, 500, 42), short);
    assert_eq!(order(&[LINUX, ("classic_protection", "0.5")], 1500, 1500, 20), "LC".repeat(10));
    assert_eq!(order(&[LINUX, ("classic_protection", "0")], 1500, 1500, 99), "L".repeat(99));
    assert_eq!(order(&[("classic_protection", "1")], 1500, 1500, 9), "C".repeat(9));
    // 15 packets of L add 15·1500/16 B to −1514·14/16, and one of C takes 1500·15/16.
    assert_eq!(order(&[], 1500, 1500, 160), ("L".repeat(15) + "C").repeat(10));
    let docsis = order(&[("variant", "\"docsis\"")], 1500, 1500, 1024);
    assert_eq!(docsis.matches('C').count(), 104);
}

/// Where L is empty C goes and the credit stays; where both are, it begins again.
#[test]
fn the_credit_rests_while_one_queue_is_alone() {
    let credit = |x: &DualPi2| match &x.order {
        Order::Wrr { credit, .. } => *credit,
        Order::TsFifo(_) => unreachable!(),
    };
    let mut x = dual(&[LINUX]);
    let first = credit(&x);
    assert_eq!(first, -121_120 * 100_000);
    let [l, c] = [pkt(Ecn::Ect1, 1500), pkt(Ecn::Ect0, 1500)];
    enter(&mut x, &l);
    [c; 4].iter().for_each(|p| enter(&mut x, p));
    let served = |x: &mut DualPi2| {
        x.next(Time::ZERO);
        let sent = [l, c][x.serving];
        let _ = x.depart(Time::ZERO, &sent, Duration::ZERO, &Q, &mut rng());
        x.serving
    };
    assert_eq!(served(&mut x), L);
    let moved = credit(&x);
    assert_eq!(moved - first, 15_000 * 100_000);
    assert_eq!([(); 4].map(|()| served(&mut x)), [C; 4]);
    assert_eq!(credit(&x), moved);
    assert_eq!(x.next(Time::ZERO), Turn::Empty);
    assert_eq!(credit(&x), first);
}

/// L's head came 49, 50, 51 ms after C's.
#[test]
fn the_time_shifted_fifo_by_hand() {
    for (ms, want) in [(49, L), (50, L), (51, C)] {
        let mut x = dual(&[("scheduler", "\"ts-fifo\"")]);
        enter(&mut x, &pkt(Ecn::NotEct, 1000));
        let _ = x.arrive(Time::ZERO, &pkt(Ecn::Ce, 1000), &Q, &mut rng());
        x.enqueued(Time::from_nanos(ms * 1_000_000), &pkt(Ecn::Ce, 1000), 1);
        x.next(Time::ZERO);
        assert_eq!(x.serving, want, "{ms}");
    }
}

/// 800 µs … 1200 µs; as a step at 800 µs; Linux's step is above its threshold.
#[test]
fn native_probability_by_hand() {
    let step = [("ramp_range", "\"0 s\"")];
    let packets = [LINUX, ("step_packets", "5")];
    for (set, waits, left, want) in [
        (&[][..], us(800), 9, 0.0),
        (&[], us(900), 9, 0.25),
        (&[], us(1000), 9, 0.5),
        (&[], us(1100), 9, 0.75),
        (&[], us(1200), 9, 1.0),
        (&step, us(799), 9, 0.0),
        (&step, us(800), 9, 1.0),
        (&[LINUX], us(1000), 9, 0.0),
        (&[LINUX], us(1001), 9, 1.0),
        (&packets, us(9000), 5, 0.0),
        (&packets, us(0), 6, 1.0),
    ] {
        assert_eq!(dual(set).law.p_l(waits, left), want, "{set:?} {waits:?} {left}");
    }
}

/// Two packets of 2000 B take 640 µs at 50 Mbit/s, 3200 at 10, 160 at 200. max_th 1000 µs less
/// 2^19 ns is 475.712 µs.
#[test]
fn the_ramp_of_docsis_begins_at_two_packets_at_the_earliest() {
    for (mbit, max_us, begins) in
        [(50, 1000, 640_000), (50, 2000, 1_475_712), (10, 1000, 3_200_000), (200, 1000, 475_712)]
    {
        let mut own: DualPi2Params = params(&KIND, &[("variant", "\"docsis\"")]);
        own.own.ramp_start = Some(Duration::from_nanos(max_us * 1000 - 524_288));
        let rate = penstock_units::Rate::from_bps(mbit * 1_000_000).unwrap();
        let x = DualPi2::new(&own, &Context { rate, ..context() }).unwrap();
        let Law::Ramp { min_th, max_th } = x.law else { panic!() };
        assert_eq!(min_th.as_nanos(), begins);
        assert_eq!(max_th.as_nanos(), begins + 524_288);
        own.own.ramp_start = None;
        let default = DualPi2::new(&own, &Context { rate, ..context() }).unwrap();
        assert_eq!(format!("{:?}", default.law) == format!("{:?}", x.law), max_us == 1000);
    }
}

#[test]
fn probabilities_are_added_up() {
    for (p, want) in [
        (0.25, &[5, 9, 13][..]),
        (0.5, &[3, 5, 7, 9, 11, 13]),
        (1.0, &[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]),
    ] {
        let mut count = 0.0;
        let due: Vec<_> = (1..14).filter(|_| recur(&mut count, p)).collect();
        assert_eq!(due, want, "{p}");
    }
}

/// A packet of this queue leaves after `waits`, with `behind` bytes in both queues and `left`
/// packets in its own.
struct Leaves {
    ecn: Ecn,
    waits: Duration,
    behind: u64,
    left: u32,
}

impl Leaves {
    fn of(&self, x: &mut DualPi2, rng: &mut Rng) -> Verdict {
        let queue = usize::from(!x.identify.scalable(self.ecn));
        x.queues = [VecDeque::new(), VecDeque::new()];
        for _ in 0..=self.left {
            x.arriving = queue;
            x.enqueued(Time::ZERO, &PKT, 0);
        }
        // The last one that came is the one that leaves: the flag is that of its arrival.
        x.serving = queue;
        x.serving_native = x.queues[queue].pop_back().unwrap().native;
        let q = Queue { pkts: self.left, bytes: self.behind, idle_since: None };
        x.depart(Time::ZERO, &pkt(self.ecn, 1000), self.waits, &q, rng)
    }
}

/// The share of 20 000 departures that gets each verdict, within four standard errors of 0.0035, or
/// 1 in 20 000 where signals are counted up.
#[test]
fn shares_of_signals() {
    let slow = |ecn, behind| Leaves { ecn, waits: us(0), behind, left: 9 };
    let late = |us_| Leaves { ecn: Ecn::Ect1, waits: us(us_), behind: 9000, left: 9 };
    let random = [("spread", "\"random\"")];
    let alone = Leaves { ecn: Ecn::Ect1, waits: us(5000), behind: 9000, left: 0 };
    let two = Leaves { ecn: Ecn::Ect1, waits: us(5000), behind: 9000, left: 1 };
    let kept = [LINUX, ("drop_on_overload", "false")];
    let any = [LINUX, ("identify", "\"any-ect\"")];
    let off = [LINUX, ("ecn", "false")];
    for (set, p, leaves, verdict, share) in [
        // C gets p'², in both ways of spreading it.
        (&[][..], 0.25, slow(Ecn::NotEct, 9000), DROP, 0.0625),
        (&[], 0.25, slow(Ecn::Ect0, 9000), MARK, 0.0625),
        (&random, 0.25, slow(Ecn::Ect0, 9000), MARK, 0.0625),
        (&[LINUX], 0.25, slow(Ecn::NotEct, 9000), DROP, 0.0625),
        // L gets k p'.
        (&[], 0.25, slow(Ecn::Ect1, 9000), MARK, 0.5),
        (&[LINUX], 0.25, slow(Ecn::Ce, 9000), MARK, 0.5),
        // The guard: 2·1514 B behind.
        (&[LINUX], 0.5, slow(Ecn::Ect1, 3027), MARK, 0.0),
        (&[LINUX], 0.5, slow(Ecn::Ect1, 3028), MARK, 1.0),
        (&[LINUX], 0.5, slow(Ecn::NotEct, 3027), DROP, 0.0),
        (&[LINUX], 0.5, slow(Ecn::NotEct, 3028), DROP, 0.25),
        (&[], 0.25, slow(Ecn::NotEct, 0), DROP, 0.0625),
        // L's own: the larger of 0.25 and 2·0.25, or of 0.75 and that.
        (&[], 0.25, late(900), MARK, 0.5),
        (&[], 0.25, late(1100), MARK, 0.75),
        (&random, 0.25, late(1100), MARK, 0.75),
        (&[], 0.0, late(1100), MARK, 0.75),
        (&[], 0.0, alone, MARK, 0.0),
        (&[], 0.0, two, MARK, 1.0),
        // Each by itself: 1 − (1 − 0.5)(1 − 0.75).
        (&[("joined", "\"independent\""), ("spread", "\"random\"")], 0.25, late(1100), MARK, 0.875),
        (&[LINUX], 0.25, late(1001), MARK, 1.0),
        // Overload at k p' = 1, or above it.
        (&[], 0.5, slow(Ecn::Ect0, 9000), DROP, 0.25),
        (&[LINUX], 0.5, slow(Ecn::Ect0, 9000), MARK, 0.25),
        (&[], 0.5, slow(Ecn::Ect1, 9000), DROP, 0.25),
        (&[LINUX], 0.5, slow(Ecn::Ect1, 9000), DROP, 0.0),
        (&[LINUX], 0.75, slow(Ecn::Ect0, 9000), DROP, 0.5625),
        (&[LINUX], 0.75, slow(Ecn::Ect1, 9000), DROP, 0.5625),
        (&[LINUX], 0.75, slow(Ecn::Ect1, 9000), MARK, 0.4375),
        // Without drops p' stays within 1/k, where all of L is marked.
        (&kept, 0.5, slow(Ecn::Ect1, 9000), MARK, 1.0),
        (&kept, 0.5, slow(Ecn::Ect0, 9000), MARK, 0.25),
        // What is told from what, and what may be marked.
        (&any, 0.25, slow(Ecn::Ect0, 9000), MARK, 0.5),
        (&off, 0.25, slow(Ecn::Ect1, 9000), DROP, 0.5),
        (&[LINUX, ("k", "1")], 0.25, slow(Ecn::Ect1, 9000), MARK, 0.25),
    ] {
        let mut x = dual(set);
        x.base.set(p);
        let mut rng = rng();
        let n = 20_000;
        let got = (0..n).filter(|_| leaves.of(&mut x, &mut rng) == verdict).count();
        let (got, near) = (got as f64 / f64::from(n), if x.random { 0.014 } else { 1e-4 });
        let Leaves { ecn, waits, behind, left } = leaves;
        assert!(
            (got - share).abs() < near,
            "{set:?} p' {p} {ecn:?} {waits:?} {behind} B {left}: {verdict:?} {got}, not {share}"
        );
    }
}

/// One packet that waited alone: Linux marks it by its step above 1 ms, the RFC does not.
#[test]
fn a_packet_alone() {
    for (set, waits, want) in [
        (&[LINUX][..], 1001, MARK),
        (&[LINUX], 1000, Verdict::Pass),
        (&[LINUX, ("th_len", "1")], 1001, Verdict::Pass),
        (&[], 9000, Verdict::Pass),
        (&[("th_len", "0")], 9000, Verdict::Pass), // added up: the next one is marked
    ] {
        let mut x = dual(set);
        let leaves = Leaves { ecn: Ecn::Ect1, waits: us(waits), behind: 0, left: 0 };
        assert_eq!(leaves.of(&mut x, &mut rng()), want, "{set:?} {waits}");
        assert_eq!(x.native_signals, u64::from(want == MARK));
        assert_eq!(x.coupled, 0);
    }
}

/// With `decides = "arrival"` p' has its say there, before the packet is counted; the step keeps its
/// place.
#[test]
fn it_decides_at_arrivals_where_it_is_told_to() {
    let mut x = dual(&[LINUX, ("decides", "\"arrival\"")]);
    x.base.set(0.5);
    let l = pkt(Ecn::Ect1, 1000);
    assert_eq!(x.arrive(Time::ZERO, &l, &busy(3), &mut rng()), Verdict::Pass); // 3000 B
    assert_eq!(x.arrive(Time::ZERO, &l, &busy(4), &mut rng()), MARK);
    // Marked or not, it waits where it was sent to.
    let c = pkt(Ecn::Ect0, 1000);
    x.base.set(0.99);
    let _ = x.arrive(Time::ZERO, &c, &busy(4), &mut rng());
    x.enqueued(Time::ZERO, &pkt(Ecn::Ce, 1000), 0);
    assert_eq!((x.queues[L].len(), x.queues[C].len(), x.band(&c)), (0, 1, Some(1)));
    let leaves = |waits| Leaves { ecn: Ecn::Ect1, waits: us(waits), behind: 9000, left: 9 };
    assert_eq!(leaves(1000).of(&mut x, &mut rng()), Verdict::Pass);
    assert_eq!(leaves(1001).of(&mut x, &mut rng()), MARK);
}

/// Room for a packet of mtu in bytes, whatever comes; packets; memory, in which it has to fit.
#[test]
fn limits_by_hand() {
    let full = Verdict::Drop(Reason::Overflow);
    let memory = [LINUX, ("memory", "\"6000 B\""), ("packet_memory", "\"500 B\"")];
    for (set, pkts, want) in [
        (&[("limit_bytes", "\"5514 B\"")][..], 4, Verdict::Pass),
        (&[("limit_bytes", "\"5513 B\"")], 4, full),
        (&[("limit_packets", "4")], 3, Verdict::Pass),
        (&[("limit_packets", "4")], 4, full),
        (&memory, 3, Verdict::Pass), // 4·1500 B
        (&memory, 4, full),
        (&[], 310, Verdict::Pass), // 250 ms at 10 Mbit/s: 312 500 B
        (&[], 311, full),
        (&[LINUX], 9999, Verdict::Pass),
        (&[LINUX], 10_000, full),
    ] {
        let mut x = dual(set);
        let got = x.arrive(Time::ZERO, &PKT, &busy(pkts), &mut rng());
        assert_eq!(got, want, "{set:?} {pkts}");
    }
}

/// The longer of the two heads' waits moves p'. 35 ms after a packet of L came and 25 ms after one of
/// C, RFC 9332's gains are 0.15 and 3.0: 0.15·0.020 + 3.0·0.035 = 0.108.
#[test]
fn the_longer_delay_counts() {
    let mut x = dual(&[]);
    assert_eq!(x.next_tick(), Some(Time::from_nanos(15_000_000)));
    x.arriving = L;
    x.enqueued(Time::ZERO, &PKT, 0);
    x.arriving = C;
    x.enqueued(Time::from_nanos(10_000_000), &PKT, 1);
    x.tick(Time::from_nanos(35_000_000), &busy(2));
    assert!((x.base.p() - 0.108).abs() < 1e-12, "{}", x.base.p());
    assert_eq!(x.delays.map(|d| d.as_nanos()), [35_000_000, 25_000_000]);
    assert_eq!(x.next_tick(), Some(Time::from_nanos(50_000_000)));
}

/// What the keys come to that depend on the variant.
#[test]
fn variants_are_bundles_of_defaults() {
    let of = |set: Set| {
        let mut found = std::collections::BTreeMap::new();
        dual(set).settled(&mut |name, value| {
            found.insert(name, value);
        });
        move |name: &str| found.get(name).copied()
    };
    let (rfc, linux, docsis) = (of(&[]), of(&[LINUX]), of(&[("variant", "\"docsis\"")]));
    for (key, values) in [
        ("target", [Some(0.015), Some(0.015), Some(0.010)]),
        ("t_update", [Some(0.015), Some(0.016), Some(0.016)]),
        ("beta", [Some(0.3 / 0.1), Some(819.0 / 256.0), Some(2.5)]),
        ("spread", [Some(0.0), Some(1.0), Some(0.0)]),
        ("native", [Some(0.0), Some(1.0), Some(0.0)]),
        ("th_len", [Some(1.0), Some(0.0), Some(0.0)]),
        ("th_len_at", [Some(0.0), Some(1.0), Some(0.0)]),
        ("joined", [Some(0.0), Some(1.0), Some(0.0)]),
        ("pi_guard", [Some(0.0), Some(3028.0), Some(0.0)]),
        ("overload", [Some(0.0), Some(1.0), Some(0.0)]),
        ("classic_protection", [Some(0.0625), Some(0.1), Some(0.1015625)]),
        ("limit_bytes", [Some(312_500.0), None, Some(312_500.0)]),
        ("limit_packets", [None, Some(10_000.0), None]),
        ("memory", [None, Some(30_280_000.0), None]),
        ("fixed_point", [Some(0.0), Some(1.0), Some(0.0)]),
    ] {
        assert_eq!([rfc(key), linux(key), docsis(key)], values, "{key}");
    }
    assert!((rfc("alpha").unwrap() - 0.15).abs() < 1e-12);
    assert_eq!([linux("alpha"), docsis("alpha")], [Some(41.0 / 256.0), Some(0.25)]);
    // rtt_max makes the gains in any variant: 0.1·0.015/0.09, and 0.3/0.3.
    let slow = of(&[LINUX, ("rtt_max", "\"300 ms\"")]);
    assert_eq!(slow("t_update"), Some(0.015));
    assert!((slow("alpha").unwrap() - 0.1 * 0.015 / 0.09).abs() < 1e-12);
    assert_eq!(slow("beta"), Some(1.0));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    for (set, message) in [
        (&[("step_packets", "5")][..], "step_packets: needs native = \"step\""),
        (&[("rtt_max", "\"0 s\"")], "rtt_max: must be above 0 s"),
        (&[("t_update", "\"10 ns\"")], "t_update: must be at least 1 us"),
        (&[("mtu", "\"0 B\"")], "mtu: must be in [1 B, 1048576 B]"),
        (&[("limit_bytes", "\"1500 B\"")], "limit_bytes: must hold a packet of mtu, 1514 B"),
        (&[("memory", "\"1500 B\"")], "memory: must hold a packet of mtu, 1514 B"),
        (&[("packet_memory", "\"2000000 B\"")], "packet_memory: must be at most 1048576 B"),
    ] {
        assert_eq!(build(&KIND, set).err().unwrap().to_string(), message);
    }
}
