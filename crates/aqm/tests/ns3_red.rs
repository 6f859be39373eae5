//! ns-3's suites `red-queue-disc` and `adaptive-red-queue-disc` (ns-3 of July 2026), replayed on
//! our RED, ARED, Feng's ARED and NLRED, in packets and in bytes. Only numbers are taken from there:
//! its assertions, which are inequalities and hold for each seed, and the means that its rules give.
//!
//! 300 packets of 500 B come at one instant to an empty queue, and none leaves. ns-3's RED is that
//! of ns-2: the gate `wait`, the first packet of an excursion passes, nothing is decided while one
//! packet waits.
//!
//! Case 8 of adaptive RED at 150 Mbit/s is not here: 300 packets at once move our average by one.

use crate::common::replay::{ms, Fates, Keys, Replay};
use penstock_aqm::Ecn;
use penstock_units::QueueLen;

const NS3: &Keys = &[
    ("gate", "\"wait\""),
    ("first_passes", "true"),
    ("early_min_queue", "2"),
    ("mean_packet", "\"500 B\""),
    ("max_p", "0.02"),
];
const SEEDS: u64 = 60;

/// What becomes of 300 packets that come at once, as means over seeds; each seed is checked.
fn burst(
    kind: &'static str,
    bytes: bool,
    keys: &[&Keys],
    ecn: Ecn,
    check: impl Fn(&Fates) -> bool,
) -> (f64, f64, f64) {
    let (mut early, mut forced, mut marks) = (0, 0, 0);
    for seed in 0..SEEDS {
        let fates = at_once(kind, bytes, keys, ecn, 1_500_000, seed);
        assert!(check(&fates), "{kind} {keys:?} {bytes} seed {seed}: {fates:?}");
        early += fates.early;
        forced += fates.forced;
        marks += fates.marks;
    }
    let mean = |n: u64| n as f64 / SEEDS as f64;
    (mean(early), mean(forced), mean(marks))
}

fn at_once(
    kind: &'static str,
    bytes: bool,
    keys: &[&Keys],
    ecn: Ecn,
    bps: u64,
    seed: u64,
) -> Fates {
    let limit = if bytes { QueueLen::Bytes(150_000) } else { QueueLen::Packets(300.0) };
    // Thresholds are in packets, which in bytes are of the mean size.
    let unit: &Keys =
        if bytes { &[("unit", "\"bytes\""), ("early_min_queue", "1000")] } else { &[] };
    let mut red = Replay::on(bps, kind, &[&[NS3], keys, &[unit]].concat(), limit, seed);
    (0..300).for_each(|_| red.arrive(ms(0.0), 0, 500, ecn));
    red.all()
}

const WIDE: &Keys = &[("min_th", "70"), ("max_th", "150")];
const FAST: &Keys = &[("w_q", "0.02")];
const SLOW: &Keys = &[("w_q", "0.002")];
const EARLY: &Keys = &[("min_th", "30"), ("max_th", "90"), ("w_q", "0.002"), ("max_p", "0.5")];
const ECN: &Keys = &[("ecn", "true")];

#[test]
fn red_case_1_packets_leave_in_order() {
    let keys: &Keys = &[("min_th", "2"), ("max_th", "5"), ("w_q", "0.002")];
    let mut red = Replay::new("red", &[NS3, keys], 8);
    (0..8).for_each(|flow| red.arrive(ms(0.0), flow, 500, Ecn::NotEct));
    assert_eq!((red.waiting(), red.all().drops()), (8, 0));
    for flow in 0..8 {
        assert_eq!(red.depart(ms(0.0)).map(|pkt| pkt.flow), Some(flow));
    }
    assert!(red.depart(ms(0.0)).is_none());
}

/// The means that ns-3's rules give over 2000 seeds, early and forced; here within a twelfth.
#[test]
fn red_cases_2_to_7_drops() {
    let not_gentle: &Keys = &[("gentle", "false")];
    let not_wait: &Keys = &[("gate", "\"uniform\"")];
    let narrow: &Keys = &[("max_th", "100")];
    let steep: &Keys = &[("max_p", "0.2")];
    for bytes in [false, true] {
        for (case, more, least, early_and_forced) in [
            (3, &[][..], 1, 25.0),
            (4, &[narrow][..], 4, 71.2),
            (5, &[steep], 4, 36.8),
            (6, &[not_gentle], 4, 101.5),
            (7, &[not_wait], 4, 58.8),
        ] {
            let keys = [&[WIDE, FAST], more].concat();
            let check = |fates: &Fates| fates.early + fates.forced >= least;
            let (early, forced, _) = burst("red", bytes, &keys, Ecn::NotEct, check);
            let got = early + forced;
            let far = (got - early_and_forced).abs();
            assert!(far < early_and_forced / 12.0, "case {case}, {bytes}: {got}");
        }
        let none = |fates: &Fates| fates.drops() == 0;
        let _ = burst("red", bytes, &[WIDE, SLOW], Ecn::NotEct, none);
    }
}

