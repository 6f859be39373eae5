//! Westwood+, CUBIC, DCTCP, HighSpeed and LEDBAT: what they cut to, and that their losses are repaired as NewReno's or
//! SACK's.

use crate::common::*;
use penstock_tcp::{
    Bits, ControlParams, Ecn, Mark, Recovery, TcpParams, WestwoodCwnd, WestwoodParams,
};

fn without_limited_transmit(variant: &str, recovery: Recovery) -> TcpParams {
    let ecn = if variant == "dctcp" { Ecn::Classic } else { Ecn::Off };
    TcpParams { limited_transmit: false, recovery, ecn, ..rfc(variant) }
}

/// Ten outstanding of a window of ten: CUBIC leaves 7, DCTCP (a loss is Reno's) 5. Westwood: below.
#[test]
fn the_third_duplicate() {
    for (variant, want) in [("cubic", 7.0), ("dctcp", 5.0)] {
        for recovery in [Recovery::NewReno, Recovery::Sack] {
            let mut s = Story::at_window(without_limited_transmit(variant, recovery), 10);
            s.wait(100).sack(0, &[(2, 2)]).sack(0, &[(2, 3)]);
            near(s.cwnd(), 10.0);
            s.take();
            s.sack(0, &[(2, 4)]);
            assert_eq!(s.sent(), [1]);
            near(s.cwnd(), want);
            near(s.ssthresh(), want);
        }
    }
}

/// Two holes: SACK repairs both in one round trip, NewReno the second one after the partial ACK.
#[test]
fn recovery_is_newrenos_or_sacks() {
    for variant in ["cubic", "dctcp"] {
        for recovery in [Recovery::NewReno, Recovery::Sack] {
            let mut s = Story::at_window(without_limited_transmit(variant, recovery), 20);
            s.wait(100);
            s.take();
            for last in 4..=15 {
                s.sack(0, &[(4, last), (2, 2)]);
            }
            let repaired: Vec<i64> = s.sent().into_iter().filter(|seq| *seq <= 3).collect();
            assert_eq!(
                repaired.contains(&3),
                recovery == Recovery::Sack,
                "{variant:?} {recovery:?} {repaired:?}"
            );
            s.sack(2, &[(4, 20)]);
            assert!(recovery == Recovery::Sack || s.sent().contains(&3), "{variant:?}");
            assert_eq!(s.tcp.counters().timeouts, 0);
        }
    }
}

/// 100 segments a second on a path of 80 ms, a window of ten: b̂ RTT_min = 8, two wait in the
/// queue. A timeout has the same ssthresh. A loss at a smaller window leaves it there, or as
/// printed lifts it.
#[test]
fn westwood_falls_to_what_the_path_holds() {
    for westwood_cwnd in [WestwoodCwnd::Min, WestwoodCwnd::Printed] {
        let p = TcpParams {
            control: ControlParams::Westwood(WestwoodParams {
                westwood_cwnd,
                ..WestwoodParams::default()
            }),
            initial_window: 10,
            initial_ssthresh: Some(2.0),
            window: 10,
            ..without_limited_transmit("westwood", Recovery::NewReno)
        };
        let mut s = Story::given(p, 1 << 40);
        s.wait(80).ack(0).wait(80);
        for seq in 1..=3000 {
            s.wait(10).ack(seq);
        }
        assert!(s.cwnd() >= 10.0);
        s.dup(3000, 3);
        near(s.ssthresh(), 8.0);
        near(s.cwnd(), 8.0);
        s.timer();
        near(s.ssthresh(), 8.0);
        near(s.cwnd(), 1.0);
        s.wait(80).ack(3010).wait(80).acks(3011..=3012).wait(80).dup(3012, 3);
        assert!(s.ssthresh() > 6.0, "it forgets slowly: {}", s.ssthresh());
        near(s.cwnd(), if westwood_cwnd == WestwoodCwnd::Printed { s.ssthresh() } else { 4.0 });
    }
}

/// A timeout starts CUBIC from one segment, with ssthresh at 0.7.
#[test]
fn cubic_after_a_timeout() {
    let mut s = Story::at_window(without_limited_transmit("cubic", Recovery::Sack), 10);
    s.timer();
    near(s.cwnd(), 1.0);
    near(s.ssthresh(), 7.0);
}

