//! How packets wait at a link: by their computed departures, or held.

use crate::link::held::Held;
use penstock_aqm::{Aqm, Discipline};
use penstock_units::Time;
use std::collections::VecDeque;

/// A packet that waits at a lazy link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) start: Time,
    pub(crate) bytes: u32,
    pub(crate) flow: u32,
}

/// How packets wait.
pub(crate) enum Service {
    /// Departures are computed at arrival.
    Lazy { waiting: VecDeque<Waiting> },
    /// The packets themselves are held. `due`: the driver was asked to call [`Link::serve`].
    Eager { held: Held, due: bool },
}

impl Service {
    /// As the discipline needs it.
    pub(crate) fn new(aqm: &Discipline) -> Self {
        if aqm.decides_at_departure() || aqm.schedules() || aqm.draws() {
            Service::Eager { held: Held::new(aqm.schedules()), due: false }
        } else {
            Service::Lazy { waiting: VecDeque::new() }
        }
    }

    /// When the first waiting packet starts to be sent, where that is known.
    #[inline]
    pub(crate) fn next_start(&self) -> Time {
        match self {
            Service::Lazy { waiting } => waiting.front().map_or(Time::NEVER, |w| w.start),
            Service::Eager { .. } => Time::NEVER,
        }
    }

    /// Takes the first waiting packet of a lazy link.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        match self {
            Service::Lazy { waiting } => waiting.pop_front(),
            Service::Eager { .. } => None,
        }
    }

    /// Packets that wait.
    pub(crate) fn len(&self) -> usize {
        match self {
            Service::Lazy { waiting } => waiting.len(),
            Service::Eager { held, .. } => held.len(),
        }
    }
}
