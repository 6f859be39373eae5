//! Tahoe. V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988: the third duplicate ACK
//! halves ssthresh, and slow start begins again from one segment, at the first hole.

use crate::connection::{Connection, Event, Io};
use crate::control::algorithm::Cause;
use crate::recovery::LossRecovery;
use crate::segment::Ack;
use penstock_units::Time;

#[derive(Clone, Debug, Default)]
pub(crate) struct Tahoe {
    dupacks: u32,
}

impl LossRecovery for Tahoe {
    fn dupacks(&self) -> u32 {
        self.dupacks
    }

    #[inline]
    fn on_ack(&mut self, c: &mut Connection, now: Time, ack: &Ack, io: &mut impl Io) {
        if ack.seq > c.last_ack {
            self.dupacks = 0;
            c.new_ack(now, ack);
        } else if ack.seq == c.last_ack {
            self.dupacks += 1;
            if self.dupacks == 3 {
                loss(c, now);
            } else if self.dupacks < 3 && c.p.limited_transmit {
                c.send_one(now, self.dupacks, io);
            }
        } else {
            return; // an old ACK
        }
        self.send(c, now, false, u32::MAX, io);
    }

    fn forget(&mut self, c: &mut Connection) {
        if !c.p.quirks().tahoe_keeps_duplicates() {
            self.dupacks = 0;
        }
    }
}

fn loss(c: &mut Connection, now: Time) {
    // Duplicates of a window that was already repaired do not count (RFC 6582's `recover`; ns-2:
    // bugFix_). Those of the first data segment always do.
    let new_event = c.highest_ack > c.recover || c.highest_ack == 0;
    if new_event {
        c.recover = c.max_sent;
        c.last_event = Event::DupAcks;
        c.cut(Cause::Timeout, 0.0);
    } else if c.last_event == Event::Mark {
        c.last_event = Event::DupAcks;
        c.cut(Cause::Again, 0.0);
    } else {
        return;
    }
    c.counters.fast_retransmits += 1;
    c.restart_timer(now, true);
}
