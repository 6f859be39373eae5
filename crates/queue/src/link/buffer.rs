//! The packets that wait in front of a link, their counters and their series.

use crate::config::{Keep, LinkConfig};
use crate::link::bands::{Band, Bands};
use crate::link::fate::Arriving;
use crate::link::held::{Held, HeldPacket};
use crate::ring::Ring;
use crate::series::{AtQueue, QueueSeries};
use crate::stats::LinkStats;
use penstock_aqm::driver::Line;
use penstock_aqm::{Aqm, Ecn, Level, Packet, Queue, Reason, Service};
use penstock_units::{QueueLen, Rng, Time};

/// A packet that waits at a lazy link: when it starts to be sent.
#[derive(Clone, Copy)]
struct Departure {
    start: Time,
    bytes: u32,
    flow: u32,
}

/// See the module. A lazy link uses `waiting`, an eager one `held`.
#[derive(Clone)]
pub(crate) struct Buffer {
    pub(crate) q: Queue,
    limit: u64,
    limit_in_bytes: bool,
    /// The packet in service counts against the limit.
    count_in_service: bool,
    in_service_bytes: u32,
    /// Packets wait and none is in service: a shaper holds them.
    held_back: bool,
    /// When the packet in service began to be sent.
    pub(crate) in_service_since: Time,
    waiting: Ring<Departure>,
    held: Held,
    /// Of the whole run, for the conservation of packets; without those sent at once.
    pub(crate) arrived: u64,
    departed: u64,
    lost: u64,
    /// Dropped after they were let in, by their places in the caller's pool.
    pub(crate) gone: Vec<u32>,
    pub(crate) stats: Option<Box<LinkStats>>,
    /// Where the link is measured and its discipline declares bands.
    pub(crate) bands: Option<Box<Bands>>,
    pub(crate) series: Option<Box<QueueSeries>>,
    /// There are bands or series: one question for each packet instead of two.
    followed: bool,
}

impl Buffer {
    /// An empty buffer in front of a discipline.
    pub(crate) fn new(c: &LinkConfig, keep: &Keep, aqm: &dyn Aqm, opportunities: bool) -> Self {
        let (limit, limit_in_bytes) = limit(c.buffer);
        let mut columns = vec![];
        aqm.state(&mut |name, _| columns.push(name));
        let series = QueueSeries::new(keep, &columns).map(Box::new);
        let stats = keep.window.map(|(from, to)| Box::new(LinkStats::new(from, to, c.framing)));
        let bands = stats.as_deref().and_then(|stats| Bands::of(aqm, stats));
        Buffer {
            q: Queue { pkts: 0, bytes: 0, idle_since: Some(Time::ZERO) },
            limit,
            limit_in_bytes,
            // Between opportunities no packet is in service.
            count_in_service: c.count_in_service && !opportunities,
            in_service_bytes: 0,
            held_back: false,
            in_service_since: Time::ZERO,
            waiting: Ring::new(Departure { start: Time::NEVER, bytes: 0, flow: 0 }),
            held: Held::new(aqm.service()),
            arrived: 0,
            departed: 0,
            lost: 0,
            gone: vec![],
            followed: bands.is_some() || series.is_some(),
            bands,
            stats,
            series,
        }
    }

    /// Gives memory back where much has long been unused.
    #[inline]
    pub(crate) fn relax(&mut self) {
        self.waiting.relax();
        self.held.relax();
    }

    /// It holds `buffer` from now on.
    pub(crate) fn resize(&mut self, buffer: QueueLen) {
        (self.limit, self.limit_in_bytes) = limit(buffer);
    }

    /// Another discipline takes over. What waits is in `waiting`.
    pub(crate) fn renew(&mut self, aqm: &dyn Aqm) {
        self.held = Held::new(aqm.service());
        self.held_back = false;
        self.bands = None;
        if let Some(series) = &mut self.series {
            series.renew(aqm);
        }
    }

    /// Takes out all that is held, in the order in which it came.
    pub(crate) fn taken_as_they_came(&mut self) -> Vec<HeldPacket> {
        self.held.all()
    }

    /// A packet that was held will start to be sent at `start`: from now on that is known, as it is
    /// at a lazy link.
    pub(crate) fn will_start(&mut self, start: Time, h: &HeldPacket) {
        self.waiting.push(Departure { start, bytes: h.bytes, flow: h.flow });
        let leaves = Leaves { at: h.at, start, bytes: h.bytes, data: h.data };
        if let Some(stats) = self.stats.as_deref_mut() {
            leaves.count(stats, raised(h.arrived_as, h.ecn));
        }
        if let Some(series) = &mut self.series {
            series.will_start(start, &h.at_queue());
        }
    }

    /// Returns when the first waiting packet starts to be sent, where that is known.
    #[inline]
    pub(crate) fn next_start(&self) -> Time {
        self.waiting.get(0).map_or(Time::NEVER, |w| w.start)
    }

