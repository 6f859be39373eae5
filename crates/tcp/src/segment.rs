//! The two ends hand segments to each other one way, and ACKs the other. A connection's data are
//! cut into segments once, so that both ends count segments instead of bytes.

use crate::ecn::bits::Bits;
use crate::ecn::option::AccEcnOption;
use crate::stamp::{Stamp, OPTION_BYTES};
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
    /// Whether it ends a burst. Linux sets PSH on it, so that the receiver does not wait for more.
    pub push: bool,
    /// When it leaves, where `timestamps` are used.
    pub stamp: Stamp,
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
    /// The IP header's ECN field. ACKs are ECN-capable only where `ect_on` says so, and in answer
    /// to a DCTCP sender's SYN.
    pub ecn: Ecn,
    /// Segments behind `seq` that the receiver has room for; [`Ack::ALL_ROOM`]: its whole buffer is
    /// free.
    pub window: u32,
    /// SACK blocks, the most recent first.
    pub blocks: [Block; MAX_BLOCKS],
    /// The number of blocks that are set.
    pub n_blocks: u8,
    /// AccECN's option.
    pub option: Option<AccEcnOption>,
    /// The timestamp that it returns.
    pub echo: Stamp,
}

/// Bytes of IPv4's and TCP's headers without options.
const HEADERS: u32 = 40;

/// Bytes of a SYN with timestamps: they share words with the leave to use SACK, and there are the
/// largest segment and the window's scale.
const SYN_BYTES: u32 = HEADERS + 4 + OPTION_BYTES + 4;

/// Returns the bytes of a SYN.
pub(crate) const fn syn_bytes(timestamps: bool) -> u32 {
    if timestamps {
        SYN_BYTES
    } else {
        HEADERS
    }
}

/// Returns the bytes of a packet without data: its headers, and timestamps.
pub(crate) const fn bare_bytes(timestamps: bool) -> u32 {
    HEADERS + if timestamps { OPTION_BYTES } else { 0 }
}

impl Default for Ack {
    #[inline]
    fn default() -> Self {
        Ack {
            seq: 0,
            bits: Bits::NONE,
            ecn: Ecn::NotEct,
            window: Self::ALL_ROOM,
            blocks: [Block { left: 0, right: 0 }; MAX_BLOCKS],
            n_blocks: 0,
            option: None,
            echo: Stamp::NONE,
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

    /// Returns whether it says nothing but its number, its ECN fields and the echo.
    #[inline]
    pub fn is_bare(&self) -> bool {
        self.n_blocks == 0 && self.window == Self::ALL_ROOM && self.option.is_none()
    }

    /// Returns its length on the wire. Without timestamps, as the papers' senders, it is 40 B
    /// whatever it says; with them, all options count (RFC 7323, appendix A; RFC 2018, 3).
    #[inline]
    pub fn bytes(&self, syn: bool) -> u32 {
        if self.echo == Stamp::NONE {
            return HEADERS;
        }
        self.bytes_with_options(syn)
    }

    #[inline(never)]
    fn bytes_with_options(&self, syn: bool) -> u32 {
        let blocks = u32::from(self.n_blocks);
        let sack = if blocks > 0 { 4 + 8 * blocks } else { 0 };
        let accurate = self.option.as_ref().map_or(0, |o| o.encode().1.next_multiple_of(4) as u32);
        let bare = if syn { SYN_BYTES } else { bare_bytes(true) };
        bare + sack + accurate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecn::option::FieldOrder;
    use penstock_units::{Duration, Time};

    /// IPv4 and TCP have 20 B each, timestamps 12, n blocks 4 + 8·n, AccECN's longest option 11 and
    /// one of padding. A SYN has the largest segment and the window's scale, 4 B each, as well.
    #[test]
    fn acks_are_as_long_as_their_options() {
        let echo = Stamp::of(Time::ZERO, Duration::from_millis(1));
        let option = Some(AccEcnOption::new(FieldOrder::Ect1First, &[1, 0, 1]));
        let ack = |n_blocks, option, echo| Ack { n_blocks, option, echo, ..Ack::default() };
        for (n, option, syn, want) in [
            (0, None, false, 52),
            (1, None, false, 64),
            (2, None, false, 72),
            (3, None, false, 80),
            (0, option, false, 64),
            (1, option, false, 76),
            (0, None, true, 60),
            (0, option, true, 72),
        ] {
            assert_eq!(ack(n, option, echo).bytes(syn), want, "{n} {option:?} {syn}");
            assert_eq!(ack(n, option, Stamp::NONE).bytes(syn), 40);
        }
    }
}
