//! Operations on a discipline, and what must hold after each: the property tests and the fuzz
//! target `aqm` share them. The property tests draw them by strategies, the fuzzer from bytes.

use penstock_aqm::driver::{Driver, Line};
use penstock_aqm::{
    build, Common, Context, Discipline, Ecn, Kind, Packet, Queue, Reason, Service, Turn, COMMON,
    KINDS,
};
use penstock_units::param::{Param, Params as _, Profile, Ty, Value, Values};
use penstock_units::{Bytes, Duration, QueueLen, Rate, Rng, Time};

pub fn params(kind: &Kind) -> impl Iterator<Item = &'static Param> {
    kind.params.iter().copied().chain([COMMON]).flatten()
}

/// A kind's defaults, with some keys set.
pub fn values(kind: &Kind, set: &[(&'static str, Value)]) -> Values {
    let tables: Vec<_> = kind.params.iter().copied().chain([COMMON]).collect();
    let mut v = Values::defaults(&tables, &kind.defaults, Profile::Rfc);
    for (name, value) in set {
        v.set(name, value.clone());
    }
    v
}

/// A discipline: its kind, some keys, and the link.
#[derive(Clone, Debug)]
pub struct Setup {
    pub kind: &'static str,
    pub set: Vec<(&'static str, Value)>,
    pub context: Context,
}

impl Setup {
    /// `None` where the values do not fit together.
    pub fn build(&self) -> Option<Discipline> {
        let kind = penstock_aqm::kind(self.kind).expect("a kind");
        let mut v = values(kind, &self.set);
        if v.get("unit").is_none() {
            v.set("unit", Value::Word("packets".into()));
        }
        build(self.kind, &v, &self.context).ok()
    }
    fn is(&self, key: &str, value: &Value) -> bool {
        self.set.iter().any(|(k, v)| *k == key && v == value)
    }
    /// Whether it marks.
    fn ecn(&self) -> bool {
        Common::read(&values(penstock_aqm::kind(self.kind).expect("a kind"), &self.set)).ecn
    }
    /// Whether it refuses arriving packets at a limit of its own.
    fn has_a_limit(&self) -> bool {
        ["fq-codel", "fq-pie", "dualpi2", "sfq"].contains(&self.kind)
    }
    /// Whether a key sets the probability above which capable packets are dropped.
    fn marks_all(&self) -> bool {
        // Severe congestion drops (AMECN paper, Table 1), PIE beyond mark_ecnth, CHOKe in pairs, PI2
        // and DualPI2 in overload, BLUE in COBALT and SFB, DOCSIS-PIE always, and a signal that is told to.
        let drops = ["mecn", "amecn", "custom", "pie", "choke", "pi2", "dualpi2", "cobalt"];
        let drops = [&drops[..], &["fq-cobalt", "cake", "fq-pie", "docsis-pie", "sfb"]].concat();
        let drops = drops.contains(&self.kind);
        self.ecn() && !drops && !self.set.iter().any(|(k, _)| *k == "mark_p")
    }
}

/// What happens to a queue: the one type of operation of the fuzzer and the property tests.
#[derive(Clone, Debug)]
pub enum Op {
    Arrive { bytes: u32, ecn: Ecn, flow: u32 },
    Depart,
    Wait { ns: u64 },
}

/// A queue of `limit` packets, as a link keeps it; handles are places in `packets`. Marks are not
/// written: a packet leaves as it came.
struct Places {
    q: Queue,
    limit: usize,
    packets: Vec<(Packet, Time)>,
    /// The handles of those that wait, in the order of their arrival.
    waiting: Vec<u32>,
    /// The packets that the last dequeue dropped.
    dropped: Vec<(Packet, Reason)>,
    /// The number of all that were dropped.
    gone: usize,
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
    type Waiting = Packet;

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
        self.gone += usize::from(self.out(handle).is_some());
    }
    fn take(&mut self, _: Time, handle: Option<u32>) -> Option<(Packet, Time, Packet)> {
        let handle = handle.or(self.waiting.first().copied())?;
        self.out(handle).map(|(pkt, arrived)| (pkt, arrived, pkt))
    }
    fn drop_head(&mut self, _: Time, pkt: Packet, reason: Reason) {
        self.dropped.push((pkt, reason));
    }
}

/// A queue around a discipline.
struct Bench<'a> {
    setup: &'a Setup,
    aqm: Discipline,
    driver: Driver,
    line: Places,
    now: Time,
    departed: usize,
    /// What became of the packets that arrived, and of those whose turn came.
    fates: Vec<Result<Ecn, Reason>>,
}

impl<'a> Bench<'a> {
    fn new(setup: &'a Setup, aqm: Discipline, limit: u32) -> Self {
        let line = Places {
            q: Queue { pkts: 0, bytes: 0, idle_since: Some(Time::ZERO) },
            limit: limit as usize,
            packets: vec![],
            waiting: vec![],
            dropped: vec![],
            gone: 0,
            stray: None,
        };
        let driver = Driver::of(&*aqm, Rng::stream(7, "aqm/test"));
        Bench { setup, aqm, driver, line, now: Time::ZERO, departed: 0, fates: vec![] }
    }

    /// Checks what became of a packet.
    fn fate(&mut self, pkt: &Packet, fate: Result<Ecn, Reason>) {
        let capable = pkt.ecn != Ecn::NotEct;
        let early = fate == Err(Reason::Early);
        let spared = self.setup.marks_all() && capable;
        assert!(!(early && spared), "a capable packet is marked, not dropped");
        let marked = fate.is_ok_and(|ecn| ecn != pkt.ecn);
        assert!(!marked || capable && self.setup.ecn(), "marks only what may be marked");
        self.fates.push(fate);
    }

    fn arrive(&mut self, pkt: Packet) {
        let handle = self.line.packets.len() as u32;
        self.line.packets.push((pkt, self.now));
        let fate = self.driver.arrive(&mut *self.aqm, self.now, &pkt, &mut self.line);
        self.fate(&pkt, fate);
        if fate.is_err() {
            self.line.gone += 1;
            let overflow = fate == Err(Reason::Overflow);
            let allowed = self.line.full(&pkt) || self.setup.has_a_limit();
            assert!(!overflow || allowed, "the buffer is the driver's business");
        } else if self.line.q.idle_since.take().is_none()
            || self.driver.service() == Service::Orders
        {
            self.line.waiting.push(handle);
            self.line.q.pkts += 1;
            self.line.q.bytes += u64::from(pkt.bytes);
            self.driver.enqueued(&mut *self.aqm, self.now, &pkt, handle);
        } else {
            self.departed += 1;
        }
    }

    /// A dequeue, which may drop.
    fn depart(&mut self) {
        let served = self.driver.serve(&mut *self.aqm, self.now, &mut self.line);
        for (pkt, reason) in std::mem::take(&mut self.line.dropped) {
            self.line.gone += 1;
            assert_ne!(reason, Reason::Overflow, "the buffer is the driver's business");
            self.fate(&pkt, Err(reason));
        }
        match served {
            Turn::Packet((pkt, ecn)) => {
                self.departed += 1;
                self.fate(&pkt, Ok(ecn));
            }
            Turn::NotBefore(at) => self.wait(at),
            Turn::Empty => {
                assert!(self.line.waiting.is_empty(), "a packet's turn while any waits");
                self.line.q.idle_since.get_or_insert(self.now);
            }
        }
    }

    fn wait(&mut self, until: Time) {
        // Up to a hundred ticks; then the clock of a fast one is taken as stopped.
        for _ in 0..100 {
            let Some(t) = self.aqm.next_tick().filter(|t| *t <= until) else { break };
            assert!(t >= self.now, "a tick in the past");
            self.now = t;
            self.aqm.tick(t, &self.line.q);
            assert!(self.aqm.next_tick().is_none_or(|next| next > t), "the next tick lies ahead");
        }
        if self.aqm.next_tick().is_none_or(|t| t > until) {
            self.now = until;
        }
    }
}

/// Everything is checked at every step. Returns what became of the packets.
pub fn drive(setup: &Setup, aqm: Discipline, ops: &[Op], limit: u32) -> Vec<Result<Ecn, Reason>> {
    let mut b = Bench::new(setup, aqm, limit);
    let mut thresholds: Vec<(&str, f64)> = vec![];
    for op in ops {
        match op {
            Op::Arrive { bytes, ecn, flow } => {
                b.arrive(Packet { bytes: *bytes, ecn: *ecn, flow: *flow, class: 0 });
            }
            Op::Depart => b.depart(),
            Op::Wait { ns } => b.wait(b.now + Duration::from_nanos(*ns)),
        }
        assert_eq!(b.line.stray, None, "a handle that does not wait");
        let mut wrong = None;
        b.aqm.state(&mut |name, x| {
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
        assert_eq!(wrong, None);
        if let [(_, min_th), (_, max_th)] = thresholds[..] {
            assert!(min_th < max_th, "{min_th} {max_th}");
        }
        let longest = f64::from(limit) * 10_000.0;
        assert!(b.aqm.average_pkts().is_none_or(|avg| (0.0..=longest).contains(&avg)));
        assert_eq!(
            b.line.packets.len(),
            b.departed + b.line.gone + b.line.waiting.len(),
            "packets are conserved"
        );
        assert!(b.line.waiting.len() <= b.line.limit);
    }
    // What is left comes out, each packet once.
    while !b.line.waiting.is_empty() {
        b.depart();
    }
    b.fates
}

/// The bytes of an input, one choice after the other. An exhausted input gives zeros, which mean
/// the simplest choice, so inputs shrink well.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
    fn pair(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }
    /// In [0, 1].
    fn unit(&mut self) -> f64 {
        f64::from(self.pair()) / 65_535.0
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }
    /// Every order of magnitude is as likely as every other.
    fn log(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, self.unit())
    }
}

/// A value in the range of its declaration, its ends among them.
fn drawn(c: &mut Choices, ty: &Ty) -> Value {
    match ty {
        Ty::Bool => Value::Bool(c.byte() % 2 == 1),
        Ty::Int { min, max } => {
            let span = max.abs_diff(*min);
            Value::Int(min.wrapping_add_unsigned((c.unit() * span as f64) as u64).min(*max))
        }
        Ty::Num { min, max, open } => {
            let least = if *open { min + (max - min) * 1e-12 } else { *min };
            let x = match c.byte() % 4 {
                0 => least,
                1 => *max,
                2 => min + (max - min) * c.unit(),
                _ => min + (max - min) * c.log(1e-12, 1.0),
            };
            Value::Num(x.clamp(least, *max))
        }
        Ty::Or(inner, words) => match c.byte() % 2 {
            0 => drawn(c, inner),
            _ => Value::Word(c.pick(words).into()),
        },
        Ty::Word(words) => Value::Word(c.pick(words).into()),
        Ty::Duration => Value::Duration(Duration::from_nanos(c.log(1e3, 1e10) as u64)),
        Ty::Size => Value::Size(Bytes(c.log(1.0, 20_000.0) as u64)),
        Ty::Queue => Value::Queue(match c.byte() % 2 {
            0 => QueueLen::Packets(c.log(0.01, 300.0)),
            _ => QueueLen::Bytes(c.log(1.0, 1e6) as u64),
        }),
        Ty::Tables(params) => {
            let one = |c: &mut Choices| params.iter().map(|p| (p.name, drawn(c, &p.ty))).collect();
            let n = c.byte() % 4;
            named((0..n).map(|_| table(one(c))).collect())
        }
        other => panic!("a discipline's key of type {other:?}: say here how to draw it"),
    }
}

/// A table of values.
pub fn table(list: Vec<(&'static str, Value)>) -> Values {
    let mut values = Values::new();
    list.into_iter().for_each(|(name, value)| values.set(name, value));
    values
}

/// Tables by name.
pub fn named(tables: Vec<Values>) -> Value {
    Value::Tables((0..).map(|i: u32| format!("t{i}")).zip(tables).collect())
}

/// Any bytes as a discipline, the limit of its buffer, and what happens to it. The first byte is
/// the kind; each of its keys is set or left by the lowest bit of a byte.
pub fn read(bytes: &[u8]) -> (Setup, u32, Vec<Op>) {
    let c = &mut Choices(bytes);
    let kind = &KINDS[usize::from(c.byte()) % KINDS.len()];
    let mut set = vec![];
    for p in params(kind) {
        if c.byte() % 2 == 1 {
            set.push((p.name, drawn(c, &p.ty)));
        }
    }
    let context = Context::new(
        Rate::from_bps(c.log(64e3, 1e9) as u64).expect("above zero"),
        Duration::from_millis(u64::from(c.pair() % 500)),
        QueueLen::Packets(f64::from(1 + c.pair() % 1000)),
    );
    let limit = u32::from(1 + c.byte() % 200);
    let mut ops = vec![];
    while !c.0.is_empty() && ops.len() < 1000 {
        let byte = c.byte();
        ops.push(match byte % 10 {
            0..=4 => Op::Arrive {
                bytes: 1 + u32::from(c.pair()) % 10_000,
                ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(byte >> 6)],
                flow: u32::from(byte >> 3) % 5,
            },
            5..=7 => Op::Depart,
            _ => Op::Wait { ns: c.log(1.0, 2e10) as u64 },
        });
    }
    (Setup { kind: kind.name, set, context }, limit, ops)
}

/// What the fuzz target does: every check after every operation, and twice the same fates.
pub fn check(bytes: &[u8]) {
    let (setup, limit, ops) = read(bytes);
    let (Some(first), Some(second)) = (setup.build(), setup.build()) else { return };
    assert_eq!(drive(&setup, first, &ops, limit), drive(&setup, second, &ops, limit));
}
