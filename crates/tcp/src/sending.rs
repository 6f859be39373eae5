//! This module chooses the segment that goes next, and fills in its header.

use crate::connection::{Connection, Io};
use crate::ecn::bits::{Bits, Ecn};
use crate::ecn::{accecn, classic, handshake, mecn};
use crate::pace::{self, Bursts, Chance};
use crate::segment::Segment;
use crate::stamp::Stamp;
use crate::timers::Timer;
use penstock_units::{Duration, Ecn as Codepoint, Time};

impl Connection {
    /// Whether anything may be sent at all. `force`: the delayed-send timer has expired.
    #[inline]
    pub(crate) fn sends(&mut self, force: bool) -> bool {
        if self.stopped | self.waits_for_timer {
            return false;
        }
        if self.plain {
            return true; // the timers never run that hold segments back
        }
        let delayed = !force && self.timers.runs(Timer::Overhead);
        if !delayed {
            self.timers.stop(Timer::Release);
        }
        !delayed
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
            if !self.plain && self.holds(now, force, io) {
                return;
            }
            self.output_next(now, self.next, io);
            self.next += 1;
            left -= 1;
        }
        if !self.plain && left > 0 {
            self.starves();
        }
    }

    /// Nothing more is sent: the window would let more out than the application has given, unless
    /// it is full.
    #[inline]
    pub(crate) fn starves(&mut self) {
        if self.log.is_some() && self.sent_all() {
            let full = self.max_sent - self.highest_ack >= self.window.cwnd as i64;
            if let Some(log) = self.log.as_mut().filter(|_| !full) {
                log.starved();
            }
        }
    }

    /// Starts the timer that the next segment has to wait for: that of `send_overhead`, unless it
    /// has expired (`force`), or pacing's, if its time has not come. Returns whether there is
    /// one.
    #[inline]
    pub(crate) fn holds(&mut self, now: Time, force: bool, io: &mut impl Io) -> bool {
        if !self.paced && (force || self.p.send_overhead == Duration::ZERO) {
            return false;
        }
        let p = &*self.p;
        if p.pacing.by_fq() || self.bursts.is_some() || p.send_overhead != Duration::ZERO {
            return self.starts_to_wait(now, force, io);
        }
        let at = self.pacer.holds(now, Duration::ZERO, None);
        self.timers.set(Timer::Release, at.unwrap_or(Time::NEVER));
        at.is_some()
    }

    // Apart, as what follows: what few senders do keeps registers from what all do.
    #[inline(never)]
    fn starts_to_wait(&mut self, now: Time, force: bool, io: &mut impl Io) -> bool {
        if !force && self.p.send_overhead != Duration::ZERO {
            let wait = io.random() * self.p.send_overhead.as_nanos() as f64;
            self.timers.set(Timer::Overhead, now + Duration::from_nanos(wait as u64));
            return true;
        }
        let gap = self.gap();
        let mut ahead = 1;
        if let Some(bursts) = &self.bursts {
            if bursts.goes_on() {
                return false;
            }
            let whole = self.whole_burst(bursts, gap);
            let chance = self.chance();
            ahead = whole as u64;
            if self.bursts.as_mut().is_some_and(|b| b.passes(now, whole, &chance)) {
                return true; // the next ACK lets it go
            }
        }
        let fq = self.p.pacing.by_fq().then_some(ahead);
        let Some(at) = gap.and_then(|gap| self.pacer.holds(now, gap, fq)) else { return false };
        self.timers.set(Timer::Release, at);
        true
    }

    /// Returns the time from one segment to the next, where the control or the user paces them:
    /// the longer of the two.
    #[inline]
    pub(crate) fn gap(&self) -> Option<Duration> {
        let pace =
            if self.window_paces { self.window_gap() } else { self.control.pacing(&self.window) };
        match self.p.pacing.max_rate {
            None => pace,
            Some(_) => pace.max(self.p.least_gap()),
        }
    }

    /// Returns the time from one segment to the next at the pace of the window.
    #[inline(never)]
    fn window_gap(&self) -> Option<Duration> {
        let srtt = self.rtt.srtt(&self.p.rtt)?;
        Some(self.p.pacing.keys.of_window(&self.window, self.flight(), srtt))
    }

    /// Returns the segments of a whole burst.
    fn whole_burst(&self, bursts: &Bursts, gap: Option<Duration>) -> i64 {
        let gap = gap.or_else(|| self.window_gap());
        bursts.whole(gap, self.p.segment_bytes(), self.control.least_burst())
    }

    /// Returns how the sender stands that might hand over a burst.
    fn chance(&self) -> Chance {
        let log = self.log.as_ref().expect("with bursts a record is kept");
        let cwnd = (self.window.cwnd as i64).max(1);
        let edge = self.highest_ack + i64::from(self.peer_window);
        let srtt = self.rtt.srtt_whole(&self.p.rtt).unwrap_or(Duration::ZERO);
        Chance {
            cwnd,
            room: (cwnd - log.in_flight() as i64).min(edge + 1 - self.next),
            given: self.limit - self.next,
            repairs: log.counts().1 > 0,
            ack_due: log.get(self.highest_ack + 1).map(|head| head.at + srtt),
            srtt,
        }
    }

    /// Returns when segment `seq` leaves, at once with others or as the first of such. One that is
    /// sent again leaves by itself.
    #[inline(never)]
    fn in_burst(&mut self, now: Time, seq: i64) -> Time {
        if let Some(bursts) = self.bursts.as_mut().filter(|b| b.goes_on()) {
            return bursts.follow(now);
        }
        let gap = self.gap();
        let Some(bursts) = &self.bursts else { return now };
        let whole = self.whole_burst(bursts, gap);
        let c = self.chance();
        let n = whole.min((c.cwnd / 2).max(1)).min(c.room).min(c.given);
        let n = if seq > self.max_sent { n.max(1) } else { 1 };
        let at = gap.filter(|_| !self.is_free()).map_or(now, |gap| {
            let ticks = gap.as_ticks().saturating_mul(n as u64);
            self.pacer.departs(now, Duration::from_ticks(ticks))
        });
        self.bursts.as_mut().map_or(at, |bursts| bursts.begin(n, at))
    }

    /// Whether the host's queue does not hold the next segment back.
    fn is_free(&self) -> bool {
        self.p.pacing.by_fq() && self.max_sent < pace::FREE
    }

    /// As [`Connection::leaves`], apart from what senders do that have none of it.
    #[inline(never)]
    fn written_down(&mut self, now: Time, seq: i64, syn: bool) -> (Time, Stamp) {
        self.leaves(now, seq, syn)
    }

    /// Returns when segment `seq` leaves the host, which is when it is sent, and its timestamp; and
    /// keeps the record of that.
    #[inline(always)]
    fn leaves(&mut self, now: Time, seq: i64, syn: bool) -> (Time, Stamp) {
        let at = if self.paced && !syn { self.departure(now, seq) } else { now };
        if let Some(log) = &mut self.log {
            log.sent(at, seq);
        }
        (at, self.stamp(at))
    }

    /// Returns when a paced segment leaves.
    #[inline(never)]
    fn departure(&mut self, now: Time, seq: i64) -> Time {
        if self.bursts.is_some() {
            return self.in_burst(now, seq);
        }
        if self.is_free() {
            return now;
        }
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

    /// Whether segment `seq` is no SYN and was never sent.
    #[inline]
    fn is_fresh(&self, seq: i64) -> bool {
        seq > self.max_sent.max(0)
    }

    /// Puts segment `seq` on the wire, unless the application has stopped.
    #[inline(never)]
    pub(crate) fn output(&mut self, now: Time, seq: i64, io: &mut impl Io) {
        if !self.stopped {
            self.put_out::<false, false>(now, seq, io);
        }
    }

    /// The same where the segment is most likely fresh, and the application has not stopped.
    #[inline]
    pub(crate) fn output_next(&mut self, now: Time, seq: i64, io: &mut impl Io) {
        if self.is_fresh(seq) {
            self.put_out::<false, true>(now, seq, io);
        } else {
            self.output(now, seq, io);
        }
    }

    /// As [`Connection::output_next`], of a sender that keeps a record.
    #[inline]
    pub(crate) fn output_recorded(&mut self, now: Time, seq: i64, io: &mut impl Io) {
        if self.is_fresh(seq) {
            self.put_out::<true, true>(now, seq, io);
        } else {
            self.output_again(now, seq, io);
        }
    }

    /// Of such a sender a SYN, or what was sent before.
    #[inline(never)]
    fn output_again(&mut self, now: Time, seq: i64, io: &mut impl Io) {
        if !self.stopped {
            self.put_out::<true, false>(now, seq, io);
        }
    }

    /// Returns the bits of the next data segment. `reduced`: it says that the window was.
    #[inline(always)]
    fn bits(&mut self, reduced: bool) -> Bits {
        match self.agreed {
            Ecn::Off => Bits::NONE,
            Ecn::Classic | Ecn::Sce => classic::on_data(reduced),
            Ecn::Mecn => mecn::on_data(reduced),
            Ecn::AccEcn => std::mem::replace(&mut self.ace, accecn::on_data(self.acks_marked)),
        }
    }

    /// Returns the bits and the ECN field of the next SYN. One that does not ask for ECN is not
    /// capable of it.
    #[cold]
    #[inline(never)]
    fn request(&mut self) -> (Bits, Codepoint) {
        let before = if self.p.accecn.ecn_fallback { self.syns } else { 0 };
        self.syns = self.syns.saturating_add(1);
        let bits = handshake::request(self.p.ecn, before);
        (bits, if bits == Bits::NONE { Codepoint::NotEct } else { self.p.syn_field() })
    }

    /// `RECORDED`: a record is kept of it; `FRESH`: see [`Connection::is_fresh`].
    #[inline(always)]
    fn put_out<const RECORDED: bool, const FRESH: bool>(
        &mut self,
        now: Time,
        seq: i64,
        io: &mut impl Io,
    ) {
        let syn = !FRESH && seq == 0 && self.p.handshake;
        let retransmit = !FRESH && seq <= self.max_sent;
        // RFC 3168 6.1.2: CWR goes on the first new data segment; ns-2 puts it on retransmissions
        // as well.
        let reduced = self.cwr && (!retransmit || self.p.retransmit_ect);
        if reduced {
            self.cwr = false;
        }
        let field = if retransmit { self.field_again } else { self.field };
        let (bits, ecn) = if syn { self.request() } else { (self.bits(reduced), field) };
        let idle = self.highest_ack == self.max_sent;
        let (now, stamp) = match () {
            () if RECORDED => self.leaves(now, seq, syn),
            () if self.plain => (now, Stamp::NONE),
            () => self.written_down(now, seq, syn),
        };
        let owes_cwr = syn && reduced;
        let push = RECORDED && !syn && self.bursts.as_ref().is_some_and(|b| b.ended());
        io.send(Segment { seq, syn, retransmit, ecn, bits, owes_cwr, push, stamp }, now);
        self.counters.sent += 1;
        if retransmit {
            self.counters.retransmits += 1;
        } else {
            self.max_sent = seq;
            // One round trip is timed at a time, and never one of a retransmission (Karn).
            if self.timed == Time::NEVER && seq > self.timed_high {
                self.timed = now;
                self.timed_high = seq;
            }
        }
        if !self.timers.runs(Timer::Rtx) || idle {
            self.set_timer(now);
        }
    }
}