/// The first mark finds alpha at 1, less one window's unmarked segment: 1 · 15/16 after ACK 1, and
/// 15/16 of itself a window later.
#[test]
fn dctcp_cuts_by_half_of_alpha() {
    for ecn in [Ecn::Classic, Ecn::AccEcn] {
        let p = TcpParams { ecn, initial_window: 10, initial_ssthresh: Some(10.0), ..rfc("dctcp") };
        let mut s = Story::given(p, 1 << 40);
        assert!(s.take()[0].ecn != penstock_units::Ecn::NotEct, "RFC 8257 3.6: the SYN");
        s.wait(100).ack(0).wait(100).ack(1); // alpha = 15/16
        let cwnd = s.cwnd();
        s.marked(2, Mark::Ce);
        near(s.cwnd(), cwnd * (1.0 - 0.9375 / 2.0));
        near(s.ssthresh(), s.cwnd());
        let cut = s.cwnd();
        s.marked(3, Mark::Ce).marked(4, Mark::Ce);
        near(s.cwnd(), cut); // once a window
        assert_eq!(s.tcp.counters().ecn_cuts, 1);
        s.acks(5..=10).ack(11).ack(12);
        // The window of 2 … 11: ten segments, three of them marked.
        let alpha = 0.9375 * 0.9375 + 0.0625 * 0.3;
        let cwnd = s.cwnd();
        s.marked(13, Mark::Ce);
        near(s.cwnd(), cwnd * (1.0 - alpha / 2.0));
    }
}

/// A window of one segment stays: it neither waits for the timer nor backs off.
#[test]
fn dctcp_keeps_sending_at_one_segment() {
    let p = TcpParams {
        ecn: Ecn::Classic,
        initial_window: 1,
        initial_ssthresh: Some(2.0),
        ..rfc("dctcp")
    };
    let mut s = Story::connected(p);
    s.take();
    s.wait(100).marked(1, Mark::Ce).wait(100).marked(2, Mark::Ce);
    assert_eq!(s.sent(), [2, 3]);
    assert!(s.ack_with(3, Bits::NONE).sent().contains(&4));
}

/// HighSpeed at 1000 segments: by its equations a(w) = 7.847 and b(w) = 0.3299, so that a round
/// trip adds almost eight segments and a loss leaves 670.1. At 20 it is Reno: one segment, and one
/// half.
#[test]
fn highspeed_steps_and_cuts_by_its_window() {
    for (window, added, left) in [(1000, 7.847, 670.1), (20, 1.0, 10.0)] {
        let p = TcpParams { window: 5000, ..without_limited_transmit("highspeed", Recovery::Sack) };
        let cwnd = f64::from(window);
        let mut s = Story::at_window(p.clone(), window);
        s.wait(100).acks(1..=i64::from(window));
        assert!((s.cwnd() - cwnd - added).abs() < 0.03 * added, "{}", s.cwnd());
        let mut s = Story::at_window(p, window);
        s.wait(100).sack(0, &[(2, 2)]).sack(0, &[(2, 3)]).sack(0, &[(2, 4)]);
        assert!((s.cwnd() - left).abs() < 0.1, "{}", s.cwnd());
    }
}

/// LEDBAT on a path of 100 ms. Without a queue it grows as Reno does, by a segment in a round trip.
/// With 300 ms of queue off_target is −2: each of ten ACKs takes 2/cwnd. A loss halves what is
/// left, and nothing brings slow start back.
#[test]
fn ledbat_yields_to_a_queue() {
    let mut s = Story::at_window(without_limited_transmit("ledbat", Recovery::NewReno), 10);
    s.wait(100).acks(1..=10);
    near(s.cwnd(), (0..10).fold(10.0, |w: f64, _| w + 1.0 / w));
    let before = s.cwnd();
    s.wait(400).acks(11..=20);
    near(s.cwnd(), (0..10).fold(before, |w: f64, _| w - 2.0 / w));
    let before = s.cwnd();
    s.wait(100).dup(20, 3);
    near(s.cwnd(), before / 2.0);
    s.wait(100).ack(30); // the end of recovery
    let after = s.cwnd();
    s.wait(100).ack(31);
    assert!(s.cwnd() < after + 1.0, "{after} to {}: no slow start", s.cwnd());
    s.timer();
    near(s.cwnd(), 1.0);
    near(s.ssthresh(), 2.0);
}

/// An initial ssthresh above the default permits slow start: 2, 4, 8 … until more than 3/4 of the
/// target waits in the queue.
#[test]
fn ledbat_leaves_slow_start_by_delay() {
    let p = TcpParams { initial_ssthresh: Some(1e9), ..rfc("ledbat") };
    let mut s = Story::connected(p);
    s.wait(100).acks(1..=2).wait(100).acks(3..=6);
    near(s.cwnd(), 8.0);
    s.wait(176).acks(7..=7); // sent 176 ms ago, of which the path takes 100
    near(s.cwnd(), 8.0 + 0.24 / 8.0);
    near(s.ssthresh(), 8.0);
}
