//! The retransmission timer: RFC 6298, Karn's rule, back-off; what a timeout does (RFC 5681 3.1).

use crate::common::*;
use penstock_tcp::{RttClock, RttEstimator, RttParams, TcpParams};
use penstock_units::param::Profile;
use penstock_units::{Duration, Time};

fn without_min(p: TcpParams) -> TcpParams {
    TcpParams { rtt: RttParams { min_rto: Duration::ZERO, ..p.rtt }, ..p }
}

fn low_min(variant: &str) -> TcpParams {
    without_min(rfc(variant))
}

/// RFC 6298 (2.2), (2.3) by hand, in ms. R = 100: srtt 100, rttvar 50, RTO 100 + 4*50 = 300.
/// R' = 140: rttvar 3/4*50 + 1/4*40 = 47.5, srtt 7/8*100 + 1/8*140 = 105, RTO 105 + 190 = 295.
/// R'' = 105: rttvar 35.625, srtt 105, RTO 247.5.
#[test]
fn smoothing_by_hand() {
    let p = low_min("reno").rtt;
    let mut e = RttEstimator::new(&p, Duration::ZERO);
    assert_eq!(e.timeout(), Duration::from_secs(1), "before the first sample (2.1)");
    for (sample, want) in [(100, 300.0), (140, 295.0), (105, 247.5)] {
        e.sample(&p, ms(1000), ms(1000 + sample));
        near(e.timeout().as_secs_f64() * 1e3, want);
        assert_eq!(e.last(), Some(Duration::from_millis(sample)));
    }
}

/// RTO = srtt + max(G, 4 rttvar): with a constant round trip the variance dies out, the granularity
/// stays.
#[test]
fn granularity_is_a_floor_of_the_variance() {
    let p = RttParams { tick: Duration::from_millis(10), ..low_min("reno").rtt };
    let mut e = RttEstimator::new(&p, Duration::ZERO);
    for _ in 0..200 {
        e.sample(&p, Time::ZERO, ms(100));
    }
    near(e.timeout().as_secs_f64() * 1e3, 110.0);
}

/// 4.4BSD's and ns-2's integers, tick 10 ms.
/// R = 100 ms: 10 ticks, srtt8 80, rttvar4 20, RTO (20*8 + 80) >> 3 = 30 ticks.
/// R' = 140 ms: delta 4, srtt8 84; |4| - 5 = -1, rttvar4 19; (152 + 84) >> 3 = 29 ticks.
#[test]
fn ticks_by_hand() {
    let p = without_min(ns2("reno")).rtt;
    let mut e = RttEstimator::new(&p, Duration::ZERO);
    for (sample, want) in [(100, 300), (140, 290)] {
        e.sample(&p, ms(0), ms(sample));
        assert_eq!(e.timeout(), Duration::from_millis(want));
    }
}

/// Linux, in ms. R = 100: srtt 100, deviation 4 · 50, at least 200: RTO 300, and there it stays.
/// R = 200: 200 + 400; while the deviation of late falls, 300, 225, 168 …, the timeout's follows by a
/// quarter of the difference to it, or to 200, once in a round trip: 400, 356.25, 317.2, 287.9 …
/// 400 after 100s: srtt 137.5, the deviation 112.5 + 300 − 28.1 = 384.4. R = 20: 20 + 200.
#[test]
fn linux_by_hand() {
    let p = TcpParams::under(Profile::Linux, "reno").unwrap().rtt;
    for (samples, want) in [
        (&[100, 100, 100][..], &[300.0, 300.0, 300.0][..]),
        (&[200; 7], &[600.0, 600.0, 556.25, 517.2, 487.9, 465.9, 449.4]),
        (
            &[100, 100, 100, 400, 100, 100, 100, 100],
            &[300.0, 300.0, 300.0, 521.9, 502.5, 475.3, 444.2, 411.9],
        ),
        (&[20], &[220.0]),
    ] {
        let mut e = RttEstimator::new(&p, Duration::ZERO);
        assert_eq!(e.timeout(), Duration::from_secs(1), "before the first sample");
        for (i, (sample, want)) in samples.iter().zip(want).enumerate() {
            e.sample(&p, ms(1000), ms(1000 + sample));
            e.acknowledged(&p, i as i64, i as i64);
            let got = e.timeout().as_secs_f64() * 1e3;
            assert!((got - want).abs() < 0.1, "{samples:?}: {got}, should be {want}");
        }
    }
}

