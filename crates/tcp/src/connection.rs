//! All senders share a connection: sequence numbers, the window, the timers.
//!
//! RFC 5681, RFC 6298, RFC 3168, RFC 3042. `sending.rs` puts segments on the wire, `recovery/`
//! repairs losses, `control/` sizes the window, and `ecn/answer.rs` answers marks.

use crate::buffer::SendBuffer;
use crate::control::algorithm::{Acked, Cause, CongestionControl, Cut, Growth};
use crate::control::hystart::Watch;
use crate::control::window::Window;
use crate::control::Control;
use crate::ecn::accecn::{self, Ace, Decoder};
use crate::ecn::bits::{Bits, Ecn, Mark};
use crate::ecn::sce;
use crate::pace::{Bursts, Pacer};
use crate::params::{GrowthPer, SsthreshFrom, TcpParams};
use crate::recovery::kind::Recovery;
use crate::rtt::RttEstimator;
use crate::segment::{Ack, Segment};
use crate::sent::{News, Sent, SentLog};
use crate::stamp::Stamp;
use crate::timers::{Timer, Timers};
use crate::usage::{Standing, Usage, Validation};
use penstock_units::{Duration, Ecn as Codepoint, Time};
use std::sync::Arc;

/// The services that a sender asks of its surroundings.
pub trait Io {
    /// Sends a segment, which may leave its host at `not_before`, or now if that has passed. Times
    /// never go back from one segment to the next.
    fn send(&mut self, segment: Segment, not_before: Time);
    /// Returns a random number, uniform in [0, 1), of the flow's own stream.
    fn random(&mut self) -> f64;
}

/// The counts of what a sender has done so far: reported, never consulted.
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

