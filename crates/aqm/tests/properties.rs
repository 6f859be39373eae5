//! Properties of every discipline: any parameters in their declared range, any pattern of arrivals.
//! `PENSTOCK_CASES=100000` looks further.

use penstock_aqm::driver::{Driver, Line};
use penstock_aqm::parts::estimator::Idle;
use penstock_aqm::{
    build, Aqm, Context, Discipline, Ecn, Kind, Packet, Queue, Reason, Verdict, COMMON, KINDS,
};
use penstock_units::param::{Param, Ty, Value, Values};
use penstock_units::{Bytes, Duration, QueueLen, Rate, Rng, Time};
use proptest::prelude::*;

fn params(kind: &Kind) -> impl Iterator<Item = &'static Param> {
    kind.params.iter().copied().chain([COMMON]).flatten()
}

/// A kind's defaults, with some keys set.
fn values(kind: &Kind, set: &[(&'static str, Value)]) -> Values {
    let tables: Vec<_> = kind.params.iter().copied().chain([COMMON]).collect();
    let mut v = Values::defaults(&tables, kind.defaults, false);
    for (name, value) in set {
        v.set(name, value.clone());
    }
    v
}

/// A value in the range of its declaration, its ends among them.
fn in_range(ty: &'static Ty) -> BoxedStrategy<Value> {
    match ty {
        Ty::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Ty::Int { min, max } => (*min..=*max).prop_map(Value::Int).boxed(),
        Ty::Num { min, max, open } => {
            let (min, max) = (*min, *max);
            let least = if *open { min + (max - min) * 1e-12 } else { min };
            let any = (0.0f64..=1.0).prop_map(move |x| (min + (max - min) * x).max(least));
            let small = (0.0f64..12.0)
                .prop_map(move |e| (min + (max - min) * libm::pow(10.0, -e)).max(least));
            prop_oneof![Just(least), Just(max), any, small].prop_map(Value::Num).boxed()
        }
        Ty::NumOr(inner, words) => {
            let words = prop::sample::select(words.to_vec()).prop_map(|w| Value::Word(w.into()));
            prop_oneof![in_range(inner), words].boxed()
        }
        Ty::Word(words) => {
            prop::sample::select(words.to_vec()).prop_map(|w| Value::Word(w.into())).boxed()
        }
        Ty::Duration => (1_000u64..10_000_000_000)
            .prop_map(|n| Value::Duration(Duration::from_nanos(n)))
            .boxed(),
        Ty::Size => (1u64..20_000).prop_map(|n| Value::Size(Bytes(n))).boxed(),
        Ty::Queue => prop_oneof![
            (0.01f64..300.0).prop_map(|n| Value::Queue(QueueLen::Packets(n))),
            (1u64..1_000_000).prop_map(|b| Value::Queue(QueueLen::Bytes(b))),
        ]
        .boxed(),
        other => panic!("a discipline's key of type {other:?}: say here how to draw it"),
    }
}

/// A discipline: its kind, some keys, and the link.
#[derive(Clone, Debug)]
struct Setup {
    kind: &'static str,
    set: Vec<(&'static str, Value)>,
    context: Context,
}

impl Setup {
    /// `None` where the values do not fit together.
    fn build(&self) -> Option<Discipline> {
        let kind = penstock_aqm::kind(self.kind).expect("a kind");
        let mut v = values(kind, &self.set);
        if v.opt_word("unit").is_none() {
            v.set("unit", Value::Word("packets".into()));
        }
        build(self.kind, &v, &self.context).ok()
    }
    fn is(&self, key: &str, value: &Value) -> bool {
        self.set.iter().any(|(k, v)| *k == key && v == value)
    }
    /// Whether it marks.
    fn ecn(&self) -> bool {
        values(penstock_aqm::kind(self.kind).expect("a kind"), &self.set).bool("ecn")
    }
    /// Whether a key sets the probability above which capable packets are dropped.
    fn marks_all(&self) -> bool {
        // Severe congestion drops (AMECN paper, Table 1), PIE beyond mark_ecnth, CHOKe in pairs, and
        // a signal that is told to.
        let drops = ["mecn", "amecn", "custom", "pie", "choke"].contains(&self.kind);
        self.ecn() && !drops && !self.set.iter().any(|(k, _)| *k == "mark_p")
    }
}

fn setup() -> impl Strategy<Value = Setup> {
    let kinds = 0..KINDS.len();
    let link = (64_000u64..1_000_000_000, 0u64..500, 1u32..1000);
    (kinds, link).prop_flat_map(|(kind, (bps, ms, buffer))| {
        let kind = &KINDS[kind];
        let context = Context {
            rate: Rate::from_bps(bps).unwrap(),
            delay: Duration::from_millis(ms),
            buffer: QueueLen::Packets(f64::from(buffer)),
        };
        let one = |p: &'static Param| {
            let name = p.name;
            prop::option::weighted(0.3, in_range(&p.ty)).prop_map(move |v| v.map(|v| (name, v)))
        };
        let all: Vec<_> = params(kind).map(one).collect();
        all.prop_map(move |set| Setup {
            kind: kind.name,
            set: set.into_iter().flatten().collect(),
            context,
        })
    })
}

/// What happens to a queue.
#[derive(Clone, Debug)]
enum Op {
    Arrive { bytes: u32, ecn: Ecn, flow: u32 },
    Depart,
    Wait { ns: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let field = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let ns = prop_oneof![0u64..1_000, 0u64..5_000_000, 0u64..20_000_000_000];
    prop_oneof![
        5 => (1u32..10_000, field, 0u32..5).prop_map(|(bytes, ecn, flow)| Op::Arrive { bytes, ecn, flow }),
        3 => Just(Op::Depart),
        2 => ns.prop_map(|ns| Op::Wait { ns }),
    ]
}

/// A discipline whose verdicts are checked.
struct Watched<'a> {
    aqm: Discipline,
    setup: &'a Setup,
    verdicts: Vec<Verdict>,
    /// The first verdict that is not allowed, and why.
    wrong: Option<(Verdict, &'static str)>,
}

impl Watched<'_> {
    fn check(&mut self, pkt: &Packet, verdict: Verdict) -> Verdict {
        let capable = pkt.ecn != Ecn::NotEct;
        let mut never = |bad: bool, why| {
            if bad && self.wrong.is_none() {
                self.wrong = Some((verdict, why));
            }
        };
        let early = verdict == Verdict::Drop(Reason::Early);
        never(
            self.setup.marks_all() && capable && early,
            "a capable packet is marked, not dropped",
        );
        let marked = matches!(verdict, Verdict::Mark(..));
        never(marked && (!capable || !self.setup.ecn()), "marks only what may be marked");
        let overflow = verdict == Verdict::Drop(Reason::Overflow);
        never(overflow, "the buffer is the driver's business");
        self.verdicts.push(verdict);
        verdict
    }
}

impl Aqm for Watched<'_> {
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        let verdict = self.aqm.arrive(now, pkt, q, rng);
        self.check(pkt, verdict)
    }
    fn overflow(&mut self, now: Time, pkt: &Packet, q: &Queue) {
        self.aqm.overflow(now, pkt, q);
    }
    fn decides_at_departure(&self) -> bool {
        self.aqm.decides_at_departure()
    }
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        sojourn: Duration,
        q: &Queue,
        rng: &mut Rng,
    ) -> Verdict {
        let verdict = self.aqm.depart(now, pkt, sojourn, q, rng);
        self.check(pkt, verdict)
    }
    fn draws(&self) -> bool {
        self.aqm.draws()
    }
    fn drawn(&mut self, handle: u32, waiting: &Packet) {
        self.aqm.drawn(handle, waiting);
    }
    fn evict(&mut self, now: Time, pkt: &Packet, q: &Queue, full: bool) -> Option<(u32, Reason)> {
        self.aqm.evict(now, pkt, q, full)
    }
    fn schedules(&self) -> bool {
        self.aqm.schedules()
    }
    fn enqueued(&mut self, now: Time, pkt: &Packet, handle: u32) {
        self.aqm.enqueued(now, pkt, handle);
    }
    fn next(&mut self, now: Time) -> Option<u32> {
        self.aqm.next(now)
    }
    fn next_tick(&self) -> Option<Time> {
        self.aqm.next_tick()
    }
    fn tick(&mut self, now: Time, q: &Queue) {
        self.aqm.tick(now, q);
    }
}

