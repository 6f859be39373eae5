//! The event queue: a timing wheel for the near future, a coarse one whose slots are turns of the
//! first for what comes later (timers), a heap for the rest.
//!
//! Events of one instant go in the order of scheduling, except that departures go before arrivals.
//! The order does not depend on the wheel's geometry, which is chosen from the scenario's rates for
//! speed alone. Nor does it depend on when the engine works something out, which may be ahead of
//! time ([`crate::inbox`]). So the order of scheduling is not that of the calls: an event has the
//! instant at which it was scheduled, the place among all that happened then, and that of the link
//! that sends a packet ([`Origin`]). Only where all three are the same for two events does the order
//! of the calls tell. Links that send in step need not have been worked out in step; what one link
//! sends is.

use penstock_units::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The longest run that an event can stand for.
pub const MAX_TIME: Time = Time::from_ticks((1 << 60) - 1);

const INDEX_BITS: u32 = 26;
const WHAT_BITS: u32 = INDEX_BITS + 4;
/// The most packets, flows or links that an event can name.
pub(crate) const MAX_INDEX: usize = 1 << INDEX_BITS;

const NIL: u32 = u32::MAX;

/// Where something stands among all that happens at its instant: departures first, then by the tick
/// at which it was scheduled.
#[inline]
fn rank(half: u64, scheduled: u64) -> u64 {
    half << 63 | scheduled
}

/// Where a packet comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A host.
    Host,
    /// The link with this number.
    Link(u32),
}

impl Origin {
    /// The top bits of a place say whose it is: 1 bit for a host, 11 more for a link's number.
    const OF_HOST: u32 = 1;
    const OF_LINK: u32 = Self::OF_HOST + 11;

    /// Its place among those that send at one instant, above the bits of [`What`]: hosts first, in
    /// the order of the calls, then links by their numbers. `count` is that of the call.
    #[inline(always)]
    fn place(self, count: u64) -> u64 {
        let (whose, bits) = match self {
            Origin::Host => (0, Self::OF_HOST),
            Origin::Link(number) => {
                let numbers = Self::OF_LINK - Self::OF_HOST;
                let number = u64::from(number) & ((1 << numbers) - 1);
                (1 << numbers | number, Self::OF_LINK)
            }
        };
        whose << (u64::BITS - bits) | count & (u64::MAX >> bits)
    }

    /// Returns how many bits of this place say whose it is.
    #[inline]
    fn bits(place: u64) -> u32 {
        if place >> (u64::BITS - Self::OF_HOST) == 0 {
            Self::OF_HOST
        } else {
            Self::OF_LINK
        }
    }
}

/// An event. Events are ordered by the fields, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// When, in half ticks: departures fall on the whole ones, all others half a tick later.
    at: u64,
    /// The tick at which it was scheduled.
    scheduled: u64,
    /// Where, among what happens at that tick, stands what scheduled it: [`rank`].
    cause: u64,
    /// The place of the link that sends a packet, in the upper bits ([`Origin`]), and the number of
    /// the scheduling, above the bits of [`What`]. The number begins again: it orders what was
    /// scheduled at one instant.
    order: u64,
}

impl Event {
    /// Before every event.
    pub(crate) const FIRST: Event = Event { at: 0, scheduled: 0, cause: 0, order: 0 };

    /// Before all events at `at`, and after all earlier ones.
    #[inline]
    pub(crate) fn first_at(at: Time) -> Event {
        Event { at: at.as_ticks().wrapping_mul(2), ..Event::FIRST }
    }

    /// After every event.
    pub(crate) const LAST: Event = Event { at: u64::MAX, scheduled: 0, cause: 0, order: 0 };

    /// What scheduled it.
    #[inline]
    pub(crate) fn cause(&self) -> Present {
        Present((self.scheduled, self.cause))
    }

    /// The departure at `at` for which what happened at `asked` had asked; [`Event::LAST`] for one
    /// behind the end of every run.
    #[inline]
    pub(crate) fn departure(at: Time, asked: Present) -> Event {
        if at > MAX_TIME {
            return Event::LAST;
        }
        let (scheduled, cause) = asked.0;
        Event { scheduled, cause, ..Event::first_at(at) }
    }

