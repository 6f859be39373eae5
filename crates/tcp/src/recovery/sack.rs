//! SACK-based loss recovery, RFC 2018 and RFC 6675; with `loss_recovery = "ns-2"` the earlier pipe
//! algorithm of Fall and Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP", 1996,
//! as ns-2 2.35 has it.

use crate::control::algorithm::Cause;
use crate::recovery::scoreboard::DUP_THRESH;
use crate::segment::Ack;
use crate::sender::{Event, Io, Sender};
use penstock_units::Time;

pub(crate) fn on_ack(s: &mut Sender, now: Time, ack: &Ack, io: &mut impl Io) {
    if s.in_recovery {
        in_recovery(s, now, ack, io);
    } else {
        normal(s, now, ack, io);
    }
}

fn normal(s: &mut Sender, now: Time, ack: &Ack, io: &mut impl Io) {
    if ack.seq > s.last_ack {
        s.first_partial = false;
        s.new_ack(now, ack);
        s.sack.after_timeout = false;
        if s.p.ns2() || s.p.loss.go_back_n {
            s.sack.board.clear();
        } else {
            s.sack.update(ack, s.highest_ack);
        }
    } else if ack.seq == s.last_ack && !s.sack.after_timeout {
        // Only an ACK that reports something new is a duplicate (RFC 6675, section 2).
        if s.sack.update(ack, s.highest_ack) {
            s.dupacks += 1;
            let lost = !s.p.ns2()
                && s.sack.board.lost_below().is_some_and(|below| s.highest_ack + 1 < below);
            if s.dupacks == 3 || (s.dupacks < 3 && lost) {
                s.dupacks = 3;
                enter(s, now, io);
            } else if s.dupacks < 3 && s.p.limited_transmit {
                s.send_one(now, io);
            }
        }
    }
    if ack.seq >= s.last_ack && s.dupacks == 0 {
        s.send_window(now, io);
    }
}

fn enter(s: &mut Sender, now: Time, io: &mut impl Io) {
    let new_event = s.highest_ack > s.recover || s.highest_ack == 0;
    if new_event {
        s.recover = s.max_sent;
    } else if s.last_event != Event::Mark {
        return;
    }
    s.sack.pipe = s.max_sent - s.highest_ack - DUP_THRESH;
    s.restart_timer(now, false);
    s.in_recovery = true;
    s.sack.high_rxt = s.highest_ack + 1;
    if new_event {
        s.cut(Cause::Loss);
    }
    s.last_event = Event::DupAcks;
    s.counters.fast_retransmits += 1;
    s.output(now, s.last_ack + 1, io);
    if !s.p.ns2() {
        s.send_window(now, io); // RFC 6675 5 (4.3): what the pipe allows
    }
}

fn in_recovery(s: &mut Sender, now: Time, ack: &Ack, io: &mut impl Io) {
    let valid = ack.seq >= s.last_ack;
    s.sack.pipe -= 1;
    if ack.seq >= s.recover {
        s.in_recovery = false;
        if s.p.ns2() {
            s.recover = 0;
        }
        s.advance(now, ack);
        s.sack.after_timeout = false;
        s.sack.board.clear();
    } else if ack.seq > s.highest_ack {
        s.sack.update(ack, s.highest_ack);
        // ns-2 moves highest_ack alone; the left edge of the window waits for the end of recovery.
        s.highest_ack = ack.seq;
        s.sack.pipe -= 1;
        s.set_timer(now);
        s.end_back_off();
        if !s.p.ns2() {
            s.advance_partially(ack);
        }
    } else if !s.sack.after_timeout && s.sack.update(ack, s.highest_ack) && s.dupacks > 0 {
        s.dupacks += 1;
    }
    if valid {
        s.send_window(now, io);
    }
}

/// The timer has expired.
pub(crate) fn timeout(s: &mut Sender) {
    s.sack.after_timeout = s.p.ns2();
    s.last_ack = s.last_ack.max(s.highest_ack);
    if s.p.loss.go_back_n {
        // RFC 2018, section 8: the receiver may have reneged, so a timeout forgets what it
        // reported.
        s.sack.board.clear();
    }
}
