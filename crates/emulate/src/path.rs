//! The path lies between the two hosts, in virtual time. It has access links, the bottleneck with
//! its discipline, and the way back.
//!
//! Sans-IO: frames and the time come in, frames that are due go out. Departures are computed, not
//! waited for, so a late wake-up moves packets but no lateness ever adds up, and the queue that the
//! discipline sees is that of the ideal link.

use crate::flows::Flows;
use crate::frame::{self, Layer, Seen};
use crate::side::Side;
use penstock_aqm::{Ecn, Packet};
use penstock_queue::{
    Abort, Arriving, Fate, HostConfig, Link, LinkError, Pipe, Queued, Sent, Served,
};
use penstock_sim::{AccessLink, AccessQueue, Config, FlowConfig, PacketStats, PacketView};
use penstock_units::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// A frame in the router's memory.
pub struct Slot {
    /// Its bytes, of which the first `len` count.
    pub bytes: Box<[u8]>,
    /// Its length.
    pub len: usize,
    from: Side,
    flow: u32,
    connection: u32,
    wire_bytes: u32,
    seen: Option<Seen>,
    /// When it came, if its way is watched.
    came: Option<Time>,
}

/// Bytes of a slot: an Ethernet frame of an MTU of 1500, and room to notice a longer one.
pub const SLOT: usize = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    AtQueue(u32),
    Serve(u8),
    /// It comes to its host.
    Down(u32),
    Due(u32),
}

/// The four access pipes of two hosts.
struct Access {
    /// From the left host to its router, and back.
    left: [Pipe; 2],
    right: [Pipe; 2],
}

impl Access {
    fn new(left: &HostConfig, right: &HostConfig) -> Self {
        let pair = |h: &HostConfig| [Pipe::new(h, true), Pipe::new(h, true)];
        Access { left: pair(left), right: pair(right) }
    }

    /// Towards the router.
    fn up(&mut self, side: Side) -> &mut Pipe {
        if side == Side::Left {
            &mut self.left[0]
        } else {
            &mut self.right[0]
        }
    }

    fn down(&mut self, side: Side) -> &mut Pipe {
        if side == Side::Left {
            &mut self.left[1]
        } else {
            &mut self.right[1]
        }
    }
}

/// The access links and the bottleneck between the two hosts, in virtual time.
pub struct Path {
    layer: Layer,
    links: [Link; 2],
    access: Vec<Access>,
    /// The access links of each flow, an index into `access`. Flows between the same two hosts
    /// share them.
    access_of: Vec<u32>,
    /// The access links of flows that no `[[traffic]]` describes.
    hosts: [HostConfig; 2],
    /// The measured window.
    window: (Time, Time),
    delays: [Duration; 2],
    /// Whether frames may overtake each other on each link.
    reorders: [bool; 2],
    frames: Frames,
    events: BinaryHeap<Reverse<(Time, u64, Task)>>,
    order: u64,
    due: Vec<(Time, u32)>,
    /// The counts of each flow.
    pub flows: Flows,
    /// By flow, the frames with data that came in the window, where they are watched: how long they
    /// took through the path.
    watched: Option<Vec<PacketStats>>,
}

/// The frames in the router's memory.
#[derive(Default)]
struct Frames {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Frames of each side that are neither dropped nor due.
    held: [u64; 2],
    counts: Counts,
}

impl Frames {
    /// A frame is dropped.
    fn discard(&mut self, slot: u32) {
        self.counts.dropped += 1;
        self.held[self.slots[slot as usize].from as usize] -= 1;
        self.free.push(slot);
    }
}

/// Exact counts of the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Frames that came in.
    pub received: u64,
    /// Frames that are due or went out.
    pub forwarded: u64,
    /// Frames that a queue or a wire dropped.
    pub dropped: u64,
    /// IP packets from the left side that were given ECT(1) (a discipline's incipient mark).
    pub made_ect1: u64,
    /// IP packets from the left side that were given CE.
    pub made_ce: u64,
    /// Segments that completed their connection's handshake (its third packet was lost), among
    /// those from the left that were delivered with CE: Linux 6.18 leaves them out of what it calls
    /// `received_ce`.
    pub handshake_ce: u64,
}