    /// Departures before this time go before it.
    #[inline]
    pub(crate) fn end_of_departures(&self) -> Time {
        Time::from_ticks(self.at.div_ceil(2))
    }

    /// When it is due.
    #[inline]
    pub(crate) fn time(&self) -> Time {
        Time::from_ticks(self.at / 2)
    }

    #[cold]
    fn among_simultaneous(&self, other: &Self) -> Ordering {
        let whose = |e: &Self| {
            let place = e.order >> (u64::BITS - Origin::bits(e.order));
            (e.scheduled, e.cause, place)
        };
        // Which number was given first, though it may have begun again in between.
        let earlier = || {
            let [here, there] = [self, other].map(|e| e.order << Origin::bits(e.order));
            (here.wrapping_sub(there) as i64).cmp(&0)
        };
        whose(self).cmp(&whose(other)).then_with(earlier)
    }

    /// When it is due, in half ticks.
    #[inline]
    pub(crate) fn instant(&self) -> u64 {
        self.at
    }

    /// What is due.
    #[inline]
    pub(crate) fn what(&self) -> What {
        What(self.order as u32 & ((1 << WHAT_BITS) - 1))
    }
}

impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        // Few events fall on one instant: what orders those stays out of the way.
        match self.at.cmp(&other.at) {
            Ordering::Equal => self.among_simultaneous(other),
            order => order,
        }
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An event in a slot, and the next one there.
#[derive(Clone, Copy)]
struct Node {
    event: Event,
    next: u32,
}

const _: () = assert!(size_of::<Node>() == 40);

/// What happens: four bits of kind, 26 bits of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct What(u32);

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A packet arrives at its next hop.
    Packet = 0,
    /// A sender's timer.
    Timer = 1,
    /// A receiver's timer.
    AckTimer = 2,
    /// A datagram source's next packet.
    Udp = 3,
    /// A link is free (disciplines that decide at departure).
    Service = 4,
    /// A flow's application starts, stops or goes on.
    App = 5,
    /// The series are sampled.
    Sample = 6,
    /// The measured window begins or ends.
    Window = 7,
    /// A link takes in what has come to its inbox.
    Inbox = 8,
    /// A sender's next segment, which is paced.
    Release = 9,
    /// A packet that was sent ahead of time leaves a host that others send from.
    Departure = 10,
}

impl What {
    #[inline]
    pub(crate) fn new(kind: Kind, index: u32) -> Self {
        debug_assert!((index as usize) < MAX_INDEX);
        What((kind as u32) << INDEX_BITS | index)
    }
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        match self.0 >> INDEX_BITS {
            0 => Kind::Packet,
            1 => Kind::Timer,
            2 => Kind::AckTimer,
            3 => Kind::Udp,
            4 => Kind::Service,
            5 => Kind::App,
            6 => Kind::Sample,
            7 => Kind::Window,
            8 => Kind::Inbox,
            9 => Kind::Release,
            _ => Kind::Departure,
        }
    }
    /// Returns whether it stands for a packet.
    #[inline]
    pub(crate) fn is_packet(&self) -> bool {
        matches!(self.kind(), Kind::Packet | Kind::Departure)
    }
    #[inline]
    pub(crate) fn index(self) -> usize {
        (self.0 as usize) & (MAX_INDEX - 1)
    }
}

