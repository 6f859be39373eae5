//! RACK-TLP, RFC 8985: a segment is lost once one that was sent later has arrived and a little more
//! than its round trip has passed (section 6). A probe of the tail brings the ACK that tells (7).
//! Around it stands the state machine of Linux's `tcp_input.c`: Open, Disorder, CWR, Recovery and
//! Loss. What is sent follows from what is in flight, so that limited transmit needs no rule, and a
//! timeout sends again what is lost and no more.
//!
//! Departures, all of them Linux's:
//! - A timer has a slack of 2 ms, and the probe's is 2 SRTT and that slack, or 200 ms where one
//!   segment is outstanding.
//! - After a timeout what was sent less than a round trip before is kept, without a window for
//!   reordering. A retransmission that is lost in Loss begins a recovery.
//! - A probe needs no new round-trip sample since the last one.
//! - A probe that repaired a loss cuts the window at once.
//!
//! `prr.rs` moves the window after a cut, `undo.rs` takes a cut back.

use crate::connection::{Connection, Event, Io};
use crate::control::algorithm::{Cause, Steered};
use crate::ecn::answer;
use crate::ecn::bits::Mark;
use crate::info::{CaState, Info};
use crate::minimum::Minimum;
use crate::recovery::kind::Reduction;
use crate::recovery::prr::Prr;
use crate::recovery::undo::Undo;
use crate::recovery::LossRecovery;
use crate::segment::{Ack, Block};
use crate::sent::{DeliveryRate, Sent, SentLog};
use crate::timers::Timer;
use penstock_units::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Over which the smallest round trip is taken (Linux: `tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// The slack of a timer (Linux: `TCP_TIMEOUT_MIN`).
const SLACK: Duration = Duration::from_millis(2);

/// For how long a receiver may hold back the ACK of a lone segment (RFC 8985 7.2: WCDelAckT).
const HELD_BACK: Duration = Duration::from_millis(200);

/// The probe's wait before there is a sample of the round trip (7.2).
const BLIND_PROBE: Duration = Duration::from_secs(1);

/// So many reported segments need no window for reordering (6.2: DupThresh).
const DUP_THRESH: u64 = 3;

/// The most segments by which a path is believed to reorder (Linux: `tcp_max_reordering`).
const MOST_REORDERING: i64 = 300;

/// For so many recoveries a wider window for reordering stays (6.2: RACK.reo_wnd_persist).
const PERSIST: u8 = 16;

/// RACK's state, in a box: what all senders share should fill few cache lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack(Box<State>);

/// The purpose of the one timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Timeout,
    Probe,
    Reorder,
}

#[derive(Clone, Debug)]
struct State {
    state: CaState,
    newest: Newest,
    window: ReorderingWindow,
    min_rtt: Minimum,
    srtt: Option<Duration>,
    /// The highest segment that was reported above the cumulative ACK.
    high_sacked: i64,
    /// The reduction that is under way.
    prr: Option<Prr>,
    undo: Undo,
    /// F-RTO looks whether the timeout was spurious (`undo.rs`).
    frto: bool,
    /// F-RTO sends new segments alone until the next ACK.
    only_new: bool,
    /// The highest segment sent when a probe went out whose end is not known, and whether it was
    /// sent again.
    probe: Option<(i64, bool)>,
    purpose: Purpose,
    /// Timeouts since the last progress.
    timeouts: u32,
    /// Segments reported as marked.
    marked: u64,
    /// Below this each segment was reported, lost or sent again.
    judged: i64,
    late: Late,
    /// Lost segments, the lowest first, among them all that wait to be sent again.
    lost: BinaryHeap<Reverse<i64>>,
    /// Retransmissions in the order in which they were sent; some have been answered.
    again: VecDeque<(Time, i64)>,
    /// What the present ACK says.
    news: AckNews,
}

/// The segment that was sent last among those delivered (6.1).
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    at: Time,
    /// One past its number; 0: there is none.
    end: i64,
    rtt: Duration,
}

/// Of the segments sent once, those that may be late: what has to be waited for longest is the last
/// of them.
#[derive(Clone, Copy, Debug, Default)]
struct Late {
    /// One past the last of them; 0: that is not known.
    end: i64,
    /// Below this they were sent before the newest that was delivered.
    below: i64,
}

/// The window for reordering (6.2, step 4).
#[derive(Clone, Copy, Debug)]
struct ReorderingWindow {
    /// How often the path was seen to reorder, and by how many segments.
    seen: u32,
    by: u32,
    steps: u8,
    persist: u8,
    /// What had been delivered when it was widened last.
    widened_at: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct AckNews {
    before: CaState,
    in_flight: u64,
    lost_total: u64,
    newly: u64,
    marked: u64,
    /// The smallest round trip of a segment sent once.
    rtt: Option<Duration>,
    /// When the first segment was sent that it acknowledges, and that it reports, of those that
    /// were sent once.
    acked_at: Option<Time>,
    sacked_at: Option<Time>,
    /// It acknowledges a segment that was sent again.
    of_again: bool,
    /// It reports something new above the cumulative ACK.
    sacks: bool,
    /// Something that was sent once, before the last cut, has arrived.
    of_before: bool,
    /// The segment whose round trip is RACK's: whether it is acknowledged, and its number.
    last: Option<(bool, i64)>,
    /// The lowest segment sent once that arrived behind a later one.
    late: Option<i64>,
    dsack: bool,
    dsack_of_probe: bool,
    /// A retransmission is lost.
    lost_again: bool,
    /// It acknowledges new data that were not what was sent again (Eifel).
    of_original: bool,
    /// The round trip by the timestamp, where no segment that was sent once gives one.
    by_echo: Option<(Time, Time)>,
}

impl AckNews {
    /// Returns the sample of the delivery rate that it gave.
    fn rate(&self, c: &Connection) -> Option<DeliveryRate> {
        log_of(c).rate().filter(|_| self.newly > 0)
    }
}

impl Default for State {
    fn default() -> Self {
        State {
            state: CaState::Open,
            newest: Newest::default(),
            window: ReorderingWindow { seen: 0, by: 3, steps: 1, persist: PERSIST, widened_at: 0 },
            min_rtt: Minimum::EMPTY,
            srtt: None,
            high_sacked: -1,
            prr: None,
            undo: Undo::default(),
            frto: false,
            only_new: false,
            probe: None,
            purpose: Purpose::Timeout,
            timeouts: 0,
            marked: 0,
            judged: 0,
            late: Late::default(),
            lost: BinaryHeap::new(),
            again: VecDeque::new(),
            news: AckNews::default(),
        }
    }
}

impl ReorderingWindow {
    /// Returns how long a segment may be late (6.2, step 4).
    fn get(&self, recovers: bool, sacked: u64, min_rtt: Duration, srtt: Duration) -> Duration {
        if self.seen == 0 && (recovers || sacked >= DUP_THRESH) {
            return Duration::ZERO;
        }
        let steps = u64::from(self.steps);
        Duration::from_ticks(min_rtt.as_ticks().saturating_mul(steps) / 4).min(srtt)
    }

    /// Segment `low` came after those up to `high`, itself among them.
    fn late(&mut self, low: i64, high: i64) {
        self.seen += 1;
        self.by = self.by.max((high + 1 - low).min(MOST_REORDERING) as u32);
    }

    /// A DSACK says that something was sent twice for nothing: once in a round trip the window
    /// widens. `prior`: what had been delivered when the newest delivered segment left.
    fn widen(&mut self, prior: u64, delivered: u64) {
        if prior >= self.widened_at {
            self.steps = self.steps.saturating_add(1);
            self.persist = PERSIST;
            self.widened_at = delivered;
        }
    }

    /// A recovery is over.
    fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }
}

impl Newest {
    /// RACK_sent_after: whether `seq`, sent at `at`, left before it.
    fn is_after(&self, at: Time, seq: i64) -> bool {
        (at, seq + 1) < (self.at, self.end)
    }

    /// Of the segments sent once that may be late, `first` is the first. Returns when the last of
    /// them was sent.
    fn last_late(&self, late: &mut Late, l: &SentLog, first: i64) -> Time {
        let known = l.get(late.end - 1).filter(|s| late.end > first && s.is_first());
        let mut last = known.map_or(Time::ZERO, |s| s.at);
        let from = if known.is_some() { late.below } else { first };
        let mut seq = l.unreported(from);
        while let Some(sent) = l.get(seq) {
            if sent.is_first() {
                if !self.is_after(sent.at, seq) {
                    break;
                }
                (last, late.end) = (sent.at, seq + 1);
            }
            seq = l.unreported(seq + 1);
        }
        late.below = seq;
        last
    }

    /// Returns how long `at` has to wait until it is lost; zero: it is.
    fn remaining(&self, at: Time, window: Duration, now: Time) -> Duration {
        (at + self.rtt + window).since(now)
    }
}

fn log(c: &mut Connection) -> &mut SentLog {
    c.log.as_mut().expect("RACK has a record kept")
}

fn log_of(c: &Connection) -> &SentLog {
    c.log.as_ref().expect("RACK has a record kept")
}

fn srtt(c: &Connection) -> Option<Duration> {
    c.rtt.srtt_whole(&c.p.rtt)
}

// Apart from its callers: what it needs of registers they would else save for every recovery.
impl LossRecovery for Rack {
    const RECORDS: bool = true;

    fn dupacks(&self) -> u32 {
        0
    }

    fn state(&self, _c: &Connection) -> CaState {
        self.0.state
    }

    fn tell(&self, info: &mut Info) {
        info.reordering = self.0.window.by;
        info.reord_seen = self.0.window.seen;
        info.min_rtt = self.0.min_rtt.get();
        info.delivered_ce = self.0.marked;
    }

    #[inline(never)]
    fn hear(&mut self, c: &mut Connection, now: Time, ack: &Ack, marked: i64) {
        let s = &mut *self.0;
        let l = log(c);
        let (in_flight, lost_total) = (l.in_flight(), l.totals().1);
        let dsack = ack.dsack();
        s.marked += marked as u64;
        s.news = AckNews {
            before: s.state,
            in_flight,
            lost_total,
            marked: marked as u64,
            dsack: dsack.is_some(),
            ..AckNews::default()
        };
        if let Some(block) = dsack {
            s.on_dsack(block);
        }
        let recover = c.recover;
        let high = s.high_sacked;
        let told = c.tell(now, ack, marked, |seq, sent| {
            s.deliver(now, seq, sent, ack.seq, recover, high);
        });
        let told = told.expect("RACK has a record kept");
        s.news.newly = told.delivered;
        if c.stamps && ack.seq > c.highest_ack {
            s.news.of_original = s.undo.is_original(ack.echo);
            if s.news.of_again {
                // Karn's rule does not hold. Linux takes its own record where it can.
                s.news.by_echo = ack.echo.round_trip(now, c.p.rtt.stamp_unit());
                let rtt = s.news.by_echo.map(|(sent, end)| end.since(sent));
                s.news.rtt = s.news.rtt.or(rtt);
            }
        }
        if let Some(rtt) = s.news.rtt {
            s.min_rtt.take(now, MIN_RTT_WINDOW, rtt);
        }
        if let Some(low) = s.news.late {
            // Linux: up to the highest reported; where all of that is acknowledged, to the ACK.
            let all = log(c).counts().0 == 0;
            s.window.late(low, if all { ack.seq.max(high) } else { s.high_sacked });
        }
    }

    #[inline(never)]
    fn on_mark(&mut self, c: &mut Connection, now: Time, ack: &Ack) {
        let s = &mut *self.0;
        s.leave(c, ack.seq);
        if c.control.full() {
            if ack.seq > c.recover && s.state < CaState::Cwr {
                (c.recover, c.last_event, c.cwr) = (c.max_sent, Event::Mark, true);
                s.undo.none();
                s.enter(c, CaState::Cwr);
            }
            return;
        }
        let (cwnd, base, cuts) = (c.window.cwnd, c.cut_base(0.0), c.counters.ecn_cuts);
        answer::on_mark(c, now, ack, 0.0);
        if c.counters.ecn_cuts > cuts {
            s.reduce(c, cwnd, base);
            s.undo.none();
            s.probe = None;
            s.enter(c, CaState::Cwr);
        }
    }

    #[inline(never)]
    fn on_ack(&mut self, c: &mut Connection, now: Time, ack: &Ack, io: &mut impl Io) {
        self.0.take_in(c, now, ack, io);
        self.send(c, now, false, u32::MAX, io);
        self.0.news.marked = 0;
    }

    fn forget(&mut self, _c: &mut Connection) {}

    #[inline(never)]
    fn on_timeout(&mut self, c: &mut Connection, now: Time, io: &mut impl Io) {
        let s = &mut *self.0;
        match std::mem::replace(&mut s.purpose, Purpose::Timeout) {
            Purpose::Timeout => s.time_out(c, now),
            Purpose::Probe => s.send_probe(c, now, io),
            Purpose::Reorder => s.reordering_ends(c, now),
        }
        self.send(c, now, false, u32::MAX, io);
    }

    #[inline(never)]
    fn send(&mut self, c: &mut Connection, now: Time, force: bool, _burst: u32, io: &mut impl Io) {
        if !c.sends(force) {
            return;
        }
        let s = &mut *self.0;
        if let Some(bursts) = &mut c.bursts {
            bursts.look(s.min_rtt.get());
        }
        let idle = c.highest_ack >= c.max_sent;
        let (mut new, mut head) = (false, false);
        // A window below one segment is one.
        let window = (c.window.cwnd as i64).max(1) as u64;
        let mut in_flight = log(c).in_flight();
        while in_flight < window {
            let lost = if s.only_new { None } else { s.next_lost(log(c)) };
            let edge = c.highest_ack + i64::from(c.peer_window);
            let Some(seq) = lost.or((c.next <= edge && c.next < c.limit).then_some(c.next)) else {
                if c.sent_all() {
                    log(c).starved();
                }
                break;
            };
            if c.holds(now, force, io) {
                break;
            }
            new |= seq > c.max_sent;
            head |= seq == c.highest_ack + 1;
            s.transmit(c, now, seq, io);
            in_flight += 1;
            debug_assert_eq!(in_flight, log(c).in_flight());
        }
        if head && s.purpose != Purpose::Reorder {
            // RFC 6298 (5.1); Linux starts it again with the first hole, but not in the place of
            // the timer for what may be late.
            s.purpose = Purpose::Timeout;
            c.set_timer(now);
        }
        if new {
            // A timeout that runs is left as it is (Linux).
            let at = s.timeout_of_head(c, now);
            if idle || s.purpose == Purpose::Probe {
                s.time_head(c, now, at);
            }
            s.schedule_probe(c, now, (at > now).then_some(at));
        }
    }
}

impl State {
    // ---- what an ACK says ---------------------------------------------------------------------

    /// An ACK newly reports segment `seq`.
    fn deliver(&mut self, now: Time, seq: i64, sent: &Sent, acked: i64, recover: i64, high: i64) {
        let rtt = now.since(sent.at);
        let in_order = seq <= acked;
        let n = &mut self.news;
        if sent.ever_rtx() {
            n.of_again |= in_order;
        } else {
            let first = if in_order { &mut n.acked_at } else { &mut n.sacked_at };
            *first = Some(first.map_or(sent.at, |at| at.min(sent.at)));
            n.rtt = Some(n.rtt.map_or(rtt, |least| least.min(rtt)));
            n.of_before |= seq <= recover;
            if seq < high {
                n.late = Some(n.late.map_or(seq, |low| low.min(seq)));
            }
        }
        if !in_order {
            n.sacks = true;
            self.high_sacked = self.high_sacked.max(seq);
        }
        // 6.2, step 2: what comes back so soon answers the original.
        let of_original = sent.ever_rtx() && self.min_rtt.get().is_some_and(|least| rtt < least);
        if of_original {
            return;
        }
        // RACK.rtt is that of the segment which is looked at last, not of the newest. Linux looks
        // at reports first, and then at what is acknowledged, each in the order of their numbers.
        if n.last.is_none_or(|last| (in_order, seq) > last) {
            n.last = Some((in_order, seq));
            self.newest.rtt = rtt;
        }
        if (sent.at, seq + 1) > (self.newest.at, self.newest.end) {
            (self.newest.at, self.newest.end) = (sent.at, seq + 1);
        }
    }

    /// A block of segments arrived twice.
    fn on_dsack(&mut self, block: Block) {
        self.undo.on_dsack(block);
        self.news.dsack_of_probe = self.probe == Some((block.right - 1, true));
    }

    fn take_in(&mut self, c: &mut Connection, now: Time, ack: &Ack, io: &mut impl Io) {
        let acked = ack.seq - c.highest_ack;
        let n = self.news;
        self.only_new = false;
        if acked > 0 {
            self.timeouts = 0;
            self.purpose = Purpose::Timeout;
            c.timed = Time::NEVER; // the record gives every ACK's sample
            c.advance(now, ack);
            self.judged = self.judged.max(ack.seq + 1);
        }
        // Karn: what was sent again gives no sample.
        let sample = n.acked_at.or(n.sacked_at).filter(|_| !n.of_again);
        let sampled = sample.map(|sent| (sent, now)).or(n.by_echo);
        if let Some((sent, end)) = sampled {
            c.sample(sent, end);
            self.srtt = srtt(c);
        }
        if n.dsack && !n.dsack_of_probe {
            let prior = n.rate(c).map_or(u64::MAX, |r| r.prior);
            self.window.widen(prior, log_of(c).totals().0);
        }
        self.answer_probe(c, ack, acked);
        if self.state == CaState::Loss {
            self.after_timeout(c, acked);
        }
        self.leave(c, ack.seq);
        let sorted = self.sort_out(c, ack.seq - acked);
        if self.state != CaState::Loss && self.was_for_nothing(c) {
            self.take_back(c);
        }
        let waits = if sorted { None } else { self.detect(c, now) };
        self.judge_losses(c);
        self.move_window(c, now, ack, acked, io);
        if acked > 0 {
            c.opened(ack);
        }
        // The timer: the window for reordering, the probe, or the timeout.
        if c.highest_ack >= c.max_sent {
            return;
        }
        let sacked_late = sample.is_some_and(|at| {
            acked <= 0 && log_of(c).get(c.highest_ack + 1).is_some_and(|head| at < head.at)
        });
        if let Some(wait) = waits {
            self.wait_for_late(c, now, wait);
        } else if acked > 0 || sacked_late {
            self.purpose = Purpose::Timeout;
            c.set_timer(now);
            self.schedule_probe(c, now, Some(now + c.rtt.timeout()));
        }
    }

    /// The window after an ACK: the control's own, a reduction's, or grown.
    fn move_window(
        &mut self,
        c: &mut Connection,
        now: Time,
        ack: &Ack,
        acked: i64,
        io: &mut impl Io,
    ) {
        let n = self.news;
        let (in_flight, (_, lost_total)) = (log(c).in_flight(), log(c).totals());
        let lost = lost_total - n.lost_total;
        if c.control.full() {
            // The ACK that opens the connection sets the first window.
            if ack.seq > 0 || acked <= 0 {
                self.steer(c, now, ack, acked, lost, io);
            }
            return;
        }
        if let Some(prr) = &mut self.prr {
            if n.newly > 0 {
                let safe = acked > 0 && lost == 0;
                c.window.cwnd = prr.on_ack(c.window.ssthresh, in_flight, n.newly, safe);
            }
        } else if acked > 0 && self.state != CaState::Recovery && c.mark == Mark::None {
            c.grow(now, n.newly as i64, n.in_flight as i64);
            c.ecn_backoff = false;
        }
    }

    #[inline(never)]
    fn steer(
        &mut self,
        c: &mut Connection,
        now: Time,
        ack: &Ack,
        acked: i64,
        lost: u64,
        io: &mut impl Io,
    ) {
        let n = self.news;
        let rate = n.rate(c);
        let l = log_of(c);
        let (delivered_total, lost_total) = l.totals();
        let lone = acked == 1 && n.newly == 1 && !n.sacks && c.mark == Mark::None;
        let s = Steered {
            now,
            seq: ack.seq.max(c.highest_ack),
            max_sent: c.max_sent,
            acked: acked.max(0) as u64,
            delivered: n.newly,
            delivered_total,
            lost,
            lost_total,
            prior_in_flight: n.in_flight,
            in_flight: l.in_flight(),
            marked: n.marked,
            // Linux: a shorter interval than any round trip is no measure (`tcp_rate_gen`).
            rate: rate.filter(|r| self.min_rtt.get().is_none_or(|rtt| r.interval >= rtt)),
            rtt: n.rtt,
            min_rtt: self.min_rtt.get(),
            srtt: self.srtt,
            state: self.state,
            before: n.before,
            app_limited: l.app_limited(),
            window_limited: c.window_limited(n.in_flight as i64),
            delayed: lone && rate.is_some_and(|r| r.prior + 1 == delivered_total),
            departs: c.pacer.next(now),
            segment: c.p.segment_bytes(),
        };
        let did = c.control.steer(&s, &mut c.window, &mut || io.random());
        c.counters.ecn_cuts += u32::from(did.cut);
        if did.holds_back {
            log(c).starved();
        }
    }

    // ---- losses -------------------------------------------------------------------------------

    /// 6.2, step 5: finds what is lost. Returns for how long what may be late has to be waited for.
    #[inline]
    fn detect(&mut self, c: &mut Connection, now: Time) -> Option<Duration> {
        let in_order = |sent: &Sent| !sent.sacked() && !self.newest.is_after(sent.at, self.judged);
        if self.again.is_empty() && log_of(c).get(self.judged).is_none_or(in_order) {
            return None;
        }
        self.find_lost(c, now)
    }

    #[inline(never)]
    fn find_lost(&mut self, c: &mut Connection, now: Time) -> Option<Duration> {
        let l = c.log.as_mut().expect("RACK has a record kept");
        let mut seq = l.unreported(self.judged);
        let recovers = self.state >= CaState::Recovery;
        let srtt = self.srtt.unwrap_or(Duration::from_ticks(u64::MAX / 4));
        let min_rtt = self.min_rtt.get().unwrap_or(Duration::ZERO);
        let window = self.window.get(recovers, l.counts().0, min_rtt, srtt);
        let mut waits = Duration::ZERO;
        // What was sent once, in order of sending, which is that of the numbers: behind one that has
        // to be waited for none is lost, and the last has to be waited for longest.
        while let Some(sent) = l.get(seq).copied() {
            if sent.is_first() {
                if !self.newest.is_after(sent.at, seq) {
                    break;
                }
                if self.newest.remaining(sent.at, window, now) > Duration::ZERO {
                    let last = self.newest.last_late(&mut self.late, l, seq);
                    waits = self.newest.remaining(last, window, now);
                    break;
                }
                l.lose(seq);
                self.lost.push(Reverse(seq));
                if c.control.full() {
                    c.control.on_lost(&sent, l.totals().1, &mut c.window);
                }
            }
            seq = l.unreported(seq + 1);
        }
        self.judged = seq;
        // What was sent again, in order of sending: alike.
        let live = |l: &SentLog, (at, seq): (Time, i64)| {
            l.get(seq).filter(|s| s.at == at && !s.sacked() && !s.waits()).copied()
        };
        while self.again.front().is_some_and(|first| live(l, *first).is_none()) {
            self.again.pop_front();
        }
        let is_after = |(at, seq): &(Time, i64)| self.newest.is_after(*at, *seq);
        for (at, seq) in &self.again {
            if !is_after(&(*at, *seq)) {
                break;
            }
            let Some(sent) = live(l, (*at, *seq)) else { continue };
            if self.newest.remaining(*at, window, now) > Duration::ZERO {
                let end = self.again.partition_point(is_after);
                let last = self.again.range(..end).rev().find(|each| live(l, **each).is_some());
                let last = last.map_or(*at, |(at, _)| *at);
                waits = waits.max(self.newest.remaining(last, window, now));
                break;
            }
            l.lose(*seq);
            self.lost.push(Reverse(*seq));
            self.news.lost_again = true;
            if c.control.full() {
                c.control.on_lost(&sent, l.totals().1, &mut c.window);
            }
        }
        (waits > Duration::ZERO).then_some(waits)
    }

    /// Returns the lowest lost segment that is to be sent again.
    #[inline]
    fn next_lost(&mut self, l: &SentLog) -> Option<i64> {
        while let Some(Reverse(seq)) = self.lost.peek().copied() {
            if l.get(seq).is_some_and(Sent::waits) {
                return Some(seq);
            }
            self.lost.pop();
        }
        None
    }

    /// Sends a segment, new or again.
    #[inline(always)]
    fn transmit(&mut self, c: &mut Connection, now: Time, seq: i64, io: &mut impl Io) {
        c.output_recorded(now, seq, io);
        if seq >= c.next {
            c.next = seq + 1;
        } else if let Some(sent) = log_of(c).get(seq) {
            self.again.push_back((sent.at, seq));
            self.undo.resent(c.stamp(sent.at));
        }
        if let Some(prr) = &mut self.prr {
            prr.sent();
        }
    }

    // ---- states -------------------------------------------------------------------------------

    fn enter(&mut self, c: &mut Connection, to: CaState) {
        let from = std::mem::replace(&mut self.state, to);
        if to == CaState::Open {
            self.undo.calm();
        }
        if from != to {
            c.control.on_state(from, to, &mut c.window);
        }
    }

    /// The window was cut from `cwnd`, where the cut multiplied `base`: it gets there over a round
    /// trip.
    fn reduce(&mut self, c: &mut Connection, cwnd: f64, base: f64) {
        if c.p.rack.reduction == Reduction::Prr {
            c.window.cwnd = cwnd;
            self.prr = Some(Prr::begin(base));
        }
    }

    /// What began the state is acknowledged by an ACK of `seq`.
    fn leave(&mut self, c: &mut Connection, seq: i64) {
        let over = match self.state {
            CaState::Open | CaState::Disorder => false,
            CaState::Cwr => seq > c.recover, // so that CWR has arrived
            CaState::Recovery | CaState::Loss => seq >= c.recover,
        };
        if !over {
            return;
        }
        match self.state {
            CaState::Recovery | CaState::Loss
                if self.was_for_nothing(c) || self.answers_original(c) =>
            {
                self.take_back(c);
            }
            CaState::Recovery if self.undo.since.is_some() && self.prr.is_some() => {
                c.window.cwnd = c.window.ssthresh;
                self.window.recovered();
            }
            CaState::Cwr if self.prr.is_some() => c.window.cwnd = c.window.ssthresh,
            _ => {}
        }
        self.prr = None;
        self.frto = false;
        c.last_event = Event::Exited;
        self.enter(c, CaState::Open);
    }

    /// What is lost, once it is known.
    fn judge_losses(&mut self, c: &mut Connection) {
        let (sacked, lost, _) = log_of(c).counts();
        match self.state {
            CaState::Recovery => {}
            CaState::Loss if !self.news.lost_again => {}
            _ if lost > 0 => self.recover(c),
            CaState::Open | CaState::Disorder => {
                let to = if sacked > 0 { CaState::Disorder } else { CaState::Open };
                self.enter(c, to);
            }
            CaState::Cwr | CaState::Loss => {}
        }
    }

    /// A loss begins a recovery, with a cut unless the window was cut for a mark.
    fn recover(&mut self, c: &mut Connection) {
        let was_cut = self.state == CaState::Cwr;
        let window = (c.window.cwnd, c.window.ssthresh);
        let kept = (!was_cut && c.mark == Mark::None).then_some(window);
        if self.state == CaState::Open {
            self.undo.calm(); // a probe that went before is no part of it
        }
        self.undo.begin(c.highest_ack + 1, log_of(c).counts().2, kept);
        self.probe = None;
        self.frto = false;
        self.enter(c, CaState::Recovery);
        c.recover = c.max_sent;
        c.last_event = Event::DupAcks;
        c.counters.fast_retransmits += 1;
        if was_cut {
            return;
        }
        if c.control.full() {
            c.cwr = true;
            return;
        }
        let base = c.cut_base(0.0);
        c.cut(Cause::Loss, 0.0);
        self.reduce(c, window.0, base);
    }

    /// Whether DSACKs say that the last cut was for nothing.
    fn was_for_nothing(&self, c: &Connection) -> bool {
        c.p.rack.undo && self.undo.is_due()
    }

    /// Whether an ACK of new data says so: it answers an original (Eifel).
    fn answers_original(&self, c: &Connection) -> bool {
        c.p.rack.undo && self.news.of_original
    }

    /// An ACK within a recovery that answers an original: what was late was no hole. Where a
    /// retransmission is outstanding nothing more is sent again before the next ACK; else the cut is
    /// taken back. `before`: what was acknowledged. Returns whether nothing is to be declared lost.
    fn sort_out(&mut self, c: &mut Connection, before: i64) -> bool {
        if self.state != CaState::Recovery || !self.answers_original(c) {
            return false;
        }
        if before < self.high_sacked {
            self.window.late(before + 1, self.high_sacked);
        }
        if log_of(c).counts().2 > 0 {
            self.only_new = true;
        } else {
            self.find(c);
            self.take_back(c);
        }
        true
    }

    /// Nothing is lost after all.
    fn find(&mut self, c: &mut Connection) {
        log(c).find();
        self.lost.clear();
        (self.judged, self.late) = (c.highest_ack + 1, Late::default());
    }

    /// The last cut was for nothing.
    fn take_back(&mut self, c: &mut Connection) {
        if let Some((cwnd, ssthresh)) = self.undo.window.take() {
            if !c.control.full() {
                c.window.cwnd = c.window.cwnd.max(cwnd);
                c.window.ssthresh = c.window.ssthresh.max(ssthresh);
            }
            c.cwr = false;
            c.control.undo(&mut c.window);
        }
        self.undo.none();
        self.prr = None;
        c.last_event = Event::Exited;
        self.enter(c, CaState::Open);
    }

    // ---- timers -------------------------------------------------------------------------------

    /// Returns when the timeout of the first segment outstanding is due, or was.
    fn timeout_of_head(&self, c: &Connection, now: Time) -> Time {
        let sent = log_of(c).get(c.highest_ack + 1).map_or(now, |head| head.at);
        sent + c.rtt.timeout()
    }

    /// The timer is the timeout of the first segment outstanding, `at`; one that has passed is due
    /// soon.
    fn time_head(&mut self, c: &mut Connection, now: Time, at: Time) {
        self.purpose = Purpose::Timeout;
        c.timers.set(Timer::Rtx, at.max(now + SLACK));
    }

    /// The timer is for what may be late.
    fn wait_for_late(&mut self, c: &mut Connection, now: Time, wait: Duration) {
        self.purpose = Purpose::Reorder;
        c.timers.set(Timer::Rtx, now + wait + SLACK);
    }

    /// 7.2: a probe goes out if nothing is heard for two round trips, and no later than the timeout
    /// that is still to come. It is due also while another is under way; then none is sent, and the
    /// timeout follows (Linux).
    fn schedule_probe(&mut self, c: &mut Connection, now: Time, timeout: Option<Time>) {
        let calm = matches!(self.state, CaState::Open | CaState::Cwr);
        if !c.p.rack.tlp || !calm || c.highest_ack < 0 {
            return;
        }
        let wait = match self.srtt {
            Some(srtt) if c.flight() == 1 => srtt + srtt + HELD_BACK,
            Some(srtt) => srtt + srtt + SLACK,
            None => BLIND_PROBE,
        };
        self.purpose = Purpose::Probe;
        let at = now + wait;
        c.timers.set(Timer::Rtx, timeout.map_or(at, |timeout| at.min(timeout)));
    }

    /// 7.3: the probe, a new segment if there is one, or the last one again.
    fn send_probe(&mut self, c: &mut Connection, now: Time, io: &mut impl Io) {
        let outstanding = c.highest_ack < c.max_sent;
        if !outstanding {
            return;
        }
        if self.probe.is_some() || !c.sends(true) {
            let at = self.timeout_of_head(c, now);
            return self.time_head(c, now, at);
        }
        let edge = c.highest_ack + i64::from(c.peer_window);
        let new = c.next <= edge && c.next < c.limit;
        self.transmit(c, now, if new { c.next } else { c.max_sent }, io);
        self.probe = Some((c.max_sent, !new));
        c.set_timer(now);
    }

    /// 7.4.2: an ACK that may answer the probe.
    fn answer_probe(&mut self, c: &mut Connection, ack: &Ack, acked: i64) {
        let Some((high, again)) = self.probe.filter(|(high, _)| ack.seq >= *high) else { return };
        let copy_arrived = self.news.dsack_of_probe || (acked == 0 && !self.news.sacks);
        if again && !copy_arrived && ack.seq == high {
            return; // the original or the probe: what follows will tell
        }
        self.probe = None;
        if !again || copy_arrived || self.state >= CaState::Cwr {
            return;
        }
        // The probe repaired a loss.
        self.enter(c, CaState::Cwr);
        self.undo.none();
        c.recover = c.max_sent;
        c.last_event = Event::DupAcks;
        if c.control.full() {
            c.cwr = true;
        } else {
            c.cut(Cause::Loss, 0.0);
            c.window.cwnd = c.window.cwnd.min(c.window.ssthresh);
        }
        self.enter(c, CaState::Open);
    }

    /// The window for reordering is over.
    fn reordering_ends(&mut self, c: &mut Connection, now: Time) {
        if c.highest_ack >= c.max_sent {
            return;
        }
        self.news = AckNews { before: self.state, ..AckNews::default() };
        let lost = log_of(c).totals().1;
        let waits = self.detect(c, now);
        if log_of(c).totals().1 > lost && self.state != CaState::Recovery {
            self.recover(c);
            if let Some(prr) = &mut self.prr {
                let in_flight = log_of(c).in_flight();
                c.window.cwnd = prr.on_ack(c.window.ssthresh, in_flight, 1, false);
            }
        }
        match waits {
            Some(wait) => self.wait_for_late(c, now, wait),
            None => {
                let at = self.timeout_of_head(c, now);
                self.time_head(c, now, at);
            }
        }
    }

    /// RFC 6298 5.4 to 5.6. The head is lost, and what was sent a round trip before.
    fn time_out(&mut self, c: &mut Connection, now: Time) {
        let outstanding = c.highest_ack < c.max_sent;
        if std::mem::take(&mut c.waits_for_timer) || !outstanding {
            return; // what a mark asked for; nothing was lost
        }
        if c.highest_ack == -1 {
            // RFC 6298 (5.7), RFC 5681 3.1: a lost SYN means an initial window of one segment.
            c.initial_window = 1;
        }
        let was = self.state;
        let repaired = c.highest_ack >= c.recover;
        let cuts =
            was <= CaState::Disorder || repaired || (was == CaState::Loss && self.timeouts == 0);
        self.enter(c, CaState::Loss);
        let head = c.highest_ack + 1;
        let mut seq = head;
        while let Some(sent) = log_of(c).get(seq).copied() {
            let early =
                seq != head && self.newest.remaining(sent.at, Duration::ZERO, now) > Duration::ZERO;
            if !early && log(c).lose(seq).is_some() {
                self.lost.push(Reverse(seq));
                if c.control.full() {
                    let total = log_of(c).totals().1;
                    c.control.on_lost(&sent, total, &mut c.window);
                }
            }
            seq = log_of(c).unreported(seq + 1);
        }
        (self.judged, self.late) = (head, Late::default());
        if cuts {
            let window = (c.window.cwnd, c.window.ssthresh);
            self.undo.begin(head, log_of(c).counts().2, Some(window));
            if !c.control.full() {
                c.cut(Cause::Timeout, 0.0);
            }
        }
        let first = was < CaState::Recovery || self.timeouts > 0;
        self.frto = c.p.rack.undo && first && c.highest_ack >= c.first_data() - 1;
        self.timeouts += 1;
        (self.prr, self.probe, self.only_new) = (None, None, false);
        c.window.cwnd = (log_of(c).in_flight() + 1) as f64;
        c.recover = c.max_sent;
        c.last_event = Event::Timeout;
        c.counters.timeouts += 1;
        c.timed = Time::NEVER;
        c.back_off();
        self.srtt = srtt(c);
        c.set_timer(now);
    }

    /// F-RTO, RFC 5682, 3.1, with selective acknowledgements: whether the timeout was spurious is
    /// seen from what was sent before it and once.
    fn after_timeout(&mut self, c: &mut Connection, acked: i64) {
        if self.answers_original(c) {
            self.find(c);
            self.frto = false;
            return self.take_back(c);
        }
        if !self.frto {
            return;
        }
        if self.news.of_before {
            // Step 3b: the original has arrived.
            self.find(c);
            self.frto = false;
            return self.take_back(c);
        }
        if c.max_sent > c.recover {
            // Step 3a: the new segments brought nothing but news of themselves.
            self.frto = acked > 0 && !self.news.sacks;
        } else if acked > 0 && c.highest_ack < c.recover {
            // Step 2b: new segments instead of lost ones.
            let edge = c.highest_ack + i64::from(c.peer_window);
            self.only_new = c.next <= edge && c.next < c.limit;
            self.frto = self.only_new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::Rng;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// A quarter of the smallest round trip of 100 ms, times the steps, at most SRTT; none in a
    /// recovery or after three reports, unless the path was seen to reorder.
    #[test]
    fn how_long_a_segment_may_be_late() {
        let fresh = State::default().window;
        let window = |seen, steps, recovers, sacked| {
            let w = ReorderingWindow { seen, steps, ..fresh };
            w.get(recovers, sacked, ms(100), ms(100))
        };
        assert_eq!(window(0, 1, false, 1), ms(25));
        assert_eq!(window(0, 1, false, 3), ms(0));
        assert_eq!(window(0, 1, true, 1), ms(0));
        assert_eq!(window(1, 3, true, 3), ms(75));
        assert_eq!(window(1, 5, false, 1), ms(100));
    }

    /// Against a look at every segment. One leaves each millisecond; some of the last sixty are
    /// reported, others lost and sent again.
    #[test]
    fn the_last_segment_that_may_be_late() {
        let mut rng = Rng::stream(1, "late");
        let (mut log, mut late, mut newest) = Default::default();
        let (log, newest): (&mut SentLog, &mut Newest) = (&mut log, &mut newest);
        let mut seen = 0;
        for t in 0..3000 {
            let now = Time::ZERO + ms(t as u64);
            log.sent(now, t);
            let seq = t - (rng.unit() * 60.0) as i64;
            if rng.unit() < 0.4 {
                let block = Block { left: seq, right: seq + 1 };
                let blocks = [block, Block::default(), Block::default()];
                let ack = Ack { seq: t - 80, blocks, n_blocks: 1, ..Ack::default() };
                log.on_ack(now, &ack, |seq, sent| {
                    if seq > ack.seq && (sent.at, seq + 1) > (newest.at, newest.end) {
                        (newest.at, newest.end) = (sent.at, seq + 1);
                    }
                });
            } else if rng.unit() < 0.2 {
                log.lose(seq);
            } else if log.get(seq).is_some_and(Sent::waits) {
                log.sent(now, seq);
            }
            let may =
                |s: &i64| log.get(*s).is_some_and(|x| x.is_first() && newest.is_after(x.at, *s));
            let all: Vec<i64> = (t - 100..=t).filter(may).collect();
            let (Some(first), Some(last)) = (all.first(), all.last()) else { continue };
            seen += usize::from(first != last);
            let at = newest.last_late(&mut late, log, *first);
            assert_eq!(Some(at), log.get(*last).map(|s| s.at), "{first} to {last} at {t}");
        }
        assert!(seen > 1000, "{seen}");
    }

    /// DSACKs widen it once in a round trip; sixteen recoveries without one narrow it.
    #[test]
    fn the_window_for_reordering_adapts() {
        let mut w = State::default().window;
        w.widen(10, 20);
        w.widen(15, 25); // sent before what was delivered at the first
        assert_eq!(w.steps, 2);
        w.widen(20, 30);
        assert_eq!(w.steps, 3);
        for _ in 0..15 {
            w.recovered();
        }
        assert_eq!(w.steps, 3);
        w.recovered();
        assert_eq!(w.steps, 1);
        w.late(5, 12);
        w.late(10, 12);
        assert_eq!((w.seen, w.by), (2, 8));
    }
}
