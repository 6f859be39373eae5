//! Loss and recovery: RFC 5681 section 3.2 (Reno), Jacobson 1988 (Tahoe), RFC 6582 (NewReno), RFC
//! 6675 (SACK), RFC 3042.
//!
//! Most stories begin alike: ten segments a window; 1 is acknowledged, so 2 … 11 are outstanding
//! and 2 is lost.

use crate::common::*;
use penstock_tcp::{LossParams, TcpParams};

fn ten_outstanding(p: TcpParams) -> Story {
    let mut s = Story::at_window(p, 10);
    assert_eq!(s.wait(100).ack(1).sent(), [11]);
    s.wait(100);
    s
}

/// RFC 3042: a new segment for each of the first two duplicates; without it, silence.
#[test]
fn limited_transmit_sends_new_segments_on_two_duplicates() {
    for variant in LOSS_BASED {
        for on in [true, false] {
            let mut s = ten_outstanding(TcpParams { limited_transmit: on, ..rfc(variant) });
            for want in [12i64, 13] {
                s.sack(1, &[(3, want - 9)]);
                assert_eq!(s.sent(), if on { vec![want] } else { vec![] }, "{variant:?}");
            }
            near(s.cwnd(), 10.1); // untouched
        }
    }
}

/// It stays within the receiver's window, and needs data.
#[test]
fn limited_transmit_keeps_to_the_receivers_window() {
    let mut s = Story::at_window(TcpParams { window: 10, ..rfc("reno") }, 10);
    s.wait(100).ack(1).dup(1, 2);
    assert_eq!(s.sent(), [11], "10 outstanding are the whole window");
    let mut s = Story::given(TcpParams { initial_window: 5, ..rfc("reno") }, 5);
    s.ack(0).dup(0, 2);
    assert_eq!(s.sent(), [0, 1, 2, 3, 4, 5]);
}

/// The third duplicate. RFC: half of the flight of 10 (limited transmit's two do not count). ns-2:
/// half of cwnd 10.1, ssthresh in whole segments. Tahoe starts from one.
#[test]
fn the_third_duplicate_cuts_and_repairs() {
    for (p, cwnd, ssthresh) in [
        (rfc("tahoe"), 1.0, 5.0),
        (rfc("reno"), 5.0, 5.0),
        (rfc("newreno"), 5.0, 5.0),
        (rfc("sack"), 5.0, 5.0),
        (ns2("tahoe"), 1.0, 5.0),
        (ns2("reno"), 5.05, 5.0),
        (ns2("newreno"), 5.05, 5.0),
        (ns2("sack"), 5.05, 5.0),
    ] {
        let what = format!("{} ns2 = {}", p.variant().name, is_ns2(&p));
        let mut s = ten_outstanding(p);
        for last in 3..=5 {
            assert!(!s.sent().contains(&2), "{what}: too early");
            s.sack(1, &[(3, last)]);
        }
        assert_eq!(s.sent(), [2], "{what}");
        assert!((s.cwnd() - cwnd).abs() < 1e-9 && s.ssthresh() == ssthresh, "{what}: {}", s.cwnd());
        let c = s.tcp.counters();
        assert_eq!((c.fast_retransmits, c.retransmits, c.timeouts), (1, 1, 0), "{what}");
    }
}

/// Tahoe sends on from the hole in slow start, what has arrived already as well.
#[test]
fn tahoe_slow_starts_from_the_hole() {
    let mut s = ten_outstanding(rfc("tahoe"));
    s.dup(1, 3);
    assert_eq!(s.sent(), [12, 13, 2]);
    s.dup(1, 7);
    assert_eq!(s.sent(), [] as [i64; 0], "no inflation");
    near(s.cwnd(), 1.0);
    s.wait(100).ack(13); // all that were outstanding
    near(s.cwnd(), 2.0);
    assert_eq!(s.sent(), [14, 15]);
}

/// RFC 5681 3.2: cwnd = ssthresh + 3, + 1 a duplicate, = ssthresh at the new ACK.
#[test]
fn reno_inflates_and_deflates() {
    let mut s = ten_outstanding(rfc("reno"));
    s.dup(1, 3);
    assert_eq!(s.sent(), [12, 13, 2]);
    // 12 outstanding: the window is 5 + k at the k-th duplicate, and 14 fits when 1 + 5 + k = 14.
    s.dup(1, 4);
    assert_eq!(s.sent(), [] as [i64; 0]);
    s.dup(1, 4); // the 8th to the 11th
    assert_eq!(s.sent(), [14, 15, 16, 17]);
    s.wait(100).ack(13);
    near(s.cwnd(), 5.0);
    assert_eq!(s.sent(), [18], "14 … 18 are five");
    assert_eq!(s.tcp.counters().retransmits, 1);
}