/// The state that all senders share, whatever repairs their losses. The fields that every ACK
/// touches come first: with thousands of flows an ACK costs one cache miss per line that it
/// touches.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Connection {
    pub(crate) p: Arc<TcpParams>,
    /// The highest segment acknowledged, −1 before the SYN's ACK.
    pub(crate) highest_ack: i64,
    /// As `highest_ack`, except that SACK's recovery leaves it behind.
    pub(crate) last_ack: i64,
    /// The next segment to send; goes back after a timeout.
    pub(crate) next: i64,
    /// The highest segment ever sent.
    pub(crate) max_sent: i64,
    /// One past the last segment that the application has given, or written into its buffer.
    pub(crate) limit: i64,
    pub(crate) window: Window,
    /// The highest segment sent when the window was cut last, for a loss or a mark: a window is cut
    /// once, whatever asks for that. −1: it was not.
    pub(crate) recover: i64,
    /// When the segment was sent whose round trip is being timed; [`Time::NEVER`]: none is. It is
    /// the highest that ever was timed, `timed_high`.
    pub(crate) timed: Time,
    pub(crate) timed_high: i64,
    pub(crate) timers: Timers,
    pub(crate) pacer: Pacer,
    /// Segments beyond the last one acknowledged that the receiver has room for, by the last ACK.
    pub(crate) peer_window: u32,
    /// Segments that duplicate ACKs have reported and no cumulative one yet, where the control
    /// watches and there is no log.
    pub(crate) told: u32,
    /// Segments sent by limited transmit since the last new ACK.
    pub(crate) limited: u8,
    /// The marks that the present ACK reports.
    pub(crate) mark: Mark,
    /// The mark that the last cut answered (multi-level ECN).
    pub(crate) cut_level: Mark,
    /// The count of marks that the ACE field reported last, modulo eight (AccECN).
    pub(crate) marks_known: u8,
    /// The reason why the window was cut last.
    pub(crate) last_event: Event,
    /// The use of ECN that both ends have agreed on.
    pub(crate) agreed: Ecn,
    /// The ECN field of data that are sent for the first time, and again.
    pub(crate) field: Codepoint,
    pub(crate) field_again: Codepoint,
    /// The ACE field of the next segment, and the count behind it: the ACKs that arrived marked CE,
    /// modulo eight (AccECN).
    pub(crate) ace: Bits,
    pub(crate) acks_marked: u8,
    /// SYNs sent.
    pub(crate) syns: u8,
    /// The next new segment says that the window was reduced.
    pub(crate) cwr: bool,
    pub(crate) ecn_backoff: bool,
    /// Marked at a window of one: nothing is sent before the timer expires.
    pub(crate) waits_for_timer: bool,
    pub(crate) stopped: bool,
    /// Somebody paces segments, or they leave in bursts.
    pub(crate) paced: bool,
    /// The window's pace does, and not the control.
    pub(crate) window_paces: bool,
    /// Nobody does, nobody holds them back otherwise, no record is kept of them, and they have no
    /// timestamps: one question for each segment instead of four.
    pub(crate) plain: bool,
    /// The control, or the record of what is under way, hears of every ACK.
    pub(crate) heard: bool,
    /// It does, or ACKs tell of marks, or the application has stopped: one question for each ACK
    /// instead of three.
    pub(crate) attends: bool,
    /// Slow start has an end of its own or counts every segment, or cwnd is whole.
    steps: bool,
    /// The window's use is accounted for.
    pub(crate) accounts: bool,
    /// Segments carry timestamps.
    pub(crate) stamps: bool,
    pub(crate) control: Control,
    pub(crate) rtt: RttEstimator,
    pub(crate) counters: Counters,
    /// How much of the window is used, where somebody asks for it.
    usage: Option<Box<Usage>>,
    /// What growth has short of a segment, where cwnd is whole.
    part: f64,
    /// The record of each segment under way, where somebody asks for it.
    pub(crate) log: Option<Box<SentLog>>,
    /// What ends slow start before a loss.
    pub(crate) hystart: Option<Box<Watch>>,
    /// The last ESCE.
    pub(crate) sce: sce::Recent,
    pub(crate) initial_window: u32,
    /// Packets reported as marked.
    pub(crate) delivered_ce: u64,
    /// The bursts in which segments leave, where they do.
    pub(crate) bursts: Option<Box<Bursts>>,
    /// The socket's buffer, where it is not taken for endless.
    pub(crate) buffer: Option<Box<SendBuffer>>,
    /// What reads AccECN's option, or its field in Linux's way, where that is asked for.
    pub(crate) decoder: Option<Box<Decoder>>,
}

impl Connection {
    /// Returns one that has sent nothing. `phase` in [0, 1) is the phase of the host's tick;
    /// `records`: recovery needs a record of each segment under way.
    pub(crate) fn new(p: Arc<TcpParams>, phase: f64, records: bool) -> Self {
        let phase = Duration::from_nanos((phase * p.rtt.tick.as_nanos() as f64) as u64);
        let control = Control::new(&p.control);
        let paced = control.paces() || p.pacing.by_window() || p.pacing.max_rate.is_some();
        let window_paces = p.pacing.by_window() && !control.paces();
        let hystart = Watch::new(p.hystart.hystart, paced, p.segment_bytes());
        let records = records || control.records() || hystart.is_some();
        let bursts = Bursts::new(&p.pacing.keys);
        let paced = paced || bursts.is_some();
        let heard = control.watches() || records || p.timestamps;
        let accounts = p.idle_restart || p.window_validation == Validation::Linux;
        let accounts = accounts && control.minds_use();
        Connection {
            highest_ack: -1,
            last_ack: -1,
            next: 0,
            max_sent: -1,
            limit: 0,
            window: Window { cwnd: 1.0, ssthresh: p.initial_ssthresh.unwrap_or(f64::INFINITY) },
            recover: if p.quirks().recover_starts_at_0() { 0 } else { -1 },
            last_event: Event::None,
            limited: 0,
            peer_window: p.window_start.unwrap_or(p.window),
            told: 0,
            initial_window: p.initial_window,
            part: 0.0,
            usage: accounts.then(|| Box::new(Usage::new(f64::from(p.initial_window)))),
            accounts,
            rtt: RttEstimator::new(&p.rtt, phase),
            timed: Time::NEVER,
            // With timestamps no segment is timed: each ACK tells its round trip.
            timed_high: if p.timestamps { i64::MAX } else { -1 },
            stamps: p.timestamps,
            timers: Timers::IDLE,
            pacer: Pacer::IDLE,
            bursts,
            buffer: SendBuffer::new(&p, control.buffered()),
            mark: Mark::None,
            cut_level: Mark::None,
            marks_known: accecn::FIRST,
            agreed: Ecn::Off,
            field: Codepoint::NotEct,
            field_again: Codepoint::NotEct,
            ace: accecn::ON_DATA,
            acks_marked: 0,
            syns: 0,
            cwr: false,
            ecn_backoff: false,
            waits_for_timer: false,
            stopped: false,
            paced,
            window_paces,
            plain: !paced && !records && p.send_overhead == Duration::ZERO && !p.timestamps,
            heard,
            attends: heard,
            log: records.then(Box::default),
            steps: hystart.is_some() || p.whole_cwnd || p.growth == GrowthPer::Segments,
            hystart,
            sce: sce::Recent::default(),
            delivered_ce: 0,
            decoder: decodes(&p).then(|| Box::new(Decoder::new(p.accecn.ace, p.segment_bytes()))),
            control,
            counters: Counters::default(),
            p,
        }
    }

