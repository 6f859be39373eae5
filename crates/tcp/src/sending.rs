//! This module chooses the segment that goes next, and fills in its header.

use crate::connection::{Connection, Io};
use crate::ecn::bits::{self, Bits, Ecn};
use crate::ecn::{accecn, classic, mecn};
use crate::segment::Segment;
use crate::timers::Timer;
use penstock_units::{Duration, Ecn as Codepoint, Time};

impl Connection {
    /// Whether anything may be sent at all. `force`: the delayed-send timer has expired.
    #[inline]
    pub(crate) fn sends(&mut self, force: bool) -> bool {
        let delayed = !force && self.timers.runs(Timer::Overhead);
        if self.stopped || self.waits_for_timer || delayed {
            return false;
        }
        self.timers.stop(Timer::Release);
        true
    }

    /// Sends at most `burst` segments, as far as the window allows that recovery has inflated.
    #[inline]
    pub(crate) fn send_window(
        &mut self,
        now: Time,
        inflation: f64,
        force: bool,
        burst: u32,
        io: &mut impl Io,
    ) {
        if !self.sends(force) {
            return;
        }
        // What is sent moves neither the window nor its left edge.
        let edge = (self.highest_ack + self.usable(inflation)).min(self.limit - 1);
        let mut left = burst;
        while self.next <= edge && left > 0 {
            if self.holds(now, force, io) {
                return;
            }
            self.put_out(now, self.next, io);
            self.next += 1;
            left -= 1;
        }
        if left > 0 {
            self.starves();
        }
    }

    /// Nothing more is sent: the window would let more out than the application has given, unless
    /// it is full.
    #[inline]
    pub(crate) fn starves(&mut self) {
        if self.log.is_some() && self.next >= self.limit {
            let full = self.max_sent - self.highest_ack >= self.window.cwnd as i64;
            if let Some(log) = self.log.as_mut().filter(|_| !full) {
                log.starved();
            }
        }
    }

    /// Starts the timer that the next segment has to wait for: that of `send_overhead`, unless it
    /// has expired (`force`), or pacing's, if enough waits at the host. Returns whether there is
    /// one.
    #[inline]
    pub(crate) fn holds(&mut self, now: Time, force: bool, io: &mut impl Io) -> bool {
        if !self.paced && (force || self.p.send_overhead == Duration::ZERO) {
            return false;
        }
        self.starts_to_wait(now, force, io)
    }

    // Apart, as what follows: what few senders do keeps registers from what all do.
    #[cold]
    #[inline(never)]
    fn starts_to_wait(&mut self, now: Time, force: bool, io: &mut impl Io) -> bool {
        if !force && self.p.send_overhead != Duration::ZERO {
            let wait = io.random() * self.p.send_overhead.as_nanos() as f64;
            self.timers.set(Timer::Overhead, now + Duration::from_nanos(wait as u64));
            return true;
        }
        let Some(at) = self.gap().and_then(|gap| self.pacer.holds(now, gap)) else { return false };
        self.timers.set(Timer::Release, at);
        true
    }

    /// Returns the time from one segment to the next, where the control or the user paces them:
    /// the longer of the two.
    pub(crate) fn gap(&self) -> Option<Duration> {
        self.control.pacing(&self.window).max(self.p.least_gap())
    }

    /// Returns when a paced segment leaves.
    #[cold]
    #[inline(never)]
    fn departure(&mut self, now: Time) -> Time {
        self.gap().map_or(now, |gap| self.pacer.departs(now, gap))
    }

    /// Limited transmit (RFC 3042): a new segment for the first and second duplicate ACK.
    pub(crate) fn send_one(&mut self, now: Time, dupacks: u32, io: &mut impl Io) {
        let window = f64::from(self.peer_window);
        let ahead = (self.next - self.highest_ack) as f64;
        if ahead <= window
            && self.next < self.limit
            && ahead <= self.window.cwnd + f64::from(dupacks)
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
        // It is sent when it leaves the host.
        let now = if self.paced && !syn { self.departure(now) } else { now };
        if let Some(log) = &mut self.log {
            log.sent(now, seq);
        }
        let ecn = if capable { self.p.unmarked() } else { Codepoint::NotEct };
        io.send(Segment { seq, syn, retransmit, ecn, bits, owes_cwr: syn && reduced }, now);
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
        if !self.timers.runs(Timer::Rtx) || idle {
            self.set_timer(now);
        }
    }
}
