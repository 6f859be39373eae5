//! A sender: what all senders share, what repairs its losses, and what happens to it. The
//! application gives data, an ACK arrives, a timer expires.

use crate::connection::{Connection, Counters, Io};
use crate::control::{Control, Model};
use crate::ecn::answer;
use crate::ecn::bits::{Ecn, Mark};
use crate::info::{CaState, Info};
use crate::params::TcpParams;
use crate::recovery::scoreboard::DUP_THRESH;
use crate::recovery::Recovering;
use crate::segment::Ack;
use crate::sent::DeliveryRate;
use crate::timers::{Timer, Timers};
use penstock_units::{Duration, Time};
use std::sync::Arc;

/// A sending end.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    recovery: Recovering,
    c: Connection,
}

impl Sender {
    /// Returns a sender that has sent nothing. `phase` in [0, 1) is the phase of the host's tick.
    pub fn new(p: Arc<TcpParams>, phase: f64) -> Self {
        let (recovery, records) = (Recovering::new(p.recovery), Recovering::records(p.recovery));
        Sender { recovery, c: Connection::new(p, phase, records) }
    }

    /// Starts a fresh connection of the same two ends: everything except the counters is forgotten.
    pub fn reset(&mut self, phase: f64) {
        let (counters, cwr) = (self.c.counters, self.c.cwr);
        *self = Sender::new(Arc::clone(&self.c.p), phase);
        self.c.counters = counters;
        self.c.cwr = cwr && self.c.p.ecn_across_connections;
    }

    /// Returns the first data segment: 1 after a SYN, else 0.
    pub fn first_data(&self) -> i64 {
        self.c.first_data()
    }

    /// Returns one past the last segment that the application has given; 0 before the first.
    pub fn given(&self) -> i64 {
        self.c.given()
    }

    /// The application stops: nothing more is sent, retransmissions included.
    pub fn stop(&mut self) {
        (self.c.stopped, self.c.attends) = (true, true);
        self.c.timers = Timers::IDLE;
    }

    /// Whether everything given has been acknowledged.
    pub fn done(&self) -> bool {
        self.c.limit > 0 && self.c.highest_ack >= self.c.given() - 1
    }

    /// Returns the highest segment acknowledged.
    pub fn acknowledged(&self) -> i64 {
        self.c.highest_ack
    }

    /// Returns the congestion window in segments.
    pub fn cwnd(&self) -> f64 {
        self.c.window.cwnd
    }

    /// Returns the slow-start threshold in segments: infinity before the first cut, unless a limit
    /// was set.
    pub fn ssthresh(&self) -> f64 {
        self.c.window.ssthresh
    }

    /// Returns the last round-trip sample.
    pub fn rtt(&self) -> Option<Duration> {
        self.c.rtt.last()
    }

    /// Returns the smoothed round-trip time (SRTT of RFC 6298) in seconds; `None` before the first
    /// sample.
    pub fn srtt(&self) -> Option<f64> {
        self.c.rtt.srtt(&self.c.p.rtt)
    }

    /// Returns the last estimate of the delivery rate, where the control has a record kept of each
    /// segment under way.
    pub fn delivery_rate(&self) -> Option<DeliveryRate> {
        self.c.log.as_ref()?.rate()
    }

    /// Returns what the control believes of its path, where it has a model of that.
    pub fn model(&self) -> Option<Model> {
        self.c.control.model()
    }

    /// Returns the rate at which segments may leave, in bits of payload per second, where something
    /// paces them.
    pub fn pacing_rate(&self) -> Option<f64> {
        let bits = f64::from(self.c.p.segment_bytes()) * 8.0;
        self.c.gap().map(|gap| bits / gap.as_secs_f64())
    }

    /// Returns what the sender has done so far.
    pub fn counters(&self) -> Counters {
        self.c.counters
    }

    /// Returns how the sender stands.
    pub fn info(&self) -> Info {
        let c = &self.c;
        let (sacked, lost, retrans) = c.log.as_ref().map_or((0, 0, 0), |log| log.counts());
        let whole = |segments: f64| segments as u32;
        let mut info = Info {
            state: self.recovery.state(c),
            cwnd: whole(c.window.cwnd),
            ssthresh: Some(c.window.ssthresh).filter(|s| s.is_finite()).map(whole),
            unacked: c.flight().max(0) as u64,
            sacked,
            lost,
            retrans,
            reordering: DUP_THRESH as u32,
            reord_seen: 0,
            srtt: self.srtt().map(Duration::from_secs_f64),
            min_rtt: None,
            rto: c.rtt.timeout(),
            backoff: c.rtt.backoff(),
            total_retrans: c.counters.retransmits,
            delivered: c.log.as_ref().map_or(0, |log| log.totals().0),
            delivered_ce: c.delivered_ce,
            delivered_bytes: c.decoder.as_ref().map_or_else(Default::default, |d| d.delivered()),
        };
        self.recovery.tell(&mut info);
        info
    }

