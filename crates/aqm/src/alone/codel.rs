//! CoDel, controlled delay. RFC 8289, section 5; names are those of its pseudo-code. It looks at
//! the time that packets have waited when they leave: once that has not been below `target` for an
//! `interval`, it drops at the head, then again and again at gaps of `interval/√count`, until the
//! delay is below the target.
//!
//! The RFC's `deque` fetches further packets from within; here each is a call of `Vars::dequeue`,
//! and `after_drop` tells what the call before, of the same dequeue, did. Where a packet may be
//! marked it is, instead of dropped, and is sent: the dequeue ends with it (Linux; the RFC leaves
//! it open). Times are compared in integers.

use crate::aqm::{Aqm, Service};
use crate::context::{at_least_a_microsecond, Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::verdict::{Reason, Verdict};
use penstock_units::param::ParamError;
use penstock_units::{group, params, Bytes, Duration, Rng, Time};
use penstock_units::{Ecn, Level};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "codel",
    doc: "Controlled delay: drops at the head while the time in the queue stays above a target.",
    source: "RFC 8289",
    equations: "at the head, with the packet's time in the queue (sojourn):\n\
        sojourn < target, or at most maxpacket bytes wait behind:  all is well\n\
        above for an interval:  drop (or mark), count = 1;  from then on again at\n\
        drop_next ← drop_next + interval/√count,  count ← count + 1,  until the sojourn is below target",
    expect: "It needs no knowledge of the link's rate: it looks at time. A standing queue falls \
        to about 5 ms; a burst that drains within 100 ms is left alone. While the delay stays \
        above the target, signals come ever faster: 27 in the first second, some 500 a second \
        after ten. Dropping at the head tells the sender a queueing time earlier.",
    weaknesses: "The rate of signals grows slowly: against many flows or an unresponsive load it \
        takes many seconds, and until then the buffer is what bounds the queue. interval must be \
        near the largest usual round-trip time, so short paths (data centres) need other numbers. \
        On slow links target must be at least a packet's time. One queue: a greedy flow still \
        delays all others. With ECN it marks only, and an unresponsive capable flow is never \
        dropped.",
    params: own_tables::<CodelParams>(),
    state: &states(COLUMNS),
    defaults: CodelParams::DEFAULTS,
};

group! {
    /// What the user of CoDel sets.
    pub struct CodelParams {
        /// The control loop.
        pub control: ControlParams,
        /// What every kind takes.
        pub common: Common,
    }
}

params! {
    /// The keys of the control loop, FQ-CoDel's too.
    pub struct ControlParams: Default {
        /// Acceptable time in the queue.
        pub target: Duration { default: "5 ms", source: "RFC 8289, section 4.4" },
        /// How long the time in the queue may stay above the target: about the largest usual
        /// round-trip time.
        pub interval: Duration { default: "100 ms", source: "RFC 8289, section 4.3" },
        /// Nothing is dropped while no more than this waits behind.
        pub maxpacket: Bytes {
            default: "1500 B",
            source: "RFC 8289, section 5.3: should be the interface's MTU",
        },
    }
}

const COLUMNS: &[Column<Codel>; 3] = &[
    column("dropping", "1 in the dropping state, else 0.", |d| {
        f64::from(u8::from(d.vars.dropping))
    }),
    column("count", "Signals since the dropping state was entered; grows with their rate.", |d| {
        f64::from(d.vars.count)
    }),
    column("drop_next_s", "When the next signal is due, while dropping.", |d| {
        d.vars.drop_next.as_secs_f64()
    }),
];

/// The constants of the control loop.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    target: Duration,
    interval: Duration,
    maxpacket: u64,
}

impl Codel {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &CodelParams, cx: &Context) -> Result<Self, ParamError> {
        let _ = Unit::of(p, &p.common, cx)?;
        let control = Control::new(&p.control)?;
        Ok(Codel { control, ecn: p.common.ecn, vars: Vars::default() })
    }
}

impl Control {
    pub(crate) fn new(p: &ControlParams) -> Result<Self, ParamError> {
        let ControlParams { target, interval, maxpacket } = *p;
        at_least_a_microsecond("interval", interval)?;
        Ok(Control { target, interval, maxpacket: maxpacket.0 })
    }

    /// `t + INTERVAL/√count`, in whole ticks.
    #[inline(never)]
    fn control_law(&self, t: Time, count: u32) -> Time {
        t + Duration::from_ticks(
            (self.interval.as_ticks() as f64 / libm::sqrt(f64::from(count))) as u64,
        )
    }
}

/// The reason why the call before, of the same dequeue, dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AfterDrop {
    /// It entered the dropping state.
    Entry,
    /// It was in the dropping state already.
    Next,
}

