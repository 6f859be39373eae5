//! Reno, RFC 5681: the third duplicate ACK halves the window and sends the first hole again.
//! Further duplicates inflate the window, and the first new ACK ends recovery.

use crate::control::algorithm::Cause;
use crate::segment::Ack;
use crate::sender::{Event, Io, Sender};
use penstock_units::Time;

pub(crate) fn on_ack(s: &mut Sender, now: Time, ack: &Ack, io: &mut impl Io) {
    if ack.seq > s.last_ack {
        let recovered = s.in_recovery;
        if s.last_event == Event::DupAcks {
            s.last_event = Event::Exited;
        }
        s.inflation = 0.0;
        s.in_recovery = false;
        if recovered && !s.p.ns2() {
            // RFC 5681 3.2 (6): cwnd = ssthresh; this ACK does not grow the window.
            s.window.cwnd = s.window.ssthresh;
            s.advance(now, ack);
        } else {
            s.new_ack(now, ack);
        }
    } else if ack.seq == s.last_ack {
        let again = s.last_event == Event::DupAcks;
        duplicate(s, now, again, io);
    } else {
        return; // an old ACK
    }
    if s.dupacks == 0 || s.dupacks > 2 {
        s.send_window(now, io);
    }
}

/// A duplicate ACK, as Reno and NewReno answer it. `again`: the third one counts even without a new
/// loss event.
#[inline]
pub(crate) fn duplicate(s: &mut Sender, now: Time, again: bool, io: &mut impl Io) {
    s.dupacks += 1;
    if s.dupacks == 3 {
        fast_retransmit(s, now, again, io);
    } else if s.dupacks > 3 && s.last_event == Event::DupAcks {
        s.inflation += 1.0;
    } else if s.dupacks < 3 && s.p.limited_transmit {
        s.send_one(now, io);
    }
}

fn fast_retransmit(s: &mut Sender, now: Time, again: bool, io: &mut impl Io) {
    // Once per window (RFC 6582's `recover`; ns-2: bugFix_). RFC 5681 alone has no such rule, but
    // after a timeout duplicates are the echo of segments sent twice. The first data segment may
    // always be sent again.
    let new_event = s.highest_ack > s.recover || s.highest_ack == 0 || again;
    let hole = s.last_ack + 1;
    if new_event {
        s.recover = s.max_sent;
        s.last_event = Event::DupAcks;
        s.cut(Cause::Loss);
    } else if s.last_event == Event::Mark {
        // The window was already cut for a mark: repair without a second cut.
        s.last_event = Event::DupAcks;
    } else {
        return;
    }
    s.counters.fast_retransmits += 1;
    s.in_recovery = true;
    s.restart_timer(now, false);
    s.output(now, hole, io);
    s.inflation = 3.0;
}
