//! The packets that wait at an eager link.

use crate::link::fate::Arriving;
use crate::ring::Ring;
use penstock_aqm::driver::Contract;
use penstock_aqm::{Ecn, Packet};
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
    };

    /// A packet that was let in with this ECN field.
    #[inline]
    pub(crate) fn new(a: &Arriving, ecn: Ecn) -> Self {
        let Packet { bytes, ecn: arrived_as, flow, class } = a.pkt;
        let Arriving { at, index, data, .. } = *a;
        HeldPacket { at, bytes, flow, index, class, data, arrived_as, ecn }
    }

    /// Returns it as the discipline sees it now.
    #[inline]
    pub(crate) fn packet(&self) -> Packet {
        Packet { bytes: self.bytes, ecn: self.ecn, flow: self.flow, class: self.class }
    }
}

/// Packets at numbered places; the number is the handle. What was freed last is used first.
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

/// What order the packets have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// That of arrival, in `fifo`.
    Fifo,
    /// That of arrival, for a discipline that draws packets: they stand in `places`, and `line` has the
    /// numbers of their places. Where a packet is given up those behind it move up; this is why only
    /// numbers stand in the line. The handle is where in the line a packet stands.
    Drawn,
    /// The discipline's. The packets stand in `places`, and the handle is the place.
    Ordered,
}

impl Order {
    /// What a discipline needs that orders the packets, or draws of them.
    #[inline(always)]
    pub(crate) fn of(orders: bool, draws: bool) -> Self {
        match (orders, draws) {
            (true, _) => Order::Ordered,
            (false, true) => Order::Drawn,
            (false, false) => Order::Fifo,
        }
    }
}

/// The packets that wait at an eager link.
pub(crate) struct Held {
    order: Order,
    fifo: Ring<HeldPacket>,
    line: VecDeque<u32>,
    places: Places,
}

impl Held {
    /// What a discipline with this contract needs.
    pub(crate) fn new(contract: &Contract) -> Self {
        let order = Order::of(contract.orders(), contract.draws());
        let fifo = Ring::new(HeldPacket::BLANK);
        Held { order, fifo, line: VecDeque::new(), places: Places::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.fifo.len() + self.places.len()
    }

    /// Keeps a packet. Returns its handle, if the discipline orders the packets. `order` is what its
    /// type says: then nothing is asked for each packet.
    #[inline(always)]
    pub(crate) fn put(&mut self, order: Order, p: HeldPacket) -> u32 {
        debug_assert_eq!(order, self.order, "it does not change");
        if order == Order::Fifo {
            self.fifo.push(p);
            return 0;
        }
        let place = self.places.put(p);
        if order == Order::Drawn {
            self.line.push_back(place);
        }
        place
    }

    /// Takes out the first packet in the order of arrival.
    #[inline(always)]
    pub(crate) fn first(&mut self) -> Option<HeldPacket> {
        if self.order == Order::Fifo {
            return self.fifo.pop();
        }
        self.line.pop_front().map(|place| self.places.take(place))
    }

    /// Takes out the packet at a place, for a discipline that orders the packets.
    #[inline(always)]
    pub(crate) fn at(&mut self, place: u32) -> HeldPacket {
        self.places.take(place)
    }

    /// Takes out a packet that the discipline gives up. Returns `None` where none has that handle.
    pub(crate) fn give_up(&mut self, handle: u32) -> Option<HeldPacket> {
        let place = match self.order {
            Order::Fifo => return None,
            Order::Drawn => self.line.remove(handle as usize)?,
            Order::Ordered => handle,
        };
        Some(self.places.take(place))
    }

    /// Returns a waiting packet, drawn with equal chances, and its handle.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> Option<(u32, Packet)> {
        if self.order != Order::Drawn {
            return None;
        }
        let handle = (rng.unit() * f64::from(self.line.len() as u32)) as u32;
        let place = *self.line.get(handle as usize)?;
        Some((handle, self.places.packets[place as usize].packet()))
    }
}
