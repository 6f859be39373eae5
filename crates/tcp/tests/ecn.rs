//! ECN: RFC 3168 section 6.1, and ns-2's reading of it.

use crate::common::*;
use penstock_tcp::{
    AbeParams, Bits, ControlParams, CubicParams, Ecn, Form, Incipient, Mark, TcpParams,
};
use penstock_units::Ecn as Codepoint;

fn classic(p: TcpParams) -> TcpParams {
    TcpParams { ecn: Ecn::Classic, ..p }
}

/// The window is halved once a window of data, whatever the number of echoes; the first new segment
/// says so.
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
            assert_eq!(
                out.iter().map(|s| (s.seq, s.bits.cwr())).collect::<Vec<_>>(),
                [(11, true)],
                "{variant:?}"
            );
            s.echo(7);
            assert!(!s.take()[0].bits.cwr(), "once");
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
    for (p, retransmission) in [(rfc("reno"), false), (ns2("reno"), true)] {
        let mut s = Story::given(classic(p), 100);
        assert!(s.take()[0].ecn == Codepoint::NotEct, "SYN");
        s.ack(0);
        assert!(s.take().iter().all(|s| s.ecn != Codepoint::NotEct));
        s.timer();
        let again = s.take()[0];
        assert!(again.retransmit && (again.ecn != Codepoint::NotEct) == retransmission);
    }
}

/// Where the SYN's answer does not say that the receiver is capable, ECN stays off, and echoes are
/// not answered with growth alone.
#[test]
fn without_negotiation_nothing_is_ect() {
    let mut s = Story::given(classic(rfc("newreno")), 100);
    s.take(); // the SYN
    s.ack_with(0, Bits::NONE);
    assert!(s.take().iter().all(|s| s.ecn == Codepoint::NotEct && !s.bits.cwr()));
    let mut s = Story::given(rfc("newreno"), 100);
    s.echo(0).echo(1);
    assert!(s.take().iter().all(|s| s.ecn == Codepoint::NotEct && !s.bits.cwr()));
    assert_eq!(s.tcp.counters().ecn_cuts, 0, "ecn = off");
}