/// Two losses in a window: Reno leaves recovery at the partial ACK, and the second hole costs a
/// second cut.
#[test]
fn reno_cuts_twice_for_two_losses() {
    let mut s = ten_outstanding(rfc("reno"));
    s.dup(1, 10); // 2 and 5 are lost
    assert_eq!(s.sent(), [12, 13, 2, 14, 15, 16]);
    s.wait(100).ack(4); // partial
    near(s.cwnd(), 5.0);
    near(s.ssthresh(), 5.0);
    s.dup(4, 3); // 14, 15, 16 arrive
    assert_eq!(s.tcp.counters().fast_retransmits, 1, "4 is not above recover: bugfix rule");
    s.timer();
    assert_eq!(s.sent(), [5]);
    assert_eq!(s.tcp.counters().timeouts, 1);
}

/// RFC 6582 3.2 by hand; 2 and 5 of 2 … 11 are lost.
#[test]
fn newreno_repairs_a_hole_a_round_trip() {
    let mut s = ten_outstanding(rfc("newreno"));
    s.dup(1, 10); // 3, 4, 6 … 11, 12, 13
    assert_eq!(s.sent(), [12, 13, 2, 14, 15, 16]);
    // Partial: three acknowledged, so the inflation of 10 falls by 3 and rises by 1; 5 + 8 from 4
    // on lets 17 out.
    s.wait(100).ack(4);
    assert_eq!(s.sent(), [5, 17]);
    near(s.cwnd(), 5.0);
    s.dup(4, 3); // 14, 15, 16
    assert_eq!(s.sent(), [18, 19, 20]);
    // Full: min(ssthresh 5, flight 4 + 1).
    s.wait(100).ack(16);
    near(s.cwnd(), 5.0);
    assert_eq!(s.sent(), [21]);
    let c = s.tcp.counters();
    assert_eq!((c.fast_retransmits, c.retransmits, c.timeouts), (1, 2, 0));
}

/// Section 3.2 (3): with little outstanding at the end, no burst: min(ssthresh, max(flight, 1) +
/// 1).
#[test]
fn newreno_ends_recovery_without_a_burst() {
    let mut s = Story::given(
        TcpParams { initial_window: 20, initial_ssthresh: Some(20.0), ..rfc("newreno") },
        20,
    );
    s.ack(0).dup(0, 3);
    near(s.ssthresh(), 10.0);
    s.ack(20);
    near(s.cwnd(), 2.0); // flight 0
}

/// "Impatient": the first partial ACK restarts the timer, the next ones do not (RFC 6582, section
/// 4).
#[test]
fn newreno_restarts_the_timer_once_in_recovery() {
    let mut s = ten_outstanding(rfc("newreno"));
    s.dup(1, 9); // 2, 4 and 6 are lost
    let begun = s.tcp.deadline();
    s.wait(100).ack(3);
    let first = s.tcp.deadline();
    assert!(first > begun);
    s.wait(100).ack(5);
    assert_eq!(s.tcp.deadline(), first);
    assert!(s.sent().ends_with(&[6]) || s.tcp.counters().retransmits == 3);
}

/// RFC 6582's `recover`: three duplicates of an ACK that does not pass it begin nothing.
#[test]
fn no_second_recovery_for_the_same_window() {
    for variant in ["newreno", "tahoe"] {
        let mut s = ten_outstanding(rfc(variant));
        s.dup(1, 3).ack(13); // recover is 13
        s.sent();
        s.dup(13, 3);
        assert_eq!(s.tcp.counters().fast_retransmits, 1, "{variant:?}");
        s.ack(14).dup(14, 3);
        assert_eq!(s.tcp.counters().fast_retransmits, 2, "{variant:?}");
    }
}

