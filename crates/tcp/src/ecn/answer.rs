//! A sender's answer to marks: at most one cut per window of data (RFC 3168, 6.1.2).

use crate::connection::{Connection, Event};
use crate::control::algorithm::Cause;
use crate::ecn::accecn::{AccEcnParams, EctOn};
use crate::ecn::bits::{Bits, Ecn, Mark};
use crate::ecn::{accecn, classic, handshake, mecn, sce};
use crate::segment::Ack;
use penstock_units::{Ecn as Codepoint, Time};

/// Cuts the window, which recovery has inflated, where the mark that an ACK tells of asks for that.
/// Comes before anything is done with the ACK but to tell the control.
pub(crate) fn on_mark(c: &mut Connection, now: Time, ack: &Ack, inflation: f64) {
    let mark = c.mark;
    if c.agreed == Ecn::Sce && mark == Mark::Incipient {
        return c.give_way(now, (ack.seq - c.highest_ack).max(1));
    }
    if c.agreed != Ecn::Mecn || c.p.mecn.cuts(mark) {
        answer(c, now, ack, mark, inflation);
    }
}

/// Returns what an ACK says of marks, and how many packets it newly reports as marked. Only AccECN
/// counts those; for classic ECN they are all the packets that the ACK newly acknowledges.
pub(crate) fn news(c: &mut Connection, ack: &Ack, dupacks: u32) -> (Mark, i64) {
    let acked = (ack.seq - c.highest_ack).max(0);
    // The SYN's answer; or news of what comes behind the first data, to who reads AccECN closely.
    if ack.seq < c.first_data() && (ack.n_blocks == 0 || c.decoder.is_none()) {
        return (Mark::None, 0);
    }
    match c.agreed {
        Ecn::Off => (Mark::None, 0),
        Ecn::Classic => match classic::level(ack.bits) {
            Mark::None => (Mark::None, 0),
            mark => (mark, acked),
        },
        Ecn::Mecn => (mecn::level(ack.bits), 0),
        Ecn::Sce => {
            c.sce.on_ack(ack.bits, c.window.cwnd);
            match sce::level(ack.bits) {
                Mark::Ce => (Mark::Ce, acked),
                mark => (mark, 0),
            }
        }
        Ecn::AccEcn => {
            if ack.ecn == Codepoint::Ce {
                ack_marked(c);
            }
            if ack.seq < c.highest_ack {
                return (Mark::None, 0); // superseded
            }
            // Earlier ACKs have reported packets that the cumulative one covers only now.
            let told = match &c.log {
                Some(log) => log.reported(ack.seq),
                None => i64::from(dupacks),
            };
            let packets = (acked - told).max(1);
            let n = if c.decoder.is_some() || c.p.accecn.ecn_fallback {
                let Some(n) = decode(c, ack, acked, packets) else { return (Mark::None, 0) };
                n
            } else {
                accecn::newly_marked(c.marks_known, ack.bits.number(), packets)
            };
            c.marks_known = ack.bits.number();
            (if n > 0 { Mark::Ce } else { Mark::None }, n)
        }
    }
}

/// An ACK has come marked CE. AccECN counts it, and the next segment says so.
#[cold]
fn ack_marked(c: &mut Connection) {
    c.acks_marked = c.acks_marked.wrapping_add(1);
    c.ace = accecn::on_data(c.acks_marked);
}

/// Returns how many packets an ACK newly reports as marked, with whatever else tells of that;
/// `None`: it says nothing.
fn decode(c: &mut Connection, ack: &Ack, acked: i64, packets: i64) -> Option<i64> {
    let fallback = c.p.accecn.ecn_fallback;
    // RFC 9768 3.2.2.4: the count starts at five, so that zero at the start means that it is
    // cleared, and no mark.
    if fallback && c.highest_ack < c.first_data() && ack.bits == Bits::NONE {
        not_capable(c);
        c.marks_known = 0;
        return None;
    }
    let Some(d) = &mut c.decoder else {
        return Some(accecn::newly_marked(c.marks_known, ack.bits.number(), packets));
    };
    let n = d.read(c.marks_known, ack, acked, packets);
    if fallback && d.contradicted {
        not_capable(c);
    }
    n
}

/// From now on no segment is ECN-capable: the path does not leave ECN's bits alone.
fn not_capable(c: &mut Connection) {
    (c.field, c.field_again) = (Codepoint::NotEct, Codepoint::NotEct);
}

