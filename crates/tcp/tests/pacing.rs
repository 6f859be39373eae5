//! A paced sender says when each segment may leave its host, and needs no timer while ACKs come at
//! its pace.

mod common;
use common::*;
use penstock_tcp::{PacingParams, TcpParams, Timer};
use penstock_units::{Rate, Time};

/// 4.16 Mbit/s: a segment of 1000 B, 1040 with its headers, every 2 ms.
fn paced(variant: &str) -> TcpParams {
    let pacing = PacingParams { max_rate: Rate::from_bps(4_160_000) };
    TcpParams { pacing, initial_window: 10, ..rfc(variant) }
}

/// What was sent since the last look, and when each may leave, in milliseconds.
fn departures(s: &mut Story) -> Vec<(i64, u64)> {
    s.departures().into_iter().map(|(seq, at)| (seq, at.as_nanos() / 1_000_000)).collect()
}

/// Connected at 100 ms. The clock has rested, so the first segment counts for half of its time. Two
/// wait at the host; the timer of the pace lets two more out whenever they have gone.
#[test]
fn a_window_leaves_evenly() {
    let mut s = Story::given(paced("reno"), 1 << 40);
    assert_eq!(departures(&mut s), [(0, 0)], "the SYN is not paced");
    s.wait(100).ack(0);
    assert_eq!(departures(&mut s), [(1, 100), (2, 101), (3, 103)]);
    assert_eq!(s.tcp.timers().at(Timer::Release), ms(105));
    for (seq, at) in [(4, 105), (6, 109), (8, 113)] {
        s.timer();
        assert_eq!(s.now, ms(at));
        assert_eq!(departures(&mut s), [(seq, at), (seq + 1, at + 2)]);
    }
    s.timer();
    assert_eq!(departures(&mut s), [(10, 117)]);
    assert_eq!(s.tcp.timers().at(Timer::Release), Time::NEVER, "the window is full");
}

/// In steady state every ACK lets a segment out at once, and nothing but the retransmission timer
/// runs. Round trips are measured from when a segment left the host.
#[test]
fn the_ack_clock_needs_no_timer() {
    let p = TcpParams { window: 10, ..paced("reno") };
    let mut s = Story::connected(p);
    while s.tcp.timers().at(Timer::Release) != Time::NEVER {
        s.timer();
    }
    s.departures();
    s.now = ms(200);
    for seq in 1..=10 {
        s.ack(seq);
        assert_eq!(departures(&mut s), [(seq + 10, s.now.as_nanos() / 1_000_000)]);
        assert_eq!(s.tcp.timers().at(Timer::Release), Time::NEVER);
        s.wait(2);
    }
    let rtt = s.tcp.rtt().expect("a sample").as_secs_f64();
    assert!((rtt - 0.1).abs() < 2e-3, "{rtt}");
}

/// What is sent again waits for its turn like all else, in every way of recovery.
#[test]
fn repairs_are_paced() {
    for variant in LOSS_BASED {
        let mut s = Story::connected(paced(variant));
        while s.tcp.timers().at(Timer::Release) != Time::NEVER {
            s.timer();
        }
        s.departures();
        s.now = ms(200);
        for last in 2..=4 {
            s.sack(0, &[(2, last)]);
        }
        let sent = departures(&mut s);
        assert!(sent.iter().any(|(seq, _)| *seq == 1), "{variant}: {sent:?}");
        assert!(sent.windows(2).all(|w| w[1].1 - w[0].1 >= 1), "{variant}: {sent:?}");
    }
}
