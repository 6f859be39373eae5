//! How the window grows: slow start, congestion avoidance, what limits both. RFC 5681 section 3.1,
//! RFC 7661.

use crate::common::*;
use penstock_tcp::{Ecn, HyStart, HyStartParams, Mark, TcpParams, Validation};
use penstock_units::param::Profile;

/// Every ACK in slow start lets two segments out: 2, 4, 8, 16 a round trip.
#[test]
fn slow_start_doubles_each_round_trip() {
    for variant in LOSS_BASED {
        for p in [rfc(variant), ns2(variant)] {
            let mut s = Story::connected(p);
            assert_eq!(s.sent(), [1, 2]);
            let mut next = 1;
            for window in [2i64, 4, 8, 16] {
                s.wait(100).acks(next..=next + window - 1);
                next += window;
                let want: Vec<i64> = (next..next + 2 * window).collect();
                assert_eq!(s.sent(), want, "{variant:?}");
                near(s.cwnd(), 2.0 * window as f64);
            }
        }
    }
}

/// cwnd 10 at ssthresh: one segment a round trip; by ACKs 10 + sum of 1/cwnd, a little under 11.
#[test]
fn congestion_avoidance_adds_one_segment_a_round_trip() {
    for variant in LOSS_BASED {
        let mut s = Story::at_window(rfc(variant), 10);
        s.wait(100).acks(1..=10);
        let want = (0..10).fold(10.0, |w: f64, _| w + 1.0 / w);
        near(s.cwnd(), want);
        assert!(want > 10.9 && want < 11.0);
        assert_eq!(
            s.sent(),
            (11..=20).collect::<Vec<i64>>(),
            "a window of ten whole segments, still"
        );
        s.wait(100).acks(11..=20);
        assert!(s.cwnd() > 11.8 && s.cwnd() < 12.0);
        assert_eq!(s.sent().len(), 11);
    }
}

/// A delayed ACK covers two segments. Bytes: in avoidance it counts for both, in slow start for one
/// (RFC 5681: min(N, SMSS)). ns-2 takes one step an ACK in either.
#[test]
fn delayed_acks_count_bytes_or_acks() {
    // from ssthresh 8: (growth per ACK, cwnd after one ACK of two segments)
    for (p, want) in [(rfc("reno"), 8.0 + 2.0 / 8.0), (ns2("reno"), 8.0 + 1.0 / 8.0)] {
        let mut s = Story::at_window(p, 8);
        s.ack(2);
        near(s.cwnd(), want);
    }
    for p in [rfc("reno"), ns2("reno")] {
        let mut s = Story::connected(p);
        s.ack(2);
        near(s.cwnd(), 3.0);
        assert_eq!(s.sent(), [1, 2, 3, 4, 5]);
    }
}

/// The receiver's window, not cwnd, limits: RFC behaviour stops growing, ns-2 goes on.
#[test]
fn no_growth_beyond_what_is_used() {
    for variant in LOSS_BASED {
        let go = |p: TcpParams| {
            let mut s = Story::connected(TcpParams { window: 5, ..p });
            s.wait(100).acks(1..=100);
            assert!(s.tcp.counters().sent <= 1 + 105, "never more than the window outstanding");
            s.cwnd()
        };
        let (with, without) = (go(rfc(variant)), go(ns2(variant)));
        assert!((5.0..=6.0).contains(&with), "{variant:?}: {with}");
        assert!(without > 50.0, "{variant:?}: {without}");
    }
}

/// ssthresh in the middle of a window: the fourth segment of growth is slow start's, the rest
/// avoidance's.
#[test]
fn slow_start_ends_at_ssthresh() {
    let mut s = Story::connected(TcpParams { initial_ssthresh: Some(4.0), ..rfc("newreno") });
    s.acks(1..=2);
    near(s.cwnd(), 4.0);
    s.ack(3);
    near(s.cwnd(), 4.25);
    s.ack(4);
    near(s.cwnd(), 4.25 + 1.0 / 4.25);
}

#[test]
fn the_receivers_window_limits_what_is_outstanding() {
    for p in [rfc("sack"), ns2("tahoe")] {
        let mut s = Story::connected(TcpParams { window: 3, initial_window: 10, ..p });
        assert_eq!(s.sent(), [1, 2, 3]);
        assert_eq!(s.ack(1).sent(), [4]);
        assert_eq!(s.ack(4).sent(), [5, 6, 7]);
    }
}

#[test]
fn a_transfer_ends_with_its_last_segment() {
    let mut s = Story::given(rfc("reno"), 3);
    assert_eq!(s.ack(0).sent(), [0, 1, 2]);
    assert!(!s.tcp.done());
    assert_eq!(s.acks(1..=2).sent(), [3], "no more was given");
    assert!(!s.tcp.done());
    s.ack(3);
    assert!(s.tcp.done());
    assert_eq!(s.tcp.deadline(), None, "nothing outstanding, no timer (RFC 6298, 5.2)");
}

