//! Accurate ECN, RFC 9768, between two ends: the handshake over paths that lose and change its
//! packets, the option, and which packets are ECN-capable.

use crate::common::*;
use penstock_tcp::{
    AccEcnOption, AccEcnParams, Ace, Ack, Bits, Block, DeliveredBytes, Ecn, EctOn, FieldOrder,
    Receiver, Recovery, Reply, Segment, Sender, TcpParams,
};
use penstock_units::{Duration, Ecn as Codepoint, Time};
use std::sync::Arc;
use Codepoint::{Ce, Ect0, Ect1, NotEct};

/// Both ends, and between them a path of 50 ms each way that may change what goes over it; `None`
/// is lost.
struct Path {
    tcp: Sender,
    receiver: Receiver,
    now: Time,
    out: Outbox,
    forth: fn(usize, Segment) -> Option<Segment>,
    back: fn(usize, Ack) -> Option<Ack>,
    /// All that was sent.
    segments: Vec<Segment>,
    acks: Vec<Ack>,
}

impl Path {
    fn new(p: TcpParams) -> Self {
        let p = Arc::new(p);
        let mut path = Path {
            tcp: Sender::new(Arc::clone(&p), 0.0),
            receiver: Receiver::new(&p),
            now: Time::ZERO,
            out: Outbox::default(),
            forth: |_, s| Some(s),
            back: |_, a| Some(a),
            segments: vec![],
            acks: vec![],
        };
        path.tcp.give(path.now, 1 << 40, &mut path.out);
        path
    }

    /// What the path does with the n-th segment, and with the n-th ACK.
    fn that(
        mut self,
        forth: fn(usize, Segment) -> Option<Segment>,
        back: fn(usize, Ack) -> Option<Ack>,
    ) -> Self {
        (self.forth, self.back) = (forth, back);
        self
    }

    /// Round trips; where nothing comes back the timer expires.
    fn run(mut self, rounds: usize) -> Self {
        for _ in 0..rounds {
            let (mut acks, sent) = (vec![], std::mem::take(&mut self.out.0));
            for s in sent {
                let n = self.segments.len();
                self.segments.push(s);
                let Some(s) = (self.forth)(n, s) else { continue };
                if let Reply::Now(ack) = self.receiver.on_segment(self.now, &s) {
                    self.acks.push(ack);
                    acks.extend((self.back)(self.acks.len() - 1, ack));
                }
            }
            if let Some(at) = self.receiver.deadline() {
                if let Some(ack) = self.receiver.on_timer(at) {
                    self.acks.push(ack);
                    acks.extend((self.back)(self.acks.len() - 1, ack));
                }
            }
            if acks.is_empty() {
                self.now = self.tcp.deadline().expect("the timer runs");
                self.tcp.on_timer(self.now, &mut self.out);
            } else {
                self.now += Duration::from_millis(100);
                for ack in acks {
                    self.tcp.on_ack(self.now, &ack, &mut self.out);
                }
            }
        }
        self
    }

    /// The bits and the ECN fields of the SYNs.
    fn syns(&self) -> Vec<(u8, Codepoint)> {
        self.segments.iter().filter(|s| s.syn).map(|s| (s.bits.number(), s.ecn)).collect()
    }

    /// The bits and the ECN field of the first data segment, and the ECN field of all data.
    fn data(&self) -> (u8, Vec<Codepoint>) {
        let mut data = self.segments.iter().filter(|s| !s.syn);
        let bits = data.clone().next().expect("data were sent").bits.number();
        let mut fields: Vec<Codepoint> = vec![];
        data.by_ref().for_each(|s| {
            if !fields.contains(&s.ecn) {
                fields.push(s.ecn);
            }
        });
        (bits, fields)
    }
}

fn accurate(change: impl FnOnce(&mut AccEcnParams)) -> TcpParams {
    let mut p = TcpParams { ecn: Ecn::AccEcn, ..rfc("sack") };
    change(&mut p.accecn);
    p
}

/// Careful, and with ECN-capable ACKs.
fn careful() -> TcpParams {
    accurate(|a| (a.ecn_fallback, a.ect_on) = (true, EctOn::Established))
}

