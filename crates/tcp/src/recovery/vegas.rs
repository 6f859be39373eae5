//! Vegas's own repair of losses, Brakmo, O'Malley, Peterson 1994, section 3.1: a duplicate ACK
//! sends a segment again that has been out for longer than the fine-grained timeout, without
//! waiting for the third duplicate. `control/vegas.rs` keeps that timeout, and the window.

use crate::control::algorithm::Cause;
use crate::control::vegas::{NewAck, Vegas};
use crate::control::window::Window;
use crate::control::Control;
use crate::segment::Ack;
use crate::sender::{Event, Io, Sender};
use crate::sent::SentLog;
use penstock_units::Time;

/// Returns Vegas's state, the window and the record of what is under way. A sender comes here only
/// if it has them.
fn state(s: &mut Sender) -> (&mut Vegas, &mut Window, &mut SentLog) {
    match (&mut s.control, &mut s.log) {
        (Control::Vegas(v), Some(log)) => (v, &mut s.window, log),
        (other, _) => unreachable!("Vegas's repair under {other:?}"),
    }
}

pub(crate) fn on_ack(s: &mut Sender, now: Time, ack: &Ack, io: &mut impl Io) {
    if ack.seq > s.last_ack {
        let expired = new_ack(s, now, ack);
        if let Some(expired) = expired.filter(|seq| may_resend(s, *seq)) {
            s.dupacks = 3;
            s.output(now, expired, io);
        }
    } else if ack.seq == s.last_ack {
        let lost = duplicate(s, now, ack);
        if let Some((seq, first)) = lost.filter(|(seq, _)| may_resend(s, *seq)) {
            s.output(now, seq, io);
            if first {
                s.dupacks = 3;
            }
        }
    }
    if s.dupacks == 0 || s.dupacks > 2 {
        s.send_window(now, io);
    }
}

/// Whether an expired segment was sent at all. ns-2 does not ask: it then sends a new segment, but
/// none that was not given.
fn may_resend(s: &Sender, seq: i64) -> bool {
    seq <= s.max_sent || (s.p.ns2() && seq < s.limit)
}

/// Returns a segment that has expired, to be sent again.
fn new_ack(s: &mut Sender, now: Time, ack: &Ack) -> Option<i64> {
    if s.last_ack == 0 {
        s.window.cwnd = f64::from(s.p.initial_window);
    }
    let dupacks = s.dupacks;
    s.advance(now, ack);
    let (next, ns2) = (s.next, s.p.ns2());
    let (vegas, window, log) = state(s);
    let newest = log.on_ack(now, ack).newest;
    vegas.new_ack(&NewAck { now, seq: ack.seq, next, dupacks, newest, ns2 }, log, window)
}

/// Returns the segment to send again after a duplicate ACK, and whether it was sent only once so
/// far.
fn duplicate(s: &mut Sender, now: Time, ack: &Ack) -> Option<(i64, bool)> {
    s.dupacks += 1;
    let (vegas, _, log) = state(s);
    let expired = vegas.found_expired(now, ack.seq, log);
    if expired.is_none() && s.dupacks != 3 {
        if s.dupacks > 3 {
            s.window.cwnd += 1.0;
        }
        return None;
    }
    // The echo of segments that a timeout sent twice does not count.
    if s.highest_ack <= s.recover && s.last_event == Event::Timeout {
        return None;
    }
    s.last_event = Event::DupAcks;
    s.recover = s.max_sent;
    let (hole, window, outstanding) = (s.last_ack + 1, s.usable(), s.next - s.last_ack);
    let (vegas, _, log) = state(s);
    let (left, first) = vegas.lost(now, log.get(hole), window, outstanding);
    if let Some(left) = left {
        s.window.cwnd = left + f64::from(s.dupacks);
    }
    s.counters.fast_retransmits += 1;
    s.restart_timer(now, false);
    Some((expired.unwrap_or(hole), first))
}

/// The timer has expired.
pub(crate) fn timeout(s: &mut Sender, now: Time, io: &mut impl Io) {
    s.recover = s.max_sent;
    s.last_event = Event::Timeout;
    s.counters.timeouts += 1;
    s.back_off();
    s.cut(Cause::Timeout);
    s.window.cwnd = 2.0;
    s.restart_timer(now, true);
    // In ns-2 duplicates after a timeout bring the window down to nothing, and only the timer
    // helps.
    let new_cwnd = if s.p.ns2() { 0.0 } else { s.window.cwnd };
    state(s).0.timed_out(now, new_cwnd);
    s.send_window(now, io);
}
