//! Sending: which segment goes next, and what its header says.

use crate::ecn::bits::{self, Bits, Ecn};
use crate::ecn::{accecn, classic, mecn};
use crate::recovery::scoreboard::Edges;
use crate::segment::Segment;
use crate::sender::{Io, Sender};
use penstock_units::{Duration, Ecn as Codepoint, Time};

impl Sender {
    /// Sends what the window allows.
    #[inline]
    pub(crate) fn send_window(&mut self, now: Time, io: &mut impl Io) {
        self.send_much(now, false, u32::MAX, io);
    }

    /// Sends at most `burst` segments; `force`: the delayed-send timer has expired.
    pub(crate) fn send_much(&mut self, now: Time, force: bool, burst: u32, io: &mut impl Io) {
        let delayed = !force && self.delayed_send_at != Time::NEVER;
        if self.stopped || self.waits_for_timer || delayed {
            return;
        }
        if self.p.sack() {
            return self.send_around_reports(now, force, io);
        }
        // What is sent moves neither the window nor its left edge.
        let edge = (self.highest_ack + self.window()).min(self.limit - 1);
        let mut left = burst;
        while self.next <= edge && left > 0 {
            if self.delay_send(now, force, io) {
                return;
            }
            self.put_out(now, self.next, io);
            self.next += 1;
            left -= 1;
        }
    }

    /// With SACK: sends what the window (outside recovery) or the pipe (inside) allows.
    fn send_around_reports(&mut self, now: Time, force: bool, io: &mut impl Io) {
        let ns2 = self.p.ns2();
        loop {
            let open = if self.in_recovery {
                self.sack.pipe(ns2, self.highest_ack, self.max_sent) < self.cwnd as i64
            } else {
                self.next <= self.last_ack + self.window()
            };
            if !open || self.last_ack + 1 >= self.limit || self.delay_send(now, force, io) {
                return;
            }
            let seq = if self.in_recovery {
                let edge = self.highest_ack + i64::from(self.peer_window);
                let (highest_ack, next, limit) = (self.highest_ack, self.next, self.limit);
                self.sack.next(ns2, &Edges { highest_ack, next, limit, edge })
            } else {
                let seq = self.sack.board.skip(self.next);
                (seq <= self.highest_ack + self.window() && seq < self.limit).then_some(seq)
            };
            let Some(seq) = seq else { return };
            self.output(now, seq, io);
            self.next = self.next.max(seq + 1);
            self.sack.pipe += 1;
        }
    }

    /// With `send_overhead`, starts its timer. Returns whether nothing may be sent before it
    /// expires.
    fn delay_send(&mut self, now: Time, force: bool, io: &mut impl Io) -> bool {
        if force || self.p.send_overhead == Duration::ZERO {
            return false;
        }
        let wait = io.random() * self.p.send_overhead.as_nanos() as f64;
        self.delayed_send_at = now + Duration::from_nanos(wait as u64);
        true
    }

    /// Limited transmit (RFC 3042): a new segment for the first and second duplicate ACK.
    pub(crate) fn send_one(&mut self, now: Time, io: &mut impl Io) {
        let window = f64::from(self.peer_window);
        let ahead = (self.next - self.highest_ack) as f64;
        if ahead <= window && self.next < self.limit && ahead <= self.cwnd + f64::from(self.dupacks)
        {
            self.output(now, self.next, io);
            self.next += 1;
            self.limited += 1;
        }
    }

    /// Puts segment `seq` on the wire, unless the application has stopped.
    pub(crate) fn output(&mut self, now: Time, seq: i64, io: &mut impl Io) {
        if !self.stopped {
            self.put_out(now, seq, io);
        }
    }

    #[inline(always)]
    fn put_out(&mut self, now: Time, seq: i64, io: &mut impl Io) {
        let syn = seq == 0 && self.p.handshake;
        let retransmit = seq <= self.max_sent;
        let capable = if syn {
            self.p.control.counts_marks() // RFC 8257 3.6
        } else {
            self.agreed != Ecn::Off && (!retransmit || self.p.retransmit_ect)
        };
        // RFC 3168 6.1.2: CWR goes on the first new data segment; ns-2 puts it on retransmissions
        // as well.
        let reduced = self.cwr && (!retransmit || self.p.retransmit_ect);
        if reduced {
            self.cwr = false;
        }
        let bits = match self.agreed {
            _ if syn => bits::request(self.p.ecn),
            Ecn::Off => Bits::NONE,
            Ecn::Classic => classic::on_data(reduced),
            Ecn::Mecn => mecn::on_data(reduced),
            Ecn::AccEcn => accecn::ON_DATA,
        };
        let idle = self.highest_ack == self.max_sent;
        self.control.sent(now, seq, self.highest_ack);
        let ecn = if capable { self.p.codepoints().unmarked() } else { Codepoint::NotEct };
        io.send(Segment { seq, syn, retransmit, ecn, bits, owes_cwr: syn && reduced });
        self.counters.sent += 1;
        if retransmit {
            self.counters.retransmits += 1;
        } else {
            self.max_sent = seq;
            // One round trip is timed at a time, and never one of a retransmission (Karn).
            if self.timed.is_none() && seq > self.timed_high {
                self.timed = Some((seq, now));
                self.timed_high = seq;
            }
        }
        if self.rtx_at == Time::NEVER || idle {
            self.set_timer(now);
        }
    }
}