/// Each packet of a connection, by what may be ECN-capable. The third segment is lost and sent
/// again.
#[test]
fn which_packets_are_capable() {
    for (ect_on, syn, again, ack) in [
        (EctOn::Data, NotEct, NotEct, NotEct),
        (EctOn::Established, NotEct, Ect0, Ect0),
        (EctOn::All, Ect0, Ect0, Ect0),
    ] {
        let path = Path::new(TcpParams { initial_window: 6, ..accurate(|a| a.ect_on = ect_on) })
            .that(|n, s| (n != 2).then_some(s), |_, a| Some(a))
            .run(4);
        assert_eq!(path.syns(), [(0b111, syn)], "{ect_on:?}");
        assert_eq!(path.acks[0].ecn, syn, "{ect_on:?}: the SYN's answer");
        let repeated: Vec<_> = path.segments.iter().filter(|s| s.retransmit).collect();
        assert_eq!((repeated.len(), repeated[0].ecn), (1, again), "{ect_on:?}");
        assert!(path.segments.iter().all(|s| s.syn || s.retransmit || s.ecn == Ect0));
        assert!(path.acks[1..].iter().all(|a| a.ecn == ack), "{ect_on:?}");
    }
    // A classic receiver cannot tell of such marks.
    let p = TcpParams { ecn: Ecn::Classic, ..careful() };
    let path = Path::new(p).that(|n, s| (n != 2).then_some(s), |_, a| Some(a)).run(4);
    assert!(path.acks.iter().all(|a| a.ecn == NotEct));
    assert!(path.segments.iter().all(|s| !s.retransmit || s.ecn == NotEct));
}

/// Two ACKs arrive marked: from then on data say seven. Their sender does not cut for that.
#[test]
fn marks_on_acks_are_counted() {
    let path = Path::new(accurate(|a| a.ect_on = EctOn::Established))
        .that(
            |_, s| Some(s),
            |n, a| Some(Ack { ecn: if n == 1 || n == 3 { Ce } else { a.ecn }, ..a }),
        )
        .run(5);
    let bits: Vec<u8> = path.segments.iter().map(|s| s.bits.number()).collect();
    assert_eq!(bits[..5], [7, 5, 5, 6, 6], "the SYN, the first window, the answers to ACK 1");
    assert_eq!(bits.last(), Some(&7));
    assert_eq!(path.tcp.counters().ecn_cuts, 0);
}

/// ECN++: a SYN that arrives marked means an initial window of one segment, as a lost one does.
#[test]
fn a_marked_syn_means_a_small_start() {
    let marks = |n, s: Segment| {
        let ecn = if n == 0 && s.ecn != NotEct { Ce } else { s.ecn };
        Some(Segment { ecn, ..s })
    };
    for (ect_on, want) in [(EctOn::All, 1.0), (EctOn::Established, 10.0)] {
        let p = TcpParams { initial_window: 10, ..accurate(|a| a.ect_on = ect_on) };
        let path = Path::new(p).that(marks, |_, a| Some(a)).run(1);
        near(path.tcp.cwnd(), want);
        assert_eq!(path.acks[0].bits.number(), if want == 1.0 { 0b110 } else { 0b010 });
    }
}

type Forth = fn(usize, Segment) -> Option<Segment>;
type Back = fn(usize, Ack) -> Option<Ack>;

