//! A sender's answer to marks: at most one cut per window of data (RFC 3168, 6.1.2).

use crate::control::algorithm::{Acked, Cause};
use crate::ecn::bits::{Ecn, Mark};
use crate::ecn::{accecn, classic, mecn};
use crate::segment::Ack;
use crate::sender::{Event, Sender};
use penstock_units::Time;

/// Takes an ACK's news of marks in, tells the congestion control of the ACK, and cuts the window
/// where a mark asks for that. This comes before anything else is done with the ACK.
#[inline]
pub(crate) fn on_ack(s: &mut Sender, now: Time, ack: &Ack) {
    if s.agreed == Ecn::Off && !s.control.watches() {
        return;
    }
    let (mark, marked) = news(s, ack);
    s.mark = mark;
    let (newly, max_sent) = (ack.seq - s.highest_ack, s.max_sent);
    s.control.on_ack(&Acked { now, seq: ack.seq, newly, marked, max_sent, rtt: s.rtt.last() });
    let cuts = mark != Mark::None && (s.agreed != Ecn::Mecn || s.p.mecn.cuts(mark));
    if cuts {
        answer(s, now, ack, mark);
    }
}

/// Returns what an ACK says of marks, and how many packets it newly reports as marked. Only AccECN
/// counts those; for classic ECN they are all the packets that the ACK newly acknowledges.
fn news(s: &mut Sender, ack: &Ack) -> (Mark, i64) {
    let acked = (ack.seq - s.highest_ack).max(0);
    if ack.seq < s.first_data() {
        return (Mark::None, 0); // the SYN's answer
    }
    match s.agreed {
        Ecn::Off => (Mark::None, 0),
        Ecn::Classic => match classic::level(ack.bits) {
            Mark::None => (Mark::None, 0),
            mark => (mark, acked),
        },
        Ecn::Mecn => (mecn::level(ack.bits), 0),
        Ecn::AccEcn if ack.seq < s.highest_ack => (Mark::None, 0), // superseded
        Ecn::AccEcn => {
            // Duplicates have reported packets that the cumulative ACK covers only now.
            let packets = (acked - i64::from(s.dupacks)).max(1);
            let n = accecn::newly_marked(s.marks_known, ack.bits.number(), packets);
            s.marks_known = ack.bits.number();
            (if n > 0 { Mark::Ce } else { Mark::None }, n)
        }
    }
}

fn answer(s: &mut Sender, now: Time, ack: &Ack, mark: Mark) {
    let levels = s.agreed == Ecn::Mecn;
    // A timeout has cut for its window too: until new data carry CWR every ACK repeats the echo,
    // and to answer each would leave cwnd at one for ever. ns-2 answers.
    let new_window = ack.seq > s.recover || (s.p.ns2() && s.last_event == Event::Timeout);
    if !new_window {
        let incipient = s.last_event == Event::Mark && s.cut_level == Mark::Incipient;
        if levels && s.p.mecn.escalate && mark == Mark::Ce && incipient {
            deepen(s);
        }
        return;
    }
    s.recover = s.max_sent;
    s.last_event = Event::Mark;
    if s.cwnd <= 1.0 {
        marked_at_one(s, now, mark);
    } else {
        s.ecn_backoff = false;
    }
    if levels {
        cut_by_level(s, mark);
    } else {
        s.cut_for_mark();
    }
    s.counters.ecn_cuts += 1;
}

/// A window of one segment cannot be halved: RFC 3168 6.1.2 lets the next segment wait for the
/// timer. In ns-2 a window below one has the same effect, and the second such mark in a row backs
/// the timer off. That would be far more than an incipient mark or DCTCP's alpha asks for: these
/// stay at one.
fn marked_at_one(s: &mut Sender, now: Time, mark: Mark) {
    let mild = mark == Mark::Incipient || s.p.control.counts_marks();
    if mild && !s.p.ns2() {
        return;
    }
    s.waits_for_timer = s.p.cwnd_floor >= 1.0 && !(s.agreed == Ecn::Mecn && s.p.ns2());
    if s.waits_for_timer {
        s.set_timer(now);
    }
    if s.ecn_backoff {
        s.back_off();
    } else {
        s.ecn_backoff = true;
    }
}

/// Multi-level ECN, table 3: the first mark of a window.
fn cut_by_level(s: &mut Sender, mark: Mark) {
    let window = s.cwnd.min(f64::from(s.peer_window));
    let left = s.control.level_leaves(s.p.mecn.leaves(mark, window), &s.cut(Cause::Loss, window));
    s.control.before_cut(&s.cut(Cause::Mark, window));
    cut_to(s, left);
    s.cut_level = mark;
    s.counters.cuts_incipient += u32::from(mark == Mark::Incipient);
}

/// `escalate`: a moderate mark in a window cut for an incipient one leaves what it would have left
/// at first.
fn deepen(s: &mut Sender) {
    let left = s.p.mecn.leaves_deeper(s.cwnd);
    let before = left / (1.0 - s.p.mecn.beta2);
    let left = s.control.level_leaves(left, &s.cut(Cause::Loss, before));
    s.control.before_cut(&s.cut(Cause::Deeper, before));
    cut_to(s, left);
    s.cut_level = Mark::Ce;
    s.counters.ecn_cuts += 1;
}

fn cut_to(s: &mut Sender, left: f64) {
    s.cwnd = left.max(s.p.cwnd_floor).min(s.cwnd);
    s.set_ssthresh(left);
    s.cwr = true;
}
