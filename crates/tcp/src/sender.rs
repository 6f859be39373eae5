//! What all senders share: sequence state, windows, the retransmission timer, ECN's answer, growth
//! and cuts.
//!
//! RFC 5681, RFC 6298, RFC 3168, RFC 3042. The behaviours of ns-2 2.35 are parameters (see
//! [`crate::PARAMS`]); the comments name them where they differ.

use crate::cubic::CubicState;
use crate::dctcp::DctcpState;
use crate::ecn::{self, Bits, Mark};
use crate::params::Incipient;
use crate::rtt::RttEstimator;
use crate::sack::SackState;
use crate::vegas::VegasState;
use crate::westwood::WestwoodState;
use crate::{accecn, mecn, Ack, Ecn, TcpParams, Variant};
use penstock_units::{Duration, Time};
use std::sync::Arc;

/// A segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number.
    pub seq: i64,
    /// It is the SYN.
    pub syn: bool,
    /// It was sent before.
    pub retransmit: bool,
    /// ECN-capable transport.
    pub ect: bool,
    /// The header's ECN bits.
    pub bits: Bits,
    /// A SYN whose sender still owes a CWR: only in ns-2, where that outlives a connection, does a
    /// SYN tell so.
    pub owes_cwr: bool,
}

/// What a sender asks of its surroundings.
pub trait Io {
    /// Sends a segment.
    fn send(&mut self, segment: Segment);
    /// A random number uniform in [0, 1), of the flow's own stream.
    fn random(&mut self) -> f64;
}

/// What a sender has done so far: reported, never consulted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Retransmission timeouts with data outstanding.
    pub timeouts: u64,
    /// Reductions of the window in answer to marks.
    pub ecn_cuts: u64,
    /// Those among them for multi-level ECN's incipient marks; its others are for moderate ones.
    pub cuts_incipient: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
}

/// Why the window was cut last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    None,
    DupAcks,
    Timeout,
    Ecn,
    /// Recovery after duplicate ACKs is over.
    Exited,
}

/// What a cut answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Loss,
    Timeout,
    Mark,
}

/// What a variant keeps for itself. Boxed: most keep nothing, and what all share should fill few
/// cache lines.
#[derive(Clone, Debug)]
pub(crate) enum Own {
    None,
    Vegas(Box<VegasState>),
    Westwood(Box<WestwoodState>),
    Cubic(Box<CubicState>),
    Dctcp(Box<DctcpState>),
}

impl Own {
    fn new(p: &TcpParams) -> Self {
        match p.variant {
            Variant::Tahoe | Variant::Reno | Variant::NewReno | Variant::Sack => Own::None,
            Variant::Vegas => Own::Vegas(Box::new(VegasState::new(p.gamma))),
            Variant::Westwood => Own::Westwood(Box::new(WestwoodState::new())),
            Variant::Cubic => Own::Cubic(Box::new(CubicState::new())),
            Variant::Dctcp => Own::Dctcp(Box::new(DctcpState::new())),
        }
    }
}

/// A sending end. The fields that every ACK touches come first: with thousands of flows an ACK
/// costs as many cache misses as it touches lines.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    pub(crate) p: Arc<TcpParams>,
    /// The highest segment acknowledged, −1 before the SYN's ACK.
    pub(crate) highest_ack: i64,
    /// As `highest_ack`, but SACK's recovery leaves it behind.
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
    /// The highest segment sent when the last loss event began; `−1`: none.
    pub(crate) recover: i64,
    /// The segment whose round trip is being timed, and when it was sent.
    timed: Option<(i64, Time)>,
    timed_high: i64,
    rtx_at: Option<Time>,
    delayed_send_at: Option<Time>,
    pub(crate) dupacks: u32,
    /// Segments sent by limited transmit since the last new ACK.
    limited: u8,
    /// What the present ACK says of marks.
    mark: Mark,
    /// What the last cut for a mark answered (multi-level ECN).
    pub(crate) cut_level: Mark,
    /// The count of marks that the ACE field told last, modulo eight (AccECN).
    marks_known: u8,
    pub(crate) last_cut: Cut,
    pub(crate) in_recovery: bool,
    pub(crate) first_partial: bool,
    /// What both ends have agreed on.
    agreed: Ecn,
    /// The next new segment says that the window was reduced.
    pub(crate) cwr: bool,
    ecn_backoff: bool,
    /// Marked at a window of one: nothing is sent before the timer expires.
    waits_for_timer: bool,
    stopped: bool,
    pub(crate) own: Own,
    rtt: RttEstimator,
    pub(crate) counters: Counters,
    initial_window: f64,
    pub(crate) sack: SackState,
}

