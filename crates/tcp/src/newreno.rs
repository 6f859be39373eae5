//! NewReno, RFC 6582: an ACK of part of what was outstanding when recovery began names the next
//! hole; recovery goes on until everything up to `recover` is acknowledged. The timer restarts on
//! the first partial ACK only ("impatient").

use crate::sender::Cut;
use crate::{Ack, Io, Sender};
use penstock_units::Time;

impl Sender {
    pub(crate) fn newreno_ack(&mut self, now: Time, ack: &Ack, io: &mut impl Io) {
        self.ecn_echo(now, ack);
        let mut burst = u32::MAX;
        if ack.seq > self.last_ack {
            if ack.seq >= self.recover || self.last_cut != Cut::DupAcks {
                self.newreno_full(now, ack);
            } else {
                self.newreno_partial(now, ack, io);
            }
        } else if ack.seq == self.last_ack {
            self.dupacks += 1;
            if self.dupacks == 3 {
                self.fast_retransmit(now, false, io);
            } else if self.dupacks > 3 && self.last_cut == Cut::DupAcks {
                self.inflation += 1.0;
            } else if self.dupacks < 3 && self.p.limited_transmit {
                self.send_one(now, io);
            }
        } else {
            return; // an old ACK
        }
        if self.dupacks > 2 {
            burst = 2; // RFC 6582 section 4 advises a limit on bursts in recovery
        }
        if self.dupacks == 0 || self.dupacks > 2 {
            self.send_much(now, false, burst, io);
        }
    }

    fn newreno_full(&mut self, now: Time, ack: &Ack) {
        let recovered = self.in_recovery;
        if self.inflation > 0.0 {
            self.inflation = 0.0;
            if self.last_cut == Cut::DupAcks {
                self.last_cut = Cut::Exited;
            }
        }
        self.in_recovery = false;
        self.first_partial = false;
        if recovered && !self.p.ns2_recovery {
            // RFC 6582 3.2 (3), full: cwnd = min(ssthresh, max(FlightSize, SMSS) + SMSS).
            let flight = (self.max_sent - ack.seq).max(1) as f64;
            self.cwnd = self.ssthresh.min(flight + 1.0);
            self.advance(now, ack);
        } else {
            self.new_ack(now, ack);
        }
    }

    fn newreno_partial(&mut self, now: Time, ack: &Ack, io: &mut impl Io) {
        if !self.first_partial {
            self.first_partial = true;
            self.set_timer(now);
        }
        // Deflate by what was acknowledged, add one segment back.
        let acked = (ack.seq - self.last_ack) as f64;
        if self.inflation > acked {
            self.inflation -= acked - 1.0;
        } else {
            self.cwnd -= acked - self.inflation;
            self.inflation = 1.0;
        }
        self.cwnd = self.cwnd.max(1.0);
        self.advance_partially(ack);
        self.output(now, self.last_ack + 1, io);
    }
}
