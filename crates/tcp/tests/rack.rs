//! RACK-TLP (RFC 8985), proportional rate reduction (RFC 9937), and cuts that are taken back.
//!
//! The vectors count segments from 0; the first data segment is 1.

use crate::common::*;
use penstock_tcp::{
    CaState, Ecn, RackParams, Receiver, Recovery, Reduction, Reply, RttParams, Segment, Sender,
    TcpParams, Timer,
};
use penstock_units::{Duration, Ecn as Codepoint, Time};
use std::collections::VecDeque;
use std::sync::Arc;

fn rack(variant: &str) -> TcpParams {
    TcpParams { recovery: Recovery::Rack, ..rfc(variant) }
}

/// A path of 100 ms with a link of a segment per ms, which loses what it is told to.
struct Path {
    tcp: Sender,
    receiver: Receiver,
    out: Outbox,
    now: Time,
    /// What is under way, and when it arrives.
    wire: VecDeque<(Time, Segment)>,
    sent: i64,
    /// Segments to lose, and to mark, each once.
    lose: Vec<i64>,
    mark: Vec<i64>,
}

/// After an ACK: in flight before anything is sent, cwnd, and what is sent: `R0`, or `N` for a new
/// segment.
type Row = (u64, u32, String);

impl Path {
    /// `window` segments are outstanding of a window of as many, with ssthresh there.
    fn full(p: TcpParams, window: u32, lose: &[i64]) -> Self {
        let p =
            TcpParams { initial_window: window, initial_ssthresh: Some(f64::from(window)), ..p };
        Self::given(p, 1 << 40, lose)
    }

    fn given(p: TcpParams, segments: u64, lose: &[i64]) -> Self {
        let p = Arc::new(p);
        let mut path = Path {
            tcp: Sender::new(Arc::clone(&p), 0.0),
            receiver: Receiver::new(&p),
            out: Outbox::default(),
            now: Time::ZERO,
            wire: VecDeque::new(),
            sent: -1,
            lose: lose.iter().map(|k| k + 1).collect(),
            mark: vec![],
        };
        path.tcp.give(path.now, segments, &mut path.out);
        path.carry();
        path.step();
        path
    }

    /// Puts on the wire what was sent. Returns what it was.
    fn carry(&mut self) -> String {
        let mut what = String::new();
        for s in std::mem::take(&mut self.out.0) {
            if s.seq > self.sent {
                what += "N";
                self.sent = s.seq;
            } else {
                what += &format!("R{}", s.seq - 1);
            }
            let last = self.wire.back().map_or(Time::ZERO, |w| w.0);
            let at = (self.now + Duration::from_millis(100)).max(last + Duration::from_millis(1));
            self.wire.push_back((at, s));
        }
        what
    }

    /// Lets the next segment arrive, or the timer expire where that comes first. Returns what came
    /// of an ACK.
    fn step(&mut self) -> Option<Row> {
        let due = self.tcp.deadline().unwrap_or(Time::NEVER);
        let (at, mut s) = *self.wire.front()?;
        if due < at {
            self.now = due;
            self.tcp.on_timer(due, &mut self.out);
            self.carry();
            return None;
        }
        self.wire.pop_front();
        self.now = at;
        if let Some(i) = self.lose.iter().position(|seq| *seq == s.seq) {
            self.lose.remove(i);
            return None;
        }
        if self.mark.contains(&s.seq) {
            s.ecn = Codepoint::Ce;
        }
        let Reply::Now(ack) = self.receiver.on_segment(at, &s) else { return None };
        self.tcp.on_ack(at, &ack, &mut self.out);
        let n = self.out.0.len() as u64;
        let i = self.tcp.info();
        let in_flight = i.unacked - i.sacked - i.lost + i.retrans - n;
        Some((in_flight, i.cwnd, self.carry()))
    }

    /// The next ACKs.
    fn acks(&mut self, n: usize) -> Vec<Row> {
        let mut rows = vec![];
        while rows.len() < n {
            rows.extend(self.step());
        }
        rows
    }

