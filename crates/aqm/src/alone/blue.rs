//! BLUE. W. Feng, K. Shin, D. Kandlur, D. Saha, "The BLUE active queue management algorithms",
//! IEEE/ACM ToN 10(4), 2002 (first as a technical report, 1999; INFOCOM 2001): one probability
//! `p_m` and no average.
//!
//! ```text
//! packet loss (or q > L):  if now − last > freeze_time:  p_m += d1, last = now
//! link idle:               if now − last > freeze_time:  p_m −= d2, last = now
//! ```
//! A loss is an overflow of the buffer; BLUE's own drops are none. A lazy link tells of idle time
//! only when it ends, so the events of idle time are made up for at the next arrival: until then
//! the published `p_m` is that of the idle time's start.

use crate::aqm::Aqm;
use crate::context::{at_least_a_microsecond, Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::signal::Classic;
use crate::verdict::Verdict;
use penstock_units::param::{num, num_open, ParamError};
use penstock_units::{group, params, words, Duration, QueueLen, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "blue",
    doc: "One probability, raised when packets are lost and lowered when the link is idle.",
    source: "Feng, Shin, Kandlur, Saha 2001",
    equations:
        "overflow (or q > L):  now − last > freeze_time:  p_m ← min(1, p_m + d1), last = now\n\
        link idle:            now − last > freeze_time:  p_m ← max(0, p_m − d2), last = now\n\
        arrival:              signal with p_m",
    expect: "It looks at no queue length, only at losses and idle time, so it needs no averaging \
        and no thresholds. Under a lasting load p_m settles between too many losses and an idle \
        link, with little buffer and, with ECN, few losses. Every event moves it by d1 = 0.25 % \
        or d2 = 0.025 %, at most ten times a second.",
    weaknesses: "It is slow: from 0 to 10 % takes 4 s of overflow, and back 40 s of idle link. \
        Between the two events it is DropTail with a constant p_m: the queue may stand full or \
        nearly empty for long. The paper leaves open whether a link that stays idle lowers p_m \
        again; here it does after every freeze_time (`idle_events`).",
    params: own_tables::<BlueParams>(),
    state: &states(COLUMNS),
    defaults: BlueParams::DEFAULTS,
};

group! {
    /// What the user of BLUE sets.
    pub struct BlueParams {
        /// Its own.
        pub own: BlueOwn,
        /// What every kind takes.
        pub common: Common,
    }
}

words! {
    /// How often an idle link lowers `p_m`.
    pub enum IdleEvents {
        /// After each `freeze_time`.
        Repeat = "repeat",
        /// When it falls idle.
        Once = "once",
    }
}

params! {
    /// Parameters.
    pub struct BlueOwn: Default {
        /// Increment of p_m; above d2.
        pub d1: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.0025,
            source: "Feng et al. 2001",
        },
        /// Decrement of p_m.
        pub d2: f64 { ty: num(0.0, 1.0), unit: "1", default: 0.00025, source: "Feng et al. 2001" },
        /// No change of p_m for this long after one.
        pub freeze_time: Duration { default: "100 ms", source: "Feng et al. 2001" },
        /// L: an arrival that finds more than this waiting raises p_m as a loss does.
        pub limit: Option<QueueLen> {
            unit: "packets",
            auto: "none: only a full buffer raises p_m",
            source: "Feng et al. 2001: Q_len > L",
        },
        /// Whether an idle link lowers p_m again after each freeze_time, or only when it falls
        /// idle.
        pub idle_events: IdleEvents { default: "repeat", source: "left open by Feng et al. 2001" },
    }
}

const COLUMNS: &[Column<Blue>; 1] = &[column("p_m", "The probability.", |d| d.p_m)];

/// BLUE.
#[derive(Clone, Debug)]
pub struct Blue {
    d1: f64,
    d2: f64,
    freeze_time: Duration,
    /// L, in the unit of the queue.
    limit: Option<f64>,
    repeat: bool,
    bytes: bool,
    signal: Classic,
    p_m: f64,
    /// The last change of `p_m`.
    last: Time,
}

impl Blue {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &BlueParams, cx: &Context) -> Result<Self, ParamError> {
        let unit = Unit::of(p, &p.common, cx)?;
        let BlueOwn { d1, d2, freeze_time, .. } = p.own;
        if d1 <= d2 {
            return Err(ParamError::new("d1", format!("must be above d2 ({d2})")));
        }
        at_least_a_microsecond("freeze_time", freeze_time)?;
        Ok(Blue {
            d1,
            d2,
            freeze_time,
            limit: p.own.limit.map(|l| unit.length(l)),
            repeat: p.own.idle_events == IdleEvents::Repeat,
            bytes: unit.bytes,
            signal: Classic::new(p.common.ecn),
            p_m: 0.0,
            last: Time::ZERO,
        })
    }
}