    /// The time that [`Buffer::next_start`] names has come. Returns what it names from now on.
    #[inline(always)]
    pub(crate) fn start_next(&mut self) -> Time {
        let Some((w, behind)) = self.waiting.step() else { return Time::NEVER };
        let next = behind.map_or(Time::NEVER, |w| w.start);
        self.leaves(w.start, w.bytes);
        self.in_service(w.start, w.bytes);
        self.departed += 1;
        if self.followed {
            self.follow_start(&w);
        }
        next
    }

    /// Bands and series hear of a start.
    #[inline(never)]
    fn follow_start(&mut self, w: &Departure) {
        if let Some(bands) = &mut self.bands {
            bands.starts(w.start);
        }
        if let Some(series) = &mut self.series {
            series.starts(w.start, w.flow, w.bytes, self.q.pkts);
        }
    }

    /// A packet that arrives at `now` is let in, and starts to be sent at `start`.
    #[inline(always)]
    pub(crate) fn pass(
        &mut self,
        now: Time,
        a: &Arriving,
        ecn: Ecn,
        start: Time,
        band: Option<u8>,
    ) {
        if start > now {
            self.enters(now, a.pkt.bytes);
            self.waiting.push(Departure { start, bytes: a.pkt.bytes, flow: a.pkt.flow });
        } else {
            self.departed += 1;
        }
        let leaves = Leaves { at: now, start, bytes: a.pkt.bytes, data: a.data };
        if let Some(stats) = self.stats.as_deref_mut() {
            leaves.count(stats, raised(a.pkt.ecn, ecn));
        }
        if let Some(band) = band {
            self.of_band(band, |band| leaves.count(&mut band.stats, raised(a.pkt.ecn, ecn)));
        }
        if self.followed {
            self.follow_pass(now, &{ *a }, ecn, start, band);
        }
    }

    /// Bands and series hear of a packet that is let in.
    #[inline(never)]
    fn follow_pass(&mut self, now: Time, a: &Arriving, ecn: Ecn, start: Time, band: Option<u8>) {
        if let Some(bands) = self.bands.as_mut().filter(|_| start > now) {
            bands.waits(now, band);
        }
        if let Some(series) = &mut self.series {
            series.accepted(start, ecn, &at_queue(a), self.q.pkts);
        }
    }

    /// A packet of `bytes` that arrives at `now` is sent at once.
    #[inline]
    pub(crate) fn straight(&mut self, now: Time, bytes: u32, data: bool) {
        self.in_service(now, bytes);
        if let Some(stats) = &mut self.stats {
            stats.arrival(now, data);
            stats.departure(now, now, bytes, data);
        }
    }

    /// A packet that arrives at `now` is let in, and held. Returns its handle, if the discipline
    /// orders the packets.
    #[inline(always)]
    pub(crate) fn hold(
        &mut self,
        now: Time,
        a: &Arriving,
        ecn: Ecn,
        service: Service,
        band: Option<u8>,
    ) -> u32 {
        self.enters(now, a.pkt.bytes);
        if let Some(band) = band {
            self.of_band(band, |band| band.enters(now));
        }
        if let Some(series) = &mut self.series {
            series.accepted(Time::NEVER, ecn, &at_queue(a), self.q.pkts);
        }
        self.held.put(service, HeldPacket::new(a, ecn, band))
    }

    /// A packet that was held starts to be sent.
    #[inline(always)]
    pub(crate) fn sent(&mut self, now: Time, h: &HeldPacket, ecn: Ecn) {
        self.departed += 1;
        let bytes = h.bytes;
        let leaves = Leaves { at: h.at, start: now, bytes, data: h.data };
        if let Some(stats) = self.stats.as_deref_mut() {
            leaves.count(stats, raised(h.arrived_as, ecn));
        }
        if let Some(band) = h.band {
            self.of_band(band, |band| {
                band.leaves(now);
                leaves.count(&mut band.stats, raised(h.arrived_as, ecn));
            });
        }
        if let Some(series) = &mut self.series {
            series.sent(now, ecn, &h.at_queue(), self.q.pkts);
        }
    }

    /// A packet of `bytes` is in service from `start` on.
    #[inline]
    pub(crate) fn in_service(&mut self, start: Time, bytes: u32) {
        self.in_service_bytes = bytes;
        self.in_service_since = start;
    }

    /// A shaper holds what waits.
    pub(crate) fn nothing_in_service(&mut self) {
        self.held_back = true;
    }

    /// A packet arrives at `now`, whatever becomes of it; the discipline's average is `avg()` then.
    #[inline(always)]
    pub(crate) fn arrives(
        &mut self,
        now: Time,
        data: bool,
        band: Option<u8>,
        avg: impl FnOnce() -> Option<f64>,
    ) {
        if let Some(stats) = self.stats.as_deref_mut() {
            stats.arrival(now, data);
            stats.average(now, avg());
        }
        if let Some(band) = band {
            self.of_band(band, |band| band.stats.arrival(now, data));
        }
    }

    /// Does something to a band, where bands are measured.
    #[cold]
    #[inline(never)]
    fn of_band(&mut self, band: u8, act: impl FnOnce(&mut Band)) {
        if let Some(bands) = &mut self.bands {
            act(bands.get(band));
        }
    }