/// The state of one queue (RFC 8289, section 5.2).
#[derive(Clone, Debug)]
pub(crate) struct Vars {
    /// [`Time::NEVER`]: the delay is below the target.
    first_above_time: Time,
    drop_next: Time,
    count: u32,
    lastcount: u32,
    dropping: bool,
    after_drop: Option<AfterDrop>,
}

impl Default for Vars {
    fn default() -> Self {
        Vars {
            first_above_time: Time::NEVER,
            drop_next: Time::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            after_drop: None,
        }
    }
}

impl Vars {
    /// A packet at the head has waited `sojourn`, and `behind` bytes wait behind it. After a drop
    /// the next one follows at once.
    #[inline]
    pub(crate) fn dequeue(
        &mut self,
        c: &Control,
        now: Time,
        sojourn: Duration,
        behind: u64,
        capable: bool,
    ) -> Verdict {
        let ok_to_drop = self.ok_to_drop(c, now, sojourn, behind);
        match self.after_drop.take() {
            Some(AfterDrop::Entry) => return Verdict::Pass,
            Some(AfterDrop::Next) if ok_to_drop => {
                self.drop_next = c.control_law(self.drop_next, self.count)
            }
            _ => {}
        }
        if self.dropping {
            self.dropping = ok_to_drop;
            if self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if capable {
                    self.drop_next = c.control_law(self.drop_next, self.count);
                }
                return self.signal(capable, AfterDrop::Next);
            }
        } else if ok_to_drop {
            self.enter(c, now);
            return self.signal(capable, AfterDrop::Entry);
        }
        Verdict::Pass
    }

    /// The RFC's `dodequeue`: whether the delay has been above the target for an interval.
    #[inline]
    fn ok_to_drop(&mut self, c: &Control, now: Time, sojourn: Duration, behind: u64) -> bool {
        if sojourn < c.target || behind <= c.maxpacket {
            self.first_above_time = Time::NEVER;
            return false;
        }
        if self.first_above_time == Time::NEVER {
            self.first_above_time = now + c.interval;
            return false;
        }
        now >= self.first_above_time
    }

    /// Into the dropping state; soon after it was left, at about the rate of then.
    fn enter(&mut self, c: &Control, now: Time) {
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.lastcount);
        let soon = Duration::from_ticks(c.interval.as_ticks().saturating_mul(16));
        // A drop_next still to come counts as soon.
        self.count = if delta > 1 && now.since(self.drop_next) < soon { delta } else { 1 };
        self.drop_next = c.control_law(now, self.count);
        self.lastcount = self.count;
    }

    fn signal(&mut self, capable: bool, after: AfterDrop) -> Verdict {
        if capable {
            Verdict::Mark(Level::Ce, Reason::Early)
        } else {
            self.after_drop = Some(after);
            Verdict::Drop(Reason::Early)
        }
    }
}

/// CoDel on one FIFO.
#[derive(Clone, Debug)]
pub struct Codel {
    control: Control,
    ecn: bool,
    vars: Vars,
}

impl Aqm for Codel {
    #[inline(always)]
    fn arrive(&mut self, _: Time, _: &Packet, _: &Queue, _: &mut Rng) -> Verdict {
        Verdict::Pass
    }

