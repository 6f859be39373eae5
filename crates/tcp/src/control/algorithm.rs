//! This trait states what a congestion control is asked, and what it is told. Every method has a
//! default, Reno's, so that a control states only what it does differently.

use crate::control::model::Model;
use crate::control::window::Window;
use crate::ecn::bits::Ecn;
use crate::info::CaState;
use crate::quirks::Quirks;
use crate::rtt::{RttEstimator, RttParams};
use crate::sent::{Acknowledged, DeliveryRate, Sent};
use penstock_units::param::ParamError;
use penstock_units::{Duration, Time};

/// An ACK, as a control sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    pub(crate) now: Time,
    /// The highest segment received in order.
    pub(crate) seq: i64,
    /// Segments newly acknowledged; 0: a duplicate, below 0: an ACK from the past.
    pub(crate) newly: i64,
    /// Segments that it says have arrived. A duplicate reports one, which the cumulative ACK after
    /// it does not report again.
    pub(crate) delivered: i64,
    /// With [`CongestionControl::RECORDS`]: the last segment newly acknowledged, and whether it and
    /// all before it were sent once.
    pub(crate) newest: Option<Acknowledged>,
    pub(crate) once: bool,
    /// Packets newly reported as marked.
    pub(crate) marked: i64,
    /// Bytes of payload newly reported as marked; `None`: the ACK does not tell.
    pub(crate) marked_bytes: Option<i64>,
    /// Bytes of payload in a full segment.
    pub(crate) segment: u32,
    /// The highest segment sent.
    pub(crate) max_sent: i64,
    /// The last round-trip sample.
    pub(crate) rtt: Option<Duration>,
}

impl Acked {
    /// Returns the round trip that the ACK measures: that of the last segment that it newly
    /// acknowledges, if all of them were sent once and no ACK had reported it. The SYN's does not
    /// count: it has no data.
    pub(crate) fn sample(&self) -> Option<Duration> {
        let newest = self.newest.filter(|s| self.once && !s.sacked && self.seq > 0)?;
        Some(self.now.since(newest.at))
    }

    /// Returns the data segments newly reported as marked: of their bytes, where those are known,
    /// and which the field of packets may have got wrong.
    pub(crate) fn marked_segments(&self) -> f64 {
        match self.marked_bytes {
            Some(bytes) => bytes as f64 / f64::from(self.segment),
            None => self.marked as f64,
        }
    }
}

#[cfg(test)]
impl Acked {
    /// The ACK of `seq`, which newly acknowledges `newly` segments that were not reported before.
    pub(crate) fn of(now: Time, seq: i64, newly: i64) -> Self {
        Acked {
            now,
            seq,
            newly,
            delivered: newly,
            newest: None,
            once: true,
            marked: 0,
            marked_bytes: None,
            segment: 1000,
            max_sent: seq,
            rtt: None,
        }
    }
}

#[cfg(test)]
impl<'a> Growth<'a> {
    /// An ACK at `now` of `acked` segments, of a window that limits sending.
    pub(crate) fn of(now: Time, acked: f64, rtt: &'a RttEstimator, p: &'a RttParams) -> Self {
        let (seq, next, quirks) = (0, 0, Quirks::new(false));
        Growth { now, seq, next, acked, every: false, used: true, rtt, rtt_params: p, quirks }
    }
}

/// An ACK of new data outside recovery: the window may grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth<'a> {
    pub(crate) now: Time,
    /// The highest segment acknowledged, and the next one to send.
    pub(crate) seq: i64,
    pub(crate) next: i64,
    /// Segments that count towards growth.
    pub(crate) acked: f64,
    /// Whether all of them count in slow start, and not only one.
    pub(crate) every: bool,
    /// Whether the window was what limited sending (RFC 7661).
    pub(crate) used: bool,
    pub(crate) rtt: &'a RttEstimator,
    pub(crate) rtt_params: &'a RttParams,
    pub(crate) quirks: Quirks,
}