impl Path {
    /// Makes the links of a dumbbell and the access links of its flows.
    ///
    /// # Errors
    /// If a discipline cannot be made.
    pub fn new(c: &Config, layer: Layer, abort: &Abort, flows: Flows) -> Result<Self, LinkError> {
        let back =
            c.links[c.bottleneck].opposite.expect("a dumbbell's link has an opposite") as usize;
        let links = [c.link(c.bottleneck, abort)?, c.link(back, abort)?];
        let pair = |f: &FlowConfig| if f.leads_forward() { (f.src, f.dst) } else { (f.dst, f.src) };
        let ends = |f: &FlowConfig| {
            let (left, right) = pair(f);
            [c.hosts[left as usize], c.hosts[right as usize]]
        };
        let window = (c.measure_from, c.measure_to);
        let (mut access, mut access_of, mut by_pair) = (vec![], vec![], HashMap::new());
        for (i, f) in c.flows.iter().enumerate() {
            // Programs of the user's have hosts of their own, whatever the scenario's flows share.
            let own = flows.known().is_empty().then_some(i);
            access_of.push(*by_pair.entry((pair(f), own)).or_insert_with(|| {
                let [left, right] = ends(f);
                access.push(Access::new(&left, &right));
                (access.len() - 1) as u32
            }));
        }
        let none = HostConfig { rate: None, delay: Duration::ZERO, buffer: None };
        Ok(Path {
            layer,
            links,
            access,
            access_of,
            hosts: c.flows.first().map_or([none; 2], ends),
            window,
            delays: [c.links[c.bottleneck].delay, c.links[back].delay],
            reorders: [c.links[c.bottleneck].reorders(), c.links[back].reorders()],
            frames: Frames::default(),
            events: BinaryHeap::new(),
            order: 0,
            due: vec![],
            flows,
            watched: c.record.groups.then(Vec::new),
        })
    }

    /// Counts over the whole run.
    pub fn counts(&self) -> Counts {
        self.frames.counts
    }

    /// Returns a free slot to read a frame into. Give it to [`Path::arrive`] or [`Path::release`].
    pub fn take(&mut self) -> u32 {
        self.frames.free.pop().unwrap_or_else(|| {
            self.frames.slots.push(Slot {
                bytes: vec![0; SLOT].into(),
                len: 0,
                from: Side::Left,
                flow: 0,
                connection: 0,
                wire_bytes: 0,
                seen: None,
                came: None,
            });
            (self.frames.slots.len() - 1) as u32
        })
    }

    /// Returns the slot of that number.
    pub fn slot(&mut self, slot: u32) -> &mut Slot {
        &mut self.frames.slots[slot as usize]
    }

    /// Returns the frame in a slot.
    pub fn frame(&self, slot: u32) -> &[u8] {
        let s = &self.frames.slots[slot as usize];
        &s.bytes[..s.len]
    }

    /// Frees the slot of a frame that is no longer needed.
    pub fn release(&mut self, slot: u32) {
        self.frames.free.push(slot);
    }

