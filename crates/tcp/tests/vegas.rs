//! Vegas over a bottleneck: 100 packets/s, 100 ms: ten packets fill the path, and what is beyond
//! them waits.

use crate::common::*;
use penstock_tcp::{Ack, ControlParams, Sender, TcpParams, VegasParams};
use penstock_units::{Duration, Time};
use std::collections::VecDeque;
use std::sync::Arc;

const SERVICE: u64 = 10;
const PATH: u64 = 90; // and 10 of service: 100 ms

/// Runs for `seconds`; cwnd at each ACK, with its time in seconds.
fn over_the_bottleneck(p: TcpParams, seconds: u64) -> Vec<(f64, f64)> {
    let mut seen = vec![];
    over_the_bottleneck_with(p, seconds, |now, tcp| seen.push((now.as_secs_f64(), tcp.cwnd())));
    seen
}

/// The same, with a look at the sender after each ACK.
fn over_the_bottleneck_with(p: TcpParams, seconds: u64, mut look: impl FnMut(Time, &Sender)) {
    let mut tcp = Sender::new(Arc::new(p), 0.0);
    let (mut out, mut now, mut free) = (Outbox::default(), Time::ZERO, Time::ZERO);
    let mut acks: VecDeque<(Time, i64)> = VecDeque::new();
    tcp.give(now, 1 << 40, &mut out);
    while now < Time::ZERO + Duration::from_secs(seconds) {
        for s in out.0.drain(..) {
            assert!(!s.retransmit, "nothing is lost");
            free = free.max(now) + Duration::from_millis(SERVICE);
            acks.push_back((free + Duration::from_millis(PATH), s.seq));
        }
        let (at, seq) = acks.pop_front().expect("something is outstanding");
        now = at;
        tcp.on_ack(now, &Ack { seq, ..Ack::default() }, &mut out);
        look(now, &tcp);
    }
}

/// From below it grows until alpha … beta packets of its own wait (10 on the path), and then holds.
#[test]
fn grows_below_alpha_and_holds_between() {
    for (alpha, beta) in [(2.0, 4.0), (1.0, 3.0), (5.0, 8.0)] {
        for p in [rfc("vegas"), ns2("vegas")] {
            let vegas = VegasParams { alpha, beta, ..VegasParams::default() };
            let p = TcpParams { control: ControlParams::Vegas(vegas), ..p };
            let seen = over_the_bottleneck(p, 60);
            let late: Vec<f64> = seen.iter().filter(|x| x.0 > 40.0).map(|x| x.1).collect();
            let (lo, hi) = late.iter().fold((f64::MAX, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
            assert_eq!(lo, hi, "it holds");
            // ns-2 rounds Diff, so half a segment on either side; and the window sends whole
            // segments.
            assert!(
                lo >= 10.0 + alpha - 0.6 && lo <= 10.0 + beta + 1.6,
                "alpha {alpha}, beta {beta}: {lo}"
            );
        }
    }
}

/// From above (30 on a path that holds ten) it shrinks by a segment a round trip, never faster.
#[test]
fn shrinks_above_beta() {
    for p in [rfc("vegas"), ns2("vegas")] {
        let p = TcpParams { initial_window: 30, initial_ssthresh: Some(2.0), ..p };
        let seen = over_the_bottleneck(p, 60);
        assert!(
            seen.windows(2).all(|w| w[1].1 >= w[0].1 - 1.0 - 1e-9 || w[0].0 < 0.2),
            "by one at a time"
        );
        let last = seen.last().expect("ACKs came").1;
        assert!((11.0..=15.6).contains(&last), "{last}");
    }
}

/// Slow start doubles every other round trip, and ends when gamma is passed.
#[test]
fn slow_start_is_half_as_fast_as_renos() {
    let seen = over_the_bottleneck(rfc("vegas"), 3);
    let at = |t: f64| seen.iter().rev().find(|x| x.0 <= t).map_or(0.0, |x| x.1);
    // Handshake to 0.1 s; five round trips later Reno would stand at 64.
    assert!(at(0.65) > 2.0 && at(0.65) < 20.0, "{}", at(0.65));
}

/// The fine-grained timer: the first duplicate is enough when the segment has been out for longer
/// than it.
#[test]
fn repairs_on_an_early_duplicate() {
    let mut s = Story::connected(TcpParams {
        initial_window: 8,
        initial_ssthresh: Some(2.0),
        ..rfc("vegas")
    });
    s.sent();
    s.wait(100).ack(1);
    s.sent();
    s.wait(400).dup(1, 1);
    assert_eq!(s.sent()[0], 2);
    assert_eq!(s.tcp.counters().fast_retransmits, 1);
}

#[test]
fn a_timeout_starts_from_two() {
    let mut s = Story::connected(TcpParams { initial_window: 8, ..rfc("vegas") });
    s.sent();
    s.timer();
    near(s.cwnd(), 2.0);
    assert_eq!(s.sent(), [1, 2]);
}

/// A record is kept of what is under way, and tells the rate at which it is delivered: once the
/// path is full, the bottleneck's 100 packets a second.
#[test]
fn the_delivery_rate_is_the_bottlenecks() {
    for p in [rfc("vegas"), rfc("ledbat")] {
        let mut rates = vec![];
        let p = TcpParams { initial_ssthresh: Some(20.0), ..p };
        over_the_bottleneck_with(p, 20, |now, tcp| {
            let rate = tcp.delivery_rate().expect("segments were delivered");
            if now > Time::ZERO + Duration::from_secs(10) {
                rates.push(rate.delivered as f64 / rate.interval.as_secs_f64());
                assert!(!rate.app_limited);
            }
        });
        assert!(rates.len() > 900 && rates.iter().all(|r| (r - 100.0).abs() < 1e-6));
    }
    assert_eq!(Sender::new(Arc::new(rfc("reno")), 0.0).delivery_rate(), None);
}
