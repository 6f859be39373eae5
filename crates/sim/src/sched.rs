//! The event queue: a timing wheel for the near future, a coarse one whose slots are turns of the
//! first for what comes later (timers), a heap for the rest.
//!
//! An event is a 16-byte value: time (60 bits of ticks, 5 days), one bit of class (departures
//! before arrivals at the same instant), the order of scheduling (38 bits, 2.7·10¹¹ events), and 29
//! bits of payload. Its order does not depend on the wheel's geometry, which is chosen from the
//! scenario's rates for speed alone.

use penstock_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The longest run that the key of an event can hold.
pub const MAX_TIME: Time = Time::from_ticks((1 << TIME_BITS) - 1);

const TIME_BITS: u32 = 60;
const SEQ_BITS: u32 = 38;
const INDEX_BITS: u32 = 26;
const WHAT_BITS: u32 = INDEX_BITS + 3;
/// The most packets, flows or links that an event can name.
pub(crate) const MAX_INDEX: usize = 1 << INDEX_BITS;

/// The key of an event: time, class, order of scheduling, payload, in this order.
const _: () = assert!(TIME_BITS + 1 + SEQ_BITS + WHAT_BITS == 128);

#[inline]
fn time_of(key: u128) -> u64 {
    (key >> (128 - TIME_BITS)) as u64
}

#[inline]
fn what_of(key: u128) -> What {
    What(key as u32 & ((1 << WHAT_BITS) - 1))
}
const NIL: u32 = u32::MAX;

/// What happens: three bits of kind, 26 bits of index.
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
            _ => Kind::Window,
        }
    }
    #[inline]
    pub(crate) fn index(self) -> usize {
        (self.0 as usize) & (MAX_INDEX - 1)
    }
}

/// The event queue.
pub(crate) struct Scheduler {
    /// log2 of a slot's width in ticks.
    shift: u32,
    mask: u64,
    /// Number of the slot whose events are in `current`.
    slot: u64,
    /// Events of the present slot, the next one last.
    current: Vec<u128>,
    /// What the present slot got after it was full: thousands of flows that start at one instant
    /// would else be inserted one by one.
    crowd: BinaryHeap<Reverse<u128>>,
    /// First node of each slot's list.
    heads: Vec<u32>,
    occupied: Vec<u64>,
    /// Nodes: the freed ones are reused first, so that they stay in the cache.
    keys: Vec<u128>,
    next: Vec<u32>,
    free: u32,
    /// log2 of the number of slots: a turn of the wheel.
    turn_bits: u32,
    /// Events of later turns of the wheel, by turn.
    turns: Vec<Vec<u128>>,
    turns_occupied: [u64; TURNS / 64],
    /// The first slot of the next turn that holds something; `u64::MAX` for none.
    next_turn: u64,
    far: BinaryHeap<Reverse<u128>>,
    seq: u64,
}

/// As many events of a slot are kept in order; more of them go to a heap.
const CROWD: usize = 1024;
/// Turns of the wheel that are told apart.
const TURNS: usize = 256;

impl Scheduler {
    /// A wheel of `slots` (a power of two, at least 64) slots of 2^`shift` ticks.
    pub(crate) fn new(shift: u32, slots: usize) -> Self {
        let slots = slots.next_power_of_two().max(64);
        Scheduler {
            shift,
            mask: slots as u64 - 1,
            slot: 0,
            current: Vec::with_capacity(64),
            crowd: BinaryHeap::new(),
            heads: vec![NIL; slots],
            occupied: vec![0; slots / 64],
            keys: Vec::new(),
            next: Vec::new(),
            free: NIL,
            turn_bits: slots.trailing_zeros(),
            turns: vec![Vec::new(); TURNS],
            turns_occupied: [0; TURNS / 64],
            next_turn: u64::MAX,
            far: BinaryHeap::new(),
            seq: 0,
        }
    }

    /// Schedules `what`; at one instant departures (`Kind::Service`) come first, then the order of
    /// scheduling.
    #[inline]
    pub(crate) fn push(&mut self, at: Time, what: What) {
        if at > MAX_TIME {
            return; // never
        }
        let class = u64::from(what.kind() != Kind::Service);
        self.seq += 1;
        let order = u128::from(class << SEQ_BITS | self.seq) << WHAT_BITS;
        let key = u128::from(at.as_ticks()) << (128 - TIME_BITS) | order | u128::from(what.0);
        let slot = at.as_ticks() >> self.shift;
        if slot <= self.slot {
            if self.current.len() >= CROWD {
                self.crowd.push(Reverse(key));
                return;
            }
            let i = self.current.partition_point(|k| *k > key);
            self.current.insert(i, key);
        } else if slot - self.slot <= self.mask {
            self.put(slot, key);
        } else {
            self.later(slot, key);
        }
    }

    /// An event of the wheel's present window.
    #[inline]
    fn put(&mut self, slot: u64, key: u128) {
        let node = if self.free != NIL {
            let n = self.free;
            self.free = self.next[n as usize];
            self.keys[n as usize] = key;
            n
        } else {
            self.keys.push(key);
            self.next.push(NIL);
            (self.keys.len() - 1) as u32
        };
        let s = (slot & self.mask) as usize;
        self.next[node as usize] = self.heads[s];
        self.heads[s] = node;
        self.occupied[s / 64] |= 1 << (s % 64);
    }

