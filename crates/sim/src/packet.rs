//! Packets under way, and the pool that they live in.

use crate::sched::MAX_INDEX;
use penstock_aqm::Ecn;
use penstock_tcp::{Ack, Bits, Stamp};

/// Stands in [`Pkt::hop`] for a packet that has reached its host.
pub(crate) const AT_HOST: u8 = u8::MAX;

/// Stands in [`Pkt::options`] for none.
const BARE: u32 = Stamp::NONE.number();

/// Places of options are below this; other numbers are timestamps, or [`BARE`].
const PLACES: u32 = 1 << 31;

const _: () = assert!(MAX_INDEX <= PLACES as usize);

/// ACKs that say more than a packet has room for: SACK blocks, a window, AccECN's option.
pub(crate) type Options = Pool<Ack>;

/// Bits of [`Pkt::flags`].
pub(crate) mod flag {
    pub(crate) const ECN: u8 = 0b11;
    pub(crate) const ACK: u8 = 1 << 2;
    pub(crate) const SYN: u8 = 1 << 3;
    pub(crate) const RETRANSMIT: u8 = 1 << 4;
    /// Of a SYN.
    pub(crate) const OWES_CWR: u8 = 1 << 5;
    /// Of data.
    pub(crate) const PUSH: u8 = OWES_CWR;
    /// A client's request, on its way to the server.
    pub(crate) const REQUEST: u8 = 1 << 6;
    /// No segment, and nobody answers it.
    pub(crate) const DATAGRAM: u8 = 1 << 7;

    /// `bit` where `set`, without a branch.
    #[inline]
    pub(crate) fn when(set: bool, bit: u8) -> u8 {
        u8::from(set) * bit
    }
}

/// A packet under way: 32 bytes, no header, no copy for the ACK, never across two cache lines. It
/// knows its way, so that a link need not look at the flow.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Pkt {
    /// Data: the segment. ACK, request: the highest segment acknowledged.
    pub(crate) seq: i64,
    pub(crate) flow: u32,
    pub(crate) bytes: u32,
    /// The timestamp, or the place of an ACK's [`Options`].
    pub(crate) options: u32,
    /// The host that it goes to, and how.
    pub(crate) host: u32,
    pub(crate) route: u16,
    /// Which of the flow's connections it belongs to. Request: its number.
    pub(crate) epoch: u16,
    /// Position on the route; [`AT_HOST`] behind its end.
    pub(crate) hop: u8,
    pub(crate) flags: u8,
    pub(crate) class: u8,
    /// The TCP header's ECN bits.
    pub(crate) bits: Bits,
}

const _: () = assert!(size_of::<Pkt>() == 32);

/// Most runs never have more packets under way: 8 MiB of addresses, where addresses are not memory.
pub(crate) const ROOM: usize = if cfg!(target_family = "wasm") { 0 } else { 1 << 18 };

impl Pkt {
    /// What stands in a place that was never used.
    pub(crate) const BLANK: Pkt = Pkt {
        seq: 0,
        flow: 0,
        bytes: 0,
        options: BARE,
        host: 0,
        route: 0,
        epoch: 0,
        hop: 0,
        flags: 0,
        class: 0,
        bits: Bits::NONE,
    };

    #[inline]
    pub(crate) fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.flags & flag::ECN)
    }

    /// It carries an ACK from now on.
    #[inline]
    pub(crate) fn set_ack(&mut self, ack: &Ack, options: &mut Options) {
        self.seq = ack.seq;
        self.bits = ack.bits;
        self.carry(ack.ecn);
        self.options = if ack.is_bare() { ack.echo.number() } else { options.put(*ack) };
    }

    /// Returns the ACK that it carries.
    #[inline]
    pub(crate) fn ack(&self, options: &Options) -> Ack {
        if self.options >= PLACES {
            let (echo, ecn) = (self.stamp(), self.ecn());
            return Ack { seq: self.seq, bits: self.bits, ecn, echo, ..Ack::default() };
        }
        Ack { ecn: self.ecn(), ..options.items[self.options as usize] }
    }

    /// It is gone, and its options with it.
    #[inline]
    pub(crate) fn forget(&self, options: &mut Options) {
        if self.options < PLACES {
            options.remove(self.options);
        }
    }

    /// Returns the timestamp of a segment.
    #[inline]
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp::from_number(self.options)
    }

    /// Whether it is data that end a burst.
    #[inline]
    pub(crate) fn pushes(&self) -> bool {
        self.flags & (flag::SYN | flag::ACK | flag::PUSH) == flag::PUSH
    }

    /// It has this ECN field from now on.
    #[inline]
    pub(crate) fn carry(&mut self, ecn: Ecn) {
        self.flags = self.flags & !flag::ECN | ecn as u8;
    }

    #[inline]
    pub(crate) fn is(&self, bit: u8) -> bool {
        self.flags & bit != 0
    }
}

/// A pool of values addressed by index; what was freed last is reused first.
#[derive(Clone)]
pub(crate) struct Pool<T> {
    pub(crate) items: Vec<T>,
    free: Vec<u32>,
    /// Stands in a place until something is put there.
    blank: T,
}

impl<T: Copy> Pool<T> {
    pub(crate) fn new(blank: T) -> Self {
        Self::with_room(blank, 0)
    }

    /// A pool with addresses for `room` items. Memory is taken only where an item is first put, but
    /// what outgrows its room is copied.
    pub(crate) fn with_room(blank: T, room: usize) -> Self {
        Pool { items: Vec::with_capacity(room), free: vec![], blank }
    }

    /// Its place is found first, so that the item is put together there. On the stack it would be
    /// written field by field and at once be read in larger pieces, for which a processor waits
    /// until all fields are written.
    #[inline(always)]
    pub(crate) fn put(&mut self, item: T) -> u32 {
        let i = match self.free.pop() {
            Some(i) => i,
            None => self.add(),
        };
        self.items[i as usize] = item;
        i
    }

    /// Makes room for one more. Memory grows by a quarter, not to the double.
    #[inline(never)]
    fn add(&mut self) -> u32 {
        let n = self.items.len();
        assert!(n < MAX_INDEX, "at most {MAX_INDEX} packets under way");
        if n == self.items.capacity() {
            self.items.reserve_exact((n / 4).max(256));
        }
        self.items.push(self.blank);
        n as u32
    }

    #[inline]
    pub(crate) fn remove(&mut self, i: u32) {
        self.free.push(i);
    }
    /// Returns the items that were put and not removed, with their places.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut free = vec![false; self.items.len()];
        self.free.iter().for_each(|i| free[*i as usize] = true);
        let items = (0..).zip(&self.items).zip(free);
        items.filter(|(_, free)| !free).map(|(item, _)| item)
    }

    pub(crate) fn live(&self) -> usize {
        self.items.len() - self.free.len()
    }
}