/// A queue of `limit` packets, as a link keeps it; handles are places in `packets`. Marks are not
/// written: a packet leaves as it came.
struct Places {
    q: Queue,
    limit: usize,
    packets: Vec<(Packet, Time)>,
    /// The handles of those that wait, in the order of their arrival.
    waiting: Vec<u32>,
    dropped: usize,
    /// A handle that was named although it does not wait.
    stray: Option<u32>,
}

impl Places {
    /// Takes a waiting packet out.
    fn out(&mut self, handle: u32) -> Option<(Packet, Time)> {
        let Some(place) = self.waiting.iter().position(|h| *h == handle) else {
            self.stray = Some(handle);
            return None;
        };
        self.waiting.remove(place);
        let (pkt, arrived) = self.packets[handle as usize];
        self.q.pkts -= 1;
        self.q.bytes -= u64::from(pkt.bytes);
        Some((pkt, arrived))
    }
}

impl Line for Places {
    type Waiting = ();

    fn queue(&self) -> &Queue {
        &self.q
    }
    fn full(&self, _: &Packet) -> bool {
        self.waiting.len() >= self.limit
    }
    fn draw(&self, rng: &mut Rng) -> Option<(u32, Packet)> {
        let place = (rng.unit() * self.waiting.len() as f64) as usize;
        let handle = *self.waiting.get(place)?;
        Some((handle, self.packets[handle as usize].0))
    }
    fn evict(&mut self, _: Time, handle: u32, _: Reason) {
        self.dropped += usize::from(self.out(handle).is_some());
    }
    fn take(&mut self, _: Time, handle: Option<u32>) -> Option<(Packet, Time, ())> {
        let handle = handle.or(self.waiting.first().copied())?;
        self.out(handle).map(|(pkt, arrived)| (pkt, arrived, ()))
    }
    fn drop_head(&mut self, _: Time, (): (), _: Reason) {
        self.dropped += 1;
    }
}

