//! Tahoe. V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988: the third duplicate ACK
//! halves ssthresh, and slow start begins again from one segment, at the first hole.

use crate::sender::Cut;
use crate::{Ack, Io, Sender};
use penstock_units::Time;

impl Sender {
    pub(crate) fn tahoe_ack(&mut self, now: Time, ack: &Ack, io: &mut impl Io) {
        self.ecn_echo(now, ack);
        if ack.seq > self.last_ack {
            self.new_ack(now, ack);
        } else if ack.seq == self.last_ack {
            self.dupacks += 1;
            if self.dupacks == 3 {
                self.tahoe_loss(now);
            } else if self.dupacks < 3 && self.p.limited_transmit {
                self.send_one(now, io);
            }
        } else {
            return; // an old ACK
        }
        self.send_window(now, io);
    }

    fn tahoe_loss(&mut self, now: Time) {
        // Not for duplicates of a window already repaired (RFC 6582's `recover`; ns-2: bugFix_),
        // but for the first data segment.
        let new_event = self.highest_ack > self.recover || self.highest_ack == 0;
        if new_event {
            self.recover = self.max_sent;
            self.last_cut = Cut::DupAcks;
            self.cut_to_one(true);
        } else if self.last_cut == Cut::Ecn {
            self.last_cut = Cut::DupAcks;
            self.cut_to_one(false);
        } else {
            return;
        }
        self.count_fast_retransmit();
        self.restart_timer(now, true);
    }
}
