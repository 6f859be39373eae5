//! Senders whose control sets window and pace itself: what goes out, and what they refuse.

use crate::common::*;
use penstock_tcp::{Bits, Ecn, Phase, Receiver, Recovery, Reply, TcpParams};
use penstock_units::Ecn as Codepoint;
use std::sync::Arc;

/// Prague's SYN, its data and what it sends again are ECT(1), and so is the answer to its SYN; of
/// DCTCP's the data are ECT(0).
#[test]
fn prague_is_ect1_throughout() {
    let p = TcpParams { initial_window: 4, ..rfc("prague") };
    let mut s = Story::given(p.clone(), 1 << 20);
    let syn = s.take().remove(0);
    assert_eq!((syn.syn, syn.ecn), (true, Codepoint::Ect1));
    let Reply::Now(answer) = Receiver::new(&Arc::new(p)).on_segment(ms(50), &syn) else {
        panic!("a SYN is answered at once")
    };
    assert_eq!(answer.ecn, Codepoint::Ect1);
    s.wait(100).ack_with(0, answer.bits);
    let data = s.take();
    assert_eq!(data.len(), 4);
    s.wait(100);
    for last in 2..=4 {
        s.sack(0, &[(2, last)]);
    }
    s.timer();
    let again = s.take();
    assert!(again.iter().any(|s| s.retransmit && s.seq == 1), "{again:?}");
    assert!(data.iter().chain(&again).all(|s| s.ecn == Codepoint::Ect1));
    let mut s = Story::given(rfc("dctcp"), 1 << 20);
    s.take();
    s.wait(100).ack_with(0, Bits::ECE);
    assert!(s.take().iter().all(|s| s.ecn == Codepoint::Ect0));
}

/// Losses have to be known one by one, and each control has its uses of ECN.
#[test]
fn what_does_not_fit_is_refused() {
    for tcp in ["bbr", "bbr3", "prague"] {
        let p = rfc(tcp);
        assert_eq!((p.recovery, p.check()), (Recovery::Rack, Ok(())), "{tcp}");
        let sack = TcpParams { recovery: Recovery::Sack, ..p.clone() };
        assert_eq!(
            sack.check().unwrap_err().to_string(),
            "recovery: must be \"rack\" under this tcp, which sets its window itself"
        );
        let wrong = if tcp == "prague" { Ecn::Classic } else { Ecn::Mecn };
        assert!(TcpParams { ecn: wrong, ..p }.check().is_err(), "{tcp}");
    }
}

/// BBR's first window leaves at once; from the first ACK on it paces, at 2.89 windows in a round
/// trip, and has a model.
#[test]
fn bbr_paces_from_the_first_ack_on() {
    let p = TcpParams { initial_window: 10, ..rfc("bbr") };
    let mut s = Story::given(p, 14);
    assert_eq!(s.tcp.pacing_rate(), None);
    s.take();
    s.wait(100).ack(0);
    assert_eq!(s.sent(), (1..=10).collect::<Vec<i64>>());
    s.wait(100).ack(1);
    let rate = s.tcp.pacing_rate().expect("it paces");
    let want = 739.0 / 256.0 * 10.0 * 8000.0 / 0.1 * 0.99;
    assert!((rate / want - 1.0).abs() < 1e-3, "{rate}, should be {want}");
    let model = s.tcp.model().expect("a model");
    assert_eq!(model.phase, Some(Phase::Startup));
    assert_eq!(model.min_rtt.map(|rtt| rtt.as_nanos()), Some(100_000_000));
    assert_eq!(Story::connected(rfc("reno")).tcp.model(), None);
}
