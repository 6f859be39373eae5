//! Lines of packets at their host that must wait for their time: ACKs at a sender, segments at a
//! receiver that may hold ACKs back. Most flows have none waiting, so a line is two numbers in its
//! flow, and the events of all lines share one pool.

use crate::packet::Pool;
use crate::sched::Event;

/// Stands for no place in the pool.
const NIL: u32 = u32::MAX;

/// Where all lines' packets wait: the event that each of them would have, and the place of the one
/// behind it.
pub(crate) type Held = Pool<(Event, u32)>;

/// A flow's line.
#[derive(Clone)]
pub(crate) struct EventLine {
    first: u32,
    /// Of a line that is not empty.
    last: u32,
}

impl EventLine {
    /// An empty line.
    pub(crate) const EMPTY: EventLine = EventLine { first: NIL, last: NIL };

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NIL
    }

    /// Puts an event at the end.
    pub(crate) fn push(&mut self, held: &mut Held, event: Event) {
        let place = held.put((event, NIL));
        if self.is_empty() {
            self.first = place;
        } else {
            held.items[self.last as usize].1 = place;
        }
        self.last = place;
    }

    /// Takes the first event out. Returns the one behind it.
    pub(crate) fn step(&mut self, held: &mut Held) -> Option<Event> {
        if self.is_empty() {
            return None;
        }
        held.remove(self.first);
        self.first = held.items[self.first as usize].1;
        held.items.get(self.first as usize).map(|(event, _)| *event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_units::{Rng, Time};
    use std::collections::VecDeque;

    /// Three lines in one pool, each against a deque.
    #[test]
    fn lines_keep_their_order() {
        let mut held = Held::new((Event::FIRST, 0));
        let mut lines = [EventLine::EMPTY, EventLine::EMPTY, EventLine::EMPTY];
        let mut deques = [const { VecDeque::new() }; 3];
        let mut rng = Rng::stream(1, "waiting");
        for i in 0..3_000u64 {
            let (line, deque) = (&mut lines[i as usize % 3], &mut deques[i as usize % 3]);
            if rng.unit() < 0.5 {
                let event = Event::first_at(Time::from_ticks(i));
                line.push(&mut held, event);
                deque.push_back(event);
            } else {
                deque.pop_front();
                assert_eq!(line.step(&mut held), deque.front().copied());
            }
            assert_eq!(line.is_empty(), deque.is_empty());
            assert_eq!(held.live(), deques.iter().map(VecDeque::len).sum::<usize>());
        }
        assert!(held.items.len() > 30, "they were long enough");
    }
}