    #[inline(always)]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        sojourn: Duration,
        q: &Queue,
        _: &mut Rng,
    ) -> Verdict {
        let capable = self.ecn && pkt.ecn != Ecn::NotEct;
        self.vars.dequeue(&self.control, now, sojourn, q.bytes, capable)
    }

    #[inline(always)]
    fn service(&self) -> Service {
        Service::AtDeparture
    }

    /// Each packet keeps the time at which it came.
    fn packet_bytes(&self) -> usize {
        size_of::<Time>()
    }

    fn go_on(&mut self, before: Self, _: Time) {
        self.vars = before.vars;
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, params};

    const MARK: Verdict = Verdict::Mark(Level::Ce, Reason::Early);
    const DROP: Verdict = Verdict::Drop(Reason::Early);
    const PASS: Verdict = Verdict::Pass;

    fn control() -> Control {
        Control::new(&ControlParams::default()).unwrap()
    }

    fn us(n: u64) -> Time {
        Time::from_nanos(n * 1_000)
    }

    /// Heads at times in µs that have waited some ms, with 3000 B behind; the verdicts, and `count`
    /// afterwards.
    fn story(vars: &mut Vars, capable: bool, heads: &[(u64, u64, Verdict, u32)]) {
        for (i, (at, waited, want, count)) in heads.iter().enumerate() {
            let got =
                vars.dequeue(&control(), us(*at), Duration::from_millis(*waited), 3000, capable);
            assert_eq!((got, vars.count), (*want, *count), "head {i}, at {at} µs: {vars:?}");
        }
    }

    /// Above the target from 10 ms on: allowed to drop from 110 ms. Drops then follow after 100/√1,
    /// 100/√2, 100/√3 ms: 210, 280.71, 338.45.
    #[test]
    fn drops_come_faster_and_faster() {
        let mut v = Vars::default();
        story(
            &mut v,
            false,
            &[
                (5_000, 4, PASS, 0),
                (10_000, 5, PASS, 0),
                (109_999, 9, PASS, 0),
                (110_000, 9, DROP, 1),
                (110_000, 9, PASS, 1), // the packet behind goes out whatever it has waited
                (209_999, 9, PASS, 1),
                (210_000, 9, DROP, 2),
                (210_000, 9, PASS, 2), // schedules 210 + 70.71
                (280_710, 9, PASS, 2),
                (280_711, 9, DROP, 3),
                (280_711, 9, PASS, 3),
                (338_445, 9, PASS, 3),
                (338_446, 9, DROP, 4),
                (338_446, 4, PASS, 4), // below the target: out of the dropping state
                (600_000, 9, PASS, 4), // and from here another interval
                (699_999, 9, PASS, 4),
            ],
        );
        assert!(!v.dropping);
        // Left at count 4, entered at lastcount 1: 3 to start with, as less than 16 intervals have
        // passed. Next after 100/√3 ms.
        story(
            &mut v,
            false,
            &[
                (700_000, 9, DROP, 3),
                (700_000, 9, PASS, 3),
                (757_735, 9, PASS, 3),
                (757_736, 9, DROP, 4),
            ],
        );
    }

    /// One dequeue drops as many as are overdue: at 400 ms those due at 210, 280.71, 338.45 and
    /// 388.45.
    #[test]
    fn overdue_drops_are_made_up_for_at_once() {
        let mut v = Vars::default();
        story(
            &mut v,
            false,
            &[
                (10_000, 9, PASS, 0),
                (110_000, 9, DROP, 1),
                (110_000, 9, PASS, 1),
                (400_000, 9, DROP, 2),
                (400_000, 9, DROP, 3),
                (400_000, 9, DROP, 4),
                (400_000, 9, DROP, 5),
                (400_000, 9, PASS, 5),
            ],
        );
        assert!(v.drop_next > us(433_160) && v.drop_next < us(433_180)); // 388.45 + 100/√5 = 433.17 ms
    }

    #[test]
    fn the_packet_behind_does_not_undo_the_entry() {
        let mut v = Vars::default();
        story(&mut v, false, &[(10_000, 9, PASS, 0), (110_000, 9, DROP, 1), (110_000, 4, PASS, 1)]);
        assert!(v.dropping);
        story(&mut v, false, &[(111_000, 4, PASS, 1)]);
        assert!(!v.dropping);
    }

    #[test]
    fn a_capable_packet_is_marked_and_ends_the_dequeue() {
        let mut v = Vars::default();
        story(
            &mut v,
            true,
            &[
                (10_000, 9, PASS, 0),
                (110_000, 9, MARK, 1),
                (111_000, 9, PASS, 1),
                (400_000, 9, MARK, 2),
                (401_000, 9, MARK, 3),
                (402_000, 4, PASS, 3),
            ],
        );
        assert!(!v.dropping);
    }

    #[test]
    fn after_sixteen_intervals_it_starts_afresh() {
        // drop_next 1 s; 16 intervals later is 2.6 s.
        for (at, count) in [(2_599_999, 7), (2_600_000, 1)] {
            let mut v =
                Vars { count: 9, lastcount: 2, drop_next: us(1_000_000), ..Vars::default() };
            v.first_above_time = us(2_000_000);
            story(&mut v, false, &[(at, 9, DROP, count)]);
        }
    }

    #[test]
    fn the_last_packets_are_spared() {
        let mut codel = Codel::new(&params(&KIND, &[]), &context()).unwrap();
        let mut rng = Rng::stream(1, "test");
        let pkt = Packet { bytes: 1000, ecn: Ecn::Ect0, flow: 0, class: 0 };
        let mut depart = |at, behind| {
            let q = Queue { pkts: 1, bytes: behind, idle_since: None };
            codel.depart(us(at), &pkt, Duration::from_millis(50), &q, &mut rng)
        };
        assert_eq!(depart(10_000, 1501), PASS);
        assert_eq!(depart(200_000, 1500), PASS); // the interval starts again
        assert_eq!(depart(210_000, 1501), PASS);
        assert_eq!(depart(310_000, 1501), DROP); // ecn is off
    }
}