/// Handshakes over paths that lose packets and change bits: what the SYNs ask, what the first data
/// segment reflects, and which data and ACKs are capable then.
#[test]
fn handshakes_over_bad_paths() {
    let same: Forth = |_, s| Some(s);
    let back: Back = |_, a| Some(a);
    #[allow(clippy::type_complexity)]
    let table: [(&str, Forth, Back, &[u8], u8, &[Codepoint], Codepoint); 13] = [
        ("good", same, back, &[7], 0b010, &[Ect0], Ect0),
        ("a SYN lost", |n, s| (n > 0).then_some(s), back, &[7, 7], 0b010, &[Ect0], Ect0),
        ("two SYNs lost", |n, s| (n > 1).then_some(s), back, &[7, 7, 0], 0, &[NotEct], NotEct),
        ("an answer lost", same, |n, a| (n > 0).then_some(a), &[7, 7], 0b010, &[Ect0], Ect0),
        ("two answers lost", same, |n, a| (n > 1).then_some(a), &[7, 7, 0], 0, &[NotEct], NotEct),
        (
            "the SYN's bits cleared",
            |n, s| Some(Segment { bits: if n == 0 { Bits::NONE } else { s.bits }, ..s }),
            back,
            &[7],
            0,
            &[NotEct],
            NotEct,
        ),
        (
            "a classic server, or AE cleared",
            |n, s| Some(Segment { bits: if n == 0 { Bits::CWR_ECE } else { s.bits }, ..s }),
            back,
            &[7],
            0,
            &[Ect0],
            NotEct,
        ),
        (
            "the SYN's field changed",
            |n, s| Some(Segment { ecn: if n == 0 { Ect0 } else { s.ecn }, ..s }),
            back,
            &[7],
            0b010,
            &[NotEct],
            Ect0,
        ),
        (
            "the answer's field changed",
            same,
            |n, a| Some(Ack { ecn: if n == 0 { Ect1 } else { a.ecn }, ..a }),
            &[7],
            0b011,
            &[Ect0],
            NotEct,
        ),
        (
            "the third packet's bits cleared",
            |n, s| Some(Segment { bits: if n > 0 { Bits::NONE } else { s.bits }, ..s }),
            back,
            &[7],
            0b010,
            &[Ect0],
            NotEct,
        ),
        (
            "the ACKs' bits cleared",
            same,
            |n, a| Some(Ack { bits: if n > 0 { Bits::NONE } else { a.bits }, ..a }),
            &[7],
            0b010,
            &[Ect0, NotEct],
            Ect0,
        ),
        (
            "a reserved answer",
            same,
            |n, a| Some(Ack { bits: if n == 0 { Bits::from_number(5) } else { a.bits }, ..a }),
            &[7],
            0b010,
            &[Ect0],
            Ect0,
        ),
        (
            "a broken server",
            same,
            |n, a| Some(Ack { bits: if n == 0 { Bits::ALL } else { a.bits }, ..a }),
            &[7],
            0,
            &[NotEct],
            NotEct,
        ),
    ];
    for (name, forth, back, asked, reflected, data, ack) in table {
        let path = Path::new(careful()).that(forth, back).run(6);
        let syns: Vec<(u8, Codepoint)> = asked.iter().map(|bits| (*bits, NotEct)).collect();
        assert_eq!(path.syns(), syns, "{name}");
        assert_eq!(path.data(), (reflected, data.to_vec()), "{name}");
        assert_eq!(path.acks.last().map(|a| a.ecn), Some(ack), "{name}");
        assert_eq!(path.tcp.counters().ecn_cuts, 0, "{name}: nobody marked anything");
    }
    // The first SYN and the first answer are lost. The third SYN, which does not ask and is not
    // capable, is answered: no field was changed.
    let p =
        TcpParams { accecn: AccEcnParams { ect_on: EctOn::All, ..careful().accecn }, ..careful() };
    let lost = |n, s| (n > 0).then_some(s);
    let path = Path::new(p).that(lost, |n, a| (n > 0).then_some(a)).run(6);
    assert_eq!(path.syns(), [(0b111, Ect0), (0b111, Ect0), (0, NotEct)]);
    assert_eq!(path.data().1, [Ect0]);
    // Who is not careful asks again and again, and does not look.
    let p = accurate(|_| ());
    let path = Path::new(p).that(|n, s| (n > 1).then_some(s), back).run(6);
    assert_eq!(path.syns(), [(0b111, NotEct); 3]);
    assert_eq!(path.data(), (5, vec![Ect0]));
}

/// Every ACK tells all three counters: segments of 1000 B, the second one marked, the fourth with
/// ECT(1). The answer to a repeated SYN has no option (RFC 9768 3.1.4.2).
#[test]
fn every_ack_has_the_option() {
    let p = TcpParams { initial_window: 5, ..accurate(|a| a.accecn_option = true) };
    let forth: Forth = |n, s| {
        let ecn = match n {
            2 => Ce,
            4 => Ect1,
            _ => s.ecn,
        };
        Some(Segment { ecn, ..s })
    };
    let path = Path::new(p).that(forth, |_, a| Some(a)).run(2);
    let told: Vec<_> =
        path.acks.iter().map(|a| a.option.expect("there").fields().to_vec()).collect();
    assert_eq!(
        told,
        [
            [1, 0, 1],
            [1, 0, 1001],
            [1, 1000, 1001],
            [1, 1000, 2001],
            [1001, 1000, 2001],
            [1001, 1000, 3001]
        ],
        "e1b, ceb, e0b"
    );
    let info = path.tcp.info();
    let want = DeliveredBytes { ect0: 3000, ect1: 1000, ce: 1000 };
    assert_eq!((info.delivered_ce, info.delivered_bytes), (1, want));
    let p = accurate(|a| (a.accecn_option, a.ecn_fallback) = (true, true));
    let path = Path::new(p).that(|_, s| Some(s), |n, a| (n > 0).then_some(a)).run(4);
    let told: Vec<bool> = path.acks.iter().map(|a| a.option.is_some()).collect();
    assert_eq!(told[..3], [true, false, true]);
    let path = Path::new(accurate(|_| ())).run(3);
    assert!(path.acks.iter().all(|a| a.option.is_none() && a.is_bare()), "unless asked for");
}

