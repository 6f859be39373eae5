//! COBALT, CoDel with BLUE beside it: what CAKE runs in each queue. T. Høiland-Jørgensen, D. Täht, J.
//! Morton, "Piece of CAKE: a comprehensive queue management solution for home gateways", LANMAN
//! 2018 (arXiv 1804.07617), section 3.2; the rules are those of Linux 7.3, net/sched/sch_cake.c.
//!
//! Its CoDel differs from RFC 8289's (`super::codel`) in four things. The count that spaces the
//! signals does not fall at once when the delay is below the target, but by one each time a signal
//! would be due. The first signal comes an interval after the delay has passed the target, without
//! a second one of waiting. A dequeue marks or drops, and a packet may be dropped by BLUE besides. A
//! packet counts as late only if it also has waited four times a frame's time on the link.
//!
//! BLUE is for loads that answer no signals: `p` grows where the queue overflows, shrinks where it
//! runs empty, and drops what comes out.
//!
//! Settled here: 1/√count is exact; the kernel takes one step of Newton's method at each change of a
//! count above 15, which differs by less than a part in ten thousand. The queue's running empty is
//! told at the next arrival, for the time at which the link fell idle. `blue_above` is ns-3's.

use crate::aqm::{Aqm, Service};
use crate::context::{Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{num, ParamError};
use penstock_units::{group, params, Duration, Ecn, Level, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "cobalt",
    doc: "CoDel that forgets slowly, with BLUE for loads that do not answer: CAKE's control of a queue.",
    source: "Høiland-Jørgensen, Täht, Morton 2018 (CAKE); Linux: sch_cake",
    equations: "at the head, with the packet's time in the queue (sojourn):\n\
        late:      sojourn > target, and > 4 frames' time\n\
        late:      at drop_next mark (or drop);  count ← count + 1;  drop_next ← drop_next + interval/√count\n\
        not late:  at drop_next count ← count − 1;  drop_next ← drop_next + interval/√count\n\
        BLUE:      drop with p;  overflow: p ← p + increment, empty: p ← p − decrement, once a target",
    expect: "A standing queue of about 5 ms, as CoDel's. Because the count is remembered, it signals \
        at once as often as before when a load comes back, where CoDel begins anew. Against senders \
        that answer nothing BLUE's drops take over after the buffer has overflowed a few times, so \
        that the queue does not stay full. In the figure signals begin an interval earlier than \
        CoDel's.",
    weaknesses: "One queue: a greedy flow still delays the others; CAKE gives each its own. BLUE \
        needs overflow to begin: a buffer so large that nothing overflows leaves it at 0. It drops \
        at the head whatever may be marked. On slow links a frame's time makes the target: four \
        frames of 1514 B are 48 ms at 1 Mbit/s.",
    params: own_tables::<CobaltParams>(),
    state: &states(COLUMNS),
    defaults: CobaltParams::DEFAULTS,
};

group! {
    /// What the user of COBALT sets.
    pub struct CobaltParams {
        /// The law of each queue.
        pub law: LawParams,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("ecn", "true")],
}

params! {
    /// The keys of the law, FQ-COBALT's too.
    pub struct LawParams: Default {
        /// Acceptable time in the queue.
        pub target: Duration { default: "5 ms", source: "Linux: sch_cake, rtt/20" },
        /// How long the time in the queue may stay above the target: about the largest usual
        /// round-trip time.
        pub interval: Duration { default: "100 ms", source: "Linux: sch_cake, rtt" },
        /// The time of a frame on the link: four of them are waited for in any case.
        pub frame_time: Option<Duration> {
            auto: "1514 B at the link's rate",
            source: "Linux: sch_cake, mtu_time",
        },
        /// What an overflow adds to BLUE's probability.
        pub increment: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.00390625,
            source: "Linux: sch_cake, 1/256",
        },
        /// What a queue that runs empty takes off it.
        pub decrement: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.000244140625,
            source: "Linux: sch_cake, 1/4096",
        },
        /// BLUE's probability also grows at each departure, once a target, of a packet that has
        /// waited longer than this.
        pub blue_above: Option<Duration> { auto: "none", quiet: true, source: "ns-3: BlueThreshold" },
        /// Besides what the law marks, mark every capable packet that has waited longer than this.
        pub ce_threshold: Option<Duration> {
            auto: "none",
            quiet: true,
            source: "ns-3: CeThreshold; RFC 8290, section 5.2.7",
        },
    }
}

