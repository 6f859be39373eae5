//! NewReno, RFC 6582: an ACK of part of what was outstanding when recovery began names the next
//! hole. Recovery goes on until everything up to `recover` is acknowledged. Only the first partial
//! ACK restarts the timer ("impatient").

use crate::connection::{Connection, Event, Io};
use crate::recovery::reno::Reno;
use crate::recovery::LossRecovery;
use crate::segment::Ack;
use penstock_units::Time;

#[derive(Clone, Debug, Default)]
pub(crate) struct NewReno {
    fast: Reno,
    first_partial: bool,
}

impl LossRecovery for NewReno {
    fn dupacks(&self) -> u32 {
        self.fast.dupacks
    }

    fn inflation(&self) -> f64 {
        self.fast.inflation
    }

    #[inline]
    fn on_ack(&mut self, c: &mut Connection, now: Time, ack: &Ack, io: &mut impl Io) {
        if ack.seq > c.last_ack {
            if ack.seq >= c.recover || c.last_event != Event::DupAcks {
                self.full(c, now, ack);
            } else {
                self.partial(c, now, ack, io);
            }
        } else if ack.seq == c.last_ack {
            self.fast.duplicate(c, now, false, io);
        } else {
            return; // an old ACK
        }
        // RFC 6582, section 4, advises a limit on bursts in recovery.
        let dupacks = self.fast.dupacks;
        let burst = if dupacks > 2 { 2 } else { u32::MAX };
        if dupacks == 0 || dupacks > 2 {
            self.send(c, now, false, burst, io);
        }
    }

    fn forget(&mut self, _c: &mut Connection) {
        self.fast = Reno::default();
    }
}

impl NewReno {
    #[inline(always)]
    fn full(&mut self, c: &mut Connection, now: Time, ack: &Ack) {
        if self.fast.dupacks == 0 {
            // Nothing is being repaired: the rest of `fast` is blank, too.
            self.first_partial = false;
            return c.new_ack_after(now, ack, 0);
        }
        if self.fast.inflation > 0.0 && c.last_event == Event::DupAcks {
            c.last_event = Event::Exited;
        }
        self.first_partial = false;
        let Reno { in_recovery: recovered, dupacks, .. } = std::mem::take(&mut self.fast);
        if recovered && !c.p.quirks().recovery_ends_by_growing() {
            // RFC 6582 3.2 (3), full: cwnd = min(ssthresh, max(FlightSize, SMSS) + SMSS).
            let flight = (c.max_sent - ack.seq).max(1) as f64;
            c.window.cwnd = c.window.ssthresh.min(flight + 1.0);
            c.advance(now, ack);
        } else {
            c.new_ack_after(now, ack, dupacks);
        }
    }

    fn partial(&mut self, c: &mut Connection, now: Time, ack: &Ack, io: &mut impl Io) {
        if !self.first_partial {
            self.first_partial = true;
            c.set_timer(now);
        }
        // Deflate by what was acknowledged, add one segment back.
        let acked = (ack.seq - c.last_ack) as f64;
        let inflation = &mut self.fast.inflation;
        if *inflation > acked {
            *inflation -= acked - 1.0;
        } else {
            c.window.cwnd -= acked - *inflation;
            *inflation = 1.0;
        }
        c.window.cwnd = c.window.cwnd.max(1.0);
        c.advance_partially(ack);
        c.output(now, c.last_ack + 1, io);
    }
}
