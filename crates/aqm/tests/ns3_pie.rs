//! ns-3's suites `pie-queue-disc` and `fq-pie-queue-disc` (ns-3 of July 2026), replayed on our PIE
//! and FQ-PIE. Only numbers are taken from there. Its PIE takes the delay from timestamps, and does
//! not derandomise; its assertions are inequalities, which hold for each seed here.
//!
//! Not here: cases 12 to 14, which look into the sum of probabilities, and 15 and 16, about
//! switching itself off (RFC 8033, section 5.3), which ours leaves out. Of FQ-PIE's the deficits
//! are a test of `parts::isolation`, the hash with eight ways is not ours, ports are flows, and its
//! step for L4S is none of Linux's.

use crate::common::replay::{ms, Keys, Replay};
use penstock_aqm::Ecn;

const NS3: &Keys = &[("delay_from", "\"timestamps\""), ("derandomize", "false")];
const CASE_2: &Keys =
    &[("t_update", "\"30 ms\""), ("qdelay_ref", "\"20 ms\""), ("max_burst", "\"100 ms\"")];
const ECN: &Keys = &[("ecn", "true")];

/// 400 packets of 1000 B, one each 10 ms, and departures at gaps, until 8 s. Returns the discipline
/// and its probabilities after each event.
fn run(keys: &[&Keys], gap_ms: f64, ecn: Ecn) -> (Replay, Vec<f64>) {
    let mut pie = Replay::new("pie", &[&[NS3], keys].concat(), 300);
    let mut p = vec![];
    // In units of 0.5 ms: a departure goes first where both come at once.
    let gap = (gap_ms * 2.0) as u64;
    for at in 0..=16_000u64 {
        let now = ms(at as f64 / 2.0);
        if at % gap == 0 && at > 0 {
            pie.depart(now);
        }
        if at % 20 == 0 && at / 20 < 400 {
            pie.arrive(now, 0, 1000, ecn);
        }
        if at % 20 == 0 {
            p.push(pie.state("p"));
        }
    }
    (pie, p)
}

fn drops(keys: &[&Keys], gap_ms: f64) -> u64 {
    run(keys, gap_ms, Ecn::NotEct).0.all().early
}

#[test]
fn case_1_eight_in_and_eight_out() {
    let mut pie = Replay::new("pie", &[NS3], 300);
    (0..8).for_each(|flow| pie.arrive(ms(0.0), flow, 1000, Ecn::NotEct));
    for flow in 0..8 {
        assert_eq!(pie.depart(ms(0.0)).map(|pkt| pkt.flow), Some(flow));
    }
    assert!(pie.depart(ms(0.0)).is_none());
}

#[test]
fn cases_2_to_5_drops_follow_target_and_load() {
    let (pie, _) = run(&[CASE_2], 12.0, Ecn::NotEct);
    let second = pie.all();
    assert!(second.early > 0 && second.forced + second.overflow == 0, "{second:?}");
    let far: &Keys = &[("qdelay_ref", "\"80 ms\"")];
    assert!(drops(&[CASE_2, far], 12.0) < second.early);
    let fourth = drops(&[CASE_2], 15.0);
    assert!(fourth > second.early);
    let slow: &Keys = &[("t_update", "\"90 ms\"")];
    assert!(drops(&[CASE_2, slow], 15.0) < fourth);
}

#[test]
fn case_6_the_departure_rate_is_measured() {
    assert!(drops(&[CASE_2, &[("delay_from", "\"rate-estimate\"")]], 15.0) > 0);
    let linux: &Keys = &[("delay_from", "\"rate-estimate\""), ("variant", "\"linux\"")];
    assert!(drops(&[CASE_2, linux], 15.0) > 0);
}

/// Case 7 takes the cap off, which is no key here; with it p moves by no more than 0.02 from 0.1
/// on, while the delay is below `high_delay`.
#[test]
fn case_8_the_cap_holds() {
    let high: &Keys = &[("high_delay", "\"100 s\""), ("t_update", "\"30 ms\"")];
    let (_, p) = run(&[high], 15.0, Ecn::NotEct);
    let steps = p.windows(2).filter(|w| w[0] >= 0.1).map(|w| w[1] - w[0]);
    let most = steps.fold(0.0, f64::max);
    assert!(most > 0.0 && most <= 0.02 + 1e-12, "{most}");
}

#[test]
fn cases_9_to_11_marks_are_for_capable_packets() {
    let all = |keys: &[&Keys], ecn| run(&[&[CASE_2], keys].concat(), 14.0, ecn);
    let ninth = all(&[ECN], Ecn::NotEct).0.all();
    assert!(ninth.marks == 0 && ninth.drops() > 0);
    let tenth = all(&[], Ecn::Ect0).0.all();
    assert!(tenth.marks == 0 && tenth.drops() > 0);
    let (pie, p) = all(&[ECN, &[("mark_ecnth", "0.3")]], Ecn::Ect0);
    let eleventh = pie.all();
    assert!(eleventh.marks > 0 && eleventh.drops() > 0, "{eleventh:?}");
    assert!(p.iter().copied().fold(0.0, f64::max) > 0.3);
}

/// Three packets of A and one of B fill the limit of 4: in ns-3 A pays with two, in Linux the
/// arriving packet goes.
#[test]
fn fq_case_2_who_pays_for_the_limit() {
    for (full, waiting, lost) in [("\"fattest\"", 3, (2, 0)), ("\"arriving\"", 4, (0, 1))] {
        let full = [("full", full), ("limit", "4")];
        let mut fq = Replay::new("fq-pie", &[&full], 1000);
        for flow in [0, 0, 0, 1, 1] {
            fq.arrive(ms(0.0), flow, 120, Ecn::NotEct);
        }
        assert_eq!(fq.waiting(), waiting);
        assert_eq!((fq.flow(0).overflow, fq.flow(1).overflow), lost);
    }
}

/// Full queues share the link packet by packet, and each is dropped from by its own delay: with
/// four times the load the drops are of that flow alone.
#[test]
fn fq_flows_are_apart() {
    let mut fq = Replay::new("fq-pie", &[&[("quantum", "\"1000 B\"")]], 10_240);
    // 500 packets/s leave; flow 0 sends 1000/s, flow 1 100/s.
    for ms10 in 0..1000u32 {
        for k in 0..10u32 {
            let now = ms(f64::from(ms10) * 10.0 + f64::from(k));
            fq.arrive(now, 0, 1000, Ecn::NotEct);
            if k == 5 {
                fq.arrive(now, 1, 1000, Ecn::NotEct);
            }
            if k % 2 == 1 {
                fq.depart(now);
            }
        }
    }
    let (greedy, sparse) = (fq.flow(0), fq.flow(1));
    assert!(greedy.early > 3000, "{greedy:?}");
    assert_eq!(sparse.drops(), 0);
    assert!(sparse.sent >= 998, "{sparse:?}");
}
