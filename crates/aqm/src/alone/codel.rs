//! CoDel, controlled delay. RFC 8289, section 5; names are those of its pseudo-code. It looks at
//! the time that packets have waited when they leave: once that has not been below `target` for an
//! `interval`, it drops at the head, then again and again at gaps of `interval/√count`, until the
//! delay is below the target.
//!
//! The RFC's `deque` fetches further packets from within; here each is a call of `Vars::dequeue`,
//! and `after_drop` tells what the call before, of the same dequeue, did. Where a packet may be
//! marked it is, instead of dropped, and is sent: the dequeue ends with it (Linux; the RFC leaves
//! it open). Times are compared in integers.
//!
//! `variant = "linux"` is the kernel's form (include/net/codel_impl.h, Linux 7.3): units of 1024 ns
//! for time, and `1/√count` kept in 16 bits, which one step of Newton's method moves at each change
//! of `count`. Each of its differences is a key, too.

use crate::aqm::{Aqm, Service};
use crate::context::{at_least_a_microsecond, Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{int, ParamError};
use penstock_units::{group, params, words, Bytes, Duration, Rng, Time};
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
        dropped. Linux's form (`variant`) differs where it begins: its second and third signal are \
        50 ms apart instead of 71.",
    params: own_tables::<CodelParams>(),
    state: &states(COLUMNS),
    defaults: CodelParams::DEFAULTS,
};

group! {
    /// What the user of CoDel sets.
    pub struct CodelParams {
        /// Its own.
        pub own: CodelOwn,
        /// The control loop.
        pub control: ControlParams,
        /// What every kind takes.
        pub common: Common,
    }
}

params! {
    /// The keys that FQ-CoDel has in a place of its own.
    pub struct CodelOwn: Default {
        /// With `ecn`: besides what CoDel marks, mark every capable packet that has waited longer
        /// than this.
        pub ce_threshold: Option<Duration> {
            auto: "none",
            quiet: true,
            source: "Linux: sch_codel; RFC 8290, section 5.2.7",
        },
        /// With `ecn`: what CoDel passes and has waited longer than this is marked ECT(1) for some
        /// congestion (SCE) if it is ECT(0): by chance, with a probability that grows to 1 at
        /// target.
        pub sce_ramp: Option<Duration> {
            auto: "none",
            quiet: true,
            source: "draft-morton-tsvwg-sce; chromi/sce: half of target",
        },
    }
}

words! {
    /// Whose CoDel: a bundle of defaults.
    pub enum CodelVariant {
        /// The RFCs'.
        Rfc = "rfc",
        /// The kernel's.
        Linux = "linux",
    }
}

words! {
    /// How `1/√count` is found.
    pub enum ControlLaw {
        /// As a real number.
        Exact = "exact",
        /// In 16 bits, by a step of Newton's method.
        Newton = "newton",
    }
}

words! {
    /// When the interval above the target is over.
    pub enum Above {
        /// At its end.
        At = "at",
        /// After its end.
        After = "after",
    }
}