impl Blue {
    /// The event "packet loss".
    fn lost(&mut self, now: Time) {
        if now.since(self.last) > self.freeze_time {
            self.p_m = (self.p_m + self.d1).min(1.0);
            self.last = now;
        }
    }

    /// The events "link idle" of the idle time `since … now`.
    #[cold]
    fn idled(&mut self, since: Time, now: Time) {
        if !self.repeat {
            if since.since(self.last) > self.freeze_time {
                self.p_m = (self.p_m - self.d2).max(0.0);
                self.last = since;
            }
            return;
        }
        // At `first`, and whenever freeze_time has passed again, before `now`.
        let first = since.max(self.last + self.freeze_time);
        if now > first {
            let freeze = self.freeze_time.as_ticks();
            let again = (now.since(first).as_ticks() - 1) / freeze;
            self.p_m = (self.p_m - (again + 1) as f64 * self.d2).max(0.0);
            self.last = first + Duration::from_ticks(again * freeze);
        }
    }
}

impl Aqm for Blue {
    #[inline]
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        if let Some(since) = q.idle_since {
            self.idled(since, now);
        }
        if self.limit.is_some_and(|limit| q.length(self.bytes) > limit) {
            self.lost(now);
        }
        if self.p_m > 0.0 && rng.unit() < self.p_m {
            self.signal.early(pkt, self.p_m)
        } else {
            Verdict::Pass
        }
    }

    fn overflow(&mut self, now: Time, _: &Packet, _: &Queue) {
        self.lost(now);
    }

    fn go_on(&mut self, before: Self, _: Time) {
        self.p_m = before.p_m;
        self.last = before.last;
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, params};
    use crate::Ecn;

    fn blue(set: &[(&'static str, &'static str)]) -> Blue {
        let quarters = [("d1", "0.25"), ("d2", "0.0625")];
        let set: Vec<_> = quarters.into_iter().chain(set.iter().copied()).collect();
        Blue::new(&params(&KIND, &set), &context()).unwrap()
    }

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    const PKT: Packet = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: 0, class: 0 };

    fn queue(pkts: u32, idle_since: Option<Time>) -> Queue {
        Queue { pkts, bytes: u64::from(pkts) * 1000, idle_since }
    }

    #[test]
    fn losses_raise_it_once_in_a_freeze_time() {
        let mut b = blue(&[]);
        for (at, p_m) in
            [(100, 0.0), (101, 0.25), (201, 0.25), (202, 0.5), (400, 0.75), (600, 1.0), (800, 1.0)]
        {
            b.overflow(ms(at), &PKT, &queue(100, None));
            assert_eq!(b.p_m, p_m, "at {at} ms");
        }
    }

    #[test]
    fn idle_time_lowers_it() {
        // From p_m = 1/2, last changed at 202 ms. Idle 250 … 552 ms: 302, 402, 502 ms lie in it;
        // when it falls idle only 48 ms have passed.
        for (word, since, now, p_m, last) in [
            ("\"repeat\"", 250, 552, 0.3125, 502),
            ("\"repeat\"", 250, 502, 0.375, 402),
            ("\"repeat\"", 250, 302, 0.5, 202),
            ("\"repeat\"", 303, 304, 0.4375, 303),
            ("\"repeat\"", 250, 60_000, 0.0, 59_902),
            ("\"once\"", 250, 552, 0.5, 202),
            ("\"once\"", 302, 60_000, 0.5, 202),
            ("\"once\"", 303, 60_000, 0.4375, 303),
        ] {
            let mut b = blue(&[("idle_events", word)]);
            (b.p_m, b.last) = (0.5, ms(202));
            let _ =
                b.arrive(ms(now), &PKT, &queue(0, Some(ms(since))), &mut Rng::stream(1, "test"));
            assert_eq!((b.p_m, b.last), (p_m, ms(last)), "{word} {since} … {now} ms");
        }
    }

    #[test]
    fn a_queue_above_the_limit_counts_as_a_loss() {
        let mut b = blue(&[("limit", "20")]);
        let mut rng = Rng::stream(1, "test");
        let _ = b.arrive(ms(150), &PKT, &queue(20, None), &mut rng);
        assert_eq!(b.p_m, 0.0);
        let _ = b.arrive(ms(150), &PKT, &queue(21, None), &mut rng);
        assert_eq!(b.p_m, 0.25);
    }

    #[test]
    fn d1_is_above_d2() {
        let error =
            Blue::new(&params(&KIND, &[("d1", "0.1"), ("d2", "0.1")]), &context()).err().unwrap();
        assert_eq!(error.name, "d1");
    }
}