impl Sender {
    /// A sender that has sent nothing. `phase` in [0, 1) is the phase of the host's tick.
    pub fn new(p: Arc<TcpParams>, phase: f64) -> Self {
        let phase = Duration::from_nanos((phase * p.tick.as_nanos() as f64) as u64);
        Sender {
            highest_ack: -1,
            last_ack: -1,
            next: 0,
            max_sent: -1,
            limit: 0,
            cwnd: 1.0,
            ssthresh: p.initial_ssthresh,
            dupacks: 0,
            inflation: 0.0,
            recover: if p.ns2_recovery { 0 } else { -1 },
            last_cut: Cut::None,
            in_recovery: false,
            first_partial: false,
            limited: 0,
            initial_window: f64::from(p.initial_window),
            rtt: RttEstimator::new(&p, phase),
            timed: None,
            timed_high: -1,
            rtx_at: None,
            delayed_send_at: None,
            mark: Mark::None,
            cut_level: Mark::None,
            marks_known: accecn::FIRST,
            agreed: Ecn::Off,
            cwr: false,
            ecn_backoff: false,
            waits_for_timer: false,
            stopped: false,
            sack: SackState::default(),
            own: Own::new(&p),
            counters: Counters::default(),
            p,
        }
    }

    /// A fresh connection of the same two ends: everything is forgotten but the counters.
    pub fn reset(&mut self, phase: f64) {
        let (counters, cwr) = (self.counters, self.cwr);
        *self = Sender::new(Arc::clone(&self.p), phase);
        self.counters = counters;
        self.cwr = cwr && self.p.ecn_across_connections;
    }

    /// The first data segment: 1 after a SYN, else 0.
    pub fn first_data(&self) -> i64 {
        i64::from(self.p.handshake)
    }

    /// The application gives `segments` more; the first call opens the connection.
    pub fn give(&mut self, now: Time, segments: u64, io: &mut impl Io) {
        let first = if self.limit == 0 { self.first_data() } else { 0 };
        self.limit = self.limit.saturating_add(first).saturating_add(segments.min(1 << 60) as i64);
        if let Own::Vegas(v) = &mut self.own {
            v.started(now);
        }
        self.send_window(now, io);
    }

