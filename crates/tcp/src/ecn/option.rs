//! The AccECN TCP option, RFC 9768, section 3.2.3: what a receiver counts in bytes, the option's
//! coding, and what a sender reads in it.
//!
//! A receiver with an option sends it on every ACK into which it fits, as Linux does
//! (`tcp_ecn_option` 2), and always in the order of kind 174. Segments have no bytes of their own
//! here: each counts as a full one, at both ends.

use crate::info::DeliveredBytes;
use penstock_units::Ecn as Codepoint;

/// The order of an option's fields, which its kind says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FieldOrder {
    /// Kind 172: the bytes of ECT(0), of CE, of ECT(1).
    Ect0First = 172,
    /// Kind 174: the bytes of ECT(1), of CE, of ECT(0).
    Ect1First = 174,
}

/// The bits of a counter that a field has.
const FIELD: u32 = 0xff_ffff;

/// An AccECN option: up to three counters of bytes. Fields may be left off at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcnOption {
    order: FieldOrder,
    n: u8,
    fields: [u32; 3],
}

impl AccEcnOption {
    /// The length of the longest, in bytes.
    pub const LONGEST: usize = 11;

    /// Returns the option whose fields, three at most, are the lowest 24 bits of `counters`.
    pub fn new(order: FieldOrder, counters: &[u32]) -> Self {
        let mut fields = [0; 3];
        for (field, counter) in fields.iter_mut().zip(counters) {
            *field = counter & FIELD;
        }
        AccEcnOption { order, n: counters.len().min(3) as u8, fields }
    }

    /// Returns its fields, in its order.
    pub fn fields(&self) -> &[u32] {
        &self.fields[..usize::from(self.n)]
    }

    /// Returns the field that counts the bytes which came with `ecn`, where the option has it.
    pub fn field(&self, ecn: Codepoint) -> Option<u32> {
        let place = match (ecn, self.order) {
            (Codepoint::NotEct, _) => return None,
            (Codepoint::Ce, _) => 1,
            (Codepoint::Ect0, FieldOrder::Ect0First) | (Codepoint::Ect1, FieldOrder::Ect1First) => {
                0
            }
            (Codepoint::Ect0 | Codepoint::Ect1, _) => 2,
        };
        self.fields().get(place).copied()
    }

    /// Writes it as it stands in a TCP header: kind, length, fields with the highest byte first.
    /// Returns how many of the bytes are its own.
    pub fn encode(&self) -> ([u8; Self::LONGEST], usize) {
        let (mut wire, length) = ([0; Self::LONGEST], 2 + 3 * usize::from(self.n));
        wire[..2].copy_from_slice(&[self.order as u8, length as u8]);
        for (to, field) in wire[2..].chunks_exact_mut(3).zip(self.fields()) {
            to.copy_from_slice(&field.to_be_bytes()[1..]);
        }
        (wire, length)
    }

    /// Reads the option that `wire` begins with. Of a length that is no option's the whole fields
    /// are read (3.2.3).
    pub fn decode(wire: &[u8]) -> Option<Self> {
        let order = match wire.first()? {
            172 => FieldOrder::Ect0First,
            174 => FieldOrder::Ect1First,
            _ => return None,
        };
        let fields = wire.get(2..usize::from(*wire.get(1)?))?;
        let mut counters = [0; 3];
        let mut n = 0;
        for (counter, field) in counters.iter_mut().zip(fields.chunks_exact(3)) {
            *counter = u32::from_be_bytes([0, field[0], field[1], field[2]]);
            n += 1;
        }
        Some(AccEcnOption::new(order, &counters[..n]))
    }
}

/// Bytes of payload by the field with which they came, at either end. Two counters do not start at
/// zero, so that an end sees where a middlebox writes zeros (3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteCounters {
    pub(crate) e0b: u32,
    pub(crate) ceb: u32,
    pub(crate) e1b: u32,
}

