//! A paced sender says when each segment may leave its host, and needs no timer while ACKs come at
//! its pace.

use crate::common::*;
use penstock_tcp::{GrowthPer, PaceKeys, Pacing, PacingParams, Recovery, TcpParams, Timer};
use penstock_units::{Duration, Rate, Time};

/// 4.16 Mbit/s: a segment of 1000 B, 1040 with its headers, every 2 ms.
fn paced(variant: &str) -> TcpParams {
    let pacing = PacingParams { max_rate: Rate::from_bps(4_160_000), ..PacingParams::default() };
    TcpParams { pacing, initial_window: 10, ..rfc(variant) }
}

/// What was sent since the last look, and when each may leave, in milliseconds.
fn departures(s: &mut Story) -> Vec<(i64, u64)> {
    s.departures().into_iter().map(|(seq, at)| (seq, at.as_nanos() / 1_000_000)).collect()
}

/// Connected at 100 ms. The clock has rested, so the first segment counts for half of its time. None
/// waits at the host: the timer of the pace lets each out at its time.
#[test]
fn a_window_leaves_evenly() {
    let mut s = Story::given(paced("reno"), 1 << 40);
    assert_eq!(departures(&mut s), [(0, 0)], "the SYN is not paced");
    s.wait(100).ack(0);
    assert_eq!(departures(&mut s), [(1, 100)]);
    for seq in 2..=10 {
        s.timer();
        assert_eq!(departures(&mut s), [(seq, 97 + 2 * seq as u64)]);
    }
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
        while s.tcp.timers().at(Timer::Release) != Time::NEVER {
            s.timer();
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

/// Connected over 10 ms with a window of 84, not in slow start: 120 % of it has a segment every 99.2
/// us, nine in 2^-10 s.
fn in_bursts(pacing: Pacing) -> Story {
    let keys = PaceKeys { pacing, min_tso_segments: 2, ..PaceKeys::default() };
    let p = TcpParams {
        recovery: Recovery::Rack,
        initial_window: 84,
        initial_ssthresh: Some(84.0),
        pacing: PacingParams { keys, ..PacingParams::default() },
        ..rfc("reno")
    };
    let mut s = Story::given(p, 1 << 40);
    s.sent();
    s.wait(10).ack(0);
    s
}

/// Of the ACKs of two that come every 0.24 ms the first lets its two go, because the last burst was
/// 10 ms ago. Then ACKs pass until nine may go, and eight from a round trip of 10.8 ms on. When a
/// loss is repaired none pass.
#[test]
fn segments_leave_in_bursts() {
    let mut s = in_bursts(Pacing::Off);
    assert_eq!(s.sent().len(), 84);
    s.wait(10);
    let mut ack = |acked: i64, from: i64| {
        s.now += Duration::from_micros(240);
        if from == 0 {
            s.ack(acked);
        } else {
            s.sack(acked, &[(from, from + 9)]);
        }
        s.sent().len()
    };
    let sizes: Vec<usize> = (1..=14).map(|i| ack(2 * i, 0)).collect();
    assert_eq!(sizes, [2, 0, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 8]);
    // 29 is missing: ten are reported behind it, and it goes again with what the window has.
    assert!(ack(28, 30) > 0);
}

/// The ninth of a burst of nine is pushed, and the third of the last, which has three. One that goes
/// by itself is not.
#[test]
fn the_end_of_a_burst_is_pushed() {
    let mut s = in_bursts(Pacing::Off);
    let pushed = |s: &mut Story| {
        s.take().into_iter().filter(|s| s.push).map(|s| s.seq).collect::<Vec<i64>>()
    };
    assert_eq!(pushed(&mut s), [9, 18, 27, 36, 45, 54, 63, 72, 81, 84]);
    s.wait(10).ack(1);
    let alone = s.take();
    assert_eq!(alone.iter().map(|s| (s.seq, s.push)).collect::<Vec<_>>(), [(85, false)]);
    s.wait(10).ack(3);
    assert_eq!(pushed(&mut s), [87]);
}

/// Where the host paces, a burst leaves as one, and the next follows after nine segments' time.
#[test]
fn a_burst_is_paced_as_one() {
    let mut s = in_bursts(Pacing::Fq);
    let mut out = s.departures();
    while out.len() < 84 {
        s.timer();
        out.extend(s.departures());
    }
    let times: Vec<f64> = out.iter().map(|(_, at)| at.since(ms(10)).as_secs_f64() * 1e3).collect();
    assert_eq!(times[..18], [0.0; 18], "Linux lets the first ten go, by bursts");
    for (i, at) in times.iter().enumerate().skip(27) {
        let nine = 9.0 * 10.0 / (1.2 * 84.0);
        let want = times[18] + ((i / 9) as f64 - 2.5) * nine;
        assert!((at - want).abs() < 1e-4, "{i}: {at}, should be {want}");
    }
}