/// RFC 6675 by hand; 2 and 5 of 2 … 11 are lost. Both go out in the first round trip, and pipe
/// keeps five on the way.
#[test]
fn sack_repairs_two_holes_in_a_round_trip() {
    let mut s = ten_outstanding(rfc("sack"));
    let mut go = |ack: i64, blocks: &[(i64, i64)], want: &[i64]| {
        s.sack(ack, blocks);
        assert_eq!(s.sent(), want, "after ACK {ack} {blocks:?}");
    };
    go(1, &[(3, 3)], &[12]); // limited transmit
    go(1, &[(3, 4)], &[13]);
    go(1, &[(6, 6), (3, 4)], &[2]); // three above 2: lost; pipe 5 … 13 but 6, and 2: 9
    go(1, &[(6, 7), (3, 4)], &[]); // pipe 8
    go(1, &[(6, 8), (3, 4)], &[]); // three above 5: lost as well; pipe 9 … 13 and 2: 6
    go(1, &[(6, 9), (3, 4)], &[]); // 5
    go(1, &[(6, 10), (3, 4)], &[5]); // 4 + 1
    go(1, &[(6, 11), (3, 4)], &[14]);
    go(1, &[(6, 12), (3, 4)], &[15]);
    go(1, &[(6, 13), (3, 4)], &[16]);
    go(4, &[(6, 13)], &[17]); // 2 has arrived: partial
    go(4, &[(6, 14)], &[18]);
    go(4, &[(6, 15)], &[19]);
    go(4, &[(6, 16)], &[20]);
    go(16, &[], &[21]); // 5 has arrived: all of recover, and five on the way
    near(s.cwnd(), 5.0);
    let c = s.tcp.counters();
    assert_eq!((c.fast_retransmits, c.retransmits, c.timeouts), (1, 2, 0));
}

/// One ACK that reports three segments above the hole is as good as three duplicates (RFC 6675,
/// section 5, (1)).
#[test]
fn sack_needs_no_three_duplicates_to_know() {
    let mut s = ten_outstanding(rfc("sack"));
    s.sack(1, &[(3, 5)]);
    assert_eq!(s.sent()[0], 2);
    // ns-2 counts ACKs.
    let mut s = ten_outstanding(ns2("sack"));
    s.sack(1, &[(3, 5)]);
    assert_eq!(s.sent(), [12]);
}

/// An ACK that reports nothing new is no duplicate (RFC 6675, section 2).
#[test]
fn sack_ignores_repeated_reports() {
    let mut s = ten_outstanding(rfc("sack"));
    for _ in 0..5 {
        s.sack(1, &[(3, 3)]);
    }
    assert_eq!(s.sent(), [12]);
    assert_eq!(s.tcp.counters().fast_retransmits, 0);
}

/// `go_back_n = false`: after a timeout SACK skips what has been reported (5 counts against the
/// window of two, though); with it, everything goes again.
#[test]
fn sack_after_a_timeout() {
    for (go_back_n, want) in [(true, vec![3, 4]), (false, vec![4])] {
        let loss = LossParams { go_back_n, ..LossParams::default() };
        let mut s = ten_outstanding(TcpParams { loss, limited_transmit: false, ..rfc("sack") });
        s.sack(1, &[(5, 5)]).sack(1, &[(3, 3), (5, 5)]).timer();
        assert_eq!(s.sent(), [2]);
        s.wait(100).ack(if go_back_n { 2 } else { 3 });
        assert_eq!(s.sent(), want, "go_back_n = {go_back_n}");
        s.wait(100).ack(4);
        assert_eq!(s.sent()[0], if go_back_n { 5 } else { 6 });
    }
}

/// Whatever the variant, an ACK from the past changes nothing.
#[test]
fn old_acks_are_ignored() {
    for variant in LOSS_BASED {
        for p in [rfc(variant), ns2(variant)] {
            let mut s = Story::at_window(p, 10);
            s.wait(100).acks(1..=6);
            s.sent();
            let before = (s.cwnd(), s.ssthresh(), s.tcp.deadline());
            for old in [1, 2, 5, 0] {
                s.ack(old);
            }
            assert_eq!(s.sent(), [] as [i64; 0], "{variant:?}");
            assert_eq!((s.cwnd(), s.ssthresh(), s.tcp.deadline()), before, "{variant:?}");
        }
    }
}

/// A timeout within SACK's recovery: 2 … 16 are not acknowledged, but cwnd lets five into the
/// network. The next loss after it, with 2 … 16 still outstanding, cuts what slow start has reached.
#[test]
fn what_is_not_acknowledged_is_not_all_in_the_network() {
    let mut s = ten_outstanding(rfc("sack"));
    for last in 3..=13 {
        s.sack(1, &[(3, last)]);
    }
    assert_eq!((s.cwnd(), s.tcp.counters().fast_retransmits), (5.0, 1));
    s.timer();
    assert_eq!((s.cwnd(), s.ssthresh()), (1.0, 2.5));
    s.sent();
    s.wait(100).ack(3);
    near(s.cwnd(), 2.0);
    assert_eq!(s.sent(), [4, 5]);
    s.wait(100).sack(3, &[(5, 7)]);
    assert!(s.ssthresh() <= 2.5);
}
