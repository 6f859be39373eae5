//! The packets that wait at an eager link.

use crate::link::fate::Arriving;
use penstock_aqm::{Aqm, Discipline, Ecn, Packet};
use penstock_units::{Rng, Time};
use std::collections::VecDeque;

/// A packet with what the link needs to know of it when its turn comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldPacket {
    pub(crate) arrived: Time,
    pub(crate) arriving: Arriving,
    pub(crate) ecn: Ecn,
}

/// The packets that wait at an eager link.
pub(crate) enum Held {
    /// In the order of arrival.
    Fifo(VecDeque<HeldPacket>),
    /// In the discipline's order; the handle is the place. What was freed last is used first.
    Ordered { places: Vec<HeldPacket>, free: Vec<u32> },
}

impl Held {
    pub(crate) fn new(ordered: bool) -> Self {
        if ordered {
            Held::Ordered { places: vec![], free: vec![] }
        } else {
            Held::Fifo(VecDeque::new())
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Held::Fifo(line) => line.len(),
            Held::Ordered { places, free } => places.len() - free.len(),
        }
    }

    /// Keeps a packet. Returns its handle, where the discipline orders.
    pub(crate) fn put(&mut self, p: HeldPacket) -> Option<u32> {
        match self {
            Held::Fifo(line) => {
                line.push_back(p);
                None
            }
            Held::Ordered { places, free } => Some(if let Some(handle) = free.pop() {
                places[handle as usize] = p;
                handle
            } else {
                places.push(p);
                u32::try_from(places.len() - 1).expect("fewer packets than the engine's pool holds")
            }),
        }
    }

    /// Takes the packet whose turn it is.
    pub(crate) fn next(&mut self, now: Time, aqm: &mut Discipline) -> Option<HeldPacket> {
        match self {
            Held::Fifo(line) => line.pop_front(),
            Held::Ordered { .. } => {
                let next = aqm.next(now);
                debug_assert_eq!(next.is_some(), self.len() > 0, "a packet's turn while any waits");
                next.map(|handle| self.take(handle))
            }
        }
    }

    /// Takes the packet of that handle. In a FIFO the handle is the place, and taking one from the
    /// middle moves those behind it: that happens per eviction, not per packet.
    pub(crate) fn take(&mut self, handle: u32) -> HeldPacket {
        match self {
            Held::Fifo(line) => {
                line.remove(handle as usize).expect("the handle of a waiting packet")
            }
            Held::Ordered { places, free } => {
                debug_assert!(!free.contains(&handle), "the handle of a waiting packet");
                free.push(handle);
                places[handle as usize]
            }
        }
    }

    /// Returns a packet of a FIFO, drawn with equal chances, and its handle.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Option<(u32, Packet)> {
        let Held::Fifo(line) = self else { return None };
        let place = (rng.unit() * line.len() as f64) as usize;
        line.get(place).map(|h| (place as u32, Packet { ecn: h.ecn, ..h.arriving.pkt }))
    }
}