    /// Returns when [`Sender::on_timer`] is due.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        let due = self.c.timers.next();
        (due != Time::NEVER).then_some(due)
    }

    /// Whether no other timer of it ever runs than that for retransmissions.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.c.plain
    }

    /// Returns the timers one by one, for those who keep an event for each.
    #[inline]
    pub fn timers(&self) -> &Timers {
        &self.c.timers
    }

    // ---- what happens to it ------------------------------------------------------------------

    /// The application gives `segments` more. The first call opens the connection.
    pub fn give(&mut self, now: Time, segments: u64, io: &mut impl Io) {
        let first = if self.c.limit == 0 { self.first_data() } else { 0 };
        let segments = segments.min(1 << 60) as i64;
        if self.c.limit > 0 && self.c.highest_ack == self.c.max_sent && self.c.control.full() {
            self.c.control.resumes(now, &mut self.c.window, &mut || io.random());
        }
        self.c.give(segments.saturating_add(first));
        if self.c.accounts {
            self.c.resume(now);
        }
        self.c.control.started(now);
        self.recovery.started(now);
        self.recovery.send(&mut self.c, now, false, u32::MAX, io);
        self.account(now);
    }

    /// All was sent that may be.
    #[inline]
    fn account(&mut self, now: Time) {
        if self.c.accounts {
            let open = self.recovery.state(&self.c) == CaState::Open;
            self.c.account(now, open);
        }
    }

    /// An ACK arrives.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, io: &mut impl Io) {
        self.c.peer_window = self.c.p.window.min(ack.window);
        if self.c.attends && !self.attend(now, ack) {
            return;
        }
        self.recovery.on_ack(&mut self.c, now, ack, io);
        if self.c.buffer.is_some() && self.c.write() {
            self.recovery.send(&mut self.c, now, false, u32::MAX, io);
        }
        self.account(now);
    }

    /// The control hears of an ACK, and answers what that says of marks. Returns false where the
    /// application has stopped.
    #[inline]
    fn attend(&mut self, now: Time, ack: &Ack) -> bool {
        let c = &mut self.c;
        if c.stopped {
            return false;
        }
        let (mark, marked) = match c.agreed {
            Ecn::Off => (Mark::None, 0),
            _ => answer::news(c, ack, self.recovery.dupacks()),
        };
        c.mark = mark;
        if c.heard {
            self.recovery.hear(c, now, ack, marked);
        }
        if mark != Mark::None {
            c.delivered_ce += marked as u64;
            self.recovery.on_mark(c, now, ack);
        }
        true
    }

    /// A controller outside sets the window, in segments, and the time from one segment to the next;
    /// `None`: they are not paced. Returns false, and changes nothing, under another control than
    /// `fixed`.
    pub fn steer(
        &mut self,
        now: Time,
        window: f64,
        gap: Option<Duration>,
        io: &mut impl Io,
    ) -> bool {
        let Sender { recovery, c } = self;
        let Control::Fixed(own) = &mut c.control else { return false };
        own.set(window, gap, &mut c.window);
        if c.limit > 0 && !c.stopped {
            recovery.send(c, now, false, u32::MAX, io);
            self.account(now);
        }
        true
    }

    /// Whether [`Sender::steer`] does anything.
    pub fn steers(&self) -> bool {
        matches!(self.c.control, Control::Fixed(_))
    }

    /// Returns the time from one segment to the next at a rate, in bits of payload per second.
    pub fn gap_of(&self, rate: f64) -> Duration {
        Duration::from_secs_f64(f64::from(self.c.p.segment_bytes()) * 8.0 / rate)
    }

    /// The deadline has come.
    pub fn on_timer(&mut self, now: Time, io: &mut impl Io) {
        let Sender { recovery, c } = self;
        if c.timers.expired(Timer::Overhead, now) {
            recovery.send(c, now, true, u32::MAX, io);
        }
        if c.timers.expired(Timer::Release, now) {
            recovery.send(c, now, false, u32::MAX, io);
        }
        if c.timers.expired(Timer::Rtx, now) {
            recovery.on_timeout(c, now, io);
        }
        self.account(now);
    }
}