#[test]
fn stop_silences_and_reset_starts_afresh() {
    let mut s = Story::at_window(rfc("newreno"), 8);
    s.tcp.stop();
    assert_eq!(s.tcp.deadline(), None, "retransmissions are stopped too");
    assert_eq!(s.acks(1..=4).sent(), [] as [i64; 0]);
    let before = s.tcp.counters();
    s.tcp.reset(0.25);
    assert_eq!(s.tcp.counters(), before, "counters are of the flow, not of the connection");
    near(s.cwnd(), 1.0);
    assert_eq!(s.tcp.acknowledged(), -1);
    let now = s.now;
    let mut out = Outbox::default();
    s.tcp.give(now, 2, &mut out);
    assert_eq!(out.0.len(), 1);
    assert!(out.0[0].syn && out.0[0].seq == 0);
}

/// RFC 9293 with an initial window of N; a SYN lost first: RFC 5681 3.1, one segment.
#[test]
fn initial_window_after_the_handshake() {
    for (n, lost, want) in [(2u32, false, 2.0), (10, false, 10.0), (10, true, 1.0)] {
        let mut s = Story::given(TcpParams { initial_window: n, ..rfc("reno") }, 100);
        if lost {
            s.timer();
            assert_eq!(s.sent(), [0, 0], "the SYN again");
        }
        s.ack(0);
        near(s.cwnd(), want);
    }
}

/// Without a handshake the first data segment stands in the SYN's place.
#[test]
fn without_a_handshake_data_come_at_once() {
    let mut s = Story::given(TcpParams { handshake: false, ..ns2("reno") }, 100);
    let first = s.take();
    assert!(first.len() == 1 && first[0].seq == 0 && !first[0].syn);
    assert_eq!(s.ack(0).sent(), [1, 2]);
}

/// What is under way fits into the receiver's window as the last ACK gave it.
#[test]
fn the_receivers_window_is_that_of_the_last_ack() {
    let mut s = Story::at_window(rfc("newreno"), 8); // 1 to 8 are under way
    assert_eq!(s.offered(1, 3).sent(), [0; 0], "up to 4");
    assert_eq!(s.offered(6, 3).sent(), [9]);
    assert_eq!(s.ack(7).sent(), [10, 11, 12, 13, 14, 15], "cwnd alone");
}

fn linux(variant: &str) -> TcpParams {
    TcpParams::under(Profile::Linux, variant).unwrap()
}

/// Linux, an ACK for each two segments: all that arrives counts in slow start, so that a window of
/// 10 is 20 after a round trip, and 40 after two.
#[test]
fn slow_start_counts_every_segment() {
    let mut s = Story::connected(linux("reno"));
    for (acks, cwnd) in [(1..=5, 20.0), (6..=15, 40.0)] {
        s.wait(100);
        for i in acks {
            s.ack(2 * i);
        }
        near(s.cwnd(), cwnd);
    }
}

/// Without SACK duplicates report segments: of three that are acknowledged after two duplicates one
/// is new.
#[test]
fn what_duplicates_reported_counts_once() {
    let mut s = Story::connected(linux("newreno"));
    s.wait(100).dup(0, 2).ack(3);
    near(s.cwnd(), 11.0);
    s.ack(5);
    near(s.cwnd(), 13.0);
}

/// Reno in whole segments: from 10 at ssthresh, ACKs of two give the eleventh at the fifth, and the
/// twelfth after eleven segments more. What slow start leaves of an ACK counts in avoidance.
#[test]
fn avoidance_counts_up_to_a_segment() {
    let mut s = Story::at_window(linux("reno"), 10);
    s.wait(100);
    for (acked, cwnd) in [(8, 10.0), (10, 11.0), (20, 11.0), (22, 12.0)] {
        for seq in (s.tcp.acknowledged() + 2..=acked).step_by(2) {
            s.ack(seq);
        }
        near(s.cwnd(), cwnd);
    }
    let mut s = Story::connected(TcpParams { initial_ssthresh: Some(12.0), ..linux("reno") });
    s.wait(100).ack(9);
    // two of slow start, and 7 of 12 of avoidance
    near(s.cwnd(), 12.0);
    s.ack(14);
    near(s.cwnd(), 13.0);
}

/// A cut halves cwnd, and not what is outstanding, and is in whole segments.
#[test]
fn a_cut_of_cwnd_is_whole() {
    for (cwnd, half) in [(11, 5.0), (3, 2.0)] {
        let p = TcpParams { ecn: Ecn::Classic, ..linux("reno") };
        let mut s = Story::at_window(p, cwnd);
        s.wait(100).marked(1, Mark::Ce);
        near(s.tcp.ssthresh(), half);
    }
}