const COLUMNS: &[Column<Cobalt>; 3] = &[
    column("count", "The count that spaces the signals.", |d| f64::from(d.vars.count)),
    column("dropping", "Whether the delay is above the target, 1 or 0.", |d| {
        f64::from(u8::from(d.vars.dropping))
    }),
    column("p_blue", "BLUE's probability.", |d| d.vars.p),
];

/// The law, which does not change.
#[derive(Clone, Debug)]
pub struct Law {
    target: Duration,
    interval: Duration,
    /// Four frames' time.
    frames: Duration,
    increment: f64,
    decrement: f64,
    blue_above: Option<Duration>,
    ce_threshold: Option<Duration>,
}

impl Law {
    /// The law on a link.
    pub fn new(p: &LawParams, cx: &Context) -> Self {
        let frame = p
            .frame_time
            .unwrap_or_else(|| Duration::from_secs_f64(8.0 * 1514.0 / cx.rate.as_bps() as f64));
        Law {
            target: p.target,
            interval: p.interval,
            frames: Duration::from_ticks(frame.as_ticks().saturating_mul(4)),
            increment: p.increment,
            decrement: p.decrement,
            blue_above: p.blue_above,
            ce_threshold: p.ce_threshold,
        }
    }

    /// Returns the acceptable time in the queue.
    pub fn target(&self) -> Duration {
        self.target
    }

    /// Returns how long the time in the queue may stay above the target.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The gap to the next signal, interval/√count.
    fn gap(&self, count: u32) -> Duration {
        let root = libm::sqrt(f64::from(count.max(1)));
        Duration::from_ticks((self.interval.as_ticks() as f64 / root) as u64)
    }
}

/// What one queue remembers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vars {
    drop_next: Time,
    blue_timer: Time,
    /// BLUE's probability.
    p: f64,
    count: u32,
    dropping: bool,
    /// In CAKE: 1/√count is still 0, as no count has changed yet.
    fresh: bool,
}

impl Vars {
    /// Those of a queue of CAKE's. Linux sets 1/√count to 0, and to 1 and less once a signal has come
    /// or a count has fallen: the first delay above the target that a queue ever has is signalled
    /// with the next packet, and not after an interval.
    pub fn fresh() -> Self {
        Vars { fresh: true, ..Vars::default() }
    }

    /// A packet that has waited `sojourn` is at the head. `spared`: it is not dropped, whatever the
    /// law says, as the last one of a queue of CAKE's.
    pub fn dequeue(
        &mut self,
        law: &Law,
        now: Time,
        sojourn: Duration,
        (capable, spared): (bool, bool),
        rng: &mut Rng,
    ) -> Verdict {
        let over = sojourn > law.target && sojourn > law.frames;
        let due = self.count > 0 && now >= self.drop_next;
        // Whether drop_next lay behind, when it was looked at last.
        let mut late = now > self.drop_next;
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = if self.fresh { now } else { now + law.gap(self.count) };
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut verdict = Verdict::Pass;
        if due && self.dropping {
            verdict = if capable {
                Verdict::Mark(Level::Ce, Reason::Early)
            } else {
                Verdict::Drop(Reason::Early)
            };
            self.recount(law, self.count.saturating_add(1));
            late = now > self.drop_next;
        } else if due {
            while self.count > 0 && now >= self.drop_next {
                self.recount(law, self.count - 1);
            }
            late = now > self.drop_next;
        }
        if law.blue_above.is_some_and(|above| sojourn > above) {
            self.blame(law, now);
        }
        if self.p > 0.0 && !matches!(verdict, Verdict::Drop(_)) && rng.unit() < self.p {
            verdict = Verdict::Drop(Reason::Early);
        }
        if spared && matches!(verdict, Verdict::Drop(_)) {
            verdict = Verdict::Pass;
        }
        if self.count == 0 {
            self.drop_next = now + law.interval;
        } else if late && !matches!(verdict, Verdict::Drop(_)) {
            self.drop_next = now;
        }
        let above = law.ce_threshold.is_some_and(|most| sojourn > most);
        if above && capable && verdict == Verdict::Pass {
            verdict = Verdict::Mark(Level::Ce, Reason::Early);
        }
        verdict
    }

