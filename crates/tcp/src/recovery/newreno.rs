//! NewReno, RFC 6582: an ACK of part of what was outstanding when recovery began names the next
//! hole. Recovery goes on until everything up to `recover` is acknowledged. Only the first partial
//! ACK restarts the timer ("impatient").

use crate::recovery::reno;
use crate::segment::Ack;
use crate::sender::{Event, Io, Sender};
use penstock_units::Time;

pub(crate) fn on_ack(s: &mut Sender, now: Time, ack: &Ack, io: &mut impl Io) {
    if ack.seq > s.last_ack {
        if ack.seq >= s.recover || s.last_event != Event::DupAcks {
            full(s, now, ack);
        } else {
            partial(s, now, ack, io);
        }
    } else if ack.seq == s.last_ack {
        reno::duplicate(s, now, false, io);
    } else {
        return; // an old ACK
    }
    // RFC 6582, section 4, advises a limit on bursts in recovery.
    let burst = if s.dupacks > 2 { 2 } else { u32::MAX };
    if s.dupacks == 0 || s.dupacks > 2 {
        s.send_much(now, false, burst, io);
    }
}

#[inline(always)]
fn full(s: &mut Sender, now: Time, ack: &Ack) {
    let recovered = s.in_recovery;
    if s.inflation > 0.0 {
        s.inflation = 0.0;
        if s.last_event == Event::DupAcks {
            s.last_event = Event::Exited;
        }
    }
    s.in_recovery = false;
    s.first_partial = false;
    if recovered && !s.p.ns2() {
        // RFC 6582 3.2 (3), full: cwnd = min(ssthresh, max(FlightSize, SMSS) + SMSS).
        let flight = (s.max_sent - ack.seq).max(1) as f64;
        s.window.cwnd = s.window.ssthresh.min(flight + 1.0);
        s.advance(now, ack);
    } else {
        s.new_ack(now, ack);
    }
}

fn partial(s: &mut Sender, now: Time, ack: &Ack, io: &mut impl Io) {
    if !s.first_partial {
        s.first_partial = true;
        s.set_timer(now);
    }
    // Deflate by what was acknowledged, add one segment back.
    let acked = (ack.seq - s.last_ack) as f64;
    if s.inflation > acked {
        s.inflation -= acked - 1.0;
    } else {
        s.window.cwnd -= acked - s.inflation;
        s.inflation = 1.0;
    }
    s.window.cwnd = s.window.cwnd.max(1.0);
    s.advance_partially(ack);
    s.output(now, s.last_ack + 1, io);
}
