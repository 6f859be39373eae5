//! The packets that wait at an eager link.

use crate::link::fate::Arriving;
use penstock_aqm::{Ecn, Packet};
use penstock_units::Rng;
use std::collections::VecDeque;

/// A packet with what the link needs to know of it when its turn comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldPacket {
    pub(crate) arriving: Arriving,
    /// Its ECN field since it was let in.
    pub(crate) ecn: Ecn,
}

impl HeldPacket {
    /// Returns it as the discipline sees it now.
    pub(crate) fn packet(&self) -> Packet {
        Packet { ecn: self.ecn, ..self.arriving.pkt }
    }
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

    /// Keeps a packet. Returns its handle; in a FIFO that is its place now.
    #[inline(always)]
    pub(crate) fn put(&mut self, p: HeldPacket) -> u32 {
        let handle = match self {
            Held::Fifo(line) => {
                line.push_back(p);
                line.len() - 1
            }
            Held::Ordered { places, free } => {
                if let Some(handle) = free.pop() {
                    places[handle as usize] = p;
                    return handle;
                }
                places.push(p);
                places.len() - 1
            }
        };
        u32::try_from(handle).expect("fewer packets than the caller's pool holds")
    }

    /// Takes the first packet of a FIFO.
    #[inline(always)]
    pub(crate) fn first(&mut self) -> Option<HeldPacket> {
        let Held::Fifo(line) = self else { return None };
        line.pop_front()
    }

    /// Takes the packet of that handle. In a FIFO the handle is the place, and those behind
    /// it move up: that happens per eviction, not per packet.
    #[inline]
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
        line.get(place).map(|h| (place as u32, h.packet()))
    }
}