    /// BLUE's probability grows, once a target.
    fn blame(&mut self, law: &Law, now: Time) {
        if now.since(self.blue_timer) > law.target {
            self.p = (self.p + law.increment).min(1.0);
            self.blue_timer = now;
        }
    }

    /// A packet of the queue was lost for want of room.
    pub fn queue_full(&mut self, law: &Law, now: Time) {
        self.blame(law, now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Returns whether nothing is remembered that time would still change.
    pub fn is_at_rest(&self, now: Time) -> bool {
        self.p == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// It was the queue's turn, and nothing waited.
    pub fn queue_empty(&mut self, law: &Law, now: Time) {
        if self.p > 0.0 && now.since(self.blue_timer) > law.target {
            self.p = (self.p - law.decrement).max(0.0);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.recount(law, self.count - 1);
        }
    }

    /// The count is another one from drop_next on, which moves on by its gap.
    fn recount(&mut self, law: &Law, count: u32) {
        (self.count, self.fresh) = (count, false);
        self.drop_next += law.gap(count);
    }
}

/// COBALT.
#[derive(Clone, Debug)]
pub struct Cobalt {
    law: Law,
    vars: Vars,
    ecn: bool,
}

impl Cobalt {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &CobaltParams, cx: &Context) -> Result<Self, ParamError> {
        let _ = Unit::of(p, &p.common, cx)?;
        Ok(Cobalt { law: Law::new(&p.law, cx), vars: Vars::default(), ecn: p.common.ecn })
    }
}

impl Aqm for Cobalt {
    #[inline(always)]
    fn arrive(&mut self, _: Time, _: &Packet, q: &Queue, _: &mut Rng) -> Verdict {
        if let Some(idle) = q.idle_since {
            self.vars.queue_empty(&self.law, idle);
        }
        Verdict::Pass
    }

    fn overflow(&mut self, now: Time, _: &Packet, _: &Queue) {
        self.vars.queue_full(&self.law, now);
    }

    #[inline(always)]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        sojourn: Duration,
        _: &Queue,
        rng: &mut Rng,
    ) -> Verdict {
        let capable = self.ecn && pkt.ecn != Ecn::NotEct;
        self.vars.dequeue(&self.law, now, sojourn, (capable, false), rng)
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
    use crate::testing::{busy, context, params, PKT};

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    /// Target 5 ms, interval 100 ms, frames take no time.
    fn law() -> Law {
        let p = LawParams { frame_time: Some(Duration::ZERO), ..LawParams::default() };
        Law::new(&p, &context())
    }

    /// A packet that may not be marked; returns whether it is dropped.
    fn drops(vars: &mut Vars, at: u64, sojourn: u64) -> bool {
        let (sojourn, mut rng) = (Duration::from_millis(sojourn), Rng::stream(1, "test"));
        vars.dequeue(&law(), ms(at), sojourn, (false, false), &mut rng) != Verdict::Pass
    }

    /// Times of drop_next in microseconds, rounded.
    fn next_us(vars: &Vars) -> u64 {
        (vars.drop_next.as_nanos() + 500) / 1000
    }

    /// 100 ms, and then gaps of 100/√2, 100/√3, …: every millisecond, and every ten.
    #[test]
    fn signals_come_ever_faster() {
        for (step, want) in [
            (1, vec![100, 171, 229, 279, 324, 364, 402, 438, 471, 503, 533, 562]),
            (10, vec![100, 180, 230, 280, 330, 370, 410, 440, 480, 510, 540, 570]),
        ] {
            let mut vars = Vars::default();
            let dropped: Vec<u64> =
                (0..=1000).step_by(step).filter(|at| drops(&mut vars, *at, 20)).collect();
            assert_eq!(dropped[..12], want);
            if step == 1 {
                assert_eq!((dropped.len(), vars.count), (32, 33));
            }
        }
    }

    /// After a second above the target: the count falls at 1012, 1030 … and is 0 a second later.
    #[test]
    fn the_count_decays() {
        let mut vars = Vars::default();
        (0..=1000).for_each(|at| {
            let _ = drops(&mut vars, at, 20);
        });
        let mut fell = vec![];
        for at in 1001..2100 {
            let before = vars.count;
            assert!(!drops(&mut vars, at, 1));
            if vars.count < before {
                fell.push((at, vars.count));
            }
        }
        assert_eq!(
            fell[..6],
            [(1012, 32), (1030, 31), (1048, 30), (1066, 29), (1085, 28), (1103, 27)]
        );
        assert_eq!(fell[fell.len() - 4..], [(1778, 3), (1835, 2), (1906, 1), (2006, 0)]);
    }

    #[test]
    fn each_step_by_hand() {
        let mut vars = Vars::default();
        for (at, sojourn, dropped, count, dropping, next) in [
            (0, 20, false, 1, true, 100_000),
            (50, 20, false, 1, true, 100_000),
            (100, 20, true, 2, true, 170_711),
            (170, 20, false, 2, true, 170_711),
            (171, 20, true, 3, true, 228_446),
            (172, 1, false, 3, false, 228_446),
            (173, 20, false, 3, true, 230_735), // 173 + 100/√3
        ] {
            assert_eq!(drops(&mut vars, at, sojourn), dropped, "{at}");
            assert_eq!(
                (vars.count, vars.dropping, next_us(&vars)),
                (count, dropping, next),
                "{at}"
            );
        }
        // The first packet is late, and drop_next still lies at 0, behind it.
        let mut vars = Vars::default();
        assert!(!drops(&mut vars, 10, 20));
        assert_eq!((vars.count, vars.dropping, next_us(&vars)), (1, true, 10_000));
        assert!(drops(&mut vars, 11, 20));
        assert_eq!((vars.count, next_us(&vars)), (2, 80_711));
    }

    /// A queue of CAKE's, on time and then late: the first late packet passes, the next one does not.
    /// The second time is a queue's as any.
    #[test]
    fn the_first_delay_of_a_fresh_queue_is_signalled_at_once() {
        let first = |mut vars: Vars| {
            let mut late =
                (0..200).filter(|at| drops(&mut vars, *at, if *at < 7 { 1 } else { 20 }));
            [late.next(), late.next()].map(Option::unwrap)
        };
        assert_eq!((first(Vars::fresh()), first(Vars::default())), ([8, 78], [107, 178]));
        let mut vars = Vars::fresh();
        for at in 0..1000 {
            let _ = drops(&mut vars, at, if at < 10 { 20 } else { 1 });
        }
        assert_eq!(vars.count, 0);
        assert!((1000..1100).all(|at| !drops(&mut vars, at, 20)));
        assert!(drops(&mut vars, 1100, 20));
    }

    #[test]
    fn blue_grows_once_a_target_and_falls_in_sixteenths_of_that() {
        let (law, mut vars) = (law(), Vars::default());
        let mut p = vec![];
        for at in [10, 12, 16, 22, 28] {
            vars.queue_full(&law, ms(at));
            p.push(vars.p * 256.0);
        }
        assert_eq!(p, [1.0, 1.0, 2.0, 3.0, 4.0]);
        for at in [30, 34, 40] {
            vars.queue_empty(&law, ms(at));
            p.push(vars.p * 4096.0);
        }
        assert_eq!(p[5..], [64.0, 63.0, 62.0]);
        (0..1000).for_each(|i| vars.queue_full(&law, ms(100 + 6 * i)));
        assert_eq!(vars.p, 1.0);
        // It drops what may be marked, but not what is spared.
        let mut rng = Rng::stream(1, "test");
        let mut out =
            |spared| vars.dequeue(&law, ms(9000), Duration::ZERO, (true, spared), &mut rng);
        assert_eq!((out(false), out(true)), (Verdict::Drop(Reason::Early), Verdict::Pass));
    }

    fn cobalt(set: &[(&'static str, &'static str)]) -> Cobalt {
        Cobalt::new(&params(&KIND, set), &context()).unwrap()
    }

    /// ns-3's suite of COBALT, its case of 20 packets at 0 and departures at 10, 210, 210 and 420 ms:
    /// the marks after each where all may be marked; CoDel has 0, 1, 1, 2.
    #[test]
    fn ns3_marks() {
        let mut aqm = cobalt(&[("frame_time", "\"0 s\"")]);
        let mut rng = Rng::stream(1, "test");
        let pkt = Packet { ecn: Ecn::Ect0, ..PKT };
        let mut marks = 0;
        let mut seen = vec![];
        for at in [10, 210, 210, 420] {
            let verdict = aqm.depart(ms(at), &pkt, Duration::from_millis(at), &busy(9), &mut rng);
            assert!(!matches!(verdict, Verdict::Drop(_)));
            marks += u32::from(verdict != Verdict::Pass);
            seen.push(marks);
        }
        assert_eq!(seen, [0, 1, 2, 3]);
    }

    /// ns-3's case of drops: 200 arrivals, one each 10 ms, into 100 places, and none leaves. And its
    /// "enhanced BLUE": 200 packets at 0 and a departure each 10 ms, of which those from 410 to 1000
    /// ms have waited more than 400 ms: 60 steps.
    #[test]
    fn ns3_blue() {
        let mut aqm = cobalt(&[]);
        (100..200).for_each(|i| aqm.overflow(ms(10 * i), &PKT, &busy(100)));
        assert_eq!(aqm.vars.p, 100.0 / 256.0);
        let mut aqm = cobalt(&[("blue_above", "\"400 ms\""), ("frame_time", "\"0 s\"")]);
        let mut rng = Rng::stream(1, "test");
        for i in 1..=100 {
            // Again after each drop, as the driver does.
            let waited = Duration::from_millis(10 * i);
            while matches!(
                aqm.depart(ms(10 * i), &PKT, waited, &busy(9), &mut rng),
                Verdict::Drop(_)
            ) {}
        }
        assert_eq!(aqm.vars.p, 60.0 / 256.0);
    }

    /// Four frames of 1514 B take 4.8 ms at 10 Mbit/s, and 48 ms at 1 Mbit/s.
    #[test]
    fn a_slow_link_is_given_four_frames() {
        assert_eq!(cobalt(&[]).law.frames.as_nanos() / 1000, 4844);
        let slow =
            Context { rate: penstock_units::Rate::from_bps(1_000_000).unwrap(), ..context() };
        let aqm = Cobalt::new(&params(&KIND, &[]), &slow).unwrap();
        let mut vars = aqm.vars;
        let mut rng = Rng::stream(1, "test");
        let mut late = |waited| {
            let _ = vars.dequeue(
                &aqm.law,
                ms(1000),
                Duration::from_millis(waited),
                (true, false),
                &mut rng,
            );
            vars.dropping
        };
        assert_eq!([late(48), late(49)], [false, true]);
    }

    /// The link fell idle at 40 ms: the next arrival tells.
    #[test]
    fn an_idle_link_is_an_empty_queue() {
        let (mut aqm, mut rng) = (cobalt(&[]), Rng::stream(1, "test"));
        aqm.overflow(ms(10), &PKT, &busy(100));
        let idle = Queue { pkts: 0, bytes: 0, idle_since: Some(ms(40)) };
        let _ = aqm.arrive(ms(500), &PKT, &idle, &mut rng);
        assert_eq!((aqm.vars.p * 4096.0, aqm.vars.dropping, aqm.vars.count), (15.0, false, 0));
        assert_eq!(aqm.vars.blue_timer, ms(40));
    }
}
