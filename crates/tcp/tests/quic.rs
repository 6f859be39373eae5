//! QUIC's recovery, RFC 9002: thresholds of packets and of time, probes, persistent congestion.
//!
//! The round trip is 100 ms and the ACK of the handshake its first sample, so that srtt = 100 ms and
//! rttvar = 50 ms. The first data segment is 1.

use crate::common::*;
use penstock_tcp::{CaState, PacingParams, QuicParams, TcpParams};
use penstock_units::param::Profile;
use penstock_units::Duration;

/// The profile's, unpaced, with a window of so many segments.
fn quic(window: u32) -> TcpParams {
    let p = TcpParams::under(Profile::Quic, "reno").expect("a variant");
    TcpParams {
        initial_window: window,
        initial_ssthresh: Some(f64::from(window)),
        pacing: PacingParams::default(),
        ..p
    }
}

fn opened(p: TcpParams) -> Story {
    let mut s = Story::connected(p);
    s.sent();
    s
}

/// Ten under way, the first is missing. The reports of the second and third leave a timer for 9/8
/// of the round trip; that of the fourth, the third sent after it, makes it lost. The window is
/// halved at once, and nothing but its repair is sent until less than five are in flight.
#[test]
fn the_third_later_packet_is_the_threshold() {
    let mut s = opened(quic(10));
    s.wait(100).sack(0, &[(2, 2)]);
    near(s.rto_ms(), 12.5);
    assert_eq!((s.sent(), s.cwnd()), (vec![11], 10.1), "Reno's growth, and limited transmit");
    s.sack(0, &[(2, 3)]);
    assert_eq!(s.sent(), [12]);
    s.sack(0, &[(2, 4)]);
    near(s.cwnd(), (10.1 + 1.0 / 10.1) / 2.0);
    assert_eq!((s.sent(), s.tcp.info().state), (vec![], CaState::Recovery), "eight are in flight");
    for (last, sent) in [(5, vec![]), (6, vec![]), (7, vec![]), (8, vec![1]), (9, vec![13])] {
        s.sack(0, &[(2, last)]);
        assert_eq!(s.sent(), sent, "after the report of {last}");
    }
    near(s.cwnd(), (10.1 + 1.0 / 10.1) / 2.0);
    assert_eq!(s.tcp.counters().fast_retransmits, 1);
    // What was sent in the recovery arrives: it is over, and the window grows.
    s.wait(100).sack(12, &[]);
    assert_eq!(s.tcp.info().state, CaState::Open);
    assert!(s.cwnd() > 5.1, "{}", s.cwnd());
}

/// One report is not enough, but 9/8 of the round trip is: 112.5 ms after it was sent.
#[test]
fn nine_eighths_of_a_round_trip_are_the_other() {
    for (threshold, late_ms) in [(1.125, 12.5), (1.25, 25.0)] {
        let quic_params = QuicParams { time_threshold: threshold, ..QuicParams::default() };
        let mut s = opened(TcpParams { quic: quic_params, ..quic(10) });
        s.wait(100).sack(0, &[(2, 2)]);
        s.sent();
        near(s.rto_ms(), late_ms);
        s.timer();
        assert_eq!(s.tcp.info().state, CaState::Recovery, "{threshold}");
        near(s.ssthresh(), 5.05);
        assert_eq!(s.tcp.counters().timeouts, 0);
    }
}

/// A hundred round trips of 100 ms are more than the largest timeout, 2 s, of which 100 ms are over.
#[test]
fn no_loss_is_waited_for_longer_than_the_largest_timeout() {
    let mut p = quic(10);
    p.quic.time_threshold = 100.0;
    p.rtt.max_rto = Duration::from_millis(2000);
    let mut s = opened(p);
    s.wait(100).sack(0, &[(2, 2)]);
    near(s.rto_ms(), 1900.0);
    s.timer();
    assert_eq!(s.tcp.info().state, CaState::Recovery);
}

/// With a threshold of five the third report is not enough.
#[test]
fn the_threshold_of_packets_is_a_key() {
    let quic_params = QuicParams { packet_threshold: 5, ..QuicParams::default() };
    let mut s = opened(TcpParams { quic: quic_params, ..quic(10) });
    s.wait(100).sack(0, &[(2, 5)]);
    assert_eq!(s.tcp.info().state, CaState::Open);
    s.sack(0, &[(2, 6)]);
    assert_eq!(s.tcp.info().state, CaState::Recovery);
}

