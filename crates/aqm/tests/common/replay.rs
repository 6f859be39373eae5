//! Replays the tests of others on our disciplines: packets that arrive at given times, departures
//! that are asked for at given times, and what became of them.

use penstock_aqm::driver::{Driver, Line};
use penstock_aqm::{build, kind, Context, Discipline, Ecn, Packet, Queue, Reason, Turn, COMMON};
use penstock_units::param::{Profile, Values};
use penstock_units::{QueueLen, Rate, Rng, Time};
use std::collections::VecDeque;

pub fn ms(ms: f64) -> Time {
    Time::from_nanos((ms * 1e6).round() as u64)
}

/// Keys as TOML literals.
pub type Keys = [(&'static str, &'static str)];

/// What became of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    /// Found no room, or were given up for room.
    pub overflow: u64,
    /// Dropped for the ramp, or for a control.
    pub early: u64,
    /// Dropped beyond the ramp.
    pub forced: u64,
    /// Marked, at their arrival or at their departure.
    pub marks: u64,
    /// Sent.
    pub sent: u64,
}

impl Fates {
    fn lost(&mut self, reason: Reason) {
        match reason {
            Reason::Overflow => self.overflow += 1,
            Reason::Early => self.early += 1,
            Reason::Forced => self.forced += 1,
        }
    }

    pub fn drops(&self) -> u64 {
        self.overflow + self.early + self.forced
    }
}

/// The packets that wait. Their places are the handles.
struct Places {
    q: Queue,
    limit: QueueLen,
    packets: Vec<(Packet, Time)>,
    waiting: VecDeque<u32>,
    /// By flow.
    fates: Vec<Fates>,
}

impl Places {
    fn of(&mut self, flow: u32) -> &mut Fates {
        let flow = flow as usize;
        if self.fates.len() <= flow {
            self.fates.resize(flow + 1, Fates::default());
        }
        &mut self.fates[flow]
    }

    fn out(&mut self, handle: u32) -> (Packet, Time) {
        let place = self.waiting.iter().position(|h| *h == handle).expect("it waits");
        self.waiting.remove(place);
        let (pkt, since) = self.packets[handle as usize];
        self.q.pkts -= 1;
        self.q.bytes -= u64::from(pkt.bytes);
        (pkt, since)
    }
}

impl Line for Places {
    type Waiting = Packet;

    fn queue(&self) -> &Queue {
        &self.q
    }

    fn full(&self, pkt: &Packet) -> bool {
        match self.limit {
            QueueLen::Packets(most) => f64::from(self.q.pkts) + 1.0 > most,
            QueueLen::Bytes(most) => self.q.bytes + u64::from(pkt.bytes) > most,
        }
    }

    fn draw(&self, rng: &mut Rng) -> Option<(u32, Packet)> {
        let place = (rng.unit() * self.waiting.len() as f64) as usize;
        self.waiting.get(place).map(|handle| (*handle, self.packets[*handle as usize].0))
    }

    fn evict(&mut self, _: Time, handle: u32, reason: Reason) {
        let (pkt, _) = self.out(handle);
        self.of(pkt.flow).lost(reason);
    }

    fn take(&mut self, _: Time, handle: Option<u32>) -> Option<(Packet, Time, Packet)> {
        let handle = handle.or(self.waiting.front().copied())?;
        let (pkt, since) = self.out(handle);
        Some((pkt, since, pkt))
    }

    fn drop_head(&mut self, _: Time, pkt: Packet, reason: Reason) {
        self.of(pkt.flow).lost(reason);
    }
}

/// A discipline by itself, as ns-3's tests have theirs: no transmitter, so every packet waits.
pub struct Replay {
    aqm: Discipline,
    driver: Driver,
    line: Places,
}

