//! What all senders share: sequence numbers, the window, the retransmission timer.
//!
//! RFC 5681, RFC 6298, RFC 3168, RFC 3042. The behaviours of ns-2 2.35 are parameters (see
//! [`crate::PARAMS`]); the comments name them where they differ. `sending.rs` puts segments on the
//! wire, `recovery/` repairs losses, `control/` sizes the window, `ecn/answer.rs` answers marks,
//! and `events.rs` says what happens to a sender.

use crate::control::algorithm::{Cause, Cut, Growth};
use crate::control::Control;
use crate::ecn::accecn;
use crate::ecn::bits::{self, Ecn, Mark};
use crate::params::{GrowthPer, SsthreshFrom, TcpParams};
use crate::recovery::scoreboard::Sack;
use crate::rtt::RttEstimator;
use crate::segment::{Ack, Segment};
use penstock_units::{Duration, Time};
use std::sync::Arc;

/// What a sender asks of its surroundings.
pub trait Io {
    /// Sends a segment.
    fn send(&mut self, segment: Segment);
    /// Returns a random number, uniform in [0, 1), of the flow's own stream.
    fn random(&mut self) -> f64;
}

/// What a sender has done so far: reported, never consulted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Retransmission timeouts with data outstanding. This and what follows happens once in a round
    /// trip or less often, and is counted in 32 bits: a run may have many senders.
    pub timeouts: u32,
    /// Cuts of the window in answer to marks.
    pub ecn_cuts: u32,
    /// Those of `ecn_cuts` that answer multi-level ECN's incipient marks.
    pub cuts_incipient: u32,
    /// Fast retransmits.
    pub fast_retransmits: u32,
}

impl Counters {
    /// Returns what was counted since `then`.
    #[must_use]
    pub fn since(self, then: Self) -> Self {
        Counters {
            sent: self.sent - then.sent,
            retransmits: self.retransmits - then.retransmits,
            timeouts: self.timeouts - then.timeouts,
            ecn_cuts: self.ecn_cuts - then.ecn_cuts,
            cuts_incipient: self.cuts_incipient - then.cuts_incipient,
            fast_retransmits: self.fast_retransmits - then.fast_retransmits,
        }
    }
}

/// The last event that cut the window or would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    None,
    DupAcks,
    Timeout,
    Mark,
    /// Recovery after duplicate ACKs is over.
    Exited,
}

/// A sending end. The fields that every ACK touches come first: with thousands of flows an ACK
/// costs one cache miss per line that it touches.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    pub(crate) p: Arc<TcpParams>,
    /// The highest segment acknowledged, −1 before the SYN's ACK.
    pub(crate) highest_ack: i64,
    /// As `highest_ack`, except that SACK's recovery leaves it behind.
    pub(crate) last_ack: i64,
    /// The next segment to send; goes back after a timeout.
    pub(crate) next: i64,
    /// The highest segment ever sent.
    pub(crate) max_sent: i64,
    /// One past the last segment that the application has given.
    pub(crate) limit: i64,
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: f64,
    /// Inflation of the window during fast recovery: duplicate ACKs seen.
    pub(crate) inflation: f64,
    /// The highest segment sent when the last loss event began; −1: none.
    pub(crate) recover: i64,
    /// The segment whose round trip is being timed, and when it was sent.
    pub(crate) timed: Option<(i64, Time)>,
    pub(crate) timed_high: i64,
    /// When the retransmission timer expires; [`Time::NEVER`]: it does not run.
    pub(crate) rtx_at: Time,
    /// When a delayed segment may be sent; [`Time::NEVER`]: none is delayed.
    pub(crate) delayed_send_at: Time,
    /// Segments beyond the last one acknowledged that the receiver has room for, by the last ACK.
    pub(crate) peer_window: u32,
    pub(crate) dupacks: u32,
    /// Segments sent by limited transmit since the last new ACK.
    pub(crate) limited: u8,
    /// What the present ACK says of marks.
    pub(crate) mark: Mark,
    /// What the last cut for a mark answered (multi-level ECN).
    pub(crate) cut_level: Mark,
    /// The count of marks that the ACE field reported last, modulo eight (AccECN).
    pub(crate) marks_known: u8,
    pub(crate) last_event: Event,
    pub(crate) in_recovery: bool,
    pub(crate) first_partial: bool,
    /// What both ends have agreed on.
    pub(crate) agreed: Ecn,
    /// The next new segment says that the window was reduced.
    pub(crate) cwr: bool,
    pub(crate) ecn_backoff: bool,
    /// Marked at a window of one: nothing is sent before the timer expires.
    pub(crate) waits_for_timer: bool,
    pub(crate) stopped: bool,
    pub(crate) control: Control,
    pub(crate) rtt: RttEstimator,
    pub(crate) counters: Counters,
    pub(crate) initial_window: f64,
    pub(crate) sack: Sack,
}