    /// An event of a later turn, or of one too late to tell.
    fn later(&mut self, slot: u64, key: u128) {
        let turn = slot >> self.turn_bits;
        if turn - (self.slot >> self.turn_bits) < TURNS as u64 {
            let t = turn as usize % TURNS;
            self.turns[t].push(key);
            self.turns_occupied[t / 64] |= 1 << (t % 64);
            self.next_turn = self.next_turn.min(turn << self.turn_bits);
        } else {
            self.far.push(Reverse(key));
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
        for key in std::mem::take(&mut self.turns[t]) {
            self.put(time_of(key) >> self.shift, key);
        }
        self.next_turn = (turn + 1..turn + TURNS as u64)
            .find(|t| {
                let t = *t as usize % TURNS;
                self.turns_occupied[t / 64] >> (t % 64) & 1 != 0
            })
            .map_or(u64::MAX, |t| t << self.turn_bits);
    }

    /// Whether the order of scheduling can no longer be told: far more events than a run of hours
    /// has.
    pub(crate) fn exhausted(&self) -> bool {
        self.seq >> (SEQ_BITS - 1) != 0
    }

    /// The event `ahead` places after the next one, where it falls into the same slot.
    #[inline]
    pub(crate) fn peek(&self, ahead: usize) -> Option<What> {
        let i = self.current.len().checked_sub(ahead + 1)?;
        self.current.get(i).map(|key| what_of(*key))
    }

    /// The next event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Time, What)> {
        loop {
            if !self.crowd.is_empty() {
                return self.pop_of_crowd();
            }
            if let Some(key) = self.current.pop() {
                return Some((Time::from_ticks(time_of(key)), what_of(key)));
            }
            if !self.next_slot() {
                return None;
            }
        }
    }

    /// The next event, where the present slot is crowded.
    #[cold]
    fn pop_of_crowd(&mut self) -> Option<(Time, What)> {
        let Reverse(first) = *self.crowd.peek()?;
        let key = if self.current.last().is_some_and(|key| *key < first) {
            self.current.pop()?
        } else {
            self.crowd.pop()?.0
        };
        Some((Time::from_ticks(time_of(key)), what_of(key)))
    }

    /// Moves on to the next slot that holds something.
    fn next_slot(&mut self) -> bool {
        let far = self.far.peek().map(|Reverse(k)| time_of(*k) >> self.shift);
        let mut near = self.next_occupied();
        // A turn may hold earlier events than the wheel and the heap do: it is unrolled first.
        while self.next_turn != u64::MAX
            && near.is_none_or(|n| n >= self.next_turn)
            && far.is_none_or(|f| f >= self.next_turn)
        {
            self.unroll();
            near = self.next_occupied();
        }
        let slot = match (near, far) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) => a,
            (None, Some(b)) => b,
            (None, None) => return false,
        };
        self.slot = slot;
        if near == Some(slot) {
            let s = (slot & self.mask) as usize;
            let mut node = std::mem::replace(&mut self.heads[s], NIL);
            self.occupied[s / 64] &= !(1 << (s % 64));
            while node != NIL {
                let n = node as usize;
                self.current.push(self.keys[n]);
                let after = self.next[n];
                self.next[n] = self.free;
                self.free = node;
                node = after;
            }
        }
        while let Some(Reverse(k)) = self.far.peek() {
            if time_of(*k) >> self.shift != slot {
                break;
            }
            let Reverse(k) = self.far.pop().expect("peeked");
            self.current.push(k);
        }
        if self.current.len() > 1 {
            self.current.sort_unstable_by(|a, b| b.cmp(a));
        }
        true
    }

    fn next_occupied(&self) -> Option<u64> {
        let start = (self.slot + 1) & self.mask;
        let (mut word, bit) = ((start / 64) as usize, start % 64);
        let mut bits = self.occupied[word] & (u64::MAX << bit);
        // One word more than there are: the first is looked at again for the bits below the start.
        for _ in 0..=self.occupied.len() {
            if bits != 0 {
                let s = word as u64 * 64 + u64::from(bits.trailing_zeros());
                return Some(self.slot + 1 + (s.wrapping_sub(start) & self.mask));
            }
            word = (word + 1) % self.occupied.len();
            bits = self.occupied[word];
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::Rng;

    /// Against a sorted list, for several geometries: same order whatever the wheel.
    #[test]
    fn order_is_time_then_class_then_scheduling() {
        for (shift, slots) in [(4, 64), (10, 256), (20, 64), (40, 64)] {
            let mut s = Scheduler::new(shift, slots);
            let mut rng = Rng::stream(1, "sched");
            let mut model: Vec<(u64, bool, u32)> = vec![];
            let (mut n, mut now) = (0u32, 0u64);
            for _ in 0..20_000 {
                if rng.unit() < 0.55 || model.is_empty() {
                    let ahead = [0, 1, 100, 5_000, 1_000_000][(rng.unit() * 5.0) as usize];
                    let at = now + (rng.unit() * f64::from(ahead)) as u64;
                    let kind = if rng.unit() < 0.2 { Kind::Service } else { Kind::Packet };
                    s.push(Time::from_ticks(at), What::new(kind, n));
                    model.push((at, kind != Kind::Service, n));
                    n += 1;
                } else {
                    let (i, _) = model.iter().enumerate().min_by_key(|(_, e)| **e).unwrap();
                    let want = model.swap_remove(i);
                    let (t, what) = s.pop().unwrap();
                    now = t.as_ticks();
                    assert_eq!((now, what.index() as u32), (want.0, want.2));
                }
            }
            model.sort_unstable();
            for want in model {
                let (t, what) = s.pop().unwrap();
                assert_eq!((t.as_ticks(), what.index() as u32), (want.0, want.2));
            }
            assert!(s.pop().is_none());
        }
    }
}