/// A queue around a discipline.
struct Bench<'a> {
    driver: Driver<Watched<'a>>,
    line: Places,
    now: Time,
    departed: usize,
}

impl<'a> Bench<'a> {
    fn new(setup: &'a Setup, aqm: Discipline, limit: u32) -> Self {
        let watched = Watched { aqm, setup, verdicts: vec![], wrong: None };
        let line = Places {
            q: Queue { pkts: 0, bytes: 0, idle_since: Some(Time::ZERO) },
            limit: limit as usize,
            packets: vec![],
            waiting: vec![],
            dropped: 0,
            stray: None,
        };
        let driver = Driver::new(watched, Rng::stream(7, "aqm/test"));
        Bench { driver, line, now: Time::ZERO, departed: 0 }
    }

    fn arrive(&mut self, pkt: Packet) {
        let handle = self.line.packets.len() as u32;
        self.line.packets.push((pkt, self.now));
        let let_in = self.driver.arrive(self.now, &pkt, &mut self.line).is_ok();
        if !let_in {
            self.line.dropped += 1;
        } else if self.line.q.idle_since.take().is_none() || self.driver.orders() {
            self.line.waiting.push(handle);
            self.line.q.pkts += 1;
            self.line.q.bytes += u64::from(pkt.bytes);
            self.driver.enqueued(self.now, &pkt, handle);
        } else {
            self.departed += 1;
        }
    }

    /// A dequeue, which may drop.
    fn depart(&mut self) -> Result<(), TestCaseError> {
        if self.driver.serve(self.now, &mut self.line).is_some() {
            self.departed += 1;
            return Ok(());
        }
        prop_assert!(self.line.waiting.is_empty(), "a packet's turn while any waits");
        self.line.q.idle_since.get_or_insert(self.now);
        Ok(())
    }

    fn wait(&mut self, until: Time) -> Result<(), TestCaseError> {
        // Up to a hundred ticks; then the clock of a fast one is taken as stopped.
        for _ in 0..100 {
            let Some(t) = self.driver.next_tick().filter(|t| *t <= until) else { break };
            prop_assert!(t >= self.now, "a tick in the past");
            self.now = t;
            self.driver.tick(t, &self.line.q);
            prop_assert!(
                self.driver.next_tick().is_none_or(|next| next > t),
                "the next tick lies ahead"
            );
        }
        if self.driver.next_tick().is_none_or(|t| t > until) {
            self.now = until;
        }
        Ok(())
    }
}

