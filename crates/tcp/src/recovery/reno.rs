//! Reno, RFC 5681: the third duplicate ACK halves the window and sends the first hole again.
//! Further duplicates inflate the window, and the first new ACK ends recovery.

use crate::connection::{Connection, Event, Io};
use crate::control::algorithm::Cause;
use crate::recovery::LossRecovery;
use crate::segment::Ack;
use penstock_units::Time;

/// Fast recovery, as NewReno has it too.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reno {
    pub(crate) dupacks: u32,
    pub(crate) in_recovery: bool,
    /// The segments that duplicate ACKs have added to the window.
    pub(crate) inflation: f64,
}

impl LossRecovery for Reno {
    fn dupacks(&self) -> u32 {
        self.dupacks
    }

    fn inflation(&self) -> f64 {
        self.inflation
    }

    #[inline]
    fn on_ack(&mut self, c: &mut Connection, now: Time, ack: &Ack, io: &mut impl Io) {
        if ack.seq > c.last_ack {
            if c.last_event == Event::DupAcks {
                c.last_event = Event::Exited;
            }
            let recovered = std::mem::take(self).in_recovery;
            if recovered && !c.p.quirks().recovery_ends_by_growing() {
                // RFC 5681 3.2 (6): cwnd = ssthresh; this ACK does not grow the window.
                c.window.cwnd = c.window.ssthresh;
                c.advance(now, ack);
            } else {
                c.new_ack(now, ack);
            }
        } else if ack.seq == c.last_ack {
            let again = c.last_event == Event::DupAcks;
            self.duplicate(c, now, again, io);
        } else {
            return; // an old ACK
        }
        if self.dupacks == 0 || self.dupacks > 2 {
            self.send(c, now, false, u32::MAX, io);
        }
    }

    fn forget(&mut self, _c: &mut Connection) {
        *self = Reno::default();
    }
}

impl Reno {
    /// A duplicate ACK. `again`: the third one counts even without a new loss event.
    #[inline]
    pub(crate) fn duplicate(
        &mut self,
        c: &mut Connection,
        now: Time,
        again: bool,
        io: &mut impl Io,
    ) {
        self.dupacks += 1;
        if self.dupacks == 3 {
            self.fast_retransmit(c, now, again, io);
        } else if self.dupacks > 3 && c.last_event == Event::DupAcks {
            self.inflation += 1.0;
        } else if self.dupacks < 3 && c.p.limited_transmit {
            c.send_one(now, self.dupacks, io);
        }
    }

    fn fast_retransmit(&mut self, c: &mut Connection, now: Time, again: bool, io: &mut impl Io) {
        // Once per window (RFC 6582's `recover`; ns-2: bugFix_). RFC 5681 alone has no such rule,
        // but after a timeout duplicates are the echo of segments sent twice. The first data
        // segment may always be sent again.
        let new_event = c.highest_ack > c.recover || c.highest_ack == 0 || again;
        let hole = c.last_ack + 1;
        if new_event {
            c.recover = c.max_sent;
            c.last_event = Event::DupAcks;
            c.cut(Cause::Loss, self.inflation);
        } else if c.last_event == Event::Mark {
            // The window was already cut for a mark: repair without a second cut.
            c.last_event = Event::DupAcks;
        } else {
            return;
        }
        c.counters.fast_retransmits += 1;
        self.in_recovery = true;
        c.restart_timer(now, false);
        c.output(now, hole, io);
        self.inflation = 3.0;
    }
}
