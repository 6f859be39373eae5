//! The two ends hand segments to each other one way, and ACKs the other. A connection's data are
//! cut into segments once, so that both ends count segments instead of bytes.

use crate::ecn::bits::Bits;
use penstock_units::Ecn;

/// A segment, as it is sent and as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number.
    pub seq: i64,
    /// Whether it is the SYN.
    pub syn: bool,
    /// Whether it was sent before.
    pub retransmit: bool,
    /// The IP header's ECN field, in which routers mark it.
    pub ecn: Ecn,
    /// The TCP header's ECN bits.
    pub bits: Bits,
    /// A SYN whose sender still owes a CWR. In ns-2 alone that debt outlives a connection, and the
    /// SYN tells of it.
    pub owes_cwr: bool,
}

/// The segments from `left` up to, but not including, `right`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First segment.
    pub left: i64,
    /// One past the last segment.
    pub right: i64,
}

/// The most SACK blocks that fit into one ACK beside timestamps (RFC 2018, section 3; ns-2).
pub const MAX_BLOCKS: usize = 3;

/// The contents of an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// The highest segment received in order; −1 for none.
    pub seq: i64,
    /// The TCP header's ECN bits. The SYN has settled what they mean.
    pub bits: Bits,
    /// The IP header's ECN field: only the answer to a DCTCP sender's SYN is ECN-capable.
    pub ecn: Ecn,
    /// Segments behind `seq` that the receiver has room for; [`Ack::ALL_ROOM`]: its whole buffer is
    /// free.
    pub window: u32,
    /// SACK blocks, the most recent first.
    pub blocks: [Block; MAX_BLOCKS],
    /// The number of blocks that are set.
    pub n_blocks: u8,
}

impl Default for Ack {
    fn default() -> Self {
        Ack {
            seq: 0,
            bits: Bits::NONE,
            ecn: Ecn::NotEct,
            window: Self::ALL_ROOM,
            blocks: <[Block; MAX_BLOCKS]>::default(),
            n_blocks: 0,
        }
    }
}

impl Ack {
    /// The value of [`Ack::window`] while the receiver's whole buffer is free.
    pub const ALL_ROOM: u32 = u32::MAX;

    /// Returns the block of segments that arrived twice, where it reports one (RFC 2883): its first
    /// block, if that lies below the cumulative ACK or within the second.
    #[inline]
    pub fn dsack(&self) -> Option<Block> {
        let [first, second, _] = self.blocks;
        let below = first.right <= self.seq + 1;
        let within = self.n_blocks > 1 && second.left <= first.left && first.right <= second.right;
        (self.n_blocks > 0 && (below || within)).then_some(first)
    }

    /// Returns whether it says nothing but its number and its ECN fields.
    #[inline]
    pub fn is_bare(&self) -> bool {
        self.n_blocks == 0 && self.window == Self::ALL_ROOM
    }
}
