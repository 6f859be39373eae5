//! SACK-based loss recovery, RFC 2018 and RFC 6675; with `loss_recovery = "ns-2"` the earlier pipe
//! algorithm of Fall and Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP", 1996,
//! as ns-2 2.35 has it.

use crate::connection::{Connection, Event, Io};
use crate::control::algorithm::Cause;
use crate::recovery::scoreboard::{Edges, Reports, DUP_THRESH};
use crate::recovery::LossRecovery;
use crate::segment::Ack;
use penstock_units::Time;

#[derive(Clone, Debug, Default)]
pub(crate) struct Sack {
    dupacks: u32,
    in_recovery: bool,
    /// No duplicates are counted between a timeout and the next new ACK.
    after_timeout: bool,
    reports: Reports,
}

impl LossRecovery for Sack {
    fn dupacks(&self) -> u32 {
        self.dupacks
    }

    #[inline]
    fn on_ack(&mut self, c: &mut Connection, now: Time, ack: &Ack, io: &mut impl Io) {
        if self.in_recovery {
            self.recover(c, now, ack, io);
        } else {
            self.normal(c, now, ack, io);
        }
    }

    fn forget(&mut self, c: &mut Connection) {
        self.in_recovery = false;
        self.dupacks = 0;
        self.after_timeout = c.p.quirks().deaf_after_a_timeout();
        c.last_ack = c.last_ack.max(c.highest_ack);
        if c.p.loss.go_back_n {
            // RFC 2018, section 8: the receiver may have reneged, so a timeout forgets what it
            // reported.
            self.reports.board.clear();
        }
    }

    /// Sends what the window (outside recovery) or the pipe (inside) allows.
    fn send(&mut self, c: &mut Connection, now: Time, force: bool, _burst: u32, io: &mut impl Io) {
        if !c.sends(force) {
            return;
        }
        loop {
            if !self.open(c) || c.last_ack + 1 >= c.limit || c.holds(now, force, io) {
                return;
            }
            let Some(seq) = self.next(c) else { return c.starves() };
            c.output_next(now, seq, io);
            c.next = c.next.max(seq + 1);
            self.reports.pipe += 1;
        }
    }
}

impl Sack {
    fn open(&self, c: &Connection) -> bool {
        if self.in_recovery {
            let counted = c.p.quirks().pipe_is_counted();
            self.reports.pipe(counted, c.highest_ack, c.max_sent) < c.window.cwnd as i64
        } else {
            c.next <= c.last_ack + c.usable(0.0)
        }
    }

    /// Returns the segment to send next.
    fn next(&mut self, c: &Connection) -> Option<i64> {
        if self.in_recovery {
            let edge = c.highest_ack + i64::from(c.peer_window);
            let (highest_ack, next, limit) = (c.highest_ack, c.next, c.limit);
            let counted = c.p.quirks().pipe_is_counted();
            return self.reports.next(counted, &Edges { highest_ack, next, limit, edge });
        }
        let seq = self.reports.board.skip(c.next);
        (seq <= c.highest_ack + c.usable(0.0) && seq < c.limit).then_some(seq)
    }

    fn normal(&mut self, c: &mut Connection, now: Time, ack: &Ack, io: &mut impl Io) {
        if ack.seq > c.last_ack {
            self.dupacks = 0;
            c.new_ack(now, ack);
            self.after_timeout = false;
            if c.p.quirks().new_acks_forget_reports() || c.p.loss.go_back_n {
                self.reports.board.clear();
            } else {
                self.reports.update(ack, c.highest_ack);
            }
        } else if ack.seq == c.last_ack && !self.after_timeout {
            // Only an ACK that reports something new is a duplicate (RFC 6675, section 2).
            if self.reports.update(ack, c.highest_ack) {
                self.duplicate(c, now, io);
            }
        }
        if ack.seq >= c.last_ack && self.dupacks == 0 {
            self.send(c, now, false, u32::MAX, io);
        }
    }

    fn duplicate(&mut self, c: &mut Connection, now: Time, io: &mut impl Io) {
        self.dupacks += 1;
        let lost = !c.p.quirks().only_three_duplicates_count()
            && self.reports.board.lost_below().is_some_and(|below| c.highest_ack + 1 < below);
        if self.dupacks == 3 || (self.dupacks < 3 && lost) {
            self.dupacks = 3;
            self.enter(c, now, io);
        } else if self.dupacks < 3 && c.p.limited_transmit {
            c.send_one(now, self.dupacks, io);
        }
    }

    fn enter(&mut self, c: &mut Connection, now: Time, io: &mut impl Io) {
        let new_event = c.highest_ack > c.recover || c.highest_ack == 0;
        if new_event {
            c.recover = c.max_sent;
        } else if c.last_event != Event::Mark {
            return;
        }
        self.reports.pipe = c.max_sent - c.highest_ack - DUP_THRESH;
        c.restart_timer(now, false);
        self.in_recovery = true;
        self.reports.high_rxt = c.highest_ack + 1;
        if new_event {
            c.cut(Cause::Loss, 0.0);
        }
        c.last_event = Event::DupAcks;
        c.counters.fast_retransmits += 1;
        c.output(now, c.last_ack + 1, io);
        if !c.p.quirks().starts_with_one_segment() {
            self.send(c, now, false, u32::MAX, io); // RFC 6675 5 (4.3): what the pipe allows
        }
    }

    fn recover(&mut self, c: &mut Connection, now: Time, ack: &Ack, io: &mut impl Io) {
        let valid = ack.seq >= c.last_ack;
        self.reports.pipe -= 1;
        if ack.seq >= c.recover {
            self.in_recovery = false;
            self.dupacks = 0;
            if c.p.quirks().end_forgets_recover() {
                c.recover = 0;
            }
            c.advance(now, ack);
            self.after_timeout = false;
            self.reports.board.clear();
        } else if ack.seq > c.highest_ack {
            self.reports.update(ack, c.highest_ack);
            c.highest_ack = ack.seq;
            self.reports.pipe -= 1;
            c.set_timer(now);
            c.end_back_off();
            if !c.p.quirks().left_edge_waits() {
                c.advance_partially(ack);
            }
        } else if !self.after_timeout && self.reports.update(ack, c.highest_ack) && self.dupacks > 0
        {
            self.dupacks += 1;
        }
        if valid {
            self.send(c, now, false, u32::MAX, io);
        }
    }
}
