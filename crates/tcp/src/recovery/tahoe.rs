//! Tahoe. V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988: the third duplicate ACK
//! halves ssthresh, and slow start begins again from one segment, at the first hole.

use crate::control::algorithm::Cause;
use crate::segment::Ack;
use crate::sender::{Event, Io, Sender};
use penstock_units::Time;

pub(crate) fn on_ack(s: &mut Sender, now: Time, ack: &Ack, io: &mut impl Io) {
    if ack.seq > s.last_ack {
        s.new_ack(now, ack);
    } else if ack.seq == s.last_ack {
        s.dupacks += 1;
        if s.dupacks == 3 {
            loss(s, now);
        } else if s.dupacks < 3 && s.p.limited_transmit {
            s.send_one(now, io);
        }
    } else {
        return; // an old ACK
    }
    s.send_window(now, io);
}

fn loss(s: &mut Sender, now: Time) {
    // Duplicates of a window that was already repaired do not count (RFC 6582's `recover`; ns-2:
    // bugFix_). Those of the first data segment always do.
    let new_event = s.highest_ack > s.recover || s.highest_ack == 0;
    if new_event {
        s.recover = s.max_sent;
        s.last_event = Event::DupAcks;
        s.cut(Cause::Timeout);
    } else if s.last_event == Event::Mark {
        s.last_event = Event::DupAcks;
        s.cut(Cause::Again);
    } else {
        return;
    }
    s.counters.fast_retransmits += 1;
    s.restart_timer(now, true);
}