/// The event queue.
#[derive(Clone)]
pub(crate) struct Scheduler {
    /// log2 of a slot's width in half ticks.
    shift: u32,
    mask: u64,
    /// Number of the slot whose events are in `current`.
    slot: u64,
    /// Events of the present slot, the next one last.
    current: Vec<Event>,
    /// What the present slot got after it was full: thousands of flows that start at one instant
    /// would else be inserted one by one.
    crowd: BinaryHeap<Reverse<Event>>,
    /// First node of each slot's list.
    heads: Vec<u32>,
    occupied: Vec<u64>,
    /// The freed ones are reused first, so that they stay in the cache.
    nodes: Vec<Node>,
    free: u32,
    /// log2 of the number of slots: a turn of the wheel.
    turn_bits: u32,
    /// Events of later turns of the wheel, by turn.
    turns: Vec<Vec<Event>>,
    turns_occupied: [u64; TURNS / 64],
    /// The first slot of the next turn that holds something; `u64::MAX` for none.
    next_turn: u64,
    far: BinaryHeap<Reverse<Event>>,
    /// The slot of the first event in `far`; `u64::MAX` for none.
    next_far: u64,
    /// Packets that never arrive: a link stands still for ever, or a pace is that slow.
    never: usize,
    /// The number of the last scheduling, above the bits of [`What`].
    order: u64,
    /// What is being worked out: its tick and its rank.
    present: (u64, u64),
    /// The event taken last: its tick, and the highest rank so far of those taken at that tick. An
    /// event may cause a departure at its own instant, which then comes after it.
    taken: (u64, u64),
}

/// A place among all that happens: a tick and a rank.
#[derive(Clone, Copy)]
pub(crate) struct Present((u64, u64));

impl Present {
    /// Nothing was worked out yet.
    pub(crate) const NONE: Present = Present((0, 0));
}

/// The most events of a slot that are kept in order; more of them go to a heap.
const CROWD: usize = 1024;
/// Turns of the wheel that are told apart.
const TURNS: usize = 256;

impl Scheduler {
    /// A wheel of `slots` (a power of two, at least 64) slots of 2^`shift` ticks.
    pub(crate) fn new(shift: u32, slots: usize) -> Self {
        let slots = slots.next_power_of_two().max(64);
        Scheduler {
            shift: shift + 1,
            mask: slots as u64 - 1,
            slot: 0,
            current: Vec::with_capacity(64),
            crowd: BinaryHeap::new(),
            heads: vec![NIL; slots],
            occupied: vec![0; slots / 64],
            nodes: Vec::new(),
            free: NIL,
            turn_bits: slots.trailing_zeros(),
            turns: vec![Vec::new(); TURNS],
            turns_occupied: [0; TURNS / 64],
            next_turn: u64::MAX,
            far: BinaryHeap::new(),
            next_far: u64::MAX,
            never: 0,
            order: 0,
            present: (0, 0),
            taken: (0, 0),
        }
    }

    /// What is worked out from now on happens at `at`, and was scheduled at `scheduled`.
    #[inline]
    pub(crate) fn begin(&mut self, at: Time, scheduled: Time) {
        self.present = (at.as_ticks(), rank(1, scheduled.as_ticks()));
    }

    /// What is worked out from now on happens at `at`, and was scheduled by what was worked out at
    /// `then`.
    pub(crate) fn begin_as_of(&mut self, then: Present, at: Time) {
        self.present = (at.as_ticks(), rank(1, then.0 .0));
    }

    /// An arrival that was kept elsewhere is worked out from now on.
    #[inline]
    pub(crate) fn begin_arrival(&mut self, event: &Event) {
        self.present = (event.at / 2, rank(1, event.scheduled));
    }

    /// A link's service at `at` is worked out from now on, for which what happened at `asked` had
    /// asked. One that an event caused at its own instant comes after it.
    #[inline]
    pub(crate) fn begin_departure(&mut self, at: Time, asked: Present) {
        let (tick, (scheduled, cause)) = (at.as_ticks(), asked.0);
        let rank = rank(0, scheduled);
        self.present = (tick, if tick == scheduled { rank.max(cause) } else { rank });
    }

    /// What is worked out from now on is `event`, which was taken from the queue.
    #[inline]
    pub(crate) fn begin_event(&mut self, event: &Event) {
        let (tick, rank) = (event.at / 2, rank(event.at & 1, event.scheduled));
        let (last, highest) = self.taken;
        self.taken = (tick, if tick == last { rank.max(highest) } else { rank });
        self.present = self.taken;
    }

    /// What is being worked out.
    #[inline]
    pub(crate) fn present(&self) -> Present {
        Present(self.present)
    }

