//! ns-3's suites `codel-queue-disc` and `fq-codel-queue-disc` (ns-3 of July 2026), replayed on our
//! CoDel and FQ-CoDel. Only numbers are taken from there: packets in, departures asked for, counts
//! expected. Its CoDel has Newton's step; each case runs under the exact law, too, where the two
//! differ by design.
//!
//! Not here: the case without a flow (every packet of ours has one), the hash with eight ways (ours
//! is plain, as RFC 8290's), and the two of ports, which are the flows of ours.

use crate::common::replay::{ms, Keys, Replay};
use penstock_aqm::Ecn;
use penstock_units::QueueLen;

const NEWTON: &Keys = &[("control_law", "\"newton\"")];
const EXACT: &Keys = &[("control_law", "\"exact\"")];
const ECN: &Keys = &[("ecn", "true")];

/// 20 packets of 1000 B at 0, of which the first `capable` may be marked, and departures at these
/// times: after each the packets that wait, the drops and the marks.
fn basic(keys: &[&Keys], capable: usize, at_ms: [f64; 4]) -> [(u32, u64, u64); 4] {
    let mut codel = Replay::new("codel", keys, 1500);
    for i in 0..20 {
        codel.arrive(ms(0.0), 0, 1000, if i < capable { Ecn::Ect0 } else { Ecn::NotEct });
    }
    at_ms.map(|at| {
        assert!(codel.depart(ms(at)).is_some());
        (codel.waiting(), codel.all().drops(), codel.all().marks)
    })
}

const AT: [f64; 4] = [10.0, 210.0, 210.0, 420.0];

#[test]
fn case_1_packets_leave_in_order() {
    let keys: &Keys = &[("target", "\"4 ms\""), ("interval", "\"50 ms\"")];
    let mut codel = Replay::new("codel", &[keys, NEWTON], 1500);
    for flow in 0..6 {
        codel.arrive(ms(0.0), flow, 1000, Ecn::NotEct);
        assert_eq!(codel.waiting(), flow + 1);
    }
    for flow in 0..6 {
        assert_eq!(codel.depart(ms(0.0)).map(|pkt| pkt.flow), Some(flow));
    }
    assert!(codel.depart(ms(0.0)).is_none());
    assert_eq!(codel.all().drops(), 0);
}

#[test]
fn case_2_what_finds_no_room_is_lost() {
    for limit in [QueueLen::Packets(500.0), QueueLen::Bytes(500_000)] {
        let mut codel = Replay::on(1_500_000, "codel", &[NEWTON], limit, 1);
        (0..503).for_each(|_| codel.arrive(ms(0.0), 0, 1000, Ecn::NotEct));
        assert_eq!((codel.all().overflow, codel.waiting()), (3, 500));
    }
}

/// Entry at 210 ms, where the third signal is due at 310 ms; then the exact law waits 70.7 and 57.7
/// ms, to 380.7 and 438.4, and Newton's 50, 56.2 and 48.8, to 360, 416.2 and 465.
#[test]
fn case_3_basic_drop() {
    for (law, more) in [(EXACT, 2), (NEWTON, 3)] {
        let more32 = more as u32;
        let want = [(19, 0, 0), (17, 1, 0), (16, 1, 0), (15 - more32, 1 + more, 0)];
        assert_eq!(basic(&[law], 20, AT), want);
    }
}

#[test]
fn case_4_basic_mark_of_packets_that_may_not_be_marked() {
    for (law, more) in [(EXACT, 2), (NEWTON, 3)] {
        let more32 = more as u32;
        let want = [(19, 0, 0), (17, 1, 0), (16, 1, 0), (15 - more32, 1 + more, 0)];
        assert_eq!(basic(&[law, ECN], 0, AT), want);
    }
}

#[test]
fn case_5_basic_mark() {
    for law in [EXACT, NEWTON] {
        let want = [(19, 0, 0), (18, 0, 1), (17, 0, 1), (16, 0, 2)];
        assert_eq!(basic(&[law, ECN], 20, AT), want);
    }
}

const CE_2_MS: &Keys = &[("ce_threshold", "\"2 ms\"")];

/// ns-3 counts marks for the threshold (1, 1, 2, 2) and for the target (0, 1, 1, 1) apart; a packet
/// here is marked once, so the marks are their sum.
#[test]
fn case_6_basic_mark_with_a_threshold_and_few_capable_packets() {
    for (law, more) in [(EXACT, 2), (NEWTON, 3)] {
        let more32 = more as u32;
        let want = [(19, 0, 1), (18, 0, 2), (17, 0, 3), (16 - more32, more, 3)];
        assert_eq!(basic(&[law, ECN, CE_2_MS], 3, AT), want);
    }
}