impl Connection {
    /// The SYN is answered: what both ends have agreed on, and what its bits tell of the path.
    #[cold]
    pub(crate) fn agree(&mut self, ack: &Ack) {
        self.agreed = handshake::conclude(self.p.ecn, ack.bits);
        if self.agreed == Ecn::Off {
            return;
        }
        self.attends = true;
        let AccEcnParams { ect_on, ecn_fallback, .. } = self.p.accecn;
        let accurate = self.agreed == Ecn::AccEcn;
        let again = self.p.retransmit_ect || (accurate && ect_on != EctOn::Data);
        self.field = self.p.unmarked();
        self.field_again = if again { self.field } else { Codepoint::NotEct };
        if !accurate {
            return;
        }
        let arrived = handshake::reflected(ack.bits);
        if ect_on == EctOn::All && arrived == Some(Codepoint::Ce) {
            // ECN++: as if the SYN had been lost (RFC 5681 3.1).
            self.initial_window = 1;
        }
        if ect_on != EctOn::Data && ack.ecn == Codepoint::Ce {
            ack_marked(self);
        }
        if ecn_fallback {
            // The third SYN and those after it were sent without asking.
            let sent = self.p.syn_field();
            if self.syns <= 2 && arrived.is_some_and(|arrived| handshake::mangled(sent, arrived)) {
                not_capable(self);
            }
            self.ace = handshake::reflect(ack.ecn);
        }
    }
}

fn answer(c: &mut Connection, now: Time, ack: &Ack, mark: Mark, inflation: f64) {
    let (levels, quirks) = (c.agreed == Ecn::Mecn, c.p.quirks());
    // A timeout has cut for its window too: until new data carry CWR every ACK repeats the echo,
    // and to answer each would leave cwnd at one for ever. ns-2 answers.
    let new_window = ack.seq > c.recover
        || (c.last_event == Event::Timeout && quirks.marks_cut_after_a_timeout());
    if !new_window {
        let incipient = c.last_event == Event::Mark && c.cut_level == Mark::Incipient;
        if levels && c.p.mecn.escalate && mark == Mark::Ce && incipient {
            deepen(c);
        }
        return;
    }
    c.recover = c.max_sent;
    c.last_event = Event::Mark;
    if c.window.cwnd <= 1.0 {
        marked_at_one(c, now, mark);
    } else {
        c.ecn_backoff = false;
    }
    if levels {
        cut_by_level(c, mark);
    } else {
        c.cut(Cause::Mark, inflation);
    }
    c.counters.ecn_cuts += 1;
}

/// A window of one segment cannot be halved: RFC 3168 6.1.2 lets the next segment wait for the
/// timer. In ns-2 a window below one has the same effect, and the second such mark in a row backs
/// the timer off. That would be far more than an incipient mark or DCTCP's alpha asks for: these
/// stay at one.
fn marked_at_one(c: &mut Connection, now: Time, mark: Mark) {
    if c.p.gradual() {
        return; // ssthresh is two, and the reduction keeps to it
    }
    let mild = mark == Mark::Incipient || c.p.control.counts_marks();
    if mild && !c.p.quirks().mild_marks_back_off() {
        return;
    }
    let sends_on = c.agreed == Ecn::Mecn && c.p.quirks().levels_do_not_wait();
    c.waits_for_timer = c.p.cwnd_floor >= 1.0 && !sends_on;
    if c.waits_for_timer {
        c.set_timer(now);
    }
    if c.ecn_backoff {
        c.back_off();
    } else {
        c.ecn_backoff = true;
    }
}

/// Multi-level ECN, table 3: the first mark of a window.
fn cut_by_level(c: &mut Connection, mark: Mark) {
    let window = c.window.cwnd.min(f64::from(c.peer_window));
    c.cut_by_level(Cause::Mark, c.p.mecn.leaves(mark, window), window);
    c.cut_level = mark;
    c.counters.cuts_incipient += u32::from(mark == Mark::Incipient);
}

/// `escalate`: a moderate mark in a window cut for an incipient one leaves what it would have left
/// at first.
fn deepen(c: &mut Connection) {
    let left = c.p.mecn.leaves_deeper(c.window.cwnd);
    c.cut_by_level(Cause::Deeper, left, left / (1.0 - c.p.mecn.beta2));
    c.cut_level = Mark::Ce;
    c.counters.ecn_cuts += 1;
}