    /// What is worked out from now on happens where this was taken from [`Scheduler::present`].
    #[inline]
    pub(crate) fn go_back(&mut self, to: Present) {
        self.present = to.0;
    }

    /// Goes on with the event that was taken last.
    #[inline]
    pub(crate) fn go_on(&mut self) {
        self.present = self.taken;
    }

    /// Makes an event that is scheduled now. See the module for the order of events.
    #[inline]
    pub(crate) fn event(&mut self, at: Time, kind: Kind, index: u32) -> Event {
        self.event_from(Origin::Host, at, kind, index)
    }

    #[inline]
    fn event_from(&mut self, from: Origin, at: Time, kind: Kind, index: u32) -> Event {
        let (half, what) = (u64::from(kind != Kind::Service), What::new(kind, index));
        self.order = self.order.wrapping_add(1 << WHAT_BITS);
        Event {
            at: at.as_ticks().wrapping_mul(2) | half,
            scheduled: self.present.0,
            cause: self.present.1,
            order: from.place(self.order) | u64::from(what.0),
        }
    }

    /// Makes the event of an arrival: the packet at `index` is sent now.
    #[inline]
    pub(crate) fn arrival(&mut self, at: Time, from: Origin, index: u32) -> Event {
        self.event_from(from, at, Kind::Packet, index)
    }

    /// Schedules an event of this kind.
    #[inline]
    pub(crate) fn push(&mut self, at: Time, kind: Kind, index: u32) {
        let event = self.event(at, kind, index);
        self.add(event);
    }

    /// Schedules an event as what was worked out at `then` would have.
    pub(crate) fn push_as_of(&mut self, then: Present, at: Time, kind: Kind, index: u32) {
        let Present((scheduled, cause)) = then;
        let event = Event { scheduled, cause, ..self.event(at, kind, index) };
        self.add(event);
    }

    /// Puts an event into the queue.
    #[inline(never)]
    pub(crate) fn add(&mut self, event: Event) {
        let slot = event.at >> self.shift;
        let ahead = slot.wrapping_sub(self.slot);
        if ahead.wrapping_sub(1) < self.mask {
            self.put(slot, event);
        } else {
            self.put_elsewhere(slot, event);
        }
    }

    /// An event of the wheel's present window.
    #[inline]
    fn put(&mut self, slot: u64, event: Event) {
        let s = (slot & self.mask) as usize;
        if self.free == NIL {
            self.add_node();
        }
        let (place, here) = (&mut self.heads[s], self.free);
        let free = &mut self.nodes[here as usize];
        self.free = free.next;
        *free = Node { event, next: std::mem::replace(place, here) };
        self.occupied[s / 64] |= 1 << (s % 64);
    }

    #[cold]
    #[inline(never)]
    fn add_node(&mut self) {
        self.free = self.nodes.len() as u32;
        self.nodes.push(Node { event: Event::FIRST, next: NIL });
    }

    /// An event of the present slot or of one that the wheel does not hold yet.
    #[inline(never)]
    fn put_elsewhere(&mut self, slot: u64, event: Event) {
        if event.time() > MAX_TIME {
            self.never += usize::from(event.what().is_packet());
            return;
        }
        if slot <= self.slot {
            if self.current.len() >= CROWD {
                self.crowd.push(Reverse(event));
                return;
            }
            let i = self.current.partition_point(|e| *e > event);
            self.current.insert(i, event);
            return;
        }
        let turn = slot >> self.turn_bits;
        if turn - (self.slot >> self.turn_bits) < TURNS as u64 {
            let t = turn as usize % TURNS;
            self.turns[t].push(event);
            self.turns_occupied[t / 64] |= 1 << (t % 64);
            self.next_turn = self.next_turn.min(turn << self.turn_bits);
        } else {
            self.far.push(Reverse(event));
            self.next_far = self.next_far.min(slot);
        }
    }

