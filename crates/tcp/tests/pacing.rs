//! A paced sender says when each segment may leave its host, and needs no timer while ACKs come at
//! its pace.

mod common;
use common::*;
use penstock_tcp::{GrowthPer, PaceKeys, Pacing, PacingParams, TcpParams, Timer};
use penstock_units::{Rate, Time};

/// 4.16 Mbit/s: a segment of 1000 B, 1040 with its headers, every 2 ms.
fn paced(variant: &str) -> TcpParams {
    let pacing = PacingParams { max_rate: Rate::from_bps(4_160_000), ..PacingParams::default() };
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

/// Under fq the initial window of ten leaves at once, 100 ms after the SYN. Each ACK of two lets four
/// more out, at 200 % of the window in a round trip: with 12 segments one every 100/24 ms. Past half
/// of ssthresh it is 120 %. What would wait too long at the host waits for its timer.
#[test]
fn fq_paces_any_control() {
    let keys = PaceKeys { pacing: Pacing::Fq, ..PaceKeys::default() };
    let pacing = PacingParams { keys, ..PacingParams::default() };
    for (initial_ssthresh, gap_ms) in [(None, 100.0 / 24.0), (Some(24.0), 100.0 / 14.4)] {
        let p = TcpParams {
            initial_window: 10,
            pacing: pacing.clone(),
            initial_ssthresh,
            ..rfc("sack")
        };
        let p = TcpParams { growth: GrowthPer::Segments, ..p };
        let mut s = Story::connected(p);
        let first = s.departures();
        assert!(first[1..].iter().all(|(_, at)| *at == ms(100)), "{first:?}");
        s.wait(100).ack(2);
        let mut next = vec![];
        while next.len() < 4 {
            next.extend(s.departures());
            if next.len() < 4 {
                s.timer();
            }
        }
        assert_eq!(next.iter().map(|n| n.0).collect::<Vec<_>>(), [11, 12, 13, 14]);
        for pair in next.windows(2) {
            let gap = pair[1].1.since(pair[0].1).as_secs_f64() * 1e3;
            assert!((gap - gap_ms).abs() < 0.01 || pair[0].0 == 11, "{gap}, not {gap_ms}");
        }
    }
}