    fn state(&self) -> CaState {
        self.tcp.info().state
    }
}

/// `"18 19 R0, 18 18"` as rows.
fn rows(text: &str) -> Vec<Row> {
    let row = |r: &str| {
        let mut parts = r.split_whitespace();
        let mut number = || parts.next().and_then(|n| n.parse().ok()).expect("a number");
        let (in_flight, cwnd) = (number(), number() as u32);
        (in_flight, cwnd, parts.next().unwrap_or("").into())
    };
    text.split(',').map(row).collect()
}

fn assert_rows(got: &[Row], want: &str) {
    for (i, (got, want)) in got.iter().zip(rows(want)).enumerate() {
        assert_eq!(*got, want, "ACK {i}");
    }
    assert_eq!(got.len(), rows(want).len());
}

/// Of twenty the first is lost, and ten are left: one leaves for every two that arrive.
#[test]
fn a_loss_halves_the_window_over_a_round_trip() {
    let mut path = Path::full(rack("reno"), 20, &[0]);
    assert_rows(&path.acks(2), "19 20 N, 19 20 N");
    assert_eq!(path.state(), CaState::Disorder);
    assert_rows(
        &path.acks(17),
        "18 19 R0, 18 18, 17 18 N, 17 17, 16 17 N, 16 16, 15 16 N, 15 15, 14 15 N, 14 14, \
         13 14 N, 13 13, 12 13 N, 12 12, 11 12 N, 11 11, 10 10",
    );
    assert_eq!(path.state(), CaState::Recovery);
    assert_rows(&path.acks(2), "9 10 N, 9 10 N");
    assert_rows(&path.acks(1), "9 10 N");
    assert_eq!(path.state(), CaState::Open);
    near(path.tcp.ssthresh(), 10.0);
    let c = path.tcp.counters();
    assert_eq!((c.fast_retransmits, c.retransmits, c.timeouts), (1, 1, 0));
}

/// Four single holes: each is lost as soon as a later one is reported, and is repaired where the
/// reduction lets a segment out.
#[test]
fn holes_take_the_place_of_new_segments() {
    let mut path = Path::full(rack("reno"), 20, &[0, 5, 10, 15]);
    assert_rows(&path.acks(2), "19 20 N, 19 20 N");
    assert_rows(
        &path.acks(13),
        "18 19 R0, 18 18, 16 17 R5, 16 16, 15 16 N, 15 15, 13 14 R10, 13 13, 12 13 N, 12 12, \
         10 10, 9 10 R15, 9 10 N",
    );
    assert_rows(&path.acks(9), &["9 10 N"; 9].join(","));
    assert_eq!(path.state(), CaState::Open);
}

#[test]
fn four_at_once() {
    let mut path = Path::full(rack("reno"), 20, &[0, 1, 2, 3]);
    assert_rows(&path.acks(2), "19 20 N, 19 20 N");
    assert_rows(
        &path.acks(12),
        "15 16 R0, 15 15, 14 15 R1, 14 14, 13 14 R2, 13 13, 12 13 R3, 12 12, 11 12 N, 11 11, \
         10 10, 9 10 N",
    );
}

/// Fifteen of twenty: one for one, then two for each retransmission that arrives.
#[test]
fn most_of_a_window() {
    let mut path = Path::full(rack("reno"), 20, &(0..15).collect::<Vec<_>>());
    path.acks(2);
    assert_rows(&path.acks(5), "4 5 R0, 4 5 R1, 4 5 R2, 4 5 R3, 4 5 R4");
    assert_rows(&path.acks(6), "4 6 R5R6, 5 7 R7R8, 6 8 R9R10, 7 9 R11R12, 8 10 R13R14, 9 10 N");
}

/// CUBIC leaves 14.
#[test]
fn cubics_cut() {
    let mut path = Path::full(rack("cubic"), 20, &[0]);
    path.acks(2);
    assert_rows(
        &path.acks(19),
        "18 19 R0, 18 19 N, 18 19 N, 18 18, 17 18 N, 17 18 N, 17 17, 16 17 N, 16 17 N, 16 16, \
         15 16 N, 15 16 N, 15 16 N, 15 15, 14 14, 13 14 N, 13 14 N, 13 14 N, 13 14 N",
    );
}