/// Twelve segments, of which the path lets only the last ACK through; nothing is marked. The field
/// alone may have wrapped: 0 or 8. The option says that it did not, and Linux guesses so from the
/// receiver's habits.
#[test]
fn the_option_sees_that_nothing_wrapped() {
    let zeroed: Back = |n, a| {
        let zeros = a.option.map(|_| AccEcnOption::new(FieldOrder::Ect1First, &[0, 0, 0]));
        (n == 0 || n == 12).then_some(Ack { option: zeros, ..a })
    };
    let last: Back = |n, a| (n == 0 || n == 12).then_some(a);
    let first_and_last: Back = |n, a| (n <= 1 || n == 12).then_some(a);
    for (option, ace, back, cuts) in [
        (false, Ace::Rfc, last, 1),
        (true, Ace::Rfc, last, 0),
        (true, Ace::Rfc, zeroed, 1),
        (false, Ace::Linux, last, 0),
        (true, Ace::Linux, last, 0),
        (false, Ace::Linux, first_and_last, 1),
        (true, Ace::Linux, first_and_last, 0),
    ] {
        let p = accurate(|a| (a.accecn_option, a.ace) = (option, ace));
        let path =
            Path::new(TcpParams { initial_window: 12, ..p }).that(|_, s| Some(s), back).run(2);
        let got = path.tcp.counters().ecn_cuts;
        assert_eq!(got, cuts, "option {option}, {ace:?}");
    }
}

/// Twelve segments, the first of them lost: when it is repaired, one ACK covers twelve, of which
/// eleven were reported before. The field cannot have wrapped, whatever repairs losses.
#[test]
fn repaired_holes_are_no_large_acks() {
    let loses: Forth = |n, s| (n != 1).then_some(s);
    for variant in ["newreno", "sack", "cubic"] {
        for recovery in [Recovery::Sack, Recovery::Rack] {
            let p = TcpParams { ecn: Ecn::AccEcn, initial_window: 12, ..rfc(variant) };
            let p = if variant == "cubic" { TcpParams { recovery, ..p } } else { p };
            let path = Path::new(p).that(loses, |_, a| Some(a)).run(5);
            assert!(path.tcp.counters().retransmits >= 1);
            assert_eq!(path.tcp.info().delivered_ce, 0, "{variant} {recovery:?}");
        }
    }
}

/// The first data segment is lost, and the second comes marked: the ACK that reports it still has the
/// SYN's number, and tells of the mark.
#[test]
fn a_mark_behind_the_first_segment_counts() {
    let p = TcpParams { recovery: Recovery::Sack, ..accurate(|a| a.ace = Ace::Linux) };
    let mut s = Story::at_window(p, 10);
    s.wait(100);
    let mut ack = Ack { seq: 0, bits: Bits::from_number(6), n_blocks: 1, ..Ack::default() };
    ack.blocks[0] = Block { left: 2, right: 3 };
    s.tcp.on_ack(s.now, &ack, &mut Outbox::default());
    assert_eq!(s.tcp.info().delivered_ce, 1);
}

/// One segment in fifty is marked, and windows are shorter than that: each way of telling marks
/// leads to a cut for each, but for one that is still under way.
#[test]
fn the_ways_of_telling_marks_agree() {
    const EVERY: usize = 50;
    let marks: Forth = |n, s| {
        let ecn = if n % EVERY == EVERY - 1 && s.ecn != NotEct { Ce } else { s.ecn };
        Some(Segment { ecn, ..s })
    };
    for delayed_ack in [false, true] {
        for (ecn, option, ace) in [
            (Ecn::Classic, false, Ace::Rfc),
            (Ecn::AccEcn, false, Ace::Rfc),
            (Ecn::AccEcn, false, Ace::Linux),
            (Ecn::AccEcn, true, Ace::Rfc),
            (Ecn::AccEcn, true, Ace::Linux),
        ] {
            let p = accurate(|a| (a.accecn_option, a.ace) = (option, ace));
            let p = TcpParams { ecn, delayed_ack, ..p };
            let path = Path::new(p).that(marks, |_, a| Some(a)).run(400);
            let (c, marked) = (path.tcp.counters(), path.segments.len() / EVERY);
            assert_eq!((c.retransmits, c.timeouts), (0, 0));
            let cuts = c.ecn_cuts as usize;
            assert!(marked > 40 && (cuts == marked || cuts + 1 == marked), "{cuts} of {marked}");
        }
    }
}

/// ECN on SYNs and ACKs needs somebody who tells of their marks.
#[test]
fn what_nobody_tells_of_is_refused() {
    for ecn in [Ecn::Off, Ecn::Classic, Ecn::Mecn] {
        let p = TcpParams { ecn, ..accurate(|a| a.ect_on = EctOn::All) };
        let error = p.check().unwrap_err().to_string();
        assert!(error.starts_with("ect_on: must be") && error.contains("accecn"), "{error}");
        // What a profile may set for all flows means nothing without AccECN.
        let p = TcpParams {
            ecn,
            ..accurate(|a| (a.accecn_option, a.ect_on) = (true, EctOn::Established))
        };
        assert_eq!(p.check(), Ok(()));
    }
}