/// Linux's test, initial window 10, ACKs of two. Of 9 segments given more than half of the window
/// were outstanding, and it grows up to twice as many; of 10 it was full; of 5 it was not even half
/// used; of 6 it grows until it is twice that.
#[test]
fn linux_grows_what_is_used() {
    for (given, want) in [(9, 18.0), (10, 20.0), (5, 10.0), (6, 12.0)] {
        let mut s = Story::given(linux("reno"), given);
        s.wait(100).ack(0);
        s.wait(100);
        for seq in (2..=given as i64).step_by(2) {
            s.ack(seq);
        }
        s.ack(given as i64);
        near(s.cwnd(), want);
    }
}

/// A window that goes unused for a timeout: half of the way to what is used, at least the initial
/// window, and ssthresh remembers three quarters of it. Linux has one setting for this and for the
/// restart after a pause.
#[test]
fn an_unused_window_shrinks() {
    for (idle_restart, wanted) in
        [(true, [21.0, 21.0, 21.0, 15.0, 15.0, 15.0, 12.0]), (false, [21.0; 7])]
    {
        let p = TcpParams { initial_ssthresh: Some(20.0), idle_restart, ..linux("reno") };
        let mut s = Story::given(p, 30);
        s.wait(100).ack(0);
        s.wait(100);
        for seq in (2..=30).step_by(2) {
            s.ack(seq);
        }
        near(s.cwnd(), 21.0);
        // One segment every 100 ms: 300 ms are a timeout.
        for (i, want) in wanted.into_iter().enumerate() {
            s.give(1);
            s.wait(100).ack(31 + i as i64);
            near(s.cwnd(), want);
        }
        near(s.tcp.ssthresh(), 20.0);
    }
}

/// 36 segments, a timeout of 300 ms, and 2 s since the last one was sent: 18, then 9, which the
/// initial window exceeds. Less than a timeout changes nothing.
#[test]
fn a_pause_restarts_the_window() {
    for (idle, want) in [(2000, 10), (250, 36), (350, 18)] {
        let p = TcpParams { window_validation: Validation::Off, ..linux("reno") };
        let mut s = Story::given(p, 26);
        s.wait(100).ack(0);
        for round in [2..=10, 12..=26] {
            s.wait(100);
            for seq in round.step_by(2) {
                s.ack(seq);
            }
        }
        near(s.cwnd(), 36.0);
        let _ = s.sent();
        s.wait(idle - 100).give(100);
        assert_eq!(s.sent().len(), want, "after {idle} ms");
    }
}

fn with_hystart(variant: &str, hystart: HyStart) -> TcpParams {
    TcpParams { hystart: HyStartParams { hystart }, initial_window: 10, ..rfc(variant) }
}

/// Round trips of 100 ms, then of 140 and more. Linux's HyStart began a round with the ACK of 7, the first at
/// a window of 16, and the next one with that of 23: the ninth of that, 31, ends slow start with
/// ssthresh at the window. HyStart++ goes on by quarters after the eighth long round trip. Under any
/// control whose slow start is Reno's.
#[test]
fn growing_round_trips_end_slow_start() {
    for variant in ["reno", "newreno", "sack", "westwood", "highspeed", "cubic"] {
        for (hystart, grown, ssthresh) in [
            (HyStart::Off, 50.0, f64::INFINITY),
            (HyStart::Linux, 40.0, 40.0),
            // The ACK of the eighth sample takes a whole step.
            (HyStart::Rfc9406, 20.0 + 8.0 + 22.0 / 4.0, f64::INFINITY),
        ] {
            let mut s = Story::connected(with_hystart(variant, hystart));
            s.wait(100).acks(1..=10);
            near(s.cwnd(), 20.0);
            for seq in 11..=40 {
                // At intervals that are no train of Linux's.
                s.wait(if seq == 11 || seq == 31 { 140 } else { 3 }).ack(seq);
            }
            assert!((s.cwnd() - grown).abs() < 1.0, "{variant} {hystart:?}: {}", s.cwnd());
            assert_eq!(s.ssthresh(), ssthresh, "{variant} {hystart:?}");
        }
    }
}

/// Controls with a slow start of their own refuse it.
#[test]
fn hystart_needs_renos_slow_start() {
    for variant in ["vegas", "ledbat"] {
        let error = with_hystart(variant, HyStart::Rfc9406).check().unwrap_err().to_string();
        assert!(error.starts_with("hystart: must be \"off\""), "{error}");
    }
}

/// A loss ends HyStart++ for good: the slow start after the timeout is RFC 5681's.
#[test]
fn only_the_first_slow_start_has_rounds() {
    let mut s = Story::connected(with_hystart("sack", HyStart::Rfc9406));
    s.wait(100).acks(1..=5).timer();
    s.wait(100).ack(7); // two segments: one step
    near(s.cwnd(), 2.0);
}
