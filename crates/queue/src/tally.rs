//! What has become of a link's packets so far: for whoever looks at a run while it goes on.

use crate::ring::Ring;
use penstock_units::{Duration, Time};

/// Counters of a link's packets since its beginning, whatever the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that arrived.
    pub arrivals: u64,
    /// Those that were lost at the queue, before they were let in or after.
    pub drops: u64,
    /// Marks, at the time at which the discipline sets them.
    pub marks: u64,
    /// Packets that started to be sent, their bytes, and what they have waited in all.
    pub departures: u64,
    /// See above.
    pub bytes: u64,
    /// See above.
    pub waited: Duration,
}

impl Tally {
    /// Returns what has been counted since `then`.
    #[must_use]
    pub fn since(self, then: Self) -> Self {
        Tally {
            arrivals: self.arrivals - then.arrivals,
            drops: self.drops - then.drops,
            marks: self.marks - then.marks,
            departures: self.departures - then.departures,
            bytes: self.bytes - then.bytes,
            waited: Duration::from_ticks(self.waited.as_ticks() - then.waited.as_ticks()),
        }
    }

    /// Returns what those that started to be sent have waited on average, seconds.
    pub fn mean_wait_s(&self) -> Option<f64> {
        (self.departures > 0).then(|| self.waited.as_secs_f64() / self.departures as f64)
    }
}

/// What counts them.
#[derive(Clone)]
pub(crate) struct Counting {
    pub(crate) tally: Tally,
    /// When those arrived that wait at a lazy link.
    waiting: Ring<Time>,
}

impl Counting {
    pub(crate) fn new() -> Self {
        Counting { tally: Tally::default(), waiting: Ring::new(Time::ZERO) }
    }

    /// A packet of `bytes` is let in at `now` and starts to be sent at `start`: [`Time::NEVER`]
    /// where that is not known.
    pub(crate) fn accepted(&mut self, now: Time, start: Time, bytes: u32, marked: bool) {
        self.tally.arrivals += 1;
        self.tally.marks += u64::from(marked);
        if start == now {
            self.sent(now, now, bytes);
        } else if start != Time::NEVER {
            self.will_start(now);
        }
    }

    /// It is known when a packet that came at `arrived` starts to be sent, behind the others.
    pub(crate) fn will_start(&mut self, arrived: Time) {
        self.waiting.push(arrived);
    }

    /// The first of them starts to be sent.
    pub(crate) fn started(&mut self, start: Time, bytes: u32) {
        if let Some(arrived) = self.waiting.pop() {
            self.sent(arrived, start, bytes);
        }
    }

    pub(crate) fn sent(&mut self, arrived: Time, start: Time, bytes: u32) {
        self.tally.departures += 1;
        self.tally.bytes += u64::from(bytes);
        self.tally.waited = self.tally.waited + start.since(arrived);
    }
}