/// A mark on the first of twenty: the reduction ends with the ACK beyond what was outstanding.
#[test]
fn a_mark_is_answered_over_a_round_trip() {
    for (reduction, second) in [(Reduction::Prr, (19, 19)), (Reduction::AtOnce, (18, 10))] {
        let ecn = Ecn::Classic;
        let p = TcpParams {
            rack: RackParams { reduction, ..RackParams::default() },
            ecn,
            ..rack("reno")
        };
        let mut path = Path::full(p, 20, &[]);
        path.mark = vec![1];
        let got = path.acks(2);
        assert_eq!((got[1].0, got[1].1), second);
        assert_eq!(path.state(), CaState::Cwr);
        if reduction == Reduction::Prr {
            let odd = |at: u64| format!("{at} {} N, {at} {at}", at + 1);
            let want: Vec<String> = (11..=18).rev().map(odd).collect();
            assert_rows(&path.acks(16), &want.join(","));
            assert_rows(&path.acks(2), "10 10, 9 10 N");
            assert_eq!(path.state(), CaState::Cwr);
            assert_rows(&path.acks(1), "9 10 N");
        } else {
            path.acks(19);
        }
        assert_eq!(path.state(), CaState::Open);
        assert_eq!(path.tcp.counters().ecn_cuts, 1);
    }
}

/// A loss in a window that was cut for a mark is repaired without a second cut.
#[test]
fn a_mark_and_a_loss_cut_once() {
    let mut path = Path::full(TcpParams { ecn: Ecn::Classic, ..rack("reno") }, 20, &[8]);
    path.mark = vec![1];
    path.acks(15);
    assert_eq!((path.state(), path.tcp.ssthresh()), (CaState::Recovery, 10.0));
    path.acks(40);
    assert!(path.tcp.cwnd() >= 10.0 && path.tcp.cwnd() < 13.0, "{}", path.tcp.cwnd());
    assert_eq!(path.tcp.counters().retransmits, 1);
}

/// Ten of CUBIC's are outstanding and nothing more is given: the first is lost, and each segment
/// that comes later takes the place of one that arrives.
#[test]
fn what_is_given_late_leaves_one_by_one() {
    let p = TcpParams { initial_window: 10, initial_ssthresh: Some(10.0), ..rack("cubic") };
    let mut path = Path::given(p, 10, &[0]);
    let got = path.acks(3);
    assert_eq!(got[2], (6, 7, "R0".into()));
    path.tcp.give(path.now, 100, &mut path.out);
    assert_eq!(path.carry(), "");
    assert_rows(&path.acks(6), &["6 7 N"; 6].join(","));
    path.acks(1);
    assert_eq!((path.state(), path.tcp.info().cwnd), (CaState::Open, 7));
}

/// Of ten 1 to 4 are lost, and then the retransmission of 2: the ACK of 3's tells.
#[test]
fn a_lost_retransmission_is_found() {
    let p = TcpParams { initial_window: 10, initial_ssthresh: Some(10.0), ..rack("cubic") };
    let mut s = Story::given(p, 20);
    s.wait(100).ack(0).wait(100).take();
    let mut go = |ack: i64, blocks: &[(i64, i64)], want: &[i64]| {
        s.wait(1).sack(ack, blocks);
        assert_eq!(s.sent(), want, "after ACK {ack} {blocks:?}");
        s.tcp.info()
    };
    go(0, &[(5, 5)], &[11]);
    go(0, &[(5, 6)], &[12]);
    go(0, &[(5, 7)], &[1]);
    go(0, &[(5, 8)], &[2]);
    go(0, &[(5, 9)], &[3]);
    go(0, &[(5, 10)], &[4]);
    s.wait(100);
    let mut go = |ack: i64, blocks: &[(i64, i64)], want: &[i64]| {
        s.wait(1).sack(ack, blocks);
        assert_eq!(s.sent(), want, "after ACK {ack} {blocks:?}");
        s.tcp.info()
    };
    go(0, &[(5, 11)], &[13]);
    go(0, &[(5, 12)], &[14]);
    go(1, &[(5, 12)], &[15, 16]);
    let i = go(1, &[(3, 12)], &[2, 17]);
    assert_eq!((i.state, i.lost, i.retrans), (CaState::Recovery, 1, 1));
    go(1, &[(13, 13), (3, 12)], &[18]);
}