#[test]
fn red_cases_8_to_11_ecn() {
    for bytes in [false, true] {
        for (on, ecn) in [(true, Ecn::NotEct), (false, Ecn::Ect0), (false, Ecn::NotEct)] {
            let keys = [EARLY, if on { ECN } else { &[] }];
            let drops = |f: &Fates| f.early > 0 && f.marks == 0;
            let (early, ..) = burst("red", bytes, &keys, ecn, drops);
            assert!((early - 14.4).abs() < 1.2, "{early}");
        }
        let marks = |f: &Fates| f.early == 0 && f.marks > 0;
        let (.., marks) = burst("red", bytes, &[EARLY, ECN], Ecn::Ect0, marks);
        assert!((marks - 14.4).abs() < 1.2, "{marks}");
    }
}

/// 4.9 and 10.9 drops: Feng's max_p is divided where the average comes from below, and the parabola
/// is flatter at first.
#[test]
fn red_cases_12_and_13_feng_and_nlred() {
    for bytes in [false, true] {
        let (feng, ..) = burst("feng-ared", bytes, &[EARLY], Ecn::NotEct, |f| f.early < 11);
        assert!((feng - 4.9).abs() < 0.5, "{feng}");
        let (nlred, ..) = burst("nlred", bytes, &[EARLY], Ecn::NotEct, |f| f.early < 14);
        assert!((nlred - 10.9).abs() < 0.9, "{nlred}");
    }
}

/// Early drops of ARED in 300 packets at once, each seed.
fn ared(bytes: bool, w_q: &'static str, bps: u64, seed: u64) -> u64 {
    let w_q = [("w_q", w_q)];
    at_once("ared", bytes, &[WIDE, &w_q], Ecn::NotEct, bps, seed).early
}

/// Weights: fixed; automatic, 1 − exp(−1/C); of ten round trips ("rtt"); and ns-2's for a slow
/// link, 1 − exp(−10/C). C is 375 packets/s, or 3.75.
#[test]
fn ared_cases_1_to_7_weights() {
    let (fast, slow) = (1_500_000, 15_000);
    for bytes in [false, true] {
        for seed in 0..10 {
            assert_eq!(ared(bytes, "0.002", fast, seed), 0);
            assert_eq!(ared(bytes, "\"auto\"", fast, seed), 0);
            assert_ne!(ared(bytes, "\"auto\"", slow, seed), 0);
            assert_eq!(ared(bytes, "\"rtt\"", fast, seed), 0);
            let fifth = ared(bytes, "\"rtt\"", slow, seed);
            assert_ne!(fifth, 0);
            assert_ne!(ared(bytes, "0.02631", fast, seed), 0); // 1 − exp(−10/375)
            assert_ne!(ared(bytes, "0.93052", slow, seed), fifth); // 1 − exp(−10/3.75)
        }
    }
}

#[test]
fn ared_case_8_automatic_thresholds() {
    for bytes in [false, true] {
        let auto = [("w_q", "\"auto\"")];
        assert!(at_once("ared", bytes, &[&auto], Ecn::NotEct, 1_500_000, 1).early > 0);
    }
}

/// One packet each 10 ms for 5 s, and none leaves: while the average is below its target max_p
/// falls, so that ARED drops fewer than RED.
#[test]
fn ared_cases_9_and_10_max_p_adapts() {
    let keys: &Keys = &[("min_th", "5"), ("max_th", "15"), ("w_q", "0.002"), ("max_p", "0.5")];
    let early = |kind, seed| {
        let limit = QueueLen::Packets(300.0);
        let mut red = Replay::on(1_500_000, kind, &[NS3, keys], limit, seed);
        (0..500).for_each(|i| red.arrive(ms(10.0 * f64::from(i)), 0, 500, Ecn::NotEct));
        red.all().early
    };
    for seed in 0..10 {
        assert!(
            early("red", seed) > early("ared", seed),
            "{} {}",
            early("red", seed),
            early("ared", seed)
        );
        assert!(early("red", seed) > 0);
    }
}