    /// Moves the next turn into the wheel. Nothing is left before it.
    #[cold]
    fn unroll(&mut self) {
        let start = self.next_turn;
        self.slot = self.slot.max(start - 1);
        let turn = start >> self.turn_bits;
        let t = turn as usize % TURNS;
        self.turns_occupied[t / 64] &= !(1 << (t % 64));
        // Its memory is given back: a run may pass through many turns, each as long as what is
        // under way.
        for event in std::mem::take(&mut self.turns[t]) {
            self.put(event.at >> self.shift, event);
        }
        self.next_turn = (turn + 1..turn + TURNS as u64)
            .find(|t| {
                let t = *t as usize % TURNS;
                self.turns_occupied[t / 64] >> (t % 64) & 1 != 0
            })
            .map_or(u64::MAX, |t| t << self.turn_bits);
    }

    /// The number of packets that an event stands for, or that never arrive.
    pub(crate) fn arrivals(&self) -> usize {
        let mut free = vec![false; self.nodes.len()];
        let mut next = self.free;
        while let Some(node) = self.nodes.get(next as usize) {
            free[next as usize] = true;
            next = node.next;
        }
        let near =
            self.nodes.iter().zip(free).filter(|(_, free)| !free).map(|(node, _)| &node.event);
        let heaps = self.crowd.iter().chain(&self.far).map(|Reverse(event)| event);
        let turns = self.turns.iter().flatten();
        let all = near.chain(&self.current).chain(heaps).chain(turns);
        self.never + all.filter(|event| event.what().is_packet()).count()
    }

    /// The event `ahead` places after the next one, where it falls into the same slot.
    #[inline]
    pub(crate) fn peek(&self, ahead: usize) -> Option<What> {
        let i = self.current.len().checked_sub(ahead + 1)?;
        self.current.get(i).map(Event::what)
    }

