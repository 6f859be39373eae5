//! Reno, RFC 5681: the third duplicate ACK halves the window and sends the first hole again;
//! further duplicates inflate the window; the first new ACK ends recovery.

use crate::sender::Cut;
use crate::{Ack, Io, Sender};
use penstock_units::Time;

impl Sender {
    pub(crate) fn reno_ack(&mut self, now: Time, ack: &Ack, io: &mut impl Io) {
        self.ecn_echo(now, ack);
        if ack.seq > self.last_ack {
            let recovered = self.in_recovery;
            if self.last_cut == Cut::DupAcks {
                self.last_cut = Cut::Exited;
            }
            self.inflation = 0.0;
            self.in_recovery = false;
            if recovered && !self.p.ns2_recovery {
                // RFC 5681 3.2 (6): cwnd = ssthresh; this ACK does not grow the window.
                self.cwnd = self.ssthresh;
                self.advance(now, ack);
            } else {
                self.new_ack(now, ack);
            }
        } else if ack.seq == self.last_ack {
            self.dupacks += 1;
            if self.dupacks == 3 {
                let again = self.last_cut == Cut::DupAcks;
                self.fast_retransmit(now, again, io);
            } else if self.dupacks > 3 && self.last_cut == Cut::DupAcks {
                self.inflation += 1.0;
            } else if self.dupacks < 3 && self.p.limited_transmit {
                self.send_one(now, io);
            }
        } else {
            return; // an old ACK
        }
        if self.dupacks == 0 || self.dupacks > 2 {
            self.send_window(now, io);
        }
    }

    /// The third duplicate ACK, of Reno and NewReno. `allowed`: even without a new loss event.
    pub(crate) fn fast_retransmit(&mut self, now: Time, allowed: bool, io: &mut impl Io) {
        // Once a window (RFC 6582's `recover`; ns-2: bugFix_). RFC 5681 alone has no such rule, but
        // after a timeout duplicates are the echo of segments sent twice. The first data segment
        // may always be sent again.
        let new_event = self.highest_ack > self.recover || self.highest_ack == 0 || allowed;
        let hole = self.last_ack + 1;
        if new_event {
            self.recover = self.max_sent;
            self.last_cut = Cut::DupAcks;
            self.cut_for_loss();
        } else if self.last_cut == Cut::Ecn {
            // The window was already halved for a mark: repair without a second cut.
            self.last_cut = Cut::DupAcks;
        } else {
            return;
        }
        self.count_fast_retransmit();
        self.in_recovery = true;
        self.restart_timer(now, false);
        self.output(now, hole, io);
        self.inflation = 3.0;
    }
}