    /// Returns when something happens next.
    pub fn next(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((t, ..))| *t)
    }

    /// Returns how many packets wait at the bottleneck at `now`, up to which everything has happened.
    pub fn waiting(&mut self, now: Time) -> u32 {
        self.links[0].advance(now);
        self.links[0].waiting()
    }

    /// Returns the bottleneck, or with [`Side::Right`] the link back.
    pub fn link(&mut self, from: Side) -> &mut Link {
        &mut self.links[from as usize]
    }

    /// Returns the bottleneck.
    pub fn bottleneck(&self) -> &Link {
        &self.links[0]
    }

    fn at(&mut self, t: Time, event: Task) {
        self.order += 1;
        self.events.push(Reverse((t, self.order, event)));
    }

    /// Takes a frame that came from one side at `now`. Call [`Path::advance`] up to `now` first.
    pub fn arrive(&mut self, now: Time, from: Side, slot: u32) {
        self.frames.counts.received += 1;
        self.frames.held[from as usize] += 1;
        let place = slot as usize;
        let s = &self.frames.slots[place];
        let seen = frame::read(self.layer, &s.bytes[..s.len]);
        let Some(seen) = seen else {
            // ARP and the like: no queue, no discipline, only the way.
            let delay = self.delays[from as usize] + self.hosts[0].delay + self.hosts[1].delay;
            let s = &mut self.frames.slots[place];
            (s.from, s.seen, s.came) = (from, None, None);
            self.at(now + delay, Task::Due(slot));
            return;
        };
        let (connection, flow, header) = self.flows.arrive(now, from, &seen);
        while self.access_of.len() <= flow as usize {
            self.access_of.push(self.access.len() as u32);
            self.access.push(Access::new(&self.hosts[0], &self.hosts[1]));
        }
        let wire_bytes = (i64::from(seen.ip_bytes) + i64::from(header)).max(1) as u32;
        let s = &mut self.frames.slots[place];
        (s.from, s.flow, s.connection, s.wire_bytes, s.seen) =
            (from, flow, connection, wire_bytes, Some(seen));
        if self.watched.is_some() {
            let data = seen.transport.is_some_and(|x| x.payload > 0);
            let counts = data && self.flows.leads(flow, from) && self.inside(now);
            self.frames.slots[place].came = counts.then_some(now);
            if let Some(stats) = counts.then(|| self.watched(flow)).flatten() {
                stats.came += 1;
            }
        }
        let window = self.window;
        match self.access_links(flow).up(from).send(now, wire_bytes, window) {
            None => self.frames.discard(slot),
            Some(t) if t <= now => self.at_queue(now, slot),
            Some(t) => self.at(t, Task::AtQueue(slot)),
        }
    }

    fn inside(&self, t: Time) -> bool {
        t >= self.window.0 && t < self.window.1
    }

    fn watched(&mut self, flow: u32) -> Option<&mut PacketStats> {
        let (watched, flow) = (self.watched.as_mut()?, flow as usize);
        if flow >= watched.len() {
            watched.resize_with(flow + 1, PacketStats::default);
        }
        Some(&mut watched[flow])
    }

    /// Returns what became of each flow's packets, at the bottleneck and on the whole way, where they
    /// were watched. Those under way at the end count as neither lost nor sent.
    pub fn packets(&mut self, c: &Config) -> Option<Vec<PacketView>> {
        self.watched.as_ref()?;
        let mut free = vec![false; self.frames.slots.len()];
        self.frames.free.iter().for_each(|slot| free[*slot as usize] = true);
        let held = self.frames.slots.iter().zip(free).filter(|(s, free)| !free && s.came.is_some());
        let held: Vec<u32> = held.map(|(s, _)| s.flow).collect();
        for flow in held {
            if let Some(stats) = self.watched(flow) {
                stats.came -= 1;
            }
        }
        let flows = (0..).zip(self.watched.take()?);
        let view = |(i, mut path): (u32, PacketStats)| {
            let forward = c.flows.get(i as usize).is_none_or(FlowConfig::leads_forward);
            let call = c.flows.get(i as usize).and_then(|f| c.calls.get(&f.group));
            path.lost = path.came - path.through_n();
            let queue = self.links[usize::from(!forward)].flow(i);
            PacketView { queue, path: Some(path), call: call.copied() }
        };
        let mut views: Vec<PacketView> = flows.map(view).collect();
        views.resize_with(views.len().max(c.flows.len()), PacketView::default);
        Some(views)
    }

    /// Returns the longest queue at an access link, where it was longer than at the bottleneck.
    /// `flows` are those of the scenario, none where other programs ran.
    pub fn access_queue(&self, flows: &[FlowConfig]) -> Option<AccessQueue> {
        let bottleneck = self.links[0].delay_mean_s();
        let queues = self.access_queues(flows);
        AccessQueue::longest(queues.map(|(link, queue)| (link, queue, bottleneck)))
    }

    /// Returns the queue of every access link, and whose it is.
    fn access_queues<'a>(
        &'a self,
        flows: &'a [FlowConfig],
    ) -> impl Iterator<Item = (AccessLink, Queued)> + 'a {
        self.access.iter().enumerate().flat_map(move |(i, access)| {
            let flow = self.access_of.iter().position(|of| *of as usize == i);
            let flow = flow.and_then(|flow| flows.get(flow));
            let sends_left = flow.is_none_or(FlowConfig::leads_forward);
            let sides = [(&access.left, sends_left), (&access.right, !sends_left)];
            sides.into_iter().flat_map(move |([up, down], sender)| {
                let link = |up| AccessLink {
                    group: flow.map(|f| f.group),
                    flow: flow.map_or(0, |f| f.index),
                    sender,
                    up,
                };
                let both = [(link(true), up.queued()), (link(false), down.queued())];
                both.into_iter().filter_map(|(link, queue)| Some((link, queue?)))
            })
        })
    }

    fn access_links(&mut self, flow: u32) -> &mut Access {
        &mut self.access[self.access_of[flow as usize] as usize]
    }

    /// Carries out everything up to and including `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some(Reverse((t, _, event))) = self.events.peek().copied() {
            if t > now {
                break;
            }
            self.events.pop();
            match event {
                Task::AtQueue(slot) => self.at_queue(t, slot),
                Task::Serve(link) => self.serve(t, link),
                Task::Down(slot) => self.reach_host(t, slot),
                Task::Due(slot) => {
                    self.flows_due(t, slot);
                    self.due.push((t, slot));
                }
            }
        }
    }

    /// Frames that are to go out: when each was due, and its slot, which the caller sends and
    /// releases. In order.
    pub fn due(&mut self) -> std::vec::Drain<'_, (Time, u32)> {
        self.due.drain(..)
    }

    /// Returns the side to which a due frame goes.
    pub fn to(&self, slot: u32) -> Side {
        self.frames.slots[slot as usize].from.other()
    }

    fn at_queue(&mut self, t: Time, slot: u32) {
        let s = &self.frames.slots[slot as usize];
        let from = s.from;
        let Some(seen) = s.seen else { return };
        let pkt = Packet { bytes: s.wire_bytes, ecn: seen.ecn, flow: s.flow, class: seen.class };
        let data = seen.transport.is_none_or(|x| x.payload > 0);
        let arriving = Arriving { at: t, pkt, index: slot, data };
        let Path { links, frames, .. } = self;
        let fate = links[from as usize].arrive(&arriving, || t, |slot| frames.discard(slot));
        if let Fate::Held(Some(at)) = fate {
            self.at(at, Task::Serve(from as u8));
        }
        self.became(slot, fate);
    }

    fn serve(&mut self, t: Time, link: u8) {
        let Path { links, frames, .. } = self;
        let Served { sent, again } = links[usize::from(link)].serve(t, |slot| frames.discard(slot));
        if again != Time::NEVER {
            self.at(again, Task::Serve(link));
        }
        if let Some(Sent { index, fate, .. }) = sent {
            self.became(index, fate);
        }
    }

    /// Does with a frame what its link decided.
    fn became(&mut self, slot: u32, fate: Fate) {
        match fate {
            Fate::Held(_) => {}
            Fate::Through(at, ecn) => self.through(at, ecn, slot),
            Fate::Dropped => self.frames.discard(slot),
        }
    }

    /// It leaves the link at `at`.
    fn through(&mut self, at: Time, ecn: Ecn, slot: u32) {
        let s = &mut self.frames.slots[slot as usize];
        if let Some(seen) = s.seen.filter(|seen| seen.ecn != ecn) {
            frame::write_ecn(self.layer, &mut s.bytes[..s.len], ecn);
            s.seen = Some(Seen { ecn, ..seen });
            if s.from == Side::Left {
                self.frames.counts.made_ce += u64::from(ecn == Ecn::Ce);
                self.frames.counts.made_ect1 +=
                    u64::from(ecn == Ecn::Ect1 && seen.ecn != Ecn::Ect1);
            }
        }
        let from = s.from;
        if at >= penstock_sim::MAX_TIME {
            return self.frames.discard(slot); // the link stays down
        }
        if self.reorders[from as usize] {
            return self.at(at, Task::Down(slot));
        }
        self.reach_host(at, slot);
    }

    /// It enters its host's access link at `at`.
    fn reach_host(&mut self, at: Time, slot: u32) {
        let s = &self.frames.slots[slot as usize];
        let (flow, to, bytes) = (s.flow, s.from.other(), s.wire_bytes);
        let window = self.window;
        match self.access_links(flow).down(to).send(at, bytes, window) {
            None => self.frames.discard(slot),
            Some(due) => self.at(due, Task::Due(slot)),
        }
    }

    fn flows_due(&mut self, t: Time, slot: u32) {
        self.frames.counts.forwarded += 1;
        let s = &self.frames.slots[slot as usize];
        self.frames.held[s.from as usize] -= 1;
        if let Some(came) = self.frames.slots[slot as usize].came.take() {
            let flow = self.frames.slots[slot as usize].flow;
            if let Some(stats) = self.watched(flow) {
                stats.through(t.since(came));
            }
        }
        let s = &self.frames.slots[slot as usize];
        if let Some(seen) = &s.seen {
            let completes = self.flows.deliver(t, s.from, s.connection, s.wire_bytes, seen);
            let marked = s.from == Side::Left && seen.ecn == Ecn::Ce;
            self.frames.counts.handshake_ce += u64::from(completes && marked);
        }
    }

    /// Returns whether nothing that came from that side is still on its way.
    pub fn empty(&self, from: Side) -> bool {
        self.frames.held[from as usize] == 0
    }

    /// Frames in = out + dropped + under way.
    pub fn conserves(&self) -> bool {
        let held = (self.frames.slots.len() - self.frames.free.len()) as u64;
        self.frames.counts.received
            == self.frames.counts.forwarded + self.frames.counts.dropped + held
    }
}