impl Replay {
    /// A kind with some keys set, in front of a link of so many bit/s and 20 ms.
    pub fn on(bps: u64, name: &'static str, keys: &[&Keys], limit: QueueLen, seed: u64) -> Self {
        let aqm = kind(name).expect("a kind");
        let tables: Vec<_> = aqm.params.iter().copied().chain([COMMON]).collect();
        let mut values = Values::defaults(&tables, &aqm.defaults, Profile::Rfc);
        for (key, text) in keys.iter().copied().flatten() {
            let of = tables.iter().copied().flatten().find(|p| p.name == *key);
            let value =
                of.and_then(|p| p.ty.literal(text)).unwrap_or_else(|| panic!("{key} {text}"));
            values.set(key, value);
        }
        let context = Context::new(
            Rate::from_bps(bps).expect("above zero"),
            penstock_units::Duration::from_millis(20),
            limit,
        );
        let aqm = build(name, &values, &context).expect("values that fit");
        let driver = Driver::of(&*aqm, Rng::stream(seed, "aqm/replay"));
        let line = Places {
            q: Queue { pkts: 0, bytes: 0, idle_since: Some(Time::ZERO) },
            limit,
            packets: vec![],
            waiting: VecDeque::new(),
            fates: vec![],
        };
        Replay { aqm, driver, line }
    }

    /// A kind with some keys set, of which so many packets may wait.
    pub fn new(name: &'static str, keys: &[&Keys], packets: u32) -> Self {
        Replay::on(1_500_000, name, keys, QueueLen::Packets(f64::from(packets)), 1)
    }

    fn ticks(&mut self, until: Time) {
        while let Some(due) = self.aqm.next_tick().filter(|due| *due <= until) {
            self.aqm.tick(due, &self.line.q);
        }
    }

    /// A packet arrives.
    pub fn arrive(&mut self, now: Time, flow: u32, bytes: u32, ecn: Ecn) {
        self.ticks(now);
        let pkt = Packet { bytes, ecn, flow, class: 0 };
        let handle = self.line.packets.len() as u32;
        self.line.packets.push((pkt, now));
        match self.driver.arrive(&mut *self.aqm, now, &pkt, &mut self.line) {
            Err(reason) => self.line.of(flow).lost(reason),
            Ok(after) => {
                self.line.of(flow).marks += u64::from(after != ecn);
                self.line.packets[handle as usize].0.ecn = after;
                self.line.waiting.push_back(handle);
                self.line.q.pkts += 1;
                self.line.q.bytes += u64::from(bytes);
                self.line.q.idle_since = None;
                self.driver.enqueued(&mut *self.aqm, now, &pkt, handle);
            }
        }
    }

    /// A departure is asked for. Returns the packet that leaves.
    pub fn depart(&mut self, now: Time) -> Option<Packet> {
        self.ticks(now);
        let Turn::Packet((pkt, after)) = self.driver.serve(&mut *self.aqm, now, &mut self.line)
        else {
            self.line.q.idle_since.get_or_insert(now);
            return None;
        };
        let fates = self.line.of(pkt.flow);
        fates.sent += 1;
        fates.marks += u64::from(after != pkt.ecn);
        Some(pkt)
    }

    /// Packets that wait.
    pub fn waiting(&self) -> u32 {
        self.line.q.pkts
    }

    /// What became of the packets of a flow.
    pub fn flow(&self, flow: u32) -> Fates {
        self.line.fates.get(flow as usize).copied().unwrap_or_default()
    }

    /// What became of all of them.
    pub fn all(&self) -> Fates {
        self.line.fates.iter().fold(Fates::default(), |a, b| Fates {
            overflow: a.overflow + b.overflow,
            early: a.early + b.early,
            forced: a.forced + b.forced,
            marks: a.marks + b.marks,
            sent: a.sent + b.sent,
        })
    }

    /// A variable that the discipline publishes.
    pub fn state(&self, name: &str) -> f64 {
        let mut found = None;
        self.aqm.state(&mut |column, x| {
            if column == name {
                found = Some(x);
            }
        });
        found.unwrap_or_else(|| panic!("no column {name}"))
    }
}