/// A SYN is tried a second apart, four times again, before the second doubles.
#[test]
fn linux_tries_a_syn_at_even_intervals() {
    for (linear_syns, want) in [(4, [1, 2, 3, 4, 5, 7, 11]), (0, [1, 3, 7, 15, 31, 63, 127])] {
        let p = TcpParams::under(Profile::Linux, "reno").unwrap();
        let p = TcpParams { rtt: RttParams { linear_syns, ..p.rtt }, ..p };
        let mut s = Story::given(p, 1);
        for at in want {
            s.timer();
            assert_eq!((s.now, s.sent().last()), (ms(at * 1000), Some(&0)), "{linear_syns}");
        }
    }
}

/// Several ACKs of one round trip: its largest deviation counts once, at the end.
#[test]
fn linux_lowers_the_deviation_once_a_round_trip() {
    let p = TcpParams::under(Profile::Linux, "reno").unwrap().rtt;
    let mut e = RttEstimator::new(&p, Duration::ZERO);
    e.sample(&p, ms(0), ms(200));
    e.acknowledged(&p, 0, 9);
    for seq in 1..10 {
        e.sample(&p, ms(0), ms(200));
        e.acknowledged(&p, seq, 9 + seq);
        assert_eq!(e.timeout(), Duration::from_millis(600), "segment {seq}");
    }
    for seq in 10..12 {
        e.sample(&p, ms(0), ms(200));
        e.acknowledged(&p, seq, 19);
    }
    assert_eq!(e.timeout(), Duration::from_millis(600), "the largest was that of its start");
}

/// 15 ms hold one or two beginnings of a 10 ms tick, as the phase has it; the shortest sample is
/// one tick.
#[test]
fn the_phase_of_the_tick_counts() {
    let p = without_min(ns2("reno")).rtt;
    for (phase, sample, ticks) in
        [(0, 15, 1), (5, 15, 2), (4, 15, 1), (9, 1, 1), (0, 1, 1), (0, 30, 3)]
    {
        let mut e = RttEstimator::new(&p, Duration::from_millis(phase));
        e.sample(&p, ms(0), ms(sample));
        // One sample of n ticks: srtt n, rttvar n/2: RTO 3n.
        assert_eq!(
            e.timeout(),
            Duration::from_millis(30 * ticks),
            "phase {phase}, sample {sample}"
        );
    }
}

#[test]
fn bounds_and_back_off() {
    let p = rfc("reno").rtt;
    let mut e = RttEstimator::new(&p, Duration::ZERO);
    e.sample(&p, ms(0), ms(100));
    assert_eq!(e.timeout(), Duration::from_secs(1), "RFC 6298 (2.4)");
    for want in [2, 4, 8, 16, 32, 60, 60, 60] {
        e.back_off(&p);
        assert_eq!(e.timeout(), Duration::from_secs(want));
    }
    e.restore(&p);
    assert_eq!(e.timeout(), Duration::from_secs(1));
}

/// (5.4) to (5.7): the earliest segment again, RTO doubled; the first valid sample undoes it.
#[test]
fn a_timeout_goes_back_to_the_first_hole() {
    for variant in LOSS_BASED {
        let mut s = Story::at_window(rfc(variant), 8);
        near(s.rto_ms(), 1000.0);
        s.timer();
        assert_eq!(s.sent(), [1], "{variant:?}");
        near(s.cwnd(), 1.0);
        near(s.ssthresh(), 4.0); // FlightSize 8 / 2
        near(s.rto_ms(), 2000.0);
        s.timer();
        assert_eq!(s.sent(), [1]);
        near(s.rto_ms(), 4000.0);
        near(s.ssthresh(), 4.0); // RFC 5681: not again for the same segment
        assert_eq!((s.tcp.counters().timeouts, s.tcp.counters().retransmits), (2, 2));
        // Go-back-N from the hole, in slow start; none of it is timed (Karn), so the back-off
        // stays.
        s.wait(100).ack(1);
        assert_eq!(s.sent(), [2, 3], "{variant:?}");
        near(s.rto_ms(), 4000.0);
        // The hole was all: new data go out, are timed, and end the back-off.
        s.wait(100).ack(8);
        assert_eq!(s.sent()[0], 9);
        near(s.rto_ms(), 4000.0);
        s.wait(100).ack(9);
        near(s.rto_ms(), 1000.0);
    }
}