words! {
    /// The clock of the control loop.
    pub enum Clock {
        /// That of the simulation.
        Exact = "exact",
        /// Units of 1024 ns, rounded down.
        Linux = "linux",
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
        /// Whose CoDel: what the keys come to that say so and are left out. Linux's `maxpacket` is
        /// the interface's MTU with its header, "1514 B" on Ethernet.
        pub variant: CodelVariant {
            default: "rfc",
            quiet: true,
            source: "RFC 8289, RFC 8290; Linux 7.3: include/net/codel_impl.h, sch_fq_codel.c",
        },
        /// Whether 1/√count is exact, or is kept in 16 bits and moved by one step of Newton's
        /// method at each change of count; the second signal then brings the third after half an
        /// interval.
        pub control_law: Option<ControlLaw> {
            auto: "exact; newton with the variant linux",
            quiet: true,
            source: "RFC 8289, section 5.5; Linux: codel_Newton_step",
        },
        /// Whether signals may begin at the end of the first interval above the target, or only
        /// after it.
        pub above: Option<Above> {
            auto: "at; after with the variant linux",
            quiet: true,
            source: "RFC 8289, section 5.6; Linux: codel_should_drop",
        },
        /// Whether times are exact, or counted in units of 1024 ns, rounded down.
        pub clock: Option<Clock> {
            auto: "exact; linux with the variant linux",
            quiet: true,
            source: "Linux: codel_get_time",
        },
        /// No dequeue drops more than this; the next signal is then due a step from now.
        pub most_drops: Option<u32> {
            ty: int(1, 65_535),
            unit: "packets",
            auto: "no limit; 256 with the variant linux",
            quiet: true,
            source: "Linux 7.3: CODEL_MAX_DROPS_PER_DEQUEUE",
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

/// The unit of Linux's clock.
const UNIT: u64 = Duration::from_nanos(1024).as_ticks();

/// The constants of the control loop.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    target: Duration,
    interval: Duration,
    /// What is added to the time at which the delay rose above the target: from then on signals are
    /// made.
    wait: Duration,
    maxpacket: u64,
    newton: bool,
    /// The clock counts units of 1024 ns.
    coarse: bool,
    most_drops: u32,
}

impl Codel {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &CodelParams, cx: &Context) -> Result<Self, ParamError> {
        let _ = Unit::of(p, &p.common, cx)?;
        let control = Control::new(&p.control)?;
        let CodelOwn { ce_threshold, sce_ramp } = p.own;
        if sce_ramp.is_some_and(|start| start >= control.target) {
            return Err(ParamError::new("sce_ramp", "must be below target"));
        }
        Ok(Codel { control, ecn: p.common.ecn, ce_threshold, sce_ramp, vars: Vars::default() })
    }
}

impl Control {
    pub(crate) fn new(p: &ControlParams) -> Result<Self, ParamError> {
        let linux = p.variant == CodelVariant::Linux;
        let newton = p.control_law.map_or(linux, |law| law == ControlLaw::Newton);
        let after = p.above.map_or(linux, |above| above == Above::After);
        let coarse = p.clock.map_or(linux, |clock| clock == Clock::Linux);
        at_least_a_microsecond("interval", p.interval)?;
        if coarse && p.interval.as_ticks() < UNIT {
            return Err(ParamError::new(
                "interval",
                "must be at least 1.024 us with Linux's clock",
            ));
        }
        let whole = |d: Duration| if coarse { whole_units(d) } else { d };
        let (interval, unit) = (whole(p.interval), if coarse { UNIT } else { 1 });
        // Later than the end is at the end or later, a unit further.
        let more = if after { unit } else { 0 };
        Ok(Control {
            target: whole(p.target),
            interval,
            wait: Duration::from_ticks(interval.as_ticks().saturating_add(more)),
            maxpacket: p.maxpacket.0,
            newton,
            coarse,
            most_drops: p.most_drops.unwrap_or(if linux { 256 } else { u32::MAX }),
        })
    }

    /// `t + INTERVAL/√count`, in whole ticks; with Linux's clock in whole units, at least one.
    #[inline(never)]
    fn control_law(&self, t: Time, count: u32, r: u16) -> Time {
        let unit = if self.coarse { UNIT } else { 1 };
        let interval = self.interval.as_ticks() / unit;
        let step = if self.newton {
            ((u128::from(interval) * u128::from(r)) >> 16) as u64
        } else {
            (interval as f64 / libm::sqrt(f64::from(count))) as u64
        };
        let step = if self.coarse { step.max(1) } else { step };
        t + Duration::from_ticks(step.saturating_mul(unit))
    }
}

/// A time on Linux's clock.
fn whole_units(d: Duration) -> Duration {
    Duration::from_ticks(d.as_ticks() / UNIT * UNIT)
}

/// One step of Newton's method towards 65536/√count, `r ← r·(3 − count·r²)/2` with r in 65536ths,
/// in integers that are rounded down.
fn newton_step(r: u16, count: u32) -> u16 {
    let r = u64::from(r) << 16;
    let square = (r * r) >> 32;
    // Where count has jumped the step overshoots and wraps, as in 64 bits it does.
    let rest = (3u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(square)) >> 2;
    (rest.wrapping_mul(r) >> 31 >> 16) as u16
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
    pub(crate) count: u32,
    lastcount: u32,
    /// 65536/√count, as Newton's method has it.
    r: u16,
    /// Packets that this dequeue has dropped, up to the most that it may.
    drops: u16,
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
            r: u16::MAX,
            drops: 0,
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
        let (now, sojourn) = if c.coarse { on_linux_clock(now, sojourn) } else { (now, sojourn) };
        let ok_to_drop = self.ok_to_drop(c, now, sojourn, behind);
        match self.after_drop.take() {
            Some(AfterDrop::Entry) => return Verdict::Pass,
            Some(AfterDrop::Next) if ok_to_drop => {
                self.drop_next = c.control_law(self.drop_next, self.count, self.r)
            }
            Some(AfterDrop::Next) => {}
            None => self.drops = 0,
        }
        if self.dropping {
            self.dropping = ok_to_drop;
            if self.dropping && now >= self.drop_next {
                return self.due(c, now, capable);
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
            self.first_above_time = now + c.wait;
            return false;
        }
        now >= self.first_above_time
    }

    /// In the dropping state the time of the next signal has come.
    fn due(&mut self, c: &Control, now: Time, capable: bool) -> Verdict {
        if u32::from(self.drops) >= c.most_drops {
            self.drop_next = c.control_law(now, self.count, self.r);
            return Verdict::Pass;
        }
        self.drops = self.drops.saturating_add(1);
        self.counts(self.count.saturating_add(1), c);
        if capable {
            self.drop_next = c.control_law(self.drop_next, self.count, self.r);
        }
        self.signal(capable, AfterDrop::Next)
    }

    /// Into the dropping state; soon after it was left, at about the rate of then.
    fn enter(&mut self, c: &Control, now: Time) {
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.lastcount);
        let soon = Duration::from_ticks(c.interval.as_ticks().saturating_mul(16));
        // A drop_next still to come counts as soon.
        if delta > 1 && now.since(self.drop_next) < soon {
            self.counts(delta, c);
        } else {
            (self.count, self.r) = (1, u16::MAX);
        }
        self.drop_next = c.control_law(now, self.count, self.r);
        self.lastcount = self.count;
    }

    fn counts(&mut self, count: u32, c: &Control) {
        self.count = count;
        if c.newton {
            self.r = newton_step(self.r, count);
        }
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

impl Vars {
    /// The RFC's `dodequeue` of an empty queue.
    #[inline(always)]
    pub fn emptied(&mut self) {
        self.first_above_time = Time::NEVER;
        self.dropping = false;
        self.after_drop = None;
    }
}

/// Now, and the time since a packet's arrival, on Linux's clock.
fn on_linux_clock(now: Time, sojourn: Duration) -> (Time, Duration) {
    let units = |t: Time| whole_units(t.since(Time::ZERO));
    let (at, since) = (units(now), units(now.before(sojourn)));
    (Time::ZERO + at, Duration::from_ticks(at.as_ticks() - since.as_ticks()))
}

/// CoDel on one FIFO.
#[derive(Clone, Debug)]
pub struct Codel {
    control: Control,
    ecn: bool,
    ce_threshold: Option<Duration>,
    sce_ramp: Option<Duration>,
    vars: Vars,
}

impl Codel {
    /// Returns whether a packet that CoDel passes is marked for some congestion.
    #[inline(always)]
    fn some_congestion(&self, sojourn: Duration, rng: &mut Rng) -> bool {
        let Some(start) = self.sce_ramp.filter(|start| sojourn > *start) else { return false };
        if sojourn >= self.control.target {
            return true;
        }
        let [x, start, end] = [sojourn, start, self.control.target].map(Duration::as_secs_f64);
        rng.unit() < (x - start) / (end - start)
    }
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
        rng: &mut Rng,
    ) -> Verdict {
        let capable = self.ecn && pkt.ecn != Ecn::NotEct;
        let verdict = self.vars.dequeue(&self.control, now, sojourn, q.bytes, capable);
        if verdict == Verdict::Pass && capable && self.ce_threshold.is_some_and(|t| sojourn > t) {
            return Verdict::Mark(Level::Ce, Reason::Early);
        }
        if verdict == Verdict::Pass
            && capable
            && pkt.ecn == Ecn::Ect0
            && self.some_congestion(sojourn, rng)
        {
            return Verdict::Mark(Level::Incipient, Reason::Early);
        }
        verdict
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

    /// `r` at each count, from 65535 at 1; exactly it would be 65536/√count: 46341, 37837, 32768, …
    #[test]
    fn newtons_method_overshoots_at_first() {
        let mut r = u16::MAX;
        let steps: Vec<_> = (2..=16)
            .map(|count| {
                r = newton_step(r, count);
                r
            })
            .collect();
        assert_eq!(steps[..7], [32769, 36864, 31968, 28935, 26481, 24588, 23037]);
        assert_eq!(steps[14], 16360);
    }

    /// A queue that is always above the target, and never asked in vain: the times of signals after
    /// the entry, in µs.
    fn signals(control: &Control, capable: bool, until_ms: u64) -> Vec<f64> {
        let mut v = Vars::default();
        let (mut entry, mut out) = (None, vec![]);
        // The head is asked for each 10 µs.
        for at in (0..until_ms * 100).map(|i| us(i * 10)) {
            let mut next = || v.dequeue(control, at, Duration::from_secs(1), 1 << 20, capable);
            while next() == if capable { MARK } else { DROP } {
                match entry {
                    None => entry = Some(at),
                    Some(entry) => out.push(at.since(entry).as_secs_f64() * 1e3),
                }
                if capable {
                    break;
                }
            }
        }
        out
    }

    /// 100·Σ 1/√count ms, and Newton's 97 656 units of 1024 ns times r.
    #[test]
    fn signals_follow_the_law_that_was_chosen() {
        let linux = Control::new(&ControlParams {
            variant: CodelVariant::Linux,
            ..ControlParams::default()
        })
        .unwrap();
        let exact = [100.0, 170.711, 228.446, 278.446, 323.167, 363.992, 401.788, 437.144, 470.477];
        let newton = [99.998, 149.999, 206.248, 255.026, 299.177, 339.583, 377.1, 412.251, 445.432];
        for (control, capable, want) in
            [(control(), false, exact), (control(), true, exact), (linux, false, newton)]
        {
            let got = signals(&control, capable, 700);
            for (got, want) in got.iter().zip(want) {
                // Asked for each 10 µs; the entry comes up to as much later than its time.
                assert!((got - want).abs() < 0.021, "{got} should be {want}");
            }
            assert!(got.len() > want.len());
        }
    }

    /// The entry and the second after it have 33 signals and 34, ten seconds 2574 and 2588: only the
    /// start differs.
    #[test]
    fn in_the_long_run_the_laws_agree() {
        let newton =
            ControlParams { control_law: Some(ControlLaw::Newton), ..ControlParams::default() };
        let newton = Control::new(&newton).unwrap();
        for (control, one, ten) in [(control(), 33, 2574), (newton, 34, 2588)] {
            let got = signals(&control, true, 10_200);
            let within = |ms| 1 + got.iter().filter(|t| **t <= ms).count();
            assert_eq!(within(1_000.0), one);
            assert!(within(10_000.0).abs_diff(ten) <= 2, "{}", within(10_000.0));
        }
    }

    /// Above the target from 10 ms on, which is unit 9765; 97 656 units later is 109.999 104 ms.
    #[test]
    fn linux_counts_in_its_units_and_begins_after_the_interval() {
        let set = |above, clock| {
            Control::new(&ControlParams { above, clock, ..ControlParams::default() }).unwrap()
        };
        let (after, linux) = (Some(Above::After), Some(Clock::Linux));
        for (control, pass, drop) in [
            (set(None, None), 109_999_999, 110_000_000),
            (set(after, None), 110_000_000, 110_000_001),
            (set(None, linux), 109_999_103, 109_999_104),
            (set(after, linux), 110_000_127, 110_000_128),
        ] {
            for (at, want) in [(pass, PASS), (drop, DROP)] {
                let mut v = Vars::default();
                let mut at_ns = |ns| {
                    let at = Time::from_nanos(ns);
                    v.dequeue(&control, at, Duration::from_millis(9), 3000, false)
                };
                assert_eq!(at_ns(10_000_000), PASS);
                assert_eq!(at_ns(at), want, "{at}: {control:?}");
            }
        }
        // 5 ms are 4882 units, 4.999 168 ms.
        let linux = set(None, linux);
        assert_eq!((linux.target.as_nanos(), linux.interval.as_nanos()), (4_999_168, 99_999_744));
    }

    /// The schedule is 400 s behind, and a dequeue drops no more than 3.
    #[test]
    fn a_dequeue_drops_no_more_than_it_may() {
        let most = ControlParams { most_drops: Some(3), ..ControlParams::default() };
        let most = Control::new(&most).unwrap();
        let mut v = Vars::default();
        let mut at = |ms: u64| v.dequeue(&most, us(ms * 1000), Duration::from_secs(1), 3000, false);
        assert_eq!([at(10), at(110), at(110)], [PASS, DROP, PASS]);
        assert_eq!([at(400_000), at(400_000), at(400_000), at(400_000)], [DROP, DROP, DROP, PASS]);
        assert_eq!((at(400_049), at(400_050)), (PASS, DROP)); // 100/√4 ms from then
    }

    #[test]
    fn a_queue_found_empty_is_below_the_target() {
        let mut v = Vars::default();
        story(&mut v, false, &[(10_000, 9, PASS, 0), (110_000, 9, DROP, 1)]);
        v.emptied();
        assert!(!v.dropping);
        story(
            &mut v,
            false,
            &[(111_000, 9, PASS, 1), (210_999, 9, PASS, 1), (211_000, 9, DROP, 1)],
        );
    }

    #[test]
    fn a_ce_threshold_marks_what_has_waited_longer() {
        let set = [("ecn", "true"), ("ce_threshold", "\"1 ms\"")];
        let mut codel = Codel::new(&params(&KIND, &set), &context()).unwrap();
        let q = Queue { pkts: 1, bytes: 1000, idle_since: None };
        for (waited, ecn, want) in
            [(1000, Ecn::Ect0, PASS), (1001, Ecn::Ect0, MARK), (1001, Ecn::NotEct, PASS)]
        {
            let pkt = Packet { bytes: 1000, ecn, flow: 0, class: 0 };
            let waited = Duration::from_micros(waited);
            let mut rng = Rng::stream(1, "test");
            assert_eq!(codel.depart(us(9_000), &pkt, waited, &q, &mut rng), want, "{ecn:?}");
        }
    }

    /// From 2.5 ms to the target of 5 ms: ½ at 3.75 ms, all from 5 ms on. ECT(1) and CE stay as they
    /// are; what CoDel itself marks is CE.
    #[test]
    fn some_congestion_is_told_below_the_target() {
        let set = [("ecn", "true"), ("sce_ramp", "\"2.5 ms\"")];
        let mut codel = Codel::new(&params(&KIND, &set), &context()).unwrap();
        let mut rng = Rng::stream(1, "test");
        let some = Verdict::Mark(Level::Incipient, Reason::Early);
        let mut depart = |at, waited, ecn| {
            let q = Queue { pkts: 9, bytes: 9000, idle_since: None };
            let pkt = Packet { bytes: 1000, ecn, flow: 0, class: 0 };
            codel.depart(us(at), &pkt, Duration::from_micros(waited), &q, &mut rng)
        };
        let n = (0..10_000).filter(|_| depart(9_000, 3750, Ecn::Ect0) == some).count();
        assert!((4800..=5200).contains(&n), "{n}");
        for (at, waited, ecn, want) in [
            (9_000, 2500, Ecn::Ect0, PASS),
            (9_000, 4999, Ecn::Ect1, PASS),
            (9_000, 4999, Ecn::Ce, PASS),
            (9_000, 4999, Ecn::NotEct, PASS),
            (10_000, 5000, Ecn::Ect0, some),
            (110_000, 5000, Ecn::Ect0, MARK),
        ] {
            assert_eq!(depart(at, waited, ecn), want, "{at} {waited} {ecn:?}");
        }
        let set = [("sce_ramp", "\"5 ms\"")];
        let error = Codel::new(&params(&KIND, &set), &context()).unwrap_err();
        assert_eq!(error.to_string(), "sce_ramp: must be below target");
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