/// The round trip that counts is that of the segment which an ACK brings last, and not of the one
/// that was sent last (RFC 8985, 6.2, step 2). 1 and 5 to 8 are lost, 4 is late. The ACK of 1's
/// retransmission, sent 120 ms ago, covers 4, sent 220 ms ago: 10, as old as 4, is not lost before
/// another quarter of the smallest round trip has passed. Nothing new is lost, so that the reduction
/// lets three out.
#[test]
fn the_round_trip_is_that_of_the_last_segment() {
    let p = TcpParams { initial_window: 10, initial_ssthresh: Some(10.0), ..rack("cubic") };
    let mut s = Story::given(p, 10);
    s.wait(100).ack(0).wait(100).take();
    s.sack(0, &[(2, 3)]).sack(0, &[(9, 9), (2, 3)]);
    assert_eq!(s.sent(), [1]);
    s.wait(120).sack(4, &[(9, 9)]);
    assert_eq!((s.sent(), s.tcp.info().lost, s.rto_ms()), (vec![5, 6, 7], 4, 27.0));
    s.timer();
    assert_eq!(s.tcp.info().lost, 5);
}

/// Of four only the last is reported: a quarter of the round trip and 2 ms later all three before
/// it are lost. Reports of three need no wait.
#[test]
fn a_segment_may_be_late() {
    let p = TcpParams { initial_window: 4, ..rack("reno") };
    let mut s = Story::given(p.clone(), 4);
    s.wait(100).ack(0).wait(100).take();
    s.sack(0, &[(4, 4)]);
    assert_eq!((s.sent(), s.rto_ms()), (vec![], 27.0));
    assert_eq!(s.tcp.info().state, CaState::Disorder);
    s.timer();
    assert_eq!(s.sent(), [1]);
    let i = s.tcp.info();
    assert_eq!((i.state, i.lost, i.retrans), (CaState::Recovery, 3, 1));
    let mut s = Story::given(p, 4);
    s.wait(100).ack(0).wait(100).take();
    s.sack(0, &[(2, 4)]);
    assert_eq!(s.sent(), [1]);
}

/// What comes late within that time is not lost, and the path is known to reorder from then on:
/// three reports are no proof any more.
#[test]
fn reordering_is_learned() {
    let mut s = Story::at_window(rack("reno"), 10);
    s.wait(100).sack(0, &[(2, 3)]).wait(10).ack(3);
    let i = s.tcp.info();
    assert_eq!((i.state, i.reord_seen, i.reordering), (CaState::Open, 1, 3));
    s.take();
    s.wait(10).sack(3, &[(5, 10)]);
    assert_eq!(s.tcp.info().state, CaState::Disorder);
    assert!(!s.sent().contains(&4));
    s.timer();
    assert!(s.sent().contains(&4));
    assert_eq!(s.tcp.counters().timeouts, 0);
}

/// By how many segments: 4 comes after 10, so by seven of them; 1 after 10, by all ten.
#[test]
fn the_path_reorders_by_so_many() {
    let mut s = Story::at_window(rack("reno"), 10);
    s.wait(100).sack(0, &[(10, 10)]).sack(0, &[(4, 4), (10, 10)]);
    let seen = |s: &Story| (s.tcp.info().reord_seen, s.tcp.info().reordering);
    assert_eq!(seen(&s), (1, 7));
    s.ack(10);
    assert_eq!(seen(&s), (2, 10));
}

