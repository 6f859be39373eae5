//! QUIC's loss detection and its answer to losses, RFC 9002. Every transmission has a number of its
//! own. One is lost once another that was sent three or more later has arrived, or any later one,
//! and 9/8 of a round trip has passed (6.1). Where nothing arrives a timer sends probes, and no more
//! (6.2). A loss cuts the window at once; then nothing is sent until less than that is in flight
//! (7.3.2). Losses that span three such timers leave the smallest window (7.6).
//!
//! Departures:
//! - ACKs name segments and not transmissions. One that comes sooner than any round trip after
//!   the last transmission answers an earlier one; else it answers the last. DSACKs stand for the
//!   rest of what QUIC's ACKs tell of losses that were none.
//! - An ACK does not say for how long it was held back (5.3), and names three ranges at most.
//! - A probe that repeats a segment counts once in flight.
//! - The SYN is the handshake. Its loss does not shrink the initial window.

use crate::connection::{Connection, Event, Io};
use crate::control::algorithm::Cause;
use crate::ecn::answer;
use crate::ecn::bits::Mark;
use crate::info::{CaState, Info};
use crate::recovery::undo::Undo;
use crate::recovery::LossRecovery;
use crate::segment::Ack;
use crate::sent::{Sent, SentLog};
use crate::stamp::Stamp;
use crate::timers::Timer;
use penstock_units::{Duration, Time};
use std::collections::VecDeque;

/// Losses are found no sooner (kGranularity).
const GRANULARITY: Duration = Duration::from_millis(1);

/// A transmission that has been acknowledged has this instead of its segment.
const ARRIVED: i64 = -1;

/// QUIC's state, in a box: what all senders share should fill few cache lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quic(Box<State>);

/// A transmission that is not taken for lost.
#[derive(Clone, Copy, Debug)]
struct Packet {
    at: Time,
    seq: i64,
}

#[derive(Clone, Debug)]
struct State {
    state: CaState,
    /// The transmissions in their order, and the number of the first.
    packets: VecDeque<Packet>,
    first: u64,
    /// One past the highest number that has arrived.
    end: u64,
    /// Transmissions below this number left before the last cut, which they do not repeat.
    cut: u64,
    /// When the last one left.
    last: Time,
    /// The latest and the smallest round trip; since when there is one.
    latest: Duration,
    least: Duration,
    sampled: Option<Time>,
    /// Below this no lost segment waits to be sent again.
    resent: i64,
    /// Probe timeouts since the last news.
    count: u32,
    /// When the next transmission is lost by time, unless it arrives.
    loss_at: Option<Time>,
    /// When the first was sent of the losses since the last arrival.
    run: Option<Time>,
    /// The repair of the last loss need not wait.
    free: bool,
    undo: Undo,
    news: AckNews,
}

/// What the present ACK says.
#[derive(Clone, Copy, Debug, Default)]
struct AckNews {
    in_flight: u64,
    newly: u64,
    /// Of these, sent since the last cut.
    fresh: u64,
    /// When the transmission left, of a number higher than any before, that it answers.
    newest: Option<Time>,
}

impl Default for State {
    fn default() -> Self {
        State {
            state: CaState::Open,
            packets: VecDeque::new(),
            first: 0,
            end: 0,
            cut: 0,
            last: Time::ZERO,
            latest: Duration::ZERO,
            least: Duration::from_ticks(u64::MAX),
            sampled: None,
            resent: 0,
            count: 0,
            loss_at: None,
            run: None,
            free: false,
            undo: Undo::default(),
            news: AckNews::default(),
        }
    }
}

fn log(c: &mut Connection) -> &mut SentLog {
    c.log.as_mut().expect("QUIC has a record kept")
}

fn log_of(c: &Connection) -> &SentLog {
    c.log.as_ref().expect("QUIC has a record kept")
}

impl LossRecovery for Quic {
    const RECORDS: bool = true;