impl Growth<'_> {
    /// Returns the smoothed round trip in seconds.
    pub(crate) fn srtt(&self) -> f64 {
        self.rtt.smoothed(self.rtt_params)
    }
}

/// What an ACK did, once losses have been declared: for a control that sets window and pace itself.
/// Counts are in segments.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "each control reads some")]
pub(crate) struct Steered {
    pub(crate) now: Time,
    /// The highest segment received in order.
    pub(crate) seq: i64,
    /// The highest segment sent.
    pub(crate) max_sent: i64,
    /// Newly acknowledged, in order.
    pub(crate) acked: u64,
    /// Newly delivered, in order or not, and delivered so far.
    pub(crate) delivered: u64,
    pub(crate) delivered_total: u64,
    /// Newly declared lost, and declared lost so far.
    pub(crate) lost: u64,
    pub(crate) lost_total: u64,
    /// In flight before this ACK, and after it.
    pub(crate) prior_in_flight: u64,
    pub(crate) in_flight: u64,
    /// Newly reported as marked.
    pub(crate) marked: u64,
    /// The sample of the delivery rate that this ACK gave.
    pub(crate) rate: Option<DeliveryRate>,
    /// The sample of the round trip that this ACK gave.
    pub(crate) rtt: Option<Duration>,
    /// The smallest round trip of the last 300 s.
    pub(crate) min_rtt: Option<Duration>,
    /// The smoothed round trip.
    pub(crate) srtt: Option<Duration>,
    /// What the sender believes after this ACK, and what it believed before.
    pub(crate) state: CaState,
    pub(crate) before: CaState,
    /// The application limits sending.
    pub(crate) app_limited: bool,
    /// The window was what limited sending.
    pub(crate) window_limited: bool,
    /// The receiver may have held the ACK back: it answers a single segment, after a wait.
    pub(crate) delayed: bool,
    /// When the next segment may leave, by the pace.
    pub(crate) departs: Time,
    /// Payload bytes of a segment.
    pub(crate) segment: u32,
}

#[cfg(test)]
impl Steered {
    /// An ACK in state Open of one segment, the `delivered_total`th, with `in_flight` left.
    pub(crate) fn of(now: Time, delivered_total: u64, in_flight: u64) -> Self {
        let (state, seq) = (CaState::Open, delivered_total as i64);
        Steered {
            now,
            seq,
            max_sent: seq + in_flight as i64,
            acked: 1,
            delivered: 1,
            delivered_total,
            lost: 0,
            lost_total: 0,
            prior_in_flight: in_flight + 1,
            in_flight,
            marked: 0,
            rate: None,
            rtt: None,
            min_rtt: None,
            srtt: None,
            before: state,
            state,
            app_limited: false,
            window_limited: true,
            delayed: false,
            departs: now,
            segment: 1448,
        }
    }
}

/// What a steered control has done at an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Did {
    /// It holds sending back for now: rates say as little of the path as if the application did.
    pub(crate) holds_back: bool,
    /// It has cut its window for a mark.
    pub(crate) cut: bool,
}

/// The sender's random numbers, uniform in [0, 1).
pub(crate) type Random<'a> = &'a mut dyn FnMut() -> f64;

/// The event that a cut answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Loss,
    Timeout,
    /// The timer has expired, and the window was already cut for what it repairs: ssthresh stays.
    Again,
    Mark,
    /// A moderate mark in a window that was cut for an incipient one.
    Deeper,
}

/// A cut of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) cause: Cause,
    /// The segments that a cut by a factor multiplies: those outstanding, or the window in force.
    pub(crate) base: f64,
    /// Reno's factor: one half, or 1 − β3 under multi-level ECN.
    pub(crate) reno: f64,
    /// A factor that a mark has in its stead (RFC 8511, SCE).
    pub(crate) abe: Option<f64>,
    /// The congestion window never goes below this.
    pub(crate) floor: f64,
    /// ns-2: cwnd becomes what the cut leaves, without bounds; ssthresh is that in whole segments.
    pub(crate) whole: bool,
}