    /// Returns the first data segment: 1 after a SYN, else 0.
    pub(crate) fn first_data(&self) -> i64 {
        i64::from(self.p.handshake)
    }

    /// Returns what is remembered of a segment under way.
    pub(crate) fn segment(&self, seq: i64) -> Option<&Sent> {
        self.log.as_ref()?.get(seq)
    }

    // ---- the window ---------------------------------------------------------------------------

    /// Returns how many segments may be outstanding: the congestion window, and by how much
    /// recovery inflates it, within the receiver's.
    #[inline]
    pub(crate) fn usable(&self, inflation: f64) -> i64 {
        ((self.window.cwnd + inflation) as i64).min(i64::from(self.peer_window))
    }

    fn window_in_force(&self, inflation: f64) -> f64 {
        (self.window.cwnd + inflation).min(f64::from(self.peer_window))
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

    /// Returns the segments that a cut by a factor multiplies.
    pub(crate) fn cut_base(&self, inflation: f64) -> f64 {
        match self.p.ssthresh_from {
            SsthreshFrom::Window => self.window_in_force(inflation),
            SsthreshFrom::Cwnd => self.window.cwnd,
            SsthreshFrom::Flight => {
                // RFC 5681 3.2 (2): segments of limited transmit do not count. After a timeout, and
                // in SACK's recovery, far more is unacknowledged than cwnd lets into the network.
                let flight = (self.flight() - i64::from(self.limited)).max(0) as f64;
                flight.min(self.window.cwnd)
            }
        }
    }

    fn a_cut(&self, cause: Cause, base: f64) -> Cut {
        let whole = self.p.ssthresh_from == SsthreshFrom::Window;
        let abe = match self.agreed {
            Ecn::Sce if cause == Cause::Mark => {
                self.sce.leaves(self.control.cuts_marks_as_losses())
            }
            _ => self.p.abe.leaves(cause, &self.window),
        };
        Cut { cause, base, reno: self.reno_factor(), abe, floor: self.p.cwnd_floor, whole }
    }

    /// Has the control cut its window, which recovery has inflated.
    pub(crate) fn cut(&mut self, cause: Cause, inflation: f64) {
        let cut = self.a_cut(cause, self.cut_base(inflation));
        self.control.on_cut(&cut, &mut self.window);
        self.was_cut(cause);
    }

    /// Cut windows are whole, where cwnd is.
    fn rounded(&mut self) {
        if self.p.whole_cwnd {
            self.window.round();
            self.part = 0.0;
        }
    }

    /// Has the control cut its window for a multi-level mark: table 3 leaves `table_3` of `window`
    /// segments.
    pub(crate) fn cut_by_level(&mut self, cause: Cause, table_3: f64, window: f64) {
        let cut = self.a_cut(cause, window);
        self.control.on_level(table_3, &cut, &mut self.window);
        self.was_cut(cause);
    }

    fn was_cut(&mut self, cause: Cause) {
        self.rounded();
        self.cwr = true;
        if let Some(hystart) = &mut self.hystart {
            hystart.on_cut(cause, self.max_sent);
        }
    }

    /// Whether the window is what limits sending, so that it may grow: `flight_before` segments were
    /// outstanding before the ACK.
    #[inline]
    pub(crate) fn window_limited(&self, flight_before: i64) -> bool {
        match self.p.window_validation {
            Validation::Off => true,
            Validation::Rfc => (flight_before as f64) + 1.0 > self.window.cwnd || self.waits(),
            Validation::Linux => self.usage.as_ref().is_none_or(|u| u.lets_grow(&self.window)),
        }
    }

    /// Returns the segments in flight, as well as they are known.
    fn in_flight(&self) -> u64 {
        self.log.as_ref().map_or(self.flight() as u64, |log| log.in_flight())
    }

    /// Whether the window had room for what waits to become a burst: it is the limit all the same.
    fn waits(&self) -> bool {
        self.bursts.as_ref().is_some_and(|b| b.waits)
    }

    /// The application has `segments` more.
    pub(crate) fn give(&mut self, segments: i64) {
        match &mut self.buffer {
            None => self.limit = self.limit.saturating_add(segments),
            Some(buffer) => {
                buffer.give(segments);
                self.write();
            }
        }
    }

    /// The application writes what its buffer has room for. Returns whether it has.
    #[cold]
    #[inline(never)]
    pub(crate) fn write(&mut self) -> bool {
        let cwnd = (self.window.cwnd as i64).max(1);
        let room = cwnd - self.in_flight() as i64;
        let Some(buffer) = &mut self.buffer else { return false };
        let open = (room > 0).then_some(cwnd);
        let limit = buffer.written(self.highest_ack + 1, self.limit, open);
        if limit == self.limit {
            return false;
        }
        // Linux: all that was written at once has left when the next write finds room.
        if self.next >= self.limit && room > buffer.write() {
            if let Some(log) = &mut self.log {
                log.starved();
            }
        }
        self.limit = limit;
        true
    }

    /// Returns one past the last segment that the application has given.
    pub(crate) fn given(&self) -> i64 {
        self.buffer.as_ref().map_or(self.limit, |buffer| buffer.given())
    }

    /// Whether all that the application has given was sent.
    #[inline]
    pub(crate) fn sent_all(&self) -> bool {
        self.next >= self.limit && self.limit >= self.given()
    }

    /// Keeps account of the window's use, now that all was sent that may be. `open`: nothing is
    /// being repaired.
    #[inline(never)]
    pub(crate) fn account(&mut self, now: Time, open: bool) {
        let in_flight =
            self.in_flight().max(if self.waits() { self.window.cwnd as u64 } else { 0 });
        let full = self.control.full();
        let s = Standing {
            highest_ack: self.highest_ack,
            max_sent: self.max_sent,
            in_flight,
            sent: self.counters.sent,
            rto: self.rtt.timeout(),
            // Linux has one setting for a window that goes unused and for a pause.
            open: open
                && !full
                && self.p.idle_restart
                && self.p.window_validation == Validation::Linux,
        };
        if let Some(usage) = &mut self.usage {
            usage.sent(now, &s, &mut self.window);
        }
    }

    /// The application gives data, of which nothing may have been outstanding for long.
    #[cold]
    #[inline(never)]
    pub(crate) fn resume(&mut self, now: Time) {
        let idle = self.highest_ack == self.max_sent && self.max_sent >= self.first_data();
        if idle && self.p.idle_restart && !self.control.full() {
            let rto = self.rtt.timeout();
            if let Some(usage) = &mut self.usage {
                usage.resumes(now, rto, &mut self.window);
            }
        }
    }

    /// SCE: the control gives way to an ACK of `acked` segments that tells of some congestion.
    pub(crate) fn give_way(&mut self, now: Time, acked: i64) {
        let before = self.window.cwnd;
        self.control.on_some_congestion(now, acked as f64, &mut self.window);
        if self.p.whole_cwnd {
            self.window.move_whole(before, &mut self.part);
        }
    }

    /// Lets the window grow at an ACK: `acked` segments are newly acknowledged, `flight_before`
    /// were outstanding before it.
    #[inline(always)]
    pub(crate) fn grow(&mut self, now: Time, acked: i64, flight_before: i64) {
        // RFC 7661: whether the window was what limited us.
        let used = self.window_limited(flight_before);
        let acked = match self.p.growth {
            GrowthPer::Acks => 1.0,
            GrowthPer::Bytes | GrowthPer::Segments => acked as f64,
        };
        let g = |every| Growth {
            now,
            seq: self.highest_ack,
            next: self.next,
            acked,
            every,
            used,
            rtt: &self.rtt,
            rtt_params: &self.p.rtt,
            quirks: self.p.quirks(),
        };
        match &mut self.control {
            // Inlined, it needs no more of what there is than it reads.
            Control::Reno(reno) if !self.steps => reno.grow(&g(false), &mut self.window),
            control => {
                let g = g(self.p.growth == GrowthPer::Segments);
                let before = self.window.cwnd;
                if self.hystart.as_ref().is_none_or(|h| !h.slow_start(&g, &mut self.window)) {
                    control.grow(&g, &mut self.window);
                }
                if self.p.whole_cwnd {
                    self.window.move_whole(before, &mut self.part);
                }
            }
        }
    }

    // ---- the retransmission timer -------------------------------------------------------------

    pub(crate) fn set_timer(&mut self, now: Time) {
        self.timers.set(Timer::Rtx, now + self.rtt.timeout());
    }

    /// After a new ACK (RFC 6298, 5.2 and 5.3).
    pub(crate) fn new_ack_timer(&mut self, now: Time) {
        let always = self.p.quirks().timer_always_runs();
        if self.max_sent > self.highest_ack || self.waits_for_timer || always {
            self.set_timer(now);
        } else {
            self.timers.stop(Timer::Rtx);
        }
    }

    /// Duplicate ACKs: restart the timer; `back`: send on from the first hole.
    pub(crate) fn restart_timer(&mut self, now: Time, back: bool) {
        self.set_timer(now);
        if back {
            self.next = self.highest_ack + 1;
        }
        self.timed = Time::NEVER;
    }

    /// Backs the timer off (RFC 6298, 5.5).
    pub(crate) fn back_off(&mut self) {
        let syn = self.highest_ack < 0 && self.p.handshake;
        if !(syn && u32::from(self.syns) <= self.p.rtt.linear_syns) {
            self.rtt.back_off(&self.p.rtt);
        }
    }

    /// Forgets the back-off (ns-2: SACK's partial ACKs do).
    pub(crate) fn end_back_off(&mut self) {
        self.rtt.restore(&self.p.rtt);
    }

    /// The retransmission timer has expired, and what was being repaired is forgotten: cuts the
    /// window to one segment, and goes back to the first hole.
    pub(crate) fn timeout(&mut self, now: Time) {
        let quirks = self.p.quirks();
        let outstanding = self.highest_ack < self.max_sent;
        if std::mem::take(&mut self.waits_for_timer) && !outstanding {
            return; // what the mark asked for; nothing was lost
        }
        self.window.cwnd = self.window.cwnd.max(1.0);
        self.recover = self.max_sent;
        if self.highest_ack == -1 {
            // RFC 6298 (5.7), RFC 5681 3.1: a lost SYN means an initial window of one segment.
            self.initial_window = 1;
        }
        if !outstanding {
            // Nothing to repair: the window was below one segment.
            self.cut(Cause::Again, 0.0);
        } else if self.last_event == Event::Mark && quirks.timeout_spares_a_marked_window() {
            // In recovery from an ECN cut: ssthresh is not cut again.
            self.cut(Cause::Again, 0.0);
        } else {
            self.counters.timeouts += 1;
            // RFC 5681 3.1: ssthresh stays when the timer has already sent the segment again.
            let again = self.last_event == Event::Timeout && !quirks.every_timeout_cuts();
            self.cut(if again { Cause::Again } else { Cause::Timeout }, 0.0);
        }
        if outstanding {
            self.back_off();
        }
        self.limited = 0;
        self.restart_timer(now, true);
        self.last_event = Event::Timeout;
    }

    // ---- ACKs ---------------------------------------------------------------------------------

    /// Tells the record and the control of an ACK that newly reports `marked` segments as marked.
    /// Nothing else has been done with the ACK. `each` hears of every segment that it newly reports,
    /// where there is a record. Returns its news of them.
    #[inline]
    pub(crate) fn tell(
        &mut self,
        now: Time,
        ack: &Ack,
        marked: i64,
        each: impl FnMut(i64, &Sent),
    ) -> Option<News> {
        let of_log = self.log.as_mut().map(|log| log.on_ack(now, ack, each));
        if self.stamps && ack.seq > self.highest_ack && self.p.recovery != Recovery::Rack {
            self.sample_echo(now, ack);
        }
        if !self.control.watches() && self.hystart.is_none() {
            return of_log;
        }
        let newly = ack.seq - self.highest_ack;
        let delivered = match &of_log {
            Some(news) => news.delivered as i64,
            None => delivered(&mut self.told, newly),
        };
        let (newest, once) = of_log.map_or((None, false), |news| (news.newest, news.once));
        let (seq, max_sent, rtt) = (ack.seq, self.max_sent, self.rtt.last());
        let marked_bytes = self.decoder.as_ref().and_then(|d| d.marked_bytes);
        let segment = self.p.segment_bytes();
        let a = Acked {
            now,
            seq,
            newly,
            delivered,
            newest,
            once,
            marked,
            marked_bytes,
            segment,
            max_sent,
            rtt,
        };
        if let Some(hystart) = &mut self.hystart {
            hystart.on_ack(&a, &mut self.window);
        }
        self.control.on_ack(&a, &mut self.window);
        of_log
    }

    /// Takes in an ACK of new data: sequence state, round trip, timer. Growth is
    /// [`Connection::new_ack`]'s.
    #[inline(always)]
    pub(crate) fn advance(&mut self, now: Time, ack: &Ack) {
        self.limited = 0;
        self.last_ack = ack.seq;
        self.highest_ack = ack.seq;
        self.next = self.next.max(ack.seq + 1);
        if self.timed != Time::NEVER && ack.seq >= self.timed_high {
            if !(self.ecn_backoff && self.mark != Mark::None) {
                self.rtt.restore(&self.p.rtt);
                self.ecn_backoff = false;
            }
            let sent = std::mem::replace(&mut self.timed, Time::NEVER);
            self.rtt.sample(&self.p.rtt, sent, now);
            self.rtt.acknowledged(&self.p.rtt, self.highest_ack, self.max_sent);
        }
        self.new_ack_timer(now);
    }

    /// An ACK of new data outside recovery: advance, then grow unless it tells of a mark.
    #[inline]
    pub(crate) fn new_ack(&mut self, now: Time, ack: &Ack) {
        self.new_ack_after(now, ack, 0);
    }

    /// The same after so many duplicates. Each of them has reported a segment, which does not count
    /// again where every segment counts.
    #[inline]
    pub(crate) fn new_ack_after(&mut self, now: Time, ack: &Ack, dupacks: u32) {
        let (mut acked, flight) = (ack.seq - self.highest_ack, self.flight());
        if dupacks > 0 && self.p.growth == GrowthPer::Segments {
            acked = (acked - i64::from(dupacks)).max(1);
        }
        self.advance(now, ack);
        if self.mark == Mark::None {
            self.grow(now, acked, flight);
            self.ecn_backoff = false;
        }
        self.opened(ack);
    }

    /// The SYN's answer, or that of the first segment: the window opens.
    #[inline]
    pub(crate) fn opened(&mut self, ack: &Ack) {
        if self.last_ack == 0 {
            if self.p.handshake {
                self.agree(ack);
            }
            self.window.cwnd = f64::from(self.initial_window);
        }
    }

    /// A segment that was sent once, at `sent`, gives a sample of the round trip.
    pub(crate) fn sample(&mut self, sent: Time, now: Time) {
        self.rtt.restore(&self.p.rtt);
        self.rtt.sample(&self.p.rtt, sent, now);
        self.rtt.acknowledged(&self.p.rtt, self.highest_ack, self.max_sent);
    }

    /// Returns the timestamp of a segment that leaves at `at`.
    pub(crate) fn stamp(&self, at: Time) -> Stamp {
        if self.stamps {
            Stamp::of(at, self.p.rtt.stamp_unit())
        } else {
            Stamp::NONE
        }
    }

    /// An ACK of new data gives a sample of the round trip by the timestamp that it returns,
    /// whatever was sent again (RFC 7323, section 4). Each of a window's ACKs gives one, and weighs
    /// the less (appendix G). Returns the round trip.
    #[cold]
    #[inline(never)]
    pub(crate) fn sample_echo(&mut self, now: Time, ack: &Ack) -> Option<Duration> {
        let (sent, end) = ack.echo.round_trip(now, self.p.rtt.stamp_unit())?;
        if !(self.ecn_backoff && self.mark != Mark::None) {
            self.rtt.restore(&self.p.rtt);
            self.ecn_backoff = false;
        }
        let of = (self.flight().max(1) as u64).div_ceil(2);
        self.rtt.sample_of(&self.p.rtt, sent, end, of as f64);
        self.rtt.acknowledged(&self.p.rtt, ack.seq.max(self.highest_ack), self.max_sent);
        Some(end.since(sent))
    }

    /// A partial ACK has moved the left edge inside recovery; its round trip is not sampled (Karn).
    pub(crate) fn advance_partially(&mut self, ack: &Ack) {
        self.last_ack = ack.seq;
        self.highest_ack = ack.seq;
        self.next = self.next.max(ack.seq + 1);
        if self.timed != Time::NEVER && ack.seq >= self.timed_high {
            self.timed = Time::NEVER;
            self.rtt.restore(&self.p.rtt);
        }
    }
}

/// Returns whether more than the ACE field, by the RFC's rules, tells a sender of marks.
fn decodes(p: &TcpParams) -> bool {
    p.ecn == Ecn::AccEcn && (p.accecn.accecn_option || p.accecn.ace == Ace::Linux)
}

/// Returns how many segments an ACK says have arrived that newly acknowledges `newly`. `told`:
/// those that duplicates have reported already.
fn delivered(told: &mut u32, newly: i64) -> i64 {
    match newly {
        ..0 => 0, // from the past
        0 => {
            *told += 1;
            1
        }
        _ => {
            // A cumulative ACK reports at least the segment that caused it.
            let old = (*told).min((newly - 1).min(i64::from(u32::MAX)) as u32);
            *told -= old;
            newly - i64::from(old)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One lost, four duplicates, an ACK of all five: five segments arrived, not nine.
    #[test]
    fn duplicates_count_once() {
        let mut told = 0;
        let of: Vec<i64> =
            [1, 0, 0, -3, 0, 0, 5].iter().map(|n| delivered(&mut told, *n)).collect();
        assert_eq!((of, told), (vec![1, 1, 1, 0, 1, 1, 1], 0));
        // Of three duplicates an ACK of two can take back one.
        assert_eq!([0, 0, 0, 2].map(|n| delivered(&mut told, n)), [1, 1, 1, 1]);
        assert_eq!(told, 2);
    }
}