/// Everything is checked at every step, the verdicts are returned.
fn drive(
    setup: &Setup,
    aqm: Discipline,
    ops: &[Op],
    limit: u32,
) -> Result<Vec<Verdict>, TestCaseError> {
    let mut b = Bench::new(setup, aqm, limit);
    let mut thresholds: Vec<(&str, f64)> = vec![];
    for op in ops {
        match op {
            Op::Arrive { bytes, ecn, flow } => {
                b.arrive(Packet { bytes: *bytes, ecn: *ecn, flow: *flow, class: 0 });
            }
            Op::Depart => b.depart()?,
            Op::Wait { ns } => b.wait(b.now + Duration::from_nanos(*ns))?,
        }
        let watched = b.driver.aqm();
        prop_assert_eq!(watched.wrong, None);
        prop_assert_eq!(b.line.stray, None, "a handle that does not wait");
        let mut wrong = None;
        watched.aqm.state(&mut |name, x| {
            // Feng's adapter may be set free of its bounds, as ns-2's is.
            let free = setup.is("max_p_high", &Value::Word("none".into()));
            let probability = ["p", "p_b", "p_m", "p1", "p2", "p1_max", "p2_max"].contains(&name)
                || name == "max_p" && !free;
            thresholds.retain(|(n, _)| n != &name);
            if ["min_th", "max_th"].contains(&name) {
                thresholds.push((name, x));
            }
            if !x.is_finite() || x < 0.0 || probability && x > 1.0 {
                wrong = Some((name, x));
            }
        });
        prop_assert_eq!(wrong, None);
        if let [(_, min_th), (_, max_th)] = thresholds[..] {
            prop_assert!(min_th < max_th, "{min_th} {max_th}");
        }
        let longest = f64::from(limit) * 10_000.0;
        prop_assert!(watched.aqm.average_pkts().is_none_or(|avg| (0.0..=longest).contains(&avg)));
        prop_assert_eq!(
            b.line.packets.len(),
            b.departed + b.line.dropped + b.line.waiting.len(),
            "packets are conserved"
        );
        prop_assert!(b.line.waiting.len() <= b.line.limit);
    }
    // What is left comes out, each packet once.
    while !b.line.waiting.is_empty() {
        b.depart()?;
    }
    Ok(b.driver.aqm().verdicts.clone())
}

fn cases() -> u32 {
    std::env::var("PENSTOCK_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(3000)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(), failure_persistence: None, max_global_rejects: 1 << 30, ..ProptestConfig::default()
    })]

    #[test]
    fn every_discipline_stays_sane_and_repeats_itself(
        setup in setup(),
        ops in prop::collection::vec(op(), 0..300),
        limit in 1u32..200,
    ) {
        let (Some(first), Some(second)) = (setup.build(), setup.build()) else { return Err(TestCaseError::reject("")) };
        prop_assert_eq!(drive(&setup, first, &ops, limit)?, drive(&setup, second, &ops, limit)?);
    }

    /// Whatever the ramp: as the average rises the probability does not fall, and the states come
    /// in order. Of two levels the worse does not fall: where the ramps end, marks of both give way
    /// to drops.
    #[test]
    fn profiles_are_monotone(
        min_th in 0.0f64..100.0, width in 0.01f64..100.0, mid in 0.0f64..=1.0, max_p in 0.0f64..=1.0, p2_max in 0.0f64..=1.0,
        n in 0.1f64..10.0, gentle in any::<bool>(),
    ) {
        use penstock_aqm::family::{mecn::TwoLevel, nlred::Square, nred::Power};
        use penstock_aqm::parts::profile::{Point, Profile, Ramp, Straight};
        let max_th = min_th + width;
        let ramp = Ramp { min_th, max_th, max_p };
        let one = if gentle { Straight::Gentle { frozen: None } } else { Straight::Linear };
        let square = Square { gentle };
        let power = Power { limit: max_th + 10.0, n };
        let two = TwoLevel { mid_th: min_th + mid * width, p2_max, gentle };
        type At<'a> = &'a dyn Fn(f64) -> Point;
        let profiles: [(At, bool); 4] = [
            (&|avg| one.at(avg, &ramp), false),
            (&|avg| square.at(avg, &ramp), false),
            (&|avg| power.at(avg, &ramp), false),
            (&|avg| two.at(avg, &ramp), true),
        ];
        for (i, (at, two_levels)) in profiles.into_iter().enumerate() {
            let mut last = 0.0;
            for step in 0..1000 {
                let p = match at(f64::from(step) * (3.0 * max_th + 20.0) / 1000.0) {
                    Point::Below => 0.0,
                    Point::On(_) if two_levels => 0.0,
                    Point::On(p) | Point::Levels(_, p) | Point::Severe(p) => p,
                    Point::Beyond => 1.0,
                };
                prop_assert!((0.0..=1.0).contains(&p) && p >= last - 1e-12, "profile {i}: {p} after {last}");
                last = p;
            }
            prop_assert_eq!(last, 1.0);
        }
    }

    /// `p_a` is a probability, and in a run between two signals it does not fall.
    #[test]
    fn gates_are_monotone_in_the_count(p_b in 0.0f64..=1.0) {
        use penstock_aqm::parts::gate::{p_a, Spacing};
        for spacing in [Spacing::Uniform, Spacing::Wait, Spacing::Geometric] {
            let mut last = 0.0;
            for count in 0..2000 {
                let p = p_a(spacing, p_b, f64::from(count));
                prop_assert!((0.0..=1.0).contains(&p) && p >= last, "{spacing:?} at {count}: {p} after {last}");
                last = p;
            }
        }
    }

    /// The average stays between the smallest and the largest queue that it has seen, and idle time
    /// only brings it down.
    #[test]
    fn averages_stay_within_what_they_saw(w_q in 1e-9f64..=1.0, floor in any::<bool>(), steps in prop::collection::vec((0u32..1000, prop::option::of(0u64..1_000_000_000)), 1..200)) {
        let mut e = penstock_aqm::parts::estimator::Ewma::new(w_q, 1250.0, if floor { Idle::Floor } else { Idle::Exact });
        let (mut now, mut highest) = (Time::ZERO, 0.0f64);
        for (q, idle) in steps {
            let before = e.value();
            let q = if idle.is_some() { 0.0 } else { f64::from(q) };
            highest = highest.max(q);
            let since = idle.map(|_| now);
            now += Duration::from_nanos(idle.unwrap_or(1_000));
            let avg = e.update(now, q, since);
            prop_assert!(avg >= 0.0 && avg <= highest * (1.0 + 1e-9));
            prop_assert!(idle.is_none() || avg <= before);
        }
    }
}