fn brisk(p: TcpParams) -> TcpParams {
    TcpParams { rtt: RttParams { min_rto: Duration::from_millis(300), ..p.rtt }, ..p }
}

/// SRTT is 100 ms, the timeout 300 ms. Ten are outstanding: a probe after 202 ms, and the timeout
/// 300 ms later. One: the probe in the timeout's place.
#[test]
fn a_probe_comes_before_the_timeout() {
    let mut s = Story::at_window(brisk(rack("reno")), 10);
    assert_eq!(s.rto_ms(), 202.0);
    s.timer();
    assert_eq!((s.sent(), s.rto_ms()), (vec![11], 300.0));
    s.timer();
    assert_eq!((s.sent(), s.tcp.counters().timeouts), (vec![1], 1));
    let mut s = Story::given(brisk(rack("reno")), 1);
    s.wait(100).ack(0).take();
    assert_eq!(s.rto_ms(), 300.0);
    s.timer();
    assert_eq!((s.sent(), s.rto_ms(), s.tcp.counters().timeouts), (vec![1], 300.0, 0));
    let off = RackParams { tlp: false, ..RackParams::default() };
    let s = Story::at_window(TcpParams { rack: off, ..brisk(rack("reno")) }, 10);
    assert_eq!(s.rto_ms(), 300.0);
}

/// The SYN went out twice, so that there is no sample: the probe waits 1 s.
#[test]
fn a_probe_without_a_sample() {
    let mut s = Story::given(rack("reno"), 10);
    s.timer();
    assert_eq!(s.sent(), [0, 0]);
    s.wait(100).ack(0);
    assert_eq!((s.sent(), s.rto_ms()), (vec![1], 1000.0));
}

/// The tail, 10, is sent again as a probe. What answers it says whether it was lost.
#[test]
fn a_probe_may_repair_a_loss() {
    // The ACK of more than the probe; a DSACK; a duplicate.
    for (how, cuts) in [("beyond", true), ("twice", false), ("duplicate", false)] {
        let p =
            TcpParams { initial_window: 10, initial_ssthresh: Some(10.0), ..brisk(rack("reno")) };
        let mut s = Story::given(p, 10);
        s.wait(100).ack(0).wait(100).ack(9).take();
        s.timer();
        assert_eq!(s.sent(), [10], "{how}");
        s.wait(100).ack(10);
        let cwnd = s.cwnd();
        s.tcp.give(s.now, 5, &mut Outbox::default());
        match how {
            "beyond" => s.wait(100).ack(15),
            "twice" => s.sack(10, &[(10, 10)]),
            _ => s.ack(10),
        };
        s.wait(100).ack(15);
        assert_eq!(s.tcp.info().state, CaState::Open);
        assert_eq!(s.cwnd() < cwnd, cuts, "{how}: {cwnd} to {}", s.cwnd());
        assert_eq!(s.tcp.counters().timeouts, 0);
    }
}

/// A burst was only late. The retransmissions arrive second: the window is what it was.
#[test]
fn a_spurious_recovery_is_taken_back() {
    for undo in [true, false] {
        let rack_params = RackParams { undo, ..RackParams::default() };
        let mut s = Story::at_window(TcpParams { rack: rack_params, ..rack("reno") }, 10);
        s.wait(100).sack(0, &[(2, 2)]).wait(1).sack(0, &[(2, 3)]).wait(1).sack(0, &[(2, 4)]);
        assert_eq!((s.tcp.info().state, s.ssthresh()), (CaState::Recovery, 5.0));
        s.wait(1).ack(4); // the original of 1
        s.wait(97).sack(4, &[(1, 1)]); // and its copy
        let i = s.tcp.info();
        if undo {
            assert_eq!((i.state, i.cwnd, i.ssthresh), (CaState::Open, 10, Some(10)));
        } else {
            assert_eq!((i.state, i.ssthresh), (CaState::Recovery, Some(5)));
        }
    }
}