/// RFC 3168 6.1.2: halved, down to one segment, and never up. ns-2 has no floor.
#[test]
fn the_floor_is_one_segment() {
    for (p, want) in [(rfc("reno"), [2.0, 1.0, 1.0, 1.0]), (ns2("reno"), [2.0, 1.0, 0.5, 0.25])] {
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

/// After a timeout the whole old window is outstanding still: an echo halves what may be sent, not
/// that.
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
    for variant in ["reno", "newreno", "sack"] {
        let mut s =
            Story::at_window(classic(TcpParams { limited_transmit: false, ..rfc(variant) }), 10);
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
    for (p, kept) in [(rfc("reno"), false), (ns2("reno"), true)] {
        let mut s = Story::given(classic(p), 2);
        s.ack(0).echo(2); // the end: no segment is left to carry the cut's CWR
        assert!(s.tcp.done());
        s.tcp.reset(0.0);
        let mut out = Outbox::default();
        let now = s.now;
        s.tcp.give(now, 5, &mut out);
        assert_eq!(out.0[0].owes_cwr, kept);
    }
}

/// After a timeout only old segments go out, which carry no CWR, so the receiver echoes in every
/// ACK. That is no new mark: the timeout has cut already, and the repair goes on a segment a round
/// trip without waiting for the timer.
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

fn mecn(p: TcpParams) -> TcpParams {
    TcpParams { ecn: Ecn::Mecn, ..p }
}

/// Durresi 2007, Table 3, from a window of ten: incipient 8, moderate 6, loss 5. Once a window,
/// whatever follows; ns-2 alike. The first new segment says 00, the others 01.
#[test]
fn each_level_has_its_cut() {
    for variant in LOSS_BASED {
        for p in [rfc(variant), ns2(variant)] {
            for (mark, want) in [(Mark::Incipient, 8.0), (Mark::Ce, 6.0)] {
                let mut s = Story::at_window(mecn(p.clone()), 10);
                s.take();
                s.wait(100).marked(1, mark);
                near(s.cwnd(), want);
                near(s.ssthresh(), want);
                for seq in 2..=6 {
                    s.marked(seq, if seq == 3 { Mark::Ce } else { mark });
                }
                near(s.cwnd(), want); // neither cut nor grown
                let c = s.tcp.counters();
                assert_eq!(
                    (c.ecn_cuts, c.cuts_incipient),
                    (1, u32::from(mark == Mark::Incipient)),
                    "{variant:?}"
                );
                s.acks(7..=8);
                let bits: Vec<Bits> = s.take().iter().map(|s| s.bits).collect();
                assert_eq!(bits[0], Bits::NONE, "window reduced");
                assert!(
                    bits.len() > 2 && bits[1..].iter().all(|b| *b == Bits::ECE),
                    "no congestion"
                );
                s.acks(9..=10).marked(11, Mark::Incipient);
                assert_eq!(s.tcp.counters().ecn_cuts, 2, "a new window");
            }
        }
    }
}

/// What else an incipient mark may mean, and what a moderate one adds to it in the same window.
#[test]
fn other_answers_to_incipient_marks() {
    for (incipient, escalate, first, second) in [
        (Incipient::Decrease, false, 8.0, 8.0),
        (Incipient::Decrease, true, 8.0, 6.0),
        (Incipient::Additive, false, 9.0, 9.0),
        (Incipient::Additive, true, 9.0, 6.0),
        // It was no cut, so the moderate mark is the window's first.
        (Incipient::Hold, false, 10.0, 6.0),
        (Incipient::Hold, true, 10.0, 6.0),
    ] {
        let p = with_mecn(rfc("reno"), |m| (m.incipient, m.escalate) = (incipient, escalate));
        let mut s = Story::at_window(p, 10);
        s.wait(100).marked(1, Mark::Incipient);
        near(s.cwnd(), first);
        for _ in 0..2 {
            s.marked(2, Mark::Ce);
            near(s.cwnd(), second); // deepened once
        }
    }
}

/// beta3 is a loss's: 0.45 leaves 5.5 of ten. In a window that a mark has cut, a loss is repaired
/// without another cut.
#[test]
fn a_loss_cuts_by_beta3() {
    for variant in ["reno", "newreno", "sack"] {
        for p in [rfc(variant), ns2(variant)] {
            let p = with_mecn(TcpParams { limited_transmit: false, ..p }, |m| m.beta3 = 0.45);
            let mut s = Story::at_window(p.clone(), 10);
            s.wait(100).sack(0, &[(2, 2)]).sack(0, &[(2, 3)]).sack(0, &[(2, 4)]);
            near(s.cwnd(), 5.5);
            let mut s = Story::at_window(p, 10);
            s.wait(100).marked(1, Mark::Incipient);
            s.sack(1, &[(3, 3)]).sack(1, &[(3, 4)]).sack(1, &[(3, 5)]);
            assert_eq!(s.tcp.counters().fast_retransmits, 1);
            near(s.cwnd(), 8.0);
        }
    }
}

/// In ns-2 the window falls below one segment, and only the timer helps; elsewhere it stays at one,
/// and waits for the timer after a moderate mark alone.
#[test]
fn the_floor_of_multi_level_cuts() {
    for (p, mark, want, silent) in [
        (rfc("reno"), Mark::Incipient, 1.0, false),
        (rfc("reno"), Mark::Ce, 1.0, true),
        (ns2("reno"), Mark::Incipient, 0.8, true),
        (ns2("reno"), Mark::Ce, 0.6, true),
        (TcpParams { cwnd_floor: 1.0, ..ns2("reno") }, Mark::Ce, 1.0, false),
    ] {
        let p = TcpParams { initial_window: 1, initial_ssthresh: Some(2.0), ..mecn(p) };
        let mut s = Story::connected(p);
        s.take();
        s.wait(100).marked(1, mark);
        near(s.cwnd(), want);
        assert_eq!(s.sent().is_empty(), silent);
        if silent {
            s.timer();
            assert_eq!(s.sent(), [2]);
            near(s.cwnd(), 1.0);
        }
    }
}

/// A refused request: the connection goes on without ECN, and the bits mean nothing any more.
#[test]
fn a_refusal_is_taken() {
    for (ecn, refusal) in [
        (Ecn::Classic, Bits::CWR),
        (Ecn::Classic, Bits::NONE),
        (Ecn::Mecn, Bits::ECE),
        (Ecn::Mecn, Bits::NONE),
        (Ecn::AccEcn, Bits::NONE),
        (Ecn::AccEcn, Bits::ALL),
    ] {
        let p = TcpParams { ecn, ..rfc("sack") };
        let mut s = Story::given(p, 100);
        let request = match ecn {
            Ecn::Off => Bits::NONE,
            Ecn::Classic | Ecn::Sce => Bits::CWR_ECE,
            Ecn::Mecn => Bits::CWR,
            Ecn::AccEcn => Bits::ALL,
        };
        assert_eq!(s.take()[0].bits, request);
        s.ack_with(0, refusal);
        for (seq, bits) in (1..).zip([Bits::ECE, Bits::CWR, Bits::CWR_ECE, Bits::ALL]) {
            s.ack_with(seq, bits);
        }
        assert!(
            s.take().iter().all(|s| s.ecn == Codepoint::NotEct && s.bits == Bits::NONE),
            "{ecn:?} {refusal:?}"
        );
        near(s.cwnd(), 6.0);
    }
}

/// AccECN: the sender reacts to new marks alone, at most once a window; its own count on data stays
/// at five. A classic receiver makes it a classic sender.
#[test]
fn accecn_marks_are_counted() {
    for variant in LOSS_BASED {
        let mut s = Story::at_window(TcpParams { ecn: Ecn::AccEcn, ..rfc(variant) }, 10);
        assert!(s.take().iter().all(|s| s.bits.number() == 5));
        s.wait(100).marked(1, Mark::Ce);
        near(s.cwnd(), 5.0);
        s.ack(2);
        assert!(s.cwnd() > 5.0, "no new mark: it grows");
        let cwnd = s.cwnd();
        s.marked(3, Mark::Ce);
        near(s.cwnd(), cwnd);
        s.acks(4..=11).marked(12, Mark::Ce);
        assert_eq!(s.tcp.counters().ecn_cuts, 2, "{variant:?}");

        let mut s =
            Story::given(TcpParams { ecn: Ecn::AccEcn, initial_window: 10, ..rfc(variant) }, 100);
        s.ack_with(0, Bits::ECE).echo(1);
        assert_eq!(s.tcp.counters().ecn_cuts, 1, "fallen back");
        assert!(s
            .take()
            .iter()
            .skip(1)
            .all(|s| s.ecn != Codepoint::NotEct && (s.bits == Bits::NONE || s.bits == Bits::CWR)));
    }
}

/// The count on an ACK of a hole's end covers what duplicates have told of: no cycle is suspected
/// in it, but for a run of lost ACKs one is.
#[test]
fn accecn_suspects_a_cycle_only_where_acks_are_missing() {
    for (dups, cuts) in [(10, 0), (0, 1)] {
        let p = TcpParams {
            ecn: Ecn::AccEcn,
            limited_transmit: false,
            initial_window: 12,
            ..rfc("reno")
        };
        let mut s = Story::connected(p);
        s.ack(1).dup(1, dups).ack(12);
        // With ten duplicates a fast retransmit has cut; else eleven are newly acknowledged at
        // once.
        assert_eq!(s.tcp.counters().ecn_cuts, cuts);
    }
}

/// Multi-level marks under other controls, from a window of ten: table 3's cut, but never more than
/// a loss would take. CUBIC's loss takes 30 %, HighSpeed's at ten segments 50 %. A loss stays the
/// control's, whatever beta3 says.
#[test]
fn levels_cut_every_window_that_grows_by_itself() {
    for (variant, incipient, moderate, loss) in
        [("cubic", 8.0, 7.0, 7.0), ("highspeed", 8.0, 6.0, 5.0)]
    {
        let p = with_mecn(TcpParams { limited_transmit: false, ..rfc(variant) }, |m| m.beta3 = 0.9);
        for (mark, want) in [(Mark::Incipient, incipient), (Mark::Ce, moderate)] {
            let mut s = Story::at_window(p.clone(), 10);
            s.wait(100).marked(1, mark).marked(2, mark);
            near(s.cwnd(), want); // once per window
            near(s.ssthresh(), want);
            assert_eq!(s.tcp.counters().ecn_cuts, 1, "{variant}");
        }
        let mut s = Story::at_window(p, 10);
        s.wait(100).sack(0, &[(2, 2)]).sack(0, &[(2, 3)]).sack(0, &[(2, 4)]);
        near(s.cwnd(), loss);
    }
}

/// Westwood on a path that holds eight of its ten segments: an incipient mark leaves eight either
/// way, and a moderate one, which would leave six, stops there as a loss does.
#[test]
fn westwood_is_not_cut_below_what_the_path_holds() {
    for (mark, want) in [(Mark::Incipient, 8.0), (Mark::Ce, 8.0)] {
        let p = TcpParams {
            initial_window: 10,
            initial_ssthresh: Some(2.0),
            window: 10,
            ..rfc("westwood")
        };
        let mut s = Story::given(with_mecn(p, |_| ()), 1 << 40);
        s.wait(80).ack(0).wait(80);
        for seq in 1..=3000 {
            s.wait(10).ack(seq);
        }
        s.wait(10).marked(3001, mark);
        near(s.cwnd(), want);
        near(s.ssthresh(), want);
    }
}

/// `escalate` under CUBIC: the moderate mark deepens an incipient one's cut of ten to eight, but
/// only to the seven that a loss would leave.
#[test]
fn a_deeper_cut_stops_where_a_loss_would() {
    let mut s = Story::at_window(with_mecn(rfc("cubic"), |m| m.escalate = true), 10);
    s.wait(100).marked(1, Mark::Incipient).marked(2, Mark::Ce);
    near(s.cwnd(), 7.0);
    assert_eq!(s.tcp.counters().ecn_cuts, 2);
}

/// What the paper's table cannot mean: for Vegas, which stops growing before a mark, and for DCTCP,
/// which counts marks.
#[test]
fn levels_are_refused_with_a_reason() {
    for (variant, reason) in [("vegas", "round-trip time"), ("dctcp", "fraction of marked packets")]
    {
        let error = with_mecn(rfc(variant), |_| ()).check().unwrap_err().to_string();
        assert!(error.starts_with("ecn: must be") && error.contains(reason), "{error}");
    }
    for variant in ["tahoe", "reno", "newreno", "sack", "westwood", "highspeed", "cubic"] {
        assert_eq!(with_mecn(rfc(variant), |_| ()).check(), Ok(()), "{variant}");
    }
}

fn with_abe(variant: &str, beta_ecn: f64) -> TcpParams {
    let abe = AbeParams { beta_ecn: Some(beta_ecn) };
    TcpParams { abe, limited_transmit: false, ..classic(rfc(variant)) }
}

/// RFC 8511: a mark leaves 0.8 of Reno's window and 0.85 of CUBIC's, at least two segments; a loss
/// leaves what it did.
#[test]
fn a_mark_may_leave_more_than_a_loss() {
    for (variant, beta_ecn, window, marked, lost) in [
        ("reno", 0.8, 20, 16.0, 10.0),
        ("newreno", 0.8, 2, 2.0, 1.0),
        ("sack", 0.7, 20, 14.0, 10.0),
        ("cubic", 0.85, 100, 85.0, 70.0),
    ] {
        let mut s = Story::at_window(with_abe(variant, beta_ecn), window);
        s.wait(100).echo(1);
        near(s.cwnd(), marked);
        near(s.ssthresh(), marked.max(2.0));
        if window > 4 {
            let mut s = Story::at_window(with_abe(variant, beta_ecn), window);
            s.wait(100).sack(0, &[(2, 2)]).sack(0, &[(2, 3)]).sack(0, &[(2, 4)]);
            near(s.cwnd(), lost);
        }
    }
    let p = with_abe("cubic", 0.85);
    let ControlParams::Cubic(cubic) = p.control.clone() else { panic!("cubic") };
    let control = ControlParams::Cubic(CubicParams { cubic: Form::Linux, ..cubic });
    let mut s = Story::at_window(TcpParams { control, ..p }, 100);
    s.wait(100).echo(1);
    near(s.cwnd(), 85.0);
}

/// RFC 8511, section 4: in slow start a mark counts as a loss.
#[test]
fn a_mark_in_slow_start_halves() {
    let mut s = Story::connected(TcpParams { initial_window: 40, ..with_abe("reno", 0.8) });
    s.wait(100).echo(1);
    near(s.cwnd(), 20.0);
}

/// Multi-level marks have their own price, and so have the marks of other controls.
#[test]
fn who_has_answers_to_marks_refuses_abe() {
    for p in [
        TcpParams { ecn: Ecn::Mecn, ..with_abe("reno", 0.8) },
        with_abe("dctcp", 0.8),
        with_abe("westwood", 0.8),
    ] {
        let error = p.check().unwrap_err().to_string();
        assert!(error.starts_with("beta_ecn: must be left out"), "{error}");
    }
    assert_eq!(with_abe("cubic", 0.85).check(), Ok(()));
}

fn sce(variant: &str) -> TcpParams {
    TcpParams { ecn: Ecn::Sce, limited_transmit: false, ..rfc(variant) }
}

/// SCE, a window of 100 whose every ACK carries ESCE: √100/2 off Reno's, √100 off CUBIC's, half of
/// DCTCP's. No ACK of them grows the window, and none counts as a cut.
#[test]
fn some_congestion_takes_little() {
    for (variant, left) in [("reno", 95.0), ("sack", 95.0), ("cubic", 90.0), ("dctcp", 50.0)] {
        let mut s = Story::at_window(sce(variant), 100);
        s.wait(100).ack(1); // CUBIC's epoch begins
        for seq in 2..=101 {
            s.marked(seq, Mark::Incipient);
        }
        assert!((s.cwnd() - left).abs() < 1.0, "{variant}: {}", s.cwnd());
        assert_eq!(s.tcp.counters().ecn_cuts, 0, "{variant}");
    }
}

/// A mark leaves 3/4, or 7/8 shortly after an ESCE; CUBIC's is a loss's without one. Once a window,
/// and a loss is what it was.
#[test]
fn marks_beside_some_congestion() {
    for (variant, alone, recent, loss) in
        [("reno", 75.0, 87.5, 50.0), ("cubic", 70.0, 87.5, 70.0), ("dctcp", 75.0, 87.5, 50.0)]
    {
        let mut s = Story::at_window(sce(variant), 100);
        s.wait(100).marked(1, Mark::Ce).marked(2, Mark::Ce);
        near(s.cwnd(), alone);
        let mut s = Story::at_window(sce(variant), 100);
        s.wait(100).marked(1, Mark::Incipient).ack(2).marked(3, Mark::Ce);
        assert!((s.cwnd() - recent).abs() < 2.0, "{variant}: {}", s.cwnd());
        let mut s = Story::at_window(sce(variant), 100);
        s.wait(100).sack(0, &[(2, 2)]).sack(0, &[(2, 3)]).sack(0, &[(2, 4)]);
        near(s.cwnd(), loss);
    }
}

/// The first ESCE ends slow start, with the window kept but for its part; not DCTCP's.
#[test]
fn some_congestion_ends_slow_start() {
    for (variant, ssthresh) in [("reno", 10.0), ("cubic", 10.0), ("dctcp", f64::INFINITY)] {
        let mut s = Story::connected(TcpParams { initial_window: 20, ..sce(variant) });
        s.wait(100).marked(1, Mark::Incipient);
        assert_eq!(s.ssthresh(), ssthresh, "{variant}");
        assert!(s.cwnd() > 19.0 && s.cwnd() <= 20.0, "{variant}: {}", s.cwnd());
    }
}

/// Without SCE at the other end, or in the middle, it is classic ECN; controls that SCE's authors
/// have no answer for refuse it, and so do integers.
#[test]
fn who_takes_some_congestion() {
    let mut s = Story::at_window(classic(rfc("reno")), 10);
    s.wait(100).ack_with(1, Bits::from_number(0b100));
    assert!(s.cwnd() > 10.0, "a classic sender does not know the bit");
    for variant in ["vegas", "westwood", "highspeed", "ledbat"] {
        let error = sce(variant).check().unwrap_err().to_string();
        assert!(error.starts_with("ecn: must not be \"sce\""), "{variant}: {error}");
    }
    let cubic = ControlParams::Cubic(CubicParams { cubic: Form::Linux, ..CubicParams::default() });
    let error = TcpParams { control: cubic, ..sce("cubic") }.check().unwrap_err().to_string();
    assert!(error.starts_with("cubic: must be \"rfc\" with ecn = \"sce\""), "{error}");
}