/// UDP overload pins the average: the loss rate is the gate's. In whole packets the gaps are
/// uniform on 1/p_b … 2/p_b − 1 (`wait`), on 1 … 1/p_b − 1 (`uniform`), geometric: means (3/p_b −
/// 1)/2, 1/(2 p_b), 1/p_b. ns-2's notes give 2/3 p_b and 2 p_b/(1 + p_b) for the first two, which
/// is the same but for half a packet. w_q = 1 makes avg = q; q = 10 of 5 … 15 makes p_b = max_p /
/// 2.
#[test]
fn loss_under_overload_is_the_gates() {
    let red = penstock_aqm::kind("red").expect("red");
    type Rule = fn(f64) -> f64;
    let gates: [(&str, Rule); 3] =
        [("wait", |p| 2.0 * p / (3.0 - p)), ("uniform", |p| 2.0 * p), ("geometric", |p| p)];
    for (gate, rule) in gates {
        for p_b in [0.002, 0.01, 0.05] {
            let set = [
                ("min_th", Value::Queue(QueueLen::Packets(5.0))),
                ("max_th", Value::Queue(QueueLen::Packets(15.0))),
                ("max_p", Value::Num(2.0 * p_b)),
                ("w_q", Value::Num(1.0)),
                ("gate", Value::Word(gate.into())),
                ("unit", Value::Word("packets".into())),
            ];
            let context = Context {
                rate: Rate::from_bps(10_000_000).unwrap(),
                delay: Duration::from_millis(20),
                buffer: QueueLen::Packets(100.0),
            };
            let mut aqm = build("red", &values(red, &set), &context).expect("values that fit");
            let mut rng = Rng::stream(11, gate);
            let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: 0, class: 0 };
            let q = Queue { pkts: 10, bytes: 10_000, idle_since: None };
            let n = 2_000_000;
            let dropped = (0..n)
                .filter(|_| aqm.arrive(Time::ZERO, &pkt, &q, &mut rng) != Verdict::Pass)
                .count();
            let got = dropped as f64 / f64::from(n);
            // Four standard errors of a count, and none of these gates spreads wider.
            let tolerance = 4.0 / (rule(p_b) * f64::from(n)).sqrt();
            assert!(
                (got / rule(p_b) - 1.0).abs() < tolerance,
                "{gate}, p_b {p_b}: {got}, should be {}",
                rule(p_b)
            );
        }
    }
}