/// A congestion control, which owns its window. It hears of every ACK (`on_ack`), of those that may
/// let the window grow (`grow`), and of all that asks for less (`on_cut`, `on_level`). The methods
/// below these are the parts of Reno's answers: a descendant of Reno states those in which it
/// differs. A control that is none replaces the answers themselves. The timer and the repair of
/// losses are not its business.
pub(crate) trait CongestionControl: Sized {
    /// The parameters that a user sets.
    type Params;

    /// Whether the answer to marks depends on how many there are.
    const COUNTS_MARKS: bool = false;

    /// Whether its segments are ECT(1): it answers marks as L4S asks (RFC 9331).
    const SCALABLE: bool = false;

    /// Whether [`CongestionControl::on_ack`] does anything.
    const WATCHES: bool = false;

    /// Whether a record of each segment under way is kept for it: [`Acked::newest`], and the
    /// delivery rate.
    const RECORDS: bool = false;

    /// Whether SCE's authors have written an answer for it.
    const SCE: bool = false;

    /// Whether [`CongestionControl::pacing`] returns anything.
    const PACES: bool = false;

    /// Whether it sets the window, and the pace, itself, in [`CongestionControl::steer`]: nothing
    /// else moves the window then, except that a timeout sets it to what is in flight and one.
    /// Such a control needs `recovery = "rack"`.
    const FULL: bool = false;

    /// Whether it asks if the window limits sending ([`Growth::used`], [`Steered::window_limited`]).
    const MINDS_USE: bool = true;

    /// Returns the control of a connection that has sent nothing.
    fn new(p: &Self::Params) -> Self;

    /// Whether it has to hear of every ACK.
    fn watches(&self) -> bool {
        Self::WATCHES
    }

    /// Whether it needs a record of each segment under way.
    fn records(&self) -> bool {
        Self::RECORDS
    }

    /// Checks parameters against each other and against the use of ECN.
    fn check(_p: &Self::Params, _ecn: Ecn) -> Result<(), ParamError> {
        Ok(())
    }

    /// The first data were given, at `now`.
    fn started(&mut self, _now: Time) {}

    /// An ACK has arrived, whatever it says. Nothing else has been done with it.
    fn on_ack(&mut self, _a: &Acked, _w: &mut Window) {}

    /// An ACK of new data has arrived, outside recovery and without a mark: slow start below
    /// ssthresh, then congestion avoidance.
    #[inline]
    fn grow(&mut self, g: &Growth, w: &mut Window) {
        let mut rest = *g;
        if g.used && w.cwnd < w.ssthresh {
            if self.ends_slow_start() {
                w.ssthresh = w.cwnd.max(2.0);
            } else if g.every {
                rest.acked -= w.slow_start_by(g.acked);
                if rest.acked <= 0.0 {
                    return;
                }
            } else {
                return w.slow_start();
            }
        }
        w.cwnd = if g.used { self.avoid(&rest, w.cwnd) } else { self.unused(g, w.cwnd) };
    }

    /// The window is to be cut.
    fn on_cut(&mut self, c: &Cut, w: &mut Window) {
        if c.cause == Cause::Again {
            w.cwnd = 1.0;
            return;
        }
        let left = self.leaves(c, w);
        self.before_cut(c, w);
        w.set_ssthresh(left, c.whole);
        w.cwnd = match c.cause {
            Cause::Timeout | Cause::Again => 1.0,
            // RFC 3168 6.1.2: half of the window in use, down to one segment; only ssthresh stays
            // at two or above.
            Cause::Mark | Cause::Deeper if !c.whole => left.max(c.floor).min(w.cwnd),
            _ if !self.may_lift() => w.cwnd.min(w.ssthresh).max(c.floor),
            _ if c.whole => left.max(c.floor), // ns-2: unrounded and without a floor of two
            _ => w.ssthresh.max(c.floor),      // RFC 5681
        };
    }