    fn dupacks(&self) -> u32 {
        0
    }

    fn state(&self, _c: &Connection) -> CaState {
        self.0.state
    }

    fn tell(&self, info: &mut Info) {
        info.backoff = self.0.count;
        info.min_rtt = self.0.sampled.map(|_| self.0.least);
    }

    #[inline(never)]
    fn hear(&mut self, c: &mut Connection, now: Time, ack: &Ack, marked: i64) {
        let s = &mut *self.0;
        s.news = AckNews { in_flight: log(c).in_flight(), ..AckNews::default() };
        if let Some(block) = ack.dsack() {
            s.undo.on_dsack(block);
        }
        let told = c.tell(now, ack, marked, |seq, sent| s.deliver(now, seq, sent));
        s.news.newly = told.expect("QUIC has a record kept").delivered;
    }

    #[inline(never)]
    fn on_mark(&mut self, c: &mut Connection, now: Time, ack: &Ack) {
        let s = &mut *self.0;
        let cuts = c.counters.ecn_cuts;
        answer::on_mark(c, now, ack, 0.0);
        if c.counters.ecn_cuts > cuts {
            s.undo.none();
            s.cut = s.next();
            s.state = CaState::Cwr;
        }
    }

    #[inline(never)]
    fn on_ack(&mut self, c: &mut Connection, now: Time, ack: &Ack, io: &mut impl Io) {
        self.0.take_in(c, now, ack);
        self.send(c, now, false, u32::MAX, io);
    }

    fn forget(&mut self, _c: &mut Connection) {}

    #[inline(never)]
    fn on_timeout(&mut self, c: &mut Connection, now: Time, io: &mut impl Io) {
        let s = &mut *self.0;
        if std::mem::take(&mut c.waits_for_timer) {
            // What a mark asked for at a window of one segment.
        } else if s.loss_at.take().is_some() {
            s.detect(c, now);
        } else {
            s.probe(c, now, io);
        }
        self.send(c, now, false, u32::MAX, io);
    }

    #[inline(never)]
    fn send(&mut self, c: &mut Connection, now: Time, force: bool, _burst: u32, io: &mut impl Io) {
        if !c.sends(force) {
            return;
        }
        let s = &mut *self.0;
        loop {
            let lost = s.next_lost(log_of(c));
            // A window below one segment is one.
            let full = log(c).in_flight() >= (c.window.cwnd as u64).max(1);
            if full && !(s.free && lost.is_some()) {
                break;
            }
            let Some(seq) = lost.or_else(|| next_new(c)) else {
                if c.sent_all() {
                    log(c).starved();
                }
                break;
            };
            if c.holds(now, force, io) {
                break;
            }
            s.free = false;
            s.transmit(c, now, seq, io);
        }
        s.set_timer(c, now);
    }
}

/// Returns the next new segment, if there is one for which the receiver has room.
fn next_new(c: &Connection) -> Option<i64> {
    let edge = c.highest_ack + i64::from(c.peer_window);
    (c.next <= edge && c.next < c.limit).then_some(c.next)
}

impl State {
    /// Returns the number of the next transmission.
    fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    // ---- what an ACK says ---------------------------------------------------------------------

    /// An ACK newly reports segment `seq`.
    fn deliver(&mut self, now: Time, seq: i64, sent: &Sent) {
        let mut answered = self.arrived(sent.at, seq);
        if sent.ever_rtx() && now.since(sent.at) < self.least {
            // So soon: an earlier one.
            let i = self.packets.iter().position(|p| p.seq == seq);
            answered = i.and_then(|i| self.arrived(self.packets[i].at, seq));
        }
        let Some((number, at)) = answered else { return };
        self.news.fresh += u64::from(number >= self.cut);
        if number >= self.end {
            self.end = number + 1;
            self.news.newest = Some(at);
        }
    }