    /// The application stops: nothing is sent any more, retransmissions included.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.rtx_at = None;
        self.delayed_send_at = None;
    }

    /// Whether everything given has been acknowledged.
    pub fn done(&self) -> bool {
        self.limit > 0 && self.highest_ack >= self.limit - 1
    }

    /// The highest segment acknowledged.
    pub fn acknowledged(&self) -> i64 {
        self.highest_ack
    }

    /// The congestion window in segments.
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// The slow-start threshold in segments; infinite before the first cut, where there is no
    /// limit.
    pub fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// The last round-trip sample.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.last()
    }

    /// The smoothed round-trip time (SRTT of RFC 6298) in seconds; `None` before the first sample.
    pub fn srtt(&self) -> Option<f64> {
        self.rtt.srtt(&self.p)
    }

    /// What it has done so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// When [`Sender::on_timer`] is due.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        match (self.rtx_at, self.delayed_send_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// An ACK arrives.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, io: &mut impl Io) {
        if self.stopped {
            return;
        }
        match self.p.variant {
            Variant::Tahoe => self.tahoe_ack(now, ack, io),
            Variant::Reno => self.reno_ack(now, ack, io),
            Variant::NewReno => self.newreno_ack(now, ack, io),
            Variant::Sack => self.sack_ack(now, ack, io),
            Variant::Vegas => self.vegas_ack(now, ack, io),
            Variant::Westwood | Variant::Cubic | Variant::Dctcp => {
                self.count_bandwidth(now, ack);
                if self.p.sack() {
                    self.sack_ack(now, ack, io);
                } else {
                    self.newreno_ack(now, ack, io);
                }
            }
        }
    }

    /// The deadline has come.
    pub fn on_timer(&mut self, now: Time, io: &mut impl Io) {
        if self.delayed_send_at.is_some_and(|t| t <= now) {
            self.delayed_send_at = None;
            self.send_much(now, true, u32::MAX, io);
        }
        if self.rtx_at.is_some_and(|t| t <= now) {
            self.rtx_at = None;
            self.timeout(now, io);
        }
    }

    // ---- windows -------------------------------------------------------------------------------------------

    /// Segments that may be outstanding: the congestion window, inflated in recovery, within the
    /// receiver's.
    #[inline]
    pub(crate) fn window(&self) -> i64 {
        let w = (self.cwnd + self.inflation).min(f64::from(self.p.window));
        w as i64
    }

    /// Segments outstanding.
    #[inline]
    pub(crate) fn flight(&self) -> i64 {
        self.max_sent - self.highest_ack
    }

    /// What a cut halves.
    pub(crate) fn cut_base(&self) -> f64 {
        if self.p.cut_window {
            (self.cwnd + self.inflation).min(f64::from(self.p.window))
        } else {
            // RFC 5681 3.2 (2): segments of limited transmit do not count.
            (self.flight() - i64::from(self.limited)).max(0) as f64
        }
    }

    /// What a cut leaves: half of the base, or what the variant or multi-level ECN says. ssthresh
    /// <- that, at least 2.
    fn cut_ssthresh(&mut self, cause: Cause) -> f64 {
        let mut base = self.cut_base();
        if cause == Cause::Mark && !self.p.cut_window {
            // After a timeout what is outstanding is far more than cwnd lets out.
            base = base.min(self.cwnd);
        }
        let left = match &mut self.own {
            Own::None | Own::Vegas(_) if self.agreed == Ecn::Mecn => base * (1.0 - self.p.beta3),
            Own::None | Own::Vegas(_) => base / 2.0,
            Own::Westwood(w) => w.path_holds().max(2.0),
            Own::Cubic(c) => base * c.cut(&self.p, self.cwnd, cause == Cause::Timeout),
            Own::Dctcp(d) if cause == Cause::Mark => self.cwnd * (1.0 - d.alpha / 2.0),
            Own::Dctcp(_) => base / 2.0,
        };
        self.ssthresh = if self.p.cut_window { left.trunc() } else { left }.max(2.0);
        left
    }

    /// Fast retransmit's cut.
    pub(crate) fn cut_for_loss(&mut self) {
        let left = self.cut_ssthresh(Cause::Loss);
        self.cut_to(left);
    }

    fn cut_to(&mut self, left: f64) {
        // ns-2 leaves cwnd at W/2 unrounded and without a floor; RFC 5681: cwnd = ssthresh.
        let cwnd = if self.p.cut_window { left } else { self.ssthresh };
        let westwood_min = self.p.variant == Variant::Westwood && !self.p.westwood_printed;
        self.cwnd = if westwood_min { self.cwnd.min(self.ssthresh) } else { cwnd };
        self.cwnd = self.cwnd.max(self.p.cwnd_floor);
        self.cwr = true;
    }

    /// ECN's cut. RFC 3168 6.1.2: half of the window in use, down to one segment; only ssthresh
    /// stays at two or above.
    fn cut_for_mark(&mut self) {
        let left = self.cut_ssthresh(Cause::Mark);
        if self.p.cut_window {
            return self.cut_to(left);
        }
        self.cwnd = left.max(self.p.cwnd_floor).min(self.cwnd);
        self.cwr = true;
    }

    /// To one segment; `lower` also cuts ssthresh.
    pub(crate) fn cut_to_one(&mut self, lower: bool) {
        if lower {
            self.cut_ssthresh(Cause::Timeout);
        }
        self.cwnd = 1.0;
        self.cwr = true;
    }

    /// One ACK's growth: `acked` segments newly acknowledged, `flight_before` outstanding before
    /// it.
    #[inline]
    pub(crate) fn grow(&mut self, now: Time, acked: i64, flight_before: i64) {
        if self.p.window_validation && (flight_before as f64) + 1.0 <= self.cwnd {
            if let Own::Cubic(c) = &mut self.own {
                c.unused(now);
            }
            return; // RFC 7661: the window was not what limited us.
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += 1.0; // min(N, SMSS) with N of at least a segment
        } else if let Own::Cubic(c) = &mut self.own {
            let acked = if self.p.growth_per_ack { 1.0 } else { acked as f64 };
            self.cwnd = c.grow(&self.p, now, self.rtt.smoothed(&self.p), self.cwnd, acked);
        } else if self.p.growth_per_ack {
            self.cwnd += 1.0 / self.cwnd;
        } else {
            self.cwnd += acked as f64 / self.cwnd;
        }
    }

    // ---- sending -------------------------------------------------------------------------------------------

    /// Sends what the window allows.
    #[inline]
    pub(crate) fn send_window(&mut self, now: Time, io: &mut impl Io) {
        self.send_much(now, false, u32::MAX, io);
    }

    /// Sends at most `burst` segments; `force`: the delayed-send timer has expired.
    pub(crate) fn send_much(&mut self, now: Time, force: bool, burst: u32, io: &mut impl Io) {
        if self.stopped || self.waits_for_timer || (!force && self.delayed_send_at.is_some()) {
            return;
        }
        if self.p.sack() {
            return self.sack_send(now, force, io);
        }
        let mut n = 0;
        while self.next <= self.highest_ack + self.window() && self.next < self.limit && n < burst {
            if self.delay_send(now, force, io) {
                return;
            }
            self.output(now, self.next, io);
            self.next += 1;
            n += 1;
        }
    }

    /// With `send_overhead`, starts the timer and says that nothing may be sent before it expires.
    pub(crate) fn delay_send(&mut self, now: Time, force: bool, io: &mut impl Io) -> bool {
        if force || self.p.send_overhead == Duration::ZERO {
            return false;
        }
        let wait = io.random() * self.p.send_overhead.as_nanos() as f64;
        self.delayed_send_at = Some(now + Duration::from_nanos(wait as u64));
        true
    }

    /// Limited transmit (RFC 3042): a new segment for the first and second duplicate ACK.
    pub(crate) fn send_one(&mut self, now: Time, io: &mut impl Io) {
        let window = f64::from(self.p.window);
        let ahead = (self.next - self.highest_ack) as f64;
        if ahead <= window && self.next < self.limit && ahead <= self.cwnd + f64::from(self.dupacks)
        {
            self.output(now, self.next, io);
            self.next += 1;
            self.limited += 1;
        }
    }

    /// Puts segment `seq` on the wire.
    pub(crate) fn output(&mut self, now: Time, seq: i64, io: &mut impl Io) {
        if self.stopped {
            return;
        }
        let syn = seq == 0 && self.p.handshake;
        let retransmit = seq <= self.max_sent;
        let ect = if syn {
            self.p.variant == Variant::Dctcp // RFC 8257 3.6
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
            _ if syn => ecn::request(self.p.ecn),
            Ecn::Off => Bits::NONE,
            Ecn::Classic if reduced => Bits::CWR,
            Ecn::Classic => Bits::NONE,
            Ecn::Mecn => mecn::on_data(reduced),
            Ecn::AccEcn => Bits::from_number(accecn::FIRST), // our own count: ACKs are never marked
        };
        let idle = self.highest_ack == self.max_sent;
        if let Own::Vegas(v) = &mut self.own {
            v.sent(now, seq, self.highest_ack);
        }
        io.send(Segment { seq, syn, retransmit, ect, bits, owes_cwr: syn && reduced });
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
        if self.rtx_at.is_none() || idle {
            self.set_timer(now);
        }
    }

    // ---- the retransmission timer --------------------------------------------------------------------------

    pub(crate) fn set_timer(&mut self, now: Time) {
        self.rtx_at = Some(now + self.rtt.timeout(&self.p));
    }

    /// After a new ACK (RFC 6298, 5.2 and 5.3).
    pub(crate) fn new_ack_timer(&mut self, now: Time) {
        if self.max_sent > self.highest_ack || self.waits_for_timer || self.p.ns2_recovery {
            // ns-2 lets the timer run even with nothing outstanding; that matters only when cwnd is
            // below 1.
            self.set_timer(now);
        } else {
            self.rtx_at = None;
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

    /// The timer expired.
    fn timeout(&mut self, now: Time, io: &mut impl Io) {
        self.inflation = 0.0;
        self.in_recovery = false;
        self.dupacks =
            if self.p.ns2_recovery && self.p.variant == Variant::Tahoe { self.dupacks } else { 0 };
        if self.p.sack() {
            self.sack_timeout();
        }
        if self.p.variant == Variant::Vegas {
            return self.vegas_timeout(now, io);
        }
        let outstanding = self.highest_ack < self.max_sent;
        if std::mem::take(&mut self.waits_for_timer) && !outstanding {
            return self.send_window(now, io); // what the mark asked for; nothing was lost
        }
        if self.cwnd < 1.0 {
            self.cwnd = 1.0;
        }
        self.recover = self.max_sent;
        if self.highest_ack == -1 {
            // RFC 6298 (5.7), RFC 5681 3.1: a lost SYN means an initial window of one segment.
            self.initial_window = 1.0;
        }
        if !outstanding {
            // Nothing to repair: the window was below one segment.
            self.cut_to_one(false);
        } else if self.last_cut == Cut::Ecn && self.p.ns2_recovery {
            // In recovery from an ECN cut: ssthresh is not cut again.
            self.cut_to_one(false);
        } else {
            self.counters.timeouts += 1;
            // RFC 5681 3.1: ssthresh stays when the segment was already sent again by the timer.
            let again = self.last_cut == Cut::Timeout && !self.p.ns2_recovery;
            self.cut_to_one(!again);
        }
        if outstanding {
            self.rtt.back_off(&self.p);
        }
        self.limited = 0;
        self.restart_timer(now, true);
        self.last_cut = Cut::Timeout;
        self.send_window(now, io);
    }

    /// Counts a timeout of a variant with its own procedure and backs off.
    pub(crate) fn count_timeout(&mut self) {
        self.counters.timeouts += 1;
        self.rtt.back_off(&self.p);
    }

    /// Counts a fast retransmit.
    pub(crate) fn count_fast_retransmit(&mut self) {
        self.counters.fast_retransmits += 1;
    }

    /// Forgets the back-off (ns-2: SACK's partial ACKs do).
    pub(crate) fn end_back_off(&mut self) {
        self.rtt.restore();
    }

    // ---- ACKs ----------------------------------------------------------------------------------------------

    /// What an ACK says of marks, and how many packets were newly marked (but for AccECN: those
    /// that it newly acknowledges).
    fn heard(&mut self, ack: &Ack) -> (Mark, i64) {
        let acked = (ack.seq - self.highest_ack).max(0);
        if ack.seq < self.first_data() {
            return (Mark::None, 0); // the SYN's answer
        }
        match self.agreed {
            Ecn::Off => (Mark::None, 0),
            Ecn::Classic if ack.bits.ece() => (Mark::Ce, acked),
            Ecn::Classic => (Mark::None, 0),
            Ecn::Mecn => (mecn::level(ack.bits), 0),
            Ecn::AccEcn if ack.seq < self.highest_ack => (Mark::None, 0), // superseded
            Ecn::AccEcn => {
                // Duplicates have told of packets that the cumulative ACK covers only now.
                let packets = (acked - i64::from(self.dupacks)).max(1);
                let n = accecn::newly_marked(self.marks_known, ack.bits.number(), packets);
                self.marks_known = ack.bits.number();
                (if n > 0 { Mark::Ce } else { Mark::None }, n)
            }
        }
    }

    /// What every variant does first with an ACK: the answer to marks (RFC 3168, 6.1.2), at most
    /// once a window.
    pub(crate) fn ecn_echo(&mut self, now: Time, ack: &Ack) {
        if self.agreed == Ecn::Off {
            return;
        }
        let (mark, marked) = self.heard(ack);
        self.mark = mark;
        if let Own::Dctcp(d) = &mut self.own {
            let acked = (ack.seq - self.highest_ack).max(0);
            d.ack(self.p.g, ack.seq, acked, marked, self.max_sent);
        }
        let mecn = self.agreed == Ecn::Mecn;
        if mark == Mark::None
            || (mecn && mark == Mark::Incipient && self.p.incipient == Incipient::Hold)
        {
            return;
        }
        // A timeout has cut for its window too: until new data carry CWR every ACK repeats the
        // echo, and to answer each would leave cwnd at one for ever. ns-2 answers.
        let cut_over =
            ack.seq > self.recover || (self.p.ns2_recovery && self.last_cut == Cut::Timeout);
        if !cut_over {
            let incipient = self.last_cut == Cut::Ecn && self.cut_level == Mark::Incipient;
            if mecn && self.p.escalate && mark == Mark::Ce && incipient {
                self.mecn_deepen();
            }
            return;
        }
        self.recover = self.max_sent;
        self.last_cut = Cut::Ecn;
        if self.cwnd <= 1.0 {
            self.marked_at_one(now, mark);
        } else {
            self.ecn_backoff = false;
        }
        if mecn {
            self.mecn_cut(mark);
        } else {
            self.cut_for_mark();
        }
        self.counters.ecn_cuts += 1;
    }

    /// A window of one segment cannot be halved: RFC 3168 6.1.2 lets the next segment wait for the
    /// timer. In ns-2 a window below one has the same effect, and the second such mark in a row
    /// backs the timer off. That would be far more than what an incipient mark or DCTCP's alpha
    /// asks for: these stay at one.
    fn marked_at_one(&mut self, now: Time, mark: Mark) {
        let mecn = self.agreed == Ecn::Mecn;
        let mild = mark == Mark::Incipient || self.p.variant == Variant::Dctcp;
        if mild && !self.p.ns2_recovery {
            return;
        }
        self.waits_for_timer = self.p.cwnd_floor >= 1.0 && !(mecn && self.p.ns2_recovery);
        if self.waits_for_timer {
            self.set_timer(now);
        }
        if self.ecn_backoff {
            self.rtt.back_off(&self.p);
        } else {
            self.ecn_backoff = true;
        }
    }

    /// Westwood counts what every ACK tells of.
    fn count_bandwidth(&mut self, now: Time, ack: &Ack) {
        if let Own::Westwood(w) = &mut self.own {
            if ack.seq >= self.highest_ack {
                w.ack(now, ack.seq - self.highest_ack, self.rtt.last(), self.p.gain);
            }
        }
    }

    /// Takes in an ACK of new data: sequence state, round trip, timer. Growth is
    /// [`Sender::new_ack`]'s.
    pub(crate) fn advance(&mut self, now: Time, ack: &Ack) {
        self.dupacks = 0;
        self.limited = 0;
        self.last_ack = ack.seq;
        self.highest_ack = ack.seq;
        self.next = self.next.max(ack.seq + 1);
        if let Some((seq, sent)) = self.timed {
            if ack.seq >= seq {
                if !(self.ecn_backoff && self.mark != Mark::None) {
                    self.rtt.restore();
                    self.ecn_backoff = false;
                }
                self.timed = None;
                self.rtt.sample(&self.p, sent, now);
            }
        }
        self.new_ack_timer(now);
    }

    /// An ACK of new data outside recovery: advance, then grow unless it tells of a mark.
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
                self.agreed = ecn::conclude(self.p.ecn, ack.bits);
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
            self.rtt.restore();
        }
    }
}
