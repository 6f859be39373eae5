//! A sender's timers: a few named slots, each of which runs or does not.

use penstock_units::Time;

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Retransmission: nothing has been acknowledged for too long (RFC 6298).
    Rtx,
    /// Nothing is sent before this: the random wait of `send_overhead`.
    Overhead,
    /// Pacing lets the next segment out.
    Release,
}

/// The times at which the timers expire; [`Time::NEVER`]: a timer does not run.
#[derive(Clone, Copy, Debug)]
pub struct Timers([Time; 3]);

impl Timers {
    /// No timer runs.
    pub(crate) const IDLE: Timers = Timers([Time::NEVER; 3]);

    /// Returns when a timer expires; [`Time::NEVER`]: it does not run.
    #[inline]
    pub fn at(&self, timer: Timer) -> Time {
        self.0[timer as usize]
    }

    /// Returns the first that expires.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        let [rtx, overhead, release] = self.0;
        rtx.min(overhead).min(release)
    }

    /// Whether a timer runs.
    #[inline]
    pub(crate) fn runs(&self, timer: Timer) -> bool {
        self.at(timer) != Time::NEVER
    }

    #[inline]
    pub(crate) fn set(&mut self, timer: Timer, at: Time) {
        self.0[timer as usize] = at;
    }

    #[inline]
    pub(crate) fn stop(&mut self, timer: Timer) {
        self.set(timer, Time::NEVER);
    }

    /// Stops a timer that has expired at `now`. Returns whether it has.
    #[inline]
    pub(crate) fn expired(&mut self, timer: Timer, now: Time) -> bool {
        let expired = self.at(timer) <= now;
        if expired {
            self.stop(timer);
        }
        expired
    }
}
