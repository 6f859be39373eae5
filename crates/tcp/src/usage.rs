//! How much of its window a sender uses: what Linux asks before it lets the window grow
//! (`tcp_is_cwnd_limited`), and what it makes of a window that goes unused (`tcp_cwnd_validate`,
//! RFC 2861) or of one after a pause (`tcp_cwnd_restart`).

use crate::control::window::Window;
use penstock_units::param::{Field, Ty, Value};
use penstock_units::{Duration, Time};

/// When cwnd may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// Always.
    Off,
    /// While it is full when the ACK comes (RFC 7661).
    Rfc,
    /// While it was what limited sending, or nearly was, in the last round trip.
    Linux,
}

const LINUX: &str = "linux";

/// `true`, `false`, or the word.
impl Field for Validation {
    const TY: Ty = Ty::Or(&Ty::Bool, &[LINUX]);
    fn read(value: Option<&Value>) -> Option<Self> {
        match value? {
            Value::Bool(false) => Some(Validation::Off),
            Value::Bool(true) => Some(Validation::Rfc),
            Value::Word(word) if word == LINUX => Some(Validation::Linux),
            _ => None,
        }
    }
    fn value(&self) -> Option<Value> {
        Some(match self {
            Validation::Off => Value::Bool(false),
            Validation::Rfc => Value::Bool(true),
            Validation::Linux => Value::Word(LINUX.into()),
        })
    }
}

/// Linux's account of the window's use. Counts are in segments.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    /// The window was full in this round trip.
    limited: bool,
    /// The most that were outstanding in it, unless the window was full.
    most: i64,
    /// It ends when this segment is acknowledged.
    end: i64,
    /// Since when the window has not been what limits sending, and the most outstanding since then.
    since: Time,
    used: i64,
    /// When something was sent last, and how much had been sent then.
    sent_at: Time,
    sent: u64,
    /// The window is not brought below this.
    least: f64,
}

/// How a sender stands once it has sent what it may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) highest_ack: i64,
    pub(crate) max_sent: i64,
    /// Segments in flight.
    pub(crate) in_flight: u64,
    /// Segments sent so far, retransmissions included.
    pub(crate) sent: u64,
    pub(crate) rto: Duration,
    /// Nothing is being repaired, so that an unused window may shrink.
    pub(crate) open: bool,
}

impl Usage {
    /// `least`: the initial window.
    pub(crate) fn new(least: f64) -> Self {
        Usage {
            limited: false,
            most: 0,
            end: -1,
            since: Time::ZERO,
            used: 0,
            sent_at: Time::ZERO,
            sent: 0,
            least,
        }
    }

    /// Whether the window may grow.
    pub(crate) fn lets_grow(&self, w: &Window) -> bool {
        self.limited || w.cwnd < w.ssthresh && w.cwnd < 2.0 * self.most as f64
    }

    /// A sender has sent what it may. A window that has not been what limits sending for a timeout
    /// shrinks half of the way to what was used of it.
    pub(crate) fn sent(&mut self, now: Time, s: &Standing, w: &mut Window) {
        let full = s.in_flight as i64 >= w.cwnd as i64;
        let sends = s.sent > self.sent;
        if !full && !sends {
            return;
        }
        if sends {
            (self.sent, self.sent_at) = (s.sent, now);
        }
        let outstanding = s.max_sent - s.highest_ack;
        if s.highest_ack >= self.end || full || !self.limited && outstanding > self.most {
            (self.limited, self.most, self.end) = (full, outstanding, s.max_sent);
        }
        if self.lets_grow(w) {
            (self.since, self.used) = (now, 0);
            return;
        }
        self.used = self.used.max(outstanding);
        if now.since(self.since) >= s.rto && s.open {
            let used = (self.used as f64).max(self.least);
            if used < w.cwnd {
                w.ssthresh = remembered(w);
                w.cwnd = ((w.cwnd + used) / 2.0).floor();
            }
            (self.since, self.used) = (now, 0);
        }
    }

    /// Something is to be sent, and nothing is outstanding.
    pub(crate) fn resumes(&mut self, now: Time, rto: Duration, w: &mut Window) {
        let mut idle = now.since(self.sent_at).as_ticks();
        let rto = rto.as_ticks().max(1);
        if self.sent == 0 || idle <= rto {
            return;
        }
        w.ssthresh = remembered(w);
        let least = self.least.min(w.cwnd);
        while idle > rto && w.cwnd > least {
            w.cwnd = (w.cwnd / 2.0).floor();
            idle -= rto;
        }
        w.cwnd = w.cwnd.max(least);
        (self.since, self.used) = (now, 0);
    }
}

/// ssthresh remembers three quarters of a window that is given up.
fn remembered(w: &Window) -> f64 {
    w.ssthresh.max((w.cwnd / 2.0).floor() + (w.cwnd / 4.0).floor())
}