    /// The next event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if !self.crowd.is_empty() {
            return self.pop_of_crowd();
        }
        match self.current.pop() {
            Some(event) => Some(event),
            None => self.pop_of_next_slot(),
        }
    }

    /// The next event, where the present slot is crowded.
    #[cold]
    #[inline(never)]
    fn pop_of_crowd(&mut self) -> Option<Event> {
        let Reverse(first) = *self.crowd.peek()?;
        if self.current.last().is_some_and(|e| *e < first) {
            return self.current.pop();
        }
        self.crowd.pop().map(|Reverse(event)| event)
    }

    /// Moves on to the next slot that holds something, and takes its first event.
    #[inline]
    fn pop_of_next_slot(&mut self) -> Option<Event> {
        let near = self.next_occupied();
        if near >= self.next_turn.min(self.next_far) {
            return self.pop_of_rest();
        }
        self.slot = near;
        let s = (near & self.mask) as usize;
        let first = std::mem::replace(&mut self.heads[s], NIL);
        self.occupied[s / 64] &= !(1 << (s % 64));
        let node = &mut self.nodes[first as usize];
        let (event, next) = (node.event, node.next);
        node.next = std::mem::replace(&mut self.free, first);
        if next != NIL {
            return Some(self.first_of(event, next));
        }
        Some(event)
    }

    /// The first of several events of a slot: one, and the list of the others. The rest of them are
    /// kept in order.
    #[inline(never)]
    fn first_of(&mut self, event: Event, mut others: u32) -> Event {
        self.current.push(event);
        while let Some(node) = self.nodes.get_mut(others as usize) {
            self.current.push(node.event);
            let here = std::mem::replace(&mut others, node.next);
            node.next = std::mem::replace(&mut self.free, here);
        }
        self.current.sort_unstable_by(|a, b| b.cmp(a));
        self.current.pop().unwrap_or(event)
    }

    /// The next event, where a turn or the heap may hold it.
    #[cold]
    #[inline(never)]
    fn pop_of_rest(&mut self) -> Option<Event> {
        let near = self.next_occupied();
        // A turn may hold earlier events than the wheel and the heap do: it is unrolled first.
        if self.next_turn != u64::MAX && self.next_turn <= near.min(self.next_far) {
            self.unroll();
            return self.pop_of_next_slot();
        }
        if self.next_far == u64::MAX {
            return None;
        }
        // Those of the heap's first slot join the others of that slot, if there are any.
        self.slot = self.next_far - 1;
        let slot = self.next_far;
        while let Some(Reverse(event)) = self.far.peek().copied() {
            self.next_far = event.at >> self.shift;
            if self.next_far != slot {
                return self.pop_of_next_slot();
            }
            self.far.pop();
            if self.far.len() < self.far.capacity() / 4 {
                self.far.shrink_to(2 * self.far.len().max(CROWD));
            }
            self.put(slot, event);
        }
        self.next_far = u64::MAX;
        self.pop_of_next_slot()
    }

    /// The next slot of the wheel that holds something; `u64::MAX` for none.
    #[inline]
    fn next_occupied(&self) -> u64 {
        let start = (self.slot + 1) & self.mask;
        let word = (start / 64) as usize;
        let bits = self.occupied[word] >> (start % 64);
        if bits != 0 {
            return self.slot + 1 + u64::from(bits.trailing_zeros());
        }
        self.next_occupied_word(word)
    }

    #[inline(never)]
    fn next_occupied_word(&self, first: usize) -> u64 {
        let start = (self.slot + 1) & self.mask;
        let words = self.occupied.len();
        // The first word comes again at the end, for its bits below the start.
        for i in 1..=words {
            let word = (first + i) & (words - 1);
            let bits = self.occupied[word];
            if bits != 0 {
                let s = word as u64 * 64 + u64::from(bits.trailing_zeros());
                return self.slot + 1 + (s.wrapping_sub(start) & self.mask);
            }
        }
        u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::Rng;

    /// Against a sorted list, for several geometries: same order whatever the wheel.
    #[test]
    fn order_is_time_then_class_then_scheduling_then_origin() {
        for (shift, slots) in [(4, 64), (10, 256), (20, 64), (40, 64)] {
            let mut s = Scheduler::new(shift, slots);
            let mut rng = Rng::stream(1, "sched");
            // Close to where the numbers begin again.
            s.order = 0u64.wrapping_sub(5000 << WHAT_BITS);
            let mut model: Vec<(u64, bool, u64, u64, u32)> = vec![];
            let (mut n, mut now) = (0u32, 0u64);
            for _ in 0..20_000 {
                if rng.unit() < 0.55 || model.is_empty() {
                    let ahead = [0, 1, 100, 5_000, 1_000_000][(rng.unit() * 5.0) as usize];
                    let at = now + (rng.unit() * f64::from(ahead)) as u64;
                    s.present = (now, 0);
                    let (kind, from) = if rng.unit() < 0.2 {
                        (Kind::Service, Origin::Host)
                    } else {
                        (Kind::Packet, Origin::Link((rng.unit() * 4.0) as u32))
                    };
                    let event = s.event_from(from, Time::from_ticks(at), kind, n);
                    s.add(event);
                    model.push((at, kind != Kind::Service, now, from.place(0), n));
                    n += 1;
                } else {
                    let (i, _) = model.iter().enumerate().min_by_key(|(_, e)| **e).unwrap();
                    let want = model.swap_remove(i);
                    let event = s.pop().unwrap();
                    let (t, what) = (event.time(), event.what());
                    now = t.as_ticks();
                    assert_eq!((now, what.index() as u32), (want.0, want.4));
                }
            }
            model.sort_unstable();
            for want in model {
                let event = s.pop().unwrap();
                let (t, what) = (event.time(), event.what());
                assert_eq!((t.as_ticks(), what.index() as u32), (want.0, want.4));
            }
            assert!(s.pop().is_none());
        }
    }

    /// What hosts send at one instant stays in order however many of them do.
    #[test]
    fn millions_of_events_of_one_instant_are_in_order() {
        let mut s = Scheduler::new(10, 64);
        let mut event = |before: u64| {
            s.order = s.order.wrapping_add(before << WHAT_BITS);
            s.event(Time::from_ticks(7), Kind::App, 0)
        };
        let events = [event(0), event(3_000_000), event(1 << 31), event((1 << 31) - 4_000_000)];
        assert!(events.is_sorted() && events[0] < events[3]);
    }
}