impl Sender {
    /// Returns a sender that has sent nothing. `phase` in [0, 1) is the phase of the host's tick.
    pub fn new(p: Arc<TcpParams>, phase: f64) -> Self {
        let phase = Duration::from_nanos((phase * p.rtt.tick.as_nanos() as f64) as u64);
        Sender {
            highest_ack: -1,
            last_ack: -1,
            next: 0,
            max_sent: -1,
            limit: 0,
            cwnd: 1.0,
            ssthresh: p.initial_ssthresh.unwrap_or(f64::INFINITY),
            peer_window: p.window,
            dupacks: 0,
            inflation: 0.0,
            recover: if p.ns2() { 0 } else { -1 },
            last_event: Event::None,
            in_recovery: false,
            first_partial: false,
            limited: 0,
            initial_window: f64::from(p.initial_window),
            rtt: RttEstimator::new(&p.rtt, phase),
            timed: None,
            timed_high: -1,
            rtx_at: Time::NEVER,
            delayed_send_at: Time::NEVER,
            mark: Mark::None,
            cut_level: Mark::None,
            marks_known: accecn::FIRST,
            agreed: Ecn::Off,
            cwr: false,
            ecn_backoff: false,
            waits_for_timer: false,
            stopped: false,
            sack: Sack::default(),
            control: Control::new(&p.control),
            counters: Counters::default(),
            p,
        }
    }

    /// Starts a fresh connection of the same two ends: everything except the counters is forgotten.
    pub fn reset(&mut self, phase: f64) {
        let (counters, cwr) = (self.counters, self.cwr);
        *self = Sender::new(Arc::clone(&self.p), phase);
        self.counters = counters;
        self.cwr = cwr && self.p.ecn_across_connections;
    }

    /// Returns the first data segment: 1 after a SYN, else 0.
    pub fn first_data(&self) -> i64 {
        i64::from(self.p.handshake)
    }

    /// Returns one past the last segment that the application has given; 0 before the first.
    pub fn given(&self) -> i64 {
        self.limit
    }