/// The probe timeout is 100 + 4·50 + 25 ms, without a floor, and doubles. It sends two new segments
/// beyond the window, and cuts nothing. When one of them arrives, what came before is lost.
#[test]
fn a_probe_timeout_does_not_cut() {
    let mut s = opened(quic(10));
    near(s.rto_ms(), 325.0);
    s.timer();
    assert_eq!((s.sent(), s.cwnd()), (vec![11, 12], 10.0));
    near(s.rto_ms(), 650.0);
    assert_eq!(s.tcp.info().backoff, 1);
    s.timer();
    assert_eq!((s.sent(), s.cwnd()), (vec![13, 14], 10.0));
    near(s.rto_ms(), 1300.0);
    assert_eq!((s.tcp.counters().timeouts, s.tcp.info().state), (2, CaState::Open));
    // All arrive after all: nothing was cut.
    s.wait(10).ack(14);
    assert_eq!(s.tcp.counters().fast_retransmits, 0);
    assert_eq!(s.tcp.info().backoff, 0);
}

/// Where there is nothing new, the oldest go again; one probe if that is asked for.
#[test]
fn probes_repeat_the_oldest() {
    for (pto_probes, want) in [(2, vec![1, 2]), (1, vec![1])] {
        let quic_params = QuicParams { pto_probes, ..QuicParams::default() };
        let mut s = Story::given(TcpParams { quic: quic_params, ..quic(10) }, 4);
        s.wait(100).ack(0);
        assert_eq!(s.sent(), [0, 1, 2, 3, 4]);
        s.timer();
        assert_eq!(s.sent(), want);
        // The copies arrive: the rest is lost, once.
        s.wait(100).ack(2);
        assert_eq!(s.sent(), [3, 4]);
        assert_eq!(s.tcp.counters().fast_retransmits, 1);
    }
}

/// After so many probe timeouts, at 325, 975 and 2275 ms, the last probe arrives. Then rttvar is 37.5
/// ms, and three times 100 + 150 + 25 ms are 825. What is lost by number left within 325 ms, or
/// within 975: then the window is two.
#[test]
fn persistent_congestion_leaves_the_smallest_window() {
    for (timeouts, persistent) in [(2, false), (3, true)] {
        let mut s = opened(quic(10));
        for _ in 0..timeouts {
            s.timer();
        }
        let last = *s.sent().last().expect("probes");
        s.wait(100).sack(0, &[(last, last)]);
        let (cwnd, state) = (s.cwnd(), s.tcp.info().state);
        if persistent {
            assert_eq!((cwnd, state), (2.0, CaState::Loss), "{timeouts}");
        } else {
            assert_eq!((cwnd, state), (5.0, CaState::Recovery), "{timeouts}");
        }
    }
}

/// s2n-quic's exception: the first repair goes at once.
#[test]
fn the_first_repair_may_be_free() {
    let quic_params = QuicParams { first_repair_free: true, ..QuicParams::default() };
    let mut s = opened(TcpParams { quic: quic_params, ..quic(10) });
    s.wait(100).sack(0, &[(2, 4)]);
    assert_eq!(s.sent(), [1]);
    s.sack(0, &[(2, 5)]);
    assert_eq!(s.sent(), []);
}

/// A segment that was late is reported twice: the window is what it was.
#[test]
fn a_cut_for_nothing_is_taken_back() {
    for (undo, cwnd) in [(true, 10.0), (false, 5.0)] {
        let p = quic(10);
        let rack = penstock_tcp::RackParams { undo, ..p.rack.clone() };
        let mut s = opened(TcpParams { rack, ..p });
        s.wait(100).sack(0, &[(2, 9)]);
        assert_eq!(s.sent(), [1, 11, 12, 13]);
        s.wait(20).ack(10);
        s.wait(80).sack(10, &[(1, 1)]);
        assert!((s.cwnd() - cwnd).abs() < 1.0, "{undo}: {}", s.cwnd());
    }
}

/// A lost SYN is sent again, alone, after a second.
#[test]
fn the_handshake_is_repeated_alone() {
    let mut s = Story::given(quic(10), 100);
    assert_eq!(s.sent(), [0]);
    assert_eq!(s.rto(), Duration::from_secs(1));
    s.timer();
    assert_eq!(s.sent(), [0]);
    s.wait(100).ack(0);
    assert_eq!(s.sent().len(), 10);
}

/// The profile's window leaves evenly from the start, 1.25 times as fast as one in each round trip.
#[test]
fn the_initial_window_is_paced() {
    let p = TcpParams::under(Profile::Quic, "cubic").expect("a variant");
    let mut s = Story::connected(p);
    let mut out = s.departures();
    while out.len() < 10 {
        s.timer();
        out.extend(s.departures());
    }
    for pair in out[3..].windows(2) {
        near(pair[1].1.since(pair[0].1).as_secs_f64() * 1e3, 8.0);
    }
}