    /// A multi-level mark is to cut the window; `table_3` is what the paper leaves of it.
    fn on_level(&mut self, table_3: f64, c: &Cut, w: &mut Window) {
        let left = self.level_leaves(table_3, &Cut { cause: Cause::Loss, ..*c }, w);
        self.before_cut(c, w);
        w.cwnd = left.max(c.floor).min(w.cwnd);
        w.set_ssthresh(left, c.whole);
    }

    /// Under `recovery = "rack"`: an ACK has arrived, and what it says of losses is known. Only
    /// asked of a control that is [`CongestionControl::FULL`].
    fn steer(&mut self, _s: &Steered, _w: &mut Window, _random: Random<'_>) -> Did {
        Did::default()
    }

    /// The application gives data after a pause in which nothing was under way. Only told to a
    /// control that is [`CongestionControl::FULL`].
    fn resumes(&mut self, _now: Time, _w: &mut Window, _random: Random<'_>) {}

    /// Under `recovery = "rack"`: a segment was declared lost, the `total`th so far. Only told to a
    /// control that is [`CongestionControl::FULL`].
    fn on_lost(&mut self, _sent: &Sent, _total: u64, _w: &mut Window) {}

    /// Under `recovery = "rack"`: the sender believes something else of its path. The window is
    /// still what it was.
    fn on_state(&mut self, _from: CaState, _to: CaState, _w: &mut Window) {}

    /// Under `recovery = "rack"`: the last cut was for nothing. The window is already what it was
    /// before the cut, at least.
    fn undo(&mut self, _w: &mut Window) {}

    /// SCE: an ACK of `acked` segments tells of some congestion. A window of such ACKs takes √W/2, and
    /// none of them leaves slow start a reason to go on.
    fn on_some_congestion(&mut self, _now: Time, acked: f64, w: &mut Window) {
        w.ssthresh = (w.cwnd / 2.0).max(2.0);
        w.shrink(acked * libm::sqrt(w.cwnd) / (2.0 * w.cwnd));
    }

    /// SCE: whether a mark with no ESCE before it is answered as a loss.
    fn cuts_marks_as_losses(&self) -> bool {
        false
    }

    /// Returns the time from one segment to the next, for a control that paces them: one over its
    /// rate, which is in segments as the window is.
    fn pacing(&self, _w: &Window) -> Option<Duration> {
        None
    }

    /// Returns the least segments of a burst, for a control that has its own.
    fn least_burst(&self) -> Option<u32> {
        None
    }

    /// Returns how many windows a socket's send buffer is to hold (Linux: `sndbuf_expand`).
    fn buffered(&self) -> u64 {
        2
    }

    /// Returns what it believes of its path.
    fn model(&self) -> Option<Model> {
        None
    }

    // ---- the parts of Reno's answers ----------------------------------------------------------

    /// Returns the window after an ACK of congestion avoidance, from `cwnd`.
    fn avoid(&mut self, g: &Growth, cwnd: f64) -> f64 {
        cwnd + g.acked / cwnd
    }

    /// Whether slow start ends here, below ssthresh.
    fn ends_slow_start(&mut self) -> bool {
        false
    }

    /// Returns the window after an ACK that could have let it grow, had it been what limited
    /// sending.
    fn unused(&mut self, _g: &Growth, cwnd: f64) -> f64 {
        cwnd
    }

    /// Returns what a cut leaves of the window.
    fn leaves(&self, c: &Cut, _w: &Window) -> f64 {
        c.abe.map_or(c.base * c.reno, |abe| (c.base * abe).max(2.0))
    }

    /// Returns what a multi-level mark leaves of the window; `table_3` is what the paper says, and
    /// `c` a loss at the same time (see `ecn/mecn.rs`).
    fn level_leaves(&self, table_3: f64, c: &Cut, w: &Window) -> f64 {
        table_3.max(self.leaves(c, w))
    }

    /// Whether a loss may leave cwnd at ssthresh even where that is above cwnd.
    fn may_lift(&self) -> bool {
        true
    }

    /// The window is about to be cut.
    fn before_cut(&mut self, _c: &Cut, _w: &Window) {}
}
