//! ECN: RFC 3168 section 6.1, and ns-2's reading of it.

mod common;
use common::*;
use penstock_tcp::{Ecn, TcpParams, Variant};

fn classic(p: TcpParams) -> TcpParams {
    TcpParams { ecn: Ecn::Classic, ..p }
}

/// The window is halved once a window of data, whatever the number of echoes; the first new segment says so.
#[test]
fn one_cut_a_window_and_cwr_on_the_next_new_segment() {
    for variant in LOSS_BASED {
        for p in [rfc(variant), ns2(variant)] {
            let mut s = Story::at_window(classic(p), 10);
            s.wait(100).echo(1);
            near(s.cwnd(), 5.0);
            near(s.ssthresh(), 5.0);
            for seq in 2..=6 {
                s.echo(seq);
            }
            near(s.cwnd(), 5.0); // nor does it grow on these
            assert_eq!(s.tcp.counters().ecn_cuts, 1, "{variant:?}");
            // 7 … 11 are five: the first new segment left at the ACK of 6.
            let out = s.take();
            assert_eq!(out.iter().map(|s| (s.seq, s.cwr)).collect::<Vec<_>>(), [(11, true)], "{variant:?}");
            s.echo(7);
            assert!(!s.take()[0].cwr, "once");
            for seq in 8..=10 {
                s.echo(seq);
            }
            assert_eq!(s.tcp.counters().ecn_cuts, 1, "up to the highest segment sent at the cut");
            s.echo(11);
            assert_eq!(s.tcp.counters().ecn_cuts, 2, "{variant:?}: a new window");
            near(s.cwnd(), 2.5);
        }
    }
}

/// Data are ECT; the SYN is not; retransmissions are not (RFC 3168, 6.1.5), but in ns-2.
#[test]
fn what_is_ecn_capable() {
    for (p, retransmission) in [(rfc(Variant::Reno), false), (ns2(Variant::Reno), true)] {
        let mut s = Story::given(classic(p), 100);
        assert!(!s.take()[0].ect, "SYN");
        s.ack(0);
        assert!(s.take().iter().all(|s| s.ect));
        s.timer();
        let again = s.take()[0];
        assert!(again.retransmit && again.ect == retransmission);
    }
}

/// Where the SYN's answer does not say that the receiver is capable, ECN stays off, and echoes are not answered with growth alone.
#[test]
fn without_negotiation_nothing_is_ect() {
    let mut s = Story::given(classic(rfc(Variant::NewReno)), 100);
    s.sack(0, &[]); // no ECE
    assert!(s.take().iter().all(|s| !s.ect && !s.cwr));
    let mut s = Story::given(rfc(Variant::NewReno), 100);
    s.echo(0).echo(1);
    assert!(s.take().iter().all(|s| !s.ect && !s.cwr));
    assert_eq!(s.tcp.counters().ecn_cuts, 0, "ecn = off");
}

/// RFC 3168 6.1.2: halved, down to one segment, and never up. ns-2 has no floor.
#[test]
fn the_floor_is_one_segment() {
    for (p, want) in [(rfc(Variant::Reno), [2.0, 1.0, 1.0, 1.0]), (ns2(Variant::Reno), [2.0, 1.0, 0.5, 0.25])]
    {
        let mut s = Story::at_window(classic(p), 4);
        let mut seq = 0;
        for cwnd in want {
            // Everything outstanding is acknowledged with an echo: a window, a cut.
            if s.tcp.acknowledged() as u64 + 1 == s.tcp.counters().sent {
                s.timer(); // below one segment only the timer sends
            }
            let before = s.cwnd();
            seq = seq.max(s.take().iter().map(|s| s.seq).max().unwrap_or(4));
            s.wait(100).echo(seq.max(4));
            assert!(s.cwnd() <= before, "a cut never widens the window");
            if cwnd >= 1.0 {
                near(s.cwnd(), cwnd);
            }
        }
    }
}

/// After a timeout the whole old window is outstanding still: an echo halves what may be sent, not that.
#[test]
fn an_echo_after_a_timeout_does_not_widen_the_window() {
    for variant in LOSS_BASED {
        let mut s = Story::at_window(classic(rfc(variant)), 30);
        s.timer();
        s.wait(100).ack(1);
        near(s.cwnd(), 2.0);
        s.wait(100).echo(2);
        assert!(s.cwnd() <= 2.0, "{variant:?}: {}", s.cwnd());
    }
}

/// Loss in a window already cut for a mark is repaired without a second cut.
#[test]
fn a_loss_in_a_window_cut_for_a_mark_cuts_no_more() {
    for variant in [Variant::Reno, Variant::NewReno, Variant::Sack] {
        let mut s = Story::at_window(classic(TcpParams { limited_transmit: false, ..rfc(variant) }), 10);
        s.wait(100).echo(1);
        s.sack(1, &[(3, 3)]).sack(1, &[(3, 4)]).sack(1, &[(3, 5)]);
        assert_eq!(s.sent(), [2], "{variant:?}");
        near(s.cwnd(), 5.0);
        near(s.ssthresh(), 5.0);
    }
}

/// The sender's CWR outlives a connection in ns-2's web flows alone.
#[test]
fn cwr_across_connections() {
    for (p, kept) in [(rfc(Variant::Reno), false), (ns2(Variant::Reno), true)] {
        let mut s = Story::given(classic(p), 2);
        s.ack(0).echo(2); // the end: no segment is left to carry the cut's CWR
        assert!(s.tcp.done());
        s.tcp.reset(0.0);
        let mut out = Outbox::default();
        let now = s.now;
        s.tcp.give(now, 5, &mut out);
        assert_eq!(out.0[0].cwr, kept);
    }
}

/// After a timeout only old segments go out, which carry no CWR, so the receiver echoes in every ACK. That is no new mark: the timeout
/// has cut already, and the repair goes on a segment a round trip without waiting for the timer.
#[test]
fn a_latched_echo_after_a_timeout_does_not_stall() {
    for variant in LOSS_BASED {
        let mut s = Story::at_window(classic(rfc(variant)), 8);
        s.timer();
        assert_eq!(s.sent(), [1]);
        for seq in 1..=5 {
            s.wait(100).echo(seq);
            assert_eq!(s.sent(), [seq + 1], "{variant:?}");
        }
        assert_eq!(s.tcp.counters().ecn_cuts, 0, "{variant:?}");
        assert_eq!(s.tcp.counters().timeouts, 1, "{variant:?}");
    }
}
