//! Adapters: what retunes the profile, and when. Each is one paper's contribution and stands in
//! that paper's file; here is what they have in common.

use crate::amecn::Levels;
use crate::ared::Floyd;
use crate::dt_red::Burst;
use crate::feng::Feng;
use crate::nred::Exponent;
use crate::pdt_red::Classes;
use crate::profile::Ramp;
use crate::red_at::Regions;
use crate::Packet;
use penstock_units::{Duration, Time};

/// An arrival as an adapter sees it: the average has taken it in, nothing is decided.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// When.
    pub now: Time,
    /// The new average.
    pub avg: f64,
    /// The instantaneous queue.
    pub q: f64,
    /// The packet.
    pub pkt: &'a Packet,
}

/// What retunes a member of the family.
#[derive(Clone, Debug)]
pub enum Adapter {
    /// Nothing: RED.
    None,
    /// Floyd's ARED: `max_p` by a timer.
    Floyd(Floyd),
    /// Feng's ARED: `max_p` when the average crosses a threshold.
    Feng(Feng),
    /// AMECN: the ceilings of both levels by a timer.
    Levels(Levels),
    /// NRED: the exponent when the average crosses a threshold.
    Exponent(Exponent),
    /// RED-AT: the thresholds by the region of the average.
    Regions(Regions),
    /// DT-RED: the thresholds by bursts and flows.
    Burst(Box<Burst>),
    /// PDT-RED: the thresholds of the packet's class.
    Classes(Classes),
}

impl Adapter {
    /// A packet arrived.
    #[inline]
    pub fn arrived(&mut self, a: &Arrival, r: &mut Ramp) {
        match self {
            Adapter::None => {}
            Adapter::Floyd(x) => x.arrived(a.now, a.avg, r),
            Adapter::Feng(x) => x.arrived(a.avg, r),
            Adapter::Levels(x) => x.arrived(a.now, a.avg, r),
            Adapter::Exponent(x) => x.arrived(a.avg, r),
            Adapter::Regions(x) => x.arrived(a.avg, r),
            Adapter::Burst(x) => x.arrived(a, r),
            Adapter::Classes(x) => x.arrived(a.q, a.pkt.class, r),
        }
    }

    /// When [`Adapter::tick`] is due.
    #[inline]
    pub fn next_tick(&self) -> Option<Time> {
        match self {
            Adapter::Floyd(x) => x.clock.next_tick(),
            Adapter::Levels(x) => x.clock.next_tick(),
            Adapter::Burst(x) => x.clock.next_tick(),
            _ => None,
        }
    }

    /// The time has come; the average is `avg`, the queue `q`.
    pub fn tick(&mut self, avg: f64, q: f64, r: &mut Ramp) {
        match self {
            Adapter::Floyd(x) => x.tick(avg, r),
            Adapter::Levels(x) => x.tick(avg, r),
            Adapter::Burst(x) => x.tick(avg, q, r),
            _ => {}
        }
    }
}

/// The clock of an adapter that acts every interval.
#[derive(Clone, Debug)]
pub struct Clock {
    interval: Duration,
    /// Acts at arrivals, the first one an interval after `at`, as ns-2 does; else on a timer.
    at_arrivals: bool,
    /// Timer: when due next. Arrivals: when the interval began.
    at: Time,
}

impl Clock {
    /// The first interval starts at time zero.
    pub fn new(interval: Duration, at_arrivals: bool) -> Self {
        Clock {
            interval,
            at_arrivals,
            at: if at_arrivals { Time::ZERO } else { Time::ZERO + interval },
        }
    }

    /// Whether an arrival at `now` finds the interval over.
    #[inline]
    pub fn over(&self, now: Time) -> bool {
        self.at_arrivals && now > self.at + self.interval
    }

    /// The interval begins again at `now`.
    pub fn restart(&mut self, now: Time) {
        self.at = now;
    }

    /// Whether arrivals, not a timer, drive it.
    pub fn at_arrivals(&self) -> bool {
        self.at_arrivals
    }

    /// When the timer is due.
    #[inline]
    pub fn next_tick(&self) -> Option<Time> {
        (!self.at_arrivals).then_some(self.at)
    }

    /// The timer has come.
    pub fn ticked(&mut self) {
        self.at += self.interval;
    }
}

/// Where the average stands between the thresholds; adapters that answer crossings act on entering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `avg < min_th`.
    Below,
    /// Between them; on one of them the status stays.
    Between,
    /// `avg > max_th`.
    Above,
}

impl Status {
    /// Moves; the status just entered, if it is another one.
    #[inline]
    pub fn enter(&mut self, avg: f64, r: &Ramp) -> Option<Status> {
        let now = if avg < r.min_th {
            Status::Below
        } else if avg > r.max_th {
            Status::Above
        } else if avg > r.min_th && avg < r.max_th {
            Status::Between
        } else {
            return None;
        };
        (std::mem::replace(self, now) != now).then_some(now)
    }
}
