//! Arrivals that belong too far ahead for their link's inbox to sort them in: most of what hosts
//! send before a pace lets it go. They wait in slices of time, in no order. When the link takes in
//! what comes in a slice, these few are sorted.

use crate::sched::Event;
use penstock_units::Duration;

/// The slices that are told apart.
const SLICES: u64 = 512;
/// So many of them make up what a link takes in at once.
const PER_BATCH: u64 = 8;

/// See the module.
#[derive(Clone)]
pub(crate) struct Aside {
    /// log2 of a slice's width in half ticks.
    shift: u32,
    /// The numbers of the first and the last slice that hold something, where any does.
    start: u64,
    end: u64,
    /// By their numbers, modulo [`SLICES`].
    slices: Vec<Vec<Event>>,
    held: usize,
    /// What was taken out last.
    taken: Vec<Event>,
}

impl Aside {
    /// Returns one that holds nothing, for a link that takes in every `patience`.
    pub(crate) fn new(patience: Duration) -> Self {
        Aside {
            shift: (2 * patience.as_ticks() / PER_BATCH).max(1).ilog2(),
            start: 0,
            end: 0,
            slices: vec![vec![]; SLICES as usize],
            held: 0,
            taken: Vec::new(),
        }
    }

    /// Returns how many arrivals it holds.
    pub(crate) fn len(&self) -> usize {
        self.held
    }

    /// Takes an arrival. Returns false where its time is too far from the others'.
    pub(crate) fn put(&mut self, event: Event) -> bool {
        let slice = event.instant() >> self.shift;
        if self.held == 0 {
            (self.start, self.end) = (slice, slice);
        }
        let (start, end) = (self.start.min(slice), self.end.max(slice));
        let near = end - start < SLICES;
        if near {
            (self.start, self.end) = (start, end);
            self.slices[(slice % SLICES) as usize].push(event);
            self.held += 1;
        }
        near
    }

    /// Takes out what goes before `bound`. Returns it in order.
    pub(crate) fn take_before(&mut self, bound: &Event) -> &[Event] {
        self.taken.clear();
        let last = bound.instant() >> self.shift;
        while self.held > 0 && self.start <= last {
            let slice = &mut self.slices[(self.start % SLICES) as usize];
            let taken = &mut self.taken;
            let from = taken.len();
            if self.start < last {
                taken.append(slice);
            } else {
                slice.retain(|event| {
                    let stays = *event >= *bound;
                    if !stays {
                        taken.push(*event);
                    }
                    stays
                });
            }
            taken[from..].sort_unstable();
            self.held -= taken.len() - from;
            if !slice.is_empty() {
                break;
            }
            self.start += 1;
            while self.held > 0 && self.slices[(self.start % SLICES) as usize].is_empty() {
                self.start += 1;
            }
        }
        &self.taken
    }

    /// Returns the first arrival.
    pub(crate) fn first(&self) -> Option<&Event> {
        self.slices[(self.start % SLICES) as usize].iter().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::{Rng, Time};

    /// Against a sorted list: arrivals up to 40 batches ahead, taken out at random times.
    #[test]
    fn what_is_set_aside_comes_out_in_order() {
        let patience = Duration::from_ticks(1_000);
        let (mut aside, mut list) = (Aside::new(patience), Vec::new());
        let mut rng = Rng::stream(1, "aside");
        let (mut now, mut refused) = (0, 0);
        for _ in 0..2_000 {
            for _ in 0..(rng.unit() * 10.0) as u32 {
                let at = now + (rng.unit() * 40_000.0) as u64;
                let event = Event::first_at(Time::from_ticks(at));
                if aside.put(event) {
                    list.push(event);
                } else {
                    refused += 1;
                }
            }
            list.sort();
            assert_eq!((aside.len(), aside.first()), (list.len(), list.first()));
            now += (rng.unit() * 2_000.0) as u64 * u64::from(rng.unit() < 0.9);
            let bound = Event::first_at(Time::from_ticks(now));
            let due = list.partition_point(|event| *event < bound);
            assert_eq!(aside.take_before(&bound), list.drain(..due).collect::<Vec<_>>());
            if rng.unit() < 0.01 {
                now += 1_000_000; // a pause, after which nothing is held
                let bound = Event::first_at(Time::from_ticks(now));
                assert_eq!(aside.take_before(&bound), std::mem::take(&mut list));
            }
        }
        assert!(refused > 0 && refused < 5_000, "{refused}");
    }
}