    /// A packet is not let in.
    #[cold]
    pub(crate) fn refused(&mut self, now: Time, a: &Arriving, reason: Reason, band: Option<u8>) {
        let word = match reason {
            Reason::Early => "drop_early",
            Reason::Forced => "drop_forced",
            Reason::Overflow => "drop_overflow",
        };
        self.dropped(now, &at_queue(a), (reason, word), band);
    }

    #[cold]
    fn dropped(
        &mut self,
        now: Time,
        p: &AtQueue,
        (reason, word): (Reason, &str),
        band: Option<u8>,
    ) {
        let data = p.data;
        self.lost += 1;
        if let Some(stats) = &mut self.stats {
            stats.dropped(now, reason, data);
        }
        if let Some(band) = band {
            self.of_band(band, |band| band.stats.dropped(now, reason, data));
        }
        if let Some(series) = &mut self.series {
            series.dropped(now, word, p, self.q.pkts);
        }
    }

    #[inline]
    fn enters(&mut self, now: Time, bytes: u32) {
        if let Some(stats) = &mut self.stats {
            stats.held(now, self.q.pkts);
        }
        self.q.pkts += 1;
        self.q.bytes += u64::from(bytes);
    }

    #[inline]
    fn leaves(&mut self, now: Time, bytes: u32) {
        if let Some(stats) = &mut self.stats {
            stats.held(now, self.q.pkts);
        }
        self.q.pkts -= 1;
        self.q.bytes -= u64::from(bytes);
    }

    /// Packets in = out + dropped + waiting.
    pub(crate) fn conserves(&self) -> bool {
        let waiting = (self.waiting.len() + self.held.len()) as u64;
        self.arrived == self.departed + self.lost + waiting && waiting == u64::from(self.q.pkts)
    }
}

/// A packet that arrived at `at` starts to be sent at `start`.
#[derive(Clone, Copy)]
struct Leaves {
    at: Time,
    start: Time,
    bytes: u32,
    data: bool,
}

impl Leaves {
    /// Counts it, and its mark.
    #[inline(always)]
    fn count(self, stats: &mut LinkStats, mark: Option<Level>) {
        stats.departure(self.at, self.start, self.bytes, self.data);
        if let Some(level) = mark {
            stats.mark(self.start, level);
        }
    }
}

/// The buffer as the driver of its discipline sees it.
impl Line for Buffer {
    type Waiting = HeldPacket;

    #[inline]
    fn queue(&self) -> &Queue {
        &self.q
    }

    #[inline]
    fn full(&self, pkt: &Packet) -> bool {
        let busy = self.count_in_service && self.q.idle_since.is_none() && !self.held_back;
        if self.limit_in_bytes {
            let in_service = if busy { u64::from(self.in_service_bytes) } else { 0 };
            self.q.bytes + in_service + u64::from(pkt.bytes) > self.limit
        } else {
            u64::from(self.q.pkts) + u64::from(busy) >= self.limit
        }
    }

    #[inline]
    fn draw(&self, rng: &mut Rng) -> Option<(u32, Packet)> {
        self.held.draw(rng)
    }

    fn evict(&mut self, now: Time, handle: u32, reason: Reason) {
        let h = self.held.give_up(handle).expect("the handle of a waiting packet");
        self.leaves(now, h.bytes);
        if let Some(band) = h.band {
            self.of_band(band, |band| band.leaves(now));
        }
        self.dropped(now, &h.at_queue(), (reason, "evict"), h.band);
        self.gone.push(h.index);
    }

    #[inline(always)]
    fn take(&mut self, now: Time, handle: Option<u32>) -> Option<(Packet, Time, HeldPacket)> {
        let h = match handle {
            Some(handle) => self.held.at(handle),
            None => self.held.first()?,
        };
        self.leaves(now, h.bytes);
        self.in_service(now, h.bytes);
        self.q.idle_since = None;
        self.held_back = false;
        Some((h.packet(), h.at, h))
    }

    fn drop_head(&mut self, now: Time, h: HeldPacket, reason: Reason) {
        if let Some(band) = h.band {
            self.of_band(band, |band| band.leaves(now));
        }
        self.dropped(now, &h.at_queue(), (reason, "drop_head"), h.band);
        self.gone.push(h.index);
    }
}

/// An arriving packet as its row tells of it. A copy: what a call may look at has to stand in memory.
#[inline]
fn at_queue(a: &Arriving) -> AtQueue {
    AtQueue { pkt: a.pkt, index: a.index, data: a.data, came: a.at }
}

/// The most that waits, and whether that counts bytes.
fn limit(buffer: QueueLen) -> (u64, bool) {
    match buffer {
        QueueLen::Packets(n) => (n.max(0.0) as u64, false),
        QueueLen::Bytes(b) => (b, true),
    }
}

/// The mark that stands in the field `after` and did not `before`: one that an earlier router set
/// is not this one's.
#[inline]
fn raised(before: Ecn, after: Ecn) -> Option<Level> {
    (after != before).then_some(if after == Ecn::Ce { Level::Ce } else { Level::Incipient })
}