/// Marks for the threshold 0, 1, 2, 2 and for the target 0, 0, 0, 1. Linux would count the last
/// packet for both.
#[test]
fn case_7_basic_mark_with_a_threshold() {
    for law in [EXACT, NEWTON] {
        let want = [(19, 0, 0), (18, 0, 1), (17, 0, 2), (16, 0, 3)];
        assert_eq!(basic(&[law, ECN, CE_2_MS], 20, [1.0, 3.0, 10.0, 210.0]), want);
    }
}

/// Three packets of A and one of B fill the limit of 4. The next of B costs A two at once, half of
/// its packets as well as of its bytes.
#[test]
fn fq_case_2_the_fullest_queue_pays_for_the_limit() {
    for halve in ["\"packets\"", "\"bytes\""] {
        for when in ["\"before\"", "\"after\""] {
            let halve = [("halve", halve), ("overflow_when", when), ("limit", "4")];
            let keys: Vec<(&'static str, &'static str)> = halve.to_vec();
            let mut fq = Replay::new("fq-codel", &[&keys], 1000);
            for flow in [0, 0, 0, 1, 1] {
                fq.arrive(ms(0.0), flow, 120, Ecn::NotEct);
            }
            assert_eq!((fq.waiting(), fq.flow(0).overflow, fq.flow(1).overflow), (3, 2, 0));
        }
    }
}

/// Five flows with 20 packets of 120 B at 0, of which the first three may be marked. 60 departures
/// from `gap_ms` on: a turn of 1514 B is 13 packets.
fn five_flows(keys: &[&Keys], gap_ms: f64) -> Replay {
    let mut fq = Replay::new("fq-codel", keys, 10_240);
    for flow in 0..5 {
        let ecn = if flow < 3 { Ecn::Ect0 } else { Ecn::NotEct };
        (0..20).for_each(|_| fq.arrive(ms(0.0), flow, 120, ecn));
    }
    (1..=60).for_each(|i| assert!(fq.depart(ms(f64::from(i) * gap_ms)).is_some()));
    fq
}

#[test]
fn fq_case_6_ecn_first_run() {
    for (law, drops) in [(NEWTON, 4), (EXACT, 3)] {
        let fq = five_flows(&[law], 110.0);
        assert_eq!([0, 1, 2].map(|flow| fq.flow(flow).marks), [6; 3], "{law:?}");
        assert_eq!([0, 1, 2].map(|flow| fq.flow(flow).drops()), [0; 3]);
        assert_eq!([3, 4].map(|flow| fq.flow(flow).drops()), [drops; 2], "{law:?}");
    }
}

/// The later a flow's turn comes, the more of its packets have waited 2 ms.
#[test]
fn fq_case_6_ecn_second_run() {
    let fq = five_flows(&[NEWTON, CE_2_MS], 0.1);
    assert_eq!([0, 1, 2].map(|flow| fq.flow(flow).marks), [0, 6, 13]);
    assert_eq!(fq.all().drops(), 0);
}

#[test]
fn fq_case_6_ecn_third_run() {
    let fq = five_flows(&[NEWTON, CE_2_MS], 110.0);
    for flow in 0..3 {
        assert_eq!((fq.flow(flow).marks, fq.flow(flow).drops()), (fq.flow(flow).sent, 0));
    }
    assert_eq!([3, 4].map(|flow| fq.flow(flow).drops()), [4; 2]);
}

/// 70 packets of ECT(1) and 70 of ECT(0), one each 0.5 ms; departures each 1 ms; the threshold of 2
/// ms is for ECT(1) alone. Returns the marks of both, and checks that nothing is dropped.
fn l4s(bytes: u32, flow_of_ect0: u32) -> [u64; 2] {
    let keys: &Keys = &[("ce_mask", "3"), ("ce_selector", "1")];
    let mut fq = Replay::new("fq-codel", &[NEWTON, CE_2_MS, keys], 10_240);
    let mut marks = [0; 2];
    for half in 0..=280 {
        let now = ms(f64::from(half) / 2.0);
        let of_ect0 = half % 2 == 1;
        if half < 140 {
            let (flow, ecn) = if of_ect0 { (flow_of_ect0, Ecn::Ect0) } else { (0, Ecn::Ect1) };
            fq.arrive(now, flow, bytes, ecn);
        }
        if half > 0 && !of_ect0 {
            let before = fq.all().marks;
            if let Some(pkt) = fq.depart(now) {
                marks[usize::from(pkt.ecn == Ecn::Ect0)] += fq.all().marks - before;
            }
        }
    }
    assert_eq!(fq.all().drops(), 0);
    marks
}

/// Its first count, 66 of two flows, is that of three packets a turn; the sizes are ours. Of one
/// queue the first two packets of ECT(1) wait no longer than 2 ms. In ns-3 such a packet is no
/// matter of CoDel, here as in Linux the threshold comes besides.
#[test]
fn fq_case_8_l4s() {
    let [ect1, ect0] = l4s(500, 1);
    assert_eq!(ect1, 66);
    assert!(ect0 > 0);
    assert_eq!(l4s(120, 0), [68, 1]);
}