impl ByteCounters {
    pub(crate) const FIRST: ByteCounters = ByteCounters { e0b: 1, ceb: 0, e1b: 1 };
}

/// The bytes of options that fit into a header beside timestamps.
const SPACE: usize = 40 - 12;

/// Fewer SACK blocks than this never make room for an option.
const KEPT_BLOCKS: usize = 2;

/// What a receiver keeps for its options.
#[derive(Clone, Debug)]
pub(crate) struct Teller {
    bytes: ByteCounters,
    /// Payload of a segment.
    segment: u32,
    /// Fields without which a counter that ever moved would be left out.
    needed: usize,
}

impl Teller {
    pub(crate) fn new(segment: u32) -> Self {
        Teller { bytes: ByteCounters::FIRST, segment, needed: 0 }
    }

    /// A data segment has come with `ecn`.
    pub(crate) fn take(&mut self, ecn: Codepoint) {
        let (counter, place) = match ecn {
            Codepoint::NotEct => return,
            Codepoint::Ect1 => (&mut self.bytes.e1b, 1),
            Codepoint::Ce => (&mut self.bytes.ceb, 2),
            Codepoint::Ect0 => (&mut self.bytes.e0b, 3),
        };
        *counter = counter.wrapping_add(self.segment);
        self.needed = self.needed.max(place);
    }

    /// Returns the option of the next ACK, which has something to say in `blocks` SACK blocks, and
    /// how many of these go with it. The longest option that fits goes; for the shortest that tells
    /// all there is to tell, SACK gives up its third block, but not its second (3.2.3.3).
    pub(crate) fn option(&self, blocks: usize) -> (Option<AccEcnOption>, usize) {
        let least = if self.needed > 0 { blocks.min(KEPT_BLOCKS) } else { blocks };
        for kept in (least..=blocks).rev() {
            let fits = |n: &usize| room(kept, *n) <= SPACE;
            if let Some(n) = (self.needed..=3).rev().find(fits) {
                let ByteCounters { e0b, ceb, e1b } = self.bytes;
                let option = AccEcnOption::new(FieldOrder::Ect1First, &[e1b, ceb, e0b][..n]);
                return (Some(option), kept);
            }
        }
        (None, blocks)
    }
}

/// Returns the room that SACK blocks and an option of `fields` take, each in whole words.
fn room(blocks: usize, fields: usize) -> usize {
    let sack = if blocks > 0 { 4 + 8 * blocks } else { 0 };
    sack + (2 + 3 * fields).next_multiple_of(4)
}

/// What a sender has read in options.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    bytes: ByteCounters,
    seen: Seen,
}

/// Whether options arrive. Without one on the SYN's answer none is expected, until one comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Nothing,
    Options,
    /// The first one had zeros where nothing starts at zero: they are ignored (3.2.3.2.4).
    Zeroed,
}

impl Reader {
    pub(crate) const NEW: Reader = Reader { bytes: ByteCounters::FIRST, seen: Seen::Nothing };

    /// An ACK has come with an option. Returns the payload bytes that it newly reports as marked
    /// CE; `None`: it is not to be believed, or older than another.
    pub(crate) fn read(&mut self, option: &AccEcnOption) -> Option<u32> {
        if self.seen == Seen::Nothing {
            let zeroed = |ecn| option.field(ecn) == Some(0);
            let bad = zeroed(Codepoint::Ect0) || zeroed(Codepoint::Ect1);
            self.seen = if bad { Seen::Zeroed } else { Seen::Options };
        }
        if self.seen == Seen::Zeroed {
            return None;
        }
        let more = |now: u32, ecn| option.field(ecn).map_or(Some(0), |field| increment(now, field));
        let ByteCounters { e0b, ceb, e1b } = self.bytes;
        let news = ByteCounters {
            e0b: more(e0b, Codepoint::Ect0)?,
            ceb: more(ceb, Codepoint::Ce)?,
            e1b: more(e1b, Codepoint::Ect1)?,
        };
        self.bytes = ByteCounters {
            e0b: e0b.wrapping_add(news.e0b),
            ceb: ceb.wrapping_add(news.ceb),
            e1b: e1b.wrapping_add(news.e1b),
        };
        Some(news.ceb)
    }