/// Karn: an ACK of a segment sent twice says nothing of the round trip.
#[test]
fn retransmissions_are_not_timed() {
    for variant in LOSS_BASED {
        let mut s = Story::connected(low_min(variant));
        assert_eq!(s.tcp.rtt(), Some(Duration::from_millis(100)), "the handshake");
        s.timer();
        let again = s.sent();
        assert_eq!(again, [1, 2, 1]);
        s.wait(5).ack(1);
        assert_eq!(s.tcp.rtt(), Some(Duration::from_millis(100)), "{variant:?}: 5 ms is no sample");
    }
}

/// (5.3) a new ACK restarts the timer; (5.1) sending does not.
#[test]
fn the_timer_restarts_with_new_acks_only() {
    let mut s = Story::at_window(rfc("reno"), 4);
    let first = s.tcp.deadline();
    assert_eq!(first, Some(ms(1100)));
    s.wait(300).ack(1);
    assert_eq!(s.tcp.deadline(), Some(ms(1400)));
    s.wait(50).dup(1, 2);
    assert_eq!(s.tcp.deadline(), Some(ms(1400)), "duplicates leave it alone");
}

/// After a timeout the duplicates of segments sent twice are no new loss (RFC 6582, section 6).
#[test]
fn no_fast_retransmit_for_the_echo_of_a_timeout() {
    for variant in LOSS_BASED {
        for p in [rfc(variant), ns2(variant)] {
            let mut s = Story::at_window(p, 8);
            s.ack(1).ack(2).timer();
            s.sent();
            let before = s.tcp.counters().fast_retransmits;
            s.dup(2, 5);
            assert_eq!(s.tcp.counters().fast_retransmits, before, "{variant:?}");
        }
    }
}

/// `send_overhead`: a transmission waits for a random part of it (here half: 2 ms), and the
/// deadline says so.
#[test]
fn overhead_delays_sending() {
    let p = TcpParams { send_overhead: Duration::from_millis(4), ..rfc("reno") };
    let mut s = Story::given(p, 100);
    assert_eq!(s.sent(), [] as [i64; 0]);
    assert_eq!(s.tcp.deadline(), Some(ms(2)));
    assert_eq!(s.timer().sent(), [0]);
}

/// The timer with every variant and both behaviours: doubling up to max_rto, for as long as nothing
/// comes back.
#[test]
fn back_off_of_every_variant_reaches_max_rto() {
    for variant in ["tahoe", "reno", "newreno", "sack", "vegas"] {
        for p in [rfc(variant), ns2(variant)] {
            let rtt = RttParams { max_rto: Duration::from_secs(10), ..p.rtt };
            let mut s = Story::connected(TcpParams { rtt, ..p });
            let mut last = s.rto();
            for _ in 0..12 {
                s.timer();
                assert!(s.rto() >= last && s.rto() <= Duration::from_secs(10), "{variant:?}");
                last = s.rto();
            }
            assert_eq!(last, Duration::from_secs(10), "{variant:?}");
            assert_eq!(s.tcp.counters().timeouts, 12);
        }
    }
}

/// RFC 7323, 4: every ACK of new data gives a sample by the timestamp that it returns, those of what
/// was sent again as well. Appendix G: of four segments under way there are two samples a round trip,
/// so that each weighs a half: 120 ms after 100 make 100 + 20/16.
#[test]
fn an_echo_is_a_sample() {
    let p = TcpParams { timestamps: true, initial_window: 4, ..low_min("sack") };
    let mut s = Story::given(p, 1 << 40);
    s.wait(100).echoed(0, 0);
    near(s.tcp.srtt().unwrap() * 1e3, 100.0);
    s.wait(120).echoed(1, 100);
    near(s.tcp.srtt().unwrap() * 1e3, 101.25);
    s.timer();
    let again = s.now.as_nanos() / 1_000_000;
    s.wait(60).echoed(2, again);
    assert_eq!(s.tcp.rtt(), Some(Duration::from_millis(60)));
    assert_eq!(s.tcp.info().backoff, 0);
}

/// A tick is the unit of timestamps, which is no shorter than a microsecond; Linux has milliseconds,
/// whatever its tick.
#[test]
fn a_short_tick_goes_with_linux_timestamps() {
    let with = |rtt_clock| {
        let rtt = RttParams { tick: Duration::from_nanos(10), rtt_clock, ..RttParams::default() };
        TcpParams { timestamps: true, rtt, ..TcpParams::default() }.check()
    };
    let error = with(RttClock::Exact).unwrap_err().to_string();
    assert!(error.contains("at least 1 us with timestamps"), "{error}");
    assert_eq!(with(RttClock::Linux), Ok(()));
}