    /// The transmission of `seq` that left at `at` needs no more thought. Returns its number, unless
    /// it was taken for lost.
    fn arrived(&mut self, at: Time, seq: i64) -> Option<(u64, Time)> {
        let mut i = self.packets.partition_point(|p| p.at < at);
        while self.packets.get(i).is_some_and(|p| p.at == at && p.seq != seq) {
            i += 1;
        }
        let packet = self.packets.get_mut(i).filter(|p| p.at == at)?;
        packet.seq = ARRIVED;
        Some((self.first + i as u64, at))
    }

    fn take_in(&mut self, c: &mut Connection, now: Time, ack: &Ack) {
        let acked = ack.seq - c.highest_ack;
        let n = self.news;
        if acked > 0 {
            c.timed = Time::NEVER; // the record gives each sample
            c.advance(now, ack);
            self.resent = self.resent.max(ack.seq + 1);
        }
        if let Some(at) = n.newest {
            self.latest = now.since(at);
            self.least = self.least.min(self.latest);
            self.sampled.get_or_insert(now);
            c.sample(at, now);
        }
        if n.newly > 0 {
            self.count = 0;
        }
        if self.state != CaState::Open && self.end > self.cut {
            // 7.3.2: what was sent in the recovery arrives.
            self.state = CaState::Open;
            c.last_event = Event::Exited;
        }
        if c.p.rack.undo && self.undo.is_due() {
            self.take_back(c);
        }
        let cut = self.detect(c, now);
        if n.fresh > 0 && !cut && c.mark == Mark::None {
            c.grow(now, n.fresh as i64, n.in_flight as i64);
            c.ecn_backoff = false;
        }
        if acked > 0 {
            c.opened(ack);
        }
    }

    // ---- losses -------------------------------------------------------------------------------

    /// 6.1: finds what is lost. Returns whether the window is cut for it.
    fn detect(&mut self, c: &mut Connection, now: Time) -> bool {
        let q = &c.p.quic;
        let threshold = u64::from(q.packet_threshold);
        let latest = self.latest.as_secs_f64();
        let rtt = c.rtt.srtt(&c.p.rtt).map_or(latest, |srtt| srtt.max(latest));
        // No longer than any timer, lest it lie beyond all time where round trips are absurd.
        let wait = Duration::from_secs_f64(q.time_threshold * rtt).min(c.p.rtt.max_rto);
        let wait = wait.max(GRANULARITY);
        let long = Duration::from_secs_f64(q.persistent_congestion * base(c).as_secs_f64());
        let (mut cut, mut persistent) = (false, false);
        self.loss_at = None;
        while self.first < self.end {
            let Some(Packet { at, seq }) = self.packets.front().copied() else { break };
            if seq == ARRIVED {
                self.run = None;
            } else {
                if self.first + threshold >= self.end && at + wait > now {
                    self.loss_at = Some(at + wait);
                    break;
                }
                // A segment that was sent again since is not lost with this.
                if log_of(c).get(seq).is_some_and(|sent| sent.at == at) {
                    log(c).lose(seq);
                    self.resent = self.resent.min(seq);
                }
                cut |= self.first >= self.cut;
                if self.sampled.is_some_and(|since| at >= since) {
                    let run = *self.run.get_or_insert(at);
                    persistent |= at.since(run) > long;
                }
            }
            self.packets.pop_front();
            self.first += 1;
        }
        if cut {
            self.cut_for_loss(c);
        }
        if persistent {
            self.starts_afresh(c);
        }
        cut || persistent
    }

    /// 7.3.2: a loss begins a recovery.
    fn cut_for_loss(&mut self, c: &mut Connection) {
        let window = (c.window.cwnd, c.window.ssthresh);
        let kept = (c.mark == Mark::None).then_some(window);
        self.undo.begin(c.highest_ack + 1, log_of(c).counts().2, kept);
        self.cut = self.next();
        self.state = CaState::Recovery;
        self.free = c.p.quic.first_repair_free;
        c.recover = c.max_sent;
        c.last_event = Event::DupAcks;
        c.counters.fast_retransmits += 1;
        c.cut(Cause::Loss, 0.0);
    }