    /// Returns the bytes that options have reported.
    pub(crate) fn delivered(&self) -> DeliveredBytes {
        let (now, first) = (self.bytes, ByteCounters::FIRST);
        DeliveredBytes {
            ect0: now.e0b.wrapping_sub(first.e0b),
            ect1: now.e1b.wrapping_sub(first.e1b),
            ce: now.ceb,
        }
    }
}

/// Returns by how much a counter has grown whose lowest 24 bits are now `field`; `None`: it would
/// have gone back, so the field is older than what is known.
fn increment(known: u32, field: u32) -> Option<u32> {
    let more = field.wrapping_sub(known) & FIELD;
    (more <= FIELD / 2).then_some(more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use FieldOrder::{Ect0First, Ect1First};

    /// The bytes of the wire, in both orders and all lengths.
    #[test]
    fn the_coding_byte_by_byte() {
        for (order, counters, wire) in [
            (Ect1First, &[1, 0, 1 + 1448][..], &[0xae, 11, 0, 0, 1, 0, 0, 0, 0, 0x05, 0xa9][..]),
            (Ect1First, &[1, 1448, 1], &[0xae, 11, 0, 0, 1, 0, 0x05, 0xa8, 0, 0, 1]),
            (Ect0First, &[0x12_3456, 7], &[0xac, 8, 0x12, 0x34, 0x56, 0, 0, 7]),
            (Ect1First, &[0xff_fff0], &[0xae, 5, 0xff, 0xff, 0xf0]),
            (Ect0First, &[], &[0xac, 2]),
        ] {
            let option = AccEcnOption::new(order, counters);
            let (bytes, length) = option.encode();
            assert_eq!(&bytes[..length], wire);
            assert_eq!(AccEcnOption::decode(wire), Some(option), "{wire:?}");
            assert_eq!(option.fields(), counters);
        }
        // 24 bits go over the wire.
        let long = AccEcnOption::new(Ect1First, &[0x0100_0001]);
        assert_eq!(long.fields(), [1]);
    }

    #[test]
    fn each_order_has_its_places() {
        let (ect0, ect1, ce) = (Codepoint::Ect0, Codepoint::Ect1, Codepoint::Ce);
        let of = |order, n| {
            let option = AccEcnOption::new(order, &[11, 22, 33][..n]);
            [ect0, ce, ect1, Codepoint::NotEct].map(|ecn| option.field(ecn))
        };
        assert_eq!(of(Ect0First, 3), [Some(11), Some(22), Some(33), None]);
        assert_eq!(of(Ect1First, 3), [Some(33), Some(22), Some(11), None]);
        assert_eq!(of(Ect1First, 1), [None, None, Some(11), None]);
        assert_eq!(of(Ect0First, 0), [None; 4]);
    }

    /// What is no option of this kind, or is cut short, is none; of a strange length the whole
    /// fields are read.
    #[test]
    fn strange_lengths() {
        let decode = AccEcnOption::decode;
        for wire in [&[][..], &[174], &[8, 10, 0, 0, 0], &[173, 5, 0, 0, 1], &[174, 5, 0, 0]] {
            assert_eq!(decode(wire), None, "{wire:?}");
        }
        assert_eq!(decode(&[174, 1]), None, "shorter than itself");
        let two = AccEcnOption::new(Ect1First, &[1, 2]);
        assert_eq!(decode(&[174, 10, 0, 0, 1, 0, 0, 2, 9, 9]), Some(two), "two fields and a rest");
        let three = AccEcnOption::new(Ect1First, &[1, 2, 3]);
        assert_eq!(decode(&[174, 12, 0, 0, 1, 0, 0, 2, 0, 0, 3, 4]), Some(three));
    }

    /// Segments of 1000 B: ECT(1), ECT(0), CE, ECT(0), one Not-ECT.
    #[test]
    fn bytes_are_counted_by_the_field_they_came_with() {
        let mut t = Teller::new(1000);
        let fields = |t: &Teller| t.option(0).0.expect("it fits").fields().to_vec();
        assert_eq!(fields(&t), [1, 0, 1], "e1b, ceb, e0b");
        for (ecn, want) in [
            (Codepoint::Ect1, [1001, 0, 1]),
            (Codepoint::Ect0, [1001, 0, 1001]),
            (Codepoint::Ce, [1001, 1000, 1001]),
            (Codepoint::Ect0, [1001, 1000, 2001]),
            (Codepoint::NotEct, [1001, 1000, 2001]),
        ] {
            t.take(ecn);
            assert_eq!(fields(&t), want, "{ecn:?}");
        }
    }

    /// 28 bytes beside timestamps: three blocks fill them, two leave 8 for two fields, one leaves
    /// 16 for three. A third block makes room where that is enough for all that has moved.
    #[test]
    fn the_option_shares_its_room_with_sack() {
        for (moved, of_blocks) in [
            (None, [(Some(3), 0), (Some(3), 1), (Some(2), 2), (None, 3)]),
            (Some(Codepoint::Ect1), [(Some(3), 0), (Some(3), 1), (Some(2), 2), (Some(2), 2)]),
            (Some(Codepoint::Ce), [(Some(3), 0), (Some(3), 1), (Some(2), 2), (Some(2), 2)]),
            (Some(Codepoint::Ect0), [(Some(3), 0), (Some(3), 1), (None, 2), (None, 3)]),
        ] {
            let mut t = Teller::new(1000);
            if let Some(ecn) = moved {
                t.take(ecn);
            }
            for (blocks, (fields, kept)) in of_blocks.into_iter().enumerate() {
                let (option, left) = t.option(blocks);
                let got = (option.map(|o| o.fields().len()), left);
                assert_eq!(got, (fields, kept), "{moved:?}, {blocks} blocks");
            }
        }
    }

    fn read(r: &mut Reader, fields: [u32; 3]) -> Option<u32> {
        r.read(&AccEcnOption::new(Ect1First, &fields))
    }

    /// Increments are read modulo 2^24: from 0xfffff0, a field of 0x000598 is 1448 more. One that
    /// goes back is of an older ACK.
    #[test]
    fn increments_wrap() {
        assert_eq!(increment(0xff_fff0, 0x00_0598), Some(1448));
        assert_eq!(increment(0x1ff_fff0, 0x00_0598), Some(1448), "the counter itself goes on");
        assert_eq!(increment(5, 4), None);
        assert_eq!(increment(0, 0x7f_ffff), Some(0x7f_ffff));

        let mut r = Reader::NEW;
        assert_eq!(read(&mut r, [1, 0, 1001]), Some(0));
        assert_eq!(read(&mut r, [1, 1000, 1001]), Some(1000));
        assert_eq!(read(&mut r, [1, 1000, 2001]), Some(0), "since the last");
        assert_eq!(read(&mut r, [1, 0, 1001]), None, "older");
        assert_eq!(read(&mut r, [1, 3000, 2001]), Some(2000), "and nothing was lost by it");
    }

    /// Zeros in the first option mean a middlebox: no option of the connection is read.
    #[test]
    fn zeroed_options_are_ignored() {
        for first in [[0, 0, 1], [1, 0, 0], [0, 0, 0]] {
            let mut r = Reader::NEW;
            assert_eq!(read(&mut r, first), None);
            assert_eq!(read(&mut r, [1, 1000, 1]), None, "{first:?}");
        }
        let mut r = Reader::NEW;
        let empty = AccEcnOption::new(Ect1First, &[]);
        assert_eq!(r.read(&empty), Some(0), "no field, no zero");
    }
}