/// A timeout, and then the ACKs of what was never sent again: it was spurious (F-RTO). If what
/// follows reports nothing but the new segments, it was not.
#[test]
fn a_spurious_timeout_is_taken_back() {
    let start = || {
        let off = RackParams { tlp: false, ..RackParams::default() };
        let mut s = Story::at_window(TcpParams { rack: off, ..brisk(rack("reno")) }, 10);
        s.timer();
        let i = s.tcp.info();
        assert_eq!((i.state, i.cwnd, i.ssthresh), (CaState::Loss, 1, Some(5)));
        assert_eq!((s.sent(), i.lost, i.retrans), (vec![1], 10, 1));
        s.wait(50).ack(1);
        assert_eq!(s.sent(), [11, 12], "new segments");
        s
    };
    let mut s = start();
    s.wait(1).ack(2);
    let i = s.tcp.info();
    assert_eq!((i.state, i.ssthresh, i.lost), (CaState::Open, Some(10), 0));
    assert!(i.cwnd >= 10);
    let mut s = start();
    s.wait(100).sack(1, &[(11, 11)]);
    assert_eq!(s.sent()[0], 2);
    s.wait(1).ack(4); // late, and no news any more
    assert_eq!(s.tcp.info().state, CaState::Loss);
    assert_eq!(s.ssthresh(), 5.0);
}

/// New segments leave a timeout that runs as it is. After F-RTO's the next is due a whole timeout
/// after the ACK, though the head was sent before the last one.
#[test]
fn new_segments_leave_the_timeout() {
    let off = RackParams { tlp: false, ..RackParams::default() };
    let mut s = Story::at_window(TcpParams { rack: off, ..brisk(rack("reno")) }, 10);
    s.timer().take();
    s.wait(50).ack(1);
    assert_eq!((s.sent(), s.rto_ms()), (vec![11, 12], 600.0));
}

/// While a probe is under way another is due, which sends nothing: the timeout of the head follows.
#[test]
fn one_probe_at_a_time() {
    let mut s = Story::at_window(brisk(rack("reno")), 10);
    s.timer();
    assert_eq!(s.sent(), [11]);
    s.wait(10).ack(2); // 212 ms after they were sent: SRTT 114 ms, the timeout 376 ms
    assert_eq!((s.sent(), s.rto_ms()), (vec![12], 164.0));
    s.timer();
    assert_eq!((s.sent(), s.rto_ms(), s.tcp.counters().timeouts), (vec![], 2.0, 0));
    s.timer();
    assert_eq!((s.sent(), s.tcp.counters().timeouts), (vec![3], 1));
}

/// Karn: an ACK of something that was sent again gives no sample, so that the back-off stays.
#[test]
fn what_was_sent_again_gives_no_sample() {
    for ack in [1, 2] {
        let mut s = Story::at_window(brisk(rack("reno")), 10);
        s.timer().timer();
        assert_eq!(s.tcp.info().backoff, 1);
        s.wait(50).ack(ack);
        assert_eq!(s.tcp.info().backoff, 1, "ACK of {ack}");
    }
}

/// A timeout takes the head for lost, and what was sent a round trip before; the rest may still
/// arrive. No go-back-N: only what is lost is sent again.
#[test]
fn a_timeout_marks_what_is_old() {
    let off = RackParams { tlp: false, ..RackParams::default() };
    let mut s = Story::at_window(TcpParams { rack: off, ..brisk(rack("reno")) }, 4);
    s.wait(100).sack(0, &[(2, 2)]); // 5 goes out
    s.wait(20).sack(0, &[(2, 2), (4, 4)]); // 6
    assert_eq!(s.sent(), [5, 6]);
    let timer = s.tcp.timers().at(Timer::Rtx);
    assert!(timer < Time::NEVER);
    while s.tcp.counters().timeouts == 0 {
        s.timer();
    }
    let i = s.tcp.info();
    assert_eq!((i.state, i.sacked, i.lost), (CaState::Loss, 2, 4));
    let mut again = s.sent();
    again.retain(|seq| [2, 4].contains(seq));
    assert_eq!(again, [] as [i64; 0], "what was reported is not sent again");
    assert_eq!(s.tcp.info().backoff, 1);
}