    /// The application stops: nothing more is sent, retransmissions included.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.rtx_at = Time::NEVER;
        self.delayed_send_at = Time::NEVER;
    }

    /// Whether everything given has been acknowledged.
    pub fn done(&self) -> bool {
        self.limit > 0 && self.highest_ack >= self.limit - 1
    }

    /// Returns the highest segment acknowledged.
    pub fn acknowledged(&self) -> i64 {
        self.highest_ack
    }

    /// Returns the congestion window in segments.
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Returns the slow-start threshold in segments: infinity before the first cut, unless a limit
    /// was set.
    pub fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// Returns the last round-trip sample.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.last()
    }

    /// Returns the smoothed round-trip time (SRTT of RFC 6298) in seconds; `None` before the first
    /// sample.
    pub fn srtt(&self) -> Option<f64> {
        self.rtt.srtt(&self.p.rtt)
    }

    /// Returns what the sender has done so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns when [`Sender::on_timer`] is due.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        let due = self.rtx_at.min(self.delayed_send_at);
        (due != Time::NEVER).then_some(due)
    }

    // ---- the window ---------------------------------------------------------------------------

    /// Returns how many segments may be outstanding: the congestion window, inflated in recovery,
    /// within the receiver's.
    #[inline]
    pub(crate) fn window(&self) -> i64 {
        self.window_in_force() as i64
    }

    #[inline]
    fn window_in_force(&self) -> f64 {
        (self.cwnd + self.inflation).min(f64::from(self.peer_window))
    }

    /// Returns how many segments are outstanding.
    #[inline]
    pub(crate) fn flight(&self) -> i64 {
        self.max_sent - self.highest_ack
    }

    /// Returns Reno's factor at a loss: one half, or what multi-level ECN says.
    fn reno_factor(&self) -> f64 {
        if self.agreed == Ecn::Mecn {
            1.0 - self.p.mecn.beta3
        } else {
            0.5
        }
    }

    /// Returns a cut of `base` segments, about to happen.
    pub(crate) fn cut(&self, cause: Cause, base: f64) -> Cut {
        Cut { cause, cwnd: self.cwnd, base, reno: self.reno_factor() }
    }

    /// Sets ssthresh to what a cut leaves, but at least 2, and returns what it leaves.
    fn cut_ssthresh(&mut self, cause: Cause) -> f64 {
        let base = match self.p.ssthresh_from {
            SsthreshFrom::Window => self.window_in_force(),
            SsthreshFrom::Flight => {
                // RFC 5681 3.2 (2): segments of limited transmit do not count. After a timeout, and
                // in SACK's recovery, far more is unacknowledged than cwnd lets into the network.
                let flight = (self.flight() - i64::from(self.limited)).max(0) as f64;
                flight.min(self.cwnd)
            }
        };
        let cut = self.cut(cause, base);
        let left = self.control.leaves(&cut);
        self.control.before_cut(&cut);
        self.set_ssthresh(left);
        left
    }

    pub(crate) fn set_ssthresh(&mut self, left: f64) {
        let whole = self.p.ssthresh_from == SsthreshFrom::Window;
        self.ssthresh = if whole { left.trunc() } else { left }.max(2.0);
    }

    /// Fast retransmit's cut.
    pub(crate) fn cut_for_loss(&mut self) {
        let left = self.cut_ssthresh(Cause::Loss);
        self.cut_to(left);
    }

    fn cut_to(&mut self, left: f64) {
        self.cwnd = if !self.control.may_lift() {
            self.cwnd.min(self.ssthresh)
        } else if self.p.ssthresh_from == SsthreshFrom::Window {
            left // ns-2 leaves cwnd at W/2 unrounded and without a floor
        } else {
            self.ssthresh // RFC 5681
        };
        self.cwnd = self.cwnd.max(self.p.cwnd_floor);
        self.cwr = true;
    }

    /// Classic and accurate ECN's cut. RFC 3168 6.1.2: half of the window in use, down to one
    /// segment; only ssthresh stays at two or above.
    pub(crate) fn cut_for_mark(&mut self) {
        let left = self.cut_ssthresh(Cause::Mark);
        if self.p.ssthresh_from == SsthreshFrom::Window {
            return self.cut_to(left);
        }
        self.cwnd = left.max(self.p.cwnd_floor).min(self.cwnd);
        self.cwr = true;
    }

    /// Cuts the window to one segment; `lower` cuts ssthresh as well.
    pub(crate) fn cut_to_one(&mut self, lower: bool) {
        if lower {
            self.cut_ssthresh(Cause::Timeout);
        }
        self.cwnd = 1.0;
        self.cwr = true;
    }

    /// Grows the window at an ACK: `acked` segments are newly acknowledged, `flight_before` were
    /// outstanding before it.
    #[inline]
    pub(crate) fn grow(&mut self, now: Time, acked: i64, flight_before: i64) {
        // RFC 7661: whether the window was what limited us.
        let used = !self.p.window_validation || (flight_before as f64) + 1.0 > self.cwnd;
        if used && self.cwnd < self.ssthresh {
            if !self.control.ends_slow_start() {
                self.cwnd += 1.0; // min(N, SMSS) with N of at least a segment
                return;
            }
            self.ssthresh = self.cwnd.max(2.0);
        }
        let acked = match self.p.growth {
            GrowthPer::Acks => 1.0,
            GrowthPer::Bytes => acked as f64,
        };
        let (rtt, rtt_params) = (&self.rtt, &self.p.rtt);
        let growth = Growth { now, cwnd: self.cwnd, acked, rtt, rtt_params };
        self.cwnd = if used { self.control.grow(&growth) } else { self.control.unused(&growth) };
    }

    // ---- the retransmission timer -------------------------------------------------------------

    pub(crate) fn set_timer(&mut self, now: Time) {
        self.rtx_at = now + self.rtt.timeout();
    }

    /// After a new ACK (RFC 6298, 5.2 and 5.3).
    pub(crate) fn new_ack_timer(&mut self, now: Time) {
        if self.max_sent > self.highest_ack || self.waits_for_timer || self.p.ns2() {
            // ns-2 lets the timer run even with nothing outstanding; that matters only when cwnd is
            // below 1.
            self.set_timer(now);
        } else {
            self.rtx_at = Time::NEVER;
        }
    }

    /// Duplicate ACKs: restart the timer; `back`: send on from the first hole.
    pub(crate) fn restart_timer(&mut self, now: Time, back: bool) {
        self.set_timer(now);
        if back {
            self.next = self.highest_ack + 1;
        }
        self.timed = None;
    }

    /// Backs the timer off (RFC 6298, 5.5).
    pub(crate) fn back_off(&mut self) {
        self.rtt.back_off(&self.p.rtt);
    }

    /// Forgets the back-off (ns-2: SACK's partial ACKs do).
    pub(crate) fn end_back_off(&mut self) {
        self.rtt.restore(&self.p.rtt);
    }

    // ---- ACKs ---------------------------------------------------------------------------------

    /// Takes in an ACK of new data: sequence state, round trip, timer. Growth is
    /// [`Sender::new_ack`]'s.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time, ack: &Ack) {
        self.dupacks = 0;
        self.limited = 0;
        self.last_ack = ack.seq;
        self.highest_ack = ack.seq;
        self.next = self.next.max(ack.seq + 1);
        if let Some((seq, sent)) = self.timed {
            if ack.seq >= seq {
                if !(self.ecn_backoff && self.mark != Mark::None) {
                    self.rtt.restore(&self.p.rtt);
                    self.ecn_backoff = false;
                }
                self.timed = None;
                self.rtt.sample(&self.p.rtt, sent, now);
            }
        }
        self.new_ack_timer(now);
    }

    /// An ACK of new data outside recovery: advance, then grow unless it tells of a mark.
    #[inline]
    pub(crate) fn new_ack(&mut self, now: Time, ack: &Ack) {
        let (acked, flight) = (ack.seq - self.highest_ack, self.flight());
        self.advance(now, ack);
        if self.mark == Mark::None {
            self.grow(now, acked, flight);
            self.ecn_backoff = false;
        }
        if self.last_ack == 0 {
            self.cwnd = self.initial_window;
            if self.p.handshake {
                self.agreed = bits::conclude(self.p.ecn, ack.bits);
            }
        }
    }

    /// A partial ACK has moved the left edge inside recovery; its round trip is not sampled (Karn).
    pub(crate) fn advance_partially(&mut self, ack: &Ack) {
        self.last_ack = ack.seq;
        self.highest_ack = ack.seq;
        self.next = self.next.max(ack.seq + 1);
        if self.timed.is_some_and(|(seq, _)| ack.seq >= seq) {
            self.timed = None;
            self.rtt.restore(&self.p.rtt);
        }
    }
}
