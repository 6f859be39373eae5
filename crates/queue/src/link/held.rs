//! The packets that wait at an eager link.

use crate::link::fate::Arriving;
use crate::ring::Ring;
use crate::series::AtQueue;
use penstock_aqm::{Ecn, Packet, Service};
use penstock_units::{Rng, Time};
use std::collections::VecDeque;

/// A packet with what the link needs to know of it when its turn comes: flat and without gaps,
/// because it is moved in and out, and never across two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct HeldPacket {
    /// When it arrived.
    pub(crate) at: Time,
    pub(crate) bytes: u32,
    pub(crate) flow: u32,
    /// Its place in the caller's pool.
    pub(crate) index: u32,
    class: u8,
    pub(crate) data: bool,
    /// Its ECN field when it arrived, and since it was let in.
    pub(crate) arrived_as: Ecn,
    pub(crate) ecn: Ecn,
    /// The discipline's band that it belongs to.
    pub(crate) band: Option<u8>,
}

const _: () = assert!(size_of::<HeldPacket>() == 32);

impl HeldPacket {
    /// What stands in a place that was never used.
    const BLANK: HeldPacket = HeldPacket {
        at: Time::ZERO,
        bytes: 0,
        flow: 0,
        index: 0,
        class: 0,
        data: false,
        arrived_as: Ecn::NotEct,
        ecn: Ecn::NotEct,
        band: None,
    };

    /// A packet that was let in with this ECN field, into this band.
    #[inline]
    pub(crate) fn new(a: &Arriving, ecn: Ecn, band: Option<u8>) -> Self {
        let Packet { bytes, ecn: arrived_as, flow, class } = a.pkt;
        let Arriving { at, index, data, .. } = *a;
        HeldPacket { at, bytes, flow, index, class, data, arrived_as, ecn, band }
    }

    /// Returns it as its row tells of it.
    pub(crate) fn at_queue(&self) -> AtQueue {
        AtQueue { pkt: self.packet(), index: self.index, data: self.data, came: self.at }
    }

    /// Returns it as the discipline sees it now.
    #[inline]
    pub(crate) fn packet(&self) -> Packet {
        Packet { bytes: self.bytes, ecn: self.ecn, flow: self.flow, class: self.class }
    }
}

/// Packets at numbered places; the number is the handle. What was freed last is used first.
#[derive(Clone)]
pub(crate) struct Places {
    packets: Vec<HeldPacket>,
    free: Vec<u32>,
}

impl Places {
    fn new() -> Self {
        Places { packets: vec![], free: vec![] }
    }

    fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// The place is found first, so that the packet is put together there and not on the stack.
    #[inline(always)]
    fn put(&mut self, p: HeldPacket) -> u32 {
        let handle = match self.free.pop() {
            Some(handle) => handle,
            None => self.add(),
        };
        self.packets[handle as usize] = p;
        handle
    }

    #[inline(never)]
    fn add(&mut self) -> u32 {
        self.packets.push(HeldPacket::BLANK);
        u32::try_from(self.packets.len() - 1).expect("fewer packets than the caller's pool holds")
    }

    #[inline(always)]
    fn take(&mut self, handle: u32) -> HeldPacket {
        debug_assert!(!self.free.contains(&handle), "the handle of a waiting packet");
        self.free.push(handle);
        self.packets[handle as usize]
    }
}

/// The packets that wait at an eager link.
///
/// - In the order of arrival they stand in `fifo`.
/// - Of a discipline that draws packets they stand in `places`, and `line` has the numbers of their
///   places. Where a packet is given up those behind it move up; this is why only numbers stand in
///   the line. The handle is where in the line a packet stands.
/// - Of a discipline that orders packets they stand in `places`, and the handle is the place.
#[derive(Clone)]
pub(crate) struct Held {
    service: Service,
    fifo: Ring<HeldPacket>,
    line: VecDeque<u32>,
    places: Places,
}

impl Held {
    /// What a discipline that acts there needs.
    pub(crate) fn new(service: Service) -> Self {
        let fifo = Ring::new(HeldPacket::BLANK);
        Held { service, fifo, line: VecDeque::new(), places: Places::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.fifo.len() + self.places.len()
    }

    /// Gives memory back where much has long been unused.
    #[inline]
    pub(crate) fn relax(&mut self) {
        self.fifo.relax();
    }

    /// Keeps a packet. Returns its handle, if the discipline orders the packets. `service` is what
    /// its type says: then nothing is asked for each packet.
    #[inline(always)]
    pub(crate) fn put(&mut self, service: Service, p: HeldPacket) -> u32 {
        debug_assert_eq!(service, self.service, "it does not change");
        if !service.evicts() {
            self.fifo.push(p);
            return 0;
        }
        let place = self.places.put(p);
        if service == Service::Draws {
            self.line.push_back(place);
        }
        place
    }

    /// Takes out the first packet in the order of arrival.
    #[inline(always)]
    pub(crate) fn first(&mut self) -> Option<HeldPacket> {
        if !self.service.evicts() {
            return self.fifo.pop();
        }
        self.line.pop_front().map(|place| self.places.take(place))
    }

    /// Takes out all packets, in the order in which they came.
    pub(crate) fn all(&mut self) -> Vec<HeldPacket> {
        let mut all = Vec::with_capacity(self.len());
        match self.service {
            Service::AtArrival | Service::AtDeparture | Service::Draws => {
                while let Some(packet) = self.first() {
                    all.push(packet);
                }
            }
            Service::Orders => {
                let Places { packets, free } = &mut self.places;
                let mut used = vec![true; packets.len()];
                free.drain(..).for_each(|place| used[place as usize] = false);
                all.extend(packets.drain(..).zip(used).filter_map(|(p, used)| used.then_some(p)));
                // Those of one instant by their places.
                all.sort_by_key(|p| p.at);
            }
        }
        all
    }

    /// Takes out the packet at a place, for a discipline that orders the packets.
    #[inline(always)]
    pub(crate) fn at(&mut self, place: u32) -> HeldPacket {
        self.places.take(place)
    }

    /// Takes out a packet that the discipline gives up. Returns `None` where none has that handle.
    pub(crate) fn give_up(&mut self, handle: u32) -> Option<HeldPacket> {
        let place = match self.service {
            Service::AtArrival | Service::AtDeparture => return None,
            Service::Draws => self.line.remove(handle as usize)?,
            Service::Orders => handle,
        };
        Some(self.places.take(place))
    }

    /// Returns a waiting packet, drawn with equal chances, and its handle.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> Option<(u32, Packet)> {
        if self.service != Service::Draws {
            return None;
        }
        let handle = (rng.unit() * f64::from(self.line.len() as u32)) as u32;
        let place = *self.line.get(handle as usize)?;
        Some((handle, self.places.packets[place as usize].packet()))
    }
}