    /// 7.6.2: persistent congestion. The next ACK is one of slow start.
    fn starts_afresh(&mut self, c: &mut Connection) {
        c.window.cwnd = c.p.cwnd_floor.max(1.0).min(c.window.cwnd);
        (self.cut, self.run) = (0, None);
        self.undo.none();
        self.state = CaState::Loss;
    }

    /// The last cut was for nothing.
    fn take_back(&mut self, c: &mut Connection) {
        if let Some((cwnd, ssthresh)) = self.undo.window.take() {
            c.window.cwnd = c.window.cwnd.max(cwnd);
            c.window.ssthresh = c.window.ssthresh.max(ssthresh);
            c.cwr = false;
            c.control.undo(&mut c.window);
        }
        self.undo.none();
        self.cut = 0;
        self.state = CaState::Open;
        c.last_event = Event::Exited;
    }

    /// Returns the lowest lost segment that is to be sent again.
    fn next_lost(&mut self, l: &SentLog) -> Option<i64> {
        let (_, lost, again) = l.counts();
        if lost == again {
            return None;
        }
        while let Some(sent) = l.get(self.resent) {
            if sent.waits() {
                return Some(self.resent);
            }
            self.resent += 1;
        }
        None
    }

    /// Sends a segment, new or again.
    fn transmit(&mut self, c: &mut Connection, now: Time, seq: i64, io: &mut impl Io) {
        c.output(now, seq, io);
        if seq >= c.next {
            c.next = seq + 1;
        } else {
            self.undo.resent(Stamp::NONE);
        }
        if let Some(sent) = log_of(c).get(seq) {
            self.last = sent.at;
            self.packets.push_back(Packet { at: sent.at, seq });
        }
    }

    // ---- the timer ----------------------------------------------------------------------------

    /// 6.2.1: the time threshold, or the probe timeout from the last transmission on.
    fn set_timer(&mut self, c: &mut Connection, now: Time) {
        if c.waits_for_timer {
            return;
        }
        if c.highest_ack >= c.max_sent {
            return c.timers.stop(Timer::Rtx);
        }
        let probe = base(c).as_ticks().saturating_mul(1 << self.count.min(32));
        let wait = Duration::from_ticks(probe).min(c.p.rtt.max_rto);
        c.timers.set(Timer::Rtx, self.loss_at.unwrap_or(self.last + wait).max(now));
    }

    /// 6.2.4: probes, which the window does not hold back, and which do not cut it.
    fn probe(&mut self, c: &mut Connection, now: Time, io: &mut impl Io) {
        if c.highest_ack >= c.max_sent || !c.sends(true) {
            return;
        }
        self.count += 1;
        c.counters.timeouts += 1;
        let opens = c.highest_ack < 0; // nothing but the first segment then
        let mut oldest = c.highest_ack;
        for _ in 0..if opens { 1 } else { c.p.quic.pto_probes } {
            let new = next_new(c).filter(|_| !opens);
            let seq = self.next_lost(log_of(c)).or(new).unwrap_or_else(|| {
                oldest = log_of(c).unreported(oldest + 1);
                oldest
            });
            if seq <= c.max_sent || new.is_some() {
                self.transmit(c, now, seq, io);
            }
        }
    }
}

/// Returns the probe timeout before back-off (6.2.1): srtt + max(4 rttvar, 1 ms), and for how long the
/// receiver may hold an ACK back, once there are data.
fn base(c: &Connection) -> Duration {
    let held = c.p.delayed_ack && c.highest_ack >= c.first_data() - 1;
    let held = if held { c.p.delayed_ack_timeout } else { Duration::ZERO };
    c.rtt.timeout() + held
}