/// Ten are outstanding, sent at 100 ms. Three reports at 200 ms begin a recovery, and 1 is sent again;
/// at 210 ms all have arrived. If the ACK returns 100 ms it answers the original: the window is what it
/// was (Eifel). If it returns 200 ms, or there are no timestamps, the cut stays.
#[test]
fn an_echo_tells_the_original_from_what_was_sent_again() {
    for (timestamps, undo, echo, ssthresh) in [
        (true, true, 100, 10.0),
        (true, true, 200, 5.0),
        (false, true, 100, 5.0),
        (true, false, 100, 5.0),
    ] {
        let p = rack("reno");
        let p = TcpParams { timestamps, rack: RackParams { undo, ..p.rack }, ..p };
        let mut s = Story::at_window(p, 10);
        s.wait(100).sack(0, &[(2, 4)]);
        assert_eq!((s.sent()[0], s.tcp.info().state), (1, CaState::Recovery));
        s.wait(10).echoed(13, echo);
        assert_eq!(s.tcp.info().state, CaState::Open);
        near(s.ssthresh(), ssthresh);
    }
}

/// Within a recovery: of 1 to 10, 1 and 5 are late, and both were sent again. The original of 1 fills
/// its hole: as long as the copy of 5 is under way only new segments are sent, and nothing is lost.
/// The original of 5 says that the cut was for nothing, and that the path reorders.
#[test]
fn an_original_within_a_recovery() {
    let mut s = Story::at_window(TcpParams { timestamps: true, ..rack("reno") }, 10);
    s.wait(100).sack(0, &[(2, 4)]);
    s.sack(0, &[(6, 10), (2, 4)]);
    assert_eq!(s.sent()[..3], [1, 11, 5]);
    s.wait(10).echoed(4, 100);
    let i = s.tcp.info();
    assert_eq!((i.state, i.ssthresh, i.reord_seen, i.retrans), (CaState::Recovery, Some(5), 1, 1));
    s.wait(1).echoed(10, 100);
    let i = s.tcp.info();
    assert_eq!((i.state, i.ssthresh, i.lost), (CaState::Open, Some(10), 0));
}

/// A timeout, and the first ACK returns what was sent before it: nothing else has to be waited for.
#[test]
fn an_echo_takes_a_timeout_back() {
    for (echo, state, cwnd) in [(100, CaState::Open, 10.0), (400, CaState::Loss, 2.0)] {
        let p = rack("reno");
        let p =
            TcpParams { timestamps: true, rack: RackParams { tlp: false, ..p.rack }, ..brisk(p) };
        let mut s = Story::at_window(p, 10);
        s.timer();
        assert_eq!((s.now, s.sent(), s.tcp.info().state), (ms(400), vec![1], CaState::Loss));
        s.wait(10).echoed(1, echo);
        assert_eq!(s.tcp.info().state, state);
        near(s.cwnd(), cwnd);
        assert_eq!(s.tcp.info().lost, if state == CaState::Open { 0 } else { 9 });
    }
}

/// The timer has sent 1 again twice. Its ACK 50 ms after the second gives a sample by the timestamp,
/// and the back-off ends; without one Karn's rule keeps both.
#[test]
fn an_echo_gives_a_sample_of_what_was_sent_again() {
    for timestamps in [false, true] {
        let p = rack("reno");
        let p = TcpParams { timestamps, rack: RackParams { undo: false, ..p.rack }, ..brisk(p) };
        let mut s = Story::at_window(p, 1);
        while s.tcp.counters().timeouts < 2 {
            s.timer();
        }
        let sent = s.now.as_nanos() / 1_000_000;
        assert_eq!(s.tcp.info().backoff, 2);
        s.wait(50).echoed(1, sent);
        assert_eq!(s.tcp.info().backoff, if timestamps { 0 } else { 2 });
        let want = if timestamps { 50 } else { 100 };
        assert_eq!(s.tcp.rtt(), Some(Duration::from_millis(want)));
    }
}
